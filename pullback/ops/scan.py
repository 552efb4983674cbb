"""scan: a loop with a known number of steps, over a carry and the rows of arrays.

The program of one step takes `n_consts` constants, `n_carry` carries and one row of each stacked input, and
returns the new carries and one row of each stacked output. Its derivatives are scans again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program, Var
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import add, broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import inexact, jvp_program, jvp_program_with
from pullback.interpret.linearize import LinearizedProgram, linearize_program
from pullback.interpret.stage import closed, stage
from pullback.interpret.transpose import transpose_program_full
from pullback.interpret.vmap import batch_program, batch_program_with
from pullback.ops import dependence
from pullback.ops.call import AGAIN, call_program, spread
from pullback.ops.collective import move_axis
from pullback.ops.residuals import spare
from pullback.ops.taylor import collect, jet_program, moves


def pick(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    return [v for v, flag in zip(values, mask, strict=True) if flag]


def jet_step(program: Program, order: int, mask: tuple[bool, ...], n_consts: int, n_carry: int
             ) -> tuple[Program, tuple[int, int]]:
    """One step of a loop on values and derivatives, those of each part behind its values; and how many there are of
    the constants and of the carry. Use it through `program.memo`."""
    derived = program.memo(jet_program, order, mask)
    n, m = len(program.inputs), len(program.outputs)
    consts, carry = (order * sum(flags) for flags in cut(mask, n_consts, n_carry)[:2])
    first, second = n_consts, n_consts + n_carry
    inputs = [*range(first), *range(n, n + consts), *range(first, second), *range(n + consts, n + consts + carry),
              *range(second, n), *range(n + consts + carry, len(derived.inputs))]
    outputs = [*range(n_carry), *range(m, m + carry), *range(n_carry, m), *range(m + carry, len(derived.outputs))]
    return reorder(derived, inputs, outputs), (consts, carry)


def reorder(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """The program with its inputs and outputs in another order."""
    return Program([program.inputs[i] for i in inputs], program.equations, [program.outputs[i] for i in outputs],
                   program.name)


def cut(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """`values` in consecutive parts of these lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start:start + count]))
        start += count
    return [*parts, list(values[start:])]


