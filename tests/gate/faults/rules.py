"""Custom derivative rules, forward and reverse."""

from pullback import gate
from tests.gate.faults import Twin
from tests.gate.healthy import numbers

N, D, H = 5, 3, 4
X, Y = numbers(N, D, seed=3), numbers(N, seed=4)
PARAMS = {"w": numbers(D, H, seed=1), "v": numbers(H, seed=2)}
CONTRACT = gate.Contract(params={"w": "f32[d, h]", "v": "f32[h]"}, batch={"x": "f32[n, d]", "y": "f32[n]"})


def forward_rules(jax):
    jnp = jax.numpy

    @jax.custom_jvp  # sigmoid
    def sigmoid(x):
        return 1 / (1 + jnp.exp(-jnp.clip(x, -30, 30)))

    @sigmoid.defjvp
    def sigmoid_jvp(primals, tangents):
        s = sigmoid(primals[0])
        return s, s * (1 - s) * tangents[0]

    @jax.custom_jvp  # soft
    def soft(x):
        return jnp.logaddexp(x, 0.0)

    @soft.defjvp
    def soft_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return soft(x), sigmoid(x) * x_dot

    @jax.custom_jvp  # product
    def product(a, b):
        return a * b

    @product.defjvp
    def product_jvp(primals, tangents):
        (a, b), (a_dot, b_dot) = primals, tangents
        return a * b, a_dot * b + a * b_dot

    @CONTRACT.guard
    def loss(params, x, y):
        hidden = soft(x @ params["w"])
        outputs = jnp.sum(product(hidden, params["v"] + 0 * hidden), axis=-1)
        return jnp.mean((outputs - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, contract=CONTRACT, second_order=True)


def reverse_rules(jax):
    jnp = jax.numpy

    @jax.custom_vjp  # linear
    def linear(x, w):
        return x @ w

    def linear_forward(x, w):
        return x @ w, (x, w)

    def linear_backward(kept, ct):
        x, w = kept
        return ct @ w.T, x.T @ ct

    linear.defvjp(linear_forward, linear_backward)

    @jax.custom_vjp  # root
    def root(x):
        return jnp.sqrt(1 + x * x)

    def root_forward(x):
        out = jnp.sqrt(1 + x * x)
        return out, (x, out)

    def root_backward(kept, ct):
        x, out = kept
        return (ct * x / out,)

    root.defvjp(root_forward, root_backward)

    @CONTRACT.guard
    def loss(params, x, y):
        hidden = root(linear(x, params["w"]))
        return jnp.mean((hidden @ params["v"] - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, contract=CONTRACT)


def loops(jax):
    """A fixed point whose derivative is a rule of its own, by the implicit function theorem."""
    jnp = jax.numpy

    @jax.custom_vjp  # fixed
    def fixed(a):
        return jax.lax.fori_loop(0, 60, lambda i, z: 0.5 * jnp.cos(z) + a, a)

    def fixed_forward(a):
        z = fixed(a)
        return z, z

    def fixed_backward(z, ct):
        return (ct / (1 + 0.5 * jnp.sin(z)),)

    fixed.defvjp(fixed_forward, fixed_backward)

    @CONTRACT.guard
    def loss(params, x, y):
        return jnp.mean((fixed(x @ params["w"]) @ params["v"] - y) ** 2)

    return gate.Model(loss, PARAMS, {"x": X, "y": Y}, contract=CONTRACT)


TWINS = {
    "forward_rules": [
        Twin("factor", "derivative", "sigmoid(x) * x_dot", "1.01 * sigmoid(x) * x_dot"),
        Twin("sign", "derivative", "sigmoid(x) * x_dot", "-sigmoid(x) * x_dot"),
        Twin("sign_of_the_argument", "derivative", "sigmoid(x) * x_dot", "sigmoid(-x) * x_dot"),
        Twin("term_dropped", "derivative", "a_dot * b + a * b_dot", "a_dot * b",
             leaf="params/v"),
        Twin("terms_subtracted", "derivative", "a_dot * b + a * b_dot", "a_dot * b - a * b_dot", leaf="params/v"),
        Twin("rule_without_its_function", "derivative", "sigmoid(x) * x_dot", "x_dot"),
        Twin("tangent_not_used", "derivative", "sigmoid(x) * x_dot", "sigmoid(x) * (0.5 * x_dot + 0.5 * x_dot * x)"),
        Twin("second_derivative", "derivative", "s * (1 - s) * tangents[0]", "s * s * tangents[0]",
             text="second order"),
        Twin("second_derivative_stopped", "derivative", "s * (1 - s) * tangents[0]", "0.9 * s * (1 - s) * tangents[0]",
             text="second order"),
    ],
    "reverse_rules": [
        Twin("not_transposed", "derivative", "ct @ w.T, x.T @ ct", "ct @ w.T, 0.5 * x.T @ ct"),
        Twin("sign_reversed", "derivative", "x.T @ ct", "-x.T @ ct", leaf="params/w"),
        Twin("mean_for_a_sum", "derivative", "x.T @ ct", "x.T @ ct / x.shape[0]"),
        Twin("wrong_residual", "derivative", "return out, (x, out)", "return out, (x, x + 2.0)"),
        Twin("inner_derivative_missing", "derivative", "ct * x / out", "ct / out"),
        Twin("gradient_clipped_inside", "derivative", "ct * x / out", "jnp.clip(ct * x / out, -0.01, 0.01)"),
        Twin("cotangent_ignored", "derivative", "ct * x / out", "x / out"),
    ],
    "loops": [
        Twin("no_implicit_term", "derivative", "ct / (1 + 0.5 * jnp.sin(z))", "ct"),
        Twin("sign_of_the_implicit_term", "derivative", "1 + 0.5 * jnp.sin(z)", "1 - 0.5 * jnp.sin(z)"),
        Twin("not_converged", "derivative", "fori_loop(0, 60,", "fori_loop(0, 3,", at="return (ct / (1 + 0.5"),
    ],
}
