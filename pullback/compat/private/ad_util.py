"""Symbolic zeros; and a primitive that nothing uses, as in jax, for libraries that give it rules."""

from __future__ import annotations

from pullback.extend.primitive import Primitive, Zero
from pullback.interpreters.ad import add_jaxvals
from pullback.interpreters.ad import instantiate_zeros as instantiate

__all__ = ["Zero", "add_jaxvals", "instantiate", "stop_gradient_p"]

stop_gradient_p = Primitive("stop_gradient")
