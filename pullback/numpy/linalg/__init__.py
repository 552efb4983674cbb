"""Linear algebra on arrays whose last two axes are matrices: jax.numpy.linalg."""

from __future__ import annotations

import importlib
from typing import Any

from pullback.core import errors


def _collect() -> list[str]:
    names: list[str] = []
    for module in ("decompositions", "systems", "norms", "products"):
        loaded = importlib.import_module(f"pullback.numpy.linalg.{module}")
        for name in loaded.__all__:
            globals()[name] = getattr(loaded, name)
            names.append(name)
    return sorted(names)


__all__ = _collect()


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.linalg.{name}")
