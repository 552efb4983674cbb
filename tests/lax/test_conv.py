"""Convolutions, against real jax."""

import re

import jax
import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core import config, dtypes
from pullback.core.values import value
from tests.lax.oracle import f32, same, same_gradient

NHWC = ("NHWC", "HWIO", "NHWC")
# lhs shape, rhs shape, strides, padding, further arguments
CASES = [
    ((2, 3, 8), (4, 3, 3), (1,), "VALID", {}),
    ((2, 3, 8), (4, 3, 3), (2,), "SAME", {}),
    ((2, 3, 8), (4, 3, 4), (3,), "SAME_LOWER", {}),
    ((2, 3, 8), (4, 3, 3), (1,), [(2, 0)], dict(rhs_dilation=(2,))),
    ((2, 3, 8), (4, 3, 3), (2,), [(1, 3)], dict(lhs_dilation=(3,))),
    ((2, 3, 8), (4, 3, 3), (2,), [(-1, 2)], dict(lhs_dilation=(2,), rhs_dilation=(2,))),
    ((2, 3, 8), (4, 3, 3), (1,), [(-2, -1)], {}),
    ((2, 6, 7, 3), (3, 2, 3, 4), (2, 1), "SAME", dict(dimension_numbers=NHWC)),
    ((2, 6, 7, 3), (4, 2, 3, 3), (1, 2), "VALID", dict(dimension_numbers=("NWHC", "OHWI", "CHNW"))),
    ((6, 2, 7, 3), (3, 3, 2, 4), (1, 1), [(1, 0), (2, 1)], dict(dimension_numbers=("HNWC", "WIHO", "NWHC"))),
    ((2, 4, 6), (6, 2, 3), (1,), "SAME", dict(feature_group_count=2)),
    ((2, 4, 6), (4, 1, 3), (2,), [(1, 1)], dict(feature_group_count=4, rhs_dilation=(2,))),
    ((4, 3, 6), (4, 3, 2), (1,), "VALID", dict(batch_group_count=2)),
    ((6, 3, 6), (6, 3, 2), (2,), [(1, 0)], dict(batch_group_count=3, lhs_dilation=(2,))),
    ((1, 5, 6, 4), (2, 2, 2, 8), (1, 1), "VALID", dict(dimension_numbers=NHWC, feature_group_count=2)),
    ((3, 2), (4, 2), (), [], {}),
    ((1, 2, 3, 4, 3), (2, 2, 2, 1, 2), (1, 2, 1), "SAME", {}),
]


def apply(strides, padding, more):
    return lambda lax, x, w: lax.conv_general_dilated(x, w, strides, padding, **more)


@pytest.mark.parametrize("xs, ws, strides, padding, more", CASES, ids=str)
def test_values_and_gradients(xs, ws, strides, padding, more):
    f = apply(strides, padding, more)
    same(f, f32(*xs), f32(*ws, seed=1))
    same_gradient(f, f32(*xs), f32(*ws, seed=1))


@pytest.mark.parametrize("case", [CASES[i] for i in (1, 5, 7, 10, 12)], ids=str)
def test_second_order(case):
    xs, ws, *rest = case
    same_gradient(apply(*rest), f32(*xs), f32(*ws, seed=1), order=2)


@pytest.mark.parametrize("xs, ws, strides, padding, more", CASES, ids=str)
def test_numpy_reference(xs, ws, strides, padding, more):
    x, w = f32(*xs), f32(*ws, seed=1)
    expected = apply(strides, padding, more)(jax.lax, x, w)
    with config.eager("numpy"):
        ours = apply(strides, padding, more)(lax, value(x), value(w))
    np.testing.assert_allclose(np.asarray(ours), np.asarray(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("xs, ws, strides, padding, more", CASES, ids=str)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_batches(xs, ws, strides, padding, more, axes):
    f = apply(strides, padding, more)
    x, w = (np.asarray(f32(3, *shape, seed=i) if axis == 0 else f32(*shape, seed=i))
            for i, (shape, axis) in enumerate(zip((xs, ws), axes)))
    ours = pullback.vmap(lambda x, w: f(lax, x, w), axes)(value(x), value(w))
    theirs = jax.vmap(lambda x, w: f(jax.lax, x, w), axes)(x, w)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.uint8, np.bool_, np.float16, dtypes.bfloat16,
                                   np.complex64],
                         ids=lambda d: np.dtype(d).name)
def test_dtypes(dtype):
    x, w = (np.round(f32(*shape) * 3).astype(np.int8).astype(dtype) for shape in ((2, 3, 8), (4, 3, 3)))
    same(lambda lax, x, w: lax.conv(x, w, (1,), "VALID"), x, w)


def test_preferred_element_type():
    for dtype, preferred in ((np.int8, np.int32), (dtypes.bfloat16, np.float32)):
        x, w = (np.round(f32(*shape) * 3).astype(dtype) for shape in ((2, 3, 8), (4, 3, 3)))
        same(lambda lax, x, w, p=preferred: lax.conv(x, w, (1,), "VALID", preferred_element_type=p), x, w)


