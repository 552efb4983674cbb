"""Decompositions of matrices: Cholesky, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax import linalg as lax_linalg
from pullback.lax.operand import retype
from pullback.numpy.arguments import ArrayLike, like
from pullback.numpy.linalg.checks import check_matrices, check_square, inexact
from pullback.ops import elementwise, factor, matrix
from pullback.ops.sort import sort, take_along

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]


class EigResult(NamedTuple):
    """What eig returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What eigh returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What qr returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What svd returns."""

    U: Array
    S: Array
    Vh: Array


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factor of positive definite matrices: a = L L^H, or a = U^H U.

    NaN where a matrix is not positive definite.

    Args:
      a: number[..., n, n], Hermitian.
      upper: return U; else L.
      symmetrize_input: take (a + a^H) / 2; else read the lower triangle alone.

    Returns:
      float or complex[..., n, n]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xPOTRF.

    Example:
      >>> jnp.linalg.cholesky(jnp.array([[4., 2.], [2., 10.]]), upper=True).tolist()
      [[2.0, 1.0], [0.0, 3.0]]
    """
    x = inexact(a)
    check_square(x)
    lower = lax_linalg.cholesky(x, symmetrize_input=symmetrize_input)
    return matrix.adjoint(lower) if upper else lower  # type: ignore[no-any-return]


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """a = Q R, with orthonormal columns of Q and upper triangular R.

    The derivative is not finite where the first min(m, n) columns depend on each other.

    Args:
      a: number[..., m, n]; k = min(m, n)
      mode: 'reduced': Q[..., m, k], R[..., k, n]; 'complete': Q[..., m, m], R[..., m, n]; 'r': R[..., k, n] alone;
        'raw': the reflections of Q and R in one, transposed, [..., n, m], and their taus [..., k], without derivative.

    Returns:
      QRResult(Q, R), or R for mode 'r'

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another mode, or without matrices.

    Source: LAPACK xGEQRF, xORGQR.

    Example:
      >>> jnp.linalg.qr(jnp.array([[0., 2.], [3., 1.]])).R.tolist()
      [[-3.0, -1.0], [0.0, -2.0]]
    """
    x = inexact(a)
    check_matrices(x)
    if mode == "raw":
        if not x.type.shape[-1] * x.type.shape[-2]:
            return QRResult(matrix.swapped(x), matrix.vector(matrix.zeros(0, 1, x)))
        found, taus = factor.reflections(x, pivoting=False)
        return QRResult(matrix.swapped(found), taus)
    if mode not in ("reduced", "complete", "r"):
        raise errors.value_error(f"mode is {mode!r}; 'reduced', 'complete', 'r' or 'raw' is required",
                                 fix="'reduced' gives the thin Q and R")
    q, r = lax_linalg.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices: a v = v diag(w).

    Where eigenvalues coincide, the derivative of the vectors is NaN.

    Args:
      a: number[..., n, n], Hermitian.
      UPLO: with symmetrize_input=False, the triangle that is read: 'L' or None: lower; 'U': upper.
      symmetrize_input: take (a + a^H) / 2.

    Returns:
      EighResult(eigenvalues float[..., n], eigenvectors[..., n, n] as columns)

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another UPLO, or if the matrices are not square.

    Source: LAPACK xSYEVD, xHEEVD; derivative: Giles (2008).

    Example:
      >>> [round(w, 5) for w in jnp.linalg.eigh(jnp.array([[2., 1.], [1., 2.]])).eigenvalues.tolist()]
      [1.0, 3.0]
    """
    if UPLO not in (None, "L", "U"):
        raise errors.value_error(f"UPLO is {UPLO!r}; None, 'L' or 'U' is required", fix="leave it out")
    x = inexact(a)
    check_square(x)
    v, w = lax_linalg.eigh(x, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices in ascending order; as eigh.

    Args:
      a: number[..., n, n], Hermitian.

    Returns:
      float[..., n]

    Raises:
      As eigh.

    Example:
      >>> jnp.linalg.eigvalsh(jnp.diag(jnp.array([3., 1.]))).tolist()
      [1.0, 3.0]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices: a v = v diag(w).

    It has no derivative, for that of the vectors is one of many: see eigvals, eigh and lax.linalg.eig.

    Args:
      a: number[..., n, n]

    Returns:
      EigResult(eigenvalues complex[..., n] in no order, eigenvectors complex[..., n, n] as columns of length 1)

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xGEEV.

    Example:
      >>> jnp.linalg.eig(jnp.array([[0., -1.], [1., 0.]])).eigenvalues.tolist()
      [1j, -1j]
    """
    x = inexact(a)
    check_square(x)
    return EigResult(*lax_linalg.eig(x, compute_left_eigenvectors=False))


