"""Products of matrices and vectors, and views of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.lax.contract import PrecisionLike
from pullback.lax.operand import retype
from pullback.numpy import contract as products
from pullback.numpy import einstein, promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array
from pullback.numpy.linalg import systems
from pullback.numpy.linalg.checks import check_matrices, check_square
from pullback.ops import elementwise, move

__all__ = ["cross", "diagonal", "matmul", "matrix_power", "matrix_transpose", "multi_dot", "outer", "tensordot",
           "trace", "vecdot"]


def matmul(x1: ArrayLike, x2: ArrayLike, /, *, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """The matrix product x1 @ x2; see numpy.matmul.

    Example:
      >>> jnp.linalg.matmul(jnp.ones((2, 3)), jnp.ones((3, 1)))
      Array([[3.],
             [3.]], dtype=float32)
    """
    return products.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """Products of vectors along an axis; see numpy.vecdot.

    Example:
      >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4])).item()
      11
    """
    return products.vecdot(x1, x2, axis=axis, precision=precision,
                           preferred_element_type=preferred_element_type)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2,
              precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: Any = None) -> Array:
    """The sum of products over chosen axes; see numpy.tensordot.

    Example:
      >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), axes=1).shape
      (2, 4)
    """
    return products.tensordot(x1, x2, axes, precision=precision,
                              preferred_element_type=preferred_element_type,
                              out_sharding=out_sharding)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of every element of one vector with every element of another.

    Args:
      x1: any[m]
      x2: any[n]

    Returns:
      any[m, n]

    Raises:
      ValueError: if an operand is no vector.

    Example:
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    for side, x in (("lhs", x1), ("rhs", x2)):
        t = type_of(promotion.operand(x))
        if t.ndim != 1:
            raise errors.value_error(f"{side} is {t}, one axis is required",
                                     fix="flatten it with ravel, or use jnp.outer, which does")
    return products.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of 3 components along an axis; the other axes broadcast.

    Args:
      x1, x2: number[..., 3]

    Raises:
      ValueError: if the number of components is not 3.

    Example:
      >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    for side, x in (("lhs", x1), ("rhs", x2)):
        t = type_of(promotion.operand(x))
        if t.ndim and t.shape[errors.check_axis(axis, t.ndim)] != 3:
            raise errors.value_error(f"{side} {t} has size {t.shape[axis]} along axis {axis}, 3 is required",
                                     fix="name the axis of the components; jnp.cross also takes 2 of them")
    return products.cross(x1, x2, axis=axis)


def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """The product of several matrices, in the order of multiplication that costs least.

    Args:
      arrays: matrices any[m, n], any[n, k], ...; the first and the last may be vectors.

    Returns:
      any[m, k], without the axes of vectors

    Raises:
      ValueError: if there are less than two, or their axes or sizes do not fit.

    Example:
      >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
      Array([12., 12.], dtype=float32)
    """
    types = [type_of(promotion.operand(x)) for x in arrays]
    shown = ", ".join(map(str, types))
    if len(types) < 2:
        raise errors.value_error(f"got {len(types)} arrays ({shown}), at least 2 are required",
                                 fix="pass a list of them")
    for i, t in enumerate(types):
        if t.ndim != 2 and not (t.ndim == 1 and i in (0, len(types) - 1)):
            raise errors.value_error(f"array {i} of {shown} has {t.ndim} axes; 2 are required, of the first "
                                     "and the last 1 or 2", fix="use jnp.matmul for stacks of matrices")
        before = types[i - 1]
        if i and before.shape[-1] != t.shape[0]:
            raise errors.value_error(
                f"contracted sizes differ: array {i - 1} {before} axis {before.ndim - 1} has size "
                f"{before.shape[-1]}, array {i} {t} axis 0 has size {t.shape[0]}",
                fix="transpose one of them")
    # The labels are 0, 1, ..., n; a vector lacks the first, or the last.
    labels = [[i, i + 1] for i in range(len(types))]
    out = [0, len(types)]
    if types[0].ndim == 1:
        del labels[0][0], out[0]
    if types[-1].ndim == 1:
        del labels[-1][-1], out[-1]
    return einstein.einsum(*[part for pair in zip(arrays, labels) for part in pair], out, optimize="optimal",
                           precision=precision)


def matrix_power(a: ArrayLike, n: int) -> Array:
    """The product of n equal matrices; for n = 0 the identity, for negative n that of the inverse.

    Args:
      a: any[..., m, m]
      n: how many.

    Raises:
      TypeError: if `n` is no int. ValueError: if the matrices are not square.

    Example:
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 3)
      Array([[1, 3],
             [0, 1]], dtype=int32)
    """
    x = array(a)
    try:
        n = operator.index(n)
    except TypeError:
        raise errors.type_error(f"n is {n!r}, an int is required", fix="pass int(n)") from None
    check_square(x)
    rows = x.type.shape[-1]
    if n < 0:
        x, n = systems.inv(x), -n
    if n == 0:
        row, column = (TABLE["iota"](shape=(rows, rows), dtype=dtypes.int32, axis=i) for i in (0, 1))
        return promotion.broadcast_to(retype(elementwise.eq(row, column), x.type.dtype),
                                      # type: ignore[no-any-return]
                                      x.type.shape)
    result, square = None, x
    while n:
        if n & 1:
            result = square if result is None else products.matmul(result, square)
        n >>= 1
        square = products.matmul(square, square) if n else square
    return result  # type: ignore[return-value]


# -- views --------------------------------------------------------------------------------------------


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Matrices with rows and columns exchanged.

    Args:
      x: any[..., m, n]

    Returns:
      any[..., n, m]

    Raises:
      ValueError: if there are no matrices.

    Example:
      >>> jnp.linalg.matrix_transpose(jnp.ones((2, 3))).shape
      (3, 2)
    """
    value = array(x)
    check_matrices(value)
    n = value.type.ndim
    return move.transpose(value, perm=(*range(n - 2), n - 1, n - 2))  # type: ignore[no-any-return]


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices.

    Args:
      x: any[..., m, n]
      offset: how far the diagonal is above the main one.

    Returns:
      any[..., k]

    Raises:
      ValueError: if there are no matrices.

    Example:
      >>> jnp.linalg.diagonal(jnp.eye(2))
      Array([1., 1.], dtype=float32)
    """
    value = array(x)
    check_matrices(value)
    return products.diagonal_of(value, value.type.ndim - 2, value.type.ndim - 1,
                                # type: ignore[no-any-return]
                                operator.index(offset))


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """The sums along diagonals of matrices.

    Args:
      x: any[..., m, n]
      offset: how far the diagonal is above the main one.
      dtype: of the sum; None: that of `x`, with booleans and narrow integers in the default integer dtype.

    Returns:
      any[...]

    Raises:
      ValueError: if there are no matrices.

    Example:
      >>> jnp.linalg.trace(jnp.eye(3)).item()
      3.0
    """
    return products.trace(x, offset, -2, -1, dtype)
