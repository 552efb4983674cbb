"""Krylov methods for linear equations: cg, bicgstab, gmres. Differentiated by the equation, not through the iteration.

Every method sees one flat vector; pytrees are flattened on the way in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback import lax
from pullback import numpy as jnp
from pullback.api.inspect import eval_shape
from pullback.core import errors, tree
from pullback.core.array import Array
from pullback.flatten_util import ravel_pytree

__all__ = ["bicgstab", "cg", "gmres"]

Map = Callable[[Any], Any]


def _operator(a: Any, op: str) -> Map:
    """A linear map, from a function or a square matrix."""
    if isinstance(a, (Array, np.ndarray)):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise errors.value_error(f"linear operator must be a square matrix, but has shape: {a.shape}", op=op)
        matrix = jnp.asarray(a)
        return lambda x: matrix @ x
    if callable(a):
        return a
    raise errors.type_error(f"linear operator must be either a function or ndarray: {a!r:.60}", op=op,
                            fix="pass a function x -> A x, or a matrix as an array")


def _solve(op: str, A: Any, b: Any, x0: Any, M: Any, maxiter: int | None, symmetric: bool,
           iterate: Callable[..., Any]) -> Any:
    """Sets the problem up on flat vectors; `iterate` (A, M, b, x0, maxiter) -> x does the work."""
    multiply, precondition = _operator(A, op), None if M is None else _operator(M, op)
    if x0 is None:
        x0 = tree.map(jnp.zeros_like, b)
    if tree.structure(x0) != tree.structure(b):
        raise errors.value_error(f"x0 and b must have matching tree structure: {tree.structure(x0)} vs "
                                 f"{tree.structure(b)}", op=op)
    shapes = [[jnp.shape(leaf) for leaf in tree.leaves(t)] for t in (x0, b)]
    if shapes[0] != shapes[1]:
        raise errors.value_error(f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}", op=op)
    images = tree.leaves(eval_shape(multiply, b))
    dtype = jnp.result_type(float, *tree.leaves(b), *[i.dtype for i in images])
    b = tree.map(lambda leaf: jnp.asarray(leaf).astype(jnp.promote_types(jnp.result_type(leaf, float), dtype)), b)
    rhs, unravel = ravel_pytree(b)
    start = ravel_pytree(x0)[0].astype(rhs.dtype)
    limit = 10 * rhs.size if maxiter is None else maxiter

    def flat(function: Map) -> Map:
        return lambda v: ravel_pytree(function(unravel(v)))[0]

    def solver(matvec: Map, v: Any) -> Any:
        return iterate(matvec, (lambda r: r) if precondition is None else flat(precondition), v, start, limit)

    real = not jnp.iscomplexobj(rhs)  # the transpose of a Hermitian map is another one
    return unravel(lax.custom_linear_solve(flat(multiply), rhs, solver, solver, symmetric and real))


def _dot(x: Any, y: Any) -> Any:
    return jnp.vdot(x, y)


def _square(x: Any) -> Any:
    return jnp.vdot(x, x).real


def cg(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None,
       M: Any = None) -> tuple[Any, None]:
    """Solves A x = b by conjugate gradients, for a Hermitian positive definite A.

    Args:
      A: matrix [n, n], or a function x -> A x on arrays or pytrees of the structure of b.
      b: array or pytree of arrays.
      x0: where to start; None: zero.
      tol, atol: stop when ||b - A x|| <= max(tol ||b||, atol).
      maxiter: the largest number of iterations; None: ten times the number of unknowns.
      M: preconditioner, an approximate inverse of A; a matrix or a function.

    Returns:
      (x, None). Derivatives are those of the exact solution, each by another run of the method.

    Raises:
      TypeError: A is neither a matrix nor a function. ValueError: the matrix is not square, x0 does not match b.

    Source: M. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems (1952).

    Example:
      >>> x, _ = cg(jnp.array([[4.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> print(jnp.round(11 * x, 3))
      [1. 7.]
    """
    def iterate(A: Map, M: Map, b: Any, x0: Any, limit: int) -> Any:
        least = jnp.maximum(tol ** 2 * _square(b), atol ** 2)

        def running(state: Any) -> Any:
            _, r, _, _, k = state
            return (_square(r) > least) & (k < limit)

        def step(state: Any) -> Any:
            x, r, p, gamma, k = state
            image = A(p)
            alpha = (gamma / _dot(p, image).real).astype(b.dtype)
            r = r - alpha * image
            z = M(r)
            following = _dot(r, z).real
            return x + alpha * p, r, z + (following / gamma).astype(b.dtype) * p, following, k + 1

        r = b - A(x0)
        z = M(r)
        return lax.while_loop(running, step, (x0, r, z, _dot(r, z).real, 0))[0]

    return _solve("cg", A, b, x0, M, maxiter, True, iterate), None


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, maxiter: int | None = None,
             M: Any = None) -> tuple[Any, None]:
    """Solves A x = b by the stabilised bi-conjugate gradient method, for any A.

    Args, returns and errors as of `cg`. Where the method breaks down (a product in a denominator is zero) it stops with
    what it has.

    Source: H. van der Vorst, Bi-CGSTAB (1992).

    Example:
      >>> x, _ = bicgstab(jnp.array([[4.0, 1.0], [2.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> print(jnp.round(10 * x, 3))
      [1. 6.]
    """
    def iterate(A: Map, M: Map, b: Any, x0: Any, limit: int) -> Any:
        least = jnp.maximum(tol ** 2 * _square(b), atol ** 2)

        def running(state: Any) -> Any:
            _, r, *_, k = state
            return (_square(r) > least) & (k < limit) & (k >= 0)

        def step(state: Any) -> Any:
            x, r, shadow, alpha, omega, rho, p, q, k = state
            rho_next = _dot(shadow, r)
            p = r + rho_next / rho * alpha / omega * (p - omega * q)
            p_hat = M(p)
            q = A(p_hat)
            alpha = rho_next / _dot(shadow, q)
            s = r - alpha * q
            done = _square(s) < least
            s_hat = M(s)
            t = A(s_hat)
            omega = _dot(t, s) / _dot(t, t)
            x = x + alpha * p_hat + jnp.where(done, 0, omega * s_hat)
            r = jnp.where(done, s, s - omega * t)
            broken = (rho_next == 0) | ~done & ((omega == 0) | (alpha == 0))
            return x, r, shadow, alpha, omega, rho_next, p, q, jnp.where(broken, -1, k + 1)

        r = b - A(x0)
        one = jnp.ones((), b.dtype)
        zero = jnp.zeros_like(r)
        return lax.while_loop(running, step, (x0, r, r, one, one, one, zero, zero, 0))[0]

    return _solve("bicgstab", A, b, x0, M, maxiter, False, iterate), None


def gmres(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-05, atol: float = 0.0, restart: int = 20,
          maxiter: int | None = None, M: Any = None, solve_method: str = "batched") -> tuple[Any, Any]:
    """Solves A x = b by the generalised minimal residual method with restarts, for any A.

    Args:
      A, b, x0, tol, atol, M: as of `cg`; with a preconditioner, the residual is that of M A x = M b.
      restart: the size of the Krylov space; memory is that many vectors.
      maxiter: the largest number of restarts; None: ten times the number of unknowns.
      solve_method: 'incremental' looks at the residual after each vector, 'batched' once a restart.

    Returns:
      (x, 0).

    Raises:
      As `cg`; ValueError for another solve_method.

    Source: Y. Saad and M. Schultz, GMRES (1986), with Givens rotations; every vector is orthogonalised twice.

    Example:
      >>> x, _ = gmres(jnp.array([[4.0, 1.0], [2.0, 3.0]]), jnp.array([1.0, 2.0]))
      >>> print(jnp.round(10 * x, 3))
      [1. 6.]
    """
    if solve_method not in ("batched", "incremental"):
        raise errors.value_error(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'",
                                 op="gmres")

    def iterate(A: Map, M: Map, b: Any, x0: Any, limit: int) -> Any:
        size = max(min(restart, b.size), 1)
        norm = jnp.sqrt(_square(b))
        scaled = jnp.sqrt(_square(M(b)))
        least = scaled * jnp.minimum(1.0, jnp.maximum(tol * norm, atol) / jnp.where(norm == 0, 1, norm))

        def once(x: Any, r: Any, length: Any) -> Any:
            basis = jnp.zeros((size + 1, b.size), b.dtype).at[0].set(r / jnp.where(length == 0, 1, length))
            first = jnp.zeros(size + 1, b.dtype).at[0].set(length)
            state = (basis, jnp.zeros((size, size), b.dtype), jnp.ones(size, b.dtype), jnp.zeros(size, b.dtype), first,
                     length > 0, 0)
            basis, triangle, _, _, rhs, _, _ = lax.while_loop(
                lambda s: (s[6] < size) & s[5] & ((solve_method == "batched") | (jnp.abs(s[4][s[6]]) > least)),
                lambda s: _arnoldi(A, M, *s), state)
            x = x + _back_substitute(triangle, rhs[:size]) @ basis[:size]
            r = M(b - A(x))
            return x, r, jnp.sqrt(_square(r))

        r = M(b - A(x0))
        return lax.while_loop(lambda s: (s[2] > least) & (s[3] < limit), lambda s: (*once(*s[:3]), s[3] + 1),
                              (x0, r, jnp.sqrt(_square(r)), 0))[0]

    x = _solve("gmres", A, b, x0, M, maxiter, False, iterate)
    return x, jnp.asarray(0)


def _arnoldi(A: Map, M: Map, basis: Any, triangle: Any, cosines: Any, sines: Any, rhs: Any, _: Any, k: Any) -> Any:
    """One more vector of the Krylov space, and one more column of the triangle that the rotations make of it."""
    w = M(A(basis[k]))
    before = jnp.sqrt(_square(w))
    column = jnp.conj(basis) @ w
    w = w - column @ basis
    again = jnp.conj(basis) @ w
    w = w - again @ basis
    column = column + again
    length = jnp.sqrt(_square(w))
    goes_on = length > jnp.finfo(w.dtype).eps * before
    length = jnp.where(goes_on, length, 0)
    basis = basis.at[k + 1].set(jnp.where(goes_on, w / jnp.where(goes_on, length, 1), 0))

    def rotate(j: Any, h: Any) -> Any:
        c, s, a, b = cosines[j], sines[j], h[j], h[j + 1]
        return h.at[j].set(jnp.conj(c) * a + s * b).at[j + 1].set(c * b - s * a)

    column = lax.fori_loop(0, k, rotate, column.at[k + 1].set(length.astype(column.dtype)))
    radius = jnp.sqrt(jnp.abs(column[k]) ** 2 + length ** 2)
    safe = jnp.where(radius == 0, 1, radius)
    c = jnp.where(radius == 0, 1, column[k] / safe)
    s = (length / safe).astype(column.dtype)
    rhs = rhs.at[k + 1].set(-s * rhs[k]).at[k].set(jnp.conj(c) * rhs[k])
    triangle = triangle.at[:, k].set(jnp.where(jnp.arange(len(cosines)) < k, column[:-1], 0)
                                     ).at[k, k].set(radius.astype(column.dtype))
    return basis, triangle, cosines.at[k].set(c), sines.at[k].set(s), rhs, goes_on, k + 1


def _back_substitute(triangle: Any, rhs: Any) -> Any:
    """The solution of an upper triangular system; zero where the diagonal is."""
    size = len(rhs)

    def row(i: Any, y: Any) -> Any:
        j = size - 1 - i
        pivot = triangle[j, j]
        value = (rhs[j] - triangle[j] @ y) / jnp.where(pivot == 0, 1, pivot)
        return y.at[j].set(jnp.where(pivot == 0, 0, value))
    return lax.fori_loop(0, size, row, jnp.zeros_like(rhs))


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.sparse.linalg.{name}")
