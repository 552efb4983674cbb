"""Products of arrays: of vectors, matrices and stacks of them, and of tensors along chosen axes.

Operands are brought to their common dtype first. `precision` says how exactly products of 32-bit floats are computed
(see lax.Precision), `preferred_element_type` in which dtype sums are formed and returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.lax.contract import PrecisionLike, preferred
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, integer, is_known, like, no_out, one_axis, placed, requested
from pullback.numpy.reductions import summed_dtype
from pullback.ops import contract, elementwise, move, reduce
from pullback.ops.contract import Dims, canonical_precision
from pullback.ops.integer import and_

__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "trace", "vdot", "vecdot", "vecmat",
]

_MATRICES: Dims = (((1,), (0,)), ((), ()))


# -- parts that products share ------------------------------------------------------------------------


def contracted(x: Any, y: Any, dims: Dims, precision: PrecisionLike, dtype: DTypeLike | None) -> Any:
    """The product of operands of one dtype, summed over the contracted axes of `dims`; strong if a dtype is asked for."""
    if dtype is not None:
        natural = contract.result_dtype(type_of(x).dtype, type_of(y).dtype)
        dtype = preferred(dtype, natural, "a product")
        x = retype(x, type_of(x).dtype)
    return contract.dot_general(x, y, dims=dims, precision=canonical_precision(precision), dtype=dtype)


def multiplied(x: Any, y: Any, dtype: DTypeLike | None = None) -> Any:
    """x * y of operands of one dtype, broadcast; of booleans, whether both are True."""
    x, y = promotion.broadcast(x, y)
    out = and_(x, y) if dtypes.is_bool(type_of(x).dtype) else elementwise.mul(x, y)
    if dtype is None:
        return out
    return retype(out, preferred(dtype, type_of(x).dtype, "a product"))


def conjugated(x: Any) -> Any:
    """The complex conjugate; real numbers as they are."""
    return elementwise.conj(x) if dtypes.is_complex(type_of(x).dtype) else x


def flat(x: Any) -> Any:
    """The elements along one axis."""
    t = type_of(x)
    return x if t.ndim == 1 else move.reshape(array(x), shape=(t.size,))


def check_sizes(x: ArrayType, i: int, y: ArrayType, j: int, fix: str = "") -> None:
    """A TypeError unless axis `i` of lhs and axis `j` of rhs have one size."""
    if x.shape[i] != y.shape[j]:
        raise errors.type_error(
            f"contracted sizes differ: lhs {x} axis {i} has size {x.shape[i]}, rhs {y} axis {j} has size {y.shape[j]}",
            fix=fix or "transpose one operand, or check which axis is the batch axis")


def _check_ndim(t: ArrayType, least: int, side: str) -> None:
    if t.ndim < least:
        what = "a scalar" if t.ndim == 0 else "a vector"
        raise errors.value_error(
            f"{side} is {t}, {what}; at least {least} {'axis is' if least == 1 else 'axes are'} required",
            fix="multiply by a scalar with *" if t.ndim == 0 else f"give {side} a further axis: x[None]")


def stacked(x: Any, y: Any, x_core: int, y_core: int, precision: PrecisionLike, dtype: DTypeLike | None) -> Any:
    """Products of the matrices or vectors on the last axes of two operands, whose leading axes broadcast.

    Args:
      x: any[*batch, m, k] (x_core 2) or any[*batch, k] (1)
      y: any[*batch, k, n] (y_core 2) or any[*batch, k] (1)

    Returns:
      any[*batch, m, n], without m or n where the operand has none
    """
    xt, yt = type_of(x), type_of(y)
    x_axis, y_axis = xt.ndim - 1, yt.ndim - y_core
    check_sizes(xt, x_axis, yt, y_axis)
    x_batch, y_batch = xt.shape[:xt.ndim - x_core], yt.shape[:yt.ndim - y_core]
    if x_batch == y_batch or not y_batch:
        batch = tuple(range(len(y_batch)))
        return contracted(x, y, (((x_axis,), (y_axis,)), (batch, batch)), precision, dtype)
    # Axes of both are batch axes of the product; an axis that one operand lacks, or has with size 1, is a free axis of
    # the other, so that nothing is repeated.
    ndim = max(len(x_batch), len(y_batch))
    sizes = [(x_batch[i] if (i := k - ndim + len(x_batch)) >= 0 else 1, y_batch[j] if (j := k - ndim + len(y_batch)) >= 0 else 1)
             for k in range(ndim)]
    for k, (a, b) in enumerate(sizes):
        if a != b and 1 not in (a, b):
            raise errors.value_error(
                f"batch axes do not broadcast: lhs {xt} axis {k - ndim + len(x_batch)} has size {a}, rhs {yt} axis "
                f"{k - ndim + len(y_batch)} has size {b}", fix="give one of them a size of 1 there, or transpose")
    both = [k for k, (a, b) in enumerate(sizes) if a == b and k >= ndim - min(len(x_batch), len(y_batch))]
    x, x_shared, x_free = _without_ones(x, len(x_batch), ndim, both)
    y, y_shared, y_free = _without_ones(y, len(y_batch), ndim, both)
    x_free = [k for k in x_free if sizes[k][0] != 1 or sizes[k][1] == 1]
    y_free = [k for k in y_free if k not in x_free]
    return _in_order(contracted(x, y, (((type_of(x).ndim - 1,), (type_of(y).ndim - y_core,)), (x_shared, y_shared)),
                                precision, dtype), both, x_free, y_free, ndim, x_core - 1, y_core - 1)
