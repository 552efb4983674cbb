"""More cases of neural networks."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import case, normal_array


@case("lstm 40 steps unrolled, gradient", quick=False)
def lstm() -> Any:
    import jax
    import jax.numpy as jnp
    width, batch, steps = 64, 16, 40

    def loss(p: Any, xs: Any) -> Any:
        h = c = jnp.zeros((batch, width))
        for t in range(steps):
            gates = xs[t] @ p["x"] + h @ p["h"] + p["b"]
            i, f, g, o = jnp.split(gates, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return jnp.mean(h ** 2)
    p = {"x": jnp.asarray(normal_array(width, 4 * width) / 8), "h": jnp.asarray(normal_array(width, 4 * width) / 8),
         "b": jnp.zeros(4 * width)}
    return jax.value_and_grad(loss), (p, jnp.asarray(normal_array(steps, batch, width)))


@case("residual convolutions with batch norm, gradient", quick=False)
def residual_network() -> Any:
    import jax
    import jax.numpy as jnp

    def convolve(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def normed(x: Any, p: Any) -> Any:
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p[0] + p[1]

    def loss(params: Any, x: Any) -> Any:
        for w1, w2, n1, n2 in params:
            x = jax.nn.relu(x + normed(convolve(jax.nn.relu(normed(convolve(x, w1), n1)), w2), n2))
        return jnp.mean(x ** 2)

    def block(seed: int) -> Any:
        w1, w2 = (jnp.asarray(normal_array(3, 3, 16, 16, seed=seed + k) / 12) for k in (0, 1))
        return w1, w2, (jnp.ones(16), jnp.zeros(16)), (jnp.ones(16), jnp.zeros(16))
    return jax.value_and_grad(loss), ([block(10 * i) for i in range(6)], jnp.asarray(normal_array(8, 16, 16, 16)))


@case("digits: a step of training", quick=False)
def digits() -> Any:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        logits = jax.nn.log_softmax(x @ params[-1][0] + params[-1][1])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], axis=1))

    def step(params: Any, moments: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments, value
    sizes = (64, 128, 128, 10)
    params = [(jnp.asarray(normal_array(m, n) / m ** 0.5), jnp.zeros(n)) for m, n in zip(sizes, sizes[1:])]
    return step, (params, jax.tree.map(jnp.zeros_like, params), jnp.asarray(normal_array(256, 64)),
                  jnp.arange(256) % 10)


@case("transformer 12 layers by scan, gradient", quick=False)
def transformer_scanned() -> Any:
    import jax
    import jax.numpy as jnp
    width, length = 128, 64

    def block(p: Any, x: Any) -> Any:
        q, k, v = (x @ p[n] for n in "qkv")
        x = x + jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / width ** 0.5) @ v
        return x + jax.nn.gelu(x @ p["u"]) @ p["d"]

    def loss(params: Any, x: Any) -> Any:
        return jnp.mean(jax.lax.scan(lambda x, p: (block(p, x), None), x, params)[0] ** 2)
    shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "u": (width, 4 * width),
              "d": (4 * width, width)}
    params = {n: jnp.asarray(normal_array(12, *s, seed=i) / 20) for i, (n, s) in enumerate(shapes.items())}
    return jax.value_and_grad(loss), (params, jnp.asarray(normal_array(4, length, width)))


@case("dispatch, 2,000 arrays", quick=False)
def dispatch_2000() -> Any:
    import jax
    import jax.numpy as jnp
    return (lambda tree: jax.tree.map(lambda x: x, tree)), ([jnp.ones(4) for _ in range(2000)],)


@case("sort rows of 1,000, and their order", quick=False)
def sort_rows() -> Any:
    import jax.numpy as jnp
    return (lambda x: (jnp.sort(x, axis=1), jnp.argsort(x, axis=1))), (jnp.asarray(normal_array(100, 1000)),)
