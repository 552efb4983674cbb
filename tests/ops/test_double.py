"""Accuracy of the trigonometric lowerings, in units in the last place, over the whole of float32."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

jnp, lax = pullback.numpy, pullback.lax
RNG = np.random.default_rng(0)
# Without denormal numbers, which XLA may take for zero.
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2e-38, -2e-38, 3e38, 1, -1, 0.5, -0.5, np.pi, np.pi / 2],
                   np.float32)
# Every exponent of float32 and both signs; many numbers near multiples of pi / 2, where the reduction cancels.
ANY = RNG.integers(0, 2 ** 32, 30_000, np.uint32).view(np.float32)
NEAR = np.concatenate([RNG.normal(size=20_000) * 100, np.arange(1, 10_000) * np.pi / 2, RNG.uniform(-1e6, 1e6, 9_000)]
                      ).astype(np.float32)
UNIT = np.concatenate([RNG.uniform(-1, 1, 20_000), 1 - 10.0 ** RNG.uniform(-7, 0, 5_000)]).astype(np.float32)
UNIT = np.concatenate([UNIT, ANY])
CASES = {
    "sin": (lax.sin, np.sin, NEAR, 0.501), "cos": (lax.cos, np.cos, NEAR, 0.501), "tan": (lax.tan, np.tan, NEAR, 0.501),
    "asin": (lax.asin, np.arcsin, UNIT, 0.501), "acos": (lax.acos, np.arccos, UNIT, 0.501),
    "atan": (lax.atan, np.arctan, ANY, 0.501), "cbrt": (lax.cbrt, np.cbrt, ANY, 0.501),
}


def in_last_places(got, exact):
    """The distance of float32 numbers from the exact ones (float64), in units of the last place of the exact."""
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - exact) / spacing
    return np.where((got == exact) | np.isnan(got) & np.isnan(exact), 0.0, error)


@pytest.mark.parametrize("name", CASES)
def test_rounding(name):
    function, reference, x, limit = CASES[name]
    x = x[np.isnan(x) | (np.abs(x) >= 2 ** -125)]  # XLA may flush what is denormal
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
        exact = np.where(np.abs(exact) > 3.4028235e38, np.inf * np.sign(exact), exact)
    got = np.asarray(pullback.jit(function)(x))
    assert in_last_places(got, exact).max() <= limit


def test_rounding_of_angles_of_points():
    y, x = (np.concatenate([RNG.normal(size=20_000).astype(np.float32), a]) for a in (ANY[:15_000], ANY[15_000:]))
    keep = ~((np.abs(x) < 2 ** -125) | (np.abs(y) < 2 ** -125))
    y, x = y[keep], x[keep]
    with np.errstate(all="ignore"):
        exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    normal = np.isnan(exact) | (np.abs(exact) > 2 ** -125)
    got = np.asarray(pullback.jit(lax.atan2)(y, x))
    assert in_last_places(got[normal], exact[normal]).max() <= 0.501


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_special_values(name, dtype):
    function, reference, _, _ = CASES[name]
    for x in (SPECIAL, np.resize(SPECIAL, 2000), np.resize(SPECIAL[[0, 1, 9, 10, 11, 12]], 2000)):
        with np.errstate(all="ignore"):
            x = x.astype(dtype)
            exact = reference(x.astype(np.float64)).astype(dtype)
        got = np.asarray(pullback.jit(function)(x))
        np.testing.assert_allclose(got, exact, rtol=1e-3 if dtype == np.float16 else 1e-6, atol=1e-7)
        zero = exact == 0
        np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(exact[zero]))


def test_angles_of_special_points():
    y, x = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    got, exact = np.asarray(pullback.jit(lax.atan2)(y, x)), np.arctan2(y, x)
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-37)
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(exact)]), np.signbit(exact[~np.isnan(exact)]))


def test_arguments_out_of_reach_take_the_exact_way():
    x = np.resize(np.array([1e8, 3e20, 1.0, -2.0 ** 21], np.float32), 4096)
    np.testing.assert_allclose(pullback.jit(lax.sin)(x), np.sin(x.astype(np.float64)), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(pullback.jit(lambda v: pullback.grad(lambda u: lax.cos(u).sum())(v))(x),
                               -np.sin(x.astype(np.float64)), rtol=1e-6, atol=1e-7)


def test_remainders_are_exact():
    x = np.concatenate([RNG.normal(size=9_000) * 10.0 ** RNG.integers(-3, 6, 9_000), np.arange(1000) * 0.3, [-0.0, 0.0]]
                       ).astype(np.float32)
    for y in (np.float32(0.3), np.float32(-1.0), RNG.uniform(0.1, 9, x.shape).astype(np.float32)):
        got, exact = np.asarray(pullback.jit(lax.rem)(x, np.full_like(x, y))), np.fmod(x, y)
        np.testing.assert_array_equal(got, exact)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(exact))
    far = np.resize(np.array([1e30, 3.0, np.inf, np.nan], np.float32), 2048)
    with np.errstate(invalid="ignore"):
        exact = np.fmod(far, np.float32(0.7))
    np.testing.assert_array_equal(pullback.jit(lax.rem)(far, np.full_like(far, 0.7)), exact)
