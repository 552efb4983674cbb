"""Means and straight lines taken out of signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy import reductions
from pullback.numpy.arguments import ArrayLike, array, one_axis, over_last, part
from pullback.numpy.promotion import promoted_inexact
from pullback.numpy.shape import moveaxis
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = ["detrend"]


def detrend(data: ArrayLike, axis: int = -1, type: str = "linear", bp: int | Sequence[int] | np.ndarray = 0,
            overwrite_data: None = None) -> Array:
    """A signal without its trend.

    Args:
      data: number[..., n, ...]
      axis: along which the signals go.
      type: 'linear' takes out the line that fits best by least squares, 'constant' the mean.
      bp: places where a new line begins.
      overwrite_data: None: arrays are immutable.

    Returns:
      float or complex, of the shape of `data`.

    Raises:
      ValueError: for another type, a place outside, or an axis out of range. TypeError: if overwrite_data is given.

    Example:
      >>> scipy.signal.detrend(jnp.array([1.0, 2.0, 3.0, 5.0]), type="constant")
      Array([-1.75, -0.75,  0.25,  2.25], dtype=float32)
    """
    if overwrite_data is not None:
        raise errors.type_error(f"overwrite_data is {overwrite_data!r}, None is required: arrays are immutable",
                                fix="leave it out")
    (x,) = promoted_inexact(array(data))
    along = one_axis(axis, x.type.ndim)
    if type not in ("linear", "l", "constant", "c"):
        raise errors.value_error(f"type is {type!r}, 'linear' or 'constant' is required", fix="check the spelling")
    if type[0] == "c":
        return x - reductions.mean(x, along, keepdims=True)  # type: ignore[no-any-return]
    n = x.type.shape[along]
    places = np.unique([0, *as_shape(bp.tolist() if isinstance(bp, np.ndarray) else bp, "bp"), n])
    if places[0] < 0 or places[-1] > n:
        raise errors.value_error(f"bp is {bp}, places from 0 to {n}, the size of axis {along}, are required",
                                 fix="count from the beginning of the signal")
    x = moveaxis(x, along, -1)
    pieces = [_without_line(part(x, x.ndim - 1, int(low), int(high))) for low, high in zip(places, places[1:])]
    out = pieces[0] if len(pieces) == 1 else move.concatenate(*pieces, axis=x.ndim - 1)
    return moveaxis(out, -1, along)


def _without_line(x: Any) -> Any:
    """The last axis without its line: the mean, and the slope by the centered places."""
    n = x.type.shape[-1]
    places = np.arange(n) - (n - 1) / 2
    centered = x - reductions.mean(x, -1, keepdims=True)
    if n < 2:
        return centered
    steps, line = (over_last(array(v.astype(x.type.dtype)), x.type.shape)
                   for v in (places / np.sum(places ** 2), places))
    return centered - reductions.sum(centered * steps, -1, keepdims=True) * line
