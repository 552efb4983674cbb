"""Ranges of numbers and grids of coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api.batch import vmap
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.lax.operand import placed, retype
from pullback.numpy.arguments import integer, known, one_axis, requested
from pullback.numpy.elementwise import divide, floor, multiply, power, sign, subtract
from pullback.numpy.logic import equal, logical_and, where
from pullback.numpy.promotion import as_array, broadcast_to, operand, promoted, promoted_inexact
from pullback.numpy.transcendental import log10
from pullback.ops import elementwise as ops
from pullback.ops import move
from pullback.ops.elementwise import number
from pullback.ops.move import as_shape
from pullback.runtime.device import device_put

__all__ = [
    "arange", "fromfunction", "geomspace", "indices", "linspace", "logspace", "meshgrid", "mgrid", "ogrid",
]

ArrayLike = Any
DTypeLike = Any


# -- ranges -------------------------------------------------------------------------------------------

def _endpoint(x: ArrayLike, what: str) -> Any:
    """A number that is known: how many elements there are depends on it."""
    v = operand(x)
    if type_of(v).shape:
        raise errors.value_error(f"{what} is {type_of(v)}, a number is required", fix="pass a scalar")
    number = known(v, f"{what} must be known, for the size of the result depends on it",
                   "mark it static in jit (static_argnums), or add to a range of a fixed size").item()
    if isinstance(number, complex):
        raise errors.value_error(f"{what} is {number}, a real number is required", fix="pass its real part")
    return number


def arange(start: ArrayLike, stop: ArrayLike | None = None, step: ArrayLike | None = None,
           dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """The numbers start, start + step, ... before `stop`; of one argument, 0, 1, ... before it.

    Args:
      start, stop, step: known real numbers; step None: 1.
      dtype: None: the one that the arguments promote to.
      device, out_sharding: where the array is put.

    Raises:
      ZeroDivisionError: if the step is 0. ValueError: if the numbers are not finite. ConcretizationTypeError: if one
        is traced.

    Example:
      >>> jnp.arange(2, 8, 3)
      Array([2, 5], dtype=int32)
    """
    given = [x for x in (start, stop, step) if x is not None]
    if not given or (start is None and stop is None):
        raise errors.type_error("got None, a number is required", fix="pass where the range stops")
    if dtype is None:
        types = [type_of(operand(x)) for x in given]
        element = dtypes.promote([(t.dtype, t.weak) for t in types])[0]
    else:
        element = requested(dtype, "arange")
    first: Any = 0
    if stop is None:
        last = _endpoint(start, "stop")
    else:
        first, last = 0 if start is None else _endpoint(start, "start"), _endpoint(stop, "stop")
    stride = 1 if step is None else _endpoint(step, "step")
    if stride == 0:
        raise errors.make(ZeroDivisionError, "step is 0", fix="pass a step that leads from start to stop")
    if not all(map(math.isfinite, (first, last, stride))):
        raise errors.value_error(f"the range from {first} to {last} in steps of {stride} has no size",
                                 fix="pass finite numbers")
    whole = all(isinstance(x, int) for x in (first, last, stride))
    size = max(-((first - last) // stride) if whole else math.ceil((last - first) / stride), 0)
    result = move.iota(shape=(size,), dtype=element, axis=0)
    if stride != 1:
        result = ops.mul(result, _wrapped(stride, element))
    if first:
        result = ops.add(result, _wrapped(first, element))
    return placed(result if device is None else device_put(result, device), out_sharding)


def _wrapped(x: Any, dtype: Any) -> Any:
    """A number in `dtype`; integers beyond its range wrap around, as arithmetic does."""
    return np.asarray(x, np.int64).astype(dtype)[()] if dtypes.is_integer(dtype) else np.dtype(dtype).type(x)


def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: DTypeLike | None = None, axis: int = 0, *, device: Any = None) -> Any:
    """`num` numbers from `start` to `stop` at equal distances.

    Args:
      start, stop: number[...], broadcast to one shape.
      num: how many.
      endpoint: whether `stop` is the last of them.
      retstep: whether to return (numbers, distance).
      dtype: None: the float or complex dtype they promote to; of integers, numbers are rounded down.
      axis: the axis of the result along which the numbers lie.
      device: where the array is put.

    Example:
      >>> jnp.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = integer(num, "num")
    if count < 0:
        raise errors.value_error(f"num is {count}, at least 0 is required",
                                 fix="pass how many numbers there are to be")
    target = requested(dtype, "linspace")
    low, high = promoted_inexact(start, stop)
    computed = type_of(low).dtype
    if target is not None and dtypes.is_inexact(target):
        computed = dtypes.promote([(computed, False), (target, False)])[0]
    # Weak ends may stay so: the shares are strong.
    low, high = (v if type_of(v).dtype == computed else retype(v, computed) for v in (low, high))
    shape = np.broadcast_shapes(type_of(low).shape, type_of(high).shape)
    axis = one_axis(axis, len(shape) + 1)
    parts = max(count - 1 if endpoint else count, 1)
    own = parts if endpoint and count > 1 else count  # the last one is `stop`, however compiled code rounds the shares
    full, single = (*shape[:axis], own, *shape[axis:]), (*shape[:axis], 1, *shape[axis:])
    dims = tuple([i for i in range(len(full)) if i != axis])
    at = move.iota(shape=full, dtype=dtypes.to_real(computed), axis=axis)
    share = retype(ops.div(at, number(at, parts)), computed)
    first, second = (v if is_scalar(v) or not v.type.shape else
                     move.broadcast_in_dim(broadcast_to(v, shape), shape=full, dims=dims) for v in (low, high))
    result = ops.add(ops.mul(first, ops.sub(number(share, 1), share)), ops.mul(second, share))
    if own < count:
        last = move.broadcast_in_dim(broadcast_to(high, shape), shape=single, dims=dims)
        result = move.concatenate(result, retype(last, computed), axis=axis)
    if target is not None:
        result = retype(floor(result) if dtypes.is_integer(target) else result, target)
    result = result if device is None else device_put(result, device)
    if not retstep:
        return result
    low, high = promoted_inexact(start, stop)
    distance = multiply(subtract(high, low), math.nan if count == 0 or endpoint and count == 1 else 1 / parts)
    return result, retype(as_array(distance), computed)


def logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0,
             dtype: DTypeLike | None = None, axis: int = 0) -> Array:
    """`base` to the power of `num` numbers from `start` to `stop` at equal distances; see `linspace`.

    Example:
      >>> jnp.logspace(0, 2, 3).round()
      Array([  1.,  10., 100.], dtype=float32)
    """
    target = requested(dtype, "logspace")
    result = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if target is None else retype(result, target)


def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True,
              dtype: DTypeLike | None = None, axis: int = 0) -> Array:
    """`num` numbers from `start` to `stop` of equal ratio; see `linspace`.

    Real ends must be both positive or both negative; the numbers are NaN otherwise.

    Example:
      >>> jnp.geomspace(1, 100, 3).round()
      Array([  1.,  10., 100.], dtype=float32)
    """
    target = requested(dtype, "geomspace")
    low, high = promoted_inexact(start, stop)
    if not dtypes.is_complex(type_of(low).dtype):
        side = where(logical_and(equal(sign(low), -1), equal(sign(high), -1)), -1, 1)
    else:
        side = sign(low)  # the numbers lie on one ray, or spiral away from it
    result = logspace(log10(divide(low, side)), log10(divide(high, side)), num, endpoint, axis=0)
    result = moved(multiply(result, side), axis)
    return result if target is None else retype(result, target)


def moved(x: Any, axis: int) -> Any:
    """The array with its first axis at place `axis`."""
    ndim = x.type.ndim
    rest = list(range(1, ndim))
    rest.insert(one_axis(axis, ndim), 0)
    return x if rest == list(range(ndim)) else move.transpose(x, perm=tuple(rest))


# -- grids --------------------------------------------------------------------------------------------

