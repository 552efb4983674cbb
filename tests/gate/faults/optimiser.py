"""Adam with its state, clipping and decay, and an answer for the first step that was worked out by hand."""

import numpy as np

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D = 6, 3
X, Y = numbers(N, D, seed=3), numbers(N, seed=4)
PARAMS = {"w": numbers(D, seed=1), "scale": np.ones(D, "float32")}
GRADIENT = 2 * X.T.astype("float64") @ (X @ PARAMS["w"] - Y) / N
STATE = {"m": np.zeros(D, "float32"), "v": np.zeros(D, "float32"), "count": np.int32(0)}
# After one step, the corrected moments are the gradient and its square.
FIRST = PARAMS["w"] - 0.01 * GRADIENT / (np.abs(GRADIENT) + 0.1) - 0.01 * 0.2 * PARAMS["w"]


def adam(jax):
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d]", "scale": "f32[d]"}, batch={"x": "f32[n, d]", "y": "f32[n]"})

    @contract.guard
    def loss(params, x, y):
        scale = jax.lax.stop_gradient(params["scale"])
        return jnp.mean(((x * scale) @ params["w"] - y) ** 2)

    def step(params, state, x, y):
        rate, one, two, eps, decay = 0.01, 0.9, 0.999, 0.1, 0.2
        gradient = jax.grad(loss)(params, x, y)["w"]
        count = state["count"] + 1
        m = one * state["m"] + (1 - one) * gradient
        v = two * state["v"] + (1 - two) * gradient ** 2
        m_hat = m / (1 - one ** count)
        v_hat = v / (1 - two ** count)
        change = m_hat / (jnp.sqrt(v_hat) + eps)
        w = params["w"] - rate * change - rate * decay * params["w"]
        return {"w": w, "scale": params["scale"]}, {"m": m, "v": v, "count": count}

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, update=jax.jit(step), state=STATE, contract=contract,
                      frozen=["scale"],
                      expected=[gate.Expected("the first step of Adam", updated={"w": FIRST, "scale": PARAMS["scale"]},
                                              tolerance=gate.Tolerance(1e-5, 1e-6))])


def clipped(jax):
    """Momentum with a clipped norm."""
    jnp = jax.numpy
    contract = gate.Contract(params={"w": "f32[d]"}, batch={"x": "f32[n, d]", "y": "f32[n]"})

    @contract.guard
    def loss(params, x, y):
        return jnp.mean((x @ params["w"] - y * jnp.tanh(jnp.abs(x[:, 0]))) ** 2)

    @jax.jit
    def update(params, velocity, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g ** 2) for g in gradients.values()) + 1e-12)
        gradients = {name: g * jnp.minimum(1.0, 1.0 / norm) for name, g in gradients.items()}
        velocity = {name: 0.9 * velocity[name] - 0.05 * gradients[name] for name in params}
        return value, {name: params[name] + velocity[name] for name in params}, velocity

    return gate.Model(loss, {"w": PARAMS["w"]}, {"x": X, "y": Y}, update=update, state={"w": np.zeros(D, "float32")},
                      contract=contract)


TWINS = {
    "adam": [
        Twin("uphill", "update", '- rate * change', '+ rate * change'),
        Twin("no_correction_of_m", "reference", "m / (1 - one ** count)", "m", at="def step", leaf="updated/w"),
        Twin("no_correction_of_v", "reference", "v / (1 - two ** count)", "v", at="def step", leaf="updated/w"),
        Twin("eps_inside_the_root", "reference", "jnp.sqrt(v_hat) + eps", "jnp.sqrt(v_hat + eps)"),
        Twin("default_of_eps", "reference", "0.1, 0.2", "1e-8, 0.2"),
        Twin("default_of_the_rate", "reference", "= 0.01, 0.9", "= 0.001, 0.9"),
        Twin("default_of_the_decay", "reference", "0.1, 0.2", "0.1, 0.01"),
        Twin("decay_in_the_gradient", "reference", "m_hat = m /",
             "gradient = 0; m_hat = (m + decay * params['w'] / 10) /"),
        Twin("state_not_returned", "update", '{"m": m, "v": v, "count": count}', "state"),
        Twin("count_a_float", "contract", 'state["count"] + 1', 'state["count"] + 1.0',
             leaf="state/count"),
        Twin("state_without_the_count", "contract", '"v": v, "count": count', '"v": v'),
        Twin("moment_in_half", "contract", '"v": v, "count"', '"v": v.astype(jnp.float16), "count"',
             leaf="state/v"),
        Twin("decay_of_what_is_frozen", "update", '"scale": params["scale"]}', '"scale": 0.99 * params["scale"]}',
             leaf="params/scale"),
        Twin("frozen_only_in_name", "flow", 'jax.lax.stop_gradient(params["scale"])', 'params["scale"]',
             leaf="params/scale"),
        Twin("moments_swapped", "reference", 'm_hat / (jnp.sqrt(v_hat)', 'v_hat / (jnp.sqrt(jnp.abs(m_hat))'),
    ],
    "clipped": [
        Twin("divided_by_the_sum", "finite", "jnp.minimum(1.0, 1.0 / norm)", "(1.0 / jnp.sum(jnp.abs(g)))",
             text="after an update"),
        Twin("nan_hidden_after_clipping", "finite", "g * jnp.minimum(1.0, 1.0 / norm)",
             "jnp.nan_to_num(g / jnp.sqrt(jnp.sum(g * g)))", text="hidden"),
        Twin("momentum_uphill", "update", "- 0.05 * gradients", "+ 0.05 * gradients", at="@jax.jit"),
        Twin("velocity_not_kept", "update", "for name in params}, velocity",
             'for name in params}, {"w": 0 * velocity["w"]}'),
        Twin("velocity_of_another_shape", "contract", "for name in params}, velocity",
             'for name in params}, {"w": velocity["w"][None]}', leaf="state/w"),
    ],
}
