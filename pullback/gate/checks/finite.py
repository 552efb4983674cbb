"""finite: loss, outputs and gradients are finite, on one object, zeros, bounds, large and tiny values too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from pullback.gate.checks.base import Check
from pullback.gate.report import Recorder, shown
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.values import as_like, dtype_name, is_float, number

__all__ = ["CHECK"]

# The largest and smallest value that the extreme batches are scaled to.
_LARGE = {"float16": 1e2, "bfloat16": 1e4}
_TINY = {"float16": 1e-4}


def _run(session: Session, record: Recorder) -> None:
    for name, batch, params, strict in _cases(session):
        try:
            value, gradients = session.evaluate(params, batch)
        except Exception as error:
            if name == "standard batch":
                raise
            record.note(f"{name}: the model refuses it", line=session.site(error), measured=shown(error))
            continue
        parts = [(session.objective_name, value)]
        parts += [(session.shown("gradients", session.path(i)), g) for i, g in enumerate(gradients)]
        if session.model.loss is not None and session.model.forward is not None:
            key = session.key_if(session.model.forward, session.key)
            outputs = session.engine.call(session.outputs, params or session.params.leaves, batch, key)
            places = [session.shown("outputs", path) for path in session.output_paths]
            parts += zip(places, outputs, strict=True)
        counts = {place: _bad(x) for place, x in parts}
        record.measure(name, not_finite={place: bad for place, bad in counts.items() if any(bad)})
        _judge(session, record, name, counts, strict, params, batch)


CHECK = Check("finite", "loss, outputs and gradients are finite, on extreme batches too", _run)


def _cases(session: Session) -> Iterator[tuple[str, list[Any], list[Any] | None, bool]]:
    """Name, batch, parameters (None: standard), and whether an infinity is a failure as a NaN is."""
    batch = session.batch.leaves
    yield "standard batch", batch, None, True
    if session.count > 1:
        yield "a single object", [session.take(leaf, [0]) for leaf in batch], None, True
    if any(is_float(leaf) for leaf in batch):
        yield "zeros", _changed(session, lambda x, spec, name: np.zeros_like(x)), None, True
        if any((spec := session.batch_spec(i)) is not None and spec.bounded for i in range(len(batch))):
            yield "lower bounds", _changed(session, lambda x, spec, name: _bound(x, spec, -1)), None, True
            yield "upper bounds", _changed(session, lambda x, spec, name: _bound(x, spec, 1)), None, True
        yield "large values", _changed(session, lambda x, spec, name: _scaled(x, _LARGE.get(name, 1e4))), None, False
        yield "tiny values", _changed(session, lambda x, spec, name: _scaled(x, _TINY.get(name, 1e-6))), None, True


def _changed(session: Session, change: Callable[[np.ndarray, Any, str], np.ndarray]) -> list[Any]:
    """The standard batch with its float leaves changed, and brought back into their declared ranges."""
    found = []
    for i, leaf in enumerate(session.batch.leaves):
        if not is_float(leaf):
            found.append(leaf)
            continue
        spec = session.batch_spec(i)
        x = change(number(leaf), spec, dtype_name(leaf))
        if spec is not None and spec.bounded and x.dtype.kind != "c":
            margin = 1e-6 * (spec.high - spec.low) if np.isfinite(spec.high - spec.low) else 1e-6
            x = np.clip(x, spec.low + margin * spec.open_low, spec.high - margin * spec.open_high)
        found.append(as_like(x, leaf))
    return found


def _bound(x: np.ndarray, spec: Any, side: int) -> np.ndarray:
    bound = np.inf if spec is None else spec.high if side > 0 else spec.low
    return np.full_like(x, bound) if np.isfinite(bound) else x


def _scaled(x: np.ndarray, size: float) -> np.ndarray:
    largest = float(np.abs(x).max()) if x.size else 0.0
    return x * (size / largest) if largest > 0 and np.isfinite(largest) else x


def _bad(x: Any) -> tuple[int, int]:
    """How many NaNs and infinities."""
    if not is_float(x):
        return 0, 0
    values = number(x)
    return int(np.isnan(values).sum()), int(np.isinf(values).sum())


def _judge(session: Session, record: Recorder, name: str, counts: dict[str, tuple[int, int]], strict: bool,
           params: list[Any] | None, batch: list[Any]) -> None:
    bad = {place: found for place, found in counts.items() if any(found)}
    if not bad:
        return
    first = next(iter(bad))
    line = _origin(session, params or session.params.leaves, batch)
    # An overflow may be the right answer to a huge value. A NaN is not, where a contract allows every value.
    declared = any(session.batch_spec(i) for i in session.batch.floats)
    if not strict and not (declared and any(nans for nans, _ in bad.values())):
        record.note(f"{name}: overflow", measured=", ".join(list(bad)[:4]), line=line,
                    fix="declare the range of the input in a contract, if such values do not come")
        return
    listed = "; ".join(f"{place}: {nans} NaN, {infinities} infinite" for place, (nans, infinities) in
                      list(bad.items())[:4])
    record.fail(f"{name}: not finite", measured=listed + (f"; and {len(bad) - 4} more" if len(bad) > 4 else ""),
                expected="finite numbers", leaf=first, line=line or of_function(session.function()),
                fix="make the argument of the operation valid before it (clip, an epsilon inside sqrt or log, where on "
                    "its input); nan_to_num would only hide it")


def _origin(session: Session, params: list[Any], batch: list[Any]) -> Site | None:
    """The user's line whose operation, or whose derivative, first makes a NaN or an infinity."""
    engine = session.engine
    trainable, fixed = (engine.from_numpy(part) for part in session.split(params))
    given, key = engine.from_numpy(batch), engine.from_numpy(session.objective_key)
    ones = [engine.from_numpy(as_like(np.ones(number(x).shape), x)) for x in session.split(params)[0]]

    def of_trainable(*leaves: Any) -> Any:
        return session.objective(leaves, fixed, given, key)

    for run in (lambda: of_trainable(*trainable), lambda: engine.jvp(of_trainable, trainable, ones)):
        try:
            # An engine may report in its own words that it looks for the operation.
            with session.watch.eagerly(), engine.trapping(), redirect_stdout(io.StringIO()):
                run()
        except FloatingPointError as error:
            return session.site(error)
        except Exception:  # forward mode through a custom_vjp: no line then
            return None
    return None
