"""Special functions: error function, gamma function and its kin, Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE, Example, Outputs
from pullback.core.types import Zero
from pullback.ops.elementwise import (
    Pointwise,
    add,
    div,
    eq,
    exp,
    mul,
    neg,
    number,
    select_n,
    sign,
    sub,
)
from pullback.ops.families import FLOAT
from pullback.ops.truth import truth

_SPECIAL = np.array([0, -0.0, 1, -1, 0.5, -0.5, -1.5, -2, 1e-30, -1e-30, 3e38, 1e5, -5.5, 20, math.inf,
                     -math.inf, math.nan], np.float32)


def _scipy(name: str) -> Callable[..., np.ndarray]:
    """SciPy's function of that name, computed in float64."""

    def reference(*xs: np.ndarray) -> np.ndarray:
        import scipy.special
        result = getattr(scipy.special, name)(*[x.astype(np.float64) for x in xs])
        return np.asarray(result).astype(xs[0].dtype)

    return reference


def _lgamma(x: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x), x.dtype.type(np.inf), _scipy("gammaln")(x))


def _digamma(x: np.ndarray) -> np.ndarray:
    return _scipy("psi")(x + x.dtype.type(0))  # of -0.0 as of 0.0


def _special(name: str, reference: Callable[..., np.ndarray], hlo: Any, derivative: Callable[..., Any],
             doc: str, **more: Any) -> Pointwise:
    more.setdefault("edges", [(_SPECIAL,)])
    return Pointwise(name, reference, hlo, [derivative], kinds=FLOAT, doc=doc, **more)


def _scaled_density(t: Any, x: Any, factor: float, power: Any) -> Any:
    """t * factor * e ** power."""
    return mul(t, mul(number(x, factor), exp(power)))


erf = _special("erf", _scipy("erf"), "chlo.erf",
               lambda t, out, x: _scaled_density(t, x, 2 / math.sqrt(math.pi), neg(mul(x, x))),
               "The error function.")
erfc = _special("erfc", _scipy("erfc"), "chlo.erfc",
                lambda t, out, x: _scaled_density(t, x, -2 / math.sqrt(math.pi), neg(mul(x, x))),
                "1 - erf(x), exact where erf(x) is near 1.")
# Coefficients of p in erf_inv(x) = x p(w), highest power first; w = -log(1 - x ** 2) is below 5, or not.
_ERF_INV = [[np.array(c, np.float32) for c in row] for row in [  # arrays: ufuncs take longer with NumPy's scalars
    [2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
     -0.00417768164, 0.246640727, 1.50140941],
    [-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
     0.00943887047, 1.00167406, 2.83297682]]]


def _erf_inv(x: np.ndarray) -> np.ndarray:
    """For float32 the polynomials that XLA uses too, so that normal random numbers agree to the last digits.

    Source: Giles, "Approximating the erfinv function", GPU Computing Gems (2010), table 5.
    """
    if x.dtype != np.float32:
        return _scipy("erfinv")(x)
    def polynomial(coefficients: list[np.ndarray], v: np.ndarray) -> np.ndarray:
        first, *rest = coefficients
        part = np.full_like(v, first)
        for coefficient in rest:
            np.multiply(part, v, part)
            np.add(part, coefficient, part)
        return part

    x = np.asarray(x)
    w = np.asarray(-np.log1p(-x * x))
    near = polynomial(_ERF_INV[0], np.asarray(w - np.float32(2.5)))
    if (middle := w < 5).all():
        return near * x
    p = np.where(middle, near, polynomial(_ERF_INV[1], np.asarray(np.sqrt(w) - np.float32(3))))
    return np.where(np.abs(x) == 1, x * np.float32(np.inf), p * x)


erf_inv = _special("erf_inv", _erf_inv, "chlo.erf_inv",
                   lambda t, out, x: _scaled_density(t, x, math.sqrt(math.pi) / 2, mul(out, out)),
                   "The inverse of the error function.", domain=(-0.9, 0.9))


# -- gamma and zeta ---------------------------------------------------------------------------------

