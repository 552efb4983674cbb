"""Arguments of numpy functions that are not operands: axes, counts, flags, and values that must be known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors, source
from pullback.core.array import Array, ConcreteArray, from_numpy
from pullback.core.trace import Tracer, concrete, type_of
from pullback.core.values import scalar_of
from pullback.lax.elementwise import convert_element_type
from pullback.lax.operand import retype
from pullback.numpy.promotion import as_array, operand
from pullback.ops.index import GatherDims, GatherScatterMode, gather
from pullback.ops.move import as_shape, broadcast_in_dim, concatenate, reshape, rev, slice

ArrayLike = Any
DTypeLike = Any


def array(x: ArrayLike) -> Any:
    """`x` as an Array."""
    return x if isinstance(x, Array) else as_array(operand(x))


def no_out(out: Any) -> None:
    """A TypeError if an array to write to is given."""
    if out is not None:
        raise errors.make(errors.OperandError, f"out is {_shown(out)}, None is required: arrays are immutable",
                          fix="use the result: x = f(...)")


def _shown(x: Any) -> str:
    return str(x.type) if isinstance(x, Array) else f"a {type(x).__name__}"


def requested(dtype: DTypeLike, name: str) -> Any:
    """The dtype that a caller of `name` asks for; None where none is asked for."""
    return None if dtype is None else dtypes.canonicalize_requested(dtype, name)


def converted(x: Any, dtype: Any) -> Any:
    """`x` in a dtype that was asked for; a ComplexWarning where an imaginary part is lost."""
    if dtypes.is_complex(type_of(x).dtype) and not dtypes.is_complex(dtype):
        return convert_element_type(x, dtype)
    return retype(x, dtype)


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


def over_last(v: Any, shape: Sequence[int]) -> Any:
    """A vector repeated over all axes of `shape` but the last, along which it goes."""
    return broadcast_in_dim(v, shape=tuple(shape), dims=(len(shape) - 1,))


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


_PIECES = 8  # up to so many, slices joined are faster than a gather, and so is their transpose than a scatter


def rearranged(x: Any, index: np.ndarray, axis: int) -> Any:
    """The elements of `x` at known positions along `axis`."""
    if not index.size:
        return part(x, axis, 0, 0)
    pieces: list[Any] = []
    for start, step, count in _runs(index.tolist()):
        if len(pieces) == _PIECES:
            return picked(x, positions(index), axis)
        low, high = (start, start + step * (count - 1))[:: -1 if step < 0 else 1]
        piece = part(x, axis, low, high + 1, abs(step) or 1)
        if step < 0:
            piece = rev(piece, axes=(axis,))
        elif step == 0 and count > 1:
            shape = type_of(x).shape
            shape = (*shape[:axis], count, *shape[axis + 1:])
            piece = broadcast_in_dim(piece, shape=shape, dims=tuple(range(len(shape))))
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else concatenate(*pieces, axis=axis)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int, int]]:
    """Numbers as arithmetic sequences: (first, step, how many)."""
    i = 0
    while i < len(numbers):
        j = i + 1
        step = numbers[j] - numbers[i] if j < len(numbers) else 1
        while j < len(numbers) and numbers[j] - numbers[j - 1] == step:
            j += 1
        if j - i == 2 and abs(step) > 1:
            j -= 1
        elif j - i > 1 and step != 1 and j < len(numbers) and numbers[j] - numbers[j - 1] == 1:
            j -= 1  # it begins a run upwards, which may so be all of the axis
        yield numbers[i], step if j - i > 1 else 1, j - i
        i = j
