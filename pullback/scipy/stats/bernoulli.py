"""The distribution of one trial: 1 with probability p, else 0."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      p: float[...], the probability of 1.
      loc: the smallest number.
    """
    k, p, loc = reals(k, p, loc)
    y = k - loc
    within = (y == 0) | (y == 1)
    safe = jnp.where(within, y, 0)
    return inside(within, special.xlogy(safe, p) + special.xlog1py(1 - safe, -p), y)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))


def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of numbers up to k."""
    k, p = reals(k, p)
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where((k == k) & (p >= 0) & (p <= 1), value, math.nan)


def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The number up to which the probability is q."""
    q, p = reals(q, p)
    value = jnp.where(q <= 1 - p, 0, 1) + 0 * p
    value = jnp.where(q == 0, -1, value)
    return jnp.where((q >= 0) & (q <= 1) & (p >= 0) & (p <= 1), value, math.nan)
