"""Factorizations and decompositions of matrices: jax.lax.linalg.

Matrices are the last two axes; leading axes are those of a stack of matrices. Signs and phases, where a result is not
unique, are those of LAPACK, which computes them. Where LAPACK fails, the results are NaN.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import bind, type_of
from pullback.core.values import value
from pullback.lax.control_flow import scan
from pullback.lax.operand import operands, retype
from pullback.lax.polar import qdwh
from pullback.ops import elementwise as ops
from pullback.ops import factor, lapack, matrix, solve, spectral
from pullback.ops.convert import convert_element_type, stop_gradient
from pullback.ops.elementwise import number
from pullback.ops.move import broadcast_in_dim, iota, reshape
from pullback.ops.reduce import reduce_sum

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_update", "eig", "eigh",
    "hessenberg", "householder_product", "lu", "lu_pivots_to_permutation", "ormqr", "qdwh", "qr", "schur", "svd",
    "symmetric_product", "triangular_solve", "tridiagonal", "tridiagonal_solve",
]

ArrayLike = Any


class EigImplementation(enum.Enum):
    """How eig computes; on CPU by LAPACK alone."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How eigh computes; on CPU by QR alone."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """How svd computes; on CPU by DIVIDE_AND_CONQUER, which is DEFAULT, or by QR."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.lax.linalg.{name}")


def _not_on_cpu(what: str, fix: str) -> NotImplementedError:
    return errors.make(NotImplementedError, what, fix=fix)


def _matrices(x: ArrayLike, *, square: bool = False, floats: bool = False) -> Any:
    """A checked stack of matrices; with `floats` integers and booleans become floats."""
    x = value(x)
    t = type_of(x)
    if floats and dtypes.kind(t.dtype) in "biu":
        x = retype(x, dtypes.to_inexact(t.dtype), t.weak)
    lapack.check_matrices(type_of(x), square=square)
    return x


def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return broadcast_in_dim(np.dtype(dtype).type(0), shape=shape, dims=())


def _counting(shape: tuple[int, ...]) -> Any:
    """0, 1, ... along the last axis."""
    return iota(shape=shape, dtype=dtypes.int32, axis=len(shape) - 1)


# -- factorizations -----------------------------------------------------------------------------------


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular L with positive diagonal and x = L L^H.

    NaN where a matrix is not positive definite.

    Args:
      x: float or complex[..., n, n], Hermitian.
      symmetrize_input: take (x + x^H) / 2, so that derivatives are those by any x; else read the lower triangle alone.

    Returns:
      L, of the type of x, with zeros above the diagonal.

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xPOTRF.

    Example:
      >>> lax.linalg.cholesky(jnp.array([[4., 2.], [2., 10.]])).tolist()
      [[2.0, 0.0], [1.0, 3.0]]
    """
    a = _matrices(x, square=True, floats=True)
    return factor.cholesky(a, symmetrize=bool(symmetrize_input)) if type_of(a).shape[-1] else a  # type: ignore[no-any-return]


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangular factor of R^T R + w w^T, from R.

    Args:
      r_matrix: float[n, n], upper triangular.
      w_vector: float[n]

    Returns:
      float[n, n], upper triangular.

    Raises:
      TypeError: for another dtype. ValueError: for other shapes.

    Source: Golub and Van Loan, Matrix Computations, 6.5.4: a Givens rotation for each row.

    Example:
      >>> lax.linalg.cholesky_update(jnp.array([[3., 0.], [0., 1.]]), jnp.array([4., 0.])).tolist()
      [[5.0, 0.0], [0.0, 1.0]]
    """
    r, w = operands(r_matrix, w_vector)
    for x in (r, w):
        _check_real(x)
    rt, wt = type_of(r), type_of(w)
    if rt.ndim != 2 or rt.shape != wt.shape * 2 or rt.dtype != wt.dtype:
        raise errors.make(errors.OperandError,
                          f"r_matrix is {rt} and w_vector is {wt}; n by n and n numbers of one dtype are required",
                          fix="map over several updates with vmap")

    def rotate(w: Any, row: Any) -> tuple[Any, Any]:
        row, i = row
        here = ops.eq(_counting(wt.shape), i)
        x, y = (reduce_sum(ops.select_n(here, number(v, 0), v), axes=(0,)) for v in (row, w))
        still = ops.eq(y, number(y, 0))
        length = ops.sqrt(ops.add(ops.mul(x, x), ops.select_n(still, ops.mul(y, y), number(y, 1))))
        c = ops.select_n(still, ops.div(x, length), number(x, 1))
        s = ops.select_n(still, ops.div(y, length), number(y, 0))
        return (ops.sub(ops.mul(c, w), ops.mul(s, row)), ops.add(ops.mul(c, row), ops.mul(s, w)))

    return scan(rotate, w, (r, _counting(wt.shape)))[1]  # type: ignore[no-any-return]


def _check_real(x: Any) -> None:
    lapack.check_dtype(type_of(x))
    if dtypes.is_complex(type_of(x).dtype):
        raise errors.type_error(f"got {type_of(x)}, a float dtype is required", fix="pass the real part")


def lu(x: ArrayLike) -> list[Array]:
    """x[permutation] = L U, with unit lower triangular L and upper triangular U.

    The factors of a singular matrix have a zero on the diagonal of U; the derivative is not finite there.

    Args:
      x: float or complex[..., m, n]

    Returns:
      (L below the diagonal and U on and above it, of the type of x;
      row exchanges int32[..., min(m, n)]: row i was exchanged with row pivots[i];
      permutation int32[..., m])

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without two axes.

    Source: LAPACK xGETRF.

    Example:
      >>> [a.tolist() for a in lax.linalg.lu(jnp.array([[1., 2.], [2., 2.]]))]
      [[[2.0, 2.0], [0.5, 1.0]], [1, 1], [1, 0]]
    """
    a = _matrices(x)
    *stack, m, n = type_of(a).shape
    if not m * n:
        return [a, _zeros((*stack, min(m, n)), dtypes.int32), _counting((*stack, m))]
    return list(factor.lu(a))


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that row exchanges amount to.

    Args:
      pivots: int32[..., k]: first exchange 0 and pivots[0], then 1 and pivots[1], and so on.
      permutation_size: how many rows there are.

    Returns:
      int32[..., permutation_size]

    Raises:
      TypeError: for another dtype. ValueError: if there are more pivots than rows.

    Example:
      >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2]), 3).tolist()
      [2, 0, 1]
    """
    return factor.lu_pivots_to_permutation(value(pivots), rows=int(permutation_size))  # type: ignore[no-any-return]


