"""`pullback diagnose`: what differs, where, and what only looks as if something did."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pullback import gate
from pullback.gate.diagnose import diagnose, report
from pullback.gate.diagnose.align import align
from pullback.gate.diagnose.command import diagnose_main
from pullback.gate.diagnose.recorded import RecordedSide
from pullback.gate.diagnose.side import LocalSide
from pullback.gate.operations import trace
from pullback.gate.report import plain
from pullback.gate.store.files import Store
from pullback.gate.store.recording import record
from tests.gate.runs import diagnosed, from_text, sessions

ROOT = Path(__file__).resolve().parent.parent.parent.parent
X = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
W = np.random.default_rng(1).standard_normal(3).astype("float32")


def model(function):
    """A function of (jax, params, x), as the loss of a model."""
    return lambda jax: gate.Model(lambda w, x: function(jax, w, x), W, {"x": X})


def smooth(jax, w, x):
    return jax.numpy.mean(jax.numpy.tanh(x @ w))


def test_equal_runs_agree():
    found = diagnosed(model(smooth), model(smooth))
    assert found.stage is None and [stage.status for stage in found.stages].count("part") == 0
    assert report.text(found).endswith("the two runs agree")


def test_slowly_grown_rounding_is_no_break():
    """A chaotic map, written in two ways that are equal but for rounding."""
    def one(jax, w, x):
        y = jax.nn.sigmoid(x @ w)
        for _ in range(40):
            y = 3.9 * y * (1 - y)
        return jax.numpy.mean(y)

    def other(jax, w, x):
        y = jax.nn.sigmoid(x @ w)
        for _ in range(40):
            y = 3.9 * (y - y * y)
        return jax.numpy.mean(y)

    found = diagnosed(model(one), model(other))
    assert found.stage.name == "loss" and found.parting.found is None
    text = report.text(found)
    assert "no operation breaks" in text and "has grown" in text and len(found.parting.growth) > 20
    assert max(growth.factor for growth in found.parting.growth) > 1.5

    def broken(jax, w, x):  # a real break after as much rounding
        y = jax.nn.sigmoid(x @ w)
        for _ in range(5):
            y = 3.9 * (y - y * y)
        return jax.numpy.mean(y * 1.001)

    def right(jax, w, x):
        y = jax.nn.sigmoid(x @ w)
        for _ in range(5):
            y = 3.9 * y * (1 - y)
        return jax.numpy.mean(y * 1.0)

    found = diagnosed(model(right), model(broken))
    assert found.parting.found.operation.name == "mul" and "1.001" in found.parting.found.operation.source


def test_rounding_that_decides_a_comparison_is_a_jump():
    """No operation breaks, but one moves as far for a smaller difference: its conditioning does not explain it."""
    def first(y):
        return 3.9 * y * (1 - y)

    def made(step):
        def function(jax, w, x):
            y = jax.nn.sigmoid((x @ w)[:, None] * jax.numpy.arange(1.0, 50.0) / 25)
            return jax.numpy.mean(jax.numpy.where(step(y) > first(y), 1.0, 0.0) + y)
        return model(function)

    found = diagnosed(made(first), made(lambda y: 3.9 * (y - y * y)))
    assert found.stage.name == "loss" and found.parting.found is None, report.text(found)
    jumps = [growth for growth in found.parting.growth if growth.jump]
    assert [growth.operation.name for growth in jumps][0] == "gt" and "(a jump: as far for less)" in report.text(found)


@pytest.mark.parametrize("size, broken", [(2e-6, False), (1e-3, True)])
def test_a_small_change_and_a_large_one(size, broken):
    """Of one operation on equal operands: one that rounding could make is none, a larger one is a break."""
    def scaled(factor):
        return model(lambda jax, w, x: jax.numpy.sum(jax.numpy.exp(80 * (jax.numpy.tanh(x @ w) * factor))))

    found = diagnosed(scaled(1.0), scaled(np.float32(1 + size)))
    assert found.stage.name == "loss" and (found.parting.found is not None) == broken, report.text(found)
    if broken:
        assert found.parting.found.operation.name == "mul" and "factor" in found.parting.found.operation.source


def test_cancellation_is_conditioning_and_a_wrong_difference_is_not():
    """A difference of nearly equal numbers enlarges rounding ten thousandfold; an error of that size does not hide."""
    def of(late, extra=0.0):
        def function(jax, w, x):
            y = jax.nn.sigmoid(x @ w)
            z = y * 3.0 if late else y + y + y
            return jax.numpy.mean((z - y * 2.9999) * 1e4 * (1 + extra))
        return model(function)

    found = diagnosed(of(False), of(True))
    assert found.parting is None or found.parting.found is None, report.text(found)
    found = diagnosed(of(False), of(True, 0.02))
    assert found.parting.found.operation.name == "mul" and "1 + extra" in found.parting.found.operation.source


def test_a_nan_is_one_case_of_it():
    def safe(jax, w, x):
        return jax.numpy.mean(jax.numpy.log(jax.numpy.maximum(x @ w, 1e-6)))

    found = diagnosed(model(safe), model(lambda jax, w, x: jax.numpy.mean(jax.numpy.log(x @ w))))
    broken = found.parting.found
    assert found.stage.name == "loss" and broken.kind == "missing" and broken.operation.name == "max"
    # In half precision an operation overflows whose operands are finite.
    found = diagnosed(model(lambda jax, w, x: jax.numpy.mean(jax.numpy.exp(jax.numpy.abs(x @ w) + 12))),
                      model(lambda jax, w, x: jax.numpy.mean(jax.numpy.exp(jax.numpy.abs(x @ w) + 12))), "float16")
    broken = found.parting.found
    assert broken.operation.name == "exp" and "makes a NaN or an infinity" in report.text(found), report.text(found)


def test_backward_alone_and_the_rule_that_does_it():
    def built(factor):
        def build(jax):
            @jax.custom_vjp
            def soft(x):
                return jax.numpy.log1p(jax.numpy.exp(x))
            soft.defvjp(lambda x: (soft(x), x), lambda x, ct: (ct * factor * jax.nn.sigmoid(x),))
            return gate.Model(lambda w, x: jax.numpy.mean(soft(x @ w)), W, {"x": X})
        return build

    found = diagnosed(built(1.0), built(1.5))
    assert found.stage.name == "gradients" and found.phase == "backward" and [*found.removed] == ["rule soft"]
    assert found.parting.found.operation.name == "mul" and "(backward)" in report.text(found)


def test_one_side_raises():
    def raising(jax, w, x):
        return jax.numpy.mean(x @ w[:2])
    found = diagnosed(model(smooth), model(raising))
    assert found.stage.name == "loss" and "bad raises: " in found.stage.text and "raising" in found.stage.line


def test_other_structure_other_data_and_other_parameters():
    def other(params, batch):
        return lambda jax: gate.Model(lambda w, x: smooth(jax, w, x), params, batch)

    moved = X.copy()
    moved[2, 1] += 1
    found = diagnosed(model(smooth), other(W, {"x": moved}))
    assert found.stage.name == "data" and found.stage.leaf == "batch/x" and "1 of 12 values differ" in found.stage.text
    found = diagnosed(model(smooth), other(W + 1, {"x": X}))
    assert found.stage.name == "data" and found.stage.leaf == "params"
    found = diagnosed(model(smooth), lambda jax: gate.Model(lambda w, x, z: smooth(jax, w, x), W, {"x": X, "z": X}))
    assert found.stage.name == "data" and "another structure: batch/z" in found.stage.text


def test_engine_against_engine():
    """Programs of different operations are aligned by their lines; each engine computes tanh as it does."""
    def bad(jax, w, x):
        return jax.numpy.mean(jax.numpy.tanh(x @ w * 1.5))
    for second, name in ((smooth, None), (bad, "mul")):
        with sessions(model(smooth)) as (one,), sessions(model(second), engine="jax") as (other,):
            found = diagnose(LocalSide(one, "ours"), LocalSide(other, "theirs"))
        assert (found.stage and found.stage.name) == (name and "loss")
        assert not name or found.parting.found.operation.name == name


def test_a_record_against_now(tmp_path):
    text = """
