"""Initialising a two-layer network: one key per random operation, a scale per layer, one object and a batch."""

import jax
import jax.numpy as jnp


def init(key, n_in, n_hidden, n_out):
    first, second = jax.random.split(key)
    return {
        "hidden": {"w": jax.random.normal(first, (n_in, n_hidden)) * jnp.sqrt(2.0 / n_in),
                   "b": jnp.zeros(n_hidden)},
        "output": {"w": jax.random.normal(second, (n_hidden, n_out)) * jnp.sqrt(1.0 / n_hidden),
                   "b": jnp.zeros(n_out)},
    }


def forward(params, x):
    hidden = jax.nn.relu(x @ params["hidden"]["w"] + params["hidden"]["b"])
    return hidden @ params["output"]["w"] + params["output"]["b"]


params = init(jax.random.key(0), 4, 16, 3)
for path, leaf in jax.tree_util.tree_leaves_with_path(params):
    print(jax.tree_util.keystr(path), leaf.shape, leaf.dtype, f"std {float(leaf.std()):.3f}")

batch = jax.random.normal(jax.random.key(1), (8, 4))
one = forward(params, batch[0])
many = forward(params, batch)
each = jax.vmap(forward, in_axes=(None, 0))(params, batch)
assert one.shape == (3,) and many.shape == (8, 3)
assert jnp.allclose(many, each, atol=1e-6) and jnp.allclose(many[0], one, atol=1e-6)
assert jnp.array_equal(init(jax.random.key(0), 4, 16, 3)["hidden"]["w"], params["hidden"]["w"])
assert not jnp.array_equal(init(jax.random.key(7), 4, 16, 3)["hidden"]["w"], params["hidden"]["w"])
print("one object and the batch agree; the same key gives the same parameters")
