"""minimize, trapezoid, RegularGridInterpolator and vq, against real jax and SciPy."""

from __future__ import annotations

import doctest

import jax
import jax.scipy.cluster.vq
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.optimize
import numpy as np
import pytest
import scipy.interpolate
import scipy.optimize

import pullback
from pullback.scipy import integrate, interpolate, optimize
from pullback.scipy.cluster import vq as vq_module
from tests.same import same

jnp = pullback.numpy
SCIPY = {pullback: pullback.scipy, jax: jax.scipy}
RNG = np.random.default_rng(3)


def rosenbrock(x, a=100.0):
    return a * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("fun, x0", [
    (rosenbrock, [-1.2, 1.0]), (lambda x: ((x - np.arange(4.0)) ** 2).sum() + (x ** 4).sum(), [1.0, 2.0, -1.0, 3.0]),
    (lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2, [0.0, 0.0]),
    (lambda x: -1 / (1 + ((x - 3) ** 2).sum()), [2.0, 2.5])], ids=["rosenbrock", "quartic", "himmelblau", "well"])
def test_minimum_is_jaxs_and_scipys(fun, x0):
    with pullback.enable_x64(True), jax.enable_x64(True):
        x0 = np.array(x0)
        found = optimize.minimize(fun, x0, method="BFGS", tol=1e-8)
        reference = scipy.optimize.minimize(lambda x: float(fun(x)), x0, method="BFGS", tol=1e-8)
        assert found.success and found.status == 0 and found.nfev == found.njev >= found.nit > 0
        np.testing.assert_allclose(found.x, reference.x, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.jac, 0, atol=1e-7)
        assert found.nfev < 2 * reference.nfev + 20
        if len(x0) == 4:  # the line search of real jax gives up on some of the others
            theirs = jax.scipy.optimize.minimize(fun, jax.numpy.asarray(x0), method="BFGS", tol=1e-8)
            assert found._fields == theirs._fields
            np.testing.assert_allclose(found.x, theirs.x, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found.fun, theirs.fun, rtol=1e-8, atol=1e-10)
            for a, b in zip(found, theirs, strict=True):
                assert a.shape == b.shape and a.dtype.kind == b.dtype.kind


def test_minimize_in_transformations_and_single_precision():
    found = optimize.minimize(rosenbrock, np.array([-1.2, 1.0], np.float32), method="bfgs")
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-3)

    def best(a):
        def fun(x, a):
            return ((x - a) ** 2).sum() + (x ** 4).sum()
        return optimize.minimize(fun, jnp.zeros(2), (a,), method="BFGS").x
    a = np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)
    x = np.asarray(pullback.jit(pullback.vmap(best))(a))
    np.testing.assert_allclose(2 * (x - a) + 4 * x ** 3, 0, atol=1e-3)
    stopped = optimize.minimize(rosenbrock, np.array([-1.2, 1.0], np.float32), method="BFGS", options={"maxiter": 2})
    assert stopped.nit == 2 and stopped.status == 1 and not stopped.success
    rough = optimize.minimize(lambda x: jnp.sum(jnp.abs(x)), jnp.ones(2) * 0.3, method="BFGS",
                              options={"norm": 2, "gtol": 1e-9, "line_search_maxiter": 4})
    assert rough.status == 3 and not rough.success
    with pytest.raises(ValueError, match="Method CG not recognized"):
        optimize.minimize(rosenbrock, np.zeros(2), method="CG")
    with pytest.raises(TypeError, match="a tuple is required"):
        optimize.minimize(rosenbrock, np.zeros(2), 3.0, method="BFGS")
    with pytest.raises(TypeError, match=r"unknown options \['foo'\]"):
        optimize.minimize(rosenbrock, np.zeros(2), method="BFGS", options={"foo": 1})
    with pytest.raises(ValueError, match="a vector is required"):
        optimize.minimize(rosenbrock, np.zeros((2, 2)), method="BFGS")


