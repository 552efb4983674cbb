"""Functions that make arrays: of what users hold, filled with one number, and as parts of matrices."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray, from_numpy
from pullback.core.trace import Tracer, type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.core.values import scalar_of, value
from pullback.lax.operand import placed, retype
from pullback.numpy.arguments import integer, one_axis, requested
from pullback.numpy.elementwise import add
from pullback.numpy.promotion import as_array, broadcast_to, operand
from pullback.ops import convert, move
from pullback.ops import elementwise as ops
from pullback.ops.elementwise import number
from pullback.ops.families import ANY, check_kind
from pullback.ops.move import as_shape
from pullback.runtime import dlpack
from pullback.runtime.device import device_put

__all__ = [
    "array", "asarray", "copy", "diag", "diagflat", "diagonal", "empty", "empty_like", "eye", "from_dlpack",
    "frombuffer", "fromfile", "fromiter", "fromstring", "full", "full_like", "identity", "load", "ones", "ones_like",
    "save", "savez", "tri", "tril", "triu", "zeros", "zeros_like",
]

ArrayLike = Any
DTypeLike = Any
Shape = tuple[int, ...]


def _put(x: Any, device: Any, sharding: Any = None) -> Any:
    return placed(x if device is None else device_put(x, device), sharding)


# -- of what users hold -------------------------------------------------------------------------------

def array(object: Any, dtype: DTypeLike | None = None, *args: Any, copy: bool = True, order: str | None = "K",
          ndmin: int = 0, device: Any = None, out_sharding: Any = None) -> Array:
    """A new array of numbers, arrays, or nested sequences of them; traced values may be among these.

    Args:
      object: an array, a number, a nested list or tuple, or what NumPy makes an array of.
      dtype: None: the one that the elements promote to; 64-bit types become 32-bit ones without enable_x64.
      *args: copy, order and ndmin by position, as NumPy takes them; warned about.
      copy: False: an array may be returned itself.
      order: arrays are in row-major order: 'K', 'A', 'C' or None.
      ndmin: leading axes of size 1 are added up to so many axes.
      device, out_sharding: where the array is put.

    Raises:
      ValueError: if sequences differ in length. TypeError: if there is something that is no number.
      OverflowError: if an int does not fit into the dtype.

    Example:
      >>> jax.jacobian(lambda x: jnp.array([x[0] * x[1], x[0] ** 2]))(jnp.array([2.0, 3.0]))
      Array([[3., 2.],
             [4., 0.]], dtype=float32)
    """
    if args:
        copy, order, ndmin = _by_position(args, (copy, order, ndmin))
    x = _made(object, requested(dtype, "array"), order)
    if copy and x is object:
        x = convert.copy(x)
    if ndmin > x.type.ndim:
        x = move.reshape(x, shape=(1,) * (ndmin - x.type.ndim) + x.type.shape)
    return _put(x, device, out_sharding)


def _by_position(args: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """copy, order and ndmin, of which the first are given."""
    if len(args) > len(defaults):
        raise errors.type_error(f"got {2 + len(args)} arguments by position, at most 5 are taken", op="array",
                                fix="pass copy, order and ndmin by keyword")
    warnings.warn("array: copy, order and ndmin should be given by keyword", DeprecationWarning, stacklevel=3)
    return args + defaults[len(args):]


def asarray(a: Any, dtype: DTypeLike | None = None, order: str | None = None, *, copy: bool | None = None,
            device: Any = None, out_sharding: Any = None) -> Array:
    """`a` as an array: itself if it is one of that dtype. The arguments are those of `array`.

    Example:
      >>> jnp.asarray([1, 2])
      Array([1, 2], dtype=int32)
    """
    x = _made(a, requested(dtype, "asarray"), order)
    return _put(convert.copy(x) if copy and x is a else x, device, out_sharding)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A new array with the elements of an array or number.

    Example:
      >>> jnp.copy(jnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    return array(operand(a), order=order)


def _made(x: Any, dtype: Any, order: str | None = None) -> Any:
    """`x` as an Array, in `dtype` if that is not None."""
    if order not in (None, "K", "A", "C"):
        raise errors.value_error(f"order is {order!r}, 'K', 'A', 'C' or None is required: arrays are in "
                                 "row-major order", fix="transpose instead")
    if isinstance(x, Array):
        return x if dtype is None else retype(x, dtype)
    if isinstance(x, (list, tuple)):
        return _nested(x, dtype)
    if isinstance(x, range):
        return _of_numbers(list(x), (len(x),), dtype or dtypes.canonicalize(int))
    if isinstance(x, (np.ndarray, np.generic)):
        dtypes.check_valid(x.dtype)  # before a cast would parse text
        if dtype is None and isinstance(x, np.ndarray):
            return value(x)
        with np.errstate(all="ignore"):
            host = convert.convert(np.asarray(x), dtype or dtypes.canonicalize(x.dtype))
        return from_numpy(np.array(host, order="C"))
    if isinstance(x, (bool, int, float, complex)):
        x = value(x)
        return as_array(x) if dtype is None else _of_numbers([x], (), dtype)
    if hasattr(x, "__jax_array__"):
        return _made(x.__jax_array__(), dtype)
    if x is None:
        raise errors.make(errors.OperandError, "got None, an array or numbers are required",
                          fix="leave it out, or pass numbers")
    host = None if isinstance(x, (str, bytes)) else np.asarray(x)
    if host is None or host.dtype == np.object_:
        raise errors.type_error(f"got {x!r:.60} of type {type(x).__name__}, numbers, arrays or nested "
                                "sequences of them are required", fix="convert its elements to numbers first")
    return _made(host, dtype)


def _of_numbers(numbers: list[Any], shape: Shape, dtype: Any) -> ConcreteArray:
    """Python's numbers as an array of `shape`."""
    try:
        return from_numpy(np.array(numbers, dtype).reshape(shape))
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.make(type(error), f"{error}", op=None,
                          fix="name a dtype that can hold these numbers") from None


