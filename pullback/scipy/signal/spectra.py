"""Spectra of signals, from the Fourier transforms of overlapping segments (Welch 1967), and back.

Frequencies are in cycles per unit of time, of which a signal has `fs` samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.operand import retype
from pullback.numpy import elementwise, fft, quantiles, reductions
from pullback.numpy.arguments import ArrayLike, array, integer, one_axis, over_last, part, picked, positions
from pullback.numpy.indexing import AtIndex
from pullback.numpy.padding import pad
from pullback.numpy.promotion import broadcast_shapes, broadcast_to, promoted_inexact
from pullback.numpy.shape import moveaxis
from pullback.ops import move
from pullback.scipy.signal.trend import detrend as without_trend

__all__ = ["csd", "istft", "stft", "welch"]

_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


# -- parts that spectra share -------------------------------------------------------------------------

def _window(window: Any, nperseg: int | None, default: int, n: int | None, dtype: Any) -> tuple[Any, int]:
    """The window as an array, and its length; a window that is only named is cut to a signal of length `n`."""
    if isinstance(window, (str, tuple)):
        from scipy.signal import get_window
        size = default if nperseg is None else nperseg
        if n is not None and size > n:
            if nperseg is not None:
                warnings.warn(f"nperseg is {size}, the signal has {n} samples: nperseg = {n} is taken", stacklevel=4)
            size = n
        try:
            return array(get_window(window, size).astype(dtype)), size
        except ValueError as error:
            raise errors.value_error(f"window is {window!r}: {error}", fix="pass a name that scipy.signal.get_window "
                                     "knows, or the window as an array") from None
    w = array(window)
    if w.type.ndim != 1:
        raise errors.value_error(f"window is {w.type}, one axis is required", fix="pass a vector, or a name")
    size = w.type.shape[0]
    if nperseg is not None and nperseg != size:
        raise errors.value_error(f"nperseg is {nperseg}, the window has {size} samples", fix="leave nperseg out")
    if n is not None and size > n:
        raise errors.value_error(f"the window has {size} samples, the signal {n}", fix="take a shorter window")
    return retype(w, dtype), size


def _known(x: Any, what: str, least: int) -> int | None:
    if x is None:
        return None
    number = integer(x, what)
    if number < least:
        raise errors.value_error(f"{what} is {number}, at least {least} is required", fix="leave it out")
    return number


def _overlap(noverlap: Any, nperseg: int) -> int:
    found = nperseg // 2 if noverlap is None else integer(noverlap, "noverlap")
    if found >= nperseg:
        raise errors.value_error(f"noverlap is {found}, less than nperseg, which is {nperseg}, is required",
                                 fix="let segments overlap less")
    return found


def _extended(x: Any, boundary: str | None, count: int) -> Any:
    """`x` with `count` more samples at both ends of its last axis."""
    if boundary is None:
        return x
    last, n = x.type.ndim - 1, x.type.shape[-1]
    ends = [(0, 0)] * last + [(count, count)]
    if boundary == "zeros":
        return pad(x, ends)
    if boundary == "constant":
        return pad(x, ends, "edge")
    if n <= count:
        raise errors.value_error(f"the signal has {n} samples, boundary {boundary!r} needs more than {count}",
                                 fix="take shorter segments, or boundary='zeros'")
    if boundary == "even":
        return pad(x, ends, "reflect")
    return pad(x, ends, "reflect", reflect_type="odd")


def _segments(x: Any, size: int, step: int) -> Any:
    """Overlapping segments of the last axis: number[..., count, size]."""
    count = (x.type.shape[-1] - size) // step + 1
    if step == size:
        return move.reshape(part(x, x.type.ndim - 1, 0, count * size), shape=(*x.type.shape[:-1], count, size))
    index = step * np.arange(count)[:, None] + np.arange(size)
    return picked(x, positions(index), x.type.ndim - 1)


def _detrended(detrend: Any) -> Callable[[Any], Any]:
    """The function that takes the trend out of segments along the last axis."""
    if detrend is False or detrend is None:
        return lambda x: x
    if callable(detrend):
        return detrend  # type: ignore[no-any-return]
    return lambda x: without_trend(x, type=detrend)


def _spectra(x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
             return_onesided: bool, scaling: str, axis: Any, boundary: str | None, padded: bool, cross: bool
             ) -> tuple[Array, Array, Any, bool]:
    """Frequencies, times and the spectra number[..., frequency, segment] of segments along `axis`."""
    if scaling not in ("density", "spectrum"):
        raise errors.value_error(f"scaling is {scaling!r}, 'density' or 'spectrum' is required",
                                 fix="check the spelling")
    if boundary not in _BOUNDARIES:
        raise errors.value_error(f"boundary is {boundary!r}, one of {_BOUNDARIES} is required",
                                 fix="check the spelling")
    signals = list(promoted_inexact(*[array(v) for v in ([x] if y is None else [x, y])]))
    held = signals[0].type.dtype
    real = dtypes.float64 if dtypes.to_real(held) == dtypes.float64 else dtypes.float32
    wide = dtypes.to_complex(held) if dtypes.is_complex(held) else real
    signals = [moveaxis(retype(v, wide), one_axis(axis, v.type.ndim), -1) for v in signals]
    for v in signals:
        if 0 in v.type.shape:
            raise errors.value_error(f"got {v.type}, a signal with samples is required", fix="check its shape")
    n = signals[0].type.shape[-1]  # as the first is, before it is padded: shorter segments than the other could have
    if len(signals) == 2:
        if signals[0].type.ndim != signals[1].type.ndim:
            raise errors.value_error(f"got signals {signals[0].type} and {signals[1].type}; as many axes of both are "
                                     "required", fix="add axes of size 1")
        outer = broadcast_shapes([v.type.shape[:-1] for v in signals])
        longest = max([v.type.shape[-1] for v in signals])
        signals = [broadcast_to(fft.cut(v, longest, v.type.ndim - 1), (*outer, longest)) for v in signals]
    w, size = _window(window, _known(nperseg, "nperseg", 1), 256, n, real)
    transformed = size if nfft is None else _known(nfft, "nfft", 1) or size
    if transformed < size:
        raise errors.value_error(f"nfft is {transformed}, at least nperseg, which is {size}, is required",
                                 fix="leave it out")
    step = size - _overlap(noverlap, size)
    signals = [_extended(v, boundary, size // 2) for v in signals]
    if padded:
        more = -(signals[0].type.shape[-1] - size) % step % size
        signals = [fft.cut(v, v.type.shape[-1] + more, v.type.ndim - 1) for v in signals]
    total = signals[0].type.shape[-1]
    onesided = return_onesided and not dtypes.is_complex(wide)
    untrended = _detrended(detrend)
    pieces = [untrended(_segments(v, size, step)) for v in signals]
    transforms = [(fft.rfft if onesided else fft.fft)(elementwise.multiply(v, over_last(w, v.shape)), n=transformed)
                  for v in pieces]
    if scaling == "density":
        scale = 1.0 / (array(fs) * reductions.sum(elementwise.square(w)))
    else:
        scale = 1.0 / elementwise.square(reductions.sum(w))
    if cross:
        first = elementwise.conj(transforms[0])
        result = elementwise.multiply(first, transforms[-1]) * retype(scale, real)
        if onesided:  # each frequency but 0 (and the highest of an even number) stands for its negative too
            counts = np.full(result.shape[-1], 2.0)
            counts[0] = 1
            if transformed % 2 == 0:
                counts[-1] = 1
            result = result * over_last(array(counts.astype(real)), result.shape)
    else:
        result = transforms[0] * retype(elementwise.sqrt(scale), real)
    frequencies = (fft.rfftfreq if onesided else fft.fftfreq)(transformed, 1.0 / array(fs), dtype=real)
    times = np.arange(size / 2, total - size / 2 + 1, step) - (size / 2 if boundary is not None else 0)
    place = axis - 1 if axis < 0 else axis
    return frequencies, array(times.astype(real)) / array(fs), moveaxis(result, -1, place), len(signals) == 1


# -- power --------------------------------------------------------------------------------------------

def csd(x: Array, y: ArrayLike | None, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None,
        noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
        scaling: str = "density", axis: int = -1, average: str = "mean") -> tuple[Array, Array]:
    """The cross power spectral density of two signals, by Welch's method.

    Args:
      x, y: number[..., n, ...]; the shorter is padded with zeros. None for y: x again.
      fs: samples per unit of time.
      window: a name that scipy.signal.get_window knows, or float[nperseg].
      nperseg: samples in a segment; None: 256, or as many as there are.
      noverlap: by how many samples segments overlap; None: half.
      nfft: samples to which segments are padded; None: nperseg.
      detrend: 'constant', 'linear', a function of segments along the last axis, or False.
      return_onesided: for real signals, only frequencies from 0, which count for the negative ones too.
      scaling: 'density' (unit**2 per frequency) or 'spectrum' (unit**2).
      axis: along which the signals go.
      average: over segments: 'mean' or 'median' (of real and imaginary parts, corrected for bias).

    Returns:
      (frequencies, complex[...]), or float[...] where y is None.

    Raises:
      ValueError: for another word, or sizes that do not fit.

    Example:
      >>> f, p = scipy.signal.csd(jnp.ones(8), jnp.arange(8.0), nperseg=4, detrend=False)
      >>> f
      Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    if average not in ("mean", "median"):
        raise errors.value_error(f"average is {average!r}, 'mean' or 'median' is required", fix="check the spelling")
    along = one_axis(axis, max([array(v).type.ndim for v in (x, y) if v is not None])) if axis >= 0 else axis
    frequencies, _, power, same = _spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                                           scaling, along, None, False, True)
    if same:
        power = elementwise.real(power)
    count = power.shape[-1]
    if count == 1:
        averaged = move.reshape(power, shape=power.shape[:-1])
    elif average == "mean":
        averaged = reductions.mean(power, -1)
    else:
        # The median of exponentially distributed values over their mean: Allen et al., FINDCHIRP (2012), app. B.
        bias = 1 + sum([1 / (i + 1) - 1 / i for i in range(2, count + 1 - (count % 2 == 0), 2)])
        averaged = quantiles.median(elementwise.real(power), -1)
        if dtypes.is_complex(power.dtype):
            averaged = averaged + 1j * quantiles.median(elementwise.imag(power), -1)
        averaged = averaged / bias
    return frequencies, averaged


