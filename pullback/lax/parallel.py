"""Collectives over a mapped axis: `vmap(f, axis_name='i')` and, inside f, `lax.psum(x, 'i')`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors, trace, tree
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.core.values import value
from pullback.ops import collective

__all__ = ["all_gather", "all_to_all", "axis_index", "axis_size", "pmax", "pmean", "pmin", "ppermute", "pshuffle",
           "pswapaxes", "psum", "psum_scatter"]


def _names(axis_name: Any, groups: Any, op: str) -> tuple[Any, ...]:
    """The axis names as a tuple, each checked to be in scope."""
    if groups is not None:
        raise errors.make(NotImplementedError, "axis_index_groups is not supported", op=op,
                          fix="reshape the mapped axis into two, and name both")
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for name in names:
        trace.axis_size(name)
    return names


def _single(axis_name: Any, groups: Any, op: str) -> tuple[tuple[Any, ...], int]:
    names = _names(axis_name, groups, op)
    if len(names) != 1:
        raise errors.make(NotImplementedError, f"{len(names)} axis names, one is required", op=op,
                          fix="apply it to one axis at a time")
    return names, trace.axis_size(names[0])


def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis; of several, their product.

    Example:
      >>> vmap(lambda x: x * lax.axis_size("i"), axis_name="i")(jnp.arange(3))
      Array([0, 3, 6], dtype=int32)
    """
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    return math.prod(trace.axis_size(name) for name in names)


def axis_index(axis_name: Any) -> Any:
    """The position of this element along a mapped axis: i32[].

    Raises:
      NameError: no axis of that name is in scope.

    Example:
      >>> vmap(lambda x: x * lax.axis_index('i'), axis_name='i')(jnp.ones(3))
    """
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    index: Any = 0
    for name in names:
        size = trace.axis_size(name)
        own = collective.axis_index(names=(name,))
        index = own if is_scalar(index) else TABLE["add"](TABLE["mul"](index, size), own)
    return index


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum of x over a mapped axis (or several); every element gets it.

    Args:
      x: array or pytree; a Python number gives number * axis size, as a number.
      axis_name: a name given to vmap, or a tuple of names.

    Example:
      >>> vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
      Array([0.25, 0.75], dtype=float32)
    """
    names = _names(axis_name, axis_index_groups, "psum")

    def one(leaf: Any) -> Any:
        leaf = value(leaf)
        if is_scalar(leaf):
            return leaf * axis_size(names)
        if type_of(leaf).dtype.kind == "b":
            leaf = TABLE["convert_element_type"](leaf, dtype=dtypes.int32, weak=False)
        return collective.psum(leaf, names=names)

    return tree.map(one, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean of x over a mapped axis; every element gets it.

    Example:
      >>> vmap(lambda x: lax.pmean(x, "i"), axis_name="i")(jnp.arange(3.0))
      Array([1., 1., 1.], dtype=float32)
    """
    size = axis_size(axis_name)

    def one(leaf: Any) -> Any:
        total = psum(leaf, axis_name, axis_index_groups=axis_index_groups)
        if is_scalar(total):
            return total / size
        t = total.type
        if t.dtype.kind in "iub":
            total = TABLE["convert_element_type"](total, dtype=dtypes.python_scalar_dtype(float), weak=False)
            t = total.type
        return TABLE["div"](total, t.dtype.type(size))

    return tree.map(one, x)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum of x over a mapped axis; every element gets it. It has no derivative.

    Example:
      >>> vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(jnp.arange(3))
      Array([2, 2, 2], dtype=int32)
    """
    names = _names(axis_name, axis_index_groups, "pmax")
    return tree.map(lambda leaf: collective.pmax(value(leaf), names=names), x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum of x over a mapped axis; every element gets it. It has no derivative.

    Example:
      >>> vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(jnp.arange(3))
      Array([0, 0, 0], dtype=int32)
    """
    names = _names(axis_name, axis_index_groups, "pmin")
    return tree.map(lambda leaf: collective.pmin(value(leaf), names=names), x)


def _merge(x: Any, axis: int) -> Any:
    """Axes `axis` and `axis + 1` made one."""
    shape = type_of(x).shape
    return TABLE["reshape"](x, shape=(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))


