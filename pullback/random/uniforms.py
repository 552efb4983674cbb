"""Random bits, and the uniform distributions made of them: of floats and of integers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pullback import lax
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.lax.operand import placed
from pullback.random.arguments import common_shape, dtype_of, fit, one_key, real, sizes
from pullback.random.generators import bits as drawn
from pullback.random.generators import child
from pullback.random.whole import sample

__all__ = ["bits", "randint", "uniform"]

_UINT = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Uniformly distributed bits.

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      dtype: uint8, uint16, uint32 or uint64; None: uint32, with enable_x64 uint64.

    Returns: u32[shape]

    Raises:
      TypeError: if key is not a PRNG key.
      ValueError: if dtype is not an unsigned integer, or if there are several keys.

    Example:
      >>> random.bits(random.key(0), (2,)).dtype
      dtype('uint32')
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.uint64, "u")
    return placed(drawn(key, 8 * dtype.itemsize, sizes(shape)), out_sharding)


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0, *,
            out_sharding: Any = None) -> Array:
    """Floats from the interval [minval, maxval).

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      dtype: a float dtype; None: float32, with enable_x64 float64.
      minval, maxval: the bounds, which broadcast to shape. If maxval <= minval every result is minval.

    Returns: f32[shape]. It has as many random bits as the dtype has digits; rounding can give maxval.

    Differentiability: in minval and maxval; the key has no derivative.

    Example:
      >>> random.uniform(random.key(0), (3,), minval=-1.0)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    bounds = real(minval, "minval"), real(maxval, "maxval")
    shape = common_shape(sizes(shape), *bounds)
    if is_scalar(bounds[0]) and is_scalar(bounds[1]) and bounds == (0, 1):
        return placed(sample(unit, key, shape=shape, dtype=dtype), out_sharding)
    return placed(sample(interval, key, *bounds, shape=shape, dtype=dtype), out_sharding)


@functools.cache
def _digits(dtype: Any) -> tuple[int, Any, Any, Any, Any]:
    """How digits become floats: bits to draw, unsigned dtype, shift; 1 as its pattern and as a float."""
    info = dtypes.finfo(dtype)
    width = info.bits if info.nmant >= 8 else 8
    kind = _UINT[dtype.itemsize]
    one = np.ones((), dtype)
    return width, kind, kind.type(width - info.nmant), one.view(kind)[()], one[()]


