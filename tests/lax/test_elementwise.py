"""The elementwise functions of lax against real jax.lax: values, types, derivatives at the edges, errors."""

import inspect
import math
import warnings

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core.array import ConcreteArray
from pullback.core.types import ArrayType, Zero
from pullback.interpret.jvp import jvp
from pullback.interpret.linearize import linearize
from pullback.interpret.transpose import backward

pullback.jit  # noqa: B018  # loads the engine

NAN, INF = math.nan, math.inf
NEW = ("one_minus_square", "mulhi")  # functions that the oldest supported jax lacks
SPECIAL = np.float32([0, -0.0, 1, -1, 0.5, -0.5, 2.5, -3, 1e-30, 3e38, INF, -INF, NAN])
WORDS = np.int32([0, 1, -1, 7, -3, 12345, 2**31 - 1, -(2**31)])
COMPLEX = np.complex64([0, 1, -1j, 1 + 2j, -3 + 0.5j])

UNARY_FLOAT = ["cbrt", "floor", "ceil", "round", "is_finite", "erf", "erfc", "erf_inv", "lgamma",
               "bessel_i0e", "bessel_i1e"]
UNARY_INEXACT = ["sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos",
                 "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logistic", "reciprocal"]
UNARY_NUMBER = ["neg", "sign", "square", "one_minus_square"]
BINARY_NUMBER = ["add", "sub", "mul", "div", "max", "min"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
SHIFTS = ["shift_left", "shift_right_logical", "shift_right_arithmetic"]


def ours(x):
    """An argument of jax as one of pullback."""
    if isinstance(x, jax.Array):
        return ConcreteArray(ArrayType(x.shape, np.dtype(x.dtype), bool(x.weak_type)), np.asarray(x))
    return x


def wide(x):
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        return x.astype(np.float32)
    return x


def same(mine, theirs, rtol=0.0):
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, (mine.type, theirs.dtype, theirs.shape)
    if mine.dtype != np.bool_:  # a bool gives way to nothing, weak or not
        assert mine.weak_type == theirs.weak_type, (mine.type.weak, theirs.weak_type)
    if mine.dtype.kind in "biu":
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
    else:
        np.testing.assert_allclose(wide(mine), wide(theirs), rtol=rtol, atol=rtol)


def check(name, *args, rtol=0.0, **more):
    if name in NEW and not hasattr(jax.lax, name):
        pytest.skip(f"this jax has no {name}")
    same(getattr(lax, name)(*map(ours, args), **more), getattr(jax.lax, name)(*args, **more), rtol)


def precision(dtype):
    return {2: 2e-2, 1: 0.3}.get(np.dtype(dtype).itemsize, 2e-5)


CLASSES = {"RoundingMethod", "AccuracyMode", "Tolerance"}
PUBLIC = sorted({*lax.elementwise.__all__, *lax.analytic.__all__} - CLASSES)


@pytest.mark.skipif(jax.__version_info__[:2] != (0, 11), reason="the signatures are those of 0.11")
@pytest.mark.parametrize("name", PUBLIC)
def test_signatures(name):
    def parameters(module):
        found = inspect.signature(getattr(module, name)).parameters.values()
        return [(p.name, p.kind, p.default is p.empty) for p in found]

    assert parameters(lax) == parameters(jax.lax)


def pairs(values):
    return [jnp.asarray(a.ravel()) for a in np.meshgrid(values, values)]


# -- values, dtypes, weak types ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", UNARY_FLOAT + UNARY_INEXACT + UNARY_NUMBER + ["abs"])
def test_unary_of_floats(name, dtype):
    with np.errstate(all="ignore"):
        x = jnp.asarray(SPECIAL.astype(dtype))
    check(name, x, rtol=precision(dtype))
    check(name, 0.75, rtol=2e-5)


@pytest.mark.parametrize("name", UNARY_INEXACT + UNARY_NUMBER + ["abs", "real", "imag", "conj"])
def test_unary_of_complex(name):
    x = COMPLEX[1:] if name in ("rsqrt", "log", "reciprocal", "atanh", "log1p") else COMPLEX
    if name in ("atan", "atanh", "asin", "acos", "log1p", "acosh", "asinh"):
        x = x[np.abs(np.abs(x) - 1) > 0.1]  # they have poles or branch points at |x| = 1
    check(name, jnp.asarray(x), rtol=1e-4)
    check(name, 1.5 + 0.5j, rtol=1e-4)


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, ml_dtypes.int4, ml_dtypes.uint4]


