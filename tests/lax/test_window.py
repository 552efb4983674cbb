"""lax.reduce_window and the gradients of pooling, against real jax."""

import jax
import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core import dtypes
from pullback.core.values import value
from tests.lax.oracle import close, distinct, f32, same, same_gradient

INIT = {"add": 0.0, "max": -np.inf, "min": np.inf, "mul": 1.0}
# shape, window, strides, padding, base dilation, window dilation
CASES = [
    ((7,), (3,), None, "VALID", None, None),
    ((7,), (3,), (2,), "SAME", None, None),
    ((8,), (3,), (2,), "SAME_LOWER", None, None),
    ((4, 6), (2, 2), (2, 2), "VALID", None, None),
    ((2, 7, 8, 3), (1, 3, 3, 1), (1, 2, 2, 1), "SAME", None, None),
    ((2, 5, 6), (1, 3, 2), (1, 1, 2), [(0, 0), (1, 2), (0, 1)], None, None),
    ((9,), (5,), (3,), [(2, 3)], None, (2,)),
    ((6,), (2,), (1,), [(1, 1)], (2,), (3,)),
    ((6,), (3,), (1,), [(-1, 1)], None, None),
    ((20,), (11,), (1,), "VALID", None, None),
    ((20,), (20,), (1,), [(19, 0)], None, None),
    ((3,), (1,), (2,), "VALID", None, None),
    ((3,), (4,), (1,), "VALID", None, None),
]


def pool(name, window, strides, padding, base, spread, init=None):
    start = INIT[name] if init is None else init
    return lambda lax, x: lax.reduce_window(x, start, getattr(lax, name), window, strides, padding, base,
                                            spread)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ["add", "max", "min", "mul"])
def test_values(case, name):
    shape, window, strides, *rest = case
    ones = (1,) * len(shape)
    rest = [ones if r is None else r for r in rest]
    same(pool(name, window, strides or ones, *rest), distinct(*shape) / 4)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", ["add", "max", "min"])
def test_gradients(case, name):
    shape, window, strides, padding, base, spread = case
    cropped = not isinstance(padding, str) and min(map(min, padding)) < 0
    if cropped or name != "add" and (base or spread):
        return same_gradient_by_slices(name, case)
    ones = (1,) * len(shape)
    same_gradient(pool(name, window, strides or ones, padding, base or ones, spread or ones),
                  distinct(*shape),
                  order=2 if name == "add" else 1)


def same_gradient_by_slices(name, case):
    """Where jax has no derivative: against the extreme of padded slices, in one dimension."""
    (n,), (window,), (stride,), ((low, high),), base, spread = case
    (base,), (spread,) = base or (1,), spread or (1,)

    operation = {"add": jax.numpy.sum, "max": jax.numpy.max, "min": jax.numpy.min}[name]

    def slices(x):
        filled = jax.lax.pad(x, np.float32(INIT[name]), [(low, high, base - 1)])
        count = (filled.size - (window - 1) * spread - 1) // stride + 1
        parts = [filled[i * spread:i * spread + (count - 1) * stride + 1:stride] for i in range(window)]
        return operation(jax.numpy.stack(parts), axis=0)

    x = distinct(n)
    out, pull = jax.vjp(slices, x)
    ct = f32(*out.shape)
    ours, ours_pull = pullback.vjp(lambda x: pool(name, *case[1:4], case[4] or (1,), case[5] or (1,))(lax, x),
                                   value(x))
    close(ours, out)
    close(ours_pull(value(ct)), pull(ct))


@pytest.mark.parametrize("name", ["max", "min"])
def test_among_equal_elements_the_first_has_the_derivative(name):
    x = np.random.default_rng(0).integers(0, 2, (2, 6, 6, 2)).astype(np.float32)
    for strides in ((1, 1, 1, 1), (1, 2, 2, 1)):
        same_gradient(pool(name, (1, 3, 3, 1), strides, "VALID", (1,) * 4, (1,) * 4), x)


def test_second_order_of_a_max():
    def f(lax, x):
        return pool("max", (3,), (1,), "SAME", (1,), (1,))(lax, x * x)
    x = value(distinct(6))
    hessian = np.asarray(pullback.jacfwd(pullback.grad(lambda x: lax.reduce_sum(f(lax, x), (0,))))(x))
    counts = np.asarray(pullback.grad(lambda x: lax.reduce_sum(
        pool("max", (3,), (1,), "SAME", (1,), (1,))(lax, x), (0,)))(x * x))
    np.testing.assert_allclose(hessian, np.diag(2 * counts))


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float16, dtypes.bfloat16],
                         ids=lambda d: np.dtype(d).name)
