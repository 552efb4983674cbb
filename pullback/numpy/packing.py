"""Bits packed into bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike, array, integer, one_axis, part
from pullback.numpy.logic import truth
from pullback.numpy.shape import ravel
from pullback.ops import elementwise, move, reduce
from pullback.ops import integer as words
from pullback.ops.convert import convert_element_type

__all__ = ["packbits", "unpackbits"]


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    return (ravel(a), 0) if axis is None else (a, one_axis(axis, a.type.ndim))


def _weights(bitorder: str, x: Any, axis: int) -> Any:
    """What each of the 8 bits along `axis` of `x` counts, in the shape of `x`."""
    if bitorder not in ("big", "little"):
        raise errors.value_error(f"bitorder is {bitorder!r}, 'big' or 'little' is required", fix="check the spelling")
    # A formula, not a constant array, which XLA would read element by element.
    numbers = move.iota(shape=x.type.shape, dtype=np.dtype(np.uint8), axis=axis)
    if bitorder == "big":
        return words.shift_right_logical(np.uint8(128), numbers)
    return words.shift_left(np.uint8(1), numbers)


def _resized(x: Any, n: int, axis: int) -> Any:
    """`x` cut or filled with zeros to size `n` along `axis`."""
    given = x.type.shape[axis]
    if n <= given:
        return part(x, axis, 0, n)
    return move.pad(x, np.uint8(0), config=tuple([(0, n - given if i == axis else 0, 0) for i in range(x.type.ndim)]))


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Each 8 elements along an axis as the bits of one byte; the last byte is filled with zeros.

    Args:
      a: bool[..., n, ...] or int[..., n, ...], in which other numbers than 0 count as 1.
      axis: None: along the flattened array.
      bitorder: whether the first element is the 'big' or the 'little' end of its byte.

    Returns:
      u8[..., ceil(n / 8), ...]

    Raises:
      TypeError: for elements of another dtype. ValueError: for another bitorder, or no such axis.

    Example:
      >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 1, 1]))
      Array([131], dtype=uint8)
    """
    x = array(a)
    if dtypes.kind(x.type.dtype) not in "iub":
        raise errors.type_error(f"got {x.type}, integers or booleans are required", fix="compare it: x != 0")
    x, along = _along(x, axis)
    n = x.type.shape[along]
    count = -(-n // 8)
    bits = _resized(convert_element_type(truth(x), dtype=dtypes.uint8), 8 * count, along)
    before, after = x.type.shape[:along], x.type.shape[along + 1:]
    bits = move.reshape(bits, shape=(*before, count, 8, *after))
    return reduce.reduce_sum(elementwise.mul(bits, _weights(bitorder, bits, along + 1)), axes=(along + 1,))


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """The bits of each byte as 8 elements along an axis.

    Args:
      a: u8[..., n, ...]
      axis: None: along the flattened array.
      count: how many elements to keep, or if negative to leave out; more than there are are filled with zeros.
      bitorder: whether the first element is the 'big' or the 'little' end of its byte.

    Returns:
      u8[..., 8 n, ...], or with `count` elements along the axis.

    Raises:
      TypeError: for elements of another dtype. ValueError: for another bitorder, or no such axis.

    Example:
      >>> jnp.unpackbits(jnp.array([131], jnp.uint8))
      Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    x = array(a)
    if x.type.dtype != dtypes.uint8:
        raise errors.type_error(f"got {x.type}, elements of dtype uint8 are required", fix="convert with astype, or "
                                "view it as bytes: x.view(jnp.uint8)")
    x, along = _along(x, axis)
    before, n, after = x.type.shape[:along], x.type.shape[along], x.type.shape[along + 1:]
    kept = [*range(along + 1), *range(along + 2, x.type.ndim + 1)]
    bits = move.broadcast_in_dim(x, shape=(*before, n, 8, *after), dims=tuple(kept))
    held = elementwise.ne(words.and_(bits, _weights(bitorder, bits, along + 1)), np.uint8(0))
    bits = move.reshape(convert_element_type(held, dtype=dtypes.uint8), shape=(*before, 8 * n, *after))
    if count is None:
        return bits
    size = integer(count, "count")
    return _resized(bits, size if size >= 0 else max(8 * n + size, 0), along)
