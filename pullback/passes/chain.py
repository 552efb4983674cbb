"""Chain: products of matrices associate to the cheap side. Precondition: calls inlined.

`a @ b @ v` multiplies the matrices first, as written; `a @ (b @ v)` takes a fraction of the operations and rounds
differently, so the pass is off unless the setting `reorder_products` asks for it. A product used once, whose result
goes into another product, is moved behind it where that takes fewer operations. Again, until nothing moves.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core import config
from pullback.core.program import Equation, Program, Var
from pullback.core.types import ArrayType
from pullback.ops.contract import dot_general
from pullback.ops.move import transpose


def chain(program: Program) -> Program:
    """The program with its products in the cheaper order."""
    if not config.reorder_products.value:
        return program
    equations = list(program.equations)
    uses: dict[Any, int] = {}
    for atom in [a for eqn in equations for a in eqn.inputs] + list(program.outputs):
        uses[atom] = uses.get(atom, 0) + 1
    made = {eqn.outputs[0]: eqn for eqn in equations if _plain(eqn)}
    for i, eqn in enumerate(equations):
        if not _plain(eqn):
            continue
        for side in (0, 1):
            inner = made.get(eqn.inputs[side])  # type: ignore[arg-type]
            if inner is None or uses[eqn.inputs[side]] != 1 or inner.params != eqn.params | {
                    "dims": inner.params["dims"]}:
                continue
            better = _reordered(inner, eqn, side)
            if better is not None:
                kept = [e for e in equations[:i] if e is not inner]
                return chain(Program(program.inputs, [*kept, *better, *equations[i + 1:]], program.outputs,
                                     program.name))
    return program


def _plain(eqn: Equation) -> bool:
    return eqn.primitive is dot_general and eqn.params["dims"][1] == ((), ()) and all(
        isinstance(a, Var) for a in eqn.inputs)


def _reordered(inner: Equation, outer: Equation, side: int) -> list[Equation] | None:
    """The two products in the other order, if that takes fewer operations.

    With t = x y and the result t z, summed over axes of t that all come from x, or all from y, it is (x z) y or
    x (y z), its axes then put into the order they had.
    """
    x, y = inner.inputs
    z = outer.inputs[1 - side]
    (x_sum, y_sum), _ = inner.params["dims"]
    sums = outer.params["dims"][0]
    t_sum, z_sum = sums[side], sums[1 - side]
    x_free = [d for d in range(len(x.type.shape)) if d not in x_sum]
    y_free = [d for d in range(len(y.type.shape)) if d not in y_sum]
    z_free = [d for d in range(len(z.type.shape)) if d not in z_sum]
    from_y = all(d >= len(x_free) for d in t_sum)
    if not t_sum or not from_y and any(d >= len(x_free) for d in t_sum):
        return None
    near, near_free, near_sum = (y, y_free, y_sum) if from_y else (x, x_free, x_sum)
    far, far_free, far_sum = (x, x_free, x_sum) if from_y else (y, y_free, y_sum)
    offset = len(x_free) if from_y else 0
    # u = near z: the axes of `near` that are summed with `far` and those that stay, then those of z.
    contracted = [near_free[d - offset] for d in t_sum]
    left = [d for d in range(len(near.type.shape)) if d not in contracted]
    u_shape = tuple([near.type.shape[d] for d in left] + [z.type.shape[d] for d in z_free])
    before = _cost(inner) + _cost(outer)
    depth = math.prod([near.type.shape[d] for d in contracted])
    again = math.prod(u_shape) * (depth + math.prod([far.type.shape[d] for d in far_free]))
    if again >= before:
        return None
    dtype = outer.outputs[0].type.dtype
    u = Var(ArrayType(u_shape, dtype))
    inner_dims = ((tuple(contracted), tuple(z_sum)), ((), ()))
    first = Equation(dot_general, [near, z], [u], outer.params | {"dims": inner_dims}, inner.source, inner.scope)
    u_sum = tuple([left.index(d) for d in near_sum])
    rest = [d for d in left if d not in near_sum]
    shape = [far.type.shape[d] for d in far_free] + [near.type.shape[d] for d in rest] + [
        z.type.shape[d] for d in z_free]
    out = Var(ArrayType(tuple(shape), dtype))
    second = Equation(dot_general, [far, u], [out], outer.params | {"dims": ((tuple(far_sum), u_sum), ((), ()))},
                      outer.source, outer.scope)
    groups = {"far": list(range(len(far_free))), "near": list(range(len(far_free), len(far_free) + len(rest))),
              "z": list(range(len(far_free) + len(rest), len(shape)))}
    t_axes = groups["far"] + groups["near"] if from_y else groups["near"] + groups["far"]
    perm = tuple(t_axes + groups["z"] if side == 0 else groups["z"] + t_axes)
    move = Equation(transpose, [out], [outer.outputs[0]], {"perm": perm}, outer.source, outer.scope)
    return [first, second, move]


def _cost(eqn: Equation) -> int:
    (x_sum, _), _ = eqn.params["dims"]
    return math.prod(eqn.outputs[0].type.shape) * math.prod([eqn.inputs[0].type.shape[d] for d in x_sum])
