"""Arrays read between their elements, against real jax."""

import doctest

import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp = pullback.numpy
X = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
C = np.random.default_rng(1).uniform(-6, 9, size=(2, 3, 4)).astype(np.float32)
HALF = np.float32([[0.5, 1.5, 2.5, -0.5], [0.5, 0.5, 1.5, 2.5]])


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "wrap"])
def test_modes(mode):
    same_expressions("""
        f(x, y, 0, mode=mode)
        f(x, y, 1, mode, 7)
        f(x[:1], y, 1, mode=mode)
        engine.grad(lambda y: f(x, y, 1, mode).sum())(y)
        engine.grad(lambda x: (f(x, y, 1, mode) ** 2).sum())(x)""".replace("f(", "scipy.ndimage.map_coordinates("),
                     X, C, mode=mode, compiled=False)


def test_dtypes_and_shapes():
    same_expressions("""
        f(k, y, 1)
        f(k, y, 0)
        f(k, y, 1, cval=2.7)
        f(k.astype('uint8'), y, 1)
        f(k > 3, y, 1)
        f(k + 1j, y, 1)
        f(x.astype('bfloat16'), y, 1)
        f(x, y.astype('bfloat16'), 1)
        f(x, jnp.array([[1, 2], [2, 9]]), 1)
        f(x, [1.5, 2.5], 1)
        f(x, (jnp.array([[1.], [2.]]), jnp.array([2, 9.])), 1)
        f(x, jnp.zeros((2, 0)), 1)""".replace("f(", "scipy.ndimage.map_coordinates(").replace(
            "k", "jnp.arange(20).reshape(4, 5)"), X, HALF)


def test_refused():
    refused_expressions("""
        scipy.ndimage.map_coordinates(x, y, 2) -> order is 2, 0 or 1
        scipy.ndimage.map_coordinates(x, y, 1, mode='bla') -> one of constant, nearest
        scipy.ndimage.map_coordinates(x, y[:1], 1) -> coordinates for 1 axes
        scipy.ndimage.map_coordinates(x[:0], y, 1, mode='wrap') -> no elements to read""", X, C)


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(pullback.scipy.ndimage, extraglobs={"jnp": jnp, "scipy": pullback.scipy})
    assert attempted and not failed
