"""Sorting along an axis, and the k largest elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs, Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import broadcast
from pullback.ops.families import ANY, check_kind
from pullback.ops.index import GatherDims, GatherScatterMode, gather
from pullback.ops.move import broadcast_in_dim, iota, reshape
from pullback.ops.reduce import wide
from pullback.ops.truth import truth


def ordered(x: np.ndarray) -> list[np.ndarray]:
    """Arrays whose order, the first deciding, is that of `x`: of complex numbers, the two parts."""
    return [x.real, x.imag] if x.dtype.kind == "c" else [wide(x)]


def order_of(keys: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The stable permutation that sorts by `keys`, the first deciding; NaN last, -0.0 equal to 0.0."""
    parts = [part for key in keys for part in ordered(key)]
    if len(parts) == 1:
        return np.argsort(parts[0], axis=axis, kind="stable")
    return np.lexsort(parts[::-1], axis=axis)


def integer_keys(b: Any, x: Any) -> list[Any]:
    """Values of `x` as integers in the same order, which XLA sorts several times faster than floats.

    -0.0 and 0.0 are one, and all NaNs are one, larger than any number.
    """
    kind, bits = dtypes.kind(x.type.dtype), dtypes.itemsize_bits(x.type.dtype)
    if kind == "c":
        part = x.type.with_dtype(dtypes.to_real(x.type.dtype))
        parts = [b.op(f"stablehlo.{name}", [x], part) for name in ("real", "imag")]
        return [key for part in parts for key in integer_keys(b, part)]
    if kind != "f":
        return [x]
    if bits < 16:  # formats with a bit pattern order of their own
        return integer_keys(b, b.convert(x, dtypes.float32))
    x = b.select(b.compare("EQ", x, b.full(0, x.type)), b.full(0, x.type), x)
    x = b.select(b.compare("NE", x, x), b.full(np.nan, x.type), x)
    whole = x.type.with_dtype(np.dtype(f"int{bits}"))
    i = b.bitcast(x, whole)
    flipped = b.xor(i, b.full(2 ** (bits - 1) - 1, whole))
    return [b.select(b.compare("LT", i, b.full(0, whole)), flipped, i)]


def sorted_values(b: Any, operands: Sequence[Any], keys: int, axis: int) -> list[Any]:
    """A stable sort of `operands` along `axis` by the first `keys` of them, which are not floats."""
    def before(b: Any, *args: Any) -> list[Any]:
        result = None
        for i in reversed(range(keys)):
            x, y = args[2 * i], args[2 * i + 1]
            less = b.compare("LT", x, y)
            result = less if result is None else b.or_(less, b.and_(b.compare("EQ", x, y), result))
        return [result]

    scalars = [ArrayType((), x.type.dtype) for x in operands for _ in range(2)]
    return b.multi("stablehlo.sort", operands, [x.type for x in operands],
                   f"dimension = {axis} : i64, is_stable = true", [b.region(scalars, before)])


_MANY = 1 << 12  # from here on a second sort in the program is worth its compilation


def _sorted_floats(b: Any, x: Any, key: Any, axis: int) -> Any:
    """Floats by their integer keys alone, unless there is a -0.0, which its key does not tell from 0.0."""
    bits = dtypes.itemsize_bits(key.type.dtype)
    negative_zero = b.compare("EQ", b.bitcast(x, key.type), b.full(-2 ** (bits - 1), key.type))
    found = [truth(b, negative_zero, range(x.type.ndim), any_of=True)]

    def exact(b: Any) -> list[Any]:
        return sorted_values(b, [key, x], 1, axis)[1:]

    def fast(b: Any) -> list[Any]:
        (i,) = sorted_values(b, [key], 1, axis)
        negative = b.compare("LT", i, b.full(0, key.type))
        return [b.bitcast(b.select(negative, b.xor(i, b.full(2 ** (bits - 1) - 1, key.type)), i), x.type)]

    return b.multi("stablehlo.if", found, [x.type], "", [b.region([], exact), b.region([], fast)])[0]


def gathered(b: Any, x: Any, index: Any, axis: int) -> Any:
    """The elements of `x` at positions `index` along `axis`; both have the same other axes."""
    ndim = x.type.ndim
    others = [i for i in range(ndim) if i != axis]
    numbers = (f"collapsed_slice_dims = [{axis}], operand_batching_dims = {others}, "
               f"start_indices_batching_dims = {others}, start_index_map = [{axis}], "
               f"index_vector_dim = {ndim}")
    index = b.reshape(index, (*index.type.shape, 1))
    return b.op("stablehlo.gather", [x, index], x.type.with_shape(index.type.shape[:-1]),
                f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {b.ints([1] * ndim)}, "
                "indices_are_sorted = false")


def take_along(x: Any, index: Any, axis: int) -> Any:
    """The elements of `x` at positions `index` along `axis`; both have the same other axes."""
    shape = type_of(index).shape
    if 0 in shape:
        return x if type_of(x).shape == shape else broadcast_in_dim(type_of(x).dtype.type(0), shape=shape, dims=())
    others = tuple([i for i in range(len(shape)) if i != axis])
    dims = GatherDims((), (axis,), (axis,), others, others)
    return gather(x, reshape(index, shape=(*shape, 1)), dims=dims, sizes=(1,) * len(shape),
                  mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill=None)


