"""Incomplete gamma and beta functions, integrals, hypergeometric functions, functions of whole orders.

Eagerly the values are SciPy's. Compiled they come from the algorithms named in `pullback.ops`, in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import type_of
from pullback.numpy.arguments import ArrayLike, array, integer, like
from pullback.numpy.promotion import broadcast_shapes, broadcast_to, inexact, operand
from pullback.ops import elementwise as ops
from pullback.ops import gammas, hypergeometric, integrals, orders, plane, special
from pullback.ops.convert import convert_element_type
from pullback.ops.integer import and_
from pullback.ops.move import broadcast_in_dim, concatenate
from pullback.scipy.special.elementary import strong, together

__all__ = [
    "bernoulli", "bessel_jn", "betainc", "comb", "dawsn", "erfcx", "exp1", "expi", "expn", "fresnel", "gammainc",
    "gammaincc", "hyp1f1", "hyp2f1", "loggamma", "owens_t", "poch", "sici", "spence", "sph_harm_y", "wofz",
]


def _of_strong(primitive: Any, *args: ArrayLike) -> Any:
    return primitive(*[strong(x) for x in together(*args)])


# -- incomplete gamma and beta functions --------------------------------------------------------------


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function, from 0 at x = 0 to 1; see lax.igamma.

    Args:
      a: float[...], the parameter, positive; NaN of negative ones.
      x: float[...], from 0; NaN of negative numbers.

    Example:
      >>> from pullback.scipy import special
      >>> special.gammainc(2.0, 1.0)
      Array(0.26424113, dtype=float32, weak_type=True)
    """
    return gammas.igamma(*together(a, x))  # type: ignore[no-any-return]


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """1 - gammainc(a, x), with all digits where that is small; see lax.igammac.

    Args:
      a, x: float[...]

    Example:
      >>> jsp.special.gammaincc(1.0, 0.0).item()
      1.0
    """
    return gammas.igammac(*together(a, x))  # type: ignore[no-any-return]


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function, from 0 at x = 0 to 1 at x = 1; see lax.betainc.

    Args:
      a, b: float[...], positive. There is no derivative by them.
      x: float[...], from 0 to 1; NaN outside.

    Example:
      >>> jsp.special.betainc(1.0, 1.0, 0.25).item()
      0.25
    """
    return gammas.betainc(*together(a, b, x))  # type: ignore[no-any-return]


def loggamma(x: ArrayLike) -> Array:
    """The logarithm of the gamma function, continued from the positive numbers.

    Args:
      x: float[...], NaN of negative numbers, inf of 0; or complex[...], NaN at the poles.

    Returns:
      Of real numbers float[...]; of complex ones complex[...], whose imaginary part is not reduced to 2 pi.

    Example:
      >>> jsp.special.loggamma(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    v = inexact(x)
    if dtypes.is_complex(type_of(v).dtype):
        return plane.loggamma(v)  # type: ignore[no-any-return]
    v = array(v)
    return ops.select_n(ops.lt(v, like(v, 0)), special.lgamma(v), like(v, math.nan))  # type: ignore[no-any-return]


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol gamma(z + m) / gamma(z): z (z + 1) ... (z + m - 1) for whole m.

    Args:
      z, m: float[...]

    Example:
      >>> jsp.special.poch(3.0, 2.0).round(3).item()
      12.0
    """
    return _of_strong(hypergeometric.poch, z, m)  # type: ignore[no-any-return]


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:  # noqa: N803
    """The number of ways to choose k of N things; also between the integers, by the gamma function.

    Args:
      N, k: float[...]
      repetition: whether a thing may be chosen more than once: N + k - 1 over k.

    Returns:
      float[...], 0 where k is not from 0 to N (with repetition: where one of them is negative). The derivative is 0
      there too.

    Example:
      >>> from pullback.scipy import special
      >>> special.comb(5, 2)
      Array(10., dtype=float32, weak_type=True)
    """
    n, v = together(N, k)
    if not repetition:
        return hypergeometric.comb(n, v)  # type: ignore[no-any-return]
    value = hypergeometric.comb(ops.sub(ops.add(n, v), like(n, 1)), v)
    nothing = and_(ops.eq(v, like(v, 0)), ops.ge(n, like(n, 0)))
    return ops.select_n(nothing, value, like(v, 1))  # type: ignore[no-any-return]


# -- integrals ----------------------------------------------------------------------------------------


def exp1(x: ArrayLike) -> Array:
    """The exponential integral E1(x), of exp(-t) / t from x; inf at 0, NaN of negative numbers.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.exp1(jnp.array([1.0])).round(3)
      Array([0.219], dtype=float32)
    """
    v = strong(x)
    value = ops.neg(integrals.expi(ops.neg(v)))
    return ops.select_n(ops.lt(v, like(v, 0)), value, like(v, math.nan))  # type: ignore[no-any-return]


def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x), the principal value of that of exp(t) / t up to x; -inf at 0.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.expi(jnp.array([1.0])).round(3)
      Array([1.895], dtype=float32)
    """
    return integrals.expi(strong(x))  # type: ignore[no-any-return]


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The exponential integral of order n: that of exp(-x t) / t**n over t from 1.

    Args:
      n: whole numbers; NaN of others. There is no derivative by them.
      x: float[...]; NaN of negative numbers.

    Example:
      >>> from pullback.scipy import special
      >>> special.expn(2, 1.0)
      Array(0.14849551, dtype=float32)
    """
    return _of_strong(integrals.expn, n, x)  # type: ignore[no-any-return]


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral, of sin(t) / t from 0 to x, and the cosine integral, minus that of cos(t) / t from |x|.

    Args:
      x: float[...]

    Returns:
      Two arrays float[...]. At 0 the cosine integral is -inf.

    Example:
      >>> jsp.special.sici(jnp.array(0.0))[0].item()
      0.0
    """
    v = strong(x)
    return integrals.sin_integral(v), integrals.cos_integral(v)


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The Fresnel integrals S and C: of sin(pi t**2 / 2) and of cos(pi t**2 / 2), from 0 to x.

    Args:
      x: float[...]

    Returns:
      Two arrays float[...], S first.

    Example:
      >>> jsp.special.fresnel(jnp.array(0.0))[0].item()
      0.0
    """
    v = strong(x)
    return integrals.fresnel_sin(v), integrals.fresnel_cos(v)


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x.

    Args:
      x: float[...]

    Example:
      >>> jsp.special.dawsn(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return integrals.dawsn(strong(x))  # type: ignore[no-any-return]


def erfcx(x: ArrayLike) -> Array:
    """exp(x**2) * erfc(x), which neither underflows nor overflows for large x.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> jsp.special.erfcx(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    v = strong(x)
    if dtypes.is_complex(v.type.dtype):
        return plane.wofz(ops.mul(v, like(v, 1j)))  # type: ignore[no-any-return]
    return integrals.erfcx(v)  # type: ignore[no-any-return]


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function exp(-z**2) * erfc(-1j * z).

    Args:
      z: complex[...], or float[...]

    Returns:
      complex[...]; of floats narrower than 64 bits complex64.

    Example:
      >>> jsp.special.wofz(jnp.array([0.0])).real
      Array([1.], dtype=float32)
    """
    v = strong(z)
    dtype = v.type.dtype
    if not dtypes.is_complex(dtype):
        v = convert_element_type(v, dtype=np.dtype(np.complex128 if dtype == dtypes.float64 else np.complex64))
    return plane.wofz(v)  # type: ignore[no-any-return]


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T: the integral of exp(-h**2 (1 + t**2) / 2) / (1 + t**2) from 0 to a, over 2 pi.

    Args:
      h, a: float[...]

    Example:
      >>> jsp.special.owens_t(jnp.array(0.0), jnp.array(1.0)).round(3).item()
      0.125
    """
    return _of_strong(integrals.owens_t, h, a)  # type: ignore[no-any-return]


def spence(x: ArrayLike) -> Array:
    """Spence's function: minus the integral of log(t) / (t - 1) from 1 to x; the dilogarithm of 1 - x.

    Args:
      x: float[...]; NaN of negative numbers and of infinity. At 0 the derivative is -inf.

    Example:
      >>> jsp.special.spence(jnp.array([1.0]))
      Array([0.], dtype=float32)
    """
    return integrals.spence(strong(x))  # type: ignore[no-any-return]


# -- hypergeometric functions -------------------------------------------------------------------------


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function: the sum of (a)_k / (b)_k x**k / k!.

    Args:
      a, b, x: float[...]. inf where b is 0, -1, -2, ..., unless the sum ends before.

    Differentiability: in all three. Real jax loses all digits for x far below 0; this follows SciPy there.

    Example:
      >>> jsp.special.hyp1f1(1.0, 1.0, 0.0).item()
      1.0
    """
    return _of_strong(hypergeometric.hyp1f1, a, b, x)  # type: ignore[no-any-return]


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function: the sum of (a)_k (b)_k / (c)_k x**k / k!, continued to all x below 1.

    Args:
      a, b, c, x: float[...]. inf where c is 0, -1, -2, ..., unless the sum ends before, and for x above 1.

    Differentiability: in all four. Real jax has no continuation to x below -1; this follows SciPy there.

    Example:
      >>> jsp.special.hyp2f1(1.0, 1.0, 1.0, 0.0).item()
      1.0
    """
    return _of_strong(hypergeometric.hyp2f1, a, b, c, x)  # type: ignore[no-any-return]


# -- whole orders -------------------------------------------------------------------------------------


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B_0, B_1 = -1/2, ..., B_n.

    Args:
      n: a known int from 0.

    Returns:
      f32[n + 1]

    Example:
      >>> from pullback.scipy import special
      >>> special.bernoulli(4)
      Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334],      dtype=float32)
    """
    count = integer(n, "n")
    if count < 0:
        raise errors.value_error(f"n is {count}, at least 0 is required", fix="pass the last number's place")
    from scipy.special import bernoulli as numbers
    return from_numpy(numbers(max(count, 2))[: count + 1].astype(dtypes.canonicalize(np.float64)))


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind of the orders 0 to v.

    Args:
      z: float[...]
      v: a known int from 0, the highest order.
      n_iter: at least 1. As many steps of the recurrence are taken as the order and the argument need, whatever it
        is; real jax takes this many, and gives NaN or wrong digits where they are too many or too few.

    Returns:
      float[v + 1, ...]

    Example:
      >>> jsp.special.bessel_jn(jnp.array(1.0), v=1).round(3)
      Array([0.765, 0.44 ], dtype=float32)
    """
    x = strong(z)
    count = integer(v, "v")
    if count < 0 or integer(n_iter, "n_iter") < 1:
        raise errors.value_error(f"v is {v} and n_iter {n_iter}, at least 0 and at least 1 are required",
                                 fix="pass the highest order that is wanted, and leave n_iter out")
    shape = (1, *x.type.shape)
    rows = [broadcast_in_dim(orders.bessel_jn(like(x, k), x), shape=shape, dims=tuple(range(1, len(shape))))
            for k in range(count + 1)]
    return rows[0] if len(rows) == 1 else concatenate(*rows, axis=0)


