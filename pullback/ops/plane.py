"""Functions of complex numbers: the Faddeeva function, the logarithm of the gamma function and its derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops import elementwise as ops
from pullback.ops import fitted
from pullback.ops.composed import (
    Composed,
    Term,
    absolute,
    conj,
    cos,
    exp,
    expm1,
    floor,
    imag,
    joined,
    log,
    maximum,
    minimum,
    of_numbers,
    polynomial,
    real,
    sin,
    square,
    stirling_rest,
    where,
)
from pullback.ops.elementwise import number
from pullback.ops.integrals import MIDPOINTS, MULTIPLES, SPACING


def _turn(size: Term, angle: Term) -> Term:
    """size e**(i angle)."""
    return joined(size * cos(angle), size * sin(angle))


def _wofz(z: Term) -> Term:
    """w of the first quadrant, by the rules of which `integrals` has the source; of the others by symmetry."""
    given_x, given_y = real(z), imag(z)
    size = maximum(absolute(given_x), absolute(given_y))
    far = size > 1e8
    x, y = (where(far, 1.0, absolute(v)) for v in (given_x, given_y))
    place = x / SPACING
    fraction = place - floor(place)
    high = (y >= x) & (y >= math.pi / SPACING)
    whole = (y < x) & (fraction >= 0.25) & (fraction <= 0.75)
    w = joined(x, y)
    squared = w * w
    sums: list[Any] = [0.0, 0.0]
    for t, u in zip(MIDPOINTS, MULTIPLES, strict=True):
        sums[0] = math.exp(-t * t) / where(whole, 1.0, squared - t * t) + sums[0]
        sums[1] = math.exp(-u * u) / where(whole, squared - u * u, 1.0) + sums[1]
    factor = w * (2j * SPACING / math.pi)
    low = minimum(y, math.pi / SPACING)  # from there on what the poles add is below the last digit
    wave = _turn(exp(2 * math.pi / SPACING * low), -2 * math.pi * fraction)
    gauss = _turn(2 * exp(minimum(square(low) - square(x), 40.0)), -2 * low * x)
    drop = high | (y > math.pi / SPACING)
    by_middle = factor * sums[0] + where(drop, 0.0, gauss / (1 + where(whole, 0.0, wave)))
    safe = where(whole, w, 1.0)
    by_whole = factor * sums[1] + 1j * SPACING / (math.pi * safe) + where(drop, 0.0, gauss / (1 - where(
        whole, wave, 0.0)))
    inside = where(whole, by_whole, by_middle)
    # i / (sqrt(pi) z) far out.
    x, y = (where(size < math.inf, absolute(v), 0.0) / where(far & (size < math.inf), size, 1.0)
            for v in (given_x, given_y))
    scale = 1 / (math.sqrt(math.pi) * where(far, size, 1.0) * where(far, square(x) + square(y) + where(
        size < math.inf, 0.0, 1.0), 1.0))
    value = where(far, joined(y * scale, x * scale), inside)
    below = given_y < 0
    value = where(where(below, -given_x, given_x) < 0, conj(value), value)
    mirrored = _turn(2 * exp(square(given_y) - square(given_x)), -2 * given_x * given_y) - value
    value = where(below, where(below, mirrored, 0.0), value)
    return where(given_x.equals(given_x) & given_y.equals(given_y), value, complex(math.nan, math.nan))


def _slope_of_wofz(t: Any, out: Any, z: Any) -> Any:
    return ops.mul(t, ops.add(ops.mul(ops.mul(z, number(z, -2)), out), number(z, 2j / math.sqrt(math.pi))))


wofz = Composed("wofz", _wofz, [_slope_of_wofz], reference="wofz", narrow=fitted.wofz, draws=[(-1.5, 2)], kinds="c",
                rtol=5e-5,
                edges=[(np.array([1, 1j, 7j, 5 + 1j, 0.3 - 2j, -4 + 0.1j, -2 - 1j, 30 + 40j], np.complex64),)],
                doc="The Faddeeva function e**(-z**2) erfc(-i z).")


# -- the gamma function -----------------------------------------------------------------------------------

_SHIFT = 9


def _reflected(z: Term) -> tuple[Term, Term, Term, Term]:
    """Whether z is left of 1/2; z or 1 - z, right of it; and 1 - E with its E = e**(2 pi i z), Im z >= 0."""
    left = real(z) < 0.5
    right = where(left, 1 - z, z)
    x = real(z)
    angle = 2 * math.pi * (x - floor(x + 0.5))
    fall = exp(-2 * math.pi * imag(z))
    turned = joined(fall * cos(angle), fall * sin(angle))
    rest = joined(-expm1(-2 * math.pi * imag(z)) + 2 * fall * square(sin(angle / 2)), -fall * sin(angle))
    return left, right, where(left, rest, 1.0), turned


def _upper(function: Any) -> Any:
    """A function with f(conj(z)) = conj(f(z)) from one for Im z >= 0."""
    def both(z: Term) -> Term:
        below = imag(z) < 0
        value = function(where(below, conj(z), z))
        return where(below, conj(value), value)
    return both


def _loggamma(z: Term) -> Term:
    """Stirling's series at z + 9 less the logarithms of the factors between; left of 1/2 by reflection, with the
    logarithm of sin(pi z) = i / 2 e**(-i pi z) (1 - E) continued from 1/2. Source: DLMF 5.11.1, 5.5.1 and 5.5.3."""
    left, right, rest, _ = _reflected(z)
    w = right + _SHIFT
    value = (w - 0.5) * log(w) - w + 0.5 * math.log(2 * math.pi) + stirling_rest(w)
    for k in range(_SHIFT):
        value = value - log(right + k)
    sine = joined(math.pi * imag(z) - math.log(2), math.pi / 2 - math.pi * real(z)) + log(rest)
    value = where(left, math.log(math.pi) - sine - value, value)
    return where(imag(z).equals(0) & real(z).equals(floor(real(z))) & (real(z) <= 0),
                 complex(math.nan, math.nan), value)


def _digamma(z: Term) -> Term:
    """As _loggamma; pi cot(pi z) = -i pi (1 + E) / (1 - E). Source: DLMF 5.11.2, 5.5.2 and 5.5.4."""
    left, right, rest, turned = _reflected(z)
    w = right + _SHIFT
    inverse = 1 / w
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    value = log(w) - inverse * 0.5 - square(inverse) * polynomial(square(inverse), terms)
    for k in range(_SHIFT):
        value = value - 1 / (right + k)
    return where(left, value + 1j * math.pi * (1 + turned) / rest, value)


def _psi(z: np.ndarray) -> np.ndarray:
    import scipy.special
    return np.asarray(scipy.special.psi(z))


complex_digamma = Composed(
    "complex_digamma", _upper(_digamma), [None], reference=_psi, draws=[(0.5, 3)], kinds="c", rtol=1e-4,
    oracle=of_numbers(_psi),
    doc="The derivative of loggamma, of complex numbers.")
loggamma = Composed("loggamma", _upper(_loggamma), [lambda t, out, z: ops.mul(t, complex_digamma(z))],
                    reference="loggamma", draws=[(0.5, 3)], kinds="c", order=1, rtol=1e-4,
                    edges=[(np.array([-1.5 + 1j, -2.5 - 0.5j, 30 + 5j, 0.5j, 3, 0.5 - 20j, -8.3 + 6j], np.complex64),)],
                    doc="The logarithm of gamma of complex numbers, continued from the positive real axis.")
