"""Orthogonal matrices and correlated normal numbers, against real jax."""

import jax
import numpy as np
import pytest

import pullback
from pullback import random
from pullback.core.values import value

MEAN, COV = np.float32([1, 2]), np.float32([[2, 1], [1, 3]])


def compare(name, *args, **kwargs):
    theirs = getattr(jax.random, name)(jax.random.key(3), *args, **kwargs)
    ours = getattr(random, name)(random.key(3), *[value(x) if isinstance(x, np.ndarray) else x for x in args], **kwargs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("args, kwargs", [((3, (2,)), {}), ((3,), dict(m=2)), ((2,), dict(m=3)), ((0,), {}),
                                          ((3,), dict(dtype="complex64"))])
def test_orthogonal(args, kwargs):
    compare("orthogonal", *args, **kwargs)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal(method):
    compare("multivariate_normal", MEAN, COV, (3,), method=method)


def test_shapes_of_multivariate_normal():
    compare("multivariate_normal", MEAN, np.stack([COV, COV]))
    compare("multivariate_normal", np.stack([MEAN, MEAN]), COV, (3, 2))
    compare("multivariate_normal", MEAN, -COV)  # NaN
    key = random.key(0)
    gradient = pullback.grad(lambda cov: random.multivariate_normal(key, value(MEAN), cov).sum())(value(COV))
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("call, error, part", [
    (lambda key: random.orthogonal(key, -1), ValueError, "n is -1"),
    (lambda key: random.orthogonal(key, 3, dtype="float16"), TypeError, "a dtype of float32"),
    (lambda key: random.orthogonal(key, 3, dtype="int32"), ValueError, "a float or complex dtype"),
    (lambda key: random.multivariate_normal(key, value(MEAN), value(COV), method="x"), ValueError, "method is 'x'"),
    (lambda key: random.multivariate_normal(key, value(MEAN), value(MEAN)), ValueError, "cov is f32[2]"),
    (lambda key: random.multivariate_normal(key, value(COV), value(COV), (3,)), ValueError, "do not broadcast"),
])
def test_errors(call, error, part):
    with pytest.raises(error) as caught:
        call(random.key(0))
    assert part in str(caught.value) and "\n  fix: " in str(caught.value)
