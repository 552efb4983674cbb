"""Linear algebra by SciPy's names: jax.scipy.linalg."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.lax.namespace import collect as _collect

__all__ = _collect(__name__, ("decompositions", "systems", "functions", "special_matrices"), globals())


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.linalg.{name}")
