"""Functions that join arrays, cut them apart, and repeat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import placed, retype
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    converted,
    integer,
    is_known,
    known,
    like,
    no_out,
    one_axis,
    part,
    picked,
    positions,
    requested,
)
from pullback.numpy.promotion import as_array, operand, promoted
from pullback.numpy.shape import one_or_more, ravel, three_or_more, two_or_more
from pullback.ops import cumulative, elementwise, move, scatter
from pullback.ops.index import GatherScatterMode, ScatterDims
from pullback.ops.move import as_shape

__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit", "hstack",
    "repeat", "resize", "split", "stack", "tile", "unstack", "vsplit", "vstack",
]

Arrays = Array | np.ndarray | Sequence[ArrayLike]


def _operands(arrays: Any, dtype: DTypeLike) -> list[Any]:
    """The arrays of a sequence, in `dtype` or else in their common one."""
    try:
        xs = list(arrays)
    except TypeError:
        raise errors.type_error(f"got a {type(arrays).__name__}, a sequence of arrays is required",
                                fix="put the arrays into a list") from None
    if not xs:
        raise errors.value_error("got an empty sequence, at least one array is required", fix="pass an array")
    target = requested(dtype, "concatenate")
    if target is not None:
        return [converted(array(x), target) for x in xs]
    return [as_array(x) for x in promoted(*xs)]


def _joined(xs: Sequence[Any], axis: int) -> Any:
    first = xs[0].type
    for i, x in enumerate(xs):
        if not x.type.ndim:
            raise errors.make(errors.OperandError, fix="use jnp.stack, or axis=None",
                              problem=f"operand {i} is {x.type}: arrays without axes cannot be concatenated")
        if x.type.ndim != first.ndim:
            raise errors.type_error(f"operand 0 is {first}, operand {i} is {x.type}: they differ in rank",
                                    fix="reshape one of them (x[None], jnp.expand_dims)")
    axis = one_axis(axis, first.ndim)
    return xs[0] if len(xs) == 1 else move.concatenate(*xs, axis=axis)


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Arrays one after the other along an axis they have.

    Args:
      arrays: a sequence of arrays that agree in every size but that of `axis`; or an array, taken as its
        elements along its first axis.
      axis: None: the arrays are flattened first.
      dtype: None: the dtype they promote to.

    Raises:
      TypeError: if ranks or other sizes differ; the message names the operand. ValueError: for no arrays,
        arrays without axes, or an axis out of range.

    Example:
      >>> jnp.concatenate([jnp.ones(2), jnp.zeros(1)]).tolist()
      [1.0, 1.0, 0.0]
    """
    if isinstance(arrays, (Array, np.ndarray)):
        return _joined_rows(array(arrays), axis, requested(dtype, "concatenate"))
    xs = _operands(arrays, dtype)
    if axis is None:
        return _joined([ravel(x) for x in xs], 0)
    return _joined(xs, axis)


def _joined_rows(x: Any, axis: int | None, dtype: Any) -> Any:
    """The elements of one array along its first axis, concatenated: a transposition and a reshape."""
    sizes = x.type.shape
    if not sizes or not sizes[0]:
        raise errors.value_error(f"got {x.type}, at least one array is required", fix="pass a sequence of arrays")
    x = x if dtype is None else converted(x, dtype)
    if axis is None:
        return ravel(x)
    if len(sizes) == 1:
        raise errors.value_error(f"got {x.type}, whose elements have no axes; these cannot be concatenated",
                                 fix="put the array into a list, or use axis=None")
    axis = one_axis(axis, len(sizes) - 1)
    if axis:
        x = move.transpose(x, perm=(*range(1, axis + 1), 0, *range(axis + 1, len(sizes))))
    inner = list(sizes[1:])
    inner[axis] *= sizes[0]
    return move.reshape(x, shape=tuple(inner))


