"""`pad` in all its modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import concrete, type_of
from pullback.interpret.vmap import vmap
from pullback.lax.operand import retype
from pullback.numpy.arguments import ArrayLike, array, converted, known, like, part, rearranged
from pullback.numpy.promotion import operand
from pullback.numpy.quantiles import median
from pullback.numpy.reductions import max, mean, min
from pullback.ops import elementwise, move
from pullback.ops.convert import convert_element_type

__all__ = ["pad"]

Pairs = list[tuple[Any, Any]]

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",), "edge": (), "empty": (), "linear_ramp": ("end_values",),
    "maximum": ("stat_length",), "mean": ("stat_length",), "median": ("stat_length",), "minimum": ("stat_length",),
    "reflect": ("reflect_type",), "symmetric": ("reflect_type",), "wrap": ()}


def pad(array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Array:
    """The array with elements added before and after it along every axis.

    Args:
      array: any[...]
      pad_width: how many: a number, (before, after), or such a pair for every axis.
      mode: what they are. 'constant': constant_values (0); 'edge': the outermost element; 'linear_ramp': from
        it evenly to end_values (0); 'maximum', 'mean', 'median', 'minimum': of the stat_length (all)
        outermost elements; 'reflect': the elements mirrored at the outermost one; 'symmetric': with the
        outermost one; 'wrap': those from the other side; 'empty': unspecified. A function gets (vector, pair,
        axis, kwargs) for every vector along an axis, padded with zeros, and returns it filled.
      reflect_type: 'even', or 'odd': mirrored elements are taken from twice the outermost one.

    constant_values, end_values and stat_length are given like pad_width.

    Raises:
      TypeError: if pad_width holds no integers. ValueError: for a negative width, an unknown mode or
        argument, a mode that needs elements on an empty axis. ConcretizationTypeError: if pad_width is
        traced.

    Example:
      >>> jnp.pad(jnp.arange(3), (2, 1), mode="reflect").tolist()
      [2, 1, 0, 1, 2, 1]
    """
    return _pad(array, pad_width, mode, kwargs)


def _pad(given: ArrayLike, pad_width: Any, mode: str | Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    x = array(given)
    widths = _widths(pad_width, x.type.ndim)
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    result = _by_mode(x, widths, mode, kwargs)
    if x.type.weak and not result.type.weak:
        return convert_element_type(result, dtype=x.type.dtype, weak=True)
    return result


def _by_mode(x: Any, widths: list[tuple[int, int]], mode: str, kwargs: dict[str, Any]) -> Any:
    if mode not in _ARGUMENTS:
        modes = ", ".join(map(repr, _ARGUMENTS))
        raise errors.value_error(f"mode is {mode!r}, a function or one of {modes} is required",
                                 fix="check the spelling")
    for name in kwargs:
        if name not in _ARGUMENTS[mode]:
            raise errors.value_error(f"{name} is no argument of mode {mode!r}",
                                     fix=f"it takes {' and '.join(_ARGUMENTS[mode]) or 'none'}")
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    if mode == "linear_ramp":
        return _ramp(x, widths, kwargs.get("end_values", 0))
    if mode in _STATISTICS:
        return _statistic(x, widths, _STATISTICS[mode], kwargs.get("stat_length"))
    kind = kwargs.get("reflect_type", "even")
    if kind not in ("even", "odd"):
        raise errors.value_error(f"reflect_type is {kind!r}, 'even' or 'odd' is required",
                                 fix="leave it out for 'even'")
    for axis, (before, after) in enumerate(widths):
        n = x.type.shape[axis]
        if not before and not after:
            continue
        if n == 0:
            raise errors.value_error(f"mode {mode!r} needs an element, axis {axis} of {x.type} is empty",
                                     fix="pad with mode='constant'")
        if kind == "odd":
            x = _odd(_odd(x, axis, before, mode, n, True), axis, after, mode, n, False)
        else:
            x = rearranged(x, _mirrored(n, before, after, mode), axis)
    return x


def _mirrored(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """The positions of the elements of an axis of `n` that stand in the padded one."""
    place = np.arange(-before, n + after)
    if mode == "edge" or n == 1:
        return np.clip(place, 0, n - 1)
    if mode == "wrap":
        return place % n
    period = 2 * n - 2 if mode == "reflect" else 2 * n
    place %= period
    return np.where(place < n, place, (period if mode == "reflect" else period - 1) - place)


def _pairs(given: Any, ndim: int, name: str) -> Pairs:
    """(before, after) for each axis, from a value, a pair, or a pair for every axis."""
    if isinstance(given, Array) and given.type.ndim:
        known_here = concrete(given)
        if known_here is not None:
            given = np.asarray(known_here)
        else:
            given = [_element(given, i) for i in range(given.type.shape[0])]
    if isinstance(given, np.ndarray):
        given = list(given) if given.ndim else given[()]
    if not isinstance(given, (list, tuple)):
        return [(given, given)] * ndim
    rows = [_pair(row) for row in given]
    if all([_is_number(row) for row in given]):
        if len(given) in (1, 2):
            return [(given[0], given[-1])] * ndim
    elif len(rows) in (1, ndim) and all([len(row) in (1, 2) for row in rows]):
        pairs = [(row[0], row[-1]) for row in rows]
        return pairs * ndim if len(pairs) == 1 else pairs
    raise errors.value_error(f"{name} is {given!r}; a value, (before, after), or such a pair for each of the {ndim} "
                             "axes is required", fix="write ((before, after), ...) with a pair per axis")


def _pair(row: Any) -> list[Any]:
    if isinstance(row, Array):
        return [_element(row, i) for i in range(row.type.shape[0])] if row.type.ndim else [row]
    if isinstance(row, np.ndarray):
        return list(row.reshape(-1))
    return list(row) if isinstance(row, (list, tuple)) else [row]


def _is_number(x: Any) -> bool:
    return not isinstance(x, (list, tuple)) and np.ndim(x) == 0


def _element(x: Any, i: int) -> Any:
    piece = part(x, 0, i, i + 1)
    return move.reshape(piece, shape=x.type.shape[1:])


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, Array):
        pad_width = known(pad_width, "pad_width", "mark it static: shapes must be known")
    pairs = []
    for axis, pair in enumerate(_pairs(pad_width, ndim, "pad_width")):
        for width in pair:
            if isinstance(width, (float, np.floating)) or not hasattr(width, "__index__"):
                raise errors.type_error(f"pad_width is {pad_width!r}, integers are required", fix="pass ints")
            if width.__index__() < 0:
                raise errors.value_error(f"pad_width {int(width)} of axis {axis} is negative",
                                         fix="slice the array to cut elements off")
        pairs.append((pair[0].__index__(), pair[1].__index__()))
    return pairs


def _scalar(value: Any, x: Any, name: str) -> Any:
    scalar = operand(value)
    if type_of(scalar).ndim:
        raise errors.value_error(f"{name} holds {type_of(scalar)}, scalars are required", fix="give a value per side")
    return retype(converted(scalar, x.type.dtype), x.type.dtype, x.type.weak)


def _constant(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    ndim = len(widths)
    if _is_number(values):
        if not any([before or after for before, after in widths]):
            return x
        return move.pad(x, _scalar(values, x, "constant_values"), config=tuple([(i, j, 0) for i, j in widths]))
    for axis, pair in enumerate(_pairs(values, ndim, "constant_values")):
        for value, width in zip(pair, ((widths[axis][0], 0, 0), (0, widths[axis][1], 0))):
            if any(width):
                config = tuple([width if i == axis else (0, 0, 0) for i in range(ndim)])
                x = move.pad(x, _scalar(value, x, "constant_values"), config=config)
    return x


def _joined(before: Any, x: Any, after: Any, axis: int) -> Any:
    pieces = [piece for piece in (before, x, after) if piece is not None]
    return pieces[0] if len(pieces) == 1 else move.concatenate(*pieces, axis=axis)


def _ramp(x: Any, widths: list[tuple[int, int]], values: Any) -> Any:
    for axis, (ends, width) in enumerate(zip(_pairs(values, len(widths), "end_values"), widths)):
        n = x.type.shape[axis]
        if n == 0 and any(width):
            raise errors.value_error(f"mode 'linear_ramp' needs an element, axis {axis} of {x.type} is empty",
                                     fix="pad with mode='constant'")
        first = _ramp_to(part(x, axis, 0, 1), ends[0], width[0], axis) if width[0] else None
        last = _ramp_to(part(x, axis, n - 1, n), ends[1], width[1], axis) if width[1] else None
        x = _joined(first, x, None if last is None else move.rev(last, axes=(axis,)), axis)
    return x


def _ramp_to(edge: Any, end: Any, count: int, axis: int) -> Any:
    """`count` values from `end` evenly towards `edge`, which is not one of them."""
    t = edge.type
    shape = tuple([count if i == axis else n for i, n in enumerate(t.shape)])
    held = dtypes.to_inexact(t.dtype)
    start = _scalar(end, edge, "end_values")
    start = retype(start, held)
    share = np.arange(count, dtype=np.float64) / count
    shares = move.broadcast_in_dim(array(share.astype(held)), shape=shape, dims=(axis,))
    span = elementwise.sub(retype(edge, held), start)
    span = move.broadcast_in_dim(span, shape=shape, dims=tuple(range(len(shape))))
    ramp = elementwise.add(start, elementwise.mul(span, shares))
    if not dtypes.is_inexact(t.dtype):
        ramp = elementwise.floor(ramp)
    return retype(ramp, t.dtype)


_STATISTICS: dict[str, Callable[..., Any]] = {"maximum": max, "mean": mean, "median": median, "minimum": min}


def _statistic(x: Any, widths: list[tuple[int, int]], function: Callable[..., Any], stat_length: Any) -> Any:
    lengths = _pairs(stat_length, len(widths), "stat_length")
    for axis, (pair, width) in enumerate(zip(lengths, widths)):
        n = x.type.shape[axis]
        sides: list[Any] = []
        for length, count, front in zip(pair, width, (True, False)):
            if length is not None and length < 1:
                raise errors.value_error(f"stat_length is {length}, at least 1 is required",
                                         fix="leave it out for all elements")
            if not count:
                sides.append(None)
                continue
            taken = n if length is None or length > n else length
            values = part(x, axis, 0, taken) if front else part(x, axis, n - taken, n)
            found = function(values, axis=axis, keepdims=True)
            if dtypes.is_integer(x.type.dtype) and dtypes.is_float(found.type.dtype):
                found = elementwise.round(found, rounding_method=elementwise.RoundingMethod.TO_NEAREST_EVEN)
            found = retype(found, x.type.dtype)
            shape = tuple([count if i == axis else size for i, size in enumerate(x.type.shape)])
            sides.append(move.broadcast_in_dim(found, shape=shape, dims=tuple(range(len(shape)))))
        x = _joined(sides[0], x, sides[1], axis)
    return x


def _odd(x: Any, axis: int, width: int, mode: str, length: int, front: bool) -> Any:
    """`x`, once of `length`, with mirrored elements, taken from twice the outermost one, added on one side."""
    offset = 1 if mode == "reflect" else 0
    if width and length == offset:
        index = np.pad(np.arange(x.type.shape[axis]), (width, 0) if front else (0, width), "edge")
        return rearranged(x, index, axis)
    whole = length - offset
    while width:
        n = x.type.shape[axis]
        count = whole if whole < width else width
        near = part(x, axis, offset, offset + count) if front else part(x, axis, n - offset - count, n - offset)
        edge = part(x, axis, 0, 1) if front else part(x, axis, n - 1, n)
        edge = move.broadcast_in_dim(edge, shape=near.type.shape, dims=tuple(range(near.type.ndim)))
        mirrored = elementwise.sub(elementwise.mul(edge, like(edge, 2)), move.rev(near, axes=(axis,)))
        x = move.concatenate(*((mirrored, x) if front else (x, mirrored)), axis=axis)
        width -= count
    return x


def _by_function(x: Any, widths: list[tuple[int, int]], function: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    x = _constant(x, widths, 0)
    ndim = len(widths)
    for axis, pair in enumerate(widths):
        perm = (*[i for i in range(ndim) if i != axis], axis)
        rows = move.transpose(x, perm=perm)
        shape = rows.type.shape
        count, n = int(np.prod(shape[:-1], dtype=np.int64)), shape[-1]
        rows = move.reshape(rows, shape=(count, n))

        def filled(row: Any, pair: Sequence[int] = pair, axis: int = axis) -> list[Any]:
            result = function(row, pair, axis, kwargs)
            if not isinstance(result, Array) or result.type.shape != row.type.shape:
                raise errors.type_error(
                    f"the function given as mode returned {getattr(result, 'type', type(result).__name__)}, an array "
                    f"of shape {row.type.shape} is required", fix="return the filled vector")
            return [result]

        (rows,), _ = vmap(filled, count, [rows], [True])
        x = move.transpose(move.reshape(rows, shape=shape), perm=move.inverse(perm))
    return x
