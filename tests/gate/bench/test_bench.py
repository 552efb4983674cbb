"""`python -m pullback bench`: what is measured, what is compared, and wrong uses."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.gate.bench import command, worker
from pullback.gate.report import Report

ROOT = Path(__file__).resolve().parent.parent.parent.parent
MODEL = """
import jax
import jax.numpy as jnp
from pullback import gate
print("this is not part of the result")

def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)

def update(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)

model = gate.Model(loss, jnp.ones((16, 8)), {"x": jnp.linspace(0.0, 1.0, 64).reshape(4, 16)}, update=update)
broken = gate.Model(lambda w, x: 1 // 0, jnp.ones(3), {"x": jnp.ones(3)})
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "pullback", "bench", *map(str, arguments)], capture_output=True,
                          text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})


def test_two_engines_in_turn_each_in_processes_of_its_own(file, tmp_path, monkeypatch, capsys):
    result, page = tmp_path / "r.json", tmp_path / "r.html"
    done = run(f"{file}:model", "--other-engine", "jax", "--part", "gradients", "--rounds", 2,
               "--seconds", 0.02, "--json", result, "--html", page)
    assert done.returncode == 0, done.stderr
    order = [line.partition("under ")[2] for line in done.stderr.splitlines() if ": process" in line]
    assert order == [f"{engine}: process {n} of 2" for n in (1, 2) for engine in ("pullback", "jax")]
    data = json.loads(result.read_text())
    assert data["schema"] == command.SCHEMA
    assert [side["options"]["engine"] for side in data["sides"]] == ["pullback", "jax"]
    for side in data["sides"]:
        assert len(side["rounds"]) == 2
        for one in side["rounds"]:
            assert one["environment"]["engine"] == side["options"]["engine"]
            assert set(one["cold"]) == {"import of the engine", "import of the file", "start of the compiler",
                                        "making parameters"} and min(one["cold"].values()) >= 0
            part = one["parts"]["gradients"]
            assert min(part["trace"], part["compile"], part["first call"]) > 0 and len(part["milliseconds"]) >= 20
            assert part["compilations"]["warm"] == 0 and sum(part["compilations"].values()) >= 1
            assert part["first call"] + part["compile"] > 5 * sorted(part["milliseconds"])[10]
            assert 10 < one["memory"]["after imports"] <= one["memory"]["at most"] + 1
            assert len(one["machine"]["before"]["load"]) == 3 and set(one["machine"]) == {"before", "after"}
            assert set(one["parts"]) == {"gradients"}
    compared = data["comparisons"]["second against first"]
    assert set(compared) == {"gradients"} and compared["gradients"]["low"] <= compared["gradients"]["high"]
    assert "gradients: second against first" in done.stdout and "p99" in done.stdout and "<svg" in page.read_text()

    # A later run against that one: what took a hundredth then fails a limit of 2, and not one of 500.
    rounds = data["sides"][0]["rounds"]
    monkeypatch.setattr(command, "_round", lambda *args: rounds[0])
    for one in data["sides"][0]["rounds"]:
        one["parts"]["gradients"]["milliseconds"] = [x / 100 for x in one["parts"]["gradients"]["milliseconds"]]
    result.write_text(json.dumps(data))
    rounds = json.loads(json.dumps(rounds))
    for one in rounds:
        one["parts"]["gradients"]["milliseconds"] = [x * 100 for x in one["parts"]["gradients"]["milliseconds"]]
    for limit, code in ((2, 1), (500, 0)):
        given = ["-q", f"{file}:model", "--against", str(result), "--rounds", "2", "--limit", str(limit)]
        assert command.bench_main(given) == code
        printed = capsys.readouterr()
        assert ("FAIL gradients: now against then: takes longer than is allowed" in printed.out) == (code == 1)
        assert "slower beyond the noise: x" in printed.out and printed.err == ""


@pytest.mark.parametrize("rest, message", [
    (["{file}x"], "there is no file"), (["{file}:model", "--rounds", "1"], "from one process the noise cannot be told"),
    (["{file}:model", "--against", "{file}"], "model.py is no JSON"),
    (["{file}:model", "--against", "{folder}/none"], "none cannot be read: No such file"),
    (["{file}:model", "--against", "{folder}/other.json"], "is no result of this command"),
    (["{file}:model", "--limit", "0"], "are positive numbers"),
    (["{file}:model", "--python", "/nowhere/python"], "'/nowhere/python' cannot be run"),
])
def test_wrong_uses_are_one_message(file, tmp_path, capsys, rest, message):
    (tmp_path / "other.json").write_text("{}")
    assert command.bench_main([part.format(file=file, folder=tmp_path) for part in rest]) == 4
    printed = capsys.readouterr().err
    assert message in printed and "\n  fix: " in printed and "Traceback" not in printed


def test_wrong_options(capsys):
    with pytest.raises(SystemExit) as error:
        command.bench_main(["x.py", "--part", "magic"])
    assert error.value.code == 4 and "usage: pullback bench" in capsys.readouterr().err


def options(file, **rest):
    return {"target": str(file), "args": None, "engine": "jax", "device": "", "seed": 0, "seconds": 0.001, "parts": [],
            **rest}


def test_a_model_that_does_not_run_and_one_without_the_part(file):
    pytest.importorskip("jax")
    with pytest.raises(worker.UsageError, match=r"does not run: ZeroDivisionError: .*\n  at model.py:14"):
        worker.measure(options(f"{file}:broken"))
    with pytest.raises(worker.UsageError, match="the model has none of outputs; it has loss, gradients, updated"):
        worker.measure(options(f"{file}:model", parts=["outputs"]))


def test_a_part_that_compiles_again_and_a_busy_machine_are_told(file):
    pytest.importorskip("jax")
    one = json.loads(json.dumps(worker.measure(options(f"{file}:loss", args="f32[3], f32[2,3]", parts=["outputs"]))))
    counts = one["parts"]["outputs"]["compilations"]
    assert counts == {"before the first call": 1, "first call and warm-up": 0, "warm": 0}
    counts["warm"] = 7
    one["machine"]["after"] = {"load": [99.0, 1.0, 1.0], "MHz": [2000.0, 3000.0]}
    side = {"label": "m", "options": {}, "rounds": [one, one]}
    given = command.bench_parser().parse_args(["m.py"])
    made: Report = command._report(given, [side], {})
    notes = {finding.what: finding.measured for result in made.results for finding in result.findings}
    assert notes["warm runs compile"].startswith("7 compilations in")
    assert notes["the machine was busy"].startswith("a load of 99.0 on")
    assert notes["the clock of the processor changed"].endswith("to 3000 MHz") and made.outcome == "passed"


def test_a_process_that_dies_is_told(file, monkeypatch, capsys):
    class Done:
        stdout, returncode = "", -11
    monkeypatch.setattr(command.subprocess, "run", lambda *args, **rest: Done())
    monkeypatch.setattr(command, "environment", lambda python: io.StringIO())
    with pytest.raises(command.UsageError, match="the process of m ended with exit code -11"):
        command._round({"python": sys.executable}, {}, "m")
