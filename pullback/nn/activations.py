"""Activation functions, element by element.

Integers become floats where the result needs them; `float` is any float dtype, and that of the result. Each function
is differentiable everywhere but where its line says what is returned.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.numpy.arguments import ArrayLike, array, like, one_axis, part
from pullback.numpy.promotion import broadcast, inexact, operand, promoted, promoted_inexact
from pullback.ops import elementwise as ops
from pullback.ops import special

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu",
    "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus",
    "sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh",
]


def _float(x: ArrayLike) -> Any:
    """`x` in the dtype it has beside a Python float."""
    if isinstance(x, Array) and dtypes.is_inexact(x.type.dtype):
        return x
    return promoted(x, 0.0)[0]


def _with(x: ArrayLike, parameter: ArrayLike) -> list[Any]:
    """`x` and a parameter in one inexact dtype, of one shape or scalars."""
    if isinstance(x, Array) and type(parameter) in (int, float) and dtypes.is_float(x.type.dtype):
        return [x, like(x, parameter)]
    values = broadcast(*promoted(x, parameter))
    return [_float(v) for v in values]


def identity(x: ArrayLike) -> Array:
    """x itself, as an array.

    Example:
      >>> nn.identity(jnp.array([1.0]))
      Array([1.], dtype=float32)
    """
    return array(x)  # type: ignore[no-any-return]


# -- rectifiers ---------------------------------------------------------------------------------------


def relu(x: ArrayLike) -> Array:
    """max(x, 0). At 0 the derivative is 0.

    Args:
      x: number[...]

    Example:
      >>> nn.relu(jnp.array([-1.0, 0.0, 2.0]))
      Array([0., 0., 2.], dtype=float32)
    """
    v = promoted(x, 0)[0]
    if isinstance(v, ConcreteArray) or not dtypes.is_float(type_of(v).dtype):
        return ops.max(v, like(v, 0))  # type: ignore[no-any-return]
    # The derivative of max would be one half at 0.
    return ops.select_n(ops.le(v, like(v, 0)), v, like(v, 0))  # type: ignore[no-any-return]


def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6). At 0 and 6 the derivative is 0.

    Args:
      x: float[...]

    Example:
      >>> nn.relu6(jnp.array([-1.0, 9.0]))
      Array([0., 6.], dtype=float32)
    """
    v = _float(x)
    return ops.clamp(like(v, 0), v, like(v, 6))  # type: ignore[no-any-return]


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """x where it is not negative, else negative_slope * x. At 0 the derivative is 1.

    Args:
      x, negative_slope: float[...]

    Example:
      >>> nn.leaky_relu(jnp.array([-1.0, 2.0]))
      Array([-0.01,  2.  ], dtype=float32)
    """
    v, slope = broadcast(*promoted(x, negative_slope))
    return ops.select_n(ops.ge(v, like(v, 0)), ops.mul(slope, v), v)  # type: ignore[no-any-return]


def _expm1_below_0(v: Any, divisor: Any = None) -> tuple[Any, Any]:
    """Whether v > 0; and exp(v / divisor) - 1 where it is not, without an overflow where it is."""
    above = ops.gt(v, like(v, 0))
    below = ops.select_n(above, v, like(v, 0))
    return above, ops.expm1(below if divisor is None else ops.div(below, divisor))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where it is positive, else alpha * (exp(x) - 1). At 0 the derivative is alpha.

    Args:
      x, alpha: float[...]

    Example:
      >>> nn.elu(jnp.array([-1.0, 2.0])).round(3)
      Array([-0.632,  2.   ], dtype=float32)
    """
    v, scale = _with(x, alpha)
    above, negative = _expm1_below_0(v)
    return ops.select_n(above, _scaled(negative, alpha, scale), v)  # type: ignore[no-any-return]


def _scaled(value: Any, given: ArrayLike, scale: Any) -> Any:
    return value if type(given) in (int, float) and given == 1 else ops.mul(scale, value)


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where it is positive, else alpha * (exp(x / alpha) - 1). At 0 the derivative is 1.

    Args:
      x, alpha: float[...]

    Example:
      >>> nn.celu(jnp.array([-1.0, 2.0])).round(3)
      Array([-0.632,  2.   ], dtype=float32)
    """
    v, scale = _with(x, alpha)
    one = type(alpha) in (int, float) and alpha == 1
    above, negative = _expm1_below_0(v, None if one else scale)
    return ops.select_n(above, _scaled(negative, alpha, scale), v)  # type: ignore[no-any-return]


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(x: ArrayLike) -> Array:
    """Scaled elu, which keeps mean 0 and variance 1 from layer to layer. At 0 the derivative is that from below.

    Args:
      x: float[...]

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).

    Example:
      >>> nn.selu(jnp.array([0.0, 1.0])).round(3)
      Array([0.   , 1.051], dtype=float32)
    """
    v = _float(x)
    above, negative = _expm1_below_0(v)
    return ops.select_n(above, ops.mul(negative, like(v, _SELU_SCALE * _SELU_ALPHA)),  # type: ignore[no-any-return]
                        ops.mul(v, like(v, _SELU_SCALE)))


