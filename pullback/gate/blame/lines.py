"""Python run line by line: after every line of the user's own code, a visitor is shown the frame.

The trace function of Python (`sys.settrace`) is taken for the time of one run of a model that has already failed, and
given back, whatever happens: coverage goes on where it was. A debugger that holds it is left alone; then there are no
lines.
"""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from pullback.gate.sites import Site, function_name, is_own

__all__ = ["Step", "follow"]

_EVENTS, _SECONDS = 50_000, 20.0  # after which a run goes on unseen


class Step(NamedTuple):
    """What a visitor is shown.

    Args:
      site: the line that has just run; None before the first.
      event: what comes now: "call" (a function begins), "line" (another line), "return".
      frame: the function's frame.
      value: what it returns; None as well where it ends with an error.
      number: of this event in the run.
    """

    site: Site | None
    event: str
    frame: FrameType
    value: Any
    number: int


def follow(run: Callable[[], Any], folders: Sequence[str], visit: Callable[[Step], None]) -> Any:
    """run(), with `visit` called after every line of the user's own.

    Args:
      run: a function without arguments; what it raises is raised.
      folders: files below these are an engine's.
      visit: may look at the frame, and change its locals.

    Returns:
      What run() returns.

    Raises:
      RuntimeError: a debugger is at work.
    """
    before = sys.gettrace()
    if _is_debugger(before):
        raise RuntimeError("a debugger holds the trace function")
    sys.settrace(_Follower(folders, visit).entered)
    try:
        return run()
    finally:
        sys.settrace(before)


def _is_debugger(function: Any) -> bool:
    owner = type(getattr(function, "__self__", function))
    names = [f"{kind.__module__}.{kind.__name__}" for kind in owner.__mro__]
    names.append(getattr(function, "__module__", None) or "")
    return any(name == "bdb.Bdb" or "pydevd" in name for name in names)


class _Follower:
    def __init__(self, folders: Sequence[str], visit: Callable[[Step], None]) -> None:
        self.folders, self.visit = folders, visit
        self.running: Site | None = None  # the line that is being run
        self.number, self.end = 0, time.monotonic() + _SECONDS
        self.open: list[FrameType] = []  # the user's, outermost first
        self.own: dict[str, bool] = {}

    def entered(self, frame: FrameType, event: str, value: Any) -> Any:
        """The trace function of every frame that begins."""
        if self.number > _EVENTS or not self.is_own(frame):
            return None
        self.show("call", frame, None)
        self.open.append(frame)
        self.running = _site(frame)
        return self.within

    def within(self, frame: FrameType, event: str, value: Any) -> Any:
        """The trace function of a frame of the user's."""
        if event == "line":
            self.show(event, frame, None)
            self.running = _site(frame)
        elif event == "return":
            self.show(event, frame, value)
            self.open.pop()
            self.running = _site(self.open[-1]) if self.open else None
        return self.within

    def show(self, event: str, frame: FrameType, value: Any) -> None:
        self.number += 1
        if time.monotonic() > self.end:
            self.number = _EVENTS + 1
        if self.number <= _EVENTS:
            self.visit(Step(self.running, event, frame, value, self.number))

    def is_own(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if file not in self.own:  # what has no text was made by a program, as dataclasses make an __init__
            self.own[file] = is_own(file, self.folders) and bool(linecache.getlines(file))
        return self.own[file]


def _site(frame: FrameType) -> Site:
    return Site(frame.f_code.co_filename, frame.f_lineno, function_name(frame.f_code))
