"""Models that are right, though something in each could be mistaken for a fault."""

import numpy as np

from pullback import gate

N, D, H = 6, 3, 4


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


PARAMS = {"w": numbers(D, H, seed=1), "b": np.zeros(H, "float32"), "v": numbers(H, seed=2)}
BATCH = {"x": numbers(N, D, seed=3), "y": numbers(N, seed=4)}
CONTRACT = gate.Contract(params={"w": "f32[d, h]", "b": "f32[h]", "v": "f32[h]"},
                         batch={"x": "f32[n, d] in [-10, 10]", "y": "f32[n] in [-10, 10]"}, outputs="f32[n]")


def plain(jax):
    """Everything declared: the model that passes every check."""
    jnp, random = jax.numpy, jax.random

    @CONTRACT.guard
    def forward(params, x):
        return jnp.tanh(x @ params["w"] + params["b"]) @ params["v"]

    @CONTRACT.guard
    def loss(params, x, y):
        return jnp.mean((forward(params, x) - y) ** 2)

    def init(key):
        one, two = random.split(key)
        return {"w": random.normal(one, (D, H)), "b": jnp.zeros(H), "v": random.normal(two, (H,))}

    @jax.jit
    def update(params, x, y):
        return {name: params[name] - 0.1 * g for name, g in jax.grad(loss)(params, x, y).items()}

    return gate.Model(loss, PARAMS, BATCH, init=init, forward=forward, update=update, contract=CONTRACT,
                      refused=[gate.Refused("y is missing", lambda batch: {"x": batch["x"]}, error=TypeError)],
                      splits={"train": BATCH, "test": {"x": numbers(2, D, seed=5), "y": numbers(2, seed=6)}})


def guarded(jax, loss, **rest):
    rest = {"params": PARAMS, "batch": BATCH, "contract": CONTRACT, **rest}
    return gate.Model(rest["contract"].guard(loss), **rest)


def kink(jax):
    """relu and abs: finite differences cross corners."""
    jnp = jax.numpy

    def loss(params, x, y):
        hidden = jnp.maximum(x @ params["w"] + params["b"], 0)
        return jnp.mean(jnp.abs(hidden @ params["v"] - y))
    return guarded(jax, loss)


def corner(jax):
    """The point is the corner itself: relu of zeros."""
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.maximum(x @ params["w"] + params["b"], 0) @ params["v"] - y) ** 2)
    return guarded(jax, loss, params={**PARAMS, "w": np.zeros((D, H), "float32")})


def zero_head(jax):
    """The last layer starts at zero, so that the gradient of the first is zero at the start."""
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss, params={**PARAMS, "v": np.zeros(H, "float32")})


def target(jax):
    """A target network: a branch that is stopped, its parameters declared frozen."""
    jnp = jax.numpy

    def value(params, x):
        return jnp.tanh(x @ params["w"] + params["b"]) @ params["v"]

    def loss(params, x, y):
        aim = y + 0.9 * jax.lax.stop_gradient(value(params["target"], x))
        return jnp.mean((value(params["online"], x) - aim) ** 2)
    other = {name: x + 0.1 for name, x in PARAMS.items()}
    contract = gate.Contract(params={"online": CONTRACT.params, "target": CONTRACT.params}, batch=CONTRACT.batch)
    return guarded(jax, loss, params={"online": PARAMS, "target": other}, contract=contract, frozen=["target"])


def straight_through(jax):
    """Rounding with the gradient of the identity."""
    jnp = jax.numpy

    def loss(params, x, y):
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        hidden = hidden + jax.lax.stop_gradient(jnp.round(8 * hidden) / 8 - hidden)
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss)


def dropout(jax):
    """Noise from a key that is split once."""
    jnp, random = jax.numpy, jax.random

    def loss(params, x, y, key):
        one, two = random.split(key)
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        hidden = jnp.where(random.bernoulli(one, 0.8, hidden.shape), hidden / 0.8, 0.0)
        return jnp.mean((hidden @ params["v"] + 0.01 * random.normal(two, y.shape) - y) ** 2)
    return guarded(jax, loss)


def folded(jax):
    """A key per object, from fold_in under vmap, and a raw key split in a loop."""
    jnp, random = jax.numpy, jax.random

    def loss(params, x, y, key):
        noise = jax.vmap(lambda i: random.normal(random.fold_in(key, i)))(jnp.arange(x.shape[0]))
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] + 0.1 * noise - y) ** 2)

    def init(key):
        params = {}
        for name, x in PARAMS.items():
            key, part = random.split(key)
            params[name] = random.normal(part, x.shape)
        return params
    return guarded(jax, loss, init=init)


def custom_rule(jax):
    """A rule of its own that is right."""
    jnp = jax.numpy

    @jax.custom_jvp
    def soft(x):
        return jnp.log1p(jnp.exp(x))

    @soft.defjvp
    def soft_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return soft(x), x_dot / (1 + jnp.exp(-x))

    def loss(params, x, y):
        return jnp.mean((soft(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss)


def half(jax):
    """bfloat16 parameters, and a step counter among them."""
    jnp = jax.numpy
    params = {"w": jnp.asarray(PARAMS["w"], jnp.bfloat16), "v": jnp.asarray(PARAMS["v"], jnp.bfloat16),
              "step": jnp.asarray(3, jnp.int32)}

    def loss(params, x, y):
        hidden = jnp.tanh(x.astype(params["w"].dtype) @ params["w"])
        return jnp.mean(((hidden @ params["v"]).astype(jnp.float32) - y) ** 2)
    contract = gate.Contract(params={"w": "bf16[d, h]", "v": "bf16[h]", "step": "i32[]"}, batch=CONTRACT.batch)
    return guarded(jax, loss, params=params, contract=contract)


def whole_batch(jax):
    """The batch is one tuple, the loss has a second result, and objects are coupled on purpose."""
    jnp = jax.numpy

    def forward(w, x):
        return (x - jnp.mean(x, 0)) @ w

    def loss(w, batch):
        x, y = batch
        outputs = forward(w, x)
        return jnp.mean((outputs - y) ** 2), {"outputs": outputs}

    contract = gate.Contract(params="f32[d]", batch=("f32[n, d]", "f32[n]"), outputs="f32[n]")
    return gate.Model(contract.guard(loss), numbers(D), (BATCH["x"], BATCH["y"]), forward=forward, contract=contract,
                      coupled="the mean of the batch is taken away", accepts={"NaN": "none is swallowed"})


# Each with the checks that it could mislead; none: all.
HEALTHY = {plain: [], kink: ["derivative"], corner: ["derivative"], zero_head: ["flow"],
           target: ["derivative", "flow"], straight_through: ["derivative"], dropout: ["keys", "transforms"],
           folded: ["keys"], custom_rule: ["derivative"], half: ["derivative", "transforms"],
           whole_batch: ["contract", "refusal"]}
