"""The operations of jax.lax: strict in dtypes and shapes, close to what XLA does."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors
from pullback.core.primitive import TABLE
from pullback.lax import linalg  # noqa: F401  # users name it: lax.linalg.qr
from pullback.lax.namespace import collect as _collect

_MODULES = ("elementwise", "integer", "analytic", "move", "index", "reduce", "sort", "contract", "conv", "fft",
            "ragged", "parallel", "control_flow", "rng", "programs", "implicit")


__all__ = _collect(__name__, _MODULES, globals())
importlib.import_module("pullback.numpy")  # gives arrays their operators, where lax is imported first


def __getattr__(name: str) -> Any:
    if name.endswith("_p") and name.removesuffix("_p") in TABLE:  # to tell the equations of a program apart
        return TABLE[name.removesuffix("_p")]
    raise errors.unsupported(f"pullback.lax.{name}")