def welch(x: Array, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None,
          noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant",
          return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean"
          ) -> tuple[Array, Array]:
    """The power spectral density of a signal, by Welch's method; args and errors as for csd.

    Returns:
      (frequencies, float[...])

    Example:
      >>> f, p = scipy.signal.welch(jnp.cos(jnp.pi / 2 * jnp.arange(64)), nperseg=16)
      >>> f[p.argmax()]
      Array(0.25, dtype=float32)
    """
    frequencies, power = csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                             average)
    return frequencies, power


# -- short-time transforms ----------------------------------------------------------------------------

def stft(x: Array, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
         padded: bool = True, axis: int = -1) -> tuple[Array, Array, Array]:
    """The short-time Fourier transform: the transforms of overlapping segments.

    Args:
      x: number[..., n, ...]
      boundary: what lies before and behind the signal, for half a segment: 'zeros', 'constant' (its ends), 'even' or
        'odd' (its mirror images), or None: nothing.
      padded: whether zeros are added so that the last segment is whole.
      the others: as for csd.

    Returns:
      (frequencies, times, complex[..., frequencies, ..., times]), the frequencies along `axis`.

    Raises:
      ValueError: for another word, or sizes that do not fit.

    Example:
      >>> f, t, z = scipy.signal.stft(jnp.arange(16.0), nperseg=8)
      >>> z.shape
      (5, 5)
    """
    frequencies, times, result, _ = _spectra(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                                             "spectrum", axis, boundary, padded, False)
    return frequencies, times, result


