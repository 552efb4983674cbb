"""What a user may pass where an array is meant, and the scalar that takes an array's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.types import ArrayType

_SCALARS = (bool, int, float, complex)


def value(x: Any) -> Any:
    """`x` as something an operation takes: an Array, or a Python or NumPy scalar.

    Arrays, tracers and Python scalars come back as they are; ndarrays are copied (their owner may
    write to them later). 64-bit values become 32-bit ones unless enable_x64 is set.
    """
    if isinstance(x, Array) or type(x) in _SCALARS:
        return x
    if isinstance(x, np.generic):
        dtype: Any = dtypes.canonicalize(x.dtype)
        return x if dtype == x.dtype else dtype.type(x)
    if isinstance(x, np.ndarray):
        canonical: Any = dtypes.canonicalize(x.dtype)
        return ConcreteArray(ArrayType(x.shape, canonical), np.array(x, dtype=canonical, order="C"))
    if isinstance(x, _SCALARS):  # subclasses: enum members and the like
        kind: Any = next(kind for kind in _SCALARS if isinstance(x, kind))
        return kind(x)
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return value(convert())
    raise errors.type_error(f"got a {type(x).__name__}, an array or a number is required",
        fix="convert it with jnp.asarray" if isinstance(x, (list, tuple)) else "pass an array or a number")


_RANGE_ERROR = "the Python int {} does not fit into {}"


def scalar_of(x: Any, dtype: Any, weak: bool) -> Any:
    """The scalar `x` in `dtype`: a Python scalar where a weak one of that dtype is one, else NumPy's."""
    kind = dtypes.kind(dtype)
    if weak:
        python = {"b": bool, "i": int, "f": float, "c": complex}.get(kind)
        if python is not None and dtypes.python_scalar_dtype(python) == dtype:
            return python(x)
    if type(x) is int and kind in "iu":
        info: Any = dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        if not info.min <= x <= info.max:
            raise errors.make(OverflowError, _RANGE_ERROR.format(x, dtype),
                              fix="use a wider dtype, or a value inside the range")
    return np.dtype(dtype).type(x)