def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """Arrays one after the other along an axis they have; see concatenate.

    Example:
      >>> jnp.concat([jnp.arange(2), jnp.arange(2)])
      Array([0, 1, 0, 1], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Arrays of one shape one after the other along a new axis.

    Args:
      arrays: n arrays of one shape, or an array, taken as its elements along its first axis.
      axis: where the new axis, of size n, stands in the result.
      dtype: None: the dtype they promote to.

    Raises:
      ValueError: if the shapes differ, or there are no arrays.

    Example:
      >>> jnp.stack([jnp.arange(2), jnp.arange(2)], axis=1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    no_out(out)
    if isinstance(arrays, (Array, np.ndarray)):
        x = array(arrays)
        if not x.type.shape or not x.type.shape[0]:
            raise errors.value_error(f"got {x.type}, at least one array is required", fix="pass a sequence of arrays")
        x = x if dtype is None else converted(x, requested(dtype, "stack"))
        axis = one_axis(axis, x.type.ndim)
        if axis == 0:
            return x
        return move.transpose(x, perm=(*range(1, axis + 1), 0, *range(axis + 1, x.type.ndim)))
    xs = _operands(arrays, dtype)
    first = xs[0].type
    for i, x in enumerate(xs):
        if x.type.shape != first.shape:
            raise errors.value_error(f"operand 0 is {first}, operand {i} is {x.type}: one shape is required",
                                     fix="broadcast or pad one of them, or use concatenate")
    axis = one_axis(axis, first.ndim + 1)
    sizes = (*first.shape[:axis], 1, *first.shape[axis:])
    return _joined([move.reshape(x, shape=sizes) for x in xs], axis)


def _shaped(tup: Arrays, dtype: DTypeLike, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    """The arrays, each in the shape that `shape` makes of its own."""
    if isinstance(tup, (Array, np.ndarray)):
        x = array(tup)
        x = x if dtype is None else converted(x, requested(dtype, "concatenate"))
        sizes = x.type.shape
        return move.reshape(x, shape=(*sizes[:1], *shape(sizes[1:])))
    results = []
    for x in _operands(tup, dtype):
        sizes = shape(x.type.shape)
        results.append(x if sizes == x.type.shape else move.reshape(x, shape=sizes))
    return results


def vstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the first axis; vectors are rows.

    Raises:
      TypeError: if other sizes differ.

    Example:
      >>> jnp.vstack([jnp.arange(2), jnp.arange(2)])
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    return concatenate(_shaped(tup, dtype, two_or_more), 0)


def hstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the second axis, vectors along their only one.

    Raises:
      TypeError: if other sizes differ.

    Example:
      >>> jnp.hstack([jnp.arange(2), jnp.arange(2)])
      Array([0, 1, 0, 1], dtype=int32)
    """
    xs = _shaped(tup, dtype, one_or_more)
    ndim = xs.type.ndim - 1 if isinstance(xs, Array) else xs[0].type.ndim
    return concatenate(xs, 0 if ndim == 1 else 1)


def dstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the third axis; see atleast_3d for those that have none.

    Raises:
      TypeError: if other sizes differ.

    Example:
      >>> jnp.dstack([jnp.arange(2), jnp.arange(2)]).shape
      (1, 2, 2)
    """
    return concatenate(_shaped(tup, dtype, three_or_more), 2)


def column_stack(tup: Arrays) -> Array:
    """Arrays joined along the second axis; vectors are columns.

    Raises:
      TypeError: if other sizes differ.

    Example:
      >>> jnp.column_stack([jnp.arange(2), jnp.arange(2)])
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    return concatenate(_shaped(tup, None, lambda sizes: (*(sizes or (1,)), 1) if len(sizes) < 2 else sizes), 1)


def block(arrays: Any) -> Array:
    """One array made of blocks, given as nested lists.

    The innermost lists are joined along the last axis, those around them along the one before, and so on.

    Args:
      arrays: an array, or lists of arrays, nested everywhere to one depth.

    Raises:
      ValueError: for an empty list, a tuple, or lists of unequal depth. TypeError: if sizes do not fit.

    Example:
      >>> jnp.block([[jnp.ones((2, 2)), jnp.zeros((2, 1))], [jnp.zeros((1, 2)), 5]]).shape
      (3, 3)
    """
    leaves: list[Any] = []
    depths: set[int] = set()

    def visit(node: Any, depth: int) -> None:
        if isinstance(node, tuple):
            raise errors.value_error("got a tuple among the blocks, lists are required", fix="write [...] for (...)")
        if isinstance(node, list):
            if not node:
                raise errors.value_error("got an empty list among the blocks", fix="leave it out")
            for child in node:
                visit(child, depth + 1)
        else:
            leaves.append(node)
            depths.add(depth)

    visit(arrays, 0)
    if len(depths) > 1:
        raise errors.value_error(f"blocks are nested {' and '.join(map(str, sorted(depths)))} lists deep, one depth is "
                                 "required", fix="put every block into as many lists")
    depth = depths.pop()
    xs = [as_array(x) for x in promoted(*leaves)]
    ndim = max([depth, *[x.type.ndim for x in xs]])
    rest = iter([move.reshape(x, shape=(1,) * (ndim - x.type.ndim) + x.type.shape) if x.type.ndim < ndim else x
                 for x in xs])

    def join(node: Any, depth_below: int) -> Any:
        if not isinstance(node, list):
            return next(rest)
        return _joined([join(child, depth_below - 1) for child in node], -depth_below)

    return join(arrays, depth)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """`arr` and after it `values`, along `axis`; None: both flattened.

    Example:
      >>> jnp.append(jnp.arange(2), 9)
      Array([0, 1, 9], dtype=int32)
    """
    return concatenate([operand(arr), operand(values)], axis)


