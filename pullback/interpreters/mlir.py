"""Lowering rules of primitives (jax.interpreters.mlir)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors
from pullback.extend.primitive import LOWERINGS, LoweringContext, Primitive, lowered_by
from pullback.runtime.lower import Value

__all__ = ["LoweringRuleContext", "Value", "lower_fun", "register_lowering"]

LoweringRuleContext = LoweringContext


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Callable[..., Any]:
    """The lowering rule of an operation that `fun` computes.

    Args:
      fun: (*arrays, **params) -> a list of arrays, in terms of other operations.
      multiple_results: False where `fun` returns one array, not a list.

    Returns:
      A rule for `register_lowering`; a rule of your own may call it: rule(context, *values, **params) -> values.
    """
    return lowered_by(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Callable[..., Any], platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> None:
    """Sets how a primitive is compiled.

    Args:
      rule: (context, *values, **params) -> values; `context` has `avals_in` and `avals_out`. Made by `lower_fun`, or
        written with the operations of `jax.extend.mlir.dialects.stablehlo`.
      platform: 'cpu', or None for every platform; a rule for another platform is not needed here, and not kept.
      inline, cacheable: accepted; the operation is always written out in place.
    """
    if platform in (None, "cpu"):
        LOWERINGS[prim] = rule


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.interpreters.mlir.{name}")
