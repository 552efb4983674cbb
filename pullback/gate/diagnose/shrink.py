"""The smallest input that still shows a difference: fewer objects, then plainer numbers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from pullback.gate.diagnose.side import Inputs, Side
from pullback.gate.values import as_like, is_float, number

__all__ = ["Shrunk", "shrink"]

_TRIES = 40
_SECONDS = 5.0  # after which no more is tried
_PLAINER: dict[str, Callable[[np.ndarray], np.ndarray]] = {"zeros": np.zeros_like, "ones": np.ones_like,
                                                           "one decimal": lambda x: x.round(1)}


@dataclasses.dataclass
class Shrunk:
    """A smaller input, the objects of the batch that are left, and what was made plainer."""

    inputs: Inputs
    rows: list[int]
    objects: int
    plainer: list[str]


def shrink(first: Side, second: Side, inputs: Inputs, objects: int, parts: Callable[[Inputs], bool]) -> Shrunk:
    """Takes objects away by halves, as delta debugging does (Zeller and Hildebrandt, IEEE TSE 28, 2002), then sets
    leaves to zero or one, or rounds them to one decimal, as long as `parts` holds."""
    tries = 0
    end = time.monotonic() + _SECONDS

    def holds(candidate: Inputs) -> bool:
        nonlocal tries
        tries += 1
        if time.monotonic() > end:
            return False
        try:
            return parts(candidate)
        except Exception:  # a side refuses it
            return False

    rows = list(range(objects))
    found = inputs
    size = 2
    while len(rows) > 1 and tries < _TRIES:
        pieces = [rows[i * len(rows) // size:(i + 1) * len(rows) // size] for i in range(size)]
        rests = [[x for x in rows if x not in piece] for piece in pieces] if size > 2 else []
        for candidate in [*pieces, *rests]:
            smaller = first.take(candidate, inputs)
            if candidate and holds(smaller):
                rows, found, size = candidate, smaller, 2
                break
        else:
            if size >= len(rows):
                break
            size = min(len(rows), 2 * size)
    plainer = []
    for part in ("batch", "params"):
        for i, leaf in enumerate(getattr(found, part)):
            if not is_float(leaf) or isinstance(leaf, (float, complex)):
                continue
            for name, change in _PLAINER.items():
                if tries >= 3 * _TRIES:
                    break
                leaves = list(getattr(found, part))
                leaves[i] = as_like(change(number(leaf)), leaf)
                candidate_inputs = dataclasses.replace(found, **{part: leaves})
                if holds(candidate_inputs):
                    found = candidate_inputs
                    plainer.append(f"{part}[{i}]: {name}")
                    break
    return Shrunk(found, rows, objects, plainer)