class Sort(Primitive):
    """Operands sorted together along `axis` by the first `keys` of them.

    Always stable. NaN comes last, -0.0 equals 0.0, complex numbers are in lexicographic order.
    """

    def type(self, *types: ArrayType, axis: int, stable: bool = True,  # type: ignore[override]
             keys: int = 1) -> list[ArrayType]:
        if not types:
            raise errors.type_error("got no operand, at least one is required", fix="pass an array")
        check_kind(types, ANY)
        if any([t.shape != types[0].shape for t in types]):
            raise errors.type_error(f"operands must have one shape, got {', '.join(map(str, types))}",
                                    fix="broadcast them to one shape")
        if not 1 <= keys <= len(types):
            raise errors.value_error(f"num_keys is {keys}, 1 to the number of operands, {len(types)}, is "
                                     "required", fix="num_keys counts the operands that decide the order")
        if not 0 <= axis < types[0].ndim:
            raise errors.value_error(f"axis {axis} is not an axis of the operand {types[0]}",
                                     fix="check the rank of the operand and the axis")
        return list(types)

    def numpy(self, *xs: np.ndarray, axis: int, stable: bool = True, keys: int = 1) -> Outputs:
        if len(xs) == 1 and xs[0].dtype.kind in "biuf" and xs[0].dtype.isbuiltin == 1:
            x = xs[0]
            # NumPy's fast sort is not stable, which shows only where zeros have signs, or NaNs have bits of their own.
            shows = x.size < 1024 or x.dtype.kind == "f" and bool(((np.signbit(x) & (x == 0)) | np.isnan(x)).any())
            return [np.sort(x, axis=axis, kind="stable" if shows else None)]
        order = order_of(xs[:keys], axis)
        return [np.take_along_axis(x, order, axis) for x in xs]

    def hlo(self, b: Any, *xs: Any, axis: int, stable: bool = True, keys: int = 1) -> Outputs:
        if xs[0].type.size == 0:
            return list(xs)
        parts = [part for x in xs[:keys] for part in integer_keys(b, x)]
        exact = all([part is x for part, x in zip(parts, xs)])  # the keys are the operands themselves
        t = xs[0].type
        if len(xs) == 1 and not exact and t.size > _MANY and dtypes.itemsize_bits(t.dtype) in (16, 32):
            return [_sorted_floats(b, xs[0], parts[0], axis)]
        if len(xs) == 1 or exact and len(xs) == 2:
            results = sorted_values(b, [*parts, *xs[keys if exact else 0:]], len(parts), axis)
            return results[-len(xs):]
        # Few sorted arrays and a gather are faster than many sorted arrays.
        position = b.iota(xs[0].type.with_dtype(dtypes.int32), axis)
        order = sorted_values(b, [*parts, position], len(parts), axis)[-1]
        return [gathered(b, x, order, axis) for x in xs]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, stable: bool = True,
            keys: int = 1) -> tuple[Outputs, Outputs]:
        shape = type_of(primals[0]).shape
        position = iota(shape=shape, dtype=dtypes.int32, axis=axis)
        *outputs, order = bind(self, [*primals, position], dict(axis=axis, stable=stable, keys=keys))
        return outputs, [Zero(type_of(x).tangent()) if isinstance(t, Zero) else take_along(t, order, axis)
                         for x, t in zip(outputs, tangents, strict=True)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, axis: int,
              stable: bool = True, keys: int = 1) -> tuple[Outputs, list[bool]]:
        whole = [x if flag else broadcast(x, size) for x, flag in zip(args, batched, strict=True)]
        return bind(self, whole, dict(axis=axis + 1, stable=stable, keys=keys)), [True] * len(args)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(*shape: int, dtype: Any = np.float32) -> np.ndarray:
            return rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype) / dtype(4)

        special = np.float32([3, np.nan, -0.0, 0.0, -np.inf, 1, 0.0, -0.0, np.inf, -np.nan, -2])
        for dtype in (np.float32, np.float16, dtypes.bfloat16):
            yield Example(special.astype(dtype), axis=0, stable=True, keys=1, order=0)
            yield Example(special.astype(dtype), np.arange(11, dtype=np.int32), axis=0, stable=True, keys=1,
                          order=0)
        yield Example(draw(5), axis=0, stable=True, keys=1)
        yield Example(draw(3, 4), axis=1, stable=True, keys=1)
        yield Example(draw(3, 4), draw(3, 4), axis=0, stable=False, keys=1)
        bits = rng.integers(0, 2, (2, 3, 6))
        yield Example(bits[0].astype(np.float32), bits[1].astype(np.int8), draw(3, 6), axis=1, stable=True,
                      keys=2, fixed=(0,))
        for dtype in (np.int32, np.uint8, np.bool_):
            x = rng.integers(0, 2, (7, 2)).astype(dtype)
            yield Example(x, axis=1, stable=True, keys=1)
            yield Example(x, np.arange(14, dtype=np.int32).reshape(7, 2), axis=0, stable=True, keys=1)
        special = np.array([1 + 2j, complex(1, np.nan), 2, complex(np.nan, 1), complex(np.nan, 0),
                            complex(1, -0.0), 1, complex(-0.0, 2), 1j], np.complex64)
        yield Example(special, axis=0, stable=True, keys=1, order=0)
        yield Example(draw(4) + np.complex64(1j), axis=0, stable=True, keys=1, order=1)
        yield Example(np.zeros((0, 2), np.float32), axis=0, stable=True, keys=1, order=0)
        yield Example(np.zeros((2, 0), np.float32), np.zeros((2, 0), np.int32), axis=0, stable=True, keys=1,
                      order=0)

    def oracle(self, jax: Any, *xs: Any, axis: int, stable: bool = True, keys: int = 1) -> Any:
        return jax.lax.sort(xs, dimension=axis, is_stable=stable, num_keys=keys)


