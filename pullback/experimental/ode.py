"""Ordinary differential equations: jax.experimental.ode's interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback import lax
from pullback import numpy as jnp
from pullback.api.ad import vjp
from pullback.api.batch import vmap
from pullback.api.custom import closure_convert, custom_vjp
from pullback.api.flat import check_callable, flatten_args
from pullback.core import dtypes, errors, tree
from pullback.core.trace import type_of
from pullback.flatten_util import ravel_pytree
from pullback.runtime.device import as_array

__all__ = ["odeint"]

# The method of Dormand and Prince of order 5(4), and its interpolation of order 4: Hairer, Norsett and Wanner, Solving
# Ordinary Differential Equations I (1993), table II.5.2 and section II.6 (the code DOPRI5).
_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_DENSE = (-12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072,
          701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423)


def odeint(func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-08, atol: float = 1.4e-08,
           mxstep: float = np.inf, hmax: float = np.inf) -> Any:
    """The solution of dy/dt = func(y, t, *args) at given times, with steps chosen by the estimated error.

    Args:
      func: (y, t, *args) -> dy/dt, of the structure of y. Values it closes over may be differentiated.
      y0: the state at t[0]: array or pytree of float arrays.
      t: float[n], increasing: where the solution is wanted.
      *args: further arguments of `func`, arrays or pytrees of arrays.
      rtol, atol: the estimated error of a step stays below atol + rtol |y|, in the root mean square.
      mxstep: the largest number of steps between two times.
      hmax: the largest step.

    Returns:
      y at each time, along a new leading axis: [n, ...]. NaN where a time is not reached: in mxstep steps, because
      func gives no finite number, or because the times do not increase.

    Raises:
      TypeError: t is no vector of floats, an argument is no array, func returns another structure.

    Reverse mode integrates the adjoint equation backwards (R. Chen et al., Neural Ordinary Differential Equations,
    2018), so its memory does not grow with the number of steps, and its error is that of `rtol` and `atol`.

    Example:
      >>> ys = odeint(lambda y, t: -y, jnp.float32(1.0), jnp.array([0.0, 1.0, 2.0]), rtol=1e-6, atol=1e-6)
      >>> print(jnp.round(ys, 3))
      [1.    0.368 0.135]
    """
    op = "odeint"
    check_callable(func, op)
    t = as_array(t)
    if t.ndim != 1 or not t.size or not jnp.issubdtype(t.dtype, jnp.floating):
        raise errors.type_error(f"t is {t.type}, a vector of floats is required", op=op,
                                fix="jnp.array([0.0, 1.0]): the first is where y0 is given")
    y0 = tree.map(as_array, y0)
    leaves, args_tree = flatten_args(args, "an argument")
    leaves = [as_array(x) for x in leaves]
    args = tree.unflatten(args_tree, leaves)
    converted, closed = closure_convert(func, y0, t[0], *args)
    y_flat, unravel = ravel_pytree(y0)
    if not jnp.issubdtype(y_flat.dtype, jnp.floating):
        raise errors.type_error(f"y0 is of dtype {y_flat.dtype}, floats are required", op=op,
                                fix="convert it, or split complex numbers into real and imaginary parts")
    moving = [dtypes.is_inexact(type_of(x).dtype) for x in leaves]
    fixed = [x for x, flag in zip(leaves, moving, strict=True) if not flag]

    def slope(y: Any, s: Any, free: Sequence[Any], fixed: Sequence[Any]) -> Any:
        free_leaves, fixed_leaves = iter(free), iter(fixed)
        given = tree.unflatten(args_tree, [next(free_leaves if flag else fixed_leaves) for flag in moving])
        result = converted(unravel(y), s, *given, *free_leaves)
        if tree.structure(result) != tree.structure(y0):
            raise errors.type_error(f"func returned {tree.structure(result)}, the structure of y0 is required: "
                                    f"{tree.structure(y0)}", op=op)
        return ravel_pytree(result)[0].astype(y.dtype)

    def integrate(f: Callable[[Any, Any], Any], y: Any, times: Any) -> Any:
        return _integrate(f, y, times, rtol, atol, mxstep, hmax)

    @custom_vjp
    def solve(y: Any, times: Any, free: Any, fixed: Any) -> Any:
        return integrate(lambda y, s: slope(y, s, free, fixed), y, times)

    def forward(y: Any, times: Any, free: Any, fixed: Any) -> Any:
        ys = solve(y, times, free, fixed)
        return ys, (ys, times, free, fixed)

    def backward(residuals: Any, cts: Any) -> Any:
        ys, times, free, fixed = residuals

        def between(carry: Any, row: Any) -> Any:
            """From a time back to the one before, in s = -t: of y, its cotangent, and those of the arguments."""
            y_ct, free_ct = carry
            y, late, early, ct = row
            state, restore = ravel_pytree((y, y_ct + ct, free_ct))

            def adjoint(state: Any, s: Any) -> Any:
                y, y_ct, _ = restore(state)
                dy, pull = vjp(lambda y, free: slope(y, -s, free, fixed), y, free)
                return ravel_pytree((-dy, *pull(y_ct)))[0]

            _, y_ct, free_ct = restore(integrate(adjoint, state, jnp.stack([-late, -early]))[-1])
            return (y_ct, free_ct), jnp.vdot(slope(y, late, free, fixed), ct)

        start = jnp.zeros_like(ys[0]), tree.map(jnp.zeros_like, free)
        (y_ct, free_ct), late_cts = lax.scan(between, start, (ys[1:], times[1:], times[:-1], cts[1:]), reverse=True)
        first_ct = -jnp.vdot(slope(ys[0], times[0], free, fixed), y_ct)
        times_ct = jnp.concatenate([first_ct[None], late_cts]).astype(times.dtype)
        return y_ct + cts[0], times_ct, free_ct, None

    solve.defvjp(forward, backward)
    free = [x for x, flag in zip(leaves, moving, strict=True) if flag] + closed
    return vmap(unravel)(solve(y_flat, t, free, fixed))


def _step(f: Callable[[Any, Any], Any], y: Any, slope: Any, t: Any, dt: Any) -> Any:
    """One step: the new state, the estimated error, and the slopes of the seven stages."""
    ks = [slope]
    for node, weights in zip(_NODES, _STAGES, strict=True):
        new = y + dt * sum(w * k for w, k in zip(weights, ks, strict=True) if w)
        ks.append(f(new, t + node * dt))
    return new, dt * sum(w * k for w, k in zip(_ERROR, ks, strict=True) if w), ks


def _dense(y: Any, new: Any, ks: Sequence[Any], dt: Any) -> Any:
    """The coefficients of the interpolation over a step."""
    change = new - y
    start = dt * ks[0] - change
    rest = dt * sum(w * k for w, k in zip(_DENSE, ks, strict=True) if w)
    return jnp.stack([y, change, start, change - dt * ks[-1] - start, rest])


def _at(c: Any, part: Any) -> Any:
    other = 1 - part
    return c[0] + part * (c[1] + other * (c[2] + part * (c[3] + other * c[4])))


def _first_step(f: Callable[[Any, Any], Any], y: Any, slope: Any, t: Any, rtol: float, atol: float) -> Any:
    """A step to begin with: section II.4 of the same book."""
    scale = atol + rtol * jnp.abs(y)

    def size(x: Any) -> Any:
        return jnp.sqrt(jnp.mean(jnp.square(x / scale)))
    d0, d1 = size(y), size(slope)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1))
    d2 = size(f(y + h0 * slope, t + h0) - slope) / h0
    d = jnp.maximum(d1, d2)
    h1 = jnp.where(d <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.where(d == 0, 1, d)) ** (1 / 5))
    return jnp.minimum(100 * h0, h1)


def _integrate(f: Callable[[Any, Any], Any], y0: Any, times: Any, rtol: float, atol: float, mxstep: float, hmax: float
               ) -> Any:
    """The states at the times; each step may pass a time, whose state is then interpolated."""
    def step(state: Any) -> Any:
        y, slope, t, dt, before, dense, count = state
        new, error, ks = _step(f, y, slope, t, dt)
        scale = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
        ratio = jnp.sqrt(jnp.mean(jnp.square(error / scale)))
        accepted = ratio <= 1
        factor = jnp.where(ratio == 0, 10.0, 0.9 * jnp.where(ratio == 0, 1, ratio) ** (-1 / 5))
        factor = jnp.clip(factor, 0.2, jnp.where(accepted, 10.0, 1.0))
        coefficients = _dense(y, new, ks, dt)
        return (jnp.where(accepted, new, y), jnp.where(accepted, ks[-1], slope), jnp.where(accepted, t + dt, t),
                jnp.minimum(dt * factor, hmax).astype(dt.dtype), jnp.where(accepted, t, before),
                jnp.where(accepted, coefficients, dense), count + 1)

    def to_next(state: Any, target: Any) -> Any:
        last, *state = state

        def running(state: Any) -> Any:
            _, _, t, dt, _, _, count = state
            return (t < target) & (count < mxstep) & (t + dt > t)
        y, slope, t, dt, before, dense, _ = lax.while_loop(running, step, (*state, 0))
        width = jnp.where(t == before, 1, t - before)
        result = jnp.where((t >= target) & (target >= last), _at(dense, (target - before) / width), jnp.nan)
        return (target, y, slope, t, dt, before, dense), result

    t0 = times[0]
    slope = f(y0, t0)
    dt = jnp.minimum(_first_step(f, y0, slope, t0, rtol, atol), hmax).astype(times.dtype)
    dense = jnp.zeros((5, *y0.shape), y0.dtype).at[0].set(y0)
    _, ys = lax.scan(to_next, (t0, y0, slope, t0, dt, t0, dense), times[1:])
    return jnp.concatenate([y0[None], ys])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.ode.{name}")
