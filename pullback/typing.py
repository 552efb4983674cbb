"""Types for annotations (jax.typing)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.array import Array

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | Any

__all__ = ["ArrayLike", "DTypeLike"]