@pytest.mark.parametrize("name", UNARY_NUMBER + ["bitwise_not", "population_count", "clz"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_unary_of_integers(name, dtype):
    x = np.array([-8, -1, 0, 1, 2, 7, 5], np.int32).astype(dtype)
    if name == "population_count" and dtype == ml_dtypes.int4:
        pytest.skip("jax counts bits beside the four of an int4")
    check(name, jnp.asarray(x))


@pytest.mark.parametrize("name", BINARY_NUMBER + ["rem", "pow", "atan2", "nextafter"] + COMPARISONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_binary_of_floats(name, dtype):
    with np.errstate(all="ignore"):
        x, y = pairs(SPECIAL.astype(dtype))
    check(name, x, y, rtol=0.0 if name in COMPARISONS + ["nextafter"] else precision(dtype))


@pytest.mark.parametrize("name", BINARY_NUMBER + ["rem"] + COMPARISONS + BITWISE + SHIFTS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_binary_of_integers(name, dtype):
    x, y = pairs(WORDS.astype(dtype))
    check(name, x, y)


@pytest.mark.parametrize("name", ["max", "min"] + COMPARISONS + BITWISE)
def test_binary_of_bools(name):
    check(name, *pairs(np.array([False, True])))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "max", "min", "eq", "ne"])
def test_binary_of_complex(name):
    check(name, *pairs(COMPLEX), rtol=1e-6)


@pytest.mark.parametrize("name", ["div", "pow", "atan2"])
def test_binary_of_complex_away_from_poles(name):
    check(name, *pairs(np.complex64([1 + 2j, 0.5 - 0.3j])), rtol=1e-4)


@pytest.mark.parametrize("name", BINARY_NUMBER + COMPARISONS)
def test_weak_types_of_two(name):
    strong, weak = jnp.float32(2.5), jnp.asarray(1.5)
    for args in ((1.5, 2.5), (strong, 1.5), (1.5, strong), (weak, strong), (weak, weak), (weak, 2.5), (1, 2),
                 (jnp.arange(3.0), 1.5), (jnp.arange(3), jnp.int32(2)), (np.float32(1), 2.5),
                 (np.float64(1), 2.5), (np.arange(3.0), strong)):
        check(name, *args, rtol=1e-6)


OTHER_SCALARS = """
    lax.add(x, 1)
    lax.add(x, 1j)
    lax.mul(y, 1.5)
    lax.sub(z, 1)
    lax.max(jnp.asarray(1), y)
    lax.pow(y, 2.5)
    lax.eq(x, True)
    lax.nextafter(y, 2.5)
    lax.mulhi(z, 1)
    lax.bitwise_and(z, 1)
    lax.clamp(0, x, 1)
    lax.pad(y, 0.0, [(1, 1, 0)])
    lax.igamma(x, 2)
    lax.select(True, x, 1.0)
    lax.select(x > 0, 1.0, 2.0)
    lax.select_n(x > 0, x, jnp.float32(1))
    lax.rng_uniform(1, 2.5, (2,))
    lax.dynamic_update_index_in_dim(x, 1, 0, 0)
    lax.scatter_add(x, jnp.array([[0]]), jnp.full((1,), 1), lax.ScatterDimensionNumbers((), (0,), (0,)))
""".strip().splitlines()


@pytest.mark.parametrize("text", OTHER_SCALARS, ids=str.strip)
def test_a_scalar_of_another_dtype_is_refused(text):
    values = [jnp.float32([1, 2]), jnp.bfloat16([1, 2]), jnp.uint8([1, 2])]
    with pytest.raises((TypeError, ValueError)) as theirs:
        eval(text, {"lax": jax.lax, "jnp": jnp, **dict(zip("xyz", values))})
    with pytest.raises(type(theirs.value), match="fix: "):
        eval(text, {"lax": lax, "jnp": pullback.numpy, **dict(zip("xyz", map(ours, values)))})


@pytest.mark.parametrize("out_dtype", ["float16", "float32", "int32", "complex64", "bool"])
def test_products_in_a_dtype_of_their_own(out_dtype):
    for args in ((jnp.float32([1.5, -2.5]), jnp.float32(1.7)), (jnp.int32([3, -1]), 2.5), (jnp.uint8([200, 3]), 2),
                 (2, 3), (2.5, jnp.bfloat16(2)), (jnp.complex64([1 + 2j]), 1j)):
        check("mul", *args, out_dtype=out_dtype)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of jax, which casts with NumPy
@pytest.mark.parametrize("filling", [float("nan"), float("inf"), -float("inf"), 1e20, 300.7, -1.5])
def test_floats_beyond_the_integers(filling):
    for dtype in ("int32", "uint8", "int8"):
        check("full", (2,), filling, dtype)
        check("full_like", jnp.zeros(2, dtype), filling)


@pytest.mark.parametrize("shapes", [((3, 1), (1, 3)), ((3,), (1,)), ((), (2, 3)), ((2, 3), ()),
                                    ((0, 1), (1, 2)), ((1, 1), (2, 3)), ((2, 0), (2, 0))])
def test_shapes(shapes):
    x, y = (jnp.asarray(np.random.default_rng(0).normal(size=s).astype(np.float32)) for s in shapes)
    check("add", x, y)
    check("atan2", x, y, rtol=1e-6)
    check("pow", x, jnp.ones(shapes[1], jnp.int32), rtol=1e-6)


@pytest.mark.parametrize("y", [0, 1, 2, 3, 10, -1, -2])
def test_integer_pow(y):
    check("integer_pow", jnp.asarray(SPECIAL), y, rtol=1e-6)
    check("integer_pow", jnp.asarray(COMPLEX[1:]), y, rtol=1e-5)
    check("integer_pow", 1.5, y, rtol=1e-6)
    if y >= 0:
        check("integer_pow", jnp.asarray(WORDS), y)


@pytest.mark.parametrize("exponent", [jnp.int32(3), jnp.int8(-2), jnp.uint8(3), 3, jnp.int32(0)])
def test_pow_with_integer_exponents(exponent):
    for base in (jnp.float32([2, -2, 0.5]), jnp.bfloat16([2, -2, 0.5]), jnp.complex64([1 + 1j]), 2.0):
        check("pow", base, exponent, rtol=1e-5)


def test_round():
    x = jnp.float32([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.2, 8388609])
    for method in (0, 1):
        same(lax.round(ours(x), lax.RoundingMethod(method)), jax.lax.round(x, jax.lax.RoundingMethod(method)))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int8, np.uint16])
