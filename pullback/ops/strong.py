"""Products in which a factor that is exactly zero makes zero, whatever the other factor is: `strong_zeros`.

Under that setting they stand where a derivative rule multiplies a tangent (interpret/mark.py chooses them), and being
their own transposes they stand in the backward pass too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import Example, Outputs
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.interpret.stage import stage
from pullback.ops import elementwise
from pullback.ops.cond import cond
from pullback.ops.contract import DotGeneral, dot_general
from pullback.ops.convert import convert_element_type
from pullback.ops.elementwise import Pointwise, number, select_n
from pullback.ops.families import INEXACT
from pullback.ops.integer import and_
from pullback.ops.reduce import reduce_and

_MANY = 2.0 ** 40  # more than the terms of any sum
_SPECIAL = np.array([0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan], np.float32)
_PAIRS = tuple(a.ravel() for a in np.meshgrid(_SPECIAL, _SPECIAL))


class Strong(Pointwise):
    """A product or quotient that is 0 where a factor (of the quotient: the dividend) is 0."""

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        x, y = map(jax.numpy.asarray, args)
        zero = (x == 0) | (y == 0) if self is strong_mul else x == 0
        return jax.numpy.where(zero, 0, getattr(jax.lax, self.name.removeprefix("strong_"))(x, y))


def _is_zero(b: Any, x: Any) -> Any:
    return b.compare("EQ", x, b.full(0, x.type))


strong_mul = Strong(
    "strong_mul", lambda x, y: np.where((x == 0) | (y == 0), x.dtype.type(0), np.multiply(x, y)),
    lambda b, x, y: b.select(b.or_(_is_zero(b, x), _is_zero(b, y)), b.full(0, x.type), b.mul(x, y)),
    [lambda t, out, x, y: strong_mul(t, y), lambda t, out, x, y: strong_mul(x, t)],
    transposes=[lambda ct, x, y: strong_mul(ct, y), lambda ct, x, y: strong_mul(x, ct)], kinds=INEXACT,
    edges=[_PAIRS], doc="x * y, and 0 where x or y is 0.")
strong_div = Strong(
    "strong_div", lambda x, y: np.where(x == 0, x.dtype.type(0), np.divide(x, y)),
    lambda b, x, y: b.select(_is_zero(b, x), b.full(0, x.type), b.div(x, y)),
    [lambda t, out, x, y: strong_div(t, y),
     lambda t, out, x, y: elementwise.neg(strong_mul(t, strong_div(out, y)))],
    transposes=[lambda ct, x, y: strong_div(ct, y), None], kinds=INEXACT, domain=(1.0, 4.0),
    edges=[_PAIRS], doc="x / y, and 0 where x is 0.")


class StrongDotGeneral(DotGeneral):
    """dot_general whose sums leave out the products with a factor 0.

    Where dot_general makes no NaN, which is looked at when it runs, it is dot_general. Otherwise a sum that holds the
    product of a nonzero and an infinity or NaN is what dot_general makes of it, and the others have finite terms only.
    """

    def numpy(self, x: np.ndarray, y: np.ndarray, **params: Any) -> Outputs:  # type: ignore[override]
        out = dot_general.numpy(x, y, **params)[0]
        if not np.isnan(out).any():
            return [out]
        rest = {**params, "dtype": np.dtype(np.float32)}
        weights = [np.where(np.isfinite(a), a != 0, np.float32(_MANY)).astype(np.float32) for a in (x, y)]
        spoilt = dot_general.numpy(*weights, **rest)[0] >= _MANY
        finite = (np.where(np.isfinite(a), a, a.dtype.type(0)) for a in (x, y))
        return [np.where(spoilt, out, dot_general.numpy(*finite, **params)[0])]

    def hlo(self, b: Any, x: Any, y: Any, **params: Any) -> Outputs:  # type: ignore[override]
        return b.program(_looked_at(x.type, y.type, tuple(params.items())), [x, y])  # type: ignore[no-any-return]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        matrix = (((1,), (0,)), ((), ()))
        x, y = (rng.normal(size=(3, 3)).astype(np.float32) for _ in range(2))
        for side in (0, 1):
            yield Example(x, y, dims=matrix, linear=(side,))
        yield Example(x[0], y[0], dims=(((), ()), ((), ())), linear=(0,))
        yield Example((x + 1j * y).astype(np.complex64), y.astype(np.complex64), dims=matrix, linear=(0,), order=1)
        x, y = x.copy(), y.copy()
        x[0, 0], y[1, 1], y[2, 2] = 0, np.inf, np.nan
        yield Example(x, y, dims=matrix, order=0)
        yield Example(np.float32([0, 1]), np.float32([np.inf, np.nan]), dims=(((), ()), ((), ())), order=0)

    def oracle(self, jax: Any, x: Any, y: Any, *, dims: Any, **params: Any) -> Any:
        if dims[0] == ((), ()):
            return jax.numpy.where((x == 0)[:, None] | (y == 0), 0, jax.numpy.multiply(x[:, None], y))
        products = jax.numpy.multiply(x[:, :, None], y[None])
        return jax.numpy.where((x == 0)[:, :, None] | (y == 0)[None], 0, products).sum(1)


def _finite(x: Any) -> Any:
    if dtypes.is_complex(type_of(x).dtype):
        return and_(elementwise.is_finite(elementwise.real(x)), elementwise.is_finite(elementwise.imag(x)))
    return elementwise.is_finite(x)


@functools.lru_cache(256)
def _looked_at(x: ArrayType, y: ArrayType, params: tuple[tuple[str, Any], ...]) -> Program:
    """The product, and where it holds a NaN the sums without the terms 0 * infinity and 0 * NaN."""
    given = dict(params)

    def weights(a: Any) -> Any:
        """0 for zeros, 1 for other finite numbers, and more than any sum of those for the rest."""
        nonzero = convert_element_type(elementwise.ne(a, number(a, 0)), dtype=dtypes.float32)
        return select_n(_finite(a), np.float32(_MANY), nonzero)

    def careful(x: Any, y: Any, out: Any) -> list[Any]:
        spoilt = elementwise.ge(dot_general(weights(x), weights(y), **{**given, "dtype": None}), np.float32(_MANY))
        clean = [select_n(_finite(a), number(a, 0), a) for a in (x, y)]
        return [select_n(spoilt, dot_general(*clean, **given), out)]

    def as_it_is(x: Any, y: Any, out: Any) -> list[Any]:
        return [out]

    types = [x, y, dot_general.infer((x, y), given)[0]]
    branches = tuple([stage(f, types, name=f.__name__)[0] for f in (careful, as_it_is)])

    def product(x: Any, y: Any) -> list[Any]:
        out = dot_general(x, y, **given)
        good = reduce_and(elementwise.eq(out, out), axes=tuple(range(type_of(out).ndim)))
        return bind(cond, [convert_element_type(good, dtype=dtypes.int32), x, y, out], {"branches": branches})

    return stage(product, [x, y], name="strong_dot_general")[0]


strong_dot_general = StrongDotGeneral("strong_dot_general")
