"""Looking at functions without running them: eval_shape, make_jaxpr, named_scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wrapping, wraps
from pullback.api.stages import ClosedProgram, ShapeDtypeStruct, struct_of
from pullback.core import dtypes, errors, source, trace, tree
from pullback.core.array import Array
from pullback.core.primitive import Primitive
from pullback.core.trace import type_of
from pullback.core.types import ArrayType
from pullback.core.vector import zeros_like
from pullback.interpret.stage import stage

__all__ = ["ensure_compile_time_eval", "eval_context", "eval_shape", "make_jaxpr", "named_call", "named_scope"]


def type_of_argument(leaf: Any) -> ArrayType:
    """The type of an array, a number, or what has a shape and a dtype, as functions are traced for it."""
    if not isinstance(leaf, Array) and hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ArrayType(tuple(leaf.shape), dtypes.canonicalize(leaf.dtype), bool(getattr(leaf, "weak_type", False)))
    return type_of(flatten_args(leaf)[0][0])


class _Typed(FlatFunction):
    """A function that may return a ShapeDtypeStruct in the place of an array."""

    def outputs(self, result: Any, what: str) -> tuple[list[Any], Any]:
        if any(isinstance(x, ShapeDtypeStruct) for x in tree.leaves(result)):
            result = tree.map(
                lambda x: zeros_like(type_of_argument(x)) if isinstance(x, ShapeDtypeStruct) else x, result)
        return super().outputs(result, what)


def _staged(fun: Callable[..., Any], args: Any, kwargs: Any, what: str) -> tuple[Any, list[Any], FlatFunction]:
    check_callable(fun, what)
    leaves, in_tree = tree.flatten((args, kwargs))
    flat = _Typed(fun, in_tree, keywords=True, op=what)
    program, captured = stage(flat, [type_of_argument(x) for x in leaves], name=function_name(fun), what=what,
                              input_names=argument_names(fun, args, kwargs))
    return program, captured, flat


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, without computing it.

    Args:
      *args, **kwargs: arrays or ShapeDtypeStructs.

    Returns:
      The structure of the output, with ShapeDtypeStructs for leaves.

    Example:
      >>> eval_shape(lambda x: x @ x.T, jnp.ones((2, 3)))
      ShapeDtypeStruct(shape=(2, 2), dtype=float32)
    """
    program, _, flat = _staged(fun, args, kwargs, "eval_shape")
    return tree.unflatten(flat.out_tree, [struct_of(t) for t in program.output_types])


def make_jaxpr(fun: Callable[..., Any], static_argnums: Any = (), axis_env: Any = None, return_shape: bool = False
                ) -> Callable[..., Any]:
    """A function that returns the program of `fun` for its arguments.

    Args:
      static_argnums: arguments that are Python values, part of the program.
      axis_env: pairs (name, size) of mapped axes to assume.
      return_shape: return (program, shapes of the output).

    Example:
      >>> print(make_jaxpr(jnp.sin)(1.0))
    """
    check_callable(fun, "make_jaxpr")
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    @wraps(fun)
    def program_of(*args: Any, **kwargs: Any) -> Any:
        dynamic = [arg for i, arg in enumerate(args) if i not in static]

        def with_static(*given: Any, **given_kwargs: Any) -> Any:
            rest = iter(given)
            return fun(*(args[i] if i in static else next(rest) for i in range(len(args))), **given_kwargs)

        wrapping(with_static, fun)
        before = trace.state.axes
        trace.state.axes = {**before, **dict(axis_env or ())}
        try:
            program, captured, flat = _staged(with_static if static else fun, dynamic, kwargs, "make_jaxpr")
        finally:
            trace.state.axes = before
        closed = ClosedProgram(program, captured)
        if return_shape:
            return closed, tree.unflatten(flat.out_tree, [struct_of(t) for t in program.output_types])
        return closed

    return program_of


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """A context, or decorator, that puts `name` on the operations asked for inside it.

    Example:
      >>> scoped = named_scope("layer")(lambda x: x * 2)
      >>> scoped(1.5)
      3.0
    """
    if not isinstance(name, str):
        raise errors.type_error(f"the name is {name!r}, a string is required", op="named_scope")
    before = source.state.scope
    source.state.scope = f"{before}/{name}" if before else name
    try:
        yield
    finally:
        source.state.scope = before


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """`fun` under a named_scope of its own name.

    Example:
      >>> named_call(jnp.sin, name="wave")(0.0).item()
      0.0
    """
    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(name or function_name(fun)):
            return fun(*args, **kwargs)
    return named


class _WhereKnown(trace.Trace):
    """Runs operations on known values at once, and leaves those on traced ones to the trace outside."""

    def __init__(self, outside: trace.Trace) -> None:
        self.parent = outside

    def describe(self) -> str:
        return self.parent.describe()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        with trace.running(self.parent if any(isinstance(x, trace.Tracer) for x in args) else trace.base()) as by:
            return by.process(primitive, args, params)


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Inside, operations on known values run at once, also while a function is being traced.

    Example:
      >>> @jax.jit
      ... def f(x):
      ...     with jax.ensure_compile_time_eval():
      ...         steps = int(jnp.ceil(jnp.log2(100.0)))  # a Python int, though f is traced
      ...     return x * steps
      >>> f(jnp.ones(2))
      Array([7., 7.], dtype=float32)
    """
    with trace.running(_WhereKnown(trace.current())):
        yield


@contextmanager
def eval_context() -> Iterator[None]:
    """Inside, every operation runs at once; one on a traced value is an error."""
    with trace.running(trace.base()):
        yield
