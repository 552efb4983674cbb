"""Pytrees: nested containers of leaves, their structures (treedefs) and the paths to their leaves.

A node is a list, tuple, namedtuple, dict, OrderedDict, defaultdict, None (a node without leaves) or an
instance of a registered class; anything else is a leaf. Dicts and defaultdicts are walked in the order of
their sorted keys, OrderedDicts in their own. The compiled walker is jaxlib's, with a registry of our own:
classes registered with pullback and with jax do not meet.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple, NoReturn, TypeVar

from jaxlib._jax import pytree as _compiled
from jaxlib._jax.pytree import DictKey, FlattenedIndexKey, GetAttrKey, PyTreeDef, PyTreeRegistry, SequenceKey

from pullback.core import errors, source

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "IsLeaf", "KeyEntry", "KeyPath", "Level", "Path",
    "PyTreeDef", "REGISTRY", "SequenceKey", "broadcast_prefix", "check_treedef", "failure",
    "first_difference", "flatten", "flatten_up_to", "flatten_with_path", "keystr", "leaf_names", "leaves",
    "level", "map", "one_level", "prefix_mismatch", "register", "register_pytree_node", "short", "structure",
    "treedef_tuple", "unflatten"]

T = TypeVar("T")
M = TypeVar("M", OrderedDict[Any, Any], defaultdict[Any, Any])
KeyEntry = TypeVar("KeyEntry", bound=Hashable)
KeyPath = tuple[KeyEntry, ...]
Path = tuple[Any, ...]
IsLeaf = Callable[[Any], bool] | None

REGISTRY = PyTreeRegistry(enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True,
                          enable_dict=True)
# A pickled treedef refers to its registry by name.
REGISTRY.__module__, REGISTRY.__name__, REGISTRY.__qualname__ = __name__, "REGISTRY", "REGISTRY"

# Registered classes: the attributes their children come from, or whether they name keys themselves.
REGISTERED: dict[type, tuple[str, ...] | bool] = {}
_MAPPINGS = (dict, OrderedDict, defaultdict)
_SORTABLE = "use keys of one type, or an OrderedDict, which keeps its own order"
_TREE_NAMES = frozenset(
    "all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce "
    "reduce_associative structure transpose unflatten".split())


def failure(cls: type[BaseException], problem: str, fix: str) -> BaseException:
    name = source.called()
    return errors.make(cls, problem, fix=fix, op=f"tree.{name}" if name in _TREE_NAMES else name)


def short(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit - 3]}..."


# ---- flatten, unflatten, map

def _refuse(error: Exception, tree: Any, is_leaf: Callable[..., Any] | None, takes_path: bool) -> NoReturn:
    """Raise what `error`, met while flattening, means to the user."""
    if is_leaf is not None and not callable(is_leaf):
        raise failure(TypeError, f"is_leaf is {short(is_leaf)}, a function is required",
                      "pass a function from a node to a bool") from None
    if isinstance(error, SystemError) and isinstance(error.__cause__, RecursionError):
        raise failure(RecursionError, "the tree contains itself, or is nested too deep to walk",
                      "remove the cycle, or make the nesting flatter") from None
    if isinstance(error, SystemError) or _from_python(error):
        raise error
    last: list[tuple[Path, Any]] = [((), tree)]

    def visit(path: Path, node: Any) -> Any:
        last[0] = path, node
        return is_leaf is not None and (is_leaf(path, node) if takes_path else is_leaf(node))

    try:
        REGISTRY.flatten_with_path(tree, visit)
    except (ValueError, TypeError):
        pass
    path, node = last[0]
    where = f"the {type(node).__name__} at {keystr(path) or 'the root'}"
    if isinstance(node, dict) and error.__cause__ is not None:
        raise failure(ValueError, f"the keys of {where} cannot be sorted: {error.__cause__}",
                      _SORTABLE) from None
    fix = "return a bool from is_leaf" if "is_leaf" in str(error) else (
        "return (children, aux_data) from the flatten function of the class")
    raise failure(type(error), f"{where} cannot be flattened: {error}", fix) from None


def _from_python(error: BaseException) -> bool:
    """Whether Python code called by the walker raised the error (an is_leaf, a flatten function)."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, and its structure.

    Args:
      tree: any object; what is not a node is a leaf.
      is_leaf: a node for which it returns True is a leaf.
    Returns: (leaves, treedef); `unflatten(treedef, leaves)` gives the tree back.
    Raises: ValueError for a dict whose keys cannot be sorted.

    >>> flatten({"b": (1, None), "a": 2})
    ([2, 1], PyTreeDef({'a': *, 'b': (*, None)}))
    """
    try:
        return REGISTRY.flatten(tree, is_leaf)  # type: ignore[no-any-return]
    except (ValueError, TypeError, SystemError) as error:
        _refuse(error, tree, is_leaf, False)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree; see `flatten`.

    Example:
      >>> tree.leaves({"b": 2, "a": [1, None]})
      [1, 2]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree; see `flatten`.

    Example:
      >>> tree.structure([0, 0]).num_leaves
      2
    """
    return flatten(tree, is_leaf)[1]


