"""Taylor mode: derivatives of high order along a curve (jax.experimental.jet)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pullback.api.flat import FlatFunction, check_callable, leaf_value
from pullback.core import dtypes, errors, tree
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.vector import instantiate
from pullback.lax.operand import retype
from pullback.ops.taylor import jet as flat_jet
from pullback.runtime.device import as_array

__all__ = ["jet"]


def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]],
        factorial_scaled: bool = True, **_: Any) -> tuple[Any, Any]:
    """The value of a function on a curve, and its derivatives along it up to any order.

    Args:
      fun: a function of arrays.
      primals: where the curve is at t = 0: float arrays, one per argument.
      series: for each argument its derivatives by t of orders 1 to n: arrays of its shape.
      factorial_scaled: False for the coefficients of the Taylor series, derivatives over factorials, in and out.

    Returns:
      (output, series of the output): for each array of the output a list of n arrays.

    Raises:
      ValueError: the series have different lengths, or there is not one for each argument. TypeError: an argument is
      no float array, a term has another shape.

    Where a function is not smooth, the derivatives are those that `jvp` gives, again and again.

    Source: A. Griewank and A. Walther, Evaluating Derivatives (2008), chapter 13.

    Example:
      >>> y, derivatives = jet(jnp.exp, (0.0,), ((1.0, 0.0, 0.0),))
      >>> print(y, *derivatives)
      1.0 1.0 1.0 1.0
    """
    op = "jet"
    check_callable(fun, op)
    if len(primals) != len(series):
        raise errors.value_error(f"there are {len(primals)} arguments and {len(series)} series", op=op,
                                 fix="give one series per argument: jet(f, (x,), ((x1, x2),))")
    orders = {len(terms) for terms in series}
    if len(orders) > 1:
        raise errors.value_error(f"the series have different lengths: {[len(terms) for terms in series]}", op=op,
                                 fix="fill the shorter ones up with zeros")
    order = orders.pop() if orders else 0
    values, in_tree = [], tree.structure(tuple(primals))
    for i, x in enumerate(primals):
        leaves = tree.leaves(x)
        if len(leaves) != 1 or leaves[0] is not x:
            raise errors.value_error(f"argument {i} is a {type(x).__name__}, an array is required", op=op,
                                     fix="flatten it with jax.flatten_util.ravel_pytree")
        values.append(as_array(leaf_value(x, f"argument {i}")))
        if not dtypes.is_inexact(type_of(values[-1]).dtype):
            raise errors.type_error(f"argument {i} is {type_of(values[-1])}, floats are required", op=op,
                                    fix="convert it with astype, or close over what is fixed")
    given = []
    for i, (x, terms) in enumerate(zip(values, series, strict=True)):
        t = type_of(x)
        converted = []
        for k, term in enumerate(terms, 1):
            term = as_array(term)
            if type_of(term).shape != t.shape:
                raise errors.type_error(f"term {k} of argument {i} is {type_of(term)}, the shape of {t} is required",
                                        op=op)
            term = retype(term, t.dtype, t.weak)
            converted.append(term if factorial_scaled else _times(term, math.factorial(k)))
        given.append(converted)
    flat = FlatFunction(fun, in_tree, op=op)
    outputs, results = flat_jet(flat, order, values, given)
    terms = [[instantiate(t) if factorial_scaled else _times(instantiate(t), 1 / math.factorial(k))
              for k, t in enumerate(s, 1)] for s in results]
    return tree.unflatten(flat.out_tree, outputs), tree.unflatten(flat.out_tree, terms)


def _times(x: Any, factor: float) -> Any:
    t = type_of(x)
    return x if t.dtype == dtypes.float0 else TABLE["mul"](x, retype(factor, t.dtype, t.weak))


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.jet.{name}")
