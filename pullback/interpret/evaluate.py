"""Runs a Program, equation by equation, under the current trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import source
from pullback.core.program import Atom, Literal, Program, Var
from pullback.core.trace import bind


def evaluate(program: Program, args: Sequence[Any], apply: Callable[..., list[Any]] = bind) -> list[Any]:
    """The outputs of `program` on `args`; each operation is the current trace's to interpret.

    Args:
      apply: (primitive, operands, params) -> results, in place of `bind`.
    """
    values: dict[Atom, Any] = dict(zip(program.inputs, args, strict=True))
    before = source.state.source
    try:
        for eqn in program.equations:
            operands = [a.value if isinstance(a, Literal) else values[a] for a in eqn.inputs]
            source.state.source = eqn.source or before
            for variable, result in zip(eqn.outputs, apply(eqn.primitive, operands, eqn.params), strict=True):
                values[variable] = result
    finally:
        source.state.source = before
    return [a.value if isinstance(a, Literal) else values[a] for a in program.outputs]


def last_uses(program: Program) -> dict[Var, int]:
    """For each variable, the index of the last equation that reads it; len(equations) for outputs."""
    last: dict[Var, int] = {}
    for index, eqn in enumerate(program.equations):
        for atom in eqn.inputs:
            if isinstance(atom, Var):
                last[atom] = index
    for atom in program.outputs:
        if isinstance(atom, Var):
            last[atom] = len(program.equations)
    return last
