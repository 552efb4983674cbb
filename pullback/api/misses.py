"""Why a jitted function is traced again (the setting explain_cache_misses)."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from pullback.api.flat import argument_names, function_name
from pullback.core import config, source, tree
from pullback.core.array import Array
from pullback.core.types import ArrayType

__all__ = ["explain", "not_kept"]

_log = logging.getLogger("pullback")
_MOST = 8  # differences told
_MOST_CODES = 4096

# Code of functions that were traced -> the values that the last function of that code was made with.
_made_with: dict[CodeType, dict[str, Any]] = {}


def explain(fun: Callable[..., Any], known: Iterable[Any], key: Any) -> None:
    """Logs how the key of a call differs from the nearest of the `known` ones of the same function.

    Args:
      key: structure of the arguments, types of their leaves, static arguments, options of jit, settings, mapped axes.
    """
    code, parts = _definition(fun)
    candidates = [_differences(fun, old, key) for old in reversed(list(known))]  # of equals, the latest
    name = f"{code.co_name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else \
        function_name(fun)
    if candidates:
        nearest = min(candidates, key=len)
        count = len(candidates)
        head = "the earlier signature differs" if count == 1 else f"the nearest of {count} earlier signatures differs"
        lines = [*nearest[:_MOST], *([f"and {len(nearest) - _MOST} more"] if len(nearest) > _MOST else [])]
    elif code is not None and code in _made_with:
        head = "it is another function object than before, of the same definition"
        lines = _other(_made_with[code], parts) + [
            "fix: jit the function once, outside of the loop or function that defines it, and pass what varies as an "
            "argument"]
    else:
        head, lines = "it was not called before", []
    if code is not None and len(_made_with) < _MOST_CODES:
        _made_with[code] = parts
    text = "".join(f"\n  {line}" for line in lines)
    _log.warning("tracing %s, called at %s: %s%s", name, source.here() or "an unknown line", head, text)


def not_kept(fun: Callable[..., Any]) -> None:
    """Logs that a trace is not remembered, for what the function closes over."""
    _log.warning("tracing %s, called at %s: it closes over values that are being traced, so it is traced at every "
                 "call\n  fix: pass them as arguments", function_name(fun), source.here() or "an unknown line")


def _definition(fun: Any) -> tuple[CodeType | None, dict[str, Any]]:
    """The code of a function, and the values it was made with: closure, defaults, arguments of partial."""
    parts: dict[str, Any] = {}
    while isinstance(fun, functools.partial):
        parts |= {f"partial argument {i}": _shown(x) for i, x in enumerate(fun.args)}
        parts |= {f"partial argument {name}": _shown(x) for name, x in fun.keywords.items()}
        fun = fun.func
    owner = getattr(fun, "__self__", None)
    if owner is not None:
        parts["self"] = f"{type(owner).__name__} at {id(owner):#x}"
    fun = getattr(fun, "__func__", fun)
    code = getattr(fun, "__code__", None)
    if code is None:
        return None, parts
    for name, cell in zip(code.co_freevars, fun.__closure__ or (), strict=False):
        try:
            parts[f"closure variable {name}"] = _shown(cell.cell_contents)
        except ValueError:  # not set yet
            pass
    for i, x in enumerate(fun.__defaults__ or ()):
        parts[f"default {i}"] = _shown(x)
    return code, parts


def _shown(x: Any) -> str:
    """A value for a message: of arrays the type, no numbers."""
    if isinstance(x, Array):
        return f"{x.type}"
    if isinstance(x, (bool, int, float, complex, str, bytes, type(None))):
        return f"{x!r:.40}"
    return f"a {type(x).__name__}"


def _other(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    changed = [f"{name}: {old.get(name, 'nothing')} before, {new.get(name, 'nothing')} now"
               for name in {**old, **new} if old.get(name) != new.get(name)]
    return changed or ["what it closes over looks the same"]


def _differences(fun: Any, old: Any, new: Any) -> list[str]:
    """What differs between two keys, a line each."""
    lines = _of_arguments(fun, old, new)
    before, now = ({name: (kind, x) for name, kind, x in key[2]} for key in (old, new))
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            texts = [f"{pair[1]!r:.60}" if pair else "not given" for pair in (before.get(name), now.get(name))]
            if texts[0] == texts[1]:
                texts = [f"{text} of type {pair[0].__name__}"
                         for text, pair in zip(texts, (before[name], now[name]), strict=True)]
            lines.append(f"static argument {_parameter(fun, name)}: {texts[0]} before, {texts[1]} now")
    if old[3] != new[3]:
        lines.append("another jit of the function, with other static or donated arguments or compiler options")
    names = [setting.name for setting in config.SETTINGS.values() if setting.traced]
    lines += [f"setting {name}: {a!r} before, {b!r} now" for name, a, b in zip(names, old[4], new[4], strict=True)
              if a != b]
    if old[5] != new[5]:
        lines.append(f"mapped axes in scope: {dict(old[5])} before, {dict(new[5])} now")
    return lines


def _of_arguments(fun: Any, old: Any, new: Any) -> list[str]:
    (old_names, old_args), (new_names, new_args) = (_names(fun, key[0]) for key in (old, new))
    lines = []
    if old[0] != new[0]:
        gone, come = ([n for n in a if n not in b] for a, b in ((old_names, new_names), (new_names, old_names)))
        lines += [f"{name}: there before, missing now" for name in gone]
        lines += [f"{name}: missing before, there now" for name in come]
        lines = lines or [_of_structure(fun, old_args, new_args)]
    before = dict(zip(old_names, old[1], strict=True))
    for name, t in zip(new_names, new[1], strict=True):
        if name in before and before[name] != t:
            lines.append(f"argument {name}: {_type_difference(before[name], t)}")
    return lines


def _of_structure(fun: Any, old: Any, new: Any) -> str:
    """The difference of two structures of arguments with the same leaves."""
    if len(old[0]) != len(new[0]) or old[1].keys() != new[1].keys():
        words = [f"{len(args)} by position, {', '.join(kwargs) or 'none'} by keyword" for args, kwargs in (old, new)]
        return f"the way arguments are passed: {words[0]} before; {words[1]} now"
    pairs = [(_parameter(fun, i), a, b) for i, (a, b) in enumerate(zip(old[0], new[0], strict=True))]
    pairs += [(name, old[1][name], new[1][name]) for name in old[1]]
    found = [tree.first_difference(a, b, root=f"{name}", names=("the earlier call", "this one"))
             for name, a, b in pairs]
    return f"the structure of the arguments: {next((text for text in found if text), 'what a node of a tree holds')}"


def _names(fun: Any, in_tree: Any) -> tuple[list[str], Any]:
    args, kwargs = tree.unflatten(in_tree, range(in_tree.num_leaves))
    return argument_names(fun, args, kwargs), (args, kwargs)


def _type_difference(old: ArrayType, new: ArrayType) -> str:
    parts = [what for what, a, b in (("shape", old.shape, new.shape), ("dtype", old.dtype, new.dtype)) if a != b]
    text = f"{old} before, {new} now" if parts else f"{old} before and now"
    if old.weak != new.weak:
        words = [f"{'weak (a Python number)' if t.weak else 'strong'}" for t in (old, new)]
        parts.append(f"weak type: {words[0]} before, {words[1]} now")
    return f"{text} ({', '.join(parts)})"


def _parameter(fun: Any, name: Any) -> Any:
    code = getattr(fun, "__code__", None)
    return code.co_varnames[name] if isinstance(name, int) and code and name < code.co_argcount else name

