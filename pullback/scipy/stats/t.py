"""Student's t distribution."""

from __future__ import annotations

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats.arguments import log_beta, reals

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      df: float[...], the degrees of freedom, positive.
      loc, scale: float[...], the centre and the width.
    """
    x, df, loc, scale = reals(x, df, loc, scale)
    y = (x - loc) / scale
    height = -log_beta(df / 2, 0.5) - 0.5 * jnp.log(df) - jnp.log(scale)
    return height - 0.5 * (df + 1) * jnp.log1p(y * y / df)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, df, loc, scale))