# -- sigmoids -----------------------------------------------------------------------------------------


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    Args:
      x: float[...] or complex[...]

    Example:
      >>> nn.sigmoid(jnp.array([0.0]))
      Array([0.5], dtype=float32)
    """
    return ops.logistic(operand(x))  # type: ignore[no-any-return]


def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), exact for large |x|.

    Args:
      x: float[...]

    Example:
      >>> nn.log_sigmoid(jnp.array([0.0])).round(3)
      Array([-0.693], dtype=float32)
    """
    v = promoted_inexact(x, 0)[0]
    below = ops.lt(v, like(v, 0))
    # x - log1p(exp(x)) below 0, -log1p(exp(-x)) from 0 on: no exp overflows.
    tail = ops.log1p(ops.exp(ops.select_n(below, ops.neg(v), v)))
    return ops.sub(ops.select_n(below, like(v, 0), v), tail)  # type: ignore[no-any-return]


def silu(x: ArrayLike) -> Array:
    """x * sigmoid(x).

    Args:
      x: float[...] or complex[...]

    Example:
      >>> nn.silu(jnp.array([0.0, 1.0])).round(3)
      Array([0.   , 0.731], dtype=float32)
    """
    v = operand(x)
    return ops.mul(v, ops.logistic(v))  # type: ignore[no-any-return]


swish = silu


