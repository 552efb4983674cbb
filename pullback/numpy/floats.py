"""Functions of what floats are made of (sign, exponent, neighbours, NaN), and a few functions of analysis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.types import ArrayType
from pullback.core.values import scalar_of
from pullback.lax.operand import retype
from pullback.numpy.arguments import part
from pullback.numpy.cumulative import cumsum, diff
from pullback.numpy.elementwise import (
    absolute,
    add,
    divide,
    floor_divide,
    negative,
    remainder,
    subtract,
    trunc,
)
from pullback.numpy.joining import concatenate
from pullback.numpy.logic import equal, greater, less, logical_and, where
from pullback.numpy.promotion import as_array, broadcast, inexact, inexact_pair, operand, promoted
from pullback.ops import elementwise as ops
from pullback.ops import integer as bits
from pullback.ops.convert import bitcast_convert_type
from pullback.ops.elementwise import number
from pullback.ops.move import broadcast_in_dim
from pullback.ops.special import bessel_i0e

__all__ = [
    "copysign", "frexp", "heaviside", "i0", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "ldexp",
    "modf", "nan_to_num", "nextafter", "signbit", "sinc", "spacing", "unwrap",
]

ArrayLike = Any


def constant(value: bool, t: ArrayType) -> Array:
    """A truth value for each element."""
    return broadcast_in_dim(np.bool_(value), shape=t.shape, dims=())


def _real(x: Any, error: type[Exception] = ValueError) -> Any:
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        raise errors.make(error, f"got {t}, real numbers are required", fix="take jnp.real and jnp.imag")
    return x


# -- special values -----------------------------------------------------------------------------------

def isnan(x: ArrayLike, /) -> Array:
    """Whether x is NaN; of complex numbers, whether either part is.

    Example:
      >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([False, False,  True], dtype=bool)
    """
    x = operand(x)
    t = type_of(x)
    return ops.ne(x, x) if dtypes.is_inexact(t.dtype) else constant(False, t)


def isfinite(x: ArrayLike, /) -> Array:
    """Whether x is neither infinite nor NaN; of complex numbers, whether both parts are so.

    Example:
      >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    x = operand(x)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        return bits.and_(ops.is_finite(ops.real(x)), ops.is_finite(ops.imag(x)))
    return ops.is_finite(x) if dtypes.is_float(t.dtype) else constant(True, t)


def isinf(x: ArrayLike, /) -> Array:
    """Whether x is infinite; of complex numbers, whether either part is.

    Example:
      >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
      Array([False,  True, False], dtype=bool)
    """
    x = operand(x)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        return bits.or_(isinf(ops.real(x)), isinf(ops.imag(x)))
    return ops.eq(ops.abs(x), number(x, math.inf)) if dtypes.is_float(t.dtype) else constant(False, t)


def _is(x: ArrayLike, value: float, out: Any) -> Array:
    if out is not None:
        raise errors.type_error("out must be None: arrays are immutable", fix="use the result")
    x = _real(operand(x))
    t = type_of(x)
    return ops.eq(x, number(x, value)) if dtypes.is_float(t.dtype) else constant(False, t)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether the real number x is inf.

    Example:
      >>> jnp.isposinf(jnp.array([-jnp.inf, jnp.inf]))
      Array([False,  True], dtype=bool)
    """
    return _is(x, math.inf, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether the real number x is -inf.

    Example:
      >>> jnp.isneginf(jnp.array([-jnp.inf, jnp.inf]))
      Array([ True, False], dtype=bool)
    """
    return _is(x, -math.inf, out)


def nan_to_num(x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: ArrayLike | None = None,
               neginf: ArrayLike | None = None) -> Array:
    """`x` with numbers in place of NaN and infinities; the derivative there is 0.

    Args:
      x: number[...]
      nan, posinf, neginf: the numbers; None: the largest and the least finite one of the dtype.

    Example:
      >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.0]), nan=-1.0)
      Array([-1.,  1.], dtype=float32)
    """
    x = operand(x)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        return ops.complex(nan_to_num(ops.real(x), copy, nan, posinf, neginf),
                           nan_to_num(ops.imag(x), copy, nan, posinf, neginf))
    if not dtypes.is_float(t.dtype):
        return as_array(x)
    info = dtypes.finfo(t.dtype)
    result = x
    for value, there in ((nan, ops.ne(x, x)),
                         (float(info.max) if posinf is None else posinf, ops.eq(x, number(x, math.inf))),
                         (float(info.min) if neginf is None else neginf, ops.eq(x, number(x, -math.inf)))):
        result = ops.select_n(there, result, retype(operand(value), t.dtype))
    return result


