"""finite: loss, outputs and gradients are finite, on one object, zeros, bounds, large and tiny values too."""

from __future__ import annotations

import functools
import io
import linecache
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from pullback.gate.batches import at_bound, changed
from pullback.gate.checks.base import Check
from pullback.gate.checks.contract import updated
from pullback.gate.contract import widened
from pullback.gate.report import Recorder, shown
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.values import as_like, dtype_name, is_float, number

__all__ = ["CHECK"]

# The largest and smallest value that the extreme batches are scaled to.
_LARGE = {"float16": 1e2, "bfloat16": 1e4}
_TINY = {"float16": 1e-4}
_HIDDEN = ("make the argument of the operation valid before it, and take nan_to_num, or the where after it, away: the "
           "gradient of what is hidden is still computed")
_BELOW = ("float16",)  # looked at without being declared, for a note


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
        record.measure(name, not_finite={place: bad for place, bad in counts.items() if any(bad)},
                       largest_square=max((_largest_square(g) for g in gradients), default=0.0))
        if any(map(any, counts.values())):
            _judge(session, record, name, counts, strict, params, batch)
        elif strict and name not in ("a single object", "tiny values") and not any(_bad(leaf)[0] for leaf in batch):
            _hidden(session, record, name, batch)
            if session.model.update is not None:
                _updated(session, record, name, batch)
    for dtype in session.model.precisions or _BELOW:
        _lower(session, record, dtype)


CHECK = Check("finite", "loss, outputs and gradients are finite, on extreme batches too", _run)


def _cases(session: Session) -> Iterator[tuple[str, list[Any], list[Any] | None, bool]]:
    """Name, batch, parameters (None: standard), and whether an infinity is a failure as a NaN is."""
    batch = session.batch.leaves
    yield "standard batch", batch, None, True
    if session.count > 1:
        yield "a single object", [session.take(leaf, [0]) for leaf in batch], None, True
    if any(is_float(leaf) for leaf in batch):
        yield "zeros", changed(session, lambda x, spec, name: np.zeros_like(x)), None, True
        if any((spec := session.batch_spec(i)) is not None and spec.bounded for i in range(len(batch))):
            yield "lower bounds", changed(session, lambda x, spec, name: at_bound(x, spec, -1)), None, True
            yield "upper bounds", changed(session, lambda x, spec, name: at_bound(x, spec, 1)), None, True
        yield "large values", changed(session, lambda x, spec, name: _scaled(x, _LARGE.get(name, 1e4))), None, False
        yield "tiny values", changed(session, lambda x, spec, name: _scaled(x, _TINY.get(name, 1e-6))), None, True


def _scaled(x: np.ndarray, size: float) -> np.ndarray:
    largest = float(np.abs(x).max()) if x.size else 0.0
    return x * (size / largest) if largest > 0 and np.isfinite(largest) else x


def _largest_square(gradient: Any) -> float:
    """The largest second moment that an optimiser would keep of a gradient, in its own precision."""
    with np.errstate(all="ignore"):
        x = np.abs(np.asarray(gradient))
        return float(np.max(x * x)) if x.size else 0.0


def _bad(x: Any) -> tuple[int, int]:
    """How many NaNs and infinities."""
    if not is_float(x):
        return 0, 0
    values = number(x)
    return int(np.isnan(values).sum()), int(np.isinf(values).sum())


def _judge(session: Session, record: Recorder, name: str, counts: dict[str, tuple[int, int]], strict: bool,
           params: list[Any] | None, batch: list[Any]) -> None:
    bad = {place: found for place, found in counts.items() if any(found)}
    first = next(iter(bad))
    line = _origin(session, params or session.params.leaves, batch)
    # An overflow may be the right answer to a huge value. A NaN is not, where a contract allows every value.
    declared = any(session.batch_spec(i) for i in session.batch.floats)
    if not strict and not (declared and any(nans for nans, _ in bad.values())):
        record.note(f"{name}: overflow", measured=", ".join(list(bad)[:4]), line=line,
                    fix="declare the range of the input in a contract, if such values do not come")
        return
    record.fail(f"{name}: not finite", measured=_listed(bad),
                expected="finite numbers", leaf=first, line=line or of_function(session.function()),
                fix="make the argument of the operation valid before it (clip, an epsilon inside sqrt or log, where on "
                    "its input); nan_to_num would only hide it")


def _listed(bad: dict[str, tuple[int, int]]) -> str:
    listed = "; ".join(f"{place}: {nans} NaN, {infinities} infinite" for place, (nans, infinities) in
                      list(bad.items())[:4])
    return listed + (f"; and {len(bad) - 4} more" if len(bad) > 4 else "")


