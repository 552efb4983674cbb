"""`pullback record` and `compare`: what is kept, what a change is called, and how each bad use ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pullback import gate
from pullback.gate import commands
from pullback.gate.compare import compare, judge, ulps
from pullback.gate.store.files import Store
from pullback.gate.store.recording import record
from tests.gate.runs import from_text, sessions

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = """
import numpy as np
from pullback import gate

def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")

def build(jax):
    jnp = jax.numpy

    def forward(params, x, key):
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        kept = jax.random.bernoulli(key, 0.75, hidden.shape)
        return jnp.where(kept, hidden / 0.75, 0.0) @ params["v"]

    def loss(params, x, y, key):
        return jnp.mean((forward(params, x, key) - y) ** 2)

    def update(params, x, y, key):
        return {name: params[name] - 0.1 * g for name, g in jax.grad(loss)(params, x, y, key).items()}

    contract = gate.Contract(params={"w": "f32[d, h]", "b": "f32[h]", "v": "f32[h]"},
                             batch={"x": "f32[n, d] in [-9, 9]", "y": "f32[n]"})
    return gate.Model(contract.guard(loss), {"w": numbers(0, 3, 4), "b": numbers(1, 4), "v": numbers(2, 4)},
                      {"x": numbers(3, 5, 3), "y": numbers(4, 5)}, forward=forward, update=update, contract=contract,
                      cases={"ones": {"x": np.ones((2, 3), "float32"), "y": np.ones(2, "float32")},
                             "secret": gate.Generated(lambda s: {"x": numbers(s, 2, 3), "y": numbers(s, 2)}, 8)},
                      refused=[gate.Refused("no y", lambda batch: {"x": batch["x"]}, error=TypeError)])
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    store = Store(folder / "store")
    with sessions(from_text(MODEL, folder)) as (session,):
        assert record(session, store, "model") == 1
    return store


def compared(store, tmp_path, *changes, precision="", only=()):
    text = MODEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with sessions(from_text(text, tmp_path)) as (session,):
        return compare(session, store.read(), precision, only=only)


def test_what_a_record_holds(recorded):
    found = recorded.read()
    manifest = found.manifest
    assert manifest["order"] == ["standard batch", "single object", "zeros", "lower bounds", "upper bounds",
                                 "invalid shape", "refused: no y", "ones", "secret"]
    assert manifest["cases"]["invalid shape"]["error"]["type"] == "TypeError"
    assert manifest["cases"]["refused: no y"]["error"]["type"] == "TypeError"
    standard = manifest["cases"]["standard batch"]["results"]
    assert set(standard) == {"outputs", "loss", *(f"{part}/{name}" for part in ("gradients", "updated")
                                                  for name in "wbv")}
    assert standard["loss"]["seeds"] > standard["loss"]["rounding"] > 0
    assert standard["loss"]["relative"] == 1e-4 and standard["loss"]["reason"] == "the default of float32"
    # What must not be kept is there by its digest and seed alone.
    assert manifest["cases"]["secret"]["origin"] == "generator" and manifest["cases"]["secret"]["seed"] == 8
    assert manifest["arrays"]["secret/batch/x"]["kept"] is False and "secret/batch/x" not in found.arrays
    assert found.arrays["standard batch/batch/x"].shape == (5, 3) and found.arrays["key"].kind == "threefry2x32"
    assert len(manifest["keys"]) == 1 and manifest["keys"][0].startswith("bernoulli ")
    assert len(manifest["latency"]["milliseconds"]) >= 5 and manifest["environment"]["versions"]["numpy"]
    assert "tanh  float32[5,4]  forward: hidden = jnp.tanh" in found.programs["loss: operations"]
    assert "lambda" in found.programs["gradients: program"]


def test_the_same_model_is_equal(recorded, tmp_path):
    report = compared(recorded, tmp_path)
    assert report.outcome == "passed" and not any(result.findings for result in report.results), report.text()
    assert report["standard batch"].description == "8 equal" and report["invalid shape"].description == \
        "refused: TypeError"


UNGUARDED = ("contract.guard(loss)", "loss"), ("update=update, contract=contract", "update=update")


