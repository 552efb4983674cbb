"""Sorting, positions of sorted elements, and search among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import Tracer, type_of
from pullback.lax.control_flow import fori_loop
from pullback.lax.operand import retype
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    integer,
    known,
    like,
    one_axis,
    part,
    picked,
    requested,
)
from pullback.numpy.promotion import as_array, promoted
from pullback.numpy.shape import ravel
from pullback.ops import convert, elementwise, move, reduce
from pullback.ops import integer as bits
from pullback.ops import sort as sorts
from pullback.ops.reduce import wide

__all__ = [
    "argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort", "sort_complex", "top_k",
]


def index_dtype() -> Any:
    """The dtype of positions in results."""
    return dtypes.canonicalize(dtypes.int64)


def _prepared(a: ArrayLike, axis: int | None, kind: None, order: None) -> tuple[Any, int]:
    if kind is not None or order is not None:
        name, given = ("kind", kind) if kind is not None else ("order", order)
        raise errors.type_error(f"{name} is {given!r}, None is required",
                                fix="stable=True or False says how to sort" if name == "kind" else
                                    "arrays here have no fields; sort by keys with lexsort")
    x = array(a)
    if axis is None:
        return ravel(x), 0
    return x, one_axis(axis, x.type.ndim)


def sort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
         descending: bool = False) -> Array:
    """The elements in rising order along an axis; NaNs last, complex numbers by real, then imaginary parts.

    Args:
      a: any[...]
      axis: None: of the flattened array.
      kind, order: None.
      stable: of no effect on the result: sorting is stable.
      descending: the reverse of that order.

    Raises:
      ValueError: for an axis out of range.

    Example:
      >>> jnp.sort(jnp.array([3, 1, 2])).tolist()
      [1, 2, 3]
    """
    x, axis = _prepared(a, axis, kind, order)
    result = sorts.sort(x, axis=axis, stable=bool(stable), keys=1)
    return move.rev(result, axes=(axis,)) if descending else result


def argsort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
            descending: bool = False, dtype: DTypeLike | None = None) -> Array:
    """The positions of the elements in the order of sort; equal ones in theirs.

    Args:
      dtype: of the positions; None: the default integer dtype. The others are as for sort.

    Example:
      >>> jnp.argsort(jnp.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    x, axis = _prepared(a, axis, kind, order)
    place = move.iota(shape=x.type.shape, dtype=requested(dtype, "argsort") or index_dtype(), axis=axis)
    if descending:
        # Twice reversed, equal elements keep their order.
        x, place = move.rev(x, axes=(axis,)), move.rev(place, axes=(axis,))
    result = sorts.sort(x, place, axis=axis, stable=bool(stable), keys=1)[1]
    return move.rev(result, axes=(axis,)) if descending else result


def lexsort(keys: Array | np.ndarray | Sequence[ArrayLike], axis: int = -1) -> Array:
    """The positions that sort by several keys, the last one first.

    Args:
      keys: arrays of one shape, or an array, taken as its elements along its first axis.

    Raises:
      TypeError: for no keys. ValueError: for keys of different shapes.

    Example:
      >>> jnp.lexsort((jnp.array([1, 0, 0]), jnp.array([5, 5, 4])))
      Array([2, 1, 0], dtype=int32)
    """
    if isinstance(keys, (Array, np.ndarray)):
        whole = array(keys)
        count = whole.type.shape[0] if whole.type.shape else 0
        xs = [move.reshape(part(whole, 0, i, i + 1), shape=whole.type.shape[1:]) for i in range(count)]
    else:
        xs = [array(key) for key in keys]
    if not xs:
        raise errors.type_error("got no keys, at least one is required", fix="pass a sequence of arrays")
    for i, x in enumerate(xs):
        if x.type.shape != xs[0].type.shape:
            raise errors.value_error(f"key 0 is {xs[0].type}, key {i} is {x.type}: one shape is required",
                                     fix="broadcast them")
    if xs[0].type.ndim == 0:
        return as_array(index_dtype().type(0))
    axis = one_axis(axis, xs[0].type.ndim)
    place = move.iota(shape=xs[0].type.shape, dtype=index_dtype(), axis=axis)
    return sorts.sort(*xs[::-1], place, axis=axis, stable=True, keys=len(xs))[-1]


def _split_point(kth: int, x: Any, axis: int) -> None:
    n = x.type.shape[axis]
    place = integer(kth, "kth")
    if not -n <= place < n:
        raise errors.value_error(f"kth is {place}, axis {axis} of {x.type} has size {n}",
                                 fix=f"use a position from {-n} to {n - 1}" if n else "the axis is empty")


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The elements so that the one at `kth` is where sort puts it, and none before it is larger.

    The result is sorted throughout.

    Raises:
      ValueError: for an axis or a position out of range.

    Example:
      >>> jnp.partition(jnp.array([3, 1, 2]), 0)[0].item()
      1
    """
    x, axis = _prepared(a, axis, None, None)
    _split_point(kth, x, axis)
    return sort(x, axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The positions of the elements in the order of partition.

    Example:
      >>> jnp.argpartition(jnp.array([3, 1, 2]), 0)[0].item()
      1
    """
    x, axis = _prepared(a, axis, None, None)
    _split_point(kth, x, axis)
    return retype(argsort(x, axis), dtypes.int32)


def sort_complex(a: ArrayLike) -> Array:
    """The elements as complex numbers, in rising order along the last axis.

    Example:
      >>> jnp.sort_complex(jnp.array([2, 1]))
      Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    result = sort(a)
    return retype(result, dtypes.to_complex(result.type.dtype))


def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
          ) -> list[Array] | tuple[Array, Array]:
    """The k largest or smallest elements along an axis, and their positions.

    Args:
      operand: real[..., n, ...]
      k: how many.
      axis: the axis.
      mode: 'largest' (from the largest down, NaNs first) or 'smallest' (from the smallest up, NaNs last).
      sorted: of no effect: the result is in that order.

    Returns:
      (any[..., k, ...], int32[..., k, ...]); of equal elements the first come first.

    Raises:
      ValueError: if k exceeds n. TypeError: for complex numbers.

    Example:
      >>> jnp.top_k(jnp.array([3, 1, 2]), 2)[0]
      Array([3, 2], dtype=int32)
    """
    x, axis = _prepared(a, axis, None, None)
    count = integer(k, "k")
    if mode == "largest":
        return list(sorts.top_k(x, k=count, axis=axis))
    if mode != "smallest":
        raise errors.value_error(f"mode is {mode!r}, 'largest' or 'smallest' is required", fix="check the spelling")
    if dtypes.is_complex(x.type.dtype):
        raise errors.type_error(f"got {x.type}, real numbers are required", fix="take jnp.abs, or sort")
    n = x.type.shape[axis]
    if not 0 <= count <= n:
        raise errors.value_error(f"k is {count}, axis {axis} of {x.type} has size {n}; 0 <= k <= {n} is required",
                                 fix="lower k")
    place = move.iota(shape=x.type.shape, dtype=dtypes.int32, axis=axis)
    values, places = sorts.sort(x, place, axis=axis, stable=True, keys=1)
    return part(values, axis, 0, count), part(places, axis, 0, count)


# -- search -------------------------------------------------------------------------------------------

_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def before(x: Any, y: Any) -> Any:
    """Whether x comes before y in the order of sort: NaNs last, complex numbers by real, then imaginary parts."""
    dtype = type_of(x).dtype
    if dtypes.is_complex(dtype):
        x_real, y_real = elementwise.real(x), elementwise.real(y)
        tie = bits.not_(bits.or_(before(x_real, y_real), before(y_real, x_real)))
        return bits.or_(before(x_real, y_real), bits.and_(tie, before(elementwise.imag(x), elementwise.imag(y))))
    if dtypes.is_bool(dtype):
        x, y = retype(x, dtypes.int32), retype(y, dtypes.int32)
    less = elementwise.lt(x, y)
    if not dtypes.is_float(dtype):
        return less
    return bits.or_(less, bits.and_(elementwise.eq(x, x), elementwise.ne(y, y)))


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *,
                 method: str = "scan") -> Array:
    """Where elements would go into a sorted array so that it stays sorted.

    Args:
      a: any[n], sorted; NaNs last.
      v: any[...], the elements.
      side: 'left': before equal ones, 'right': after them.
      sorter: int[n], the positions that sort `a`.
      method: how traced arrays are searched: 'scan' by halves in a loop, 'scan_unrolled' without one, 'sort'
        (for many elements), 'compare_all' (for few).

    Returns:
      int[...], from 0 to n.

    Raises:
      ValueError: if `a` has not one axis, for an unknown side or method.

    Example:
      >>> jnp.searchsorted(jnp.array([1, 2, 3]), jnp.array([2, 9]))
      Array([1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise errors.value_error(f"side is {side!r}, 'left' or 'right' is required", fix="check the spelling")
    if method not in _METHODS:
        raise errors.value_error(f"method is {method!r}, one of {', '.join(map(repr, _METHODS))} is required",
                                 fix="check the spelling")
    xs, values = [as_array(x) for x in promoted(a, v)]
    if xs.type.ndim != 1:
        raise errors.value_error(f"a is {xs.type}, an array with one axis is required", fix="search its rows with vmap")
    if sorter is not None:
        xs = picked(xs, array(sorter), 0)
    if not isinstance(xs, Tracer) and not isinstance(values, Tracer):
        found = np.searchsorted(wide(xs.numpy()), wide(values.numpy()), side)  # type: ignore[call-overload]
        return from_numpy(np.asarray(found).astype(np.int32))
    xs, values = convert.stop_gradient(xs), convert.stop_gradient(values)
    n = xs.type.shape[0]

    def goes_after(element: Any, x: Any) -> Any:
        """Whether the place of x is after `element`."""
        return before(element, x) if side == "left" else bits.not_(before(x, element))

    if n == 0 or method == "compare_all":
        return _by_comparing(xs, values, goes_after)
    if method == "sort":
        return _by_sorting(xs, values, side)
    return _by_halves(xs, values, goes_after, method == "scan_unrolled")


def _by_comparing(xs: Any, values: Any, goes_after: Callable[[Any, Any], Any]) -> Any:
    shape, n = values.type.shape, xs.type.shape[0]
    last = len(shape)
    full = (*shape, n)
    left = move.broadcast_in_dim(xs, shape=full, dims=(last,))
    right = move.broadcast_in_dim(values, shape=full, dims=tuple(range(last)))
    return reduce.reduce_sum(retype(goes_after(left, right), dtypes.int32), axes=(last,))


def _by_sorting(xs: Any, values: Any, side: str) -> Any:
    """The rank of each value among all, less its rank among the values."""
    flat = move.reshape(values, shape=(values.type.size,))
    n, count = xs.type.shape[0], flat.type.size
    both = (flat, xs) if side == "left" else (xs, flat)
    first = 0 if side == "left" else n

    def rank(x: Any) -> Any:
        place = move.iota(shape=x.type.shape, dtype=dtypes.int32, axis=0)
        order = sorts.sort(x, place, axis=0, stable=True, keys=1)[1]
        return sorts.sort(order, place, axis=0, stable=True, keys=1)[1]

    among_all = part(rank(move.concatenate(*both, axis=0)), 0, first, first + count)
    return move.reshape(elementwise.sub(among_all, rank(flat)), shape=values.type.shape)


def _by_halves(xs: Any, values: Any, goes_after: Callable[[Any, Any], Any], unroll: bool) -> Any:
    n, shape = xs.type.shape[0], values.type.shape
    one = np.int32(1)

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        middle = bits.shift_right_logical(elementwise.add(low, high), one)
        # Once low meets high nothing may change: the middle could be n then.
        inside = elementwise.lt(low, high)
        element = picked(xs, elementwise.min(middle, np.int32(n - 1)), 0)
        after = bits.and_(goes_after(element, values), inside)
        return elementwise.select_n(after, low, elementwise.add(middle, one)), elementwise.select_n(after, middle, high)

    low = move.broadcast_in_dim(np.int32(0), shape=shape, dims=())
    high = move.broadcast_in_dim(np.int32(n), shape=shape, dims=())
    steps = n.bit_length()
    return fori_loop(0, steps, halve, (low, high), unroll=max(steps, 1) if unroll else None)[0]


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Array:
    """The number of the bin that each element falls into.

    Args:
      x: real[...]
      bins: real[n], the limits of the bins, rising or falling.
      right: a bin contains its right limit instead of its left one.
      method: of searchsorted; None: 'scan'.

    Returns:
      int[...], from 0 (before the first limit) to n.

    Raises:
      ValueError: if `bins` has not one axis, or is known and neither rises nor falls.

    Example:
      >>> jnp.digitize(jnp.array([0.5, 1.5]), jnp.array([1.0, 2.0]))
      Array([0, 1], dtype=int32)
    """
    values, limits = array(x), array(bins)
    if limits.type.ndim != 1:
        raise errors.value_error(f"bins is {limits.type}, an array with one axis is required", fix="pass the limits")
    n = limits.type.shape[0]
    how = "scan" if method is None else method

    def falling() -> Any:
        behind = searchsorted(move.rev(limits, axes=(0,)), values, "left" if right else "right", method=how)
        return elementwise.sub(like(behind, n), behind)

    def rising() -> Any:
        return searchsorted(limits, values, "left" if right else "right", method=how)

    if n < 2:
        return rising()
    if not isinstance(limits, Tracer):
        steps = np.diff(wide(known(limits, "", "")))
        if not (steps >= 0).all() and not (steps <= 0).all():
            raise errors.value_error("bins neither rise nor fall", fix="sort them")
        return rising() if (steps >= 0).all() else falling()
    first = move.reshape(part(limits, 0, 0, 1), shape=())
    last = move.reshape(part(limits, 0, n - 1, n), shape=())
    return elementwise.select_n(elementwise.ge(last, first), falling(), rising())