def check_treedef(treedef: Any) -> None:
    if not isinstance(treedef, PyTreeDef):
        raise failure(TypeError, f"given {short(treedef)}, a treedef is required", "pass tree.structure(tree)")


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose elements have the given structures.

    Example:
      >>> pullback.tree_util.treedef_tuple([tree.structure(0), tree.structure([0, 0])]).num_leaves
      3
    """
    elements = list(treedefs)
    for element in elements:
        check_treedef(element)
    return _compiled.treedef_tuple(REGISTRY, elements)


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of structure `treedef` with these leaves. Raises: ValueError if their number differs.

    Example:
      >>> tree.unflatten(tree.structure({"a": 0, "b": 0}), [1, 2])
      {'a': 1, 'b': 2}
    """
    check_treedef(treedef)
    may_be_endless = not isinstance(leaves, (list, tuple))
    if not isinstance(leaves, (list, tuple)):
        if not isinstance(leaves, Iterable):
            raise failure(TypeError, f"the leaves are {short(leaves)}, an iterable is required",
                          "pass the leaves in a list")
        leaves = list(islice(leaves, treedef.num_leaves + 1))
    if len(leaves) != treedef.num_leaves:
        few = len(leaves) < treedef.num_leaves
        given = f"{len(leaves)} or more" if may_be_endless and not few else str(len(leaves))
        raise failure(ValueError, f"too {'few' if few else 'many'} leaves: given {given}, {short(treedef)} "
                      f"requires {treedef.num_leaves}", "pass as many leaves as the structure has")
    return treedef.unflatten(leaves)


def _split(treedef: PyTreeDef, full: Any, prefix: Any, is_leaf: IsLeaf, names: tuple[str, str]) -> list[Any]:
    """The subtrees of `full` at the leaves of `treedef`, which is the structure of `prefix`."""
    try:
        return treedef.flatten_up_to(full)  # type: ignore[no-any-return]
    except ValueError as error:
        if _from_python(error):
            raise
        problem = prefix_mismatch(prefix, full, is_leaf=is_leaf, names=names) or str(error)
    raise failure(ValueError, problem, "give the trees the same containers and keys (None is an empty "
                  "container, unless is_leaf says that it is a leaf)")


def flatten_up_to(treedef: PyTreeDef, tree: Any, *,
                  names: tuple[str, str] = ("the structure", "the tree")) -> list[Any]:
    """The subtrees of `tree` at the leaves of `treedef`. Raises: ValueError if `treedef` is no prefix."""
    check_treedef(treedef)
    return _split(treedef, tree, treedef, None, names)


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `f` to each leaf, together with what the trees in `rest` have at its place.

    Raises: ValueError naming the first difference if a further tree does not have the structure of `tree`
    (below its leaves it may have more).

    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    found, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(x) for x in found])
    columns = [_split(treedef, other, tree, is_leaf, ("the first tree", f"tree {number}"))
               for number, other in enumerate(rest, 2)]
    return treedef.unflatten([f(*row) for row in zip(found, *columns)])


# ---- key paths

def flatten_with_path(tree: Any, is_leaf: Callable[..., bool] | None = None,
                      is_leaf_takes_path: bool = False) -> tuple[list[tuple[Path, Any]], PyTreeDef]:
    """As `flatten`, each leaf with the path of keys that leads to it.

    Args:
      is_leaf_takes_path: is_leaf is called with (path, node) instead of (node).

    >>> [(keystr(path), leaf) for path, leaf in flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    predicate = is_leaf
    if callable(is_leaf) and not is_leaf_takes_path:
        def predicate(_: Path, node: Any) -> bool:
            return is_leaf(node)
    try:
        return REGISTRY.flatten_with_path(tree, predicate)  # type: ignore[no-any-return]
    except (ValueError, TypeError, SystemError) as error:
        _refuse(error, tree, is_leaf, is_leaf_takes_path)


_PLAIN: dict[type, Callable[[Any], Any]] = {
    DictKey: lambda key: key.key, FlattenedIndexKey: lambda key: key.key,
    GetAttrKey: lambda key: key.name, SequenceKey: lambda key: key.idx}


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path as text: ['a'][0].x, or with `simple` and separator '/': a/0/x.

    Example:
      >>> pullback.tree_util.keystr(tree.leaves_with_path({"a": [1]})[0][0])
      "['a'][0]"
    """
    plain = _PLAIN if simple else {}
    return separator.join([str(plain[type(key)](key) if type(key) in plain else key) for key in keys])


