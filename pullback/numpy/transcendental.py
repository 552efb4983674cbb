"""Exponentials, logarithms, trigonometric and hyperbolic functions, element by element.

Operands are promoted to one dtype and broadcast to one shape; of integers and booleans, floats are made first.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import dtypes
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy.promotion import as_array, inexact, inexact_pair
from pullback.ops import elementwise as ops
from pullback.ops import pairs
from pullback.ops.elementwise import RoundingMethod, number

__all__ = [
    "acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin",
    "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "log", "log10",
    "log1p", "log2", "logaddexp", "logaddexp2", "rad2deg", "radians", "sin", "sinh", "tan", "tanh",
]

ArrayLike = Any


# -- exponentials and logarithms ------------------------------------------------------------------------

def exp(x: ArrayLike, /) -> Array:
    """e ** x.

    Example:
      >>> jnp.exp(jnp.array([0.0, 1.0]))
      Array([1.      , 2.718282], dtype=float32)
    """
    return ops.exp(inexact(x))


def exp2(x: ArrayLike, /) -> Array:
    """2 ** x.

    Example:
      >>> jnp.exp2(jnp.array([3.0]))
      Array([8.], dtype=float32)
    """
    return ops.exp2(inexact(x))


def expm1(x: ArrayLike, /) -> Array:
    """e ** x - 1, exact for small x.

    Example:
      >>> jnp.expm1(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.expm1(inexact(x))


def log(x: ArrayLike, /) -> Array:
    """The natural logarithm of x; NaN of negative real numbers, -inf of 0.

    Example:
      >>> jnp.log(jnp.array([1.0, 0.0]))
      Array([  0., -inf], dtype=float32)
    """
    return ops.log(inexact(x))


def log1p(x: ArrayLike, /) -> Array:
    """log(1 + x), exact for small x.

    Example:
      >>> jnp.log1p(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.log1p(inexact(x))


def log2(x: ArrayLike, /) -> Array:
    """The logarithm of x to the base 2.

    Example:
      >>> jnp.log2(jnp.array([8.0]))
      Array([3.], dtype=float32)
    """
    return ops.log2(inexact(x))


def log10(x: ArrayLike, /) -> Array:
    """The logarithm of x to the base 10.

    Example:
      >>> jnp.log10(jnp.array([1.0, 1000.0]))
      Array([0., 3.], dtype=float32)
    """
    x = as_array(inexact(x))
    x = retype(x, x.type.dtype)  # the result is of no weak type
    out, share = ops.log(x), 1 / math.log(10)
    if dtypes.is_complex(x.type.dtype):  # by parts: an infinite one leaves the other alone
        return ops.complex(*[ops.mul(y, number(y, share)) for y in (ops.real(out), ops.imag(out))])
    return ops.mul(out, number(x, share))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """log(exp(x1) + exp(x2)), without overflow. By an operand that is inf the derivative is 1.

    Example:
      >>> jnp.logaddexp(jnp.array([0.0]), -jnp.inf)
      Array([0.], dtype=float32)
    """
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
    """log2(2 ** x1 + 2 ** x2), without overflow. By an operand that is inf the derivative is 1.

    Example:
      >>> jnp.logaddexp2(jnp.array([3.0]), 3.0)
      Array([4.], dtype=float32)
    """
    x, y = inexact_pair(x1, x2)
    if not dtypes.is_complex(type_of(x).dtype):
        return pairs.logaddexp2(x, y)
    rate = number(x, math.log(2))
    return ops.div(logaddexp(ops.mul(x, rate), ops.mul(y, rate)), rate)


# -- trigonometric and hyperbolic -----------------------------------------------------------------------

def sin(x: ArrayLike, /) -> Array:
    """The sine of x in radians.

    Example:
      >>> jnp.sin(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.sin(inexact(x))


def cos(x: ArrayLike, /) -> Array:
    """The cosine of x in radians.

    Example:
      >>> jnp.cos(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return ops.cos(inexact(x))


def tan(x: ArrayLike, /) -> Array:
    """The tangent of x in radians.

    Example:
      >>> jnp.tan(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.tan(inexact(x))


def arcsin(x: ArrayLike, /) -> Array:
    """The inverse sine in radians; NaN of real numbers outside -1 to 1.

    Example:
      >>> jnp.arcsin(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.asin(inexact(x))


def arccos(x: ArrayLike, /) -> Array:
    """The inverse cosine in radians; NaN of real numbers outside -1 to 1.

    Example:
      >>> jnp.arccos(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    return ops.acos(inexact(x))


def arctan(x: ArrayLike, /) -> Array:
    """The inverse tangent in radians.

    Example:
      >>> jnp.arctan(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.atan(inexact(x))


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle in radians of the point with ordinate x1 and abscissa x2; derivative NaN at the origin.

    Example:
      >>> jnp.arctan2(jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]))
      Array([0.       , 1.5707964], dtype=float32)
    """
    return ops.atan2(*inexact_pair(x1, x2))


def sinh(x: ArrayLike, /) -> Array:
    """The hyperbolic sine.

    Example:
      >>> jnp.sinh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.sinh(inexact(x))


def cosh(x: ArrayLike, /) -> Array:
    """The hyperbolic cosine.

    Example:
      >>> jnp.cosh(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return ops.cosh(inexact(x))


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent.

    Example:
      >>> jnp.tanh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.tanh(inexact(x))


def arcsinh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic sine.

    Example:
      >>> jnp.arcsinh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.asinh(inexact(x))


def arccosh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic cosine; NaN of real numbers below 1.

    Example:
      >>> jnp.arccosh(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    return ops.acosh(inexact(x))


def arctanh(x: ArrayLike, /) -> Array:
    """The inverse hyperbolic tangent; NaN of real numbers outside -1 to 1.

    Example:
      >>> jnp.arctanh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.atanh(inexact(x))


asin, acos, atan, atan2 = arcsin, arccos, arctan, arctan2
asinh, acosh, atanh = arcsinh, arccosh, arctanh


def deg2rad(x: ArrayLike, /) -> Array:
    """Degrees as radians.

    Example:
      >>> jnp.deg2rad(jnp.array([180.0]))
      Array([3.1415927], dtype=float32)
    """
    x = inexact(x)
    return ops.mul(x, number(x, math.pi / 180))


def rad2deg(x: ArrayLike, /) -> Array:
    """Radians as degrees.

    Example:
      >>> jnp.rad2deg(jnp.array([jnp.pi]))
      Array([180.], dtype=float32)
    """
    x = inexact(x)
    return ops.mul(x, number(x, 180 / math.pi))


radians, degrees = deg2rad, rad2deg


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of a complex number in radians, or in degrees; of a real one 0 or pi.

    Example:
      >>> jnp.angle(jnp.array([1.0, -1.0]), deg=True)
      Array([  0., 180.], dtype=float32)
    """
    x = as_array(inexact(z))
    if dtypes.is_complex(x.type.dtype):
        result = ops.atan2(ops.imag(x), ops.real(x))
    else:
        x = retype(x, x.type.dtype)  # the result is of no weak type
        result = ops.atan2(number(x, 0), x)
    return rad2deg(result) if deg else result
