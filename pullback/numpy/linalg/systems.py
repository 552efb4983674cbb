"""Linear systems, inverses, determinants, least squares."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.lax import linalg as lax_linalg
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, known, like
from pullback.numpy.linalg.checks import check_matrices, check_square, inexact, strong
from pullback.ops import elementwise, matrix, move, reduce, spectral
from pullback.ops import solve as ops
from pullback.ops.convert import convert_element_type, stop_gradient

__all__ = ["det", "inv", "lstsq", "pinv", "slogdet", "solve", "tensorinv", "tensorsolve"]


class SlogdetResult(NamedTuple):
    """What slogdet returns."""

    sign: Array
    logabsdet: Array


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The x with a x = b.

    Infinities and NaN for a singular matrix. Derivatives use the factorization again: a^-1 (db - da x).

    Args:
      a: number[..., n, n]
      b: number[n], or [..., n, k]; the axes before broadcast.

    Returns:
      float or complex[..., n] or [..., n, k]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if a is not square, or b has not n rows.

    Source: LAPACK xGETRF, BLAS xTRSM.

    Example:
      >>> jnp.linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([1., 1.])).tolist()
      [0.5, 0.25]
    """
    x, y = [array(v) for v in promotion.promoted_inexact(array(a), array(b))]
    check_square(x)
    n = x.type.shape[-1]
    rows = y.type.shape[0 if y.type.ndim == 1 else -2] if y.type.ndim else None
    if rows != n:
        hint = "add an axis: a stack of vectors is solved as solve(a, b[..., None])[..., 0]" if (
            y.type.ndim > 1 and y.type.shape[-1] == n) else "check the axes of b"
        raise errors.value_error(f"a is {x.type} and b is {y.type}: b of {n} rows, [{n}] or [..., {n}, k], is required",
                                 fix=hint)
    if y.type.ndim == 1:
        return matrix.vector(_solved(x, matrix.column(y)))  # type: ignore[no-any-return]
    return _solved(x, y)  # type: ignore[no-any-return]


def _solved(a: Any, b: Any) -> Any:
    """As solve, for matrices b."""
    *stack, n, k = b.type.shape
    if a.type.ndim == 2 and stack:
        # One matrix for all: one factorization, and all as columns of one right side.
        count = len(stack)
        wide = move.reshape(move.transpose(b, perm=(count, *range(count), count + 1)), shape=(n, math.prod(stack) * k))
        x = move.reshape(lax_linalg.solve_system(a, wide), shape=(n, *stack, k))
        return move.transpose(x, perm=(*range(1, count + 1), 0, count + 1))
    whole = promotion.broadcast_shapes([a.type.shape[:-2], tuple(stack)])
    factors, _, permutation = lax_linalg.factorized(a)
    operands = [promotion.broadcast_to(x, (*whole, *x.type.shape[-2:])) for x in (a, factors)]
    return ops.solve_factored(*operands, promotion.broadcast_to(permutation, (*whole, n)),
                              promotion.broadcast_to(b, (*whole, n, k)), transpose=False, conjugate=False)


def inv(a: ArrayLike) -> Array:
    """The inverses of matrices; infinities and NaN for a singular one.

    To solve a system, `solve` is faster and more accurate.

    Args:
      a: number[..., n, n]

    Returns:
      float or complex[..., n, n]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Example:
      >>> jnp.linalg.inv(jnp.array([[2., 0.], [0., 4.]])).tolist()
      [[0.5, 0.0], [0.0, 0.25]]
    """
    x = inexact(a)
    check_square(x)
    return lax_linalg.solve_system(x, matrix.identity(x.type.shape[-1], x))  # type: ignore[no-any-return]


# -- determinants -------------------------------------------------------------------------------------


