"""cond: one of several programs, chosen at run time by an index."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program, Var
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp_program, jvp_program_with
from pullback.interpret.linearize import linearize_program
from pullback.interpret.stage import stage
from pullback.interpret.transpose import transpose_program, transpose_program_full
from pullback.interpret.vmap import batch_program, batch_program_with
from pullback.ops import dependence
from pullback.ops.call import call_program, draws, spread
from pullback.ops.check import EFFECT, only_where
from pullback.ops.scan import pick
from pullback.ops.taylor import collect, jet_program, moves

Branches = tuple[Program, ...]

# In vmap all branches of a choice run, as calls whose names say which choice and branch they are.
_CHOICE = "choice:"
_choices = itertools.count()


def _union(masks: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(any(flags) for flags in zip(*masks, strict=True))


class Cond(Primitive):
    """branches[clamp(index)](*operands). The index is i32[]; all branches have the same types."""

    programs = ("branches",)

    def type(self, index: ArrayType, *types: ArrayType, branches: Branches) -> list[ArrayType]:  # type: ignore[override]
        return branches[0].output_types

    def numpy(self, index: np.ndarray, *arrays: np.ndarray, branches: Branches) -> Outputs:  # type: ignore[override]
        chosen = branches[min(max(int(index), 0), len(branches) - 1)]
        return [np.asarray(concrete(x)) for x in evaluate(chosen, [from_numpy(np.asarray(a)) for a in arrays])]

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any], *, branches: Branches
                ) -> Sequence[Any]:
        made = [follow(branch, patterns[1:], values[1:]) for branch in branches]
        return [dependence.joined(parts) for parts in zip(*made, strict=True)]

    def hlo(self, b: Any, index: Any, *values: Any, branches: Branches) -> Outputs:
        out_types = list(b.outputs)
        ordered = any("ordered" in p.effects for p in branches)
        if not out_types and not any(p.effects for p in branches):
            return []
        before = b.token if ordered else None
        # Branches without results have effects; they return a number, since XLA wants every branch to.
        extra = ordered or not out_types

        def branch(inner: Any, program: Program) -> list[Any]:
            if ordered:
                inner.token = before
            results = inner.program(program, values)
            return [*results, inner.token] if extra else results

        regions = [b.region([], lambda inner, p=p: branch(inner, p)) for p in branches]
        # StableHLO sends an index out of range to the last branch; a negative one must go to the first.
        index = b.max(index, b.full(0, index.type))
        results = b.multi("stablehlo.case", [index], [*out_types, ArrayType((), dtypes.int32)] if extra else out_types,
                          "", regions)
        if extra:
            token = results.pop()
            if ordered:
                b.token = token
        return results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches) -> tuple[Outputs, Outputs]:
        index, *operands = primals
        dots = tangents[1:]
        mask = tuple(not isinstance(t, Zero) for t in dots)
        out_mask = _union(p.memo(jvp_program, mask)[1] for p in branches)
        derived = tuple(p.memo(jvp_program_with, mask, out_mask) for p in branches)
        results = bind(self, [index, *operands, *pick(dots, mask)], {"branches": derived})
        types = branches[0].output_types
        return results[:len(types)], spread(results[len(types):], out_mask, types)

    def jet(self, order: int, primals: Sequence[Any], series: Sequence[Any], *, branches: Branches
            ) -> tuple[Outputs, Outputs]:
        mask = tuple(moves(s) for s in series[1:])
        derived = tuple(p.memo(jet_program, order, mask) for p in branches)
        terms = [instantiate(t) for s in series[1:] if moves(s) for t in s]
        return collect(bind(self, [*primals, *terms], {"branches": derived}), len(branches[0].outputs), order)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches
                  ) -> tuple[Outputs, Outputs]:
        index, *operands = primals
        dots = tangents[1:]
        mask = tuple(not isinstance(t, Zero) for t in dots)
        out_mask = _union(p.memo(linearize_program, mask).outputs for p in branches)
        pairs = [p.memo(linearize_program, mask, out_mask) for p in branches]
        # Each branch saves residuals of its own; the branches not taken give zeros in their places.
        extra_types = [pair.forward.output_types[len(p.outputs):] for p, pair in zip(branches, pairs, strict=True)]
        forwards = tuple(pair.forward.memo(_padded, i, tuple(map(tuple, extra_types)), len(branches[0].outputs))
                         for i, pair in enumerate(pairs))
        results = bind(self, primals, {"branches": forwards})
        types = branches[0].output_types
        outputs, extras = results[:len(types)], results[len(types):]
        if not any(out_mask):
            return outputs, spread([], out_mask, types)
        linears = tuple(pair.linear.memo(_picking, i, pair.sources, tuple(map(tuple, extra_types)),
                                         tuple(type_of(x) for x in operands)) for i, pair in enumerate(pairs))
        found = bind(self, [index, *operands, *extras, *pick(dots, mask)], {"branches": linears})
        return outputs, spread(found, out_mask, types)

    def transpose(self, cts: Sequence[Any], index: Any, *args: Any, branches: Branches) -> list[Any]:
        linear = tuple(isinstance(arg, Linear) for arg in args)
        live = tuple(not isinstance(ct, Zero) for ct in cts)
        reached = _union(p.memo(transpose_program, linear, live)[1] for p in branches)
        known = [arg for arg in args if not isinstance(arg, Linear)]
        derived = tuple(p.memo(transpose_program_full, linear, live).memo(_outputs, reached) for p in branches)
        results = iter(bind(self, [index, *known, *pick(cts, live)], {"branches": derived}))
        flags = iter(reached)
        return [None, *((next(results) if next(flags) else Zero(arg.type)) if flag else None
                        for arg, flag in zip(args, linear, strict=True))]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *,
                    branches: Branches) -> tuple[Outputs, list[bool]]:
        index, *operands = args
        mask = tuple(batched[1:])
        if not batched[0]:
            out_mask = _union(p.memo(batch_program, size, mask, axis_name)[1] for p in branches)
            derived = tuple(p.memo(batch_program_with, size, mask, out_mask, axis_name) for p in branches)
            return bind(self, args, {"branches": derived}), list(out_mask)
        # A batched index: every branch runs, and each element takes its own.
        everything = (True,) * len(branches[0].outputs)
        operands = [x if flag else broadcast(x, size) for x, flag in zip(operands, mask, strict=True)]
        full = (True,) * len(mask)
        index = TABLE["clamp"](np.int32(0), index, np.int32(len(branches) - 1))
        results, choice = [], next(_choices)
        for i, p in enumerate(branches):
            branch, given = p.memo(batch_program_with, size, full, everything, axis_name), operands
            if EFFECT in p.effects:
                branch, given = branch.memo(only_where, size), [TABLE["eq"](index, np.int32(i)), *operands]
            results.append(call_program(branch, given, f"{_CHOICE}{choice}:{i}")
                           if p.memo(draws) else evaluate(branch, given))
        return [_select(index, list(cases)) for cases in zip(*results, strict=True)], list(everything)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return frozenset().union(*(p.axis_names for p in params["branches"]))

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset().union(*(p.effects for p in params["branches"]))

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        t = ArrayType((2,), dtypes.float32)
        branches = tuple(stage(f, [t, t], name="branch")[0] for f in (
            lambda x, y: [TABLE["sin"](x), y], lambda x, y: [TABLE["mul"](x, y), x],
            lambda x, y: [y, TABLE["exp"](TABLE["cos"](y))]))
        x, y = (rng.normal(size=2).astype(np.float32) for _ in range(2))
        for index in (-1, 0, 1, 2, 5):
            yield Example(np.asarray(index, np.int32), x, y, branches=branches)

    def oracle(self, jax: Any, index: Any, x: Any, y: Any, *, branches: Branches) -> Any:
        jnp = jax.numpy
        return jax.lax.switch(index, [lambda x, y: [jnp.sin(x), y], lambda x, y: [x * y, x],
                                      lambda x, y: [y, jnp.exp(jnp.cos(y))]], x, y)


def share(programs: Sequence[tuple[Program, list[Any]]]) -> tuple[list[Program], list[Any]]:
    """Programs that captured different values, made to take the values of all of them, in one order."""
    values: dict[int, Any] = {}
    for _, captured in programs:
        values.update((id(v), v) for v in captured)
    shared = []
    for program, captured in programs:
        own = {id(v): var for v, var in zip(captured, program.inputs, strict=False)}
        leading = [own.get(key) or Var(type_of(v)) for key, v in values.items()]
        shared.append(Program([*leading, *program.inputs[len(captured):]], program.equations, program.outputs,
                              program.name))
    return shared, list(values.values())


def _select(index: Any, cases: list[Any]) -> Any:
    t = type_of(cases[0])
    if t.ndim > 1:
        index = TABLE["broadcast_in_dim"](index, shape=t.shape, dims=(0,))
    if t.is_key:
        raise AssertionError("key arrays are unwrapped before they reach a branch")
    if len(cases) == 1:
        return cases[0]
    if len(cases) == 2:
        index = TABLE["ne"](index, np.int32(0))
    return TABLE["select_n"](index, *cases)


def _padded(forward: Program, branch: int, extra_types: tuple[tuple[ArrayType, ...], ...], n_outputs: int) -> Program:
    """A branch's forward program with places for the residuals of all branches."""
    def run(*xs: Any) -> list[Any]:
        results = evaluate(forward, xs)
        padded = results[:n_outputs]
        for i, types in enumerate(extra_types):
            padded += results[n_outputs:] if i == branch else [instantiate(Zero(t)) for t in types]
        return padded
    return stage(run, forward.input_types, name=forward.name)[0]


def _picking(linear: Program, branch: int, sources: tuple[tuple[str, int], ...],
             extra_types: tuple[tuple[ArrayType, ...], ...], operand_types: tuple[ArrayType, ...]) -> Program:
    """A branch's linear program that takes all operands and all branches' residuals, and uses its own."""
    dots = linear.input_types[len(sources):]
    everything = [*operand_types, *(t for types in extra_types for t in types)]
    start = len(operand_types) + sum(len(types) for types in extra_types[:branch])

    def run(*xs: Any) -> list[Any]:
        residuals = [xs[i] if kind == "in" else xs[start + i] for kind, i in sources]
        return evaluate(linear, [*residuals, *xs[len(everything):]])
    return stage(run, [*everything, *dots], name=linear.name)[0]


def _outputs(program: Program, kept: tuple[bool, ...]) -> Program:
    return Program(program.inputs, program.equations, pick(program.outputs, kept), program.name)


def choice_of(name: str | None) -> tuple[str, str] | None:
    """The choice and the branch of it that a call stands for, by the call's name."""
    if not name or not name.startswith(_CHOICE):
        return None
    choice, branch = name.removeprefix(_CHOICE).split(":")
    return choice, branch


cond = Cond("cond")
