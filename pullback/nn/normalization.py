"""Functions that look along axes: softmax and its logarithm, logsumexp, standardize; and one_hot."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback import lax
from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import Tracer
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, kept, like, one_axis, requested, several_axes
from pullback.numpy.creation import asarray
from pullback.numpy.reductions import counted, mask
from pullback.numpy.reductions import mean as mean_of
from pullback.ops import elementwise as ops
from pullback.ops import move, reduce
from pullback.ops.convert import stop_gradient

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]

Axis = int | Sequence[int] | None


# -- parts that the functions share -------------------------------------------------------------------


def _floats(x: ArrayLike) -> Any:
    """`x` as a strong array of floats or complex numbers."""
    v = array(promotion.inexact(x))
    return retype(v, v.type.dtype)


def _only(x: Any, which: Any, number: float) -> Any:
    """`x` with `number` in place of what `which` leaves out; None leaves out nothing."""
    return x if which is None else ops.select_n(which, like(x, number), x)


def _mask(where: ArrayLike | None, shape: tuple[int, ...]) -> Any:
    return None if where is None else mask(where, shape)


def _spread(reduced: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What was reduced along `axes` of `shape`, repeated along them."""
    if not shape or not axes:
        return reduced
    others = tuple([i for i in range(len(shape)) if i not in axes])
    return move.broadcast_in_dim(reduced, shape=shape, dims=others)


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return reduce.reduce_sum(x, axes=axes) if axes else x


_PEAK = reduce.reduce_max.dropping_nan()


def _largest(x: Any, axes: tuple[int, ...]) -> Any:
    """The largest (real part) along axes, as a constant; a NaN need not be seen, it is in exp(x - largest)."""
    if dtypes.is_complex(x.type.dtype):
        x = ops.real(x)
    x = x if isinstance(x, ConcreteArray) else stop_gradient(x)
    return _PEAK(x, axes=axes) if axes else x


def _shifted(x: Any, largest: Any, axes: tuple[int, ...]) -> Any:
    """`x` less what is largest along axes, so that exp does not overflow."""
    return ops.sub(x, _spread(retype(largest, x.type.dtype), x.type.shape, axes))


# -- softmax ------------------------------------------------------------------------------------------


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) over the sum of exp(x) along axes.

    Args:
      x: float[...]
      axis: an axis or several; None: all.
      where: bool[...], broadcast to `x`: the elements to take; the others get 0.

    Returns:
      float[...], of the shape of `x`. NaN along an axis that holds NaN or inf, or nothing but -inf.

    Raises:
      ValueError: for an axis that does not exist, or a `where` that is not bool.

    Example:
      >>> nn.softmax(jnp.array([1.0, 1.0, -jnp.inf]))
      Array([0.5, 0.5, 0. ], dtype=float32)
    """
    v = _floats(x)
    axes = several_axes(axis, v.type.ndim)
    which = _mask(where, v.type.shape)
    v = _only(v, which, -math.inf)
    powers = _only(ops.exp(_shifted(v, _largest(v, axes), axes)), which, 0)
    return _only(ops.div(powers, _spread(_sum(powers, axes), v.type.shape, axes)), which,
                 0)  # type: ignore[no-any-return]


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of softmax, exact also where that is very small.

    Args:
      x: float[...]
      axis: an axis or several; None: all.
      where: bool[...], broadcast to `x`: the elements to take; the others get -inf.

    Returns:
      float[...], of the shape of `x`. NaN along an axis that holds NaN or inf, or nothing but -inf.

    Raises:
      ValueError: for an axis that does not exist, or a `where` that is not bool.

    Example:
      >>> nn.log_softmax(jnp.zeros(2)).round(3)
      Array([-0.693, -0.693], dtype=float32)
    """
    v = _floats(x)
    axes = several_axes(axis, v.type.ndim)
    which = _mask(where, v.type.shape)
    v = _only(v, which, -math.inf)
    shifted = _shifted(v, _largest(v, axes), axes)
    total = _sum(_only(ops.exp(shifted), which, 0), axes)
    return _only(ops.sub(shifted, _spread(ops.log(total), v.type.shape, axes)), which,  # type: ignore[no-any-return]
                 -math.inf)


# -- logarithms of sums -------------------------------------------------------------------------------


