"""Traces and tracers: how an operation finds the transformation that must interpret it.

There is one current trace per thread. `bind` hands it the operation. A trace unwraps the tracers it
owns, takes anything else for a constant, and runs rules with its parent as the current trace. There
are no levels: a value belongs to the trace that its tracer names, and to no other.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pullback.core import config, errors, source
from pullback.core.array import Array
from pullback.core.types import ArrayType, scalar_type

if TYPE_CHECKING:
    from pullback.core.primitive import Primitive
    from pullback.core.program import Program


class Trace:
    """An interpretation of operations. `parent` interprets what this trace's rules ask for."""

    parent: Trace
    alive: bool = True

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """Interprets one operation; returns the list of its outputs."""
        raise AssertionError("every trace defines process")

    def schedule(self, program: Program) -> Callable[[Sequence[Any]], list[Any]] | None:
        """A fast way to run a program at once, if this trace has one."""
        return None

    def describe(self) -> str:
        """The transformation, for messages: 'jvp', 'vmap of f'."""
        return "a transformation"

    @property
    def main(self) -> Trace:
        """What libraries compare to tell whether two tracers are of one transformation."""
        return self


class _State(threading.local):
    def __init__(self) -> None:
        self.trace: Trace | None = None
        self.axes: dict[str, int] = {}  # sizes of the mapped axes in scope, by name


state = _State()
_base: list[Trace] = []
_leak_checks: list[Callable[[Trace], None]] = []


def set_base(trace: Trace) -> None:
    """Installs the trace that runs operations at once (runtime.eager)."""
    _base[:] = [trace]


def set_leak_check(check: Callable[[Trace], None]) -> None:
    """Installs what `check_tracer_leaks` runs when a trace is closed (runtime.leaks)."""
    _leak_checks[:] = [check]


def base() -> Trace:
    return _base[0]


def current() -> Trace:
    return state.trace or _base[0]


class running:
    """Context: `trace` is current."""

    __slots__ = ("before", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.before = state.trace
        state.trace = self.trace
        return self.trace

    def __exit__(self, *exc: object) -> None:
        state.trace = self.before


class opened(running):
    """Context: `trace` is current, and closed for good at the end."""

    __slots__ = ()

    def __exit__(self, *exc: object) -> None:
        state.trace = self.before
        close(self.trace, exc[0] is not None)


def close(trace: Trace, failed: bool = False) -> None:
    """Ends a trace: its tracers are of no use from now on."""
    trace.alive = False
    if config.check_tracer_leaks.value and not failed and _leak_checks:
        _leak_checks[0](trace)


class named_axis:
    """Context: the mapped axis `name` has `size`."""

    __slots__ = ("before", "name", "size")

    def __init__(self, name: Any, size: int) -> None:
        self.name = name
        self.size = size

    def __enter__(self) -> None:
        self.before = state.axes
        if self.name is not None:
            state.axes = {**self.before, self.name: self.size}

    def __exit__(self, *exc: object) -> None:
        state.axes = self.before


def axis_size(name: Any) -> int:
    """The size of the mapped axis `name` in scope."""
    try:
        return state.axes[name]
    except KeyError:
        raise errors.make(
            NameError, f"no mapped axis named {name!r} is in scope; in scope: {sorted(map(str, state.axes))}",
            fix=f"run the function under vmap(..., axis_name={name!r})") from None


def bind(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Has the current trace interpret one operation."""
    return (state.trace or _base[0]).process(primitive, args, params)


class Tracer(Array):
    """A value inside a transformation; behaves as an Array of type `type`."""

    # No name of an Array's method, `trace` and `var` among them, which a slot would hide.
    __slots__ = ("__weakref__", "owner", "source", "type")

    owner: Trace
    source: source.Source | None

    @property
    def _trace(self) -> Trace:  # jax's name
        return self.owner

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def concrete(self) -> Any:
        """The Array this tracer stands for, if its trace knows it; else None."""
        return None

    def why_unknown(self) -> tuple[str, ...]:
        """Sentences that say where this value comes from, for error messages."""
        return ()

    def known(self, error: builtins.type[BaseException], use: str, fix: str) -> Any:
        """The Array this tracer stands for; an `error` that says why there is none otherwise."""
        value = concrete(self)
        if value is None:
            raise errors.make(error, f"{use} of a traced value: its type {self.type} is known here, its "
                              "numbers are not", op="", notes=self.why_unknown(), fix=fix)
        return value

    def __bool__(self) -> bool:
        return bool(self.known(errors.TracerBoolConversionError, "truth",
            "use jnp.where or lax.cond instead of `if`, lax.while_loop instead of `while`, & | ~ instead of "
            "`and or not`; or mark the argument static in jit (static_argnums, static_argnames)"))

    def __index__(self) -> int:
        return int(self.known(errors.TracerIntegerConversionError, "use as a Python integer",
            "mark the argument static in jit (static_argnums), or index with lax.dynamic_slice or jnp.take"
        ).__index__())

    def __int__(self) -> int:
        return int(self.known(errors.ConcretizationTypeError, "int()", _KEEP.format("astype(int)")))

    def __float__(self) -> float:
        return float(self.known(errors.ConcretizationTypeError, "float()", _KEEP.format("astype(float)")))

    def __complex__(self) -> complex:
        return complex(self.known(errors.ConcretizationTypeError, "complex()", _KEEP.format("astype(complex)")))

    def item(self, *index: int) -> Any:
        return self.known(errors.ConcretizationTypeError, "item()", _KEEP.format("x itself")).item(*index)

    def tolist(self) -> Any:
        return self.known(errors.ConcretizationTypeError, "tolist()", _KEEP.format("x itself")).tolist()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.make(errors.TracerArrayConversionError,
            f"conversion of a traced value to a NumPy array: type {self.type}, inside {self.owner.describe()}",
            op="", notes=self.why_unknown(), fix="use pullback.numpy (jnp) in place of numpy on this line")

    def __iter__(self) -> Iterator[Any]:
        if not self.type.shape:
            raise errors.make(TypeError, "iteration over a traced value without axes", op="")
        return (self[i] for i in range(self.type.shape[0]))  # type: ignore[index]

    def __format__(self, spec: str) -> str:
        return repr(self)  # a format spec for numbers has nothing to format here

    def __repr__(self) -> str:
        return f"Tracer<{self.type}> in {self.owner.describe()}"


_KEEP = "keep it an array: {}; or compute it outside the transformed function"


def type_of(value: Any) -> ArrayType:
    """The type of an Array, a Tracer, or a scalar."""
    try:
        t = value.type
    except AttributeError:
        return scalar_type(value)
    return t if isinstance(t, ArrayType) else scalar_type(value)


def concrete(value: Any) -> Any:
    """`value` without the tracers of transformations that know it, or None where one does not."""
    while isinstance(value, Tracer):
        value = value.concrete()
    return value


def leaked(tracer: Tracer, use: str = "used") -> errors.UnexpectedTracerError:
    """The error for a tracer that outlived its transformation."""
    made = f"it was made at {tracer.source}" if tracer.source else "it was made by a transformation"
    return errors.make(errors.UnexpectedTracerError,
        f"a leaked tracer was {use}: a value of type {tracer.type} outlived "
        f"the {tracer.owner.describe()} that made it", op="", notes=(made,),
        fix="return the value from the transformed function; do not store it in a global, "
            "an attribute or a list outside")

