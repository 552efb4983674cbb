"""pullback.scipy.special's integrals, hypergeometric functions and whole orders, in front of their primitives."""

import math

import jax
import jax.scipy.special
import numpy as np
import pytest
import scipy.special

import pullback
from pullback import lax
from pullback.scipy import special
from tests.numpy.against_jax import close, ours

NAN, INF = math.nan, math.inf
REAL = jax.scipy.special


def f32(*values):
    return np.array(values, np.float32)


# Arguments for values and slopes, all floats; whole numbers stand for themselves.
CALLS = {
    "betainc": (f32(2, 0.5), f32(3, 1.5), f32(0.2, 0.9)), "comb": (f32(5, 7.5), f32(2, 3)), "dawsn": (f32(0.5, -3),),
    "erfcx": (f32(0.5, -1),), "exp1": (f32(0.5, 4),), "expi": (f32(0.5, -4),), "expn": (2, f32(0.5, 4)),
    "fresnel": (f32(0.5, 4),), "gammainc": (f32(2, 0.5), f32(1, 3)), "gammaincc": (f32(2, 0.5), f32(1, 3)),
    "hyp1f1": (f32(1, 2), f32(2, 3.5), f32(0.5, 3)), "loggamma": (f32(0.5, 3),), "owens_t": (f32(0.5, 2), f32(0.7, 3)),
    "poch": (f32(2, 0.5), f32(3, 1.5)), "sici": (f32(0.5, 9),), "spence": (f32(0.5, 4),),
}
NO_SLOPE = {("betainc", 0), ("betainc", 1)}


def test_values_and_slopes_equal_those_of_real_jax():
    def slopes(space, grad, name, args):
        def first(*xs):
            result = getattr(space, name)(*xs)
            return (result[0] if isinstance(result, tuple) else result).sum()
        places = tuple(i for i, x in enumerate(args) if isinstance(x, np.ndarray) and (name, i) not in NO_SLOPE)
        return grad(first, places)

    given = {name: [a for a in args if isinstance(a, np.ndarray)] for name, args in CALLS.items()}

    def whole(name, arrays):
        arrays = iter(arrays)
        return [next(arrays) if isinstance(a, np.ndarray) else a for a in CALLS[name]]

    values, wanted = jax.jit(lambda given: (
        {name: getattr(REAL, name)(*whole(name, arrays)) for name, arrays in given.items()},
        {name: slopes(REAL, jax.grad, name, CALLS[name])(*whole(name, arrays)) for name, arrays in given.items()})
    )(given)
    for name, args in CALLS.items():
        mine = [ours(a) if isinstance(a, np.ndarray) else a for a in args]
        close(getattr(special, name)(*mine), values[name], name, 5e-5)
        close(slopes(special, pullback.grad, name, args)(*mine), wanted[name], (name, "slopes"), 2e-4)


@pytest.mark.parametrize("name", [*CALLS, "hyp2f1"])
def test_dtypes_and_weak_types(name):
    args = [1.0, 2.0, 2.5, 0.5][: len(CALLS.get(name, "four"))]
    weak = name in ("betainc", "comb", "gammainc", "gammaincc", "loggamma")
    for dtype in ("float16", "bfloat16", "int32", None):
        x = [a if dtype is None else pullback.numpy.asarray(a, dtype) for a in args]
        if name in ("exp1", "expi") and dtype is None:
            continue
        result = getattr(special, name)(*x)
        result = result[0] if isinstance(result, tuple) else result
        assert result.dtype == {"float16": np.float16, "bfloat16": pullback.numpy.bfloat16}.get(dtype, np.float32)
        assert result.weak_type == (weak and dtype is None)


def test_of_complex_numbers():
    z = np.complex64([1.5 + 1j, -0.5 + 2j, 0.3 - 1j])
    for name in ("wofz", "loggamma", "gamma", "erfcx"):
        result = getattr(special, name)(ours(z))
        assert result.dtype == np.complex64
        np.testing.assert_allclose(result, getattr(scipy.special, name)(z.astype(complex)), rtol=2e-5, err_msg=name)
    assert special.wofz(1.0).dtype == np.complex64
    point = np.complex64(1.5 + 1j)
    for name, slope in (("loggamma", scipy.special.psi(1.5 + 1j)),
                        ("gamma", scipy.special.gamma(1.5 + 1j) * scipy.special.psi(1.5 + 1j))):
        mine = pullback.grad(getattr(special, name), holomorphic=True)(ours(point))
        np.testing.assert_allclose(mine, slope, rtol=2e-5)


