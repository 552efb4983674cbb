"""Reading and writing by index: `x[index]`, and `x.at[index].set(values)` and its like.

Ints and slices become slices; a traced scalar becomes a dynamic slice, or a scatter of one window; anything
else a gather or a scatter. Positions outside are moved to the nearest end when reading and left out when
writing, unless `mode` says otherwise.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import base, current, running, type_of
from pullback.core.types import ArrayType
from pullback.core.values import value
from pullback.core.vector import zeros_like
from pullback.lax.index import applied, repeated
from pullback.lax.operand import placed, retype
from pullback.numpy.bounds import check_index
from pullback.numpy.creation import asarray
from pullback.numpy.positions import NEW, Known, Many, Plan, Slice, Traced, indices, parse, traced_mask
from pullback.numpy.promotion import as_array, broadcast_to
from pullback.ops import index as reads
from pullback.ops import move
from pullback.ops import scatter as writes
from pullback.ops.index import CLIP, FILL, PROMISE, GatherDims, GatherScatterMode, ScatterDims

Shape = tuple[int, ...]


# -- reading ------------------------------------------------------------------------------------------


def getitem(x: Array, index: Any, mode: Any = CLIP, fill: Any = None, unique: bool = False,
            sorted: bool = False, wrap: bool = True) -> Array:
    """The elements of `x` that `index` names.

    Args:
      x: any[...]
      index: ints, slices, None, ..., arrays of ints or bools, or a tuple of these, as in NumPy.
      mode: of positions outside: CLIP takes the nearest element, FILL gives `fill` (None: see default_fill).
      unique, sorted: promises about arrays of positions.
      wrap: whether negative positions count from the end.

    Raises:
      IndexError: for too many indices, an axis without elements, or a mask of another shape.
      TypeError: for an index that is neither integer nor boolean.
    """
    plan = parse(x.type, index, wrap)
    if plan.shape != x.type.shape:
        x = move.reshape(x, shape=plan.shape)
    if mode is FILL:
        filled = any([isinstance(item, (Known, Traced, Many)) and not item.inside for item in plan.items])
        mode = FILL if filled else PROMISE
    if not plan.arrays and (mode is not FILL or not any([_outside(item) for item in plan.items])):
        return _windows(x, plan)
    return _gathered(x, plan, mode, fill, unique or plan.distinct, sorted)


def _outside(item: Any) -> bool:
    return isinstance(item, (Known, Traced)) and not item.inside


def _empty_axis(n: int, x: ArrayType, axis: int) -> None:
    if n == 0:
        raise errors.make(IndexError, f"index is out of bounds for axis {axis} of {x}, which has size 0",
                          op="indexing", fix="check the size first; a slice of an empty axis is empty")


def _windows(x: Array, plan: Plan) -> Array:
    """What slices, known ints and traced scalars name."""
    axes = [item for item in plan.items if item is not NEW]
    starts, sizes, steps, reverse = [], [], [], []
    for axis, item in enumerate(axes):
        if isinstance(item, Slice):
            starts.append(item.low)
            sizes.append(item.count)
            steps.append(abs(item.step) if item.count > 1 else 1)
            if item.step < 0 and item.count > 1:
                reverse.append(axis)
        else:
            _empty_axis(item.n, x.type, axis)
            starts.append(min(max(item.at, 0), item.n - 1) if isinstance(item, Known) else item.at)
            sizes.append(1)
            steps.append(1)
    if not plan.traced:
        x = _sliced(x, starts, sizes, steps)
    elif any([step != 1 for step in steps]):
        known = [not isinstance(item, Traced) for item in axes]
        x = _sliced(x, [i if k else 0 for i, k in zip(starts, known)],
                    [size if k else n for size, n, k in zip(sizes, plan.shape, known)], steps)
        x = _moved(x, [0 if k else i for i, k in zip(starts, known)], sizes)
    else:
        x = _moved(x, starts, sizes)
    if reverse:
        x = move.rev(x, axes=tuple(reverse))
    shape = plan.result()
    return x if x.type.shape == shape else move.reshape(x, shape=shape)


def _sliced(x: Array, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Array:
    if tuple(sizes) == x.type.shape:
        return x
    limit = tuple([i + (size - 1) * step + 1 if size else i for i, size, step in zip(starts, sizes, steps)])
    return move.slice(x, start=tuple(starts), limit=limit, strides=tuple(steps))


def _moved(x: Array, starts: Sequence[Any], sizes: Sequence[int]) -> Array:
    return reads.dynamic_slice(x, *[np.int32(i) if type(i) is int else i for i in starts], sizes=tuple(sizes))


def _gathered(x: Array, plan: Plan, mode: GatherScatterMode, fill: Any, unique: bool, sorted: bool) -> Array:
    """What arrays of positions name, together with any other items."""
    axes = [item for item in plan.items if item is not NEW]
    result = plan.result()
    for axis, item in enumerate(axes):
        if not isinstance(item, Slice) and math.prod(plan.common):
            _empty_axis(item.n, x.type, axis)
    if not math.prod(plan.common):
        return zeros_like(ArrayType(result, x.type.dtype, x.type.weak))
    # Slices first: they are cheap, and leave less to gather from.
    slices = [item if isinstance(item, Slice) else None for item in axes]
    x = _sliced(x, [s.low if s else 0 for s in slices],
                [s.count if s else n for s, n in zip(slices, plan.shape)],
                [abs(s.step) if s and s.count > 1 else 1 for s in slices])
    reverse = tuple([axis for axis, s in enumerate(slices) if s and s.step < 0 and s.count > 1])
    if reverse:
        x = move.rev(x, axes=reverse)
    chosen = tuple([axis for axis, s in enumerate(slices) if s is None])
    components = [np.asarray(axes[axis].at) if isinstance(axes[axis], Known) else axes[axis].at
                  for axis in chosen]
    places = indices(components, plan.common, [plan.shape[axis] for axis in chosen])
    offset, shape = [], []
    for block in plan.layout():
        if isinstance(block, Slice):
            offset.append(len(shape))
            shape.append(block.count)
        elif block is not NEW:
            shape.extend(plan.common)
    sizes = tuple([1 if s is None else s.count for s in slices])
    out = reads.gather(x, places, dims=GatherDims(tuple(offset), chosen, chosen), sizes=sizes, mode=mode,
                       fill=fill, unique=unique, sorted=sorted)
    return out if out.type.shape == result else move.reshape(out, shape=result)


# -- writing ------------------------------------------------------------------------------------------

_SCATTERS = {"set": writes.scatter, "add": writes.scatter_add, "mul": writes.scatter_mul,
             "min": writes.scatter_min, "max": writes.scatter_max}
_LOGICAL = {"min": "and", "max": "or"}  # of truth values, which are neither added nor multiplied


def _combined(operation: str, old: Any, new: Any) -> Any:
    if operation == "set":
        return new
    logical = _LOGICAL.get(operation) if type_of(old).dtype == dtypes.bool_ else None
    return TABLE[logical or operation](old, new)


def update(x: Array, index: Any, values: Any, operation: str, mode: Any = FILL, unique: bool = False,
           sorted: bool = False, wrap: bool = True) -> Array:
    """`x` with `values` set at, added to, multiplied with, ... the elements that `index` names.

    Args:
      x: any[...]
      index: as for getitem; a traced mask too if `values` broadcast to the elements behind one entry of it.
      values: broadcast to the shape of x[index], converted to the dtype of x.
      operation: 'set', 'add', 'sub', 'mul', 'min' or 'max'.

    Raises:
      ValueError: if the values do not broadcast to the shape of x[index].
    """
    weak = x.type.weak
    dtype = x.type.dtype
    x, values = _one_dtype(x, values, operation)
    if operation == "sub":
        operation, values = "add", TABLE["neg"](values)
    out = _masked(x, index, values, operation)
    if out is None:
        out = _updated(x, index, values, operation, mode, unique, sorted, wrap)
    if out.type.dtype != dtype or out.type.weak != weak:
        out = TABLE["convert_element_type"](out, dtype=dtype, weak=weak)
    return out


def _one_dtype(x: Array, values: Any, operation: str) -> tuple[Array, Any]:
    """The array and the values in the dtype to compute in: the array's own if it holds the values."""
    values = asarray(values) if isinstance(values, (list, tuple)) else value(values)
    given, t = type_of(values), x.type
    if t.is_key or given.is_key:
        if t.dtype != given.dtype:
            raise errors.type_error(f"values are {given}, the array is {t}; keys go with keys of one kind",
                                    fix="pass keys made with the array's implementation")
        return x, values
    dtype, _ = dtypes.promote([(t.dtype, t.weak), (given.dtype, given.weak)])
    if dtype == t.dtype:
        return x, retype(values, dtype)
    # The first words are what programs filter this warning by.
    warnings.warn(
        f"scatter inputs have incompatible types: values of {given} are converted to the array's {t.dtype}, "
        "which may change them. In future this will be an error; convert them with astype", FutureWarning,
        stacklevel=5)
    if operation == "set":
        return x, TABLE["convert_element_type"](values, dtype=t.dtype, weak=False)
    return retype(x, dtype), retype(values, dtype)


