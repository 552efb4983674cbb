"""Images resampled, against real jax."""

import doctest

import jax
import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp, image = pullback.numpy, pullback.image
X = np.random.default_rng(0).normal(size=(6, 5, 2)).astype(np.float32)
COUNT = np.arange(12, dtype=np.int32).reshape(3, 4)
METHODS = ("linear", "cubic", "lanczos3", "lanczos5", *(["cubic-pytorch", "area"] if jax.__version_info__ >= (0, 11)
                                                        else []))


@pytest.mark.parametrize("method", METHODS)
def test_resize(method):
    same_expressions("""
        image.resize(x, (3, 7, 2), method)
        image.resize(x, (13, 5, 1), method, antialias=False)
        image.resize(x, (4, 2, 2), method, antialias=False)
        image.scale_and_translate(x, (4, 9, 2), (0, -2), z + 1.2, y, method, False)""",
                     X, np.float32([1.5, 0.7]), np.float32([0.3, -1]), method=method, compiled=False, rtol=1e-4,
                     atol=1e-4)


def test_derivatives():
    same_expressions("""
        engine.grad(lambda y: (image.scale_and_translate(x, (4, 4, 2), (0, 1), y, z, 'cubic') ** 2).sum())(y)
        engine.grad(lambda z: (image.scale_and_translate(x, (4, 4, 2), (0, 1), y, z, 'linear') ** 2).sum())(z)
        engine.grad(lambda x: (image.resize(x, (3, 5, 2), 'lanczos3') ** 2).sum())(x)
        engine.vmap(lambda x: image.resize(x, (3, 2), 'linear'))(x)""",
                     X, np.float32([1.5, 0.7]), np.float32([0.3, -1]), rtol=1e-4, atol=1e-4)


def test_names_and_dtypes():
    same_expressions("""
        image.resize(x, (3, 7, 2), 'nearest')
        image.resize(x, (12, 5, 1), 'nearest')
        image.resize(x, (6, 5, 2), 'cubic')
        image.resize(x[:1, 0, 0], (2,), image.ResizeMethod.LANCZOS3, precision='default')
        image.resize(x, (0, 5, 2), 'cubic')
        image.resize(x, (0, 5, 2), 'nearest')
        image.resize(y, (2, 2), 'linear')
        image.resize(y, (2, 2), 'nearest')
        image.resize(y.astype('uint8'), (2, 6), 'cubic')
        image.resize(y > 3, (2, 2), 'linear')
        image.resize(y > 3, (2, 2), 'nearest')
        image.resize(y + 1j, (2, 6), 'linear')
        image.scale_and_translate(x, (6, 5, 2), (0, 1), jnp.array([-1., 1]), jnp.array([6., 0]), 'linear')
        image.scale_and_translate(y, (3, 4), (0, 1), jnp.array([1, 2]), jnp.array([0, 1]), 'linear')
        engine.grad(lambda x: (image.resize(x, (3, 7, 2), 'nearest') ** 2).sum())(x)""", X, COUNT, compiled=False)
    same_expressions("""
        image.resize(y.astype('bfloat16'), (2, 6), 'linear')
        image.resize(y.astype('float16'), (2, 6), 'cubic')""", X, COUNT, rtol=1e-2)
    for word in ("linear", "bilinear", "trilinear", "triangle", "cubic", "bicubic", "tricubic", "lanczos5", "nearest"):
        assert image.ResizeMethod.from_string(word).name == jax.image.ResizeMethod.from_string(word).name
    theirs = {method.name: method.value for method in jax.image.ResizeMethod}
    assert theirs.items() <= {method.name: method.value for method in image.ResizeMethod}.items()


def test_refused():
    refused_expressions("""
        image.resize(x, (6, 5), 'cubic') -> 3 sizes of 0 or more are required
        image.resize(jnp.zeros((0, 3)), (2, 3), 'linear') -> has no elements
        image.resize(x, (3, 5, 2), 'xx') -> one of nearest, linear
        image.resize(x, (3, 5, 2), 3) -> a ResizeMethod or its name
        image.scale_and_translate(x, (4, 4, 2), (0, 1), jnp.ones(2), jnp.ones(2), 'nearest') -> NEAREST
        image.scale_and_translate(x, (4, 5, 2), (0, 1), jnp.ones(1), jnp.ones(1), 'linear') -> one number for each of 2
        image.scale_and_translate(x, (4, 5, 2), (9,), jnp.ones(1), jnp.ones(1), 'linear') -> axis 9 is out of bounds""",
                        X)
    with pytest.raises(TypeError, match="got a list"):
        image.resize([[1.0]], (2, 2), "linear")
    with pytest.raises(ValueError, match="axis 1 of f32.* is not scaled"):  # real jax leaves the axis as it is
        image.scale_and_translate(X, (4, 4, 2), (0,), jnp.ones(1), jnp.ones(1), "linear")
    with pytest.raises(AttributeError, match="pullback.image.rotate is not supported"):
        image.rotate  # noqa: B018


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(image, extraglobs={"jnp": jnp, "image": image})
    assert attempted and not failed
