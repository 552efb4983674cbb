"""Dtypes, constants, and what describes arrays: names that compute nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.dtypes import SCALAR_TYPES, finfo, iinfo, issubdtype, promote_types
from pullback.core.trace import concrete

globals().update(SCALAR_TYPES)

_ABSTRACT = ("character", "complexfloating", "flexible", "floating", "generic", "inexact", "integer",
             "number", "object_", "signedinteger", "unsignedinteger")
globals().update({name: getattr(np, name) for name in _ABSTRACT})

__all__ = [
    "ComplexWarning", "array_repr", "array_str", "can_cast", "dtype", "e", "euler_gamma", "finfo",
    "get_printoptions", "iinfo", "inf", "isdtype", "issubdtype", "iterable", "nan", "ndarray", "newaxis",
    "pi", "printoptions", "promote_types", "result_type", "set_printoptions", *_ABSTRACT, *SCALAR_TYPES,
]

pi, e, euler_gamma, inf, nan, newaxis = np.pi, np.e, np.euler_gamma, np.inf, np.nan, None
dtype = np.dtype
ndarray = Array
ComplexWarning = np.exceptions.ComplexWarning

get_printoptions, printoptions = np.get_printoptions, np.printoptions  # arrays are shown by NumPy's means

_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
          "complex floating": "c", "numeric": "iufc"}


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Sets how arrays are printed, in the whole process; the arguments are those of numpy.set_printoptions.

    Example:
      >>> jnp.set_printoptions(precision=8)
    """
    np.set_printoptions(*args, **kwargs)


def result_type(*args: Any) -> Any:
    """The dtype in which an operation on these arrays, Python scalars or dtypes computes.

    Raises: TypePromotionError where only an explicit cast is allowed; TypeError where there is no dtype.

    Example:
      >>> jnp.result_type(jnp.int8, 1.0)
      dtype('float32')
    """
    return dtypes.result_type(*args)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether NumPy's rule `casting` allows to convert from one dtype to another.

    Args:
      from_: a dtype or an array.
      to: a dtype.
      casting: 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'.

    Example:
      >>> jnp.can_cast(jnp.int32, jnp.float64)
      True
    """
    source = from_.dtype if isinstance(from_, (Array, np.ndarray, np.generic)) else from_
    return np.can_cast(dtypes.as_dtype(source), dtypes.as_dtype(to), casting)  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
      kind: 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating', 'complex floating',
        'numeric', a dtype, or a tuple of these: any of them.

    Raises:
      ValueError: for another word.

    Example:
      >>> jnp.isdtype(jnp.float32, "real floating")
      True
    """
    found = dtypes.as_dtype(dtype)
    for each in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(each, str) and each in _KINDS:
            if dtypes.kind(found) in _KINDS[each]:
                return True
            continue
        try:
            same = dtypes.as_dtype(each) == found
        except TypeError:
            raise errors.value_error(f"kind is {each!r}, a dtype or one of {[*_KINDS]} is required",
                                     fix="check the spelling") from None
        if same:
            return True
    return False


def iterable(y: Any) -> bool:
    """Whether `y` can be iterated over; arrays without axes cannot.

    Example:
      >>> jnp.iterable([1]), jnp.iterable(1)
      (True, False)
    """
    return y.ndim > 0 if isinstance(y, Array) else np.iterable(y)


def _shown(x: Any, function: Any, *args: Any) -> str:
    known = concrete(x) if isinstance(x, Array) else x
    return repr(x) if known is None else function(np.asarray(known), *args)


def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None,
               suppress_small: bool | None = None) -> str:
    """An array as Python code would make it.

    Example:
      >>> jnp.array_repr(jnp.arange(2))
      'Array([0, 1], dtype=int32)'
    """
    text = _shown(arr, np.array_repr, max_line_width, precision, suppress_small)
    return "Array" + text.removeprefix("array") if isinstance(concrete(arr), ConcreteArray) else text


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None,
              suppress_small: bool | None = None) -> str:
    """The elements of an array as text.

    Example:
      >>> jnp.array_str(jnp.arange(2))
      '[0 1]'
    """
    return _shown(a, np.array_str, max_line_width, precision, suppress_small)
