"""Gradients through loops of unknown length: Newton, a bouncing ball, an adaptive ODE solver, a beam search.

Each program takes the loop it runs on: `lax.while_loop`, or Python's own `while` on known values, whose gradient is the
one to compare with. Where reverse mode through `while_loop` is not to be had (real jax), forward mode takes its place.
"""

import jax
import jax.numpy as jnp
from jax import lax


def python_loop(test, step, state):
    while test(state):
        state = step(state)
    return state


def newton(loop, p):
    """The root of x^3 + p0 x = p1."""
    def residual(x):
        return x ** 3 + p[0] * x - p[1]

    def step(x):
        return x - residual(x) / (3 * x ** 2 + p[0])
    return loop(lambda x: jnp.abs(residual(x)) > 1e-4, step, p[1])


def bouncing_ball(loop, p):
    """The energy left after three bounces, by height, restitution and air drag; an event ends each flight."""
    dt = 0.05

    def step(state):
        y, v, bounces = state
        v = v - (9.81 + p[2] * v * jnp.abs(v)) * dt
        y = y + v * dt
        hit = y < 0
        return jnp.where(hit, -y, y), jnp.where(hit, -p[1] * v, v), bounces + hit
    y, v, _ = loop(lambda state: state[2] < 3, step, (p[0], jnp.zeros_like(p[0]), jnp.int32(0)))
    return 9.81 * y + 0.5 * v ** 2


def adaptive_solver(loop, p):
    """y(1) of y' = -p0 y^2 + p1 sin(4 t), by Heun's method with steps chosen by the estimated error."""
    def slope(t, y):
        return -p[0] * y ** 2 + p[1] * jnp.sin(4 * t)

    def step(state):
        t, y, dt = state
        dt = jnp.minimum(dt, 1.0 - t)
        k1 = slope(t, y)
        k2 = slope(t + dt, y + dt * k1)
        error = jnp.abs(dt * (k2 - k1) / 2)
        accepted = error < 1e-2
        grown = 0.9 * dt * jnp.sqrt(1e-2 / jnp.maximum(error, 1e-8))
        return (jnp.where(accepted, t + dt, t), jnp.where(accepted, y + dt * (k1 + k2) / 2, y),
                jnp.clip(grown, 0.3 * dt, 2 * dt))
    zero = jnp.zeros_like(p[0])
    return loop(lambda state: state[0] < 1.0 - 1e-6, step, (zero, zero + 1.0, zero + 0.1))[1]


def beam_search(loop, p):
    """The score of the best sentence of a bigram model; the search stops at the end token, or after 12 words."""
    words, beams, end = 6, 3, 0
    i = jnp.arange(words, dtype=jnp.float32)
    logits = jnp.sin(p[0] * i[:, None] * (i + 1)) + p[1] * jnp.cos(p[2] * (i[:, None] - i)) - 0.3 * (i == end)
    scores = jax.nn.log_softmax(logits, axis=1)

    def step(state):
        length, total, last = state
        finished = last == end
        following = jnp.where(finished[:, None], jnp.where(jnp.arange(words) == end, 0.0, -jnp.inf), scores[last])
        best, at = lax.top_k((total[:, None] + following).reshape(-1), beams)
        return length + 1, best, at % words

    first = (jnp.int32(0), jnp.where(jnp.arange(beams) == 0, jnp.zeros_like(p[0]), -jnp.inf),
             jnp.full(beams, 3, jnp.int32))
    _, total, _ = loop(lambda state: (state[0] < 12) & (state[2][0] != end), step, first)
    return total[0]


def gradient(program, p):
    """By reverse mode where the engine has it for loops."""
    run = lambda p: program(lax.while_loop, p)  # noqa: E731
    try:
        return jax.jit(jax.grad(run))(p)
    except ValueError:
        return jax.jit(jax.jacfwd(run))(p)


for program, p in ((newton, [2.0, 5.0, 0.0]), (bouncing_ball, [1.0, 0.8, 0.05]), (adaptive_solver, [1.5, 2.0, 0.0]),
                   (beam_search, [0.7, 1.3, 0.4])):
    p = jnp.array(p)
    found = gradient(program, p)
    unrolled = jax.grad(lambda p: program(python_loop, p))(p)  # noqa: B023
    assert jnp.allclose(found, unrolled, rtol=1e-3, atol=1e-4), (program.__name__, found, unrolled)
    print(program.__name__, "value", program(lax.while_loop, p), "gradient", found)