def test_trapezoid():
    def build(e):
        f = SCIPY[e].integrate.trapezoid
        return lambda y, x: (f(y), f(y, x), f(y, dx=0.5), f(y, axis=0), f(y[0], x), f(y.T, x, axis=0),
                             f(y, dx=e.numpy.ones((2, 2))), f(e.numpy.arange(4)), f(y + 1j),
                             e.grad(lambda y, x: (f(y, x) ** 2).sum(), (0, 1))(y, x))
    same(build, RNG.normal(size=(2, 3)).astype(np.float32), np.array([0.0, 1.0, 3.0], np.float32))
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        integrate.trapezoid(jnp.ones(3), axis=2)


GRID = (np.array([0.0, 0.5, 2.0], np.float32), np.array([-1.0, 0.0, 1.0, 4.0], np.float32))
VALUES = RNG.normal(size=(3, 4, 2)).astype(np.float32)
POINTS = RNG.uniform([-0.3, -1.3], [2.3, 4.3], size=(3, 5, 2)).astype(np.float32)


@pytest.mark.parametrize("method, fill", [("linear", np.nan), ("nearest", 0.0), ("nearest", None)])
def test_interpolation_equals_jaxs(method, fill):
    def build(e):
        def at(x, values=VALUES, **how):
            grid = tuple(e.numpy.asarray(g) for g in GRID)
            f = SCIPY[e].interpolate.RegularGridInterpolator(grid, e.numpy.asarray(values), method, fill_value=fill)
            return f(x, **how)

        def loss(x, values):
            return e.numpy.nansum(at(x, values) ** 2)

        def run(x, values):
            return at(x), at(x[0, 0]), at((x[..., 0], x[..., 1])), at(x, method="linear"), \
                e.grad(loss, (0, 1))(x, values)
        return e.jit(run)
    same(build, POINTS, VALUES, rtol=1e-4, atol=1e-5)


def test_interpolation_equals_scipys_at_nodes_and_outside():
    nodes = np.stack(np.meshgrid(*GRID, indexing="ij"), -1)
    ours = interpolate.RegularGridInterpolator(GRID, VALUES)
    np.testing.assert_allclose(ours(nodes), VALUES, rtol=1e-6)
    theirs = scipy.interpolate.RegularGridInterpolator(GRID, VALUES, bounds_error=False, fill_value=None)
    np.testing.assert_allclose(interpolate.RegularGridInterpolator(GRID, VALUES, fill_value=None)(POINTS),
                               theirs(POINTS), rtol=1e-4, atol=1e-5)
    line = interpolate.RegularGridInterpolator((GRID[0],), np.arange(3))
    np.testing.assert_allclose(line(np.array([0.25, 5.0])), [0.5, np.nan])
    for args, error, message in (
            ((GRID, VALUES, "cubic"), ValueError, "method 'cubic' is not defined"),
            ((GRID, VALUES, "linear", True), NotImplementedError, "bounds_error"),
            ((GRID * 2, VALUES), ValueError, "4 point arrays, but values has 3"),
            ((GRID[::-1], VALUES), ValueError, "dimension 0 have shape")):
        with pytest.raises(error, match=message):
            interpolate.RegularGridInterpolator(*args)
    with pytest.raises(ValueError, match="3 coordinates"):
        ours(np.ones((2, 3)))


def test_vector_quantisation():
    def build(e):
        vq = SCIPY[e].cluster.vq.vq
        return lambda x, codes: (vq(x, codes), vq(x[:, 0], codes[:, 1]), e.jit(vq)(x, codes),
                                 vq(e.numpy.ones((2, 2), int), codes[:, :2].astype(int)),
                                 e.grad(lambda x, c: vq(x, c)[1].sum(), (0, 1))(x, codes))
    same(build, RNG.normal(size=(6, 3)).astype(np.float32), RNG.normal(size=(4, 3)).astype(np.float32))
    vq = vq_module.vq
    for a, b, error, message in (((2, 3), (2,), ValueError, "the same rank"),
                                 ((2, 2, 2), (2, 2, 2), ValueError, "1 or 2"),
                                 ((2, 3), (2, 2), TypeError, "3 features, code_book 2")):
        with pytest.raises(error, match=message):
            vq(jnp.ones(a), jnp.ones(b))


def test_examples():
    for module in (optimize, integrate, interpolate, vq_module):
        assert doctest.testmod(module, extraglobs={"jnp": jnp}).failed == 0, module
