"""Arrays shared with other libraries, by the DLPack protocol (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.types import ArrayType
from pullback.runtime import pjrt

_CPU = 1        # kDLCPU: the one kind of device whose memory can be read here
_BFLOAT = 4     # kDLBfloat

_SUPPORTED = {np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128")} | {dtypes.bfloat16}


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be handed to other libraries and taken from them.

    Raises:
      TypeError: if it is no dtype.

    Example:
      >>> jax.dlpack.is_supported_dtype("float32"), jax.dlpack.is_supported_dtype("int4")
      (True, False)
    """
    return dtypes.as_dtype(dtype) in _SUPPORTED


# -- to others ----------------------------------------------------------------------------------------

def capsule(self: ConcreteArray, *, stream: Any = None, max_version: tuple[int, int] | None = None,
            dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
    """The array for another library: its memory, or a copy where the library cannot promise not to write to it.

    Raises:
      BufferError: if a device other than the CPU is asked for, or a copy is needed and forbidden.
      TypeError: if the protocol has no such dtype.
    """
    if self.type.is_key or self.type.dtype not in _SUPPORTED:
        raise errors.type_error(f"DLPack has no arrays of dtype {self.type.dtype}", op="__dlpack__",
                                fix="convert it with astype, or take random.key_data of keys")
    if dl_device is not None and int(dl_device[0]) != _CPU:
        raise errors.make(BufferError, f"device {dl_device} is asked for, the array is in host memory (kDLCPU)",
                          op="__dlpack__", fix="ask for the CPU, and move it there")
    host = self.numpy()
    if self.type.dtype == dtypes.bfloat16:
        if copy is False:
            raise _needs_copy()
        return pjrt.dlpack_capsule(host)
    versioned = max_version is not None and tuple(max_version) >= (1, 0)  # these can be marked as read-only
    if copy or not versioned:
        if copy is False:
            raise _needs_copy()
        return host.copy().__dlpack__()
    host = host.view()
    host.flags.writeable = False
    return host.__dlpack__(max_version=max_version)


def _needs_copy() -> BufferError:
    return errors.make(BufferError, "copy=False, but arrays are immutable and this protocol cannot say so",
                       op="__dlpack__", fix="leave copy out")


# -- from others --------------------------------------------------------------------------------------

class _Tensor(ctypes.Structure):
    """DLTensor, at the beginning of what a capsule of name 'dltensor' points to."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _bfloat16(x: Any) -> np.ndarray | None:
    """The elements of an array of bfloat16, which NumPy does not read, copied; None for another dtype."""
    held = x.__dlpack__()
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    tensor = _Tensor.from_address(pointer_of(held, b"dltensor") or 0)
    if (tensor.code, tensor.bits, tensor.lanes) != (_BFLOAT, 16, 1):
        return None
    shape = tensor.shape[: tensor.ndim]
    if 0 in shape:
        return np.zeros(shape, dtypes.bfloat16)
    strides = tensor.strides[: tensor.ndim] if tensor.strides else [
        int(np.prod(shape[i + 1:], dtype=np.int64)) for i in range(tensor.ndim)]
    # Strides may be negative: the elements read lie between the lowest and the highest place.
    low = sum([(n - 1) * s for n, s in zip(shape, strides) if s < 0])
    high = sum([(n - 1) * s for n, s in zip(shape, strides) if s > 0])
    start = tensor.data + tensor.byte_offset + 2 * low
    words = np.ctypeslib.as_array((ctypes.c_uint16 * (high - low + 1)).from_address(start))
    view = np.lib.stride_tricks.as_strided(words[-low:], shape, [2 * s for s in strides])
    return np.array(view).view(dtypes.bfloat16)


def from_dlpack(external_array: Any, copy: bool | None = None) -> Array:
    """The array of another library, in host memory, as an Array.

    Args:
      external_array: an object with the methods __dlpack__ and __dlpack_device__.
      copy: False shares its memory, to which nobody may write then; otherwise it is copied.

    Raises:
      TypeError: if it has no such methods, or a dtype that there is not here. ValueError: if it is in the memory of
        another device, or copy is False and the dtype must be converted.
    """
    device = getattr(external_array, "__dlpack_device__", None)
    if device is None or not hasattr(external_array, "__dlpack__"):
        raise errors.type_error(f"got a {type(external_array).__name__}, an object with the methods __dlpack__ and "
                                "__dlpack_device__ is required", op="from_dlpack", fix="convert it with jnp.asarray")
    if isinstance(external_array, ConcreteArray) and not copy:
        return external_array
    kind, number = device()
    if int(kind) != _CPU:
        raise errors.value_error(f"the array is on device ({int(kind)}, {number}), one in host memory (1, 0) is "
                                 "required", op="from_dlpack", fix="copy it to the CPU before")
    try:
        host: Any = np.from_dlpack(external_array)
    except (BufferError, RuntimeError, TypeError) as error:
        host = _bfloat16(external_array)
        if host is None:
            raise errors.type_error(f"the array has a dtype that cannot be read: {error}", op="from_dlpack",
                                    fix="convert it before, or pass its bytes") from None
    dtype: Any = dtypes.canonicalize(host.dtype)
    if copy is False and (dtype != host.dtype or not host.flags.c_contiguous):
        raise errors.value_error(f"copy=False, but {host.dtype}{list(host.shape)} must be copied to row-major "
                                 f"{dtypes.short_name(dtype)}", op="from_dlpack", fix="leave copy out")
    if copy is False:
        host = host.view()
        host.flags.writeable = False
    else:
        host = np.array(host, dtype, order="C")
    return ConcreteArray(ArrayType(host.shape, dtype), host)


def _install() -> None:
    cls: Any = ConcreteArray
    cls.__dlpack__ = capsule
    cls.__dlpack_device__ = lambda self: (_CPU, 0)


_install()