def test_mulhi(dtype):
    check("mulhi", *pairs(WORDS.astype(dtype)))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_mulhi_of_64_bits(dtype):
    """Against Python's integers."""
    info = np.iinfo(dtype)
    values = [info.min, info.max, 0, 1, 3, info.max // 3, info.min // 7, 0x123456789ABCDEF]
    x, y = (a.ravel() for a in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    with pullback.enable_x64(True):
        result = np.asarray(lax.mulhi(x, y))
    expected = [int(a) * int(b) >> 64 for a, b in zip(x, y)]
    assert result.dtype == dtype and result.tolist() == expected


@pytest.mark.parametrize("out", [np.float32, np.int32, ml_dtypes.bfloat16, np.int8])
def test_mul_to_another_dtype(out):
    for dtype in (np.int8, np.float32, ml_dtypes.bfloat16):
        x = jnp.asarray(np.array([3, -100, 7]).astype(dtype))
        mine, theirs = lax.mul(ours(x), ours(x), out_dtype=out), jax.lax.mul(x, x, out_dtype=out)
        assert mine.dtype == theirs.dtype
        if np.can_cast(dtype, out):
            np.testing.assert_array_equal(wide(mine), wide(theirs))


def test_select():
    mask, x, y = jnp.array([True, False, True]), jnp.arange(3.0), -jnp.arange(3.0)
    check("select", mask, x, y)
    check("select", True, x, y)
    check("select", 1, x, y)
    check("select", True, 1.0, 2.0)
    check("select", True, 1.0, jnp.float32(2))
    check("select", mask, mask, ~mask)
    which = jnp.array([0, 2, 5, -1])
    check("select_n", which, *[jnp.full(4, float(i)) for i in range(3)])
    check("select_n", which, jnp.arange(4.0))
    check("select_n", jnp.uint32(1), 1.0, jnp.float32(2))
    check("select_n", jnp.int8(1), 1.0, 2.0, 3.0)


def test_clamp():
    check("clamp", 0.0, jnp.arange(3.0), 1.0)
    check("clamp", 0.0, 3.0, 1.0)
    check("clamp", False, True, True)
    check("clamp", jnp.float32([0, NAN, 2, 0, 3]), jnp.float32([NAN, 1, 1, 2, 2]),
          jnp.float32([1, 1, 1, NAN, 1]))
    check("clamp", jnp.int32(2), jnp.arange(5), jnp.int32(3))


def test_complex_parts():
    check("complex", jnp.float32([1, NAN, INF]), jnp.float32([2, 0, NAN]))
    check("complex", 1.0, 2.0)
    check("conj", jnp.float32([1, 2]))
    check("conj", 1.0)


@pytest.mark.parametrize("m", [0.0, 1.0, 2.0, 3.0, 0.5, -1.0])
def test_polygamma_and_zeta(m):
    x = jnp.float32([0.5, 1, 2.5, -0.5, -1, 30])
    check("polygamma", jnp.full(x.shape, m), x, rtol=1e-4)
    check("zeta", jnp.full(x.shape, m), x, rtol=1e-4)
    check("polygamma", m, jnp.float32(2), rtol=1e-4)


def test_digamma():
    check("digamma", jnp.float32([0.5, 1, 2.5, -0.5, -1, 30, INF, NAN]), rtol=1e-5)
    assert np.asarray(lax.digamma(np.float32([0, -0.0]))).tolist() == [-INF, -INF]


def test_accuracy_is_checked():
    for accuracy in (None, lax.AccuracyMode.HIGHEST, lax.AccuracyMode.DEFAULT, lax.Tolerance(1e-5, 1e-5, 2)):
        assert float(lax.exp(1.0, accuracy=accuracy)) == float(lax.exp(1.0))
    with pytest.raises(ValueError, match=r"^exp: accuracy is 'x'.*\n(.*\n)*  fix: "):
        lax.exp(1.0, accuracy="x")
    with pytest.raises(ValueError, match="^Tolerance: got atol -1"):
        lax.Tolerance(-1.0)


# -- conversion -------------------------------------------------------------------------------------

DTYPES = [*INTEGERS, np.bool_, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64,
          ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_conversions(source, target):
    values = np.float32([0, 1, -1, 0.5, -1.5, 3.7, 7, 100, 127.9, 128, -129, 255.5, 300, 6e4, 7e4, -7e4,
                         2147483648, 3e9, -3e9, 1e-6, INF, -INF, NAN])
    if source in INTEGERS:
        values = np.int64([0, 1, -1, 3, 7, 8, 100, 127, 128, -129, 255, 65535, 16777217, 2**31 - 1, -(2**31)])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        x = jnp.asarray(values.astype(source))
        check("convert_element_type", x, target)


def test_conversion_of_scalars_and_arrays_that_fit():
    check("convert_element_type", 1, float)
    check("convert_element_type", 1.5, np.int32)
    check("convert_element_type", jnp.asarray(1.0), np.float32)
    check("convert_element_type", jnp.float32(1), "bfloat16")
    x = ours(jnp.arange(3.0))
    assert lax.convert_element_type(x, np.float32) is x


def test_conversion_warns_of_what_it_drops():
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as caught:
        lax.convert_element_type(ours(jnp.complex64([1 + 2j])), np.float32)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64"):
        assert lax.convert_element_type(1.0, np.float64).dtype == np.float32


@pytest.mark.parametrize("source, target", [
    (np.float32, np.int32), (np.float32, np.uint8), (np.uint8, np.float32), (np.uint8, ml_dtypes.int4),
    (ml_dtypes.int4, np.uint8), (np.uint16, ml_dtypes.bfloat16), (ml_dtypes.uint4, ml_dtypes.int4),
    (np.uint8, ml_dtypes.float8_e4m3fn), (np.float32, np.float32), (np.uint8, np.uint16)])
def test_bitcasts(source, target):
    x = np.random.default_rng(0).integers(-8, 100, (3, 4)).astype(np.int32).astype(source)
    if np.dtype(target) == np.uint16:
        x = x.reshape(3, 2, 2)
    if np.dtype(source) == ml_dtypes.int4:
        x = x.reshape(3, 2, 2)
    x = jnp.asarray(x)
    mine, theirs = lax.bitcast_convert_type(ours(x), target), jax.lax.bitcast_convert_type(x, target)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    if np.dtype(target) == ml_dtypes.int4:  # jax leaves garbage beside the four bits
        np.testing.assert_array_equal(wide(mine), wide(theirs))
    else:
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()


def test_reduce_precision():
    x = jnp.float32([1.23456, 1e30, -1e30, 1e-30, NAN, INF, 65504, 65520, 65519.9, 6e-5, 6.1e-5, 3, 2.5])
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (5, 0), (11, 52), (1, 2)):
        check("reduce_precision", x, exponent, mantissa)
    check("reduce_precision", 1.3, 5, 2)


def test_stop_gradient_takes_trees():
    key = pullback.random.key(0)
    tree = {"a": (1, 2.5), "b": [ours(jnp.arange(2.0)), None], "c": np.arange(2), "k": key}
    out = lax.stop_gradient(tree)
    assert out["a"] == (1, 2.5) and out["b"][1] is None and out["k"] is key
    assert np.asarray(out["b"][0]).tolist() == [0, 1] and np.asarray(out["c"]).tolist() == [0, 1]
    (_, _), (dot, integer) = jvp(lambda x: [lax.stop_gradient(x), lax.stop_gradient([x])[0]],
                                 [ours(jnp.float32(2))], [ours(jnp.float32(1))])
    assert isinstance(dot, Zero) and isinstance(integer, Zero)


def test_keys():
    from pullback import random
    one, two = random.key(1), random.key(2)
    assert bool(lax.eq(one, one)) and not bool(lax.eq(one, two)) and bool(lax.ne(one, two))
    assert np.asarray(lax.eq(random.split(one, 3), random.split(one, 3))).tolist() == [True] * 3
    chosen = lax.select(False, one, two)
    assert chosen.dtype == one.dtype and bool(lax.eq(chosen, two))


# -- derivatives where they are not obvious ------------------------------------------------------------

EDGES = [
    ("pow", [0, 0, 0, 0, 0, 2, -2, -2, 0, INF, NAN, 1, -1],
     [0, 1, 2, 0.5, -1, 0, 0, 2, -0.0, 2, 0, NAN, 0.5]),
    ("sqrt", [0, 1, -1, INF]), ("rsqrt", [0, 1, -1, INF]), ("cbrt", [0, 1, -8]),
    ("abs", [0, -0.0, 1, -1, NAN]), ("sign", [0, 1, -1]),
    ("max", [0, 1, 2, NAN, 0], [0, 2, 1, 0, NAN]), ("min", [0, 1, 2, NAN, 0], [0, 2, 1, 0, NAN]),
    ("rem", [7, -7, 7, -7, 0, 3, 1], [2, 2, -2.5, -2.5, 2, INF, 0]),
    ("atan2", [0, 0, 1, 0], [0, 1, 0, -1]), ("div", [0, 1, 3], [0, 0, 2]),
    ("clamp", [0, 0, 0, 0, 0, 1, 1, 2], [-1, 0, 0.5, 1, 2, 0.5, 1, 1.5], [1] * 8),
    ("acosh", [1, 2, 0.5]), ("asin", [1, -1, 0]), ("acos", [1, -1, 0]), ("atanh", [1, -1, 0]),
    ("tanh", [20, -20, 0]), ("logistic", [200, -200, 0]), ("log", [0, -1, 3]), ("log1p", [0, -1, 3]),
    ("bessel_i0e", [0, 1, -1, 10]), ("bessel_i1e", [0, 1, -1, 10, 1e-3]), ("lgamma", [1, -1.5, INF, -INF]),
    ("erf_inv", [0, 1, -1, 2]), ("erfc", [0, 1, -1, 20, INF, -INF]), ("exp2", [0, 1, 3]),
    ("floor", [0.5, 1]), ("ceil", [0.5, 1]), ("round", [0.5, 1]), ("square", [0, -1, 3]), ("tan", [0, 1]),
    ("reciprocal", [0, 1, -INF]), ("sinh", [0, 100, -1]), ("asinh", [0, 1e20, -1]), ("expm1", [0, -100, 1]),
]


def derivative_of_ours(f, args, i):
    x = ours(args[i])
    one = ConcreteArray(x.type, np.ones(x.shape, x.dtype))
    _, (dot,) = jvp(lambda x: [f(*[x if j == i else ours(a) for j, a in enumerate(args)])], [x], [one])
    return np.zeros(x.shape, x.dtype) if isinstance(dot, Zero) else np.asarray(dot)


def derivative_of_jax(f, args, i):
    return np.asarray(jax.jvp(lambda x: f(*[x if j == i else a for j, a in enumerate(args)]), (args[i],),
                              (jnp.ones_like(args[i]),))[1])


@pytest.mark.parametrize("name, args", [(name, args) for name, *args in EDGES])
def test_derivatives_at_the_edges(name, args):
    args = [jnp.float32(a) for a in args]
    for i in range(len(args)):
        mine = derivative_of_ours(getattr(lax, name), args, i)
        theirs = derivative_of_jax(getattr(jax.lax, name), args, i)
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6, err_msg=f"by operand {i}")


@pytest.mark.parametrize("y", [0, 1, 2, 3, -1, -2])
def test_derivatives_of_integer_powers(y):
    args = [jnp.float32([0, 1, -2, NAN, INF])]
    np.testing.assert_allclose(derivative_of_ours(lambda x: lax.integer_pow(x, y), args, 0),
                               derivative_of_jax(lambda x: jax.lax.integer_pow(x, y), args, 0), rtol=1e-6)
    exponents = jnp.full(3, y, jnp.int32)
    args = [jnp.float32([0, 1, -2])]
    np.testing.assert_allclose(derivative_of_ours(lambda x: lax.pow(x, ours(exponents)), args, 0),
                               derivative_of_jax(lambda x: jax.lax.pow(x, exponents), args, 0), rtol=1e-6)


@pytest.mark.parametrize("name", UNARY_INEXACT + ["real", "imag", "conj", "abs", "neg", "square"])
def test_cotangents_of_complex_functions(name):
    x = jnp.complex64([0.3 + 0.6j, -0.4 + 0.2j])
    if name == "acosh" and jax.__version_info__ < (0, 11):
        x = x[:1].repeat(2)  # it was wrong on the left
    out, pull = jax.vjp(getattr(jax.lax, name), x)
    ct = jnp.asarray(np.array([1.5, -2]) + (np.array([1j, 0.5j]) if out.dtype.kind == "c" else 0), out.dtype)
    _, linearized = linearize(lambda x: [getattr(lax, name)(x)], [ours(x)])
    (mine,) = backward(linearized.program, linearized.linear, linearized.residuals, [ours(ct)])
    (theirs,) = pull(ct)
    assert mine.dtype == theirs.dtype
    np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=1e-4, atol=1e-6)


