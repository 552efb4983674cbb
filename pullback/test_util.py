"""Derivatives checked against differences of function values (jax.test_util)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api.ad import jvp, linearize, vjp
from pullback.core import dtypes, errors, tree
from pullback.core.trace import type_of
from pullback.runtime.device import as_array

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# What differences of function values can show, by dtype, where the caller names no tolerance.
_TOLERANCES = {"float64": 1e-5, "complex128": 1e-5, "float32": 2e-2, "complex64": 2e-2, "float16": 0.3,
               "bfloat16": 0.4}
_VALUE, _TANGENT = "the value", "the tangent"
_FIX = ("look at the rule for the derivative; where the function is not smooth, or steep, pass other points, eps, atol "
        "or rtol")


def _dtype(x: Any) -> Any:
    return type_of(as_array(x)).dtype


def _inexact(x: Any) -> bool:
    return bool(dtypes.issubdtype(_dtype(x), np.inexact))


def _tolerance(given: float | None, x: Any) -> float:
    return _TOLERANCES.get(str(_dtype(x)), 1e-2) if given is None else given


def _direction(rng: np.random.RandomState, x: Any) -> Any:
    """A random tangent for a primal: standard normal numbers; float0 for what is no float."""
    x = as_array(x)
    if not _inexact(x):
        return np.zeros(np.shape(x), dtypes.float0)
    drawn = rng.standard_normal(size=np.shape(x))
    if dtypes.issubdtype(_dtype(x), np.complexfloating):
        drawn = drawn + 1j * rng.standard_normal(size=np.shape(x))
    return as_array(np.asarray(drawn).astype(_dtype(x)))


def _shifted(xs: Any, vs: Any, step: float) -> Any:
    def shift(x: Any, v: Any) -> Any:
        if not _inexact(x):
            return x
        x = np.asarray(x)
        wide = np.promote_types(x.dtype, np.float64) if x.dtype.kind in "fc" else np.float64
        return as_array((x.astype(wide) + step * np.asarray(v).astype(wide)).astype(x.dtype))
    return tree.map(shift, xs, vs)


def _numerical_jvp(f: Callable[..., Any], args: Sequence[Any], vs: Sequence[Any], eps: float) -> Any:
    """The central difference quotient of `f` in the direction of `vs`."""
    above, below = f(*_shifted(tuple(args), tuple(vs), eps)), f(*_shifted(tuple(args), tuple(vs), -eps))

    def quotient(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        wide = a.dtype if a.dtype.kind in "fc" and a.dtype.itemsize >= 8 else np.float64
        return (a.astype(wide) - b.astype(wide)) / (2 * eps)
    return tree.map(lambda a, b: quotient(a, b) if _inexact(a) else np.zeros(np.shape(a), dtypes.float0), above, below)


def _compare(given: Any, wanted: Any, like: Any, atol: float | None, rtol: float | None, what: str, err_msg: str
             ) -> None:
    leaves = zip(tree.leaves(given), tree.leaves(wanted), tree.leaves(like), tree.leaf_names(like, "output"),
                 strict=True)
    for one, two, x, name in leaves:
        if not _inexact(x):
            continue
        one, two = np.asarray(one), np.asarray(two)
        one = one.astype(np.promote_types(two.dtype, np.float64))
        if not np.allclose(one, two, atol=_tolerance(atol, x), rtol=_tolerance(rtol, x), equal_nan=True):
            worst = np.max(np.abs(one - two))
            against = "the difference quotient" if what == _TANGENT else "what the function gives"
            raise errors.make(AssertionError, f"{what} of {name} is off by up to {worst:.3g} from {against}"
                              + (f": {err_msg}" if err_msg else ""), op="", fix=_FIX)


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float = 1e-4, err_msg: str = "") -> None:
    """Checks a Jacobian-vector product against a difference quotient, in one random direction.

    Args:
      f: the function.
      f_jvp: (primals, tangents) -> (output, its tangent).
      args: where; trees of arrays.
      atol, rtol: tolerances; by dtype where None.
      eps: the step, in units of the arguments.
      err_msg: for the message.

    Raises:
      AssertionError: outputs or tangents differ.

    Method: central differences; the error is of order eps^2, and of rounding over eps.

    Example:
      >>> import functools, pullback.test_util
      >>> f = jnp.sin
      >>> pullback.test_util.check_jvp(f, functools.partial(pullback.jvp, f), (jnp.float32(0.3),), eps=1e-2)
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    directions = tree.map(lambda x: _direction(rng, x), args)
    outputs, tangents = f_jvp(args, directions)
    expected = f(*args)
    _compare(outputs, expected, expected, atol, rtol, _VALUE, err_msg)
    _compare(tangents, _numerical_jvp(f, args, directions, eps), expected, atol, rtol, _TANGENT, err_msg)


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float = 1e-4, err_msg: str = "") -> None:
    """Checks a vector-Jacobian product: <c, J v> by differences is <J^T c, v> for random c and v.

    Args:
      f_vjp: (*primals) -> (output, its pullback).
      f, args, atol, rtol, eps, err_msg: as in `check_jvp`, whose method this is.

    Raises:
      AssertionError: outputs or products differ.

    Example:
      >>> import functools, pullback.test_util
      >>> f = jnp.sin
      >>> pullback.test_util.check_vjp(f, functools.partial(pullback.vjp, f), (jnp.float32(0.3),), eps=1e-2)
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    outputs, pullback = f_vjp(*args)
    expected = f(*args)
    _compare(outputs, expected, expected, atol, rtol, _VALUE, err_msg)
    directions = tree.map(lambda x: _direction(rng, x), args)
    cotangents = tree.map(lambda x: _direction(rng, x), expected)
    pulled = pullback(cotangents)
    forward = _numerical_jvp(f, args, directions, eps)
    one, two = _inner(pulled, directions, args), _inner(cotangents, forward, expected)
    kept = [x for x in tree.leaves((args, expected)) if _inexact(x)]
    a = max((_tolerance(atol, x) for x in kept), default=0.0)
    r = max((_tolerance(rtol, x) for x in kept), default=0.0)
    if not np.allclose(one, two, atol=a, rtol=r, equal_nan=True):
        raise errors.make(AssertionError, f"<J^T c, v> is {one:.6g}, and <c, J v> by difference quotients {two:.6g}"
                          + (f": {err_msg}" if err_msg else ""), op="", fix=_FIX)


def _inner(one: Any, two: Any, like: Any) -> float:
    """The real part of the inner product of two trees, without conjugation, as cotangents are paired."""
    total = 0.0
    for a, b, x in zip(tree.leaves(one), tree.leaves(two), tree.leaves(like), strict=True):
        if _inexact(x):
            wide = np.complex128 if dtypes.issubdtype(_dtype(x), np.complexfloating) else np.float64
            total += float(np.real(np.sum(np.asarray(a).astype(wide) * np.asarray(b).astype(wide))))
    return total


def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int, modes: Sequence[str] = ("fwd", "rev"),
                atol: float | None = None, rtol: float | None = None, eps: float | None = None) -> None:
    """Checks derivatives up to an order against difference quotients, in random directions.

    Args:
      f: a function of arrays, or of trees of them.
      args: where.
      order: how often to differentiate; from 1.
      modes: some of "fwd" for `jvp`, "rev" for `vjp`, "lin" for `linearize`; from the second order on also one through
        the other.
      atol, rtol: tolerances; by dtype where None.
      eps: the step, in units of the arguments; 1e-4 where None.

    Raises:
      AssertionError: a derivative is wrong; its order and mode are in the message.

    Example:
      >>> import pullback.test_util
      >>> pullback.test_util.check_grads(lambda x: jnp.sum(x ** 3), (jnp.arange(3.0),), order=2)
    """
    args = tuple(args)
    if not isinstance(order, int) or order < 1:
        raise errors.value_error(f"order is {order!r}, a whole number from 1 is required", op="check_grads",
                                 fix="pass order=2 for second derivatives")
    wrong = [m for m in modes if m not in ("fwd", "rev", "lin")]
    if wrong:
        raise errors.value_error(f"mode {wrong[0]!r}, one of 'fwd', 'rev' and 'lin' is required", op="check_grads",
                                 fix="leave modes out for 'fwd' and 'rev'")
    _check_orders(f, args, order, modes, atol, rtol, 1e-4 if eps is None else eps, "")


def _check_orders(f: Callable[..., Any], args: tuple[Any, ...], order: int, modes: Sequence[str], atol: float | None,
                  rtol: float | None, eps: float, path: str) -> None:
    def linearized(p: Any, t: Any) -> Any:
        outputs, run = linearize(f, *p)
        return outputs, run(*t)
    for mode, name, push in (("fwd", "jvp", lambda p, t: jvp(f, p, t)), ("lin", "linearize", linearized)):
        if mode not in modes:
            continue
        name = f"{path} {name}".strip()
        check_jvp(f, push, args, atol, rtol, eps, name)
        if order > 1:
            def pushed(*xs: Any, push: Any = push) -> Any:
                return push(xs, tree.map(lambda x: _direction(np.random.RandomState(1), x), xs))
            _check_orders(pushed, args, order - 1, modes, atol, rtol, eps, name + " of")
    if "rev" in modes:
        name = f"{path} vjp".strip()
        check_vjp(f, lambda *xs: vjp(f, *xs), args, atol, rtol, eps, name)
        if order > 1:
            cotangents = tree.map(lambda x: _direction(np.random.RandomState(2), x), f(*args))

            def pulled(*xs: Any) -> Any:
                outputs, back = vjp(f, *xs)
                return outputs, back(cotangents)
            _check_orders(pulled, args, order - 1, modes, atol, rtol, eps, name + " of")
