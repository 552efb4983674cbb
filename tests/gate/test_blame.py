"""Lines of the user's own code, followed one by one: what is found by them, and that nothing of it is left behind."""

import bdb
import json
import sys

import numpy as np
import pytest

import pullback
from pullback import gate
from pullback.gate import blame
from pullback.gate.blame import lines
from pullback.gate.engine import load
from tests.gate.healthy import plain
from tests.gate.runs import from_text, sessions

FOLDERS = load("pullback").folders


def followed(run, folders=FOLDERS):
    """Event, function, and the line that has just run, counted from the beginning of its function; and the result."""
    steps = []

    def visit(step):
        site = step.site and (step.site.function, step.site.line)
        steps.append((step.event, step.frame.f_code.co_name, site))

    return steps, lines.follow(run, folders, visit)


def first_line(function):
    return function.__code__.co_firstlineno


def test_every_line_is_shown_after_it_has_run():
    def inner(x):
        y = x + 1
        return y

    def outer(x):
        z = inner(x)
        return z

    steps, result = followed(lambda: outer(1))
    i, o = first_line(inner), first_line(outer)
    assert result == 2
    called = steps.index(("line", "outer", ("outer", o)))
    assert steps[called:called + 7] == [
        ("line", "outer", ("outer", o)), ("call", "inner", ("outer", o + 1)), ("line", "inner", ("inner", i)),
        ("line", "inner", ("inner", i + 1)), ("return", "inner", ("inner", i + 2)), ("line", "outer", ("outer", o + 1)),
        ("return", "outer", ("outer", o + 2))]


def test_recursion_comes_back_to_the_line_that_called():
    def power(n):
        if n == 0:
            return 1
        rest = power(n - 1)
        return 2 * rest

    steps, result = followed(lambda: power(3))
    line = first_line(power)
    assert result == 8
    assert [site for event, name, site in steps if (event, name) == ("return", "power")] == [
        ("power", line + 2), *[("power", line + 4)] * 3]
    assert sum(event == "line" and site == ("power", line + 3) for event, _, site in steps) == 3


def test_a_generator_is_followed_from_yield_to_yield():
    def numbers():
        yield 1
        yield 2

    def total():
        return sum(numbers())

    steps, result = followed(total)
    line = first_line(numbers)
    assert result == 3
    assert [site[1] - line for event, name, site in steps if (event, name) == ("return", "numbers")] == [1, 2, 2]


def test_only_the_users_files_are_shown():
    names = []
    lines.follow(lambda: json.dumps({"a": pullback.numpy.tanh(0.5).item()}), FOLDERS,
                 lambda step: names.append(step.frame.f_code.co_filename))
    assert names and set(names) == {__file__}


def test_the_trace_function_is_given_back():
    def before(frame, event, value):
        return None

    def fails():
        raise KeyError("x")

    kept = sys.gettrace()
    try:
        sys.settrace(before)
        followed(lambda: 1)
        after_a_run = sys.gettrace()
        with pytest.raises(KeyError):
            followed(fails)
        after_an_error = sys.gettrace()
    finally:
        sys.settrace(kept)
    assert after_a_run is before and after_an_error is before


def test_an_error_of_the_visitor_leaves_no_trace_function():
    def visit(step):
        raise ValueError("visitor")

    before = sys.gettrace()
    with pytest.raises(ValueError, match="visitor"):
        lines.follow(lambda: 1, FOLDERS, visit)
    assert sys.gettrace() is before


def test_a_debugger_is_left_alone():
    kept, debugger = sys.gettrace(), bdb.Bdb()
    debugger.reset()
    ran = []
    try:
        sys.settrace(debugger.trace_dispatch)
        with pytest.raises(RuntimeError, match="debugger"):
            lines.follow(lambda: ran.append(1), FOLDERS, lambda step: None)
        held = sys.gettrace()
    finally:
        sys.settrace(kept)
    assert held == debugger.trace_dispatch and not ran


def test_a_long_run_goes_on_unseen(monkeypatch):
    monkeypatch.setattr(lines, "_EVENTS", 100)

    def count():
        n = 0
        for _ in range(1000):
            n += 1
        return n

    steps, result = followed(count)
    assert result == 1000 and len(steps) == 100


def test_locals_can_be_changed():
    def function():
        x, y = 1, 2
        return x + y

    def visit(step):
        if step.event == "line" and step.site.line == first_line(function) + 1:
            step.frame.f_locals.update({"x": 10, "y": 20})

    assert lines.follow(function, FOLDERS, visit) == 30


def test_nothing_is_followed_where_every_check_passes(monkeypatch):
    def refuse(function):
        raise AssertionError("the trace function was set")

    monkeypatch.setattr(sys, "settrace", refuse)
    assert gate.verify(plain, only=["contract", "purity", "flow", "keys", "data", "transforms"]).outcome == "passed"


# -- what is found by lines -----------------------------------------------------------------------------------


def origin(function, path="", part=lambda result: result):
    """The line that made a leaf of function(), counted from that where the function begins."""
    with sessions(plain) as (session,):
        site = blame.Origins(session, function).made(path, part)
    return None if site is None else site.line - first_line(function)


def test_the_line_that_makes_a_leaf():
    given = np.ones(3)

    def function():
        new = given + 1
        tree = {"new": new, "given": given}
        tree["number"] = 3
        tree["pair"] = (new, [given * 2])
        new *= 2
        return tree

    assert [origin(function, path) for path in ("new", "given", "number", "pair/1/0", "pair", "")] == [5, 2, 3, 4, 4, 2]


