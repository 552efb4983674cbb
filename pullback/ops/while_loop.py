"""while: a loop that ends when a condition on its carry says so.

Forward mode is a loop over values and tangents. Reverse mode goes back through the steps in bounded memory (see
treeverse.py): `slots` carries are kept at once, and the others computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import inexact, jvp_program, jvp_program_with
from pullback.interpret.stage import stage
from pullback.interpret.vmap import batch_program, batch_program_with
from pullback.ops.call import repeated, spread
from pullback.ops.check import EFFECT, only_where
from pullback.ops.scan import cut, jet_step, pick, reorder
from pullback.ops.taylor import collect, moves
from pullback.ops.treeverse import reverse_loop

# How many carries reverse mode keeps at once: with 64, every step is repeated at most 3 times up to 47,905 steps.
SLOTS = 64


def masks(tangents: Sequence[Any], body: Program, n_cond: int, n_body: int
          ) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Which constants of the body and which carries have tangents: the smallest set closed under one step."""
    const_mask = tuple(not isinstance(t, Zero) for t in tangents[n_cond:n_cond + n_body])
    carry_mask = tuple(not isinstance(t, Zero) for t in tangents[n_cond + n_body:])
    while True:
        out = body.memo(jvp_program, (*const_mask, *carry_mask))[1]
        grown = tuple(a or b for a, b in zip(carry_mask, out, strict=True))
        if grown == carry_mask:
            return const_mask, carry_mask
        carry_mask = grown


