"""Arrays written as index expressions: r_, c_; and indices written so: s_, index_exp."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy.creation import array
from pullback.numpy.joining import concatenate
from pullback.numpy.ranges import along
from pullback.ops import move

__all__ = ["c_", "index_exp", "r_", "s_"]

# They hand back what stands between the brackets.
s_, index_exp = np.s_, np.index_exp


class _Concatenator:
    """Joins what stands between the brackets: arrays, numbers, and slices, which are ranges.

    Args:
      axis: along which to join.
      ndmin: axes that each item has at least.
      place: where the axes of an item with fewer stand among them; -1: last.
    """

    def __init__(self, name: str, axis: int, ndmin: int, place: int) -> None:
        self._name = name
        self._defaults = axis, ndmin, place

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Array:
        items = list(key) if isinstance(key, tuple) else [key]
        (axis, ndmin, place), matrix = self._defaults, ""
        if items and isinstance(items[0], str):
            directive = items.pop(0).strip()
            if directive in ("r", "c"):
                matrix = directive
            else:
                axis, ndmin, place = self._read(directive)
        if not items:
            raise errors.value_error("got nothing to join, at least one item is required", op=self._name,
                                     fix=f"write {self._name}[1:4, 0]")
        joined = concatenate([self._made(item, max(ndmin, 1), place) for item in items], axis=axis)
        if matrix and joined.ndim == 1:
            return move.reshape(joined, shape=(1, joined.size) if matrix == "r" else (joined.size, 1))
        return joined

    def _read(self, directive: str) -> tuple[int, int, int]:
        """The numbers of a directive 'axis', 'axis,ndmin' or 'axis,ndmin,place'."""
        numbers = list(self._defaults)
        given = directive.split(",")
        try:
            numbers[: len(given)] = [int(number) for number in given]
        except ValueError:
            given = []
        if not given or len(numbers) != 3:
            raise errors.value_error(f"the directive is {directive!r}; 'r', 'c' or up to three ints as in '0,2' are "
                                     "required", op=self._name, fix="put arrays, numbers and slices first")
        return numbers[0], numbers[1], numbers[2]

    def _made(self, item: Any, ndmin: int, place: int) -> Any:
        if isinstance(item, str):
            raise errors.value_error(f"got {item!r} behind other items", op=self._name,
                                     fix="a directive stands first")
        x: Any = along(item) if isinstance(item, slice) else array(item, copy=False)
        own = x.type.ndim
        missing = ndmin - own
        if missing <= 0:
            return x
        first = place if place >= 0 else place + missing + 1
        shape = [1] * ndmin
        shape[min(first, missing): min(first, missing) + own] = x.type.shape
        return move.reshape(x, shape=tuple(shape))


r_ = _Concatenator("r_", 0, 1, -1)
r_.__doc__ = """Arrays, numbers and ranges one after the other.

Example:
  >>> jnp.r_[1:4, 0, jnp.array([7, 8])]
  Array([1, 2, 3, 0, 7, 8], dtype=int32)
"""
c_ = _Concatenator("c_", -1, 2, 0)
c_.__doc__ = """Arrays, numbers and ranges as columns beside each other.

Example:
  >>> jnp.c_[1:3, jnp.array([7, 8])]
  Array([[1, 7],
         [2, 8]], dtype=int32)
"""
