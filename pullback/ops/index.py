"""Reading at positions that are data: dynamic slices, their update, and gather. (The scatters: scatter.py.)

Positions outside the operand: a dynamic slice is moved inside, as a whole. A gather does that (CLIP, and what
PROMISE_IN_BOUNDS amounts to), or gives a fill value (FILL_OR_DROP).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import broadcast, instantiate, zeros_like
from pullback.ops import dependence
from pullback.ops.families import Move, MovesKeys
from pullback.ops.move import Shape, concatenate, reshape


class GatherDimensionNumbers(NamedTuple):
    """Which axes of a gather are which; the last axis of the indices holds the components of a position.

    offset_dims: axes of the result that run through a window, in the order of the operand's axes.
    collapsed_slice_dims: axes of the operand with window size 1 that the result does not have.
    start_index_map: for each component of a position, the axis of the operand it is a position on.
    operand_batching_dims, start_indices_batching_dims: axes of operand and indices that go together.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of a scatter are which; the last axis of the indices holds the components of a position.

    update_window_dims: axes of the updates that run through a window, in the order of the operand's axes.
    inserted_window_dims: axes of the operand with window size 1 that the updates do not have.
    scatter_dims_to_operand_dims: for each component of a position, the axis of the operand it is a position
      on.
    operand_batching_dims, scatter_indices_batching_dims: axes of operand and indices that go together.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


GatherDims = GatherDimensionNumbers
ScatterDims = ScatterDimensionNumbers


class GatherScatterMode(enum.Enum):
    """What a gather or scatter does with positions outside the operand."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name: 'clip', 'fill' or 'drop' (also None), 'promise_in_bounds'."""
        if isinstance(mode, GatherScatterMode):
            return mode
        found = _MODES.get(mode)
        if found is None:
            raise errors.value_error(f"mode is {mode!r}, one of 'clip', 'fill', 'drop', 'promise_in_bounds' "
                                     "or None is required",
                                     fix="use 'fill' (get) or 'drop' (set) for positions outside")
        return found


CLIP, FILL, PROMISE = GatherScatterMode
_MODES = {"clip": CLIP, "fill": FILL, "drop": FILL, None: FILL, "promise_in_bounds": PROMISE}


def default_fill(dtype: Any) -> Any:
    """What a gather gives outside: NaN, the least signed, the greatest unsigned integer, or True."""
    kind = dtypes.kind(dtype)
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        return int(info.min if kind == "i" else info.max)
    return kind == "b" or float("nan")


# -- dynamic slices -----------------------------------------------------------------------------------


def _check_starts(x: ArrayType, starts: Sequence[ArrayType], sizes: Shape) -> None:
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise errors.type_error(f"operand {x} has {x.ndim} axes; got {len(starts)} start indices and "
                                f"{len(sizes)} sizes", fix="give one of each per axis")
    for axis, (n, size) in enumerate(zip(x.shape, sizes)):
        if not 0 <= size <= n:
            raise errors.type_error(f"slice size {size} of axis {axis} of {x}; 0 to {n} is required",
                                    fix="take a smaller slice")
    for t in starts:
        if t.shape or not dtypes.is_integer(t.dtype):
            fix = "pass the starts as a sequence of scalars" if t.shape else "convert it with astype(int)"
            raise errors.type_error(f"a start index is {t}, an integer scalar is required", fix=fix)


def wide(b: Any, indices: Any) -> Any:
    """Indices in a signed type that can hold every position."""
    dtype = indices.type.dtype
    if dtype == dtypes.uint64:
        indices = b.min(indices, b.full(2**63 - 1, indices.type))
    if dtype in (dtypes.int32, dtypes.int64):
        return indices
    return b.convert(indices, dtypes.int64 if dtype in (dtypes.uint32, dtypes.uint64) else dtypes.int32)


def _wide_starts(b: Any, starts: Sequence[Any]) -> list[Any]:
    converted = [wide(b, s) for s in starts]
    if len({s.type.dtype for s in converted}) > 1:
        converted = [b.convert(s, dtypes.int64) for s in converted]
    return converted