# -- cutting apart ------------------------------------------------------------------------------------


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Consecutive pieces along an axis.

    Args:
      ary: any[...]
      indices_or_sections: the number of equal pieces; or where the pieces but the first begin, in rising
        order.
      axis: the axis to cut.

    Raises:
      ValueError: if equal pieces are not possible, or positions fall.

    Example:
      >>> [x.tolist() for x in jnp.split(jnp.arange(4), [1, 3])]
      [[0], [1, 2], [3]]
    """
    return _split(ary, indices_or_sections, axis, True)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Consecutive pieces along an axis, as `split`; of n pieces that cannot be equal the first are larger by one.

    Example:
      >>> jnp.array_split(jnp.arange(3), 2)
      [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split(ary, indices_or_sections, axis, False)


def _split(ary: ArrayLike, indices_or_sections: Any, axis: int, equal: bool) -> list[Array]:
    x = array(ary)
    axis = one_axis(axis, x.type.ndim)
    n = x.type.shape[axis]
    given = indices_or_sections
    if isinstance(given, (list, tuple)) or np.ndim(given) == 1:
        numbers = as_shape(given if not isinstance(given, Array) else known(
            given, "the positions", "mark them static, or use lax.dynamic_slice"), "indices_or_sections")
        cuts = [0, *[min(max(i + n if i < 0 else i, 0), n) for i in numbers], n]
        if any([i > j for i, j in zip(cuts, cuts[1:])]):
            raise errors.value_error(f"positions {numbers} on an axis of size {n} do not rise",
                                     fix="give the starts of the pieces, not their sizes")
    else:
        count = integer(given, "the number of pieces")
        if count < 1:
            raise errors.value_error(f"the number of pieces is {count}, at least 1 is required", fix="pass 1 or more")
        size, more = divmod(n, count)
        if equal and more:
            raise errors.value_error(
                f"axis {axis} of {x.type} has size {n}, which cannot be divided into {count} equal pieces",
                fix="use array_split, or give the positions")
        cuts = [i * size + min(i, more) for i in range(count + 1)]
    return [part(x, axis, i, j) for i, j in zip(cuts, cuts[1:])]


def _check_rank(ary: ArrayLike, least: int) -> Any:
    x = array(ary)
    if x.type.ndim < least:
        count = move.count(least, "axis", "axes")
        raise errors.value_error(f"got {x.type}, an array with at least {count} is required",
                                 fix="use split along an axis it has")
    return x


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Pieces along the second axis, of a vector along its only one; see split.

    Example:
      >>> jnp.hsplit(jnp.arange(4), 2)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    x = _check_rank(ary, 1)
    return _split(x, indices_or_sections, 0 if x.type.ndim == 1 else 1, True)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Pieces along the first axis; see split.

    Example:
      >>> len(jnp.vsplit(jnp.ones((4, 1)), 2))
      2
    """
    return _split(_check_rank(ary, 1), indices_or_sections, 0, True)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """Pieces along the third axis; see split.

    Example:
      >>> len(jnp.dsplit(jnp.ones((1, 1, 4)), 2))
      2
    """
    return _split(_check_rank(ary, 3), indices_or_sections, 2, True)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The n elements of the array along `axis`, each without that axis.

    Example:
      >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = _check_rank(x, 1)
    axis = one_axis(axis, x.type.ndim)
    sizes = x.type.shape[:axis] + x.type.shape[axis + 1:]
    return tuple([move.reshape(part(x, axis, i, i + 1), shape=sizes) for i in range(x.type.shape[axis])])


# -- repeating ----------------------------------------------------------------------------------------


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """The array repeated as a whole along its axes.

    Args:
      A: any[...]
      reps: how often along each axis, counted from the last; further axes are added where it has more.

    Raises:
      ValueError: for a negative number.

    Example:
      >>> jnp.tile(jnp.arange(2), 2)
      Array([0, 1, 0, 1], dtype=int32)
    """
    x = array(A)
    times = as_shape(reps, "reps")
    if any([n < 0 for n in times]):
        raise errors.value_error(f"reps {times} has a negative number", fix="numbers are 0 or more")
    ndim = max(len(times), x.type.ndim)
    times = (1,) * (ndim - len(times)) + times
    sizes = (1,) * (ndim - x.type.ndim) + x.type.shape
    doubled, dims = [], []
    for axis, (n, count) in enumerate(zip(sizes, times)):
        if count != 1:
            doubled.append(count)
        if axis >= ndim - x.type.ndim:
            dims.append(len(doubled))
            doubled.append(n)
    if len(doubled) > len(dims):
        x = move.broadcast_in_dim(x, shape=tuple(doubled), dims=tuple(dims))
    target = tuple([n * count for n, count in zip(sizes, times)])
    return x if x.type.shape == target else move.reshape(x, shape=target)


