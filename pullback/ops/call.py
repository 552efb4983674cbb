"""The call of a jitted function: a program as one equation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp_program
from pullback.interpret.linearize import linearize_program
from pullback.interpret.stage import stage
from pullback.interpret.transpose import transpose_program
from pullback.interpret.vmap import batch_program


def spread(values: Sequence[Any], mask: Sequence[bool], types: Sequence[ArrayType]) -> list[Any]:
    """`values` at the marked places, symbolic zeros elsewhere."""
    given = iter(values)
    return [next(given) if flag else Zero(t.tangent()) for flag, t in zip(mask, types, strict=True)]

# The name of a call that computes again what has been computed: its random numbers are meant to be the same.
AGAIN = "again:"


class Call(Primitive):
    """program(*args). Every rule is the same rule applied to the program, remembered in its memo."""

    programs = ("program",)
    runs_program = True

    def type(self, *types: ArrayType, program: Program, name: str) -> list[ArrayType]:
        return program.output_types

    def numpy(self, *arrays: np.ndarray, program: Program, name: str) -> Outputs:
        return [concrete(x).numpy() for x in evaluate(program, [from_numpy(np.asarray(a)) for a in arrays])]

    def hlo(self, b: Any, *values: Any, program: Program, name: str) -> Outputs:
        return b.call(program, values)

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any], *, program: Program, name: str
                ) -> Sequence[Any]:
        return follow(program, patterns, values)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, name: str
            ) -> tuple[Outputs, Outputs]:
        nonzero = tuple(not isinstance(t, Zero) for t in tangents)
        derived, mask = program.memo(jvp_program, nonzero)
        results = bind(self, [*primals, *(t for t in tangents if not isinstance(t, Zero))],
                       {"program": derived, "name": name})
        count = len(program.outputs)
        return results[:count], spread(results[count:], mask, program.output_types)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, name: str
                  ) -> tuple[Outputs, Outputs]:
        nonzero = tuple(not isinstance(t, Zero) for t in tangents)
        pair = program.memo(linearize_program, nonzero)
        results = bind(self, primals, {"program": pair.forward, "name": name})
        count = len(program.outputs)
        residuals = pair.residuals(primals, results[count:])
        given = [t for t in tangents if not isinstance(t, Zero)]
        linear = bind(self, [*residuals, *given], {"program": pair.linear, "name": name}) \
            if any(pair.outputs) else []
        return results[:count], spread(linear, pair.outputs, program.output_types)

    def transpose(self, cts: Sequence[Any], *args: Any, program: Program, name: str) -> list[Any]:
        linear = tuple(isinstance(arg, Linear) for arg in args)
        nonzero = tuple(not isinstance(ct, Zero) for ct in cts)
        derived, mask = program.memo(transpose_program, linear, nonzero)
        known = [arg for arg in args if not isinstance(arg, Linear)]
        results = iter(bind(self, [*known, *(ct for ct in cts if not isinstance(ct, Zero))],
                            {"program": derived, "name": name}))
        reached = iter(mask)
        return [(next(results) if next(reached) else Zero(arg.type)) if flag else None
                for flag, arg in zip(linear, args, strict=True)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, program: Program, name: str
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, program=program, name=name)

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *,
                    program: Program, name: str) -> tuple[Outputs, list[bool]]:
        derived, mask = program.memo(batch_program, size, tuple(batched), axis_name)
        return bind(self, args, {"program": derived, "name": name}), list(mask)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return params["program"].axis_names

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["program"].effects

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        t = ArrayType((3,), dtypes.float32)
        program, _ = stage(lambda x, y: [TABLE["mul"](TABLE["sin"](x), y), x], [t, t], name="example")
        x, y = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        yield Example(x, y, program=program, name="example")

    def oracle(self, jax: Any, x: Any, y: Any, *, program: Program, name: str) -> Any:
        return jax.jit(lambda x, y: [jax.numpy.sin(x) * y, x])(x, y)


call = Call("jit")


def call_program(program: Program, args: Sequence[Any], name: str = "") -> list[Any]:
    """Binds a program on `args` as one equation."""
    assert len(args) == len(program.inputs), (len(args), program)
    assert all(type_of(a).shape == v.type.shape for a, v in zip(args, program.inputs, strict=True))
    return bind(call, args, {"program": program, "name": name or program.name})


def handles_keys(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation is one of random keys, or carries a program that has one."""
    if primitive.name.startswith("random_") or primitive.name == "rng_bit_generator":
        return True
    carried = [params[name] for name in primitive.programs]
    programs = [p for value in carried for p in (value if isinstance(value, tuple) else (value,))]
    return any(isinstance(p, Program) and p.memo(draws) for p in programs)


def draws(program: Program) -> bool:
    """Whether a program handles random keys. Use it through `program.memo(draws)`."""
    return any(handles_keys(eqn.primitive, eqn.params) for eqn in program.equations)


def repeated(program: Program) -> Program:
    """The program as a call that computes again (`AGAIN`), where it draws random numbers."""
    if not program.memo(draws):
        return program
    return stage(lambda *xs: call_program(program, xs, AGAIN), program.input_types, name=program.name)[0]


def inlined(program: Program) -> Program:
    """The program with the jitted functions it calls written out. Use it through `program.memo(inlined)`."""
    if not any(eqn.primitive is call for eqn in program.equations):
        return program
    return stage(lambda *xs: evaluate(program, xs, _write_out), program.input_types, name=program.name)[0]


def _write_out(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """An operation bound as it is; a call replaced by the operations of its program."""
    if primitive is call:
        return evaluate(params["program"], operands, _write_out)
    return bind(primitive, operands, params)
