"""Which statement of a preparation lets one split depend on what it must not.

Two runs of it are compared, on the raw data and on data changed where that must make no difference. What a line has
left in the second is replaced by what it left in the first: the line with which the difference goes away does it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from pullback.gate.blame.lines import Step, follow
from pullback.gate.session import Session
from pullback.gate.sites import Site
from pullback.gate.snapshot import contents

__all__ = ["leak"]

_TRIED = 40  # moments at which values are replaced
_LARGE = 1 << 28  # bytes of raw data, above which copies would be too many


class _Left(NamedTuple):
    """What a line has left: locals that are other than before it; copies of those that are others in another run."""

    site: Site | None
    place: tuple[str, int, str]
    texts: dict[str, str]
    values: dict[str, Any]


def leak(session: Session, prepare: Callable[[Any], Any], raw: Any, changed: Any, same: Callable[[Any, Any], bool],
         other: Callable[[Any], Any]) -> Site | None:
    """The line of `prepare` by which its result depends on what differs between two sets of raw data.

    Args:
      raw, changed: what it is given in the two runs.
      same: whether two results agree where they must.
      other: what else results hold, for which a dependence is right: a line that carries that too only passes data on.
    """
    engine = session.engine
    if sum(getattr(x, "nbytes", 0) for x in engine.flatten(raw)[0]) > _LARGE:
        return None
    text = contents(engine)
    try:
        two, _ = _run(session, prepare, changed, text, [])
        one, expected = _run(session, prepare, raw, text, two)
        passing = one[-1].site  # the last return, where no local explains it
        tried = 0
        for number, (a, b) in enumerate(zip(one, two)):
            if a.place != b.place:  # another line comes next: the one before has decided that
                return a.site
            if not a.values or a.site is None or a.place[2] == "call":
                continue
            tried += 1
            if tried > _TRIED:
                break
            result = _replaced(session, prepare, changed, number + 1, a.values)
            if same(result, expected):
                if text(other(result)) != text(other(expected)):
                    return a.site
                passing = a.site
    except Exception:  # it does not run like this, or a debugger is at work
        return None
    return passing


def _run(session: Session, prepare: Callable[[Any], Any], raw: Any, text: Callable[[Any], str], other: list[_Left]
         ) -> tuple[list[_Left], Any]:
    found: list[_Left] = []
    last: dict[FrameType, dict[str, str]] = {}

    def visit(step: Step) -> None:
        frame = step.frame
        texts = {name: text(value) for name, value in frame.f_locals.items()}
        before = last.get(frame, {})
        new = {name: content for name, content in texts.items() if before.get(name) != content}
        last[frame] = texts
        there = other[len(found)].texts if len(found) < len(other) else new
        apart = [name for name, content in new.items() if there.get(name) != content]
        values = {name: copy.deepcopy(frame.f_locals[name]) for name in apart}
        found.append(_Left(step.site, (frame.f_code.co_filename, frame.f_lineno, step.event), new, values))

    return found, follow(lambda: prepare(copy.deepcopy(raw)), session.engine.folders, visit)


def _replaced(session: Session, prepare: Callable[[Any], Any], raw: Any, number: int, values: dict[str, Any]) -> Any:
    """The result where, at a moment, locals are given other values."""
    def visit(step: Step) -> None:
        if step.number == number:
            there = step.frame.f_locals  # taken once: before Python 3.13 it is filled anew each time
            there.update({name: copy.deepcopy(value) for name, value in values.items()})

    return follow(lambda: prepare(copy.deepcopy(raw)), session.engine.folders, visit)
