"""Every function of the namespaces under `jit`, pullback beside real jax.

    python -m benchmarks.names [--only TEXT] [--json FILE] [--rounds N] [--size N] [--eager]

Two processes, one for each engine, are given the same calls and run them in turn. A time counts where both results
agree. The ratio pullback / jax is that of the smallest times over all rounds. `--eager` makes common calls
on arrays of 16 x 16 without `jit` instead.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.calls import arrays as made
from benchmarks.calls import calls

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, BUDGET = 5, 0.01  # rounds, and seconds of a round for each engine
# The allocator is to keep what was freed: pages fresh from the system cost more than the functions, by chance.
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 33),
           "MALLOC_TOP_PAD_": str(1 << 28)}
_ARRAY = re.compile(r"(?<![\w.'])[A-Z]\d?(?![\w'(])")


def serve(engine: str, size: int, eager: bool) -> None:
    """Answers calls on standard input: `build FILE CALL` with the file of the result, `time` with seconds."""
    import numpy as np
    if engine == "pullback":
        import pullback.compat.jax
        pullback.compat.jax.install(quiet=True)
    import jax
    import jax.numpy as jnp
    import jax.scipy.special
    import jax.scipy.stats
    from jax import lax, nn, random, scipy
    arrays = {name: jnp.asarray(x) for name, x in made(size, eager).items()} | {"K": random.key(0)}
    spaces = {"jnp": jnp, "lax": lax, "nn": nn, "random": random, "scipy": scipy, "jax": jax}
    run: Callable[[], Any] = list
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        answer: Any = None
        try:
            if command == "build":
                path, _, text = rest.partition(" ")
                names = sorted({m for m in _ARRAY.findall(text) if m in arrays})
                function = eval(f"lambda {', '.join(names)}: {text}", dict(spaces))
                if "gaussian_kde" in text:
                    function = eval(f"lambda {', '.join(names)}: {text}.logpdf(E[1])", dict(spaces))
                operands = [arrays[name] for name in names]
                called = function if eager else jax.jit(function)
                run = functools.partial(lambda f, *xs: jax.block_until_ready(f(*xs)), called, *operands)
                leaves = [random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
                          for x in map(jnp.asarray, jax.tree.leaves(run()))]
                np.savez(path, *[np.asarray(x).astype(np.complex128) for x in leaves])
            else:
                times, end = [], time.perf_counter() + BUDGET
                while len(times) < 3 or time.perf_counter() < end:
                    start = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - start)
                answer = min(times)
        except Exception as e:
            answer = f"{type(e).__name__}: {str(e).strip().partition(chr(10))[0]}"
        print(json.dumps(answer), flush=True)


def _differ(ours: str, theirs: str) -> str | None:
    import numpy as np
    a, b = np.load(ours), np.load(theirs)
    if [a[k].shape for k in a] != [b[k].shape for k in b]:
        return "other shapes"
    for k in a:
        x, y = a[k], b[k]
        scale = np.abs(y[np.isfinite(y)]).max(initial=1e-30)
        near = np.isclose(x, y, rtol=5e-3, atol=2e-3 * scale, equal_nan=True)
        if near.size and near.mean() < 0.999:
            return f"{(~near).mean():.1%} of a result differs"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names")
    parser.add_argument("--only", default="", help="calls that hold one of these texts, separated by ;")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=int, default=100_000, help="elements of a typical array")
    parser.add_argument("--eager", action="store_true", help="small arrays without jit")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.size, options.eager)
        return
    environment = {**os.environ, **_MALLOC, "JAX_PLATFORMS": "cpu", "PULLBACK_QUIET": "1", "PULLBACK_CACHE": "off",
                   "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.names", "--size", str(options.size),
               *(["--eager"] if options.eager else [])]
    engines = {engine: subprocess.Popen([*command, "--serve", engine], cwd=ROOT, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for engine in ("pullback", "jax")}

    def ask(engine: str, line: str) -> Any:
        process = engines[engine]
        assert process.stdin and process.stdout
        print(line, file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    rows: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {engine: f"{folder}/{engine}.npz" for engine in engines}
        for call in calls(options.eager):
            if not any(part in call for part in options.only.split(";")):
                continue
            failures = {engine: ask(engine, f"build {files[engine]} {call}") for engine in engines}
            problem = "; ".join(f"{k}: {v}" for k, v in failures.items() if v) or _differ(*files.values())
            if problem:
                print(f"not timed  {call:40} {problem}", flush=True)
                continue
            best = dict.fromkeys(engines, math.inf)
            for done in range(4 * options.rounds):
                # A ratio above the goal on a busy machine is looked at for longer.
                if done >= options.rounds and best["pullback"] <= 1.2 * best["jax"]:
                    break
                for engine in engines:
                    best[engine] = min(best[engine], ask(engine, "time"))
            rows[call] = best["pullback"], best["jax"]
            print(f"{best['pullback'] / best['jax']:8.2f}  {call}", file=sys.stderr, flush=True)
    for process in engines.values():
        assert process.stdin
        process.stdin.close()
        process.wait()
    ranked = sorted(rows.items(), key=lambda row: row[1][0] / row[1][1])
    for call, (ours, theirs) in ranked:
        print(f"{ours / theirs:8.2f}  {1e6 * ours:10.1f} us {1e6 * theirs:10.1f} us  {call}")
    ratios = [ours / theirs for _, (ours, theirs) in ranked]
    limit = 0.5 if options.eager else 1.2
    if ratios:
        above = sum(r > limit for r in ratios)
        print(f"{len(ratios)} calls; median {statistics.median(ratios):.2f}; above {limit}: {above}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
