"""Pytrees, with the names of `jax.tree_util`; the functions of `pullback.tree` start with `tree_` here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pullback.core.nodes import Partial, register_dataclass, register_static
from pullback.core.tree import REGISTRY as default_registry
from pullback.core.tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    check_treedef,
    failure,
    keystr,
    level,
    one_level,
    register_pytree_node,
    short,
    treedef_tuple,
)
from pullback.tree import all as tree_all
from pullback.tree import broadcast as tree_broadcast
from pullback.tree import flatten as tree_flatten
from pullback.tree import flatten_with_path as tree_flatten_with_path
from pullback.tree import leaves as tree_leaves
from pullback.tree import leaves_with_path as tree_leaves_with_path
from pullback.tree import map as tree_map
from pullback.tree import map_with_path as tree_map_with_path
from pullback.tree import reduce as tree_reduce
from pullback.tree import reduce_associative as tree_reduce_associative
from pullback.tree import structure as tree_structure
from pullback.tree import transpose as tree_transpose
from pullback.tree import unflatten as tree_unflatten

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "default_registry", "flatten_one_level", "flatten_one_level_with_keys",
    "is_tree_node", "keystr", "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static", "tree_all",
    "tree_broadcast", "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple"]

T = TypeVar("T")
C = TypeVar("C", bound=type)


def register_pytree_with_keys(
        nodetype: type[T], flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
        unflatten_func: Callable[[Any, Any], T],
        flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None) -> None:
    """Make the instances of a class nodes, with names for their children.

    Args:
      flatten_with_keys: from an instance to (pairs of key and child, aux_data).
      unflatten_func: from (aux_data, children) to an instance.
      flatten_func: from an instance to (children, aux_data), if there is a faster way than with keys.
    Raises: ValueError if the class is registered already.
    """
    if flatten_func is None:
        def flatten_func(instance: T) -> tuple[Iterable[Any], Any]:
            pairs, aux = flatten_with_keys(instance)
            return [child for _, child in pairs], aux
    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def _require(cls: Any, *methods: str) -> None:
    lacking = [method for method in methods if not callable(getattr(cls, method, None))]
    if lacking:
        raise failure(AttributeError, f"{short(cls)} has no method {' and no '.join(lacking)}; "
                      f"{' and '.join(methods)} are required", "define it in the class")


def register_pytree_node_class(cls: C) -> C:
    """Make the instances of a class nodes; decorates the class.

    Args:
      cls: has a method tree_flatten() -> (children, aux_data) and a class method
        tree_unflatten(aux_data, children).
    Raises: ValueError if the class is registered already; AttributeError if a method is missing.
    """
    _require(cls, "tree_flatten", "tree_unflatten")
    register_pytree_node(cls, lambda instance: instance.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: C) -> C:
    """As `register_pytree_node_class`, with names for the children.

    Args:
      cls: has a method tree_flatten_with_keys() -> (pairs of key and child, aux_data), a class method
        tree_unflatten(aux_data, children), and may have tree_flatten().
    Raises: ValueError if the class is registered already; AttributeError if a method is missing.
    """
    _require(cls, "tree_flatten_with_keys", "tree_unflatten")
    plain = (lambda instance: instance.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda instance: instance.tree_flatten_with_keys(),
                              cls.tree_unflatten, plain)  # type: ignore[attr-defined]
    return cls


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element of an iterable is a leaf (None is not).

    Example:
      >>> pullback.tree_util.all_leaves([1, 2.0])
      True
    """
    return not [x for x in iterable if tree_structure(x, is_leaf).node_data() is not None]


def is_tree_node(typ: type) -> bool:
    """Whether the instances of a class are nodes.

    Example:
      >>> pullback.tree_util.is_tree_node(list), pullback.tree_util.is_tree_node(int)
      (True, False)
    """
    return isinstance(typ, type) and default_registry.is_node(typ)  # type: ignore[no-any-return]


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children and the aux_data of one node. Raises: ValueError for a leaf.

    Example:
      >>> pullback.tree_util.flatten_one_level([1, [2]])[0]
      [1, [2]]
    """
    found = one_level(tree)
    if found is None:
        raise failure(ValueError, f"given {short(tree)}, which is a leaf; a node is required",
                      "check is_tree_node(type(x)) first")
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Pairs of key and child, and the aux_data, of one node. Raises: ValueError for a leaf.

    Example:
      >>> len(list(pullback.tree_util.flatten_one_level_with_keys({"a": 1})[0]))
      1
    """
    children, aux = flatten_one_level(tree)
    node = level(tree)
    return tuple(zip(node.keys if node else (), children)), aux


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a node; [] for a leaf.

    Example:
      >>> len(pullback.tree_util.treedef_children(tree.structure([0, (0, 0)])))
      2
    """
    check_treedef(treedef)
    return treedef.children()  # type: ignore[no-any-return]


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is one leaf, or one node without children.

    Example:
      >>> pullback.tree_util.treedef_is_leaf(tree.structure(0))
      True
    """
    check_treedef(treedef)
    return bool(treedef.num_nodes == 1)
