"""The search for an edit that makes a failing check hold, which names the line."""

import ast
import json
import linecache
import subprocess
import sys
import time

import numpy as np
import pytest

import pullback
from pullback import gate
from pullback.gate.engine import load
from pullback.gate.repair import search
from pullback.gate.repair.edits import installed
from pullback.gate.repair.functions import functions_of, watched_run
from pullback.gate.repair.operators import edits_of
from pullback.gate.repair.trial import Watchdog, _Late
from pullback.gate.reports.page import html
from tests.gate.faults import corpus, judge
from tests.gate.healthy import plain

HERE = __file__
X = np.arange(6, dtype="float32").reshape(3, 2)
ANSWER = [gate.Expected("by hand", params=np.ones(2, "float32"), loss=float(np.mean(X.sum(1) ** 2)))]


def model(jax, wrong="", expected=ANSWER):
    """The mean of squares, or with one fault: its line is the last of the loss."""
    jnp = jax.numpy

    def square(x):
        return x ** 2

    def right(w, x):
        return jnp.mean(square(x @ w))

    def a_sum(w, x):
        values = square(x @ w)
        return jnp.sum(values)

    def without_end(w, x):
        count, steps = 0, 3
        while count < steps:
            count = count + 1
        return jnp.mean(square(x @ w)) * (count - 2) * 2

    loss = {"": right, "sum": a_sum, "loop": without_end}[wrong]
    return gate.Model(loss, np.ones(2, "float32"), {"x": X}, expected=expected)


def faulty(wrong):
    return lambda jax: model(jax, wrong)


def found(made, *args):
    """The functions of a loss as the search sees them."""
    return functions_of(watched_run(lambda: made.loss(*args), load("pullback").folders, ()))


