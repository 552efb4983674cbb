"""Small libraries that jax ships as examples (jax.example_libraries): optimizers, and layers of networks."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.example_libraries.{name}")
