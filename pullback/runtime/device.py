"""Devices: which there are, and moving arrays between them and the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import errors, tree
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import Tracer, concrete
from pullback.core.types import is_scalar, scalar_type
from pullback.core.values import value
from pullback.runtime import pjrt

__all__ = ["SingleDeviceSharding", "block_until_ready", "copy_to_host_async", "default_backend", "device_count",
           "device_get", "device_put", "devices", "host_count", "local_device_count", "local_devices",
           "process_count", "process_index"]


class SingleDeviceSharding:
    """The placement of an array that lies on one device."""

    def __init__(self, device: Any, *, memory_kind: str | None = None) -> None:
        self._device = device
        self.memory_kind = memory_kind

    @property
    def device_set(self) -> set[Any]:
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r})"


def devices(backend: str | None = None) -> list[Any]:
    """All devices. Raises RuntimeError for a backend that this machine does not have."""
    return pjrt.devices(backend)


def local_devices(process_index: int | None = None, backend: str | None = None, host_id: int | None = None
                  ) -> list[Any]:
    """The devices of this process."""
    return pjrt.devices(backend)


def device_count(backend: str | None = None) -> int:
    return len(pjrt.devices(backend))


def local_device_count(backend: str | None = None) -> int:
    return len(pjrt.devices(backend))


def default_backend() -> str:
    """The platform that computations run on: 'cpu'."""
    return pjrt.default_backend()


def process_index(backend: str | None = None) -> int:
    return 0


def process_count(backend: str | None = None) -> int:
    return 1


def host_count(backend: str | None = None) -> int:
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
    if device is None or isinstance(x, Tracer):
        return x
    place = next(iter(device.device_set)) if hasattr(device, "device_set") else device
    if place not in pjrt.devices():
        raise errors.value_error(f"device is {device!r}, one of {pjrt.devices()} is required", op="device_put",
                                 fix="take one from pullback.devices()")
    buffer = x._device
    if buffer is None:
        buffer = pjrt.put(x.numpy(), place, copy=True)
    elif pjrt.buffer_device(buffer) != place:
        buffer = pjrt.copy_to_device(buffer, place)
    return ConcreteArray(x.type, None, buffer, place)


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: bool | None = None
               ) -> Any:
    """The leaves of `x` as Arrays on a device.

    Args:
      x: an array, a number, or a pytree of them.
      device: a Device, a sharding over one device, or None for the default.

    Raises:
      TypeError: a leaf is no array. ValueError: no such device.
    """
    return tree.map(lambda leaf: _place(leaf, device), x)


def device_get(x: Any) -> Any:
    """The leaves of `x` as NumPy arrays."""
    def get(leaf: Any) -> Any:
        if isinstance(leaf, Array):
            known = concrete(leaf)
            return np.asarray(leaf) if known is None else np.asarray(known)
        return leaf
    return tree.map(get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until every array in `x` is computed; returns `x`."""
    for leaf in tree.leaves(x):
        if isinstance(leaf, ConcreteArray) and leaf._device is not None:
            pjrt.block_until_ready(leaf._device)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Does nothing: on the CPU, arrays are in host memory."""
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


def _install() -> None:
    """Gives Arrays the methods that need the runtime."""
    cls: Any = ConcreteArray
    cls.devices = lambda self: {_device_of(self)}
    cls.device = property(_device_of)
    cls.sharding = property(lambda self: SingleDeviceSharding(_device_of(self)))
    cls.block_until_ready = block_until_ready
    cls.is_deleted = _deleted
    cls.delete = _delete
    cls.is_ready = lambda self: self._device is None or pjrt.is_ready(self._device)
    cls.copy_to_host_async = lambda self: None
    cls.is_fully_addressable = property(lambda self: True)
    cls.is_fully_replicated = property(lambda self: True)
    cls.committed = property(lambda self: self.placement is not None)
    cls.unsafe_buffer_pointer = lambda self: self.numpy().ctypes.data
    base: Any = Array
    base.block_until_ready = lambda self: self


_install()
