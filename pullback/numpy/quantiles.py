"""Medians, quantiles and percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import Tracer, type_of
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, known, like, no_out, part, picked, rearranged, several_axes
from pullback.numpy.promotion import operand
from pullback.ops import cumulative, elementwise, integer, move, reduce
from pullback.ops.sort import sort, take_along

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Axes = int | Sequence[int] | None
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def quantile(a: ArrayLike, q: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """The value below which a share `q` of the elements along axes lies; NaN if there is a NaN.

    Args:
      a: real[...]
      q: real or real[k], from 0 to 1; values outside are taken for 0 and 1.
      axis: an axis or several; None: all.
      method: between two elements: 'linear' between them, 'lower', 'higher', 'midpoint', 'nearest' (the lower
        one at half way), or 'inverted_cdf', the first whose share of the distribution is at least q.
      keepdims: keep the reduced axes, with size 1.
      weights: of the elements, with method 'inverted_cdf' only: of the shape of `a`, or real[n] along `axis`.

    Returns:
      any[...], for real[k] with a leading axis of size k.

    Raises:
      ValueError: for an unknown method, no elements, a `q` with several axes, or weights of another shape.
        TypeError: for complex numbers.

    Example:
      >>> jnp.quantile(jnp.array([1.0, 2.0]), jnp.array([0.0, 0.5]))
      Array([1. , 1.5], dtype=float32)
    """
    return _checked(a, q, 1, axis, out, overwrite_input, method, keepdims, weights, False)


def nanquantile(a: ArrayLike, q: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """quantile of the elements that are no NaN; NaN where there is none.

    Example:
      >>> jnp.nanquantile(jnp.array([3.0, jnp.nan, 1.0]), 0.5).item()
      2.0
    """
    return _checked(a, q, 1, axis, out, overwrite_input, method, keepdims, weights, True)


def percentile(a: ArrayLike, q: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None,
               out_sharding: Any = None) -> Array:
    """The value below which `q` percent of the elements along axes lie; see quantile.

    Example:
      >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), 50).item()
      2.0
    """
    result = _checked(a, q, 100, axis, out, overwrite_input, method, keepdims, weights, False)
    return placed(result, out_sharding)


def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """percentile of the elements that are no NaN; NaN where there is none.

    Example:
      >>> jnp.nanpercentile(jnp.array([3.0, jnp.nan, 1.0]), 50).item()
      2.0
    """
    return _checked(a, q, 100, axis, out, overwrite_input, method, keepdims, weights, True)


def median(a: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
           ) -> Array:
    """The middle element along axes, of an even number the mean of the middle two; NaN if there is a NaN.

    Args:
      a: real[...]
      axis: an axis or several; None: all.
      keepdims: keep the reduced axes, with size 1.

    Raises:
      ValueError: if there are no elements. TypeError: for complex numbers.

    Example:
      >>> jnp.median(jnp.array([3.0, 1.0, 2.0])).item()
      2.0
    """
    return _checked(a, 0.5, 1, axis, out, overwrite_input, "midpoint", keepdims, None, False)


def nanmedian(a: ArrayLike, axis: Axes = None, out: None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Array:
    """median of the elements that are no NaN; NaN where there is none.

    Example:
      >>> jnp.nanmedian(jnp.array([3.0, jnp.nan, 1.0])).item()
      2.0
    """
    return _checked(a, 0.5, 1, axis, out, overwrite_input, "midpoint", keepdims, None, True)


def _checked(a: ArrayLike, q: ArrayLike, whole: int, axis: Axes, out: None, overwrite_input: bool, method: str,
             keepdims: bool, weights: ArrayLike | None, skip: bool) -> Any:
    no_out(out)
    if overwrite_input:
        raise errors.value_error("overwrite_input is True: arrays are immutable", fix="leave it out")
    if method not in _METHODS:
        raise errors.value_error(f"method is {method!r}, one of {', '.join(map(repr, _METHODS))} is required",
                                 fix="check the spelling")
    x = array(a)
    if dtypes.is_complex(x.type.dtype):
        raise errors.make(errors.OperandError, f"got {x.type}, real numbers are required: complex ones have no order",
                          fix="take the real and imaginary parts, or jnp.abs")
    dtype = dtypes.to_inexact(x.type.dtype)
    x = retype(x, dtype)
    axes = several_axes(axis, x.type.ndim)
    if weights is not None:
        if method != "inverted_cdf":
            raise errors.value_error(f"weights are given with method {method!r}, 'inverted_cdf' is required",
                                     fix="pass method='inverted_cdf'")
        factors = _flat(_weights(x, array(weights), axis, axes), axes)
    shape = x.type.shape
    x = _flat(x, axes)
    if x.type.shape[-1] == 0:
        raise errors.value_error(f"an array of shape {shape} has no elements along axis {axis}"
                                 if axis is not None else f"an array of shape {shape} has no elements",
                                 fix="check for an empty array first")
    shares = _shares(q, whole, dtype)
    if weights is not None:
        result = _weighted(x, shares, factors, skip)
    else:
        result = _unweighted(x, shares, method, skip)
    if keepdims:
        leading = result.type.shape[:result.type.ndim - (len(shape) - len(axes))]
        result = move.reshape(result, shape=(*leading, *[1 if i in axes else n for i, n in enumerate(shape)]))
    return retype(result, dtype)


def _flat(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with `axes` made one, the last."""
    shape = x.type.shape
    rest = [i for i in range(len(shape)) if i not in axes]
    perm = (*rest, *sorted(axes))
    if perm != tuple(range(len(shape))):
        x = move.transpose(x, perm=perm)
    target = (*[shape[i] for i in rest], math.prod([shape[i] for i in axes]))
    return x if x.type.shape == target else move.reshape(x, shape=target)