def test_gradient_with_a_preferred_element_type():
    same_gradient(lambda lax, x, w: lax.conv(x, w, (1,), "VALID", preferred_element_type=np.float32),
                  f32(2, 3, 8).astype(dtypes.bfloat16), f32(4, 3, 3).astype(dtypes.bfloat16))


@pytest.mark.parametrize("case", [CASES[i] for i in (1, 5, 7, 8, 9, 10, 12, 15)], ids=str)
def test_inside_a_loop(case):
    """There the order of axes is another, for the sake of speed; the result is not."""
    xs, ws, *rest = case
    f = apply(*rest)
    x, w = value(f32(*xs)), value(f32(*ws, seed=1))

    def gradients(x, w):
        return pullback.grad(lambda x, w: (lambda y: lax.reduce_sum(y * y, range(y.ndim)))(f(lax, x, w)), (0, 1))(x, w)

    def looped(x, w):
        return lax.map(lambda i: (f(lax, x, w), *gradients(x, w)), lax.iota(np.int32, 2))
    program = pullback.jit(looped)
    for inside, outside in zip(program(x, w), (f(lax, x, w), *gradients(x, w))):
        np.testing.assert_allclose(np.asarray(inside)[1], np.asarray(outside), rtol=1e-4, atol=1e-4)
    orders = set(re.findall(r"#stablehlo.conv<(.*?)>,", program.lower(x, w).as_text()))
    space = ", ".join(map(str, range(len(xs) - 2)))
    space += ", " if space else ""
    assert orders == {f"[b, {space}f]x[{space}i, o]->[b, {space}f]"}


def test_weak_types():
    same(lambda lax: lax.conv(lax.broadcast(2.0, (1, 1, 4)), lax.broadcast(2.0, (1, 1, 2)), (1,), "VALID"))
    same(lambda lax, x: lax.conv(lax.broadcast(2.0, (1, 1, 4)), x, (1,), "VALID"), f32(1, 1, 2))


@pytest.mark.parametrize("xs, ws, padding", [
    ((0, 3, 8), (4, 3, 3), "VALID"), ((2, 0, 8), (4, 0, 3), "VALID"), ((2, 3, 8), (0, 3, 3), "SAME"),
    ((2, 3, 0), (4, 3, 3), "VALID"), ((2, 3, 0), (4, 3, 3), [(2, 3)]), ((2, 3, 2), (4, 3, 3), "VALID")],
                         ids=str)
def test_nothing_to_sum(xs, ws, padding):
    same(lambda lax, x, w: lax.conv_general_dilated(x, w, (1,), padding), np.zeros(xs, np.float32),
         np.zeros(ws, np.float32))


def test_conv_and_general_padding():
    same(lambda lax, x, w: lax.conv(x, w, (2, 1), "SAME", "highest"), f32(1, 2, 5, 6), f32(3, 2, 2, 3))
    same(lambda lax, x, w: lax.conv_with_general_padding(x, w, (2, 1), [(1, 2), (0, 1)], (1, 2), (2, 1)),
         f32(1, 2, 5, 6), f32(3, 2, 2, 3))


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2)], [(0, 0)]], ids=str)
@pytest.mark.parametrize("stride, window, dilation", [(1, 3, 1), (2, 3, 1), (3, 2, 1), (2, 4, 2), (4, 1, 1)])
@pytest.mark.parametrize("more", [{}, dict(transpose_kernel=True), dict(use_consistent_padding=True)],
                         ids=str)
def test_conv_transpose(padding, stride, window, dilation, more):
    kernel = f32(window, 4, 3) if more.get("transpose_kernel") else f32(window, 3, 4)
    same(lambda lax, x, w: lax.conv_transpose(x, w, (stride,), padding, (dilation,), **more), f32(2, 5, 3),
         kernel,
         compiled=False)


def test_conv_transpose_in_two_dimensions():
    same(lambda lax, x, w: lax.conv_transpose(x, w, (2, 3), "SAME"), f32(2, 4, 5, 3), f32(3, 3, 3, 4))
    same(lambda lax, x, w: lax.conv_transpose(x, w, (2,), "SAME", dimension_numbers=("NCH", "OIH", "NCH")),
         f32(2, 3, 5),
         f32(4, 3, 3))


def test_patches():
    same(lambda lax, x: lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "SAME"), f32(2, 3, 5, 6))
    same(lambda lax, x: lax.conv_general_dilated_patches(x, (2, 3), (1, 2), [(0, 1), (1, 0)], (2, 1), (1, 2),
                                                         NHWC),
         f32(2, 5, 6, 3))


