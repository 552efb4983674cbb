"""Hypergeometric functions, and the products of gamma functions that they need: binomials, Pochhammer's symbol."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.types import Zero
from pullback.core.vector import instantiate
from pullback.interpret.jvp import jvp
from pullback.ops import elementwise as ops
from pullback.ops import fitted, special
from pullback.ops.composed import (
    Composed,
    Term,
    absolute,
    exp,
    floor,
    lgamma,
    log1p,
    maximum,
    of_numbers,
    repeat,
    where,
)
from pullback.ops.elementwise import number
from pullback.ops.move import broadcast_in_dim


def _by_forward_mode(algorithm: Callable[..., Term], place: int) -> Callable[..., Term]:
    """The derivative of an algorithm by one of its operands."""
    def slope(*terms: Term) -> Term:
        def call(x: Any) -> list[Any]:
            return [algorithm(*[Term(x) if i == place else t for i, t in enumerate(terms)]).x]
        x = terms[place].x
        one = broadcast_in_dim(np.float64(1), shape=x.type.shape, dims=())
        (dot,) = jvp(call, [x], [one])[1]
        return Term(instantiate(dot) if isinstance(dot, Zero) else dot)
    return slope


def _is_pole(x: Term) -> Term:
    """Where gamma has a pole: 0, -1, -2, ..."""
    return (x <= 0) & x.equals(floor(x))


def _gamma_ratio(above: Sequence[Term], below: Sequence[Term]) -> Term:
    """The product of gamma of the first over that of the second; 0 at a pole of the second, NaN at one of the first."""
    total: Any = 0.0
    sign: Any = 1.0
    poles, lost = None, None
    for i, x in enumerate([*above, *below]):
        pole = _is_pole(x)
        safe = where(pole, 1.0, x)
        upper = i < len(above)
        total = lgamma(safe) + total if upper else -lgamma(safe) + total
        half = floor(safe) / 2
        sign = where((safe < 0) & (half > floor(half)), -1.0, 1.0) * sign
        if upper:
            lost = pole if lost is None else lost | pole
        else:
            poles = pole if poles is None else poles | pole
    value = sign * exp(total)
    if poles is not None:
        value = where(poles, 0.0, value)
    return value if lost is None else where(lost, math.nan, value)


def _terms(above: Sequence[Term], below: Sequence[Term], x: Term, most: int = 300_000) -> Term:
    """The sum over k of products of (p)_k over products of (q)_k, times x**k / k!."""
    def step(k: Term, term: Term, bound: Term, sum_: Term) -> list[Term]:
        factor: Any = 1.0
        size: Any = 1.0
        for p in above:
            factor = (p + (k - 1)) * factor
            size = maximum(absolute(p + (k - 1)), 0.5) * size  # so that the derivatives of vanishing terms are summed
        for q in below:
            over = q + (k - 1)
            ended = over.equals(0)  # then a factor above is 0 too, here or before: the sum is a polynomial
            over = where(ended, 1.0, over)
            factor, size = where(ended, 0.0, factor / over), where(ended, 0.0, size / absolute(over))
        factor, size = factor * x / k, size * absolute(x) / k
        return [term * factor, bound * size, sum_ + term * factor]

    def going(k: Term, term: Term, bound: Term, sum_: Term) -> Term:
        early: Any = k < 2
        for q in below:
            early = early | (k < 2 - q)  # a small denominator is still to come
        return (early | (bound > 1e-18 * absolute(sum_))) & (bound < math.inf)

    one = 0 * x + 1
    for p in (*above, *below):
        one = one + 0 * p
    return repeat(step, going, one, one, one, most=most)[2]


# -- Kummer's function ----------------------------------------------------------------------------------

def _hyp1f1(a: Term, b: Term, x: Term) -> Term:
    """Of x < 0 by Kummer's transformation. A series, or far out the asymptotic one. Source: DLMF 13.2.39, 13.7.1."""
    negative = x < 0
    z = absolute(x)
    p = where(negative, b - a, a)
    far = (z > 80) & (z > 4 * (1 + absolute(p)) * (1 + absolute(b))) & ~_is_pole(p) & ~_is_pole(b)
    pole = _is_pole(b) & ~(_is_pole(a) & (a >= b))
    fine = (z < math.inf) & ~pole & p.equals(p) & b.equals(b)
    plain = _is_pole(a)  # a polynomial
    near = fine & (~far | plain)
    q, c, y = (where(near, where(plain, u, v), 1.0) for u, v in ((a, p), (b, b), (x, z)))
    series = _terms([q], [c], y)
    scale = where(negative & ~plain, exp(where(negative, x, 0.0)), 1.0)

    p, c, y = where(far, p, 1.0), where(far, b, 1.0), where(far, z, 100.0)

    def step(k: Term, term: Term, sum_: Term) -> list[Term]:
        term = term * (c - p + (k - 1)) * (k - p) / (k * y)
        return [term, sum_ + term]

    def going(k: Term, term: Term, sum_: Term) -> Term:
        following = absolute((c - p + (k - 1)) * (k - p)) < k * y
        return following & (absolute(term) > 1e-18 * absolute(sum_))

    tail = repeat(step, going, 0 * y + 1, 0 * y + 1)[1]
    log_y = Term(ops.log(y.x))
    asymptotic = _gamma_ratio([c], [p]) * exp((p - c) * log_y + where(negative, 0.0, where(far, z, 0.0))) * tail
    value = where(far & ~plain, asymptotic, scale * series)
    return where(fine, value, where(pole, math.inf, math.nan))


