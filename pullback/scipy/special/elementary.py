"""Exponentials, entropies, the gamma function, the error function and the modified Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback import nn
from pullback.api.custom import custom_jvp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.nn import logsumexp
from pullback.numpy.arguments import ArrayLike, array, integer, like
from pullback.numpy.promotion import broadcast_shapes, broadcast_to, elementwise_inexact, inexact, operand
from pullback.ops import elementwise as ops
from pullback.ops import integrals, plane, special
from pullback.ops.integer import and_, or_

__all__ = [
    "beta", "betaln", "boxcox", "boxcox1p", "digamma", "entr", "erf", "erfc", "erfinv", "expit", "factorial", "gamma",
    "gammaln", "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "multigammaln", "ndtr", "ndtri", "polygamma", "rel_entr", "softmax", "xlog1py", "xlogy", "zeta",
]


def together(*args: ArrayLike) -> list[Any]:
    """Arrays of one inexact dtype and one shape."""
    values = elementwise_inexact(*args)
    shape = broadcast_shapes([type_of(v).shape for v in values])
    return [broadcast_to(array(v), shape) for v in values]


def strong(x: ArrayLike) -> Any:
    """An array of an inexact dtype that is not weak."""
    v = array(inexact(x))
    return retype(v, v.type.dtype)


# -- exponentials and logarithms ----------------------------------------------------------------------


def expit(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    Args:
      x: float[...] or complex[...]

    Example:
      >>> jsp.special.expit(jnp.array([0.0]))
      Array([0.5], dtype=float32)
    """
    return ops.logistic(inexact(x))  # type: ignore[no-any-return]


def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)), the inverse of expit; -inf at 0, inf at 1, NaN outside. At 0 and 1 the derivative is inf.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.logit(jnp.array([0.5]))
      Array([0.], dtype=float32)
    """
    v = inexact(x)
    return _logit(v)  # type: ignore[no-any-return]


@custom_jvp
def _logit(v: Any) -> Any:
    rest = ops.sub(like(v, 1), v)
    ratio = ops.div(v, rest)
    value = ops.log(ratio)
    if dtypes.is_complex(type_of(v).dtype):
        return value
    # Near 1/2, where the logarithm is small, what the ratio lost is added: 2 v - 1 is exact there.
    above = ops.sub(ratio, like(v, 1))
    lost = ops.sub(ops.div(ops.sub(ops.add(v, v), like(v, 1)), rest), above)
    return ops.add(value, ops.select_n(ops.lt(ops.abs(above), like(v, 0.5)), like(v, 0), lost))


@_logit.defjvp
def _logit_jvp(primals: Any, tangents: Any) -> Any:
    (v,), (v_dot,) = primals, tangents
    return _logit(v), ops.div(v_dot, ops.mul(v, ops.sub(like(v, 1), v)))


def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x) over the sum of exp(x) along axes, None: all; see nn.softmax.

    Example:
      >>> jsp.special.softmax(jnp.zeros(2))
      Array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """The logarithm of softmax; see nn.log_softmax.

    Example:
      >>> jsp.special.log_softmax(jnp.zeros(2)).round(3)
      Array([-0.693, -0.693], dtype=float32)
    """
    return nn.log_softmax(x, axis)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _without_0(x, y, ops.log(y))


@_xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    return _xlogy(x, y), ops.add(ops.mul(x_dot, ops.log(y)), ops.mul(y_dot, ops.div(x, y)))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return _without_0(x, y, ops.log1p(y))


@_xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    slope = ops.div(x, ops.add(y, like(y, 1)))
    return _xlog1py(x, y), ops.add(ops.mul(x_dot, ops.log1p(y)), ops.mul(y_dot, slope))


def _without_0(x: Any, y: Any, logarithm: Any) -> Any:
    """x times the logarithm; 0 where x is 0 and y a number."""
    none = and_(ops.eq(x, like(x, 0)), ops.eq(y, y))
    return ops.select_n(none, ops.mul(x, logarithm), like(x, 0))


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x * log(y); 0 where x is 0, unless y is NaN. The derivative by x is log(y) there too.

    Args:
      x, y: float[...] or complex[...]

    Example:
      >>> jsp.special.xlogy(jnp.array([0.0]), 0.0)
      Array([0.], dtype=float32)
    """
    return _xlogy(*together(x, y))


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x * log(1 + y); 0 where x is 0, unless y is NaN. The derivative by x is log(1 + y) there too.

    Args:
      x, y: float[...] or complex[...]

    Example:
      >>> jsp.special.xlog1py(jnp.array([0.0]), -1.0)
      Array([0.], dtype=float32)
    """
    return _xlog1py(*together(x, y))


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(x ** lmbda - 1) / lmbda; log(x) where lmbda is 0.

    Args:
      x, lmbda: float[...]

    Example:
      >>> jsp.special.boxcox(jnp.array([2.0]), 1.0)
      Array([1.], dtype=float32)
    """
    v, power = together(x, lmbda)
    return _boxcox(ops.log(v), power)  # type: ignore[no-any-return]


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """boxcox of 1 + x, exact for small x.

    Args:
      x, lmbda: float[...]

    Example:
      >>> jsp.special.boxcox1p(jnp.array([2.0]), 1.0)
      Array([2.], dtype=float32)
    """
    v, power = together(x, lmbda)
    return _boxcox(ops.log1p(v), power)  # type: ignore[no-any-return]


