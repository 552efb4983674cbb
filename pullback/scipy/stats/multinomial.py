"""The multinomial distribution: how many of n trials have each outcome."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.numpy.arguments import ArrayLike
from pullback.numpy.promotion import operand
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["logpmf", "pmf"]


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of counts.

    Args:
      x: int[..., k], the counts along the last axis.
      n: int[...], the number of trials.
      p: float[..., k], the probabilities of the outcomes.

    Returns:
      float[...], -inf where the counts do not sum to n or one is negative.

    Raises:
      TypeError: if x or n is not of integers.
    """
    for what, value in (("x", operand(x)), ("n", operand(n))):
        if not dtypes.is_integer(type_of(value).dtype):
            raise errors.type_error(f"{what} is {type_of(value)}, integers are required",
                                    fix="convert it with astype(int)")
    fits = (jnp.sum(jnp.asarray(x), axis=-1) == n) & jnp.all(jnp.asarray(x) >= 0, axis=-1)
    (p,) = reals(p)
    counts, trials = (jnp.asarray(v, p.dtype) for v in (x, n))
    safe = jnp.maximum(counts, 0)
    value = special.gammaln(trials + 1) + jnp.sum(special.xlogy(safe, p) - special.gammaln(safe + 1), axis=-1)
    return inside(fits, value, jnp.sum(p, axis=-1))


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of counts."""
    return jnp.exp(logpmf(x, n, p))
