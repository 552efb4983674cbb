"""What functions keep outside of themselves: globals of their modules, closures, the generators of random numbers."""

from __future__ import annotations

import functools
import hashlib
import random
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.engine import Engine

__all__ = ["Snapshot", "contents", "snapshot"]

_DEPTH = 5
_LARGE = 1 << 24  # bytes of an array, above which only type and a sample are compared


class Snapshot(NamedTuple):
    """A digest of each place by name, and the places that hold traced values."""

    prints: dict[str, str]
    traced: set[str]


def snapshot(engine: Engine, functions: Mapping[str, Callable[..., Any]], only: Collection[str] | None = None
             ) -> Snapshot:
    """The state that the functions could read or change: all of it, or `only` the places of these names."""
    taken = _Taken(engine, only)
    for name, function in functions.items():
        taken.function(name, function, 0)
    taken.add("numpy.random's generator",
              lambda: repr([np.asarray(part).tobytes() for part in np.random.get_state()]))
    taken.add("Python's random generator", lambda: repr(random.getstate()))
    return Snapshot(taken.prints, taken.traced)


def contents(engine: Engine) -> Callable[[Any], str]:
    """A function from any value to a text that changes when what is in the value does."""
    taken = _Taken(engine, large=1 << 20)
    return lambda value: taken.text(value, 0, "")


class _Taken:
    def __init__(self, engine: Engine, only: Collection[str] | None = None, large: int = _LARGE) -> None:
        self.engine, self.only, self.large = engine, only, large
        self.prints: dict[str, str] = {}
        self.traced: set[str] = set()
        self.seen: set[int] = set()
        self.known: dict[int, tuple[Any, str]] = {}  # arrays of the engine, which cannot change

    def add(self, name: str, text: Callable[[], str]) -> None:
        if self.only is None or name in self.only:
            self.prints[name] = hashlib.sha256(text().encode()).hexdigest()

    def function(self, name: str, function: Any, depth: int) -> None:
        """Closures and the module's globals, of the function and of those it closes over."""
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        function = getattr(function, "__func__", getattr(function, "func", function))
        code = getattr(function, "__code__", None)
        if code is None or id(function) in self.seen or depth > _DEPTH:
            return
        self.seen.add(id(function))
        for variable, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self.value(f"{variable!r}, which {function.__name__} closes over", value, depth)
        for variable, value in zip(("defaults", "keyword defaults"), (function.__defaults__, function.__kwdefaults__)):
            if value:
                self.add(f"the {variable} of {function.__name__}", functools.partial(self.text, value, 0, name))
        space = function.__globals__
        if id(space) not in self.seen:
            self.seen.add(id(space))
            for variable, value in list(space.items()):
                if not variable.startswith("__"):
                    self.value(f"global {variable!r}", value, depth)

    def value(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, (types.ModuleType, type)):
            return
        if callable(value):
            self.function(name, value, depth + 1)
        else:
            self.add(name, lambda: self.text(value, 0, name))

    def text(self, value: Any, depth: int, name: str) -> str:
        """A text that changes when the contents do."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return repr(value)
        if depth > _DEPTH:
            return type(value).__name__
        if isinstance(value, Mapping):
            rows = [f"{str(key):.80}:{self.text(x, depth + 1, name)}" for key, x in list(value.items())]
            return "{" + ",".join(rows) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(self.text(x, depth + 1, name) for x in value) + "]"
        if isinstance(value, (set, frozenset)):
            return "{" + ",".join(sorted(self.text(x, depth + 1, name) for x in value)) + "}"
        if self.engine.is_traced(value):
            self.traced.add(name)
            return "traced"
        if isinstance(value, self.engine.array):
            if id(value) not in self.known:
                self.known[id(value)] = value, self.array(value)
            return self.known[id(value)][1]
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(value)
        inside = getattr(value, "__dict__", None)
        if isinstance(inside, dict) and not callable(value) and type(value).__module__ not in ("builtins", "functools"):
            return f"{type(value).__name__}{self.text(inside, depth + 1, name)}"
        return type(value).__name__

    def array(self, value: Any) -> str:
        x = np.asarray(self.engine.key_words(value))
        data = x if x.nbytes <= self.large else x.ravel()[::max(1, x.size // 65536)]
        return f"{x.dtype}{x.shape}{hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()}"
