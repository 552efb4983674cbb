"""Polynomials as vectors of coefficients, that of the highest power first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.lax.control_flow import scan
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array, integer, known, like, part
from pullback.numpy.linalg.decompositions import eigvals
from pullback.numpy.samples import convolve
from pullback.ops import elementwise, move

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval", "vander"]

_FLAT = 64  # up to so many coefficients are written out, more make a loop


def _strong(x: Any) -> Any:
    return retype(x, x.type.dtype)


def _vector(p: ArrayLike, name: str) -> Any:
    """Coefficients of a polynomial."""
    x = array(p)
    if x.type.ndim != 1:
        raise errors.value_error(f"{name} is {x.type}, one axis is required: the coefficients",
                                 fix="pass one polynomial, highest power first; map over several with vmap")
    return x


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The values of a polynomial.

    Args:
      p: any[n, ...]: the coefficients, highest power first; further axes broadcast to `x`.
      x: any[...]: where it is evaluated.
      unroll: of a long polynomial, how many steps of the loop are written out.

    Returns:
      any[...]; zeros if there are no coefficients

    Raises:
      ValueError: if `p` has no axis.

    Example:
      >>> jnp.polyval(jnp.array([1, 2, 3]), 2).item()
      11
    """
    coefficients, at = [_strong(array(v)) for v in promotion.promoted(p, x)]
    if not coefficients.type.ndim:
        raise errors.value_error(f"p is {coefficients.type}, a scalar; a vector of coefficients is required",
                                 fix="pass jnp.array([p]) for a constant")
    n, *rest = coefficients.type.shape
    shape = promotion.broadcast_shapes([tuple(rest), at.type.shape])
    at = promotion.broadcast_to(at, shape)
    first = promotion.broadcast_to(array(like(at, 0)), shape)

    def step(value: Any, c: Any) -> tuple[Any, None]:
        if dtypes.is_bool(at.type.dtype):
            return TABLE["or"](TABLE["and"](value, at), promotion.broadcast_to(c, shape)), None
        return elementwise.add(elementwise.mul(value, at), promotion.broadcast_to(c, shape)), None

    if n > _FLAT:
        return scan(step, first, coefficients, unroll=unroll)[0]  # type: ignore[no-any-return]
    rows = [move.reshape(part(coefficients, 0, i, i + 1), shape=tuple(rest)) for i in range(n)]
    value = promotion.broadcast_to(rows[0], shape) if rows else first
    for row in rows[1:]:
        value, _ = step(value, row)
    return value  # type: ignore[no-any-return]


def _padded(x: Any, n: int) -> Any:
    """The polynomial with coefficients 0 in front, up to `n` of them."""
    missing = n - x.type.size
    return move.pad(x, like(x, 0), config=((missing, 0, 0),)) if missing else x


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    Args:
      a1: number[m]
      a2: number[n]

    Returns:
      number[max(m, n)]

    Example:
      >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3]))
      Array([1, 5], dtype=int32)
    """
    x, y = [_vector(v, name) for v, name in zip(promotion.promoted(a1, a2), ("a1", "a2"))]
    n = max(x.type.size, y.type.size)
    return elementwise.add(_padded(x, n), _padded(y, n))  # type: ignore[no-any-return]


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials; as polyadd.

    Example:
      >>> jnp.polysub(jnp.array([1, 2]), jnp.array([3]))
      Array([ 1, -1], dtype=int32)
    """
    x, y = [_vector(v, name) for v, name in zip(promotion.promoted(a1, a2), ("a1", "a2"))]
    n = max(x.type.size, y.type.size)
    return elementwise.sub(_padded(x, n), _padded(y, n))  # type: ignore[no-any-return]


def _trimmed(x: Any, use: str) -> Any:
    """Without leading coefficients 0, for which the numbers must be known."""
    numbers = known(x, use, "leave trim_leading_zeros out inside transformations")
    start = int(np.argmax(numbers != 0)) if np.any(numbers != 0) else x.type.size
    return part(x, 0, start, x.type.size)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Args:
      a1: number[m]
      a2: number[n]
      trim_leading_zeros: drop coefficients 0 in front of the operands, whose numbers must be known then.

    Returns:
      float or complex[m + n - 1]

    Raises:
      ValueError: if an operand has not one axis.

    Example:
      >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    factors = [_vector(v, name) for v, name in zip(promotion.promoted_inexact(a1, a2), ("a1", "a2"))]
    if trim_leading_zeros:
        factors = [_trimmed(v, "trim_leading_zeros") for v in factors]
    # No coefficients are the polynomial 0.
    return convolve(*[v if v.type.size else _padded(v, 1) for v in factors])


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
      u: number[m], the dividend
      v: number[n], the divisor, whose first coefficient is not 0
      trim_leading_zeros: drop coefficients 0 in front of the remainder, whose numbers must be known then.

    Returns:
      (quotient float or complex[max(m - n + 1, 1)], remainder[m])

    Raises:
      ValueError: if an operand has not one axis, or the divisor no coefficient.

    Example:
      >>> jnp.polydiv(jnp.array([1.0, 0.0, -1.0]), jnp.array([1.0, 1.0]))[0]
      Array([ 1., -1.], dtype=float32)
    """
    rest, divisor = [_vector(p, name) for p, name in zip(promotion.promoted_inexact(u, v), ("u", "v"))]
    m, n = rest.type.size, divisor.type.size
    if not n:
        raise errors.value_error(f"v is {divisor.type}, at least one coefficient is required", fix="check the divisor")
    if m < n:
        return _padded(part(_strong(rest), 0, 0, 0), 1), rest
    first = move.reshape(part(divisor, 0, 0, 1), shape=())
    quotient = []
    for i in range(m - n + 1):
        q = elementwise.div(move.reshape(part(rest, 0, i, i + 1), shape=()), first)
        quotient.append(move.reshape(_strong(q), shape=(1,)))
        rest = elementwise.sub(rest, move.pad(elementwise.mul(q, divisor), like(rest, 0), config=((i, m - n - i, 0),)))
    out = move.concatenate(*quotient, axis=0) if len(quotient) > 1 else quotient[0]
    return out, _trimmed(rest, "trim_leading_zeros") if trim_leading_zeros else rest


def _order(m: Any) -> int:
    order = integer(m, "m")
    if order < 0:
        raise errors.value_error(f"m is {order}, at least 0 is required", fix="polyint is the inverse of polyder")
    return order


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of a polynomial.

    Args:
      p: number[n]
      m: which derivative, at least 0.

    Returns:
      float or complex[max(n - m, 0)]

    Example:
      >>> jnp.polyder(jnp.array([1, 2, 3]))
      Array([2., 2.], dtype=float32)
    """
    x, order = _strong(promotion.inexact(_vector(p, "p"))), _order(m)
    n = x.type.size
    if order == 0:
        return x  # type: ignore[no-any-return]
    factors = [math.perm(n - 1 - i, order) for i in range(n - order)]
    return elementwise.mul(part(x, 0, 0, max(n - order, 0)), _constants(factors, x))  # type: ignore[no-any-return]


