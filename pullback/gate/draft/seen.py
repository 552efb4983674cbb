"""The arguments of a script's functions as a run of the script shows them."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import runpy
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.errors import UsageError
from pullback.gate.report import shown
from pullback.gate.values import is_float

__all__ = ["Like", "like_of", "seen_arguments", "tree_map"]


class Like(NamedTuple):
    """What is known of an array: its type, and the bounds of its values or of some of them (None: nothing)."""

    shape: tuple[int, ...]
    dtype: str
    low: float | None = None
    high: float | None = None


class _SeenAll(BaseException):
    """Ends the run of the script: everything has been seen."""


def tree_map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Over dicts, lists, plain tuples and None."""
    if isinstance(tree, Mapping):
        return {key: tree_map(function, below) for key, below in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(tree_map(function, below) for below in tree)
    return None if tree is None else function(tree)


def like_of(value: Any) -> Like:
    """Of an array, a number or a traced value.

    Raises:
      TypeError: it is neither.
    """
    if isinstance(value, (bool, int, float)):
        return Like((), type(value).__name__, float(value), float(value))
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise TypeError(f"a {type(value).__name__}")
    like = Like(tuple(value.shape), str(value.dtype))
    try:
        x = np.asarray(value)
    except Exception:  # a traced value, of which there is only the type
        return like
    x = x[np.isfinite(x)] if is_float(x) and x.dtype.kind != "c" else x
    return like if not x.size or x.dtype.kind not in "fiub" and not is_float(x) else like._replace(
        low=float(x.min()), high=float(x.max()))


def seen_arguments(path: str, wanted: Mapping[str, CodeType], needed: Sequence[str], seconds: float
                   ) -> dict[str, dict[str, Any]]:
    """Runs a script until the needed functions have been called; trees of Like by function and parameter.

    Where a function is called with traced values, their bounds are those of an array of the caller's that could be it:
    of the same name, dtype and trailing axes.

    Args:
      wanted: code of functions by name.
      needed: those without which there is no point.
      seconds: after which it is given up.

    Raises:
      UsageError: the script ends, or the time, before a needed function is called.
    """
    places = {(os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno): name
              for name, code in wanted.items()}
    found: dict[str, dict[str, Any]] = {}
    ended = ""

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = places.get((os.path.realpath(code.co_filename), code.co_name, code.co_firstlineno)
                          ) if code.co_name in wanted else None
        if name is not None and name not in found:
            given = {known: frame.f_locals[known] for known in code.co_varnames[:code.co_argcount]}
            with contextlib.suppress(TypeError):  # a call with something that is no array is not the one
                found[name] = {known: tree_map(functools.partial(_seen, known, frame), value)
                               for known, value in given.items()}
        if all(known in found for known in needed):
            raise _SeenAll

    def late(*_: Any) -> None:
        raise _SeenAll

    arguments, folder = sys.argv, list(sys.path)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    silenced = io.StringIO()
    try:
        with contextlib.redirect_stdout(silenced), contextlib.redirect_stderr(silenced):
            before = signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            sys.setprofile(look)
            try:
                runpy.run_path(path, run_name="__main__")
            finally:
                sys.setprofile(None)
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
    except _SeenAll:
        ended = f"{seconds:g} s passed"
    except (Exception, SystemExit) as error:
        ended = f"it ended with {shown(error)}"
    finally:
        sys.argv, sys.path[:] = arguments, folder
    for name in needed:
        if name not in found:
            raise UsageError(f"{path} was run to see the arguments of {name!r}, and {ended or 'ended'} before it was "
                             "called with arrays", "keep example arguments in the file, by the names of its parameters")
    return found


def _seen(name: str, frame: FrameType, value: Any) -> Like:
    """A value, with the bounds of an array of a caller that could be it where it has none itself."""
    like = like_of(value)
    above = frame.f_back if like.low is None else None
    while above is not None:
        if above.f_code.co_filename == frame.f_code.co_filename:
            with contextlib.suppress(TypeError):
                other = like_of(above.f_locals.get(name))
                if other.dtype == like.dtype and other.shape[1:] == like.shape[1:] and other.low is not None:
                    return like._replace(low=other.low, high=other.high)
        above = above.f_back
    return like
