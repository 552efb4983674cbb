"""The generators behind keys: how each makes keys of seeds, keys of keys, and bits.

threefry2x32  two words; the block cipher threefry on counters
rbg           four words, two threefry keys; philox draws bits of all four
unsafe_rbg    four words; philox draws bits and new keys, which is fast and not well tested

The bits of both rbg equal those of real jax for one key. For a batch of keys (vmap) they are those of each key by
itself, where real jax draws from the first key alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import lax
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.ops import bits as threefry
from pullback.ops.bits import UINT, random_clone, random_unwrap, random_wrap
from pullback.ops.philox import rng_bit_generator

__all__ = ["bits", "child", "fold_in", "seeded", "split"]

_FRY = "threefry2x32"
_STRIDE = 10  # of ten blocks, unsafe_rbg uses one


def seeded(seed: Any, impl: str) -> Array:
    """The key of a seed."""
    key = threefry.random_seed(seed, impl=_FRY)
    if impl == _FRY:
        return key  # type: ignore[no-any-return]
    words = random_unwrap(key)
    return random_wrap(lax.concatenate([words, words], words.ndim - 1), impl=impl)  # type: ignore[no-any-return]


def _halves(key: Array) -> list[Any]:
    """The two threefry keys in a key of rbg."""
    words = random_unwrap(key)
    last = words.ndim - 1
    return [random_wrap(lax.slice_in_dim(words, i, i + 2, axis=last), impl=_FRY) for i in (0, 2)]


def _joined(halves: list[Any]) -> Array:
    words = [random_unwrap(half) for half in halves]
    return random_wrap(lax.concatenate(words, words[0].ndim - 1), impl="rbg")  # type: ignore[no-any-return]


def _philox(words: Any, width: int, shape: tuple[int, ...]) -> Any:
    return rng_bit_generator(words, shape=shape, dtype=UINT[width], algorithm="philox")[1]


def split(key: Array, shape: tuple[int, ...]) -> Array:
    """An array of new keys."""
    impl = key.type.dtype.impl
    if impl == _FRY:
        return threefry.random_split(key, shape=shape)  # type: ignore[no-any-return]
    if impl == "rbg":
        return _joined([threefry.random_split(half, shape=shape) for half in _halves(key)])
    count = int(np.prod(shape, dtype=np.int64))
    lead = key.type.shape
    rows = _philox(random_unwrap(key), 32, (count, _STRIDE, 4))
    rows = lax.slice_in_dim(rows, 0, 1, axis=len(lead) + 1)
    return random_wrap(lax.reshape(rows, (*lead, *shape, 4)), impl=impl)  # type: ignore[no-any-return]


def child(key: Array, number: int) -> Array:
    """The key that splitting `key` gives at this place."""
    if key.type.dtype.impl != "unsafe_rbg":
        return fold_in(key, np.uint32(number))
    keys = random_unwrap(split(random_clone(key), (number + 1,)))
    return random_wrap(lax.index_in_dim(keys, number, keys.ndim - 2, keepdims=False),  # type: ignore[no-any-return]
                       impl="unsafe_rbg")


def fold_in(key: Array, number: Any) -> Array:
    """A new key from a key and a number u32."""
    impl = key.type.dtype.impl
    if impl == _FRY:
        return threefry.random_fold_in(key, number)  # type: ignore[no-any-return]
    if impl == "rbg":
        return _joined([threefry.random_fold_in(half, number) for half in _halves(key)])
    words = random_unwrap(key)
    rows = _philox(random_unwrap(seeded(number, impl)), 32, (_STRIDE, 4))
    last = lax.index_in_dim(rows, _STRIDE - 1, type_of(rows).ndim - 2, keepdims=False)
    return random_wrap(lax.bitwise_xor(words, last), impl=impl)  # type: ignore[no-any-return]


def bits(key: Array, width: int, shape: tuple[int, ...]) -> Any:
    """Random bits in unsigned integers of that width."""
    if key.type.dtype.impl == _FRY:
        return threefry.random_bits(key, bit_width=width, shape=shape)
    return _philox(random_unwrap(key), width, shape)