class Scan(Primitive):
    """outputs: final carries, then stacked outputs [length, ...]."""

    programs = ("program",)

    def type(self, *types: ArrayType, program: Program, n_consts: int, n_carry: int, length: int, reverse: bool,
             unroll: int) -> list[ArrayType]:
        out = program.output_types
        carries = list(types[n_consts:n_consts + n_carry])
        assert all(a.shape == c.shape and a.dtype == c.dtype for a, c in zip(carries, out, strict=False)), (
            carries, out)
        return carries + [t.batched(length) for t in out[n_carry:]]

    def numpy(self, *arrays: np.ndarray, program: Program, n_consts: int, n_carry: int, length: int, reverse: bool,
              unroll: int) -> Outputs:
        consts, carry, xs = cut([from_numpy(np.asarray(a)) for a in arrays], n_consts, n_carry)
        rows: list[list[np.ndarray]] = [[] for _ in program.outputs[n_carry:]]
        for i in range(length)[::-1 if reverse else 1]:
            outputs = evaluate(program, [*consts, *carry, *(from_numpy(np.asarray(x.numpy()[i])) for x in xs)])
            carry = outputs[:n_carry]
            for row, y in zip(rows, outputs[n_carry:], strict=True):
                row.append(np.asarray(concrete(y)))
        stacked = [np.stack(row[::-1 if reverse else 1]) if row else np.zeros((0, *t.shape), t.dtype)
                   for row, t in zip(rows, program.output_types[n_carry:], strict=True)]
        return [np.asarray(concrete(c)) for c in carry] + stacked

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any], *, program: Program, n_consts: int,
                n_carry: int, length: int, reverse: bool, unroll: int) -> Sequence[Any]:
        consts, carry, xs = cut(patterns, n_consts, n_carry)
        known_consts, _, known_xs = cut(values, n_consts, n_carry)
        sizes = [t.size for t in program.input_types[n_consts + n_carry:]]
        rows: list[list[Any]] = [[] for _ in program.outputs[n_carry:]]
        for i in range(length)[::-1 if reverse else 1]:
            own = [None if x is None else x[i * n:(i + 1) * n] for x, n in zip(xs, sizes)]
            known = [None if x is None else x[i] for x in known_xs]
            outputs = follow(program, [*consts, *carry, *own], [*known_consts, *[None] * n_carry, *known])
            carry = outputs[:n_carry]
            for row, y in zip(rows, outputs[n_carry:], strict=True):
                row.append(y)
        stacked = [dependence.rows(row[::-1 if reverse else 1], t.size)
                   for row, t in zip(rows, program.output_types[n_carry:], strict=True)]
        return [*carry, *stacked]

    def hlo(self, b: Any, *values: Any, program: Program, n_consts: int, n_carry: int, length: int, reverse: bool,
            unroll: int) -> Outputs:
        out_types = list(b.outputs)
        consts, carry, xs = cut(values, n_consts, n_carry)
        ys = [b.full(0, t) for t in out_types[n_carry:]]
        if length == 0:
            return [*carry, *ys]
        counter = ArrayType((), dtypes.int32)
        ordered = "ordered" in program.effects

        def step(b: Any, i: Any, consts: list[Any], carry: list[Any], xs: list[Any], ys: list[Any]
                 ) -> tuple[list[Any], list[Any]]:
            at = b.sub(b.full(length - 1, counter), i) if reverse else i
            zero = b.full(0, counter)
            rows = []
            for x in xs:
                sizes = (1, *x.type.shape[1:])
                row = b.op("stablehlo.dynamic_slice", [x, at, *[zero] * (len(sizes) - 1)], x.type.with_shape(sizes),
                           f"slice_sizes = {b.ints(sizes)}")
                rows.append(b.reshape(row, x.type.shape[1:]))
            outputs = b.program(program, [*consts, *carry, *rows])
            written = []
            for y, row in zip(ys, outputs[n_carry:], strict=True):
                row = b.reshape(row, (1, *row.type.shape))
                starts = [at, *[zero] * (row.type.ndim - 1)]
                written.append(b.op("stablehlo.dynamic_update_slice", [y, row, *starts], y.type))
            return outputs[:n_carry], written

        per_turn = max(1, min(unroll, length))
        turns = length // per_turn
        if turns == 1:
            for k in range(length):
                carry, ys = step(b, b.full(k, counter), consts, carry, xs, ys)
            return [*carry, *ys]
        state = [b.full(0, counter), *carry, *ys, *consts, *xs, *([b.token] if ordered else [])]
        types = [v.type for v in state]
        n_state = 1 + len(carry) + len(ys)

        def running(b: Any, i: Any, *rest: Any) -> list[Any]:
            return [b.compare("LT", i, b.full(turns * per_turn, counter))]

        def turn(b: Any, i: Any, *rest: Any) -> list[Any]:
            if ordered:
                b.token = rest[-1]
                rest = rest[:-1]
            carry, ys, consts, xs = cut(rest, n_carry, len(out_types) - n_carry, n_consts)
            for _ in range(per_turn):
                carry, ys = step(b, i, consts, carry, xs, ys)
                i = b.add(i, b.full(1, counter))
            return [i, *carry, *ys, *consts, *xs, *([b.token] if ordered else [])]

        results = b.multi("stablehlo.while", state, types, "", [b.region(types, running), b.region(types, turn)])
        if ordered:
            b.token = results[-1]
        carry, ys = results[1:1 + n_carry], results[1 + n_carry:n_state]
        for k in range(turns * per_turn, length):
            carry, ys = step(b, b.full(k, counter), consts, carry, xs, ys)
        return [*carry, *ys]

    # -- derivatives -----------------------------------------------------------------------------

    def _nonzero(self, tangents: Sequence[Any], rule: Any, program: Program, n_consts: int, n_carry: int
                 ) -> tuple[bool, ...]:
        """The smallest mask of inputs with tangents that is closed under one step."""
        mask = [not isinstance(t, Zero) for t in tangents]
        while True:
            out = rule(tuple(mask))[:n_carry]
            grown = [a or b for a, b in zip(mask[n_consts:n_consts + n_carry], out, strict=True)]
            if grown == mask[n_consts:n_consts + n_carry]:
                return tuple(mask)
            mask[n_consts:n_consts + n_carry] = grown

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, n_consts: int, n_carry: int,
            **rest: Any) -> tuple[Outputs, Outputs]:
        def rule(mask: tuple[bool, ...]) -> tuple[bool, ...]:
            return program.memo(jvp_program, mask)[1]  # type: ignore[no-any-return]

        mask = self._nonzero(tangents, rule, program, n_consts, n_carry)
        carry_mask = mask[n_consts:n_consts + n_carry]
        out_mask = carry_mask + rule(mask)[n_carry:]
        derived = program.memo(jvp_program_with, mask, out_mask)
        n = len(program.inputs)
        dots = pick([instantiate(t) if flag else t for t, flag in zip(tangents, mask, strict=True)], mask)
        where = [i for i, flag in enumerate(mask) if flag]
        groups = [range(n_consts), range(n_consts, n_consts + n_carry), range(n_consts + n_carry, n)]
        order, args = [], []
        for group in groups:
            for i in group:
                order.append(i)
                args.append(primals[i])
            for k, i in enumerate(where):
                if i in group:
                    order.append(n + k)
                    args.append(dots[k])
        n_out = len(program.outputs)
        out_where = [i for i, flag in enumerate(out_mask) if flag]
        carry_out = [*range(n_carry), *(n_out + k for k, i in enumerate(out_where) if i < n_carry)]
        ys_out = [*range(n_carry, n_out), *(n_out + k for k, i in enumerate(out_where) if i >= n_carry)]
        results = bind(self, args, {
            "program": derived.memo(reorder, tuple(order), tuple(carry_out + ys_out)),
            "n_consts": n_consts + sum(mask[:n_consts]), "n_carry": len(carry_out), **rest})
        placed = dict(zip(carry_out + ys_out, results, strict=True))
        outputs = [placed[i] for i in range(n_out)]
        found = iter([placed[n_out + k] for k in range(len(out_where))])
        return outputs, [next(found) if flag else Zero(type_of(o).tangent())
                         for flag, o in zip(out_mask, outputs, strict=True)]

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, n_consts: int,
                  n_carry: int, length: int, reverse: bool, unroll: int) -> tuple[Outputs, Outputs]:
        def rule(mask: tuple[bool, ...]) -> tuple[bool, ...]:
            return program.memo(linearize_program, mask).outputs  # type: ignore[no-any-return]

        mask = self._nonzero(tangents, rule, program, n_consts, n_carry)
        carry_mask = mask[n_consts:n_consts + n_carry]
        out_mask = carry_mask + rule(mask)[n_carry:]
        pair: LinearizedProgram = program.memo(linearize_program, mask, out_mask)
        plan = pair.forward.memo(_residual_plan, pair, n_consts, n_carry, len(program.outputs))
        shape = {"length": length, "reverse": reverse, "unroll": unroll}
        results = bind(self, primals, {"program": plan.forward, "n_consts": n_consts, "n_carry": n_carry, **shape})
        outputs, stacked = results[:len(program.outputs)], results[len(program.outputs):]
        invariant = call_program(plan.invariant, primals[:n_consts], AGAIN) if plan.invariant.outputs else []
        consts = [primals[i] if kind == "const" else invariant[i] for kind, i in plan.consts]
        xs = primals[n_consts + n_carry:]
        rows = [xs[i] if kind == "xs" else stacked[i] for kind, i in plan.rows]
        dots = [instantiate(t) for t, flag in zip(tangents, mask, strict=True) if flag]
        n_const_dots, n_carry_dots = sum(mask[:n_consts]), sum(carry_mask)
        const_dots, carry_dots, row_dots = cut(dots, n_const_dots, n_carry_dots)
        linear = plan.linear.memo(reorder_residuals, plan.order, len(plan.consts), n_const_dots, n_carry_dots)
        if not any(out_mask):
            return outputs, [Zero(type_of(o).tangent()) for o in outputs]
        found = bind(self, [*consts, *const_dots, *carry_dots, *rows, *row_dots], {
            "program": linear, "n_consts": len(consts) + n_const_dots, "n_carry": n_carry_dots, **shape})
        return outputs, spread(found, out_mask, [type_of(o) for o in outputs])

    def transpose(self, cts: Sequence[Any], *args: Any, program: Program, n_consts: int, n_carry: int, length: int,
                  reverse: bool, unroll: int) -> list[Any]:
        linear = _reached(program, [isinstance(arg, Linear) for arg in args], n_consts, n_carry)
        if not all(linear[n_consts:n_consts + n_carry]):
            raise self.missing("transpose rule where a carry does not depend linearly on the input",
                               "use vjp or grad, which run the other carries forward first; or pass them as stacked "
                               "inputs")
        ct_carry = [instantiate(ct) for ct in cts[:n_carry]]
        ct_ys = cts[n_carry:]
        live = tuple(not isinstance(ct, Zero) for ct in ct_ys)
        consts, _, rows = cut(args, n_consts, n_carry)
        const_linear, _, row_linear = cut(linear, n_consts, n_carry)
        step = program.memo(_transposed_step, linear, live, n_consts, n_carry)
        sums = [instantiate(Zero(arg.type)) for arg in pick(consts, const_linear)]
        known_consts = [c for c, flag in zip(consts, const_linear, strict=True) if not flag]
        known_rows = [r for r, flag in zip(rows, row_linear, strict=True) if not flag]
        results = bind(self, [*known_consts, *sums, *ct_carry, *known_rows, *pick(ct_ys, live)], {
            "program": step, "n_consts": len(known_consts), "n_carry": len(sums) + n_carry, "length": length,
            "reverse": not reverse, "unroll": unroll})
        sums, ct_carry, ct_rows = cut(results, len(sums), n_carry)
        found_consts, found_rows = iter(sums), iter(ct_rows)
        return [*(next(found_consts) if flag else None for flag in const_linear), *ct_carry,
                *(next(found_rows) if flag else None for flag in row_linear)]

    def jet(self, order: int, primals: Sequence[Any], series: Sequence[Any], *, program: Program, n_consts: int,
            n_carry: int, **rest: Any) -> tuple[Outputs, Outputs]:
        ends = n_consts, n_consts + n_carry
        mask = tuple(inexact(t) if ends[0] <= i < ends[1] else moves(s)
                     for i, (t, s) in enumerate(zip(program.input_types, series, strict=True)))
        step, counts = program.memo(jet_step, order, mask, n_consts, n_carry)
        given = [x for part in cut(list(zip(primals, series, mask, strict=True)), n_consts, n_carry)
                 for x in [*(p for p, _, _ in part), *(instantiate(t) for _, s, flag in part if flag for t in s)]]
        results = bind(self, given, {"program": step, "n_consts": n_consts + counts[0],
                                     "n_carry": n_carry + counts[1], **rest})
        carry, more, ys, rows = cut(results, n_carry, counts[1], len(program.outputs) - n_carry)
        return collect([*carry, *ys, *more, *rows], len(program.outputs), order)

    # -- batching --------------------------------------------------------------------------------

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *,
                    program: Program, n_consts: int, n_carry: int, **rest: Any) -> tuple[Outputs, list[bool]]:
        mask = list(batched)
        while True:
            out = program.memo(batch_program, size, tuple(mask), axis_name)[1]
            grown = [a or b for a, b in zip(mask[n_consts:n_consts + n_carry], out, strict=False)]
            if grown == mask[n_consts:n_consts + n_carry]:
                break
            mask[n_consts:n_consts + n_carry] = grown
        out_mask = (*grown, *out[n_carry:])
        step = program.memo(batch_program_with, size, tuple(mask), out_mask, axis_name)
        given = [broadcast(x, size) if want and not flag else x
                 for x, flag, want in zip(args, batched, mask, strict=True)]
        for i in range(n_consts + n_carry, len(given)):
            if mask[i]:
                given[i] = move_axis(given[i], 0, 1)
        results = bind(self, given, {"program": step, "n_consts": n_consts, "n_carry": n_carry, **rest})
        for i in range(n_carry, len(results)):
            if out_mask[i]:
                results[i] = move_axis(results[i], 1, 0)
        return results, list(out_mask)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return params["program"].axis_names  # type: ignore[no-any-return]

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["program"].effects  # type: ignore[no-any-return]

    # -- tests -----------------------------------------------------------------------------------

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def step(w: Any, c: Any, x: Any) -> list[Any]:
            y = TABLE["add"](TABLE["mul"](TABLE["sin"](w), c), x)
            return [y, TABLE["mul"](y, c)]

        program, _ = stage(step, [ArrayType((2,), dtypes.float32)] * 3, name="step")
        w, c = (rng.normal(size=2).astype(np.float32) for _ in range(2))
        for length, reverse, unroll in ((5, False, 1), (5, True, 2), (1, False, 1), (4, False, 4)):
            x = rng.normal(size=(length, 2)).astype(np.float32)
            yield Example(w, c, x, program=program, n_consts=1, n_carry=1, length=length, reverse=reverse,
                          unroll=unroll)
        yield Example(w, c, np.zeros((0, 2), np.float32), program=program, n_consts=1, n_carry=1, length=0,
                      reverse=False, unroll=1, order=0)

    def oracle(self, jax: Any, w: Any, c: Any, xs: Any, *, reverse: bool, unroll: int, length: int, **rest: Any
               ) -> Any:
        def step(c: Any, x: Any) -> Any:
            y = jax.numpy.sin(w) * c + x
            return y, y * c
        return jax.lax.scan(step, c, xs, length=length, reverse=reverse, unroll=unroll)


