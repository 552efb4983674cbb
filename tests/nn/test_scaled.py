"""Products of block-scaled floats against real jax."""

import doctest
import importlib

import jax
import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp, nn = pullback.numpy, pullback.nn
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 4, 64)).astype(np.float32), RNG.normal(size=(2, 3, 64)).astype(np.float32)
DIMS = (((2,), (2,)), ((0,), (0,)))

pytestmark = pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="not in this jax")


def test_products():
    same_expressions("""
        nn.scaled_dot_general(x, y, d)
        nn.scaled_dot_general(x, y, d, configs=[nn.get_scaled_dot_general_config('mxfp8')] * 3)
        nn.scaled_dot_general(x, y, d, configs=[nn.get_scaled_dot_general_config('nvfp4')] * 3)
        nn.scaled_dot_general(x, y, d, configs=[nn.get_scaled_dot_general_config('nvfp4', jnp.float32(.5))] * 3)
        nn.scaled_dot_general(x[0].T, y[0], (((0,), (1,)), ((), ())), configs=[
            nn.get_scaled_dot_general_config('mxfp8')] * 3)
        nn.scaled_matmul(x.astype('float8_e4m3fn'), y.astype('float8_e4m3fn'), jnp.full((2, 4, 2), 2.,
            'float8_e8m0fnu'), jnp.ones((2, 3, 2), 'float8_e8m0fnu'))""".replace("[\n            nn", "[nn").replace(
                "2.,\n            ", "2., "), X, Y, d=DIMS, rtol=1e-4, atol=1e-4)
    config = nn.get_scaled_dot_general_config("mxfp8")
    assert not np.isnan(nn.scaled_dot_general(X * 0, Y, DIMS, configs=[config] * 3)).any()  # NaN in real jax
    x, y = (pullback.grad(lambda *xs: nn.scaled_dot_general(*xs, DIMS, configs=[config] * 3).sum(), i)(X, Y)
            for i in (0, 1))
    np.testing.assert_allclose(x, np.broadcast_to(Y.sum(1, keepdims=True), X.shape), rtol=1e-5)
    np.testing.assert_allclose(y, np.broadcast_to(X.sum(1, keepdims=True), Y.shape), rtol=1e-5, atol=1e-5)


def test_refused():
    refused_expressions("""
        nn.get_scaled_dot_general_config('xx') -> 'mxfp8' or 'nvfp4'
        nn.scaled_dot_general(x[..., :9], y[..., :9], d, configs=[nn.get_scaled_dot_general_config('mxfp8')]) -> 32
        nn.scaled_matmul(x[0], y[0], x[0], y[0]) -> three axes each
        nn.scaled_matmul(x, y, jnp.ones((2, 4, 3)), jnp.ones((2, 3, 2))) -> one for each block
        nn.scaled_matmul(x, y[:1], jnp.ones((2, 4, 2)), jnp.ones((1, 3, 2))) -> must agree in batch""", X, Y, d=DIMS)
    with pytest.raises(ValueError, match="None or 'cudnn'"):
        nn.scaled_dot_general(X, Y, DIMS, implementation="other")


def test_examples_in_docstrings():
    module = importlib.import_module("pullback.nn.scaled")
    failed, attempted = doctest.testmod(module, extraglobs={"jnp": jnp, "nn": nn})
    assert attempted and not failed
