"""Forward mode: every value carries its tangent.

A JVPTracer pairs a primal with a tangent. An operation whose operands carry no tangent belongs to the
parent trace; for any other the primitive's `jvp` rule runs, with the parent current, on the unwrapped
primals and tangents. Python control flow sees the primals, so it works as written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import config, dtypes, source
from pullback.core.primitive import Primitive
from pullback.core.program import Program
from pullback.core.trace import Trace, Tracer, base, current, opened, state, type_of
from pullback.core.types import Zero
from pullback.core.vector import instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.mark import run_marked
from pullback.interpret.stage import closed


class JVPTracer(Tracer):
    """A primal and its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any, at: source.Source | None = None) -> None:
        self.owner = trace
        self.primal = primal
        self.tangent = tangent
        self.type = type_of(primal)
        self.source = at or source.here()

    def concrete(self) -> Any:
        return self.primal

    def why_unknown(self) -> tuple[str, ...]:
        return self.primal.why_unknown() if isinstance(self.primal, Tracer) else ()


class JVPTrace(Trace):
    """Runs the `jvp` rules; with `linearizing`, the `linearize` rules (see linearize.py)."""

    def __init__(self, parent: Trace, linearizing: bool = False) -> None:
        self.parent = parent
        self.linearizing = linearizing
        self.eagerly = linearizing and parent.parent is base()  # the parent knows rules of eager operations

    def describe(self) -> str:
        return "grad/vjp" if self.linearizing else "jvp"

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        primals, tangents, mine = [], [], False
        for arg in args:
            if arg.__class__ is JVPTracer and arg.owner is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                mine = True
            else:
                primals.append(arg)
                tangents.append(None)
        if mine and self.eagerly and not config.unusual:
            done = self.parent.derive(primitive, primals, tangents, params)  # type: ignore[attr-defined]
            if done is not None:
                return [p if t is None else JVPTracer(self, p, t, t.source) for p, t in zip(*done, strict=True)]
        before, asked = state.trace, source.state.source
        state.trace = self.parent
        try:
            if not mine:
                return self.parent.process(primitive, args, params)
            if primitive.expands("linearize" if self.linearizing else "jvp"):
                state.trace = before
                return primitive.expand(*args, **params)  # type: ignore[no-any-return]
            for i, tangent in enumerate(tangents):
                if tangent is None:
                    tangents[i] = Zero(type_of(primals[i]).tangent())
            rule = primitive.linearize if self.linearizing else primitive.jvp
            if asked is None:
                source.state.source = source.on_stack()  # once, for all that the rule asks for
            if config.watched():
                outputs, tangents = run_marked(rule, primitive, self.parent, primals, tangents, params)
            else:
                outputs, tangents = rule(primals, tangents, **params)
            return [p if t.__class__ is Zero else JVPTracer(self, p, t) for p, t in zip(outputs, tangents, strict=True)]
        finally:
            state.trace, source.state.source = before, asked

    def join(self, primal: Any, tangent: Any) -> Any:
        return primal if isinstance(tangent, Zero) else JVPTracer(self, primal, tangent)

    def split(self, value: Any) -> tuple[Any, Any]:
        """The primal and the tangent (perhaps a symbolic zero) of any value."""
        if type(value) is JVPTracer and value.owner is self:
            return value.primal, value.tangent
        return value, Zero(type_of(value).tangent())


def jvp(function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
        ) -> tuple[list[Any], list[Any]]:
    """Values and tangents of the outputs of a flat function; tangents in and out may be Zero."""
    trace = JVPTrace(current())
    args = [trace.join(p, t) for p, t in zip(primals, tangents, strict=True)]
    with opened(trace):
        outputs = function(*args)
    pairs = [trace.split(value) for value in outputs]
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_program(program: Program, nonzero: tuple[bool, ...]) -> tuple[Program, tuple[bool, ...]]:
    """The program of values and tangents.

    Its inputs are the program's inputs and a tangent for each input marked in `nonzero`; its outputs
    the program's outputs and a tangent for each output marked in the returned mask. Use it through
    `program.memo(jvp_program, nonzero)`.
    """
    return _jvp_program(program, nonzero, None)


def jvp_program_with(program: Program, nonzero: tuple[bool, ...], outputs: tuple[bool, ...]) -> Program:
    """`jvp_program` with the outputs' tangents marked in `outputs`, zeros made into arrays."""
    return _jvp_program(program, nonzero, outputs)[0]


def _jvp_program(program: Program, nonzero: tuple[bool, ...], wanted: tuple[bool, ...] | None
                 ) -> tuple[Program, tuple[bool, ...]]:
    types = program.input_types
    mask: list[bool] = []

    def values_and_tangents(*args: Any) -> list[Any]:
        primals, rest = args[: len(types)], iter(args[len(types):])
        tangents = [next(rest) if flag else Zero(t.tangent()) for flag, t in zip(nonzero, types, strict=True)]
        outputs, tangents = jvp(lambda *xs: evaluate(program, xs), primals, tangents)
        mask.extend(wanted if wanted is not None else [not isinstance(t, Zero) for t in tangents])
        return outputs + [instantiate(t) for t, flag in zip(tangents, mask, strict=True) if flag]

    tangent_types = [t.tangent() for t, flag in zip(types, nonzero, strict=True) if flag]
    derived = closed(values_and_tangents, types + tangent_types, name=f"jvp_{program.name}", what="jvp")
    return derived, tuple(mask)


def inexact(type: Any) -> bool:
    """Whether values of this type have tangents."""
    return dtypes.is_inexact(type.dtype)
