"""A transformer that predicts the next token: the model that pairs vary by one line."""

import numpy as np

from pullback import gate

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 11, 8, 2, 6, 4


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


PARAMS = {"embed": 0.5 * numbers(0, VOCABULARY, WIDTH), "place": 0.1 * numbers(1, LENGTH, WIDTH),
          "q": 0.4 * numbers(2, WIDTH, WIDTH), "k": 0.4 * numbers(3, WIDTH, WIDTH), "v": 0.4 * numbers(4, WIDTH, WIDTH),
          "o": 0.4 * numbers(5, WIDTH, WIDTH), "gain": np.ones(WIDTH, "float32"), "shift": 0.1 * numbers(6, WIDTH),
          "up": 0.4 * numbers(7, WIDTH, 2 * WIDTH), "down": 0.4 * numbers(8, 2 * WIDTH, WIDTH)}
TOKENS = np.random.default_rng(9).integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype("int32")
DATA = {"tokens": TOKENS[:, :-1], "targets": TOKENS[:, 1:]}


def build(jax):
    jnp = jax.numpy

    def norm(params, x):
        middle = jnp.mean(x, axis=-1, keepdims=True)
        spread = jnp.mean((x - middle) ** 2, axis=-1, keepdims=True)
        return (x - middle) / jnp.sqrt(spread + 1e-5) * params["gain"] + params["shift"]

    def heads(x):
        return x.reshape(x.shape[0], HEADS, -1).transpose(1, 0, 2)

    def attention(params, x):
        q, k, v = heads(x @ params["q"]), heads(x @ params["k"]), heads(x @ params["v"])
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(1.0 * WIDTH // HEADS)
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        scores = jnp.where(mask, scores, -1e9)
        weights = jax.nn.softmax(scores, axis=-1)
        mixed = jnp.einsum("hqk,hkd->hqd", weights, v)
        return mixed.transpose(1, 0, 2).reshape(x.shape) @ params["o"]

    def logits(params, tokens):
        x = params["embed"][tokens] + params["place"]
        x = x + attention(params, norm(params, x))
        x = x + jax.nn.gelu(norm(params, x) @ params["up"]) @ params["down"]
        return norm(params, x) @ params["embed"].T

    def forward(params, tokens):
        return jax.vmap(lambda row: logits(params, row))(tokens)

    def loss(params, tokens, targets):
        scores = jax.nn.log_softmax(forward(params, tokens))
        picked = jnp.take_along_axis(scores, targets[..., None], axis=-1)
        return -jnp.mean(picked)

    @jax.jit
    def update(params, state, tokens, targets):
        gradients = jax.grad(loss)(params, tokens, targets)
        size = jnp.sqrt(sum(jnp.sum(g ** 2) for g in jax.tree_util.tree_leaves(gradients)))
        scale = jnp.minimum(1.0, 0.5 / size)
        speed = jax.tree_util.tree_map(lambda s, g: 0.9 * s + scale * g, state, gradients)
        return jax.tree_util.tree_map(lambda p, s: p - 0.1 * s - 0.01 * p, params, speed), speed

    state = {name: 0 * x for name, x in PARAMS.items()}
    return gate.Model(loss, PARAMS, DATA, forward=forward, update=update, state=state)
