"""The base trace: operations on known arrays run at once, on NumPy or on XLA.

Operations run by the primitive's `numpy` rule, which costs microseconds and needs no compile. Those that carry
programs, have a slow reference, or gain from threads on large arrays are compiled (once for each primitive, types
and params).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors, source
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.program import Program, single
from pullback.core.trace import Trace, Tracer, leaked, set_base, type_of
from pullback.core.types import ArrayType, is_scalar, scalar_type
from pullback.ops import constant, strong  # noqa: F401  # interpret and rules choose their operations by name
from pullback.passes import key_reuse
from pullback.passes.stretches import form
from pullback.runtime import leaks  # noqa: F401  # installs the check of check_tracer_leaks
from pullback.runtime.executable import executable
from pullback.runtime.schedule import (
    Finite,
    Schedule,
    are_finite,
    array,
    is_large,
    is_unlike,
    loud,
    ndarray,
    plan,
    quiet,
    schedule,
)


class EagerTrace(Trace):
    """Runs every operation at once."""

    def describe(self) -> str:
        return "eager evaluation"

    def schedule(self, program: Program) -> Schedule | None:
        return None if config.unusual else program.memo(schedule)  # type: ignore[no-any-return]

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if primitive.transparent:
            return primitive.run(args, params)
        types = [arg.type if arg.__class__ is ConcreteArray else _type(arg) for arg in args]
        if not config.unusual and not primitive.programs:
            # The way of nearly every call: the types that come out, where NumPy is to compute them.
            try:
                key = (*types, *params.items()) if params else (*types,)
                planned = primitive.plans.get(key)
            except TypeError:  # a param that is not hashable
                planned = ()
            if planned is None:
                planned = primitive.plans[key] = plan(primitive, tuple(types), params)
            if planned:
                token = quiet()
                try:
                    given = [(arg.numpy() if arg._host is None else arg._host) if arg.__class__ is ConcreteArray
                             else ndarray(arg) for arg in args]
                    arrays = primitive.numpy(*given, **params)
                    counts = planned.__class__ is not Finite or are_finite([*given, *arrays])
                finally:
                    loud(token)
                if counts:
                    return [array(t, a) for t, a in zip(planned, arrays, strict=True)]
        return self._carefully(primitive, args, types, params)

    def _carefully(self, primitive: Primitive, args: Sequence[Any], types: list[ArrayType], params: dict[str, Any]
                   ) -> list[Any]:
        """An operation that does not simply run on NumPy, or that a setting watches."""
        out_types = primitive.infer(tuple(types), params)
        keys = key_reuse.follow(primitive, args, params, out_types) if config.debug_key_reuse.value else ()
        if primitive.expands("numpy"):
            results = primitive.expand(*args, **params)
            key_reuse.attach(results, keys)
            return results  # type: ignore[no-any-return]
        where = config.eager.value
        if primitive.programs or where == "xla" or where == "auto" and (
                primitive.slow_reference or primitive.parallel and is_large(types, out_types)):
            results = compiled(primitive, tuple(types), params)(args)
        else:
            token = quiet()
            try:
                arrays = primitive.numpy(*[ndarray(arg) for arg in args], **params)
                counts = where != "auto" or not is_unlike(primitive, types) or are_finite(
                    [*map(ndarray, args), *arrays])
            finally:
                loud(token)
            results = [array(t, a) for t, a in zip(out_types, arrays, strict=True)] if counts else (
                compiled(primitive, tuple(types), params)(args))
        if keys:
            key_reuse.attach(results, keys)
        if config.debug_nans.value or config.debug_infs.value:
            try:
                check_finite(primitive, args, results)
            except FloatingPointError:
                if primitive.programs and not primitive.expands("numpy"):
                    # The reference runs the programs one operation at a time, and each is checked.
                    primitive.numpy(*[ndarray(arg) for arg in args], **params)
                raise
        return results


def _type(arg: Any) -> ArrayType:
    """The type of an operand that is no Array: of a number; an error for a tracer."""
    if isinstance(arg, Tracer):
        raise _closed_over(arg) if arg.owner.alive else leaked(arg)
    return scalar_type(arg)


def _closed_over(tracer: Tracer) -> TypeError:
    """The error for a tracer that reached an operation outside the reach of its live transformation."""
    return errors.make(
        errors.UnexpectedTracerError,
        f"a value of type {tracer.type} inside {tracer.owner.describe()} was used where that transformation does "
        "not reach: in a function with a custom derivative rule, a callback, or another thread", op="",
        fix="pass the value to that function as an argument; do not close over it")


_KEPT = 512
_single: dict[Any, Any] = {}


def clear() -> None:
    """Forgets the compiled programs of single operations."""
    _single.clear()


def compiled(primitive: Primitive, types: tuple[ArrayType, ...], params: dict[str, Any]) -> Any:
    """One operation as a compiled function of the list of its operands."""
    if len(primitive.programs) == 1 and primitive.runs_program:
        return params[primitive.programs[0]].memo(_alike)
    # A loop is staged anew in each call; where it does the same again, what was compiled for it serves again. What has
    # effects may tell of the line that asked for it.
    effects = primitive.programs and primitive.effects(params)
    key = (primitive, types, *(params.items() if effects else [(name, form(value)) for name, value in params.items()]))
    program = _single.get(key)
    if program is None:
        if len(_single) >= _KEPT:
            _single.clear()
        program = _single[key] = single(primitive, types, params)
    return executable(program)


def _alike(program: Program) -> Any:
    """The program compiled; one that was staged anew, and does the same as an earlier one, is not compiled again."""
    if not program.effects:
        try:
            key = form(program)
            if key not in _single and len(_single) >= _KEPT:
                _single.clear()
            return executable(_single.setdefault(key, program))
        except TypeError:  # a param that is not hashable
            pass
    return executable(program)


def check_finite(primitive: Primitive, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Raises FloatingPointError if a result holds a NaN (or an infinity) and the setting asks for it."""
    for setting, test, what in ((config.debug_nans, np.isnan, "NaN"), (config.debug_infs, np.isinf, "infinity")):
        for result in results if setting.value else ():
            count = _count(test, result)
            if count:
                problem = f"{primitive.name} made {count} {what} among {result.type.size} elements of {result.type}"
                if any([_count(test, arg) for arg in args]):
                    problem += " from an operand that held one"
                raise _not_finite(f"invalid value ({'nan' if what == 'NaN' else 'inf'}): {problem}")


