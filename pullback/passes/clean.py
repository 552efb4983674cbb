"""Clean: what differentiation leaves behind goes, equal equations become one. Precondition: calls inlined.

In one walk: numbers computed from numbers are folded, an equation equal to an earlier one takes its results, and
identities go: `x ** 1`, `x * 1`, `-(-x)`, a sum with zeros, a move that moves nothing or undoes another. Values stay
the same to the bit, but for the sign of a zero in sums of cotangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.array import ConcreteArray
from pullback.core.program import Atom, Equation, Literal, Program, Var
from pullback.core.types import ArrayType


def clean(program: Program) -> Program:
    """The program without repeated and idle equations."""
    known: dict[Any, tuple[Var, ...]] = {}
    renamed: dict[Var, Atom] = {}
    made: dict[Var, Equation] = {}
    equations: list[Equation] = []
    for eqn in program.equations:
        inputs = tuple([renamed.get(a, a) if isinstance(a, Var) else a for a in eqn.inputs])
        if inputs != eqn.inputs:
            eqn = eqn.replace(inputs=inputs)
        if not eqn.effects and len(eqn.outputs) == 1:
            same = _folded(eqn) or _idle(eqn, made)
            if same is not None and _fits(same.type, eqn.outputs[0].type):
                renamed[eqn.outputs[0]] = same
                continue
        key = _key(eqn)
        if key is not None and key in known:
            renamed.update(zip(eqn.outputs, known[key], strict=True))
            continue
        if key is not None:
            known[key] = eqn.outputs
        made.update(dict.fromkeys(eqn.outputs, eqn))
        equations.append(eqn)
    if len(equations) == len(program.equations):
        return program
    return Program(program.inputs, equations, [renamed.get(a, a) if isinstance(a, Var) else a
                                               for a in program.outputs], program.name)


def written_in(program: Program, captured: Sequence[Any]) -> tuple[Program, list[Any]]:
    """The program with the numbers among what it captured written into it, and the rest of what it captured.

    What is a number in memory only because it was made an array (`jnp.float32(2)`, a promoted default) is folded so.
    """
    found = {var: Literal(np.asarray(x.numpy())[()], var.type) for var, x in zip(program.inputs, captured, strict=False)
             if type(x) is ConcreteArray and x.in_memory and not x.type.shape and x.type.dtype.name in _PLAIN}
    if not found:
        return program, list(captured)

    def atoms(of: Sequence[Atom]) -> list[Atom]:
        return [found.get(a, a) if isinstance(a, Var) else a for a in of]

    equations = [e if found.keys().isdisjoint(e.inputs) else e.replace(inputs=tuple(atoms(e.inputs)))
                 for e in program.equations]
    kept = [x for var, x in zip(program.inputs, captured, strict=False) if var not in found]
    return Program([v for v in program.inputs if v not in found], equations, atoms(program.outputs), program.name), kept


def _fits(found: ArrayType, wanted: ArrayType) -> bool:
    return found.shape == wanted.shape and found.dtype == wanted.dtype


def _key(eqn: Equation) -> Any:
    """Equal for equations that compute the same; None for those that must each stay."""
    if eqn.effects or eqn.primitive.name == "optimization_barrier":
        return None
    operands = [(type(a.value), repr(a.value), a.type) if isinstance(a, Literal) else a for a in eqn.inputs]
    types = tuple([v.type for v in eqn.outputs])
    try:
        key = eqn.primitive, tuple(operands), types, tuple(eqn.params.items())
        hash(key)
    except TypeError:
        return None
    return key


def _folded(eqn: Equation) -> Literal | None:
    """The number that an equation over numbers comes to."""
    t = eqn.outputs[0].type
    if t.shape or t.is_key or t.dtype.name not in _PLAIN:
        return None
    if eqn.primitive.programs or eqn.primitive.transparent or eqn.primitive.expands("numpy"):
        return None
    if eqn.primitive.name == "callback":  # a function of the user's, perhaps in a branch that is never taken
        return None
    if not eqn.inputs or not all(isinstance(a, Literal) for a in eqn.inputs):
        return None
    with np.errstate(all="ignore"):
        values = eqn.primitive.numpy(*[np.asarray(a.value, a.type.dtype)[()] for a in eqn.inputs
                                       if isinstance(a, Literal)], **eqn.params)
    return Literal(np.asarray(values[0]).astype(t.dtype)[()], t)


_PLAIN = {"bool", "int32", "uint32", "float32", "float64"}


def _idle(eqn: Equation, made: dict[Var, Equation]) -> Atom | None:
    """The operand that an equation gives back unchanged, or what its operand undid."""
    name, inputs, params = eqn.primitive.name, eqn.inputs, eqn.params
    first = inputs[0] if inputs else None
    before = made.get(first) if isinstance(first, Var) else None
    if name == "integer_pow" and params["y"] == 1:
        return first
    if name in ("mul", "div") and _is(inputs[1], 1):
        return first
    if name == "mul" and _is(first, 1):
        return inputs[1]
    if name == "add_any":
        for one, other in (inputs, inputs[::-1]):
            source = made.get(one) if isinstance(one, Var) else None
            if source is not None and source.primitive.name == "zeros":
                return other
    if name == "neg" and before is not None and before.primitive is eqn.primitive:
        return before.inputs[0]
    if name in ("reshape", "broadcast_in_dim", "convert_element_type") and first is not None:
        return first if first.type == eqn.outputs[0].type else None
    if name == "transpose":
        if params["perm"] == tuple(range(len(params["perm"]))):
            return first
        if before is not None and before.primitive is eqn.primitive and all(
                before.params["perm"][p] == i for i, p in enumerate(params["perm"])):
            return before.inputs[0]
    return None


def _is(atom: Atom | None, value: int) -> bool:
    return isinstance(atom, Literal) and bool(atom.value == value)
