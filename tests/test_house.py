"""The house: versions, directions of import, line budgets, documents that are true."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pullback

ROOT = Path(__file__).resolve().parent.parent
# Folders that tools make: no part of the project.
GENERATED = re.compile(
    r"\.git|\.venv.*|\.(mypy|ruff|pytest)_cache|\.hypothesis|__pycache__|build|dist|.*\.egg-info")


def run(*command, **options):
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, cwd=ROOT,
                          timeout=300, **options)


def files():
    def walk(folder):
        for path in sorted(folder.iterdir()):
            if GENERATED.fullmatch(path.name):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path
    return list(walk(ROOT))


def code_blocks(document, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


# -- versions ---------------------------------------------------------------------------------------


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == project["version"] == pullback.__version__


# -- scripts/imports --------------------------------------------------------------------------------


def test_directions_of_import():
    result = run("scripts/imports")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("module, line, offence", [
    ("core/a.py", "from pullback.interpret import jvp", "upward import, from core to interpret"),
    ("core/a.py", "import pullback.ops", "upward import, from core to ops"),
    ("core/a.py", "from ..ops import index", "upward import, from core to ops"),
    ("core/a.py", "import pullback", "upward import, from core to the package itself"),
    ("ops/a.py", "from pullback import numpy", "upward import, from ops to numpy"),
    ("api/a.py", "from pullback.tree_util import tree_map", "upward import, from api to tree_util"),
    ("numpy/a.py", "from pullback.compat import jax", "upward import, from numpy to compat"),
    ("ops/a.py", "def f():\n    from pullback.core import types", "at the top of the module"),
    ("ops/a.py", "def f():\n    importlib.import_module('pullback.core.types')", "at the top of the module"),
    ("core/trace.py", "def f():\n    from pullback.runtime import eager", "at the top of the module"),
    ("gate/a.py", "from pullback.core import types", "the gate stands alone"),
    ("api/a.py", "from pullback.gate import store", "the gate stands alone"),
    ("core/tree.py", "import jax", "never imports jax"),
    ("compat/jax.py", "def f():\n    import jax.numpy", "never imports jax"),
    ("runtime/lower.py", "from jaxlib import xla_client", "import jaxlib"),
    ("runtime/lower.py", "def f():\n    import jaxlib._jax", "import jaxlib"),
    ("ops/a.py", "import scipy.special", "import it in the function that needs it"),
])
def test_an_offence_is_found(tmp_path, module, line, offence):
    assert offence in check_imports(tmp_path, {module: line}, status=1)


@pytest.mark.parametrize("module, line", [
    ("interpret/a.py", "from pullback.core import trace"),
    ("core/a.py", "from . import b"),
    ("numpy/a.py", "import numpy as np\nimport pullback.lax"),
    ("compat/jax.py", "import pullback"),
    ("ops/a.py", "def f():\n    import scipy.special"),
    ("core/tree.py", "from jaxlib import _jax"),
    ("runtime/pjrt.py", "from jaxlib import xla_client"),
    ("gate/engines/jax.py", "import jax"),
    ("gate/engines/pullback.py", "import pullback"),
    ("__init__.py", "def f():\n    import pullback.numpy"),
])
def test_no_offence_where_there_is_none(tmp_path, module, line):
    assert "keep the directions" in check_imports(tmp_path, {module: line}, status=0)


def check_imports(folder, sources, status):
    # The modules that the cases name by `from package import module`.
    for name in ("interpret/jvp", "core/types", "core/trace", "core/b", "runtime/eager"):
        sources.setdefault(f"{name}.py", "")
    for name, text in sources.items():
        path = folder / "pullback" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    result = run("scripts/imports", folder)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


def test_import_is_light():
    heavy = "{'jax', 'scipy', 'opt_einsum', 'jaxlib.mlir', 'jaxlib.xla_client'}"
    result = run("-c", f"import sys, pullback; print(sorted({heavy} & set(sys.modules)))")
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


# -- scripts/lines ----------------------------------------------------------------------------------


def test_line_budgets():
    result = run("scripts/lines")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("lines, status, offence", [
    ({"pullback/ops/a.py": 700}, 0, ""),
    ({"pullback/ops/a.py": 701}, 1, "pullback/ops/a.py: 701 lines"),
    ({"tests/deep/test_a.py": 701}, 1, "tests/deep/test_a.py: 701 lines"),
    ({f"pullback/core/{i}.py": 500 for i in range(7)} | {"pullback/interpret/a.py": 499}, 0, ""),
    ({f"pullback/core/{i}.py": 500 for i in range(7)} | {"pullback/interpret/a.py": 500}, 1, "4000 lines"),
])
def test_budgets_are_held(tmp_path, lines, status, offence):
    for name, count in lines.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pass\n" * count)
    result = run("scripts/lines", tmp_path)
    assert result.returncode == status and offence in result.stdout, result.stdout + result.stderr


# -- documents --------------------------------------------------------------------------------------


def test_no_path_of_a_machine():
    # Written in two parts, or this file would be the first to be found.
    paths = re.compile("/opt" + "/pb|(?<![\\w.])/wor" + "k/")
    found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
             for path in files() for number, line in enumerate(text_of(path).splitlines(), 1)
             if paths.search(line)]
    assert not found, "\n".join(found)


def text_of(path):
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def test_links_lead_somewhere():
    links = [(path, link) for path in files() if path.suffix == ".md"
             for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text()) if "://" not in link]
    broken = [f"{path.name}: {link}" for path, link in links if not (path.parent / link).exists()]
    assert links and not broken, "\n".join(broken)


def test_the_reading_order_names_every_module_of_the_core():
    text = (ROOT / "docs" / "reading.md").read_text()
    named = set(re.findall(r"^\| `((?:core|interpret)/\w+\.py)`", text, re.MULTILINE))
    there = {path.relative_to(ROOT / "pullback").as_posix() for package in ("core", "interpret")
             for path in (ROOT / "pullback" / package).glob("*.py") if path.name != "__init__.py"}
    assert named == there


def test_the_first_five_minutes(tmp_path):
    """The README's script prints what the README says, and the snippet after it runs."""
    script, snippet = code_blocks("README.md")
    (printed,) = code_blocks("README.md", "text")
    (tmp_path / "fit.py").write_text(script)
    result = run("-m", "pullback", "run", tmp_path / "fit.py")
    assert result.returncode == 0 and result.stdout == printed, result.stdout + result.stderr
    result = run("-c", snippet)
    assert result.returncode == 0 and result.stdout.startswith("0.0770"), result.stdout + result.stderr


