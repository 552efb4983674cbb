"""One step of gradient descent on a pytree of parameters, checked: shapes, a lower loss, eager against jit."""

import jax
import jax.numpy as jnp


def loss(params, x, y):
    prediction = x @ params["w"] + params["b"]
    return jnp.mean((prediction - y) ** 2)


def step(params, x, y, rate=0.1):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return value, gradients, jax.tree.map(lambda p, g: p - rate * g, params, gradients)


key_x, key_w = jax.random.split(jax.random.key(0))
x = jax.random.normal(key_x, (32, 3))
y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.3
params = {"w": jax.random.normal(key_w, (3,)), "b": jnp.zeros(())}

before, gradients, updated = step(params, x, y)
after = loss(updated, x, y)
assert jax.tree.structure(gradients) == jax.tree.structure(params)
for p, g in zip(jax.tree.leaves(params), jax.tree.leaves(gradients)):
    assert p.shape == g.shape and p.dtype == g.dtype and bool(jnp.any(g != 0))
assert after < before
compiled = jax.jit(step)(params, x, y)
assert jnp.allclose(compiled[0], before, rtol=1e-5)
print(f"loss {float(before):.4f} -> {float(after):.4f}")
