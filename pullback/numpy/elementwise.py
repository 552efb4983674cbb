"""Functions applied element by element: arithmetic, powers, rounding, complex parts. (The others: transcendental.py.)

Operands are promoted to one dtype and broadcast to one shape; functions of the reals make floats of integers
and booleans. Everything is one operation of the same name where there is one.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import concrete, type_of
from pullback.lax.operand import retype
from pullback.numpy.promotion import as_array, broadcast, inexact, inexact_pair, operand, pair, promoted
from pullback.ops import elementwise as ops
from pullback.ops import integer as bits
from pullback.ops import pairs
from pullback.ops.elementwise import RoundingMethod, number
from pullback.ops.move import broadcast_in_dim

__all__ = [
    "abs", "absolute", "add", "around", "cbrt", "ceil", "clip", "conj", "conjugate", "divide", "divmod", "fabs",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "hypot", "imag", "lcm", "maximum",
    "minimum", "mod", "multiply", "negative", "positive", "pow", "power", "real", "reciprocal", "remainder", "rint",
    "round", "sign", "sqrt", "square", "subtract", "true_divide", "trunc",
]

ArrayLike = Any


# -- arithmetic ---------------------------------------------------------------------------------------

def numbers(*args: ArrayLike) -> Sequence[Any]:
    """Operands promoted to one dtype of numbers: booleans count as int32."""
    values = promoted(*args)
    if type_of(values[0]).dtype == dtypes.bool_:
        return [retype(v, dtypes.int32) for v in values]
    return values


def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x + y; of booleans, whether either is true.

    Args:
      x, y: any[...], broadcast to one shape.

    Raises:
      ValueError: if the shapes do not broadcast. TypeError: if an operand is no array and no number.

    Example:
      >>> jnp.add(jnp.arange(3), 10)
      Array([10, 11, 12], dtype=int32)
    """
    x, y = pair(x, y)
    return ops.add(x, y) if type_of(x).dtype != dtypes.bool_ else bits.or_(x, y)


def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x - y of numbers; of booleans, use `x ^ y`.

    Example:
      >>> jnp.subtract(jnp.array([1, 2]), 3)
      Array([-2, -1], dtype=int32)
    """
    return ops.sub(*pair(x, y))


def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * y; of booleans, whether both are true.

    Example:
      >>> jnp.multiply(jnp.array([1, 2]), 3)
      Array([3, 6], dtype=int32)
    """
    x, y = pair(x, y)
    return ops.mul(x, y) if type_of(x).dtype != dtypes.bool_ else bits.and_(x, y)


def divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 / x2, a float or complex number; by 0, infinite or NaN.

    Example:
      >>> jnp.divide(jnp.array([1, 3]), 2)
      Array([0.5, 1.5], dtype=float32)
    """
    return ops.div(*inexact_pair(x1, x2))


true_divide = divide


def _opposed(rest: Any, y: Any) -> Any:
    """Whether a remainder is not 0 and not of the divisor's sign, so that the quotient was rounded up."""
    zero = number(y, 0)
    return bits.and_(ops.ne(rest, zero), ops.ne(ops.lt(rest, zero), ops.lt(y, zero)))


