"""Convolution, covariance, interpolation, polynomials of pullback.numpy against real jax."""

import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback.numpy import polynomials, samples
from tests.numpy.against_jax import close, ours, same, weak

rng = np.random.default_rng(0)
DTYPES = ["bool", "int8", "int32", "bfloat16", "float16", "float32", "complex64"]


def draw(*shape, dtype="float32"):
    values = rng.normal(size=shape) * 2
    if dtype == "complex64":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values).astype(jnp.dtype(dtype))


def a(*shape, dtype="float32"):
    return ours(draw(*shape, dtype=dtype))


# -- convolution --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions(name, mode):
    f = getattr(samples, name)
    for m, n in [(5, 3), (3, 5), (4, 4), (6, 2), (2, 6), (1, 1)]:
        same(f, name, draw(m), draw(n), mode, traced=False, grad=(m, n) in [(5, 3), (2, 6)])
        same(f, name, draw(m, dtype="complex64"), draw(n, dtype="complex64"), mode, traced=False)
    same(f, name, draw(5), draw(4), mode)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_convolutions(dtype):
    x = draw(5, dtype=dtype)
    for other in ("int8", "float32", "bfloat16"):
        same(samples.convolve, "convolve", x, draw(3, dtype=other), traced=False,
             rtol=3e-2 if "16" in dtype + other else None)
    same(samples.correlate, "correlate", weak([1, 2, 3]), weak([1.0, 2.0]), traced=False)
    same(samples.convolve, "convolve", draw(5, dtype="bfloat16"), draw(3, dtype="bfloat16"), precision="highest",
         preferred_element_type="float32", traced=False, rtol=2e-2)


# -- covariance ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes, kwargs", [
    ([(5,)], {}), ([(2, 5)], {}), ([(2, 5), (3, 5)], {}), ([(5, 2), (5, 3)], dict(rowvar=False)), ([(5,), (5,)], {}),
    ([(1, 5)], dict(rowvar=False)), ([(2, 5)], dict(bias=True)), ([(2, 5)], dict(ddof=0)), ([(2, 5)], dict(ddof=1.5)),
    ([(1,)], {}), ([()], {}), ([(0, 3)], {}), ([(2, 5), (5,)], {})])
def test_cov(shapes, kwargs):
    xs = [draw(*shape) for shape in shapes]
    same(samples.cov, "cov", *xs, grad=xs[0].size > 1, rtol=1e-4, **kwargs)
    rest = {key: value for key, value in kwargs.items() if key == "rowvar"}
    same(samples.corrcoef, "corrcoef", *xs, rtol=1e-4, traced=False, grad=xs[0].size > 5, **rest)


@pytest.mark.parametrize("kwargs", [
    dict(fweights=np.int32([1, 0, 2, 3, 1])), dict(aweights=np.float32([1, 0.5, 2, 0, 1])),
    dict(fweights=np.int32([1, 0, 2, 3, 1]), aweights=np.float32([1, 0.5, 2, 0, 1])),
    dict(fweights=np.int32([1, 0, 2, 3, 1]), bias=True), dict(aweights=np.float32([1, 0.5, 2, 0, 1]), ddof=0),
    dict(fweights=np.int32([1, 0, 0, 0, 0]))])
def test_weighted_cov(kwargs):
    same(samples.cov, "cov", draw(2, 5), rtol=1e-4, **kwargs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_cov(dtype):
    x = draw(2, 5, dtype=dtype)
    rtol = 5e-2 if "16" in dtype else 1e-4
    same(samples.cov, "cov", x, traced=False, rtol=rtol)
    same(samples.corrcoef, "corrcoef", x, traced=False, rtol=rtol)
    if dtype != "complex64":
        same(samples.cov, "cov", x, traced=False, dtype="float16", rtol=5e-2)
    same(samples.cov, "cov", weak([1.0, 2.0, 4.0]), traced=False)


def test_correlations_stay_within_one():
    x = np.float32([1, 2, 3, 4.1])
    c = np.asarray(samples.corrcoef(ours(np.stack([x, 3 * x, -7 * x]))))
    assert np.all(np.abs(c) <= 1)


# -- interpolation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kwargs", [
    {}, dict(left=-7.0), dict(right=np.float32(9)), dict(left="extrapolate"),
    dict(left="extrapolate", right="extrapolate"), dict(left=1, right=2)])
def test_interp(kwargs):
    points = np.float32([-1, 0, 0.5, 0.5, 2, 3])
    values = draw(6)
    at = np.float32([[-5, -1, -0.5, 0, 0.25], [0.5, 1, 3, 3.5, 100]])
    same(samples.interp, "interp", at, points, values, grad=True, rtol=1e-4, **kwargs)


