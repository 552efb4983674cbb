"""Every planted fault is found by the check that is for it, on its line; models that are right pass.

Under pullback every model goes through all checks; under jax, which compiles each operation of an eager run, through
those that the model is made for, and one model through all.
"""

import linecache

import pytest

from pullback import gate
from tests.gate.faults import FAULTS
from tests.gate.healthy import HEALTHY, plain

# Of the faults, those that are run under jax too: each of a different kind.
UNDER_JAX = ("wrong_factor_in_custom_jvp", "dropped_term_of_the_product_rule", "swapped_axis_in_custom_vjp",
             "swapped_axis_of_a_softmax", "stopped_gradient", "rounded_on_the_way", "reused_key",
             "raw_key_reused_in_a_loop", "key_sampled_and_split", "nan_at_zero", "silent_broadcast", "hidden_nan",
             "impure_loss", "compiled_in_every_step", "update_that_broadcasts")


@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_no_false_alarm(build):
    report = gate.verify(build)
    assert report.outcome == "passed", report.text()


@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_no_false_alarm_under_jax(build):
    report = gate.verify(build, "jax", only=HEALTHY[build])
    assert report.outcome == "passed", report.text()


def test_every_check_runs_on_the_plain_model():
    report = gate.verify(plain)
    assert [result.status for result in report.results] == ["pass"] * 9, report.text()
    assert all(result.measurements for result in report.results)


@pytest.mark.parametrize("name", FAULTS)
def test_found_by_the_right_check(name):
    found(gate.verify(FAULTS[name].build), FAULTS[name])


@pytest.mark.parametrize("name", UNDER_JAX)
def test_found_by_the_right_check_under_jax(name):
    fault = FAULTS[name]
    found(gate.verify(fault.build, "jax", only=[fault.check]), fault)


def found(report, fault):
    assert report.outcome == "failed", report.text()
    assert [finding for finding in report[fault.check].failures if fault.text in finding.text()
            and fault.leaf in finding.leaf and fault.line in source(finding.line)], report.text()
    for finding in report[fault.check].failures:
        assert finding.measured and finding.expected and finding.fix, finding


def source(site):
    return "" if site is None else linecache.getline(site.file, site.line)


def test_a_made_model_can_be_checked_too():
    """Then calls are not watched from the start, but what needs no change of a call is found all the same."""
    import pullback
    report = gate.verify(FAULTS["unused_parameter"].build(pullback), only=["flow", "transforms", "purity"])
    assert [result.status for result in report.results] == ["fail", "pass", "pass"], report.text()


def test_the_engine_is_left_as_it_was():
    import pullback
    names = [(pullback, "jit"), (pullback, "custom_jvp"), (pullback.lax, "stop_gradient"), (pullback.random, "normal"),
             (pullback.numpy, "argmax")]
    before = [getattr(module, name) for module, name in names]
    gate.verify(plain, only=["flow"])
    assert all(getattr(module, name) is function for (module, name), function in zip(names, before))
