"""The chi-square distribution: the gamma distribution of df / 2, twice as wide."""

from __future__ import annotations

from typing import Any

from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats import gamma
from pullback.scipy.stats.arguments import reals

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _gamma(x: ArrayLike, df: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, ...]:
    """The arguments that functions of gamma take."""
    x, df, loc, scale = reals(x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...]
      df: float[...], the degrees of freedom, positive.
      loc, scale: float[...], the lower end and the width.
    """
    return gamma.logpdf(*_gamma(x, df, loc, scale))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at x."""
    return gamma.pdf(*_gamma(x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers up to x."""
    return gamma.cdf(*_gamma(x, df, loc, scale))


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of cdf."""
    return gamma.logcdf(*_gamma(x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of numbers above x."""
    return gamma.sf(*_gamma(x, df, loc, scale))


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of sf."""
    return gamma.logsf(*_gamma(x, df, loc, scale))
