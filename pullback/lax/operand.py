"""Operands of lax functions: checked, and brought to one dtype where Python scalars allow it.

lax is strict: arrays must agree in dtype and shape. Python scalars take the dtype of the arrays they meet, and an
operand without axes goes with one of any shape.
"""

from __future__ import annotations

from typing import Any

from pullback.core import dtypes, source
from pullback.core.trace import type_of
from pullback.core.types import is_scalar
from pullback.core.values import scalar_of, value
from pullback.ops.convert import convert_element_type
from pullback.runtime.sharding import place_of


def operands(*args: Any) -> list[Any]:
    """The arguments as operands of an elementwise operation: weak ones take the dtype of the strong."""
    values = [value(arg) for arg in args]
    types = [type_of(v) for v in values]
    first = types[0]
    if all([t.dtype == first.dtype and t.weak == first.weak for t in types]):
        return values
    strong = {t.dtype for t in types if not t.weak}
    if len(strong) > 1:
        return values  # the operation's type rule names both dtypes
    dtype, weak = dtypes.promote([(t.dtype, t.weak) for t in types])
    if strong and dtype not in strong:
        return values
    return [retype(v, dtype, weak) for v in values]


def retype(x: Any, dtype: Any, weak: bool = False) -> Any:
    """`x` in `dtype`: scalars at once, arrays by a conversion where they need one."""
    if is_scalar(x):
        return scalar_of(x, dtype, weak)
    if x.type.dtype == dtype and (x.type.weak == weak or not x.type.weak):
        return x
    return convert_element_type(x, dtype=dtype, weak=weak)


def placed(x: Any, sharding: Any) -> Any:
    """`x` laid out as the caller asked: one device holds everything, so only that layout can be met."""
    if sharding is not None:
        place_of(sharding, type_of(x), source.called())
    return x
