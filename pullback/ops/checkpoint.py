"""Checkpointing: a function whose intermediate values are computed again in the backward pass.

`checkpoint` runs its program forward and keeps the inputs and what the policy names. Its linear form, `replay`,
computes the other residuals again when it is transposed. `name` marks a value for a policy; `optimization_barrier`
keeps XLA from merging the second computation with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program, Var, live
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp_program
from pullback.interpret.linearize import linearize_program
from pullback.interpret.stage import stage
from pullback.interpret.vmap import batch_program
from pullback.ops.call import AGAIN, call, call_program, inlined, spread

Policy = Callable[..., bool]


class Identity(Primitive):
    """Any number of values, unchanged."""

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        return list(types)

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        return list(arrays)

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        return list(values)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        live = [i for i, t in enumerate(tangents) if not isinstance(t, Zero)]
        dots = dict(zip(live, bind(self, [tangents[i] for i in live], params), strict=True)) if live else {}
        return bind(self, primals, params), [dots.get(i, t) for i, t in enumerate(tangents)]

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any], **params: Any) -> Sequence[Any]:
        return patterns

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        return [ct if isinstance(arg, Linear) else None for ct, arg in zip(cts, args, strict=True)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), list(batched)


class Barrier(Identity):
    """Values that XLA computes before it goes on, and does not compute again behind."""

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        return b.multi("stablehlo.optimization_barrier", values, [v.type for v in values])

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x, y = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
        yield Example(x, y, linear=(0, 1))
        yield Example(np.arange(3, dtype=np.int32), x)

    def oracle(self, jax: Any, *args: Any) -> Any:
        return jax.lax.optimization_barrier(args)


class Name(Identity):
    """A value with a name, for the policies of checkpoint."""

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=3).astype(np.float32), name="hidden", linear=(0,))

    def oracle(self, jax: Any, x: Any, *, name: str) -> Any:
        return jax.numpy.asarray(x)


class Checkpoint(Primitive):
    """program(*args), whose derivative keeps only the inputs and what `policy` says."""

    programs = ("program",)
    runs_program = True

    def type(self, *types: ArrayType, program: Program, policy: Policy | None) -> list[ArrayType]:
        return program.output_types

    def numpy(self, *arrays: np.ndarray, program: Program, policy: Policy | None) -> Outputs:
        return [concrete(x).numpy() for x in evaluate(program, [from_numpy(np.asarray(a)) for a in arrays])]

    def hlo(self, b: Any, *values: Any, program: Program, policy: Policy | None) -> Outputs:
        return b.call(program, values)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, policy: Policy | None
            ) -> tuple[Outputs, Outputs]:
        nonzero = tuple(not isinstance(t, Zero) for t in tangents)
        derived, mask = program.memo(jvp_program, nonzero)
        results = bind(self, [*primals, *(t for t in tangents if not isinstance(t, Zero))],
                       {"program": derived, "policy": policy})
        count = len(program.outputs)
        return results[:count], spread(results[count:], mask, program.output_types)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, policy: Policy | None
                  ) -> tuple[Outputs, Outputs]:
        nonzero = tuple(not isinstance(t, Zero) for t in tangents)
        pair = program.memo(inlined).memo(linearize_program, nonzero)
        count = len(program.outputs)
        plan = pair.forward.memo(_plan, count, pair.sources, policy)
        results = call_program(plan.forward, primals)
        given = [instantiate(t) for t in tangents if not isinstance(t, Zero)]
        if not any(pair.outputs):
            return results[:count], spread([], pair.outputs, program.output_types)
        dots = bind(replay, [*primals, *results[count:], *given], {
            "again": plan.again, "tangents": pair.linear, "count": len(primals) + len(results) - count})
        return results[:count], spread(dots, pair.outputs, program.output_types)

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *,
                    program: Program, policy: Policy | None) -> tuple[Outputs, list[bool]]:
        derived, mask = program.memo(batch_program, size, tuple(batched), axis_name)
        return bind(self, args, {"program": derived, "policy": policy}), list(mask)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return params["program"].axis_names  # type: ignore[no-any-return]

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["program"].effects  # type: ignore[no-any-return]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        t = ArrayType((3,), dtypes.float32)
        program, _ = stage(lambda x, y: [TABLE["sin"](TABLE["mul"](TABLE["cos"](x), y)), x], [t, t], name="example")
        x, y = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        for policy in (None, _saves_products):
            yield Example(x, y, program=program, policy=policy)

    def oracle(self, jax: Any, x: Any, y: Any, **params: Any) -> Any:
        return [jax.numpy.sin(jax.numpy.cos(x) * y), jax.numpy.asarray(x)]


def _saves_products(primitive: Primitive, *_: Any, **__: Any) -> bool:
    return primitive.name == "mul"


class _Plan:
    """`forward` gives the outputs and the saved values; `again` the residuals, from the inputs and the saved."""

    def __init__(self, forward: Program, again: Program) -> None:
        self.forward = forward
        self.again = again


def _plan(forward: Program, count: int, sources: tuple[tuple[str, int], ...], policy: Policy | None) -> _Plan:
    saved: list[Var] = []
    if policy is not None:
        for eqn in forward.equations:
            if policy(eqn.primitive, *[a.type for a in eqn.inputs], **eqn.params):
                saved += eqn.outputs
    residuals = [forward.inputs[i] if kind == "in" else forward.outputs[count + i] for kind, i in sources]
    # What no residual needs is not worth keeping.
    again = live(_unless(forward, set(saved)), residuals)
    read = {a for eqn in again for a in eqn.inputs} | set(residuals)
    saved = [v for v in saved if v in read]
    kept = [*forward.outputs[:count], *saved]
    return _Plan(Program(forward.inputs, live(forward.equations, kept), kept, forward.name),
                 Program([*forward.inputs, *saved], again, residuals, f"again_{forward.name}"))


def _unless(program: Program, known: set[Var]) -> list[Any]:
    """The equations that make something not known yet."""
    return [eqn for eqn in program.equations if not eqn.outputs or not known.issuperset(eqn.outputs)]


class Replay(Primitive):
    """The linear form of checkpoint: `again(*known)` gives the residuals of `tangents`, which takes the tangents.

    Operands: `count` known values, then tangents.
    """

    programs = ("again", "tangents")

    def type(self, *types: ArrayType, again: Program, tangents: Program, count: int) -> list[ArrayType]:
        return tangents.output_types

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any], *, again: Program, tangents: Program,
                count: int) -> Sequence[Any]:
        residuals = [None] * len(again.outputs)
        return follow(tangents, [*residuals, *patterns[count:]], [*residuals, *values[count:]])  # type: ignore[no-any-return]

    def expand(self, *args: Any, again: Program, tangents: Program, count: int) -> Outputs:
        return call_program(tangents, [*call_program(again, args[:count], AGAIN), *args[count:]])

    def transpose(self, cts: Sequence[Any], *args: Any, again: Program, tangents: Program, count: int) -> list[Any]:
        known = optimization_barrier_of(args[:count])
        residuals = call_program(again, known, AGAIN)
        back = call.transpose(cts, *residuals, *args[count:], program=tangents, name=tangents.name)
        return [None] * count + back[len(residuals):]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, again: Program, tangents: Program,
              count: int) -> tuple[Outputs, list[bool]]:
        repeated, flags = again.memo(batch_program, size, tuple(batched[:count]))
        given = [x if flag else broadcast(x, size) for x, flag in zip(args[count:], batched[count:], strict=True)]
        derived, mask = tangents.memo(batch_program, size, (*flags, *[True] * len(given)))
        return bind(self, [*args[:count], *given], {"again": repeated, "tangents": derived, "count": count}), list(mask)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        t = ArrayType((3,), dtypes.float32)
        again, _ = stage(lambda x: [TABLE["cos"](x)], [t], name="again")
        tangents, _ = stage(lambda c, d: [TABLE["mul"](c, d)], [t, t], name="linear")
        x, d = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        yield Example(x, d, again=again, tangents=tangents, count=1, order=0)

    def oracle(self, jax: Any, x: Any, d: Any, **params: Any) -> Any:
        return jax.numpy.cos(x) * d


def optimization_barrier_of(values: Sequence[Any]) -> list[Any]:
    """Values behind a barrier, so that what is computed from them is computed anew."""
    arrays = [i for i, v in enumerate(values) if not type_of(v).is_key]
    results = list(values)
    if arrays:
        for i, x in zip(arrays, bind(optimization_barrier, [values[i] for i in arrays], {}), strict=True):
            results[i] = x
    return results


optimization_barrier = Barrier("optimization_barrier")
name = Name("name")
checkpoint = Checkpoint("checkpoint")
replay = Replay("replay")
