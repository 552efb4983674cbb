"""Sparse Jacobians: equal to the dense ones, no larger than they need be, and safe where the numbers decide."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import pullback as pb
from pullback.experimental import sparsity
from pullback.ops import dependence
from tests import random_programs

jnp, lax = pb.numpy, pb.lax
RNG = np.random.default_rng(0)
X = RNG.normal(size=12).astype(np.float32)
M = RNG.normal(size=(4, 5)).astype(np.float32)
SELECTION = np.zeros((7, 12), np.float32)
SELECTION[np.arange(7), np.arange(7)] = 2
SELECTION[3, 9] = 1
STENCIL = np.float32([[0, 1, 0], [1, -4, 1], [0, 1, 0]])[None, None]


def heat(x):
    return lax.scan(lambda c, _: (c + 0.1 * (jnp.roll(c, 1) - 2 * c + jnp.roll(c, -1)), None), x, None, length=3)[0]


def image(m, kernel):
    return lax.conv_general_dilated(m[None, None], kernel, (1, 1), "SAME")[0, 0]


# name: function, argument, elements that are stored
FUNCTIONS = {
    "elements": (lambda x: x ** 2 + jnp.sin(x), X, 12),
    "neighbours": (lambda x: x[1:] * x[:-1], X, 22),
    "roll": (lambda x: jnp.roll(x, 1) + jnp.sin(x) * jnp.roll(x, -1), X, 36),
    "convolve": (lambda x: jnp.convolve(x, jnp.array([1.0, -2, 1]), mode="same"), X, 34),
    "pad": (lambda m: jnp.pad(m, 1)[1:-1, 2:] - m, M, 36),
    "sum": (lambda m: m.sum(0), M, 20),
    "moves": (lambda m: m.T.reshape(10, 2)[::-1], M, 20),
    "where": (lambda m: jnp.where(m > 0, m, m * 2), M, 20),
    "known matrix": (lambda x: SELECTION @ jnp.tanh(x), X, 8),
    "matrix": (lambda m: m @ m.T, M, 140),
    "maximum": (lambda m: jnp.exp(m).max(1), M, 20),
    "softmax": (lambda m: pb.nn.softmax(m), M, 100),
    "indexing": (lambda x: x[jnp.array([3, 1, 1])] * 2, X, 3),
    "scatter": (lambda x: jnp.zeros(20).at[jnp.arange(12) // 2].add(x), X, 12),
    "set": (lambda x: x.at[2].set(x[5]), X, 13),
    "cumsum": (lambda x: jnp.cumsum(x) - x, X, 78),
    "cumsum, reversed": (lambda x: lax.cumsum(x, reverse=True), X, 78),
    "scan over carries": (heat, X, 84),
    "scan over rows": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c * y), 0.0, x)[1], X, 78),
    "scan, reversed": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c * y), 0.0, x, reverse=True)[1], X, 78),
    "cond": (lambda x: lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x[::-1], x), X, 24),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x), X, 12),
    "jit": (lambda x: pb.jit(lambda y: y * jnp.flip(y))(x), X, 24),
    "checkpoint": (lambda x: pb.checkpoint(lambda y: jnp.sin(y) * y)(x), X, 12),
    "scalar": (lambda x: jnp.sum(x ** 2), X, 12),
    "constant": (lambda x: jnp.ones(3), X, 0),
    "integers on the way": (lambda x: jnp.round(x).astype(int) * 1.0, X, 0),
    "of a number": (lambda s: s * jnp.arange(3.0), np.float32(2), 3),
    "stencil": (lambda m: image(m, STENCIL), M, 20 + 2 * (3 * 5 + 4 * 4)),
    "kernel": (lambda m: image(m, jnp.ones((1, 1, 3, 3)) * m[0, 0]), M, 146),
    "norm": (lambda x: jnp.linalg.norm(x.reshape(3, 4), axis=1), X, 12),
    "stack": (lambda x: jnp.stack([x, x * 2], 1), X, 24),
    "einsum": (lambda x: jnp.einsum("ij,ij->i", x.reshape(3, 4), x.reshape(3, 4)), X, 12),
    "sorted": (lambda x: jnp.sort(x), X, 144),
    "position from the numbers": (lambda x: x[jnp.argsort(x)], X, 144),
    "window from the numbers": (lambda x: lax.dynamic_slice(x, (jnp.argmax(x),), (3,)), X, 36),
    "of nothing": (lambda x: x[:0] * 2, X, 0),
    "of an array of nothing": (lambda x: jnp.concatenate([x, jnp.ones(2)]), X[:0], 0),
    "custom rule": (pb.custom_jvp(lambda x: x * 2), X, 12),
}
FUNCTIONS["custom rule"][0].defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * 3))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_the_dense_jacobian(name):
    f, x, stored = FUNCTIONS[name]
    dense = pb.jacfwd(f)(x)
    for mode in (None, "forward", "reverse"):
        for found in (pb.sparse_jacobian(f, mode=mode)(x), pb.jit(pb.sparse_jacobian(f, mode=mode))(x)):
            assert found.shape == dense.shape and found.nse == stored
            np.testing.assert_allclose(found.todense(), dense, rtol=1e-5, atol=1e-6)
    pattern = pb.jacobian_pattern(f)(x)
    assert pattern.dtype == bool and pattern.nse == stored
    np.testing.assert_array_equal(pattern.indices, found.indices)


@pytest.mark.parametrize("name", ["neighbours", "roll", "softmax", "scan over carries", "norm", "scatter"])
def test_equals_real_jax(name):
    f, x, _ = FUNCTIONS[name]
    theirs = {"neighbours": lambda x: x[1:] * x[:-1],
              "roll": lambda x: jax.numpy.roll(x, 1) + jax.numpy.sin(x) * jax.numpy.roll(x, -1),
              "softmax": lambda m: jax.nn.softmax(m),
              "scan over carries": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c + 0.1 * (
                  jax.numpy.roll(c, 1) - 2 * c + jax.numpy.roll(c, -1)), x),
              "norm": lambda x: jax.numpy.linalg.norm(x.reshape(3, 4), axis=1),
              "scatter": lambda x: jax.numpy.zeros(20).at[jax.numpy.arange(12) // 2].add(x)}[name]
    np.testing.assert_allclose(pb.sparse_jacobian(f)(x).todense(), jax.jacfwd(theirs)(x), rtol=1e-5, atol=1e-6)


def test_a_pattern_holds_for_other_numbers():
    """Where numbers decide, all that may happen is in the pattern."""
    def f(x):
        y = jnp.where(x > 0, x, x[::-1])
        return lax.cond(y[0] > 0, lambda y: y * 2, lambda y: jnp.roll(y, 1), y)[jnp.argmax(x)] + x

    jacobian = pb.jit(pb.sparse_jacobian(f))
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=6).astype(np.float32)
        np.testing.assert_allclose(jacobian(x).todense(), pb.jacfwd(f)(x), rtol=1e-5, atol=1e-6)


def test_positions_that_are_given_are_known_where_they_have_numbers():
    def f(x, at):
        return x[at] * 3

    at = np.int32([4, 2])
    assert pb.sparse_jacobian(f)(X, at).nse == 2
    assert pb.jit(lambda x: pb.sparse_jacobian(f)(x, at).data)(X).shape == (2,)
    traced = pb.jit(pb.sparse_jacobian(f))(X, at)
    assert traced.nse == 24
    np.testing.assert_allclose(traced.todense(), pb.jacfwd(f)(X, at))


def test_many_elements_take_few_products(monkeypatch):
    passes, made = [], sparsity._seeds
    monkeypatch.setattr(sparsity, "_seeds", lambda *args: passes.append(made(*args)) or passes[-1])

    def f(x):
        return jnp.roll(x, 1) * x - jnp.sin(jnp.roll(x, -1))

    x = np.linspace(0, 1, 20_000).astype(np.float32)
    jacobian = pb.sparse_jacobian(f)(x)
    assert jacobian.nse == 60_000 and passes[0].shape == (5, 20_000)  # 3 would do
    v = np.ones_like(x)
    np.testing.assert_allclose(jacobian @ v, pb.jvp(f, (x,), (v,))[1], rtol=1e-5, atol=1e-5)
    row = pb.sparse_jacobian(lambda x: jnp.concatenate([x, jnp.sum(x ** 2)[None]]))(x[:500])
    assert row.nse == 1000 and passes[1].shape == (2, 501)  # backward: forward, each column meets each in the last row
    column = pb.sparse_jacobian(lambda x: x * x[0])(x[:500])
    assert column.nse == 999 and passes[2].shape == (2, 500)


def test_the_other_arguments_and_the_other_argument():
    def f(a, x, *, scale):
        return a[0] * x ** 2 * scale

    for argnums in (1, -1):
        found = pb.sparse_jacobian(f, argnums)(jnp.ones(2), X, scale=3.0)
        np.testing.assert_allclose(found.todense(), np.diag(6 * X), rtol=1e-6)
    assert pb.sparse_jacobian(f)(jnp.ones(2), X, scale=3.0).shape == (12, 2)


def test_hessian():
    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    found = pb.sparse_hessian(rosenbrock)(X)
    assert found.nse == 34
    np.testing.assert_allclose(found.todense(), pb.hessian(rosenbrock)(X), rtol=1e-4, atol=1e-3)


def test_it_is_differentiated_and_batched_again():
    f = FUNCTIONS["roll"][0]
    by_sparse = pb.grad(lambda x: jnp.sum(pb.sparse_jacobian(f)(x).data ** 3))(X)
    by_dense = pb.grad(lambda x: jnp.sum(pb.jacfwd(f)(x) ** 3))(X)
    np.testing.assert_allclose(by_sparse, by_dense, rtol=1e-4, atol=1e-5)
    rows = pb.vmap(lambda x: pb.sparse_jacobian(f)(x).data)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(rows[1], pb.sparse_jacobian(f)(2 * X).data, rtol=1e-6)


@pytest.mark.parametrize("call, error, said", [
    (lambda: pb.sparse_jacobian(lambda x: x, mode="both"), ValueError, "'forward', 'reverse' or None"),
    (lambda: pb.sparse_jacobian(lambda x: x, (0, 1))(X, X), TypeError, "an int is required"),
    (lambda: pb.sparse_jacobian(lambda x: x, 3)(X), Exception, "argnums 3 is out of range"),
    (lambda: pb.sparse_jacobian(lambda t: t["a"])({"a": X}), TypeError, "argument 0 of .* is f32\\[12\\]; one array"),
    (lambda: pb.sparse_jacobian(lambda x: x * 1.0)(np.arange(3)), TypeError, "one array of real floats"),
    (lambda: pb.sparse_jacobian(lambda x: (x, x))(X), TypeError, "returned f32\\[12\\], f32\\[12\\]; one array"),
    (lambda: pb.jacobian_pattern(lambda x: x > 0)(X), TypeError, "jacobian_pattern: .* returned bool\\[12\\]"),
    (lambda: pb.sparse_hessian(lambda x: x)(X), TypeError, "scalar"),
    (lambda: pb.sparse_jacobian("f"), TypeError, "function"),
])
def test_errors(call, error, said):
    with pytest.raises(error, match=said) as caught:
        call()
    assert "fix:" in str(caught.value) and "test_sparsity.py" in str(caught.value)


def test_what_is_not_sparse_is_refused(monkeypatch):
    monkeypatch.setattr(dependence, "_MOST", 100)
    with pytest.raises(ValueError, match="144 elements of the Jacobian may not be zero.*") as caught:
        pb.sparse_jacobian(lambda x: jnp.sort(x))(X)
    assert "jacfwd" in str(caught.value)


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(random_programs.programs(12))
def test_random_programs(program):
    steps, inputs, smooth = program
    if not smooth:
        return
    with pb.enable_x64(True):
        inputs = [jnp.asarray(x) for x in inputs]
        refused = random_programs.run(pb, steps, inputs)[1]

        def f(x):
            made = random_programs.evaluate(steps, [x, *inputs[1:]], refused)
            floats = [jnp.ravel(o) for o in made if o.dtype == jnp.float64]
            return jnp.concatenate(floats) if floats else jnp.zeros(1)

        dense, found = (np.asarray(j) for j in (pb.jacfwd(f)(inputs[0]), pb.sparse_jacobian(f)(inputs[0]).todense()))
        finite = np.isfinite(dense) & np.isfinite(found)
        scale = max(1.0, np.abs(dense[finite]).max(initial=0))
        np.testing.assert_allclose(found[finite] / scale, dense[finite] / scale, rtol=1e-6, atol=1e-9)
