"""Functions of float32 and narrower numbers that are written out in float64 for XLA.

XLA's CPU compiler calls a scalar function for each element of these: 6 to 40 ns each. Polynomials in float64 vectorise,
and take about 1 ns; since float64 has 29 bits to spare, results are correctly rounded but for about one in 10^4, which
are off by less than 0.501 units in the last place (tests/ops/test_double.py). Coefficients: Taylor's for
sine and cosine, of which the first term left out is below 1e-14; for the inverse functions Chebyshev fits with relative
errors below 1e-10. Reduction by multiples of pi / 2 after Cody and Waite (1980), in two parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.types import ArrayType
from pullback.ops import fits

# Below these sizes the kernels that a branch needs cost more to compile than they save. XLA's remainder is slow.
_MANY_ANGLES = 1 << 14
_MANY_QUOTIENTS = 1 << 10
# Reduction in two parts is exact enough up to here; larger arguments take XLA's own way.
_FAR = 2.0 ** 20

_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 7)]
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(1, 8)]
_ATAN = [
    -0.33333333331439496, 0.19999998916690562, -0.14285612465275252, 0.11107493853432703,
    -0.09028967562110418, 0.07135234647464041, -0.04043033696147107,
]
_ASIN = [
    0.16666666665494662, 0.07500000599021815, 0.04464235834449126, 0.030397637909315142,
    0.02213239575315348, 0.01930656922123068, 0.005442207977290577, 0.029306448021839484,
]
# pi / 2: its first 33 bits, and the rest.
_HALF_PI_HIGH = float.fromhex("0x1.921fb544p+0")
_HALF_PI_LOW = float.fromhex("0x1.0b4611a626331p-34")


class _Double:
    """Arithmetic in float64 on values of one shape, in the words of a formula."""

    def __init__(self, b: Any, shape: tuple[int, ...]) -> None:
        self.b = b
        self.type = ArrayType(shape, dtypes.float64)

    def number(self, value: float) -> Any:
        return self.b.full(value, self.type)

    def polynomial(self, z: Any, coefficients: Sequence[float]) -> Any:
        """c[0] + c[1] z + c[2] z ** 2 + ..."""
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.b.add(self.b.mul(total, z), self.number(c))
        return total

    def odd(self, r: Any, coefficients: Sequence[float]) -> Any:
        """r + r ** 3 (c[0] + c[1] r ** 2 + ...), with the sign of a zero."""
        return self.b.mul(r, self.polynomial(self.b.mul(r, r), [1.0, *coefficients]))

    def absolute(self, x: Any) -> Any:
        return self.b.op("stablehlo.abs", [x], x.type)

    def with_sign(self, magnitude: Any, sign: Any) -> Any:
        """The magnitude, negated where `sign` is negative or -0."""
        b = self.b
        bits = ArrayType(self.type.shape, dtypes.int64)
        negative = b.compare("LT", b.bitcast(sign, bits), b.full(0, bits))
        return b.select(negative, b.neg(magnitude), magnitude)


def widely(plain: str, formula: Callable[..., Any], many: int = 0) -> Callable[..., Any]:
    """The lowering of a function: `formula` in float64 for floats of up to 32 bits, XLA's `plain` for the others.

    Args:
      formula: takes a _Double and operands in float64.
      many: the number of elements from which on the formula is used.
    """

    def lowering(b: Any, *operands: Any) -> Any:
        t = b.outputs[0]
        if dtypes.kind(t.dtype) != "f" or t.dtype.itemsize > 4 or t.size < many:
            return b.op(plain, operands, t)
        double = _Double(b, t.shape)
        return b.convert(formula(double, *[b.convert(x, dtypes.float64) for x in operands]), t.dtype)

    return lowering


def within(plain: str, size: Callable[..., Any], limit: float, formula: Callable[..., Any], many: int
           ) -> Callable[..., Any]:
    """The lowering of a function whose `formula` holds where `size` of the operands is below `limit`, or no number; if
    some element is beyond, XLA's `plain` computes the array, as it does one of less than `many` elements."""

    def lowering(b: Any, *operands: Any) -> Any:
        t = b.outputs[0]
        if dtypes.kind(t.dtype) != "f" or t.dtype.itemsize > 4 or t.size < many:
            return b.op(plain, operands, t)
        flat = b.reshape(b.convert(size(b, *operands), dtypes.float32), (t.size,))
        scalar = flat.type.with_shape(())
        bound = min(limit, float(dtypes.finfo(t.dtype).max))
        # Extremes by the library that needs no code. It drops a NaN, of which the formula makes a NaN.
        high, low = (b.reduce([flat], [b.full(start, scalar)], [0],
                              lambda b, x, y, name=name: [b.op(f"stablehlo.{name}", [x, y], x.type)])[0]
                     for start, name in ((-math.inf, "maximum"), (math.inf, "minimum")))
        near = b.and_(b.compare("LT", high, b.full(bound, scalar)), b.compare("GT", low, b.full(-bound, scalar)))
        regions = [b.region([], lambda inner: [inner.op(plain, operands, t)]),
                   b.region([], lambda inner: [formula(inner, *operands)])]
        return b.multi("stablehlo.case", [b.convert(near, dtypes.int32)], [t], "", regions)[0]

    return lowering


