"""Rotations: jax.scipy.spatial's interface."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy.spatial import transform

__all__ = ["transform"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.spatial.{name}")
