"""lax.reshape, broadcast, slice, pad, concatenate and their like against real jax, and their errors."""

import jax
import jax.numpy
import numpy as np
import pytest

import pullback
from pullback import lax

BF16 = jax.numpy.bfloat16


def numbers(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng((seed, *shape))
    if np.dtype(dtype).kind in "iub":
        return rng.integers(0, 2 if np.dtype(dtype).kind == "b" else 100, shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def leaves(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def same(ours, theirs):
    assert len(leaves(ours)) == len(leaves(theirs))
    for a, b in zip(leaves(ours), leaves(theirs)):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


X = numbers(2, 3, 4)

# A call of lax on X, or on what is named.
CALLS = [
    (lambda lax, x: lax.reshape(x, (4, 6)), X),
    (lambda lax, x: lax.reshape(x, 24), X),
    (lambda lax, x: lax.reshape(x, (3, 8), (1, 0, 2)), X),
    (lambda lax, x: lax.reshape(x, np.array([2, 12])), X),
    (lambda lax, x: lax.reshape(2.0, (1, 1)), X),
    (lambda lax, x: lax.reshape(x, (0, 7)), numbers(3, 0)),
    (lambda lax, x: lax.broadcast(x, (2, 5)), numbers(3)),
    (lambda lax, x: lax.broadcast(1, (2,)), X),
    (lambda lax, x: lax.broadcast_in_dim(x, (5, 2, 3, 4), (1, 2, 3)), X),
    (lambda lax, x: lax.broadcast_in_dim(x, (3, 5, 2), (2, 0)), numbers(2, 3, dtype=np.int32)),
    (lambda lax, x: lax.broadcast_in_dim(x, (3, 5), (0, 1)), numbers(1, 5)),
    (lambda lax, x: lax.broadcast_in_dim(True, (3,), ()), X),
    (lambda lax, x: lax.broadcast_to_rank(x, 4), numbers(3)),
    (lambda lax, x: lax.transpose(x, (2, 0, 1)), X),
    (lambda lax, x: lax.transpose(x, np.array([0, 2, 1])), X),
    (lambda lax, x: lax.slice(x, (0, 1, 1), (2, 3, 4)), X),
    (lambda lax, x: lax.slice(x, (0, 0, 1), (2, 3, 4), (1, 2, 2)), X),
    (lambda lax, x: lax.slice_in_dim(x, 1, None, 2, axis=-1), X),
    (lambda lax, x: lax.slice_in_dim(x, -3, -1, axis=2), X),
    (lambda lax, x: lax.slice_in_dim(x, None, 1), X),
    (lambda lax, x: lax.index_in_dim(x, -1, 2), X),
    (lambda lax, x: lax.index_in_dim(x, 1, 1, keepdims=False), X),
    (lambda lax, x: lax.pad(x, np.float32(2), ((1, 0, 0), (0, -1, 1), (-1, 2, 2))), X),
    (lambda lax, x: lax.pad(lax.full((2,), 1.0), 0.0, [(1, 1, 0)]), X),
    (lambda lax, x: lax.concatenate([x, x[:, :1]], 1), X),
    (lambda lax, x: lax.concatenate([lax.full((2,), 1), lax.full((1,), 2)], 0), X),
    (lambda lax, x: lax.concatenate([lax.full((2,), 1.0), x], 0), numbers(3)),
    (lambda lax, x: lax.concatenate(x, 0), X),
    (lambda lax, x: lax.rev(x, (0, 2)), X),
    (lambda lax, x: lax.iota("uint8", 300), X),
    (lambda lax, x: lax.iota(int, 4), X),
    (lambda lax, x: lax.iota(BF16, 300), X),
    (lambda lax, x: lax.broadcasted_iota(np.int8, (2, 3), 1), X),
    (lambda lax, x: lax.full((2, 3), 1), X),
    (lambda lax, x: lax.full(2, 3.7, int), X),
    (lambda lax, x: lax.full((), np.float32(1)), X),
    (lambda lax, x: lax.full((2,), -1, np.uint8), X),
    (lambda lax, x: lax.full((2,), True), X),
    (lambda lax, x: lax.full_like(x, 2), X),
    (lambda lax, x: lax.full_like(x, 2.5, dtype=np.int16, shape=(3,)), X),
    (lambda lax, x: lax.full_like(lax.full((2,), 1), 2.5), X),
    (lambda lax, x: lax.full_like(1.0, 2), X),
    (lambda lax, x: lax.full_like(np.arange(3.0), 2), X),
    (lambda lax, x: lax.full_like(jax.ShapeDtypeStruct((2,), np.int8), 2.5), X),
    (lambda lax, x: lax.expand_dims(x, (0, -1, 2)), X),
    (lambda lax, x: lax.expand_dims(1.0, (0,)), X),
    (lambda lax, x: lax.squeeze(x, (0, -2)), numbers(1, 3, 1, 2)),
    (lambda lax, x: lax.collapse(x, 1), X),
    (lambda lax, x: lax.collapse(x, 0, 2), X),
    (lambda lax, x: lax.collapse(x, 1, 1), X),
    (lambda lax, x: lax.collapse(x, -2, -1), X),
    (lambda lax, x: lax.split(x, (1, 0, 3), axis=-1), X),
    (lambda lax, x: lax.stack([x, x], 1), X),
    (lambda lax, x: lax.stack([1.0, 2.0], -1), X),
    (lambda lax, x: lax.unstack(x, -1), X),
    (lambda lax, x: lax.tile(x, (2, 1, 3)), X),
    (lambda lax, x: lax.reshape(x, (6,)), numbers(2, 3, dtype=np.bool_)),
    (lambda lax, x: lax.rev(x, (0,)), numbers(4, dtype=BF16)),
    (lambda lax, x: lax.transpose(x, (1, 0)), numbers(2, 3, dtype=np.complex64)),
]


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_equals_jax(i):
    call, x = CALLS[i]
    ours, theirs = call(lax, pullback.numpy.asarray(x)), call(jax.lax, jax.numpy.asarray(x))
    same(ours, theirs)
    same(pullback.jit(lambda x: call(lax, x))(pullback.numpy.asarray(x)), theirs)


@pytest.mark.parametrize("i", [i for i, (call, x) in enumerate(CALLS) if x.dtype == np.float32 and x.size])
def test_gradient_equals_jax(i):
    call, x = CALLS[i]

    def total(lax, power):
        def f(x):
            parts = [p for p in leaves(call(lax, x)) if np.dtype(p.dtype).kind == "f"]
            return sum([(power(p) * np.arange(p.size, dtype=np.float32).reshape(p.shape)).sum()
                        for p in parts],
                       (x * 0).sum())
        return f

    ours = pullback.grad(total(lax, lambda p: p * p))(pullback.numpy.asarray(x))
    theirs = jax.grad(total(jax.lax, lambda p: p * p))(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gradient_of_a_broadcast_that_reorders_axes():
    """jax has none."""
    weights = numbers(3, 5, 2)
    ours = pullback.grad(lambda x: (lax.broadcast_in_dim(x, (3, 5, 2), (2, 0)) * weights).sum())(
        pullback.numpy.asarray(numbers(2, 3)))
    np.testing.assert_allclose(ours, weights.sum(1).T, rtol=1e-5)


def test_wide_dtypes_that_are_asked_for_are_announced():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64"):
        assert lax.full((2,), 1, "float64").dtype == np.float32


@pytest.mark.parametrize("shapes", [[(2, 1), (3,), (1, 1, 1)], [()], [(0,), (1,)], [(4,), (4,)], [3, (1,)]])
def test_broadcast_shapes(shapes):
    assert lax.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)


def test_nothing_happens_where_nothing_has_to():
    x = pullback.numpy.asarray(X)
    assert lax.reshape(x, X.shape) is x
    assert lax.broadcast_in_dim(x, X.shape, (0, 1, 2)) is x
    assert lax.transpose(x, (0, 1, 2)) is x


def test_keys_move():
    keys = pullback.random.split(pullback.random.key(3), 6)
    words = pullback.random.key_data(lax.rev(lax.reshape(keys, (2, 3)), (1,)))
    np.testing.assert_array_equal(words, pullback.random.key_data(keys).reshape(2, 3, 2)[:, ::-1])
    both = lax.concatenate([keys, keys[:2]], 0)
    assert both.shape == (8,) and both.dtype == keys.dtype


ERRORS = [
    (lambda x: lax.reshape(x, (4, 5)), TypeError,
     ["f32[2,3,4]", "24 elements", "(4, 5)", "20", "6 in place of 5 on axis 1"]),
    (lambda x: lax.reshape(x, (-1, 2)), TypeError, ["(-1, 2)", "negative size"]),
    (lambda x: lax.reshape(x, (2.0, 12)), TypeError, ["(2.0, 12)", "ints"]),
    (lambda x: lax.reshape(x, (24,), (0, 1, 1)), TypeError, ["(0, 1, 1)", "permutation"]),
    (lambda x: lax.reshape([1, 2], (2, 1)), TypeError, ["list", "asarray"]),
    (lambda x: lax.broadcast_in_dim(x, (2, 3, 5), (0, 1, 2)), TypeError, ["axis 2 has size 4", "has size 5"]),
    (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 1)), TypeError, ["2 axes", "has 3"]),
    (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 1, 1)), TypeError, ["(0, 1, 1)", "increase"]),
    (lambda x: lax.broadcast_shapes((2, 3), (4, 3)), ValueError, ["(2, 3), (4, 3)", "sizes 2 and 4 on axis "
                                                                                    "-2"]),
    (lambda x: lax.transpose(x, (0, 1)), TypeError, ["(0, 1)", "axes 0 to 2"]),
    (lambda x: lax.transpose(x, (-1, 0, 1)), TypeError, ["(-1, 0, 1)"]),
    (lambda x: lax.slice(x, (0, 0, 0), (2, 3, 9)), TypeError, ["0:9 of axis 2", "limit <= 4"]),
    (lambda x: lax.slice(x, (0, -1, 0), (2, 3, 4)), TypeError, ["-1:3 of axis 1"]),
    (lambda x: lax.slice(x, (0,), (1,)), TypeError, ["start_indices (0,)", "3 axes"]),
    (lambda x: lax.slice(x, (0, 0, 0), (2, 3, 4), (1, 1, 0)), TypeError, ["stride 0", "lax.rev"]),
    (lambda x: lax.slice_in_dim(x, 0, 1, axis=3), ValueError, ["axis 3", "3 dimensions"]),
    (lambda x: lax.index_in_dim(x, 4, 2), IndexError, ["index 4", "axis 2 with size 4", "from -4 to 3"]),
    (lambda x: lax.index_in_dim(x, 1.0), TypeError, ["1.0"]),
    (lambda x: lax.pad(x, np.int32(0), ((0, 0, 0),) * 3), TypeError, ["f32[2,3,4]", "i32[]", "one dtype"]),
    (lambda x: lax.pad(x, x, ((0, 0, 0),) * 3), TypeError, ["f32[2,3,4]", "scalar"]),
    (lambda x: lax.pad(x, 0.0, ((0, 0, 0),)), ValueError, ["1 entry", "3 axes"]),
    (lambda x: lax.pad(x, 0.0, ((-2, -1, 0), (0, 0, 0), (0, 0, 0))), ValueError, ["axis 0", "size -1"]),
    (lambda x: lax.pad(x, 0.0, ((0, 0, -1), (0, 0, 0), (0, 0, 0))), ValueError, ["interior padding -1"]),
    (lambda x: lax.pad(x, 0.0, ((0, 0),) * 3), TypeError, ["(low, high, interior)"]),
    (lambda x: lax.concatenate([x, x[:1]], 1), TypeError,
     ["axis 0 has size 2 in operand 0", "size 1 in operand 1", "f32[1,3,4]"]),
    (lambda x: lax.concatenate([x, x[0]], 0), TypeError, ["operand 1 is f32[3,4]", "rank"]),
    (lambda x: lax.concatenate([x, x, x.astype(int)], 0), TypeError, ["operand 2 is i32[2,3,4]", "dtype"]),
    (lambda x: lax.concatenate([x, x], 3), TypeError, ["axis 3", "3 dimensions"]),
    (lambda x: lax.concatenate([1.0, 2.0], 0), TypeError, ["f32[]", "stack"]),
    (lambda x: lax.concatenate([], 0), ValueError, ["no operands"]),
    (lambda x: lax.rev(x, (0, 0)), TypeError, ["(0, 0)", "distinct"]),
    (lambda x: lax.rev(x, (3,)), TypeError, ["(3,)", "f32[2,3,4]"]),
    (lambda x: lax.iota(bool, 3), TypeError, ["bool", "numbers"]),
    (lambda x: lax.iota(int, -1), TypeError, ["(-1,)"]),
    (lambda x: lax.broadcasted_iota(int, (2, 3), 2), ValueError, ["dimension 2", "(2, 3)"]),
    (lambda x: lax.full((2,), x), TypeError, ["fill_value is f32[2,3,4]", "scalar"]),
    (lambda x: lax.full_like(x, [1.0]), TypeError, ["list"]),
    (lambda x: lax.expand_dims(x, (0, 0)), ValueError, ["(0, 0)", "twice"]),
    (lambda x: lax.expand_dims(x, (5,)), ValueError, ["axis 5"]),
    (lambda x: lax.squeeze(x, (1,)), ValueError, ["axis 1 of f32[2,3,4] has size 3", "size 1"]),
    (lambda x: lax.squeeze(x[:1], (0, 0)), ValueError, ["twice"]),
    (lambda x: lax.collapse(x, 2, 1), ValueError, ["2 to 1"]),
    (lambda x: lax.split(x, (1, 2), 2), ValueError, ["(1, 2) add up to 3", "size 4"]),
    (lambda x: lax.split(x, (-1, 5), 2), ValueError, ["negative"]),
    (lambda x: lax.stack([x, x[0]]), ValueError, ["operand 1 is f32[3,4]"]),
    (lambda x: lax.stack([]), ValueError, ["no operands"]),
    (lambda x: lax.tile(x, (2,)), TypeError, ["1 entry", "3 axes"]),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors_say_what_was_given_and_what_to_do(i):
    call, kind, words = ERRORS[i]
    with pytest.raises(kind) as caught:
        call(pullback.numpy.asarray(X))
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "fix: " in text and "test_move.py" in text, text


def test_a_traced_size_is_refused():
    with pytest.raises(pullback.errors.TracerIntegerConversionError, match="static"):
        pullback.jit(lambda n: lax.reshape(np.arange(6), (n, 2)))(3)
