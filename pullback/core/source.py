"""Where in the user's code an operation was asked for."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import threading
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TRANSFORMS = _PACKAGE + "api" + os.sep  # these call what users give them, which may be a function of ours
# Files whose frames stand between a user's call and ours without being either.
_BETWEEN = {functools.__file__, contextlib.__file__, threading.__file__}


@functools.lru_cache(maxsize=4096)
def _internal(filename: str) -> bool:
    return filename.startswith(_PACKAGE) or filename in _BETWEEN or filename.startswith("<frozen")


class Source:
    """A place in the user's code, kept as a code object and an instruction; resolved when printed."""

    __slots__ = ("code", "instruction")

    def __init__(self, code: CodeType, instruction: int) -> None:
        self.code = code
        self.instruction = instruction

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
        self.scope: str = ""  # names entered by named_scope, joined by '/'


state = _State()


def here() -> Source | None:
    """The user's line that led here, or None if only pullback's frames are on the stack."""
    if state.source is not None:
        return state.source
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _internal(frame.f_code.co_filename):
            return Source(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


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
        if not _internal(code.co_filename) or name and code.co_filename.startswith(_TRANSFORMS):
            break
        if not code.co_name.startswith("<"):
            name = code.co_name
        frame = frame.f_back
    return _OPERATORS.get(name, name.strip("_"))
