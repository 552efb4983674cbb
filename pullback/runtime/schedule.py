"""Operations and straight programs on NumPy: what follows from their types is worked out once."""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.program import Atom, Equation, Literal, Program
from pullback.core.types import ArrayType, scalar_type

# From this many elements of operands and results on, XLA's threads are worth a compiled call.
_LARGE = 1 << 21
_SMALL = 1 << 16  # elements of a constant that is kept


def is_large(types: Sequence[ArrayType], out_types: Sequence[ArrayType]) -> bool:
    return sum([t.size for t in types]) + sum([t.size for t in out_types]) > _LARGE


# What NumPy makes of complex infinities and NaNs, and of a division by 0, is in these not what XLA makes of them.
_UNLIKE = frozenset("abs asinh atan atanh div exp exp2 expm1 integer_pow logistic pow rsqrt sign sqrt".split())


class Finite(list[ArrayType]):
    """The types of results of NumPy that count only where they and the operands are finite."""


def is_unlike(primitive: Primitive, types: Sequence[ArrayType]) -> bool:
    return primitive.name in _UNLIKE and dtypes.is_complex(types[0].dtype)


def are_finite(arrays: Sequence[Any]) -> bool:
    return all([cmath.isfinite(np.add.reduce(a, axis=None)) for a in arrays])  # a sum, since it is quickly made


def plan(primitive: Primitive, types: tuple[ArrayType, ...], params: dict[str, Any]) -> Sequence[ArrayType]:
    """The types of the results of an operation that runs on NumPy; nothing for one that does not, or not simply."""
    if len(primitive.plans) > 4096:
        primitive.plans.clear()
    out_types = primitive.infer(types, params)
    if primitive.programs or primitive.slow_reference or primitive.expands("numpy") or primitive.parallel and is_large(
            types, out_types):
        return ()
    return Finite(out_types) if is_unlike(primitive, types) else out_types


# numpy.errstate(all="ignore") without its cost, which is that of three operations.
try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj
    _IGNORE = _make_extobj(all="ignore")

    quiet: Callable[[], Any] = functools.partial(_extobj_contextvar.set, _IGNORE)
    loud = _extobj_contextvar.reset
except ImportError:  # another version of NumPy
    def quiet() -> Any:
        return np.seterr(all="ignore")

    def loud(token: Any) -> None:
        np.seterr(**token)


def ndarray(arg: Any) -> Any:
    """An Array or a number as NumPy takes it."""
    if arg.__class__ is ConcreteArray:
        return arg.numpy() if arg._host is None else arg._host
    return scalar_type(arg).dtype.type(arg) if not isinstance(arg, np.generic) else arg


def array(t: ArrayType, result: Any) -> ConcreteArray:
    """What NumPy computed, as an Array."""
    host = result if result.__class__ is np.ndarray else np.asarray(result)
    if host.dtype is not t.dtype or host.shape != t.shape:
        physical = t.physical()
        assert host.dtype == physical.dtype and host.shape == physical.shape, (t, host.dtype, host.shape)
    return ConcreteArray(t, host)


class Step(NamedTuple):
    """One operation: where its operands and results stand among the values, and which of them nothing needs after."""

    run: Callable[..., Any]
    alone: bool  # whether it gives the only result itself, and not a sequence of results
    operands: tuple[int, ...]
    results: tuple[int, ...]
    spent: tuple[int, ...]


def _function(eqn: Equation) -> tuple[Callable[..., Any], bool]:
    """An operation as a function of ndarrays, and whether it gives its only result itself."""
    alone = eqn.primitive.alone([a.type for a in eqn.inputs], eqn.params) if len(eqn.outputs) == 1 else None
    return alone or functools.partial(eqn.primitive.numpy, **eqn.params), alone is not None


_NAME = f"{__file__}, as one function"  # of the file in tracebacks: ours, and none that is there
_OFTEN = 8  # runs of a schedule, after which it is written as one function,
_SHORT = 200  # where it has no more steps than these


