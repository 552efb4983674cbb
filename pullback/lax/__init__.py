"""The operations of jax.lax: strict in dtypes and shapes, close to what XLA does."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors

_MODULES = ("elementwise", "analytic", "move", "index", "reduce", "sort", "contract", "conv", "parallel",
            "control_flow")


def _collect() -> list[str]:
    names: list[str] = []
    for module in _MODULES:
        loaded = importlib.import_module(f"pullback.lax.{module}")
        for name in loaded.__all__:
            globals()[name] = getattr(loaded, name)
            names.append(name)
    return sorted(names)


__all__ = _collect()


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.lax.{name}")
