"""Derivative rules of one's own, and what belongs to them (jax.custom_derivatives)."""

from __future__ import annotations

from typing import Any

from pullback.api.custom import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    linear_call,
    zero_from_primal,
)
from pullback.core import errors
from pullback.ops.custom import custom_jvp_call as custom_jvp_call_p
from pullback.ops.custom import custom_vjp_call as custom_vjp_call_p

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_jvp_call_p",
           "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.custom_derivatives.{name}")
