"""Where data is written: the call of gate.Model is read, and the names in it are followed to what is assigned to them.

Data has no operation to blame. Its line is that of the expression that the declaration leads to.
"""

from __future__ import annotations

import ast
import dataclasses
import linecache
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pullback.gate.model import Model
from pullback.gate.sites import Site

__all__ = ["alias", "mentions", "written"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
_LIMIT = 20  # names that lead to names


def written(model: Model, field: str, path: str = "") -> Site | None:
    """The line of a leaf of a field: written(model, "splits", "test/x")."""
    found = _found(model, field, path)
    return None if found is None else found[0]


def mentions(model: Model, field: str, path: str, other: str) -> bool:
    """Whether what is written for a path names what is written for another: one split is made of the other."""
    found, named = _found(model, field, path), _found(model, field, other, name=True)
    if found is None or named is None or not isinstance(named[1], ast.Name):
        return False
    return any(isinstance(node, ast.Name) and node.id == named[1].id for node in ast.walk(found[1]))


def alias(site: Site) -> Site | None:
    """Where a call in a loop takes a name for its first argument: the line in that loop that only renames another."""
    tree = _tree(site.file)
    for loop in ast.walk(tree) if tree is not None else ():
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        inside = list(ast.walk(loop))
        names = [node.args[0].id for node in inside if isinstance(node, ast.Call) and node.args and isinstance(
            node.args[0], ast.Name) and node.lineno <= site.line <= (node.end_lineno or node.lineno)]
        for node in inside:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and any(
                    isinstance(target, ast.Name) and target.id in names for target in node.targets):
                return site._replace(line=node.lineno)
    return None


def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _found(model: Model, field: str, path: str, name: bool = False) -> tuple[Site, ast.AST] | None:
    """The place and the expression; with `name`, the first name on the way to it."""
    site, tree = model.site, _tree(model.site.file)
    if tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _ends(node.func) == "Model"
             and node.lineno <= site.line <= (node.end_lineno or node.lineno)]
    if not calls:
        return None
    call = max(calls, key=lambda node: node.lineno)
    given = dict(zip([f.name for f in dataclasses.fields(Model) if f.init], call.args))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if field not in given:
        return None
    scopes = _around(tree, call)
    scope, node = _Reader(scopes, call.lineno).follow(given[field], path.split("/") if path else [], name)
    line = getattr(node, "lineno", call.lineno)
    return Site(site.file, line, getattr(scope, "name", "<module>")), node


def _ends(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _around(tree: ast.Module, call: ast.AST) -> Sequence[ast.AST]:
    """The functions around a call, innermost first, and the module."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, _SCOPES)]
    return [scope for scope in scopes if any(node is call for node in ast.walk(scope))][::-1]


class _Reader:
    def __init__(self, scopes: Sequence[ast.AST], line: int, left: int = _LIMIT) -> None:
        self.scopes, self.line, self.left = scopes, line, left

    def follow(self, node: ast.AST, entries: list[str], name: bool = False) -> tuple[ast.AST, ast.AST]:
        """The expression that a path leads to, with its scope."""
        self.left -= 1
        if isinstance(node, ast.Name) and not (name and not entries) and self.left > 0:
            for number, scope in enumerate(self.scopes):
                line = self.line if number == 0 else sys.maxsize  # a function runs after all that is around it
                bound = [found for found in _bindings(scope, node.id, entries) if found[0] < line]
                if bound:
                    _, value, rest = max(bound, key=lambda found: found[0])
                    return _Reader(self.scopes[number:], line, self.left).follow(value, rest, name)
                if not isinstance(scope, ast.Module) and node.id in _parameters(scope):
                    break
        if isinstance(node, ast.Dict) and entries:
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant) and str(key.value) == entries[0]:
                    return self.follow(value, entries[1:], name)
        if isinstance(node, (ast.List, ast.Tuple)) and entries and entries[0].isdigit():
            if int(entries[0]) < len(node.elts) and not any(isinstance(x, ast.Starred) for x in node.elts):
                return self.follow(node.elts[int(entries[0])], entries[1:], name)
        return self.scopes[0], node


def _parameters(scope: Any) -> set[str]:
    return {node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg)}


def _bindings(scope: Any, name: str, entries: list[str]) -> Iterator[tuple[int, ast.AST, list[str]]]:
    """The assignments to a name, or to an entry of it, in a scope: line, value, and the path below the value."""
    for node in _own(scope):
        if isinstance(node, ast.Assign):
            targets: Sequence[ast.expr] = node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            targets = [node.target]
        else:
            continue
        value: Any = node.value
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.lineno, value, entries
            elif isinstance(target, ast.Tuple):
                for i, part in enumerate(target.elts):
                    if isinstance(part, ast.Name) and part.id == name:
                        same = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
                        yield node.lineno, value.elts[i] if same else value, entries if same else []
            elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
                key = getattr(target.slice, "value", None)
                if entries and str(key) == entries[0]:
                    yield node.lineno, value, entries[1:]


def _own(scope: Any) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of functions in it."""
    waiting = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
