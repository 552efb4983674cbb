"""Random keys that are used twice: the setting `debug_key_reuse` finds them.

    with debug_key_reuse(True):
        loss(key)  # raises KeyReuseError, with the lines of both uses
"""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.core.errors import KeyReuseError

__all__ = ["KeyReuseError"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.key_reuse.{name}")
