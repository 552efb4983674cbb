"""Incomplete gamma and beta functions, and derivatives of gamma distributed numbers by their parameter.

With D = x**a e**-x / gamma(a) and t = x e**w, both incomplete gamma functions are one integral:

    Q(a, x) = D * integral over w from 0 to infinity,   P(a, x) = D * integral over w from -infinity to 0,
    both of e**-g(w), g(w) = x (e**w - 1) - a w.

The one on the side of the smaller function is taken, where g grows all the way and nothing cancels: Q for x >= a, P
below. Its derivative by a is D times the same integral of w e**-g, plus (log x - digamma(a)) times the function, of
the same sign. Up to x = 1 a power series serves.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes
from pullback.ops import elementwise as ops
from pullback.ops import fitted, special
from pullback.ops.composed import (
    Composed,
    Term,
    absolute,
    digamma,
    exp,
    expm1,
    integrate,
    lgamma,
    log,
    log1p,
    maximum,
    minimum,
    of_dtype,
    of_numbers,
    polynomial,
    repeat,
    sqrt,
    square,
    stirling_rest,
    where,
)
from pullback.ops.elementwise import number
from pullback.ops.special import lgamma as lgamma_primitive

# zeta(k) - 1 for k = 2, 3, ...; the series below needs them to full precision.
_ZETA_1 = (
    0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993, 0.01734306198444914,
    0.008349277381922827, 0.00407735619794434, 0.0020083928260822144, 0.0009945751278180853, 0.0004941886041194646,
    0.00024608655330804828, 0.0001227133475784891, 6.124813505870483e-05, 3.058823630702049e-05,
    1.528225940865187e-05, 7.637197637899762e-06, 3.8172932649998396e-06, 1.908212716553939e-06,
    9.539620338727962e-07, 4.769329867878065e-07, 2.384505027277329e-07, 1.1921992596531106e-07,
    5.960818905125948e-08, 2.980350351465228e-08, 1.4901554828365042e-08)
_EULER = 0.5772156649015329
_LARGE = 8.0  # from here on, seven terms of Stirling's series have all digits of float64


def _lgamma_1p(a: Term) -> Term:
    """lgamma(1 + a) for a >= 0, with all digits near 0. Source: DLMF 5.7.3."""
    small = minimum(a, 0.5)
    signed = [(-1) ** k * z / k for k, z in enumerate(_ZETA_1, 2)]
    series = small * (1 - _EULER) + square(small) * polynomial(small, signed) - log1p(small)
    return where(a <= 0.5, series, lgamma(a + 1))


def _log_minus_digamma(a: Term) -> Term:
    """log(a) - digamma(a) for a of at least 8. Source: DLMF 5.11.2."""
    inverse = 1 / a
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    return inverse * 0.5 + square(inverse) * polynomial(square(inverse), terms)


def log1p_rest(u: Term) -> Term:
    """u - log1p(u), without cancellation near 0: log1p(u) = 2 artanh(r), r = u / (2 + u), as a series."""
    near = absolute(u) <= 0.5
    v = where(near, u, 0.0)
    r = v / (v + 2)
    series = r * v - 2 * r * square(r) * polynomial(square(r), [1 / (2 * k + 3) for k in range(16)])
    return where(near, series, u - log1p(u))


def _expm1_rest(w: Term) -> Term:
    """e**w - 1 - w, without cancellation near 0."""
    near = absolute(w) < 0.7
    v = where(near, w, 0.0)
    series = square(v) * polynomial(v, [1 / math.factorial(k) for k in range(2, 17)])
    return where(near, series, exp(w) - 1 - w)  # exp takes a third of the time of expm1


def _log_ratio(a: Term, x: Term) -> tuple[Term, Term]:
    """log D and log(x) - digamma(a), whose large parts cancel where both are large and nearly equal."""
    large = a >= _LARGE
    b = where(large, a, _LARGE)
    near = absolute(x - b) <= 0.5 * b
    u = where(near, x, b) / b - 1
    u = where(near, (x - b) / b, u)
    quotient = where(near, log1p(u), log(x / b))
    deviance = where(near, log1p_rest(u), x / b - 1 - log(x / b))
    far = 0.5 * log(b / (2 * math.pi)) - b * deviance - stirling_rest(b)
    c = where(large, 1.0, a)
    return (where(large, far, c * log(x) - x - lgamma(c)),
            where(large, quotient + _log_minus_digamma(b), log(x) - digamma(c)))


class Effort(NamedTuple):
    """What digits cost."""

    depth: float  # how far the integrals go: e**-g is below the last digit from there on
    nodes: int
    terms: int  # of the series
    dtype: Any  # of the terms that are added; all are positive in the integrals, so none is needed to more digits


_FULL = Effort(42.0, 40, 19, dtypes.float64)
_SINGLE = Effort(18.0, 16, 12, dtypes.float32)


def _integrals(a: Term, x: Term, effort: Effort) -> tuple[Term, Term, Term]:
    """Whether x < a; and the integrals, on the side the module's docstring says, of e**-g and of |w| e**-g."""
    depth = effort.depth
    below = x < a
    slope = absolute(x - a)
    # g(w) = slope |w| + x w**2 / 2 to second order: above it for w > 0, below it for w < 0.
    width = 2 * depth / (slope + sqrt(square(slope) + 2 * depth * x))
    y = depth / x
    above = minimum(width, log1p(y + sqrt(2 * y)))
    # One step of Newton's method for g = depth ends beyond the root, for g is convex.
    fall = -expm1(-width)
    under = width + maximum(depth - (a * width - x * fall), 0.0) / (a - x * (1 - fall))
    direction = where(below, Term(number(x.x, -1.0)), Term(number(x.x, 1.0)) + 0 * x)
    rest = _expm1_rest if effort is _FULL else fitted.expm1_rest

    def integrand(v: Term, x: Term, slope: Term, direction: Term) -> list[Term]:
        value = exp(-(x * rest(direction * v) + slope * v))
        return [value, v * value]

    given = [of_dtype(v, effort.dtype) for v in (where(below, under, above), x, slope, direction)]
    mass, moment = integrate(integrand, *given, count=effort.nodes)
    return below, of_dtype(mass, dtypes.float64), of_dtype(moment, dtypes.float64)


