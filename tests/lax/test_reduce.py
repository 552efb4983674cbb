"""lax.reduce_*, argmax, argmin, cumulative reductions and reduce, against real jax."""

import functools

import jax
import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core import dtypes
from pullback.core.values import value
from tests.lax.oracle import close, distinct, f32, same, same_gradient

NUMBERS = ["reduce_sum", "reduce_prod"]
EXTREMES = ["reduce_max", "reduce_min"]
BITS = ["reduce_and", "reduce_or", "reduce_xor"]
RUNNING = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]

bools = np.array([[True, False, True], [False, False, True]])
ints = np.array([[3, -5, 7], [2, 2, -9]], np.int32)
bytes_ = np.array([[200, 100, 255], [0, 7, 9]], np.uint8)
nans = np.array([[1, np.nan, 3], [-np.inf, np.inf, 0]], np.float32)


@pytest.mark.parametrize("name", NUMBERS + EXTREMES)
@pytest.mark.parametrize("x", [ints, bytes_, nans, f32(2, 3), f32(2, 3).astype(np.float16),
                               f32(2, 3).astype(dtypes.bfloat16), f32(2, 3) + 1j * f32(2, 3, seed=1)],
                         ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1), (1, 0), [1]], ids=str)
def test_reductions(name, x, axes):
    x = x.astype(np.complex64) if x.dtype == np.complex128 else x
    same(lambda lax, x: getattr(lax, name)(x, axes), x, compiled=False)


@pytest.mark.parametrize("name", BITS + EXTREMES)
@pytest.mark.parametrize("x", [bools, ints, bytes_], ids=lambda x: str(x.dtype))
def test_reductions_of_bits(name, x):
    same(lambda lax, x: getattr(lax, name)(x, (1,)), x)


@pytest.mark.parametrize("name", NUMBERS + EXTREMES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_reductions_of_nothing(name, dtype):
    same(lambda lax, x: getattr(lax, name)(x, (1,)), np.zeros((2, 0), dtype))
    same(lambda lax, x: getattr(lax, name)(x, (0,)), np.zeros((2, 0), dtype))


@pytest.mark.parametrize("name", NUMBERS + EXTREMES)
def test_weak_type_is_kept(name):
    same(lambda lax: getattr(lax, name)(lax.broadcast(2.0, (3,)), (0,)))
    same(lambda lax: getattr(lax, name)(2.0, ()))


@pytest.mark.parametrize("name", NUMBERS + EXTREMES)
def test_gradients(name):
    same_gradient(lambda lax, x: getattr(lax, name)(x, (0, 2)), distinct(2, 3, 4), order=2)
    same_gradient(lambda lax, x: getattr(lax, name)(x, ()), distinct(2, 3))


def test_extremes_share_the_derivative_among_ties():
    x = np.float32([[1, 3, 3], [2, 2, 2]])
    same_gradient(lambda lax, x: lax.reduce_max(x, (1,)), x)
    same_gradient(lambda lax, x: lax.reduce_min(x, (0, 1)), x)


@pytest.mark.parametrize("x", [[2, 0, 3, 4, 5], [0, 0, 3], [0], [1.5, -2]], ids=str)
def test_derivative_of_a_product_with_zeros(x):
    x = np.float32(x)
    same_gradient(lambda lax, x: lax.reduce_prod(x, (0,)), x)
    expected = [np.prod(np.delete(x, i)) for i in range(x.size)]
    np.testing.assert_allclose(np.asarray(pullback.grad(lambda x: lax.reduce_prod(x, (0,)))(value(x))),
                               expected)


def test_second_derivative_of_a_product_with_zeros():
    x = np.float32([2, 0, 3, 0.5])
    hessian = np.asarray(pullback.hessian(lambda x: lax.reduce_prod(x, (0,)))(value(x)))
    expected = [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(hessian, expected, rtol=1e-6)


@pytest.mark.parametrize("name, axes, message", [
    ("reduce_sum", (2,), r"reduce_sum: axes \(2,\) to reduce: 2 is not an axis of the operand f32\[2,3\]"),
    ("reduce_max", (-1,), r"reduce_max: .*-1 is not an axis[\s\S]*write 1 for -1"),
    ("reduce_min", (0, 0), r"reduce_min: .*name one axis twice"),
])
def test_wrong_axes(name, axes, message):
    with pytest.raises(ValueError, match=message):
        getattr(lax, name)(value(f32(2, 3)), axes)


def test_wrong_dtypes():
    with pytest.raises(TypeError, match=r"reduce_and: got f32\[2,3\], a dtype of kind bool or int or uint"):
        lax.reduce_and(value(f32(2, 3)), (0,))
    with pytest.raises(TypeError, match=r"reduce_sum: got bool\[2,3\]"):
        lax.reduce_sum(value(bools), (0,))
    with pytest.raises(TypeError, match="axes is 1.5"):
        lax.reduce_sum(value(f32(2, 3)), 1.5)


# -- argmax -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("x", [bools, ints, bytes_, nans, f32(4, 5), f32(4, 5).astype(np.float16),
                               np.float32([[-0.0, 0.0], [np.inf, np.inf]]),
                               np.full((2, 2), np.nan, np.float32),
                               np.full((2, 2), -np.inf, np.float32)], ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index_dtype", [np.int32, np.uint8])
def test_positions(name, x, axis, index_dtype):
    same(lambda lax, x: getattr(lax, name)(x, axis, index_dtype), x)


def test_positions_have_no_derivative():
    x = value(f32(3))
    _, x_dot = pullback.jvp(lambda x: lax.argmax(x, 0, np.int32), (x,), (x,))
    assert x_dot.dtype == pullback.float0


@pytest.mark.parametrize("x, axis, dtype, error, message", [
    (np.zeros((2, 0), np.float32), 1, np.int32, ValueError,
     r"argmax: the operand f32\[2,0\] has no elements along axis 1"),
    (f32(2), 1, np.int32, ValueError, r"argmax: axis 1 is not an axis of the operand f32\[2\]"),
    (f32(2), -1, np.int32, ValueError, "write 0 for -1"),
    (f32(2), 0, np.float32, TypeError, "index_dtype is f32, an integer dtype is required"),
    (f32(200), 0, np.int8, ValueError, r"positions along axis 0 of f32\[200\] do not fit into i8"),
    (np.zeros(2, np.complex64), 0, np.int32, TypeError, r"got c64\[2\]"),
])
def test_wrong_calls_of_argmax(x, axis, dtype, error, message):
    with pytest.raises(error, match=message):
        lax.argmax(value(x), axis, dtype)


# -- running reductions -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("x", [nans, f32(3, 4), f32(3, 4).astype(np.float16),
                               f32(3, 4).astype(dtypes.bfloat16),
                               np.zeros((0, 2), np.float32)], ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("axis, reverse", [(0, False), (1, True)])
