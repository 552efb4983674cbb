"""The backward pass of reverse mode: a linear program run backwards.

Cotangents flow from the outputs to the inputs. Each equation's `transpose` rule turns the cotangents
of its outputs into cotangents of the operands it is linear in; where a variable is used more than
once, its cotangents are added. It runs under the current trace, so `grad(grad(f))`, `jit(grad(f))`
and `vmap(grad(f))` need nothing further.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import config, source
from pullback.core.program import Atom, Literal, Program, Var
from pullback.core.trace import Tracer, base, bind, current, type_of
from pullback.core.types import Linear, Zero
from pullback.core.vector import add, instantiate
from pullback.interpret.stage import NotClosed, closed, stage


def backward(program: Program, linear: Sequence[bool], args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the linear inputs of `program`.

    Args:
      linear: which inputs the program is linear in.
      args: the values of the other inputs, in order.
      cts: a cotangent per output; Zero allowed.

    Returns:
      A cotangent per linear input, Zero where nothing reaches it.
    """
    if program.recurs:
        results = _at_once(program, tuple(linear), args, cts)
        if results is not None:
            return results
    given = iter(args)
    values: dict[Atom, Any] = {v: next(given) for v, flag in zip(program.inputs, linear, strict=True) if not flag}
    linear_vars = {v for v, flag in zip(program.inputs, linear, strict=True) if flag}
    gathered: dict[Atom, Any] = {}
    before, watched = source.state.source, config.watched()

    def operand(atom: Atom) -> Any:
        if isinstance(atom, Literal):
            return atom.value
        return Linear(atom.type) if atom in linear_vars else values[atom]

    try:
        pending = []
        for eqn in program.equations:
            if any(isinstance(a, Var) and a in linear_vars for a in eqn.inputs):
                linear_vars.update(eqn.outputs)
                pending.append(eqn)
                continue
            source.state.source = eqn.source or before
            values.update(zip(eqn.outputs, bind(eqn.primitive, [operand(a) for a in eqn.inputs], eqn.params),
                              strict=True))

        def give(atom: Atom, ct: Any) -> None:
            if ct is None or isinstance(ct, Zero) or atom not in linear_vars:
                return
            assert type_of(ct).shape == atom.type.shape, (atom.type, type_of(ct))
            gathered[atom] = add(gathered[atom], ct) if atom in gathered else ct

        for atom, ct in zip(program.outputs, cts, strict=True):
            give(atom, ct)
        while pending:
            eqn = pending.pop()
            if not any(v in gathered for v in eqn.outputs):
                continue
            out_cts = [gathered.pop(v) if v in gathered else Zero(v.type) for v in eqn.outputs]
            where = eqn.source or before
            source.state.source = where and where.doing("cotangent", eqn.primitive.name) if watched else where
            rule_args = [operand(a) for a in eqn.inputs]
            if eqn.primitive.expands("transpose"):
                results = _through_expand(eqn.primitive, rule_args, eqn.params, out_cts)
            else:
                results = eqn.primitive.transpose(out_cts, *rule_args, **eqn.params)
            for atom, ct in zip(eqn.inputs, results, strict=True):
                give(atom, ct)
    finally:
        source.state.source = before
    return [gathered.get(v, Zero(v.type)) for v, flag in zip(program.inputs, linear, strict=True) if flag]


def _at_once(program: Program, linear: tuple[bool, ...], args: Sequence[Any], cts: Sequence[Any]
             ) -> list[Any] | None:
    """`backward` by a program that is worked out once, where the current trace runs such programs at once."""
    given = [*args, *[ct for ct in cts if not isinstance(ct, Zero)]]
    if current() is not base() or any([isinstance(x, Tracer) for x in given]):
        return None
    try:
        derived, made = program.memo(transpose_program, linear, tuple([not isinstance(ct, Zero) for ct in cts]))
    except NotClosed:
        run = None
    else:
        run = base().schedule(derived)
    if run is None:
        return None
    results, flags = iter(run(given)), iter(made)
    return [next(results) if next(flags) else Zero(v.type) for v, flag in zip(program.inputs, linear, strict=True)
            if flag]


def _through_expand(primitive: Any, args: Sequence[Any], params: dict[str, Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of an operation's operands, by the transpose of what it expands to."""
    types = [arg.type if isinstance(arg, Linear) else type_of(arg) for arg in args]
    program, captured = stage(lambda *xs: primitive.expand(*xs, **params), types, name=primitive.name, what="vjp")
    linear = [False] * len(captured) + [isinstance(arg, Linear) for arg in args]
    known = captured + [arg for arg in args if not isinstance(arg, Linear)]
    results = iter(backward(program, linear, known, cts))
    return [next(results) if isinstance(arg, Linear) else None for arg in args]


def transpose_program(program: Program, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
                      ) -> tuple[Program, tuple[bool, ...]]:
    """The program of cotangents.

    Its inputs are the program's inputs that are not linear and a cotangent for each output marked in
    `nonzero`; its outputs a cotangent for each linear input marked in the returned mask. Use it
    through `program.memo(transpose_program, linear, nonzero)`.
    """
    return _transpose_program(program, linear, nonzero, False)


def transpose_program_full(program: Program, linear: tuple[bool, ...], nonzero: tuple[bool, ...]) -> Program:
    """`transpose_program` with a cotangent for every linear input, zeros made into arrays."""
    return _transpose_program(program, linear, nonzero, True)[0]


def _transpose_program(program: Program, linear: tuple[bool, ...], nonzero: tuple[bool, ...], full: bool
                       ) -> tuple[Program, tuple[bool, ...]]:
    known = [v.type for v, flag in zip(program.inputs, linear, strict=True) if not flag]
    ct_types = [a.type for a, flag in zip(program.outputs, nonzero, strict=True) if flag]
    mask: list[bool] = []

    def cotangents(*args: Any) -> list[Any]:
        rest = iter(args[len(known):])
        cts = [next(rest) if flag else Zero(a.type) for a, flag in zip(program.outputs, nonzero, strict=True)]
        results = backward(program, linear, args[: len(known)], cts)
        mask.extend([full or not isinstance(ct, Zero) for ct in results])
        return [instantiate(ct) for ct, flag in zip(results, mask, strict=True) if flag]

    return closed(cotangents, known + ct_types, name=f"transpose_{program.name}", what="vjp"), tuple(mask)
