"""Discrete cosine transforms, scipy.fft's interface.

Type I:   X[k] = x[0] + (-1)^k x[n-1] + 2 sum_{0<j<n-1} x[j] cos(pi j k / (n-1))
Type II:  X[k] = 2 sum_j x[j] cos(pi k (2j+1) / 2n)
Type III: X[k] = x[0] + 2 sum_{j>0} x[j] cos(pi j (2k+1) / 2n)
Type IV:  X[k] = 2 sum_j x[j] cos(pi (2j+1) (2k+1) / 4n)

With norm 'backward' (None) inverse transforms have the factor 1/2n (for type I 1/2(n-1)), with 'forward' the others
have it; with 'ortho' the matrix of the transform is orthogonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.fft import FftType
from pullback.lax.fft import fft as transform
from pullback.lax.operand import retype
from pullback.numpy import elementwise
from pullback.numpy.arguments import array, one_axis, over_last, part, rearranged
from pullback.numpy.fft import axes_of, cut
from pullback.numpy.shape import moveaxis
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = ["dct", "dctn", "idct", "idctn"]

_INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.fft.{name}")


def _turned(x: Any, angles: np.ndarray) -> Any:
    """`x` times exp(i angles) along its last axis."""
    turns = array(np.exp(1j * angles).astype(dtypes.to_complex(x.type.dtype)))
    return elementwise.multiply(x, over_last(turns, x.type.shape))


def _real_of(x: Any, dtype: Any) -> Any:
    return retype(elementwise.real(x), dtype)


def _ends(x: Any, first: float, last: float | None = None) -> Any:
    """`x` with the first (and the last) element along its last axis multiplied."""
    n = x.type.shape[-1]
    factors = np.ones(n)
    factors[0] *= first
    if last is not None:
        factors[-1] *= last
    return elementwise.multiply(x, over_last(array(factors.astype(x.type.dtype)), x.type.shape))


def _first(x: Any, n: int) -> Any:
    extended = move.concatenate(x, part(move.rev(x, axes=(x.type.ndim - 1,)), x.type.ndim - 1, 1, n - 1),
                                axis=x.type.ndim - 1) if n > 2 else x
    return _real_of(transform(extended, FftType.RFFT, (2 * (n - 1),)), x.type.dtype)


def _second(x: Any, n: int) -> Any:
    # Makhoul, A fast cosine transform in one and two dimensions (1980): even places, then odd ones backwards.
    order = np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])
    spectrum = transform(rearranged(x, order, x.type.ndim - 1), FftType.FFT, (n,))
    return _real_of(2 * _turned(spectrum, -np.pi * np.arange(n) / (2 * n)), x.type.dtype)


def _third(x: Any, n: int) -> Any:
    # The transpose of type II, whose sum counts the first element once and the others twice.
    spectrum = _turned(_ends(2 * x, 0.5), np.pi * np.arange(n) / (2 * n))
    signal = _real_of(transform(spectrum, FftType.IFFT, (n,)), x.type.dtype) * n
    order = np.empty(n, int)
    order[np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])] = np.arange(n)
    return rearranged(signal, order, x.type.ndim - 1)


def _fourth(x: Any, n: int) -> Any:
    padded = cut(_turned(x, -np.pi * np.arange(n) / (2 * n)), 2 * n, x.type.ndim - 1)
    spectrum = part(transform(padded, FftType.FFT, (2 * n,)), x.type.ndim - 1, 0, n)
    return _real_of(2 * _turned(spectrum, -np.pi * (2 * np.arange(n) + 1) / (4 * n)), x.type.dtype)


_TYPES: dict[int, Callable[[Any, int], Any]] = {1: _first, 2: _second, 3: _third, 4: _fourth}


def _cosine(x: Any, type: int, n: int | None, axis: int, norm: str | None, inverse: bool) -> Any:
    if type not in _TYPES:
        raise errors.value_error(f"type is {type!r}, 1, 2, 3 or 4 is required", fix="leave it out for type 2")
    if norm not in (None, "backward", "ortho", "forward"):
        raise errors.value_error(f"norm is {norm!r}, 'backward', 'ortho' or 'forward' is required",
                                 fix="check the spelling")
    x = array(x)
    if dtypes.is_complex(x.type.dtype):  # of the real and of the imaginary part
        real, imaginary = (_cosine(half, type, n, axis, norm, inverse) for half in (
            elementwise.real(x), elementwise.imag(x)))
        return real + 1j * imaginary
    axis = one_axis(axis, x.type.ndim)
    if n is not None:
        (size,) = as_shape(n, "n")
        if size < 1:
            raise errors.value_error(f"n is {size}, at least 1 is required", fix="leave it out")
        x = cut(x, size, axis)
    given = x.type.dtype
    computed = dtypes.float64 if dtypes.to_inexact(given) == dtypes.float64 else dtypes.float32
    x = moveaxis(retype(x, computed), axis, -1)
    length = x.type.shape[-1]
    if length < (2 if type == 1 else 1):
        raise errors.value_error(f"axis {axis} has size {length}, which is too few for type {type}",
                                 fix="check the shape of the signal")
    kind = _INVERSES[type] if inverse else type
    whole = 2 * (length - 1) if kind == 1 else 2 * length
    if norm == "ortho" and kind in (1, 3):  # their matrices have columns of other lengths
        x = _ends(x, math.sqrt(2), math.sqrt(2) if kind == 1 else None)
    out = _TYPES[kind](x, length)
    if norm == "ortho":
        if kind in (1, 2):
            out = _ends(out, 1 / math.sqrt(2), 1 / math.sqrt(2) if kind == 1 else None)
        out = out * (1 / math.sqrt(whole))
    elif (norm == "forward") is not inverse:
        out = out * (1 / whole)
    return moveaxis(out, -1, axis)


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along one axis.

    Args:
      x: number[...]; half precision is computed, and returned, as float32.
      type: 1, 2, 3 or 4, see the module.
      n: the length to cut or pad the axis with zeros to; None: as it is.
      norm: 'backward' (None), 'ortho' or 'forward', see the module.

    Returns:
      float or complex[...], with size n along `axis`.

    Raises:
      ValueError: for another type or norm, or an axis out of range.

    Example:
      >>> scipy.fft.dct(jnp.ones(4), norm="ortho").round(3)
      Array([2., 0., 0., 0.], dtype=float32)
    """
    return _cosine(x, type, n, axis, norm, False)  # type: ignore[no-any-return]


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `dct` of that type; args, returns and errors as there.

    Example:
      >>> scipy.fft.idct(jnp.array([8.0, 0.0, 0.0, 0.0])).tolist()
      [1.0, 1.0, 1.0, 1.0]
    """
    return _cosine(x, type, n, axis, norm, True)  # type: ignore[no-any-return]


def _several(x: Any, type: int, s: Any, axes: Any, norm: str | None, inverse: bool) -> Any:
    x = array(x)
    sizes = None if s is None else as_shape(s, "s")
    along = axes_of(x.type.ndim, sizes, as_shape(axes, "axes") if axes is not None else None)
    for i, axis in enumerate(along):
        x = _cosine(x, type, None if sizes is None else sizes[i], axis, norm, inverse)
    return x if along else retype(x, dtypes.to_inexact(x.type.dtype))


def dctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
         norm: str | None = None) -> Array:
    """`dct` along several axes.

    Args:
      s: the lengths to cut or pad the axes to; None: as they are.
      axes: distinct axes; None: the last len(s), or all.

    Raises:
      ValueError: as `dct`, and if there are not as many lengths as axes.

    Example:
      >>> scipy.fft.dctn(jnp.ones((2, 2)))[0, 0]
      Array(16., dtype=float32)
    """
    return _several(x, type, s, axes, norm, False)  # type: ignore[no-any-return]


def idctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None) -> Array:
    """The inverse of `dctn`; args and errors as there.

    Example:
      >>> jsp.fft.idctn(jsp.fft.dctn(jnp.ones((2, 2)))).round(3)
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return _several(x, type, s, axes, norm, True)  # type: ignore[no-any-return]