def logsumexp(a: ArrayLike, axis: Axis = None, b: ArrayLike | None = None, keepdims: bool = False,
              return_sign: bool = False, where: ArrayLike | None = None) -> Any:
    """log(sum(b * exp(a))) along axes, without overflow.

    Args:
      a: float[...] or complex[...]
      axis: an axis or several; None: all.
      b: factors, broadcast to `a`; elements whose factor is 0 do not count.
      keepdims: keep the reduced axes, with size 1.
      return_sign: return (log |sum|, sign of the sum); for complex numbers sum / |sum|.
      where: bool[...], broadcast to `a`: the elements to take.

    Returns:
      float or complex[...], or the pair. -inf of no elements; NaN for a negative sum unless return_sign is given.

    Raises:
      ValueError: for an axis that does not exist, or a `where` that is not bool.

    Example:
      >>> nn.logsumexp(jnp.zeros(2)).round(3).item()
      0.6930000185966492
    """
    factors = None
    if b is not None:
        v, factors = [_floats(x) for x in promotion.elementwise_inexact(a, b)]
        shape = promotion.broadcast_shapes([v.type.shape, factors.type.shape])
        v, factors = (promotion.broadcast_to(x, shape) for x in (v, factors))
    else:
        v = _floats(a)
    axes = several_axes(axis, v.type.ndim)
    which = _mask(where, v.type.shape)
    # What does not count must not make NaNs, in the derivative either.
    v = _only(v, which, 0)
    if factors is not None:
        v = _only(v, ops.ne(factors, like(factors, 0)), -math.inf)
    largest = _largest(_only(v, which, -math.inf), axes)
    largest = ops.select_n(ops.is_finite(largest), like(largest, 0), largest)
    powers = ops.exp(_shifted(v, largest, axes))
    if factors is not None:
        powers = ops.mul(powers, factors)
    total = _sum(_only(powers, which, 0), axes)
    is_complex = dtypes.is_complex(total.type.dtype)
    sign = ops.sign(total) if return_sign or factors is not None and not is_complex else None
    if return_sign or factors is not None and not is_complex:
        total = ops.abs(total)
    out = ops.add(ops.log(total), retype(largest, total.type.dtype))
    if sign is not None and not return_sign:
        out = ops.select_n(ops.lt(sign, like(sign, 0)), out, like(out, math.nan))
    if keepdims:
        out = kept(out, v.type.shape, axes)
        sign = kept(sign, v.type.shape, axes) if return_sign else sign
    return (out, sign) if return_sign else out


def logmeanexp(x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))) along axes, without overflow.

    Args:
      x: float[...]
      axis: an axis or several; None: all.
      where: bool[...], broadcast to `x`: the elements to take.
      keepdims: keep the reduced axes, with size 1.

    Returns:
      float[...]; NaN of no elements.

    Example:
      >>> nn.logmeanexp(jnp.zeros(3)).item()
      0.0
    """
    v = _floats(x)
    axes = several_axes(axis, v.type.ndim)
    out = logsumexp(v, axes, keepdims=keepdims, where=where)
    count = counted(where, v.type.shape, axes, keepdims, dtypes.to_real(out.type.dtype))
    return ops.sub(out, retype(ops.log(count), out.type.dtype))  # type: ignore[no-any-return]


# -- standardize --------------------------------------------------------------------------------------


def standardize(x: ArrayLike, axis: Axis = -1, mean: ArrayLike | None = None, variance: ArrayLike | None = None,
                epsilon: ArrayLike = 1e-5, where: ArrayLike | None = None, *, algorithm: str = "fast") -> Array:
    """(x - mean) / sqrt(variance + epsilon).

    Args:
      x: float[...]
      axis: the axis or axes along which mean and variance are taken; None: all.
      mean, variance: broadcast to `x`; None: those of `x`.
      epsilon: keeps the quotient finite where the variance is 0.
      where: bool[...], broadcast to `x`: the elements that mean and variance are taken of.
      algorithm: of the variance: 'fast': mean(x ** 2) - mean(x) ** 2; 'stable': mean((x - mean(x)) ** 2), which
        loses no digits where the mean is large.

    Raises:
      ValueError: for an axis that does not exist, or another algorithm.

    Example:
      >>> nn.standardize(jnp.array([1.0, 3.0])).round(3)
      Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise errors.value_error(f"algorithm is {algorithm!r}; 'fast' or 'stable' is required", fix="leave it out")
    v = _floats(x)
    shape, axes = v.type.shape, several_axes(axis, v.type.ndim)

    def averaged(y: Any) -> Any:
        return mean_of(y, axes, where=where)

    if mean is None:
        reduced: Any = averaged(v)
        center = _spread(reduced, shape, axes)
    else:
        reduced, center = None, array(promotion.operand(mean))
    centered = ops.sub(*promotion.elementwise(v, center))
    if variance is not None:
        spread = array(promotion.operand(variance))
    elif algorithm == "stable" or reduced is None:
        squares = ops.square(centered) if algorithm == "stable" else ops.square(v)
        spread = _spread(averaged(squares), squares.type.shape, axes)
        if algorithm == "fast":
            spread = _not_below_0(ops.sub(*promotion.elementwise(spread, ops.square(center))))
    else:
        spread = _spread(_not_below_0(ops.sub(averaged(ops.square(v)), ops.square(reduced))), shape, axes)
    root = ops.rsqrt(ops.add(*promotion.elementwise_inexact(spread, epsilon)))
    return ops.mul(*promotion.elementwise(centered, root))  # type: ignore[no-any-return]


