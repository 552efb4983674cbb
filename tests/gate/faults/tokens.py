"""Words as numbers: a table of vectors, a mean over what is no padding, a low precision."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, T, K, D = 4, 5, 7, 3
WORDS = np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [6, 1, 2, 3, 4], [3, 5, 6, 1, 0]], "int32")
MASK = (WORDS > 0).astype("float32")
Y = numbers(N, seed=4)
PARAMS = {"table": numbers(K, D, seed=1), "v": numbers(D, seed=2)}


def bag(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"table": "f32[k, d]", "v": "f32[d]"},
                             batch={"words": "i32[n, t] in [0, 6]", "mask": "f32[n, t] in [0, 1]", "y": "f32[n]"},
                             outputs="f32[n]")

    def forward(params, words, mask):
        vectors = params["table"][words]
        total = jnp.sum(vectors * mask[..., None], axis=1)
        count = jnp.sum(mask, axis=1, keepdims=True)
        return (total / jnp.maximum(count, 1.0)) @ params["v"]

    @contract.guard
    def loss(params, words, mask, y):
        return jnp.mean((forward(params, words, mask) - y) ** 2)

    def turned(batch):
        return {**batch, "words": batch["words"][:, ::-1], "mask": batch["mask"][:, ::-1]}

    return gate.Model(loss, PARAMS, {"words": WORDS, "mask": MASK, "y": Y}, forward=forward, contract=contract,
                      padding="mask", invariances=[gate.Invariance("the order of words does not matter", turned)])


def looked_up(jax):
    """Without a contract; the function refuses what it does not know."""
    jnp = jax.numpy

    def loss(params, words, y):
        if words.dtype != jnp.int32 or words.ndim != 2 or y.shape != words.shape[:1]:
            raise TypeError("int32[n, t] and [n] are required")
        known = (words >= 0) & (words < K)
        vectors = jnp.where(known[..., None], params["table"][jnp.clip(words, 0, K - 1)], jnp.nan)
        return jnp.mean((jnp.mean(vectors, axis=1) @ params["v"] - y) ** 2)

    return gate.Model(loss, PARAMS, {"words": WORDS, "y": Y}, accepts={"wrong size": "texts are of any length"})


TWINS = {
    "bag": [
        Twin("mean_over_padding", "transforms", "jnp.sum(vectors * mask[..., None], axis=1)",
             "jnp.sum(vectors, axis=1)", leaf="batch/words", text="padding"),
        Twin("divided_by_the_size", "reference", "count = jnp.sum(mask, axis=1, keepdims=True)",
             "count = jnp.cumsum(mask, axis=1)[:, :1] + mask[:, 1:2]", at="def forward", text="the order"),
        Twin("sum_over_objects", "transforms", "jnp.sum(mask, axis=1, keepdims=True)", "jnp.sum(mask)"),
        Twin("division_by_none", "finite", "total / jnp.maximum(count, 1.0)", "total / count", text="zeros"),
        Twin("mask_one_off", "transforms", "vectors * mask[..., None]", "vectors * jnp.roll(mask, 1, 1)[..., None]",
             leaf="batch/words"),
        Twin("last_word_left_out", "transforms", "jnp.sum(vectors * mask[..., None], axis=1)",
             "jnp.sum((vectors * mask[..., None])[:, :-1], axis=1)", leaf="batch/words"),
        Twin("table_stopped", "flow", 'params["table"][words]', 'jax.lax.stop_gradient(params["table"])[words]',
             leaf="params/table"),
    ],
    "looked_up": [
        Twin("clipped_in_silence", "refusal", "jnp.where(known[..., None], ", "jnp.where(True, ", leaf="batch/words",
             text="silently cut off"),
        Twin("unknown_words_are_zeros", "refusal", "jnp.nan)", "0.0)", leaf="batch/words",
             text="silently cut off"),
        Twin("words_cast", "refusal", "words.dtype != jnp.int32 or", "(words := words.astype(jnp.int32)) is None or",
             leaf="batch/words", text="silently cast"),
    ],
}
