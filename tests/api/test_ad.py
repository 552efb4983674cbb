"""Derivatives at the level of pytrees, against real jax."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import pullback
from tests.same import same

jnp = pullback.numpy
X = np.array([0.3, -0.7, 1.2], np.float32)
W = np.array([[0.5, 1.5, -0.4], [0.1, -1.0, 2.0]], np.float32)


def test_vjp_of_several_arguments_and_trees():
    def build(j):
        def f(p, x):
            return {"a": p["w"] @ x, "b": j.numpy.sum(x) * p["s"]}
        def run(w, x):
            out, pull = j.vjp(f, {"w": w, "s": 2.0}, x)
            ct = {"a": j.numpy.ones(2), "b": j.numpy.float32(3.0)}
            return out, pull(ct), pull(ct)  # callable again and again
        return run
    same(build, W, X)


def test_vjp_has_aux_and_returns_one_cotangent_per_argument():
    def build(j):
        def run(x):
            out, pull, aux = j.vjp(lambda a, b: (a * b, {"sum": a + b}), x, x, has_aux=True)
            return out, pull(j.numpy.ones(3)), aux
        return run
    same(build, X)
    _, pull = pullback.vjp(lambda a, b, c: a * b, 1.0, 2.0, 3.0)
    assert len(pull(1.0)) == 3


def test_pullback_is_a_pytree():
    f = pullback.jit(lambda x: pullback.vjp(jnp.sin, x))
    y, pull = f(0.5)
    np.testing.assert_allclose(pull(2.0)[0], 2 * np.cos(0.5), rtol=1e-6)


def test_grad_arguments():
    def f(j):
        return lambda a, b, c=1.0: (j.numpy.sum(a * b) * c, a)
    for argnums in (0, 1, -1, (0, 1), (1,), [0]):
        if isinstance(argnums, list):
            argnums = tuple(argnums)
        same(lambda j: j.grad(lambda *a: f(j)(*a)[0], argnums), X, X + 1)
        same(lambda j: j.value_and_grad(f(j), argnums, has_aux=True), X, X + 1)
    same(lambda j: lambda a: j.grad(f(j), has_aux=True)(a, a, c=3.0), X)


def test_integers_complex_and_holomorphic():
    same(lambda j: j.grad(lambda n, x: j.numpy.sum(x) * n, (0, 1), allow_int=True), np.int32(3), X)
    same(lambda j: j.grad(lambda z: z ** 2, holomorphic=True), np.complex64(1 + 2j))
    same(lambda j: j.grad(lambda z: j.numpy.real(z * j.numpy.conj(z)) + j.numpy.imag(z)), np.complex64(1 + 2j))
    same(lambda j: j.vjp(lambda z: z * (1 + 2j), np.complex64(1j))[1], np.complex64(1 - 1j))
    same(lambda j: lambda x: j.jvp(lambda a: j.numpy.floor(a) * a, (x,), (x,)), X)
    same(lambda j: lambda n: j.jvp(lambda a: a + 1, (n,), (np.zeros(3, jax.dtypes.float0),)),
         np.arange(3, dtype=np.int32))


def test_linearize_and_linear_transpose():
    def build(j):
        def run(x):
            y, lin = j.linearize(lambda a: {"s": j.numpy.sin(a), "q": a[0]}, x)
            return y, lin(j.numpy.ones(3)), lin(x)
        return run
    same(build, X)
    same(lambda j: lambda w, x: j.linear_transpose(lambda v: w @ v, x)(j.numpy.ones(2)), W, X)
    same(lambda j: lambda x: j.linear_transpose(lambda a, b: a + 2 * b, x, x)(x), X)


@pytest.mark.parametrize("outer, inner", list(itertools.product(["jacfwd", "jacrev"], repeat=2)))
def test_jacobians(outer, inner):
    def f(j):
        return lambda x, w: {"y": j.numpy.tanh(w @ x), "s": j.numpy.sum(x ** 3)}
    same(lambda j: getattr(j, outer)(f(j), (0, 1)), X, W)
    same(lambda j: getattr(j, outer)(getattr(j, inner)(f(j))), X, W, rtol=1e-4)
    same(lambda j: j.hessian(lambda x, w: f(j)(x, w)["y"], (0, 1)), X, W, rtol=1e-4)
    same(lambda j: getattr(j, outer)(lambda x: (x ** 2, {"aux": x}), has_aux=True), X)


def test_stop_gradient_in_both_modes_and_nested():
    def f(j):
        return lambda x: j.numpy.sum(x * x + 10.0 * j.lax.stop_gradient(x) * x)
    same(f, X)
    for transform in ("grad", "jacfwd", "hessian"):
        same(lambda j: getattr(j, transform)(f(j)), X)
    same(lambda j: j.grad(lambda x: j.numpy.sum(j.grad(f(j))(x) ** 2)), X)
    same(lambda j: j.grad(lambda t: j.numpy.sum(j.lax.stop_gradient({"a": t})["a"] * t)), X)


NESTED = ("grad", "jacfwd", "jit", "vmap")


@pytest.mark.parametrize("order", list(itertools.product(NESTED, repeat=3)))
def test_transformations_nest_in_every_order(order):
    """Three deep: each transformation of a scalar function of a scalar keeps it one (vmap over a batch, summed)."""
    def build(j):
        def f(x):
            return j.numpy.sin(x) * j.numpy.exp(0.5 * x) + x ** 3
        for name in order:
            g = f
            if name == "vmap":
                def f(x, g=g):
                    return j.numpy.sum(j.vmap(g)(j.numpy.stack([x, 2 * x, x * x])))
            else:
                f = getattr(j, name)(g)
        return f
    same(build, 0.7, rtol=1e-4)


def test_python_control_flow_on_concrete_values():
    def build(j):
        def f(x):
            total = x
            for i in range(5):
                if total > 2.0:
                    total = total * 0.5
                else:
                    total = total ** 2 + i
            return total
        return lambda x: (j.grad(f)(x), j.jvp(f, (x,), (1.0,)), j.grad(j.grad(f))(x), j.vjp(f, x)[0])
    same(build, 1.3)

    def branching(j):
        def f(x, flag):
            return j.numpy.sum(x) if flag else j.numpy.prod(x)
        return j.vmap(f, (0, None))
    same(lambda j: lambda x: branching(j)(x, True), W)
    same(lambda j: lambda x: branching(j)(x, False), W)


def test_perturbation_confusion():
    """d/dx (x * d/dy (x + y)) = 1, whatever the inner and outer variable are called."""
    assert pullback.grad(lambda x: x * pullback.grad(lambda y: x + y)(1.0))(2.0) == 1.0
    _, dot = pullback.jvp(lambda x: x * pullback.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (2.0,), (1.0,))
    assert dot == 1.0
    value = pullback.grad(lambda x: pullback.grad(lambda y: x * y * y)(x))(3.0)
    np.testing.assert_allclose(value, 12.0)  # d/dx of 2 x x


def test_closures_over_outer_tracers():
    def build(j):
        def f(x):
            inner = j.jit(lambda y: j.numpy.sum(x * y) ** 2)
            return j.grad(inner)(x) @ x + inner(2 * x)
        return j.value_and_grad(f)
    same(build, X, rtol=1e-4)
    same(lambda j: j.jit(j.vmap(lambda x: j.jit(lambda y: x + y)(2.0))), X)


def test_second_order_of_everything_at_once():
    def build(j):
        def loss(w, x):
            h = j.nn.relu(x @ w)
            return j.numpy.mean(j.nn.logsumexp(h, axis=-1) - h[:, 0])
        return j.jit(j.hessian(loss))
    same(build, np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.ones((5, 3), np.float32) * X, rtol=1e-4)


def test_float64():
    with pullback.enable_x64(True), jax.enable_x64(True):
        same(lambda j: j.jit(j.grad(lambda x: j.numpy.sum(j.numpy.sin(x) ** 2))), X.astype(np.float64), rtol=1e-12)
    assert pullback.numpy.zeros(3).dtype == np.float32


def test_types_of_results():
    assert pullback.grad(lambda x: x ** 2)(3.0).weak_type == jax.grad(lambda x: x ** 2)(3.0).weak_type
    y, pull = pullback.vjp(lambda x: x.astype(jnp.bfloat16), jnp.ones(2))
    assert y.dtype == jnp.bfloat16 and pull(y)[0].dtype == np.float32


@pytest.mark.parametrize("engine", [pullback, jax], ids=lambda e: e.__name__)
def test_arguments_that_are_not_differentiated(engine):
    if engine is jax and jax.__version_info__ < (0, 11):
        pytest.skip("jax takes in_nzs from 0.11 on")

    def f(x, d):
        return {"product": x * d["a"] * d["b"], "same": (d["b"], 1.0)}

    given = (2.0, {"a": 3.0, "b": 5.0})
    _, pull = engine.vjp(f, *given, in_nzs=(True, (True, False)))
    cts = pull({"product": 1.0, "same": (1.0, 1.0)})
    assert engine.tree_util.tree_leaves(cts) == [15.0, 10.0, 0.0] and pull.out_nzs == (True, False, False)
    _, push = engine.linearize(f, *given, in_nzs=(False, True))
    assert push(1.0, {"a": 1.0, "b": 0.0})["product"] == 10.0 and push.out_nzs == (True, True, False)
    for wrong in ((True,), (True, None), [True, True], (True, (True, 1))):
        with pytest.raises(ValueError, match="in_nzs"):
            engine.vjp(f, *given, in_nzs=wrong)


def test_arguments_with_one_value():
    for transform in (pullback.grad, pullback.value_and_grad, pullback.linear_transpose, pullback.vjp):
        with pytest.raises(NotImplementedError, match="reduce_axes"):
            transform(lambda x: x, reduce_axes=("i",))
    with pytest.raises(NotImplementedError, match="saveable_args"):
        pullback.vjp(lambda x: x, 1.0, saveable_args=(False,))
    with pytest.raises(NotImplementedError, match="with_logs"):
        pullback.custom_gradient(with_logs=True)
    assert pullback.grad(pullback.custom_gradient()(lambda x: (x, lambda ct: 3 * ct)))(1.0) == 3


@pytest.mark.parametrize("wrap", [lambda f: f, pullback.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", ["square", "product", "quotient", "choice", "sine", "loop"])
def test_transposes_of_what_is_not_linear(name, wrap):
    lax, jnp = pullback.lax, pullback.numpy
    function = {"square": lambda x: x * x, "product": lambda x: x @ x, "quotient": lambda x: x / x, "sine": jnp.sin,
                "choice": lambda x: jnp.where(x > 0, x, 0),
                "loop": lambda x: lax.scan(lambda c, _: (c * c, None), x, None, length=2)[0]}[name]
    x = jnp.ones((2, 2))
    with pytest.raises(TypeError, match="not linear|no transpose rule"):
        pullback.linear_transpose(wrap(function), x)(x)
