"""An upgrade of jax: three examples recorded under one version, compared under the next ones.

PULLBACK_PYTHONS names the interpreters, oldest jax first, as PATH does; each has jax and pullback[gate].
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHONS = [path for path in os.environ.get("PULLBACK_PYTHONS", "").split(os.pathsep) if path]
EXAMPLES = {"classifier": """
import jax
import jax.numpy as jnp
import numpy as np
from pullback import gate

def forward(params, x, key):
    hidden = jax.nn.gelu(x @ params["w"] + params["b"])
    return jnp.where(jax.random.bernoulli(key, 0.75, hidden.shape), hidden / 0.75, 0.0) @ params["v"]

def loss(params, x, y, key):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(forward(params, x, key)) * jax.nn.one_hot(y, 3), axis=-1))

rng = np.random.default_rng(0)
params = {"w": rng.normal(size=(4, 5)).astype("f4"), "b": np.zeros(5, "f4"), "v": rng.normal(size=(5, 3)).astype("f4")}
batch = {"x": rng.normal(size=(6, 4)).astype("f4"), "y": np.array([0, 1, 2, 0, 1, 2], "int32")}
model = gate.Model(loss, params, batch, key=jax.random.key(7))
""", "recurrence": """
import jax
import jax.numpy as jnp
import numpy as np
from pullback import gate

def loss(params, series, target):
    def step(state, x):
        state = jnp.tanh(state @ params["w"] + x)
        return state, jnp.sum(state)
    return jnp.mean((jax.lax.scan(step, params["start"], series)[1] - target) ** 2)

rng = np.random.default_rng(1)
params = {"w": rng.normal(size=(3, 3)).astype("f4"), "start": np.zeros(3, "f4")}
model = gate.Model(loss, params, {"series": rng.normal(size=(5, 3)).astype("f4"), "target": np.ones(5, "f4")},
                   batch_axis=None)
""", "solver": """
import jax
import jax.numpy as jnp
import numpy as np
from pullback import gate

@jax.custom_vjp
def clipped(x):
    return x

clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -0.1, 0.1),))

def loss(params, x, y):
    gram = x.T @ x + jnp.exp(params["ridge"]) * jnp.eye(3)
    return jnp.mean((x @ jnp.linalg.solve(gram, x.T @ y) * clipped(params["scale"]) - y) ** 2)

rng = np.random.default_rng(2)
model = gate.Model(loss, {"ridge": np.float32(0.1), "scale": np.float32(1.1)},
                   {"x": rng.normal(size=(8, 3)).astype("f4"), "y": rng.normal(size=8).astype("f4")}, batch_axis=None)
"""}
# All examples in one process, which pays for the import of jax once.
RUN = """
import sys
from pullback.gate.commands import compare_main, record_main
command, folder, *names = sys.argv[1:]
main = {"record": record_main, "compare": compare_main}[command]
sys.exit(max(main([f"{folder}/{name}.py", "--store", f"{folder}/{name}", "--engine", "jax", "-q"]) for name in names))
"""


def run(python, command, folder):
    return subprocess.run([python, "-c", RUN, command, str(folder), *EXAMPLES], capture_output=True, text=True,
                          timeout=600, env={**os.environ, "PYTHONPATH": str(folder / "path"), "JAX_PLATFORMS": "cpu"})


@pytest.fixture
def folder(tmp_path):
    for name, text in EXAMPLES.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "pullback").symlink_to(ROOT / "pullback")  # and no other package of this Python
    return tmp_path


def test_an_upgrade(folder):
    if len(PYTHONS) < 2:
        message = "PULLBACK_PYTHONS names no two interpreters with jax: the upgrade was not tried"
        (pytest.fail if os.environ.get("PULLBACK_CI") else pytest.skip)(message)
    done = run(PYTHONS[0], "record", folder)
    assert done.returncode == 0 and done.stdout.count("recorded: revision 1") == 3, done.stdout + done.stderr
    versions = set()
    for python in PYTHONS[1:]:
        done = run(python, "compare", folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("\npassed: ") == 3 and "standard batch  pass" in done.stdout
        versions |= {line for line in done.stdout.splitlines() if line.startswith("engine: ")}
    assert len(versions) == len(PYTHONS) - 1
