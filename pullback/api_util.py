"""What libraries use that wrap functions of trees (jax.api_util)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pullback.api.flat import function_name
from pullback.api.inspect import type_of_argument
from pullback.core import errors, tree
from pullback.core.types import ArrayType
from pullback.extend.linear_util import Store, WrappedFun, transformation_with_aux2

__all__ = ["argnums_partial", "debug_info", "donation_vector", "flatten_axes", "flatten_fun", "flatten_fun_nokwargs",
           "rebase_donate_argnums", "safe_map", "shaped_abstractify"]


class DebugInfo(NamedTuple):
    """What is traced, and for what."""

    traced_for: str
    func_name: str
    sourceinfo: Any = None


def debug_info(traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any],
               *, static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (),
               result_paths_thunk: Any = None, sourceinfo: Any = None, signature: Any = None) -> DebugInfo:
    """What messages may say of a function that is traced; pullback finds lines and names by itself."""
    return DebugInfo(traced_for, function_name(fun), sourceinfo)


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """The list of `f(a, b, ...)` over sequences of one length.

    Raises:
      ValueError: their lengths differ.

    Example:
      >>> import pullback.api_util
      >>> pullback.api_util.safe_map(lambda a, b: a + b, [1, 2], [3, 4])
      [4, 6]
    """
    listed = [list(x) for x in args]
    if len({len(x) for x in listed}) > 1:
        raise errors.value_error(f"sequences of {', '.join(str(len(x)) for x in listed)} elements, sequences of one "
                                 "length are required", op="safe_map", fix="leave out what has no partner")
    return [f(*row) for row in zip(*listed, strict=True)]


def _flatten(with_kwargs: bool) -> Callable[..., Any]:
    def flat(f: Callable[..., Any], store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
        given = tree.unflatten(in_tree, leaves)
        args, kwargs = given if with_kwargs else (given, {})
        results, out_tree = tree.flatten(f(*args, **kwargs))
        store.store(out_tree)
        return results
    return transformation_with_aux2(flat)  # type: ignore[no-any-return]


_WITH_KWARGS, _WITHOUT = _flatten(True), _flatten(False)


def flatten_fun(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """A function of leaves that returns leaves, for one of trees.

    Args:
      fun: the function, as `linear_util.wrap_init` gives it.
      in_tree: the tree of (args, kwargs).

    Returns:
      (the WrappedFun, a function that returns the tree of the result once the first has run).
    """
    return _WITH_KWARGS(fun, in_tree)  # type: ignore[no-any-return]


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """As `flatten_fun`, where `in_tree` is the tree of the positional arguments."""
    return _WITHOUT(fun, in_tree)  # type: ignore[no-any-return]


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, tuple[Any, ...]]:
    """A function of some of its arguments, the others fixed.

    Args:
      f: the function.
      dyn_argnums: positions of the arguments it still takes.
      args: all of them.
      require_static_args_hashable: whether a fixed one that cannot be hashed is an error.

    Returns:
      (the WrappedFun, the arguments that it takes).

    Raises:
      ValueError: a fixed argument cannot be hashed.
    """
    numbers = [errors.check_axis(i, len(args)) for i in
               ([dyn_argnums] if isinstance(dyn_argnums, int) else dyn_argnums)]
    if require_static_args_hashable:
        for i, arg in enumerate(args):
            if i not in numbers:
                try:
                    hash(arg)
                except TypeError:
                    raise errors.value_error(f"argument {i} is static and a {type(arg).__name__}, which cannot be "
                                             "hashed", op=function_name(f.f), fix="pass a tuple, or take it among "
                                                                                  "dyn_argnums") from None
    inner = f.f_transformed

    def run(*dynamic: Any, **kwargs: Any) -> Any:
        whole = list(args)
        for i, x in zip(numbers, dynamic, strict=True):
            whole[i] = x
        return inner(*whole, **kwargs)
    return f.wrap(run), tuple(args[i] for i in numbers)


def donation_vector(donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: Any, kws: bool = True
                    ) -> tuple[bool, ...]:
    """For each leaf of (args, kwargs), or of args where `kws` is False, whether its argument is donated."""
    whole = tree.unflatten(in_tree, range(in_tree.num_leaves))
    args, kwargs = whole if kws else (whole, {})
    flags = [i in tuple(donate_argnums) for i, arg in enumerate(args) for _ in tree.leaves(arg)]
    return (*flags, *(name in tuple(donate_argnames) for name in sorted(kwargs) for _ in tree.leaves(kwargs[name])))


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static.

    Raises:
      ValueError: an argument is both.
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise errors.value_error(f"argument {both[0]} is static and donated; a static one has no memory to give",
                                 op="rebase_donate_argnums", fix="name it in one of the two")
    return tuple(i - sum(s < i for s in static_argnums) for i in sorted(donate_argnums))


def flatten_axes(name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False) -> list[Any]:
    """One axis for each leaf, from a prefix of the tree.

    Args:
      name: what it is, for messages.
      treedef: the tree of the values.
      axis_tree: a prefix of it, None among its leaves.

    Raises:
      ValueError: it is no prefix.
    """
    full = tree.unflatten(treedef, [object()] * treedef.num_leaves)
    if kws:
        axis_tree = (axis_tree, {key: 0 for key in full[1]})
    try:
        return tree.broadcast_prefix(axis_tree, full, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise errors.value_error(f"{name} must be a prefix of the tree {treedef}; got {axis_tree!r:.120}",
                                 op=name, fix="give an int or None for each argument") from error


def shaped_abstractify(x: Any) -> ArrayType:
    """The type of an array or a number, as jit keys its programs by it."""
    return type_of_argument(x)
