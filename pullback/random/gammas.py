"""The gamma distribution, and those made of gamma distributed numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback import lax
from pullback import numpy as jnp
from pullback.api.batch import vmap
from pullback.api.custom import custom_jvp
from pullback.api.jit import jit
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import concrete, type_of
from pullback.lax.operand import placed
from pullback.ops.gammas import log_gamma_slope, random_gamma_grad
from pullback.random.arguments import cast, common_shape, count, dtype_of, fit, integer, one_key, real, sizes
from pullback.random.continuous import exponentials, normals
from pullback.random.discrete import signs
from pullback.random.generators import child, split
from pullback.random.uniforms import unit
from pullback.random.whole import drawn

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "gamma", "generalized_normal", "loggamma", "t"]


# -- one number per key -----------------------------------------------------------------------------------


def _marsaglia(key: Array, a: Any, *, log_space: bool) -> Any:
    """One number of the gamma distribution, or its logarithm, of one key and one parameter.

    Of a < 1 it is one of a + 1 times a power of a uniform number.

    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
    """
    dtype = type_of(a).dtype
    key, extra = child(key, 0), child(key, 1)
    plain = a >= 1
    d = jnp.where(plain, a, a + 1) - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / jnp.sqrt(d)

    def shape(state: Any) -> Any:
        key, _, _ = state
        key, sub = child(key, 0), child(key, 1)
        x = normals(sub, shape=(), dtype=dtype)
        return key, x, x * c + 1

    def attempt(state: Any) -> Any:
        key, _, _, _ = state
        key, sub, other = (child(key, i) for i in range(3))
        zero = jnp.zeros((), dtype)
        _, x, v = lax.while_loop(lambda s: s[2] <= 0, shape, (sub, zero, zero - 1))
        return key, x * x, v * v * v, unit(other, shape=(), dtype=dtype)

    def refused(state: Any) -> Any:
        _, square, v, u = state
        quick = u >= 1 - dtype.type(0.0331) * (square * square)
        return quick & (jnp.log(u) >= square * dtype.type(0.5) + d * (1 - v + jnp.log(v)))

    start = (key, jnp.zeros((), dtype), jnp.ones((), dtype), jnp.full((), 2, dtype))
    _, _, v, _ = lax.while_loop(refused, attempt, start)
    u = 1 - unit(extra, shape=(), dtype=dtype)
    if log_space:
        return jnp.log(d) + jnp.log(v) + jnp.where(plain, 0, jnp.log(u) / a)
    return d * v * jnp.where(plain, 1, u ** (1 / a))


def _each(key: Array, a: Any, log_space: bool) -> Any:
    shape = type_of(a).shape
    keys = split(key, (count(shape),))
    one = functools.partial(_marsaglia, log_space=log_space)
    return lax.reshape(vmap(one)(keys, lax.reshape(a, (count(shape),))), shape)


@custom_jvp
def _numbers(key: Array, a: Any) -> Any:
    return _each(key, a, False)


@custom_jvp
def _logarithms(key: Array, a: Any) -> Any:
    return _each(key, a, True)


@_numbers.defjvp
def _numbers_jvp(primals: Any, tangents: Any) -> Any:
    x = _numbers(*primals)
    return x, random_gamma_grad(primals[1], x) * tangents[1]


@_logarithms.defjvp
def _logarithms_jvp(primals: Any, tangents: Any) -> Any:
    y = _logarithms(*primals)
    return y, log_gamma_slope(primals[1], y) * tangents[1]


# Of chi-square with m = 1 / (degrees of freedom) and z = n sqrt(m), n normal: the cube root of its quotient by its mean
# as a polynomial in z (rows, the highest power first) and m (columns, the lowest first). As in real jax, its constant
# is 1 and not 1.0000886.
# Source: Goldstein, "Algorithm 451: chi-square quantiles", Communications of the ACM 16 (1973).
_CUBE_ROOT = (
    (9.780499e-5, -1.450117e-3, 1.565326e-3), (-8.426812e-4, 2.530010e-3, 1.060438e-3),
    (3.125580e-3, 5.169654e-3, -6.950356e-3), (-8.553069e-3, -1.153761e-2, -1.323293e-2),
    (1.348028e-4, 1.128186e-2, 2.277679e-2), (0.4713941, 2.607083e-2, -8.986007e-3), (1.0, -0.2237368, -1.513904e-2))
_RAISED = 4


def _approximate(key: Array, a: Any, log_space: bool) -> Any:
    """Numbers of a + 4 by a normal approximation, times powers of four uniform ones; it cannot be refused."""
    t = type_of(a)
    dtype, shape = t.dtype, t.shape
    raised = a + _RAISED
    m = 1 / (2 * raised)
    z = normals(child(key, 0), shape=shape, dtype=dtype) * lax.rsqrt(2 * raised)
    total: Any = None
    for c0, c1, c2 in _CUBE_ROOT:
        inner = m * (m * dtype.type(c2) + dtype.type(c1)) + dtype.type(c0)
        total = inner if total is None else total * z + inner
    y = jnp.log(raised) + 3 * jnp.log(jnp.maximum(total, dtypes.finfo(dtype).tiny))
    places = jnp.arange(_RAISED, dtype=dtype).reshape((_RAISED,) + (1,) * len(shape))
    y = y + jnp.sum(-exponentials(child(key, 1), shape=(_RAISED, *shape), dtype=dtype) / (a[None] + places), axis=0)
    return y if log_space else jnp.exp(y)


@functools.partial(jit, static_argnames=("log_space", "method"))
def _gammas(key: Array, a: Any, *, log_space: bool, method: str) -> Any:
    if method == "approximate":
        return _approximate(key, a, log_space)
    return (_logarithms if log_space else _numbers)(key, a)


def gammas(key: Array, a: Any, *, shape: tuple[int, ...], dtype: Any, log_space: bool, method: str = "exact") -> Any:
    """Numbers of the gamma distribution, or their logarithms."""
    if method not in ("exact", "approximate"):
        raise errors.value_error(f"method is {method!r}, 'exact' or 'approximate' is required", fix="leave it out")
    return _gammas(key, jnp.broadcast_to(lax.convert_element_type(a, dtype), shape), log_space=log_space, method=method)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
          ) -> Array:
    """Numbers of the gamma distribution: density x**(a - 1) exp(-x) / gamma(a) for x > 0.

    Args:
      key: key<fry>[], or raw words u32[2].
      a: the shape parameter, positive; broadcasts to shape. NaN for negative ones, 0 for 0.
      shape: the shape of the result; None: that of the parameter.
      dtype: a float dtype; None: float32, with enable_x64 float64.
      method: 'exact': by rejection; 'approximate': a fixed number of operations, with errors of the distribution of
        about 1e-4. It draws other numbers.

    Returns: f32[shape]

    Differentiability: in a, by implicit reparameterisation: the probability of what lies below stays. Of 'approximate'
      through its formula.

    Source: Marsaglia and Tsang, ACM TOMS 26 (2000); approximate: Goldstein, CACM Algorithm 451 (1973).

    Example:
      >>> random.gamma(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    return drawn(gammas, key, shape, dtype, out_sharding, {"log_space": False, "method": method}, convert=cast, a=a)


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact", out_sharding: Any = None
             ) -> Array:
    """Logarithms of gamma distributed numbers, also of those that are too small for a float.

    Args:
      key, a, shape, dtype, method: as in `gamma`.

    Returns: f32[shape]

    Differentiability: as in `gamma`.

    Example:
      >>> random.loggamma(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    return drawn(gammas, key, shape, dtype, out_sharding, {"log_space": True, "method": method}, convert=cast, a=a)


# -- quotients and powers of them ---------------------------------------------------------------------------


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
         out_sharding: Any = None) -> Array:
    """Numbers of the beta distribution: density x**(a - 1) (1 - x)**(b - 1) / B(a, b) from 0 to 1.

    Args:
      key, shape, dtype, method: as in `gamma`.
      a, b: the parameters, positive; they broadcast to shape.

    Returns: f32[shape], x / (x + y) of gamma distributed x and y.

    Differentiability: in a and b, as in `gamma`.

    Example:
      >>> random.beta(random.key(0), 2.0, 3.0).shape
      ()
    """
    return drawn(_betas, key, shape, dtype, out_sharding, {"method": method}, a=a, b=b)


def _betas(key: Array, a: Any, b: Any, *, shape: tuple[int, ...], dtype: Any, method: str) -> Any:
    x, y = (gammas(child(key, i), p, shape=shape, dtype=dtype, log_space=True, method=method)
            for i, p in enumerate((a, b)))
    most = lax.max(x, y)
    x, y = lax.exp(lax.sub(x, most)), lax.exp(lax.sub(y, most))
    return lax.div(x, lax.add(x, y))


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, method: str = "exact",
              out_sharding: Any = None) -> Array:
    """Numbers of the chi-square distribution: twice gamma distributed ones of df / 2.

    Args:
      key, shape, dtype, method: as in `gamma`.
      df: the degrees of freedom, positive; they broadcast to shape.

    Returns: f32[shape]

    Differentiability: in df, as in `gamma`.

    Example:
      >>> random.chisquare(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    return drawn(_chisquares, key, shape, dtype, out_sharding, {"method": method}, df=df)


def _chisquares(key: Array, df: Any, *, shape: tuple[int, ...], dtype: Any, method: str = "exact") -> Any:
    y = gammas(key, lax.div(df, dtype.type(2)), shape=shape, dtype=dtype, log_space=True, method=method)
    return lax.mul(lax.exp(y), dtype.type(2))


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of the F distribution: the quotient of two chi-square numbers, each over its degrees of freedom.

    Args:
      key, shape, dtype: as in `gamma`.
      dfnum, dfden: the degrees of freedom above and below, positive; they broadcast to shape.

    Returns: f32[shape]

    Differentiability: in dfnum and dfden, as in `gamma`.

    Example:
      >>> random.f(random.key(0), 2.0, 3.0, (2,)).shape
      (2,)
    """
    return drawn(_quotients, key, shape, dtype, out_sharding, dfnum=dfnum, dfden=dfden)


def _quotients(key: Array, dfnum: Any, dfden: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    below, above = (lax.div(_chisquares(child(key, i), df, shape=shape, dtype=dtype), fit(df, shape))
                    for i, df in enumerate((dfden, dfnum)))
    return lax.div(above, below)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers of Student's t distribution: normal ones over the root of chi-square ones per degree of freedom.

    Args:
      key, shape, dtype: as in `gamma`.
      df: the degrees of freedom, positive; they broadcast to shape.

    Returns: f32[shape]

    Differentiability: in df, as in `gamma`.

    Example:
      >>> random.t(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    return drawn(_students, key, shape, dtype, out_sharding, df=df)


def _students(key: Array, df: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    n = normals(child(key, 0), shape=shape, dtype=dtype)
    half = lax.div(df, dtype.type(2))
    quotient = lax.div(fit(half, shape), gammas(child(key, 1), half, shape=shape, dtype=dtype, log_space=False))
    return lax.mul(n, lax.sqrt(quotient))


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Vectors of probabilities of the Dirichlet distribution.

    Args:
      key, dtype: as in `gamma`.
      alpha: f32[..., n], the concentrations, positive.
      shape: the shape of the result less its last axis, to which alpha's other axes broadcast; None: these axes.

    Returns: f32[shape + (n,)], gamma distributed numbers over their sum.

    Raises:
      ValueError: if alpha has no axis.

    Differentiability: in alpha, as in `gamma`.

    Example:
      >>> random.dirichlet(random.key(0), jnp.ones(3)).sum().round(5).item()
      1.0
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    alpha = cast(alpha, dtype, "alpha")
    own = type_of(alpha).shape
    if not own:
        raise errors.value_error("alpha has no axes, at least one is required", fix="pass a vector of concentrations")
    shape = own[:-1] if shape is None else common_shape(shape, lax.empty(own[:-1], dtype))
    y = gammas(key, alpha, shape=(*shape, own[-1]), dtype=dtype, log_space=True)
    if not own[-1]:
        return placed(y, out_sharding)
    y = jnp.exp(y - lax.stop_gradient(jnp.max(y, axis=-1, keepdims=True)))
    return placed(y / jnp.sum(y, axis=-1, keepdims=True), out_sharding)


def generalized_normal(key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Numbers with a density proportional to exp(-|x|**p).

    Args:
      key: as in `gamma`.
      p: the exponent, positive; broadcasts to shape. 2: normal numbers over sqrt(2); 1: Laplace distributed ones.
      shape: the shape of the result.
      dtype: as in `gamma`; a p of a wider dtype gives a wider result.

    Returns: f32[shape], signs times gamma distributed numbers of 1 / p to the power 1 / p.

    Differentiability: in p, as in `gamma`.

    Example:
      >>> random.generalized_normal(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    p = real(p, "p")
    shape = common_shape(sizes(shape), p)
    return placed(_generalized(key, p, shape, dtype), out_sharding)


def _generalized(key: Array, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    inverse = 1 / jnp.asarray(p)
    x = gammas(child(key, 0), inverse, shape=shape, dtype=dtype, log_space=False)
    return signs(child(key, 1), shape=shape, dtype=dtype) * x ** inverse


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Array:
    """Points that fill the unit ball of the p-norm evenly.

    Args:
      key, dtype: as in `gamma`.
      d: the dimension, from 0.
      p: the exponent of the norm, positive; inf: the cube (real jax gives its corners alone).
      shape: the shape of the result less its last axis.

    Returns: f32[shape + (d,)]

    Source: Barthe, Guedon, Mendelson and Naor, "A probabilistic approach to the geometry of the l_p^n ball", Annals of
      Probability 33 (2005).

    Example:
      >>> jnp.linalg.norm(random.ball(random.key(0), 3)).item() <= 1
      True
    """
    key = one_key(key)
    dtype = dtype_of(dtype, np.float64, "f")
    d, shape = integer(d, "d"), sizes(shape)
    if d < 0:
        raise errors.value_error(f"d is {d}, at least 0 is required", fix="pass the dimension")
    p = real(p, "p")
    if type_of(p).shape:
        raise errors.value_error(f"p is {type_of(p)}, a number is required", fix="vmap the call over exponents")
    if concrete(p) == math.inf:
        x = unit(key, shape=(*shape, d), dtype=dtype)
        return placed(lax.sub(lax.mul(x, dtype.type(2)), dtype.type(1)), out_sharding)
    x = _generalized(child(key, 0), p, (*shape, d), dtype)
    e = exponentials(child(key, 1), shape=shape, dtype=dtype)
    norm = (jnp.sum(jnp.abs(x) ** p, axis=-1) + e) ** (1 / jnp.asarray(p))
    return placed(x / norm[..., None], out_sharding)
