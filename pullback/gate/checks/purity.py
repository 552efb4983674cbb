"""purity: a function is its arguments: two traces are one program, no state is kept, and nothing compiles twice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.gate.blame import changes, parting, written
from pullback.gate.checks.base import Check
from pullback.gate.checks.contract import find_params, updated
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.snapshot import snapshot
from pullback.gate.values import distance

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    model = session.model
    before = snapshot(session.engine, _functions(session))
    if model.loss is not None:
        _programs(session, record, "loss", model.loss, session.loss)
    if model.forward is not None:
        _programs(session, record, "forward", model.forward, session.forward)
    traced = snapshot(session.engine, _functions(session)).traced
    _compiled_once(session, record)
    if model.batches:
        _passes(session, record)
    if model.update is not None:
        _update_compiles_once(session, record)
    after = snapshot(session.engine, _functions(session))
    traced |= after.traced
    changed = {name for name in set(before.prints) | set(after.prints)
               if before.prints.get(name) != after.prints.get(name)} - traced
    lines = changes(session, _runs(session), _functions(session), traced | changed) if traced | changed else {}
    for name in sorted(traced):
        record.fail("a traced value is left behind after the trace", measured=f"{name} holds a tracer",
                    expected="no tracer outside of the traced function",
                    line=lines.get(name) or of_function(session.function()),
                    fix="return the value instead of storing it")
    for name in sorted(changed):
        record.fail("a call changes state outside of the function", measured=f"{name} has changed",
                    expected="no change", line=lines.get(name) or of_function(session.function()),
                    fix="make it an argument and a result; a compiled function runs its Python code only once")


CHECK = Check("purity", "two traces give one program, no state is kept, a second pass compiles nothing", _run)


def _functions(session: Session) -> dict[str, Callable[..., Any]]:
    named = {name: getattr(session.model, name) for name in ("loss", "forward", "init", "update")}
    return {name: function for name, function in named.items() if function is not None}


def _runs(session: Session) -> list[Callable[[], Any]]:
    """Calls of each of the model's functions, operation by operation and then traced, that may change state."""
    engine, model = session.engine, session.model
    found: list[Callable[[], Any]] = []
    for function, of_leaves in ((model.loss, session.loss), (model.forward, session.forward)):
        if function is not None:
            args = session.params.leaves, session.batch.leaves, session.key_if(function, session.key)
            found += [functools.partial(engine.call, lambda *given, of_leaves=of_leaves: [of_leaves(*given)], *args),
                      functools.partial(engine.types, functools.partial(of_leaves), *args)]
    if model.update is not None:
        found.append(lambda: updated(session, session.raw_params, model.state, session.key))
    return found


def _programs(session: Session, record: Recorder, name: str, function: Callable[..., Any],
              of_leaves: Callable[..., Any]) -> None:
    """Two eager calls are equal; two traces have one text and close over equal constants."""
    engine = session.engine
    args = session.params.leaves, session.batch.leaves, session.key_if(function, session.key)
    fix = "look for a counter, a clock, numpy.random, or a global that a call changes"

    def call() -> Any:
        return engine.call(lambda *given: [of_leaves(*given)], *args)

    def line() -> Site | None:
        return parting(session, call) or of_function(function)

    one, two = call(), call()
    flat = _flat(one), _flat(two)
    if any(distance(a, b).largest for a, b in zip(*flat, strict=True)):
        record.fail(f"two calls of {name} with equal arguments differ", measured=_shown(flat[0]) + " and then "
                    + _shown(flat[1]), expected="equal results", line=line(), fix=fix)
    programs = []
    for _ in range(2):
        programs.append(engine.program(lambda *given: of_leaves(*given), *args))
        engine.forget()  # compiled functions inside are traced again too
    record.measure("program", function=name, lines=programs[0].text.count("\n") + 1)
    if programs[0].text != programs[1].text:
        rows = [program.text.splitlines() for program in programs]
        row = next((i for i, (a, b) in enumerate(zip(*rows)) if a != b), min(map(len, rows)))
        shown = ["" if row >= len(part) else part[row].strip() for part in rows]
        record.fail(f"two traces of {name} give different programs", measured=f"line {row + 1}: {shown[1]!r:.150}",
                    expected=f"{shown[0]!r:.150}", line=line(), fix=fix)
    elif len(programs[0].constants) != len(programs[1].constants) or any(
            distance(a, b).largest for a, b in zip(programs[0].constants, programs[1].constants, strict=True)):
        record.fail(f"{name} closes over an array that changes from one trace to the next", measured="other values",
                    expected="equal values", line=line(), fix="pass the array as an argument")


