"""Functions that change the shape of arrays or the order of their axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    converted,
    integer,
    is_known,
    known,
    like,
    one_axis,
    part,
    requested,
    several_axes,
)
from pullback.numpy.promotion import operand
from pullback.ops import elementwise, index, move
from pullback.ops.move import as_shape
from pullback.runtime.device import device_put

__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel",
    "reshape", "roll", "rollaxis", "rot90", "shape", "size", "squeeze", "swapaxes", "transpose",
]


def _reshaped(x: Any, sizes: tuple[int, ...]) -> Any:
    return x if x.type.shape == sizes else move.reshape(x, shape=sizes)


def _transposed(x: Any, perm: tuple[int, ...]) -> Any:
    return x if perm == tuple(range(len(perm))) else move.transpose(x, perm=perm)


def _sizes(given: Any, x: Any) -> tuple[int, ...]:
    """The shape asked of `reshape`, with a -1 in it replaced by the size that fits."""
    sizes = as_shape(given)
    if -1 not in sizes:
        return sizes
    if sizes.count(-1) > 1:
        raise errors.type_error(f"shape {sizes} has more than one -1; only one size can be computed from the others",
                                fix="give all sizes but one")
    others = -math.prod(sizes)
    size = x.type.size
    if others <= 0 or size % others:
        raise errors.make(
            errors.OperandError,
            f"cannot reshape {x.type}, which has {move.count(size, 'element')}, into shape {sizes}: "
            + (f"the given sizes multiply to {others}, which does not divide {size}" if others else
               "with a size of 0 any size would do for the -1"),
            fix="check the sizes" if others else "give the size in place of -1")
    return tuple([size // others if n == -1 else n for n in sizes])


def _check_order(order: Any, allowed: str) -> None:
    if order not in tuple(allowed):
        raise errors.make(errors.OperandError,
                          f"order is {order!r}, one of {', '.join(map(repr, allowed))} is required",
                          fix="'C' reads and writes the last axis fastest, 'F' the first")


def reshape(a: ArrayLike, shape: Any, order: str = "C", *, copy: bool | None = None,
            out_sharding: Any = None) -> Array:
    """The same elements in another shape.

    Args:
      a: any[...]
      shape: an int or a sequence of ints; one of them may be -1, which is computed from the others.
      order: 'C' takes elements with the last axis fastest, 'F' with the first; 'A' is 'C', the order of all
        arrays.
      copy: of no effect: arrays are immutable.
      out_sharding: a sharding of the result.

    Raises:
      TypeError: if the shapes differ in their number of elements.

    Example:
      >>> jnp.reshape(jnp.arange(6), (2, -1)).shape
      (2, 3)
    """
    x = array(a)
    sizes = _sizes(shape, x)
    _check_order(order, "CFA")
    if order == "F":
        x = _reshaped(_reversed_axes(x), sizes[::-1])
        return placed(_reversed_axes(x), out_sharding)
    return placed(_reshaped(x, sizes), out_sharding)


def _reversed_axes(x: Any) -> Any:
    return _transposed(x, tuple(range(x.type.ndim))[::-1])


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """The elements along one axis.

    Args:
      a: any[...]
      order: 'C' takes elements with the last axis fastest, 'F' with the first; 'A' and 'K' are 'C' for all
        arrays.

    Returns:
      any[n]

    Example:
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
      Array([1, 2, 3, 4], dtype=int32)
    """
    x = array(a)
    _check_order(order, "CFAK")
    if order == "F":
        x = _reversed_axes(x)
    return placed(_reshaped(x, (x.type.size,)), out_sharding)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The array with its axes in another order.

    Args:
      a: any[...]
      axes: axis i of the result is axis axes[i] of `a`; None reverses the axes.

    Raises:
      TypeError: if `axes` does not name each axis once.

    Example:
      >>> jnp.transpose(jnp.ones((2, 3, 4))).shape
      (4, 3, 2)
    """
    x = array(a)
    if axes is None:
        return _reversed_axes(x)
    count = x.type.ndim
    perm = tuple([axis + count if axis < 0 else axis for axis in as_shape(axes, "axes")])
    return _transposed(x, perm) if len(perm) == count else move.transpose(x, perm=perm)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """The array with its axes in the order `axes`; see transpose.

    Example:
      >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
      (3, 2)
    """
    if axes is None:
        raise errors.type_error("axes is None, a sequence of ints is required", fix="transpose reverses all axes")
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The array with its last two axes exchanged.

    Raises:
      ValueError: if it has fewer than two axes.

    Example:
      >>> jnp.matrix_transpose(jnp.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    x = array(x)
    count = x.type.ndim
    if count < 2:
        raise errors.value_error(f"got {x.type}, an array with at least 2 axes is required",
                                 fix="add an axis with x[None, :] or x[:, None]")
    return move.transpose(x, perm=(*range(count - 2), count - 1, count - 2))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """The array with some axes at other places; the others keep their order.

    Args:
      a: any[...]
      source: the axes to move.
      destination: for each of them, its place in the result.

    Raises:
      ValueError: for an axis out of range or named twice, or unequal numbers of axes.

    Example:
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    x = array(a)
    count = x.type.ndim
    origin, goal = as_shape(source, "source"), as_shape(destination, "destination")
    if len(origin) != len(goal):
        raise errors.value_error(f"source {origin} names {len(origin)} axes, destination {goal} {len(goal)}",
                                 fix="give a destination for every source")
    origin, goal = several_axes(origin, count), several_axes(goal, count)
    perm = [axis for axis in range(count) if axis not in origin]
    for place, axis in sorted(zip(goal, origin)):
        perm.insert(place, axis)
    return _transposed(x, tuple(perm))


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """The array with two axes exchanged.

    Example:
      >>> jnp.swapaxes(jnp.ones((2, 3)), 0, 1).shape
      (3, 2)
    """
    x = array(a)
    perm = list(range(x.type.ndim))
    i, j = one_axis(axis1, len(perm)), one_axis(axis2, len(perm))
    perm[i], perm[j] = j, i
    return _transposed(x, tuple(perm))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """The array with `axis` moved before the axis `start`.

    Raises:
      ValueError: for an axis out of range.

    Example:
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    x = array(a)
    count = x.type.ndim
    axis, goal = one_axis(axis, count), integer(start, "start")
    if not -count <= goal <= count:
        raise errors.value_error(f"start is {goal}, from {-count} to {count} is required", fix="check the rank")
    goal = goal + count if goal < 0 else goal
    return moveaxis(x, axis, goal - 1 if axis < goal else goal)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """The array with new axes of size 1.

    Args:
      a: any[...]
      axis: the places of the new axes in the result.

    Raises:
      ValueError: if a place is out of range or given twice.

    Example:
      >>> jnp.expand_dims(jnp.arange(2), 0)
      Array([[0, 1]], dtype=int32)
    """
    x = array(a)
    places = as_shape(axis, "axis")
    sizes = list(x.type.shape)
    for place in sorted(several_axes(places, len(sizes) + len(places))):
        sizes.insert(place, 1)
    return _reshaped(x, tuple(sizes))


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """The array without axes of size 1.

    Args:
      a: any[...]
      axis: the axes to drop; None: all of size 1.

    Raises:
      ValueError: if one of the named axes has another size.

    Example:
      >>> jnp.squeeze(jnp.ones((1, 2))).shape
      (2,)
    """
    x = array(a)
    sizes = x.type.shape
    if axis is None:
        return _reshaped(x, tuple([n for n in sizes if n != 1]))
    axes = several_axes(as_shape(axis, "axis"), len(sizes))
    for i in axes:
        if sizes[i] != 1:
            raise errors.value_error(f"axis {i} of {x.type} has size {sizes[i]}; only axes of size 1 can be dropped",
                                     fix="name an axis of size 1, or index this one")
    return _reshaped(x, tuple([n for i, n in enumerate(sizes) if i not in axes]))


def broadcast_to(array: ArrayLike, shape: Any, *, out_sharding: Any = None) -> Array:
    """The array repeated to fill `shape`, by NumPy's rules.

    Args:
      array: any[...]
      shape: an int or a sequence of ints.

    Raises:
      ValueError: if a size differs and is not 1.

    Example:
      >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    x = promotion.as_array(operand(array))
    sizes = as_shape(shape)
    move.check_shape(sizes)
    return placed(promotion.broadcast_to(x, sizes), out_sharding)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """The arrays repeated to the shape they have in common.

    Raises:
      ValueError: if they have none.

    Example:
      >>> jnp.broadcast_arrays(jnp.arange(2), 5)
      (Array([0, 1], dtype=int32), Array([5, 5], dtype=int32, weak_type=True))
    """
    xs = [array(x) for x in args]
    sizes = promotion.broadcast_shapes([x.type.shape for x in xs])
    return tuple([promotion.broadcast_to(x, sizes) for x in xs])


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rules.

    Raises:
      ValueError: if two sizes of one axis differ and neither is 1.

    Example:
      >>> jnp.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    given = [as_shape(sizes) for sizes in shapes]
    if any([n < 0 for sizes in given for n in sizes]):
        raise errors.type_error(f"got the shapes {', '.join(map(str, given))}; sizes of 0 or more are required",
                                fix="give the sizes themselves")
    return promotion.broadcast_shapes(given)


def _at_least(arys: Sequence[ArrayLike], widen: Any) -> Any:
    results = []
    for x in arys:
        x = array(x)
        results.append(_reshaped(x, widen(x.type.shape)))
    return results[0] if len(results) == 1 else results


def one_or_more(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of atleast_1d."""
    return sizes or (1,)


def two_or_more(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of atleast_2d."""
    return (1,) * (2 - len(sizes)) + sizes


def three_or_more(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of atleast_3d: vectors run along the middle axis, matrices along the first two."""
    if len(sizes) < 2:
        return (1, *(sizes or (1,)), 1)
    return (*sizes, 1) if len(sizes) == 2 else sizes


def atleast_1d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with at least one axis; a single one comes without its list.

    Example:
      >>> jnp.atleast_1d(1)
      Array([1], dtype=int32, weak_type=True)
    """
    return _at_least(arys, one_or_more)


def atleast_2d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with at least two axes, new ones in front; a single one comes without its list.

    Example:
      >>> jnp.atleast_2d(jnp.arange(2)).shape
      (1, 2)
    """
    return _at_least(arys, two_or_more)


def atleast_3d(*arys: ArrayLike) -> Array | list[Array]:
    """Arrays with at least three axes: any[n] becomes any[1, n, 1], any[m, n] becomes any[m, n, 1].

    Example:
      >>> jnp.atleast_3d(jnp.arange(2)).shape
      (1, 2, 1)
    """
    return _at_least(arys, three_or_more)


# -- what is known of an array without its numbers ----------------------------------------------------


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes.

    Example:
      >>> jnp.shape(jnp.ones((2, 3)))
      (2, 3)
    """
    return a.type.shape if isinstance(a, Array) else tuple(getattr(a, "shape", None) or np.shape(a))


def ndim(a: Any) -> int:
    """The number of axes.

    Example:
      >>> jnp.ndim(jnp.ones((2, 3)))
      2
    """
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements, or the product of the sizes of `axis`.

    Example:
      >>> jnp.size(jnp.ones((2, 3)))
      6
    """
    sizes = shape(a)
    return math.prod([sizes[i] for i in several_axes(axis, len(sizes))])


def astype(x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: Any = None) -> Array:
    """The elements in another dtype.

    Floats become integers towards zero and end at the limits of the dtype; complex numbers lose their
    imaginary part on the way to real ones; what is not zero is True.

    Args:
      x: any[...]
      dtype: None: the default float dtype.
      copy: of no effect: arrays are immutable.
      device: where to put the result.

    Example:
      >>> jnp.astype(jnp.array([1.7]), jnp.int32)
      Array([1], dtype=int32)
    """
    x = array(x)
    target = dtypes.canonicalize(dtypes.float64) if dtype is None else requested(dtype, "astype")
    if dtypes.is_bool(target) and dtypes.is_complex(x.type.dtype):
        result = elementwise.ne(x, like(x, 0))
    else:
        result = converted(x, target)
    return result if device is None else device_put(result, device)


# -- orders of elements -------------------------------------------------------------------------------


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """The elements in reverse order along `axis`: an axis, several, or (None) all.

    Example:
      >>> jnp.flip(jnp.arange(3))
      Array([2, 1, 0], dtype=int32)
    """
    x = array(m)
    axes = several_axes(axis, x.type.ndim)
    return move.rev(x, axes=axes) if axes else x


def flipud(m: ArrayLike) -> Array:
    """The elements in reverse order along the first axis.

    Example:
      >>> jnp.flipud(jnp.array([[1], [2]]))
      Array([[2],
             [1]], dtype=int32)
    """
    return flip(m, 0)


def fliplr(m: ArrayLike) -> Array:
    """The elements in reverse order along the second axis.

    Example:
      >>> jnp.fliplr(jnp.array([[1, 2]]))
      Array([[2, 1]], dtype=int32)
    """
    return flip(m, 1)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """The array turned by `k` quarters in the plane of two axes, from the first to the second.

    Raises:
      ValueError: unless two different axes are given.

    Example:
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    x = array(m)
    pair = several_axes(as_shape(axes, "axes"), x.type.ndim)
    if len(pair) != 2:
        raise errors.value_error(f"axes is {tuple(axes)}, two axes are required", fix="name the plane of the turn")
    first, second = pair
    turns = integer(k, "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return move.rev(x, axes=pair)
    return flip(swapaxes(x, first, second), first if turns == 1 else second)


def roll(a: ArrayLike, shift: Any, axis: int | Sequence[int] | None = None) -> Array:
    """The elements moved along an axis; those that leave at its end come back at its beginning.

    Args:
      a: any[...]
      shift: integers, one per axis or one for all; they may be traced.
      axis: an axis or several; an axis named twice moves twice. None rolls the elements as one long axis.

    Raises:
      TypeError: if a shift is no integer. ValueError: if shifts and axes differ in number.

    Example:
      >>> jnp.roll(jnp.arange(4), 1).tolist()
      [3, 0, 1, 2]
    """
    x = array(a)
    if axis is None:
        if x.type.ndim == 0:
            return x
        flat = _reshaped(x, (x.type.size,))
        moved = roll(flat, shift, 0)
        return x if moved is flat else _reshaped(moved, x.type.shape)
    axes = [one_axis(i, x.type.ndim) for i in as_shape(axis, "axis")]
    if not axes:
        return x
    shifts = list(shift) if isinstance(shift, (list, tuple)) else shift
    if isinstance(shifts, list) and not all([is_known(s) or not isinstance(s, Array) for s in shifts]):
        amounts: list[Any] = [array(s) for s in shifts]
    elif isinstance(shifts, Array) and not is_known(shifts):
        amounts = [_reshaped(part(shifts, 0, i, i + 1), ()) for i in range(shifts.type.size)] \
            if shifts.type.ndim else [shifts]
    else:
        numbers = np.asarray([known(s, "shift", "") for s in shifts] if isinstance(shifts, list) else
                             known(shifts, "shift", ""))
        amounts = [_check_shift(n) for n in numbers.reshape(-1)]
    if len(amounts) != len(axes):
        if 1 not in (len(amounts), len(axes)):
            raise errors.value_error(
                f"got {len(amounts)} shifts and {len(axes)} axes, equal numbers or 1 are required",
                fix="give a shift per axis")
        count = max(len(amounts), len(axes))
        amounts, axes = amounts * (count // len(amounts)), axes * (count // len(axes))
    for amount, i in zip(amounts, axes):
        x = _rolled(x, amount, i)
    return x


def _check_shift(amount: Any) -> int:
    if not isinstance(amount, (int, np.integer)):
        raise errors.type_error(f"shift is {amount!r}, an integer is required", fix="round it: int(shift)")
    return int(amount)


def _rolled(x: Any, amount: Any, axis: int) -> Any:
    n = x.type.shape[axis]
    if n == 0:
        return x
    if isinstance(amount, int):
        amount %= n
        return move.concatenate(part(x, axis, n - amount, n), part(x, axis, 0, n - amount), axis=axis) if amount else x
    t = type_of(amount)
    if not dtypes.is_integer(t.dtype) or t.shape:
        raise errors.type_error(f"a shift is {t}, an integer scalar is required", fix="convert it with astype(int)")
    # In a dtype that can hold the size of the axis.
    amount = retype(amount, np.promote_types(t.dtype, dtypes.int32) if dtypes.kind(t.dtype) == "i" else
                    dtypes.canonicalize(dtypes.int64))
    left = elementwise.rem(amount, like(amount, n))
    negative = elementwise.lt(left, like(left, 0))
    left = elementwise.select_n(negative, left, elementwise.add(left, like(left, n)))
    start = elementwise.sub(like(left, n), left)
    zero = like(start, 0)
    starts = [start if i == axis else zero for i in range(x.type.ndim)]
    return index.dynamic_slice(move.concatenate(x, x, axis=axis), *starts, sizes=x.type.shape)
