"""Arguments of numpy functions that are not operands: axes, counts, flags, and values that must be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors, source
from pullback.core.array import Array, ConcreteArray, from_numpy
from pullback.core.primitive import TABLE
from pullback.core.trace import Tracer, concrete, type_of
from pullback.core.values import scalar_of
from pullback.numpy.promotion import as_array, operand
from pullback.ops.index import GatherDims, GatherScatterMode, gather
from pullback.ops.move import as_shape, reshape, slice

ArrayLike = Any
DTypeLike = Any


def array(x: ArrayLike) -> Any:
    """`x` as an Array."""
    return x if isinstance(x, Array) else as_array(operand(x))


def no_out(out: Any) -> None:
    """A TypeError if an array to write to is given."""
    if out is not None:
        raise errors.type_error(f"out is {_shown(out)}, None is required: arrays are immutable",
                                fix="use the result: x = f(...)")


def _shown(x: Any) -> str:
    return str(x.type) if isinstance(x, Array) else f"a {type(x).__name__}"


def placed(x: Any, sharding: Any) -> Any:
    """`x` with a sharding constraint, where one is given."""
    return x if sharding is None else TABLE["sharding_constraint"](x, sharding=sharding)


def requested(dtype: DTypeLike, name: str) -> Any:
    """The dtype that a caller of `name` asks for; None where none is asked for."""
    return None if dtype is None else dtypes.canonicalize_requested(dtype, name)


def one_axis(axis: Any, ndim: int) -> int:
    """A known axis, from 0."""
    return errors.check_axis(axis, ndim)


def several_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that None (all), an int or a sequence of ints names, from 0."""
    return errors.check_axes(axis, ndim)


def integer(x: Any, what: str) -> int:
    """A known int."""
    if isinstance(x, (float, np.floating)) or isinstance(x, (list, tuple)):
        raise errors.type_error(f"{what} is {x!r}, an int is required", fix="pass an int")
    return as_shape(x, what)[0]


def kept(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """A result reduced along `axes` of `shape`, with these axes of size 1."""
    return reshape(x, shape=tuple([1 if i in axes else n for i, n in enumerate(shape)])) if axes else x


def like(x: Any, number: Any) -> Any:
    """The constant `number` as a scalar of the dtype of `x`, weak where that is."""
    t = type_of(x)
    return scalar_of(number, t.dtype, t.weak)


def known(x: Any, use: str, fix: str) -> np.ndarray:
    """The numbers of `x`; a ConcretizationTypeError that says why they are not known otherwise."""
    if isinstance(x, Tracer):
        x = x.known(errors.ConcretizationTypeError, f"{source.called()}: {use}", fix)
    return x.numpy() if isinstance(x, ConcreteArray) else np.asarray(x)


def is_known(x: Any) -> bool:
    """Whether the numbers of `x` are at hand."""
    return concrete(x) is not None


def part(x: Any, axis: int, start: int, limit: int, stride: int = 1) -> Any:
    """The elements start, start + stride, ... below limit of `x` along `axis`; `x` itself if that is all."""
    shape = type_of(x).shape
    n = shape[axis]
    if start == 0 and limit == n and stride == 1:
        return x
    before, after = shape[:axis], shape[axis + 1:]
    return slice(x, start=(*[0] * axis, start, *[0] * len(after)), limit=(*before, limit, *after),
                 strides=(*[1] * axis, stride, *[1] * len(after)))


def picked(x: Any, index: Any, axis: int) -> Any:
    """The elements of `x` at positions `index`, which are in bounds, along `axis`.

    Args:
      x: any[*before, n, *after]
      index: int[*positions]

    Returns:
      any[*before, *positions, *after]
    """
    shape, outer = type_of(x).shape, type_of(index).shape
    count = len(outer)
    offset = (*range(axis), *range(axis + count, len(shape) - 1 + count))
    dims = GatherDims(offset, (axis,), (axis,))
    return gather(x, reshape(index, shape=(*outer, 1)), dims=dims,
                  sizes=tuple([1 if i == axis else n for i, n in enumerate(shape)]),
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill=None)


def positions(numbers: np.ndarray) -> ConcreteArray:
    """Known positions as an array of int32."""
    return from_numpy(np.ascontiguousarray(numbers, np.int32))
