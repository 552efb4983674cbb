"""Reductions of the elements that carry one number each: jax.ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import dtypes, errors, source
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import Tracer, type_of
from pullback.core.values import value
from pullback.ops import move, reduce, scatter
from pullback.ops.convert import convert_element_type
from pullback.ops.families import BITS, NUMBER, check_kind
from pullback.ops.index import GatherScatterMode, ScatterDims

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

ArrayLike = Any


def _operand(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        raise errors.type_error(f"got a {type(x).__name__}, an array is required", fix="convert it with jnp.array")
    return value(x)


def _count(ids: Any, given: Any) -> int:
    """The number of segments: the one asked for, or one more than the largest id, which must be known."""
    if given is None:
        if isinstance(ids, Tracer):
            ids = ids.known(errors.ConcretizationTypeError, f"{source.called()}: the number of segments, taken from "
                            "the ids", "pass num_segments")
        numbers = ids.numpy() if isinstance(ids, ConcreteArray) else np.asarray(ids)
        if not numbers.size:
            raise errors.value_error("there are no segment ids to count", fix="pass num_segments")
        return max(int(numbers.max()) + 1, 0)
    count = move.as_shape(given, "num_segments")[0]
    if count < 0:
        raise errors.value_error(f"num_segments is {count}, at least 0 is required", fix="count from the largest id")
    return count


def _reduced(data: ArrayLike, segment_ids: ArrayLike, num_segments: Any, sorted: bool, unique: bool, bucket_size: Any,
             mode: Any, out_sharding: Any, primitive: Any, again: Any, neutral: Callable[[Any], Any], kinds: str
             ) -> Array:
    x, ids = _operand(data), _operand(segment_ids)
    t, s = type_of(x), type_of(ids)
    check_kind((t,), kinds)
    if not dtypes.is_integer(s.dtype):
        raise errors.type_error(f"segment_ids are {s}, integers are required", fix="convert them with astype(int)")
    if s.ndim == 1 and (not t.shape or t.shape[0] == 1 != s.shape[0]):  # one row for all ids
        x = move.broadcast_in_dim(x, shape=(*s.shape, *t.shape[1:]), dims=tuple(range(t.ndim)))
        t = type_of(x)
    if s.ndim > 1 or s.shape != t.shape[:1]:
        raise errors.value_error(f"data is {t} and segment_ids are {s}; one id for each element along the first axis "
                                 "is required", fix="repeat the ids, or reshape the data")
    if getattr(out_sharding, "num_devices", 1) != 1:
        raise errors.value_error(f"out_sharding is over {out_sharding.num_devices} devices, one over a single device "
                                 "is required", fix="leave it out: pullback computes on one")
    how = GatherScatterMode.from_any(mode)
    count, inner = _count(ids, num_segments), t.shape[1:]
    n = s.size
    x = move.reshape(x, shape=(n, *inner)) if not t.shape else x
    held = dtypes.int64 if dtypes.itemsize_bits(s.dtype) == 64 else dtypes.int32
    ids = move.reshape(convert_element_type(ids, dtype=held), shape=(n, 1))
    per = n if bucket_size is None else move.as_shape(bucket_size, "bucket_size")[0]
    if per <= 0 < n:
        raise errors.value_error(f"bucket_size is {per}, at least 1 is required", fix="leave it out")
    buckets = -(-n // per) if n else 1
    fill = np.asarray(neutral(t.dtype)).astype(t.dtype)[()]
    start = move.broadcast_in_dim(fill, shape=(buckets, count, *inner), dims=())
    # Each bucket has its own segments: sums of many elements are sums of sums, which rounds less.
    bucket = (np.arange(n) // max(per, 1)).astype(held).reshape(n, 1)
    places = move.concatenate(value(bucket), ids, axis=1)
    window = tuple(range(1, len(inner) + 1))
    out = primitive(start, places, convert_element_type(x, dtype=t.dtype), dims=ScatterDims(window, (0, 1), (0, 1)),
                    mode=how, unique=unique, sorted=sorted)
    return again(out, axes=(0,)) if buckets > 1 else move.reshape(out, shape=(count, *inner))


def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None, out_sharding: Any = None) -> Array:
    """The sums of the elements that carry the same number.

    Args:
      data: number[n, ...]
      segment_ids: int[n]: the segment of each element.
      num_segments: None: one more than the largest id, which must be known then.
      indices_are_sorted, unique_indices: promises about the ids.
      bucket_size: how many elements are summed up at a time, before these sums are summed.
      mode: of ids outside: None or 'drop' leaves their elements out, 'clip' takes the nearest segment.

    Returns:
      number[num_segments, ...]; 0 for a segment without elements.

    Raises:
      ValueError: if there is not one id per element. TypeError: if the ids are no integers, or the data booleans.

    Example:
      >>> jax.ops.segment_sum(jnp.arange(4), jnp.array([0, 1, 0, 1]))
      Array([2, 4], dtype=int32)
    """
    return _reduced(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode,
                    out_sharding, scatter.scatter_add, reduce.reduce_sum, lambda dtype: 0, NUMBER)


def segment_prod(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                 indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                 mode: Any = None, out_sharding: Any = None) -> Array:
    """The products of the elements that carry the same number; 1 for a segment without. As segment_sum.

    Differentiable if the ids are promised to be distinct.

    Example:
      >>> pullback.ops.segment_prod(jnp.array([2, 5, 3]), jnp.array([0, 0, 1]))
      Array([10,  3], dtype=int32)
    """
    return _reduced(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode,
                    out_sharding, scatter.scatter_mul, reduce.reduce_prod, lambda dtype: 1, NUMBER)


def segment_max(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None, out_sharding: Any = None) -> Array:
    """The largest of the elements that carry the same number; the least value for a segment without.

    As segment_sum. Where several elements are largest, they share the derivative.

    Example:
      >>> pullback.ops.segment_max(jnp.array([1, 5, 2]), jnp.array([0, 0, 1]))
      Array([5, 2], dtype=int32)
    """
    return _reduced(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode,
                    out_sharding, scatter.scatter_max, reduce.reduce_max, reduce.lowest, NUMBER + BITS)


def segment_min(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None, out_sharding: Any = None) -> Array:
    """The least of the elements that carry the same number; the largest value for a segment without.

    As segment_sum. Where several elements are least, they share the derivative.

    Example:
      >>> pullback.ops.segment_min(jnp.array([1, 5, 2]), jnp.array([0, 0, 1]))
      Array([1, 2], dtype=int32)
    """
    return _reduced(data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode,
                    out_sharding, scatter.scatter_min, reduce.reduce_min, reduce.highest, NUMBER + BITS)
