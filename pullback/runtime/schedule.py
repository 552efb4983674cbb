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

    run: Callable[..., Any]  # gives the only result, or a sequence of several
    operands: tuple[int, ...]
    results: tuple[int, ...]
    spent: tuple[int, ...]


def _function(eqn: Equation) -> Callable[..., Any]:
    """An operation as a function of ndarrays."""
    if len(eqn.outputs) == 1:
        return eqn.primitive.alone([a.type for a in eqn.inputs], eqn.params)
    return functools.partial(eqn.primitive.numpy, **eqn.params)


class Schedule:
    """The steps of a program on NumPy. Called with Arrays and numbers, it returns Arrays."""

    __slots__ = ("count", "only", "outputs", "rest", "steps")

    def __init__(self, count: int, steps: list[Step], outputs: list[tuple[int, ArrayType]], rest: list[Any]) -> None:
        self.count = count      # of inputs
        self.steps = steps
        self.outputs = outputs  # the place and type of each
        self.rest = rest        # the values behind the inputs, when a run begins: constants, and room
        # Often it is one operation on the inputs, with one result.
        simple = len(steps) == len(outputs) == 1 and steps[0].operands == tuple(range(count)) and (
            steps[0].results == (outputs[0][0],))
        self.only = (steps[0].run, outputs[0][1]) if simple else None

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        values = [(arg.numpy() if arg._host is None else arg._host) if arg.__class__ is ConcreteArray else ndarray(arg)
                  for arg in args]
        if self.only is not None:
            function, t = self.only
            token = quiet()
            try:
                result = function(*values)
            finally:
                loud(token)
            return [array(t, result)]
        values += self.rest
        token = quiet()
        try:
            for run, operands, results, spent in self.steps:
                made = run(*[values[i] for i in operands])
                for i, result in zip(results, made if len(results) > 1 else (made,), strict=True):
                    values[i] = result if result.__class__ is np.ndarray else np.asarray(result)
                for i in spent:
                    values[i] = None
        finally:
            loud(token)
        count = self.count
        return [args[i] if i < count else array(t, values[i]) for i, t in self.outputs]


def schedule(program: Program) -> Schedule | None:
    """How NumPy runs a program; None if it has an operation that does not run there, or not simply."""
    places: dict[Atom, int] = {v: i for i, v in enumerate(program.inputs)}
    rest: list[Any] = []
    count = len(program.inputs)

    def place(atom: Atom, value: Any = None) -> int:
        if atom not in places:
            places[atom] = count + len(rest)
            rest.append(ndarray(atom.value) if isinstance(atom, Literal) else None)
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
        steps.append(Step(_function(eqn), operands, results, tuple(spent)))
    return Schedule(count, steps[::-1], outputs, rest)
