"""Linear algebra on arrays whose last two axes are matrices: jax.numpy.linalg."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.lax.namespace import collect as _collect

__all__ = _collect(__name__, ("decompositions", "systems", "norms", "products"), globals())


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.linalg.{name}")
