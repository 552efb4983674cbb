"""What an index like `[1:, None, i, mask]` means for an array of a known shape.

An index is a sequence of entries. `parse` brings each to one of four items (a slice, a known int, a traced
scalar, an array of positions) or NEW for a new axis, and negative positions to positions from 0. Reading and
writing (indexing.py) start from the items.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray, from_numpy
from pullback.core.primitive import TABLE
from pullback.core.trace import Tracer, type_of
from pullback.core.types import ArrayType
from pullback.core.values import value
from pullback.lax.index import wrap_index
from pullback.lax.move import broadcast_shapes, stack

Shape = tuple[int, ...]
NEW = None


class Slice:
    """Positions start, start + step, ... of an axis of size `n`, `count` of them."""

    def __init__(self, positions: range, n: int) -> None:
        self.start = positions.start
        self.step = positions.step
        self.count = len(positions)
        self.n = n

    @property
    def low(self) -> int:
        """The least of the positions."""
        return min(self.start, self.start + (self.count - 1) * self.step) if self.count else 0

    @property
    def whole(self) -> bool:
        return self.count == self.n and self.step == 1


class Known:
    """One position of an axis of size `n`; perhaps outside."""

    def __init__(self, at: int, n: int) -> None:
        self.at = at
        self.n = n

    @property
    def inside(self) -> bool:
        return 0 <= self.at < self.n


class Traced:
    """One position, known when the program runs."""

    inside = False

    def __init__(self, at: Any, n: int) -> None:
        self.at = at
        self.n = n


class Many:
    """An array of positions: an ndarray of int64 if they are known, else traced."""

    def __init__(self, at: Any, n: int) -> None:
        self.at = at
        self.n = n
        self.inside = isinstance(at, np.ndarray) and (not at.size or bool(at.min() >= 0 and at.max() < n))


class Plan:
    """The items of an index, and what they make of the axes.

    Args:
      shape: the shape the items are for: the array's, and axes of size 1 for booleans without axes.
      items: Slice, Known, Traced or Many per axis of `shape`, and NEW.
      distinct: whether the positions are known to be distinct.
      gap: the item before which an ellipsis for no axis stood; it parts what is around it.
    """

    def __init__(self, shape: Shape, items: Sequence[Any], distinct: bool, gap: int | None = None) -> None:
        self.shape = shape
        self.items = tuple(items)
        arrays = [item.at.shape for item in items if isinstance(item, Many)]
        self.arrays = bool(arrays)
        self.traced = any([isinstance(item, Traced) for item in items])
        self.distinct = distinct or not any(arrays)
        # The shape that the arrays of positions broadcast to.
        self.common: Shape = arrays[0] if len(arrays) == 1 else _common(arrays)
        chosen = [k for k, item in enumerate(items) if isinstance(item, (Known, Traced, Many))]
        # The axes of the positions stand where the entries that chose them stood; in front if these were
        # apart.
        adjacent = bool(chosen) and chosen[-1] - chosen[0] + 1 == len(chosen)
        adjacent = adjacent and (gap is None or not chosen[0] < gap <= chosen[-1])
        self._first = chosen[0] if adjacent else -1

    def layout(self) -> list[Any]:
        """The blocks of axes of the result, in order: 'positions', Slice items and NEW."""
        blocks: list[Any] = ["positions"] if self._first < 0 else []
        for k, item in enumerate(self.items):
            if k == self._first:
                blocks.append("positions")
            if item is NEW or isinstance(item, Slice):
                blocks.append(item)
        return blocks

    def result(self) -> Shape:
        """The shape of what the index names."""
        shape: list[int] = []
        for block in self.layout():
            if block is NEW:
                shape.append(1)
            elif isinstance(block, Slice):
                shape.append(block.count)
            else:
                shape.extend(self.common)
        return tuple(shape)


def _common(shapes: Sequence[Shape]) -> Shape:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise errors.value_error(
            f"index arrays of shapes {', '.join(map(str, shapes))} do not broadcast to one shape",
            fix="give them equal sizes or size 1 on each axis; jnp.ix_ makes a grid of positions") from None


def traced_mask(x: Any) -> bool:
    """Whether `x` is an array of booleans whose values are not known."""
    return isinstance(x, Tracer) and dtypes.is_bool(x.type.dtype)


def _entry(e: Any, alone: bool) -> Any:
    """One entry as None, Ellipsis, a slice, an int, a bool, an ndarray (int64 or bool) or a traced array."""
    if e is None or e is Ellipsis or isinstance(e, (slice, bool)) or type(e) is int:
        return e
    if isinstance(e, Tracer):
        return _checked(e, e.type.dtype)
    if isinstance(e, ConcreteArray):
        e = _checked(e, e.type.dtype).numpy()
    if isinstance(e, (list, tuple, range)):
        if alone:
            raise errors.make(
                TypeError, f"got a {type(e).__name__} as index, a tuple, an int, a slice or an array is "
                           "required",
                op="indexing", fix="x[jnp.array(index)] picks elements; x[tuple(index)] indexes axis by axis")
        if any([isinstance(v, Tracer) for v in e]):
            return _checked_list(e)
        e = np.asarray(e)
        e = e if e.size else e.astype(np.int64)
    if isinstance(e, (np.ndarray, np.generic)):
        _checked(e, e.dtype)
        if e.dtype == np.bool_:
            return bool(e) if e.ndim == 0 else np.asarray(e)
        if e.dtype == np.uint64:
            e = np.minimum(e, np.uint64(2**63 - 1))
        return int(e) if e.ndim == 0 else np.asarray(e).astype(np.int64)
    if hasattr(e, "__jax_array__"):
        return _entry(value(e), alone)
    if isinstance(e, DynamicSlice):
        return e
    if isinstance(e, (float, complex, str)):
        raise _wrong(repr(e))
    try:
        return operator.index(e)
    except TypeError:
        raise errors.make(
            IndexError, f"got a {type(e).__name__} as index; ints, slices, ..., None, and arrays of ints or "
                        "bools are required", op="indexing",
            fix="convert it with int() or jnp.asarray") from None


def _checked_list(e: Any) -> Any:
    """A list with traced integers in it, as an array."""
    scalars = [_checked(value(v), type_of(value(v)).dtype) for v in e]
    return stack([TABLE["convert_element_type"](v, dtype=dtypes.int32, weak=False) for v in scalars])


def _checked(e: Any, dtype: Any) -> Any:
    if dtypes.kind(dtype) not in "iub":
        shape = type_of(e).shape if not isinstance(e, np.ndarray) else e.shape
        raise _wrong(f"an array of type {ArrayType(shape, dtype)}" if shape else f"a {dtype} value")
    return e


def _wrong(given: str) -> TypeError:
    return errors.make(TypeError, f"got {given} as index; integers or booleans are required", op="indexing",
                       fix="convert it with astype(int) or int(); names of fields are not supported")


def _bound(bound: Any) -> int | None:
    if bound is None or type(bound) is int:
        return bound
    if isinstance(bound, Tracer):
        raise errors.make(
            IndexError, f"a slice with a traced bound, {bound.type}: the size of the result would not be "
                        "known",
            op="indexing", notes=bound.why_unknown(),
            fix="lax.dynamic_slice takes a traced start and a known size; jnp.where masks elements instead")
    try:
        return operator.index(bound)
    except TypeError:
        raise errors.make(TypeError, f"slice bound {bound!r}; an int or None is required", op="indexing",
                          fix="convert it with int()") from None


class DynamicSlice:
    """A slice of known size at a start that is an array; moved inside where it would leave the axis."""

    def __init__(self, start: Array, size: int, stride: int) -> None:
        self.start, self.size, self.stride = start, size, stride

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    def positions(self, n: int) -> Any:
        """The positions along an axis of size `n`."""
        number = TABLE["convert_element_type"](self.start, dtype=dtypes.int32, weak=False)
        last = np.int32(n - 1 - (self.size - 1) * self.stride)
        number = TABLE["max"](TABLE["min"](number, last), np.int32(0))
        steps = value(np.arange(self.size, dtype=np.int32) * np.int32(self.stride))
        return TABLE["add"](TABLE["broadcast_in_dim"](number, shape=(self.size,), dims=()), steps)


_NO_SIZE = object()


def ds(start: Any, size: Any = _NO_SIZE, stride: int | None = None) -> Any:
    """The index of `size` positions from `start` on, every `stride`-th; of ds(size), from the first on.

    Args:
      start: an int, or int[], which may be traced.
      size, stride: ints.

    Raises:
      TypeError: if the size is no int, or the start no integer. ValueError: if the size is negative.

    Example:
      >>> jnp.arange(6)[jax.ds(1, 3)]
      Array([1, 2, 3], dtype=int32)
    """
    if size is _NO_SIZE:
        start, size = 0, start
    count, step = _bound(size), 1 if stride is None else _bound(stride)
    if count is None or step is None or count < 0 or step < 1:
        raise errors.value_error(f"size is {size!r} and stride {stride!r}, at least 0 and 1 are required", op="ds",
                                 fix="give the number of positions")
    first = 0 if start is None else start
    if isinstance(first, Array) and dtypes.is_integer(first.dtype) and not first.shape:
        return DynamicSlice(first, count, step)
    low = _bound(first)
    assert low is not None
    return slice(low, low + count * step, step)


def positions_of(entry: slice, n: int) -> Slice:
    """The positions of a slice of an axis of size `n`."""
    start, stop, step = [_bound(b) for b in (entry.start, entry.stop, entry.step)]
    if step == 0:
        raise errors.value_error(f"the slice {entry} has the step 0", fix="use a step of 1 or more, or of -1 or less")
    return Slice(range(*slice(start, stop, step).indices(n)), n)


def parse(x: ArrayType, index: Any, wrap: bool = True) -> Plan:
    """The plan of `x[index]`; negative positions count from the end if `wrap`."""
    alone = not isinstance(index, tuple)
    entries = [_entry(e, alone) for e in ((index,) if alone else index)]
    entries, shape = _with_axes(entries, x)
    items: list[Any] = []
    axis, masks, arrays, gap = 0, 0, 0, None
    for entry in entries:
        if entry is Ellipsis:
            gap = len(items)
            continue
        if entry is None:
            items.append(NEW)
            continue
        if getattr(entry, "dtype", None) == np.bool_:
            _check_mask(entry, shape, axis, x)
            for numbers in np.nonzero(entry):
                items.append(Many(numbers, shape[axis]))
                axis += 1
            masks += 1
            continue
        n = shape[axis]
        axis += 1
        if isinstance(entry, DynamicSlice):
            items.append(Many(entry.positions(n), n))
            arrays += 1
        elif type(entry) is slice:
            items.append(positions_of(entry, n))
        elif type(entry) is int:
            items.append(Known(entry + n if entry < 0 and wrap else entry, n))
        elif isinstance(entry, np.ndarray):
            items.append(Many(np.where(entry < 0, entry + n, entry) if wrap else entry, n))
            arrays += 1
        else:
            at = wrap_index(entry, n) if wrap else entry
            items.append(Many(at, n) if at.type.shape else Traced(at, n))
            arrays += bool(at.type.shape)
    return Plan(shape, items, masks == 1 and not arrays, gap)


def _with_axes(entries: list[Any], x: ArrayType) -> tuple[list[Any], Shape]:
    """The entries with the ellipsis spelled out (left if it is for no axis), and the array's shape.

    For a boolean without axes the array gets an axis of size 1, of which it takes all or nothing.
    """
    used = sum([_axes_of(e) for e in entries if e is not None and e is not Ellipsis])
    dots = sum([e is Ellipsis for e in entries])
    if dots > 1:
        raise errors.make(IndexError, "an index can have one ellipsis (...), this one has "
                          f"{dots}", op="indexing", fix="write : for each axis instead of the second ...")
    if used > x.ndim:
        raise errors.make(IndexError, f"too many indices: the array {x} has {x.ndim} "
                          f"ax{'i' if x.ndim == 1 else 'e'}s, {used} are indexed", op="indexing",
                          fix="drop an index, or give the array an axis with x[..., None]")
    rest = [slice(None)] * (x.ndim - used)
    if dots:
        k = next(k for k, e in enumerate(entries) if e is Ellipsis)
        entries = entries[:k] + (rest or [Ellipsis]) + entries[k + 1:]
    else:
        entries = entries + rest
    shape, axis = list(x.shape), 0
    for k, e in enumerate(entries):
        if isinstance(e, bool):
            shape.insert(axis, 1)
            entries[k] = np.zeros(int(e), np.int64)
            axis += 1
        elif e is not None and e is not Ellipsis:
            axis += _axes_of(e)
    return entries, tuple(shape)


def _axes_of(entry: Any) -> int:
    if isinstance(entry, bool):
        return 0
    if isinstance(entry, (np.ndarray, Array)) and dtypes.is_bool(entry.dtype):
        return entry.ndim
    return 1


def _check_mask(mask: Any, shape: Shape, axis: int, x: ArrayType) -> None:
    for i, n in enumerate(mask.shape):
        if n != shape[axis + i]:
            raise errors.make(
                IndexError, f"boolean index of shape {mask.shape} for the array {x}: its axis {i} has size "
                            f"{n}, the array's axis {axis + i} has size {shape[axis + i]}", op="indexing",
                fix="a mask has the shape of the axes it indexes")
    if isinstance(mask, Tracer):
        raise errors.make(
            errors.NonConcreteBooleanIndexError, f"a traced mask of type {mask.type} as index: the size of "
                                                 "the result would not be known", op="indexing",
            notes=mask.why_unknown(),
            fix="jnp.where(mask, x, other) keeps the shape; x.at[mask].set(scalar) and jnp.nonzero(mask, "
                "size=n) work with traced masks")


def indices(components: Sequence[Any], shape: Shape, sizes: Sequence[int]) -> Any:
    """Components of positions as the indices of a gather or scatter: int[*shape, len(components)].

    Args:
      components: ndarrays or traced arrays that broadcast to `shape`.
      sizes: the size of each component's axis.
    """
    dtype = dtypes.int32 if max(sizes, default=0) < 2**31 else dtypes.int64
    limits = dtypes.iinfo(dtype)
    known = [c if isinstance(c, Array) else np.clip(c, int(limits.min), int(limits.max)).astype(dtype)
             for c in components]
    if not any([isinstance(c, Array) for c in known]):
        if not known:
            return from_numpy(np.zeros((*shape, 0), dtype))
        return from_numpy(np.stack([np.broadcast_to(c, shape) for c in known], -1))
    given = {c.type.dtype for c in known if isinstance(c, Array)}
    common = next(iter(given))
    if len(known) > 1:  # in one type, which holds all of them
        common = dtypes.int64 if given & {dtypes.int64, dtypes.uint32, dtypes.uint64} else dtypes.int32
    columns = []
    for c in known:
        c = c if isinstance(c, Array) else from_numpy(c)
        if c.type.dtype != common:
            c = TABLE["convert_element_type"](c, dtype=common, weak=False)
        if c.type.shape != shape:
            dims = tuple(range(len(shape) - c.type.ndim, len(shape)))
            c = TABLE["broadcast_in_dim"](c, shape=shape, dims=dims)
        columns.append(TABLE["reshape"](c, shape=(*shape, 1)))
    return columns[0] if len(columns) == 1 else TABLE["concatenate"](*columns, axis=len(shape))