def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The largest integer not above x1 / x2, in their dtype; derivative 0.

    Args:
      x1, x2: real[...]. The quotient of an integer by 0 is of no use; of a float, it is infinite or NaN.

    Example:
      >>> jnp.floor_divide(jnp.array([7, -7]), 2)
      Array([ 3, -4], dtype=int32)
    """
    x, y = broadcast(*numbers(x1, x2))
    kind = dtypes.kind(type_of(x).dtype)
    if kind == "u":
        return ops.div(x, y)
    rest, zero = ops.rem(x, y), number(y, 0)
    if kind == "i":
        quotient = ops.div(x, y)
        rounded_up = bits.and_(ops.ne(ops.sign(x), ops.sign(y)), ops.ne(rest, zero))
        return ops.select_n(rounded_up, quotient, ops.sub(quotient, number(quotient, 1)))
    quotient = ops.div(ops.select_n(ops.eq(y, zero), ops.sub(x, rest), x), y)
    lower = ops.select_n(_opposed(rest, y), quotient, ops.sub(quotient, number(quotient, 1)))
    return ops.round(lower, rounding_method=RoundingMethod.AWAY_FROM_ZERO)


def _nonzero_divisor(y: Any) -> Any:
    """Integers with 1 in place of 0: then the remainder of a division by 0 is 0."""
    return ops.select_n(ops.eq(y, number(y, 0)), y, number(y, 1))


def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 - x2 * floor(x1 / x2), which has the sign of x2; by 0 NaN, of integers 0.

    Example:
      >>> jnp.remainder(jnp.array([7, -7]), 3)
      Array([1, 2], dtype=int32)
    """
    x, y = broadcast(*numbers(x1, x2))
    kind = dtypes.kind(type_of(x).dtype)
    if kind in "iu":
        y = _nonzero_divisor(y)
    rest = ops.rem(x, y)
    return rest if kind == "u" else ops.select_n(_opposed(rest, y), rest, ops.add(rest, y))


mod = remainder


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """(floor_divide(x1, x2), remainder(x1, x2)).

    Example:
      >>> jnp.divmod(jnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of x1 / x2 rounded towards zero, which has the sign of x1; by 0 NaN, of integers 0.

    Example:
      >>> jnp.fmod(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    x, y = broadcast(*numbers(x1, x2))
    return ops.rem(x, y if dtypes.kind(type_of(x).dtype) not in "iu" else _nonzero_divisor(y))


def negative(x: ArrayLike, /) -> Array:
    """-x of numbers; of booleans, use `~x`.

    Example:
      >>> jnp.negative(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """
    return ops.neg(operand(x))


def positive(x: ArrayLike, /) -> Array:
    """x itself.

    Example:
      >>> jnp.positive(jnp.array([-1, 2]))
      Array([-1,  2], dtype=int32)
    """
    return as_array(operand(x))


def absolute(x: ArrayLike, /) -> Array:
    """|x|. At 0 the derivative is 1, for complex x it is 0.

    Example:
      >>> jnp.absolute(jnp.array([-2, 3]))
      Array([2, 3], dtype=int32)
    """
    x = operand(x)
    return as_array(x) if dtypes.kind(type_of(x).dtype) in "bu" else ops.abs(x)


abs = absolute


def fabs(x: ArrayLike, /) -> Array:
    """|x| of real numbers, as a float.

    Example:
      >>> jnp.fabs(jnp.array([-2.0]))
      Array([2.], dtype=float32)
    """
    x = inexact(x)
    if dtypes.is_complex(type_of(x).dtype):
        raise errors.type_error(f"got {type_of(x)}, real numbers are required", fix="use jnp.abs")
    return ops.abs(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 by the sign of x; x / |x| of complex numbers; derivative 0.

    Example:
      >>> jnp.sign(jnp.array([-2.0, 0.0]))
      Array([-1.,  0.], dtype=float32)
    """
    return ops.sign(operand(x))


def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The larger of x and y, NaN if either is; complex numbers by real, then imaginary part.

    Where they are equal each gets half the derivative.

    Example:
      >>> jnp.maximum(jnp.array([1, 5]), 3)
      Array([3, 5], dtype=int32)
    """
    return ops.max(*pair(x, y))


def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The smaller of x and y, NaN if either is; where they are equal each gets half the derivative.

    Example:
      >>> jnp.minimum(jnp.array([1, 5]), 3)
      Array([1, 3], dtype=int32)
    """
    return ops.min(*pair(x, y))


def _one_known(x: Any, y: Any, extreme: Any) -> Any:
    """The larger (or smaller) of two numbers, or the one that is not NaN; y where they are equal."""
    x, y = pair(x, y)
    if not dtypes.is_inexact(type_of(x).dtype):
        return extreme(x, y)
    first = bits.and_(ops.eq(extreme(x, y), x), ops.ne(x, y))
    return ops.select_n(bits.or_(first, ops.ne(y, y)), y, x)


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of x1 and x2, the other where one is NaN; where they are equal x2 gets the derivative.

    Example:
      >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0)
      Array([1., 0.], dtype=float32)
    """
    return _one_known(x1, x2, ops.max)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of x1 and x2, the other where one is NaN; where they are equal x2 gets the derivative.

    Example:
      >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0)
      Array([0., 0.], dtype=float32)
    """
    return _one_known(x1, x2, ops.min)


