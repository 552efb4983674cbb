"""Programs cut down to what is needed (jax.interpreters.partial_eval).

Rules for partial evaluation have no place here: reverse mode records a linear program by running the `jvp` rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.api.stages import ClosedProgram, OpenProgram
from pullback.core import errors
from pullback.core.program import Program, live

__all__ = ["close_jaxpr", "dce_jaxpr"]


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
