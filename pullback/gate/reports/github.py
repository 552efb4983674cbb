"""A report as commands of GitHub's workflows: an annotation for each finding, and the summary of the step."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pullback.gate.report import Finding, Report

__all__ = ["notes", "summary"]

_LEVELS = {"fail": "error", "note": "notice"}
_MARKS = {"pass": "✅", "fail": "❌", "error": "💥", "skip": "➖"}


def notes(report: Report, command: str) -> Iterator[str]:
    """One line `::error file=...,line=...::...` for each finding."""
    for result in report.results:
        for finding in result.findings:
            yield _line(_LEVELS.get(finding.level, "notice"), f"{command}: {result.check}", finding)
        if result.status == "error":
            yield _line("error", f"{command}: {result.check}", Finding("fail", "the gate broke", result.reason))


def _line(level: str, title: str, finding: Finding) -> str:
    place = {"title": title}
    if finding.line is not None:
        file = os.path.realpath(finding.line.file)
        root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE", os.getcwd()))
        if file.startswith(root + os.sep):  # the paths of the repository are what GitHub knows
            file = os.path.relpath(file, root)
        place = {"file": file, "line": str(finding.line.line), **place}
    rows = [finding.what, *(f"{name}: {value}" for name, value in (
        ("measured", finding.measured), ("expected", finding.expected), ("leaf", finding.leaf),
        ("edit", finding.edit()), ("do", finding.fix)) if value)]
    fields = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in place.items())
    return f"::{level} {fields}::{_escaped(chr(10).join(rows))}"


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def summary(report: Report, command: str) -> str:
    """The table of the report, and its failures, as Markdown."""
    lines = [f"### {command}: {_cell(report.model)}: {report.outcome}", "", "| | check | time | |",
             "| --- | --- | --- | --- |"]
    lines += [f"| {_MARKS.get(status, '')} {status} | {_cell(name)} | {seconds} | {_cell(remark)} |"
              for name, status, seconds, remark in report.rows()]
    for result in report.results:
        for finding in result.failures:
            lines += ["", f"**{_cell(result.check)}**", "", "```text", finding.text().replace("```", "'''"), "```"]
    return "\n".join(lines) + "\n\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
