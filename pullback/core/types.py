"""Types of values: the type of an array, and the two placeholders that derivatives need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.config import enable_x64

DType = Any  # np.dtype, or dtypes.KeyDtype for arrays of PRNG keys


class ArrayType:
    """Shape and element type of an array; `weak` marks a dtype that a Python scalar decided.

    A weak dtype gives way when it meets a strong one (`x_bf16 * 2.0` stays bfloat16).
    """

    __slots__ = ("__weakref__", "dtype", "shape", "weak")

    shape: tuple[int, ...]
    dtype: DType
    weak: bool

    def __new__(cls, shape: tuple[int, ...], dtype: DType, weak: bool = False) -> ArrayType:
        # Equal types are one object, so that to compare and to hash them is to look at where they are.
        key = shape, dtype, weak
        known = _TYPES.get(key)
        if known is None:
            known = super().__new__(cls)
            known.shape, known.dtype, known.weak = key
            known = _TYPES.setdefault(key, known)
        return known

    def __reduce__(self) -> Any:
        return ArrayType, (self.shape, self.dtype, self.weak)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def weak_type(self) -> bool:
        return self.weak

    @property
    def is_key(self) -> bool:
        return isinstance(self.dtype, dtypes.KeyDtype)

    def tangent(self) -> ArrayType:
        """The type of this type's tangents: itself, or float0 for types that have none."""
        if dtypes.is_inexact(self.dtype):
            return self
        return ArrayType(self.shape, dtypes.float0)

    to_tangent_aval = at_least_vspace = tangent

    def batched(self, size: int) -> ArrayType:
        """This type with a leading axis of `size`."""
        return ArrayType((size, *self.shape), self.dtype, self.weak)

    def unbatched(self) -> ArrayType:
        """This type without its leading axis."""
        return ArrayType(self.shape[1:], self.dtype, self.weak)

    def strong(self) -> ArrayType:
        return ArrayType(self.shape, self.dtype) if self.weak else self

    strip_weak_type = strong

    def update(self, *, shape: tuple[int, ...] | None = None, dtype: DType = None, weak_type: bool | None = None
               ) -> ArrayType:
        """This type with another shape, dtype or weakness."""
        return ArrayType(self.shape if shape is None else tuple(shape), self.dtype if dtype is None else
                         dtypes.as_dtype(dtype), self.weak if weak_type is None else weak_type)

    def with_shape(self, shape: tuple[int, ...]) -> ArrayType:
        return ArrayType(shape, self.dtype, self.weak)

    def with_dtype(self, dtype: DType, weak: bool = False) -> ArrayType:
        return ArrayType(self.shape, dtype, weak)

    def physical(self) -> ArrayType:
        """The type of the buffer that holds such an array: keys are stored as uint32 words."""
        if isinstance(self.dtype, dtypes.KeyDtype):
            return ArrayType((*self.shape, *self.dtype.key_shape), dtypes.uint32)
        return self

    def __str__(self) -> str:
        return f"{dtypes.short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"ArrayType({self}{', weak' if self.weak else ''})"

    def str_short(self, short_dtypes: bool = True) -> str:
        """This type in the form `f32[3,4]`, or `float32[3,4]` with short_dtypes=False."""
        if short_dtypes:
            return str(self)
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


_TYPES: dict[Any, ArrayType] = {}


class Zero:
    """A tangent or cotangent known to be zero, never materialised inside a transformation."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"Zero({self.type})"


class Linear:
    """In a transpose rule, the place of an operand that the operation is linear in."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"Linear({self.type})"

    def misused(self) -> Exception:
        """The error where a rule needs the number: of an operation that is not linear in all that it is asked for."""
        return errors.make(errors.MissingRuleError, f"an operation is not linear in its operand {self.type}, and a "
                           "transpose needs a linear function", op="", fix="close over what is not linear")


_SCALARS = (bool, int, float, complex)


def is_scalar(value: Any) -> bool:
    """Whether `value` is a Python or NumPy scalar, which programs hold as a literal."""
    return isinstance(value, np.generic) or type(value) in _SCALARS


def scalar_type(value: Any) -> ArrayType:
    """The type of a Python scalar (weak, but for a bool) or of a NumPy scalar (strong)."""
    key = value.dtype if isinstance(value, np.generic) else (type(value), enable_x64.value)
    known = _SCALAR_TYPES.get(key)
    if known is None:
        if isinstance(value, Linear):
            raise value.misused()
        dtype = value.dtype if isinstance(value, np.generic) else dtypes.python_scalar_dtype(type(value))
        weak = not isinstance(value, np.generic | bool)
        known = _SCALAR_TYPES[key] = ArrayType((), dtype, weak)
    return known


_SCALAR_TYPES: dict[Any, ArrayType] = {}
