"""What of the host the compiler depends on: memory alignment, processor, environment variables."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["aligned_empty", "processor", "requested_devices"]

_ALIGNMENT = 64  # bytes; XLA's CPU client takes over host memory that starts on this boundary without a copy
_PROCESSOR_FIELDS = ("vendor_id", "cpu family", "model", "flags",  # x86
                     "CPU implementer", "CPU part", "Features",  # ARM
                     "isa")  # RISC-V


def aligned_empty(shape: Sequence[int], dtype: DTypeLike) -> np.ndarray[Any, Any]:
    """An uninitialised array whose memory `pjrt.put(..., copy=False)` can take over without a copy."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start:start + size].view(dtype).reshape(shape)


def requested_devices() -> int | None:
    """The number of virtual CPU devices that the environment asks for, or None."""
    for variable in ("PULLBACK_NUM_CPU_DEVICES", "JAX_NUM_CPU_DEVICES"):
        text = os.environ.get(variable, "").strip()
        if text in ("", "-1"):  # -1 is jax's way to write "not set"
            continue
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{variable}: got {text!r}, a count of at least 1 is required; set or unset it")
        return int(text)
    return None


def processor(compiled_sample: Callable[[], bytes], path: str = "/proc/cpuinfo") -> str:
    """What decides which machine code this processor runs.

    Where there is no `path`, it is the target features that XLA wrote into `compiled_sample()`.
    """
    fields: dict[str, str] = {}
    if os.path.exists(path):
        with open(path) as file:
            first = file.read().split("\n\n")[0]
        for line in first.splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = " ".join(sorted(value.split()))
    if fields.keys() & {"flags", "Features", "isa"}:
        return "; ".join([f"{name} {fields[name]}" for name in _PROCESSOR_FIELDS if name in fields])
    written = re.findall(rb"[+-][\w.-]+(?:,[+-][\w.-]+)+", compiled_sample())
    return "features " + " ".join(sorted({features.decode() for features in written}))