def _nested(x: Sequence[Any], dtype: Any) -> Any:
    """Nested sequences as an Array."""
    leaves, shape = _leaves(x)
    kinds = set(map(type, leaves))
    if kinds <= {bool, int, float, complex}:
        if dtype is None:
            kind = next((kind for kind in (complex, float, int, bool) if kind in kinds), float)
            dtype = dtypes.python_scalar_dtype(kind)
        return _of_numbers(leaves, shape, dtype)
    items = [value(leaf) if is_scalar(leaf) else _made(leaf, None) for leaf in leaves]
    types = [type_of(item) for item in items]
    inner = types[0].shape
    for t in types:
        if t.shape != inner:
            raise errors.value_error(f"got {types[0]} and {t} side by side, arrays of one shape are required",
                                     fix="pad or slice them to one shape, or use concatenate")
    if dtype is None:
        dtype = dtypes.promote([(t.dtype, t.weak) for t in types])[0]
    if any([isinstance(item, Tracer) for item in items]) or dtypes.is_key(dtype):
        return _joined([retype(item, dtype, t.weak) for item, t in zip(items, types)], inner, shape)
    hosts = [np.asarray(scalar_of(item, dtype, False)) if is_scalar(item)
             else convert.convert(item.numpy(), dtype)
             for item in items]
    return from_numpy(np.stack(hosts).reshape(shape + inner))


def _leaves(x: Sequence[Any]) -> tuple[list[Any], Shape]:
    """What nested sequences hold, in order, and the shape that they make."""
    level: list[Any] = [x]
    shape: Shape = ()
    while level and all([isinstance(item, (list, tuple)) for item in level]):
        sizes = {len(item) for item in level}
        if len(sizes) > 1:
            raise errors.value_error(f"sequences at depth {len(shape)} differ in length: {sorted(sizes)}",
                                     fix="pad them to one length")
        shape += (sizes.pop(),)
        level = [leaf for item in level for leaf in item]
    # Beside arrays, sequences stand for arrays too.
    return [_nested(item, None) if isinstance(item, (list, tuple)) else item for item in level], shape


def _joined(items: list[Any], inner: Shape, outer: Shape) -> Any:
    """Values of shape `inner`, some of them traced, as one array of shape outer + inner."""
    row = (1, *inner)
    pieces = [move.broadcast_in_dim(item, shape=row, dims=()) if is_scalar(item)
              else move.reshape(item, shape=row)
              for item in items]
    whole = move.concatenate(*pieces, axis=0) if len(pieces) > 1 else pieces[0]
    if len(outer) != 1:
        whole = move.reshape(whole, shape=outer + inner)
    return retype(whole, whole.type.dtype)


