"""Keys: made from seeds, split into new ones, and read."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import lax
from pullback.core import config, dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.ops.bits import random_clone, random_unwrap, random_wrap
from pullback.random import generators
from pullback.random.arguments import checked_keys, is_raw, one_key, sizes

__all__ = [
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split", "wrap_key_data",
]

_MASK = 0xFFFFFFFF


def key_dtype(impl_spec: Any = None) -> dtypes.KeyDtype:
    """The dtype of keys of an implementation.

    Args:
      impl_spec: 'threefry2x32', 'rbg' or 'unsafe_rbg'; None for the default; a dtype of keys comes back as it is.

    Example:
      >>> random.key_dtype()
      key<fry>
    """
    if isinstance(impl_spec, dtypes.KeyDtype):
        return impl_spec
    return dtypes.key_dtype(config.default_prng_impl.value if impl_spec is None else impl_spec)


def _implementation(impl: Any, dtype: Any) -> str:
    if impl is not None and dtype is not None and key_dtype(impl) != key_dtype(dtype):
        raise errors.value_error(f"impl {impl!r} and dtype {dtype} name two implementations",
                                 fix="give one of them")
    return key_dtype(dtype if impl is None else impl).impl


def _seeded(seed: Any, impl: str) -> Array:
    if isinstance(seed, Array) and seed.type.is_key:
        raise errors.type_error(f"got the key {seed.type}, an integer seed is required",
                                fix="use the key itself, or random.fold_in(key, number)")
    if isinstance(seed, np.ndarray) and seed.ndim == 0:
        seed = seed[()]
    if isinstance(seed, (int, np.integer)):
        number = int(seed)
        if isinstance(seed, int) and not -1 << 63 <= number < 1 << 63:
            raise errors.make(OverflowError, f"the seed {number} does not fit into 64 bits",
                              op=errors.source.called(), fix="reduce it, e.g. seed % 2 ** 63")
        wide = config.enable_x64.value and (isinstance(seed, int) or seed.dtype.itemsize == 8)
        found: Any = np.uint64(number & 0xFFFFFFFFFFFFFFFF) if wide else np.uint32(number & _MASK)
    else:
        found = value(seed)
        t = type_of(found)
        if t.shape:
            raise errors.type_error(f"got a seed of shape {t.shape}, a single integer is required",
                                    fix="vmap the call over the seeds")
        if not dtypes.is_integer(t.dtype):
            raise errors.type_error(f"got a seed of type {t}, an integer is required",
                                    fix="convert it with int()")
    return generators.seeded(found, impl)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """A key for the functions of this package.

    Args:
      seed: an integer without axes, of at most 64 bits. Without enable_x64 its lower 32 bits count.
      impl: the name of the generator: 'threefry2x32', 'rbg' or 'unsafe_rbg'; None: the setting default_prng_impl.
      dtype: the dtype of the key, in place of impl.

    Returns: key<fry>[]. The same seed gives the same key; use a key once, and `split` it before that.

    Raises:
      TypeError: if the seed is not an integer without axes.
      OverflowError: if a Python int does not fit into 64 bits.

    Example:
      >>> key, sub = random.split(random.key(0))
      >>> random.normal(sub, (2,))
    """
    return _seeded(seed, _implementation(impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:  # noqa: N802
    """A key by its raw words u32[2], as older programs use them; `key` makes typed ones, as does `enable_custom_prng`.

    Args:
      seed, impl: as in `key`.

    Example:
      >>> random.PRNGKey(0)
      Array([0, 0], dtype=uint32)
    """
    typed = _seeded(seed, _implementation(impl, None))
    return typed if config.enable_custom_prng.value else random_unwrap(typed)  # type: ignore[no-any-return]


def split(key: Any, num: Any = 2) -> Array:
    """New keys, independent of each other; the given one must not be used again.

    Args:
      key: key<fry>[], or raw words u32[2].
      num: how many, or the shape of an array of keys.

    Returns: key<fry>[num], or raw words u32[num, 2] if those were given.

    Example:
      >>> random.split(random.key(0), 3).shape
      (3,)
    """
    shape = sizes(num, "num")
    return _as_given(generators.split(one_key(key), shape), key)


def fold_in(key: Any, data: Any) -> Array:
    """A new key from a key and a number, e.g. the number of a training step.

    Args:
      key: key<fry>[], or raw words u32[2].
      data: an integer without axes. A Python int must fit into 32 bits without sign; of others the lower 32
        bits count.

    Raises:
      TypeError: if data is not an integer without axes.
      OverflowError: if a Python int is out of range.

    Example:
      >>> random.key_data(random.fold_in(random.key(0), 1)).dtype
      dtype('uint32')
    """
    typed = one_key(key)
    if type(data) is int or type(data) is bool:
        if not 0 <= data <= _MASK:
            raise errors.make(OverflowError, f"data is {data}, a number from 0 to 2**32 - 1 is required",
                              op=errors.source.called(), fix="reduce it, e.g. data % 2 ** 32")
        number: Any = np.uint32(data)
    else:
        found = value(data)
        t = type_of(found)
        if t.is_key or dtypes.kind(t.dtype) not in "biuf" or t.shape:
            raise errors.type_error(f"data is {t}, a number without axes is required",
                                    fix="vmap the call over an axis")
        number = lax.convert_element_type(found, dtypes.uint32)
    return _as_given(generators.fold_in(typed, number), key)


def _as_given(new: Array, key: Any) -> Array:
    return random_unwrap(new) if is_raw(key) else new


def key_data(keys: Any) -> Array:
    """The words that keys consist of.

    Args:
      keys: key<fry>[...]; raw words u32[..., 2] come back as they are.

    Returns: u32[..., 2]

    Example:
      >>> random.key_data(random.key(1))
      Array([0, 1], dtype=uint32)
    """
    typed = checked_keys(keys)
    return value(keys) if is_raw(keys) else random_unwrap(typed)  # type: ignore[no-any-return]


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Array:
    """Keys from the words they consist of, as `key_data` gives them.

    Args:
      key_bits_array: u32[..., 2]
      impl, dtype: as in `key`.

    Returns: key<fry>[...]

    Raises:
      TypeError: if the words have another dtype or another size of their last axis.

    Example:
      >>> random.wrap_key_data(jnp.array([0, 1], jnp.uint32)).shape
      ()
    """
    return random_wrap(value(key_bits_array), impl=_implementation(impl, dtype))  # type: ignore[no-any-return]


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for.

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    return str(checked_keys(keys).type.dtype.impl)


def clone(key: Any) -> Array:
    """The key itself, for a second use that is meant: it will give the same numbers again.

    Example:
      >>> random.key_data(random.clone(random.key(1)))
      Array([0, 1], dtype=uint32)
    """
    return _as_given(random_clone(checked_keys(key)), key)
