"""The limits that docs/accuracy.md states: distance from the exact value, at points that the page was not made of."""

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np
import pytest

import pullback

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "accuracy"
loader = SourceFileLoader("accuracy", str(SCRIPT))
accuracy = importlib.util.module_from_spec(importlib.util.spec_from_loader("accuracy", loader))
loader.exec_module(accuracy)

POINTS = 5


@pytest.fixture(scope="module")
def compiled():
    """All functions at points of their domains, from one program."""
    columns = [accuracy.points(case, POINTS, seed=7) for case in accuracy.CASES]
    with pullback.enable_x64(True):
        given = [[pullback.numpy.asarray(c, "float64") for c in rows] for rows in columns]
        results = pullback.jit(lambda rows: [case.function(*row) for case, row in zip(accuracy.CASES, rows)])(given)
        return columns, [np.asarray(r) for r in results]


@pytest.mark.parametrize("place", range(len(accuracy.CASES)), ids=[case.name for case in accuracy.CASES])
def test_compiled_functions_keep_to_their_limit(place, compiled):
    case, columns, result = accuracy.CASES[place], compiled[0][place], compiled[1][place]
    wanted = accuracy.exact(case, columns)
    assert accuracy.errors(case, result, wanted).max() <= case.limit
    # In float32 the eager functions are as good as rounding, but for those that XLA's float32 polynomials decide.
    with pullback.enable_x64(False):
        narrow = np.asarray(case.function(*[pullback.numpy.asarray(c) for c in columns]))
    assert narrow.dtype == np.float32
    assert accuracy.errors(case, narrow, wanted).max() <= EAGER.get(case.name, 0.75)


# Compositions in float32.
EAGER = {"beta": 300, "betaln": 30, "gamma": 500, "ndtr": 200, "log_ndtr": 60, "erfinv": 20,
         "polygamma, order 2": 1, "sph_harm_y, degree 9, order 4": 2}


def test_errors_are_counted_in_units_of_the_last_place():
    case = accuracy.CASES[0]._replace(of_one=False)
    one = accuracy.mp.mpf(1)
    ulp = float(np.finfo(np.float32).eps)
    below = accuracy.mp.mpf(10) ** -60
    found = accuracy.errors(case, np.float32([1, 1 + ulp, np.inf, 0]), [one, one, one, below])
    np.testing.assert_allclose(found, [0, 1, np.inf, 0])


def test_the_page_names_every_function():
    page = (SCRIPT.parents[1] / "docs" / "accuracy.md").read_text()
    for case in accuracy.CASES:
        assert f"| `{case.name}`" in page, case.name