def _masked(x: Array, index: Any, values: Any, operation: str) -> Array | None:
    """The update by selection, behind a mask and of values that are the same for each element; else None."""
    mask = _mask_in(x, index)
    if mask is None:
        return None
    inner, given = x.type.shape[mask.ndim:], type_of(values).shape
    if len(given) > len(inner) or any([n not in (1, m) for n, m in zip(given[::-1], inner[::-1])]):
        if traced_mask(mask):
            raise errors.make(
                errors.NonConcreteBooleanIndexError,
                f"values of shape {given} at a traced mask of type {mask.type}: how many elements it names is "
                "not known", op="indexing", notes=mask.why_unknown(),
                fix=f"give values that broadcast to {inner}, or use jnp.where(mask, values, x)")
        return None
    new = _combined(operation, x, broadcast_to(as_array(values), x.type.shape))
    return TABLE["select_n"](_mask_of(x, index), x, new)


def _mask_in(x: Array, index: Any) -> Any:
    """The array of booleans that `index` consists of; None if it is anything else, or does not fit."""
    mask = index
    if isinstance(index, tuple):
        rest = [e for e in index if e is not Ellipsis and not (isinstance(e, slice) and e == slice(None))]
        if len(rest) != 1 or index[0] is not rest[0]:
            return None
        mask = index[0]
    if not isinstance(mask, (Array, np.ndarray)) or not dtypes.is_bool(mask.dtype):
        return None
    if not mask.ndim and not isinstance(mask, Array):
        return None
    return mask if x.type.shape[: mask.ndim] == mask.shape and not x.type.is_key else None


