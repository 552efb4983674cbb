"""Zeros of polynomials, and polynomials through points."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.operand import retype
from pullback.numpy import linalg, promotion
from pullback.numpy.arguments import ArrayLike, array, integer, known, like, part
from pullback.numpy.polynomials import vander
from pullback.ops import elementwise, matrix, move, reduce
from pullback.ops.convert import convert_element_type
from pullback.ops.sort import sort, take_along

__all__ = ["polyfit", "roots"]


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial, in no order, as eigenvalues of its companion matrix.

    Where zeros coincide the derivative is not finite.

    Args:
      p: number[n]: the coefficients, highest power first.
      strip_zeros: leave leading coefficients 0 out, for which the numbers must be known. Else each of them makes a NaN
        at the end.

    Returns:
      complex[n - 1], less one for each leading 0 that is left out

    Raises:
      ValueError: if `p` has not one axis.

    Example:
      >>> sorted(jnp.roots(jnp.array([1., -3., 2.])).real.tolist())
      [1.0, 2.0]
    """
    x = promotion.inexact(array(p))
    x = retype(x, x.type.dtype)
    if x.type.ndim != 1:
        raise errors.value_error(f"p is {x.type}, one axis is required: the coefficients",
                                 fix="pass one polynomial, highest power first; map over several with vmap")
    out_dtype = np.result_type(x.type.dtype, np.complex64)
    if strip_zeros and x.type.size > 1:
        numbers = known(x, "the leading zeros of p depend on its numbers", "pass strip_zeros=False")
        places = np.flatnonzero(numbers != 0)
        x = part(x, 0, int(places[0]) if places.size else x.type.size, x.type.size)
    n = x.type.size - 1
    if n < 1:
        return move.broadcast_in_dim(out_dtype.type(0), shape=(0,), dims=())  # type: ignore[no-any-return]
    if strip_zeros:
        return linalg.eigvals(_companion(x))  # type: ignore[no-any-return]
    place = move.iota(shape=(n + 1,), dtype=dtypes.int32, axis=0)
    zero = elementwise.eq(x, like(x, 0))
    leading = reduce.reduce_min(elementwise.select_n(zero, place, np.int32(n + 1)), axes=(0,))
    turned = _at(x, elementwise.rem(elementwise.add(place, elementwise.min(leading, np.int32(n))), np.int32(n + 1)))
    found = linalg.eigvals(_companion(turned))
    # The zeros that the coefficients moved to the end add stand last, where they become NaN.
    is_zero = convert_element_type(elementwise.eq(found, like(found, 0)), dtype=dtypes.int32)
    first = part(place, 0, 0, n)
    ordered = _at(found, sort(is_zero, first, axis=0)[1])
    real = elementwise.lt(first, elementwise.sub(np.int32(n), leading))
    return elementwise.select_n(real, like(found, complex(np.nan, np.nan)), ordered)  # type: ignore[no-any-return]


def _at(x: Any, index: Any) -> Any:
    return take_along(x, index, 0)


def _companion(p: Any) -> Any:
    """The matrix whose characteristic polynomial is a multiple of p[n + 1]."""
    n = p.type.size - 1
    first = move.broadcast_in_dim(move.reshape(part(p, 0, 0, 1), shape=()), shape=(n,), dims=())
    top = elementwise.neg(elementwise.div(part(p, 0, 1, n + 1), first))
    row = move.reshape(top, shape=(1, n))
    if n == 1:
        return row
    return matrix.below(row, matrix.corner(matrix.identity(n, row), n - 1, n))


