"""A convolutional network with dropout that classifies small images."""

import numpy as np

from pullback import gate

SIZE, CLASSES, BATCH = 8, 3, 4


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


DATA = {"images": 100 + 40 * numbers(0, BATCH, SIZE, SIZE, 1), "labels": np.array([0, 2, 1, 2], "int32")}


def build(jax):
    jnp, lax, random = jax.numpy, jax.lax, jax.random

    def init(key):
        one, two, three = random.split(key, 3)
        return {"first": 0.3 * random.normal(one, (3, 3, 1, 4)), "second": 0.3 * random.normal(two, (3, 3, 4, 4)),
                "bias": jnp.zeros(4), "head": 0.3 * random.normal(three, (16, CLASSES))}

    def prepared(batch):
        images = batch["images"]
        images = (images - 100.0) / 40.0
        return jnp.clip(images, -3.0, 3.0)

    def convolution(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(x):
        total = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return total / 4.0

    @jax.custom_vjp
    def straight(x):
        return jnp.round(x * 8.0) / 8.0

    straight.defvjp(lambda x: (straight(x), jnp.abs(x) < 4.0), lambda inside, ct: (ct * inside,))

    def features(params, images):
        x = jax.nn.relu(convolution(images, params["first"]) + params["bias"])
        x = pool(x)
        x = jnp.tanh(convolution(x, params["second"]))
        x = pool(straight(x))
        return x.reshape(x.shape[0], -1)

    def dropped(x, key):
        kept, _ = random.split(key)
        mask = random.bernoulli(kept, 0.75, x.shape)
        return jnp.where(mask, x / 0.75, 0.0)

    def forward(params, images, key):
        return dropped(features(params, images), key) @ params["head"]

    def loss(params, batch, key):
        scores = forward(params, prepared(batch), key)
        smooth = 0.9 * jax.nn.one_hot(batch["labels"], CLASSES) + 0.1 / CLASSES
        fit = -jnp.mean(jnp.sum(smooth * jax.nn.log_softmax(scores), axis=-1))
        return fit + 1e-3 * jnp.sum(params["head"] ** 2)

    def update(params, state, batch, key):
        gradients = jax.grad(loss)(params, batch, key)
        first = {name: 0.9 * state["first"][name] + 0.1 * g for name, g in gradients.items()}
        second = {name: 0.999 * state["second"][name] + 0.001 * g ** 2 for name, g in gradients.items()}
        step = {name: 10.0 * first[name] / (jnp.sqrt(1000.0 * second[name]) + 1e-8) for name in params}
        return {name: params[name] - 0.001 * step[name] for name in params}, {"first": first, "second": second}

    params = init(random.key(3))
    zeros = {name: 0 * x for name, x in params.items()}
    return gate.Model(loss, None, DATA, init=init, forward=forward, update=update, inputs=prepared,
                      state={"first": zeros, "second": zeros}, key=random.key(5))
