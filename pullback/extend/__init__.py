"""Building blocks for libraries that add to jax (jax.extend)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.extend import core, mlir

__all__ = ["core", "mlir"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.{name}")
