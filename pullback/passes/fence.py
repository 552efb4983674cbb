"""Fences: barriers that keep XLA's fusion from recomputing long elementwise chains. Precondition: calls inlined.

XLA's CPU fusion copies a cheap producer into each of its consumers. In the backward pass of a deep program the
chain of cotangents `c[t] = c[t+1] * a + b` has several consumers at every step, so each product or reduction gets
a fusion of its own that computes the whole chain again, back to the start: compile time and run time grow
quadratically with depth. A barrier on the values where such chains branch makes each part computed once. The kernels of
layers that are alike are alike then too, and XLA compiles one of them: 24 transformer layers come to 46 kernels.
"""

from __future__ import annotations

from pullback.core.program import Equation, Program, Var
from pullback.ops.checkpoint import optimization_barrier
from pullback.ops.elementwise import Elementwise

# Elementwise operations in a row before a value that branches is fenced.
DEPTH = 8

_CHEAP = {"add_any", "broadcast_in_dim", "reshape", "select_n", "convert_element_type", "broadcast", "squeeze"}
_BITCASTS = {"reshape", "squeeze"}  # the same memory under another shape


def fusible(eqn: Equation) -> bool:
    return isinstance(eqn.primitive, Elementwise) or eqn.primitive.name in _CHEAP


def fence(program: Program) -> Program:
    """The program with barriers behind values that branch deep in an elementwise chain."""
    uses: dict[Var, int] = {}
    heavy: set[Var] = set()  # values that an operation with a fusion of its own reads
    for eqn in reversed(program.equations):
        lands = not fusible(eqn) or (eqn.primitive.name in _BITCASTS and not heavy.isdisjoint(eqn.outputs))
        for atom in set(eqn.inputs):
            if isinstance(atom, Var):
                uses[atom] = uses.get(atom, 0) + 1
                if lands:
                    heavy.add(atom)
    depth: dict[Var, int] = {}
    renamed: dict[Var, Var] = {}
    equations: list[Equation] = []
    for eqn in program.equations:
        inputs = [renamed.get(a, a) if isinstance(a, Var) else a for a in eqn.inputs]
        equations.append(eqn.replace(inputs=inputs) if inputs != list(eqn.inputs) else eqn)
        if eqn.primitive is optimization_barrier or not fusible(eqn):
            continue
        reached = 1 + max([depth.get(a, 0) for a in eqn.inputs if isinstance(a, Var)], default=0)
        for v in eqn.outputs:
            depth[v] = reached
            if reached >= DEPTH and v in heavy and uses.get(v, 0) > 1 and v.type.shape and not v.type.is_key:
                fenced = renamed[v] = Var(v.type)
                equations.append(Equation(optimization_barrier, [v], [fenced], {}, eqn.source, eqn.scope))
                depth[v] = 0
    if not renamed:
        return program
    outputs = [renamed.get(a, a) if isinstance(a, Var) else a for a in program.outputs]
    return Program(program.inputs, equations, outputs, program.name)
