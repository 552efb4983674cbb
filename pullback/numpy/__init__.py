"""NumPy's functions on arrays that can be differentiated, batched and compiled: jax.numpy's interface."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from pullback.core import errors
from pullback.numpy import methods as _methods
from pullback.runtime import eager as _eager  # noqa: F401  # makes operations run at once

_MODULES = ("scalars", "creation", "ranges", "windows", "elementwise", "floating", "logic", "shape", "joining", "padding", "editing",
            "taking", "indexing", "reductions", "reductions_nan", "quantiles", "cumulative", "contract")


def _collect() -> list[str]:
    names: list[str] = []
    for module in _MODULES:
        if importlib.util.find_spec(f"pullback.numpy.{module}") is None:
            continue
        loaded = importlib.import_module(f"pullback.numpy.{module}")
        for name in getattr(loaded, "__all__", ()):
            globals()[name] = getattr(loaded, name)
            names.append(name)
    return sorted(names)


__all__ = _collect()
_methods.install(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    raise errors.make(errors.UnsupportedError, f"pullback.numpy has no {name!r}", op="",
                      fix="docs/jax_compat.md lists the supported names of jax")