def _next(t: Any, x: Any, above: Sequence[Any], below: Sequence[Any], function: Any) -> Any:
    """The derivative by the argument: products of the parameters times the function of parameters one higher."""
    factor = t
    for p in above:
        factor = ops.mul(factor, p)
    for q in below:
        factor = ops.div(factor, q)
    return ops.mul(factor, function(*[ops.add(p, number(p, 1)) for p in (*above, *below)], x))


# Weights of the central difference over seven points: exact up to the sixth derivative.
_DIFFERENCE = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


def _slope_of(name: str, algorithm: Any, place: int, draws: Any) -> Composed:
    """The derivative of a hypergeometric function by one of its parameters, which SciPy does not have.

    On XLA by forward mode through the algorithm, on NumPy by differences of SciPy's function over seven points.
    """
    def by_differences(*args: np.ndarray) -> np.ndarray:
        import scipy.special
        function, x = getattr(scipy.special, name), args[place]
        pole = np.abs(x - np.minimum(np.round(x), 0))  # of the parameters below
        step = np.minimum(5e-3, np.where(pole > 0, pole / 16, 1))
        total: Any = 0.0
        for k, weight in _DIFFERENCE:
            ends = [function(*[x + h * step if i == place else y for i, y in enumerate(args)]) for h in (k, -k)]
            total = total + weight * (ends[0] - ends[1])
        return np.asarray(total / step)

    return Composed(f"{name}_slope_{place}", _by_forward_mode(algorithm, place), [None] * len(draws), draws=draws,
                    reference=by_differences, oracle=of_numbers(by_differences), rtol=5e-5,
                    doc=f"The derivative of {name} by operand {place}.")


def _times(slope: Any) -> Any:
    """The tangent by an operand from the derivative by it."""
    return lambda t, out, *args: ops.mul(t, slope(*args))


_DRAWS_1F1 = [(0.5, 3), (1, 3), (0.3, 3)]
_SLOPES_1F1 = [_slope_of("hyp1f1", _hyp1f1, i, _DRAWS_1F1) for i in range(2)]
hyp1f1 = Composed(
    "hyp1f1", _hyp1f1, [*map(_times, _SLOPES_1F1), lambda t, out, a, b, x: _next(t, x, [a], [b], hyp1f1)],
    reference="hyp1f1", draws=_DRAWS_1F1, order=1, rtol=2e-4,
    edges=[tuple(np.array(v, np.float32) for v in ([1, 0.5, 1, -2, 2, 1, 0], [2, 2.5, 2, 1.5, -1.5, 0, 2],
                                                  [0.5, -3, 20, 3, 0.5, 2, 3]))],
    doc="Kummer's confluent hypergeometric function 1F1(a; b; x).")


