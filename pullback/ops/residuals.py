"""What a loop keeps of each step for its backward pass: as little as can be, the rest computed again.

A loop stores the residuals of every step in memory and reads them back. Where a residual follows from others by cheap
elementwise operations, computing it again costs less than the traffic: `1 - z` and `z * (1 - z)` follow from `z`, a
broadcast from what was broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pullback.core.program import Atom, Equation, Var

# Operations cheaper than a store and a load of their result. Not among them: exp, tanh and the like.
CHEAP = frozenset({
    "add", "add_any", "sub", "mul", "neg", "div", "square", "abs", "sign", "max", "min", "eq", "ne", "lt", "le", "gt",
    "ge", "and", "or", "not", "select_n", "convert_element_type", "broadcast_in_dim", "broadcast", "reshape", "copy",
    "stop_gradient", "clamp", "zeros", "integer_pow"})
_DEPTH = 6


def spare(equations: Sequence[Equation], given: Iterable[Var], wanted: Iterable[Atom],
          cheap: frozenset[str] = CHEAP) -> tuple[list[Var], list[Equation]]:
    """Which values to keep so that all of `wanted` can be had, and the equations that compute the others again.

    Args:
      equations: those of the step that makes the values.
      given: values that are there anyway.
      wanted: the values that are needed later.
      cheap: the operations worth doing again.

    Returns:
      The values to keep, and equations of the step that give the rest of `wanted` from these and from `given`.
    """
    made = {v: (n, eqn) for n, eqn in enumerate(equations) for v in eqn.outputs}
    free = set(given)
    kept = dict.fromkeys(v for v in wanted if isinstance(v, Var) and v not in free)
    again: set[int] = set()

    def follows(v: Atom, depth: int) -> set[int] | None:
        """The equations that compute `v` from what is kept or given; None if that is not cheap."""
        if not isinstance(v, Var) or v in free:
            return set()
        if depth and v in kept:
            return set()
        if depth == _DEPTH or v not in made or made[v][1].primitive.name not in cheap:
            return None
        number, eqn = made[v]
        found = {number}
        for a in eqn.inputs:
            more = follows(a, depth + 1)
            if more is None:
                return None
            found |= more
        return found

    for v in sorted(kept, key=lambda v: made[v][0] if v in made else -1, reverse=True):
        found = follows(v, 0)
        if found is None:
            smaller = _smaller(v, made, free, cheap)
            if smaller is None:
                continue
            found = {made[v][0]}
            kept[smaller] = None
        again |= found
        del kept[v]
    return list(kept), [equations[n] for n in sorted(again)]


def _smaller(v: Var, made: dict[Var, tuple[int, Equation]], free: set[Var], cheap: frozenset[str]
             ) -> Var | None:
    """The one operand from which `v` follows cheaply, if it takes less memory."""
    if v not in made or made[v][1].primitive.name not in cheap:
        return None
    operands = {a for a in made[v][1].inputs if isinstance(a, Var) and a not in free}
    if len(operands) != 1:
        return None
    operand = operands.pop()
    return operand if operand.type.size * operand.type.dtype.itemsize < v.type.size * v.type.dtype.itemsize else None
