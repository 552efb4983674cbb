"""Linear algebra on arrays whose last two axes are matrices: jax.numpy.linalg."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.lax.namespace import collect as _collect
from pullback.runtime import remember as _remember

__all__ = _collect(__name__, ("decompositions", "systems", "norms", "products"), globals())
_remember.install(globals(), ["det", "inv", "matrix_norm", "norm", "vector_norm"])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.linalg.{name}")
