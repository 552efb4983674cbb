"""The first operation with which two traces part, and whether it is a break or rounding that has grown.

For each pair of aligned operations the difference of the results is split in two: what is inherited from operands
that differ already, and what the operation adds, measured by running the one side's operation on the other side's
operands. An operation breaks if it adds more than rounding can: a few units in the last place of the result, or a
few times what the result moves when operands move in their last place, which is its conditioning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.diagnose.align import Pair, align
from pullback.gate.operations import Operation, Trace
from pullback.gate.values import EPSILON, distance, dtype_name, is_float, number

__all__ = ["Break", "Growth", "Moves", "Parting", "part_of", "rounding"]

Replay = Callable[[int, list[Any]], "list[Any] | None"]
Moves = Callable[[int, float], "list[Any] | None"]
_UNITS = 32.0
_NEAR = 20  # pairs after a break, in which the two may come together again
_STEEP = 64.0  # a factor by which a difference grows, from which on it is asked whether it is a jump
_LOST = 0.1  # a share by which operands differ, from which on no result can be judged by it
_REGION = 12  # operations that are run again for it
# Operations that only move values: where one of several is to be named, another says more.
MOVES = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "convert_element_type", "slice", "row", "stack", "copy",
         "expand_dims", "concatenate", "pad", "iota", "zeros", "stop_gradient", "dynamic_slice", "rev", "reverse"}


@dataclasses.dataclass
class Break:
    """The operation that parts.

    Args:
      kind: "changed" (another operation or other parameters), "operand" (another operand), "extra" (only in the second
        run), "missing" (only in the first), "type" (another shape or dtype), "computed" (the same operation on the
        same operands gives something else).
      first, second: the operation in the two runs, if it is there.
      operands: of both; results: of both.
      difference: what it adds; allowed: what rounding can add.
    """

    kind: str
    first: Operation | None
    second: Operation | None
    operands: tuple[list[Any], list[Any]]
    results: tuple[list[Any], list[Any]]
    difference: float
    allowed: float
    index: tuple[int | None, int | None]

    @property
    def operation(self) -> Operation:
        found = self.second if self.second is not None and self.kind != "missing" else self.first
        assert found is not None
        return found


@dataclasses.dataclass
class Growth:
    """An operation that enlarges a difference.

    Args:
      factor: by how much; relative: to which share of the result.
      jump: it moves as far for a smaller difference of its operands: a comparison, a rounding, an order.
    """

    operation: Operation
    factor: float
    relative: float
    jump: bool = False


@dataclasses.dataclass
class Parting:
    """What two traces have to say: the break, or the growth of rounding; and how much of them could be aligned."""

    found: Break | None
    growth: list[Growth]
    aligned: int
    only: tuple[int, int]


def rounding(results: Sequence[Any], replay: Callable[[list[Any]], list[Any] | None], operands: Sequence[Any],
             size: float = 0.0) -> list[Any]:
    """For each result, by element, how far it moves when the operands move in their last place: its conditioning.

    Args:
      size: of a larger move, as a share of each element.
    """
    epsilon = max([size, *(EPSILON.get(dtype_name(x), 0.0) for x in results if is_float(x))])
    rng = np.random.default_rng(0)
    spread: list[Any] = [0.0] * len(results)
    for times in (1.0, 4.0):  # the small one may be lost in the rounding of the result
        moved = replay([_moved(x, rng, times * epsilon) for x in operands])
        for k, (x, y) in enumerate(zip(results, moved or ())):
            if is_float(x) and np.shape(x) == np.shape(y):
                gap = _gaps(x, y)
                gap = np.where(np.isfinite(gap), gap, 0.0) / times
                # By chance one element may not move: half of them move at least by the median.
                spread[k] = np.maximum(spread[k], np.maximum(gap, np.median(gap) if gap.size else 0.0))
    return spread


def _gaps(a: Any, b: Any) -> np.ndarray:
    """The difference of every element; equal NaNs and infinities are equal, others infinitely far."""
    x, y = number(a), number(b)
    with np.errstate(all="ignore"):
        gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    return np.where(np.isnan(gap), np.inf, gap)


def excess(one: Sequence[Any], other: Sequence[Any], spread: Sequence[Any] | None = None) -> tuple[float, float]:
    """The largest difference that is more than rounding, and what rounding could be there; (0, 0) if none is more.

    Args:
      spread: of each value, how far it moves for reasons of conditioning.
    """
    worst = 0.0, 0.0
    for k, (a, b) in enumerate(zip(one, other)):
        if np.shape(a) != np.shape(b):
            return float("inf"), 0.0
        gap = _gaps(a, b)
        allowed = np.zeros(gap.shape)
        if is_float(a) or is_float(b):
            epsilon = max(EPSILON.get(dtype_name(x), 0.0) for x in (a, b))
            sizes = np.maximum(*(np.where(np.isfinite(number(x)), np.abs(number(x)), 0.0) for x in (a, b)))
            allowed = _UNITS * (epsilon * sizes + (spread[k] if spread else 0.0))
        over = np.where(gap > allowed, gap, 0.0)
        if over.size and over.max() > worst[0]:
            place = np.unravel_index(int(np.argmax(over)), over.shape)
            worst = float(over[place]), float(np.broadcast_to(allowed, over.shape)[place])
    return worst


def _moved(x: Any, rng: np.random.Generator, epsilon: float) -> Any:
    if not is_float(x) or isinstance(x, (float, complex)):
        return x
    size = max(epsilon, EPSILON.get(dtype_name(x), 0.0))
    return (number(x) * (1.0 + size * rng.choice([-1.0, 1.0], np.shape(x)))).astype(x.dtype)


def _gap(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The largest difference; infinite where shapes differ, or one side alone is not finite."""
    if len(one) != len(other):
        return float("inf")
    return max([distance(a, b).largest for a, b in zip(one, other)], default=0.0)


