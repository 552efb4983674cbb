"""flow: every trained parameter gets a gradient, every frozen one gets none, and surprises come with their reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.gate import blame
from pullback.gate.checks.base import Check
from pullback.gate.model import BareFunction
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.values import as_like, distance, number

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    if isinstance(session.model, BareFunction):
        record.skip("a function by itself does not say which arguments are parameters: write a gate.Model")
        return
    _, gradients = session.evaluate()
    zero = [_is_zero(g) for g in gradients]
    # A fresh model may have zeros that hold gradients back at this point alone.
    thawed: dict[str, Site | None] = {}
    elsewhere = [_is_zero(g) for g in session.evaluate(session.jittered())[1]] if any(zero) else zero
    for i, gradient in enumerate(gradients):
        path, shown = session.path(i), session.shown("params", session.path(i))
        x = number(gradient)
        record.measure("gradient", leaf=shown, largest=float(np.abs(x).max()) if x.size else 0.0,
                       zeros=float(np.mean(x == 0)) if x.size else 1.0, frozen=session.model.is_frozen(path))
        if session.model.is_frozen(path):
            if not zero[i]:
                record.fail("a frozen parameter gets a gradient", leaf=shown, expected="zero",
                            measured=f"largest element {np.abs(x).max():.6g}", line=_thawed(session, i, thawed),
                            fix="put jax.lax.stop_gradient around it, or take it out of frozen")
        elif zero[i] and x.size:
            if elsewhere[i]:
                _surprise(session, record, i, shown)
            else:
                record.note("a parameter gets no gradient at these values, but does near them", leaf=shown,
                            measured="exactly zero", expected="a gradient",
                            line=blame.zero_factor(session, session.trainable[i]),
                            fix="nothing, if a factor of it starts at zero on purpose")
    if session.watch.stops:
        _stopped(session, record, gradients)


CHECK = Check("flow", "every trained parameter gets a gradient, every frozen one none", _run)


def _is_zero(gradient: Any) -> bool:
    return not np.any(number(gradient))


def _thawed(session: Session, i: int, known: dict[str, Site | None]) -> Site | None:
    """The line that takes a frozen parameter, or the largest part of the tree around it that is frozen as a whole."""
    entries, paths = session.path(i).split("/"), [session.path(j) for j in range(len(session.trainable))]
    tree = session.engine.unflatten(session.params.structure, session.engine.from_numpy(session.params.leaves))
    key = session.engine.from_numpy(session.objective_key)
    objective = session.loss_of_trees if session.model.loss is not None else session.forward_of_trees
    for length in range(1, len(entries) + 1):
        part = "/".join(entries[:length])
        below = [path for path in paths if path == part or path.startswith(f"{part}/")]
        if all(map(session.model.is_frozen, below)):
            if part not in known:
                known[part] = blame.taken(session, lambda tree: objective(tree, session.batch_tree(), key), tree, part)
            if known[part] is not None:
                return known[part]
    return blame.used(session, session.trainable[i]) or of_function(session.function())


def _surprise(session: Session, record: Recorder, i: int, shown: str) -> None:
    what, reason, line, fix = _reason(session, i)
    record.fail(what, leaf=shown, measured=f"exactly zero: {reason}", expected="a gradient that is not zero", line=line,
                fix=fix + ", or declare it: Model(frozen=[...])")


def _reason(session: Session, i: int) -> tuple[str, str, Site | None, str]:
    what = "a parameter gets no gradient"
    if not _matters(session, i):
        return (what, "the result does not depend on it",
                blame.erased(session, session.trainable[i]) or of_function(session.function()),
                "use it, or take it out of the parameters")
    for site in sorted(session.watch.stops):
        if not _is_zero(_gradients_without(session, frozenset([site]))[i]):
            return what, "a stop_gradient stops it", site, "take that stop_gradient away, or put it around less"
    if session.watch.stops and not _is_zero(_gradients_without(session, frozenset(session.watch.stops))[i]):
        return (what, "several stop_gradients stop it: " + "; ".join(map(str, sorted(session.watch.stops))),
                min(session.watch.stops), "take them away, or put them around less")
    flat = _flat_calls(session, i)
    if flat:
        shown = "; ".join(f"{name} at {site}" for name, site in flat)
        return (what, f"it only acts through functions without a derivative: {shown}", flat[0][1],
                "use a smooth function in its place, or a custom rule")
    return (what, "the result depends on it, but only through steps: a comparison, a cast to integers, or numpy",
            blame.flat(session, session.trainable[i], session.jittered()) or of_function(session.function()),
            "look for comparisons, integer casts and float() on its way")


def _matters(session: Session, i: int) -> bool:
    """Whether the objective changes when leaf i is replaced by other values."""
    rng = np.random.default_rng((session.seed, 5))
    trainable, fixed = session.split(session.jittered())
    values = []
    for scale in (0.0, 1.0, -3.0, 10.0):
        x = number(trainable[i])
        changed = list(trainable)
        changed[i] = as_like(x + scale * rng.standard_normal(x.shape) * (1 + np.abs(x)), trainable[i])
        values.append(number(session.engine.call(session.gradient, changed, fixed, session.batch.leaves,
                                                 session.objective_key)[0]).item())
    return len(set(map(str, values))) > 1


def _gradients_without(session: Session, stops: frozenset[Site]) -> Sequence[Any]:
    """The gradients with the stop_gradients at some sites taken away, at jittered parameters."""
    engine = session.engine
    trainable, fixed = session.split(session.jittered())
    with session.watch.changed(stops=stops):
        gradient = engine.jit(engine.value_and_grad(lambda *args: session.objective(*args)))
        found: Sequence[Any] = engine.call(gradient, trainable, fixed, session.batch.leaves, session.objective_key)[1]
    return found


def _flat_calls(session: Session, i: int) -> list[tuple[str, Site | None]]:
    """The functions without a derivative that values depending on leaf i go through."""
    engine = session.engine
    trainable, fixed = (engine.from_numpy(part) for part in session.split(session.params.leaves))
    batch, key = engine.from_numpy(session.batch.leaves), engine.from_numpy(session.objective_key)

    def of_leaf(x: Any) -> Any:
        return session.objective([*trainable[:i], x, *trainable[i + 1:]], fixed, batch, key)

    with session.watch.recording() as events, session.watch.eagerly():
        engine.jvp(of_leaf, [trainable[i]], [engine.from_numpy(as_like(np.ones(number(
            session.split(session.params.leaves)[0][i]).shape), session.split(session.params.leaves)[0][i]))])
    return list(dict.fromkeys((event.name, event.site) for event in events if event.kind == "flat"))


def _stopped(session: Session, record: Recorder, gradients: Sequence[Any]) -> None:
    """For each stop_gradient, the parameters whose gradient it changes: for the reader to agree with."""
    for site in sorted(session.watch.stops):
        trainable, fixed = session.split(session.params.leaves)
        engine = session.engine
        with session.watch.changed(stops=frozenset([site])):
            free = engine.jit(engine.value_and_grad(lambda *args: session.objective(*args)))
            without = engine.call(free, trainable, fixed, session.batch.leaves, session.objective_key)[1]
        changed = [session.path(i) or "params" for i, (a, b) in enumerate(zip(gradients, without, strict=True))
                   if distance(a, b).relative > 1e-5]
        record.measure("stop_gradient", line=str(site), changes=changed)
        if changed:
            record.note("a stop_gradient changes gradients", measured=", ".join(changed), line=site)
