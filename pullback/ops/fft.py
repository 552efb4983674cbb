"""The discrete Fourier transform over the last axes."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs, Primitive
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.ops.elementwise import conj, eq, mul, number, select_n
from pullback.ops.integer import or_
from pullback.ops.move import iota

MAX_AXES = 3  # what XLA transforms at once


class FftType(enum.IntEnum):
    """Which transform: forward, inverse, forward of real numbers, inverse to real numbers."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_REFERENCES = {FftType.FFT: np.fft.fftn, FftType.IFFT: np.fft.ifftn, FftType.RFFT: np.fft.rfftn,
               FftType.IRFFT: np.fft.irfftn}


class Fft(Primitive):
    """The transform `kind` over the last len(lengths) axes; `lengths` are those of the longer side.

    The forward transforms have no factor, the inverse ones 1 / the product of the lengths.
    """

    def type(self, x: ArrayType, *, kind: FftType, lengths: tuple[int, ...]) -> list[ArrayType]:
        real = kind is FftType.RFFT
        if x.dtype not in ((dtypes.float32, dtypes.float64) if real else (dtypes.complex64, dtypes.complex128)):
            raise errors.value_error(f"{kind.name} of {x}, elements of 32- or 64-bit "
                                     f"{'real' if real else 'complex'} type are required", op="fft",
                                     fix="convert with astype, or take FFT" if real else "convert with astype")
        if not 1 <= len(lengths) <= min(MAX_AXES, x.ndim):
            raise errors.value_error(f"{len(lengths)} lengths for {x}, from 1 to {min(MAX_AXES, x.ndim)} are required",
                                     op="fft", fix="transform some axes after the others")
        half = (*lengths[:-1], lengths[-1] // 2 + 1) if lengths[-1] else lengths
        lead = x.shape[: x.ndim - len(lengths)]
        given, result = (half, lengths) if kind is FftType.IRFFT else (lengths, half if real else lengths)
        if x.shape != lead + given and not (lengths[-1] == 0 and kind is FftType.IRFFT and x.shape[-1] <= 1):
            raise errors.value_error(f"{kind.name} with lengths {lengths} of {x}, whose last axes must have the "
                                     f"sizes {given}", op="fft", fix="pad or slice these axes, or change the lengths")
        dtype = {FftType.RFFT: dtypes.to_complex, FftType.IRFFT: dtypes.to_real}.get(kind, np.dtype)(x.dtype)
        return [ArrayType(lead + result, dtype)]

    def numpy(self, x: np.ndarray, *, kind: FftType, lengths: tuple[int, ...]) -> Outputs:
        out = self.type(ArrayType(x.shape, x.dtype), kind=kind, lengths=lengths)[0]
        if 0 in x.shape or 0 in out.shape:
            return [np.zeros(out.shape, out.dtype)]
        axes = range(-len(lengths), 0)
        return [_REFERENCES[kind](x, lengths, axes).astype(out.dtype, copy=False)]

    def hlo(self, b: Any, x: Any, *, kind: FftType, lengths: tuple[int, ...]) -> Outputs:
        out = b.outputs[0]
        if 0 in x.type.shape or 0 in out.shape:
            return [b.full(0, out)]
        return [b.op("stablehlo.fft", [x], out,
                     f"fft_type = #stablehlo<fft_type {kind.name}>, fft_length = {b.ints(lengths)}")]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        return bind(self, primals, params), bind(self, tangents, params)

    def transpose(self, cts: Sequence[Any], x: Any, *, kind: FftType, lengths: tuple[int, ...]) -> list[Any]:
        ct, n, size = cts[0], lengths[-1], math.prod(lengths)
        if kind in (FftType.FFT, FftType.IFFT):  # the matrices are symmetric
            return [self(ct, kind=kind, lengths=lengths)]
        # The half spectrum of a real signal: its terms but the first (and for even n the last) stand for two.
        if kind is FftType.RFFT:
            # Re sum_k ct[k] exp(-2 pi i j k / n) = n irfft(conj(ct) / weight)[j], weight 2 where a term counts twice.
            scaled = _weighted(conj(ct), n, size, size / 2)
            return [self(scaled, kind=FftType.IRFFT, lengths=lengths)]
        spectrum = conj(self(ct, kind=FftType.RFFT, lengths=lengths))
        return [_weighted(spectrum, n, 1 / size, 2 / size)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
            x = rng.normal(size=shape)
            return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)

        for kind in FftType:
            real, back = kind is FftType.RFFT, kind is FftType.IRFFT
            for shape, count in (((2, 6), 1), ((5,), 1), ((2, 3, 4), 2), ((2, 2, 3), 3), ((2, 1), 1)):
                lengths = shape[len(shape) - count:]
                given = (*shape[:-1], shape[-1] // 2 + 1) if back else shape
                yield Example(draw(given, np.float32 if real else np.complex64), kind=kind, lengths=lengths,
                              linear=(0,), rtol=5e-5)
            yield Example(draw((4, 0), np.float32 if real else np.complex64), kind=kind, lengths=(0,), order=0)
        yield Example(draw((0, 3), np.complex64), kind=FftType.FFT, lengths=(3,), order=0)

    def oracle(self, jax: Any, x: Any, *, kind: FftType, lengths: tuple[int, ...]) -> Any:
        if 0 in lengths:  # jax refuses the empty transform of real numbers
            return jax.numpy.zeros(np.shape(x), np.float32 if kind is FftType.IRFFT else np.complex64)
        return jax.lax.fft(x, jax.lax.FftType(int(kind)), lengths)


def _weighted(x: Any, n: int, once: float, twice: float) -> Any:
    """`x`, half a spectrum of `n` terms, times `twice` where a term stands for two, and `once` where for itself."""
    t = x.type
    place = iota(shape=t.shape, dtype=dtypes.int32, axis=t.ndim - 1)
    alone = or_(eq(place, number(place, 0)), eq(place, number(place, n // 2 if n % 2 == 0 else 0)))
    return mul(x, select_n(alone, number(x, twice), number(x, once)))


fft = Fft("fft")
