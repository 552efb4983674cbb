"""SciPy's functions on arrays that can be differentiated, batched and compiled: jax.scipy's interface."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors
from pullback.scipy import fft, linalg, ndimage, signal, special, stats

__all__ = ["fft", "linalg", "ndimage", "signal", "special", "stats"]


_LATER = ("cluster", "integrate", "interpolate", "optimize", "sparse", "spatial")  # loaded when they are asked for


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"pullback.scipy.{name}")
    raise errors.unsupported(f"pullback.scipy.{name}")
