"""Counts: the Poisson, binomial and multinomial distributions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback import lax
from pullback import numpy as jnp
from pullback.api.jit import jit
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import placed
from pullback.numpy.promotion import promoted_inexact
from pullback.ops.bits import random_clone
from pullback.random.arguments import common_shape, count, dtype_of, one_key, real
from pullback.random.continuous import normals
from pullback.random.generators import child, split
from pullback.random.uniforms import unit

__all__ = ["binomial", "multinomial", "poisson"]


# -- Poisson ----------------------------------------------------------------------------------------------

_FEW = 10  # from this rate, or mean, on numbers come by rejection


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
            ) -> Array:
    """Numbers of events at a rate: k with probability lam**k exp(-lam) / k!.

    Args:
      key: key<fry>[], or raw words u32[2].
      lam: the rate, the mean of the result; broadcasts to shape. -1 comes out for negative rates and NaN.
      shape: the shape of the result; None: that of lam.
      dtype: an integer dtype; None: int32, with enable_x64 int64. Numbers beyond it are cut.
      method: 'exact': by products of uniform numbers for rates below 10, from there by rejection; 'approximate': a
        fixed number of operations, from one normal number. It draws other numbers.

    Returns: i32[shape]

    Source: Knuth, The Art of Computer Programming, volume 2; Hoermann, "The transformed rejection method for generating
      Poisson random variables", Insurance 12 (1993); approximate: Peizer and Pratt, "A normal approximation for
      binomial, F, beta, and other common, related tail probabilities", JASA 63 (1968).

    Example:
      >>> random.poisson(random.key(0), 0.0, (2,))
      Array([0, 0], dtype=int32)
    """
    key = one_key(key)
    if method not in ("exact", "approximate"):
        raise errors.value_error(f"method is {method!r}, 'exact' or 'approximate' is required", fix="leave it out")
    dtype = dtype_of(dtype, np.int64, "iu")
    rate = real(lam, "lam")
    shape = common_shape(shape, rate)
    rate = jnp.broadcast_to(lax.convert_element_type(rate, dtypes.float32), shape)
    return placed(_poisson(key, rate, dtype=dtype, method=method), out_sharding)


@functools.partial(jit, static_argnames=("dtype", "method"))
def _poisson(key: Array, rate: Any, *, dtype: Any, method: str) -> Any:
    if method == "approximate":
        return lax.convert_element_type(_approximate_poisson(key, rate), dtype)
    few = (rate != rate) | (rate < _FEW)
    small = _by_products(random_clone(key), jnp.where(few, rate, 0), dtype)
    large = lax.convert_element_type(_by_rejection(key, jnp.where(few, 1e5, rate)), dtype)
    return jnp.where(rate == 0, 0, jnp.where(few, small, large)).astype(dtype)


def _by_products(key: Array, rate: Any, dtype: Any) -> Any:
    """How many uniform numbers have a product above exp(-rate)."""
    shape = type_of(rate).shape

    def step(state: Any) -> Any:
        key, k, product = state
        key, sub = child(key, 0), child(key, 1)
        k = jnp.where(product > -rate, k + 1, k)
        return key, k, product + jnp.log(unit(sub, shape=shape, dtype=dtypes.float32))

    start = (key, jnp.zeros(shape, dtype), jnp.zeros(shape, dtypes.float32))
    return lax.while_loop(lambda s: jnp.any(s[2] > -rate), step, start)[1] - 1


def _by_rejection(key: Array, rate: Any) -> Any:
    """Algorithm PTRS of Hoermann."""
    shape, one = type_of(rate).shape, dtypes.float32.type
    log_rate = jnp.log(rate)
    b = one(0.931) + one(2.53) * jnp.sqrt(rate)
    a = one(-0.059) + one(0.02483) * b
    inverse_alpha = one(1.1239) + one(1.1328) / (b - one(3.4))
    v_r = one(0.9277) - one(3.6224) / (b - 2)

    def step(state: Any) -> Any:
        key, found, done = state
        key, *subs = (child(key, i) for i in range(3))
        u = unit(subs[0], shape=shape, dtype=dtypes.float32) - one(0.5)
        v = unit(subs[1], shape=shape, dtype=dtypes.float32)
        rest = one(0.5) - jnp.abs(u)
        k = jnp.floor((2 * a / rest + b) * u + rate + one(0.43))
        bound = jnp.log(v * inverse_alpha / (a / (rest * rest) + b))
        outside = (k < 0) | ((rest < one(0.013)) & (v > rest))
        accepted = (rest >= one(0.07)) & (v <= v_r)
        accepted = accepted | (~outside & (bound <= -rate + k * log_rate - lax.lgamma(k + 1)))
        return key, jnp.where(accepted, k, found), done | accepted

    start = (key, jnp.full(shape, -1, dtypes.float32), jnp.zeros(shape, bool))
    return lax.while_loop(lambda s: jnp.any(~s[2]), step, start)[1]


_FEW_TERMS = 7  # below this rate the probabilities up to 18 are summed
_LAST = 18


def _approximate_poisson(key: Array, rate: Any) -> Any:
    """The quantile of the probability of a normal number: summed, or by the approximation of Peizer and Pratt."""
    dtype = dtypes.canonicalize(np.float64)
    one, rate = dtype.type, lax.convert_element_type(rate, dtype)
    z = normals(key, shape=type_of(rate).shape, dtype=dtype)
    # The probability of z, from erfc where that is small.
    half = z * one(math.sqrt(0.5))
    size = jnp.abs(half)
    tail = lax.erfc(size)
    share = one(0.5) * jnp.where(size < one(math.sqrt(0.5)), 1 + lax.erf(half), jnp.where(half > 0, 2 - tail, tail))
    term = total = jnp.exp(-rate)
    summed = (total < share).astype(dtype)
    for k in range(1, _LAST + 1):
        term = term * (rate / k)
        total = total + term
        summed = summed + (total < share)
    # Cornish and Fisher's expansion for a first number, then at most two down while its probability suffices.
    root = jnp.sqrt(rate)
    square = z * z
    k = rate + root * z - one(2 / 3) + square / 6 + z * (1 - square) / (72 * root)
    k = jnp.ceil(k + one(0.6))
    found = k + 1
    for step in range(2):
        found = found - (_normal_of_count(k - step, rate) >= z)
    return jnp.where(rate < _FEW_TERMS, summed, jnp.maximum(found, 0))


def _normal_of_count(k: Any, rate: Any) -> Any:
    """The normal number whose probability is about that of at most k events."""
    one = type_of(rate).dtype.type
    n = jnp.maximum(k, 0)
    quotient = (n + one(0.5)) / rate
    off = quotient - 1
    near = jnp.abs(off) < one(0.25)
    # (1 - q**2 + 2 q log(q)) / (1 - q)**2, near q = 1 as a series.
    series: Any = jnp.zeros_like(off)
    for j in range(9, 0, -1):
        series = off * (one((-1) ** j * 2 / ((j + 1) * (j + 2))) + series)
    q, gap = jnp.where(near, 2, quotient), jnp.where(near, 1, off)
    g = jnp.where(near, series, (1 - q * q + 2 * q * jnp.log(q)) / (gap * gap))
    value = (n - rate + one(2 / 3) + one(0.02) / (n + 1)) * jnp.sqrt((1 + g) / rate)
    return jnp.where(k < 0, -math.inf, value)


# -- binomial -----------------------------------------------------------------------------------------------


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Array:
    """Numbers of successes among n trials.

    Args:
      key: key<fry>[], or raw words u32[2].
      n: the number of trials, from 0; broadcasts to shape.
      p: the probability of success of each, from 0 to 1; broadcasts to shape.
      shape: the shape of the result; None: that of the parameters.
      dtype: a float dtype; None: float32, with enable_x64 float64. The numbers are drawn in that of n and p.

    Returns: f32[shape], whole numbers; NaN for parameters out of range.

    Source: by waiting times where the mean is at most 10: Devroye, Non-uniform random variate generation (1986), X.4.3;
      from there Hoermann, "The generation of binomial random variates", Journal of Statistical Computation 46 (1993).

    Example:
      >>> random.binomial(random.key(0), 5, 1.0, (2,))
      Array([5., 5.], dtype=float32)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    n, p = real(n, "n"), real(p, "p")
    shape = common_shape(shape, n, p)
    trials, chance = (jnp.broadcast_to(x, shape) for x in _in_common(n, p))
    return lax.convert_element_type(_binomial(key, trials, chance), dtype)


