"""Sums and extremes of thousands of elements, which XLA's CPU compiler hands to a library with rules of its own."""

import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
import pullback.random
import pullback.scipy.special
import pullback.scipy.stats  # their operations are in the table too
from pullback import lax
from pullback.core.primitive import TABLE
from pullback.ops.families import Elementwise

SPECIAL = np.float32([0, -0.0, 1, -2.5, 3, np.inf, -np.inf, np.nan])
SHAPES = [((10_000,), None), ((4099,), 0), ((64, 64), 1), ((64, 64), 0), ((7, 600), 1), ((7, 601), 1), ((3000, 5), 1),
          ((3000, 5), 0), ((3000, 5), None), ((20, 30, 40), 1), ((20, 30, 40), (0, 2)), ((20, 30, 40), (1, 2)),
          ((50, 60, 3), (0, 1)), ((2, 3000), 0), ((5000, 1), 1)]


def filled(shape, special, place, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x.flat[place] = special
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_extremes_show_every_nan(shape, axis, dtype):
    with pullback.enable_x64(dtype == "float64"):
        run = pullback.jit(lambda x: [jnp.max(x, axis), jnp.min(x, axis)])
        for place in (0, 1, int(np.prod(shape)) // 2, -1):
            for special in (np.nan, -np.nan, np.inf, -np.inf):
                x = jnp.asarray(filled(shape, special, place, np.float64).astype(jnp.dtype(dtype)))
                wide = np.asarray(x).astype(np.float64)
                for found, wanted in zip(run(x), [np.max(wide, axis), np.min(wide, axis)], strict=True):
                    np.testing.assert_array_equal(np.asarray(found).astype(np.float64), wanted)


@pytest.mark.parametrize("axes", [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(40, 30, 50), (3, 2000, 4), (4000, 4, 3), (2000, 3, 20)])
def test_reductions_along_any_axes(shape, axes):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found = pullback.jit(lambda x: [f(x, axes) for f in (lax.reduce_sum, lax.reduce_max, lax.reduce_min)])(x)
    for y, function in zip(found, (np.sum, np.max, np.min), strict=True):
        np.testing.assert_allclose(y, function(x, axes), rtol=1e-4, atol=1e-3)


def test_an_extreme_before_a_sum_shows_every_nan():
    def both(x, y):
        return [jnp.sum(f(x, y), 1) for f in (jnp.maximum, jnp.minimum, lambda x, y: jnp.maximum(x, 0.5),
                                              lambda x, y: jnp.minimum(0.5, x), lambda x, y: jnp.clip(x, -1, 1))]

    x, y = filled((64, 80), np.nan, 5, np.float32), filled((64, 80), np.nan, 400, np.float32)
    found = np.isnan([np.asarray(total) for total in pullback.jit(both)(x, y)])
    assert found[:, 0].tolist() == [True] * 5 and found[:, 5].tolist() == [True, True, False, False, False]
    assert found.sum() == 7


@pytest.mark.parametrize("function", [
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (6000,), (1,), "VALID"),
    lambda x: lax.reduce_window(x.reshape(6, 1000), -jnp.inf, lax.max, (1, 1000), (1, 1000), "VALID"),
    lambda x: lax.reduce_window(x, jnp.inf, lax.min, (3,), (1,), "VALID").sum(), lambda x: lax.cummax(x)[-1:],
    lambda x: jnp.zeros(1).at[jnp.zeros(6000, int)].max(x), lambda x: lax.reduce(x, -jnp.inf, lax.max, (0,))])
@pytest.mark.parametrize("place", [0, 1, 3000, -1])
def test_windows_running_and_scattered_extremes_show_every_nan(function, place):
    assert np.isnan(np.asarray(pullback.jit(function)(filled((6000,), np.nan, place, np.float32)))).any()


def test_softmax_shows_every_nan():
    x = filled((64, 80), np.nan, 5, np.float32)
    for function in (pullback.nn.softmax, pullback.nn.log_softmax, pullback.nn.logsumexp):
        found = np.asarray(pullback.jit(lambda x, function=function: function(x, axis=1))(x))
        assert np.isnan(found[0]).all() and not np.isnan(found[1:]).any()


@pytest.mark.parametrize("name", sorted(n for n, p in TABLE.items() if isinstance(p, Elementwise)))
def test_a_sum_after_any_operation_is_the_sum_of_its_values(name):
    primitive = TABLE[name]
    given = next((e for e in primitive.examples(np.random.default_rng(0))
                  if all(np.asarray(a).dtype == np.float32 for a in e.args)), None)
    if given is None or len(given.args) > 2:
        pytest.skip("takes no floats, or three of them")
    grid = [a.reshape(-1, 1) for a in np.meshgrid(*[SPECIAL] * len(given.args))]
    rows = max(64, len(grid[0]))
    args = [np.full((rows, 64), 0.75, np.float32) for _ in grid]
    for arg, special in zip(args, grid, strict=True):
        arg[:len(special), :1] = special
    values = np.asarray(pullback.jit(lambda *xs: primitive(*xs, **given.params))(*args))
    if values.dtype.kind != "f" or values.shape != args[0].shape:
        pytest.skip("gives no floats, or more of them")
    found = np.asarray(pullback.jit(lambda *xs: jnp.sum(primitive(*xs, **given.params), 1))(*args))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, values.sum(1), rtol=1e-4, atol=1e-4)
