"""The gamma distribution."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      a: float[...], the parameter of the shape, positive.
      loc, scale: float[...], the lower end and the width.
    """
    x, a, loc, scale = reals(x, a, loc, scale)
    y = (x - loc) / scale
    within = (y >= 0) & (y < math.inf)
    safe = jnp.where(within, y, 1)
    return inside(within, special.xlogy(a - 1, safe) - safe - special.gammaln(a) - jnp.log(scale), y)


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    x, a, loc, scale = reals(x, a, loc, scale)
    return special.gammainc(a, jnp.maximum((x - loc) / scale, 0))


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    x, a, loc, scale = reals(x, a, loc, scale)
    return special.gammaincc(a, jnp.maximum((x - loc) / scale, 0))


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    return jnp.log(sf(x, a, loc, scale))
