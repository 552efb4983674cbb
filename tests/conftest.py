"""What all tests share.

Compiled programs are forgotten before they fill the memory of a test process. And of the tests that are generated from
tables by the thousand every second one is run, always the same ones, unless PULLBACK_TESTS=all asks for all of them.
"""

from __future__ import annotations

import gc
import os
import zlib

import pytest

from pullback.runtime import remember

GROWTH = 1_000_000  # kilobytes of resident memory that a process may gain before it forgets
_baseline = [0]
GENERATED = ("tests/ops/test_rules.py", "tests/lax/", "tests/numpy/", "tests/names/", "tests/random/test_random.py")
remember.repeats[0] = 0  # eager calls run by a schedule from the first on, so that every test of them does


def pytest_collection_modifyitems(config, items):
    if os.environ.get("PULLBACK_TESTS") == "all" or any("::" in arg for arg in config.args) or config.option.keyword:
        return  # all are wanted, or some by name
    left_out = [item for item in items if hasattr(item, "callspec") and item.nodeid.startswith(GENERATED)
                and zlib.crc32(item.nodeid.encode()) % 2]
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


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
