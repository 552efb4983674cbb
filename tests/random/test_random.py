"""Every distribution against real jax: bits and integers equal, floats equal to rounding; also jitted and mapped."""

import inspect

import jax
import ml_dtypes
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import random
from pullback.core.config import numpy_dtype_promotion
from pullback.core.values import value

SHAPES = [(), (3,), (2, 0), (4, 5), (3000,)]


def f32(*values):
    return np.array(values, np.float32)


def call(module, name, key, args, kwargs, convert):
    args = [convert(a) if isinstance(a, np.ndarray) else a for a in args]
    kwargs = {k: convert(a) if isinstance(a, np.ndarray) else a for k, a in kwargs.items()}
    return getattr(module, name)(key, *args, **kwargs)


def close(ours, theirs, ulps):
    """Equal types; equal integers; floats that differ by some units in the last place of the dtype."""
    assert str(ours.dtype) == str(theirs.dtype) and ours.shape == theirs.shape
    assert ours.weak_type == theirs.weak_type
    ours, theirs = ours.numpy(), np.asarray(theirs)
    if theirs.dtype.kind in "biu" or theirs.dtype.name.endswith("int4"):
        np.testing.assert_array_equal(ours.astype(np.int64), theirs.astype(np.int64))
        return
    eps = float(np.finfo(theirs.dtype).eps if theirs.dtype.kind == "c" else ml_dtypes.finfo(theirs.dtype).eps)
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(ours.astype(wide), theirs.astype(wide), rtol=ulps * eps, atol=4 * eps)


def same(name, *args, seed=3, ulps=16, **kwargs):
    theirs = call(jax.random, name, jax.random.key(seed), args, kwargs, jax.numpy.asarray)
    close(call(random, name, random.key(seed), args, kwargs, value), theirs, ulps)
    return theirs


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def wide(request):
    with jax.enable_x64(request.param), pullback.enable_x64(request.param):
        yield request.param


# -- bits and floats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits(shape, wide):
    for dtype in ("uint8", "uint16", "uint32", "uint64", None):
        if dtype != "uint64" or wide:
            same("bits", shape, dtype)


# Distributions: name, arguments before the shape, units in the last place (log1p of older XLA errs by 120).
PLAIN = [
    ("uniform", (), 0), ("normal", (), 64), ("exponential", (), 256), ("laplace", (), 256), ("logistic", (), 256),
    ("cauchy", (), 4000), ("gumbel", (), 16), ("maxwell", (), 128), ("rademacher", (), 0),
    ("truncated_normal", (-1.0, 2.0), 64), ("truncated_normal", (-1, np.float64(1.5)), 64), ("pareto", (1.5,), 64),
    ("rayleigh", (2.0,), 16), ("weibull_min", (2.0, 3.0), 64), ("weibull_min", (2, 3), 64), ("lognormal", (0.5,), 64),
    ("double_sided_maxwell", (1.0, 2.0), 128), ("triangular", (1.0, 2.0, 4.0), 16), ("wald", (2.0,), 300),
]


