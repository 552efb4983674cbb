"""Writing at positions that are data: an update is set, added, multiplied, or kept if it is less or greater.

A window that would leave the operand is moved inside (mode CLIP), or left out as a whole (the other modes).
Where several updates meet, they are combined; of several that are set, the last one stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import add, broadcast, instantiate, zeros_like
from pullback.ops import dependence
from pullback.ops.families import MovesKeys, check_kind
from pullback.ops.index import (
    CLIP,
    FILL,
    PROMISE,
    GatherDims,
    GatherScatterMode,
    ScatterDims,
    along,
    check_increasing,
    check_indices,
    components_of,
    gather,
    integers,
    shift,
    wide,
)
from pullback.ops.move import Shape, iota, reshape
from pullback.ops.reduce import extreme


def window_sizes(x: ArrayType, updates: ArrayType, dims: ScatterDims) -> Shape:
    """The size of a window along each axis of the operand."""
    gone = dims.inserted_window_dims + dims.operand_batching_dims
    inner = iter([updates.shape[i] for i in dims.update_window_dims])
    return tuple([min(1, x.shape[axis]) if axis in dims.operand_batching_dims else
                  1 if axis in gone else next(inner) for axis in range(x.ndim)])


def read(x: Any, indices: Any, updates: ArrayType, dims: ScatterDims, mode: GatherScatterMode, fill: Any = 0,
         unique: bool = False, sorted: bool = False) -> Any:
    """The elements of `x` that a scatter of `updates` would write to; `fill` for those it leaves out."""
    sizes = window_sizes(type_of(x), updates, dims)
    return gather(x, indices, dims=GatherDims(*dims), sizes=sizes, mode=mode,
                  fill=fill if mode is FILL else None, unique=unique, sorted=sorted)


def _combined(b: Any, name: str, old: Any, new: Any) -> Any:
    """In StableHLO, an element and its update combined by the operation `name`; '': the update."""
    if name in ("maximum", "minimum"):
        return extreme(b, "GT" if name == "maximum" else "LT", old, new)
    return b.op(f"stablehlo.{name}", [old, new], old.type) if name else new


class Scatter(MovesKeys):
    """Windows of the operand, at the positions in the indices, combined with the updates.

    Args:
      ufunc: the combination, in NumPy; None: the update itself.
      combine, logical: the combination in StableHLO, of numbers and of booleans; '': the update itself; None: refused.
    """

    def __init__(self, name: str, ufunc: np.ufunc | None, combine: str, logical: str | None) -> None:
        super().__init__(name)
        self.ufunc = ufunc
        self.combine = combine
        self.logical = logical

    def type(self, x: ArrayType, indices: ArrayType, updates: ArrayType, *, dims: ScatterDims,
             **params: Any) -> list[ArrayType]:
        if self.logical is None:
            check_kind([x], "iufc")
        if x.dtype != updates.dtype:
            raise errors.type_error(f"operand {x} and updates {updates} must have one dtype",
                                    fix="convert the updates with astype")
        check_indices(x, indices, dims.scatter_dims_to_operand_dims, dims.inserted_window_dims,
                      dims.operand_batching_dims, dims.scatter_indices_batching_dims,
                      ("scatter_dims_to_operand_dims", "inserted_window_dims", "operand_batching_dims",
                       "scatter_indices_batching_dims"))
        check_increasing(dims.update_window_dims, updates.ndim, "update_window_dims")
        gone = dims.inserted_window_dims + dims.operand_batching_dims
        window = [axis for axis in range(x.ndim) if axis not in gone]
        if len(window) != len(dims.update_window_dims):
            raise errors.type_error(f"update_window_dims {dims.update_window_dims} names "
                                    f"{len(dims.update_window_dims)} axes, a window of the operand {x} has "
                                    f"{len(window)}", fix="name an axis of the updates for each")
        for axis, i in zip(window, dims.update_window_dims):
            if updates.shape[i] > x.shape[axis]:
                raise errors.type_error(f"axis {i} of the updates {updates} is longer than axis {axis} of "
                                        f"the operand {x}", fix="a window must fit into the operand")
        outer = tuple([n for i, n in enumerate(updates.shape) if i not in dims.update_window_dims])
        if outer != indices.shape[:-1]:
            raise errors.type_error(f"the updates {updates} have the axes {outer} besides their windows, the "
                                    f"indices {indices} hold positions of shape {indices.shape[:-1]}",
                                    fix="give one window of updates per position")
        return [x]

    def numpy(self, x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, dims: ScatterDims,
              mode: GatherScatterMode, unique: bool = False, **hints: bool) -> Outputs:
        result, updates, starts = np.array(x), np.asarray(updates), integers(indices)
        types = [ArrayType(a.shape, a.dtype) for a in (result, updates)]
        sizes = window_sizes(*types, dims)
        axes, outer = dims.scatter_dims_to_operand_dims, starts.shape[:-1]
        last = np.array([result.shape[axis] - sizes[axis] for axis in axes], np.int64)
        if mode is CLIP:
            starts = np.clip(starts, 0, last)
        kept = ((starts >= 0) & (starts <= last)).all(-1).ravel()
        gone = dims.inserted_window_dims + dims.operand_batching_dims
        window = [axis for axis in range(result.ndim) if axis not in gone]
        # A window as long as its axis begins at 0, or is left out.
        whole = [axis for axis in window if sizes[axis] == result.shape[axis]]
        partial = [axis for axis in window if axis not in whole]
        picked = [axis for axis in range(result.ndim) if axis not in whole]
        order = [i for i in range(updates.ndim) if i not in dims.update_window_dims]
        order += [dims.update_window_dims[window.index(axis)] for axis in partial + whole]
        inner = [sizes[axis] for axis in partial + whole]
        updates = updates.transpose(order).reshape([kept.size, *inner])[kept]
        target = result.transpose(picked + whole)
        where = []
        for axis in picked:
            if axis in dims.operand_batching_dims:
                index_axis = dims.scatter_indices_batching_dims[dims.operand_batching_dims.index(axis)]
                begin = np.broadcast_to(along(np.arange(result.shape[axis]), index_axis, len(outer)), outer)
                begin = begin.ravel()[kept]
            elif axis in axes:
                begin = starts[..., axes.index(axis)].ravel()[kept]
            else:
                begin = np.zeros(len(updates), np.int64)
            begin = begin.reshape(begin.shape + (1,) * len(partial))
            if axis in partial:
                begin = begin + along(np.arange(sizes[axis]), 1 + partial.index(axis), 1 + len(partial))
            where.append(begin)
        if not where:
            target, where = target[None], [np.zeros(len(updates), np.int64)]
        if self.ufunc is None:
            target[tuple(where)] = updates
        elif unique:
            target[tuple(where)] = self.ufunc(target[tuple(where)], updates)
        else:
            self.ufunc.at(target, tuple(where), updates)
        return [result]

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        x, _, updates = types
        if which == 0:
            return dependence.same(x.size)
        if values[1] is None:
            return None
        dims = params["dims"]
        (places,) = gather.numpy(dependence.numbered(x), np.asarray(values[1]), dims=GatherDims(*dims),
                                 sizes=window_sizes(x, updates, dims), mode=params["mode"], fill=0)
        return dependence.to_places(places - 1, x.size)

    def hlo(self, b: Any, x: Any, indices: Any, updates: Any, *, dims: ScatterDims, mode: GatherScatterMode,
            unique: bool = False, sorted: bool = False) -> Outputs:
        indices, out = wide(b, indices), b.outputs[0]
        axes = dims.scatter_dims_to_operand_dims
        if not axes:
            # XLA's simplifier makes an invalid program of positions without components: add an axis.
            window, inserted, _, together, index_axes = dims
            dims = ScatterDims(window, (0, *shift(inserted)), (0,), shift(together), index_axes)
            indices = b.full(0, indices.type.with_shape((*indices.type.shape[:-1], 1)))
            b.outputs = [out.with_shape((1, *out.shape))]
            whole = self.hlo(b, b.reshape(x, (1, *out.shape)), indices, updates, dims=dims, mode=mode,
                             unique=unique)
            return [b.reshape(whole[0], out.shape)]
        if mode is CLIP:
            sizes = window_sizes(x.type, updates.type, dims)
            last = components_of(b, [x.type.shape[axis] - sizes[axis] for axis in axes], indices)
            indices = b.min(b.max(indices, b.full(0, indices.type)), last)
        numbers = (f"#stablehlo.scatter<update_window_dims = {list(dims.update_window_dims)}, "
                   f"inserted_window_dims = {list(dims.inserted_window_dims)}, "
                   f"input_batching_dims = {list(dims.operand_batching_dims)}, "
                   f"scatter_indices_batching_dims = {list(dims.scatter_indices_batching_dims)}, "
                   f"scatter_dims_to_operand_dims = {list(axes)}, "
                   f"index_vector_dim = {indices.type.ndim - 1}>")
        scalar = ArrayType((), out.dtype)
        name = self.logical if out.dtype == dtypes.bool_ else self.combine
        region = b.region([scalar, scalar], lambda b, old, new: [_combined(b, name, old, new)])
        return b.multi("stablehlo.scatter", [x, indices, updates], [out],
                       f"scatter_dimension_numbers = {numbers}, "
                       f"indices_are_sorted = {'true' if sorted else 'false'}, "
                       f"unique_indices = {'true' if unique else 'false'}", [region])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        x, indices, updates = primals
        out = self(*primals, **params)
        if isinstance(tangents[0], Zero) and isinstance(tangents[2], Zero):
            return [out], [Zero(type_of(out).tangent())]
        return [out], [self._tangent(x, indices, updates, tangents[0], tangents[2], out, params)]

    def _tangent(self, x: Any, indices: Any, updates: Any, x_dot: Any, updates_dot: Any, out: Any,
                 params: dict[str, Any]) -> Any:
        return self(instantiate(x_dot), indices, instantiate(updates_dot), **params)

    def transpose(self, cts: Sequence[Any], x: Any, indices: Any, updates: Any, *, dims: ScatterDims,
                  mode: GatherScatterMode, unique: bool = False, sorted: bool = False) -> list[Any]:
        ct, t = cts[0], type_of(updates)
        x_ct = updates_ct = None
        if isinstance(x, Linear):
            x_ct = self(ct, indices, zeros_like(ArrayType(t.shape, ct.type.dtype)), dims=dims, mode=mode,
                        unique=unique, sorted=sorted)
        if isinstance(updates, Linear):
            updates_ct = read(ct, indices, t, dims, mode, unique=unique, sorted=sorted)
            if not unique:
                # Number the updates, write the numbers, read them back: who stayed finds its own number.
                number = reshape(iota(shape=(t.size,), dtype=dtypes.int32, axis=0), shape=t.shape)
                written = self(zeros_like(ArrayType(type_of(x).shape, dtypes.int32)), indices, number,
                               dims=dims, mode=mode)
                stays = TABLE["eq"](read(written, indices, t, dims, mode), number)
                updates_ct = TABLE["select_n"](stays, zeros_like(updates_ct.type), updates_ct)
        return [x_ct, None, updates_ct]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, dims: ScatterDims,
              **params: Any) -> tuple[Outputs, list[bool]]:
        x, indices, updates = args
        x = x if batched[0] else broadcast(x, size)
        updates = updates if batched[2] else broadcast(updates, size)
        window, inserted, axes, together, index_axes = dims
        window, inserted, axes, together = shift(window), shift(inserted), shift(axes), shift(together)
        if batched[1]:
            together, index_axes = (0, *together), (0, *shift(index_axes))
            params = {**params, "sorted": False}
        else:
            window = (0, *window)
        dims = ScatterDims(window, inserted, axes, together, index_axes)
        return [self(x, indices, updates, dims=dims, **params)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        draw = self._draw
        v, x, y = draw(rng, 6), draw(rng, 4, 5), draw(rng, 3, 4, 5)
        linear, first = self._linear, self._linear[:1]
        places, apart = np.array([[7], [-1], [2], [2]], np.int32), np.array([[1], [9], [0]], np.int32)
        line, row = ScatterDims((), (0,), (0,)), ScatterDims((1,), (0,), (0,))
        corners = np.array([[1, 2], [0, 4], [-1, 2], [3, 3]], np.int8)
        for mode in GatherScatterMode:
            # What is promised is kept, or forward and reverse mode would differ.
            low, high = (0, 2) if mode is PROMISE else (-9, 9)
            yield self._example(v, np.clip(places, low, high), draw(rng, 4), dims=line, mode=mode)
            yield self._example(x, np.clip(corners, low, high), draw(rng, 4, 2, 2),
                                dims=ScatterDims((1, 2), (), (0, 1)), mode=mode)
            yield self._example(x, np.clip(apart, low, high), draw(rng, 3, 5), dims=row, mode=mode,
                                unique=True)
        yield Example(x, np.array([1], np.uint8), draw(rng, 5), dims=ScatterDims((0,), (0,), (0,)), mode=FILL,
                      unique=True, sorted=True, linear=linear)
        yield Example(x, np.array([[3], [1]], np.int32), draw(rng, 4, 2, 2),
                      dims=ScatterDims((0, 2), (), (1,)), mode=FILL, linear=first, fixed=self._fixed)
        yield Example(y, rng.permuted(np.tile(np.arange(4), (3, 1)), axis=1)[:, :2, None].astype(np.int32),
                      draw(rng, 3, 2, 5), dims=ScatterDims((2,), (1,), (1,), (0,), (0,)), mode=FILL,
                      unique=True, linear=linear)
        yield Example(y[:, :, :2], np.array([[[0], [1], [2]], [[2], [1], [5]]], np.int32), draw(rng, 2, 2, 3),
                      dims=ScatterDims((1,), (), (1,), (0, 2), (1, 0)), mode=CLIP, unique=True, linear=linear)
        yield Example(v, np.zeros((0, 1), np.int32), draw(rng, 0), dims=line, mode=FILL, linear=first,
                      fixed=self._fixed)
        yield Example(np.zeros((0, 2), np.float32), np.zeros((1, 1), np.int32), draw(rng, 1, 0),
                      dims=ScatterDims((1,), (1,), (1,)), mode=FILL, unique=True)
        for dtype in (np.int8, np.uint32, dtypes.bfloat16, np.float16, *self._further):
            yield Example(rng.integers(0, 5, 6).astype(dtype), places, rng.integers(0, 5, 4).astype(dtype),
                          dims=line, mode=FILL, order=0)

    # For the examples. Which operands have derivatives where positions meet differs by member.
    _linear: tuple[int, ...] = (0, 2)
    _fixed: tuple[int, ...] = ()
    _further: tuple[Any, ...] = (np.bool_, np.complex64)

    def _example(self, *args: Any, unique: bool = False, **params: Any) -> Example:
        meeting = not unique
        return Example(*args, unique=unique, linear=(0,) if meeting and self._fixed else self._linear,
                       fixed=self._fixed if meeting else (), **params)

    @staticmethod
    def _draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
        return np.asarray(rng.normal(size=shape), np.float32)

    def oracle(self, jax: Any, x: Any, indices: Any, updates: Any, *, dims: ScatterDims,
               mode: GatherScatterMode, unique: bool = False, sorted: bool = False) -> Any:
        return getattr(jax.lax, self.name)(
            x, indices, updates, jax.lax.ScatterDimensionNumbers(*dims), unique_indices=unique,
            indices_are_sorted=sorted, mode=mode.name.lower().replace("fill_or_drop", "drop"))


class ScatterAdd(Scatter):
    """Updates are added to what stands at their positions."""

    _further = (np.complex64,)

    def transpose(self, cts: Sequence[Any], x: Any, indices: Any, updates: Any, *, dims: ScatterDims,
                  mode: GatherScatterMode, unique: bool = False, sorted: bool = False) -> list[Any]:
        updates_ct = None
        if isinstance(updates, Linear):
            updates_ct = read(cts[0], indices, updates.type, dims, mode, unique=unique, sorted=sorted)
        return [cts[0] if isinstance(x, Linear) else None, None, updates_ct]


class ScatterMul(Scatter):
    """What stands at the positions is multiplied by the updates. Linear in the operand.

    By the updates there is a derivative if the positions are unique; where they are not, the product of all
    updates but one would be needed.
    """

    _linear = (0,)
    _fixed = (2,)
    _further = (np.complex64,)

    def _tangent(self, x: Any, indices: Any, updates: Any, x_dot: Any, updates_dot: Any, out: Any,
                 params: dict[str, Any]) -> Any:
        total: Any = Zero(type_of(x))
        if not isinstance(x_dot, Zero):
            total = self(x_dot, indices, updates, **params)
        if not isinstance(updates_dot, Zero):
            if not params.get("unique"):
                raise errors.make(errors.MissingRuleError, "the derivative by the factors is known only "
                                  "where no position occurs twice",
                                  fix="pass unique_indices=True if that is so, or multiply in a scan")
            held = read(x, indices, type_of(updates), **params)
            part = scatter_add(zeros_like(type_of(x)), indices, TABLE["mul"](held, updates_dot), **params)
            total = add(total, part)
        return total

    def transpose(self, cts: Sequence[Any], x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        if isinstance(updates, Linear):
            raise self.missing("transpose rule in the updates")
        return [self(cts[0], indices, updates, **params), None, None]


class ScatterExtreme(Scatter):
    """The least, or greatest, of the updates and of what stands at their positions.

    Where several values attain the extreme, each has the same share of the derivative.
    """

    _linear = ()
    _further = ()

    def _tangent(self, x: Any, indices: Any, updates: Any, x_dot: Any, updates_dot: Any, out: Any,
                 params: dict[str, Any]) -> Any:
        t, dtype = type_of(updates), type_of(out).dtype

        def mark(p: Any, q: Any) -> Any:
            return TABLE["convert_element_type"](TABLE["eq"](p, q), dtype=dtype, weak=False)

        x_wins = mark(x, out)
        updates_win = mark(updates, read(out, indices, t, fill=float("nan"), **params))
        winners = scatter_add(x_wins, indices, updates_win, **params)
        total = scatter_add(TABLE["mul"](instantiate(x_dot), x_wins), indices,
                            TABLE["mul"](instantiate(updates_dot), updates_win), **params)
        return TABLE["div"](total, winners)

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        raise self.missing("transpose rule")


scatter = Scatter("scatter", None, "", "")
scatter_add = ScatterAdd("scatter_add", np.add, "add", None)
scatter_mul = ScatterMul("scatter_mul", np.multiply, "multiply", None)
scatter_min = ScatterExtreme("scatter_min", np.minimum, "minimum", "and")
scatter_max = ScatterExtreme("scatter_max", np.maximum, "maximum", "or")
