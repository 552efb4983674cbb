"""The Dirichlet distribution: of vectors of probabilities."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import inside, reals

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[n, ...], probabilities along the first axis; or float[n - 1, ...], all but the last.
      alpha: float[n], the concentrations, positive.

    Returns:
      float[...], -inf where a probability is not from 0 to 1 or they do not sum to 1.

    Raises:
      ValueError: if the sizes differ otherwise, or alpha has not one axis.
    """
    x, alpha = reals(x, alpha)
    if alpha.ndim != 1:
        raise errors.value_error(f"alpha is {alpha.type}, one axis is required", fix="vmap the call over the others")
    n = alpha.shape[0]
    if not x.ndim or x.shape[0] not in (n, n - 1):
        raise errors.value_error(f"x is {x.type} and alpha {alpha.type}; along its first axis x must have as many "
                                 "elements, or one less", fix="move the axis of the probabilities to the front")
    if x.shape[0] != n:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    powers = alpha.reshape((n,) + (1,) * (x.ndim - 1))
    simplex = jnp.all((x >= 0) & (x <= 1), axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    height = special.gammaln(jnp.sum(alpha)) - jnp.sum(special.gammaln(alpha))
    safe = jnp.where(simplex, x, 1)
    return inside(simplex, height + jnp.sum(special.xlogy(powers - 1, safe), axis=0), jnp.sum(x, axis=0))


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, alpha))
