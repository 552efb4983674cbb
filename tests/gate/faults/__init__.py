"""Planted faults: small models that are right, and their twins in which one line is another.

Each module here has functions that build a right model, and `TWINS`, a list for each of them. A twin is made from the
text of its module: one line is replaced, and nothing else. Tests and scripts/faults run them.
"""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pullback import gate

MODULES = ("regression", "classifier", "attention", "recurrent", "rules", "optimiser", "norms", "control", "tokens",
           "precision", "splits")


class Twin(NamedTuple):
    """One fault.

    Args:
      name: what was done.
      check: the check that is for it.
      old, new: a text that is in one line of the model, and what it is replaced by.
      at: what a line that may be named too contains, beside the changed one: that where the function begins, where
        nothing tells its lines apart; "" where there is no line, for data. By default the changed line alone will do.
      leaf, text: parts of the leaf and of the finding that are expected.
    """

    name: str
    check: str
    old: str
    new: str
    at: str | None = None
    leaf: str = ""
    text: str = ""


class Case(NamedTuple):
    """A model of the corpus: right if it has no twin."""

    name: str
    build: Callable[..., gate.Model]
    twin: Twin | None
    lines: frozenset[int]  # of the text, any of which may be named
    changed: frozenset[int]  # of the text
    file: str


def corpus() -> Iterator[Case]:
    """Every model, each right one before its twins."""
    for name in MODULES:
        yield from _of_module(importlib.import_module(f"{__name__}.{name}"))


def _of_module(module) -> Iterator[Case]:
    path = inspect.getsourcefile(module)
    with open(path) as file:
        source = file.read()
    models = source[:source.index("\nTWINS = ")]
    for model, twins in module.TWINS.items():
        name = f"{os.path.basename(path)[:-3]}.{model}"
        yield Case(name, getattr(module, model), None, frozenset(), frozenset(), path)
        for twin in twins:
            yield _twin(module, path, models, model, name, twin)


def _twin(module, path: str, source: str, model: str, name: str, twin: Twin) -> Case:
    start = source.index(f"\ndef {model}(jax):\n") + 1
    end = source.find("\ndef ", start + 1) if source.find("\ndef ", start + 1) > 0 else len(source)
    body = source[start:end]
    assert body.count(twin.old) == 1, f"{name}.{twin.name}: {twin.old!r} is there {body.count(twin.old)} times"
    place = start + body.index(twin.old)
    text = source[:place] + twin.new + source[place + len(twin.old):]
    first = source[:place].count("\n") + 1
    file = f"{path[:-3]}+{twin.name}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"__name__": module.__name__, "__file__": file}
    exec(compile(text, file, "exec"), space)
    changed = frozenset(range(first, first + 1 + twin.new.rstrip("\n").count("\n")))
    others: list[int] = []
    if twin.at:
        rows = text[:end + len(twin.new)].splitlines()
        others = [i for i, row in enumerate(rows, 1) if twin.at in row and i > source[:start].count("\n")]
        assert others, f"{name}.{twin.name}: no line contains {twin.at!r}"
    return Case(f"{name}.{twin.name}", space[model], twin, changed.union(others), changed, file)


class Verdict(NamedTuple):
    """What a report makes of a case.

    Args:
      caught: something failed.
      checked: the check that is for it failed, with the expected leaf and text.
      named: it also names the right line, or the leaf where there is no line.
      exact: that line is the changed one; or there is none, and the leaf is named.
    """

    caught: bool
    checked: bool
    named: bool
    exact: bool


def judge(case: Case, report: gate.Report) -> Verdict:
    """Whether a report says of a twin what it should."""
    twin = case.twin
    found = [finding for result in report.results if result.check == twin.check for finding in result.failures
             if twin.leaf in finding.leaf and twin.text in finding.text()]

    def names(lines: frozenset[int]) -> bool:
        return twin.at == "" and bool(found) or any(
            finding.line is not None and finding.line.file == case.file and finding.line.line in lines
            for finding in found)

    return Verdict(report.outcome == "failed", bool(found), names(case.lines), names(case.changed))
