"""`python -m pullback init`: what it writes passes `verify`, and what it cannot tell it says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.gate.draft import command
from pullback.gate.draft.seen import Like, like_of, seen_arguments, tree_map

ROOT = Path(__file__).resolve().parent.parent.parent.parent
TRAINING = """
import jax
import jax.numpy as jnp
import numpy as np


def init(key, sizes=(6, 5, 3)):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        key, subkey = jax.random.split(key)
        params.append({"w": jax.random.normal(subkey, (n_in, n_out)) * 0.5, "b": jnp.zeros(n_out)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params, x, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(forward(params, x)) * jax.nn.one_hot(y, 3), axis=-1))


@jax.jit
def update(params, velocity, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g, velocity, gradients)
    return value, jax.tree.map(lambda p, v: p + v, params, velocity), velocity


def main():
    x = np.random.default_rng(0).uniform(0, 1, (60, 6)).astype(np.float32)
    y = (np.arange(60) % 3).astype(np.int32)
    params = init(jax.random.key(0))
    velocity = jax.tree.map(jnp.zeros_like, params)
    print("training")
    for start in range(0, 60, 12):
        value, params, velocity = update(params, velocity, x[start:start + 12], y[start:start + 12])
    raise RuntimeError("the run must have been ended before this")


if __name__ == "__main__":
    main()
"""


def pullback(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "pullback", *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})


@pytest.mark.parametrize("name, roles, parts", [
    ("training", "loss loss, forward forward, init init, update update",
     ['batch={"x": "f32[n, 6] in [0, 1]", "y": "i32[n] in [0, 2]"}', 'outputs="f32[n, 3]"', "init=training.init",
      "state=jax.tree.map(lambda x: x * 0, training.init(jax.random.key(0)))", "rng.integers(0, 3, (12,))"]),
    ("value_and_grad_step", "loss loss, update step",
     ['params={"w": "f32[3]", "b": "f32[]"}', "return value_and_grad_step.step(params, x, y)[2]",
      'batch = {"x": value_and_grad_step.x, "y": value_and_grad_step.y}']),
    ("stop_gradient_guide", "loss objective", ["params=stop_gradient_guide.x", "batch_axis=None"]),
])
def test_what_it_writes_passes(tmp_path, name, roles, parts):
    if name == "training":
        (tmp_path / "training.py").write_text(TRAINING)
    else:
        shutil.copy(ROOT / "examples" / f"{name}.py", tmp_path)
    done = pullback("init", f"{name}.py", cwd=tmp_path)
    assert done.returncode == 0 and f"written: {name}_gate.py ({roles})" in done.stdout, done.stdout + done.stderr
    text = (tmp_path / f"{name}_gate.py").read_text()
    assert not [part for part in parts if part not in text], text
    assert max(map(len, text.splitlines())) <= 120
    done = pullback("verify", "-q", f"{name}_gate.py", cwd=tmp_path)
    assert done.returncode == 0 and "FAIL" not in done.stdout, done.stdout + done.stderr


def init(*arguments):
    """Here, under jax."""
    pytest.importorskip("jax")
    return command.init_main([*map(str, arguments), "--engine", "jax"])


def test_nothing_is_overwritten_without_force(tmp_path, capsys):
    script, output = tmp_path / "script.py", tmp_path / "script_gate.py"
    script.write_text("import numpy as np\nx = np.ones(3, 'float32')\ndef loss(x):\n    return (x * x).sum()\n")
    output.write_text("mine")
    assert init(script) == 4 and "script_gate.py is there already" in capsys.readouterr().err
    assert init(script, "--output", script, "--force") == 4 and "is the script itself" in capsys.readouterr().err
    assert output.read_text() == "mine" and "def loss" in script.read_text()
    assert init(script, "--force") == 0 and "gate.Model(" in output.read_text()
    elsewhere = tmp_path / "sub" / "model.py"
    elsewhere.parent.mkdir()
    assert init(script, "--output", elsewhere) == 0
    assert "sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))" in elsewhere.read_text()
    assert init(script, "--output", tmp_path / "no" / "x.py") == 4 and "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("text, rest, message", [
    ("x = 1", (), "defines no function"), ("1 / 0", (), "cannot be imported: ZeroDivisionError"),
    ("def f(a): pass\ndef g(a): pass", (), "cannot be told by the names f, g"),
    ("def f(a): pass", ("--loss", "h"), "defines no function 'h'; it defines f"),
    ("def loss(): pass", (), "loss has no parameters"),
    ("def loss(w, x): return w", (), "was run to see the arguments of 'loss', and ended before it was called"),
    ("def loss(w): return w\nif __name__ == '__main__':\n    raise SystemExit('odd')", (),
     "ended with SystemExit: odd"),
    ("import numpy as np\nw = np.ones(3)\ndef loss(w): return w.no", (), "does not run: AttributeError"),
    ("from pullback import gate\nm = gate.Model(lambda w: w, 1.0)", (), "has a gate.Model already: m"),
    ("def loss(w): return w\nif __name__ == '__main__':\n    while True: pass", ("--seconds", "0.2"),
     "0.2 s passed before it was called"),
])
def test_what_it_cannot_tell_is_one_message(tmp_path, capsys, text, rest, message):
    (tmp_path / "script.py").write_text(text + "\n")
    assert init(tmp_path / "script.py", *rest) == 4
    printed = capsys.readouterr().err
    assert message in printed and "\n  fix: " in printed and "Traceback" not in printed
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".py"] == ["script.py"]


def test_a_file_that_is_not_there(capsys):
    assert init("nowhere.py") == 4 and "there is no file 'nowhere.py'" in capsys.readouterr().err


def test_arguments_that_a_run_shows(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import numpy as np\n"
                    "class Traced:\n    shape, dtype = (4, 2), np.dtype('float32')\n"
                    "    def __array__(self, *a, **k): raise TypeError('traced')\n"
                    "def loss(w, x, n=2):\n    return 0\n"
                    "def other(a):\n    return 0\n"
                    "def run(x):\n    return loss({'w': np.float32([1, -3])}, Traced())\n"
                    "if __name__ == '__main__':\n    run(np.float32([[0.25, 0.5]] * 9))\n    raise RuntimeError\n")
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    codes = {name: space[name].__code__ for name in ("loss", "other")}
    before = list(sys.path), sys.argv
    found = seen_arguments(str(path), codes, ["loss"], 10.0)
    assert found == {"loss": {"w": {"w": Like((2,), "float32", -3.0, 1.0)}, "x": Like((4, 2), "float32", 0.25, 0.5),
                              "n": Like((), "int", 2.0, 2.0)}}
    assert (list(sys.path), sys.argv) == before and sys.getprofile() is None
    assert tree_map(like_of, [None, (True,)]) == [None, (Like((), "bool", 1.0, 1.0),)]
