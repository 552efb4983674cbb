"""A target of temporal differences, and a variational model."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, H = 6, 3, 4
BATCH = {"x": numbers(N, D, seed=3), "later": numbers(N, D, seed=5), "reward": numbers(N, seed=4),
         "done": np.array([0, 0, 1, 0, 1, 0], "float32")}
NETWORK = {"w": numbers(D, H, seed=1), "v": numbers(H, seed=2)}
OTHER = {"w": numbers(D, H, seed=7), "v": numbers(H, seed=8)}
SHAPES = {"w": "f32[d, h]", "v": "f32[h]"}


def target(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"online": SHAPES, "target": SHAPES}, batch={
        "x": "f32[n, d]", "later": "f32[n, d]", "reward": "f32[n]", "done": "f32[n] in [0, 1]"})

    def value(params, x):
        return jnp.tanh(x @ params["w"]) @ params["v"]

    @contract.guard
    def loss(params, x, later, reward, done):
        future = jax.lax.stop_gradient(value(params["target"], later))
        aim = reward + 0.9 * (1 - done) * future
        error = value(params["online"], x) - aim
        return jnp.mean(error ** 2)

    def ended(batch):
        return {**batch, "later": batch["later"].at[2].set(0.0).at[4].set(0.0)}

    return gate.Model(loss, {"online": NETWORK, "target": OTHER}, BATCH, contract=contract, frozen=["target"],
                      invariances=[gate.Invariance("nothing comes after the end", ended)])


def latent(jax):
    jnp, random = jax.numpy, jax.random
    contract = gate.Contract(params={"w": "f32[d, h]", "u": "f32[d, h]", "o": "f32[h, d]"},
                             batch={"x": "f32[n, d] in [-9, 9]"}, loss="f32[] in [0, inf)")
    params = {"w": NETWORK["w"], "u": 0.3 * OTHER["w"], "o": numbers(H, D, seed=9)}

    @contract.guard
    def loss(params, x, key):
        one, two = random.split(key)
        mean, spread = x @ params["w"], x @ params["u"]
        z = mean + jnp.exp(0.5 * spread) * random.normal(one, mean.shape)
        z = z * random.bernoulli(two, 0.9, z.shape)
        errors = jnp.sum((z @ params["o"] - x) ** 2, axis=-1)
        divergence = 0.5 * jnp.sum(mean ** 2 + jnp.exp(spread) - spread - 1, axis=-1)
        return jnp.mean(errors + divergence)

    zeros = {name: 0 * value for name, value in params.items()}
    return gate.Model(loss, params, {"x": BATCH["x"]}, contract=contract,
                      expected=[gate.Expected("nothing in, nothing out", params=zeros, loss=float(
                          np.mean(np.sum(BATCH["x"] ** 2, axis=-1))))])


TWINS = {
    "target": [
        Twin("target_not_stopped", "flow", 'jax.lax.stop_gradient(value(params["target"], later))',
             'value(params["target"], later)', leaf="params/target"),
        Twin("online_stopped", "flow", 'value(params["online"], x) -',
             'jax.lax.stop_gradient(value(params["online"], x)) -', leaf="params/online"),
        Twin("both_sides_of_one_network", "transforms", 'value(params["target"], later)', 'value(params["target"], x)',
             leaf="batch/later"),
        Twin("whole_error_stopped", "flow", "error ** 2", "jax.lax.stop_gradient(error) ** 2", leaf="params/online"),
        Twin("end_not_looked_at", "transforms", "(1 - done) * future", "future", at="@contract.guard",
             leaf="batch/done"),
        Twin("end_upside_down", "reference", "(1 - done) * future", "done * future",
             text="after the end"),
        Twin("reward_over_the_batch", "transforms", "reward + 0.9", "reward - reward.mean() + 0.9 "),
    ],
    "latent": [
        Twin("one_key_twice", "keys", "random.bernoulli(two", "random.bernoulli(one", text="uses one key"),
        Twin("noise_of_a_fixed_key", "keys", "random.normal(one", "random.normal(random.key(3)",
             text="a key of its own"),
        Twin("sign_of_the_divergence", "reference", "errors + divergence", "errors - divergence * 1.0 + 1.0",
             leaf="loss"),
        Twin("one_not_taken_away", "reference", "- spread - 1,", "- spread,", leaf="loss"),
        Twin("output_stopped", "flow", 'z @ params["o"] - x', 'z @ jax.lax.stop_gradient(params["o"]) - x',
             leaf="params/o", text="stop_gradient"),
        Twin("noise_over_the_batch", "transforms", "errors + divergence", "errors * divergence.mean()"),
    ],
}