def _series(a: Term, x: Term, effort: Effort) -> tuple[Term, Term]:
    """For x <= 1: S and its derivative by a, where P(a, x) = x**a / gamma(a + 1) (1 + S). Source: DLMF 8.7.1."""
    share = 1 / (a + 1)
    first, first_slope = -x * a * share, -x * square(share)  # most of the sum, and in full
    a, x = of_dtype(a, effort.dtype), of_dtype(x, effort.dtype)
    total, slope, power = 0 * x, 0 * x, -x
    for n in range(2, effort.terms + 1):
        power = power * x * (-1 / n)
        share = 1 / (a + n)
        total = total + power * a * share
        slope = slope + power * n * square(share)
    return first + of_dtype(total, dtypes.float64), first_slope + of_dtype(slope, dtypes.float64)


def _valid(a: Term, x: Term) -> tuple[Term, Term, Term]:
    """Where a and x are positive and finite, and both, with 1 elsewhere."""
    fine = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    return fine, where(fine, a, 1.0), where(fine, x, 1.0)


def _edges(a: Term, x: Term, at_0: float, at_infinity: float) -> Term:
    """The value for operands that are not both positive and finite: as the step from 0 to infinity of x / a."""
    first = ((x.equals(0)) & (a > 0)) | (a.equals(math.inf) & (x >= 0) & (x < math.inf))
    last = (a.equals(0) & (x > 0)) | (x.equals(math.inf) & (a >= 0) & (a < math.inf))
    return where(first, at_0, where(last, at_infinity, 0 * x + math.nan))