def _mask_of(x: Array, index: Any) -> Any:
    """That array in the shape of `x`."""
    mask = _mask_in(x, index)
    if mask is None:
        return None
    return TABLE["broadcast_in_dim"](value(mask), shape=x.type.shape, dims=tuple(range(mask.ndim)))


def _updated(x: Array, index: Any, values: Any, operation: str, mode: GatherScatterMode, unique: bool,
             sorted: bool, wrap: bool) -> Array:
    plan, given = parse(x.type, index, wrap), x.type.shape
    result = plan.result()
    try:
        values = broadcast_to(as_array(values), result)
    except ValueError:
        raise errors.value_error(
            f"values of type {type_of(values)} do not broadcast to {result}, the shape of what is indexed",
            fix="give values of that shape, or with size 1 on some of its axes") from None
    if plan.shape != given:
        x = move.reshape(x, shape=plan.shape)
    out = _placed(x, plan, values, operation, mode, unique, sorted)
    return out if out.type.shape == given else move.reshape(out, shape=given)


def _placed(x: Array, plan: Plan, values: Array, operation: str, mode: GatherScatterMode, unique: bool,
            sorted: bool) -> Array:
    axes = [item for item in plan.items if item is not NEW]
    for axis, item in enumerate(axes):
        if isinstance(item, (Known, Traced)):
            _empty_axis(item.n, x.type, axis)
    if mode is CLIP:
        axes = [Known(min(max(item.at, 0), item.n - 1), item.n) if isinstance(item, Known) else item
                for item in axes]
    missed = any([isinstance(item, Known) and not item.inside for item in axes])
    if missed or 0 in values.type.shape or 0 in plan.shape:
        return x
    if plan.arrays or plan.traced or any([isinstance(item, Slice) and abs(item.step) != 1 and item.count > 1
                                          for item in axes]):
        return _scattered(x, plan, axes, values, operation, mode, unique, sorted)
    # Known windows: a slice, and its update.
    sizes = tuple([item.count if isinstance(item, Slice) else 1 for item in axes])
    starts = [item.low if isinstance(item, Slice) else item.at for item in axes]
    if values.type.shape != sizes:
        values = move.reshape(values, shape=sizes)
    reverse = tuple([axis for axis, item in enumerate(axes) if isinstance(item, Slice) and item.step < 0])
    if reverse:
        values = move.rev(values, axes=reverse)
    if operation != "set":
        values = _combined(operation, _sliced(x, starts, sizes, [1] * len(sizes)), values)
    if sizes == x.type.shape:
        return values
    return reads.dynamic_update_slice(x, values, *[np.int32(i) for i in starts])


