"""A two-layer network that learns 1,797 real images of handwritten digits (scikit-learn's copy), and is tested on
images it never saw."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm


def load(seed=0):
    """Images as rows of 64 numbers from 0 to 1, split into train, validation and test without overlap."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images, labels = (data.data[order] / 16.0).astype(np.float32), data.target[order].astype(np.int32)
    parts = {"train": slice(0, 1200), "validation": slice(1200, 1450), "test": slice(1450, None)}
    places = [set(order[part].tolist()) for part in parts.values()]
    assert not places[0] & places[1] and not places[0] & places[2] and not places[1] & places[2]
    return {name: (images[part], labels[part]) for name, part in parts.items()}


def init(key, sizes=(64, 128, 10)):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        key, subkey = jax.random.split(key)
        params.append({"w": jax.random.normal(subkey, (n_in, n_out)) * jnp.sqrt(2.0 / n_in), "b": jnp.zeros(n_out)})
    return params


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params, x, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(forward(params, x)) * jax.nn.one_hot(y, 10), axis=-1))


@jax.jit
def update(params, velocity, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g, velocity, gradients)
    return value, jax.tree.map(lambda p, v: p + v, params, velocity), velocity


@jax.jit
def accuracy(params, x, y):
    return jnp.mean(jnp.argmax(forward(params, x), axis=-1) == y)


def model():
    """What `python -m pullback verify examples/digits.py` checks: docs/gate.md."""
    from pullback import gate

    data = load()
    contract = gate.Contract(params=[{"w": "f32[pixels, h]", "b": "f32[h]"},
                                     {"w": "f32[h, classes]", "b": "f32[classes]"}],
                             batch={"x": "f32[n, pixels] in [0, 1]", "y": "i32[n] in [0, 9]"},
                             outputs="f32[n, classes]", loss="f32[] in [0, inf)", sizes={"pixels": 64, "classes": 10})

    def reference(params, x):
        hidden = np.maximum(x @ params[0]["w"] + params[0]["b"], 0)
        return hidden @ params[1]["w"] + params[1]["b"]

    params = init(jax.random.key(0), sizes=(64, 16, 10))
    return gate.Model(contract.guard(loss), params, {name: part[:20] for name, part in zip("xy", data["train"])},
                      init=lambda key: init(key, sizes=(64, 16, 10)), forward=forward, update=update,
                      state=jax.tree.map(jnp.zeros_like, params), contract=contract, reference=reference,
                      splits={name: dict(zip("xy", part)) for name, part in data.items()},
                      expected=[gate.Expected("equal scores", params=jax.tree.map(jnp.zeros_like, params),
                                              loss=float(np.log(10)))], steps=30, overfits=0.5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--losses", help="write the loss of every step to this file")
    options = parser.parse_args()
    data = load()
    x, y = data["train"]
    params = init(jax.random.key(0))
    velocity = jax.tree.map(jnp.zeros_like, params)
    order = np.random.default_rng(1)
    losses = []
    for _ in (bar := tqdm(range(options.epochs), desc="digits")):
        rows = order.permutation(len(y))
        for start in range(0, len(y), options.batch):
            chosen = rows[start:start + options.batch]
            value, params, velocity = update(params, velocity, x[chosen], y[chosen])
            losses.append(value)
        bar.set_postfix(loss=f"{float(value):.4f}", validation=f"{float(accuracy(params, *data['validation'])):.3f}")
    if options.losses:
        np.savetxt(options.losses, np.array([float(v) for v in losses]))
    result = float(accuracy(params, *data["test"]))
    print(f"accuracy on the {len(data['test'][1])} test images: {result:.4f}")
    assert result >= 0.96, result


if __name__ == "__main__":
    main()
