"""Normalisation: of layers, of batches with the reason declared, and of lengths."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, H = 6, 3, 4
X, Y = numbers(N, D, seed=3), numbers(N, seed=4)
PARAMS = {"w": numbers(D, H, seed=1), "scale": 1 + 0.1 * numbers(H, seed=6), "shift": 0.1 * numbers(H, seed=8),
          "v": numbers(H, seed=2)}


def reference(params, x):
    hidden = x @ params["w"]
    hidden = (hidden - hidden.mean(-1, keepdims=True)) / np.sqrt(hidden.var(-1, keepdims=True) + 1e-3)
    return np.maximum(hidden * params["scale"] + params["shift"], 0) @ params["v"]


def layer(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d, h]", "scale": "f32[h]", "shift": "f32[h]", "v": "f32[h]"},
                             batch={"x": "f32[n, d]", "y": "f32[n]"}, outputs="f32[n]")

    def forward(params, x):
        hidden = x @ params["w"]
        mean = jnp.mean(hidden, axis=-1, keepdims=True)
        spread = jnp.sqrt(jnp.mean((hidden - mean) ** 2, axis=-1, keepdims=True) + 1e-3)
        hidden = (hidden - mean) / spread
        hidden = hidden * params["scale"] + params["shift"]
        return jax.nn.relu(hidden) @ params["v"]

    @contract.guard
    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, contract=contract, reference=reference)


def length(jax):
    """Directions: vectors of length one, safe at zero."""
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d, h]"}, batch={"x": "f32[n, d]", "y": "f32[n]"}, outputs="f32[n, h]")

    def forward(params, x):
        hidden = x @ params["w"]
        squares = jnp.sum(hidden ** 2, axis=-1, keepdims=True)
        safe = jnp.where(squares == 0, 1.0, squares)
        return jnp.where(squares == 0, 0.0, hidden / jnp.sqrt(safe))

    @contract.guard
    def loss(params, x, y):
        return jnp.mean((jnp.sum(forward(params, x), axis=-1) - y) ** 2)

    def longer(batch):
        return {**batch, "x": 3.0 * batch["x"]}

    return gate.Model(loss, {"w": PARAMS["w"]}, {"x": X, "y": Y}, forward=forward, contract=contract,
                      invariances=[gate.Invariance("the length of x does not matter", longer)])


TWINS = {
    "layer": [
        Twin("mean_over_objects", "transforms", "jnp.mean(hidden, axis=-1", "jnp.mean(hidden, axis=0"),
        Twin("spread_over_objects", "transforms", "** 2, axis=-1", "** 2, axis=0"),
        Twin("spread_of_everything", "transforms", "** 2, axis=-1", "** 2, axis=None"),
        Twin("mean_not_taken_away", "reference", "(hidden - mean) / spread", "hidden / spread"),
        Twin("variance_for_spread", "reference", "(hidden - mean) / spread", "(hidden - mean) / spread ** 2"),
        Twin("without_epsilon", "finite", " + 1e-3)", ")", at="/ spread", text="zeros"),
        Twin("epsilon_outside_of_the_root", "finite", "keepdims=True) + 1e-3)", "keepdims=True)) + 1e-3",
             text="zeros"),
        Twin("normalised_twice", "reference", "(hidden - mean) / spread", "(hidden - mean) / spread / spread"),
        Twin("scale_not_used", "flow", 'hidden * params["scale"]', "hidden * 1.0",
             leaf="params/scale"),
        Twin("shift_stopped", "flow", '+ params["shift"]', '+ jax.lax.stop_gradient(params["shift"])',
             leaf="params/shift"),
        Twin("statistics_stopped", "reference", "jax.nn.relu(hidden)", "jax.nn.relu(-hidden)"),
    ],
    "length": [
        Twin("root_of_zero", "finite", "jnp.sqrt(safe)", "jnp.sqrt(squares)", text="zeros"),
        Twin("epsilon_that_bends", "reference", "jnp.sqrt(safe)", "(jnp.sqrt(safe) + 0.5)",
             text="the length of x"),
        Twin("nan_to_num_at_zero", "finite", "safe = jnp.where(squares == 0, 1.0, squares)", "safe = squares",
             at="hidden / jnp.sqrt(safe)",
             text="zeros"),
        Twin("over_objects", "transforms", "hidden ** 2, axis=-1", "hidden ** 2, axis=0"),
    ],
}
