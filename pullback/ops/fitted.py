"""Special functions of floats of up to 32 bits: polynomials in float64, in place of series, fractions and integrals.

The errors of the fits are below 1e-8, which leaves the result of a rounding to float32 as good as exact. There are no
loops and few divisions, so that XLA uses vector instructions throughout. The coefficients are in `fits`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.ops import fits
from pullback.ops.composed import (
    Term,
    absolute,
    circle,
    exp,
    fitted,
    floor,
    imag,
    joined,
    log,
    log1p,
    maximum,
    minimum,
    real,
    rising,
    sqrt,
    square,
    stirling_rest,
    where,
)

_EULER = 0.5772156649015329
_HUGE = 1e50  # in place of infinity: functions that vanish there vanish in float32 here, and no power overflows


# 2 / pi: its first 24 bits, so that the product with a float32 is exact, and the rest.
_HIGH = float(np.float32(2 / math.pi))
_LOW = 2.568255326690366e-08


def _quarters(x: Term) -> Term:
    """An angle of float32 in quarters of a turn, without whole turns."""
    turns = x * (_HIGH / 4)
    return 4 * (turns - floor(turns)) + x * _LOW


# -- error functions ------------------------------------------------------------------------------------

def erfcx(x: Term) -> Term:
    size = minimum(absolute(x), _HUGE)
    below, wide = size + 3, 1 + 2 * size
    inverse = 1 / (below * wide)
    value = fitted((size - 3) * wide * inverse, fits.ERFCX) * below * inverse
    return where(x < 0, 2 * exp(square(maximum(x, -30.0))) - value, value)


def dawsn(x: Term) -> Term:
    y = maximum(minimum(x, _HUGE), -_HUGE)
    z = square(y)
    below, wide = z + 9, 1 + 2 * z
    inverse = 1 / (below * wide)
    return y * fitted((z - 9) * wide * inverse, fits.DAWSN) * below * inverse


def ndtri(p: Term) -> Term:
    off = p - 0.5
    central = off * fitted(square(off), fits.NDTRI_CENTRAL)
    least = minimum(p, 1 - p)
    r = sqrt(-log(where(least.equals(0), 0.1, least)))
    tail = where(least.equals(0), math.inf, r * fitted((r - 2) / (r + 2), fits.NDTRI_TAIL))
    return where(absolute(off) <= 0.375, central, where(off < 0, -tail, tail))


def expm1_rest(w: Term) -> Term:
    """e**w - 1 - w, without cancellation near 0."""
    return where(absolute(w) < 1.5, square(w) * fitted(w, fits.EXPM1_REST), exp(w) - 1 - w)


# -- exponential, sine and cosine integrals -------------------------------------------------------------

def expi(x: Term) -> Term:
    y = maximum(minimum(x, 200.0), -200.0)
    near = log(absolute(y)) + _EULER + y * fitted(y, fits.EXPI_NEAR)
    # From here on only for numbers beyond the interval of `near`.
    inverse = 1 / y
    size = absolute(y)
    negative = fitted((size - 2) / (size + 2), fits.EXP1)
    far = exp(y) * inverse * where(y < 0, negative, fitted(inverse, fits.EXPI_FAR))
    value = where((y >= -1) & (y <= 6), near, far)
    return where(x.equals(-math.inf), 0.0, value)


def _sici(x: Term) -> tuple[Term, Term, Term, Term, Term, Term]:
    """|x| and whether it is small, its square, the sine and cosine of |x|, and 1 / |x|."""
    size = minimum(absolute(x), _HUGE)
    return size, size <= 4, square(size), *circle(_quarters(size)), 1 / size


def sin_integral(x: Term) -> Term:
    size, small, z, sine, cosine, inverse = _sici(x)
    wave = inverse * (fitted(inverse, fits.SICI_F) * cosine + inverse * fitted(inverse, fits.SICI_G) * sine)
    value = where(small, size * fitted(z, fits.SIN_INTEGRAL), math.pi / 2 - wave)
    return where(x < 0, -value, where(x.equals(0), x, value))


def cos_integral(x: Term) -> Term:
    size, small, z, sine, cosine, inverse = _sici(x)
    wave = inverse * (fitted(inverse, fits.SICI_F) * sine - inverse * fitted(inverse, fits.SICI_G) * cosine)
    value = where(small, _EULER + log(size) + z * fitted(z, fits.COS_INTEGRAL), wave)
    return where(x.equals(-math.inf), math.nan, value)


def fresnel(x: Term, which: int) -> Term:
    """S (0) or C (1)."""
    size = minimum(absolute(x), 1e9)
    z = square(size)
    if which == 0:
        near = size * z * fitted(square(z), fits.FRESNEL_SIN)
    else:
        near = size * fitted(square(z), fits.FRESNEL_COS)
    inverse = 1 / size
    u = square(inverse)
    f = fitted(u, fits.FRESNEL_F) * inverse * (1 / math.pi)
    g = fitted(u, fits.FRESNEL_G) * inverse * u * (1 / math.pi ** 2)
    turns = z * 0.25
    sine, cosine = circle(4 * (turns - floor(turns)))
    wave = -f * cosine - g * sine if which == 0 else f * sine - g * cosine
    value = where(size <= 1.6, near, 0.5 + wave)
    return where(x < 0, -value, where(x.equals(0), x, where(x.equals(x), value, math.nan)))


# -- quotients of gamma functions -------------------------------------------------------------------------

_SHIFT = 4  # from 1/2 + 4 on, Stirling's series has an error of 1e-11


def _step(below: Term, ratio: Term, low: Term) -> Term:
    """log(gamma(x + d) / gamma(x)) without the rest, for x and d / x and log(x); large parts do not cancel."""
    change = log1p(ratio)
    return (below - 0.5) * change + below * ratio * (low + change - 1)


def poch(z: Term, m: Term) -> Term:
    """gamma(z + m) / gamma(z), each left of 1/2 by reflection; where both are poles, the limit along z."""
    top = z + m
    pole = (top <= 0) & top.equals(floor(top))
    both = pole & (z <= 0) & z.equals(floor(z))
    a, b = where(both, 1 - z, top), where(both, 1 - top, z)
    left_a, left_b = a < 0.5, b < 0.5
    mixed = (left_a & ~left_b) | (left_b & ~left_a)
    u, v = where(left_a, 1 - a, a), where(left_b, 1 - b, b)
    y = v + _SHIFT
    low, rest_y = log(y), stirling_rest(y)
    exponent = _step(y, where(mixed, u - v, where(left_a, -m, m)) / y, low) + stirling_rest(u + _SHIFT) - rest_y
    exponent = exponent + where(mixed, 2 * ((y - 0.5) * low - y + rest_y) + math.log(2 * math.pi), 0.0)
    sine_a, sine_b = (circle(2 * w)[0] * (1 / math.pi) for w in (a, b))
    p, q = rising(u), rising(v)
    factor = where(left_a, p, 1.0) * where(left_b, sine_b, q) / (where(left_a, sine_a, p) * where(left_b, q, 1.0))
    value = factor * exp(where(left_a, -exponent, exponent))
    half = m * 0.5
    value = where(both & (half > floor(half)), -value, value)
    return where(m.equals(0), 1.0, where(pole & ~both, math.inf, value))


def comb(n: Term, k: Term) -> Term:
    """n over k; 0 where k is not from 0 to n."""
    inside = (k >= 0) & (k <= n) & (n >= 0)
    top, below = where(inside, n, 1.0), where(inside, k, 1.0)
    u, v, w = top + 1, below + 1, top - below + 1
    y, z = w + _SHIFT, v + _SHIFT
    exponent = _step(y, below / y, log(y)) + stirling_rest(u + _SHIFT) - stirling_rest(y)
    exponent = exponent - ((z - 0.5) * log(z) - z + stirling_rest(z) + 0.5 * math.log(2 * math.pi))
    value = exp(exponent) * rising(v) * (rising(w) / rising(u))
    exact = top.equals(floor(top)) & below.equals(floor(below)) & (value < 2 ** 25)
    value = where(exact, floor(value + 0.5), value)
    return where(inside, value, where(n.equals(n) & k.equals(k), 0.0, math.nan))


def log_beta(a: Term, b: Term) -> Term:
    """log(B(a, b)) of positive numbers by one series of Stirling's, in which large parts do not cancel; else NaN."""
    positive = (a > 0) & (b > 0)
    least, most = where(positive, minimum(a, b), 1.0), where(positive, maximum(a, b), 1.0)
    endless = most.equals(math.inf)
    least, most = where(endless, 1.0, least), where(endless, 1.0, most)
    one, both = least < 4.5, most < 4.5
    x, y = where(one, least + _SHIFT, least), where(both, most + _SHIFT, most)
    inverse, total = 1 / y, least + most
    change = log1p(x * inverse)
    factor = where(both, rising(total + _SHIFT) / rising(most), 1.0) * where(one, rising(total) / rising(least), 1.0)
    value = (x - 0.5) * (log(x * inverse) - change) - y * change + log(factor * sqrt(2 * math.pi * inverse))
    value = value + stirling_rest(x) + stirling_rest(y) - stirling_rest(x + y)
    return where(positive, where(endless, -math.inf, value), math.nan)


