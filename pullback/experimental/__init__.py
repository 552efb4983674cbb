"""What jax keeps under `experimental`."""

from __future__ import annotations

from pullback.api.host import io_callback
from pullback.core import errors
from pullback.core.config import enable_x64

__all__ = ["enable_x64", "io_callback"]


class MutableArray:
    """Mutable references by an older name, and their type. pullback makes none, so nothing is an instance."""

    def __init__(self, *_: object, **__: object) -> None:
        raise errors.make(errors.UnsupportedError, "mutable references are not supported by pullback", op="",
                          fix="return the new values from the function; docs/jax_compat.md lists what is supported")


def __getattr__(name: str) -> object:
    raise errors.unsupported(f"pullback.experimental.{name}")
