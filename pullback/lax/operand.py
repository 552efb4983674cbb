"""Operands of lax functions.

lax is strict: operands must agree in dtype and shape. A Python scalar has the default dtype of its kind and meets only
arrays of that dtype; an operand without axes goes with one of any shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes, errors, source
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.core.values import scalar_of, value
from pullback.ops.convert import convert, convert_element_type
from pullback.runtime.sharding import place_of


def operands(*args: Any) -> list[Any]:
    """The arguments as operands of an operation, whose type rule asks for one dtype; a weak one joins a strong one."""
    return [value(arg) for arg in args]


def retype(x: Any, dtype: Any, weak: bool = False) -> Any:
    """`x` in `dtype`: scalars at once, arrays by a conversion where they need one."""
    if is_scalar(x):
        return scalar_of(_number(x, dtype), dtype, weak)
    if x.type.dtype == dtype and (x.type.weak == weak or not x.type.weak):
        return x
    return convert_element_type(x, dtype=dtype, weak=weak)


def _number(x: Any, dtype: Any) -> Any:
    """The scalar `x` as one that `dtype` can hold: beyond the range of an integer its end, as compiled code has it."""
    if type(x) is complex and not dtypes.is_complex(dtype):
        raise errors.type_error(f"got the complex number {x}, one that {dtypes.short_name(dtype)} can hold "
                                "is required", fix="take its real part, or name a complex dtype")
    if type(x) is float and dtypes.is_integer(dtype):
        return int(convert(np.asarray(x), dtype))
    return bool(x) if isinstance(x, np.bool_) else x  # integers of 4 bits are not made from NumPy's


def placed(x: Any, sharding: Any) -> Any:
    """`x` laid out as the caller asked: one device holds everything, so only that layout can be met."""
    if sharding is not None:
        place_of(sharding, type_of(x), source.called())
    return x
