"""The plugin for pytest: each check of a model is a test, from the command line and by a mark; also under xdist."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.gate import items

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = """
import jax
import jax.numpy as jnp
from pullback import gate

with open(__file__ + ".loaded", "a") as file:
    file.write("x")

def loss(w, x):
    return jnp.mean(jnp.tanh(x @ jax.lax.stop_gradient(w["a"])) @ w["b"])

model = gate.Model(loss, {"a": jnp.ones((3, 2)), "b": jnp.ones(2)}, {"x": jnp.ones((4, 3))})
"""
MARKED = """
import sys
import pytest

def test_collection_loads_no_engine():
    assert not {"jax", "jaxlib"} & set(sys.modules)

@pytest.mark.gate("model.py:model", only=["data", "environment"])
def test_model(gate_check):
    gate_check()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "test_marked.py").write_text(MARKED)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "pytest", "-p", "pullback.gate.pytest", "-p", "no:cacheprovider",
                           "--rootdir", folder, *arguments], capture_output=True, text=True, cwd=folder, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu",
                               "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})


def test_each_check_is_a_test(folder):
    done = run(folder, "--pullback", "model.py:model", "-v", "-k", "flow or data or environment")
    assert done.returncode == 1, done.stderr
    assert "model.py::flow[model] FAILED" in done.stdout and "model.py::environment[model] PASSED" in done.stdout
    assert "model.py::data[model] SKIPPED" in done.stdout and "1 failed, 1 passed, 1 skipped" in done.stdout
    assert "collected 12 items / 9 deselected / 3 selected" in done.stdout
    assert "a parameter gets no gradient\n    measured  exactly zero" in done.stdout
    assert "model.py:10 in loss" in done.stdout and "items.py" not in done.stdout  # the finding, no traceback
    assert "test_marked" not in done.stdout and (folder / "model.py.loaded").read_text() == "x"


def test_by_a_mark_and_over_workers(folder):
    done = run(folder, "-p", "xdist", "-n", "2", "-v", "test_marked.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 1 skipped" in done.stdout and "test_model[environment]" in done.stdout
    assert (folder / "model.py.loaded").read_text() == "x"  # the workers share one run


def test_wrong_uses(folder):
    done = run(folder, "--pullback", "nowhere.py")
    assert done.returncode == 4 and "file or directory not found: nowhere.py" in done.stderr
    (folder / "model.py").write_text("1 / 0")
    with pytest.raises(pytest.fail.Exception, match="model.py cannot be imported: ZeroDivisionError"):
        items.Run(str(folder / "model.py"), "pullback", ["flow"]).result(None, "flow")

    class Marked:
        class definition:
            nodeid = "test_x"

            @staticmethod
            def get_closest_marker(name):
                return None
    with pytest.raises(pytest.UsageError, match="test_x has the fixture gate_check and no mark that says which model"):
        items.parametrize(Marked)