def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False,
            w: ArrayLike | None = None, cov: bool | str = False) -> Any:
    """The polynomial of a degree for which the sum of squared errors at given points is least.

    Args:
      x: real[m], m at least 1: where values are given.
      y: number[m] or [m, k]: the values, of k functions.
      deg: the degree, at least 0.
      rcond: see linalg.lstsq; None: m times the accuracy of the dtype.
      full: return what lstsq does, too.
      w: real[m]: factors of the errors before they are squared; None: 1.
      cov: return the covariance of the coefficients too, for errors of variance (sum of squares) / (m - deg - 1), or
        1 where it is 'unscaled'.

    Returns:
      coefficients [deg + 1] or [deg + 1, k], highest power first; with `full` (coefficients, sums of squares, rank,
      singular values, rcond); with `cov` (coefficients, [deg + 1, deg + 1] or [deg + 1, deg + 1, k])

    Raises:
      TypeError: for shapes that do not go together. ValueError: for a negative degree, or too few points for `cov`.

    Source: as numpy.polyfit: columns of powers brought to length 1, then least squares.

    Example:
      >>> [round(c, 4) for c in jnp.polyfit(jnp.array([0., 1., 2.]), jnp.array([1., 3., 5.]), 1).tolist()]
      [2.0, 1.0]
    """
    order = integer(deg, "deg") + 1
    at, values = (array(promotion.inexact(array(v))) for v in (x, y))
    if order < 1:
        raise errors.value_error(f"deg is {order - 1}, at least 0 is required", fix="0 fits a constant")
    if at.type.ndim != 1 or not at.type.size:
        raise errors.type_error(f"x is {at.type}, one axis with at least 1 element is required", fix="pass a vector")
    m = at.type.size
    if values.type.ndim not in (1, 2) or values.type.shape[0] != m:
        raise errors.type_error(f"x is {at.type} and y is {values.type}: [{m}] or [{m}, k] is required",
                                fix="transpose y, or reshape it to two axes")
    powers, right = vander(at, order), values
    if w is not None:
        weights = array(promotion.inexact(array(w)))
        if weights.type.shape != (m,):
            raise errors.type_error(f"x is {at.type} and w is {weights.type}: [{m}] is required",
                                    fix="give a weight for each point")
        column = matrix.column(weights)
        powers = elementwise.mul(*promotion.elementwise(powers, column))
        right = elementwise.mul(*promotion.elementwise(right, weights if right.type.ndim == 1 else column))
    real = dtypes.to_real(powers.type.dtype)
    limit = m * float(dtypes.finfo(real).eps) if rcond is None else rcond
    squares = elementwise.square(elementwise.abs(powers))
    scale = elementwise.sqrt(reduce.reduce_sum(squares, axes=(0,)))
    scaled = elementwise.div(powers, matrix.as_rows(scale, powers))
    found, residual, rank, s = linalg.lstsq(scaled, right, limit)
    whole = retype(scale, found.type.dtype) if right.type.ndim == 1 else matrix.as_columns(scale, found)
    coefficients = elementwise.div(found, whole)
    if full:
        return coefficients, residual, rank, s, array(limit)
    if not cov:
        return coefficients
    base = linalg.inv(matrix.matmul(matrix.swapped(scaled), scaled))
    base = elementwise.div(base, elementwise.mul(matrix.as_rows(scale, base), matrix.as_columns(scale, base)))
    if isinstance(cov, str) and cov == "unscaled":
        return coefficients, base if right.type.ndim == 1 else move.reshape(base, shape=(order, order, 1))
    if m <= order:
        raise errors.value_error(f"got {m} points for {order} coefficients; more points are required to estimate their "
                                 "variance", fix="pass cov='unscaled', or cov=False")
    variance = elementwise.div(residual, like(residual, m - order))
    if right.type.ndim == 1:
        variance = move.reshape(variance, shape=())
        return coefficients, elementwise.mul(base, retype(variance, base.type.dtype))
    k = variance.type.size
    spread = [move.broadcast_in_dim(v, shape=(order, order, k), dims=dims) for v, dims in (
        (base, (0, 1)), (retype(variance, base.type.dtype), (2,)))]
    return coefficients, elementwise.mul(*spread)
