"""The binomial distribution: successes among n trials."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike, array
from pullback.numpy.promotion import promoted_inexact
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, log_beta

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      n: the number of trials.
      p: float[...], the probability of success.
      loc: the smallest number.
    """
    k, n, p, loc = [array(x) for x in promoted_inexact(k, n, p, loc)]
    y = k - loc
    within = (y >= 0) & (y <= n) & (y == jnp.floor(y))
    safe = jnp.where(within, y, 0)
    ways = -jnp.log1p(n) - log_beta(n - safe + 1, safe + 1)
    return inside(within, ways + special.xlogy(safe, p) + special.xlog1py(n - safe, -p), y)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
