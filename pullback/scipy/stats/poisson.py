"""The Poisson distribution: events at a rate."""

from __future__ import annotations

import math

import numpy as np

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of k.

    Args:
      k: int[...] or float[...], whole numbers; of others the probability is 0.
      mu: float[...], the rate, the mean less loc.
      loc: the smallest number.
    """
    k, mu, loc = reals(k, mu, loc)
    y = k - loc
    within = (y >= 0) & (y == jnp.floor(y))
    safe = jnp.where(within, y, 0)
    return inside(within, special.xlogy(safe, mu) - special.gammaln(safe + 1) - mu, y)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of k."""
    return jnp.exp(logpmf(k, mu, loc))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of numbers up to k."""
    k, mu, loc = reals(k, mu, loc)
    y = k - loc
    value = special.gammaincc(jnp.floor(jnp.maximum(y, 0)) + 1, mu)
    return jnp.where(y >= 0, value, jnp.where(y == y, 0, y))


# Up to this rate the sum over the numbers of events below _MOST is taken; what it leaves out is below float64's digits.
_LARGE = 100.0
_MOST = 256


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The mean of -log(pmf(k, mu)), in nats.

    Args:
      mu: float[...], the rate; NaN for negative ones, 0 for 0.
      loc: changes nothing.

    Source: for rates above 100 the asymptotic series of Evans and Boersma, "The entropy of a Poisson distribution",
      SIAM Review 30 (1988).
    """
    mu, _ = reals(mu, loc)
    few = mu <= _LARGE
    near = jnp.where(few & (mu > 0), mu, 1)
    k = jnp.asarray(np.arange(_MOST), mu.dtype).reshape((_MOST,) + (1,) * mu.ndim)
    logarithm = logpmf(k, near)
    summed = -jnp.sum(jnp.exp(logarithm) * logarithm, axis=0)
    far = jnp.where(few, _LARGE, mu)
    inverse = 1 / far
    tail = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360 + inverse * (9 / 80))))
    series = 0.5 * jnp.log(2 * math.pi * math.e * far) - tail
    value = jnp.where(mu > 0, jnp.where(few, summed, series), jnp.where(mu == 0, 0, math.nan))
    return jnp.where(mu == math.inf, math.inf, value)
