"""Functions of two numbers whose compositions would lose digits or derivatives, or need a loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.ops.elementwise import Pointwise, eq, exp, exp2, mul, number, select_n, sub
from pullback.ops.families import FLOAT
from pullback.ops.truth import truth

_NUMBERS = (0, -0.0, 1, -2.5, 90, -200, math.inf, -math.inf, math.nan)
_PAIRS = tuple(a.astype(np.float32).ravel() for a in np.meshgrid(_NUMBERS, _NUMBERS))
_INTEGERS = (0, 1, -1, 12, -18, 97, 2**31 - 1, 46341 * 30)
_INTEGER_PAIRS = tuple(a.astype(np.int32).ravel() for a in np.meshgrid(_INTEGERS, _INTEGERS))


class OfPair(Pointwise):
    """Operations that jax has in its numpy only."""

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        return getattr(jax.numpy, self.name)(*map(jax.numpy.asarray, args))


# -- logarithms of sums -------------------------------------------------------------------------------

def _sum_hlo(b: Any, x: Any, y: Any, rate: float) -> Any:
    """high + log(1 + exp(rate (low - high))) / rate; the difference of equal infinities counts as 0."""
    high, low = b.max(x, y), b.min(x, y)
    difference = b.select(b.compare("EQ", low, high), b.full(0, x.type), b.sub(low, high))
    scaled = difference if rate == 1 else b.mul(difference, b.full(rate, x.type))
    log = b.op("stablehlo.log_plus_one", [b.op("stablehlo.exponential", [scaled], x.type)], x.type)
    return b.add(high, log if rate == 1 else b.mul(log, b.full(1 / rate, x.type)))


def _share(t: Any, out: Any, x: Any, power: Callable[[Any], Any]) -> Any:
    """The tangent by the operand `x`: by its share of the sum, or all of it where it is infinite."""
    return mul(t, power(select_n(eq(x, number(x, math.inf)), sub(x, out), number(x, 0))))


def _log_of_sum(name: str, reference: Any, rate: float, power: Callable[[Any], Any], doc: str) -> OfPair:
    return OfPair(name, reference, lambda b, x, y: _sum_hlo(b, x, y, rate),
                  [lambda t, out, x, y: _share(t, out, x, power),
                   lambda t, out, x, y: _share(t, out, y, power)],
                  kinds=FLOAT, edges=[_PAIRS], doc=doc)


logaddexp = _log_of_sum("logaddexp", np.logaddexp, 1, exp,
                        "log(exp(x) + exp(y)). By an operand that is infinite the derivative is 1.")
logaddexp2 = _log_of_sum("logaddexp2", np.logaddexp2, math.log(2), exp2,
                         "log2(2 ** x + 2 ** y). By an operand that is infinite the derivative is 1.")


# -- integers -----------------------------------------------------------------------------------------

def _gcd_hlo(b: Any, x: Any, y: Any) -> Any:
    t = x.type
    def unfinished(b: Any, x: Any, y: Any) -> list[Any]:
        left = b.compare("NE", y, b.full(0, t))
        return [truth(b, left, range(len(t.shape)), any_of=True)]

    def step(b: Any, x: Any, y: Any) -> list[Any]:
        done = b.compare("EQ", y, b.full(0, t))
        rest = b.op("stablehlo.remainder", [x, b.select(done, b.full(1, t), y)], t)
        return [b.select(done, x, y), b.select(done, y, rest)]

    if t.dtype.kind == "i":
        x, y = b.op("stablehlo.abs", [x], t), b.op("stablehlo.abs", [y], t)
    regions = [b.region([t, t], unfinished), b.region([t, t], step)]
    return b.multi("stablehlo.while", [x, y], [t, t], "", regions)[0]


gcd = OfPair("gcd", np.gcd, _gcd_hlo, [None, None], kinds="iu", edges=[_INTEGER_PAIRS],
             doc="The greatest common divisor, by Euclid's algorithm; 0 if both are 0.")