def _scattered(x: Array, plan: Plan, axes: Sequence[Any], values: Array, operation: str,
               mode: GatherScatterMode, unique: bool, sorted: bool) -> Array:
    # Unit-step slices are windows of the scatter; every other axis takes part in its positions.
    window: list[int] = []
    shape: list[int] = []          # of the updates: the result without its new axes
    outer: list[int] = []          # of the positions
    first = 0                      # where the axes of the index arrays stand among them
    along: dict[int, int] = {}     # axis of a strided slice -> its place among them
    reverse: list[int] = []
    numbers = {id(item): axis for axis, item in enumerate(axes)}
    for block in plan.layout():
        if block is NEW:
            continue
        if not isinstance(block, Slice):
            first = len(outer)
            outer.extend(plan.common)
            shape.extend(plan.common)
            continue
        if abs(block.step) == 1 or block.count == 1:
            if block.step < 0 and block.count > 1:
                reverse.append(len(shape))
            window.append(len(shape))
        else:
            along[numbers[id(block)]] = len(outer)
            outer.append(block.count)
        shape.append(block.count)
    components, mapped, inserted = [], [], []
    for axis, item in enumerate(axes):
        if isinstance(item, Slice) and axis not in along:
            if item.count == item.n:
                continue
            component: Any = np.asarray(item.low)
        elif isinstance(item, Slice):
            component = np.asarray(range(item.start, item.start + item.count * item.step, item.step))
            component = component.reshape([-1 if i == along[axis] else 1 for i in range(len(outer))])
            inserted.append(axis)
        else:
            component = np.asarray(item.at) if isinstance(item, Known) else item.at
            after = len(outer) - first - len(plan.common)
            if component.ndim and after:
                longer = component.shape + (1,) * after
                component = component.reshape(longer) if isinstance(component, np.ndarray) else \
                    move.reshape(component, shape=longer)
            inserted.append(axis)
        components.append(component)
        mapped.append(axis)
    if values.type.shape != tuple(shape):
        values = move.reshape(values, shape=tuple(shape))
    if reverse:
        values = move.rev(values, axes=tuple(reverse))
    if not any([isinstance(item, (Traced, Many)) and not item.inside for item in axes]):
        mode = PROMISE
    places = indices(components, tuple(outer), [x.type.shape[axis] for axis in mapped])
    dims = ScatterDims(tuple(window), tuple(inserted), tuple(mapped))
    return _SCATTERS[operation](x, places, values, dims=dims, mode=mode, unique=unique or plan.distinct,
                                sorted=sorted or not outer)


# -- x.at ---------------------------------------------------------------------------------------------