def _types(one: Sequence[Any], other: Sequence[Any], dtypes: bool) -> bool:
    """Whether two lists of values have the same types."""
    def of(x: Any) -> Any:
        return tuple(getattr(x, "shape", ())), (_kind(x) if dtypes else is_float(x))
    return [of(x) for x in one] == [of(x) for x in other]


def _kind(x: Any) -> str:
    return {"int": "int32", "float": "float32"}.get(dtype_name(x), dtype_name(x))


def part_of(one: Trace, other: Trace, replay: Replay, same_engine: bool, dtypes: bool = True,
            pairs: Sequence[Pair] | None = None, same_text: bool | None = None, moves: Moves | None = None) -> Parting:
    """Where two traces part.

    Args:
      replay: runs an operation of the first trace on other operands.
      same_engine: the same operation on the same operands gives the same bits on both sides, so it need not be run.
      same_text: whether equal operations have equal texts of their parameters (by default, on one engine).
      dtypes: whether another dtype is a break, which it is not between two precisions.
      moves: how far the results of an operation of the second trace move when its operands move by a share of their
        size; for a first trace that cannot be run again.
    """
    found = _Walk(one, other, replay, same_engine, dtypes, pairs if pairs is not None else align(one, other),
                  same_engine if same_text is None else same_text, moves)
    return Parting(found.run(), found.growth, sum(None not in pair for pair in found.pairs),
                   (sum(j is None for _, j in found.pairs), sum(i is None for i, _ in found.pairs)))


