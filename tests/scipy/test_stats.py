"""pullback.scipy.stats against real jax, and against SciPy in float64 where real jax loses digits."""

import inspect
import math

import jax
import jax.scipy.stats
import numpy as np
import pytest
import scipy.stats

import pullback
from pullback import random
from pullback.scipy import stats
from tests.numpy.against_jax import close, ours, same, theirs

NAN, INF = math.nan, math.inf
DISTRIBUTIONS = sorted(name for name in stats.__all__ if inspect.ismodule(getattr(stats, name)))


def f32(*values):
    return np.array(values, np.float32)


LINE = f32(-30, -4, -1, 0, 0.3, 1, 2.5, 7, 40, NAN)
COUNT = f32(-1, 0, 1, 2, 5)
# Per distribution: the places, and the parameters that a function of the first argument has.
CASES = {
    "bernoulli": (f32(-1, 0, 1, 2), {"p": f32(0.3)}), "beta": (f32(-1, 0.1, 0.5, 0.9, 2), {"a": f32(2), "b": f32(3)}),
    "betabinom": (COUNT, {"n": f32(6), "a": f32(2), "b": f32(1.5)}), "binom": (COUNT, {"n": f32(6), "p": f32(0.3)}),
    "cauchy": (LINE, {}), "chi2": (f32(-1, 0.5, 3, 9), {"df": f32(3)}), "expon": (LINE[1:], {}),
    "gamma": (f32(-1, 0.5, 3, 9), {"a": f32(2.5)}), "gennorm": (LINE[1:8], {"beta": f32(1.5)}),
    "geom": (COUNT[1:], {"p": f32(0.3)}), "gumbel_l": (LINE[1:8], {}), "gumbel_r": (LINE[1:8], {}),
    "laplace": (LINE, {}), "logistic": (LINE, {}), "nbinom": (COUNT, {"n": f32(6), "p": f32(0.3)}),
    "norm": (LINE, {}), "pareto": (f32(0.5, 1, 2, 40), {"b": f32(2.5)}), "poisson": (COUNT, {"mu": f32(2.5)}),
    "t": (LINE, {"df": f32(3)}), "truncnorm": (f32(-3, -1.5, 0.2, 0.9, 4), {"a": f32(-2), "b": f32(1)}),
    "uniform": (f32(-1, 0, 0.3, 1, 2), {}), "vonmises": (LINE[1:8], {"kappa": f32(1.5)}),
    "wrapcauchy": (f32(0, 0.5, 3, 6), {"c": f32(0.5)}),
}
PROBABILITY = f32(0.01, 0.3, 0.5, 0.9)
# Exponentials and logarithms of the others; the programs of real jax take long to compile.
SAME_IN_OTHER_FORM = ("pdf", "pmf", "logcdf", "logsf")
# Places with slopes, where 1, 2, 3 have none.
INSIDE = {"beta": f32(0.1, 0.5, 0.9), "pareto": f32(1.5, 2, 3), "bernoulli": f32(0, 1), "truncnorm": f32(-1, 0.1, 0.6)}


def arguments(name, function):
    """Positional arguments: places, and the distribution's parameters."""
    names = list(inspect.signature(getattr(getattr(stats, name), function)).parameters)
    places, parameters = CASES[name]
    first = PROBABILITY if function in ("ppf", "isf") else places
    if function == "entropy":
        return [f32(0.5, 2, 30)]
    return [first, *[np.resize(parameters[n], first.shape) for n in names[1:] if n in parameters]]


