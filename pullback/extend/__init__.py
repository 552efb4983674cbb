"""Building blocks for libraries that add to jax (jax.extend)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.extend import core, linear_util, mlir, source_info_util

__all__ = ["core", "linear_util", "mlir", "source_info_util"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.{name}")
