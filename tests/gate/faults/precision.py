"""Half precision: what overflows, what rounds away, and which dtypes come out."""

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, H = 6, 8, 4
X, Y = 20 * numbers(N, D, seed=3), numbers(N, seed=4)
PARAMS = {"w": numbers(D, H, seed=1), "v": 0.1 * numbers(H, seed=2)}


def mixed(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d, h]", "v": "f32[h]"},
                             batch={"x": "f32[n, d] in [-400, 400]", "y": "f32[n] in [-10, 10]"}, outputs="f32[n]")

    def forward(params, x):
        half = jnp.float16
        hidden = x.astype(half) / half(400)
        hidden = jnp.tanh(hidden @ params["w"].astype(half))
        return hidden.astype(jnp.float32) @ params["v"]

    @contract.guard
    def loss(params, x, y):
        size = jnp.mean(x ** 2)
        return jnp.mean((forward(params, x) - y) ** 2) + 1e-9 * size

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, contract=contract,
                      coupled="the size of the batch is a part of the loss")


def lower(jax):
    """The dtypes follow the arguments, and half precision is promised."""
    jnp = jax.numpy

    def forward(params, x):
        hidden = jnp.tanh(x @ params["w"] / 400)
        return hidden @ params["v"]

    def loss(params, x, y):
        if x.ndim != 2 or y.shape != x.shape[:1] or x.shape[1] != D or not x.dtype == y.dtype == params["w"].dtype:
            raise TypeError("float[n, 8] and float[n] are required")
        errors = forward(params, x) - y
        return jnp.mean(errors ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, precisions=["float16"])


TWINS = {
    "mixed": [
        Twin("not_scaled_down", "finite", "x.astype(half) / half(400)", "x.astype(half) * half(400)", leaf="",
             text="bounds"),
        Twin("sum_of_squares_in_half", "finite", "jnp.mean(x ** 2)", "jnp.sum(x.astype(jnp.float16) ** 2)",
             text="bounds"),
        Twin("output_stays_half", "contract", "hidden.astype(jnp.float32) @ params[\"v\"]",
             'hidden @ params["v"].astype(half)', leaf="outputs"),
        Twin("exponential_in_half", "finite", "return hidden.astype(jnp.float32)",
             "return jnp.exp(half(12) * hidden).astype(jnp.float32)", text="bounds"),
        Twin("targets_in_half_overflow", "finite", "size = jnp.mean(x ** 2)",
             "size = jnp.mean((1e4 * y).astype(jnp.float16) + x[:, 0] * 0)", text="bounds"),
    ],
    "lower": [
        Twin("large_before_it_is_small", "finite", "x @ params[\"w\"] / 400", "(1000 * x) @ params[\"w\"] / 400000",
             text="in float16"),
        Twin("squares_overflow", "finite", "jnp.mean(errors ** 2)", "jnp.mean((300 * errors) ** 2) / 90000",
             text="in float16"),
        Twin("scale_that_vanishes", "finite", "jnp.mean(errors ** 2)",
             "jnp.mean(errors ** 2 / jnp.asarray(1e-9, x.dtype)) * 1e-9", text="in float16"),
        Twin("root_of_a_tiny_number", "finite", "hidden @ params[\"v\"]",
             "hidden @ params[\"v\"] / jnp.sqrt(jnp.asarray(1e-8, x.dtype)) * 1e-4", text="in float16"),
    ],
}
