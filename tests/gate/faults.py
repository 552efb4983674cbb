"""Models with one fault each, the check that must name it, and a text of the line it must name."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pullback import gate
from tests.gate.healthy import BATCH, CONTRACT, PARAMS, D, guarded, numbers


class Fault(NamedTuple):
    """A broken model; `line` is part of the source line, `leaf` of the leaf, `text` of the finding that is expected."""

    build: Callable
    check: str
    line: str
    leaf: str
    text: str


FAULTS: dict[str, Fault] = {}


def fault(check, line="", leaf="", text=""):
    def register(build):
        FAULTS[build.__name__] = Fault(build, check, line, leaf, text)
        return build
    return register


# -- derivative -------------------------------------------------------------------------------------


@fault("derivative", "@jax.custom_jvp  # soft", "params/w", "custom_jvp")
def wrong_factor_in_custom_jvp(jax):
    jnp = jax.numpy

    @jax.custom_jvp
    def right(x):
        return x * x

    right.defjvp(lambda primals, tangents: (right(*primals), 2 * primals[0] * tangents[0]))

    @jax.custom_jvp  # soft
    def soft(x):
        return jnp.log1p(jnp.exp(x))

    @soft.defjvp
    def soft_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return soft(x), 1.02 * x_dot / (1 + jnp.exp(-x))

    return guarded(jax, lambda params, x, y: jnp.mean(
        right(soft(x @ params["w"] + params["b"]) @ params["v"] - y)))


@fault("derivative", "def product(x, y):  # dropped", "params/v", "custom_jvp")
def dropped_term_of_the_product_rule(jax):
    jnp = jax.numpy

    def product(x, y):  # dropped
        return jnp.sum(x * y, axis=-1)

    product = jax.custom_jvp(product)

    @product.defjvp
    def product_jvp(primals, tangents):
        (x, y), (x_dot, _) = primals, tangents
        return product(x, y), jnp.sum(x_dot * y, axis=-1)

    def loss(params, x, y):
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return jnp.mean((product(hidden, jnp.broadcast_to(params["v"], hidden.shape)) - y) ** 2)
    return guarded(jax, loss)


@fault("derivative", "@jax.custom_vjp  # swapped", "params/w", "custom_vjp")
def swapped_axis_in_custom_vjp(jax):
    jnp = jax.numpy

    @jax.custom_vjp  # swapped
    def turn(x, w):
        return x @ w

    def backward(residuals, ct):
        x, w = residuals
        return ct @ w, x.T @ ct  # w, not its transpose

    turn.defvjp(lambda x, w: (x @ w, (x, w)), backward)

    def loss(w, x):
        return jnp.mean(jnp.sin(turn(turn(x, w), w)))

    contract = gate.Contract(params={"w": "f32[d, d]"}, batch={"x": "f32[n, d]"})
    return gate.Model(contract.guard(lambda params, x: loss(params["w"], x)), {"w": numbers(D, D)}, {"x": BATCH["x"]},
                      contract=contract)


# -- transforms --------------------------------------------------------------------------------------


@fault("transforms", "def forward(params, x):  # axis", "outputs", "neighbours")
def swapped_axis_of_a_softmax(jax):
    jnp = jax.numpy

    def forward(params, x):  # axis
        scores = jnp.exp(jnp.tanh(x @ params["w"] + params["b"]))
        return (scores / jnp.sum(scores, axis=0)) @ params["v"]
    return guarded(jax, lambda params, x, y: jnp.mean((forward(params, x) - y) ** 2), forward=forward)


@fault("transforms", "def loss(params, x, y):  # leak", "loss", "objects mix")
def batch_statistics_without_a_declaration(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # leak
        hidden = x @ params["w"]
        hidden = jnp.tanh((hidden - hidden.mean(0)) / (hidden.std(0) + 0.1)) + params["b"]
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss)


@fault("transforms", "def loss(params, x, y):  # frozen at the trace", "loss", "compiled")
def a_number_that_a_trace_freezes(jax):
    jnp = jax.numpy
    concrete = type(jnp.zeros(()))

    def loss(params, x, y):  # frozen at the trace
        scale = 1.0 if isinstance(x, concrete) else 1.5  # a traced x takes the other branch
        return jnp.mean((jnp.tanh(scale * x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss)


# -- flow --------------------------------------------------------------------------------------------


@fault("flow", "jax.lax.stop_gradient(x @ params", "params/w", "stop_gradient stops it")
def stopped_gradient(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        hidden = jnp.tanh(jax.lax.stop_gradient(x @ params["w"]) + params["b"])
        other = jax.lax.stop_gradient(jnp.mean(y))
        return jnp.mean((hidden @ params["v"] - y) ** 2) + 0 * other
    return guarded(jax, loss)


@fault("flow", "hidden = jnp.round(4 * x", "params/w", "without a derivative: round")
def rounded_on_the_way(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        hidden = jnp.round(4 * x @ params["w"]) + params["b"]
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss)


@fault("flow", "def loss(params, x, y):  # without b", "params/b", "does not depend on it")
def unused_parameter(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # without b
        return jnp.mean((jnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss)


@fault("flow", "def loss(params, x, y):  # b is not", "params/b", "frozen")
def frozen_only_in_name(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # b is not
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss, frozen=["b"])


# -- keys --------------------------------------------------------------------------------------------


@fault("keys", "random.normal(key, y.shape)  # again", "", "uses one key")
def reused_key(jax):
    jnp, random = jax.numpy, jax.random

    def loss(params, x, y, key):
        kept = random.bernoulli(key, 0.8, x.shape)
        noise = random.normal(key, y.shape)  # again
        return jnp.mean((jnp.tanh((x * kept) @ params["w"] + params["b"]) @ params["v"] + noise - y) ** 2)
    return guarded(jax, loss)


@fault("keys", "random.normal(key, PARAMS[name].shape)", "", "uses one key 3 times")
def raw_key_reused_in_a_loop(jax):
    jnp, random = jax.numpy, jax.random

    def init(key):
        return {name: random.normal(key, PARAMS[name].shape) for name in PARAMS}

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss, init=init, key=random.PRNGKey(3))


@fault("keys", "lambda i: random.normal(key)", "", "uses one key")
def key_sampled_and_split(jax):
    jnp, random = jax.numpy, jax.random

    def loss(params, x, y, key):
        noise = jax.vmap(random.normal)(random.split(key, x.shape[0]))
        noise = noise + jax.jit(lambda i: random.normal(key))(0)
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] + noise - y) ** 2)
    return guarded(jax, loss)


@fault("keys", "def loss(params, x, y, key):  # key", "", "same result for another key")
def ignored_key(jax):
    jnp = jax.numpy

    def loss(params, x, y, key):  # key
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return guarded(jax, loss)


# -- finite ------------------------------------------------------------------------------------------


@fault("finite", "jnp.sqrt(jnp.sum(scaled", "gradients/w", "zeros: not finite")
def nan_at_zero(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        scaled = x @ params["w"]
        length = jnp.sqrt(jnp.sum(scaled * scaled, axis=-1))
        return jnp.mean((length + jnp.sum(params["b"] * params["v"]) - y) ** 2)
    return guarded(jax, loss)


@fault("finite", "scores = jnp.exp(x @", "", "large values: not finite")
def overflow_in_a_softmax(jax):
    jnp = jax.numpy
    contract = gate.Contract(params=CONTRACT.params, batch={"x": "f32[n, d]", "y": "f32[n]"})

    def loss(params, x, y):
        scores = jnp.exp(x @ params["w"] + params["b"])
        return jnp.mean((scores / jnp.sum(scores, axis=-1, keepdims=True) @ params["v"] - y) ** 2)
    return guarded(jax, loss, contract=contract)


@fault("finite", "x.std(0, ddof=1)", "loss", "a single object: not finite")
def spread_of_one_object(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        hidden = jnp.tanh(x @ params["w"] + params["b"]) / (1 + jnp.sum(x.std(0, ddof=1)))
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss, coupled="batch statistics")


# -- refusal -----------------------------------------------------------------------------------------


@fault("refusal", "def loss(params, x, y):  # broadcast", "batch/y", "silently broadcast")
def silent_broadcast(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # broadcast
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return gate.Model(loss, PARAMS, BATCH)


@fault("refusal", "def loss(params, x, y):  # unguarded", "batch/x", "the contract is")
def contract_that_nothing_enforces(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # unguarded
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return gate.Model(loss, PARAMS, BATCH, contract=CONTRACT)


@fault("refusal", "def loss(params, x, y):  # hidden", "batch/x", "a NaN went in")
def hidden_nan(jax):
    jnp = jax.numpy
    contract = gate.Contract(params=CONTRACT.params, batch={"x": "f32[n, d]", "y": "f32[n]"})

    def loss(params, x, y):  # hidden
        hidden = jnp.nan_to_num(jnp.tanh(x @ params["w"] + params["b"]))
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss, contract=contract)


@fault("refusal", "def loss(params, labels):  # label", "batch/labels", "the contract is i32[n] in [0, 3]")
def index_out_of_range(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"v": "f32[h]"}, batch={"labels": "i32[n] in [0, 3]"})

    def loss(params, labels):  # label
        return jnp.mean(jnp.sin(params["v"])[labels])
    return gate.Model(contract.guard(loss, values=False), {"v": PARAMS["v"]}, {"labels": np.arange(4, dtype="int32")},
                      contract=contract)


@fault("refusal", "def loss(params, x, y):  # other error", "", "not refused as declared")
def another_error_than_declared(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # other error
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    bad = gate.Refused("negative targets", lambda batch: {**batch, "y": -abs(batch["y"])}, error=ValueError)
    return guarded(jax, loss, refused=[bad])


# -- purity ------------------------------------------------------------------------------------------


@fault("purity", "def loss(params, x, y):  # counts", "", "two calls")
def impure_loss(jax):
    jnp = jax.numpy
    calls = [0]

    def loss(params, x, y):  # counts
        calls[0] += 1
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2) / calls[0]
    return guarded(jax, loss)


@fault("purity", "def loss(params, x, y):  # keeps", "", "holds a tracer")
def leaked_tracer(jax):
    jnp = jax.numpy
    kept = {}

    def loss(params, x, y):  # keeps
        kept["hidden"] = hidden = jnp.tanh(x @ params["w"] + params["b"])
        return jnp.mean((hidden @ params["v"] - y) ** 2)
    return guarded(jax, loss)


@fault("purity", "def step(params, x, y, count):", "", "compiles again in every step")
def compiled_in_every_step(jax):
    jnp = jax.numpy
    count = [0]

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)

    def step(params, x, y, count):
        gradients = jax.grad(loss)(params, x, y)
        return {name: params[name] - 0.1 / count * gradients[name] for name in params}

    step = jax.jit(step, static_argnums=3)

    def update(params, x, y):
        count[0] += 1
        return step(params, x, y, count[0])
    return guarded(jax, loss, update=update)


@fault("purity", "def loss(params, x, y):  # numpy", "", "numpy.random")
def numbers_from_numpy(jax):
    jnp = jax.numpy

    def loss(params, x, y):  # numpy
        noise = np.random.standard_normal(y.shape).astype("float32")
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] + noise - y) ** 2)
    return guarded(jax, loss)


# -- contract ----------------------------------------------------------------------------------------


@fault("contract", "def update(params, x, y):  # wider", "params/b", "another type")
def update_that_broadcasts(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)

    def update(params, x, y):  # wider
        gradients = jax.grad(loss)(params, x, y)
        return {**params, "b": params["b"] - 0.1 * gradients["w"]}
    return guarded(jax, loss, update=update)


@fault("contract", "", "params/v", "f32[h] with h = 4")
def parameter_of_another_size(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean(jnp.tanh(x @ params["w"] + params["b"]) * params["v"]) - jnp.mean(y)
    return gate.Model(loss, {**PARAMS, "v": np.ones(1, "float32")}, BATCH, contract=CONTRACT)


@fault("contract", "", "batch/y", "11")
def value_out_of_its_range(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    return gate.Model(loss, PARAMS, {**BATCH, "y": BATCH["y"] * 0 + 11}, contract=CONTRACT)


# -- data --------------------------------------------------------------------------------------------


@fault("data", "", "splits/test", "number 2 of train and 1 of test")
def test_data_in_training(jax):
    jnp = jax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) @ params["v"] - y) ** 2)
    other = {"x": numbers(2, D, seed=9), "y": numbers(2, seed=9)}
    test = {name: np.stack([other[name][0], BATCH[name][2]]) for name in BATCH}
    return guarded(jax, loss, splits={"train": BATCH, "test": test})
