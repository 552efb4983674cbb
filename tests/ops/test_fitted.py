"""Special functions of float32, compiled: their distance from exact values over the whole domain, and the polynomials
they are made of."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import pullback
from pullback.ops import composed, fits, gammas
from pullback.ops.composed import Term

special, lax, jnp = pullback.scipy.special, pullback.lax, pullback.numpy
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fits"
loader = SourceFileLoader("fits", str(SCRIPT))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("fits", loader))
loader.exec_module(script)

RNG = np.random.default_rng(0)
COUNT = 20_000
# Every exponent and both signs of float32; and the numbers at which most happens.
ANY = RNG.integers(0, 2 ** 32, COUNT, np.uint32).view(np.float32)
ANY = np.where(np.abs(ANY) < 2e-38, np.float32(1), ANY)  # XLA may take denormal numbers for zero
MIDDLE = (np.exp(RNG.uniform(-10, 6, COUNT)) * RNG.choice([-1, 1], COUNT)).astype(np.float32)
EDGES = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 4, -4, 1.6, 6, 3e38, -3e38], np.float32)
REAL = np.concatenate([ANY, MIDDLE, RNG.normal(size=COUNT).astype(np.float32) * 4, EDGES])
UNIT = np.concatenate([RNG.uniform(0, 1, COUNT), 10 ** RNG.uniform(-37, 0, COUNT), 1 - 10 ** RNG.uniform(-7, 0, COUNT),
                       [0, 1, 0.5, 0.125, 0.875, -0.1, 1.1, np.nan]]).astype(np.float32)
SHAPES = np.concatenate([RNG.uniform(0.1, 100, COUNT), 10 ** RNG.uniform(-6, 1, COUNT), 10 ** RNG.uniform(1, 7, COUNT)])
SHAPES = SHAPES.astype(np.float32)
AROUND = (SHAPES * np.exp(RNG.normal(size=SHAPES.size) / np.maximum(np.sqrt(SHAPES), 0.3))).astype(np.float32)
LENGTHS = (10 ** RNG.uniform(-2, 1, (2, COUNT)) * RNG.choice([-1, 1], (2, COUNT))).astype(np.float32)
WHOLE = np.concatenate([RNG.uniform(-1, 120, (2, COUNT)), RNG.integers(-1, 60, (2, COUNT))], axis=1).astype(np.float32)
POSITIVE = np.concatenate([RNG.uniform(0.1, 20, (2, COUNT)), [10 ** RNG.uniform(0, 8, COUNT),
                                                               RNG.uniform(0, 4, COUNT)]], axis=1).astype(np.float32)


def in_last_places(got, exact):
    """The distance of float32 numbers from the exact ones (float64), in units of the last place of the exact; nothing
    for those that float32 has not, or not with all digits."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        error = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(rounded)).astype(np.float64)
    skipped = (got == rounded) | (np.isnan(got) & np.isnan(exact)) | (np.abs(exact) < 1.2e-38)
    return np.where(skipped, 0.0, np.where(np.isnan(error), np.inf, error))


