"""Inside names of jax (`jax._src`) that well-known libraries import, and nothing else.

jax promises none of them. Each module here has the few names that a library was found to need, so that it loads and
runs; docs/libraries.md lists the libraries.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from pullback.core import errors


def inside(where: str, public: ModuleType | None = None) -> Callable[[str], Any]:
    """The `__getattr__` of a module here: a name that it lacks is that of the public module, or an error."""
    def look(name: str) -> Any:
        if public is not None and hasattr(public, name):
            return getattr(public, name)
        raise errors.unsupported(f"jax._src.{where}.{name}")
    return look


def __getattr__(name: str) -> Any:
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise errors.unsupported(f"jax._src.{name}")
