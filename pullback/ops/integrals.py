"""Functions given by integrals: exponential, sine, cosine and Fresnel integrals, Dawson's, Owen's, the dilogarithm."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.ops import elementwise as ops
from pullback.ops import fitted, special
from pullback.ops.composed import (
    Composed,
    Term,
    absolute,
    along,
    cos,
    digamma,
    erf_inv,
    erfc,
    exp,
    floor,
    integrate,
    lgamma,
    log,
    log1p,
    maximum,
    minimum,
    of_dtype,
    polynomial,
    power,
    repeat,
    sin,
    spread,
    sqrt,
    square,
    tan,
    total,
    where,
)
from pullback.ops.elementwise import number
from pullback.ops.gammas import igammac_term

_EULER = 0.5772156649015329


# -- exponential integrals ------------------------------------------------------------------------------

def _expn_series(n: Term, x: Term) -> Term:
    """E_n(x) for n >= 1 and 0 < x <= 1. Source: DLMF 8.19.8."""
    parity = 1 - 2 * (n - 1 - 2 * floor((n - 1) / 2))
    result = parity * exp((n - 1) * log(x) - lgamma(n)) * (digamma(n) - log(x))
    for m in range(20):
        singular = n.equals(m + 1)
        term = (-1) ** m / math.factorial(m) * power(x, float(m))
        result = result - where(singular, 0.0, term / where(singular, 1.0, m + 1 - n))
    return result


def _expn_fraction(n: Term, x: Term, least: float) -> Term:
    """E_n(x) for x >= 1, as a continued fraction. Source: DLMF 8.19.17."""
    def step(k: Term, b: Term, c: Term, d: Term, h: Term, change: Term) -> list[Term]:
        numerator = -k * (n - 1 + k)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        return [b, c, d, h * c * d, absolute(c * d - 1)]

    start = x + n
    state = repeat(step, lambda k, b, c, d, h, change: change > least, start, 0 * x + 1e300, 1 / start, 1 / start,
                   0 * x + 1)
    return exp(-x) * state[3]


def _expn(n: Term, x: Term, least: float = 1e-16) -> Term:
    whole = n.equals(floor(n)) & (absolute(n) < 1e8)
    fine = whole & (x > 0) & (x < math.inf)
    order, y = where(fine, n, 1.0), where(fine, x, 1.0)
    positive = order >= 1
    small = y <= 1
    k = where(positive, order, 1.0)
    value = where(small, _expn_series(k, where(small, y, 1.0)), _expn_fraction(k, where(small, 1.0, y), least))
    # E_-k(x) = gamma(k + 1, x) / x**(k + 1). Source: DLMF 8.19.1.
    a = where(positive, 1.0, 1 - order)
    value = where(positive, value, exp(lgamma(a) - a * log(y)) * igammac_term(a, y))
    at_0 = where(n > 1, 1 / (where(n > 1, n, 2.0) - 1), 0 * x + math.inf)
    value = where(fine, value, where(whole & x.equals(0), at_0, math.nan))
    return where(whole & x.equals(math.inf), 0.0, value)


def _expn_reference(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    from scipy.special import expn, gamma, gammaincc
    whole = n == np.floor(n)
    a = 1 - np.minimum(n, 0)
    below = np.where(x > 0, gamma(a) * gammaincc(a, x) * np.where(x > 0, x, 1) ** -a, np.where(x == 0, np.inf, np.nan))
    result = np.where(n >= 1, expn(np.where(whole & (n >= 1), n, 1).astype(np.int64), x), below)
    return np.where(whole, np.where(x == 0, np.where(n > 1, 1 / np.where(n > 1, n - 1, 1), np.inf), result), np.nan)


def _expi(x: Term) -> Term:
    size = absolute(x)
    finite = (size > 0) & (size < math.inf)
    y = where(finite, size, 1.0)
    # Each of the loops ends soon for the numbers of the other.
    negative = -_expn(0 * y + 1, where(x < 0, y, 60.0))
    near, far = where(x < 0, 1.0, minimum(y, 40.0)), maximum(y, 40.0)

    def step(k: Term, term: Term, sum_: Term) -> list[Term]:
        term = term * near / k
        return [term, sum_ + term / k]

    series = repeat(step, lambda k, term, sum_: (k < 2) | (term > 1e-18 * sum_), 0 * y + 1, 0 * y)[1]
    inverse, tail = 1 / far, 0 * y + 1
    for k in range(38, 0, -1):  # 1 + 1/x (1 + 2/x (1 + 3/x ...
        tail = 1 + k * inverse * tail
    positive = where(y <= 40, series + log(near) + _EULER, exp(far) * inverse * tail)
    value = where(x < 0, negative, positive)
    ends = where(x.equals(math.inf), math.inf, where(x.equals(-math.inf), 0 * y, math.nan))
    ends = where(x.equals(0), -math.inf, ends)
    return where(finite, value, ends)


_SIGNED = np.array([0, -0.0, 1, -1, 5, -5, 50, 1e5, np.inf, -np.inf, np.nan], np.float32)
_POSITIVE = np.array([0.5, 1, 2, 5, 30, 1e-3, np.nan, -1], np.float32)

expn = Composed("expn", _expn, [None, lambda t, out, n, x: ops.neg(ops.mul(t, expn(ops.sub(n, number(n, 1)), x)))],
                reference=_expn_reference, narrow=partial(_expn, least=1e-9), draws=[(1, 1), (0.3, 4)], rtol=5e-5,
                edges=[(np.full(8, n, np.float32), _POSITIVE) for n in (1, 2, 0, 7)],
                doc="The exponential integral E_n(x), the integral of e**(-x t) / t**n from 1. No derivative by n.")
expi = Composed("expi", _expi, [lambda t, out, x: ops.mul(t, ops.div(ops.exp(x), x))], reference="expi",
                narrow=fitted.expi, draws=[(0.5, 4)], rtol=5e-5,
                edges=[(np.array([1, -1, 5, 60, -60, 0.01], np.float32),)],
                doc="The exponential integral Ei(x), the principal value of the integral of e**t / t up to x.")


# -- sine and cosine integrals --------------------------------------------------------------------------

_SWITCH = 4.0


def _auxiliary(x: Term) -> tuple[Term, Term]:
    """f and g of DLMF 6.2.17 and 18 for x >= 4, by 6.7.13 and 14."""
    def integrand(t: Term, x: Term) -> list[Term]:
        value = exp(-x * t) / (1 + square(t))
        return [value, t * value]
    f, g = integrate(integrand, 42 / x, x, count=64)
    return f, g


def _parts(x: Term) -> tuple[Term, Term, Term, Term]:
    """|x|; where it is small; |x| there; and where it is not, cut to where f cos is below the last digit of 1."""
    size = absolute(x)
    small = size <= _SWITCH
    return size, small, where(small, size, 1.0), minimum(where(small, _SWITCH, size), 1e18)


def _sin_integral(x: Term) -> Term:
    size, small, near, far = _parts(x)
    series = near * polynomial(square(near), [(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(15)])
    f, g = _auxiliary(far)
    value = where(small, series, math.pi / 2 - f * cos(far) - g * sin(far))
    return where(x.equals(x), where(x < 0, -value, where(x.equals(0), x, value)), math.nan)


def _cos_integral(x: Term) -> Term:
    size, small, near, far = _parts(x)
    z = square(near)
    series = z * polynomial(z, [(-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(1, 16)])
    f, g = _auxiliary(far)
    value = where(small, series + log(near) + _EULER, f * sin(far) - g * cos(far))
    value = where(size < math.inf, value, 0.0)
    return where(x.equals(x) & (x > -math.inf), value, math.nan)


def _of_two(name: str, i: int) -> dict[str, Any]:
    """Reference and oracle of output `i` of a function with two."""
    def reference(x: np.ndarray) -> Any:
        import scipy.special
        return getattr(scipy.special, name)(x)[i]
    return {"reference": reference, "oracle": lambda jax, x: getattr(jax.scipy.special, name)(x)[i],
            "draws": [(0.3, 6.0)], "rtol": 5e-5, "edges": [(_SIGNED,)]}


def _sinc_tangent(t: Any, out: Any, x: Any) -> Any:
    at_0 = ops.eq(x, number(x, 0))
    safe = ops.select_n(at_0, x, number(x, 1))
    return ops.mul(t, ops.select_n(at_0, ops.div(ops.sin(safe), safe), number(x, 1)))


sin_integral = Composed("sin_integral", _sin_integral, [_sinc_tangent], **_of_two("sici", 0),
                        narrow=fitted.sin_integral,
                        doc="The sine integral Si(x), of sin(t) / t from 0 to x.")
cos_integral = Composed("cos_integral", _cos_integral, [lambda t, out, x: ops.mul(t, ops.div(ops.cos(x), x))],
                        **_of_two("sici", 1), narrow=fitted.cos_integral,
                        doc="The cosine integral Ci(|x|), minus the integral of cos(t) / t from |x|.")


# -- Fresnel integrals ----------------------------------------------------------------------------------

def _fresnel(x: Term, which: int) -> Term:
    """S (0) or C (1): a power series up to 1.5, from there f and g of DLMF 7.7.10 and 11, by the trapezoidal rule
    for an integrand that falls like e**-s**2 and has its poles at distance sqrt(1/2) from the real axis."""
    size = absolute(x)
    small = size <= 1.5
    near, far = where(small, size, 1.0), minimum(where(small, 1.5, size), 1e12)
    first = 1 - which
    series = power(near, 3.0 if which == 0 else 1.0) * polynomial(square(square(near)), [
        (-1) ** n * (math.pi / 2) ** (2 * n + first) / (math.factorial(2 * n + first) * (4 * n + 1 + 2 * first))
        for n in range(16)])
    step, count = 0.115, 32
    s = along(step * np.arange(count), far) * 1.6 / spread(maximum(far, 1.6), count)  # as fine as e**-(far s)**2 needs
    scale = step * 1.6 / maximum(far, 1.6) * math.sqrt(2) / math.pi
    halves = along(np.array([0.5] + [1.0] * (count - 1)), far)
    body = halves * exp(-math.pi / 2 * square(spread(far, count) * s)) / (1 + square(square(s)))
    f, g = scale * total(body), scale * total(body * square(s))
    half = square(far) / 2
    angle = math.pi * (half - 2 * floor(half / 2))
    wave = -f * cos(angle) - g * sin(angle) if which == 0 else f * sin(angle) - g * cos(angle)
    value = where(small, series, 0.5 + wave)
    return where(x.equals(x), where(x < 0, -value, value), math.nan)


def _chirp(wave: Any) -> Any:
    return lambda t, out, x: ops.mul(t, wave(ops.mul(number(x, math.pi / 2), ops.mul(x, x))))


fresnel_sin = Composed("fresnel_sin", lambda x: _fresnel(x, 0), [_chirp(ops.sin)], **_of_two("fresnel", 0),
                       narrow=lambda x: fitted.fresnel(x, 0),
                       doc="The Fresnel integral S(x), of sin(pi t**2 / 2) from 0 to x.")
fresnel_cos = Composed("fresnel_cos", lambda x: _fresnel(x, 1), [_chirp(ops.cos)], **_of_two("fresnel", 1),
                       narrow=lambda x: fitted.fresnel(x, 1),
                       doc="The Fresnel integral C(x), of cos(pi t**2 / 2) from 0 to x.")


# -- the scaled error function and Dawson's function ----------------------------------------------------

# The trapezoidal rule with the correction of its poles, 12 nodes for all digits of float64. Source: Al Azah and
# Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules", SIAM J. Numer. Anal.
# 59 (2021).
NODES = 12
SPACING = math.sqrt(math.pi / NODES)
MIDPOINTS = (np.arange(NODES) + 0.5) * SPACING
MULTIPLES = np.arange(1, NODES + 1) * SPACING


def _erfcx(x: Term) -> Term:
    size = absolute(x)
    y = minimum(size, 1e150)
    sums: Any = 0.0
    for t in MIDPOINTS:
        sums = math.exp(-t * t) / (square(y) + t * t) + sums
    inner = minimum(y, math.pi / SPACING)
    pole = 2 * exp(square(inner)) / (1 + exp(2 * math.pi / SPACING * inner))
    value = 2 * SPACING / math.pi * y * sums + where(y < math.pi / SPACING, pole, 0.0)
    value = where(size > 1e150, 1 / (math.sqrt(math.pi) * maximum(size, 1.0)), value)
    return where(x < 0, 2 * exp(square(x)) - value, value)


def _dawsn(x: Term) -> Term:
    size = minimum(absolute(x), 1e8)
    place = size / SPACING
    nearest = place - floor(place + 0.5)  # the distance from a multiple of the spacing, in units of it
    odd = absolute(nearest) <= 0.25  # then the midpoints are far
    angle = math.pi * nearest
    middle: Any = 0.0
    whole: Any = 0.0
    for t, u in zip(MIDPOINTS, MULTIPLES, strict=True):
        middle = math.exp(-t * t) / where(odd, square(size) - t * t, 1.0) + middle
        whole = math.exp(-u * u) / where(odd, 1.0, square(size) - u * u) + whole
    factor = 2 * SPACING / math.pi * size
    gauss = exp(-square(size))
    by_middle = gauss * tan(where(odd, angle, 0.0)) + factor * middle
    safe = where(odd, 1.0, size)
    by_whole = SPACING / (math.pi * safe) + factor * whole - gauss / tan(where(odd, 1.0, angle))
    value = math.sqrt(math.pi) / 2 * where(odd, by_middle, by_whole)
    value = where(absolute(x) > 1e8, 0.5 / maximum(absolute(x), 1.0), value)
    return where(x < 0, -value, where(x.equals(0), x, value))


erfcx = Composed("erfcx", _erfcx, [lambda t, out, x: ops.mul(t, ops.sub(
    ops.mul(ops.mul(number(x, 2), x), out), number(x, 2 / math.sqrt(math.pi))))], reference="erfcx",
    narrow=fitted.erfcx, draws=[(-2, 4)], rtol=5e-5,
    edges=[(np.array([-3, 0, 3, 30, 1e30, np.inf, -np.inf, np.nan], np.float32),)],
    doc="e**(x**2) erfc(x).")
dawsn = Composed("dawsn", _dawsn, [lambda t, out, x: ops.mul(t, ops.sub(
    number(x, 1), ops.mul(ops.mul(number(x, 2), x), out)))], reference="dawsn", narrow=fitted.dawsn, draws=[(-3, 4)],
    rtol=5e-5, edges=[(_SIGNED,)], doc="Dawson's integral, e**(-x**2) times the integral of e**(t**2) from 0 to x.")


# -- the quantile of the normal distribution --------------------------------------------------------------

def _log_ndtr(x: Term) -> Term:
    """The logarithm of the probability to be below x, a negative number. Source: Abramowitz and Stegun, 26.2.12."""
    far = minimum(x, -20.0)
    inverse = 1 / square(far)
    total: Any = 1.0
    for n in range(15, 0, -2):  # 1 - 1/x**2 (1 - 3/x**2 (1 - 5/x**2 ...
        total = 1 - n * inverse * total
    lower = -0.5 * square(far) - log(-far) - 0.5 * math.log(2 * math.pi) + log(total)
    return where(x < -20, lower, log(0.5 * erfc(maximum(x, -20.0) * -math.sqrt(0.5))))


def _ndtri(p: Term) -> Term:
    """Newton's method on the logarithm of the smaller tail, from its asymptotic form; near 1/2 by erf_inv."""
    upper = p > 0.5
    tail = where(upper, 1 - p, p)
    # 1 / 8 is where the quantile by erf_inv still has all its digits.
    central = tail >= 0.125
    logarithm = log(minimum(tail, 0.125))
    twice = -2 * logarithm - math.log(2 * math.pi)
    x = -sqrt(twice - log(twice))
    for _ in range(4):
        value = _log_ndtr(x)
        x = x - (value - logarithm) * exp(value + 0.5 * square(x) + 0.5 * math.log(2 * math.pi))
    x = where(central, math.sqrt(2) * erf_inv(2 * tail - 1), x)
    x = where(tail.equals(0), -math.inf, x)
    x = where(upper, -x, x)
    return where(central | (tail >= 0), x, math.nan)


