"""What `pullback record` keeps of a model."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.cases import STANDARD, Case, Outcome, cases, evaluate, key_stream
from pullback.gate.errors import UsageError
from pullback.gate.operations import listing, outline, trace
from pullback.gate.parts import available, key_of, part_function, run_part, value_and_gradients
from pullback.gate.session import Session
from pullback.gate.store.arrays import describe
from pullback.gate.store.files import Store
from pullback.gate.summary import dumped
from pullback.gate.values import EPSILON, Key, distance, dtype_name, is_float, number

__all__ = ["latency", "programs", "record"]

_SEEDS = 4
_SECONDS = 0.5  # for the distribution of latency


def record(session: Session, store: Store, name: str, reason: str = "", update: bool = False, keep_data: bool = True,
           tell: Callable[[str], None] = lambda text: None) -> int:
    """Adds a revision to a store; returns its number.

    Args:
      name: of the model.
      reason: why there is a new revision; required where the store has one already, and kept.
      update: says that a store that has a revision is meant to get another.
      keep_data: whether the values of batches are kept, or their digests alone.

    Raises:
      UsageError: the store has a revision and `update` or the reason is missing; it is damaged or cannot be written.
    """
    numbers = store.numbers()
    if numbers and not (update and reason.strip()):
        raise UsageError(f"{str(store.folder)!r} has {len(numbers)} revision{'s' if len(numbers) > 1 else ''} already",
                         "compare with it; if the change is meant, add one: --update --reason 'why'")
    if numbers:
        known = store.read().manifest["model"]
        if set(known["params"]) != set(session.params.paths):
            raise UsageError(f"{str(store.folder)!r} is the record of another model, {known['name']!r}",
                             "give each model a store of its own")
    now = datetime.datetime.now(datetime.UTC).isoformat("T", "seconds")
    manifest: dict[str, Any] = {
        "reason": reason.strip() or "first record", "created": now,
        "model": {"name": name, "params": session.params.paths, "batch": session.batch.paths,
                  "parts": available(session)},
        "environment": {**session.engine.environment(), "python": platform.python_version(),
                        "machine": platform.machine()},
        "seed": session.seed, "order": [], "cases": {}, "arrays": {}}
    manifest["keys"] = key_stream(session)  # first, since it drops what is compiled
    arrays: dict[str, Any] = {}

    def keep(place: str, leaf: Any, kept: bool = True) -> None:
        manifest["arrays"][place] = describe(leaf) | ({} if kept else {"kept": False})
        if kept:
            arrays[place] = leaf

    for path, leaf in zip(session.params.paths, session.params.leaves, strict=True):
        keep(session.shown("params", path), leaf)
    keep("key", session.key)
    for case in cases(session):
        outcome = evaluate(session, case)
        if case.name == STANDARD and outcome.error is not None:
            raise UsageError(f"{name} does not run on its standard batch: {outcome.error['type']}: "
                             f"{outcome.error['message']}\n  at {outcome.error['line']}",
                             "pullback verify says more; mend the model first")
        tell(f"{case.name}: {len(outcome.leaves)} leaves" if outcome.error is None else
             f"{case.name}: {outcome.error['type']}")
        entry: dict[str, Any] = {"origin": case.origin if keep_data or case.origin == "generator" else "standard batch",
                                 "seed": case.seed, "batch": case.paths, "error": outcome.error, "results": {}}
        for path, leaf in zip(case.paths, case.leaves, strict=True):
            keep(f"{case.name}/{session.shown('batch', path)}", leaf, kept=entry["origin"] == "values")
        spread = _spread(session, case, outcome)
        for place, leaf in outcome.leaves.items():
            keep(f"{case.name}/{place}", leaf)
            tolerance = session.tolerance(place, leaf)
            entry["results"][place] = {"relative": tolerance.relative, "absolute": tolerance.absolute,
                                       "reason": tolerance.reason, **spread.get(place, {})}
        manifest["cases"][case.name] = entry
        manifest["order"].append(case.name)
    manifest["latency"] = latency(session)
    return store.append(manifest, arrays, programs(session, keep_data=keep_data))


def programs(session: Session, values: bool = True, keep_data: bool = True) -> dict[str, str]:
    """Of every part: the engine's own program, its operations, and a summary of what each computes, as text.

    Args:
      values: whether it is run for the summary.
      keep_data: whether the summary may say what a small array holds.
    """
    found = {}
    for part in available(session):  # the update comes last: a trace may spoil the state that it keeps
        function, key = part_function(session, part), key_of(session, part)
        args = session.params.leaves, session.batch.leaves, key
        if part != "updated":
            found[f"{part}: program"] = session.engine.program(function, *args).text
            found[f"{part}: operations"] = listing(outline(session.engine, function, *args))
        if values:
            run = value_and_gradients(session) if part == "gradients" else function
            try:
                found[f"{part}: values"] = dumped(trace(session.engine, run, *args), keep_data)
            except Exception:
                if part != "updated":  # which need be no function that can be traced
                    raise
    return found


def _spread(session: Session, case: Case, outcome: Outcome) -> dict[str, dict[str, float]]:
    """How far each result moves with other seeds, and with parameters moved in their last place."""
    if outcome.error is not None or case.name != STANDARD:
        return {}
    found: dict[str, dict[str, float]] = {place: {} for place in outcome.leaves}

    def note(kind: str, other: Outcome) -> None:
        for place, leaf in outcome.leaves.items():
            if is_float(leaf) and place in other.leaves:
                gap = distance(leaf, other.leaves[place]).largest
                if np.isfinite(gap):
                    found[place][kind] = float(f"{max(gap, found[place].get(kind, 0.0)):.3g}")

    same = Case("", case.paths, case.leaves)  # without its update
    rng = np.random.default_rng((session.seed, 7))
    for _ in range(_SEEDS - 1):
        note("rounding", evaluate(session, same, [_nudged(x, rng) for x in session.params.leaves]))
    if session.takes_key:
        for key in session.engine.keys(session.seed + 1, _SEEDS, session.key):
            note("seeds", evaluate(session, same, key=key))
    return found


def _nudged(x: Any, rng: np.random.Generator) -> Any:
    """A leaf with every element moved by its last place, up or down."""
    if isinstance(x, Key) or not is_float(x) or dtype_name(x) in ("float", "complex") or np.iscomplexobj(x):
        return x
    return (number(x) * (1.0 + EPSILON[dtype_name(x)] * rng.choice([-1.0, 1.0], np.shape(x)))).astype(x.dtype)


def latency(session: Session) -> dict[str, Any]:
    """Milliseconds of the compiled gradient on the standard batch, after a first call; every one is kept."""
    def run() -> None:
        run_part(session, "gradients", session.params.leaves, session.batch.leaves)

    run()
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < 30 and (len(times) < 5 or time.perf_counter() < end):
        started = time.perf_counter()
        run()
        times.append(round(1e3 * (time.perf_counter() - started), 4))
    return {"milliseconds": times, "median": float(np.median(times)), "p90": float(np.quantile(times, 0.9))}
