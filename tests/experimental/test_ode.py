"""odeint against real jax, and its adjoint derivative against real jax and the exact solution."""

from __future__ import annotations

import doctest

import jax
import numpy as np
import pytest
from jax.experimental.ode import odeint as their_odeint

import pullback
from pullback import errors
from pullback.experimental import ode
from pullback.experimental.ode import odeint
from tests.same import same

jnp = pullback.numpy
T = np.array([0.0, 0.5, 0.7, 2.0], np.float32)
ODEINT = {pullback: odeint, jax: their_odeint}


def test_solutions_and_gradients_equal_jaxs():
    def build(e):
        def slope(y, t, a, w):
            return {"u": -a * y["u"] + e.numpy.sin(w["k"] * t) * 2, "v": y["u"][0] * y["v"] - t}

        def solve(y0, t, a, w):
            return ODEINT[e](slope, y0, t, a, w, rtol=1e-6, atol=1e-6)

        def loss(y0, t, a, w):
            ys = solve(y0, t, a, w)
            return (ys["u"] ** 2).sum() + ys["v"][-1] * ys["v"][1]

        def run(u, t):
            args = {"u": u, "v": 1.0}, t, 1.5, {"k": 2.0}
            return e.jit(solve)(*args), e.jit(e.grad(loss, (0, 1, 2, 3)))(*args)
        return run
    same(build, np.array([1.0, -0.5], np.float32), T, rtol=2e-4, atol=1e-4)


def test_closed_over_values_batches_and_exact_derivatives():
    with pullback.enable_x64(True):
        t = T.astype(float)

        def loss(rate, y0):
            return odeint(lambda y, t, n: -rate * y * n / 3, y0, t, 3)[-1]  # by n, an integer, there is no derivative
        for run in (pullback.grad(loss, (0, 1)), pullback.jit(pullback.grad(loss, (0, 1)))):
            by_rate, by_y0 = run(1.3, 2.0)
            np.testing.assert_allclose(by_y0, np.exp(-2.6), rtol=1e-6)
            np.testing.assert_allclose(by_rate, -2 * 2.0 * np.exp(-2.6), rtol=1e-6)
        y0 = np.array([1.0, 2.0])
        np.testing.assert_allclose(pullback.vmap(lambda y: loss(1.3, y))(y0), y0 * np.exp(-2.6), rtol=1e-6)
        np.testing.assert_allclose(pullback.jit(pullback.vmap(pullback.grad(loss, 1), (None, 0)))(1.3, y0),
                                   np.exp(-2.6) * np.ones(2), rtol=1e-6)


def test_order_of_the_method():
    """Halving a fixed step divides the error by about 2^5."""
    with pullback.enable_x64(True):
        t = np.array([0.0, 2.0])

        def error(hmax):
            y = odeint(lambda y, t: jnp.stack([y[1], -y[0]]), np.array([0.0, 1.0]), t, rtol=1.0, atol=1.0, hmax=hmax)
            return abs(y[-1, 0] - np.sin(2.0))
        assert 20 < error(0.25) / error(0.125) < 50


def test_times_that_are_not_reached_are_nan():
    decay = (lambda y, t: -y)  # noqa: E731
    assert np.isnan(odeint(decay, 1.0, np.array([0.0, 1.0, 0.5], np.float32))).tolist() == [False, False, True]
    assert np.isnan(odeint(decay, 1.0, T, mxstep=2))[1:].all()
    assert np.isnan(odeint(lambda y, t: y * jnp.nan, 1.0, T))[1:].all()
    np.testing.assert_allclose(odeint(decay, 1.0, np.array([1.0, 1.0, 2.0], np.float32), rtol=1e-5, atol=1e-5),
                               [1, 1, np.exp(-1)], rtol=1e-4)


def test_messages():
    with pytest.raises(TypeError, match=r"t is i32\[2\], a vector of floats"):
        odeint(lambda y, t: -y, 1.0, np.array([0, 1]))
    with pytest.raises(TypeError, match="an array or a number is required"):
        odeint(lambda y, t, a: -y, 1.0, T, "a")
    with pytest.raises(TypeError, match="the structure of y0 is required"):
        odeint(lambda y, t: (y, y), 1.0, T)
    with pytest.raises(TypeError, match="split complex numbers"):
        odeint(lambda y, t: -y, 1j, T)
    with pytest.raises(errors.MissingRuleError):
        pullback.jvp(lambda a: odeint(lambda y, t, a: -a * y, 1.0, T, a), (1.0,), (1.0,))


def test_examples():
    assert doctest.testmod(ode, extraglobs={"jnp": jnp}).failed == 0
