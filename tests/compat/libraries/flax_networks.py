"""linen: state, scans, remat, attention, serialization; nnx: modules, optimizers, split and merge."""

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx, serialization


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3), use_bias=False)(x)))
        x = nn.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1)
        return nn.Dense(3)(nn.Dropout(0.5, deterministic=not train)(nn.Dense(16)(x)))


net, x = Net(), jax.random.normal(jax.random.key(1), (4, 8, 8, 1))
variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(2)}, x)
out, _ = net.apply(variables, x, mutable=["batch_stats"], rngs={"dropout": jax.random.key(3)})
print(jax.tree.map(jnp.shape, variables), out)
recurrent = nn.RNN(nn.LSTMCell(6))
sequence = jnp.ones((2, 5, 3))
print(recurrent.apply(recurrent.init(jax.random.key(0), sequence), sequence)[0, -1])


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return x + nn.MultiHeadDotProductAttention(2)(nn.LayerNorm()(x)), None


stack = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()
z = jax.random.normal(jax.random.key(5), (2, 4, 8))
params = stack.init(jax.random.key(0), z, None)
print(stack.apply(params, z, None)[0][0, 0])
written = serialization.to_bytes(params)
print(jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), params, serialization.from_bytes(params, written))))


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.drop = nnx.Linear(3, 8, rngs=rngs), nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.first(x))))


model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(1e-1), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (16, 3))


@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - x.sum(1, keepdims=True)) ** 2))(model)
    optimizer.update(model, grads)
    return loss


print([round(float(step(model, optimizer, x)), 3) for _ in range(4)], flax.__name__)
graph, state = nnx.split(model)
other = nnx.merge(graph, state)
other.eval()
print(other(x)[0])
