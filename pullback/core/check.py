"""The type checker for programs: every rewrite must leave a program that passes it."""

from __future__ import annotations

from pullback.core.program import Equation, Literal, Program, Var
from pullback.core.show import Names, show_equation
from pullback.core.types import ArrayType


class ProgramError(AssertionError):
    """A program is malformed: a fault of pullback or of a primitive's rules, not of its user."""


def _same(given: ArrayType, required: ArrayType) -> bool:
    # Weakness may be lost on the way (a weak value serves where a strong one is meant), not gained.
    return given.shape == required.shape and given.dtype == required.dtype


def check_program(program: Program) -> None:
    """Raises ProgramError where a variable is unbound or bound twice, or a type is not what the rule gives."""
    bound: set[Var] = set()

    def bind(variable: Var, where: str) -> None:
        if variable in bound:
            raise ProgramError(f"a variable is bound twice, at {where}")
        bound.add(variable)

    for variable in program.inputs:
        bind(variable, "the inputs")
    for eqn in program.equations:
        _check_equation(eqn, bound)
        for variable in eqn.outputs:
            bind(variable, _text(eqn))
    for atom in program.outputs:
        if isinstance(atom, Var) and atom not in bound:
            raise ProgramError("an output of the program is not bound")


def _text(eqn: Equation) -> str:
    return show_equation(eqn, Names()) + (f"  ({eqn.source})" if eqn.source else "")


def _check_equation(eqn: Equation, bound: set[Var]) -> None:
    for atom in eqn.inputs:
        if not isinstance(atom, (Var, Literal)):
            raise ProgramError(f"operand {atom!r} is no variable and no literal: {_text(eqn)}")
        if isinstance(atom, Var) and atom not in bound:
            raise ProgramError(f"an operand is not bound: {_text(eqn)}")
    types = eqn.primitive.type(*[atom.type for atom in eqn.inputs], **eqn.params)
    if len(types) != len(eqn.outputs):
        raise ProgramError(f"the type rule gives {len(types)} outputs, the equation has "
                           f"{len(eqn.outputs)}: {_text(eqn)}")
    for given, variable in zip(types, eqn.outputs, strict=True):
        if not _same(given, variable.type):
            raise ProgramError(f"the type rule gives {given}, the variable has {variable.type}: {_text(eqn)}")
    for program in eqn.programs:
        check_program(program)
