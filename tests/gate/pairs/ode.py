"""An ordinary differential equation with a learned force, integrated by a Runge-Kutta method of order four."""

import numpy as np

from pullback import gate

STEPS, BATCH, WIDTH = 8, 3, 4


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


PARAMS = {"w": 0.5 * numbers(0, 2, WIDTH), "b": 0.1 * numbers(1, WIDTH), "v": 0.5 * numbers(2, WIDTH),
          "damping": np.float32(0.3), "frequency": np.float32(2.0)}
DATA = {"start": numbers(3, BATCH, 2), "end": 3 * numbers(4, BATCH, 2)}


def build(jax):
    jnp, lax = jax.numpy, jax.lax

    def force(params, y, t):
        hidden = jnp.tanh(y @ params["w"] + params["b"])
        learned = hidden @ params["v"]
        driven = 0.2 * jnp.cos(params["frequency"] * t)
        acceleration = -jnp.sin(y[0]) - params["damping"] * y[1] + learned + driven
        return jnp.stack([y[1], acceleration])

    def step(params, y, t, h):
        k1 = force(params, y, t)
        k2 = force(params, y + 0.5 * h * k1, t + 0.5 * h)
        k3 = force(params, y + 0.5 * h * k2, t + 0.5 * h)
        k4 = force(params, y + h * k3, t + h)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    def solve(params, start):
        h = 2.0 / STEPS

        def advance(y, i):
            y = step(params, y, i * h, h)
            energy = 0.5 * y[1] ** 2 - jnp.cos(y[0])
            return y, energy
        return lax.scan(advance, start, jnp.arange(STEPS, dtype=jnp.float32))

    def forward(params, start):
        return jax.vmap(lambda y: solve(params, y)[0])(start)

    def loss(params, start, end):
        error = forward(params, start) - end
        angle = jnp.arctan2(jnp.sin(error[:, 0]), jnp.cos(error[:, 0]))
        energies = jax.vmap(lambda y: solve(params, y)[1])(start)
        return jnp.mean(angle ** 2 + error[:, 1] ** 2) + 0.01 * jnp.mean(jnp.abs(energies))

    def update(params, start, end):
        gradients = jax.grad(loss)(params, start, end)
        rate = 0.05 / (1.0 + jnp.abs(params["damping"]))
        moved = {name: params[name] - rate * g for name, g in gradients.items()}
        return {**moved, "damping": jnp.maximum(moved["damping"], 0.0)}

    return gate.Model(loss, PARAMS, DATA, forward=forward, update=update)