def circular(plain: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of sine, cosine or tangent: the formula takes the argument reduced to [-pi/4, pi/4] and the
    quadrant."""

    def reduced(b: Any, x: Any) -> Any:
        double = _Double(b, x.type.shape)
        wide = b.convert(x, dtypes.float64)
        turns = b.op("stablehlo.round_nearest_even", [b.mul(wide, double.number(2 / math.pi))], double.type)
        r = b.sub(b.sub(wide, b.mul(turns, double.number(_HALF_PI_HIGH))),
                  b.mul(turns, double.number(_HALF_PI_LOW)))
        # Without a turn the argument stays as it is, with the sign of a zero.
        r = b.select(b.compare("EQ", turns, double.number(0)), wide, r)
        return b.convert(formula(double, r, b.convert(turns, dtypes.int32)), x.type.dtype)

    return within(plain, lambda b, x: x, _FAR, reduced, _MANY_ANGLES)


def _bit(d: _Double, number: Any, bit: int) -> Any:
    masked = d.b.and_(number, d.b.full(bit, number.type))
    return d.b.compare("NE", masked, d.b.full(0, number.type))


def _sine(d: _Double, r: Any) -> Any:
    return d.odd(r, _SIN)


def _cosine(d: _Double, r: Any) -> Any:
    return d.polynomial(d.b.mul(r, r), [1.0, *_COS])


def _turned(d: _Double, r: Any, quadrant: Any) -> Any:
    """The sine of r + quadrant * pi / 2."""
    value = d.b.select(_bit(d, quadrant, 1), _cosine(d, r), _sine(d, r))
    return d.b.select(_bit(d, quadrant, 2), d.b.neg(value), value)


def _sin(d: _Double, r: Any, quadrant: Any) -> Any:
    return _turned(d, r, quadrant)


def _cos(d: _Double, r: Any, quadrant: Any) -> Any:
    return _turned(d, r, d.b.add(quadrant, d.b.full(1, quadrant.type)))


def _tan(d: _Double, r: Any, quadrant: Any) -> Any:
    s, c = _sine(d, r), _cosine(d, r)
    odd = _bit(d, quadrant, 1)
    return d.b.div(d.b.select(odd, d.b.neg(c), s), d.b.select(odd, s, c))


def _angle(d: _Double, y: Any, x: Any) -> Any:
    """The angle of (x, y) with y >= 0, x >= 0, from one division; NaN at the origin and at (inf, inf)."""
    b = d.b
    steep = b.compare("GT", y, b.mul(x, d.number(1 + math.sqrt(2))))
    flat = b.compare("LT", y, b.mul(x, d.number(math.sqrt(2) - 1)))
    above = b.select(steep, b.neg(x), b.select(flat, y, b.sub(y, x)))
    below = b.select(steep, y, b.select(flat, x, b.add(y, x)))
    base = b.select(steep, d.number(math.pi / 2), b.select(flat, d.number(0), d.number(math.pi / 4)))
    return b.add(base, d.odd(b.div(above, below), _ATAN))


def _atan(d: _Double, x: Any) -> Any:
    return d.with_sign(_angle(d, d.absolute(x), d.number(1)), x)


def _atan2(d: _Double, y: Any, x: Any) -> Any:
    b = d.b
    high, wide = d.absolute(y), d.absolute(x)
    infinite = d.number(math.inf)
    both = b.and_(b.compare("EQ", high, infinite), b.compare("EQ", wide, infinite))
    angle = b.select(both, d.number(math.pi / 4), _angle(d, high, wide))
    origin = b.and_(b.compare("EQ", high, d.number(0)), b.compare("EQ", wide, d.number(0)))
    angle = b.select(origin, d.number(0), angle)
    bits = ArrayType(d.type.shape, dtypes.int64)
    left = b.compare("LT", b.bitcast(x, bits), b.full(0, bits))
    angle = b.select(left, b.sub(d.number(math.pi), angle), angle)
    invalid = b.or_(b.compare("NE", x, x), b.compare("NE", y, y))
    return b.select(invalid, b.add(x, y), d.with_sign(angle, y))


def _asin_half(d: _Double, x: Any) -> tuple[Any, Any]:
    """For |x|: whether it is at most 1/2; the arcsine of |x| there, half the arccosine elsewhere."""
    b = d.b
    size = d.absolute(x)
    small = b.compare("LE", size, d.number(0.5))
    root = b.op("stablehlo.sqrt", [b.mul(b.sub(d.number(1), size), d.number(0.5))], d.type)
    return small, d.odd(b.select(small, size, root), _ASIN)


def _asin(d: _Double, x: Any) -> Any:
    small, part = _asin_half(d, x)
    far = d.b.sub(d.number(math.pi / 2), d.b.mul(part, d.number(2)))
    return d.with_sign(d.b.select(small, part, far), x)


def _acos(d: _Double, x: Any) -> Any:
    b = d.b
    small, part = _asin_half(d, x)
    twice = b.mul(part, d.number(2))
    negative = b.compare("LT", x, d.number(0))
    near = b.sub(d.number(math.pi / 2), b.select(negative, b.neg(part), part))
    return b.select(small, near, b.select(negative, b.sub(d.number(math.pi), twice), twice))


def _cbrt(d: _Double, x: Any) -> Any:
    """A third of the exponent, then two steps of Halley's iteration."""
    b = d.b
    size = d.absolute(x)
    bits = ArrayType(d.type.shape, dtypes.int64)
    third = b.div(b.convert(b.op("stablehlo.shift_right_logical", [b.bitcast(size, bits), b.full(32, bits)], bits),
                            dtypes.int32), b.full(3, bits.with_dtype(dtypes.int32)))
    guess = b.op("stablehlo.shift_left", [b.add(b.convert(third, dtypes.int64), b.full(715094163, bits)),
                                          b.full(32, bits)], bits)
    root = b.bitcast(guess, d.type)
    for _ in range(3):
        cube = b.mul(b.mul(root, root), root)
        root = b.mul(root, b.div(b.add(cube, b.add(size, size)), b.add(b.add(cube, cube), size)))
    special = b.or_(b.compare("EQ", size, d.number(0)), b.compare("EQ", size, d.number(math.inf)))
    return d.with_sign(b.select(special, size, root), x)


def _remainder(b: Any, x: Any, y: Any) -> Any:
    """x - y trunc(x / y): exact in float64, since the quotient has at most 29 bits and y 24."""
    d = _Double(b, x.type.shape)
    wide, by = b.convert(x, dtypes.float64), b.convert(y, dtypes.float64)
    quotient = b.div(wide, by)
    whole = d.with_sign(b.op("stablehlo.floor", [d.absolute(quotient)], d.type), quotient)
    rest = b.sub(wide, b.mul(whole, by))
    # A quotient just below an integer may have been rounded up to it.
    over = b.compare("LT", b.mul(rest, wide), d.number(0))
    rest = b.select(over, b.add(rest, d.with_sign(d.absolute(by), wide)), rest)
    return b.convert(d.with_sign(d.absolute(rest), wide), x.type.dtype)


def _real_on_axis(lowering: Callable[..., Any], stays: str) -> Callable[..., Any]:
    """Of imaginary numbers, the part of the result that is 0: XLA multiplies it by infinity where the other one is."""
    def hlo(b: Any, x: Any) -> Any:
        out = lowering(b, x)
        if dtypes.kind(x.type.dtype) != "c":
            return out
        real = x.type.with_dtype(dtypes.to_real(x.type.dtype))
        parts = {part: b.op(f"stablehlo.{part}", [out], real) for part in ("real", "imag")}
        zero = b.full(0, real)
        on_axis = b.compare("EQ", b.op("stablehlo.real", [x], real), zero)
        parts[stays] = b.select(on_axis, zero, parts[stays])
        return b.op("stablehlo.complex", list(parts.values()), x.type)
    return hlo


sine = _real_on_axis(circular("stablehlo.sine", _sin), "real")
cosine = _real_on_axis(circular("stablehlo.cosine", _cos), "imag")
tangent = circular("stablehlo.tan", _tan)
arcsine = widely("chlo.asin", _asin)
arccosine = widely("chlo.acos", _acos)
arctangent = widely("chlo.atan", _atan)
arctangent2 = widely("stablehlo.atan2", _atan2)
cube_root = widely("stablehlo.cbrt", _cbrt)
remainder = within("stablehlo.remainder", lambda b, x, y: b.div(x, y), 2.0 ** 29, _remainder, _MANY_QUOTIENTS)


# -- shorter than XLA's own, or without its cancellation, in the dtype of the operand --------------------

def power_of_two(b: Any, x: Any) -> Any:
    if dtypes.kind(x.type.dtype) == "c":
        return b.op("stablehlo.exponential", [b.mul(x, b.full(math.log(2), x.type))], x.type)
    if x.type.dtype != dtypes.float32:
        return b.op("stablehlo.power", [b.full(2, x.type), x], x.type)
    # 2 ** (x - n) 2 ** n, exact for whole x. The bits of 2 ** n are those of 0 for n = -127, since XLA takes numbers so
    # small for zero, and those of infinity for n = 128.
    bits = x.type.with_dtype(dtypes.int32)
    near = b.op("stablehlo.clamp", [b.full(-127, x.type), x, b.full(128, x.type)], x.type)
    whole = b.op("stablehlo.floor", [near], x.type)
    rest = b.sub(near, whole)
    scaled = b.sub(b.add(rest, rest), b.full(1, x.type))
    value = b.full(fits.EXP2[2][-1], x.type)
    for c in fits.EXP2[2][-2::-1]:
        value = b.add(b.mul(value, scaled), b.full(c, x.type))
    value = b.add(b.mul(value, rest), b.full(1, x.type))
    power = b.op("stablehlo.shift_left", [b.add(b.convert(whole, dtypes.int32), b.full(127, bits)), b.full(23, bits)],
                 bits)
    return b.mul(value, b.bitcast(power, x.type))


def squared(b: Any, x: Any) -> Any:
    if dtypes.kind(x.type.dtype) != "c":
        return b.mul(x, x)
    # x.real ** 2 - x.imag ** 2 without cancellation; 0 where the parts are of one size, though their sum overflow.
    part = x.type.with_dtype(np.dtype(f"f{x.type.dtype.itemsize // 2}"))
    re, im = (b.op(f"stablehlo.{name}", [x], part) for name in ("real", "imag"))
    equal = b.compare("EQ", b.op("stablehlo.abs", [re], part), b.op("stablehlo.abs", [im], part))
    finite = b.op("stablehlo.is_finite", [re], part.with_dtype(np.dtype(np.bool_)))
    real = b.select(b.and_(equal, finite), b.full(0, part), b.mul(b.sub(re, im), b.add(re, im)))
    product = b.mul(re, im)
    return b.op("stablehlo.complex", [real, b.add(product, product)], x.type)