def test_running(name, x, axis, reverse):
    same(lambda lax, x: getattr(lax, name)(x, axis, reverse), x)


@pytest.mark.parametrize("name", RUNNING[:4])
@pytest.mark.parametrize("x", [ints, bytes_], ids=lambda x: str(x.dtype))
def test_running_on_integers(name, x):
    same(lambda lax, x: getattr(lax, name)(x, axis=1), x)


@pytest.mark.parametrize("name", RUNNING)
def test_running_keeps_weak_type_and_complex(name):
    same(lambda lax: getattr(lax, name)(lax.broadcast(2.0, (3,))))
    x = np.array([1 + 2j, 3, 0.5 - 9j, 1 + 1j], np.complex64)
    same(lambda lax, x: getattr(lax, name)(x), x)
    same(lambda lax, x: getattr(lax, name)(x, reverse=True), x)


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_running(name, n, reverse):
    same_gradient(lambda lax, x: getattr(lax, name)(x, 1, reverse), distinct(2, n))


@pytest.mark.parametrize("name", RUNNING)
def test_second_order_of_running(name):
    same_gradient(lambda lax, x: getattr(lax, name)(x), distinct(5) / 2, order=2)


def test_running_ties_and_zeros():
    ties = np.float32([1, 1, 1, 1, 2, 2, 0])
    for name in ("cummax", "cummin"):
        same_gradient(lambda lax, x, name=name: getattr(lax, name)(x), ties)
        same_gradient(lambda lax, x, name=name: getattr(lax, name)(x, reverse=True), ties)
    same_gradient(lambda lax, x: lax.cumprod(x), np.float32([1, 0, 3, 0, 2]))


