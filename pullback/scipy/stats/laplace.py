"""The Laplace distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.ops.families import check_kind
from pullback.scipy.stats.arguments import standard

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      loc, scale: float[...], the centre, where the density has a kink, and the mean distance from it.
    """
    y, scale = standard(x, loc, scale)
    check_kind([y.type], "f")
    return -jnp.abs(y) - jnp.log(2 * scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    y, _ = standard(x, loc, scale)
    tail = 0.5 * jnp.exp(-jnp.abs(y))
    return jnp.where(y <= 0, tail, 1 - tail)
