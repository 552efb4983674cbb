"""Element types and their promotion: what `jax.dtypes` offers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from pullback.core import dtypes
from pullback.core.dtypes import (
    DType,
    KeyDtype,
    TypePromotionError,
    as_dtype,
    canonicalize,
    extended,
    finfo,
    float0,
    iinfo,
    itemsize_bits,
    kind,
    prng_key,
    result_type,
)

__all__ = ["TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo",
           "issubdtype", "itemsize_bits", "prng_key", "result_type", "scalar_type_of"]

bfloat16 = ml_dtypes.bfloat16


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """The dtype that arrays get where `dtype` is asked for: 64-bit types become 32-bit unless x64 is enabled.

    Args:
      dtype: a dtype, scalar type, Python type or name; None means float. A NumPy dtype that arrays cannot
        have, such as that of text, is returned as it is.
      allow_extended_dtype: accept the types of PRNG keys.
    Returns: the dtype.
    Raises: TypeError for something that is no dtype, ValueError for a key type that is not allowed.

    Example:
      >>> import pullback.dtypes
      >>> pullback.dtypes.canonicalize_dtype("int16")
      dtype('int16')
    """
    if isinstance(dtype, KeyDtype) and not allow_extended_dtype:
        raise ValueError(f"canonicalize_dtype: given {dtype}\n  required: a NumPy dtype\n"
                         "  fix: pass allow_extended_dtype=True")
    try:
        return canonicalize(float if dtype is None else dtype)
    except TypeError:
        if isinstance(dtype, np.dtype):
            return dtype
        raise


def scalar_type_of(x: Any) -> type:
    """The Python type of an element: bool, int, float or complex.

    Args:
      x: an array, a Python scalar or a dtype.
    Returns: the type.
    Raises: TypeError for PRNG keys, float0 and what has no dtype.

    Example:
      >>> import pullback.dtypes
      >>> pullback.dtypes.scalar_type_of("bfloat16")
      <class 'float'>
    """
    found = as_dtype(x) if isinstance(x, (str, type, np.dtype)) else result_type(x)
    python: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    if kind(found) not in python:
        raise TypeError(f"scalar_type_of: given {found}\n  required: bool, integer, float or complex\n"
                        "  fix: pass a numeric array, scalar or dtype")
    return python[kind(found)]


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype `a` is, or lies under, the dtype or abstract scalar type `b`.

    Example:
      >>> issubdtype(np.int32, np.integer)
      True
    """
    return dtypes.issubdtype(a, b)
