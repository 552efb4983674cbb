"""Initial values of weights: functions (key, shape, dtype) -> array, and functions that make such functions.

Random ones give the numbers that jax gives for the same key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pullback import lax, random
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, array
from pullback.ops import elementwise as ops
from pullback.ops.move import as_shape

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """A function that makes an array of a shape and dtype, from a key where it is random."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
        """The array."""


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.nn.initializers.{name}")


def _dtype(dtype: Any, kinds: str = "biufc") -> Any:
    """The dtype asked for, else the default float dtype."""
    found = dtypes.canonicalize(dtypes.float64 if dtype is None else dtype)
    if dtypes.kind(found) not in kinds:
        raise errors.value_error(f"dtype is {dtypes.short_name(found)}, a float{' or complex' * ('c' in kinds)} dtype "
                                 "is required", fix="leave dtype out, or convert the result with astype")
    return found


# -- constants ----------------------------------------------------------------------------------------


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Zeros; the key is not looked at.

    Args:
      key: anything.
      shape: of the result.
      dtype: None: the default float dtype.

    Example:
      >>> nn.initializers.zeros(random.key(0), (2,))
      Array([0., 0.], dtype=float32)
    """
    return placed(lax.full(as_shape(shape), 0, _dtype(dtype)), out_sharding)  # type: ignore[no-any-return]


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Ones; as zeros.

    Example:
      >>> nn.initializers.ones(random.key(0), (2,))
      Array([1., 1.], dtype=float32)
    """
    return placed(lax.full(as_shape(shape), 1, _dtype(dtype)), out_sharding)  # type: ignore[no-any-return]


def constant(value: ArrayLike, dtype: Any = None) -> Initializer:
    """An initializer that gives `value`, broadcast to the shape.

    Args:
      value: number[...]
      dtype: of arrays for which none is asked; None: the default float dtype.

    Example:
      >>> nn.initializers.constant(2.0)(random.key(0), (2,))
      Array([2., 2.], dtype=float32)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        held = retype(array(promotion.operand(value)), _dtype(dtype))
        return placed(promotion.broadcast_to(held, as_shape(shape)), out_sharding)  # type: ignore[no-any-return]

    return init


# -- one distribution for all weights -----------------------------------------------------------------


def _times(x: Any, factor: Any) -> Any:
    dtype = type_of(x).dtype
    return ops.mul(x, retype(array(promotion.operand(factor)), dtype))


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that gives numbers from the interval [0, scale).

    Args:
      scale: the end of the interval.
      dtype: a float dtype, of arrays for which none is asked; None: the default float dtype.

    Example:
      >>> nn.initializers.uniform(0.1)(random.key(0), (100,)).max().item() <= 0.1
      True
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found = _dtype(dtype, "f")
        return placed(_times(random.uniform(key, shape, found), scale), out_sharding)  # type: ignore[no-any-return]

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """An initializer that gives normal numbers.

    Args:
      stddev: their standard deviation.
      dtype: a float or complex dtype, of arrays for which none is asked; None: the default float dtype.

    Example:
      >>> nn.initializers.normal(0.1)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found = _dtype(dtype, "fc")
        return placed(_times(random.normal(key, shape, found), stddev), out_sharding)  # type: ignore[no-any-return]

    return init


