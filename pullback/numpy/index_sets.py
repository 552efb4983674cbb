"""Positions of parts of arrays, and between positions with several coordinates and flat ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray, from_numpy
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy import elementwise
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, integer, known, requested
from pullback.numpy.creation import ones
from pullback.numpy.promotion import operand, promoted
from pullback.numpy.selection import nonzero
from pullback.ops import elementwise as ops
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = [
    "diag_indices", "diag_indices_from", "ix_", "mask_indices", "ravel_multi_index", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]


def _size(n: Any, what: str) -> int:
    number = integer(n, what)
    if number < 0:
        raise errors.value_error(f"{what} is {number}, at least 0 is required", fix="pass a size")
    return number


def _whole(numbers: np.ndarray) -> ConcreteArray:
    """Known positions, in the default integer dtype."""
    return from_numpy(np.ascontiguousarray(numbers, dtypes.canonicalize(int)))


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Index arrays that together name a rectangle: args[i] along axis i, of size 1 along the others.

    Args:
      args: int[n], or a mask: the positions where it holds, which must be known then.

    Returns:
      One array per argument, of as many axes as there are arguments.

    Raises:
      ValueError: unless each has one axis.

    Example:
      >>> x = jnp.arange(12).reshape(3, 4)
      >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))]
      Array([[ 1,  3],
             [ 9, 11]], dtype=int32)
    """
    result = []
    for axis, arg in enumerate(args):
        x = array(arg)
        if x.type.ndim != 1:
            raise errors.value_error(f"argument {axis} is {x.type}, arrays with one axis are required",
                                     fix="pass x.ravel()")
        if dtypes.is_bool(x.type.dtype):
            x = nonzero(x)[0].astype(dtypes.canonicalize(int))  # type: ignore[attr-defined]
        if not x.type.size:  # jnp.array([]) is one of floats
            x = retype(x, dtypes.canonicalize(int))
        result.append(move.reshape(x, shape=tuple([x.type.size if i == axis else 1 for i in range(len(args))])))
    return tuple(result)


# -- triangles and diagonals --------------------------------------------------------------------------

def _triangle(n: Any, k: Any, m: Any, upper: bool) -> tuple[Array, Array]:
    rows = _size(n, "n")
    columns = rows if m is None else _size(m, "m")
    distance = np.arange(columns) - np.arange(rows)[:, None]
    chosen = distance >= integer(k, "k") if upper else distance <= integer(k, "k")
    first, second = np.nonzero(chosen)
    return _whole(first), _whole(second)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and below a diagonal of a matrix.

    Args:
      n, m: numbers of rows and columns; m is n where it is None.
      k: which diagonal: 0 the main one, positive above, negative below.

    Returns:
      (rows, columns), each int[count]

    Raises:
      TypeError: if an argument is no int. ValueError: if a size is negative.

    Example:
      >>> jnp.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle(n, k, m, False)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The positions on and above a diagonal of a matrix; args, returns and errors as for `tril_indices`.

    Example:
      >>> jnp.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle(n, k, m, True)


def _matrix_shape(arr: Any) -> tuple[int, int]:
    shape = tuple(arr.shape) if hasattr(arr, "shape") else array(arr).type.shape
    if len(shape) != 2:
        raise errors.value_error(f"got an array of shape {shape}, a matrix is required", fix="index a matrix of it")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """`tril_indices` for the shape of a matrix. Raises ValueError for an array with other than two axes.

    Example:
      >>> jnp.tril_indices_from(jnp.ones((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _matrix_shape(arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """`triu_indices` for the shape of a matrix. Raises ValueError for an array with other than two axes.

    Example:
      >>> jnp.triu_indices_from(jnp.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _matrix_shape(arr)
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The positions on the main diagonal of an array of `ndim` axes of size n: ndim times arange(n).

    Raises:
      TypeError: if an argument is no int. ValueError: if one is negative.

    Example:
      >>> jnp.diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    return (_whole(np.arange(_size(n, "n"))),) * _size(ndim, "ndim")


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """`diag_indices` for the shape of an array. Raises ValueError unless it has two axes or more, of one size.

    Example:
      >>> jnp.diag_indices_from(jnp.ones((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = array(arr).type.shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise errors.value_error(f"got an array of shape {shape}, two axes or more of one size are required",
                                 fix="cut it to a square, or use diag_indices")
    return diag_indices(shape[0], len(shape))


def mask_indices(n: int, mask_func: Callable[[ArrayLike, int], Array], k: int = 0, *, size: int | None = None
                 ) -> tuple[Array, Array]:
    """The positions that a function such as jnp.triu leaves of an n x n matrix of ones.

    Args:
      mask_func: called with the matrix and k.
      size: the number of positions, where that must be known: cut or filled with 0.

    Example:
      >>> jnp.mask_indices(2, jnp.triu)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = nonzero(mask_func(ones((_size(n, "n"),) * 2), k), size=size)
    return rows, columns


# -- flat positions -----------------------------------------------------------------------------------

def _sizes(shape: Any, what: str) -> tuple[int, ...]:
    given = shape.tolist() if isinstance(shape, ConcreteArray | np.ndarray) else shape
    sizes = as_shape(given, what)
    if any([n < 0 for n in sizes]):
        raise errors.value_error(f"{what} is {sizes}, sizes of 0 or more are required", fix="pass a shape")
    return sizes


def _strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[i + 1:]) for i in range(len(sizes))]


