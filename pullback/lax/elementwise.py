"""Arithmetic, comparisons, complex parts, choice and conversion, element by element.

Operands have one dtype (a Python scalar has the default dtype of its kind), and one shape, where axes of size 1 and
operands without axes repeat. Anything else raises TypeError. `number` is any dtype but bool.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from pullback.core import dtypes, errors, source, tree
from pullback.core.array import Array
from pullback.core.primitive import TABLE, Primitive
from pullback.core.trace import type_of
from pullback.core.types import ArrayType
from pullback.core.values import value
from pullback.lax.operand import operands
from pullback.ops import convert as conversion
from pullback.ops import elementwise, integer
from pullback.ops.elementwise import RoundingMethod
from pullback.ops.families import NUMBER, check_kind, common

__all__ = [
    "RoundingMethod", "abs", "add", "bitcast_convert_type", "ceil", "clamp", "complex", "conj",
    "convert_element_type", "div", "eq", "floor", "ge", "gt", "imag", "integer_pow", "is_finite", "le", "lt", "max",
    "min", "mul", "mulhi", "ne", "neg", "nextafter", "one_minus_square", "pow", "real", "reciprocal",
    "reduce_precision", "rem", "round", "select", "select_n", "sign", "square", "stop_gradient", "sub",
]

ArrayLike = Any


def aligned(*args: ArrayLike) -> list[Any]:
    """Operands of one dtype and, where axes of size 1 allow it, of one shape."""
    return repeated(operands(*args))


def repeated(values: list[Any]) -> list[Any]:
    """The values with axes of size 1 repeated; as they are if that does not give them one shape."""
    shapes = {type_of(v).shape for v in values}
    shapes.discard(())
    if len(shapes) < 2 or len({len(shape) for shape in shapes}) > 1:
        return values
    sizes = [{n for n in axis if n != 1} for axis in zip(*shapes)]
    if any([len(n) > 1 for n in sizes]):
        return values
    shape = tuple([n.pop() if n else 1 for n in sizes])
    return [v if type_of(v).shape in ((), shape) else
            TABLE["broadcast_in_dim"](v, shape=shape, dims=tuple(range(len(shape)))) for v in values]


# -- arithmetic -------------------------------------------------------------------------------------

def add(x: ArrayLike, y: ArrayLike) -> Array:
    """x + y.

    Args:
      x, y: number[...]

    Example:
      >>> lax.add(jnp.array([1, 2]), 10)
      Array([11, 12], dtype=int32)
    """
    return elementwise.add(*aligned(x, y))


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """x - y.

    Args:
      x, y: number[...]

    Example:
      >>> lax.sub(jnp.array([1, 2]), 3)
      Array([-2, -1], dtype=int32)
    """
    return elementwise.sub(*aligned(x, y))


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: Any = None) -> Array:
    """x * y.

    Args:
      x, y: number[...]
      out_dtype: the dtype of the result. Operands, which may then differ in dtype, are converted to it first.

    Example:
      >>> lax.mul(jnp.array([1, 2]), 3)
      Array([3, 6], dtype=int32)
    """
    x, y = aligned(x, y)
    if out_dtype is None:
        return elementwise.mul(x, y)
    dtype = dtypes.canonicalize_requested(out_dtype, "mul")
    check_kind([type_of(x), type_of(y)], NUMBER)
    if dtypes.is_bool(dtype):
        return integer.and_(*[_as(v, dtype) for v in (x, y)])
    return elementwise.mul(*[conversion.convert_element_type(v, dtype=dtype, weak=type_of(v).weak) for v in (x, y)])


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """x / y. Integers: rounded towards zero; by 0 all bits of the result are set (-1, or the largest).

    Args:
      x, y: number[...]

    Example:
      >>> lax.div(jnp.array([7, -7]), 2)
      Array([ 3, -3], dtype=int32)
    """
    return elementwise.div(*aligned(x, y))


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """The remainder of x / y rounded towards zero; it has the sign of x. Of an integer by 0: x.

    Args:
      x, y: int[...] or float[...]

    Example:
      >>> lax.rem(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    return elementwise.rem(*aligned(x, y))


def neg(x: ArrayLike) -> Array:
    """-x.

    Args:
      x: number[...]

    Example:
      >>> lax.neg(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """
    return elementwise.neg(value(x))


def sign(x: ArrayLike) -> Array:
    """-1, 0 or 1 by the sign of x (NaN of NaN); x / |x| of complex numbers. At 0 the derivative is 0.

    Args:
      x: number[...]

    Example:
      >>> lax.sign(jnp.array([-2.0, 0.0, 3.0]))
      Array([-1.,  0.,  1.], dtype=float32)
    """
    return elementwise.sign(value(x))


def abs(x: ArrayLike) -> Array:
    """|x|, real for complex x. At 0 the derivative is 1, at complex 0 it is 0.

    Args:
      x: int[...], float[...] or complex[...]

    Example:
      >>> lax.abs(jnp.array([-2.0, 3.0]))
      Array([2., 3.], dtype=float32)
    """
    return elementwise.abs(value(x))


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of x and y; NaN if either is. Where they are equal, each gets half the derivative.

    Args:
      x, y: any[...]; complex numbers are ordered by real, then by imaginary part.

    Example:
      >>> lax.max(jnp.array([1, 5]), 3)
      Array([3, 5], dtype=int32)
    """
    return elementwise.max(*aligned(x, y))


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of x and y; NaN if either is. Where they are equal, each gets half the derivative.

    Args:
      x, y: any[...]; complex numbers are ordered by real, then by imaginary part.

    Example:
      >>> lax.min(jnp.array([1, 5]), 3)
      Array([1, 3], dtype=int32)
    """
    return elementwise.min(*aligned(x, y))


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """x ** y. Where x is 0, the derivative by y is 0.

    Args:
      x: float[...] or complex[...]
      y: the dtype of x, or int[...]

    Example:
      >>> lax.pow(jnp.array([2.0, 3.0]), 2)
      Array([4., 9.], dtype=float32)
    """
    x, y = value(x), value(y)
    if not dtypes.is_integer(type_of(y).dtype):
        x, y = operands(x, y)
    return elementwise.pow(*repeated([x, y]))


def integer_pow(x: ArrayLike, y: int) -> Array:
    """x ** y for a Python int y.

    Args:
      x: number[...]
      y: the exponent, at least 0 if x is of integers.

    Example:
      >>> lax.integer_pow(jnp.arange(4.0), 2)
      Array([0., 1., 4., 9.], dtype=float32)
    """
    return elementwise.integer_pow(value(x), y=_index(y, "y"))


def _index(number: Any, name: str) -> int:
    try:
        return operator.index(number)
    except errors.TracerIntegerConversionError:
        raise
    except TypeError:
        raise errors.type_error(f"{name} is {number!r}, an int is required",
                                fix=f"pass int({name})") from None


def square(x: ArrayLike) -> Array:
    """x * x.

    Args:
      x: number[...]

    Example:
      >>> lax.square(jnp.array([3.0]))
      Array([9.], dtype=float32)
    """
    return elementwise.square(value(x))


def one_minus_square(x: ArrayLike) -> Array:
    """1 - x * x, exact where x is near 1.

    Args:
      x: number[...]

    Example:
      >>> lax.one_minus_square(jnp.array([0.5]))
      Array([0.75], dtype=float32)
    """
    return elementwise.one_minus_square(value(x))


def reciprocal(x: ArrayLike) -> Array:
    """1 / x.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> lax.reciprocal(jnp.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    return elementwise.integer_pow(value(x), y=-1)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The upper half of the product x * y, which has twice the bits.

    Args:
      x, y: int[...]

    Example:
      >>> lax.mulhi(jnp.uint32(2 ** 31), jnp.uint32(6)).item()
      3
    """
    given = [type_of(value(v)) for v in (x, y)]
    if not all([dtypes.is_integer(t.dtype) for t in given]):
        raise errors.type_error(f"got {given[0]} and {given[1]}, integers are required", fix="convert them with astype")
    x, y = aligned(x, y)
    t = ArrayType(*common([type_of(x), type_of(y)]))
    bits = dtypes.itemsize_bits(t.dtype)
    signed = dtypes.kind(t.dtype) == "i"
    if bits < 64:
        wide = dtypes.int64 if signed else dtypes.uint64
        product = elementwise.mul(_as(x, wide), _as(y, wide))
        product = integer.shift_right_arithmetic(product, wide.type(bits))
        return conversion.convert_element_type(product, dtype=t.dtype, weak=t.weak)
    # Schoolbook multiplication of halves, unsigned; a negative operand counts 2 ** 64 too much.
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    upper = integer.shift_right_logical
    x_word, y_word = _as(x, dtypes.uint64), _as(y, dtypes.uint64)
    (x_low, x_high), (y_low, y_high) = ((integer.and_(v, low), upper(v, half)) for v in (x_word, y_word))
    middle = add(mul(x_high, y_low), upper(mul(x_low, y_low), half))
    other = add(integer.and_(middle, low), mul(x_low, y_high))
    carried = add(upper(middle, half), upper(other, half))
    result = _as(add(mul(x_high, y_high), carried), t.dtype)
    if signed:
        for sign_of, excess in ((x, y), (y, x)):
            ends = integer.shift_right_arithmetic(sign_of, t.dtype.type(63))
            result = elementwise.sub(result, integer.and_(ends, excess))
    return result


def _as(x: Any, dtype: Any) -> Any:
    return conversion.convert_element_type(x, dtype=dtype, weak=False)


# -- rounding ---------------------------------------------------------------------------------------

def floor(x: ArrayLike) -> Array:
    """The largest integer not above x; derivative 0.

    Args:
      x: float[...]

    Example:
      >>> lax.floor(jnp.array([0.2, -0.2]))
      Array([ 0., -1.], dtype=float32)
    """
    return elementwise.floor(value(x))


def ceil(x: ArrayLike) -> Array:
    """The least integer not below x; derivative 0.

    Args:
      x: float[...]

    Example:
      >>> lax.ceil(jnp.array([0.2, -0.2]))
      Array([ 1., -0.], dtype=float32)
    """
    return elementwise.ceil(value(x))


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """x to the nearest integer; derivative 0.

    Args:
      x: float[...]
      rounding_method: where numbers half way between two integers go.

    Example:
      >>> lax.round(jnp.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
      Array([0., 2.], dtype=float32)
    """
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        raise errors.value_error(f"rounding_method is {rounding_method!r}, a lax.RoundingMethod is required",
                                 fix="pass lax.RoundingMethod.TO_NEAREST_EVEN or AWAY_FROM_ZERO") from None
    return elementwise.round(value(x), rounding_method=method)


def is_finite(x: ArrayLike) -> Array:
    """Whether x is neither infinite nor NaN: bool[...].

    Args:
      x: float[...]

    Example:
      >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    return elementwise.is_finite(value(x))


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The neighbour of x1 in its dtype on the way to x2. It has no derivative.

    Args:
      x1, x2: float[...]

    Example:
      >>> lax.nextafter(jnp.float32(1), jnp.float32(2)).item() - 1 == 2 ** -23
      True
    """
    return elementwise.nextafter(*aligned(x1, x2))


# -- comparisons ------------------------------------------------------------------------------------

def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x == y: bool[...]. NaN equals nothing.

    Args:
      x, y: any[...], or arrays of PRNG keys.

    Example:
      >>> lax.eq(jnp.array([1, 2]), 2)
      Array([False,  True], dtype=bool)
    """
    x, y = aligned(x, y)
    if type_of(x).is_key and type_of(x).dtype == type_of(y).dtype:
        return _on_words(elementwise.eq, "reduce_and", x, y)
    return elementwise.eq(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x != y: bool[...]. NaN differs from everything.

    Args:
      x, y: any[...], or arrays of PRNG keys.

    Example:
      >>> lax.ne(jnp.array([1, 2]), 2)
      Array([ True, False], dtype=bool)
    """
    x, y = aligned(x, y)
    if type_of(x).is_key and type_of(x).dtype == type_of(y).dtype:
        return _on_words(elementwise.ne, "reduce_or", x, y)
    return elementwise.ne(x, y)


def _on_words(compare: Primitive, reduction: str, *keys: Any) -> Array:
    shape = np.broadcast_shapes(*[key.type.shape for key in keys])
    words = []
    for key in keys:
        of_key = TABLE["random_unwrap"](key)
        wanted = (*shape, of_key.type.shape[-1])
        if of_key.type.shape != wanted:
            of_key = TABLE["broadcast_in_dim"](of_key, shape=wanted, dims=(len(shape),))
        words.append(of_key)
    return TABLE[reduction](compare(*words), axes=(len(shape),))


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x < y: bool[...].

    Args:
      x, y: any[...] but complex.

    Example:
      >>> lax.lt(jnp.array([1, 2]), 2)
      Array([ True, False], dtype=bool)
    """
    return elementwise.lt(*aligned(x, y))


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x <= y: bool[...].

    Args:
      x, y: any[...] but complex.

    Example:
      >>> lax.le(jnp.array([1, 2]), 1)
      Array([ True, False], dtype=bool)
    """
    return elementwise.le(*aligned(x, y))


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x > y: bool[...].

    Args:
      x, y: any[...] but complex.

    Example:
      >>> lax.gt(jnp.array([1, 2]), 1)
      Array([False,  True], dtype=bool)
    """
    return elementwise.gt(*aligned(x, y))


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Whether x >= y: bool[...].

    Args:
      x, y: any[...] but complex.

    Example:
      >>> lax.ge(jnp.array([1, 2]), 2)
      Array([False,  True], dtype=bool)
    """
    return elementwise.ge(*aligned(x, y))


# -- complex numbers --------------------------------------------------------------------------------

def real(x: ArrayLike) -> Array:
    """The real part.

    Args:
      x: complex[...]

    Example:
      >>> lax.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    return elementwise.real(value(x))


def imag(x: ArrayLike) -> Array:
    """The imaginary part.

    Args:
      x: complex[...]

    Example:
      >>> lax.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    return elementwise.imag(value(x))


def conj(x: ArrayLike) -> Array:
    """The complex conjugate, complex also for real x.

    Args:
      x: complex[...], f32[...] or f64[...]

    Example:
      >>> lax.conj(jnp.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    return elementwise.conj(value(x))


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """x + i y.

    Args:
      x, y: f32[...] or f64[...]

    Example:
      >>> lax.complex(jnp.array([1.0]), jnp.array([2.0]))
      Array([1.+2.j], dtype=complex64)
    """
    return elementwise.complex(*aligned(x, y))


# -- choice -----------------------------------------------------------------------------------------

def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """cases[which], element by element; below the first case the first, beyond the last one the last.

    Args:
      which: bool[...] (two cases: the first where False) or int[...]; of the shape of the cases, or a scalar.
      cases: any[...]

    Example:
      >>> lax.select_n(jnp.array([0, 1, 0]), jnp.array([1, 2, 3]), jnp.array([-1, -2, -3]))
      Array([ 1, -2,  3], dtype=int32)
    """
    if not cases:
        raise errors.value_error("at least one case is required", fix="pass the cases after `which`")
    return _select(which, *operands(*cases))


def _select(which: ArrayLike, *cases: Any) -> Array:
    """The primitive repeats cases without axes for jnp.where; here all are of one shape."""
    chooser, types = value(which), [type_of(case) for case in cases]
    if any([t.shape != types[0].shape for t in types]) or type_of(chooser).shape and not types[0].shape:
        raise errors.type_error(
            f"the cases are {', '.join(map(str, types))} and `which` is {type_of(chooser)}; cases of one shape are "
            "required, and `which` of that shape or without axes",
            fix="broadcast one with jnp.broadcast_to, or use jnp.where")
    return elementwise.select_n(chooser, *cases)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """on_true where pred holds, on_false elsewhere. Only what is chosen has a derivative.

    Args:
      pred: bool[...], of the shape of the others, or a scalar.
      on_true, on_false: any[...]

    Example:
      >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
      Array([1, 4], dtype=int32)
    """
    return _select(pred, *operands(on_false, on_true))


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """x limited to the interval from min to max; max where they are the wrong way round.

    Where x is at an end, its derivative is 0.

    Args:
      x: any[...] but complex.
      min, max: of the dtype of x, and of its shape or scalars.

    Example:
      >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    low, operand, high = operands(min, x, max)
    shape = type_of(operand).shape
    for name, end in (("min", low), ("max", high)):
        if type_of(end).shape not in ((), shape):
            raise errors.type_error(
                f"{name} is {type_of(end)}, x is {type_of(operand)}; the shape of x or a scalar is required",
                fix=f"broadcast x or {name}, or use jnp.clip")
    return elementwise.clamp(low, operand, high)


# -- conversion -------------------------------------------------------------------------------------

def convert_element_type(operand: ArrayLike, new_dtype: Any) -> Array:
    """The operand in another dtype.

    Floats become integers towards zero, the nearest end of the range where they are beyond it, and 0 where
    they are NaN; integers wrap around; complex numbers lose their imaginary part (with a warning).

    Args:
      operand: any[...]
      new_dtype: what jnp.dtype takes.

    Example:
      >>> lax.convert_element_type(jnp.array([1.7, -300.0, jnp.nan]), jnp.int8)
      Array([   1, -128,    0], dtype=int8)
    """
    x = value(operand)
    if new_dtype is None:
        raise errors.value_error("new_dtype is None, a dtype is required",
                                 fix="pass a dtype, e.g. jnp.float32")
    dtype = dtypes.canonicalize_requested(new_dtype, "convert_element_type")
    t = type_of(x)
    if isinstance(x, Array) and t.dtype == dtype and not t.weak:
        return x
    if dtypes.kind(t.dtype) == "c" and dtypes.kind(dtype) in "biuf":
        _warn_of_lost_part()
    return conversion.convert_element_type(x, dtype=dtype, weak=False)


def _warn_of_lost_part() -> None:
    text = "Casting complex values to real discards the imaginary part"  # NumPy's words, for filters
    where = source.here()
    if where is None:
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=3)
    else:
        warnings.warn_explicit(text, np.exceptions.ComplexWarning, where.file, where.line)


