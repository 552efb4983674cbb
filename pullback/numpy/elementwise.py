"""Functions applied element by element: arithmetic, powers, exponentials, trigonometry, rounding.

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
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy.promotion import as_array, broadcast, inexact, inexact_pair, operand, pair, promoted
from pullback.ops import elementwise as ops
from pullback.ops import integer as bits
from pullback.ops import pairs
from pullback.ops.elementwise import RoundingMethod, number
from pullback.ops.move import broadcast_in_dim

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "around", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clip", "conj",
    "conjugate", "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "exp", "exp2", "expm1", "fabs",
    "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "hypot", "imag", "lcm", "log",
    "log10", "log1p", "log2", "logaddexp", "logaddexp2", "maximum", "minimum", "mod", "multiply", "negative",
    "positive", "pow", "power", "rad2deg", "radians", "real", "reciprocal", "remainder", "rint", "round",
    "sign", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "true_divide", "trunc",
]

ArrayLike = Any


# -- arithmetic ---------------------------------------------------------------------------------------

def numbers(*args: ArrayLike) -> Sequence[Any]:
    """Operands promoted to one dtype of numbers: booleans count as the default integer."""
    values = promoted(*args)
    if type_of(values[0]).dtype == dtypes.bool_:
        return [retype(v, dtypes.canonicalize(int)) for v in values]
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
    """x - y of numbers; of booleans, use `x ^ y`."""
    return ops.sub(*pair(x, y))


def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * y; of booleans, whether both are true."""
    x, y = pair(x, y)
    return ops.mul(x, y) if type_of(x).dtype != dtypes.bool_ else bits.and_(x, y)


def divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 / x2, a float or complex number; by 0, infinite or NaN."""
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
    """x1 - x2 * floor(x1 / x2), which has the sign of x2; by 0 NaN, of integers 0."""
    x, y = broadcast(*numbers(x1, x2))
    kind = dtypes.kind(type_of(x).dtype)
    if kind in "iu":
        y = _nonzero_divisor(y)
    rest = ops.rem(x, y)
    return rest if kind == "u" else ops.select_n(_opposed(rest, y), rest, ops.add(rest, y))


mod = remainder


def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """(floor_divide(x1, x2), remainder(x1, x2))."""
    return floor_divide(x1, x2), remainder(x1, x2)


def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The remainder of x1 / x2 rounded towards zero, which has the sign of x1; by 0 NaN, of integers 0."""
    x, y = broadcast(*numbers(x1, x2))
    return ops.rem(x, y if dtypes.kind(type_of(x).dtype) not in "iu" else _nonzero_divisor(y))


def negative(x: ArrayLike, /) -> Array:
    """-x of numbers; of booleans, use `~x`."""
    return ops.neg(operand(x))


def positive(x: ArrayLike, /) -> Array:
    """x itself."""
    return as_array(operand(x))


def absolute(x: ArrayLike, /) -> Array:
    """|x|. At 0 the derivative is 1, for complex x it is 0."""
    x = operand(x)
    return as_array(x) if dtypes.kind(type_of(x).dtype) in "bu" else ops.abs(x)


abs = absolute


