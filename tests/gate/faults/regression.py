"""A network of two layers for regression, with everything declared, and with nothing declared."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, H = 6, 3, 4
X, Y = np.abs(numbers(N, D, seed=3)), numbers(N, seed=4)
PARAMS = {"w": numbers(D, H, seed=1), "b": 0.1 * numbers(H, seed=7), "v": numbers(H, seed=2)}
FEATURES = {"age": "[0, 4]", "height": "[0, 5]", "weight": "[0, 7]"}
CONTRACT = gate.Contract(params={"w": "f32[d, h]", "b": "f32[h]", "v": "f32[h]"},
                         batch={"x": "f32[n, d] in [0, 10]", "y": "f32[n] in [-10, 10]"}, outputs="f32[n]",
                         loss="f32[] in [0, inf)", features={"batch/x": FEATURES})
STATE = {"calls": 0, "kept": []}


def declared(jax):
    jnp, random = jax.numpy, jax.random
    names = ["age", "height", "weight"]
    weights = {name: value for name, value in PARAMS.items()}

    @CONTRACT.guard
    def forward(params, x):
        hidden = x @ params["w"]
        hidden = hidden + params["b"]
        hidden = jnp.tanh(hidden)
        return hidden @ params["v"]

    @CONTRACT.guard
    def loss(params, x, y):
        outputs = forward(params, x)
        errors = outputs - y
        squares = errors ** 2
        return jnp.mean(squares)

    def init(key):
        one, two = random.split(key)
        w = random.normal(one, (D, H)) / np.sqrt(D)
        b = jnp.zeros(H)
        v = random.normal(two, (H,))
        return {"w": w, "b": b, "v": v}

    def step(params, x, y):
        gradients = jax.grad(loss)(params, x, y)
        rate = 0.1
        new = {name: params[name] - rate * gradients[name] for name in params}
        return new

    update = jax.jit(step)

    def change(batch):
        return {**batch, "y": batch["y"] + 1.0}

    return gate.Model(
        loss, weights, {"x": X, "y": Y}, init=init, forward=forward, update=update, contract=CONTRACT,
        columns={"x": names}, overfits=0.5,
        expected=[gate.Expected("zeros give the mean square of the targets",
                                params={"w": 0 * PARAMS["w"], "b": 0 * PARAMS["b"], "v": PARAMS["v"]},
                                loss=float(np.mean(Y ** 2)), outputs=np.zeros(N, "float32"))],
        invariances=[gate.Invariance("other targets", change, holds=True),
                     gate.Invariance("objects in another order", lambda batch: {k: x[::-1] for k, x in batch.items()},
                                     before=lambda outputs: outputs, after=lambda outputs: outputs[::-1])])


def plain(jax):
    jnp = jax.numpy
    total = np.ones(H, "float32")

    def size():
        return total.sum()

    def forward(params, x):
        assert x.ndim == 2 and x.dtype == jnp.float32, "x must be float32[n, d]"
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return hidden @ params["v"]

    def loss(params, x, y):
        assert y.shape == x.shape[:1], "y must be [n]"
        assert y.dtype == jnp.float32, "y must be float32"
        errors = forward(params, x) - y
        return jnp.mean(errors ** 2)

    gradient = jax.jit(jax.grad(loss))

    def update(params, x, y):
        gradients = gradient(params, x, y)
        return {name: params[name] - 0.1 * gradients[name] for name in params}

    batches = [{"x": X, "y": Y}]
    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, forward=forward, update=update, batches=batches, compilations=1,
                      settings={"jax_enable_x64": False, "jax_default_matmul_precision": None},
                      accepts={"wrong dtype": "ints are welcome"})


TWINS = {
    "declared": [
        Twin("activation_rounded", "flow", "jnp.tanh(hidden)", "jnp.round(hidden)", leaf="w", text="round"),
        Twin("activation_a_step", "flow", "jnp.tanh(hidden)", "(hidden > 0).astype(x.dtype)", leaf="w"),
        Twin("activation_cast_to_int", "flow", "jnp.tanh(hidden)", "(3 * hidden).astype(int).astype(x.dtype)",
             leaf="w"),
        Twin("activation_sign", "flow", "jnp.tanh(hidden)", "jnp.sign(hidden)", leaf="w", text="sign"),
        Twin("stopped_hidden", "flow", "jnp.tanh(hidden)", "jnp.tanh(jax.lax.stop_gradient(hidden))", leaf="w",
             text="stop_gradient stops it"),
        Twin("stopped_bias", "flow", 'hidden + params["b"]', 'hidden + jax.lax.stop_gradient(params["b"])', leaf="b"),
        Twin("stopped_loss", "flow", "jnp.mean(squares)", "jnp.mean(jax.lax.stop_gradient(squares))", leaf="v"),
        Twin("bias_forgotten", "flow", 'hidden + params["b"]', "hidden + 1.0", leaf="b",
             text="does not depend"),
        Twin("bias_times_zero", "flow", 'hidden + params["b"]', 'hidden + 0 * params["b"]',
             leaf="b"),
        Twin("loss_rounded_down", "flow", "errors ** 2", "jnp.floor(errors ** 2)", leaf="v", text="floor"),
        Twin("batch_mean_in_forward", "transforms", "jnp.tanh(hidden)", "jnp.tanh(hidden - hidden.mean(0))"),
        Twin("batch_max_in_forward", "transforms", "jnp.tanh(hidden)", "jnp.tanh(hidden / jnp.abs(hidden).max())"),
        Twin("sum_over_objects", "transforms", "jnp.tanh(hidden)", "jnp.tanh(jnp.cumsum(hidden, axis=0))",
             text="neighbours"),
        Twin("row_beside_column", "transforms", "outputs - y", "outputs[:, None] - y", text="objects mix"),
        Twin("targets_in_a_column", "transforms", "outputs - y", "outputs - y.reshape(-1, 1)", text="objects mix"),
        Twin("last_object_left_out", "transforms", "jnp.mean(squares)", "jnp.mean(squares[:-1])",
             leaf="batch"),
        Twin("first_object_left_out", "transforms", "jnp.mean(squares)", "jnp.mean(squares[1:])",
             leaf="batch"),
        Twin("targets_forgotten", "transforms", "outputs - y", "outputs", leaf="batch/y"),
        Twin("feature_left_out", "transforms", 'x @ params["w"]', 'x[:, :2] @ params["w"][:2]',
             leaf="batch/x", text="weight"),
        Twin("sign_of_the_loss", "contract", "jnp.mean(squares)", "-jnp.mean(squares)",
             leaf="loss"),
        Twin("mean_is_a_sum", "reference", "jnp.mean(squares)", "jnp.sum(squares)", leaf="loss"),
        Twin("factor_of_the_loss", "reference", "jnp.mean(squares)", "0.5 * jnp.mean(squares)",
             leaf="loss"),
        Twin("error_not_squared", "reference", "errors ** 2", "jnp.abs(errors)", leaf="loss"),
        Twin("offset_in_the_output", "reference", 'hidden @ params["v"]', 'hidden @ params["v"] + 1.0', leaf="outputs"),
        Twin("output_in_a_column", "contract", 'hidden @ params["v"]', '(hidden @ params["v"])[:, None]',
             leaf="outputs"),
        Twin("output_in_half", "contract", 'hidden @ params["v"]', '(hidden @ params["v"]).astype(jnp.float16)',
             leaf="outputs"),
        Twin("columns_swapped", "contract", '["age", "height", "weight"]', '["height", "age", "weight"]',
             leaf="batch/x", text="another order"),
        Twin("parameter_of_another_size", "contract", "value for name", "value[:1] for name", leaf="params"),
        Twin("parameter_not_finite", "contract", "value for name", "value + np.inf for name", leaf="params"),
        Twin("parameter_in_half", "contract", "value for name", "value.astype('float16') for name",
             leaf="params"),
        Twin("one_key_for_two_leaves", "keys", "normal(two", "normal(one", text="uses one key 2 times"),
        Twin("parent_key_used_again", "keys", "normal(two", "normal(key", text="uses one key"),
        Twin("key_of_its_own", "keys", "random.split(key)", "random.split(random.key(0))", text="a key of its own"),
        Twin("init_of_another_shape", "contract", "jnp.zeros(H)", "jnp.zeros((1, H))", leaf="params/b"),
        Twin("init_of_another_dtype", "contract", "jnp.zeros(H)", "jnp.zeros(H, int)", leaf="params/b"),
        Twin("init_without_a_leaf", "contract", '"b": b, "v": v', '"v": v', text="another structure"),
        Twin("step_uphill", "update", "- rate *", "+ rate *", text="up the gradient"),
        Twin("step_of_nothing", "update", "return new", "return params"),
        Twin("step_too_long", "update", "rate = 0.1", "rate = 30.0", text="bring the loss down"),
        Twin("step_too_short", "update", "rate = 0.1", "rate = 1e-6", text="learn one batch"),
        Twin("step_that_broadcasts", "contract", "rate * gradients[name]",
             'rate * (gradients[name] + 0 * params["w"])', leaf="params/b"),
        Twin("step_to_half", "contract", "return new",
             "return {name: x.astype(jnp.float16) for name, x in new.items()}", leaf="params"),
        Twin("step_drops_a_leaf", "contract", "for name in params}", "for name in ('w', 'v')}"),
        Twin("one_leaf_not_updated", "update", "return new", 'return {**new, "v": params["v"]}',
             leaf="params/v"),
        Twin("compiled_in_every_step", "purity", "update = jax.jit(step)",
             "update = lambda params, x, y: jax.jit(lambda *given: step(*given))(params, x, y)"),
    ],
    "plain": [
        Twin("column_of_targets_accepted", "refusal", "assert y.shape == x.shape[:1]",
             "assert y.shape[0] == x.shape[0]", at="- y", leaf="batch/y", text="silently broadcast"),
        Twin("one_target_for_all_accepted", "refusal", "assert y.shape == x.shape[:1]", "assert y.ndim == 1",
             at="- y", leaf="batch/y", text="silently broadcast"),
        Twin("nan_to_num_in_forward", "refusal", 'hidden @ params["v"]', 'jnp.nan_to_num(hidden @ params["v"])',
             leaf="batch/x", text="a NaN went in"),
        Twin("nan_replaced_in_the_loss", "refusal", "jnp.mean(errors ** 2)",
             "jnp.mean(jnp.where(jnp.isnan(errors), 0.0, errors) ** 2)", text="a NaN went in"),
        Twin("nanmean", "refusal", "jnp.mean(errors ** 2)", "jnp.nanmean(errors ** 2)", text="a NaN went in"),
        Twin("calls_counted", "purity", "return jnp.mean(errors ** 2)",
             'STATE["calls"] += 1; return jnp.mean(errors ** 2)', text="STATE"),
        Twin("state_that_scales", "purity", "return jnp.mean(errors ** 2)",
             'STATE["calls"] += 1; return jnp.mean(errors ** 2) * STATE["calls"]', text="two calls"),
        Twin("losses_kept_for_a_plot", "purity", "return jnp.mean(errors ** 2)",
             'value = jnp.mean(errors ** 2); STATE["kept"].append(value); return value', text="tracer"),
        Twin("hidden_kept_in_a_global", "purity", 'return hidden @ params["v"]',
             'STATE["hidden"] = hidden; return hidden @ params["v"]', text="tracer"),
        Twin("noise_from_numpy", "purity", "- y\n", "- y + np.random.standard_normal(N).astype('float32')\n",
             text="numpy.random"),
        Twin("noise_from_python", "purity", "- y\n", "- y + __import__('random').random()\n",
             text="two calls"),
        Twin("time_in_the_loss", "purity", "jnp.mean(errors ** 2)",
             # The part of a second alone: of a machine that has run for hours float32 keeps no millisecond.
             "jnp.mean(errors ** 2) + __import__('time').perf_counter() % 1"),
        Twin("captured_array_that_changes", "purity", "hidden @", "total.__imul__(1.5) * hidden @",
             text="total"),
        Twin("eager_and_compiled_differ", "transforms", "jnp.mean(errors ** 2)",
             "jnp.mean(errors ** 2) * (1.0 if 'Tracer' in type(x).__name__ else 2.0)", text="compiled"),
        Twin("batches_of_all_sizes", "purity", '[{"x": X, "y": Y}]', '[{"x": X[:k], "y": Y[:k]} for k in (5, 4)]',
             text="more often than is allowed"),
        Twin("compiled_in_every_call", "purity", "forward(params, x) - y",
             "jax.jit(lambda p, z: forward(p, z))(params, x) - y", text="traced again"),
        Twin("step_number_static", "purity", "gradients = gradient(params, x, y)",
             'STATE["calls"] += 1; gradients = jax.jit(lambda s, *a: jax.grad(loss)(*a), static_argnums=0)('
             'STATE["calls"], params, x, y)',
             text="compiles again"),
        Twin("precision_set_inside", "environment", "hidden = jnp.tanh(",
             'jax.config.update("jax_default_matmul_precision", "highest"); hidden = jnp.tanh(',
             text="changes a setting"),
        Twin("precision_flag_changed", "environment", "total = np.ones(H, \"float32\")",
             'jax.config.update("jax_default_matmul_precision", "bfloat16"); total = np.ones(H, "float32")',
             text="counts on"),
    ],
}
