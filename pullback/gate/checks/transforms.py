"""transforms: eager, compiled and mapped runs agree leaf by leaf, and an object's result is its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate import blame
from pullback.gate.checks import dependence
from pullback.gate.checks.base import Check
from pullback.gate.report import Recorder, shown
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.values import Distance, Key, distance, is_float, number

__all__ = ["CHECK"]

_OBJECTS = 4  # objects that are run one by one


def _run(session: Session, record: Recorder) -> None:
    for part in CHECK.parts:
        part(session, record)


def _objects(session: Session, record: Recorder) -> None:
    if session.model.coupled:
        record.note("objects depend on their neighbours on purpose", measured=session.model.coupled)
    elif session.count > 1:
        if session.model.forward is not None:
            _independent(session, record)
        if session.model.loss is not None or session.model.forward is None:
            _separable(session, record)


def _padding(session: Session, record: Recorder) -> None:
    if session.model.padding:
        dependence.padding(session, record)


def _agree(session: Session, record: Recorder, what: str, paths: Sequence[str], one: Sequence[Any],
           other: Sequence[Any], fix: str, function: Any = None, where: Callable[[], Site | None] = lambda: None
           ) -> bool:
    """Compares lists of leaves; the scale of a leaf is at least a hundredth of that of all. `where` finds the line."""
    overall = max((distance(a, a).scale for a in one), default=0.0)
    fine = True
    for path, a, b in zip(paths, one, other, strict=True):
        tolerance = session.tolerance(path, a)
        gap = distance(a, b, 0.01 * overall)
        bound = tolerance.absolute + tolerance.relative * gap.scale
        record.measure(what, leaf=path, difference=gap.largest, tolerance=bound)
        if gap.largest > bound:
            fine = False
            record.fail(f"{what} disagree", leaf=path, measured=_shown(a, b, gap),
                        expected=f"equal to {bound:.2g} ({tolerance.reason})",
                        line=where() or of_function(function or session.function()), fix=fix)
    return fine


def _shown(a: Any, b: Any, gap: Distance) -> str:
    if np.shape(number(a)) != np.shape(number(b)):
        return f"shapes {list(np.shape(number(a)))} and {list(np.shape(number(b)))}"
    place = f" at {list(gap.place)}" if gap.place else ""
    return f"{number(a)[gap.place]:.8g} and {number(b)[gap.place]:.8g}{place}"


def _compiled(session: Session, record: Recorder) -> None:
    engine = session.engine
    trainable, fixed = session.split(session.params.leaves)
    batch, key = session.batch.leaves, session.objective_key
    paths = [session.objective_name, *(session.shown("gradients", session.path(i)) for i in range(len(trainable)))]
    with session.watch.eagerly():
        value, gradients = engine.call(engine.value_and_grad(session.objective), trainable, fixed, batch, key)
    compiled_value, compiled = session.evaluate()
    fix = ("look for Python control flow, NumPy calls and print-time values that a trace freezes; if it is rounding, "
           "declare a Tolerance with the reason")
    _agree(session, record, "eager and compiled gradients", paths, [value, *gradients],
           [compiled_value, *compiled], fix, where=functools.cache(lambda: blame.compiled_apart(session)))
    if session.model.forward is not None and session.model.loss is not None:
        key = session.key_if(session.model.forward, session.key)
        with session.watch.eagerly():
            outputs = engine.call(session.forward, session.params.leaves, batch, key)
        paths = [session.shown("outputs", path) for path in session.output_paths]
        compiled = engine.call(session.outputs, session.params.leaves, batch, key)
        _agree(session, record, "eager and compiled outputs", paths, outputs, compiled, fix, session.model.forward)


def _result(session: Session) -> Any:
    """What is mapped: the outputs if there is a forward, else the loss, as a function of leaves giving a list."""
    if session.model.forward is not None:
        return session.forward
    return lambda params, batch, key: [session.loss(params, batch, key)]


def _paths(session: Session) -> list[str]:
    if session.model.forward is None:
        return ["loss"]
    return [session.shown("outputs", path) for path in session.output_paths]


def _mapped(session: Session, record: Recorder) -> None:
    """vmap over batches (single objects where the model has no key) gives what a loop over them gives."""
    engine, function = session.engine, session.model.forward or session.model.loss
    key = session.key_if(function, session.key)
    params = session.params.leaves
    if not session.batch.leaves:
        if params and key is None:
            _mapped_params(session, record)
        return
    batches = [session.batch.leaves]
    single = session.count > 1 and key is None
    if session.count > 1:
        rows = range(min(session.count, _OBJECTS))
        batches = [[session.take(leaf, [i] if single else np.roll(range(session.count), i).tolist()) for leaf in
                    session.batch.leaves] for i in (rows if single else range(2))]
    result = _result(session)
    compiled = engine.jit(result)
    try:
        looped = [engine.call(compiled, params, batch, key) for batch in batches]
    except Exception as error:
        if not single:
            raise
        record.note("single objects: the model refuses a batch of one", line=session.site(error),
                    measured=shown(error))
        return
    stacked = [_stack([batch[i] for batch in batches]) for i in range(len(session.batch.leaves))]
    mapped = engine.call(engine.jit(engine.vmap(result, (None, 0, None))), params, stacked, key)
    what = "vmap over single objects and a loop over them" if single else "vmap over batches and a loop over them"
    _agree(session, record, what, _paths(session), [_stack(list(column)) for column in zip(*looped)], mapped,
           "look for axes that are counted from the front, and for reshape(-1) or sums that take the mapped axis in")


def _mapped_params(session: Session, record: Recorder) -> None:
    """Without a batch: vmap over two sets of parameters."""
    engine = session.engine
    sets = [session.split(leaves) for leaves in (session.params.leaves, session.jittered())]
    result = _result(session)

    def of_trainable(trainable: Any) -> Any:
        return result(session.merge(trainable, engine.from_numpy(sets[0][1])), [], None)

    looped = [engine.call(engine.jit(of_trainable), trainable) for trainable, _ in sets]
    stacked = [_stack([np.asarray(trainable[i]) for trainable, _ in sets]) for i in range(len(session.trainable))]
    mapped = engine.call(engine.jit(engine.vmap(of_trainable, 0)), stacked)
    _agree(session, record, "vmap over arguments and a loop over them", _paths(session),
           [_stack(list(column)) for column in zip(*looped)], mapped,
           "look for axes that are counted from the front, and for reshape(-1) or sums that take the mapped axis in")


def _stack(leaves: list[Any]) -> Any:
    if isinstance(leaves[0], Key):
        return Key(np.stack([leaf.words for leaf in leaves]), leaves[0].kind)
    return np.stack([np.asarray(leaf) for leaf in leaves])


def _independent(session: Session, record: Recorder) -> None:
    """The outputs of the first and the last object stay when all others are replaced, and when one is alone."""
    engine, key = session.engine, session.key_if(session.model.forward, session.key)
    params, n = session.params.leaves, session.count
    compiled = session.outputs
    whole = engine.call(compiled, params, session.batch.leaves, key)
    axis = session.model.batch_axis or 0
    if not all(np.ndim(x) > axis and np.shape(x)[axis] == n for x in whole):
        record.note("the outputs have no axis of objects, so whether objects mix is not looked at",
                    measured=", ".join(str(list(np.shape(x))) for x in whole))
        return
    fix = ("look for a mean, a softmax or a normalisation over axis 0, and for a reshape that mixes objects; if it is "
           "meant, declare Model(coupled=reason)")
    for kept, other in ((0, 1), (n - 1, 0)):  # no permutation, which sums over objects would not notice
        rows = [kept if i == kept or n == 2 else other for i in range(n)]
        batch = [session.take(leaf, rows) for leaf in session.batch.leaves]

        def of_kept(leaves: Sequence[Any], kept: int = kept) -> list[Any]:
            return [session.take(leaf, [kept]) for leaf in leaves]

        def where(batch: list[Any] = batch, kept: int = kept) -> Site | None:
            return blame.mixing(session, [session.batch.leaves, batch], key, kept)

        if not _agree(session, record, "outputs of an object with other neighbours", _paths(session), of_kept(whole),
                      of_kept(engine.call(compiled, params, batch, key)), fix, session.model.forward, where):
            return
    if key is None:
        try:
            alone = engine.call(compiled, params, of_kept(session.batch.leaves), key)
        except Exception as error:
            record.note("single objects: the model refuses a batch of one", line=session.site(error),
                        measured=shown(error))
            return
        _agree(session, record, "outputs of an object alone and in its batch", _paths(session), of_kept(whole), alone,
               fix, session.model.forward)


def _feeds_outputs(session: Session, batch: Sequence[Any]) -> bool:
    """Whether the outputs change with the batch."""
    key = session.key_if(session.model.forward, session.key)
    one, other = (session.engine.call(session.outputs, session.params.leaves, leaves, key)
                  for leaves in (session.batch.leaves, batch))
    return any(distance(a, b).largest > 0 for a, b in zip(one, other))


def _separable(session: Session, record: Recorder) -> None:
    """The loss is a sum over objects, so that mixed second differences between two of them vanish.

    Only float leaves that are no masks are exchanged: a change of a mask may change what the loss is divided by. Where
    there is a forward, which has been looked at, leaves that mix by themselves are taken for weights too.
    """
    if session.count < 4:
        return
    places = [i for i, leaf in enumerate(session.batch.leaves)
              if is_float(leaf) and not set(np.unique(number(leaf))) <= {0.0, 1.0}]
    if not places:
        record.note("the batch has no floats to exchange, so whether objects mix is not looked at: declare forward")
        return

    def exchanged(chosen: Sequence[int], *objects: int) -> list[Any]:
        rows = list(range(session.count))
        for i in objects:
            rows[i] = i + 2
        return [session.take(leaf, rows) if i in chosen else leaf for i, leaf in enumerate(session.batch.leaves)]

    def mixed(chosen: Sequence[int]) -> tuple[float, float]:
        """The mixed difference, and the largest that rounding explains."""
        values = [float(number(session.value(session.params.leaves, exchanged(chosen, *objects))).real)
                  for objects in ((), (0,), (1,), (0, 1))]
        tolerance = session.tolerance("loss", session.evaluate()[0])
        bound = max(tolerance.relative, 1e-5) * max(map(abs, values)) + tolerance.absolute
        return values[0] - values[1] - values[2] + values[3], bound

    if session.model.forward is not None:
        alone = {i: mixed([i]) for i in places}
        weights = [i for i, (gap, bound) in alone.items()
                   if abs(gap) > bound and not _feeds_outputs(session, exchanged([i], 0))]
        if weights:
            record.note("what one object adds to the loss depends on a leaf of others, as weights do", leaf=", ".join(
                session.shown("batch", session.batch.paths[i]) for i in weights))
        places = [i for i in places if i not in weights]
    gap, bound = mixed(places)
    record.measure("mixed difference of the loss between two objects", value=gap, tolerance=bound)
    if abs(gap) > bound:
        record.fail("objects mix: what one adds to the loss depends on another", leaf="loss",
                    measured=f"mixed difference {gap:.6g}", expected=f"0 to {bound:.2g}",
                    line=blame.coupling(session, [exchanged(places), exchanged(places, 0, 1)], session.objective_key)
                    or of_function(session.function()),
                    fix="look for (n,) beside (n, 1), for a mean, a softmax or a normalisation over axis 0; if it is "
                        "meant, declare Model(coupled=reason), or forward, whose outputs are then looked at instead")


CHECK = Check("transforms", "eager, jit, vmap and the gradient under jit agree; objects do not mix; inputs matter",
              _run, (_compiled, _mapped, _objects, dependence.inputs, _padding))