def _count(test: Any, x: Any) -> int:
    """How many elements of an array pass a test for numbers."""
    if not dtypes.is_inexact(type_of(x).dtype):
        return 0
    return int(test(x if is_scalar(x) else x.numpy()).sum())


def _not_finite(problem: str) -> FloatingPointError:
    """The error, with what the value is for: a primal, or a part of the derivative of an operation."""
    where, called = source.here(), source.on_stack()
    role = where.role if where else None
    notes = []
    if where is None or role is None:
        problem += ", a primal"
        fix = ("make the operands valid before this line (clip, where on the input), or find where they went wrong; "
               "nan_to_num would only hide it")
    else:
        problem += f", {_ROLES[role.words[0]]}{' of the '.join(['', *role.words[1:]])} in the derivative of " \
                   f"{role.operation}"
        fix = ("keep the operands of this line away from where its derivative is not finite (where on the input, not "
               "on the output); for zeros times infinity, see strong_zeros")
        if role.source is not None:
            notes.append(f"for the call at {role.source}")
    if called is not None and str(called) not in (str(where), str(role and role.source)):
        notes.append(f"reached from {called}")
    return errors.make(FloatingPointError, problem, op="", at=where, notes=tuple(notes), fix=fix)


_ROLES = {"tangent": "a tangent", "cotangent": "a cotangent", "factor": "a factor of the tangent or cotangent"}


set_base(EagerTrace())
