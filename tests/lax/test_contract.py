"""lax.dot, dot_general and batch_matmul, against real jax."""

import itertools

import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core import dtypes
from pullback.core.values import value
from tests.lax.oracle import f32, same, same_gradient

MATRIX = (((1,), (0,)), ((), ()))
CASES = [
    ((2, 3), (3, 4), MATRIX),
    ((3, 2), (3, 4), (((0,), (0,)), ((), ()))),
    ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
    ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
    ((3,), (3,), (((0,), (0,)), ((), ()))),
    ((3,), (2,), (((), ()), ((), ()))),
    ((), (2, 3), (((), ()), ((), ()))),
    ((2, 3), (2, 3), (((0, 1), (0, 1)), ((), ()))),
    ((2, 3), (3, 2), (((0, 1), (1, 0)), ((), ()))),
    ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    ((5, 3), (3, 5), (((1,), (0,)), ((0,), (1,)))),
    ((3, 5, 4), (4, 3, 5), (((0, 2), (1, 0)), ((1,), (2,)))),
    ((2, 3, 4, 5), (5, 2, 6, 3), (((3,), (0,)), ((1, 0), (3, 1)))),
    ((0, 3), (3, 2), MATRIX),
    ((2, 0), (0, 3), MATRIX),
]


@pytest.mark.parametrize("xs, ys, dims", CASES, ids=str)
def test_values_and_gradients(xs, ys, dims):
    x, y = f32(*xs), f32(*ys, seed=1)
    same(lambda lax, x, y: lax.dot_general(x, y, dims), np.asarray(x), np.asarray(y))
    if 0 not in xs + ys:
        same_gradient(lambda lax, x, y: lax.dot_general(x, y, dims), np.asarray(x), np.asarray(y), order=2)


@pytest.mark.parametrize("xs, ys, dims", CASES, ids=str)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_batches(xs, ys, dims, axes):
    x, y = (f32(3, *shape, seed=i) if axis == 0 else f32(*shape, seed=i) for i, (shape, axis) in
            enumerate(zip((xs, ys), axes)))
    x, y = np.asarray(x), np.asarray(y)
    out = np.asarray(pullback.vmap(lambda x, y: lax.dot_general(x, y, dims), axes)(value(x), value(y)))
    for i in range(3):
        one = lax.dot_general(value(x[i] if axes[0] == 0 else x), value(y[i] if axes[1] == 0 else y), dims)
        np.testing.assert_allclose(out[i], np.asarray(one), rtol=1e-5, atol=1e-5)


def test_many_small_products():
    """These are written out instead of called."""
    x, y = f32(100, 4, 5), f32(100, 5, 3)
    same(lambda lax, x, y: lax.batch_matmul(x, y), x, y)
    same_gradient(lambda lax, x, y: lax.batch_matmul(x, y), x, y)
    assert "dot_general" not in pullback.jit(lax.batch_matmul).lower(value(x), value(y)).as_text()
    w = f32(4, 4)

    def looped(lax, x, w):
        return lax.fori_loop(0, 3, lambda i, h: lax.dot(h, w), x)
    same(looped, f32(5, 4), w)
    assert "dot_general" not in pullback.jit(lambda x, w: looped(lax, x, w)).lower(value(f32(5, 4)), value(w)).as_text()


ALL = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, dtypes.bfloat16,
       np.float32,
       np.complex64]