class While(Primitive):
    """Operands: constants of the condition, constants of the body, the carry; outputs: the final carry."""

    programs = ("cond", "body")

    def type(self, *types: ArrayType, n_cond: int, n_body: int, **params: Any) -> list[ArrayType]:
        return list(types[n_cond + n_body:])

    def numpy(self, *arrays: np.ndarray, cond: Program, body: Program, n_cond: int, n_body: int, slots: int = SLOTS
              ) -> Outputs:
        given = [from_numpy(np.asarray(a)) for a in arrays]
        cond_consts, body_consts, carry = cut(given, n_cond, n_body)
        while bool(concrete(evaluate(cond, [*cond_consts, *carry])[0])):
            carry = evaluate(body, [*body_consts, *carry])
        return [np.asarray(concrete(c)) for c in carry]

    def hlo(self, b: Any, *values: Any, cond: Program, body: Program, n_cond: int, n_body: int, slots: int = SLOTS
            ) -> Outputs:
        ordered = "ordered" in body.effects
        state = [*values, b.token] if ordered else list(values)
        types = [v.type for v in state]

        def running(b: Any, *state: Any) -> list[Any]:
            cond_consts, _, carry = cut(state[: len(values)], n_cond, n_body)
            result = b.program(cond, [*cond_consts, *carry])[0]
            if result.type.shape:  # a batch of conditions: the loop runs while any holds
                init = b.full(False, ArrayType((), dtypes.bool_))
                result = b.reduce([result], [init], range(result.type.ndim), lambda b, x, y: [b.or_(x, y)])[0]
            return [result]

        def turn(b: Any, *state: Any) -> list[Any]:
            cond_consts, body_consts, carry = cut(state[: len(values)], n_cond, n_body)
            if ordered:
                b.token = state[-1]
            carry = b.program(body, [*body_consts, *carry])
            return [*cond_consts, *body_consts, *carry, *([b.token] if ordered else [])]

        if not values:
            return []
        results = b.multi("stablehlo.while", state, types, "", [b.region(types, running), b.region(types, turn)])
        if ordered:
            b.token = results.pop()
        return results[n_cond + n_body:]

    # -- derivatives -----------------------------------------------------------------------------

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, cond: Program, body: Program, n_cond: int,
            n_body: int, slots: int = SLOTS) -> tuple[Outputs, Outputs]:
        const_mask, carry_mask = masks(tangents, body, n_cond, n_body)
        derived = body.memo(jvp_program_with, (*const_mask, *carry_mask), carry_mask)
        n_carry, n = len(carry_mask), len(body.inputs)
        n_const_dots, n_dots = sum(const_mask), sum(carry_mask)
        order = [*range(n_body), *range(n, n + n_const_dots), *range(n_body, n),
                 *range(n + n_const_dots, n + n_const_dots + n_dots)]
        step = derived.memo(reorder, tuple(order), tuple(range(n_carry + n_dots)))
        test = cond.memo(_ignoring, tuple(pick(body.input_types[n_body:], carry_mask)))
        cond_consts, body_consts, carry = cut(primals, n_cond, n_body)
        const_dots = pick(tangents[n_cond:n_cond + n_body], const_mask)
        carry_dots = [instantiate(t) for t in pick(tangents[n_cond + n_body:], carry_mask)]
        results = bind(self, [*cond_consts, *body_consts, *const_dots, *carry, *carry_dots], {
            "cond": test, "body": step, "n_cond": n_cond, "n_body": n_body + n_const_dots, "slots": slots})
        return results[:n_carry], spread(results[n_carry:], carry_mask, body.output_types)

    def jet(self, order: int, primals: Sequence[Any], series: Sequence[Any], *, cond: Program, body: Program,
            n_cond: int, n_body: int, slots: int = SLOTS) -> tuple[Outputs, Outputs]:
        mask = tuple(inexact(t) if i >= n_body else moves(s)
                     for i, (t, s) in enumerate(zip(body.input_types, series[n_cond:], strict=True)))
        step, (n_consts, n_carry) = body.memo(jet_step, order, mask, n_body, len(body.outputs))
        terms = [instantiate(t) for s, flag in zip(series[n_cond:], mask, strict=True) if flag for t in s]
        test = cond.memo(_ignoring, tuple(t.tangent() for t in pick(body.input_types[n_body:], mask[n_body:])
                                          for _ in range(order)))
        cond_consts, body_consts, carry = cut(primals, n_cond, n_body)
        results = bind(self, [*cond_consts, *body_consts, *terms[:n_consts], *carry, *terms[n_consts:]], {
            "cond": test, "body": step, "n_cond": n_cond, "n_body": n_body + n_consts, "slots": slots})
        return collect(results, len(body.outputs), order)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, cond: Program, body: Program, n_cond: int,
                  n_body: int, slots: int = SLOTS) -> tuple[Outputs, Outputs]:
        const_mask, carry_mask = masks(tangents, body, n_cond, n_body)
        cond_consts, body_consts, carry = cut(primals, n_cond, n_body)
        start = TABLE["broadcast_in_dim"](np.int32(0), shape=(), dims=())
        steps, *outputs = bind(self, [*cond_consts, *body_consts, start, *carry], {
            "cond": cond.memo(_beside_counter, n_cond, False), "body": body.memo(_beside_counter, n_body, True),
            "n_cond": n_cond, "n_body": n_body, "slots": slots})
        if not any(carry_mask):
            return outputs, spread([], carry_mask, body.output_types)
        const_dots = pick(tangents[n_cond:n_cond + n_body], const_mask)
        carry_dots = [instantiate(t) for t in pick(tangents[n_cond + n_body:], carry_mask)]
        dots = bind(while_tangents, [steps, *primals, *const_dots, *carry_dots], {
            "cond": cond, "body": body, "n_cond": n_cond, "n_body": n_body, "slots": slots, "const_mask": const_mask,
            "carry_mask": carry_mask})
        return outputs, spread(dots, carry_mask, body.output_types)

    # -- batching --------------------------------------------------------------------------------

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], **params: Any
                    ) -> tuple[Outputs, list[bool]]:
        given, derived, carry_flags, _ = self.batched(size, axis_name, args, batched, **params)
        return bind(self, given, derived), carry_flags

    def batched(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, cond: Program,
                body: Program, n_cond: int, n_body: int, slots: int = SLOTS
                ) -> tuple[list[Any], dict[str, Any], list[bool], bool]:
        """Operands and params of the loop over a batch, which carries are batched, and whether elements stop on
        their own: then the condition's constants stand before the body's, too."""
        cond_flags, body_flags, carry_flags = cut(tuple(batched), n_cond, n_body)
        while True:
            out = body.memo(batch_program, size, (*body_flags, *carry_flags), axis_name)[1]
            grown = [a or b for a, b in zip(carry_flags, out, strict=True)]
            apart = cond.memo(batch_program, size, (*cond_flags, *grown), axis_name)[1][0]
            if apart:
                grown = [True] * len(grown)
            if grown == carry_flags:
                break
            carry_flags = grown
        cond_consts, body_consts, carry = cut(args, n_cond, n_body)
        carry = [broadcast(x, size) if want and not flag else x
                 for x, flag, want in zip(carry, batched[n_cond + n_body:], carry_flags, strict=True)]
        test = cond.memo(batch_program_with, size, (*cond_flags, *carry_flags), (apart,), axis_name)
        step = body.memo(batch_program_with, size, (*body_flags, *carry_flags), tuple(carry_flags), axis_name)
        params = {"cond": test, "body": step, "n_cond": n_cond, "n_body": n_body, "slots": slots}
        if not apart:
            return [*cond_consts, *body_consts, *carry], params, carry_flags, False
        params |= {"cond": test.memo(_any), "body": step.memo(_guarded, test, n_cond, n_body),
                   "n_body": n_cond + n_body}
        return [*cond_consts, *cond_consts, *body_consts, *carry], params, carry_flags, True

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return params["cond"].axis_names | params["body"].axis_names  # type: ignore[no-any-return]

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["cond"].effects | params["body"].effects  # type: ignore[no-any-return]

    # -- tests -----------------------------------------------------------------------------------

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        f, i = ArrayType((2,), dtypes.float32), ArrayType((), dtypes.int32)
        cond, _ = stage(lambda n, k, x: [TABLE["lt"](k, n)], [i, i, f], name="cond")
        body, _ = stage(lambda w, k, x: [TABLE["add"](k, np.int32(1)), TABLE["mul"](TABLE["sin"](x), w)], [f, i, f],
                        name="body")
        w, x = (rng.uniform(0.5, 2, size=2).astype(np.float32) for _ in range(2))
        for steps in (0, 3):
            yield Example(np.asarray(steps, np.int32), w, np.asarray(0, np.int32), x, cond=cond, body=body, n_cond=1,
                          n_body=1)

    def oracle(self, jax: Any, n: Any, w: Any, k: Any, x: Any, **params: Any) -> Any:
        return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jax.numpy.sin(c[1]) * w), (k, x))


