"""Pytrees against real jax's, and what is ours alone: differences in words, errors, pickling."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import functools
import itertools
import pickle
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import tree_util as oracle

import pullback.core.nodes
import pullback.core.tree as core
import pullback.tree
import pullback.tree_util as ours

Point = namedtuple("Point", "x y")


class Pair:
    """A node without keys."""

    def __init__(self, left, right, label):
        self.left, self.right, self.label = left, right, label

    def __eq__(self, other):
        return (self.left, self.right, self.label) == (other.left, other.right, other.label)

    def __repr__(self):
        return f"{type(self).__name__}({self.left!r}, {self.right!r}, {self.label!r})"


class Named(Pair):
    """A node with keys."""


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    activation: str = pullback.tree.static(default="tanh")


class Mode(str):
    """A static string."""


class Plain:
    """Neither a dataclass nor a node by itself."""

    def __init__(self, size, kind):
        self.size, self.kind = size, kind


def _register(module):
    module.register_pytree_node(Pair, lambda p: ((p.left, p.right), p.label), lambda aux, c: Pair(*c, aux))
    module.register_pytree_with_keys(
        Named, lambda p: (((module.GetAttrKey("left"), p.left), ("right", p.right)), p.label),
        lambda aux, c: Named(*c, aux))
    module.register_dataclass(Layer)
    module.register_dataclass(Plain, data_fields=["size"], meta_fields=["kind"])
    module.register_static(Mode)


_register(oracle)
_register(ours)


def _none(x):
    return x is None


def _is_tuple(x):
    return isinstance(x, tuple)


TREES = [
    1, None, "text", (), [], {}, [None], (1,), [1, 2], (1, [2, (3, None)]), {"b": 1, "a": 2}, {2: 3, 1: 4},
    {(1, 2): 1, (0, "a"): 2}, {"a": {"b": [1, {"c": 2}]}}, Point(1, 2),
    [Point((1, 2), None), {"p": Point(3, 4)}], OrderedDict([("b", 1), ("a", [2, 3])]),
    OrderedDict([(1, 1), ("a", 2)]), OrderedDict(),
    defaultdict(int, {"b": 1, "a": (2, 3)}), defaultdict(None, {}), deque([1, 2]), {1, 2},
    range(3), np.ones(2),
    Pair(1, [2, 3], "aux"), [Named(1, {"k": 2}, None)], Layer([1, 2], None), {"l": Layer(1, 2, "relu")},
    (Mode("train"), 1), Plain(1, 2), [[[[]]], [{}], ({"a": ()},)], int, functools.partial(max, 1),
    {"deep": functools.reduce(lambda inner, _: [inner], range(50), 1)},
]
ids = [f"{number}-{type(tree).__name__}" for number, tree in enumerate(TREES)]
every_tree = pytest.mark.parametrize("tree", TREES, ids=ids)
every_leaf_rule = pytest.mark.parametrize("is_leaf", [None, _none, _is_tuple])


# ---- against jax

@every_leaf_rule
@every_tree
def test_flatten_agrees(tree, is_leaf):
    leaves, treedef = ours.tree_flatten(tree, is_leaf)
    expected, expected_treedef = oracle.tree_flatten(tree, is_leaf)
    assert len(leaves) == len(expected) and all(x is y for x, y in zip(leaves, expected))
    assert repr(treedef) == repr(expected_treedef)
    assert treedef.num_leaves == expected_treedef.num_leaves
    assert treedef.num_nodes == expected_treedef.num_nodes
    assert repr(ours.treedef_children(treedef)) == repr(oracle.treedef_children(expected_treedef))
    assert ours.treedef_is_leaf(treedef) == oracle.treedef_is_leaf(expected_treedef)
    assert ours.tree_leaves(tree, is_leaf) == leaves and ours.tree_structure(tree, is_leaf) == treedef
    again = ours.tree_structure(copy.copy(tree), is_leaf)
    assert again == treedef and hash(again) == hash(treedef)


@every_leaf_rule
@every_tree
def test_paths_agree(tree, is_leaf):
    pairs, treedef = ours.tree_flatten_with_path(tree, is_leaf)
    expected, expected_treedef = oracle.tree_flatten_with_path(tree, is_leaf)
    assert repr(treedef) == repr(expected_treedef)
    assert [(repr(path), id(leaf)) for path, leaf in pairs] == [(repr(path), id(x)) for path, x in expected]
    for options in ({}, {"simple": True}, {"simple": True, "separator": "/"}, {"separator": "|"}):
        assert ([ours.keystr(path, **options) for path, _ in pairs]
                == [oracle.keystr(path, **options) for path, _ in expected])
    assert repr(ours.tree_leaves_with_path(tree, is_leaf)) == repr(pairs)


@every_tree
def test_unflatten_gives_the_same_objects_as_jax(tree):
    leaves, treedef = ours.tree_flatten(tree)
    rebuilt = ours.tree_unflatten(treedef, iter(leaves))
    expected = oracle.tree_unflatten(oracle.tree_structure(tree), leaves)
    assert type(rebuilt) is type(expected)
    assert ours.tree_structure(rebuilt) == treedef
    assert all(x is y for x, y in zip(ours.tree_leaves(rebuilt), oracle.tree_leaves(expected)))


@every_tree
def test_map_agrees(tree):
    mapped = ours.tree_map(lambda x, y: (id(x), y is x), tree, tree)
    expected = oracle.tree_map(lambda x, y: (id(x), y is x), tree, tree)
    assert oracle.tree_leaves(mapped) == oracle.tree_leaves(expected)
    assert repr(oracle.tree_structure(mapped)) == repr(oracle.tree_structure(expected))


@every_tree
def test_one_level_agrees(tree):
    assert ours.is_tree_node(type(tree)) == oracle.is_tree_node(type(tree))
    if not oracle.is_tree_node(type(tree)):
        for function in (ours.flatten_one_level, ours.flatten_one_level_with_keys):
            with pytest.raises(ValueError, match="is a leaf; a node is required"):
                function(tree)
        return
    children, aux = ours.flatten_one_level(tree)
    expected, expected_aux = oracle.flatten_one_level(tree)
    assert [id(x) for x in children] == [id(x) for x in expected] and aux == expected_aux
    pairs, aux = ours.flatten_one_level_with_keys(tree)
    assert [id(x) for _, x in pairs] == [id(x) for x in expected] and aux == expected_aux
    # jax 0.10 names the fields of namedtuples and the children of nodes without keys wrongly here; the
    # paths of the children, taken as leaves, are right everywhere.
    top = oracle.tree_leaves_with_path(tree, is_leaf=lambda x: x is not tree)
    assert [repr((key,)) for key, _ in pairs] == [repr(path) for path, _ in top]


KEYS = st.sampled_from(["a", "b", "c", "w", "x"])
RANDOM_TREES = st.recursive(
    st.one_of(st.integers(), st.none(), st.booleans(), st.text(max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3).map(OrderedDict), st.builds(Point, inner, inner),
        st.dictionaries(KEYS, inner, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(Pair, inner, inner, st.integers(0, 1)), st.builds(Layer, inner, inner)),
    max_leaves=12)


@settings(max_examples=150, deadline=None)
@given(RANDOM_TREES)
def test_random_trees_agree(tree):
    pairs, treedef = ours.tree_flatten_with_path(tree)
    expected, expected_treedef = oracle.tree_flatten_with_path(tree)
    assert repr(pairs) == repr(expected) and repr(treedef) == repr(expected_treedef)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert ours.tree_unflatten(treedef, [leaf for _, leaf in pairs]) == tree
    assert core.first_difference(tree, tree) is None
    assert core.first_difference(treedef, tree) is None


@settings(max_examples=250, deadline=None)
@given(RANDOM_TREES, RANDOM_TREES)
def test_differences_are_found_exactly_where_jax_sees_them(one, two):
    equal = oracle.tree_structure(one) == oracle.tree_structure(two)
    codes = [ours.tree_structure(tree) for tree in (one, two)]
    for x, y in ((one, two), (codes[0], two), (one, codes[1]), codes):
        assert (core.first_difference(x, y) is None) == equal
    try:
        expected = oracle.tree_structure(one).flatten_up_to(two)
    except ValueError:
        assert core.prefix_mismatch(one, two) is not None and core.prefix_mismatch(codes[0], two) is not None
        for call in (lambda: core.flatten_up_to(codes[0], two), lambda: ours.tree_broadcast(one, two),
                     lambda: ours.tree_map(lambda x, y: 0, one, two)):
            with pytest.raises(ValueError, match="  fix: give the trees the same containers"):
                call()
    else:
        assert core.prefix_mismatch(one, two) is None and core.prefix_mismatch(codes[0], two) is None
        assert [id(x) for x in core.flatten_up_to(codes[0], two)] == [id(x) for x in expected]
        assert repr(ours.tree_broadcast(one, two)) == repr(oracle.tree_broadcast(one, two))


CALLS = [
    lambda t: t.tree_reduce(lambda x, y: (x, y), [1, 2, {"a": 3}]),
    lambda t: t.tree_reduce(lambda x, y: (x, y), [1, None], None),
    lambda t: t.tree_reduce(lambda x, y: (x, y), [1, None], 0, is_leaf=_none),
    lambda t: t.tree_reduce(lambda x, y: x + y, [], initializer=7),
    lambda t: [t.tree_reduce_associative(lambda x, y: (x, y), list(range(n))) for n in range(1, 9)],
    lambda t: t.tree_reduce_associative(lambda x, y: (x, y), [], identity="id"),
    lambda t: t.tree_reduce_associative(lambda x, y: (x, y), [1, None, 2], identity="id", is_leaf=_none),
    lambda t: [t.tree_all(x) for x in ([], [1, 2], [1, 0], [None], {"a": False})],
    lambda t: t.tree_all([None], is_leaf=_none),
    lambda t: [t.all_leaves(x) for x in ([], [1, 2], [1, (2,)], [None], {"a": 1}, [Point(1, 2)])],
    lambda t: [t.all_leaves([(1,), 2], is_leaf=_is_tuple), t.all_leaves(iter([None]), is_leaf=_none)],
    lambda t: t.tree_transpose(t.tree_structure([0, 0]), t.tree_structure({"a": 0}), [{"a": 1}, {"a": 2}]),
    lambda t: t.tree_transpose(t.tree_structure({"p": 0, "q": 0}), None, {"p": (1, [2]), "q": (3, [4])}),
    lambda t: t.tree_transpose(t.tree_structure([0]), t.tree_structure([]), [[]]),
    lambda t: t.tree_broadcast({"a": 1, "b": 2}, {"a": [3, 4], "b": (5, {"c": None})}),
    lambda t: t.tree_broadcast({"a": 1, "b": None}, {"a": [3, 4], "b": None}),
    lambda t: t.tree_broadcast({"a": 1, "b": None}, {"a": 3, "b": [1, 2]}, is_leaf=_none),
    lambda t: t.tree_broadcast({"b": (1, 2)}, {"b": (1, (1, 2))}, is_leaf=_is_tuple),
    lambda t: t.tree_broadcast({"b": 7}, {"b": [1, None]}, is_leaf=_none),
    lambda t: t.tree_map(lambda x, y, z: (x, y, z), {"a": 1}, {"a": [1, 2]}, {"a": None}),
    lambda t: t.tree_map(lambda x, y: (x, y), [None, 1], [2, 3], is_leaf=_none),
    lambda t: t.tree_map_with_path(lambda p, x, y: (t.keystr(p), x, y), {"a": 1, "b": (2,)},
                                   {"a": [3], "b": (4,)}),
    lambda t: t.tree_map_with_path(lambda p, x: (t.keystr(p), x), {"a": 1, "b": (2, [3])},
                                   is_leaf=lambda p, x: t.keystr(p) == "['b'][1]", is_leaf_takes_path=True),
    lambda t: t.tree_map_with_path(lambda p, x: (len(p), x), [1, None], is_leaf=_none),
    lambda t: t.tree_leaves_with_path([1, {"a": None}], lambda p, x: len(p) == 1, True),
    lambda t: t.treedef_tuple(t.tree_structure(x) for x in (1, [2], {"a": None})),
    lambda t: t.treedef_tuple([]),
    lambda t: t.tree_structure([1, 2]).compose(t.tree_structure((1, 2))),
    lambda t: [t.is_tree_node(x) for x in (int, list, dict, tuple, Point, type(None), OrderedDict, Layer,
                                           Mode, t.Partial, functools.partial, defaultdict, set)],
    lambda t: [(str(k), repr(k)) for k in (t.DictKey("a"), t.SequenceKey(1), t.GetAttrKey("x"),
                                           t.FlattenedIndexKey(2))],
    lambda t: [t.keystr(("a", 3, None, t.DictKey((1, 2))), simple=simple, separator=".")
               for simple in (True, False)],
    lambda t: t.tree_leaves(t.Partial(max, 1, [2, 3], key=abs)),
    lambda t: t.tree_leaves_with_path(t.Partial(max, 1, key=abs)),
    lambda t: t.tree_leaves([t.Partial(t.Partial(max, 1), 3), t.Partial(functools.partial(max, 1), 3)]),
    lambda t: (t.Partial(max, 1)(2), t.Partial(functools.partial(max, 5), 3)(4), t.Partial(max, 1).func),
    lambda t: t.tree_map(lambda x: x + 1, t.Partial(max, 1, 2))(0),
    lambda t: t.tree_structure(t.Partial(max, 1, a=[2])),
    lambda t: isinstance(t.Partial(max), functools.partial),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_agree(number):
    assert repr(CALLS[number](ours)) == repr(CALLS[number](oracle))


BAD_CALLS = [
    (ValueError, "too few leaves: given 1", lambda t: t.tree_unflatten(t.tree_structure([1, 2]), [1])),
    (ValueError, "too many leaves: given 3 or more, .* requires 2",
     lambda t: t.tree_unflatten(t.tree_structure([1, 2]), itertools.repeat(0))),
    (ValueError, "too many leaves: given 4, .* requires 2",
     lambda t: t.tree_unflatten(t.tree_structure([1, 2]), [1, 2, 3, 4])),
    (TypeError, "an iterable is required", lambda t: t.tree_unflatten(t.tree_structure([1, 2]), 3)),
    (ValueError, r"at \['b'\]", lambda t: t.tree_map(max, {"a": 1, "b": [1]}, {"a": 1, "b": (1,)})),
    (ValueError, "at the root", lambda t: t.tree_map(max, {"a": 1}, {"b": 1})),
    (ValueError, "tree 3 has a list of length 1", lambda t: t.tree_map(max, [1, 2], [1, 2], [1])),
    (ValueError, "has None and tree 2 has a leaf of type int", lambda t: t.tree_map(max, [None], [1])),
    (ValueError, "int.* with keys .*list",
     lambda t: t.tree_map(max, defaultdict(int, a=1), defaultdict(list, a=1))),
    (ValueError, r"keys \['a', 'b'\].*keys \['b', 'a'\]",
     lambda t: t.tree_map(max, OrderedDict(a=1, b=2), OrderedDict(b=1, a=2))),
    (ValueError, r"at \[0\], the first tree has a Point",
     lambda t: t.tree_map_with_path(max, [Point(1, 2)], [(1, 2)])),
    (ValueError, "metadata 'x'.*metadata 'y'", lambda t: t.tree_map(max, Pair(1, 2, "x"), Pair(1, 2, "y"))),
    (ValueError, "dict at the root cannot be sorted: '<'", lambda t: t.tree_flatten({"a": 1, 2: 3})),
    (ValueError, r"dict at \[0\]\['a'\] cannot be sorted", lambda t: t.tree_leaves([{"a": {"a": 1, 2: 3}}])),
    (ValueError, "returned a non-boolean value", lambda t: t.tree_flatten([1, [2]], is_leaf=lambda x: "yes")),
    (TypeError, "is_leaf is 3, a function is required", lambda t: t.tree_flatten([1], is_leaf=3)),
    (TypeError, "is_leaf is 3, a function is required", lambda t: t.tree_flatten_with_path([1], is_leaf=3)),
    (ZeroDivisionError, None, lambda t: t.tree_flatten([1], is_leaf=lambda x: 1 / 0)),
    (ZeroDivisionError, None, lambda t: t.tree_map(lambda x: 1 / 0, [1])),
    (TypeError, "no initializer", lambda t: t.tree_reduce(max, [])),
    (TypeError, "no identity", lambda t: t.tree_reduce_associative(max, [None])),
    (ValueError, r"at \[1\]", lambda t: t.tree_broadcast([1, (2, 3)], [1, (2,)])),
    (ValueError, "the prefix has None", lambda t: t.tree_broadcast([None], [1])),
    (ValueError, "list of length 2.*list of length 1",
     lambda t: t.tree_transpose(t.tree_structure([0, 0]), None, [{"a": 1}])),
    (TypeError, "list of length 2.*list of length 3",
     lambda t: t.tree_transpose(t.tree_structure([0, 0]), t.tree_structure({"a": 0}), [{"a": 1}] * 3)),
    (ValueError, "is a node already", lambda t: t.register_pytree_node(Pair, lambda p: ((), 0), max)),
    (ValueError, "is a node already", lambda t: t.register_pytree_node(dict, lambda p: ((), 0), max)),
    (ValueError, "is a node already", lambda t: t.register_static(Pair)),
    (ValueError, "is a node already", lambda t: t.register_dataclass(Layer)),
    (TypeError, "functions to flatten and unflatten",
     lambda t: t.register_pytree_node(type("New", (), {}), 3, 4)),
    (TypeError, "both are required", lambda t: t.register_dataclass(Layer, data_fields=["weight"])),
    (TypeError, "both are required", lambda t: t.register_dataclass(type("New", (), {}))),
    (ValueError, r"\['activation'\] missing", lambda t: t.register_dataclass(Layer, ["weight"], ["bias"])),
    (ValueError, r"\['other'\] not a field",
     lambda t: t.register_dataclass(Layer, ["weight", "bias", "other"], ["activation"])),
    (ValueError, r"\['bias'\] named twice",
     lambda t: t.register_dataclass(Layer, ["weight", "bias"], ["bias", "activation"])),
    (AttributeError, "no method tree_unflatten", lambda t: t.register_pytree_node_class(type("New", (), {}))),
    (TypeError, None, lambda t: t.Partial(3)),
    (TypeError, None, lambda t: t.Partial()),
]


@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
def test_errors_have_the_class_of_jax_and_our_words(number):
    cls, words, call = BAD_CALLS[number]
    with pytest.raises(cls):
        call(oracle)
    with pytest.raises(cls, match=words) as caught:
        call(ours)
    assert type(caught.value) is cls
    if words:
        assert "\n  fix: " in str(caught.value) and "test_tree.py" in str(caught.value)


def _cycle():
    tree = []
    tree.append(tree)
    return tree


@pytest.mark.parametrize("cls, words, call", [
    # Here jax goes on with a wrong result, or its error says something else.
    (RecursionError, "contains itself", lambda: ours.tree_flatten(_cycle())),
    (RecursionError, "contains itself", lambda: ours.tree_leaves_with_path(_cycle())),
    (RecursionError, "contains itself", lambda: core.first_difference(_cycle(), [1])),
    (ValueError, "defaultdict cannot be sorted", lambda: ours.tree_flatten(defaultdict(int, {1: 1, "a": 2}))),
    (TypeError, "tree.unflatten: given 3, a treedef is required", lambda: ours.tree_unflatten(3, [1])),
    (TypeError, "a treedef is required", lambda: ours.treedef_tuple([1])),
    (TypeError, "a treedef is required", lambda: ours.treedef_children([1])),
    (TypeError, "a treedef is required", lambda: ours.treedef_is_leaf(None)),
    (TypeError, "a treedef is required", lambda: ours.tree_transpose([1], None, [1])),
    (TypeError, "a class is required", lambda: ours.register_pytree_node(3, max, max)),
    (TypeError, "a class is required", lambda: ours.register_dataclass(Layer(1, 2), ["weight"], ["bias"])),
    (TypeError, "is a string", lambda: ours.register_dataclass(Layer, "weight", ["bias"])),
    (TypeError, r"subtree 1 has .*keys \['b'\]",
     lambda: ours.tree_transpose(ours.tree_structure([0, 0]), ours.tree_structure({"a": 0}),
                                 [{"a": 1}, {"b": 2}])),
    (ValueError, "subtree 1",
     lambda: ours.tree_transpose(ours.tree_structure([0, 0]), None, [{"a": 1}, {"b": 2}])),
    (ValueError, "no leaves", lambda: ours.tree_transpose(ours.tree_structure([]), None, [])),
    (ValueError, r"\['bias'\] named twice",
     lambda: ours.register_dataclass(Layer, ["weight", "bias", "bias"], ["activation"])),
    (ValueError, "the BadFlatten at the root cannot be flattened", lambda: ours.tree_flatten(BadFlatten())),
])
def test_errors_of_ours_alone(cls, words, call):
    with pytest.raises(cls, match=words) as caught:
        call()
    assert "\n  fix: " in str(caught.value)


class BadFlatten:
    """Its flatten function returns no pair."""


ours.register_pytree_node(BadFlatten, lambda x: 3, lambda aux, c: BadFlatten())


def test_errors_of_user_functions_pass_unchanged():
    class Raises:
        pass

    def fail(*_):
        raise ValueError("from the class itself")

    ours.register_pytree_node(Raises, fail, fail)
    for call in (lambda: ours.tree_flatten([Raises()]), lambda: ours.tree_flatten_with_path([Raises()]),
                 lambda: ours.tree_map(max, [Raises()], [1]), lambda: ours.flatten_one_level(Raises()),
                 lambda: ours.tree_leaves([1], is_leaf=fail)):
        with pytest.raises(ValueError, match="^from the class itself$"):
            call()


# ---- classes as nodes

@pytest.mark.parametrize("module", [oracle, ours], ids=["jax", "pullback"])
def test_decorators(module):
    @module.register_pytree_node_class
    class Box:
        def __init__(self, *items):
            self.items = items

        def tree_flatten(self):
            return self.items, "aux"

        @classmethod
        def tree_unflatten(cls, aux, children):
            assert aux == "aux" and type(children) is tuple
            return cls(*children)

    @module.register_pytree_with_keys_class
    class KeyedBox(Box):
        def tree_flatten_with_keys(self):
            return [(module.DictKey(i), x) for i, x in enumerate(self.items)], "aux"

    class Child(KeyedBox):
        pass

    @module.register_pytree_with_keys_class
    class OnlyKeys:
        def __init__(self, items):
            self.items = items

        def tree_flatten_with_keys(self):
            return [(module.GetAttrKey("only"), self.items)], None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    assert module.tree_map(lambda x: x + 1, Box(1, 2)).items == (2, 3)
    assert [module.keystr(p) for p, _ in module.tree_leaves_with_path(Box(1, (2,)))] == [
        "[<flat index 0>]", "[<flat index 1>][0]"]
    assert [module.keystr(p) for p, _ in module.tree_leaves_with_path(KeyedBox(1, 2))] == ["[0]", "[1]"]
    assert module.tree_leaves(KeyedBox(1, 2)) == [1, 2]
    assert module.all_leaves([Child(1)])  # a subclass is a leaf until registered
    assert module.tree_map(lambda x: x * 2, OnlyKeys([1])).items == [2]
    assert module.keystr(module.tree_leaves_with_path(OnlyKeys([1]))[0][0]) == ".only[0]"


@pytest.mark.parametrize("module", [oracle, ours], ids=["jax", "pullback"])
def test_dataclasses(module):
    @module.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        x: int
        name: str = dataclasses.field(default="n", metadata={"static": True, "more": 1}, kw_only=True)

    @functools.partial(module.register_dataclass, data_fields=["x"], meta_fields=(),
                       drop_fields=["y", "total"])
    @dataclasses.dataclass
    class Dropped:
        x: int
        y: int = 5
        total: int = dataclasses.field(init=False)

        def __post_init__(self):
            self.total = self.x + self.y

    with pytest.raises(ValueError):
        @module.register_dataclass
        @dataclasses.dataclass
        class Computed:
            x: int
            y: int = dataclasses.field(init=False)

    assert module.tree_map(lambda x: x + 1, Frozen(1, name="m")) == Frozen(2, name="m")
    assert repr(module.tree_structure(Frozen(1))) == "PyTreeDef(CustomNode(Frozen[('n',)], [*]))"
    assert module.tree_structure(Frozen(1)) != module.tree_structure(Frozen(1, name="m"))
    assert module.keystr(module.tree_leaves_with_path([Frozen(1)])[0][0]) == "[0].x"
    mapped = module.tree_map(lambda x: x + 1, Dropped(1, y=7))
    assert (mapped.x, mapped.y, mapped.total) == (2, 5, 7)


def test_static_field():
    for module in (jax.tree, pullback.tree):
        field = module.static(default=3, metadata={"unit": "m"})
        assert field.default == 3 and dict(field.metadata) == {"static": True, "unit": "m"}
    assert Layer(1, 2).activation == "tanh"


def test_partial_keeps_what_functools_would_merge():
    inner = ours.Partial(max, 1)
    outer = ours.Partial(inner, 3)
    assert ours.tree_structure(outer) == ours.tree_structure(ours.Partial(inner, 4))
    assert ours.tree_structure(outer) != ours.tree_structure(ours.Partial(ours.Partial(min, 1), 3))
    assert hash(outer.func) == hash(ours.Partial(inner).func)
    again = pickle.loads(pickle.dumps(outer))
    assert type(again) is ours.Partial and again() == 3 and again(5) == 5
    assert ours.Partial(dict, func=1)() == {"func": 1}


# ---- treedefs

@every_tree
def test_treedefs_pickle_and_copy(tree):
    treedef = ours.tree_structure(tree)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(treedef, protocol)) == treedef
    assert copy.copy(treedef) == treedef and copy.deepcopy(treedef) == treedef


def test_a_pickled_treedef_is_read_in_another_process():
    blob = pickle.dumps(ours.tree_structure({"a": [1, OrderedDict(b=2)], "p": ours.Partial(max, 1)}))
    code = ("import sys; sys.modules['jax'] = None; import pickle; "
            f"treedef = pickle.loads({blob!r}); print(treedef.unflatten([1, 2, 3]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("{'a': [1, OrderedDict(")
    assert "Partial(<built-in function max>, 3)" in done.stdout
    assert done.stderr == ""


def test_registries_do_not_meet():
    class Here:
        pass

    ours.register_pytree_node(Here, lambda x: ((1,), None), lambda aux, c: Here())
    assert ours.is_tree_node(Here) and not oracle.is_tree_node(Here)
    assert not ours.is_tree_node(oracle.Partial) and not oracle.is_tree_node(ours.Partial)
    assert ours.default_registry is not oracle.default_registry


def test_import_loads_neither_jax_nor_the_compiler():
    code = ("import sys, pullback.core.tree, pullback.tree_util, pullback.tree; "
            "print([m for m in sys.modules if m.split('.')[0] in ('jax', 'scipy', 'ml_dtypes') "
            "or m.startswith(('jaxlib.mlir', 'jaxlib.xla_client'))])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n" and done.stderr == ""


# ---- differences in words

@pytest.mark.parametrize("one, two, sentence", [
    ([1], (1,), "at the root, A has a list of length 1 and B has a tuple of length 1"),
    ({"w": [1, 2]}, {"w": [1]}, "at ['w'], A has a list of length 2 and B has a list of length 1"),
    ({"w": 1, "b": 2}, {"w": 1},
     "at the root, A has a dict with keys ['b', 'w'] and B has a dict with keys ['w']"),
    ([{"w": None}], [{"w": 1.0}], "at [0]['w'], A has None and B has a leaf of type float"),
    (1, [1], "at the root, A has a leaf of type int and B has a list of length 1"),
    (Layer(1, [2]), Layer(1, 2), "at .bias, A has a list of length 1 and B has a leaf of type int"),
    (Layer(1, 2), Layer(1, 2, "relu"), "at the root, A has a Layer with 2 children and metadata ('tanh',) "
     "and B has a Layer with 2 children and metadata ('relu',)"),
    ([Point(1, (2,))], [Point(1, (2, 3))],
     "at [0].y, A has a tuple of length 1 and B has a tuple of length 2"),
    (Named(1, [], 0), Named(1, 2, 0), "at right, A has a list of length 0 and B has a leaf of type int"),
    (Pair(1, [], 0), Pair(1, 2, 0),
     "at [<flat index 1>], A has a list of length 0 and B has a leaf of type int"),
    (OrderedDict(a=[1]), OrderedDict(a=1), "at ['a'], A has a list of length 1 and B has a leaf of type int"),
    (defaultdict(int, a=1), {"a": 1},
     "at the root, A has a defaultdict of <class 'int'> with keys ['a'] and B has a dict with keys ['a']"),
    ({i: i for i in range(20)}, {i: i for i in range(1, 21)},
     "at the root, A has a dict of 20 keys, [0] only here and B has a dict of 20 keys, [20] only here"),
    ([1, [2]], [1, [2]], None),
    (Layer(np.ones(2), 1), Layer(3, 4), None),
])
def test_first_difference(one, two, sentence):
    assert core.first_difference(one, two, names=("A", "B")) == sentence
    if sentence:
        found = core.first_difference(ours.tree_structure(one), two, names=("A", "B"))
        assert found.startswith(sentence.split(", A has")[0])


def test_first_difference_options():
    assert core.first_difference([[1]], [1], root="carry", names=("what comes in", "what goes out")) == (
        "at carry[0], what comes in has a list of length 1 and what goes out has a leaf of type int")
    assert core.first_difference([[1], 2], [[1, 2], 3], is_leaf=lambda x: x in ([1], [1, 2])) is None
    assert core.first_difference(ours.tree_structure([1]), ours.tree_structure([None])) == (
        "at [0], the first tree has a leaf and the second tree has None")
    assert core.prefix_mismatch({"a": 0}, {"a": [1, {"b": 2}]}) is None
    assert core.prefix_mismatch([None], [[1, 2]], is_leaf=_none) is None
    assert core.prefix_mismatch([None], [[1, 2]]) == (
        "at [0], the prefix has None and the full tree has a list of length 2")
    assert "Point, class 0x" in core.first_difference(Point(1, 2), namedtuple("Point", "x y")(1, 2))
    assert core.first_difference(Pair(1, 2, np.ones(2)), Pair(1, 2, np.ones(2))) is not None
    with pytest.raises(ValueError, match="cannot be sorted"):
        core.prefix_mismatch([{"a": 1}], [{"a": 1, 2: 1}])


def test_broadcast_prefix():
    assert core.broadcast_prefix(0, {"a": [1, 2], "b": None}) == [0, 0]
    assert core.broadcast_prefix((0, None), ([1, 2], [3]), is_leaf=_none) == [0, 0, None]
    assert core.broadcast_prefix((0, None), ([1, 2], None)) == [0, 0]
    assert core.broadcast_prefix((), ()) == []
    with pytest.raises(ValueError, match=r"at \[1\], the prefix has None and the full tree has a list of"):
        core.broadcast_prefix((0, None), ([1, 2], [3]))


def test_leaf_names():
    assert core.leaf_names({"w": [1, Point(2, 3)], "b": None}, "params") == [
        "params['w'][0]", "params['w'][1].x", "params['w'][1].y"]
    assert core.leaf_names(1, "x") == ["x"] and core.leaf_names([]) == []


# ---- namespaces

@pytest.mark.parametrize("module, model", [(ours, oracle), (pullback.tree, jax.tree)],
                         ids=["tree_util", "tree"])
def test_public_names_are_those_of_jax(module, model):
    names = {name for name in dir(model) if not name.startswith("_")}
    assert set(module.__all__) == names
    assert all(hasattr(module, name) for name in names)


@pytest.mark.parametrize("module", [core, pullback.core.nodes, pullback.tree, ours],
                         ids=["core", "nodes", "tree", "tree_util"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module, extraglobs={"pullback": pullback, "tree": pullback.tree})
    assert result.failed == 0 and result.attempted > 0
