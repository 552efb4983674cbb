"""Interpolation on grids: jax.scipy.interpolate's interface."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pullback import numpy as jnp
from pullback.core import errors, tree
from pullback.core.array import Array
from pullback.numpy.arguments import array

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """Interpolation of values on a rectilinear grid in any number of dimensions.

    Args:
      points: for each dimension, the places of the grid lines, ascending: float[m_k].
      values: [m_1, ..., m_d, ...], the values at the nodes; further axes are interpolated alike.
      method: 'linear' (in each dimension) or 'nearest'.
      bounds_error: False; a point outside cannot raise in a traced program.
      fill_value: the value outside the grid; None extrapolates ('nearest': the node at the edge).

    Raises:
      ValueError: another method, more dimensions than `values` has, or grid lines that do not ascend.

    Linear interpolation is not smooth at the grid lines: the derivative there is that of the cell below. That of
    'nearest' by the point is zero.

    Example:
      >>> f = RegularGridInterpolator((jnp.arange(3.0),), jnp.array([0.0, 10.0, 40.0]))
      >>> print(f(jnp.array([0.5, 1.5])))
      [ 5. 25.]
    """

    def __init__(self, points: Sequence[Any], values: Any, method: str = "linear", bounds_error: bool = False,
                 fill_value: Any = jnp.nan) -> None:
        op = "RegularGridInterpolator"
        self._check_method(method)
        if bounds_error:
            raise errors.make(NotImplementedError, "bounds_error=True is not supported: a traced program cannot raise",
                              op=op, fix="use fill_value, and check the points outside")
        self.method = method
        self.values = array(values)
        self.values = self.values.astype(jnp.result_type(self.values, float))
        self.fill_value = None if fill_value is None else jnp.asarray(fill_value)
        self.grid = tuple(jnp.asarray(p) for p in points)
        if len(self.grid) > self.values.ndim:
            raise errors.value_error(f"there are {len(self.grid)} point arrays, but values has {self.values.ndim} "
                                     "dimensions", op=op, fix="pass one array of grid lines per dimension")
        for i, p in enumerate(self.grid):
            if p.ndim != 1 or p.shape[0] != self.values.shape[i]:
                raise errors.value_error(f"the grid lines of dimension {i} have shape {p.shape}, values requires "
                                         f"({self.values.shape[i]},)", op=op, fix="give each node a place")

    @staticmethod
    def _check_method(method: str) -> None:
        if method not in _METHODS:
            raise errors.value_error(f"method {method!r} is not defined, one of {_METHODS} is required",
                                     op="RegularGridInterpolator")

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The interpolated values.

        Args:
          xi: [..., d]; a vector holds the coordinates of one point after the other. Or a tuple of d arrays that
            broadcast.
          method: in place of the one given to the interpolator.

        Returns:
          [..., *values.shape[d:]].

        Raises:
          ValueError: the points have another number of coordinates.
        """
        if method is not None:
            self._check_method(method)
        count = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*[jnp.asarray(x) for x in xi]), axis=-1)
        else:
            xi = jnp.asarray(xi)
            if xi.ndim == 1 and xi.size % count == 0:
                xi = xi.reshape(-1, count)
        if xi.shape[-1:] != (count,):
            raise errors.value_error(f"the sample points have {xi.shape[-1] if xi.ndim else 0} coordinates, this "
                                     f"interpolator has {count} dimensions", op="RegularGridInterpolator",
                                     fix="give each point one coordinate per dimension, in the last axis")
        xi = xi.astype(jnp.result_type(xi, float))
        cells, fractions, outside = [], [], jnp.zeros(xi.shape[:-1], bool)
        for i, grid in enumerate(self.grid):
            x = xi[..., i]
            at = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, max(grid.shape[0] - 2, 0))
            width = grid[jnp.minimum(at + 1, grid.shape[0] - 1)] - grid[at]
            cells.append(at)
            fractions.append(jnp.where(width == 0, 0, (x - grid[at]) / jnp.where(width == 0, 1, width)))
            outside = outside | (x < grid[0]) | (x > grid[-1])
        found = (self._nearest if (method or self.method) == "nearest" else self._linear)(cells, fractions)
        if self.fill_value is not None:
            outside = outside.reshape(outside.shape + (1,) * (found.ndim - outside.ndim))
            found = jnp.where(outside, self.fill_value.astype(found.dtype), found)
        return found

    def _linear(self, cells: list[Array], fractions: list[Array]) -> Any:
        """The mean of the corners of the cell, each weighed by the volume on the other side."""
        trailing = (1,) * (self.values.ndim - len(cells))
        total: Any = 0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1
            for up, fraction in zip(corner, fractions, strict=True):
                weight = weight * (fraction if up else 1 - fraction)
            at = tuple(jnp.minimum(c + up, n - 1) for c, up, n in zip(cells, corner, self.values.shape, strict=False))
            total = total + self.values[at] * weight.reshape(weight.shape + trailing)
        return total

    def _nearest(self, cells: list[Array], fractions: list[Array]) -> Any:
        return self.values[tuple(jnp.where(f <= 0.5, c, jnp.minimum(c + 1, n - 1))
                                 for c, f, n in zip(cells, fractions, self.values.shape, strict=False))]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.interpolate.{name}")


def _rebuilt(method: str, children: tuple[Any, ...]) -> RegularGridInterpolator:
    made = object.__new__(RegularGridInterpolator)
    made.method = method
    made.grid, made.values, made.fill_value = children
    return made


tree.register_pytree_node(RegularGridInterpolator, lambda f: ((f.grid, f.values, f.fill_value), f.method), _rebuilt)