@pytest.mark.parametrize("name, args, ulps", PLAIN, ids=[f"{name}{args}" for name, args, _ in PLAIN])
def test_every_shape_and_dtype(name, args, ulps, wide):
    for dtype in (None, "float32") if wide else (None, "float16", "bfloat16"):
        for shape in SHAPES if dtype is None and not wide else SHAPES[-1:]:
            same(name, *args, shape, dtype, ulps=ulps)
    if name == "rademacher":
        for dtype in ("uint8", "complex64"):
            same(name, (50,), dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", complex])
def test_complex_normals(dtype, wide):
    if wide or dtype != "complex128":
        same("normal", (500,), dtype, ulps=128)
        same("lognormal", 0.5, (500,), dtype, ulps=128)


UNIFORMS = [
    ((40,), None, -2.5, 7), ((40,), None, 3, 1.0), ((40,), "bfloat16", -1, 1), ((40,), None, 0, np.inf),
    ((40,), None, -3e38, 3e38), ((2, 3), None, f32(0, 1, 2), f32([5], [7])), ((2, 3), None, f32(0, 1, 2), 9),
    ((3,), "bfloat16", f32(0, 1, 2), np.int32(5)), ((3,), "float16", np.int32(-2), f32(0, 1, 2)),
]


@pytest.mark.parametrize("args", UNIFORMS, ids=[str(i) for i in range(len(UNIFORMS))])
def test_uniform_between_bounds(args, wide):
    same("uniform", *args, ulps=4)


def test_uniform_keeps_its_lower_bound():
    for low, high in [(0.1, 0.3), (-7.7, -7.6), (1e-30, 1.0)]:
        x = random.uniform(random.key(0), (100_000,), minval=low, maxval=high).numpy()
        assert np.float32(low) <= x.min() and x.max() <= np.float32(high)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gumbel_modes(dtype):
    same("gumbel", (300,), dtype, "low")
    same("gumbel", (300,), dtype, "high", ulps=32)


PARAMETRIC = [("pareto", ()), ("rayleigh", ()), ("lognormal", ()), ("wald", ()), ("geometric", ()),
              ("truncated_normal", (9.0,)), ("triangular", (2.0, 4.0)), ("weibull_min", (2.0,)),
              ("double_sided_maxwell", (2.0,))]


@pytest.mark.parametrize("name, rest", PARAMETRIC, ids=[name for name, _ in PARAMETRIC])
@pytest.mark.parametrize("parameter", [
    1, np.float64(0.5), f32(0.5, 0.7), np.array([[0.5], [0.7]], np.float16)], ids=["int", "f64", "f32", "f16"])
def test_parameters(name, rest, parameter):
    for kwargs in ({}, {"shape": (3, 2)}, {"dtype": "int32"}, {"dtype": "float16"}):
        try:
            theirs = call(jax.random, name, jax.random.key(3), (parameter, *rest), kwargs, jax.numpy.asarray)
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError), match="fix: "):
                call(random, name, random.key(3), (parameter, *rest), kwargs, value)
        else:
            close(call(random, name, random.key(3), (parameter, *rest), kwargs, value), theirs, 300)


@pytest.mark.parametrize("lower, upper, shape, dtype", [
    (f32(1, 2), f32([3], [4], [5]), None, None), (2.0, 1.0, (3,), None), (-np.inf, np.inf, (300,), None),
    (f32(-1, -2), 0.5, (3, 2), "bfloat16")])
def test_truncated_normal(lower, upper, shape, dtype):
    same("truncated_normal", lower, upper, shape, dtype, ulps=64)


def test_truncated_normal_stays_inside():
    x = random.truncated_normal(random.key(0), -0.5, 1.0, (100_000,)).numpy()
    assert -0.5 < x.min() and x.max() < 1.0


# -- integers -------------------------------------------------------------------------------------------

INTEGERS = [None, "int8", "int16", "int32", "uint8", "uint16", "uint32", "int4", "uint4"]
BOUNDS = [(0, 10), (0, 1), (0, 256), (-5, 100), (5, 5), (7, 3), (-300, 500), (3, 2**31 - 1), (-2**31, 2**31 - 1),
          (100, 127), (0, 65536), (0, 65537), (2.0, 9)]


@pytest.mark.parametrize("dtype", INTEGERS + ["int64", "uint64"], ids=str)
def test_randint(dtype, wide):
    if dtype in ("int64", "uint64") and not wide:
        return
    for low, high in BOUNDS:
        same("randint", (300,), low, high, dtype)
        same("randint", (3,), np.array(low, np.int32), high, dtype)
        same("randint", (3,), low, np.array(high, np.int64), dtype)
    same("randint", (), 0, 10, dtype)
    same("randint", (2, 0), 0, 10, dtype)
    same("randint", (30,), np.array(200, np.uint8), np.array(300, np.int16), dtype)
    same("randint", (30,), np.array(5.5, np.float32), np.array(20.2, np.float32), dtype)


