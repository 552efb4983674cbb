"""Where runs part: the line that changes state, and the first line at which two runs have other values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.blame.lines import Step, follow
from pullback.gate.blame.symptoms import of_objective
from pullback.gate.operations import trace
from pullback.gate.session import Session
from pullback.gate.sites import Site
from pullback.gate.snapshot import contents, snapshot
from pullback.gate.values import distance, is_float

__all__ = ["changes", "compiled_apart", "parting"]

Run = Callable[[], Any]


def changes(session: Session, runs: Iterable[Run], functions: Mapping[str, Callable[..., Any]], names: set[str]
            ) -> dict[str, Site]:
    """For each place of state (a name that a snapshot uses), the line after which it was another."""
    found: dict[str, Site] = {}

    def look() -> dict[str, str]:
        return snapshot(session.engine, functions, names - set(found)).prints

    for run in runs:
        last = look()

        def visit(step: Step) -> None:
            nonlocal last
            now = look()
            for name, text in now.items():
                if last.get(name) != text and step.site is not None:
                    found.setdefault(name, step.site)
            last = now

        if names - set(found):
            _followed(session, run, visit)
    return found


def _followed(session: Session, run: Run, visit: Callable[[Step], None]) -> bool:
    """Runs it line by line, compiled functions of the user's as they are written; whether that can be done."""
    try:
        with session.watch.eagerly():
            follow(run, session.engine.folders, visit)
    except Exception:  # it does not run like this, or a debugger is at work
        return False
    return True


class _Moment(NamedTuple):
    """What a line has left: where it is, and the content of all that the function knows then."""

    site: Site | None
    place: tuple[str, int, str]
    content: dict[str, int]  # digests


def _moments(session: Session, run: Run) -> list[_Moment]:
    text, found = contents(session.engine), list[_Moment]()

    def visit(step: Step) -> None:
        frame, known = step.frame, {}
        for name, value in frame.f_locals.items():
            if name not in frame.f_code.co_freevars:  # state: that it is another in the next run is no line's doing
                known[name] = hash(text(value))
        if step.event == "return":
            known["the result"] = hash(text(step.value))
        found.append(_Moment(step.site, (frame.f_code.co_filename, frame.f_lineno, step.event), known))

    return found if _followed(session, run, visit) else []


def parting(session: Session, run: Run, other: Run | None = None) -> Site | None:
    """The first line after which two runs differ: in what a local name holds, or in the line that comes next."""
    one, two = _moments(session, run), _moments(session, other or run)
    return next((a.site for a, b in zip(one, two) if a[1:] != b[1:]), None)


def compiled_apart(session: Session) -> Site | None:
    """The first line at which the objective, run operation by operation, is not what is compiled.

    That is: after it come other lines than while it is traced, or it gives an array that no operation of the program
    gives there.
    """
    given = session.params.leaves, session.batch.leaves, session.objective_key
    try:
        with session.watch.eagerly():
            traced = trace(session.engine, of_objective(session), *given)
    except Exception:  # an operation that cannot be run by itself
        return None
    there: dict[tuple[str, int], list[Any]] = {}
    for operation in traced.operations:
        if operation.site is not None:
            made = (traced.values[i] for i in operation.outputs)
            there.setdefault(operation.site[:2], []).extend(x for x in made if is_float(x))
    eager, tracing = (_arrays(session, lambda call=call: call(of_objective(session), *given))  # type: ignore[misc]
                      for call in (session.engine.call, session.engine.types))
    for (site, place, arrays), (_, other, _) in zip(eager, tracing):
        values = there.get(site[:2], ()) if site is not None else ()
        if place != other or (values and not all(any(_close(x, y) for y in values) for x in arrays)):
            return site
    return None


def _arrays(session: Session, run: Run) -> list[tuple[Site | None, Any, list[Any]]]:
    """For every moment of a run the line that was run, the one that comes, and the arrays of floats that are new."""
    found: list[tuple[Site | None, Any, list[Any]]] = []
    seen: dict[int, Any] = {}

    def visit(step: Step) -> None:
        values = [*step.frame.f_locals.values()] + [step.value] * (step.event == "return")
        new = {id(x): x for x in values if isinstance(x, session.engine.array) and id(x) not in seen}
        seen.update(new)
        found.append((step.site, (step.frame.f_code.co_filename, step.frame.f_lineno, step.event),
                      [session.engine.to_numpy(x) for x in new.values() if step.event != "call" and is_float(x)]))

    return found if _followed(session, run, visit) else []


def _close(x: Any, y: Any) -> bool:
    return bool(np.shape(x) == np.shape(y) and distance(x, y).relative < 1e-3)
