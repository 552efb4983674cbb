"""The types of mutable references."""

from __future__ import annotations

from pullback.experimental.hijax import AbstractRef

__all__ = ["AbstractRef"]
