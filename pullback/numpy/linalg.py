"""Linear algebra on arrays whose last two axes are matrices (jax.numpy.linalg), as far as products go."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.lax.contract import PrecisionLike
from pullback.lax.operand import retype
from pullback.numpy import contract as products
from pullback.numpy import einstein, promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, kept, like, several_axes
from pullback.ops import elementwise, move, reduce

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot", "norm",
    "outer", "tensordot", "trace", "vecdot", "vector_norm",
]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.linalg.{name}")


# -- norms --------------------------------------------------------------------------------------------


def norm(x: ArrayLike, ord: int | str | float | None = None, axis: int | tuple[int, ...] | None = None,
         keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
      x: any[...]
      ord: None: the root of the sum of squares. For vectors a number (see vector_norm); for matrices 'fro',
        1, -1, inf or -inf (see matrix_norm).
      axis: an axis (norms of vectors), or two (of matrices); None: all, of which there are one or two where
        an `ord` is given.
      keepdims: keep these axes, with size 1.

    Returns:
      float[...]. Where the root of 0 is taken the derivative is NaN.

    Raises:
      ValueError: if the number of axes is neither 1 nor 2, or for an `ord` that is not defined for it.
    """
    value = _real_or_complex(x)
    axes = several_axes(axis, value.type.ndim)
    if axis is None and ord is None:
        return _root_of_squares(value, axes, keepdims)  # type: ignore[no-any-return]
    if len(axes) == 1:
        return _vector_norm(value, 2 if ord is None else ord, axes, keepdims)  # type: ignore[no-any-return]
    if len(axes) == 2:
        return _matrix_norm(value, "fro" if ord is None else ord, axes,
                            keepdims)  # type: ignore[no-any-return]
    raise errors.value_error(f"got {value.type} and axis {axis}: {len(axes)} axes; 1 (vectors) or 2 "
                             "(matrices) are required",
                             fix="name the axes, or leave out `ord` for the norm of all elements")


def vector_norm(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False,
                ord: int | str | float = 2) -> Array:
    """The norm of vectors along axes: (sum of |x| ** ord) ** (1 / ord).

    Args:
      x: any[...]
      axis: an axis or several, whose elements make up a vector; None: all.
      keepdims: keep these axes, with size 1.
      ord: a number; 0 counts the elements that are not 0, inf and -inf take the largest and the least
        magnitude.

    Returns:
      float[...]. Where the root of 0 is taken the derivative is NaN; among equal extremes it is shared.

    Raises:
      ValueError: if `ord` is not a number.
    """
    value = _real_or_complex(x)
    return _vector_norm(value, ord, several_axes(axis, value.type.ndim),
                        keepdims)  # type: ignore[no-any-return]


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: str | int | float = "fro") -> Array:
    """The norm of matrices.

    Args:
      x: any[..., m, n]
      keepdims: keep the last two axes, with size 1.
      ord: 'fro': the root of the sum of squares; 1, -1: the largest and the least sum of magnitudes in a
        column; inf, -inf: in a row.

    Returns:
      float[...]

    Raises:
      ValueError: if there are no matrices, or for another `ord`.
    """
    value = _real_or_complex(x)
    _check_matrices(value)
    ndim = value.type.ndim
    return _matrix_norm(value, ord, (ndim - 2, ndim - 1), keepdims)  # type: ignore[no-any-return]


def _real_or_complex(x: ArrayLike) -> Any:
    """A strong array of floats or complex numbers."""
    value = promotion.inexact(array(x))
    return retype(value, value.type.dtype)


def _check_matrices(x: Any) -> None:
    if x.type.ndim < 2:
        raise errors.value_error(f"got {x.type}, at least 2 axes are required",
                                 fix="add an axis: x[None, :] is a matrix of one row")


