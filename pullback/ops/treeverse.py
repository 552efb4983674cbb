"""Reverse mode through a loop whose number of steps is known only at run time, in bounded memory.

The backward pass needs the carries of all steps in reverse order. A fixed number of slots holds some of them; the
others are computed again from the nearest one before. Which steps get a slot is the binomial schedule: with s slots
and r repetitions of any step, b(s, r) = C(s + r, s) steps can be reversed, and n of them, b(s, r - 1) < n <= b(s, r),
cost r n - b(s + 1, r - 1) steps computed again: the fewest possible.

Sources: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation (1992), procedure `treeverse`; A. Griewank and A. Walther, Algorithm 799: revolve (2000), for where to
cut a frame. Here with an explicit stack of frames (start, end, slots left).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import add, broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.linearize import linearize
from pullback.interpret.stage import stage
from pullback.interpret.transpose import backward
from pullback.ops.cond import cond, share
from pullback.ops.scan import cut, pick

INT = ArrayType((), dtypes.int32)


def _int(n: int) -> Any:
    return np.int32(n)


def _loop(test: Callable[..., Any], step: Callable[..., list[Any]], state: Sequence[Any]) -> list[Any]:
    """while test(*state): state = step(*state)."""
    types = [type_of(x) for x in state]
    test_program, test_captured = stage(lambda *xs: [test(*xs)], types, name="running")
    step_program, step_captured = stage(step, types, name="step")
    return bind(TABLE["while"], [*test_captured, *step_captured, *state], {
        "cond": test_program, "body": step_program, "n_cond": len(test_captured), "n_body": len(step_captured)})


def _choose(index: Any, branches: Sequence[Callable[..., list[Any]]], operands: Sequence[Any]) -> list[Any]:
    """branches[index](*operands)."""
    types = [type_of(x) for x in operands]
    programs, captured = share([stage(f, types, name="branch") for f in branches])
    return bind(cond, [index, *captured, *operands], {"branches": tuple(programs)})


def _row(x: Any, i: Any) -> Any:
    t = type_of(x)
    starts = [i, *[_int(0)] * (t.ndim - 1)]
    row = TABLE["dynamic_slice"](x, *starts, sizes=(1, *t.shape[1:]))
    return TABLE["reshape"](row, shape=t.shape[1:])


def _put(x: Any, row: Any, i: Any) -> Any:
    t = type_of(x)
    row = TABLE["reshape"](row, shape=(1, *t.shape[1:]))
    return TABLE["dynamic_update_slice"](x, row, i, *[_int(0)] * (t.ndim - 1))


def _cut(length: Any, slots: Any) -> Any:
    """How far on a frame of `length` steps keeps its next carry, with `slots` slots counting its own.

    With r the least number of repetitions that will do, what stays before the cut must be reversible with r - 1, and
    what comes after it with one slot less: at least b(s, r - 2) and n - b(s - 1, r) steps stay. Computed in float32,
    whose rounding may cost a step more, never a wrong one.
    """
    def number(x: Any) -> Any:
        return TABLE["convert_element_type"](x, dtype=dtypes.float32, weak=False)

    n, s = number(length), number(slots)

    def more(r: Any, size: Any) -> list[Any]:  # b(s, r) = b(s, r - 1) (s + r) / r
        r = TABLE["add"](r, np.float32(1))
        return [r, TABLE["div"](TABLE["mul"](size, TABLE["add"](s, r)), r)]
    r, size = _loop(lambda r, size: TABLE["lt"](size, n), more, [number(_array(0)), number(_array(1))])
    total, before = TABLE["add"](s, r), TABLE["sub"](r, np.float32(1))
    least = TABLE["div"](TABLE["mul"](TABLE["mul"](size, TABLE["div"](r, total)), before),
                         TABLE["max"](TABLE["add"](s, before), np.float32(1)))
    rest = TABLE["sub"](n, TABLE["div"](TABLE["mul"](size, s), total))
    nearest = TABLE["floor"](TABLE["add"](TABLE["max"](least, rest), np.float32(0.5)))
    wanted = TABLE["convert_element_type"](nearest, dtype=dtypes.int32, weak=False)
    return TABLE["max"](_int(1), TABLE["min"](wanted, TABLE["sub"](length, _int(1))))


def _array(n: int) -> Any:
    return TABLE["broadcast_in_dim"](_int(n), shape=(), dims=())


def reverse_loop(n: Any, consts: Sequence[Any], carry: Sequence[Any], cts: Sequence[Any], body: Program,
                 const_mask: Sequence[bool], carry_mask: Sequence[bool], slots: int) -> tuple[list[Any], list[Any]]:
    """Cotangents of the constants and of the first carry of a loop of `n` steps.

    Args:
      n: i32[], the number of steps taken.
      cts: cotangents of the final carry, for the carries marked in `carry_mask`.
      body: (consts, carry) -> carry.
      slots: how many carries are kept at once.
    """
    n_carry = len(carry)

    def forward(state: Sequence[Any], steps: Any) -> list[Any]:
        """The carry `steps` steps on."""
        def step(k: Any, *xs: Any) -> list[Any]:
            return [TABLE["add"](k, _int(1)), *evaluate(body, [*consts, *xs])]
        return _loop(lambda k, *xs: TABLE["lt"](k, steps), step, [_array(0), *state])[1:]

    def pull(state: Sequence[Any], cts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The cotangents of one step at `state`."""
        free = [*pick(consts, const_mask), *pick(state, carry_mask)]

        def once(*given: Any) -> list[Any]:
            rest = iter(given)
            args = [next(rest) if flag else x
                    for x, flag in zip([*consts, *state], [*const_mask, *carry_mask], strict=True)]
            return pick(evaluate(body, args), carry_mask)

        _, linearized = linearize(once, free)
        live = pick(cts, linearized.outputs)
        results = [instantiate(r) for r in backward(linearized.program, linearized.linear, linearized.residuals, live)]
        return results[:sum(const_mask)], results[sum(const_mask):]

    # A frame per slot: where it starts and ends, the slots left to it, the carry at its start.
    def frames(first: Any) -> Any:
        return broadcast(first, slots)

    sums_start = [instantiate(Zero(type_of(c).strong())) for c in pick(consts, const_mask)]
    state = [_array(0), frames(_int(0)), frames(n), frames(_int(slots - 1)),
             *[frames(c) for c in carry], *sums_start, *cts]

    def running(top: Any, starts: Any, ends: Any, *rest: Any) -> Any:
        return TABLE["and"](TABLE["ge"](top, _int(0)), TABLE["gt"](n, _int(0)))

    def turn(*xs: Any) -> list[Any]:
        """Keeps a later carry of the top frame in a frame of its own, or reverses the top frame's last step.

        The stack stays outside the branches, so that it is written in place, row by row.
        """
        (top, starts, ends, free), kept, sums, cts = cut(xs, 4, n_carry, len(sums_start))
        start, end, left = (_row(x, top) for x in (starts, ends, free))
        last = TABLE["le"](TABLE["sub"](end, start), _int(1))
        goes_on = TABLE["and"](TABLE["not"](last), TABLE["gt"](left, _int(0)))
        one = TABLE["convert_element_type"](goes_on, dtype=dtypes.int32, weak=False)
        given = [start, end, left, *[_row(k, top) for k in kept], *sums, *cts]
        (start,), state, sums, cts = cut(_choose(one, [reverse, advance], given), 1, n_carry, len(sums_start))
        place = TABLE["add"](top, one)
        below = TABLE["sub"](place, TABLE["convert_element_type"](last, dtype=dtypes.int32, weak=False))
        end = TABLE["sub"](end, TABLE["sub"](_int(1), one))
        return [below, _put(starts, start, place), _put(ends, end, TABLE["max"](below, _int(0))),
                _put(free, TABLE["sub"](left, one), place),
                *[_put(k, x, place) for k, x in zip(kept, state, strict=True)], *sums, *cts]

    def advance(start: Any, end: Any, left: Any, *rest: Any) -> list[Any]:
        state, others = rest[:n_carry], rest[n_carry:]
        steps = _cut(TABLE["sub"](end, start), TABLE["add"](left, _int(1)))
        return [TABLE["add"](start, steps), *forward(state, steps), *others]

    def reverse(start: Any, end: Any, left: Any, *rest: Any) -> list[Any]:
        state, sums, cts = cut(rest, n_carry, len(sums_start))
        before = forward(state, TABLE["sub"](TABLE["sub"](end, _int(1)), start))
        more, cts = pull(before, cts)
        return [start, *state, *[add(a, b) for a, b in zip(sums, more, strict=True)], *cts]

    _, _, sums, cts = cut(_loop(running, turn, state), 4, n_carry, len(sums_start))
    return sums, cts