ndtri = Composed("ndtri", _ndtri, [lambda t, out, p: ops.mul(t, ops.mul(
    number(p, math.sqrt(2 * math.pi)), ops.exp(ops.mul(ops.mul(out, out), number(p, 0.5)))))], reference="ndtri",
    narrow=fitted.ndtri, draws=[(0.02, 0.98)], rtol=5e-5,
    edges=[(np.array([0, 1, 0.5, 0.125, 0.875, 1e-30, 1e-7, 1 - 1e-6, -0.5, 1.5, np.nan], np.float32),)],
    doc="The quantile of the standard normal distribution: the inverse of its distribution function.")


# -- Owen's function, the dilogarithm -------------------------------------------------------------------

def _owens_t(h: Term, a: Term, reach: float = 9.0, count: int = 32, dtype: Any = dtypes.float64) -> Term:
    """By quadrature for slopes up to 1; T(h, a) + T(a h, 1 / a) = 1/4 (erfc + erfc) - 1/4 erfc * erfc beyond.

    Source: Owen, Annals of Mathematical Statistics 27 (1956).
    """
    height, slope = absolute(h), absolute(a)
    steep = slope > 1
    x = minimum(where(steep, slope * height, height), 1e3)
    x = where(x.equals(x), x, where(height.equals(0), 0.0, 1e3))  # 0 * inf
    end = where(steep, 1 / where(steep, slope, 1.0), slope)
    width = minimum(end, reach / maximum(x, 1e-3))

    def integrand(t: Term, x: Term) -> list[Term]:
        squared = square(t)
        return [exp(-0.5 * square(x) * squared) / (1 + squared)]

    sum_ = of_dtype(integrate(integrand, *[of_dtype(v, dtype) for v in (width, x)], count=count)[0], dtypes.float64)
    part = exp(-0.5 * square(x)) * sum_ / (2 * math.pi)
    p, q = erfc(height * math.sqrt(0.5)), erfc(x * math.sqrt(0.5))
    value = where(steep, 0.25 * (p + q) - 0.25 * p * q - part, part)
    value = where(height.equals(math.inf), 0.0, value)
    value = where((h.equals(h)) & (a.equals(a)), value, math.nan)
    return where(a < 0, -value, value)


