"""The two operations that the transformations themselves need: a zero, and a sum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.types import ArrayType, Linear, Zero


class Zeros(Primitive):
    """An array of zeros of type `of`."""

    def type(self, *, of: ArrayType) -> list[ArrayType]:
        return [of]

    def numpy(self, *, of: ArrayType) -> Outputs:
        physical = of.physical()
        return [np.zeros(physical.shape, physical.dtype)]

    def hlo(self, b: Any, *, of: ArrayType) -> Outputs:
        return [b.full(0, of.physical())]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, of: ArrayType) -> tuple[Outputs, Outputs]:
        return [self(of=of)], [Zero(of.tangent())]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, of: ArrayType
              ) -> tuple[Outputs, list[bool]]:
        return [self(of=of)], [False]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(of=ArrayType((2, 3), dtypes.float32))
        yield Example(of=ArrayType((), dtypes.int32))

    def oracle(self, jax: Any, *, of: ArrayType) -> Any:
        return jax.numpy.zeros(of.shape, of.dtype)


class AddAny(Primitive):
    """The sum of two values of one type: how cotangents meet."""

    def type(self, x: ArrayType, y: ArrayType) -> list[ArrayType]:
        assert x.shape == y.shape and x.dtype == y.dtype, (x, y)
        return [x if x.weak == y.weak else x.strong()]

    def numpy(self, x: np.ndarray, y: np.ndarray) -> Outputs:
        return [np.add(x, y)]

    def hlo(self, b: Any, x: Any, y: Any) -> Outputs:
        return [b.op("stablehlo.add", [x, y], b.outputs[0])]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        return [self(*primals)], [add(*tangents)]

    def through(self, follow: Any, patterns: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        some = [p for p in patterns if p is not None]
        return [some[0] if len(some) == 1 else (some[0] + some[1]).astype(np.bool_)]

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        return [cts[0], cts[0]]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool]) -> tuple[Outputs, list[bool]]:
        from_loop = [arg if flag else broadcast(arg, size) for arg, flag in zip(args, batched, strict=True)]
        return [self(*from_loop)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32),
                      linear=(0, 1))

    def oracle(self, jax: Any, x: Any, y: Any) -> Any:
        return jax.numpy.add(x, y)


class Broadcast(Primitive):
    """A value repeated along a new leading axis: how an unbatched value joins batched ones."""

    def type(self, x: ArrayType, *, size: int) -> list[ArrayType]:
        return [x.batched(size)]

    def numpy(self, x: np.ndarray, *, size: int) -> Outputs:
        return [np.broadcast_to(x, (size, *np.shape(x)))]

    def hlo(self, b: Any, x: Any, *, size: int) -> Outputs:
        return [b.broadcast_in_dim(x, range(1, len(b.outputs[0].physical().shape)), b.outputs[0].physical())]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, size: int) -> tuple[Outputs, Outputs]:
        return [self(*primals, size=size)], [self(*tangents, size=size)]

    def transpose(self, cts: Sequence[Any], x: Any, *, size: int) -> list[Any]:
        return [TABLE["reduce_sum"](cts[0], axes=(0,))]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], /, **params: int
              ) -> tuple[Outputs, list[bool]]:
        x, n = args[0], params["size"]
        shape = x.type.shape
        dims = (0, *range(2, len(shape) + 1))
        return [TABLE["broadcast_in_dim"](x, shape=(shape[0], n, *shape[1:]), dims=dims)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), size=4, linear=(0,))
        yield Example(np.int32(5), size=2)

    def oracle(self, jax: Any, x: Any, *, size: int) -> Any:
        return jax.lax.broadcast(x, (size,))


zeros = Zeros("zeros")
add_any = AddAny("add_any")
_broadcast = Broadcast("broadcast")


def instantiate(value: Any) -> Any:
    """A symbolic zero as an array; anything else as it is."""
    return zeros(of=value.type) if isinstance(value, Zero) else value


def zeros_like(type: ArrayType) -> Any:
    return zeros(of=type)


def add(x: Any, y: Any) -> Any:
    """x + y, where either may be a symbolic zero."""
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else add_any(x, y)


def broadcast(x: Any, size: int) -> Any:
    """`x` repeated along a new leading axis of `size`."""
    return _broadcast(x, size=size)


def is_linear(arg: Any) -> bool:
    """Whether a transpose rule's operand is the place of a linear one."""
    return isinstance(arg, Linear)
