"""Dynamic slices, gather and the scatters of lax against real jax, and their errors."""

import itertools

import jax
import jax.numpy
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 8
V = np.arange(6, dtype=np.float32)
ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
LINE = lax.GatherDimensionNumbers((), (0,), (0,))
WRITE_ROWS = lax.ScatterDimensionNumbers((1,), (0,), (0,))
WRITE = lax.ScatterDimensionNumbers((), (0,), (0,))
PLACES = np.array([[7], [-1], [2], [2]], np.int32)


def same(ours, theirs):
    assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def real(dims):
    kind = jax.lax.GatherDimensionNumbers if isinstance(dims, lax.GatherDimensionNumbers) else \
        jax.lax.ScatterDimensionNumbers
    return kind(*dims)


CALLS = [
    lambda lax, x, i: lax.dynamic_slice(x, (i, 1), (2, 2)),
    lambda lax, x, i: lax.dynamic_slice(x, (-1, i), (1, 3)),
    lambda lax, x, i: lax.dynamic_slice(x, (i * i, i * i), (1, 1), allow_negative_indices=False),
    lambda lax, x, i: lax.dynamic_slice(x, np.array([5, -9]), (2, 2)),
    lambda lax, x, i: lax.dynamic_slice_in_dim(x, i, 2, axis=1),
    lambda lax, x, i: lax.dynamic_slice_in_dim(x, i * i, 2, axis=-1, allow_negative_indices=False),
    lambda lax, x, i: lax.dynamic_index_in_dim(x, i, 1),
    lambda lax, x, i: lax.dynamic_index_in_dim(x, i, -1, keepdims=False),
    lambda lax, x, i: lax.dynamic_update_slice(x, x[:2, :2] * 2, (i, i)),
    lambda lax, x, i: lax.dynamic_update_slice(x, x[:1] * 2, (1, i)),
    lambda lax, x, i: lax.dynamic_update_slice_in_dim(x, x[:, :2], i, 1),
    lambda lax, x, i: lax.dynamic_update_index_in_dim(x, x[0], i, 0),
    lambda lax, x, i: lax.dynamic_update_index_in_dim(x, x[:, :2], i, 1),
    lambda lax, x,
    i: lax.index_take(x, [jax.numpy.array([4, -9])] if lax is jax.lax else [jnp.array([4, -9])], (1,)),
]


@pytest.mark.parametrize("i", [0, 2, 9, -1, -7])
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_dynamic_slices_equal_jax(call, i):
    call = CALLS[call]
    ours, theirs = jnp.asarray(X), jax.numpy.asarray(X)
    expected = call(jax.lax, theirs, i)
    same(call(lax, ours, i), expected)
    same(call(lax, ours, jnp.int8(i)), expected)
    same(pullback.jit(lambda x, i: call(lax, x, i))(ours, i), expected)
    gradient = pullback.jit(pullback.grad(lambda x, i: (call(lax, x, i) ** 2 * 3).sum()))(ours, i)
    same(gradient, jax.grad(lambda x: (call(jax.lax, x, i) ** 2 * 3).sum())(theirs))


@pytest.mark.parametrize("call", range(len(CALLS) - 1))
def test_dynamic_slices_map_over_starts(call):
    call, starts = CALLS[call], np.array([0, -1, 5], np.int32)
    stacked = np.stack([X, X + 1, X * 2])
    for over_x, over_i in [(0, 0), (None, 0), (0, None)]:
        ours = pullback.vmap(lambda x, i: call(lax, x, i), (over_x, over_i))(
            jnp.asarray(stacked if over_x == 0 else X), jnp.asarray(starts if over_i == 0 else starts[1]))
        theirs = [call(jax.lax, jax.numpy.asarray(stacked[k] if over_x == 0 else X),
                       int(starts[k] if over_i == 0 else starts[1])) for k in range(3)]
        np.testing.assert_array_equal(ours, np.stack(theirs))


def test_known_starts_are_plain_slices():
    text = str(pullback.make_jaxpr(lambda x: lax.dynamic_slice(x, (1, -1), (2, 2)))(X))
    assert "dynamic_slice" not in text and "slice" in text


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", None, lax.GatherScatterMode.CLIP])
def test_gather_modes_equal_jax(mode):
    theirs = mode.name.lower() if isinstance(mode, lax.GatherScatterMode) else mode
    for x, dims, sizes in [(V, LINE, (1,)), (X, ROWS, (1, 4)), (X, ROWS, (1, 2)),
                           (V.astype(np.int8), LINE, (1,)),
                           (V.astype(np.uint16), LINE, (1,)), (V > 2, LINE, (1,))]:
        same(lax.gather(jnp.asarray(x), PLACES, dims, sizes, mode=mode),
             jax.lax.gather(x, PLACES, real(dims), sizes, mode=theirs))


def test_fill_value():
    same(lax.gather(jnp.asarray(V), PLACES, LINE, (1,), mode="fill", fill_value=-1),
         jax.lax.gather(V, PLACES, real(LINE), (1,), mode="fill", fill_value=-1))