def all_edits(function, limit=400):
    keys = frozenset(["x"])
    edits = [edit for tier in edits_of(function, keys, pullback.lax.stop_gradient, frozenset()) for edit in tier()]
    return edits[::max(1, len(edits) // limit)]


def a_function():
    made = model(pullback, "sum")
    return made, found(made, pullback.numpy.ones(2), pullback.numpy.asarray(X))


def test_the_line_is_named_and_the_edit_proposed():
    report = gate.verify(faulty("sum"), only=["reference"])
    (finding,) = report["reference"].failures
    assert linecache.getline(finding.line.file, finding.line.line).strip() == "return jnp.sum(values)"
    assert finding.repairs[0][:2] == ("jnp.sum(values)", "jnp.mean(values)") and finding.line == finding.repairs[0].line
    text = 'with "jnp.mean(values)" in place of "jnp.sum(values)" this holds'
    assert text in finding.edit() and text in " ".join(report.text().split())
    data = json.loads(report.json())
    said = data["results"][0]["findings"][0]
    assert said["repairs"][0]["after"] == "jnp.mean(values)" and said["line"] == said["repairs"][0]["line"]
    assert data["repair"]["tried"] > 0 and "edits tried" in report.text()
    assert "jnp.mean(values)" in html(report, "pullback verify")


@pytest.mark.parametrize("options, edits", [([], 1), (["--no-repair"], 0)])
def test_the_command_has_an_option(tmp_path, options, edits):
    file = tmp_path / "model.py"
    file.write_text("from pullback import gate\nimport jax.numpy as jnp\n\n\n"
                    "def loss(w):\n    return jnp.sum(w) + 1\n\n\n"
                    "model = gate.Model(loss, jnp.ones(2), expected=[gate.Expected('by hand', loss=2.0)])\n")
    done = subprocess.run([sys.executable, "-m", "pullback", "verify", str(file), "--only", "reference", "--quiet",
                           *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stdout.count("edit      with") == edits, done.stdout + done.stderr


def test_without_it_the_function_is_named():
    report = gate.verify(faulty("sum"), only=["reference"], repair=False)
    (finding,) = report["reference"].failures
    assert finding.repairs == () and "def a_sum" in linecache.getline(finding.line.file, finding.line.line)
    assert json.loads(report.json())["repair"] == {} and "edits tried" not in report.text()


def test_a_right_model_costs_nothing(monkeypatch):
    def never(*_):
        raise AssertionError("there is nothing to look for")
    monkeypatch.setattr(search, "_Search", never)
    report = gate.verify(plain, only=["contract", "flow"])
    assert report.outcome == "passed" and report.repair == {}
    assert gate.verify(model, only=["reference"]).outcome == "passed"


def test_every_edit_is_python_and_is_taken_back():
    _, (loss, square) = a_function()
    assert (loss.code.co_name, square.code.co_name) == ("a_sum", "square")
    for function in (loss, square):
        before = ast.unparse(function.node)
        edits = all_edits(function)
        assert len(edits) > 20
        for edit in edits:
            with edit.made():
                changed = ast.unparse(function.node)
                ast.parse(changed)
            assert ast.unparse(function.node) == before
            assert changed != before or edit.operator == "argument dropped", edit
            assert edit.size > 0 and all(isinstance(text, str) for text in edit.texts())


def test_the_function_is_as_it_was_whatever_happens():
    made, (function, _) = a_function()
    code = made.loss.__code__
    edit = next(edit for edit in all_edits(function, 10_000) if edit.texts()[1] == "jnp.mean(values)")
    given = pullback.numpy.ones(2), pullback.numpy.asarray(X)
    right = float(np.mean(X.sum(1) ** 2))
    with installed([edit]):
        assert made.loss.__code__ is not code and float(made.loss(*given)) == pytest.approx(right)
    with pytest.raises(ZeroDivisionError), installed([edit]):
        raise ZeroDivisionError
    assert made.loss.__code__ is code and float(made.loss(*given)) == pytest.approx(3 * right)


def test_a_name_of_the_enclosing_function_is_lent():
    def build():
        scale, shift = 2.0, 1.0

        def other(x):
            return x + shift

        def loss(x):
            return other(x) * scale
        return loss
    loss = build()
    functions = functions_of(watched_run(lambda: loss(1.0), load("pullback").folders, ()))
    outer = next(function for function in functions if function.code.co_name == "loss")
    assert "shift" in outer.around and "shift" not in outer.own_names
    edit = next(edit for edit in all_edits(outer, 10_000) if edit.texts()[1] == "other(x) * shift")
    with installed([edit]):
        assert loss(1.0) == 2.0
    assert loss(1.0) == 4.0 and "shift" not in globals()


def test_only_the_users_functions_are_changed():
    case = next(case for case in corpus() if case.name == "rules.forward_rules.sign")
    made = case.build(pullback)
    params = {name: pullback.numpy.asarray(x) for name, x in made.params.items()}
    engine = load("pullback")

    def run():
        engine.value_and_grad(lambda p: made.loss(p, *(pullback.numpy.asarray(x) for x in made.batch.values())))(params)
    functions = functions_of(watched_run(run, engine.folders, ()))
    assert {function.code.co_filename for function in functions} == {case.file, HERE}  # here is the lambda above
    assert {"loss", "sigmoid", "soft", "soft_jvp", "product_jvp"} <= {function.code.co_name for function in functions}


def test_what_acts_outside_is_left_alone():
    def loss(x):
        if x is None:
            open("/nowhere" + str(1 + 1), "w").write(str(x + 1))
            print(x + 2)
        return x * 3
    (function,) = functions_of(watched_run(lambda: loss(1), load("pullback").folders, ()))
    first = function.code.co_firstlineno
    lines = {edit.line - first for edit in all_edits(function, 10_000) if edit.operator != "statement dropped"}
    assert lines == {1, 4}


def test_an_edit_without_end_is_ended_and_the_time_is_kept():
    started = time.monotonic()
    report = gate.verify(faulty("loop"), only=["reference"])
    (finding,) = report["reference"].failures
    assert finding.line.function == "without_end" and finding.repairs, report.text()
    assert time.monotonic() - started < 4 * search.SECONDS["pullback"]
    assert report.repair["tried"] > 10, report.repair


def test_the_budget_is_kept(monkeypatch):
    monkeypatch.setitem(search.SECONDS, "pullback", 0.3)
    case = next(case for case in corpus() if case.name == "attention.causal.not_scaled")
    report = gate.verify(case.build, only=["reference"])
    assert report.repair["limit"] == 0.3 and report.repair["seconds"] < 20, report.repair
    assert judge(case, report).checked


def test_a_function_without_source_is_left_alone():
    text = "def loss(w, x):\n    return (x @ w).sum()\n"
    space = {}
    exec(compile(text, "<made up>", "exec"), space)
    given = gate.Model(space["loss"], np.ones(2, "float32"), {"x": X}, expected=ANSWER)
    report = gate.verify(given, only=["reference"])
    (finding,) = report["reference"].failures
    assert finding.repairs == () and finding.line == ("<made up>", 1, "loss")
    assert report.repair["tried"] == 0


def test_a_file_that_was_edited_since_is_left_alone():
    """Its lines are not those of the code."""
    text = "def loss(w, x):\n    return (x @ w).sum()\n"
    file = HERE.replace("test_repair", "edited_since")
    space = {}
    exec(compile(text, file, "exec"), space)
    other = "def loss(w, x, y):\n    return (x @ w).sum()\n"
    linecache.cache[file] = (len(other), None, other.splitlines(keepends=True), file)
    given = gate.Model(space["loss"], np.ones(2, "float32"), {"x": X}, expected=ANSWER)
    report = gate.verify(given, only=["reference"])
    assert report["reference"].failures[0].repairs == ()


@pytest.mark.parametrize("name", ["regression.declared.step_uphill", "optimiser.adam.default_of_the_rate",
                                  "tokens.bag.mask_one_off", "recurrent.network.time_backwards",
                                  "regression.declared.targets_forgotten"])
def test_it_names_the_changed_line(name):
    case = next(case for case in corpus() if case.name == name)
    report = gate.verify(case.build, only=[case.twin.check])
    assert judge(case, report).exact, report.text()


def test_it_names_the_changed_line_under_jax():
    case = next(case for case in corpus() if case.name == "regression.declared.mean_is_a_sum")
    report = gate.verify(case.build, "jax", only=[case.twin.check])
    assert judge(case, report).exact, report.text()


def test_what_runs_too_long_is_ended_though_the_first_attempt_is_lost():
    """An error in a destructor is lost: Python reports it and goes on."""
    class Long:
        def __del__(self):
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                pass

    def busy():  # in a frame of its own, for at the jump of a loop Python 3.13 finds no handler of the same frame
        until = time.monotonic() + 20
        while time.monotonic() < until:
            pass

    said, usual = [], sys.unraisablehook
    sys.unraisablehook = said.append
    try:
        with Watchdog() as watchdog, pytest.raises(_Late), watchdog.limit(0.05, 0.1):
            Long()
            busy()
    finally:
        sys.unraisablehook = usual
    assert not said