@pytest.mark.parametrize("changes, check, leaf, text", [
    ([("hidden / 0.75", "hidden / 0.8")], "standard batch", "outputs", "of the recorded spread (seeds)"),
    ([("- 0.1 * g", "- 0.2 * g")], "standard batch", "updated/w", "ulp"),
    ([("return {name: params[name] - 0.1 * g", "return {name: params[name][None] - 0.1 * g")], "standard batch",
     "updated/w", "float32[1, 3, 4], recorded float32[3, 4]"),
    ([("return {name: params", "return {name + '2': params")], "standard batch", "updated/w2", "there"),
    ([("bernoulli(key,", "bernoulli(jax.random.split(key)[0],")], "key stream", "", "split"),
    ([("loss(params, x, y, key):", "loss(params, x, y=0.0, key=None):"), *UNGUARDED,
      ("x @ params", "jnp.asarray(x) @ params")],
     "refused: no y", "", "was refused, and is accepted now"),
    ([('"v": numbers(2, 4)}', '"v": numbers(2, 4), "u": numbers(2, 4)}'), *UNGUARDED], "inputs", "params/u",
     "new leaf"),
    ([("numbers(s, 2, 3)", "numbers(s + 1, 2, 3)")], "secret", "secret/batch/x", "comes out different"),
])
def test_what_a_change_is_called(recorded, tmp_path, changes, check, leaf, text):
    report = compared(recorded, tmp_path, *changes, only=[check])
    assert report.outcome == "failed", report.text()
    assert [f for f in report[check].failures if f.leaf == leaf and text in " ".join(f.text().split())], report.text()


def test_rounding_is_within_and_the_changed_program_is_named(recorded, tmp_path):
    report = compared(recorded, tmp_path,
                      ("(forward(params, x, key) - y) ** 2", "(y - forward(params, x, key)) ** 2 * 3 / 3"),
                      only=["standard batch", "program"])
    assert report.outcome == "passed", report.text()
    assert "within; furthest" in report["standard batch"].description
    note = report["program"].findings[0]
    assert note.level == "note" and "mean((forward(params" in note.expected and "mean((y - forward" in note.measured


def test_another_precision_is_judged_by_the_coarser(recorded, tmp_path):
    report = compared(recorded, tmp_path, UNGUARDED[0], precision="bfloat16", only=["standard batch", "program"])
    assert report.outcome == "passed" and "8 within" in report["standard batch"].description, report.text()
    assert report["program"].status == "skip"


def test_an_update_is_explicit_and_keeps_its_reason(recorded, tmp_path):
    store = Store(tmp_path / "store")
    with sessions(from_text(MODEL, tmp_path)) as (session,):
        record(session, store, "model", keep_data=False)
        for rest in ({}, {"update": True}, {"update": True, "reason": " "}, {"reason": "new"}):
            with pytest.raises(gate.UsageError, match="has 1 revision already"):
                record(session, store, "model", **rest)
        assert record(session, store, "model", "another loss", update=True) == 2
        assert compare(session, store.read(1)).outcome == "passed"  # batches made again, proved by their digests
    assert store.read().manifest["reason"] == "another loss" and store.read(1).manifest["reason"] == "first record"
    assert store.read(1).manifest["cases"]["zeros"]["origin"] == "standard batch"
    assert not [name for name in store.read(1).arrays if "batch/" in name.partition("/")[2]]


def test_a_store_of_another_model(recorded, tmp_path):
    def build(jax):
        return gate.Model(lambda a, x: jax.numpy.mean(a["other"] * x), {"other": np.ones(3, "float32")},
                          {"x": np.ones(3, "float32")})
    with sessions(build) as (session,):
        with pytest.raises(gate.UsageError, match="the record is of another model, 'model': no parameter has the same"):
            compare(session, recorded.read())
        with pytest.raises(gate.UsageError, match="is the record of another model, 'model'"):
            record(session, recorded, "other", "why", update=True)
    with pytest.raises(gate.UsageError, match="has no case 'odd'; it has key stream, inputs, standard batch"):
        compared(recorded, tmp_path, only=["odd"])
    assert recorded.numbers() == [1]


