"""Functions that move elements and compute with none: reshape, broadcast, slice, pad, join, split, fill."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.operand import operands, placed, retype
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = [
    "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcast_to_rank",
    "broadcasted_iota",
    "collapse", "concatenate", "empty", "expand_dims", "full", "full_like", "index_in_dim", "iota", "pad",
    "reshape",
    "rev", "slice", "slice_in_dim", "split", "squeeze", "stack", "tile", "transpose", "unstack",
]

ArrayLike = Any


def reshape(operand: ArrayLike, new_sizes: Any, dimensions: Sequence[int] | None = None, *,
            out_sharding: Any = None) -> Array:
    """The same elements, in row-major order, in another shape.

    Args:
      operand: any[...]
      new_sizes: the shape of the result, which holds as many elements.
      dimensions: the order in which the operand's axes are read; None: as they stand.

    Raises:
      TypeError: if the shapes differ in their number of elements.

    Example:
      >>> lax.reshape(jnp.arange(6), (2, 3)).shape
      (2, 3)
    """
    x = value(operand)
    shape = as_shape(new_sizes, "new_sizes")
    if dimensions is not None:
        x = transpose(x, dimensions)
    if type_of(x).shape != shape or not isinstance(x, Array):
        x = move.reshape(x, shape=shape)
    return placed(x, out_sharding)


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The operand repeated along new leading axes of `sizes`.

    Args:
      operand: any[*shape]
      sizes: the sizes of the new axes.

    Returns:
      any[*sizes, *shape]

    Example:
      >>> lax.broadcast(jnp.arange(2), (2,))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    x = value(operand)
    leading = as_shape(sizes, "sizes")
    shape = type_of(x).shape
    dims = tuple(range(len(leading), len(leading) + len(shape)))
    return placed(move.broadcast_in_dim(x, shape=leading + shape, dims=dims), out_sharding)


def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int], *,
                     out_sharding: Any = None) -> Array:
    """The operand repeated to fill `shape`.

    Args:
      operand: any[...]
      shape: the shape of the result.
      broadcast_dimensions: for each axis of the operand, its axis in the result; the axis has the same size
        there, or size 1 in the operand.

    Raises:
      TypeError: if an axis of the operand does not fit its axis of the result.

    Example:
      >>> lax.broadcast_in_dim(jnp.arange(3), (2, 3), (1,)).tolist()
      [[0, 1, 2], [0, 1, 2]]
    """
    x = value(operand)
    sizes, dims = as_shape(shape), as_shape(broadcast_dimensions, "broadcast_dimensions")
    given = type_of(x).shape
    if len(dims) == len(given) and len(set(dims)) == len(dims) and list(dims) != sorted(dims):
        order = sorted(range(len(dims)), key=lambda i: dims[i])
        x, dims = move.transpose(x, perm=tuple(order)), tuple(sorted(dims))
        given = x.type.shape
    if given != sizes or dims != tuple(range(len(sizes))) or not isinstance(x, Array):
        x = move.broadcast_in_dim(x, shape=sizes, dims=dims)
    return placed(x, out_sharding)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` repeated to the shape of `like_arr`; its axes are the last ones there.

    Example:
      >>> lax.broadcast_like(jnp.float32(1), jnp.zeros(2))
      Array([1., 1.], dtype=float32)
    """
    shape = type_of(value(like_arr)).shape
    ndim = type_of(value(arr)).ndim
    return broadcast_in_dim(arr, shape, range(len(shape) - ndim, len(shape)))  # type: ignore[arg-type]


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """`x` with leading axes of size 1 up to `rank` axes; unchanged if it has as many already.

    Example:
      >>> lax.broadcast_to_rank(jnp.arange(2), 3).shape
      (1, 1, 2)
    """
    shape = type_of(value(x)).shape
    return reshape(x, (1,) * (rank - len(shape)) + shape)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of `shapes` broadcast to, by NumPy's rules.

    Raises:
      ValueError: if two sizes of one axis differ and neither is 1.

    Example:
      >>> lax.broadcast_shapes((2, 1), (1, 3))
      (2, 3)
    """
    given = [as_shape(shape) for shape in shapes]
    result = []
    for axis in range(max(map(len, given), default=0)):  # counted from the last
        size = 1
        for shape in given:
            n = shape[-1 - axis] if axis < len(shape) else 1
            if n != 1 and size not in (1, n):
                raise errors.value_error(
                    f"Incompatible shapes for broadcasting: {', '.join(map(str, given))}: sizes {size} and "
                    f"{n} on axis {-1 - axis}", fix="equal sizes or size 1 are required; reshape one of them")
            size = n if n != 1 else size
        result.append(size)
    return tuple(result[::-1])


def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray) -> Array:
    """The operand with its axes in the order `permutation`.

    Raises:
      TypeError: if `permutation` does not name each axis once.

    Example:
      >>> lax.transpose(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)
    """
    x = value(operand)
    perm = as_shape(permutation, "permutation")
    if perm == tuple(range(type_of(x).ndim)) and isinstance(x, Array):
        return x
    return move.transpose(x, perm=perm)


def slice(operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None) -> Array:
    """The elements from start up to, not including, limit along each axis.

    Args:
      operand: any[...]
      start_indices: an int per axis, from 0 to its limit.
      limit_indices: an int per axis, from its start to the axis' size.
      strides: a positive int per axis; None: 1.

    Raises:
      TypeError: for positions outside the operand; they are not clipped.

    Example:
      >>> lax.slice(jnp.arange(6), (1,), (6,), (2,))
      Array([1, 3, 5], dtype=int32)
    """
    x = value(operand)
    start, limit = as_shape(start_indices, "start_indices"), as_shape(limit_indices, "limit_indices")
    steps = (1,) * len(start) if strides is None else as_shape(strides, "strides")
    return move.slice(x, start=start, limit=limit, strides=steps)


def slice_in_dim(operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0) -> Array:
    """The elements from start up to limit along one axis; negative positions count from its end.

    Args:
      operand: any[...]
      start_index: None: 0.
      limit_index: None: the size of the axis.

    Example:
      >>> lax.slice_in_dim(jnp.arange(6), 1, 3)
      Array([1, 2], dtype=int32)
    """
    x = value(operand)
    shape = type_of(x).shape
    axis = errors.check_axis(axis, len(shape))
    n = shape[axis]

    def position(index: int | None, default: int) -> int:
        if index is None:
            return default
        number = as_shape(index, "an index")[0]
        return number + n if number < 0 else number

    start, limit, steps = [0] * len(shape), list(shape), [1] * len(shape)
    start[axis], limit[axis] = position(start_index, 0), position(limit_index, n)
    steps[axis] = as_shape(stride, "stride")[0]
    return move.slice(x, start=tuple(start), limit=tuple(limit), strides=tuple(steps))


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """The elements at one known position of one axis.

    Args:
      operand: any[...]
      index: an int; negative ones count from the end.
      keepdims: keep the axis, with size 1.

    Raises:
      IndexError: if there is no such position.

    Example:
      >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), 1, axis=1, keepdims=False)
      Array([2, 4], dtype=int32)
    """
    x = value(operand)
    axis = errors.check_axis(axis, type_of(x).ndim)
    n = type_of(x).shape[axis]
    number = as_shape(index, "index")[0]
    if not -n <= number < n:
        raise errors.make(IndexError, f"index {number} is out of bounds for axis {axis} with size {n}",
                          fix=f"use an index from {-n} to {n - 1}" if n else "the axis is empty")
    part = slice_in_dim(x, number % n, number % n + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


def pad(operand: ArrayLike, padding_value: ArrayLike,
        padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """The operand with a value before, after and between its elements.

    Args:
      operand: any[...]
      padding_value: a scalar of the operand's dtype.
      padding_config: (low, high, interior) per axis: how many before the first, after the last, and between
        each two elements. Negative low and high cut elements off.

    Raises:
      TypeError: if the dtypes differ. ValueError: for a wrong number of entries, or a negative size.

    Example:
      >>> lax.pad(jnp.array([1, 2]), 0, [(1, 0, 1)])
      Array([0, 1, 0, 2], dtype=int32)
    """
    x, filling = operands(operand, padding_value)
    config = tuple([as_shape(entry, "an entry of padding_config") for entry in padding_config])
    if any([len(entry) != 3 for entry in config]):
        raise errors.type_error(f"padding_config is {config}, entries (low, high, interior) are required",
                                fix="give three ints per axis")
    return move.pad(x, filling, config=config)


def concatenate(operands: Array | Sequence[ArrayLike], dimension: int) -> Array:
    """Arrays one after the other along an axis they have.

    Args:
      operands: arrays of one dtype, which agree in every size but that of `dimension`.
      dimension: the axis, from 0.

    Raises:
      TypeError: if dtypes or other sizes differ; the message names the operand.

    Example:
      >>> lax.concatenate([jnp.arange(2), jnp.arange(3)], 0)
      Array([0, 1, 0, 1, 2], dtype=int32)
    """
    axis = as_shape(dimension, "dimension")[0]
    return move.concatenate(*[value(x) for x in operands], axis=axis)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of one shape and dtype one after the other along a new axis.

    Args:
      operands: n arrays of shape s.
      axis: where the new axis, of size n, stands in the result.

    Raises:
      ValueError: if the shapes differ.

    Example:
      >>> lax.stack([jnp.arange(2), jnp.arange(2)], 1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    given = [value(x) for x in operands]
    if not given:
        raise errors.value_error("got no operands, at least one is required", fix="pass an array")
    types = [type_of(x) for x in given]
    for i, t in enumerate(types):
        if t.shape != types[0].shape:
            raise errors.value_error(f"operand 0 is {types[0]}, operand {i} is {t}: one shape is required",
                                     fix="broadcast or pad one of them, or use concatenate")
    ndim = types[0].ndim + 1
    axis = errors.check_axis(axis, ndim)
    return move.concatenate(*[expand_dims(x, (axis,)) for x in given], axis=axis)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The n elements of `x` along `axis`, as a tuple of arrays without that axis.

    Example:
      >>> lax.unstack(jnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = value(x)
    axis = errors.check_axis(axis, type_of(x).ndim)
    return tuple([index_in_dim(x, i, axis, keepdims=False) for i in range(type_of(x).shape[axis])])


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Consecutive pieces of `sizes` along an axis.

    Raises:
      ValueError: if a size is negative, or they do not add up to the size of the axis.

    Example:
      >>> lax.split(jnp.arange(4), (1, 3))
      [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    x = value(operand)
    axis = errors.check_axis(axis, type_of(x).ndim)
    pieces, n = as_shape(sizes, "sizes"), type_of(x).shape[axis]
    if any([size < 0 for size in pieces]):
        raise errors.value_error(f"sizes {pieces} has a negative size", fix="sizes are 0 or more")
    if sum(pieces) != n:
        raise errors.value_error(f"sizes {pieces} add up to {sum(pieces)}, axis {axis} of {type_of(x)} has "
                                 f"size {n}",
                                 fix="give sizes that cover the axis")
    begins = [sum(pieces[:i]) for i in range(len(pieces))]
    return [slice_in_dim(x, i, i + size, 1, axis) for i, size in zip(begins, pieces)]


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """The operand repeated `reps[i]` times along each axis i, as a whole.

    Example:
      >>> lax.tile(jnp.arange(2), (2,))
      Array([0, 1, 0, 1], dtype=int32)
    """
    x = value(operand)
    shape, times = type_of(x).shape, as_shape(reps, "reps")
    if len(times) != len(shape):
        raise errors.type_error(f"reps {times} has {move.count(len(times), 'entry', 'entries')}, "
                                f"{type_of(x)} has {move.count(len(shape), 'axis', 'axes')}",
                                fix="give a number for every axis")
    doubled = tuple([size for pair in zip(times, shape) for size in pair])
    spread = move.broadcast_in_dim(x, shape=doubled, dims=tuple(range(1, len(doubled), 2)))
    return move.reshape(spread, shape=tuple([i * n for i, n in zip(times, shape)]))


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """The operand with its elements in reverse order along each of `dimensions`.

    Example:
      >>> lax.rev(jnp.arange(3), (0,))
      Array([2, 1, 0], dtype=int32)
    """
    return move.rev(value(operand), axes=as_shape(dimensions, "dimensions"))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`array` with new axes of size 1 at the places `dimensions` of the result.

    Raises:
      ValueError: if a place is out of range or given twice.

    Example:
      >>> lax.expand_dims(jnp.arange(2), (0,))
      Array([[0, 1]], dtype=int32)
    """
    x = value(array)
    places = as_shape(dimensions, "dimensions")
    shape = list(type_of(x).shape)
    for place in sorted(errors.check_axes(places, len(shape) + len(places))):
        shape.insert(place, 1)
    return reshape(x, shape)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`array` without the axes `dimensions`, which have size 1.

    Raises:
      ValueError: if one of them has another size.

    Example:
      >>> lax.squeeze(jnp.ones((1, 2)), (0,)).shape
      (2,)
    """
    x = value(array)
    shape = type_of(x).shape
    axes = errors.check_axes(as_shape(dimensions, "dimensions"), len(shape))
    for axis in axes:
        if shape[axis] != 1:
            raise errors.value_error(f"axis {axis} of {type_of(x)} has size {shape[axis]}; only axes of size "
                                     "1 can be squeezed", fix="name an axis of size 1, or index this one")
    return reshape(x, [n for axis, n in enumerate(shape) if axis not in axes])


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """The axes from start up to stop made one; bounds as in a Python slice.

    Raises:
      ValueError: if stop lies before start.

    Example:
      >>> lax.collapse(jnp.ones((2, 3, 4)), 1).shape
      (2, 12)
    """
    x = value(operand)
    shape = type_of(x).shape
    low, high, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise errors.value_error(f"axes {start_dimension} to {stop_dimension} of {type_of(x)}: the range "
                                 "ends before it begins", fix="give stop_dimension >= start_dimension")
    return reshape(x, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def iota(dtype: Any, size: int) -> Array:
    """0, 1, ..., size - 1 in `dtype`.

    Example:
      >>> lax.iota(jnp.int32, 3)
      Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Array:
    """Each element's position along the axis `dimension`.

    Raises:
      ValueError: if `shape` has no such axis. TypeError: if `dtype` is bool.

    Example:
      >>> lax.broadcasted_iota(jnp.int32, (2, 2), 1)
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    element = dtypes.canonicalize_requested(dtype, "iota")
    out = move.iota(shape=as_shape(shape), dtype=element, axis=as_shape(dimension, "dimension")[0])
    return placed(out, out_sharding)


def full(shape: Any, fill_value: ArrayLike, dtype: Any = None, *, sharding: Any = None) -> Array:
    """An array of `shape` with `fill_value` everywhere.

    Args:
      fill_value: a scalar.
      dtype: None: that of `fill_value`.

    Raises:
      TypeError: if `fill_value` has axes.

    Example:
      >>> lax.full((2,), 7)
      Array([7, 7], dtype=int32, weak_type=True)
    """
    filling = value(fill_value) if not isinstance(fill_value,
                                                  (list, tuple)) else value(np.asarray(fill_value))
    if type_of(filling).shape:
        raise errors.type_error(f"fill_value is {type_of(filling)}, a scalar is required",
                                fix="use broadcast_in_dim or jnp.full to repeat an array")
    if dtype is not None:
        filling = _cast(filling, dtypes.canonicalize_requested(dtype, "full"), False)
    return placed(move.broadcast_in_dim(filling, shape=as_shape(shape), dims=()), sharding)


def _cast(filling: Any, dtype: Any, weak: bool) -> Any:
    """A scalar in the dtype that was asked for; ints wrap around, so that -1 is all ones in unsigned types."""
    if type(filling) is int and dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        filling = (filling - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)
    return retype(filling, dtype, weak)


def full_like(x: Any, fill_value: ArrayLike, dtype: Any = None, shape: Any = None,
              sharding: Any = None) -> Array:
    """An array like `x` with `fill_value` everywhere.

    Args:
      x: an array, or anything with a shape and a dtype.
      dtype, shape: None: those of `x`.

    Example:
      >>> lax.full_like(jnp.arange(2), 7)
      Array([7, 7], dtype=int32)
    """
    if hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, (np.ndarray, np.generic)):
        like, given = x.dtype, x.shape
        weak = bool(getattr(x, "weak_type", False))
    else:
        t = type_of(value(x))
        like, given, weak = t.dtype, t.shape, t.weak
    filling = value(fill_value)
    if type_of(filling).shape:
        raise errors.type_error(f"fill_value is {type_of(filling)}, a scalar is required",
                                fix="use jnp.full_like to repeat an array")
    element = dtypes.canonicalize_requested(dtype, "full_like") if dtype is not None else like
    filling = _cast(filling, element, weak and dtype is None)
    return placed(move.broadcast_in_dim(filling, shape=as_shape(given if shape is None else shape), dims=()),
                   sharding)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Array:
    """An array of `shape` whose elements nobody set; they are zeros here.

    Example:
      >>> lax.empty((2,), jnp.float32).shape
      (2,)
    """
    return full(shape, 0, dtype, sharding=out_sharding)
