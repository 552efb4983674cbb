"""Host functions inside compiled programs, wrapped so that a wrong result cannot corrupt memory.

XLA copies a callback's results by the sizes in the program, past the end of an array that is too small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from pullback.runtime.failures import remember

__all__ = ["ArrayTypes", "HostCallback", "callback_calls", "element_dtype", "guarded", "guarded_by_calls"]

HostCallback = Callable[..., Sequence[Any]]
ArrayTypes = Sequence[tuple[tuple[int, ...], np.dtype[Any]]]

_TARGETS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")


def callback_calls(ir: Any, module: Any) -> list[tuple[int, ArrayTypes]]:
    """The calls of host functions in a parsed module: (index, result types). `ir` is MLIR's binding."""
    calls: list[tuple[int, ArrayTypes]] = []

    def visit(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call":
            attributes = operation.attributes
            if ir.StringAttr(attributes["call_target_name"]).value in _TARGETS:
                index = ir.IntegerAttr(ir.DictAttr(attributes["backend_config"])["index"]).value
                calls.append((index, [(tuple(result.type.shape), element_dtype(str(result.type.element_type)))
                                      for result in operation.results]))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return calls


def guarded_by_calls(functions: Sequence[HostCallback], calls: Sequence[tuple[int, ArrayTypes]]
                     ) -> list[Callable[..., tuple[Any, ...]]]:
    """The functions, each guarded by the result types of the calls to it."""
    types: dict[int, ArrayTypes] = {}
    for index, found in calls:
        if not 0 <= index < len(functions):
            raise ValueError(f"host callback: got a call of number {index}, but {len(functions)} functions; "
                             f"give one for each number")
        if types.setdefault(index, found) != found:
            raise ValueError(f"host callback: number {index} is called with result types {_written(found)} "
                             f"and {_written(types[index])}; give each its own number")
    return [guarded(function, types.get(index, ())) for index, function in enumerate(functions)]


def guarded(function: HostCallback, types: ArrayTypes) -> Callable[..., tuple[Any, ...]]:
    """`function` as XLA may call it: results must be of exactly `types`, what it raises is remembered."""

    def call(*arguments: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        try:
            results = function(*arguments)
            if not isinstance(results, (tuple, list)):
                raise TypeError(f"host callback: got a {type(results).__name__}, a tuple of arrays is "
                                f"required; return (result,) for a single one")
            arrays = [np.asarray(result) for result in results]
            given = [(array.shape, array.dtype) for array in arrays]
            if given != list(types):
                raise TypeError(f"host callback: got results {_written(given)}, {_written(types)} are "
                                f"required; convert them in the callback, or declare what it returns")
            return tuple(arrays)
        except BaseException as error:
            failure = remember(error)
        raise failure

    return call


def _written(types: ArrayTypes) -> str:
    return "(" + ", ".join([f"{dtype}{list(shape)}" for shape, dtype in types]) + ")"


def element_dtype(element: str) -> np.dtype[Any]:
    """The dtype of an MLIR element type such as `i1`, `ui8`, `bf16`, `f8E4M3FN` or `complex<f32>`."""
    if element == "i1":
        return np.dtype(bool)
    if element.startswith("complex"):
        return np.dtype(np.complex64 if "f32" in element else np.complex128)
    found = re.fullmatch(r"(i|ui|f|bf)(\d+)(\w*)", element)
    if found is None:
        raise ValueError(f"host callback: got results of element type {element}, a numeric one is required")
    kind = {"i": "int", "ui": "uint", "f": "float", "bf": "bfloat"}[found[1]]
    name = kind + found[2] + (found[3] and "_" + found[3].lower())
    return np.dtype(getattr(ml_dtypes, name, name))
