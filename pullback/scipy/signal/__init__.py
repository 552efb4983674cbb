"""Signals: convolution, correlation, spectra. scipy.signal's interface."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy.signal.convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve
from pullback.scipy.signal.spectra import csd, istft, stft, welch
from pullback.scipy.signal.trend import detrend

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft", "stft",
           "welch"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.signal.{name}")
