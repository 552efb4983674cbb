"""Arrays shared with other libraries (jax.dlpack)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.core.array import Array
from pullback.runtime import dlpack
from pullback.runtime.device import device_put
from pullback.runtime.dlpack import is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Array:
    """The array of another library, in host memory, as an Array.

    Args:
      external_array: an object with the methods __dlpack__ and __dlpack_device__.
      device: where to put it; None: the default device.
      copy: False shares its memory, to which nobody may write then; otherwise it is copied.

    Raises:
      TypeError: if it has no such methods, or a dtype that there is not here. ValueError: if it is in the memory of
        another device, or copy is False and it must be converted.

    Example:
      >>> jax.dlpack.from_dlpack(np.arange(3, dtype=np.int32))
      Array([0, 1, 2], dtype=int32)
    """
    x = dlpack.from_dlpack(external_array, copy)
    return x if device is None else device_put(x, device)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.dlpack.{name}")
