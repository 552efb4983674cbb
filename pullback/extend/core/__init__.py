"""Primitives and programs, for libraries that define operations or read programs (jax.extend.core)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pullback.api.stages import ClosedProgram as ClosedJaxpr
from pullback.api.stages import OpenProgram as Jaxpr
from pullback.core import errors
from pullback.core.check import check_program
from pullback.core.program import Equation as JaxprEqn
from pullback.core.program import Literal, Var
from pullback.core.trace import Trace, Tracer, base, concrete, current, running
from pullback.core.types import ArrayType
from pullback.extend.core import primitives
from pullback.extend.primitive import Primitive, is_value
from pullback.interpret.evaluate import evaluate
from pullback.runtime.device import as_array

__all__ = ["ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Var", "check_jaxpr",
           "concrete_or_error", "find_top_trace", "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params",
           "mapped_aval", "primal_dtype_to_tangent_dtype", "primitives", "set_current_trace", "subjaxprs",
           "take_current_trace", "unmapped_aval", "valid_jaxtype"]


class DropVar(Var):
    """A result that nothing reads, in jax's programs; pullback's have a Var there, so nothing is an instance."""


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Raises where a program does not hold together: types, order of definitions, rules for types."""
    check_program(jaxpr.program)


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """`force(val)` for a value whose numbers are known (`val` itself where `force` is None).

    Raises:
      ConcretizationTypeError: it is traced; `context` says what it is wanted for.
    """
    if isinstance(val, Tracer) and concrete(val) is None:
        raise errors.make(errors.ConcretizationTypeError, f"a traced value of type {val.type}, a known one is required"
                          + (f": {context}" if context else ""), op="", notes=val.why_unknown(),
                          fix="mark the argument static in jit, or compute the value outside")
    known = concrete(val) if isinstance(val, Tracer) else val
    return known if force is None else force(known)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """A program as a function: (*further arguments) -> the list of its outputs. `args` come first."""
    def run(*more: Any) -> list[Any]:
        return evaluate(closed_jaxpr.program, [*closed_jaxpr.consts, *[as_array(x) for x in (*args, *more)]])
    return run


def jaxprs_in_params(params: dict[str, Any]) -> list[Jaxpr]:
    """The programs among the parameters of an equation."""
    found = [x for v in params.values() for x in (v if isinstance(v, tuple) else (v,))]
    return [Jaxpr(x, 0) for x in found if type(x).__name__ == "Program"]


def subjaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The programs that a program's equations carry."""
    return [Jaxpr(program, 0) for eqn in jaxpr.eqns for program in eqn.programs]


def mapped_aval(size: int, axis: int | None, aval: ArrayType) -> ArrayType:
    """A type without its mapped axis.

    Raises:
      ValueError: the axis has another size.
    """
    if axis is None:
        return aval
    axis = errors.check_axis(axis, aval.ndim)
    if aval.shape[axis] != size:
        raise errors.value_error(f"axis {axis} of {aval} has size {aval.shape[axis]}, {size} is required",
                                 op="mapped_aval")
    return aval.with_shape(aval.shape[:axis] + aval.shape[axis + 1:])


def unmapped_aval(size: int, axis: int | None, aval: ArrayType, explicit_mesh_axis: Any = None) -> ArrayType:
    """A type with a mapped axis of `size` put in at `axis`."""
    if axis is None:
        return aval
    axis = errors.check_axis(axis, aval.ndim + 1)
    return aval.with_shape((*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents: itself for floats and complex numbers, float0 for the rest."""
    return ArrayType((), primal_dtype).tangent().dtype


class OpaqueTraceState:
    """The transformation under way; equal to another taken under the same one."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and other._trace is self._trace

    def __hash__(self) -> int:
        return id(self._trace)

    def __repr__(self) -> str:
        return f"OpaqueTraceState({self._trace.describe()})"


def find_top_trace(_: Iterable[Any]) -> Trace:
    """The innermost trace that one of the values belongs to; what runs operations at once, if none is traced."""
    owners = [x.owner for x in _ if isinstance(x, Tracer)]
    return current() if current() in owners else owners[-1] if owners else base()


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """What tells whether two moments are under the same transformation: compare it by `==`."""
    return OpaqueTraceState(current())


@contextlib.contextmanager
def set_current_trace(trace: Trace | None) -> Iterator[None]:
    """Context: operations are interpreted by `trace`; None stands for what runs them at once."""
    with running(base() if trace is None else trace):
        yield


@contextlib.contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Context, with the current trace for its value: operations run at once."""
    taken = current()
    with running(base()):
        yield taken


def valid_jaxtype(x: Any) -> bool:
    """Whether operations take `x`."""
    return is_value(x)


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.extend.core.{name}")
