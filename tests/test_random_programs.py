"""Random programs agree: NumPy, XLA, vmap against a loop, derivatives against differences, and real jax.

PULLBACK_PROGRAMS says how many (100). `.ci/run` runs 2,000.
"""

from __future__ import annotations

import os

import jax
import pytest
from hypothesis import HealthCheck, given, settings

from tests.random_programs import check, check_compiled, programs

pytestmark = pytest.mark.filterwarnings("ignore")
COUNT = int(os.environ.get("PULLBACK_PROGRAMS", "100"))
TOGETHER = 20


def test_programs_agree():
    drawn = []

    @settings(max_examples=COUNT, deadline=None, database=None, derandomize=COUNT <= 2000,
              suppress_health_check=list(HealthCheck))
    @given(programs())
    def run(program):
        steps, inputs, smooth = program
        check(steps, inputs, smooth, jax)
        drawn.append((steps, inputs))

    run()
    for start in range(0, len(drawn), TOGETHER):
        check_compiled(drawn[start:start + TOGETHER])
