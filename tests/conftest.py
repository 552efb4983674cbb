"""What all tests share.

Compiled programs are forgotten before they fill the memory of a test process. And of the tests with parameters, and of
those that compare namespaces with jax's, a quarter is run, always the same one, unless PULLBACK_TESTS=1,2,3 asks for
the other quarters, or PULLBACK_TESTS=all for all of them.
"""

from __future__ import annotations

import gc
import os
import zlib

import pytest

# The oracle need not be fast, and what its compiler leaves alone it cannot get wrong. Read when jax is imported.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

from pullback.runtime import remember  # noqa: E402

GROWTH = 1_000_000  # kilobytes of resident memory that a process may gain before it forgets
_baseline = [0]
COMPARED = ("tests/lax/", "tests/numpy/", "tests/names/", "tests/random/test_random.py", "tests/nn/", "tests/scipy/")
QUARTERS = os.environ.get("PULLBACK_TESTS", "0")
remember.repeats[0] = 0  # eager calls run by a schedule from the first on, so that every test of them does


def pytest_collection_modifyitems(config, items):
    # These look at every object in memory, of which there are few in the beginning.
    items.sort(key=lambda item: not item.nodeid.startswith("tests/runtime/test_leaks.py"))
    if QUARTERS == "all" or any("::" in arg for arg in config.args) or config.option.keyword:
        return  # all are wanted, or some by name
    wanted = set(map(int, QUARTERS.split(",")))
    left_out = [item for item in items if (hasattr(item, "callspec") or item.nodeid.startswith(COMPARED))
                and zlib.crc32(item.nodeid.encode()) % 4 not in wanted]
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
