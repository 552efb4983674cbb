"""Derivative rules of primitives (jax.interpreters.ad)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import ArrayType
from pullback.core.types import Zero as OwnZero
from pullback.core.values import value
from pullback.core.vector import add
from pullback.extend.primitive import JVPS as primitive_jvps
from pullback.extend.primitive import TRANSPOSES as primitive_transposes
from pullback.extend.primitive import Primitive, UndefinedPrimal, Zero
from pullback.interpret.jvp import JVPTrace, JVPTracer
from pullback.ops.families import fit

__all__ = ["JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_tangents", "defbilinear", "defjvp",
           "defjvp2", "deflinear", "deflinear2", "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal",
           "primitive_jvps", "primitive_transposes", "zeros_like_aval"]

Rule = Callable[..., Any]


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule's operand is the place of one that the operation is linear in."""
    return isinstance(x, UndefinedPrimal)


def instantiate_zeros(tangent: Any) -> Any:
    """A symbolic zero as an array; anything else as it is."""
    return tangent.instantiate() if isinstance(tangent, Zero) else tangent


def zeros_like_aval(aval: ArrayType) -> Any:
    """An array of zeros of a type."""
    return TABLE["zeros"](of=ArrayType(aval.shape, aval.dtype, aval.weak_type))


def add_jaxvals(x: Any, y: Any) -> Any:
    """x + y, of one shape and dtype."""
    return TABLE["add_any"](value(x), value(y))


def add_tangents(x: Any, y: Any) -> Any:
    """x + y, where either may be a symbolic zero."""
    if isinstance(x, Zero):
        return y
    return x if isinstance(y, Zero) else add_jaxvals(x, y)


def get_primitive_transpose(p: Primitive) -> Rule:
    """The transpose rule of a primitive.

    Raises:
      MissingRuleError: it has none.
    """
    try:
        return primitive_transposes[p]
    except KeyError:
        raise p.missing("transpose rule", "give it one with ad.primitive_transposes[primitive] = rule") from None


def _defjvp(primitive: Primitive, call: Callable[..., Any]) -> None:
    """Sets the rule that adds up what `call` (number, tangent, output, primals, params) gives for each tangent."""
    def rule(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        output = primitive.bind(*primals, **params)
        total: Any = OwnZero(type_of(output).tangent())
        for i, t in enumerate(tangents):
            part = None if isinstance(t, Zero) else call(i, t, output, primals, params)
            if part is not None and not isinstance(part, Zero):
                total = add(total, fit(value(part), total.type.shape))
        return output, Zero(total.type) if isinstance(total, OwnZero) else total
    primitive_jvps[primitive] = rule


def defjvp(primitive: Primitive, *jvprules: Rule | None) -> None:
    """Sets a differentiation rule per operand: (tangent, *primals, **params) -> its part of the output's tangent.

    None stands for an operand that the output does not change with. The operation has one result.
    """
    _defjvp(primitive, lambda i, t, output, primals, params:
            None if jvprules[i] is None else jvprules[i](t, *primals, **params))  # type: ignore[misc]


def defjvp2(primitive: Primitive, *jvprules: Rule | None) -> None:
    """As `defjvp`, for rules that take the output too: (tangent, output, *primals, **params)."""
    _defjvp(primitive, lambda i, t, output, primals, params:
            None if jvprules[i] is None else jvprules[i](t, output, *primals, **params))  # type: ignore[misc]


def deflinear2(primitive: Primitive, transpose_rule: Rule) -> None:
    """Says that an operation is linear in all its operands together.

    Args:
      transpose_rule: (ct, *operands, **params) -> a list with a cotangent per operand.
    """
    def rule(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        outputs = primitive.bind(*primals, **params)
        return outputs, primitive.bind(*[instantiate_zeros(t) for t in tangents], **params)
    primitive_jvps[primitive] = rule
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Primitive, transpose_rule: Rule) -> None:
    """As `deflinear2`, for a rule that does not take the operands: (ct, **params)."""
    deflinear2(primitive, lambda ct, *_, **params: transpose_rule(ct, **params))


def defbilinear(prim: Primitive, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Says that an operation is linear in each of its two operands.

    Args:
      lhs_rule, rhs_rule: (ct, x, y, **params) -> the cotangent of x, or of y; that operand is an UndefinedPrimal.
    """
    def along(i: int, t: Any, output: Any, primals: Any, params: Any) -> Any:
        return prim.bind(*[t if i == k else x for k, x in enumerate(primals)], **params)

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        return [lhs_rule(ct, x, y, **params) if is_undefined_primal(x) else None,
                rhs_rule(ct, x, y, **params) if is_undefined_primal(y) else None]
    _defjvp(prim, along)
    primitive_transposes[prim] = transpose


def __getattr__(name: str) -> Any:
    if name == "add_jaxvals_p":
        return TABLE["add_any"]
    raise errors.unsupported(f"pullback.interpreters.ad.{name}")