def _boxcox(logarithm: Any, power: Any) -> Any:
    none = ops.eq(power, like(power, 0))
    safe = ops.select_n(none, power, like(power, 1))
    return ops.select_n(none, ops.div(ops.expm1(ops.mul(safe, logarithm)), safe), logarithm)


# -- entropies ----------------------------------------------------------------------------------------


def entr(x: ArrayLike) -> Array:
    """-x * log(x); 0 at 0, -inf for negative numbers. At 0 the derivative is inf.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.entr(jnp.array([0.0, 1.0]))
      Array([-0., -0.], dtype=float32)
    """
    return _entr(array(inexact(x)))


@custom_jvp
def _entr(x: Any) -> Any:
    return ops.select_n(ops.lt(x, like(x, 0)), ops.neg(_without_0(x, x, ops.log(x))), like(x, -math.inf))


@_entr.defjvp
def _entr_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (x_dot,) = primals, tangents
    return _entr(x), ops.mul(x_dot, ops.sub(like(x, -1), ops.log(x)))


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p * log(p / q); 0 where p is 0 and q is not negative, inf where one of them is negative or only q is 0.

    Args:
      p, q: float[...]

    Returns:
      float[...]. The derivatives are 0 where p or q is not positive.

    Example:
      >>> jsp.special.rel_entr(jnp.array([0.5]), jnp.array([0.5]))
      Array([0.], dtype=float32)
    """
    v, w = together(p, q)
    zero = like(v, 0)
    positive = and_(ops.gt(v, zero), ops.gt(w, zero))
    none = and_(ops.eq(v, zero), ops.ge(w, zero))
    safe, beside = (ops.select_n(positive, like(x, 1), x) for x in (v, w))
    inside = ops.mul(safe, ops.sub(ops.log(safe), ops.log(beside)))
    return ops.select_n(positive, ops.select_n(none, like(v, math.inf), zero), inside)  # type: ignore[no-any-return]


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p * log(p / q) - p + q; see rel_entr.

    Args:
      p, q: float[...]

    Example:
      >>> jsp.special.kl_div(jnp.array([0.5]), jnp.array([0.5]))
      Array([0.], dtype=float32)
    """
    v, w = together(p, q)
    return ops.add(ops.sub(rel_entr(v, w), v), w)  # type: ignore[no-any-return]


# -- the gamma function and its kin -------------------------------------------------------------------


