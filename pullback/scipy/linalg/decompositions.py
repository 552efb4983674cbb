"""Decompositions of matrices, with SciPy's signatures. Arguments about overwriting and checking are not looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import numpy as jnp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax import index as lax_index
from pullback.lax import linalg as lax_linalg
from pullback.lax.control_flow import scan
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, like
from pullback.numpy.linalg.checks import check_matrices, check_square, inexact
from pullback.ops import elementwise, matrix, move
from pullback.ops.convert import convert_element_type

__all__ = ["cho_factor", "cholesky", "eigh", "eigh_tridiagonal", "hessenberg", "lu", "lu_factor", "polar", "qr",
           "qr_multiply", "rsf2csf", "schur", "svd"]


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The triangular factor of positive definite matrices: a = U^H U, or a = L L^H if `lower`.

    NaN where a matrix is not positive definite.

    Args:
      a: number[..., n, n], of which the triangle of the result is read.
      lower: return L.

    Returns:
      float or complex[..., n, n], zeros in the other triangle

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Example:
      >>> jax.scipy.linalg.cholesky(jnp.array([[4., 2.], [2., 10.]])).tolist()
      [[2.0, 1.0], [0.0, 3.0]]
    """
    x = inexact(a)
    check_square(x)
    out = lax_linalg.cholesky(x if lower else matrix.adjoint(x), symmetrize_input=False)
    return out if lower else matrix.adjoint(out)  # type: ignore[no-any-return]


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
               ) -> tuple[Array, bool]:
    """What cho_solve takes: the factor that cholesky gives, and whether it is lower triangular.

    Args:
      a: number[..., n, n], positive definite.

    Example:
      >>> jsp.linalg.cho_factor(jnp.eye(2))
      (Array([[1., 0.],
             [0., 1.]], dtype=float32), False)
    """
    return cholesky(a, lower), lower


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """What lu_solve takes: L and U in one, and row exchanges.

    Args:
      a: number[..., m, n]

    Returns:
      (float or complex[..., m, n], int32[..., min(m, n)]); see lax.linalg.lu

    Example:
      >>> [x.tolist() for x in jax.scipy.linalg.lu_factor(jnp.array([[1., 2.], [2., 2.]]))]
      [[[2.0, 2.0], [0.5, 1.0]], [1, 1]]
    """
    factors, pivots, _ = lax_linalg.lu(inexact(a))
    return factors, pivots


def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """a = P L U, with a permutation P, unit lower triangular L and upper triangular U.

    Args:
      a: number[..., m, n]; k = min(m, n)
      permute_l: return P L as one.

    Returns:
      (P float[..., m, m], L[..., m, k], U[..., k, n]), or (P L, U)

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without matrices.

    Example:
      >>> [x.tolist() for x in jax.scipy.linalg.lu(jnp.array([[1., 2.], [2., 2.]]))]
      [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 2.0], [0.0, 1.0]]]
    """
    x = inexact(a)
    factors, _, permutation = lax_linalg.lu(x)
    *stack, m, n = x.type.shape
    k, count = min(m, n), len(stack)
    left = matrix.corner(factors, m, k)
    left = matrix.on_diagonal(matrix.lower(left, -1), like(left, 1))
    right = matrix.upper(matrix.corner(factors, k, n))
    place = move.iota(shape=(*stack, m, m), dtype=dtypes.int32, axis=count)
    order = move.broadcast_in_dim(permutation, shape=(*stack, m, m), dims=(*range(count), count + 1))
    p = convert_element_type(elementwise.eq(place, order), dtype=dtypes.to_real(x.type.dtype))
    if permute_l:
        return matrix.matmul(retype(p, x.type.dtype), left), right
    return p, left, right