def _roomy(dtype: Any, largest: int) -> Any:
    """`dtype`, or the default integer dtype where it cannot hold the largest position."""
    return dtype if dtypes.iinfo(dtype).max >= largest else dtypes.canonicalize(int)


def _whole_type(x: Any) -> Any:
    dtype = type_of(x).dtype
    if not dtypes.is_integer(dtype):
        raise errors.make(errors.OperandError,
                          f"got positions of dtype {dtypes.short_name(dtype)}, integers are required",
                          fix="convert them with astype(int)")
    return dtype


def ravel_multi_index(multi_index: Sequence[ArrayLike], dims: Sequence[int], mode: str = "raise", order: str = "C",
                      *, dtype: DTypeLike | None = None) -> Array:
    """The flat positions of elements given by one array of coordinates per axis.

    Args:
      multi_index: int[...] for each axis, which broadcast.
      dims: the shape of the array they are positions in.
      mode: of coordinates outside: 'raise', which needs them known; 'wrap' counts around, 'clip' takes the nearest,
        'ignore' promises that there are none.
      order: 'C': the last axis varies fastest; 'F': the first.
      dtype: of the result; None: the one that the coordinates promote to, if it holds all positions.

    Raises:
      ValueError: for a coordinate outside with mode 'raise', another word, another number of axes, or no integers.

    Example:
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 1])), (2, 3))
      Array([2, 4], dtype=int32)
    """
    sizes = _sizes(dims, "dims")
    if len(multi_index) != len(sizes):
        raise errors.value_error(f"got coordinates for {len(multi_index)} axes and {len(sizes)} sizes, one for each "
                                 "is required", fix="give an array of coordinates per axis")
    if mode not in ("raise", "wrap", "clip", "ignore"):
        raise errors.value_error(f"mode is {mode!r}, one of 'raise', 'wrap', 'clip' and 'ignore' is required",
                                 fix="check the spelling")
    if order not in ("C", "F"):
        raise errors.value_error(f"order is {order!r}, 'C' or 'F' is required", fix="check the spelling")
    wanted = requested(dtype, "ravel_multi_index")
    if not sizes:
        return retype(array(0), wanted or dtypes.canonicalize(int))
    values = promoted(*[x if isinstance(x, Array) else operand(x) for x in multi_index])
    held = _whole_type(values[0])
    if mode == "raise":
        for axis, (x, n) in enumerate(zip(values, sizes)):
            numbers = known(x, "a check of its range, which mode='raise' asks for,",
                            "pass mode='wrap', 'clip' or 'ignore' to jit it")
            if ((numbers < 0) | (numbers >= n)).any():
                raise errors.value_error(f"a coordinate along axis {axis} is out of bounds for size {n}",
                                         fix="pass mode='wrap' or 'clip'")
    if wanted is not None:
        _whole_type(retype(array(0), wanted))
    target = wanted or _roomy(held, max(math.prod(sizes) - 1, max(sizes)))
    values = [retype(x, target) for x in values]
    if mode == "clip":
        values = [elementwise.clip(x, 0, n - 1) for x, n in zip(values, sizes)]
    elif mode == "wrap":
        values = [elementwise.mod(x, n) for x, n in zip(values, sizes)]
    strides = _strides(sizes) if order == "C" else _strides(sizes[::-1])[::-1]
    total: Any = None
    for x, stride in zip(values, strides):
        part = elementwise.multiply(x, target.type(stride)) if stride != 1 else x
        total = part if total is None else elementwise.add(total, part)
    return retype(array(total), target)


def unravel_index(indices: ArrayLike, shape: Any) -> tuple[Array, ...]:
    """The coordinates, one array per axis, of flat positions.

    Args:
      indices: int[...]; negative ones count from the end, those outside become the nearest.
      shape: of the array they are positions in.

    Raises:
      ValueError: if they are no integers, or the array has no elements.

    Example:
      >>> jnp.unravel_index(jnp.array([2, 4]), (2, 3))
      (Array([0, 1], dtype=int32), Array([2, 1], dtype=int32))
    """
    sizes = _sizes(shape, "shape")
    x = array(indices)
    held, total = _whole_type(x), math.prod(sizes)
    if not sizes:
        return ()
    if not total:
        if not x.type.size:
            return (x,) * len(sizes)
        raise errors.value_error(f"got positions in an array of shape {sizes}, which has no elements",
                                 fix="check the shape")
    target = _roomy(held, max(sizes))
    weak = x.type.weak
    # In a dtype that holds every position; each coordinate fits into the one it came in.
    x = retype(x, _roomy(held, total), weak)
    if dtypes.kind(x.type.dtype) == "i":
        negative = ops.lt(x, ops.number(x, 0))
        x = ops.select_n(negative, x, ops.add(x, ops.number(x, total)))
        x = ops.max(x, ops.number(x, 0))
    if dtypes.iinfo(x.type.dtype).max >= total - 1:
        x = ops.min(x, ops.number(x, total - 1))
    result = []
    for n, stride in zip(sizes, _strides(sizes)):
        along = ops.div(x, ops.number(x, stride)) if stride != 1 else x
        result.append(retype(ops.rem(along, ops.number(x, n)), target, weak))
    return tuple(result)
