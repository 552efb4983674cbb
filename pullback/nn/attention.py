"""Attention: averages of values, weighted by how well their keys go with a query."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.lax.operand import retype
from pullback.nn.normalization import logsumexp, softmax
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, like
from pullback.ops import contract, move
from pullback.ops import elementwise as ops
from pullback.ops.convert import stop_gradient
from pullback.ops.integer import and_

__all__ = ["dot_product_attention"]


def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None,
                          mask: ArrayLike | None = None, *, scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None, key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: int | tuple[int, int] | None = None, implementation: str | None = None,
                          return_residual: bool = False) -> Any:
    """softmax(query @ key * scale + bias) @ value, for each head.

    Args:
      query: float[b, t, n, h], or without b
      key, value: float[b, s, k, h], or without b; n is a multiple of k: groups of n / k query heads share a key head.
      bias: float[b, n, t, s], where any axis may have size 1; added to the scores.
      mask: bool[b, n, t, s], likewise: which keys a query sees.
      scale: of the scores; None: 1 / sqrt(h).
      is_causal: a query at position i sees keys up to position i.
      query_seq_lengths, key_value_seq_lengths: int32[b]: positions from there on are padding. Results for padding
        queries are 0.
      local_window_size: (left, right): a query at position i sees keys from i - left to i + right; an int for both.
      implementation: None or 'xla'.
      return_residual: also return the logarithm of the sums of exponentials, float[b, t, n]; it has no derivative.

    Returns:
      float[b, t, n, h], or without b. A query that sees no key gets the mean of all values. Scores and softmax are
      computed in float32 at least.

    Raises:
      ValueError: if shapes or dtypes do not fit. RuntimeError: for implementation 'cudnn'.

    Source: Vaswani et al., Attention Is All You Need (2017).

    Example:
      >>> nn.dot_product_attention(*[jnp.ones((1, 4, 2, 8))] * 3).shape
      (1, 4, 2, 8)
    """
    _check_implementation(implementation)
    q, k, v = (array(x) for x in (query, key, value))
    single = q.type.ndim == 3
    if single:
        q, k, v = (move.reshape(x, shape=(1, *x.type.shape)) for x in (q, k, v))
    _check_operands(q, k, v)
    b, t, n, h = q.type.shape
    s, heads = k.type.shape[1:3]
    sizes = (b, n, t, s)
    lengths = [_lengths(x, name, b) for x, name in ((query_seq_lengths, "query_seq_lengths"),
                                                    (key_value_seq_lengths, "key_value_seq_lengths"))]
    group = n // heads
    # Scores have the axes [b, head of the key, t, member of the group, s] that the products give, or [b, n, t, s]
    # without groups: so no large array is transposed.
    if group > 1:
        q = move.reshape(q, shape=(b, t, heads, group, h))
    held = np.promote_types(q.type.dtype, np.float32) if q.type.dtype.itemsize >= 4 else dtypes.float32
    ndim = q.type.ndim
    scores = contract.dot_general(q, k, dims=(((ndim - 1,), (3,)), ((0, 2), (0, 2))), precision=None, dtype=held)
    scores = ops.mul(scores, like(scores, 1 / math.sqrt(h) if scale is None else scale))
    if bias is not None:
        added = _aligned(bias, "bias", sizes, heads, group)
        scores = ops.add(scores, promotion.broadcast_to(retype(added, held), scores.type.shape))
    seen = _mask(mask, is_causal, lengths, local_window_size, sizes)
    if seen is not None:
        shown = promotion.broadcast_to(_aligned(seen, "mask", sizes, heads, group), scores.type.shape)
        # Finite, so that a query that sees no key gets no NaN.
        scores = ops.select_n(shown, like(scores, -0.7 * float(dtypes.finfo(held).max)), scores)
    weights = retype(softmax(scores), k.type.dtype)
    out = contract.dot_general(weights, v, dims=(((ndim - 1,), (1,)), ((0, 1), (0, 2))), precision=None, dtype=None)
    out = _heads_last(out, (b, t, n, h))
    if lengths[0] is not None:
        out = ops.select_n(promotion.broadcast_to(_before(lengths[0], t, (b, t, 1, 1), 1), out.type.shape),
                           like(out, 0), out)
    out = move.reshape(out, shape=(t, n, h)) if single else out
    if not return_residual:
        return out
    residual = _heads_last(retype(logsumexp(stop_gradient(scores), axis=-1), k.type.dtype), (b, t, n))
    return out, move.reshape(residual, shape=(t, n)) if single else residual


def _heads_last(x: Any, shape: tuple[int, ...]) -> Any:
    """[b, head, t, (member of the group), ...] as [b, t, n, ...]."""
    rest = tuple(range(3, x.type.ndim))
    return move.reshape(move.transpose(x, perm=(0, 2, 1, *rest)), shape=shape)


# -- what a query sees --------------------------------------------------------------------------------


def _mask(mask: ArrayLike | None, is_causal: bool, lengths: list[Any], window: Any, sizes: tuple[int, ...]) -> Any:
    """Whether queries see keys, bool[1 or b, 1 or n, 1 or t, 1 or s]; None: they all do."""
    b, _, t, s = sizes
    parts = []
    if is_causal or window is not None:
        rows = move.iota(shape=(1, 1, t, s), dtype=dtypes.int32, axis=2)
        columns = move.iota(shape=(1, 1, t, s), dtype=dtypes.int32, axis=3)
        ahead = ops.sub(columns, rows)
        if is_causal:
            parts.append(ops.le(ahead, like(ahead, 0)))
        if window is not None:
            left, right = _window(window)
            parts += [ops.le(ahead, like(ahead, right)), ops.ge(ahead, like(ahead, -left))]
    for length, count, axis in ((lengths[0], t, 2), (lengths[1], s, 3)):
        if length is not None:
            parts.append(_before(length, count, tuple([b if i == 0 else count if i == axis else 1 for i in range(4)]),
                                 axis))
    if mask is not None:
        given = array(mask)
        if given.type.dtype != dtypes.bool_:
            raise errors.value_error(f"mask is {given.type}, bool is required", fix="compare it: mask=mask != 0")
        parts.append(move.reshape(given, shape=_four(given, "mask", sizes)))
    if not parts:
        return None
    seen = parts[0]
    for part in parts[1:]:
        seen = and_(*promotion.broadcast(seen, part))
    return seen


def _before(lengths: Any, count: int, shape: tuple[int, ...], axis: int) -> Any:
    """Whether a position along `axis` is before the length of its sequence; of `shape`, which starts with b."""
    positions = move.iota(shape=shape, dtype=dtypes.int32, axis=axis)
    return ops.lt(positions, move.broadcast_in_dim(lengths, shape=shape, dims=(0,)))


def _window(window: Any) -> tuple[int, int]:
    pair = (window, window) if isinstance(window, (int, np.integer)) else window
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(
            [isinstance(n, (int, np.integer)) and n >= 0 for n in pair]):
        raise errors.value_error(f"local_window_size is {window!r}; an int of at least 0, or two of them, are required",
                                 fix="(left, right) says how many keys before and after a query it sees")
    return int(pair[0]), int(pair[1])


def _four(x: Any, name: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of `x` with axes of size 1 in front, so that there are four."""
    shape = (1,) * (4 - x.type.ndim) + x.type.shape
    if len(shape) != 4 or any([n not in (1, full) for n, full in zip(shape, sizes)]):
        raise errors.value_error(f"{name} is {x.type}; sizes {sizes} or 1 of (batch, head, query, key) are required",
                                 fix="put the axes into that order, or give them size 1")
    return shape


