"""The geometric distribution: trials up to the first success."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      p: float[...], the probability of success.
      loc: one less than the smallest number.
    """
    k, p, loc = reals(k, p, loc)
    y = k - loc
    within = (y >= 1) & (y == jnp.floor(y))
    safe = jnp.where(within, y, 1)
    return inside(within, special.xlog1py(safe - 1, -p) + jnp.log(p), y)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))
