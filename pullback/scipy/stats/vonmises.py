"""The von Mises distribution, of angles."""

from __future__ import annotations

import math

from pullback import numpy as jnp
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy import special
from pullback.scipy.stats.arguments import reals

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[...], an angle in radians.
      kappa: float[...], the concentration, from 0; NaN of negative ones.
    """
    x, kappa = reals(x, kappa)
    height = kappa * (jnp.cos(x) - 1) - jnp.log(special.i0e(kappa)) - math.log(2 * math.pi)
    return jnp.where(kappa < 0, math.nan, height)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, kappa))