import numpy as np
from pullback import gate

def build(jax):
    def loss(w, x):
        return jax.numpy.mean(jax.numpy.tanh(x @ w))
    return gate.Model(loss, np.ones(3, "float32"), {"x": np.eye(4, 3, dtype="float32")})
"""
    store = Store(tmp_path / "store")
    with sessions(from_text(text, tmp_path)) as (session,):
        record(session, store, "model")
        assert diagnose(RecordedSide(store.read(), "then"), LocalSide(session, "now")).stage is None
    with sessions(from_text(text.replace("tanh", "sin"), tmp_path)) as (session,):
        found = diagnose(RecordedSide(store.read(), "then"), LocalSide(session, "now"))
    assert found.stage.name == "loss" and found.parting.found.operation.name == "sin"
    assert "tanh(x @ w)" in report.text(found) and "sin(x @ w)" in report.text(found)
    json.dumps(plain(report.data(found)), allow_nan=False)


def test_alignment_survives_lines_put_in():
    def longer(jax, w, x):
        y = x @ w
        z = jax.numpy.cumsum(y)
        y = y + 0 * z
        return jax.numpy.mean(jax.numpy.tanh(y))
    with sessions(model(smooth), model(longer)) as found:
        one, other = (trace(s.engine, s.loss, [W], [X], None) for s in found)
    pairs = align(one, other)
    names = [(one.operations[i].name, other.operations[j].name) for i, j in pairs if i is not None and j is not None]
    assert ("tanh", "tanh") in names and ("dot_general", "dot_general") in names
    assert [i for i, _ in pairs if i is not None] == list(range(len(one.operations)))
    assert [j for _, j in pairs if j is not None] == list(range(len(other.operations)))


GOOD = """
import jax
import jax.numpy as jnp
from pullback import gate

