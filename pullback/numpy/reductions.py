"""Reductions along axes: sums, products, extremes, means, variances, truth, positions of extremes.

Sums of booleans and narrow integers are held in the default integer dtype, those of float16 and bfloat16 in
float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    converted,
    kept,
    like,
    no_out,
    one_axis,
    requested,
    several_axes,
)
from pullback.ops import elementwise, move, reduce
from pullback.ops.reduce import highest, lowest

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "max", "mean", "min", "minmax",
    "prod", "ptp", "std", "sum", "var",
]

Axis = int | Sequence[int] | None


# -- parts that reductions share ----------------------------------------------------------------------


def mask(where: ArrayLike, shape: tuple[int, ...]) -> Any:
    """`where` as a bool of `shape`, or a bool scalar."""
    held = where if is_scalar(where) else array(where)
    dtype = dtypes.bool_ if type(held) is bool else held.dtype
    if dtype != dtypes.bool_:
        raise errors.value_error(f"where has dtype {dtypes.short_name(dtype)}, bool is required",
                                 fix="compare it: where=mask != 0")
    if isinstance(held, Array) and held.type.shape:
        return promotion.broadcast_to(held, shape)
    return held if isinstance(held, Array) else array(held)


def only(x: Any, where: ArrayLike | None, number: Any) -> Any:
    """`x` with `number` in place of the elements that `where` leaves out."""
    if where is None:
        return x
    return elementwise.select_n(mask(where, x.type.shape), like(x, number), x)


def with_initial(out: Any, initial: ArrayLike | None, combine: Callable[[Any, Any], Any]) -> Any:
    """The result combined with `initial`, where one is given."""
    if initial is None:
        return out
    start = promotion.operand(initial)
    if type_of(start).shape:
        raise errors.value_error(f"initial is {type_of(start)}, a scalar is required",
                                 fix="reduce it, or add it afterwards")
    return combine(converted(start, out.type.dtype), out)


def summed_dtype(dtype: Any, promote_integers: bool = True) -> Any:
    """The dtype of sums and products of elements of `dtype`."""
    kind = dtypes.kind(dtype)
    if kind == "key":
        raise errors.type_error(f"PRNG keys ({dtypes.short_name(dtype)}) cannot be added or multiplied",
                                fix="random.key_data(key) gives their words")
    if kind in "biu":
        default = dtypes.canonicalize(dtypes.uint64 if kind == "u" else dtypes.int64)
        if kind == "b" or promote_integers and dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default):
            return default
    return dtype


def wide_dtype(dtype: Any) -> Any:
    """The float or complex dtype in which means of `dtype` are computed."""
    return dtypes.float32 if dtypes.kind(dtype) == "f" and dtype.itemsize < 4 else dtypes.to_inexact(dtype)


def reduced_count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    return math.prod([shape[i] for i in axes])


def _summed(a: ArrayLike, axis: Axis, dtype: DTypeLike, keepdims: bool, initial: Any, where: Any, promote: bool,
            operation: Any, neutral: int, combine: Any, truth: Any, name: str) -> Any:
    x = array(a)
    axes = several_axes(axis, x.type.ndim)
    target = requested(dtype, name) or summed_dtype(x.type.dtype, promote)
    x = converted(x, target)
    operation = truth if dtypes.is_bool(target) else operation
    out = operation(only(x, where, neutral), axes=axes) if axes else only(x, where, neutral)
    out = with_initial(kept(out, x.type.shape, axes) if keepdims else out, initial, combine)
    return out


# -- sums and products --------------------------------------------------------------------------------


def sum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False,
        initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True) -> Array:
    """The sum of the elements along axes.

    Args:
      a: any[...]
      axis: an axis or several; None: all.
      dtype: of the sum; None: that of `a`, or the default integer dtype for booleans and narrower integers.
      keepdims: keep the reduced axes, with size 1.
      initial: a scalar to begin with.
      where: bool[...], broadcast to `a`: the elements to take.
      promote_integers: False: keep narrow integers.

    Raises:
      ValueError: for an axis out of range or named twice.

    Example:
      >>> jnp.sum(jnp.ones((2, 3)), axis=1).tolist()
      [3.0, 3.0]
    """
    no_out(out)
    return _summed(a, axis, dtype, keepdims, initial, where, promote_integers, reduce.reduce_sum, 0, _added,
                   reduce.reduce_or, "sum")


def prod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False,
         initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True) -> Array:
    """The product of the elements along axes; arguments as for sum.

    The derivative is right where elements are zero.

    Example:
      >>> jnp.prod(jnp.array([2, 3, 4])).item()
      24
    """
    no_out(out)
    return _summed(a, axis, dtype, keepdims, initial, where, promote_integers, reduce.reduce_prod, 1, _multiplied,
                   reduce.reduce_and, "prod")


def _added(x: Any, y: Any) -> Any:
    return elementwise.max(x, y) if dtypes.is_bool(y.type.dtype) else elementwise.add(x, y)


def _multiplied(x: Any, y: Any) -> Any:
    return elementwise.min(x, y) if dtypes.is_bool(y.type.dtype) else elementwise.mul(x, y)


def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements along axes are not zero.

    Example:
      >>> jnp.count_nonzero(jnp.array([0, 1, 2])).item()
      2
    """
    x = array(a)
    return sum(elementwise.ne(x, like(x, 0)), axis, keepdims=keepdims)


