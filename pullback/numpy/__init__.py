"""NumPy's functions on arrays that can be differentiated, batched and compiled: jax.numpy's interface."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

from pullback.core import errors
from pullback.numpy import methods as _methods
from pullback.runtime import eager as _eager  # noqa: F401  # makes operations run at once

_NAMESPACES = ("fft", "linalg")  # modules that users name themselves: jnp.linalg.inv


def _collect() -> list[str]:
    # All are loaded before any name is set, for loading a module sets its name here: `shape` is a function
    # too.
    modules = [importlib.import_module(f"pullback.numpy.{info.name}")
               for info in pkgutil.iter_modules(__path__)]
    modules = [module for module in modules if module.__name__.rpartition(".")[2] not in _NAMESPACES]
    modules.sort(key=lambda module: module.__name__.endswith(".ufuncs"))  # last: they stand for functions of others
    names: list[str] = []
    for module in modules:
        for name in getattr(module, "__all__", ()):
            globals()[name] = getattr(module, name)
            names.append(name)
    return sorted(set(names))


__all__ = _collect()
_methods.install(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.{name}")