@pytest.mark.parametrize("low, high, dtype", [
    (np.int32([0, 1, 2]), np.int32([[5], [9]]), None), (np.uint8([0, 1, 2]), np.int32([[5], [9]]), "uint8"),
    (np.int32([0, 1, 2]), 7, "int16"), (-4, np.int32([0, 1, 2]), "uint32"),
    (-4, np.uint32([0, 2**31, 2**32 - 1]), "int32"),
    (np.uint32([0, 2**31, 5]), np.uint32([0, 2**31, 2**32 - 1]), "int32"),
    (np.uint32(0), np.uint32(2**32 - 1), "uint32")])
def test_randint_of_arrays_of_bounds(low, high, dtype, wide):
    same("randint", (2, 3), low, high, dtype)


def test_randint_over_all_integers():
    """A Python int past the dtype's last means that none is excluded, whether or not 64-bit types are on."""
    full = random.randint(random.key(1), (2000,), -2**31, 2**31).numpy()
    assert full.dtype == np.int32 and full.min() < -2**30 and full.max() > 2**30
    with jax.enable_x64(True), pullback.enable_x64(True):
        same("randint", (300,), -2**31, 2**31, "int32")
        same("randint", (300,), 0, 2**32, "uint32")
        same("randint", (300,), 0, 2**32)
        same("randint", (300,), -2**63, 2**63 - 1)


# -- truth values, counts, categories -------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["low", "high"])
def test_bernoulli(mode, wide):
    for shape in SHAPES[2:]:
        same("bernoulli", 0.3, shape, mode)
    same("bernoulli", np.array(0.3, ml_dtypes.bfloat16), (300,), mode)
    same("bernoulli", f32(0.1, 0.9, 0.5), None, mode)
    same("bernoulli", f32(0.1, 0.9, 0.5), (200, 3), mode)
    assert call(random, "bernoulli", random.key(0), (), {}, value).shape == ()


def test_geometric(wide):
    same("geometric", 0.3, (2000,))
    same("geometric", 1, (20,))
    same("geometric", f32(0.1, 0.9), (50, 2), "int8")