def test_a_leaf_is_made_in_the_function_that_is_called():
    def double(x):
        return 2 * x

    def function():
        return {"w": double(np.ones(3))}

    assert origin(function, "w") == first_line(double) + 1 - first_line(function)


def test_what_does_not_run_has_no_line():
    def function():
        x = np.ones(3)
        raise ValueError(x)

    assert origin(function) is None


def test_a_line_that_only_passes_data_on_is_no_leak():
    raw = {"train": np.arange(6.0), "test": np.arange(4.0)}

    def prepare(raw):
        train, test = raw["train"], raw["test"]
        both = np.concatenate([train, test])
        mean = both.mean()
        return {"train": train - mean, "test": test - mean}

    changed = {**raw, "test": raw["test"] + 7}
    with sessions(plain) as (session,):
        site = blame.leak(session, prepare, raw, changed, lambda a, b: bool((a["train"] == b["train"]).all()),
                          lambda splits: splits["test"])
    assert site.line == first_line(prepare) + 2


def test_where_data_is_written(tmp_path):
    build = from_text('''
from pullback import gate
import numpy as np
X, Y = np.ones((4, 3)), np.ones(4)
def build(jax, near=1e-3):
    def loss(w, x, y):
        return jax.numpy.mean((x @ w - y) ** 2)
    batch = {"x": X,
             "y": Y}
    test = dict(batch)
    test["x"] = 2 * X
    parts = {"train": batch, "test": test, "none": {**batch}}
    return gate.Model(loss, np.ones(3), batch,
                      splits=parts,
                      near=near)
near = 2e-3
''', tmp_path, "written")
    model = build(pullback)
    assert model.site.line == 13
    places = [("params", ""), ("batch", "y"), ("batch", "x"), ("splits", "train/y"), ("splits", "test/x"),
              ("splits", "test/y"), ("splits", "none/x"), ("near", ""), ("columns", "x")]
    found = [blame.written(model, field, path) for field, path in places]
    assert [site and site.line for site in found] == [13, 4, 4, 4, 11, 10, 12, 15, None]
    assert blame.mentions(model, "splits", "test", "train") and not blame.mentions(model, "splits", "train", "test")


RULES = '''
import functools
from pullback import gate
import numpy as np
def build(jax):
    jnp = jax.numpy
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def power(n, x):
        return x ** n
    @power.defjvp
    def power_jvp(n, primals, tangents):
        (x,), (dot,) = primals, tangents
        slope = n * x ** (n - 1)
        return x ** n, FIRST
    @jax.custom_jvp
    def ratio(a, b):
        return a / b
    ratio.defjvps(lambda dot, out, a, b: dot / b,
                  lambda dot, out, a, b: SECOND)
    @jax.custom_vjp
    def scaled(tree, n):
        return {"y": tree["x"] * tree["s"]}
    def scaled_fwd(tree, n):
        out = scaled(tree, n)
        return out, (tree, THIRD)
    def scaled_bwd(kept, ct):
        tree, x = kept
        back = {"x": ct["y"] * tree["s"], "s": ct["y"] * x}
        return back, None
    scaled.defvjp(scaled_fwd, scaled_bwd)
    def loss(params, x):
        def step(carry, row):
            hidden = ratio(power(3, row @ params["w"]), 2.0 + params["v"] ** 2)
            return carry + jnp.sum(scaled({"x": hidden, "s": params["v"]}, 3)["y"]), None
        return jax.lax.scan(step, 0.0, x)[0]
    return gate.Model(loss, {"w": np.array([0.5, 0.3]), "v": np.float32(0.7)},
                      {"x": np.array([[1.0, 0.5], [0.2, 0.8]], "float32")})
'''
RIGHT = {"FIRST": "slope * dot", "SECOND": "-a / b ** 2 * dot", "THIRD": 'tree["x"]'}


@pytest.mark.parametrize("wrong, line, what", [
    (("FIRST", "slope * dot * 1.1"), 14, "the tangent"), (("SECOND", "-a / b * dot"), 19, "the tangent"),
    (("THIRD", 'tree["x"] + 1'), 25, "a residual"), (None, None, "")])
def test_the_line_of_a_rule(tmp_path, wrong, line, what):
    text = RULES
    for name, good in RIGHT.items():
        text = text.replace(name, wrong[1] if wrong and wrong[0] == name else good)
    build = from_text(text, tmp_path, f"rules_{wrong and wrong[0]}")
    (result,) = gate.verify(build, only=["derivative"], repair=False).results
    lines_named = {finding.line.line for finding in result.failures}
    assert lines_named == ({line} if wrong else set()), [finding.text() for finding in result.failures]
    assert all(what in finding.fix for finding in result.failures)


def test_state_that_changes_and_the_branch_where_runs_part():
    state = {"calls": 0}

    def count():
        state["calls"] += 1
        return state["calls"]

    def function():
        x = 2
        if count() % 2:
            x = 3
        return x

    with sessions(plain) as (session,):
        found = blame.changes(session, [function], {"loss": function}, {"'state', which count closes over"})
        parted = blame.parting(session, lambda: 1 if function() else 2)
    assert [site.line for site in found.values()] == [first_line(count) + 1]
    assert parted.line == first_line(count) + 2


def test_the_line_of_another_result_for_the_same_key():
    def build(jax):
        def init(key):
            w = jax.random.normal(key, (2,))
            w = w + np.random.standard_normal(2).astype("float32")
            return w
        return gate.Model(lambda w, x: jax.numpy.mean(x @ w), None, {"x": np.ones((3, 2), "float32")}, init=init)

    (finding,) = gate.verify(build, only=["keys"], repair=False)["keys"].failures
    assert "another result for the same key" in finding.what
    assert finding.line.line == first_line(build) + 3, finding.text()
