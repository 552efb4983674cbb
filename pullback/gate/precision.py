"""Running a model in another precision, or on another device, than it was made for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.values import is_float

__all__ = ["PRECISIONS", "cast", "check_device", "choose_device", "held"]

PRECISIONS = ("float64", "float32", "bfloat16", "float16", "highest")


def held(engine: Engine, precision: str) -> AbstractContextManager[Any]:
    """Inside, the settings that a precision needs: 64 bit, or products of full precision."""
    if precision == "float64":
        return engine.wide()
    package = engine.module("")
    if precision == "highest" and package is not None:
        found: AbstractContextManager[Any] = package.default_matmul_precision("highest")
        return found
    return nullcontext()


def cast(leaves: Sequence[Any], precision: str) -> list[Any]:
    """Leaves with their floats in a precision; "" and "highest" leave them as they are."""
    if precision in ("", "highest"):
        return list(leaves)
    complexes = {"float64": "complex128"}.get(precision, "complex64")
    return [x if not is_float(x) or isinstance(x, (float, complex)) else
            np.asarray(x).astype(np.dtype(complexes if np.iscomplexobj(x) else precision)) for x in leaves]


def choose_device(device: str) -> None:
    """Has an engine that is loaded later run on the devices of a platform: "cpu", "gpu", "tpu"."""
    if device:
        os.environ["JAX_PLATFORMS"] = {"gpu": "cuda"}.get(device, device)


def check_device(engine: Engine, device: str) -> None:
    """Raises UsageError unless the engine runs on the platform."""
    try:
        there = engine.environment()["devices"]
    except Exception as error:
        text = str(error).splitlines()
        raise UsageError(f"the device {device or 'of this machine'} cannot be used: {text[0] if text else error!r}",
                         "name one that is there: --device cpu") from error
    if device and not any(name.startswith(device) for name in there):
        raise UsageError(f"there is no device {device!r}; there are {', '.join(there)}",
                         "name the platform of one of them with --device")
