"""Reading and writing by arrays of positions: take, take_along_axis, put, put_along_axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.index import wrap_index
from pullback.lax.operand import retype
from pullback.numpy.bounds import check_along
from pullback.numpy.indexing import AtIndex, getitem
from pullback.numpy.promotion import as_array, broadcast_shapes, broadcast_to, operand
from pullback.ops import index as reads
from pullback.ops import move
from pullback.ops.index import CLIP, FILL, GatherDims, GatherScatterMode

__all__ = ["put", "put_along_axis", "take", "take_along_axis"]

ArrayLike = Any


def _whole_numbers(indices: ArrayLike) -> Array:
    """Indices as an array of integers."""
    places = as_array(operand(indices))
    if dtypes.kind(type_of(places).dtype) not in "iub":
        raise errors.make(errors.OperandError, f"indices are {type_of(places)}, integers are required",
                          fix="convert them with astype(int)")
    return retype(places, dtypes.int32) if dtypes.is_bool(places.type.dtype) else places


def _mode(mode: Any, default: GatherScatterMode) -> GatherScatterMode:
    if mode == "raise":
        raise errors.value_error("mode is 'raise': a compiled program cannot raise for single positions",
                                 fix="use 'fill', 'clip' or 'wrap'")
    return default if mode is None else GatherScatterMode.from_any(mode)


def _around(places: Array, size: int) -> Array:
    """Positions modulo `size`."""
    if places.type.dtype in (dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16):
        places = retype(places, dtypes.int32)
    n = np.broadcast_to(places.type.dtype.type(max(size, 1)), ())[()]
    return wrap_index(TABLE["rem"](places, n), size)


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str | None = None,
         unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None) -> Array:
    """The elements of `a` at positions along an axis.

    Args:
      a: any[*before, n, *after]
      indices: int[*positions]; negative ones count from the end (but with mode 'clip').
      axis: None: of `a` made one-dimensional.
      mode: for positions outside: 'fill' (or None) gives `fill_value`, 'clip' the nearest element, 'wrap'
        counts around.
      unique_indices, indices_are_sorted: promises about the positions, which may save time.
      fill_value: None: NaN, the least signed or the greatest unsigned integer, or True.

    Returns:
      any[*before, *positions, *after]

    Raises:
      IndexError: if the axis has no elements and there are positions.

    Example:
      >>> jnp.take(jnp.array([1.0, 2.0]), jnp.array([1, 0, 5])).tolist()
      [2.0, 1.0, nan]
    """
    if out is not None:
        raise errors.type_error("out is given, None is required: arrays are immutable", fix="use the result")
    x, places = as_array(operand(a)), _whole_numbers(indices)
    if axis is None:
        x, axis = move.reshape(x, shape=(x.type.size,)), 0
    axis = errors.check_axis(axis, x.type.ndim)
    check_along(x.type, places, axis, mode, "take")
    around = mode == "wrap"
    how = CLIP if around else _mode(mode, FILL)
    if x.type.shape[axis] == 0 and places.type.size:
        raise errors.make(IndexError, f"axis {axis} of {x.type} has no elements to take {places.type.size} "
                                      "from",
                          fix="check the size first")
    if around:
        places = _around(places, x.type.shape[axis])
    fill = None if fill_value is None else np.asarray(fill_value).item()
    return getitem(x, (slice(None),) * axis + (places,), how, fill, unique_indices, indices_are_sorted,
                   wrap=mode != "clip")


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1,
                    mode: str | GatherScatterMode | None = None, fill_value: Any = None, *,
                    wrap_negative_indices: bool = True) -> Array:
    """The elements at positions along an axis that differ from place to place on the other axes.

    Args:
      arr: any[*before, n, *after]
      indices: int[*before, k, *after]; sizes 1 of the other axes broadcast. As argsort gives them.
      axis: None: of `arr` made one-dimensional.
      mode: for positions outside: 'fill' (or None) gives `fill_value`, 'clip' the nearest element.
      fill_value: None: NaN, the least signed or the greatest unsigned integer, or True.

    Returns:
      any[*before, k, *after]

    Raises:
      ValueError: if the ranks differ, or other axes do not broadcast. TypeError: if indices are not integers.

    Example:
      >>> jnp.take_along_axis(jnp.array([[3, 1, 2]]), jnp.array([[1]]), axis=1)
      Array([[1]], dtype=int32)
    """
    x, places = as_array(operand(arr)), as_array(operand(indices))
    if not dtypes.is_integer(places.type.dtype):
        raise errors.make(errors.OperandError, f"indices are {places.type}, integers are required",
                          fix="convert them with astype(int)")
    if axis is None:
        x, axis = move.reshape(x, shape=(x.type.size,)), 0
    places, axis = _same_rank(x, places, axis)
    n, shape = x.type.shape[axis], places.type.shape
    out = _other_axes(x, places, axis)
    check_along(x.type, places, axis, mode, "take_along_axis")
    how = _mode(mode, FILL)
    if wrap_negative_indices:
        places = wrap_index(places, n)
    if 0 in out:
        return TABLE["zeros"](of=x.type.with_shape(out))
    if n == 0:
        raise errors.make(IndexError, f"axis {axis} of {x.type} has no elements to take from",
                          fix="check the size first")
    # Other axes of one size go together; those the indices repeat are windows, those the array repeats have
    # one place.
    window = [i for i, m in enumerate(x.type.shape) if i != axis and shape[i] == 1]
    together = [i for i, m in enumerate(x.type.shape) if i != axis and i not in window and m == shape[i]]
    collapsed = tuple([i for i in range(len(shape)) if i not in window and i not in together])
    outer = [i for i in range(len(shape)) if i not in window]
    places = move.reshape(places, shape=(*[shape[i] for i in outer], 1))
    dims = GatherDims(tuple(window), collapsed, (axis,), tuple(together),
                      tuple([outer.index(i) for i in together]))
    sizes = tuple([m if i in window else 1 for i, m in enumerate(x.type.shape)])
    fill = None if fill_value is None else np.asarray(fill_value).item()
    return reads.gather(x, places, dims=dims, sizes=sizes, mode=how, fill=fill)


def _same_rank(x: Array, places: Array, axis: int) -> tuple[Array, int]:
    ndim = x.type.ndim
    if places.type.ndim != ndim:
        raise errors.value_error(f"indices are {places.type}, the array is {x.type}: they must have one rank",
                                 fix="give the indices axes of size 1 with jnp.expand_dims")
    return places, errors.check_axis(axis, ndim)


def _other_axes(x: Array, places: Array, axis: int) -> tuple[int, ...]:
    """The shape of the result."""
    shape = list(x.type.shape)
    shape[axis] = places.type.shape[axis]
    others = list(places.type.shape)
    return broadcast_shapes([tuple(shape), tuple(others)])


def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *,
        inplace: bool = True) -> Array:
    """A copy of `a` with values at positions of `a` made one-dimensional.

    Args:
      a: any[...]
      ind: int[...]: positions; negative ones count from the end if mode is None.
      v: the values, repeated as often as needed.
      mode: for positions outside: 'clip' (or None) takes the nearest element, 'wrap' counts around.
      inplace: must be False: arrays are immutable, the copy is the result.

    Raises:
      ValueError: if inplace is not False.

    Example:
      >>> jnp.put(jnp.arange(3), 1, 9, inplace=False)
      Array([0, 9, 2], dtype=int32)
    """
    not_in_place(inplace)
    x, places, values = as_array(operand(a)), _whole_numbers(ind), as_array(operand(v))
    size, count = x.type.size, places.type.size
    if not size or not count or not values.type.size:
        return x
    places = move.reshape(places, shape=(count,))
    if mode == "wrap":
        places = _around(places, size)
    elif _mode(mode, CLIP) is not CLIP:
        raise errors.value_error(f"mode is {mode!r}, one of 'clip', 'wrap' or None is required",
                                 fix="x.at[...].set takes other modes")
    values = move.reshape(values, shape=(values.type.size,))
    if values.type.size < count:
        times = math.ceil(count / values.type.size)
        spread = move.broadcast_in_dim(values, shape=(times, values.type.size), dims=(1,))
        values = move.reshape(spread, shape=(times * values.type.size,))
    values = move.slice(values, start=(0,), limit=(count,), strides=(1,))
    flat = move.reshape(x, shape=(size,))
    return move.reshape(AtIndex(flat, places).set(values, mode="clip", wrap_negative_indices=mode is None),
                        shape=x.type.shape)


def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None,
                   inplace: bool = True, *,
                   mode: str | None = None) -> Array:
    """A copy of `arr` with values at positions along an axis that differ from place to place on the others.

    Args:
      arr: any[*before, n, *after]
      indices: int[*before, k, *after]; sizes 1 of the other axes broadcast.
      values: broadcast to the indices.
      axis: None: of `arr` made one-dimensional.
      inplace: must be False: arrays are immutable, the copy is the result.
      mode: for positions outside: 'drop' (or None) leaves them out, 'clip' takes the nearest element.

    Raises:
      ValueError: if inplace is not False, or shapes do not fit.

    Example:
      >>> jnp.put_along_axis(jnp.zeros((1, 2)), jnp.array([[1]]), 9, axis=1, inplace=False)
      Array([[0., 9.]], dtype=float32)
    """
    not_in_place(inplace)
    x, places = as_array(operand(arr)), _whole_numbers(indices)
    shape = x.type.shape
    if axis is None:
        x, axis = move.reshape(x, shape=(x.type.size,)), 0
    places, axis = _same_rank(x, places, axis)
    full = list(x.type.shape)
    full[axis] = places.type.shape[axis]
    places = broadcast_to(places, tuple(full))
    grid: list[Any] = [np.arange(n).reshape([-1 if j == i else 1 for j in range(len(full))])
                       for i, n in enumerate(full)]
    grid[axis] = places
    out = AtIndex(x, tuple(grid)).set(broadcast_to(as_array(value(values)), tuple(full)), mode=mode)
    return move.reshape(out, shape=shape)


def not_in_place(inplace: bool) -> None:
    """A ValueError unless the caller says that the copy is what he wants."""
    if inplace:
        raise errors.value_error("inplace=True: arrays are immutable", fix="pass inplace=False and use the "
                                                                           "result")