@pytest.mark.parametrize("name", CASES)
def test_every_function_of_every_distribution(name):
    """Standard ones against SciPy, moved and scaled ones against real jax, in one program."""
    module, other = getattr(stats, name), getattr(jax.scipy.stats, name)
    calls = []
    for function in module.__all__:
        args = arguments(name, function)
        wide = [np.float64(a) for a in args]
        with np.errstate(all="ignore"):
            known = getattr(scipy.stats, name)
            wanted = known(*wide[0:]).entropy() if function == "entropy" else getattr(known, function)(*wide)
        np.testing.assert_allclose(getattr(module, function)(*ours(args)), wanted, 5e-5, 5e-6, err_msg=function)
        if "scale" in inspect.signature(getattr(module, function)).parameters:
            args = [*args, np.full_like(args[0], 0.25), np.full_like(args[0], 2)]
        if function not in SAME_IN_OTHER_FORM:
            calls.append((function, args))

    def slopes(space, grad, call, args):
        """Of the first function that is a logarithm, by all that is no whole number."""
        function = call("logpdf" if hasattr(space, "logpdf") else "logpmf")
        first = 0 if hasattr(space, "logpdf") and name != "uniform" else 1
        return grad(lambda *xs: function(*xs).sum(), tuple(range(first, len(args))))(*args)

    within = arguments(name, "logpdf" if hasattr(module, "logpdf") else "logpmf")
    within = [INSIDE.get(name, f32(1, 2, 3)), *[a[:1].repeat(len(INSIDE.get(name, "123"))) for a in within[1:]]]
    sloped = name not in ("uniform",) and (hasattr(module, "logpdf") or len(within) > 1)
    real, wanted = jax.jit(lambda given, at: (
        [getattr(other, function)(*args) for (function, _), args in zip(calls, given)],
        slopes(other, jax.grad, lambda f: getattr(other, f), at) if sloped else ()))([a for _, a in calls], within)
    for (function, args), expected in zip(calls, real):
        close(getattr(module, function)(*ours(args)), expected, (name, function, len(args)), 5e-5)
    if sloped:
        close(slopes(module, pullback.grad, lambda f: getattr(module, f), ours(within)), wanted, (name, "slopes"), 1e-4)


@pytest.mark.parametrize("name", ["binom", "poisson", "geom", "nbinom", "bernoulli", "betabinom", "uniform", "gamma"])
def test_of_nan_and_between_the_integers(name):
    """As SciPy; real jax gives probabilities to 2.5, or to NaN, in some."""
    parameters = [float(v[0]) for v in CASES[name][1].values()]
    function = "logpdf" if name in ("uniform", "gamma") else "logpmf"
    x = f32(NAN, 1) if name in ("uniform", "gamma") else f32(NAN, 1, 2.5)
    np.testing.assert_allclose(getattr(getattr(stats, name), function)(ours(x), *parameters),
                               getattr(getattr(scipy.stats, name), function)(x, *parameters), rtol=1e-5, atol=1e-7)


def test_signatures_are_those_of_real_jax():
    real = jax.scipy.stats
    assert [n for n in dir(real) if not n.startswith("_") and n not in stats.__all__] == []

    def plain(function):
        return [(p.name, p.default, p.kind) for p in inspect.signature(function).parameters.values()]

    for name in DISTRIBUTIONS:
        module, other = getattr(stats, name), getattr(real, name)
        assert set(module.__all__) == {n for n in dir(other) if not n.startswith("_")}, name
        for function in module.__all__:
            assert plain(getattr(module, function)) == plain(getattr(other, function)), (name, function)
    for name in ("mode", "rankdata", "sem", "gaussian_kde"):
        assert plain(getattr(stats, name)) == plain(getattr(real, name)), name


def test_digits_far_out():
    """Where a difference of numbers near 1 would lose them all; real jax does in some."""
    cases = [("cauchy", "cdf", (-1e6,)), ("pareto", "cdf", (1 + 1e-6, 2.0)), ("gamma", "sf", (40.0, 2.0)),
             ("beta", "sf", (1 - 1e-5, 2.0, 3.0)), ("truncnorm", "sf", (9.5, 9.0, 10.0)), ("norm", "logsf", (30.0,)),
             ("truncnorm", "logpdf", (20.5, 20.0, 21.0)),
             ("t", "logpdf", (1.0, 1e6)), ("poisson", "entropy", (0.3,)), ("poisson", "entropy", (90.0,)),
             ("poisson", "entropy", (5e3,)), ("truncnorm", "logcdf", (-1.0, -20.0, 1.5)), ("expon", "cdf", (1e-6,))]
    for name, function, args in cases:
        wide = [np.float64(np.float32(a)) for a in args]
        wanted = getattr(scipy.stats, name).entropy(*wide) if function == "entropy" else \
            getattr(getattr(scipy.stats, name), function)(*wide)
        np.testing.assert_allclose(getattr(getattr(stats, name), function)(*args), wanted, rtol=3e-5,
                                   err_msg=f"{name}.{function}{args}")


