"""The user's functions that a check runs, with their syntax trees and the values that their names had.

What runs is seen by a profile of one run, so that functions behind wrappers (jit, custom rules, partial) are found.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import gc
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from pullback.gate.sites import Site, is_own

__all__ = ["Function", "Run", "Value", "functions_of", "watched_run"]

_Node = ast.FunctionDef | ast.Lambda


@dataclasses.dataclass(frozen=True)
class Value:
    """What a name stood for at the end of a run: enough to judge where it could stand instead.

    Args:
      kind: "array", "number", "mapping", "function" or "other".
      shape: of an array.
      truth: whether it is of booleans.
      keys: of a mapping, those that are strings.
    """

    kind: str
    shape: tuple[int, ...] = ()
    truth: bool = False
    keys: tuple[str, ...] = ()

    @staticmethod
    def of(x: Any) -> Value:
        if isinstance(x, (bool, int, float, np.generic)):
            return Value("number", truth=isinstance(x, (bool, np.bool_)))
        if isinstance(x, dict):
            return Value("mapping", keys=tuple(key for key in x if isinstance(key, str)))
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, tuple) and dtype is not None:
            return Value("array", shape, str(dtype) == "bool")
        return Value("function" if isinstance(x, FunctionType) or hasattr(x, "__wrapped__") else "other")


@dataclasses.dataclass
class Function:
    """A function of the user's, with every object that runs its code.

    Args:
      node: its syntax tree, without decorators; line numbers are those of the file.
      objects: the functions to change.
      code: what they ran before.
      values: what its names stood for: locals and names of the functions around it.
      around: objects by names of the functions around it, some of which it does not use itself.
    """

    node: _Node
    objects: list[FunctionType]
    code: CodeType
    values: dict[str, Value]
    around: dict[str, Any]

    @property
    def first(self) -> Site:
        return Site(self.code.co_filename, self.code.co_firstlineno, self.code.co_name)

    @functools.cached_property
    def own_names(self) -> frozenset[str]:
        """The variables that the function and those in it have."""
        return frozenset(name for code in (self.code, *_below(self.code))
                         for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars))


@dataclasses.dataclass
class Run:
    """Codes that were run, in the order of their first calls, and values of their names at their last return."""

    locals: dict[CodeType, dict[str, Value]] = dataclasses.field(default_factory=dict)

    def add(self, other: Run) -> None:
        for code, values in other.locals.items():
            self.locals.setdefault(code, {}).update(values)


def watched_run(run: Callable[[], Any], folders: Sequence[str], left_out: Iterable[Any], found: Run | None = None
                ) -> Run:
    """Runs, and notes the user's functions that it calls, in `found`; not those that `left_out` call."""
    found = Run() if found is None else found
    skipped = {code for function in left_out if (code := _code(function)) is not None}
    looked_at: dict[CodeType, bool] = {}
    inside = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal inside
        code = frame.f_code
        own = looked_at.get(code)
        if own is None:
            own = looked_at[code] = code in skipped or is_own(code.co_filename, folders)
        if not own or event not in ("call", "return"):
            return
        if code in skipped:
            inside += 1 if event == "call" else -1
        elif not inside:
            values = found.locals.setdefault(code, {})
            if event == "return":
                values.update((name, Value.of(x)) for name, x in frame.f_locals.items())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def _code(function: Any) -> CodeType | None:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if isinstance(function, functools.partial):
        return _code(function.func)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def functions_of(found: Run) -> list[Function]:
    """The functions of a run whose source is known; one that is defined in another of them is a part of that one."""
    codes = list(found.locals)
    inner = {part for code in codes for part in _below(code)}
    outer = [code for code in codes if code not in inner and code.co_name not in ("<module>", "<genexpr>")]
    objects: dict[CodeType, list[FunctionType]] = {code: [] for code in outer}
    for thing in gc.get_referrers(*outer) if outer else ():
        if isinstance(thing, FunctionType) and thing.__code__ in objects:
            objects[thing.__code__].append(thing)
    trees: dict[str, dict[tuple[int, str], list[_Node]]] = {}
    made = []
    for code in outer:
        if code.co_filename not in trees:
            trees[code.co_filename] = _nodes(code.co_filename)
        nodes = [node for node in trees[code.co_filename].get((code.co_firstlineno, code.co_name), ())
                 if _fits(node, code)]
        if len(nodes) != 1 or not objects[code]:
            continue
        around = _around(code, objects[code], found)
        values = {name: Value.of(x) for name, x in around.items()}
        values.update({name: Value.of(x) for name, x in _globals(objects[code][0]).items() if name not in values})
        for part in (code, *_below(code)):
            values.update(found.locals.get(part, {}))
        made.append(Function(nodes[0], objects[code], code, values, around))
    return made


def _below(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _below(part)


def _nodes(file: str) -> dict[tuple[int, str], list[_Node]]:
    """The functions of a file by first line and name."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    found: dict[tuple[int, str], list[_Node]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault((node.lineno, "<lambda>"), []).append(node)
        elif isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((first, node.name), []).append(node)
    return found


def _fits(node: _Node, code: CodeType) -> bool:
    """Whether a tree can be that of a code: the file may have been edited, and a line may have two lambdas."""
    arguments = node.args
    names = [x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    count = code.co_argcount + code.co_kwonlyargcount
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names == list(code.co_varnames[:count]) and used.issuperset(set(code.co_freevars) - {"__class__"})


def _around(code: CodeType, objects: Sequence[FunctionType], found: Run) -> dict[str, Any]:
    """The variables of the enclosing function: those of the cells of all functions that were defined in it."""
    cells: dict[str, Any] = {}
    scope = code.co_qualname.rpartition(".<locals>.")[0]
    siblings = [other for other in found.locals if scope and other.co_filename == code.co_filename
                and other.co_qualname.rpartition(".<locals>.")[0] == scope and other is not code]
    for thing in [*(gc.get_referrers(*siblings) if siblings else ()), *objects]:
        if isinstance(thing, FunctionType) and thing.__closure__ and (thing.__code__ in siblings or thing in objects):
            cells.update(_contents(thing.__code__.co_freevars, thing.__closure__))
    return cells


def _contents(names: Sequence[str], cells: Sequence[CellType]) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(names, cells):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not yet assigned
            continue


def _globals(function: FunctionType) -> dict[str, Any]:
    """The numbers and arrays among the globals of a file, and its functions."""
    return {name: x for name, x in function.__globals__.items() if not name.startswith("_")
            and Value.of(x).kind in ("number", "array", "function")}