def clip(arr: ArrayLike | None = None, /, min: ArrayLike | None = None,
         max: ArrayLike | None = None) -> Array:
    """`arr` limited to the interval from `min` to `max`; `max` wins where they are out of order.

    Args:
      arr: real[...]
      min, max: real[...] or None, broadcast with `arr`.

    Where the operand is at an end, it and the end get half the derivative each.

    Example:
      >>> jnp.clip(jnp.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise errors.value_error("got no array to clip", fix="pass the array first")
    x = operand(arr)
    for v in (x, min, max):
        if v is not None and dtypes.is_complex(type_of(operand(v)).dtype):
            raise errors.value_error(f"got {type_of(operand(v))}, real numbers are required: complex ones "
                                     "have no order", fix="clip the real and the imaginary part")
    if min is not None:
        x = maximum(min, x)
    if max is not None:
        x = minimum(max, x)
    return as_array(x)


# -- powers -------------------------------------------------------------------------------------------

def square(x: ArrayLike, /) -> Array:
    """x * x.

    Example:
      >>> jnp.square(jnp.array([3]))
      Array([9], dtype=int32)
    """
    return ops.square(*numbers(x))


def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x.

    Example:
      >>> jnp.reciprocal(jnp.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    return ops.integer_pow(inexact(x), y=-1)


def sqrt(x: ArrayLike, /) -> Array:
    """The square root of x; NaN of negative real numbers. At 0 the derivative is infinite.

    Example:
      >>> jnp.sqrt(jnp.array([9.0]))
      Array([3.], dtype=float32)
    """
    return ops.sqrt(inexact(x))


def cbrt(x: ArrayLike, /) -> Array:
    """The real cube root of real numbers. At 0 the derivative is infinite.

    Example:
      >>> jnp.cbrt(jnp.array([8.0, -27.0])).round(3)
      Array([ 2., -3.], dtype=float32)
    """
    return ops.cbrt(inexact(x))


def _known_integer(x: Any) -> int | None:
    """The exponent that is known as an integer, however it is given."""
    if isinstance(x, (int, np.integer)):
        return int(x)
    if isinstance(x, Array):
        if x.type.shape or not dtypes.is_integer(x.type.dtype):
            return None
        known = concrete(x)  # a call that is to be remembered ends here: what it does follows from the number
        return int(known.numpy()) if known is x else None
    if isinstance(x, np.ndarray):
        return int(x) if not x.shape and x.dtype.kind in "iu" else None
    return None


def _power_of_integers(x: Any, y: Any) -> Any:
    """x ** y by repeated squaring.

    Six binary digits of the exponent are enough: what needs more overflows, unless the base is -1, 0 or 1.
    """
    one, zero = number(y, 1), number(y, 0)
    void = bits.and_(ops.eq(x, number(x, 0)), ops.ne(y, zero))
    result: Any = type_of(y).dtype.type(1)  # not weak, even if both are
    for digit in range(6):
        odd = ops.ne(bits.and_(y, one), zero)
        result = ops.mul(result, ops.select_n(odd, number(x, 1), x))
        if digit < 5:
            x, y = ops.mul(x, x), bits.shift_right_logical(y, one)
    return ops.select_n(void, result, zero)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 ** x2. An exponent that is a known integer keeps the dtype of x1.

    Args:
      x1, x2: number[...]. Of integers to the power of an array, negative exponents give numbers of no use.

    Raises:
      TypeError: if integers are raised to a known negative power.

    With a float exponent, the derivative by x1 at 0 ** 0 is NaN; so is that by x2 where x1 is negative.

    Example:
      >>> jnp.power(jnp.arange(4), 2)
      Array([0, 1, 4, 9], dtype=int32)
    """
    exponent = _known_integer(x2)
    if exponent is not None:
        return ops.integer_pow(*numbers(x1), y=exponent)
    (x,), (y,) = promoted(x1), promoted(x2)
    if not (dtypes.is_inexact(type_of(x).dtype) and dtypes.is_integer(type_of(y).dtype)):
        x, y = numbers(x, y)
    x, y = broadcast(x, y)
    return ops.pow(x, y) if dtypes.is_inexact(type_of(x).dtype) else _power_of_integers(x, y)


