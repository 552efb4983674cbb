"""custom_root and custom_linear_solve: values and derivatives against real jax, in every transformation."""

from __future__ import annotations

import doctest

import jax
import numpy as np
import pytest

import pullback
from pullback import errors
from pullback.lax import implicit
from tests.same import same

jnp, lax = pullback.numpy, pullback.lax
A = np.array([[3.0, 1.0], [0.5, 2.0]], np.float32)
B = np.array([1.0, 2.0], np.float32)
D = np.array([2.0, 5.0], np.float32)


def solver(e):
    """A 2x2 system solved by Cramer's rule, so that real jax and pullback run the same operations."""
    def by_cramer(a, b):
        rows = [a[1, 1] * b[0] - a[0, 1] * b[1], a[0, 0] * b[1] - a[1, 0] * b[0]]
        return e.numpy.stack(rows) / (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])

    def solve(a, b):
        return e.lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: by_cramer(a, b), lambda _, b:
                                         by_cramer(a.T, b))
    return solve


def test_linear_solve_in_every_transformation():
    def build(e):
        solve = solver(e)

        def loss(a, b):
            return (solve(a, b) ** 2).sum()

        def run(a, b, many):
            grad = e.grad(loss, (0, 1))
            return (solve(a, b), e.jvp(solve, (a, b), (a + 1, b)), grad(a, b), e.jit(grad)(a, b),
                    e.vmap(grad)(many, many[0]), e.vmap(grad, (None, 0))(a, many[0]), e.vmap(grad, (0, None))(many, b),
                    e.grad(lambda a: e.vmap(solve, (0, None))(a, b).sum())(many))
        return run
    same(build, A, B, np.stack([A, 2 * A + 1]), rtol=1e-4)


def test_linear_solve_second_order_and_in_scan():
    def build(e):
        solve = solver(e)

        def repeated(a):
            return e.lax.scan(lambda c, _: (solve(a, c), c), e.numpy.ones(2), None, length=3)[0].sum()
        return lambda a, b: (e.jit(e.hessian(lambda a: (solve(a, b) ** 2).sum()))(a),
                             e.jit(e.jacrev(e.grad(lambda b: (solve(a, b) ** 3).sum())))(b),
                             e.jit(e.grad(repeated))(a))
    same(build, A, B, rtol=1e-4, atol=1e-5)


def test_linear_solve_on_trees_with_aux_and_symmetric():
    def build(e):
        def solve(d, b):
            def divide(_, b):
                return {"x": b["x"] / d, "y": b["y"] / 4}, {"largest": e.numpy.max(b["x"]), "steps": 3}
            return e.lax.custom_linear_solve(lambda v: {"x": d * v["x"], "y": 4 * v["y"]}, b, divide, symmetric=True,
                                             has_aux=True)

        def loss(d, x, y):
            out, aux = solve(d, {"x": x, "y": y})
            return (out["x"] ** 2).sum() + out["y"] + aux["largest"]
        return lambda d, x: (solve(d, {"x": x, "y": 1.0}), e.grad(loss, (0, 1, 2))(d, x, 2.0),
                             e.jvp(lambda x, y: solve(d, {"x": x, "y": y})[0], (x, 2.0), (x, 1.0)))
    same(build, D, B)

    def solve(d, b):  # real jax does not batch this
        return lax.custom_linear_solve(lambda x: d * x, b, lambda _, b: (b / d, jnp.max(b)), symmetric=True,
                                       has_aux=True)

    x, largest = pullback.vmap(solve, (0, None))(np.stack([D, 2 * D]), B)
    np.testing.assert_allclose(x, [B / D, B / D / 2])
    np.testing.assert_allclose(largest, [2, 2])


def test_linear_solve_symmetric_with_its_own_transpose_solver_and_weak_types():
    def build(e):
        def solve(b):
            return e.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda _, b: b / 2, lambda _, b: b * 0.5, True)
        return lambda b: (e.grad(solve)(b), e.jit(solve)(b))
    same(build, np.float32(3.0))
    weak = lax.custom_linear_solve(lambda x: 2.0 * x, 3.0, lambda _, b: b / 2.0)
    assert weak.weak_type and weak == 1.5


def test_linear_solve_transposes_the_map_for_the_transposed_solver():
    """A Krylov-like solver that knows the matrix only through its product, in both directions."""
    def build(e):
        def iterate(multiply, b):  # Richardson's iteration, for a matrix near the identity
            return e.lax.fori_loop(0, 30, lambda _, x: x + b - multiply(x), e.numpy.zeros_like(b))

        def solve(m, b):
            return e.lax.custom_linear_solve(lambda x: x + 0.1 * (m @ x), b, iterate, iterate)
        return lambda m, b: (solve(m, b), e.jit(e.grad(lambda m, b: solve(m, b)[0], (0, 1)))(m, b))
    same(build, A, B)


