"""Random bits from a state that is given and comes back: XLA's generators, as they are."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.values import value
from pullback.lax.operand import operands, placed
from pullback.ops import philox
from pullback.ops.move import as_shape

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]


class RandomAlgorithm(enum.IntEnum):
    """A generator of random bits. The default one is philox on every device."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def rng_bit_generator(key: Any, shape: Any, dtype: Any = np.uint32,
                      algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT, *, out_sharding: Any = None
                      ) -> tuple[Array, Array]:
    """Random bits from a state, and the state that follows it.

    Args:
      key: u32[4] or u64[2], the state; random.key_data of a key of 'rbg' is one.
      shape: the shape of the bits.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: a RandomAlgorithm, or its number.

    Returns: the new state, and uint[shape].

    Raises:
      TypeError: if key or dtype is another one.
      ValueError: if algorithm is none of RandomAlgorithm.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).

    Example:
      >>> state, bits = lax.rng_bit_generator(jnp.arange(4, dtype="uint32"), (2,))
      >>> bits.shape
      (2,)
    """
    try:
        kind = RandomAlgorithm(algorithm)
    except ValueError:
        raise errors.value_error(f"algorithm is {algorithm!r}, a lax.RandomAlgorithm is required",
                                 fix="leave it out") from None
    name = "threefry" if kind is RandomAlgorithm.RNG_THREE_FRY else "philox"
    found = dtypes.canonicalize_requested(dtype, "rng_bit_generator")
    state, bits = philox.rng_bit_generator(value(key), shape=as_shape(shape), dtype=found, algorithm=name)
    return state, placed(bits, out_sharding)


def rng_uniform(a: Any, b: Any, shape: Any) -> Array:
    """Numbers from [a, b), from a generator whose state is hidden: the same call gives other numbers each time.

    Args:
      a, b: numbers without axes, of one dtype.
      shape: the shape of the result.

    Raises:
      TypeError: if the dtypes differ.
      ValueError: if a bound has axes.

    Example:
      >>> lax.rng_uniform(jnp.float32(0), jnp.float32(1), (2,)).shape
      (2,)
    """
    return philox.rng_uniform(*operands(a, b), shape=as_shape(shape))  # type: ignore[no-any-return]
