"""What a run of the gate found: findings, results per check, the report as text and as JSON, and the exit code."""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from pullback.gate.sites import Site

__all__ = ["EXIT_CODES", "Finding", "Recorder", "Report", "Result", "SCHEMA", "plain", "shown"]

SCHEMA = "pullback-gate-report-1"
# As pytest's.
EXIT_CODES = {"passed": 0, "failed": 1, "interrupted": 2, "internal error": 3, "usage": 4, "nothing ran": 5}
_FINDING_LIMIT = 5  # shown per check as text; the JSON report has all


class Repair(NamedTuple):
    """An edit that makes a finding go away: one text of a line in place of another."""

    before: str
    after: str
    line: Site

    def __str__(self) -> str:
        if not self.after or self.after == "pass":
            return f'without "{self.before}"'
        return f'with "{self.after}" in place of "{self.before}"'


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a check found.

    Args:
      level: "fail", or "note" for what a reader should know but need not mend.
      what: what is wrong, in one line.
      measured, expected: the two sides.
      leaf: the path of the leaf ("params/layers/0/w").
      line: the user's line.
      fix: what to do.
      repairs: edits with which this holds, the best first; `line` is that of the first.
    """

    level: str
    what: str
    measured: str = ""
    expected: str = ""
    leaf: str = ""
    line: Site | None = None
    fix: str = ""
    repairs: tuple[Repair, ...] = ()

    def text(self) -> str:
        rows = (("measured", self.measured), ("expected", self.expected),
                ("where", "  ".join(part for part in (self.leaf, str(self.line or "")) if part)),
                ("edit", self.edit()), ("do", self.fix))
        return "\n".join([self.what, *(textwrap.fill(f"{name:<10}{value}", 118, initial_indent="    ",
                                                     subsequent_indent=" " * 14) for name, value in rows if value)])


    def edit(self) -> str:
        """The edits in words; "" if there are none."""
        if not self.repairs:
            return ""
        first, *rest = self.repairs
        others = "".join(f"; or, in line {repair.line.line}, {repair}" for repair in rest)
        return f"{first} this holds{others}"


@dataclasses.dataclass
class Result:
    """The outcome of one check: "pass", "fail", "skip", or "error" where the gate itself broke."""

    check: str
    description: str
    status: str = "pass"
    findings: list[Finding] = dataclasses.field(default_factory=list)
    measurements: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    reason: str = ""
    seconds: float = 0.0

    def count(self, level: str) -> int:
        return sum(finding.level == level for finding in self.findings)

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "fail"]


class Recorder:
    """Where a check puts what it finds."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def fail(self, what: str, **parts: Any) -> None:
        self.result.status = "fail"
        self.result.findings.append(Finding("fail", what, **parts))

    def note(self, what: str, **parts: Any) -> None:
        self.result.findings.append(Finding("note", what, **parts))

    def measure(self, what: str, **values: Any) -> None:
        self.result.measurements.append({"what": what, **values})

    def skip(self, reason: str) -> None:
        """Says that the check had nothing to look at."""
        self.result.status, self.result.reason = "skip", reason