# -- Gauss's function -----------------------------------------------------------------------------------

def _hyp2f1(a: Term, b: Term, c: Term, x: Term) -> Term:
    """Beyond 1 it is inf, unless it is a polynomial, or one times a power of 1 - x. Source: DLMF 15.8.1."""
    power = c - a - b
    turned = ((x > 1) & (_is_pole(c - a) | _is_pole(c - b)) & ~(_is_pole(a) | _is_pole(b))
              & (power <= -1) & power.equals(floor(power)))
    value = _gauss(where(turned, c - a, a), where(turned, c - b, b), c, x)
    half = power / 2
    scale = exp(where(turned, power, 0.0) * Term(ops.log(where(turned, x - 1, 1.0).x)))
    return where(turned, where(half > floor(half), -1.0, 1.0) * scale, 1.0) * value


def _gauss(a: Term, b: Term, c: Term, x: Term) -> Term:
    """A series up to 0.9; below 0 and from 0.9 to 1 by transformation. Source: DLMF 15.8.1, 15.8.4, 15.4.20."""
    finite = _is_pole(a) | _is_pole(b)  # a polynomial
    order = where(_is_pole(a), where(_is_pole(b), maximum(a, b), a), b)
    pole = _is_pole(c) & ~(finite & (order >= c))
    fine = (x < 1) & (x > -math.inf) | (finite & (absolute(x) < math.inf))
    negative = (x < 0) & ~finite
    y = where(negative, x / where(negative, x - 1, 1.0), x)
    d = where(negative, c - b, b)
    s = c - a - d
    whole = absolute(s - floor(s + 0.5)) < 0.02  # near integers the transformation cancels
    turned = (y > 0.9) & (y < 1) & ~whole & ~finite
    usable = fine & ~pole
    u = where(turned, 1 - y, y)
    first = _terms([where(usable, a, 1.0), where(usable, d, 1.0)],
                   [where(usable, where(turned, 1 - s, c), 1.0)], where(usable, u, 0.0))
    apart = where(usable & turned, u, 0.0)
    safe = [where(turned & usable, v, w) for v, w in ((a, 0.25), (d, 0.25), (c, 1.0), (s, 0.5))]
    e, f, g, h = safe
    second = _terms([g - e, g - f], [1 + h], apart)
    weights = _gamma_ratio([g, h], [g - e, g - f]), _gamma_ratio([g, -h], [e, f])
    log_u = Term(ops.log(where(turned, u, 0.5).x))
    joined = weights[0] * first + weights[1] * exp(h * log_u) * second
    value = where(turned, joined, first)
    value = where(negative, exp(-a * log1p(-where(negative, x, 0.0))) * value, value)
    gap = c - a - b
    at_1 = x.equals(1) & (gap > 0) & ~finite
    edge = _gamma_ratio([where(at_1, c, 3.0), where(at_1, gap, 1.0)], [where(at_1, v, 1.0) for v in (c - a, c - b)])
    value = where(at_1 & ~pole, edge, where(usable, value, math.inf))
    value = where(x.equals(0), 1.0, value)
    numbers = x.equals(x) & a.equals(a) & b.equals(b) & c.equals(c)
    return where(numbers, value, math.nan)


