"""Functions that read and write at positions that are data: dynamic slices, gather, the scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.primitive import TABLE
from pullback.core.trace import concrete, type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.core.values import value
from pullback.core.vector import zeros_like
from pullback.lax.control_flow import while_loop
from pullback.lax.move import concatenate, expand_dims, reshape
from pullback.lax.operand import retype
from pullback.ops import index, move
from pullback.ops import scatter as scatters
from pullback.ops.index import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from pullback.ops.move import as_shape

__all__ = [
    "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "dynamic_index_in_dim",
    "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "gather", "index_take", "scatter", "scatter_add", "scatter_apply",
    "scatter_max", "scatter_min", "scatter_mul", "scatter_sub",
]

ArrayLike = Any

# Integer types that cannot hold every position of an axis, or overflow when its size is added.
_NARROW = (dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16)
_LEAST, _GREATEST = -(2**31), 2**31 - 1


def known_index(i: Any) -> int | None:
    """The Python int that a scalar index stands for, or None if it is traced."""
    if isinstance(i, ConcreteArray):
        return int(i.numpy()) if not i.type.shape and dtypes.is_integer(i.type.dtype) else None
    if is_scalar(i) and type(i) is not bool and not isinstance(i, (float, complex, np.inexact, np.bool_)):
        return int(i)
    return None


def wrap_index(i: Any, size: int) -> Any:
    """A traced index, or an array of them, with `size` added where it is negative."""
    dtype = type_of(i).dtype
    if dtype in _NARROW:
        i, dtype = retype(i, dtypes.int32), dtypes.int32
    if dtypes.kind(dtype) != "i":
        return i
    zero, length = dtype.type(0), dtype.type(min(size, dtypes.iinfo(dtype).max))
    return TABLE["select_n"](TABLE["lt"](i, zero), i, TABLE["add"](i, length))


def _starts(given: Any, shape: tuple[int, ...], wrap: bool | Sequence[bool]) -> list[Any]:
    """Start indices as ints where known and traced integer scalars elsewhere; negative ones wrapped."""
    if isinstance(given, (Array, np.ndarray)):
        given = value(given)
        if given.type.ndim != 1:
            raise errors.type_error(f"start_indices is {given.type}, a sequence of scalars or an array with "
                                    "one axis is required", fix="give one start per axis")
        if isinstance(given, ConcreteArray):
            given = list(given.numpy())
        else:
            given = [move.reshape(move.slice(given, start=(i,), limit=(i + 1,), strides=(1,)), shape=())
                     for i in range(given.type.shape[0])]
    if len(given) != len(shape):
        raise errors.make(errors.OperandError, f"got {len(given)} start indices for an operand with {len(shape)} axes",
                          fix="give one start per axis")
    flags = [wrap] * len(shape) if isinstance(wrap, bool) else list(wrap)
    starts = []
    for start, n, flag in zip(given, shape, flags):
        known = known_index(start)
        if known is not None:
            if known < 0 and not flag and not isinstance(start, Array):
                raise errors.value_error(f"start index {known} is negative, and allow_negative_indices is "
                                         "False",
                                         fix="give a start from 0, or allow them to count from the end")
            starts.append(known + n if known < 0 and flag else known)
            continue
        start = value(start)
        t = type_of(start)
        if t.shape or not dtypes.is_integer(t.dtype):
            raise errors.type_error(f"a start index is {t}, an integer scalar is required",
                                    fix="pass an int, or an integer array without axes")
        starts.append(wrap_index(start, n) if flag else start)
    return starts


def _operands(starts: Sequence[Any]) -> list[Any]:
    return [np.int32(min(max(i, _LEAST), _GREATEST)) if type(i) is int else i for i in starts]


def dynamic_slice(operand: ArrayLike, start_indices: Any, slice_sizes: Any, *,
                  allow_negative_indices: bool | Sequence[bool] = True) -> Array:
    """A window of known size at a place that may be traced.

    Args:
      operand: any[...]
      start_indices: an integer per axis. A window that would leave the operand is moved inside.
      slice_sizes: the shape of the result.
      allow_negative_indices: whether negative starts count from the end of their axis.

    Raises:
      TypeError: if the window is larger than the operand.

    Example:
      >>> lax.dynamic_slice(jnp.arange(5), (4,), (2,)).tolist()
      [3, 4]
    """
    x = value(operand)
    shape, sizes = type_of(x).shape, as_shape(slice_sizes, "slice_sizes")
    starts = _starts(start_indices, shape, allow_negative_indices)
    inside = len(sizes) == len(shape) and all([0 <= size <= n for size, n in zip(sizes, shape)])
    if inside and all([type(i) is int for i in starts]):
        begin = tuple([min(max(i, 0), n - size) for i, n, size in zip(starts, shape, sizes)])
        limit = tuple([i + size for i, size in zip(begin, sizes)])
        return move.slice(x, start=begin, limit=limit, strides=(1,) * len(shape))
    return index.dynamic_slice(x, *_operands(starts), sizes=sizes)


def dynamic_slice_in_dim(operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True) -> Array:
    """`slice_size` elements along one axis, from a place that may be traced; as dynamic_slice.

    Example:
      >>> lax.dynamic_slice_in_dim(jnp.arange(5), 2, 2)
      Array([2, 3], dtype=int32)
    """
    x = value(operand)
    shape = list(type_of(x).shape)
    axis = errors.check_axis(axis, len(shape))
    starts: list[Any] = [0] * len(shape)
    starts[axis], shape[axis] = start_index, as_shape(slice_size, "slice_size")[0]
    return dynamic_slice(x, starts, shape, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True) -> Array:
    """The elements at one position, which may be traced, of one axis; as dynamic_slice.

    Args:
      keepdims: keep the axis, with size 1.

    Example:
      >>> lax.dynamic_index_in_dim(jnp.arange(4) * 10, 2, keepdims=False).item()
      20
    """
    part = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    if keepdims:
        return part
    axis = errors.check_axis(axis, part.ndim)
    return reshape(part, part.shape[:axis] + part.shape[axis + 1:])


def dynamic_update_slice(operand: ArrayLike, update: ArrayLike, start_indices: Any, *,
                         allow_negative_indices: bool | Sequence[bool] = True) -> Array:
    """The operand with `update` in place of the window at a place that may be traced.

    Args:
      operand: any[...]
      update: any[...], of the same rank and dtype, no larger than the operand.
      start_indices: an integer per axis. A window that would leave the operand is moved inside.
      allow_negative_indices: whether negative starts count from the end of their axis.

    Raises:
      TypeError: if ranks or dtypes differ, or the update is larger than the operand.

    Example:
      >>> lax.dynamic_update_slice(jnp.zeros(4), jnp.ones(2), (1,))
      Array([0., 1., 1., 0.], dtype=float32)
    """
    x = value(operand)
    change = value(update)
    starts = _starts(start_indices, type_of(x).shape, allow_negative_indices)
    return index.dynamic_update_slice(x, change, *_operands(starts))


def dynamic_update_slice_in_dim(operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *,
                                allow_negative_indices: bool = True) -> Array:
    """The operand with `update` in place of a window along one axis; as dynamic_update_slice.

    Example:
      >>> lax.dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 2, 0)
      Array([0., 0., 1., 1.], dtype=float32)
    """
    x = value(operand)
    starts: list[Any] = [0] * type_of(x).ndim
    starts[errors.check_axis(axis, len(starts))] = start_index
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *,
                                allow_negative_indices: bool = True) -> Array:
    """The operand with `update` at one position of one axis; as dynamic_update_slice.

    Args:
      update: with the axis, of size 1, or without it.

    Example:
      >>> lax.dynamic_update_index_in_dim(jnp.zeros(3), 1.0, 1, 0)
      Array([0., 1., 0.], dtype=float32)
    """
    x, change = value(operand), value(update)
    ndim = type_of(x).ndim
    axis = errors.check_axis(axis, ndim)
    if type_of(change).ndim != ndim:
        change = expand_dims(change, (axis,))
    return dynamic_update_slice_in_dim(x, change, index, axis, allow_negative_indices=allow_negative_indices)


def _tuples(dimension_numbers: Any, kind: type) -> Any:
    if not isinstance(dimension_numbers, tuple) or len(dimension_numbers) != len(kind._fields):  # type: ignore
        raise errors.type_error(f"dimension_numbers is {dimension_numbers!r}, {kind.__name__} is required",
                                fix=f"build one with lax.{kind.__name__}(...)")
    return kind(*[as_shape(axes, "a field of dimension_numbers") for axes in dimension_numbers])


def gather(operand: ArrayLike, start_indices: ArrayLike, dimension_numbers: GatherDimensionNumbers,
           slice_sizes: Any, *, unique_indices: bool = False, indices_are_sorted: bool = False,
           mode: str | GatherScatterMode | None = None, fill_value: Any = None) -> Array:
    """For each position in the indices, the window of the operand that begins there.

    Args:
      operand: any[...]
      start_indices: int[..., k]: positions of k components.
      dimension_numbers: what the components and the axes of the result are; see GatherDimensionNumbers.
      slice_sizes: the size of a window along each axis of the operand.
      unique_indices, indices_are_sorted: promises about the positions, which may save time.
      mode: for windows that would leave the operand: 'clip' (or None) moves them inside, 'fill' gives
        `fill_value`, 'promise_in_bounds' says there are none.
      fill_value: None: NaN, or the least signed or greatest unsigned integer, or True.

    Raises:
      TypeError: if the dimension numbers do not fit the operand and the indices.

    The derivative of a clipped read goes to the element that was read, of a filled one nowhere.

    Example:
      >>> dims = lax.GatherDimensionNumbers((), (0,), (0,))
      >>> lax.gather(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), dims, (1,))
      Array([7, 5], dtype=int32)
    """
    x, places = value(operand), value(start_indices)
    how = index.CLIP if mode is None else GatherScatterMode.from_any(mode)
    fill = None if fill_value is None or how is not index.FILL else np.asarray(fill_value).item()
    return index.gather(x, places, dims=_tuples(dimension_numbers, GatherDimensionNumbers),
                        sizes=as_shape(slice_sizes, "slice_sizes"), mode=how, fill=fill,
                        unique=bool(unique_indices), sorted=bool(indices_are_sorted))


def index_take(src: ArrayLike, idxs: Any, axes: Sequence[int]) -> Array:
    """The elements of `src` at positions on some of its axes, which wrap around.

    Args:
      src: any[...]
      idxs: for each of `axes` an int[n] of positions.

    Returns:
      any[n, ...], with the other axes of `src` last.

    Example:
      >>> lax.index_take(jnp.array([[1, 2], [3, 4]]), (jnp.array([1]),), (0,))
      Array([[3, 4]], dtype=int32)
    """
    x, chosen = value(src), as_shape(axes, "axes")
    shape = type_of(x).shape
    chosen = errors.check_axes(chosen, len(shape))
    columns = []
    for axis, places in zip(chosen, idxs):
        places = value(places)
        size = type_of(places).dtype.type(shape[axis])
        places = TABLE["rem"](TABLE["add"](TABLE["rem"](places, size), size), size)
        columns.append(expand_dims(places, (1,)))
    places = concatenate(columns, 1)
    sizes = [1 if axis in chosen else n for axis, n in enumerate(shape)]
    dims = GatherDimensionNumbers(tuple(range(1, 1 + len(shape) - len(chosen))), tuple(sorted(chosen)),
                                  chosen)
    return gather(x, places, dims, sizes)


def _scatter(primitive: Any, operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
             dimension_numbers: Any, indices_are_sorted: bool, unique_indices: bool, mode: Any) -> Array:
    x = value(operand)
    return primitive(x, value(scatter_indices), value(updates),
                     dims=_tuples(dimension_numbers, ScatterDimensionNumbers),
                     mode=GatherScatterMode.from_any(mode), unique=bool(unique_indices),
                     sorted=bool(indices_are_sorted))


def scatter(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
            dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
            unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with a window of updates in place of its own at each position in the indices.

    Args:
      operand: any[...]
      scatter_indices: int[..., k]: positions of k components.
      updates: of the operand's dtype; a window for each position.
      dimension_numbers: what the components and the axes of the updates are; see ScatterDimensionNumbers.
      indices_are_sorted, unique_indices: promises about the positions, which may save time.
      mode: for windows that would leave the operand: 'drop' (or None) leaves them out, 'clip' moves them
        inside, 'promise_in_bounds' says there are none.

    Raises:
      TypeError: if dtypes or shapes do not fit.

    Where several updates meet, the last one stays, and it has the derivative.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter(jnp.zeros(3), jnp.array([[1]]), jnp.array([9.0]), dims)
      Array([0., 9., 0.], dtype=float32)
    """
    return _scatter(scatters.scatter, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted,
                    unique_indices, mode)