def _deal(x: Any, axis: int, size: int, op: str) -> Any:
    """Axis `axis` as two: one of `size`, and the rest."""
    shape = type_of(x).shape
    if shape[axis] % size:
        raise errors.value_error(f"axis {axis} of {type_of(x)} is not divisible by the mapped axis's size {size}",
                                 op=op, fix="pad the array, or choose another axis")
    return TABLE["reshape"](x, shape=(*shape[:axis], size, shape[axis] // size, *shape[axis + 1:]))


def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False,
               to: str = "varying") -> Any:
    """The values of all elements along a mapped axis, stacked (tiled: concatenated) along `axis`.

    Example:
      >>> vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2))
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    names, size = _single(axis_name, axis_index_groups, "all_gather")

    def one(leaf: Any) -> Any:
        leaf = value(leaf)
        ndim = type_of(leaf).ndim
        place = errors.check_axis(axis, ndim if tiled else ndim + 1)
        gathered = collective.all_gather(leaf, names=names, n=size, axis=place)
        return _merge(gathered, place) if tiled else gathered

    return tree.map(one, x)


def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None,
                 tiled: bool = False) -> Any:
    """The sum over a mapped axis, of which each element keeps its piece along `scatter_dimension`.

    Example:
      >>> vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.ones((2, 2)))
      Array([2., 2.], dtype=float32)
    """
    names, size = _single(axis_name, axis_index_groups, "psum_scatter")

    def one(leaf: Any) -> Any:
        leaf = value(leaf)
        axis = errors.check_axis(scatter_dimension, type_of(leaf).ndim)
        if tiled:
            leaf = _deal(leaf, axis, size, "psum_scatter")
        _check_size(leaf, axis, size, "psum_scatter")
        return collective.reduce_scatter(leaf, names=names, n=size, axis=axis)

    return tree.map(one, x)


def _check_size(x: Any, axis: int, size: int, op: str) -> None:
    if type_of(x).shape[axis] != size:
        raise errors.value_error(f"axis {axis} of {type_of(x)} must have the mapped axis's size {size}", op=op,
                                 fix="pass tiled=True to deal out a multiple of it")


def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None,
               tiled: bool = False) -> Any:
    """Deals `split_axis` out over a mapped axis, and stacks (tiled: concatenates) what comes in at `concat_axis`.

    Example:
      >>> vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.arange(4).reshape(2, 2))
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    names, size = _single(axis_name, axis_index_groups, "all_to_all")

    def one(leaf: Any) -> Any:
        leaf = value(leaf)
        ndim = type_of(leaf).ndim
        split, concat = errors.check_axis(split_axis, ndim), errors.check_axis(concat_axis, ndim)
        if not tiled:
            _check_size(leaf, split, size, "all_to_all")
            return collective.all_to_all(leaf, names=names, n=size, split=split, concat=concat)
        dealt = _deal(leaf, split, size, "all_to_all")
        return _merge(collective.all_to_all(dealt, names=names, n=size, split=split, concat=concat), concat)

    return tree.map(one, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends values along a mapped axis: pairs (sender, receiver); places that receive nothing get zeros.

    Example:
      >>> vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(jnp.arange(3))
      Array([2, 0, 1], dtype=int32)
    """
    names, size = _single(axis_name, None, "ppermute")
    pairs = tuple((int(a), int(b)) for a, b in perm)
    for column, what in ((0, "sender"), (1, "receiver")):
        places = [pair[column] for pair in pairs]
        if len(set(places)) != len(places) or any(not 0 <= p < size for p in places):
            raise errors.value_error(f"perm {pairs} must name each {what} at most once, from 0 to {size - 1}",
                                     op="ppermute", fix="give one pair (sender, receiver) per value sent")
    return tree.map(lambda leaf: collective.ppermute(value(leaf), names=names, perm=pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """ppermute with the sender of each place: place i gets the value of perm[i].

    Example:
      >>> vmap(lambda x: lax.pshuffle(x, "i", [1, 2, 0]), axis_name="i")(jnp.arange(3))
      Array([1, 2, 0], dtype=int32)
    """
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise errors.value_error(f"perm {tuple(perm)} is no permutation of the {axis_size(axis_name)} places",
                                 op="pshuffle", fix="name each place once")
    return ppermute(x, axis_name, [(sender, place) for place, sender in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swaps a mapped axis with an axis of the array.

    Example:
      >>> vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(jnp.arange(4).reshape(2, 2))
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)

