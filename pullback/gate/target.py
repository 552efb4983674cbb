"""The user's file: loaded as a module, and the model or function in it found."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.model import Model
from pullback.gate.report import shown
from pullback.gate.sites import of_error

__all__ = ["find_model", "load_file", "named"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def load_file(path: str, engine: Engine) -> ModuleType:
    """The user's file as a module; not as __main__, so that a training script does not train."""
    name = "verified_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path!r} is no Python file", "pass a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    before, sys.argv = sys.argv, [path]
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        text = str(error).splitlines()
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {text[0] if text else ''}"
                         f"\n  at {of_error(error, engine.folders) or path}",
                         "make `import` of the file work; what only a run needs goes under "
                         "`if __name__ == \"__main__\":`") from error
    finally:
        sys.argv = before
    return module


def named(module: ModuleType, path: str, name: str, without: str) -> Any:
    if not name:
        raise UsageError(f"{path}: {without}", f"name it: {path}:name")
    if not hasattr(module, name):
        there = sorted(known for known in vars(module) if not known.startswith("_"))
        raise UsageError(f"{path} has no {name!r}; it has {', '.join(there)}", "check the name after the colon")
    return getattr(module, name)


def _needs_nothing(function: Any) -> bool:
    """Whether it is a function that can be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def find_model(module: ModuleType, path: str, name: str) -> Model:
    """The model of a file: the named one, the only one, or what its function `model` returns."""
    if name:
        found = named(module, path, name, "")
        if not isinstance(found, Model) and callable(found):
            try:
                made = found()
            except TypeError as error:
                raise UsageError(f"{path}:{name} is a function that cannot be called without arguments: {error}",
                                 'to check the function itself, add --args "f32[8,4], ..."') from error
            except Exception as error:
                raise UsageError(f"{path}:{name} raises {shown(error)}\n  at {of_error(error, (_PACKAGE,)) or path}",
                                 "mend it, or run it by itself first") from error
            found = made
        if not isinstance(found, Model):
            raise UsageError(f"{path}:{name} is a {type(found).__name__}, a gate.Model is required",
                             'name a gate.Model or a function that returns one, or add --args "f32[8,4], ..."')
        return found
    models = {known: value for known, value in vars(module).items() if isinstance(value, Model)}
    if len(models) == 1:
        return next(iter(models.values()))
    if models:
        raise UsageError(f"{path} has {len(models)} models: {', '.join(models)}",
                         f"name one: {path}:{next(iter(models))}")
    if _needs_nothing(getattr(module, "model", None)):
        return find_model(module, path, "model")
    raise UsageError(f"{path} has no gate.Model",
                     "add one (from pullback import gate; model = gate.Model(loss, params, batch)), or name a function "
                     f'and its arguments: {path}:function --args "f32[8,4], f32[8]"')
