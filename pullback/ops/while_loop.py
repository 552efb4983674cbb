"""while: a loop that ends when a condition on its carry says so.

Forward mode is a loop over values and tangents. Its linear form runs the loop again; reverse mode through it needs
the values of all steps, and says so.
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
from pullback.interpret.jvp import jvp_program, jvp_program_with
from pullback.interpret.stage import stage
from pullback.interpret.vmap import batch_program, batch_program_with
from pullback.ops.scan import cut, pick, reorder


class While(Primitive):
    """Operands: constants of the condition, constants of the body, the carry; outputs: the final carry."""

    programs = ("cond", "body")

    def type(self, *types: ArrayType, cond: Program, body: Program, n_cond: int, n_body: int) -> list[ArrayType]:
        return list(types[n_cond + n_body:])

    def numpy(self, *arrays: np.ndarray, cond: Program, body: Program, n_cond: int, n_body: int) -> Outputs:
        given = [from_numpy(np.asarray(a)) for a in arrays]
        cond_consts, body_consts, carry = cut(given, n_cond, n_body)
        while bool(concrete(evaluate(cond, [*cond_consts, *carry])[0])):
            carry = evaluate(body, [*body_consts, *carry])
        return [np.asarray(concrete(c)) for c in carry]

    def hlo(self, b: Any, *values: Any, cond: Program, body: Program, n_cond: int, n_body: int) -> Outputs:
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

    def _forward(self, tangents: Sequence[Any], cond: Program, body: Program, n_cond: int, n_body: int
                 ) -> tuple[dict[str, Any], list[int], tuple[bool, ...], tuple[bool, ...]]:
        """The loop over values and tangents: its params, and the masks of constants and carries with tangents."""
        const_mask = tuple(not isinstance(t, Zero) for t in tangents[n_cond:n_cond + n_body])
        mask = [not isinstance(t, Zero) for t in tangents[n_cond + n_body:]]
        while True:
            program_mask = body.memo(jvp_program, (*const_mask, *mask))[1]
            grown = [a or b for a, b in zip(mask, program_mask, strict=True)]
            if grown == mask:
                break
            mask = grown
        carry_mask = tuple(mask)
        derived = body.memo(jvp_program_with, (*const_mask, *carry_mask), carry_mask)
        n_carry, n = len(carry_mask), len(body.inputs)
        n_const_dots, n_dots = sum(const_mask), sum(carry_mask)
        order = [*range(n_body), *range(n, n + n_const_dots), *range(n_body, n),
                 *range(n + n_const_dots, n + n_const_dots + n_dots)]
        step = derived.memo(reorder, tuple(order), tuple(range(n_carry + n_dots)))
        test = cond.memo(_ignoring, tuple(body.input_types[n_body + i] for i, flag in enumerate(carry_mask) if flag))
        params = {"cond": test, "body": step, "n_cond": n_cond, "n_body": n_body + n_const_dots}
        return params, order, const_mask, carry_mask

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, cond: Program, body: Program, n_cond: int,
            n_body: int) -> tuple[Outputs, Outputs]:
        params, _, const_mask, carry_mask = self._forward(tangents, cond, body, n_cond, n_body)
        cond_consts, body_consts, carry = cut(primals, n_cond, n_body)
        const_dots = pick(tangents[n_cond:n_cond + n_body], const_mask)
        carry_dots = [instantiate(t) for t in pick(tangents[n_cond + n_body:], carry_mask)]
        results = bind(self, [*cond_consts, *body_consts, *const_dots, *carry, *carry_dots], params)
        outputs = results[:len(carry)]
        dots = iter(results[len(carry):])
        return outputs, [next(dots) if flag else Zero(type_of(o).tangent())
                         for flag, o in zip(carry_mask, outputs, strict=True)]

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, cond: Program, body: Program, n_cond: int,
                  n_body: int) -> tuple[Outputs, Outputs]:
        params, _, const_mask, carry_mask = self._forward(tangents, cond, body, n_cond, n_body)
        outputs = bind(self, primals, {"cond": cond, "body": body, "n_cond": n_cond, "n_body": n_body})
        if not any(carry_mask):
            return outputs, [Zero(type_of(o).tangent()) for o in outputs]
        cond_consts, body_consts, carry = cut(primals, n_cond, n_body)
        const_dots = pick(tangents[n_cond:n_cond + n_body], const_mask)
        carry_dots = [instantiate(t) for t in pick(tangents[n_cond + n_body:], carry_mask)]
        dots = iter(bind(while_tangents, [*cond_consts, *body_consts, *carry, *const_dots, *carry_dots], {
            **params, "n_consts": len(body_consts), "n_carry": len(carry)}))
        return outputs, [next(dots) if flag else Zero(type_of(o).tangent())
                         for flag, o in zip(carry_mask, outputs, strict=True)]

    # -- batching --------------------------------------------------------------------------------

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, cond: Program,
                    body: Program, n_cond: int, n_body: int) -> tuple[Outputs, list[bool]]:
        cond_flags, body_flags, carry_flags = cut(tuple(batched), n_cond, n_body)
        while True:
            out = body.memo(batch_program, size, (*body_flags, *carry_flags), axis_name)[1]
            grown = [a or b for a, b in zip(carry_flags, out, strict=True)]
            test = cond.memo(batch_program, size, (*cond_flags, *grown), axis_name)[1][0]
            if test:
                grown = [True] * len(grown)
            if grown == carry_flags:
                break
            carry_flags = grown
        cond_consts, body_consts, carry = cut(args, n_cond, n_body)
        carry = [broadcast(x, size) if want and not flag else x
                 for x, flag, want in zip(carry, batched[n_cond + n_body:], carry_flags, strict=True)]
        test_program = cond.memo(batch_program_with, size, (*cond_flags, *carry_flags), (test,), axis_name)
        step = body.memo(batch_program_with, size, (*body_flags, *carry_flags), tuple(carry_flags), axis_name)
        params = {"cond": test_program, "body": step, "n_cond": n_cond, "n_body": n_body}
        given = [*cond_consts, *body_consts, *carry]
        if test:
            # The condition's constants serve the body too: elements whose condition fails keep their carry.
            step = step.memo(_guarded, test_program, n_cond, n_body)
            params = {"cond": test_program.memo(_any), "body": step, "n_cond": n_cond, "n_body": n_cond + n_body}
            given = [*cond_consts, *cond_consts, *body_consts, *carry]
        return bind(self, given, params), list(carry_flags)

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
                          n_body=1, order=0)

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


class WhileTangents(Primitive):
    """The linear form of `while`: runs the loop again, with tangents, and returns the tangents alone.

    Operands: the condition's constants, the body's constants and the carry, then tangents of both.
    """

    programs = ("cond", "body")

    def _order(self, args: Sequence[Any], n_cond: int, n_body: int, n_consts: int, n_carry: int) -> list[Any]:
        cond_consts, consts, carry, rest = cut(args, n_cond, n_consts, n_carry)
        n_const_dots = n_body - n_consts
        return [*cond_consts, *consts, *rest[:n_const_dots], *carry, *rest[n_const_dots:]]

    def type(self, *types: ArrayType, n_cond: int, n_body: int, n_consts: int, n_carry: int, **params: Any
             ) -> list[ArrayType]:
        return self._order(types, n_cond, n_body, n_consts, n_carry)[n_cond + n_body + n_carry:]

    def expand(self, *args: Any, cond: Program, body: Program, n_cond: int, n_body: int, n_consts: int, n_carry: int
               ) -> Outputs:
        given = self._order(args, n_cond, n_body, n_consts, n_carry)
        results = bind(while_loop, given, {"cond": cond, "body": body, "n_cond": n_cond, "n_body": n_body})
        return results[n_carry:]

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        raise self.missing(
            "transpose rule: reverse mode through a while_loop needs the values of every step, and their number is not "
            "known", "use lax.scan, or lax.fori_loop with bounds that are Python ints; forward mode (jvp, jacfwd) works")

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        f, i = ArrayType((2,), dtypes.float32), ArrayType((), dtypes.int32)
        cond, _ = stage(lambda n, k, x, t: [TABLE["lt"](k, n)], [i, i, f, f], name="cond")
        body, _ = stage(lambda k, x, t: [TABLE["add"](k, np.int32(1)), TABLE["sin"](x),
                                         TABLE["mul"](t, TABLE["cos"](x))], [i, f, f], name="body")
        x, t = (rng.normal(size=2).astype(np.float32) for _ in range(2))
        yield Example(np.asarray(3, np.int32), np.asarray(0, np.int32), x, t, cond=cond, body=body, n_cond=1, n_body=0,
                      n_consts=0, n_carry=2, order=0)

    def oracle(self, jax: Any, n: Any, k: Any, x: Any, t: Any, **params: Any) -> Any:
        def loop(x: Any) -> Any:
            return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jax.numpy.sin(c[1])), (k, x))[1]
        return jax.jvp(loop, (x,), (t,))[1]


while_loop = While("while")
while_tangents = WhileTangents("while_tangents")
