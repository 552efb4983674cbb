"""Reverse mode through a loop of unknown length, by the number of slots: memory, steps computed again, and time.

    python -m benchmarks.slots [--steps N] [--size N] [--slots N ...]

Beside what is measured stands what the binomial schedule says (Griewank 1992; Griewank and Walther 2000): with s slots
and r repetitions of any step b(s, r) = C(s + r, s) steps can be reversed, and n steps, b(s, r - 1) < n <= b(s, r),
take r n - b(s + 1, r - 1) steps computed again. The last row keeps every step (max_steps=).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

import pullback

jnp, lax = pullback.numpy, pullback.lax


def theory(steps: int, slots: int) -> tuple[int, int]:
    """The largest number of repetitions of a step, and the number of steps computed again."""
    repetitions = 0
    while comb(slots + repetitions, slots) < steps:
        repetitions += 1
    return repetitions, repetitions * steps - comb(slots + repetitions, slots + 1)


def loss(steps: int, note: Callable[[], None], **how: Any) -> Callable[[Any], Any]:
    """A loop of `steps` steps as a function of its first carry."""
    def step(state: Any) -> Any:
        note()
        return state[0] + 1, jnp.sin(state[1]) * 1.01
    return lambda x: jnp.sum(pullback.while_loop(lambda state: state[0] < steps, step, (0, x), **how)[1])


def measure(steps: int, x: Any, **how: Any) -> tuple[int, float]:
    """Bytes of temporary memory, and the least of three times in seconds, of the compiled gradient."""
    gradient = pullback.jit(pullback.grad(loss(steps, lambda: None, **how)))
    memory = gradient.lower(x).compile().memory_analysis().temp_size_in_bytes
    times = []
    for _ in range(4):  # the first call compiles
        start = time.perf_counter()
        gradient(x).block_until_ready()
        times.append(time.perf_counter() - start)
    return memory, min(times[1:])


def count(steps: int, slots: int) -> int:
    """How many steps the backward pass computes again, counted as it does."""
    calls: list[None] = []
    counted = loss(steps, lambda: pullback.debug.callback(lambda: calls.append(None)), slots=slots)
    pullback.jit(pullback.grad(counted))(jnp.float32(0.5)).block_until_ready()
    return len(calls) - 2 * steps  # each step runs once forward, and once more for its derivative


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slots")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=1_000, help="elements of the carry")
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 4, 8, 16, 32, 64, 128, 256])
    options = parser.parse_args()
    n = options.steps
    x = jnp.asarray(np.linspace(0.1, 1, options.size, dtype=np.float32))
    print(f"{n} steps, a carry of {options.size} float32: {4 * options.size} bytes")
    print("| slots | memory, KB | slots x carry, KB | a step repeated at most | computed again: measured | theory "
          "| time, ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for slots in options.slots:
        memory, seconds = measure(n, x, slots=slots)
        repetitions, again = theory(n, slots)
        print(f"| {slots} | {memory / 1e3:,.0f} | {slots * 4 * options.size / 1e3:,.0f} | {repetitions} "
              f"| {count(n, slots):,} | {again:,} | {1e3 * seconds:.0f} |", flush=True)
    memory, seconds = measure(n, x, max_steps=n)
    print(f"| all (`max_steps`) | {memory / 1e3:,.0f} | {n * 4 * options.size / 1e3:,.0f} | 0 | 0 | 0 "
          f"| {1e3 * seconds:.0f} |")


if __name__ == "__main__":
    main()
