"""`python -m pullback verify`: what it accepts, prints, writes and exits with."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pullback import gate
from pullback.gate import cli, report

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = """
import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from pullback import gate

def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w["a"]) @ w["b"])

def stopped(w, x):
    return loss({"a": stop_gradient(w["a"]), "b": w["b"]}, x)

def noisy(x, key):
    return x + jax.random.normal(key, x.shape) * jax.random.uniform(key)

WEIGHTS = {"a": jnp.ones((3, 2)), "b": jnp.ones(2)}
good = gate.Model(loss, WEIGHTS, {"x": jnp.ones((4, 3))})
bad = gate.Model(stopped, WEIGHTS, {"x": jnp.ones((4, 3))})

def made():
    return good

if __name__ == "__main__":
    raise SystemExit("a training script must not train here")
"""


def verify(*arguments, code=None):
    command = [sys.executable, *(["-c", code] if code else ["-m", "pullback", "verify"]), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(GOOD)
    return path


@pytest.mark.parametrize("engine", ["pullback", "jax"])
def test_a_fault_in_a_file_is_named_with_its_line(file, tmp_path, engine):
    written = tmp_path / "report.json"
    done = verify("--engine", engine, f"{file}:bad", "--only", "flow,data", "--json", written)
    assert done.returncode == 1, done.stderr
    assert "params/a  model.py:11 in stopped:  return loss({\"a\": stop_gradient" in done.stdout
    assert "flow         fail" in done.stderr and "failed: 1 failed, 1 skipped" in done.stdout
    data = json.loads(written.read_text())
    assert data["schema"] == report.SCHEMA and data["outcome"] == "failed" and data["environment"]["engine"] == engine
    assert data["environment"]["versions"]["jaxlib"] and data["environment"]["devices"] == ["cpu: cpu"]
    (failure,) = [finding for finding in data["results"][0]["findings"] if finding["level"] == "fail"]
    assert failure["leaf"] == "params/a" and failure["line"]["line"] == 11 and data["results"][0]["measurements"]


def test_a_function_with_the_types_of_its_arguments(file):
    done = verify(f"{file}:noisy", "--args", "f32[4,3], key", "--quiet")
    assert done.returncode == 1 and done.stderr == "", done.stderr
    assert "FAIL keys: forward uses one key 2 times" in done.stdout and "model.py:14 in noisy" in done.stdout
    for check in ("contract", "derivative", "finite", "transforms", "purity"):
        assert f"\n{check:<11}  pass" in done.stdout


def in_process(*arguments):
    """Runs the command here, under jax: pullback could not serve `import jax`, which the tests have loaded."""
    pytest.importorskip("jax")
    return cli.main([*map(str, arguments), "--engine", "jax"])


def test_a_model_that_passes_made_by_a_function(file, capsys):
    assert in_process(f"{file}:made", "--only", "flow") == 0
    printed = capsys.readouterr()
    assert "passed: 1 passed" in printed.out and f"gate: {file}:made" in printed.out


@pytest.mark.parametrize("target, rest, message", [
    ("{file}", (), "has 2 models: good, bad"), ("{file}:absent", (), "has no 'absent'; it has"),
    ("{file}:WEIGHTS", (), "is a dict, a gate.Model is required"), ("{file}:noisy", (), "without arguments"),
    ("{file}", ("--args", "f32[2]"), "--args needs the name of a function"),
    ("{file}:noisy", ("--args", "f32[n]"), "the shape of 'f32[n]' is not known"),
    ("{file}:noisy", ("--args", "g32[2]"), "no spec of a leaf"),
    ("{file}:WEIGHTS", ("--args", "f32[2]"), "a function is required"),
    ("{file}.py", (), "there is no file"), ("{file}:good", ("--only", "magic"), "there is no check 'magic'; there are"),
    ("{folder}/empty.py", (), "has no gate.Model"), ("{folder}/broken.py", (), "ZeroDivisionError"),
    ("{folder}/broken.py", (), "broken.py:2 in <module>:  1 / 0"),
    ("{folder}/syntax.py", (), "cannot be imported: SyntaxError"), ("{folder}", (), "there is no file"),
    ("{folder}/raises.py:build", (), "raises.py:2 in build:  raise KeyError"),
    ("{folder}/raises.py", (), "no gate.Model"),
    ("{folder}/tolerance.py", (), "the tolerance of 'float32' is wider than the default and has no reason"),
    ("{folder}/exits.py", (), "SystemExit: 7"),
])
def test_usage_errors_are_one_message_with_a_fix(file, tmp_path, capsys, target, rest, message):
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("x = 1\n1 / 0\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("def build():\n    raise KeyError('data')\n")
    (tmp_path / "tolerance.py").write_text("from pullback import gate\nmodel = gate.Model(abs, 1.0, tolerances={"
                                           "'float32': gate.Tolerance(0.1)})\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(7)\n")
    assert in_process(target.format(file=file, folder=tmp_path), *rest) == 4
    printed = capsys.readouterr()
    assert message in printed.err and "\n  fix: " in printed.err and "Traceback" not in printed.err


@pytest.mark.parametrize("arguments", [("--engine", "torch", "x.py"), (), ("x.py", "--seed", "a")])
def test_wrong_options(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == 4 and "usage: pullback verify" in capsys.readouterr().err


def test_a_report_that_cannot_be_written(file, tmp_path, capsys):
    assert in_process(f"{file}:good", "--only", "data", "--json", tmp_path / "no" / "report.json") == 4
    printed = capsys.readouterr()
    assert "cannot be written" in printed.err and "nothing ran: 1 skipped" in printed.out  # nothing is lost


def test_nothing_ran(file, capsys):
    assert in_process(f"{file}:good", "--only", "data") == 5


def test_a_broken_check_and_an_interruption(monkeypatch):
    from tests.gate.healthy import plain
    monkeypatch.setattr("pullback.gate.checks.flow._is_zero", None)
    found = gate.verify(plain, only=["flow", "data"])
    assert found.exit_code == 3 and found["data"].status == "pass"
    assert "ERROR flow: TypeError: 'NoneType' object is not callable" in found.text() and "Traceback" in found.text()

    def interrupted(gradient):
        raise KeyboardInterrupt

    monkeypatch.setattr("pullback.gate.checks.flow._is_zero", interrupted)
    found = gate.verify(plain, only=["contract", "flow", "data"])
    assert found.exit_code == 2 and [result.check for result in found.results] == ["contract", "flow"]
    assert "interrupted: 1 passed, 1 skipped" in found.text()


def test_control_c_while_a_file_is_loaded(tmp_path):
    path = tmp_path / "slow.py"
    path.write_text("import sys, time\nprint('loading', file=sys.stderr, flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen([sys.executable, "-m", "pullback", "verify", path], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        assert process.stderr.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "pullback verify: interrupted\n"
    assert process.returncode == 2


def test_a_model_that_does_not_run():
    def build(jax):
        def loss(w, x):
            return jax.numpy.mean(x @ w)
        return gate.Model(loss, jax.numpy.ones(3), {"x": jax.numpy.ones((2, 4))})
    found = gate.verify(build)
    assert [result.status for result in found.results] == ["fail", *["skip"] * 11] and found.exit_code == 1
    (failure,) = found["contract"].findings
    assert failure.what == "the model does not run on its standard batch"
    assert failure.line.line == build.__code__.co_firstlineno + 2


def test_a_loss_that_is_no_number():
    found = gate.verify(lambda jax: gate.Model(lambda w, x: x * w, jax.numpy.ones(3), {"x": jax.numpy.ones((2, 3))}))
    assert found.exit_code == 1 and "an array of shape [2, 3]" in found.text()


def test_numbers_that_json_lacks():
    found = gate.Report("m", 0, {}, [gate.Result("flow", "", measurements=[{"what": "x", "value": float("nan")}])])
    assert json.loads(found.json())["results"][0]["measurements"] == [{"what": "x", "value": "nan"}]


def test_the_gate_loads_no_engine_until_it_is_asked():
    listing = "sorted({name.split('.')[0] for name in sys.modules} & {'jax', 'jaxlib', 'scipy', 'ml_dtypes', 'rich'})"
    done = verify(code=f"import sys, pullback.gate, pullback.gate.cli; print({listing})")
    assert done.stdout == "[]\n", done.stderr
    own = "sorted(name for name in sys.modules if name.startswith('pullback.') and 'gate' not in name)"
    code = (f"import sys; from pullback import gate; gate.Model(abs, 1.0); print({own}); "
            f"gate.verify(lambda jax: gate.Model(lambda w: w * w, 1.0), 'jax', only=['flow']); print({own})")
    done = verify(code=code)
    assert done.stdout == "[]\n[]\n", done.stderr