def fabs(x: ArrayLike, /) -> Array:
    """|x| of real numbers, as a float."""
    x = inexact(x)
    if dtypes.is_complex(type_of(x).dtype):
        raise errors.type_error(f"got {type_of(x)}, real numbers are required", fix="use jnp.abs")
    return ops.abs(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 by the sign of x; x / |x| of complex numbers; derivative 0."""
    return ops.sign(operand(x))


def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The larger of x and y, NaN if either is; complex numbers by real, then imaginary part.

    Where they are equal each gets half the derivative.
    """
    return ops.max(*pair(x, y))


def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The smaller of x and y, NaN if either is; where they are equal each gets half the derivative."""
    return ops.min(*pair(x, y))


def _one_known(x: Any, y: Any, extreme: Any) -> Any:
    """The larger (or smaller) of two numbers, or the one that is not NaN; y where they are equal."""
    x, y = pair(x, y)
    if not dtypes.is_inexact(type_of(x).dtype):
        return extreme(x, y)
    first = bits.and_(ops.eq(extreme(x, y), x), ops.ne(x, y))
    return ops.select_n(bits.or_(first, ops.ne(y, y)), y, x)


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of x1 and x2, the other where one is NaN; where they are equal x2 gets the derivative."""
    return _one_known(x1, x2, ops.max)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of x1 and x2, the other where one is NaN; where they are equal x2 gets the derivative."""
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
    """x * x."""
    return ops.square(*numbers(x))


def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x."""
    return ops.integer_pow(inexact(x), y=-1)


def sqrt(x: ArrayLike, /) -> Array:
    """The square root of x; NaN of negative real numbers. At 0 the derivative is infinite."""
    return ops.sqrt(inexact(x))


def cbrt(x: ArrayLike, /) -> Array:
    """The real cube root of real numbers. At 0 the derivative is infinite."""
    return ops.cbrt(inexact(x))


def _known_integer(x: Any) -> int | None:
    """The exponent that is known as an integer, however it is given."""
    if isinstance(x, (int, np.integer)):
        return int(x)
    if isinstance(x, ConcreteArray):
        return int(x.numpy()) if not x.type.shape and dtypes.is_integer(x.type.dtype) else None
    if isinstance(x, np.ndarray):
        return int(x) if not x.shape and x.dtype.kind in "iu" else None
    return None


def _power_of_integers(x: Any, y: Any) -> Any:
    """x ** y by repeated squaring.

    Six binary digits of the exponent are enough: what needs more overflows, unless the base is -1, 0 or 1.
    """
    one, zero = number(y, 1), number(y, 0)
    void = bits.and_(ops.eq(x, number(x, 0)), ops.ne(y, zero))
    result: Any = one  # of the dtype of both, and weak only if both are
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
    x, y = broadcast(*numbers(x1, x2))
    return ops.pow(x, y) if dtypes.is_inexact(type_of(x).dtype) else _power_of_integers(x, y)


pow = power


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y as a float or complex number."""
    return ops.pow(*inexact_pair(x, y))


def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """sqrt(x1 ** 2 + x2 ** 2) of real numbers, without overflow. At the origin both derivatives are 1/2."""
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


# -- exponentials and logarithms ------------------------------------------------------------------------

def exp(x: ArrayLike, /) -> Array:
    """e ** x."""
    return ops.exp(inexact(x))


def exp2(x: ArrayLike, /) -> Array:
    """2 ** x."""
    return ops.exp2(inexact(x))


def expm1(x: ArrayLike, /) -> Array:
    """e ** x - 1, exact for small x."""
    return ops.expm1(inexact(x))


def log(x: ArrayLike, /) -> Array:
    """The natural logarithm of x; NaN of negative real numbers, -inf of 0."""
    return ops.log(inexact(x))


def log1p(x: ArrayLike, /) -> Array:
    """log(1 + x), exact for small x."""
    return ops.log1p(inexact(x))


def log2(x: ArrayLike, /) -> Array:
    """The logarithm of x to the base 2."""
    x = inexact(x)
    return ops.div(ops.log(x), number(x, math.log(2)))


def log10(x: ArrayLike, /) -> Array:
    """The logarithm of x to the base 10."""
    x = inexact(x)
    return ops.mul(ops.log(x), number(x, 1 / math.log(10)))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow. By an operand that is inf the derivative is 1."""
    x, y = inexact_pair(x1, x2)
    if not dtypes.is_complex(type_of(x).dtype):
        return pairs.logaddexp(x, y)
    ordered = ops.ge(ops.real(x), ops.real(y))
    high, low = ops.select_n(ordered, y, x), ops.select_n(ordered, x, y)
    difference = ops.select_n(ops.eq(high, low), ops.sub(low, high), number(low, 0))
    total = ops.add(high, ops.log1p(ops.exp(difference)))
    turn = ops.imag(total)
    turns = ops.round(ops.div(turn, number(turn, 2 * math.pi)),
                      rounding_method=RoundingMethod.TO_NEAREST_EVEN)
    return ops.complex(ops.real(total), ops.sub(turn, ops.mul(turns, number(turn, 2 * math.pi))))


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log2(2 ** x1 + 2 ** x2), without overflow. By an operand that is inf the derivative is 1."""
    x, y = inexact_pair(x1, x2)
    if not dtypes.is_complex(type_of(x).dtype):
        return pairs.logaddexp2(x, y)
    rate = number(x, math.log(2))
    return ops.div(logaddexp(ops.mul(x, rate), ops.mul(y, rate)), rate)


# -- trigonometric and hyperbolic -----------------------------------------------------------------------

def sin(x: ArrayLike, /) -> Array:
    """The sine of x in radians."""
    return ops.sin(inexact(x))


def cos(x: ArrayLike, /) -> Array:
    """The cosine of x in radians."""
    return ops.cos(inexact(x))


def tan(x: ArrayLike, /) -> Array:
    """The tangent of x in radians."""
    return ops.tan(inexact(x))


def arcsin(x: ArrayLike, /) -> Array:
    """The inverse sine in radians; NaN of real numbers outside -1 to 1."""
    return ops.asin(inexact(x))


def arccos(x: ArrayLike, /) -> Array:
    """The inverse cosine in radians; NaN of real numbers outside -1 to 1."""
    return ops.acos(inexact(x))


def arctan(x: ArrayLike, /) -> Array:
    """The inverse tangent in radians."""
    return ops.atan(inexact(x))


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle in radians of the point with ordinate x1 and abscissa x2; derivative NaN at the origin."""
    return ops.atan2(*inexact_pair(x1, x2))


def sinh(x: ArrayLike, /) -> Array:
    """The hyperbolic sine."""
    return ops.sinh(inexact(x))


def cosh(x: ArrayLike, /) -> Array:
    """The hyperbolic cosine."""
    return ops.cosh(inexact(x))


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent."""
    return ops.tanh(inexact(x))


def arcsinh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic sine."""
    return ops.asinh(inexact(x))


def arccosh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic cosine; NaN of real numbers below 1."""
    return ops.acosh(inexact(x))


def arctanh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic tangent; NaN of real numbers outside -1 to 1."""
    return ops.atanh(inexact(x))


asin, acos, atan, atan2 = arcsin, arccos, arctan, arctan2
asinh, acosh, atanh = arcsinh, arccosh, arctanh


def deg2rad(x: ArrayLike, /) -> Array:
    """Degrees as radians."""
    x = inexact(x)
    return ops.mul(x, number(x, math.pi / 180))


def rad2deg(x: ArrayLike, /) -> Array:
    """Radians as degrees."""
    x = inexact(x)
    return ops.mul(x, number(x, 180 / math.pi))


radians, degrees = deg2rad, rad2deg


# -- rounding -----------------------------------------------------------------------------------------

def _rounded(x: ArrayLike, operation: Any) -> Array:
    """`operation` on floats; integers and booleans as they are."""
    x = operand(x)
    return as_array(x) if dtypes.kind(type_of(x).dtype) in "biu" else operation(x)


def floor(x: ArrayLike, /) -> Array:
    """The largest integer not above x, in its dtype; derivative 0."""
    return _rounded(x, ops.floor)


def ceil(x: ArrayLike, /) -> Array:
    """The least integer not below x, in its dtype; derivative 0."""
    return _rounded(x, ops.ceil)


def trunc(x: ArrayLike) -> Array:
    """x without its fraction, in its dtype; derivative 0."""
    return _rounded(x, lambda x: ops.select_n(ops.lt(x, number(x, 0)), ops.floor(x), ops.ceil(x)))


def _to_even(x: Any) -> Any:
    if dtypes.is_complex(type_of(x).dtype):
        return ops.complex(_to_even(ops.real(x)), _to_even(ops.imag(x)))
    return ops.round(x, rounding_method=RoundingMethod.TO_NEAREST_EVEN)


def rint(x: ArrayLike, /) -> Array:
    """The integer nearest to x, the even one of two, as a float; derivative 0."""
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
    """The real part; of real numbers, they themselves."""
    x = operand(val)
    return ops.real(x) if dtypes.is_complex(type_of(x).dtype) else as_array(x)


def imag(val: ArrayLike, /) -> Array:
    """The imaginary part; of real numbers, zeros."""
    x = operand(val)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        return ops.imag(x)
    return broadcast_in_dim(number(x, 0), shape=t.shape, dims=())


def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate; of real numbers, they themselves."""
    x = operand(x)
    return ops.conj(x) if dtypes.is_complex(type_of(x).dtype) else as_array(x)


conj = conjugate


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of a complex number in radians, or in degrees; of a real one 0 or pi."""
    x = inexact(z)
    complex_valued = dtypes.is_complex(type_of(x).dtype)
    result = ops.atan2(ops.imag(x), ops.real(x)) if complex_valued else ops.atan2(number(x, 0), x)
    return rad2deg(result) if deg else result


# -- integers -----------------------------------------------------------------------------------------

def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers."""
    return pairs.gcd(*pair(x1, x2))


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of integers; 0 if either is 0."""
    x, y = pair(x1, x2)
    product = ops.mul(ops.div(x, _nonzero_divisor(pairs.gcd(x, y))), y)
    return absolute(product)