def _shares(q: ArrayLike, whole: int, dtype: Any) -> Any:
    """The shares asked for, in a float dtype that is wide enough."""
    q = operand(q)
    t = type_of(q)
    if dtypes.is_complex(t.dtype) or dtypes.is_bool(t.dtype):
        raise errors.type_error(f"q is {t}, real numbers are required", fix="pass floats")
    if t.ndim > 1:
        raise errors.value_error(f"q is {t}, a scalar or one axis is required",
                                 fix="pass q.ravel(), reshape the result")
    held = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32
    if not isinstance(q, Tracer):
        numbers = np.asarray(known(q, "", ""), held)
        return from_numpy(np.asarray(numbers / held.type(whole)) if whole != 1 else numbers)
    q = retype(q, held)
    return elementwise.div(q, like(q, whole)) if whole != 1 else q


def _isnan(x: Any) -> Any:
    return elementwise.ne(x, x)


def _last_spread(x: Any, shape: tuple[int, ...]) -> Any:
    """Values without the last axis of `shape` repeated along it."""
    return move.broadcast_in_dim(x, shape=shape, dims=tuple(range(len(shape) - 1)))


def _blend(low: Any, high: Any, share: Any, method: str) -> Any:
    """The value between two neighbours; `share` is the part of the way from `low` to `high`."""
    if method == "midpoint":
        middle = elementwise.add(low, high)
        return elementwise.mul(middle, like(middle, 0.5))
    share = retype(share, low.type.dtype)
    rest = elementwise.sub(like(share, 1), share)
    return elementwise.add(elementwise.mul(low, rest), elementwise.mul(high, share))


def _places(shares: Any, count: Any, method: str) -> tuple[Any, Any, Any]:
    """The positions of the two neighbours among `count` sorted elements, and the part of the way between them.

    Shares and count are floats of one shape, or the count is a scalar.
    """
    last = elementwise.sub(count, like(count, 1)) if isinstance(count, Array) else like(shares, count - 1)
    if method == "inverted_cdf":
        exact = elementwise.ceil(elementwise.mul(shares, count if isinstance(count, Array) else like(shares, count)))
        exact = elementwise.sub(exact, like(shares, 1))
        low = high = exact
    else:
        exact = elementwise.mul(shares, last)
        low = elementwise.floor(exact)
        high = elementwise.ceil(exact)
    way = elementwise.sub(exact, low)
    if method == "nearest":
        near = elementwise.gt(way, like(way, 0.5))
        low = high = elementwise.select_n(near, low, high)
    zero = like(shares, 0)
    # A count of 0 makes `last` negative; the position must still exist.
    clip = [elementwise.max(elementwise.min(place, last), zero) for place in (low, high)]
    return retype(clip[0], dtypes.int32), retype(clip[1], dtypes.int32), way


def _known_places(shares: np.ndarray, count: int, method: str) -> list[np.ndarray]:
    """`_places` for known shares, in the same arithmetic."""
    one = shares.dtype.type(1)
    exact = np.ceil(shares * shares.dtype.type(count)) - one if method == "inverted_cdf" else \
        shares * shares.dtype.type(count - 1)
    low, high = np.floor(exact), np.ceil(exact)
    way = exact - low
    if method == "nearest":
        low = high = np.where(way > 0.5, high, low)
    places = [np.nan_to_num(np.clip(place, 0, count - 1)).astype(np.int32) for place in (low, high)]
    return [*places, np.asarray(way)]