@pytest.mark.parametrize("period", [2.5, -3, np.float32(4), 10.0])
def test_interp_of_periodic_functions(period):
    # Against NumPy: real jax, after a call with another keyword, takes the period for that one.
    points = np.float32([-1, 0, 0.5, 0.625, 2, 3])
    values = draw(6)
    at = np.float32([[-5, -1, -0.5, 0, 0.25], [0.5, 1, 3.25, 3.5, 100]])
    wanted = np.interp(at, points, values, period=period)
    f = pullback.jit(lambda x, xp, fp: samples.interp(x, xp, fp, period=period))
    np.testing.assert_allclose(f(ours(at), ours(points), ours(values)), wanted, rtol=1e-4, atol=1e-4)
    out, pull = pullback.vjp(lambda fp: samples.interp(ours(at), ours(points), fp, period=period), ours(values))
    (ct,) = pull(ours(np.ones_like(at)))  # the result is linear in the values
    np.testing.assert_allclose(np.vdot(ct, values), np.sum(wanted), rtol=1e-4)


def test_interp_of_special_values_and_single_points():
    at = np.float32([np.nan, np.inf, -np.inf, 1])
    same(samples.interp, "interp", at, np.float32([0, 1, 2]), np.float32([1, 2, 3]))
    for kwargs in ({}, dict(left=5.0), dict(left=5.0, right=6.0)):
        same(samples.interp, "interp", np.float32([0, 1, 2]), np.float32([1]), np.float32([7]), traced=False, **kwargs)


def test_dtypes_of_interp():
    f = samples.interp
    for dtype in ("bool", "int8", "int32", "float16", "float32"):
        x = np.arange(4).astype(dtype)
        same(f, "interp", x, x, x, traced=False, rtol=1e-2)
    same(f, "interp", weak([1.0, 2.0]), weak([0.0, 3.0]), weak([1.0, 2.0]), traced=False)
    same(f, "interp", 1.5, weak([1, 2]), weak([1, 2]), traced=False)
    same(f, "interp", 0.3, draw(3), draw(3, dtype="complex64"), traced=False)
    same(f, "interp", np.float32([0.3, 9]), np.float32([0, 1, 2]), draw(3, dtype="complex64"), grad=True)
    x = ours(np.arange(4).astype(jnp.bfloat16))
    assert f(x, x, x).dtype == jnp.bfloat16  # which real jax refuses


# -- polynomials --------------------------------------------------------------------------------------


def test_polyval():
    for ps, xs in [((4,), (3,)), ((4,), ()), ((1,), (2, 3)), ((0,), (3,)), ((3, 4), (4,)), ((3, 4), (2, 4))]:
        same(polynomials.polyval, "polyval", draw(*ps), draw(*xs), grad=True, traced=False, rtol=1e-4)
    same(polynomials.polyval, "polyval", draw(5), draw(3))
    same(polynomials.polyval, "polyval", draw(100), np.float32([0.5, -0.9]), rtol=1e-4, grad=True)
    for dtype in DTYPES:
        for p in (draw(3, dtype=dtype), draw(3, dtype="float32"), np.int8([1, 2, 3])):
            same(polynomials.polyval, "polyval", p, draw(2, dtype=dtype), traced=False, rtol=3e-2)
    same(polynomials.polyval, "polyval", weak([1.0, 2.0]), 3.0, traced=False)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul", "polydiv"])
def test_arithmetic_of_polynomials(name):
    f = getattr(polynomials, name)
    for m, n in [(3, 3), (2, 4), (4, 2), (1, 3)]:
        same(f, name, draw(m), draw(n), traced=False, grad=True, rtol=1e-3)
    same(f, name, draw(5), draw(2), rtol=1e-3)
    for dtype in DTYPES[1:]:
        x = (draw(4, dtype=dtype) + 7).astype(jnp.dtype(dtype))
        # What remains of a division is rounding alone in the last places.
        same(f, name, x, x[:2], traced=False, rtol=0.5 if name == "polydiv" and "16" in dtype else 5e-2)
    same(f, name, weak([1.0, 2.0]), weak([1.0, 3.0]), traced=False)


def test_leading_zeros_are_dropped_on_request():
    p, q = np.float32([0, 1, 2]), np.float32([0, 1])
    same(lambda *xs: polynomials.polymul(*xs, trim_leading_zeros=True),
         lambda *xs: jnp.polymul(*xs, trim_leading_zeros=True), p, q, traced=False)
    same(lambda *xs: polynomials.polydiv(*xs, trim_leading_zeros=True),
         lambda *xs: jnp.polydiv(*xs, trim_leading_zeros=True), np.float32([1, 2, 1]), np.float32([1, 1]), traced=False)
    same(polynomials.polymul, "polymul", np.zeros(0, np.float32), draw(3), traced=False)


@pytest.mark.parametrize("m", [0, 1, 2, 6])
def test_calculus_of_polynomials(m):
    same(polynomials.polyder, "polyder", draw(4), m, grad=True)
    same(polynomials.polyint, "polyint", draw(4), m, grad=True)
    for dtype in DTYPES:
        same(polynomials.polyder, "polyder", draw(4, dtype=dtype), m, traced=False)
        # Real jax gives a weak type for booleans that are integrated no time.
        if not (dtype == "bool" and m == 0):
            same(polynomials.polyint, "polyint", draw(4, dtype=dtype), m, traced=False)
    if m:
        same(polynomials.polyint, "polyint", draw(3), m, draw(m), grad=True)
        same(polynomials.polyint, "polyint", draw(3), m, 2, traced=False)


