"""What functions are given and give beside arrays: numbers, anything in auxiliary output, NumPy's arrays, old forms."""

from __future__ import annotations

import copy

import jax
import jax.flatten_util
import numpy as np
import pytest

import pullback
from tests.same import same

jnp, lax = pullback.numpy, pullback.lax


@pytest.mark.parametrize("x", [1.0, np.float32(1), np.ones((), np.float32)], ids=["float", "scalar", "array"])
def test_gradients_that_nothing_changed_are_arrays(x):
    for f in (lambda x: x + 1, lambda x: x, lambda x: jnp.reshape(x, ())):
        gradient = pullback.grad(f)(x)
        assert isinstance(gradient, pullback.Array) and gradient.shape == () and gradient == 1
        assert isinstance(pullback.jvp(f, (x,), (x,))[1], pullback.Array)
    gradients = pullback.grad(lambda p: jnp.mean(p["w"]) + p["b"])({"w": jnp.ones(2), "b": x})
    assert isinstance(gradients["b"], pullback.Array)


def test_the_cotangent_of_a_rule_is_an_array():
    f = pullback.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct.astype("float32"),))
    assert pullback.grad(f)(jnp.array(1.0)) == 2


def test_gradients_of_weak_numbers_are_weak():
    ones = np.ones(2, np.float32)
    for build in (lambda e: e.grad(lambda s: (s * ones).sum()), lambda e: e.jit(e.grad(lambda s: (s * ones).sum())),
                  lambda e: e.jacrev(lambda s: s * ones), lambda e: e.hessian(lambda s: (s * s * ones).sum()),
                  lambda e: lambda s: e.vjp(lambda s: s * ones, s)[1](e.numpy.ones(2))[0],
                  lambda e: lambda s: e.linear_transpose(lambda s: s * ones, s)(e.numpy.ones(2))[0],
                  lambda e: e.grad(lambda s: (e.numpy.float32(2) * s))):
        ours, theirs = build(pullback)(2.0), build(jax)(2.0)
        assert ours.weak_type == theirs.weak_type and ours.dtype == theirs.dtype
    assert not pullback.grad(lambda s: (s * ones).sum())(jnp.float32(2)).weak_type


def test_auxiliary_output_may_be_anything():
    def f(x):
        return x ** 2, {"name": "a", "dtype": jnp.float32, "twice": 2 * x, "rows": np.ones(1)}

    for found in (pullback.grad(f, has_aux=True)(3.0)[1], pullback.value_and_grad(f, has_aux=True)(3.0)[0][1],
                  pullback.vjp(f, 3.0, has_aux=True)[2], pullback.jvp(f, (3.0,), (1.0,), has_aux=True)[2],
                  pullback.linearize(f, 3.0, has_aux=True)[2], pullback.jacrev(f, has_aux=True)(3.0)[1],
                  pullback.jacfwd(f, has_aux=True)(3.0)[1]):
        assert found["name"] == "a" and found["dtype"] is jnp.float32 and found["twice"] == 6
        assert found["rows"].dtype == np.float64  # as it was given
    inside = pullback.jit(lambda x: pullback.grad(f, has_aux=True)(x)[1]["twice"])(3.0)
    assert inside == 6
    with pytest.raises(TypeError, match=r"at output\[1\]\['dtype'\]"):
        pullback.jit(pullback.grad(f, has_aux=True))(3.0)


def test_what_is_not_mapped_may_be_anything():
    assert pullback.vmap(lambda f, x: f(x), in_axes=(None, 0))(jnp.negative, jnp.ones(2)).tolist() == [-1, -1]
    model = {"f": jnp.negative, "name": "a", "w": np.full(2, 3.0)}
    run = pullback.vmap(lambda m, x: m["f"](x) * m["w"][0], in_axes=(None, 0))
    assert run(model, jnp.ones(2)).tolist() == [-3, -3]
    with pytest.raises(TypeError, match="argument k is 'a' of type str"):
        pullback.vmap(lambda x, k: x)(jnp.ones(2), "a")


def test_copies_of_traced_values():
    tree = {"a": jnp.arange(3.0)}
    assert pullback.jit(copy.deepcopy)(tree)["a"].tolist() == [0, 1, 2]
    assert pullback.grad(lambda d: (copy.deepcopy(d)["a"] * copy.copy(d["a"])).sum())(tree)["a"].tolist() == [0, 2, 4]