def scatter_add(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with updates added to it at the positions in the indices; arguments as of scatter.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_add(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), dims)
      Array([1., 6., 1.], dtype=float32)
    """
    return _scatter(scatters.scatter_add, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_sub(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with updates subtracted at the positions in the indices; arguments as of scatter.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_sub(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), dims)
      Array([ 1., -4.,  1.], dtype=float32)
    """
    x = value(operand)
    return _scatter(scatters.scatter_add, x, scatter_indices, TABLE["neg"](value(updates)),
                    dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_mul(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The operand multiplied by updates at the positions in the indices; arguments as of scatter.

    Differentiable by the operand always, by the updates with unique_indices=True only.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), dims)
      Array([1., 6., 1.], dtype=float32)
    """
    return _scatter(scatters.scatter_mul, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_min(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The lesser of operand and updates at the positions in the indices; arguments as of scatter.

    Where several values are the least, each has the same share of the derivative.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_min(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, 3.0]), dims)
      Array([1., 0., 1.], dtype=float32)
    """
    return _scatter(scatters.scatter_min, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_max(operand: ArrayLike, scatter_indices: ArrayLike, updates: ArrayLike,
                dimension_numbers: ScatterDimensionNumbers, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: str | GatherScatterMode | None = None) -> Array:
    """The greater of operand and updates at the positions in the indices; arguments as of scatter.

    Where several values are the greatest, each has the same share of the derivative.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_max(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), dims)
      Array([1., 3., 1.], dtype=float32)
    """
    return _scatter(scatters.scatter_max, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_apply(operand: ArrayLike, scatter_indices: ArrayLike, func: Callable[[Array], Array],
                  dimension_numbers: ScatterDimensionNumbers, *, update_shape: Any = (),
                  indices_are_sorted: bool = False, unique_indices: bool = False,
                  mode: str | GatherScatterMode | None = None) -> Array:
    """The operand with an elementwise function applied at the positions in the indices; arguments as of
    scatter.

    Args:
      func: elementwise; where positions repeat, it is applied as often.
      update_shape: the shape that updates would have.

    Example:
      >>> dims = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_apply(jnp.ones(3), jnp.array([[1]]), jnp.exp2, dims, update_shape=(1,))
      Array([1., 2., 1.], dtype=float32)
    """
    x, places, shape = value(operand), value(scatter_indices), as_shape(update_shape, "update_shape")
    dims = _tuples(dimension_numbers, ScatterDimensionNumbers)
    how = GatherScatterMode.from_any(mode)
    hints = {"unique": bool(unique_indices), "sorted": bool(indices_are_sorted)}
    t = type_of(x)
    if unique_indices:
        old = scatters.read(x, places, ArrayType(shape, t.dtype), dims, index.CLIP, **hints)
        return scatters.scatter(x, places, applied(func, old), dims=dims, mode=how, **hints)
    ones = move.broadcast_in_dim(np.int32(1), shape=shape, dims=())
    counts = scatters.scatter_add(zeros_like(ArrayType(t.shape, dtypes.int32)), places, ones, dims=dims,
                                  mode=how,
                                  **hints)
    return repeated(func, x, counts)


def repeated(function: Callable[[Array], Array], x: Array, counts: Array) -> Array:
    """`x` with an elementwise function applied `counts` times.

    Args:
      x: any[*shape]
      counts: i32[*shape]
    """
    known = concrete(counts)
    if known is not None:
        for n in range(int(known.numpy().max(initial=0))):
            x = _applied_where(function, x, counts, n)
        return x

    def more(state: tuple[Any, ...]) -> Array:
        return TABLE["lt"](state[2], state[3])

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, counts, n, most = state
        return _applied_where(function, x, counts, n), counts, TABLE["add"](n, np.int32(1)), most

    most = TABLE["reduce_max"](counts,
                               axes=tuple(range(counts.type.ndim))) if counts.type.size else np.int32(0)
    return while_loop(more, step, (x, counts, np.int32(0), most))[0]


def _applied_where(function: Callable[[Array], Array], x: Array, counts: Array, n: Any) -> Array:
    return TABLE["select_n"](TABLE["gt"](counts, np.int32(n) if type(n) is int else n), x,
                             applied(function, x))


def applied(function: Callable[[Array], Array], x: Array) -> Array:
    """function(x), of the type of `x`; an error if it is of another."""
    out = value(function(x))
    given, required = type_of(out), type_of(x)
    if given.shape != required.shape or given.dtype != required.dtype:
        raise errors.type_error(f"the function made {given} of {required}; an elementwise function that "
                                "keeps the dtype is required", fix="convert its result with astype, or use "
                                                                   "set")
    return retype(out, required.dtype, required.weak) if required.weak else out
