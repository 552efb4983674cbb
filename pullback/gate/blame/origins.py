"""Where a leaf of a result comes from: the line after which the very object, or what holds it, was there first."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from pullback.gate.blame.lines import Step, follow
from pullback.gate.session import Session
from pullback.gate.sites import Site
from pullback.gate.snapshot import contents

__all__ = ["Origins", "handed_back", "taken"]

_DEPTH, _ITEMS = 5, 1000
# Two equal ones may be one object.
_SHARED = (type(None), bool, int, str, bytes, type, types.ModuleType, types.FunctionType)


class Origins:
    """The objects that one run has made, operation by operation, with the lines that made them.

    Args:
      session: the model under its engine.
      run: what is run, when a line is first asked for.
      otherwise: the line where nothing is found.
    """

    def __init__(self, session: Session, run: Callable[[], Any], otherwise: Site | None = None) -> None:
        self.session, self.otherwise = session, otherwise
        self._run: Callable[[], Any] | None = run
        self._ran = False
        self._text = contents(session.engine)
        self._first: dict[int, Site | None] = {}
        self._placed: dict[tuple[int, str], tuple[int, Site | None]] = {}  # what an object holds, and since when
        self._content: dict[int, str] = {}  # of NumPy's arrays, which can change
        self._kept: list[Any] = []  # so that no other object gets the identity of one that is gone
        self._returns: dict[int, Site | None] = {}
        self.result: Any = None

    def made(self, path: str = "", part: Callable[[Any], Any] = lambda result: result) -> Site | None:
        """The line that made a leaf; where it is an argument, or a plain number, the line that put it there.

        Args:
          path: of the leaf, or of a tree, below the part of the result that `part` takes.
        """
        for x, place in self._chain(path, part):
            site = None if isinstance(x, _SHARED) else self._first.get(id(x))
            if site is None and place in self._placed and self._placed[place][0] == id(x):
                site = self._placed[place][1]
            if site is not None:
                return site
        return self.otherwise

    def returned(self, path: str = "", part: Callable[[Any], Any] = lambda result: result) -> Site | None:
        """The line of the last `return` that hands out a leaf."""
        sites = (self._returns.get(id(x)) for x, _ in self._chain(path, part) if not isinstance(x, _SHARED))
        return next((site for site in sites if site is not None), self.otherwise)

    def _chain(self, path: str, part: Callable[[Any], Any]) -> list[tuple[Any, Any]]:
        """The objects from a leaf outwards, up to the whole result, each with its place in the next one; none if it
        cannot be run.
        """
        if self._run is not None:
            run, self._run = self._run, None
            try:
                with self.session.watch.eagerly():
                    self.result = follow(run, self.session.engine.folders, self._visit)
                self._ran = True
            except Exception:  # it does not run like this, or a debugger is at work
                pass
        if not self._ran:
            return []
        chosen = part(self.result)
        chain: list[tuple[Any, Any]] = [(self.result, None)] + [(chosen, None)] * (chosen is not self.result)
        for entry in path.split("/") if path else ():
            above = chain[-1][0]
            found = dict(_entries(above))
            if entry not in found:
                break
            chain.append((found[entry], (id(above), entry)))
        return chain[::-1]

    def _visit(self, step: Step) -> None:
        frame, outer = step.frame, step.event == "call" and step.site is None
        captured = frame.f_code.co_freevars if step.event == "call" else ()
        for name, value in frame.f_locals.items():
            self._see(value, None if outer or name in captured else step.site)
        if step.event == "return":
            self._see(step.value, step.site)
            for x in _parts(step.value, 0):
                self._returns[id(x)] = step.site

    def _see(self, value: Any, site: Site | None) -> None:
        for x in _parts(value, 0):
            if id(x) not in self._first:
                self._first[id(x)] = site
                self._kept.append(x)
            if isinstance(x, np.ndarray) and self._first[id(x)] is not None:  # arguments are many, and large
                text = self._text(x)
                if self._content.setdefault(id(x), text) != text:
                    self._first[id(x)], self._content[id(x)] = site, text
            for entry, below in _entries(x):
                if self._placed.get((id(x), entry), (None,))[0] != id(below):
                    self._placed[id(x), entry] = id(below), site


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, by the names that paths of leaves use."""
    found: Any = ()
    if isinstance(value, Mapping):
        found = value.items()
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        found = zip(value._fields, value)
    elif isinstance(value, (list, tuple)):
        found = enumerate(value)
    elif type(value).__module__.partition(".")[0] not in ("numpy", "builtins", "jaxlib", "functools"):
        found = getattr(value, "__dict__", {}).items()
    for name, x in itertools.islice(found, _ITEMS):
        yield str(name), x


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """The object, and all that it holds."""
    if isinstance(value, _SHARED):
        return
    yield value
    for _, x in _entries(value) if depth < _DEPTH else ():
        yield from _parts(x, depth + 1)


def taken(session: Session, run: Callable[[Any], Any], tree: Any, path: str) -> Site | None:
    """The first line after which a name of its own holds what is at a path of a tree.

    Args:
      run: a function of the tree.
    """
    node = tree
    for entry in path.split("/"):
        found = dict(_entries(node))
        if entry not in found:
            return None
        node = found[entry]
    sites: list[Site] = []

    def visit(step: Step) -> None:
        if not sites and step.site is not None and any(x is node for x in step.frame.f_locals.values()):
            sites.append(step.site)

    try:
        with session.watch.eagerly():
            follow(lambda: run(tree), session.engine.folders, visit)
    except Exception:  # it does not run like this, or a debugger is at work
        return None
    return sites[0] if sites else None


def handed_back(session: Session, run: Callable[[], Any], use: Site) -> Site | None:
    """Where the function in which a key is used returns a key that it did not make: so the next step gets the same.

    Args:
      run: a run in which everything is traced anew.
    """
    there: dict[FrameType, list[Any]] = {}
    sites: list[Site | None] = []

    def is_key(x: Any) -> bool:
        words = session.engine.key_words(x) if hasattr(x, "dtype") else None
        return words is not None and str(words.dtype) == "uint32" and words.shape[-1:] in ((2,), (4,))

    def visit(step: Step) -> None:
        code = step.frame.f_code
        if (code.co_filename, code.co_name) != (use.file, use.function):
            return
        if step.event == "call":
            there[step.frame] = [x for value in step.frame.f_locals.values() for x in _parts(value, 0) if is_key(x)]
        elif step.event == "return" and any(x is y for x in _parts(step.value, 0) for y in there.get(step.frame, ())):
            sites.append(step.site)

    try:
        with session.watch.eagerly():
            follow(run, session.engine.folders, visit)
    except Exception:  # it does not run like this, or a debugger is at work
        return None
    return sites[0] if sites else None
