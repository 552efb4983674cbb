"""Every error a user can meet: its class, and the one form of its message.

A message says what was given and what was required, shows the user's line, and proposes one fix:

    matmul: contracted sizes differ: lhs f32[3,4] axis 1 has size 4, rhs f32[5,2] axis 0 has size 5
      at model.py:41 in forward:  h = x @ w
      fix: transpose one operand, or check which axis is the batch axis
"""

from __future__ import annotations

import dis
import sys
from typing import Any, TypeVar

from pullback.core import source


class JAXTypeError(TypeError):
    """What the type errors of tracing have in common."""


class JAXIndexError(IndexError):
    """What the index errors of tracing have in common."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where Python needs a known value."""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python bool: in `if`, `while`, `and`, `or`, `not`, `assert`."""


class TracerArrayConversionError(JAXTypeError):
    """A traced value was handed to NumPy or to another library that needs its numbers."""


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as a Python index or integer."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed with a traced mask, so the shape of the result is not known."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer outlived the transformation that made it."""


class OperandError(TypeError, ValueError):
    """What a function does not take; jax raises one of its bases, and which one depends on the function."""


class BroadcastError(OperandError):
    """Shapes that do not broadcast together; NumPy raises one of its bases for that, jax the other."""


class KeyReuseError(JAXTypeError):
    """A PRNG key was consumed more than once."""


class UnsupportedError(AttributeError):
    """A name of jax that pullback does not have."""


class CompileError(RuntimeError):
    """XLA refused a program."""


class MissingRuleError(TypeError, NotImplementedError):
    """A primitive has no rule for the transformation that met it."""


_IMPORT_FROM = dis.opmap["IMPORT_FROM"]

E = TypeVar("E", bound=BaseException)


def make(cls: type[E], problem: str, *, fix: str = "", op: str | None = None,
         at: source.Source | None = None, notes: tuple[str, ...] = ()) -> E:
    """An exception of class `cls` in the form above.

    Args:
      problem: what was given and what was required.
      fix: what to do, in one clause.
      op: the operation the user called; found on the stack when None, left out when ''.
      at: the user's line; found on the stack when None.
      notes: further lines, each already a sentence.
    """
    name = source.called() if op is None else op
    where = at or source.here()
    lines = [f"{name}: {problem}" if name else problem]
    if where is not None:
        lines.append(f"  at {where}")
    lines += [f"  {note}" for note in notes]
    if fix:
        lines.append(f"  fix: {fix}")
    return cls("\n".join(lines))


def unsupported(name: str) -> Exception:
    """For a module's `__getattr__`: the error for a name of jax that pullback does not have.

    `from module import name` swallows AttributeErrors and says less; there the error is an ImportError.
    """
    text = f"{name} is not supported by pullback"
    fix = "docs/jax_compat.md lists the supported names of jax"
    asking = sys._getframe(2)  # of the frame that asks for the name, behind __getattr__
    if asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        return make(ImportError, text, op="", fix=fix)
    return make(UnsupportedError, text, op="", fix=fix)


def type_error(problem: str, *, fix: str = "", op: str | None = None, **more: Any) -> TypeError:
    return make(TypeError, problem, fix=fix, op=op or source.called(), **more)


def value_error(problem: str, *, fix: str = "", op: str | None = None, **more: Any) -> ValueError:
    return make(ValueError, problem, fix=fix, op=op or source.called(), **more)


def check_axis(axis: Any, ndim: int) -> int:
    """`axis` as a number from 0 to ndim - 1; an error that names the range otherwise."""
    try:
        number = axis.__index__()
    except (AttributeError, TypeError):
        raise type_error(f"axis is {axis!r}, an integer is required", fix="pass an int") from None
    if not -ndim <= number < ndim:
        raise value_error(f"axis {number} is out of bounds for an array with {ndim} dimension{'s' * (ndim != 1)}"
            + (f"; it must be from {-ndim} to {ndim - 1}" if ndim else ""),
            fix="check the rank of the array and the axis")
    return int(number % ndim)


def check_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """`axes` (None: all, an int, or a sequence) as distinct numbers from 0 to ndim - 1."""
    if axes is None:
        return tuple(range(ndim))
    if not isinstance(axes, (tuple, list)):
        return (check_axis(axes, ndim),)
    checked = tuple(check_axis(axis, ndim) for axis in axes)
    if len(set(checked)) != len(checked):
        raise value_error(f"axes {tuple(axes)} name one axis twice", fix="name each axis once")
    return checked
