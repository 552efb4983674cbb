"""Sorting, and the k largest elements."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.errors import check_axis
from pullback.core.trace import bind, type_of
from pullback.core.values import value
from pullback.ops import sort as ops
from pullback.ops.elementwise import eq, neg, select_n

__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "top_k"]

ArrayLike = Any


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Operands sorted along an axis, all in the order of the first `num_keys`.

    NaN comes last, -0.0 equals 0.0, complex numbers are ordered by real, then by imaginary part. The sort is
    always stable. Among equal elements the tangent follows the element.

    Args:
      operand: any[...], or a sequence of such of one shape.
      dimension: the axis.
      num_keys: how many operands decide, the first before the second.

    Returns:
      An array, or for a sequence a tuple of arrays.

    Example:
      >>> lax.sort((jnp.array([3, 1, 2]), jnp.array([0., 1., 2.])))[1].tolist()
      [1.0, 2.0, 0.0]
    """
    several = isinstance(operand, (tuple, list))
    xs = [value(x) for x in operand] if several else [value(operand)]
    if not xs:
        raise errors.type_error("got no operand, at least one is required", fix="pass an array")
    axis = check_axis(dimension, type_of(xs[0]).ndim)
    results = bind(ops.sort, xs, dict(axis=axis, stable=bool(is_stable), keys=operator.index(num_keys)))
    return tuple(results) if several else results[0]


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
                 ) -> tuple[Array, Array]:
    """`keys` sorted along an axis, and `values` brought into the same order.

    Args:
      keys, values: any[...] of one shape.

    Example:
      >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
      (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    sorted_keys, sorted_values = sort((keys, values), dimension, is_stable)
    return sorted_keys, sorted_values


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """The `k` largest elements along an axis, largest first, and their positions; of equal ones the first.

    NaN counts as largest, and 0.0 as larger than -0.0. Not smooth where elements are equal; there the tangent
    follows the element that is returned.

    Args:
      operand: real[...]
      k: how many; at most the size of the axis.

    Returns:
      A list of the elements, of the operand's dtype, and their positions, int32.

    Example:
      >>> [x.tolist() for x in lax.top_k(jnp.array([1., 5., 3.]), 2)]
      [[5.0, 3.0], [1, 2]]
    """
    x = value(operand)
    try:
        count = operator.index(k)
    except TypeError:
        raise errors.type_error(f"k is {k!r}, an int is required",
                                fix="pass a Python int; shapes depend on it") from None
    return bind(ops.top_k, [x], dict(k=count, axis=check_axis(axis, type_of(x).ndim)))


def _approximate(operand: ArrayLike, k: int, axis: int, largest: bool, whole: bool) -> list[Array]:
    x = value(operand)
    t = type_of(x)
    if not t.ndim:
        raise errors.type_error(f"got {t}, an array with an axis is required", fix="pass an array")
    if not dtypes.is_float(t.dtype):
        raise errors.value_error(f"got {t}, a float dtype is required",
                                 fix="convert with astype, or use lax.top_k")
    if whole:
        k = t.shape[check_axis(axis, t.ndim)]
    if largest:
        return top_k(x, k, axis=axis)
    # Among the smallest, zeros of either sign are equal, and NaN comes last.
    zero, least = t.dtype.type(0), t.dtype.type(-np.inf)
    keys = select_n(eq(x, x), least, select_n(eq(x, zero), neg(x), zero))
    _, positions = top_k(keys, k, axis=axis)
    return [ops.take_along(x, positions, check_axis(axis, t.ndim)), positions]


def approx_max_k(operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Array]:
    """The `k` largest elements along an axis and their positions; exact here, so any recall is met.

    Args:
      operand: float[...]
      aggregate_to_topk: with False all elements are returned as candidates, in order.

    Example:
      >>> lax.approx_max_k(jnp.array([3.0, 1.0, 2.0]), 2)[1]
      Array([0, 2], dtype=int32)
    """
    return _approximate(operand, k, reduction_dimension, True, not aggregate_to_topk)


def approx_min_k(operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True) -> list[Array]:
    """The `k` smallest elements along an axis and their positions; see `approx_max_k`.

    Example:
      >>> lax.approx_min_k(jnp.array([3.0, 1.0, 2.0]), 2)[1]
      Array([1, 2], dtype=int32)
    """
    return _approximate(operand, k, reduction_dimension, False, not aggregate_to_topk)
