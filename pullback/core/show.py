"""Programs as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core.program import Atom, Equation, Literal, Program, Var


class Names:
    """Letters for variables, in order of appearance: a, b, ..., z, ba, bb, ..."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}

    def __getitem__(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value}:{atom.type}"
        if atom not in self._names:
            number, name = len(self._names), ""
            while True:
                number, letter = divmod(number, 26)
                name = chr(97 + letter) + name
                if not number:
                    break
            self._names[atom] = name
        return self._names[atom]


def _typed(names: Names, variables: Sequence[Var]) -> str:
    return " ".join(f"{names[v]}:{v.type}" for v in variables)


def show_param(value: Any) -> str:
    if isinstance(value, Program):
        return "{" + show(value).replace("\n", "\n    ") + "}"
    return str(value)


def show_equation(eqn: Equation, names: Names) -> str:
    params = " ".join(f"{name}={show_param(value)}" for name, value in sorted(eqn.params.items()))
    operands = " ".join(names[a] for a in eqn.inputs)
    call = f"{eqn.primitive.name}[{params}]" if params else eqn.primitive.name
    return f"{_typed(names, eqn.outputs)} = {call} {operands}".rstrip()


def show(program: Program) -> str:
    """The program in the form `{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }`."""
    names = Names()
    head = f"{{ lambda ; {_typed(names, program.inputs)}. let"
    lines = ["    " + show_equation(eqn, names) for eqn in program.equations]
    outputs = ", ".join(names[a] for a in program.outputs)
    tail = f"  in ({outputs}{',' if len(program.outputs) == 1 else ''}) }}"
    return "\n".join([head, *lines, tail])