def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """x = Q R, with orthonormal columns of Q and upper triangular R.

    The derivative is not finite where the first min(m, n) columns depend on each other.

    Args:
      x: float or complex[..., m, n]
      pivoting: exchange columns so that the diagonal of R decreases: x[:, order] = Q R.
      full_matrices: Q is square; else it has k = min(m, n) columns, and R as many rows.
      use_magma: for other platforms; not looked at.

    Returns:
      (Q[..., m, m or k], R[..., m or k, n]), with pivoting also the order int32[..., n]

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without two axes.

    Source: LAPACK xGEQRF, xGEQP3, xORGQR. Derivative: Walter and Lehmann (2018).

    Example:
      >>> q, r = lax.linalg.qr(jnp.array([[3., 0.], [4., 5.]]))
      >>> [[round(v, 5) for v in row] for row in r.tolist()]
      [[-5.0, -4.0], [0.0, 3.0]]
    """
    a = _matrices(x)
    t = type_of(a)
    *stack, m, n = t.shape
    if m * n:
        return tuple(bind(factor.qr, [a], dict(pivoting=bool(pivoting), full=bool(full_matrices))))
    k = m if full_matrices else 0
    q = matrix.identity(k, a) if full_matrices else _zeros((*stack, m, 0), t.dtype)
    return q, _zeros((*stack, k, n), t.dtype), *([_counting((*stack, n))] if pivoting else [])


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first n columns of a product of reflections 1 - tau v v^H. It has no derivative.

    Args:
      a: float or complex[..., m, n], m at least n: v is column i from below the diagonal on, with a 1 in front.
      taus: [..., k], of the dtype of a; k at most n.

    Returns:
      [..., m, n], with orthonormal columns for the vectors and taus that a QR or Hessenberg decomposition gives.

    Raises:
      TypeError, ValueError: if shapes or dtypes do not go together.

    Source: LAPACK xORGQR.

    Example:
      >>> lax.linalg.householder_product(jnp.eye(3), jnp.zeros(3))
      Array([[ 1.,  0.,  0.],
             [-0.,  1.,  0.],
             [-0., -0.,  1.]], dtype=float32)
    """
    x, t = value(a), value(taus)
    factor.householder_product.infer((type_of(x), type_of(t)), {})  # its errors also for no columns
    return factor.householder_product(x, t) if type_of(x).shape[-1] else x  # type: ignore[no-any-return]


def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """A matrix times the product Q of reflections, which is not formed. It has no derivative.

    Args:
      a: float or complex[..., m, k], taus: [..., k]: reflections as in householder_product.
      c: [..., m, n], or [..., n, m] if not `left`.
      left: Q c; else c Q.
      transpose: with Q^H in place of Q.

    Returns:
      [..., m, n], or [..., n, m] if not `left`

    Raises:
      TypeError, ValueError: if shapes or dtypes do not go together.

    Source: LAPACK xORMQR.

    Example:
      >>> lax.linalg.ormqr(jnp.eye(2), jnp.zeros(2), jnp.ones((2, 1)))
      Array([[1.],
             [1.]], dtype=float32)
    """
    xs = [value(x) for x in (a, taus, c)]
    params = dict(left=bool(left), transpose=bool(transpose))
    factor.ormqr.infer(tuple([type_of(x) for x in xs]), params)
    if not type_of(xs[0]).shape[-1] or not type_of(xs[2]).size:
        return xs[2]  # type: ignore[no-any-return]
    return factor.ormqr(*xs, **params)  # type: ignore[no-any-return]


def hessenberg(a: ArrayLike) -> list[Array]:
    """a = Q H Q^H, with zeros of H below the first subdiagonal. It has no derivative.

    Args:
      a: float or complex[..., n, n]

    Returns:
      (H on and above the first subdiagonal, below it the reflections of Q; their taus[..., n - 1])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xGEHRD.

    Example:
      >>> lax.linalg.hessenberg(jnp.eye(3))[0].shape
      (3, 3)
    """
    x = _matrices(a, square=True)
    t = type_of(x)
    if not t.shape[-1]:
        return [x, _zeros(t.shape[:-1], t.dtype)]
    return list(spectral.hessenberg(x))


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
    """a = Q T Q^H of a Hermitian matrix, with real tridiagonal T. It has no derivative.

    Args:
      a: float or complex[..., n, n], of which one triangle is read.
      lower: the lower triangle; else the upper one.

    Returns:
      (T, and in the rest of the triangle the reflections of Q; the diagonal of T float[..., n]; the one beside it
      float[..., n - 1]; the taus of the reflections [..., n - 1])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square, or empty.

    Source: LAPACK xSYTRD, xHETRD.

    Example:
      >>> lax.linalg.tridiagonal(jnp.diag(jnp.array([1.0, 2.0])))[1]
      Array([1., 2.], dtype=float32)
    """
    x = _matrices(a, square=True)
    if not type_of(x).shape[-1]:
        raise errors.value_error(f"got {type_of(x)}: empty matrices", fix="check for an empty array first")
    return list(spectral.tridiagonal(x, lower=bool(lower)))


# -- systems and products -----------------------------------------------------------------------------


def triangular_solve(a: ArrayLike, b: ArrayLike, *, left_side: bool = False, lower: bool = False,
                     transpose_a: bool = False, conjugate_a: bool = False, unit_diagonal: bool = False) -> Array:
    """The x with op(a) x = b, or with x op(a) = b.

    A zero on the diagonal gives infinities and NaN.

    Args:
      a: float or complex[..., n, n], of which one triangle is read.
      b: [..., n, k] of the dtype of a, or [..., k, n] if not `left_side`; or, beside its stack, a vector [..., n].
      left_side: op(a) stands left of x.
      lower: read the lower triangle; else the upper one.
      transpose_a, conjugate_a: what op does.
      unit_diagonal: the diagonal counts as ones, and is not read.

    Returns:
      The shape of b.

    Raises:
      TypeError: if dtypes or shapes do not go together. ValueError: if a is not square.

    Source: BLAS xTRSM.

    Example:
      >>> a, b = jnp.array([[2., 0.], [1., 4.]]), jnp.array([[2.], [9.]])
      >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True).tolist()
      [[1.0], [2.0]]
    """
    x, y = operands(a, b)
    dtype = type_of(y).dtype
    narrow = [dtypes.is_float(type_of(v).dtype) and type_of(v).dtype.itemsize < 4 for v in (x, y)]
    if all(narrow):
        x, y = (convert_element_type(v, dtype=dtypes.float32) for v in (x, y))
    shape = type_of(y).shape
    single = len(shape) == type_of(x).ndim - 1
    if single:
        y = reshape(y, shape=(*shape, 1) if left_side else (*shape[:-1], 1, *shape[-1:]))
    out = solve.triangular_solve(x, y, left=bool(left_side), lower=bool(lower), transpose=bool(transpose_a),
                                 conjugate=bool(conjugate_a), unit=bool(unit_diagonal))
    return retype(reshape(out, shape=shape) if single else out, dtype)  # type: ignore[no-any-return]


def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
                      ) -> Array:
    """The x with T x = b for tridiagonal matrices T.

    Args:
      dl: float or complex[..., n]: the diagonal below the main one; dl[0] is not read.
      d: [..., n]: the main diagonal.
      du: [..., n]: the one above it; du[-1] is not read.
      b: [..., n, k]
      perturb_singular: move pivots that are zero away from it by little, as inverse iteration wants it; else the
        result for a singular matrix is NaN.

    Returns:
      [..., n, k]

    Raises:
      TypeError: if dtypes or shapes do not go together.

    Source: LAPACK xGTSV; xLAGTS.

    Example:
      >>> ones = jnp.ones(3)
      >>> x = lax.linalg.tridiagonal_solve(ones, 2 * ones, ones, jnp.array([[3.], [4.], [3.]]))
      >>> [[round(v, 5) for v in row] for row in x.tolist()]
      [[1.0], [1.0], [1.0]]
    """
    primitive = solve.tridiagonal_solve_perturbed if perturb_singular else solve.tridiagonal_solve
    return primitive(*operands(dl, d, du, b))  # type: ignore[no-any-return]


def symmetric_product(a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False) -> Array:
    """alpha a a^T + beta c.

    Args:
      a_matrix: float[..., n, k]
      c_matrix: float[..., n, n]
      symmetrize_output: mirror the lower triangle; else what is above the diagonal should not be used.

    Returns:
      float[..., n, n]

    Raises:
      TypeError: for another dtype. ValueError: if shapes do not go together.

    Example:
      >>> lax.linalg.symmetric_product(jnp.array([[1.], [2.]]), jnp.eye(2), alpha=3., beta=1.).tolist()
      [[4.0, 6.0], [6.0, 13.0]]
    """
    a, c = operands(a_matrix, c_matrix)
    for x in (a, c):
        _check_real(x)
    at, ct = type_of(a), type_of(c)
    if at.ndim < 2 or ct.shape != (*at.shape[:-1], at.shape[-2]) or at.dtype != ct.dtype:
        raise errors.make(errors.OperandError,
                          f"a_matrix is {at} and c_matrix is {ct}; n by k and n by n numbers of one dtype are required",
                          fix="transpose a_matrix")
    out = ops.add(matrix.scaled(matrix.matmul(a, matrix.swapped(a)), alpha), matrix.scaled(c, beta))
    return ops.add(matrix.lower(out), matrix.swapped(matrix.lower(out, -1))) if symmetrize_output else out  # type: ignore[no-any-return]


# -- decompositions -----------------------------------------------------------------------------------


def _range(subset: tuple[int, int] | None, n: int) -> tuple[int, int]:
    """The first of the values asked for, and the one after the last."""
    if subset is None:
        return 0, n
    start, stop = subset
    if not 0 <= start <= stop <= n:
        raise errors.value_error(f"subset_by_index is {subset}: start and stop of a range in 0 ... {n} are required",
                                 fix="the second is the number after the last")
    return int(start), int(stop)


def _columns(x: Any, start: int, stop: int) -> Any:
    return matrix.block(x, 0, matrix.shape_of(x)[-2], start, stop)


def _values(x: Any, start: int, stop: int) -> Any:
    return matrix.vector(matrix.block(matrix.column(x), start, stop, 0, 1))


def eigh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None, implementation: EighImplementation | None = None
         ) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x v = v diag(w).

    Where eigenvalues coincide, the derivative of the vectors is NaN. That of the values is finite there, but is right
    only for a change of x that is diagonal in the returned vectors.

    Args:
      x: float or complex[..., n, n], Hermitian.
      lower: with symmetrize_input=False, the triangle that is read.
      symmetrize_input: take (x + x^H) / 2.
      sort_eigenvalues: they ascend in any case.
      subset_by_index: (start, stop) of the values to return, in their order; None: all.
      implementation: None or EighImplementation.QR.

    Returns:
      (vectors as columns, of the type of x; values float[..., n])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.
      NotImplementedError: for an implementation that CPUs do not have.

    Source: LAPACK xSYEVD, xHEEVD. Derivative: Giles, Collected matrix derivative results (2008).

    Example:
      >>> v, w = lax.linalg.eigh(jnp.array([[2., 1.], [1., 2.]]))
      >>> [round(value, 5) for value in w.tolist()]
      [1.0, 3.0]
    """
    if implementation not in (None, EighImplementation.QR):
        raise _not_on_cpu(f"implementation is {implementation}, which there is not on CPU", "leave it out")
    a = _matrices(x, square=True, floats=True)
    t = type_of(a)
    n = t.shape[-1]
    start, stop = _range(subset_by_index, n)
    if not n:
        return a, _zeros(t.shape[:-1], dtypes.to_real(t.dtype))
    v, w = spectral.eigh(a, lower=bool(lower), symmetrize=bool(symmetrize_input))
    return (v, w) if (start, stop) == (0, n) else (_columns(v, start, stop), _values(w, start, stop))


