"""Classification into four classes: probabilities and a cross entropy, with a contract and without."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, K = 6, 3, 4
X, Y = numbers(N, D, seed=3), np.array([0, 1, 2, 3, 1, 2], "int32")
PARAMS = {"w": numbers(D, K, seed=1), "b": 0.1 * numbers(K, seed=2)}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def expected(params, x):
    """The probabilities in NumPy."""
    return softmax(np.asarray(x, "float64") @ params["w"] + params["b"])


def probabilities(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d, k]", "b": "f32[k]"},
                             batch={"x": "f32[n, d]", "y": "i32[n] in [0, 3]"}, outputs="f32[n, k] in [0, 1] sum 1",
                             loss="f32[] in [0, inf)")

    def forward(params, x):
        scores = x @ params["w"] + params["b"]
        scores = scores - jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
        powers = jnp.exp(scores)
        total = jnp.sum(powers, axis=-1, keepdims=True)
        return powers / total

    @contract.guard
    def loss(params, x, y):
        scores = x @ params["w"] + params["b"]
        scores = scores - jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
        logs = scores - jnp.log(jnp.sum(jnp.exp(scores), axis=-1, keepdims=True))
        chosen = jax.nn.one_hot(y, K)
        return -jnp.mean(jnp.sum(chosen * logs, axis=-1))

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, contract=contract, reference=expected,
                      expected=[gate.Expected("equal scores", params={"w": 0 * PARAMS["w"], "b": 0 * PARAMS["b"]},
                                              loss=float(np.log(K))),
                                gate.Expected("by hand", batch={"x": X[2:5], "y": Y[2:5]}, loss=float(np.mean(
                                    -np.log(expected(PARAMS, X)[[2, 3, 4], Y[2:5]]))))])


def indexed(jax):
    """Without a contract: the function looks after its arguments itself."""
    jnp = jax.numpy

    def loss(params, x, y):
        if x.ndim != 2 or x.dtype != jnp.float32 or y.shape != x.shape[:1] or not jnp.issubdtype(y.dtype, jnp.integer):
            raise TypeError("float32[n, d] and integers [n] are required")
        logs = jax.nn.log_softmax(x @ params["w"] + params["b"])
        inside = (y >= 0) & (y < K)
        own = jnp.take_along_axis(logs, jnp.clip(y, 0, K - 1)[:, None], axis=-1)[:, 0]
        return -jnp.mean(jnp.where(inside, own, jnp.nan))

    return gate.Model(loss, PARAMS, {"x": X, "y": Y})


TWINS = {
    "probabilities": [
        Twin("softmax_over_objects", "transforms", "total = jnp.sum(powers, axis=-1, keepdims=True)",
             "total = jnp.sum(powers, axis=0, keepdims=True)", text="neighbours"),
        Twin("maximum_over_objects", "reference", "powers = jnp.exp(scores)",
             "powers = jnp.exp(scores + jnp.arange(K))"),
        Twin("not_normalised", "contract", "powers / total", "powers", leaf="outputs"),
        Twin("normalised_by_the_mean", "contract", "total = jnp.sum(", "total = jnp.mean(", at="return powers / total",
             leaf="outputs"),
        Twin("normalised_twice", "reference", "return powers / total", "return jax.nn.softmax(powers / total)"),
        Twin("logs_returned", "contract", "return powers / total", "return jnp.log(powers / total)",
             leaf="outputs"),
        Twin("squares_for_powers", "reference", "powers = jnp.exp(scores)", "powers = jnp.exp(2 * scores)"),
        Twin("maximum_not_taken_away", "finite", "logs = scores - jnp.log(",
             'scores = x @ params["w"] + params["b"]; logs = scores - jnp.log('),
        Twin("log_of_the_softmax", "finite",
             "logs = scores - jnp.log(jnp.sum(jnp.exp(scores), axis=-1, keepdims=True))",
             "logs = jnp.log(jax.nn.softmax(scores))"),
        Twin("mean_over_classes", "reference", "jnp.sum(chosen * logs, axis=-1)", "jnp.mean(chosen * logs, axis=-1)",
             leaf="loss"),
        Twin("sign_of_the_cross_entropy", "contract", "return -jnp.mean(", "return jnp.mean(",
             leaf="loss"),
        Twin("sum_over_objects", "reference", "return -jnp.mean(", "return -jnp.sum(",
             leaf="loss"),
        Twin("labels_off_by_one", "reference", "one_hot(y, K)", "one_hot(y - 1, K)",
             leaf="loss"),
        Twin("too_few_classes", "reference", "one_hot(y, K)", "one_hot(y % (K - 1), K)",
             leaf="loss"),
        Twin("normalised_over_objects_in_the_loss", "transforms", "jnp.exp(scores), axis=-1, keepdims=True",
             "jnp.exp(scores), axis=0, keepdims=True"),
        Twin("accuracy_for_a_loss", "flow", "jnp.sum(chosen * logs, axis=-1)",
             "(jnp.argmax(logs, axis=-1) == y).astype(x.dtype)", text="argmax"),
        Twin("stopped_scores", "flow", "chosen * logs", "chosen * jax.lax.stop_gradient(logs)", leaf="w",
             text="stop_gradient"),
        Twin("labels_not_used", "transforms", "one_hot(y, K)", "one_hot(0 * y, K)",
             leaf="batch/y"),
    ],
    "indexed": [
        Twin("range_not_looked_at", "refusal", "jnp.where(inside, own, jnp.nan)", "own",
             at="own = jnp.take_along_axis", leaf="batch/y", text="silently cut off"),
        Twin("one_hot_of_any_label", "refusal",
             "own = jnp.take_along_axis(logs, jnp.clip(y, 0, K - 1)[:, None], axis=-1)[:, 0]",
             "own = jnp.sum(logs * jax.nn.one_hot(y, K), axis=-1); inside = y > -1", leaf="batch/y",
             text="silently cut off"),
        Twin("labels_cast", "refusal", "or not jnp.issubdtype(y.dtype, jnp.integer):",
             "or (y := y.astype(jnp.int32)) is None:", leaf="batch/y", text="silently cast"),
        Twin("rank_of_labels_not_looked_at", "refusal", "y.shape != x.shape[:1]", "False",
             at="own = jnp.take_along_axis",
             leaf="batch/y"),
        Twin("where_after_the_log", "finite", "jnp.where(inside, own, jnp.nan)",
             "own + jnp.where(own < -2, jnp.log(-2 - own), 0.0)", text="hidden"),
        Twin("nan_labels_dropped", "refusal", "jnp.where(inside, own, jnp.nan)",
             "jnp.where(inside & ~jnp.isnan(own), own, 0.0)", text="a NaN went in"),
    ],
}
