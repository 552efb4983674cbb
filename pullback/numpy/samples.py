"""Functions of sampled data: convolution and correlation, covariance, interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.types import is_scalar
from pullback.lax.contract import PrecisionLike
from pullback.lax.conv import conv_general_dilated
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, is_known, like, part, picked, requested
from pullback.numpy.contract import conjugated, contracted, diagonal_of, total
from pullback.numpy.elementwise import clip, remainder
from pullback.numpy.sorting import searchsorted
from pullback.ops import elementwise, move
from pullback.ops.sort import sort

__all__ = ["convolve", "corrcoef", "correlate", "cov", "interp"]


# -- convolution --------------------------------------------------------------------------------------


def _samples(a: ArrayLike, v: ArrayLike, mode: Any) -> list[Any]:
    """Two vectors of numbers that are not empty, in their common inexact dtype."""
    x, y = [array(side) for side in promotion.promoted_inexact(a, v)]
    for side, t in (("the first operand", x.type), ("the second operand", y.type)):
        if t.ndim != 1 or not t.size:
            raise errors.value_error(f"{side} is {t}; one axis, of at least one element, is required",
                                     fix="flatten it with ravel, or map over the other axes with vmap")
    if mode not in ("full", "same", "valid"):
        raise errors.value_error(f"mode is {mode!r}; 'full', 'same' or 'valid' is required",
                                 fix="'same' gives as many elements as the longer operand has")
    return [x, y]


def _slid(x: Any, y: Any, mode: str, precision: PrecisionLike, dtype: DTypeLike | None) -> Any:
    """Sums of products of `x` with `y` moved along it; `y` is not longer than `x`."""
    n = y.type.size
    pads = {"full": (n - 1, n - 1), "same": (n // 2, (n - 1) // 2), "valid": (0, 0)}[mode]
    x, y = (move.reshape(v, shape=(1, 1, v.type.size)) for v in (x, y))
    out = conv_general_dilated(x, y, (1,), (pads,), precision=precision, preferred_element_type=dtype)
    return move.reshape(out, shape=(out.type.size,))


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: PrecisionLike = None,
             preferred_element_type: DTypeLike | None = None) -> Array:
    """The convolution: element k is the sum of a[i] * v[k - i].

    Args:
      a: number[m]
      v: number[n]
      mode: 'full': all m + n - 1 elements; 'same': as many of them as the longer operand has, from the middle;
        'valid': those in whose sum the shorter operand takes part as a whole.
      precision, preferred_element_type: as in lax.dot_general.

    Raises:
      ValueError: for operands that are no vectors or are empty, or another mode.

    Example:
      >>> jnp.convolve(jnp.array([1, 2]), jnp.array([1, 1]))
      Array([1., 3., 2.], dtype=float32)
    """
    x, y = _samples(a, v, mode)
    if x.type.size < y.type.size:
        x, y = y, x
    return _slid(x, move.rev(y, axes=(0,)), mode, precision,
                 preferred_element_type)  # type: ignore[no-any-return]


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: PrecisionLike = None,
              preferred_element_type: DTypeLike | None = None) -> Array:
    """The correlation: element k is the sum of a[i + k] * v[i], with v conjugated if complex.

    Args:
      a: number[m]
      v: number[n]
      mode: 'full', 'same' or 'valid', see `convolve`.
      precision, preferred_element_type: as in lax.dot_general.

    Raises:
      ValueError: for operands that are no vectors or are empty, or another mode.

    Example:
      >>> jnp.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1]))
      Array([2., 3.], dtype=float32)
    """
    x, y = _samples(a, v, mode)
    y = conjugated(y)
    if x.type.size >= y.type.size:
        return _slid(x, y, mode, precision, preferred_element_type)  # type: ignore[no-any-return]
    return move.rev(_slid(y, x, mode, precision, preferred_element_type),
                    axes=(0,))  # type: ignore[no-any-return]


# -- covariance ---------------------------------------------------------------------------------------


def _observations(m: ArrayLike, y: ArrayLike | None, rowvar: bool, dtype: DTypeLike | None) -> Any:
    """A row for each variable, a column for each observation."""
    wanted = requested(dtype, "cov")
    if wanted is not None and not dtypes.is_inexact(wanted):
        raise errors.value_error(f"dtype is {dtypes.short_name(wanted)}, a float or complex dtype is required",
                                 fix="convert the result with astype")
    parts = [array(v) for v in promotion.promoted_inexact(*[m, y][:1 if y is None else 2])]
    rows = []
    for name, x in zip(("m", "y"), parts):
        if x.type.ndim > 2:
            raise errors.value_error(f"{name} is {x.type}, at most 2 axes are allowed",
                                     fix="give one axis for the variables and one for the observations")
        x = retype(x, wanted or x.type.dtype)
        if x.type.ndim < 2:
            x = move.reshape(x, shape=(1, x.type.size))
        elif not rowvar:
            x = move.transpose(x, perm=(1, 0))
        rows.append(x)
    if len(rows) == 2 and rows[0].type.shape[1] != rows[1].type.shape[1]:
        raise errors.value_error(f"m has {rows[0].type.shape[1]} observations, y has {rows[1].type.shape[1]}; the same "
                                 "number is required",
                                 fix="rowvar says which axis is that of the observations: True the last")
    return rows[0] if len(rows) == 1 else move.concatenate(*rows, axis=0)


def _weights(weights: ArrayLike | None, count: int, name: str) -> Any:
    if weights is None:
        return None
    w = array(weights)
    if name == "fweights" and not dtypes.is_integer(w.type.dtype):
        raise errors.type_error(f"fweights are {w.type}, integers are required: how often an observation counts",
                                fix="pass aweights for weights that are no counts")
    if w.type.shape != (count,):
        raise errors.value_error(f"{name} are {w.type}; the shape ({count},) is required, one for each observation",
                                 fix="give one weight for each observation")
    return w


def cov(m: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, bias: bool = False,
        ddof: int | None = None,
        fweights: ArrayLike | None = None, aweights: ArrayLike | None = None,
        dtype: DTypeLike | None = None) -> Array:
    """The covariances of variables.

    Args:
      m: number[variables, observations] or number[observations]
      y: further variables, likewise.
      rowvar: False: observations along the first axis, variables along the second.
      bias: divide by the number of observations n rather than by n - 1.
      ddof: divide by n - ddof; goes before `bias`.
      fweights: int[observations]: how often each counts.
      aweights: float[observations]: how much each counts.
      dtype: a float or complex dtype, of the computation and the result.

    Returns:
      float[variables, variables], or float[] of a single variable. NaN or infinite where n is not larger than ddof.

    Raises:
      ValueError: for more than two axes, unequal numbers of observations, or other numbers of weights.

    Example:
      >>> jnp.cov(jnp.array([1.0, 3.0])).item()
      2.0
    """
    x = _observations(m, y, rowvar, dtype)
    lost = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(lost, (int, float, np.number)):
        raise errors.type_error(f"ddof is {ddof!r}, a number is required", fix="pass ddof=0 or ddof=1")
    variables, count = x.type.shape
    real = dtypes.to_real(x.type.dtype)
    counts, importance = _weights(fweights, count, "fweights"), _weights(aweights, count, "aweights")
    w = None
    if counts is not None:
        w = retype(counts, real)
    if importance is not None:
        importance = retype(importance, real)
        w = importance if w is None else elementwise.mul(w, importance)
    if w is None:
        weighted, sum_of_weights = x, real.type(count)
        divisor: Any = real.type(max(count - lost, 0))
    else:
        weighted, sum_of_weights = _times(x, w), total(w, (0,))
        divisor = _divisor(w, importance, sum_of_weights, real.type(lost))
    mean = elementwise.div(total(weighted, (1,)), retype(sum_of_weights, x.type.dtype))
    centered = elementwise.sub(x, move.broadcast_in_dim(mean, shape=x.type.shape, dims=(0,)))
    weighted = centered if w is None else _times(centered, w)
    products = contracted(centered, conjugated(weighted), (((1,), (1,)), ((), ())), None, None)
    result = elementwise.div(products, retype(divisor, x.type.dtype))
    return move.reshape(result, shape=()) if variables == 1 else result  # type: ignore[no-any-return]


def _times(x: Any, w: Any) -> Any:
    """Rows of `x` times the weights."""
    w = retype(w, x.type.dtype)
    return elementwise.mul(x, move.broadcast_in_dim(w, shape=x.type.shape, dims=(1,)))


def _divisor(w: Any, importance: Any, sum_of_weights: Any, lost: Any) -> Any:
    """What the sum of weighted squares is divided by: 0 where it would be negative."""
    part_lost = lost
    if importance is not None:
        part_lost = elementwise.div(elementwise.mul(lost, total(elementwise.mul(w, importance), (0,))),
                                    sum_of_weights)
    left = elementwise.sub(sum_of_weights, part_lost)
    return elementwise.max(left, like(left, 0))


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True,
             dtype: DTypeLike | None = None) -> Array:
    """The correlation coefficients of variables: covariances over the products of standard deviations.

    Args:
      x, y, rowvar, dtype: as in `cov`.

    Returns:
      float[variables, variables], from -1 to 1; of a single variable float[]. NaN of a variable that is constant.

    Example:
      >>> jnp.corrcoef(jnp.array([1.0, 2.0]), jnp.array([3.0, 1.0])).round(3)
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.type.shape:
        return elementwise.div(c, c)  # type: ignore[no-any-return]
    variance = diagonal_of(c, 0, 1)
    if dtypes.is_complex(c.type.dtype):
        variance = elementwise.real(variance)
    deviation = retype(elementwise.sqrt(variance), c.type.dtype)
    for axis in (0, 1):
        c = elementwise.div(c, move.broadcast_in_dim(deviation, shape=c.type.shape, dims=(axis,)))
    if not dtypes.is_complex(c.type.dtype):
        return clip(c, -1, 1)
    return elementwise.complex(*[clip(component(c), -1,
                                      1) for component in (elementwise.real, elementwise.imag)])


