"""The negative binomial distribution: failures before the n-th success."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, log_beta, reals

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      n: float[...], the number of successes, positive.
      p: float[...], the probability of success.
      loc: the smallest number.
    """
    k, n, p, loc = reals(k, n, p, loc)
    y = k - loc
    within = (y >= 0) & (y == jnp.floor(y))
    safe = jnp.where(within, y, 0)
    ways = -jnp.log(n + safe) - log_beta(n, safe + 1)
    return inside(within, ways + special.xlogy(n, p) + special.xlog1py(safe, -p), y)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