# -- signs and neighbours -----------------------------------------------------------------------------

def _word(dtype: Any) -> np.dtype:
    """The signed integers of the width of a float dtype."""
    return np.dtype(f"i{dtype.itemsize}")


def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit of the real number x is set; it is of -0.0.

    Example:
      >>> jnp.signbit(jnp.array([-0.0, 0.0]))
      Array([ True, False], dtype=bool)
    """
    x = _real(operand(x))
    t = type_of(x)
    kind = dtypes.kind(t.dtype)
    if kind == "f":
        word = bitcast_convert_type(x, dtype=_word(t.dtype))
        return ops.lt(word, number(word, 0))
    return ops.lt(x, number(x, 0)) if kind == "i" else constant(False, t)


def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The real number x1 with the sign of x2. No derivative by x2.

    Example:
      >>> jnp.copysign(jnp.array([1.0]), -0.0)
      Array([-1.], dtype=float32)
    """
    x, y = inexact_pair(_real(operand(x1), errors.OperandError), _real(operand(x2), errors.OperandError))
    size = ops.abs(x if type_of(y).weak else retype(x, type_of(x).dtype))
    return ops.select_n(signbit(y), size, ops.neg(size))


def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The neighbour of x in its dtype on the way to y.

    Example:
      >>> jnp.nextafter(jnp.array([1.0]), 2.0) > 1
      Array([ True], dtype=bool)
    """
    return ops.nextafter(*inexact_pair(x, y))


def spacing(x: ArrayLike, /) -> Array:
    """The distance from the real number x to its neighbour farther from 0, with the sign of x.

    Example:
      >>> jnp.spacing(jnp.float32(1)).item() == 2 ** -23
      True
    """
    x = _real(inexact(x))
    size = ops.abs(x)
    result = copysign(ops.sub(ops.nextafter(size, number(size, math.inf)), size), x)
    return retype(result, type_of(result).dtype)


def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """0 where x1 is negative, 1 where it is positive, and x2 where it is 0.

    Example:
      >>> jnp.heaviside(jnp.array([-1.0, 0.0, 1.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = inexact_pair(_real(operand(x1)), _real(operand(x2)))
    zero, one = number(x, 0), number(x, 1)
    sides = ops.select_n(ops.gt(x, zero), ops.select_n(ops.lt(x, zero), y, zero), one)
    return ops.select_n(ops.ne(x, x), sides, x)


# -- exponents ----------------------------------------------------------------------------------------

def _times_power(x: Any, exponent: Any) -> Any:
    """x * 2 ** exponent, exact where the result is normal; in three steps, whose factors are in range."""
    t, dtype = type_of(x), type_of(exponent).dtype
    mantissa, bias = dtypes.finfo(t.dtype).nmant, 1 - int(dtypes.finfo(t.dtype).minexp)
    most = np.dtype(dtype).type(3 * (bias - 1))
    rest = ops.clamp(-most, exponent, most)
    for left in (3, 2, 1):
        step = ops.div(rest, scalar_of(left, dtype, False))
        rest = ops.sub(rest, step)
        word = retype(ops.add(step, scalar_of(bias, dtype, False)), _word(t.dtype))
        word = bits.shift_left(word, number(word, mantissa))
        x = ops.mul(x, bitcast_convert_type(word, dtype=t.dtype))
    return x


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2 ** x2.

    Args:
      x1: real[...]
      x2: int[...]

    Raises:
      ValueError: if x2 is not of integers, or x1 complex.

    Example:
      >>> jnp.ldexp(jnp.array([1.0]), 3)
      Array([8.], dtype=float32)
    """
    x, exponent = _real(inexact(x1)), operand(x2)
    t = type_of(exponent)
    if not dtypes.is_integer(t.dtype) and not dtypes.is_bool(t.dtype):
        raise errors.make(errors.OperandError, f"the exponent is {t}, integers are required",
                          fix="convert it with astype(int)")
    x, exponent = broadcast(x, retype(exponent, dtypes.int32))
    return _times_power(x, exponent)


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """(m, e) with x = m * 2 ** e and 1/2 <= |m| < 1; of 0, infinities and NaN, (x, 0).

    Args:
      x: real[...]

    Returns:
      float[...] and i32[...]. The derivative of m is 2 ** -e.

    Example:
      >>> jnp.frexp(jnp.array([8.0]))
      (Array([0.5], dtype=float32), Array([4], dtype=int32))
    """
    x = _real(inexact(x), errors.OperandError)
    t = type_of(x)
    info = dtypes.finfo(t.dtype)
    mantissa, word = info.nmant, _word(t.dtype)
    small = ops.lt(ops.abs(x), number(x, float(info.smallest_normal)))
    grown = ops.select_n(small, x, ops.mul(x, number(x, 2.0 ** (mantissa + 1))))
    field = bits.shift_right_logical(bitcast_convert_type(grown, dtype=word), word.type(mantissa))
    field = bits.and_(field, word.type((1 << 8 * word.itemsize - 1 - mantissa) - 1))
    shift = ops.select_n(small, np.int32(int(info.minexp)), np.int32(int(info.minexp) - mantissa - 1))
    exponent = ops.add(retype(field, dtypes.int32), shift)
    void = bits.or_(ops.eq(x, number(x, 0)), bits.not_(ops.is_finite(x)))
    exponent = ops.select_n(void, exponent, np.int32(0))
    return _times_power(x, ops.neg(exponent)), exponent


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """The fraction and the whole part of the real number x, both with its sign; derivatives 1 and 0.

    Example:
      >>> jnp.modf(jnp.array([2.5]))
      (Array([0.5], dtype=float32), Array([2.], dtype=float32))
    """
    if out is not None:
        raise errors.type_error("out must be None: arrays are immutable", fix="use the result")
    x = as_array(_real(inexact(x)))
    whole = trunc(x)
    return ops.sub(x, whole), whole


# -- functions of analysis ----------------------------------------------------------------------------

# sin(y) / y as a polynomial in y ** 2; for |y| < 1/2 the next term is below the precision of float64.
_SINC = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(7, -1, -1))


def sinc(x: ArrayLike, /) -> Array:
    """sin(pi x) / (pi x), 1 at 0 and 0 at infinity; smooth at 0.

    Example:
      >>> jnp.sinc(jnp.array([0.0, 0.5, 1.0])).round(4)
      Array([ 1.    ,  0.6366, -0.    ], dtype=float32)
    """
    x = inexact(x)
    y = ops.mul(x, number(x, math.pi))
    size = ops.abs(y)
    near = ops.lt(size, number(size, 0.5))
    # Each branch gets operands that are harmless where the other one counts, so that no derivative is NaN.
    low = ops.square(ops.select_n(near, number(y, 0), y))
    series: Any = number(y, _SINC[0])
    for coefficient in _SINC[1:]:
        series = ops.add(ops.mul(series, low), number(y, coefficient))
    infinite = ops.eq(size, number(size, math.inf))
    if dtypes.is_complex(type_of(x).dtype):
        infinite = bits.and_(ops.eq(ops.abs(ops.real(x)), number(size, math.inf)), ops.is_finite(ops.imag(x)))
    far = ops.select_n(bits.or_(near, infinite), y, number(y, math.pi))
    tail = ops.select_n(infinite, ops.div(ops.sin(far), far), number(y, 0))
    return ops.select_n(near, tail, series)


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind and order 0, of real x.

    Example:
      >>> jnp.i0(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    x = _real(inexact(x))
    # |x| as x * sign(x) has derivative 0 at 0, as has the even function.
    return ops.mul(ops.exp(ops.mul(x, ops.sign(x))), bessel_i0e(x))


def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1,
           period: ArrayLike = 2 * math.pi) -> Array:
    """Angles with multiples of the period added so that no step is larger than half of it.

    Args:
      p: real[...]
      discont: steps below this are kept; None: half the period.
      axis: the axis the steps are along.
      period: the size of a full turn; of integers, an integer.

    Example:
      >>> jnp.unwrap(jnp.array([0.0, 2 * jnp.pi]))
      Array([ 0.0000000e+00, -4.7683716e-07], dtype=float32)
    """
    x, turn = promoted(_real(operand(p)), period)
    x = as_array(x)
    axis = errors.check_axis(axis, x.type.ndim)
    integral = dtypes.is_integer(x.type.dtype)
    half = floor_divide(turn, 2) if integral else divide(turn, 2)
    steps = diff(x, axis=axis)
    within = subtract(remainder(add(steps, half), turn), half)
    at_end = logical_and(equal(within, negative(half)), greater(steps, 0))
    if integral:  # of an odd period no step is exactly half
        at_end = logical_and(at_end, equal(remainder(turn, 2), 0))
    within = where(at_end, half, within)
    kept = less(absolute(steps), half if discont is None else discont)
    change = where(kept, 0, subtract(within, steps))
    n = x.type.shape[axis]
    tail = add(part(x, axis, min(n, 1), n), cumsum(change, axis=axis))
    return concatenate([part(x, axis, 0, min(n, 1)), tail], axis=axis)
