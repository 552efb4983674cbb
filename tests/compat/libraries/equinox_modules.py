"""Modules, stateful layers, filtered transformations, runtime errors, loops with bounded memory."""

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp

key = jax.random.key(0)
model = eqx.nn.MLP(3, 2, 16, 2, key=key)
x = jax.random.normal(jax.random.key(1), (8, 3))


@eqx.filter_jit
@eqx.filter_value_and_grad
def loss(model, x):
    return jnp.mean(jax.vmap(model)(x) ** 2)


value, grads = loss(model, x)
print(value, grads.layers[0].weight[0])


class Net(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm
    drop: eqx.nn.Dropout

    def __init__(self, key):
        self.conv = eqx.nn.Conv2d(1, 4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch")
        self.drop = eqx.nn.Dropout(0.5)

    def __call__(self, x, state, key):
        x, state = self.norm(self.conv(x), state)
        return self.drop(jax.nn.relu(x), key=key).sum((1, 2)), state


net, state = eqx.nn.make_with_state(Net)(key)
pictures = jax.random.normal(key, (2, 1, 8, 8))
out, state = jax.vmap(net, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))(
    pictures, state, jax.random.split(key, 2))
print(out)
gru = eqx.nn.GRUCell(3, 4, key=key)
print(jax.lax.scan(lambda h, x: (gru(x, h), None), jnp.zeros(4), x)[0])
checked = eqx.filter_jit(lambda x: eqx.error_if(x, x.sum() > 100, "too big"))
print(checked(jnp.ones(3)))
try:
    checked(jnp.full(3, 100.0))
except RuntimeError as error:
    print("too big" in str(error))
for kind in ("checkpointed", "bounded"):
    def f(x):
        return eqxi.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * jnp.sin(s[1])), (0, x), max_steps=16,
                               kind=kind)[1]
    print(f(jnp.float32(0.7)), jax.grad(f)(jnp.float32(0.7)), jax.vmap(jax.grad(f))(jnp.array([0.2, 0.7])))