def _owens_by_h(t: Any, out: Any, h: Any, a: Any) -> Any:
    density = ops.exp(ops.mul(ops.mul(h, h), number(h, -0.5)))
    edge = special.erf(ops.mul(ops.mul(a, h), number(h, math.sqrt(0.5))))
    return ops.mul(t, ops.mul(number(h, -0.5 / math.sqrt(2 * math.pi)), ops.mul(density, edge)))


def _owens_by_a(t: Any, out: Any, h: Any, a: Any) -> Any:
    wide = ops.add(ops.mul(a, a), number(a, 1))
    return ops.mul(t, ops.div(ops.exp(ops.mul(ops.mul(ops.mul(h, h), wide), number(h, -0.5))),
                              ops.mul(wide, number(a, 2 * math.pi))))


owens_t = Composed("owens_t", _owens_t, [_owens_by_h, _owens_by_a], reference="owens_t", draws=[(-2, 2), (-3, 3)],
                   narrow=partial(_owens_t, reach=6.0, count=16, dtype=dtypes.float32),
                   edges=[(np.array([0, 1, -1, 2, 1, np.inf, 1, np.nan, 30], np.float32),
                           np.array([1, 1, 1, -3, np.inf, 1, 0, 1, 0.5], np.float32))], rtol=5e-5,
                   doc="Owen's T: 1 / (2 pi) times the integral of e**(-h**2 (1 + t**2) / 2) / (1 + t**2) to a.")

