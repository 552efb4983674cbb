"""Elementwise operations: arithmetic, functions of one variable, comparisons, complex parts, choice."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.values import scalar_of
from pullback.core.vector import instantiate
from pullback.ops.convert import convert, convert_element_type
from pullback.ops.double import (
    arccosine,
    arcsine,
    arctangent,
    arctangent2,
    cosine,
    cube_root,
    power_of_two,
    remainder,
    sine,
    squared,
    tangent,
)
from pullback.ops.families import (
    ANY,
    COMPLEX,
    DIRECT,
    FLOAT,
    INEXACT,
    NUMBER,
    REAL,
    Elementwise,
    MovesKeys,
    Product,
    Quotient,
    align,
    check_kind,
    common,
    product,
    quotient,
    unfit,
)

NAN, INF = math.nan, math.inf


def number(x: Any, value: complex) -> Any:
    """The constant `value` as a scalar of the dtype of `x`."""
    t = type_of(x)
    return scalar_of(value, t.dtype, t.weak)


def widened(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """`function` for every dtype: narrow ones are computed in float32 or int32 and rounded once."""

    def reference(*xs: np.ndarray, **params: Any) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype in DIRECT:
            return function(*xs, **params)
        wide = np.float32 if dtypes.kind(dtype) == "f" else np.int32
        result = function(*[x.astype(wide) for x in xs], **params)
        return convert(result, dtype) if result.dtype == wide else result

    return reference


class Pointwise(Elementwise):
    """Elementwise operations with a NumPy function for the common dtypes, and further examples.

    Args:
      edges: operands with special values; the operation must agree with XLA and jax on them.
    """

    def __init__(self, name: str, numpy: Callable[..., Any], hlo: Any,
                 derivatives: Sequence[Callable[..., Any] | None], *, edges: Sequence[tuple[Any, ...]] = (),
                 **more: Any) -> None:
        super().__init__(name, widened(numpy), hlo, derivatives, **more)
        self.direct = numpy
        self.edges = edges

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield from super().examples(rng)
        for args in self.edges:
            yield Example(*args, order=0, rtol=self.rtol)
        if "f" in self.kinds:
            count = len(self.derivatives)
            for dtype in (np.dtype(np.float16), dtypes.bfloat16):
                values = [rng.uniform(*self.domain, (2, 3)) for _ in range(count)]
                yield Example(*[v.astype(dtype) for v in values], order=0)

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        names = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not"}
        name = names.get(self.name, self.name)
        theirs = getattr(jax.lax, name, None) or getattr(jax.numpy, name)  # lax.log2 is new in 0.11
        return theirs(*map(jax.numpy.asarray, args), **params)


def _f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


_SPECIAL = _f32(0, -0.0, 1, -1, 0.5, -0.5, 1e-30, -1e-30, 3e38, INF, -INF, NAN)
_EDGE = ((_SPECIAL,),)
# Every pair of a few special numbers.
_PAIRS = tuple(a.ravel() for a in np.meshgrid(*[_f32(0, -0.0, 1, -2.5, 3, INF, -INF, NAN)] * 2))
_INT_PAIRS = tuple(a.ravel() for a in np.meshgrid(*[_i32(0, 1, -1, 7, -3, 2**31 - 1, -(2**31))] * 2))
_WRAP = (_i32(2**31 - 1, -(2**31), 46341), _i32(1, -1, 46341))


# -- arithmetic -------------------------------------------------------------------------------------

def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Division; of integers towards zero, by 0 all bits set, and the least one by -1 itself."""
    if x.dtype.kind in "fc":
        return np.divide(x, y)
    quotient = x // _divisor(x, y)
    if x.dtype.kind == "i":
        quotient = quotient + ((quotient * y != x) & ((x < 0) != (y < 0)) & (y != 0)).astype(x.dtype)
    return np.where(y == 0, ~np.zeros((), x.dtype), quotient)


def _divisor(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`y` with 1 where the integer quotient x / y does not exist."""
    bad = y == 0
    if x.dtype.kind == "i":
        bad = bad | ((y == -1) & (x == np.iinfo(x.dtype).min))
    return np.where(bad, np.ones((), x.dtype), y)


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The remainder of division towards zero, which has the sign of `x`; of integers by 0, `x`."""
    if x.dtype.kind == "f" or x.dtype.kind == "u" and np.count_nonzero(y) == np.size(y):
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, _divisor(x, y)))


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x, np.sign(x)) if x.dtype.kind == "f" else np.sign(x)


