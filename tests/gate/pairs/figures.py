"""Diagnoses every pair and prints a table: right stage, right operation.

    python -m tests.gate.pairs.figures [--engine jax] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pullback.gate.diagnose import diagnose
from pullback.gate.diagnose.command import with_script
from pullback.gate.diagnose.side import LocalSide
from pullback.gate.diagnose.stages import Diagnosis
from pullback.gate.engine import Engine, load
from pullback.gate.session import Session
from pullback.gate.watch import Watch
from tests.gate.pairs.pairs import PAIRS, Pair


class Figure(NamedTuple):
    """What came out for a pair."""

    pair: Pair
    found: Diagnosis
    stage: bool
    operation: bool
    seconds: float
    shown: str


def run(pair: Pair, engine: Engine, folder: Path) -> Figure:
    """Diagnoses a pair; the two files are written to the folder."""
    started = time.perf_counter()
    sources = pair.sources()
    with Watch(engine) as watch:
        sides = []
        for name, text in zip(("good", "bad"), sources):
            path = folder / f"{pair.name.replace(' ', '_')}_{name}.py"
            path.write_text(text)
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            model = module.build(engine.module(""))
            sides.append((LocalSide(Session(model, engine, watch), name), str(path)))
        found = diagnose(sides[0][0], sides[1][0])
    with_script(found, (sides[0][1], sides[1][1]))
    stage = found.stage.name if found.stage else "none"
    broken = found.parting.found if found.parting else None
    # The line that was replaced: the new one, or the old one where an operation is missing.
    lines = {line.strip() for one, other in (sources, sources[::-1]) for line in one.splitlines()
             if line not in other.splitlines()}
    if broken is not None:
        place, name = broken.operation.source, broken.operation.name
    else:
        place, name = (found.stage.line if found.stage else ""), ""
    gone = bool(found.removed) and not found.together and all(name in found.removed for name in pair.removed)
    # In jax the backward operations of a custom_vjp carry the line of its call; the rule is then what names the place.
    by_rule = any(removed.startswith("rule ") for removed in found.removed)
    places = [place, found.stage.line if found.stage else "", *found.removed.values(), *found.only[1].values()]
    right = (by_rule or any(line and line in text for line in lines for text in places)) and (
        not pair.operations or not name or name in pair.operations) and (gone or not pair.removed)
    return Figure(pair, found, stage == pair.stage, right, time.perf_counter() - started,
                  "".join([f"{stage}: {name} {place}", *(f"; without {removed}" for removed in found.removed)]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="pullback")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    engine = load(options.engine)
    chosen = [pair for pair in PAIRS if not options.names or pair.name in options.names]
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in chosen:
            figure = run(pair, engine, Path(folder))
            figures.append(figure)
            marks = "".join("+" if ok else "-" for ok in (figure.stage, figure.operation))
            print(f"{marks}  {pair.model:<12} {pair.name:<32} {figure.seconds:5.1f} s  "
                  + ("" if marks == "++" else f"expected {pair.stage} {pair.operations}; ") + figure.shown[:120],
                  flush=True)
    count = len(figures)
    both = sum(figure.stage and figure.operation for figure in figures)
    print(f"diagnose under {options.engine}: {count} pairs, right stage {sum(f.stage for f in figures)}, "
          f"right operation {sum(f.operation for f in figures)}, both {both}")
    return 0 if both >= 0.9 * count else 1


if __name__ == "__main__":
    raise SystemExit(main())
