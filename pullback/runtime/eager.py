"""The base trace: operations on known arrays run at once, on NumPy or on XLA.

Operations run by the primitive's `numpy` rule, which costs microseconds and needs no compile. Those that carry
programs, have a slow reference, or gain from threads on large arrays are compiled (once for each primitive, types
and params).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.program import Equation, Program, Var
from pullback.core.trace import Trace, Tracer, leaked, set_base
from pullback.core.types import ArrayType, is_scalar, scalar_type
from pullback.runtime.executable import executable

# From this many elements of operands and results on, XLA's threads are worth a compiled call.
_LARGE = 1 << 21


class EagerTrace(Trace):
    """Runs every operation at once."""

    def describe(self) -> str:
        return "eager evaluation"

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if primitive.transparent:
            return primitive.run(args, params)
        types = []
        for arg in args:
            if isinstance(arg, ConcreteArray):
                types.append(arg.type)
            elif isinstance(arg, Tracer):
                raise _closed_over(arg) if arg.trace.alive else leaked(arg)
            else:
                types.append(scalar_type(arg))
        out_types = primitive.infer(tuple(types), params)
        if primitive.expands("numpy"):
            return primitive.expand(*args, **params)  # type: ignore[no-any-return]
        where = config.eager.value
        if primitive.programs or where == "xla" or where == "auto" and (
                primitive.slow_reference or primitive.parallel and _large(types, out_types)):
            results = _compiled(primitive, tuple(types), params)(args)
        else:
            with np.errstate(all="ignore"):
                arrays = primitive.numpy(*[_ndarray(arg) for arg in args], **params)
            results = [_array(t, a) for t, a in zip(out_types, arrays, strict=True)]
        if config.debug_nans.value or config.debug_infs.value:
            try:
                check_finite(primitive, results)
            except FloatingPointError:
                if primitive.programs and not primitive.expands("numpy"):
                    # The reference runs the programs one operation at a time, and each is checked.
                    primitive.numpy(*[_ndarray(arg) for arg in args], **params)
                raise
        return results


def _large(types: Sequence[ArrayType], out_types: Sequence[ArrayType]) -> bool:
    return sum([t.size for t in types]) + sum([t.size for t in out_types]) > _LARGE


def _closed_over(tracer: Tracer) -> TypeError:
    """The error for a tracer that reached an operation outside the reach of its live transformation."""
    return errors.make(
        errors.UnexpectedTracerError,
        f"a value of type {tracer.type} inside {tracer.trace.describe()} was used where that transformation does "
        "not reach: in a function with a custom derivative rule, a callback, or another thread", op="",
        fix="pass the value to that function as an argument; do not close over it")


def _ndarray(arg: Any) -> Any:
    if isinstance(arg, ConcreteArray):
        return arg.numpy()
    return scalar_type(arg).dtype.type(arg) if not isinstance(arg, np.generic) else arg


def _array(t: ArrayType, result: Any) -> ConcreteArray:
    physical = t.physical() if t.is_key else t
    host = np.asarray(result)
    assert host.dtype == physical.dtype and host.shape == physical.shape, (t, host.dtype, host.shape)
    return ConcreteArray(t, host)


_single: dict[Any, Any] = {}


def clear() -> None:
    """Forgets the compiled programs of single operations."""
    _single.clear()


def single(primitive: Primitive, types: tuple[ArrayType, ...], params: dict[str, Any]) -> Program:
    """A program of one equation."""
    inputs = [Var(t) for t in types]
    outputs = [Var(t) for t in primitive.infer(types, params)]
    return Program(inputs, [Equation(primitive, inputs, outputs, params)], outputs, primitive.name)


def _compiled(primitive: Primitive, types: tuple[ArrayType, ...], params: dict[str, Any]) -> Any:
    if len(primitive.programs) == 1 and primitive.runs_program:
        return executable(params[primitive.programs[0]])
    key = (primitive, types, *params.items())
    program = _single.get(key)
    if program is None:
        program = _single[key] = single(primitive, types, params)
    return executable(program)


def check_finite(primitive: Primitive, results: Sequence[Any]) -> None:
    """Raises FloatingPointError if a result holds a NaN (or an infinity) and the setting asks for it."""
    for result in results:
        if is_scalar(result) or not dtypes.is_inexact(result.type.dtype):
            continue
        array = result.numpy()
        for setting, test, what in ((config.debug_nans, np.isnan, "NaN"), (config.debug_infs, np.isinf, "infinity")):
            if setting.value and test(array).any():
                count = int(test(array).sum())
                raise errors.make(
                    FloatingPointError, f"invalid value ({'nan' if what == 'NaN' else 'inf'}): {primitive.name} made "
                    f"{count} {what} among {result.type.size} elements of {result.type}", op="",
                    fix="make the operands valid before this line (clip, where on the input), or find where "
                        "they went wrong; nan_to_num would only hide it")


set_base(EagerTrace())
