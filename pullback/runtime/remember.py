"""Functions whose eager calls are worked out once: what a call does follows from types and Python values.

An eager call of a function of arrays finds axes, promotes dtypes and asks for a few operations, each time anew. The
second time that it is called with the same types, shapes and Python arguments, the function is staged instead, and its
program kept as a schedule of NumPy calls, which later calls run. A function that must see numbers to be staged, or
that has operations which do not run on NumPy, goes on as it is.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, tree
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.trace import base, state
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import StageTrace

_KEPT = 512  # calls of one function
_STATIC = (int, bool, str, type(None), type(...), dtypes.KeyDtype)
repeats = [1]  # how many calls of a kind run as they are before one is staged
_tables: list[dict[Any, Any]] = []
_known: dict[Callable[..., Any], Callable[..., Any]] = {}


def clear() -> None:
    """Forgets all calls."""
    for table in _tables:
        table.clear()
    config.forget()


class _Unknown(Exception):
    """A call cannot be told by an argument, or looks at a number."""


class _Blind(StageTrace):
    """Stages a call, and ends where it asks for a number: what it then does need not be what it does next time."""

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        if primitive.transparent:
            return primitive.run(args, params)
        if primitive.runs_program:
            return evaluate(params[primitive.programs[0]], args)
        return self.record(primitive, args, params)

    def concrete(self, var: Any) -> Any:
        raise _Unknown


def _told(arg: Any, operands: list[Any]) -> Any:
    """What is to be known of an argument; its arrays are added to the operands."""
    kind = arg.__class__
    if kind is ConcreteArray:
        operands.append(arg)
        return arg.type
    if kind in _STATIC:
        return kind, arg
    if kind is float:
        return kind, arg or repr(arg)  # zero has two signs
    if kind is tuple or kind is list:
        return (kind, *[_told(item, operands) for item in arg])
    if kind is slice:
        return slice, _told(arg.start, operands), _told(arg.stop, operands), _told(arg.step, operands)
    if isinstance(arg, (type, np.dtype)):
        return arg
    raise _Unknown


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which runs eager calls that come again by a schedule. It must have no effects."""
    if function in _known:
        return _known[function]
    settings: dict[Any, dict[Any, Any]] = {}  # the calls under each state of the settings
    _tables.append(settings)
    latest: tuple[Any, dict[Any, Any]] = object(), {}  # the last of these

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal latest
        under, calls = latest
        if under is not config.settled or state.trace is not None:
            if config.unusual or state.trace is not None:
                return function(*args, **kwargs)
            key = config.program_key()
            if key is not under or not settings:
                under, calls = latest = key, settings.setdefault(key, {})
        operands: Any = args
        if len(args) == 1 and args[0].__class__ is ConcreteArray and not kwargs:
            key = args[0].type
            found = calls.get(key, 0)
        else:
            told: list[Any] = [x.type for x in args if x.__class__ is ConcreteArray]
            try:
                if len(told) != len(args) or kwargs:
                    operands, told = [], [len(args)]
                    for arg in args:
                        if arg.__class__ is ConcreteArray:
                            operands.append(arg)
                            told.append(arg.type)
                        else:
                            told.append(_told(arg, operands))
                    for name, arg in kwargs.items():
                        told += (name, _told(arg, operands))
                key = tuple(told)
                found = calls.get(key, 0)
            except (_Unknown, TypeError):
                return function(*args, **kwargs)
        if found.__class__ is int:
            if found < 0 or found < repeats[0]:
                result = function(*args, **kwargs)  # first as it is: its errors and warnings are the function's own
                if found >= 0:
                    if len(calls) >= _KEPT:
                        calls.clear()
                    calls[key] = found + 1
                return result
            found = calls[key] = _worked_out(function, args, kwargs) or -1
            if found == -1:
                return function(*args, **kwargs)
        schedule, captured, out_tree = found
        run = schedule.written or schedule.step_by_step
        results = run(*captured, *operands) if captured else run(*operands)
        return results[0] if out_tree is None else tree.unflatten(out_tree, results)

    # Messages name the public function by the frames on the stack.
    call.__code__ = call.__code__.replace(co_name=function.__name__)
    _known[function] = call
    return call


def install(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Puts remembered functions in the place of those that a public module has under these names."""
    for name in names:
        namespace[name] = remembered(namespace[name])
        namespace[name].__module__ = namespace["__name__"]


def _worked_out(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The schedule of a call, the constants it begins with, and the tree of its results (None: one array)."""
    leaves, in_tree = tree.flatten((args, kwargs), is_leaf=lambda x: not isinstance(x, (tuple, list, dict)))
    places = [i for i, leaf in enumerate(leaves) if leaf.__class__ is ConcreteArray]
    out_trees: list[Any] = []

    def flat(*operands: Any) -> list[Any]:
        given = list(leaves)
        for i, operand in zip(places, operands, strict=True):
            given[i] = operand
        given_args, given_kwargs = tree.unflatten(in_tree, given)
        results, out_tree = tree.flatten(function(*given_args, **given_kwargs))
        out_trees.append(out_tree)
        return results

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what warns must go on warning
            program, captured = _Blind(function.__name__, "eager call", ()).run(flat, [leaves[i].type for i in places])
            run = base().schedule(program)
    except Exception:  # it needs numbers, or fails: the call itself says how
        return None
    if run is None or any([x.__class__ is not ConcreteArray for x in captured]):
        return None
    return run, captured, None if out_trees[0] == _ONE else out_trees[0]


_ONE = tree.structure(0)
