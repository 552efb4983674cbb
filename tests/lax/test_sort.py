"""lax.sort, sort_key_val, top_k, against real jax."""

import jax
import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core import dtypes
from pullback.core.values import value
from tests.lax.oracle import distinct, f32, same, same_gradient

special = np.float32([[3, np.nan, -0.0, 0.0, -np.inf], [1, 0.0, -0.0, np.inf, np.nan]])
arrays = [special, special.astype(np.float16), special.astype(dtypes.bfloat16), f32(4, 5),
          np.int32([[3, -5, 7], [2, 2, -9]]), np.uint8([[200, 3, 9], [0, 255, 7]]),
          np.array([[True, False, True], [False, True, False]]), np.zeros((2, 0), np.float32)]


def signs(x):
    """Signs of zeros, which equal comparison does not see."""
    return np.signbit(np.where(np.isnan(x), 1, x))


@pytest.mark.parametrize("x", arrays, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("dimension", [-1, 0, 1])
@pytest.mark.parametrize("is_stable", [True, False])
def test_sort(x, dimension, is_stable):
    same(lambda lax, x: lax.sort(x, dimension, is_stable), x)


def test_sort_keeps_the_order_of_signed_zeros():
    x = np.float32([0.0, -0.0, 0.0, -0.0, -1])
    for sort in (lax.sort, pullback.jit(lax.sort)):
        assert signs(np.asarray(sort(value(x)))).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("zeros", [False, True])
def test_sort_of_large_arrays(dtype, dimension, zeros):
    """Large arrays are sorted by integer keys alone, unless they hold a -0.0."""
    x = f32(3, 5000).astype(dtype)
    x[0, :50] = np.nan
    x[1, 7], x[2, 8] = np.inf, -np.inf
    if zeros:
        x[2, ::2], x[2, 1::4], x[2, 1] = -0.0, 0.0, -np.nan
    out = np.asarray(same(lambda lax, x: lax.sort(x, dimension), x), np.float32)
    compiled = np.asarray(pullback.jit(lambda x: lax.sort(x, dimension))(value(x)), np.float32)
    assert signs(out).tolist() == signs(compiled).tolist()
    if zeros and dimension == 1:
        assert signs(out[2][out[2] == 0]).tolist() == signs(x[2][x[2] == 0].astype(np.float32)).tolist()


def test_sort_of_complex_numbers():
    x = np.array([1 + 2j, complex(1, np.nan), 2, complex(np.nan, 1), complex(np.nan, 0), 1 - 1j, 2j],
                 np.complex64)
    same(lambda lax, x: lax.sort(x), x)
    same(lambda lax, x: lax.sort((x, lax.iota(np.int32, 7))), x)


@pytest.mark.parametrize("num_keys", [1, 2, 3])
@pytest.mark.parametrize("dimension", [0, 1])
def test_sort_of_several_operands(num_keys, dimension):
    rng = np.random.default_rng(0)
    x, y, z = (rng.integers(0, 3, (6, 7)) for _ in range(3))
    same(lambda lax, *xs: lax.sort(xs, dimension, num_keys=num_keys), x.astype(np.float32), y.astype(np.int8),
         z.astype(np.complex64))


@pytest.mark.parametrize("key", [np.float32, np.int32, np.uint8, np.bool_])
def test_sort_key_val_is_stable(key):
    keys = np.random.default_rng(0).integers(0, 2, 50).astype(key)
    same(lambda lax, x, y: lax.sort_key_val(x, y), keys, np.arange(50, dtype=np.int32))
    same(lambda lax, x, y: lax.sort_key_val(x, y, dimension=-1), keys, f32(50))


def test_sort_returns_what_it_is_given():
    assert isinstance(lax.sort([value(f32(3))]), tuple)
    same(lambda lax: lax.sort(lax.broadcast(2.0, (3,))))


@pytest.mark.parametrize("dimension", [0, 1])
def test_gradient_of_sort(dimension):
    same_gradient(lambda lax, x: lax.sort(x, dimension), distinct(3, 4), order=2)
    same_gradient(lambda lax, x, y: lax.sort((x, y), dimension), distinct(3, 4), f32(3, 4))
    same_gradient(lambda lax, x, y: lax.sort((x, y), dimension, num_keys=2), np.float32(f32(3, 4) > 0),
                  distinct(3, 4))


def test_gradient_of_sort_under_vmap():
    x = value(distinct(3, 5))
    weights = value(np.arange(5, dtype=np.float32))
    batched = pullback.vmap(pullback.grad(lambda x: lax.dot(lax.sort(x), weights)))(x)
    assert np.asarray(batched).tolist() == np.argsort(np.argsort(distinct(3, 5))).astype(np.float32).tolist()


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.sort(()), TypeError, "sort: got no operand"),
    (lambda: lax.sort((value(f32(3)), value(f32(4)))), TypeError,
     r"operands must have one shape, got f32\[3\], f32\[4\]"),
    (lambda: lax.sort((value(f32(3)),), num_keys=2), ValueError,
     "num_keys is 2, 1 to the number of operands, 1, is required"),
    (lambda: lax.sort(value(f32(3)), num_keys=0), ValueError, "num_keys is 0"),
    (lambda: lax.sort(value(f32(2, 3)), dimension=2), ValueError,
     "axis 2 is out of bounds for an array with 2 dimensions"),
    (lambda: lax.sort(1.0), ValueError, "axis -1 is out of bounds"),
    (lambda: lax.sort("text"), TypeError, "got a str"),
])
def test_wrong_calls_of_sort(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- top_k ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", arrays, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_top_k(x, axis, k):
    if k <= x.shape[axis]:
        same(lambda lax, x: lax.top_k(x, k, axis=axis), x)


def test_top_k_takes_the_first_of_equal_ones():
    x = np.random.default_rng(0).integers(0, 3, 100)
    same(lambda lax, x: lax.top_k(x, 60), x.astype(np.float32))
    same(lambda lax, x: lax.top_k(x, 60), x.astype(np.int32))


def test_top_k_sees_every_nan():
    """Also one whose sign bit is set, which is what 0 / 0 gives on many machines."""
    x = np.float32([1, np.nan, 2])
    x[1] = -x[1]
    for top_k in (lax.top_k, pullback.jit(lax.top_k, static_argnums=1)):
        values, positions = top_k(value(x), 2)
        assert np.isnan(values[0].item()) and values[1].item() == 2 and positions.tolist() == [1, 2]


def test_gradient_of_top_k():
    same_gradient(lambda lax, x: lax.top_k(x, 2)[0], distinct(3, 4), order=2)
    same_gradient(lambda lax, x: lax.top_k(x, 2, axis=0)[0], distinct(3, 4))
    same(lambda lax: lax.top_k(lax.broadcast(2.0, (3,)), 2))


def test_approximate_top_k_is_exact():
    x = f32(3, 9)
    same(lambda lax, x: lax.approx_max_k(x, 2), x)
    same(lambda lax, x: lax.approx_min_k(x, 2), x)
    x = np.float32([np.nan, 0.0, -0.0, 1, -np.inf, 3, 0.0, -0.0, np.nan])
    same(lambda lax, x: lax.approx_max_k(x, 8), x)
    if jax.__version_info__ >= (0, 11):  # before, NaN came first among the smallest too
        same(lambda lax, x: lax.approx_min_k(x, 8), x)


@pytest.mark.parametrize("call, error, message", [
    (lambda x: lax.top_k(x, 4), ValueError, r"top_k: k is 4, the operand f32\[2,3\] has size 3 along axis 1"),
    (lambda x: lax.top_k(x, -1), ValueError, "k is -1"),
    (lambda x: lax.top_k(x, 1.5), TypeError, "k is 1.5, an int is required"),
    (lambda x: lax.top_k(x, 1, axis=2), ValueError, "axis 2 is out of bounds"),
    (lambda x: lax.top_k(value(np.zeros((2, 3), np.complex64)), 1), TypeError, r"got c64\[2,3\]"),
    (lambda x: lax.approx_max_k(value(np.int32([1, 2])), 1), ValueError, "a float dtype is required"),
])
def test_wrong_calls_of_top_k(call, error, message):
    with pytest.raises(error, match=message):
        call(value(f32(2, 3)))
