"""The solution of a linear system whose matrix is known by what it does: lax.custom_linear_solve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import add, broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp as forward_mode
from pullback.interpret.linearize import tangent_map
from pullback.interpret.stage import stage
from pullback.interpret.vmap import batch_program_with

Programs = tuple[Program, ...]


def cut(values: Sequence[Any], programs: Programs) -> tuple[list[Sequence[Any]], Sequence[Any]]:
    """The constants of each program, and the right-hand side."""
    n = len(programs[0].outputs)
    groups: list[Sequence[Any]] = []
    start = 0
    for program in programs:
        end = start + len(program.inputs) - n
        groups.append(values[start:end])
        start = end
    return groups, values[start:]


class LinearSolve(Primitive):
    """x with matvec(x) = b, and whatever `solve` returns beside it.

    Params: programs (matvec, solve), and after them (vecmat, transpose_solve) where the transpose is known. Operands:
    the constants of each, in that order, then b. Derivatives come from the equation, never through `solve`.
    """

    programs = ("programs",)

    def type(self, *types: ArrayType, programs: Programs) -> list[ArrayType]:
        return programs[1].output_types

    def expand(self, *args: Any, programs: Programs) -> Outputs:
        groups, b = cut(args, programs)
        return evaluate(programs[1], [*groups[1], *b])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, programs: Programs) -> tuple[Outputs, Outputs]:
        return self._derivative(primals, tangents, programs, forward_mode)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, programs: Programs
                  ) -> tuple[Outputs, Outputs]:
        return self._derivative(primals, tangents, programs, tangent_map)

    def _derivative(self, primals: Sequence[Any], tangents: Sequence[Any], programs: Programs,
                    derive: Callable[..., tuple[list[Any], list[Any]]]) -> tuple[Outputs, Outputs]:
        """dx solves matvec(dx) = db - d(matvec) x."""
        groups, _ = cut(primals, programs)
        dots, rhs = cut(tangents, programs)
        n = len(rhs)
        outputs = bind(self, primals, {"programs": programs})
        x = outputs[:n]
        rhs = list(rhs)
        if not all(isinstance(t, Zero) for t in dots[0]):
            moved = derive(lambda *consts: evaluate(programs[0], [*consts, *x]), groups[0], dots[0])[1]
            rhs = [t if isinstance(m, Zero) else add(t, TABLE["neg"](m)) for t, m in zip(rhs, moved, strict=True)]
        zeros = [Zero(type_of(o).tangent()) for o in outputs]
        if all(isinstance(t, Zero) for t in rhs):
            return outputs, zeros
        consts = [c for group in groups for c in group]
        solved = bind(self, [*consts, *[instantiate(t) for t in rhs]], {"programs": programs})
        return outputs, [*solved[:n], *zeros[n:]]

    def transpose(self, cts: Sequence[Any], *args: Any, programs: Programs) -> list[Any]:
        if len(programs) < 4:
            raise self.missing("transpose: reverse mode solves the transposed system",
                               "pass transpose_solve= to custom_linear_solve, or symmetric=True")
        groups, b = cut(args, programs)
        consts = [c for group in groups[2:] + groups[:2] for c in group]
        solved = bind(self, [*consts, *[instantiate(ct) for ct in cts[:len(b)]]],
                      {"programs": programs[2:] + programs[:2]})
        return [None] * len(consts) + solved[:len(b)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *,
                    programs: Programs) -> tuple[Outputs, list[bool]]:
        flags, b_flags = cut(list(batched), programs)
        n = len(b_flags)
        derived = tuple(
            program.memo(batch_program_with, size, (*mask, *[True] * n), (True,) * len(program.outputs), axis_name)
            for program, mask in zip(programs, flags, strict=True))
        start = len(args) - n
        b = [x if flag else broadcast(x, size) for x, flag in zip(args[start:], b_flags, strict=True)]
        outputs = bind(self, [*args[:start], *b], {"programs": derived})
        return outputs, [True] * len(outputs)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return frozenset().union(*(program.axis_names for program in params["programs"]))

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["programs"][1].effects  # type: ignore[no-any-return]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        t = ArrayType((3,), dtypes.float32)
        times, _ = stage(lambda d, x: [TABLE["mul"](d, x)], [t, t], name="matvec")
        over, _ = stage(lambda d, b: [TABLE["div"](b, d)], [t, t], name="solve")
        d, b = (rng.uniform(0.5, 2, size=3).astype(np.float32) for _ in range(2))
        # The constants belong together: a numeric derivative by one of them alone means nothing.
        yield Example(d, d, d, d, b, programs=(times, over, times, over), fixed=(0, 1, 2, 3), linear=(4,))

    def oracle(self, jax: Any, *args: Any, programs: Programs) -> Any:
        return jax.lax.custom_linear_solve(lambda x: args[0] * x, args[-1], lambda _, b: b / args[1])


linear_solve = LinearSolve("custom_linear_solve")