def _ignoring(cond: Program, extra: tuple[ArrayType, ...]) -> Program:
    """The condition on a carry that has further parts at its end."""
    return stage(lambda *xs: evaluate(cond, xs[: len(cond.inputs)]), [*cond.input_types, *extra], name=cond.name)[0]


def _any(cond: Program) -> Program:
    """Whether a batch of conditions holds anywhere."""
    def test(*xs: Any) -> list[Any]:
        result = evaluate(cond, xs)[0]
        return [TABLE["reduce_or"](result, axes=tuple(range(type_of(result).ndim)))]
    return stage(test, cond.input_types, name=cond.name)[0]


def _guarded(body: Program, cond: Program, n_cond: int, n_body: int) -> Program:
    """One step for a batch: elements whose condition no longer holds keep their carry."""
    carry_types = body.input_types[n_body:]

    def step(*xs: Any) -> list[Any]:
        cond_consts, body_consts, carry = cut(xs, n_cond, n_body)
        holds = evaluate(cond, [*cond_consts, *carry])[0]
        if EFFECT in body.effects:
            moved = evaluate(body.memo(only_where, type_of(holds).shape[0]), [holds, *body_consts, *carry])
        else:
            moved = evaluate(body, [*body_consts, *carry])
        return [_choose(holds, new, old) for new, old in zip(moved, carry, strict=True)]

    types = [*cond.input_types[:n_cond], *body.input_types[:n_body], *carry_types]
    return stage(step, types, name=body.name)[0]


def _choose(holds: Any, new: Any, old: Any) -> Any:
    shape = type_of(new).shape
    ndim = type_of(holds).ndim
    if len(shape) > ndim:
        holds = TABLE["broadcast_in_dim"](holds, shape=shape, dims=tuple(range(ndim)))
    return TABLE["select_n"](holds, old, new)


def _beside_counter(program: Program, n_consts: int, counts: bool) -> Program:
    """The condition, or the body, of a loop that carries the number of its steps in front."""
    consts, carry = program.input_types[:n_consts], program.input_types[n_consts:]

    def run(*xs: Any) -> list[Any]:
        results = evaluate(program, [*xs[:n_consts], *xs[n_consts + 1:]])
        return [TABLE["add"](xs[n_consts], np.int32(1)), *results] if counts else results
    return stage(run, [*consts, ArrayType((), dtypes.int32), *carry], name=program.name)[0]


