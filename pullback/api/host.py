"""Python functions called from compiled programs: pure_callback, io_callback, debug.callback, debug.print."""

from __future__ import annotations

import logging
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api.flat import check_callable, flatten_args
from pullback.core import dtypes, errors, tree
from pullback.core.array import from_numpy
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.ops.host import callback as callback_primitive

__all__ = ["breakpoint_here", "callback", "effects_barrier", "format_log", "format_print", "io_callback",
           "pure_callback"]

_LOGGER = logging.getLogger("pullback.debug")

_METHODS = (None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


def _types(result_shape_dtypes: Any, op: str) -> tuple[tuple[ArrayType, ...], Any]:
    leaves, treedef = tree.flatten(result_shape_dtypes)
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise errors.type_error(f"result_shape_dtypes holds {leaf!r:.60}, an array or a ShapeDtypeStruct is "
                                    "required", op=op, fix="pass jax.ShapeDtypeStruct(shape, dtype) for each result")
    return tuple(ArrayType(tuple(x.shape), dtypes.canonicalize(x.dtype)) for x in leaves), treedef


def _bind(function: Callable[..., Any], types: tuple[ArrayType, ...], out_tree: Any, effect: str,
          vmap_method: str | None, args: Any, kwargs: Any, op: str) -> list[Any]:
    leaves, in_tree = flatten_args((args, kwargs))

    def flat(*arrays: np.ndarray) -> list[Any]:
        given_args, given_kwargs = tree.unflatten(in_tree, [from_numpy(np.asarray(a)) for a in arrays])
        result = function(*given_args, **given_kwargs)
        if out_tree is None:
            return []
        result_leaves, result_tree = tree.flatten(result)
        if result_tree != out_tree:
            raise errors.value_error(f"the callback returned {result_tree}, {out_tree} is required", op=op,
                                     fix="return the structure of result_shape_dtypes")
        return result_leaves

    return bind(callback_primitive, leaves, {"function": flat, "types": types, "effect": effect,
                                             "vmap_method": vmap_method})


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """The result of a Python function without side effects, from inside compiled code.

    Args:
      callback: takes arrays in the structure of the arguments, returns arrays as promised.
      result_shape_dtypes: a pytree of ShapeDtypeStructs.
      *args, **kwargs: pytrees of arrays.
      vmap_method: 'sequential' (one call per element), 'expand_dims' or 'broadcast_all' (one call with a leading
        batch axis); None refuses vmap.

    Raises:
      ValueError: the callback returns another structure, shape or dtype. Its own exceptions arrive as they are.

    Example:
      >>> pure_callback(lambda x: np.sort(x), jnp.zeros(3), jnp.array([3.0, 1.0, 2.0]))
      Array([1., 2., 3.], dtype=float32)
    """
    check_callable(callback, "pure_callback")
    if vmap_method not in _METHODS:
        raise errors.value_error(f"vmap_method is {vmap_method!r}, one of {_METHODS} is required", op="pure_callback")
    types, out_tree = _types(result_shape_dtypes, "pure_callback")
    return tree.unflatten(out_tree, _bind(callback, types, out_tree, "", vmap_method, args, kwargs, "pure_callback"))


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                ordered: bool = False, **kwargs: Any) -> Any:
    """The result of a Python function with side effects, called exactly once each time the program runs.

    Args as of pure_callback. With `ordered`, calls happen in the order of the program, and vmap is refused.
    """
    check_callable(callback, "io_callback")
    types, out_tree = _types(result_shape_dtypes, "io_callback")
    effect = "ordered" if ordered else "unordered"
    return tree.unflatten(out_tree, _bind(callback, types, out_tree, effect, "sequential", args, kwargs, "io_callback"))


def callback(callback: Callable[..., Any] | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
             **kwargs: Any) -> Any:
    """Calls a Python function for its effect, with the values of the arguments; its result is dropped.

    Args:
      callback: takes the arguments. None: the function that takes it and them, under these options.
      ordered: keep the order of the program.

    Example:
      >>> jit(lambda x: pullback.debug.callback(print, x))(1)
      1
    """
    if callback is None:
        return _with_options(_called, "debug.callback", args, kwargs, ordered)
    _called(callback, args, kwargs, ordered)


