"""Functions that XLA has no operation for: SciPy's on NumPy, and on XLA an algorithm made of other operations.

The algorithm runs in float64 (complex128) whatever the dtype, and its result is rounded once: there is one set of
constants, and narrow dtypes lose nothing to cancellation. It is written with `Term`s, values with the operators of
Python, and with two tools: `integrate`, a Gauss-Legendre sum, and `repeat`, a loop that ends for each element alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes
from pullback.core.array import from_numpy
from pullback.core.primitive import Example, Outputs
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import broadcast
from pullback.interpret.stage import stage
from pullback.ops import elementwise as ops
from pullback.ops import special
from pullback.ops.elementwise import Pointwise, number
from pullback.ops.families import fit
from pullback.ops.index import dynamic_slice
from pullback.ops.integer import and_, not_, or_
from pullback.ops.move import broadcast_in_dim, reshape
from pullback.ops.reduce import reduce_or, reduce_sum
from pullback.ops.while_loop import while_loop


class Term:
    """A value in a formula. Numbers beside it take its dtype; functions are called as `exp(term)`."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def _call(self, operation: Any, other: Any, swapped: bool = False) -> Term:
        y = other.x if isinstance(other, Term) else number(self.x, other)
        return Term(operation(y, self.x) if swapped else operation(self.x, y))

    def __add__(self, other: Any) -> Term:
        return self._call(ops.add, other)

    def __sub__(self, other: Any) -> Term:
        return self._call(ops.sub, other)

    def __mul__(self, other: Any) -> Term:
        return self._call(ops.mul, other)

    def __truediv__(self, other: Any) -> Term:
        return self._call(ops.div, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Term:
        return self._call(ops.sub, other, swapped=True)

    def __rtruediv__(self, other: Any) -> Term:
        return self._call(ops.div, other, swapped=True)

    def __neg__(self) -> Term:
        return Term(ops.neg(self.x))

    def __lt__(self, other: Any) -> Term:
        return self._call(ops.lt, other)

    def __le__(self, other: Any) -> Term:
        return self._call(ops.le, other)

    def __gt__(self, other: Any) -> Term:
        return self._call(ops.gt, other)

    def __ge__(self, other: Any) -> Term:
        return self._call(ops.ge, other)

    def equals(self, other: Any) -> Term:
        return self._call(ops.eq, other)

    def __and__(self, other: Term) -> Term:
        return Term(and_(self.x, other.x))

    def __or__(self, other: Term) -> Term:
        return Term(or_(self.x, other.x))

    def __invert__(self) -> Term:
        return Term(not_(self.x))


def _function(primitive: Any) -> Callable[..., Term]:
    def call(first: Term, *rest: Any) -> Term:
        return Term(primitive(first.x, *[y.x if isinstance(y, Term) else number(first.x, y) for y in rest]))
    return call


exp, expm1, log, log1p, sqrt, square, power = map(_function, (
    ops.exp, ops.expm1, ops.log, ops.log1p, ops.sqrt, ops.square, ops.pow))
sin, cos, tan, floor, absolute, maximum, minimum = map(_function, (
    ops.sin, ops.cos, ops.tan, ops.floor, ops.abs, ops.max, ops.min))
lgamma, digamma, erfc = map(_function, (special.lgamma, special.digamma, special.erfc))
real, imag, conj = map(_function, (ops.real, ops.imag, ops.conj))


def joined(x: Term, y: Term) -> Term:
    """x + i y."""
    return Term(ops.complex(x.x, y.x))


def where(condition: Term, yes: Any, no: Any) -> Term:
    """`yes` where the condition holds, elsewhere `no`; two numbers give float64."""
    like = yes if isinstance(yes, Term) else no if isinstance(no, Term) else Term(np.float64(0))
    shape = type_of(condition.x).shape
    x, y = (fit(v.x if isinstance(v, Term) else number(like.x, v), shape) for v in (yes, no))
    return Term(ops.select_n(condition.x, y, x))


def polynomial(x: Term, coefficients: Sequence[float]) -> Term:
    """The sum of coefficients[k] * x ** k, by Horner's rule."""
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = x * total + c
    return total  # type: ignore[no-any-return]


# From this many elements on, a loop over the nodes of an integral takes less time than a sum.
_MANY = 256


@functools.cache
def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def along(values: np.ndarray, like: Term) -> Term:
    """`values` along a new leading axis, beside the axes of `like`."""
    shape = (len(values), *type_of(like.x).shape)
    return Term(broadcast_in_dim(from_numpy(values), shape=shape, dims=(0,)))


def spread(x: Term, count: int) -> Term:
    """`x`, repeated along a new leading axis."""
    return Term(broadcast(x.x, count))


def total(x: Term) -> Term:
    """The sum along the leading axis."""
    return Term(reduce_sum(x.x, axes=(0,)))


def integrate(function: Callable[..., Sequence[Term]], width: Term, *params: Term, count: int = 40) -> list[Term]:
    """The integrals of function(t, *params) over t from 0 to width, by `count` nodes."""
    nodes, weights = _gauss(count)
    if type_of(width.x).size > _MANY:
        return _integrate_many(function, width, params, nodes, weights)
    wide = spread(width, count)
    values = function(along(nodes, width) * wide, *[spread(p, count) for p in params])
    weight = along(weights, width) * wide
    return [total(v * weight) for v in values]


def _integrate_many(function: Callable[..., Sequence[Term]], width: Term, params: Sequence[Term], nodes: np.ndarray,
                    weights: np.ndarray) -> list[Term]:
    """`integrate`, node by node: each is one kernel over all elements, for which XLA uses vector instructions."""
    first = [v * float(weights[0]) for v in function(width * float(nodes[0]), *params)]
    rule = [from_numpy(nodes), from_numpy(weights)]

    def test(k: Any, *totals: Any) -> list[Any]:
        return [ops.lt(k, number(k, len(nodes)))]

    def turn(k: Any, *totals: Any) -> list[Any]:
        node, weight = [Term(broadcast_in_dim(reshape(dynamic_slice(row, k, sizes=(1,)), shape=()),
                                              shape=type_of(width.x).shape, dims=())) for row in rule]
        values = function(width * node, *params)
        return [ops.add(k, number(k, 1)), *[(Term(t) + v * weight).x for t, v in zip(totals, values, strict=True)]]

    types = [ArrayType((), np.dtype(np.int32)), *[type_of(v.x).strong() for v in first]]
    cond, cond_consts = stage(test, types)
    body, body_consts = stage(turn, types)
    results = while_loop(*cond_consts, *body_consts, broadcast_in_dim(np.int32(1), shape=(), dims=()),
                         *[v.x for v in first], cond=cond, body=body, n_cond=len(cond_consts), n_body=len(body_consts))
    return [Term(v) * width for v in results[1:]]


def repeat(step: Callable[..., Sequence[Term]], going: Callable[..., Term], *state: Term, most: int = 10_000
           ) -> list[Term]:
    """`step` repeated, at most `most` times: for each element while `going` holds of its state.

    Both take the number of the step, from 1, as a float64, and the state.
    """
    types = [ArrayType((), dtypes.float64), *[type_of(s.x).strong() for s in state]]

    def test(k: Any, *xs: Any) -> list[Any]:
        holds = going(Term(k), *map(Term, xs)).x
        return [and_(reduce_or(holds, axes=tuple(range(type_of(holds).ndim))), ops.le(k, number(k, most)))]

    def turn(k: Any, *xs: Any) -> list[Any]:
        before = [Term(x) for x in xs]
        holds = going(Term(k), *before)
        moved = step(Term(k), *before)
        return [ops.add(k, number(k, 1)), *[where(holds, new, old).x for new, old in zip(moved, before, strict=True)]]

    cond, cond_consts = stage(test, types)
    body, body_consts = stage(turn, types)
    start = broadcast_in_dim(np.float64(1), shape=(), dims=())
    results = while_loop(*cond_consts, *body_consts, start, *[s.x for s in state], cond=cond, body=body,
                         n_cond=len(cond_consts), n_body=len(body_consts))
    return [Term(x) for x in results[1:]]


def of_numbers(function: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """An oracle from a function of float64 ndarrays, for what real jax has no function for."""
    def oracle(jax: Any, *args: Any) -> Any:
        wide = np.complex128 if dtypes.is_complex(args[0].dtype) else np.float64
        return jax.numpy.asarray(np.asarray(function(*[np.asarray(x, wide) for x in args])).astype(args[0].dtype))
    return oracle


class Composed(Pointwise):
    """An elementwise function of float (or complex) operands with an algorithm of its own.

    Args:
      algorithm: Terms of float64 (complex128) and of one shape -> a Term.
      derivatives: as of Elementwise; None where there is none, which is an error to ask for.
      narrow: an algorithm in its place for results of up to 32 bits, of less work; None: the same.
      reference: a function of float64 ndarrays, or the name of one in scipy.special; None: the algorithm.
      draws: intervals that the operands of examples are drawn from, one per operand.
      every_shape: whether the examples have further shapes and dtypes: the rules for these are those of the family.
      oracle: (jax, *args) -> what real jax gives; None: its function of that name in lax or scipy.special.
    """

    def __init__(self, name: str, algorithm: Callable[..., Term], derivatives: Sequence[Callable[..., Any] | None], *,
                 reference: Any = None, draws: Sequence[tuple[float, float]], kinds: str = "f",
                 every_shape: bool = False, oracle: Callable[..., Any] | None = None,
                 narrow: Callable[..., Term] | None = None, **more: Any) -> None:
        super().__init__(name, self._on_numpy, None, derivatives, kinds=kinds, **more)
        self.reference = self._on_numpy
        self.algorithm = algorithm
        self.narrow = narrow or algorithm
        self.given = reference
        self.draws = draws
        self.every_shape = every_shape
        self.theirs = oracle

    def _on_numpy(self, *xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        wide = np.complex128 if dtypes.is_complex(dtype) else np.float64
        given = [np.asarray(x, wide) for x in xs]
        if self.given is None:
            shape = np.broadcast_shapes(*[x.shape for x in given])
            terms = [Term(from_numpy(np.array(np.broadcast_to(x, shape), order="C"))) for x in given]
            return np.asarray(self._run(dtype, *terms).x.numpy()).astype(dtype)
        if isinstance(self.given, str):
            import scipy.special
            return np.asarray(getattr(scipy.special, self.given)(*given)).astype(dtype)
        return np.asarray(self.given(*given)).astype(dtype)

    def _run(self, dtype: np.dtype, *terms: Term) -> Term:
        with config.enable_x64(True):  # otherwise constants would be rounded to float32
            return (self.narrow if dtypes.finfo(dtype).bits <= 32 else self.algorithm)(*terms)

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        out = b.outputs[0]
        wide = out.with_dtype(np.dtype(np.complex128 if dtypes.is_complex(out.dtype) else np.float64))
        given = [b.convert(b.fit(v, out.shape), wide.dtype) for v in values]
        result = b.traced(lambda *xs: [self._run(out.dtype, *map(Term, xs)).x], given, self.name)[0]
        return [b.convert(result, out.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        for i, (rule, t) in enumerate(zip(self.derivatives, tangents, strict=True)):
            if rule is None and not isinstance(t, Zero):
                raise self.missing(f"derivative by operand {i}", "stop its gradient with lax.stop_gradient")
        return super().jvp(primals, tangents, **params)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        fixed = tuple(i for i, rule in enumerate(self.derivatives) if rule is None)
        order = self.order if len(fixed) < len(self.derivatives) else 0

        def draw(shape: tuple[int, ...], dtype: Any, i: int) -> np.ndarray:
            low, high = self.draws[i]
            values = rng.uniform(low, high, shape)
            if dtypes.is_complex(dtype):
                values = values + 1j * rng.uniform(low, high, shape)
            return np.asarray(values.astype(dtype))

        places = range(len(self.derivatives))
        for kind in self.kinds:
            dtype = np.dtype(np.complex64 if kind == "c" else np.float32)
            # Of the shape of the edges, for which real jax need not compile again.
            shape = self.edges[0][0].shape if self.edges else (2, 3)
            yield Example(*[draw(shape, dtype, i) for i in places], order=order, fixed=fixed, rtol=self.rtol)
        for args in self.edges:
            yield Example(*args, order=0, rtol=self.rtol)
        if self.every_shape:
            yield Example(*[draw(() if i == 0 else (4,), np.dtype(np.float32), i) for i in places], order=0,
                          rtol=self.rtol)
            yield Example(*[np.zeros((0, 2), np.float32) for _ in places], order=0)
            for narrow in (np.dtype(np.float16), dtypes.bfloat16):
                yield Example(*[draw((4,), narrow, i) for i in places], order=0)

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        arrays = [jax.numpy.asarray(x) for x in args]
        if self.theirs is not None:
            return self.theirs(jax, *arrays)
        space = jax.lax if hasattr(jax.lax, self.name) else jax.scipy.special
        return getattr(space, self.name)(*arrays)
