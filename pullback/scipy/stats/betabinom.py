"""The beta-binomial distribution: the binomial one, its probability of a beta distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats.arguments import inside, log_beta, reals

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      n: the number of trials.
      a, b: float[...], the parameters of the beta distribution, positive.
      loc: the smallest number.
    """
    k, n, a, b, loc = reals(k, n, a, b, loc)
    y = k - loc
    within = (y >= 0) & (y <= n) & (y == jnp.floor(y))
    safe = jnp.where(within, y, 0)
    ways = -jnp.log1p(n) - log_beta(n - safe + 1, safe + 1)
    return inside(within, ways + log_beta(safe + a, n - safe + b) - log_beta(a, b), y)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, a, b, loc))