def _zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The Hurwitz zeta function, at poles and beyond any sum as XLA gives it."""
    result = np.asarray(_scipy("zeta")(x, q))
    poles = np.where(np.remainder(x, 2) == 0, np.inf, np.nan).astype(x.dtype)
    result = np.where((q <= 0) & (np.floor(q) == q) & (x != 1), poles, result)
    return np.where((q == np.inf) & (x > 1), x.dtype.type(np.nan), result)


def _polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    import scipy.special
    order, at = m.astype(np.float64), x.astype(np.float64)
    signs = np.where(np.remainder(order, 2) == 1, 1.0, -1.0)
    higher = signs * scipy.special.gamma(order + 1) * _zeta(order + 1, at)
    result = np.where(order == 0, _digamma(at), higher)
    return np.where((order < 0) | (order != np.floor(order)), np.nan, result).astype(m.dtype)


# XLA's zeta is wrong for arguments below about -8, where its sum of ten terms has not come to positive ones.
_FEW = -8.0


def _far(b: Any, x: Any, q: Any, name: str, whole: Callable[..., Any]) -> Any:
    """XLA's operation `name`, or where some q is far below 0 `whole(b, x, q, which of them are)`."""
    t = q.type
    far = b.and_(b.compare("LT", q, b.full(_FEW, t)), b.compare("GT", q, b.full(-math.inf, t)))
    some = truth(b, far, range(t.ndim), any_of=True) if t.ndim else far
    regions = [b.region([], lambda inner: [inner.op(name, [x, q], t)]),
               b.region([], lambda inner: [inner.convert(whole(inner, *[
                   inner.convert(v, np.promote_types(t.dtype, np.float32)) for v in (x, q)], far), t.dtype)])]
    return b.multi("stablehlo.case", [b.convert(some, dtypes.int32)], [t], "", regions)[0]


def _mirrored_zeta(b: Any, x: Any, q: Any, far: Any) -> Any:
    """zeta(x, f) + (-1)**x (zeta(x, 1 - f) - zeta(x, 1 - q)), f = q - floor(q): of whole x, from positive arguments.

    The sum over all n, negative ones too, of (n + q)**-x has a period of 1; its other half is the mirror image.
    """
    def zeta_of(at: Any) -> Any:
        return b.op("chlo.zeta", [x, at], x.type)

    one = b.full(1, x.type)
    part = b.sub(q, b.op("stablehlo.floor", [q], q.type))
    near = zeta_of(b.select(far, part, q))
    image, rest = zeta_of(b.sub(one, part)), zeta_of(b.select(far, b.sub(one, q), one))
    odd = b.compare("NE", b.op("stablehlo.remainder", [x, b.full(2, x.type)], x.type), b.full(0, x.type))
    # In this order: at half numbers, near and image are one number, and for odd x the rest is all.
    total = b.select(odd, b.add(b.sub(near, image), rest), b.sub(b.add(near, image), rest))
    whole = b.compare("EQ", x, b.op("stablehlo.floor", [x], x.type))
    mirrored = b.select(whole, b.select(b.compare("EQ", x, one), near, total), b.full(math.nan, x.type))
    return b.select(far, mirrored, near)


def _mirrored_polygamma(b: Any, m: Any, x: Any, far: Any) -> Any:
    """(-1)**(m + 1) m! zeta(m + 1, x) where x is far below 0 and m at least 1."""
    one, zero = b.full(1, m.type), b.full(0, m.type)
    far = b.and_(far, b.compare("GE", m, one))
    order = b.add(m, one)
    size = b.mul(b.op("stablehlo.exponential", [b.op("chlo.lgamma", [order], m.type)], m.type),
                 _mirrored_zeta(b, order, x, far))
    odd = b.compare("NE", b.op("stablehlo.remainder", [m, b.full(2, m.type)], m.type), zero)
    return b.select(far, b.select(odd, size, b.sub(zero, size)), b.op("chlo.polygamma", [m, x], m.type))