def truncated_normal(stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0) -> Initializer:
    """An initializer that gives `stddev` times standard normal numbers from an interval.

    Args:
      stddev: that of the normal numbers before those outside are left out, which makes it smaller.
      dtype: a float dtype, of arrays for which none is asked; None: the default float dtype.
      lower, upper: the interval of the standard normal numbers.

    Example:
      >>> abs(nn.initializers.truncated_normal(1.0)(random.key(0), (100,))).max().item() <= 2
      True
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found = _dtype(dtype, "f")
        return placed(_times(random.truncated_normal(key, lower, upper, shape, found), stddev),
                      # type: ignore[no-any-return]
                      out_sharding)

    return init


# -- distributions that suit the number of inputs and outputs -----------------------------------------

# The standard deviation of standard normal numbers from (-2, 2).
_TRUNCATED = math.sqrt(1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2)))
# What stands for it where complex numbers of magnitudes up to 2 are drawn; that of jax, so as to give its numbers.
_TRUNCATED_COMPLEX = 0.9531116438


def _sizes(axes: Axes, shape: tuple[int, ...], name: str) -> int:
    """The product of the sizes of axes."""
    product = 1
    for axis in (axes,) if isinstance(axes, int) else axes:
        if not -len(shape) <= axis < len(shape):
            raise errors.value_error(f"{name} is {axes}, which an array of shape {shape} does not have",
                                     fix="weights have an axis of inputs and one of outputs: name them, or use normal")
        product *= shape[axis]
    return product


def variance_scaling(scale: Any, mode: str, distribution: str, in_axis: Axes = -2, out_axis: Axes = -1,
                     batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """An initializer whose numbers have the variance scale / n, with n the number of inputs or outputs of a unit.

    Args:
      scale: the factor of the variance.
      mode: n is 'fan_in': the number of inputs; 'fan_out': of outputs; 'fan_avg': their mean; 'fan_geo_avg': their
        geometric mean.
      distribution: 'normal'; 'truncated_normal': without what is further than two standard deviations from 0;
        'uniform'.
      in_axis, out_axis: the axes of inputs and outputs; those not named multiply both, as in convolutions.
      batch_axis: axes that hold weights of units that have nothing to do with one another.
      dtype: a float or complex dtype, of arrays for which none is asked; None: the default float dtype.

    Raises:
      ValueError: for another mode or distribution; later, for a shape without these axes.

    Source: He et al., Delving Deep into Rectifiers (2015); Glorot and Bengio (2010).

    Example:
      >>> nn.initializers.variance_scaling(1.0, "fan_in", "normal")(random.key(0), (2, 3)).shape
      (2, 3)
    """
    if mode not in ("fan_in", "fan_out", "fan_avg", "fan_geo_avg"):
        raise errors.value_error(f"mode is {mode!r}; 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg' is required",
                                 fix="'fan_in' keeps the variance of activations, 'fan_out' that of gradients")
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise errors.value_error(f"distribution is {distribution!r}; 'truncated_normal', 'normal' or 'uniform' is "
                                 "required",
                                 fix="check the spelling")
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found, sizes = _dtype(dtype, "fc"), as_shape(shape)
        n = _fan(mode, sizes, in_axis, out_axis, batch_axis)
        # The few roundings here are jax's.
        real = dtypes.to_real(found)
        variance = real.type(scale / n if n else math.inf)
        draw = {"normal": _normal, "truncated_normal": _truncated, "uniform": _uniform}[distribution]
        return placed(draw(key, sizes, found, variance), out_sharding)  # type: ignore[no-any-return]

    return init


def _fan(mode: str, shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> float:
    """How many inputs or outputs a unit has."""
    inputs, outputs = _sizes(in_axis, shape, "in_axis"), _sizes(out_axis, shape, "out_axis")
    if 0 in shape:
        return 0
    window = math.prod(shape) / inputs / outputs / _sizes(batch_axis, shape, "batch_axis")
    fan_in, fan_out = inputs * window, outputs * window
    return {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out)}[mode]


def _normal(key: Any, shape: tuple[int, ...], dtype: Any, variance: Any) -> Any:
    return _times(random.normal(key, shape, dtype), np.sqrt(variance))


def _truncated(key: Any, shape: tuple[int, ...], dtype: Any, variance: Any) -> Any:
    real = dtypes.to_real(dtype)
    if dtypes.is_complex(dtype):
        deviation = np.sqrt(variance) / real.type(_TRUNCATED_COMPLEX)
        # Of squared magnitudes, which are exponential, those up to 4.
        return _in_a_disc(key, shape, dtype, deviation, lambda u: ops.neg(ops.log1p(_times(u, math.expm1(-4)))))
    deviation = np.sqrt(variance) / real.type(_TRUNCATED)
    return _times(random.truncated_normal(key, -2, 2, shape, dtype), deviation)


def _uniform(key: Any, shape: tuple[int, ...], dtype: Any, variance: Any) -> Any:
    real = dtypes.to_real(dtype)
    if dtypes.is_complex(dtype):
        return _in_a_disc(key, shape, dtype, np.sqrt(real.type(2) * variance), lambda u: u)
    return _times(random.uniform(key, shape, dtype, -1), np.sqrt(real.type(3) * variance))


def _in_a_disc(key: Any, shape: tuple[int, ...], dtype: Any, factor: Any, squared_magnitude: Any) -> Any:
    """Complex numbers of any direction, whose squared magnitudes are a function of uniform numbers, times a factor."""
    real = dtypes.to_real(dtype)
    for_magnitude, for_direction = (random.split(key)[i] for i in (0, 1))
    magnitude = ops.sqrt(squared_magnitude(random.uniform(for_magnitude, shape, real)))
    angle = _times(random.uniform(for_direction, shape, real), 2 * math.pi)
    radius = _times(magnitude, factor)
    return ops.complex(ops.mul(radius, ops.cos(angle)), ops.mul(radius, ops.sin(angle)))


def glorot_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(1, 'fan_avg', 'uniform').

    Example:
      >>> abs(nn.initializers.glorot_uniform()(random.key(0), (2, 4))).max().item() <= 1
      True
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(1, 'fan_avg', 'truncated_normal').

    Example:
      >>> nn.initializers.glorot_normal()(random.key(0), (2, 3)).shape
      (2, 3)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def lecun_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(1, 'fan_in', 'uniform').

    Example:
      >>> abs(nn.initializers.lecun_uniform()(random.key(0), (3, 4))).max().item() <= 1
      True
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(1, 'fan_in', 'truncated_normal').

    Example:
      >>> nn.initializers.lecun_normal()(random.key(0), (2, 3)).shape
      (2, 3)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(2, 'fan_in', 'uniform').

    Example:
      >>> abs(nn.initializers.he_uniform()(random.key(0), (6, 4))).max().item() <= 1
      True
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None) -> Initializer:
    """variance_scaling(2, 'fan_in', 'truncated_normal').

    Example:
      >>> nn.initializers.he_normal()(random.key(0), (2, 3)).shape
      (2, 3)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal

