"""A function run operation by operation: what each was given and returned, and the user's line it comes from.

The program is the engine's own (its jaxpr); calls are opened, loops and branches run step by step, so that every
operation stands in one list. Values are NumPy's.
"""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from pullback.gate.bodies import function
from pullback.gate.engine import Engine
from pullback.gate.sites import Site
from pullback.gate.values import dtype_name

__all__ = ["Body", "Operation", "Reader", "Trace", "listing", "outline", "replay", "trace"]

LIMIT = 30_000  # operations; loops that would lead beyond are run as one operation


class Body(NamedTuple):
    """A program: variables that are given, pairs of captured variables and values, equations, results."""

    inputs: Sequence[Any]
    consts: Sequence[tuple[Any, Any]]
    equations: Sequence[Any]
    outputs: Sequence[Any]


class Loop(NamedTuple):
    """An equation that carries programs: "call", "scan", "while" or "cond"."""

    kind: str
    bodies: Sequence[Body]
    counts: Sequence[int] = ()  # while: constants of the condition and of the body
    reverse: bool = False
    own: bool = True  # the lines inside are the user's; those of an engine's own function may be of another call


class Reader(Protocol):
    """What is known of an engine's programs."""

    def body(self, function: Callable[..., Any], *args: Any) -> Body: ...

    def atoms(self, equation: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """Inputs (variables or literals) and outputs."""
        ...

    def literal(self, atom: Any) -> tuple[bool, Any]: ...

    def name(self, equation: Any) -> str: ...

    def params(self, equation: Any) -> str: ...

    def site(self, equation: Any) -> Site | None: ...

    def loop(self, equation: Any) -> Loop | None: ...

    def bodies(self, equation: Any) -> list[Body]:
        """The programs that an equation carries."""
        ...

    def bind(self, equation: Any, values: Sequence[Any]) -> Sequence[Any]: ...


@dataclasses.dataclass
class Operation:
    """One operation that was run.

    Args:
      name, params: of the operation, with its parameters as text.
      site: the user's line.
      path: the loops around it, with the number of the step: ("scan[3]",).
      inputs, outputs: numbers of values.
    """

    name: str
    params: str
    site: Site | None
    path: tuple[str, ...]
    inputs: list[int]
    outputs: list[int]
    text: str | None = None  # of the line, where its file may be another by now
    lines: list[str] | None = None  # of an operation that carries programs: a function `run` of jax that does it

    @property
    def source(self) -> str:
        """The text of the user's line."""
        if self.text is not None:
            return self.text
        return linecache.getline(self.site.file, self.site.line).strip() if self.site else ""


@dataclasses.dataclass
class Trace:
    """What a run computed: operations in order, and every value by its number."""

    operations: list[Operation]
    values: list[Any]
    inputs: list[int]
    outputs: list[int]
    equations: list[Any]  # to run one of them again; None for what a loop does to its rows
    types: list[str] | None = None  # of the values, where these are summaries

    def type_of(self, value: int) -> str:
        if self.types is not None:
            return self.types[value]
        x = self.values[value]
        return f"{dtype_name(x)}[{','.join(map(str, getattr(x, 'shape', ())))}]"


def trace(engine: Engine, function: Callable[..., Any], *args: Any, loops: bool = True, compiled: bool = False
          ) -> Trace:
    """Runs function(*args), whose arguments are trees of lists of NumPy leaves and which returns a list of leaves.

    Args:
      loops: whether loops and branches are run step by step, or each as one operation.
      compiled: runs all of it as one compiled function that returns every value; needs loops=False.
    """
    run = _Run(engine, loops)
    flat = [engine.from_numpy(leaf) for leaf in _flat(args)]

    def of_flat(*leaves: Any) -> Any:
        rest = iter(leaves)
        return function(*(_shaped(arg, rest) for arg in args))

    body = engine.reader.body(of_flat, *flat)
    places: list[list[int]] = []

    def whole(*leaves: Any) -> list[Any]:
        run.operations, run.equations, run.values = [], [], []
        inputs = [run.new(x) for x in leaves]
        places[:] = [inputs, run.body(body, inputs, ())]
        return run.values

    values = [engine.to_numpy(x) for x in (engine.jit(whole) if compiled else whole)(*flat)]
    return Trace(run.operations, values, places[0], places[1], run.equations)


def outline(engine: Engine, function: Callable[..., Any], *args: Any) -> Trace:
    """The operations that function(*args) would run, with the types of their results; nothing is computed.

    The programs of loops and branches stand once, before the operation that runs them.
    """
    run = _Run(engine, once=True)
    places: list[list[int]] = []
    flat = [engine.from_numpy(leaf) for leaf in _flat(args)]

    def of_flat(*leaves: Any) -> Any:
        rest = iter(leaves)
        return function(*(_shaped(arg, rest) for arg in args))

    body = engine.reader.body(of_flat, *flat)

    def whole(*leaves: Any) -> list[Any]:
        inputs = [run.new(x) for x in leaves]
        places[:] = [inputs, run.body(body, inputs, ())]
        run.types = [str(engine.type_of(x)).removesuffix(" (weak)") for x in run.values]
        return []

    engine.types(whole, *flat)
    return Trace(run.operations, [None] * len(run.types), places[0], places[1], [], run.types)


def replay(engine: Engine, found: Trace, index: int, inputs: Sequence[Any]) -> list[Any] | None:
    """What the operation returns for other inputs; None if it cannot be run by itself."""
    equation = found.equations[index]
    if equation is None:
        return None
    values = [engine.from_numpy(np.asarray(x) if isinstance(x, (bool, int, float, complex)) else x) for x in inputs]
    try:
        return [engine.to_numpy(x) for x in engine.reader.bind(equation, values)]
    except Exception:  # other shapes or dtypes than it takes
        return None


def _flat(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in _flat(part)]
    return [] if x is None else [x]


def _shaped(like: Any, leaves: Any) -> Any:
    if isinstance(like, (list, tuple)):
        return [_shaped(part, leaves) for part in like]
    return None if like is None else next(leaves)


class _Run:
    def __init__(self, engine: Engine, loops: bool = True, once: bool = False) -> None:
        self.engine, self.reader, self.loops, self.once = engine, engine.reader, loops, once
        self.types: list[str] = []
        self.written: dict[int, list[str] | None] = {}  # of each equation, what `Operation.lines` says
        self.over: Site | None = None  # the line of the engine's function that is open
        self.around: Site | None = None  # the line of the call that is open
        self.operations: list[Operation] = []
        self.equations: list[Any] = []
        self.values: list[Any] = []

    def new(self, value: Any) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def body(self, body: Body, inputs: Sequence[int], path: tuple[str, ...]) -> list[int]:
        known = dict(zip(body.inputs, inputs, strict=True))
        for variable, value in body.consts:
            known[variable] = self.new(value)

        def number(atom: Any) -> int:
            literal, value = self.reader.literal(atom)
            return self.new(value) if literal else known[atom]

        for equation in body.equations:
            atoms, variables = self.reader.atoms(equation)
            given = [number(atom) for atom in atoms]
            loop = self.reader.loop(equation) if len(self.operations) < LIMIT else None
            results = None if loop is None else self.open(equation, loop, given, path)
            if results is None:
                found = self.reader.bind(equation, [self.values[i] for i in given])
                results = self.note(self.reader.name(equation), equation, given, found, path)
            known.update(zip(variables, results, strict=True))
        return [number(atom) for atom in body.outputs]

    def note(self, name: str, equation: Any, inputs: list[int], results: Sequence[Any], path: tuple[str, ...],
             of_loop: str = "") -> list[int]:
        """Adds an operation: an equation, or what a loop does to its rows."""
        outputs = [self.new(x) for x in results]
        whole = not of_loop and not self.once
        if whole and id(equation) not in self.written:
            self.written[id(equation)] = function(self.reader, equation)
        self.operations.append(Operation(name, of_loop or self.reader.params(equation),
                                         self.over or self.reader.site(equation) or self.around, path, inputs,
                                         outputs, lines=self.written[id(equation)] if whole else None))
        self.equations.append(None if of_loop else equation)
        return outputs

    def open(self, equation: Any, loop: Loop, given: list[int], path: tuple[str, ...]) -> list[int] | None:
        if loop.kind == "call":
            before = self.over, self.around
            self.around = self.reader.site(equation) or self.around
            self.over = self.over or (None if loop.own else self.around)
            results = self.body(loop.bodies[0], given, path)
            self.over, self.around = before
            return results
        if self.once:
            self.list_bodies(equation, loop, given, path)
        if self.once or not self.loops:
            return None
        if loop.kind == "cond":
            index = int(self.engine.to_numpy(self.values[given[0]]))
            chosen = min(max(index, 0), len(loop.bodies) - 1)
            return self.body(loop.bodies[chosen], given[1:], (*path, f"cond[{chosen}]"))
        return (self.scan if loop.kind == "scan" else self.repeat)(equation, loop, given, path)

    def list_bodies(self, equation: Any, loop: Loop, given: list[int], path: tuple[str, ...]) -> None:
        """Lists the operations of the programs that a loop carries, once each."""
        if loop.kind == "scan":
            ranks = zip((_rank(v) for v in loop.bodies[0].inputs), given)
            inputs = [x if len(self.values[x].shape) == rank else self.new(self.values[x][0]) for rank, x in ranks]
            self.body(loop.bodies[0], inputs, (*path, "scan"))
        elif loop.kind == "while":
            first, second = loop.counts
            self.body(loop.bodies[0], given[:first] + given[first + second:], (*path, "while"))
            self.body(loop.bodies[1], given[first:], (*path, "while"))
        else:
            for number, branch in enumerate(loop.bodies):
                self.body(branch, given[1:], (*path, f"cond[{number}]"))

    def repeat(self, equation: Any, loop: Loop, given: list[int], path: tuple[str, ...]) -> list[int] | None:
        first, second = loop.counts
        conditions, consts, carry = given[:first], given[first:first + second], given[first + second:]
        step = 0
        while True:
            inside = (*path, f"while[{step}]")
            answer = self.values[self.body(loop.bodies[0], [*conditions, *carry], inside)[0]]
            if getattr(answer, "shape", ()) != () or len(self.operations) > LIMIT:
                return None  # a batch of conditions, or too long: run as one operation
            if not bool(self.engine.to_numpy(answer)):
                return carry
            carry = self.body(loop.bodies[1], [*consts, *carry], inside)
            step += 1

    def scan(self, equation: Any, loop: Loop, given: list[int], path: tuple[str, ...]) -> list[int] | None:
        (body,) = loop.bodies
        atoms, variables = self.reader.atoms(equation)
        # Rows have one axis less outside than inside; so the three kinds of operands are told apart in every version.
        inner, outer = [_rank(v) for v in body.inputs], [_rank(a) for a in atoms]
        rows = sum(a != b for a, b in zip(inner, outer))
        carried = sum(_rank(a) == _rank(b) for a, b in zip(body.outputs, variables))
        consts, carry = given[:len(given) - rows - carried], given[len(given) - rows - carried:len(given) - rows]
        stacked = given[len(given) - rows:]
        lengths = {self.values[i].shape[0] for i in stacked} or {int(getattr(v, "shape", (0,))[0])
                                                                 for v in [_aval(x) for x in variables[carried:]]}
        length = lengths.pop() if lengths else loop.counts[0]
        if len(self.operations) + length * max(1, len(body.equations)) > LIMIT:
            return None
        found: list[list[int]] = [[] for _ in variables[carried:]]
        order = range(length)[::-1] if loop.reverse else range(length)
        for step, i in enumerate(order):  # steps are numbered as they are run
            inside = (*path, f"scan[{step}]")
            row = [self.note("row", equation, [x], [self.values[x][i]], inside, f"number={i}")[0] for x in stacked]
            results = self.body(body, [*consts, *carry, *row], inside)
            carry = results[:carried]
            for column, x in zip(found, results[carried:], strict=True):
                column.append(x)
        whole = []
        for variable, column in zip(variables[carried:], found, strict=True):
            column = column[::-1] if loop.reverse else column
            shape = _aval(variable)
            rows_of = [self.engine.to_numpy(self.values[x]) for x in column]
            stack = self.engine.from_numpy(np.stack(rows_of)) if rows_of and isinstance(rows_of[0], np.ndarray) else \
                self.engine.from_numpy(np.zeros(shape.shape, shape.dtype))
            whole.append(self.note("stack", equation, column, [stack], path, "rows")[0])
        return [*carry, *whole]


def _aval(atom: Any) -> Any:
    return atom.aval if hasattr(atom, "aval") else atom.type


def _rank(atom: Any) -> int:
    return len(_aval(atom).shape)


def listing(found: Trace) -> str:
    """The operations as text, one a line, without numbers that change from place to place."""
    rows = []
    for operation in found.operations:
        kinds = " ".join(found.type_of(i) for i in operation.outputs)
        place = f"{operation.site.function}: {operation.source}" if operation.site else ""
        call = f"{operation.name} {operation.params}".strip()
        rows.append("  ".join(part for part in ("/".join(operation.path), call, kinds, place) if part))
    return "\n".join(rows)
