"""Places in the user's code."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

__all__ = ["Site", "function_name", "here", "is_own", "of_error", "of_frames", "of_function"]

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple(_PATHS[name] + os.sep for name in ("purelib", "platlib"))
_STANDARD = _PATHS["stdlib"] + os.sep


class Site(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip()
        return f"{os.path.basename(self.file)}:{self.line} in {self.function}" + (f":  {text}" if text else "")


def function_name(code: CodeType) -> str:
    """The name of the function that code belongs to; before Python 3.12 a comprehension has code of its own."""
    inner = ("<listcomp>", "<dictcomp>", "<setcomp>", "<locals>")
    return next((name for name in reversed(code.co_qualname.split(".")) if name not in inner), "<module>")


def _is_users(file: str, folders: Sequence[str]) -> bool:
    return not (file.startswith((*folders, _OWN, "<frozen")) or (
        file.startswith(_STANDARD) and not file.startswith(_LIBRARIES)))


def _pick(places: Iterator[tuple[str, int, str]], folders: Sequence[str]) -> Site | None:
    """The first place of the user's own, or else the first in a library that is not the engine."""
    library = None
    for place in places:
        if _is_users(place[0], folders):
            if not place[0].startswith(_LIBRARIES):
                return Site(*place)
            library = library or Site(*place)
    return library


def here(folders: Sequence[str]) -> Site | None:
    """The user's line that led to this call."""
    def frames() -> Iterator[tuple[str, int, str]]:
        frame: FrameType | None = sys._getframe(3)
        while frame is not None:
            yield frame.f_code.co_filename, frame.f_lineno, function_name(frame.f_code)
            frame = frame.f_back
    return _pick(frames(), folders)


def of_frames(places: Sequence[tuple[str, int, str]], folders: Sequence[str]) -> Site | None:
    """The user's line among frames (file, line, function), innermost first."""
    return _pick(iter(places), folders)


def is_own(file: str, folders: Sequence[str]) -> bool:
    """Whether a file is the user's own: no library's, and none of the engine."""
    return _is_users(file, folders) and not file.startswith(_LIBRARIES)


def of_error(error: BaseException, folders: Sequence[str]) -> Site | None:
    """The user's line that an error came from."""
    places = []
    traceback: TracebackType | None = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append((code.co_filename, traceback.tb_lineno, function_name(code)))
        traceback = traceback.tb_next
    return _pick(iter(reversed(places)), folders)


def of_function(function: Callable[..., Any] | None) -> Site | None:
    """Where a function is defined."""
    if function is None:
        return None
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    function = getattr(function, "func", function)
    code: CodeType | None = getattr(function, "__code__", None)
    return None if code is None else Site(code.co_filename, code.co_firstlineno, code.co_name)