def _with_options(call: Callable[..., None], op: str, args: Any, kwargs: Any, *options: Any) -> Callable[..., None]:
    """The second of two calls: it takes what the first, which takes the options, has not got."""
    if args or kwargs:
        raise errors.type_error(f"got the arguments {[*args, *kwargs]} and not what they are for", op=op,
                                fix="pass options in the first call, and everything else in the second")
    return lambda what, *args, **kwargs: call(what, args, kwargs, *options)


def _called(callback: Callable[..., Any], args: Any, kwargs: Any, ordered: bool) -> None:
    check_callable(callback, "debug.callback")
    _bind(callback, (), None, "ordered" if ordered else "unordered", None, args, kwargs, "debug.callback")


class _Values(string.Formatter):
    """Checks, when the print is traced, that the format string uses the arguments it is given."""

    def __init__(self, op: str) -> None:
        self.op = op

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [i for i in range(len(args)) if i not in used_args] + [k for k in kwargs if k not in used_args]
        if unused:
            raise errors.value_error(f"the format string does not use the arguments {unused}", op=self.op,
                                     fix="write {} or {name} where they should stand, and no f-string")

    def format_field(self, value: Any, format_spec: str) -> Any:
        return ""


def format_print(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
                 skip_format_check: bool = False, _use_logging: bool = False, **kwargs: Any) -> Any:
    """Prints values when the program runs: debug.print("x is {x}", x=x).

    Args:
      fmt: a format string; `{}` and `{name}` stand for the arguments. None: the function that takes it and them, under
        these options.
      ordered: keep the order of the program.
      skip_format_check: let arguments be that the format string does not use.
      _use_logging: write to the log; see `debug.log`.

    Example:
      >>> jit(lambda x: pullback.debug.print(ordered=True)("x is {}", x))(1)
      x is 1
    """
    options = ("debug.log", _LOGGER.info) if _use_logging else ("debug.print", print)
    if fmt is None:
        return _with_options(_formatted, "debug.print", args, kwargs, ordered, skip_format_check, *options)
    _formatted(fmt, args, kwargs, ordered, skip_format_check, *options)


def format_log(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
               skip_format_check: bool = False, _use_logging: bool = True, **kwargs: Any) -> Any:
    """`debug.print` to the log: a message of level INFO of the logger 'pullback.debug', when the program runs.

    Args as of `debug.print`.
    """
    return format_print(fmt, *args, ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check,
                        _use_logging=_use_logging, **kwargs)


def _formatted(fmt: str, args: Sequence[Any], kwargs: Any, ordered: bool, unchecked: bool, op: str,
               write: Callable[[str], Any]) -> None:
    """Writes the filled-in format string when the program runs."""
    if not isinstance(fmt, str):
        raise errors.type_error(f"the format is {fmt!r:.60}, a string is required", op=op)
    if not unchecked:
        _Values(op).format(fmt, *args, **kwargs)
    _called(lambda *a, **k: write(fmt.format(*a, **k)), args, kwargs, ordered)


def breakpoint_here(*, backend: str | None = None, filter_frames: bool = True, num_frames: int | None = None,
                    ordered: bool = False, token: Any = None, **kwargs: Any) -> Any:
    """Stops in Python's debugger when the program runs to this place.

    Args:
      ordered: keep the order of the program.
      token: arrays that come back unchanged; their values are known when the program stops.
      backend, filter_frames, num_frames, kwargs: accepted; the debugger is Python's, or that of PYTHONBREAKPOINT.
    """
    _called(lambda _: breakpoint(), (token,), {}, ordered)  # noqa: T100
    return token


def effects_barrier() -> None:
    """Waits until all effects have happened: they have, when a call returns.

    Example:
      >>> effects_barrier()
    """
