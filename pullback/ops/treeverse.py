"""Reverse mode through a loop whose number of steps is known only at run time, in bounded memory.

The backward pass needs the carries of all steps in reverse order. A fixed number of slots holds some of them; the
others are computed again from the nearest one before. Which steps get a slot is the binomial schedule: with s slots
and r repetitions of any step, C(s + r, s) steps can be reversed.

Source: A. Griewank, Achieving logarithmic growth of temporal and spatial complexity in reverse automatic
differentiation (1992), procedure `treeverse`; here with an explicit stack of frames (start, end, slots, repetitions).
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


def _repetitions(n: Any, slots: int) -> Any:
    """The least r with C(slots + r, slots) >= n."""
    def enough(r: Any, size: Any) -> Any:
        return TABLE["lt"](size, TABLE["convert_element_type"](n, dtype=dtypes.float32, weak=False))

    def more(r: Any, size: Any) -> list[Any]:
        r = TABLE["add"](r, _int(1))
        f = TABLE["convert_element_type"](r, dtype=dtypes.float32, weak=False)
        return [r, TABLE["mul"](size, TABLE["div"](TABLE["add"](f, np.float32(slots)), f))]
    one = TABLE["convert_element_type"](_array(1), dtype=dtypes.float32, weak=False)
    return _loop(enough, more, [_array(0), one])[0]


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

    # A frame per slot: where it starts and ends, the slots and repetitions left to it, the carry at its start.
    def frames(first: Any) -> Any:
        return broadcast(first, slots)

    sums = [instantiate(Zero(type_of(c).strong())) for c in pick(consts, const_mask)]
    state = [_array(0), frames(_int(0)), frames(n), frames(_int(slots - 1)), frames(_repetitions(n, slots)),
             *[frames(c) for c in carry], *sums, *cts]
    types = [type_of(x) for x in state]

    def unpack(xs: Sequence[Any]) -> list[Any]:
        return cut(xs, 5, n_carry, len(sums))

    def running(top: Any, starts: Any, ends: Any, *rest: Any) -> Any:
        return TABLE["and"](TABLE["ge"](top, _int(0)), TABLE["gt"](n, _int(0)))

    def turn(*xs: Any) -> list[Any]:
        (top, starts, ends, free, repeats), _, _, _ = unpack(xs)
        start, end = _row(starts, top), _row(ends, top)
        length = TABLE["sub"](end, start)
        last = TABLE["le"](length, _int(1))
        none_left = TABLE["le"](_row(free, top), _int(0))
        index = TABLE["select_n"](last, TABLE["select_n"](none_left, _int(0), _int(2)), _int(1))
        return _choose(index, [advance, reverse_one, reverse_last], xs)

    def advance(*xs: Any) -> list[Any]:
        """Keeps a later carry in a frame of its own, and goes on there."""
        (top, starts, ends, free, repeats), kept, sums, cts = unpack(xs)
        start, end, s, r = (_row(x, top) for x in (starts, ends, free, repeats))
        r = TABLE["max"](r, _int(1))
        total = TABLE["add"](s, r)
        weighed = TABLE["add"](TABLE["mul"](r, TABLE["sub"](end, start)), TABLE["sub"](total, _int(1)))
        middle = TABLE["add"](start, TABLE["div"](weighed, total))
        middle = TABLE["max"](TABLE["add"](start, _int(1)), TABLE["min"](middle, TABLE["sub"](end, _int(1))))
        state = forward([_row(k, top) for k in kept], TABLE["sub"](middle, start))
        top = TABLE["add"](top, _int(1))
        return [top, _put(starts, middle, top), _put(ends, end, top), _put(free, TABLE["sub"](s, _int(1)), top),
                _put(repeats, r, top), *[_put(k, x, top) for k, x in zip(kept, state, strict=True)], *sums, *cts]

    def reverse_one(*xs: Any) -> list[Any]:
        """The frame is one step long: reverses it, and hands what is left back to the frame below."""
        (top, starts, ends, free, repeats), kept, sums, cts = unpack(xs)
        more, cts = pull([_row(k, top) for k in kept], cts)
        below = TABLE["sub"](top, _int(1))
        place = TABLE["max"](below, _int(0))
        ends = _put(ends, _row(starts, top), place)
        repeats = _put(repeats, TABLE["sub"](_row(repeats, place), _int(1)), place)
        return [below, starts, ends, free, repeats, *kept, *[add(a, b) for a, b in zip(sums, more, strict=True)], *cts]

    def reverse_last(*xs: Any) -> list[Any]:
        """No slot is left: computes the frame's last carry again, and reverses that step."""
        (top, starts, ends, free, repeats), kept, sums, cts = unpack(xs)
        end = TABLE["sub"](_row(ends, top), _int(1))
        state = forward([_row(k, top) for k in kept], TABLE["sub"](end, _row(starts, top)))
        more, cts = pull(state, cts)
        return [top, starts, _put(ends, end, top), free, repeats, *kept,
                *[add(a, b) for a, b in zip(sums, more, strict=True)], *cts]

    results = _loop(running, turn, state)
    assert [type_of(x).shape for x in results] == [t.shape for t in types]
    _, _, sums, cts = unpack(results)
    return sums, cts
