"""Particles with learned forces, relaxed by a scan of checkpointed steps: rules of its own, mapped over pairs."""

import importlib

import numpy as np

from pullback import gate

STEPS, BATCH, COUNT, WIDTH = 4, 3, 3, 4


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


PARAMS = {"w": 0.5 * numbers(0, 1, WIDTH), "v": 0.5 * numbers(1, WIDTH), "charge": 1 + 0.2 * numbers(2, COUNT, COUNT)}
DATA = {"start": numbers(3, BATCH, COUNT, 2), "end": numbers(4, BATCH, COUNT, 2)}


def build(jax):
    jnp, lax = jax.numpy, jax.lax
    batching = importlib.import_module(f"{jax.__name__}.custom_batching")

    def known(x):
        try:
            return bool(jnp.all(jnp.isfinite(x)))
        except Exception:
            return False

    @jax.custom_vjp
    def length(d):
        return jnp.sqrt(jnp.sum(d ** 2) + 1e-3)

    def length_forward(d):
        return length(d), d

    def length_backward(d, ct):
        return (ct * d / length(d),)

    length.defvjp(length_forward, length_backward)

    @batching.custom_vmap
    def screened(r):
        return jnp.exp(-r) / (1.0 + r)

    @screened.def_vmap
    def screened_rows(size, mapped, r):
        return jnp.exp(-r) / (1.0 + r), mapped[0]

    def pair(params, charge, d):
        r = length(d)
        learned = jnp.tanh(r[None] @ params["w"]) @ params["v"]
        return charge * (lax.stop_gradient(screened(r)) + learned) * d

    @jax.checkpoint
    def force(params, x):
        apart = x[:, None] - x[None]
        rows = jax.vmap(lambda charge, d: pair(params, charge, d))
        table = jax.vmap(rows, in_axes=(0, 0))(params["charge"], apart)
        return jnp.sum(table, axis=1)

    def relax(params, x):
        seen = []

        def step(x, size):
            seen.append(size)
            pushed = x + size * force(params, x)
            return pushed / (1.0 + 0.1 * jnp.abs(pushed)), jnp.sum(pushed ** 2)
        return lax.scan(step, x, 0.3 / (1.0 + jnp.arange(STEPS)))

    def forward(params, start):
        return jax.vmap(lambda x: relax(params, x)[0])(start)

    @jax.checkpoint
    def decay(params):
        weight = 1e-2
        return weight * (jnp.sum(params["w"] ** 2) + jnp.sum(params["v"] ** 2))

    def loss(params, start, end):
        spread = jax.vmap(lambda x: relax(params, x)[1])(start)
        return jnp.mean((forward(params, start) - end) ** 2) + 1e-3 * jnp.mean(spread) + decay(params)

    return gate.Model(loss, PARAMS, DATA, forward=forward)
