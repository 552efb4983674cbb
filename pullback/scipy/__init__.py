"""SciPy's functions on arrays that can be differentiated, batched and compiled: jax.scipy's interface."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy import special

__all__ = ["special"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.{name}")