def draw(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    kind = dtypes.kind(dtype)
    if kind in "biu":
        return rng.integers(0, 2 if kind == "b" else 100, shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("one, two", list(itertools.product(ALL, ALL)), ids=lambda d: np.dtype(d).name)
def test_dtypes(one, two):
    same(lambda lax, x, y: lax.dot_general(x, y, MATRIX), draw(one, 3, 20), draw(two, 20, 2, seed=1),
         compiled=one is two)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, dtypes.bfloat16, np.float32],
                         ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("preferred", [np.int32, np.uint32, np.float32, dtypes.bfloat16, np.complex64],
                         ids=lambda d: np.dtype(d).name)
def test_preferred_element_type(dtype, preferred):
    same(lambda lax, x, y: lax.dot_general(x, y, MATRIX, preferred_element_type=preferred),
         draw(dtype, 3, 20),
         draw(dtype, 20, 2, seed=1))


def test_bfloat16_is_summed_in_float32():
    x = np.ones((1, 1000), dtypes.bfloat16)
    assert lax.dot(value(x), value(x.T)).item() == 1000
    same_gradient(lambda lax, x, y: lax.dot_general(x, y, MATRIX, preferred_element_type=np.float32),
                  draw(dtypes.bfloat16, 3, 20), draw(dtypes.bfloat16, 20, 2))


def test_a_product_rounded_to_integers_has_no_derivative():
    x = value(f32(2, 2))
    def rounded(x):
        return lax.dot_general(x, x, MATRIX, preferred_element_type=np.int32)
    _, x_dot = pullback.jvp(rounded, (x,), (x,))
    assert x_dot.dtype == pullback.float0


def test_weak_types():
    same(lambda lax: lax.dot_general(2.0, 3.0, (((), ()), ((), ()))))
    same(lambda lax: lax.dot(lax.broadcast(2.0, (3,)), lax.broadcast(2.0, (3,))))
    same(lambda lax, x: lax.dot(lax.broadcast(2.0, (3,)), x), f32(3))
    same(lambda lax, x: lax.dot_general(2.0, x, (((), ()), ((), ()))), f32(3).astype(dtypes.bfloat16))


@pytest.mark.parametrize("precision", [None, "default", "high", "highest", "float32", "bfloat16",
                                       "tensorfloat32",
                                       ("high", "highest"), "F32_F32_F32", "DEFAULT"], ids=str)
def test_precision(precision):
    same(lambda lax, x, y: lax.dot_general(x, y, MATRIX, precision), f32(3, 4), f32(4, 2))
    same_gradient(lambda lax, x, y: lax.dot(x, y, precision=precision), f32(3, 4), f32(4, 2))


def test_precision_objects():
    for precision in (lax.Precision.HIGHEST, (lax.Precision.HIGH, lax.Precision.DEFAULT),
                      lax.DotAlgorithmPreset.F32_F32_F32,
                      lax.DotAlgorithm(np.float32, np.float32, np.float32)):
        out = lax.dot(value(f32(3, 4)), value(f32(4, 2)), precision=precision)
        np.testing.assert_allclose(np.asarray(out), f32(3, 4) @ f32(4, 2), rtol=1e-5, atol=1e-6)
    assert lax.Precision("highest") is lax.Precision.HIGHEST and lax.Precision(None) is lax.Precision.DEFAULT
    assert str(lax.Precision.HIGH) == "HIGH" and repr(lax.Precision.HIGH) == "Precision.HIGH"


@pytest.mark.parametrize("name, bits", [("BF16_BF16_F32", 8), ("TF32_TF32_F32", 11), ("F16_F16_F32", 11),
                                        ("F32_F32_F32", 24)])
def test_algorithms_round_the_operands(name, bits):
    """1 + 2 ** -k keeps its small part only in a format of more than k bits."""
    for k in (6, 9, 15):
        x = value(np.full((4, 4), 1 + 2.0 ** -k, np.float32))
        for dot in (lax.dot, pullback.jit(lax.dot, static_argnames="precision")):
            kept = dot(x, value(np.eye(4, dtype=np.float32)), precision=name)[0, 0].item() != 1
            assert kept == (k < bits), (k, dot)


def test_default_precision_is_a_setting():
    def text(x):
        return pullback.jit(lambda x: lax.dot(x, x)).lower(x).as_text()
    x = value(f32(4, 4))
    assert "HIGHEST" not in text(x)
    with pullback.default_matmul_precision("highest"):
        assert "HIGHEST" in text(x)


def test_dot():
    for xs, ys in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))):
        same(lambda lax, x, y: lax.dot(x, y), f32(*xs), f32(*ys))
    same(lambda lax, x, y: lax.dot(x, y, dimension_numbers=(((1,), (1,)), ((), ()))), f32(2, 3), f32(2, 3))


def test_batch_matmul():
    same(lambda lax, x, y: lax.batch_matmul(x, y), f32(5, 2, 3), f32(5, 3, 4))
    same(lambda lax, x, y: lax.batch_matmul(x, y), f32(2, 3), f32(3, 4))
    same_gradient(lambda lax, x, y: lax.batch_matmul(x, y), f32(2, 5, 2, 3), f32(2, 5, 3, 4))


x, y = value(f32(3, 4)), value(f32(5, 2))


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.dot_general(x, y, MATRIX), TypeError,
     r"dot_general: contracted sizes differ: lhs f32\[3,4\] axis 1 has size 4, "
     r"rhs f32\[5,2\] axis 0 has size 5"),
    (lambda: lax.dot_general(x, y, (((2,), (0,)), ((), ()))), TypeError,
     r"2 is not an axis of lhs f32\[3,4\]"),
    (lambda: lax.dot_general(x, y, (((-1,), (0,)), ((), ()))), TypeError, "write 1 for -1"),
    (lambda: lax.dot_general(x, x, (((1, 1), (1, 1)), ((), ()))), TypeError, "name one axis twice"),
    (lambda: lax.dot_general(x, x, (((1,), (1,)), ((1,), (1,)))), TypeError,
     "axis 1 of lhs is both contracted and a batch"),
    (lambda: lax.dot_general(x, x, (((1,), ()), ((), ()))), TypeError, "contracted axes come in pairs"),
    (lambda: lax.dot_general(x, y, (((), ()), ((0,), (0,)))), TypeError, "batch sizes differ"),
    (lambda: lax.dot_general(x, y, ((1,), (0,))), TypeError, "dimension_numbers are"),
    (lambda: lax.dot_general(x, y, None), TypeError, "dimension_numbers are None"),
    (lambda: lax.dot_general(x, x, (((1,), (1,)), ((), ())), "good"), ValueError, "precision is 'good'"),
    (lambda: lax.dot_general(x, x, (((1,), (1,)), ((), ())), 1), ValueError, "precision is 1"),
    (lambda: lax.dot_general(x, x, (((1,), (1,)), ((), ())), "ANY_F8_ANY_F8_F32"), ValueError, "8-bit float"),
    (lambda: lax.dot(x, y), ValueError, r"dot: contracted sizes differ: lhs f32\[3,4\] axis 1 has size 4"),
    (lambda: lax.dot(x, 2.0), ValueError, "vectors or matrices are required"),
    (lambda: lax.batch_matmul(x, value(f32(2, 4, 1))), ValueError, "operands of equal rank"),
    (lambda: lax.dot(value(np.ones((2, 2), np.int32)), value(np.ones((2, 2), np.int32)),
                     preferred_element_type=np.int8),
     TypeError, "preferred_element_type i8 is narrower than the dtype of the product, i32"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
