"""The normal distribution cut to an interval."""

from __future__ import annotations

import math
from typing import Any

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats import norm
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_mass(a: Any, b: Any) -> Any:
    """log(ndtr(b) - ndtr(a)) for a < b, on the side where neither is near 1."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    central = high > 0  # then low <= 0: 1 less both tails
    outer = jnp.log1p(-special.ndtr(low) - special.ndtr(-high))
    most = special.log_ndtr(jnp.where(central, 0, high))
    less = special.log_ndtr(jnp.where(central, -1, low))
    gap = jnp.where(less < most, less - most, -1)
    tail = jnp.where(less < most, most + jnp.log(-jnp.expm1(gap)), -math.inf)
    return jnp.where(central, outer, tail)


def _place(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> list[Any]:
    x, a, b, loc, scale = reals(x, a, b, loc, scale)
    return [(x - loc) / scale, a, b, loc, scale]


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      a, b: float[...], the ends of the interval, as multiples of scale from loc; a < b, NaN otherwise.
      loc, scale: float[...], the mean and the standard deviation of the normal distribution that is cut.
    """
    y, a, b, loc, scale = _place(x, a, b, loc, scale)
    value = norm.logpdf(y) - jnp.log(scale) - _log_mass(a, b)
    return jnp.where(a < b, inside((y >= a) & (y <= b), value, y), math.nan)


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    y, a, b, loc, scale = _place(x, a, b, loc, scale)
    within = (y > a) & (y < b)
    below, whole = _log_mass(a, jnp.where(within, y, b)), _log_mass(a, b)
    # Near 1 what lies above says more.
    above = _log_mass(jnp.where(within, y, 0.5 * (jnp.maximum(a, -1) + jnp.minimum(b, 1))), b)
    near = below - whole > math.log(0.5)
    value = jnp.where(near, jnp.log1p(-jnp.exp(jnp.where(near, above - whole, -1))), below - whole)
    value = jnp.where(within, value, jnp.where(y >= b, 0, jnp.where(y == y, -math.inf, y)))
    return jnp.where(a < b, value, math.nan)


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    y, a, b, loc, scale = _place(x, a, b, loc, scale)
    return logcdf(-y, -b, -a)


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    return jnp.exp(logsf(x, a, b, loc, scale))
