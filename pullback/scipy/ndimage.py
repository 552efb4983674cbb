"""Arrays read between their elements: scipy.ndimage's map_coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy import elementwise, logic
from pullback.numpy.arguments import ArrayLike, array
from pullback.numpy.indexing import getitem
from pullback.numpy.promotion import broadcast_shapes, broadcast_to
from pullback.ops.elementwise import RoundingMethod
from pullback.ops.elementwise import round as rounded

__all__ = ["map_coordinates"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.ndimage.{name}")


def _nearest(i: Any, n: int) -> Any:
    return elementwise.clip(i, 0, n - 1)


def _wrap(i: Any, n: int) -> Any:
    return elementwise.mod(i, n)


def _mirror(i: Any, n: int) -> Any:
    last = n - 1
    return elementwise.abs(elementwise.mod(i + last, 2 * last) - last) if last else i * 0


def _reflect(i: Any, n: int) -> Any:
    return elementwise.floor_divide(_mirror(2 * i + 1, 2 * n + 1), 2)


# How a position outside an axis of size n becomes one inside.
_MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda i, n: i, "nearest": _nearest, "wrap": _wrap, "mirror": _mirror, "reflect": _reflect}


def _whole(x: Any) -> Any:
    """Numbers rounded to the nearest integer, away from zero in the middle."""
    if dtypes.is_integer(type_of(x).dtype):
        return x
    return rounded(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO)


def _neighbours(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The positions next to a coordinate, and what each counts for."""
    if order == 0:
        return [(retype(_whole(coordinate), dtypes.int32), 1)]
    low = elementwise.floor(coordinate)
    part = coordinate - low
    first = retype(low, dtypes.int32)
    return [(first, 1 - part), (first + 1, part)]


def map_coordinates(input: ArrayLike, coordinates: Sequence[ArrayLike], order: int, mode: str = "constant",
                    cval: ArrayLike = 0.0) -> Array:
    """The values of an array at places between its elements.

    Args:
      input: number[n_1, ..., n_k]
      coordinates: real[...] for each of the k axes, which broadcast; counted in elements from 0.
      order: 0: the nearest element; 1: linear interpolation.
      mode: outside: 'constant' (`cval`), 'nearest', 'wrap', 'mirror' (about the middle of the last element) or
        'reflect' (about its edge).
      cval: the value outside, for mode 'constant'.

    Returns:
      The values, in the dtype of `input`; integers are rounded.

    Raises:
      ValueError: for another mode or order, or another number of coordinates.

    Differentiable in the input, and for order 1 in the coordinates: at an element, the derivative to its right.

    Example:
      >>> scipy.ndimage.map_coordinates(jnp.array([0.0, 10.0, 20.0]), [jnp.array([0.5, 1.2])], order=1)
      Array([ 5., 12.], dtype=float32)
    """
    x = array(input)
    outside = retype(array(cval), x.type.dtype)
    places = [array(c) for c in coordinates]
    if len(places) != x.type.ndim:
        raise errors.value_error(f"got coordinates for {len(places)} axes, the array is {x.type}",
                                 fix="give an array of coordinates per axis")
    if mode not in _MODES:
        raise errors.value_error(f"mode is {mode!r}, one of {', '.join(_MODES)} is required", fix="check the spelling")
    if order not in (0, 1):
        raise errors.value_error(f"order is {order!r}, 0 or 1 is required", fix="pass 1 for linear interpolation")
    shape = broadcast_shapes([c.type.shape for c in places])
    if 0 in x.type.shape and mode != "constant" and 0 not in shape:
        raise errors.value_error(f"the array {x.type} has no elements to read", fix="check its shape")
    total: Any = None
    for neighbours in itertools.product(*[_neighbours(c, order) for c in places]):
        weight: Any = 1
        inside: Any = None
        index = []
        for (i, w), n in zip(neighbours, x.type.shape):
            if mode == "constant":
                within = logic.logical_and(i >= 0, i < n)
                inside = within if inside is None else logic.logical_and(inside, within)
            index.append(_MODES[mode](i, n))
            weight = elementwise.multiply(weight, w)
        found: Any = getitem(x, tuple(index)) if 0 not in x.type.shape else outside
        if inside is not None:
            found = logic.where(inside, found, outside)
        part = elementwise.multiply(weight, found)
        total = part if total is None else elementwise.add(total, part)
    if dtypes.is_integer(x.type.dtype):
        total = _whole(total)
    return retype(broadcast_to(array(total), shape), x.type.dtype)  # type: ignore[no-any-return]
