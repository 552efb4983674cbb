"""The registries in which primitives find their rules (jax.interpreters)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.interpreters import ad, batching, mlir, partial_eval, xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "xla"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.interpreters.{name}")
