"""Which part of an array each device holds, and reading the parts where jaxlib has no call for it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.runtime.machine import read_memory

__all__ = ["gathered", "slices_of", "tile_slices"]


def tile_slices(shape: Sequence[int], tiles: Sequence[int], owners: Sequence[int],
                count: int) -> list[tuple[slice, ...]]:
    """For each of `count` devices its part of an array cut into `tiles` per axis, tile i on device owners[i].

    Further entries of `tiles` beyond the axes of the array count copies of each part.
    Raises: ValueError if the tiles do not divide the array.
    """
    if len(owners) != count or len(tiles) < len(shape) or any(
            size % n for size, n in zip(shape, tiles, strict=False)):
        raise ValueError(f"sharding: got shape {tuple(shape)} over {count} devices, cut {list(tiles)}; "
                         f"every axis must be a multiple of its number of tiles, with one tile per device")
    slices: list[tuple[slice, ...]] = [()] * count
    for tile, owner in zip(np.ndindex(*tiles), owners, strict=True):
        slices[owner] = tuple([slice(i * (size // n), (i + 1) * (size // n))
                               for i, size, n in zip(tile, shape, tiles, strict=False)])
    return slices


def slices_of(sharding: Any, shape: Sequence[int]) -> list[tuple[slice, ...]]:
    """The same for jaxlib's sharding object, in the order of its devices."""
    hlo, count = sharding._hlo_sharding, len(sharding._internal_device_list)
    if not hlo.is_tiled():
        return [tuple([slice(0, size) for size in shape])] * count
    return tile_slices(shape, hlo.tile_assignment_dimensions(), hlo.tile_assignment_devices(), count)


def gathered(xc: Any, buffer: Any) -> np.ndarray[Any, Any]:
    """A read-only copy of a buffer over several devices, for jaxlib 0.10; its value must be ready."""
    result = np.empty(buffer.aval.shape, buffer.aval.dtype)
    for position, index in enumerate(slices_of(buffer._sharding, result.shape)):
        result[index] = _read_shard(xc, buffer, position, result[index].shape)
    result.setflags(write=False)
    return result


def _read_shard(xc: Any, buffer: Any, position: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    # jaxlib 0.10 hands out single shards only through calls that import jax, but a DLPack capsule shows the
    # first: move the wanted one to the front. The capsule must be gone before anybody deletes the buffer.
    order = list(buffer._sharding._internal_device_list)
    order.insert(0, order.pop(position))
    target = xc.GSPMDSharding(xc.DeviceList(tuple(order)), buffer._sharding._hlo_sharding)
    moved = xc.reorder_shards(buffer, target, xc.ArrayCopySemantics.REUSE_INPUT)
    capsule = xc.buffer_to_dlpack_managed_tensor(moved)
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    data = ctypes.c_void_p.from_address(pointer_of(capsule, b"dltensor")).value  # first field of the struct
    return read_memory(data or 0, shape, buffer.aval.dtype)