def _in_common(n: Any, p: Any) -> list[Any]:
    """n and p in the float dtype that both promote to, which decides how many bits are drawn."""
    return [lax.convert_element_type(x, type_of(x).dtype) for x in promoted_inexact(n, p)]


@jit
def _binomial(key: Array, n: Any, p: Any) -> Any:
    mirrored = ~(p < 0.5)
    q = jnp.where(mirrored, 1 - p, p)
    no_trials = (n != n) | (n < 0)
    no_chance = (q != q) | (q < 0)
    endless = jnp.abs(n) == math.inf
    safe = jnp.where(no_chance, q.dtype.type(0.01), q)
    few = no_trials | (n * safe <= _FEW)
    whole = jnp.floor(n)
    waited = _by_waiting(random_clone(key), jnp.where(few, whole, 0), safe)
    rejected = _by_transformed_rejection(key, jnp.where(few, 1e4, whole), jnp.where(few, 0.5, safe))
    found = jnp.where(few, waited, rejected)
    invalid = no_chance | no_trials
    found = jnp.where(invalid, math.nan, found)
    found = jnp.where(endless & ~invalid, math.inf, found)
    plain = ~mirrored | no_trials | (q != q) | endless
    return jnp.where(plain, found, whole - found)


def _by_waiting(key: Array, n: Any, p: Any) -> Any:
    """How many geometric numbers of trials fit into n."""
    t = type_of(n)
    scale = jnp.log1p(-p)

    def step(state: Any) -> Any:
        key, successes, used = state
        sub, key = child(key, 0), child(key, 1)
        successes = jnp.where(used <= n, successes + 1, successes)
        return key, successes, used + jnp.ceil(jnp.log(unit(sub, shape=t.shape, dtype=t.dtype)) / scale)

    zero = jnp.zeros(t.shape, t.dtype)
    return lax.while_loop(lambda s: jnp.any(s[2] <= n), step, (key, zero, zero))[1] - 1


