"""pullback as an engine."""

from __future__ import annotations

import pullback
from pullback.compat.jax import install
from pullback.gate.engines.adapter import Adapter


def engine(serve: bool = False) -> Adapter:
    """The adapter of pullback; with `serve`, `import jax` gives pullback from now on."""
    if serve:
        install(quiet=True)
    return Adapter("pullback", pullback, ("pullback", "jaxlib"))
