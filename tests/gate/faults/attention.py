"""A block of causal attention over sequences of different lengths, with positions."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, T, D = 4, 5, 3
X, Y = numbers(N, T, D, seed=3), numbers(N, T, seed=4)
LENGTHS = np.array([5, 3, 4, 2], "int32")
PARAMS = {"q": numbers(D, D, seed=1), "k": numbers(D, D, seed=2), "v": numbers(D, D, seed=5), "o": numbers(D, seed=6),
          "p": 0.5 * numbers(T, D, seed=7)}
CONTRACT = gate.Contract(params={"q": "f32[d, d]", "k": "f32[d, d]", "v": "f32[d, d]", "o": "f32[d]", "p": "f32[t, d]"},
                         batch={"x": "f32[n, t, d]", "y": "f32[n, t]", "lengths": "i32[n] in [1, 5]"},
                         outputs="f32[n, t]")


def reference(params, x, lengths):
    """Object by object, query by query, in NumPy."""
    out = np.zeros((N, T))
    for n in range(N):
        h = x[n] + params["p"]
        q, k, v = h @ params["q"], h @ params["k"], h @ params["v"]
        for t in range(lengths[n]):
            scores = k[:t + 1] @ q[t] / np.sqrt(D)
            weights = np.exp(scores - scores.max())
            out[n, t] = (weights / weights.sum()) @ v[:t + 1] @ params["o"]
    return out


def causal(jax):
    jnp = jax.numpy

    @CONTRACT.guard
    def forward(params, x, lengths):
        hidden = x + params["p"]
        q, k, v = (hidden @ params[name] for name in ("q", "k", "v"))
        scores = jnp.einsum("ntd,nsd->nts", q, k)
        scores = scores / jnp.sqrt(jnp.float32(D))
        past = jnp.tril(jnp.ones((T, T), bool))
        scores = jnp.where(past, scores, -1e30)
        weights = jax.nn.softmax(scores, axis=-1)
        mixed = jnp.einsum("nts,nsd->ntd", weights, v)
        valid = jnp.arange(T) < lengths[:, None]
        return jnp.where(valid, mixed @ params["o"], 0.0)

    @CONTRACT.guard
    def loss(params, x, y, lengths):
        valid = jnp.arange(T) < lengths[:, None]
        squares = jnp.where(valid, (forward(params, x, lengths) - y) ** 2, 0.0)
        return jnp.mean(jnp.sum(squares, axis=1) / lengths)

    def later(batch):
        return {**batch, "x": batch["x"].at[:, 3:].set(1.0)}

    def swapped(batch):
        return {**batch, "x": batch["x"][:, np.array([1, 0, 2, 3, 4])]}

    return gate.Model(loss, PARAMS, {"x": X, "y": Y, "lengths": LENGTHS}, forward=forward, contract=CONTRACT,
                      reference=reference, padding="lengths",
                      invariances=[gate.Invariance("the future does not matter", later,
                                                   before=lambda outputs: outputs[:, :3]),
                                   gate.Invariance("positions matter", swapped, holds=False,
                                                   before=lambda outputs: outputs[:, 2:])])


def undeclared(jax):
    """The same with invariances alone: what can be said without a second implementation."""
    jnp, random = jax.numpy, jax.random
    contract = gate.Contract(params={"q": "f32[d, d]", "o": "f32[d]", "p": "f32[t, d]"}, batch={"x": "f32[n, t, d]"},
                             outputs="f32[n, t]")

    @contract.guard
    def forward(params, x, key):
        one, two = random.split(key)
        hidden = x + params["p"]
        kept = random.bernoulli(one, 0.9, (T, D))
        hidden = hidden * kept / 0.9
        scores = hidden @ params["q"] @ hidden.transpose(0, 2, 1)
        past = jnp.arange(T)[:, None] >= jnp.arange(T)
        scores = jnp.where(past, scores, -jnp.inf)
        weights = jax.nn.softmax(scores, axis=-1)
        kept = random.bernoulli(two, 0.9, (T, T))
        return (weights * kept / 0.9) @ hidden @ params["o"]

    @contract.guard
    def loss(params, x, key):
        return jnp.mean(forward(params, x, key)[:, :-1] - x[:, 1:, 0]) ** 2

    def later(batch):
        return {**batch, "x": batch["x"].at[:, 3:].set(1.0)}

    return gate.Model(loss, {name: PARAMS[name] for name in "qop"}, {"x": X}, forward=forward, contract=contract,
                      coupled="the square of a mean",
                      invariances=[gate.Invariance("the future does not matter", later,
                                                   before=lambda outputs: outputs[:, :3])])


TWINS = {
    "causal": [
        Twin("softmax_over_queries", "reference", "weights = jax.nn.softmax(scores, axis=-1)",
             "weights = jax.nn.softmax(scores, axis=1)", text="the future"),
        Twin("softmax_over_objects", "transforms", "weights = jax.nn.softmax(scores, axis=-1)",
             "weights = jax.nn.softmax(scores, axis=0)"),
        Twin("mask_one_early", "reference", "jnp.tril(jnp.ones((T, T), bool))", "jnp.tril(jnp.ones((T, T), bool), 1)",
             text="the future"),
        Twin("mask_one_late", "reference", "jnp.tril(jnp.ones((T, T), bool))", "jnp.tril(jnp.ones((T, T), bool), -1)",
             text="reference"),
        Twin("mask_upside_down", "reference", "jnp.tril(", "jnp.triu(", text="the future"),
        Twin("no_mask", "reference", "jnp.where(past, scores, -1e30)", "scores",
             text="the future"),
        Twin("mask_adds_nothing", "reference", "jnp.where(past, scores, -1e30)", "jnp.where(past, scores, 0.0)",
             text="the future"),
        Twin("not_scaled", "reference", "scores / jnp.sqrt(jnp.float32(D))", "scores"),
        Twin("scaled_by_the_length", "reference", "jnp.sqrt(jnp.float32(D))", "jnp.sqrt(jnp.float32(T))"),
        Twin("scaled_twice", "reference", "scores / jnp.sqrt(jnp.float32(D))", "scores / jnp.float32(D)"),
        Twin("keys_and_values_swapped", "reference", 'for name in ("q", "k", "v"))', 'for name in ("q", "v", "k"))'),
        Twin("transposed_weights", "reference", '"nts,nsd->ntd"', '"nst,nsd->ntd"'),
        Twin("layout_of_a_weight", "reference", "hidden @ params[name] for", "hidden @ params[name].T for"),
        Twin("positions_not_added", "flow", 'x + params["p"]', "x * 1.0", at="@CONTRACT.guard", leaf="p"),
        Twin("positions_stopped", "flow", 'x + params["p"]', 'x + jax.lax.stop_gradient(params["p"])', leaf="p",
             text="stop_gradient"),
        Twin("length_one_too_long", "transforms", "squares = jnp.where(valid,",
             "squares = jnp.where(jnp.arange(T) <= lengths[:, None],", leaf="batch/y",
             text="padding"),
        Twin("length_one_too_short", "transforms", "squares = jnp.where(valid,",
             "squares = jnp.where(jnp.arange(T) < lengths[:, None] - 1,", leaf="batch/y",
             text="no padding changes nothing"),
        Twin("padding_in_the_loss", "transforms", "squares = jnp.where(valid,", "squares = jnp.where(True,",
             leaf="batch/y", text="padding"),
        Twin("outputs_not_masked", "reference", 'jnp.where(valid, mixed @ params["o"], 0.0)', 'mixed @ params["o"]'),
    ],
    "undeclared": [
        Twin("one_key_for_both_dropouts", "keys", "random.bernoulli(two", "random.bernoulli(one", text="uses one key"),
        Twin("key_used_and_split", "keys", "random.bernoulli(two", "random.bernoulli(key", text="uses one key"),
        Twin("fixed_dropout", "keys", "random.bernoulli(two", "random.bernoulli(random.key(0)",
             text="a key of its own"),
        Twin("causal_the_other_way", "reference", "jnp.arange(T)[:, None] >= jnp.arange(T)",
             "jnp.arange(T)[:, None] <= jnp.arange(T)", text="the future"),
        Twin("strictly_causal", "finite", "jnp.arange(T)[:, None] >= jnp.arange(T)",
             "jnp.arange(T)[:, None] > jnp.arange(T)", at="weights = jax.nn.softmax"),
        Twin("mask_by_product", "finite", "jnp.where(past, scores, -jnp.inf)",
             "scores * past / past"),
        Twin("attention_over_objects", "finite", "weights = jax.nn.softmax(scores, axis=-1)",
             "weights = jax.nn.softmax(scores, axis=0)"),
    ],
}
