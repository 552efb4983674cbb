"""Roll: repeated stretches of a program become loops. Precondition: calls inlined, dead code gone.

A Python loop over layers or time steps leaves the same stretch of equations again and again, in the forward pass and,
in reverse order, in the backward pass. XLA compiles every copy; a loop is compiled once. `stretches.py` finds
what repeats. What changes from one repetition to the next must be one of: a value that the repetition before made (a
carry), the element of an array at a position that grows evenly (a row of the input, a residual that an earlier loop
stacked), or values that are stacked for the purpose, where that costs little beside the work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback.core import dtypes
from pullback.core.program import Atom, Equation, Literal, Program, Var, live
from pullback.core.types import ArrayType
from pullback.core.vector import zeros
from pullback.ops.elementwise import add, mul
from pullback.ops.index import dynamic_slice, dynamic_update_slice
from pullback.ops.move import broadcast_in_dim, concatenate, reshape, slice
from pullback.ops.residuals import CHEAP, spare
from pullback.ops.scan import scan
from pullback.passes.stretches import Stretch, find, place, worth

_INDEX = ArrayType((), dtypes.int32)

# What stacking and unstacking may move: this part of what the loop moves anyway, or so many bytes.
_STACKED = 0.03
_LITTLE = 1 << 18


class Finding(NamedTuple):
    """What the pass made of one stretch, for reports."""

    equations: int
    repeats: int
    source: Any
    rolled: bool
    why: str


class Line(NamedTuple):
    """A position that grows evenly: first, first + step, ..."""

    first: int
    step: int


class Element(NamedTuple):
    """A row of a stacked array."""

    stack: Var
    position: int


def roll(program: Program) -> Program:
    """The program with loops in the place of repeated stretches."""
    return program.memo(rolled)[0]  # type: ignore[no-any-return]


def rolled(program: Program) -> tuple[Program, list[Finding]]:
    """The program with loops in the place of repeated stretches, and what was found."""
    findings: list[Finding] = []
    while True:
        shorter, found = _once(program)
        if len(shorter.equations) >= len(program.equations):
            # Results that a loop spares are computed again behind it, which may be a stretch as long as before.
            return program, findings + [f._replace(rolled=False, why="its results would be computed again after it")
                                        if f.rolled else f for f in found]
        program = shorter
        findings += found


def _once(program: Program) -> tuple[Program, list[Finding]]:
    equations = list(program.equations)
    elements: dict[Var, Element | Equation] = {}
    findings: list[Finding] = []
    longer = 0  # how many equations the loops made so far have taken away, in front of the next stretch
    for stretch in find(equations):
        stretch = stretch._replace(start=stretch.start - longer)
        loop, why = None, worth(equations, stretch)
        if not why:
            loop, why = _best(program, equations, stretch, elements)
        findings.append(Finding(stretch.period, stretch.repeats if loop is None else loop.stretch.repeats,
                                equations[stretch.start].source, loop is not None, why))
        if loop is None:
            continue
        at, written = loop.stretch, loop.equations()
        equations[at.start:at.start + at.period * at.repeats] = written
        longer += at.period * at.repeats - len(written)
        elements = {**loop.stacked, **elements}
    if not any(f.rolled for f in findings):
        return program, findings
    equations = _unstacked(equations, program, elements)
    return Program(program.inputs, live(equations, program.outputs), program.outputs, program.name), findings


def _best(program: Program, equations: list[Equation], stretch: Stretch, elements: dict[Var, Element | Equation]
          ) -> tuple[Loop | None, str]:
    """The loop over as many repetitions as fit together; the ends of a stretch may belong to what is around it."""
    why = ""
    for head, tail in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2)):
        repeats = stretch.repeats - head - tail
        if repeats < 3:
            break
        loop = Loop(equations, Stretch(stretch.start + head * stretch.period, stretch.period, repeats), elements)
        problem = loop.connect(program)
        if not problem:
            return loop, ""
        why = why or problem
    return None, why


class Loop:
    """A stretch being made into a scan."""

    def __init__(self, equations: list[Equation], stretch: Stretch,
                 elements: dict[Var, Element | Equation]) -> None:
        self.all = equations
        self.stretch = stretch
        self.elements = elements
        self.made: dict[Var, tuple[int, int, int]] = {}  # repetition, equation, output
        for k in range(stretch.repeats):
            for j in range(stretch.period):
                for i, v in enumerate(self.equation(k, j).outputs):
                    self.made[v] = (k, j, i)
        self.before: list[Equation] = []
        self.stacked: dict[Var, Element | Equation] = {}  # values of its repetitions, and how to have them again
        self.stacks: dict[tuple[Var, ...], Var] = {}
        self.extra = 0  # bytes that only stacking moves
        self.most = max(_LITTLE, _STACKED * self.moved())
        # The program of one step.
        self.consts: dict[Var, Var] = {}
        self.counter = Var(_INDEX)
        self.carries: dict[tuple[Any, Any], Var] = {}  # by what comes next (an output of the step, a carry), and init
        self.body: list[Equation] = []
        self.positions: dict[Any, Atom] = {}
        self.rows: dict[Any, Var] = {}
        self.outputs: list[Var] = []
        self.results: list[Var] = []
        self.inits: list[Atom] = []

    def equation(self, k: int, j: int) -> Equation:
        return self.all[self.stretch.start + k * self.stretch.period + j]

    # -- one step --------------------------------------------------------------------------------

    def connect(self, program: Program) -> str:
        """Makes the program of one step; returns why it cannot be made, or ''."""
        local: dict[tuple[int, int], Var] = {}
        for j in range(self.stretch.period):
            outputs = self.repeat([self.equation(k, j) for k in range(self.stretch.repeats)], local)
            if isinstance(outputs, str):
                return outputs
            if self.extra > self.most:  # seen early: most programs that are left as they are end here
                return self.costly()
            local.update({(j, i): v for i, v in enumerate(outputs)})
        return self.finish(program, local)

    def costly(self) -> str:
        return (f"stacking would move {self.extra / 1e6:.3g} MB or more beside {self.moved() / 1e6:.3g} MB of work: "
                "keep the parameters of the layers stacked and use lax.scan")

    def repeat(self, copies: Sequence[Equation], local: dict[tuple[int, int], Var]) -> tuple[Var, ...] | str:
        """Adds to the step what stands for these equations of its repetitions; returns its outputs."""
        inputs = []
        for atoms in zip(*[eqn.inputs for eqn in copies], strict=True):
            atom = self.read(atoms, local)
            if isinstance(atom, str):
                return atom
            inputs.append(atom)
        template = copies[1]
        outputs = tuple([Var(v.type) for v in template.outputs])
        places = [place(eqn) for eqn in copies]
        if places[0] is None or len(set(places)) == 1:
            self.body.append(template.replace(inputs=inputs, outputs=outputs))
            return outputs
        line = _line([position for _, position in places])
        if line is None:
            return "it reads rows of an array in an order that is no arithmetic progression"
        position, zero, out = self.position(line), Literal(0, _INDEX), outputs[0].type
        starts = [position if d == places[0][0] else zero for d in range(out.ndim)]
        if template.primitive is slice:
            self.body.append(Equation(dynamic_slice, [inputs[0], *starts], outputs, {"sizes": out.shape},
                                      template.source, template.scope))
        else:
            around = Var(out)
            self.body.append(Equation(broadcast_in_dim, [inputs[1]], [around], {"shape": out.shape, "dims": ()}))
            self.body.append(Equation(dynamic_update_slice, [around, inputs[0], *starts], outputs, {},
                                      template.source, template.scope))
        return outputs

    def read(self, atoms: Sequence[Atom], local: dict[tuple[int, int], Var]) -> Atom | str:
        """The operand of the step that stands for these operands of its repetitions; or why there is none."""
        where = [self.made.get(a) if isinstance(a, Var) else None for a in atoms]
        last = where[-1]
        if last is not None:
            lag = len(atoms) - 1 - last[0]
            if all(w == (k - lag, *last[1:]) for k, w in enumerate(where) if k >= lag):
                if lag == 0:
                    return local[last[1:]]
                if not any(where[:lag]):
                    return self.carry(last[1], last[2], atoms[:lag], atoms[-1].type)
            return "a repetition uses a value of an earlier one, in no order that a loop keeps"
        if any(w is not None for w in where):
            return "its repetitions are connected in different ways"
        first = atoms[0]
        if isinstance(first, Literal):
            if all(isinstance(a, Literal) and a.type == first.type and _same(a.value, first.value) for a in atoms):
                return first
            return self.number(atoms, first.type)
        if all(a is first for a in atoms):
            return self.constant(first)
        variables = [a for a in atoms if isinstance(a, Var)]
        if len(variables) != len(atoms):
            return "an operand is a number here and an array there"
        return self.row(variables)

    def number(self, atoms: Sequence[Atom], t: ArrayType) -> Atom | str:
        """A number that changes from repetition to repetition."""
        values = [a.value if isinstance(a, Literal) and a.type == t else None for a in atoms]
        if any(v is None for v in values):
            return "an operand is a number here and an array there"
        line = _line(values) if t.dtype == dtypes.int32 else None
        if line is not None:
            return self.position(line)
        arrays = [Var(t) for _ in atoms]
        self.before += [Equation(broadcast_in_dim, [a], [v], {"shape": (), "dims": ()})
                        for a, v in zip(atoms, arrays, strict=True)]
        return self.row(arrays)

    def constant(self, v: Var) -> Var:
        if v not in self.consts:
            self.consts[v] = Var(v.type)
        return self.consts[v]

    def carry(self, j: int, i: int, inits: Sequence[Atom], t: ArrayType) -> Atom | str:
        """What the repetition len(inits) earlier made; in the first ones, `inits`."""
        if any((a.type.shape, a.type.dtype) != (t.shape, t.dtype) for a in inits):
            return "a value that goes around changes its type"
        source: Any = (j, i)
        for init in reversed(inits):
            key = (source, init if isinstance(init, Var) else (init.value, init.type))
            if key not in self.carries:
                self.carries[key] = Var(t)
                self.inits.append(init)
            source = self.carries[key]
        return source

    def position(self, line: Line) -> Atom:
        """first + step * (number of this repetition), computed once a step."""
        if line not in self.positions:
            value: Atom = self.counter
            if line.step != 1:
                value = self._index(mul, value, line.step)
            if line.first:
                value = self._index(add, value, line.first)
            self.positions[line] = value
        return self.positions[line]

    def _index(self, primitive: Any, x: Atom, y: int) -> Var:
        out = Var(_INDEX)
        self.body.append(Equation(primitive, [x, Literal(y, _INDEX)], [out], {}))
        return out

    def row(self, variables: list[Var]) -> Atom | str:
        """A different array in each repetition: a row of a stack."""
        if variables[0].type.is_key:
            return "it takes another PRNG key in each repetition"
        if any(v.type != variables[0].type for v in variables):
            return "an operand changes its type"
        known = [self.elements.get(v) or self.stacked.get(v) for v in variables]
        if all(isinstance(e, Equation) for e in known):
            return self.again(variables, known)
        stack = known[0].stack if isinstance(known[0], Element) else None
        line = _line([e.position for e in known]) if stack is not None and all(
            isinstance(e, Element) and e.stack is stack for e in known) else None
        if stack is None or line is None:
            stack, line = self.stack(variables), Line(0, 1)
        if (stack, line) not in self.rows:
            t = stack.type
            sizes = (1, *t.shape[1:])
            zero = Literal(0, _INDEX)
            piece, out = Var(t.with_shape(sizes)), Var(variables[0].type)
            operands = [self.constant(stack), self.position(line), *[zero] * (t.ndim - 1)]
            self.body.append(Equation(dynamic_slice, operands, [piece], {"sizes": sizes}))
            self.body.append(Equation(reshape, [piece], [out], {"shape": out.type.shape}))
            self.rows[stack, line] = out
        return self.rows[stack, line]

    def again(self, variables: list[Var], equations: Any) -> Atom | str:
        """Values that an earlier loop did not keep: they are computed again."""
        key = tuple(variables)
        if key not in self.rows:
            i = equations[0].outputs.index(variables[0])
            if len({(eqn.primitive, eqn.outputs.index(v) == i) for eqn, v in zip(equations, variables)}) > 1:
                return "an operand comes from different operations"
            outputs = self.repeat(equations, {})
            if isinstance(outputs, str):
                return outputs
            self.rows[key] = outputs[i]
        return self.rows[key]

    def stack(self, variables: list[Var]) -> Var:
        """The values stacked by equations before the loop."""
        key = tuple(variables)
        if key not in self.stacks:
            t = variables[0].type
            rows = []
            for v in variables:
                rows.append(Var(t.batched(1)))
                self.before.append(Equation(reshape, [v], [rows[-1]], {"shape": rows[-1].type.shape}))
            whole = self.stacks[key] = Var(t.batched(len(variables)))
            self.before.append(Equation(concatenate, rows, [whole], {"axis": 0}))
            self.extra += 2 * whole.type.size * whole.type.dtype.itemsize
            for k, v in enumerate(variables):
                self.stacked.setdefault(v, Element(whole, k))
        return self.stacks[key]

    # -- the loop --------------------------------------------------------------------------------

    def finish(self, program: Program, local: dict[tuple[int, int], Var]) -> str:
        """Decides what the loop returns: final carries, and rows of what is used outside of it."""
        end = self.stretch.start + self.stretch.period * self.stretch.repeats
        wanted: dict[tuple[int, int], set[int]] = {}
        direct = {a for a in program.outputs if isinstance(a, Var)}
        read = [*program.outputs, *[a for eqn in self.all[end:] for a in eqn.inputs]]
        for v in dict.fromkeys([a for a in read if isinstance(a, Var)]):  # in order, so that the text is the same
            if v in self.made:
                k, j, i = self.made[v]
                wanted.setdefault((j, i), set()).add(k)
        last = self.stretch.repeats - 1
        final: list[Var] = [Var(v.type) for v in self.carries.values()]
        order = [source for source, _ in self.carries]
        rows = []
        for (j, i), uses in self.kept(wanted, local, last).items():
            t = self.equation(last, j).outputs[i].type
            if uses == {last} and (j, i) in order:
                final[order.index((j, i))] = self.equation(last, j).outputs[i]
                continue
            if t.is_key:
                return "PRNG keys are made in it and used after it"
            if uses == {last}:
                # Only the last one is used: it goes around, unread, in place of being stacked.
                zero = Var(t)
                self.before.append(Equation(zeros, [], [zero], {"of": t}))
                order.append((j, i))
                self.carries[(j, i), zero] = Var(t)
                self.inits.append(zero)
                final.append(self.equation(last, j).outputs[i])
            else:
                whole = Var(t.batched(self.stretch.repeats))
                rows.append(((j, i), whole))
                for k in range(self.stretch.repeats):
                    v = self.equation(k, j).outputs[i]
                    self.stacked[v] = Element(whole, k)
                    if v in direct:
                        self.extra += 2 * t.size * t.dtype.itemsize
        if self.extra > self.most:
            return self.costly()
        following = Var(_INDEX)
        self.body.append(Equation(add, [self.counter, Literal(1, _INDEX)], [following], {}))
        self.outputs = [following, *[v if isinstance(v, Var) else local[v] for v in order],
                        *[local[key] for key, _ in rows]]
        self.results = [Var(_INDEX), *final, *[whole for _, whole in rows]]
        return ""

    def kept(self, wanted: dict[tuple[int, int], set[int]], local: dict[tuple[int, int], Var], last: int
             ) -> dict[tuple[int, int], set[int]]:
        """The values to stack, so that all that are wanted of every repetition can be had."""
        everywhere = [local[key] for key, uses in wanted.items() if uses != {last}]
        kept, again = spare(self.body, [*self.consts.values(), self.counter], everywhere, CHEAP | {"dynamic_slice"})
        where = {v: key for key, v in local.items()}
        if not all(v in where for v in kept):
            return wanted
        for eqn in again:
            if eqn.outputs[0] in where:
                j, _ = where[eqn.outputs[0]]
                for k in range(self.stretch.repeats):
                    copy = self.equation(k, j)
                    self.stacked.update(dict.fromkeys(copy.outputs, copy))
        chosen = {key: uses for key, uses in wanted.items() if uses == {last}}
        for v in kept:
            chosen[where[v]] = wanted.get(where[v], set()) | {0, last}
        return chosen

    def moved(self) -> float:
        """Bytes that the equations read and write, and operations counted as bytes: what the loop costs anyway."""
        total = 0.0
        for j in range(self.stretch.period):
            total += work(self.equation(0, j))
        return total * self.stretch.repeats

    def equations(self) -> list[Equation]:
        """The loop, and what prepares it."""
        name = "rolled"
        step = Program([*self.consts.values(), self.counter, *self.carries.values()], self.body, self.outputs, name)
        first = self.equation(0, 0)
        params = {"program": step, "n_consts": len(self.consts), "n_carry": 1 + len(self.carries),
                  "length": self.stretch.repeats, "reverse": False, "unroll": 1}
        operands = [*self.consts, Literal(0, _INDEX), *self.inits]
        return [*self.before, Equation(scan, operands, self.results, params, first.source, first.scope)]


def work(eqn: Equation) -> float:
    """The cost of an equation, in bytes of memory traffic that would take as long."""
    size = sum([v.type.size * v.type.dtype.itemsize for v in eqn.outputs if not v.type.is_key])
    if eqn.primitive.name == "dot_general":
        (x_axes, _), _ = eqn.params["dims"]
        depth = math.prod([eqn.inputs[0].type.shape[axis] for axis in x_axes])
        return max(size, 0.25 * eqn.outputs[0].type.size * depth)
    if eqn.primitive.name == "conv_general_dilated":
        return float(size * eqn.inputs[1].type.size // max(1, min(eqn.inputs[1].type.shape)))
    return float(size)


def _line(values: Sequence[Any]) -> Line | None:
    steps = {b - a for a, b in zip(values, values[1:])}
    return Line(values[0], steps.pop()) if len(steps) == 1 else None


def _same(a: Any, b: Any) -> bool:
    return bool(type(a) is type(b) and (a == b or a != a and b != b))


def _unstacked(equations: list[Equation], program: Program, elements: dict[Var, Element | Equation]
               ) -> list[Equation]:
    """The equations, and in front of the first use of a value that a loop made, how to have it."""
    defined = set(program.inputs)
    made = {v: eqn for eqn in equations for v in eqn.outputs}
    result: list[Equation] = []

    def define(atoms: Sequence[Atom]) -> None:
        for v in atoms:
            if not isinstance(v, Var) or v in defined:
                continue
            origin = elements[v]
            if isinstance(origin, Equation):
                define(origin.inputs)
                result.append(origin)
                defined.update(origin.outputs)
                continue
            stack, k = origin
            shape = stack.type.shape
            piece = Var(stack.type.with_shape((1, *shape[1:])))
            result.append(Equation(slice, [stack], [piece], {
                "start": (k, *[0] * (len(shape) - 1)), "limit": (k + 1, *shape[1:]), "strides": (1,) * len(shape)}))
            result.append(Equation(reshape, [piece], [v], {"shape": v.type.shape}))
            defined.add(v)

    for eqn in equations:
        if eqn.primitive is concatenate and eqn.params["axis"] == 0:
            eqn = _rejoined(eqn, made, elements, defined)
        define(eqn.inputs)
        result.append(eqn)
        defined.update(eqn.outputs)
    define(program.outputs)
    return result


def _rejoined(eqn: Equation, made: dict[Var, Equation], elements: dict[Var, Element | Equation],
              defined: set[Var]) -> Equation:
    """A concatenation in which the whole of a stack, given row by row, is the stack itself."""
    parts: list[Atom] = []
    rows: list[Atom] = []

    def origin(a: Atom) -> Any:
        source = made.get(a) if isinstance(a, Var) else None
        if source is None or source.primitive is not reshape or a.type.shape != (1, *source.inputs[0].type.shape):
            return None
        return elements.get(source.inputs[0])

    for a in eqn.inputs:
        element = origin(a)
        expected = len(rows)
        if isinstance(element, Element) and element.stack in defined and element.position == expected and (
                not rows or origin(rows[0]).stack is element.stack):
            rows.append(a)
            if len(rows) == element.stack.type.shape[0]:
                parts.append(element.stack)
                rows = []
            continue
        parts += [*rows, a]
        rows = []
    return eqn.replace(inputs=[*parts, *rows])
