"""update: a step goes down, touches what it should and nothing else, and a few of them learn one batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.gate.checks.base import Check
from pullback.gate.checks.contract import find_params, find_state, updated
from pullback.gate.report import Recorder
from pullback.gate.session import Session, Tree
from pullback.gate.sites import of_function
from pullback.gate.values import distance, dtype_name, number

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    model = session.model
    if model.update is None:
        record.skip("the model has no update")
        return
    losses, params, state = [], session.raw_params, model.state
    for step in range(model.steps):
        value, gradients = session.evaluate(session.tree(params).leaves)
        losses.append(float(number(value).real))
        result = updated(session, params, state, session.key)
        new = find_params(session, result)
        if new is None or not _alike(session.params, session.tree(new)):
            record.skip("update returns no parameters of the same types: see the check contract")
            return
        if step == 0:
            _first(session, record, gradients, session.tree(new))
        if state is not None:
            state = _next_state(session, record, state, find_state(session, result, new), step)
        params = new
    losses.append(float(number(session.evaluate(session.tree(params).leaves)[0]).real))
    record.measure("losses on one batch", values=losses)
    line = of_function(model.update)
    if model.loss is None:
        return
    if not min(losses[1:]) < losses[0] or not np.isfinite(losses[-1]):
        record.fail("updates do not bring the loss down", line=line,
                    measured=", ".join(f"{x:.6g}" for x in losses[:6]) + f", ..., {losses[-1]:.6g}",
                    expected=f"less than {losses[0]:.6g} after some of {model.steps} steps",
                    fix="look at the sign and the size of the step; if it must warm up, raise Model(steps=)")
    elif model.overfits is not None and not losses[-1] <= model.overfits:
        record.fail("updates do not learn one batch", measured=f"{losses[-1]:.6g} after {model.steps} steps",
                    expected=f"at most {model.overfits:g}", line=line,
                    fix="look for a part that is not trained, a step that shrinks, or too strong a regularisation")
    elif losses[-1] > losses[0]:
        record.note("the loss came down and went up again: the step is large", line=line,
                    measured=f"{losses[0]:.6g}, lowest {min(losses):.6g}, last {losses[-1]:.6g}")


CHECK = Check("update", "a step goes downhill and changes what is trained, a few learn one batch", _run)


def _alike(before: Tree, after: Tree) -> bool:
    return all(np.shape(a) == np.shape(b) and dtype_name(a) == dtype_name(b) or isinstance(a, (int, float))
               for a, b in zip(before.leaves, after.leaves))


def _first(session: Session, record: Recorder, gradients: list[Any], after: Tree) -> None:
    """The first step: against the gradient, nothing that is frozen, everything that has a gradient."""
    line, slope, upward = of_function(session.model.update), 0.0, []
    for i, gradient in enumerate(gradients):
        place = session.trainable[i]
        before, new, path = session.params.leaves[place], after.leaves[place], session.params.paths[place]
        moved, shown = number(new) - number(before), session.shown("params", path)
        along = float(np.sum(number(gradient) * moved).real)
        slope += along
        size = float(np.abs(moved).max()) if moved.size else 0.0
        record.measure("first step", leaf=shown, largest=size, along_gradient=along)
        if session.model.is_frozen(path):
            if size > 0:
                record.fail("update changes a frozen parameter", leaf=shown, measured=f"by up to {size:.6g}",
                            expected="no change", line=line, fix="leave it out of the update, weight decay included")
        elif size == 0 and np.any(number(gradient)):
            record.fail("update does not change a parameter that has a gradient", leaf=shown, measured="no change",
                        expected="a step", line=line, fix="pass it to the optimiser, or declare it frozen")
        elif along > 0:
            upward.append(shown)
    if upward and slope > 0:
        record.fail("the first step goes up the gradient", leaf=", ".join(upward),
                    measured=f"step . gradient is {slope:.6g}", expected="less than 0", line=line,
                    fix="subtract the gradient, or give the loss the other sign")
    elif upward:
        record.note("some parameters move up their gradient in the first step", leaf=", ".join(upward), line=line,
                    measured="momentum or weight decay may do so")


def _next_state(session: Session, record: Recorder, old: Any, new: Any, step: int) -> Any:
    if new is None:
        return old  # the check contract says so
    if step == 0:
        gaps = [distance(a, b).largest for a, b in zip(session.tree(old).leaves, session.tree(new).leaves)]
        record.measure("change of the state in the first step", values=gaps)
        if gaps and not any(gaps):
            record.fail("update does not change the state of the optimiser", leaf="state", measured="no change",
                        expected="new moments or a new count", line=of_function(session.model.update),
                        fix="return the new state, not the one that came in")
    return new
