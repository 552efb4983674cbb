"""custom_jvp and custom_vjp, in every transformation, against real jax; and where jax refuses, against formulas."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import pullback
from tests.same import same

jnp = pullback.numpy
X = np.array([0.3, -0.7, 1.2], np.float32)


def with_jvp(j):
    @j.custom_jvp
    def f(x, y):
        return j.numpy.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), 3 * j.numpy.cos(x) * x_dot * y + j.numpy.sin(x) * y_dot
    return f


def with_vjp(j):
    @j.custom_vjp
    def f(x, y):
        return j.numpy.sin(x) * y
    f.defvjp(lambda x, y: (f(x, y), (x, y)),
             lambda res, ct: (3 * j.numpy.cos(res[0]) * res[1] * ct, j.numpy.sin(res[0]) * ct))
    return f


TRANSFORMS = {
    "value": lambda j, f: f,
    "jit": lambda j, f: j.jit(f),
    "grad": lambda j, f: j.grad(f, (0, 1)),
    "jit grad": lambda j, f: j.jit(j.grad(f, (0, 1))),
    "grad jit": lambda j, f: j.grad(j.jit(f), (0, 1)),
    "grad grad": lambda j, f: j.grad(j.grad(f)),
    "vjp": lambda j, f: lambda x, y: j.vjp(f, x, y)[1](2.0),
    "grad scan": lambda j, f: j.grad(lambda x, y: j.lax.scan(lambda c, _: (f(c, y), None), x, None, length=3)[0]),
    "grad cond": lambda j, f: j.grad(lambda x, y: j.lax.cond(x > 0, f, lambda x, y: x, x, y)),
    "checkpoint": lambda j, f: j.grad(j.checkpoint(f), (0, 1)),
    "jit grad grad jit": lambda j, f: j.jit(j.grad(j.grad(j.jit(f)))),
}


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(make, transform):
    same(lambda j: TRANSFORMS[transform](j, make(j)), 0.7, 1.3)


@pytest.mark.parametrize("make", [with_jvp, with_vjp])
def test_vmap(make):
    same(lambda j: j.vmap(make(j), (0, None)), X, 1.3)
    same(lambda j: j.vmap(j.grad(make(j), (0, 1)), (0, None)), X, 1.3)
    same(lambda j: j.jit(j.vmap(j.grad(make(j), (0, 1)))), X, X + 1)
    same(lambda j: j.grad(lambda x, y: j.numpy.sum(j.vmap(make(j), (0, None))(x, y)), (0, 1)), X, 1.3)
    same(lambda j: j.grad(lambda x, y: j.numpy.sum(j.jit(j.vmap(make(j), (0, None)))(x, y)), (0, 1)), X, 1.3)


def test_forward_mode_of_custom_jvp():
    same(lambda j: lambda x: j.jvp(with_jvp(j), (x, 2.0), (1.0, 0.5)), 0.7)
    same(lambda j: j.hessian(with_jvp(j), (0, 1)), 0.7, 1.3)


def test_forward_mode_through_custom_vjp():
    """What jax refuses: the tangent is the transpose of the backward rule."""
    f = with_vjp(pullback)
    _, dot = pullback.jvp(f, (0.7, 1.3), (1.0, 0.5))
    expected = 3 * np.cos(0.7) * 1.3 + np.sin(0.7) * 0.5
    np.testing.assert_allclose(dot, expected, rtol=1e-5)
    np.testing.assert_allclose(pullback.jit(pullback.jacfwd(f))(0.7, 1.3), 3 * np.cos(0.7) * 1.3, rtol=1e-5)
    for hessian in (pullback.hessian(f), pullback.jit(pullback.hessian(f)), pullback.jacfwd(pullback.jacfwd(f))):
        np.testing.assert_allclose(hessian(0.7, 1.3), -3 * np.sin(0.7) * 1.3, rtol=1e-5)
    columns = pullback.jacfwd(pullback.vmap(f, (0, None)))(X, 1.3)
    np.testing.assert_allclose(columns, np.diag(3 * np.cos(X) * 1.3), rtol=1e-5)
    _, lin = pullback.linearize(f, 0.7, 1.3)
    np.testing.assert_allclose(lin(1.0, 0.5), expected, rtol=1e-5)


def test_nondiff_arguments():
    def build_jvp(j):
        from functools import partial

        @partial(j.custom_jvp, nondiff_argnums=(0,))
        def app(f, x):
            return f(x)

        @app.defjvp
        def rule(f, primals, tangents):
            return app(f, primals[0]), 2.0 * tangents[0]
        return j.grad(lambda x: app(lambda v: v ** 3, x))

    def build_vjp(j):
        from functools import partial

        @partial(j.custom_vjp, nondiff_argnums=(1,))
        def scaled(x, name):
            assert name == "double"
            return 2 * x
        scaled.defvjp(lambda x, name: (2 * x, None), lambda name, res, ct: (5 * ct,))
        return j.grad(lambda x: scaled(x, "double"))
    same(build_jvp, 1.5)
    same(build_vjp, 1.5)


def test_trees_and_none_cotangents():
    def build(j):
        @j.custom_vjp
        def f(params, x):
            return {"y": params["w"] * x, "z": params["b"]}
        f.defvjp(lambda p, x: (f(p, x), (p, x)), lambda res, ct: ({"w": ct["y"] * res[1], "b": ct["z"]}, None))
        return j.grad(lambda p, x: f(p, x)["y"] + 2 * f(p, x)["z"], (0, 1))
    same(build, {"w": 2.0, "b": 3.0}, 4.0)


def test_defjvps_and_custom_gradient():
    def build(j):
        f = j.custom_jvp(lambda x, y: x * x * y)
        f.defjvps(lambda t, out, x, y: 10 * t, None)
        return j.grad(f, (0, 1))
    same(build, 2.0, 3.0)

    def gradient(j):
        @j.custom_gradient
        def f(x):
            return x ** 2, lambda ct: ct * 7 * x
        return j.jit(j.grad(f))
    same(gradient, 2.0)


def test_closure_convert():
    def build(j):
        def solve(x, a):
            f, consts = j.closure_convert(lambda v: v * a + x, x)
            return f(x, *consts)
        return j.grad(lambda a: solve(2.0, a))
    same(build, 3.0)


def test_errors():
    f = pullback.custom_vjp(lambda x: x)
    with pytest.raises(AttributeError, match="defvjp"):
        f(1.0)
    f.defvjp(lambda x: x, lambda res, ct: (ct,))
    with pytest.raises(TypeError, match="pair .output, residuals."):
        pullback.grad(f)(1.0)
    f.defvjp(lambda x: (x, None), lambda res, ct: ct)
    with pytest.raises(TypeError, match="a tuple of 1 cotangents is required"):
        pullback.grad(f)(1.0)
    f.defvjp(lambda x: (x, None), lambda res, ct: (jnp.ones(3),))
    with pytest.raises(ValueError, match=r"cotangent of type f32\[3\] for an input of type f32\[\]"):
        pullback.grad(f)(1.0)
    g = pullback.custom_jvp(lambda x: x)
    g.defjvp(lambda p, t: p[0])
    with pytest.raises(TypeError, match="pair"):
        pullback.grad(g)(1.0)
    g.defjvp(lambda p, t: (p[0], jnp.ones(2)))
    with pytest.raises(TypeError, match="tangent of type"):
        pullback.grad(g)(1.0)


def test_checkpoint_of_python_values():
    def f(x, flag, *, kind="a"):
        return x * 2 if flag and kind == "b" else x * 3

    assert pullback.grad(pullback.checkpoint(f, static_argnums=1, static_argnames="kind"))(1.0, True, kind="b") == 2
    assert pullback.grad(pullback.checkpoint(f, static_argnames=("flag", "kind")))(1.0, flag=True, kind="a") == 3
    assert pullback.grad(pullback.remat(lambda flag, x: x if flag else -x, static_argnums=-2), 1)(True, 1.0) == 1
    for engine in (pullback, jax):
        with pytest.raises(ValueError, match="static_argnums"):
            engine.checkpoint(f, static_argnums=1)(1.0, flag=True)
        with pytest.raises(TypeError):
            engine.remat(f, static_argnames="flag")


def test_a_backward_rule_that_clips():
    """It is not linear in the cotangent: reverse mode of any order works, forward mode says what it lacks."""
    def loss(engine):
        @engine.custom_vjp
        def clipped(x):
            return x * x
        clipped.defvjp(lambda x: (x * x, x), lambda r, ct: (engine.numpy.clip(ct * 2 * r, -1.0, 1.0),))
        return lambda x: clipped(x).sum()

    x = np.float32([0.2, 3.0])
    for twice in (lambda e: e.hessian, lambda e: lambda f: e.jit(e.jacrev(e.grad(f)))):
        np.testing.assert_allclose(twice(pullback)(loss(pullback))(x), twice(jax)(loss(jax))(x))
    for engine, words in ((jax, "forward-mode"), (pullback, "not linear in the cotangent.*(\n.*)*custom_jvp")):
        with pytest.raises(TypeError, match=words):
            engine.jvp(loss(engine), (x,), (x,))