def eig(x: ArrayLike, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
        use_magma: bool | None = None) -> list[Array]:
    """Eigenvalues and eigenvectors of square matrices: x v = v diag(w), u^H x = diag(w) u^H.

    Vectors have length 1, and their largest component is real. Where eigenvalues coincide, derivatives are not finite.

    Args:
      x: float or complex[..., n, n]
      compute_left_eigenvectors, compute_right_eigenvectors: return u, v.
      enable_eigvec_derivs: let vectors be differentiated, as those with this length and phase. Their derivative means
        something where a result depends on neither; else it is an error.
      implementation: None or EigImplementation.LAPACK.
      use_magma: for other platforms; not looked at.

    Returns:
      [values complex[..., n], then u and v as columns complex[..., n, n] where asked for]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square, or for an implementation
        that CPUs do not have.

    Source: LAPACK xGEEV. Derivative: Boeddeker et al., On the computation of complex-valued gradients (2017).

    Example:
      >>> w, v = lax.linalg.eig(jnp.array([[0., -1.], [1., 0.]]), compute_left_eigenvectors=False)
      >>> w.tolist()
      [1j, -1j]
    """
    if implementation not in (None, EigImplementation.LAPACK):
        raise errors.value_error(f"implementation is {implementation}, which there is not on CPU", fix="leave it out")
    a = _matrices(x, square=True)
    params = dict(left=bool(compute_left_eigenvectors), right=bool(compute_right_eigenvectors),
                  derivatives=bool(enable_eigvec_derivs))
    if not type_of(a).shape[-1]:
        return [_zeros(t.shape, t.dtype) for t in spectral.eig.infer((type_of(a),), params)]
    return bind(spectral.eig, [a], params)


