"""Running reductions along an axis: element i of the result reduces the elements up to i."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import add, broadcast
from pullback.interpret.jvp import jvp
from pullback.ops import dependence, elementwise
from pullback.ops.families import INEXACT, NUMBER, check_kind, fit
from pullback.ops.move import concatenate, pad, rev, slice
from pullback.ops.reduce import extreme, highest, lowest, wide, widened

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def tree_scan(combine: Combine, xs: Sequence[Any], axis: int, reverse: bool = False) -> list[Any]:
    """Running reduction of arrays along `axis` by an associative function, in a logarithmic number of steps.

    Args:
      combine: (earlier elements, later elements) -> elements; each a list with one array per array of `xs`.

    Source: Blelloch, Prefix sums and their applications, 1990, section 1.2.1: scan the pairs, then fill in.
    """
    if reverse:
        return [rev(x, axes=(axis,)) for x in tree_scan(combine, [rev(x, axes=(axis,)) for x in xs], axis)]
    n = type_of(xs[0]).shape[axis]
    if n < 2:
        return list(xs)
    pairs = combine(_part(xs, axis, 0, n - 1, 2), _part(xs, axis, 1, n, 2))
    odd = tree_scan(combine, pairs, axis)
    before = odd if n % 2 else _part(odd, axis, 0, n // 2 - 1)
    rest = combine(before, _part(xs, axis, 2, n, 2)) if n > 2 else _part(xs, axis, 2, n, 2)
    even = [concatenate(x, y, axis=axis) for x, y in zip(_part(xs, axis, 0, 1), rest)]
    return [_interleave(x, y, axis, n) for x, y in zip(even, odd)]


def _part(xs: Sequence[Any], axis: int, start: int, limit: int, stride: int = 1) -> list[Any]:
    results = []
    for x in xs:
        shape = type_of(x).shape
        starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
        starts[axis], limits[axis], strides[axis] = min(start, limit), limit, stride
        results.append(slice(x, start=tuple(starts), limit=tuple(limits), strides=tuple(strides)))
    return results


def _interleave(even: Any, odd: Any, axis: int, n: int) -> Any:
    """The array whose even places are `even` and whose odd places are `odd`."""
    def spaced(x: Any, low: int, high: int) -> Any:
        config = tuple([(low, high, 1) if i == axis else (0, 0, 0) for i in range(type_of(x).ndim)])
        return pad(x, elementwise.number(x, 0), config=config)

    return elementwise.add(spaced(even, 0, 1 - n % 2), spaced(odd, 1, n % 2))


class Cumulative(Primitive):
    """A running reduction along `axis`; `reverse` reduces the elements from i on."""

    def __init__(self, name: str, numpy: Callable[..., np.ndarray], identity: Callable[[Any], Any],
                 combine: Callable[[Any, Any, Any], Any], kinds: str, doc: str) -> None:
        super().__init__(name)
        self.reference = numpy
        self.identity = identity
        self.combine = combine
        self.kinds = kinds
        self.__doc__ = doc

    def type(self, x: ArrayType, *, axis: int, reverse: bool = False  # type: ignore[override]
             ) -> list[ArrayType]:
        check_kind([x], self.kinds)
        if not 0 <= axis < x.ndim:
            raise errors.value_error(
                f"axis {axis} is not an axis of the operand {x}", fix=f"write {axis % x.ndim} for {axis}"
                if -x.ndim <= axis < 0 else "check the rank of the operand and the axis")
        return [x]

    def numpy(self, x: np.ndarray, *, axis: int, reverse: bool = False) -> Outputs:  # type: ignore[override]
        held = np.flip(wide(x), axis) if reverse else wide(x)
        out = self.reference(held, axis)
        return [(np.flip(out, axis) if reverse else out).astype(x.dtype, copy=False)]

    def hlo(self, b: Any, x: Any, *, axis: int, reverse: bool = False) -> Outputs:
        # XLA recognises a window as long as the axis and computes it in a logarithmic number of passes.
        n, ndim = x.type.shape[axis], x.type.ndim
        if x.type.size == 0:
            return [x]
        dtype = widened(x.type.dtype)
        scalar = ArrayType((), dtype)
        x = b.convert(x, dtype)
        ones = [1] * ndim
        window = [n if i == axis else 1 for i in range(ndim)]
        edges = [((0, n - 1) if reverse else (n - 1, 0)) if i == axis else (0, 0) for i in range(ndim)]
        region = b.region([scalar, scalar], lambda b, x, y: [self.combine(b, x, y)])
        attrs = (f"window_dimensions = {b.ints(window)}, window_strides = {b.ints(ones)}, base_dilations = "
                 f"{b.ints(ones)}, window_dilations = {b.ints(ones)}, padding = {b.dense(edges)}")
        init = b.full(self.identity(dtype), scalar)
        out = b.multi("stablehlo.reduce_window", [x, init], [x.type], attrs, [region])
        return [b.convert(out[0], b.outputs[0].dtype)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, axis: int,
              reverse: bool = False) -> tuple[Outputs, list[bool]]:
        return [self(args[0], axis=axis + 1, reverse=reverse)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        linear = (0,) if self.name == "cumsum" else ()
        for kind in self.kinds:
            dtype = {"b": np.bool_, "i": np.int32, "u": np.uint8, "f": np.float32, "c": np.complex64}[kind]
            order = 0 if kind in "biu" else 2 if kind == "f" else 1
            for shape, axis, reverse in (((5,), 0, False), ((2, 4), 1, True), ((6, 2), 0, False)):
                if kind in "biu":
                    x = rng.integers(0, 2 if kind == "b" else 200, shape).astype(dtype)
                else:
                    size = math.prod(shape)
                    x = ((rng.permutation(size).reshape(shape) - size / 2 + 0.25) / 3 *
                         (1 + 0.2j if kind == "c" else 1)).astype(dtype)
                yield Example(x, axis=axis, reverse=reverse, order=order, linear=linear)
        if "f" in self.kinds:
            yield Example(np.zeros((0, 2), np.float32), axis=0, reverse=False, linear=linear)
            yield Example(np.zeros((0, 2), np.float32), axis=1, reverse=True, order=0)
            yield Example(np.ones((1,), np.float32), axis=0, reverse=False, linear=linear)
            yield Example(np.float32([1, np.nan, 2]), axis=0, reverse=False, order=0)
            yield Example(np.float32([-np.inf, -np.inf, 2, np.inf, 1]), axis=0, reverse=False, order=0)
            yield Example(rng.normal(size=(9,)).astype(np.float16), axis=0, reverse=False, order=0)
            yield Example(rng.normal(size=(9,)).astype(dtypes.bfloat16), axis=0, reverse=True, order=0)

    def oracle(self, jax: Any, x: Any, *, axis: int, reverse: bool = False) -> Any:
        return getattr(jax.lax, self.name)(x, axis=axis, reverse=reverse)


class Cumsum(Cumulative):
    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        return [self(*primals, **params)], [self(*tangents, **params)]

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        (x,), axis = types, params["axis"]
        lines = np.moveaxis(np.arange(x.size).reshape(x.shape), axis, -1)
        later, earlier = np.tril_indices(x.shape[axis])
        rows, columns = (earlier, later) if params["reverse"] else (later, earlier)
        return dependence.matrix(lines[..., rows].ravel(), lines[..., columns].ravel(), (x.size, x.size))

    def transpose(self, cts: Sequence[Any], x: Any, *, axis: int, reverse: bool = False) -> list[Any]:
        return [self(cts[0], axis=axis, reverse=not reverse)]


class CumulativeExtreme(Cumulative):
    """Its derivative is that of the elementwise operation `step` in a tree, which decides among ties."""

    def __init__(self, *args: Any, step: str) -> None:
        super().__init__(*args)
        self.step = step

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool = False
            ) -> tuple[Outputs, Outputs]:
        def combine(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
            return [TABLE[self.step](earlier[0], later[0])]

        _, derivatives = jvp(lambda x: tree_scan(combine, [x], axis, reverse), primals, tangents)
        return [self(*primals, axis=axis, reverse=reverse)], derivatives


class Cumprod(Cumulative):
    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool = False
            ) -> tuple[Outputs, Outputs]:
        # y[i] = x[i] y[i-1], so y'[i] = x[i] y'[i-1] + x'[i] y[i-1]: no division, hence right at zeros.
        (x,), (x_dot,) = primals, tangents
        y = self(x, axis=axis, reverse=reverse)
        if config.strong_zeros.value:  # products of tangents, one by one
            return [y], jvp(lambda x: tree_scan(_products, [x], axis, reverse), primals, tangents)[1]
        u = elementwise.mul(x_dot, shifted(y, axis, reverse, 1))
        return [y], [linear_recurrence(x, u, axis=axis, reverse=reverse)]


def _products(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
    return [elementwise.mul(earlier[0], later[0])]


class Cumlogsumexp(Cumulative):
    def hlo(self, b: Any, x: Any, *, axis: int, reverse: bool = False) -> Outputs:
        # In a window each element would be met several times, at the price of a logarithm each.
        if x.type.size == 0:
            return [x]
        dtype = widened(x.type.dtype)
        out = running(b, [b.convert(x, dtype)], self.identity(dtype), axis, reverse, self.combine)
        return [b.convert(out, x.type.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool = False
            ) -> tuple[Outputs, Outputs]:
        # y[i] = log(exp(y[i-1]) + exp(x[i])), so y'[i] = exp(y[i-1] - y[i]) y'[i-1] + exp(x[i] - y[i]) x'[i].
        (x,), (x_dot,) = primals, tangents
        y = self(x, axis=axis, reverse=reverse)
        a = _share(shifted(y, axis, reverse, -np.inf), y)
        u = elementwise.mul(_share(x, y), x_dot)
        return [y], [linear_recurrence(a, u, axis=axis, reverse=reverse)]


def shifted(x: Any, axis: int, reverse: bool, fill: float) -> Any:
    """The array whose element i along `axis` is element i - 1 of `x` (with `reverse`, i + 1), or `fill`."""
    step = (-1, 1, 0) if reverse else (1, -1, 0)
    config = tuple([step if i == axis else (0, 0, 0) for i in range(type_of(x).ndim)])
    return pad(x, elementwise.number(x, fill), config=config)


def running(b: Any, xs: Sequence[Any], init: Any, axis: int, reverse: bool, step: Callable[..., Any]) -> Any:
    """One pass along `axis`, as a loop: y[i] = step(b, y[i-1], *x[i]), from y[-1] = init on."""
    ndim = xs[0].type.ndim
    perm = (axis, *[i for i in range(ndim) if i != axis])
    xs = [b.transpose(x, perm) for x in xs]
    whole = xs[0].type
    row = whole.with_shape((1, *whole.shape[1:]))
    counter = ArrayType((), dtypes.int32)
    state = [b.full(0, counter), b.full(init, row), b.full(0, whole), *xs]
    types = [v.type for v in state]

    def going(b: Any, i: Any, *rest: Any) -> list[Any]:
        return [b.compare("LT", i, b.full(whole.shape[0], counter))]

    def turn(b: Any, i: Any, y: Any, out: Any, *xs: Any) -> list[Any]:
        zero = b.full(0, counter)
        at = [b.sub(b.full(whole.shape[0] - 1, counter), i) if reverse else i, *[zero] * (ndim - 1)]
        rows = [b.op("stablehlo.dynamic_slice", [x, *at], row, f"slice_sizes = {b.ints(row.shape)}") for x in xs]
        y = step(b, y, *rows)
        out = b.op("stablehlo.dynamic_update_slice", [out, y, *at], whole)
        return [b.add(i, b.full(1, counter)), y, out, *xs]

    out = b.multi("stablehlo.while", state, types, "", [b.region(types, going), b.region(types, turn)])[2]
    return b.transpose(out, [perm.index(i) for i in range(ndim)])


class LinearRecurrence(Primitive):
    """y[i] = a[i] y[i-1] + u[i] along `axis`, from y[-1] = 0 on; with `reverse`, from the other end."""

    def type(self, a: ArrayType, u: ArrayType, *, axis: int, reverse: bool = False) -> list[ArrayType]:
        check_kind([a, u], INEXACT)
        assert a.shape == u.shape and a.dtype == u.dtype and 0 <= axis < a.ndim, (a, u, axis)
        return [u]

    def numpy(self, a: np.ndarray, u: np.ndarray, *, axis: int, reverse: bool = False) -> Outputs:
        factors, added = (np.moveaxis(wide(x), axis, 0) for x in (a, u))
        out, y = np.empty_like(added), np.zeros(added.shape[1:], added.dtype)
        for i in range(len(out))[::-1 if reverse else 1]:
            out[i] = y = factors[i] * y + added[i]
        return [np.moveaxis(out, 0, axis).astype(u.dtype, copy=False)]

    def hlo(self, b: Any, a: Any, u: Any, *, axis: int, reverse: bool = False) -> Outputs:
        if u.type.size == 0:
            return [u]
        dtype = widened(u.type.dtype)
        out = running(b, [b.convert(a, dtype), b.convert(u, dtype)], 0, axis, reverse,
                      lambda b, y, a, u: b.add(b.mul(a, y), u))
        return [b.convert(out, u.type.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool = False
            ) -> tuple[Outputs, Outputs]:
        (a, u), (a_dot, u_dot) = primals, tangents
        y = self(a, u, axis=axis, reverse=reverse)
        if not isinstance(a_dot, Zero):
            u_dot = add(u_dot, elementwise.mul(a_dot, shifted(y, axis, reverse, 0)))
        return [y], [self(a, u_dot, axis=axis, reverse=reverse)]

    def transpose(self, cts: Sequence[Any], a: Any, u: Any, *, axis: int, reverse: bool = False) -> list[Any]:
        return [None, self(shifted(a, axis, not reverse, 0), cts[0], axis=axis, reverse=not reverse)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, axis: int,
              reverse: bool = False) -> tuple[Outputs, list[bool]]:
        a, u = (x if flag else broadcast(x, size) for x, flag in zip(args, batched, strict=True))
        return [self(a, u, axis=axis + 1, reverse=reverse)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(*shape: int) -> np.ndarray:
            return rng.normal(size=shape).astype(np.float32)

        yield Example(draw(5), draw(5), axis=0, reverse=False, linear=(1,))
        yield Example(draw(3, 4), draw(3, 4), axis=1, reverse=True, linear=(1,))
        yield Example(draw(4, 1, 2), draw(4, 1, 2), axis=0, reverse=False, linear=(1,))
        yield Example(draw(1), draw(1), axis=0, reverse=False)
        yield Example(draw(0, 2), draw(0, 2), axis=0, reverse=False, order=0)
        yield Example((draw(4) + 1j * draw(4)).astype(np.complex64), draw(4).astype(np.complex64), axis=0,
                      reverse=False, linear=(1,), order=1)
        yield Example(draw(4).astype(dtypes.bfloat16), draw(4).astype(dtypes.bfloat16), axis=0, reverse=False,
                      order=0)

    def oracle(self, jax: Any, a: Any, u: Any, *, axis: int, reverse: bool = False) -> Any:
        a, u = (jax.numpy.moveaxis(jax.numpy.asarray(x), axis, 0) for x in (a, u))

        def step(y: Any, row: Any) -> Any:
            y = row[0] * y + row[1]
            return y, y

        _, out = jax.lax.scan(step, jax.numpy.zeros(u.shape[1:], u.dtype), (a, u), reverse=reverse)
        return jax.numpy.moveaxis(out, 0, axis)


def _share(x: Any, out: Any) -> Any:
    """exp(x - out), and 1 where both are the same infinity."""
    difference = elementwise.sub(x, out)
    zero = elementwise.number(x, 0)
    return elementwise.exp(elementwise.select_n(elementwise.eq(x, out), difference,
                                                fit(zero, type_of(x).shape)))


def _logaddexp_numpy(x: Any, y: Any) -> Any:
    first = x.real >= y.real
    large, small = np.where(first, x, y), np.where(first, y, x)
    out = large + np.log1p(np.exp(small - large))
    angle = out.imag - 2 * np.pi * np.round(out.imag / (2 * np.pi))
    alike = np.where(np.isnan((x + y).real), x + y, large)  # infinities of one sign, or a NaN
    return np.where(np.isnan((small - large).real), alike, out.real + 1j * angle).astype(x.dtype)


def _cumlogsumexp_numpy(x: np.ndarray, axis: int) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis=axis)
    rows = np.moveaxis(x, axis, 0).copy()
    for i in range(rows.shape[0]):
        rows[i] = _logaddexp_numpy(rows[i - 1] if i else np.full_like(rows[i], -np.inf), rows[i])
    return np.moveaxis(rows, 0, axis)


def _logaddexp_hlo(b: Any, x: Any, y: Any) -> Any:
    t = x.type
    if not dtypes.is_complex(t.dtype):
        gap = b.sub(x, y)
        out = b.add(b.max(x, y), b.op("stablehlo.log_plus_one", [
            b.op("stablehlo.exponential", [b.neg(b.op("stablehlo.abs", [gap], t))], t)], t))
        return b.select(b.compare("NE", gap, gap), b.add(x, y), out)
    part = t.with_dtype(dtypes.to_real(t.dtype))

    def real(v: Any) -> Any:
        return b.op("stablehlo.real", [v], part)

    first = b.compare("GE", real(x), real(y))
    large, small = b.select(first, x, y), b.select(first, y, x)
    gap = b.sub(small, large)
    out = b.add(large, b.op("stablehlo.log_plus_one", [b.op("stablehlo.exponential", [gap], t)], t))
    angle = b.op("stablehlo.imag", [out], part)
    turns = b.op("stablehlo.round_nearest_even", [b.mul(angle, b.full(0.5 / math.pi, part))], part)
    angle = b.sub(angle, b.mul(turns, b.full(2 * math.pi, part)))
    out = b.op("stablehlo.complex", [real(out), angle], t)
    total = b.add(x, y)
    alike = b.select(b.compare("NE", real(total), real(total)), total, large)
    return b.select(b.compare("NE", real(gap), real(gap)), alike, out)


def _accumulate(ufunc: np.ufunc) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype)


cumsum = Cumsum("cumsum", _accumulate(np.add), lambda dtype: 0, lambda b, x, y: b.add(x, y), NUMBER,
                "The running sum along an axis.")
cumprod = Cumprod("cumprod", _accumulate(np.multiply), lambda dtype: 1, lambda b, x, y: b.mul(x, y),
                           NUMBER,
                           "The running product along an axis.")
cummax = CumulativeExtreme("cummax", _accumulate(np.maximum), lowest, lambda b, x, y: extreme(b, "GT", x, y),
                          NUMBER,
                          "The largest element so far along an axis.", step="max")
cummin = CumulativeExtreme("cummin", _accumulate(np.minimum), highest, lambda b, x, y: extreme(b, "LT", x, y),
                          NUMBER,
                          "The smallest element so far along an axis.", step="min")
cumlogsumexp = Cumlogsumexp("cumlogsumexp", _cumlogsumexp_numpy, lambda dtype: -np.inf, _logaddexp_hlo,
                            INEXACT,
                            "The logarithm of the running sum of exponentials along an axis.")
linear_recurrence = LinearRecurrence("linear_recurrence")
