"""Elements by their truth: nonzero and its kin, extract, compress, choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import (
    ArrayLike,
    array,
    integer,
    is_known,
    known,
    like,
    no_out,
    one_axis,
    picked,
    rearranged,
)
from pullback.numpy.promotion import as_array, operand, promoted
from pullback.numpy.reductions import truth
from pullback.numpy.shape import ravel
from pullback.numpy.sorting import index_dtype
from pullback.ops import cumulative, elementwise, move, reduce, scatter
from pullback.ops.index import GatherScatterMode, ScatterDims

__all__ = ["argwhere", "choose", "compress", "extract", "flatnonzero", "nonzero"]

_SIZE = "give size=, the number of elements of the result, known beforehand"


def checked_size(size: int | None) -> int | None:
    """A given size, as an int that is no less than 0."""
    if size is None:
        return None
    number = integer(size, "size")
    if number < 0:
        raise errors.value_error(f"size is {number}, 0 or more is required", fix="pass the size of the result")
    return number


def front(mask: Any, size: int) -> tuple[Any, Any]:
    """Where a traced mask holds: the first `size` positions, and which of them there are.

    Args:
      mask: bool[n]

    Returns:
      (int32[size], with 0 for those there are not; bool[size])
    """
    n = mask.type.shape[0]
    places = move.iota(shape=(size,), dtype=dtypes.int32, axis=0)
    if n == 0:
        return elementwise.mul(places, np.int32(0)), elementwise.lt(places, np.int32(0))
    seen = cumulative.cumsum(retype(mask, dtypes.int32), axis=0, reverse=False)
    # Element i goes to the place of its number among those that hold; the others go out of bounds.
    target = elementwise.select_n(mask, np.int32(size), elementwise.sub(seen, np.int32(1)))
    zeros = move.broadcast_in_dim(np.int32(0), shape=(size,), dims=())
    found = scatter.scatter(zeros, move.reshape(target, shape=(n, 1)),
                            move.iota(shape=(n,), dtype=dtypes.int32, axis=0), dims=ScatterDims((), (0,), (0,)),
                            mode=GatherScatterMode.FILL_OR_DROP, unique=False, sorted=False)
    total = reduce.reduce_max(seen, axes=(0,))
    return found, elementwise.lt(places, total)


def filled(index: np.ndarray, size: int | None, fill: int = 0) -> np.ndarray:
    """Known positions, cut off at `size` or filled up to it."""
    if size is None:
        return index
    return np.concatenate([index[:size], np.full(max(size - index.size, 0), fill, index.dtype)])


def _fills(fill_value: Any, ndim: int) -> list[Any]:
    if fill_value is None:
        return [0] * ndim
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != ndim:
            raise errors.value_error(f"fill_value has {len(fill_value)} numbers, the array has "
                                     f"{move.count(ndim, 'axis', 'axes')}", fix="give one per axis, or one for all")
        return list(fill_value)
    return [fill_value] * ndim


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The positions of the elements that are not zero, in order.

    Args:
      a: any[...], with at least one axis.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced arrays.
      fill_value: what to fill up with: a number, or one for each axis; None: 0.

    Returns:
      an int[k] for each axis.

    Raises:
      ConcretizationTypeError: for a traced array and no size. ValueError: for an array without axes.

    Example:
      >>> [i.tolist() for i in jnp.nonzero(jnp.array([0, 3, 4]))]
      [[1, 2]]
    """
    x = array(a)
    shape = x.type.shape
    if not shape:
        raise errors.value_error(f"got {x.type}, an array with at least one axis is required",
                                 fix="pass jnp.atleast_1d(x)")
    count = checked_size(size)
    fills = [retype(operand(f), index_dtype()) for f in _fills(fill_value, len(shape))]
    if is_known(x) or count is None:
        numbers = known(x, "the number of elements that are not zero", _SIZE)
        found = np.nonzero(numbers)
        missing = 0 if count is None else count - len(found[0])
        columns: list[Any] = [from_numpy(filled(c.astype(index_dtype()), count)) for c in found]
        valid = np.arange(count or 0) < len(found[0])
        if missing <= 0 or fill_value is None:
            return tuple(columns)
        exists: Any = from_numpy(valid)
    else:
        flat, exists = front(ravel(truth(x)), count)
        columns = []
        for axis in range(len(shape) - 1, -1, -1):
            n = np.int32(max(shape[axis], 1))
            columns.insert(0, retype(elementwise.rem(flat, n) if axis else flat, index_dtype()))
            flat = elementwise.div(flat, n) if axis else flat
        if fill_value is None:
            return tuple(columns)
    return tuple([elementwise.select_n(exists, f, c) for f, c in zip(fills, columns)])


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The positions in the flattened array of the elements that are not zero; see nonzero.

    Example:
      >>> jnp.flatnonzero(jnp.array([0, 5, 6]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The positions of the elements that are not zero, one per row: int[k, ndim]; see nonzero.

    Example:
      >>> jnp.argwhere(jnp.array([0, 5, 6]))
      Array([[1],
             [2]], dtype=int32)
    """
    x = array(a)
    ndim = x.type.ndim
    columns = nonzero(x if ndim else move.reshape(x, shape=(1,)), size=size, fill_value=fill_value)
    count = columns[0].type.shape[0]
    if not ndim:
        return move.broadcast_in_dim(index_dtype().type(0), shape=(count, 0), dims=())
    rows = [move.reshape(column, shape=(count, 1)) for column in columns]
    return rows[0] if ndim == 1 else move.concatenate(*rows, axis=1)


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements of the flattened array where `condition` is not zero; see compress.

    Example:
      >>> jnp.extract(jnp.array([True, False, True]), jnp.arange(3))
      Array([0, 2], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None,
             fill_value: ArrayLike = 0, out: None = None) -> Array:
    """The elements along an axis where `condition` is not zero.

    Args:
      condition: any[m]; elements beyond it are left out, elements of it beyond the axis must be zero.
      a: any[...]
      axis: None: of the flattened array.
      size: how many to return: the first ones, filled up where there are fewer. Required for traced
        conditions.
      fill_value: a number to fill up with.

    Raises:
      ConcretizationTypeError: for a traced condition and no size. ValueError: if the condition has not one
        axis, or holds beyond the axis.

    Example:
      >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(3))
      Array([0, 2], dtype=int32)
    """
    no_out(out)
    mask = array(condition)
    x = array(a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = one_axis(axis, x.type.ndim)
    if mask.type.ndim != 1:
        raise errors.value_error(f"condition is {mask.type}, one axis is required", fix="use extract, or x[condition]")
    n, count = x.type.shape[axis], checked_size(size)
    fill = retype(operand(fill_value), x.type.dtype, x.type.weak)
    if is_known(mask) or count is None:
        index = np.flatnonzero(known(mask, "the number of elements to take", _SIZE))
        if index.size and index[-1] >= n:
            raise errors.value_error(f"condition holds at {index[-1]}, axis {axis} of {x.type} has size {n}",
                                     fix="cut the condition off")
        if count is None or count <= index.size:
            return rearranged(x, index[:count], axis)
        shape = (*x.type.shape[:axis], count - index.size, *x.type.shape[axis + 1:])
        rest = move.broadcast_in_dim(fill, shape=shape, dims=())
        return move.concatenate(rearranged(x, index, axis), rest, axis=axis)
    places, exists = front(truth(mask), count)
    if n == 0:
        return move.broadcast_in_dim(fill, shape=(*x.type.shape[:axis], count, *x.type.shape[axis + 1:]), dims=())
    found = picked(x, elementwise.min(places, np.int32(n - 1)), axis)
    exists = move.broadcast_in_dim(exists, shape=found.type.shape, dims=(axis,))
    return elementwise.select_n(exists, fill, found)


def choose(a: ArrayLike, choices: Array | np.ndarray | Sequence[ArrayLike], out: None = None, mode: str = "raise"
           ) -> Array:
    """For each element the one at its place in the choice of this number.

    Args:
      a: int[...], numbers of choices.
      choices: arrays that broadcast with `a`, or an array, taken as its elements along its first axis.
      mode: what numbers out of range mean: 'raise' (known `a` only), 'clip' to the first or last choice, or
        'wrap'.

    Raises:
      ValueError: for a number out of range with mode 'raise', an unknown mode, no choices. TypeError: if `a`
        holds no integers. ConcretizationTypeError: for a traced `a` with mode 'raise'.

    Example:
      >>> jnp.choose(jnp.array([0, 1]), [jnp.array([1, 2]), jnp.array([10, 20])])
      Array([ 1, 20], dtype=int32)
    """
    no_out(out)
    which = array(a)
    if not dtypes.is_integer(which.type.dtype):
        raise errors.make(errors.OperandError, f"a is {which.type}, integers are required",
                          fix="convert it with astype(int)")
    if mode not in ("raise", "clip", "wrap"):
        raise errors.value_error(f"mode is {mode!r}, 'raise', 'clip' or 'wrap' is required", fix="check the spelling")
    if isinstance(choices, (Array, np.ndarray)):
        whole = array(choices)
        sizes = whole.type.shape
        cases = [move.reshape(rearranged(whole, np.array([i]), 0), shape=sizes[1:]) for i in range(sizes[0])]
    else:
        cases = [as_array(case) for case in promoted(*choices)] if len(choices) else []
    count = len(cases)
    if not count:
        raise errors.value_error("got no choices, at least one is required", fix="pass a sequence of arrays")
    if mode == "raise":
        numbers = known(which, "the check of its numbers", "pass mode='clip' or mode='wrap'")
        wrong = numbers[(numbers < 0) | (numbers >= count)]
        if wrong.size:
            raise errors.value_error(f"a has the number {wrong.flat[0]}, there are {move.count(count, 'choice')}",
                                     fix=f"use numbers from 0 to {count - 1}, or mode='clip' or 'wrap'")
    elif mode == "wrap":
        which = elementwise.rem(which, like(which, count))
        if dtypes.kind(which.type.dtype) == "i":
            negative = elementwise.lt(which, like(which, 0))
            which = elementwise.select_n(negative, which, elementwise.add(which, like(which, count)))
    if which.type.dtype not in (dtypes.int32, dtypes.uint32):
        if dtypes.itemsize_bits(which.type.dtype) > 32:
            which = elementwise.min(elementwise.max(which, like(which, 0)), like(which, count - 1))
        which = retype(which, dtypes.int32)
    shape = promotion.broadcast_shapes([which.type.shape, *[case.type.shape for case in cases]])
    cases = [case if not case.type.shape else promotion.broadcast_to(case, shape) for case in cases]
    result = elementwise.select_n(promotion.broadcast_to(which, shape), *cases)
    return retype(result, type_of(result).dtype)