def _constants(numbers: list[Any], x: Any) -> Any:
    return retype(array(np.asarray(numbers, np.float32 if x.type.dtype.itemsize < 8 else np.float64)), x.type.dtype)


def polyint(p: ArrayLike, m: int = 1, k: int | ArrayLike | None = None) -> Array:
    """The integral of a polynomial.

    Args:
      p: number[n]
      m: how often it is integrated, at least 0.
      k: the constants of integration, one for each time or one for all; None: 0.

    Returns:
      float or complex[n + m]

    Raises:
      ValueError: if there are neither 1 nor m constants.

    Example:
      >>> jnp.polyint(jnp.array([2.0, 1.0]))
      Array([1., 1., 0.], dtype=float32)
    """
    order = _order(m)
    x, constants = promotion.promoted_inexact(_vector(p, "p"), 0 if k is None else k)
    x, constants = _strong(x), _strong(array(constants))
    if constants.type.ndim > 1 or constants.type.size not in (1, order):
        raise errors.value_error(f"k is {constants.type}; a scalar or {order} constants are required",
                                 fix="give one for each time the polynomial is integrated")
    if order == 0:
        return x  # type: ignore[no-any-return]
    n = x.type.size + order
    constants = promotion.broadcast_to(constants, (order,))
    # Coefficient i of the result stands for the power j = n - 1 - i: divide by j (j - 1) ..., as often as the term
    # it comes from has been integrated.
    powers = [n - 1 - i for i in range(n)]
    factors = [math.perm(j, min(order, j)) for j in powers]
    return elementwise.div(move.concatenate(x, constants, axis=0),
                           _constants(factors, x))  # type: ignore[no-any-return]


def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with these zeros and a first coefficient of 1, or the characteristic one of a matrix.

    Args:
      seq_of_zeros: number[n], or a matrix number[n, n], whose eigenvalues are the zeros.

    Returns:
      float or complex[n + 1], of a matrix complex; for no zeros the scalar 1

    Raises:
      ValueError: for a matrix that is empty or not square.

    Example:
      >>> jnp.poly(jnp.array([1.0, 2.0]))
      Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros = _strong(promotion.inexact(array(seq_of_zeros)))
    if zeros.type.ndim == 0:
        zeros = move.reshape(zeros, shape=(1,))
    if zeros.type.ndim == 2:
        if not zeros.type.size:
            raise errors.value_error(f"got {zeros.type}, which has no elements", fix="pass its eigenvalues")
        zeros = eigvals(zeros)
    zeros = _vector(zeros, "seq_of_zeros")
    out = array(zeros.type.dtype.type(1))
    if zeros.type.size:
        out = move.reshape(out, shape=(1,))
    for i in range(zeros.type.size):
        z = move.reshape(part(zeros, 0, i, i + 1), shape=())
        shifted = move.pad(elementwise.mul(z, out), like(out, 0), config=((1, 0, 0),))
        out = elementwise.sub(move.pad(out, like(out, 0), config=((0, 1, 0),)), shifted)
    return out  # type: ignore[no-any-return]


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix: powers of the elements of a vector, a row for each.

    Args:
      x: any[n]
      N: how many powers; None: n.
      increasing: from power 0 upwards; else down to power 0.

    Returns:
      any[n, N]

    Raises:
      ValueError: if `x` has not one axis, or `N` is negative.

    Example:
      >>> jnp.vander(jnp.array([2, 3]), 3)
      Array([[4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    value = _vector(x, "x")
    count = value.type.size if N is None else integer(N, "N")
    if count < 0:
        raise errors.value_error(f"N is {count}, at least 0 is required", fix="leave it out for a square matrix")
    if not count:
        return move.broadcast_in_dim(like(value, 0), shape=(value.type.size, 0), dims=())  # type: ignore[no-any-return]
    power = _strong(promotion.broadcast_to(array(like(value, 1)), value.type.shape))
    columns = []
    for _ in range(count):
        columns.append(move.reshape(power, shape=(value.type.size, 1)))
        power = elementwise.mul(power, value) if len(columns) < count else power
    return move.concatenate(*columns[::1 if increasing else -1], axis=1)  # type: ignore[no-any-return]