def bitcast_convert_type(operand: ArrayLike, new_dtype: Any) -> Array:
    """The bits of the operand read as another dtype. It has no derivative.

    Args:
      operand: int[...] or float[...]; if its elements are narrower, its last axis holds the parts of one.
      new_dtype: int or float; if its elements are narrower, the result has a last axis more, low bits first.

    Example:
      >>> lax.bitcast_convert_type(jnp.float32(1.0), jnp.uint8)
      Array([  0,   0, 128,  63], dtype=uint8)
    """
    dtype = dtypes.canonicalize_requested(new_dtype, "bitcast_convert_type")
    return conversion.bitcast_convert_type(value(operand), dtype=dtype)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """The operand rounded to a narrower format, in its own dtype. The derivative is rounded likewise.

    Args:
      operand: float[...]
      exponent_bits: at least 1; numbers too large become infinite, those too small 0.
      mantissa_bits: at least 0, without the leading bit.

    Example:
      >>> lax.reduce_precision(jnp.float32(1.1), exponent_bits=8, mantissa_bits=3).item()
      1.125
    """
    return conversion.reduce_precision(value(operand), exponent_bits=_index(exponent_bits, "exponent_bits"),
                                       mantissa_bits=_index(mantissa_bits, "mantissa_bits"))


def stop_gradient(x: Any) -> Any:
    """x itself, taken as a constant by differentiation.

    Args:
      x: an array, or a pytree of arrays; those that have no derivative (integers, keys) pass.

    Example:
      >>> pullback.grad(lambda x: x * lax.stop_gradient(x))(jnp.float32(3.0))
      Array(3., dtype=float32)
    """
    return tree.map(_stopped, x)


def _stopped(leaf: Any) -> Any:
    x = value(leaf)
    if isinstance(x, Array) and dtypes.is_inexact(x.type.dtype):
        return conversion.stop_gradient(x)
    return x