# -- matrices that keep lengths -----------------------------------------------------------------------


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer that gives `scale` times uniformly distributed orthogonal matrices.

    Args:
      scale: the factor.
      column_axis: the axis of the outputs; the others together are that of the inputs. Those vectors are orthogonal of
        which there are less.
      dtype: a float or complex dtype that LAPACK has, of arrays for which none is asked; None: the default float dtype.

    Raises:
      ValueError: later, for less than two axes.

    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning (2013).

    Example:
      >>> nn.initializers.orthogonal()(random.key(0), (2, 2)).shape
      (2, 2)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found, sizes = _dtype(dtype, "fc"), as_shape(shape)
        if len(sizes) < 2:
            raise errors.value_error(f"the shape is {sizes}, at least two axes are required",
                                     fix="use normal for a vector")
        axis = errors.check_axis(column_axis, len(sizes))
        others = sizes[:axis] + sizes[axis + 1:]
        q = random.orthogonal(key, math.prod(others), (), found, sizes[axis])
        last = len(others)
        q = lax.transpose(lax.reshape(q, (*others, sizes[axis])), [*range(axis), last, *range(axis, last)])
        return placed(_times(q, scale), out_sharding)  # type: ignore[no-any-return]

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """An initializer of convolutions that act on each position by an orthogonal matrix: zeros but in the middle.

    Args:
      scale, dtype: as in `orthogonal`, for the matrix.
      column_axis: not looked at: inputs and outputs are the last two axes.

    Raises:
      ValueError: later, unless the shape is (*window, inputs, outputs) with one to three axes of the window and no more
        inputs than outputs.

    Source: Xiao et al., Dynamical isometry and a mean field theory of CNNs (2018).

    Example:
      >>> nn.initializers.delta_orthogonal()(random.key(0), (3, 2, 2)).shape
      (3, 2, 2)
    """
    def init(key: Any, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Array:
        found, sizes = _dtype(dtype, "fc"), as_shape(shape)
        if not 3 <= len(sizes) <= 5 or sizes[-2] > sizes[-1]:
            raise errors.value_error(f"the shape is {sizes}; three to five axes, and no more inputs (axis -2) than "
                                     "outputs (axis -1) are required", fix="use orthogonal for other weights")
        whole = _times(random.orthogonal(key, sizes[-2], (), found, sizes[-1]), scale)
        middle = [((n - 1) // 2, n // 2, 0) for n in sizes[:-2]]
        block = lax.reshape(whole, (*[1] * len(middle), *sizes[-2:]))
        return placed(lax.pad(block, found.type(0), [*middle, (0, 0, 0), (0, 0, 0)]),  # type: ignore[no-any-return]
                      out_sharding)

    return init
