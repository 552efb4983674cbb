"""Errors found while a program runs, as values: also inside jit, vmap, loops and branches.

    def f(x):
        checkify.check(x > 0, "x is {x}, a positive number is required", x=x)
        return jnp.log(x)

    error, out = jax.jit(checkify.checkify(f))(-1.0)
    error.throw()
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wraps
from pullback.core import dtypes, errors, source, tree
from pullback.core.array import Array, from_numpy
from pullback.core.primitive import TABLE
from pullback.core.trace import Tracer, bind, concrete, type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.core.values import value
from pullback.interpret.stage import stage
from pullback.ops.check import JaxRuntimeError, Message
from pullback.ops.check import check as check_primitive
from pullback.passes.faults import (
    Category,
    DivisionByZeroError,
    FailedCheckError,
    Fault,
    NaNError,
    OOBError,
    State,
    places,
    run,
)
from pullback.runtime.device import as_array

__all__ = ["Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check", "check_error",
           "checkify", "debug_check", "div_checks", "float_checks", "index_checks", "init_error", "nan_checks",
           "user_checks"]

ErrorCategory = Category

user_checks: frozenset[Category] = frozenset({FailedCheckError})
nan_checks: frozenset[Category] = frozenset({NaNError})
div_checks: frozenset[Category] = frozenset({DivisionByZeroError})
index_checks: frozenset[Category] = frozenset({OOBError})
float_checks: frozenset[Category] = nan_checks | div_checks
automatic_checks: frozenset[Category] = float_checks | index_checks
all_checks: frozenset[Category] = automatic_checks | user_checks


class Error:
    """The first error that a function of `checkify` met, or none; a pytree of arrays.

    It passes through jit and other transformations like any value. Out of `vmap` it holds an error per element.
    """

    __slots__ = ("code", "faults", "slots", "types")

    def __init__(self, code: Any = None, slots: Iterable[Any] = (), faults: tuple[Fault, ...] = (),
                 types: tuple[ArrayType, ...] = ()) -> None:
        self.code = code  # i32[s]: the number of the fault, -1 for none; None where nothing is checked
        self.slots = tuple(slots)
        self.faults = faults
        self.types = types  # of the slots, for one element

    def get(self) -> str | None:
        """What went wrong, with the user's line; None if nothing did. Of a batch, a part for each that failed.

        Raises:
          ConcretizationTypeError: inside a transformation, where it is not known yet.
        """
        if not self.faults:
            return None
        code, *slots = (np.asarray(self._known(x)) for x in (self.code, *self.slots))
        if not code.ndim:
            return None if code < 0 else self._text(int(code), slots)
        failed = [f"at mapped index {', '.join(map(str, at))}: {self._text(int(code[at]), [x[at] for x in slots])}"
                  for at in map(tuple, np.argwhere(code >= 0).tolist())]
        return "\n".join(failed) or None

    def _known(self, x: Any) -> Any:
        if isinstance(x, Tracer):
            return x.known(errors.ConcretizationTypeError, "the error",
                           "return it from the transformed function and look at it outside, or use check_error")
        return x

    def _text(self, code: int, slots: list[Any]) -> str:
        fault = self.faults[code]
        return fault.message(*[slots[i] for i in places(self.types, fault.types)])

    def get_exception(self) -> JaxRuntimeError | None:
        """The error as an exception, or None."""
        text = self.get()
        return None if text is None else JaxRuntimeError(text)

    def throw(self) -> None:
        """Raises JaxRuntimeError if something went wrong."""
        exception = self.get_exception()
        if exception is not None:
            raise exception

    def __repr__(self) -> str:
        if self.faults and concrete(self.code) is None:
            return f"Error(traced, {len(self.faults)} checks)"
        return f"Error({self.get()})"


tree.register_pytree_node(
    Error, lambda e: ((e.code, *e.slots) if e.faults else (), (e.faults, e.types)),
    lambda aux, leaves: Error(leaves[0], leaves[1:], *aux) if leaves else Error())

init_error = Error()


class _Formatted(Message):
    """parts: the format, the structure of its arguments."""

    __slots__ = ()

    def text(self, *payload: np.ndarray) -> str:
        fmt, structure = self.parts
        args, kwargs = tree.unflatten(structure, [from_numpy(np.asarray(x)) for x in payload])
        return f"{fmt.format(*args, **kwargs)} (`check` failed)"


class _Delegated(Message):
    """parts: the structure of an Error, whose leaves are the payload."""

    __slots__ = ()

    def __call__(self, *payload: np.ndarray) -> str:
        return tree.unflatten(self.parts[0], payload).get() or ""


class _NoSuchName(KeyError):
    """A KeyError whose text is its message, not the message in quotes."""

    __str__ = Exception.__str__


class _Placeholders(string.Formatter):
    """Finds what is wrong with a format before there are numbers."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        return ""


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """An error unless `pred` holds. Outside of jit it raises; inside, `checkify` makes a value of it.

    Args:
      pred: bool[].
      msg: a format string; `{}` and `{name}` stand for the arguments.
      *fmt_args, **fmt_kwargs: pytrees of arrays and numbers.
      debug: only count inside `checkify`.

    Raises:
      JaxRuntimeError: `pred` is false, and the check runs at once.
      ValueError: the check is compiled, and no checkify is around it.
      TypeError: `pred` is no bool without axes, or an argument is neither an array nor a number.

    Example:
      >>> def root(x):
      ...     checkify.check(x >= 0, "x is {}", x)
      ...     return jnp.sqrt(x)
      >>> error, _ = jit(checkify.checkify(root))(-1.0)
      >>> error.get().splitlines()[0]
      'x is -1.0 (`check` failed)'
    """
    pred = value(pred) if isinstance(pred, np.ndarray) else pred
    t = type_of(pred) if isinstance(pred, Array) or is_scalar(pred) else None
    if t is None or t.shape or t.dtype != dtypes.bool_:
        raise errors.type_error(f"pred is {pred!r:.60} of type {t or type(pred).__name__}, a bool without axes is "
                                "required", op="checkify.check", fix="compare, and reduce with .all() or .any()")
    if not isinstance(msg, str):
        raise errors.type_error(f"the message is {msg!r:.60}, a string is required", op="checkify.check")
    leaves, structure = tree.flatten((fmt_args, fmt_kwargs))
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, (Array, np.ndarray)) and not is_scalar(leaf):
            raise errors.type_error(
                f"the format is given {leaf!r:.60} of type {type(leaf).__name__}, arrays are required",
                op="checkify.check", fix="write other Python values into the message, with an f-string")
        leaf = value(leaf)
        leaves[i] = TABLE["random_unwrap"](leaf) if type_of(leaf).is_key else leaf
    try:
        _Placeholders().vformat(msg, fmt_args, fmt_kwargs)
    except (IndexError, KeyError, AttributeError) as error:
        kind = _NoSuchName if isinstance(error, KeyError) else type(error)
        raise errors.make(kind, f"the message {msg!r} asks for {error}, which is not among the arguments",
                          op="checkify.check", fix="give an argument for each {} and {name}") from None
    bind(check_primitive, [pred, *leaves], {"message": _Formatted(source.here(), msg, structure), "debug": debug})


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, and without any effect outside of `checkify`."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raises the error that `checkify` gave; inside another `checkify` it becomes an error of that one.

    Args:
      error: of `checkify`; also of a vmapped function, where one error of the batch is enough.

    Raises:
      JaxRuntimeError: there is an error, and the call runs at once.
    """
    if not isinstance(error, Error):
        raise errors.type_error(f"got a {type(error).__name__}, an Error is required", op="checkify.check_error",
                                fix="pass the first result of a function made by checkify")
    if not error.faults:
        return
    leaves, structure = tree.flatten(tree.map(as_array, error))
    ok = TABLE["lt"](as_array(error.code), np.int32(0))
    ok = TABLE["reduce_and"](ok, axes=tuple(range(type_of(ok).ndim))) if type_of(ok).ndim else ok
    bind(check_primitive, [ok, *leaves], {"message": _Delegated(source.here(), structure), "debug": False})


def checkify(f: Callable[..., Any], errors: Any = user_checks) -> Callable[..., tuple[Error, Any]]:
    """A function that returns the first error `f` meets, beside the result.

    Args:
      f: a function of pytrees of arrays. It is traced, as by jit.
      errors: what counts: `user_checks` (calls of `check`), `nan_checks`, `div_checks`, `index_checks`, unions of them
        (`float_checks`, `automatic_checks`, `all_checks`). What is not asked for is not checked, and costs nothing.

    Returns: a function with f's arguments that returns (Error, what f returns). The result is what `f` gives, with NaNs
    and clamped indices where there is an error. It can be differentiated, batched, compiled, and nested.

    Example:
      >>> error, _ = jit(checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks))(jnp.arange(3), 5)
      >>> "index 5 is out of bounds for axis 0 with size 3" in error.get()
      True
    """
    check_callable(f, "checkify")
    enabled = frozenset(errors)
    if not enabled <= all_checks:
        raise _not_checks(enabled - all_checks)

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        names = functools.partial(argument_names, f, args, kwargs)
        leaves, in_tree = flatten_args((args, kwargs), names=names)
        flat = FlatFunction(f, in_tree, keywords=True, op="checkify")
        program, captured = stage(flat, [type_of(x) for x in leaves], name=function_name(f), what="checkify",
                                  input_names=names())
        state = State()
        outputs = run(program, [*captured, *leaves], state, enabled)
        code, *slots = state.values
        error = Error(code, slots, tuple(state.faults), tuple([t for t, _ in state.slots]))
        return error, tree.unflatten(flat.out_tree, outputs)

    return checked


def _not_checks(found: frozenset[Any]) -> Exception:
    return errors.type_error(f"errors holds {sorted(map(repr, found))}, sets of checks are required", op="checkify",
                             fix="pass user_checks, all_checks, ... or a union of them")


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.checkify.{name}")
