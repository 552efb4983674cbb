"""Real jax as an engine."""

from __future__ import annotations

import jax

from pullback.gate.engines.adapter import Adapter


def engine(serve: bool = False) -> Adapter:
    """The adapter of jax; `serve` changes nothing, `import jax` is jax already."""
    return Adapter("jax", jax, ("jax", "jaxlib"))
