"""Families of primitives: the rules that all members share.

Elementwise  one output element from the operands' elements at the same place
Move         elements change place, none is computed with
Bilinear     linear in each of two operands
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import comb
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import add, broadcast
from pullback.interpret.vmap import vmap
from pullback.ops import dependence
from pullback.ops.taylor import product_series, repeated

INEXACT, FLOAT, COMPLEX = "fc", "f", "c"
INTEGER, BOOL, NUMBER, REAL, ANY, BITS = "iu", "b", "iufc", "iuf", "biufc", "biu"

# The dtypes whose NumPy loops compute as XLA does. The others are computed in float32 or int32.
DIRECT = frozenset([np.dtype(c) for c in "?bBhHiIlLqQfdFD"])

_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def check_kind(types: Sequence[ArrayType], allowed: str) -> None:
    """A TypeError unless the operands' dtypes are of the kinds `allowed` ('iuf': any real number)."""
    for t in types:
        if dtypes.kind(t.dtype) not in allowed:
            hint = "random.key_data(key) gives the words of a key" if t.is_key else \
                "convert with astype, or pass a value of such a dtype"
            raise errors.make(
                errors.OperandError, op=errors.source.called(), fix=hint,
                problem=f"got {t}, a dtype of kind {' or '.join(_KINDS[k] for k in allowed)} is required")


def common(types: Sequence[ArrayType]) -> tuple[tuple[int, ...], Any, bool]:
    """Shape, dtype and weakness of elementwise operands: one dtype, and one shape or ()."""
    first = types[0]
    shape, dtype, weak = first.shape, first.dtype, first.weak
    for t in types[1:]:
        if t.dtype != dtype:
            raise errors.make(errors.OperandError, f"operands must have one dtype, got {', '.join(map(str, types))}",
                              op=errors.source.called(), fix="convert one with lax.convert_element_type or astype")
        if t.shape != shape:
            if not shape:
                shape = t.shape
            elif t.shape:
                raise errors.make(
                    errors.OperandError, f"operands must have one shape, got {', '.join(map(str, types))}",
                    op=errors.source.called(),
                    fix="broadcast one with lax.broadcast_in_dim or jnp.broadcast_to, or check their axes")
        weak = weak and t.weak
    return shape, dtype, weak


def fit(x: Any, shape: tuple[int, ...]) -> Any:
    """A scalar broadcast to `shape`; anything of that shape as it is."""
    return x if type_of(x).shape == shape else TABLE["broadcast_in_dim"](x, shape=shape, dims=())