# -- interpolation ------------------------------------------------------------------------------------


def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike | str | None = None,
           right: ArrayLike | str | None = None, period: ArrayLike | None = None) -> Array:
    """The values at `x` of the function that is linear between the points (xp, fp).

    Args:
      x: real[...]
      xp: real[n], increasing; nothing checks that.
      fp: number[n]
      left, right: the values below xp[0] and above xp[-1]; None: fp[0] and fp[-1]; 'extrapolate': those of the
        first and the last piece continued.
      period: the period of a periodic function; xp need not be sorted then, and left and right are not looked at.

    Returns:
      float or complex[...], of the shape of `x`

    Raises:
      ValueError: if xp and fp are no vectors of one size, are empty or xp is complex; for other words than
        'extrapolate'; for a period of 0.

    Example:
      >>> jnp.interp(jnp.array([0.5, 9.0]), jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0]))
      Array([15., 20.], dtype=float32)
    """
    at, points, values = _interpolated(x, xp, fp)
    n = points.type.size
    if period is not None:
        at, points, values = _periodic(at, points, values, period)
        left = right = "extrapolate"
        n += 2
    for name, given in (("left", left), ("right", right)):
        if isinstance(given, str) and given != "extrapolate":
            raise errors.value_error(f"{name} is {given!r}; a number or 'extrapolate' is required",
                                     fix="leave it out for the value at the end")
    first, last = (move.reshape(part(values, 0, i, i + 1), shape=()) for i in (0, n - 1))
    if n == 1:
        out = promotion.broadcast_to(first, at.type.shape)
    else:
        upper = clip(searchsorted(points, at, "right"), 1, n - 1)
        lower = elementwise.sub(upper, like(upper, 1))
        x0, x1, y0, y1 = (picked(v, i, 0) for v in (points, values) for i in (lower, upper))
        width = elementwise.sub(x1, x0)
        # Where two points are one, the value at the first.
        none = elementwise.le(elementwise.abs(width), like(width,
                                                           float(np.spacing(_epsilon(width.type.dtype)))))
        ratio = elementwise.div(elementwise.sub(at, x0), elementwise.select_n(none, width, like(width, 1)))
        step = elementwise.mul(retype(ratio, y0.type.dtype, y0.type.weak), elementwise.sub(y1, y0))
        out = elementwise.select_n(none, elementwise.add(y0, step), y0)
    for end, given, value, outside in ((0, left, first, elementwise.lt),
                                       (n - 1, right, last, elementwise.gt)):
        if not isinstance(given, str):
            bound = move.reshape(part(points, 0, end, end + 1), shape=())
            value = value if given is None else retype(array(given), out.type.dtype, out.type.weak)
            out = elementwise.select_n(outside(at, bound), out, promotion.broadcast_to(value, out.type.shape))
    return out  # type: ignore[no-any-return]


