"""The logistic distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import reals, standard

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]; of ppf and isf a probability.
      loc, scale: float[...], the mean and the width.
    """
    y, scale = standard(x, loc, scale)
    y = jnp.where(jnp.real(y) < 0, -y, y)  # the density is even
    return -y - 2 * jnp.logaddexp(0, -y) - jnp.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    y, _ = standard(x, loc, scale)
    return special.expit(y)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    y, _ = standard(x, loc, scale)
    return special.expit(-y)


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is x."""
    x, loc, scale = reals(x, loc, scale)
    return loc + scale * special.logit(x)


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number above which the probability is x."""
    x, loc, scale = reals(x, loc, scale)
    return loc - scale * special.logit(x)
