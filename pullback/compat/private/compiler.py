"""XLA's compiler, of which nothing here can be replaced."""

from __future__ import annotations

from typing import Any

from pullback.core import errors


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"jax._src.compiler.{name}")
