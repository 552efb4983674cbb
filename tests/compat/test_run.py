"""Scripts with `import jax`, served by pullback and by real jax."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def run(*arguments, check=True, code=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    environment.pop("PULLBACK_QUIET", None)
    command = [sys.executable, *(["-c", code] if code else []), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if check:
        assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "digits.py"])
def test_example_prints_the_same_under_both(name):
    ours = run("-m", "pullback", "run", f"examples/{name}")
    assert "serves `import jax`" in ours.stderr and ours.stderr.count("\n") == 1
    theirs = run(f"examples/{name}")
    if name != "debug_nans.py":  # the two engines word the error differently
        assert numbers(ours.stdout) == pytest.approx(numbers(theirs.stdout), rel=1e-4, abs=1e-6)
        assert words(ours.stdout) == words(theirs.stdout)


def pieces(text):
    return text.replace("[", " ").replace("]", " ").replace(",", " ").split()


def is_number(piece):
    try:
        float(piece)
    except ValueError:
        return False
    return True


def numbers(text):
    return [float(p) for p in pieces(text) if is_number(p)]


def words(text):
    return [p for p in pieces(text) if not is_number(p)]


def test_digits_learns_step_by_step_as_under_jax(tmp_path):
    """Every loss of the training equals real jax's to 1e-4, and the test accuracy reaches 96 %."""
    files = [tmp_path / "ours", tmp_path / "theirs"]
    ours = run("-m", "pullback", "run", "--quiet", "examples/digits.py", "--losses", files[0])
    assert ours.stderr.lstrip().startswith("digits:")  # the progress bar, and no banner
    run("examples/digits.py", "--losses", files[1])
    a, b = (np.loadtxt(f) for f in files)
    assert len(a) == len(b) == 360
    np.testing.assert_allclose(a, b, atol=1e-4)


def test_modules_are_pullbacks_own():
    code = """
import pullback.compat.jax
pullback.compat.jax.install(quiet=True)
import sys
import jax, jax.numpy as jnp, jax.numpy.linalg, jax.random, jax.tree_util, jax.nn.initializers
from jax import lax, grad, random
from jax.flatten_util import ravel_pytree
from jax.ad_checkpoint import checkpoint_name
import pullback
assert jnp is pullback.numpy and jax.numpy is pullback.numpy and lax is pullback.lax
assert jax.__version__ == "0.11.2" and jax.grad is pullback.grad
assert jnp.__spec__.name == "pullback.numpy"
assert isinstance(jnp.ones(2), jax.Array)
assert jax.tree.map(lambda x: x + 1, {"a": 1}) == {"a": 2}
assert not any(name.startswith("jax") and "pullback" not in str(module) and name.split(".")[0] == "jax"
               and module.__spec__.origin not in ("pullback",) and "pullback" not in (module.__spec__.origin or "")
               for name, module in list(sys.modules.items()) if module is not None)
print("served")
"""
    assert run(code=code).stdout == "served\n"


def test_refuses_where_real_jax_is_imported():
    done = run(code="import jax\nimport pullback.compat.jax\npullback.compat.jax.install()", check=False)
    assert done.returncode and "imported already" in done.stderr and "fix:" in done.stderr


@pytest.mark.parametrize("statement", ["from jax import smap", "import jax; jax.new_ref",
                                       "import jax.experimental.pallas", "from jax.numpy import no_such_name",
                                       "import jax.lax as l; l.no_such_name"])
def test_unsupported_names_say_so(statement):
    code = f"import pullback.compat.jax\npullback.compat.jax.install(quiet=True)\n{statement}"
    done = run(code=code, check=False)
    assert done.returncode and "jax_compat.md" in done.stderr
    assert statement.split()[-1].split(".")[-1] in done.stderr


def test_run_module_and_arguments(tmp_path):
    (tmp_path / "job.py").write_text("import sys, jax\nprint(sys.argv[1:], jax.numpy.ones(2).sum(), __name__)\n")
    for command in ([str(tmp_path / "job.py")], ["-m", "job"]):
        done = subprocess.run([sys.executable, "-m", "pullback", "run", "--quiet", *command, "--flag", "x"],
                              cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.stdout == "['--flag', 'x'] 2.0 __main__\n", done.stderr
        assert done.stderr == ""
    done = run("-m", "pullback", "run", "no_such.py", check=False)
    assert done.returncode and "no file" in done.stderr


def test_doctor():
    text = run("-m", "pullback", "doctor").stdout
    for word in ("pullback", "jaxlib", "python", "devices", "cache"):
        assert word in text


def test_a_name_from_a_submodule_is_enough(tmp_path):
    """Whatever is imported first, operations run and arrays have their operators."""
    script = tmp_path / "alone.py"
    script.write_text("from jax.lax import sin\nfrom jax.custom_derivatives import linear_call\n"
                      "print(sin(0.0) * 2, linear_call(lambda r, x: r * x, lambda r, ct: r * ct, 2.0, 3.0))\n")
    assert run("-m", "pullback", "run", "-q", script).stdout.split() == ["0.0", "6.0"]
