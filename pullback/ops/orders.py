"""Functions of whole orders, by recurrence from order to order: Bessel functions, Legendre functions on the sphere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops import elementwise as ops
from pullback.ops.composed import (
    Composed,
    Term,
    absolute,
    cos,
    exp,
    floor,
    lgamma,
    log,
    maximum,
    of_numbers,
    repeat,
    sin,
    sqrt,
    square,
    where,
)
from pullback.ops.elementwise import number


def _odd(n: Term) -> Term:
    half = n / 2
    return half > floor(half)


def _hankel(n: Term, x: Term) -> Term:
    """Far out: Hankel's expansion. Source: DLMF 10.17.3."""
    parts: list[Any] = [0 * x + 1, 0 * x]
    term = 0 * x + 1
    for k in range(1, 28):
        term = term * (4 * square(n) - (2 * k - 1) ** 2) / (8 * k * x)
        parts[k % 2] = parts[k % 2] + (term if k % 4 < 2 else -term)
    # cos and sin of x - (n / 2 + 1 / 4) pi, with n pi / 2 reduced to quarters.
    quarter = n - 4 * floor(n / 4)
    angle = x - math.pi / 4
    c, s = cos(angle), sin(angle)
    turned = [(c, s), (s, -c), (-c, -s), (-s, c)]
    cosine, sine = turned[0]
    for q in (1, 2, 3):
        cosine, sine = (where(quarter.equals(q), new, old) for new, old in zip(turned[q], (cosine, sine), strict=True))
    return sqrt(2 / (math.pi * x)) * (cosine * parts[0] - sine * parts[1])


def _bessel_jn(n: Term, x: Term) -> Term:
    """Miller's algorithm: the recurrence from far above both order and argument, where J is as good as 0, downwards,
    scaled by J_0 + 2 J_2 + 2 J_4 + ... = 1. Source: DLMF 3.6(iii) and 10.12.4."""
    size, order = absolute(x), absolute(n)
    far = (size > 50 + 2 * square(order)) & (size < math.inf)
    fine = (size > 0) & (size < 1e5) & ~far
    y = where(fine, size, 1.0)
    most = maximum(order, y)
    start = 2 * floor((most + 30 + 12 * exp(log(most) / 3)) / 2)  # even

    def step(k: Term, above: Term, here: Term, wanted: Term, sum_: Term) -> list[Term]:
        m = start - k + 1  # `here` is of order m, times a factor
        below = 2 * m / y * here - above
        small = where(absolute(below) > 1e200, 1e-200, 1.0)
        even = ~_odd(m - 1)
        sum_ = sum_ + where(even, where(m > 1, 2.0, 1.0) * below, 0.0)
        wanted = where((m - 1).equals(order), below, wanted)
        return [here * small, below * small, wanted * small, sum_ * small]

    zero = 0 * y
    state = repeat(step, lambda k, *rest: k <= start, zero, zero + 1e-200, zero, zero, most=200_000)
    value = where(far, _hankel(where(far, order, 0.0), where(far, size, 100.0)), state[2] / state[3])
    fine = fine | far
    value = where(((x < 0) & _odd(n)), -value, value)
    value = where((n < 0) & _odd(n), -value, value)
    value = where(fine, value, where(x.equals(0), where(n.equals(0), 1.0, 0 * y), math.nan))
    return where(size.equals(math.inf), 0.0, value)


def _bessel_slope(t: Any, out: Any, n: Any, x: Any) -> Any:
    one = number(n, 1)
    return ops.mul(t, ops.mul(number(x, 0.5), ops.sub(bessel_jn(ops.sub(n, one), x), bessel_jn(ops.add(n, one), x))))