def test_the_derivative_of_a_clipped_read_goes_to_what_was_read():
    def total(lax, dims, mode):
        return lambda v: (lax.gather(v, PLACES, dims, (1,), mode=mode) * np.arange(1, 5,
                                                                                   dtype=np.float32)).sum()
    for mode in ("clip", "fill"):
        ours = pullback.grad(total(lax, LINE, mode))(jnp.asarray(V))
        same(ours, jax.grad(total(jax.lax, real(LINE), mode))(jax.numpy.asarray(V)))
    # By default too; jax drops it there, against its own forward mode.
    np.testing.assert_array_equal(pullback.grad(total(lax, LINE, None))(jnp.asarray(V)), [2, 0, 7, 0, 0, 1])


SCATTERS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


@pytest.mark.parametrize("mode", ["clip", "drop", "fill", "promise_in_bounds", None])
@pytest.mark.parametrize("name", SCATTERS)
def test_scatters_equal_jax(name, mode):
    updates = np.array([4, 0.5, 2, 3], np.float32)
    same(getattr(lax, name)(jnp.asarray(V), PLACES, updates, WRITE, mode=mode),
         getattr(jax.lax, name)(V, PLACES, updates, real(WRITE), mode=mode))
    rows = updates[:, None] * np.ones((1, 2), np.float32)
    same(getattr(lax, name)(jnp.asarray(X), PLACES, rows, WRITE_ROWS, mode=mode),
         getattr(jax.lax, name)(X, PLACES, rows, real(WRITE_ROWS), mode=mode))


@pytest.mark.parametrize("name", SCATTERS)
def test_gradients_of_scatters_equal_jax(name):
    updates, weights = np.array([4, 0.5, 2, 2], np.float32), np.arange(1, 7, dtype=np.float32)
    by = (0,) if name == "scatter_mul" else (0, 1)

    def total(lax, dims):
        return lambda v, u: (getattr(lax, name)(v, PLACES, u, dims) * weights).sum()

    # 2.0 ties with what stands there.
    ours = pullback.grad(total(lax, WRITE), by)(jnp.asarray(V), jnp.asarray(updates))
    theirs = jax.grad(total(jax.lax, real(WRITE)), by)(jax.numpy.asarray(V), jax.numpy.asarray(updates))
    for a, b in zip(ours, theirs):
        same(a, b)


def test_gradient_by_factors_needs_distinct_positions():
    def total(lax, dims, unique):
        return lambda u: lax.scatter_mul(V, PLACES[1:3], u, dims, unique_indices=unique).sum()
    u = np.array([2, 3], np.float32)
    same(pullback.grad(total(lax, WRITE, True))(jnp.asarray(u)),
         jax.grad(total(jax.lax, real(WRITE), True))(u))
    with pytest.raises(TypeError, match="unique_indices=True"):
        pullback.grad(total(lax, WRITE, False))(jnp.asarray(u))


def test_the_last_of_several_updates_stays_also_compiled():
    places, updates = np.zeros((50, 1), np.int32), np.arange(50, dtype=np.float32)
    f = pullback.jit(lambda v, u: lax.scatter(v, places, u, WRITE))
    np.testing.assert_array_equal(f(jnp.asarray(V), jnp.asarray(updates))[0], 49)
    np.testing.assert_array_equal(lax.scatter(jnp.asarray(V), places, updates, WRITE)[0], 49)
    ct = pullback.grad(lambda u: f(V, u)[0])(jnp.asarray(updates))
    np.testing.assert_array_equal(ct, np.arange(50) == 49)


def test_positions_without_components():
    """XLA's own simplifier refuses these."""
    dims, places, updates = lax.ScatterDimensionNumbers((), (), ()), np.zeros((3, 0),
                                                                              np.int32), np.float32([1, 2, 3])
    for f in (lax.scatter_add, pullback.jit(lax.scatter_add, static_argnums=3)):
        assert float(f(jnp.float32(1), places, updates, dims)) == 7


def test_weak_types_equal_jax():
    for x, u in itertools.product([1.0, np.float32(1)], repeat=2):
        for name in ("scatter", "scatter_add"):
            same(getattr(lax, name)(lax.full((6,), x), PLACES, lax.full((4,), u), WRITE),
                 getattr(jax.lax, name)(jax.lax.full((6,), x), PLACES, jax.lax.full((4,), u), real(WRITE)))
        same(lax.dynamic_update_slice(lax.full((6,), x), lax.full((2,), u), (1,)),
             jax.lax.dynamic_update_slice(jax.lax.full((6,), x), jax.lax.full((2,), u), (1,)))


