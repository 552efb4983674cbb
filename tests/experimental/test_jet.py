"""Taylor mode against real jax where it has rules, and against nested forward mode everywhere."""

from __future__ import annotations

import doctest

import jax
import numpy as np
import pytest
from jax.experimental.jet import jet as their_jet

import pullback
from pullback.core import dtypes
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import bind
from pullback.core.values import value
from pullback.core.vector import instantiate
from pullback.experimental import jet as module
from pullback.experimental.jet import jet
from pullback.interpret.jvp import jvp
from pullback.ops.taylor import jet as flat_jet

jnp, lax = pullback.numpy, pullback.lax
X = np.array([0.3, 0.7])
SERIES = [np.array(v) for v in ([1.0, 0.5], [0.2, 0.1], [0.3, -0.2], [0.1, 0.4])]
COMMON = {
    "sin": lambda e, x: e.numpy.sin(x), "exp": lambda e, x: e.numpy.exp(x), "log": lambda e, x: e.numpy.log(x),
    "tanh": lambda e, x: e.numpy.tanh(x), "sqrt": lambda e, x: e.numpy.sqrt(x),
    "quotient": lambda e, x: e.numpy.sin(x) / (1 + x * x), "sigmoid": lambda e, x: e.nn.sigmoid(x),
    "power": lambda e, x: x ** 2.5 + x ** 3 + 2.0 ** x + x ** -2, "erf": lambda e, x: e.lax.erf(x),
    "matmul": lambda e, x: (e.numpy.outer(x, x) @ e.numpy.sin(x)).sum(), "softmax": lambda e, x: e.nn.log_softmax(x),
    "max": lambda e, x: e.numpy.max(x), "gather": lambda e, x: x[e.numpy.array([1, 0])] * x[0],
    "where": lambda e, x: e.numpy.where(x > 0.5, x * x, e.numpy.sin(x)),
    "arctan2": lambda e, x: e.numpy.arctan2(x, 1 + x), "jit": lambda e, x: e.jit(lambda x: e.numpy.sin(x) * x)(x),
    "expm1": lambda e, x: e.numpy.expm1(x) * e.numpy.log1p(x) * e.numpy.cosh(x),
}
OURS_ALONE = {
    "softplus": lambda x: pullback.nn.softplus(x), "sort": lambda x: jnp.sort(-x) * x,
    "cumulative": lambda x: jnp.cumsum(x) * jnp.prod(x), "arcsin": lambda x: jnp.arcsin(x) * jnp.arctan(x),
    "complex": lambda x: jnp.abs(jnp.exp(1j * x) + x),
    "cond": lambda x: lax.cond(x[0] > 0, lambda x, y: jnp.sin(x) * y, lambda x, y: x, x, 2.0),
    "scan": lambda x: lax.scan(lambda c, a: (jnp.sin(c * a) * x[0], (c + a, 1)), x.sum(), x),
    "scan from a constant": lambda x: lax.scan(lambda c, _: (c * x, c[0]), jnp.ones(2), None, length=3),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1],
    "checkpoint": lambda x: pullback.checkpoint(lambda x: jnp.sin(x) * x)(x),
}


@pytest.fixture(autouse=True)
def wide():
    with pullback.enable_x64(True), jax.enable_x64(True):
        yield


def close(found, expected):
    found, expected = pullback.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, float):
            assert a == b
            continue
        assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
        if a.dtype != pullback.float0:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", COMMON)
def test_equals_jaxs(name):
    f = COMMON[name]
    theirs = jax.jit(lambda x, s: their_jet(lambda x: f(jax, x), (x,), (s,)))(X, SERIES)
    close(jet(lambda x: f(pullback, x), (X,), (SERIES,)), theirs)


def derivatives(f, order):
    """By nested forward mode along the curve."""
    def curve(t):
        return X + sum(t ** k / float(np.prod(range(1, k + 1))) * jnp.asarray(s) for k, s in enumerate(SERIES, 1))

    def along(t):
        return f(curve(t))
    found = [along(0.0)]
    for _ in range(order):
        inner = along

        def along(t, inner=inner):
            return pullback.jvp(inner, (t,), (1.0,))[1]
        found.append(along(0.0))
    return found


@pytest.mark.parametrize("name", OURS_ALONE)
def test_equals_nested_forward_mode(name):
    f = OURS_ALONE[name]
    expected = derivatives(f, 3)
    output, series = jet(f, (X,), (SERIES[:3],))
    leaves = [pullback.tree.leaves(e) for e in expected]
    close(output, expected[0])
    per_leaf = [[e[i] for e in leaves[1:]] for i in range(len(leaves[0]))]
    close(series, per_leaf)