def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
             ) -> tuple[Array, ...]:
    """The coordinates of the points of a grid, one array per axis.

    Args:
      xi: any[n_i], the coordinates along each axis.
      sparse: whether the arrays have size 1 along the other axes.
      indexing: 'xy': the second coordinate varies along the first axis; 'ij': the first does.

    Returns:
      Arrays of shape [n_0, n_1, ...] for 'ij', [n_1, n_0, ...] for 'xy'.

    Example:
      >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3))[0].shape
      (3, 2)
    """
    if indexing not in ("xy", "ij"):
        raise errors.value_error(f"indexing is {indexing!r}, 'xy' or 'ij' is required",
                                 fix="pass indexing='ij'")
    if not copy:
        raise errors.value_error("copy is False: arrays have no views",
                                 fix="leave it out, or pass sparse=True")
    axes = [as_array(operand(x)) for x in xi]
    for x in axes:
        if x.type.ndim != 1:
            raise errors.value_error(f"got {x.type}, arrays with one axis are required", fix="pass x.ravel()")
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[:2] = [1, 0]
    sizes = [0] * len(axes)
    for axis, x in zip(order, axes):
        sizes[axis] = x.type.shape[0]
    return tuple([move.broadcast_in_dim(x, shape=_sparse_shape(sizes, axis) if sparse else tuple(sizes),
                                        dims=(axis,))
                  for axis, x in zip(order, axes)])


def _sparse_shape(sizes: Sequence[int], axis: int) -> tuple[int, ...]:
    return tuple([n if i == axis else 1 for i, n in enumerate(sizes)])


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The positions of the elements of an array: int[k, *dimensions] for k axes; `sparse`: k arrays.

    Example:
      >>> jnp.indices((2, 2)).shape
      (2, 2, 2)
    """
    element = dtypes.canonicalize(int) if dtype is None else requested(dtype, "indices")
    if not isinstance(dimensions, Sequence):
        raise errors.type_error(f"dimensions is {dimensions!r}, a sequence is required", fix="pass a tuple of sizes")
    sizes = as_shape(dimensions, "dimensions")
    if sparse:
        return tuple([move.reshape(move.iota(shape=(n,), dtype=element, axis=0),
                                   shape=_sparse_shape(sizes, axis))
                      for axis, n in enumerate(sizes)])
    if not sizes:
        return move.broadcast_in_dim(np.dtype(element).type(0), shape=(0,), dims=())
    grids = [move.iota(shape=(1, *sizes), dtype=element, axis=axis + 1) for axis in range(len(sizes))]
    return move.concatenate(*grids, axis=0)


def along(part: slice) -> Array:
    """The numbers that one slice of a grid's index names; an imaginary step says how many there are."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if part.stop is None:
        raise errors.value_error("a slice has no end", fix="name it: jnp.mgrid[0:5]")
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return along(key)
        if not isinstance(key, tuple) or not all(isinstance(part, slice) for part in key):
            raise errors.type_error(f"got {key!r}, slices are required",
                                    op="jnp.ogrid" if self._sparse else "jnp.mgrid",
                                    fix="index it with slices: jnp.mgrid[0:3, 0:2]")
        grids = meshgrid(*map(as_array, promoted(*map(along, key))), sparse=self._sparse, indexing="ij")
        if self._sparse:
            return list(grids)
        return move.concatenate(*[move.reshape(x, shape=(1, *x.type.shape)) for x in grids], axis=0)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: DTypeLike = float, **kwargs: Any) -> Any:
    """An array whose elements a function computes of their positions.

    Args:
      function: called with one scalar of `dtype` per axis, all elements at once as by vmap.
      shape: an int or a sequence of ints.
      kwargs: further arguments of the function.

    Example:
      >>> jnp.fromfunction(lambda i, j: i * 10 + j, (2, 2), dtype=jnp.int32)
      Array([[ 0,  1],
             [10, 11]], dtype=int32)
    """
    sizes = as_shape(shape)

    def at(*position: Any) -> Any:
        return function(*position, **kwargs)

    for axis in reversed(range(len(sizes))):
        at = vmap(at, in_axes=tuple([0 if i == axis else None for i in range(len(sizes))]))
    return at(*[arange(n, dtype=dtype) for n in sizes])
