"""Edits of a function's syntax tree: where expressions are, how one is put in and taken out, and how it is compiled."""

from __future__ import annotations

import ast
import dataclasses
import functools
import linecache
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

from pullback.gate.repair.functions import Function

__all__ = ["Edit", "NotPossible", "Place", "Slot", "installed", "slots", "statements"]

# What these do cannot be undone: nothing inside calls of them is changed.
_OUTSIDE = {"open", "exec", "eval", "compile", "input", "print", "__import__", "exit", "quit", "breakpoint", "setattr",
            "delattr", "globals", "locals", "vars",
            "os", "sys", "shutil", "subprocess", "pathlib", "Path", "socket", "time", "pickle", "logging"}
_SHOWN = 64  # characters of an expression that a report quotes


class NotPossible(Exception):
    """An edit does not compile, or needs a variable that the function does not have."""


class Place(NamedTuple):
    """Where a node is in its parent: a field, and of a list the number."""

    owner: ast.AST
    field: str
    number: int | None = None

    def get(self) -> Any:
        value = getattr(self.owner, self.field)
        return value if self.number is None else value[self.number]

    def put(self, node: Any) -> None:
        if self.number is None:
            setattr(self.owner, self.field, node)
        else:
            getattr(self.owner, self.field)[self.number] = node


class Slot(NamedTuple):
    """An expression in a function.

    Args:
      role: "value", "callee", "index" (inside of brackets) or "option" (of a keyword).
      statement: the statement that it is in.
      above: the places of the expressions around it, the innermost last.
    """

    place: Place
    role: str
    statement: ast.stmt | ast.Lambda
    above: tuple[Place, ...]

    @property
    def node(self) -> Any:
        return self.place.get()


@dataclasses.dataclass(frozen=True, eq=False)
class Edit:
    """A change of a function.

    Args:
      operator: what kind of change it is.
      changes: what is put where.
      line: the line that is changed.
      context: the expression that a report quotes, before and after.
      idle: whether the statement does nothing as it is, which is odd.
    """

    operator: str
    function: Function
    changes: tuple[tuple[Place, Any], ...]
    line: int
    context: Place
    idle: bool = False

    @functools.cached_property
    def size(self) -> int:
        """How many nodes are taken away, and twice those that are added."""
        before = {id(part) for place, _ in self.changes for part in _parts(place.get())}
        after = {id(part) for _, node in self.changes for part in _parts(node)}
        return len(before - after) + 2 * len(after - before) or 3 * len(self.changes)

    @contextmanager
    def made(self) -> Iterator[None]:
        """Inside, the tree is changed."""
        before = [(place, place.get()) for place, _ in self.changes]
        for place, node in self.changes:
            place.put(node)
        try:
            yield
        finally:
            for place, node in reversed(before):
                place.put(node)

    def foreign(self) -> int:
        """How many names it brings to a line that does not have them."""
        there = linecache.getline(self.function.code.co_filename, self.line)
        before = {id(part) for place, _ in self.changes for part in _parts(place.get())}
        new = {part.id for _, node in self.changes for part in _parts(node)
               if isinstance(part, ast.Name) and id(part) not in before}
        return sum(not re.search(rf"\b{name}\b", there) for name in new)

    def wastes(self) -> bool:
        """Whether a variable that is used is not used any more."""
        before = _loaded(self.function.node)
        with self.made():
            return not before <= _loaded(self.function.node)

    def texts(self) -> tuple[str, str]:
        """The expression before and after."""
        before = _text(self.context.get())
        with self.made():
            return before, _text(self.context.get())


def _parts(node: Any) -> Iterator[ast.AST]:
    for root in node if isinstance(node, list) else [node]:
        if isinstance(root, ast.AST):
            yield from (part for part in ast.walk(root) if not isinstance(part, ast.expr_context))


def _loaded(node: ast.AST) -> set[str]:
    """Variables of a function that it uses."""
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    own = {part.id for part in names if isinstance(part.ctx, ast.Store)}
    own |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return own & {part.id for part in names if isinstance(part.ctx, ast.Load)}


def _text(node: Any) -> str:
    try:
        return " ".join(ast.unparse(node).split()) if node is not None else ""
    except Exception:
        return ""


def short(node: ast.AST) -> bool:
    return len(_text(node)) <= _SHOWN


# -- walking ------------------------------------------------------------------------------------------------


def statements(function: Function) -> list[tuple[Place, ast.stmt]]:
    """Every statement of a function, those of functions in it too."""
    return list(_blocks(function.node))


def _blocks(node: ast.AST) -> Iterator[tuple[Place, ast.stmt]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            for i, part in enumerate(value):
                if isinstance(part, ast.stmt):
                    yield Place(node, field, i), part
                if isinstance(part, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                    yield from _blocks(part)


def slots(function: Function) -> list[Slot]:
    """Every expression of a function that may be changed."""
    if isinstance(function.node, ast.Lambda):
        return list(_within(Place(function.node, "body"), "value", function.node, ()))
    found: list[Slot] = []
    for _, statement in statements(function):
        found += _of_statement(statement)
    return found


def _of_statement(statement: ast.stmt) -> Iterator[Slot]:
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ClassDef)):
        return
    for field, value in ast.iter_fields(statement):
        if field in ("targets", "target", "annotation", "decorator_list", "args", "returns", "msg", "type_params"):
            continue
        if isinstance(value, ast.expr):
            yield from _within(Place(statement, field), "value", statement, ())