def _sign_hlo(b: Any, x: Any) -> Any:
    if dtypes.kind(x.type.dtype) != "u":
        return b.op("stablehlo.sign", [x], b.outputs[0])
    return b.select(b.compare("EQ", x, b.full(0, x.type)), b.full(0, x.type), b.full(1, x.type))


def _sign_tangent(t: Any, out: Any, x: Any) -> Any:
    """Of complex numbers, what of the tangent is across x; that turns x / |x|."""
    if not dtypes.is_complex(type_of(x).dtype):
        return Zero(type_of(t))
    along = real(mul(t, conj(out)))
    size = abs(x)
    across = sub(t, mul(out, complex(along, number(along, 0))))
    size = select_n(eq(size, number(size, 0)), size, number(size, 1))
    return select_n(eq(x, number(x, 0)), div(across, complex(size, number(size, 0))), number(t, 0))


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    """At 0, the derivative from the right for real numbers, 0 for complex ones."""
    if dtypes.is_complex(type_of(x).dtype):
        return div(real(mul(t, conj(x))), select_n(eq(out, number(out, 0)), out, number(out, 1)))
    return select_n(ge(x, number(x, 0)), neg(t), t)


def _extreme(reference: Callable[..., Any], direction: str) -> tuple[Any, Any]:
    """NumPy and StableHLO of max and min; complex numbers are ordered by real, then by imaginary part."""

    def signed_zeros(out: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        # Of 0.0 and -0.0 the first is the larger; NumPy takes either.
        if x.dtype.kind != "f" or np.count_nonzero(out) == out.size or not (zero := (x == 0) & (y == 0)).any():
            return out
        return np.where(zero, x + y if direction == "GT" else -(-x - y), out)

    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.dtype.kind != "c":
            return signed_zeros(reference(x, y), x, y)
        a, b = (x, y) if direction == "GT" else (y, x)
        return np.where((a.real > b.real) | ((a.real == b.real) & (a.imag > b.imag)), x, y)

    def hlo(b: Any, x: Any, y: Any) -> Any:
        out = b.outputs[0]
        if dtypes.kind(out.dtype) != "c":
            return b.max(x, y) if direction == "GT" else b.min(x, y)
        part = ArrayType(out.shape, dtypes.to_real(out.dtype))
        xr, xi, yr, yi = (b.op(f"stablehlo.{name}", [v], part) for v in (x, y) for name in ("real", "imag"))
        tie = b.and_(b.compare("EQ", xr, yr), b.compare(direction, xi, yi))
        return b.select(b.or_(b.compare(direction, xr, yr), tie), x, y)

    return numpy, hlo


def _share(t: Any, out: Any, x: Any, y: Any) -> Any:
    """The tangent of an operand of max or min: where both are equal, each counts half."""
    half = select_n(eq(y, out), number(t, 1), number(t, 0.5))
    return mul(t, select_n(eq(x, out), number(t, 0), half))


add = Pointwise("add", np.add, "add", [lambda t, out, x, y: t, lambda t, out, x, y: t],
                transposes=[lambda ct, x, y: ct, lambda ct, x, y: ct], kinds=NUMBER, edges=[_PAIRS, _WRAP],
                doc="x + y.")
sub = Pointwise("sub", np.subtract, "subtract", [lambda t, out, x, y: t, lambda t, out, x, y: neg(t)],
                transposes=[lambda ct, x, y: ct, lambda ct, x, y: neg(ct)], kinds=NUMBER,
                edges=[_PAIRS, _WRAP], doc="x - y.")


class Multiply(Product, Pointwise):
    """x * y."""


class Divide(Quotient, Pointwise):
    """x / y."""


mul = Multiply("mul", np.multiply, "multiply",
                [lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t)],
                transposes=[lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)], kinds=NUMBER,
                edges=[_PAIRS, _WRAP], doc="x * y.")
div = Divide("div", _divide, "divide",
                [lambda t, out, x, y: div(t, y), lambda t, out, x, y: neg(mul(t, div(out, y)))],
                transposes=[lambda ct, x, y: div(ct, y), None], kinds=NUMBER, domain=(1.0, 4.0),
                edges=[_PAIRS, _INT_PAIRS, (np.uint8([7, 1, 0]), np.uint8([2, 0, 0]))],
                doc="x / y; integer division rounds towards zero.")
