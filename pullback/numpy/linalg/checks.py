"""What the functions of this namespace are given: matrices in the last two axes, of floats or complex numbers."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array


def inexact(x: ArrayLike) -> Any:
    """An array of floats or complex numbers."""
    return array(promotion.inexact(array(x)))


def strong(x: ArrayLike) -> Any:
    """A strong array of floats or complex numbers."""
    value = inexact(x)
    return retype(value, value.type.dtype)


def check_matrices(x: Any) -> None:
    if x.type.ndim < 2:
        raise errors.make(errors.OperandError, f"got {x.type}, at least 2 axes are required",
                          fix="add an axis: x[None, :] is a matrix of one row")


def check_square(x: Any) -> None:
    check_matrices(x)
    rows, columns = x.type.shape[-2:]
    if rows != columns:
        raise errors.make(errors.OperandError,
                          f"got {x.type}: matrices of {rows} by {columns}, square ones are required",
                          fix="check the axes; the last two are those of the matrices")
