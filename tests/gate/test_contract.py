"""Specs of leaves, contracts, guards, and how a batch becomes arguments."""

import collections
import dataclasses

import numpy as np
import pytest

from pullback import gate
from pullback.gate.contract import parse, split_specs, widened
from pullback.gate.signature import batch_to_arguments, key_name
from tests.gate.healthy import numbers

CONTRACT = gate.Contract(params={"w": "f32[d, h]"}, batch={"x": "f32[n, d] in (0, 1]", "y": "i32[n] in [0, 9]"})
PARAMS = {"w": np.ones((3, 2), "float32")}
X, Y = np.full((4, 3), 0.5, "float32"), np.arange(4, dtype="int32")


@pytest.mark.parametrize("text, value", [
    ("f32[2, 3]", numbers(2, 3)), ("f32[n, _]", numbers(2, 3)), ("f32[..., 3]", numbers(5, 2, 3)), ("f32", numbers(7)),
    ("f32[]", numbers()), ("float[2]", np.ones(2, "float64")), ("int[2]", np.ones(2, "uint8")),
    ("any[2]", np.ones(2, bool)), ("bool[2]", np.ones(2, bool)), ("float32[2]", np.ones(2, "float32")),
    ("f32[] in [0, inf)", np.float32(3)), ("f32[]", 1.0), ("i32[2] in [-1, 1]", np.array([-1, 1], "int32")),
])
def test_a_spec_that_fits(text, value):
    assert parse(text).problem(value, "x", {}, True) is None


@pytest.mark.parametrize("text, value, measured", [
    ("f32[2, 3]", numbers(3, 2), "float32[3,2]"), ("f32[n, n]", numbers(3, 2), "float32[3,2]"),
    ("f32[n]", numbers(0), "float32[0]"), ("f32[2]", np.ones(2), "float64[2]"), ("f32[]", numbers(1), "float32[1]"),
    ("f32[..., 3]", numbers(2), "float32[2]"), ("f32", "text", "a str"), ("f32", None, "a NoneType"),
    ("f32[2] in [0, 1]", np.array([0.5, 1.5], "float32"), "1.5 at [1]"),
    ("f32[1] in (0, 1)", np.zeros(1, "float32"), "0 at [0]"),
    ("f32[1] in [0, 1]", np.array([np.nan], "float32"), "nan at [0]"),
])
def test_a_spec_that_does_not_fit(text, value, measured):
    problem = parse(text).problem(value, "x", {}, True)
    assert problem is not None and problem.measured == measured and problem.expected.startswith(text)


@pytest.mark.parametrize("text", ["", "f33[2]", "f32[a b]", "f32[2", "f32[2] in 3", "f32[2] in [a, b]", "f32[2, ...]"])
def test_no_spec(text):
    with pytest.raises(gate.UsageError, match="no spec of a leaf"):
        parse(text)


def test_sums_and_features():
    spec = parse("f32[n, 3] in [0, 1] sum 1")
    assert spec.problem(np.full((2, 3), 1 / 3, "float32"), "p", {}, True) is None
    problem = spec.problem(np.full((2, 3), 0.5, "float32"), "p", {}, True)
    assert str(problem) == "the sum of p is 1.5 at [0]; f32[n, 3] in [0, 1] sum 1 is required"
    contract = gate.Contract(batch="f32[n, d]", features={"batch": {"age": "[0, 120]", "height": "(0, 2.5]"}})
    assert not contract.problems(batch=np.array([[30, 1.8]], "float32"))
    (problem,) = contract.problems(batch=np.array([[30, 1.8], [1.7, 31]], "float32"))
    assert str(problem) == "batch.height is 31 at [1]; (0, 2.5] is required"
    (problem,) = contract.problems(batch=np.ones((2, 3), "float32"))
    assert "the 2 features ['age', 'height']" in problem.expected
    with pytest.raises(gate.UsageError, match="of the feature 'age' of batch, is no range"):
        gate.Contract(features={"batch": {"age": "0 to 120"}})


def test_lists_of_specs_are_split_outside_of_brackets():
    assert split_specs("f32[8,4], i32[8] in [0, 9], key") == ["f32[8,4]", "i32[8] in [0, 9]", "key"]


def test_trees():
    Pair = collections.namedtuple("Pair", "w b")

    @dataclasses.dataclass
    class Layer:
        w: object
        b: object

    spec = {"w": "f32[d]", "b": "f32[]"}
    for make in (Pair, Layer, lambda **entries: entries):
        assert not gate.Contract(params=spec).problems(params=make(w=numbers(3), b=numbers()))
        (problem,) = gate.Contract(params=spec).problems(params=make(w=numbers(3), b=numbers(1)))
        assert problem.leaf == "params/b"
    leaves = [str(p) for p in gate.Contract(params=[spec, ("f32",), None, ...]).problems(
        params=[{"w": numbers(2), "c": 0.0}, [], 1, object()])]
    assert [leaf.split()[0] for leaf in leaves] == ["params/0/b", "params/0/c", "params/1", "params/2"]


def test_names_are_one_size_everywhere():
    (problem,) = CONTRACT.problems(params=PARAMS, batch={"x": X[:, :2], "y": Y})
    assert problem.leaf == "batch/x" and "with d = 3" in problem.expected
    (problem,) = gate.Contract(params="f32[d]", sizes={"d": 2}).problems(params=numbers(3))
    assert "with d = 2" in problem.expected


