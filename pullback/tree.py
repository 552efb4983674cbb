"""Functions on pytrees: nested containers of arrays and other leaves. The names of `jax.tree`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from pullback.core.tree import (
    IsLeaf,
    Path,
    PyTreeDef,
    broadcast_prefix,
    check_treedef,
    failure,
    first_difference,
    flatten,
    flatten_up_to,
    flatten_with_path,
    leaves,
    map,
    prefix_mismatch,
    structure,
    unflatten,
)

__all__ = ["all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
           "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose", "unflatten"]

_UNSET: Any = object()


def leaves_with_path(tree: Any, is_leaf: Callable[..., bool] | None = None,
                     is_leaf_takes_path: bool = False) -> list[tuple[Path, Any]]:
    """Pairs of path and leaf; see `flatten_with_path`.

    Example:
      >>> tree.leaves_with_path({"a": 1})
      [((DictKey(key='a'),), 1)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[..., bool] | None = None,
                  is_leaf_takes_path: bool = False) -> Any:
    """As `map`, with `f` called with the path of the leaf first.

    Raises: ValueError as `map`.

    >>> map_with_path(lambda path, x: f"{len(path)}: {x}", {"a": 1, "b": [2]})
    {'a': '1: 1', 'b': ['2: 2']}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [flatten_up_to(treedef, other, names=("the first tree", f"tree {number}"))
               for number, other in enumerate(rest, 2)]
    return treedef.unflatten([f(path, leaf, *row) for (path, leaf), *row in zip(pairs, *columns)])


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of the structure of `full_tree`, with each leaf of the prefix at all leaves below it.

    Args:
      is_leaf: a node of the prefix for which it returns True is a leaf.
    Raises: ValueError naming the first difference if `prefix_tree` is no prefix of `full_tree`.

    >>> broadcast({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    {'a': [0, 0], 'b': 1}
    """
    return structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true; True for a tree without leaves.

    Example:
      >>> tree.all([True, {"a": False}])
      False
    """
    return not [leaf for leaf in leaves(tree, is_leaf) if not leaf]


def reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSET,
           is_leaf: IsLeaf = None) -> Any:
    """Combine the leaves from the left, as functools.reduce does.

    Raises: TypeError if there is neither a leaf nor an initializer.

    Example:
      >>> tree.reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
      6
    """
    found = leaves(tree, is_leaf)
    if initializer is not _UNSET:
        return functools.reduce(function, found, initializer)
    if not found:
        raise failure(TypeError, "the tree has no leaves and there is no initializer", "pass an initializer")
    return functools.reduce(function, found)


def reduce_associative(operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _UNSET,
                       is_leaf: IsLeaf = None) -> Any:
    """Combine the leaves, in order, in a balanced binary tree.

    Args:
      operation: associative, or the result depends on the grouping.
      identity: the result for a tree without leaves.
    Raises: TypeError if there is neither a leaf nor an identity.

    Example:
      >>> tree.reduce_associative(lambda x, y: x + y, [1, 2, 3], identity=0)
      6
    """
    found = leaves(tree, is_leaf)
    if not found:
        if identity is _UNSET:
            raise failure(TypeError, "the tree has no leaves and there is no identity", "pass identity=")
        return identity

    def combine(part: list[Any]) -> Any:
        half = len(part) // 2
        return operation(combine(part[:half]), combine(part[half:])) if half else part[0]

    return combine(found)


def transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Inner trees inside an outer tree as outer trees inside an inner tree.

    Args:
      inner_treedef: None takes the structure of the first subtree.
    Raises: TypeError (ValueError without inner_treedef) if a subtree has another structure.

    >>> transpose(structure([0, 0]), None, [{"a": 1}, {"a": 2}])
    {'a': [1, 2]}
    """
    check_treedef(outer_treedef)
    refused = ValueError if inner_treedef is None else TypeError
    problem = prefix_mismatch(outer_treedef, pytree_to_transpose, names=("outer_treedef", "the tree"))
    if problem is not None:
        raise failure(refused, problem, "pass the structure that the outside of the tree has")
    subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is None:
        if not subtrees:
            raise failure(ValueError, "outer_treedef has no leaves and inner_treedef is None",
                          "pass inner_treedef")
        inner_treedef = structure(subtrees[0])
    check_treedef(inner_treedef)
    for number, subtree in enumerate(subtrees):
        problem = first_difference(inner_treedef, subtree, names=("inner_treedef", f"subtree {number}"))
        if problem is not None:
            raise failure(refused, problem, "give all subtrees the structure of inner_treedef")
    rows = [leaves(subtree) for subtree in subtrees]
    columns = zip(*rows) if rows else [()] * inner_treedef.num_leaves
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def static(**kwargs: Any) -> Any:
    """A dataclass field that `register_dataclass` makes part of the structure.

    Args:
      kwargs: those of dataclasses.field.

    >>> static(default="tanh").metadata["static"]
    True
    """
    return dataclasses.field(metadata={**(kwargs.pop("metadata", None) or {}), "static": True}, **kwargs)