def _incomplete(a: Term, x: Term, upper: bool) -> Term:
    fine, b, y = _valid(a, x)
    small = y <= 1
    # Up to x = 1.
    near = where(small, y, 1.0)
    tail, _ = _series(b, near, _FULL)
    exponent = b * log(near) - _lgamma_1p(b)
    part = exp(exponent) * tail
    by_series = -expm1(exponent) - part if upper else exp(exponent) + part
    # Beyond.
    far = where(small, 2.0, y)
    below, mass, _ = _integrals(b, far, _FULL)
    value = exp(_log_ratio(b, far)[0]) * mass
    by_integral = where(below, 1 - value, value) if upper else where(below, value, 1 - value)
    return where(fine, where(small, by_series, by_integral), _edges(a, x, float(upper), float(not upper)))


def _incomplete_single(a: Term, x: Term, upper: bool) -> Term:
    """As `_incomplete`, by one logarithm and one density."""
    fine, b, y = _valid(a, x)
    small = y <= 1
    near, far = where(small, y, 1.0), where(small, 2.0, y)
    tail, _ = _series(b, near, _SINGLE)
    below, mass, _ = _integrals(b, far, _SINGLE)
    density = fitted.gamma_density(b, y)
    value = density * where(small, exp(near) / b * (1 + tail), mass)
    complement = small | below  # then it is P, else Q
    value = where(complement, 1 - value, value) if upper else where(complement, value, 1 - value)
    if upper:  # small, where a is small
        tiny = small & (b <= 0.5)
        c, z, rest = (of_dtype(v, dtypes.float32) for v in (b, near, tail))
        exponent = c * log(z) - fitted.log_gamma_1p(c)
        value = where(tiny, of_dtype(-expm1(exponent) - exp(exponent) * rest, dtypes.float64), value)
    return where(fine, value, _edges(a, x, float(upper), float(not upper)))


def _igamma(a: Term, x: Term) -> Term:
    return _incomplete(a, x, False)


def igammac_term(a: Term, x: Term) -> Term:
    return _incomplete(a, x, True)


def _slopes(a: Term, x: Term, relative: bool, narrow: bool = False) -> Term:
    """dP/da for positive, finite a and x; `relative`: divided by x times the density, D."""
    small = x <= 1
    near, far = where(small, x, 1.0), where(small, 2.0, x)
    if narrow:
        tail, slope = _series(a, near, _SINGLE)
        below, mass, moment = _integrals(a, far, _SINGLE)
        ratio = log(x) - digamma(a)
        inside = exp(near) / a * ((1 + tail) * (ratio - 1 / a) + slope)
        value = where(small, inside, where(below, mass * ratio - moment, -(mass * ratio + moment)))
        return value if relative else fitted.gamma_density(a, x) * value
    tail, slope = _series(a, near, _FULL)
    inside = (1 + tail) * (log(near) - digamma(a + 1)) + slope
    factor = exp(near) / a if relative else exp(a * log(near) - _lgamma_1p(a))
    below, mass, moment = _integrals(a, far, _FULL)
    log_d, ratio = _log_ratio(a, far)
    beyond = where(below, mass * ratio - moment, -(mass * ratio + moment))
    beyond = beyond if relative else exp(log_d) * beyond
    return where(small, factor * inside, beyond)


def _igamma_grad_a(a: Term, x: Term, narrow: bool = False) -> Term:
    fine, b, y = _valid(a, x)
    return where(fine, _slopes(b, y, False, narrow), _edges(a, x, 0.0, math.nan))


def _random_gamma_grad(a: Term, x: Term, narrow: bool = False) -> Term:
    fine, b, y = _valid(a, x)
    return where(fine, -y * _slopes(b, y, True, narrow), _edges(a, x, 0.0, math.nan))


def _log_gamma_slope(a: Term, y: Term) -> Term:
    """The derivative of y = log(x) by a, for x of the gamma distribution that may be too small for a float."""
    fine, b, x = _valid(a, exp(y))
    tiny = (a > 0) & (y < -700)  # P is x**a / gamma(a + 1) there
    c = where(tiny, a, 1.0)
    limit = (digamma(c + 1) - where(tiny, y, 0.0)) / c
    return where(tiny, limit, where(fine, -_slopes(b, x, relative=True), math.nan))


