"""Functions of matrices: exponential, square root, and any other that is given for scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback import numpy as jnp
from pullback.api.ad import jvp
from pullback.api.batch import vmap
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.control_flow import cond, scan
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array
from pullback.numpy.linalg.checks import check_square, inexact
from pullback.ops import lapack
from pullback.scipy.linalg.decompositions import schur
from pullback.scipy.linalg.systems import solve_triangular

__all__ = ["expm", "expm_frechet", "funm", "sqrtm"]

# Order of the Pade approximant, and up to which 1-norm it is exact to rounding (Higham, table 2.3).
_PADE = {4: (7, 3.925724783138660), 8: (13, 5.371920351148152)}


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponentials of matrices: sums of A^k / k!.

    NaN for matrices of too large a 1-norm: from about 8 * 2^max_squarings on.

    Args:
      A: number[..., n, n]
      upper_triangular: A is.
      max_squarings: how often a result may be squared, but for once more.

    Returns:
      float or complex[..., n, n]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: Higham, The scaling and squaring method for the matrix exponential revisited (2005).

    Example:
      >>> jax.scipy.linalg.expm(jnp.array([[0., 2.], [0., 0.]])).tolist()
      [[1.0, 2.0], [0.0, 1.0]]
    """
    x = inexact(A)
    check_square(x)
    lapack.check_dtype(x.type)
    *stack, n = x.type.shape[:-1]
    if not x.type.size:
        return x  # type: ignore[no-any-return]
    if stack:
        rows = vmap(lambda a: _expm(a, upper_triangular, max_squarings))(x.reshape(-1, n, n))
        return rows.reshape(x.shape)  # type: ignore[no-any-return]
    return _expm(x, upper_triangular, max_squarings)  # type: ignore[no-any-return]


def _expm(a: Any, triangular: bool, most: int) -> Any:
    n, real = a.shape[0], dtypes.to_real(a.type.dtype)
    order, limit = _PADE[real.itemsize]
    size = jnp.max(jnp.sum(jnp.abs(a), axis=0))
    excess = jnp.log2(size / limit)
    count = jnp.maximum(0, jnp.ceil(excess))  # of a zero matrix: -inf
    a = a * jnp.exp2(-count).astype(real)
    # Numerator and denominator are even + odd and even - odd.
    weights = [math.comb(order, k) / math.perm(2 * order, k) for k in range(order + 1)]
    square, power = a @ a, jnp.eye(n, dtype=a.dtype)
    even: Any = 0
    odd: Any = 0
    for k in range(0, order + 1, 2):
        even = even + weights[k] * power
        odd = odd + weights[k + 1] * power
        power = power @ square if k + 2 <= order else power
    odd = a @ odd
    result = (solve_triangular(even - odd, even + odd) if triangular else jnp.linalg.solve(even - odd, even + odd))

    def step(x: Any, i: Any) -> tuple[Any, None]:
        return cond(i < count, lambda y: y @ y, lambda y: y, x), None

    result = scan(step, result, jnp.arange(most + 1))[0]
    return jnp.where(jnp.floor(excess) > most, jnp.nan, result)


