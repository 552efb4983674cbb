"""The Pareto distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      b: float[...], the exponent, positive.
      loc, scale: float[...]; numbers start at loc + scale.
    """
    x, b, loc, scale = reals(x, b, loc, scale)
    y = (x - loc) / scale
    safe = jnp.where(y >= 1, y, 1)
    return inside(y >= 1, jnp.log(b) - (b + 1) * jnp.log(safe) - jnp.log(scale), y)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, b, loc, scale))


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    return -jnp.expm1(logsf(x, b, loc, scale))


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    x, b, loc, scale = reals(x, b, loc, scale)
    below = (x - loc) / scale <= 1  # where a parameter is no number, neither below nor above
    # Below nothing depends on x; a logarithm of 0 there would leave NaN in the derivative.
    within = jnp.where(below, loc + 2 * scale, x)
    return inside(~below, jnp.log(cdf(within, b, loc, scale)), x)


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    return jnp.exp(logsf(x, b, loc, scale))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    x, b, loc, scale = reals(x, b, loc, scale)
    return -b * jnp.log(jnp.maximum((x - loc) / scale, 1))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is q."""
    q, b, loc, scale = reals(q, b, loc, scale)
    return loc + scale * jnp.exp(-jnp.log1p(-q) / b)
