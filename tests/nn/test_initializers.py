"""pullback.nn.initializers against real jax: the same numbers for the same key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback import nn, random
from pullback.nn import initializers
from tests.numpy.against_jax import close, ours

KEY = 42


def compare(name, *args, shape=(3, 4), dtype=None, rtol=None, **kwargs):
    mine = getattr(initializers, name)(*args, **kwargs)
    real = getattr(jax.nn.initializers, name)(*args, **kwargs)
    assert isinstance(mine, initializers.Initializer)
    asked = () if dtype is None else (dtype,)
    close(mine(random.key(KEY), shape, *asked), real(jax.random.key(KEY), shape, *asked),
          (name, args, kwargs, shape, dtype), rtol)


def test_constants():
    for name in ("zeros", "ones"):
        for dtype in (None, "bfloat16", "int32", "complex64"):
            close(getattr(initializers, name)(None, (2, 3), dtype),
                  getattr(jax.nn.initializers, name)(None, (2, 3), dtype), name)
    compare("constant", 2)
    compare("constant", 2.5, shape=(2,), dtype="int32")
    compare("constant", 2.5, "bfloat16")
    mine = initializers.constant(ours(np.float32([1, 2, 3])))(None, (2, 3))
    close(mine, jax.nn.initializers.constant(jnp.float32([1, 2, 3]))(None, (2, 3)), "array")


@pytest.mark.parametrize("dtype", [None, "float32", "bfloat16", "float16", "complex64"])
def test_one_distribution(dtype):
    rtol = 2e-2 if dtype in ("bfloat16", "float16") else 1e-5
    compare("normal", dtype=dtype, rtol=rtol)
    compare("normal", 3, dtype=dtype, rtol=rtol)
    if dtype != "complex64":
        compare("uniform", dtype=dtype, rtol=rtol)
        compare("uniform", 0.1, dtype, rtol=rtol)
        compare("uniform", 2.5, dtype=dtype, rtol=rtol)
        compare("truncated_normal", dtype=dtype, rtol=rtol)
        compare("truncated_normal", 0.5, lower=-1.0, upper=3, dtype=dtype, rtol=rtol)
    compare("normal", 0.1, dtype, rtol=rtol)


@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg", "fan_geo_avg"])
@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
def test_variance_scaling(mode, distribution):
    compare("variance_scaling", 1.7, mode, distribution, rtol=1e-6)
    compare("variance_scaling", 2, mode, distribution, shape=(3, 3, 4, 5), rtol=1e-6)
    compare("variance_scaling", 2.0, mode, distribution, dtype="complex64", rtol=1e-5)


@pytest.mark.parametrize("name", ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "kaiming_normal",
                                  "kaiming_uniform", "lecun_normal", "lecun_uniform", "xavier_normal",
                                  "xavier_uniform"])
def test_named_ones(name):
    compare(name, rtol=1e-6)
    compare(name, dtype="bfloat16", rtol=2e-2)


@pytest.mark.parametrize("kwargs, shape", [
    (dict(batch_axis=0), (3, 4, 5)), (dict(in_axis=(0, 1), out_axis=2), (3, 4, 5)),
    (dict(in_axis=-1, out_axis=-2), (3, 4)),
    (dict(in_axis=0, out_axis=1, batch_axis=(2,)), (3, 4, 5)), (dict(in_axis=0, out_axis=0), (5,)),
    (dict(dtype=jnp.bfloat16), (3, 4))])
def test_axes(kwargs, shape):
    compare("lecun_normal", shape=shape, rtol=2e-2 if "dtype" in kwargs else 1e-6, **kwargs)


def test_no_weights():
    assert initializers.lecun_normal()(random.key(KEY), (0, 3)).shape == (0, 3)


def test_variance_is_what_it_says():
    x = np.asarray(initializers.he_normal()(random.key(0), (400, 300)))
    np.testing.assert_allclose(x.var(), 2 / 400, rtol=2e-2)
    z = np.asarray(initializers.variance_scaling(1.0, "fan_in", "uniform")(random.key(0), (400, 300), "complex64"))
    np.testing.assert_allclose((abs(z) ** 2).mean(), 1 / 400, rtol=2e-2)


def test_under_jit_and_raw_keys():
    f = pullback.jit(lambda key: initializers.lecun_normal()(key, (3, 4)))
    close(f(random.key(KEY)), jax.nn.initializers.lecun_normal()(jax.random.key(KEY), (3, 4)), "jit", 1e-5)
    close(initializers.normal()(random.PRNGKey(KEY), 3), jax.nn.initializers.normal()(jax.random.PRNGKey(KEY), 3),
          "raw", 1e-5)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: initializers.he_normal()(random.key(0), (3,)), ValueError,
     ["in_axis is -2, which an array of shape (3,)"]),
    (lambda: initializers.he_normal(in_axis=5)(random.key(0), (3, 4)), ValueError, ["in_axis is 5"]),
    (lambda: initializers.variance_scaling(1.0, "fan", "normal"), ValueError, ["mode is 'fan'; 'fan_in', 'fan_out'"]),
    (lambda: initializers.variance_scaling(1.0, "fan_in", "x"), ValueError,
     ["distribution is 'x'; 'truncated_normal'"]),
    (lambda: initializers.uniform()(random.key(0), (2,), "int32"), ValueError,
     ["dtype is i32, a float dtype is required"]),
    (lambda: initializers.uniform()(random.key(0), (2,), "complex64"), ValueError, ["dtype is c64, a float dtype"]),
    (lambda: initializers.normal()(random.key(0), (2,), "int32"), ValueError,
     ["dtype is i32, a float or complex dtype"]),
    (lambda: initializers.constant(ours(np.ones(2, np.float32)))(None, (2, 3)), ValueError,
     ["cannot be broadcast to shape"]),
    (lambda: initializers.nothing, pullback.errors.UnsupportedError, ["initializers.nothing is not supported"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_names():
    assert initializers.kaiming_uniform is initializers.he_uniform
    assert not isinstance(3, initializers.Initializer) and isinstance(initializers.zeros, initializers.Initializer)
    assert nn.initializers is initializers
    assert {n for n in dir(jax.nn.initializers) if not n.startswith("_")} <= {*initializers.__all__}
    assert {n for n in dir(jax.nn) if not n.startswith("_")} <= {*nn.__all__}


def test_orthogonal():
    compare("orthogonal", rtol=1e-4)
    compare("orthogonal", 2.0, 1, shape=(3, 2, 4), rtol=1e-4)
    for axis in (0, -1):
        for shape in ((3, 3), (2, 3, 6), (6, 3, 2), (2, 5), (5, 2)):  # squares among them
            compare("orthogonal", 1.0, axis, shape=shape, rtol=1e-4)
    compare("orthogonal", shape=(2, 3), dtype="complex64", rtol=1e-4)
    for shape in ((3, 3, 2, 4), (4, 3, 3)):
        compare("delta_orthogonal", 2.0, shape=shape, rtol=1e-4)
    for name, shape, part in [("orthogonal", (3,), "at least two axes"),
                              ("delta_orthogonal", (3, 4, 2), "no more inputs"),
                              ("delta_orthogonal", (3, 2), "three to five axes")]:
        with pytest.raises(ValueError, match=part):
            getattr(initializers, name)()(random.key(0), shape)