def test_vectors():
    alpha = f32(1, 2, 0.5)
    simplex = f32(0.2, 0.3, 0.5)
    p, counts = f32(0.4, 0.6), np.int32([[1, 2], [2, 2], [3, 0]])
    cov = f32(2, 0.5, 0.5, 1).reshape(2, 2)
    x, mean = f32(1, 2, 0, 1, 1, 1).reshape(3, 2), f32(0.5, 0)

    def values(space, convert):
        d, m, n = space.dirichlet, space.multinomial, space.multivariate_normal
        first = convert(counts[0])
        return [d.logpdf(convert(simplex), convert(alpha)), d.pdf(convert(simplex[:2]), convert(alpha)),
                d.logpdf(convert(np.stack([simplex, simplex[::-1]], 1)), convert(alpha)),
                d.logpdf(convert(f32(0.2, 0.3, 0.6)), convert(alpha)),
                m.logpmf(first, 3, convert(p)), m.pmf(first, 3, convert(p)), m.logpmf(first, 4, convert(p)),
                n.logpdf(convert(x), convert(mean), convert(cov)), n.pdf(convert(x[0]), convert(mean), convert(cov)),
                n.logpdf(convert(x[0]), convert(mean), convert(np.stack([cov, 2 * cov]))),
                n.logpdf(convert(x), convert(mean), convert(np.float32(2))), n.logpdf(convert(mean), 0.0, 2.0)]

    close(values(stats, ours), jax.jit(lambda: values(jax.scipy.stats, theirs))(), "vectors", 5e-5)
    # Real jax sums over both axes.
    np.testing.assert_allclose(stats.multinomial.logpmf(ours(counts), 3, ours(p)),
                               scipy.stats.multinomial.logpmf(counts, 3, np.float64([0.4, 0.6])), rtol=1e-5)
    slopes = pullback.grad(lambda *a: stats.multivariate_normal.logpdf(*a), (0, 1, 2))(*ours([x[0], mean, cov]))
    wanted = jax.jit(jax.grad(jax.scipy.stats.multivariate_normal.logpdf, (0, 1, 2)))(x[0], mean, cov)
    close(slopes, wanted, "slopes", 1e-4)


TABLE = f32(1, 2, 2, 3, 4, 4, 1, 1, 1, 2, 9, 9).reshape(3, 4)


def test_samples():
    real = jax.scipy.stats
    ways = ({}, {"axis": None}, {"axis": 1, "keepdims": True})
    wanted = jax.jit(lambda x: [tuple(real.mode(x, **way)) for way in ways])(TABLE)
    close([tuple(stats.mode(ours(TABLE), **way)) for way in ways], wanted, "mode")
    assert str(stats.mode(ours(np.int32([3, 3, 1])))[0]) == "3"
    mode, count = stats.mode(ours(f32(1, NAN, NAN)))
    assert np.isnan(mode) and count == 2
    for method in ("average", "min", "max", "dense", "ordinal"):
        for axis in (None, 1):
            wanted = np.ravel(scipy.stats.rankdata(TABLE, method, axis=axis))
            ranks = stats.rankdata(ours(TABLE), method, axis=axis)
            assert ranks.dtype == np.float32 and ranks.shape == ((12,) if axis is None else (3, 4))
            np.testing.assert_array_equal(np.ravel(ranks), wanted)
    same(stats.rankdata, jax.jit(real.rankdata), TABLE, traced=False)
    assert np.isnan(stats.rankdata(ours(f32(1, NAN)))).all()
    ways = ({}, {"axis": None}, {"axis": 1, "ddof": 0, "keepdims": True})
    gaps = np.where(TABLE == 9, NAN, TABLE)

    def errors(sem, table, gaps):
        return [*(sem(table, **way) for way in ways), sem(gaps, nan_policy="omit"), sem(table.astype(int))]
    close(errors(stats.sem, *ours([TABLE, gaps])), jax.jit(lambda *a: errors(real.sem, *a))(TABLE, gaps), "sem")


POINTS = np.random.default_rng(0).normal(size=(2, 7)).astype(np.float32)


