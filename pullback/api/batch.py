"""vmap: a function of one object becomes a function of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wraps
from pullback.core import errors, tree
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.vector import broadcast
from pullback.interpret.vmap import vmap as batch_flat

__all__ = ["vmap"]


def _is_axis(x: Any) -> bool:
    return x is None or isinstance(x, int)


def _axes(prefix: Any, full: Any, what: str) -> list[Any]:
    """The axis for each leaf of `full`, from a tree prefix of ints and Nones."""
    if _is_axis(prefix):
        return [prefix] * len(tree.leaves(full))
    try:
        axes = tree.broadcast_prefix(prefix, full, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise errors.value_error(f"{what} {prefix!r} is no prefix of the structure it belongs to: {error}",
                                 op="vmap", fix="give an int or None for each argument, or a tree of them with the "
                                                "argument's structure") from None
    for axis in axes:
        if not _is_axis(axis):
            raise errors.type_error(f"{what} holds {axis!r}, an int or None is required", op="vmap")
    return axes


def _to_front(x: Any, axis: int, name: str) -> Any:
    ndim = type_of(x).ndim
    if not -ndim <= axis < ndim:
        raise errors.value_error(f"in_axes is {axis} for {name} of type {type_of(x)}, which has {ndim} ax"
                                 f"{'is' if ndim == 1 else 'es'}", op="vmap",
                                 fix="use None for what is not batched, or an axis that exists")
    axis %= ndim
    if axis == 0:
        return x
    return TABLE["transpose"](x, perm=(axis, *(i for i in range(ndim) if i != axis)))


def _from_front(x: Any, axis: int, name: str) -> Any:
    ndim = type_of(x).ndim
    if not -ndim <= axis < ndim:
        raise errors.value_error(f"out_axes is {axis} for {name}, which has {ndim} axes with the batch axis",
                                 op="vmap", fix="use an axis that exists")
    axis %= ndim
    if axis == 0:
        return x
    order = list(range(1, ndim))
    order.insert(axis, 0)
    return TABLE["transpose"](x, perm=tuple(order))


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None,
         axis_size: int | None = None, spmd_axis_name: Any = None, sum_match: bool = False) -> Callable[..., Any]:
    """A function that applies `fun` to every element along an axis of its arguments, at once.

    Args:
      fun: a function of arrays or pytrees of arrays.
      in_axes: for each argument the axis to map over, None for an argument that all elements share; a tree
        of them follows the argument's structure. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis stands in the output; None for outputs that do not depend on it.
      axis_name: a name by which collectives (`lax.psum`, ...) reach the mapped axis.
      axis_size: the number of elements, where no argument tells it.

    Raises:
      ValueError: the mapped axes have unequal sizes, or an axis does not exist.

    Example:
      >>> vmap(jnp.dot, in_axes=(0, None))(jnp.ones((5, 3)), jnp.ones(3)).shape
      (5,)
    """
    check_callable(fun, "vmap")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not isinstance(in_axes, (int, tuple, type(None))):
        raise errors.type_error(f"in_axes is {in_axes!r}, an int, None, or a tuple with an entry per argument is "
                                "required", op="vmap", fix="in_axes=(0, None) maps the first of two arguments")

    @wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise errors.value_error(f"in_axes has {len(in_axes)} entries, {function_name(fun)} was called with "
                                     f"{len(args)} positional arguments", op="vmap",
                                     fix="give one entry per positional argument")
        axes = _axes(in_axes, args, "in_axes") + [0] * len(tree.leaves(kwargs))
        leaves, in_tree = flatten_args((args, kwargs), names=lambda: argument_names(fun, args, kwargs),
                                       wanted=[axis is not None for axis in axes])
        size = _size(fun, args, kwargs, leaves, axes)
        flags = [axis is not None for axis in axes]
        if any(axis not in (None, 0) for axis in axes) or any(
                flag and not type_of(x).ndim for x, flag in zip(leaves, flags, strict=True)):
            names = argument_names(fun, args, kwargs)
            leaves = [x if axis is None else _to_front(x, axis, name)
                      for x, axis, name in zip(leaves, axes, names, strict=True)]
        flat = FlatFunction(fun, in_tree, keywords=True, op="vmap")
        outputs, out_flags = batch_flat(flat, size, leaves, flags, axis_name)
        result = tree.unflatten(flat.out_tree, outputs)
        if out_axes == 0 and isinstance(out_axes, int):
            outputs = [x if flag else broadcast(x, size) for x, flag in zip(outputs, out_flags, strict=True)]
            return tree.unflatten(flat.out_tree, outputs)
        placed = []
        for x, flag, axis, name in zip(outputs, out_flags, _axes(out_axes, result, "out_axes"),
                                       tree.leaf_names(result, "the output"), strict=True):
            if axis is None:
                if flag:
                    raise errors.value_error(f"out_axes is None for {name}, which depends on the mapped axis",
                                             op="vmap", fix="give the axis where the batch should stand")
                placed.append(x)
            else:
                placed.append(_from_front(x if flag else broadcast(x, size), axis, name))
        return tree.unflatten(flat.out_tree, placed)

    def _size(fun: Any, args: Any, kwargs: Any, leaves: list[Any], axes: list[Any]) -> int:
        sizes = []
        for i, (x, axis) in enumerate(zip(leaves, axes, strict=True)):
            if axis is not None:
                shape = type_of(x).shape
                if not -len(shape) <= axis < len(shape):
                    _to_front(x, axis, argument_names(fun, args, kwargs)[i])  # raises
                sizes.append((i, shape[axis]))
        if axis_size is not None:
            sizes.insert(0, (-1, axis_size))
        if not sizes:
            raise errors.value_error("nothing to map over: every entry of in_axes is None, or there are no arguments",
                                     op="vmap", fix="map at least one argument, or pass axis_size")
        if any(n != sizes[0][1] for _, n in sizes):
            names = argument_names(fun, args, kwargs)
            listing = "; ".join(
                f"{names[i]} of type {type_of(leaves[i])} has {n} along axis {axes[i]}" if i >= 0 else
                f"axis_size is {n}" for i, n in sizes)
            raise errors.value_error(f"the mapped axes have unequal sizes: {listing}", op="vmap",
                                     fix="pass arrays of one batch size, or in_axes=None for what all share")
        return int(sizes[0][1])

    return batched