def _jv(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    import scipy.special
    return np.where(np.isinf(x), 0, scipy.special.jv(n, x))


_ORDERS = [np.array([0, 1, 5, 2, 40, 0, 3, 2], np.float32), np.array([3, -2, 8, 60, 20, 0, 0, np.inf], np.float32)]
bessel_jn = Composed("bessel_jn", _bessel_jn, [None, _bessel_slope], reference=_jv, draws=[(2, 2), (1, 8)],
                     oracle=of_numbers(_jv), edges=[tuple(_ORDERS)], rtol=5e-5,
                     doc="The Bessel function of the first kind of a whole order. No derivative by the order.")


def _legendre(n: Term, m: Term, theta: Term) -> Term:
    """The spherical harmonic of degree n and order m at azimuth 0: from order and degree |m| by the recurrence of
    degrees. Source: DLMF 14.10.3 and 14.30.1, normalised at each step."""
    order = absolute(m)
    fine = (n >= order) & theta.equals(theta)
    k = where(fine, order, 0.0)
    top = where(fine, n, 0.0)
    sine = sin(theta)
    size = absolute(sine)
    empty = k.equals(0)
    logarithm = where(empty, 0.0, k * log(where(size > 0, size, 1.0)))
    # sqrt((2 m + 1)! / (4 pi)) / (2**m m!) |sin theta|**m
    first = exp(0.5 * (lgamma(2 * k + 2) - math.log(4 * math.pi)) - lgamma(k + 1) - k * math.log(2) + logarithm)
    first = where(size.equals(0) & ~empty, 0.0, first)
    first = where(_odd(k), -first, first)
    first = where((sine < 0) & _odd(k), -first, first)
    cosine = cos(theta)

    def step(j: Term, before: Term, here: Term) -> list[Term]:
        degree = k + j
        a = (2 * degree + 1) / (degree - k) / (degree + k)
        ratio = a * (degree - 1 - k) * (degree - 1 + k) / maximum(2 * degree - 3, 1.0)
        return [here, sqrt(a * (2 * degree - 1)) * cosine * here - sqrt(ratio) * before]

    value = repeat(step, lambda j, *rest: k + j <= top, 0 * first, first)[1]
    value = where((m < 0) & _odd(k), -value, value)
    return where(fine, value, where(theta.equals(theta), 0.0, math.nan))


def _legendre_slope(t: Any, out: Any, n: Any, m: Any, theta: Any) -> Any:
    """By both neighbours in m, which has no pole at the ends of the axis."""
    one = number(n, 1)

    def part(step: Any) -> Any:
        other = ops.add(m, step)
        # (n - m)(n + m + 1) for m + 1, (n + m)(n - m + 1) for m - 1.
        up = ops.mul(m, step)
        weight = ops.mul(ops.sub(n, up), ops.add(ops.add(n, up), one))
        return ops.mul(ops.sqrt(ops.max(weight, number(n, 0))), sphere_legendre(n, other, theta))

    difference = ops.sub(part(one), part(number(n, -1)))
    return ops.mul(t, ops.mul(difference, number(n, 0.5)))


def _legendre_reference(n: np.ndarray, m: np.ndarray, theta: np.ndarray) -> np.ndarray:
    import scipy.special
    degree, order = n.astype(np.int64), m.astype(np.int64)
    inside = abs(order) <= degree
    value = scipy.special.sph_harm_y(degree, np.where(inside, order, 0), theta, np.zeros_like(theta)).real
    return np.where(inside, value, np.where(np.isnan(theta), np.nan, 0))


sphere_legendre = Composed(
    "sphere_legendre", _legendre, [None, None, _legendre_slope], reference=_legendre_reference,
    draws=[(3, 3), (1, 1), (0.2, 2.9)], rtol=5e-5,
    oracle=of_numbers(_legendre_reference), edges=[tuple(np.array(v, np.float32) for v in (
        [0, 2, 2, 5, 9, 1, 2, 4], [0, -1, 2, 3, 0, 2, 0, 1], [0.5, 0.5, 1, 2, 2.5, 1, 0, 0]))],
    doc="The spherical harmonic of degree n and order m at azimuth 0. No derivative by n and m.")

