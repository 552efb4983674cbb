"""What a trace froze: the lines that run, and the local variables they set, as written and while tracing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.engine import Engine
from pullback.gate.operations import trace
from pullback.gate.sites import Site, function_name, is_own
from pullback.gate.values import distance

__all__ = ["frozen"]

_LIMIT = 20_000  # lines


class _Line(NamedTuple):
    site: Site
    changed: dict[str, Any]
    order: int  # in which lines end, over all calls


class _Call(NamedTuple):
    """One call of a function of the user's: the line that called it, and its lines as they ran."""

    code: CodeType
    caller: Site | None
    lines: list[_Line]


class _Followed:
    """Runs a function and keeps the calls of the user's functions in it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.calls: list[_Call] = []
        self.count = 0
        self.open: dict[FrameType, tuple[_Call, int, dict[str, Any]]] = {}
        self.users: dict[str, bool] = {}

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        outer = sys.gettrace()
        sys.settrace(self.event)
        try:
            return function(*args)
        finally:
            sys.settrace(outer)
            self.open.clear()

    def event(self, frame: FrameType, kind: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename not in self.users:
            self.users[code.co_filename] = is_own(code.co_filename, self.engine.folders)
        if not self.users[code.co_filename] or self.count > _LIMIT:
            return None
        if frame not in self.open:
            self.calls.append(_Call(code, self.caller(frame), []))
            self.open[frame] = self.calls[-1], 0, {}
        call, line, known = self.open[frame]
        now = dict(frame.f_locals)
        if line and kind in ("line", "return"):
            changed = {name: x for name, x in now.items() if name not in known or known[name] is not x}
            if kind == "return":
                changed["the returned value"] = argument
            call.lines.append(_Line(Site(code.co_filename, line, function_name(code)), changed, self.count))
            self.count += 1
        self.open[frame] = call, frame.f_lineno if kind == "line" else line, now
        return self.event

    def caller(self, frame: FrameType) -> Site | None:
        """The user's line that called a frame."""
        above = frame.f_back
        while above is not None and above not in self.open:
            above = above.f_back
        return None if above is None else Site(above.f_code.co_filename, above.f_lineno, function_name(above.f_code))


def frozen(engine: Engine, function: Callable[..., list[Any]], *args: Any) -> tuple[Site, str] | None:
    """The first of the user's lines that does something else while it is traced, and what; None if none does."""
    eager = _Followed(engine)
    engine.call(lambda *given: eager(function, *given), *args)
    for depth in (1 << 30, 1, 0):  # variables of an inner transformation cannot be returned: then of fewer calls
        traced = _Followed(engine)
        tracers: list[tuple[int, int, str]] = []

        def followed(*given: Any, depth: int = depth, traced: Any = traced, tracers: Any = tracers) -> list[Any]:
            results = list(traced(function, *given))
            found = []
            for i, call in enumerate(traced.calls[:depth]):
                for j, line in enumerate(call.lines):
                    for name, x in line.changed.items():
                        if engine.is_traced(x):
                            found.append(x)
                            tracers.append((i, j, name))
            return [*found, *results]

        try:
            run = trace(engine, followed, *args)
        except Exception:
            continue
        values = dict(zip(tracers, (run.values[i] for i in run.outputs)))
        return _first(engine, eager.calls, traced.calls, values)
    return None


def _first(engine: Engine, one: list[_Call], other: list[_Call], values: dict[tuple[int, int, str], Any]
           ) -> tuple[Site, str] | None:
    """The first line, in the order in which they end as written, that does something else.

    A transformation may call a function more often while it is traced; so calls of one function are compared in order.
    """
    places: dict[CodeType, list[int]] = {}
    for i, call in enumerate(other):
        places.setdefault(call.code, []).append(i)
    found: list[tuple[int, Site, str]] = []
    for a in one:
        if not places.get(a.code):
            continue
        i = places[a.code].pop(0)
        first = _parted(engine, a.lines, other[i].lines, i, values)
        if first is not None:
            called = f"; called from {a.caller}" if a.caller else ""
            found.append((first[0].order, first[0].site, first[1] + called))
    return min(found)[1:] if found else None


def _parted(engine: Engine, one: list[_Line], other: list[_Line], number: int,
            values: dict[tuple[int, int, str], Any]) -> tuple[_Line, str] | None:
    for j, (x, y) in enumerate(zip(one, other)):
        if x.site != y.site:
            return one[max(0, j - 1)], "the branch taken while tracing is another"
        for name, value in x.changed.items():
            now = values.get((number, j, name), y.changed.get(name))
            if _differ(engine, value, now):
                return x, f"{name} is {_shown(value)} as written, and {_shown(now)} while traced"
    if len(one) != len(other) and one and other:
        return one[min(len(one), len(other)) - 1], "more lines are run one way than the other"
    return None


def _differ(engine: Engine, x: Any, y: Any) -> bool:
    kinds = (bool, int, float, complex, np.ndarray, np.generic, engine.array)
    if not (isinstance(x, kinds) and isinstance(y, kinds)) or engine.is_traced(x) or engine.is_traced(y):
        return False
    try:
        a, b = (engine.to_numpy(v) for v in (x, y))
        return distance(a, b).relative > 1e-4
    except (TypeError, ValueError):
        return False


def _shown(x: Any) -> str:
    return " ".join(str(x).split())[:60]
