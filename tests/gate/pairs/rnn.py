"""A gated recurrent network, as a scan over time, that predicts a series."""

import numpy as np

from pullback import gate

WIDTH, TIME, BATCH = 5, 7, 3


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


PARAMS = {"reset": 0.5 * numbers(0, WIDTH + 2, WIDTH), "keep": 0.5 * numbers(1, WIDTH + 2, WIDTH),
          "new": 0.5 * numbers(2, WIDTH + 2, WIDTH), "out": 0.5 * numbers(3, WIDTH), "start": 0.1 * numbers(4, WIDTH)}
DATA = {"series": numbers(5, BATCH, TIME, 2), "target": numbers(6, BATCH, TIME), "length": np.array([7, 4, 6], "int32")}


def build(jax):
    jnp, lax = jax.numpy, jax.lax

    def known(x):
        try:
            return bool(jnp.all(jnp.isfinite(x)))
        except Exception:
            return False

    @jax.custom_jvp
    def soft(x):
        return jnp.log1p(jnp.exp(x))

    @soft.defjvp
    def soft_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        slope = jax.nn.sigmoid(x)
        return soft(x), slope * x_dot

    def cell(params, state, x):
        both = jnp.concatenate([state, x])
        reset = jax.nn.sigmoid(both @ params["reset"])
        keep = jax.nn.sigmoid(both @ params["keep"])
        new = jnp.tanh(jnp.concatenate([reset * state, x]) @ params["new"])
        return keep * state + (1.0 - keep) * new

    def one(params, series):
        def step(state, x):
            state = cell(params, state, x)
            return state, soft(state @ params["out"])
        return lax.scan(step, params["start"], series)[1]

    @jax.jit
    def scaled(x):
        factor = 1.0
        return factor * x

    def forward(params, series):
        return scaled(jax.vmap(lambda row: one(params, row))(series))

    def loss(params, series, target, length):
        there = jnp.arange(series.shape[1]) < length[:, None]
        weights = 0.95 ** jnp.arange(series.shape[1], dtype=jnp.float32)
        errors = weights * (forward(params, series) - target) ** 2
        return jnp.sum(jnp.where(there, errors, 0.0)) / jnp.sum(there)

    def update(params, series, target, length):
        gradients = jax.grad(loss)(params, series, target, length)
        clipped = {name: jnp.clip(g, -0.05, 0.05) for name, g in gradients.items()}
        return {name: params[name] - 0.1 * clipped[name] for name in params}

    return gate.Model(loss, PARAMS, DATA, forward=forward, update=update)
