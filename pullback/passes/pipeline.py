"""The rewrites that every program goes through before it is lowered, in running order."""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.core.program import Equation, Program, Var
from pullback.ops.checkpoint import optimization_barrier
from pullback.passes.chain import chain
from pullback.passes.clean import clean
from pullback.passes.dce import dce
from pullback.passes.fence import fence
from pullback.passes.inline import inline
from pullback.passes.roll import roll, rolled

PASSES = (inline, dce, chain, roll, clean, dce, fence)


class Optimized(NamedTuple):
    """A program ready to be lowered; `used` marks the original inputs that it still takes."""

    program: Program
    used: tuple[bool, ...]


def optimize(program: Program) -> Optimized:
    """Runs the passes and drops the inputs that nothing reads."""
    program = _rewritten(program)
    read = {a for eqn in program.equations for a in eqn.inputs if isinstance(a, Var)}
    read.update(a for a in program.outputs if isinstance(a, Var))
    used = tuple(v in read for v in program.inputs)
    inputs = [v for v, flag in zip(program.inputs, used, strict=True) if flag]
    return Optimized(Program(inputs, program.equations, program.outputs, program.name), used)


def _rewritten(program: Program) -> Program:
    """The program after all passes, and so the programs that its equations carry."""
    for rewrite in PASSES:
        program = rewrite(program)
    equations = [_within(eqn) if eqn.primitive.programs else eqn for eqn in program.equations]
    return Program(program.inputs, equations, program.outputs, program.name)


def _within(eqn: Equation) -> Equation:
    def better(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple([better(inner) for inner in value])
        return value.memo(_rewritten)
    return eqn.replace(params=eqn.params | {name: better(eqn.params[name]) for name in eqn.primitive.programs})


def report(program: Program) -> str:
    """What the passes do to a program, line by line: loops made and not made, and why; barriers."""
    lines = []
    for rewrite in PASSES:
        before, program = program, rewrite(program)
        if rewrite is roll:
            lines.append(f"{program.name}: {len(before.equations)} equations, {len(program.equations)} after rolling")
            findings = before.memo(rolled)[1]
    for f in findings:
        what = f"{f.repeats} times {f.equations} equations, from {f.source or 'an unknown line'}"
        lines.append(f"  rolled: {what}" if f.rolled else f"  left:   {what}: {f.why}")
    barriers = sum(eqn.primitive is optimization_barrier for eqn in program.equations)
    lines.append(f"  fences: {barriers}")
    return "\n".join(lines)