def _density(t: Any, a: Any, x: Any) -> Any:
    """t times the density of the gamma distribution: x**(a - 1) e**-x / gamma(a)."""
    one = number(x, 1)
    power = ops.mul(ops.sub(a, one), ops.log(x))
    power = ops.select_n(ops.eq(a, one), power, number(x, 0))
    return ops.mul(t, ops.exp(ops.sub(ops.sub(power, x), lgamma_primitive(a))))


_A, _X = (0.3, 6.0), (0.3, 6.0)
_EDGE_A = np.array([0, 0, -1, 2, 2, 2, np.inf, 2, np.nan, -0.5, np.inf, 30, 4000, 4000], np.float32)
_EDGE_X = np.array([1, 0, 1, 0, -1, np.inf, 2, np.nan, 1, 2, np.inf, 10, 4100, 3900], np.float32)

igamma = Composed(
    "igamma", _igamma, [lambda t, out, a, x: ops.mul(t, igamma_grad_a(a, x)), lambda t, out, a, x: _density(t, a, x)],
    narrow=partial(_incomplete_single, upper=False),
    reference="gammainc", draws=[_A, _X], order=1, edges=[(_EDGE_A, _EDGE_X)], rtol=2e-4,
    doc="The regularised lower incomplete gamma function P(a, x).")
igammac = Composed(
    "igammac", igammac_term,
    [lambda t, out, a, x: ops.neg(ops.mul(t, igamma_grad_a(a, x))), lambda t, out, a, x: ops.neg(_density(t, a, x))],
    narrow=partial(_incomplete_single, upper=True),
    reference="gammaincc", draws=[_A, _X], order=1, edges=[(_EDGE_A, _EDGE_X)], rtol=2e-4,
    doc="The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).")
igamma_grad_a = Composed(
    "igamma_grad_a", _igamma_grad_a, [None, None], narrow=partial(_igamma_grad_a, narrow=True), draws=[_A, _X],
    rtol=2e-4, doc="The derivative of P(a, x) by a.")
random_gamma_grad = Composed(
    "random_gamma_grad", _random_gamma_grad, [None, None], narrow=partial(_random_gamma_grad, narrow=True),
    draws=[_A, _X], rtol=2e-4, doc="dx/da of a number x of the gamma distribution with parameter a.")


# -- the zeta function ------------------------------------------------------------------------------------

# The Bernoulli numbers of even order over their factorials.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)


def _zeta_slope(x: Term, q: Term) -> Term:
    """Ten terms of the sum, and the rest by the formula of Euler and Maclaurin, DLMF 25.11.5."""
    def term(at: Term) -> Term:
        logarithm = log(at)
        return logarithm * exp(-x * logarithm)

    fine = (q > 0) & (x > 1)
    x, q = where(fine, x, 2.0), where(fine, q, 1.0)
    far = q + 10
    low, power, inverse = log(far), exp(-x * log(far)), 1 / far
    value = -0.5 * low * power - far * power / (x - 1) * (low + 1 / (x - 1))
    for n in range(10):
        value = value - term(q + n)
    rising_x, sum_x, part = x, 1 / x, power * inverse
    for k, b in enumerate(_BERNOULLI):
        value = value + b * rising_x * part * (sum_x - low)
        one, two = x + (2 * k + 1), x + (2 * k + 2)
        rising_x, sum_x, part = rising_x * one * two, sum_x + 1 / one + 1 / two, part * square(inverse)
    return where(fine, value, math.nan)


def _by_q(t: Any, out: Any, x: Any, q: Any) -> Any:
    above = ops.add(x, number(x, 1))
    return ops.neg(ops.mul(t, ops.add(special.zeta(above, q), ops.mul(x, zeta_slope(above, q)))))


