"""Programs cut down to what is needed (jax.interpreters.partial_eval).

Rules for partial evaluation have no place here: reverse mode records a linear program by running the `jvp` rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback.api.stages import ClosedProgram, OpenProgram
from pullback.core import errors
from pullback.core.program import Literal, Program, live
from pullback.core.types import ArrayType
from pullback.extend.linear_util import WrappedFun
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage
from pullback.runtime.device import as_array

__all__ = ["PartialVal", "close_jaxpr", "dce_jaxpr", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits"]


class PartialVal(NamedTuple):
    """A value that is known (`const`), or of which the type is (`pv`, an aval)."""

    pv: ArrayType | None
    const: Any

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: ArrayType) -> PartialVal:
        return cls(aval, None)

    def is_known(self) -> bool:
        return self.pv is None

    def get_aval(self) -> ArrayType:
        return self.pv if self.pv is not None else as_array(self.const).type  # type: ignore[no-any-return]


def trace_to_jaxpr_dynamic(fun: WrappedFun, in_avals: Sequence[ArrayType], **_: Any
                           ) -> tuple[OpenProgram, list[ArrayType], list[Any]]:
    """The program of a function of flat values.

    Args:
      fun: the function, as `linear_util.wrap_init` gives it; takes and returns leaves.
      in_avals: a type for each argument.

    Returns:
      (program, types of its outputs, values of its constants).
    """
    program, captured = stage(lambda *xs: [as_array(x) for x in fun.call_wrapped(*xs)], list(in_avals),
                              name=fun.__name__, what="trace_to_jaxpr_dynamic")
    return OpenProgram(program, len(captured)), program.output_types, captured


def trace_to_jaxpr_nounits(fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
                           ) -> tuple[OpenProgram, list[PartialVal], list[Any]]:
    """The program of what follows from unknown arguments; what follows from known values alone is computed.

    Args:
      fun: a function of leaves that returns leaves.
      pvals: for each argument its value or its type.
      instantiate: whether known outputs are outputs of the program too; a bool for all.

    Returns:
      (program of the unknown arguments, whose outputs are the unknown ones; a PartialVal for each output of the
      function; values of the program's constants).
    """
    pvals = [PartialVal(*p) for p in pvals]

    def flat(*unknown: Any) -> list[Any]:
        given = iter(unknown)
        return [as_array(x) for x in fun.call_wrapped(*[p.const if p.is_known() else next(given) for p in pvals])]

    program, captured = stage(flat, [p.pv for p in pvals if p.pv is not None], name=fun.__name__,
                              what="trace_to_jaxpr_nounits")
    depend = set(program.inputs[len(captured):])
    for eqn in program.equations:
        if eqn.effects or not depend.isdisjoint([a for a in eqn.inputs if not isinstance(a, Literal)]):
            depend.update(eqn.outputs)
    wanted = [instantiate] * len(program.outputs) if isinstance(instantiate, bool) else list(instantiate)
    unknown = [keep or a in depend for a, keep in zip(program.outputs, wanted, strict=True)]
    known = [a for a, flag in zip(program.outputs, unknown) if not flag]
    first = program.inputs[:len(captured)]
    values = iter(evaluate(Program(first, live([e for e in program.equations if depend.isdisjoint(e.outputs)], known),
                                   known), captured))
    rest = [a for a, flag in zip(program.outputs, unknown) if flag]
    open_program = OpenProgram(Program(program.inputs, live(program.equations, rest), rest, program.name),
                               len(captured))
    return open_program, [PartialVal.unknown(a.type) if flag else PartialVal.known(next(values))
                          for a, flag in zip(program.outputs, unknown)], captured


def close_jaxpr(jaxpr: OpenProgram) -> ClosedProgram:
    """A program without constants as one that takes none."""
    return ClosedProgram(jaxpr.program, [])


def dce_jaxpr(jaxpr: OpenProgram, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
              ) -> tuple[OpenProgram, list[bool]]:
    """The program without the equations that the used outputs do not need.

    Args:
      used_outputs: which outputs are wanted; a bool for all.
      instantiate: inputs to keep whether they are needed or not; a bool for all.

    Returns:
      (program, which inputs it takes). Equations with effects stay.
    """
    program = jaxpr.program

    def mask(flags: bool | Sequence[bool], count: int, what: str) -> list[bool]:
        given = [flags] * count if isinstance(flags, bool) else list(flags)
        if len(given) != count:
            raise errors.value_error(f"{what} holds {len(given)} bools, {count} are required", op="dce_jaxpr")
        return given

    outputs = [a for a, used in zip(program.outputs, mask(used_outputs, len(program.outputs), "used_outputs"))
               if used]
    equations = live(program.equations, outputs)
    needed = {a for eqn in equations for a in eqn.inputs} | set(outputs)
    wanted = mask(instantiate, len(jaxpr.invars), "instantiate")
    kept = [v in needed or keep for v, keep in zip(jaxpr.invars, wanted, strict=True)]
    inputs = [*jaxpr.constvars, *[v for v, keep in zip(jaxpr.invars, kept, strict=True) if keep]]
    return OpenProgram(Program(inputs, equations, outputs, program.name), len(jaxpr.constvars)), kept


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.interpreters.partial_eval.{name}")
