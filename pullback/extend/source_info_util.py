"""Lines and names that operations carry (jax.extend.source_info_util): what libraries set of them."""

from __future__ import annotations

from typing import Any

from pullback.api.inspect import named_scope as extend_name_stack
from pullback.core import errors, source

__all__ = ["extend_name_stack", "register_exclusion"]


def register_exclusion(path: str) -> None:
    """From now on frames of the file `path` count as a library's: messages name the line that called it."""
    source.BETWEEN.add(path)
    source.is_internal.cache_clear()


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.source_info_util.{name}")
