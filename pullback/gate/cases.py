"""The case set of a record: the batches that a model is run on, and what comes out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.gate.batches import at_bound, changed
from pullback.gate.errors import UsageError
from pullback.gate.model import Generated
from pullback.gate.parts import available, part_function, run_part
from pullback.gate.report import shown
from pullback.gate.session import Session
from pullback.gate.values import Key, is_float

__all__ = ["Case", "Outcome", "cases", "evaluate", "key_stream"]

STANDARD = "standard batch"


@dataclasses.dataclass
class Case:
    """One batch, and how it is made: "values", or "generator" where they are made anew."""

    name: str
    paths: list[str]
    leaves: list[Any]
    origin: str = "values"
    seed: int | None = None
    structure: Any = None  # None: that of the standard batch


@dataclasses.dataclass
class Outcome:
    """What a case gave: leaves by place ("gradients/w"), or an error."""

    leaves: dict[str, Any]
    error: dict[str, str] | None = None


def kind_of(error: Exception) -> str:
    """The name of the error's class among Python's own: engines have subclasses of these, each its own."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def cases(session: Session) -> Iterator[Case]:
    """The case set of a model: the same for the same model."""
    batch, paths = session.batch.leaves, session.batch.paths
    yield Case(STANDARD, paths, batch)
    if session.count > 1:
        yield Case("single object", paths, [session.take(leaf, [0]) for leaf in batch])
    if any(is_float(leaf) for leaf in batch):
        yield Case("zeros", paths, changed(session, lambda x, spec, name: np.zeros_like(x)))
        if any((spec := session.batch_spec(i)) is not None and spec.bounded for i in range(len(batch))):
            yield Case("lower bounds", paths, changed(session, lambda x, spec, name: at_bound(x, spec, -1)))
            yield Case("upper bounds", paths, changed(session, lambda x, spec, name: at_bound(x, spec, 1)))
        else:
            yield Case("large values", paths, changed(session, lambda x, spec, name: _scaled(x, 1e3)))
            yield Case("tiny values", paths, changed(session, lambda x, spec, name: _scaled(x, 1e-4)))
    ranks = [0 if isinstance(leaf, Key) else len(getattr(leaf, "shape", ())) for leaf in batch]
    if any(ranks):
        place = int(np.argmax(ranks))
        wider = [np.concatenate([leaf, leaf[..., :1]], -1) if i == place else leaf for i, leaf in enumerate(batch)]
        yield Case("invalid shape", paths, wider)
    standard = session.batch_tree()
    for bad in session.model.refused:
        if bad.params is None:
            yield _by_hand(session, f"refused: {bad.what}", bad.batch, standard)
    for name, given in session.model.cases.items():
        yield _by_hand(session, name, given, standard)


def _by_hand(session: Session, name: str, given: Any, standard: Any) -> Case:
    seed = given.seed if isinstance(given, Generated) else None
    batch = given.make(given.seed) if isinstance(given, Generated) else given(standard) if callable(given) else given
    tree = session.tree(batch)
    return Case(name, tree.paths, tree.leaves, "values" if seed is None else "generator", seed, tree.structure)


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    return x * factor


def evaluate(session: Session, case: Case, params: list[Any] | None = None, key: Any = None) -> Outcome:
    """Every part of the model on a case, compiled; the first error ends it."""
    found: dict[str, Any] = {}
    given = session.params.leaves if params is None else params
    before = session.batch
    if case.structure is not None:
        session.batch = dataclasses.replace(before, structure=case.structure)
    try:
        for part in available(session):
            if part == "updated" and case.name != STANDARD:
                continue  # an update is run once: it may count its steps
            names, leaves = run_part(session, part, given, case.leaves, key)
            found.update(zip(names, leaves, strict=True))
    except UsageError:
        raise
    except Exception as error:
        site = session.site(error)
        return Outcome({}, {"type": kind_of(error), "message": shown(error).partition(": ")[2],
                            "line": "" if site is None else str(site).partition(" in ")[2]})
    finally:
        session.batch = before
    return Outcome(found)


def key_stream(session: Session, params: list[Any] | None = None, batch: list[Any] | None = None, key: Any = None
               ) -> list[str]:
    """The random calls of one run, in order, with the keys that they consume; by default on the standard batch."""
    part = "loss" if session.model.loss is not None else "outputs"
    session.engine.forget()
    with session.watch.recording() as events:
        if not session.takes_key:  # a trace is cheap, and shows whether anything is drawn at all
            try:
                session.engine.types(part_function(session, part), session.params.leaves, session.batch.leaves, None)
            except Exception:  # what does not run has a case that says so
                return []
            if not events:
                return []
            events.clear()
            session.engine.forget()
        run_part(session, part, session.params.leaves if params is None else params,
                 session.batch.leaves if batch is None else batch, key, compiled=False)
        session.engine.settle()
    rows = []
    for event in events:
        if event.kind == "random":
            words = " ".join(word.hex() for word in event.words[:4]) + (" ..." if len(event.words) > 4 else "")
            call = " ".join(part for part in (event.name, event.detail, words) if part)
            rows.append(f"{call}  {str(event.site or '').partition(' in ')[2]}".rstrip())
    return rows
