"""Staging: a Python function on types becomes a Program.

Everything that happens under a StageTrace is recorded, operations on constants too. Arrays and
outer tracers that the function closes over are captured: they become leading inputs of the program
and are returned beside it, so whoever binds the program passes them as ordinary operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import source
from pullback.core.primitive import TABLE, Primitive
from pullback.core.program import Atom, Equation, Literal, Program, Var
from pullback.core.trace import Trace, Tracer, leaked, opened
from pullback.core.types import ArrayType, Linear, is_scalar


class RecordedTracer(Tracer):
    """A variable of the program being recorded."""

    __slots__ = ("variable",)

    def __init__(self, trace: Recorder, var: Var, at: source.Source | None) -> None:
        self.owner = trace
        self.variable = var
        self.type = var.type
        self.source = at

    def concrete(self) -> Any:
        return self.owner.concrete(self.variable)  # type: ignore[attr-defined]

    def why_unknown(self) -> tuple[str, ...]:
        return self.owner.why_unknown(self.variable)  # type: ignore[attr-defined,no-any-return]


class Recorder(Trace):
    """A trace that records equations, and captures what it does not own."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []
        self._captures: dict[int, tuple[Var, Any]] = {}  # by id; the value is held beside its variable

    def input(self, type: ArrayType) -> RecordedTracer:
        var = Var(type)
        self.inputs.append(var)
        return RecordedTracer(self, var, source.here())

    def atom(self, value: Any) -> Atom:
        """The variable or literal that stands for `value` in the program."""
        if isinstance(value, RecordedTracer) and value.owner is self:
            return value.variable
        known = self._captures.get(id(value))
        if known is not None:
            return known[0]
        if is_scalar(value):
            return Literal(value)
        if isinstance(value, Tracer) and not value.owner.alive:
            raise leaked(value)
        var = Var(value.type)
        self._captures[id(value)] = (var, value)
        return var

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if primitive.transparent:
            args, params = primitive.prepare(args, params)
        atoms = [self.atom(arg) for arg in args]
        types = primitive.infer(tuple([a.type for a in atoms]), params)
        where = source.here()
        outputs = [Var(t) for t in types]
        self.equations.append(Equation(primitive, atoms, outputs, params, where, source.state.scope))
        return [RecordedTracer(self, var, where) for var in outputs]

    def finish(self, outputs: Sequence[Any], name: str) -> tuple[Program, list[Any]]:
        """The program that ends in `outputs`, and the values of its captured (leading) inputs."""
        atoms = [self.atom(value) for value in outputs]
        captured = list(self._captures.values())
        inputs = [var for var, _ in captured] + self.inputs
        return Program(inputs, self.equations, atoms, name), [value for _, value in captured]

    def concrete(self, var: Var) -> Any:
        """What a variable stands for, where the trace knows it."""
        return None

    def why_unknown(self, var: Var) -> tuple[str, ...]:
        return ()


class StageTrace(Recorder):
    """Records everything, for a program of its own."""

    def __init__(self, name: str, what: str, input_names: Sequence[str]) -> None:
        super().__init__()
        self.name = name
        self.what = what
        self.input_names = input_names

    process = Recorder.record

    def run(self, function: Callable[..., Sequence[Any]], types: Sequence[ArrayType]) -> tuple[Program, list[Any]]:
        """See `stage`."""
        inputs = [self.input(t) for t in types]
        with opened(self):
            outputs = function(*inputs)
            return self.finish(outputs, self.name or "main")

    def describe(self) -> str:
        return f"{self.what} of {self.name}" if self.name else self.what

    def why_unknown(self, var: Var) -> tuple[str, ...]:
        """Which arguments of the staged function the value depends on."""
        needed = {var}
        for eqn in reversed(self.equations):
            if not needed.isdisjoint(eqn.outputs):
                needed.update(a for a in eqn.inputs if isinstance(a, Var))
        names = [name for name, v in zip(self.input_names, self.inputs, strict=False) if v in needed]
        if not names:
            return (f"it was made inside {self.describe()}, where every operation is traced",)
        return (f"inside {self.describe()} it depends on the argument{'s' * (len(names) > 1)} "
                + ", ".join(names),)


def stage(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], *, name: str = "",
          what: str = "jit", input_names: Sequence[str] = ()) -> tuple[Program, list[Any]]:
    """Records `function`, which takes and returns flat lists of values.

    Returns the program, whose inputs are first the captured values and then one input per type, and
    the list of captured values.
    """
    return StageTrace(name, what, input_names).run(function, types)


class NotClosed(AssertionError):
    """A rule brought a traced value of its own, which a program cannot hold."""


class Held:
    """An array that a program holds, in a param of the operation `constant`. Equal to itself only."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


def closed(function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], *, name: str, what: str) -> Program:
    """`stage` for a program to keep: arrays that the function closes over (a rule's own, as a rule) are held in it."""
    program, captured = stage(function, types, name=name, what=what)
    for value in captured:
        if isinstance(value, Linear):  # the operand of an operation that is not linear in it
            raise value.misused()
        if isinstance(value, Tracer):
            raise NotClosed(f"{name} closes over {value!r}")
    if not captured:
        return program
    held = [Equation(TABLE["constant"], [], [var], {"held": Held(x)}) for var, x in zip(program.inputs, captured)]
    return Program(program.inputs[len(held):], [*held, *program.equations], program.outputs, program.name)