def _computable(a: ArrayLike) -> tuple[Any, Any]:
    """Square matrices in a dtype that LAPACK has, and the dtype of results."""
    x = strong(a)
    check_square(x)
    dtype = x.type.dtype
    narrow = dtypes.is_float(dtype) and dtype.itemsize < 4
    return (convert_element_type(x, dtype=dtypes.float32) if narrow else x), dtype


def det(a: ArrayLike) -> Array:
    """The determinants of matrices; 1 of one without elements.

    First and second derivatives are those of the polynomial, also where a matrix is singular. From 4 rows on, third
    ones are inaccurate or NaN where it is singular and has singular values that are equal or nearly so.

    Args:
      a: number[..., n, n]

    Returns:
      float or complex[...]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if the matrices are not square.

    Source: LAPACK xGETRF; up to 3 rows the sum of products. Derivative: Jacobi's formula, by the adjugate.

    Example:
      >>> float(jnp.linalg.det(jnp.array([[1., 2.], [3., 4.]])))
      -2.0
    """
    x, dtype = _computable(a)
    n = x.type.shape[-1]
    out = _written_out(x, n) if n <= 3 else ops.determinant(x, *lax_linalg.factorized(x))
    return retype(out, dtype)  # type: ignore[no-any-return]


def _written_out(x: Any, n: int) -> Any:
    stack = x.type.shape[:-2]

    def at(i: int, j: int) -> Any:
        return move.reshape(matrix.block(x, i, i + 1, j, j + 1), shape=stack)

    def minor(i: int, j: int) -> Any:
        return elementwise.sub(elementwise.mul(at(1, i), at(2, j)), elementwise.mul(at(1, j), at(2, i)))

    if n == 0:
        return move.broadcast_in_dim(like(x, 1), shape=stack, dims=())
    if n == 1:
        return at(0, 0)
    if n == 2:
        return elementwise.sub(elementwise.mul(at(0, 0), at(1, 1)), elementwise.mul(at(0, 1), at(1, 0)))
    first, second, third = (elementwise.mul(at(0, i), minor(*rest)) for i, rest in enumerate([(1, 2), (2, 0), (0, 1)]))
    return elementwise.add(elementwise.add(first, second), third)


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their magnitudes, which do not overflow.

    0 and -inf for a singular matrix, where the derivative is not finite.

    Args:
      a: number[..., n, n]
      method: 'lu' or None; or 'qr', which is slower.

    Returns:
      SlogdetResult(sign[...], of complex matrices a complex number of magnitude 1; logabsdet float[...])

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: for another method, or if the matrices are not square.

    Example:
      >>> [float(x) for x in jnp.linalg.slogdet(jnp.array([[0., 1.], [1., 0.]]))]
      [-1.0, 0.0]
    """
    if method not in (None, "lu", "qr"):
        raise errors.value_error(f"method is {method!r}; None, 'lu' or 'qr' is required", fix="leave it out")
    x, dtype = _computable(a)
    n, stack = x.type.shape[-1], x.type.shape[:-2]
    if not n:
        sign, logarithm = (move.broadcast_in_dim(x.type.dtype.type(v), shape=stack, dims=()) for v in (1, 0))
        logarithm = matrix.real_part(logarithm)
    elif method == "qr":
        q, r = lax_linalg.qr(x)
        diagonal, axes = matrix.diagonal(r), (len(stack),)
        turn = ops.determinant(q, *lax_linalg.factorized(q))
        turn = turn if dtypes.is_complex(dtype) else elementwise.sign(stop_gradient(turn))
        sign = elementwise.mul(turn, reduce.reduce_prod(elementwise.sign(diagonal), axes=axes))
        logarithm = reduce.reduce_sum(elementwise.log(elementwise.abs(diagonal)), axes=axes)
    else:
        sign, logarithm = ops.log_determinant(x, *lax_linalg.factorized(x))
    return SlogdetResult(retype(sign, dtype), retype(logarithm, dtypes.to_real(dtype)))


# -- least squares ------------------------------------------------------------------------------------


def _accuracy(x: Any, factor: float) -> float:
    return factor * max(x.type.shape[-2:]) * float(dtypes.finfo(dtypes.to_real(x.type.dtype)).eps)


def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None
         ) -> Array:
    """The pseudo-inverses of matrices.

    The derivative is that for matrices of constant rank; it is finite where singular values coincide.

    Args:
      a: number[..., m, n]
      rtol: singular values up to so many times the largest count as 0; None: 10 max(m, n) times the accuracy of the
        dtype. It has no derivative.
      hermitian: the matrices are.
      rcond: another name of rtol.

    Returns:
      float or complex[..., n, m]

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if rtol and rcond are given, or without matrices.

    Source: LAPACK xGESDD; derivative: Golub and Pereyra (1973).

    Example:
      >>> jnp.linalg.pinv(jnp.array([[2., 0.], [0., 0.]])).tolist()
      [[0.5, 0.0], [0.0, 0.0]]
    """
    if rtol is not None and rcond is not None:
        raise errors.value_error("rtol and rcond are both given", fix="pass one of them")
    x = strong(a)
    (check_square if hermitian else check_matrices)(x)
    *stack, m, n = x.type.shape
    if not m * n:
        return matrix.zeros(n, m, x)  # type: ignore[no-any-return]
    given = rcond if rtol is None else rtol
    limit = array(_accuracy(x, 10) if given is None else given)
    limit = promotion.broadcast_to(retype(stop_gradient(limit), dtypes.to_real(x.type.dtype)), tuple(stack))
    return spectral.pseudo_inverse(x, limit, hermitian=bool(hermitian))  # type: ignore[no-any-return]


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
          ) -> tuple[Array, Array, Array, Array]:
    """The x of least length among those for which the length of a x - b is least.

    The derivative is NaN where singular values coincide.

    Args:
      a: number[m, n]
      b: number[m] or [m, k]
      rcond: singular values below so many times the largest count as 0; None: max(m, n) times the accuracy of the
        dtype; negative: that accuracy.
      numpy_resid: no sums of squares where NumPy has none, that is where the rank is less than n or m is not above n;
        the numbers of a must be known then.

    Returns:
      (x[n] or [n, k]; sums of squares float[1] or [k] of a x - b; the rank int[]; singular values float[min(m, n)])

    Raises:
      TypeError: if b has more than two axes. ValueError: if a is no matrix, or b has not m rows.

    Source: LAPACK xGESDD.

    Example:
      >>> x, *_ = jnp.linalg.lstsq(jnp.array([[1.], [1.]]), jnp.array([1., 3.]))
      >>> [round(v, 5) for v in x.tolist()]
      [2.0]
    """
    x, y = [array(v) for v in promotion.promoted_inexact(array(a), array(b))]
    x, y = strong(x), strong(y)
    if x.type.ndim != 2:
        raise errors.make(errors.OperandError, f"a is {x.type}, one matrix is required",
                          fix="map over several with vmap")
    if y.type.ndim not in (1, 2):
        raise errors.make(errors.OperandError, f"b is {y.type}, a vector or a matrix is required",
                          fix="reshape it to two axes")
    (m, n), single = x.type.shape, y.type.ndim == 1
    if y.type.shape[0] != m:
        raise errors.value_error(f"a is {x.type} and b is {y.type}: {m} rows of b are required", fix="transpose one")
    right = matrix.column(y) if single else y
    real = dtypes.to_real(x.type.dtype)
    if not m * n:
        s, rank = matrix.diagonal(matrix.real_part(matrix.zeros(min(m, n), min(m, n), x))), 0
        count = array(dtypes.canonicalize(int).type(0))
        solution = matrix.zeros(n, right.type.shape[1], x)
    else:
        u, s, vh = lax_linalg.svd(x, full_matrices=False)
        eps = float(dtypes.finfo(real).eps)
        limit = eps * max(m, n) if rcond is None else rcond
        limit = array(eps if isinstance(limit, (int, float)) and limit < 0 else limit)
        largest = move.broadcast_in_dim(reduce.reduce_max(s, axes=(0,)), shape=s.type.shape, dims=())
        kept = elementwise.ge(s, elementwise.mul(promotion.broadcast_to(retype(limit, real), s.type.shape), largest))
        kept = TABLE["and"](kept, elementwise.gt(s, like(s, 0)))
        inverse = spectral.inverse_where(kept, s)
        count = reduce.reduce_sum(convert_element_type(kept, dtype=dtypes.canonicalize(int)), axes=(0,))
        inner = matrix.matmul(matrix.adjoint(u), right)
        solution = matrix.matmul(matrix.adjoint(vh), elementwise.mul(inner, matrix.as_columns(inverse, inner)))
        rank = int(known(count, "numpy_resid=True needs the rank", "leave numpy_resid out")) if numpy_resid else n
    if numpy_resid and (rank < n or m <= n):
        residual = move.broadcast_in_dim(real.type(0), shape=(0,), dims=())
    else:
        rest = elementwise.abs(elementwise.sub(right, matrix.matmul(x, solution)))
        residual = reduce.reduce_sum(elementwise.mul(rest, rest), axes=(0,))
    return matrix.vector(solution) if single else solution, residual, count, s


# -- tensors as matrices ------------------------------------------------------------------------------


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of a tensor as a map: tensordot(tensorinv(a, ind), a, ind) is the identity.

    Args:
      a: number[*to, *of]: the product of the sizes is the same for the first `ind` axes and for the others.
      ind: how many axes make up `to`, at least 1.

    Returns:
      float or complex[*of, *to]

    Raises:
      ValueError: for an ind below 1, or if the products differ.

    Example:
      >>> jnp.linalg.tensorinv(2 * jnp.eye(4).reshape(4, 2, 2), ind=1).shape
      (2, 2, 4)
    """
    count = operator.index(ind)
    x = inexact(a)
    if count < 1:
        raise errors.value_error(f"ind is {count}, at least 1 is required", fix="ind counts the first axes of a")
    to, of = x.type.shape[:count], x.type.shape[count:]
    n = math.prod(to)
    if n != math.prod(of):
        raise errors.value_error(f"got {x.type} with ind {count}: sizes {to} and {of} have the products {n} and "
                                 f"{math.prod(of)}, equal ones are required", fix="check ind")
    return move.reshape(inv(move.reshape(x, shape=(n, n))), shape=(*of, *to))  # type: ignore[no-any-return]


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b.

    Args:
      a: number[*rows, *shape], where rows has the product of sizes of shape; number of axes of rows: that of b.
      b: number[...], of as many elements as rows says.
      axes: axes of a to move to its end first.

    Returns:
      float or complex[*shape]

    Raises:
      ValueError: if sizes do not go together.

    Example:
      >>> jnp.linalg.tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2))).tolist()
      [0.5, 0.5, 0.5, 0.5]
    """
    x, y = [array(v) for v in promotion.promoted_inexact(array(a), array(b))]
    if axes is not None:
        ndim = x.type.ndim
        last = [errors.check_axis(axis, ndim) for axis in axes]
        x = move.transpose(x, perm=(*[i for i in range(ndim) if i not in last], *last))
    rows, shape = x.type.shape[: y.type.ndim], x.type.shape[y.type.ndim:]
    n = math.prod(shape)
    if math.prod(rows) != n or y.type.size != n:
        raise errors.value_error(f"a is {x.type} and b is {y.type}: the first {y.type.ndim} axes of a, its others and "
                                 "b must have as many elements", fix="check axes, and the shape of b")
    out = solve(move.reshape(x, shape=(n, n)), move.reshape(y, shape=(n,)))
    return move.reshape(out, shape=shape)  # type: ignore[no-any-return]
