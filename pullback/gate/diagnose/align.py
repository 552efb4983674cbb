"""Two lists of operations put side by side, by source line and operation rather than by position.

Operations that are the same by every mark (loops around it, function, text of the line, name, types) anchor the
alignment: longest common blocks, as in a diff. What is left between two anchors is paired by the
global alignment of Needleman and Wunsch (J. Mol. Biol. 48, 1970) with a score for every mark that agrees.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from pullback.gate.operations import Trace

__all__ = ["align"]

Pair = tuple[int | None, int | None]
_GAP = -0.6
_LARGEST = 250_000  # cells of a table


def align(one: Trace, other: Trace) -> list[Pair]:
    """Pairs of indices of operations, in an order that both lists keep; None where one has no partner."""
    marks = [[_marks(t, i) for i in range(len(t.operations))] for t in (one, other)]
    pairs: list[Pair] = []
    for a, b, c, d in _gaps(*marks):
        pairs += _within(marks[0], marks[1], range(a, b), range(c, d))
    return pairs


def _marks(t: Trace, i: int) -> tuple[Any, ...]:
    operation = t.operations[i]
    function = operation.site.function if operation.site else ""
    return (operation.path, function, operation.source, operation.name,
            tuple(t.type_of(x) for x in operation.outputs))


def _gaps(one: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Blocks (a:b, c:d) that cover both lists: equal ones, and what is between them."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        yield a, b, c, d


def _score(a: Sequence[Any], b: Sequence[Any]) -> float:
    """How well two operations go together; below twice the gap they stay alone."""
    if a[0] != b[0]:  # in another step of a loop
        return -4.0
    score = 1.0 if a[1] == b[1] else -1.5
    score += 1.0 if a[2] == b[2] else -0.2
    score += 2.0 if a[3] == b[3] else -1.0
    return score + (0.8 if a[4] == b[4] else -0.8)


def _within(one: Sequence[Any], other: Sequence[Any], rows: range, columns: range) -> list[Pair]:
    if len(rows) == len(columns) and [one[i] for i in rows] == [other[j] for j in columns]:
        return list(zip(rows, columns))
    if not rows or not columns or len(rows) * len(columns) > _LARGEST:
        return [*((i, None) for i in rows), *((None, j) for j in columns)]
    n, m = len(rows), len(columns)
    best = [[_GAP * j for j in range(m + 1)]]
    for i in range(1, n + 1):
        line = [_GAP * i]
        above, a = best[-1], one[rows[i - 1]]
        for j in range(1, m + 1):
            line.append(max(above[j - 1] + _score(a, other[columns[j - 1]]), above[j] + _GAP, line[-1] + _GAP))
        best.append(line)
    pairs: list[Pair] = []
    i, j = n, m
    while i or j:
        if i and j and best[i][j] == best[i - 1][j - 1] + _score(one[rows[i - 1]], other[columns[j - 1]]):
            i, j = i - 1, j - 1
            pairs.append((rows[i], columns[j]))
        elif i and (not j or best[i][j] == best[i - 1][j] + _GAP):
            i -= 1
            pairs.append((rows[i], None))
        else:
            j -= 1
            pairs.append((None, columns[j]))
    return pairs[::-1]
