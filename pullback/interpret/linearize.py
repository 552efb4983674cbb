"""The forward pass of reverse mode: run a function now, and record the linear program of its tangents.

linearize is forward mode in which the tangents are variables of a program being recorded. A LinearTrace
hands every operation that touches none of its variables to its parent: it runs now. Every operation on a
tangent is recorded. Running the ordinary `jvp` rules under it gives both halves at once; the values that the
linear program needs are what it captured: the residuals. There is no partial evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import source
from pullback.core.primitive import Primitive
from pullback.core.program import Program, Var, live
from pullback.core.trace import Trace, close, current, opened, state, type_of
from pullback.core.types import Zero
from pullback.core.vector import instantiate, zeros
from pullback.interpret import tape
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import JVPTrace, JVPTracer, inexact
from pullback.interpret.stage import RecordedTracer, Recorder, closed


class LinearTrace(Recorder):
    """Records what happens to tangents; everything else runs now, under the parent."""

    equations: list[Any]  # and entries of the tape, until the program is finished

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent

    def describe(self) -> str:
        return "grad/vjp"

    def derive(self, primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
               ) -> tuple[list[Any], list[Any]] | None:
        """The results of an operation and their tangents by a rule that is on the tape; None if there is none."""
        given = []
        for t in tangents:
            if t is not None:
                if t.__class__ is not RecordedTracer or t.owner is not self:
                    return None
                given.append(t.variable)
        rule = tape.find(primitive, primals, tuple([t is not None for t in tangents]), params, self.parent,
                         linearize_program)
        if rule is None:
            return None
        made = rule.run(primals)
        everything = [*primals, *made]
        where, outputs = source.here(), [Var(a.type) for a in rule.linear.outputs]
        if outputs:
            self.equations.append(tape.Entry(rule, [everything[i] for i in rule.residuals], given, outputs, where,
                                             source.state.scope))
        return made[:rule.results], [i if i is None else RecordedTracer(self, outputs[i], where)
                                     for i in rule.tangents]

    def finish(self, outputs: Sequence[Any], name: str) -> tuple[Program, list[Any]]:
        def record() -> tuple[Program, list[Any]]:
            self.equations = [eqn for written in self.equations for eqn in (
                written.equations(self.atom) if written.__class__ is tape.Entry else [written])]
            return prune(*super(LinearTrace, self).finish(outputs, name))

        known = None
        if all([t.__class__ is RecordedTracer and t.owner is self for t in outputs]):
            known = tape.program(self.equations, self.inputs, [t.variable for t in outputs], record)
        return known or record()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        for arg in args:
            if arg.__class__ is RecordedTracer and arg.owner is self:
                return self.record(primitive, args, params)
        before, state.trace = state.trace, self.parent
        try:
            return self.parent.process(primitive, args, params)
        finally:
            state.trace = before


class Linearized:
    """A linear function, as a program over residuals and tangents.

    `program` takes the `residuals`, then one tangent for each input marked in `inputs`; its outputs
    are one tangent for each output marked in `outputs`.
    """

    __slots__ = ("inputs", "outputs", "program", "residuals")

    def __init__(self, program: Program, residuals: list[Any], inputs: tuple[bool, ...],
                 outputs: tuple[bool, ...]) -> None:
        self.program = program
        self.residuals = residuals
        self.inputs = inputs
        self.outputs = outputs

    @property
    def linear(self) -> tuple[bool, ...]:
        """Which inputs of `program` are tangents."""
        return (False,) * len(self.residuals) + (True,) * sum(self.inputs)


def linearize(function: Callable[..., Sequence[Any]], primals: Sequence[Any],
              nonzero: Sequence[bool] | None = None, wanted: Sequence[bool] | None = None
              ) -> tuple[list[Any], Linearized]:
    """The outputs of a flat function and its derivative at `primals`.

    Args:
      nonzero: the inputs to differentiate by; None: all that have tangents.
      wanted: the outputs to give a tangent for, zero or not; None: those that are not known to be zero.
    """
    linear = LinearTrace(current())
    trace = JVPTrace(linear, linearizing=True)
    types = [type_of(p) for p in primals]
    mask = tuple([inexact(t) and (nonzero is None or nonzero[i]) for i, t in enumerate(types)])
    args = [JVPTracer(trace, p, linear.input(t.tangent())) if flag else p
            for p, t, flag in zip(primals, types, mask, strict=True)]
    with opened(trace):
        outputs = function(*args)
    pairs = [trace.split(value) for value in outputs]
    kept = tuple([not isinstance(t, Zero) for _, t in pairs]) if wanted is None else tuple(wanted)
    tangents = [linear.record(zeros, (), {"of": t.type})[0] if isinstance(t, Zero) else t
                for (_, t), flag in zip(pairs, kept, strict=True) if flag]
    program, residuals = linear.finish(tangents, "linear")
    close(linear)
    return [p for p, _ in pairs], Linearized(program, residuals, mask, kept)


def prune(program: Program, captured: list[Any]) -> tuple[Program, list[Any]]:
    """Drops equations that no output needs, and the residuals that only they needed."""
    kept = live(program.equations, program.outputs)
    needed = {a for eqn in kept for a in eqn.inputs} | set(program.outputs)
    number = len(captured)
    held = [(var, value) for var, value in zip(program.inputs[:number], captured, strict=True) if var in needed]
    inputs = [var for var, _ in held] + list(program.inputs[number:])
    return Program(inputs, kept, program.outputs, program.name), [value for _, value in held]


class LinearizedProgram:
    """`linearize` of a program: a forward program, and the linear program of its tangents.

    `forward` takes the program's inputs; its outputs are the program's outputs and the residuals that
    are not inputs. `linear` takes all residuals, then the tangents. `sources` says where each residual
    is found: ('in', i) the i-th input, ('out', j) the j-th further output of `forward`.
    """

    __slots__ = ("forward", "linear", "outputs", "sources")

    def __init__(self, forward: Program, linear: Program, outputs: tuple[bool, ...],
                 sources: tuple[tuple[str, int], ...]) -> None:
        self.forward = forward
        self.linear = linear
        self.outputs = outputs
        self.sources = sources

    def residuals(self, inputs: Sequence[Any], extra: Sequence[Any]) -> list[Any]:
        """The residuals, from the inputs of `forward` and its further outputs."""
        return [inputs[i] if kind == "in" else extra[i] for kind, i in self.sources]


def linearize_program(program: Program, nonzero: tuple[bool, ...], wanted: tuple[bool, ...] | None = None
                      ) -> LinearizedProgram:
    """See LinearizedProgram. Use it through `program.memo(linearize_program, nonzero)`.

    Args:
      wanted: the outputs to give a tangent for, as in `linearize`.
    """
    types = program.input_types
    found: list[Any] = []

    def forward(*args: Any) -> list[Any]:
        outputs, linearized = linearize(lambda *xs: evaluate(program, xs), args, nonzero, wanted)
        positions = {id(arg): i for i, arg in enumerate(args)}
        extra: list[Any] = []
        sources: list[tuple[str, int]] = []
        for residual in linearized.residuals:
            if id(residual) in positions:
                sources.append(("in", positions[id(residual)]))
            else:
                sources.append(("out", len(extra)))
                extra.append(residual)
        found.extend([linearized, tuple(sources)])
        return outputs + extra

    staged = closed(forward, types, name=f"forward_{program.name}", what="grad/vjp")
    linearized, sources = found
    return LinearizedProgram(staged, linearized.program, linearized.outputs, sources)


def apply(linearized: Linearized, tangents: Sequence[Any]) -> list[Any]:
    """The output tangents for given input tangents (one per input; Zero allowed), Zero where none."""
    given = [instantiate(t) for t, flag in zip(tangents, linearized.inputs, strict=True) if flag]
    results = iter(evaluate(linearized.program, [*linearized.residuals, *given]))
    return [next(results) if flag else None for flag in linearized.outputs]


def tangent_map(function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
                ) -> tuple[list[Any], list[Any]]:
    """Forward mode by way of `linearize`: what happens to the tangents is linear in them, and has a transpose."""
    outputs, linearized = linearize(function, primals, [not isinstance(t, Zero) for t in tangents])
    return outputs, [Zero(type_of(o).tangent()) if t is None else t
                     for o, t in zip(outputs, apply(linearized, tangents), strict=True)]