def test_local():
    same(lambda lax, x, w: lax.conv_general_dilated_local(x, w, (1, 2), "VALID", (2, 3)), f32(2, 3, 5, 7),
         f32(4, 18, 4, 3))
    same(lambda lax, x, w: lax.conv_general_dilated_local(x, w, (1, 2), "VALID", (2, 3),
                                                          dimension_numbers=NHWC),
         f32(2, 5, 7, 3), f32(4, 3, 18, 4))


@pytest.mark.parametrize("numbers", [None, NHWC, ("NHWC", "OIWH", "NHWC"), ("NCHW", "OIHW", "NWHC"),
                                     ("CNab", "aIbO", "aNbC")],
                         ids=str)
def test_dimension_numbers(numbers):
    ours = lax.conv_dimension_numbers((2, 3, 8, 8), (4, 3, 3, 3), numbers)
    theirs = jax.lax.conv_dimension_numbers((2, 3, 8, 8), (4, 3, 3, 3), numbers)
    assert tuple(ours) == tuple(theirs) and ours._fields == theirs._fields
    assert lax.conv_dimension_numbers((2, 3, 8, 8), (4, 3, 3, 3), ours) is ours


@pytest.mark.parametrize("padding", ["SAME", "VALID", "SAME_LOWER", "same"])
def test_padtype_to_pads(padding):
    for size in range(10):
        for window in range(1, 5):
            for stride in range(1, 4):
                arguments = (size,), (window,), (stride,), padding
                assert lax.padtype_to_pads(*arguments) == jax.lax.padtype_to_pads(*arguments)


def test_shapes():
    numbers = ("NHC", "HIO", "NHC")
    assert lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (2,), "SAME") == (2, 4, 4)
    assert lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (1,), ((1, 0),)) == (2, 4, 7)
    assert lax.conv_general_permutations(numbers) == jax.lax.conv_general_permutations(numbers)
    for padding in ("SAME", "VALID", [(1, 2)]):
        x = np.zeros((1, 8, 3), np.float32)
        out = lax.conv_transpose(value(x), value(f32(3, 3, 4)), (2,), padding)
        assert lax.conv_transpose_shape_tuple(x.shape, (3, 3, 4), (2,), padding, numbers) == out.shape


x, w = value(f32(2, 3, 8)), value(f32(4, 3, 3))


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.conv(x, value(f32(4, 2, 3)), (1,), "VALID"), ValueError,
     r"conv: lhs f32\[2,3,8\] has 3 features \(axis 1\), rhs f32\[4,2,3\] takes 2 \(axis 1\)"),
    (lambda: lax.conv(x, w, (1, 1), "VALID"), ValueError,
     r"window_strides \(1, 1\) has 2 entries, lhs .* has 1 spatial"),
    (lambda: lax.conv(x, w, (0,), "VALID"), ValueError, r"window_strides \(0,\) must be positive"),
    (lambda: lax.conv(x, w, (1,), "FOO"), RuntimeError, "padding is 'FOO'; 'VALID', 'SAME', 'SAME_LOWER'"),
    (lambda: lax.conv_general_dilated(x, w, (1,), [(1, 1), (1, 1)]), TypeError,
     "has 2 entries, lhs .* has 1 spatial"),
    (lambda: lax.conv_general_dilated(x, w, (1,), 1), ValueError, "padding is 1; 'SAME', 'VALID'"),
    (lambda: lax.conv_general_dilated(x, w, (1,), [(-5, -4)]), ValueError,
     r"padding \(-5, -4\) takes more from axis 2"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "SAME", lhs_dilation=(2,)), ValueError,
     "no meaning with lhs_dilation"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", rhs_dilation=(0,)), ValueError,
     r"rhs_dilation \(0,\) must be"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=3), ValueError,
     "has 3 features .* in 3 groups, rhs"),
    (lambda: lax.conv_general_dilated(x, value(f32(4, 1, 3)), (1,), "VALID", feature_group_count=3),
     ValueError,
     "feature_group_count 3 does not divide the output features"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", batch_group_count=3), ValueError,
     "batch_group_count 3 does not"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=3, batch_group_count=2),
     ValueError,
     "one of them 1"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NHH", "HIO", "NHC")),
     TypeError,
     "dimension_numbers of the input are 'NHH'; 3 different letters"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NXC", "HIO", "NHC")),
     TypeError,
     "name different spatial axes"),
    (lambda: lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=("NHC", "HIO")), TypeError,
     "three strings"),
    (lambda: lax.conv(x, value(f32(4, 3)), (1,), "VALID"), TypeError, "must have one rank"),
    (lambda: lax.conv(x, value(f32(4, 3, 3).astype(np.float16)), (1,), "VALID"), TypeError,
     r"input and kernel must have one dtype, got lhs f32\[2,3,8\] and rhs f16\[4,3,3\]"),
    (lambda: lax.conv(x, value(np.zeros((4, 3, 0), np.float32)), (1,), "VALID"), ValueError,
     "size 0 along spatial axis 2"),
    (lambda: lax.conv_transpose(x, w, (1,), "FOO"), ValueError, "padding is 'FOO'"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
