"""Functions with a batching rule of their own (jax.custom_batching)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pullback import lax
from pullback.api.flat import FlatFunction, check_callable, flatten_args, function_name, wrapping
from pullback.core import errors, tree
from pullback.core.trace import bind, type_of
from pullback.core.values import value
from pullback.interpret.stage import stage
from pullback.ops.custom_batch import custom_vmap_call
from pullback.runtime.device import as_array

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:
    """A function that vmap calls by a rule of its own.

    Under forward mode the rule is differentiated as the function is. Reverse mode differentiates the function: the
    values of its forward pass come from the rule.

    Args:
      fun: a function of arrays or pytrees of arrays.

    Raises (when called):
      AttributeError: there is no rule yet; set it with `def_vmap`.
      ValueError: the rule returns another structure than the function, or flags of another structure than its output.

    Example:
      >>> @custom_vmap
      ... def double(x):
      ...     return 2 * x
      >>> @double.def_vmap
      ... def rule(axis_size, in_batched, x):
      ...     return x + x, True
      >>> vmap(double)(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun, "custom_vmap")
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None
        wrapping(self, fun)

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Sets the rule, and returns it.

        Args:
          vmap_rule: (axis_size, in_batched, *args) -> (output, out_batched). `in_batched` is a list with a tree of
            bools per argument; an argument marked True has a leading axis of `axis_size`. `out_batched` is a tree of
            bools for the output, marked so in turn.
        """
        check_callable(vmap_rule, "def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __repr__(self) -> str:
        return f"<custom_vmap of {function_name(self.fun)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        vmap_rule = self.vmap_rule
        name = function_name(self.fun)
        if vmap_rule is None:
            raise errors.make(AttributeError, f"{name} has no batching rule", op="custom_vmap",
                              fix=f"define one with {name}.def_vmap")
        if kwargs:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise errors.type_error(f"keyword-only arguments {sorted(bound.kwargs)} are not supported",
                                        op="custom_vmap", fix="make them positional parameters")
            args = bound.args
        leaves, in_tree = flatten_args(args)
        leaves = [as_array(x) for x in leaves]
        body = FlatFunction(self.fun, in_tree, op="custom_vmap")

        def rule(size: int, flags: Sequence[bool], given: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            marks = list(tree.unflatten(in_tree, flags))
            result = vmap_rule(size, marks, *tree.unflatten(in_tree, given))
            of = function_name(vmap_rule)
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise errors.type_error(f"the rule {of} returned a {type(result).__name__}, a pair (output, "
                                        "out_batched) is required", op="custom_vmap")
            output, batched = result
            outputs, out_tree = tree.flatten(output)
            out_flags, flags_tree = tree.flatten(batched)
            if out_tree != flags_tree:
                raise errors.value_error(
                    f"the rule {of} returned an output of structure {out_tree} and flags of structure {flags_tree}",
                    op="custom_vmap", fix="return a bool in the place of each array")
            if body.out_tree is None:  # the rule stands in for the function, which says what is to come out
                stage(body, [type_of(x).unbatched() if flag else type_of(x)
                             for x, flag in zip(given, flags, strict=True)], name=name, what="custom_vmap")
            if out_tree != body.out_tree:
                raise errors.value_error(
                    f"the rule {of} returned an output of structure {out_tree}, the function's is {body.out_tree}",
                    op="custom_vmap", fix=f"return what {name} returns")
            outputs = [value(x) for x in outputs]
            for x, flag in zip(outputs, out_flags, strict=True):
                if flag and type_of(x).shape[:1] != (size,):
                    raise errors.value_error(
                        f"the rule {of} returned a value of type {type_of(x)} as batched, a leading axis of {size} is "
                        "required", op="custom_vmap", fix="mark it False, or give it the axis")
            return outputs, [bool(flag) for flag in out_flags]

        outputs = bind(custom_vmap_call, leaves, {"body": body, "rule": rule, "captured": 0})
        return tree.unflatten(body.out_tree, outputs)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """`f` with a batching rule that runs it on one element after the other (lax.map) instead of all at once.

    Args:
      f: a function of arrays or pytrees of arrays.

    Example:
      >>> vmap(sequential_vmap(lambda x, y: x * y), (0, None))(jnp.arange(3.0), 2.0)
      Array([0., 2., 4.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        leaves, in_tree = tree.flatten(args)
        flags = tree.leaves(tuple(in_batched))

        def one(rows: Sequence[Any]) -> Any:
            rest = iter(rows)
            return f(*tree.unflatten(in_tree, [next(rest) if flag else x
                                               for x, flag in zip(leaves, flags, strict=True)]))

        output = lax.map(one, [x for x, flag in zip(leaves, flags, strict=True) if flag])
        return output, tree.map(lambda _: True, output)

    return mapped