class _Plan:
    """Where the residuals of a scan come from.

    `forward` is the step program that also stacks what must be kept; `invariant` computes, once, the residuals
    that depend on constants only; `linear` is the linear step, which computes again what follows cheaply. `consts`
    and `rows` list the residuals that `linear` takes, by origin; `order` maps them to those two lists.
    """

    def __init__(self, forward: Program, invariant: Program, linear: Program, consts: list[tuple[str, int]],
                 rows: list[tuple[str, int]], order: tuple[tuple[str, int], ...]) -> None:
        self.forward = forward
        self.invariant = invariant
        self.linear = linear
        self.consts = consts
        self.rows = rows
        self.order = order


def _residual_plan(forward: Program, pair: LinearizedProgram, n_consts: int, n_carry: int, n_outputs: int) -> _Plan:
    """Loop-invariant residuals are passed, never stacked once a step; rows of inputs are used where they lie."""
    fixed: set[Any] = set(forward.inputs[:n_consts])
    fixed_equations = []
    for eqn in forward.equations:
        if not eqn.effects and all(not isinstance(a, Var) or a in fixed for a in eqn.inputs):
            fixed.update(eqn.outputs)
            fixed_equations.append(eqn)
    atoms = [forward.inputs[i] if kind == "in" else forward.outputs[n_outputs + i] for kind, i in pair.sources]
    xs = forward.inputs[n_consts + n_carry:]
    stacked, again = spare(forward.equations, {*fixed, *xs}, atoms)
    here = {v: Var(v.type) for eqn in again for v in eqn.outputs}
    consts: list[tuple[str, int]] = []
    rows: list[tuple[str, int]] = []
    order: list[tuple[str, int]] = []
    hoisted: list[Any] = []
    inputs: list[Var] = []

    def take(atom: Any) -> Any:
        """The variable of the linear step for a value of the forward step."""
        if not isinstance(atom, Var):
            return atom
        if atom not in here:
            here[atom] = Var(atom.type)
            inputs.append(here[atom])
            if atom in forward.inputs[:n_consts]:
                order.append(("const", len(consts)))
                consts.append(("const", forward.inputs.index(atom)))
            elif atom in fixed:
                order.append(("const", len(consts)))
                consts.append(("invariant", len(hoisted)))
                hoisted.append(atom)
            else:
                order.append(("row", len(rows)))
                rows.append(("xs", xs.index(atom)) if atom in xs else ("stacked", stacked.index(atom)))
        return here[atom]

    replay = [eqn.replace(inputs=[take(a) for a in eqn.inputs], outputs=[here[v] for v in eqn.outputs])
              for eqn in again]
    residual = dict(zip(pair.linear.inputs, map(take, atoms)))
    equations = [eqn.replace(inputs=[residual.get(a, a) for a in eqn.inputs]) for eqn in pair.linear.equations]
    linear = Program([*inputs, *pair.linear.inputs[len(atoms):]], [*replay, *equations],
                     [residual.get(a, a) for a in pair.linear.outputs], pair.linear.name)
    step = Program(forward.inputs, forward.equations, [*forward.outputs[:n_outputs], *stacked], forward.name)
    invariant = Program(forward.inputs[:n_consts], fixed_equations, hoisted, "invariant")
    return _Plan(step, invariant, linear, consts, rows, tuple(order))