def _not_below_0(x: Any) -> Any:
    return ops.max(x, like(x, 0))


# -- one_hot ------------------------------------------------------------------------------------------


def one_hot(x: Any, num_classes: int, *, dtype: Any | None = None, axis: Any = -1, out_sharding: Any = None) -> Array:
    """A new axis that holds 1 at the position each element names, and 0 elsewhere.

    Args:
      x: int[...]; a number that is no position makes nothing but 0.
      num_classes: the size of the new axis.
      dtype: of the result; None: the default float dtype.
      axis: where the new axis stands in the result; or the name of a mapped axis, each of whose `num_classes`
        elements gets its part.

    Returns:
      float[..., num_classes]

    Raises:
      TypeError: if num_classes is not a known int. ValueError: if it is negative, or the axis does not exist.

    Example:
      >>> nn.one_hot(jnp.array([0, 2]), 3)
      Array([[1., 0., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    v = asarray(x)
    count = _class_count(num_classes)
    target = requested(dtype, "one_hot") or dtypes.canonicalize(dtypes.float64)
    if dtypes.kind(v.type.dtype) in "biu" and v.type.dtype != dtypes.uint32 and dtypes.itemsize_bits(v.type.dtype) < 64:
        v = retype(v, dtypes.int32)  # so that every class is a number of the dtype
    if isinstance(axis, (tuple, list)):
        raise errors.value_error(f"axis is {axis!r}, one axis or the name of a mapped axis is required", fix="name one")
    if not isinstance(axis, (int, np.integer)):
        size = lax.axis_size(axis)
        if size != count:
            raise errors.value_error(f"num_classes is {count}, the size of the mapped axis {axis!r}, {size}, is "
                                     "required",
                                     fix="pass num_classes=lax.axis_size(name)")
        own = promotion.broadcast_to(retype(array(lax.axis_index(axis)), v.type.dtype), v.type.shape)
        return retype(ops.eq(v, own), target)  # type: ignore[no-any-return]
    place = one_axis(axis, v.type.ndim + 1)
    shape = (*v.type.shape[:place], count, *v.type.shape[place:])
    classes = move.broadcast_in_dim(move.iota(shape=(count,), dtype=v.type.dtype, axis=0), shape=shape, dims=(place,))
    given = move.broadcast_in_dim(v, shape=shape, dims=tuple([i for i in range(len(shape)) if i != place]))
    return placed(retype(ops.eq(given, classes), target), out_sharding)  # type: ignore[no-any-return]


def _class_count(num_classes: Any) -> int:
    if isinstance(num_classes, Tracer):
        num_classes = num_classes.known(errors.ConcretizationTypeError, "num_classes",
                                        "pass a Python int; in jit mark the argument static (static_argnums)")
    try:
        count = operator.index(num_classes)
    except TypeError:
        raise errors.type_error(f"num_classes is {num_classes!r}, an int is required", fix="pass int(n)") from None
    if count < 0:
        raise errors.value_error(f"num_classes is {count}, at least 0 is required", fix="count the classes")
    return count