# -- the gamma distribution -------------------------------------------------------------------------------

def gamma_density(a: Term, x: Term) -> Term:
    """x**a e**-x / gamma(a) for positive, finite a and x: large parts cancel in the logarithm of x / a."""
    small = a < 4.5
    y = where(small, a + _SHIFT, a)
    inverse = 1 / y
    ratio, change = x * inverse, (x - y) * inverse
    logarithm = log(ratio) + where(absolute(change) < 0.5, change - (ratio - 1), 0.0)
    value = sqrt(y * (1 / (2 * math.pi))) * exp(y * logarithm - (x - y) - stirling_rest(y))
    return value * where(small, rising(a) / square(square(where(small, x, 1.0))), 1.0)


def log_gamma_1p(a: Term) -> Term:
    """lgamma(1 + a) for a from 0 to 1/2, with all digits near 0."""
    return a * fitted(a, fits.LOG_GAMMA_1P)


# -- the Faddeeva function ------------------------------------------------------------------------------

# The rule of `integrals`, in real numbers, with as many nodes as float32 needs: its error is e**(-pi * nodes).
_NODES = 7
_SPACING = math.sqrt(math.pi / _NODES)


def wofz(z: Term) -> Term:
    given_x, given_y = real(z), imag(z)
    x, y = (minimum(absolute(v), _HUGE) for v in (given_x, given_y))
    place = x / _SPACING
    fraction = place - floor(place)
    whole = (y < x) & (fraction >= 0.25) & (fraction <= 0.75)
    # The sum over the nodes t of e**(-t**2) / (z**2 - t**2); these are multiples of the spacing, or lie between.
    difference, product = (x - y) * (x + y), 2 * x * y
    squared = square(product)
    sum_x: Any = 0.0
    sum_y: Any = 0.0
    for k in range(_NODES):
        t, u = ((k + 0.5) * _SPACING) ** 2, ((k + 1) * _SPACING) ** 2
        part = difference - where(whole, u, t)
        share = where(whole, math.exp(-u), math.exp(-t)) / (square(part) + squared)
        sum_x, sum_y = share * part + sum_x, share + sum_y
    sum_y = -product * sum_y
    scale = 2 * _SPACING / math.pi
    pole = where(whole, _SPACING / math.pi, 0.0) / where(whole, square(x) + square(y), 1.0)
    value_x = pole * y - scale * (x * sum_y + y * sum_x)
    value_y = pole * x + scale * (x * sum_x - y * sum_y)
    # What the poles add; from y = pi / spacing on it is below the last digit.
    size = exp(minimum(square(y) - square(x), 200.0))
    sine, cosine = circle(product * (2 / math.pi))
    low = y <= math.pi / _SPACING
    wave = exp(2 * math.pi / _SPACING * minimum(y, math.pi / _SPACING))
    wave_y, wave_x = circle(4 * fraction)
    side = where(whole, -wave, wave)
    below_x, below_y = 1 + side * wave_x, -side * wave_y
    share = where(low, 2 * size, 0.0) / (square(below_x) + square(below_y))
    value_x = value_x + share * (cosine * below_x - sine * below_y)
    value_y = value_y - share * (sine * below_x + cosine * below_y)
    # The other quadrants: w(-conj z) = conj w(z), w(-z) = 2 e**(-z**2) - w(z).
    left = where(given_y < 0, -given_x, given_x) < 0
    value_y = where(left, -value_y, value_y)
    twist = where((given_x < 0) & (given_y < 0) | (given_x >= 0) & (given_y >= 0), -sine, sine)
    mirrored = joined(2 * size * cosine - value_x, 2 * size * twist - value_y)
    mirrored = where((given_y > -math.inf) | given_x.equals(0), mirrored, complex(math.nan, math.nan))
    return where(given_y < 0, mirrored, joined(value_x, value_y))