@dataclasses.dataclass
class Report:
    """A whole run.

    Args:
      model: what was checked.
      environment: engine, versions, devices, settings.
      tolerances: every tolerance that is not a default, with its reason.
      repair: of the search for edits, if there was one: how many were tried, in how many seconds.
    """

    model: str
    seed: int
    environment: dict[str, Any]
    results: list[Result] = dataclasses.field(default_factory=list)
    tolerances: dict[str, Any] = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    repair: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def outcome(self) -> str:
        if self.interrupted:
            return "interrupted"
        statuses = {result.status for result in self.results}
        if "error" in statuses:
            return "internal error"
        if "fail" in statuses:
            return "failed"
        return "passed" if "pass" in statuses else "nothing ran"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]

    def __getitem__(self, check: str) -> Result:
        return next(result for result in self.results if result.check == check)

    def text(self) -> str:
        """The report to be read: findings first, then a table, then the outcome."""
        versions = self.environment.get("versions", {})
        engine = self.environment.get("engine", "")
        lines = [f"gate: {self.model}",
                 f"engine: {engine} {versions.get(engine)} on {', '.join(self.environment.get('devices', ()))}; "
                 f"seed {self.seed}", ""]
        for result in self.results:
            for level, title in (("fail", "FAIL"), ("note", "note")):
                found = [finding for finding in result.findings if finding.level == level]
                for finding in found[:_FINDING_LIMIT]:
                    lines.append(f"{title} {result.check}: {finding.text()}")
                if len(found) > _FINDING_LIMIT:
                    lines.append(f"     {result.check}: {len(found) - _FINDING_LIMIT} more; --json has all")
            if result.status == "error":
                lines.append(f"ERROR {result.check}: {result.reason}")
        if any(result.findings or result.status == "error" for result in self.results):
            lines.append("")
        lines += [*self._table(), "", self._summary()]
        return "\n".join(lines)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Of the table: check, status, seconds, remark."""
        found = []
        for result in self.results:
            remark = result.reason.splitlines()[0] if result.reason else result.description
            counts = ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for word, n in (
                ("failure", result.count("fail")), ("note", result.count("note"))) if n)
            found.append((result.check, result.status, f"{result.seconds:.2f} s", counts or remark))
        return found

    def _table(self) -> list[str]:
        rows = [("check", "result", "time", ""), *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return [f"{name:<{widths[0]}}  {status:<{widths[1]}}  {seconds:>{widths[2]}}  {remark}".rstrip()
                for name, status, seconds, remark in rows]

    def _summary(self) -> str:
        counts = [(sum(result.status == status for result in self.results), word) for status, word in (
            ("pass", "passed"), ("fail", "failed"), ("skip", "skipped"), ("error", "broke"))]
        said = f"{self.outcome}: " + (", ".join(f"{n} {word}" for n, word in counts if n) or "no check was asked for")
        return said + (f"; {self.searched()}" if self.repair else "")

    def searched(self) -> str:
        """What the search for edits did, in words; "" if there was none."""
        if not self.repair:
            return ""
        return f"{self.repair['tried']} edits tried in {self.repair['seconds']:.1f} s to name lines"

    def facts(self) -> list[tuple[str, str]]:
        """The environment as names and texts: {"a": {"b": 1}} is ("a: b", "1")."""
        def flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
            if isinstance(value, dict):
                for key, below in value.items():
                    yield from flat(below, f"{name}: {key}" if name else str(key))
            else:
                yield name, ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        return list(flat(self.environment, ""))

    def data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"schema": SCHEMA, "model": self.model, "seed": self.seed, "outcome": self.outcome,
                "exit_code": self.exit_code, "environment": self.environment, "tolerances": self.tolerances,
                "repair": self.repair,
                "results": [plain(dataclasses.asdict(result) | {"findings": [_finding(f) for f in result.findings]})
                            for result in self.results]}

    def json(self) -> str:
        """The report as JSON; numbers that JSON does not have are strings ("nan", "inf")."""
        return json.dumps(plain(self.data()), indent=1, allow_nan=False)


def shown(error: BaseException) -> str:
    """An error in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:200]


def _finding(finding: Finding) -> dict[str, Any]:
    return {**{field.name: getattr(finding, field.name) for field in dataclasses.fields(finding)},
            "line": _site(finding.line),
            "repairs": [{"before": repair.before, "after": repair.after, "line": _site(repair.line)}
                        for repair in finding.repairs]}


def _site(site: Site | None) -> dict[str, Any] | None:
    return None if site is None else {"file": site.file, "line": site.line, "function": site.function}


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): plain(x) for name, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(x) for x in value]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    try:
        x = float(value)
    except (TypeError, ValueError):
        return str(value)
    return x if math.isfinite(x) else str(x)