class WhileTangents(Primitive):
    """The linear form of `while`: the tangents of the final carry.

    Operands: the number of steps, the operands of the loop, then tangents of the body's constants and of the first
    carry where the masks say so. Forward it is the loop over values and tangents; backward, treeverse.
    """

    programs = ("cond", "body")

    def type(self, *types: ArrayType, body: Program, carry_mask: tuple[bool, ...], **params: Any) -> list[ArrayType]:
        return pick(body.output_types, carry_mask)

    def expand(self, steps: Any, *args: Any, cond: Program, body: Program, n_cond: int, n_body: int, slots: int,
               const_mask: tuple[bool, ...], carry_mask: tuple[bool, ...]) -> Outputs:
        count = n_cond + len(body.inputs)
        primals, dots = args[:count], iter(args[count:])
        tangents = [next(dots) if flag else Zero(type_of(x).tangent())
                    for x, flag in zip(primals, [False] * n_cond + [*const_mask, *carry_mask], strict=True)]
        _, found = while_loop.jvp(primals, tangents, cond=cond, body=body, n_cond=n_cond, n_body=n_body, slots=slots)
        return [instantiate(t) for t in pick(found, carry_mask)]

    def transpose(self, cts: Sequence[Any], steps: Any, *args: Any, cond: Program, body: Program, n_cond: int,
                  n_body: int, slots: int, const_mask: tuple[bool, ...], carry_mask: tuple[bool, ...]) -> list[Any]:
        _, consts, carry, _ = cut(args, n_cond, n_body, len(carry_mask))
        sums, carry_cts = reverse_loop(steps, consts, carry, [instantiate(ct) for ct in cts], body.memo(repeated),
                                       const_mask, carry_mask, slots)
        return [None] * (1 + n_cond + len(body.inputs)) + sums + carry_cts

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, const_mask: tuple[bool, ...],
              carry_mask: tuple[bool, ...], **params: Any) -> tuple[Outputs, list[bool]]:
        count = 1 + params["n_cond"] + len(params["body"].inputs)
        flags = list(batched[1:count])
        # A carry whose tangent is batched must be batched itself, for its tangents have its type.
        dot_flags = iter(batched[count:])
        for i, flag in enumerate([False] * params["n_cond"] + [*const_mask, *carry_mask]):
            flags[i] = flags[i] or (flag and next(dot_flags))
        primals = [broadcast(x, size) if want and not flag else x
                   for x, want, flag in zip(args[1:count], flags, batched[1:count], strict=True)]
        given, derived, carry_flags, apart = while_loop.batched(size, None, primals, flags, **params)
        const_flags = flags[params["n_cond"]:params["n_cond"] + params["n_body"]]
        wanted = [*pick(const_flags, const_mask), *pick(carry_flags, carry_mask)]
        dots = [broadcast(x, size) if want and not flag else x
                for x, want, flag in zip(args[count:], wanted, batched[count:], strict=True)]
        steps = TABLE["reduce_max"](args[0], axes=(0,)) if batched[0] else args[0]
        mask = (False,) * params["n_cond"] + const_mask if apart else const_mask
        results = bind(self, [steps, *given, *dots], {**derived, "const_mask": mask, "carry_mask": carry_mask})
        return results, pick(carry_flags, carry_mask)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        f, i = ArrayType((2,), dtypes.float32), ArrayType((), dtypes.int32)
        cond, _ = stage(lambda n, k, x: [TABLE["lt"](k, n)], [i, i, f], name="cond")
        body, _ = stage(lambda w, k, x: [TABLE["add"](k, np.int32(1)), TABLE["mul"](TABLE["sin"](x), w)], [f, i, f],
                        name="body")
        w, x, w_dot, x_dot = (rng.uniform(0.5, 2, size=2).astype(np.float32) for _ in range(4))
        for n in (0, 1, 7):
            for slots in (1, 3):
                steps = np.asarray(n, np.int32)
                yield Example(steps, steps, w, np.asarray(0, np.int32), x, w_dot, x_dot, cond=cond, body=body, n_cond=1,
                              n_body=1, slots=slots, const_mask=(True,), carry_mask=(False, True), order=0)

    def oracle(self, jax: Any, steps: Any, n: Any, w: Any, k: Any, x: Any, w_dot: Any, x_dot: Any, **params: Any
               ) -> Any:
        def loop(w: Any, x: Any) -> Any:
            return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jax.numpy.sin(c[1]) * w), (k, x))[1]
        return jax.jvp(loop, (w, x), (w_dot, x_dot))[1]


while_loop = While("while")
while_tangents = WhileTangents("while_tangents")