def _root_of_squares(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if dtypes.is_complex(x.type.dtype):
        squares = elementwise.add(elementwise.square(elementwise.real(x)),
                                  elementwise.square(elementwise.imag(x)))
    else:
        squares = elementwise.square(x)
    return _ended(elementwise.sqrt(reduce.reduce_sum(squares, axes=axes) if axes else squares), x, axes,
                  keepdims)


def _ended(out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return kept(out, x.type.shape, axes) if keepdims else out


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(ord, str) or not isinstance(ord, (int, float, np.number)):
        raise errors.value_error(f"ord is {ord!r}; a number is required for the norm of vectors",
                                 fix="pass jnp.inf for the largest magnitude" if ord == "inf" else
                                     "name two axes for the norm of matrices")
    if ord == 2:
        return _root_of_squares(x, axes, keepdims)
    size = elementwise.abs(x)
    if ord == math.inf:
        # The largest of no magnitudes is 0.
        out = reduce.reduce_max(size, axes=axes) if size.type.size else _sum(size, axes)
    elif ord == -math.inf:
        out = _least(size, axes)
    elif ord == 0:
        out = _sum(retype(elementwise.ne(size, like(size, 0)), size.type.dtype), axes)
    elif ord == 1:
        out = _sum(size, axes)
    else:
        power = _sum(elementwise.pow(size, like(size, float(ord))), axes)
        out = elementwise.pow(power, like(power, 1 / float(ord)))
    return _ended(out, x, axes, keepdims)


def _least(x: Any, axes: tuple[int, ...]) -> Any:
    if 0 in [x.type.shape[i] for i in axes]:
        raise errors.value_error(f"the least magnitude of {x.type}, which has no elements, does not exist",
                                 fix="check for an empty array first")
    return reduce.reduce_min(x, axes=axes)


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return reduce.reduce_sum(x, axes=axes)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in ("fro", "f"):
        return _root_of_squares(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        raise errors.make(errors.UnsupportedError,
                          f"ord is {ord!r}, which needs singular values; pullback has no svd",
                          fix="'fro', 1, -1, inf and -inf need none")
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise errors.value_error(f"ord is {ord!r}; 'fro', 1, -1, inf or -inf is required for matrices",
                                 fix="name one axis for the norm of vectors")
    rows, columns = axes
    along = rows if ord in (1, -1) else columns
    sums = _sum(elementwise.abs(x), (along,))
    left = tuple([i - (i > along) for i in axes if i != along])
    out = reduce.reduce_max(sums, axes=left) if ord > 0 else _least(sums, left)
    return _ended(out, x, axes, keepdims)


# -- products -----------------------------------------------------------------------------------------


def matmul(x1: ArrayLike, x2: ArrayLike, /, *, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """The matrix product x1 @ x2; see numpy.matmul."""
    return products.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """Products of vectors along an axis; see numpy.vecdot."""
    return products.vecdot(x1, x2, axis=axis, precision=precision,
                           preferred_element_type=preferred_element_type)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2,
              precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: Any = None) -> Array:
    """The sum of products over chosen axes; see numpy.tensordot."""
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
    """The product of n equal matrices; for n = 0 the identity.

    Args:
      a: any[..., m, m]
      n: at least 0.

    Raises:
      TypeError: if `n` is no int. ValueError: if it is negative, or the matrices are not square.
    """
    x = array(a)
    try:
        n = operator.index(n)
    except TypeError:
        raise errors.type_error(f"n is {n!r}, an int is required", fix="pass int(n)") from None
    _check_matrices(x)
    *batch, rows, columns = x.type.shape
    if rows != columns:
        raise errors.value_error(f"got {x.type}: matrices of {rows} by {columns}, square ones are required",
                                 fix="check the axes; the last two are those of the matrices")
    if n < 0:
        raise errors.make(errors.UnsupportedError,
                          f"n is {n}: negative powers need the inverse, which pullback does "
                          "not have", fix="pass the inverse, and -n")
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
    """
    value = array(x)
    _check_matrices(value)
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
    """
    value = array(x)
    _check_matrices(value)
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
    """
    return products.trace(x, offset, -2, -1, dtype)
