"""Nearest neighbours: jax.scipy.cluster's interface."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy.cluster import vq

__all__ = ["vq"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.cluster.{name}")
