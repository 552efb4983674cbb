"""The normal distribution."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import reals, standard

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      loc, scale: float[...], the mean and the standard deviation.
    """
    y, scale = standard(x, loc, scale)
    return -0.5 * (y * y) - jnp.log(scale) - 0.5 * math.log(2 * math.pi)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    y, _ = standard(x, loc, scale)
    return special.ndtr(y)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    y, _ = standard(x, loc, scale)
    return special.log_ndtr(y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    y, _ = standard(x, loc, scale)
    return special.ndtr(-y)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    y, _ = standard(x, loc, scale)
    return special.log_ndtr(-y)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is q."""
    q, loc, scale = reals(q, loc, scale)
    return special.ndtri(q) * scale + loc


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number above which the probability is q."""
    q, loc, scale = reals(q, loc, scale)
    return loc - special.ndtri(q) * scale