def qr(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> Any:
    """a = Q R, with orthonormal columns of Q and upper triangular R.

    Args:
      a: number[..., m, n]; k = min(m, n)
      mode: 'full': Q[..., m, m], R[..., m, n]; 'economic': Q[..., m, k], R[..., k, n]; 'r': R[..., m, n] alone.
      pivoting: exchange columns, so that the diagonal of R decreases.

    Returns:
      (Q, R), or (R,) for mode 'r'; with pivoting the order of columns int32[..., n] too

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without matrices. ValueError: for another mode.

    Example:
      >>> jax.scipy.linalg.qr(jnp.array([[0., 2.], [3., 1.]]), mode="r")[0].tolist()
      [[-3.0, -1.0], [0.0, -2.0]]
    """
    if mode not in ("full", "economic", "r"):
        raise errors.value_error(f"mode is {mode!r}; 'full', 'economic' or 'r' is required",
                                 fix="'economic' gives the thin Q and R")
    found = lax_linalg.qr(inexact(a), pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


def qr_multiply(a: ArrayLike, c: ArrayLike, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
                overwrite_a: bool = False, overwrite_c: bool = False) -> Any:
    """A matrix times the Q of a = Q R, which has min(m, n) columns.

    Args:
      a: number[m, n]; k = min(m, n)
      c: number[p, m] for mode 'right', number[k, p] (or [m, p]: Q is square then) for 'left'; or a vector.
      mode: 'right': c Q; 'left': Q c.
      pivoting: as in qr.
      conjugate: with the conjugate of Q, not transposed.

    Returns:
      (the product, R[k, n]), with pivoting the order of columns int32[n] too

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another mode, or if shapes do not go together.

    Example:
      >>> c, r = jax.scipy.linalg.qr_multiply(jnp.array([[0., 2.], [3., 1.]]), jnp.array([1., 0.]))
      >>> c.tolist()
      [0.0, -1.0]
    """
    if mode not in ("left", "right"):
        raise errors.value_error(f"mode is {mode!r}; 'left' or 'right' is required", fix="'left' is Q c")
    x, y = [array(v) for v in promotion.promoted_inexact(array(a), array(c))]
    check_matrices(x)
    single = y.type.ndim == 1
    if single:
        y = matrix.column(y) if mode == "left" else matrix.swapped(matrix.column(y))
    m, n = x.type.shape[-2:]
    k, given = min(m, n), y.type.shape[-2 if mode == "left" else -1] if y.type.ndim > 1 else -1
    if given not in ((k, m) if mode == "left" else (m,)):
        raise errors.value_error(f"a is {x.type} and c is {y.type}: {'rows' if mode == 'left' else 'columns'} of c, "
                                 f"{given}, do not fit Q of {m} by {k}", fix="transpose c, or choose the other mode")
    q, r, *order = lax_linalg.qr(x, pivoting=pivoting, full_matrices=mode == "left" and given == m > k)
    r = matrix.corner(r, k, n)
    q = matrix.conjugate(q) if conjugate else q
    out = matrix.matmul(q, y) if mode == "left" else matrix.matmul(y, q)
    if single:
        out = move.reshape(out, shape=(out.type.size,))
    return out, r, *order


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd") -> Any:
    """a = U diag(s) Vh; see lax.linalg.svd.

    Args:
      a: number[..., m, n]; k = min(m, n)
      full_matrices: U and Vh are square.
      compute_uv: return U and Vh too.
      lapack_driver: 'gesdd' or 'gesvd'.

    Returns:
      (U, s float[..., k], Vh), or s

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without matrices. ValueError: for another driver.

    Example:
      >>> jax.scipy.linalg.svd(jnp.diag(jnp.array([3., 5.])), compute_uv=False).tolist()
      [5.0, 3.0]
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise errors.value_error(f"lapack_driver is {lapack_driver!r}; 'gesdd' or 'gesvd' is required",
                                 fix="leave it out")
    return lax_linalg.svd(inexact(a), full_matrices=full_matrices, compute_uv=compute_uv,
                          algorithm=lax_linalg.SvdAlgorithm.QR if lapack_driver == "gesvd" else None)


def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """a = Q H Q^H, with zeros of H below the first subdiagonal. It has no derivative.

    Args:
      a: float or complex[..., n, n]
      calc_q: return Q too.

    Returns:
      H, or (H, Q)

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Example:
      >>> jax.scipy.linalg.hessenberg(jnp.array([[1., 2.], [3., 4.]])).tolist()
      [[1.0, 2.0], [3.0, 4.0]]
    """
    x = array(a)
    found, taus = lax_linalg.hessenberg(x)
    h = matrix.upper(found, -1)
    n = x.type.shape[-1]
    if not calc_q:
        return h
    q = matrix.identity(n, h)
    if n > 1:
        inner = lax_linalg.householder_product(matrix.block(found, 1, n, 0, n - 1), taus)
        rest = matrix.beside(matrix.zeros(n - 1, 1, h), inner)
        q = matrix.below(matrix.corner(q, 1, n), rest)
    return h, q


# -- eigenvalues --------------------------------------------------------------------------------------


def eigh(a: ArrayLike, b: ArrayLike | None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1,
         check_finite: bool = True) -> Any:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices: a v = v diag(w), or a v = b v diag(w).

    Where eigenvalues coincide, the derivative of the vectors is NaN.

    Args:
      a: number[..., n, n], Hermitian; (a + a^H) / 2 is taken.
      b: number[..., n, n], positive definite; vectors are such that v^H b v is the identity. None: the identity.
      lower: not looked at, for a is symmetrized.
      eigvals_only: return w alone.
      eigvals, type: None and 1; others are not supported.

    Returns:
      (w float[..., n], v[..., n, n]), or w

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.
      NotImplementedError: for other eigvals or type.

    Example:
      >>> w = jax.scipy.linalg.eigh(jnp.diag(jnp.array([6., 2.])), 2 * jnp.eye(2), eigvals_only=True)
      >>> [round(x, 5) for x in w.tolist()]
      [1.0, 3.0]
    """
    if eigvals is not None or type != 1:
        raise errors.make(NotImplementedError, f"eigvals is {eigvals!r} and type is {type!r}; None and 1 are required",
                          fix="take a part of the result; a b v = v w is the problem of type 1 with inv(b)")
    x = inexact(a)
    check_square(x)
    if b is None:
        v, w = lax_linalg.eigh(x, lower=lower)
        return w if eigvals_only else (w, v)
    x, y = [array(m) for m in promotion.promoted_inexact(x, array(b))]
    factor = lax_linalg.cholesky(y)
    inner = _from_left(factor, matrix.symmetric(x))
    v, w = lax_linalg.eigh(_from_left(factor, matrix.adjoint(inner)))
    if eigvals_only:
        return w
    return w, lax_linalg.triangular_solve(factor, v, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


def _from_left(factor: Any, x: Any) -> Any:
    return lax_linalg.triangular_solve(factor, x, left_side=True, lower=True)


def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[float, float] | None = None, tol: float | None = None,
                     key: Array | None = None) -> Any:
    """Eigenvalues in ascending order and eigenvectors of a symmetric tridiagonal matrix.

    The matrix is formed and decomposed as by eigh, whose derivatives it has.

    Args:
      d: float[n]: the diagonal.
      e: float or complex[n - 1]: the one beside it.
      eigvals_only: return the values alone.
      select: 'a': all; 'i': those with numbers in select_range, the last included.
      select_range: (first, last)
      tol, key: for other methods; not looked at.

    Returns:
      (values float[k], vectors [n, k] as columns), or values

    Raises:
      TypeError: for another dtype, or if dtypes differ. ValueError: for another select, or if shapes do not fit.
      NotImplementedError: for select='v', by which the shape of the result would depend on numbers.

    Example:
      >>> w = jax.scipy.linalg.eigh_tridiagonal(jnp.array([2., 2.]), jnp.array([1.]), eigvals_only=True)
      >>> [round(x, 5) for x in w.tolist()]
      [1.0, 3.0]
    """
    x, y = array(d), array(e)
    if not dtypes.is_inexact(x.type.dtype) or x.type.dtype != y.type.dtype:
        raise errors.type_error(f"d is {x.type} and e is {y.type}; one float or complex dtype is required",
                                fix="convert one with astype")
    if x.type.ndim != 1 or y.type.shape != (x.type.size - 1,):
        raise errors.value_error(f"d is {x.type} and e is {y.type}; [n] and [n - 1] are required",
                                 fix="map over several with vmap")
    if select == "v":
        raise errors.make(NotImplementedError, "select is 'v': the shape of the result would depend on numbers",
                          fix="take all values, and select from them")
    if select not in ("a", "i") or select == "i" and select_range is None:
        raise errors.value_error(f"select is {select!r} and select_range is {select_range!r}; 'a', or 'i' and a range, "
                                 "is required", fix="pass select_range=(first, last)")
    n = x.type.size
    # Column j of the lower diagonal holds e[j] in row j + 1.
    beside = move.pad(y, like(y, 0), config=((0, 1, 0),))
    place = [move.iota(shape=(n, n), dtype=dtypes.int32, axis=i) for i in (0, 1)]
    below = elementwise.eq(elementwise.sub(*place), dtypes.int32.type(1))
    zeros = matrix.zeros(n, n, matrix.column(x))
    whole = elementwise.select_n(below, matrix.on_diagonal(zeros, matrix.as_rows(x, zeros)),
                                 matrix.as_rows(beside, zeros))
    whole = elementwise.add(whole, matrix.adjoint(matrix.lower(whole, -1)))
    first, last = (0, n - 1) if select_range is None or select == "a" else (int(i) for i in select_range)
    v, w = lax_linalg.eigh(whole, subset_by_index=(first, last + 1))
    return w if eigvals_only else (w, v)


def schur(a: ArrayLike, output: str = "real") -> list[Array]:
    """a = Z T Z^H with unitary Z and upper triangular T. It has no derivative.

    Args:
      a: float or complex[..., n, n]
      output: 'real': of floats T is real, with a block of 2 by 2 on the diagonal for each pair of complex eigenvalues;
        'complex': it is triangular.

    Returns:
      (T, Z)

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another output, or if the matrices are not square.

    Example:
      >>> jax.scipy.linalg.schur(jnp.array([[1., 2.], [0., 3.]]))[0].tolist()
      [[1.0, 2.0], [0.0, 3.0]]
    """
    if output not in ("real", "complex"):
        raise errors.value_error(f"output is {output!r}; 'real' or 'complex' is required", fix="leave it out")
    x = array(a)
    if output == "complex" and dtypes.is_float(x.type.dtype):
        x = elementwise.complex(x, like(x, 0))
    return lax_linalg.schur(x)


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The complex Schur form from the real one: blocks of 2 by 2 become triangular.

    Args:
      T: float or complex[n, n], as schur gives it.
      Z: [n, n]

    Returns:
      (T, Z) complex[n, n], with T triangular and the same Z T Z^H

    Raises:
      ValueError: if they are not square, or differ in shape.

    Source: scipy.linalg.rsf2csf: a Givens rotation for each row, from below.

    Example:
      >>> t, z = jax.scipy.linalg.rsf2csf(jnp.array([[0., 1.], [-1., 0.]]), jnp.eye(2))
      >>> abs(t[1, 0]).item()
      0.0
    """
    t, z = [array(v) for v in promotion.promoted_inexact(array(T), array(Z))]
    check_square(t)
    if t.type.ndim != 2 or z.type.shape != t.type.shape:
        raise errors.value_error(f"T is {t.type} and Z is {z.type}: square matrices of one shape are required",
                                 fix="pass both as schur gives them")
    n = t.type.shape[0]
    t, z = (retype(v, np.result_type(v.type.dtype, np.complex64)) for v in (t, z))
    eps = float(dtypes.finfo(dtypes.to_real(t.type.dtype)).eps)
    row, column = jnp.ogrid[:n, :n]

    def turn(state: Any, m: Any) -> tuple[Any, None]:
        t, z = state
        (a, b), (c, d) = lax_index.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        needed = jnp.abs(c) > eps * (jnp.abs(a) + jnp.abs(d))
        # An eigenvalue of the block, less d, and c: the vector that the rotation brings to the first axis.
        half = (a - d) / 2
        mu = half + jnp.sqrt(half * half + b * c)
        size = jnp.where(needed, jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(c) ** 2), 1)
        cos, sin = jnp.where(needed, mu / size, 1), jnp.where(needed, c / size, 0)
        rotation = jnp.stack([jnp.stack([cos.conj(), sin.conj()]), jnp.stack([-sin, cos])])
        pair = lax_index.dynamic_slice_in_dim(t, m - 1, 2, 0)
        t = lax_index.dynamic_update_slice_in_dim(t, rotation @ pair, m - 1, 0)
        t, z = (lax_index.dynamic_update_slice_in_dim(
            v, lax_index.dynamic_slice_in_dim(v, m - 1, 2, 1) @ rotation.conj().T, m - 1, 1) for v in (t, z))
        return (jnp.where((row == m) & (column == m - 1), 0, t), z), None

    return scan(turn, (t, z), jnp.arange(n - 1, 0, -1))[0]  # type: ignore[no-any-return]


def polar(a: ArrayLike, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None) -> tuple[Array, Array]:
    """a = U H or a = H U, with orthonormal columns or rows of U and positive semidefinite H.

    Args:
      a: float or complex[m, n]
      side: 'right': a = U H; 'left': a = H U.
      method: 'qdwh': by iteration, see lax.linalg.qdwh; it takes the conjugate transpose where rows or columns are too
        few. 'svd': by singular values, which has the derivative of these.
      eps, max_iterations: of the iteration.

    Returns:
      (U[m, n], H[n, n] or [m, m])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another side or method.
      NotImplementedError: for 'qdwh', 'right' and m < n, or 'left' and m >= n.

    Example:
      >>> u, h = jax.scipy.linalg.polar(jnp.array([[0., -2.], [2., 0.]]), method="svd")
      >>> [[abs(round(x, 4)) for x in row] for row in h.tolist()]
      [[2.0, 0.0], [0.0, 2.0]]
    """
    x = array(a)
    check_matrices(x)
    if side not in ("right", "left"):
        raise errors.value_error(f"side is {side!r}; 'right' or 'left' is required", fix="it is where H stands")
    if method not in ("qdwh", "svd"):
        raise errors.value_error(f"method is {method!r}; 'qdwh' or 'svd' is required", fix="leave it out")
    m, n = x.type.shape[-2:]
    if method == "svd":
        u, s, vh = lax_linalg.svd(x, full_matrices=False)
        other = vh if side == "right" else matrix.adjoint(u)
        return matrix.matmul(u, vh), matrix.matmul(elementwise.mul(matrix.adjoint(other), matrix.as_rows(
            s, matrix.adjoint(other))), other)
    if (m < n) == (side == "right"):
        raise errors.make(NotImplementedError, f"got {x.type} and side {side!r}: the iteration takes at least as many "
                          "rows as columns for 'right', and less for 'left'", fix="pass method='svd'")
    u, h, *_ = lax_linalg.qdwh(x if side == "right" else matrix.adjoint(x), eps=eps, max_iterations=max_iterations)
    return (u, h) if side == "right" else (matrix.adjoint(u), h)