def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices, in no order.

    Where they coincide, the derivative is not finite, or that for a change which is diagonal in LAPACK's vectors.

    Args:
      a: number[..., n, n]

    Returns:
      complex[..., n]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xGEEV.

    Example:
      >>> jnp.linalg.eigvals(jnp.array([[1., 5.], [0., 2.]])).tolist()
      [(1+0j), (2+0j)]
    """
    x = inexact(a)
    check_square(x)
    return lax_linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Any:
    """a = U diag(S) Vh, with orthonormal columns of U and rows of Vh, and descending S >= 0.

    The derivative of U and Vh is NaN where singular values coincide, and not finite where one is 0 and the matrix is
    not square; there is none for full matrices that are not square.

    Args:
      a: number[..., m, n]; k = min(m, n)
      full_matrices: U and Vh are square; else they have k columns and rows.
      compute_uv: return U and Vh too.
      hermitian: a is; its eigenvalues are taken.
      subset_by_index: (start, stop) of the values to return, for full_matrices=False; None: all.

    Returns:
      SVDResult(U, S float[..., k], Vh), or S

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: without matrices, or for a subset of full matrices.

    Source: LAPACK xGESDD; derivative: Giles (2008).

    Example:
      >>> jnp.linalg.svd(jnp.diag(jnp.array([3., 5.])), compute_uv=False).tolist()
      [5.0, 3.0]
    """
    x = inexact(a)
    check_matrices(x)
    if not hermitian:
        found = lax_linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
        return SVDResult(*found) if compute_uv else found
    if subset_by_index is not None:
        raise errors.value_error("hermitian and subset_by_index are both set",
                                 fix="take a part of the result, or pass hermitian=False")
    check_square(x)
    v, w = lax_linalg.eigh(x)
    size, axis = elementwise.abs(w), w.type.ndim - 1
    if not compute_uv:
        return elementwise.neg(sort(elementwise.neg(size), axis=axis))
    place = matrix.iota(shape=w.type.shape, dtype=dtypes.int32, axis=axis)
    order = sort(elementwise.neg(size), place, axis=axis)[1]
    u = take_along(v, matrix.as_rows(order, matrix.iota(shape=v.type.shape, dtype=dtypes.int32, axis=axis)), axis + 1)
    signs = elementwise.add(elementwise.sign(w), retype(elementwise.eq(w, like(w, 0)), w.type.dtype))  # 1 for 0
    vh = matrix.adjoint(elementwise.mul(u, matrix.as_rows(take_along(signs, order, axis), u)))
    return SVDResult(u, take_along(size, order, axis), vh)


def svdvals(x: ArrayLike, /) -> Array:
    """Singular values of matrices, descending.

    Args:
      x: number[..., m, n]

    Returns:
      float[..., min(m, n)]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: without matrices.

    Example:
      >>> jnp.linalg.svdvals(jnp.array([[3., 4.]])).tolist()
      [5.0]
    """
    return svd(x, compute_uv=False)  # type: ignore[no-any-return]