def test_density_estimates():
    weights = np.arange(1, 8, dtype=np.float32)
    for data, more in ((POINTS, {}), (POINTS, {"weights": weights, "bw_method": "silverman"}), (POINTS[0], {}),
                       (POINTS[0], {"bw_method": 0.4})):
        mine = stats.gaussian_kde(ours(data), **ours(more))
        known = scipy.stats.gaussian_kde(np.float64(data), **more)
        for field in ("neff", "covariance", "inv_cov", "weights"):
            np.testing.assert_allclose(getattr(mine, field), getattr(known, field), rtol=2e-4, err_msg=field)
        at = np.zeros((mine.d, 3), np.float32) + f32(0, 0.5, 2)
        np.testing.assert_allclose(mine.evaluate(ours(at)), known.evaluate(at), rtol=1e-4)
        np.testing.assert_allclose(mine.logpdf(ours(at)), known.logpdf(at), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(mine.integrate_kde(mine), known.integrate_kde(known), rtol=1e-4)
        np.testing.assert_allclose(mine.integrate_gaussian(ours(at[:, 1]), ours(np.eye(mine.d, dtype=np.float32))),
                                   known.integrate_gaussian(at[:, 1], np.eye(mine.d)), rtol=1e-4)
    np.testing.assert_allclose(mine.integrate_box_1d(-1.0, 0.5), known.integrate_box_1d(-1.0, 0.5), rtol=1e-4)

    def values(kde, at, key):
        return [*(getattr(kde, field) for field in ("neff", "dataset", "weights", "covariance")), kde.evaluate(at),
                kde.resample(key, (4,))]
    at = POINTS[:, :2]
    real = jax.jit(lambda data: values(jax.scipy.stats.gaussian_kde(data), at, jax.random.key(3)))(POINTS)
    close(values(stats.gaussian_kde(ours(POINTS)), ours(at), random.key(3)), real, "real jax", 1e-4)
    density = pullback.jit(lambda kde, x: kde.evaluate(x))(stats.gaussian_kde(ours(POINTS)), ours(POINTS[:, 0]))
    np.testing.assert_allclose(density, stats.gaussian_kde(ours(POINTS)).evaluate(ours(POINTS[:, 0])), rtol=1e-5)
    slope = pullback.grad(lambda x: stats.gaussian_kde(x).logpdf(0.0)[0])(ours(POINTS[0]))
    wanted = jax.jit(jax.grad(lambda x: jax.scipy.stats.gaussian_kde(x).logpdf(0.0)[0]))(POINTS[0])
    np.testing.assert_allclose(slope, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("call, message", [
    (lambda: stats.dirichlet.logpdf(ours(f32(0.2, 0.3, 0.5)), ours(f32(1, 2))), "as many elements, or one less"),
    (lambda: stats.multinomial.logpmf(ours(f32(1, 2)), 3, ours(f32(0.4, 0.6))), "integers are required"),
    (lambda: stats.multivariate_normal.logpdf(*ours([f32(1, 2), f32(0, 0), f32(1, 2)])), r"cov\[\.\.\., 2, 2\]"),
    (lambda: stats.multivariate_normal.logpdf(1.0, 0.0, 1.0, True), "allow_singular is True"),
    (lambda: stats.mode(ours(TABLE), nan_policy="omit"), "nan_policy is 'omit'"),
    (lambda: stats.rankdata(ours(TABLE), "x"), "method is 'x'"),
    (lambda: stats.gaussian_kde(ours(f32(1))), "at least two elements"),
    (lambda: stats.gaussian_kde(ours(POINTS), "x"), "bw_method is 'x'"),
    (lambda: stats.gaussian_kde(ours(POINTS)).evaluate(ours(f32(1, 2, 3))), r"float\[2, m\] is required"),
    (lambda: stats.gaussian_kde(ours(POINTS)).integrate_box_1d(0, 1), "one is required"),
    (lambda: stats.gaussian_kde(ours(POINTS)).set_bandwidth(1), "not supported"),
    (lambda: stats.lognorm, "pullback.scipy.stats.lognorm is not supported"),
])
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError, AttributeError, NotImplementedError), match=message):
        call()