def test_an_interrupted_comparison_is_told_as_that(recorded, tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt
    monkeypatch.setattr("pullback.gate.compare._case", interrupted)
    report = compared(recorded, tmp_path)
    assert report.exit_code == 2 and [r.check for r in report.results] == ["key stream", "inputs", "standard batch"]


def test_units_in_the_last_place():
    one = np.array([1.0, 2.0, 0.0, np.nan], "float32")
    assert ulps(one, one) == 0 and ulps(one, np.array([1 + 2**-23, 2, 0, np.nan], "float32")) == 1
    assert ulps(np.float32(3), np.float32(3 + 2**-21)) == 2
    assert judge(one, one, 0.0).verdict == "equal" and judge(one, one[:2], 0.0).verdict == "structure"
    assert judge(np.float32(1), np.float32(1.001), 1e-2).verdict == "within"
    assert judge(np.float32(1), np.float32(np.nan), 1e-2).verdict == "beyond"
    assert judge(np.array([0.0], "float32"), np.array([-0.0], "float32"), 0.0).verdict == "within"


# -- the commands ------------------------------------------------------------------------------------------

FILE = MODEL + """
import jax
model = build(jax)
other = gate.Model(lambda p, x: jax.numpy.mean(p * x), np.ones(3, "float32"), np.ones(3, "float32"))
def raising():
    return gate.Model(lambda p, x: 1 // 0, np.ones(3, "float32"), np.ones(3, "float32"))
"""


def pullback(*arguments, python=sys.executable):
    return subprocess.run([python, "-m", "pullback", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})


def test_the_commands(tmp_path):
    path, store = tmp_path / "model.py", tmp_path / "store"
    path.write_text(FILE)
    done = pullback("record", f"{path}:model", "--store", store)
    assert done.returncode == 0 and done.stdout == f"recorded: revision 1 in {store}\n", done.stderr
    assert "invalid shape: TypeError" in done.stderr
    done = pullback("compare", f"{path}:model", "--store", store, "--python", sys.executable, "--json",
                    tmp_path / "r.json")
    assert done.returncode == 0 and "standard batch  pass" in done.stdout, done.stdout + done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["outcome"] == "passed" and data["environment"]["recorded"]["revision"] == 1
    before = sorted(os.listdir(store))
    path.write_text(FILE.replace("hidden / 0.75", "hidden / 0.7"))
    done = pullback("compare", f"{path}:model", "--store", store, "-q")
    assert done.returncode == 1 and "FAIL standard batch: beyond the tolerance" in done.stdout
    done = pullback("compare", f"{path}:other", "--store", store, "-q")
    assert done.returncode == 4 and "the record is of another model" in done.stderr
    assert sorted(os.listdir(store)) == before


@pytest.mark.parametrize("main, arguments, message", [
    ("record", ["{file}.absent", "--store", "{store}"], "there is no file"),
    ("record", ["{file}:raising", "--store", "{store}"], "does not run on its standard batch: ZeroDivisionError"),
    ("record", ["{file}:other", "--store", "{file}"], "cannot be read: Not a directory"),
    ("record", ["{file}:other", "--store", "{store}", "--device", "tpu"], "there is no device 'tpu'; there are cpu"),
    ("record", ["{file}:other", "--store", "{store}", "--python", "/nowhere/python"], "python' cannot be run"),
    ("record", ["{file}:other", "--store", "{store}", "--python", "/bin/false"], "'/bin/false' is no Python 3.11"),
    ("compare", ["{file}:other", "--store", "{store}"], "there is no record in"),
])
def test_bad_uses_are_one_message(main, arguments, message, tmp_path, capsys, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setattr("pullback.gate.commands.choose_device", lambda device: None)
    (tmp_path / "model.py").write_text(FILE)
    names = {"file": tmp_path / "model.py", "store": tmp_path / "store"}
    command = {"record": commands.record_main, "compare": commands.compare_main}[main]
    assert command([argument.format(**names) for argument in arguments] + ["--engine", "jax"]) == 4
    printed = capsys.readouterr()
    assert message in printed.err and "\n  fix: " in printed.err and "Traceback" not in printed.err
    assert not (tmp_path / "store").exists()


def test_interruption_and_internal_errors_of_a_command(tmp_path, capsys, monkeypatch):
    def raising(error):
        def opened(*args):
            raise error
        return opened
    for error, code, message in ((KeyboardInterrupt(), 2, "interrupted; the store is as it was"),
                                 (TypeError("odd"), 3, "internal error: TypeError: odd\n  fix: report it")):
        monkeypatch.setattr(commands, "opened", raising(error))
        assert commands.record_main(["x.py", "--store", str(tmp_path / "store")]) == code
        assert message in capsys.readouterr().err


def test_wrong_options(capsys):
    for main in (commands.record_main, commands.compare_main):
        with pytest.raises(SystemExit) as error:
            main(["model.py"])
        assert error.value.code == 4 and "--store" in capsys.readouterr().err