def test_whole_orders():
    np.testing.assert_allclose(special.bernoulli(8), scipy.special.bernoulli(8), rtol=1e-6)
    assert special.bernoulli(0).shape == (1,) and special.bernoulli(1).dtype == np.float32
    z = f32(5, 12)
    close(special.bessel_jn(ours(z), v=2), jax.jit(lambda z: REAL.bessel_jn(z, v=2))(z), "bessel_jn", 1e-5)
    # Where real jax's recurrence overflows, or is too short.
    z = f32(0, 1e-3, 1, 200)
    np.testing.assert_allclose(special.bessel_jn(ours(z), v=3), [scipy.special.jv(k, z) for k in range(4)], rtol=1e-5,
                               atol=1e-12)
    slope = pullback.grad(lambda z: special.bessel_jn(z, v=1).sum())(3.0)
    np.testing.assert_allclose(slope, scipy.special.jvp(0, 3.0) + scipy.special.jvp(1, 3.0), rtol=1e-5)
    n, m = np.int32([2, 3, 5, 1]), np.int32([1, -2, 0, 2])
    theta, phi = f32(0.5, 1, 2, 0.3), f32(0.7, 0.1, 3, 1)
    result = pullback.jit(special.sph_harm_y)(ours(n), ours(m), ours(theta), ours(phi))
    assert result.dtype == np.complex64
    np.testing.assert_allclose(result, scipy.special.sph_harm_y(n, m, theta, phi), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result[:1], REAL.sph_harm_y(n[:1], m[:1], theta[:1], phi[:1], n_max=2), rtol=1e-5)
    slope = pullback.grad(lambda t: special.sph_harm_y(ours(n[:1]), ours(m[:1]), t, 0.7).real[0])(0.5)
    step = 1e-6
    ends = [scipy.special.sph_harm_y(2, 1, 0.5 + s, 0.7).real for s in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-4)


def test_where_real_jax_is_wrong():
    for args in [(2, 3, -50), (1, 1, 80), (1.5, 2, -1e3)]:
        for f in (special.hyp1f1, pullback.jit(special.hyp1f1)):
            np.testing.assert_allclose(f(*map(np.float32, args)), scipy.special.hyp1f1(*args), rtol=1e-5)
    args = [f32(1, 0.3, -2, -1), f32(2, 0.4, 1, 2), f32(3, 0.7, 1.5, -3), f32(-5, -100, 4, 0.5)]
    wanted = [*(scipy.special.hyp2f1(*map(float, row)) for row in list(zip(*args))[:3]), 1 + 1 / 3]
    for f in (special.hyp2f1, pullback.jit(special.hyp2f1)):
        np.testing.assert_allclose(f(*ours(args)), wanted, rtol=1e-5)
    assert special.expi(0.0) == -INF and special.exp1(INF) == 0
    np.testing.assert_allclose(lax.igammac(f32(1e-30), f32(1e-30)), 6.85e-29, rtol=1e-3)


def test_slopes_at_edges():
    for call, slope in [(lambda: pullback.grad(special.spence)(1.0), -1),
                        (lambda: pullback.grad(special.dawsn)(0.0), 1),
                        (lambda: pullback.grad(lambda x: special.sici(x)[0])(0.0), 1),
                        (lambda: pullback.grad(special.gammainc, 1)(1.0, 0.0), 1),
                        (lambda: pullback.grad(special.betainc, 2)(1.0, 1.0, 0.0), 1),
                        (lambda: pullback.grad(lambda t: special.sph_harm_y(1, 1, t, 0.0).real)(0.0), -0.34549415)]:
        np.testing.assert_allclose(call(), slope, rtol=1e-5)


@pytest.mark.parametrize("call, message", [
    (lambda: pullback.grad(special.betainc)(1.0, 2.0, 0.5), "no derivative by operand 0"),
    (lambda: pullback.grad(lax.igamma_grad_a)(1.0, 2.0), "no derivative by operand 0"),
    (lambda: special.dawsn(1j), "a dtype of kind float is required"),
    (lambda: special.bernoulli(-1), "n is -1, at least 0 is required"),
    (lambda: special.bernoulli(2.0), "an int"),
    (lambda: special.bessel_jn(1.0, v=-1), "v is -1"),
    (lambda: special.sph_harm_y(1.0, 1, 0.5, 0.5), "n is f32.*integers are required"),
    (lambda: special.sph_harm_y(1, 1, 0.5, 0.5, diff_n=1), "diff_n is 1, None is required"),
    (lambda: lax.igamma(f32(1), np.float16([1])), "one dtype"),
])
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        call()
