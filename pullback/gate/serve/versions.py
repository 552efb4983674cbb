"""The versions of a model in production: a store of events, each added once and never changed.

A version holds what is needed to serve it again: code, parameters, the reports that it was let in on. Which version
serves follows from the events in order: promote, candidate, accept, withdraw, rollback.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pullback.gate.cases import STANDARD
from pullback.gate.checks import CHECKS
from pullback.gate.errors import UsageError
from pullback.gate.report import SCHEMA as REPORT
from pullback.gate.session import Session
from pullback.gate.store.arrays import describe
from pullback.gate.store.files import Revision, Store
from pullback.gate.subject import code_digest, code_files, params_digest

__all__ = ["AUTOMATIC", "SCHEMA", "State", "Versions", "forward", "hold"]

SCHEMA = "pullback-gate-versions-1"
AUTOMATIC = "automatic: "  # how the reason begins where a server has decided
_COMPARED = ("key stream", "inputs", STANDARD)  # rows that a whole comparison has


@dataclasses.dataclass
class State:
    """Which versions are in use.

    Args:
      served: the promoted version, last, and those that it can go back to.
      candidate: the one that runs in its shadow, or None.
      events: how many there are.
      chosen: the version that the last event gave the word to, if it was a person's.
    """

    served: list[int] = dataclasses.field(default_factory=list)
    candidate: int | None = None
    events: int = 0
    chosen: int | None = None

    @property
    def current(self) -> int | None:
        return self.served[-1] if self.served else None

    @property
    def previous(self) -> int | None:
        return self.served[-2] if len(self.served) > 1 else None

    def after(self, manifest: dict[str, Any]) -> None:
        """Takes in an event."""
        event, version = manifest["event"], manifest["version"]
        self.events += 1
        by_hand = not manifest["reason"].startswith(AUTOMATIC)
        self.chosen = version if event in ("promote", "accept", "rollback") and by_hand else None
        if event in ("promote", "accept"):
            self.served.append(version)
        elif event == "rollback" and version in self.served:
            del self.served[self.served.index(version) + 1:]
        if event == "candidate":
            self.candidate = version
        elif event == "withdraw" or version == self.candidate:
            self.candidate = None


class Versions:
    """The versions in a folder.

    Raises:
      UsageError: by every method, where the folder cannot be used or has been changed.
    """

    def __init__(self, folder: str) -> None:
        self.store = Store(folder, SCHEMA)
        self.folder = str(folder)

    def count(self) -> int:
        """How many events there are; cheap."""
        return len(self.store.numbers())

    def state(self) -> State:
        """What the events amount to."""
        state = State()
        if self.count():
            self.store.read()  # the chain of digests is whole
        for number in self.store.numbers():
            state.after(self.store.manifest(number))
        return state

    def version(self, number: int) -> Revision:
        """A version, with its parameters."""
        found = self.store.read(number)
        if found.manifest["event"] not in ("promote", "candidate"):
            raise UsageError(f"{number} in {self.folder!r} is no version, but the event {found.manifest['event']!r}",
                             "name one that was promoted or a candidate")
        return found

    def add(self, session: Session, target: str, reports: Sequence[dict[str, Any]], reason: str,
            candidate: bool = False, include: Sequence[str] = ()) -> int:
        """Adds a version; returns its number.

        Args:
          target: what was checked: file.py, or file.py:model.
          reports: of verify, and of compare if there is a record, as `Report.data()`.
          reason: why it is released.
          candidate: it shall run in the shadow of what serves, and not serve.
          include: data files that its code reads.

        Raises:
          UsageError: a report does not hold, or is of something else.
        """
        path, _, name = target.partition(":")
        hold(reports, {"code": code_digest(path), "params": params_digest(session.params)},
             session.engine.name)
        state = self.state()
        if candidate and state.current is None:
            raise UsageError("there is no promoted version that a candidate could be compared with",
                             "promote a version first, without --candidate")
        arrays = {session.shown("params", place): leaf
                  for place, leaf in zip(session.params.paths, session.params.leaves)}
        forward(session)  # what it imports on the way is code, too
        folder = Path(path).resolve().parent
        for file in include:
            place = Path(file).resolve()
            if not place.is_relative_to(folder):
                raise UsageError(f"{file} is not below the folder of {path}", "put it beside the model's file")
            arrays[f"file/{place.relative_to(folder)}"] = np.frombuffer(place.read_bytes(), np.uint8)
        return self._append("candidate" if candidate else "promote", state.events + 1, reason, {
            "model": {"file": Path(path).name, "name": name, "params": session.params.paths},
            "engine": session.engine.name, "environment": session.engine.environment(),
            "code": {file: text.splitlines(keepends=True) for file, text in code_files(path).items()},
            "reports": [_short(report) for report in reports]}, arrays)

    def accept(self, reason: str) -> int:
        """The candidate serves from now on; returns its number."""
        number = self.state().candidate
        if number is None:
            raise UsageError(f"{self.folder!r} has no candidate", "name a file: pullback promote FILE --versions DIR")
        self._append("accept", number, reason)
        return number

    def withdraw(self, reason: str, **facts: Any) -> None:
        """The candidate is one no longer."""
        number = self.state().candidate
        if number is not None:
            self._append("withdraw", number, reason, facts)

    def rollback(self, reason: str, to: int | None = None, **facts: Any) -> int:
        """Goes back to a version that served before, by default the one before; returns its number."""
        state = self.state()
        number = state.previous if to is None else to
        if number is None or number not in state.served[:-1]:
            raise UsageError(f"{self.folder!r} cannot go back" + ("" if to is None else f" to {to}") + ": "
                             + (f"these served before: {state.served[:-1]}" if state.served[:-1] else
                                "no other version served before"), "name one of them with --to, or promote a version")
        self._append("rollback", number, reason, {"from": state.current, **facts})
        return number

    def _append(self, event: str, version: int, reason: str, rest: dict[str, Any] | None = None,
                arrays: dict[str, Any] | None = None) -> int:
        if not reason.strip():
            raise UsageError(f"{event} needs a reason, which is kept", "give one: --reason 'why'")
        arrays = arrays or {}
        return self.store.append({
            "event": event, "version": version, "reason": reason.strip(),
            "created": datetime.datetime.now(datetime.UTC).isoformat("T", "seconds"), **(rest or {}),
            "arrays": {place: describe(leaf) for place, leaf in arrays.items()}}, arrays, {})


def forward(session: Session) -> list[Any]:
    """The outputs for the standard batch.

    Raises:
      UsageError: the model has no forward.
    """
    if session.model.forward is None:
        raise UsageError("the model has no forward, so there is nothing to serve", "give one: Model(forward=...)")
    key = session.key_if(session.model.forward, session.key)
    found: list[Any] = session.engine.call(session.outputs, session.params.leaves, session.batch.leaves, key)
    return found


def _short(report: dict[str, Any]) -> dict[str, Any]:
    """A report without its measurements."""
    return {**report, "results": [{"check": result["check"], "status": result["status"]}
                                  for result in report["results"]]}


def hold(reports: Sequence[dict[str, Any]], subject: dict[str, str], engine: str) -> None:
    """Raises UsageError unless the reports let a version with these digests in: verify's, and any of compare."""
    verified = False
    for report in reports:
        if report.get("schema") != REPORT:
            raise UsageError(f"a report has the schema {report.get('schema')!r}, {REPORT!r} is required",
                             "give what verify and compare write with --json")
        rows = {result["check"]: result["status"] for result in report["results"]}
        compared = "recorded" in report["environment"]
        kind = "compare" if compared else "verify"
        missing = [name for name in (_COMPARED if compared else [check.name for check in CHECKS]) if name not in rows]
        broken = [name for name, status in rows.items() if status not in ("pass", "skip")]
        if report["outcome"] != "passed" or broken:
            raise UsageError(f"the report of {kind} does not hold: {report['outcome']}"
                             + (f" ({', '.join(broken)})" if broken else ""), "mend the model; nothing was changed")
        if missing:
            raise UsageError(f"the report of {kind} is of a part: {', '.join(missing)} did not run",
                             f"run {kind} without --only")
        other = [name for name, value in subject.items() if report["environment"].get("subject", {}).get(name) != value]
        if other:
            raise UsageError(f"the report of {kind} is of other {' and other '.join(other)} than the file has now",
                             f"run {kind} again, or leave the report out: promote runs it")
        if report["environment"].get("engine") != engine:
            raise UsageError(f"the report of {kind} is of the engine {report['environment'].get('engine')}, not "
                             f"{engine}", "check a model under the engine that serves it")
        verified = verified or not compared
    if not verified:
        raise UsageError("there is no report of verify", "give one with --verify, or leave it out: promote runs it")
