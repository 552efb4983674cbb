"""Times pullback beside real jax: `python -m benchmarks [--full] [--repeats N] [--only TEXT] [--json FILE]`.

Every case runs in a process of its own, pullback and jax in turn, N times; the table shows medians and the ratio
pullback / jax (below 1: pullback is faster or smaller), and the geometric mean of each column. A process that is not
done within the limit has no figures, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from benchmarks.all import CASES

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("process", "trace", "lower", "compile", "run", "primal", "factor", "memory")
# `factor`: the time of a derivative over that of the function it is of.
UNITS = {"memory": " MB", "factor": ""}
Figures = dict[str, float]


def _environment(**more: str) -> dict[str, str]:
    # pip has written bytecode for jax; a checkout gets its own with the first, uncounted round.
    own = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**own, "JAX_PLATFORMS": "cpu", "PULLBACK_QUIET": "1", "PYTHONPATH": str(ROOT), **more}


def _worker(engine: str, name: str, limit: float) -> Figures | None:
    """The figures of one process, None where it is not done within the limit, in seconds."""
    try:
        done = subprocess.run([sys.executable, "-m", "benchmarks.worker", engine, name], cwd=ROOT, env=_environment(),
                              capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{engine}, {name}:\n{done.stderr[-3000:]}")
    result: Figures = json.loads(done.stdout.splitlines()[-1])
    return result


def _process(command: list[str], cache: str) -> Figures:
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=_environment(PULLBACK_CACHE=cache), check=True, capture_output=True)
    return {"process": 1e3 * (time.perf_counter() - start)}


def _processes(cache: str) -> dict[str, dict[str, tuple[list[str], str]]]:
    """Cases that are whole processes: for each engine, the command and the compile cache."""
    python, guide = sys.executable, "examples/vjp_guide.py"
    return {
        "import": {"pullback": ([python, "-c", "import pullback"], "off"),
                   "jax": ([python, "-c", "import jax"], "off")},
        "import numpy namespace": {"pullback": ([python, "-c", "import pullback.numpy"], "off"),
                                   "jax": ([python, "-c", "import jax.numpy"], "off")},
        "the vjp guide's script": {"pullback": ([python, "-m", "pullback", "run", guide], "off"),
                                   "jax": ([python, guide], "off")},
        "first jit in a process": {
            "pullback": ([python, "-m", "pullback", "run", "benchmarks/first_jit.py"], "off"),
            "jax": ([python, "benchmarks/first_jit.py"], "off")},
        "first jit, compiled earlier": {
            "pullback": ([python, "-m", "pullback", "run", "benchmarks/first_jit.py"], cache),
            "jax": ([python, "benchmarks/first_jit.py"], "off")},
    }


def _medians(figures: list[Figures]) -> Figures:
    return {column: statistics.median([f[column] for f in figures]) for column in figures[0]}


def _show(rows: dict[str, dict[str, Figures]]) -> None:
    print(f"\n{'':34}" + "".join(f"{c + UNITS.get(c, ' ms'):>26}" for c in COLUMNS))
    print(f"{'pullback / jax = ratio':34}")
    ratios: dict[str, list[float]] = {c: [] for c in COLUMNS}
    for name, row in rows.items():
        if not all(row.values()):
            late = ", ".join(engine for engine, figures in row.items() if not figures)
            print(f"{name:34}  not done within the limit: {late}")
            continue
        cells = []
        for column in COLUMNS:
            if column not in row["jax"]:
                cells.append(f"{'':>26}")
                continue
            ours, theirs = row["pullback"][column], row["jax"][column]
            ratios[column].append(ours / theirs)
            cells.append(f"{ours:>9.3g} /{theirs:>8.3g} ={ours / theirs:>5.2f}")
        print(f"{name:34}" + "".join(f"{c:>26}" for c in cells))
    means = [math.exp(statistics.mean(map(math.log, ratios[c]))) if ratios[c] else math.nan for c in COLUMNS]
    print(f"{'geometric mean of the ratios':34}" + "".join(f"{m:>26.2f}" for m in means))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--full", action="store_true", help="the long cases too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one process (300)")
    parser.add_argument("--json", help="write all figures to this file, after every case")
    options = parser.parse_args()
    rows: dict[str, dict[str, Figures]] = {}
    where: dict[str, object] = {
        "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(),
        "jax": version("jax"), "jaxlib": version("jaxlib"), "pullback": version("pullback")}
    with tempfile.TemporaryDirectory() as cache:
        for name, engines in _processes(cache).items():
            if options.only in name:
                found: dict[str, list[Figures]] = {engine: [] for engine in engines}
                for _ in range(options.repeats + 1):  # the first round fills the file cache and the compile cache
                    for engine, (command, folder) in engines.items():
                        found[engine].append(_process(command, folder))
                rows[name] = {engine: _medians(figures[1:]) for engine, figures in found.items()}
                print(name, flush=True)
                _save(options, where, rows)
    for name, case in CASES.items():
        if options.only in name and (case.quick or options.full):
            found = {"pullback": [], "jax": []}
            late: set[str] = set()
            for _ in range(options.repeats):
                for engine in [engine for engine in found if engine not in late]:
                    figures = _worker(engine, name, options.limit)
                    found[engine].append(figures or {})
                    late.update([engine] if figures is None else [])
            rows[name] = {engine: {} if engine in late else _medians(found[engine]) for engine in found}
            print(name, flush=True)
            _save(options, where, rows)
    _show(rows)
    print("  ".join(f"{k} {v}" for k, v in where.items()))


def _save(options: argparse.Namespace, where: dict[str, object], rows: dict[str, dict[str, Figures]]) -> None:
    if options.json:
        Path(options.json).write_text(json.dumps({"environment": where, "repeats": options.repeats, "rows": rows},
                                                 indent=1))


if __name__ == "__main__":
    main()
