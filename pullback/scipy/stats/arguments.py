"""What the functions of distributions are given: real numbers, which broadcast."""

from __future__ import annotations

import math
from typing import Any

from pullback import numpy as jnp
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.lax.operand import retype
from pullback.numpy.arguments import ArrayLike, array
from pullback.numpy.promotion import operand, promoted_inexact
from pullback.ops import gammas
from pullback.scipy.special.elementary import together

__all__ = ["inside", "log_beta", "reals", "standard"]


def reals(*args: ArrayLike) -> list[Any]:
    """The arguments as arrays of one float dtype."""
    values = promoted_inexact(*args)
    if not all([type_of(v).weak for v in values]) or any(
            [not is_scalar(v) and type_of(v).dtype == bool for v in map(operand, args)]):
        # No result that is made of one argument alone is weak beside another that is not, or beside truth values.
        values = [retype(v, type_of(v).dtype) for v in values]
    return [array(v) for v in values]


def standard(x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any]:
    """(x - loc) / scale, and scale."""
    x, loc, scale = reals(x, loc, scale)
    return (x - loc) / scale, scale


def inside(condition: Any, logarithm: Any, x: Any) -> Any:
    """The logarithm of a density where the condition holds; outside that of 0; NaN where x is NaN."""
    return jnp.where(condition, logarithm, jnp.where(x == x, -math.inf, x))


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function of positive numbers; NaN elsewhere."""
    return gammas.log_beta(*together(a, b))
