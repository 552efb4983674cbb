"""`jax.core`, and whether a transformation is under way."""

from __future__ import annotations

from pullback.compat.core import AbstractValue, ShapedArray, Trace, Tracer, ensure_compile_time_eval, eval_jaxpr
from pullback.compat.private import inside
from pullback.core import trace
from pullback.extend.core import Primitive, get_opaque_trace_state, valid_jaxtype

__all__ = ["AbstractValue", "Primitive", "ShapedArray", "Trace", "Tracer", "ensure_compile_time_eval", "eval_jaxpr",
           "get_opaque_trace_state", "trace_state_clean", "valid_jaxtype"]


def trace_state_clean() -> bool:
    """Whether operations run at once: no transformation is under way."""
    return trace.current() is trace.base()

__getattr__ = inside("core")