pow = power


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y as a float or complex number.

    Example:
      >>> jnp.float_power(jnp.array([2, 3]), 2)
      Array([4., 9.], dtype=float32)
    """
    return ops.pow(*inexact_pair(x, y))


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """sqrt(x1 ** 2 + x2 ** 2) of real numbers, without overflow. At the origin both derivatives are 1/2.

    Example:
      >>> jnp.hypot(jnp.array([3.0]), 4.0)
      Array([5.], dtype=float32)
    """
    x, y = inexact_pair(x1, x2)
    if dtypes.is_complex(type_of(x).dtype):
        raise errors.value_error(f"got {type_of(x)} and {type_of(y)}, real numbers are required",
                                 fix="take jnp.abs of complex operands")
    x, y = ops.abs(x), ops.abs(y)
    high, low = ops.max(x, y), ops.min(x, y)
    origin = ops.eq(high, number(high, 0))
    ratio = ops.div(low, ops.select_n(origin, high, number(high, 1)))
    length = ops.mul(high, ops.sqrt(ops.add(number(high, 1), ops.square(ratio))))
    infinite = bits.or_(ops.eq(x, number(x, math.inf)), ops.eq(y, number(y, math.inf)))
    return ops.select_n(infinite, ops.select_n(origin, length, high), number(high, math.inf))


# -- rounding -----------------------------------------------------------------------------------------

def _rounded(x: ArrayLike, operation: Any) -> Array:
    """`operation` on floats; integers and booleans as they are."""
    x = operand(x)
    return as_array(x) if dtypes.kind(type_of(x).dtype) in "biu" else operation(x)


def floor(x: ArrayLike, /) -> Array:
    """The largest integer not above x, in its dtype; derivative 0.

    Example:
      >>> jnp.floor(jnp.array([0.2, -0.2]))
      Array([ 0., -1.], dtype=float32)
    """
    return _rounded(x, ops.floor)


def ceil(x: ArrayLike, /) -> Array:
    """The least integer not below x, in its dtype; derivative 0.

    Example:
      >>> jnp.ceil(jnp.array([0.2, -0.2]))
      Array([ 1., -0.], dtype=float32)
    """
    return _rounded(x, ops.ceil)


def trunc(x: ArrayLike) -> Array:
    """x without its fraction, in its dtype; derivative 0.

    Example:
      >>> jnp.trunc(jnp.array([1.7, -1.7]))
      Array([ 1., -1.], dtype=float32)
    """
    return _rounded(x, lambda x: ops.select_n(ops.lt(x, number(x, 0)), ops.floor(x), ops.ceil(x)))


def _to_even(x: Any) -> Any:
    if dtypes.is_complex(type_of(x).dtype):
        return ops.complex(_to_even(ops.real(x)), _to_even(ops.imag(x)))
    return ops.round(x, rounding_method=RoundingMethod.TO_NEAREST_EVEN)


def rint(x: ArrayLike, /) -> Array:
    """The integer nearest to x, the even one of two, as a float; derivative 0.

    Example:
      >>> jnp.rint(jnp.array([0.5, 1.5]))
      Array([0., 2.], dtype=float32)
    """
    x = operand(x)
    t = type_of(x)
    return _to_even(x if dtypes.is_inexact(t.dtype) else retype(x, dtypes.to_inexact(t.dtype)))


def _to_tens(x: Any, unit: int) -> Any:
    """Integers rounded to multiples of `unit`, the even multiple of two."""
    if unit > dtypes.iinfo(type_of(x).dtype).max:
        return ops.mul(x, number(x, 0))
    count = floor_divide(x, unit)
    twice = multiply(remainder(x, unit), 2)
    even = ops.eq(bits.and_(count, number(count, 1)), number(count, 0))
    down = bits.or_(ops.lt(twice, number(x, unit)), bits.and_(ops.eq(twice, number(x, unit)), even))
    return ops.mul(ops.select_n(down, ops.add(count, number(count, 1)), count), number(x, unit))


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """`a` to a number of decimals, half way to the even digit; derivative 0.

    Args:
      a: number[...]; of booleans, a TypeError.
      decimals: negative ones round to tens, hundreds and so on.

    Example:
      >>> jnp.round(jnp.array([0.5, 1.5, 2.67]), 1)
      Array([0.5, 1.5, 2.7], dtype=float32)
    """
    if out is not None:
        raise errors.type_error("out must be None: arrays are immutable",
                                fix="use the result: x = jnp.round(x)")
    x, places = operand(a), decimals.__index__()
    t = type_of(x)
    kind = dtypes.kind(t.dtype)
    if kind not in "iufc":
        raise errors.type_error(f"got {t}, numbers are required", fix="convert with astype")
    if kind in "iu":
        return as_array(x) if places >= 0 else _to_tens(x, 10 ** -places)
    if places == 0:
        return _to_even(x)
    # A factor of ten is an integer in float32 and may overflow in float16.
    wide = retype(x, dtypes.float32, t.weak) if kind == "f" and t.dtype.itemsize < 4 else x
    factor = number(wide, float(f"1e{builtins.abs(places)}"))
    down, up = (ops.mul, ops.div) if places > 0 else (ops.div, ops.mul)
    return retype(up(_to_even(down(wide, factor)), factor), t.dtype, t.weak)


around = round


# -- complex numbers ------------------------------------------------------------------------------------

def real(val: ArrayLike, /) -> Array:
    """The real part; of real numbers, they themselves.

    Example:
      >>> jnp.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    x = operand(val)
    return ops.real(x) if dtypes.is_complex(type_of(x).dtype) else as_array(x)


