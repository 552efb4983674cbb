"""Functions that insert elements into arrays, take them out or replace them: insert, delete, place, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import (
    ArrayLike,
    array,
    converted,
    is_known,
    known,
    one_axis,
    part,
    picked,
    positions,
    rearranged,
    several_axes,
)
from pullback.numpy.cumulative import cumsum
from pullback.numpy.indexing import AtIndex
from pullback.numpy.logic import truth
from pullback.numpy.promotion import operand
from pullback.numpy.shape import moveaxis, ravel
from pullback.numpy.taking import not_in_place
from pullback.ops import elementwise, move, scatter
from pullback.ops.index import GatherScatterMode, ScatterDims
from pullback.ops.sort import sort

__all__ = ["delete", "fill_diagonal", "insert", "place", "trim_zeros"]


def _flattened(arr: ArrayLike, axis: int | None) -> tuple[Any, int]:
    """The array and the axis to work along; None: its elements along one."""
    x = array(arr)
    if axis is None:
        return ravel(x), 0
    return x, one_axis(axis, x.type.ndim)


def _outside(numbers: np.ndarray, n: int, last: int) -> None:
    """An IndexError unless numbers are from -n to `last`."""
    wrong = numbers[(numbers < -n) | (numbers > last)]
    if wrong.size:
        raise errors.make(IndexError, f"position {wrong.flat[0]} is out of bounds for an axis of size {n}",
                          fix=f"use positions from {-n} to {last}" if last >= -n else "the axis is empty")


def _from_start(places: Any, n: int) -> Any:
    """Traced positions, as int32, with negative ones counted from the end."""
    places = retype(places, dtypes.int32)
    negative = elementwise.lt(places, np.int32(0))
    return elementwise.select_n(negative, places, elementwise.add(places, np.int32(n)))


def insert(arr: ArrayLike, obj: ArrayLike | slice, values: ArrayLike, axis: int | None = None) -> Array:
    """The array with values inserted before given positions.

    Args:
      arr: any[...]
      obj: positions in `arr`: an integer, integers[k], or a slice; they may be traced.
      values: what to insert, brought to the dtype of `arr`; it broadcasts to `arr` with size k along `axis`.
        At a single position any number of values along `axis` goes in.
      axis: None: `arr` is flattened first.

    Raises:
      IndexError: for a known position out of bounds. TypeError: if positions are no integers.

    Example:
      >>> jnp.insert(jnp.arange(3), 1, 9).tolist()
      [0, 9, 1, 2]
    """
    x, axis = _flattened(arr, axis)
    n, ndim = x.type.shape[axis], x.type.ndim
    places = positions(np.arange(n)[obj]) if isinstance(obj, slice) else operand(obj)
    t = type_of(places)
    if not dtypes.is_integer(t.dtype) and t.size:
        raise errors.make(errors.OperandError, f"the positions are {t}, integers are required",
                          fix="convert a mask with jnp.flatnonzero(mask), floats with astype(int)")
    if t.ndim > 1:
        raise errors.value_error(f"the positions are {t}, an integer or one axis of them is required",
                                 fix="flatten them with ravel")
    new = retype(converted(operand(values), x.type.dtype), x.type.dtype, x.type.weak)
    given = type_of(new).shape
    if given:
        new = move.reshape(new, shape=(1,) * (ndim - len(given)) + given) if len(given) < ndim else new
        new = moveaxis(new, 0, axis) if t.ndim == 0 else new
    count = new.type.shape[axis] if given and t.size == 1 else t.size
    new = promotion.broadcast_to(new, (*x.type.shape[:axis], count, *x.type.shape[axis + 1:]))
    if not isinstance(places, Array) or is_known(places):
        numbers = known(places, "", "").reshape(-1).astype(np.int64)
        _outside(numbers, n, n)
        numbers = np.where(numbers < 0, numbers + n, numbers)
        if numbers.size == 1:
            i = int(numbers[0])
            return move.concatenate(part(x, axis, 0, i), new, part(x, axis, i, n), axis=axis)
        order = np.argsort(np.concatenate([2 * np.arange(n) + 1, 2 * numbers]), kind="stable")
        return rearranged(move.concatenate(x, new, axis=axis), order, axis)
    places = move.reshape(_from_start(places, n), shape=(t.size,))
    if t.size != count:
        places = move.broadcast_in_dim(move.reshape(places, shape=()), shape=(count,), dims=())
    # Element i has the key 2 i + 1, what goes before it 2 i: in their order stands the result.
    keys = move.concatenate(positions(2 * np.arange(n) + 1), elementwise.mul(places, np.int32(2)), axis=0)
    order = sort(keys, move.iota(shape=(n + count,), dtype=dtypes.int32, axis=0), axis=0, stable=True, keys=1)[1]
    return picked(move.concatenate(x, new, axis=axis), order, axis)


def delete(arr: ArrayLike, obj: ArrayLike | slice, axis: int | None = None, *,
           assume_unique_indices: bool = False) -> Array:
    """The array without the elements at given positions.

    Args:
      arr: any[...]
      obj: the positions: an integer, integers, a slice, or a mask as long as the axis.
      axis: None: `arr` is flattened first.
      assume_unique_indices: the positions are distinct, so that how many go is known while they are traced.

    Raises:
      ConcretizationTypeError: if several positions are traced and not assumed distinct.
      IndexError: for a known position out of bounds. TypeError: if they are neither integers nor a mask.

    Example:
      >>> jnp.delete(jnp.arange(4), 1).tolist()
      [0, 2, 3]
    """
    x, axis = _flattened(arr, axis)
    n = x.type.shape[axis]
    places = positions(np.arange(n)[obj]) if isinstance(obj, slice) else operand(obj)
    t = type_of(places)
    if not dtypes.is_integer(t.dtype) and not dtypes.is_bool(t.dtype):
        raise errors.make(errors.OperandError, f"the positions are {t}, integers or a mask are required",
                          fix="convert them with astype(int)")
    if dtypes.is_bool(t.dtype) and t.shape != (n,):
        raise errors.value_error(f"the mask is {t}, the axis has size {n}", fix="give a value for each element")
    traced = isinstance(places, Array) and not is_known(places)
    if traced and not dtypes.is_bool(t.dtype) and (assume_unique_indices or t.size == 1):
        return _deleted_traced(x, places, axis)
    numbers = known(places, "the positions of elements to delete",
                    "mark them static; or give distinct integers and assume_unique_indices=True")
    if not dtypes.is_bool(t.dtype):
        _outside(numbers, n, n - 1)
    return rearranged(x, np.delete(np.arange(n), numbers), axis)


def _deleted_traced(x: Any, places: Any, axis: int) -> Any:
    n, count = x.type.shape[axis], places.type.size
    places = move.reshape(_from_start(places, n), shape=(count, 1))
    zeros = move.broadcast_in_dim(np.int32(0), shape=(n,), dims=())
    ones = move.broadcast_in_dim(np.int32(1), shape=(count,), dims=())
    gone = scatter.scatter(zeros, places, ones, dims=ScatterDims((), (0,), (0,)),
                           mode=GatherScatterMode.FILL_OR_DROP, unique=False, sorted=False)
    order = sort(gone, move.iota(shape=(n,), dtype=dtypes.int32, axis=0), axis=0, stable=True, keys=1)[1]
    return picked(x, part(order, 0, 0, max(n - count, 0)), axis)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """The array without the zeros at its ends.

    Args:
      filt: any[...]; its numbers must be known.
      trim: 'f' for the front, 'b' for the back, or both.
      axis: the axes to trim, along which slices of zeros go; None: all.

    Raises:
      ConcretizationTypeError: if `filt` is traced.

    Example:
      >>> jnp.trim_zeros(jnp.array([0, 1, 0, 2, 0]))
      Array([1, 0, 2], dtype=int32)
    """
    x = array(filt)
    sides = trim.lower()
    if not sides or set(sides) - set("fb"):
        raise errors.value_error(f"trim is {trim!r}, 'f', 'b' or 'fb' is required", fix="name the ends to trim")
    nonzero = known(x, "where the zeros are", "trim outside the transformed function") != 0
    for i in several_axes(axis, x.type.ndim):
        found = np.flatnonzero(nonzero.any(tuple([j for j in range(nonzero.ndim) if j != i])))
        first, last = (int(found[0]), int(found[-1]) + 1) if found.size else (0, 0)
        x = part(x, i, first if "f" in sides else 0, last if "b" in sides or not found.size else nonzero.shape[i])
    return x


# -- copies with other elements -----------------------------------------------------------------------


def _values(vals: ArrayLike) -> Any:
    """Values to write, along one axis; at least one."""
    values = ravel(array(vals))
    if not values.type.size:
        raise errors.value_error("got no values, at least one is required", fix="check how the values are made")
    return values


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """A copy of `a` with values on its main diagonal.

    Args:
      a: any[n, m], or any[n, n, ..., n]
      val: the values, repeated as often as needed; of a richer dtype than `a`, they are converted with a warning.
      wrap: whether the diagonal of a matrix of more rows than columns starts again below its end, one row free.
      inplace: must be False: arrays are immutable, the copy is the result.

    Raises:
      ValueError: if inplace is not False, `a` has no such diagonal, or there are no values.

    Example:
      >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5, inplace=False)
      Array([[5., 0.],
             [0., 5.]], dtype=float32)
    """
    not_in_place(inplace)
    x = array(a)
    shape = x.type.shape
    if len(shape) < 2 or len(shape) > 2 and len(set(shape)) > 1:
        raise errors.value_error(f"got an array of shape {shape}, a matrix or axes of one size are required",
                                 fix="fill the diagonals of its matrices with vmap")
    values = _values(val)
    step = 1 + sum(math.prod(shape[i + 1:]) for i in range(len(shape) - 1))
    end = shape[1] * shape[1] if len(shape) == 2 and not wrap else x.type.size
    places = np.arange(0, min(end, x.type.size), step)
    chosen = rearranged(values, np.arange(places.size) % values.type.size, 0)
    return move.reshape(AtIndex(ravel(x), places).set(chosen), shape=shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """A copy of `arr` with the first values where a mask holds, one after the other.

    Args:
      arr: any[...]
      mask: of as many elements; other numbers than 0 count as True.
      vals: the values, repeated as often as needed and converted to the dtype of `arr`.
      inplace: must be False: arrays are immutable, the copy is the result.

    Raises:
      ValueError: if inplace is not False, sizes differ, or there are no values.

    Example:
      >>> jnp.place(jnp.arange(4), jnp.array([1, 0, 1, 1]), jnp.array([7, 8]), inplace=False)
      Array([7, 1, 8, 7], dtype=int32)
    """
    not_in_place(inplace)
    x, chosen = array(arr), truth(array(mask))
    if chosen.type.size != x.type.size:
        raise errors.value_error(f"the array is {x.type} and the mask {chosen.type}, equal numbers of elements are "
                                 "required", fix="broadcast the mask")
    values = converted(_values(vals), x.type.dtype)
    chosen = move.reshape(chosen, shape=x.type.shape)
    number = elementwise.sub(retype(cumsum(ravel(chosen)), dtypes.int32), np.int32(1))
    index = elementwise.rem(elementwise.max(number, np.int32(0)), np.int32(values.type.size))
    found = move.reshape(picked(values, index, 0), shape=x.type.shape)
    return elementwise.select_n(chosen, x, found)
