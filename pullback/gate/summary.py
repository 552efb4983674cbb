"""A trace without its values: of each a few numbers, small enough to be kept in a record, and enough to part.

Of a float array: how many elements are not finite, the largest, the root of the mean square, and sums of the elements
in eight groups, each with a sign drawn by its place (Charikar, Chen and Farach-Colton's count sketch). A permutation
changes them, and a small change of one element is seen among the elements of its group alone.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from pullback.gate.errors import UsageError
from pullback.gate.operations import Operation, Trace
from pullback.gate.sites import Site
from pullback.gate.values import digest, dtype_name, is_float, number

__all__ = ["FEWEST", "dumped", "loaded", "sketch", "summarised"]

_GROUPS = 8
_SHIFT = 4.0  # of the sums, by the root of the mean square: so that they are compared by its size, not by their own
FEWEST = 32  # elements; where data must not be kept, a smaller array is a digest


@functools.lru_cache(maxsize=64)
def _signs(size: int) -> np.ndarray:
    return np.random.default_rng(size).choice([-1.0, 1.0], size)


def sketch(x: Any, kept: bool = True) -> np.ndarray:
    """The numbers that stand for a value.

    Args:
      kept: whether a small array may be known by them.
    """
    if not is_float(x) or not (kept or np.size(x) >= FEWEST):
        return np.array([int(digest(x)[:12], 16)])
    values = number(x).ravel()
    values = np.concatenate([values.real, values.imag]) if np.iscomplexobj(values) else values
    # float16 and bfloat16 would round the sums themselves; float32 is the coarsest that holds them.
    kind = "float64" if dtype_name(x) in ("float64", "complex128") else "float32"
    if not values.size:
        return np.zeros(0, kind)
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    groups = min(_GROUPS, values.size)
    with np.errstate(over="ignore"):
        size = np.sqrt(np.mean(values * values))
        sums = np.bincount(np.arange(values.size) % groups, _signs(values.size) * values, groups)
        return np.array([values.size - finite.sum(), np.abs(values).max(), size,
                         *(sums / np.sqrt(values.size / groups) + _SHIFT * size)]).astype(kind)


def summarised(t: Trace, kept: bool = True) -> Trace:
    """The trace with sketches for values."""
    types = [t.type_of(i) for i in range(len(t.values))]
    operations = [Operation(o.name, o.params, o.site, o.path, o.inputs, o.outputs, o.source) for o in t.operations]
    return Trace(operations, [sketch(x, kept) for x in t.values], t.inputs, t.outputs, t.equations, types)


class _Table:
    """What is said often, said once, and its number."""

    def __init__(self) -> None:
        self.rows: dict[Hashable, int] = {}

    def __call__(self, row: Hashable) -> int:
        return self.rows.setdefault(row, len(self.rows))


def _packed(x: np.ndarray) -> str | int:
    if x.dtype.kind == "i":
        return int(x[0])
    return base64.b64encode(x.astype(x.dtype.newbyteorder("<")).tobytes()).decode()


def _unpacked(packed: str | int, kind: str) -> np.ndarray:
    if isinstance(packed, int):
        return np.array([packed])
    wide = kind.partition("[")[0] in ("float64", "complex128")
    return np.frombuffer(base64.b64decode(packed), "<f8" if wide else "<f4")


def dumped(t: Trace, kept: bool = True) -> str:
    """As text, one operation a line; `kept` as in `sketch`."""
    places, calls, paths, types = _Table(), _Table(), _Table(), _Table()

    def entry(i: int) -> list[Any]:
        return [i, types(t.type_of(i)), _packed(sketch(t.values[i], kept))]

    made = {x for o in t.operations for x in o.outputs}
    rows = [json.dumps([entry(i) for i in range(len(t.values)) if i not in made])]
    rows += [json.dumps([calls((o.name, o.params)), places((o.site, o.source)), paths(o.path), o.inputs,
                         [entry(x) for x in o.outputs]]) for o in t.operations]
    head = {"inputs": t.inputs, "outputs": t.outputs, "values": len(t.values), "kept": kept}
    tables = [[*table.rows] for table in (places, calls, paths, types)]
    return "\n".join([json.dumps(head), *map(json.dumps, tables), *rows])


def loaded(text: str) -> tuple[Trace, bool]:
    """The trace again, with sketches for values; and whether small arrays have one, or a digest.

    Raises:
      UsageError: it was written by an earlier version.
    """
    head, *rows = (json.loads(row) for row in text.splitlines())
    if "kept" not in head:
        raise UsageError("the record's operations were written by an earlier version of pullback",
                         "record it again under what it was made with: pullback record --update --reason ...")
    places, calls, paths, types = rows[:4]
    values: list[Any] = [None] * head["values"]
    kinds = [""] * head["values"]

    def place(entries: Sequence[Any]) -> list[int]:
        for index, kind, packed in entries:
            values[index], kinds[index] = _unpacked(packed, types[kind]), types[kind]
        return [entry[0] for entry in entries]

    place(rows[4])
    operations = []
    for call, where, path, inputs, outputs in rows[5:]:
        (name, params), (site, source) = calls[call], places[where]
        operations.append(Operation(name, params, Site(*site) if site else None, tuple(paths[path]), inputs,
                                    place(outputs), source))
    return Trace(operations, values, head["inputs"], head["outputs"], [], kinds), head["kept"]
