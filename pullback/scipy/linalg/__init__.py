"""Linear algebra by SciPy's names: jax.scipy.linalg."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors


def _collect() -> list[str]:
    names: list[str] = []
    for module in ("decompositions", "systems", "functions", "special_matrices"):
        loaded = importlib.import_module(f"pullback.scipy.linalg.{module}")
        for name in loaded.__all__:
            globals()[name] = getattr(loaded, name)
            names.append(name)
    return sorted(names)


__all__ = _collect()


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.linalg.{name}")