@pytest.mark.parametrize("mode", [None, "low", "high"])
@pytest.mark.parametrize("shape", [None, (3,), (5, 3), (2, 5, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_categorical(shape, mode, dtype):
    same("categorical", np.linspace(-1, 2, 12).reshape(3, 4).astype(dtype), shape=shape, mode=mode)


@pytest.mark.parametrize("logits, kwargs", [
    (f32(1, 2), {"shape": (2000,)}), (f32([1, 2, 3]), {"axis": 0}), (f32([1, 2, 3]), {"axis": -2, "shape": (4, 3)}),
    (f32([1, 2, 3]), {"shape": (4,)}), (f32([1, 2, 3]), {"shape": (4, 5)}), (np.ones((0, 3), np.float32), {}),
    (np.ones((3, 40), np.float32), {"shape": (2, 5, 3), "replace": False}),
    (np.ones((4, 2, 3), np.float32), {"axis": 1, "shape": (2, 4, 3), "replace": False}),
    (f32(1, 2, 3), {"shape": (2,), "replace": False})])
def test_categorical_along_an_axis(logits, kwargs, wide):
    same("categorical", logits, **kwargs)


# -- permutations and choices ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, 0, 1, 2, 10, 1625, 1626, 3000, np.int64(5), np.array(5)], ids=str)
def test_permutation_of_numbers(size, wide):
    same("permutation", size)


@pytest.mark.parametrize("x, kwargs", [
    (np.arange(7, dtype=np.float32), {}), (np.arange(6).reshape(2, 3), {}), (np.arange(6).reshape(2, 3), {"axis": 1}),
    (np.arange(6).reshape(2, 3), {"axis": -1, "independent": True}), (np.ones((2, 0), np.float32), {}),
    (np.ones((0, 2), np.float32), {}), (np.array([True, False, True]), {}),
    (np.arange(24).reshape(2, 3, 4), {"axis": 1}),
    (np.arange(4000, dtype=np.int32).reshape(2, 2000), {"axis": 1, "independent": True})])
def test_permutation_of_arrays(x, kwargs, wide):
    same("permutation", x, **kwargs)


def test_permutation_of_keys():
    keys = random.split(random.key(1), 5)
    moved = random.permutation(random.key(2), keys)
    order = random.permutation(random.key(2), 5).numpy()
    np.testing.assert_array_equal(random.key_data(moved).numpy(), random.key_data(keys).numpy()[order])


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_choice_from_an_array(axis, replace, wide):
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    p = np.arange(1, 1 + a.shape[axis], dtype=np.float32)
    same("choice", a, (1, 2), replace, axis=axis)
    same("choice", a, (2,), replace, p / p.sum(), axis)
    same("choice", a, (1, 2), replace, p.astype(np.int32), axis)
    same("choice", a, (2,), replace, p, axis, "high")


@pytest.mark.parametrize("replace", [True, False])
def test_choice_from_numbers(replace, wide):
    p = np.random.default_rng(0).uniform(size=1000).astype(np.float32)
    same("choice", 1000, (500,), replace)
    same("choice", 1000, (500,), replace, p)
    same("choice", 0, (0,), replace)
    same("choice", np.array(7), (3,), replace)
    same("choice", 3, (20 if replace else 1,), replace, f32(0, 0, 1))
    if replace:
        same("choice", 3, (4000,), p=f32(0.2, 0.5, 0.3))


# -- jit, vmap, derivatives -----------------------------------------------------------------------------

LOGITS = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
CALLS = [
    ("bits", ((3, 4),), {}), ("bits", ((7,), "uint8"), {}), ("split", ((2, 3),), {}), ("fold_in", (5,), {}),
    ("uniform", ((3, 4),), {}), ("uniform", ((4,), "bfloat16", -1.0, 3.0), {}), ("normal", ((3, 4),), {}),
    ("normal", ((4,), "float16"), {}), ("normal", ((4,), "complex64"), {}), ("truncated_normal", (-1.0, 2.0, (5,)), {}),
    ("exponential", ((5,),), {}), ("laplace", ((5,),), {}), ("logistic", ((5,),), {}), ("gumbel", ((5,),), {}),
    ("cauchy", ((5,),), {}), ("maxwell", ((5,),), {}), ("rademacher", ((5,),), {}), ("wald", (2.0, (5,)), {}),
    ("triangular", (1.0, 2.0, 4.0, (5,)), {}), ("randint", ((6,), -3, 10), {}), ("randint", ((6,), 0, 2**31 - 1), {}),
    ("bernoulli", (0.3, (6,)), {}), ("geometric", (0.3, (6,)), {}), ("categorical", (LOGITS,), {}),
    ("categorical", (LOGITS,), {"shape": (2, 3), "replace": False}), ("permutation", (11,), {}),
    ("permutation", (LOGITS,), {"axis": 1, "independent": True}), ("choice", (11, (4,)), {}),
    ("choice", (11, (4,), False), {}), ("choice", (4, (9,)), {"p": f32(0.1, 0.2, 0.3, 0.4)}),
]


@pytest.mark.parametrize("name, args, kwargs", CALLS, ids=[f"{name}{i}" for i, (name, _, _) in enumerate(CALLS)])
def test_jit_and_vmap_over_keys(name, args, kwargs):
    seeds = [0, 1, 2**31]
    ours, theirs = [], []
    for seed in seeds:
        expected = call(jax.random, name, jax.random.key(seed), args, kwargs, jax.numpy.asarray)
        theirs.append(jax.random.key_data(expected) if "key" in str(expected.dtype) else expected)

    def one(key):
        result = call(random, name, key, args, kwargs, value)
        return random.key_data(result) if result.type.is_key else result

    ulps = 4000 if name == "cauchy" else 300 if name == "wald" else 64
    compiled = pullback.jit(one)
    for seed, expected in zip(seeds, theirs, strict=True):
        close(compiled(random.key(seed)), expected, ulps)
    keys = jnp.stack([random.key(seed) for seed in seeds])
    stacked = jax.numpy.stack(theirs)
    for mapped in (pullback.vmap(one), pullback.jit(pullback.vmap(one))):
        close(mapped(keys), stacked, ulps)
    raw = jnp.stack([random.PRNGKey(seed) for seed in seeds])
    ours = pullback.vmap(lambda k: one(random.wrap_key_data(k)))(raw)
    close(ours, stacked, ulps)


@pytest.mark.parametrize("size", [1 << 19, 1 << 20])
def test_many_numbers(size):
    """From some size on, eager calls run one compiled program; the numbers are the same."""
    for name, args in [("uniform", ()), ("normal", ()), ("exponential", ()), ("bernoulli", (0.3,))]:
        close(call(random, name, random.key(1), (*args, (size,)), {}, value),
              call(jax.random, name, jax.random.key(1), (*args, (size,)), {}, jax.numpy.asarray), 64)
    low = random.uniform(random.key(1), (size,), minval=-2.0, maxval=3.0).numpy()
    np.testing.assert_allclose(low, jax.random.uniform(jax.random.key(1), (size,), minval=-2.0, maxval=3.0), rtol=1e-5,
                               atol=1e-6)


DERIVATIVES = [
    ("uniform", lambda r, k, a, b: r.uniform(k, (50,), minval=a, maxval=b), (-1.0, 2.0)),
    ("uniform arrays", lambda r, k, a, b: r.uniform(k, (50, 2), minval=a, maxval=b), (f32(-1, 0), f32(2, 3))),
    ("truncated_normal", lambda r, k, a, b: r.truncated_normal(k, a, b, (50,)), (-1.0, 2.0)),
    ("pareto", lambda r, k, b: r.pareto(k, b, (50,)), (1.5,)),
    ("rayleigh", lambda r, k, b: r.rayleigh(k, b, (50,)), (1.5,)),
    ("lognormal", lambda r, k, b: r.lognormal(k, b, (50,)), (0.5,)),
    ("weibull_min", lambda r, k, a, b: r.weibull_min(k, a, b, (50,)), (1.5, 2.0)),
    ("wald", lambda r, k, b: r.wald(k, b, (50,)), (1.5,)),
    ("triangular", lambda r, k, a, b, c: r.triangular(k, a, b, c, (50,)), (0.0, 1.0, 3.0)),
    ("double_sided_maxwell", lambda r, k, a, b: r.double_sided_maxwell(k, a, b, (50,)), (1.0, 2.0)),
]


@pytest.mark.parametrize("function, args", [c[1:] for c in DERIVATIVES], ids=[c[0] for c in DERIVATIVES])
def test_derivatives_in_parameters(function, args):
    argnums = tuple(range(len(args)))
    weights = np.linspace(-1, 1, 50, dtype=np.float32)

    def objective(module, key, weights):
        return lambda *args: (function(module, key, *args).T * weights).sum()

    ours = pullback.grad(objective(random, random.key(1), jnp.asarray(weights)), argnums)(*map(jnp.asarray, args))
    theirs = jax.grad(objective(jax.random, jax.random.key(1), weights), argnums)(*map(jax.numpy.asarray, args))
    for mine, real in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), np.asarray(real), rtol=2e-4, atol=2e-4)


# -- signatures and errors ------------------------------------------------------------------------------


@pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="signatures are those of jax 0.11")
@pytest.mark.parametrize("name", [n for n in random.__all__ if n != "key_dtype"])
def test_signatures_as_jax(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (random, jax.random))
    assert list(ours) == list(theirs)
    for mine, real in zip(ours.values(), theirs.values(), strict=True):
        assert mine.kind == real.kind and (mine.default == real.default or mine.default is real.default), mine


