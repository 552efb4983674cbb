"""Reductions by any associative function, which is staged to a program: of whole axes, and of windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage
from pullback.interpret.vmap import vmap
from pullback.ops import elementwise
from pullback.ops.conv import Ints, Pads
from pullback.ops.move import broadcast_in_dim, concatenate, pad, reshape, slice, transpose
from pullback.ops.reduce import check_reduced, drop
from pullback.ops.window import batched_window, check_window, window_attributes, window_shape


def on_elements(program: Program, args: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """A program of scalars on every element of arrays of `shape`."""
    size = math.prod(shape)
    flat = [reshape(x, shape=(size,)) for x in args]
    results, flags = vmap(lambda *xs: evaluate(program, xs), size, flat, [True] * len(flat))
    return [reshape(x if flag else broadcast(x, size), shape=shape) for x, flag in zip(results, flags)]


def check_operands(types: Sequence[ArrayType], program: Program) -> list[ArrayType]:
    """The types of the operands; an error unless they, the initial values and the program fit."""
    count = len(types) // 2
    xs, inits = list(types[:count]), types[count:]
    for x, init in zip(xs, inits):
        if x.shape != xs[0].shape:
            raise errors.value_error(f"operands must have one shape, got {', '.join(map(str, xs))}",
                                     fix="broadcast them to one shape")
        if init.shape or init.dtype != x.dtype:
            raise errors.value_error(f"the initial value {init} of operand {x} must be a scalar of dtype "
                                     f"{dtypes.short_name(x.dtype)}", fix="convert it, or index one element")
    expected = [(t.dtype, ()) for t in xs]
    if [(t.dtype, t.shape) for t in program.output_types] != expected:
        raise errors.type_error(
            f"the computation returns {', '.join(map(str, program.output_types))} for scalars of "
            f"{', '.join([dtypes.short_name(t.dtype) for t in xs])}; the same types are required",
            fix="return one scalar per operand, of its dtype")
    return xs


class Fold(Primitive):
    """Operands, then as many initial values, reduced over `axes` by `program`: (so far, new) -> so far."""

    programs = ("program",)

    def type(self, *types: ArrayType, program: Program, axes: Ints  # type: ignore[override]
             ) -> list[ArrayType]:
        xs = check_operands(types, program)
        check_reduced(xs[0], axes)
        return [x.with_shape(drop(x.shape, axes)) for x in xs]

    def hlo(self, b: Any, *values: Any, program: Program, axes: Ints) -> Outputs:
        count = len(values) // 2
        return b.reduce(values[:count], values[count:], axes, lambda b, *args: b.program(program, args))

    def expand(self, *args: Any, program: Program, axes: Ints) -> Outputs:
        count = len(args) // 2
        xs, inits = args[:count], args[count:]
        if not axes:  # as XLA: no element is reduced, not even with the initial value
            return list(xs)
        shape = type_of(xs[0]).shape
        outer = drop(shape, axes)
        kept = tuple([i for i in range(len(shape)) if i not in axes])
        n = math.prod([shape[i] for i in axes])
        so_far = [broadcast_in_dim(init, shape=outer, dims=()) for init in inits]
        if n == 0:
            return so_far
        rows = [reshape(transpose(x, perm=(*axes, *kept)), shape=(n, *outer)) for x in xs]
        rest = (0,) * len(outer), (1,) * len(outer)

        def part(start: int, limit: int, stride: int) -> list[Any]:
            return [slice(x, start=(start, *rest[0]), limit=(limit, *outer), strides=(stride, *rest[1]))
                    for x in rows]

        while n > 1:
            whole = n - n % 2
            pairs = on_elements(program, [*part(0, whole, 2), *part(1, whole, 2)], (whole // 2, *outer))
            if n % 2:
                pairs = [concatenate(x, y, axis=0) for x, y in zip(pairs, part(n - 1, n, 1))]
            rows, n = pairs, n // 2 + n % 2
        return on_elements(program, [*so_far, *[reshape(x, shape=outer) for x in rows]], outer)

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, program: Program, axes: Ints
              ) -> tuple[Outputs, list[bool]]:
        count = len(args) // 2
        if any(batched[count:]):
            return vmap(lambda *xs: self.expand(*xs, program=program, axes=axes), size, args, batched)
        xs = [x if flag else broadcast(x, size) for x, flag in zip(args[:count], batched)]
        axes = tuple([i + 1 for i in axes])
        return bind(self, [*xs, *args[count:]], dict(program=program, axes=axes)), [True] * count

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = rng.normal(size=(2, 5)).astype(np.float32)
        yield Example(x, _scalar(0.5), program=_joined(), axes=(1,))
        yield Example(x, _scalar(0.5), program=_joined(), axes=(0, 1), order=1)
        yield Example(x, _scalar(0.5), program=_joined(), axes=())
        yield Example(x[:, :0], _scalar(0.5), program=_joined(), axes=(1,), order=0)
        yield Example(x, np.arange(10, dtype=np.int32).reshape(2, 5), _scalar(-np.inf), np.int32(-1),
                      program=_largest(), axes=(1,), order=1)

    def oracle(self, jax: Any, *args: Any, program: Program, axes: Ints) -> Any:
        count = len(args) // 2
        return jax.lax.reduce(args[:count], args[count:], _oracle_of(jax, program), axes)


class FoldWindow(Primitive):
    """Operands, then as many initial values: every window reduced by `program`, from those on."""

    programs = ("program",)

    def type(self, *types: ArrayType, program: Program, **params: Any  # type: ignore[override]
             ) -> list[ArrayType]:
        xs = check_operands(types, program)
        check_window(xs[0], **params)
        return [x.with_shape(window_shape(x.shape, **params)) for x in xs]

    def hlo(self, b: Any, *values: Any, program: Program, **params: Any) -> Outputs:
        count = len(values) // 2
        if 0 in (b.outputs[0].size, values[0].type.size):
            return [b.fit(init, out.shape) for init, out in zip(values[count:], b.outputs)]
        scalars = [v.type for v in values[count:]] * 2
        region = b.region(scalars, lambda b, *args: b.program(program, args))
        attributes = window_attributes(b, **params)
        return b.multi("stablehlo.reduce_window", values, list(b.outputs), attributes, [region])

    def expand(self, *args: Any, program: Program, window: Ints, strides: Ints, padding: Pads,
               base_dilation: Ints, window_dilation: Ints) -> Outputs:
        count = len(args) // 2
        xs, inits = list(args[:count]), args[count:]
        shape = type_of(xs[0]).shape
        out = window_shape(shape, window, strides, padding, base_dilation, window_dilation)
        so_far = [broadcast_in_dim(init, shape=out, dims=()) for init in inits]
        if 0 in out or 0 in shape:
            return so_far
        config = tuple([(low, high, base - 1) for (low, high), base in zip(padding, base_dilation)])
        inside = None  # where there is an element, rather than padding or a hole
        if any([entry != (0, 0, 0) for entry in config]):
            inside = broadcast_in_dim(np.bool_(True), shape=shape, dims=())
            inside = pad(inside, np.bool_(False), config=config)
            xs = [pad(x, init, config=config) for x, init in zip(xs, inits)]
        for place in itertools.product(*map(range, window)):
            start = tuple([i * d for i, d in zip(place, window_dilation)])
            limit = tuple([i + (n - 1) * s + 1 for i, n, s in zip(start, out, strides)])

            def at(x: Any, start: Ints = start, limit: Ints = limit) -> Any:
                return slice(x, start=start, limit=limit, strides=strides)

            joined = on_elements(program, [*so_far, *[at(x) for x in xs]], out)
            so_far = joined if inside is None else [elementwise.select_n(at(inside), x, y)
                                                    for x, y in zip(so_far, joined)]
        return so_far

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, program: Program,
              **params: Any) -> tuple[Outputs, list[bool]]:
        count = len(args) // 2
        if any(batched[count:]):
            return vmap(lambda *xs: self.expand(*xs, program=program, **params), size, args, batched)
        xs = [x if flag else broadcast(x, size) for x, flag in zip(args[:count], batched)]
        params = batched_window(params)
        return bind(self, [*xs, *args[count:]], dict(program=program, **params)), [True] * count

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = rng.normal(size=(5,)).astype(np.float32)
        params = dict(window=(3,), strides=(2,), padding=((1, 1),), base_dilation=(1,), window_dilation=(1,))
        yield Example(x, _scalar(1), program=_joined(), **params, order=1)
        spread = params | dict(window=(2,), window_dilation=(2,))
        yield Example(x, _scalar(1), program=_joined(), **spread, order=1)
        yield Example(x, np.arange(5, dtype=np.int32), _scalar(-np.inf), np.int32(-1), program=_largest(),
                      **params, order=0)
        x = rng.normal(size=(2, 3)).astype(np.float32)
        yield Example(x, _scalar(1), program=_joined(), window=(1, 2), strides=(1, 1),
                      padding=((0, 0), (0, 0)), base_dilation=(1, 1), window_dilation=(1, 1), order=1)

    def oracle(self, jax: Any, *args: Any, program: Program, window: Ints, strides: Ints, padding: Pads,
               base_dilation: Ints, window_dilation: Ints) -> Any:
        count = len(args) // 2
        return jax.lax.reduce_window(args[:count], args[count:], _oracle_of(jax, program), window, strides,
                                     padding, base_dilation, window_dilation)


def _scalar(number: float) -> np.ndarray:
    return np.array(number, np.float32)


_PROGRAMS: dict[str, Program] = {}


def _joined() -> Program:
    """x + y + x y, which is associative and commutative, and no operation of its own."""
    if "joined" not in _PROGRAMS:
        scalar = ArrayType((), dtypes.float32)
        add, mul = elementwise.add, elementwise.mul
        function = lambda x, y: [add(add(x, y), mul(x, y))]  # noqa: E731
        _PROGRAMS["joined"], _ = stage(function, [scalar, scalar], name="joined")
    return _PROGRAMS["joined"]


def _largest() -> Program:
    """The larger value and its position."""
    if "largest" not in _PROGRAMS:
        def larger(x: Any, i: Any, y: Any, j: Any) -> list[Any]:
            first = elementwise.ge(x, y)
            return [elementwise.select_n(first, y, x), elementwise.select_n(first, j, i)]

        value, place = ArrayType((), dtypes.float32), ArrayType((), dtypes.int32)
        _PROGRAMS["largest"], _ = stage(larger, [value, place, value, place], name="largest")
    return _PROGRAMS["largest"]


def _oracle_of(jax: Any, program: Program) -> Any:
    if program is _PROGRAMS.get("largest"):
        def larger(so_far: Any, element: Any) -> Any:
            first = so_far[0] >= element[0]
            return jax.lax.select(first, so_far[0], element[0]), jax.lax.select(first, so_far[1], element[1])
        return larger
    return lambda x, y: (x[0] + y[0] + x[0] * y[0],)


fold = Fold("reduce")
fold_window = FoldWindow("reduce_window")
