"""reference: results equal those of a reference implementation, known answers, and what invariances ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.checks.base import Check
from pullback.gate.checks.contract import find_params, updated
from pullback.gate.model import Expected, Invariance, Tolerance
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.signature import batch_to_arguments
from pullback.gate.sites import Site, of_function
from pullback.gate.values import distance, number

__all__ = ["CHECK"]

_REFERENCE = Tolerance(1e-3, 1e-5, "the default of a reference, which may sum in another order")


def _run(session: Session, record: Recorder) -> None:
    model = session.model
    if model.reference is None and not model.expected and not model.invariances:
        record.skip("no reference, expected answer or invariance is declared")
        return
    if model.reference is not None:
        _reference(session, record, model.reference)
    for answer in model.expected:
        _expected(session, record, answer)
    for invariance in model.invariances:
        _invariant(session, record, invariance)


CHECK = Check("reference", "results equal a reference, known answers, and what invariances ask for", _run)


def _agree(session: Session, record: Recorder, what: str, part: str, found: Any, wanted: Any, tolerance: Tolerance,
           line: Site | None, fix: str) -> bool:
    """Compares two trees leaf by leaf; `...` in the wanted one leaves a part free."""
    fine = True
    for path, one, other in _pairs(session, found, wanted, part):
        if one is None or np.shape(one) != np.shape(other):
            measured = "missing" if one is None else f"shape {list(np.shape(one))}"
            record.fail(what, leaf=path, measured=measured, expected=f"shape {list(np.shape(other))}", line=line,
                        fix=fix)
            fine = False
            continue
        gap = distance(one, other)
        scale = float(np.abs(number(other)).max()) if np.size(other) else 0.0
        declared = session.model.tolerance(path, str(getattr(one, "dtype", ""))) or tolerance
        bound = declared.absolute + declared.relative * scale
        record.measure(what, leaf=path, difference=gap.largest, tolerance=bound)
        if not gap.largest <= bound:
            record.fail(what, leaf=path, line=line, fix=fix, expected=f"{number(other)[gap.place]:.8g} to {bound:.2g}",
                        measured=f"{number(one)[gap.place]:.8g}" + (f" at {list(gap.place)}" if gap.place else ""))
            fine = False
    return fine


def _pairs(session: Session, found: Any, wanted: Any, path: str) -> list[tuple[str, Any, Any]]:
    if wanted is ...:
        return []
    if isinstance(wanted, dict):
        there = found if isinstance(found, dict) else {}
        return [pair for name in wanted for pair in _pairs(session, there.get(name), wanted[name], f"{path}/{name}")]
    if isinstance(wanted, tuple) and isinstance(found, (tuple, list)):
        return [pair for i, part in enumerate(wanted)
                for pair in _pairs(session, found[i] if i < len(found) else None, part, f"{path}/{i}")]
    leaves, paths, _ = session.engine.flatten(found)
    if len(leaves) == 1 and paths == [""]:
        return [(path, session.engine.to_numpy(leaves[0]), np.asarray(wanted))]
    wanted_leaves = session.engine.flatten(wanted)[0]
    return [(session.shown(path, below), session.engine.to_numpy(leaf), np.asarray(session.engine.to_numpy(other)))
            for below, leaf, other in zip(paths, leaves, wanted_leaves)] if len(leaves) == len(wanted_leaves) else [
                (path, None, np.asarray(0.0))]


def _reference(session: Session, record: Recorder, reference: Callable[..., Any]) -> None:
    """At parameters with noise, so that nothing is hidden by a zero."""
    model, engine = session.model, session.engine
    function, part = (model.forward, "outputs") if model.forward is not None else (model.loss, "loss")
    assert function is not None
    key = session.key_if(function, session.key)
    leaves = session.jittered()
    given = {"params": engine.unflatten(session.params.structure, leaves),
             "batch": engine.unflatten(session.batch.structure, session.batch.leaves)}
    arguments = _inputs(session, given["batch"]) if part == "outputs" else batch_to_arguments(reference, given["batch"])
    wanted = reference(given["params"], *arguments, **session.keywords(reference, engine.from_numpy(key)))
    params = engine.unflatten(session.params.structure, engine.from_numpy(leaves))
    run = session.forward_of_trees if part == "outputs" else session.loss_of_trees
    found = run(params, session.batch_tree(), engine.from_numpy(key))
    _agree(session, record, "the result is not that of the reference", part, found, wanted, _REFERENCE,
           of_function(function), f"compare the two step by step; the reference is at {of_function(reference)}")


def _inputs(session: Session, batch: Any) -> list[Any]:
    model = session.model
    if model.inputs is not None:
        inputs = model.inputs(batch)
        return list(inputs) if isinstance(inputs, tuple) else [inputs]
    assert model.forward is not None
    return batch_to_arguments(model.forward, batch, beside=model.loss)


def _chosen(given: Any, standard: Any) -> Any:
    return standard if given is None else given(standard) if callable(given) else given


def _expected(session: Session, record: Recorder, answer: Expected) -> None:
    model, engine = session.model, session.engine
    params = session.of_engine(_chosen(answer.params, session.raw_params))
    batch = session.of_engine(_chosen(answer.batch, session.batch_tree()))
    key = engine.from_numpy(session.objective_key)
    agree = functools.partial(_agree, session, record, f"not the known answer: {answer.what}",
                              tolerance=answer.tolerance)
    fix = "work the answer out again; if the function was meant to change, change the answer too"
    if answer.outputs is not None and model.forward is not None:
        outputs = session.forward_of_trees(params, batch, engine.from_numpy(session.key_if(model.forward, session.key)))
        agree("outputs", outputs, answer.outputs, line=of_function(model.forward), fix=fix)
    if answer.loss is not None and model.loss is not None:
        agree("loss", session.loss_of_trees(params, batch, key), answer.loss, line=of_function(model.loss), fix=fix)
    if answer.gradients is not None:
        _, gradients = engine.value_and_grad(lambda given: session.loss_of_trees(given, batch, key))(params)
        agree("gradients", gradients, answer.gradients, line=of_function(session.function()), fix=fix)
    if answer.updated is not None and model.update is not None:
        new = find_params(session, updated(session, params, model.state, session.key, batch))
        agree("updated", new, answer.updated, line=of_function(model.update), fix=fix)


def _invariant(session: Session, record: Recorder, invariance: Invariance) -> None:
    """Compared in the working precision, at parameters with noise."""
    model, engine = session.model, session.engine
    function = model.forward or model.loss
    assert function is not None
    params = engine.unflatten(session.params.structure, engine.from_numpy(session.jittered()))
    key = engine.from_numpy(session.key_if(function, session.key))
    run = session.forward_of_trees if model.forward is not None else session.loss_of_trees
    part = "outputs" if model.forward is not None else "loss"
    standard = session.batch_tree()
    before = invariance.before or (lambda outputs: outputs)
    after = invariance.after or before
    one = _leaves(session, before(run(params, standard, key)))
    other = _leaves(session, after(run(params, session.of_engine(invariance.batch(standard)), key)))
    line = of_function(function)
    gaps = [distance(a, b) for a, b in zip(one, other)]
    scale = max((gap.scale for gap in gaps), default=0.0)
    bounds = [session.tolerance(part, a) for a in one]
    apart = any(gap.largest > bound.absolute + bound.relative * max(gap.scale, 0.01 * scale)
                for gap, bound in zip(gaps, bounds)) or len(one) != len(other)
    record.measure(f"invariance: {invariance.what}", differences=[gap.largest for gap in gaps])
    if apart and invariance.holds:
        worst = max(gaps, key=lambda gap: gap.largest)
        record.fail(f"an invariance does not hold: {invariance.what}", leaf=part, line=line,
                    measured=f"{worst.largest:.6g} apart" + (f" at {list(worst.place)}" if worst.place else ""),
                    expected=f"equal, in values up to {worst.scale:.3g}",
                    fix="look for an axis, a mask or an order that is not what it should be")
    elif not apart and not invariance.holds:
        record.fail(f"the result does not change as it should: {invariance.what}", leaf=part, line=line,
                    measured="equal results", expected="another result",
                    fix="look for a part that is not used, or cancelled by a normalisation")


def _leaves(session: Session, tree: Any) -> Sequence[Any]:
    return [session.engine.to_numpy(leaf) for leaf in session.engine.flatten(tree)[0]]
