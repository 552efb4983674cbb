"""A quick look at the derivative: one slope of the objective by reverse mode, against a finite difference in 64 bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.gate.contract import widened
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.values import dtype_name, number
from pullback.gate.watch import ALL

__all__ = ["first", "second"]

_STEP, _BOUND = 1e-5, 1e-4
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64"}


def first(session: Session, record: Recorder) -> None:
    _compare(session, record, 1)


def second(session: Session, record: Recorder) -> None:
    _compare(session, record, 2)


def _compare(session: Session, record: Recorder, order: int) -> None:
    engine = session.engine

    def wide(leaves: Any) -> list[Any]:
        return [np.asarray(x).astype(_WIDE[dtype_name(x)]) if dtype_name(x) in _WIDE else x for x in leaves]

    trainable, fixed = session.split(wide(session.params.leaves))
    batch, key = wide(session.batch.leaves), session.objective_key
    rng = np.random.default_rng((session.seed, 8))
    weights, direction = ([rng.standard_normal(np.shape(x)) for x in trainable] for _ in range(2))

    def function(leaves: Any, *rest: Any) -> Any:
        if order == 1:
            return session.objective(leaves, *rest)
        return engine.weighted(engine.value_and_grad(session.objective)(leaves, *rest)[1], weights)

    def at(step: float) -> float:
        leaves = [x + step * v for x, v in zip(trainable, direction)]
        return float(number(engine.call(function, leaves, fixed, batch, key)).real)

    with widened(), session.watch.changed(stops=ALL), engine.wide():
        value, slope = engine.call(engine.value_and_grad(function), trainable, fixed, batch, key)
        pulled = sum(float(np.sum(number(g) * v).real) for g, v in zip(slope, direction))
        found = (at(_STEP) - at(-_STEP)) / (2 * _STEP)
        if not abs(pulled - found) <= _BOUND * max(abs(pulled), abs(found)) + 1e-9 * abs(float(number(value).real)):
            record.fail("slopes disagree", measured=str(pulled), expected=str(found))
