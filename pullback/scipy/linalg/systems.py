"""Linear systems, with SciPy's signatures. Arguments about overwriting and checking are not looked at."""

from __future__ import annotations

from typing import Any

from pullback import numpy as jnp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax import linalg as lax_linalg
from pullback.lax.control_flow import scan
from pullback.lax.elementwise import stop_gradient
from pullback.lax.implicit import custom_linear_solve
from pullback.numpy import linalg, promotion
from pullback.numpy.arguments import ArrayLike, array
from pullback.numpy.linalg.checks import check_square
from pullback.ops import matrix
from pullback.scipy.linalg.decompositions import cho_factor

__all__ = ["cho_solve", "det", "inv", "lu_solve", "solve", "solve_sylvester", "solve_triangular"]


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of matrices; see numpy.linalg.det.

    Args:
      a: number[..., n, n]

    Returns:
      float or complex[...]

    Example:
      >>> jsp.linalg.det(jnp.diag(jnp.array([2.0, 3.0]))).item()
      6.0
    """
    return linalg.det(a)  # type: ignore[no-any-return]


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of matrices; see numpy.linalg.inv.

    Args:
      a: number[..., n, n]

    Returns:
      float or complex[..., n, n]

    Example:
      >>> jsp.linalg.inv(jnp.diag(jnp.array([2.0, 4.0])))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    return linalg.inv(a)  # type: ignore[no-any-return]


def _right_side(a: ArrayLike, b: ArrayLike) -> tuple[Any, Any, bool]:
    """Matrices and right sides of one dtype and stack, b with columns, and whether it came without."""
    x, y = [array(v) for v in promotion.promoted_inexact(array(a), array(b))]
    check_square(x)
    n = x.type.shape[-1]
    single = y.type.ndim == 1
    if not y.type.ndim or y.type.shape[0 if single else -2] != n:
        raise errors.value_error(f"a is {x.type} and b is {y.type}: b of {n} rows, [{n}] or [..., {n}, k], is required",
                                 fix="check the axes of b")
    y = matrix.column(y) if single else y
    stack = promotion.broadcast_shapes([x.type.shape[:-2], y.type.shape[:-2]])
    x, y = (promotion.broadcast_to(v, (*stack, *v.type.shape[-2:])) for v in (x, y))
    return x, y, single


def solve(a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
          debug: bool = False, check_finite: bool = True, assume_a: str = "gen") -> Array:
    """The x with a x = b; see numpy.linalg.solve.

    Args:
      a: number[..., n, n]
      b: number[n], or [..., n, k]
      lower: with assume_a='pos', the triangle of a that is read.
      assume_a: 'pos' for positive definite matrices, solved by Cholesky's method; derivatives are those by all of a.
        'gen', 'sym', 'her' for others.

    Returns:
      float or complex[..., n] or [..., n, k]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if shapes do not go together, or for another assume_a.

    Example:
      >>> jax.scipy.linalg.solve(jnp.array([[4., 0.], [0., 1.]]), jnp.array([1., 1.]), assume_a="pos").tolist()
      [0.25, 1.0]
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise errors.value_error(f"assume_a is {assume_a!r}; 'gen', 'sym', 'her' or 'pos' is required",
                                 fix="leave it out")
    if assume_a != "pos":
        return linalg.solve(a, b)  # type: ignore[no-any-return]
    x, y, single = _right_side(a, b)
    factor = cho_factor(stop_gradient(x), lower)

    def solved(_: Any, right: Any) -> Any:
        return cho_solve(factor, right)

    def transposed(_: Any, right: Any) -> Any:
        return cho_solve(factor, right.conj()).conj()

    out = custom_linear_solve(lambda v: x @ v, y, solved, transposed)
    return matrix.vector(out) if single else out  # type: ignore[no-any-return]


def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False,
                     unit_diagonal: bool = False, overwrite_b: bool = False, debug: Any = None,
                     check_finite: bool = True) -> Array:
    """The x with a x = b, where only a triangle of a is read; a zero on the diagonal gives infinities and NaN.

    Args:
      a: number[..., n, n]
      b: number[n], or [..., n, k]
      trans: 0 or 'N': a itself; 1 or 'T': its transpose; 2 or 'C': its conjugate transpose.
      lower: read the lower triangle.
      unit_diagonal: the diagonal counts as ones, and is not read.

    Returns:
      float or complex[..., n] or [..., n, k]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if shapes do not go together, or for another trans.

    Example:
      >>> jax.scipy.linalg.solve_triangular(jnp.array([[2., 1.], [0., 4.]]), jnp.array([4., 8.])).tolist()
      [1.0, 2.0]
    """
    how = _operation(trans)
    x, y, single = _right_side(a, b)
    out = lax_linalg.triangular_solve(x, y, left_side=True, lower=lower, transpose_a=how > 0, conjugate_a=how == 2,
                                      unit_diagonal=unit_diagonal)
    return matrix.vector(out) if single else out  # type: ignore[no-any-return]


def _operation(trans: Any) -> int:
    how = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if how not in (0, 1, 2):
        raise errors.value_error(f"trans is {trans!r}; 0, 1, 2, 'N', 'T' or 'C' is required",
                                 fix="0: a itself, 1: its transpose, 2: its conjugate transpose")
    return int(how)


