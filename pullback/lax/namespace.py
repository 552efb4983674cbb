"""A package whose modules' public names are its own."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

__all__ = ["collect"]


def collect(package: str, modules: Iterable[str], into: dict[str, Any]) -> list[str]:
    """The public names of a package's modules, sorted; sets them in `into`, the names of the package.

    All modules are loaded before any name is set, for loading a module sets its own name: `shape` of numpy is a
    function too. Of one name in two modules, the later one's stays.
    """
    loaded = [importlib.import_module(f"{package}.{module}") for module in modules]
    found = {name: getattr(module, name) for module in loaded for name in getattr(module, "__all__", ())}
    into.update(found)
    return sorted(found)
