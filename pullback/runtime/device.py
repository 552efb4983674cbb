"""Devices: which there are, and moving arrays between them and the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import tree
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import Tracer
from pullback.core.types import is_scalar, scalar_type
from pullback.core.values import value
from pullback.runtime import pjrt
from pullback.runtime.sharding import Shard, SingleDeviceSharding, place_of

__all__ = ["block_until_ready", "copy_to_host_async", "default_backend", "device_count",
           "device_get", "device_put", "devices", "host_count", "local_device_count", "local_devices",
           "process_count", "process_index"]


def devices(backend: str | None = None) -> list[Any]:
    """All devices. Raises RuntimeError for a backend that this machine does not have.

    Example:
      >>> len(devices()) == device_count()
      True
    """
    return pjrt.devices(backend)


def local_devices(process_index: int | None = None, backend: str | None = None, host_id: int | None = None
                  ) -> list[Any]:
    """The devices of this process.

    Example:
      >>> pullback.local_devices() == devices()
      True
    """
    return pjrt.devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are.

    Example:
      >>> pullback.device_count() >= 1
      True
    """
    return len(pjrt.devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has: all there are.

    Example:
      >>> pullback.local_device_count() == pullback.device_count()
      True
    """
    return len(pjrt.devices(backend))


def default_backend() -> str:
    """The platform that computations run on: 'cpu'.

    Example:
      >>> default_backend()
      'cpu'
    """
    return pjrt.default_backend()


def process_index(backend: str | None = None) -> int:
    """The number of this process: 0, for there is one.

    Example:
      >>> pullback.process_index()
      0
    """
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes compute together: 1.

    Example:
      >>> pullback.process_count()
      1
    """
    return 1


def host_count(backend: str | None = None) -> int:
    """The old name of process_count.

    Example:
      >>> pullback.host_count()
      1
    """
    return 1


def as_array(x: Any) -> Any:
    """A leaf as an Array; scalars become arrays without axes."""
    x = value(x)
    if is_scalar(x):
        t = scalar_type(x)
        return ConcreteArray(t, np.asarray(x, t.dtype))
    return x


def _place(leaf: Any, device: Any) -> Any:
    x = as_array(leaf)
    if device is None:
        return x
    place, sharding = place_of(device, x.type, "device_put")
    if isinstance(x, Tracer):
        return x
    buffer = x._device
    if buffer is None:
        buffer = pjrt.put(x.numpy(), place, copy=True)
    elif pjrt.buffer_device(buffer) != place:
        buffer = pjrt.copy_to_device(buffer, place)
    placed = ConcreteArray(x.type, None, buffer, place)
    placed._sharding = sharding
    return placed


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: bool | None = None
               ) -> Any:
    """The leaves of `x` as Arrays on a device.

    Args:
      x: an array, a number, or a pytree of them.
      device: a Device, a sharding over one device, a PartitionSpec over the mesh in force, or None for the default;
        or a pytree of these that is a prefix of `x`.

    Raises:
      TypeError: a leaf is no array. ValueError: no such device, several, or a sharding that does not fit an array.

    Example:
      >>> device_put(jnp.arange(2), devices()[0])
      Array([0, 1], dtype=int32)
    """
    if device is None or tree.structure(device) == tree.structure(0):
        return tree.map(lambda leaf: _place(leaf, device), x)
    places = tree.broadcast_prefix(device, x, is_leaf=lambda d: d is None)
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [_place(leaf, place) for leaf, place in zip(leaves, places, strict=True)])


def device_get(x: Any) -> Any:
    """The leaves of `x` as NumPy arrays; traced ones, and keys, as they are.

    Example:
      >>> type(device_get(jnp.arange(2))).__name__
      'ndarray'
    """
    def get(leaf: Any) -> Any:
        return np.asarray(leaf) if isinstance(leaf, ConcreteArray) and not leaf.type.is_key else leaf
    return tree.map(get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until every array in `x` is computed; returns `x`.

    Example:
      >>> block_until_ready(jnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    if x.__class__ is ConcreteArray:
        if x._device is not None:
            pjrt.block_until_ready(x._device)
    else:
        arrays = [leaf for leaf in tree.leaves(x) if leaf.__class__ is ConcreteArray]
        pjrt.wait([array._device for array in arrays if array._device is not None])
    return x


def copy_to_host_async(x: Any) -> Any:
    """Does nothing: on the CPU, arrays are in host memory.

    Example:
      >>> copy_to_host_async(jnp.arange(2))
      Array([0, 1], dtype=int32)
    """
    return x


def _device_of(self: ConcreteArray) -> Any:
    if self._device is not None:
        return pjrt.buffer_device(self._device)
    return self.placement or pjrt.devices()[0]


def _deleted(self: ConcreteArray) -> bool:
    return self._host is None and (self._device is None or pjrt.is_deleted(self._device))


def _delete(self: ConcreteArray) -> None:
    if self._device is not None:
        pjrt.delete(self._device)
    self._host = self._device = None


def _sharding_of(self: ConcreteArray) -> Any:
    known = getattr(self, "_sharding", None)
    return SingleDeviceSharding(_device_of(self)) if known is None else known


def _shards(self: ConcreteArray) -> list[Shard]:
    """The array as the one part that it has."""
    return [Shard(_device_of(self), _sharding_of(self), self.shape, self)]


def _to_device(self: Array, device: Any, *, stream: Any = None) -> Any:
    """The array on another device."""
    return device_put(self, device)


def _addressable_data(self: ConcreteArray, index: int) -> ConcreteArray:
    """The part on a device of this process: there is one, the whole."""
    return self


def _install() -> None:
    """Gives Arrays the methods that need the runtime."""
    cls: Any = ConcreteArray
    cls.devices = lambda self: {_device_of(self)}
    cls.device = property(_device_of)
    cls.sharding = property(_sharding_of)
    cls.addressable_shards = cls.global_shards = property(_shards)
    cls.addressable_data = _addressable_data
    cls.block_until_ready = block_until_ready
    cls.is_deleted = _deleted
    cls.delete = _delete
    cls.is_ready = lambda self: self._device is None or pjrt.is_ready(self._device)
    cls.copy_to_host_async = lambda self: None
    cls.is_fully_addressable = property(lambda self: True)
    cls.is_fully_replicated = property(lambda self: True)
    cls.committed = property(lambda self: self.placement is not None)
    cls.platform = lambda self: pjrt.default_backend()
    cls.on_device_size_in_bytes = lambda self: self.nbytes
    cls.unsafe_buffer_pointer = lambda self: self.numpy().ctypes.data
    base: Any = Array
    base.block_until_ready = lambda self: self
    base.to_device = _to_device


_install()