class Schedule:
    """The steps of a program on NumPy. Called with a list of Arrays and numbers, it returns one of Arrays.

    `written` is the same as one function of these, once there is one.
    """

    __slots__ = ("count", "outputs", "rest", "steps", "times", "written")

    def __init__(self, count: int, steps: list[Step], outputs: list[tuple[int, ArrayType]], rest: list[Any]) -> None:
        self.count = count      # of inputs
        self.steps = steps
        self.outputs = outputs  # the place and type of each
        self.rest = rest        # the values behind the inputs, when a run begins: constants, and room
        self.times = 0
        self.written: Callable[..., list[Any]] | None = None

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        return (self.written or self.step_by_step)(*args)

    def step_by_step(self, *args: Any) -> list[Any]:
        self.times += 1
        if self.times == _OFTEN and len(self.steps) <= _SHORT:
            self.written = self._as_function()
        values = [*map(ndarray, args), *self.rest]
        token = quiet()
        try:
            for run, alone, operands, results, spent in self.steps:
                made = run(*[values[i] for i in operands])
                for i, result in zip(results, (made,) if alone else made, strict=True):
                    values[i] = result if result.__class__ is np.ndarray else np.asarray(result)
                for i in spent:
                    values[i] = None
        finally:
            loud(token)
        return [args[i] if i < self.count else array(t, values[i]) for i, t in self.outputs]

    def _as_function(self) -> Callable[..., list[Any]]:
        """The steps as the text of one function: what a loop over them does besides takes longer than they do."""
        known = {"quiet": quiet, "loud": loud, "Array": ConcreteArray, "array": array, "ndarray": ndarray,
                 "plain": np.ndarray, "asarray": np.asarray,
                 **{f"v{self.count + i}": value for i, value in enumerate(self.rest) if value is not None}}
        given = ", ".join([f"a{i}" for i in range(self.count)])
        lines = [f"v{i} = a{i}._host if a{i}.__class__ is Array and a{i}._host is not None else ndarray(a{i})"
                  for i in range(self.count)]
        lines += ["token = quiet()", "try:"]
        for n, (run, alone, operands, results, spent) in enumerate(self.steps):
            known[f"f{n}"] = run
            made = f"v{results[0]}" if alone else "".join([f"v{i}, " for i in results])
            lines.append(f"    {made} = f{n}({', '.join([f'v{i}' for i in operands])})")
            lines += [f"    if v{i}.__class__ is not plain: v{i} = asarray(v{i})" for i in results]
            lines += [f"    v{i} = None" for i in spent]
        lines += ["    pass", "finally:", "    loud(token)"]
        returned = []
        for i, t in self.outputs:
            if i < self.count:
                returned.append(f"a{i}")
                continue
            known |= {f"t{i}": t, f"d{i}": t.dtype, f"s{i}": t.shape}
            simple = f"Array(t{i}, v{i}) if v{i}.dtype is d{i} and v{i}.shape == s{i} else "
            returned.append(f"{'' if f'v{i}' in known else simple}array(t{i}, v{i})")
        lines.append(f"return [{', '.join(returned)}]")
        text = f"def run({given}):\n" + "\n".join([f"    {line}" for line in lines])
        exec(compile(text, _NAME, "exec"), known)
        return known.pop("run")  # type: ignore[no-any-return]


def schedule(program: Program) -> Schedule | None:
    """How NumPy runs a program; None if it has an operation that does not run there, or not simply."""
    places: dict[Atom, int] = {v: i for i, v in enumerate(program.inputs)}
    rest: list[Any] = []
    count = len(program.inputs)

    def place(atom: Atom, value: Any = None) -> int:
        if atom not in places:
            places[atom] = count + len(rest)
            # An array also of a number, which NumPy takes longer to read.
            rest.append(np.asarray(ndarray(atom.value)) if isinstance(atom, Literal) else None)
        return places[atom]

    rows = []
    for eqn in program.equations:
        if eqn.primitive.transparent or eqn.effects:
            return None
        planned = plan(eqn.primitive, tuple([a.type for a in eqn.inputs]), eqn.params)
        if not planned or planned.__class__ is Finite:
            return None
        operands = tuple([place(a) for a in eqn.inputs])
        results = tuple([place(v) for v in eqn.outputs])
        if all([i >= count and rest[i - count] is not None for i in operands]) and max(
                [v.type.size for v in eqn.outputs]) <= _SMALL:
            token = quiet()
            try:  # what depends on no input is the same every time
                made = eqn.primitive.numpy(*[rest[i - count] for i in operands], **eqn.params)
            finally:
                loud(token)
            for i, result in zip(results, made, strict=True):
                rest[i - count] = np.asarray(result)
        else:
            rows.append((eqn, operands, results))
    outputs = [(place(a), a.type) for a in program.outputs]
    needed = {i for i, _ in outputs} | {i + count for i, value in enumerate(rest) if value is not None}
    steps = []
    for eqn, operands, results in reversed(rows):
        spent = {i for i in (*operands, *results) if i not in needed}
        needed |= spent
        steps.append(Step(*_function(eqn), operands, results, tuple(spent)))
    return Schedule(count, steps[::-1], outputs, rest)