def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """The exponential of a matrix, and its derivative in a direction.

    Args:
      A: number[n, n]
      E: number[n, n]: the direction.
      method: not looked at: it is the derivative of what expm does.
      compute_expm: return the exponential too.

    Returns:
      (expm(A), derivative), or the derivative

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if they are not square, or differ in shape.

    Example:
      >>> a = jnp.zeros((2, 2))
      >>> jax.scipy.linalg.expm_frechet(a, jnp.eye(2), compute_expm=False).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    x, y = [array(v) for v in promotion.promoted_inexact(array(A), array(E))]
    check_square(x)
    if x.type.ndim != 2 or y.type.shape != x.type.shape:
        raise errors.value_error(f"A is {x.type} and E is {y.type}; square matrices of one shape are required",
                                 fix="map over several with vmap")
    out, dot = jvp(expm, (x,), (y,))
    return (out, dot) if compute_expm else dot


def _columns(t: Any, column: Callable[[Any, Any, Any], Any]) -> Any:
    """An upper triangular matrix made from its diagonal on, column(so far, j, rows above j) at a time."""
    n = t.shape[0]
    place = jnp.arange(n)

    def step(f: Any, j: Any) -> tuple[Any, None]:
        above = place < j
        return f + jnp.where(above[:, None] & (place == j)[None, :], column(f, j, above)[:, None], 0), None

    return lambda start: scan(step, start, jnp.arange(n))[0]


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The square root of a matrix whose eigenvalues have no negative real part. It has no derivative.

    Args:
      A: number[n, n]
      blocksize: 1

    Returns:
      complex[n, n]; infinities or NaN where a singular matrix has no root

    Raises:
      ValueError: if it is no square matrix. NotImplementedError: for another blocksize.

    Source: Bjorck and Hammarling, A Schur method for the square root of a matrix (1983).

    Example:
      >>> jax.scipy.linalg.sqrtm(jnp.array([[4., 0.], [0., 9.]])).real.tolist()
      [[2.0, 0.0], [0.0, 3.0]]
    """
    if blocksize > 1:
        raise errors.make(NotImplementedError, f"blocksize is {blocksize}, 1 is required", fix="leave it out")
    t, z = _complex_schur(A)
    root = jnp.sqrt(jnp.diagonal(t))
    identity = jnp.eye(t.shape[0], dtype=t.dtype)

    def column(r: Any, j: Any, above: Any) -> Any:
        # (R + r_jj) r_j = t_j above row j; below, the identity.
        left, right = jnp.where(above[:, None], r + root[j] * identity, identity), jnp.where(above, t[:, j], 0)
        return jnp.where(jnp.any(right != 0), solve_triangular(left, right), 0)  # also where `left` is singular

    r = _columns(t, column)(jnp.diag(root))
    return z @ r @ z.conj().T  # type: ignore[no-any-return]


def _complex_schur(A: ArrayLike) -> tuple[Any, Any]:
    x = inexact(A)
    check_square(x)
    if x.type.ndim != 2:
        raise errors.value_error(f"got {x.type}, one matrix is required", fix="map over several with vmap")
    if dtypes.is_float(x.type.dtype) and x.type.dtype.itemsize < 4:
        x = x.astype(jnp.float32)
    t, z = schur(x, output="complex")
    return t, z


def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """A function of a matrix, from one of numbers. It has no derivative.

    Inaccurate where eigenvalues are close to each other.

    Args:
      A: float or complex[n, n]
      func: complex[n] -> complex[n], the function of each number.
      disp: return the result alone; else an estimate of its relative error too.

    Returns:
      complex[n, n], or (complex[n, n], float[])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if it is no square matrix.

    Source: Golub and Van Loan, Matrix Computations, algorithm 9.1.1 (Parlett).

    Example:
      >>> jax.scipy.linalg.funm(jnp.array([[1., 1.], [0., 3.]]), lambda x: x * x).real.tolist()
      [[1.0, 4.0], [0.0, 9.0]]
    """
    t, z = _complex_schur(A)
    n, d = t.shape[0], jnp.diagonal(t)
    values = func(d).astype(t.dtype)
    gaps = d[:, None] - d[None, :]

    def column(f: Any, j: Any, above: Any) -> Any:
        # (T - t_jj) f_j = F t_j - f_jj t_j above row j; a gap of 0 counts as 1.
        left = jnp.where(above[:, None], t - d[j] * jnp.eye(n), jnp.eye(n))
        left = jnp.where(jnp.eye(n) * (jnp.diagonal(left) == 0) > 0, 1, left)
        t_j = jnp.where(above, t[:, j], 0)
        return solve_triangular(left, jnp.where(above, f @ t_j - values[j] * t_j, 0))

    f = _columns(t, column)(jnp.diag(values))
    out = z @ f @ z.conj().T
    if disp:
        return out
    eps = dtypes.finfo(dtypes.to_real(t.type.dtype)).eps
    off = ~jnp.eye(n, dtype=bool)
    least = jnp.min(jnp.where(off, jnp.abs(gaps), jnp.inf), initial=jnp.inf)
    least = jnp.where(least == 0, eps, least)
    size = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), axis=0), initial=0)
    error = jnp.clip(eps / least * size, eps, 1).astype(dtypes.to_real(t.type.dtype))
    return out, jnp.where(jnp.all(jnp.isfinite(out)), error, jnp.inf)