# name: function, the exact one, operands, the limit in units in the last place
CASES = {
    "erfcx": (special.erfcx, scipy.special.erfcx, (REAL,), 0.51),
    "dawsn": (special.dawsn, scipy.special.dawsn, (REAL,), 0.54),
    "expi": (special.expi, scipy.special.expi, (REAL,), 0.56),
    "exp1": (special.exp1, scipy.special.exp1, (REAL,), 0.56),
    "Si": (lambda x: special.sici(x)[0], lambda x: scipy.special.sici(x)[0], (REAL,), 0.51),
    "S": (lambda x: special.fresnel(x)[0], lambda x: scipy.special.fresnel(x)[0], (REAL,), 0.51),
    "C": (lambda x: special.fresnel(x)[1], lambda x: scipy.special.fresnel(x)[1], (REAL,), 0.51),
    "spence": (special.spence, scipy.special.spence, (np.abs(REAL),), 0.51),
    "ndtri": (special.ndtri, scipy.special.ndtri, (UNIT,), 0.53),
    "gammainc": (special.gammainc, scipy.special.gammainc, (SHAPES, AROUND), 10),
    "gammaincc": (special.gammaincc, scipy.special.gammaincc, (SHAPES, AROUND), 10),
    "betainc": (special.betainc, scipy.special.betainc, (SHAPES[:5000] / 4, AROUND[:5000] / 4, UNIT[:5000]), 0.6),
    "owens_t": (special.owens_t, scipy.special.owens_t, tuple(LENGTHS), 7),
    "poch": (special.poch, scipy.special.poch, tuple(POSITIVE), 0.7),
    "comb": (special.comb, lambda n, k: np.asarray(scipy.special.comb(n, k)), tuple(WHOLE), 0.6),
    "logit": (special.logit, lambda p: np.where(p > 0.25, np.log1p((2 * p - 1) / (1 - p)), np.log(p / (1 - p))),
              (UNIT,), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_distance_from_the_exact_value(name):
    function, reference, operands, limit = CASES[name]
    with np.errstate(all="ignore"):
        exact = reference(*[x.astype(np.float64) for x in operands])
        exact = np.where(np.abs(exact) > 3.4028235e38, np.inf * np.sign(exact), exact)
    got = np.asarray(pullback.jit(function)(*operands))
    assert got.dtype == np.float32
    errors = in_last_places(got, exact)
    worst = int(errors.argmax())
    assert errors[worst] <= limit, [x[worst] for x in operands] + [got[worst], exact[worst]]


def test_the_cosine_integral_has_zeros():
    x = REAL[(np.abs(REAL) < 1e15) | ~np.isfinite(REAL)]
    with np.errstate(all="ignore"):
        exact = scipy.special.sici(np.where(x == -np.inf, np.nan, np.abs(x)).astype(np.float64))[1]
    got = np.asarray(pullback.jit(lambda x: special.sici(x)[1])(x))
    np.testing.assert_allclose(got, exact, rtol=6.1e-8, atol=1e-10)


def test_the_faddeeva_function():
    z = np.concatenate([RNG.normal(size=(COUNT, 2)) * 3, RNG.normal(size=(COUNT, 2)) * 50,
                        np.exp(RNG.uniform(-20, 2, (COUNT, 2))) * RNG.choice([-1, 1], (COUNT, 2))]).astype(np.float32)
    z = (z[:, 0] + 1j * z[:, 1]).astype(np.complex64)
    exact = scipy.special.wofz(z.astype(np.complex128))
    fine = np.abs(exact) < 1e38
    z, exact = z[fine], exact[fine]
    got = np.asarray(pullback.jit(special.wofz)(z)).astype(np.complex128)
    np.testing.assert_array_less(np.abs(got - exact), 1.2e-7 * np.abs(exact))
    upper = (z.imag > 0) & (np.minimum(np.abs(exact.real), np.abs(exact.imag)) > 1e-37)
    np.testing.assert_allclose(got.real[upper], exact.real[upper], rtol=2e-6)  # small parts have their digits too
    np.testing.assert_allclose(got.imag[upper], exact.imag[upper], rtol=2e-6)


def test_the_faddeeva_function_at_the_edges():
    z = np.array([0, np.inf, -np.inf, 1j * np.inf, complex(np.inf, np.inf), complex(np.nan, 1), complex(1, np.nan),
                  1e30, complex(1, -np.inf)], np.complex64)
    got = np.asarray(pullback.jit(special.wofz)(z))
    np.testing.assert_allclose(got, scipy.special.wofz(z.astype(np.complex128)), rtol=1e-6, atol=1e-38)


def test_the_logarithm_of_the_beta_function():
    a, b = np.concatenate([10 ** RNG.uniform(-30, 30, (2, COUNT)), np.exp(RNG.normal(size=(2, COUNT)) * 2),
                           [[1, 3, 0, -1, np.nan, np.inf, 2], [3, 1, 1, 2, 1, 0.5, np.inf]]], axis=1).astype(np.float32)
    exact = scipy.special.betaln(a.astype(np.float64), b.astype(np.float64))
    exact = np.where((a > 0) & (b > 0), exact, np.nan)
    np.testing.assert_allclose(pullback.jit(gammas.log_beta)(a, b), exact, rtol=2e-7, atol=1e-8)


QUICK = {
    "exp": (composed.exp, np.exp, np.concatenate([RNG.uniform(-600, 600, COUNT), RNG.normal(size=COUNT), [0, np.nan]])),
    "log": (composed.log, np.log, np.concatenate([10 ** RNG.uniform(-300, 300, COUNT), RNG.uniform(0.5, 2, COUNT),
                                                  [0, 1, np.inf, -1, np.nan]])),
    "log1p": (composed.log1p, np.log1p, np.concatenate([10 ** RNG.uniform(-20, 200, COUNT), RNG.uniform(-1, 1, COUNT),
                                                        [0, -1, np.inf, -2, np.nan]])),
    "expm1": (composed.expm1, np.expm1, np.concatenate([RNG.uniform(-600, 600, COUNT), RNG.normal(size=COUNT),
                                                        10 ** RNG.uniform(-20, 0, COUNT), [0, np.nan]])),
    "lgamma": (composed.lgamma, scipy.special.gammaln, np.concatenate(
        [RNG.uniform(-20, 20, COUNT), 10 ** RNG.uniform(-30, 100, COUNT), [0, -1, np.inf, np.nan]])),
    "digamma": (composed.digamma, scipy.special.psi, np.concatenate(
        [RNG.uniform(-20, 20, COUNT), 10 ** RNG.uniform(-30, 100, COUNT), [np.inf, np.nan]])),
}


@pytest.mark.parametrize("name", QUICK)
def test_functions_that_vectorise(name, monkeypatch):
    function, reference, x = QUICK[name]
    monkeypatch.setattr(composed._state, "narrow", True)
    with pullback.enable_x64(True), np.errstate(all="ignore"):
        # Compiled, for XLA makes (1 + x) - 1 the x that was to be told from it.
        got, exact = np.asarray(pullback.jit(lambda x: function(Term(x)).x)(x)), reference(x)
    # Where the gamma function is 1 its logarithm, and that of digamma where it is 0, is as exact as numbers of size 1.
    np.testing.assert_allclose(got, exact, rtol=2e-9, atol=1e-10 if "gamma" in name else 0)


def test_only_results_of_up_to_32_bits_take_them():
    x = jnp.linspace(0.1, 5, 64)
    with pullback.enable_x64(True):
        wide = np.asarray(pullback.jit(special.expi)(x.astype("float64")))
    np.testing.assert_allclose(wide, scipy.special.expi(np.asarray(x, np.float64)), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", script.CASES)
def test_polynomials(name):
    case, (low, high, coefficients) = script.CASES[name], getattr(fits, name)
    assert (low, high) == (float(case.low), float(case.high))
    np.testing.assert_allclose(coefficients, script.interpolated(case), rtol=1e-14, atol=1e-18)
    assert script.error(case, list(coefficients), 20) < 5e-9


def test_comb_of_nan_is_nan_eagerly_and_compiled():  # SciPy and jax have 0, a number made of nothing
    n, k = jnp.array([5, np.nan, 3, np.nan]), jnp.array([2, 2, np.nan, np.nan])
    for function in (special.comb, pullback.jit(special.comb)):
        np.testing.assert_array_equal(function(n, k), [10, np.nan, np.nan, np.nan])
