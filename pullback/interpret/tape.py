"""Reverse mode of eager code: derivatives of operations, and of whole runs of them, that were worked out before.

Eager code asks for the same derivatives again and again: those of one operation at the same types, in a training
loop those of the same sequence of operations. An operation's rule is therefore run once, on types, and kept as a
schedule of its results and residuals with the linear program of its tangents. An Entry on the tape says that this
was done here, to these tangents. Two tapes that say the same are one linear program, found by what they say, whose
transpose is worked out once as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import config
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.program import Atom, Equation, Program, Var, single
from pullback.core.source import Source
from pullback.core.trace import Trace
from pullback.core.types import ArrayType, is_scalar, scalar_type
from pullback.interpret.stage import NotClosed

_KEPT = 2048  # rules, and tapes


class Rule:
    """The derivative of an operation at given types.

    `run` takes the operands and returns the results and what else the tangents need; `residuals` says where among
    operands, results and that the residuals of `linear` are. `tangents` has, for each result, the place of its tangent
    among the outputs of `linear`, or None.
    """

    __slots__ = ("linear", "residuals", "results", "run", "tangents")

    def __init__(self, run: Callable[[Sequence[Any]], list[Any]], results: int, residuals: tuple[int, ...],
                 linear: Program, tangents: tuple[int | None, ...]) -> None:
        self.run = run
        self.results = results
        self.residuals = residuals
        self.linear = linear
        self.tangents = tangents


class Entry:
    """That a rule was run: on which tangents, with which residuals, for which line."""

    __slots__ = ("inputs", "outputs", "residuals", "rule", "scope", "source")

    def __init__(self, rule: Rule, residuals: list[Any], inputs: list[Var], outputs: list[Var], source: Source | None,
                 scope: str) -> None:
        self.rule = rule
        self.residuals = residuals
        self.inputs = inputs
        self.outputs = outputs
        self.source = source
        self.scope = scope

    def equations(self, atom: Callable[[Any], Atom]) -> list[Equation]:
        """The equations it stands for; `atom` gives the variable or literal of a residual."""
        linear = self.rule.linear
        names: dict[Atom, Atom] = dict(zip(linear.inputs, [*map(atom, self.residuals), *self.inputs], strict=True))
        names.update(zip(linear.outputs, self.outputs, strict=True))
        made = []
        for eqn in linear.equations:
            for v in eqn.outputs:
                if v not in names:
                    names[v] = Var(v.type)
            made.append(Equation(eqn.primitive, [names.get(a, a) for a in eqn.inputs],
                                 [names[v] for v in eqn.outputs], eqn.params, self.source, self.scope))  # type: ignore[misc]
        return made


_rules: dict[Any, Rule | None] = {}
_tapes: dict[Any, tuple[Program, list[int]]] = {}


def clear() -> None:
    """Forgets all rules and tapes."""
    _rules.clear()
    _tapes.clear()


def find(primitive: Primitive, primals: Sequence[Any], nonzero: tuple[bool, ...], params: dict[str, Any], parent: Trace,
         derive: Callable[..., Any]) -> Rule | None:
    """The rule for an operation on these operands; None where it must run as it is.

    Args:
      nonzero: which operands have tangents.
      parent: the trace that runs operations at once.
      derive: `linearize_program`, for a rule that is not known.
    """
    types = []
    for p in primals:
        if p.__class__ is ConcreteArray:
            types.append(p.type)
        elif is_scalar(p):
            types.append(scalar_type(p))
        else:
            return None
    key = (primitive, config.program_key(), nonzero, *types, *params.items())
    try:
        return _rules[key]
    except KeyError:
        if len(_rules) >= _KEPT:
            _rules.clear()
        rule = _rules[key] = _work_out(primitive, tuple(types), nonzero, params, parent, derive)
        return rule
    except TypeError:  # a param that is not hashable
        return None


def _work_out(primitive: Primitive, types: tuple[ArrayType, ...], nonzero: tuple[bool, ...], params: dict[str, Any],
              parent: Trace, derive: Callable[..., Any]) -> Rule | None:
    if primitive.transparent or primitive.programs or primitive.expands("linearize"):
        return None
    try:
        derived = derive(single(primitive, types, params), nonzero)
    except NotClosed:
        return None
    run = parent.schedule(derived.forward)
    linear: Program = derived.linear
    # A tangent that is passed on as it is, or made twice, has no variable of its own for an Entry to name.
    if run is None or len(set(linear.outputs)) < len(linear.outputs) or not set(linear.outputs).isdisjoint(
            linear.inputs) or not all(isinstance(a, Var) for a in linear.outputs):
        return None
    results = len(derived.outputs)
    residuals = tuple([i if kind == "in" else len(types) + results + i for kind, i in derived.sources])
    places = iter(range(results))
    return Rule(run, results, residuals, linear, tuple([next(places) if flag else None for flag in derived.outputs]))


def program(tape: Sequence[Any], inputs: Sequence[Var], outputs: Sequence[Var], record: Callable[[], tuple[
        Program, list[Any]]]) -> tuple[Program, list[Any]] | None:
    """The linear program that a tape stands for, and its residuals; None if something else than entries is on it.

    Args:
      inputs, outputs: the tangents that it begins and ends with.
      record: writes the tape out as a program and its residuals, if no tape that says the same was seen before.
    """
    numbers = {v: i for i, v in enumerate(inputs)}
    met: dict[int, int] = {}
    said: list[Any] = [config.program_key(), *[v.type for v in inputs]]
    held: list[Any] = []
    for entry in tape:
        if entry.__class__ is not Entry:
            return None
        where = entry.source
        if where is not None:
            if where.role is not None:
                return None
            said += (id(where.code), where.instruction)  # the program holds the code, so its id stays its own
        said += (entry.rule, entry.scope, *[numbers[v] for v in entry.inputs])
        for x in entry.residuals:
            said.append(None if x.__class__ is not ConcreteArray else met.setdefault(id(x), len(met)))
        held += entry.residuals
        for v in entry.outputs:
            numbers[v] = len(numbers)
    if any([v not in numbers for v in outputs]):
        return None
    said += (None, *[numbers[v] for v in outputs])
    key = tuple(said)
    known = _tapes.get(key)
    if known is None:
        for entry in tape:  # a number is an operand here, since the next tape may hold another in its place
            entry.residuals = [_array(x) for x in entry.residuals]
        places = {id(x): i for i, x in reversed(list(enumerate([x for entry in tape for x in entry.residuals])))}
        made, residuals = record()
        made.recurs = True
        if len(_tapes) >= _KEPT:
            _tapes.clear()
        _tapes[key] = made, [places[id(x)] for x in residuals]
        return made, residuals
    made, picked = known
    return made, [_array(held[i]) for i in picked]


def _array(x: Any) -> Any:
    if is_scalar(x):
        t = scalar_type(x)
        return ConcreteArray(t, np.asarray(x, t.dtype))
    return x
