"""Where in the user's code an operation was asked for."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TRANSFORMS = _PACKAGE + "api" + os.sep  # these call what users give them, which may be a function of ours
_ERRORS = _PACKAGE + os.path.join("core", "errors.py")
# Files whose frames stand between a user's call and ours without being either.
BETWEEN = {functools.__file__, contextlib.__file__, threading.__file__}


@functools.lru_cache(maxsize=4096)
def is_internal(filename: str) -> bool:
    return filename.startswith(_PACKAGE) or filename in BETWEEN or filename.startswith("<frozen")


class Role(NamedTuple):
    """What a value is for: a tangent, a cotangent, a factor of one. A value without a role is a primal.

    `words` say it, the outermost differentiation first; `operation` is the one whose derivative is taken, and
    `source` the line that asked for it, where a rule of the user's runs on its behalf at lines of its own.
    """

    words: tuple[str, ...]
    operation: str
    source: Source | None = None


class Source:
    """A place in the user's code, kept as a code object and an instruction; resolved when printed.

    `role` says what the operation asked for there computes; it is known while a setting watches derivatives.
    """

    __slots__ = ("code", "instruction", "role")

    def __init__(self, code: CodeType, instruction: int, role: Role | None = None) -> None:
        self.code = code
        self.instruction = instruction
        self.role = role

    def doing(self, word: str, operation: str) -> Source:
        """This place, where the derivative of what is computed there is computed; a cotangent is of a tangent."""
        words, of, asked = self.role or Role((), operation)
        rest = words[1:] if word == "cotangent" and words[:1] == ("tangent",) else words
        return Source(self.code, self.instruction, Role(rest if rest[:1] == (word,) else (word, *rest), of, asked))

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_name

    @property
    def line(self) -> int:
        for index, position in enumerate(self.code.co_positions()):
            if index * 2 >= self.instruction and position[0] is not None:
                return position[0]
        return self.code.co_firstlineno

    @property
    def text(self) -> str:
        """The line of code itself, stripped; empty if its file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = self.text
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}" + (f":  {text}" if text else "")


class _State(threading.local):
    def __init__(self) -> None:
        # While a recorded program is evaluated: the source of the equation being evaluated, which is
        # where the user asked for the operation; the frames on the stack only show the evaluation.
        self.source: Source | None = None
        self.role: Role | None = None  # of what is asked for by the frames on the stack
        self.scope: str = ""  # names entered by named_scope, joined by '/'


state = _State()


def here() -> Source | None:
    """The user's line that led here, or None if only pullback's frames are on the stack."""
    return state.source or on_stack()


def on_stack() -> Source | None:
    """The innermost of the user's frames, whether or not a recorded program is evaluated."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            return Source(frame.f_code, frame.f_lasti, state.role)
        frame = frame.f_back
    return None


@contextlib.contextmanager
def calling(function: Callable[..., Any]) -> Iterator[None]:
    """While a rule of the user's runs: operations are asked for by its lines, on behalf of the line that led here."""
    code, asked = getattr(function, "__code__", None), state.source
    if asked is None or code is None or is_internal(code.co_filename):
        yield
        return
    before = state.role
    state.source, state.role = None, asked.role and asked.role._replace(source=asked)
    try:
        yield
    finally:
        state.source, state.role = asked, before


_OPERATORS = {"__truediv__": "divide", "__rtruediv__": "divide", "__floordiv__": "floor_divide",
              "__mod__": "remainder", "__rmod__": "remainder", "__pow__": "power", "__rpow__": "power",
              "__sub__": "subtract", "__rsub__": "subtract", "__mul__": "multiply", "__rmul__": "multiply",
              "__radd__": "add", "__rmatmul__": "matmul", "__lt__": "less", "__le__": "less_equal",
              "__gt__": "greater", "__ge__": "greater_equal", "__eq__": "equal", "__ne__": "not_equal",
              "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor",
              "__neg__": "negative", "__lshift__": "left_shift", "__rshift__": "right_shift", "__getitem__": "indexing",
              "__call__": ""}


def called() -> str:
    """The name of the public function that the user called and that led here."""
    name = ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename) or code.co_filename.startswith(_TRANSFORMS):
            break
        if not code.co_name.startswith("<") and code.co_filename != _ERRORS:
            name = code.co_name
        frame = frame.f_back
    return _OPERATORS.get(name, name.strip("_"))
