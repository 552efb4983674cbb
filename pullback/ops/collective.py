"""Collectives: operations over a mapped axis by its name.

`names` holds the axes an operation runs over. vmap over one of them turns the operation into one on axis 0
of the batched value; an operation left with no names runs over an axis of size 1, which is what its NumPy
and StableHLO rules compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE, Example, NoGradient, Outputs, Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import broadcast

Names = tuple[Any, ...]


def move_axis(x: Any, start: int, end: int) -> Any:
    """`x` with axis `start` moved to place `end`."""
    order = [i for i in range(type_of(x).ndim) if i != start]
    order.insert(end, start)
    return x if order == sorted(order) else TABLE["transpose"](x, perm=tuple(order))


class Collective(Primitive):
    """What all collectives share: over axes that are not theirs they batch element by element."""

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        return frozenset(params["names"])

    def without(self, params: dict[str, Any], name: Any) -> dict[str, Any]:
        return {**params, "names": tuple(n for n in params["names"] if n != name)}


class NamedReduce(Collective):
    """A reduction over mapped axes: every element gets the result."""

    def __init__(self, name: str, reduction: str) -> None:
        super().__init__(name)
        self.reduction = reduction

    def type(self, x: ArrayType, *, names: Names) -> list[ArrayType]:  # type: ignore[override]
        return [x]

    def numpy(self, x: np.ndarray, *, names: Names) -> Outputs:  # type: ignore[override]
        return [x]

    def hlo(self, b: Any, x: Any, *, names: Names) -> Outputs:
        return [x]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), [True]

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], **params: Any
                    ) -> tuple[Outputs, list[bool]]:
        x = args[0] if batched[0] else broadcast(args[0], size)
        x = TABLE[self.reduction](x, axes=(0,))
        rest = self.without(params, axis_name)
        return (bind(self, [x], rest) if rest["names"] else [x]), [False]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = rng.normal(size=(2, 3)).astype(np.float32)
        yield Example(x, names=(), linear=(0,)) if self.name == "psum" else Example(x, names=(), order=0)
        yield Example(np.arange(3, dtype=np.int32), names=())

    def oracle(self, jax: Any, x: Any, *, names: Names) -> Any:
        return jax.numpy.asarray(x)


class NamedSum(NamedReduce):
    """The sum over mapped axes; linear, and its own transpose."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        if isinstance(tangents[0], Zero):
            return bind(self, primals, params), [tangents[0]]
        return bind(self, primals, params), bind(self, tangents, params)

    def transpose(self, cts: Sequence[Any], x: Any, **params: Any) -> list[Any]:
        return bind(self, cts, params)


class AxisIndex(Collective, NoGradient):
    """The position of an element along a mapped axis."""

    def type(self, *, names: Names) -> list[ArrayType]:  # type: ignore[override]
        return [ArrayType((), dtypes.int32)]

    def numpy(self, *, names: Names) -> Outputs:  # type: ignore[override]
        return [np.int32(0)]

    def hlo(self, b: Any, *, names: Names) -> Outputs:  # type: ignore[override]
        return [b.full(0, b.outputs[0])]

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, names: Names
                    ) -> tuple[Outputs, list[bool]]:
        return [TABLE["iota"](shape=(size,), dtype=dtypes.int32, axis=0)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(names=())

    def oracle(self, jax: Any, *, names: Names) -> Any:
        return jax.numpy.int32(0)


class LinearMove(Collective):
    """Collectives that only move elements between the places of a mapped axis: linear in their operand."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        outputs = bind(self, primals, params)
        if isinstance(tangents[0], Zero):
            return outputs, [Zero(type_of(outputs[0]).tangent())]
        return outputs, bind(self, tangents, params)

    def shift(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params when a batch axis, not the mapped one, stands in front."""
        return {k: v + 1 if k in ("axis", "split", "concat") else v for k, v in params.items()}

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, self.shift(params)), [True]

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], **params: Any
                    ) -> tuple[Outputs, list[bool]]:
        x = args[0] if batched[0] else broadcast(args[0], size)
        return self.over(x, size, **{k: v for k, v in params.items() if k not in ("names", "n")})

    def over(self, x: Any, size: int, **params: Any) -> tuple[Outputs, list[bool]]:
        """The operation where axis 0 of `x` is the mapped axis."""
        raise self.missing("rule for a named axis")


class AllGather(LinearMove):
    """Every element gets all elements' values, along a new axis."""

    def type(self, x: ArrayType, *, names: Names, n: int, axis: int) -> list[ArrayType]:  # type: ignore[override]
        return [x.with_shape((*x.shape[:axis], n, *x.shape[axis:]))]

    def numpy(self, x: np.ndarray, *, names: Names, n: int, axis: int) -> Outputs:  # type: ignore[override]
        return [np.expand_dims(x, axis)]

    def hlo(self, b: Any, x: Any, **params: Any) -> Outputs:
        return [b.reshape(x, b.outputs[0].shape)]

    def over(self, x: Any, size: int, *, axis: int) -> tuple[Outputs, list[bool]]:  # type: ignore[override]
        return [move_axis(x, 0, axis)], [False]

    def transpose(self, cts: Sequence[Any], x: Any, *, names: Names, n: int, axis: int) -> list[Any]:
        return [reduce_scatter(cts[0], names=names, n=n, axis=axis)]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for axis in range(3):
            yield Example(rng.normal(size=(2, 3)).astype(np.float32), names=(), n=1, axis=axis, linear=(0,))

    def oracle(self, jax: Any, x: Any, *, names: Names, n: int, axis: int) -> Any:
        return jax.numpy.expand_dims(x, axis)