def _flat(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in _flat(part)] if isinstance(x, list) else [x]


def _shown(leaves: list[Any]) -> str:
    return str(leaves[0]) if len(leaves) == 1 and getattr(leaves[0], "shape", ()) == () else "one result"


def _compiled_once(session: Session, record: Recorder) -> None:
    """The compiled gradient, and the functions that the user compiles, are traced once for two batches of one shape."""
    watch, engine = session.watch, session.engine
    function = session.function()
    trainable, fixed = session.split(session.params.leaves)
    runs = [0]

    def counted(*args: Any) -> Any:
        runs[0] += 1
        return session.objective(*args)

    gradient = engine.jit(engine.value_and_grad(counted))
    moved = session.split(session.jittered())[0]
    counts = []
    for values in (trainable, moved):
        engine.call(gradient, values, fixed, session.batch.leaves, session.objective_key)
        counts.append(runs[0])
    record.measure("traces of the compiled gradient", first=counts[0], second=counts[1] - counts[0])
    if counts[1] > counts[0]:
        record.fail("the compiled gradient is traced again for arguments of the same shapes",
                    measured=f"{counts[1] - counts[0]} more traces", expected="none", line=of_function(function),
                    fix="keep static arguments equal, and do not build functions or types in each call")
    places = []
    for values in (trainable, moved):
        watch.traces.clear()
        engine.call(session.objective, values, fixed, session.batch.leaves, session.objective_key)
        places = list(watch.traces)
    for site in dict.fromkeys(places):
        record.fail("a compiled function inside is traced again at every call", measured=f"{places.count(site)} traces "
                    "in the second call", expected="none", line=site,
                    fix="call jax.jit once, outside; keep its static arguments equal and hashable")


def _passes(session: Session, record: Recorder) -> None:
    """Two passes over all batches: the first compiles as often as is allowed, the second not at all."""
    engine, model = session.engine, session.model
    trees = [session.batch, *(session.tree(batch) for batch in model.batches)]
    runs: list[str] = []

    def counted(trainable: Any, fixed: Any, batch: Any, key: Any, structure: Any) -> Any:
        tree = engine.unflatten(session.params.structure, session.merge(trainable, fixed))
        given = engine.unflatten(structure, batch)
        runs.append("; ".join(str(engine.type_of(leaf)) for leaf in batch))
        if model.loss is not None:
            return session.loss_of_trees(tree, given, key)
        return session.weighted(engine.flatten(session.forward_of_trees(tree, given, key))[0])

    compiled = {tree.structure: engine.jit(engine.value_and_grad(functools.partial(counted, structure=tree.structure)))
                for tree in trees}
    counts = []
    for _ in range(2):
        runs.clear()
        session.watch.traces.clear()
        for tree in trees:
            engine.call(compiled[tree.structure], *session.split(session.params.leaves), tree.leaves,
                        session.objective_key)
        counts.append((len(runs), len(session.watch.traces)))
        if len(counts) == 1:
            seen = list(runs)
    limit = model.compilations if model.compilations is not None else len(trees)
    record.measure("compilations in two passes over the batches", batches=len(trees), limit=limit, first=counts[0][0],
                   second=counts[1][0])
    line = of_function(session.function())
    if counts[0][0] > limit:
        record.fail("the batches compile more often than is allowed", measured=f"{counts[0][0]} times: {seen}"[:300],
                    expected=f"at most {limit}", line=written(model, "batches") or line,
                    fix="pad batches to a few shapes, or drop the last, smaller one")
    if any(counts[1]):
        record.fail("a second pass over the same batches compiles again", measured=f"{sum(counts[1])} more traces",
                    expected="none", line=line,
                    fix="keep static arguments equal, and do not build functions in each call")


def _update_compiles_once(session: Session, record: Recorder) -> None:
    watch, params, state = session.watch, session.raw_params, session.model.state
    places: list[Any] = []
    for _ in range(3):  # what the first step returns may have another weak type: contract says so
        watch.traces.clear()
        result = updated(session, params, state, session.key)
        places = list(watch.traces)
        params = find_params(session, result)
        if params is None:
            return
    record.measure("traces in a later update", count=len(places))
    for site in dict.fromkeys(places):
        record.fail("update compiles again in every step", measured=f"{places.count(site)} traces in the third step",
                    expected="none", line=site,
                    fix="call jax.jit once, outside; pass what changes from step to step as an array, not as static")