def leaf_names(tree: Any, prefix: str = "") -> list[str]:
    """The place of each leaf as text: "params['w'][0]" with prefix 'params'."""
    return [prefix + keystr(path) for path, _ in flatten_with_path(tree)[0]]


# ---- differences of two structures, in words

class Level(NamedTuple):
    """One node: its type, what else must agree, and its children with their keys."""

    kind: type
    aux: Any
    keys: list[Any]
    children: list[Any]


def one_level(node: Any) -> tuple[Iterable[Any], Any] | None:
    """(children, aux_data) of a node, None for a leaf."""
    try:
        return REGISTRY.flatten_one_level(node)  # type: ignore[no-any-return]
    except (ValueError, TypeError) as error:
        _refuse(error, node, None, False)


def level(node: Any, coded: bool = False) -> Level | None:
    """The top of a tree, or of a treedef if `coded`; None for a leaf."""
    data = node.node_data() if coded else one_level(node)
    if data is None:
        return None
    first: Any = data[0]
    aux, kind, children = data[1], first if coded else type(node), node.children() if coded else list(first)
    fields = REGISTERED.get(kind)
    if kind in _MAPPINGS:
        factory, names = aux if kind is defaultdict else (None, aux)
        return Level(kind, factory, [DictKey(name) for name in names], children)
    if kind in (list, tuple, NoneType):
        return Level(kind, None, [SequenceKey(i) for i in range(len(children))], children)
    if fields is None and issubclass(kind, tuple):
        fields, aux = tuple(getattr(kind, "_fields", ())), None
    if isinstance(fields, tuple):
        return Level(kind, aux, [GetAttrKey(name) for name in fields], children)
    if fields and not coded:
        return Level(kind, aux, [key for key, _ in REGISTRY.flatten_one_level_with_keys(node)[0]], children)
    return Level(kind, aux, [FlattenedIndexKey(i) for i in range(len(children))], children)


def _same(one: Level, two: Level) -> bool:
    if one.kind is not two.kind or len(one.children) != len(two.children):
        return False
    if one.kind in _MAPPINGS and one.keys != two.keys:
        return False
    try:
        return bool(one.aux == two.aux)
    except Exception:  # metadata such as arrays, for which == has no one answer
        return False


def _describe(here: Level | None, there: Level | None, node: Any, coded: bool) -> str:
    if here is None:
        return "a leaf" if coded else f"a leaf of type {type(node).__name__}"
    kind, size = here.kind, len(here.children)
    other = NoneType if there is None else there.kind
    if kind is NoneType:
        return "None"
    name = f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"
    if other is not kind and other.__name__ == kind.__name__:
        name = f"{name} ({kind.__module__}.{kind.__qualname__}, class {id(kind):#x})"
    if kind in _MAPPINGS:
        if there is not None and other is kind and size > 8 and here.keys != there.keys:
            theirs = set(there.keys)
            return f"{name} of {size} keys, {short([k.key for k in here.keys if k not in theirs])} only here"
        factory = f" of {short(here.aux)}" if kind is defaultdict else ""
        return f"{name}{factory} with keys {short([key.key for key in here.keys])}"
    text = f"{name} of length {size}" if kind in (list, tuple) else f"{name} with {size} children"
    return text + (f" and metadata {short(here.aux)}" if other is kind and here.aux is not None else "")


def _first(one: Any, two: Any, prefix: bool, is_leaf: Callable[..., Any] | None, names: tuple[str, str],
           root: str) -> str | None:
    coded = isinstance(one, PyTreeDef), isinstance(two, PyTreeDef)
    if not coded[0]:
        structure(one, is_leaf)  # refuses a tree that contains itself, in which the walk would not end
    pending: list[tuple[Path, Any, Any]] = [((), one, two)]
    while pending:
        path, x, y = pending.pop()
        left = None if is_leaf is not None and is_leaf(x) else level(x, coded[0])
        if left is None and prefix:
            continue
        right = None if is_leaf is not None and not prefix and is_leaf(y) else level(y, coded[1])
        if left is None and right is None:
            continue
        if left is None or right is None or not _same(left, right):
            return (f"at {root + keystr(path) or 'the root'}, {names[0]} has "
                    f"{_describe(left, right, x, coded[0])} and {names[1]} has "
                    f"{_describe(right, left, y, coded[1])}")
        keys = right.keys if coded[0] else left.keys
        pending.extend(reversed([((*path, key), a, b)
                                 for key, a, b in zip(keys, left.children, right.children)]))
    return None


