"""The operations of jax.lax: strict in dtypes and shapes, close to what XLA does."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors
from pullback.core.primitive import TABLE
from pullback.lax import linalg  # noqa: F401  # users name it: lax.linalg.qr

_MODULES = ("elementwise", "integer", "analytic", "move", "index", "reduce", "sort", "contract", "conv", "fft",
            "ragged", "parallel", "control_flow", "rng", "programs", "implicit")


def _collect() -> list[str]:
    names: list[str] = []
    for module in _MODULES:
        loaded = importlib.import_module(f"pullback.lax.{module}")
        for name in loaded.__all__:
            globals()[name] = getattr(loaded, name)
            names.append(name)
    return sorted(names)


__all__ = _collect()
importlib.import_module("pullback.numpy")  # gives arrays their operators, where lax is imported first


def __getattr__(name: str) -> Any:
    if name.endswith("_p") and name.removesuffix("_p") in TABLE:  # to tell the equations of a program apart
        return TABLE[name.removesuffix("_p")]
    raise errors.unsupported(f"pullback.lax.{name}")
