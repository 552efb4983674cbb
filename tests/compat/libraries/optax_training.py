"""Every kind of optimizer, twenty steps each, and some losses."""

import jax
import jax.numpy as jnp
import optax


def loss(p, x, y):
    return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)


k = jax.random.split(jax.random.key(0), 3)
start = {"w1": jax.random.normal(k[0], (3, 8)) * 0.5, "b1": jnp.zeros(8), "w2": jax.random.normal(k[1], (8, 1)) * 0.5}
x = jax.random.normal(k[2], (64, 3))
y = jnp.sin(x.sum(1, keepdims=True))
optimizers = {
    "momentum": optax.sgd(0.1, momentum=0.9, nesterov=True), "adam": optax.adam(1e-2), "lamb": optax.lamb(1e-2),
    "schedule": optax.adamw(optax.cosine_decay_schedule(1e-2, 50)), "adafactor": optax.adafactor(1e-2),
    "chain": optax.chain(optax.clip_by_global_norm(1.0), optax.add_decayed_weights(1e-4), optax.scale_by_adam(),
                         optax.scale_by_schedule(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 50)),
                         optax.scale(-1)),
    "noise": optax.noisy_sgd(1e-2), "several": optax.multi_transform(
        {"a": optax.adam(1e-2), "b": optax.sgd(1e-1)}, {"w1": "a", "b1": "b", "w2": "a"}),
    "steps": optax.MultiSteps(optax.adam(1e-2), 3),
    "injected": optax.inject_hyperparams(optax.adam)(learning_rate=1e-2),
    "finite": optax.apply_if_finite(optax.adam(1e-2), 3), "lbfgs": optax.lbfgs(),
}
for name, optimizer in optimizers.items():
    @jax.jit
    def step(p, state):
        value, grads = jax.value_and_grad(loss)(p, x, y)
        more = {"value": value, "grad": grads, "value_fn": lambda q: loss(q, x, y)} if name == "lbfgs" else {}
        updates, state = optimizer.update(grads, state, p, **more)
        return optax.apply_updates(p, updates), state, value
    p, state = start, optimizer.init(start)
    for _ in range(20):
        p, state, value = step(p, state)
    print(name, f"{float(value):.3f}")
print(optax.softmax_cross_entropy_with_integer_labels(jnp.eye(3), jnp.arange(3)))
print(optax.ctc_loss(jnp.ones((1, 4, 3)), jnp.zeros((1, 4)), jnp.array([[1, 2]]), jnp.zeros((1, 2))))
