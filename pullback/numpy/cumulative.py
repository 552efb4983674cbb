"""Running sums and products, differences, and what they integrate and differentiate: gradient, trapezoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    converted,
    integer,
    like,
    no_out,
    one_axis,
    part,
    requested,
    several_axes,
)
from pullback.numpy.promotion import as_array, operand, promoted, promoted_inexact
from pullback.numpy.reductions import sum, summed_dtype, truth
from pullback.ops import cumulative, elementwise, move

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient", "trapezoid"]


# -- running sums and products ------------------------------------------------------------------------


def _running(a: ArrayLike, axis: int | None, dtype: DTypeLike | None, operation: Any, extreme: Any, name: str,
             promote: bool) -> Any:
    x = array(a)
    if not x.type.ndim:
        x = move.reshape(x, shape=(1,))
    if axis is None:
        x, axis = move.reshape(x, shape=(x.type.size,)) if x.type.ndim != 1 else x, 0
    else:
        axis = one_axis(axis, x.type.ndim)
    target = requested(dtype, name) or summed_dtype(x.type.dtype, promote)
    if dtypes.is_bool(target):
        return retype(extreme(retype(truth(x), dtypes.uint8), axis=axis, reverse=False), target)
    return operation(converted(x, target), axis=axis, reverse=False)


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The sums of the elements up to each one.

    Args:
      a: any[...]
      axis: None: along the flattened array.
      dtype: of the sums; None: that of `a`, or the default integer dtype for booleans.

    Example:
      >>> jnp.cumsum(jnp.arange(4)).tolist()
      [0, 1, 3, 6]
    """
    no_out(out)
    return _running(a, axis, dtype, cumulative.cumsum, cumulative.cummax, "cumsum", False)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The products of the elements up to each one; arguments as for cumsum. The derivative is right at zeros.

    Example:
      >>> jnp.cumprod(jnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    no_out(out)
    return _running(a, axis, dtype, cumulative.cumprod, cumulative.cummin, "cumprod", False)


def cumulative_sum(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                   include_initial: bool = False) -> Array:
    """The sums of the elements up to each one.

    Args:
      x: any[...], with at least one axis.
      axis: may be None for an array with one axis only.
      dtype: of the sums; None: that of `x`, or the default integer dtype for booleans and narrower integers.
      include_initial: begin with a 0; the result is longer by one.

    Raises:
      ValueError: for an array without axes, or with several and no axis given.

    Example:
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    return _standard(x, axis, dtype, include_initial, cumulative.cumsum, cumulative.cummax, 0,
                     "cumulative_sum", True)


def cumulative_prod(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None,
                    include_initial: bool = False) -> Array:
    """The products of the elements up to each one; as cumulative_sum, beginning with a 1.

    Narrow integers keep their dtype.

    Example:
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    return _standard(x, axis, dtype, include_initial, cumulative.cumprod, cumulative.cummin, 1,
                     "cumulative_prod", False)


def _standard(x: ArrayLike, axis: int | None, dtype: DTypeLike | None, include_initial: bool, operation: Any,
              extreme: Any, start: int, name: str, promote: bool) -> Any:
    x = array(x)
    ndim = x.type.ndim
    if ndim == 0:
        raise errors.value_error(f"got {x.type}, an array with at least one axis is required", fix="pass x[None]")
    if axis is None and ndim > 1:
        raise errors.value_error(f"axis is None and the array, {x.type}, has {ndim} axes", fix="name the axis")
    axis = one_axis(0 if axis is None else axis, ndim)
    result = _running(x, axis, dtype, operation, extreme, name, promote)
    if include_initial:
        shape = result.type.shape
        first = move.broadcast_in_dim(like(result, start), shape=(*shape[:axis], 1, *shape[axis + 1:]), dims=())
        result = move.concatenate(first, result, axis=axis)
    return result


# -- differences --------------------------------------------------------------------------------------


def _vector_axis(x: Any, axis: int) -> int:
    if x.type.ndim == 0:
        raise errors.value_error(f"got {x.type}, an array with at least one axis is required", fix="pass x[None]")
    return one_axis(axis, x.type.ndim)


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None,
         append: ArrayLike | None = None) -> Array:
    """The differences of neighbouring elements along an axis; for booleans, whether they differ.

    Args:
      a: any[...]
      n: how often to take differences.
      axis: the axis.
      prepend, append: values to set before and after the elements first: scalars, or arrays that agree with
        `a` on other axes.

    Raises:
      ValueError: for negative n, an axis out of range or an array without axes.

    Example:
      >>> jnp.diff(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = array(a)
    times = integer(n, "n")
    if times < 0:
        raise errors.value_error(f"n is {times}, 0 or more is required", fix="cumsum is the inverse")
    if times == 0:
        return x
    axis = _vector_axis(x, axis)
    pieces = [v for v in (prepend, x, append) if v is not None]
    if len(pieces) > 1:
        shape = x.type.shape
        column = (*shape[:axis], 1, *shape[axis + 1:])
        whole = [as_array(v) for v in promoted(*pieces)]
        whole = [v if v.type.ndim else move.broadcast_in_dim(v, shape=column, dims=()) for v in whole]
        x = move.concatenate(*whole, axis=axis)
    subtract = elementwise.ne if dtypes.is_bool(x.type.dtype) else elementwise.sub
    for _ in range(times):
        size = x.type.shape[axis]
        if size == 0:
            break
        x = subtract(part(x, axis, 1, size), part(x, axis, 0, size - 1))
    return x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """The differences of neighbouring elements of the flattened array.

    Args:
      ary: any[...]
      to_end, to_begin: values to set after and before the differences, brought to their dtype.

    Example:
      >>> jnp.ediff1d(jnp.array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    x = array(ary)
    x = move.reshape(x, shape=(x.type.size,)) if x.type.ndim != 1 else x
    n = x.type.size
    result = elementwise.sub(part(x, 0, min(n, 1), n), part(x, 0, 0, max(n - 1, 0)))
    if to_begin is None and to_end is None:
        return result
    pieces = []
    for values in (to_begin, result, to_end):
        if values is not None:
            held = as_array(converted(operand(values), x.type.dtype))
            pieces.append(move.reshape(held, shape=(held.type.size,)) if held.type.ndim != 1 else held)
    return move.concatenate(*pieces, axis=0)


# -- derivatives and integrals ------------------------------------------------------------------------


def _over(x: Any, spacing: Any) -> Any:
    """x / spacing, where spacing broadcasts to x."""
    return elementwise.div(*promotion.elementwise_inexact(x, spacing))


def _even(f: Any, spacing: Any, axis: int) -> Any:
    n = f.type.shape[axis]
    first = elementwise.sub(part(f, axis, 1, 2), part(f, axis, 0, 1))
    last = elementwise.sub(part(f, axis, n - 1, n), part(f, axis, n - 2, n - 1))
    inner = elementwise.sub(part(f, axis, 2, n), part(f, axis, 0, n - 2))
    inner = elementwise.mul(inner, like(inner, 0.5))
    return _over(move.concatenate(first, inner, last, axis=axis), spacing)


def _uneven(f: Any, place: Any, axis: int) -> Any:
    """Second order at inner points, first order at the two outer ones.

    Source: Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, 1988.
    """
    n = f.type.shape[axis]
    step = elementwise.sub(part(place, 0, 1, n), part(place, 0, 0, n - 1))
    slope = elementwise.div(elementwise.sub(part(f, axis, 1, n), part(f, axis, 0, n - 1)),
                            _laid(step, f.type, axis, n - 1))
    before, after = part(step, 0, 0, n - 2), part(step, 0, 1, n - 1)
    share = _laid(elementwise.div(before, elementwise.add(before, after)), f.type, axis, n - 2)
    left, right = part(slope, axis, 0, n - 2), part(slope, axis, 1, n - 1)
    inner = elementwise.add(left, elementwise.mul(elementwise.sub(right, left), share))
    return move.concatenate(part(slope, axis, 0, 1), inner, part(slope, axis, n - 2, n - 1), axis=axis)


def _laid(vector: Any, t: Any, axis: int, size: int) -> Any:
    """A vector along `axis`, repeated along the other axes of `t`."""
    return move.broadcast_in_dim(vector, shape=(*t.shape[:axis], size, *t.shape[axis + 1:]), dims=(axis,))


def gradient(f: ArrayLike, *varargs: ArrayLike, axis: int | Sequence[int] | None = None,
             edge_order: int | None = None) -> Any:
    """The derivative of sampled values along axes: central differences, one-sided at the ends.

    Args:
      f: any[...], with at least 2 elements along each axis.
      varargs: the spacing: nothing (1), one scalar for all axes, or for each axis a scalar or the places
        real[n].
      axis: the axes; None: all.
      edge_order: 1, the order of the differences at the ends.

    Returns:
      an array for one axis, else a list with an array per axis.

    Raises:
      TypeError: for a wrong number of spacings. ValueError: for a spacing of another length, too few
        elements, or another edge_order.

    Example:
      >>> jnp.gradient(jnp.array([1.0, 4.0, 9.0]))
      Array([3., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise errors.value_error(f"edge_order is {edge_order}, 1 is required", fix="leave it out")
    values = f if isinstance(f, Array) else array(f)
    ndim = values.type.ndim
    axes = several_axes(axis, ndim)
    if len(varargs) == 0:
        (values,) = promoted_inexact(values)
        spacings: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1:
        spacings = [varargs[0]] * len(axes)
    else:
        spacings = list(varargs)
    if len(spacings) != len(axes):
        raise errors.type_error(f"got {len(varargs)} spacings for {move.count(len(axes), 'axis', 'axes')}; none, 1 or "
                                f"{len(axes)} are required", fix="give one per axis")
    results = []
    for place, spacing in zip(axes, spacings):
        n = values.type.shape[place]
        if n < 2:
            raise errors.value_error(f"axis {place} of {values.type} has size {n}, at least 2 is required",
                                     fix="name the axes to differentiate along")
        spacing = operand(spacing)
        t = type_of(spacing)
        if t.ndim and (t.ndim > 1 or t.shape[0] != n):
            raise errors.value_error(f"a spacing is {t}; a scalar or the {n} places along axis {place} of "
                                     f"{values.type} are required", fix="give the coordinate of each element")
        samples, places = promoted_inexact(values, spacing)
        results.append((_uneven if t.ndim else _even)(samples, places, place))
    return results[0] if len(results) == 1 else results


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """The integral of sampled values along an axis by the trapezoidal rule.

    Args:
      y: any[...]
      x: the places of the samples: real[n], or real[...] like `y`.
      dx: their distance, where `x` is not given.
      axis: the axis of the samples.

    Raises:
      ValueError: if x and y do not fit, or for an axis out of range.

    Example:
      >>> jnp.trapezoid(jnp.array([0.0, 1.0, 0.0])).item()
      1.0
    """
    values, step = (array(v) for v in promoted_inexact(array(y), dx if x is None else array(x)))
    axis = _vector_axis(values, axis)
    last = values.type.ndim - 1
    values = retype(_axis_last(values, axis), values.type.dtype)
    n = values.type.shape[last]
    if x is not None:
        step = diff(step if step.type.ndim == 1 else _axis_last(step, axis))
    if n == 0:
        return sum(values, last)
    if step.type.ndim == 0:
        # All inner samples count twice.
        ends = elementwise.add(part(values, last, 0, 1), part(values, last, n - 1, n))
        half = elementwise.mul(ends, like(ends, 0.5))
        total = elementwise.sub(sum(values, last), move.reshape(half, shape=values.type.shape[:-1]))
        return elementwise.mul(total, retype(step, total.type.dtype))
    pairs = elementwise.add(part(values, last, 1, n), part(values, last, 0, n - 1))
    products = elementwise.mul(*promotion.elementwise(pairs, step))
    total = sum(products, products.type.ndim - 1)
    return elementwise.mul(total, like(total, 0.5))


def _axis_last(x: Any, axis: int) -> Any:
    ndim = x.type.ndim
    if axis == ndim - 1:
        return x
    return move.transpose(x, perm=(*range(axis), *range(axis + 1, ndim), axis))
