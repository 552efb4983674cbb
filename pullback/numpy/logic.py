"""Comparisons, truth, bits, tests for closeness, and choices by truth: where, select, piecewise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.lax.operand import retype
from pullback.numpy.elementwise import absolute, add, multiply, numbers
from pullback.numpy.promotion import (
    as_array,
    broadcast,
    broadcast_shapes,
    broadcast_to,
    inexact_pair,
    operand,
    pair,
    promoted,
)
from pullback.ops import elementwise as ops
from pullback.ops import integer as bits
from pullback.ops import reduce
from pullback.ops.convert import convert_element_type
from pullback.ops.elementwise import number
from pullback.ops.families import ANY, check_kind
from pullback.ops.move import broadcast_in_dim

__all__ = [
    "allclose", "array_equal", "array_equiv", "bitwise_and", "bitwise_count", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "equal",
    "greater", "greater_equal", "invert", "isclose", "iscomplex", "iscomplexobj", "isreal", "isrealobj",
    "isscalar", "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "not_equal", "piecewise", "right_shift", "select", "where",
]

ArrayLike = Any


# -- comparisons --------------------------------------------------------------------------------------

def _operands(x: ArrayLike, y: ArrayLike) -> Sequence[Any]:
    """Operands of a comparison. A Python int beyond the other's dtype compares as an infinity."""
    try:
        return pair(x, y)
    except OverflowError:
        if is_scalar(x) == is_scalar(y):
            raise
        return [np.float32(math.copysign(math.inf, v)) if is_scalar(v) else
                convert_element_type(operand(v), dtype=dtypes.float32) for v in (x, y)]


def _same(x: Any, y: Any) -> Any:
    if isinstance(x, Array) and x.type.is_key and type_of(y).dtype == x.type.dtype:
        shape = x.type.shape or type_of(y).shape
        words = ops.eq(*[TABLE["random_unwrap"](broadcast_to(keys, shape)) for keys in (x, y)])
        return reduce.reduce_and(words, axes=(words.type.ndim - 1,))
    return ops.eq(x, y)


def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x == y.

    Args:
      x, y: any[...], promoted to one dtype and broadcast to one shape.

    Example:
      >>> jnp.equal(jnp.array([1, 2]), 2)
      Array([False,  True], dtype=bool)
    """
    return _same(*_operands(x, y))


def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x != y; NaN differs from everything.

    Example:
      >>> jnp.not_equal(jnp.array([1, 2]), 2)
      Array([ True, False], dtype=bool)
    """
    x, y = _operands(x, y)
    return ops.ne(x, y) if not type_of(x).is_key else bits.not_(_same(x, y))


def _ordered(x: ArrayLike, y: ArrayLike, strict: Any, operation: Any) -> Any:
    """`operation`; of complex numbers, of the real parts, or of the imaginary ones where these are equal."""
    x, y = _operands(x, y)
    if not dtypes.is_complex(type_of(x).dtype):
        return operation(x, y)
    x_real, y_real = ops.real(x), ops.real(y)
    tie = bits.and_(ops.eq(x_real, y_real), operation(ops.imag(x), ops.imag(y)))
    return bits.or_(strict(x_real, y_real), tie)


def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x < y; complex numbers by real, then imaginary part.

    Example:
      >>> jnp.less(jnp.array([1, 2]), 2)
      Array([ True, False], dtype=bool)
    """
    return _ordered(x, y, ops.lt, ops.lt)


def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x <= y; complex numbers by real, then imaginary part.

    Example:
      >>> jnp.less_equal(jnp.array([1, 2]), 1)
      Array([ True, False], dtype=bool)
    """
    return _ordered(x, y, ops.lt, ops.le)


def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x > y; complex numbers by real, then imaginary part.

    Example:
      >>> jnp.greater(jnp.array([1, 2]), 1)
      Array([False,  True], dtype=bool)
    """
    return _ordered(x, y, ops.gt, ops.gt)


def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x >= y; complex numbers by real, then imaginary part.

    Example:
      >>> jnp.greater_equal(jnp.array([1, 2]), 2)
      Array([False,  True], dtype=bool)
    """
    return _ordered(x, y, ops.gt, ops.ge)