def first_difference(tree_a: Any, tree_b: Any, *, is_leaf: IsLeaf = None, root: str = "",
                     names: tuple[str, str] = ("the first tree", "the second tree")) -> str | None:
    """A sentence on the first difference between two structures, None if there is none.

    Args:
      tree_a, tree_b: trees or treedefs.
      root: what the tree is called, in front of the path.
      names: what the two trees are called.

    >>> first_difference({"w": [1]}, {"w": (1,)}, root="params")
    "at params['w'], the first tree has a list of length 1 and the second tree has a tuple of length 1"
    """
    return _first(tree_a, tree_b, False, is_leaf, names, root)


def prefix_mismatch(prefix: Any, full: Any, *, is_leaf: IsLeaf = None, root: str = "",
                    names: tuple[str, str] = ("the prefix", "the full tree")) -> str | None:
    """A sentence on the first place where `prefix` has another node than `full`, None if there is none."""
    return _first(prefix, full, True, is_leaf, names, root)


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a prefix, each repeated for all leaves of `full_tree` below it.

    Args:
      is_leaf: for nodes of the prefix, such as None, that stand for one leaf.

    >>> broadcast_prefix((0, None), ([1, 2], 3), is_leaf=lambda x: x is None)
    [0, 0, None]
    """
    found, treedef = flatten(prefix_tree, is_leaf)
    below = _split(treedef, full_tree, prefix_tree, is_leaf, ("the prefix", "the full tree"))
    return [leaf for leaf, subtree in zip(found, below) for _ in range(structure(subtree).num_leaves)]


# ---- registration

def register_pytree_node(nodetype: type[T], flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
        unflatten_func: Callable[[Any, Any], T],
        flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None) -> None:
    """Make the instances of a class nodes.

    Args:
      flatten_func: from an instance to (children, aux_data); aux_data is hashable and has a plain ==.
      unflatten_func: from (aux_data, children) to an instance; children may be any objects.
      flatten_with_keys_func: as flatten_func, with (key, child) for each child.
    Raises: ValueError if the class is registered already.
    """
    register(nodetype, flatten_with_keys_func is not None, REGISTRY.register_node, flatten_func,
             unflatten_func, flatten_with_keys_func)


def register(nodetype: Any, keys: tuple[str, ...] | bool, how: Callable[..., Any], *arguments: Any) -> None:
    """Enter a class into the registry with its method `how`; `keys` as in the table of classes."""
    if not isinstance(nodetype, type):
        raise failure(TypeError, f"given {short(nodetype)}, a class is required", "pass the class itself")
    try:
        how(nodetype, *arguments)
    except TypeError:
        raise failure(TypeError, f"{nodetype.__name__} is given {short(arguments)}, functions to flatten and "
                      "unflatten it (or names of attributes) are required", "pass functions") from None
    except ValueError:
        raise failure(ValueError, f"{nodetype.__module__}.{nodetype.__qualname__} is a node already; a class "
                      "can be registered once", "remove one of the registrations") from None
    REGISTERED[nodetype] = keys


def _register_mapping(kind: type[M], split: Callable[[M], tuple[tuple[Any, ...], Any]],
                      build: Callable[[Any, Any], M]) -> None:
    def flatten_mapping(tree: M) -> tuple[list[Any], Any]:
        keys, aux = split(tree)
        return [tree[key] for key in keys], aux

    def flatten_with_keys(tree: M) -> tuple[list[tuple[Any, Any]], Any]:
        keys, aux = split(tree)
        return [(DictKey(key), tree[key]) for key in keys], aux

    register_pytree_node(kind, flatten_mapping, build, flatten_with_keys)


def _split_defaultdict(tree: defaultdict[Any, Any]) -> tuple[tuple[Any, ...], Any]:
    try:
        keys = tuple(sorted(tree))
    except TypeError as error:
        raise failure(ValueError, f"the keys of a defaultdict cannot be sorted: {error}", _SORTABLE) from None
    return keys, (tree.default_factory, keys)


_register_mapping(OrderedDict, lambda tree: (tuple(tree), tuple(tree)),
                  lambda keys, values: OrderedDict(zip(keys, values)))
_register_mapping(defaultdict, _split_defaultdict, lambda aux, values: defaultdict(aux[0], zip(aux[1], values)))
