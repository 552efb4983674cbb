"""How jaxlib's buffers lie in memory and over devices, and ways to read them where jaxlib has no call for it.

jaxlib's objects come as arguments: nothing here imports it.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["Aval", "gathered", "packed_bits", "read_memory", "read_only", "slices_of", "tile_slices",
           "widening"]


class Aval:
    """What jaxlib asks about an array: anything with these three attributes serves."""

    __slots__ = ("dtype", "shape")
    weak_type = False

    def __init__(self, shape: Sequence[int], dtype: DTypeLike) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array itself, closed to writing."""
    array.setflags(write=False)
    return array


def packed_bits(dtype: np.dtype[Any]) -> int:
    """The size in bits of the dtypes that XLA packs into bytes, 0 for all others."""
    found = re.fullmatch(r"u?int([24])|float(4)_.*", dtype.name)
    return int(found[1] or found[2]) if found else 0


def read_memory(address: int, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A read-only copy of the array that XLA keeps at `address`.

    XLA packs integers and floats of 2 and 4 bits into bytes, lowest bits first; NumPy gives each a byte.
    """
    count, bits = math.prod(shape), packed_bits(dtype)
    if count == 0:
        result = np.empty(shape, dtype)
    elif bits:
        packed = np.frombuffer(ctypes.string_at(address, -(-count * bits // 8)), np.uint8)
        codes = (packed[:, None] >> np.arange(0, 8, bits, dtype=np.uint8)) & np.uint8(2 ** bits - 1)
        result = codes.reshape(-1)[:count].view(dtype).reshape(shape)
    else:
        result = np.frombuffer(ctypes.string_at(address, count * dtype.itemsize), dtype).reshape(shape)
    return read_only(result)


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
    """A read-only copy of a buffer whose value is ready, for jaxlib 0.10; not for integers of 2 or 4 bits."""
    result = np.empty(buffer.aval.shape, buffer.aval.dtype)
    for position, index in enumerate(slices_of(buffer._sharding, result.shape)):
        result[index] = _read_shard(xc, buffer, position, result[index].shape)
    return read_only(result)


def _read_shard(xc: Any, buffer: Any, position: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    # jaxlib 0.10 tells an address and hands out single shards only through calls that import jax, but a
    # DLPack capsule holds the address of the first shard: move the wanted one to the front. The capsule must
    # be gone before anybody deletes the buffer, or the process ends: hence a copy.
    if position:
        order = list(buffer._sharding._internal_device_list)
        order.insert(0, order.pop(position))
        target = xc.GSPMDSharding(xc.DeviceList(tuple(order)), buffer._sharding._hlo_sharding)
        buffer = xc.reorder_shards(buffer, target, xc.ArrayCopySemantics.REUSE_INPUT)
    capsule = xc.buffer_to_dlpack_managed_tensor(buffer)
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    data = ctypes.c_void_p.from_address(pointer_of(capsule, b"dltensor")).value  # first field of the struct
    return read_memory(data or 0, shape, buffer.aval.dtype)


def widening(shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[str, np.dtype[Any]] | None:
    """A program from integers of 2 or 4 bits to the integers of 8 bits it returns; None for other dtypes."""
    bits = packed_bits(dtype)
    if not bits or "int" not in dtype.name:
        return None
    kind = "ui" if dtype.name.startswith("u") else "i"
    narrow, wide = (f"tensor<{'x'.join(map(str, (*shape, kind + str(n))))}>" for n in (bits, 8))
    text = (f"func.func public @main(%x: {narrow}) -> {wide} {{ "
            f"%0 = stablehlo.convert %x : ({narrow}) -> {wide} return %0 : {wide} }}")
    return text, np.dtype(np.uint8 if kind == "ui" else np.int8)
