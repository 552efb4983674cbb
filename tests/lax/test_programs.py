"""Barriers, platforms, composites, tokens, placement; ragged and scaled products. Against real jax."""

import doctest
import importlib

import jax
import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp, lax = pullback.numpy, pullback.lax
A = np.arange(6, dtype=np.float32).reshape(2, 3)
L, R = np.arange(12, dtype=np.float32).reshape(6, 2), np.arange(12, dtype=np.float32).reshape(3, 2, 2)
SIZES = np.int32([2, 1, 3])


def test_programs():
    same_expressions("""
        lax.optimization_barrier((x, 1, {'b': 2.}))
        lax.optimization_barrier(())
        engine.grad(lambda x: (lax.optimization_barrier(x) ** 2).sum())(x)
        engine.vmap(lambda x, y: lax.optimization_barrier((x, y)), in_axes=(0, None))(x, 1.)
        lax.platform_dependent(x, cpu=lambda x: x + 1, tpu=lambda x: x * 2)
        lax.platform_dependent(x, tpu=lambda x: x * 2, default=lambda x: x)
        engine.grad(lambda x: lax.platform_dependent(x, cpu=jnp.sin, tpu=jnp.cos))(1.)
        lax.composite(lambda x, *, k: x * k, 'my.op')(x, k=3)
        lax.composite(lambda x: x * 2, name='my.op', version=2)(3)
        lax.shape_as_value(())
        lax.stage(x)
        lax.stage(1.)
        lax.dce_sink((x, 1))""", A)
    for x in (1, 1.0, np.float64(1), np.ones(3), np.float32, "int8"):
        assert lax.dtype(x) == jax.lax.dtype(x)
    assert lax.shape_as_value((2, jnp.int32(3))).tolist() == [2, 3]
    numbers = (("NCHW", "OIHW", "NCHW"), ("NCHW", "OIHW", "NHWC"), ("NHWC", "HWIO", "CHNW"))
    for dims in numbers:
        for pads in ("SAME", "VALID", [(1, 1), (0, 0)]):
            args = (1, 7, 8, 9), (4, 3, 3, 3), (2, 1), pads, dims
            assert lax.conv_general_shape_tuple(*args) == jax.lax.conv_general_shape_tuple(*args)


def test_what_nothing_uses_stays():
    for barrier in (False, True):
        def f(x, barrier=barrier):
            lax.dce_sink(jnp.sin(x), prevent_mlir_dce=barrier)
            return x

        assert "sin" in str(pullback.make_jaxpr(f)(1.0))
        assert pullback.jit(f)(2.0) == 2 and pullback.grad(f)(2.0) == 1
        assert ("sine" in pullback.jit(f).lower(1.0).as_text()) and pullback.vmap(f)(jnp.ones(2)).shape == (2,)


def test_parts_with_names_and_tokens():
    def f(x):
        return lax.composite(lambda x: jnp.sin(x) * 2, "my.op", version=3)(x)

    assert {eqn.scope for eqn in pullback.jit(f).trace(1.0).program.equations} == {"my.op.v3"}
    assert pullback.grad(f)(0.0) == 2 and pullback.vmap(f)(jnp.zeros(3)).tolist() == [0, 0, 0]
    token = pullback.jit(lambda token: lax.after_all(token, lax.create_token()))(lax.create_token())
    assert token == lax.create_token() and repr(token) == "Token()"