class At:
    """`x.at`: index it to name elements, then call a method of the result for an updated copy."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> AtIndex:
        return AtIndex(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


class AtIndex:
    """`x.at[index]`: methods return a copy of the array that is changed at the elements the index names.

    All take these keyword arguments.
      mode: of positions outside the array: None or 'drop' leaves them out, 'clip' takes the nearest element,
        'promise_in_bounds' says there are none. (`get` differs, see there.)
      indices_are_sorted, unique_indices: promises about the positions.
      wrap_negative_indices: whether negative positions count from the end.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"AtIndex({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
            fill_value: Any = None, out_sharding: Any = None, wrap_negative_indices: bool = True) -> Array:
        """x[index], with a choice for positions outside.

        Args:
          mode: None or 'clip': the nearest element; 'fill': `fill_value`.
          fill_value: None: NaN, the least signed or the greatest unsigned integer, or True.
        """
        check_index(self.array.type, self.index, mode, wrap_negative_indices)
        how = CLIP if mode is None else GatherScatterMode.from_any(mode)
        fill = None if fill_value is None else np.asarray(fill_value).item()
        out = getitem(self.array, self.index, how, fill, unique_indices, indices_are_sorted,
                      wrap_negative_indices)
        return placed(out, out_sharding)

    def set(self, values: Any, **options: Any) -> Array:
        """x with x[index] = values. Where positions repeat, the last value stays."""
        return self._update("set", values, **options)

    def add(self, values: Any, **options: Any) -> Array:
        """x with x[index] += values; each of repeated positions counts."""
        return self._update("add", values, **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """x with x[index] -= values; each of repeated positions counts."""
        return self._update("sub", values, **options)

    def multiply(self, values: Any, **options: Any) -> Array:
        """x with x[index] *= values; each of repeated positions counts.

        Differentiable by the values if the positions are known to be distinct (unique_indices=True).
        """
        return self._update("mul", values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Array:
        """x with x[index] /= values; each of repeated positions counts. Integers give floats."""
        return self.array / AtIndex(self._ones(), self.index).multiply(values, **options)

    def power(self, values: Any, **options: Any) -> Array:
        """x with x[index] **= values; each of repeated positions counts."""
        return self.array ** AtIndex(self._ones(), self.index).multiply(values, **options)

    def min(self, values: Any, **options: Any) -> Array:
        """x with x[index] = minimum(x[index], values). Where values tie, they share the derivative."""
        return self._update("min", values, **options)

    def max(self, values: Any, **options: Any) -> Array:
        """x with x[index] = maximum(x[index], values). Where values tie, they share the derivative."""
        return self._update("max", values, **options)

    def apply(self, func: Callable[[Array], Array], **options: Any) -> Array:
        """x with x[index] = func(x[index]), func elementwise; applied as often as a position is repeated."""
        x, mode = self.array, GatherScatterMode.from_any(options.get("mode"))
        chosen = _mask_of(x, self.index)
        if chosen is not None:
            return TABLE["select_n"](chosen, x, applied(func, x))
        plan = parse(x.type, self.index)
        if plan.distinct or options.get("unique_indices"):
            options.pop("mode", None)
            return self._update("set", applied(func, self.get(mode=CLIP, **options)), mode=mode, **options)
        unknown = any([isinstance(item, (Traced, Many)) and isinstance(item.at, Array)
                       for item in plan.items])
        # How often each element is meant is best known now, also while a program is traced.
        with running(current() if unknown else base()):
            zeros = zeros_like(ArrayType(x.type.shape, dtypes.int32))
            counts = AtIndex(zeros, self.index).add(1, **options)
        return repeated(func, x, counts)

    def _ones(self) -> Array:
        t = self.array.type
        return move.broadcast_in_dim(t.dtype.type(1), shape=t.shape, dims=())

    def _update(self, operation: str, values: Any, *, indices_are_sorted: bool = False,
                unique_indices: bool = False, mode: Any = None, out_sharding: Any = None,
                wrap_negative_indices: bool = True) -> Array:
        check_index(self.array.type, self.index, mode, wrap_negative_indices)
        out = update(self.array, self.index, values, operation, GatherScatterMode.from_any(mode),
                     unique_indices, indices_are_sorted, wrap_negative_indices)
        return placed(out, out_sharding)
