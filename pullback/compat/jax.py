"""`import jax`, served by pullback.

`install()` puts a finder in front of Python's own: after it, `import jax`, `import jax.numpy as jnp` and
`from jax import lax` give pullback's modules, which have the same layout. It is opt-in, says so once on stderr, and
refuses where the real jax is loaded already.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pullback
from pullback.compat.version import __version__ as SERVED_VERSION
from pullback.compat.version import __version_info__
from pullback.core import errors

__all__ = ["SERVED_VERSION", "install"]


# Modules of jax -> modules of pullback, where the names differ.
_MODULES = {
    "jax.core": "pullback.compat.core",
    "jax.experimental": "pullback.experimental",
    "jax.version": "pullback.compat.version",
}
_PRIVATE = ("jax._src", "pullback.compat.private")
_LIST = "docs/jax_compat.md lists what is supported"


def _unsupported(name: str) -> str:
    return (f"{name} is not supported by pullback {pullback.__version__}, which serves `import jax` here\n"
            f"  fix: {_LIST}; run the script on the real jax for what is not")


class _Facade(ModuleType):
    """The module `jax`: pullback's public names, and jax's version."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"jax.{name}"
        try:
            if full not in _MODULES:
                found = getattr(pullback, name)
                setattr(self, name, found)  # a microsecond less for each `jax.jit` from now on
                return found
        except errors.UnsupportedError:
            pass
        if _target(full) is not None:
            return importlib.import_module(full)
        raise errors.unsupported(full)

    def __dir__(self) -> list[str]:
        return dir(pullback)


def _served(name: str) -> str:
    private, own = _PRIVATE
    if name == private or name.startswith(private + "."):
        return own + name.removeprefix(private)
    return "pullback" + name.removeprefix("jax")


def _target(name: str) -> str | None:
    """The module of pullback that serves `name`, or None."""
    known = _MODULES.get(name) or _served(name)
    internal = {"api", "core", "interpret", "ops", "passes", "runtime", "compat", "gate", "__main__"}
    parts = known.split(".")
    if not (name in _MODULES or known.startswith(_PRIVATE[1])) and len(parts) > 1 and parts[1] in internal:
        return None
    try:
        return known if importlib.util.find_spec(known) is not None else None
    except ModuleNotFoundError:
        return None


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax` and everything under it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
                  ) -> importlib.machinery.ModuleSpec | None:
        if name != "jax" and not name.startswith("jax."):
            return None
        if name != "jax" and _target(name) is None:
            raise ModuleNotFoundError(_unsupported(name), name=name)
        return importlib.machinery.ModuleSpec(name, self, origin="pullback", is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.name == "jax":
            module = _Facade("jax", pullback.__doc__)
            module.__version__ = SERVED_VERSION  # type: ignore[attr-defined]
            module.__version_info__ = __version_info__  # type: ignore[attr-defined]
            return module
        target = _target(spec.name)
        assert target is not None
        pullback._load_engine()
        module = importlib.import_module(target)
        self._own[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import machinery has put the alias's spec on the module; it keeps its own.
        for own in self._own.values():
            if own is not None and own.name == module.__name__:
                module.__spec__ = own

    def __init__(self) -> None:
        self._own: dict[str, importlib.machinery.ModuleSpec | None] = {}


def install(quiet: bool = False) -> None:
    """From now on `import jax` gives pullback, in this process.

    Args:
      quiet: print no banner; so does the environment variable PULLBACK_QUIET=1.

    Raises:
      RuntimeError: the real jax is imported already.

    Example:
      >>> import pullback.compat.jax
      >>> pullback.compat.jax.install()
      >>> import jax.numpy as jnp
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("jax")
    if loaded is not None:
        raise RuntimeError(
            f"the real jax {getattr(loaded, '__version__', '')} is imported already, so pullback cannot serve "
            "`import jax` in this process\n  fix: call pullback.compat.jax.install() before anything imports jax, or "
            "run the script with `python -m pullback run`")
    sys.meta_path.insert(0, _Finder())
    if not quiet and os.environ.get("PULLBACK_QUIET", "") in ("", "0"):
        print(f"pullback {pullback.__version__} serves `import jax` (interface of jax {SERVED_VERSION}); "
              "--quiet or PULLBACK_QUIET=1 silences this line", file=sys.stderr)