def test_poly_and_vander():
    for n in (0, 1, 4):
        same(polynomials.poly, "poly", draw(n), traced=False, rtol=1e-4)
    same(polynomials.poly, "poly", draw(3), rtol=1e-4, grad=True)
    same(polynomials.poly, "poly", 3.0, traced=False)
    for dtype in DTYPES[1:]:
        same(polynomials.poly, "poly", draw(3, dtype=dtype), traced=False, rtol=5e-2)
        same(polynomials.vander, "vander", draw(3, dtype=dtype), 4, traced=False, rtol=5e-2)
    for args in [(draw(3),), (draw(3), 5), (draw(3), 0), (draw(0),), (weak([1.0, 2.0]),)]:
        same(polynomials.vander, "vander", *args, traced=False, rtol=1e-4)
    same(polynomials.vander, "vander", np.float32([2, 3]), 4, increasing=True, rtol=1e-4)
    jacobian = pullback.jacobian(lambda x: polynomials.vander(x, 3))(ours(np.float32([0, 2])))
    np.testing.assert_allclose(np.asarray(jacobian)[[0, 1], :, [0, 1]], [[0, 1, 0], [4, 1, 0]])


@pytest.mark.parametrize("call, error, parts", [
    (lambda: samples.convolve(a(3), a(2, 2)), ValueError, ["convolve: the second operand is f32[2,2]; one axis"]),
    (lambda: samples.convolve(a(0), a(2)), ValueError, ["convolve: the first operand is f32[0]"]),
    (lambda: samples.correlate(a(3), a(2), "x"), ValueError, ["correlate: mode is 'x'; 'full', 'same' or 'valid'"]),
    (lambda: samples.cov(a(2, 3, 4)), ValueError, ["cov: m is f32[2,3,4], at most 2 axes"]),
    (lambda: samples.cov(a(2, 3), a(2, 4)), ValueError, ["m has 3 observations, y has 4"]),
    (lambda: samples.cov(a(3), dtype="int32"), ValueError, ["dtype is i32, a float or complex dtype is required"]),
    (lambda: samples.cov(a(3), ddof="a"), TypeError, ["ddof is 'a', a number is required"]),
    (lambda: samples.cov(a(3), fweights=a(3)), TypeError, ["fweights are f32[3], integers are required"]),
    (lambda: samples.cov(a(3), aweights=a(4)), ValueError, ["aweights are f32[4]; the shape (3,) is required"]),
    (lambda: samples.interp(a(3), a(4), a(5)), ValueError,
     ["interp: xp is f32[4], fp is f32[5]; two vectors of one size"]),
    (lambda: samples.interp(a(3), a(0), a(0)), ValueError, ["not empty, are required"]),
    (lambda: samples.interp(a(3, dtype="complex64"), a(2), a(2)), ValueError, ["x is c64[3], real numbers"]),
    (lambda: samples.interp(a(3), a(2), a(2), left="x"), ValueError, ["left is 'x'; a number or 'extrapolate'"]),
    (lambda: samples.interp(a(3), a(2), a(2), period=0), ValueError, ["period is 0"]),
    (lambda: samples.interp(a(3), a(2), a(2), period=a(2)), ValueError, ["period is f32[2], a scalar is required"]),
    (lambda: polynomials.polyval(2.0, a(3)), ValueError, ["polyval: p is f32[], a scalar"]),
    (lambda: polynomials.polyadd(2.0, a(3)), ValueError, ["polyadd: a1 is f32[], one axis is required"]),
    (lambda: polynomials.polymul(a(3), a(2, 2)), ValueError, ["polymul: a2 is f32[2,2]"]),
    (lambda: polynomials.polydiv(a(3), a(0)), ValueError, ["polydiv: v is f32[0], at least one coefficient"]),
    (lambda: polynomials.polyder(a(3), -1), ValueError, ["polyder: m is -1, at least 0 is required"]),
    (lambda: polynomials.polyint(a(3), 2, a(3)), ValueError, ["polyint: k is f32[3]; a scalar or 2 constants"]),
    (lambda: polynomials.poly(a(3, 2)), ValueError, ["poly: got f32[3,2]", "square"]),
    (lambda: polynomials.vander(a(3), -1), ValueError, ["vander: N is -1, at least 0"]),
    (lambda: polynomials.vander(a(3, 3)), ValueError, ["vander: x is f32[3,3], one axis is required"]),
    (lambda: pullback.jit(lambda x: polynomials.polymul(x, x, trim_leading_zeros=True))(a(3)),
     pullback.errors.ConcretizationTypeError, ["polymul: trim_leading_zeros of a traced value"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_a_long_polynomial_is_a_loop():
    program = pullback.make_jaxpr(polynomials.polyval)(a(200), a(3))
    assert "scan" in [e.primitive.name for e in program.eqns]
    close(polynomials.polyval(a(200), ours(np.zeros(3, np.float32))).shape, (3,), "shape")
