"""Reverse mode through loops whose number of steps is known only at run time: against the unrolled program."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

import pullback

jnp, lax = pullback.numpy, pullback.lax
X = np.array([0.3, -0.7, 1.2], np.float32)
W = np.array([0.9, 0.5, -0.8], np.float32)


def step(w, x):
    return jnp.sin(x) * w + 0.1 * x ** 2


def looped(w, x, n):
    return jnp.sum(lax.fori_loop(0, n, lambda i, x: step(w, x) + 0.01 * i, x) ** 2)


def unrolled(w, x, n):
    for i in range(n):
        x = step(w, x) + 0.01 * i
    return jnp.sum(x ** 2)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_gradient_under_jit_equals_the_unrolled_programs(n):
    expected = pullback.grad(unrolled, (0, 1))(W, X, n)
    for found in (pullback.jit(pullback.grad(looped, (0, 1)))(W, X, n),
                  pullback.grad(pullback.jit(looped), (0, 1))(W, X, n)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("slots", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [1, 5, 33])
def test_any_number_of_slots(slots, n):
    def loss(w, x):
        final = pullback.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(w, s[1])), (0, x), slots=slots)[1]
        return jnp.sum(final ** 2)

    def plain(w, x):
        for _ in range(n):
            x = step(w, x)
        return jnp.sum(x ** 2)
    for a, b in zip(pullback.jit(pullback.grad(loss, (0, 1)))(W, X), pullback.grad(plain, (0, 1))(W, X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("slots", [1, 3, 8])
def test_as_few_steps_are_computed_again_as_can_be(slots):
    """n steps, b(s, r - 1) < n <= b(s, r) = C(s + r, s), cost r n - b(s + 1, r - 1) more (Griewank and Walther)."""
    calls = []

    def body(s):
        pullback.debug.callback(lambda: calls.append(1))
        return s[0] + 1, jnp.sin(s[1])
    gradient = pullback.jit(pullback.grad(
        lambda x, n: pullback.while_loop(lambda s: s[0] < n, body, (0, x), slots=slots)[1]))
    for n in (0, 1, 2, 7, 20, 33, 200):
        if slots == 1 and n > 100:
            continue
        repetitions = next(r for r in range(100) if comb(slots + r, slots) >= n)
        calls.clear()
        gradient(0.5, n)
        again = len(calls) - 2 * n  # every step runs once forward, and once more for its derivative
        assert again == max(repetitions * n - comb(slots + repetitions, slots + 1), 0), n


def test_newtons_iteration():
    def root(a):
        return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-4, lambda x: 0.5 * (x + a / x), a)
    for run in (pullback.grad(root), pullback.jit(pullback.grad(root))):
        np.testing.assert_allclose(run(2.0), 0.5 / np.sqrt(2.0), rtol=1e-3)
    batch = np.array([2.0, 9.0, 30.0], np.float32)
    np.testing.assert_allclose(pullback.jit(pullback.vmap(pullback.grad(root)))(batch), 0.5 / np.sqrt(batch), rtol=1e-3)
    np.testing.assert_allclose(pullback.grad(lambda a: jnp.sum(pullback.vmap(root)(a)))(batch), 0.5 / np.sqrt(batch),
                               rtol=1e-3)


def test_bouncing_ball():
    """Time until the third bounce, by the height it falls from: the event loop ends when the ball has bounced."""
    def height_after(h, steps_dt=0.01):
        def body(s):
            y, v, bounces = s
            v = v - 9.81 * steps_dt
            y = y + v * steps_dt
            hit = y < 0
            return jnp.where(hit, -y, y), jnp.where(hit, -0.8 * v, v), bounces + hit
        y, v, _ = lax.while_loop(lambda s: s[2] < 2, body, (h, 0.0, 0))
        return 9.81 * y + 0.5 * v ** 2  # energy

    def plain(h, steps_dt=0.01):
        y, v, bounces = h, 0.0, 0
        while bounces < 2:
            v = v - 9.81 * steps_dt
            y = y + v * steps_dt
            if y < 0:
                y, v, bounces = -y, -0.8 * v, bounces + 1
        return 9.81 * y + 0.5 * v ** 2
    np.testing.assert_allclose(pullback.jit(pullback.grad(height_after))(1.0), pullback.grad(plain)(1.0), rtol=2e-3)


def test_adaptive_steps():
    """An ODE solver that chooses its own steps; the derivative by the rate, against finite differences."""
    def solve(rate):
        def body(s):
            t, y, dt = s
            k1 = -rate * y
            k2 = -rate * (y + dt * k1)
            error = jnp.abs(dt * (k2 - k1) / 2)
            dt = jnp.minimum(dt * jnp.clip(0.9 * jnp.sqrt(1e-4 / (error + 1e-10)), 0.2, 2.0), 0.1)
            return t + dt, y - dt * rate * y, dt
        return lax.while_loop(lambda s: s[0] < 1.0, body, (0.0, 1.0, 0.05))[1]
    with pullback.enable_x64(True):
        gradient = pullback.jit(pullback.grad(solve))(np.float64(1.3))
        eps = 1e-6
        numeric = (solve(np.float64(1.3 + eps)) - solve(np.float64(1.3 - eps))) / (2 * eps)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4)


def test_second_order_and_nested_loops():
    def inner(x, n):
        return lax.fori_loop(0, n, lambda i, y: jnp.sin(y) * 1.1, x)

    def outer(x, n, m):
        return lax.fori_loop(0, m, lambda i, y: inner(y, n) + 0.1 * x, x)

    def plain(x, n, m):
        y = x
        for _ in range(m):
            for _ in range(n):
                y = jnp.sin(y) * 1.1
            y = y + 0.1 * x
        return y
    run = pullback.jit(pullback.grad(outer))
    np.testing.assert_allclose(run(0.7, 3, 2), pullback.grad(plain)(0.7, 3, 2), rtol=1e-4)
    second = pullback.jit(pullback.grad(pullback.grad(inner)))
    np.testing.assert_allclose(second(0.7, 3), pullback.grad(pullback.grad(lambda x: plain(x, 3, 1) - 0.1 * x))(0.7),
                               rtol=1e-3)
    forward = pullback.jit(pullback.jacfwd(pullback.grad(inner)))
    np.testing.assert_allclose(forward(0.7, 3), second(0.7, 3), rtol=1e-3)


def test_max_steps():
    """The plain way: a scan over the largest number of steps, which keeps them all."""
    def loss(x):
        return pullback.while_loop(lambda s: jnp.sum(s) < 100, lambda s: s * 2, x, max_steps=20)[0]
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_allclose(pullback.jit(pullback.grad(loss))(x), [64.0, 0.0])
    np.testing.assert_allclose(loss(x), 64.0)
    with pytest.raises(ValueError, match="max_steps"):
        pullback.while_loop(lambda s: s < 1, lambda s: s, 0.0, max_steps=-1)