@pytest.mark.parametrize("engine", ["pullback", "jax"])
def test_guard(engine):
    jax = pytest.importorskip(engine)
    calls = []

    @CONTRACT.guard
    def loss(params, x, y):
        calls.append(1)
        return ((x @ params["w"]).sum(-1) * y).sum()

    arrays = [jax.numpy.asarray(value) for value in (X, Y)]
    params = {"w": jax.numpy.asarray(PARAMS["w"])}
    for function in (loss, jax.jit(loss), jax.grad(loss)):
        function(params, *arrays)
        function(params, arrays[0], y=arrays[1])
    for bad in ((arrays[0][:, :2], arrays[1]), (arrays[0], arrays[1][:3]), (arrays[1], arrays[1]),
                (arrays[0][:0], arrays[1][:0])):
        for function in (loss, jax.jit(loss)):
            before = len(calls)
            with pytest.raises(gate.ContractError, match="loss: batch/.*\n  fix: "):
                function(params, *bad)
            assert len(calls) == before
    with pytest.raises(gate.ContractError, match=r"-1 at \[0\]"):
        loss(params, arrays[0], arrays[1] - 1)
    jax.jit(loss)(params, arrays[0], arrays[1] - 1)  # values are not known there


def test_guard_of_whole_batches_and_of_parts():
    whole = CONTRACT.guard(lambda params, batch: 0)
    assert whole(PARAMS, {"x": X, "y": Y}) == 0
    with pytest.raises(gate.ContractError, match="batch/y is missing"):
        whole(PARAMS, {"x": X})
    part = CONTRACT.guard(lambda params, x, key=None: 0)
    assert part(PARAMS, X, key=1) == 0
    with pytest.raises(gate.ContractError, match="batch/x"):
        part(PARAMS, X[0])
    several = gate.Contract(batch=("f32[n]", "f32[n]")).guard(lambda params, x, y: 0)
    assert several(None, numbers(2), numbers(2)) == 0
    with pytest.raises(gate.ContractError, match="batch/1"):
        several(None, numbers(2), numbers(3))


def test_widened_takes_floats_of_any_width_and_nothing_else():
    spec = parse("f32[2]")
    with widened():
        assert spec.problem(np.ones(2), "x", {}, True) is None
        assert spec.problem(np.ones(2, int), "x", {}, True) is not None
    assert spec.problem(np.ones(2), "x", {}, True) is not None


def two(params, x, y):
    pass


def one(params, x):
    pass


def whole(params, batch, rng=None):
    pass


def optional(params, x, scale=1.0):
    pass


@pytest.mark.parametrize("function, batch, beside, expected", [
    (two, {"y": 2, "x": 1, "z": 3}, None, [1, 2]), (one, {"y": 2, "x": 1}, two, [1]), (optional, {"x": 1}, None, [1]),
    (whole, {"x": 1}, None, [{"x": 1}]), (two, (1, 2), None, [1, 2]), (one, (1, 2), two, [1]),
    (one, (1, 2), whole, [1]), (whole, (1, 2), two, [(1, 2)]), (one, (1, 2), None, [(1, 2)]), (one, (1,), None, [1]),
    (whole, (1,), None, [(1,)]),
    (one, 5, None, [5]), (lambda params: 0, (), None, []), (lambda params, *rest: 0, (1, 2), None, [1, 2]),
    (lambda params: 0, 5, None, []),
])
def test_a_batch_becomes_arguments(function, batch, beside, expected):
    assert batch_to_arguments(function, batch, beside=beside) == expected


def test_a_missing_argument_is_named():
    with pytest.raises(TypeError, match="two needs the argument 'y', which the batch does not have"):
        batch_to_arguments(two, {"x": 1})


def test_the_parameter_of_the_key():
    assert key_name(whole) == "rng" and key_name(two) is None and key_name(None) is None


@pytest.mark.parametrize("wrong, message", [
    ({}, "neither a loss nor a forward"), ({"loss": two}, "neither params nor an init"),
    ({"loss": 3, "params": 1}, "a function is required"), ({"frozen": "w"}, "sequence of strings"),
    ({"refused": [3]}, "gate.Refused"), ({"accepts": {"odd": "why"}}, "use one of wrong rank"),
    ({"accepts": {"NaN": ""}}, "with a reason"), ({"tolerances": {"float32": 1e-3}}, "gate.Tolerance"),
    ({"tolerances": {"float32": gate.Tolerance(1e-2)}}, "has no reason"),
    ({"tolerances": {"outputs/*": gate.Tolerance(-1)}}, "negative"),
    ({"tolerances": {"outputs/*": gate.Tolerance(float("nan"))}}, "no number"), ({"steps": 0}, "at least 1"),
    ({"expected": [3]}, "gate.Expected"), ({"invariances": [3]}, "gate.Invariance"), ({"pipeline": 3}, "gate.Pipeline"),
    ({"unused": {"id": ""}}, "a reason"), ({"precisions": "float16"}, "sequence of strings"),
    ({"precisions": ["int8"]}, "float16, bfloat16 or float32"), ({"reference": 3}, "a function is required"),
    ({"contract": {"params": "f32"}}, "gate.Contract"),
])
def test_a_model_that_makes_no_sense(wrong, message):
    if len(wrong) == 1 and "loss" not in wrong:
        wrong = {"loss": two, "params": numbers(2), **wrong}
    with pytest.raises(gate.UsageError, match=message):
        gate.Model(**wrong)


def test_patterns_of_paths():
    model = gate.Model(two, numbers(2), frozen=["encoder", "*/scale"],
                       tolerances={"float32": gate.Tolerance(1e-5), "outputs/*": gate.Tolerance(1e-2, reason="why")})
    assert [model.is_frozen(path) for path in ("encoder/w", "encoder", "decoder/scale", "encoders/w", "w")] == [
        True, True, True, False, False]
    assert model.tolerance("outputs/0", "float32").relative == 1e-2
    assert model.tolerance("loss", "float32").relative == 1e-5 and model.tolerance("loss", "float64") is None