KEY = random.key(0)


@pytest.mark.parametrize("use, error, part", [
    (lambda: random.bits(KEY, (3,), "int32"), ValueError, "an unsigned integer dtype"),
    (lambda: random.uniform(KEY, (3,), "int32"), ValueError, "a float dtype is required"),
    (lambda: random.normal(KEY, (3,), "int32"), ValueError, "a float or complex dtype is required"),
    (lambda: random.randint(KEY, (3,), 0, 5, "float32"), TypeError, "an integer dtype is required"),
    (lambda: random.uniform(KEY, (3, -1)), ValueError, "shape (3, -1) has a negative size"),
    (lambda: random.uniform(KEY, (1.5,)), TypeError, "shape is (1.5,)"),
    (lambda: random.uniform(KEY, None), TypeError, "shape is None"),
    (lambda: random.uniform(KEY, (3,), minval=f32(1, 2)), ValueError, "do not broadcast"),
    (lambda: random.uniform(KEY, minval=1j), TypeError, "minval is c64[], real numbers are required"),
    (lambda: random.uniform(KEY, minval=[1.0]), TypeError, "got a list"),
    (lambda: random.randint(KEY, (), 0, 5.5), TypeError, "maxval is 5.5, a whole number is required"),
    (lambda: random.bernoulli(KEY, 1), TypeError, "probabilities of a float dtype"),
    (lambda: random.bernoulli(KEY, 0.5, mode="foo"), ValueError, "'low' or 'high' is required"),
    (lambda: random.gumbel(KEY, mode="foo"), ValueError, "'low', 'high' or None is required"),
    (lambda: random.categorical(KEY, jnp.arange(3)), TypeError, "a float dtype is required"),
    (lambda: random.categorical(KEY, 1.0), TypeError, "an array of a float dtype is required"),
    (lambda: random.categorical(KEY, jnp.ones((3, 0))), ValueError, "no category along axis 1"),
    (lambda: random.categorical(KEY, jnp.ones(3), 1), ValueError, "axis 1 is out of bounds"),
    (lambda: random.categorical(KEY, jnp.ones(3), shape=(4,), replace=False), ValueError,
     "4 draws without replacement"),
    (lambda: random.permutation(KEY, 3.0), TypeError, "an integer or an array with an axis"),
    (lambda: random.permutation(KEY, jnp.ones((2, 2)), 2), ValueError, "axis 2 is out of bounds"),
    (lambda: random.choice(KEY, 0, (2,)), ValueError, "2 draws from 0 elements"),
    (lambda: random.choice(KEY, 3.5, (2,)), TypeError, "an integer or an array with an axis"),
    (lambda: random.choice(KEY, 3, (4,), False), ValueError, "4 draws without replacement from 3 elements"),
    (lambda: random.choice(KEY, 3, (2,), p=jnp.ones(2)), ValueError, "one probability for each of 3 elements"),
    (lambda: random.pareto(KEY, f32(1, 2), dtype="float16"), ValueError, "cannot hold"),
    (lambda: random.geometric(KEY, 0.5, dtype="float32"), ValueError, "an integer dtype is required"),
])
def test_bad_arguments(use, error, part):
    with pytest.raises(error) as caught:
        use()
    for text in (part, "fix: ", "test_random.py"):
        assert text in str(caught.value), caught.value