def cho_solve(c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
              ) -> Array:
    """The x with a x = b, from what cho_factor gives for a.

    Args:
      c_and_lower: (factor number[..., n, n], whether it is lower triangular)
      b: number[n], or [..., n, k]

    Returns:
      float or complex[..., n] or [..., n, k]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if shapes do not go together.

    Example:
      >>> c = jax.scipy.linalg.cho_factor(jnp.array([[4., 0.], [0., 1.]]))
      >>> jax.scipy.linalg.cho_solve(c, jnp.array([1., 1.])).tolist()
      [0.25, 1.0]
    """
    factor, lower = c_and_lower
    x, y, single = _right_side(factor, b)
    for adjoint in (not lower, bool(lower)):
        y = lax_linalg.triangular_solve(x, y, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint)
    return matrix.vector(y) if single else y  # type: ignore[no-any-return]


def lu_solve(lu_and_piv: tuple[Array, ArrayLike], b: ArrayLike, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Array:
    """The x with a x = b, from what lu_factor gives for a.

    Args:
      lu_and_piv: (factors number[..., n, n], row exchanges int32[..., n])
      b: number[n], or [..., n, k]
      trans: 0: a itself; 1: its transpose; 2: its conjugate transpose.

    Returns:
      float or complex[..., n] or [..., n, k]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if shapes do not go together, or for another trans.

    Example:
      >>> factors = jax.scipy.linalg.lu_factor(jnp.array([[0., 2.], [1., 0.]]))
      >>> jax.scipy.linalg.lu_solve(factors, jnp.array([2., 3.])).tolist()
      [3.0, 1.0]
    """
    how = _operation(trans)
    factors, pivots = lu_and_piv
    x, y, single = _right_side(factors, b)
    n = x.type.shape[-1]
    order = promotion.broadcast_to(lax_linalg.lu_pivots_to_permutation(pivots, n), x.type.shape[:-1])
    flags = dict(left_side=True, transpose_a=how > 0, conjugate_a=how == 2)
    steps = [dict(lower=True, unit_diagonal=True, **flags), dict(lower=False, **flags)]
    y = y if how else matrix.rows_at(y, order)
    for step in steps[::-1] if how else steps:
        y = lax_linalg.triangular_solve(x, y, **step)
    if how:
        y = matrix.rows_at(y, jnp.argsort(order, axis=-1))
    return matrix.vector(y) if single else y  # type: ignore[no-any-return]


def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The X with A X + X B = C.

    Args:
      A: number[m, m]
      B: number[n, n]
      C: number[m, n]
      method: 'schur': by the Schur forms of A and B, without derivative; 'eigen': by their eigenvectors.
      tol: where an eigenvalue of A and one of -B differ by less, or by no more than rounding, the result is NaN: it is
        not unique.

    Returns:
      float or complex[m, n]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another method, or if shapes do not go together.

    Source: Bartels and Stewart (1972).

    Example:
      >>> x = jax.scipy.linalg.solve_sylvester(2 * jnp.eye(2), jnp.eye(1), jnp.array([[3.], [6.]]))
      >>> [[round(v, 5) for v in row] for row in x.tolist()]
      [[1.0], [2.0]]
    """
    a, b, c = [array(v) for v in promotion.promoted_inexact(array(A), array(B), array(C))]
    for x in (a, b):
        check_square(x)
    if a.type.ndim != 2 or b.type.ndim != 2 or c.type.shape != (a.type.shape[0], b.type.shape[0]):
        raise errors.value_error(f"A is {a.type}, B is {b.type} and C is {c.type}; [m, m], [n, n] and [m, n] are "
                                 "required", fix="transpose C")
    if method not in ("schur", "eigen"):
        raise errors.value_error(f"method is {method!r}; 'schur' or 'eigen' is required", fix="leave it out")
    real = not dtypes.is_complex(c.type.dtype)
    a, b, c = (v.astype(jnp.result_type(v.dtype, jnp.complex64)) for v in (a, b, c))
    if method == "eigen":
        (wa, va), (wb, vb) = (lax_linalg.eig(v, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
                              for v in (a, b))
        y = jnp.linalg.solve(va, c @ vb) / (wa[:, None] + wb[None, :])
        x = jnp.linalg.solve(vb.T, (va @ y).T).T
    else:
        (ta, za), (tb, zb) = lax_linalg.schur(a), lax_linalg.schur(b)
        x = za @ _triangular_sylvester(ta, tb, za.conj().T @ c @ zb) @ zb.conj().T
        wa, wb = jnp.diagonal(ta), jnp.diagonal(tb)
    # Up to rounding, too, they count as equal.
    rounding = 10 * float(dtypes.finfo(dtypes.to_real(wa.dtype)).eps)
    least = jnp.maximum(tol, rounding * (jnp.max(jnp.abs(wa), initial=0) + jnp.max(jnp.abs(wb), initial=0)))
    x = jnp.where(jnp.any(jnp.abs(wa[:, None] + wb[None, :]) < least), jnp.nan, x)
    return x.real if real else x  # type: ignore[no-any-return]


def _triangular_sylvester(a: Any, b: Any, c: Any) -> Any:
    """The y with a y + y b = c of upper triangular a and b, column by column."""
    identity = jnp.eye(a.shape[0], dtype=a.dtype)

    def column(y: Any, j: Any) -> tuple[Any, None]:
        right = c[:, j] - y @ b[:, j]  # columns from j on are still zero
        found = solve_triangular(a + b[j, j] * identity, right)
        return y.at[:, j].set(found), None

    return scan(column, jnp.zeros_like(c), jnp.arange(b.shape[0]))[0]
