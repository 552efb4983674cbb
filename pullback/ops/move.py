"""Operations that move elements and compute with none: reshape, broadcast, transpose, slice, pad,
concatenate, reverse.

`iota`, which makes elements from nothing, stands here too.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import TABLE, Example, NoGradient, Outputs
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import broadcast, instantiate, zeros_like
from pullback.ops.families import Move, MovesKeys

Shape = tuple[int, ...]


def count(number: int, thing: str, things: str = "") -> str:
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def as_shape(shape: Any, what: str = "shape") -> Shape:
    """Sizes, axes or positions from what a user may pass for them: an int, or a sequence of ints."""
    try:
        return (operator.index(shape),)
    except errors.TracerIntegerConversionError:
        raise
    except TypeError:
        pass
    try:
        return tuple([operator.index(n) for n in shape])
    except errors.TracerIntegerConversionError:
        raise
    except TypeError:
        raise errors.type_error(f"{what} is {shape!r}, an int or a sequence of ints is required",
                                fix="pass a tuple of ints; a float is converted with int()") from None


def check_shape(shape: Shape) -> None:
    """A TypeError unless `shape` holds sizes."""
    if any([n < 0 for n in shape]):
        raise errors.type_error(f"shape {shape} has a negative size", fix="sizes are 0 or more")


def check_permutation(perm: Shape, ndim: int, what: str) -> None:
    """A TypeError unless `perm` names each of `ndim` axes once."""
    if sorted(perm) != list(range(ndim)):
        raise errors.make(
            errors.OperandError, op=errors.source.called(),
            problem=f"{what} is {perm}, a permutation of the axes 0 to {ndim - 1} is required" if ndim else
            f"{what} is {perm}, () is required for an array without axes", fix="name each axis exactly once")


class Reshape(Move):
    """The same elements in row-major order in another shape."""

    def type(self, x: ArrayType, *, shape: Shape) -> list[ArrayType]:
        check_shape(shape)
        required = math.prod(shape)
        if required != x.size:
            raise errors.make(
                errors.OperandError, op=errors.source.called(),
                problem=f"cannot reshape {x}, which has {count(x.size, 'element')}, into shape {shape}, which holds "
                f"{required}", fix=_reshape_fix(x.size, shape))
        return [x.with_shape(shape)]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return {"shape": (*params["shape"], words)}

    def numpy(self, x: np.ndarray, *, shape: Shape) -> Outputs:
        return [np.reshape(x, shape)]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any]:
        shape = params["shape"]
        return lambda x: x.reshape(shape)

    def hlo(self, b: Any, x: Any, *, shape: Shape) -> Outputs:
        return [b.reshape(x, shape)]

    def transpose(self, cts: Sequence[Any], x: Any, *, shape: Shape) -> list[Any]:
        return [self(cts[0], shape=x.type.shape)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, shape: Shape
              ) -> tuple[Outputs, list[bool]]:
        return [self(args[0], shape=(size, *shape))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 2, 6), shape=(3, 4), linear=(0,))
        yield Example(_normal(rng), shape=(1, 1), linear=(0,))
        yield Example(_normal(rng, 1, 1), shape=(), linear=(0,))
        yield Example(_normal(rng, 0, 3), shape=(5, 0, 2), linear=(0,))
        yield Example(rng.integers(-5, 5, (4, 2)).astype(np.int8), shape=(8,))
        yield Example(np.array([True, False]), shape=(2, 1))

    def oracle(self, jax: Any, x: Any, *, shape: Shape) -> Any:
        return jax.lax.reshape(x, shape)


def _reshape_fix(size: int, shape: Shape) -> str:
    for i, n in enumerate(shape):
        others = math.prod(shape[:i] + shape[i + 1:])
        if others and size % others == 0:
            return f"with size {size // others} in place of {n} on axis {i} the shape would hold {size}"
    return "check the sizes; -1 for one of them (jnp.reshape) computes it from the others"


class BroadcastInDim(Move):
    """The operand repeated along new axes and along axes of size 1; `dims` says where its axes go."""

    def type(self, x: ArrayType, *, shape: Shape, dims: Shape) -> list[ArrayType]:
        check_shape(shape)
        if len(dims) != x.ndim:
            raise errors.type_error(
                f"broadcast dimensions {dims} name {count(len(dims), 'axis', 'axes')}, "
                f"the operand {x} has {x.ndim}", fix="name for each axis of the operand its axis in the "
                                                     "result")
        if any([not 0 <= d < len(shape) for d in dims]) or any([i >= j for i, j in zip(dims, dims[1:])]):
            raise errors.type_error(
                f"broadcast dimensions {dims} must increase and be axes of the result, whose shape is "
                f"{shape}",
                fix="transpose the operand first if its axes change order")
        for axis, d in enumerate(dims):
            if x.shape[axis] not in (1, shape[d]):
                raise errors.type_error(
                    f"operand {x} axis {axis} has size {x.shape[axis]}, result shape {shape} axis {d} has "
                    f"size {shape[d]}; equal sizes or size 1 are required",
                    fix="reshape the operand, or name another axis of the result")
        return [x.with_shape(shape)]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return {"shape": (*params["shape"], words), "dims": (*params["dims"], len(params["shape"]))}

    def numpy(self, x: np.ndarray, *, shape: Shape, dims: Shape) -> Outputs:
        x = np.asarray(x)
        strides = [0] * len(shape)
        for n, stride, d in zip(x.shape, x.strides, dims):
            strides[d] = stride if n == shape[d] else 0
        if x.size and x.dtype.isbuiltin == 1 and x.flags.c_contiguous:
            return [np.ndarray(shape, x.dtype, x, 0, strides)]  # a fifth of what broadcast_to costs
        aligned = [1] * len(shape)
        for n, d in zip(x.shape, dims):
            aligned[d] = n
        return [np.broadcast_to(x.reshape(aligned), shape)]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any] | None:
        (x,), shape, dims = types, params["shape"], params["dims"]
        dtype = x.dtype
        if not x.size or dtype.isbuiltin != 1:
            return None
        strides, stride = [0] * len(shape), dtype.itemsize
        for n, d in zip(x.shape[::-1], dims[::-1]):
            strides[d] = stride if n == shape[d] else 0
            stride *= n

        def repeated(x: Any) -> Any:
            if x.__class__ is np.ndarray and x.flags.c_contiguous:
                return np.ndarray(shape, dtype, x, 0, strides)
            return self.numpy(x, shape=shape, dims=dims)[0]
        return repeated

    def hlo(self, b: Any, x: Any, *, shape: Shape, dims: Shape) -> Outputs:
        return [b.broadcast_in_dim(x, dims, b.outputs[0])]

    def transpose(self, cts: Sequence[Any], x: Any, *, shape: Shape, dims: Shape) -> list[Any]:
        repeated = [d for n, d in zip(x.type.shape, dims) if n != shape[d]]
        axes = tuple([d for d in range(len(shape)) if d not in dims or d in repeated])
        ct = TABLE["reduce_sum"](cts[0], axes=axes) if axes else cts[0]
        return [reshape(ct, shape=x.type.shape) if repeated else ct]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, shape: Shape, dims: Shape
              ) -> tuple[Outputs, list[bool]]:
        return [self(args[0], shape=(size, *shape), dims=(0, *[d + 1 for d in dims]))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng), shape=(2, 3), dims=(), linear=(0,))
        yield Example(_normal(rng, 3), shape=(2, 3), dims=(1,), linear=(0,))
        yield Example(_normal(rng, 3), shape=(3, 2), dims=(0,), linear=(0,))
        yield Example(_normal(rng, 2, 1), shape=(2, 4, 3), dims=(0, 2), linear=(0,))
        yield Example(_normal(rng, 1, 1), shape=(1, 4), dims=(0, 1), linear=(0,))
        yield Example(_normal(rng, 1), shape=(0, 2), dims=(1,), linear=(0,))
        yield Example(rng.integers(0, 2, 3).astype(bool), shape=(2, 3), dims=(1,))

    def oracle(self, jax: Any, x: Any, *, shape: Shape, dims: Shape) -> Any:
        return jax.lax.broadcast_in_dim(x, shape, dims)


class Transpose(Move):
    """Axis i of the result is axis perm[i] of the operand."""

    def type(self, x: ArrayType, *, perm: Shape) -> list[ArrayType]:
        check_permutation(perm, x.ndim, f"the order of the axes of {x}")
        return [x.with_shape(tuple([x.shape[i] for i in perm]))]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return {"perm": (*params["perm"], ndim)}

    def numpy(self, x: np.ndarray, *, perm: Shape) -> Outputs:
        return [np.transpose(x, perm)]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any]:
        perm = params["perm"]
        return lambda x: x.transpose(perm)

    def hlo(self, b: Any, x: Any, *, perm: Shape) -> Outputs:
        return [b.transpose(x, perm)]

    def transpose(self, cts: Sequence[Any], x: Any, *, perm: Shape) -> list[Any]:
        return [self(cts[0], perm=inverse(perm))]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, perm: Shape
              ) -> tuple[Outputs, list[bool]]:
        return [self(args[0], perm=(0, *[i + 1 for i in perm]))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 2, 3, 4), perm=(2, 0, 1), linear=(0,))
        yield Example(_normal(rng), perm=(), linear=(0,))
        yield Example(_normal(rng, 0, 3), perm=(1, 0), linear=(0,))
        yield Example(rng.integers(0, 9, (2, 3)).astype(np.uint8), perm=(1, 0))

    def oracle(self, jax: Any, x: Any, *, perm: Shape) -> Any:
        return jax.lax.transpose(x, perm)


def inverse(perm: Shape) -> Shape:
    """The permutation that undoes `perm`."""
    result = [0] * len(perm)
    for i, axis in enumerate(perm):
        result[axis] = i
    return tuple(result)


class Slice(Move):
    """Elements start, start + stride, ... below limit, along each axis."""

    def type(self, x: ArrayType, *, start: Shape, limit: Shape, strides: Shape) -> list[ArrayType]:
        for what, given in (("start_indices", start), ("limit_indices", limit), ("strides", strides)):
            if len(given) != x.ndim:
                raise errors.type_error(f"{what} {given} must have one entry for each of the {x.ndim} axes "
                                        f"of {x}",
                                        fix="give an entry for every axis, 0 to its size for a whole one")
        for axis, (n, i, j, step) in enumerate(zip(x.shape, start, limit, strides)):
            if not 0 <= i <= j <= n:
                raise errors.type_error(
                    f"slice {i}:{j} of axis {axis} of {x} must satisfy 0 <= start <= limit <= {n}",
                    fix="lax.slice does not wrap negative positions nor clip; x[i:j] does")
            if step < 1:
                raise errors.type_error(f"stride {step} of axis {axis}; strides must be positive",
                                        fix="use lax.rev to reverse an axis")
        return [x.with_shape(tuple([-((i - j) // step) for i, j, step in zip(start, limit, strides)]))]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return {"start": (*params["start"], 0), "limit": (*params["limit"], words),
                "strides": (*params["strides"], 1)}

    def numpy(self, x: np.ndarray, *, start: Shape, limit: Shape, strides: Shape) -> Outputs:
        return [self.alone((), {"start": start, "limit": limit, "strides": strides})(np.asarray(x))]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any]:
        bounds = zip(params["start"], params["limit"], params["strides"])
        index = tuple([builtins.slice(i, j, k) for i, j, k in bounds])
        return lambda x: x[index]

    def hlo(self, b: Any, x: Any, *, start: Shape, limit: Shape, strides: Shape) -> Outputs:
        return [b.op("stablehlo.slice", [x], b.outputs[0],
                     f"start_indices = {b.ints(start)}, limit_indices = {b.ints(limit)}, strides = "
                     f"{b.ints(strides)}")]

    def transpose(self, cts: Sequence[Any], x: Any, *, start: Shape, limit: Shape,
                  strides: Shape) -> list[Any]:
        ct, config = cts[0], []
        for n, m, i, step in zip(x.type.shape, ct.type.shape, start, strides):
            covered = (m - 1) * step + 1 if m else 0
            config.append((i, n - i - covered, step - 1))
        return [pad(ct, zeros_like(ArrayType((), ct.type.dtype)), config=tuple(config))]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, start: Shape, limit: Shape,
              strides: Shape) -> tuple[Outputs, list[bool]]:
        return [self(args[0], start=(0, *start), limit=(size, *limit), strides=(1, *strides))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 5, 4), start=(1, 0), limit=(4, 4), strides=(1, 1), linear=(0,))
        yield Example(_normal(rng, 8, 7), start=(1, 2), limit=(8, 7), strides=(3, 2), linear=(0,))
        yield Example(_normal(rng, 5), start=(3,), limit=(3,), strides=(2,), linear=(0,))
        yield Example(_normal(rng), start=(), limit=(), strides=(), linear=(0,))
        yield Example(_normal(rng, 0, 2), start=(0, 1), limit=(0, 2), strides=(1, 1), linear=(0,))
        yield Example(rng.integers(-9, 9, 6).astype(np.int32), start=(0,), limit=(6,), strides=(4,))

    def oracle(self, jax: Any, x: Any, *, start: Shape, limit: Shape, strides: Shape) -> Any:
        return jax.lax.slice(x, start, limit, strides)


Padding = tuple[tuple[int, int, int], ...]


class Pad(Move):
    """The operand with a scalar before, after and between its elements; negative amounts cut off."""

    def type(self, x: ArrayType, value: ArrayType, *, config: Padding) -> list[ArrayType]:
        if x.dtype != value.dtype:
            raise errors.make(errors.OperandError, f"operand {x} and padding value {value} must have one dtype",
                              op=errors.source.called(), fix="convert the padding value with astype")
        if value.shape:
            raise errors.make(errors.OperandError, f"the padding value is {value}, a scalar is required",
                              fix="pass a number")
        if len(config) != x.ndim:
            raise errors.value_error(
                f"padding_config has {count(len(config), 'entry', 'entries')}, operand {x} has "
                f"{x.ndim} axes", fix="give (low, high, interior) for every axis, (0, 0, 0) for none")
        shape = []
        for axis, (n, (low, high, interior)) in enumerate(zip(x.shape, config)):
            if interior < 0:
                raise errors.value_error(f"interior padding {interior} of axis {axis} is negative",
                                         fix="take a strided slice to drop elements")
            size = n + low + high + interior * max(n - 1, 0)
            if size < 0:
                raise errors.value_error(f"padding {(low, high, interior)} of axis {axis} of {x} leaves size "
                                         f"{size}",
                                         fix="cut off less")
            shape.append(size)
        return [ArrayType(tuple(shape), x.dtype, x.weak and value.weak)]

    def numpy(self, x: np.ndarray, value: np.ndarray, *, config: Padding) -> Outputs:
        x = np.asarray(x)
        out, source, target = [], [], []
        for n, (low, high, interior) in zip(x.shape, config):
            step = interior + 1
            size = n + low + high + interior * max(n - 1, 0)
            first = max(0, -(low // step))               # elements before it fall off at the low end
            last = min(n, -((low - size) // step))       # from here on they fall off at the high end
            last = max(first, last)
            out.append(size)
            source.append(builtins.slice(first, last))
            begin = low + first * step
            target.append(builtins.slice(begin, begin + max(0, (last - first - 1) * step + 1) if last > first
                                         else begin, step))
        result = np.full(out, value, x.dtype)
        part = x[tuple(source)]
        if part.size:
            result[tuple(target)] = part
        return [result]

    def hlo(self, b: Any, x: Any, value: Any, *, config: Padding) -> Outputs:
        low, high, interior = [[c[i] for c in config] for i in range(3)]
        return [b.op("stablehlo.pad", [x, value], b.outputs[0],
                     f"edge_padding_low = {b.ints(low)}, edge_padding_high = {b.ints(high)}, "
                     f"interior_padding = {b.ints(interior)}")]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, config: Padding) -> tuple[Outputs,
                                                                                                Outputs]:
        out = self(*primals, config=config)
        if all([isinstance(t, Zero) for t in tangents]):
            return [out], [Zero(type_of(out).tangent())]
        return [out], [self(*[instantiate(t) for t in tangents], config=config)]

    def transpose(self, cts: Sequence[Any], x: Any, value: Any, *, config: Padding) -> list[Any]:
        ct = cts[0]
        shape = x.type.shape if isinstance(x, Linear) else type_of(x).shape
        zero = zeros_like(ArrayType((), ct.type.dtype))
        x_ct = value_ct = None
        if isinstance(x, Linear):
            if 0 in shape:
                x_ct = zeros_like(x.type)
            else:
                x_ct = self(ct, zero, config=tuple([(-low, -high, 0) for low, high, _ in config]))
                x_ct = slice(x_ct, start=(0,) * len(shape), limit=x_ct.type.shape,
                             strides=tuple([interior + 1 for _, _, interior in config]))
        if isinstance(value, Linear):
            held = TABLE["select_n"](self._added(shape, config), zeros_like(ct.type), ct)
            value_ct = TABLE["reduce_sum"](held, axes=tuple(range(ct.type.ndim)))
        return [x_ct, value_ct]

    def _added(self, shape: Shape, config: Padding) -> Any:
        """Where the result holds the padding value."""
        return self(zeros_like(ArrayType(shape, dtypes.bool_)), True, config=config)

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, config: Padding
              ) -> tuple[Outputs, list[bool]]:
        (x, value), (x_batched, value_batched) = args, batched
        whole = ((0, 0, 0), *config)
        if not value_batched:
            return [self(x, value, config=whole)], [True]
        if not x_batched:
            x = broadcast(x, size)
        padded = self(x, zeros_like(ArrayType((), value.type.dtype)), config=whole)
        added = self._added(x.type.shape, whole)
        values = broadcast_in_dim(value, shape=padded.type.shape, dims=(0,))
        return [TABLE["select_n"](added, padded, values)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 2, 3), _normal(rng), config=((1, 2, 0), (0, 1, 2)), linear=(0, 1))
        yield Example(_normal(rng, 5, 4), _normal(rng), config=((-1, 2, 1), (3, -2, 0)), linear=(0, 1))
        yield Example(_normal(rng, 6), _normal(rng), config=((-3, -2, 2),), linear=(0, 1))
        yield Example(_normal(rng, 1), _normal(rng), config=((4, -5, 3),), linear=(0, 1))
        yield Example(_normal(rng, 0, 2), _normal(rng), config=((1, 1, 1), (0, 0, 0)), linear=(0, 1))
        yield Example(_normal(rng, 3), _normal(rng), config=((-5, 4, 1),), linear=(0, 1))
        yield Example(_normal(rng), _normal(rng), config=(), linear=(0,))
        yield Example(np.arange(4, dtype=np.int32), np.int32(-1), config=((1, 1, 1),))

    def oracle(self, jax: Any, x: Any, value: Any, *, config: Padding) -> Any:
        return jax.lax.pad(x, value, config)


class Concatenate(Move):
    """The operands one after the other along `axis`."""

    def type(self, *types: ArrayType, axis: int) -> list[ArrayType]:
        if not types:
            raise errors.value_error("got no operands, at least one is required", fix="pass an array")
        first = types[0]
        for i, t in enumerate(types):
            if t.ndim != first.ndim:
                raise errors.type_error(f"operand 0 is {first}, operand {i} is {t}: they differ in rank",
                                        fix="reshape one of them (x[None], jnp.expand_dims)")
            if t.dtype != first.dtype:
                raise errors.type_error(f"operand 0 is {first}, operand {i} is {t}: they differ in dtype",
                                        fix="convert one with astype")
        if not 0 <= axis < first.ndim:
            raise errors.type_error(
                f"axis {axis} is out of bounds for operands with {count(first.ndim, 'dimension')}"
                if first.ndim else f"operands of type {first} have no axis to join along",
                fix="check the rank of the operands and the axis" if first.ndim else "use stack, or reshape "
                                                                                     "to (1,)")
        for i, t in enumerate(types):
            for other in range(first.ndim):
                if other != axis and t.shape[other] != first.shape[other]:
                    raise errors.type_error(
                        f"operands must agree on every axis but {axis}: axis {other} has size "
                        f"{first.shape[other]} in operand 0, {first}, and size {t.shape[other]} in operand "
                        f"{i}, {t}",
                        fix=f"slice or pad operand {i}, or join along another axis")
        shape = (*first.shape[:axis], sum([t.shape[axis] for t in types]), *first.shape[axis + 1:])
        return [ArrayType(shape, first.dtype, all([t.weak for t in types]))]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return params

    def numpy(self, *arrays: np.ndarray, axis: int) -> Outputs:
        return [np.concatenate(arrays, axis)]

    def hlo(self, b: Any, *values: Any, axis: int) -> Outputs:
        return [b.op("stablehlo.concatenate", values, b.outputs[0], f"dimension = {axis} : i64")]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Outputs, Outputs]:
        out = self(*primals, axis=axis)
        if all([isinstance(t, Zero) for t in tangents]):
            return [out], [Zero(type_of(out).tangent())]
        return [out], [self(*[instantiate(t) for t in tangents], axis=axis)]

    def transpose(self, cts: Sequence[Any], *args: Any, axis: int) -> list[Any]:
        ct = cts[0]
        results, begin = [], 0
        for arg in args:
            end = begin + type_of(arg).shape[axis]
            if isinstance(arg, Linear):
                start, limit = [0] * ct.type.ndim, list(ct.type.shape)
                start[axis], limit[axis] = begin, end
                results.append(slice(ct, start=tuple(start), limit=tuple(limit), strides=(1,) * len(limit)))
            else:
                results.append(None)
            begin = end
        return results

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, axis: int
              ) -> tuple[Outputs, list[bool]]:
        whole = [arg if flag else broadcast(arg, size) for arg, flag in zip(args, batched)]
        return [self(*whole, axis=axis + 1)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 2, 3), _normal(rng, 2, 1), axis=1, linear=(0, 1))
        yield Example(_normal(rng, 1, 2), _normal(rng, 0, 2), _normal(rng, 3, 2), axis=0, linear=(0, 2))
        yield Example(_normal(rng, 3), axis=0, linear=(0,))
        yield Example(np.arange(3, dtype=np.uint16), np.arange(2, dtype=np.uint16), axis=0)

    def oracle(self, jax: Any, *args: Any, axis: int) -> Any:
        return jax.lax.concatenate(args, axis)


class Rev(Move):
    """The elements in reverse order along `axes`."""

    def type(self, x: ArrayType, *, axes: Shape) -> list[ArrayType]:
        if len(set(axes)) != len(axes) or any([not 0 <= axis < x.ndim for axis in axes]):
            raise errors.type_error(f"axes {axes} must be distinct axes of {x}", fix="name each axis once")
        return [x]

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any]:
        return params

    def numpy(self, x: np.ndarray, *, axes: Shape) -> Outputs:
        return [np.flip(x, axes)]

    def hlo(self, b: Any, x: Any, *, axes: Shape) -> Outputs:
        return [b.op("stablehlo.reverse", [x], b.outputs[0], f"dimensions = {b.ints(axes)}")]

    def transpose(self, cts: Sequence[Any], x: Any, *, axes: Shape) -> list[Any]:
        return [self(cts[0], axes=axes)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, axes: Shape
              ) -> tuple[Outputs, list[bool]]:
        return [self(args[0], axes=tuple([axis + 1 for axis in axes]))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_normal(rng, 2, 3), axes=(1,), linear=(0,))
        yield Example(_normal(rng, 2, 3), axes=(0, 1), linear=(0,))
        yield Example(_normal(rng), axes=(), linear=(0,))
        yield Example(_normal(rng, 0), axes=(0,), linear=(0,))
        yield Example(np.array([True, False, False]), axes=(0,))

    def oracle(self, jax: Any, x: Any, *, axes: Shape) -> Any:
        return jax.lax.rev(x, axes)


class Iota(NoGradient, MovesKeys):
    """0, 1, 2, ... along `axis`, the same along every other axis."""

    def type(self, *, shape: Shape, dtype: Any, axis: int) -> list[ArrayType]:
        check_shape(shape)
        if dtypes.kind(dtype) not in "iufc":
            raise errors.type_error(f"dtype is {dtypes.short_name(dtype)}, a dtype of numbers is required",
                                    fix="convert the result with astype")
        if not 0 <= axis < len(shape):
            raise errors.value_error(f"dimension {axis} is out of bounds for shape {shape}",
                                     fix=f"name an axis from 0 to {len(shape) - 1}" if shape else
                                         "give the shape an axis")
        return [ArrayType(shape, dtype)]

    def numpy(self, *, shape: Shape, dtype: Any, axis: int) -> Outputs:
        numbers = np.arange(shape[axis]).astype(dtype)
        if math.prod(shape) < 4096:  # filling few elements takes less time than making a view
            filled = np.empty(shape, dtype)
            filled[...] = numbers.reshape((-1,) + (1,) * (len(shape) - axis - 1))
            return [filled]
        return [np.broadcast_to(numbers.reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)]

    def hlo(self, b: Any, *, shape: Shape, dtype: Any, axis: int) -> Outputs:
        return [b.iota(b.outputs[0], axis)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return [self(**params)], [False]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(shape=(5,), dtype=dtypes.int32, axis=0)
        yield Example(shape=(2, 3), dtype=dtypes.float32, axis=1)
        yield Example(shape=(2, 3, 2), dtype=dtypes.uint8, axis=1)
        yield Example(shape=(0, 3), dtype=dtypes.int16, axis=0)
        yield Example(shape=(4,), dtype=dtypes.complex64, axis=0)
        yield Example(shape=(300,), dtype=dtypes.int8, axis=0)

    def oracle(self, jax: Any, *, shape: Shape, dtype: Any, axis: int) -> Any:
        return jax.lax.broadcasted_iota(dtype, shape, axis)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.normal(size=shape), np.float32)


reshape = Reshape("reshape")
broadcast_in_dim = BroadcastInDim("broadcast_in_dim")
transpose = Transpose("transpose")
slice = Slice("slice")
pad = Pad("pad")
concatenate = Concatenate("concatenate")
rev = Rev("rev")
iota = Iota("iota")