def _within(place: Place, role: str, statement: ast.stmt | ast.Lambda, above: tuple[Place, ...]) -> Iterator[Slot]:
    node = place.get()
    if isinstance(node, ast.Starred):
        yield from _within(Place(node, "value"), role, statement, above)
        return
    if isinstance(node, (ast.JoinedStr, ast.Await, ast.Yield, ast.YieldFrom)) or _is_outside(node):
        return
    yield Slot(place, role, statement, above)
    above = (*above, place)
    for child, below in _children(node):
        yield from _within(child, below, statement, above)


def _children(node: Any) -> Iterator[tuple[Place, str]]:
    if isinstance(node, ast.Call):
        yield Place(node, "func"), "callee"
        yield from ((Place(node, "args", i), "value") for i in range(len(node.args)))
        yield from ((Place(keyword, "value"), "option") for keyword in node.keywords)
    elif isinstance(node, ast.Subscript):
        yield Place(node, "value"), "value"
        yield Place(node, "slice"), "index"
    elif isinstance(node, ast.Slice):
        yield from ((Place(node, field), "index") for field in ("lower", "upper", "step") if getattr(node, field))
    elif isinstance(node, ast.Tuple):
        yield from ((Place(node, "elts", i), "value") for i in range(len(node.elts)))
    elif isinstance(node, ast.Lambda):
        yield Place(node, "body"), "value"
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                yield Place(node, field), "value"
        yield from ((Place(part, "iter"), "value") for part in node.generators)
        yield from ((Place(part, "ifs", i), "value") for part in node.generators for i in range(len(part.ifs)))
    elif isinstance(node, ast.Dict):
        yield from ((Place(node, "values", i), "value") for i in range(len(node.values)))
    elif isinstance(node, ast.NamedExpr):
        yield Place(node, "value"), "value"
    else:
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                yield Place(node, field), "value"
            elif isinstance(value, list):
                yield from ((Place(node, field, i), "value") for i, part in enumerate(value)
                            if isinstance(part, ast.expr))


def _is_outside(node: ast.AST) -> bool:
    """Whether a call acts on the world outside of the process."""
    if not isinstance(node, ast.Call):
        return False
    root: ast.AST = node.func
    while isinstance(root, (ast.Attribute, ast.Call)):
        root = root.value if isinstance(root, ast.Attribute) else root.func
    return isinstance(root, ast.Name) and root.id in _OUTSIDE


# -- compiling ----------------------------------------------------------------------------------------------


def _compiled(function: Function) -> CodeType:
    """The code of the tree as it is now, with the free variables of the function's own."""
    code, node = function.code, function.node
    free = [ast.Name(name, ast.Load()) for name in code.co_freevars]
    # Variables of which an edit drops the last use stay free, so that the cells fit.
    if isinstance(node, ast.Lambda):
        body = ast.IfExp(ast.Constant(True), node.body, ast.Tuple(list(free), ast.Load())) if free else node.body
        inner: ast.stmt = ast.Return(ast.Lambda(node.args, body))
    else:
        keep: list[ast.stmt] = [ast.If(ast.Constant(False), [ast.Expr(name) for name in free], [])] if free else []
        place = 1 if ast.get_docstring(node, clean=False) is not None else 0
        inner = _function(node.name, node.args, [*node.body[:place], *keep, *node.body[place:]])
    arguments = ast.arguments([], [ast.arg(name) for name in code.co_freevars], None, [], [], None, [])
    outer = _function("around", arguments, [inner])
    for part in (outer, inner):
        ast.copy_location(part, node)
    try:
        made = compile(ast.fix_missing_locations(ast.Module([outer], [])), code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise NotPossible(str(error)) from error
    (around,) = (part for part in made.co_consts if isinstance(part, CodeType))
    found = next(part for part in around.co_consts if isinstance(part, CodeType) and part.co_name == code.co_name)
    if found.co_freevars != code.co_freevars:
        raise NotPossible("other free variables")
    return found.replace(co_firstlineno=code.co_firstlineno, co_qualname=code.co_qualname)


def _function(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    more: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}  # from Python 3.12
    return ast.FunctionDef(name, arguments, body, [], **more)


@contextmanager
def installed(edits: Sequence[Edit]) -> Iterator[None]:
    """Inside, functions run as edited; whatever happens, they are as they were afterwards.

    Raises:
      NotPossible: an edit cannot be made.
    """
    changed: list[Function] = []
    lent: list[tuple[dict[str, Any], str]] = []
    try:
        for edit in edits:
            with edit.made():
                code = _compiled(edit.function)
            changed.append(edit.function)
            lent += _lend(edit)
            for thing in edit.function.objects:
                thing.__code__ = code
        yield
    finally:
        for function in changed:
            for thing in function.objects:
                thing.__code__ = function.code
        for space, name in lent:
            space.pop(name, None)


def _lend(edit: Edit) -> Iterator[tuple[dict[str, Any], str]]:
    """Variables of the enclosing function that the edit uses and the function does not, as globals for a while."""
    function = edit.function
    space = function.objects[0].__globals__
    used = {part.id for _, node in edit.changes for root in (node if isinstance(node, list) else [node])
            if isinstance(root, ast.AST) for part in ast.walk(root) if isinstance(part, ast.Name)}
    for name in used.intersection(function.around).difference(function.own_names):
        if name in space:
            if space[name] is not function.around[name]:
                raise NotPossible(f"{name} is another thing here")
            continue
        space[name] = function.around[name]
        yield space, name