def test_cotangents_of_real_operands_of_complex_functions():
    x, ct = jnp.float32([2, 3]), jnp.complex64([3 + 5j, 1 - 1j])
    for function in (lambda own, x: own.complex(x, own.mul(x, np.float32(2))),
                     lambda own, x: own.complex(own.neg(x), x), lambda own, x: own.conj(x)):
        _, linearized = linearize(lambda x, f=function: [f(lax, x)], [ours(x)])
        (back,) = backward(linearized.program, linearized.linear, linearized.residuals, [ours(ct)])
        theirs = jax.vjp(lambda x, f=function: f(jax.lax, x), x)[1](ct)[0]
        np.testing.assert_allclose(np.asarray(back), np.asarray(theirs), rtol=1e-6)


def test_sign_of_complex_numbers_turns():
    """jax takes this derivative for 0; the numeric one decides."""
    z, dot, eps = 0.3 + 0.4j, 1 - 2j, 1e-6
    with pullback.enable_x64(True):
        x = ConcreteArray(ArrayType((), np.dtype(np.complex128)), np.array(z))
        v = ConcreteArray(x.type, np.array(dot))
        _, (mine,) = jvp(lambda x: [lax.sign(x)], [x], [v])
    numeric = ((z + eps * dot) / abs(z + eps * dot) - (z - eps * dot) / abs(z - eps * dot)) / (2 * eps)
    np.testing.assert_allclose(complex(np.asarray(mine)), numeric, rtol=1e-8)