def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None,
               n_max: int | None = None) -> Array:
    """The spherical harmonic of degree n and order m, with the Condon-Shortley phase.

    Args:
      n, m: int[...], the degree and the order; 0 where |m| > n.
      theta: float[...], the angle from the axis in radians, 0 to pi.
      phi: float[...], the angle around the axis in radians.
      diff_n: None; derivatives come from grad and jvp.
      n_max: an upper bound of n, which real jax needs under jit; here it is not needed.

    Returns:
      c64[...]

    Raises:
      TypeError: if n or m is not of integers.

    Example:
      >>> import pullback.numpy as jnp
      >>> from pullback.scipy import special
      >>> special.sph_harm_y(jnp.array(1), jnp.array(0), 0.0, 0.0)
      Array(0.48860252+0.j, dtype=complex64)
    """
    if diff_n is not None:
        raise errors.value_error(f"diff_n is {diff_n!r}, None is required", fix="differentiate with jvp or grad")
    if n_max is not None and integer(n_max, "n_max") < 0:
        raise errors.value_error(f"n_max is {n_max}, at least 0 is required", fix="leave it out")
    degree, order = operand(n), operand(m)
    for what, x in (("n", degree), ("m", order)):
        if not dtypes.is_integer(type_of(x).dtype):
            raise errors.type_error(f"{what} is {type_of(x)}, integers are required", fix="convert it with astype(int)")
    polar, azimuth = (strong(x) for x in together(theta, phi))
    dtype = polar.type.dtype
    if dtype.itemsize < 4:
        polar, azimuth = (convert_element_type(x, dtype=dtypes.float32) for x in (polar, azimuth))
        dtype = dtypes.float32
    shape = broadcast_shapes([polar.type.shape, type_of(degree).shape, type_of(order).shape])
    k, j = (convert_element_type(broadcast_to(array(x), shape), dtype=dtype) for x in (degree, order))
    polar, azimuth = broadcast_to(polar, shape), broadcast_to(azimuth, shape)
    size, angle = orders.sphere_legendre(k, j, polar), ops.mul(j, azimuth)
    return ops.complex(ops.mul(size, ops.cos(angle)), ops.mul(size, ops.sin(angle)))  # type: ignore[no-any-return]
