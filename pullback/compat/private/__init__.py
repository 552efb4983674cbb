"""Inside names of jax (`jax._src`) that well-known libraries import, and nothing else.

jax promises none of them. Each module here has the few names that a library was found to need, so that it loads and
runs; docs/libraries.md lists the libraries.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from pullback.core import errors


def __getattr__(name: str) -> Any:
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise errors.unsupported(f"jax._src.{name}")