def reorder_residuals(linear: Program, order: tuple[tuple[str, int], ...], n_const_residuals: int, n_const_dots: int,
                      n_carry_dots: int) -> Program:
    """The linear step with inputs: invariant residuals, constants' tangents, carries' tangents, rows."""
    residuals, dots = linear.inputs[: len(order)], linear.inputs[len(order):]
    consts = [v for (kind, _), v in zip(order, residuals, strict=True) if kind == "const"]
    rows = [v for (kind, _), v in zip(order, residuals, strict=True) if kind == "row"]
    const_dots, carry_dots, row_dots = cut(dots, n_const_dots, n_carry_dots)
    return Program([*consts, *const_dots, *carry_dots, *rows, *row_dots], linear.equations, linear.outputs,
                   linear.name)


def _reached(program: Program, linear: list[bool], n_consts: int, n_carry: int) -> tuple[bool, ...]:
    """The inputs that vary with the linear ones: a carry that starts as a constant (a zero) may become one."""
    while True:
        varying = {v for v, flag in zip(program.inputs, linear, strict=True) if flag}
        for eqn in program.equations:
            if not varying.isdisjoint(eqn.inputs):
                varying.update(eqn.outputs)
        grown = [flag or out in varying for flag, out in
                 zip(linear[n_consts:n_consts + n_carry], program.outputs, strict=False)]
        if grown == linear[n_consts:n_consts + n_carry]:
            return tuple(linear)
        linear[n_consts:n_consts + n_carry] = grown


