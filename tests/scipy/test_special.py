"""pullback.scipy.special against real jax, and where real jax loses digits against SciPy in float64."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import pullback
from pullback.scipy import special
from tests.numpy.against_jax import close, ours, same, weak

NAN, INF = math.nan, math.inf
rng = np.random.default_rng(0)
LINE = np.float32([0, 0.5, -0.5, 1, -1, 2.5, -2.5, 3.7, -3.7, 20, -20, 1e-9, 100, INF, -INF, NAN])
UNIT = np.float32([0, 1e-20, 1e-4, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1, -0.5, 2, NAN])
# Before 0.11, digamma in real jax was NaN at 0.
ONE = {"digamma": LINE[1:], "entr": LINE, "erf": LINE, "erfc": LINE, "erfinv": UNIT * 2 - 1, "expit": LINE,
       "factorial": LINE,
       "gamma": LINE, "gammaln": LINE, "gammasgn": np.append(LINE, np.float32(-0.0)), "i0": LINE[:10], "i0e": LINE,
       "i1": LINE[:10], "i1e": LINE, "log_ndtr": np.append(LINE, np.float32([4.9, 5.1, -9.9, -10.1])), "logit": UNIT,
       "ndtr": LINE, "ndtri": UNIT}
GRID = np.float32([0, 0.5, 1, 2, 3.5, -1.5, INF])
TWO = ["boxcox", "boxcox1p", "kl_div", "rel_entr", "xlog1py", "xlogy"]


def theirs(name):
    return getattr(jax.scipy.special, name)


def pairs(values):
    return [x.ravel() for x in np.meshgrid(values, values)]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name):
    x = ONE[name]
    same(getattr(special, name), theirs(name), x, rtol=5e-5)


@pytest.mark.parametrize("name", ONE)
def test_derivatives(name):
    x = np.float32([0.2, 0.45, 0.8]) if name in ("erfinv", "logit", "ndtri") else np.float32([0.3, 1.2, 2.6, 4.1])
    f, g = getattr(special, name), theirs(name)
    same(f, g, x, grad=True, rtol=1e-4)
    close(pullback.vmap(pullback.grad(pullback.grad(f)))(ours(x)), jax.vmap(jax.grad(jax.grad(g)))(x), name, 1e-3)


@pytest.mark.parametrize("name, at, slope", [
    ("entr", 0.0, INF), ("logit", 0.0, INF), ("logit", 1.0, INF), ("gammaln", 0.0, -INF), ("i1", 0.0, 0.5),
    ("i0", 0.0, 0.0),
    ("log_ndtr", 0.0, math.sqrt(2 / math.pi)), ("log_ndtr", -100.0, 100.009998), ("log_ndtr", 50.0, 0.0),
    ("ndtri", 0.0, INF)])
def test_slopes_at_edges(name, at, slope):
    np.testing.assert_allclose(float(pullback.grad(getattr(special, name))(at)), slope, rtol=1e-5)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name):
    # Real jax gives NaN for some infinite numbers in rel_entr.
    x, y = pairs(GRID[:-1] if name in ("rel_entr", "kl_div") else GRID)
    if name in ("boxcox", "boxcox1p"):  # real jax gives -0.0 ** -1.5 as it comes
        x, y = pairs(np.float32([0.5, 1, 2, 3.5]))
        y[:4] = 0
    same(getattr(special, name), theirs(name), x, y)
    same(getattr(special, name), theirs(name), x[:, None], y[:3], traced=False)
    x, y = pairs(np.float32([0.3, 1.7, 2.2]))
    same(getattr(special, name), theirs(name), x, y, grad=True, rtol=1e-4)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_derivatives_where_x_is_0(name):
    x, y = np.zeros(5, np.float32), np.float32([0, 0.5, 1, 2, INF])
    for i in (0, 1):
        mine = pullback.vmap(pullback.grad(getattr(special, name), i))(ours(x), ours(y))
        close(mine, jax.vmap(jax.grad(theirs(name), i))(x, y), (name, i))


def test_entropies_have_no_nan_slopes():
    for f in (special.rel_entr, special.kl_div):
        for i in (0, 1):
            slopes = pullback.vmap(pullback.grad(f, i))(*ours(pairs(np.float32([0, 1, -1, 2]))))
            assert np.isfinite(slopes).all()


def test_zeta_and_polygamma():
    x, q = (z.ravel() for z in np.meshgrid(np.float32([1, 1.5, 2, 7]), np.float32([0.5, 1, 3, 20])))
    same(special.zeta, theirs("zeta"), x, q, rtol=1e-4)
    close(special.zeta(ours(x)), jnp.asarray(scipy.special.zeta(x, 1).astype(np.float32)), "Riemann", 1e-4)
    x, q = x[x > 1], q[x > 1]
    close(pullback.vmap(pullback.grad(special.zeta, 1))(ours(x), ours(q)),
          jax.vmap(jax.grad(jax.scipy.special.zeta, 1))(x, q), "slope", 1e-3)
    n = np.int32([0, 1, 2, 5])
    at = np.float32([0.5, 1, 2.5, 9])
    same(special.polygamma, theirs("polygamma"), n, at, rtol=1e-4)
    same(special.polygamma, theirs("polygamma"), 2, at, grad=True, rtol=1e-3)
    same(special.polygamma, theirs("polygamma"), 1, 2)
    same(lambda x: special.multigammaln(x, 3), lambda x: jax.scipy.special.multigammaln(x, 3), at + 2, grad=True,
         rtol=1e-4)


def test_zeta_has_a_derivative_by_both_arguments():
    for x, q in ((3.0, 1.5), (1.1, 0.2), (30.0, 2.0)):
        for argnum in (0, 1):
            same(lambda x, q, k=argnum: pullback.grad(special.zeta, k)(x, q),
                 lambda x, q, k=argnum: jax.grad(jax.scipy.special.zeta, k)(x, q), x, q, rtol=1e-5)
    mixed = pullback.grad(lambda x: pullback.grad(special.zeta, 1)(x, 1.5))(3.0)
    np.testing.assert_allclose(mixed, pullback.grad(lambda q: pullback.grad(special.zeta)(3.0, q))(1.5), rtol=1e-5)
    assert np.isnan(pullback.grad(special.zeta)(2.0, -1.5))


def test_the_beta_function_keeps_its_digits():
    a = np.float64([1e5, 1e5, 0.5, 7.9, 8.1, 3, 30, 1e6, 1e-3, 1e7, 0.5, 0, -1.5, 2, -0.5, -7.25])
    b = np.float64([0.5, 1e5, 0.5, 0.2, 0.2, 3, 40, 2, 1e6, 1e-4, 9, 0.5, 2.2, NAN, 1e10, 1e30])
    x, y = ours(a.astype(np.float32)), ours(b.astype(np.float32))
    wanted = scipy.special.betaln(a, b)
    for f in (special.betaln, pullback.jit(special.betaln)):
        np.testing.assert_allclose(f(x, y), wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(f(y, x), wanted, rtol=1e-5, atol=1e-6)
    small = abs(wanted) < 20
    np.testing.assert_allclose(special.beta(x, y)[small], scipy.special.beta(a, b)[small], rtol=1e-4)
    slopes = pullback.vmap(pullback.grad(special.betaln))(x, y)
    np.testing.assert_allclose(slopes, scipy.special.digamma(a) - scipy.special.digamma(a + b), rtol=1e-4)
    ends = ours(np.float32([np.inf, 2])), ours(np.float32([0.5, np.inf]))
    np.testing.assert_array_equal(special.betaln(*ends), -np.inf)
    same(special.beta, theirs("beta"), np.float32([0.5, 2, 3]), np.float32([1.5, 2, 0.3]), grad=True, rtol=1e-4)
    same(special.betaln, theirs("betaln"), 2, weak([1.0, 3.0]), traced=False, rtol=1e-4)


def test_quantiles_keep_their_digits():
    p = np.float32([0, 1e-40, 1e-30, 1e-10, 1e-3, 0.02, 0.124, 0.126, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6, 1, -0.1, 1.1, NAN])
    x = special.ndtri(ours(p))
    np.testing.assert_allclose(x, scipy.special.ndtri(p.astype(np.float64)), rtol=1e-6)
    x = np.float32([-1000, -50, -10.1, -9.9, -3, 0, 2, 5, 10])
    np.testing.assert_allclose(special.log_ndtr(ours(x)), scipy.special.log_ndtr(x.astype(np.float64)), rtol=1e-6)
    # The series diverges: more terms help far out, where its next term is small.
    far = special.log_ndtr(ours(np.float32([-30])), series_order=0)
    np.testing.assert_allclose(far, -450 - math.log(30) - 0.5 * math.log(2 * math.pi), rtol=1e-6)


def test_in_64_bits():
    with pullback.enable_x64():
        p = np.float64([1e-300, 1e-30, 1e-3, 0.1, 0.126, 0.3, 0.9])
        np.testing.assert_allclose(special.ndtri(ours(p)), scipy.special.ndtri(p), rtol=1e-13)
        x = np.float64([-300, -19, -5, 0, 2, 7.9, 20])
        np.testing.assert_allclose(special.log_ndtr(ours(x)), scipy.special.log_ndtr(x), rtol=1e-11)
        np.testing.assert_allclose(special.betaln(ours(p[2:]), ours(p[2:] * 100)),
                                   scipy.special.betaln(p[2:], p[2:] * 100), rtol=1e-12)


@pytest.mark.parametrize("name", [*ONE, *TWO, "beta", "betaln", "zeta"])
def test_dtypes(name):
    f, g = getattr(special, name), theirs(name)
    arguments = (lambda x: (x, x)) if name in TWO + ["beta", "betaln", "zeta"] else (lambda x: (x,))
    narrow = {"ndtr", "log_ndtr", "ndtri"}  # which real jax has for float32 and wider alone
    for dtype in ("bool", "int8", "int32", "bfloat16", "float16", "float32"):
        x = np.float32([1, 2 if name == "digamma" else 0.5]).astype(jnp.dtype(dtype))
        if name in narrow and dtype != "float32":
            wanted = jnp.dtype(dtype) if "16" in dtype else jnp.float32
            assert f(*arguments(ours(x))).dtype == wanted
        else:
            same(f, g, *arguments(x), traced=False, rtol=3e-2 if "16" in dtype else 1e-4)
    if name not in narrow:
        same(f, g, *arguments(0.5), rtol=1e-4)
    with pytest.raises(TypeError, match=f"^{name}: got a list"):
        f(*arguments([1.0]))


def test_softmax_and_logsumexp():
    x = rng.normal(size=(2, 3)).astype(np.float32)
    for name in ("softmax", "log_softmax", "logsumexp"):
        same(getattr(special, name), theirs(name), x)
        same(getattr(special, name), theirs(name), x, axis=1)


def test_complex_numbers():
    z = np.complex64([1 + 2j, -0.5j, 0.3])
    for name in ("expit", "logit"):
        same(getattr(special, name), theirs(name), z, traced=False)
    for name in ("xlogy", "xlog1py"):
        same(getattr(special, name), theirs(name), z, z, traced=False)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: special.polygamma(1.0, 2.0), ValueError, ["polygamma: n is f32[], integers are required"]),
    (lambda: special.factorial(3, exact=True), ValueError, ["factorial: exact is True"]),
    (lambda: special.multigammaln(3.0, 0), ValueError, ["multigammaln: d is 0, at least 1 is required"]),
    (lambda: special.log_ndtr(1.0, -1), ValueError, ["log_ndtr: series_order is -1"]),
    (lambda: special.xlogy(ours(np.ones(2, np.float32)), ours(np.ones(3, np.float32))), ValueError,
     ["xlogy: shapes (2,), (3,)"]),
    (lambda: special.airy, pullback.errors.UnsupportedError, ["special.airy is not supported"]),
    (lambda: pullback.scipy.misc, pullback.errors.UnsupportedError, ["scipy.misc is not supported"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 1.5])
def test_zeta_far_below_0(order):
    """Where XLA's own sum, and so real jax, is wrong."""
    q = np.float32([-8.5, -9.25, -10.5, -33.75, -100.25, -12345.625, -8.0, -9.0, -1.5, 3.0, -np.inf, np.inf, np.nan])
    x = np.full_like(q, order)
    wanted = scipy.special.zeta(x.astype(float), q.astype(float))
    for f in (special.zeta, pullback.jit(special.zeta), pullback.jit(pullback.vmap(special.zeta))):
        np.testing.assert_allclose(f(x, q)[:6], wanted[:6], rtol=2e-4)
        np.testing.assert_allclose(f(x, q), special.zeta(x, q), rtol=2e-4)  # poles and what is no number
    for m in (0, 1, 2, 3):
        n = np.full(q.shape, m, np.int32)
        f = special.polygamma
        np.testing.assert_allclose(pullback.jit(f)(n, q), f(n, q), rtol=5e-4)
    slope = pullback.jit(pullback.vmap(pullback.grad(special.digamma)))(q[:5])
    np.testing.assert_allclose(slope, scipy.special.zeta(2.0, q[:5].astype(float)), rtol=2e-4)