# -- extremes -----------------------------------------------------------------------------------------


def extreme(a: ArrayLike, axis: Axis, keepdims: bool, initial: Any, where: Any, operation: Any, combine: Any,
            neutral: Callable[[Any], Any]) -> Any:
    """What `max` and `min` share: a reduction by `operation`, to which `combine` adds the initial value."""
    x = array(a)
    axes = several_axes(axis, x.type.ndim)
    shape = x.type.shape
    if initial is None:
        if where is not None:
            raise errors.value_error("where is given and initial is not: there may be no element to take",
                                     fix="pass initial, the result for no elements")
        if 0 in [shape[i] for i in axes]:
            raise errors.value_error(f"{x.type} has no elements along axis {axis}, an extreme needs one"
                                     if axis is not None else f"{x.type} has no elements, an extreme needs one",
                                     fix="pass initial, the result for no elements")
    x = retype(x, x.type.dtype)
    x = only(x, where, neutral(x.type.dtype))
    out = operation(x, axes=axes) if axes else x
    return with_initial(kept(out, shape, axes) if keepdims else out, initial, combine)


def max(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Array:
    """The largest element along axes; NaN if there is one.

    Args:
      a: any[...]
      axis: an axis or several; None: all.
      keepdims: keep the reduced axes, with size 1.
      initial: a scalar that counts as a further element.
      where: bool[...], broadcast to `a`: the elements to take; needs `initial`.

    Raises:
      ValueError: if there are no elements and no `initial`; for an axis out of range.

    Not smooth where several elements are largest: there the derivative is shared equally among them.

    Example:
      >>> jnp.max(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([3, 4], dtype=int32)
    """
    no_out(out)
    return extreme(a, axis, keepdims, initial, where, reduce.reduce_max, elementwise.max, lowest)


def min(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Array:
    """The smallest element along axes; as max.

    Example:
      >>> jnp.min(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([1, 2], dtype=int32)
    """
    no_out(out)
    return extreme(a, axis, keepdims, initial, where, reduce.reduce_min, elementwise.min, highest)


def amax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
         where: ArrayLike | None = None) -> Array:
    """The largest element along axes; the same as max.

    Example:
      >>> jnp.amax(jnp.array([1, 3])).item()
      3
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
         where: ArrayLike | None = None) -> Array:
    """The smallest element along axes; the same as min.

    Example:
      >>> jnp.amin(jnp.array([1, 3])).item()
      1
    """
    return min(a, axis, out, keepdims, initial, where)


def minmax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None, where: ArrayLike | None = None
           ) -> tuple[Array, Array]:
    """The smallest and the largest element along axes; as min and max. `initial` may be a pair, one for each.

    Example:
      >>> jnp.minmax(jnp.array([3, 1, 2]))
      (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    both = initial if isinstance(initial, (tuple, list)) else (initial, initial)
    if len(both) != 2:
        raise errors.value_error(f"initial has {len(both)} numbers, one or two are required", fix="pass (low, high)")
    low, high = both
    return min(a, axis, out, keepdims, low, where), max(a, axis, out, keepdims, high, where)


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The largest minus the smallest element along axes.

    Example:
      >>> jnp.ptp(jnp.array([2, 7, 4])).item()
      5
    """
    return elementwise.sub(max(a, axis, out, keepdims), min(a, axis, out, keepdims))


def _position(a: ArrayLike, axis: int | None, out: None, keepdims: bool | None, operation: Any) -> Any:
    no_out(out)
    x = array(a)
    shape = x.type.shape
    if axis is None:
        x, place, axes = move.reshape(x, shape=(x.type.size,)), 0, tuple(range(len(shape)))
    else:
        place = one_axis(axis, len(shape))
        axes = (place,)
    if x.type.shape[place] == 0:
        raise errors.value_error(f"an array of shape {shape} has no elements along axis {axis}; a position needs one"
                                 if axis is not None else f"an array of shape {shape} has no elements; a position "
                                 "needs one", fix="check for an empty array first")
    result = operation(x, axis=place, dtype=dtypes.canonicalize(dtypes.int64))
    return kept(result, shape, axes) if keepdims else result


def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the largest element along an axis: of the first NaN, else of the first among equal ones.

    Args:
      a: real[...]
      axis: None: the position in the flattened array.
      keepdims: keep the reduced axes, with size 1.

    Raises:
      ValueError: if there are no elements, or for an axis out of range. TypeError: for complex numbers.

    Example:
      >>> jnp.argmax(jnp.array([1, 5, 3])).item()
      1
    """
    return _position(a, axis, out, keepdims, reduce.argmax)


def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the smallest element along an axis; as argmax.

    Example:
      >>> jnp.argmin(jnp.array([4, 1, 3])).item()
      1
    """
    return _position(a, axis, out, keepdims, reduce.argmin)


# -- truth --------------------------------------------------------------------------------------------


def truth(x: Any) -> Any:
    """Whether elements are not zero."""
    return x if dtypes.is_bool(x.type.dtype) else elementwise.ne(x, like(x, 0))


def _truths(a: ArrayLike, axis: Axis, out: None, keepdims: bool, where: Any, operation: Any, neutral: bool) -> Any:
    no_out(out)
    x = only(truth(array(a)), where, neutral)
    axes = several_axes(axis, x.type.ndim)
    result = operation(x, axes=axes) if axes else x
    return kept(result, x.type.shape, axes) if keepdims else result


def any(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Array:
    """Whether an element along axes is not zero; False where there is none.

    Example:
      >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    return _truths(a, axis, out, keepdims, where, reduce.reduce_or, False)


def all(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Array:
    """Whether all elements along axes are not zero; True where there are none.

    Example:
      >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    return _truths(a, axis, out, keepdims, where, reduce.reduce_and, True)


# -- means and variances ------------------------------------------------------------------------------


def counted(where: ArrayLike | None, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    """How many elements are averaged, in `dtype`: a scalar where it is known."""
    if where is None:
        return np.dtype(dtype).type(reduced_count(shape, axes))
    taken = promotion.broadcast_to(mask(where, shape), shape)
    return retype(sum(taken, axes, keepdims=keepdims), dtype)


def _mean(x: Any, axes: tuple[int, ...], held: Any, keepdims: bool, where: Any) -> Any:
    """The mean in the dtype `held`."""
    count = counted(where, x.type.shape, axes, keepdims, held)
    return elementwise.div(sum(x, axes, held, keepdims=keepdims, where=where), count)


def mean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False,
         *, where: ArrayLike | None = None) -> Array:
    """The mean of the elements along axes.

    Args:
      a: any[...]
      axis: an axis or several; None: all.
      dtype: of the mean; None: that of `a`, or the float dtype for integers and booleans.
      keepdims: keep the reduced axes, with size 1.
      where: bool[...], broadcast to `a`: the elements to take.

    Returns:
      NaN where there are no elements.

    Example:
      >>> jnp.mean(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    no_out(out)
    x = array(a)
    target = requested(dtype, "mean") or dtypes.to_inexact(x.type.dtype)
    x = converted(x, target) if dtypes.is_complex(x.type.dtype) else x
    if dtypes.is_bool(target):
        raise errors.type_error("dtype is bool, a dtype of numbers is required", fix="pass a float dtype")
    held = wide_dtype(target) if dtypes.is_float(target) else target
    return retype(_mean(x, several_axes(axis, x.type.ndim), held, keepdims, where), target)


def spread_dtypes(dtype: DTypeLike, given: Any, name: str) -> tuple[Any, Any]:
    """The dtypes in which a variance is computed, and of its result."""
    own = dtypes.to_inexact(given)
    wanted = requested(dtype, name)
    if wanted is None:
        return wide_dtype(own), dtypes.to_real(own)
    if dtypes.is_complex(own) and not dtypes.is_complex(wanted):
        raise errors.value_error(f"dtype is {dtypes.short_name(wanted)}, the array is complex; a complex dtype is "
                                 "required", fix="leave dtype out, or take the variance of real and imaginary parts")
    if not dtypes.is_inexact(wanted):
        raise errors.make(errors.OperandError,
                          f"dtype is {dtypes.short_name(wanted)}, a float or complex dtype is required",
                          fix="convert the result with astype")
    return (own if dtypes.is_complex(own) else wide_dtype(dtypes.to_real(wanted))), wanted


def squared(centered: Any) -> Any:
    """|x| ** 2."""
    if not dtypes.is_complex(centered.type.dtype):
        return elementwise.square(centered)
    return elementwise.add(elementwise.square(elementwise.real(centered)),
                           elementwise.square(elementwise.imag(centered)))


def var(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
        keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
        correction: int | float | None = None) -> Array:
    """The variance along axes: the mean of |x - mean(x)| ** 2.

    Args:
      a: any[...]
      axis: an axis or several; None: all.
      dtype: of the result, and at least of the computation.
      ddof: the sum is divided by the number of elements minus ddof.
      keepdims: keep the reduced axes, with size 1.
      where: bool[...], broadcast to `a`: the elements to take.
      mean: the mean, if it is at hand; with the reduced axes of size 1.
      correction: another name of ddof.

    Returns:
      NaN where the number of elements is not larger than ddof.

    Raises:
      ValueError: if ddof and correction are both given, or for a real dtype of complex numbers.

    Example:
      >>> jnp.var(jnp.array([1.0, 3.0]), ddof=1).item()
      2.0
    """
    no_out(out)
    x = array(a)
    axes = several_axes(axis, x.type.ndim)
    if correction is not None:
        if type(ddof) is not int or ddof != 0:
            raise errors.value_error(f"got ddof={ddof} and correction={correction}, which mean the same",
                                     fix="give one of them")
        ddof = correction  # type: ignore[assignment]
    held, target = spread_dtypes(dtype, x.type.dtype, "var")
    x = retype(x, held)
    if mean is None:
        center = _mean(x, axes, held, False, where)
        center = reduce.spread(center, x.type.shape, axes) if center.type.shape else center
    else:
        center = retype(promotion.operand(mean), held)
        center = promotion.broadcast_to(center, x.type.shape) if type_of(center).shape else center
    total = sum(squared(elementwise.sub(x, center)), axes, keepdims=keepdims, where=where)
    real = total.type.dtype
    count = counted(where, x.type.shape, axes, keepdims, real)
    if is_scalar(count) and is_scalar(ddof):
        divisor = real.type(count - ddof)
        result = elementwise.div(total, divisor if divisor > 0 else real.type(np.nan))
    else:
        divisor = elementwise.sub(count, retype(array(ddof), real))
        positive = elementwise.gt(divisor, like(divisor, 0))
        result = elementwise.select_n(positive, like(total, np.nan), elementwise.div(total, divisor))
    return retype(result, target)


def std(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
        keepdims: bool = False, *, where: ArrayLike | None = None, mean: ArrayLike | None = None,
        correction: int | float | None = None) -> Array:
    """The standard deviation along axes: the root of var, which has the same arguments.

    Not smooth where it is 0: the derivative is NaN there.

    Example:
      >>> jnp.std(jnp.array([1.0, 3.0])).item()
      1.0
    """
    return elementwise.sqrt(var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction))


def average(a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False,
            keepdims: bool = False) -> Any:
    """The weighted mean along axes.

    Args:
      a: any[...]
      axis: an axis or several; None: all.
      weights: of the shape of `a`, or of its sizes along `axis`; None: all equal.
      returned: also return the sum of the weights.
      keepdims: keep the reduced axes, with size 1.

    Returns:
      the mean, or (mean, sum of the weights). NaN where the weights add up to 0.

    Raises:
      ValueError: if the shape of the weights is neither.

    Example:
      >>> jnp.average(jnp.array([1.0, 4.0]), weights=jnp.array([3.0, 1.0])).item()
      1.75
    """
    x = array(a)
    axes = several_axes(axis, x.type.ndim)
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        total: Any = like(result, reduced_count(x.type.shape, axes))
    else:
        x, factors = [array(v) for v in promotion.promoted_inexact(x, array(weights))]
        factors = _aligned(x, factors, axis, axes)
        x, factors = retype(x, x.type.dtype), retype(factors, x.type.dtype)
        total = sum(factors, axes, keepdims=keepdims)
        full = promotion.broadcast_to(factors, x.type.shape)
        weighted = sum(elementwise.mul(x, full), axes, keepdims=keepdims)
        if total.type.shape and total.type.shape != weighted.type.shape:
            total = promotion.broadcast_to(total, weighted.type.shape)
        result = elementwise.div(weighted, total)
    if not returned:
        return result
    return result, promotion.broadcast_to(array(total), result.type.shape)


def _aligned(x: Any, weights: Any, axis: Axis, axes: tuple[int, ...]) -> Any:
    """The weights with an axis for each axis of `x`, of size 1 for those not averaged over."""
    shape, given = x.type.shape, weights.type.shape
    if given == shape:
        return weights
    if axis is None:
        raise errors.value_error(f"weights are {weights.type}, the array is {x.type}: shapes may only differ where "
                                 "axis is given", fix="name the axis the weights belong to")
    if given != tuple([shape[i] for i in axes]):
        raise errors.value_error(f"weights are {weights.type}; the shape of the array, {shape}, or its sizes along "
                                 f"axis {axis}, {tuple([shape[i] for i in axes])}, is required",
                                 fix="give a weight for each element along the axis")
    order = tuple(sorted(range(len(axes)), key=lambda i: axes[i]))
    if order != tuple(range(len(order))):
        weights = move.transpose(weights, perm=order)
    return move.reshape(weights, shape=tuple([n if i in axes else 1 for i, n in enumerate(shape)]))
