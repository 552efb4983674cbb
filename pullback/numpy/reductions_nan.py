"""Reductions that leave NaNs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import Array
from pullback.numpy import promotion, reductions
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, like, no_out
from pullback.numpy.cumulative import cumprod, cumsum
from pullback.numpy.reductions import Axis
from pullback.ops import elementwise, integer, reduce
from pullback.ops.reduce import highest, lowest

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]


def without_nans(a: ArrayLike, number: Any) -> Any:
    """The array with `number` in place of NaNs."""
    x = array(a)
    if not dtypes.is_inexact(x.type.dtype):
        return x
    return elementwise.select_n(elementwise.ne(x, x), x, like(x, number))


def _present(x: Any, where: ArrayLike | None) -> Any:
    """Where there is a number that is to be taken."""
    here = elementwise.eq(x, x)
    if where is None:
        return here
    return integer.and_(here, promotion.broadcast_to(reductions.mask(where, x.type.shape), x.type.shape))


def nansum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The sum of the elements along axes, NaNs taken for 0; arguments as for sum.

    Example:
      >>> jnp.nansum(jnp.array([2.0, jnp.nan, 3.0])).item()
      5.0
    """
    return reductions.sum(without_nans(a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The product of the elements along axes, NaNs taken for 1; arguments as for prod.

    Example:
      >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0])).item()
      6.0
    """
    return reductions.prod(without_nans(a, 1), axis, dtype, out, keepdims, initial, where)


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The sums of the elements up to each one, NaNs taken for 0; see cumsum.

    Example:
      >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 5.], dtype=float32)
    """
    return cumsum(without_nans(a, 0), axis, dtype, out)


def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The products of the elements up to each one, NaNs taken for 1; see cumprod.

    Example:
      >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    return cumprod(without_nans(a, 1), axis, dtype, out)


def _extreme(a: ArrayLike, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any,
             operation: Any, combine: Any, neutral: Callable[[Any], Any]) -> Any:
    no_out(out)
    x = array(a)
    inexact = dtypes.is_inexact(x.type.dtype)
    numbers = without_nans(x, neutral(x.type.dtype)) if inexact else x
    result = reductions.extreme(numbers, axis, keepdims, initial, where, operation, combine, neutral)
    if initial is not None or not inexact:
        return result
    empty = reductions.all(elementwise.ne(x, x), axis, keepdims=keepdims)
    return elementwise.select_n(empty, result, like(result, np.nan))


# No NaN is left when these come.
_LARGEST, _SMALLEST = reduce.reduce_max.dropping_nan(), reduce.reduce_min.dropping_nan()


def nanmax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The largest element along axes that is no NaN; NaN if there is none. Arguments as for max.

    Example:
      >>> jnp.nanmax(jnp.array([1.0, jnp.nan])).item()
      1.0
    """
    return _extreme(a, axis, out, keepdims, initial, where, _LARGEST, elementwise.max, lowest)


def nanmin(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
    """The smallest element along axes that is no NaN; NaN if there is none. Arguments as for min.

    Example:
      >>> jnp.nanmin(jnp.array([1.0, jnp.nan])).item()
      1.0
    """
    return _extreme(a, axis, out, keepdims, initial, where, _SMALLEST, elementwise.min, highest)


def nanmean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None,
            keepdims: bool = False, where: ArrayLike | None = None) -> Array:
    """The mean of the elements along axes that are no NaN; NaN if there is none. Arguments as for mean.

    Example:
      >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0])).item()
      2.0
    """
    no_out(out)
    x = array(a)
    if not dtypes.is_inexact(x.type.dtype):
        return reductions.mean(x, axis, dtype, out, keepdims, where=where)
    return reductions.mean(without_nans(x, 0), axis, dtype, out, keepdims, where=_present(x, where))


def nanvar(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> Array:
    """The variance of the elements along axes that are no NaN; arguments as for var.

    Returns:
      NaN where the number of such elements is not larger than ddof.

    Example:
      >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0])).item()
      1.0
    """
    no_out(out)
    x = array(a)
    if not dtypes.is_inexact(x.type.dtype):
        return reductions.var(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
    return reductions.var(without_nans(x, 0), axis, dtype, out, ddof, keepdims, where=_present(x, where), mean=mean)


def nanstd(a: ArrayLike, axis: Axis = None, dtype: DTypeLike | None = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None, mean: ArrayLike | None = None) -> Array:
    """The standard deviation of the elements along axes that are no NaN: the root of nanvar.

    Example:
      >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0])).item()
      1.0
    """
    return elementwise.sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


def _position(a: ArrayLike, axis: int | None, out: None, keepdims: bool | None, function: Callable[..., Any],
              neutral: Callable[[Any], Any]) -> Any:
    x = array(a)
    if not dtypes.is_float(x.type.dtype):
        return function(x, axis, out, keepdims)
    missing = elementwise.ne(x, x)
    result = function(without_nans(x, neutral(x.type.dtype)), axis, out, keepdims)
    empty = reductions.all(missing, axis, keepdims=bool(keepdims))
    return elementwise.select_n(empty, result, like(result, -1))


def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the largest element along an axis that is no NaN; -1 if there is none. See argmax.

    Example:
      >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0])).item()
      2
    """
    return _position(a, axis, out, keepdims, reductions.argmax, lowest)


def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """The position of the smallest element along an axis that is no NaN; -1 if there is none. See argmin.

    Example:
      >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 1.0])).item()
      2
    """
    return _position(a, axis, out, keepdims, reductions.argmin, highest)
