"""Derivative rules on marked tangents: which of the operations that a rule asks for touch a tangent.

Forward mode runs rules this way while a setting watches derivatives (`config.watched`). Then each operation gets the
role it has in messages, tangent or factor of the derivative; and under `strong_zeros` products and quotients of
tangents are those in which a factor that is exactly zero makes zero. The mark is a tracer; the trace hands every
operation on to its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import config, source
from pullback.core.primitive import TABLE, Outputs, Primitive
from pullback.core.trace import Trace, Tracer, running, type_of
from pullback.core.types import Zero, is_scalar

_STRONG = {"mul": "strong_mul", "div": "strong_div", "dot_general": "strong_dot_general"}


class Marked(Tracer):
    """A tangent, or what was computed from one."""

    __slots__ = ("value",)

    def __init__(self, trace: MarkTrace, value: Any) -> None:
        self.owner = trace
        self.value = value
        self.type = type_of(value)
        self.source = source.here()

    def concrete(self) -> Any:
        return self.value

    def why_unknown(self) -> tuple[str, ...]:
        return self.value.why_unknown() if isinstance(self.value, Tracer) else ()


class MarkTrace(Trace):
    """Runs everything in the parent, knowing what is marked; `primitive` is the one whose rule runs."""

    def __init__(self, parent: Trace, primitive: Primitive) -> None:
        self.parent = parent
        self.primitive = primitive
        self.begun = False  # whether the rule has asked for the primal

    def describe(self) -> str:
        return self.parent.describe()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
        values = [self.plain(arg) for arg in args]
        marked = any([value is not arg for value, arg in zip(values, args, strict=True)])
        if marked and config.strong_zeros.value and primitive.name in _STRONG and not any(map(_ordinary, values)):
            primitive = TABLE[_STRONG[primitive.name]]
        before, where = source.state.source, source.here()
        try:
            if where is not None and marked:
                source.state.source = where.doing("tangent", self.primitive.name)
            elif primitive is self.primitive and not self.begun:
                self.begun = True
            elif where is not None and not self.primitive.transparent:
                source.state.source = where.doing("factor", self.primitive.name)
            with running(self.parent):
                outputs = self.parent.process(primitive, values, params)
        finally:
            source.state.source = before
        return [Marked(self, x) for x in outputs] if marked else outputs

    def plain(self, value: Any) -> Any:
        return value.value if type(value) is Marked and value.owner is self else value


def _ordinary(x: Any) -> bool:
    """Whether x is a constant whose products need no care."""
    return is_scalar(x) and bool(np.isfinite(x)) and x != 0


def run_marked(rule: Callable[..., tuple[Outputs, Outputs]], primitive: Primitive, parent: Trace,
               primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Outputs, Outputs]:
    """The `jvp` or `linearize` rule of a primitive on marked tangents; its results without marks."""
    trace = MarkTrace(parent, primitive)
    with running(trace):
        outputs, dots = rule(primals, [t if isinstance(t, Zero) else Marked(trace, t) for t in tangents], **params)
    return [trace.plain(x) for x in outputs], [trace.plain(t) for t in dots]
