"""Arrays as sets: unique elements, union, intersection, differences, membership.

How many elements a result has depends on numbers. With size=, which traced arrays need, it is cut off or
filled up.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import Tracer, type_of
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, is_known, known, like, one_axis, part, picked, rearranged
from pullback.numpy.promotion import as_array, operand, promoted
from pullback.numpy.selection import checked_size, filled, front
from pullback.numpy.shape import moveaxis, ravel
from pullback.numpy.sorting import index_dtype, searchsorted
from pullback.ops import cumulative, elementwise, integer, move, reduce, scatter, sort
from pullback.ops.index import GatherScatterMode, ScatterDims
from pullback.ops.reduce import wide

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]

_SIZE = "give size=, the number of elements of the result, known beforehand"
_ALONG_0 = ScatterDims((), (0,), (0,))


class UniqueAll(NamedTuple):
    """Result of unique_all."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Result of unique_counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Result of unique_inverse."""

    values: Array
    inverse_indices: Array


# -- groups of equal rows -----------------------------------------------------------------------------


class _Groups(NamedTuple):
    """Equal rows, in the order of their values.

    first: the position of the first row of each group. inverse: the group of each row. counts: rows per
    group. exists: which groups there are, where first and counts are filled up; None: all.
    """

    first: Any
    inverse: Any
    counts: Any
    exists: Any


def _columns(rows: Any) -> list[Any]:
    n, width = rows.type.shape
    return [move.reshape(part(rows, 1, i, i + 1), shape=(n,)) for i in range(width)]


def _known_groups(rows: np.ndarray, equal_nan: bool, size: int | None) -> _Groups:
    n = rows.shape[0]
    order = sort.order_of(list(rows.T), 0) if rows.shape[1] else np.arange(n)
    arranged = rows[order]
    differ = arranged[1:] != arranged[:-1]
    if equal_nan:
        differ &= ~((arranged[1:] != arranged[1:]) & (arranged[:-1] != arranged[:-1]))
    new = np.concatenate([np.ones(min(n, 1), bool), differ.any(1)])
    starts = np.flatnonzero(new)
    inverse = np.empty(n, index_dtype())
    inverse[order] = np.cumsum(new) - 1
    first = order[starts].astype(index_dtype())
    counts = np.diff(np.append(starts, n)).astype(index_dtype())
    exists = None if size is None else np.arange(size) < first.size
    return _Groups(filled(first, size, int(first[0]) if first.size else 0), inverse, filled(counts, size), exists)


def _traced_groups(rows: Any, equal_nan: bool, size: int) -> _Groups:
    n = rows.type.shape[0]
    place = move.iota(shape=(n,), dtype=dtypes.int32, axis=0)
    columns = _columns(rows)
    *columns, order = sort.sort(*columns, place, axis=0, stable=True, keys=len(columns)) if columns else [place]
    new = move.broadcast_in_dim(np.bool_(False), shape=(n - 1,), dims=())
    for column in columns:
        later, earlier = part(column, 0, 1, n), part(column, 0, 0, n - 1)
        differ = elementwise.ne(later, earlier)
        if equal_nan and dtypes.is_inexact(column.type.dtype):
            both = integer.and_(elementwise.ne(later, later), elementwise.ne(earlier, earlier))
            differ = integer.and_(differ, integer.not_(both))
        new = integer.or_(new, differ)
    ahead = move.broadcast_in_dim(np.int32(0), shape=(1,), dims=())
    group = cumulative.cumsum(move.concatenate(ahead, retype(new, dtypes.int32), axis=0), axis=0, reverse=False)
    targets = move.reshape(group, shape=(n, 1))
    hints: dict[str, Any] = dict(dims=_ALONG_0, mode=GatherScatterMode.FILL_OR_DROP, unique=False, sorted=True)
    zeros = move.broadcast_in_dim(np.int32(0), shape=(size,), dims=())
    ones = move.broadcast_in_dim(np.int32(1), shape=(n,), dims=())
    counts = scatter.scatter_add(zeros, targets, ones, **hints)
    exists = elementwise.gt(counts, np.int32(0))
    # The sort is stable: the first row of a group has the least position.
    last = move.broadcast_in_dim(np.int32(n), shape=(size,), dims=())
    first = scatter.scatter_min(last, targets, order, **hints)
    least = move.reshape(part(order, 0, 0, 1), shape=())
    first = elementwise.select_n(exists, least, first)
    inverse = scatter.scatter(move.broadcast_in_dim(np.int32(0), shape=(n,), dims=()),
                              move.reshape(order, shape=(n, 1)), group, dims=_ALONG_0,
                              mode=GatherScatterMode.PROMISE_IN_BOUNDS, unique=True, sorted=False)
    kind = index_dtype()
    return _Groups(retype(first, kind), retype(inverse, kind), retype(counts, kind), exists)


