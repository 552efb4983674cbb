"""From functions of pytrees to flat functions of values, and back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from pullback.core import dtypes, errors, tree
from pullback.core.array import Array
from pullback.core.values import value

F = TypeVar("F", bound=Callable[..., Any])


def function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name else type(function).__name__


def wrapping(wrapper: Any, fun: Callable[..., Any]) -> None:
    """Gives `wrapper` the name, the documentation and the attributes of `fun`, but none that it has itself.

    What is no name or documentation, in a callable object that has something else there, is left.
    """
    for name in functools.WRAPPER_ASSIGNMENTS:
        try:
            setattr(wrapper, name, getattr(fun, name))
        except (AttributeError, TypeError):
            pass
    for name, attribute in getattr(fun, "__dict__", {}).items():
        if not hasattr(wrapper, name):
            setattr(wrapper, name, attribute)
    wrapper.__wrapped__ = fun


def wraps(fun: Callable[..., Any]) -> Callable[[F], F]:
    """A decorator: `wrapping` for the function that is defined under it."""
    def decorate(wrapper: F) -> F:
        wrapping(wrapper, fun)
        return wrapper
    return decorate


def check_callable(function: Any, op: str) -> None:
    if not callable(function):
        raise errors.type_error(f"got {function!r:.60}, a function is required", op=op,
                                fix=f"{op} takes the function itself, not its result")


def argument_names(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
                   ) -> list[str]:
    """A name for each leaf of the arguments: 'params["w"]', 'x'."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for i, arg in enumerate(args):
        label = f"argument {i}"
        if i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL:
            label = parameters[i].name
        elif parameters and parameters[-1].kind is inspect.Parameter.VAR_POSITIONAL:
            label = f"{parameters[-1].name}[{i - len(parameters) + 1}]"
        names += tree.leaf_names(arg, label)
    for key in sorted(kwargs or {}):
        names += tree.leaf_names((kwargs or {})[key], key)
    return names


def leaf_value(leaf: Any, what: str) -> Any:
    """A leaf as an Array or scalar; the error names where it stands."""
    if isinstance(leaf, Array) or type(leaf) in (float, int, complex, bool):
        return leaf
    try:
        return value(leaf)
    except TypeError:
        raise errors.type_error(
            f"{what} is {leaf!r:.60} of type {type(leaf).__name__}, an array or a number is required",
            op="", fix="pass arrays; what is not an array belongs in a closure, functools.partial, or "
                       "static_argnums of jit") from None


def flatten_args(args: Any, what: str = "argument", names: Callable[[], list[str]] | None = None,
                 wanted: Sequence[bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves of the arguments as values, and their tree; those that are not wanted may be anything."""
    leaves, treedef = tree.flatten(args)
    for i, leaf in enumerate(leaves):
        if wanted is not None and not wanted[i] and not isinstance(leaf, (np.ndarray, np.generic)):
            continue
        if not isinstance(leaf, Array):
            label = names()[i] if names and not isinstance(leaf, (int, float, complex)) else what
            leaves[i] = leaf_value(leaf, f"{what} {label}" if label != what else what)
    return leaves, treedef


_ARRAY = object()


class FlatFunction:
    """A function of pytrees as one of flat values; after a call, `out_tree` and `aux` are known.

    With `has_aux` the function returns (output, aux); the leaves of aux come last among the outputs.
    """

    def __init__(self, function: Callable[..., Any], in_tree: Any, *, keywords: bool = False,
                 has_aux: bool = False, op: str = "") -> None:
        self.function = function
        self.in_tree = in_tree
        self.keywords = keywords
        self.has_aux = has_aux
        self.op = op
        self.out_tree: Any = None
        self.aux: tuple[list[Any], Any] = [], None
        self.count = 0

    def __call__(self, *leaves: Any) -> list[Any]:
        args = tree.unflatten(self.in_tree, leaves)
        result = self.function(*args[0], **args[1]) if self.keywords else self.function(*args)
        aux: list[Any] = []
        if self.has_aux:
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise errors.type_error(
                    f"with has_aux=True the function returned {_describe(result)}, a pair (output, aux) is required",
                    op=self.op, fix="return (output, aux), or drop has_aux")
            result, extra = result
            leaves, aux_tree = tree.flatten(extra)
            aux = [leaf for leaf in leaves if isinstance(leaf, Array)]
            self.aux = [_ARRAY if isinstance(leaf, Array) else leaf for leaf in leaves], aux_tree
        leaves_out, self.out_tree = self.outputs(result, "output")
        self.count = len(leaves_out)
        return leaves_out + aux

    def auxiliary(self, arrays: Sequence[Any]) -> Any:
        """The auxiliary output with these arrays for its own; what is no array in it may be anything."""
        rest = iter(arrays)
        leaves, aux_tree = self.aux
        return tree.unflatten(aux_tree, [next(rest) if leaf is _ARRAY else leaf for leaf in leaves])

    def outputs(self, result: Any, what: str) -> tuple[list[Any], Any]:
        leaves, out_tree = tree.flatten(result)
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Array):
                whole = dtypes.canonicalize(int)
                if type(leaf) is int and not dtypes.iinfo(whole).min <= leaf <= dtypes.iinfo(whole).max:
                    path = tree.leaf_names(result, what)[i]
                    raise errors.make(
                        OverflowError, f"{function_name(self.function)} returned the Python int {leaf} at {path}, "
                        f"which does not fit into {whole}", op=self.op,
                        fix="return a float, or turn 64 bits on (enable_x64)")
                try:
                    leaves[i] = value(leaf)
                except TypeError:
                    path = tree.leaf_names(result, what)[i]
                    raise errors.type_error(
                        f"{function_name(self.function)} returned a {type(leaf).__name__} at {path}, an array or "
                        "a number is required", op=self.op,
                        fix="return arrays only; other results can be returned outside the transformed function"
                    ) from None
        return leaves, out_tree


def _describe(result: Any) -> str:
    if isinstance(result, Array):
        return str(result.type)
    return f"a {type(result).__name__}"