def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function; inf at 0 and negative integers.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.gammaln(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    return special.lgamma(inexact(x))  # type: ignore[no-any-return]


def digamma(x: ArrayLike) -> Array:
    """The derivative of gammaln; NaN at negative integers.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.digamma(jnp.array([1.0])).round(3)
      Array([-0.577], dtype=float32)
    """
    return special.digamma(inexact(x))  # type: ignore[no-any-return]


def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function; NaN at negative integers, of 0 that of 0 itself. The derivative is 0.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.gammasgn(jnp.array([-0.5, 2.0]))
      Array([-1.,  1.], dtype=float32)
    """
    v = strong(x)
    below = ops.floor(v)
    odd = ops.ne(ops.rem(below, like(v, 2)), like(v, 0))
    negative = ops.select_n(odd, like(v, 1), like(v, -1))
    negative = ops.select_n(ops.eq(below, v), negative, like(v, math.nan))
    # 1 / -0.0 is -inf; NaN is neither.
    of_zero = ops.sign(ops.div(like(v, 1), v))
    signs = ops.select_n(ops.lt(v, like(v, 0)), like(v, 1), negative)
    signs = ops.select_n(ops.eq(v, like(v, 0)), signs, of_zero)
    return ops.select_n(ops.eq(v, v), v, signs)  # type: ignore[no-any-return]


def gamma(x: ArrayLike) -> Array:
    """The gamma function: (x - 1)! for positive integers; NaN at negative ones.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> jsp.special.gamma(jnp.array([4.0])).round(3)
      Array([6.], dtype=float32)
    """
    v = strong(x)
    if dtypes.is_complex(v.type.dtype):
        return ops.exp(plane.loggamma(v))  # type: ignore[no-any-return]
    return ops.mul(gammasgn(v), ops.exp(special.lgamma(v)))  # type: ignore[no-any-return]


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n! = gamma(n + 1), also between the integers; 0 for negative numbers.

    Args:
      n: float[...]
      exact: False; exact integers of any size are no array.

    Example:
      >>> jsp.special.factorial(jnp.array([3.0])).round(3)
      Array([6.], dtype=float32)
    """
    if exact:
        raise errors.value_error("exact is True; arrays hold no integers of any size", fix="use math.factorial")
    v = inexact(n)
    value = ops.exp(special.lgamma(ops.add(v, like(v, 1))))
    return ops.select_n(ops.lt(v, like(v, 0)), value, like(v, 0))  # type: ignore[no-any-return]


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of digamma.

    Args:
      n: int[...], from 0. There is no derivative by it.
      x: float[...]. Below about -8, where n is not 0, real jax's results are wrong; these are not.

    Raises:
      ValueError: if `n` is not of integers.

    Example:
      >>> jsp.special.polygamma(1, jnp.array([1.0])).round(3)
      Array([1.645], dtype=float32)
    """
    order = operand(n)
    if not dtypes.is_integer(type_of(order).dtype):
        raise errors.value_error(f"n is {type_of(order)}, integers are required", fix="convert it with astype(int)")
    return special.polygamma(*together(order, x))  # type: ignore[no-any-return]


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """The Hurwitz zeta function: the sum over n >= 0 of (n + q) ** -x.

    Args:
      x: float[...], greater than 1.
      q: float[...]; None: 1, Riemann's zeta function. Below 0, of whole x; below about -8 real jax's results are wrong,
        and these are SciPy's.

    Example:
      >>> jsp.special.zeta(2.0, 1.0).round(3).item()
      1.6449999809265137
    """
    return special.zeta(*together(x, 1 if q is None else q))  # type: ignore[no-any-return]


def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """The logarithm of the multivariate gamma function.

    Args:
      a: float[...], greater than (d - 1) / 2
      d: a known int from 1: the dimension.

    Example:
      >>> jsp.special.multigammaln(jnp.array([2.0]), 1).round(3)
      Array([0.], dtype=float32)
    """
    v, count = array(inexact(a)), integer(d, "d")
    if count < 1:
        raise errors.value_error(f"d is {count}, at least 1 is required", fix="pass the dimension of the matrices")
    total = like(v, count * (count - 1) / 4 * math.log(math.pi))
    for i in range(count):
        total = ops.add(special.lgamma(ops.sub(v, like(v, i / 2))), total)
    return retype(total, type_of(total).dtype)  # type: ignore[no-any-return]


_LARGE = 8.0  # from here on, three terms of Stirling's series have all digits of float32, seven those of float64


def _stirling_rest(x: Any) -> Any:
    """lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2) for x of at least 8: 1/(12 x) - 1/(360 x**3) + ..."""
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
    inverse = ops.div(like(x, 1), x)
    square = ops.square(inverse)
    total: Any = like(x, terms[-1])
    for term in terms[-2::-1]:
        total = ops.add(ops.mul(total, square), like(x, term))
    return ops.mul(total, inverse)


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the absolute value of the beta function, without the cancellation of large gammaln.

    Args:
      a, b: float[...]

    Source: Stirling's series, DLMF 5.11.1.

    Example:
      >>> jsp.special.betaln(1.0, 1.0).round(3).item()
      0.0
    """
    v, w = together(a, b)
    small, large = ops.min(v, w), ops.max(v, w)
    plain = ops.sub(ops.add(special.lgamma(v), special.lgamma(w)), special.lgamma(ops.add(v, w)))
    # Where `large` is large: lgamma(small), and lgamma(large) - lgamma(small + large) by Stirling's series.
    bound = like(v, _LARGE)
    is_large = and_(and_(ops.ge(large, bound), ops.ge(ops.add(v, w), bound)), ops.lt(large, like(v, math.inf)))
    y = ops.select_n(is_large, bound, large)
    x = ops.select_n(is_large, like(v, 1), small)
    total = ops.add(x, y)
    rest = ops.sub(_stirling_rest(y), _stirling_rest(total))
    ratio = ops.log1p(ops.div(x, y))
    one_large = ops.add(ops.sub(special.lgamma(x), ops.mul(ops.sub(y, like(y, 0.5)), ratio)),
                        ops.add(ops.mul(x, ops.sub(like(x, 1), ops.log(total))), rest))
    # Where both are, lgamma(small) has no digits to spare either.
    safe = ops.max(x, bound)
    both_large = ops.add(
        ops.sub(ops.mul(ops.sub(safe, like(v, 0.5)), ops.log(ops.div(safe, total))), ops.mul(y, ratio)),
        ops.add(ops.add(rest, _stirling_rest(safe)), ops.sub(like(v, 0.5 * math.log(2 * math.pi)),
                                                             ops.mul(like(v, 0.5), ops.log(y)))))
    stirling = ops.select_n(ops.ge(x, bound), one_large, both_large)
    endless = and_(ops.eq(large, like(v, math.inf)), ops.gt(small, like(v, 0)))
    value = ops.select_n(is_large, plain, stirling)
    return ops.select_n(endless, value, like(v, -math.inf))  # type: ignore[no-any-return]


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function: gamma(a) * gamma(b) / gamma(a + b).

    Args:
      a, b: float[...]

    Example:
      >>> jsp.special.beta(1.0, 2.0).round(3).item()
      0.5
    """
    v, w = (strong(x) for x in together(a, b))
    sign = ops.mul(ops.mul(gammasgn(v), gammasgn(w)), gammasgn(ops.add(v, w)))
    return ops.mul(sign, ops.exp(betaln(v, w)))  # type: ignore[no-any-return]


# -- the error function and the normal distribution ---------------------------------------------------


def erf(x: ArrayLike) -> Array:
    """The error function.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.erf(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return special.erf(inexact(x))  # type: ignore[no-any-return]


def erfc(x: ArrayLike) -> Array:
    """1 - erf(x), exact where erf(x) is near 1.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.erfc(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return special.erfc(inexact(x))  # type: ignore[no-any-return]


def erfinv(x: ArrayLike) -> Array:
    """The inverse of erf; NaN beyond -1 and 1.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.erfinv(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return special.erf_inv(inexact(x))  # type: ignore[no-any-return]


def _in_wide(function: Callable[[Any], Any], x: ArrayLike) -> Any:
    """`function` of a strong array, of float16 and bfloat16 computed in float32."""
    v = strong(x)
    dtype = v.type.dtype
    return retype(function(retype(v, dtypes.float32)), dtype) if dtype.itemsize < 4 else function(v)


def ndtr(x: ArrayLike) -> Array:
    """The probability that a standard normal number is at most x.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.ndtr(jnp.array([0.0]))
      Array([0.5], dtype=float32)
    """
    return _in_wide(_ndtr, x)  # type: ignore[no-any-return]


def _ndtr(v: Any) -> Any:
    return ops.mul(like(v, 0.5), special.erfc(ops.mul(v, like(v, -math.sqrt(0.5)))))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of ndtr, exact far out on both sides.

    Args:
      x: float[...]
      series_order: how many terms of the asymptotic series are taken far below 0, at least 0.

    Source: Abramowitz and Stegun, 26.2.12.

    Example:
      >>> jsp.special.log_ndtr(jnp.array([0.0])).round(3)
      Array([-0.693], dtype=float32)
    """
    order = integer(series_order, "series_order")
    if order < 0:
        raise errors.value_error(f"series_order is {order}, at least 0 is required", fix="leave it out")
    return _in_wide(lambda v: _log_ndtr(v, order), x)  # type: ignore[no-any-return]


def _log_ndtr(v: Any, order: int) -> Any:
    low = -20.0 if v.type.dtype == dtypes.float64 else -10.0
    above, below = ops.gt(v, like(v, 0)), ops.lt(v, like(v, low))
    # Each branch gets a number it can take where another one is chosen, so that no derivative is NaN.
    upper = ops.log1p(ops.neg(_ndtr(ops.neg(ops.max(v, like(v, 0))))))
    # Not clamp, whose derivative at the end 0 is 0.
    middle = ops.log(_ndtr(ops.select_n(or_(above, below), v, like(v, low))))
    far = ops.min(v, like(v, low))
    inverse = ops.div(like(v, 1), ops.square(far))
    total: Any = like(v, 1)
    for n in range(order, 0, -1):  # 1 - 1/x**2 (1 - 3/x**2 (1 - 5/x**2 ...
        total = ops.sub(like(v, 1), ops.mul(ops.mul(inverse, like(v, 2 * n - 1)), total))
    lower = ops.sub(ops.mul(ops.square(far), like(v, -0.5)), ops.log(ops.neg(far)))
    lower = ops.add(ops.sub(lower, like(v, 0.5 * math.log(2 * math.pi))), ops.log(total))
    return ops.select_n(above, ops.select_n(below, middle, lower), upper)


def ndtri(p: ArrayLike) -> Array:
    """The inverse of ndtr: -inf at 0, inf at 1, where the derivative is inf; NaN outside.

    Args:
      p: float[...]

    Example:
      >>> jsp.special.ndtri(jnp.array([0.5]))
      Array([0.], dtype=float32)
    """
    return integrals.ndtri(strong(p))  # type: ignore[no-any-return]


# -- Bessel functions ---------------------------------------------------------------------------------


def i0e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, times exp(-|x|).

    Args:
      x: float[...]

    Example:
      >>> jsp.special.i0e(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    return special.bessel_i0e(inexact(x))  # type: ignore[no-any-return]


def i1e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1, times exp(-|x|).

    Args:
      x: float[...]

    Example:
      >>> jsp.special.i1e(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return special.bessel_i1e(inexact(x))  # type: ignore[no-any-return]


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.i0(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    v = inexact(x)
    return ops.mul(_growth(v), special.bessel_i0e(v))  # type: ignore[no-any-return]


def _growth(v: Any) -> Any:
    """exp(|v|), with derivative 0 at 0, where that of abs is 1."""
    return ops.exp(ops.mul(v, ops.sign(v)))


def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.i1(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    v = inexact(x)
    return ops.mul(_growth(v), special.bessel_i1e(v))  # type: ignore[no-any-return]
