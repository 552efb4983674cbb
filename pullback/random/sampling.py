"""Samples from finite sets: categories, permutations, choices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback import lax
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.errors import check_axis
from pullback.core.trace import concrete, type_of
from pullback.core.types import is_scalar
from pullback.core.values import value
from pullback.lax.operand import placed
from pullback.numpy.sorting import searchsorted
from pullback.random.arguments import common_shape, count, one_key, real, sizes
from pullback.random.continuous import gumbels
from pullback.random.generators import bits, child
from pullback.random.uniforms import integers, unit
from pullback.random.whole import sample

__all__ = ["categorical", "choice", "permutation"]


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True,
                mode: str | None = None, *, out_sharding: Any = None) -> Array:
    """Numbers of categories, drawn with probabilities softmax(logits).

    The result is the place of the largest of logits + Gumbel noise.

    Args:
      key: key<fry>[], or raw words u32[2].
      logits: f32[..., n, ...], unnormalised logarithms of probabilities.
      axis: the axis of the categories.
      shape: the shape of the result, to which logits' other axes must broadcast; None: these axes.
      replace: False: draws along the axes that shape has before logits' other axes do not repeat a category.
      mode: as in `gumbel`.

    Returns: i32[shape]

    Raises:
      TypeError: if logits are not of a float dtype.
      ValueError: if more draws than categories are asked for without replacement.

    Example:
      >>> random.categorical(random.key(0), jnp.array([-jnp.inf, 0.0])).item()
      1
    """
    key = one_key(key)
    logits = real(logits, "logits")
    t = type_of(logits)
    if not dtypes.is_float(t.dtype) or is_scalar(logits):
        raise errors.make(errors.OperandError, f"logits are {t}, an array of a float dtype is required",
                          fix="convert them with astype")
    axis = check_axis(axis, t.ndim)
    categories = t.shape[axis]
    rest = (*t.shape[:axis], *t.shape[axis + 1:])
    if not categories and count(rest):
        raise errors.value_error(f"logits {t} have no category along axis {axis}", fix="pass at least one")
    shape = rest if shape is None else common_shape(shape, lax.empty(rest, t.dtype))
    lead = shape[: len(shape) - len(rest)]
    index = dtypes.canonicalize(np.int64)
    if replace:
        full = list(shape[len(lead):])
        full.insert(axis, categories)
        noise = sample(gumbels, key, shape=(*lead, *full), dtype=t.dtype, mode=mode)
        dims = range(len(lead), len(lead) + t.ndim)
        scores = lax.add(noise, lax.broadcast_in_dim(logits, noise.shape, dims))
        return placed(lax.argmax(scores, len(lead) + axis, index), out_sharding)
    draws = count(lead)
    if draws > categories:
        raise errors.value_error(f"{draws} draws without replacement of {categories} categories",
                                 fix="draw fewer, or with replace=True")
    if shape[len(lead):] != rest:
        raise errors.value_error(f"shape {shape} does not end in {rest}, the other axes of the logits",
                                 fix="broadcast the logits first")
    scores = lax.add(sample(gumbels, key, shape=t.shape, dtype=t.dtype, mode=mode), logits)
    best = lax.top_k(scores, draws, axis=axis)[1]
    perm = (axis, *(i for i in range(t.ndim) if i != axis))
    return placed(lax.reshape(lax.transpose(best, perm), shape), out_sharding)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False, *,
                out_sharding: Any = None) -> Array:
    """The elements of an array, or the numbers below x, in random order.

    Args:
      key: key<fry>[], or raw words u32[2].
      x: any[...], or an integer n for the numbers 0 .. n - 1.
      axis: the axis along which elements are moved.
      independent: False: slices along the axis move as a whole; True: every vector along the axis has its
        own order.

    Returns: an array of x's shape and dtype.

    Source: stable sorts by random keys, as many as make equal keys unlikely.

    Example:
      >>> jnp.sort(random.permutation(random.key(0), 4))
      Array([0, 1, 2, 3], dtype=int32)
    """
    key = one_key(key)
    found = value(x)
    t = type_of(found)
    if not t.shape:
        if not dtypes.is_integer(t.dtype):
            raise errors.type_error(f"x is {t}, an integer or an array with an axis is required",
                                    fix="convert it with int(), or pass an array")
        size = max(_static(found, "x"), 0)
        check_axis(axis, 1)
        return placed(_order(key, size), out_sharding)
    axis = check_axis(axis, t.ndim)
    if independent and not t.is_key:
        return placed(_shuffled(key, found, axis), out_sharding)
    if independent and t.ndim > 1:
        raise errors.type_error(f"x is {t}: keys are permuted along an axis as a whole",
                                fix="leave independent out")
    return placed(_take(found, _order(key, t.shape[axis]), axis), out_sharding)


def _static(x: Any, what: str) -> int:
    known = concrete(x)
    if known is None:
        return int(x)  # raises the error that says where the traced value comes from
    return int(known)


def _order(key: Array, size: int) -> Any:
    """The numbers 0 .. size - 1 in random order."""
    return _shuffled(key, lax.iota(dtypes.canonicalize(np.int64), size), 0)


def _shuffled(key: Array, x: Any, axis: int) -> Any:
    # Two of n elements have equal keys in each of r rounds with a probability of about n**2 / 2**32r < 1 / n.
    shape = x.shape
    rounds = math.ceil(3 * math.log(max(1, count(shape))) / math.log(2 ** 32 - 1))
    for number in range(rounds):
        key = child(key, 0) if number else key
        keys = bits(child(key, 1), 32, shape)
        x = lax.sort((keys, x), dimension=axis, num_keys=1)[1]
    return x


def _take(x: Any, index: Any, axis: int) -> Any:
    """The slices of `x` at places along an axis: index i32[s] makes x[..., n, ...] x[..., s, ...]."""
    shape = x.shape
    rank = index.ndim
    if not shape[axis]:  # then there are no places either
        return lax.reshape(x, (*shape[:axis], *index.shape, *shape[axis + 1:]))
    offset = (*range(axis), *range(axis + rank, len(shape) - 1 + rank))
    dims = lax.GatherDimensionNumbers(offset_dims=offset, collapsed_slice_dims=(axis,),
                                      start_index_map=(axis,))
    return lax.gather(x, lax.expand_dims(index, (rank,)), dims, (*shape[:axis], 1, *shape[axis + 1:]),
                      mode="promise_in_bounds")


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0,
           mode: str | None = None) -> Array:
    """Elements of an array, or numbers below a, drawn at random.

    Args:
      key: key<fry>[], or raw words u32[2].
      a: any[..., n, ...], or an integer n for the numbers 0 .. n - 1.
      shape: how many to draw, and in which shape.
      replace: whether an element may be drawn more than once.
      p: f32[n], the probability of each element; None: equal ones. They need not sum to 1.
      axis: the axis along which elements are drawn.
      mode: as in `gumbel`; used where p is given and replace is False.

    Returns: a's dtype, with `shape` in the place of the axis.

    Raises:
      ValueError: if there is nothing to draw from, or too little without replacement, or p has another shape.

    Example:
      >>> random.choice(random.key(0), 10, (3,), replace=False)
    """
    key = one_key(key)
    shape = sizes(shape)
    found = value(a)
    t = type_of(found)
    if t.shape:
        axis = check_axis(axis, t.ndim)
        size = t.shape[axis]
    elif dtypes.is_integer(t.dtype):
        size = _static(found, "a")
        check_axis(axis, 1)
    else:
        raise errors.type_error(f"a is {t}, an integer or an array with an axis is required",
                                fix="convert it with int(), or pass an array")
    draws = count(shape)
    if draws and size <= 0:
        raise errors.value_error(f"{draws} draws from {max(size, 0)} elements",
                                 fix="pass at least one element")
    if not replace and draws > size:
        raise errors.value_error(f"{draws} draws without replacement from {size} elements",
                                 fix="draw fewer, or with replace=True")
    index = _chosen(key, size, shape, replace, p, mode)
    return _take(found, index, axis) if t.shape else index  # type: ignore[no-any-return]


def _chosen(key: Array, size: int, shape: tuple[int, ...], replace: bool, p: Any,
            mode: str | None) -> Any:
    """Numbers below `size`: the places that are drawn."""
    draws = count(shape)
    if p is None:
        if replace:
            return integers(key, shape, dtypes.canonicalize(np.int64), 0, max(size, 1))
        return lax.reshape(lax.slice_in_dim(_order(key, size), 0, draws), shape)
    p = real(p, "p")
    t = type_of(p)
    if t.shape != (size,):
        raise errors.value_error(f"p is {t}, one probability for each of {size} elements is required",
                                 fix="pass an array of this size")
    p = lax.convert_element_type(p, dtypes.to_inexact(t.dtype))
    if not replace:
        scores = lax.add(sample(gumbels, key, shape=(size,), dtype=p.dtype, mode=mode), lax.log(p))
        best = lax.convert_element_type(lax.top_k(scores, draws, axis=0)[1], dtypes.canonicalize(np.int64))
        return lax.reshape(best, shape)
    total = lax.cumsum(p)
    end = lax.index_in_dim(total, size - 1, 0, keepdims=False)
    points = lax.mul(lax.sub(p.dtype.type(1), unit(key, shape=shape, dtype=p.dtype)), end)
    return lax.convert_element_type(searchsorted(total, points), dtypes.canonicalize(np.int64))