def _hidden(session: Session, record: Recorder, name: str, batch: list[Any]) -> None:
    """All is finite: no NaN must have been made on the way, and hidden."""
    line = _first_nan(session, lambda: session.engine.call(
        lambda *given: session.objective(*given), *session.split(session.params.leaves), batch, session.objective_key))
    if line is not None:
        record.fail(f"{name}: a NaN is made inside, and hidden", measured="NaN from this line, finite results",
                    expected="no NaN anywhere", line=line, fix=_HIDDEN)


def _updated(session: Session, record: Recorder, name: str, batch: list[Any]) -> None:
    """Parameters and state after an update are finite, its second moments among them."""
    def run() -> list[Any]:
        result = updated(session, session.raw_params, session.model.state, session.key, session.batch_tree(batch))
        return [*zip(*reversed(session.engine.flatten(result)[:2]))]

    try:
        counts = {path: _bad(session.engine.to_numpy(leaf)) for path, leaf in run()}
    except Exception as error:
        record.note(f"{name}: update refuses it", line=session.site(error), measured=shown(error))
        return
    bad = {session.shown("updated", place): found for place, found in counts.items() if any(found)}
    line = _first_nan(session, run, bool(bad))
    if bad:
        record.fail(f"{name}: not finite after an update", measured=_listed(bad), expected="finite numbers",
                    leaf=next(iter(bad)), line=line or of_function(session.model.update),
                    fix="look for a division by a root or a norm that can be zero, and for squares that overflow")
    elif line is not None:
        record.fail(f"{name}: a NaN is made inside update, and hidden", measured="NaN from this line, finite results",
                    expected="no NaN anywhere", line=line, fix=_HIDDEN)


def _first_nan(session: Session, run: Callable[[], Any], infinities: bool = False) -> Site | None:
    """The user's line that makes the first NaN when all runs operation by operation."""
    try:
        with session.watch.eagerly(), session.engine.trapping(infinities), redirect_stdout(io.StringIO()):
            run()
    except FloatingPointError as error:
        return session.site(error)
    except Exception:  # the model cannot run like this, which is no matter of this check
        return None
    return None


def _lower(session: Session, record: Recorder, dtype: str) -> None:
    """The standard batch in a lower precision."""
    engine, declared = session.engine, dtype in session.model.precisions
    small = engine.dtype(dtype)

    def lowered(leaves: list[Any]) -> list[Any]:
        with np.errstate(over="ignore"):
            return [np.asarray(x).astype(small) if dtype_name(x) in ("float64", "float32", "float") else x
                    for x in leaves]

    trainable, fixed = session.split(lowered(session.params.leaves))
    batch = lowered(session.batch.leaves)
    try:
        with widened():
            value, gradients = engine.call(engine.jit(engine.value_and_grad(lambda *given: session.objective(*given))),
                                           trainable, fixed, batch, session.objective_key)
    except Exception as error:
        if declared:
            record.fail(f"the model does not run in {dtype}", measured=shown(error), expected="finite numbers",
                        line=session.site(error), fix="let dtypes follow from those of the arguments")
        return
    counts = {session.objective_name: _bad(value)}
    counts |= {session.shown("gradients", session.path(i)): _bad(g) for i, g in enumerate(gradients)}
    bad = {place: found for place, found in counts.items() if any(found)}
    record.measure(f"in {dtype}", not_finite=bad)
    if bad:
        with widened():
            line = _origin(session, session.merge(trainable, fixed), batch)
        tell = functools.partial(record.fail, expected="finite numbers") if declared else record.note
        tell(f"in {dtype}: not finite", measured=_listed(bad), leaf=next(iter(bad)),
             line=line or of_function(session.function()),
             fix="scale values before they overflow or vanish, or compute this part in more bits")


def _origin(session: Session, params: list[Any], batch: list[Any]) -> Site | None:
    """The user's line whose operation, or whose derivative, first makes a NaN or an infinity."""
    engine = session.engine
    trainable, fixed = (engine.from_numpy(part) for part in session.split(params))
    given, key = engine.from_numpy(batch), engine.from_numpy(session.objective_key)
    ones = [engine.from_numpy(as_like(np.ones(number(x).shape), x)) for x in session.split(params)[0]]

    def of_trainable(*leaves: Any) -> Any:
        return session.objective(leaves, fixed, given, key)

    found: list[Site | None] = []
    for infinities in (True, False):
        for run in (lambda: of_trainable(*trainable), lambda: engine.jvp(of_trainable, trainable, ones)):
            try:
                # An engine may report in its own words that it looks for the operation.
                with session.watch.eagerly(), engine.trapping(infinities), redirect_stdout(io.StringIO()):
                    run()
            except FloatingPointError as error:
                found.append(session.site(error))
                break
            except Exception:  # forward mode through a custom_vjp: no line then
                break
        # An infinity that is written there is a mask; what makes a NaN of it comes later.
        if found and found[0] is not None and "inf" not in linecache.getline(found[0].file, found[0].line):
            break
    return found[-1] if found else None