zeta_slope = Composed(
    "zeta_slope", _zeta_slope, [None, _by_q], draws=[(1.5, 5.0), (0.5, 6.0)], rtol=1e-4, every_shape=True,
    oracle=lambda jax, x, q: jax.numpy.vectorize(jax.grad(jax.scipy.special.zeta))(
        x.astype(np.float32), q.astype(np.float32)).astype(x.dtype),
    doc="The derivative of zeta(x, q) by x, of q above 0; NaN elsewhere.")


# -- the incomplete beta function -----------------------------------------------------------------------

def _log_beta(a: Term, b: Term) -> Term:
    """The sum of three lgamma; where one or both are large, by Stirling's series. Source: DLMF 5.11.1."""
    positive = (a > 0) & (b > 0)
    least, most = where(positive, minimum(a, b), 1.0), where(positive, maximum(a, b), 1.0)
    one = (most >= _LARGE) & (most < math.inf)
    p, q = where(one, least, 1.0), where(one, most, _LARGE)
    ratio = log1p(p / q)
    near = lgamma(p) - (q - 0.5) * ratio + p * (1 - log(p + q)) + stirling_rest(q)
    both = maximum(p, _LARGE)
    far = (both - 0.5) * log(both / (both + q)) - q * ratio + stirling_rest(q) + stirling_rest(both)
    far = far - 0.5 * log(q) + 0.5 * math.log(2 * math.pi)
    r, s = where(one, 1.0, least), where(one, 1.0, most)
    plain = where(most.equals(math.inf), -math.inf, lgamma(r) + lgamma(s) - lgamma(r + s))
    value = where(one, where(p >= _LARGE, far, near) - stirling_rest(p + q), plain)
    return where(positive, value, math.nan)


def _log_beta_density(a: Term, b: Term, x: Term, y: Term) -> Term:
    """log of x**a y**b / B(a, b) for positive a and b, x + y = 1, without cancellation of large parts.

    With B from Stirling's series, the powers join to e**(-a (u - log1p(u)) - b (v - log1p(v))), where u and v are the
    relative distances of x and y from a / (a + b) and b / (a + b).
    """
    both = (a >= _LARGE) & (b >= _LARGE)
    c, d = where(both, a, _LARGE), where(both, b, _LARGE)
    total = c + d
    off = x * d - y * c
    large = 0.5 * log(c / total * d / (2 * math.pi)) + stirling_rest(total) - stirling_rest(c) - stirling_rest(d)
    large = large - c * log1p_rest(off / c) - d * log1p_rest(-off / d)
    log_b = _log_beta(where(both, 1.0, a), where(both, 1.0, b))
    return where(both, large, a * log(x) + b * log(y) - log_b)


_TINY = 1e-300


def _beta_fraction(a: Term, b: Term, x: Term) -> Term:
    """I_x(a, b) B(a, b) a / (x**a (1 - x)**b) for x up to about the mean, as a continued fraction.

    Source: DLMF 8.17.22, evaluated from the front by the method of Lentz, Applied Optics 15 (1976).
    """
    def guarded(z: Term) -> Term:
        return where(absolute(z) < _TINY, _TINY, z)

    def step(m: Term, c: Term, d: Term, h: Term, change: Term) -> list[Term]:
        twice = 2 * m
        even = m * (b - m) * x / ((a - 1 + twice) * (a + twice))
        d, c = 1 / guarded(1 + even * d), guarded(1 + even / c)
        h = h * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + twice) * (a + 1 + twice))
        d, c = 1 / guarded(1 + odd * d), guarded(1 + odd / c)
        return [c, d, h * d * c, absolute(d * c - 1)]

    d = 1 / guarded(1 - (a + b) * x / (a + 1))
    state = repeat(step, lambda m, c, d, h, change: change > 1e-16, 0 * x + 1, d, d, 0 * x + 1, most=100_000)
    return state[2]