def _aligned(x: ArrayLike, name: str, sizes: tuple[int, ...], heads: int, group: int) -> Any:
    """[1 or b, 1 or n, 1 or t, 1 or s] in the layout of the scores."""
    x = array(x)
    shape = _four(x, name, sizes)
    if group == 1:
        return x if x.type.shape == shape else move.reshape(x, shape=shape)
    b, n, t, s = shape
    if n == 1:
        return move.reshape(x, shape=(b, 1, t, 1, s))
    return move.transpose(move.reshape(x, shape=(b, heads, group, t, s)), perm=(0, 1, 3, 2, 4))


# -- checks -------------------------------------------------------------------------------------------


def _check_implementation(implementation: Any) -> None:
    if implementation == "cudnn":
        raise errors.make(RuntimeError, "implementation is 'cudnn', which pullback does not have",
                          fix="pass 'xla' or None")
    if implementation not in (None, "xla"):
        raise errors.value_error(f"implementation is {implementation!r}; None or 'xla' is required", fix="leave it out")


def _check_operands(q: Any, k: Any, v: Any) -> None:
    shown = f"query {q.type}, key {k.type}, value {v.type}"
    if not q.type.ndim == k.type.ndim == v.type.ndim == 4:
        raise errors.value_error(f"got {shown}; axes (batch, position, head, feature), or the last three, are required",
                                 fix="add the axes that are missing")
    if not q.type.dtype == k.type.dtype == v.type.dtype or not dtypes.is_float(q.type.dtype):
        raise errors.make(errors.OperandError, f"got {shown}; one float dtype is required",
                          fix="convert them with astype")
    if k.type.shape != v.type.shape or q.type.shape[0] != k.type.shape[0] or q.type.shape[3] != k.type.shape[3]:
        raise errors.value_error(f"got {shown}; required are one shape of key and value, whose batch and feature sizes "
                                 "are also those of query",
                                 fix="the axes are (batch, position, head, feature)")
    if not k.type.shape[2] or q.type.shape[2] % k.type.shape[2]:
        raise errors.value_error(f"got {shown}; query heads ({q.type.shape[2]}) that are a multiple of the key heads "
                                 f"({k.type.shape[2]}) are required", fix="heads are the last axis but one")


def _lengths(x: ArrayLike | None, name: str, b: int) -> Any:
    if x is None:
        return None
    lengths = array(x)
    if lengths.type.shape != (b,) or lengths.type.dtype != dtypes.int32:
        raise errors.value_error(f"{name} is {lengths.type}, i32[{b}] is required: a length for each sequence",
                                 fix="convert it with astype('int32')")
    return lengths
