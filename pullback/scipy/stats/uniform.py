"""The uniform distribution."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.lax.operand import retype
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats.arguments import inside, reals, standard

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      loc, scale: float[...], the lower end and the length of the interval.
    """
    x, loc, scale = reals(x, loc, scale)
    return inside((x >= loc) & (x <= loc + scale), -jnp.log(scale) + 0 * x, x)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    x, loc, scale = reals(x, loc, scale)
    end = loc + scale
    density = jnp.where(loc == loc, 1 / scale, loc)  # NaN where an argument is
    return jnp.where((x < loc) | (x > end), 0, jnp.where(x == x, density, x))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    y, _ = standard(x, loc, scale)
    y = jnp.clip(y, 0, 1)
    return retype(y, y.dtype)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is q."""
    q, loc, scale = reals(q, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), q * scale + loc, math.nan)
