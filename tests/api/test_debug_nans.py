"""debug_nans and debug_infs: planted NaNs and infinities, each found with its operation, its role and its line."""

import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax

X = np.float32([0.0, 4.0])


def loss(x):
    y = jnp.sqrt(x)  # the root
    return jnp.sum(jnp.where(x > 0, y, 0.0))


def negative(x):
    return jnp.sum(jnp.log(x - 1))  # the logarithm


def scanned(x):
    def step(carry, row):
        return carry + jnp.where(row > 0, jnp.sqrt(row), 0.0), None  # the root in the scan
    return lax.scan(step, jnp.float32(0), x)[0]


def looped(x):
    def step(state):
        i, y = state
        return i + 1, jnp.where(y > 0, jnp.sqrt(y), 0.0)  # the root in the loop
    return jnp.sum(lax.while_loop(lambda state: state[0] < 2, step, (0, x))[1])


def repeated_root(x):
    return lax.fori_loop(0, x.astype(int) + 1, lambda i, y: jnp.sqrt(y), x)  # the root of the root


def chosen(x):
    return lax.cond(x[1] > 0,
                    lambda x: jnp.sum(jnp.where(x > 0, x ** 1.5 / jnp.sqrt(x), 0.0)),  # the branch
                    jnp.sum, x)


@pullback.custom_jvp
def with_tangent(x):
    return x * 2


@with_tangent.defjvp
def with_tangent_rule(primals, tangents):
    return with_tangent(*primals), tangents[0] / primals[0]  # the tangent rule


@pullback.custom_vjp
def with_cotangent(x):
    return x * 2


def with_cotangent_backward(x, ct):
    return (jnp.log(x - 1) * ct,)  # the cotangent rule


with_cotangent.defvjp(lambda x: (x * 2, x), with_cotangent_backward)


def call_of_rule(x):
    return jnp.sum(with_cotangent(x))  # the call


def squared_root(x):
    return jnp.where(x > 0, x * jnp.sqrt(x), 0.0)  # the root again


def power(x):
    return jnp.where(x > 0, x ** 1.5, 0.0)  # the power


def jitted_root(x):
    return pullback.jit(loss)(x) * 2


NAN, INF = pullback.debug_nans, pullback.debug_infs
T = np.float32([0, 1])
PLANTED = {  # setting, call, operation that made it, role, operation differentiated, line
    "forward": (NAN, lambda: negative(X), "log", "primal", None, "the logarithm"),
    "forward in jit": (NAN, lambda: pullback.jit(negative)(X), "log", "primal", None, "the logarithm"),
    "tangent": (NAN, lambda: pullback.jvp(loss, (X,), (T,)), "div", "tangent", "sqrt", "the root"),
    "backward": (NAN, lambda: pullback.grad(loss)(X), "div", "cotangent", "sqrt", "the root"),
    "backward in jit": (NAN, lambda: pullback.jit(pullback.grad(loss))(X), "div", "cotangent", "sqrt", "the root"),
    "nested jit": (NAN, lambda: pullback.jit(pullback.grad(jitted_root))(X), "div", "cotangent", "sqrt", "the root"),
    "scan": (NAN, lambda: pullback.grad(scanned)(X), "div", "cotangent", "sqrt", "the root in the scan"),
    "scan in jit": (NAN, lambda: pullback.jit(pullback.grad(scanned))(X), "div", "cotangent", "sqrt",
                    "the root in the scan"),
    "while": (NAN, lambda: pullback.grad(looped)(X), "div", "cotangent", "sqrt", "the root in the loop"),
    "while, forward mode": (NAN, lambda: pullback.jvp(repeated_root, (X[0],), (T[0],)), "div", "tangent",
                            "sqrt", "the root of the root"),
    "cond": (NAN, lambda: pullback.grad(chosen)(X), "div", "primal", None, "the branch"),
    "vmap": (NAN, lambda: pullback.vmap(pullback.grad(squared_root))(X), "div", "cotangent", "sqrt", "the root again"),
    "custom_jvp": (NAN, lambda: pullback.jvp(with_tangent, (X,), (T,)), "div", "tangent",
                   "custom_jvp_call", "the tangent rule"),
    "custom_vjp": (NAN, lambda: pullback.jit(pullback.grad(call_of_rule))(X), "log", "cotangent", "custom_vjp_call",
                   "the cotangent rule"),
    "checkpoint": (NAN, lambda: pullback.grad(pullback.checkpoint(loss))(X), "div", "cotangent", "sqrt", "the root"),
    "grad of grad": (NAN, lambda: pullback.grad(pullback.grad(power))(0.0), "mul", "cotangent", "pow", "the power"),
    "grad of grad, infinity": (INF, lambda: pullback.grad(pullback.grad(power))(0.0), "pow", "factor", "pow",
                               "the power"),
    "infinity, backward": (INF, lambda: pullback.grad(jnp.sqrt)(0.0), "div", "cotangent", "sqrt", "infinity, backward"),
    "infinity, factor": (INF, lambda: pullback.grad(lambda x: x ** 0.5)(0.0), "pow", "factor", "pow",  # the factor
                         "the factor"),
    "infinity, forward in jit": (INF, lambda: pullback.jit(lambda x: 1 / x)(0.0), "div", "primal", None, "1 / x"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name):
    setting, call, operation, role, of, line = PLANTED[name]
    with setting(True), pytest.raises(FloatingPointError) as caught:
        call()
    text = str(caught.value)
    first, place = text.splitlines()[:2]
    assert f": {operation} made" in first and role in first, text
    assert ("in the derivative of" in first) == (of is not None) and (of is None or first.endswith(f" of {of}")), text
    assert "test_debug_nans.py" in place and line in place, text
    call()  # without the setting nothing raises


def test_the_call_of_a_rule_is_named_too():
    with pullback.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        pullback.grad(call_of_rule)(X)
    assert "# the cotangent rule" in str(caught.value) and "for the call at" in str(caught.value)
    assert "# the call" in str(caught.value)


def test_the_line_that_asked_for_the_gradient():
    with pullback.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        pullback.grad(loss)(X)  # asked for here
    assert "# the root" in str(caught.value) and "# asked for here" in str(caught.value)


def test_a_pullback_made_before_the_setting():
    _, pull = pullback.vjp(loss, X)
    with pullback.debug_nans(True), pytest.raises(FloatingPointError, match="a cotangent") as caught:
        pull(1.0)
    assert "# the root" in str(caught.value)


def test_a_program_staged_before_the_setting():
    gradient = pullback.jit(pullback.grad(loss))
    gradient(X)
    with pullback.debug_nans(True), pytest.raises(FloatingPointError, match="a cotangent in the derivative of sqrt"):
        gradient(X)


def test_donated_arguments_are_kept_for_the_search():
    step = pullback.jit(lambda x: jnp.log(x), donate_argnums=0)  # the step
    x = pullback.jit(lambda x: x - 2)(X)
    with pullback.debug_nans(True), pytest.raises(FloatingPointError, match="log made 1 NaN") as caught:
        step(x)
    assert "# the step" in str(caught.value)


def test_an_operand_that_held_it():
    with pullback.debug_nans(True), pytest.raises(FloatingPointError, match="from an operand that held one"):
        jnp.sin(np.float32(np.nan))


def test_strong_zeros_are_the_repair():
    with pullback.debug_nans(True), pullback.strong_zeros():
        np.testing.assert_allclose(pullback.grad(loss)(X), [0, 0.25])
        np.testing.assert_allclose(pullback.jit(pullback.grad(scanned))(X), [0, 0.25])
