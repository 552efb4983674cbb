"""Planted faults are found by the check that is for them, on their line; models that are right pass.

This is a sample of the corpus, of each check a few; scripts/faults runs the whole.
"""

import re
from pathlib import Path

import pytest

from pullback import gate
from pullback.gate.checks import CHECKS
from tests.gate.faults import corpus, judge
from tests.gate.healthy import HEALTHY, plain

CASES = {case.name: case for case in corpus()}
TWINS = {check.name: [case for case in CASES.values() if case.twin and case.twin.check == check.name]
         for check in CHECKS}
# The examples in the pages of docs/gate.
EXAMPLES = {"contract": "regression.declared.step_that_broadcasts", "derivative": "rules.forward_rules.factor",
            "flow": "regression.declared.stopped_hidden", "keys": "recurrent.unrolled.key_not_split_in_the_loop",
            "finite": "norms.length.root_of_zero", "refusal": "regression.plain.column_of_targets_accepted",
            "transforms": "classifier.probabilities.softmax_over_objects",
            "reference": "attention.causal.mask_one_early",
            "purity": "regression.plain.state_that_scales", "data": "splits.prepared.statistics_of_all_data",
            "update": "regression.declared.step_uphill", "environment": "regression.plain.precision_set_inside"}
SAMPLE = [case.name for cases in TWINS.values() for case in cases[1::max(1, len(cases) // 2)][:2]]
UNDER_JAX = [cases[len(cases) // 2].name for cases in TWINS.values()]
# Of the right models, one for each kind of declaration, with the checks that look at it.
RIGHT = {"regression.declared": [], "regression.plain": ["refusal", "purity", "environment"],
         "attention.causal": ["transforms", "reference"], "optimiser.adam": ["update", "reference", "contract"],
         "rules.forward_rules": ["derivative"], "norms.length": ["finite"], "precision.lower": ["finite"],
         "tokens.bag": ["transforms"], "splits.prepared": ["data"], "recurrent.unrolled": ["keys"]}


@pytest.mark.parametrize("build", HEALTHY, ids=lambda build: build.__name__)
def test_no_false_alarm(build):
    report = gate.verify(build)
    assert report.outcome == "passed", report.text()


@pytest.mark.parametrize("build", list(HEALTHY)[::3], ids=lambda build: build.__name__)
def test_no_false_alarm_under_jax(build):
    report = gate.verify(build, "jax", only=HEALTHY[build])
    assert report.outcome == "passed", report.text()


@pytest.mark.parametrize("name", RIGHT)
def test_no_false_alarm_in_the_corpus(name):
    report = gate.verify(CASES[name].build, only=RIGHT[name])
    assert report.outcome == "passed", report.text()


def test_every_check_runs_on_the_plain_model():
    report = gate.verify(plain)
    assert [result.status for result in report.results if result.check != "reference"] == ["pass"] * 11, report.text()
    assert all(result.measurements for result in report.results if result.check != "reference")


def test_the_corpus_is_large_and_every_check_has_faults():
    assert sum(map(len, TWINS.values())) >= 120
    assert all(len(cases) >= 2 for cases in TWINS.values())


@pytest.mark.parametrize("name", SAMPLE)
def test_found_by_the_right_check(name):
    found(CASES[name], "pullback")


@pytest.mark.parametrize("name", UNDER_JAX)
def test_found_by_the_right_check_under_jax(name):
    found(CASES[name], "jax")


@pytest.mark.parametrize("check", EXAMPLES)
def test_the_example_of_its_page(check):
    page = (Path(__file__).resolve().parents[2] / "docs" / "gate" / f"{check}.md").read_text()
    name, quoted = re.search(r"The fault `(.*?)`.*```text\n(.*?)\n```", page, re.DOTALL).groups()
    assert name == EXAMPLES[check] and CASES[name].twin.new.strip("\n") in page

    def words(text):
        return re.sub(r"[-+.\de]*\d", "#", text)
    assert words(quoted) in words(found(CASES[name], "pullback").text())


def found(case, engine):
    searched = engine == "pullback"  # for an edit, which takes half a minute of jax; test_repair.py has one
    report = gate.verify(case.build, engine, only=[case.twin.check], repair=searched)
    verdict = judge(case, report)
    assert verdict.named if searched else verdict.checked, report.text()
    for finding in report[case.twin.check].failures:
        assert finding.measured and finding.expected and finding.fix, finding
    return report


def test_a_made_model_can_be_checked_too():
    """Then calls are not watched from the start, but what needs no change of a call is found all the same."""
    import pullback
    model = CASES["regression.declared.bias_forgotten"].build(pullback)
    report = gate.verify(model, only=["flow", "transforms", "purity"])
    assert [result.status for result in report.results] == ["fail", "pass", "pass"], report.text()


def test_the_engine_is_left_as_it_was():
    import pullback
    names = [(pullback, "jit"), (pullback, "custom_jvp"), (pullback.lax, "stop_gradient"), (pullback.random, "normal"),
             (pullback.numpy, "argmax"), (pullback.numpy, "maximum"), (pullback.nn, "relu")]
    before = [getattr(module, name) for module, name in names]
    gate.verify(CASES["regression.plain.precision_flag_changed"].build, only=["environment"])
    assert all(getattr(module, name) is function for (module, name), function in zip(names, before))
    assert pullback.config.jax_default_matmul_precision is None and "update" not in vars(pullback.config)


def test_a_kink_is_a_note_with_its_line():
    def build(jax):
        def loss(w, x):
            small = jax.numpy.minimum(x @ w, 0.5)
            return jax.numpy.sum(jax.numpy.abs(small))
        return gate.Model(loss, jax.numpy.zeros(2), {"x": jax.numpy.ones((3, 2))})
    result = gate.verify(build, only=["derivative"])["derivative"]
    (note,) = result.findings
    assert result.status == "pass" and note.what.startswith("kink")
    assert note.line.line == build.__code__.co_firstlineno + 3, note.text()
