"""The wrapped Cauchy distribution, of angles."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...], an angle in radians, from 0 to 2 pi.
      c: float[...], the concentration, between 0 and 1; NaN of others.
    """
    x, c = reals(x, c)
    return jnp.where((c > 0) & (c < 1), _logpdf(x, c), math.nan)


def _logpdf(x: Array, c: Array) -> Array:
    square = c * c
    value = jnp.log1p(-square) - math.log(2 * math.pi) - jnp.log(1 + square - 2 * c * jnp.cos(x))
    return inside((x >= 0) & (x <= 2 * math.pi), value, x)


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density at x."""
    x, c = reals(x, c)
    # NaN comes last: XLA's exp makes a number of a NaN that fills its whole operand.
    return jnp.where((c > 0) & (c < 1), jnp.exp(_logpdf(x, c)), math.nan)
