"""The Gumbel distribution of smallest numbers: that of largest numbers, mirrored."""

from __future__ import annotations

from typing import Any

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats import gumbel_r
from pullback.scipy.stats.arguments import reals, standard

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _mirrored(x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> Any:
    return -standard(x, loc, scale)[0]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      loc, scale: float[...], the mode and the width.
    """
    y, scale = standard(x, loc, scale)
    return gumbel_r.logpdf(-y) - jnp.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    return gumbel_r.logcdf(_mirrored(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    return gumbel_r.cdf(_mirrored(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    return gumbel_r.sf(_mirrored(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    return gumbel_r.logsf(_mirrored(x, loc, scale))


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The number up to which the probability is p."""
    p, loc, scale = reals(p, loc, scale)
    return loc + scale * jnp.log(-jnp.log1p(-p))