def _transposed_step(program: Program, linear: tuple[bool, ...], live: tuple[bool, ...], n_consts: int, n_carry: int
                     ) -> Program:
    """One step backwards: takes known constants, sums of constants' cotangents, the carries' cotangents, known
    rows and the outputs' cotangents; returns the new sums, the carries' cotangents, and the rows' cotangents."""
    back = program.memo(transpose_program_full, linear, (True,) * n_carry + live)
    types = program.input_types
    const_linear, _, row_linear = cut(linear, n_consts, n_carry)
    const_types, carry_types, row_types = cut(types, n_consts, n_carry)
    known_consts = [t for t, flag in zip(const_types, const_linear, strict=True) if not flag]
    sum_types = pick(const_types, const_linear)
    known_rows = [t for t, flag in zip(row_types, row_linear, strict=True) if not flag]
    ct_types = pick(program.output_types[n_carry:], live)

    def step(*args: Any) -> list[Any]:
        consts, sums, carry, rows, ct_ys = cut(args, len(known_consts), len(sum_types), n_carry, len(known_rows))
        results = evaluate(back, [*consts, *rows, *carry, *ct_ys])
        ct_consts, ct_carry, ct_rows = cut(results, len(sum_types), n_carry)
        return [*(add(s, ct) for s, ct in zip(sums, ct_consts, strict=True)), *ct_carry, *ct_rows]

    staged = closed(step, [*known_consts, *sum_types, *carry_types, *known_rows, *ct_types],
                    name=f"transpose_{program.name}", what="vjp")
    return staged


scan = Scan("scan")