# -- truth --------------------------------------------------------------------------------------------

def truth(x: ArrayLike) -> Any:
    """Whether each element is not zero."""
    x = operand(x)
    t = type_of(x)
    if t.dtype == dtypes.bool_:
        return x
    check_kind([t], ANY)
    return ops.ne(x, number(x, 0))


def logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether both are not zero.

    Example:
      >>> jnp.logical_and(jnp.array([0, 3]), True)
      Array([False,  True], dtype=bool)
    """
    return bits.and_(*broadcast(truth(x), truth(y)))


def logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether at least one is not zero.

    Example:
      >>> jnp.logical_or(jnp.array([0, 3]), False)
      Array([False,  True], dtype=bool)
    """
    return bits.or_(*broadcast(truth(x), truth(y)))


def logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether exactly one is not zero.

    Example:
      >>> jnp.logical_xor(jnp.array([0, 3]), True)
      Array([ True, False], dtype=bool)
    """
    return bits.xor(*broadcast(truth(x), truth(y)))


def logical_not(x: ArrayLike, /) -> Array:
    """Whether it is zero.

    Example:
      >>> jnp.logical_not(jnp.array([0, 3]))
      Array([ True, False], dtype=bool)
    """
    x = operand(x)
    t = type_of(x)
    if t.dtype == dtypes.bool_:
        return bits.not_(x)
    check_kind([t], ANY)
    return ops.eq(x, number(x, 0))


# -- bits ---------------------------------------------------------------------------------------------

def bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits set in both integers; of booleans, whether both are true.

    Example:
      >>> jnp.bitwise_and(jnp.array([6, 5]), 3)
      Array([2, 1], dtype=int32)
    """
    return bits.and_(*pair(x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits set in either integer; of booleans, whether either is true.

    Example:
      >>> jnp.bitwise_or(jnp.array([6, 5]), 3)
      Array([7, 7], dtype=int32)
    """
    return bits.or_(*pair(x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The bits that differ; of booleans, whether they differ.

    Example:
      >>> jnp.bitwise_xor(jnp.array([6, 5]), 3)
      Array([5, 6], dtype=int32)
    """
    return bits.xor(*pair(x, y))


def invert(x: ArrayLike, /) -> Array:
    """Every bit of integers inverted; of booleans, whether it is false.

    Example:
      >>> jnp.invert(jnp.array([0, 1]))
      Array([-1, -2], dtype=int32)
    """
    return bits.not_(operand(x))


bitwise_not = bitwise_invert = invert


def bitwise_count(x: ArrayLike, /) -> Array:
    """How many bits of |x| are set: int[...] -> u8[...].

    Example:
      >>> jnp.bitwise_count(jnp.array([7, 8]))
      Array([3, 1], dtype=uint8)
    """
    count = bits.population_count(absolute(*numbers(x)))
    return convert_element_type(count, dtype=dtypes.uint8)


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Integers moved up by y bits; 0 where y is not below their width.

    Example:
      >>> jnp.left_shift(jnp.array([1, 3]), 2)
      Array([ 4, 12], dtype=int32)
    """
    return bits.shift_left(*broadcast(*numbers(x, y)))


def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Integers moved down by x2 bits; signed ones keep their sign.

    Example:
      >>> jnp.right_shift(jnp.array([8, -8]), 1)
      Array([ 4, -4], dtype=int32)
    """
    x, y = broadcast(*numbers(x1, x2))
    signed = dtypes.kind(type_of(x).dtype) != "u"
    return bits.shift_right_arithmetic(x, y) if signed else bits.shift_right_logical(x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


# -- what an object is --------------------------------------------------------------------------------

def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0.

    Example:
      >>> jnp.isreal(jnp.array([1 + 0j, 1j]))
      Array([ True, False], dtype=bool)
    """
    x = operand(x)
    t = type_of(x)
    if dtypes.is_complex(t.dtype):
        part = ops.imag(x)
        return ops.eq(part, number(part, 0))
    return broadcast_in_dim(np.bool_(True), shape=t.shape, dims=())


def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not 0.

    Example:
      >>> jnp.iscomplex(jnp.array([1 + 0j, 1j]))
      Array([False,  True], dtype=bool)
    """
    return bits.not_(isreal(x))


def iscomplexobj(x: Any) -> bool:
    """Whether `x` has a complex dtype, whatever its numbers.

    Example:
      >>> jnp.iscomplexobj(jnp.array([1j]))
      True
    """
    if isinstance(x, (list, tuple)):
        return any(iscomplexobj(item) for item in x)
    if x is None or isinstance(x, str):
        return False
    if isinstance(x, dtypes.ScalarType):
        return dtypes.is_complex(x.dtype)
    return dtypes.is_complex(x.dtype if hasattr(x, "shape") and hasattr(x, "dtype") else type_of(operand(x)).dtype)


def isrealobj(x: Any) -> bool:
    """Whether `x` has no complex dtype.

    Example:
      >>> jnp.isrealobj(jnp.array([1.0]))
      True
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether `element` is a scalar or an array without axes.

    Example:
      >>> jnp.isscalar(3.0)
      True
    """
    if isinstance(element, (Array, np.ndarray)) or hasattr(element, "__jax_array__"):
        return not type_of(operand(element)).shape
    return bool(np.isscalar(element))


# -- closeness ----------------------------------------------------------------------------------------

def _all(x: Any) -> Array:
    x = as_array(x)
    return reduce.reduce_and(x, axes=tuple(range(x.type.ndim)))


def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
            equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol * |b|; equal infinities are close, NaN only with `equal_nan`.

    Args:
      a, b: number[...], broadcast to one shape.

    Example:
      >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.1]))
      Array([ True, False], dtype=bool)
    """
    x, y = inexact_pair(a, b)
    size = ops.abs(y)
    near = less_equal(ops.abs(ops.sub(x, y)), add(atol, multiply(rtol, size)))
    finite = ops.is_finite(size)
    result = logical_or(ops.eq(x, y), logical_and(near, finite))
    if not equal_nan:
        return result
    return logical_or(result, bits.and_(ops.ne(x, x), ops.ne(y, y)))


def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
             equal_nan: bool = False) -> Array:
    """Whether all elements are close: see `isclose`. bool[].

    Example:
      >>> jnp.allclose(jnp.array([1.0]), jnp.array([1.0 + 1e-7])).item()
      True
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def _loose(x: Any) -> Any:
    """An array or number, or a sequence of them."""
    if x is None:
        raise errors.value_error("got None, an array or a number is required", fix="pass an array")
    return as_array(operand(np.asarray(x) if isinstance(x, (list, tuple)) else x))


