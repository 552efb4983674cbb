"""The normal distribution of vectors."""

from __future__ import annotations

import math

from pullback import lax
from pullback import numpy as jnp
from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike
from pullback.scipy.stats import norm
from pullback.scipy.stats.arguments import reals

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """The logarithm of the density at x.

    Args:
      x: float[..., n]
      mean: float[..., n], or a number for numbers x.
      cov: float[..., n, n], positive definite; or a number: the variance of every element.
      allow_singular: None.

    Returns:
      float[...], NaN where cov is not positive definite.

    Raises:
      ValueError: if the shapes do not fit, or allow_singular is given.
    """
    if allow_singular is not None:
        raise errors.value_error(f"allow_singular is {allow_singular!r}, None is required",
                                 fix="leave it out; a singular covariance has no density")
    x, mean, cov = reals(x, mean, cov)
    if not mean.ndim:
        if cov.ndim:
            raise errors.value_error(f"mean is {mean.type} and cov {cov.type}, a number is required with a number",
                                     fix="pass a vector as the mean")
        return norm.logpdf(x, mean, jnp.sqrt(cov))
    n = mean.shape[-1]
    difference = x - mean
    if not cov.ndim:
        height = -0.5 * n * jnp.log(2 * math.pi * cov)
        return height - 0.5 * jnp.sum(difference * difference, axis=-1) / cov
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise errors.value_error(f"mean is {mean.type} and cov {cov.type}, cov[..., {n}, {n}] is required",
                                 fix="pass jnp.diag(variances) for independent elements")
    factor = lax.linalg.cholesky(cov)
    if cov.ndim == 2:  # one factor for all
        rows = difference.reshape(-1, n)
        scaled = lax.linalg.triangular_solve(factor, rows, lower=True, transpose_a=True).reshape(difference.shape)
    else:
        lead = jnp.broadcast_shapes(difference.shape[:-1], cov.shape[:-2])
        difference = jnp.broadcast_to(difference, (*lead, n))[..., None]
        factor = jnp.broadcast_to(factor, (*lead, n, n))
        scaled = lax.linalg.triangular_solve(factor, difference, left_side=True, lower=True)[..., 0]
    logdet = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * jnp.sum(scaled * scaled, axis=-1) - 0.5 * n * math.log(2 * math.pi) - logdet


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """The density at x."""
    return jnp.exp(logpdf(x, mean, cov))