# log(k!) less Stirling's approximation of it, (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for k below 10.
_STIRLING_TAILS = np.array([math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
                            for k in range(10)])


def _stirling_tail(k: Any) -> Any:
    dtype = type_of(k).dtype
    one = dtype.type
    last = len(_STIRLING_TAILS) - 1
    m = jnp.clip(k, 0, last) + 1
    square = m * m
    series = (one(1 / 12) - (one(1 / 360) - one(1 / 1260) / square) / square) / m
    table = jnp.asarray(_STIRLING_TAILS, dtype)[jnp.floor(m - 1).astype(dtypes.int32)]
    return jnp.where(k <= last, table, series)


def _by_transformed_rejection(key: Array, n: Any, p: Any) -> Any:
    """Algorithm BTRS of Hoermann."""
    t = type_of(n)
    one = t.dtype.type
    deviation = jnp.sqrt(n * p * (1 - p))
    b = one(1.15) + one(2.53) * deviation
    a = one(-0.0873) + one(0.0248) * b + one(0.01) * p
    c = n * p + one(0.5)
    v_r = one(0.92) - one(4.2) / b
    odds = p / (1 - p)
    alpha = (one(2.83) + one(5.1) / b) * deviation
    mode = jnp.floor((n + 1) * p)

    def step(state: Any) -> Any:
        key, found, done = state
        key, *subs = (child(key, i) for i in range(3))
        u, v = (unit(sub, shape=t.shape, dtype=t.dtype) for sub in subs)
        u = u - one(0.5)
        rest = one(0.5) - jnp.abs(u)
        accepted = (rest >= one(0.07)) & (v <= v_r)
        k = jnp.floor((2 * a / rest + b) * u + c)
        outside = (k < 0) | (k > n)
        v = jnp.log(v * alpha / (a / (rest * rest) + b))
        bound = (mode + one(0.5)) * jnp.log((mode + 1) / (odds * (n - mode + 1)))
        bound = bound + (n + 1) * jnp.log((n - mode + 1) / (n - k + 1))
        bound = bound + (k + one(0.5)) * jnp.log(odds * (n - k + 1) / (k + 1))
        bound = bound + _stirling_tail(mode) + _stirling_tail(n - mode) - _stirling_tail(k) - _stirling_tail(n - k)
        accepted = accepted | (~outside & (v <= bound))
        return key, jnp.where(accepted, k, found), done | accepted

    start = (key, jnp.full(t.shape, -1, t.dtype), jnp.zeros(t.shape, bool))
    return lax.while_loop(lambda s: jnp.any(~s[2]), step, start)[1]


# -- multinomial --------------------------------------------------------------------------------------------


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Array:
    """How many of n trials have each of several outcomes.

    Args:
      key: key<fry>[], or raw words u32[2].
      n: the number of trials, from 0; broadcasts to shape less its last axis.
      p: f32[..., k], the probabilities of the outcomes, along the last axis; they need not sum to 1.
      shape: the shape of the result, whose last axis is that of p; None: what p and n broadcast to.
      dtype: a numeric dtype; None: float32, with enable_x64 float64. The numbers are drawn in that of n and p.
      unroll: as in lax.scan, which goes over the outcomes.

    Returns: f32[shape], whole numbers: one binomial number for each outcome, of the trials that are left and its share
      of the probability that is left.

    Source: Devroye, Non-uniform random variate generation (1986), XI.1.4.

    Example:
      >>> random.multinomial(random.key(0), 5, jnp.array([0.0, 1.0]))
      Array([0., 5.], dtype=float32)
    """
    key = one_key(key)
    n, p = real(n, "n"), real(p, "p")
    n, p = _in_common(n, p)
    if not type_of(p).shape:
        raise errors.value_error("p has no axes, at least one is required", fix="pass a vector of probabilities")
    lead = lax.broadcast_shapes(type_of(n).shape, type_of(p).shape[:-1])
    full = (*lead, type_of(p).shape[-1]) if shape is None else common_shape(shape, p)
    result = dtype_of(dtype, np.float64, "biufc")
    common_shape(full[:-1], n)
    trials = jnp.broadcast_to(n, full[:-1])
    shares = jnp.moveaxis(jnp.broadcast_to(p, full), -1, 0)
    if not count(full):
        return jnp.zeros(full, result)
    left = lax.cumsum(shares, 0, reverse=True)
    shares = shares / jnp.where(left == 0, 1, left)

    def step(left: Any, given: Any) -> Any:
        key, share = given
        drawn = _binomial(key, left, jnp.clip(share, 0, 1))
        return left - drawn, drawn

    keys = split(key, (full[-1],))
    counts = lax.scan(step, trials, (keys, shares), unroll=unroll)[1]
    return lax.convert_element_type(jnp.moveaxis(counts, 0, -1), result)  # type: ignore[no-any-return]
