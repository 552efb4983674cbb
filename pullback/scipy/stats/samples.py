"""Statistics of samples: the most frequent value, ranks, the standard error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pullback import numpy as jnp
from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike, array, one_axis
from pullback.scipy.stats.arguments import reals

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Array
    count: Array


def _policy(nan_policy: Any, allowed: tuple[str, ...] = ("propagate",)) -> None:
    if nan_policy not in allowed:
        raise errors.value_error(f"nan_policy is {nan_policy!r}, {' or '.join(map(repr, allowed))} is required",
                                 fix="leave it out, or drop the NaNs first")


def _along(a: ArrayLike, axis: int | None) -> tuple[Any, int]:
    """An array and its axis; None: the array as a vector."""
    x = array(jnp.asarray(a))
    if axis is None:
        x, axis = x.reshape(-1), 0
    return x, one_axis(axis, x.ndim)


def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the smallest of several; NaNs are equal to each other.

    Args:
      a: any[..., n, ...], real.
      axis: None: of all elements.
      nan_policy: 'propagate'.
      keepdims: whether the axis stays, with size 1.

    Returns:
      A named tuple of mode, of a's dtype, and count, i32[...]. Of no elements NaN and 0.

    Raises:
      ValueError: if nan_policy is another one.

    Example:
      >>> import pullback.numpy as jnp
      >>> from pullback.scipy import stats
      >>> stats.mode(jnp.array([3, 1, 3]))
      ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    _policy(nan_policy)
    whole = array(jnp.asarray(a)).ndim if axis is None else None
    x, axis = _along(a, axis)
    x = jnp.sort(jnp.moveaxis(x, axis, -1), axis=-1)
    n = x.shape[-1]
    if n:
        same = (x[..., 1:] == x[..., :-1]) | ((x[..., 1:] != x[..., 1:]) & (x[..., :-1] != x[..., :-1]))
        starts = jnp.concatenate([jnp.ones((*x.shape[:-1], 1), bool), ~same], axis=-1)
        place = jnp.broadcast_to(jnp.arange(n), x.shape)
        first = jnp.maximum.accumulate(jnp.where(starts, place, 0), axis=-1)
        lengths = place - first + 1  # up to here, of the run of equal values
        best = jnp.argmax(lengths, axis=-1, keepdims=True)
        value = jnp.take_along_axis(x, best, axis=-1)[..., 0]
        count = jnp.take_along_axis(lengths, best, axis=-1)[..., 0]
    else:
        (value,) = reals(jnp.zeros(x.shape[:-1], x.dtype))
        value = jnp.full_like(value, math.nan)
        count = jnp.zeros_like(value)
    if keepdims:
        value, count = (v.reshape((1,) * whole) if whole is not None else jnp.expand_dims(v, axis)
                        for v in (value, count))
    return ModeResult(value, count)


_METHODS = ("average", "min", "max", "dense", "ordinal")


def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """The ranks of values, from 1 for the smallest.

    Args:
      a: any[...], real.
      method: the rank of equal values: 'average', 'min' or 'max' of theirs; 'dense': as min, without gaps after them;
        'ordinal': different ones, in order.
      axis: the axis along which values are ranked; None: all elements, as a vector.
      nan_policy: 'propagate': all ranks are NaN where there is one.

    Returns:
      f32[...]

    Raises:
      ValueError: if method or nan_policy is another one.

    Example:
      >>> import pullback.numpy as jnp
      >>> from pullback.scipy import stats
      >>> stats.rankdata(jnp.array([30, 10, 30]))
      Array([2.5, 1. , 2.5], dtype=float32)
    """
    if method not in _METHODS:
        raise errors.value_error(f"method is {method!r}, one of {', '.join(_METHODS)} is required", fix="leave it out")
    _policy(nan_policy)
    x, axis = _along(a, axis)
    dtype = jnp.result_type(float)
    x = jnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    if not n:
        return jnp.moveaxis(jnp.zeros(x.shape, dtype), -1, axis)
    order = jnp.argsort(x, axis=-1)
    inverse = jnp.argsort(order, axis=-1)
    ordered = jnp.take_along_axis(x, order, axis=-1)
    starts = jnp.concatenate([jnp.ones((*x.shape[:-1], 1), bool), ordered[..., 1:] != ordered[..., :-1]], axis=-1)
    place = jnp.broadcast_to(jnp.arange(1, n + 1), x.shape)
    first = jnp.maximum.accumulate(jnp.where(starts, place, 0), axis=-1)
    ends = jnp.concatenate([starts[..., 1:], jnp.ones((*x.shape[:-1], 1), bool)], axis=-1)
    last = jnp.flip(jnp.minimum.accumulate(jnp.flip(jnp.where(ends, place, n), -1), axis=-1), -1)
    ranks = {"average": lambda: (first + last) / 2, "min": lambda: first, "max": lambda: last,
             "dense": lambda: jnp.cumsum(starts, axis=-1), "ordinal": lambda: place}[method]()
    ranks = jnp.take_along_axis(ranks.astype(dtype), inverse, axis=-1)
    ranks = jnp.where(jnp.any(x != x, axis=-1, keepdims=True), np.float32(math.nan), ranks)
    return jnp.moveaxis(ranks, -1, axis)


def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
        ) -> Array:
    """The standard error of the mean: the standard deviation over the root of the number of values.

    Args:
      a: float[..., n, ...]
      axis: None: of all elements.
      ddof: the number of values less the divisor of the variance.
      nan_policy: 'propagate', or 'omit': NaNs do not count.
      keepdims: whether the axis stays, with size 1.

    Returns:
      float[...]

    Raises:
      ValueError: if nan_policy is another one.

    Example:
      >>> jsp.stats.sem(jnp.array([1.0, 3.0])).item()
      1.0
    """
    _policy(nan_policy, ("propagate", "omit"))
    (x,) = reals(a)
    if axis is None:
        x, shape, axis = x.reshape(-1), (1,) * x.ndim, 0
    else:
        shape = None
    present = x == x if nan_policy == "omit" else jnp.ones_like(x, bool)
    count = jnp.sum(present, axis=axis, keepdims=True).astype(x.dtype)
    mean = jnp.sum(jnp.where(present, x, 0), axis=axis, keepdims=True) / count
    rest = jnp.where(present, x - mean, 0)
    square = (rest * jnp.conj(rest)) if jnp.iscomplexobj(rest) else rest ** 2
    value = jnp.sqrt(jnp.sum(square, axis=axis, keepdims=True) / (count - ddof)) / jnp.sqrt(count)
    if keepdims:
        return value if shape is None else value.reshape(shape)
    return jnp.squeeze(value, axis)
