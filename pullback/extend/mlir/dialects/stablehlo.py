"""StableHLO's elementwise operations, for lowering rules: `AddOp(x, y).result`, or `add(x, y)`.

The result has the type of the first operand. Anything further is had with `mlir.lower_fun`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors
from pullback.extend.primitive import building
from pullback.runtime.lower import Value

# The class and the function of each operation, and its number of operands.
_OPERATIONS = {
    **dict.fromkeys(["add", "and", "atan2", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder",
                     "subtract", "xor"], 2),
    **dict.fromkeys(["abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log",
                     "log_plus_one", "logistic", "negate", "not", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"], 1),
}
_CLASSES = {"AbsOp": "abs", "AddOp": "add", "AndOp": "and", "Atan2Op": "atan2", "CbrtOp": "cbrt", "CeilOp": "ceil",
            "CosineOp": "cosine", "DivOp": "divide", "ExpOp": "exponential", "Expm1Op": "exponential_minus_one",
            "FloorOp": "floor", "Log1pOp": "log_plus_one", "LogOp": "log", "LogisticOp": "logistic", "MaxOp": "maximum",
            "MinOp": "minimum", "MulOp": "multiply", "NegOp": "negate", "NotOp": "not", "OrOp": "or", "PowOp": "power",
            "RemOp": "remainder", "RsqrtOp": "rsqrt", "SignOp": "sign", "SineOp": "sine", "SqrtOp": "sqrt",
            "SubtractOp": "subtract", "TanOp": "tan", "TanhOp": "tanh", "XorOp": "xor"}


class _Operation:
    """An operation that was written; `result` is its value, and stands for it among operands."""

    def __init__(self, result: Value) -> None:
        self.result = result
        self.results = [result]


def _function(name: str) -> Callable[..., Value]:
    def write(*operands: Any) -> Value:
        if len(operands) != _OPERATIONS[name]:
            raise errors.type_error(f"got {len(operands)} operands, {_OPERATIONS[name]} are required",
                                    op=f"stablehlo.{name}")
        builder = building()
        values = [x.result if isinstance(x, _Operation) else x for x in operands]
        shapes = {(v.type.shape, v.type.dtype) for v in values}
        if len(shapes) != 1:
            raise errors.type_error(f"operands of types {', '.join(str(v.type) for v in values)}, one type is required",
                                    op=f"stablehlo.{name}", fix="broadcast them, or lower the function by lower_fun")
        return builder.op(f"stablehlo.{name}", values, values[0].type)  # type: ignore[no-any-return]
    write.__name__ = name
    return write


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        write = _function(_CLASSES[name])
        return lambda *operands: _Operation(write(*operands))
    if name.removesuffix("_") in _OPERATIONS:
        return _function(name.removesuffix("_"))
    raise errors.unsupported(f"pullback.extend.mlir.dialects.stablehlo.{name}")
