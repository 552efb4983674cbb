"""A trace without its values: of each a few numbers, small enough to be kept in a record, and enough to part."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from pullback.gate.operations import Operation, Trace
from pullback.gate.sites import Site
from pullback.gate.values import EPSILON, digest, dtype_name, is_float, number

__all__ = ["dumped", "loaded", "summarised"]

_DIGITS = {"float32": 9, "float64": 17, "float16": 5, "bfloat16": 4, "complex64": 9, "complex128": 17}


def _summary(x: Any) -> list[Any]:
    """Of floats: mean, root of the mean square, largest, and a projection; of anything else a digest."""
    if not is_float(x):
        return [int(digest(x)[:12], 16)]
    values = np.abs(number(x)).ravel() if np.iscomplexobj(x) else number(x).ravel()
    if not values.size:
        return [0.0] * 4
    signs = np.random.default_rng(values.size).choice([-1.0, 1.0], values.size)
    with np.errstate(all="ignore"):
        found = [values.mean(), np.sqrt(np.mean(values * values)), np.abs(values).max(), np.mean(signs * values)]
    digits = _DIGITS.get(dtype_name(x), 17)
    return [float(f"{v:.{digits}g}") for v in found]


def summarised(t: Trace) -> Trace:
    """The trace with summaries for values, in a precision by which their rounding can be judged."""
    types = [t.type_of(i) for i in range(len(t.values))]
    operations = [Operation(o.name, o.params, o.site, o.path, o.inputs, o.outputs, o.source) for o in t.operations]
    return Trace(operations, [_array(_summary(x), kind) for x, kind in zip(t.values, types)], t.inputs, t.outputs,
                 t.equations, types)


def _array(summary: list[Any], kind: str) -> np.ndarray:
    name = kind.partition("[")[0]
    if name not in EPSILON and name != "float":
        return np.array(summary)
    # float16 and bfloat16 would round the summary itself; float32 is the coarsest that holds it.
    return np.array(summary, "float64" if name in ("float64", "complex128") else "float32")


def dumped(t: Trace) -> str:
    """As text, one operation a line."""
    rows = [json.dumps({"inputs": t.inputs, "outputs": t.outputs, "values": len(t.values)})]
    made = {x for o in t.operations for x in o.outputs}
    rows.append(json.dumps([[i, t.type_of(i), _summary(x)] for i, x in enumerate(t.values) if i not in made]))
    for o in t.operations:
        site = list(o.site) if o.site else None
        rows.append(json.dumps([o.name, o.params, site, list(o.path), o.inputs,
                                [[x, t.type_of(x), _summary(t.values[x])] for x in o.outputs], o.source]))
    return "\n".join(rows)


def loaded(text: str) -> Trace:
    """The trace again, with summaries for values."""
    head, given, *rows = (json.loads(row) for row in text.splitlines())
    values: list[Any] = [None] * head["values"]
    types = [""] * head["values"]

    def place(entries: list[Any]) -> list[int]:
        for index, kind, summary in entries:
            values[index], types[index] = _array(summary, kind), kind
        return [entry[0] for entry in entries]

    place(given)
    operations = [Operation(name, params, Site(*site) if site else None, tuple(path), inputs, place(outputs), source)
                  for name, params, site, path, inputs, outputs, source in rows]
    return Trace(operations, values, head["inputs"], head["outputs"], [], types)
