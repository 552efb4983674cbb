"""A recurrent network by scan, with dropout inside, and a solver of a differential equation."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, T, D, H = 5, 4, 2, 3
X, Y = numbers(N, T, D, seed=3), numbers(N, seed=4)
PARAMS = {"u": numbers(D, H, seed=1), "w": numbers(H, H, seed=2) / 2, "o": numbers(H, seed=5)}
CONTRACT = gate.Contract(params={"u": "f32[d, h]", "w": "f32[h, h]", "o": "f32[h]"},
                         batch={"x": "f32[n, t, d]", "y": "f32[n]"}, outputs="f32[n]")


def reference(params, x):
    state = np.zeros((x.shape[0], H))
    for t in range(x.shape[1]):
        state = np.tanh(x[:, t] @ params["u"] + state @ params["w"])
    return state @ params["o"]


def network(jax):
    jnp = jax.numpy

    @CONTRACT.guard
    def forward(params, x):
        def step(state, row):
            state = jnp.tanh(row @ params["u"] + state @ params["w"])
            return state, state

        start = jnp.zeros((x.shape[0], H))
        last, states = jax.lax.scan(step, start, x.transpose(1, 0, 2))
        return last @ params["o"]

    @CONTRACT.guard
    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, contract=CONTRACT, reference=reference)


def dropout(jax):
    jnp, random = jax.numpy, jax.random

    def forward(params, x, key):
        def step(state, row):
            state, key = state
            key, part = random.split(key)
            kept = random.bernoulli(part, 0.9, (H,))
            state = jnp.tanh(row @ params["u"] + state @ params["w"]) * kept
            return (state, key), 0.0

        start = jnp.zeros((x.shape[0], H)), key
        (last, key), _ = jax.lax.scan(step, start, x.transpose(1, 0, 2))
        return last @ params["o"]

    @CONTRACT.guard
    def loss(params, x, y, key):
        return jnp.mean((forward(params, x, key) - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, contract=CONTRACT)


def unrolled(jax):
    """A loop in Python, with raw keys."""
    jnp, random = jax.numpy, jax.random

    @CONTRACT.guard
    def loss(params, x, y, key):
        state = jnp.zeros((x.shape[0], H))
        for t in range(T):
            key, part = random.split(key)
            noise = random.normal(part, (H,))
            state = jnp.tanh(x[:, t] @ params["u"] + state @ params["w"] + 0.1 * noise)
        return jnp.mean((state @ params["o"] - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, contract=CONTRACT, key=random.PRNGKey(5))


def oscillator(jax):
    """Four steps of Runge and Kutta of the fourth order, against the solution."""
    jnp = jax.numpy
    steps, size = 4, 0.25

    def forward(params, x):
        def slope(state):
            return jnp.stack([state[:, 1], -params["k"] * state[:, 0]], axis=1)

        def step(i, state):
            one = slope(state)
            two = slope(state + size / 2 * one)
            three = slope(state + size / 2 * two)
            four = slope(state + size * three)
            return state + size / 6 * (one + 2 * two + 2 * three + four)

        for i in range(steps):
            x = step(i, x)
        return x

    contract = gate.Contract(params={"k": "f32[]"}, batch={"x": "f32[n, 2]", "y": "f32[n, 2]"}, outputs="f32[n, 2]")

    @contract.guard
    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    def solution(params, x):
        w = np.sqrt(params["k"])
        c, s = np.cos(w * steps * size), np.sin(w * steps * size)
        return np.stack([x[:, 0] * c + x[:, 1] * s / w, -x[:, 0] * w * s + x[:, 1] * c], axis=1)

    return gate.Model(loss, {"k": np.float32(1.3)}, {"x": numbers(N, 2, seed=8), "y": numbers(N, 2, seed=9)},
                      forward=forward, contract=contract, reference=solution)


TWINS = {
    "network": [
        Twin("state_not_carried", "flow", "return state, state", "return 0 * state, state"),
        Twin("carry_stopped", "flow", 'state @ params["w"]', 'jax.lax.stop_gradient(state @ params["w"])', leaf="w",
             text="stop_gradient"),
        Twin("last_step_left_out", "reference", "last @", "states[-2] @"),
        Twin("time_backwards", "reference", "x.transpose(1, 0, 2))", "x.transpose(1, 0, 2), reverse=True)"),
        Twin("mean_over_time", "reference", "last @", "states.mean(0) @"),
        Twin("time_and_objects_mixed", "transforms", "x.transpose(1, 0, 2)", "x.reshape(T, -1, D)",
             leaf="outputs"),
        Twin("start_of_ones", "reference", "jnp.zeros((x.shape[0], H))", "jnp.ones((x.shape[0], H))"),
        Twin("weight_transposed", "reference", 'state @ params["w"]', 'state @ params["w"].T'),
        Twin("state_added", "reference", "state = jnp.tanh(", "state = state + jnp.tanh("),
        Twin("state_normalised_over_objects", "transforms", "return state, state",
             "return state - state.mean(0), state", text="neighbours"),
    ],
    "dropout": [
        Twin("one_key_in_every_step", "keys", "return (state, key), 0.0", "return (state, start[1]), 0.0",
             text="uses one key"),
        Twin("mask_of_the_parent_key", "keys", "random.bernoulli(part", "random.bernoulli(key",
             text="uses one key"),
        Twin("mask_over_objects", "transforms", "last @", "(last - last.mean(0)) @", text="neighbours"),
        Twin("constant_key_inside", "keys", "random.split(key)", "random.split(random.key(1))",
             text="a key of its own"),
    ],
    "unrolled": [
        Twin("raw_key_in_a_loop", "keys", "random.normal(part", "random.normal(key", text="uses one key"),
        Twin("key_not_split_in_the_loop", "keys", "key, part = random.split(key)", "part = key",
             text="uses one key 4 times"),
        Twin("first_half_for_every_step", "keys", "key, part = random.split(key)", "_, part = random.split(key)",
             text="uses one key"),
        Twin("folded_with_a_constant", "keys", "key, part = random.split(key)", "part = random.fold_in(key, 7)",
             text="uses one key"),
        Twin("key_from_the_step", "keys", "key, part = random.split(key)", "part = random.PRNGKey(t)",
             text="a key of its own"),
        Twin("noise_forgotten", "keys", "+ 0.1 * noise", "",
             text="same result for another key"),
    ],
    "oscillator": [
        Twin("sign_of_the_force", "reference", '-params["k"]', 'params["k"]'),
        Twin("weights_of_the_step", "reference", "one + 2 * two + 2 * three + four",
             "one + two + 2 * three + 2 * four"),
        Twin("full_step_for_half", "reference", "size / 2 * two", "size * two"),
        Twin("one_step_short", "reference", "range(steps)", "range(steps - 1)"),
        Twin("step_of_euler", "reference", "state + size / 6 * (one + 2 * two + 2 * three + four)",
             "state + size * one", at="def forward"),
    ],
}
