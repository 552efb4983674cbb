"""Batching rules of primitives (jax.interpreters.batching)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import errors
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.core.vector import broadcast as to_batch
from pullback.extend.primitive import AXIS_BATCHERS as fancy_primitive_batchers
from pullback.extend.primitive import BATCHERS as primitive_batchers
from pullback.extend.primitive import SIZE_BATCHERS as axis_primitive_batchers
from pullback.extend.primitive import Primitive, batched_alike, to_front

__all__ = ["axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting", "defreducer", "defvectorized",
           "fancy_primitive_batchers", "primitive_batchers"]


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any) -> Any:
    """`x` repeated along a new axis `axis` of size `sz`."""
    repeated = to_batch(value(x), sz)
    ndim = type_of(repeated).ndim
    axis = errors.check_axis(axis, ndim)
    return TABLE["transpose"](repeated, perm=(*range(1, axis + 1), 0, *range(axis + 1, ndim)))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """`x` with its batch axis in front; repeated along one of `size` where it has none (None)."""
    return to_batch(value(x), size) if bdim is None else to_front(value(x), bdim)


def defvectorized(prim: Primitive) -> None:
    """Says that an operation treats each element along a leading axis alike: a batch is one call."""
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return prim.bind(*batched_alike(args, dims), **params), 0
    primitive_batchers[prim] = rule


defbroadcasting = defvectorized


def defreducer(prim: Primitive) -> None:
    """Says that an operation with a parameter `axes` reduces those axes of its one operand."""
    def rule(args: Sequence[Any], dims: Sequence[int | None], *, axes: Sequence[int], **params: Any
             ) -> tuple[Any, Any]:
        return prim.bind(to_front(args[0], dims[0]), axes=tuple(a + 1 for a in axes), **params), 0
    primitive_batchers[prim] = rule


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.interpreters.batching.{name}")
