"""data: the splits of the data share no object, keep the contract of the batch, and are prepared alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from pullback.gate.blame import Origins, leak, mentions, written
from pullback.gate.checks.base import Check
from pullback.gate.model import Pipeline
from pullback.gate.report import Recorder
from pullback.gate.session import Session, Tree
from pullback.gate.sites import Site, of_function
from pullback.gate.values import Key, as_like, digest, distance, is_float, number

__all__ = ["CHECK"]

_DISTINCT = 0.9  # share of distinct rows from which on a leaf is taken to tell objects apart
_BLOCK = 256  # objects compared with all others at a time


def _run(session: Session, record: Recorder) -> None:
    splits = dict(session.model.splits)
    if session.model.pipeline is not None:
        splits = _prepared(session, record, session.model.pipeline) | splits
    if len(splits) < 2:
        record.skip("fewer than two splits are declared: Model(splits={'train': ..., 'test': ...})")
        return
    trees = {name: session.tree(tree) for name, tree in splits.items()}
    for name, tree in splits.items():
        _as_batch(session, record, name, tree)
    digests = {name: _digests(session, tree.leaves) for name, tree in trees.items()}
    for name, found in digests.items():
        record.measure("split", name=name, objects=len(found), distinct=len(set(found)))
    for one, other in combinations(digests, 2):
        if not _shared(session, record, "objects", one, other, digests[one], digests[other], f"splits/{other}"):
            _same_input(session, record, one, other, trees)
            if session.model.near is not None:
                _near(session, record, one, other, trees, session.model.near)


CHECK = Check("data", "train, validation and test share no object, and are prepared alike", _run)


def _shared(session: Session, record: Recorder, what: str, one: str, other: str, first: list[str], second: list[str],
            leaf: str) -> bool:
    places = {content: i for i, content in enumerate(first)}
    shared = [(places[content], j) for j, content in enumerate(second) if content in places]
    record.measure(f"shared {what}", splits=[one, other], leaf=leaf, count=len(shared))
    if shared:
        record.fail(f"{one} and {other} share {what}",
                    measured=f"{len(shared)} shared; the first is number {shared[0][0]} of {one} and "
                             f"{shared[0][1]} of {other}",
                    expected="none", leaf=leaf, line=_of_pair(session, one, other),
                    fix="split before anything is repeated or augmented, and drop duplicates")
    return bool(shared)


def _of_pair(session: Session, one: str, other: str) -> Site | None:
    """The line of the split that is made from the other one, or of the second."""
    made = one if mentions(session.model, "splits", one, other) else other
    return written(session.model, "splits", made)


def _same_input(session: Session, record: Recorder, one: str, other: str, trees: dict[str, Tree]) -> None:
    """One input with two labels is in both: leaves of floats that tell objects apart are compared alone."""
    for path, a, b in zip(trees[one].paths, trees[one].leaves, trees[other].leaves):
        first, second = ([digest(row) for row in _rows(session, leaf)] for leaf in (a, b))
        if is_float(a) and np.ndim(a) > 1 and len(set(first)) >= _DISTINCT * len(first) > 0:
            _shared(session, record, "inputs with other labels", one, other, first, second, f"splits/{other}/{path}")


def _near(session: Session, record: Recorder, one: str, other: str, trees: dict[str, Tree], near: float) -> None:
    """Objects that are nearer than `near` times the root mean square distance from the mean."""
    there = [any(is_float(leaf) and _rows(session, leaf) for leaf in trees[name].leaves) for name in (one, other)]
    if not all(there):
        return
    rows = [np.concatenate([np.stack([number(row).real.ravel() for row in _rows(session, leaf)])
                            for leaf in trees[name].leaves if is_float(leaf) and len(_rows(session, leaf))], axis=1)
            for name in (one, other)]
    spread = float(np.sqrt(np.mean(np.sum((rows[0] - rows[0].mean(0)) ** 2, axis=1)))) or 1.0
    best = (np.inf, 0, 0)
    for start in range(0, len(rows[1]), _BLOCK):
        part = rows[1][start:start + _BLOCK]
        squares = np.sum(part**2, 1)[:, None] - 2 * part @ rows[0].T + np.sum(rows[0] ** 2, 1)
        j, i = np.unravel_index(int(np.argmin(squares)), squares.shape)
        gap = float(np.linalg.norm(part[j] - rows[0][i]))  # what squares cancel to is not exact
        best = min(best, (gap, int(i), start + int(j)))
    record.measure("nearest objects", splits=[one, other], distance=best[0] / spread, objects=best[1:])
    if best[0] <= near * spread:
        record.fail(f"{one} and {other} share objects that are almost equal", leaf=f"splits/{other}",
                    measured=f"number {best[1]} of {one} and {best[2]} of {other} are {best[0] / spread:.2g} apart, in "
                             "units of the spread of the data", expected=f"more than {near:g}",
                    line=_of_pair(session, one, other),
                    fix="split by what objects have in common (a person, a scene, a day), and then augment")


def _as_batch(session: Session, record: Recorder, name: str, tree: Any) -> None:
    """Where the batch has a contract, each split keeps it."""
    contract = session.model.contract
    if contract is None or session.engine.flatten(tree)[2] != session.batch.structure:
        return
    for problem in contract.problems(batch=tree):
        record.fail(f"{name} breaks the contract of the batch", measured=problem.measured, expected=problem.expected,
                    leaf=problem.leaf.replace("batch", f"splits/{name}", 1),
                    line=_of_split(session, name, problem.leaf.rpartition(" ")[2].partition("/")[2]),
                    fix="prepare every split as the training data; look for a scale that is applied twice or never")


def _of_split(session: Session, name: str, path: str) -> Site | None:
    """The line of a leaf of a split: where it is written, or prepared."""
    pipeline = session.model.pipeline
    if pipeline is None or name in session.model.splits:
        return written(session.model, "splits", f"{name}/{path}" if path else name)
    return _made(session, pipeline, dict(pipeline.raw), name, path)


def _made(session: Session, pipeline: Pipeline, raw: dict[str, Any], name: str, path: str) -> Site | None:
    """The line of the preparation that makes a leaf of a split."""
    origins = Origins(session, lambda: pipeline.prepare(raw), of_function(pipeline.prepare))
    return origins.made(path, lambda splits: splits[name])


def _leak(session: Session, pipeline: Pipeline, raw: dict[str, Any], changed: dict[str, Any],
          fixed: Callable[[Any], list[Any]], free: Callable[[Any], list[Any]], bound: float) -> Site | None:
    """The line by which what must stay changes with the raw data, by more than a bound."""
    def same(one: Any, other: Any) -> bool:
        return all(distance(a, b).relative <= bound for a, b in zip(fixed(one), fixed(other), strict=True))

    return leak(session, pipeline.prepare, raw, changed, same, free) or of_function(pipeline.prepare)


def _prepared(session: Session, record: Recorder, pipeline: Pipeline) -> dict[str, Any]:
    """The prepared splits; training must not depend on the others, nor an object on its neighbours."""
    raw = dict(pipeline.raw)
    splits = dict(pipeline.prepare(raw))
    train, *others = list(raw)

    def leaves(name: str) -> Callable[[Any], list[Any]]:
        return lambda splits: session.tree(splits[name]).leaves

    def first(name: str) -> Callable[[Any], list[Any]]:
        return lambda splits: [row for leaf in leaves(name)(splits) for row in _rows(session, leaf)[:1]]

    def rest(name: str) -> Callable[[Any], list[Any]]:
        return lambda splits: [row for leaf in leaves(name)(splits) for row in _rows(session, leaf)[1:]]

    for name in others:
        changed = {**raw, name: _shifted(session, raw[name])}
        again = session.tree(pipeline.prepare(changed)[train])
        gap = max((distance(a, b).largest if np.shape(a) == np.shape(b) else np.inf for a, b in
                   zip(session.tree(splits[train]).leaves, again.leaves)), default=0.0)
        record.measure("change of the training split with another", split=name, difference=gap)
        if gap > 0:
            record.fail(f"the prepared training split depends on {name}", leaf=f"pipeline/{train}",
                        line=_leak(session, pipeline, raw, changed, leaves(train), leaves(name), 0.0),
                        measured=f"it changes by {gap:.3g} when {name} does", expected="no change",
                        fix="compute means, scales and vocabularies from the training split alone")
        others_changed = {**raw, name: _shifted(session, raw[name], kept=1)}
        alone = session.tree(pipeline.prepare(others_changed)[name])
        for path, a, b in zip(alone.paths, session.tree(splits[name]).leaves, alone.leaves):
            rows = zip(_rows(session, a)[:1], _rows(session, b)[:1])
            moved = max((distance(x, y).relative for x, y in rows), default=0.0)
            if moved > 1e-6:
                record.fail(f"how an object of {name} is prepared depends on its neighbours",
                            line=_leak(session, pipeline, raw, others_changed, first(name), rest(name), 1e-6),
                            leaf=f"pipeline/{name}/{path}", measured=f"it changes by {moved:.3g} when they do",
                            expected="no change", fix="take means and scales from the training split")
                break
        # The training objects in the place of another split must be prepared as they are in training.
        exchanged = {**raw, name: raw[train]}
        swapped = session.tree(pipeline.prepare(exchanged)[name])
        for path, a, b in zip(swapped.paths, session.tree(splits[train]).leaves, swapped.leaves):
            apart = distance(a, b)
            if apart.relative > 1e-6:
                record.fail(f"{name} is prepared in another way than {train}",
                            line=_made(session, pipeline, exchanged, name, path),
                            leaf=f"pipeline/{name}/{path}",
                            measured=f"the same objects differ by {apart.largest:.3g} at {list(apart.place)}",
                            expected="equal", fix="prepare all splits by one function with the statistics of training")
                break
    return splits


def _shifted(session: Session, tree: Any, kept: int = 0) -> Any:
    """Other values in all float leaves, but for the first objects."""
    leaves, _, structure = session.engine.flatten(tree)
    changed = []
    for leaf in leaves:
        x = session.engine.to_numpy(leaf)
        if is_float(x) and np.ndim(x):
            other = as_like(3 * number(x) + 1, x)
            other[:kept] = x[:kept]
            changed.append(other)
        else:
            changed.append(leaf)
    return session.engine.unflatten(structure, changed)


def _rows(session: Session, leaf: Any) -> list[np.ndarray]:
    """The objects of a leaf; none if it has no axis of them."""
    axis = session.model.batch_axis or 0
    x = leaf.words if isinstance(leaf, Key) else np.asarray(leaf)
    return list(np.moveaxis(x, axis, 0)) if x.ndim > axis else []


def _digests(session: Session, leaves: list[Any]) -> list[str]:
    """A digest for each object, over all leaves."""
    columns = [[digest(row) for row in _rows(session, leaf)] for leaf in leaves]
    rows = zip(*[column for column in columns if column])
    return [hashlib.sha256("".join(row).encode()).hexdigest() for row in rows]