def _groups(rows: Any, equal_nan: bool, size: int | None) -> _Groups:
    if is_known(rows) or size is None:
        numbers = known(rows, "the number of different elements", _SIZE)
        found = _known_groups(numbers, equal_nan, size)
        return _Groups(*[None if x is None else from_numpy(x) for x in found])
    if rows.type.shape[0] == 0:
        return _groups(from_numpy(np.zeros(rows.type.shape, rows.type.dtype)), equal_nan, size)
    return _traced_groups(rows, equal_nan, size)


def _taken(x: Any, index: Any, axis: int = 0) -> Any:
    """The elements at positions that may be known."""
    return picked(x, index, axis) if isinstance(index, Tracer) else rearranged(x, index.numpy(), axis)


def _with_fill(values: Any, exists: Any, fill: Any) -> Any:
    """Values with `fill`, which broadcasts to a row, where there is none."""
    if exists is None:
        return values
    shape = values.type.shape
    fill = retype(operand(fill), values.type.dtype, values.type.weak)
    fill = promotion.broadcast_to(as_array(fill), shape) if type_of(fill).shape else fill
    exists = move.broadcast_in_dim(exists, shape=shape, dims=(0,)) if len(shape) > 1 else exists
    return elementwise.select_n(exists, fill, values)


# -- unique elements ----------------------------------------------------------------------------------


def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, size: int | None = None,
           fill_value: ArrayLike | None = None, sorted: bool = True) -> Any:
    """The different elements, in rising order.

    Args:
      ar: any[...]
      return_index: also return the positions of the first of each.
      return_inverse: also return for each element its position in the result.
      return_counts: also return how often each occurs.
      axis: None: of the flattened array; else the slices along this axis are compared.
      equal_nan: NaNs are equal to one another.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced arrays.
      fill_value: what to fill up with; None: the least element.
      sorted: of no effect: the result is sorted.

    Returns:
      the elements, or a tuple of them and what else is asked for. Where filled up, positions are those of the
      least element, counts are 0.

    Raises:
      ConcretizationTypeError: for a traced array and no size. ValueError: if nothing but a missing fill_value
        could fill up the result.

    Example:
      >>> jnp.unique(jnp.array([3, 1, 3])).tolist()
      [1, 3]
    """
    values, groups, inverse = _unique(ar, axis, equal_nan, checked_size(size), fill_value)
    results = [values]
    results += [groups.first] if return_index else []
    results += [inverse] if return_inverse else []
    results += [groups.counts] if return_counts else []
    return results[0] if len(results) == 1 else tuple(results)


def _sortable(x: Any) -> Any:
    """`x`, of no weak type if it is complex: so jax sorts complex numbers."""
    return retype(x, x.type.dtype) if dtypes.is_complex(x.type.dtype) else x