def second_order(primitive, example, rng):
    """The largest difference between the jet of order 2 of a call and jvp of jvp, relative to its size."""
    args = [value(a) for a in example.args]
    free = [i for i, a in enumerate(args)
            if isinstance(a, Array) and dtypes.is_inexact(a.dtype) and i not in example.fixed]
    xs, v, w = [args[i] for i in free], *([value(rng.normal(size=args[i].shape).astype(args[i].dtype)) for i in free]
                                         for _ in range(2))

    def call(*given):
        full = list(args)
        for i, x in zip(free, given, strict=True):
            full[i] = x
        return bind(primitive, full, example.params)

    def tangents(*given):
        return [instantiate(t) for t in jvp(call, given[:len(xs)], given[len(xs):])[1] if t.type.dtype != dtypes.float0]
    expected = [instantiate(t) for t in jvp(tangents, [*xs, *v], [*v, *w])[1]]
    _, series = flat_jet(call, 2, xs, [[a, b] for a, b in zip(v, w, strict=True)])
    found = [instantiate(s[1]) for s in series if s[1].type.dtype != dtypes.float0]
    assert len(found) == len(expected)
    return max([np.abs(np.asarray(a) - np.asarray(b)).max(initial=0) / (1 + np.abs(np.asarray(b)).max(initial=0))
                for a, b in zip(found, expected, strict=True)], default=0)


def test_every_primitive_agrees_with_jvp_of_jvp():
    rng = np.random.default_rng(0)
    checked = 0
    for name, primitive in sorted(TABLE.items()):
        for example in primitive.examples(rng):
            if example.order == 2 and any(getattr(a, "dtype", None) == np.float32 for a in example.args):
                assert second_order(primitive, example, rng) < 1e-3, (name, example)
                checked += 1
                break
    assert checked > 60


def test_in_other_transformations():
    f = (lambda x: jnp.sin(x) / x)  # noqa: E731

    def third(x):
        return jet(f, (x,), ([1.0, 0.0, 0.0],))[1][2]
    def nested(x):
        return pullback.grad(pullback.grad(pullback.grad(f)))(x)
    np.testing.assert_allclose(pullback.jit(pullback.vmap(third))(X), pullback.vmap(nested)(X), rtol=1e-9)
    np.testing.assert_allclose(pullback.grad(third)(0.3), pullback.grad(nested)(0.3), rtol=1e-8)
    np.testing.assert_allclose(jet(lambda x: pullback.grad(f)(x), (0.3,), ([1.0, 0.0],))[1][1], nested(0.3), rtol=1e-9)


def test_cost_is_polynomial_in_the_order():
    def size(order):
        f = (lambda x: jnp.tanh(jnp.sin(x) * jnp.exp(x)) / (1 + x * x))  # noqa: E731
        return len(pullback.make_jaxpr(lambda x: jet(f, (x,), ([1.0] * order,)))(0.3).eqns)
    assert size(8) < 16 * size(4)  # cubic, or a little more; nested forward mode: another power of two for each order
    assert size(16) < 16 * size(8)


def test_several_arguments_and_scaling():
    def build(engine_jet):
        return (engine_jet(lambda x, y: {"a": x * y, "b": 3.0}, (2.0, 3.0), ((1.0, 0.0), (1.0, 2.0))),
                engine_jet(lambda x: x ** 4, (2.0,), ((1.0, 0.5, 0.0),), factorial_scaled=False))
    close(build(jet), build(their_jet))


def test_messages():
    with pytest.raises(ValueError, match=r"different lengths: \[2, 1\]"):
        jet(jnp.multiply, (1.0, 2.0), ((1.0, 0.0), (1.0,)))
    with pytest.raises(ValueError, match="1 arguments and 2 series"):
        jet(jnp.sin, (1.0,), ((1.0,), (1.0,)))
    with pytest.raises(ValueError, match="argument 0 is a dict"):
        jet(lambda d: d["x"], ({"x": 1.0},), ((1.0,),))
    with pytest.raises(TypeError, match="floats are required"):
        jet(jnp.sin, (1,), ((1.0,),))
    with pytest.raises(TypeError, match="term 1 of argument 0"):
        jet(jnp.sin, (X,), ((np.ones(3),),))


def test_examples():
    with pullback.enable_x64(False):
        assert doctest.testmod(module, extraglobs={"jnp": jnp}).failed == 0