@pytest.mark.parametrize("unique", [False, True])
def test_scatter_apply(unique):
    places, twice = np.array([[0], [2], [9]], np.int32), np.array([[0], [2], [0]], np.int32)
    given = places if unique else twice

    def call(lax, x, dims):
        return lax.scatter_apply(x, given, lambda v: v * 2 + 1, dims, update_shape=(3, 2),
                                 unique_indices=unique)

    expected = call(jax.lax, jax.numpy.asarray(X), real(WRITE_ROWS))
    same(call(lax, jnp.asarray(X), WRITE_ROWS), expected)
    same(pullback.jit(lambda x: call(lax, x, WRITE_ROWS))(jnp.asarray(X)), expected)


def test_keys_gather_and_scatter():
    keys = pullback.random.split(pullback.random.key(1), 6)
    data = pullback.random.key_data
    picked = lax.gather(keys, PLACES[2:], LINE, (1,))
    np.testing.assert_array_equal(data(picked), data(keys)[np.array([2, 2])])
    changed = lax.scatter(keys, PLACES[2:3], keys[:1], WRITE)
    np.testing.assert_array_equal(data(changed)[2], data(keys)[0])
    moved = pullback.jit(lambda k, i: lax.dynamic_index_in_dim(k, i, keepdims=False))(keys, 4)
    np.testing.assert_array_equal(data(moved), data(keys)[4])


ERRORS = [
    (lambda x: lax.dynamic_slice(x, (1,), (1, 1)), TypeError, ["1 start indices", "2 axes"]),
    (lambda x: lax.dynamic_slice(x, (1, -1), (1, 1), allow_negative_indices=False), ValueError,
     ["-1", "from 0"]),
    (lambda x: lax.dynamic_slice(x, (1, 1.5), (1, 1)), TypeError, ["f32[]", "integer"]),
    (lambda x: lax.dynamic_slice(x, (1, jnp.array([1])), (1, 1)), TypeError, ["i32[1]", "scalar"]),
    (lambda x: lax.dynamic_slice(x, (0, 0), (1, 5)), TypeError, ["slice size 5 of axis 1", "from 0 to 4"]),
    (lambda x: lax.dynamic_slice_in_dim(x, 0, 1, 2), ValueError, ["axis 2"]),
    (lambda x: lax.dynamic_update_slice(x, x[0], (0, 0)), TypeError, ["f32[3,4]", "f32[4]", "rank"]),
    (lambda x: lax.dynamic_update_slice(x, x.astype(int), (0, 0)), TypeError, ["i32[3,4]", "dtype"]),
    (lambda x: lax.dynamic_update_slice(x[:2], x, (0, 0)), TypeError, ["slice size 3 of axis 0"]),
    (lambda x: lax.gather(x, PLACES[0], ROWS, (1, 4)), TypeError, ["offset_dims is (1,)"]),
    (lambda x: lax.gather(x, PLACES * 1.0, ROWS, (1, 4)), TypeError, ["f32[4,1]", "integers"]),
    (lambda x: lax.gather(x, PLACES, ROWS, (2, 4)), TypeError, ["2 for axis 0"]),
    (lambda x: lax.gather(x, PLACES, ROWS, (1, 5)), TypeError, ["(1, 5)", "none larger than the axis"]),
    (lambda x: lax.gather(x, PLACES, ROWS, (1,)), TypeError, ["(1,)", "f32[3,4]"]),
    (lambda x: lax.gather(x, np.zeros((4, 2), int), ROWS, (1, 4)), TypeError, ["i32[4,2]", "must have size "
                                                                                           "1"]),
    (lambda x: lax.gather(x, PLACES, (1,), (1, 4)), TypeError, ["(1,)", "GatherDimensionNumbers"]),
    (lambda x: lax.gather(x, PLACES, ROWS, (1, 4), mode="wrap"), ValueError, ["'wrap'", "'clip'"]),
    (lambda x: lax.gather(x, PLACES, ROWS._replace(start_index_map=(5,)), (1, 4)), TypeError, ["(5,)"]),
    (lambda x: lax.scatter(x, PLACES, np.ones((3, 4), np.float32), WRITE_ROWS), TypeError, ["(3,)", "(4,)"]),
    (lambda x: lax.scatter(x, PLACES, np.ones((4, 5), np.float32), WRITE_ROWS), TypeError,
     ["axis 1", "longer"]),
    (lambda x: lax.scatter(x, PLACES, np.ones((4, 4), np.int32), WRITE_ROWS), TypeError,
     ["i32[4,4]", "dtype"]),
    (lambda x: lax.scatter(x, PLACES, 1.0, WRITE_ROWS), TypeError, ["update_window_dims is (1,)"]),
    (lambda x: lax.scatter_apply(x, PLACES, lambda v: v.sum(), WRITE_ROWS, update_shape=(4, 4)), TypeError,
     ["made f32[] of f32[3,4]", "elementwise"]),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors_say_what_was_given_and_what_to_do(i):
    call, kind, words = ERRORS[i]
    with pytest.raises(kind) as caught:
        call(jnp.asarray(X))
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "fix: " in text and "test_index.py" in text, text