def _unique(ar: ArrayLike, axis: int | None, equal_nan: bool, size: int | None, fill_value: Any) -> Any:
    x = _sortable(array(ar))
    shape = x.type.shape
    if axis is None:
        rows, inverse_shape = ravel(x), shape
    else:
        axis = one_axis(axis, len(shape))
        rows = moveaxis(x, axis, 0)
        inverse_shape = shape[axis:axis + 1]
    n = rows.type.shape[0]
    if n == 0 and size and fill_value is None:
        raise errors.value_error(f"got {x.type}, which has no element to fill up a result of size {size} with",
                                 fix="give fill_value")
    flat = move.reshape(rows, shape=(n, math.prod(rows.type.shape[1:])))
    groups = _groups(flat, equal_nan, size)
    if n == 0 and size:
        values = move.broadcast_in_dim(like(rows, 0), shape=(size, *rows.type.shape[1:]), dims=())
    else:
        values = _taken(rows, groups.first)
    if fill_value is not None:
        values = _with_fill(values, groups.exists, fill_value)
    inverse = groups.inverse if inverse_shape == (n,) else move.reshape(groups.inverse, shape=inverse_shape)
    return values if not axis else moveaxis(values, 0, axis), groups, inverse


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueAll:
    """(values, indices, inverse_indices, counts) of the different elements; see unique. NaNs are all different.

    Example:
      >>> jnp.unique_all(jnp.array([3, 1, 3])).values
      Array([1, 3], dtype=int32)
    """
    values, groups, inverse = _unique(x, None, False, checked_size(size), fill_value)
    return UniqueAll(values, groups.first, inverse, groups.counts)


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueCounts:
    """(values, counts) of the different elements; see unique. NaNs are all different.

    Example:
      >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    values, groups, _ = _unique(x, None, False, checked_size(size), fill_value)
    return UniqueCounts(values, groups.counts)


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueInverse:
    """(values, inverse_indices) of the different elements; see unique. NaNs are all different.

    Example:
      >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    values, _, inverse = _unique(x, None, False, checked_size(size), fill_value)
    return UniqueInverse(values, inverse)


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The different elements, in rising order; see unique. NaNs are all different.

    Example:
      >>> jnp.unique_values(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return _unique(x, None, False, checked_size(size), fill_value)[0]


# -- membership ---------------------------------------------------------------------------------------

_METHODS = ("auto", "compare_all", "binary_search", "sort")
_FEW = 32  # up to so many elements, comparing with each is cheaper than a search


def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *,
         method: str = "auto") -> Array:
    """Whether elements are among others; NaN is among none.

    Args:
      element: any[...]
      test_elements: any[...]
      assume_unique: of no effect on the result.
      invert: whether they are not.
      method: how traced arrays are compared: 'compare_all', 'binary_search', 'sort', or 'auto'.

    Returns:
      bool[...] of the shape of `element`.

    Raises:
      ValueError: for an unknown method.

    Example:
      >>> jnp.isin(jnp.array([1, 5]), jnp.array([5, 6]))
      Array([False,  True], dtype=bool)
    """
    if method not in _METHODS:
        raise errors.value_error(f"method is {method!r}, one of {', '.join(map(repr, _METHODS))} is required",
                                 fix="check the spelling")
    x, others = [as_array(v) for v in promoted(element, test_elements)]
    others = ravel(others)
    if not isinstance(x, Tracer) and not isinstance(others, Tracer):
        numbers, among = wide(x.numpy()), wide(others.numpy())
        return from_numpy(np.asarray(np.isin(numbers, among, invert=invert)))
    found = _among(x, others, method)
    return integer.not_(found) if invert else found


def _among(x: Any, others: Any, method: str) -> Any:
    n, shape = others.type.shape[0], x.type.shape
    if n == 0:
        return move.broadcast_in_dim(np.bool_(False), shape=shape, dims=())
    if method == "compare_all" or method == "auto" and n <= _FEW:
        full = (*shape, n)
        left = move.broadcast_in_dim(x, shape=full, dims=tuple(range(len(shape))))
        right = move.broadcast_in_dim(others, shape=full, dims=(len(shape),))
        return reduce.reduce_or(elementwise.eq(left, right), axes=(len(shape),))
    arranged = sort.sort(others, axis=0, stable=True, keys=1)
    place = searchsorted(arranged, x, method="sort" if method == "sort" else "scan")
    place = elementwise.min(place, like(place, n - 1))
    return elementwise.eq(picked(arranged, place, 0), x)


# -- sets ---------------------------------------------------------------------------------------------


def _kept(values: list[Any], keep: Any, size: int | None, fills: list[Any]) -> list[Any]:
    """Of each array the elements where `keep` holds, filled up to `size`."""
    if is_known(keep) or size is None:
        index = np.flatnonzero(known(keep, "the number of elements of the result", _SIZE))[:size]
        taken = [rearranged(v, index, 0) for v in values]
        missing = 0 if size is None else size - index.size
        if not missing:
            return taken
        ends = [move.broadcast_in_dim(fill(t), shape=(missing,), dims=()) for t, fill in zip(taken, fills)]
        return [move.concatenate(t, end, axis=0) for t, end in zip(taken, ends)]
    places, exists = front(keep, size)
    if not keep.type.shape[0]:
        return [move.broadcast_in_dim(like(v, 0), shape=(size,), dims=()) for v in values]
    results = []
    for v, fill in zip(values, fills):
        taken = _with_fill(picked(v, places, 0), exists, like(v, 0))
        results.append(_with_fill(taken, exists, fill(taken)))
    return results


def _constant(fill: Any) -> Any:
    return lambda taken: retype(operand(fill), taken.type.dtype, taken.type.weak)


def _first(taken: Any) -> Any:
    """The first element, or 0 where there is none."""
    return move.reshape(part(taken, 0, 0, 1), shape=()) if taken.type.shape[0] else like(taken, 0)


