"""keys: every random key is consumed once, and results depend on the key and on nothing else that is random."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pullback.gate.blame import alias, handed_back, parting
from pullback.gate.checks.base import Check
from pullback.gate.checks.contract import updated
from pullback.gate.model import BareFunction
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.signature import key_name
from pullback.gate.sites import Site, of_function
from pullback.gate.values import distance
from pullback.gate.watch import Event

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    model = session.model
    runs: list[tuple[str, Callable[..., Any], Callable[[Any], Any], Any, Any]] = []
    if model.init is not None:
        runs.append(("init", model.init, model.init, session.init_key, session.other_init_key))
    given = session.engine.from_numpy([session.params.leaves, session.batch.leaves])
    for function, of_leaves in ((model.loss, session.loss), (model.forward, session.forward)):
        if function is not None:
            # An object of its own, so that what is traced here, with notes of the keys, serves nothing else.
            compiled = functools.partial(session.engine.jit(functools.partial(of_leaves)), *given)
            runs.append(("loss" if function is model.loss else "forward", function, compiled, session.key,
                         session.other_key))
    if model.update is not None and key_name(model.update) is not None:
        runs.append(("update", model.update,
                     lambda key: updated(session, session.raw_params, model.state, session.engine.to_numpy(key)),
                     session.key, session.other_key))
    looked = [_check(session, record, *run) for run in runs]
    if not any(looked):
        record.skip("no function takes a random key or draws random numbers")


CHECK = Check("keys", "every key is used once; the same key gives the same result, another key another", _run)


def _leaves(session: Session, result: Any) -> list[Any]:
    return [session.engine.to_numpy(leaf) for leaf in session.engine.flatten(result)[0]]


def _check(session: Session, record: Recorder, name: str, function: Callable[..., Any], call: Callable[[Any], Any],
           key: Any, other: Any) -> bool:
    """Checks one function; whether it has anything to do with random numbers."""
    engine, line = session.engine, of_function(function)
    takes_key = name == "init" or key_name(function) is not None
    engine.forget()  # compiled functions inside are traced again, with what notes the keys
    with session.watch.recording() as events:
        if takes_key:
            first = _leaves(session, call(engine.from_numpy(key)))
            engine.settle()
        else:  # a trace is cheap, and shows whether anything is drawn at all
            engine.types(call, None)
            if events:
                events.clear()
                engine.forget()
                first = _leaves(session, call(None))
                engine.settle()
    drawn = [event for event in events if event.kind == "random"]
    for event in dict.fromkeys(event for event in events if event.kind == "made"):
        what, fixed = f"{name} makes a key of its own: every call draws the same numbers", session.model.fixed_keys
        if fixed or isinstance(session.model, BareFunction):
            record.note(what, measured=fixed or event.name, line=event.site)
        else:
            record.fail(what, measured=f"a call of {event.name}", expected="keys that come from an argument",
                        line=event.site, fix="take the key as an argument; if the numbers are meant to be the same "
                                             "every time, say so: Model(fixed_keys=reason)")

    def run() -> Any:
        return call(engine.from_numpy(key) if takes_key else None)

    def anew() -> Any:
        engine.forget()
        return run()

    _consumed_once(session, record, name, drawn, [event for event in events if event.kind == "derived"], anew)
    record.measure("random calls", function=name, count=len(drawn))
    if not takes_key and not events:
        return False
    again = _leaves(session, run())
    another = _leaves(session, call(engine.from_numpy(other))) if takes_key else None
    if not _equal(first, again):
        record.fail(f"{name} gives another result for the same key", measured="two results of one call differ",
                    expected="equal results", line=parting(session, anew) or line,
                    fix="look for numpy.random, Python's random, or state that a call changes")
    elif another is not None and _equal(first, another):
        lost = [f"; the first draw is {event.name} at {event.site}" for event in drawn
                if event.name not in ("split", "fold_in", "clone")][:1]
        record.fail(f"{name} gives the same result for another key",
                    measured="equal results for two keys" + "".join(lost), expected="different results", line=line,
                    fix="pass the key on to the random functions, or take the parameter away")
    return True


def _equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(distance(a, b).largest == 0 for a, b in zip(one, other, strict=True))


def _consumed_once(session: Session, record: Recorder, name: str, events: list[Event], derived: list[Event],
                   run: Callable[[], Any]) -> None:
    made: defaultdict[bytes, list[Event]] = defaultdict(list)
    for event in derived:
        for words in event.words:
            made[words].append(event)
    uses: defaultdict[bytes, list[Event]] = defaultdict(list)
    for event in events:
        for words in event.words:
            if event.name == "clone":
                uses[words].clear()  # says that the key is used again on purpose
            else:
                uses[words].append(event)
    reported = set()
    for words, found in uses.items():
        # fold_in with other data gives another key; anything beside it draws from the same stream.
        kinds = {("fold_in", event.detail) if event.name == "fold_in" else i for i, event in enumerate(found)}
        folds = sum(isinstance(kind, tuple) for kind in kinds)
        if len(kinds) < 2 or folds == len(kinds):
            continue
        found.sort(key=lambda event: event.site or ("", 0, ""))  # the order of callbacks is not that of the program
        places = tuple(dict.fromkeys(f"{event.name} at {event.site}" for event in found))
        if places in reported:
            continue
        reported.add(places)
        record.fail(f"{name} uses one key {len(found)} times", measured="; ".join(places),
                    expected="one use of every key", line=_of_reuse(session, found, made[words], run),
                    fix="split the key first, and give each use a part of its own")


def _of_reuse(session: Session, uses: list[Event], made: list[Event], run: Callable[[], Any]) -> Site | None:
    """The line that makes one key again and again, or passes it on to the next step; or the last use."""
    last = uses[-1].site
    if len(made) > 1:
        return made[-1].site
    if last is None or len({event.site for event in uses}) > 1:
        return last
    return alias(last) or handed_back(session, run, last) or last
