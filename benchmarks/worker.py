"""One case under one engine, in a process of its own; prints its figures as JSON.

    python -m benchmarks.worker ENGINE CASE     (ENGINE: pullback or jax)
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

BUDGET = 1.0  # seconds of repeated runs


def _median(run: Callable[[], Any], budget: float) -> float:
    """The median time of a call in seconds, over as many calls as the budget allows (5 to 2,000)."""
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(name: str) -> dict[str, float]:
    """The figures of a case, in milliseconds and megabytes."""
    import jax

    from benchmarks.all import CASES
    case = CASES[name]
    function, arguments = case.build()
    if case.eager:
        jax.block_until_ready(function())
        return {"run": 1e3 * _median(lambda: jax.block_until_ready(function()), BUDGET)}
    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))  # loading the compiler is the cold start's to count
    jitted = jax.jit(function)
    start = time.perf_counter()
    traced = jitted.trace(*arguments)
    at_trace = time.perf_counter()
    lowered = traced.lower()
    lowered.as_text()
    at_lower = time.perf_counter()
    lowered.compile()
    at_compile = time.perf_counter()
    jax.block_until_ready(jitted(*arguments))
    run = _median(lambda: jax.block_until_ready(jitted(*arguments)), BUDGET)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"trace": 1e3 * (at_trace - start), "lower": 1e3 * (at_lower - at_trace),
            "compile": 1e3 * (at_compile - at_lower), "run": 1e3 * run, "memory": peak}
    if case.primal is not None and case.reference is not None:
        primal = jax.jit(case.primal)
        check(name, primal(*arguments), case.reference())
        alone = _median(lambda: jax.block_until_ready(primal(*arguments)), BUDGET / 2)
        figures |= {"primal": 1e3 * alone, "factor": run / alone}
    return figures


def check(name: str, value: Any, exact: Any) -> None:
    """Ends the process where a case's value is not what NumPy computes in float64."""
    import numpy as np
    got = np.asarray(value, np.float64)
    if not np.allclose(got, exact, rtol=2e-3, atol=2e-3 * max(1.0, float(np.abs(exact).max()))):
        raise SystemExit(f"{name}: the value is off by {np.abs(got - exact).max():.3g}; no time is taken")


def main() -> None:
    engine, name = sys.argv[1:]
    os.environ["PULLBACK_CACHE"] = "off"
    if engine == "pullback":
        import pullback.compat.jax
        pullback.compat.jax.install(quiet=True)
    print(json.dumps(measure(name)))


if __name__ == "__main__":
    main()