def _filling(fill_value: Any) -> Any:
    return _first if fill_value is None else _constant(fill_value)


def _different(x: Any, sized: bool) -> tuple[Any, Any, Any]:
    """The different elements of a flat array, where each is first, and which there are."""
    n = x.type.shape[0]
    groups = _groups(move.reshape(x, shape=(n, 1)), True, n if sized else None)
    exists = from_numpy(np.ones(groups.first.type.shape, bool)) if groups.exists is None else groups.exists
    return _taken(x, groups.first), groups.first, exists


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
              fill_value: ArrayLike | None = None) -> Array:
    """The different elements of `ar1` that are not in `ar2`, in rising order.

    Args:
      ar1, ar2: any[...], taken as flat.
      assume_unique: the elements of `ar1` are different; the result is in their order.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced arrays.
      fill_value: what to fill up with; None: 0.

    Raises:
      ConcretizationTypeError: for traced arrays and no size.

    Example:
      >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    x, others = ravel(ar1), ravel(ar2)
    x = _sortable(x)
    count = checked_size(size)
    keep = None
    if not assume_unique:
        x, _, keep = _different(x, count is not None)
    outside = isin(x, others, invert=True)
    keep = outside if keep is None else integer.and_(outside, keep)
    return _kept([x], keep, count, [_constant(0 if fill_value is None else fill_value)])[0]


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The different elements of two arrays, in rising order; size and fill_value as for unique.

    Example:
      >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    xs = [ravel(as_array(x)) for x in promoted(ar1, ar2)]
    return unique(move.concatenate(*xs, axis=0), size=size, fill_value=fill_value)


def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *,
                size: int | None = None, fill_value: ArrayLike | None = None) -> Any:
    """The different elements that are in both arrays, in rising order.

    Args:
      ar1, ar2: any[...], taken as flat.
      assume_unique: of no effect on the result.
      return_indices: also return the positions of the first of each in `ar1` and in `ar2`.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced arrays.
      fill_value: what to fill up with; None: the first of them. Positions are filled up with the sizes of the
        arrays.

    Raises:
      ConcretizationTypeError: for traced arrays and no size.

    Example:
      >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([2, 3, 4]))
      Array([2, 3], dtype=int32)
    """
    x, y = [ravel(as_array(v)) for v in promoted(ar1, ar2)]
    if not y.type.weak:
        x = retype(x, x.type.dtype)
    x = _sortable(x)
    count = checked_size(size)
    sized = count is not None
    x_size, y_size = x.type.size, y.type.size
    x, x_first, x_exists = _different(x, sized)
    keep = integer.and_(isin(x, y), x_exists)
    if not return_indices:
        return _kept([x], keep, count, [_filling(fill_value)])[0]
    y_place = _first_places(x, y)
    return tuple(_kept([x, x_first, y_place], keep, count, [_filling(fill_value), _constant(x_size),
                                                           _constant(y_size)]))


def _first_places(x: Any, y: Any) -> Any:
    """The first position in `y` of the elements of `x` that it has."""
    n = y.type.shape[0]
    if n == 0:
        return move.broadcast_in_dim(index_dtype().type(0), shape=x.type.shape, dims=())
    places = move.iota(shape=(n,), dtype=index_dtype(), axis=0)
    arranged, order = sort.sort(y, places, axis=0, stable=True, keys=1)
    place = searchsorted(arranged, x)
    return picked(order, elementwise.min(place, like(place, n - 1)), 0)


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
             fill_value: ArrayLike | None = None) -> Array:
    """The different elements that are in one of two arrays but not in both, in rising order.

    Args:
      ar1, ar2: any[...], taken as flat.
      assume_unique: of no effect on the result.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced arrays.
      fill_value: what to fill up with; None: the first of them.

    Raises:
      ConcretizationTypeError: for traced arrays and no size.

    Example:
      >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
      Array([1, 3], dtype=int32)
    """
    x, y = [_sortable(ravel(as_array(v))) for v in promoted(ar1, ar2)]
    count = checked_size(size)
    parts, keeps = [], []
    for own, other in ((x, y), (y, x)):
        values, _, exists = _different(own, count is not None)
        parts.append(values)
        keeps.append(integer.and_(isin(values, other, invert=True), exists))
    values, keep = move.concatenate(*parts, axis=0), move.concatenate(*keeps, axis=0)
    values, keep = sort.sort(values, keep, axis=0, stable=True, keys=1)
    return _kept([values], keep, count, [_filling(fill_value)])[0]
