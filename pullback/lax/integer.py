"""The bits of integers, element by element; operands as in elementwise.py."""

from __future__ import annotations

from typing import Any

from pullback.core.array import Array
from pullback.core.values import value
from pullback.lax.elementwise import aligned
from pullback.ops import integer

__all__ = [
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "population_count", "shift_left",
    "shift_right_arithmetic", "shift_right_logical",
]

ArrayLike = Any


# -- bits -------------------------------------------------------------------------------------------

def bitwise_not(x: ArrayLike) -> Array:
    """Every bit of x inverted.

    Args:
      x: int[...] or bool[...]

    Example:
      >>> lax.bitwise_not(jnp.array([0, 1]))
      Array([-1, -2], dtype=int32)
    """
    return integer.not_(value(x))


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits set in both x and y.

    Args:
      x, y: int[...] or bool[...]

    Example:
      >>> lax.bitwise_and(6, 3).item()
      2
    """
    return integer.and_(*aligned(x, y))


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits set in x or y.

    Args:
      x, y: int[...] or bool[...]

    Example:
      >>> lax.bitwise_or(6, 3).item()
      7
    """
    return integer.or_(*aligned(x, y))


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits in which x and y differ.

    Args:
      x, y: int[...] or bool[...]

    Example:
      >>> lax.bitwise_xor(6, 3).item()
      5
    """
    return integer.xor(*aligned(x, y))


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """x moved up by y bits; 0 where y is negative or not below the width of x.

    Args:
      x, y: int[...]

    Example:
      >>> lax.shift_left(jnp.array([1, 3]), 2)
      Array([ 4, 12], dtype=int32)
    """
    return integer.shift_left(*aligned(x, y))


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """x moved down by y bits, filled with zeros; 0 where y is negative or not below the width of x.

    Args:
      x, y: int[...]

    Example:
      >>> lax.shift_right_logical(jnp.array([8, -8]), 28)
      Array([ 0, 15], dtype=int32)
    """
    return integer.shift_right_logical(*aligned(x, y))


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """x moved down by y bits, filled with its highest bit, also where y is not below the width of x.

    Args:
      x, y: int[...]

    Example:
      >>> lax.shift_right_arithmetic(jnp.array([8, -8]), 1)
      Array([ 4, -4], dtype=int32)
    """
    return integer.shift_right_arithmetic(*aligned(x, y))


def population_count(x: ArrayLike) -> Array:
    """How many bits of x are set, in the dtype of x.

    Args:
      x: int[...]

    Example:
      >>> lax.population_count(jnp.array([7, 8]))
      Array([3, 1], dtype=int32)
    """
    return integer.population_count(value(x))


def clz(x: ArrayLike) -> Array:
    """How many zero bits precede the highest set bit of x, in the dtype of x.

    Args:
      x: int[...]

    Example:
      >>> lax.clz(jnp.array([1, 255]))
      Array([31, 24], dtype=int32)
    """
    return integer.clz(value(x))
