"""Windows: weights that fade a stretch of a signal out at its ends.

Source: A. V. Oppenheim, R. W. Schafer: Discrete-Time Signal Processing, section 7.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback.core import dtypes
from pullback.core.array import Array
from pullback.numpy.arguments import integer
from pullback.numpy.creation import ones
from pullback.numpy.elementwise import absolute, add, clip, divide, multiply, sqrt, square, subtract
from pullback.numpy.floats import i0
from pullback.numpy.ranges import arange
from pullback.numpy.transcendental import cos

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]

ArrayLike = Any


def _window(size: int, shape: Callable[[Any], Any]) -> Any:
    """`shape` of the positions -1 to 1 of `size` elements."""
    n = integer(int(size) if isinstance(size, float) and size.is_integer() else size, "M")
    if n <= 1:
        return ones((n,))
    at = arange(n, dtype=dtypes.canonicalize(float))
    return shape(divide(subtract(multiply(at, 2), n - 1), n - 1))


def bartlett(M: int) -> Array:
    """A triangular window: float[M], 0 at both ends.

    Example:
      >>> jnp.bartlett(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _window(M, lambda at: subtract(1, absolute(at)))


def hanning(M: int) -> Array:
    """The Hann window: float[M], a cosine arch, 0 at both ends.

    Example:
      >>> jnp.hanning(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _window(M, lambda at: add(0.5, multiply(0.5, cos(multiply(at, math.pi)))))


def hamming(M: int) -> Array:
    """The Hamming window: float[M], a cosine arch, 0.08 at both ends.

    Example:
      >>> jnp.hamming(3).round(3)
      Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window(M, lambda at: add(0.54, multiply(0.46, cos(multiply(at, math.pi)))))


def blackman(M: int) -> Array:
    """The Blackman window: float[M], of three terms, 0 at both ends.

    Example:
      >>> jnp.blackman(3).round(3)
      Array([-0.,  1., -0.], dtype=float32)
    """
    return _window(M, lambda at: add(add(0.42, multiply(0.5, cos(multiply(at, math.pi)))),
                                     multiply(0.08, cos(multiply(at, 2 * math.pi)))))


def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window: float[M].

    Args:
      beta: real[], how fast it falls; 0 gives ones.

    Example:
      >>> jnp.kaiser(3, 0.0)
      Array([1., 1., 1.], dtype=float32)
    """
    return _window(M, lambda at: divide(i0(multiply(beta, sqrt(clip(subtract(1, square(at)), 0)))), i0(beta)))