def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6. At -3 and 3 the derivative is 0.

    Args:
      x: float[...]

    Example:
      >>> nn.hard_sigmoid(jnp.array([-3.0, 0.0, 3.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    v = _float(x)
    return ops.div(relu6(ops.add(v, like(v, 3))), like(v, 6))  # type: ignore[no-any-return]


def hard_silu(x: ArrayLike) -> Array:
    """x * hard_sigmoid(x).

    Args:
      x: float[...]

    Example:
      >>> nn.hard_silu(jnp.array([-3.0, 3.0]))
      Array([-0.,  3.], dtype=float32)
    """
    v = _float(x)
    return ops.mul(v, hard_sigmoid(v))  # type: ignore[no-any-return]


hard_swish = hard_silu


def sparse_sigmoid(x: ArrayLike) -> Array:
    """(x + 1) / 2, limited to 0 and 1. At -1 and 1 half the derivative.

    Args:
      x: float[...]

    Example:
      >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    v = _float(x)
    limited = ops.min(ops.max(ops.add(v, like(v, 1)), like(v, 0)), like(v, 2))
    return ops.mul(limited, like(v, 0.5))  # type: ignore[no-any-return]


# -- soft versions of the rectifier -------------------------------------------------------------------


def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)), exact for large |x|.

    Args:
      x: float[...]

    Example:
      >>> nn.softplus(jnp.array([0.0])).round(3)
      Array([0.693], dtype=float32)
    """
    v = promoted_inexact(x, 0)[0]
    above = ops.gt(v, like(v, 0))
    # x + log1p(exp(-x)) above 0, log1p(exp(x)) up to it: no exp overflows.
    tail = ops.log1p(ops.exp(ops.select_n(above, v, ops.neg(v))))
    return ops.add(ops.select_n(above, like(v, 0), v), tail)  # type: ignore[no-any-return]


def sparse_plus(x: ArrayLike) -> Array:
    """0 up to -1, (x + 1) ** 2 / 4 up to 1, then x.

    Args:
      x: float[...]

    Example:
      >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    v = _float(x)
    middle = ops.square(ops.add(ops.clamp(like(v, -1), v, like(v, 1)), like(v, 1)))
    return ops.select_n(ops.ge(v, like(v, 1)), ops.mul(middle, like(v, 0.25)), v)  # type: ignore[no-any-return]


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + sqrt(x ** 2 + b)) / 2. Where x and b are 0 the derivative is NaN.

    Args:
      x, b: float[...]

    Example:
      >>> nn.squareplus(jnp.array([0.0]))
      Array([1.], dtype=float32)
    """
    v, width = _with(inexact(x), b)
    root = ops.sqrt(ops.add(ops.square(v), width))
    return ops.mul(ops.add(v, root), like(root, 0.5))  # type: ignore[no-any-return]


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x times the probability that a standard normal number is at most x.

    Args:
      x: float[...]
      approximate: by sigmoid(sqrt(8 / pi) * (x + 0.044715 * x ** 3)), which equals the formula with tanh.

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016).

    Example:
      >>> nn.gelu(jnp.array([-1.0, 2.0])).round(3)
      Array([-0.159,  1.955], dtype=float32)
    """
    v = inexact(x)
    v = retype(v, type_of(v).dtype)
    if not approximate:
        return ops.mul(ops.mul(v, like(v, 0.5)),  # type: ignore[no-any-return]
                       special.erfc(ops.mul(v, like(v, -math.sqrt(0.5)))))
    slope = math.sqrt(8 / math.pi)
    inner = ops.mul(v, ops.add(ops.mul(ops.square(v), like(v, slope * 0.044715)), like(v, slope)))
    return ops.mul(v, ops.logistic(inner))  # type: ignore[no-any-return]


def mish(x: ArrayLike) -> Array:
    """x * tanh(softplus(x)).

    Args:
      x: float[...]

    Example:
      >>> nn.mish(jnp.array([0.0, 1.0])).round(3)
      Array([0.   , 0.865], dtype=float32)
    """
    v = promoted_inexact(x, 0)[0]
    return ops.mul(v, ops.tanh(softplus(v)))  # type: ignore[no-any-return]


# -- others -------------------------------------------------------------------------------------------


def tanh(x: ArrayLike, /) -> Array:
    """The hyperbolic tangent.

    Args:
      x: float[...] or complex[...]

    Example:
      >>> nn.tanh(jnp.array([0.0]))
      Array([0.], dtype=float32)
    """
    return ops.tanh(inexact(x))  # type: ignore[no-any-return]


def hard_tanh(x: ArrayLike) -> Array:
    """x limited to -1 and 1. At -1 and 1 the derivative is 1.

    Args:
      x: number[...]

    Example:
      >>> nn.hard_tanh(jnp.array([-2.0, 0.5]))
      Array([-1. ,  0.5], dtype=float32)
    """
    v = promoted(x, 1)[0]
    above = ops.gt(v, like(v, 1))
    if dtypes.kind(type_of(v).dtype) != "u":
        v = ops.select_n(ops.lt(v, like(v, -1)), v, like(v, -1))
    return ops.select_n(above, v, like(v, 1))  # type: ignore[no-any-return]


def soft_sign(x: ArrayLike) -> Array:
    """x / (|x| + 1).

    Args:
      x: float[...]

    Example:
      >>> nn.soft_sign(jnp.array([-1.0, 3.0]))
      Array([-0.5 ,  0.75], dtype=float32)
    """
    v = promoted_inexact(x, 0)[0]
    t = type_of(v)
    size = retype(ops.abs(v), t.dtype, t.weak)
    return ops.div(v, ops.add(size, like(v, 1)))  # type: ignore[no-any-return]


def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)), exact for small and for large x. At 0 it is -inf, and its derivative inf.

    Args:
      x: float[...], not negative; NaN for negative numbers.

    Source: Maechler, Accurately Computing log(1 - exp(-|a|)) (2012).

    Example:
      >>> nn.log1mexp(jnp.array([1.0])).round(3)
      Array([-0.459], dtype=float32)
    """
    v = inexact(x)
    small = ops.lt(v, like(v, math.log(2)))
    # Each branch gets 1 where the other one is taken, so that its derivative is finite there.
    near = ops.log(ops.neg(ops.expm1(ops.neg(ops.select_n(small, like(v, 1), v)))))
    far = ops.log1p(ops.neg(ops.exp(ops.neg(ops.select_n(small, v, like(v, 1))))))
    return ops.select_n(small, far, near)  # type: ignore[no-any-return]


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half of x along an axis times the sigmoid of the second.

    Args:
      x: float[..., 2 n]
      axis: the axis that is halved.

    Raises:
      ValueError: if the size of the axis is odd.

    Example:
      >>> nn.glu(jnp.array([2.0, 0.0]))
      Array([1.], dtype=float32)
    """
    v = array(x)
    place = one_axis(axis, v.type.ndim)
    n = v.type.shape[place]
    if n % 2:
        raise errors.value_error(f"got {v.type}, whose axis {place} has size {n}; an even size is required",
                                 fix="name the axis that holds values and gates, one half each")
    return ops.mul(part(v, place, 0, n // 2), ops.logistic(part(v, place, n // 2, n)))  # type: ignore[no-any-return]
