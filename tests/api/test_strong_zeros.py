"""strong_zeros: a factor of a derivative that is exactly zero makes zero, whatever the other factor is."""

import jax
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax

X = np.float32([0.0, 4.0])


def root(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def total(x):
    return jnp.sum(root(x))


def scanned(x):
    return lax.scan(lambda c, row: (c + jnp.sum(root(row)), None), jnp.float32(0), x[None])[0]


def looped(x):
    return jnp.sum(lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, root(c[1])), (0, x))[1])


def chosen(x):
    return lax.cond(jnp.sum(x) > 0, total, jnp.sum, x)


@pullback.custom_jvp
def by_rule(x):
    return root(x)


@by_rule.defjvp
def by_rule_jvp(primals, tangents):
    return by_rule(*primals), tangents[0] / (2 * jnp.sqrt(primals[0]))


FUNCTIONS = {
    "eager": total, "jit": pullback.jit(total), "scan": scanned, "while": looped, "cond": chosen,
    "checkpoint": pullback.checkpoint(total), "rule": lambda x: jnp.sum(jnp.where(x > 0, by_rule(x), 0)),
    "vmap": lambda x: jnp.sum(pullback.vmap(root)(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_untaken_branch_gives_no_nan(name):
    f = FUNCTIONS[name]
    assert np.isnan(pullback.grad(f)(X)[0])  # exactly as jax, where nothing is asked for
    want = [0, 0.25]
    np.testing.assert_allclose(pullback.grad(f, strong_zeros=True)(X), want)
    np.testing.assert_allclose(pullback.jit(pullback.grad(f, strong_zeros=True))(X), want)
    _, pull = pullback.vjp(f, X, strong_zeros=True)
    np.testing.assert_allclose(pull(1.0)[0], want)  # after the setting
    _, push = pullback.linearize(f, X, strong_zeros=True)
    direction = np.float32([0, 1])
    assert push(direction) == pullback.jvp(f, (X,), (direction,), strong_zeros=True)[1] == 0.25


def test_forward_mode():
    given = jnp.sqrt, (X,), (np.float32([0, 1]),)
    assert np.isnan(pullback.jvp(*given)[1][0])
    np.testing.assert_allclose(pullback.jvp(*given, strong_zeros=True)[1], [0, 0.25])


def test_the_setting_is_off_by_default_and_part_of_the_key():
    gradient = pullback.jit(pullback.grad(total))
    assert np.isnan(gradient(X)[0])
    with pullback.strong_zeros():
        np.testing.assert_allclose(gradient(X), [0, 0.25])
        value, found = pullback.value_and_grad(total)(X)
    assert value == 2 and found[0] == 0
    assert np.isnan(gradient(X)[0])
    assert np.isnan(pullback.grad(total)(X)[0]) and np.isnan(jax.grad(lambda x: jax.numpy.sum(jax.numpy.where(
        x > 0, jax.numpy.sqrt(x), 0.0)))(X)[0])


def test_jacobians_and_second_order():
    want = np.diag([0, 0.25])
    np.testing.assert_allclose(pullback.jacrev(root, strong_zeros=True)(X), want)
    np.testing.assert_allclose(pullback.jacfwd(root, strong_zeros=True)(X), want)
    np.testing.assert_allclose(pullback.hessian(total, strong_zeros=True)(X), np.diag([0, -1 / 32]), atol=1e-7)
    twice = pullback.jacrev(pullback.jacrev(total, strong_zeros=True), strong_zeros=True)
    np.testing.assert_allclose(pullback.jit(twice)(X), np.diag([0, -1 / 32]), atol=1e-7)


ORIGIN = {  # function of a vector, its point, and the derivative there
    "norm": (jnp.linalg.norm, np.zeros(3), np.zeros(3)),
    "root of x @ x": (lambda x: jnp.sqrt(x @ x), np.zeros(3), np.zeros(3)),
    "hypot": (lambda x: jnp.hypot(x[0], x[1]), np.zeros(2), [0.5, 0.5]),
    "x ** 0": (lambda x: jnp.sum(x ** jnp.float32([0, 1, 2])), np.zeros(3), [0, 1, 0]),
    "0 ** y": (lambda y: jnp.sum(jnp.zeros(2) ** y), np.float32([0, 3]), [0, 0]),
    "arctan2": (lambda x: jnp.arctan2(x[0], x[1]), np.zeros(2), [0, 0]),
    "prod": (lambda x: jnp.prod(x), np.float32([0, 0, np.inf]), [0, 0, 0]),
    "cumprod": (lambda x: jnp.cumprod(x)[-1], np.float32([0, 0, np.inf]), [0, 0, 0]),
    "dot with an infinity": (lambda x: jnp.sum((jnp.float32([[1, np.inf], [1, 1]]) @ x)[1:]), np.ones(2), [1, 1]),
    "abs of a complex zero": (lambda x: jnp.abs(x[0] * (1 + 1j)), np.zeros(1), [0]),
}


@pytest.mark.parametrize("name", ORIGIN)
def test_at_the_origin(name):
    f, x, want = ORIGIN[name]
    x = np.asarray(x, np.float32)
    for gradient in (pullback.grad(f, strong_zeros=True), pullback.jit(pullback.grad(f, strong_zeros=True))):
        np.testing.assert_allclose(gradient(x), want)


def test_elsewhere_nothing_changes():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(4, 4)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)

    def loss(w):
        h = jnp.tanh(x @ w) / (1 + jnp.exp(x)) + jnp.linalg.norm(w) ** 1.5
        return jnp.mean(jnp.cumprod(h, 1) * jnp.arctan2(h, 2.0))
    for transform in (pullback.grad, pullback.jacfwd):
        np.testing.assert_allclose(transform(loss, strong_zeros=True)(w), transform(loss)(w), rtol=1e-5, atol=1e-6)


def test_nonzero_times_infinity_stays():
    assert np.isinf(pullback.grad(jnp.sqrt, strong_zeros=True)(0.0))
    assert np.isnan(pullback.grad(lambda x: x * jnp.float32(np.nan), strong_zeros=True)(1.0))


def test_products_of_tangents_only():
    with pullback.strong_zeros():
        assert np.isnan(pullback.jvp(lambda x: x * jnp.inf, (jnp.float32(0),), (jnp.float32(1),))[0])
        program = str(pullback.make_jaxpr(pullback.grad(lambda x: jnp.sum(jnp.sin(2.0 * x))))(X))
    assert program.count("= strong_mul") == 1 and program.count("= mul") == 2  # constants need no care