@pytest.mark.parametrize("call, words", [
    (lambda x: lax.nextafter(x, x), "nextafter has no derivative"),
    (lambda x: lax.polygamma(x, x), "polygamma has no derivative by its first operand"),
    (lambda x: pullback.vmap(pullback.grad(lambda x: lax.zeta(x, 2.0)))(x),
     "zeta_slope has no derivative by operand 0")])
def test_a_missing_derivative_is_an_error(call, words):
    x = ours(jnp.float32([1.5]))
    with pytest.raises(TypeError, match=words):
        jvp(lambda x: [call(x)], [x], [x])


# -- errors -----------------------------------------------------------------------------------------

F3, F4, I3, C3, B3 = (np.zeros(3, np.float32), np.zeros(4, np.float32), np.zeros(3, np.int32),
                      np.zeros(3, np.complex64), np.zeros(3, np.bool_))


@pytest.mark.parametrize("call, problem", [
    (lambda: lax.add(F3, F4), r"add: operands must have one shape, got f32\[3\], f32\[4\]"),
    (lambda: lax.add(F3, np.zeros((1, 3), np.float32)),
     r"add: operands must have one shape, got f32\[3\], f32\[1,3\]"),
    (lambda: lax.mul(F3, I3), r"mul: operands must have one dtype, got f32\[3\], i32\[3\]"),
    (lambda: lax.sub(B3, B3), r"sub: got bool\[3\], a dtype of kind int or uint or float or complex"),
    (lambda: lax.exp(I3), r"exp: got i32\[3\], a dtype of kind float or complex is required"),
    (lambda: lax.sqrt(4), r"sqrt: got i32\[\], a dtype of kind float or complex"),
    (lambda: lax.abs(np.zeros(3, np.uint8)), r"abs: got u8\[3\], a dtype of kind int or float or complex"),
    (lambda: lax.lt(C3, C3), r"lt: got c64\[3\], a dtype of kind"),
    (lambda: lax.floor(1), r"floor: got i32\[\], a dtype of kind float"),
    (lambda: lax.bitwise_and(F3, F3), r"bitwise_and: got f32\[3\], a dtype of kind bool or int or uint"),
    (lambda: lax.shift_left(B3, B3), r"shift_left: got bool\[3\], a dtype of kind int or uint"),
    (lambda: lax.real(F3), r"real: got f32\[3\], a dtype of kind complex"),
    (lambda: lax.complex(np.float16(1), np.float16(2)), r"complex: got f16\[\], float32 or float64"),
    (lambda: lax.erf(C3), r"erf: got c64\[3\], a dtype of kind float"),
    (lambda: lax.integer_pow(I3, -1), r"integer_pow: got an operand i32\[3\] and the exponent -1"),
    (lambda: lax.integer_pow(F3, 0.5), "integer_pow: y is 0.5, an int is required"),
    (lambda: lax.reciprocal(I3), r"reciprocal: got an operand i32\[3\]"),
    (lambda: lax.pow(I3, I3), r"pow: got i32\[3\], a dtype of kind float or complex"),
    (lambda: lax.pow(F3, np.zeros(4, np.int32)), r"pow: operands must have one shape, got f32\[3\], "),
    (lambda: lax.select(B3, F3, I3), r"select: operands must have one dtype, got i32\[3\], f32\[3\]"),
    (lambda: lax.select(np.zeros(4, np.bool_), F3, F3), r"select: `which` bool\[4\] must have the shape"),
    (lambda: lax.select(F3, F3, F3), r"select: got f32\[3\], a dtype of kind bool or int or uint"),
    (lambda: lax.select_n(True, 1.0, 2.0, 3.0), "select_n: got 3 cases and a bool `which`"),
    (lambda: lax.select_n(1), "select_n: at least one case is required"),
    (lambda: lax.clamp(F3, 1.0, 2.0), r"clamp: min is f32\[3\], x is f32\[\]; the shape of x or a scalar"),
    (lambda: lax.clamp(0.0, F3, F4), r"clamp: max is f32\[4\], x is f32\[3\]"),
    (lambda: lax.clamp(0j, C3, 1j), r"clamp: got c64\[\], a dtype of kind"),
    (lambda: lax.round(F3, "x"), "round: rounding_method is 'x', a lax.RoundingMethod is required"),
    (lambda: lax.mulhi(F3, F3), r"mulhi: got f32\[3\] and f32\[3\], integers are required"),
    (lambda: lax.exp("a"), "exp: got a str, an array or a number is required"),
    (lambda: lax.add([1], 1), "add: got a list, an array or a number is required"),
    (lambda: lax.stop_gradient((1, "a")), "stop_gradient: got a str, an array or a number is required"),
    (lambda: lax.convert_element_type(F3, None), "convert_element_type: new_dtype is None"),
    (lambda: lax.reduce_precision(F3, 0, 5), "reduce_precision: got exponent_bits 0 and mantissa_bits 5"),
    (lambda: lax.reduce_precision(F3, 5.0, 5), "reduce_precision: exponent_bits is 5.0, an int is required"),
    (lambda: lax.bitcast_convert_type(B3, np.uint8),
     r"bitcast_convert_type: the bits of bool\[3\] cannot be read as u8"),
    (lambda: lax.bitcast_convert_type(np.zeros((2, 3), np.uint8), np.float32),
     r"bitcast_convert_type: u8\[2,3\] has elements of 8 bits, f32 has 32: the last axis must have size 4"),
])
def test_errors_name_the_call_the_types_and_a_fix(call, problem):
    with pytest.raises((TypeError, ValueError), match="^" + problem) as caught:
        call()
    text = str(caught.value)
    assert "  at test_elementwise.py:" in text and "\n  fix: " in text