def istft(Zxx: Array, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None,  # noqa: N803
          noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
          time_axis: int = -1, freq_axis: int = -2) -> tuple[Array, Array]:
    """The inverse of stft: segments added where they overlap, and divided by the sum of squared windows.

    Args:
      Zxx: complex[..., frequencies, ..., times]
      window, nperseg, noverlap, nfft: as for stft; None: from the number of frequencies.
      input_onesided: whether only frequencies from 0 are given.
      boundary: whether the signal was extended.
      time_axis, freq_axis: the axes of times and frequencies.

    Returns:
      (times, the signal)

    Raises:
      ValueError: for sizes that do not fit, or one axis for both.

    Example:
      >>> f, t, z = scipy.signal.stft(jnp.arange(16.0), nperseg=8)
      >>> scipy.signal.istft(z, nperseg=8)[1].round(3)[1:4]
      Array([1., 2., 3.], dtype=float32)
    """
    (z,) = promoted_inexact(array(Zxx))
    if z.type.ndim < 2:
        raise errors.value_error(f"got {z.type}, an axis of frequencies and one of times are required",
                                 fix="add an axis")
    real = dtypes.float64 if dtypes.to_real(z.type.dtype) == dtypes.float64 else dtypes.float32
    z = retype(z, dtypes.to_complex(real))
    across, along = one_axis(freq_axis, z.type.ndim), one_axis(time_axis, z.type.ndim)
    if across == along:
        raise errors.value_error(f"time_axis and freq_axis are both {along}", fix="name two axes")
    z = moveaxis(z, (along, across), (-2, -1))
    count, given = z.shape[-2:]
    natural = 2 * (given - 1) if input_onesided else given
    size = _known(nperseg, "nperseg", 1) or (natural if isinstance(window, (str, tuple)) else None)
    w, size = _window(window, size, natural, None, real)
    if nfft is None:
        transformed = size if input_onesided and size == natural + 1 else natural
    else:
        transformed = _known(nfft, "nfft", 1) or natural
    if transformed < size:
        raise errors.value_error(f"nfft is {transformed}, at least nperseg, which is {size}, is required",
                                 fix="pass the numbers that stft was given")
    step = size - _overlap(noverlap, size)
    pieces = fft.irfft(z, n=transformed) if input_onesided else fft.ifft(z, n=transformed)
    pieces = part(pieces, pieces.ndim - 1, 0, size)
    pieces = pieces * over_last(reductions.sum(w) * w, pieces.shape)
    total = size + (count - 1) * step
    index = (step * np.arange(count)[:, None] + np.arange(size)).reshape(-1)
    outer = pieces.shape[:-2]

    def overlapped(values: Any, lead: tuple[int, ...]) -> Any:
        start = move.broadcast_in_dim(values.type.dtype.type(0), shape=(*lead, total), dims=())
        return AtIndex(start, (..., index)).add(move.reshape(values, shape=(*lead, count * size)))

    signal = overlapped(pieces, outer)
    weight = overlapped(move.broadcast_in_dim(elementwise.square(w), shape=(count, size), dims=(1,)), ())
    if boundary:
        signal, weight = (part(v, v.ndim - 1, size // 2, total - size // 2) for v in (signal, weight))
    signal = signal / over_last(elementwise.maximum(weight, 1e-10), signal.shape)
    times = array(np.arange(signal.shape[-1], dtype=real)) / array(fs)
    if len(outer):
        signal = moveaxis(signal, -1, min(across, along))
    return times, signal
