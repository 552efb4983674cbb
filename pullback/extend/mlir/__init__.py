"""Operations for lowering rules (jax.extend.mlir)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.extend.mlir import dialects

__all__ = ["dialects"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.mlir.{name}")
