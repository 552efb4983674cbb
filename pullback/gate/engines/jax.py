"""Real jax as an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from pullback.gate.engines.adapter import Adapter
from pullback.gate.engines.readers import JaxReader


def engine(serve: bool = False) -> Adapter:
    """The adapter of jax; `serve` changes nothing, `import jax` is jax already."""
    made = Adapter("jax", jax, ("jax", "jaxlib"))
    made.reader = JaxReader(jax, made.folders)
    made.compilations = _counter()
    return made


def _counter() -> Callable[[], int]:
    """Counts the programs that the backend compiles from now on."""
    compiled = [0]

    def note(event: str, seconds: float, **_: Any) -> None:
        compiled[0] += event == "/jax/core/compile/backend_compile_duration"

    jax.monitoring.register_event_duration_secs_listener(note)
    return lambda: compiled[0]
