"""Distributions of truth values, signs and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import lax
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import placed
from pullback.random.arguments import common_shape, dtype_of, fit, one_key, real
from pullback.random.uniforms import unit
from pullback.random.whole import drawn, sample

__all__ = ["bernoulli", "geometric", "rademacher"]


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low", *,
              out_sharding: Any = None) -> Array:
    """Truth values that are True with probability p.

    Args:
      key: key<fry>[], or raw words u32[2].
      p: probabilities, of a float dtype; they broadcast to shape.
      shape: the shape of the result; None: that of p.
      mode: 'low': one uniform number of p's dtype each; 'high': two, which resolves smaller p.

    Returns: bool[shape]

    Raises:
      TypeError: if p is not of a float dtype.

    Example:
      >>> random.bernoulli(random.key(0), 1.0, (2,))
      Array([ True,  True], dtype=bool)
    """
    key = one_key(key)
    if mode not in ("low", "high"):
        raise errors.value_error(f"mode is {mode!r}, 'low' or 'high' is required", fix="leave mode out")
    p = real(p, "p")
    dtype = type_of(p).dtype
    if not dtypes.is_float(dtype):
        raise errors.type_error(f"p is {type_of(p)}, probabilities of a float dtype are required",
                                fix="pass a float, e.g. p / 1.0")
    shape = common_shape(shape, p)
    return placed(sample(_bernoulli, key, p, shape=shape, dtype=dtype, mode=mode), out_sharding)


def _bernoulli(key: Array, p: Any, *, shape: tuple[int, ...], dtype: Any, mode: str) -> Any:
    p = fit(p, shape)
    if mode == "low":
        return lax.lt(unit(key, shape=shape, dtype=dtype), p)
    both = unit(key, shape=(2, *shape), dtype=dtype)
    high, low = (lax.index_in_dim(both, i, 0, keepdims=False) for i in range(2))
    step = dtype.type(dtypes.finfo(dtype).eps)
    return lax.lt(lax.mul(low, step), lax.sub(p, high))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """-1 or 1 with equal probability.

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      dtype: a numeric dtype; None: int32, with enable_x64 int64.

    Returns: i32[shape]

    Example:
      >>> abs(random.rademacher(random.key(0), (3,)))
      Array([1, 1, 1], dtype=int32)
    """
    return drawn(signs, key, shape, dtype, out_sharding, kinds="biufc", default=np.int64)


def signs(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    # The dtype of a Python float decides how many bits are drawn.
    coin = lax.lt(unit(key, shape=shape, dtype=dtypes.canonicalize(np.float64)), 0.5)
    one = lax.full(shape, 1, dtype)
    return lax.select(coin, one, lax.neg(one))


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """The number of trials up to the first success: 1, 2, ...

    Args:
      key: key<fry>[], or raw words u32[2].
      p: probabilities of success, 0 < p <= 1; they broadcast to shape.
      shape: the shape of the result; None: that of p.
      dtype: an integer dtype; None: int32, with enable_x64 int64.

    Returns: i32[shape]

    Example:
      >>> random.geometric(random.key(0), 1.0, (2,))
      Array([1, 1], dtype=int32)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.int64, "iu")
    p = real(p, "p")
    p = lax.convert_element_type(p, dtypes.to_inexact(type_of(p).dtype))
    shape = common_shape(shape, p)
    x = sample(_trials, key, p, shape=shape, dtype=p.dtype)
    return placed(lax.convert_element_type(x, dtype), out_sharding)


def _trials(key: Array, p: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = unit(key, shape=shape, dtype=dtype)
    x = lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 1), x)
    trials = lax.div(lax.log(x), fit(lax.log1p(lax.neg(p)), shape))
    return lax.add(lax.floor(trials), dtype.type(1))