_TOTAL = "give total_repeat_length, the number of elements of the result"


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *, total_repeat_length: int | None = None,
           out_sharding: Any = None) -> Array:
    """Each element along an axis repeated in its place.

    Args:
      a: any[...]
      repeats: how often; an integer for all, or an integer[n] for the n elements along `axis`.
      axis: None: the elements of the flattened array.
      total_repeat_length: the size of `axis` in the result: it is cut off there, or the last element fills it
        up. Required where `repeats` is traced.

    Raises:
      ConcretizationTypeError: if `repeats` is traced and total_repeat_length is not given.
      ValueError: if a number is negative, or there are more or fewer than elements.

    Example:
      >>> jnp.repeat(jnp.array([7, 8]), jnp.array([1, 2])).tolist()
      [7, 8, 8]
    """
    x = array(a)
    if axis is None:
        x, axis = ravel(x), 0
    if not x.type.ndim:
        x = ravel(x)
    axis = one_axis(axis, x.type.ndim)
    n = x.type.shape[axis]
    counts = operand(repeats)
    t = type_of(counts)
    if not dtypes.is_integer(t.dtype):
        raise errors.make(errors.OperandError, f"repeats is {t}, integers are required",
                          fix="convert it with astype(int)")
    if t.size not in (1, n):
        raise errors.value_error(f"repeats is {t}; one number, or {n} for the elements along axis {axis} of {x.type}, "
                                 "are required", fix="give a number for each element")
    total = None if total_repeat_length is None else integer(total_repeat_length, "total_repeat_length")
    if isinstance(counts, Array) and not is_known(counts) and total is not None:
        return placed(_repeated_traced(x, counts, axis, total), out_sharding)
    numbers = np.asarray(known(counts, "the number of repeats", _TOTAL)).reshape(-1)
    if (numbers < 0).any():
        raise errors.make(errors.OperandError, f"repeats has the negative number {numbers.min()}",
                          fix="numbers are 0 or more")
    if numbers.size == 1 and total in (None, n * int(numbers[0])):
        return placed(_repeated_all(x, int(numbers[0]), axis), out_sharding)
    index = np.repeat(np.arange(n), numbers)
    if total is not None:
        index = np.concatenate([index[:total], np.full(max(total - index.size, 0), n - 1)])
    return placed(picked(x, positions(index), axis) if index.size else part(x, axis, 0, 0), out_sharding)


def _repeated_all(x: Any, count: int, axis: int) -> Any:
    if count == 1:
        return x
    sizes = x.type.shape
    dims = tuple([i + (i > axis) for i in range(len(sizes))])
    spread = move.broadcast_in_dim(x, shape=(*sizes[:axis + 1], count, *sizes[axis + 1:]), dims=dims)
    return move.reshape(spread, shape=(*sizes[:axis], sizes[axis] * count, *sizes[axis + 1:]))


def _repeated_traced(x: Any, counts: Any, axis: int, total: int) -> Any:
    n = x.type.shape[axis]
    counts = retype(ravel(counts), dtypes.int32)
    counts = elementwise.max(counts, like(counts, 0))
    if counts.type.size != n:
        counts = move.broadcast_in_dim(move.reshape(counts, shape=()), shape=(n,), dims=())
    # An element of the result stands behind as many elements of x as have ended before it.
    ends = cumulative.cumsum(counts, axis=0, reverse=False)
    zeros = move.broadcast_in_dim(np.int32(0), shape=(total,), dims=())
    ones = move.broadcast_in_dim(np.int32(1), shape=(n,), dims=())
    ended = scatter.scatter_add(zeros, move.reshape(ends, shape=(n, 1)), ones, dims=ScatterDims((), (0,), (0,)),
                                mode=GatherScatterMode.FILL_OR_DROP, unique=False, sorted=True)
    index = elementwise.min(cumulative.cumsum(ended, axis=0, reverse=False), np.int32(n - 1))
    return picked(x, index, axis)


def resize(a: ArrayLike, new_shape: Any) -> Array:
    """The elements, from the first again where they do not suffice, in a shape of any size.

    Raises:
      ValueError: for a negative size.

    Example:
      >>> jnp.resize(jnp.arange(2), (3,))
      Array([0, 1, 0], dtype=int32)
    """
    x = ravel(array(a))
    sizes = as_shape(new_shape, "new_shape")
    if any([n < 0 for n in sizes]):
        raise errors.value_error(f"new_shape {sizes} has a negative size", fix="sizes are 0 or more")
    total, n = int(np.prod(sizes, dtype=np.int64)), x.type.size
    if n == 0:
        return move.broadcast_in_dim(like(x, 0), shape=sizes, dims=())
    if total > n:
        x = tile(x, -(-total // n))
    return move.reshape(part(x, 0, 0, total), shape=sizes)
