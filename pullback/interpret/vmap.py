"""Batching: one program for many inputs, by a rule per primitive.

The batch axis of every batched value is axis 0; `in_axes` and `out_axes` are moved once, at the
boundary. An operation with no batched operand belongs to the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import source
from pullback.core.primitive import Primitive
from pullback.core.program import Program
from pullback.core.trace import Trace, Tracer, current, named_axis, opened, running, type_of
from pullback.core.vector import broadcast
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import closed


class BatchTracer(Tracer):
    """One element of a batch; `value` holds them all along its axis 0."""

    __slots__ = ("value",)

    def __init__(self, trace: BatchTrace, value: Any) -> None:
        self.owner = trace
        self.value = value
        self.type = type_of(value).unbatched()
        self.source = source.here()

    def why_unknown(self) -> tuple[str, ...]:
        return (f"inside vmap it has a different value for each of the {self.owner.size} elements of the "  # type: ignore[attr-defined]
                "batch",)


class BatchTrace(Trace):
    """Runs the `batch` rules."""

    def __init__(self, parent: Trace, size: int, axis_name: Any = None) -> None:
        self.parent = parent
        self.size = size
        self.axis_name = axis_name

    def describe(self) -> str:
        return "vmap"

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        flags = [type(arg) is BatchTracer and arg.owner is self for arg in args]
        named = self.axis_name is not None and self.axis_name in primitive.axis_names(params)
        if not named and not any(flags):
            with running(self.parent):
                return self.parent.process(primitive, args, params)
        if primitive.expands("batch"):
            return primitive.expand(*args, **params)  # type: ignore[no-any-return]
        values = [arg.value if flag else arg for arg, flag in zip(args, flags, strict=True)]
        with running(self.parent):
            if named:
                outputs, batched = primitive.batch_named(self.size, self.axis_name, values, flags, **params)
            else:
                outputs, batched = primitive.batch(self.size, values, flags, **params)
        return [BatchTracer(self, x) if flag else x for x, flag in zip(outputs, batched, strict=True)]

    def split(self, value: Any) -> tuple[Any, bool]:
        """The value with all elements along axis 0, and whether it has them."""
        if type(value) is BatchTracer and value.owner is self:
            return value.value, True
        return value, False


def vmap(function: Callable[..., Sequence[Any]], size: int, args: Sequence[Any], batched: Sequence[bool],
         axis_name: Any = None) -> tuple[list[Any], list[bool]]:
    """A flat function on batched arguments; returns its outputs and which of them are batched."""
    trace = BatchTrace(current(), size, axis_name)
    wrapped = [BatchTracer(trace, arg) if flag else arg for arg, flag in zip(args, batched, strict=True)]
    with opened(trace), named_axis(axis_name, size):
        outputs = function(*wrapped)
    pairs = [trace.split(value) for value in outputs]
    return [value for value, _ in pairs], [flag for _, flag in pairs]


def batch_program(program: Program, size: int, batched: tuple[bool, ...], axis_name: Any = None
                  ) -> tuple[Program, tuple[bool, ...]]:
    """The program on batched inputs, and which of its outputs are batched.

    Use it through `program.memo(batch_program, size, batched, axis_name)`.
    """
    return _batch_program(program, size, batched, None, axis_name)


def batch_program_with(program: Program, size: int, batched: tuple[bool, ...], outputs: tuple[bool, ...],
                       axis_name: Any = None) -> Program:
    """`batch_program` whose outputs marked in `outputs` are batched, by broadcasting where need be."""
    return _batch_program(program, size, batched, outputs, axis_name)[0]


def _batch_program(program: Program, size: int, batched: tuple[bool, ...], wanted: tuple[bool, ...] | None,
                   axis_name: Any) -> tuple[Program, tuple[bool, ...]]:
    types = [t.batched(size) if flag else t for t, flag in zip(program.input_types, batched, strict=True)]
    mask: list[bool] = []

    def all_elements(*args: Any) -> list[Any]:
        outputs, flags = vmap(lambda *xs: evaluate(program, xs), size, args, batched, axis_name)
        mask.extend(flags if wanted is None else wanted)
        return [broadcast(x, size) if want and not flag else x
                for x, flag, want in zip(outputs, flags, mask, strict=True)]

    derived = closed(all_elements, types, name=f"batch_{program.name}", what="vmap")
    return derived, tuple(mask)
