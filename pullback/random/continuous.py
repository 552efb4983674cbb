"""Continuous distributions: functions of uniform numbers, many the inverse of the distribution's integral."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback import lax
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.random.arguments import cast, dtype_of, fit, one_key, real, sizes
from pullback.random.discrete import signs
from pullback.random.generators import child
from pullback.random.uniforms import interval, unit
from pullback.random.whole import drawn, sample

__all__ = [
    "cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell",
    "normal", "pareto", "rayleigh", "triangular", "truncated_normal", "wald", "weibull_min",
]


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Standard normal numbers, by the inverse error function.

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      dtype: a float or complex dtype; None: float32, with enable_x64 float64. Complex numbers have variance
        1, half of it in each part.

    Returns: f32[shape]

    Example:
      >>> random.normal(random.key(0), (2, 3))
    """
    return drawn(normals, key, shape, dtype, out_sharding, kinds="fc")


def normals(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    if dtypes.is_complex(dtype):
        part = dtypes.to_real(dtype)
        parts = (normals(child(key, i), shape=shape, dtype=part) for i in range(2))
        return lax.complex(*(lax.div(x, part.type(math.sqrt(2))) for x in parts))
    # XLA's loops run along the last axis: where it is short, the numbers (the same) are made in a row, and the
    # barrier keeps the loop so.
    short = len(shape) > 1 and 0 < shape[-1] < 16 and key.type.dtype.impl == "threefry2x32"
    flat = (math.prod(shape),) if short else shape
    numbers = lax.mul(lax.erf_inv(_open(key, flat, dtype)), dtype.type(math.sqrt(2)))
    return lax.reshape(lax.optimization_barrier(numbers), shape) if short else numbers


def _open(key: Array, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from (-1, 1)."""
    one = dtype.type(1)
    return interval(key, np.nextafter(-one, one), one, shape=shape, dtype=dtype)


def _positive(key: Array, shape: tuple[int, ...], dtype: Any) -> Any:
    """Floats from (0, 1): 0 is replaced by the smallest normal number."""
    return interval(key, dtypes.finfo(dtype).tiny, 1.0, shape=shape, dtype=dtype)


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None, *,
                     out_sharding: Any = None) -> Array:
    """Standard normal numbers from the interval (lower, upper).

    Args:
      key: key<fry>[], or raw words u32[2].
      lower, upper: the bounds, which broadcast to shape.
      shape: the shape of the result; None: that of the bounds.
      dtype: a float dtype; None: float32, with enable_x64 float64.

    Returns: f32[shape]. Bounds far out in one tail leave few digits: erf is near 1 there.

    Example:
      >>> abs(random.truncated_normal(random.key(0), -1.0, 1.0, (100,))).max().item() <= 1
      True
    """
    return drawn(_truncated, key, shape, dtype, out_sharding, convert=cast, lower=lower, upper=upper)


def _truncated(key: Array, lower: Any, upper: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    lower, upper = fit(lower, shape), fit(upper, shape)
    root = dtype.type(math.sqrt(2))
    ends = (lax.erf(lax.div(bound, root)) for bound in (lower, upper))
    x = lax.mul(lax.erf_inv(interval(key, *ends, shape=shape, dtype=dtype)), root)
    least, most = (lax.nextafter(lax.stop_gradient(bound), lax.full_like(bound, end))
                   for bound, end in ((lower, np.inf), (upper, -np.inf)))
    return lax.min(most, lax.max(least, x))


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Exponentially distributed numbers with mean 1: density exp(-x) for x >= 0.

    Args:
      key: key<fry>[], or raw words u32[2].
      shape: the shape of the result.
      dtype: a float dtype; None: float32, with enable_x64 float64.

    Returns: f32[shape]

    Example:
      >>> random.exponential(random.key(0), (100,)).min().item() >= 0
      True
    """
    return drawn(exponentials, key, shape, dtype, out_sharding)


def exponentials(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return lax.neg(lax.log1p(lax.neg(unit(key, shape=shape, dtype=dtype))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Laplace distributed numbers: density exp(-|x|) / 2.

    Args:
      key, shape, dtype: as in `exponential`.

    Returns: f32[shape]

    Example:
      >>> random.laplace(random.key(0), (2,)).shape
      (2,)
    """
    return drawn(_laplace, key, shape, dtype, out_sharding)


def _laplace(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = _open(key, shape, dtype)
    return lax.mul(lax.sign(x), lax.log1p(lax.neg(lax.abs(x))))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Logistically distributed numbers: the logit of uniform ones.

    Args:
      key, shape, dtype: as in `exponential`.

    Returns: f32[shape]

    Example:
      >>> random.logistic(random.key(0), (2,)).shape
      (2,)
    """
    return drawn(_logistic, key, shape, dtype, out_sharding)


def _logistic(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = _positive(key, shape, dtype)
    return lax.sub(lax.log(x), lax.log1p(lax.neg(x)))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Cauchy distributed numbers: density 1 / (pi (1 + x**2)).

    Args:
      key, shape, dtype: as in `exponential`.

    Returns: f32[shape]

    Example:
      >>> random.cauchy(random.key(0), (2,)).shape
      (2,)
    """
    return drawn(_cauchy, key, shape, dtype, out_sharding)


def _cauchy(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = interval(key, dtypes.finfo(dtype).eps, 1.0, shape=shape, dtype=dtype)
    return lax.tan(lax.mul(lax.sub(x, dtype.type(0.5)), dtype.type(math.pi)))


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None, *,
           out_sharding: Any = None) -> Array:
    """Gumbel distributed numbers: -log(e) of exponentially distributed e.

    Args:
      key, shape, dtype: as in `exponential`.
      mode: 'low' or None: one uniform number each; 'high': two, for more digits in the upper tail.

    Returns: f32[shape]

    Raises:
      ValueError: if mode is another one.

    Example:
      >>> random.gumbel(random.key(0), (2,)).shape
      (2,)
    """
    return drawn(gumbels, key, shape, dtype, out_sharding, {"mode": mode})


def gumbels(key: Array, *, shape: tuple[int, ...], dtype: Any, mode: str | None) -> Any:
    if mode == "high":
        both = unit(key, shape=(2, *shape), dtype=dtype)
        high, low = (lax.index_in_dim(both, i, 0, keepdims=False) for i in range(2))
        eps = float(dtypes.finfo(dtype).eps)
        fine = lax.add(lax.add(high, lax.mul(low, dtype.type(eps))), dtype.type(eps ** 2 / 2))
        # From 1/2 on the sum would round to 1; there the first number alone is fine enough.
        x = lax.select(lax.ge(high, dtype.type(0.5)), high, fine)
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    if mode not in (None, "low"):
        raise errors.value_error(f"mode is {mode!r}, 'low', 'high' or None is required", fix="leave mode out")
    return lax.neg(lax.log(lax.neg(lax.log(_positive(key, shape, dtype)))))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Pareto distributed numbers: density b / x**(b + 1) for x >= 1.

    Args:
      key: key<fry>[], or raw words u32[2].
      b: the exponent, positive; broadcasts to shape.
      shape: the shape of the result; None: that of the parameters.
      dtype: a float dtype; None: float32, with enable_x64 float64.

    Returns: f32[shape]

    Differentiability: in b.

    Example:
      >>> random.pareto(random.key(0), 2.0, (100,)).min().item() >= 1
      True
    """
    return drawn(_pareto, key, shape, dtype, out_sharding, b=b)


def _pareto(key: Array, b: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return lax.exp(lax.div(exponentials(key, shape=shape, dtype=dtype), fit(b, shape)))


def rayleigh(key: Any, scale: Any, shape: Any = None, dtype: Any = None, *,
             out_sharding: Any = None) -> Array:
    """Rayleigh distributed numbers: density x / scale**2 exp(-x**2 / (2 scale**2)) for x >= 0.

    Args:
      key, shape, dtype: as in `pareto`.
      scale: the mode; broadcasts to shape.

    Returns: f32[shape]

    Differentiability: in scale.

    Example:
      >>> random.rayleigh(random.key(0), 1.0, (100,)).min().item() >= 0
      True
    """
    return drawn(_rayleigh, key, shape, dtype, out_sharding, scale=scale)


def _rayleigh(key: Array, scale: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    x = lax.sqrt(lax.mul(lax.log(unit(key, shape=shape, dtype=dtype)), dtype.type(-2)))
    return lax.mul(x, fit(scale, shape))


_ONE = np.float32(1.0)


def lognormal(key: Any, sigma: Any = _ONE, shape: Any = None, dtype: Any = None, *,
              out_sharding: Any = None) -> Array:
    """Log-normal numbers: exp(sigma n) of standard normal n.

    Args:
      key, shape: as in `pareto`.
      sigma: the standard deviation of the logarithm; broadcasts to shape.
      dtype: a float or complex dtype; None: float32, with enable_x64 float64.

    Returns: f32[shape]

    Differentiability: in sigma.

    Example:
      >>> random.lognormal(random.key(0), shape=(100,)).min().item() > 0
      True
    """
    return drawn(_lognormal, key, shape, dtype, out_sharding, kinds="fc", sigma=sigma)


def _lognormal(key: Array, sigma: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    return lax.exp(lax.mul(normals(key, shape=shape, dtype=dtype), fit(sigma, shape)))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Weibull distributed numbers: scale * e**(1 / concentration) of exponentially distributed e.

    Args:
      key: key<fry>[], or raw words u32[2].
      scale, concentration: broadcast against the numbers drawn.
      shape: the shape of the numbers drawn; parameters with further axes share them.
      dtype: a float dtype; None: float32, with enable_x64 float64. Wider parameters give a wider result.

    Returns: f32[shape]

    Differentiability: in scale and concentration.

    Example:
      >>> random.weibull_min(random.key(0), 1.0, 2.0, (100,)).min().item() >= 0
      True
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    scale, concentration = real(scale, "scale"), real(concentration, "concentration")
    t = type_of(concentration)
    exact = lax.convert_element_type(concentration, dtypes.to_inexact(t.dtype))
    inverse = lax.div(lax.full_like(exact, 1), exact)
    x = sample(exponentials, key, shape=sizes(shape), dtype=dtype)
    x = _times(x, inverse, t.weak or is_scalar(concentration), lax.pow)
    return _times(x, scale, type_of(scale).weak, lax.mul)


def _times(x: Any, y: Any, weak: bool, operation: Any) -> Any:
    """operation(x, y) in their common dtype and shape."""
    t = type_of(x)
    dtype = dtypes.promote([(t.dtype, False), (type_of(y).dtype, weak)])[0]
    shape = lax.broadcast_shapes(t.shape, type_of(y).shape)
    return operation(*(fit(lax.convert_element_type(z, dtype), shape) for z in (x, y)))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Maxwell distributed numbers: the length of standard normal vectors in three dimensions.

    Args:
      key, shape, dtype: as in `exponential`.

    Returns: f32[shape]

    Example:
      >>> random.maxwell(random.key(0), (100,)).min().item() > 0
      True
    """
    return drawn(_maxwells, key, shape, dtype, out_sharding)


def _maxwells(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    vectors = normals(key, shape=(*shape, 3), dtype=dtype)
    return lax.sqrt(lax.reduce_sum(lax.mul(vectors, vectors), (len(shape),)))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Array:
    """Maxwell distributed numbers of either sign: loc + scale * sign * m.

    Args:
      key: key<fry>[], or raw words u32[2].
      loc, scale: the centre and the width, real numbers.
      shape: the leading axes of the result; (): the shape of the parameters.
      dtype: a float dtype; None: float32, with enable_x64 float64. Wider parameters give a wider result.

    Returns: f32[shape + p], where p is the shape that loc and scale broadcast to.

    Differentiability: in loc and scale.

    Example:
      >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    loc, scale = real(loc, "loc"), real(scale, "scale")
    params = lax.broadcast_shapes(type_of(loc).shape, type_of(scale).shape)
    shape = (sizes(shape) or params) + params
    x = sample(_signed_maxwells, key, shape=shape, dtype=dtype)
    x = _times(x, scale, type_of(scale).weak, lax.mul)
    return _times(x, loc, type_of(loc).weak, lax.add)  # type: ignore[no-any-return]


def _signed_maxwells(key: Array, *, shape: tuple[int, ...], dtype: Any) -> Any:
    sign = signs(child(key, 1), shape=shape, dtype=dtype)
    return lax.mul(sign, _maxwells(child(key, 0), shape=shape, dtype=dtype))


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None, *,
               out_sharding: Any = None) -> Array:
    """Numbers from [left, right] whose density is a triangle with its tip at mode.

    Args:
      key, shape, dtype: as in `pareto`.
      left, mode, right: the corners, left <= mode <= right; they broadcast to shape.

    Returns: f32[shape]

    Differentiability: in left, mode and right.

    Example:
      >>> random.triangular(random.key(0), 0.0, 1.0, 2.0, (100,)).max().item() <= 2
      True
    """
    return drawn(_triangular, key, shape, dtype, out_sharding, left=left, mode=mode, right=right)


def _triangular(key: Array, left: Any, mode: Any, right: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    left, mode, right = (fit(x, shape) for x in (left, mode, right))
    x = unit(key, shape=shape, dtype=dtype)
    width = lax.sub(right, left)
    rising = lax.add(left, lax.sqrt(lax.mul(lax.mul(x, width), lax.sub(mode, left))))
    rest = lax.sub(dtype.type(1), x)
    falling = lax.sub(right, lax.sqrt(lax.mul(lax.mul(rest, width), lax.sub(right, mode))))
    share = lax.div(lax.sub(mode, left), width)
    return lax.select(lax.lt(x, share), rising, falling)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Wald (inverse Gaussian) distributed numbers with scale 1.

    Args:
      key, shape, dtype: as in `pareto`.
      mean: the mean, positive; broadcasts to shape.

    Returns: f32[shape]

    Differentiability: in mean.

    Source: Michael, Schucany and Haas, The American Statistician 30 (1976).

    Example:
      >>> random.wald(random.key(0), 1.0, (100,)).min().item() > 0
      True
    """
    return drawn(_wald, key, shape, dtype, out_sharding, mean=mean)


def _wald(key: Array, mean: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    mean = fit(mean, shape)
    n = normals(child(key, 0), shape=shape, dtype=dtype)
    y = lax.mul(n, n)
    square = lax.mul(mean, mean)
    # The smaller root of the transformation to chi-square; the larger is mean**2 over it.
    root = lax.sqrt(lax.add(lax.mul(lax.mul(mean, dtype.type(4)), y), lax.mul(square, lax.mul(y, y))))
    two = dtype.type(2)
    x = lax.sub(lax.add(lax.div(lax.mul(square, y), two), mean), lax.mul(root, lax.div(mean, two)))
    small = lax.le(unit(child(key, 1), shape=shape, dtype=dtype), lax.div(mean, lax.add(mean, x)))
    return lax.select(small, x, lax.div(square, x))
