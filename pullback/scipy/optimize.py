"""Minimisation: jax.scipy.optimize's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pullback import lax
from pullback import numpy as jnp
from pullback.api.ad import value_and_grad
from pullback.api.flat import check_callable
from pullback.core import errors

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    Attributes:
      x: the last point.
      success: whether the gradient is small there.
      status: 0: success; 1: the largest number of iterations was reached; 3: the line search found no better point,
        which near a minimum means that the function's rounding errors are larger than its changes.
      fun, jac: the value and the gradient at x.
      hess_inv: the last approximation of the inverse Hessian.
      nfev, njev: how many values and gradients were computed.
      nit: iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """A local minimum of a smooth function, by the method of Broyden, Fletcher, Goldfarb and Shanno.

    Args:
      fun: (x, *args) -> a real number.
      x0: where to start: float[n].
      args: further arguments of `fun`.
      method: 'BFGS'.
      tol: stop when the norm of the gradient is below; None: 1e-5.
      options: gtol (in place of tol), norm (of the gradient: jnp.inf), maxiter (200 n), line_search_maxiter (10).

    Returns:
      OptimizeResults. It may run under jit and vmap, and be differentiated through its loop; lax.custom_root on the
      gradient of `fun` gives the derivative of the minimum at less cost.

    Raises:
      TypeError: args is no tuple, an option is unknown. ValueError: another method, x0 is no vector.

    Source: J. Nocedal and S. Wright, Numerical Optimization (2006): algorithm 6.1, with the line search of algorithms
    3.5 and 3.6 and cubic interpolation (3.59).

    Example:
      >>> found = minimize(lambda x: jnp.sum((x - 3.0) ** 2), jnp.zeros(2), method="BFGS")
      >>> print(found.x, found.success)
      [3. 3.] True
    """
    op = "minimize"
    check_callable(fun, op)
    if not isinstance(args, tuple):
        raise errors.type_error(f"args is {args!r:.60}, a tuple is required", op=op, fix="write args=(a,)")
    if method.lower() != "bfgs":
        raise errors.value_error(f"Method {method} not recognized, 'BFGS' is required", op=op)
    settings = {"gtol": 1e-5 if tol is None else tol, "norm": jnp.inf, "maxiter": None, "line_search_maxiter": 10}
    unknown = sorted(set(options or ()) - set(settings))
    if unknown:
        raise errors.type_error(f"unknown options {unknown}; there are {sorted(settings)}", op=op)
    settings |= dict(options or {})
    x0 = jnp.asarray(x0)
    x0 = x0.astype(jnp.result_type(x0, float))
    if x0.ndim != 1:
        raise errors.value_error(f"x0 has shape {x0.shape}, a vector is required", op=op,
                                 fix="flatten it with jax.flatten_util.ravel_pytree")
    return _bfgs(value_and_grad(lambda x: fun(x, *args)), x0, settings)


def _bfgs(evaluate: Callable[[Any], Any], x0: Any, settings: dict[str, Any]) -> OptimizeResults:
    limit = 200 * x0.size if settings["maxiter"] is None else settings["maxiter"]
    identity = jnp.eye(x0.size, dtype=x0.dtype)

    def large(g: Any) -> Any:
        return jnp.linalg.norm(g, ord=settings["norm"]) >= settings["gtol"]

    def running(state: Any) -> Any:
        _, _, g, _, _, k, failed = state
        return large(g) & (k < limit) & ~failed

    def step(state: Any) -> Any:
        x, f, g, h, evaluations, k, _ = state
        p = -h @ g
        a, f_next, g_next, found, tries = _line_search(evaluate, x, p, f, g, settings["line_search_maxiter"])
        s, y = a * p, g_next - g
        product = y @ s
        curved = found & (product > 0)
        rho = 1 / jnp.where(curved, product, 1)
        side = identity - rho * jnp.outer(s, y)
        h = jnp.where(curved, side @ h @ side.T + rho * jnp.outer(s, s), h)
        return x + s, f_next, g_next, h, evaluations + tries, k + 1, ~found

    f, g = evaluate(x0)
    state = (x0, f, g, identity, jnp.int32(1), jnp.int32(0), jnp.asarray(False))
    x, f, g, h, evaluations, k, failed = lax.while_loop(running, step, state)
    success = ~large(g)
    status = jnp.where(success, 0, jnp.where(failed, 3, 1))
    return OptimizeResults(x, success, status, f, g, h, evaluations, evaluations, k)


def _line_search(evaluate: Callable[[Any], Any], x: Any, p: Any, f0: Any, g0: Any, limit: int) -> Any:
    """A step along p that meets the strong Wolfe conditions: (step, value, gradient, whether found, evaluations).

    The best point so far, `low`, meets the first condition; once `high` is known, a good step lies between them. Where
    none is found in `limit` tries, the best one so far serves, if it is better than no step.
    """
    slope0 = g0 @ p
    c1, c2 = 1e-4, 0.9

    def running(state: Any) -> Any:
        return ~state[-2] & (state[-1] < limit)

    def step(state: Any) -> Any:
        a, low, high, bracketed, _, k = state
        f, g = evaluate(x + a * p)
        slope = g @ p
        here = (a, f, slope, g)
        worse = ~(f <= f0 + c1 * a * slope0) | (f >= low[1])  # holds for NaN, too
        done = ~worse & (jnp.abs(slope) <= -c2 * slope0)
        passed = jnp.where(bracketed, slope * (high[0] - low[0]) >= 0, slope >= 0)

        def choose(test: Any, one: Any, other: Any) -> Any:
            return tuple(jnp.where(test, u, v) for u, v in zip(one, other, strict=True))
        high = choose(worse, here, choose(passed, low, high))
        low = choose(worse, low, here)
        bracketed = bracketed | worse | passed
        return jnp.where(bracketed, _between(low, high), 2 * a), low, high, bracketed, done, k + 1

    zero = jnp.zeros_like(f0)
    start = (zero, f0, slope0, g0)
    state = (zero + 1, start, start, jnp.asarray(False), jnp.asarray(False), jnp.int32(0))
    _, (a, f, _, g), _, _, done, tries = lax.while_loop(running, step, state)
    return a, f, g, done | (f < f0), tries


def _between(low: Any, high: Any) -> Any:
    """The minimum of the cubic through two points with slopes; their middle where it is not well inside."""
    (a, fa, da, _), (b, fb, db, _) = low, high
    width = jnp.where(b == a, 1, b - a)
    d1 = da + db - 3 * (fb - fa) / width
    inside = d1 ** 2 - da * db
    d2 = jnp.sign(width) * jnp.sqrt(jnp.where(inside > 0, inside, 0))
    below = db - da + 2 * d2
    cubic = b - width * (db + d2 - d1) / jnp.where(below == 0, 1, below)
    part = (cubic - a) / width
    good = (part > 0.1) & (part < 0.9) & (inside > 0) & (below != 0)
    return jnp.where(good, cubic, (a + b) / 2)


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.optimize.{name}")
