"""Leaves in safetensors files: arrays of every dtype, Python numbers, random keys."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from pullback.gate.errors import UsageError
from pullback.gate.values import Key, digest, dtype_name, is_float, number

__all__ = ["describe", "file_digest", "library", "pack", "unpack"]

_PLAIN = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64"}


def library(name: str) -> Any:
    """A library of the store, loaded when it is used."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(f"{name.partition('.')[0]} is not installed", "pip install 'pullback[gate]'") from error


def describe(leaf: Any) -> dict[str, Any]:
    """What a manifest says of a leaf: type, digest, and numbers that show in a diff which way it moved."""
    found: dict[str, Any] = {"dtype": dtype_name(leaf), "shape": list(getattr(leaf, "shape", ())),
                             "digest": digest(leaf)}
    if isinstance(leaf, Key):
        return found | {"generator": str(leaf.kind)}
    if isinstance(leaf, (bool, int, float, complex)):
        found["stored"] = np.asarray(leaf).dtype.name  # a Python number
    if is_float(leaf):
        x = np.abs(number(leaf))
        x = x[np.isfinite(x)]
        found["largest"] = float(f"{x.max():.6g}") if x.size else 0.0
        found["rms"] = float(f"{np.sqrt(np.mean(x * x)):.6g}") if x.size else 0.0
        bad = int(np.size(number(leaf)) - x.size)
        return found | ({"not finite": bad} if bad else {})
    return found


def pack(leaves: Mapping[str, Any]) -> bytes:
    """Leaves by name as the contents of a safetensors file; what safetensors lacks goes in as bytes."""
    arrays = {}
    for name, leaf in leaves.items():
        x = np.ascontiguousarray(leaf.words if isinstance(leaf, Key) else leaf)
        arrays[name] = x if x.dtype.name in _PLAIN else np.frombuffer(x.tobytes(), np.uint8)
    packed: bytes = library("safetensors.numpy").save(arrays)
    return packed


def unpack(data: bytes, descriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The leaves again.

    Raises:
      ValueError: the bytes are no safetensors file, or do not fit the descriptions.
    """
    try:
        arrays = library("safetensors.numpy").load(data)
    except UsageError:
        raise
    except Exception as error:
        raise ValueError(f"no safetensors file: {error}") from error
    return {name: _leaf(arrays, name, said) for name, said in descriptions.items()
            if said.get("kept", True)}


def _leaf(arrays: Mapping[str, np.ndarray], name: str, said: Mapping[str, Any]) -> Any:
    if name not in arrays:
        raise ValueError(f"{name} is missing")
    x, kind, shape = arrays[name], said["dtype"], tuple(said["shape"])
    if kind == "key":
        leaf: Any = Key(x, said["generator"])
    else:
        leaf = (x if x.dtype.name == said.get("stored", kind) else np.frombuffer(x.tobytes(), _dtype(
            said.get("stored", kind)))).reshape(shape)
        if "stored" in said:
            leaf = leaf.item()
    if digest(leaf) != said["digest"]:
        raise ValueError(f"{name} has other contents than its digest says")
    return leaf


def _dtype(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        found: np.dtype = np.dtype(getattr(library("ml_dtypes"), name))
        return found


def file_digest(data: bytes) -> str:
    """sha256 of a file's contents."""
    return hashlib.sha256(data).hexdigest()