def test_a_vector_of_numpy_becomes_the_tree_again():
    tree = {"a": np.ones(2, np.float32), "b": np.float32(3)}
    same(lambda e: lambda t, v: e.flatten_util.ravel_pytree(t)[1](v), tree, np.arange(3, dtype=np.float32))
    _, unravel = pullback.flatten_util.ravel_pytree(tree)
    assert unravel(np.arange(3.0))["a"].dtype == np.float32
    for leaves in ({"a": np.float16(1), "b": 2.0}, {"a": np.int8(1), "b": 2}):
        same(lambda e: lambda t: e.flatten_util.ravel_pytree(t)[0], leaves)


def test_loops_of_many_turns_hold_no_array_of_their_numbers():
    n = 300_000
    assert lax.fori_loop(5, n, lambda i, c: c + (i > n - 10), 0) == 9
    text = pullback.jit(lambda c: lax.fori_loop(0, n, lambda i, c: c + i, c)).lower(0).as_text()
    assert f"tensor<{n}x" not in text
    slope = pullback.grad(lambda x: lax.fori_loop(0, 70_000, lambda i, c: c * (1 + x * 1e-5), 1.0))(0.5)
    np.testing.assert_allclose(slope, 0.7 * np.exp(0.35), rtol=1e-2)
    with pytest.raises(OverflowError, match="8589934592 does not fit into int32"):
        lax.fori_loop(0, 2**33, lambda i, c: c, 0)


def test_whole_numbers_that_do_not_fit_are_no_results():
    for f in (lambda: 2**31, lambda: [1, -2**31 - 1]):
        with pytest.raises(OverflowError, match="does not fit into int32"):
            pullback.jit(f)()
    with pullback.enable_x64(True):
        assert pullback.jit(lambda: 2**31)() == 2**31


def test_callbacks_that_compute_in_64_bits():
    def promised(dtype):
        return pullback.ShapeDtypeStruct((2,), dtype)
    for f in (lambda f: f, pullback.jit):
        x = f(lambda x: pullback.pure_callback(lambda x: np.float64([2.5, x]), promised(jnp.float32), x))(1.0)
        assert x.dtype == np.float32 and x.tolist() == [2.5, 1]
    assert pullback.pure_callback(lambda: np.int64([1, 2]), promised(jnp.int32)).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"returned int64\[2\], f32\[2\] is required"):
        pullback.pure_callback(lambda: np.int64([1, 2]), promised(jnp.float32))


def test_arrays_of_64_bits_where_these_are_off():
    with pullback.enable_x64(True):
        x, z = jnp.array([1.0, 2.0]), jnp.array([3j, 2.0])
    for f in (pullback.grad(lambda x: (x * x).sum()), pullback.jit(pullback.grad(lambda x: (x * x).sum()))):
        assert f(x).tolist() == [2, 4]
    assert abs(z).tolist() == [3, 2] and z.real.tolist() == [0, 2] and abs(z).dtype == np.float64


def test_older_forms_and_empty_things():
    for pred in (True, False):
        same(lambda e, pred=pred: lambda x, y: e.lax.cond(pred, x, lambda x: 2 * x, y, lambda y: -y), 3.0, 4.0)
    same(lambda e: lambda x: e.lax.map(lambda x: x * 2, x, batch_size=2), np.zeros((0, 2), np.float32))
    x = jnp.array(2.5)
    for axis in (0, -1):
        assert x.cumsum(axis).tolist() == x.cumprod(axis).tolist() == [2.5] and x.repeat(2, axis).tolist() == [2.5, 2.5]
    assert isinstance(jnp.ogrid[0:2, 0:2], list)


def test_no_nan_below_the_support():
    for x in (0.5, 3.0):
        same(lambda e: e.grad(lambda x: e.scipy.stats.pareto.logcdf(x, 2.0)), x)
    for parameters in ((np.nan, 0.0, 1.0), (2.0, np.nan, 1.0), (2.0, 0.0, np.nan)):  # are not taken for an end
        assert np.isnan(pullback.scipy.stats.pareto.logcdf(3.0, *parameters))
    for arguments in ((np.nan, 0.0, 1.0), (0.5, np.nan, 1.0), (0.5, 0.0, np.nan)):
        assert np.isnan(pullback.scipy.stats.uniform.pdf(*arguments))
    same(lambda e: e.jacfwd(lambda x: x.astype(int)), np.ones(2, np.float32))
