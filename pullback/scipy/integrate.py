"""Integrals of sampled functions: jax.scipy.integrate's interface."""

from __future__ import annotations

from typing import Any

from pullback import numpy as jnp
from pullback.core import errors

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Args:
      y: array of samples.
      x: their places, [n] or of the shape of y; None: they are `dx` apart.
      dx: the distance between samples, a number or an array that broadcasts against the intervals.
      axis: along which to integrate.

    Returns:
      y's shape without `axis`, of a float or complex dtype.

    Raises:
      ValueError: axis is out of bounds. TypeError: x or dx does not fit y.

    Example:
      >>> print(trapezoid(jnp.array([0.0, 1.0, 4.0]), dx=0.5))
      1.5
    """
    return jnp.trapezoid(y, x, dx, axis)


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.integrate.{name}")
