"""What users of `jax.core` reach for: types of arrays, tracers, and running a program again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.api.inspect import ensure_compile_time_eval, eval_context
from pullback.api.stages import OpenProgram
from pullback.core import errors
from pullback.core.program import Literal, Var
from pullback.core.trace import Trace, Tracer
from pullback.core.types import ArrayType as AbstractValue
from pullback.extend.primitive import ShapedArray
from pullback.interpret.evaluate import evaluate
from pullback.runtime.device import as_array

__all__ = ["AbstractValue", "Atom", "ShapedArray", "Trace", "Tracer", "ensure_compile_time_eval", "eval_context",
           "eval_jaxpr", "max_dim", "min_dim"]

Atom = Var | Literal


def eval_jaxpr(jaxpr: OpenProgram, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """The outputs of a program for its constants and arguments; may be traced and transformed."""
    return evaluate(jaxpr.program, [as_array(x) for x in (*consts, *args)])


def max_dim(d1: int, d2: int) -> int:
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    return min(d1, d2)


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"jax.core.{name}")
