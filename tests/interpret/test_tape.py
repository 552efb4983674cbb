"""Eager reverse mode: what was worked out before is found again, and only where it is the same."""

import numpy as np
import pytest

import pullback as pb
import pullback.numpy as jnp
from pullback import lax
from pullback.interpret import tape

X = np.array([0.3, 0.7, 1.2], np.float32)
Y = np.array([2.0, 3.0, 5.0], np.float32)


@pytest.fixture(autouse=True)
def _empty():
    tape.clear()


def test_a_tape_that_says_the_same_is_one_program():
    def pull(x, scale):
        return pb.vjp(lambda x: jnp.sin(x) * x * scale, x)[1]

    pulled = [pull(jnp.asarray(x), scale) for x, scale in ((X, 2.0), (Y, 3.0), (X, np.nan))]
    assert len({id(pullback.static[0]) for pullback in pulled}) == 1
    for pullback, (x, scale) in zip(pulled, ((X, 2.0), (Y, 3.0), (X, np.nan)), strict=True):
        for _ in range(2):
            np.testing.assert_allclose(pullback(jnp.ones(3))[0], scale * (np.sin(x) + x * np.cos(x)), rtol=1e-6)


def test_equal_operands_are_told_from_different_ones():
    def product(a, b, c):
        return a * b + a * c

    a, b = jnp.asarray(X), jnp.asarray(Y)
    for args in ((a, b, b), (a, b, a + 1), (a, a, a), (b, a, a), (a, b, b)):
        grads = pb.vjp(product, *args)[1](jnp.ones(3))
        assert [list(g) for g in grads] == [list(args[1] + args[2]), list(args[0]), list(args[0])]


def test_what_is_closed_over_is_told_apart_too():
    one, other = jnp.asarray(X), jnp.asarray(Y)
    for c, d in ((one, one), (one, other), (other, one)):
        def f(x):
            return x * c + jnp.sin(x) * d  # noqa: B023

        (grad,) = pb.vjp(f, jnp.ones(3))[1](jnp.ones(3))
        np.testing.assert_allclose(grad, c + np.cos(1.0) * d, rtol=1e-6)


def test_the_order_of_outputs_and_what_has_no_tangent():
    def f(x):
        return {"b": jnp.sin(x), "a": jnp.floor(x), "c": x, "d": jnp.arange(3), "e": x * x}

    y, pullback = pb.vjp(f, jnp.asarray(X))
    ct = {name: jnp.ones(3) for name in "abce"} | {"d": np.zeros(3, pb.dtypes.float0)}
    np.testing.assert_allclose(pullback(ct)[0], np.cos(X) + 1 + 2 * X, rtol=1e-6)
    assert list(y["a"]) == [0, 0, 1]


def test_loops_calls_and_rules_stand_between_the_operations():
    @pb.custom_vjp
    def twice(x):
        return 2 * x
    twice.defvjp(lambda x: (2 * x, None), lambda _, ct: (3 * ct,))

    def f(x):
        x = jnp.sin(x)
        x = pb.jit(jnp.exp)(x)
        x = lax.fori_loop(0, 2, lambda i, x: jnp.tanh(x), x)
        return (twice(x) * x).sum()

    x = jnp.asarray(X)
    for _ in range(2):
        eager, compiled = pb.grad(f)(x), pb.jit(pb.grad(f))(x)
        np.testing.assert_allclose(eager, compiled, rtol=2e-6)


def test_the_pullback_of_eager_code_under_other_transformations():
    _, pullback = pb.vjp(lambda x: jnp.sin(x) * x, jnp.asarray(X))
    wanted = np.sin(X) + X * np.cos(X)
    np.testing.assert_allclose(pb.jit(lambda ct: pullback(ct)[0])(jnp.ones(3)), wanted, rtol=1e-6)
    np.testing.assert_allclose(pb.vmap(lambda ct: pullback(ct)[0])(jnp.eye(3)), np.diag(wanted), rtol=1e-6)
    np.testing.assert_allclose(pb.jacrev(lambda ct: pullback(ct)[0])(jnp.ones(3)), np.diag(wanted), rtol=1e-6)
    np.testing.assert_allclose(pb.hessian(lambda x: (jnp.sin(x) * x).sum())(jnp.asarray(X)),
                               np.diag(2 * np.cos(X) - X * np.sin(X)), rtol=1e-6)


def test_the_same_operations_at_another_line_keep_their_own():
    def here(x):
        return jnp.log(x)

    def there(x):
        return jnp.log(x)

    lines = [pb.vjp(f, jnp.asarray(X))[1].static[0].equations[0].source.function for f in (here, there, here)]
    assert lines == ["here", "there", "here"]


def test_settings_that_watch_operations_are_obeyed():
    def f(x):
        return jnp.sqrt(x).sum()

    zero = jnp.zeros(2)
    assert np.isinf(pb.grad(f)(zero)).all()
    with pb.debug_infs(True), pytest.raises(FloatingPointError, match="in the derivative of sqrt"):
        pb.grad(f)(zero)
    with pb.enable_x64(True):
        assert pb.grad(f)(jnp.ones(2)).dtype == np.float64


def test_a_table_that_is_full_is_emptied(monkeypatch):
    monkeypatch.setattr(tape, "_KEPT", 2)
    for n in range(1, 6):
        np.testing.assert_allclose(pb.grad(lambda x: (x ** n).sum())(jnp.asarray(X)), n * X ** (n - 1), rtol=1e-5)  # noqa: B023
    assert len(tape._rules) <= 2 and len(tape._tapes) <= 2
