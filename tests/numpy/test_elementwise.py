"""The elementwise functions of pullback.numpy against real jax: values, types, derivatives, errors."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from tests.numpy.against_jax import close, ours, same, theirs, weak

INF, NAN = math.inf, math.nan
BF16 = np.dtype(jnp.bfloat16)
SPECIAL = np.float32([0, -0.0, 1, -1, 0.5, 1.5, -2.5, 0.1, 7, 1e-30, 3e38, INF, -INF, NAN])
INSIDE = np.float32([0.3, -0.7, 0.9, -0.2, 0.55])  # where every inverse function but arccosh is smooth
COMPLEX = np.complex64([0.5 + 0.2j, -0.3 - 0.8j, 0.1j, 0.7])
WORDS = np.int32([0, 1, -1, 7, -3, 12345, -(2**31), 2**31 - 1])
VALUES = {
    "bool": np.array([True, False]), "int8": np.int8([0, 1, -1, 7, -128, 127]),
    "uint8": np.uint8([0, 1, 7, 255]),
    "int32": WORDS, "uint32": np.uint32([0, 1, 7, 2**32 - 1]),
    "float16": np.float16([0, 1, -2.5, 0.3, INF, NAN]),
    "bfloat16": np.array([0, 1, -2.5, 0.3, INF, NAN], BF16), "float32": SPECIAL, "complex64": COMPLEX}

SMOOTH = ["sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
          "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sinc", "i0",
          "deg2rad", "rad2deg", "reciprocal", "square", "negative", "positive"]
CORNERED = ["abs", "fabs", "sign", "floor", "ceil", "trunc", "rint", "round", "nan_to_num"]
UNARY = [*SMOOTH, *CORNERED, "logical_not", "invert", "bitwise_count", "isnan", "isinf", "isfinite",
         "isposinf", "isneginf", "isreal", "iscomplex", "real", "imag", "conj", "angle", "signbit", "spacing",
         "frexp", "modf"]
ALIASES = {"absolute": "abs", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
           "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "around": "round",
           "bitwise_invert": "invert",
           "bitwise_not": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
           "conjugate": "conj", "degrees": "rad2deg", "radians": "deg2rad", "mod": "remainder",
           "pow": "power",
           "true_divide": "divide"}

NUMERIC = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "divmod", "fmod", "power",
           "float_power", "maximum", "minimum", "fmax", "fmin"]
REAL = ["arctan2", "hypot", "heaviside", "copysign", "nextafter", "logaddexp", "logaddexp2"]
TRUTH = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
         "logical_xor", "isclose"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
BINARY = [*NUMERIC, *REAL, *TRUTH, *BITWISE]

# Where jax chooses otherwise in one of its versions: near the singular point of arccosh, far out in sinc.
VARYING = {"sinc", "i0", "arccosh"}
# Where jax's own choice between weak and strong follows from constants inside, not from the operands.
WEAK_BY_CHANCE = {"log2", "log10", "rint", "angle", "nan_to_num", "spacing", "frexp", "hypot", "heaviside",
                  "logaddexp2",
                  "power", "sinc", "deg2rad", "rad2deg"}


def pairs(values, dtype=None):
    first, second = np.meshgrid(values, values)
    return first.ravel().astype(dtype or values.dtype), second.ravel().astype(dtype or values.dtype)


def attempt(function, *args):
    """The result, or the exception."""
    try:
        return function(*args)
    except (TypeError, ValueError, OverflowError) as error:
        return error


def agree(name, *args, rtol=None):
    """The function of both libraries gives the same result, or refuses in both."""
    with jax.disable_jit():
        real = attempt(getattr(jnp, name), *theirs(args))
    mine = attempt(getattr(pnp, name), *ours(args))
    if isinstance(mine, Exception) or isinstance(real, Exception):
        assert isinstance(mine, Exception) and isinstance(real, Exception), (name, args, mine, real)
        return
    close(mine, real, (name, args), rtol)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name):
    for kind, values in VALUES.items():
        if name == "frexp" and kind in ("float32", "float16", "bfloat16"):
            values = values[np.isfinite(values.astype(np.float32))]
        if name == "sinc" and kind in ("float32", "float16", "bfloat16"):
            values = values[np.abs(np.nan_to_num(values.astype(np.float32))) < 10]
        agree(name, values, rtol=1e-4 if kind == "complex64" else None)
    agree(name, np.float32(0.5))
    agree(name, np.zeros((2, 0), np.float32))


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_compiled(name):
    special = name in ("frexp", "spacing", "sinc")
    values = SPECIAL[np.abs(np.nan_to_num(SPECIAL)) < 10] if special else SPECIAL
    mine = pullback.jit(lambda x: getattr(pnp, name)(x)) if name not in ("invert", "bitwise_count") else None
    if mine is not None:
        close(mine(ours(values)), getattr(jnp, name)(values), name, 3e-5)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name):
    for kind in ("bool", "int8", "uint8", "int32", "uint32", "float32", "bfloat16"):
        values = VALUES[kind]
        if name == "fmod" and kind == "bool":
            values = values[:1]  # jax alone has True as the remainder of a division by False
        if name == "power" and kind == "float32":
            values = values[np.abs(np.nan_to_num(values)) < 10]
        agree(name, *pairs(values))
    agree(name, *pairs(COMPLEX), rtol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_broadcasting_and_promotion(name):
    row, column = np.float32([1, 2, 3]), np.float32([[4], [5]])
    count = np.int32([1, 2, 3])
    for x, y in ((row, column), (column, row), (row, np.float32(2)), (row, row[:1]), (count, column),
                 (row, 2),
                 (count, 2), (2, count), (1.5, row), (np.uint8([1, 2, 3]), count), (np.array([True]), count),
                 (np.array([1, 2, 3], BF16), 2.5), (count, np.array([1, 2, 3], BF16)), (np.float16(3), row)):
        if name == "isclose" or not isinstance(y, float) or name not in BITWISE:
            agree(name, x, y)


@pytest.mark.parametrize("name", [n for n in BINARY if n not in BITWISE and n != "divmod"])
def test_two_operands_compiled(name):
    x, y = pairs(SPECIAL[:8])
    close(pullback.jit(lambda x, y: getattr(pnp, name)(x, y))(ours(x), ours(y)), getattr(jnp, name)(x, y),
          name, 3e-5)


@pytest.mark.parametrize("name", ["left_shift", "right_shift", "bitwise_and", "floor_divide", "remainder",
                                  "power"])
def test_integers_compiled(name):
    x, y = pairs(WORDS)
    close(pullback.jit(lambda x, y: getattr(pnp, name)(x, y))(ours(x), ours(y)), getattr(jnp, name)(x, y),
          name)


@pytest.mark.parametrize("name", [n for n in (*UNARY, *BINARY) if n not in WEAK_BY_CHANCE])
def test_weak_types(name):
    arguments = [(weak([1.5, 2]),), (weak([1, 2]),), (3,), (0.5,)]
    if name in BINARY:
        strong = np.float32([1, 2])
        arguments = [(weak([1.5, 2]), strong), (weak([1, 2]), strong), (weak([1, 2]), 2), (weak([1, 2]), 2.5),
                     (np.int8([1, 2]), weak([1, 2])), (np.array([1, 2], BF16), weak([1, 2])),
                     (np.array([True, False]), weak([1, 2])), (1, 2), (1, 2.5), (True, 2),
                     (np.int32([1, 2]), 2.5)]
    for args in arguments:
        with jax.disable_jit():  # an old XLA dies of int8 & int32 in one compiled function
            real = attempt(getattr(jnp, name), *theirs(args))
        mine = attempt(getattr(pnp, name), *ours(args))
        if not isinstance(real, Exception):
            for x, y in zip(pullback.tree_util.tree_leaves(mine), jax.tree.leaves(real)):
                # Whether a truth value is weak decides nothing.
                assert x.dtype == y.dtype and (x.dtype == bool or x.weak_type == y.weak_type), (name, args)


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_aliases(name):
    assert getattr(pnp, name) is getattr(pnp, ALIASES[name])


# -- derivatives --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [*SMOOTH, *CORNERED])
def test_derivative(name):
    points = np.float32([1.5, 2, 3.25]) if name == "arccosh" else INSIDE
    same(getattr(pnp, name), name, points, grad=True, traced=False, rtol=1e-4)


@pytest.mark.parametrize("name", [n for n in (*SMOOTH, *CORNERED) if n not in VARYING])
def test_derivative_at_edges(name):
    same(getattr(pnp, name), name, SPECIAL, grad=True, traced=False, rtol=1e-4)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "tanh", "square", "reciprocal", "abs", "real",
                                  "imag",
                                  "conj", "angle"])
def test_complex_derivative(name):
    same(getattr(pnp, name), name, COMPLEX, grad=True, traced=False, rtol=1e-4)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "remainder", "fmod", "power",
                                  "maximum",
                                  "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp", "logaddexp2",
                                  "heaviside", "copysign"])
def test_derivative_of_two(name):
    x, y = pairs(np.float32([0.5, 1, 2, 3.5]))
    same(getattr(pnp, name), name, x, y, grad=True, traced=False, rtol=1e-4)
    if name not in ("divide", "remainder", "fmod", "power", "arctan2"):
        x, y = pairs(np.float32([0, -1, 1]))
        same(getattr(pnp, name), name, x, y, grad=True, traced=False, rtol=1e-4)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("x, y", [(INF, INF), (INF, -INF), (-INF, -INF), (-INF, 1.0), (1.0, -INF)])
def test_logarithms_of_infinite_sums(name, x, y):
    mine = pullback.grad(getattr(pnp, name), argnums=(0, 1))(x, y)
    real = jax.grad(getattr(jnp, name), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal([float(v) for v in mine], [float(v) for v in real])


def test_an_infinite_operand_takes_the_whole_derivative():
    assert [float(v) for v in pullback.grad(pnp.logaddexp, argnums=(0, 1))(INF, 1.0)] == [1, 0]


def test_sinc_is_smooth_at_zero():
    def derivatives(library, function, x):
        result = []
        for _ in range(4):
            result.append(float(function(x)))
            function = library.grad(function)
        return result

    for x in (0.0, 0.1, 0.159, 0.1592, 1.0, -2.5):
        with jax.enable_x64(True):
            exact = derivatives(jax, jnp.sinc, np.float64(x))
        np.testing.assert_allclose(derivatives(pullback, pnp.sinc, x), exact, rtol=1e-4, atol=2e-4)

    near, at = derivatives(pullback, pnp.sinc, 1e-6), derivatives(pullback, pnp.sinc, 0.0)
    np.testing.assert_allclose(near, at, atol=1e-4)
    assert np.asarray(pnp.sinc(ours(SPECIAL[-4:]))).tolist()[:3] == [0, 0, 0]


def test_i0_is_even():
    points = np.float32([0, -1, 0.3, 5])
    same(pnp.i0, "i0", points, grad=True, traced=False, rtol=1e-4)
    assert float(pullback.grad(pullback.grad(pnp.i0))(0.0)) == pytest.approx(0.5)


def test_derivatives_of_clip():
    def slopes(library, clip, x):
        slope = library.grad(lambda x, low, high: clip(x, low, high), (0, 1, 2))
        return [float(v) for v in slope(x, -1.0, 1.0)]

    for x in (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, INF):
        assert slopes(pullback, pnp.clip, x) == slopes(jax, jnp.clip, x)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 0.0, 0.5, 1.0, 2.0, -1.0])
def test_derivative_of_a_power(exponent):
    for x in (0.0, 2.0, -1.5):
        mine, real = (float(library.grad(lambda x: x ** exponent)(x)) for library in (pullback, jax))
        np.testing.assert_allclose(mine, real, rtol=1e-5)


def test_where_sends_the_derivative_to_one_side():
    def pull(library, where):
        return library.grad(lambda x: where(x > 0, x * x, -x).sum())

    close(pull(pullback, pnp.where)(ours(INSIDE)), pull(jax, jnp.where)(INSIDE), "where")


# -- single functions ---------------------------------------------------------------------------------

def test_integer_exponents_are_known():
    x = np.float32([0, 1, -2, 3])
    for exponent in (2, -1, 0, np.int32(3), np.array(2), True):
        agree("power", x, exponent)
        agree("power", np.int8([1, 2, -3]), abs(exponent))
    assert "integer_pow" in str(pullback.make_jaxpr(lambda x: x ** 2)(ours(x)))
    with pytest.raises(TypeError, match="negative"):
        pnp.power(ours(WORDS), -1)


def test_ldexp():
    x = np.float32([1, -0.75, 1e-30, 3e38, 1e-40, 0.5])
    exponents = np.int32([3, -149, 200, -250, 120, -149])
    result = pnp.ldexp(ours(x), ours(exponents))
    np.testing.assert_array_equal(np.asarray(result), np.ldexp(x, exponents))
    same(pnp.ldexp, "ldexp", np.float32([1, 3, -0.1]), np.int32([1, -3, 4]), grad=True)
    same(pnp.ldexp, "ldexp", np.float16([1, 3, -0.1]), np.int32([1, -3, 4]))
    same(pnp.ldexp, "ldexp", np.int32([1, 3, -7]), 2)
    with pytest.raises(ValueError, match=r"ldexp.*f32\[3\][\s\S]*integers"):
        pnp.ldexp(ours(INSIDE[:3]), ours(INSIDE[:3]))


def test_frexp_of_subnormal_numbers():
    x = np.float32([1e-40, -3e-42, 1e-45, 1.2e-38, 0, INF, -INF])
    mantissa, exponent = pnp.frexp(ours(x))
    expected = np.frexp(x)
    np.testing.assert_array_equal(np.asarray(mantissa), expected[0])
    np.testing.assert_array_equal(np.asarray(exponent)[:5], expected[1][:5])
    for dtype in (np.float16, BF16):
        same(pnp.frexp, "frexp", np.array([1, -3.7, 0.01, 0], dtype))
    assert float(pullback.grad(lambda x: pnp.frexp(x)[0])(6.0)) == 0.125


@pytest.mark.parametrize("x", [[1.5, -0.25, 6.5], [[1.0, 2.0], [3.0, 4.0]]])
def test_numbers_in_place_of_nan(x):
    x = np.float32(x)
    x.flat[0], x.flat[1] = NAN, INF
    same(pnp.nan_to_num, "nan_to_num", x, nan=1, posinf=2.5, neginf=3)
    same(pnp.nan_to_num, "nan_to_num", x + 1j)


def test_rounding():
    x = np.float32([0.5, 1.5, 2.5, -0.25, 123.456, 1e-3, 1e30])
    for decimals in (0, 1, 2, -1, -2):
        same(pnp.round, "round", x, decimals, traced=False)
    same(pnp.round, "round", np.float16([1.235, 3.14159, 123.456, 0.005]), 2, rtol=1e-3)
    same(pnp.round, "round", COMPLEX, 1)
    whole = np.int32([15, 25, -15, -25, 14, 16, 0, 149, 151])
    assert np.asarray(pnp.round(ours(whole), 1)).tolist() == whole.tolist()
    assert np.asarray(pnp.round(ours(whole), -1)).tolist() == np.round(whole, -1).tolist()
    assert np.asarray(pnp.round(ours(whole), -2)).tolist() == np.round(whole, -2).tolist()
    assert np.asarray(pnp.round(ours(whole), -30)).tolist() == [0] * whole.size


@pytest.mark.parametrize("limits", [(0, 1), (None, 1), (0, None), (None, None), (0.5, 2.5), (1, 0)])
@pytest.mark.parametrize("kind", ["int32", "float32", "uint8", "bool"])
def test_clip(kind, limits):
    agree("clip", VALUES[kind], *limits)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors(name):
    x, y = pairs(np.int32([0, 1, -1, 12, -18, 97, 1001]))
    same(getattr(pnp, name), name, x, y)
    same(getattr(pnp, name), name, np.uint8([12, 18]), np.uint8([8, 0]))
    agree(name, INSIDE, INSIDE)
    agree(name, 12, 18)


def test_unwrap():
    rng = np.random.default_rng(0)
    angles = rng.uniform(-20, 20, (3, 6)).astype(np.float32)
    same(pnp.unwrap, "unwrap", angles, rtol=1e-4)
    same(pnp.unwrap, "unwrap", angles, axis=0, rtol=1e-4)
    same(pnp.unwrap, "unwrap", angles, discont=5.0, rtol=1e-4)
    same(pnp.unwrap, "unwrap", angles, period=3.0, rtol=1e-4, grad=True)
    whole = np.int32([0, 3, 6, 9, 2])
    same(pnp.unwrap, "unwrap", whole, period=4)
    assert np.asarray(pnp.unwrap(ours(whole), period=5)).tolist() == np.unwrap(whole, period=5).tolist()


def test_closeness():
    x = np.float32([NAN, INF, 1, 1, -INF, 0])
    y = np.float32([NAN, INF, -INF, 1.000001, INF, 1e-9])
    for equal_nan in (False, True):
        same(pnp.isclose, "isclose", x, y, equal_nan=equal_nan)
        same(pnp.allclose, "allclose", x, x, equal_nan=equal_nan)
        same(pnp.array_equal, "array_equal", x, x, equal_nan=equal_nan)
    same(pnp.isclose, "isclose", x[2:4], y[2:4], rtol=1e-3)
    same(pnp.isclose, "isclose", COMPLEX, COMPLEX + np.complex64(1e-7))
    same(pnp.allclose, "allclose", x[2:4], 1)
    assert bool(pnp.array_equal([1, 2], (1, 2))) and not bool(pnp.array_equal([1, 2], [1, 2, 3]))
    assert bool(pnp.array_equiv(ours(np.ones((2, 3))), 1)) and not bool(pnp.array_equiv([1, 2], [1, 2, 3]))


@pytest.mark.parametrize("wide", [False, True])
def test_ints_beyond_the_dtype_compare_as_what_they_are(wide):
    with pullback.enable_x64(wide):
        x = pnp.array([0, 255], pnp.uint8)
        assert np.asarray(x == -1).tolist() == [False, False] and np.asarray(x < 300).tolist() == [True, True]
        assert np.asarray(-1 < x).tolist() == [True, True] and np.asarray(x != 300).tolist() == [True, True]
        assert np.asarray(pnp.int32(2**31 - 1) < 2**31).item() is True


def test_what_an_object_is():
    for x in (1, 1j, ours(INSIDE), ours(COMPLEX), np.float32(1), [1j]):
        assert pnp.iscomplexobj(x) == np.iscomplexobj(x) and pnp.isrealobj(x) == np.isrealobj(x)
    for x in (1, "a", np.float32(1), np.ones(()), np.ones(2), [1]):
        assert pnp.isscalar(x) == jnp.isscalar(x)
    assert pnp.isscalar(pnp.asarray(1)) and not pnp.isscalar(pnp.ones(2))


# -- choices ------------------------------------------------------------------------------------------

def test_where():
    mask = np.array([True, False, True])
    x, count = INSIDE[:3], np.int32([1, 2, 3])
    for a, b in ((x, 0), (x, count), (1, 2), (1.0, 2), (count, 2.5), (x, np.float32(7)), (np.float32(1), x)):
        same(pnp.where, "where", mask, a, b)
    same(pnp.where, "where", np.float32([0, NAN, 2]), x, 0)
    same(pnp.where, "where", mask, np.float32([[1], [2]]), x)
    same(pnp.where, "where", np.array(True), x, count)
    same(pnp.where, "where", np.array([[True], [False]]), 1, x)
    agree("where", COMPLEX, 1, 0)
    agree("where", mask, x, np.float32([1, 2, 3, 4]))
    agree("where", mask, None, x)
    agree("where", None, x, x)
    agree("where", [True], 1, 2)


def test_positions_where():
    mask = np.array([[True, False], [True, True]])
    for x in (mask, np.float32([0, 1, NAN])):
        close(pnp.where(ours(x)), jnp.where(x), "where")
    close(pnp.where(ours(mask), size=4, fill_value=7), jnp.where(mask, size=4, fill_value=7), "where")
    with pytest.raises(ValueError, match="size"):
        pnp.where(ours(mask), 1, 2, size=3)


def test_select():
    mask, x = np.array([True, False, False]), INSIDE[:3]
    other = np.array([True, True, False])
    same(pnp.select, "select", [mask, other], [x, np.int32([1, 2, 3])], 7)
    same(pnp.select, "select", [mask, other], [1, 2], 7.5)
    same(pnp.select, "select", [other, mask], [x, 1])
    same(pnp.select, "select", [np.array(False), mask], [x, 1])
    same(pnp.select, "select", [mask, np.array([[True], [False]])], [1, x], 3)
    for conditions, choices in (([mask], [x, x]), ([], [])):
        with pytest.raises(ValueError, match="conditions and"):
            pnp.select(conditions, choices)


def test_piecewise():
    count = np.int32([0, 1, 2])
    low, high = count > 0, count > 1
    for conditions, functions, more in (
            ([low, high], [1, 2], ()), ([low, high], [1.5, lambda v: v * 10, -7], ()),
            ([low], [lambda v, k: v + k], (10,)), ([low], [1, lambda v: v + 0.5], ()),
            ([np.stack([low, high])], [lambda v: v * 10, 7], ())):
        same(lambda x, f=functions, c=conditions, m=more: pnp.piecewise(x, ours(c), f, *m),
             lambda x, f=functions, c=conditions, m=more: jnp.piecewise(x, c, f, *m), count)
    with pytest.raises(ValueError, match="1 conditions and 3 functions"):
        pnp.piecewise(ours(count), [ours(low)], [1, 2, 3])


# -- economy and errors -------------------------------------------------------------------------------

@pytest.mark.parametrize("function, equations", [
    (lambda x, i: pnp.add(x, x), ["add"]), (lambda x, i: x * 2.0, ["mul"]), (lambda x, i: 1 - x, ["sub"]),
    (lambda x, i: x / 3, ["div"]), (lambda x, i: x ** 2, ["integer_pow"]), (lambda x, i: x ** 0.5, ["pow"]),
    (lambda x, i: i + 1, ["add"]), (lambda x, i: i * 2.5, ["convert_element_type", "mul"]),
    (lambda x, i: pnp.sin(x), ["sin"]), (lambda x, i: pnp.where(x > 0, x, 0), ["gt", "select_n"]),
    (lambda x, i: pnp.maximum(x, 0), ["max"]), (lambda x, i: pnp.clip(x, 0, 1), ["max", "min"]),
    (lambda x, i: pnp.logaddexp(x, x), ["logaddexp"]), (lambda x, i: pnp.isnan(x), ["ne"]),
    (lambda x, i: +x, []), (lambda x, i: pnp.real(x), []), (lambda x, i: pnp.asarray(x), []),
    (lambda x, i: x + np.float32(1), ["add"]), (lambda x, i: x + x[:1], ["slice", "reshape", "add"])])
def test_no_needless_equations(function, equations):
    jaxpr = pullback.make_jaxpr(function)(ours(INSIDE), ours(WORDS))
    assert [str(eqn.primitive) for eqn in jaxpr.eqns] == equations


@pytest.mark.parametrize("call, error, parts", [
    (lambda: pnp.add(pnp.ones(3), pnp.ones(4)), TypeError, ["add", "(3,)", "(4,)", "fix"]),
    (lambda: pnp.add(pnp.ones(3), pnp.ones(4)), ValueError, ["add", "(3,)", "(4,)"]),
    (lambda: pnp.hypot(pnp.ones((2, 3)), pnp.ones((3, 2))), ValueError, ["hypot", "(2, 3)", "(3, 2)"]),
    (lambda: pnp.sin([1.0]), TypeError, ["sin", "list", "jnp.array"]),
    (lambda: pnp.add(pnp.ones(2), "a"), TypeError, ["add", "str"]),
    (lambda: pnp.sin(np.array(["a"])), TypeError, ["<U1"]),
    (lambda: pnp.sin(None), TypeError, ["sin", "NoneType"]),
    (lambda: pnp.invert(pnp.ones(2)), TypeError, ["invert", "f32[2]"]),
    (lambda: pnp.negative(pnp.ones(2, bool)), TypeError, ["negative", "bool[2]"]),
    (lambda: pnp.subtract(pnp.ones(2, bool), True), TypeError, ["subtract", "bool"]),
    (lambda: pnp.clip(), ValueError, ["clip"]),
    (lambda: pnp.clip(pnp.ones(2) * 1j, 0, 1), ValueError, ["clip", "c64[2]"]),
    (lambda: pnp.floor(1j), TypeError, ["floor", "c64"]),
    (lambda: pnp.fabs(1j), TypeError, ["fabs", "c64"]),
    (lambda: pnp.round(pnp.ones(2, bool)), TypeError, ["round", "bool[2]"]),
    (lambda: pnp.add(pnp.ones(2, pnp.int8), 300), OverflowError, ["add", "300", "int8"]),
    (lambda: pnp.add(1, 2**40), OverflowError, ["add", str(2**40), "int32"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_keys_are_compared_and_chosen_but_not_computed_with():
    keys = pullback.random.split(pullback.random.key(0))
    assert np.asarray(keys == keys).tolist() == [True, True] and bool(keys[0] != keys[1])
    chosen = pnp.where(pnp.array([True, False]), keys, keys[0])
    assert bool((chosen == keys[0]).all()) and pnp.array([keys[0], keys[1]]).dtype == keys.dtype
    for call in (lambda: keys + 1, lambda: pnp.sin(keys), lambda: keys < keys, lambda: pnp.where(keys, 1, 2),
                 lambda: pnp.logical_not(keys), lambda: pnp.zeros_like(keys), lambda: keys.astype(int)):
        with pytest.raises(TypeError, match="key<fry>"):
            call()


def test_promotion_can_be_strict():
    with pullback.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="implicit"):
        pnp.add(pnp.ones(2, pnp.float32), pnp.ones(2, pnp.int32))
    with pullback.numpy_dtype_promotion("strict"):
        assert (pnp.ones(2, pnp.float32) * 2).dtype == np.float32


def test_rank_promotion_can_be_refused():
    with pullback.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
        pnp.add(pnp.ones((2, 3)), pnp.ones(3))
    with pullback.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank"):
        pnp.add(pnp.ones((2, 3)), pnp.ones(3))


def test_64_bits():
    with pullback.enable_x64(True):
        x = pnp.asarray([1.0, 2.0])
        assert x.dtype == np.float64 and (x * 2).dtype == np.float64 and pnp.arange(3).dtype == np.int64
        np.testing.assert_allclose(np.asarray(pnp.sinc(x + 0.1)), np.sinc(np.array([1.1, 2.1])), rtol=1e-14)
        assert np.asarray(pnp.ldexp(x, 3)).tolist() == [8, 16]
        assert pnp.frexp(x)[1].dtype == np.int32