rem = Pointwise("rem", _remainder, remainder,
                [lambda t, out, x, y: t, lambda t, out, x, y: neg(mul(t, _toward_zero(div(x, y))))],
                kinds=REAL, domain=(1.0, 4.0),
                edges=[_PAIRS, _INT_PAIRS, (np.uint8([7, 1, 0]), np.uint8([2, 0, 0]))],
                doc="The remainder of x / y rounded towards zero; it has the sign of x.")
neg = Pointwise("neg", np.negative, "negate", [lambda t, out, x: neg(t)], transposes=[lambda ct, x: neg(ct)],
                kinds=NUMBER, edges=[(_SPECIAL,), (np.int8([-128, 1]),)], doc="-x.")
sign = Pointwise("sign", _sign, _sign_hlo, [_sign_tangent], kinds=NUMBER, edges=_EDGE,
                 doc="-1, 0 or 1 by the sign of x; x / |x| of complex numbers. At 0 the derivative is 0.")
abs = Pointwise("abs", np.abs, "abs", [_abs_tangent], kinds="ifc", result=dtypes.to_real,
                edges=[(_SPECIAL,), (np.int8([-128, 1]),)],
                doc="|x|. At 0 the derivative is 1, for complex x it is 0.")
max = Pointwise("max", *_extreme(np.maximum, "GT"),
                [_share, lambda t, out, x, y: _share(t, out, y, x)], kinds=ANY, edges=[_PAIRS, _INT_PAIRS],
                doc="The larger of x and y; NaN if either is. Where they are equal, each counts half.")
min = Pointwise("min", *_extreme(np.minimum, "LT"),
                [_share, lambda t, out, x, y: _share(t, out, y, x)], kinds=ANY, edges=[_PAIRS, _INT_PAIRS],
                doc="The smaller of x and y; NaN if either is. Where they are equal, each counts half.")


def _toward_zero(x: Any) -> Any:
    return mul(sign(x), floor(abs(x)))


# -- powers -----------------------------------------------------------------------------------------

class Power(Pointwise):
    """x ** y, where y has the dtype of x or an integer dtype of its own."""

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        x, y = types
        check_kind([x], INEXACT)
        if dtypes.is_integer(y.dtype):
            shape, dtype, _ = common([x, y.with_dtype(x.dtype)])
            return [ArrayType(shape, dtype, x.weak and y.weak)]
        return super().type(x, y)

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        x, y = arrays
        return super().numpy(x, convert(y, x.dtype))

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        x, y = values
        return super().hlo(b, x, b.convert(y, x.type.dtype))

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield from super().examples(rng)
        yield Example(rng.uniform(-3, 3, 4).astype(np.float32), _i32(0, 1, 2, -3))
        yield Example(_f32(0, 0, 0, -2, -2), _i32(0, 1, -1, 3, 0), order=0)
        yield Example(rng.uniform(1, 3, 4).astype(np.float16), np.int8(2), order=0)


def _pow_tangent(t: Any, out: Any, x: Any, y: Any) -> Any:
    if not dtypes.is_integer(type_of(y).dtype):
        return mul(t, product(y, pow(x, sub(y, number(y, 1)))))
    # 0 ** 0 is constant in x when the exponent is an integer.
    none = eq(y, number(y, 0))
    lower = pow(x, select_n(none, sub(y, number(y, 1)), number(y, 0)))
    return mul(t, mul(convert_element_type(y, dtype=type_of(x).dtype, weak=type_of(x).weak), lower))


def _log_of_nonzero(x: Any) -> Any:
    return log(select_n(eq(x, number(x, 0)), x, number(x, 1)))


class IntegerPower(Pointwise):
    """x ** y for a Python int y."""

    def type(self, *types: ArrayType, y: int) -> list[ArrayType]:  # type: ignore[override]
        check_kind(types, NUMBER)
        if y < 0 and dtypes.is_integer(types[0].dtype):
            raise errors.type_error(
                f"got an operand {types[0]} and the exponent {y}; integers have no negative powers",
                fix="convert the operand to a float dtype first")
        return [types[0]]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for y in (0, 1, 2, 3, 7, -1, -3):
            yield Example(rng.uniform(0.5, 2, (2, 3)).astype(np.float32), y=y)
            yield Example(_SPECIAL, y=y, order=0)
        yield Example(rng.normal(size=3).astype(np.float32) + 1j, y=3)
        yield Example(_i32(2, -3, 46341), y=2, order=0)
        yield Example(rng.uniform(0.5, 2, 3).astype(dtypes.bfloat16), y=-2, order=0)


