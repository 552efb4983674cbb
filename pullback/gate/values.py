"""Leaves as NumPy values, and how two of them are compared."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Distance", "EPSILON", "Key", "as_like", "digest", "distance", "dtype_name", "is_float", "number"]

# Distance from 1 to the next number: of the dtypes that are differentiated.
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
           "complex128": 2.0**-52, "complex64": 2.0**-23}


@dataclasses.dataclass(frozen=True, eq=False)
class Key:
    """A typed key, or an array of them: its words u32[..., n], and the name of its generator."""

    words: np.ndarray
    kind: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.words.shape[:-1]


def dtype_name(leaf: Any) -> str:
    """The name of a leaf's dtype; of a Python number, that of its type."""
    if isinstance(leaf, Key):
        return "key"
    return type(leaf).__name__ if isinstance(leaf, (bool, int, float, complex)) else str(leaf.dtype)


def is_float(leaf: Any) -> bool:
    """Whether a leaf is differentiated: a float or complex array or Python number."""
    return isinstance(leaf, (float, complex)) or (not isinstance(leaf, Key) and dtype_name(leaf) in EPSILON)


def as_like(x: Any, leaf: Any) -> Any:
    """An array in the kind of a leaf: its dtype, or a Python number if it was one."""
    if isinstance(leaf, (bool, int, float, complex)):
        return type(leaf)(np.asarray(x).item())
    return np.asarray(x).astype(leaf.dtype)


def number(leaf: Any) -> np.ndarray:
    """A leaf as an array in double precision (complex if it is)."""
    x = np.asarray(leaf.words if isinstance(leaf, Key) else leaf)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


class Distance(NamedTuple):
    """How far two arrays are apart: the largest difference, where, and the largest value it is measured by."""

    largest: float
    scale: float
    place: tuple[int, ...]

    @property
    def relative(self) -> float:
        return self.largest / self.scale if self.scale else (np.inf if self.largest else 0.0)


def distance(a: Any, b: Any, least_scale: float = 0.0) -> Distance:
    """The distance of two leaves of one shape; equal NaNs and equal infinities are no distance.

    Args:
      least_scale: a lower bound of the scale, for leaves that are zero but for rounding.
    """
    x, y = number(a), number(b)
    if x.shape != y.shape:
        return Distance(np.inf, 1.0, ())
    if not x.size:
        return Distance(0.0, least_scale, ())
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        gap = np.where(same, 0.0, np.abs(x - y))
        gap = np.where(np.isnan(gap), np.inf, gap)
        sizes = np.abs(x[np.isfinite(x)])
    place = np.unravel_index(int(np.argmax(gap)), gap.shape)
    scale = max(float(sizes.max()) if sizes.size else 0.0, least_scale)
    return Distance(float(gap[place]), scale, tuple(int(i) for i in place))


def digest(leaf: Any) -> str:
    """A short digest of a leaf's contents, shape and dtype."""
    x = np.ascontiguousarray(leaf.words if isinstance(leaf, Key) else leaf)
    return hashlib.sha256(f"{x.dtype}{x.shape}".encode() + x.tobytes()).hexdigest()[:16]
