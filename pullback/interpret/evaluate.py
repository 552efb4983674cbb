"""Runs a Program, equation by equation, under the current trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import source
from pullback.core.program import Atom, Literal, Program
from pullback.core.trace import bind


def evaluate(program: Program, args: Sequence[Any], apply: Callable[..., list[Any]] = bind) -> list[Any]:
    """The outputs of `program` on `args`; each operation is the current trace's to interpret.

    Args:
      apply: (primitive, operands, params) -> results, in place of `bind`.
    """
    values: dict[Atom, Any] = dict(zip(program.inputs, args, strict=True))
    before, scope = source.state.source, source.state.scope
    try:
        for eqn in program.equations:
            operands = [a.value if isinstance(a, Literal) else values[a] for a in eqn.inputs]
            source.state.source = eqn.source or before
            source.state.scope = f"{scope}/{eqn.scope}" if scope and eqn.scope else scope or eqn.scope
            for variable, result in zip(eqn.outputs, apply(eqn.primitive, operands, eqn.params), strict=True):
                values[variable] = result
    finally:
        source.state.source, source.state.scope = before, scope
    return [a.value if isinstance(a, Literal) else values[a] for a in program.outputs]
