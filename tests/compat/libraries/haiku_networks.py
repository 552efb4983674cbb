"""Transformed functions: convolutions with batch norm, recurrences, attention, stacks of layers."""

import haiku as hk
import jax
import jax.numpy as jnp


def network(x, train):
    x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(hk.Conv2D(4, 3)(x), train))
    x = hk.dropout(hk.next_rng_key(), 0.1, x) if train else x
    return hk.nets.MLP([16, 3])(hk.Flatten()(x))


x = jax.random.normal(jax.random.PRNGKey(1), (4, 8, 8, 1))
f = hk.transform_with_state(network)
params, state = f.init(jax.random.PRNGKey(0), x, True)
out, state = f.apply(params, state, jax.random.PRNGKey(2), x, True)
print(jax.tree.map(jnp.shape, params), out)
grads = jax.jit(jax.grad(lambda p: f.apply(p, state, jax.random.PRNGKey(2), x, True)[0].sum()))(params)
print(jnp.array([jnp.abs(g["w"]).sum() for g in grads.values() if "w" in g]))


def recurrence(x):
    core = hk.LSTM(5)
    return hk.dynamic_unroll(core, x, core.initial_state(2))[0]


f = hk.without_apply_rng(hk.transform(recurrence))
sequence = jnp.ones((4, 2, 3))
print(f.apply(f.init(jax.random.PRNGKey(0), sequence), sequence)[-1])
f = hk.without_apply_rng(hk.transform(lambda x: hk.layer_stack(3)(lambda y: hk.Linear(4)(y))(x)))
print(f.apply(f.init(jax.random.PRNGKey(0), jnp.ones(4)), jnp.ones(4)))
