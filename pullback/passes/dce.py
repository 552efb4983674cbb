"""Dead code: drops equations whose outputs nothing needs. Precondition: none.

Equations with effects stay. A program inside an equation is cleaned when it is lowered.
"""

from __future__ import annotations

from pullback.core.program import Program, live


def dce(program: Program) -> Program:
    """The program without equations that no output and no effect needs."""
    kept = live(program.equations, program.outputs)
    if len(kept) == len(program.equations):
        return program
    return Program(program.inputs, kept, program.outputs, program.name)