def schur(x: ArrayLike, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable[..., Any] | None = None) -> list[Array]:
    """x = Z T Z^H with unitary Z. It has no derivative.

    Args:
      x: float or complex[..., n, n]
      compute_schur_vectors: return Z too.
      sort_eig_vals, select_callable: LAPACK's sorting cannot be had: they must be left out.

    Returns:
      (T,) or (T, Z): T is upper triangular; of floats it is real, with a block of 2 by 2 on the diagonal for each
      pair of complex eigenvalues.

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.
      NotImplementedError: with sort_eig_vals.

    Source: LAPACK xGEES.

    Example:
      >>> lax.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0].shape
      (2, 2)
    """
    if sort_eig_vals or select_callable is not None:
        raise _not_on_cpu("sort_eig_vals is set: eigenvalues cannot be sorted", "leave sort_eig_vals and "
                          "select_callable out")
    a = _matrices(x, square=True)
    if not type_of(a).shape[-1]:
        return [a] * (1 + bool(compute_schur_vectors))
    return bind(spectral.schur, [a], dict(vectors=bool(compute_schur_vectors)))


def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None) -> Any:
    """x = U diag(s) V^H, with orthonormal columns of U and V and descending s >= 0.

    The derivative of U and V is NaN where singular values coincide, and not finite where one is 0 and the matrix is
    not square. Of values that coincide it is right for a change of x that is diagonal in U and V; of a value 0 it is
    that of a value that may turn negative.

    Args:
      x: float or complex[..., m, n]; k = min(m, n)
      full_matrices: U and V are square; then they have a derivative only if x is.
      compute_uv: return U and V too.
      subset_by_index: (start, stop) of the values to return, in their order, for full_matrices=False; None: all.
      algorithm: None, SvdAlgorithm.DEFAULT, DIVIDE_AND_CONQUER or QR.

    Returns:
      s float[..., k], or (U[..., m, m or k], s, V^H[..., n or k, n])

    Raises:
      TypeError: for a dtype that LAPACK lacks, or without two axes. ValueError: for a subset of full matrices.
      NotImplementedError: for an algorithm that CPUs do not have.

    Source: LAPACK xGESDD, xGESVD. Derivative: Giles, Collected matrix derivative results (2008).

    Example:
      >>> lax.linalg.svd(jnp.diag(jnp.array([3., 5.])), compute_uv=False).tolist()
      [5.0, 3.0]
    """
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise _not_on_cpu(f"algorithm is {algorithm}, which there is not on CPU", "leave it out")
    if subset_by_index is not None and full_matrices and compute_uv:
        raise errors.value_error("full_matrices and subset_by_index are both set", fix="pass full_matrices=False")
    a = _matrices(x)
    t = type_of(a)
    *stack, m, n = t.shape
    k = min(m, n)
    start, stop = _range(subset_by_index, k)
    if not k:
        u, vh = (matrix.identity(size if full_matrices else 0, a) for size in (m, n))
        s = _zeros((*stack, 0), dtypes.to_real(t.dtype))
        return (_zeros((*stack, m, 0), t.dtype) if not full_matrices else u, s,
                _zeros((*stack, 0, n), t.dtype) if not full_matrices else vh) if compute_uv else s
    found = bind(spectral.svd, [a], dict(vectors=bool(compute_uv), full=bool(full_matrices),
                                         driver="gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"))
    if (start, stop) != (0, k):
        found = ([_columns(found[0], start, stop), _values(found[1], start, stop),
                  matrix.block(found[2], start, stop, 0, n)] if compute_uv else [_values(found[0], start, stop)])
    return tuple(found) if compute_uv else found[0]


# -- for the namespaces above -------------------------------------------------------------------------


def solve_system(a: Any, b: Any) -> Any:
    """The x with a x = b for matrices [..., n, n] and [..., n, k] of one dtype and stack.

    The factorization is kept for derivatives: (a^-1)(db - da x).
    """
    factors, _, permutation = factorized(a)
    return solve.solve_factored(a, factors, permutation, b, transpose=False, conjugate=False)


def factorized(a: Any) -> tuple[Any, Any, Any]:
    """LU factors, exchanges and permutation of `a` that carry no derivative: they stand for `a` beside it."""
    return lu(stop_gradient(a))