def _power_chain(x: Any, y: int, one: Any, multiply: Callable[[Any, Any], Any],
                 divide: Callable[[Any, Any], Any]) -> Any:
    """x ** y by repeated squaring."""
    result, square, n = None, x, -y if y < 0 else y
    while n:
        if n & 1:
            result = square if result is None else multiply(result, square)
        n >>= 1
        square = multiply(square, square) if n else square
    if result is None:
        return one
    return divide(one, result) if y < 0 else result


def _integer_pow_tangent(t: Any, out: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return Zero(type_of(t))
    return t if y == 1 else mul(t, mul(number(x, y), integer_pow(x, y=y - 1)))


pow = Power("pow", np.power, "power",
            [_pow_tangent, lambda t, out, x, y: mul(t, product(_log_of_nonzero(x), out))],
            kinds=INEXACT, domain=(0.5, 3.0), edges=[_PAIRS], rtol=2e-5,
            doc="x ** y. The derivative by y is 0 where x is 0 and the power is finite.")
integer_pow = IntegerPower(
    "integer_pow", lambda x, y: _power_chain(x, y, np.ones_like(x), np.multiply, np.divide),
    lambda b, x, y: _power_chain(x, y, b.full(1, x.type), b.mul, b.div), [_integer_pow_tangent], kinds=NUMBER,
    doc="x ** y for a Python int y.")
square = Pointwise("square", np.square, squared,
                   [lambda t, out, x: mul(t, mul(number(x, 2), x))], kinds=NUMBER, edges=_EDGE, doc="x * x.")
sqrt = Pointwise("sqrt", np.sqrt, "sqrt", [lambda t, out, x: div(t, mul(number(out, 2), out))], kinds=INEXACT,
                 domain=(0.5, 4.0), edges=_EDGE, doc="The square root; NaN of negative numbers.")
rsqrt = Pointwise("rsqrt", lambda x: np.divide(x.dtype.type(1), np.sqrt(x)), "rsqrt",
                  [lambda t, out, x: mul(t, mul(number(x, -0.5), div(out, x)))], kinds=INEXACT,
                  domain=(0.5, 4.0), edges=_EDGE, doc="1 / sqrt(x).")
class OneMinusSquare(Pointwise):
    """1 - x * x."""

    def oracle(self, jax: Any, x: Any, **params: Any) -> Any:  # type: ignore[override]
        own = getattr(jax.lax, "one_minus_square", None)  # new in 0.11
        return own(x) if own is not None else 1 - jax.numpy.square(x)


one_minus_square = OneMinusSquare(
    "one_minus_square", lambda x: (x.dtype.type(1) - x) * (x.dtype.type(1) + x),
    lambda b, x: b.mul(b.sub(b.full(1, x.type), x), b.add(b.full(1, x.type), x)),
    [lambda t, out, x: mul(t, mul(number(x, -2), x))], kinds=NUMBER, edges=_EDGE,
    doc="1 - x * x, exact where x is near 1.")
cbrt = Pointwise("cbrt", np.cbrt, cube_root, [lambda t, out, x: div(t, mul(number(out, 3), mul(out, out)))],
                 kinds=FLOAT, domain=(0.5, 4.0), edges=_EDGE, doc="The real cube root.")


# -- exponential, logarithm, and their kin -----------------------------------------------------------

def _log2_hlo(b: Any, x: Any) -> Any:
    out = b.op("stablehlo.log", [x], x.type)
    if not dtypes.is_complex(x.type.dtype):
        return b.div(out, b.full(math.log(2), x.type))
    # By parts: an infinite part leaves the other one alone.
    real = x.type.with_dtype(dtypes.to_real(x.type.dtype))
    parts = [b.op(f"stablehlo.{part}", [out], real) for part in ("real", "imag")]
    return b.op("stablehlo.complex", [b.div(part, b.full(math.log(2), real)) for part in parts], x.type)


def _logistic(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


exp = Pointwise("exp", np.exp, "exponential", [lambda t, out, x: mul(t, out)], kinds=INEXACT, edges=_EDGE,
                doc="e ** x.")
exp2 = Pointwise("exp2", np.exp2, power_of_two, [lambda t, out, x: mul(t, mul(number(out, math.log(2)), out))],
                 kinds=INEXACT, edges=_EDGE, doc="2 ** x.")
expm1 = Pointwise("expm1", np.expm1, "exponential_minus_one",
                  [lambda t, out, x: mul(t, add(out, number(out, 1)))], kinds=INEXACT, edges=_EDGE,
                  doc="e ** x - 1, exact for small x.")
log = Pointwise("log", np.log, "log", [lambda t, out, x: div(t, x)], kinds=INEXACT, domain=(0.5, 4.0),
                edges=_EDGE, doc="The natural logarithm.")
log2 = Pointwise("log2", np.log2, _log2_hlo, [lambda t, out, x: div(t, mul(x, number(x, math.log(2))))],
                 kinds=INEXACT, domain=(0.5, 4.0), edges=_EDGE, doc="The logarithm of x to base 2.")
log1p = Pointwise("log1p", np.log1p, "log_plus_one", [lambda t, out, x: div(t, add(x, number(x, 1)))],
                  kinds=INEXACT, domain=(-0.5, 3.0), edges=_EDGE, doc="log(1 + x), exact for small x.")
logistic = Pointwise("logistic", _logistic, "logistic",
                     [lambda t, out, x: mul(t, mul(out, sub(number(out, 1), out)))], kinds=INEXACT,
                     edges=_EDGE, doc="1 / (1 + e ** -x).")


# -- trigonometric and hyperbolic -------------------------------------------------------------------

def _atan2(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    i = x.dtype.type(1j)
    return -i * np.log((y + i * x) / np.sqrt(x * x + y * y))


def _one_minus_square_root(x: Any) -> Any:
    """1 / sqrt(1 - x ** 2)."""
    return rsqrt(mul(sub(number(x, 1), x), add(number(x, 1), x)))


sin = Pointwise("sin", np.sin, sine, [lambda t, out, x: mul(t, cos(x))], kinds=INEXACT, edges=_EDGE,
                doc="The sine of x in radians.")
cos = Pointwise("cos", np.cos, cosine, [lambda t, out, x: neg(mul(t, sin(x)))], kinds=INEXACT, edges=_EDGE,
                doc="The cosine of x in radians.")
tan = Pointwise("tan", np.tan, tangent, [lambda t, out, x: mul(t, add(number(out, 1), mul(out, out)))],
                kinds=INEXACT, domain=(-1.2, 1.2), edges=_EDGE, doc="The tangent of x in radians.")
asin = Pointwise("asin", np.arcsin, arcsine, [lambda t, out, x: mul(t, _one_minus_square_root(x))],
                 kinds=INEXACT, domain=(-0.9, 0.9), edges=_EDGE, doc="The inverse sine, in radians.")
acos = Pointwise("acos", np.arccos, arccosine, [lambda t, out, x: neg(mul(t, _one_minus_square_root(x)))],
                 kinds=INEXACT, domain=(-0.9, 0.9), edges=_EDGE, doc="The inverse cosine, in radians.")
atan = Pointwise("atan", np.arctan, arctangent, [lambda t, out, x: div(t, add(number(x, 1), mul(x, x)))],
                 kinds=INEXACT, domain=(-0.9, 0.9), edges=_EDGE, doc="The inverse tangent, in radians.")
atan2 = Pointwise("atan2", _atan2, arctangent2,
                  [lambda t, out, x, y: mul(t, quotient(y, add(mul(x, x), mul(y, y)))),
                   lambda t, out, x, y: neg(mul(t, quotient(x, add(mul(x, x), mul(y, y)))))],
                  kinds=INEXACT, domain=(0.2, 0.9), edges=[_PAIRS],
                  doc="The angle of the point (y, x), in radians; derivative NaN at the origin (0: strong_zeros).")
sinh = Pointwise("sinh", np.sinh, "chlo.sinh", [lambda t, out, x: mul(t, cosh(x))], kinds=INEXACT,
                 edges=_EDGE, doc="The hyperbolic sine.")
cosh = Pointwise("cosh", np.cosh, "chlo.cosh", [lambda t, out, x: mul(t, sinh(x))], kinds=INEXACT,
                 edges=_EDGE, doc="The hyperbolic cosine.")
tanh = Pointwise("tanh", np.tanh, "tanh",  # (1 + y)(1 - y) keeps digits where 1 - y ** 2 cancels
                 [lambda t, out, x: mul(add(t, mul(t, out)), sub(number(out, 1), out))], kinds=INEXACT,
                 domain=(-1.2, 1.2), edges=_EDGE, doc="The hyperbolic tangent.")
asinh = Pointwise("asinh", np.arcsinh, "chlo.asinh",
                  [lambda t, out, x: mul(t, rsqrt(add(mul(x, x), number(x, 1))))], kinds=INEXACT,
                  domain=(-0.9, 0.9), edges=_EDGE, doc="The inverse hyperbolic sine.")
acosh = Pointwise("acosh", np.arccosh, "chlo.acosh",
                  # One root of the product would be the other one for complex x on the left.
                  [lambda t, out, x: mul(t, mul(rsqrt(sub(x, number(x, 1))), rsqrt(add(x, number(x, 1)))))],
                  kinds=INEXACT, domain=(1.5, 4.0), edges=_EDGE, doc="The inverse hyperbolic cosine.")
atanh = Pointwise("atanh", np.arctanh, "chlo.atanh",
                  [lambda t, out, x: div(div(t, add(number(x, 1), x)), sub(number(x, 1), x))], kinds=INEXACT,
                  domain=(-0.9, 0.9), edges=_EDGE, doc="The inverse hyperbolic tangent.")


# -- rounding ---------------------------------------------------------------------------------------

class RoundingMethod(enum.IntEnum):
    """Where `round` takes numbers half way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _round(x: np.ndarray, rounding_method: RoundingMethod) -> np.ndarray:
    if rounding_method:
        return np.rint(x)
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


class Round(Pointwise):
    """x to the nearest integer."""

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        halves = _f32(0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609, -0.2, 0, -0.0, INF, NAN)
        for method in RoundingMethod:
            yield Example(rng.uniform(-3, 3, (2, 3)).astype(np.float32), rounding_method=method)
            yield Example(halves, rounding_method=method, order=0)
            yield Example(halves.astype(dtypes.bfloat16), rounding_method=method, order=0)

    def oracle(self, jax: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:  # type: ignore[override]
        return jax.lax.round(x, jax.lax.RoundingMethod(int(rounding_method)))


def _round_hlo(b: Any, x: Any, rounding_method: RoundingMethod) -> Any:
    return b.op("stablehlo.round_nearest_" + ("even" if rounding_method else "afz"), [x], x.type)


class NextAfter(Pointwise):
    """The neighbour of x in its dtype on the way to y."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        raise self.missing("derivative", "stop the gradient of its operands with lax.stop_gradient")


floor = Pointwise("floor", np.floor, "floor", [None], kinds=FLOAT, edges=_EDGE,
                  doc="The largest integer not above x; derivative 0.")
ceil = Pointwise("ceil", np.ceil, "ceil", [None], kinds=FLOAT, edges=_EDGE,
                 doc="The least integer not below x; derivative 0.")
round = Round("round", _round, _round_hlo, [None], kinds=FLOAT, doc="x to the nearest integer; derivative 0.")
is_finite = Pointwise("is_finite", np.isfinite, "is_finite", [None], kinds=FLOAT, edges=_EDGE,
                      result=lambda dtype: dtypes.bool_, doc="Whether x is neither infinite nor NaN.")


def _next_after(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.nextafter(x, y)


nextafter = NextAfter("nextafter", _next_after, "chlo.next_after", [None, None], kinds=FLOAT, order=0,
                      edges=[_PAIRS], doc="The neighbour of x in its dtype on the way to y; no derivative.")
nextafter.reference = _next_after  # neighbours in the dtype itself: not by way of float32


# -- comparisons ------------------------------------------------------------------------------------

def _comparison(name: str, reference: Callable[..., Any], words: str, kinds: str = "biuf") -> Pointwise:
    made = Pointwise(name, reference, lambda b, x, y: b.compare(name.upper(), x, y), [None, None],
                     kinds=kinds, result=lambda dtype: dtypes.bool_, edges=[_PAIRS, _INT_PAIRS],
                     doc=f"Whether x is {words} y.")
    made.reference = reference
    return made


eq = _comparison("eq", np.equal, "equal to", ANY)
ne = _comparison("ne", np.not_equal, "different from", ANY)
lt = _comparison("lt", np.less, "less than")
le = _comparison("le", np.less_equal, "not above")
gt = _comparison("gt", np.greater, "greater than")
ge = _comparison("ge", np.greater_equal, "not below")


# -- complex numbers --------------------------------------------------------------------------------

class OfSingleOrDouble(Pointwise):
    """Operations to complex numbers; only float32 and float64 have a complex counterpart."""

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        for t in types:
            if dtypes.kind(t.dtype) == "f" and t.dtype not in (dtypes.float32, dtypes.float64):
                raise errors.type_error(f"got {t}, float32 or float64 is required",
                                        fix="convert it to float32")
        return super().type(*types, **params)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield from Elementwise.examples(self, rng)


def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), dtypes.to_complex(x.dtype))
    out.real, out.imag = x, y
    return out


def _conj_hlo(b: Any, x: Any) -> Any:
    if dtypes.kind(x.type.dtype) == "c":
        return b.op("chlo.conj", [x], x.type)
    return b.op("stablehlo.complex", [x, b.full(0, x.type)], b.outputs[0])


real = Pointwise("real", np.real, "real", [lambda t, out, x: real(t)],
                 transposes=[lambda ct, x: complex(ct, number(ct, 0))], kinds=COMPLEX, result=dtypes.to_real,
                 doc="The real part.")
imag = Pointwise("imag", np.imag, "imag", [lambda t, out, x: imag(t)],  # imag(x) = real(-i x)
                 transposes=[lambda ct, x: complex(number(ct, 0), neg(ct))], kinds=COMPLEX,
                 result=dtypes.to_real, doc="The imaginary part.")
complex = OfSingleOrDouble(
    "complex", _complex, "complex",
    [lambda t, out, x, y: complex(t, number(t, 0)), lambda t, out, x, y: complex(number(t, 0), t)],
    transposes=[lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))], kinds=FLOAT,
    result=dtypes.to_complex, doc="x + i y.")
