"""Discrete cosine transforms against real jax, and against SciPy where that does more."""

import doctest

import numpy as np
import pytest
import scipy.fft

import pullback
from tests.same import refused_expressions, same_expressions

jnp = pullback.numpy
X = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def test_second_type():
    same_expressions("""
        scipy.fft.dct(x)
        scipy.fft.dct(x, norm='ortho', axis=0)
        scipy.fft.dct(x, n=3)
        scipy.fft.dct(x, n=8, axis=-2)
        scipy.fft.dct(x + 1j)
        scipy.fft.dct((x * 5).astype(int))
        scipy.fft.dct(x.astype('bfloat16'))
        scipy.fft.dct(jnp.ones((0, 3)))
        scipy.fft.dct(jnp.ones((3, 1)))
        scipy.fft.idct(x)
        scipy.fft.idct(x, norm='ortho', n=9)
        scipy.fft.idct(x + 1j, n=3, axis=0)
        scipy.fft.dctn(x)
        scipy.fft.dctn(x, s=(3, 7), norm='ortho')
        scipy.fft.dctn(x, s=(3,), axes=(1,))
        scipy.fft.dctn(x, axes=())
        scipy.fft.idctn(x, axes=(0,))
        scipy.fft.idctn(x, s=(3, 7))
        engine.grad(lambda x: (scipy.fft.dct(x, norm='ortho') ** 3).sum())(x)""", X, compiled=False)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_all_types_against_scipy(type):
    for n in (2, 5, 6):
        x = np.random.default_rng(n).normal(size=(2, n))
        for norm in (None, "backward", "ortho", "forward"):
            for name in ("dct", "idct", "dctn", "idctn"):
                ours = getattr(pullback.scipy.fft, name)(jnp.asarray(x), type, norm=norm)
                expected = getattr(scipy.fft, name)(x, type, norm=norm)
                np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5, err_msg=f"{name} {n} {norm}")


def test_refused():
    refused_expressions("""
        scipy.fft.dct(x, norm='xx') -> 'backward', 'ortho' or 'forward' is required
        scipy.fft.dct(x, type=5) -> 1, 2, 3 or 4 is required
        scipy.fft.dct(x, n=0) -> n is 0, at least 1
        scipy.fft.dct(x, axis=2) -> axis 2 is out of bounds
        scipy.fft.dct(jnp.ones((3, 0))) -> has size 0
        scipy.fft.dctn(x, axes=(0, 0)) -> name one axis twice""", X)
    with pytest.raises(TypeError, match="got a list"):
        pullback.scipy.fft.dct([1.0, 2.0])


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(pullback.scipy.fft, extraglobs={
        "jnp": jnp, "scipy": pullback.scipy, "jsp": pullback.scipy})
    assert attempted and not failed