def _in_dtypes_of(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The second operands in the dtypes of the first: what the first operation can be run on."""
    return [np.asarray(y).astype(x.dtype) if is_float(x) and is_float(y) and not isinstance(x, (float, complex)) else y
            for x, y in zip(one, other)] if len(one) == len(other) else list(other)


class _Walk:
    def __init__(self, one: Trace, other: Trace, replay: Replay, same_engine: bool, dtypes: bool,
                 pairs: Sequence[Pair], same_text: bool, moves: Moves | None) -> None:
        self.same_text, self.moves = same_text, moves
        self.one, self.other, self.replay, self.same_engine, self.dtypes = one, other, replay, same_engine, dtypes
        self.pairs = pairs
        self.growth: list[Growth] = []
        # Values of the second trace that stand for values of the first; made by aligned operations, or given.
        self.partner = dict(zip(one.inputs, other.inputs))
        self.makers = [{x: i for i, o in enumerate(t.operations) for x in o.outputs} for t in (one, other)]
        self.marks: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.alone = ({i for i, j in pairs if j is None}, {j for i, j in pairs if i is None})

    def values(self, side: int, numbers: Sequence[int]) -> list[Any]:
        t = self.other if side else self.one
        return [t.values[x] for x in numbers]

    def run(self) -> Break | None:
        """The first break that reaches what is returned.

        What comes of a break is marked with its number. The mark ends where the two agree again, or would on equal
        operands: an expression that is only written in another way, whatever its parts are.
        """
        found: list[Break] = []
        at: list[int] = []
        for place, (i, j) in enumerate(self.pairs):
            mark = self.incoming(i, j)
            if i is None or j is None:
                self.marked(i, j, mark)
                continue
            if mark is None:
                broken = self.pair(i, j)
                if broken is not None:
                    mark = len(found)
                    found.append(broken)
                    at.append(place)
            elif self.agrees(i, j) or (place - at[mark] <= _NEAR and self.heals(i, j)):
                mark = None
            self.marked(i, j, mark)
            if mark is None:
                self.partner.update(zip(self.one.operations[i].outputs, self.other.operations[j].outputs))
        reached = [mark for side, t in enumerate((self.one, self.other)) for x in t.outputs
                   if (mark := self.marks[side].get(x)) is not None]
        return found[min(reached)] if reached else self.ends()

    def incoming(self, i: int | None, j: int | None) -> int | None:
        """The number of the first break that operands come of, or None."""
        given = [(0, x) for x in self.one.operations[i].inputs] if i is not None else []
        given += [(1, x) for x in self.other.operations[j].inputs] if j is not None else []
        return min((self.marks[side][x] for side, x in given if x in self.marks[side]), default=None)

    def marked(self, i: int | None, j: int | None, mark: int | None) -> None:
        if mark is not None:
            for side, t, index in ((0, self.one, i), (1, self.other, j)):
                if index is not None:
                    self.marks[side].update(dict.fromkeys(t.operations[index].outputs, mark))

    def agrees(self, i: int, j: int) -> bool:
        outputs = self.one.operations[i].outputs, self.other.operations[j].outputs
        return ([self.kind(0, x) for x in outputs[0]] == [self.kind(1, x) for x in outputs[1]]
                and not excess(self.values(0, outputs[0]), self.values(1, outputs[1]))[0])

    def heals(self, i: int, j: int) -> bool:
        """Whether the first trace's operations up to this one give the second's results, from the second's operands."""
        results = self.values(1, self.other.operations[j].outputs)
        border: dict[int, Any] = {}
        region: list[int] = []

        def walk(index: int) -> bool:
            for x in self.one.operations[index].inputs:
                maker = self.makers[0].get(x)
                if x in self.partner and x not in self.marks[0]:
                    border[x] = _in_dtypes_of([self.one.values[x]], [self.other.values[self.partner[x]]])[0]
                elif maker is None:
                    border[x] = self.one.values[x]
                elif maker not in region and not walk(maker):
                    return False
            region.append(index)
            return len(region) <= _REGION

        if not walk(i):
            return False
        names = list(border)

        def run(values: list[Any]) -> list[Any] | None:
            known = dict(zip(names, values))
            for index in region:
                operation = self.one.operations[index]
                out = self.replay(index, [known[x] for x in operation.inputs])
                if out is None:
                    return None
                known.update(zip(operation.outputs, out))
            return [known[x] for x in self.one.operations[i].outputs]

        given = list(border.values())
        here = run(given)
        if here is None or not _types(here, results, self.dtypes):
            return False
        if excess(here, results, rounding(here, run, given))[0]:
            return False
        before, outputs = [self.one.values[x] for x in names], self.values(0, self.one.operations[i].outputs)
        self.note(i, self.other.operations[j], (before, given), (outputs, results))
        return True

    def pair(self, i: int, j: int) -> Break | None:
        first, second = self.one.operations[i], self.other.operations[j]
        operands = self.values(0, first.inputs), self.values(1, second.inputs)
        results = self.values(0, first.outputs), self.values(1, second.outputs)
        same = first.name == second.name and (first.params == second.params or not self.same_text)
        if [self.kind(0, x) for x in first.outputs] != [self.kind(1, x) for x in second.outputs]:
            blamed = self.blame(i, j, operands)
            return blamed or self.broken("changed" if not same else "type", i, j, operands, results, float("inf"), 0.0)
        gap = excess(*results)[0]
        if not gap:
            return None
        blamed = self.blame(i, j, operands)
        if blamed is not None:
            return blamed
        inherited = _gap(*operands) if _types(*operands, self.dtypes) else float("inf")
        alike = [dtype_name(x) for x in operands[0]] == [dtype_name(x) for x in operands[1]]
        if same and self.same_engine and inherited > 0 and alike:
            self.note(i, second, operands, results)
            return None
        given = operands[1] if alike else _in_dtypes_of(*operands)
        here = results[0] if inherited == 0.0 else self.replay(i, given)
        if here is None and self.moves is not None and alike:  # more than what its operands differ by can do?
            share = max([distance(a, b).relative for a, b in zip(*operands) if is_float(a)], default=0.0)
            spread = self.moves(j, share) if share < _LOST else None
            if spread is not None:
                gap, allowed = excess(*results, spread)
                if gap:
                    return self.broken("computed" if same else "changed", i, j, operands, results, gap, allowed)
                self.note(i, second, operands, results)
                return None
        if here is None:  # it cannot be run on those: the shapes it was made for are others
            if same:
                self.note(i, second, operands, results)
                return None
            return self.broken("changed", i, j, operands, results, gap, 0.0)
        local, allowed = excess(here, results[1])
        if local:  # more than units in the last place; more than its conditioning explains?
            local, allowed = excess(here, results[1], rounding(here, lambda xs: self.replay(i, xs), given))
        if local:
            kind = "computed" if same and first.source == second.source else "changed"
            return self.broken(kind, i, j, operands, results, local, allowed)
        self.note(i, second, operands, results)
        return None

    def kind(self, side: int, value: int) -> str:
        """The type of a value; of a Python number, that of the array it becomes."""
        name, _, shape = (self.other if side else self.one).type_of(value).partition("[")
        name = {"int": "int32", "float": "float32"}.get(name, name)
        return f"{name if self.dtypes or 'float' not in name else 'float'}[{shape}"

    def blame(self, i: int, j: int, operands: tuple[list[Any], list[Any]]) -> Break | None:
        """The break, if operands differ that do not come from aligned operations: who made them or took others."""
        first, second = self.one.operations[i], self.other.operations[j]
        given = first.inputs, second.inputs
        swapped = []
        for a, b, x, y in zip(*given, *operands):
            if self.partner.get(a) == b:
                continue
            if _types([x], [y], self.dtypes) and not excess([x], [y])[0]:
                continue
            chain = self.chain(0, a), self.chain(1, b)
            if chain[0] or chain[1]:
                return self.unmatched(*chain, (a, b))
            swapped.append((a, b))
        if not swapped or (len(given[0]) != len(given[1]) and first.name == second.name):
            return None
        return self.exchanged(i, j, operands, *swapped[0])

    def exchanged(self, i: int, j: int, operands: tuple[list[Any], list[Any]], a: int, b: int) -> Break:
        """Another operand, though aligned operations make both: the line that changed says which is to be named."""
        first, second = self.one.operations[i], self.other.operations[j]
        results = self.values(0, first.outputs), self.values(1, second.outputs)
        makers = self.makers[0].get(a), self.makers[1].get(b)
        if first.source == second.source:
            lines = [t.operations[k].source if k is not None else None
                     for t, k in zip((self.one, self.other), makers)]
            if None not in makers and lines[0] != lines[1]:  # names given to results in another order
                return self.broken("operand", makers[0], makers[1], operands, operands, _gap(*operands), 0.0)
            loop = next((o for o in self.other.operations if o.name == "row" and o.path == second.path), None)
            if loop is not None and makers != (None, None):  # what a step gets from another step: the loop itself
                name = second.path[-1].partition("[")[0]
                found = self.broken("operand", i, j, operands, results, _gap(*results), 0.0)
                found.second = Operation(name, "", loop.site, second.path[:-1], second.inputs, second.outputs)
                return found
        if first.name in MOVES and makers == (None, None):  # a number on its way to the operation that it is for
            k, n = (next((k for k, o in enumerate(t.operations) if x in o.inputs and o.name not in MOVES), None)
                    for t, x in ((self.one, first.outputs[0]), (self.other, second.outputs[0])))
            if k is not None and n is not None and self.one.operations[k].name == self.other.operations[n].name:
                i, j = k, n
                first, second = self.one.operations[i], self.other.operations[j]
                operands = self.values(0, first.inputs), self.values(1, second.inputs)
                results = self.values(0, first.outputs), self.values(1, second.outputs)
        return self.broken("operand", i, j, operands, results, _gap(*results), 0.0)

    def chain(self, side: int, value: int) -> list[int]:
        """Operations without a partner that a value comes from, up to those that have one."""
        t, found, todo = (self.other if side else self.one), set(), [value]
        while todo:
            index = self.makers[side].get(todo.pop())
            if index is not None and index in self.alone[side] and index not in found:
                found.add(index)
                todo += t.operations[index].inputs
        return sorted(found)

    def unmatched(self, missing: list[int], extra: list[int], values: tuple[int, int]) -> Break:
        """The operation to name among those that only one side has.

        The one that takes what the other side goes on with is what was put in or left out; or else the first that does
        more than move values.
        """
        back = {b: a for a, b in self.partner.items()}

        def telling(t: Trace, indices: list[int], taken: int | None) -> int | None:
            chosen = [i for i in indices if t.operations[i].name not in MOVES] or indices
            joins = [i for i in chosen if taken in t.operations[i].inputs]
            return (joins or chosen)[0] if chosen else None

        i = telling(self.one, missing, None if extra else back.get(values[1]))
        j = telling(self.other, extra, None if missing else self.partner.get(values[0]))
        if i is not None and j is not None and (self.one.operations[i].name in MOVES) != (
                self.other.operations[j].name in MOVES):
            i, j = (None, j) if self.one.operations[i].name in MOVES else (i, None)
        kind = "changed" if i is not None and j is not None else "extra" if j is not None else "missing"
        sides = []
        for side, t, index in ((0, self.one, i), (1, self.other, j)):
            operation = None if index is None else t.operations[index]
            sides.append(([], []) if operation is None else (self.values(side, operation.inputs),
                                                             self.values(side, operation.outputs)))
        return self.broken(kind, i, j, (sides[0][0], sides[1][0]), (sides[0][1], sides[1][1]), float("nan"), 0.0)

    def broken(self, kind: str, i: int | None, j: int | None, operands: tuple[list[Any], list[Any]],
               results: tuple[list[Any], list[Any]], difference: float, allowed: float) -> Break:
        first = None if i is None else self.one.operations[i]
        second = None if j is None else self.other.operations[j]
        return Break(kind, first, second, operands, results, difference, allowed, (i, j))

    def ends(self) -> Break | None:
        """The break, if what is returned differs and no operation before has shown it."""
        for a, b in zip(self.one.outputs, self.other.outputs):
            x, y = self.one.values[a], self.other.values[b]
            if self.partner.get(a) != b and (not _types([x], [y], self.dtypes)
                                             or excess([x], [y])[0] > 0):
                chain = self.chain(0, a), self.chain(1, b)
                if chain[0] or chain[1]:
                    return self.unmatched(*chain, (a, b))
                i, j = self.makers[0].get(a), self.makers[1].get(b)
                if i is None and j is None:
                    continue
                return self.broken("operand", i, j, ([x], [y]), ([x], [y]), _gap([x], [y]), 0.0)
        return None

    def note(self, i: int, operation: Operation, operands: tuple[list[Any], list[Any]],
             results: tuple[list[Any], list[Any]]) -> None:
        """Remembers how a difference grows."""
        before = max([distance(a, b).relative for a, b in zip(*operands) if is_float(a)
                      and np.shape(a) == np.shape(b)], default=0.0)
        after = max([distance(a, b).relative for a, b in zip(*results) if is_float(a)], default=0.0)
        if before == 0.0 or not np.isfinite(after):
            return
        flips = [number(a) != number(b) for a, b in zip(*results)
                 if not is_float(a) and np.shape(a) == np.shape(b)]
        if any(map(np.any, flips)):
            after = max(after, *(float(np.mean(x)) for x in flips if x.size))
            self.growth.append(Growth(operation, after / before, after, jump=True))
        elif after > 0.0:
            steep = after > _STEEP * before
            self.growth.append(Growth(operation, after / before, after, steep and self.jumps(i, operands[0], before)))

    def jumps(self, i: int, operands: list[Any], share: float) -> bool:
        """Whether the result moves for a part of a difference about as far as for the whole of it."""
        whole = self.replay(i, operands)
        if whole is None:
            return False
        rng = np.random.default_rng(0)
        moved = [[_moved(x, rng, times * share) for x in operands] for times in (1.0, 0.125)]
        large, small = ([] if (out := self.replay(i, xs)) is None else out for xs in moved)
        gaps = [max([distance(a, b).largest for a, b in zip(whole, xs) if is_float(a)], default=0.0)
                for xs in (large, small)]
        return 0.0 < gaps[0] < 2.0 * gaps[1]
