"""Norms, and what singular values tell of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, kept, like, several_axes
from pullback.numpy.linalg import decompositions, systems
from pullback.numpy.linalg.checks import check_matrices, check_square, strong
from pullback.ops import elementwise, move, reduce
from pullback.ops.convert import convert_element_type

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]


def norm(x: ArrayLike, ord: int | str | float | None = None, axis: int | tuple[int, ...] | None = None,
         keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
      x: any[...]
      ord: None: the root of the sum of squares. For vectors a number (see vector_norm); for matrices see
        matrix_norm.
      axis: an axis (norms of vectors), or two (of matrices); None: all, of which there are one or two where
        an `ord` is given.
      keepdims: keep these axes, with size 1.

    Returns:
      float[...]. Where the root of 0 is taken the derivative is NaN.

    Raises:
      ValueError: if the number of axes is neither 1 nor 2, or for an `ord` that is not defined for it.

    Example:
      >>> jnp.linalg.norm(jnp.array([3.0, 4.0])).item()
      5.0
    """
    value = strong(x)
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

    Example:
      >>> jnp.linalg.vector_norm(jnp.array([3.0, 4.0]), ord=1).item()
      7.0
    """
    value = strong(x)
    return _vector_norm(value, ord, several_axes(axis, value.type.ndim),
                        keepdims)  # type: ignore[no-any-return]


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: str | int | float = "fro") -> Array:
    """The norm of matrices.

    Args:
      x: any[..., m, n]
      keepdims: keep the last two axes, with size 1.
      ord: 'fro': the root of the sum of squares; 1, -1: the largest and the least sum of magnitudes in a
        column; inf, -inf: in a row; 2, -2: the largest and the least singular value; 'nuc': their sum.

    Returns:
      float[...]

    Raises:
      ValueError: if there are no matrices, or for another `ord`.

    Example:
      >>> jnp.linalg.matrix_norm(jnp.ones((2, 2))).item()
      2.0
    """
    value = strong(x)
    check_matrices(value)
    ndim = value.type.ndim
    return _matrix_norm(value, ord, (ndim - 2, ndim - 1), keepdims)  # type: ignore[no-any-return]


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
        return _ended(_of_singular_values(x, ord, axes), x, axes, keepdims)
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise errors.value_error(f"ord is {ord!r}; 'fro', 'nuc', 1, -1, 2, -2, inf or -inf is required for matrices",
                                 fix="name one axis for the norm of vectors")
    rows, columns = axes
    along = rows if ord in (1, -1) else columns
    sums = _sum(elementwise.abs(x), (along,))
    left = tuple([i - (i > along) for i in axes if i != along])
    if ord > 0:
        # The largest of no sums is 0.
        out = reduce.reduce_max(sums, axes=left) if 0 not in x.type.shape else _sum(sums, left)
    else:
        out = _least(sums, left)
    return _ended(out, x, axes, keepdims)


def _of_singular_values(x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    ndim = x.type.ndim
    x = move.transpose(x, perm=(*[i for i in range(ndim) if i not in axes], *axes))
    s = decompositions.svdvals(x)
    last = (ndim - 2,)
    if ord == "nuc" or not x.type.shape[-1] * x.type.shape[-2] and ord == 2:
        return _sum(s, last)
    return reduce.reduce_max(s, axes=last) if ord == 2 else _least(s, last)


# -- what singular values tell ------------------------------------------------------------------------


def cond(x: ArrayLike, p: Any = None) -> Array:
    """The condition number of matrices: how much a relative error in b can grow in the x with a x = b.

    Args:
      x: any[..., m, n], square but for p of None, 2 and -2; not empty.
      p: None or 2: the largest singular value over the least; -2: the least over the largest; else norm(x, p) times
        norm(inv(x), p), see matrix_norm.

    Returns:
      float[...]; inf for a singular matrix

    Raises:
      ValueError: without matrices, for empty ones, or for such that are not square where they have to be.

    Example:
      >>> float(jnp.linalg.cond(jnp.diag(jnp.array([4., 2.]))))
      2.0
    """
    value = strong(x)
    check_matrices(value)
    ndim = value.type.ndim
    if 0 in value.type.shape[-2:]:
        raise errors.value_error(f"got {value.type}: matrices without elements", fix="check for an empty array first")
    if p in (None, 2, -2):
        s = decompositions.svdvals(value)
        largest, least = reduce.reduce_max(s, axes=(ndim - 2,)), reduce.reduce_min(s, axes=(ndim - 2,))
        out = elementwise.div(*((least, largest) if p == -2 else (largest, least)))
    else:
        check_square(value)
        axes = (ndim - 2, ndim - 1)
        out = elementwise.mul(_matrix_norm(value, p, axes, False), _matrix_norm(systems.inv(value), p, axes, False))
    # 0 / 0 of a zero matrix; but NaN in the matrix stays.
    given = reduce.reduce_or(elementwise.ne(value, value), axes=(ndim - 2, ndim - 1))
    unknown = TABLE["and"](elementwise.ne(out, out), TABLE["not"](given))
    return elementwise.select_n(unknown, out, like(out, math.inf))  # type: ignore[no-any-return]


def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False,
                tol: ArrayLike | None = None) -> Array:
    """How many singular values of matrices are above a tolerance.

    Args:
      M: any[..., m, n]; of fewer axes: whether anything is not 0.
      rtol: the tolerance [...] itself, as in jax; None: the largest singular value times max(m, n) times the accuracy
        of the dtype.
      hermitian: the matrices are; magnitudes of eigenvalues are compared.
      tol: another name of rtol.

    Returns:
      int32[...]; it has no derivative.

    Raises:
      ValueError: if both are given.

    Example:
      >>> int(jnp.linalg.matrix_rank(jnp.ones((3, 3))))
      1
    """
    if rtol is not None and tol is not None:
        raise errors.value_error("rtol and tol are both given", fix="pass one of them")
    value = strong(M)
    ndim = value.type.ndim
    if ndim < 2:
        some = elementwise.ne(value, like(value, 0))
        return convert_element_type(reduce.reduce_or(some, axes=tuple(range(ndim))), dtype=dtypes.canonicalize(int))
    s = decompositions.svdvals(value) if not hermitian else elementwise.abs(decompositions.eigvalsh(value))
    given = tol if rtol is None else rtol
    if given is None:
        size = reduce.reduce_max(s, axes=(ndim - 2,)) if s.type.shape[-1] else _sum(s, (ndim - 2,))
        accuracy = max(value.type.shape[-2:]) * float(dtypes.finfo(s.type.dtype).eps)
        limit: Any = elementwise.mul(size, like(size, accuracy))
    else:
        limit = retype(array(given), s.type.dtype)
    limit = promotion.broadcast_to(limit, s.type.shape[:-1])
    above = elementwise.gt(s, move.broadcast_in_dim(limit, shape=s.type.shape, dims=tuple(range(ndim - 2))))
    return _sum(convert_element_type(above, dtype=dtypes.canonicalize(int)), (ndim - 2,))
