"""Every planted fault is found by the check that is for it, on its line; models that are right pass."""

import linecache

import pytest

from pullback import gate
from tests.gate.faults import FAULTS
from tests.gate.healthy import HEALTHY

ENGINES = ["pullback", "jax"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_no_false_alarm(build, engine):
    report = gate.verify(build, engine)
    assert report.outcome == "passed", report.text()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FAULTS)
def test_found_by_the_right_check(name, engine):
    build, check, line, leaf, text = FAULTS[name]
    report = gate.verify(build, engine, only=[check])
    assert report.outcome == "failed", report.text()
    fitting = [finding for finding in report[check].failures
               if text in finding.text() and leaf in finding.leaf and line in source(finding.line)]
    assert fitting, report.text()


def source(site):
    return "" if site is None else linecache.getline(site.file, site.line)
