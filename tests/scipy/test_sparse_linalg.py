"""Krylov methods against real jax and against the dense solution."""

from __future__ import annotations

import doctest

import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest

import pullback
from pullback.scipy.sparse import linalg
from tests.same import same

jnp = pullback.numpy
RNG = np.random.default_rng(0)
Q = RNG.normal(size=(8, 8)).astype(np.float32)
SPD = Q @ Q.T / 8 + 2 * np.eye(8, dtype=np.float32)
GENERAL = Q / 4 + 2 * np.eye(8, dtype=np.float32)
B = RNG.normal(size=8).astype(np.float32)
MODULES = {pullback: linalg, jax: jax.scipy.sparse.linalg}


def method(e, name):
    return getattr(MODULES[e], name)


@pytest.mark.parametrize("name, a", [("cg", SPD), ("bicgstab", GENERAL), ("gmres", GENERAL)])
def test_iterates_and_solutions_equal_jaxs(name, a):
    def build(e):
        solve = method(e, name)

        @e.jit
        def run(a, b):
            m = e.numpy.diag(1 / e.numpy.diag(a))
            more = {"restart": 3} if name == "gmres" else {}
            found = [solve(a, b, M=lambda r: m @ r, maxiter=2, **more)[0],
                     solve(lambda x: {"u": x["u"] * 2, "v": a @ x["v"]}, {"u": 1.0, "v": b}, tol=1e-6)[0]]
            if name != "gmres":  # whose loops take long to compile
                found += [solve(a, b, maxiter=2)[0], solve(a, b, b, M=m, atol=0.1)[0]]
            return found
        return run
    same(build, a, B, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name, a", [("cg", SPD), ("bicgstab", GENERAL), ("gmres", GENERAL)])
def test_derivatives_are_those_of_the_solution(name, a):
    solve = getattr(linalg, name)

    def loss(a, b):
        return jnp.sum(solve(a, b, tol=1e-7)[0] ** 2)
    by_a, by_b = pullback.jit(pullback.grad(loss, (0, 1)))(a, B)
    x = np.linalg.solve(a.astype(float), B)
    back = np.linalg.solve(a.T.astype(float), 2 * x)
    np.testing.assert_allclose(by_b, back, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(by_a, -np.outer(back, x), rtol=1e-3, atol=1e-4)
    if name == "cg":
        many = np.stack([B, 2 * B])
        np.testing.assert_allclose(pullback.vmap(lambda b: solve(a, b, tol=1e-6)[0])(many), [x, 2 * x], rtol=1e-3,
                                   atol=1e-4)
        _, dot = pullback.jvp(lambda b: solve(a, b, tol=1e-7)[0], (B,), (B,))
        np.testing.assert_allclose(dot, x, rtol=1e-3, atol=1e-4)


def test_complex_systems():
    with pullback.enable_x64(True):
        a = (SPD + 0.1j * (Q - Q.T)).astype(np.complex128)
        b = B + 1j * B[::-1]
        expected = np.linalg.solve(a, b)
        for solve in (linalg.cg, linalg.gmres):
            np.testing.assert_allclose(solve(a, b, tol=1e-10)[0], expected, rtol=1e-7, err_msg=solve.__name__)
        # Hermitian is not symmetric: reverse mode solves with the transpose.
        (found,) = pullback.vjp(lambda b: linalg.cg(a, b, tol=1e-12)[0], b)[1](np.eye(8)[0] + 0j)
        np.testing.assert_allclose(found, np.linalg.solve(a.T, np.eye(8)[0]), rtol=1e-7, atol=1e-10)


def test_gmres_methods_and_special_cases():
    incremental = pullback.jit(lambda a, b: linalg.gmres(a, b, tol=1e-6, restart=4, solve_method="incremental"))
    x, info = incremental(GENERAL, B)
    np.testing.assert_allclose(x, np.linalg.solve(GENERAL, B), rtol=1e-3, atol=1e-4)
    assert info == 0
    for solve in (pullback.jit(linalg.cg), pullback.jit(linalg.bicgstab), incremental):
        np.testing.assert_allclose(solve(2 * np.eye(8, dtype=np.float32), B)[0], B / 2, rtol=1e-6)  # in one step
        assert not solve(SPD, np.zeros(8, np.float32))[0].any()
        assert pullback.eval_shape(solve, SPD, np.arange(8))[0].dtype == np.float32  # integers become floats
    np.testing.assert_array_equal(linalg.cg(SPD, B, x0=B, maxiter=0)[0], B)
    with pytest.raises(ValueError, match="invalid solve_method x"):
        linalg.gmres(GENERAL, B, solve_method="x")


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_messages(name):
    solve = getattr(linalg, name)
    with pytest.raises(TypeError, match="must be either a function or ndarray: 3"):
        solve(3, B)
    with pytest.raises(ValueError, match=r"a square matrix, but has shape: \(2, 3\)"):
        solve(np.ones((2, 3), np.float32), B)
    with pytest.raises(ValueError, match="matching shapes"):
        solve(SPD, B, x0=B[:3])
    with pytest.raises(ValueError, match="matching tree structure"):
        solve(SPD, B, x0={"a": B})
    with pytest.raises(TypeError, match="linear operator"):
        solve(SPD, B, M="jacobi")


def test_examples():
    assert doctest.testmod(linalg, extraglobs={"jnp": jnp}).failed == 0