def unit(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from [0, 1): random digits behind the point of a number from [1, 2), less 1."""
    width, kind, shift, pattern, one = _digits(dtype)
    mantissa = lax.convert_element_type(drawn(key, width, shape), kind)
    number = lax.bitwise_or(lax.shift_right_logical(mantissa, shift), pattern)
    return lax.sub(lax.bitcast_convert_type(number, dtype), one)


def interval(key: Array, low: Any, high: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats of `dtype` from [low, high), bounds that broadcast to `shape`."""
    x = unit(key, shape=shape, dtype=dtype)
    if is_scalar(low) and is_scalar(high):
        low, high = (np.asarray(bound).astype(dtype)[()] for bound in (low, high))
        with np.errstate(all="ignore"):  # an infinite span is dealt with below
            span = high - low
        x = x if span == 1 else lax.mul(x, span)
        # Without the maximum XLA adds low - 1 at once where the span is 1, which rounds a small low away.
        return x if low == 0 and 0 <= span < np.inf else lax.max(lax.add(x, low), low)
    low, high = (fit(lax.convert_element_type(bound, dtype), shape) for bound in (low, high))
    return lax.max(lax.add(lax.mul(x, fit(lax.sub(high, low), shape)), low), low)


# -- integers -------------------------------------------------------------------------------------------


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *,
            out_sharding: Any = None) -> Array:
    """Integers from minval to maxval - 1.

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      minval, maxval: the bounds, which broadcast to shape; cut to what the dtype can hold. Arrays of floats
        are truncated. If maxval <= minval every result is minval.
      dtype: an integer dtype; None: int32, with enable_x64 int64.

    Returns: i32[shape], remainders of random integers: where maxval - minval is no power of two, some numbers
      are more likely than others, by a share of up to (maxval - minval) / 2**32 (64-bit dtypes: / 2**64).

    Raises:
      TypeError: if dtype is not an integer one, or if a bound is a Python float that is no whole number.

    Example:
      >>> random.randint(random.key(0), (3,), 0, 10)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.int64, "biufc")
    if not dtypes.is_integer(dtype):
        raise errors.type_error(f"dtype is {dtype}, an integer dtype is required",
                                fix="leave dtype out, or convert the result with astype")
    low, high = _bound(minval, "minval"), _bound(maxval, "maxval")
    shape = common_shape(sizes(shape), low, high)
    return placed(integers(key, shape, dtype, low, high), out_sharding)


def _bound(x: Any, what: str) -> Any:
    """A bound: an int or an Array."""
    found = real(x, what)
    if not is_scalar(found):
        return found
    if found != int(found):
        raise errors.type_error(f"{what} is {found}, a whole number is required",
                                fix="round it, e.g. with int()")
    return int(found)


def integers(key: Array, shape: tuple[int, ...], dtype: Any, low: Any, high: Any) -> Any:
    """Integers of `dtype` from low to high - 1; bounds are Python ints, or arrays that fit to `shape`."""
    info = dtypes.iinfo(dtype)
    lowest, highest = int(info.min), int(info.max)
    narrow = info.bits < 32
    work = dtypes.int32 if narrow else dtype  # of narrow integers too, 32 bits are drawn
    kind = _UINT[work.itemsize]
    if isinstance(low, int) and isinstance(high, int):
        low = min(max(low, lowest), highest)
        x = _below(key, shape, kind, max(min(high, highest + 1) - low, 1))
        if low == 0:
            return lax.convert_element_type(x, dtype)
        low = work.type(low)
    else:
        beyond = None if narrow else _exceeds(high, highest)
        low = fit(_cut(low, lowest, highest, work), shape)
        high = fit(_cut(high, lowest, highest + narrow, work), shape)
        span = lax.convert_element_type(lax.sub(high, low), kind)
        if beyond is not None:
            span = lax.add(span, lax.convert_element_type(fit(beyond, shape), kind))
        span = lax.select(lax.gt(high, low), span, lax.full_like(span, 1))
        x = _below_array(key, shape, kind, span)
    return lax.convert_element_type(lax.add(lax.convert_element_type(x, work), low), dtype)


def _exceeds(bound: Any, highest: int) -> Any:
    """Whether an upper bound is above all integers of the dtype and so excludes none; None: it is not."""
    if isinstance(bound, int):
        return np.bool_(True) if bound > highest else None
    dtype = type_of(bound).dtype
    if not dtypes.is_integer(dtype) or int(dtypes.iinfo(dtype).max) <= highest:
        return None
    return lax.gt(bound, dtype.type(highest))


def _cut(bound: Any, lowest: int, highest: int, work: Any) -> Any:
    """A bound, cut to the interval from lowest to highest, in the dtype `work`."""
    if isinstance(bound, int):
        return work.type(min(max(bound, lowest), highest))
    dtype = type_of(bound).dtype
    if not dtypes.is_integer(dtype):
        bound, dtype = lax.convert_element_type(bound, work), work
    info = dtypes.iinfo(dtype)
    if int(info.min) < lowest:
        bound = lax.max(bound, dtype.type(lowest))
    if int(info.max) > highest:
        bound = lax.min(bound, dtype.type(highest))
    return lax.convert_element_type(bound, work)


# Twice as many random bits as the dtype has make a number high * 2 ** n + low, whose remainder is taken in
# arithmetic modulo 2 ** n; 2 ** n % span comes from the square of 2 ** (n // 2) % span.


def _below(key: Array, shape: tuple[int, ...], kind: Any, span: int) -> Any:
    """Integers from 0 to span - 1, of the unsigned dtype `kind`."""
    width = 8 * kind.itemsize
    low = drawn(child(key, 1), width, shape)
    if span & span - 1 == 0:  # a power of two
        return low if span == 1 << width else lax.bitwise_and(low, kind.type(span - 1))
    factor = (((1 << width // 2) % span) ** 2 & (1 << width) - 1) % span
    number = kind.type(span)
    low = lax.rem(low, number)
    if factor == 0:  # the square is 2 ** n: the high bits drop out
        return low
    high = lax.rem(drawn(child(key, 0), width, shape), number)
    return lax.rem(lax.add(lax.mul(high, kind.type(factor)), low), number)


def _below_array(key: Array, shape: tuple[int, ...], kind: Any, span: Any) -> Any:
    """`_below` for an array of spans; a span of 0 stands for 2 ** n."""
    width = 8 * kind.itemsize
    high, low = (drawn(child(key, i), width, shape) for i in range(2))
    factor = lax.rem(lax.full_like(span, 1 << width // 2), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    return lax.rem(lax.add(lax.mul(lax.rem(high, span), factor), lax.rem(low, span)), span)
