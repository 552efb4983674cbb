"""The cases. Each is a function that imports `jax` (whichever engine serves it) and returns what to time.

A case returns (function, arguments). The function is jitted, traced, lowered, compiled and run by the worker; a
case that is not about a jitted function returns a callable without arguments and is marked `eager`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """A workload: `build` makes it, `quick` puts it into the short run, `eager` runs it without jit.

    Where it is a derivative, `primal` is what is derived, and `reference` gives its value in NumPy's float64.
    """

    build: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    quick: bool
    eager: bool
    primal: Callable[..., Any] | None = None
    reference: Callable[[], Any] | None = None


CASES: dict[str, Case] = {}


def case(name: str, *, quick: bool = True, eager: bool = False) -> Callable[[Any], Any]:
    def register(build: Any) -> Any:
        CASES[name] = Case(build, quick, eager)
        return build
    return register


def normal_array(*shape: int, seed: int = 0) -> Any:
    """Normally distributed float32 numbers."""
    import numpy as np
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@case("guide: vjp of two outputs")
def guide() -> Any:
    import jax
    import jax.numpy as jnp

    def model(x: Any) -> Any:
        return jnp.array([x[0] ** 2 + x[1], x[0] * x[1]])

    def pulled(x: Any, ct: Any) -> Any:
        return jax.vjp(model, x)[1](ct)[0]
    return pulled, (jnp.array([2.0, 3.0]), jnp.array([2.0, -1.0]))


@case("guide: eager vjp", eager=True)
def guide_eager() -> Any:
    import jax
    import jax.numpy as jnp
    x, ct = jnp.array([2.0, 3.0]), jnp.array([2.0, -1.0])

    def pulled() -> Any:
        return jax.vjp(lambda x: jnp.sin(x) * x, x)[1](ct)[0]
    return pulled, ()


@case("eager: ten small operations", eager=True)
def eager_chain() -> Any:
    import jax.numpy as jnp
    x = jnp.asarray(normal_array(16, 16))

    def chain() -> Any:
        y = x
        for _ in range(2):
            y = jnp.sum(jnp.tanh(y @ x) * 0.5 + y[0], axis=0, keepdims=True) - x
        return y
    return chain, ()


def _mlp_loss(layers: int) -> Any:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)
    params = [(jnp.asarray(normal_array(64, 64, seed=i) / 8), jnp.zeros(64)) for i in range(layers)]
    x, y = (jnp.asarray(normal_array(128, 64, seed=seed)) for seed in (0, 1))
    return jax.value_and_grad(loss), (params, x, y)


@case("mlp 4 layers, gradient")
def mlp_4() -> Any:
    return _mlp_loss(4)


@case("mlp 50 layers, gradient", quick=False)
def mlp_50() -> Any:
    return _mlp_loss(50)


def _transformer(layers: int) -> Any:
    import jax
    import jax.numpy as jnp
    width, heads, length, batch = 128, 4, 64, 4

    def norm(x: Any, scale: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale

    def block(p: Any, x: Any) -> Any:
        h = norm(x, p["s1"])
        q, k, v = (jnp.reshape(h @ p[n], (batch, length, heads, -1)) for n in ("q", "k", "v"))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(width / heads)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
        x = x + jnp.reshape(mixed, (batch, length, width)) @ p["o"]
        h = norm(x, p["s2"])
        return x + jax.nn.gelu(h @ p["up"]) @ p["down"]

    def loss(params: Any, x: Any) -> Any:
        for p in params:
            x = block(p, x)
        return jnp.mean(x ** 2)

    def layer(seed: int) -> Any:
        shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width),
                  "up": (width, 4 * width), "down": (4 * width, width)}
        p = {n: jnp.asarray(normal_array(*s, seed=seed + i) / 12) for i, (n, s) in enumerate(shapes.items())}
        return {**p, "s1": jnp.ones(width), "s2": jnp.ones(width)}
    return jax.value_and_grad(loss), ([layer(10 * i) for i in range(layers)],
                                      jnp.asarray(normal_array(batch, length, width)))


@case("transformer 3 layers, gradient")
def transformer_3() -> Any:
    return _transformer(3)


@case("transformer 3 layers, strong zeros", quick=False)
def transformer_3_strong() -> Any:
    """Against the row above; jax, which has no such setting, runs that one again."""
    import jax
    gradient, args = _transformer(3)

    def strong(*args: Any) -> Any:
        with jax.strong_zeros() if hasattr(jax, "strong_zeros") else contextlib.nullcontext():
            return gradient(*args)
    return strong, args


@case("transformer 12 layers, gradient", quick=False)
def transformer_12() -> Any:
    return _transformer(12)


@case("transformer 24 layers, gradient", quick=False)
def transformer_24() -> Any:
    return _transformer(24)


def _gru(steps: int, scanned: bool) -> Any:
    import jax
    import jax.numpy as jnp
    width, batch = 64, 16

    def cell(p: Any, h: Any, x: Any) -> Any:
        z = jax.nn.sigmoid(x @ p["xz"] + h @ p["hz"])
        r = jax.nn.sigmoid(x @ p["xr"] + h @ p["hr"])
        return (1 - z) * h + z * jnp.tanh(x @ p["xn"] + (r * h) @ p["hn"])

    def loss(p: Any, xs: Any) -> Any:
        h = jnp.zeros((batch, width))
        if scanned:
            h, _ = jax.lax.scan(lambda h, x: (cell(p, h, x), None), h, xs)
        else:
            for t in range(steps):
                h = cell(p, h, xs[t])
        return jnp.mean(h ** 2)
    names = ("xz", "hz", "xr", "hr", "xn", "hn")
    p = {n: jnp.asarray(normal_array(width, width, seed=i) / 8) for i, n in enumerate(names)}
    return jax.value_and_grad(loss), (p, jnp.asarray(normal_array(steps, batch, width)))


@case("gru 20 steps unrolled, gradient")
def gru_20() -> Any:
    return _gru(20, False)


@case("gru 100 steps unrolled, gradient", quick=False)
def gru_100() -> Any:
    return _gru(100, False)


@case("gru 100 steps by scan, gradient")
def gru_scan() -> Any:
    return _gru(100, True)


@case("scan 10,000 steps, one weight", quick=False)
def scan_weight() -> Any:
    """A weight of 1 MB, the same at every step: kept once, not once a step (10 GB)."""
    import jax
    import jax.numpy as jnp
    steps, width = 10_000, 512

    def loss(w: Any, h: Any) -> Any:
        return jnp.sum(jax.lax.scan(lambda h, _: (jnp.tanh(w @ h), None), h, None, length=steps)[0] ** 2)
    return jax.grad(loss), (jnp.asarray(normal_array(width, width) / 20), jnp.asarray(normal_array(width, seed=1)))


@case("cnn, gradient", quick=False)
def cnn() -> Any:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))) + x
        return jnp.mean(x ** 2)
    params = [jnp.asarray(normal_array(3, 3, 32, 32, seed=i) / 17) for i in range(6)]
    return jax.value_and_grad(loss), (params, jnp.asarray(normal_array(4, 16, 16, 32)))


@case("normal numbers, 1 million")
def normal() -> Any:
    import jax
    return (lambda key: jax.random.normal(key, (1_000_000,))), (jax.random.key(0),)


@case("sort, 100,000")
def sort() -> Any:
    import jax.numpy as jnp
    return jnp.sort, (jnp.asarray(normal_array(100_000)),)


def _dispatch(leaves: int) -> Any:
    import jax
    import jax.numpy as jnp
    return (lambda tree: jax.tree.map(lambda x: x + 1, tree)), ([jnp.ones(4) for _ in range(leaves)],)


@case("dispatch, 1 array")
def dispatch_1() -> Any:
    return _dispatch(1)


@case("dispatch, 10 arrays")
def dispatch_10() -> Any:
    return _dispatch(10)


@case("dispatch, an array and a number")
def dispatch_number() -> Any:
    import jax.numpy as jnp
    return (lambda x, c: x * c), (jnp.ones(4), 0.1)


@case("dispatch, an array of NumPy")
def dispatch_host() -> Any:
    return (lambda x: x + 1), (normal_array(4),)


@case("dispatch, 100 arrays")
def dispatch_100() -> Any:
    return _dispatch(100)
