"""Who holds a tracer that should be gone (the setting check_tracer_leaks).

When a trace is closed, nothing but pullback's own frames may still hold its tracers. The search goes from a tracer to
what refers to it, and from there on, until it meets a name: a global, an attribute, a variable of a function.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import types
from collections import deque
from typing import Any

from pullback.core import errors
from pullback.core.program import Program
from pullback.core.source import is_internal
from pullback.core.trace import Trace, Tracer, set_leak_check

__all__ = ["check"]

_FARTHEST = 4000  # objects looked at for one tracer
_NAMED = 5  # tracers named in a message


def check(trace: Trace) -> None:
    """Raises UnexpectedTracerError if tracers of a closed trace are held by anything but pullback."""
    if not _held(trace):
        return
    gc.collect()  # what only a cycle holds is gone, not held
    held = _held(trace)
    if not held:
        return
    notes = []
    for tracer, holder in held[:_NAMED]:
        notes += [f"{tracer.type} made at {tracer.source}", f"  is held by {holder}"]
    if len(held) > _NAMED:
        notes.append(f"and {len(held) - _NAMED} more")
    count = f"{len(held)} traced values are" if len(held) > 1 else "a traced value is"
    raise errors.make(errors.UnexpectedTracerError, f"{count} still held after the {trace.describe()} that made "
                      f"{'them' if len(held) > 1 else 'it'} has ended: a leaked tracer", op="", notes=tuple(notes),
                      fix="return the value from the transformed function instead of storing it")


def _held(trace: Trace) -> list[tuple[Tracer, str]]:
    """The tracers of a trace that something holds, and what it is."""
    tracers = tuple([x for x in gc.get_referrers(trace) if issubclass(type(x), Tracer)])
    if not tracers:
        return []
    search = _Search()
    if not any([search.counts(by) for by in gc.get_referrers(*tracers)]) and not any(
            [id(x) in search.variables for x in tracers]):
        return []
    found = []
    for tracer in tracers:
        holder = search.holder(tracer)
        if holder is not None:
            found.append((tracer, holder))
    return found


class _Search:
    """Looks for holders of objects, as things are while the stack stands."""

    def __init__(self) -> None:
        self.modules = {id(vars(m)): name for name, m in list(sys.modules.items()) if isinstance(m, types.ModuleType)}
        self.inner: set[int] = {id(self.modules)}  # what pullback's running functions hold
        self.variables: dict[int, tuple[str, str]] = {}  # what the user's running functions hold: name, function
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            internal = is_internal(code.co_filename)
            self.modules.setdefault(id(frame.f_globals), frame.f_globals.get("__name__", "a script"))
            if frame.f_locals is not frame.f_globals:
                for name, value in list(frame.f_locals.items()):
                    if internal:
                        self.inner.add(id(value))
                    else:
                        self.variables[id(value)] = name, _place(code)
            frame = frame.f_back

    def counts(self, by: Any) -> bool:
        """Whether an object that refers to a tracer may be the user's, or belong to what is."""
        return id(by) not in self.inner and not isinstance(by, (types.FrameType, Trace, Program))

    def holder(self, tracer: Tracer) -> str | None:
        """The name of what holds a tracer, with the way from there; None if only pullback does."""
        if id(tracer) in self.variables:
            return self._variable(tracer, "")
        queue: deque[tuple[Any, str]] = deque([(tracer, "")])
        seen = {id(tracer), id(queue)}
        unnamed = None
        while queue and len(seen) < _FARTHEST:
            entry = queue.popleft()
            item, way = entry
            seen.add(id(entry))
            for by in gc.get_referrers(item):
                if id(by) in seen or not self.counts(by):
                    continue
                seen.add(id(by))
                if id(by) in self.modules:
                    name = self.modules[id(by)]
                    if name.split(".")[0] != "pullback":
                        return f"the global {_key(by, item)}{way} of {name}"
                    continue
                if id(by) in self.variables:
                    return self._variable(by, f"{_step(by, item)}{way}")
                if isinstance(by, types.FunctionType) and way.startswith("<"):
                    name = by.__code__.co_freevars[int(way[1:way.index(">")])]
                    way = f" ({name}, a closure variable of {_place(by.__code__)})"
                step = _step(by, item)
                if isinstance(item, dict) and getattr(by, "__dict__", None) is item:  # attributes, by name
                    way = re.sub(r"^\['(\w+)'\]", r".\1", way)
                to_here = f"{step}{way}"
                if to_here.startswith("."):
                    unnamed = unnamed or f"the attribute {to_here[1:]} of a {type(by).__name__}"
                elif isinstance(by, types.FunctionType) and not is_internal(by.__code__.co_filename):
                    unnamed = unnamed or f"a function{way}"
                queue.append((by, to_here))
        return unnamed

    def _variable(self, x: Any, way: str) -> str:
        name, function = self.variables[id(x)]
        return f"the variable {name}{way} of {function}"


def _place(code: types.CodeType) -> str:
    return f"{code.co_name} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def _key(mapping: dict[Any, Any], item: Any) -> Any:
    return next((key for key, value in list(mapping.items()) if value is item), "?")


def _step(by: Any, item: Any) -> str:
    """How one gets from a container to what it holds: [3], ['k'], .name; '' where that says nothing."""
    if isinstance(by, tuple) and isinstance(item, types.CellType):  # of a function
        return next((f"<{i}>" for i, value in enumerate(by) if value is item), "")
    if isinstance(by, (list, tuple, deque)):
        return next((f"[{i}]" for i, value in enumerate(list(by)) if value is item), "")
    if isinstance(by, dict):
        key = _key(by, item)
        return "" if key == "?" else f"[{key!r:.40}]"
    if type(by).__module__.split(".")[0] in ("pullback", "builtins", "types", "functools") and not isinstance(by, type):
        return ""
    names = list(vars(by)) if isinstance(by, type) or isinstance(getattr(by, "__dict__", None), dict) else []
    names += [name for base in type(by).__mro__ for name in getattr(base, "__slots__", ())]
    return next((f".{name}" for name in names if _read(by, name) is item), "")


def _read(by: Any, name: str) -> Any:
    """An attribute, without running properties."""
    own = getattr(by, "__dict__", {})
    if name in own:
        return own[name]
    slot = getattr(type(by), name, None)
    return getattr(by, name, None) if isinstance(slot, types.MemberDescriptorType) else None


set_leak_check(check)