def _equal(x: Any, y: Any, equal_nan: bool = False) -> Array:
    result = equal(x, y)
    if equal_nan and not x.type.is_key:
        result = bits.or_(result, logical_and(ops.ne(x, x), ops.ne(y, y)))
    return _all(result)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and equal elements. bool[].

    Example:
      >>> jnp.array_equal(jnp.arange(2), jnp.arange(3)).item()
      False
    """
    x, y = _loose(a1), _loose(a2)
    if x.type.shape != y.type.shape:
        return as_array(np.bool_(False))
    return _equal(x, y, equal_nan)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast to one shape and then have equal elements. bool[].

    Example:
      >>> jnp.array_equiv(jnp.array([1, 1]), 1).item()
      True
    """
    x, y = _loose(a1), _loose(a2)
    try:
        np.broadcast_shapes(x.type.shape, y.type.shape)
    except ValueError:
        return as_array(np.bool_(False))
    return _equal(x, y)


# -- choices ------------------------------------------------------------------------------------------

def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /, *,
          size: int | None = None, fill_value: Any = None) -> Any:
    """`x` where the condition holds, `y` elsewhere; of the condition alone, the positions where it holds.

    Args:
      condition: any[...]; it holds where it is not zero.
      x, y: any[...], promoted to one dtype and broadcast with the condition; or None, both.
      size, fill_value: of the condition alone: how many positions, and what stands for missing ones.

    A derivative goes to the side that was taken. Where that of the other side is infinite or NaN, the result
    is NaN: give it operands that are harmless there.

    Example:
      >>> x = jnp.arange(-2, 3)
      >>> jnp.where(x > 0, x, 0)
      Array([0, 0, 0, 1, 2], dtype=int32)
    """
    if x is None and y is None:
        return as_array(operand(condition)).nonzero(size=size, fill_value=fill_value)
    if x is None or y is None:
        given, missing = ("y", "x") if x is None else ("x", "y")
        raise errors.type_error(f"got {given} without {missing}, both or neither are required",
                                fix="pass both: where(condition, x, y)")
    if size is not None or fill_value is not None:
        raise errors.value_error("size and fill_value are for where(condition) alone", fix="leave them out")
    first, second = promoted(x, y)
    test, first, second = broadcast(truth(condition), first, second, any_rank=True)
    return ops.select_n(test, second, first)


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Array:
    """For each element, the choice whose condition is the first to hold; `default` where none holds.

    Args:
      condlist: conditions: any[...], which hold where they are not zero.
      choicelist: as many choices, promoted to one dtype with the default and broadcast with the conditions.

    Raises:
      ValueError: if there are no conditions, or not as many choices.

    Example:
      >>> x = jnp.arange(5)
      >>> jnp.select([x < 2, x > 3], [x, 10 * x], default=-1)
      Array([ 0,  1, -1, -1, 40], dtype=int32)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise errors.value_error(f"got {len(condlist)} conditions and {len(choicelist)} choices, as many of "
                                 "both and at least one are required", fix="give a choice for each condition")
    values = promoted(*choicelist, default)
    n = len(condlist)
    arrays = broadcast(*map(truth, condlist), *values, any_rank=True)
    result = arrays[-1]
    for test, choice in zip(arrays[n - 1::-1], arrays[-2:n - 1:-1]):
        result = ops.select_n(test, result, choice)
    shape = np.broadcast_shapes(*[type_of(a).shape for a in arrays])
    return as_array(broadcast_to(result, shape))


def piecewise(x: ArrayLike, condlist: Array | Sequence[ArrayLike],
              funclist: Sequence[ArrayLike | Callable[..., Any]],
              *args: Any, **kw: Any) -> Array:
    """For each element, the value or function whose condition is the last to hold.

    Args:
      x: any[...]
      condlist: conditions: any[...], broadcast with `x`; they hold where they are not zero.
      funclist: as many numbers or functions of `x`, and perhaps one more for where no condition holds, else
        0. A function is called with all of `x`.
      args, kw: further arguments of the functions.

    Returns:
      An array with the dtype of `x`, and its shape broadcast with those of the conditions.

    Raises:
      ValueError: if the numbers of conditions and functions do not go together.

    Example:
      >>> jnp.piecewise(jnp.array([-1.0, 2.0]), [jnp.array([True, False])], [0.0, lambda x: x * 10])
      Array([ 0., 20.], dtype=float32)
    """
    at = as_array(operand(x))
    n, choices = len(condlist), list(funclist)
    if len(choices) not in (n, n + 1):
        raise errors.value_error(f"got {n} conditions and {len(choices)} functions; {n} or {n + 1} functions "
                                 "are required",
                                 fix="give a function for each condition, and perhaps one for the rest")
    rest = choices.pop() if len(choices) > n else 0
    tests = [truth(condlist[i]) for i in range(n)]
    shape = broadcast_shapes([at.type.shape, *[type_of(test).shape for test in tests]])

    def result_of(choice: Any) -> Any:
        given = choice(at, *args, **kw) if callable(choice) else choice
        return broadcast_to(retype(operand(given), at.type.dtype), shape)

    result = result_of(rest)
    for test, choice in zip(tests, choices, strict=True):
        result = ops.select_n(broadcast_to(test, shape), result, result_of(choice))
    return result
