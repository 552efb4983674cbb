"""Programs: straight lists of equations over typed variables.

A Program is closed: whatever it captured while it was recorded is among its inputs, so it holds no
tracers, and no arrays but those that rules of the user's bring. It is immutable, compared by identity,
and owns a memo in which the programs derived from it (its jvp, its transpose, its batched form) live
exactly as long as it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pullback.core import config
from pullback.core.source import Source
from pullback.core.types import ArrayType, scalar_type

if TYPE_CHECKING:
    from pullback.core.primitive import Primitive


class Var:
    """A variable: made by one equation, or an input of the program."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    @property
    def aval(self) -> ArrayType:
        return self.type

    def __repr__(self) -> str:
        return f"Var({self.type})"


class Literal:
    """A Python or NumPy scalar standing in an equation."""

    __slots__ = ("type", "value")

    def __init__(self, value: Any, type: ArrayType | None = None) -> None:
        self.value = value
        self.type = type or scalar_type(value)

    @property
    def aval(self) -> ArrayType:
        return self.type

    @property
    def val(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return f"Literal({self.value!r}, {self.type})"


Atom = Var | Literal


class SourceInfo(NamedTuple):
    """Where an equation comes from, by jax's names."""

    traceback: Source | None
    name_stack: str


class Equation:
    """outputs = primitive[params](inputs), asked for at `source` within the named scopes `scope`."""

    __slots__ = ("inputs", "outputs", "params", "primitive", "scope", "source")

    def __init__(self, primitive: Primitive, inputs: Sequence[Atom], outputs: Sequence[Var],
                 params: dict[str, Any], source: Source | None = None, scope: str = "") -> None:
        self.primitive = primitive
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.params = params
        self.source = source
        self.scope = scope

    @property
    def invars(self) -> list[Atom]:
        return list(self.inputs)

    @property
    def outvars(self) -> list[Var]:
        return list(self.outputs)

    @property
    def source_info(self) -> SourceInfo:
        return SourceInfo(self.source, self.scope)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that this equation carries."""
        found: list[Program] = []
        for name in self.primitive.programs:
            value = self.params[name]
            found += value if isinstance(value, tuple) else [value]
        return tuple(found)

    @property
    def effects(self) -> frozenset[str]:
        return self.primitive.effects(self.params)

    def replace(self, *, inputs: Sequence[Atom] | None = None, outputs: Sequence[Var] | None = None,
                params: dict[str, Any] | None = None) -> Equation:
        return Equation(self.primitive, self.inputs if inputs is None else inputs,
                        self.outputs if outputs is None else outputs,
                        self.params if params is None else params, self.source, self.scope)


def live(equations: Sequence[Equation], outputs: Sequence[Atom]) -> list[Equation]:
    """The equations that the outputs, or an effect, need."""
    needed = {a for a in outputs if isinstance(a, Var)}
    kept: list[Equation] = []
    for eqn in reversed(equations):
        if not needed.isdisjoint(eqn.outputs) or eqn.effects:
            kept.append(eqn)
            needed.update([a for a in eqn.inputs if isinstance(a, Var)])
    return kept[::-1]


class Program:
    """inputs -> equations -> outputs."""

    __slots__ = ("__weakref__", "_axis_names", "_memo", "equations", "inputs", "name", "outputs", "recurs")

    def __init__(self, inputs: Sequence[Var], equations: Sequence[Equation], outputs: Sequence[Atom],
                 name: str = "main") -> None:
        self.inputs = tuple(inputs)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self.name = name
        self._memo: dict[Any, Any] = {}
        self._axis_names: frozenset[str] | None = None
        self.recurs = False  # it stands for a program that is recorded again and again (interpret/tape.py)

    @property
    def input_types(self) -> list[ArrayType]:
        return [v.type for v in self.inputs]

    @property
    def output_types(self) -> list[ArrayType]:
        return [v.type for v in self.outputs]

    def memo(self, rule: Callable[..., Any], *key: Any) -> Any:
        """rule(self, *key), computed once for each state of the settings; `key`: hashable masks, sizes, names."""
        entry = (rule, config.program_key(), *key)
        result = self._memo.get(entry, self._memo)
        if result is self._memo:  # nothing yet
            result = self._memo[entry] = rule(self, *key)
        return result

    @property
    def axis_names(self) -> frozenset[str]:
        """Names of mapped axes that the program uses and does not bind."""
        if self._axis_names is None:
            names: set[str] = set()
            for eqn in self.equations:
                names |= eqn.primitive.axis_names(eqn.params)
            self._axis_names = frozenset(names)
        return self._axis_names

    @property
    def effects(self) -> frozenset[str]:
        return frozenset().union(*(eqn.effects for eqn in self.equations))

    def __repr__(self) -> str:
        return f"<Program {self.name}: {len(self.inputs)} inputs, {len(self.equations)} equations>"


def single(primitive: Primitive, types: tuple[ArrayType, ...], params: dict[str, Any]) -> Program:
    """A program of one equation."""
    inputs = [Var(t) for t in types]
    outputs = [Var(t) for t in primitive.infer(types, params)]
    return Program(inputs, [Equation(primitive, inputs, outputs, params)], outputs, primitive.name)
