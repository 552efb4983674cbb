"""The operations that programs are lowered to (jax.extend.mlir.dialects)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.extend.mlir.dialects import stablehlo

__all__ = ["stablehlo"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.mlir.dialects.{name}")
