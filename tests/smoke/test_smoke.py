"""The public interface in a few lines: it must work on every jaxlib that pyproject.toml allows.

Nothing beside pullback and pytest is needed here, so that it runs where no real jax can be installed.
"""

import numpy as np
import pytest

import pullback as jax
import pullback.numpy as jnp


def energy(x, weight):
    return jnp.sum(jnp.sin(x) * weight + x ** 2)


X = np.array([0.5, -1.0, 2.0], np.float32)
WEIGHT = np.array([1.0, 2.0, -3.0], np.float32)
GRADIENT = np.cos(X) * WEIGHT + 2 * X


def test_eager():
    result = energy(jnp.asarray(X), jnp.asarray(WEIGHT))
    assert isinstance(result, jax.Array)
    assert result.shape == () and result.dtype == np.float32
    np.testing.assert_allclose(np.asarray(result), np.sum(np.sin(X) * WEIGHT + X ** 2), rtol=1e-5)


def test_grad():
    gradient = jax.grad(energy)(jnp.asarray(X), jnp.asarray(WEIGHT))
    np.testing.assert_allclose(np.asarray(gradient), GRADIENT, rtol=1e-5)


def test_jit_compiles():
    compiled = jax.jit(jax.value_and_grad(energy, argnums=(0, 1)))
    value, (by_x, by_weight) = compiled(jnp.asarray(X), jnp.asarray(WEIGHT))
    np.testing.assert_allclose(np.asarray(value), np.sum(np.sin(X) * WEIGHT + X ** 2), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(by_x), GRADIENT, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(by_weight), np.sin(X), rtol=1e-5)
    assert "stablehlo" in compiled.lower(jnp.asarray(X), jnp.asarray(WEIGHT)).as_text()


def test_vmap_under_jit():
    batch = np.stack([X, 2 * X, 3 * X])
    per_example = jax.jit(jax.vmap(jax.grad(energy), in_axes=(0, None)))
    result = per_example(jnp.asarray(batch), jnp.asarray(WEIGHT))
    np.testing.assert_allclose(np.asarray(result), np.cos(batch) * WEIGHT + 2 * batch, rtol=1e-5)


def test_vjp_pullback_is_callable_again():
    output, pull = jax.vjp(lambda x: x * x, jnp.asarray(X))
    for cotangent in (np.ones(3, np.float32), np.array([1, 0, -2], np.float32)):
        (result,) = pull(jnp.asarray(cotangent))
        np.testing.assert_allclose(np.asarray(result), 2 * X * cotangent, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(output), X * X, rtol=1e-6)


def test_a_wrong_cotangent_is_refused():
    _, pull = jax.vjp(lambda x: x * x, jnp.asarray(X))
    with pytest.raises((TypeError, ValueError), match=r"3[\s\S]*4|4[\s\S]*3"):
        pull(jnp.ones((4,)))