def _epsilon(dtype: Any) -> Any:
    return np.float32(dtypes.finfo(dtype).eps) if dtype.itemsize < 4 else dtypes.finfo(dtype).eps


def _interpolated(x: ArrayLike, xp: ArrayLike, fp: ArrayLike) -> tuple[Any, Any, Any]:
    """Positions, points and values, in one dtype but for complex values."""
    at, points, values = array(x), array(xp), array(fp)
    if points.type.ndim != 1 or points.type.shape != values.type.shape or not points.type.size:
        raise errors.value_error(f"xp is {points.type}, fp is {values.type}; two vectors of one size, not empty, "
                                 "are required",
                                 fix="map over further axes with vmap")
    for name, v in (("x", at), ("xp", points)):
        if dtypes.is_complex(v.type.dtype):
            raise errors.value_error(f"{name} is {v.type}, real numbers are required",
                                     fix="pass its real part")
    if not dtypes.is_complex(values.type.dtype):
        return tuple([array(v) for v in promotion.promoted_inexact(at, points,
                                                                   values)])  # type: ignore[return-value]
    at, points = [array(v) for v in promotion.promoted_inexact(at, points)]
    common, weak = dtypes.promote([(values.type.dtype, values.type.weak), (at.type.dtype, at.type.weak)])
    real = dtypes.to_real(common)
    return retype(at, real), retype(points, real), retype(values, common, weak)


def _periodic(at: Any, points: Any, values: Any, period: ArrayLike) -> tuple[Any, Any, Any]:
    """Everything moved into one period; the points sorted, with the last put before and the first put after them."""
    if not is_scalar(period) and array(period).type.shape:
        raise errors.value_error(f"period is {array(period).type}, a scalar is required", fix="pass a number")
    if (is_scalar(period) or is_known(period)) and float(period) == 0:
        raise errors.value_error("period is 0, another number is required", fix="leave it out for no period")
    length = elementwise.abs(retype(array(period), points.type.dtype))
    at, points = remainder(at, length), remainder(points, length)
    points, values = sort(points, values, axis=0, stable=True, keys=1)
    n = points.type.size
    before = elementwise.sub(part(points, 0, n - 1, n), promotion.broadcast_to(length, (1,)))
    after = elementwise.add(part(points, 0, 0, 1), promotion.broadcast_to(length, (1,)))
    return (at, move.concatenate(before, points, after, axis=0),
            move.concatenate(part(values, 0, n - 1, n), values, part(values, 0, 0, 1), axis=0))