_DRAWS_2F1 = [(0.5, 2), (0.5, 2), (1, 3), (0.1, 0.7)]
_SLOPES_2F1 = [_slope_of("hyp2f1", _hyp2f1, i, _DRAWS_2F1) for i in range(3)]
hyp2f1 = Composed(
    "hyp2f1", _hyp2f1, [*map(_times, _SLOPES_2F1), lambda t, out, a, b, c, x: _next(t, x, [a, b], [c], hyp2f1)],
    reference="hyp2f1", draws=_DRAWS_2F1, order=1, rtol=5e-4,
    edges=[tuple(np.array(v, np.float32) for v in (
        [1, 0.5, 1, 0.5, 1, 0, 3, 2, 4], [2, 1, 1, 0.25, 2, 1, 4, 3, 1], [3, 1.5, 2, 2, 3, 2, 1.5, 2, 2],
        [0.5, 0.95, 1, 1, -0.5, 0.3, 0.92, 3, 1.5]))],
    doc="Gauss's hypergeometric function 2F1(a, b; c; x).")


# -- Pochhammer's symbol, binomial coefficients ---------------------------------------------------------

def _poch(z: Term, m: Term) -> Term:
    """gamma(z + m) / gamma(z); where z is a pole and z + m one too, the limit along z."""
    top = z + m
    both = _is_pole(z) & _is_pole(top)
    reflected = _gamma_ratio([where(both, 1 - z, 1.0)], [where(both, 1 - top, 1.0)])
    half = m / 2
    reflected = where(half > floor(half), -1.0, 1.0) * reflected
    plain = _gamma_ratio([where(both, 1.0, top)], [where(both, 1.0, z)])
    plain = where(_is_pole(top) & ~both, math.inf, plain)
    return where(m.equals(0), 1.0, where(both, reflected, plain))


def _comb(n: Term, k: Term) -> Term:
    inside = (k >= 0) & (k <= n) & (n >= 0)
    top, below = where(inside, n, 1.0), where(inside, k, 1.0)
    value = _gamma_ratio([top + 1], [below + 1, top - below + 1])
    exact = top.equals(floor(top)) & below.equals(floor(below)) & (value < 2 ** 45)
    return where(inside, where(exact, floor(value + 0.5), value), where(n.equals(n) & k.equals(k), 0.0, math.nan))


def _comb_reference(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    import scipy.special
    return np.where(np.isnan(n) | np.isnan(k), np.nan, scipy.special.comb(n, k))


def _psi(x: Any) -> Any:
    return special.digamma(x)


def _comb_slope(t: Any, out: Any, n: Any, first: Any, second: Any) -> Any:
    """t out (psi(first + 1) - psi(second + 1)), 0 where out is."""
    one = number(n, 1)
    none = ops.eq(out, number(out, 0))
    slope = ops.sub(_psi(ops.add(first, one)), _psi(ops.add(second, one)))
    return ops.mul(t, ops.select_n(none, ops.mul(out, slope), number(out, 0)))


poch = Composed(
    "poch", _poch, [lambda t, out, z, m: ops.mul(ops.mul(t, out), ops.sub(_psi(ops.add(z, m)), _psi(z))),
                    lambda t, out, z, m: ops.mul(ops.mul(t, out), _psi(ops.add(z, m)))],
    reference="poch", narrow=fitted.poch, draws=[(0.5, 4), (0.3, 3)], rtol=5e-5,
    edges=[tuple(np.array(v, np.float32) for v in ([2, -1.5, 3, 0.5, 10], [3, 2, -1, 0, 2.5]))],
    doc="Pochhammer's symbol: gamma(z + m) / gamma(z).")
comb = Composed(
    "comb", _comb, [lambda t, out, n, k: _comb_slope(t, out, n, n, ops.sub(n, k)),
                    lambda t, out, n, k: _comb_slope(t, out, n, ops.sub(n, k), k)],
    reference=_comb_reference, narrow=fitted.comb, draws=[(4, 9), (1, 3)], rtol=5e-5,
    edges=[tuple(np.array(v, np.float32) for v in ([5, 5, -2, 5, 0, 2.5], [2, 7, 2, -1, 0, 1.5]))],
    doc="The binomial coefficient n over k; 0 where k is not from 0 to n.")
