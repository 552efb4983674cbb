"""What runs here, and what of jax's settings for many devices holds on one: live_arrays, default_device, ..."""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import type_of
from pullback.core.types import ArrayType
from pullback.core.values import value
from pullback.runtime import pjrt
from pullback.runtime.device import device_put
from pullback.runtime.sharding import Sharding, as_sharding, place_of

__all__ = [
    "default_device", "host_id", "host_ids", "legacy_prng_key", "live_arrays",
    "make_array_from_callback", "make_array_from_process_local_data", "make_array_from_single_device_arrays",
    "print_environment_info", "process_indices", "softmax_custom_jvp", "transfer_guard",
    "transfer_guard_device_to_device", "transfer_guard_device_to_host", "transfer_guard_host_to_device", "typeof",
]


# -- settings of which pullback has one way -------------------------------------------------------------

class _OneWay:
    """A setting that changes nothing here; as a context it takes the values that jax has for it."""

    def __init__(self, name: str, choices: Callable[[Any], bool], required: str, doc: str) -> None:
        self._name, self._accepts, self._required = name, choices, required
        self.__doc__ = doc

    def __call__(self, new_val: Any) -> AbstractContextManager[None]:
        if not self._accepts(new_val):
            raise errors.value_error(f"got {new_val!r}, {self._required} is required", op=self._name,
                                     fix="leave the setting out: pullback has one way here")
        return nullcontext()


def _guard(name: str, what: str) -> _OneWay:
    guards = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
    return _OneWay(name, lambda v: v in guards, f"one of {guards[1:]}",
                   f"A context that watches transfers {what}; there are none, for arrays are in host memory.")


transfer_guard = _guard("transfer_guard", "between host and devices")
transfer_guard_host_to_device = _guard("transfer_guard_host_to_device", "to devices")
transfer_guard_device_to_host = _guard("transfer_guard_device_to_host", "from devices")
transfer_guard_device_to_device = _guard("transfer_guard_device_to_device", "between devices")
softmax_custom_jvp = _OneWay("softmax_custom_jvp", lambda v: v in (True, False), "a bool",
                             "A context for how softmax is differentiated; here always by its own value.")
legacy_prng_key = _OneWay("legacy_prng_key", lambda v: v in ("allow", "warn", "error"), "'allow', 'warn' or 'error'",
                          "A context for what keys that are plain words do; they are always allowed.")
default_device = _OneWay(
    "default_device", lambda v: v is None or v == pjrt.default_backend() or v == pjrt.devices()[0],
    "None, 'cpu' or the first of pullback.devices()", "A context in which arrays are made on a device: the first.")


# -- what is here -----------------------------------------------------------------------------------------

def host_id(backend: str | None = None) -> int:
    """The number of this process: 0.

    Example:
      >>> pullback.host_id()
      0
    """
    return 0


def host_ids(backend: str | None = None) -> list[int]:
    """The numbers of all processes.

    Example:
      >>> pullback.host_ids()
      [0]
    """
    return [0]


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes.

    Example:
      >>> pullback.process_indices()
      [0]
    """
    return [0]


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that are held somewhere and not deleted. Raises RuntimeError for a platform that is not here.

    Example:
      >>> x = jnp.arange(3)
      >>> any(a is x for a in pullback.live_arrays())
      True
    """
    pjrt.devices(platform)
    return [x for x in gc.get_objects() if type(x) is ConcreteArray and not x.is_deleted()]  # type: ignore[attr-defined]


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints, or returns, the versions and devices that a report of an error should name.

    Example:
      >>> print_environment_info(return_string=True).splitlines()[-1].startswith("platform:")
      True
    """
    places = pjrt.devices()
    lines = [*[f"{name}: {version}" for name, version in pjrt.versions().items()],
             f"devices: {len(places)} of {places[0].device_kind}", f"platform: {platform.uname()}"]
    if return_string:
        return "\n".join(lines)
    print("\n".join(lines))
    return None


def typeof(x: Any) -> ArrayType:
    """The type of an array or a number: shape, dtype, weak_type.

    Raises:
      TypeError: if it is neither.

    Example:
      >>> str(typeof(1.5))
      'f32[]'
    """
    return type_of(value(x))


# -- arrays of parts --------------------------------------------------------------------------------------

def _whole(data: Any, shape: Sequence[int], sharding: Any, what: str) -> Any:
    """The array that consists of the one part `data`."""
    x = device_put(data)
    if x.shape != tuple(shape):
        raise errors.value_error(f"{what} has shape {x.shape}, {tuple(shape)} is required", fix="give the whole array")
    return device_put(x, sharding)


def make_array_from_callback(shape: Sequence[int], sharding: Any, data_callback: Callable[..., Any],
                             dtype: Any = None) -> Array:
    """An array of which a function gives the part on each device.

    Args:
      shape: of the whole array.
      sharding: over one device.
      data_callback: from the index of a part, a tuple of slices, to its numbers.
      dtype: None: that of the part.

    Raises:
      ValueError: for a sharding over several devices, or a part of another shape or dtype.

    Example:
      >>> make_array_from_callback((2,), devices()[0], lambda index: np.float32([1, 2])[index])
      Array([1., 2.], dtype=float32)
    """
    chosen = as_sharding(sharding, "make_array_from_callback")
    place_of(chosen, ArrayType(tuple(shape), np.dtype(np.float32)), "make_array_from_callback")
    index = next(iter(chosen.devices_indices_map(tuple(shape)).values()))
    x = _whole(data_callback(index), shape, chosen, "the part")
    if dtype is not None and x.dtype != np.dtype(dtype):
        raise errors.value_error(f"dtype is {np.dtype(dtype)}, the part has {x.dtype}",
                                 fix="convert it in the callback")
    return x  # type: ignore[no-any-return]


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *,
                                         dtype: Any = None) -> Array:
    """An array of the arrays that lie on each device. Raises ValueError unless it is one, of that shape."""
    if len(arrays) != 1:
        raise errors.value_error(f"got {len(arrays)} arrays, one for the one device is required",
                                 fix="join them before")
    return _whole(arrays[0], shape, sharding, "the array")  # type: ignore[no-any-return]


def make_array_from_process_local_data(sharding: Sharding, local_data: Any, global_shape: Sequence[int] | None = None
                                       ) -> Array:
    """An array of the parts of all processes; there is one. Raises ValueError if global_shape is another."""
    shape = np.shape(local_data) if global_shape is None else tuple(global_shape)
    return _whole(local_data, shape, sharding, "local_data")  # type: ignore[no-any-return]