def test_linear_solve_messages():
    with pytest.raises(errors.MissingRuleError, match="transpose_solve="):
        pullback.grad(lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2).sum())(B)
    with pytest.raises(ValueError, match=r"the shape of b is required: \[2\]"):
        lax.custom_linear_solve(lambda x: x[:1], B, lambda _, b: b)
    with pytest.raises(ValueError, match=r"shape \[1\]"):
        lax.custom_linear_solve(lambda x: x, B, lambda _, b: b[:1])
    with pytest.raises(ValueError, match="the structure of b is required"):
        lax.custom_linear_solve(lambda x: x, B, lambda _, b: (b, b))
    with pytest.raises(TypeError, match="a pair"):
        lax.custom_linear_solve(lambda x: x, B, lambda _, b: b, has_aux=True)
    with pytest.raises(TypeError, match="a function is required"):
        lax.custom_linear_solve(A, B, lambda _, b: b)


def square_root(e, has_aux=False):
    def root(a, start=1.0):
        def newton(f, x):
            x = e.lax.while_loop(lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / (2 * x), x)
            return (x, {"residual": f(x)}) if has_aux else x
        return e.lax.custom_root(lambda x: x * x - a, start, newton, lambda g, y: y / g(1.0), has_aux)
    return root


def test_root_in_every_transformation():
    def build(e):
        root = square_root(e)
        return lambda a: (root(2.0), e.grad(root)(2.0), e.jit(e.grad(e.grad(root)))(2.0), e.vmap(root)(a),
                          e.jit(e.vmap(e.grad(root)))(a), e.jvp(root, (2.0,), (3.0,)), e.grad(root, 1)(2.0, 1.5),
                          e.grad(lambda a: e.vmap(root)(a).sum())(a),
                          e.jit(e.grad(lambda a: e.lax.scan(lambda c, _: (root(c), None), a, None, 3)[0]))(9.0))
    same(build, np.array([2.0, 3.0], np.float32), rtol=1e-4, atol=1e-4)


def test_root_with_aux():
    def build(e):
        root = square_root(e, has_aux=True)
        return lambda a: (e.jvp(lambda a: root(a)[0], (a,), (1.0,)), e.grad(lambda a: root(a)[0])(a),
                          e.grad(lambda a: root(a)[1]["residual"])(a))
    same(build, 2.0, rtol=1e-4, atol=1e-4)


def test_root_of_a_system_of_equations():
    """x^2 + y = p, x - y = q on a tree; the tangent system solved by Jacobian and Cramer's rule."""
    def build(e):
        def solve_linear(g, v):
            (a, b), (c, d) = ([g({"x": u, "y": w})[k] for u, w in ((1.0, 0.0), (0.0, 1.0))] for k in "xy")
            det = a * d - b * c
            return {"x": (d * v["x"] - b * v["y"]) / det, "y": (a * v["y"] - c * v["x"]) / det}

        def system(p, q):
            def newton(f, s):
                def step(_, s):
                    _, pushed = e.linearize(f, s)
                    move = solve_linear(pushed, f(s))
                    return {"x": s["x"] - move["x"], "y": s["y"] - move["y"]}
                return e.lax.fori_loop(0, 8, step, s)
            return e.lax.custom_root(lambda s: {"x": s["x"] ** 2 + s["y"] - p, "y": s["x"] - s["y"] - q},
                                     {"x": 1.0, "y": 0.0}, newton, solve_linear)
        loss = (lambda p, q: system(p, q)["x"] * system(p, q)["y"])  # noqa: E731
        return lambda p, q: (system(p, q), e.jit(e.grad(loss, (0, 1)))(p, q))
    same(build, np.float32(3.0), np.float32(0.5), rtol=1e-4)


def test_root_messages():
    good = (lambda f, x: x, lambda g, y: y)
    with pytest.raises(TypeError, match="the structure of initial_guess is required"):
        lax.custom_root(lambda x: (x, x), 1.0, *good)
    with pytest.raises(TypeError, match="the structure of initial_guess"):
        lax.custom_root(lambda x: x, 1.0, lambda f, x: (x, x), good[1])
    with pytest.raises(TypeError, match="the structure of initial_guess"):
        pullback.grad(lambda a: lax.custom_root(lambda x: x - a, 1.0, good[0], lambda g, y: (y, y)))(1.0)
    with pytest.raises(TypeError, match="initial_guess is 'a'|'a' of type str"):
        lax.custom_root(lambda x: x, "a", *good)
    with pytest.raises(TypeError, match="a function is required"):
        lax.custom_root(lambda x: x, 1.0, 3, good[1])


def test_singular_derivative_is_infinite():
    for e in (pullback, jax):
        def root(a, e=e):
            return e.lax.custom_root(lambda x: x * x - a, 0.0, lambda f, x: x, lambda g, y: y / g(1.0))
        assert np.isinf(e.grad(root)(0.0))


def test_examples():
    names = {"jnp": jnp, "lax": lax, "grad": pullback.grad}
    assert doctest.testmod(implicit, extraglobs=names).failed == 0