def test_ragged_products():
    same_expressions("""
        lax.ragged_dot(x, y, z)
        lax.ragged_dot(x, y, jnp.array([2, 1, 1]))
        lax.ragged_dot(x, y, jnp.array([2, 5, 1]))
        lax.ragged_dot(x.astype(int), y.astype(int), z)
        lax.ragged_dot(x.astype('bfloat16'), y.astype('bfloat16'), z, preferred_element_type='float32')
        lax.ragged_dot(x, y.astype('bfloat16'), z, precision='highest')
        engine.grad(lambda x: (lax.ragged_dot(x, y, z) ** 2).sum())(x)
        engine.grad(lambda y: (lax.ragged_dot(x, y, z) ** 2).sum())(y)
        general(x, y, z, n((([1], [1]), ([], [])), [0], [0]))
        general(x, x * 2, z, n((([0], [0]), ([], [])), [0], []))
        general(jnp.stack([x, x]), jnp.stack([x, x * 3]), z, n((([1], [1]), ([0], [0])), [1], []))
        general(x, jnp.ones((6, 4, 2)), z, n((([1], [2]), ([0], [0])), [0], []))
        general(jnp.stack([x, x]), jnp.stack([y, y]), jnp.stack([z, z[::-1]]), n((([2], [2]), ([0], [0])), [1], [1]))
        """.replace("general(", "lax.ragged_dot_general(").replace("n(((", "lax.RaggedDotDimensionNumbers((("),
                     L, R, SIZES)
    mapped = pullback.vmap(lambda sizes: lax.ragged_dot(L, R, sizes))(np.stack([SIZES, SIZES[::-1]]))
    assert np.allclose(mapped[1], lax.ragged_dot(L, R, SIZES[::-1].copy()))
    refused_expressions("""
        lax.ragged_dot(x, y[:2], z) -> there are 3 group sizes, rhs
        lax.ragged_dot(x, y, z * 1.0) -> integers are required
        lax.ragged_dot(x, y[:, :1], z) -> contracted sizes differ
        lax.ragged_dot(x, y, z[:, None, None]) -> one size per group
        lax.ragged_dot_general(x, y, z, n((([1], [1]), ([], [])), [0, 1], [0])) -> one axis is required"""
                        .replace("n(((", "lax.RaggedDotDimensionNumbers((("), L, R, SIZES, error=TypeError)
    with pytest.raises(ValueError, match="group_offset is given"):
        lax.ragged_dot(L, R, SIZES, group_offset=jnp.array([1]))


def test_scaled_products():
    if jax.__version_info__ < (0, 11):
        pytest.skip("not in this jax")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 64)).astype(np.float32), rng.normal(size=(64, 3)).astype(np.float32)
    s = rng.normal(size=(4, 2)).astype(np.float32)
    same_expressions("""
        lax.scaled_dot(x, y)
        lax.scaled_dot(x, y, lhs_scale=z)
        lax.scaled_dot(x, y, lhs_scale=z, rhs_scale=jnp.ones((4, 3)), preferred_element_type='float32')
        lax.scaled_dot(x.astype('float8_e4m3fn'), y.astype('float8_e5m2'), lhs_scale=z.astype('float8_e8m0fnu'))
        lax.scaled_dot(x[None], y.T[None], lhs_scale=z[None], dimension_numbers=(((2,), (2,)), ((0,), (0,))))""",
                     x, y, s, rtol=1e-2, atol=1e-2)
    refused_expressions("""
        lax.scaled_dot(x, y, lhs_scale=jnp.ones((4, 3))) -> must divide that of the array
        lax.scaled_dot(x, y, lhs_scale=jnp.ones((4, 64))) -> must divide that of the array
        lax.scaled_dot(x, y, lhs_scale=jnp.ones((2, 2))) -> sizes must be equal
        lax.scaled_dot(x, y, lhs_scale=jnp.ones(4)) -> equally many axes
        lax.scaled_dot(x, y[None]) -> equally many""", x, y, error=TypeError)


def test_refused():
    refused_expressions("""
        lax.platform_dependent(x, tpu=lambda x: x) -> one for 'cpu' or a default
        lax.with_sharding_constraint(x, engine.sharding.PartitionSpec('q')) -> no mesh is set""", A)
    refused_expressions("""
        lax.optimization_barrier('x') -> an array or a number
        lax.stage((x, x)) -> an array or a number
        lax.after_all(x) -> tokens are required
        lax.dtype([1]) -> got a list""", A, error=TypeError)


def test_examples_in_docstrings():
    for name in ("ragged", "programs"):
        module = importlib.import_module(f"pullback.lax.{name}")
        failed, attempted = doctest.testmod(module, extraglobs={"jnp": jnp, "lax": lax, "jax": pullback})
        assert attempted and not failed