@pytest.mark.parametrize("document, use", [
    ("adding_a_primitive.md", """
import pullback, numpy as np
x, y = np.float32([1, 2, 3]), np.float32([4, 5, 6])
f = lambda y: add_scaled(pullback.numpy.asarray(x), y, factor=3.0)
batch = np.stack([x, y])
for g in (f, pullback.jit(f)):
    np.testing.assert_allclose(g(pullback.numpy.asarray(y)), x + 3 * y)
    np.testing.assert_allclose(pullback.vmap(g)(pullback.numpy.asarray(batch)), x + 3 * batch)
    np.testing.assert_allclose(pullback.grad(lambda y: g(y)[1])(pullback.numpy.asarray(y)), [0, 3, 0])
"""),
    ("adding_a_transformation.md", """
import pullback, pullback.numpy as jnp
x = jnp.arange(3.0)
assert count(lambda x: jnp.sin(x) * 2.0, x) >= 6
assert count(lambda x: jnp.sin(jnp.ones(5)), x) == 0
assert count(pullback.grad(lambda x: jnp.sin(x).sum()), x) > count(lambda x: jnp.sin(x).sum(), x)
"""),
])
def test_the_example_of_a_document_runs(document, use):
    (example,) = code_blocks(f"docs/{document}")
    result = run("-c", example + use)
    assert result.returncode == 0, result.stdout + result.stderr
