"""Reductions of windows: sum, max and min, with strides, padding and dilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs, Primitive
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Zero
from pullback.ops import elementwise, integer, move
from pullback.ops.conv import Ints, Pads, dilate, dilated, strided
from pullback.ops.families import ANY, NUMBER, check_kind
from pullback.ops.reduce import extreme, highest, lowest, wide, widened


def window_shape(shape: Sequence[int], window: Ints, strides: Ints, padding: Pads, base_dilation: Ints,
                 window_dilation: Ints) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    return tuple([strided(dilated(n, base) + low + high, dilated(w, d), s)
                  for n, w, s, (low, high), base, d in zip(shape, window, strides, padding, base_dilation,
                                                           window_dilation)])


def check_window(x: ArrayType, **params: Any) -> None:
    """An error unless there is one entry per axis of `x` in each parameter."""
    names = {"window": "window_dimensions", "strides": "window_strides"}
    for name, values in params.items():
        public = names.get(name, name)
        if len(values) != x.ndim:
            raise errors.type_error(f"{public} {tuple(values)} has {len(values)} entries, the operand {x} "
                                    f"has {x.ndim} axes",
                                    fix="give one entry per axis, 1 for the axes that are not reduced")
        if name != "padding" and any([v < 1 for v in values]):
            raise errors.type_error(f"{public} {tuple(values)} must be positive", fix="use 1 for none")
    for axis, (low, high) in enumerate(params["padding"]):
        if dilated(x.shape[axis], params["base_dilation"][axis]) + low + high < 0:
            raise errors.value_error(f"padding ({low}, {high}) takes more from axis {axis} of {x} than it has",
                                     fix="pad less negatively")


def window_attributes(b: Any, window: Ints, strides: Ints, padding: Pads, base_dilation: Ints,
                      window_dilation: Ints
                      ) -> str:
    return (f"window_dimensions = {b.ints(window)}, window_strides = {b.ints(strides)}, base_dilations = "
            f"{b.ints(base_dilation)}, window_dilations = {b.ints(window_dilation)}, "
            f"padding = {b.dense(padding or np.zeros((0, 2)))}")


def window_pieces(width: int, overlapping: bool) -> list[tuple[int, int]]:
    """Windows whose widths are powers of two that together cover `width` elements: (width, place) of each.

    With `overlapping` some elements may be covered twice, which makes no difference to an extreme.
    """
    if overlapping and width > 1:
        half = 1 << (width - 1).bit_length() - 1
        return [(half, 0), (half, width - half)]
    pieces, place = [], 0
    for digit in range(width.bit_length()):
        if width >> digit & 1:
            pieces.append((1 << digit, place))
            place += 1 << digit
    return pieces


class ReduceWindow(Primitive):
    """A reduction of every window of the operand; padding and holes hold the identity."""

    overlapping = False  # whether an element may be reduced twice

    def __init__(self, name: str, ufunc: np.ufunc, identity: Callable[[Any], Any],
                 combine: Callable[[Any, Any, Any], Any], kinds: str, doc: str) -> None:
        super().__init__(name)
        self.ufunc = ufunc
        self.identity = identity
        self.combine = combine
        self.kinds = kinds
        self.__doc__ = doc

    def type(self, x: ArrayType, **params: Any) -> list[ArrayType]:  # type: ignore[override]
        check_kind([x], self.kinds)
        check_window(x, **params)
        return [x.with_shape(window_shape(x.shape, **params))]

    def numpy(self, x: np.ndarray, *, window: Ints, strides: Ints, padding: Pads, base_dilation: Ints,
              window_dilation: Ints) -> Outputs:
        n, held = x.ndim, wide(x)
        fill = held.dtype.type(self.identity(x.dtype))
        filled = dilate(held, base_dilation, padding, range(n), fill)
        shape = window_shape(x.shape, window, strides, padding, base_dilation, window_dilation)
        if 0 in shape:
            return [np.zeros(shape, x.dtype)]
        spans = [dilated(w, d) for w, d in zip(window, window_dilation)]
        windows = np.lib.stride_tricks.sliding_window_view(filled, spans, tuple(range(n))) if n else filled
        windows = windows[tuple([slice(None, None, s) for s in (*strides, *window_dilation)])]
        out = self.ufunc.reduce(windows, axis=tuple(range(n, 2 * n)), dtype=held.dtype)
        return [np.asarray(out).astype(x.dtype, copy=False)]

    def hlo(self, b: Any, x: Any, **params: Any) -> Outputs:
        out = b.outputs[0]
        held = widened(out.dtype)
        if 0 in (x.type.size, out.size):
            return [b.full(self.identity(out.dtype), out)]
        x = b.convert(x, held)
        identity = b.full(self.identity(out.dtype), ArrayType((), held))
        if any([w >= n and w > 16 for w, n in zip(params["window"], x.type.shape)]):
            # XLA recognises running reductions and needs a logarithmic number of passes.
            region = b.region([identity.type] * 2, lambda b, x, y: [self.combine(b, x, y)])
            result = b.multi("stablehlo.reduce_window", [x, identity], [out.with_dtype(held)],
                             window_attributes(b, **params), [region])[0]
        else:
            result = self._by_slices(b, x, identity, out.shape, **params)
        return [b.convert(result, out.dtype)]

    def _by_slices(self, b: Any, x: Any, identity: Any, shape: Ints, *, window: Ints, strides: Ints,
                   padding: Pads, base_dilation: Ints, window_dilation: Ints) -> Any:
        """Axis by axis, from slices of the whole operand: several times faster than XLA's loop over windows."""
        config = [(low, high, base - 1) for (low, high), base in zip(padding, base_dilation)]
        if any([entry != (0, 0, 0) for entry in config]):
            low, high, interior = (b.ints([entry[i] for entry in config]) for i in range(3))
            filled = [dilated(n, base) + sum(pads)
                      for n, base, pads in zip(x.type.shape, base_dilation, padding)]
            x = b.op("stablehlo.pad", [x, identity], x.type.with_shape(tuple(filled)),
                     f"edge_padding_low = {low}, edge_padding_high = {high}, interior_padding = {interior}")

        def pick(x: Any, axis: int, start: int, count: int, stride: int) -> Any:
            if (start, count, stride) == (0, x.type.shape[axis], 1):
                return x
            n = x.type.ndim
            sizes = tuple([count if i == axis else size for i, size in enumerate(x.type.shape)])
            starts = [start if i == axis else 0 for i in range(n)]
            limits = list(x.type.shape)
            limits[axis] = start + (count - 1) * stride + 1
            steps = [stride if i == axis else 1 for i in range(n)]
            return b.op("stablehlo.slice", [x], x.type.with_shape(sizes), f"start_indices = {b.ints(starts)}, "
                        f"limit_indices = {b.ints(limits)}, strides = {b.ints(steps)}")

        for axis in reversed(range(x.type.ndim)):
            step, parts, wide, size = window_dilation[axis], [], x, 1
            pieces = window_pieces(window[axis], self.overlapping)
            while True:
                parts += [pick(wide, axis, place * step, shape[axis], strides[axis])
                          for width, place in pieces if width == size]
                if len(parts) == len(pieces):
                    break
                rest = wide.type.shape[axis] - size * step
                wide = self.combine(b, pick(wide, axis, 0, rest, 1), pick(wide, axis, size * step, rest, 1))
                size *= 2
            x = parts[0]
            for part in parts[1:]:
                x = self.combine(b, x, part)
        return x

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return [self(args[0], **batched_window(params))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        linear = (0,) if self.name == "reduce_window_sum" else ()

        def example(shape: Ints, window: Ints, strides: Ints | None = None, padding: Pads | None = None,
                    base_dilation: Ints | None = None, window_dilation: Ints | None = None,
                    dtype: Any = np.float32, **more: Any) -> Example:
            ones = (1,) * len(shape)
            # A permutation, so that there are no ties.
            x = rng.permutation(int(np.prod(shape))).reshape(shape)
            x = x % 2 == 0 if dtype is np.bool_ else (x - 3).astype(dtype)
            return Example(x, window=window, strides=strides or ones,
                           padding=padding or ((0, 0),) * len(shape), base_dilation=base_dilation or ones,
                           window_dilation=window_dilation or ones, **more)

        yield example((7,), (3,), linear=linear)
        yield example((4, 6), (2, 3), (2, 1), linear=linear)
        yield example((2, 5, 6), (1, 3, 2), (1, 2, 2), ((0, 0), (1, 1), (0, 1)), linear=linear)
        yield example((9,), (5,), (2,), ((2, 3),), linear=linear)
        yield example((5,), (2,), (1,), ((1, 1),), (2,), (3,), linear=linear)
        yield example((6,), (3,), (2,), ((-1, 2),), window_dilation=(2,), linear=linear)
        yield example((6,), (2,), (3,), ((4, 5),), linear=linear, order=1 if linear else 0)
        yield example((3,), (1,), (2,), linear=linear)
        yield example((), (), linear=linear)
        yield example((2,), (3,), linear=linear)
        yield example((0, 3), (2, 2), padding=((1, 1), (0, 0)), order=0)
        for dtype in (np.int32, np.uint8, np.float16, dtypes.bfloat16, np.bool_):
            if dtypes.kind(dtype) in self.kinds:
                yield example((6,), (3,), (1,), ((1, 1),), dtype=dtype, order=0)
        yield Example(np.float32([1, np.nan, 3, 4, 5, np.inf]), window=(2,), strides=(1,), padding=((0, 0),),
                      base_dilation=(1,), window_dilation=(1,), order=0)

    def oracle(self, jax: Any, x: Any, *, window: Ints, strides: Ints, padding: Pads, base_dilation: Ints,
               window_dilation: Ints) -> Any:
        operation = {"sum": jax.lax.add, "max": jax.lax.max, "min": jax.lax.min}[self.name.rpartition("_")[2]]
        init = np.asarray(self.identity(x.dtype), x.dtype)
        return jax.lax.reduce_window(x, init, operation, window, strides, padding, base_dilation,
                                     window_dilation)


def batched_window(params: dict[str, Any]) -> dict[str, Any]:
    """Window parameters for an operand with a further leading axis."""
    return {name: ((0, 0) if name == "padding" else 1, *values) for name, values in params.items()}


class ReduceWindowSum(ReduceWindow):
    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        return [self(*primals, **params)], [self(*tangents, **params)]

    def transpose(self, cts: Sequence[Any], x: Any, *, window: Ints, strides: Ints, padding: Pads,
                  base_dilation: Ints, window_dilation: Ints) -> list[Any]:
        # Element i of the operand is in the windows that, seen from the cotangents spread by the strides,
        # form a window again.
        pads = []
        for n, m, w, s, (low, _), base, d in zip(x.type.shape, type_of(cts[0]).shape, window, strides,
                                                 padding, base_dilation, window_dilation):
            span = dilated(w, d)
            before = span - 1 - low
            pads.append((before, dilated(n, base) + span - 1 - dilated(m, s) - before))
        return [self(cts[0], window=window, strides=base_dilation, padding=tuple(pads), base_dilation=strides,
                     window_dilation=window_dilation)]


class ReduceWindowExtreme(ReduceWindow):
    """Max or min of windows; the tangent is that of the first extreme element of the window."""

    overlapping = True

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        window, strides, padding = params["window"], params["strides"], params["padding"]
        (x,), (x_dot,) = primals, tangents
        t = type_of(x)
        shape = window_shape(t.shape, **params)
        if 0 in (t.size, *shape):
            return [self(x, **params)], [Zero(t.with_shape(shape).tangent())]
        before = elementwise.ge if self.name.endswith("max") else elementwise.le
        config = tuple([(low, high, base - 1) for (low, high), base in zip(padding, params["base_dilation"])])
        if any([entry != (0, 0, 0) for entry in config]):
            x = move.pad(x, elementwise.number(x, self.identity(t.dtype)), config=config)
            x_dot = move.pad(x_dot, elementwise.number(x_dot, 0), config=config)

        def first(x: Any, x_dot: Any, axis: int, offset: int, count: int, stride: int) -> tuple[Any, Any]:
            """Of the elements at i * stride and at `offset` behind it, the extreme and its tangent."""
            x_near, x_far = _pick(x, axis, 0, count, stride), _pick(x, axis, offset, count, stride)
            near = integer.or_(before(x_near, x_far), elementwise.ne(x_near, x_near))
            return elementwise.select_n(near, x_far, x_near), elementwise.select_n(
                near, _pick(x_dot, axis, offset, count, stride), _pick(x_dot, axis, 0, count, stride))

        # Axis by axis, the last first; along each, windows of double length from two windows, so that no
        # position has to be found and nothing be scattered.
        for axis in reversed(range(t.ndim)):
            count, step, stride = shape[axis], params["window_dilation"][axis], strides[axis]
            *_, (half, place) = window_pieces(window[axis], True)
            width = 1
            while width < half:
                x, x_dot = first(x, x_dot, axis, width * step, type_of(x).shape[axis] - width * step, 1)
                width *= 2
            if place:
                x, x_dot = first(x, x_dot, axis, place * step, count, stride)
            else:
                x, x_dot = (_pick(v, axis, 0, count, stride) for v in (x, x_dot))
        return [x], [x_dot]


def _pick(x: Any, axis: int, start: int, count: int, stride: int) -> Any:
    """`count` elements along `axis`, every `stride`-th from `start` on."""
    shape = type_of(x).shape
    if (start, count, stride) == (0, shape[axis], 1):
        return x
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, start + (count - 1) * stride + 1, stride
    return move.slice(x, start=tuple(starts), limit=tuple(limits), strides=tuple(strides))


reduce_window_sum = ReduceWindowSum("reduce_window_sum", np.add, lambda dtype: 0, lambda b, x, y: b.add(x, y),
                                    NUMBER, "The sum of each window.")
reduce_window_max = ReduceWindowExtreme("reduce_window_max", np.maximum, lowest,
                                        lambda b, x, y: extreme(b, "GT", x, y), ANY,
                                        "The largest element of each window.")
reduce_window_min = ReduceWindowExtreme("reduce_window_min", np.minimum, highest,
                                        lambda b, x, y: extreme(b, "LT", x, y), ANY,
                                        "The smallest element of each window.")
