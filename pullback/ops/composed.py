"""Functions that XLA has no operation for: SciPy's on NumPy, and on XLA an algorithm made of other operations.

The algorithm runs in float64 (complex128) whatever the dtype, and its result is rounded once: there is one set of
constants, and narrow dtypes lose nothing to cancellation. It is written with `Term`s, values with the operators of
Python, and with two tools: `integrate`, a Gauss-Legendre sum, and `repeat`, a loop that ends for each element alone.

XLA calls a scalar function for each logarithm, sine and gamma function of float64. Where the result has up to 32 bits,
polynomials with errors below 1e-9 take their place, for which vector instructions serve.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from pullback.ops import fits, special
from pullback.ops.convert import bitcast_convert_type, convert_element_type
from pullback.ops.elementwise import Pointwise, number
from pullback.ops.families import fit
from pullback.ops.index import dynamic_slice
from pullback.ops.integer import and_, not_, or_, shift_left, shift_right_arithmetic
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


sqrt, square, power, sin, cos, tan, floor, absolute, maximum, minimum = map(_function, (
    ops.sqrt, ops.square, ops.pow, ops.sin, ops.cos, ops.tan, ops.floor, ops.abs, ops.max, ops.min))
erfc, erf_inv = map(_function, (special.erfc, special.erf_inv))
real, imag, conj = map(_function, (ops.real, ops.imag, ops.conj))


def of_dtype(x: Term, dtype: Any) -> Term:
    """`x` in another float dtype."""
    return x if type_of(x.x).dtype == dtype else Term(convert_element_type(x.x, dtype=dtype))


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


def fitted(x: Term, fit: tuple[float, float, tuple[float, ...]]) -> Term:
    """One of the polynomials of `fits`, of a variable between the ends of its interval."""
    low, high, coefficients = fit
    power = x * (2 / (high - low)) - (high + low) / (high - low)
    # By Estrin's scheme, in which few operations wait for another.
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        terms = [power * terms[i + 1] + terms[i] if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
        power = square(power)
    return terms[0]  # type: ignore[no-any-return]


# -- functions that vectorise, for results of up to 32 bits ----------------------------------------------

class _State(threading.local):
    narrow = False


_state = _State()


@contextmanager
def _computing(dtype: np.dtype, compiled: bool = True) -> Iterator[bool]:
    """While terms for a result of `dtype` are made, compiled or by NumPy; whether it has up to 32 bits."""
    narrow = dtypes.finfo(dtype).bits <= 32
    before, _state.narrow = _state.narrow, narrow and compiled
    try:
        with config.enable_x64(True):  # otherwise constants would be rounded to float32
            yield narrow
    finally:
        _state.narrow = before


def _quickly(primitive: Any) -> Callable[[Callable[[Term], Term]], Callable[[Term], Term]]:
    """A function of Terms: the primitive, or the decorated one while a result of up to 32 bits is computed."""
    plain = _function(primitive)

    def decorate(quick: Callable[[Term], Term]) -> Callable[[Term], Term]:
        def call(x: Term) -> Term:
            return (quick if _state.narrow and type_of(x.x).dtype == dtypes.float64 else plain)(x)
        return call
    return decorate


_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(7)]
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(8)]


def circle(v: Term) -> tuple[Term, Term]:
    """The sine and the cosine of `v` quarters of a turn."""
    n = floor(v + 0.5)
    r = (v - n) * (math.pi / 2)
    s, c = r * polynomial(square(r), _SIN), polynomial(square(r), _COS)
    half, quarter = n * 0.5, n * 0.25
    odd, place = half > floor(half), quarter - floor(quarter)
    s, c = where(odd, c, s), where(odd, s, c)
    return where(place >= 0.5, -s, s), where((place > 0) & (place < 0.7), -c, c)


# log(2): its first 32 bits, so that products with whole numbers are exact, and the rest.
_LOG_2_HIGH = float.fromhex("0x1.62e42feep-1")
_LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


@_quickly(ops.exp)
def exp(x: Term) -> Term:
    """2**n e**r with |r| up to log(2) / 2; what is not in the range of float32 need not be right."""
    x = maximum(minimum(x, 700.0), -700.0)
    n = floor(x * (1 / math.log(2)) + 0.5)
    r = x - n * _LOG_2_HIGH - n * _LOG_2_LOW
    whole = convert_element_type(convert_element_type(n.x, dtype=dtypes.int32), dtype=dtypes.int64)
    power = shift_left(ops.add(whole, np.int64(1023)), np.int64(52))
    return fitted(r, fits.EXP) * Term(bitcast_convert_type(power, dtype=dtypes.float64))


_ROOT = np.float64(math.sqrt(0.5)).view(np.int64)


def _logarithm(x: Term, off: Term | None = None) -> Term:
    """x = 2**n m with m between sqrt(1/2) and sqrt(2); log(m) = 2 artanh((m - 1) / (m + 1)).

    `off` is x - 1, where it is known to more digits.
    """
    bits = bitcast_convert_type(x.x, dtype=dtypes.int64)
    n = shift_right_arithmetic(ops.sub(bits, _ROOT), np.int64(52))
    m = Term(bitcast_convert_type(ops.sub(bits, shift_left(n, np.int64(52))), dtype=dtypes.float64))
    exponent = Term(convert_element_type(convert_element_type(n, dtype=dtypes.int32), dtype=dtypes.float64))
    above = m - 1 if off is None else where(exponent.equals(0), off, m - 1)
    r = above / (m + 1)
    value = exponent * math.log(2) + 2 * r * polynomial(square(r), [1 / (2 * k + 1) for k in range(9)])
    value = where(x.equals(math.inf), math.inf, value)
    return where(x > 0, value, where(x.equals(0), -math.inf, math.nan))


@_quickly(ops.log)
def log(x: Term) -> Term:
    return _logarithm(x)


@_quickly(ops.log1p)
def log1p(x: Term) -> Term:
    return _logarithm(1 + x, x)


@_quickly(ops.expm1)
def expm1(x: Term) -> Term:
    return where(absolute(x) < 1.5, x + square(x) * fitted(x, fits.EXPM1_REST), exp(x) - 1)


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def stirling_rest(y: Term) -> Term:
    """lgamma(y) - ((y - 1/2) log(y) - y + log(2 pi) / 2): all digits from 8 on, an error of 1e-11 from 4.5.

    Source: DLMF 5.11.1.
    """
    inverse = 1 / y
    return inverse * polynomial(square(inverse), _STIRLING)


def rising(x: Term) -> Term:
    """x (x + 1) (x + 2) (x + 3), gamma(x + 4) / gamma(x)."""
    z = x * (x + 3)
    return z * (z + 2)


def _shifted(x: Term) -> tuple[Term, Term, Term, Term]:
    """Whether x is left of 1/2; x or 1 - x, right of it; whether that is below 4.5; and 4 more where it is."""
    left = x < 0.5
    w = where(left, 1 - x, x)
    small = w < 4.5
    return left, w, small, where(small, w + 4, w)


@_quickly(special.lgamma)
def lgamma(x: Term) -> Term:
    left, w, small, y = _shifted(x)
    factor = where(small, rising(w), 1.0)
    factor = where(left, factor * math.pi / absolute(circle(2 * x)[0]), factor)
    value = (y - 0.5) * (log(y) - 1) + (0.5 * math.log(2 * math.pi) - 0.5 + stirling_rest(y)) - log(factor)
    return where(x.equals(-math.inf), math.inf, where(left, -value, value))


@_quickly(special.digamma)
def digamma(x: Term) -> Term:
    """Source: DLMF 5.5.4 and 5.11.2."""
    left, w, small, y = _shifted(x)
    inverse = 1 / y
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
    value = log(y) - 0.5 * inverse - square(inverse) * polynomial(square(inverse), terms)
    product = w * (w + 3)
    value = value - where(small, (2 * w + 3) * (1 / product + 1 / (product + 2)), 0.0)
    sine, cosine = circle(2 * x)
    value = where(left, value - math.pi * cosine / where(sine.equals(0), 1.0, sine), value)
    pole = where(x.equals(0), -math.inf, math.nan)
    return where((x <= 0) & x.equals(floor(x)), pole, value)


def _lower(primitive: Pointwise, function: Callable[[Term], Term]) -> None:
    """Has an operation of XLA's lowered by terms for up to 32 bits. Not lgamma: jax's random numbers depend on its
    last digits."""
    plain = primitive.lowering

    def lowering(b: Any, x: Any) -> Any:
        dtype = x.type.dtype
        if dtypes.finfo(dtype).bits > 32:
            return plain(b, x) if callable(plain) else b.op(plain, [x], x.type)

        def run(v: Any) -> list[Any]:
            with _computing(dtype):
                return [function(Term(v)).x]
        return b.convert(b.traced(run, [b.convert(x, dtypes.float64)], primitive.name)[0], dtype)

    primitive.lowering = lowering


_lower(special.digamma, digamma)


# -- integrals and loops ------------------------------------------------------------------------------------

# From this many elements on, a loop over the nodes of an integral takes less time than a sum.
_MANY = 256
_TOGETHER = 4  # nodes that one turn of the loop takes: fewer turns read and write the arrays less often


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
    nodes, weights = (v.astype(type_of(width.x).dtype) for v in _gauss(count))
    if type_of(width.x).size > _MANY:
        return _integrate_many(function, width, params, nodes, weights)
    wide = spread(width, count)
    values = function(along(nodes, width) * wide, *[spread(p, count) for p in params])
    weight = along(weights, width) * wide
    return [total(v * weight) for v in values]


def _integrate_many(function: Callable[..., Sequence[Term]], width: Term, params: Sequence[Term], nodes: np.ndarray,
                    weights: np.ndarray) -> list[Term]:
    """`integrate`, by a few nodes at a time: one kernel over all elements, for which XLA uses vector instructions."""
    rule = [from_numpy(nodes), from_numpy(weights)]
    most = math.gcd(len(nodes), _TOGETHER)

    def at(row: Any, k: Any) -> Term:
        place = reshape(dynamic_slice(row, k, sizes=(1,)), shape=())
        return Term(broadcast_in_dim(place, shape=type_of(width.x).shape, dims=()))

    def turn(k: Any, *totals: Any) -> list[Any]:
        sums = list(map(Term, totals))
        for i in range(most):
            node, weight = (at(row, ops.add(k, number(k, i))) for row in rule)
            values = function(width * node, *params)
            sums = [s + v * weight for s, v in zip(sums, values, strict=True)]
        return [ops.add(k, number(k, most)), *[s.x for s in sums]]

    zero = 0 * width
    count = len(function(zero, *params))  # only how many; nothing needs the values
    types = [ArrayType((), np.dtype(np.int32)), *[type_of(zero.x).strong()] * count]
    cond, cond_consts = stage(lambda k, *totals: [ops.lt(k, number(k, len(nodes)))], types)
    body, body_consts = stage(turn, types)
    results = while_loop(*cond_consts, *body_consts, broadcast_in_dim(np.int32(0), shape=(), dims=()),
                         *[zero.x] * count, cond=cond, body=body, n_cond=len(cond_consts), n_body=len(body_consts))
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
            return np.asarray(self._run(dtype, *terms, compiled=False).x.numpy()).astype(dtype)
        if isinstance(self.given, str):
            import scipy.special
            return np.asarray(getattr(scipy.special, self.given)(*given)).astype(dtype)
        return np.asarray(self.given(*given)).astype(dtype)

    def _run(self, dtype: np.dtype, *terms: Term, compiled: bool = True) -> Term:
        with _computing(dtype, compiled) as narrow:
            return (self.narrow if narrow else self.algorithm)(*terms)

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
