"""Repeated stretches of equations: where a program does the same thing again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core.program import Equation, Program, Var
from pullback.ops.elementwise import Elementwise
from pullback.ops.move import pad, slice
from pullback.passes.fence import fusible

# A stretch is worth a loop from this many repetitions and this many equations in all.
REPEATS = 4
EQUATIONS = 128
# Without an operation that ends fusion (a product, a reduction), XLA computes a chain of elementwise operations on
# a large array in one pass over memory, which a loop would not.
_SMALL = 4096
_LONG = 400
# The longest repetition that is looked for.
_PERIOD = 2000


class Stretch(NamedTuple):
    """`repeats` times the same `period` equations, from equation `start` on."""

    start: int
    period: int
    repeats: int


def find(equations: Sequence[Equation]) -> list[Stretch]:
    """The stretches that do not overlap and that loops would shorten most, in the order of the program."""
    numbers: dict[Any, int] = {}
    kinds = np.array([numbers.setdefault(_kind(eqn), len(numbers)) for eqn in equations])
    found: list[Stretch] = []
    parts = [(0, len(equations))]
    while parts:
        begin, end = parts.pop()
        stretch = _longest(equations[begin:end], kinds[begin:end]) if end - begin >= EQUATIONS else None
        if stretch is not None:
            first = begin + stretch.start
            found.append(stretch._replace(start=first))
            parts += [(begin, first), (first + stretch.period * stretch.repeats, end)]
    return sorted(found)


def _longest(equations: Sequence[Equation], kinds: np.ndarray) -> Stretch | None:
    best, saved = None, 0
    for period in range(1, min(len(kinds) // REPEATS, _PERIOD) + 1):
        same = kinds[:-period] == kinds[period:]
        if np.count_nonzero(same) <= saved:
            continue
        ends = np.flatnonzero(np.diff(np.concatenate([[0], same, [0]])))
        for begin, end in zip(ends[::2].tolist(), ends[1::2].tolist()):
            repeats = (end - begin) // period + 1
            if repeats < REPEATS or repeats * period < EQUATIONS or (repeats - 1) * period <= saved:
                continue
            start = begin + _boundary(equations, begin, period, repeats)
            repeats = (end + period - start) // period
            if repeats >= REPEATS:
                best, saved = Stretch(start, period, repeats), (repeats - 1) * period
    return best


def worth(equations: Sequence[Equation], stretch: Stretch) -> str:
    """Why a loop would not pay, or ''."""
    body = equations[stretch.start:stretch.start + stretch.period]
    if any(eqn.effects for eqn in body):
        return "it has effects"
    if not any(isinstance(eqn.primitive, Elementwise) for eqn in body):
        return "it computes nothing"
    if all(_joins(eqn) for eqn in body):
        if max([v.type.size for eqn in body for v in eqn.outputs]) > _SMALL:
            return "elementwise operations on large arrays are one pass over memory, which a loop would not be"
        if stretch.period * stretch.repeats < _LONG:
            return "it is short"
    return ""


def _joins(eqn: Equation) -> bool:
    """Whether XLA computes the operation in one pass with those around it."""
    return fusible(eqn) or eqn.primitive.name in ("slice", "add_any", "transpose")


def place(eqn: Equation) -> tuple[int, int] | None:
    """The axis and the position of the one row that a slice reads, or that a pad fills amid zeros; None: not so."""
    if eqn.primitive is slice:
        x, start, limit = eqn.inputs[0].type, eqn.params["start"], eqn.params["limit"]
        axes = [d for d, n in enumerate(x.shape) if (start[d], limit[d]) != (0, n)]
        if len(axes) == 1 and limit[axes[0]] == start[axes[0]] + 1:
            return axes[0], start[axes[0]]
    elif eqn.primitive is pad:
        axes = [d for d, config in enumerate(eqn.params["config"]) if config != (0, 0, 0)]
        if len(axes) == 1 and eqn.inputs[0].type.shape[axes[0]] == 1 and min(eqn.params["config"][axes[0]]) >= 0:
            return axes[0], eqn.params["config"][axes[0]][0]
    return None


def _kind(eqn: Equation) -> Any:
    """What must be equal for two equations to be the same step of two repetitions."""
    row = place(eqn)
    params: Any = ("row", row[0]) if row is not None else tuple(
        (name, form(value)) for name, value in eqn.params.items())
    return eqn.primitive, params, tuple([(a.type.shape, a.type.dtype) for a in eqn.inputs]), tuple(
        [v.type for v in eqn.outputs])


def form(value: Any) -> Any:
    """A param of an equation, with the structure of a program in its place."""
    if isinstance(value, Program):
        return value.memo(structure)
    if isinstance(value, tuple) and any(isinstance(x, Program) for x in value):
        return tuple([form(x) for x in value])
    return value


def structure(program: Program) -> Any:
    """A hashable value that is equal for programs that compute the same by the same equations."""
    numbers: dict[Any, int] = {}

    def name(atom: Any) -> Any:
        if isinstance(atom, Var):
            return numbers.setdefault(atom, len(numbers)), atom.type
        return type(atom.value), repr(atom.value), atom.type
    return (tuple(map(name, program.inputs)),
            tuple([(eqn.primitive, tuple(map(name, eqn.inputs)), tuple(map(name, eqn.outputs)),
                    tuple((k, form(v)) for k, v in eqn.params.items())) for eqn in program.equations]),
            tuple(map(name, program.outputs)))


def _boundary(equations: Sequence[Equation], begin: int, period: int, repeats: int) -> int:
    """Where a repetition best begins (0 to period - 1): where fewest values are handed from one to the next."""
    middle = begin + period * max(0, repeats // 2 - 1)
    window = equations[middle:middle + 3 * period]
    made = {v: i for i, eqn in enumerate(window) for v in eqn.outputs}
    crossing = np.zeros(3 * period + 1, np.int64)
    reach: dict[Var, int] = {}
    for i, eqn in enumerate(window):
        for a in eqn.inputs:
            if isinstance(a, Var) and a in made:
                reach[a] = i
    for v, i in reach.items():
        crossing[made[v] + 1] += 1
        crossing[i + 1] -= 1
    total = np.cumsum(crossing)[period:2 * period]
    return int(np.argmin(total))
