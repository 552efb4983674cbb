"""Random programs agree: NumPy, XLA, vmap against a loop, derivatives against differences, and real jax.

PULLBACK_PROGRAMS says how many (100). `.ci/run` runs 2,000, always the same ones; more are drawn anew, in several
processes with seeds of their own (pytest's --hypothesis-seed), and compiled with less care for speed.
"""

from __future__ import annotations

import os

import jax
import pytest
from hypothesis import HealthCheck, given, seed, settings

import pullback
from tests.random_programs import check, check_compiled, describe, distinct, programs

pytestmark = pytest.mark.filterwarnings("ignore")
COUNT = int(os.environ.get("PULLBACK_PROGRAMS", "100"))
MANY = COUNT > 2000
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
TOGETHER = 20
FORGET = 4000  # the programs after which both engines forget what they compiled


@pytest.mark.parametrize("half", [0, 1])  # for two processes
def test_programs_agree(half):
    checked, mismatches = [], []

    @(lambda f: f) if MANY else seed(half)
    @settings(max_examples=COUNT // 2, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def run(program):
        steps, inputs, smooth = program
        try:
            checked.append(check(steps, inputs, smooth, jax))
        except Exception as e:
            if not MANY:
                raise
            # Hypothesis would shrink the first of many and leave out the others.
            mismatches.append(f"{e!r} for {describe(steps)}\nwith {inputs}")
        if len(checked) % FORGET == 0:
            jax.clear_caches()
            pullback.clear_caches()

    run()
    compiled = distinct(checked)
    for start in range(0, len(compiled), TOGETHER):
        mismatches += check_compiled(compiled[start:start + TOGETHER], QUICK if MANY else None)
    assert not mismatches, "\n\n".join(mismatches)
