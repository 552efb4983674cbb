"""A report as JUnit XML: a test case for each check, case or stage."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from pullback.gate.report import Report, Result

__all__ = ["xml"]

_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML does not have


def xml(report: Report, command: str) -> str:
    """The report as JUnit XML."""
    counts = {status: sum(result.status == status for result in report.results)
              for status in ("fail", "error", "skip")}
    numbers = {"tests": len(report.results), "failures": counts["fail"], "errors": counts["error"],
               "skipped": counts["skip"], "time": f"{sum(result.seconds for result in report.results):.3f}"}
    shared = {name: str(value) for name, value in numbers.items()}
    suites = ElementTree.Element("testsuites", {"name": command, **shared})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _clean(report.model), **shared})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("seed", report.seed), ("outcome", report.outcome), *report.facts()):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _clean(str(value))})
    for result in report.results:
        _case(suite, report, result)
    ElementTree.indent(suites)
    return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + ElementTree.tostring(suites, encoding="unicode")


def _case(suite: ElementTree.Element, report: Report, result: Result) -> None:
    place = {}
    lines = [finding.line for finding in result.failures if finding.line]
    if lines:
        place = {"file": lines[0].file, "line": str(lines[0].line)}
    case = ElementTree.SubElement(suite, "testcase", {"classname": _clean(report.model), "name": _clean(result.check),
                                                      "time": f"{result.seconds:.3f}", **place})
    if result.status == "fail":
        text = "\n\n".join(finding.text() for finding in result.failures)
        ElementTree.SubElement(case, "failure", {"message": _clean(result.failures[0].what)}).text = _clean(text)
    elif result.status == "error":
        ElementTree.SubElement(case, "error", {"message": _clean(result.reason.splitlines()[0])}
                               ).text = _clean(result.reason)
    elif result.status == "skip":
        ElementTree.SubElement(case, "skipped", {"message": _clean(result.reason)})
    notes = [finding.text() for finding in result.findings if finding.level != "fail"]
    if notes:
        ElementTree.SubElement(case, "system-out").text = _clean("\n\n".join(notes))


def _clean(text: str) -> str:
    return _ILLEGAL.sub("?", text)
