"""Dead code: drops equations whose outputs nothing needs. Precondition: none.

Equations with effects stay. A program inside an equation is cleaned when it is lowered.
"""

from __future__ import annotations

from pullback.core.program import Equation, Literal, Program, Var


def dce(program: Program) -> Program:
    """The program without equations that no output and no effect needs."""
    needed = {a for a in program.outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    for eqn in reversed(program.equations):
        if eqn.effects or not needed.isdisjoint(eqn.outputs):
            kept.append(eqn)
            needed.update(a for a in eqn.inputs if not isinstance(a, Literal))
    if len(kept) == len(program.equations):
        return program
    return Program(program.inputs, kept[::-1], program.outputs, program.name)