def test_a_traced_size_names_its_source():
    with pytest.raises(pullback.errors.ConcretizationTypeError, match="depends on the argument n"):
        pullback.jit(lambda n: random.permutation(KEY, n))(3)


def test_a_name_that_is_not_there():
    with pytest.raises(pullback.errors.UnsupportedError, match="pullback.random.foo is not supported"):
        random.foo  # noqa: B018


def test_a_truncated_dtype_is_announced():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64"):
        assert random.uniform(KEY, (2,), "float64").dtype == np.float32


def test_strict_promotion_inside():
    """No function mixes dtypes by itself."""
    with numpy_dtype_promotion("strict"):
        for name, args, kwargs in CALLS:
            call(random, name, KEY, args, kwargs, value)


def test_compiled_numbers_keep_to_their_interval():
    """XLA adds 1 and a small bound at once where it can, and loses the bound."""
    for dtype, low in ((np.float32, 1e-30), (np.float32, 1e-3), (np.float16, 6e-5)):
        run = pullback.jit(lambda k, dtype=dtype, low=low: pullback.random.uniform(
            k, (1 << 20,), dtype, minval=low, maxval=1 + low).min())
        assert np.asarray(run(pullback.random.key(0))) >= np.asarray(low, dtype)
    drawn = pullback.jit(lambda k: pullback.random.gumbel(k, (10_000,), np.float16))(pullback.random.key(0))
    assert np.isfinite(np.asarray(drawn, np.float32)).all()