def test_derivative_of_cumlogsumexp_at_infinity():
    def jacobian(x):
        return np.asarray(pullback.jacobian(lax.cumlogsumexp)(value(np.float32(x))))
    np.testing.assert_allclose(jacobian([1, np.inf, 2]), [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    np.testing.assert_allclose(jacobian([-np.inf, 1, 1]), [[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], rtol=1e-6)


def test_cumlogsumexp_does_not_overflow():
    same(lambda lax, x: lax.cumlogsumexp(x), np.float32([1000, 1000, -1000, 999]))


@pytest.mark.parametrize("name", RUNNING)
def test_wrong_axes_of_running(name):
    with pytest.raises(ValueError, match=rf"{name}: axis 2 is not an axis of the operand f32\[2,3\]"):
        getattr(lax, name)(value(f32(2, 3)), axis=2)
    with pytest.raises(ValueError, match="write 1 for -1"):
        getattr(lax, name)(value(f32(2, 3)), axis=-1)


# -- reduce -----------------------------------------------------------------------------------------


def pair(x, y):
    return x[0] + y[0], x[1] * y[1]


@pytest.mark.parametrize("init", [0.0, 1.5])
@pytest.mark.parametrize("dimensions", [(), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["add", "max", "min", "mul"])
def test_reduce_by_an_operation(name, init, dimensions):
    same(lambda lax, x: lax.reduce(x, init, getattr(lax, name), dimensions), f32(2, 3))


@pytest.mark.parametrize("computation", [lambda x, y: x + y, lambda x, y: y * x, lambda x, y: x * y + x + y],
                         ids=["sum", "product", "general"])
def test_reduce_by_a_function(computation):
    same(lambda lax, x: lax.reduce(x, 0.5, computation, (1,)), f32(2, 5))
    # The derivative is compared with that of a loop: jax 0.11 counts the initial value twice.
    x, ct = f32(2, 5), f32(2, seed=1)
    out, pull = jax.vjp(lambda x: functools.reduce(computation, [x[:, i] for i in range(5)], 0.5), x)
    ours, ours_pull = pullback.vjp(lambda x: lax.reduce(x, 0.5, computation, (1,)), value(x))
    close(ours, out)
    close(ours_pull(value(ct)), pull(ct))


def test_reduce_of_trees():
    same(lambda lax, x, y: lax.reduce((x, y), (0.0, 1), pair, (0,)), f32(4), np.arange(1, 5, dtype=np.int32))
    same(lambda lax, x: lax.reduce({"a": x}, {"a": 1.0}, lambda x, y: {"a": x["a"] * y["a"]}, (0,)), f32(4))


@pytest.mark.parametrize("x, init", [(ints, 0.0), (f32(2, 3).astype(dtypes.bfloat16), 0.0),
                                     (f32(2, 3), np.int32(0)), (ints, False)],
                         ids=["int", "bfloat16", "float", "bool"])
def test_an_identity_of_another_dtype(x, init):
    same(lambda lax, x: lax.reduce(x, init, lax.add, (0,)), x)
    same(lambda lax, x: lax.reduce_window(x, init, lax.add, (1, 2)), x)


def test_an_infinity_as_identity_of_integers():
    same(lambda lax, x: lax.reduce(x, -np.inf, lax.max, (0,)), ints)
    same(lambda lax, x: lax.reduce(x[:0], np.inf, lax.min, (0,)), ints)


@pytest.mark.parametrize("call", [lambda lax, x: lax.reduce(x, 2.0, lax.add, (0, 1)),
                                  lambda lax, x: lax.reduce(x, 0.0, lambda x, y: 2 * x + y, (0,)),
                                  lambda lax, x: lax.reduce_window(x, 2.0, lax.add, (1, 2))])
def test_another_initial_value_has_the_dtype_of_its_operand(call):
    with pytest.raises(TypeError):
        call(jax.lax, ints)
    with pytest.raises(TypeError, match=r"the initial value [02].0 does not have the dtype of its operand i32\[2,3\]"):
        call(lax, value(ints))


def test_reduce_of_bits():
    same(lambda lax, x: lax.reduce(x, True, lax.bitwise_and, (1,)), bools)
    same(lambda lax, x: lax.reduce(x, 5, lax.bitwise_xor, (1,)), ints)


def test_reduce_with_a_traced_initial_value():
    def f(lax, x, init):
        return lax.reduce(x, init, lax.add, (0,))
    same(f, f32(3), np.array(2, np.float32))
    x, init = value(f32(3)), value(np.array(2, np.float32))
    by_x, by_init = pullback.grad(lambda x, init: f(lax, x, init), argnums=(0, 1))(x, init)
    assert by_x.tolist() == [1, 1, 1] and by_init.item() == 1


@pytest.mark.parametrize("axes", [(0, None), (0, 0), (None, 0)], ids=str)
def test_reduce_batches(axes):
    def f(x, init):
        return lax.reduce(x, init, lambda x, y: x * y + x + y, (0,))
    x, init = (value(np.asarray(a if axis == 0 else a[0]))
               for a, axis in zip((f32(3, 4), f32(3, seed=1)), axes))
    out = np.asarray(pullback.vmap(f, axes)(x, init))
    for i in range(3):
        expected = f(x[i] if axes[0] == 0 else x, init[i] if axes[1] == 0 else init)
        np.testing.assert_allclose(out[i], expected.item(), rtol=1e-5)


@pytest.mark.parametrize("call, error, message", [
    (lambda x: lax.reduce(x, x, lax.add, (0,)), ValueError,
     r"reduce: the initial value f32\[2,3\] must be a scalar"),
    (lambda x: lax.reduce((x, x), 0.0, pair, (0,)), ValueError,
     "one initial value for each operand is required"),
    (lambda x: lax.reduce(x, 0.0, lambda x, y: (x, y), (0,)), TypeError,
     "the computation returns the structure"),
    (lambda x: lax.reduce(x, 0.0, lambda x, y: lax.reduce_sum(x_outer, (0, 1)) + y, (0,)),
     NotImplementedError,
     "the computation uses 1 arrays beside its two arguments"),
    (lambda x: lax.reduce(x, 0.0, lax.add, (2,)), ValueError, r"reduce: axes \(2,\) to reduce"),
])
def test_wrong_calls_of_reduce(call, error, message):
    with pytest.raises(error, match=message):
        call(value(f32(2, 3)))


x_outer = value(f32(2, 3))