def _scalar(x: Any, dtype: Any) -> Any:
    """`jnp.float32(x)` and its like; they read a text too."""
    return asarray(dtype.type(x) if isinstance(x, str) else x, dtype)


dtypes.ScalarType.make = _scalar


# -- from bytes, text, files and other libraries ------------------------------------------------------

def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """The bytes of a buffer read as numbers of `dtype`, `count` of them from byte `offset` on.

    Example:
      >>> jnp.frombuffer(b"ab", jnp.uint8)
      Array([97, 98], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """The numbers in a text, which `sep` separates.

    Example:
      >>> jnp.fromstring("1 2", sep=" ")
      Array([1., 2.], dtype=float32)
    """
    return asarray(np.fromstring(string, dtypes.as_dtype(dtype), count, sep=sep))


def fromiter(*args: Any, **kwargs: Any) -> Array:
    """The numbers that an iterable gives; the arguments are those of numpy.fromiter: iterable, dtype, and count.

    Example:
      >>> jnp.fromiter(range(3), jnp.int32)
      Array([0, 1, 2], dtype=int32)
    """
    return asarray(np.fromiter(*args, **kwargs))


def fromfile(*args: Any, **kwargs: Any) -> Array:
    """The numbers in a file, read now, also while a program is traced; the arguments are those of numpy.fromfile."""
    return asarray(np.fromfile(*args, **kwargs))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """The array of another library, in host memory, as an Array; copied unless `copy` is False.

    Args and errors as for jax.dlpack.from_dlpack.

    Example:
      >>> jnp.from_dlpack(jnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    return _put(dlpack.from_dlpack(x, copy), device)


def save(file: Any, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Writes an array to a file in NumPy's format."""
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: ArrayLike, allow_pickle: bool = True, **kwds: ArrayLike) -> None:
    """Writes several arrays to a file in NumPy's format, by position and by name."""
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle,  # type: ignore[arg-type]
             **{name: np.asarray(x) for name, x in kwds.items()})


def load(file: IO[bytes] | str | os.PathLike[Any], *args: Any, **kwargs: Any) -> Any:
    """The array in a file of NumPy's format; of several arrays, what NumPy gives."""
    loaded = np.load(file, *args, **kwargs)
    if not isinstance(loaded, np.ndarray):
        return loaded
    if loaded.dtype == np.dtype("V2"):  # NumPy's format has no name for it
        loaded = loaded.view(dtypes.bfloat16)
    return asarray(loaded)


# -- filled with one number ---------------------------------------------------------------------------

def _filled(shape: Any, filling: Any, device: Any, sharding: Any) -> Any:
    return _put(move.broadcast_in_dim(filling, shape=as_shape(shape), dims=()), device, sharding)


def _default(dtype: Any, name: str) -> Any:
    return dtypes.canonicalize(float) if dtype is None else requested(dtype, name)


def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None,
          out_sharding: Any = None) -> Array:
    """An array of zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: None: the default float dtype.
      device, out_sharding: where the array is put.

    Example:
      >>> jnp.zeros((2, 2))
      Array([[0., 0.],
             [0., 0.]], dtype=float32)
    """
    return _filled(shape, scalar_of(0, _default(dtype, "zeros"), False), device, out_sharding)


def ones(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None,
         out_sharding: Any = None) -> Array:
    """An array of ones; the arguments are those of `zeros`.

    Example:
      >>> jnp.ones(2)
      Array([1., 1.], dtype=float32)
    """
    return _filled(shape, scalar_of(1, _default(dtype, "ones"), False), device, out_sharding)


def empty(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None,
          out_sharding: Any = None) -> Array:
    """An array of no particular numbers, which are zeros; the arguments are those of `zeros`.

    Example:
      >>> jnp.empty((2, 3)).shape
      (2, 3)
    """
    return _filled(shape, scalar_of(0, _default(dtype, "empty"), False), device, out_sharding)


def full(shape: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Any = None,
         out_sharding: Any = None) -> Array:
    """An array with one number everywhere.

    Args:
      shape: an int or a sequence of ints.
      fill_value: any[...], broadcast to `shape`.
      dtype: None: that of `fill_value`.
      device, out_sharding: where the array is put.

    Example:
      >>> jnp.full((2,), 7)
      Array([7, 7], dtype=int32, weak_type=True)
    """
    filling = operand(fill_value)
    if dtype is not None:
        filling = retype(filling, requested(dtype, "full"))
    if type_of(filling).shape:
        return _put(broadcast_to(filling, as_shape(shape)), device, out_sharding)
    return _filled(shape, filling, device, out_sharding)


