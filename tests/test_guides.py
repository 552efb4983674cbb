"""What the two guides state about vjp and stop_gradient, and the acceptance criteria they ask for."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as jax

jnp = jax.numpy


def model(x):
    return jnp.array([x[0] ** 2 + x[1], x[0] * x[1]])


X = np.array([2.0, 3.0], np.float32)
JACOBIAN = np.array([[4.0, 1.0], [3.0, 2.0]], np.float32)


def test_pullback_gives_the_product_of_cotangent_and_jacobian():
    output, pullback = jax.vjp(model, X)
    np.testing.assert_allclose(output, [7.0, 6.0])
    for ct in ([2.0, -1.0], [1.0, 0.0], [0.0, 1.0]):
        ct = np.array(ct, np.float32)
        (x_ct,) = pullback(ct)
        np.testing.assert_allclose(x_ct, ct @ JACOBIAN)
    np.testing.assert_allclose(jax.jacrev(model)(X), JACOBIAN)


def test_one_cotangent_per_argument_of_the_original_function():
    for count in (1, 2, 3):
        _, pullback = jax.vjp(lambda *xs: sum(xs), *[1.0] * count)
        result = pullback(1.0)
        assert isinstance(result, tuple) and len(result) == count


def test_scalar_output_with_cotangent_one_is_grad():
    def loss(x):
        return jnp.sum(model(x) ** 2)
    _, pullback = jax.vjp(loss, X)
    np.testing.assert_allclose(pullback(1.0)[0], jax.grad(loss)(X))


def test_vjp_agrees_with_jvp():
    _, pullback = jax.vjp(model, X)
    rng = np.random.default_rng(0)
    for _ in range(5):
        v, c = (rng.normal(size=2).astype(np.float32) for _ in range(2))
        _, dot = jax.jvp(model, (X,), (v,))
        np.testing.assert_allclose(c @ dot, pullback(c)[0] @ v, rtol=1e-5)


def test_pullback_refuses_a_cotangent_of_the_inputs_shape():
    def wide(x):
        return jnp.concatenate([x, x])
    _, pullback = jax.vjp(wide, X)
    with pytest.raises(ValueError, match=r"cotangent is f32\[2\], f32\[4\] is required"):
        pullback(X)
    with pytest.raises(ValueError, match="structure"):
        pullback((X, X))


def objective(x):
    frozen_branch = 10.0 * jax.lax.stop_gradient(x)
    return jnp.sum(x * x + frozen_branch)


def test_stop_gradient_keeps_the_value():
    x = np.array([2.0, -3.0], np.float32)
    assert objective(x) == 3.0
    np.testing.assert_array_equal(jax.lax.stop_gradient(x), x)
    np.testing.assert_array_equal(jax.jit(jax.lax.stop_gradient)(x), x)


def test_stop_gradient_stops_both_modes_and_nested_derivatives():
    x = np.array([2.0, -3.0], np.float32)
    np.testing.assert_allclose(jax.grad(objective)(x), 2 * x)
    np.testing.assert_allclose(jax.jacfwd(objective)(x), 2 * x)
    np.testing.assert_allclose(jax.jvp(objective, (x,), (np.ones_like(x),))[1], np.sum(2 * x))
    np.testing.assert_allclose(jax.hessian(objective)(x), 2 * np.eye(2))

    def stopped_slope(y):
        return jax.grad(lambda z: jnp.sum(z ** 3 * jax.lax.stop_gradient(z)))(y)
    np.testing.assert_allclose(jax.jacfwd(lambda y: jnp.sum(stopped_slope(y)))(x), 6 * x * x, rtol=1e-6)


def network(params, batch):
    hidden = jax.nn.relu(batch @ params["trained"]["w"] + params["trained"]["b"])
    return hidden @ params["head"] + batch @ jax.lax.stop_gradient(params["frozen"])


def loss(params, batch, target):
    return jnp.mean((network(params, batch) - target) ** 2)


@pytest.fixture
def setup():
    keys = jax.random.split(jax.random.key(0), 5)
    params = {"trained": {"w": jax.random.normal(keys[0], (3, 8)), "b": jnp.zeros(8)},
              "head": jax.random.normal(keys[1], (8, 2)), "frozen": jax.random.normal(keys[2], (3, 2))}
    return params, jax.random.normal(keys[3], (16, 3)), jax.random.normal(keys[4], (16, 2))


def test_trained_branches_get_gradient_and_the_frozen_one_none(setup):
    gradients = jax.grad(loss)(*setup)
    assert jnp.all(gradients["frozen"] == 0)
    for leaf in jax.tree.leaves((gradients["trained"], gradients["head"])):
        assert jnp.any(leaf != 0)


def test_loss_and_gradients_are_finite_and_of_the_contracts_types(setup):
    value, gradients = jax.value_and_grad(loss)(*setup)
    assert value.shape == () and value.dtype == np.float32 and jnp.isfinite(value)
    assert jax.tree.structure(gradients) == jax.tree.structure(setup[0])
    for p, g in zip(jax.tree.leaves(setup[0]), jax.tree.leaves(gradients), strict=True):
        assert p.shape == g.shape and p.dtype == g.dtype and jnp.all(jnp.isfinite(g))


def test_invalid_input_raises(setup):
    params, batch, target = setup
    with pytest.raises(TypeError, match=r"matmul(.|\n)*f32\[16,2\](.|\n)*f32\[3,8\]"):
        network(params, batch[:, :2])
    with pytest.raises(ValueError, match="broadcast"):
        loss(params, batch, target[:, [0, 1, 0]])


def test_eager_jit_and_vmap_agree(setup):
    params, batch, target = setup
    eager = network(params, batch)
    np.testing.assert_allclose(jax.jit(network)(params, batch), eager, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jax.vmap(network, (None, 0))(params, batch), eager, rtol=1e-4, atol=1e-5)
    for a, b in zip(jax.tree.leaves(jax.grad(loss)(*setup)), jax.tree.leaves(jax.jit(jax.grad(loss))(*setup)),
                    strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_same_key_same_numbers_other_key_other_numbers():
    first, second = jax.random.split(jax.random.key(1))
    draw = jax.random.normal
    np.testing.assert_array_equal(draw(first, (4,)), draw(first, (4,)))
    assert not jnp.array_equal(draw(first, (4,)), draw(second, (4,)))


def test_device_and_versions_can_be_reported():
    assert jax.devices()[0].platform == jax.default_backend() == "cpu"
    assert jax.__version__