conj = OfSingleOrDouble(
    "conj", lambda x: np.conj(x).astype(dtypes.to_complex(x.dtype)), _conj_hlo, [lambda t, out, x: conj(t)],
    transposes=[lambda ct, x: conj(ct) if dtypes.is_complex(x.type.dtype) else real(ct)], kinds=INEXACT,
    result=dtypes.to_complex, doc="The complex conjugate; of real numbers, they themselves as complex ones.")


# -- choice -----------------------------------------------------------------------------------------

class SelectN(MovesKeys):
    """cases[which] for each element. Below the first case it is the first, beyond the last one the last."""

    def type(self, *types: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        which, *cases = types
        if not cases:
            raise errors.type_error("at least one case is required", fix="pass the cases after `which`")
        check_kind([which], "biu")
        if dtypes.is_bool(which.dtype) and len(cases) > 2:
            raise errors.type_error(f"got {len(cases)} cases and a bool `which`, at most 2 are required",
                                    fix="give an integer `which`")
        shape, dtype, weak = common(cases)
        if which.shape not in ((), shape):
            if shape:
                raise errors.type_error(
                    f"`which` {which} must have the shape of the cases, {cases[0]}, or no axes",
                    fix="broadcast one with lax.broadcast_in_dim, or use jnp.where")
            shape = which.shape
        return [ArrayType(shape, dtype, weak)]

    def numpy(self, *arrays: np.ndarray) -> Outputs:  # type: ignore[override]
        which, *cases = arrays
        result = cases[-1]
        if len(cases) == 1:
            return [np.broadcast_to(result, np.broadcast_shapes(which.shape, result.shape))]
        if which.dtype == np.bool_:
            return [np.where(which, result, cases[0])]
        for index in range(len(cases) - 2, -1, -1):
            result = np.where(which <= index, cases[index], result)
        return [result]

    def hlo(self, b: Any, *values: Any) -> Outputs:
        out = b.outputs[0]
        which, *cases = values
        cases = [b.fit(c, out.shape) for c in cases]
        result = cases[-1]
        for index in range(len(cases) - 2, -1, -1):
            if dtypes.is_bool(which.type.dtype):
                result = b.select(which, result, cases[index])
            else:
                result = b.select(b.compare("LE", which, b.full(index, which.type)), cases[index], result)
        return [result]

    dependence = Elementwise.dependence

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        out = bind(self, primals, {})[0]
        if all([isinstance(t, Zero) for t in tangents[1:]]):
            return [out], [Zero(type_of(out).tangent())]
        return [out], bind(self, [primals[0], *map(instantiate, tangents[1:])], {})

    def transpose(self, cts: Sequence[Any], which: Any, *cases: Any) -> list[Any]:  # type: ignore[override]
        ct = cts[0]
        zero = number(ct, 0)
        return [None, *[
            unfit(self(which, *[ct if i == j else zero for j in range(len(cases))]), case.type.shape)
            if isinstance(case, Linear) else None for i, case in enumerate(cases)]]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool]) -> tuple[Outputs, list[bool]]:
        return bind(self, align(size, args, batched), {}), [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(*shape: int) -> np.ndarray:
            return rng.normal(size=shape).astype(np.float32)

        mask = rng.integers(0, 2, (2, 3)).astype(np.bool_)
        yield Example(mask, draw(2, 3), draw(2, 3), linear=(1, 2))
        yield Example(np.bool_(True), draw(2, 3), draw(2, 3), linear=(1, 2))
        yield Example(mask, draw(2, 3), draw(), linear=(1, 2))
        yield Example(mask, draw(), draw(), linear=(1, 2))
        yield Example(mask, draw(2, 3), linear=(1,))
        yield Example(_i32(0, 2, 5, -1), draw(4), draw(4), draw(4), linear=(1, 2, 3))
        yield Example(np.int32(1), draw(4), draw(4), linear=(1, 2))
        yield Example(mask, np.int32(1), _i32(*range(6)).reshape(2, 3), order=0)
        yield Example(mask, mask, ~mask, order=0)
        yield Example(mask, draw(2, 3) + 1j, draw(2, 3) - 1j, linear=(1, 2))
        yield Example(np.zeros((0,), np.bool_), draw(0), draw(0), order=0)

    def oracle(self, jax: Any, *args: Any) -> Any:
        which, *cases = map(jax.numpy.asarray, args)
        shape = jax.numpy.broadcast_shapes(which.shape, *[c.shape for c in cases])
        return jax.lax.select_n(which, *[jax.numpy.broadcast_to(c, shape) for c in cases])


class Clamp(Pointwise):
    """x limited to the interval from low to high."""

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        low, x, high = values
        shape = b.outputs[0].shape
        if x.type.shape != shape:
            low, x, high = (b.fit(v, shape) for v in values)
        return [b.op("stablehlo.clamp", [low, x, high], b.outputs[0])]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        low, high = np.asarray(np.float32(-1)), np.asarray(np.float32(1))
        x = rng.uniform(-3, 3, 4).astype(np.float32)
        yield Example(low, x, high)
        yield Example(np.float32(-1), x, np.float32(1), order=0)
        yield Example(x - 1, x * 2, x + 1)
        yield Example(x - 1, high, x + 1)
        for dtype in (np.int32, np.uint8, np.bool_, np.float16, dtypes.bfloat16):
            yield Example(*[np.array(v, np.int32).astype(dtype) for v in (1, [0, 1, 2, 3, 4], 3)], order=0)
        yield Example(_f32(0, NAN, 2, 0, 2), _f32(NAN, 1, 1, 2, 5), _f32(1, 1, 1, NAN, 1), order=0)

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        low, x, high = jax.numpy.broadcast_arrays(*map(jax.numpy.asarray, args))
        return jax.lax.clamp(low, x, high)


select_n = SelectN("select_n")
clamp = Clamp("clamp", lambda low, x, high: np.minimum(np.maximum(x, low), high), "clamp", [
    lambda t, out, low, x, high: select_n(_both(gt(low, x), lt(low, high)), number(t, 0), t),
    lambda t, out, low, x, high: select_n(_both(gt(x, low), lt(x, high)), number(t, 0), t),
    lambda t, out, low, x, high: select_n(lt(high, x), number(t, 0), t)], kinds="biuf",
    doc="x limited to the interval from low to high. Where x is at an end, its derivative is 0.")


def _both(x: Any, y: Any) -> Any:
    return select_n(x, False, y)
