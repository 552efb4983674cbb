"""jit: caching, static and donated arguments, nesting, inspection."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import pullback
from tests.same import same

jnp = pullback.numpy
X = np.array([0.3, -0.7, 1.2], np.float32)


def counting(function):
    """The function, and a list that grows by one at every trace."""
    traces = []

    @functools.wraps(function)
    def traced(*args, **kwargs):
        traces.append(1)
        return function(*args, **kwargs)
    return traced, traces


def test_one_trace_per_signature():
    f, traces = counting(lambda x, y=1.0: x * y)
    g = pullback.jit(f)
    for x in (X, X + 1, jnp.asarray(X)):
        g(x)
    assert len(traces) == 1
    g(X[:2])
    g(X, y=2.0)
    g(X, y=3.0)
    g(np.arange(3))
    assert len(traces) == 4 and g._cache_size() == 4
    pullback.jit(f)(X)  # a second jit of one function shares its programs
    assert len(traces) == 4
    g.clear_cache()
    g(X)
    assert len(traces) == 5


def test_weak_types_and_x64_are_part_of_the_signature():
    f, traces = counting(lambda x: x * 2)
    g = pullback.jit(f)
    g(1.0)
    g(np.float32(1.0))
    assert len(traces) == 2
    with pullback.enable_x64(True):
        assert g(1.0).dtype == np.float64
    assert g(1.0).dtype == np.float32


def test_static_arguments():
    f, traces = counting(lambda x, n, mode="a": x * n if mode == "a" else x + n)
    for options in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "mode")}):
        g = pullback.jit(f, **options)
        np.testing.assert_allclose(g(X, 2), X * 2)
        np.testing.assert_allclose(g(X, 2), X * 2)
        np.testing.assert_allclose(g(X, n=2, mode="b"), X + 2)
    assert pullback.jit(lambda x, f: f(x), static_argnums=1)(2.0, abs) == 2.0

    @functools.partial(pullback.jit, static_argnames="n")
    def repeat(x, n):
        return jnp.concatenate([x] * n)
    assert repeat(X, n=3).shape == (9,)
    assert pullback.jit(static_argnums=1)(lambda x, n: x[:n])(X, 2).shape == (2,)


def test_static_argument_that_cannot_be_hashed():
    with pytest.raises(ValueError, match=r"static argument sizes of f is a list, which cannot be hashed(.|\n)*tuple"):
        def f(x, sizes):
            return x
        pullback.jit(f, static_argnames="sizes")(X, [1, 2])


def test_donation():
    g = pullback.jit(lambda x: x + 1, donate_argnums=0)
    x = g(jnp.arange(4.0))  # a device buffer of ours
    y = g(x)
    np.testing.assert_allclose(y, np.arange(4.0) + 2)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted(.|\n)*donate"):
        x + 1


def test_keyword_arguments_and_trees():
    same(lambda j: lambda x: j.jit(lambda p, *, scale: {"a": (p["a"] * scale, None)})({"a": x}, scale=2.0), X)


def test_nested_and_inline():
    inner = pullback.jit(lambda x: jnp.sin(x) * 2, inline=True)
    outer = pullback.jit(lambda x: inner(inner(x)) + inner(x))
    np.testing.assert_allclose(outer(X), np.sin(np.sin(X) * 2) * 2 + np.sin(X) * 2, rtol=1e-5)
    same(lambda j: j.jit(lambda x: (x, x + 1, 3.0, x[0])), X)  # inputs and constants as outputs


def test_methods_can_be_jitted():
    class Model:
        def __init__(self):
            self.scale = 3.0

        @functools.partial(pullback.jit, static_argnums=0)
        def run(self, x):
            return x * self.scale
    np.testing.assert_allclose(Model().run(X), X * 3)


def test_stages():
    lowered = pullback.jit(lambda x, y: x @ y).lower(jnp.ones((2, 3)), pullback.ShapeDtypeStruct((3, 4), np.float32))
    assert "stablehlo.dot_general" in lowered.as_text()
    assert "ENTRY" in lowered.as_text("hlo") and "dot" in lowered.compiler_ir("hlo").as_hlo_text()
    assert "stablehlo.dot_general" in str(lowered.compiler_ir())
    with pytest.raises(ValueError, match="'stablehlo' or 'hlo' is required"):
        lowered.compiler_ir("mhlo")
    assert lowered.out_info == pullback.ShapeDtypeStruct((2, 4), np.float32)
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(jnp.ones((2, 3)), jnp.ones((3, 4))), np.full((2, 4), 3.0))
    assert "HloModule" in compiled.as_text() and compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().output_size_in_bytes == 32
    with pytest.raises(TypeError, match=r"compiled for f32\[2,3\], f32\[3,4\], called with"):
        compiled(jnp.ones((2, 2)), jnp.ones((2, 4)))
    traced = pullback.jit(lambda x: x + 1).trace(1.0)
    assert "add" in str(traced.jaxpr) and traced.out_info.shape == ()


def test_eval_shape_and_make_jaxpr():
    assert pullback.eval_shape(lambda x: {"a": x.T @ x}, pullback.ShapeDtypeStruct((5, 2), jnp.bfloat16)) == {
        "a": pullback.ShapeDtypeStruct((2, 2), jnp.bfloat16)}
    text = str(pullback.make_jaxpr(lambda x: jnp.sum(jnp.sin(x) * 2.0))(X))
    assert text.splitlines() == ["{ lambda ; a:f32[3]. let", "    b:f32[3] = sin a", "    c:f32[3] = mul b 2.0:f32[]",
                                 "    d:f32[] = reduce_sum[axes=(0,)] c", "  in (d,) }"]
    closed, shape = pullback.make_jaxpr(lambda x, n: x * n, static_argnums=1, return_shape=True)(X, 2)
    assert shape.shape == (3,) and len(closed.eqns) == 1 and closed.in_avals[0].shape == (3,)


def test_disable_jit():
    f, traces = counting(lambda x: x if x > 0 else -x)
    with pullback.disable_jit():
        assert pullback.jit(f)(-2.0) == 2.0
    assert len(traces) == 1


def test_arrays_closed_over_are_passed_not_printed():
    big = jnp.ones((100, 100))
    lowered = pullback.jit(lambda x: x @ big).lower(jnp.ones(100))
    assert len(lowered.as_text()) < 2000


def test_numbers_closed_over_are_written_in():
    two, placed = jnp.asarray(2.0), pullback.device_put(jnp.asarray(3.0), pullback.devices()[0])
    computed = jnp.ones((200, 200)).sum()  # still on the device
    lowered = pullback.jit(lambda x: (jnp.float32(4) * x + two, two)).lower(jnp.ones(3))
    assert "main(%1: tensor<3xf32>)" in lowered.as_text()
    assert "main(%1: tensor<f32>, " in pullback.jit(lambda x: x + placed).lower(jnp.ones(3)).as_text()
    f = pullback.jit(lambda x: (jnp.float32(4) * x + two) * placed + computed)
    for x in (1.0, jnp.ones(3), jnp.asarray(1)):
        np.testing.assert_array_equal(f(x), np.ones(np.shape(x)) * (6 * 3 + 40_000))
    assert pullback.grad(f)(1.0) == 12
    assert pullback.jit(lambda: two)() == 2.0
    assert pullback.jit(lambda x: pullback.lax.scan(lambda c, y: (c * two, y * two), x, jnp.ones(4))[0])(1.0) == 16.0


def test_unused_arguments_may_be_anything():
    assert pullback.jit(lambda x, unused: x + 1)(1.0, jnp.ones(3)) == 2.0


def test_named_scope():
    with pullback.named_scope("outer"):
        program = pullback.make_jaxpr(lambda x: x + 1)(1.0)
    assert program.eqns[0].scope == "outer"


def test_keys_and_results_of_jit_stay_on_the_device():
    key = pullback.random.key(0)
    same(lambda j: lambda: j.random.key_data(j.jit(lambda k: j.random.split(k)[1])(j.random.key(0))))
    assert pullback.jit(lambda k: k)(key).dtype == key.dtype


def test_several_programs_compiled_at_the_same_time():
    lowered = [pullback.jit(lambda x, k=k: jnp.sin(x) * k).lower(jnp.ones(3)) for k in range(6)]
    for k, compiled in enumerate(pullback.stages.compile_all(lowered)):
        np.testing.assert_allclose(compiled(jnp.ones(3)), np.sin(np.ones(3)) * k, rtol=1e-6)
