"""Exponentials, logarithms, roots, trigonometric, hyperbolic and special functions, element by element.

`accuracy` is checked and has no effect: there is one implementation of each function. Dtypes other than those
named raise TypeError.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from pullback.core import errors
from pullback.core.array import Array
from pullback.core.values import value
from pullback.lax.elementwise import aligned
from pullback.ops import elementwise, special

__all__ = [
    "AccuracyMode", "Tolerance", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e",
    "bessel_i1e", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1",
    "lgamma", "log", "log1p", "logistic", "polygamma", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "zeta",
]

ArrayLike = Any


class AccuracyMode(enum.Enum):
    """How accurate a function is asked to be."""

    HIGHEST = 1
    DEFAULT = 2


class _Bounds(NamedTuple):
    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


class Tolerance(_Bounds):
    """How accurate a function is asked to be, as bounds on its error: absolute, relative, in last places."""

    __slots__ = ()

    def __new__(cls, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> Tolerance:
        if atol < 0 or rtol < 0 or ulps < 0:
            raise errors.value_error(f"got atol {atol}, rtol {rtol} and ulps {ulps}, at least 0 is required",
                                     fix="pass bounds that are not negative", op="Tolerance")
        return super().__new__(cls, atol, rtol, ulps)


def _operand(x: ArrayLike, accuracy: Tolerance | AccuracyMode | None) -> Any:
    if accuracy is not None and not isinstance(accuracy, (Tolerance, AccuracyMode)):
        raise errors.value_error(f"accuracy is {accuracy!r}, a lax.Tolerance or lax.AccuracyMode is required",
                                 fix="leave it out")
    return value(x)


# -- exponentials and logarithms ----------------------------------------------------------------------

def exp(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """e ** x.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.exp(_operand(x, accuracy))


def exp2(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """2 ** x.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.exp2(_operand(x, accuracy))


def expm1(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """e ** x - 1, exact for small x.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.expm1(_operand(x, accuracy))


def log(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The natural logarithm; NaN of negative numbers, -inf of 0.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.log(_operand(x, accuracy))


def log1p(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """log(1 + x), exact for small x.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.log1p(_operand(x, accuracy))


def logistic(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """1 / (1 + e ** -x).

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.logistic(_operand(x, accuracy))


# -- roots --------------------------------------------------------------------------------------------

def sqrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The square root; NaN of negative numbers. At 0 the derivative is inf.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.sqrt(_operand(x, accuracy))


def rsqrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """1 / sqrt(x); inf at 0.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.rsqrt(_operand(x, accuracy))


def cbrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The real cube root. At 0 the derivative is inf.

    Args:
      x: float[...]
    """
    return elementwise.cbrt(_operand(x, accuracy))


# -- trigonometric ------------------------------------------------------------------------------------

def sin(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The sine of x in radians.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.sin(_operand(x, accuracy))


def cos(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The cosine of x in radians.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.cos(_operand(x, accuracy))


def tan(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The tangent of x in radians.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.tan(_operand(x, accuracy))


def asin(x: ArrayLike) -> Array:
    """The inverse sine, in radians; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.asin(value(x))


def acos(x: ArrayLike) -> Array:
    """The inverse cosine, in radians; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.acos(value(x))


def atan(x: ArrayLike) -> Array:
    """The inverse tangent, in radians.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.atan(value(x))


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """The angle of the point (y, x), from -pi to pi. At the origin the derivative is NaN.

    Args:
      x, y: float[...] or complex[...]

    Example:
      >>> lax.atan2(1.0, -1.0)
      Array(2.3561945, dtype=float32, weak_type=True)
    """
    return elementwise.atan2(*aligned(x, y))


# -- hyperbolic ---------------------------------------------------------------------------------------

def sinh(x: ArrayLike) -> Array:
    """The hyperbolic sine.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.sinh(value(x))


def cosh(x: ArrayLike) -> Array:
    """The hyperbolic cosine.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.cosh(value(x))


def tanh(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The hyperbolic tangent.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.tanh(_operand(x, accuracy))


def asinh(x: ArrayLike) -> Array:
    """The inverse hyperbolic sine.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.asinh(value(x))


def acosh(x: ArrayLike) -> Array:
    """The inverse hyperbolic cosine; NaN of real numbers below 1.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.acosh(value(x))


def atanh(x: ArrayLike) -> Array:
    """The inverse hyperbolic tangent; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]
    """
    return elementwise.atanh(value(x))


# -- special ------------------------------------------------------------------------------------------

def erf(x: ArrayLike) -> Array:
    """The error function, 2 / sqrt(pi) times the integral of e ** -t ** 2 from 0 to x.

    Args:
      x: float[...]
    """
    return special.erf(value(x))


def erfc(x: ArrayLike) -> Array:
    """1 - erf(x), exact where erf(x) is near 1.

    Args:
      x: float[...]
    """
    return special.erfc(value(x))


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of erf; NaN beyond 1.

    Args:
      x: float[...]
    """
    return special.erf_inv(value(x))


def lgamma(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function.

    Args:
      x: float[...]
    """
    return special.lgamma(value(x))


def digamma(x: ArrayLike) -> Array:
    """The derivative of lgamma; NaN at negative integers.

    Args:
      x: float[...]
    """
    return special.digamma(value(x))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The m-th derivative of digamma at x. There is no derivative by m.

    Args:
      m: float[...], whole numbers from 0; NaN of others.
      x: float[...]
    """
    return special.polygamma(*aligned(m, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """The Hurwitz zeta function, the sum over n >= 0 of (n + q) ** -x. There is no derivative by x.

    Args:
      x: float[...], greater than 1.
      q: float[...], greater than 0.
    """
    return special.zeta(*aligned(x, q))


def bessel_i0e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, times e ** -|x|.

    Args:
      x: float[...]
    """
    return special.bessel_i0e(value(x))


def bessel_i1e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1, times e ** -|x|.

    Args:
      x: float[...]
    """
    return special.bessel_i1e(value(x))