def _unweighted(x: Any, shares: Any, method: str, skip: bool) -> Any:
    shape = x.type.shape
    outer, n, k = shape[:-1], shape[-1], shares.type.shape
    full, last = k + outer, len(outer)
    sorted_x = sort(x, axis=last, stable=True, keys=1)
    fixed = not isinstance(shares, Tracer)
    if skip:
        count = reduce.reduce_sum(retype(elementwise.eq(x, x), dtypes.int32), axes=(last,))
        # A position for each share and row; shares lead.
        count = move.broadcast_in_dim(retype(count, shares.type.dtype), shape=full, dims=_after(k, full))
        each = move.broadcast_in_dim(shares, shape=full, dims=tuple(range(len(k))))
        low, high, way = _places(each, count, method)

        def get(place: Any) -> Any:
            return _along_last(sorted_x, place, len(k))

        wrong = None  # where all elements are NaN, so is the first
    else:
        if fixed:
            low, high, way = map(from_numpy, _known_places(shares.numpy(), n, method))
        else:
            low, high, way = _places(shares, n, method)

        def get(place: Any) -> Any:
            return _in_all_rows(sorted_x, place)

        if method == "midpoint" and fixed and (low.numpy() == high.numpy()).all():
            method = "lower"
        if full and k:
            way = move.broadcast_in_dim(way, shape=full, dims=tuple(range(len(k))))
        # NaNs are sorted last.
        wrong = _isnan(move.reshape(part(sorted_x, last, n - 1, n), shape=outer))
        wrong = move.broadcast_in_dim(wrong, shape=full, dims=_after(k, full)) if k else wrong
    if method in ("linear", "midpoint"):
        result = _blend(get(low), get(high), way, method)
    else:
        result = get(high if method == "higher" else low)
    if not fixed or np.isnan(known(shares, "", "")).any():
        spoiled = move.broadcast_in_dim(_isnan(shares), shape=full, dims=tuple(range(len(k))))
        wrong = spoiled if wrong is None else integer.or_(wrong, spoiled)
    return result if wrong is None else elementwise.select_n(wrong, result, like(result, np.nan))


def _after(k: tuple[int, ...], full: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(range(len(k), len(full)))


def _in_all_rows(x: Any, place: Any) -> Any:
    """The elements of each row at positions that are the same in all rows: int[*k] -> any[*k, *outer]."""
    outer = x.type.ndim - 1
    if isinstance(place, Tracer):
        found = picked(x, place, outer)
    else:
        numbers = place.numpy()
        found = rearranged(x, numbers.reshape(-1), outer)
        if numbers.ndim == 0:
            return move.reshape(found, shape=x.type.shape[:-1])
    return move.transpose(found, perm=(outer, *range(outer))) if place.type.ndim and outer else found


def _along_last(x: Any, place: Any, k: int) -> Any:
    """The element of each row of `x` at each of its own positions: place int[*k, *outer] -> any[*k, *outer]."""
    outer = x.type.ndim - 1
    if k:
        place = move.transpose(place, perm=(*range(1, outer + 1), 0))
    else:
        place = move.reshape(place, shape=(*place.type.shape, 1))
    found = take_along(x, place, outer)
    if k:
        return move.transpose(found, perm=(outer, *range(outer)))
    return move.reshape(found, shape=x.type.shape[:-1])


def _weights(x: Any, weights: Any, axis: Axes, axes: tuple[int, ...]) -> Any:
    """The weights in the shape of `x`."""
    shape, given = x.type.shape, weights.type.shape
    if dtypes.is_complex(weights.type.dtype):
        raise errors.type_error(f"weights are {weights.type}, real numbers are required", fix="pass jnp.abs(weights)")
    if given != shape:
        fits = axis is not None and given == tuple([shape[i] for i in axes])
        if not fits:
            raise errors.value_error(f"weights are {weights.type}, the array is {x.type}: one shape is required, or "
                                     "the sizes along `axis`", fix="give a weight for each element")
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        weights = move.transpose(weights, perm=tuple(order))
        weights = move.reshape(weights, shape=tuple([n if i in axes else 1 for i, n in enumerate(shape)]))
        weights = promotion.broadcast_to(weights, shape)
    return retype(weights, x.type.dtype)


def _weighted(x: Any, shares: Any, weights: Any, skip: bool) -> Any:
    """The first element at which the running weight reaches the share of the whole weight."""
    shape = x.type.shape
    last = len(shape) - 1
    outer, n, k = shape[:-1], shape[-1], shares.type.shape
    nans = _isnan(x)
    if skip:
        weights = elementwise.select_n(nans, weights, like(weights, 0))
    wrong = reduce.reduce_or(elementwise.lt(weights, like(weights, 0)), axes=(last,))
    empty = (reduce.reduce_and if skip else reduce.reduce_or)(nans, axes=(last,))
    wrong = integer.or_(wrong, empty)
    x, weights = sort(x, weights, axis=last, stable=True, keys=1)
    running = cumulative.cumsum(weights, axis=last, reverse=False)
    whole = move.reshape(part(running, last, n - 1, n), shape=outer)
    full = k + outer
    dims = tuple(range(len(k), len(full)))
    whole = move.broadcast_in_dim(whole, shape=full, dims=dims)
    shares = move.broadcast_in_dim(retype(shares, x.type.dtype), shape=full, dims=tuple(range(len(k))))
    goal = _last_spread(elementwise.mul(shares, whole), (*full, n))
    running = move.broadcast_in_dim(running, shape=(*full, n), dims=tuple(range(len(k), len(full) + 1)))
    below = retype(elementwise.lt(running, goal), dtypes.int32)
    place = reduce.reduce_sum(below, axes=(len(full),))
    place = elementwise.min(place, np.int32(n - 1))
    result = _along_last(x, place, len(k))
    wrong = move.broadcast_in_dim(wrong, shape=full, dims=dims)
    wrong = integer.or_(wrong, _isnan(shares))
    return elementwise.select_n(wrong, result, like(result, np.nan))
