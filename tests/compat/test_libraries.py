"""Scripts on libraries above jax print the same served by pullback as by real jax (docs/libraries.md).

The libraries are the extra `libraries`; a script is skipped where its library is not installed.
"""

import importlib.util

import pytest

from tests.compat.test_run import numbers, run, words


def prints_the_same(script, *libraries, rel=2e-3, abs=2e-3):
    for name in libraries:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    path = f"tests/compat/libraries/{script}.py"
    ours, theirs = run("-m", "pullback", "run", "--quiet", path), run(path)
    assert words(ours.stdout) == words(theirs.stdout)
    assert numbers(ours.stdout) == pytest.approx(numbers(theirs.stdout), rel=rel, abs=abs)


def test_optax():
    prints_the_same("optax_training", "optax")


def test_equinox():
    prints_the_same("equinox_modules", "equinox")


def test_diffrax_lineax_and_optimistix():
    prints_the_same("diffrax_solutions", "diffrax")


def test_numpyro():
    prints_the_same("numpyro_models", "numpyro", abs=2e-2)


def test_haiku():
    prints_the_same("haiku_networks", "haiku", "jmp")


def test_flax():
    prints_the_same("flax_networks", "flax", "optax")