def unfit(ct: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of `fit`: a cotangent summed to a scalar where the operand was one."""
    given = type_of(ct).shape
    return ct if given == shape else TABLE["reduce_sum"](ct, axes=tuple(range(len(given))))


def product(x: Any, y: Any) -> Any:
    """x * y for a factor of a derivative, with strong zeros where they are asked for."""
    return TABLE["strong_mul" if config.strong_zeros.value else "mul"](x, y)


def quotient(x: Any, y: Any) -> Any:
    """x / y for a factor of a derivative, with strong zeros where they are asked for."""
    return TABLE["strong_div" if config.strong_zeros.value else "div"](x, y)


def align(size: int, args: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Operands of one shape (or scalars) after batching: each of shape (size, *shape), or an unbatched scalar."""
    shape: tuple[int, ...] = ()
    for arg, flag in zip(args, batched, strict=True):
        own = type_of(arg).shape[1 if flag else 0:]
        shape = own if len(own) > len(shape) else shape
    result = []
    for arg, flag in zip(args, batched, strict=True):
        own = type_of(arg).shape
        if flag and len(own) == 1 and shape:
            arg = TABLE["broadcast_in_dim"](arg, shape=(size, *shape), dims=(0,))
        elif not flag and own:
            arg = broadcast(arg, size)
        result.append(arg)
    return result


class Elementwise(Primitive):
    """Elementwise operations. Operands share a dtype; each has the shape of the result or no axes.

    Args:
      name: also the name of the function in lax.
      numpy: the reference, on ndarrays.
      hlo: the StableHLO (or chlo) operation, 'sine' or 'chlo.asin'; or a function (b, *values) -> value.
      derivatives: per operand (t, out, *args) -> tangent, or None where there is none.
      transposes: per operand (ct, *args) -> cotangent where the operation is linear in it.
      kinds: the kinds of dtype it takes.
      result: the dtype of the result, from the dtype of the operands.
      domain: the interval its examples are drawn from.
      doc: one line.
    """

    def __init__(self, name: str, numpy: Callable[..., Any], hlo: Any,
                 derivatives: Sequence[Callable[..., Any] | None], *,
                 transposes: Sequence[Callable[..., Any] | None] | None = None, kinds: str = ANY,
                 result: Callable[[Any], Any] | None = None, domain: tuple[float, float] = (-3.0, 3.0),
                 rtol: float | None = None, order: int = 2, doc: str = "") -> None:
        super().__init__(name)
        self.reference = numpy
        self.direct: Callable[..., Any] | None = None  # what it comes to for the dtypes of DIRECT
        self.lowering = hlo
        self.derivatives = tuple(derivatives)
        self.transposes = tuple(transposes) if transposes else (None,) * len(self.derivatives)
        self.kinds = kinds
        self.result = result
        self.domain = domain
        self.rtol = rtol
        self.order = order
        self.__doc__ = doc

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        check_kind(types, self.kinds)
        shape, dtype, weak = common(types)
        if self.result is not None:
            dtype = self.result(dtype)
            weak = weak and dtype != dtypes.bool_
        return [ArrayType(shape, dtype, weak)]

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        return [self.reference(*arrays, **params)]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any] | None:
        if params or type(self).numpy is not Elementwise.numpy:
            return None
        return self.direct if self.direct is not None and types[0].dtype in DIRECT else self.reference

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        size = max(types, key=lambda t: t.ndim).size
        if types[which].size == size:
            return dependence.same(size)
        return dependence.from_sources(np.zeros(size, np.int64), 1)

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        out = b.outputs[0]
        values = tuple(b.fit(v, out.shape) for v in values)
        if callable(self.lowering):
            return [self.lowering(b, *values, **params)]
        name = self.lowering if "." in self.lowering else f"stablehlo.{self.lowering}"
        return [b.op(name, values, out)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        out = bind(self, primals, params)[0]
        total: Any = Zero(type_of(out).tangent())
        shape = total.type.shape
        for rule, t in zip(self.derivatives, tangents, strict=True):
            if rule is not None and not isinstance(t, Zero):
                part = rule(t, out, *primals, **params)
                if not isinstance(part, Zero):
                    total = add(total, fit(part, shape))
        return [out], [total]

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        ct = cts[0]
        results: list[Any] = []
        for rule, arg in zip(self.transposes, args, strict=True):
            if not isinstance(arg, Linear):
                results.append(None)
            elif rule is None:
                raise self.missing("transpose rule in this operand")
            else:
                results.append(unfit(rule(ct, *args, **params), arg.type.shape))
        return results

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, align(size, args, batched), params), [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        count = len(self.derivatives)
        linear = tuple(i for i, rule in enumerate(self.transposes) if rule is not None)

        def draw(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
            low, high = self.domain
            kind = np.dtype(dtype).kind
            if kind == "b":
                return rng.integers(0, 2, shape).astype(dtype)
            if kind in "iu":
                return rng.integers(max(int(np.ceil(low)), 0) if kind == "u" else int(np.ceil(low)),
                                    int(high) + 1, shape).astype(dtype)
            values = rng.uniform(low, high, shape)
            if kind == "c":
                values = values + 1j * rng.uniform(low, high, shape)
            return np.asarray(values.astype(dtype))

        for kind in self.kinds:
            dtype = {"b": np.bool_, "i": np.int32, "u": np.uint32, "f": np.float32, "c": np.complex64}[kind]
            order = self.order if kind in "fc" else 0
            for each in ([i] for i in linear) if linear else [[]]:
                yield Example(*[draw((2, 3), dtype) for _ in range(count)], order=order, rtol=self.rtol,
                              linear=tuple(each))
            if count > 1:
                for scalar in range(count):
                    yield Example(*[draw(() if i == scalar else (4,), dtype) for i in range(count)],
                                  order=min(order, 1), rtol=self.rtol, linear=linear[:1])
        if "f" in self.kinds:
            yield Example(*[draw((0, 2), np.float32) for _ in range(count)], order=0)
            yield Example(*[draw((), np.float32) for _ in range(count)], order=self.order, rtol=self.rtol)


class MovesKeys(Primitive):
    """A primitive that never looks at its elements, so it takes arrays of PRNG keys too."""

    def __call__(self, *args: Any, **params: Any) -> Any:
        if any([getattr(arg, "type", None) is not None and arg.type.is_key for arg in args]):
            return self._on_words(args, params)
        return super().__call__(*args, **params)

    def with_words(self, params: dict[str, Any], ndim: int, words: int) -> dict[str, Any] | None:
        """The params that do the same to arrays with a last axis of `words`; None where there are none."""
        return None

    def _on_words(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The operation on each of the words that keys are made of, as a batch of them."""
        impl = next(arg.type.dtype.impl for arg in args if hasattr(arg, "type") and arg.type.is_key)
        first = type_of(args[0])
        extended = self.with_words(params, first.ndim, first.dtype.key_shape[-1]) if first.is_key else None
        if extended is not None:
            self.infer(tuple([type_of(arg) for arg in args]), params)  # errors speak of keys, not of words
            moved = bind(self, [TABLE["random_unwrap"](arg) for arg in args], extended)[0]
            return TABLE["random_wrap"](moved, impl=impl)
        words = []
        for arg in args:
            key = hasattr(arg, "type") and arg.type.is_key
            words.append((_last_to_front(TABLE["random_unwrap"](arg)), True) if key else (arg, False))
        size = next(type_of(w).shape[0] for w, flag in words if flag)
        outputs, flags = vmap(lambda *xs: bind(self, xs, params), size, [w for w, _ in words],
                              [flag for _, flag in words])
        joined = [TABLE["random_wrap"](_front_to_last(x), impl=impl) if flag else x
                  for x, flag in zip(outputs, flags, strict=True)]
        return joined[0] if len(joined) == 1 else joined


def _last_to_front(x: Any) -> Any:
    ndim = type_of(x).ndim
    return TABLE["transpose"](x, perm=(ndim - 1, *range(ndim - 1)))


def _front_to_last(x: Any) -> Any:
    return TABLE["transpose"](x, perm=(*range(1, type_of(x).ndim), 0))


class Move(MovesKeys):
    """Operations linear in their first operand that only move its elements; other operands are rare.

    Members give `type`, `numpy`, `hlo`, `transpose`, `batch` and `examples`.
    """

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        outputs = bind(self, primals, params)
        if isinstance(tangents[0], Zero):
            return outputs, [Zero(type_of(o).tangent()) for o in outputs]
        return outputs, bind(self, [tangents[0], *primals[1:]], params)

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        """By the reference, of the numbers of the elements: those of other operands are 0."""
        if any([x is None and dtypes.is_integer(t.dtype) for x, t in zip(values, types)]):
            return None  # positions that are not known
        arrays = [np.asarray(x) if dtypes.is_integer(t.dtype) else np.zeros(t.shape, np.int64)
                  for x, t in zip(values, types)]
        arrays[which] = dependence.numbered(types[which])
        return dependence.from_sources(np.asarray(self.numpy(*arrays, **params)[0]) - 1, types[which].size)


class Product(Primitive):
    """What products share in Taylor mode: the rule of Leibniz."""

    def jet(self, order: int, primals: Sequence[Any], series: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        (x, y), (xs, ys) = primals, series
        out = bind(self, primals, params)[0]

        def times(a: Any, b: Any) -> Any:
            return bind(self, [a, b], params)[0]
        return [out], [product_series(times, [x, *xs], [y, *ys], order, type_of(out))]


class Quotient(Primitive):
    """What quotients share in Taylor mode."""

    def jet(self, order: int, primals: Sequence[Any], series: Sequence[Any]) -> tuple[Outputs, Outputs]:
        """From z y = x: z_k = (x_k - sum over j < k of C(k, j) z_j y_{k - j}) / y."""
        (x, y), (xs, ys) = primals, series
        out = self(x, y)
        zs: list[Any] = [out]
        for k in range(1, order + 1):
            total = xs[k - 1]
            for j in range(k):
                if not isinstance(ys[k - j - 1], Zero) and not isinstance(zs[j], Zero):
                    part = TABLE["neg"](TABLE["mul"](repeated(zs[j], comb(k, j)), ys[k - j - 1]))
                    total = part if isinstance(total, Zero) else TABLE["add"](total, part)  # one may be a scalar
            zs.append(total if isinstance(total, Zero) else fit(self(total, y), type_of(out).shape))
        return [out], [zs[1:]]


class Bilinear(Product):
    """Operations linear in each of two operands: dot(x', y) + dot(x, y')."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        x, y = primals
        x_dot, y_dot = tangents
        outputs = bind(self, [x, y], params)
        total: Any = Zero(type_of(outputs[0]).tangent())
        if not isinstance(x_dot, Zero):
            total = add(total, bind(self, [x_dot, y], params)[0])
        if not isinstance(y_dot, Zero):
            total = add(total, bind(self, [x, y_dot], params)[0])
        return outputs, [total]