class OfOrder(Pointwise):
    """Functions of an order and an argument; where there is no derivative by the order, an error says so."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        if not isinstance(tangents[0], Zero) and self.derivatives[0] is None:
            raise self.missing("derivative by its first operand", "stop its gradient with lax.stop_gradient")
        return super().jvp(primals, tangents, **params)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        orders = np.array([2, 3, 4], np.float32)
        by_order = self.derivatives[0] is not None
        yield Example(orders, rng.uniform(1, 4, 3).astype(np.float32), fixed=() if by_order else (0,),
                      order=1 if by_order else 2)
        yield Example(orders[1], rng.uniform(1, 4, (2, 3)).astype(np.float32), order=0)
        yield Example(orders, np.float32(1.5), order=0)
        yield Example(orders.astype(dtypes.bfloat16), rng.uniform(1, 4, 3).astype(dtypes.bfloat16), order=0)
        yield Example(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32), order=0)
        for order in (0, 1, 2, 3, 0.5, -1):
            at = _SPECIAL[2:] if order == 0 else _SPECIAL
            yield Example(np.full_like(at, order), at, order=0)


def _digamma_hlo(b: Any, x: Any) -> Any:
    # Before jaxlib 0.11 it was NaN at 0.
    zero = b.compare("EQ", x, b.full(0, x.type))
    return b.select(zero, b.full(-math.inf, x.type), b.op("chlo.digamma", [x], x.type))


lgamma = _special("lgamma", _lgamma, "chlo.lgamma", lambda t, out, x: mul(t, digamma(x)),
                  "The logarithm of the absolute value of the gamma function.", domain=(0.5, 4.0))
digamma = _special("digamma", _digamma, _digamma_hlo,
                   lambda t, out, x: mul(t, polygamma(number(x, 1), x)),
                   "The derivative of lgamma.", domain=(0.5, 4.0), edges=[(_SPECIAL[2:],)])
polygamma = OfOrder("polygamma", _polygamma,
                    lambda b, m, x: _far(b, m, x, "chlo.polygamma", _mirrored_polygamma),
                    [None, lambda t, out, m, x: mul(t, polygamma(add(m, number(m, 1)), x))], kinds=FLOAT,
                    doc="The m-th derivative of digamma at x. No derivative by m.")
zeta = OfOrder("zeta", _zeta, lambda b, x, q: _far(b, x, q, "chlo.zeta", _mirrored_zeta),
               [lambda t, out, x, q: mul(t, TABLE["zeta_slope"](x, q)),
                lambda t, out, x, q: neg(mul(t, mul(x, zeta(add(x, number(x, 1)), q))))], kinds=FLOAT,
               doc="The Hurwitz zeta function: the sum over n >= 0 of (n + q) ** -x.")


# -- Bessel functions -------------------------------------------------------------------------------

# bessel_i0e as Chebyshev series: of x / 4 - 1 for x in [0, 8], and, times sqrt(x), of 16 / x - 1 beyond.
# Obtained by interpolation at 60 Chebyshev nodes.
_NEAR = (
    0.33839763720473792, -0.30468267234319829, 0.17162090152220869, -0.0949010970480475, 0.049305284239670497,
    -0.023737414805899464, 0.010546460394594902, -0.0043243099950505239, 0.0016394756169413143,
    -0.00057637557453847166, 0.00018850288509576855, -5.7541950100622095e-05, 1.6448448070719805e-05,
    -4.4167383581372736e-06, 1.1173875389069999e-06, -2.6707938488209256e-07, 6.0469950243409915e-08,
    -1.3000250350299799e-08, 2.6598236576210374e-09, -5.1897968515272437e-10, 9.675773515738228e-11,
    -1.7268271997513314e-11, 2.9549214926779161e-12, -4.8532659372805635e-13, 7.704577716557045e-14,
    -1.1812772982011665e-14)
_FAR = (
    0.40224520550705445, 0.0033691164782557216, 6.8897583469142618e-05, 2.8913705208688523e-06,
    2.0489185884227841e-07, 2.2666689839893433e-08, 3.3962319974841411e-09, 4.9406026307134236e-10,
    1.1889230340974185e-11, -3.1499131081247357e-11, -1.3215813628638291e-11, -1.7941592656001149e-12,
    7.1803119006119685e-13, 3.8551939418596246e-13, 1.5263716216888192e-14, -4.1254037223363106e-14,
    -9.473903143468002e-15, 3.6415315207705131e-15, 1.7226960598767011e-15)


def _bessel_i0e_hlo(b: Any, x: Any) -> Any:
    narrow = x.type.dtype
    if narrow not in (dtypes.float32, dtypes.float64):
        x = b.convert(x, dtypes.float32)

    def full(value: float) -> Any:
        return b.full(value, x.type)

    def series(coefficients: Sequence[float], at: Any) -> Any:
        """Clenshaw's recurrence."""
        twice, first, second = b.mul(full(2), at), full(0), full(0)
        least = 1e-10 if x.type.dtype == dtypes.float32 else 0.0  # smaller terms change no digit of the sum
        for c in reversed([c for c in coefficients[1:] if abs(c) >= least]):
            first, second = b.add(b.sub(b.mul(twice, first), second), full(c)), first
        return b.add(b.sub(b.mul(at, first), second), full(coefficients[0]))

    size = b.op("stablehlo.abs", [x], x.type)
    near = series(_NEAR, b.sub(b.mul(b.min(size, full(8)), full(0.25)), full(1)))
    beyond = b.max(size, full(8))
    far = series(_FAR, b.sub(b.div(full(16), beyond), full(1)))
    far = b.mul(far, b.op("stablehlo.rsqrt", [beyond], x.type))
    result = b.select(b.compare("LE", size, full(8)), near, far)
    return b.convert(result, narrow)


def _bessel_i1e_tangent(t: Any, out: Any, x: Any) -> Any:
    at_zero = eq(x, number(x, 0))
    safe = select_n(at_zero, x, number(x, 1))
    slope = sub(bessel_i0e(x), mul(out, add(sign(x), div(number(x, 1), safe))))
    return mul(t, select_n(at_zero, slope, number(x, 0.5)))


bessel_i0e = _special("bessel_i0e", _scipy("i0e"), _bessel_i0e_hlo,
                      lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))),
                      "The modified Bessel function of order 0, times e ** -|x|.")
bessel_i1e = _special("bessel_i1e", _scipy("i1e"), "chlo.bessel_i1e", _bessel_i1e_tangent,
                      "The modified Bessel function of order 1, times e ** -|x|.")