class ReduceScatter(LinearMove):
    """The sum over a mapped axis, of which every element keeps its own piece along `axis`."""

    def type(self, x: ArrayType, *, names: Names, n: int, axis: int) -> list[ArrayType]:  # type: ignore[override]
        assert x.shape[axis] == n, (x, axis, n)
        return [x.with_shape((*x.shape[:axis], *x.shape[axis + 1:]))]

    def numpy(self, x: np.ndarray, *, names: Names, n: int, axis: int) -> Outputs:  # type: ignore[override]
        return [np.squeeze(x, axis)]

    def hlo(self, b: Any, x: Any, **params: Any) -> Outputs:
        return [b.reshape(x, b.outputs[0].shape)]

    def over(self, x: Any, size: int, *, axis: int) -> tuple[Outputs, list[bool]]:  # type: ignore[override]
        return [move_axis(TABLE["reduce_sum"](x, axes=(0,)), axis, 0)], [True]

    def transpose(self, cts: Sequence[Any], x: Any, *, names: Names, n: int, axis: int) -> list[Any]:
        return [all_gather(cts[0], names=names, n=n, axis=axis)]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 1, 3)).astype(np.float32), names=(), n=1, axis=1, linear=(0,))

    def oracle(self, jax: Any, x: Any, *, names: Names, n: int, axis: int) -> Any:
        return jax.numpy.squeeze(x, axis)


class AllToAll(LinearMove):
    """Axis `split` is dealt out over a mapped axis, and what comes in stands along axis `concat`."""

    def type(self, x: ArrayType, *, names: Names, n: int, split: int, concat: int  # type: ignore[override]
             ) -> list[ArrayType]:
        assert x.shape[split] == n, (x, split, n)
        shape = [*x.shape[:split], *x.shape[split + 1:]]
        shape.insert(concat, n)
        return [x.with_shape(tuple(shape))]

    def numpy(self, x: np.ndarray, *, names: Names, n: int, split: int, concat: int  # type: ignore[override]
              ) -> Outputs:
        return [np.moveaxis(x, split, concat)]

    def hlo(self, b: Any, x: Any, **params: Any) -> Outputs:
        return [b.reshape(x, b.outputs[0].shape)]

    def over(self, x: Any, size: int, *, split: int, concat: int  # type: ignore[override]
             ) -> tuple[Outputs, list[bool]]:
        x = move_axis(x, split + 1, 0)  # [receiver, sender, ...]
        return [move_axis(x, 1, concat + 1)], [True]

    def transpose(self, cts: Sequence[Any], x: Any, *, names: Names, n: int, split: int, concat: int) -> list[Any]:
        return [self(cts[0], names=names, n=n, split=concat, concat=split)]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 1, 3)).astype(np.float32), names=(), n=1, split=1, concat=0, linear=(0,))

    def oracle(self, jax: Any, x: Any, *, names: Names, n: int, split: int, concat: int) -> Any:
        return jax.numpy.moveaxis(x, split, concat)


class Permute(LinearMove):
    """Values sent from place to place along a mapped axis; a place that receives none has zeros."""

    def type(self, x: ArrayType, *, names: Names, perm: tuple[tuple[int, int], ...]  # type: ignore[override]
             ) -> list[ArrayType]:
        return [x]

    def numpy(self, x: np.ndarray, *, names: Names, perm: tuple[tuple[int, int], ...]  # type: ignore[override]
              ) -> Outputs:
        return [x if perm else np.zeros_like(x)]

    def hlo(self, b: Any, x: Any, *, names: Names, perm: Any) -> Outputs:
        return [x if perm else b.full(0, b.outputs[0])]

    def over(self, x: Any, size: int, *, perm: Any) -> tuple[Outputs, list[bool]]:  # type: ignore[override]
        senders = {receiver: sender for sender, receiver in perm}
        t = type_of(x)
        rows = []
        for receiver in range(size):
            if receiver in senders:
                start = (senders[receiver], *[0] * (t.ndim - 1))
                limit = (senders[receiver] + 1, *t.shape[1:])
                rows.append(TABLE["slice"](x, start=start, limit=limit, strides=(1,) * t.ndim))
            else:
                rows.append(TABLE["zeros"](of=t.with_shape((1, *t.shape[1:]))))
        return [TABLE["concatenate"](*rows, axis=0)], [True]

    def transpose(self, cts: Sequence[Any], x: Any, *, names: Names, perm: Any) -> list[Any]:
        return [self(cts[0], names=names, perm=tuple((receiver, sender) for sender, receiver in perm))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=3).astype(np.float32), names=(), perm=((0, 0),), linear=(0,))
        yield Example(rng.normal(size=3).astype(np.float32), names=(), perm=(), linear=(0,))

    def oracle(self, jax: Any, x: Any, *, names: Names, perm: Any) -> Any:
        return jax.numpy.asarray(x) if perm else jax.numpy.zeros_like(x)


psum = NamedSum("psum", "reduce_sum")
pmax = NamedReduce("pmax", "reduce_max")
pmin = NamedReduce("pmin", "reduce_min")
axis_index = AxisIndex("axis_index")
all_gather = AllGather("all_gather")
reduce_scatter = ReduceScatter("reduce_scatter")
all_to_all = AllToAll("all_to_all")
ppermute = Permute("ppermute")
