"""A function is run operation by operation, and the first that shows a symptom is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.gate.operations import Operation, Trace, trace
from pullback.gate.session import Session
from pullback.gate.sites import Site
from pullback.gate.values import Key, distance, is_float, number

__all__ = ["broadcast", "coupling", "cut_off", "erased", "flat", "is_intermediate", "mixing", "of_objective",
           "swallowed", "used", "zero_factor"]

_FLAT = ("floor", "ceil", "round", "sign", "stop_gradient", "argmax", "argmin", "round_nearest_even", "rint")
_LOOKS_UP = ("gather", "dynamic_slice", "dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "eq", "clamp")

Function = Callable[[Any, Any, Any], list[Any]]


def of_objective(session: Session) -> Function:
    """The objective as a function for a trace."""
    return lambda params, batch, key: [session.objective(*session.split(params), batch, key)]


def _traced(session: Session, function: Function, params: Sequence[Any], batch: Sequence[Any], key: Any
            ) -> Trace | None:
    try:
        return trace(session.engine, function, list(params), list(batch), key)
    except Exception:  # an operation that cannot be run by itself
        return None


def _pair(session: Session, function: Function, batches: Sequence[Sequence[Any]], key: Any) -> list[Trace]:
    found = [_traced(session, function, session.params.leaves, batch, key) for batch in batches]
    return [one for one in found if one is not None] if all(one is not None for one in found) else []


def _parts(x: Any, n: int, kept: int = 0) -> list[Any]:
    """What may be one object's part of a value: a stretch of an axis that holds n objects."""
    shape = np.shape(number(x)) if not isinstance(x, Key) else ()
    return [np.take(number(x), range(kept * size // n, (kept + 1) * size // n), axis)
            for axis, size in enumerate(shape) if size and size % n == 0]


def _same_shape(x: Any, y: Any) -> bool:
    return np.shape(number(x)) == np.shape(number(y))


def mixing(session: Session, batches: Sequence[Sequence[Any]], key: Any, kept: int) -> Site | None:
    """The first operation of forward whose result for an object differs between batches that share that object."""
    runs = _pair(session, session.forward, batches, key)
    for a, b in zip(runs[0].operations, runs[1].operations) if runs else ():
        for i, j in zip(a.outputs, b.outputs):
            x, y = runs[0].values[i], runs[1].values[j]
            if _same_shape(x, y) and distance(x, y).largest > 0 and not any(
                    distance(p, q).largest <= 1e-6 * distance(p, q).scale
                    for p, q in zip(_parts(x, session.count, kept), _parts(y, session.count, kept))) and a.site:
                return a.site
    return None


def coupling(session: Session, batches: Sequence[Sequence[Any]], key: Any) -> Site | None:
    """The first reduction over objects whose result goes back into values of single objects, or what pairs objects."""
    runs = _pair(session, of_objective(session), batches, key)
    origin: dict[int, Operation] = {}

    def pairs(values: Sequence[int]) -> bool:
        return any(np.shape(number(runs[0].values[i])).count(session.count) > 1 for i in values)

    for a, b in zip(runs[0].operations, runs[1].operations) if runs else ():
        if pairs(a.outputs) and not pairs(a.inputs):
            return a.site
        known = next((origin[i] for i in a.inputs if i in origin), None)
        for i, j in zip(a.outputs, b.outputs):
            x, y = runs[0].values[i], runs[1].values[j]
            if not _same_shape(x, y) or distance(x, y).largest == 0:
                continue
            if not _parts(x, session.count):
                origin[i] = known or a
            elif known is not None:
                return known.site
    return None


def is_intermediate(session: Session, output: int) -> bool:
    """Whether forward computes something else from what it returns as an output."""
    found = _traced(session, session.forward, session.params.leaves, session.batch.leaves,
                    session.key_if(session.model.forward, session.key))
    return found is not None and any(found.outputs[output] in operation.inputs for operation in found.operations)


def _dependent(found: Trace, start: int) -> set[int]:
    """The values that depend on one."""
    reached = {start}
    for operation in found.operations:
        if reached.intersection(operation.inputs):
            reached.update(operation.outputs)
    return reached


def _first(found: Trace | None, start: int, shows: Callable[[Trace, Operation, set[int]], bool]) -> Site | None:
    """The line of the first operation after a value that shows something."""
    if found is None:
        return None
    reached = _dependent(found, found.inputs[start])
    for operation in found.operations:
        if operation.site and reached.intersection(operation.inputs) and shows(found, operation, reached):
            return operation.site
    return None


def _is_flat(found: Trace, operation: Operation, reached: set[int]) -> bool:
    given = [found.values[i] for i in operation.inputs if i in reached]
    return any(map(is_float, given)) and (operation.name in _FLAT or not any(is_float(found.values[i])
                                                                           for i in operation.outputs))


def flat(session: Session, leaf: int, params: Sequence[Any]) -> Site | None:
    """The first operation after a parameter through which no derivative goes: a step, a cast, a comparison."""
    found = _traced(session, of_objective(session), params, session.batch.leaves, session.objective_key)
    return _first(found, leaf, _is_flat)


def zero_factor(session: Session, leaf: int) -> Site | None:
    """The first product of what a parameter leads to with zeros."""
    def shows(found: Trace, operation: Operation, reached: set[int]) -> bool:
        others = [found.values[i] for i in operation.inputs if i not in reached]
        return operation.name in ("mul", "dot_general") and any(is_float(x) and not np.any(number(x)) for x in others)

    found = _traced(session, of_objective(session), session.params.leaves, session.batch.leaves, session.objective_key)
    return _first(found, leaf, shows)


def erased(session: Session, leaf: int) -> Site | None:
    """The operation that makes zeros of what a parameter leads to, or the zeros that it is multiplied by."""
    found = _traced(session, of_objective(session), session.params.leaves, session.batch.leaves, session.objective_key)
    if found is None:
        return None
    makers = {i: operation for operation in found.operations for i in operation.outputs}
    reached, first = _dependent(found, found.inputs[leaf]), None

    def is_zero(i: int) -> bool:
        x = found.values[i]
        return is_float(x) and not np.any(number(x))

    def maker(i: int) -> Operation | None:
        """What made zeros of other numbers; None if they were zeros from the start."""
        while i in makers:
            if not all(is_zero(j) for j in makers[i].inputs if is_float(found.values[j])):
                return makers[i]
            zeros = [j for j in makers[i].inputs if is_zero(j)]
            if not zeros:
                return None
            i = zeros[0]
        return None

    for operation in found.operations:
        alive = any(i in reached and is_float(found.values[i]) and not is_zero(i) for i in operation.inputs)
        if not alive or not all(map(is_zero, operation.outputs)):
            continue
        first = first or operation.site
        made = [by for i in operation.inputs if is_zero(i) and (by := maker(i)) is not None]
        if made:
            return made[0].site
    return first


def used(session: Session, leaf: int) -> Site | None:
    """The first operation that takes a parameter."""
    found = _traced(session, of_objective(session), session.params.leaves, session.batch.leaves, session.objective_key)
    return _first(found, leaf, lambda found, operation, reached: True)


def _of_tree(session: Session, batch: Any) -> Trace | None:
    """A run of the objective on a batch of any structure."""
    leaves, _, structure = session.engine.flatten(batch)
    objective = session.loss_of_trees if session.model.loss is not None else session.forward_of_trees

    def function(params: Any, given: Any, key: Any) -> list[Any]:
        tree = session.engine.unflatten(session.params.structure, params)
        result = objective(tree, session.engine.unflatten(structure, given), key)
        found: list[Any] = session.engine.flatten(result)[0]
        return found

    try:
        given = [session.engine.to_numpy(leaf) for leaf in leaves]
    except Exception:  # no arrays
        return None
    return _traced(session, function, session.params.leaves, given, session.objective_key)


def _place(session: Session, leaf: str) -> int | None:
    """The number of a leaf of the batch among the inputs of a trace."""
    paths = [session.shown("batch", path) for path in session.batch.paths]
    return len(session.params.leaves) + paths.index(leaf) if leaf in paths else None


def swallowed(session: Session, batch: Any) -> Site | None:
    """The first operation that is given a NaN and returns none."""
    found = _of_tree(session, batch)
    for operation in found.operations if found is not None else ():
        assert found is not None
        given, made = ([number(found.values[i]) for i in part if is_float(found.values[i])]
                       for part in (operation.inputs, operation.outputs))
        lost = any(np.isnan(x).any() for x in given) and made and not any(np.isnan(x).any() for x in made)
        if lost and operation.site:
            return operation.site
    return None


def broadcast(session: Session, batch: Any, leaf: str) -> Site | None:
    """The first operation that makes more of the batch, or else of one leaf, than it does of the standard batch."""
    found, standard, place = _of_tree(session, batch), _of_tree(session, session.batch_tree()), _place(session, leaf)
    if found is None or standard is None:
        return None

    def size(run: Trace, values: Iterable[int]) -> int:
        return max((np.size(number(run.values[i])) for i in values), default=0)

    sizes: dict[Site | None, int] = {}
    for operation in standard.operations:
        sizes[operation.site] = max(sizes.get(operation.site, 0), size(standard, operation.outputs))
    for operation in found.operations:
        made = size(found, operation.outputs)
        if operation.site and made > size(found, operation.inputs) and made > sizes.get(operation.site, 0):
            return operation.site
    if place is None:
        return None
    usual, growth = (_growth(run, place) for run in (standard, found))
    return next((site for site, times in growth.items() if site and times > usual.get(site, 1.0)), None)


def _growth(found: Trace, place: int) -> dict[Site | None, float]:
    """By how much the lines make values larger that depend on an input."""
    growth: dict[Site | None, float] = {}
    reached = _dependent(found, found.inputs[place])
    for operation in found.operations:
        given = [np.size(number(found.values[i])) for i in operation.inputs if i in reached]
        if given:
            made = max((np.size(number(found.values[i])) for i in operation.outputs), default=0)
            growth[operation.site] = max(growth.get(operation.site, 0.0), made / max(*given, 1))
    return growth


def cut_off(session: Session, batch: Any, leaf: str, cast: bool = False) -> Site | None:
    """The first operation that looks up an index from a leaf, or (cast) makes integers of it."""
    place = _place(session, leaf)
    if place is None:
        return None
    return _first(_of_tree(session, batch), place, _is_flat if cast else lambda found, operation, reached:
                  operation.name in _LOOKS_UP)