def test_dtypes(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    lowest = -np.inf if dtypes.is_float(dtype) else np.iinfo(dtype).min
    for name, init in (("add", 0), ("max", lowest)):
        start = np.asarray(init, dtype)[()]
        same(lambda lax, x, name=name, start=start: lax.reduce_window(x, start, getattr(lax, name), (2, 2),
                                                                      (1, 2), "SAME"), x)


def test_not_a_number_is_seen():
    x = np.float32([1, np.nan, 3, 4, np.inf, -np.inf])
    for name in ("add", "max", "min"):
        same(pool(name, (2,), (1,), "VALID", (1,), (1,)), x)


@pytest.mark.parametrize("name, init", [("add", 1.5), ("max", 3.0), ("min", 3.0), ("mul", 2.0)])
def test_other_initial_values(name, init):
    same(pool(name, (3,), (2,), "SAME", (1,), (1,), init), np.arange(6, dtype=np.float32))


def test_any_computation():
    same(lambda lax, x: lax.reduce_window(x, 1.0, lambda x, y: x * y + x + y, (3,), (2,), "SAME"), f32(6))
    same(lambda lax, x, y: lax.reduce_window((x, y), (0.0, 0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (3,),
                                             (1,), "SAME"),
         f32(6), np.arange(6, dtype=np.int32))


def test_gradient_of_a_product_of_windows():
    x = np.float32([2, 0, 3, 0, 5])
    gradient = pullback.grad(lambda x: lax.reduce_sum(lax.reduce_window(x, 1.0, lax.mul, (2,), (1,), "VALID"),
                                                      (0,)))(value(x))
    assert np.asarray(gradient).tolist() == [0, 5, 0, 8, 0]


def test_traced_initial_value():
    def f(init):
        return lax.reduce_window(value(f32(6)), init, lax.add, (3,), (2,), "VALID")
    init = value(np.array(2, np.float32))
    close(pullback.jit(f)(init), jax.lax.reduce_window(jax.numpy.asarray(f32(6)), np.float32(2), jax.lax.add,
                                                       (3,), (2,),
                                                       "VALID"))
    assert pullback.grad(lambda i: lax.reduce_sum(f(i), (0,)))(init).item() == 2


@pytest.mark.parametrize("name", ["add", "max"])
def test_batches(name):
    x = distinct(3, 2, 7)
    f = pool(name, (1, 3), (1, 2), "SAME", (1, 1), (1, 1))
    for engine, convert in ((pullback, value), (jax, jax.numpy.asarray)):
        g = engine.vmap(engine.grad(lambda x, e=engine: e.lax.reduce_sum(f(e.lax, x), (0, 1))))(convert(x))
        np.testing.assert_allclose(np.asarray(g), GRADIENTS.setdefault(name, np.asarray(g)))


GRADIENTS: dict[str, np.ndarray] = {}


def test_weak_type_and_shape():
    same(lambda lax: lax.reduce_window(lax.broadcast(2.0, (1, 4)), 0.0, lax.add, (1, 2), (1, 1), "SAME"))
    for padding in (((0, 1), (1, 1)), ((0, 0), (0, 0))):
        ours = lax.reduce_window_shape_tuple((8, 9), (3, 3), (1, 2), padding, (1, 2), (2, 1))
        assert ours == jax.lax.reduce_window_shape_tuple((8, 9), (3, 3), (1, 2), padding, (1, 2), (2, 1))


x = value(f32(4, 6))


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.reduce_window(x, 0.0, lax.add, (3,), (1, 1)), TypeError,
     r"reduce_window: window_dimensions \(3,\) has 1 entries, the operand f32\[4,6\] has 2 axes"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (0, 1), (1, 1)), TypeError,
     r"window_dimensions \(0, 1\) must be positive"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 0)), TypeError,
     r"window_strides \(1, 0\) must be positive"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), "FOO"), RuntimeError, "padding is 'FOO'"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), [(1, 1)]), TypeError,
     "padding .* has 1 entries"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), 3), TypeError, "padding is 3"),
    (lambda: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), [(-5, 0), (0, 0)]), ValueError,
     "takes more from axis 0"),
    (lambda: lax.reduce_window(x, x, lax.add, (1, 1)), ValueError, "must be a scalar"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
