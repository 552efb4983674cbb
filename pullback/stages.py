"""The stages of compilation (jax.stages)."""

from __future__ import annotations

from pullback.api.jit import Jitted as Wrapped
from pullback.api.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced", "Wrapped"]
