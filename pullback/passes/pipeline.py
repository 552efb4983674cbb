"""The rewrites that every program goes through before it is lowered, in running order."""

from __future__ import annotations

from typing import NamedTuple

from pullback.core.program import Program, Var
from pullback.passes.dce import dce
from pullback.passes.fence import fence
from pullback.passes.inline import inline

PASSES = (inline, dce, fence)


class Optimized(NamedTuple):
    """A program ready to be lowered; `used` marks the original inputs that it still takes."""

    program: Program
    used: tuple[bool, ...]


def optimize(program: Program) -> Optimized:
    """Runs the passes and drops the inputs that nothing reads."""
    for rewrite in PASSES:
        program = rewrite(program)
    read = {a for eqn in program.equations for a in eqn.inputs if isinstance(a, Var)}
    read.update(a for a in program.outputs if isinstance(a, Var))
    used = tuple(v in read for v in program.inputs)
    inputs = [v for v, flag in zip(program.inputs, used, strict=True) if flag]
    return Optimized(Program(inputs, program.equations, program.outputs, program.name), used)