# Bernoulli numbers B_2k over (2k + 1)!, k = 0, 1, ...
_DEBYE = (1.0, 1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000, 1 / 1120863744000,
          -3617 / 181400588328960000)


def _spence(x: Term) -> Term:
    """Li2(1 - x): a series in u = -log(x) up to log(2); elsewhere by reflection and inversion.

    Source: DLMF 25.12.4 and 6; the series follows from the generating function of the Bernoulli numbers.
    """
    fine = (x > 0) & (x < math.inf)
    y = where(fine, x, 1.0)
    high = y > 1
    z = where(high, 1 / y, y)
    low = z < 0.5
    rest = log1p(-where(low, z, 0.0))
    u = -where(low, rest, log(z))
    core = u * polynomial(square(u), _DEBYE) - square(u) / 4
    value = where(low, math.pi ** 2 / 6 - log(z) * rest - core, core)
    value = where(high, -0.5 * square(log(y)) - value, value)
    return where(fine, value, where(x.equals(0), math.pi ** 2 / 6, math.nan))


def _spence_tangent(t: Any, out: Any, x: Any) -> Any:
    at_1 = ops.eq(x, number(x, 1))
    safe = ops.select_n(at_1, x, number(x, 0.5))
    slope = ops.div(ops.log(safe), ops.sub(number(x, 1), safe))
    return ops.mul(t, ops.select_n(at_1, slope, number(x, -1)))


spence = Composed("spence", _spence, [_spence_tangent], reference="spence", draws=[(0.2, 4)], rtol=5e-5,
                  edges=[(np.array([0, 1, 5, 50, 1e5, 0.1, -1, np.inf, np.nan], np.float32),)],
                  doc="Spence's function, minus the integral of log(t) / (t - 1) from 1 to x.")
