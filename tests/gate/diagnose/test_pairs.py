"""A sample of the pairs in `tests/gate/pairs`; `python -m tests.gate.pairs.figures` runs them all."""

import subprocess
import sys

import pytest

from pullback.gate.diagnose import report
from pullback.gate.engine import load
from tests.gate.pairs.figures import run
from tests.gate.pairs.pairs import PAIRS

# One of each stage and each model, and of those that once were hard: loops in reverse, keys in another order.
SAMPLE = ("heads in another order", "another middle of the images", "the other half of the key",
          "keys in another order", "straight through too far", "outputs in reverse", "outputs in half precision",
          "labels smoothed more", "decay of the second moment", "a factor that the trace freezes", "cosine for sine",
          "a factor that a checkpoint freezes", "a scan that counts its steps", "a rule for vmap that forgets a term")


@pytest.mark.parametrize("name", SAMPLE)
def test_right_stage_and_operation(name, tmp_path):
    pair = next(pair for pair in PAIRS if pair.name == name)
    figure = run(pair, load("pullback"), tmp_path)
    assert figure.stage and figure.operation, f"{figure.shown}\n{report.text(figure.found)}"
    if pair.stage not in ("data", "keys", "jit"):
        assert figure.found.shrunk is not None and len(figure.found.shrunk.rows) == 1
    assert len(figure.found.script.splitlines()) <= 30


def test_there_are_forty_pairs_of_every_model_and_stage():
    assert len(PAIRS) >= 40 and len({pair.name for pair in PAIRS}) == len(PAIRS)
    assert {pair.model for pair in PAIRS} == {"transformer", "cnn", "rnn", "ode", "particles"}
    assert {pair.stage for pair in PAIRS} == {"data", "keys", "types", "forward", "loss", "gradients", "update", "jit",
                                            "transforms"}
    for pair in PAIRS:
        assert pair.sources()[0] != pair.sources()[1]


def test_the_script_shows_it_under_jax(tmp_path):
    pair = next(pair for pair in PAIRS if pair.name == "labels smoothed more")
    figure = run(pair, load("pullback"), tmp_path)
    compile(figure.found.script, "reproducer", "exec")
    done = subprocess.run([sys.executable, "-c", figure.found.script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "they part:" in done.stdout, done.stderr
    assert "import pullback" not in figure.found.script
