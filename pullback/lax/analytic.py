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
from pullback.ops import elementwise, gammas, special

__all__ = [
    "AccuracyMode", "Tolerance", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e",
    "bessel_i1e", "betainc", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1",
    "igamma", "igamma_grad_a", "igammac", "lgamma", "log", "log1p", "log2", "logistic", "polygamma",
    "random_gamma_grad", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "zeta",
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

    Example:
      >>> lax.exp(jnp.array([0.0, 1.0]))
      Array([1.      , 2.718282], dtype=float32)
    """
    return elementwise.exp(_operand(x, accuracy))


def exp2(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """2 ** x.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.exp2(jnp.array([3.0]))
      Array([8.], dtype=float32)
    """
    return elementwise.exp2(_operand(x, accuracy))


def expm1(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """e ** x - 1, exact for small x.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.expm1(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.expm1(_operand(x, accuracy))


def log(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The natural logarithm; NaN of negative numbers, -inf of 0.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.log(jnp.array([1.0, 0.0]))
      Array([  0., -inf], dtype=float32)
    """
    return elementwise.log(_operand(x, accuracy))


def log2(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The logarithm to base 2; NaN of negative numbers, -inf of 0.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.log2(jnp.array([8.0]))
      Array([3.], dtype=float32)
    """
    return elementwise.log2(_operand(x, accuracy))


def log1p(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """log(1 + x), exact for small x.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.log1p(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.log1p(_operand(x, accuracy))


def logistic(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """1 / (1 + e ** -x).

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.logistic(jnp.array([0.0]))
      Array([0.5], dtype=float32)
    """
    return elementwise.logistic(_operand(x, accuracy))


# -- roots --------------------------------------------------------------------------------------------

def sqrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The square root; NaN of negative numbers. At 0 the derivative is inf.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.sqrt(jnp.array([9.0]))
      Array([3.], dtype=float32)
    """
    return elementwise.sqrt(_operand(x, accuracy))


def rsqrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """1 / sqrt(x); inf at 0.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.rsqrt(jnp.array([4.0]))
      Array([0.5], dtype=float32)
    """
    return elementwise.rsqrt(_operand(x, accuracy))


def cbrt(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The real cube root. At 0 the derivative is inf.

    Args:
      x: float[...]

    Example:
      >>> lax.cbrt(jnp.array([27.0])).round(3)
      Array([3.], dtype=float32)
    """
    return elementwise.cbrt(_operand(x, accuracy))


# -- trigonometric ------------------------------------------------------------------------------------

def sin(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The sine of x in radians.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.sin(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.sin(_operand(x, accuracy))


def cos(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The cosine of x in radians.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.cos(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return elementwise.cos(_operand(x, accuracy))


def tan(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The tangent of x in radians.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.tan(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.tan(_operand(x, accuracy))


def asin(x: ArrayLike) -> Array:
    """The inverse sine, in radians; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.asin(jnp.array([0.0, 1.0]))
      Array([0.       , 1.5707964], dtype=float32)
    """
    return elementwise.asin(value(x))


def acos(x: ArrayLike) -> Array:
    """The inverse cosine, in radians; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.acos(jnp.array([1.0, 0.0]))
      Array([0.       , 1.5707964], dtype=float32)
    """
    return elementwise.acos(value(x))


def atan(x: ArrayLike) -> Array:
    """The inverse tangent, in radians.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.atan(jnp.array([0.0, 1.0]))
      Array([0.       , 0.7853982], dtype=float32)
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

    Example:
      >>> lax.sinh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.sinh(value(x))


def cosh(x: ArrayLike) -> Array:
    """The hyperbolic cosine.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.cosh(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return elementwise.cosh(value(x))


def tanh(x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
    """The hyperbolic tangent.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.tanh(jnp.array([0.0, jnp.inf]))
      Array([0., 1.], dtype=float32)
    """
    return elementwise.tanh(_operand(x, accuracy))


def asinh(x: ArrayLike) -> Array:
    """The inverse hyperbolic sine.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.asinh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.asinh(value(x))


def acosh(x: ArrayLike) -> Array:
    """The inverse hyperbolic cosine; NaN of real numbers below 1.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.acosh(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    return elementwise.acosh(value(x))


def atanh(x: ArrayLike) -> Array:
    """The inverse hyperbolic tangent; NaN of real numbers beyond 1.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.atanh(jnp.array([0.0, 0.5]))
      Array([0.        , 0.54930615], dtype=float32)
    """
    return elementwise.atanh(value(x))


# -- special ------------------------------------------------------------------------------------------

def erf(x: ArrayLike) -> Array:
    """The error function, 2 / sqrt(pi) times the integral of e ** -t ** 2 from 0 to x.

    Args:
      x: float[...]

    Example:
      >>> lax.erf(jnp.array([0.0, jnp.inf]))
      Array([0., 1.], dtype=float32)
    """
    return special.erf(value(x))


def erfc(x: ArrayLike) -> Array:
    """1 - erf(x), exact where erf(x) is near 1.

    Args:
      x: float[...]

    Example:
      >>> lax.erfc(jnp.array([0.0, jnp.inf]))
      Array([1., 0.], dtype=float32)
    """
    return special.erfc(value(x))


def erf_inv(x: ArrayLike) -> Array:
    """The inverse of erf; NaN beyond 1.

    Args:
      x: float[...]

    Example:
      >>> lax.erf_inv(jnp.array([0.0, 1.0]))
      Array([ 0., inf], dtype=float32)
    """
    return special.erf_inv(value(x))


def lgamma(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function.

    Args:
      x: float[...]

    Example:
      >>> lax.lgamma(jnp.array([1.0, 2.0]))
      Array([0., 0.], dtype=float32)
    """
    return special.lgamma(value(x))


def digamma(x: ArrayLike) -> Array:
    """The derivative of lgamma; NaN at negative integers.

    Args:
      x: float[...]

    Example:
      >>> lax.digamma(jnp.array([1.0])).round(4)
      Array([-0.5772], dtype=float32)
    """
    return special.digamma(value(x))


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The m-th derivative of digamma at x. There is no derivative by m.

    Args:
      m: float[...], whole numbers from 0; NaN of others.
      x: float[...]. Infinite or NaN at the poles, 0 and the negative whole numbers. Below about -8, where m is not 0,
        real jax's results are wrong; these are not.

    Returns: float[...], (-1) ** (m + 1) m! zeta(m + 1, x), for m = 0 digamma(x).

    Source: DLMF 5.15.1; of x far below 0 see zeta.

    Example:
      >>> lax.polygamma(jnp.float32(1), jnp.float32(1)).round(3).item()
      1.6449999809265137
    """
    return special.polygamma(*aligned(m, x))


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x), from 0 at x = 0 to 1.

    Args:
      a: float[...], the parameter, positive; NaN of negative ones.
      x: float[...], from 0; NaN of negative numbers.

    Differentiability: in both; by a, `igamma_grad_a`. The second derivative by a has no rule.

    Source: DLMF 8.7.1, and Gauss-Legendre sums of 8.2.1 and 8.2.2 with t = x exp(w).

    Example:
      >>> lax.igamma(2.0, 1.0)
      Array(0.26424113, dtype=float32, weak_type=True)
    """
    return gammas.igamma(*aligned(a, x))


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), with all digits where it is small.

    Args:
      a, x: float[...], as in `igamma`.

    Example:
      >>> lax.igammac(jnp.float32(1), jnp.float32(0)).item()
      1.0
    """
    return gammas.igammac(*aligned(a, x))


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of igamma by a. It has no derivatives itself.

    Args:
      a, x: float[...], as in `igamma`.
    """
    return gammas.igamma_grad_a(*aligned(a, x))


def random_gamma_grad(*args: ArrayLike) -> Array:
    """dx/da of a number x of the gamma distribution with parameter a, whose probability P(a, x) is kept.

    Args:
      *args: two: a, the parameter, float[...], positive; and x, float[...], numbers of the distribution.

    Returns: float[...], -igamma_grad_a(a, x) over the density. It has no derivatives itself.

    Source: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients" (NeurIPS 2018).
    """
    if len(args) != 2:
        raise errors.type_error(f"got {len(args)} arguments, two are required: the parameter and the numbers",
                                op="random_gamma_grad", fix="write random_gamma_grad(a, x)")
    return gammas.random_gamma_grad(*aligned(*args))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function I_x(a, b), from 0 at x = 0 to 1 at x = 1.

    Args:
      a, b: float[...], positive; NaN of negative ones. There is no derivative by them.
      x: float[...], from 0 to 1; NaN outside.

    Source: the continued fraction DLMF 8.17.22.

    Example:
      >>> lax.betainc(2.0, 3.0, 0.5)
      Array(0.6875, dtype=float32, weak_type=True)
    """
    return gammas.betainc(*aligned(a, b, x))


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """The Hurwitz zeta function, the sum over n >= 0 of (n + q) ** -x.

    Args:
      x: float[...], greater than 1.
      q: float[...]. Below 0, of whole x, else NaN, and there the derivative by x is NaN; below about -8 real jax's
        results are wrong, and these are SciPy's.

    Source: of q far below 0, the sum over all whole n, which has a period of 1 in q (DLMF 25.11.1, 5.15.6).

    Example:
      >>> lax.zeta(jnp.float32(2), jnp.float32(1)).round(4).item()
      1.6448999643325806
    """
    return special.zeta(*aligned(x, q))


def bessel_i0e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, times e ** -|x|.

    Args:
      x: float[...]

    Example:
      >>> lax.bessel_i0e(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return special.bessel_i0e(value(x))


def bessel_i1e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1, times e ** -|x|.

    Args:
      x: float[...]

    Example:
      >>> lax.bessel_i1e(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return special.bessel_i1e(value(x))
