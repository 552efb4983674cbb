"""The polar decomposition of a matrix by iteration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.control_flow import while_loop
from pullback.lax.operand import retype
from pullback.ops import elementwise as ops
from pullback.ops import factor, lapack, matrix
from pullback.ops.elementwise import number
from pullback.ops.move import iota
from pullback.ops.reduce import reduce_max, reduce_sum

__all__ = ["qdwh"]

ArrayLike = Any


def qdwh(x: ArrayLike, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
         dynamic_shape: tuple[int, int] | None = None) -> tuple[Array, Array, Array, Array]:
    """The polar decomposition x = U H, by dynamically weighted Halley iterations.

    Args:
      x: float or complex[m, n], m at least n.
      is_hermitian: x is; then U is made Hermitian in each step.
      max_iterations: at most so many steps; None: 10.
      eps: to what relative accuracy; None: that of the dtype.
      dynamic_shape: (m, n) of the part of x to decompose, which may be traced; the rest counts as zeros.

    Returns:
      (U[m, n] with orthonormal columns, H[n, n] positive semidefinite, int32[] how many steps were made, bool[] whether
      they converged)

    Raises:
      TypeError: for a dtype that LAPACK lacks. ValueError: if m is less than n, or for more than two axes.

    Source: Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar decomposition
      (2010).

    Example:
      >>> u, h, _, converged = lax.linalg.qdwh(jnp.array([[0., -2.], [2., 0.]]))
      >>> [[abs(round(v, 4)) for v in row] for row in h.tolist()], bool(converged)
      ([[2.0, 0.0], [0.0, 2.0]], True)
    """
    a = value(x)
    t = type_of(a)
    lapack.check_matrices(t)
    if t.ndim != 2 or t.shape[0] < t.shape[1]:
        raise errors.value_error(f"got {t}; one matrix with at least as many rows as columns is required",
                                 fix="pass its conjugate transpose; map over several with vmap")
    real = dtypes.to_real(t.dtype)
    least = float(dtypes.finfo(real).eps) if eps is None else float(eps)
    limit = 10 if max_iterations is None else int(max_iterations)
    if dynamic_shape is not None:
        places = [iota(shape=t.shape, dtype=dtypes.int32, axis=i) for i in (0, 1)]
        for place, size in zip(places, dynamic_shape):
            a = ops.select_n(ops.lt(place, retype(value(size), dtypes.int32)), number(a, 0), a)
    # sqrt(|x|_1 |x|_inf) bounds the norm, so that singular values of u are in (0, 1].
    size = ops.abs(a)
    sums = [reduce_max(reduce_sum(size, axes=(axis,)), axes=(0,)) if t.size else np.ones((), real) for axis in (0, 1)]
    bound = ops.sqrt(ops.mul(*sums))
    bound = ops.select_n(ops.eq(bound, number(bound, 0)), bound, number(bound, 1))
    tolerance = 5 * least

    def unfinished(state: Any) -> Any:
        _, low, change, step = state
        open_ = ops.gt(ops.abs(ops.sub(number(low, 1), low)), number(low, tolerance))
        moving = ops.gt(change, number(change, tolerance ** (1 / 3)))
        return ops.min(ops.max(open_, moving), ops.lt(step, np.int32(limit)))

    def step(state: Any) -> Any:
        u, low, _, count = state
        new, low = _halley(u, low)
        new = matrix.symmetric(new) if is_hermitian else new
        moved = ops.abs(ops.sub(new, u))
        change = ops.sqrt(reduce_sum(ops.mul(moved, moved), axes=(0, 1)))
        return new, low, change, ops.add(count, np.int32(1))

    start = (ops.div(a, retype(bound, t.dtype)), number(bound, least), number(bound, math.inf), np.int32(0))
    u, low, change, steps = while_loop(unfinished, step, start)
    # A step of Newton and Schulz takes off what rounding has left.
    u = ops.sub(matrix.scaled(u, 1.5), matrix.scaled(matrix.chain(u, matrix.adjoint(u), u), 0.5))
    converged = ops.le(change, number(change, tolerance ** (1 / 3)))
    return u, matrix.symmetric(matrix.matmul(matrix.adjoint(u), a)), steps, converged


def _halley(u: Any, low: Any) -> tuple[Any, Any]:
    """A weighted step, for singular values from `low` to 1, and the least of them after it."""
    one, four = number(low, 1), number(low, 4)
    square = ops.mul(low, low)
    d = ops.cbrt(ops.div(ops.mul(four, ops.sub(ops.div(one, square), one)), square))
    root = ops.sqrt(ops.add(one, d))
    rest = ops.div(ops.mul(number(low, 8), ops.sub(number(low, 2), square)), ops.mul(square, root))
    a = ops.add(root, ops.div(ops.sqrt(ops.add(ops.sub(number(low, 8), ops.mul(four, d)), rest)), number(low, 2)))
    b = ops.div(ops.square(ops.sub(a, one)), four)
    c = ops.sub(ops.add(a, b), one)
    low = ops.min(one, ops.div(ops.mul(low, ops.add(a, ops.mul(b, square))), ops.add(one, ops.mul(c, square))))
    dtype, n = type_of(u).dtype, type_of(u).shape[1]
    ratio = ops.div(b, c)
    keep, gain = (retype(v, dtype) for v in (ratio, ops.div(ops.sub(a, ratio), ops.sqrt(c))))
    # By QR of [sqrt(c) u; 1], which is stable however large c is.
    stacked = matrix.below(ops.mul(u, retype(ops.sqrt(c), dtype)), matrix.identity(n, u))
    q = factor.qr(stacked, pivoting=False, full=False)[0]
    m = type_of(u).shape[0]
    product = matrix.matmul(matrix.block(q, 0, m, 0, n), matrix.adjoint(matrix.block(q, m, m + n, 0, n)))
    return ops.add(ops.mul(u, keep), ops.mul(product, gain)), low
