"""What all tests share: compiled programs are forgotten before they fill the memory of a test process."""

from __future__ import annotations

import gc

import pytest

GROWTH = 1_000_000  # kilobytes of resident memory that a process may gain before it forgets
_baseline = [0]


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


@pytest.fixture(autouse=True)
def bounded_memory():
    yield
    try:
        full = _resident() > _baseline[0] + GROWTH
    except OSError:  # no /proc here
        full = False
    if full:
        import jax

        import pullback
        jax.clear_caches()
        pullback.clear_caches()
        gc.collect()
        _baseline[0] = _resident()
