"""Linear equations without matrices: jax.scipy.sparse's interface."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy.sparse import linalg

__all__ = ["linalg"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.sparse.{name}")