def _betainc(a: Term, b: Term, x: Term) -> Term:
    fine = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    p, q, z = where(fine, a, 1.0), where(fine, b, 1.0), where(fine, x, 0.5)
    swapped = z > (p + 1) / (p + q + 2)
    c, d = where(swapped, q, p), where(swapped, p, q)
    y, rest = where(swapped, 1 - z, z), where(swapped, z, 1 - z)
    value = exp(_log_beta_density(c, d, y, rest)) * _beta_fraction(c, d, y) / c
    value = where(swapped, 1 - value, value)
    inside = (x >= 0) & (x <= 1)
    ends = inside & (a > 0) & (b > 0) & ((x.equals(0)) | (x.equals(1)))
    value = where(fine, value, where(ends, x, math.nan))
    # All of the distribution is at 1 or at 0 where a parameter is 0 or infinite.
    at_1 = (b.equals(0) & (a > 0)) | (a.equals(math.inf) & (b < math.inf) & (b > 0))
    at_0 = (a.equals(0) & (b > 0)) | (b.equals(math.inf) & (a < math.inf) & (a > 0))
    value = where(inside & at_1, where(x.equals(1), 1.0, 0 * x), value)
    return where(inside & at_0, where(x.equals(0), 0 * x, 1.0), value)


def _beta_density(t: Any, a: Any, b: Any, x: Any) -> Any:
    """t x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    one = number(x, 1)
    log_b = ops.sub(ops.add(lgamma_primitive(a), lgamma_primitive(b)), lgamma_primitive(ops.add(a, b)))
    total: Any = ops.neg(log_b)
    for power, logarithm in ((a, ops.log(x)), (b, ops.log1p(ops.neg(x)))):
        part = ops.mul(ops.sub(power, one), logarithm)
        total = ops.add(total, ops.select_n(ops.eq(power, one), part, number(x, 0)))
    return ops.mul(t, ops.exp(total))


log_beta = Composed(
    "log_beta", _log_beta,
    [lambda t, out, a, b: ops.mul(t, ops.sub(special.digamma(a), special.digamma(ops.add(a, b)))),
     lambda t, out, a, b: ops.mul(t, ops.sub(special.digamma(b), special.digamma(ops.add(a, b))))],
    narrow=fitted.log_beta, draws=[(0.4, 5.0), (0.4, 12.0)], every_shape=True, rtol=1e-4,
    edges=[tuple(np.array(v, np.float32) for v in (
        [1, 3, 1e-30, 1e10, 2, 1e-3, 4.5, 5, 4, 1e3], [1, 2, 1e-30, 1e10, 1e9, 40, 4.5, 4, 5, 2e3]))],
    oracle=lambda jax, a, b: jax.scipy.special.betaln(a, b),
    doc="The logarithm of the beta function of positive numbers; NaN elsewhere.")
betainc = Composed(
    "betainc", _betainc, [None, None, lambda t, out, a, b, x: _beta_density(t, a, b, x)], reference="betainc",
    draws=[(0.4, 5.0), (0.4, 5.0), (0.1, 0.9)], rtol=2e-4, every_shape=True, edges=[tuple(
        np.array(v, np.float32) for v in (
            [1, 1, 1, 0, 1, -1, 2, 2, 2, np.inf, 2, 0, 40, 900], [1, 1, 1, 1, 0, 1, 2, 2, -1, 2, np.inf, 0, 60, 2],
            [0, 1, 2, 0.5, 0.5, 0.5, -0.1, np.nan, 0.5, 0.5, 0.5, 0.5, 0.37, 0.998]))],
    doc="The regularised incomplete beta function I_x(a, b). No derivative by a and b.")
def _log_slope_by_differences(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """-dP/da over x times the density, from SciPy's P."""
    from scipy.special import gammainc, gammaln
    x, step = np.exp(y), 1e-5
    return (gammainc(a - step, x) - gammainc(a + step, x)) / (2 * step) / np.exp(a * y - x - gammaln(a))


log_gamma_slope = Composed(
    "log_gamma_slope", _log_gamma_slope, [None, None], draws=[_A, (-2.0, 2.0)], rtol=2e-4,
    oracle=of_numbers(_log_slope_by_differences),
    doc="The derivative by a of the logarithm y of a number of the gamma distribution with parameter a.")
