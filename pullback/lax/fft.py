"""The discrete Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.operand import retype
from pullback.ops import fft as ops
from pullback.ops.fft import FftType
from pullback.ops.move import as_shape

__all__ = ["FftType", "fft"]

ArrayLike = Any

_NAMES = {spelling: kind for kind in FftType for spelling in (kind.name, kind.name.lower())}


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform of `x` over its last axes.

    Args:
      x: number[..., *lengths]; for RFFT real numbers, for IRFFT of size lengths[-1] // 2 + 1 in the last axis.
      fft_type: FFT, IFFT, RFFT or IRFFT, as a member of FftType or its name. The forward transforms have no
        factor, the inverse ones 1 / the product of the lengths.
      fft_lengths: sizes of the axes to transform, at most three; for RFFT and IRFFT those of the real side.

    Returns:
      complex[..., *lengths], for RFFT complex[..., lengths[-1] // 2 + 1], for IRFFT float[..., *lengths].

    Raises:
      ValueError: for another word, complex numbers given to RFFT, or sizes that are not those of `x`.

    Example:
      >>> lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "RFFT", (4,))
      Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    if isinstance(fft_type, FftType):
        kind: FftType | None = fft_type
    elif isinstance(fft_type, str):
        kind = _NAMES.get(fft_type)
    else:
        raise errors.type_error(f"fft_type is {fft_type!r}, a lax.FftType or its name is required",
                                fix="pass lax.FftType.FFT, IFFT, RFFT or IRFFT")
    if kind is None:
        raise errors.value_error(f"fft_type is {fft_type!r}, one of FFT, IFFT, RFFT and IRFFT is required",
                                 fix="check the spelling")
    if isinstance(fft_lengths, int):
        raise errors.type_error(f"fft_lengths is {fft_lengths}, a sequence of ints is required", fix="pass a tuple")
    lengths = as_shape(tuple(fft_lengths), "fft_lengths")
    v = value(x)
    t = type_of(v)
    if kind is FftType.RFFT and dtypes.is_complex(t.dtype):
        raise errors.value_error(f"RFFT of {t}, real numbers are required", fix="take FFT, or the real part of x")
    dtype = dtypes.to_inexact(t.dtype)
    if kind is not FftType.RFFT:
        dtype = dtypes.to_complex(dtype)
    v = retype(v, dtype)
    return ops.fft(v, kind=kind, lengths=lengths) if lengths else v
