"""The search for an edit that makes what fails hold, to name its line (mutation-based fault localisation).

As in Moon, Kim, Kim and Yoo, "Ask the mutants" (MUSE, ICST 2014), and Papadakis and Le Traon, "Metallaxis-FL" (Softw.
Test. Verif. Reliab. 25, 2015): a change that turns what fails into what holds is likely to be where the fault is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import linecache
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

from pullback.gate.checks import CHECKS
from pullback.gate.checks.contract import updated
from pullback.gate.repair import slopes
from pullback.gate.repair.edits import Edit
from pullback.gate.repair.functions import Function, Run, functions_of, watched_run
from pullback.gate.repair.operators import edits_of
from pullback.gate.repair.trial import Part, Trial, Watchdog, quiet
from pullback.gate.report import Finding, Repair, Report
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function

__all__ = ["SECONDS", "repair"]

SECONDS = {"pullback": 10.0, "jax": 30.0}
# Purity and settings are about what a function does beside computing; finite has lines of its own.
_SEARCHED = ("contract", "reference", "flow", "update", "data", "keys", "refusal", "transforms", "derivative")
# Looked at whether they were asked for or not.
_QUICK, _SLOW = ("contract", "flow", "reference", "keys"), ("update", "transforms", "derivative")
_LINES = 3  # that a finding names
_PER_LINE = 3  # edits of a line that are enough
_SIMPLE = 2  # tiers of edits
_NEAR = 0.1  # of the tolerance: an edit that only just holds may be a coincidence, and more are tried


def repair(session: Session, report: Report, seconds: float | None = None) -> None:
    """Looks for edits that make failing checks hold, for findings that name no line but that of a function.

    Args:
      session: of the model, in its active watch.
      report: of the checks; its findings are changed.
      seconds: how long to look (default: by the engine, `SECONDS`).
    """
    wanted = {result.check: [finding for finding in result.failures if _place(session, result.check, finding)]
              for result in report.results if result.check in _SEARCHED}
    wanted = {check: findings for check, findings in wanted.items() if findings}
    if not wanted:
        return
    started = time.monotonic()
    seconds = SECONDS[session.engine.name] if seconds is None else seconds
    with quiet(), Watchdog() as watchdog:
        search = _Search(session, Trial(session, watchdog, seconds), wanted)
        found = search.run()
    report.repair = {"tried": search.trial.count, "seconds": round(time.monotonic() - started, 3), "limit": seconds}
    for result in report.results:
        repairs = _repairs(found.get(result.check, ()))
        for place, finding in enumerate(result.findings):
            if repairs and finding in wanted.get(result.check, ()):
                result.findings[place] = dataclasses.replace(finding, line=repairs[0].line, repairs=repairs)


def _first_lines(session: Session) -> dict[tuple[str, int], str]:
    """Where the functions of the model begin, and which they are."""
    model = session.model
    functions = {"loss": model.loss, "forward": model.forward, "init": model.init, "update": model.update,
                 "prepare": model.pipeline.prepare if model.pipeline is not None else None}
    found = {(site.file, site.line): "rule" for site in session.watch.rules}
    for name, function in functions.items():
        site = of_function(function)
        if site is not None:
            found[site.file, site.line] = name
    return found


def _place(session: Session, check: str, finding: Finding) -> str:
    """The function of the model in which a line is looked for; "" if the finding names the line already.

    A line where a value that breaks the contract was made need not be the wrong one.
    """
    if finding.line is None:
        return ""
    first = _first_lines(session).get((finding.line.file, finding.line.line), "")
    part = finding.leaf.rpartition(" ")[2].partition("/")[0]
    return first or ({"outputs": "forward", "loss": "loss"}.get(part, "") if check == "contract" else "")


def _repairs(edits: Sequence[Edit]) -> tuple[Repair, ...]:
    """The best edit of each line."""
    lines: dict[int, Repair] = {}
    for edit in edits:
        site = Site(edit.function.code.co_filename, edit.line, edit.function.code.co_name)
        if edit.line not in lines:
            lines[edit.line] = Repair(*edit.texts(), site)
    return tuple(lines.values())[:_LINES]


class _Search:
    """One search.

    Args:
      wanted: by check, the findings whose line is looked for.
    """

    def __init__(self, session: Session, trial: Trial, wanted: dict[str, list[Finding]]) -> None:
        self.session, self.trial, self.wanted = session, trial, wanted
        self.entries: dict[str, set[CodeType]] = {}

    def run(self) -> dict[str, list[Edit]]:
        """For each check, edits with which its findings are gone, the best first."""
        self.trial.choose(lambda: self.trial.session.evaluate())
        functions = self._functions()
        asked, quick, late = self._parts()
        parts = [part for part in asked if self.trial.before(part)]
        cost = sum(part.seconds for part in parts if part.failed)
        for part in quick:  # those that are cheap beside what failed go first, to be rid of bad edits
            if self.trial.before(part) and part.seconds > max(cost, 0.01):
                late.append(part)
            elif part.runs and not part.skipped:
                parts.append(part)
        failing = [part for part in parts if part.failed]
        holding = [part for part in parts if not part.failed]
        found: dict[str, list[Edit]] = {}
        # One fault is the reason of everything, or else each check has its own.
        goals = [(tuple(self.wanted), failing)]
        goals += [((check,), [part for part in failing if part.check == check]) for check in self.wanted]
        for checks, goal in goals:
            if set(checks) <= set(found) or not any(part.check in self.wanted for part in goal):
                continue
            findings = [finding for check in checks for finding in self.wanted[check]]
            edits = self._search(self._near(functions, checks), [*goal, *holding], late, findings)
            if edits:
                found.update(dict.fromkeys(checks, edits))
        return found

    # -- what is there ----------------------------------------------------------------------------------------

    def _functions(self) -> list[Function]:
        """The user's functions that run, and in `entries` from where."""
        session, model, engine = self.trial.session, self.session.model, self.session.engine
        params, batch, key = session.raw_params, session.batch_tree(), engine.from_numpy(session.key)
        trainable, fixed = (engine.from_numpy(part) for part in session.split(session.params.leaves))
        given = trainable, fixed, engine.from_numpy(session.batch.leaves), engine.from_numpy(session.objective_key)
        places = {_place(session, check, finding) for check in self.wanted for finding in self.wanted[check]}
        runs: dict[str, Callable[[], Any]] = {}
        if model.loss is not None:
            runs["loss"] = lambda: session.loss_of_trees(params, batch, given[3])
        if model.forward is not None:
            runs["forward"] = lambda: session.forward_of_trees(params, batch, session.key_if(model.forward, key))
        if model.init is not None and "init" in places:
            init = model.init
            runs["init"] = lambda: init(engine.from_numpy(session.init_key))
        if "update" in places:
            runs["update"] = lambda: updated(session, params, model.state, session.key)
        if model.pipeline is not None and "prepare" in places:
            pipeline = model.pipeline
            runs["prepare"] = lambda: pipeline.prepare(pipeline.raw)
        if "derivative" in self.wanted:
            runs["gradient"] = lambda: engine.value_and_grad(session.objective)(*given)
            runs["pushed"] = lambda: engine.jvp(lambda *leaves: session.objective(leaves, *given[1:]), trainable,
                                                trainable)
        specification = [model.reference, model.inputs, *(value for part in (
            *model.expected, *model.invariances, *model.refused) for value in vars(part).values() if callable(value))]
        run = Run()
        for name, start in runs.items():
            if self.trial.loops:
                engine.forget()  # so that what is traced once is seen
            seen = Run()
            with contextlib.suppress(Exception), self.trial.in_time(), self.trial.mode():  # a check says why it raises
                watched_run(start, engine.folders, specification, seen)
            self.entries[name] = set(seen.locals)
            run.add(seen)
        return functions_of(run)

    def _parts(self) -> tuple[list[Part], list[Part], list[Part]]:
        """What is looked at: the checks that failed, quick ones, and slow ones."""
        def parts(names: Iterable[str]) -> list[Part]:
            return [Part(check.name, run) for check in CHECKS if check.name in names
                    for run in check.parts or (check.run,)]

        asked = parts(self.wanted)
        if "derivative" in self.wanted:
            asked.append(Part("derivative", slopes.first))
            if self.session.model.second_order:
                asked.append(Part("derivative", slopes.second))
        return asked, parts({*_QUICK} - {*self.wanted}), parts({*_SLOW} - {*self.wanted})

    def _near(self, functions: Sequence[Function], checks: Sequence[str]) -> list[list[Function]]:
        """The functions that can be to blame, in groups, the nearest first."""
        groups: list[list[Function]] = [[], []]
        for function in functions:
            distance = max(self._distance(function, check, finding) for check in checks
                           for finding in self.wanted[check])
            if distance < len(groups):
                groups[distance].append(function)
        return groups

    def _distance(self, function: Function, check: str, finding: Finding) -> int:
        """0: the function is what fails, or called by it; 1: it may be; 2: it cannot be."""
        def runs_in(*entries: str) -> bool:
            return any(function.code in self.entries.get(entry, ()) for entry in entries)

        assert finding.line is not None
        place = _place(self.session, check, finding)
        computes = runs_in("loss", "forward")
        if check == "derivative":  # the function itself is taken to be right, and the rules of it are not
            there = (function.first.file, function.first.line) == (finding.line.file, finding.line.line)
            return 0 if not computes and runs_in("gradient", "pushed") else 1 if there or place != "rule" else 2
        if place == "update":
            return 2 if not runs_in("update") else 1 if computes else 0
        return 0 if runs_in(place) else 2

    # -- the search -------------------------------------------------------------------------------------------

    def _search(self, groups: Sequence[Sequence[Function]], parts: Sequence[Part], late: list[Part],
                findings: Sequence[Finding]) -> list[Edit]:
        """The edits with which all parts hold, of the first tier that has some."""
        survivors: list[Edit] = []
        for functions in groups:
            for edits in self._rounds(functions, findings):
                lines: Counter[int] = Counter()
                for edit in edits:
                    if self.trial.over:
                        break
                    if lines[edit.line] < _PER_LINE and self.trial.survives(edit, parts) and (
                            self.trial.survives(edit, self._known(late)) or self.trial.over):
                        survivors.append(edit)
                        lines[edit.line] += 1
                if survivors and min(self.trial.distances[edit] for edit in survivors) < _NEAR:
                    return self._ordered(survivors, findings)
        return self._ordered(survivors, findings) if survivors else []

    def _rounds(self, functions: Sequence[Function], findings: Sequence[Finding]) -> Iterator[list[Edit]]:
        """The edits of functions in the order in which they are tried; a round that has a good one is the last.

        Lines that name the leaf come before others, for the simpler edits, and the function that is named before what
        it calls.
        """
        leaves = _names(findings)
        firsts = {(finding.line.file, finding.line.line) for finding in findings if finding.line is not None}

        def near(edit: Edit) -> bool:
            return _mentions(leaves, linecache.getline(edit.function.first.file, edit.line))

        def called(edit: Edit) -> bool:
            return edit.function.first[:2] not in firsts

        tiers = list(zip(*(self._edits(function, findings) for function in functions)))
        rest: list[list[Edit]] = []
        for tier in tiers[:_SIMPLE]:
            edits = sorted((edit for start in tier for edit in start()), key=called)
            yield [edit for edit in edits if near(edit)]
            rest.append([edit for edit in edits if not near(edit)])
        yield from rest
        for tier in tiers[_SIMPLE:]:
            yield sorted((edit for start in tier for edit in start()), key=lambda edit: (not near(edit), called(edit)))

    def _known(self, parts: list[Part]) -> list[Part]:
        """Those that have been run without an edit, which now are all."""
        parts[:] = [part for part in parts if part.runs or self.trial.before(part)]
        return parts

    def _edits(self, function: Function, findings: Sequence[Finding]) -> list[Callable[[], Iterator[Edit]]]:
        session = self.session
        trees = [session.params, session.batch, session.tree(session.model.state)]
        keys = frozenset(name for tree in trees for path in tree.paths for name in path.split("/"))
        lax = session.engine.module("lax")
        names = _names(findings) | set(session.model.padding.split("/"))
        return edits_of(function, keys, lax.stop_gradient if lax is not None else None, frozenset(names))

    def _ordered(self, edits: Sequence[Edit], findings: Sequence[Finding]) -> list[Edit]:
        """The best first: what agrees best, leaves the loss as it is, touches the leaf, wastes nothing, is small."""
        value, leaves = self.trial.value(None), _names(findings)
        closest = min(self.trial.distances[edit] for edit in edits)

        def rank(edit: Edit) -> tuple[Any, ...]:
            touches = any(f"'{name}'" in text for name in leaves for text in edit.texts())
            return (self.trial.distances[edit] > max(4 * closest, 1e-3), self.trial.value(edit) != value, not touches,
                    edit.wastes(), edit.size, not edit.idle, edit.foreign(), -edit.line)

        return sorted(edits, key=rank)


def _names(findings: Sequence[Finding]) -> set[str]:
    """The names in the leaves of findings: {"w"} of "params/w"."""
    return {name for finding in findings for name in finding.leaf.split(" ")[0].split("/")[1:]}


def _mentions(names: set[str], text: str) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)
