"""The beta distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, log_beta, reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      a, b: float[...], the parameters of the shape, positive.
      loc, scale: float[...], the lower end and the length of the interval.
    """
    x, a, b, loc, scale = reals(x, a, b, loc, scale)
    y = (x - loc) / scale
    within = (y >= 0) & (y <= 1)
    safe = jnp.where(within, y, 0.5)
    powers = special.xlogy(a - 1, safe) + special.xlog1py(b - 1, -safe)
    return inside(within, powers - log_beta(a, b) - jnp.log(scale), y)


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    x, a, b, loc, scale = reals(x, a, b, loc, scale)
    return special.betainc(a, b, jnp.clip((x - loc) / scale, 0, 1))


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    x, a, b, loc, scale = reals(x, a, b, loc, scale)
    return special.betainc(b, a, 1 - jnp.clip((x - loc) / scale, 0, 1))


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    return jnp.log(sf(x, a, b, loc, scale))
