"""pullback.nn's activations against real jax: values, dtypes, weak types, derivatives, also at the edges."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback import nn
from tests.numpy.against_jax import close, ours, same, weak

NAN, INF = math.nan, math.inf
SMOOTH = ["gelu", "log_sigmoid", "mish", "sigmoid", "silu", "softplus", "squareplus", "swish", "tanh", "soft_sign"]
PIECEWISE = ["celu", "elu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu", "relu",
             "relu6", "selu", "sparse_plus", "sparse_sigmoid"]
ALL = SMOOTH + PIECEWISE
POINTS = np.float32([0, -0.0, 1e-9, -1e-9, 0.5, -0.5, 1, -1, 2, -2, 3, -3, 6, 7, -20, 20, 88, -88, 1e3, -1e3])
FAR = np.float32([1e30, -1e30, INF, -INF])
INTEGERS = {"sigmoid", "silu", "swish"}  # are for floats alone


# Where real jax takes -x or -1 in the dtype of x.
WRAPPED = {("log_sigmoid", "bool"), ("log_sigmoid", "uint8"), ("hard_tanh", "uint8")}


def theirs(name):
    return getattr(jax.nn, name)


@pytest.mark.parametrize("name", ALL)
def test_values_and_derivatives(name):
    # The forms of gelu differ in the last places of 1 + tanh, which are lost near -1.
    same(getattr(nn, name), theirs(name), POINTS, grad=True, rtol=2e-6 if name == "gelu" else 2e-5)
    grads = pullback.vmap(pullback.grad(getattr(nn, name)))(ours(POINTS))
    close(grads, jax.vmap(jax.grad(theirs(name)))(POINTS), name, 1e-5)
    jitted = pullback.jit(pullback.vmap(pullback.grad(getattr(nn, name))))(ours(POINTS))
    close(jitted, jax.vmap(jax.grad(theirs(name)))(POINTS), name, 1e-5)


@pytest.mark.parametrize("name", ALL)
def test_second_derivatives(name):
    # celu and sparse_sigmoid in real jax halve twice at their kinks.
    points = np.float32([0.3, -0.4, 1.5, -1.7, 4, -5, 30, -30]) if name in ("celu", "sparse_sigmoid") else POINTS
    mine = pullback.vmap(pullback.grad(pullback.grad(getattr(nn, name))))(ours(points))
    close(mine, jax.vmap(jax.grad(jax.grad(theirs(name))))(points), name, 1e-5)


@pytest.mark.parametrize("name", ALL)
def test_far_out(name):
    mine, real = np.asarray(getattr(nn, name)(ours(FAR))), np.asarray(theirs(name)(FAR))
    np.testing.assert_allclose(mine, real, rtol=1e-5, err_msg=name)
    assert np.isnan(getattr(nn, name)(ours(np.float32([NAN])))).all()
    grads = np.asarray(pullback.vmap(pullback.grad(getattr(nn, name)))(ours(FAR)))
    wanted = np.asarray(jax.vmap(jax.grad(theirs(name)))(FAR))
    # Where real jax has a number; NaN of inf times zero is not asked for.
    np.testing.assert_allclose(grads[~np.isnan(wanted)], wanted[~np.isnan(wanted)], rtol=1e-5, atol=1e-29,
                               err_msg=name)


@pytest.mark.parametrize("name, at, slope", [
    ("relu", 0.0, 0.0), ("relu6", 0.0, 0.0), ("relu6", 6.0, 0.0), ("leaky_relu", 0.0, 1.0), ("elu", 0.0, 1.0),
    ("celu", 0.0, 1.0), ("hard_tanh", 1.0, 1.0), ("hard_tanh", -1.0, 1.0), ("hard_sigmoid", 3.0, 0.0),
    ("sparse_sigmoid", 1.0, 0.25), ("sparse_plus", 1.0, 1.0), ("sparse_plus", INF, 1.0), ("softplus", 0.0, 0.5),
    ("log_sigmoid", 0.0, 0.5), ("elu", 1e4, 1.0), ("selu", 1e4, 1.0507009873554805), ("celu", -1e4, 0.0)])
def test_slopes_at_kinks(name, at, slope):
    for f in (pullback.grad(getattr(nn, name)), pullback.jit(pullback.grad(getattr(nn, name)))):
        assert float(f(at)) == np.float32(slope)


@pytest.mark.parametrize("name", ALL)
def test_dtypes(name):
    f = getattr(nn, name)
    for dtype in ("bool", "int8", "uint8", "int32", "bfloat16", "float16"):
        x = np.float32([0, 1, 2, 3]).astype(jnp.dtype(dtype))
        if name in INTEGERS and dtype[0] in "biu" and dtype != "bfloat16":
            with pytest.raises(TypeError, match="dtype of kind float or complex is required"):
                f(ours(x))
        elif (name, dtype) not in WRAPPED:
            same(f, theirs(name), x, traced=False, rtol=2e-2 if "16" in dtype else None)
    same(f, theirs(name), weak([1.0, 2.0]), traced=False)
    same(f, theirs(name), 1.5)
    if name not in INTEGERS:
        same(f, theirs(name), 2)
        same(f, theirs(name), weak([1, 2]), traced=False)
    with pytest.raises(TypeError,
                       match=f"{'silu' if name == 'swish' else 'hard_silu' if name == 'hard_swish' else name}: "
                                        "got a list"):
        f([1.0, 2.0])


@pytest.mark.parametrize("name", ["gelu", "silu", "sigmoid", "tanh", "relu"])
def test_complex_numbers(name):
    same(getattr(nn, name), theirs(name), np.complex64([0.3 + 1j, -1 - 2j, 2]), traced=False)


@pytest.mark.parametrize("name", ["elu", "celu", "leaky_relu", "squareplus"])
def test_parameters(name):
    f, x = getattr(nn, name), np.float32([[-2, -0.5, 0], [1, 3, -4]])
    for parameter in (2.0, 2, np.float32([0.5, 1, 2]), np.float32(0.3)):
        same(f, theirs(name), x, parameter, grad=True)
    for dtype in ("bfloat16", "int32"):
        same(f, theirs(name), x.astype(jnp.dtype(dtype)), 2, traced=False, rtol=2e-2)
        same(f, theirs(name), x.astype(jnp.dtype(dtype)), np.float32(0.5), traced=False, rtol=2e-2)


def test_gelu_by_the_error_function():
    same(lambda x: nn.gelu(x, approximate=False), lambda x: jax.nn.gelu(x, approximate=False), POINTS, grad=True)
    close(nn.gelu(2.0, False), jax.nn.gelu(2.0, False), "scalar")
    # The tail of the approximate form keeps its digits, which 1 + tanh(...) in float32 loses.
    x = np.float64([-5, -4, -3])
    exact = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(np.asarray(nn.gelu(ours(x.astype(np.float32)))), exact, rtol=1e-5)


def test_log1mexp():
    x = np.float32([1e-20, 1e-9, 0.1, 0.5, 0.6931, 0.6932, 1, 5, 20, 100, INF])
    same(nn.log1mexp, jax.nn.log1mexp, x, grad=True)
    close(pullback.vmap(pullback.grad(nn.log1mexp))(ours(x)), jax.vmap(jax.grad(jax.nn.log1mexp))(x), "slope", 1e-5)
    same(nn.log1mexp, jax.nn.log1mexp, np.float32([0, -1, NAN]), traced=False)
    assert float(pullback.grad(nn.log1mexp)(0.0)) == INF
    same(nn.log1mexp, jax.nn.log1mexp, 2)
    same(nn.log1mexp, jax.nn.log1mexp, np.int32([1, 2]), traced=False)


def test_glu():
    x = np.random.default_rng(0).normal(size=(4, 3, 6)).astype(np.float32)
    for axis in (-1, 0, 2):
        same(nn.glu, jax.nn.glu, x, axis, grad=True)
    with pytest.raises(ValueError, match=r"glu: got f32\[3\], whose axis 0 has size 3; an even size is required"):
        nn.glu(ours(np.ones(3, np.float32)))
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        nn.glu(ours(np.ones(2, np.float32)), 1)


@pytest.mark.parametrize("name, count", [
    ("relu", 2), ("relu6", 1), ("silu", 2), ("sigmoid", 1), ("tanh", 1), ("gelu", 6), ("softplus", 7), ("elu", 4),
    ("leaky_relu", 3), ("hard_sigmoid", 3), ("celu", 4)])
def test_activations_are_few_operations(name, count):
    program = pullback.make_jaxpr(getattr(nn, name))(ours(POINTS))
    assert len(program.eqns) <= count, program


def test_batches_and_jit_agree():
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for name in ALL:
        f = getattr(nn, name)
        close(pullback.vmap(f)(ours(x)), theirs(name)(x), name)