def integers(indices: Any) -> np.ndarray:
    """Indices of any integer type as int64."""
    array = np.asarray(indices)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(2**63 - 1))
    return array.astype(np.int64)


def _window(starts: Sequence[Any], shape: Shape, sizes: Shape) -> tuple[slice, ...]:
    begins = [min(max(int(integers(s)), 0), n - size) for s, n, size in zip(starts, shape, sizes)]
    return tuple([slice(i, i + size) for i, size in zip(begins, sizes)])


def _positions(size: int, starts: Sequence[Any], batched: Sequence[bool]) -> Any:
    """Batched scalars as the indices of a gather: integers[size, len(starts)]."""
    narrow = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8, dtypes.uint16)
    dtype = dtypes.int32 if all([type_of(s).dtype in narrow for s in starts]) else dtypes.int64
    columns = []
    for start, flag in zip(starts, batched):
        column = TABLE["convert_element_type"](start, dtype=dtype, weak=False)
        column = column if flag else broadcast(column, size)
        columns.append(reshape(column, shape=(size, 1)))
    return columns[0] if len(columns) == 1 else concatenate(*columns, axis=1)


class DynamicSlice(Move):
    """The window of `sizes` that begins at `starts`, moved inside the operand where it would leave it."""

    def type(self, x: ArrayType, *starts: ArrayType, sizes: Shape) -> list[ArrayType]:
        _check_starts(x, starts, sizes)
        return [x.with_shape(sizes)]

    def numpy(self, x: np.ndarray, *starts: np.ndarray, sizes: Shape) -> Outputs:
        x = np.asarray(x)
        return [x[_window(starts, x.shape, sizes)]]

    def hlo(self, b: Any, x: Any, *starts: Any, sizes: Shape) -> Outputs:
        return [b.op("stablehlo.dynamic_slice", [x, *_wide_starts(b, starts)], b.outputs[0],
                     f"slice_sizes = {b.ints(sizes)}")]

    def transpose(self, cts: Sequence[Any], x: Any, *starts: Any, sizes: Shape) -> list[Any]:
        return [dynamic_update_slice(zeros_like(x.type), cts[0], *starts), *[None] * len(starts)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, sizes: Shape
              ) -> tuple[Outputs, list[bool]]:
        x, *starts = args
        if not any(batched[1:]):
            return [self(x, _like(0, starts), *starts, sizes=(size, *sizes))], [True]
        if not size:
            return [zeros_like(ArrayType((0, *sizes), x.type.dtype, x.type.weak))], [True]
        first = int(batched[0])
        shape = x.type.shape[first:]
        # A window as long as its axis begins at 0.
        axes = [axis for axis, n in enumerate(shape) if sizes[axis] != n]
        if not axes:
            return [x], [batched[0]]
        indices = _positions(size, [starts[axis] for axis in axes], [batched[axis + 1] for axis in axes])
        together = (0,) * first
        dims = GatherDims(tuple(range(1, len(shape) + 1)), (), tuple([axis + first for axis in axes]),
                          together, together)
        return [gather(x, indices, dims=dims, sizes=(1,) * first + sizes, mode=CLIP, fill=None)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = _normal(rng, 4, 5)
        yield Example(x, np.int32(1), np.int32(2), sizes=(2, 3), linear=(0,))
        yield Example(x, np.int32(9), np.int32(-7), sizes=(2, 5), linear=(0,))
        yield Example(x, np.uint32(3), np.uint32(2**32 - 1), sizes=(1, 1), linear=(0,))
        yield Example(_normal(rng, 300), np.int8(100), sizes=(100,), linear=(0,))
        yield Example(_normal(rng, 300), np.uint8(250), sizes=(4,), linear=(0,))
        yield Example(_normal(rng), sizes=(), linear=(0,))
        yield Example(_normal(rng, 0, 2), np.int32(3), np.int32(1), sizes=(0, 1), linear=(0,))
        yield Example(np.arange(5, dtype=np.int32), np.int32(2), sizes=(2,))

    def oracle(self, jax: Any, x: Any, *starts: Any, sizes: Shape) -> Any:
        return jax.lax.dynamic_slice(x, _for_jax(jax, starts), sizes, allow_negative_indices=False)


class DynamicUpdateSlice(MovesKeys):
    """The operand with `update` in place of the window at `starts`, moved inside where need be."""

    def type(self, x: ArrayType, update: ArrayType, *starts: ArrayType) -> list[ArrayType]:
        if x.dtype != update.dtype:
            raise errors.type_error(f"operand {x} and update {update} must have one dtype",
                                    fix="convert the update with astype")
        if x.ndim != update.ndim:
            raise errors.type_error(f"operand {x} and update {update} must have one rank",
                                    fix="reshape the update")
        _check_starts(x, starts, update.shape)
        return [x.strong()]

    def numpy(self, x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> Outputs:
        result = np.array(x)
        result[_window(starts, result.shape, np.shape(update))] = update
        return [result]

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        x, update = types[:2]
        if which == 0:
            return dependence.same(x.size)
        if any([start is None for start in values[2:]]):
            return None
        starts = [np.asarray(start) for start in values[2:]]
        places = dependence.numbered(x)[_window(starts, x.shape, update.shape)]
        return dependence.to_places(places - 1, x.size)

    def hlo(self, b: Any, x: Any, update: Any, *starts: Any) -> Outputs:
        return [b.op("stablehlo.dynamic_update_slice", [x, update, *_wide_starts(b, starts)], b.outputs[0])]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        x, update, *starts = primals
        out = self(*primals)
        if isinstance(tangents[0], Zero) and isinstance(tangents[1], Zero):
            return [out], [Zero(type_of(out).tangent())]
        return [out], [self(instantiate(tangents[0]), instantiate(tangents[1]), *starts)]

    def transpose(self, cts: Sequence[Any], x: Any, update: Any, *starts: Any) -> list[Any]:
        shape = type_of(update).shape
        x_ct = update_ct = None
        if isinstance(x, Linear):
            x_ct = self(cts[0], zeros_like(ArrayType(shape, cts[0].type.dtype)), *starts)
        if isinstance(update, Linear):
            update_ct = dynamic_slice(cts[0], *starts, sizes=shape)
        return [x_ct, update_ct, *[None] * len(starts)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool]) -> tuple[Outputs, list[bool]]:
        x, update, *starts = args
        x = x if batched[0] else broadcast(x, size)
        update = update if batched[1] else broadcast(update, size)
        if not any(batched[2:]):
            return [self(x, update, _like(0, starts), *starts)], [True]
        axes = [axis for axis in range(1, x.type.ndim) if x.type.shape[axis] != update.type.shape[axis]]
        if not axes:
            return [update], [True]
        indices = _positions(size, [starts[axis - 1] for axis in axes], [batched[axis + 1] for axis in axes])
        dims = ScatterDims(tuple(range(1, x.type.ndim)), (), tuple(axes), (0,), (0,))
        return [TABLE["scatter"](x, indices, update, dims=dims, mode=CLIP, unique=True)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = _normal(rng, 4, 5)
        yield Example(x, _normal(rng, 2, 3), np.int32(1), np.int32(2), linear=(0, 1))
        yield Example(x, _normal(rng, 2, 5), np.int32(9), np.int32(-7), linear=(0, 1))
        yield Example(x, _normal(rng, 4, 5), np.int32(1), np.int32(1), linear=(0, 1))
        yield Example(_normal(rng, 300), _normal(rng, 100), np.uint8(250), linear=(0, 1))
        yield Example(_normal(rng), _normal(rng), linear=(0, 1))
        yield Example(x, _normal(rng, 0, 2), np.int32(3), np.int32(1), linear=(0, 1))
        yield Example(np.zeros(5, np.bool_), np.ones(2, np.bool_), np.int32(2))

    def oracle(self, jax: Any, x: Any, update: Any, *starts: Any) -> Any:
        return jax.lax.dynamic_update_slice(x, update, _for_jax(jax, starts), allow_negative_indices=False)


def _for_jax(jax: Any, starts: Sequence[Any]) -> list[Any]:
    # With 8-bit starts jaxlib 0.10 reads and writes outside the operand.
    return [jax.numpy.asarray(s if s.dtype.itemsize > 2 else s.astype(np.int32)) for s in starts]


def _like(number: int, starts: Sequence[Any]) -> Any:
    return type_of(starts[0]).dtype.type(number) if starts else np.int32(number)


# -- gather -------------------------------------------------------------------------------------------


def check_increasing(axes: Shape, ndim: int, what: str) -> None:
    """A TypeError unless `axes` are axes from 0 to ndim - 1 in increasing order."""
    if list(axes) != sorted(set(axes)) or any([not 0 <= axis < ndim for axis in axes]):
        raise errors.type_error(f"{what} is {axes}; increasing axes from 0 to {ndim - 1} are required",
                                fix="name each axis once, in order")


def check_indices(x: ArrayType, indices: ArrayType, components: Shape, gone: Shape, together: Shape,
                  index_axes: Shape, names: tuple[str, str, str, str]) -> None:
    """What gather and scatter ask of the indices and of the operand's axes."""
    if not indices.shape or not dtypes.is_integer(indices.dtype):
        raise errors.make(errors.OperandError, f"the indices are {indices}; integers, with components on the last "
                          "axis, are required",
                          fix="convert with astype(int), or add the axis: i[..., None]")
    if indices.shape[-1] != len(components):
        raise errors.type_error(f"the last axis of the indices {indices} must have size {len(components)}, "
                                f"the length of {names[0]}", fix="one component per entry of it")
    if len(set(components)) != len(components) or any([not 0 <= axis < x.ndim for axis in components]):
        raise errors.type_error(f"{names[0]} is {components}; distinct axes of the operand {x} are required",
                                fix="name each axis once")
    check_increasing(gone, x.ndim, names[1])
    check_increasing(together, x.ndim, names[2])
    if set(together) & (set(gone) | set(components)):
        raise errors.type_error(f"{names[2]} {together} also stand in {names[0]} or {names[1]}",
                                fix="give an axis one role")
    if len(together) != len(index_axes) or len(set(index_axes)) != len(index_axes) or any(
            [not 0 <= axis < indices.ndim - 1 for axis in index_axes]):
        raise errors.type_error(f"{names[3]} is {index_axes}; one axis of the indices {indices}, not the "
                                f"last, is required for each of {names[2]} {together}", fix="pair the axes")
    for axis, index_axis in zip(together, index_axes):
        if x.shape[axis] != indices.shape[index_axis]:
            raise errors.type_error(
                f"axis {axis} of the operand {x} has size {x.shape[axis]}, axis {index_axis} of the indices "
                f"{indices} has size {indices.shape[index_axis]}; axes that go together have one size",
                fix="broadcast one")


@functools.lru_cache(4096)
def _is_take(shape: Shape, count: int, dims: GatherDims, sizes: Shape) -> bool:
    """Whether elements along one axis are gathered, with the `count` axes of the positions in its place."""
    if len(dims.start_index_map) != 1 or dims.collapsed_slice_dims != dims.start_index_map:
        return False
    axis, ndim = dims.start_index_map[0], len(shape)
    return (not dims.operand_batching_dims and shape[axis] > 0
            and dims.offset_dims == (*range(axis), *range(axis + count, ndim - 1 + count))
            and sizes[:axis] == shape[:axis] and sizes[axis + 1:] == shape[axis + 1:])


_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def _taken(x: np.ndarray, places: np.ndarray, axis: int, mode: GatherScatterMode, fill: Any) -> np.ndarray:
    n = x.shape[axis]
    if places.dtype not in _UNSIGNED or n >= 2 ** 31:
        places = integers(places)
    taken = x.take(places, axis, mode="clip")
    # As unsigned numbers, those below 0 are beyond n too.
    if mode is not FILL or np.logical_and.reduce(places.view(_UNSIGNED[places.dtype]) < n, axis=None):
        return taken
    inside = ((places >= 0) & (places < n)).reshape(places.shape + (1,) * (x.ndim - axis - 1))
    return np.where(inside, taken, np.asarray(default_fill(x.dtype) if fill is None else fill).astype(x.dtype))


class Gather(Move):
    """For each position in the indices, the window of `sizes` of the operand that begins there."""

    def type(self, x: ArrayType, indices: ArrayType, *, dims: GatherDims, sizes: Shape,
             **params: Any) -> list[ArrayType]:
        check_indices(x, indices, dims.start_index_map, dims.collapsed_slice_dims, dims.operand_batching_dims,
                      dims.start_indices_batching_dims,
                      ("start_index_map", "collapsed_slice_dims", "operand_batching_dims",
                       "start_indices_batching_dims"))
        if len(sizes) != x.ndim or any([not 0 <= size <= n for size, n in zip(sizes, x.shape)]):
            raise errors.type_error(f"slice_sizes is {sizes}; a size per axis of the operand {x}, none "
                                    "larger than the axis, is required", fix="take smaller windows")
        gone = dims.collapsed_slice_dims + dims.operand_batching_dims
        for axis in gone:
            if sizes[axis] != 1 and not (sizes[axis] == 0 and axis in dims.operand_batching_dims):
                raise errors.type_error(f"slice_sizes {sizes} has {sizes[axis]} for axis {axis}, which the "
                                        "result does not have; 1 is required", fix="set its size to 1")
        window = [size for axis, size in enumerate(sizes) if axis not in gone]
        ndim = indices.ndim - 1 + len(window)
        check_increasing(dims.offset_dims, ndim, "offset_dims")
        if len(dims.offset_dims) != len(window):
            raise errors.type_error(f"offset_dims {dims.offset_dims} names {len(dims.offset_dims)} axes, the "
                                    f"windows have {len(window)}", fix="name an axis of the result for each")
        return [x.with_shape(interleave(indices.shape[:-1], window, dims.offset_dims))]

    def numpy(self, x: np.ndarray, indices: np.ndarray, *, dims: GatherDims, sizes: Shape,
              mode: GatherScatterMode, fill: Any = None, **hints: bool) -> Outputs:
        x, count = np.asarray(x), indices.ndim - 1
        if _is_take(x.shape, count, dims, sizes):
            return [_taken(x, indices[..., 0], dims.start_index_map[0], mode, fill)]
        starts = integers(indices)
        last = np.array([x.shape[axis] - sizes[axis] for axis in dims.start_index_map], np.int64)
        inside = ((starts >= 0) & (starts <= last)).all(-1) if mode is FILL else None
        starts = np.clip(starts, 0, last)
        gone = dims.collapsed_slice_dims + dims.operand_batching_dims
        window = [axis for axis in range(x.ndim) if axis not in gone]
        whole = [axis for axis in window if sizes[axis] == x.shape[axis]]
        partial = [axis for axis in window if axis not in whole]
        picked = [axis for axis in range(x.ndim) if axis not in whole]
        where = []
        for axis in picked:
            if axis in dims.operand_batching_dims:
                index_axis = dims.start_indices_batching_dims[dims.operand_batching_dims.index(axis)]
                begin = along(np.arange(x.shape[axis]), index_axis, count)
            elif axis in dims.start_index_map:
                begin = starts[..., dims.start_index_map.index(axis)]
            else:
                begin = np.zeros((1,) * count, np.int64)
            begin = begin.reshape(begin.shape + (1,) * len(partial))
            if axis in partial:
                begin = begin + along(np.arange(sizes[axis]), partial.index(axis), len(partial))
            where.append(begin)
        ordered = np.transpose(x, picked + whole)
        shape = starts.shape[:-1] + tuple([sizes[axis] for axis in partial + whole])
        if where:
            # One index array has to have the whole shape of the positions.
            where[0] = np.broadcast_to(where[0], shape[: len(shape) - len(whole)])
        found = ordered[tuple(where)] if where else np.broadcast_to(ordered, shape)
        places = iter(range(count))
        order = [count + (partial + whole).index(window[dims.offset_dims.index(i)]) if i in dims.offset_dims
                 else next(places) for i in range(found.ndim)]
        found = np.transpose(found, order)
        if inside is not None:
            outside = np.asarray(default_fill(x.dtype) if fill is None else fill).astype(x.dtype)
            inside = inside.reshape(interleave(inside.shape, [1] * len(window), dims.offset_dims))
            found = np.where(inside, found, outside)
        return [found]

    def hlo(self, b: Any, x: Any, indices: Any, *, dims: GatherDims, sizes: Shape, mode: GatherScatterMode,
            fill: Any = None, sorted: bool = False, **hints: bool) -> Outputs:
        indices, out = wide(b, indices), b.outputs[0]
        numbers = (f"#stablehlo.gather<offset_dims = {list(dims.offset_dims)}, "
                   f"collapsed_slice_dims = {list(dims.collapsed_slice_dims)}, "
                   f"operand_batching_dims = {list(dims.operand_batching_dims)}, "
                   f"start_indices_batching_dims = {list(dims.start_indices_batching_dims)}, "
                   f"start_index_map = {list(dims.start_index_map)}, "
                   f"index_vector_dim = {indices.type.ndim - 1}>")
        found = b.op("stablehlo.gather", [x, indices], out,
                     f"dimension_numbers = {numbers}, slice_sizes = {b.ints(sizes)}, "
                     f"indices_are_sorted = {'true' if sorted else 'false'}")
        if mode is not FILL or not dims.start_index_map:
            return [found]
        last = [x.type.shape[axis] - sizes[axis] for axis in dims.start_index_map]
        inside = b.and_(b.compare("GE", indices, b.full(0, indices.type)),
                        b.compare("LE", indices, components_of(b, last, indices)))
        inside, = b.reduce([inside], [b.full(True, ArrayType((), dtypes.bool_))], [indices.type.ndim - 1],
                           lambda b, p, q: [b.and_(p, q)])
        kept = [i for i in range(out.ndim) if i not in dims.offset_dims]
        inside = b.broadcast_in_dim(inside, kept, out.with_dtype(dtypes.bool_))
        return [b.select(inside, found, b.full(default_fill(out.dtype) if fill is None else fill, out))]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        out = self(*primals, **params)
        if isinstance(tangents[0], Zero):
            return [out], [Zero(type_of(out).tangent())]
        fill = 0 if params["mode"] is FILL else None
        return [out], [self(tangents[0], primals[1], **{**params, "fill": fill})]

    def transpose(self, cts: Sequence[Any], x: Any, indices: Any, *, dims: GatherDims, sizes: Shape,
                  mode: GatherScatterMode, fill: Any = None, unique: bool = False,
                  sorted: bool = False) -> list[Any]:
        return [TABLE["scatter_add"](zeros_like(x.type), indices, cts[0], dims=ScatterDims(*dims), mode=mode,
                                     unique=unique, sorted=sorted), None]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, dims: GatherDims,
              sizes: Shape, **params: Any) -> tuple[Outputs, list[bool]]:
        offset, collapsed, components, together, index_axes = dims
        over_x, over_indices = batched
        if over_x:
            collapsed, components, together = shift(collapsed), shift(components), shift(together)
            sizes = (1 if over_indices and size else 0 if over_indices else size, *sizes)
        if over_indices:
            index_axes = shift(index_axes)
        offset = shift(offset)
        if over_x and over_indices:
            together, index_axes = (0, *together), (0, *index_axes)
            # Rows in order, positions within a row in any.
            params = {**params, "sorted": False}
        elif over_x:
            offset = (0, *offset)
        else:
            params = {**params, "unique": False, "sorted": False}
        dims = GatherDims(offset, collapsed, components, together, index_axes)
        return [self(*args, dims=dims, sizes=sizes, **params)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        v, x, y = _normal(rng, 6), _normal(rng, 4, 5), _normal(rng, 3, 4, 5)
        places = np.array([[7], [-1], [2], [2]], np.int32)
        corners = np.array([[1, 2], [0, 4], [-1, 2], [3, 3]], np.int32)
        for mode in GatherScatterMode:
            # What is promised is kept, or forward and reverse mode would differ.
            low, high = (0, 2) if mode is PROMISE else (-9, 9)
            linear = () if mode is FILL else (0,)
            yield Example(v, np.clip(places, low, high), dims=GatherDims((), (0,), (0,)), sizes=(1,),
                          mode=mode, fill=None, linear=linear)
            yield Example(x, np.clip(corners, low, high), dims=GatherDims((1, 2), (), (0, 1)), sizes=(2, 2),
                          mode=mode, fill=None, linear=linear)
            yield Example(x.astype(np.int16), places, dims=GatherDims((0,), (0,), (0,)), sizes=(1, 5),
                          mode=mode, fill=None)
        yield Example(v, places, dims=GatherDims((), (0,), (0,)), sizes=(1,), mode=FILL, fill=-1.5)
        yield Example(v, places, dims=GatherDims((), (0,), (0,)), sizes=(1,), mode=FILL, fill=0, linear=(0,))
        yield Example(x, np.array([[[1], [3]], [[0], [0]]], np.int8), dims=GatherDims((0, 3), (), (1,)),
                      sizes=(4, 2), mode=FILL, fill=0, linear=(0,))
        yield Example(y, np.array([[[2, 0]], [[1, 4]]], np.uint8), dims=GatherDims((1,), (1, 2), (1, 2)),
                      sizes=(2, 1, 1), mode=PROMISE, fill=None, linear=(0,))
        yield Example(y, np.array([[[1], [2]], [[0], [3]], [[2], [-9]]], np.int32),
                      dims=GatherDims((1,), (1,), (1,), (0,), (0,)), sizes=(1, 1, 3), mode=CLIP, fill=None,
                      linear=(0,))
        yield Example(y[:, :, :2], rng.integers(-1, 4, (2, 3, 1)).astype(np.int32),
                      dims=GatherDims((2,), (), (1,), (0, 2), (1, 0)), sizes=(1, 2, 1), mode=FILL, fill=0,
                      linear=(0,))
        yield Example(v, np.zeros((3, 0), np.int32), dims=GatherDims((1,), (), ()), sizes=(4,), mode=FILL,
                      fill=0,
                      linear=(0,))
        yield Example(v, np.array([2], np.int32), dims=GatherDims((), (0,), (0,)), sizes=(1,), mode=CLIP,
                      fill=None,
                      unique=True, sorted=True, linear=(0,))
        yield Example(v, np.zeros((0, 1), np.int32), dims=GatherDims((1,), (), (0,)), sizes=(2,), mode=CLIP,
                      fill=None)
        for dtype in (np.bool_, np.uint8, dtypes.bfloat16, np.complex64):
            yield Example(rng.integers(0, 2, 6).astype(dtype), places, dims=GatherDims((), (0,), (0,)),
                          sizes=(1,),
                          mode=FILL, fill=None, order=0)

    def oracle(self, jax: Any, x: Any, indices: Any, *, dims: GatherDims, sizes: Shape,
               mode: GatherScatterMode,
               fill: Any = None, unique: bool = False, sorted: bool = False) -> Any:
        return jax.lax.gather(x, indices, jax.lax.GatherDimensionNumbers(*dims), sizes,
                              mode=mode.name.lower().replace(
            "fill_or_drop", "fill"), fill_value=fill, unique_indices=unique, indices_are_sorted=sorted)


def interleave(outer: Sequence[int], window: Sequence[int], places: Shape) -> Shape:
    """A shape with the sizes `window` at `places` and the sizes `outer` elsewhere, in order."""
    inner, rest = iter(window), iter(outer)
    return tuple([next(inner) if i in places else next(rest) for i in range(len(outer) + len(window))])


def along(array: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    """A vector laid along `axis` of `ndim` axes."""
    return array.reshape([array.size if i == axis else 1 for i in range(ndim)])


def shift(axes: Shape) -> Shape:
    return tuple([axis + 1 for axis in axes])


def components_of(b: Any, numbers: Sequence[int], indices: Any) -> Any:
    """One number per component of a position, for all positions."""
    array = np.asarray(numbers, indices.type.dtype)
    return b.broadcast_in_dim(b.constant(array), [indices.type.ndim - 1], indices.type)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.normal(size=shape), np.float32)


dynamic_slice = DynamicSlice("dynamic_slice")
dynamic_update_slice = DynamicUpdateSlice("dynamic_update_slice")
gather = Gather("gather")