def _type_like(a: Any) -> ArrayType:
    """The type of an array, a number, or anything with a shape and a dtype."""
    if not isinstance(a, (Array, np.ndarray, np.generic)) and hasattr(a, "shape") and hasattr(a, "dtype"):
        return ArrayType(as_shape(a.shape), dtypes.canonicalize(a.dtype),
                         bool(getattr(a, "weak_type", False)))
    return type_of(operand(a))


def full_like(a: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *,
              device: Any = None, out_sharding: Any = None) -> Array:
    """An array with one number everywhere, like another in shape and dtype.

    Args:
      a: an array, a number, or anything with a shape and a dtype.
      fill_value: any[...], broadcast to the shape.
      dtype, shape: None: those of `a`.
      device, out_sharding: where the array is put.

    Example:
      >>> jnp.full_like(jnp.arange(2), 7)
      Array([7, 7], dtype=int32)
    """
    t = _type_like(a)
    check_kind([t], ANY)
    filling = operand(fill_value)
    if dtype is None:
        filling = retype(filling, t.dtype, t.weak)
    else:
        filling = retype(filling, requested(dtype, "full_like"))
    sizes = t.shape if shape is None else as_shape(shape)
    if type_of(filling).shape:
        return _put(broadcast_to(filling, sizes), device, out_sharding)
    return _filled(sizes, filling, device, out_sharding)


def zeros_like(a: Any, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
               out_sharding: Any = None) -> Array:
    """An array of zeros like `a`; see `full_like`.

    Example:
      >>> jnp.zeros_like(jnp.arange(2))
      Array([0, 0], dtype=int32)
    """
    return full_like(a, 0, dtype, shape, device=device, out_sharding=out_sharding)


def ones_like(a: Any, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
              out_sharding: Any = None) -> Array:
    """An array of ones like `a`; see `full_like`.

    Example:
      >>> jnp.ones_like(jnp.arange(2))
      Array([1, 1], dtype=int32)
    """
    return full_like(a, 1, dtype, shape, device=device, out_sharding=out_sharding)


def empty_like(prototype: Any, dtype: DTypeLike | None = None, shape: Any = None, *,
               device: Any = None) -> Array:
    """An array of no particular numbers, which are zeros, like `prototype`; see `full_like`.

    Example:
      >>> jnp.empty_like(jnp.arange(2)).dtype
      dtype('int32')
    """
    return full_like(prototype, 0, dtype, shape, device=device)


# -- triangles and diagonals --------------------------------------------------------------------------

def _size(n: Any, what: str) -> int:
    """A known size."""
    sizes = as_shape(n, what)
    if len(sizes) != 1 or sizes[0] < 0:
        raise errors.value_error(f"{what} is {n}, an int of at least 0 is required",
                                 fix="sizes are 0 or more")
    return sizes[0]


def _below(shape: Shape, k: Any, compare: Callable[..., Any]) -> Any:
    """`compare` of (row number + k) and column number, for each element of matrices."""
    ndim = len(shape)
    rows = move.iota(shape=shape, dtype=dtypes.int32, axis=ndim - 2)
    columns = move.iota(shape=shape, dtype=dtypes.int32, axis=ndim - 1)
    return compare(rows if type(k) is int and k == 0 else add(rows, k), columns)