print("what a model prints is no part of the answer")

def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w))

model = gate.Model(loss, jnp.ones(3), {"x": jnp.eye(4, 3)})
"""


def command(*arguments, name="diagnose"):
    return subprocess.run([sys.executable, "-m", "pullback", name, *map(str, arguments)], capture_output=True,
                          text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})


def test_the_command(tmp_path):
    for name, text in (("good", GOOD), ("bad", GOOD.replace("tanh", "sin")), ("none", "x = 1")):
        (tmp_path / f"{name}.py").write_text(text)
    done = command(tmp_path / "good.py", tmp_path / "bad.py", "--script", tmp_path / "r.py", "--json",
                   tmp_path / "r.json")
    assert done.returncode == 1 and "they part at the stage loss" in done.stdout, done.stdout + done.stderr
    assert "second  sin  bad.py:9 in loss:  return jnp.mean(jnp.sin(x @ w))" in done.stdout
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["stage"] == "loss" and data["operation"]["name"] == "sin" and data["operation"]["line"] == 9
    assert "jax.lax.sin" in (tmp_path / "r.py").read_text()
    done = command(tmp_path / "good.py", "-q")
    assert done.returncode == 0 and done.stdout.endswith("the two runs agree\n"), done.stdout + done.stderr
    done = command(tmp_path / "good.py", tmp_path / "none.py")
    assert done.returncode == 4 and "none.py has no gate.Model" in done.stderr and "Traceback" not in done.stderr


def test_the_record_of_another_model(tmp_path):
    (tmp_path / "x.py").write_text(GOOD)
    (tmp_path / "y.py").write_text(GOOD.replace("jnp.ones(3)", '{"a": jnp.ones(3)}').replace("x @ w", 'x @ w["a"]'))
    assert command(tmp_path / "x.py", "--store", tmp_path / "store", name="record").returncode == 0
    done = command(tmp_path / "y.py", "--store", tmp_path / "store", "-q")
    assert done.returncode == 4 and not done.stdout
    assert "the record is of another model" in done.stderr and "here a)" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["x.py", "--store", "{folder}/none"], "there is no record in"),
    (["x.py", "--other-python", "/nowhere/python"], "cannot be run"),
])
def test_bad_uses(arguments, message, tmp_path, capsys):
    (tmp_path / "x.py").write_text(GOOD)
    given = [argument.replace("x.py", str(tmp_path / "x.py")).format(folder=tmp_path) for argument in arguments]
    assert diagnose_main(given) == 4
    assert message in capsys.readouterr().err
