"""Matrices of a known form."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import numpy as jnp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, integer, picked, positions, requested
from pullback.numpy.linalg.checks import inexact
from pullback.ops import matrix, move

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler", "fiedler_companion", "hadamard",
    "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "leslie", "pascal", "toeplitz",
]


# -- made of given numbers ----------------------------------------------------------------------------


def block_diag(*arrs: ArrayLike) -> Array:
    """Matrices one after the other along the diagonal, zeros elsewhere.

    Args:
      arrs: number[m, n] each; vectors count as rows, scalars as [1, 1].

    Returns:
      number[sum of m, sum of n], of the common dtype

    Raises:
      ValueError: for more than two axes.

    Example:
      >>> jax.scipy.linalg.block_diag(jnp.ones((1, 2)), jnp.array([[3.]])).tolist()
      [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    """
    parts = [array(x) for x in promotion.promoted(*(arrs or (jnp.zeros((1, 0)),)))]
    for i, x in enumerate(parts):
        if x.type.ndim > 2:
            raise errors.value_error(f"array {i} is {x.type}, at most 2 axes are required",
                                     fix="map over stacks with vmap")
    parts = [move.reshape(x, shape=(1,) * (2 - x.type.ndim) + x.type.shape) for x in parts]
    columns, rows, start = sum([x.type.shape[1] for x in parts]), [], 0
    for x in parts:
        end = start + x.type.shape[1]
        rows.append(move.pad(x, x.type.dtype.type(0), config=((0, 0, 0), (start, columns - end, 0))))
        start = end
    return move.concatenate(*rows, axis=0) if len(rows) > 1 else rows[0]  # type: ignore[no-any-return]


def _vectors(x: ArrayLike, name: str, least: int = 0) -> Any:
    value = array(x)
    if not value.type.ndim or value.type.shape[-1] < least:
        raise errors.value_error(f"{name} is {value.type}; a last axis of at least {least} elements is required",
                                 fix="the last axis holds a vector, the others are those of a stack")
    return value


def _pattern(x: Any, index: np.ndarray) -> Any:
    """Matrices any[..., m, n] of the elements of vectors any[..., k] at known positions [m, n]."""
    axis = x.type.ndim - 1
    if not index.size:
        return move.broadcast_in_dim(x.type.dtype.type(0), shape=(*x.type.shape[:-1], *index.shape), dims=())
    return picked(x, positions(index), axis)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with equal elements along each diagonal.

    Args:
      c: number[..., m]: the first column; a scalar counts as [1].
      r: number[..., n]: the first row, of which r[0] is not read; None: the conjugate of c.

    Returns:
      number[..., m, n]

    Example:
      >>> jax.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 8])).tolist()
      [[1, 8], [2, 1], [3, 2]]
    """
    column = array(c)
    row = matrix.conjugate(column) if r is None else array(r)
    column, row = [retype(array(x), x.type.dtype) for x in promotion.promoted(column, row)]
    column, row = (move.reshape(x, shape=(1,)) if not x.type.ndim else x for x in (column, row))
    stack = promotion.broadcast_shapes([x.type.shape[:-1] for x in (column, row)])
    column, row = (promotion.broadcast_to(x, (*stack, x.type.shape[-1])) for x in (column, row))
    m, n = column.type.shape[-1], row.type.shape[-1]
    both = move.concatenate(column, row, axis=len(stack))
    i, j = np.ogrid[:m, :n]
    return _pattern(both, np.where(i >= j, i - j, m + j - i))  # type: ignore[no-any-return]


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Matrices with equal elements along each diagonal from the lower left to the upper right.

    Args:
      c: number[..., m]: the first column.
      r: number[..., n]: the last row, of which r[0] is not read; None: zeros.

    Returns:
      number[..., m, n]

    Raises:
      ValueError: for a scalar.

    Example:
      >>> jax.scipy.linalg.hankel(jnp.array([1, 2, 3])).tolist()
      [[1, 2, 3], [2, 3, 0], [3, 0, 0]]
    """
    column = _vectors(c, "c")
    row = jnp.zeros_like(column) if r is None else _vectors(r, "r")
    column, row = [array(x) for x in promotion.promoted(column, row)]
    stack = promotion.broadcast_shapes([x.type.shape[:-1] for x in (column, row)])
    column, row = (promotion.broadcast_to(x, (*stack, x.type.shape[-1])) for x in (column, row))
    m, n = column.type.shape[-1], row.type.shape[-1]
    both = move.concatenate(column, row, axis=len(stack))
    i, j = np.ogrid[:m, :n]
    return _pattern(both, np.where(i + j < m, i + j, i + j + 1))  # type: ignore[no-any-return]


def circulant(c: ArrayLike) -> Array:
    """Square matrices each column of which is the one before, moved down in a circle.

    Args:
      c: number[..., n]: the first column; a scalar counts as [1].

    Returns:
      number[..., n, n]

    Example:
      >>> jax.scipy.linalg.circulant(jnp.array([1, 2, 3])).tolist()
      [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    x = array(c)
    x = x if x.type.ndim else move.reshape(x, shape=(1,))
    n = x.type.shape[-1]
    i, j = np.ogrid[:n, :n]
    return _pattern(x, (i - j) % max(n, 1))  # type: ignore[no-any-return]


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrices whose product with a vector is its convolution with `a`.

    Args:
      a: number[..., m], m at least 1
      n: the length of the vector, at least 1.
      mode: 'full', 'same' or 'valid'; see numpy.convolve.

    Returns:
      number[..., k, n], with k the length of the convolution

    Raises:
      ValueError: for an empty `a`, an n below 1, or another mode.

    Example:
      >>> jax.scipy.linalg.convolution_matrix(jnp.array([1, 2]), 2).tolist()
      [[1, 0], [2, 1], [0, 2]]
    """
    x, count = _vectors(a, "a", 1), integer(n, "n")
    if count < 1:
        raise errors.value_error(f"n is {count}, at least 1 is required", fix="it is the length of the other vector")
    if mode not in ("full", "same", "valid"):
        raise errors.value_error(f"mode is {mode!r}; 'full', 'same' or 'valid' is required", fix="leave it out")
    m = x.type.shape[-1]
    # As in SciPy, 'same' keeps the middle of max(m, n) rows.
    rows = {"full": m + count - 1, "same": max(m, count), "valid": max(m, count) - min(m, count) + 1}[mode]
    start = {"full": 0, "same": (min(m, count) - 1) // 2, "valid": min(m, count) - 1}[mode]
    i, j = np.ogrid[start: start + rows, :count]
    padded = move.pad(x, x.type.dtype.type(0), config=(*[(0, 0, 0)] * (x.type.ndim - 1), (0, 1, 0)))
    return _pattern(padded, np.where((i >= j) & (i - j < m), i - j, m))  # type: ignore[no-any-return]


def _with_subdiagonal(top: Any, below: Any) -> Any:
    """Square matrices with a first row, and vectors on the diagonal below the main one."""
    n = top.type.shape[-1]
    lower = matrix.beside(matrix.of_diagonal(below, matrix.column(below)), matrix.zeros(n - 1, 1, matrix.column(below)))
    return matrix.below(move.reshape(top, shape=(*top.type.shape[:-1], 1, n)), lower)


def companion(a: ArrayLike) -> Array:
    """The matrices whose eigenvalues are the zeros of polynomials.

    Args:
      a: number[..., n + 1], n at least 1: coefficients, highest power first; the first is not 0.

    Returns:
      float or complex[..., n, n]: -a[1:] / a[0] in the first row, ones below the diagonal

    Raises:
      ValueError: for less than two coefficients.

    Example:
      >>> jax.scipy.linalg.companion(jnp.array([1., -3., 2.])).tolist()
      [[3.0, -2.0], [1.0, 0.0]]
    """
    x = inexact(_vectors(a, "a", 2))
    top = -x[..., 1:] / x[..., :1]
    return _with_subdiagonal(top, jnp.ones_like(top[..., 1:]))  # type: ignore[no-any-return]


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie's matrices of a population: f in the first row, s below the diagonal.

    Args:
      f: number[..., n], n at least 2: offspring of each age.
      s: number[..., n - 1]: the share of each age that survives.

    Returns:
      number[..., n, n]

    Raises:
      ValueError: if lengths do not go together.

    Example:
      >>> jax.scipy.linalg.leslie(jnp.array([0.5, 2.]), jnp.array([0.25])).tolist()
      [[0.5, 2.0], [0.25, 0.0]]
    """
    top, below = [array(x) for x in promotion.promoted(_vectors(f, "f", 2), _vectors(s, "s"))]
    if below.type.shape[-1] != top.type.shape[-1] - 1:
        raise errors.value_error(f"f is {top.type} and s is {below.type}: [n] and [n - 1] are required",
                                 fix="the last age has no survivors")
    stack = promotion.broadcast_shapes([x.type.shape[:-1] for x in (top, below)])
    return _with_subdiagonal(*[promotion.broadcast_to(x, (*stack, x.type.shape[-1]))  # type: ignore[no-any-return]
                               for x in (top, below)])


def fiedler(a: ArrayLike) -> Array:
    """Fiedler's matrices |a[i] - a[j]|.

    Args:
      a: number[..., n]

    Returns:
      real[..., n, n]

    Example:
      >>> jax.scipy.linalg.fiedler(jnp.array([1, 4])).tolist()
      [[0, 3], [3, 0]]
    """
    x = jnp.atleast_1d(array(a))
    return jnp.abs(x[..., :, None] - x[..., None, :])  # type: ignore[no-any-return]


def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's matrices with the zeros of polynomials as eigenvalues and with five diagonals.

    Args:
      a: number[..., n + 1]: coefficients, highest power first; the first is not 0.

    Returns:
      float or complex[..., n, n]

    Raises:
      ValueError: without coefficients.

    Source: Fiedler, A note on companion matrices (2003), as scipy.linalg.fiedler_companion arranges it.

    Example:
      >>> jax.scipy.linalg.fiedler_companion(jnp.array([1., -16., 86.])).tolist()
      [[16.0, -86.0], [1.0, 0.0]]
    """
    import scipy.linalg
    x = inexact(_vectors(jnp.atleast_1d(array(a)), "a", 1))
    n = x.type.shape[-1] - 1
    # Where SciPy puts what: its matrix for the ratios 2, 3, ... holds these, zeros, and ones.
    marks = scipy.linalg.fiedler_companion([1, *[-2 - i for i in range(n)]]) if n else np.zeros((0, 0))
    values = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.ones_like(x[..., :1]), -x[..., 1:] / x[..., :1]], -1)
    return _pattern(values, np.asarray(marks).astype(int))  # type: ignore[no-any-return]


# -- made of nothing but a size -----------------------------------------------------------------------


def _from_scipy(name: str, n: int, dtype: Any = np.float64, **options: Any) -> Array:
    """What SciPy's function of that name gives for a size; for 0 an empty matrix."""
    import scipy.linalg
    size = integer(n, "n")
    numbers = getattr(scipy.linalg, name)(size, **options) if size else np.zeros((0, 0))
    numbers = numbers + 0.0 if numbers.dtype.kind == "f" else numbers  # no -0.0
    return retype(jnp.asarray(numbers), dtypes.canonicalize(np.dtype(dtype)))  # type: ignore[no-any-return]


def _kind(kind: str | None) -> str:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise errors.value_error(f"kind is {kind!r}; 'symmetric', 'lower' or 'upper' is required", fix="leave it out")
    return kind or "symmetric"


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform: exp(-2 pi i j k / n).

    Args:
      n: its size.
      scale: None; 'sqrtn': over sqrt(n), which makes it unitary; 'n': over n.
      dtype: a complex dtype; None: the default one.

    Returns:
      complex[n, n]

    Raises:
      ValueError: for another scale or dtype.

    Example:
      >>> jax.scipy.linalg.dft(2).real.tolist()
      [[1.0, 1.0], [1.0, -1.0]]
    """
    if scale not in (None, "sqrtn", "n"):
        raise errors.value_error(f"scale is {scale!r}; None, 'sqrtn' or 'n' is required", fix="leave it out")
    found = dtypes.canonicalize(np.dtype(np.complex128)) if dtype is None else requested(dtype, "dft")
    if not dtypes.is_complex(found):
        raise errors.value_error(f"dtype is {dtypes.short_name(found)}, a complex dtype is required",
                                 fix="leave it out")
    return _from_scipy("dft", n, found, scale=scale)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Hadamard's matrix of 1 and -1, with orthogonal rows, by Sylvester's construction.

    Args:
      n: its size, a power of 2.
      dtype: of the result.

    Raises:
      ValueError: for another size.

    Example:
      >>> jax.scipy.linalg.hadamard(2).tolist()
      [[1, 1], [1, -1]]
    """
    size = integer(n, "n")
    if size < 1 or size & (size - 1):
        raise errors.value_error(f"n is {size}, a power of 2 is required", fix="pass 1, 2, 4, 8, ...")
    return _from_scipy("hadamard", size, requested(dtype, "hadamard"))


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix with orthonormal rows, whose first row is constant.

    Args:
      n: its size, at least 1.
      full: with the first row; else without it.

    Returns:
      float[n, n], or float[n - 1, n]

    Raises:
      ValueError: for a size below 1.

    Example:
      >>> [[round(x, 4) for x in row] for row in jax.scipy.linalg.helmert(2).tolist()]
      [[0.7071, -0.7071]]
    """
    if integer(n, "n") < 1:
        raise errors.value_error(f"n is {n}, at least 1 is required", fix="pass the number of elements")
    return _from_scipy("helmert", n, full=bool(full))


def hilbert(n: int) -> Array:
    """Hilbert's matrix 1 / (i + j + 1).

    Args:
      n: its size.

    Returns:
      float[n, n]

    Example:
      >>> jax.scipy.linalg.hilbert(2)[0].tolist()
      [1.0, 0.5]
    """
    return _from_scipy("hilbert", n)


def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, whose elements are integers.

    Args:
      n: its size.

    Returns:
      float[n, n]

    Example:
      >>> jax.scipy.linalg.invhilbert(2).tolist()
      [[4.0, -6.0], [-6.0, 12.0]]
    """
    return _from_scipy("invhilbert", n)


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's matrix of binomial coefficients.

    Args:
      n: its size.
      kind: None or 'symmetric': binomial(i + j, i); 'lower': binomial(i, j); 'upper': binomial(j, i).

    Returns:
      float[n, n]

    Raises:
      ValueError: for another kind.

    Example:
      >>> jax.scipy.linalg.pascal(3, "lower").tolist()
      [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 1.0]]
    """
    return _from_scipy("pascal", n, kind=_kind(kind), exact=False)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, whose elements are integers.

    Args:
      n: its size.
      kind: as in pascal.

    Returns:
      float[n, n]

    Raises:
      ValueError: for another kind.

    Example:
      >>> jax.scipy.linalg.invpascal(3, "lower").tolist()
      [[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -2.0, 1.0]]
    """
    return _from_scipy("invpascal", n, kind=_kind(kind), exact=False)