def imag(val: ArrayLike, /) -> Array:
    """The imaginary part; of real numbers, zeros.

    Example:
      >>> jnp.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    x = operand(val)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        return ops.imag(x)
    return broadcast_in_dim(number(x, 0), shape=t.shape, dims=())


def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate; of real numbers, they themselves.

    Example:
      >>> jnp.conjugate(jnp.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    x = operand(x)
    return ops.conj(x) if dtypes.is_complex(type_of(x).dtype) else as_array(x)


conj = conjugate


# -- integers -----------------------------------------------------------------------------------------

def _integers(x1: Any, x2: Any) -> Sequence[Any]:
    x, y = pair(x1, x2)
    if not dtypes.is_integer(type_of(x).dtype):
        raise errors.make(errors.OperandError, f"got {type_of(x)}, integers are required",
                          fix="convert with astype(int)")
    return x, y


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers.

    Example:
      >>> jnp.gcd(jnp.array([12, 18]), 8)
      Array([4, 2], dtype=int32)
    """
    return pairs.gcd(*_integers(x1, x2))


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of integers; 0 if either is 0.

    Example:
      >>> jnp.lcm(jnp.array([4, 6]), 10)
      Array([20, 30], dtype=int32)
    """
    x, y = _integers(x1, x2)
    product = ops.mul(ops.div(x, _nonzero_divisor(pairs.gcd(x, y))), y)
    return absolute(product)
