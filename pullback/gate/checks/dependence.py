"""What results depend on: every input, feature and object that should matter does, and padding does not.

Part of the check `transforms`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.gate.errors import UsageError
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.sites import of_function
from pullback.gate.values import Key, as_like, distance, is_float, number

__all__ = ["inputs", "padding"]

_FEATURES = 64  # features of a leaf that are tried one by one


def _loss(session: Session) -> Callable[[Sequence[Any]], list[Any]]:
    """The compiled objective as a function of the batch, at parameters with noise."""
    params = session.jittered()
    return lambda batch: [session.value(params, batch)]


def _answer(function: Callable[[Sequence[Any]], list[Any]], batch: Sequence[Any]) -> list[Any] | None:
    """None for a batch that the model refuses."""
    try:
        return function(batch)
    except Exception:
        return None


def _moves(function: Callable[[Sequence[Any]], list[Any]], standard: list[Any], batches: Iterator[list[Any]]
           ) -> bool | None:
    """Whether any of the changed batches gives another result; None if all are refused."""
    refused = True
    for batch in batches:
        found = _answer(function, batch)
        if found is not None:
            refused = False
            if any(distance(a, b).largest > 0 for a, b in zip(standard, found)):
                return True
    return None if refused else False


def inputs(session: Session, record: Recorder) -> None:
    """The result depends on every leaf of the batch, on its named features, and on every object."""
    function = _loss(session)
    standard = function(session.batch.leaves)
    line = of_function(session.function())
    matters = []
    for i, path in enumerate(session.batch.paths):
        leaf, shown = session.batch.leaves[i], session.shown("batch", path)
        if isinstance(leaf, Key) or not np.size(leaf):
            continue
        moved = _moves(function, standard, ([*session.batch.leaves[:i], other, *session.batch.leaves[i + 1:]]
                                            for other in _others(session, i)))
        record.measure("the result depends on", leaf=shown, answer=moved)
        reason = next((reason for pattern, reason in session.model.unused.items()
                       if fnmatch.fnmatchcase(path, pattern)), "")
        if moved:
            matters.append(i)
            _features(session, record, function, standard, i, shown)
        elif moved is False and reason:
            record.note("an input changes nothing, on purpose", leaf=shown, measured=reason)
        elif moved is False:
            record.fail("an input changes nothing", leaf=shown, measured="equal results for other values",
                        expected="another result", line=line,
                        fix="use it, or take it out of the batch, or declare Model(unused={path: reason})")
    if matters:
        _objects(session, record, function, standard, matters)


def _others(session: Session, i: int) -> Iterator[Any]:
    """Other values of a leaf of the batch, near the standard ones and within its declared range."""
    leaf = session.batch.leaves[i]
    x = number(leaf).real
    rng = np.random.default_rng((session.seed, 7, i))
    if x.ndim and x.size > 1:
        yield as_like(session.within(i, np.roll(x.ravel(), 1).reshape(x.shape)), leaf)
        yield as_like(session.within(i, rng.permutation(x.ravel()).reshape(x.shape)), leaf)
    if str(getattr(leaf, "dtype", type(leaf).__name__)) == "bool":
        yield as_like(~x.astype(bool), leaf)
        return
    for scale in (0.5, 3.0):
        moved = x + scale * (rng.standard_normal(x.shape) * (np.std(x) or 1.0) if is_float(leaf) else 1)
        yield as_like(session.within(i, moved), leaf)
    yield as_like(session.within(i, np.clip(x - 1, 0 if x.min() >= 0 else -np.inf, np.inf)), leaf)


def _features(session: Session, record: Recorder, function: Any, standard: list[Any], i: int, shown: str) -> None:
    """Each column of a leaf matters; a failure if the contract names them, else a note."""
    contract = session.model.contract
    names = list(contract.features.get(shown, ())) if contract is not None else []
    leaf = session.batch.leaves[i]
    if np.ndim(leaf) < 2 or not is_float(leaf) or not 1 < np.shape(leaf)[-1] <= _FEATURES:
        return
    rest = session.batch.leaves
    idle = []
    for column in range(np.shape(leaf)[-1]):
        def changed(column: int = column) -> Iterator[list[Any]]:
            for other in _others(session, i):
                x = np.array(leaf)
                x[..., column] = other[..., column]
                yield [*rest[:i], x, *rest[i + 1:]]
        if _moves(function, standard, changed()) is False:
            idle.append(str(names[column]) if column < len(names) else f"number {column}")
    record.measure("features that change nothing", leaf=shown, names=idle)
    if idle:
        tell = record.fail if names else record.note
        tell("features change nothing", leaf=shown, measured=", ".join(idle),
             expected="another result for other values", line=of_function(session.function()),
             fix="look for a slice that leaves them out, or drop them from the data")


def _objects(session: Session, record: Recorder, function: Any, standard: list[Any], places: list[int]) -> None:
    """Each object matters, where most do; those with zeros in a mask or a weight need not."""
    if session.count < 3:
        return
    masks = [leaf for leaf in session.batch.leaves
             if not isinstance(leaf, Key) and set(np.unique(number(leaf))) <= {0, 1}]
    idle = []
    for row in range(session.count):
        if any(not np.any(session.take(mask, [row])) for mask in masks):
            continue

        def changed(row: int = row) -> Iterator[list[Any]]:
            for other in range(session.count):
                if other != row:
                    rows = [other if k == row else k for k in range(session.count)]
                    yield [session.take(leaf, rows) for leaf in session.batch.leaves]
            drawn = {i: list(_others(session, i)) for i in places}
            for draw in range(max(map(len, drawn.values()))):
                batch = list(session.batch.leaves)
                for i in places:
                    x, other = np.array(batch[i]), drawn[i][draw % len(drawn[i])]
                    axis = session.model.batch_axis or 0
                    np.moveaxis(x, axis, 0)[row] = np.moveaxis(np.asarray(other), axis, 0)[row]
                    batch[i] = x
                yield batch
        if _moves(function, standard, changed()) is False:
            idle.append(row)
    record.measure("objects that change nothing", rows=idle)
    if idle and len(idle) < session.count / 2:
        record.fail("objects of the batch change nothing", leaf="batch", measured=f"numbers {idle}",
                    expected="another result for other values", line=of_function(session.function()),
                    fix="look for a slice that is one short, or for a mask that is one off")


def padding(session: Session, record: Recorder) -> None:
    """What the declared mask or lengths call padding does not change results, and what they keep does."""
    place, valid = _valid(session)
    function = _loss(session)
    standard = function(session.batch.leaves)
    line = of_function(session.function())
    for padded, spots in ((True, ~valid), (False, valid)):
        for i, leaf in enumerate(session.batch.leaves):
            if i == place or isinstance(leaf, Key) or np.shape(leaf)[:valid.ndim] != valid.shape:
                continue
            shown = session.shown("batch", session.batch.paths[i])
            for spot in [spots] if padded else _edges(spots):
                moved = _moves(function, standard, _changed_there(session, i, spot))
                where = "padding" if padded else f"the kept entry {[int(k[0]) for k in np.nonzero(spot)]}"
                record.measure("padding", leaf=shown, entries=where, moves=moved)
                if padded and moved:
                    record.fail("padding changes the result", leaf=shown, measured="another result for other padding",
                                expected="an equal result", line=line,
                                fix="mask before every sum, mean, maximum and softmax; look for a mask that is one off")
                elif not padded and moved is False:
                    record.fail("an entry that is no padding changes nothing", leaf=shown, measured=where, line=line,
                                expected="another result", fix="look for a mask that is one off")
                    break


def _changed_there(session: Session, i: int, spot: np.ndarray) -> Iterator[list[Any]]:
    """Batches with other values of a leaf where a mask is set."""
    leaf, rest = session.batch.leaves[i], session.batch.leaves
    for other in _others(session, i):
        x = np.array(leaf)
        x[spot] = np.asarray(other)[spot]
        if not np.array_equal(x, leaf):
            yield [*rest[:i], x, *rest[i + 1:]]


def _edges(valid: np.ndarray) -> Iterator[np.ndarray]:
    """Masks of one kept entry each: the first and the last of the first rows."""
    for row in np.ndindex(valid.shape[:-1]):
        places = np.flatnonzero(valid[row])
        for place in dict.fromkeys([*places[:1], *places[-1:]]):
            spot = np.zeros(valid.shape, bool)
            spot[(*row, place)] = True
            yield spot


def _valid(session: Session) -> tuple[int, np.ndarray]:
    """The place of the leaf that says what is padding, and a mask of what is none."""
    model = session.model
    if model.padding not in session.batch.paths:
        raise UsageError(f"padding names the leaf {model.padding!r}, which the batch does not have",
                         f"use one of {', '.join(session.batch.paths)}")
    place = session.batch.paths.index(model.padding)
    x = number(session.batch.leaves[place])
    if set(np.unique(x)) <= {0.0, 1.0}:
        valid = x != 0
    else:  # lengths, along the axis after theirs
        size = max((np.shape(leaf)[x.ndim] for leaf in session.batch.leaves
                    if not isinstance(leaf, Key) and np.ndim(leaf) > x.ndim and np.shape(leaf)[:x.ndim] == x.shape),
                   default=0)
        valid = np.arange(size) < x[..., None]
    if valid.all() or not valid.any():
        raise UsageError("the standard batch has no padding, or nothing else", "take a batch in which some is padded")
    return place, valid
