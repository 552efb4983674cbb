"""Transformations taken away: what vmap, scan, loops, branches and checkpoint do, as plain Python.

Each is watched where the user's own code calls it, and can be told, by its label, to run as Python would: `vmap` as a
loop over the objects whose results are stacked, `scan` and the loops step by step, a branch as `if`, a checkpointed
function as the function itself. Where that cannot be done (a mapped axis with a name, a condition that is traced, more
steps than a limit), the call is what it was.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pullback.gate.engine import Engine
from pullback.gate.sites import Site, here, is_own, of_function

__all__ = ["CHEAP", "KINDS", "Plain"]

CHEAP = ("custom_vmap", "checkpoint", "branch")  # as plain Python they run as fast
KINDS = (*CHEAP, "loop", "scan", "map", "associative_scan", "vmap")
STEPS = 128  # of a loop that are run one by one; the rest stays a loop
ROWS = 64  # of a mapped axis
_PLACES = (("", "vmap", "vmap"), ("lax", "scan", "scan"), ("lax", "map", "map"),
           ("lax", "associative_scan", "associative_scan"), ("lax", "fori_loop", "loop"), ("lax", "while_loop", "loop"),
           ("lax", "cond", "branch"), ("lax", "switch", "branch"), ("", "checkpoint", "checkpoint"),
           ("", "remat", "checkpoint"), ("ad_checkpoint", "checkpoint", "checkpoint"),
           ("custom_batching", "custom_vmap", "custom_vmap"))

Function = Callable[..., Any]


class _Left(Exception):
    """A transformation that cannot be taken away here."""


class Plain:
    """What is watched of an engine's transformations.

    While anything is taken away, the rest is traced anew, since an engine keeps what it has traced of a function.
    `seen` holds the labels of those that the user's code has called, with its lines; those in `off` run as Python does.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.active = False
        self.seen: dict[str, Site | None] = {}
        self.off: frozenset[str] = frozenset()

    def places(self) -> list[tuple[str, str, Callable[[Any, str], Any]]]:
        """Module, name and wrapper of every function that is watched."""
        made = {"vmap": self._made, "checkpoint": self._made, "custom_vmap": self._ruled}
        return [(module, name, functools.partial(made.get(kind, self._called), kind)) for module, name, kind in _PLACES]

    @contextmanager
    def without(self, labels: frozenset[str], seen: dict[str, Site | None] | None = None) -> Iterator[None]:
        """Inside, those transformations are taken away; what is called is noted in `seen`, if it is given."""
        before = self.off, self.seen
        self.off, self.seen = labels, self.seen if seen is None else seen
        try:
            yield
        finally:
            self.off, self.seen = before

    def _label(self, kind: str, function: Any, called: bool = False, options: str = "") -> tuple[str, Site | None]:
        """The kind, the function that is transformed, the one that does it where it is called there, and options: the
        same in two revisions; and the line."""
        inner, caller = of_function(function), here(self.engine.folders)
        named = [inner.function] if inner is not None and not inner.function.startswith("<") else []
        where = [f"in {caller.function}"] if caller is not None and (called or not named) else []
        return " ".join([kind, *named, *where, *([options] if options else [])]), caller

    def _users(self) -> bool:
        """Whether the call of the wrapper that asks is the user's own."""
        return self.active and is_own(sys._getframe(2).f_code.co_filename, self.engine.folders)

    def _made(self, kind: str, original: Any, name: str) -> Any:
        """A transformation that returns a function: vmap, checkpoint."""
        @functools.wraps(original)
        def transform(fun: Any = None, *args: Any, **kwargs: Any) -> Any:
            if fun is None:  # a decorator with options, where the engine has that
                decorate = original(*args, **kwargs)
                return (lambda function: self._watched(kind, original, function, args, kwargs)
                        ) if self._users() else decorate
            if not self._users():
                return original(fun, *args, **kwargs)
            return self._watched(kind, original, fun, args, kwargs)
        return transform

    def _watched(self, kind: str, original: Any, fun: Any, args: Any, kwargs: Any) -> Any:
        given = {**dict(zip(("in_axes", "out_axes"), args)), **kwargs}
        transformed, (label, site) = original(fun, *args, **kwargs), self._label(kind, fun, options=_options(given))

        @functools.wraps(transformed)
        def run(*given: Any, **named: Any) -> Any:
            if self.active:
                self.seen[label] = site
            if label in self.off:
                try:
                    return (fun(*given, **named) if kind == "checkpoint"
                            else self._mapped(fun, given, named, *args, **kwargs))
                except _Left:
                    pass
            if self.off:
                return original(_fresh(fun), *args, **kwargs)(*given, **named)
            return transformed(*given, **named)
        return run

    def _ruled(self, kind: str, original: Any, name: str) -> Any:
        """The class of functions with a rule of their own for vmap."""
        plain = self

        class Watched(original):  # type: ignore[misc]
            def __init__(self, fun: Any, *args: Any, **kwargs: Any) -> None:
                super().__init__(fun, *args, **kwargs)
                self._gate = fun, *plain._label(kind, fun)

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                function, label, site = self._gate
                if plain.active:
                    plain.seen[label] = site
                if label in plain.off:
                    return function(*args, **kwargs)
                return super().__call__(*args, **kwargs)

        Watched.__name__, Watched.__qualname__, Watched.__doc__ = name, name, original.__doc__
        return Watched

    def _called(self, kind: str, original: Any, name: str) -> Any:
        """A function that runs others: loops and branches."""
        forms: dict[str, Function] = {
            "scan": self._scan, "map": self._map, "associative_scan": self._folded, "fori_loop": self._fori,
            "while_loop": self._while, "cond": self._cond, "switch": self._switch}
        plain = forms[name]

        @functools.wraps(original)
        def transform(*args: Any, **kwargs: Any) -> Any:
            if not self._users():
                return original(*args, **kwargs)
            named = [x for x in (*args, *kwargs.values()) if type(x) in _FUNCTIONS]
            label, site = self._label(kind, named[-1] if kind == "loop" else named[0] if named else None,
                                      called=True, options=_options(kwargs))
            self.seen[label] = site
            if label in self.off:
                try:
                    return plain(original, *args, **kwargs)
                except (_Left, TypeError):  # TypeError: called in a way that the plain form does not know
                    pass
            if self.off:
                return original(*map(_fresh, args), **{key: _fresh(x) for key, x in kwargs.items()})
            return original(*args, **kwargs)
        return transform

    # -- as plain Python ------------------------------------------------------------------------------------

    def _leaves(self, tree: Any) -> list[Any]:
        found: list[Any] = self._tree.tree_leaves(tree)
        return found

    @property
    def _tree(self) -> Any:
        return self.engine.module("tree_util")

    @property
    def _numpy(self) -> Any:
        return self.engine.module("numpy")

    def _row(self, tree: Any, i: int) -> Any:
        return self._tree.tree_map(lambda x: self._array(x)[i], tree)

    def _array(self, x: Any) -> Any:
        return x if hasattr(x, "dtype") and isinstance(x, self._numpy.ndarray) else self._numpy.asarray(x)

    def _stacked(self, rows: Sequence[Any], axis: int = 0) -> Any:
        return self._tree.tree_map(lambda *xs: self._numpy.stack([self._array(x) for x in xs], axis), *rows)

    def _length(self, tree: Any, length: Any = None) -> int:
        sizes = {self._array(x).shape[0] for x in self._leaves(tree)} | ({int(length)} if length is not None else set())
        if len(sizes) != 1 or not 0 < min(sizes) <= STEPS:
            raise _Left
        return int(sizes.pop())

    def _scan(self, original: Function, f: Function, init: Any, xs: Any = None, length: Any = None,
              reverse: bool = False, unroll: Any = 1, **_: Any) -> Any:
        count = self._length(xs, length)
        carry, rows = self._tree.tree_map(self._array, init), []
        for i in range(count)[::-1 if reverse else 1]:
            carry, row = f(carry, self._row(xs, i))
            rows.append(row)
        return carry, self._stacked(rows[::-1] if reverse else rows)

    def _map(self, original: Function, f: Function, xs: Any, **_: Any) -> Any:
        return self._stacked([f(self._row(xs, i)) for i in range(self._length(xs))])

    def _folded(self, original: Function, fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
        """Of an operation that is not associative this is what an associative scan is meant to be."""
        move = functools.partial(self._tree.tree_map, lambda x: self._numpy.moveaxis(x, axis, 0))
        elems = move(elems)
        count = self._length(elems)
        total, rows = None, []
        for i in range(count)[::-1 if reverse else 1]:
            row = self._tree.tree_map(lambda x, i=i: self._numpy.moveaxis(x[i:i + 1], 0, axis), elems)
            total = row if total is None else fn(total, row)
            rows.append(total)
        return self._tree.tree_map(lambda *xs: self._numpy.concatenate(xs, axis), *(rows[::-1] if reverse else rows))

    def _fori(self, original: Function, lower: Any, upper: Any, body_fun: Function, init_val: Any, **_: Any) -> Any:
        first, last = _known(operator.index, lower), _known(operator.index, upper)
        carry = self._tree.tree_map(self._array, init_val)
        for i in range(first, min(last, first + STEPS)):
            carry = body_fun(self._numpy.asarray(i), carry)
        return carry if last <= first + STEPS else original(first + STEPS, last, body_fun, carry)

    def _while(self, original: Function, cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
        carry = self._tree.tree_map(self._array, init_val)
        for step in range(STEPS):
            again = cond_fun(carry)
            if not (_known(bool, again) if not step else bool(again)):
                return carry
            carry = body_fun(carry)
        return original(cond_fun, body_fun, carry)

    def _cond(self, original: Function, pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
        return (true_fun if _known(bool, pred) else false_fun)(*operands)

    def _switch(self, original: Function, index: Any, branches: Sequence[Function], *operands: Any) -> Any:
        return branches[min(max(_known(int, index), 0), len(branches) - 1)](*operands)

    def _mapped(self, fun: Function, given: Sequence[Any], named: dict[str, Any], in_axes: Any = 0, out_axes: Any = 0,
                axis_name: Any = None, axis_size: Any = None, spmd_axis_name: Any = None, **_: Any) -> Any:
        if axis_name is not None or spmd_axis_name is not None:
            raise _Left
        tree, axes = self._tree, tuple(in_axes) if isinstance(in_axes, list) else in_axes

        def spread(axes: Any, values: Any, change: Callable[[Any, Any], Any]) -> Any:
            """change(axis, leaf) for every leaf; axes are a prefix of the values."""
            return tree.tree_map(lambda axis, part: tree.tree_map(lambda x: change(axis, x), part), axes, values,
                                 is_leaf=lambda x: x is None)

        def size(axis: Any, x: Any) -> int:
            return -1 if axis is None else int(self._array(x).shape[axis])

        sizes = {*self._leaves([spread(axes, tuple(given), size), spread(0, named, size)])} - {-1}
        sizes |= set() if axis_size is None else {int(axis_size)}
        if len(sizes) != 1 or not 0 < min(sizes) <= ROWS:
            raise _Left

        def row(i: int) -> Callable[[Any, Any], Any]:
            def one(axis: Any, x: Any) -> Any:
                if axis is None:
                    return x
                x = self._array(x)
                return x[(slice(None),) * (axis % x.ndim) + (i,)]
            return one

        rows = [fun(*spread(axes, tuple(given), row(i)), **spread(0, named, row(i))) for i in range(min(sizes))]
        return tree.tree_map(lambda axis, *parts: parts[0] if axis is None else self._stacked(parts, axis), out_axes,
                             *rows, is_leaf=lambda x: x is None)


def _options(given: dict[str, Any]) -> str:
    """What says how a function is mapped, where it is not as by default."""
    return " ".join(f"{name}={given[name]}" for name in ("in_axes", "out_axes", "reverse", "axis")
                    if given.get(name, 0) is not False and given.get(name, 0) != 0)[:120]


def _known(kind: Callable[[Any], Any], x: Any) -> Any:
    """A number of Python's, if the value is there and not traced."""
    try:
        return kind(x)
    except Exception as error:
        raise _Left from error


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def _fresh(x: Any) -> Any:
    """A function as a new object; a sequence of them, each; anything else as it is."""
    if isinstance(x, (list, tuple)) and x and all(type(y) in _FUNCTIONS for y in x):
        return type(x)([_fresh(y) for y in x])
    return (lambda *args, **kwargs: x(*args, **kwargs)) if type(x) in _FUNCTIONS else x