def eye(N: int, M: int | None = None, k: int | ArrayLike = 0, dtype: DTypeLike | None = None, *,
        device: Any = None) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: how many rows and columns; M None: as many as rows.
      k: which diagonal: above the main one for k > 0. It may be traced.
      dtype: None: the default float dtype.
      device: where the array is put.

    Example:
      >>> jnp.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    rows = _size(N, "N")
    diagonal = operand(k)
    t = type_of(diagonal)
    if t.shape or dtypes.kind(t.dtype) not in "iu":
        raise errors.value_error(f"k is {k!r}, an integer without axes is required", fix="pass an int")
    mask = _below((rows, rows if M is None else _size(M, "M")), k, ops.eq)
    return _put(convert.convert_element_type(mask, dtype=_default(dtype, "eye")), device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The n by n matrix with ones on the main diagonal and zeros elsewhere.

    Example:
      >>> jnp.identity(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """A matrix with ones on and below the diagonal k and zeros above; the arguments are those of `eye`.

    Example:
      >>> jnp.tri(2)
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    rows = _size(N, "N")
    shape = (rows, rows if M is None else _size(M, "M"))
    mask = _below(shape, integer(k, "k"), ops.ge)
    return convert.convert_element_type(mask, dtype=_default(dtype, "tri"))


def _matrices(m: ArrayLike) -> Any:
    x = as_array(operand(m))
    if x.type.ndim < 2:
        raise errors.value_error(f"got {x.type}, an array with at least 2 axes is required",
                                 fix="give it another axis: x[None, :]")
    return x


def tril(m: ArrayLike, k: int = 0) -> Array:
    """Matrices with zeros above the diagonal k: any[..., n, m].

    Example:
      >>> jnp.tril(jnp.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    x = _matrices(m)
    return ops.select_n(_below(x.type.shape, integer(k, "k"), ops.ge), number(x, 0), x)


def triu(m: ArrayLike, k: int = 0) -> Array:
    """Matrices with zeros below the diagonal k: any[..., n, m].

    Example:
      >>> jnp.triu(jnp.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    x = _matrices(m)
    return ops.select_n(_below(x.type.shape, integer(k, "k") - 1, ops.ge), x, number(x, 0))


def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with `v` on the diagonal k, or the diagonal k of a matrix.

    Args:
      v: any[n] or any[n, m]
      k: which diagonal: above the main one for k > 0.

    Raises:
      ValueError: if `v` has neither one nor two axes.

    Example:
      >>> jnp.diag(jnp.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    x, k = as_array(operand(v)), integer(k, "k")
    if x.type.ndim == 2:
        return diagonal(x, k)
    if x.type.ndim != 1:
        raise errors.value_error(f"got {x.type}, an array with 1 or 2 axes is required",
                                 fix="use diagonal for matrices along other axes, diagflat for other arrays")
    n = x.type.shape[0] + abs(k)
    if k:
        x = move.pad(x, number(x, 0), config=((max(k, 0), max(-k, 0), 0),))
    columns = move.broadcast_in_dim(x, shape=(n, n), dims=(1,))
    return ops.select_n(_below((n, n), k, ops.eq), number(x, 0), columns)


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the elements of `v`, in row-major order, on the diagonal k.

    Example:
      >>> jnp.diagflat(jnp.array([1, 2]), 1).shape
      (3, 3)
    """
    x = as_array(operand(v))
    return diag(move.reshape(retype(x, x.type.dtype), shape=(x.type.size,)), k)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements a[i, i + offset] along two axes, as a last axis.

    Args:
      a: any[...]
      offset: which diagonal: above the main one for offset > 0.
      axis1, axis2: the axes of rows and columns.

    Raises:
      ValueError: if there are fewer than two axes, or the two are one.

    Example:
      >>> jnp.diagonal(jnp.arange(6).reshape(2, 3), 1)
      Array([1, 5], dtype=int32)
    """
    x, offset = _matrices(a), integer(offset, "offset")
    shape = x.type.shape
    first, second = one_axis(axis1, len(shape)), one_axis(axis2, len(shape))
    if first == second:
        raise errors.value_error(f"axis1 and axis2 are both {first}, two axes are required",
                                 fix="name two axes")
    outer = [axis for axis in range(len(shape)) if axis not in (first, second)]
    perm = (*outer, first, second)
    if perm != tuple(range(len(shape))):
        x = move.transpose(x, perm=perm)
    *sizes, rows, columns = x.type.shape
    above, left = max(-offset, 0), max(offset, 0)
    n = max(min(rows - above, columns - left), 0)
    if n == 0:
        return move.broadcast_in_dim(number(x, 0), shape=(*sizes, 0), dims=())
    whole = [0] * len(sizes)
    unit = [1] * len(sizes)
    if (n, n) != (rows, columns):
        x = move.slice(x, start=(*whole, above, left), limit=(*sizes, above + n, left + n),
                       strides=(*unit, 1, 1))
    x = move.reshape(x, shape=(*sizes, n * n))
    return move.slice(x, start=(*whole, 0), limit=(*sizes, n * n), strides=(*unit, n + 1))
