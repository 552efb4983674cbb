"""`jax.experimental.checkify` where it is written in jax."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.experimental import checkify


def __getattr__(name: str) -> Any:
    try:
        return getattr(checkify, name)
    except AttributeError:
        raise errors.unsupported(f"jax._src.checkify.{name}") from None