class TopK(Primitive):
    """The `k` largest elements along `axis`, largest first, and their positions; of equal ones the first.

    NaN is largest, and 0.0 is larger than -0.0.
    """

    def type(self, x: ArrayType, *, k: int, axis: int) -> list[ArrayType]:  # type: ignore[override]
        check_kind([x], "biuf")
        if not 0 <= axis < x.ndim:
            raise errors.value_error(f"axis {axis} is not an axis of the operand {x}",
                                     fix="check the rank of the operand and the axis")
        if not 0 <= k <= x.shape[axis]:
            raise errors.value_error(
                f"k is {k}, the operand {x} has size {x.shape[axis]} along axis {axis}; 0 to "
                f"{x.shape[axis]} is required", fix="lower k, for example min(k, x.shape[axis])")
        shape = tuple([k if i == axis else n for i, n in enumerate(x.shape)])
        return [x.with_shape(shape), ArrayType(shape, dtypes.int32, x.weak)]

    def numpy(self, x: np.ndarray, *, k: int, axis: int) -> Outputs:  # type: ignore[override]
        if dtypes.is_float(x.dtype):
            held = wide(x)
            whole = np.dtype(f"int{8 * held.dtype.itemsize}")
            bits = np.where(np.isnan(held), held.dtype.type(np.nan), held).view(whole)
            rank = np.where(bits < 0, bits ^ np.iinfo(whole).max, bits)
        else:
            rank = x.astype(np.uint64) if x.dtype == np.uint64 else x.astype(np.int64)
        # Complement is the order-reversing map without overflow.
        order = np.argsort(~rank, axis=axis, kind="stable").take(range(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(np.int32)]

    def hlo(self, b: Any, x: Any, *, k: int, axis: int) -> Outputs:
        values, positions = b.outputs
        last = x.type.ndim - 1
        perm = [i for i in range(last + 1) if i != axis] + [axis]
        if dtypes.is_float(x.type.dtype):
            x = b.select(b.compare("NE", x, x), b.full(np.nan, x.type), x)
        x = b.transpose(x, perm)
        shape = (*x.type.shape[:-1], k)
        results = b.multi("chlo.top_k", [x], [values.with_shape(shape), positions.with_shape(shape)],
                          f"k = {k} : i64")
        back = [perm.index(i) for i in range(last + 1)]
        return [b.transpose(y, back) for y in results]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, k: int, axis: int
            ) -> tuple[Outputs, Outputs]:
        values, positions = bind(self, primals, dict(k=k, axis=axis))
        x_dot = take_along(tangents[0], positions, axis)
        return [values, positions], [x_dot, Zero(type_of(positions).tangent())]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, k: int, axis: int
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, dict(k=k, axis=axis + 1)), [True, True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        special = np.float32([3, np.nan, -0.0, 0.0, -np.inf, 1, 0.0, -0.0, np.inf, 3, -2, np.nan])
        for dtype in (np.float32, np.float16, dtypes.bfloat16):
            yield Example(special.astype(dtype), k=9, axis=0, order=0)
        yield Example(rng.permutation(12).reshape(3, 4).astype(np.float32), k=2, axis=1)
        yield Example(rng.permutation(12).reshape(3, 4).astype(np.float32), k=2, axis=0)
        for dtype in (np.int32, np.uint8, np.int8, np.bool_):
            yield Example(rng.integers(0, 2, (2, 7)).astype(dtype), k=3, axis=1)
        yield Example(np.int32([-2**31, 2**31 - 1, 0, -2**31]), k=4, axis=0)
        yield Example(np.zeros((3, 2), np.float32), k=0, axis=1, order=0)
        yield Example(np.zeros((0, 2), np.float32), k=1, axis=1, order=0)

    def oracle(self, jax: Any, x: Any, *, k: int, axis: int) -> Any:
        return jax.lax.top_k(x, k, axis=axis)


sort = Sort("sort")
top_k = TopK("top_k")
