"""What jax keeps under `experimental`."""

from __future__ import annotations

from pullback.api.host import io_callback
from pullback.core.config import enable_x64

__all__ = ["enable_x64", "io_callback"]
