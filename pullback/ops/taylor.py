"""Taylor mode: every value carries its derivatives along a curve, up to an order.

For y = p(x) on a curve x(t), the jvp rule of p gives y'(t) from x(t) and x'(t). Its operations, run on the curves of
x and x' one order lower, give the derivatives of y' and so those of y. Products need no such detour (Leibniz), and with
them the cost is polynomial in the order, where nested jvp is exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

from pullback.core import source
from pullback.core.primitive import Primitive
from pullback.core.program import Program
from pullback.core.trace import Trace, Tracer, bind, current, opened, running, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import add, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import inexact, jvp
from pullback.interpret.linearize import prune
from pullback.interpret.stage import stage

Series = list[Any]  # the derivatives of orders 1 to n, each an array or a Zero


class JetTracer(Tracer):
    """A value and its derivatives along the curve."""

    __slots__ = ("primal", "series")

    def __init__(self, trace: JetTrace, primal: Any, series: Series) -> None:
        self.owner = trace
        self.primal = primal
        self.series = series
        self.type = type_of(primal)
        self.source = source.here()

    def concrete(self) -> Any:
        return self.primal


class JetTrace(Trace):
    """Runs the `jet` rules, and where there is none the `jvp` rules one order lower."""

    def __init__(self, parent: Trace, order: int) -> None:
        self.parent = parent
        self.order = order

    def describe(self) -> str:
        return "jet"

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if not any(type(arg) is JetTracer and arg.owner is self for arg in args):
            with running(self.parent):
                return self.parent.process(primitive, args, params)
        if primitive.runs_program:
            return evaluate(params[primitive.programs[0]], args)
        if primitive.jet is None and primitive.expands("jvp"):
            return primitive.expand(*args, **params)  # type: ignore[no-any-return]
        pairs = [self.split(arg) for arg in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        with running(self.parent):
            if primitive.jet is None:
                outputs, results = _by_jvp(primitive, self.order, primals, series, params)
            else:
                outputs, results = primitive.jet(self.order, primals, series, **params)
        return [self.join(x, s) for x, s in zip(outputs, results, strict=True)]

    def join(self, primal: Any, series: Series) -> Any:
        return primal if all(isinstance(t, Zero) for t in series) else JetTracer(self, primal, series)

    def split(self, value: Any) -> tuple[Any, Series]:
        if type(value) is JetTracer and value.owner is self:
            return value.primal, value.series
        return value, zero_series(value, self.order)


def zero_series(of: Any, order: int) -> Series:
    return [Zero(type_of(of).tangent())] * order


def moves(series: Series) -> bool:
    """Whether a value changes along the curve."""
    return any(not isinstance(t, Zero) for t in series)


def jet(function: Callable[..., Sequence[Any]], order: int, primals: Sequence[Any], series: Sequence[Series]
        ) -> tuple[list[Any], list[Series]]:
    """Values of a flat function and their derivatives of orders 1 to `order` along a curve given by its own."""
    if order == 0:
        outputs = list(function(*primals))
        return outputs, [[] for _ in outputs]
    trace = JetTrace(current(), order)
    args = [trace.join(p, s) for p, s in zip(primals, series, strict=True)]
    with opened(trace):
        results = function(*args)
    pairs = [trace.split(x) for x in results]
    return [p for p, _ in pairs], [s for _, s in pairs]


def _by_jvp(primitive: Primitive, order: int, primals: Sequence[Any], series: Sequence[Series],
            params: dict[str, Any]) -> tuple[list[Any], list[Series]]:
    """The derivatives of an operation's outputs from its jvp rule, run on curves one order lower."""
    types = [type_of(p) for p in primals]
    mask = [moves(s) and inexact(t) for s, t in zip(series, types, strict=True)]
    reached: list[bool] = []

    def tangents(*args: Any) -> list[Any]:
        rest = iter(args[len(types):])
        dots = [next(rest) if flag else Zero(t.tangent()) for flag, t in zip(mask, types, strict=True)]
        _, out_dots = jvp(lambda *xs: bind(primitive, xs, params), args[:len(types)], dots)
        reached[:] = [not isinstance(t, Zero) for t in out_dots]
        return [t for t in out_dots if not isinstance(t, Zero)]

    moving = [i for i, flag in enumerate(mask) if flag]
    program, captured = prune(*stage(tangents, [*types, *[types[i].tangent() for i in moving]], name=primitive.name,
                                     what="jet"))
    inputs = len(types) + len(moving)
    given = [*captured, *primals, *[instantiate(series[i][0]) for i in moving]]
    lower = [*[zero_series(x, order - 1) for x in captured], *[s[:-1] for s in series],
             *[series[i][1:] for i in moving]]
    assert len(given) == len(captured) + inputs
    first, rest = jet(lambda *xs: evaluate(program, xs), order - 1, given, lower)
    found = iter([[x, *s] for x, s in zip(first, rest, strict=True)])
    outputs = bind(primitive, primals, params)
    return outputs, [next(found) if flag else zero_series(o, order) for o, flag in zip(outputs, reached, strict=True)]


def product_series(times: Callable[[Any, Any], Any], x: Sequence[Any], y: Sequence[Any], order: int,
                   of: ArrayType) -> Series:
    """The derivatives of a product of curves x and y, given with their values in front (Leibniz)."""
    result: Series = []
    for k in range(1, order + 1):
        total: Any = Zero(of.tangent())
        for j in range(k + 1):
            if not isinstance(x[j], Zero) and not isinstance(y[k - j], Zero):
                total = add(total, times(repeated(x[j], comb(k, j)), y[k - j]))
        result.append(total)
    return result


def repeated(x: Any, factor: int) -> Any:
    """`x` added up `factor` times, in few steps."""
    result: Any = Zero(type_of(x).tangent())
    while factor:
        if factor & 1:
            result = add(result, x)
        factor >>= 1
        x = add(x, x) if factor else x
    return result


def jet_program(program: Program, order: int, mask: tuple[bool, ...]) -> Program:
    """The program of values and derivatives: its inputs are followed by `order` derivatives of each marked one, its
    outputs by those of each that has any. Use it through `program.memo(jet_program, order, mask)`."""
    types = program.input_types

    def run(*args: Any) -> list[Any]:
        rest = iter(args[len(types):])
        series = [[next(rest) for _ in range(order)] if flag else zero_series(x, order)
                  for flag, x in zip(mask, args, strict=False)]
        outputs, results = jet(lambda *xs: evaluate(program, xs), order, args[:len(types)], series)
        return [*outputs, *[instantiate(t) for o, s in zip(outputs, results, strict=True) if inexact(type_of(o))
                            for t in s]]
    extra = [t.tangent() for t, flag in zip(types, mask, strict=True) if flag for _ in range(order)]
    return stage(run, [*types, *extra], name=f"jet_{program.name}", what="jet")[0]


def collect(results: Sequence[Any], count: int, order: int) -> tuple[list[Any], list[Series]]:
    """Outputs and their series, from the outputs of a `jet_program`."""
    outputs, rest = list(results[:count]), iter(results[count:])
    return outputs, [[next(rest) for _ in range(order)] if inexact(type_of(o)) else zero_series(o, order)
                     for o in outputs]
