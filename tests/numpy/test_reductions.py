"""Reductions, running reductions, differences and quantiles, against real jax."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from tests.numpy.against_jax import close, ours, same, theirs, weak

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)
N = np.where(RNG.random((3, 4)) < 0.4, np.nan, RNG.normal(size=(3, 4))).astype(np.float32)
N[1] = np.nan
I8 = RNG.integers(-5, 6, (3, 4)).astype(np.int8)
MASK = RNG.random((2, 3, 4)) < 0.5
DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.float16, ml_dtypes.bfloat16, np.complex64]


def call(name, *args, **kwargs):
    return getattr(pullback.numpy, name)(*args, **kwargs)


def function(name):
    return lambda *args, **kwargs: call(name, *args, **kwargs)


def check(name, *args, traced=False, **kwargs):
    same(function(name), name, *args, traced=traced, **kwargs)


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "count_nonzero", "nansum", "nanprod",
              "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "amax", "amin", "minmax"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(name, dtype):
    if not hasattr(jnp, name):
        pytest.skip("not in this jax")
    x = (X[0] * 3).astype(dtype) if dtype is not np.complex64 else (X[0] + 1j * X[1]).astype(dtype)
    check(name, x, axis=1, keepdims=True, rtol=3e-3 if dtype is np.float16 else None)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes(name):
    if not hasattr(jnp, name):
        pytest.skip("not in this jax")
    for kwargs in ({}, {"axis": ()}, {"axis": (1, 2), "keepdims": True}):
        check(name, X, **kwargs)
    check(name, X, axis=(0, -1), traced=True)
    check(name, weak([1.0, 2.5]))
    check(name, 3)
    check(name, np.float32(2.5))
    if name not in ("any", "all", "count_nonzero"):
        check(name, X, axis=(0, 2), grad=True, rtol=1e-4)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "max", "min",
                                  "sum", "any", "all"])
def test_nans(name):
    for kwargs in ({}, {"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        check(name, N, **kwargs)
        if name not in ("max", "min"):  # which part of a complex NaN is NaN differs
            check(name, (N + 1j * N[::-1]).astype(np.complex64), **kwargs)
    check(name, I8, axis=1)
    if name in ("nansum", "nanprod", "nanmean", "nanvar"):
        check(name, N[[0, 2]], axis=1, grad=True, rtol=1e-4)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all", "nansum", "nanprod", "nanmean",
                                  "nanvar", "nanstd"])
def test_where(name):
    for kwargs in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}):
        check(name, X, where=MASK, **kwargs)
    check(name, X, where=MASK[0, :1], axis=0)
    check(name, X, where=MASK, traced=True)
    check(name, X, where=True)
    check(name, X, where=False)
    if name not in ("any", "all"):
        check(name, X, where=MASK, axis=1, grad=True, rtol=1e-4)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"])
def test_initial(name):
    for initial in (2, 0.5, np.float32(-3)):
        check(name, X, initial=initial)
        check(name, X, axis=1, initial=initial, where=MASK, keepdims=True)
        check(name, I8, initial=initial, axis=0)
    check(name, np.zeros((0, 3), np.float32), initial=1.5, axis=0)
    check(name, N, axis=1, initial=-1.0)
    check(name, N, axis=1, initial=0.0, where=MASK[0])


def test_empty():
    for shape in ((0,), (0, 3)):
        for name in ("sum", "prod", "mean", "var", "any", "all", "count_nonzero", "nansum", "nanmean"):
            check(name, np.zeros(shape, np.float32))
            check(name, np.zeros(shape, np.float32), axis=0)
    check("max", np.zeros((0, 3), np.float32), axis=1)


@pytest.mark.parametrize("name, kwargs", [
    ("sum", {"dtype": "float16"}), ("sum", {"dtype": "bool"}), ("sum", {"dtype": "int32"}), ("prod", {"dtype": "bool"}),
    ("sum", {"dtype": "complex64", "axis": 1}), ("mean", {"dtype": "float16"}), ("mean", {"dtype": "int32"}),
    ("mean", {"dtype": "complex64"}), ("var", {"dtype": "float16"}), ("var", {"dtype": "complex64"}),
    ("var", {"ddof": 1}), ("var", {"correction": 1.5}), ("var", {"ddof": 24}), ("var", {"mean": 0.5}),
    ("std", {"ddof": 1, "axis": (0, 1)}), ("std", {"mean": np.float32(0.25)}), ("nanvar", {"ddof": 1, "axis": 0}),
    ("nanvar", {"mean": 0.5}), ("nanstd", {"ddof": 30}), ("nanvar", {"dtype": "float16"}),
    ("sum", {"promote_integers": False}),
])
def test_arguments(name, kwargs):
    check(name, X, rtol=5e-3 if kwargs.get("dtype") == "float16" else None, **kwargs)
    if "mean" not in kwargs and name in ("sum", "prod"):
        check(name, I8, **kwargs)
        check(name, X > 0, **kwargs)


def test_complex_to_real():
    z = (X + 1j).astype(np.complex64)
    with pytest.warns(np.exceptions.ComplexWarning):
        check("sum", z, dtype="float32")
    check("var", z, axis=1, traced=True)
    check("var", z, dtype="complex64")


def test_half_precision_is_summed_in_single():
    x = np.full(3000, 0.1, np.float16)
    check("sum", x)
    check("mean", np.full(1000, 100.0, np.float16))
    check("mean", x)
    check("var", np.linspace(0, 1, 3000).astype(np.float16))
    check("cumsum", x)


def test_var_with_a_traced_ddof():
    close(pullback.jit(lambda x, d: pnp.var(x, ddof=d))(ours(X), 1), jnp.var(X, ddof=1), "ddof")


@pytest.mark.parametrize("name", ["max", "min", "amax", "ptp", "median", "prod", "cumprod", "std", "var", "cumsum"])
def test_derivatives_at_corners(name):
    """Ties share the derivative of an extreme; products have it at zeros."""
    for x in ([1, 3, 3, 2], [1, 1, 1, 1], [0, 2, 3, 4], [0, 0, 3, 4], [1, 1, 3, 3]):
        check(name, np.float32(x), grad=True)


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_positions(name):
    for x in (X, N, I8, X > 0, X.astype(np.float16), np.float32([1, 3, 3, 1]), np.float32(3.0)):
        check(name, x)
        check(name, x, keepdims=True)
        if x.ndim:
            check(name, x, axis=-1)
            check(name, x, axis=0, keepdims=True)


@pytest.mark.parametrize("shapes", [((7,), (1000, 7), ()), ((1000, 7), (), (7,)), ((7, 1000), (1000,), (1000,)),
                                    ((100, 7), (), (7,))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_extreme_is_found_where_it_is_rounded_another_way(shapes, dtype):
    """Of `x * y - z` in two loops one may round the product, the other not: the extreme then stands nowhere."""
    args = [ours(RNG.normal(size=shape).astype(dtype)) for shape in shapes]

    def f(x, y, z):
        return x * y - z

    for axis in (0, 1):
        position = pullback.jit(lambda *args, axis=axis: pnp.argmax(f(*args), axis=axis))(*args)
        assert (np.asarray(position) < np.broadcast_shapes(*shapes)[axis]).all()
        slopes = pullback.jit(pullback.grad(
            lambda *args, axis=axis: pnp.max(f(*args), axis=axis).astype(np.float32).sum(), (0, 1, 2)))(*args)
        assert all(np.isfinite(np.asarray(slope)).all() for slope in slopes)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_extreme_of_what_is_cut_off_is_found(dtype):
    x, y = (RNG.integers(1, 40, (1, 1000)) / 7).astype(dtype), dtype(15 / 7)
    args = [ours(x), ours(y), ours(np.full((7, 1), np.max(x * y), dtype))]  # of the largest the sign hangs on rounding
    for f in (lambda x, y, z: pnp.floor((x * y - z) * 64).astype(np.int32), lambda x, y, z: x * y - z > 0):
        for axis in (0, 1):
            position = pullback.jit(lambda *args, f=f, axis=axis: pnp.argmax(f(*args), axis=axis))(*args)
            assert (np.asarray(position) < (7, 1000)[axis]).all()


def test_average():
    w = np.float32([1, 2, 3])
    for args, kwargs in (((X,), {}), ((X,), {"axis": 1}), ((X,), {"weights": X + 3}), ((X,), {"axis": 1, "weights": w}),
                         ((X,), {"axis": (2, 0), "weights": np.arange(8, dtype=np.int32).reshape(4, 2)}),
                         ((X,), {"axis": (0, 1), "keepdims": True, "weights": X[:, :, 0]}), ((I8,), {}),
                         ((I8,), {"axis": 0, "weights": w}), ((X.astype(np.float16),), {"axis": 1, "weights": w})):
        rtol = 2e-3 if args[0].dtype == np.float16 else None
        kwargs = {key: value for key, value in kwargs.items()}
        check("average", *args, rtol=rtol, **kwargs)
        check("average", *args, rtol=rtol, returned=True, **kwargs)
    check("average", X, axis=1, weights=w, traced=True)
    check("average", X, axis=1, weights=w, grad=True)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running(name):
    for x in (X, I8, X > 0, X.astype(np.float16), weak([1.0, 2.5]), np.float32(3), (X + 1j).astype(np.complex64), N):
        check(name, x, traced=x is X, rtol=1e-4 if name[-4:] == "prod" else None)
    check(name, X, axis=1, grad=True, rtol=1e-4)
    check(name, X, -1, "float16", rtol=5e-3)
    check(name, X, dtype="bool")
    check(name, I8, dtype="float32", axis=0)


def test_cumulative():
    for name in ("cumulative_sum", "cumulative_prod"):
        check(name, X[0, 0])
        check(name, X, axis=1, include_initial=True)
        check(name, I8, axis=-1, include_initial=True)
        check(name, I8[0], dtype="float32")


@pytest.mark.parametrize("args, kwargs", [
    ((X,), {}), ((X, 2), {"axis": 0}), ((X, 0), {}), ((X, 9), {}), ((X > 0,), {}), ((weak([1, 4]),), {}),
    ((I8,), {"axis": 0, "prepend": 1, "append": np.zeros((2, 4), np.int8)}), ((I8,), {"prepend": 0.5}),
    ((X > 0,), {"prepend": 1}), ((np.uint8([1, 0]),), {}), ((np.zeros((0,), np.float32),), {}),
])
def test_diff(args, kwargs):
    check("diff", *args, **kwargs)


def test_ediff1d():
    for x, kwargs in ((X, {}), (I8, {"to_end": 5, "to_begin": np.int8([[7, 8]])}), (I8, {"to_end": 0.5}),
                      (np.float32(3), {}), (np.zeros((0,), np.float32), {}), (weak([1.0, 2]), {})):
        check("ediff1d", x, traced=x is X, **kwargs)


def test_gradient():
    places = np.float32([0, 1, 3, 6])
    for args, kwargs in (((X,), {}), ((X, 2), {"axis": 1}), ((X,), {"axis": (0, -1)}), ((X, 2.0, places),
                                                                                  {"axis": (0, 2)}),
                         ((I8, places), {"axis": 1}), ((I8,), {"axis": 0}), ((weak([1, 4, 2]),), {}),
                         ((X[0, 0], places), {}), ((X[0, 0].astype(np.float16), 2.0), {}), ((X,), {"axis": (1,)}),
                         ((X, np.float32(0.5)), {}), ((np.uint8([1, 9, 4]),), {}),
                         ((I8, np.float16(2)), {}), ((I8[0], places.astype(np.float16)), {"axis": 0}),
                         ((I8, weak(2.0)), {"axis": 1}), ((X > 0, 2), {"axis": 0}), ((I8, 1j), {"axis": 1})):
        check("gradient", *args, **kwargs)
    check("gradient", X, places, axis=2, traced=True)
    check("gradient", X[0, 0], places, grad=True, rtol=1e-4)


def test_trapezoid():
    places = np.float32([0, 1, 3, 6])
    for args, kwargs in (((X,), {}), ((X, places), {}), ((X, X), {}), ((X,), {"axis": 1, "dx": 2}),
                         ((I8,), {"dx": 0.5}), ((I8, I8), {"axis": 0}), ((X[:, :1],), {"axis": 1}),
                         ((X,), {"dx": np.float32([1, 2, 1])}), ((X, np.int32([0, 1, 4])), {"axis": 1}),
                         ((weak([1.0, 2]),), {})):
        check("trapezoid", *args, **kwargs)
    check("trapezoid", X.astype(np.float16), rtol=5e-3)
    check("trapezoid", X, places, traced=True)
    check("trapezoid", X, places, grad=True)


SHARES = np.float32([0, 0.25, 0.4, 0.5, 0.77, 1, 1.5, -0.5])


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantile(name, method):
    if method == "inverted_cdf" and jax.__version_info__ < (0, 11):
        pytest.skip("not in this jax")
    whole = RNG.permutation(30).reshape(5, 6).astype(np.float32)
    holes = np.where(RNG.random((5, 6)) < 0.3, np.nan, whole)
    holes[2] = np.nan
    for x in (whole, holes.astype(np.float32), whole.astype(np.int32), whole.astype(np.float16)):
        if method == "inverted_cdf" and x.dtype == np.float16:
            continue  # an error in jax
        for kwargs in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": (1, 0), "keepdims": True}):
            rtol = 2e-3 if x.dtype == np.float16 else 1e-5
            check(name, x, SHARES, method=method, rtol=rtol, **kwargs)
            check(name, x, 0.3, method=method, rtol=rtol, **kwargs)
    check(name, whole, SHARES, method=method, axis=0, traced=True)
    if method == "linear":
        check(name, whole, np.float32([0.3, np.nan]), axis=1)
    check(name, whole, np.float32([0.3, 0.6]), axis=1, method=method, grad=True, rtol=1e-4)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median(name):
    for x in (X, N, I8, X > 0, X.astype(np.float16), weak([1.0, 4.0]), np.float32([np.inf, -np.inf, 1, 2]), X[:1]):
        check(name, x)
        if not isinstance(x, weak):
            check(name, x, axis=0, traced=x is X)
            check(name, x, axis=(0,), keepdims=True)
    check(name, X, axis=1, grad=True)
    check(name, X, axis=(0, 2), grad=True)


def test_percentile():
    for name in ("percentile", "nanpercentile"):
        check(name, X, 30.0)
        check(name, N, np.float32([10, 90]), axis=1, method="lower")
        check(name, I8, 50, axis=0)


@pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="not in this jax")
def test_weighted_quantile():
    whole = RNG.permutation(30).reshape(5, 6).astype(np.float32)
    w = np.float32([1, 2, 0, 3, 1, 1])
    for q in (0.4, SHARES[:6]):
        check("quantile", whole, q, axis=1, method="inverted_cdf", weights=w)
        check("quantile", whole, q, method="inverted_cdf", weights=whole, keepdims=True)
    holes = np.where(whole % 4 == 1, np.nan, whole).astype(np.float32)
    check("nanquantile", holes, 0.5, axis=1, method="inverted_cdf", weights=w)
    check("quantile", holes, 0.5, axis=1, method="inverted_cdf", weights=w)
    check("quantile", whole, 0.5, axis=1, method="inverted_cdf", weights=w - 1)


def test_under_vmap():
    for name in ("sum", "var", "median", "argmax", "cumsum", "nanmean", "max"):
        mine = pullback.vmap(function(name))(ours(X))
        close(mine, jax.vmap(getattr(jnp, name))(X), name)
    mine = pullback.vmap(lambda x, q: pnp.quantile(x, q, axis=0))(ours(X), ours(np.float32([0.2, 0.7])))
    close(mine, jax.vmap(lambda x, q: jnp.quantile(x, q, axis=0))(X, np.float32([0.2, 0.7])), "quantile")


def test_second_order():
    def f(n):
        return lambda x: n("sum")(n("cumprod")(x)) + n("prod")(x) + n("var")(x) + n("std")(x)

    mine = pullback.hessian(f(function))(ours(X[0, 0]))
    close(mine, jax.hessian(f(lambda name: getattr(jnp, name)))(X[0, 0]), "hessian", rtol=1e-3)


def test_under_x64():
    with pullback.enable_x64(True), jax.enable_x64(True):
        for x in (X.astype(np.float64), I8, I8.astype(np.uint8), I8.astype(np.int32), X > 0, X):
            for name in ("sum", "prod", "mean", "var", "count_nonzero", "argmax", "cumsum", "median", "diff"):
                close(call(name, ours(x)), getattr(jnp, name)(theirs(x)), (name, x.dtype), rtol=2e-5)


def test_no_needless_equations():
    def count(name, x, *args, **kwargs):
        return len(pullback.make_jaxpr(lambda x: call(name, x, *args, **kwargs))(x).eqns)

    x = ours(X)
    assert count("sum", x) == count("max", x) == count("cumsum", x, 0) == count("argmax", x, 0) == 1
    assert count("sum", x, axis=1, keepdims=True) == count("mean", x, 1) == count("any", x) == 2
    assert count("sum", x, initial=2) == 2
    assert count("var", x, axis=1) <= 7
    assert count("median", x, axis=1) <= 16


ERRORS = [
    (ValueError, lambda: call("sum", ours(X), axis=3), "sum: axis 3 is out of bounds"),
    (ValueError, lambda: call("sum", ours(X), axis=(0, 0)), "twice"),
    (TypeError, lambda: call("sum", ours(X), axis=1.0), "axis is 1.0"),
    (TypeError, lambda: call("sum", [1, 2]), "sum: got a list"),
    (TypeError, lambda: call("sum", ours(X), out=ours(X)), r"sum: out is f32\[2,3,4\]"),
    (ValueError, lambda: call("sum", ours(X), where=ours(I8)), "where has dtype i8"),
    (ValueError, lambda: call("sum", ours(X), where=ours(MASK[0, 0, :3])), r"bool\[3\]"),
    (ValueError, lambda: call("sum", ours(X), initial=ours(X)), "a scalar is required"),
    (ValueError, lambda: call("max", ours(X[:0])), "has no elements"),
    (ValueError, lambda: call("min", ours(X), where=ours(MASK)), "initial is not"),
    (ValueError, lambda: call("argmax", ours(X[:0])), "no elements"),
    (TypeError, lambda: call("argmax", ours(X.astype(np.complex64))), "c64"),
    (TypeError, lambda: call("mean", ours(X), dtype=bool), "dtype is bool"),
    (ValueError, lambda: call("var", ours(X), ddof=1, correction=1), "ddof=1 and correction=1"),
    (ValueError, lambda: call("var", ours(X.astype(np.complex64)), dtype="float32"), "complex dtype is required"),
    (TypeError, lambda: call("ptp", ours(X > 0)), "bool"),
    (ValueError, lambda: call("average", ours(X), weights=ours(X[0])), "axis is given"),
    (ValueError, lambda: call("average", ours(X), 0, ours(X[0, 0])), r"weights are f32\[4\]"),
    (ValueError, lambda: call("cumsum", ours(X), axis=3), "axis 3 is out of bounds"),
    (ValueError, lambda: call("cumulative_sum", ours(X)), "name the axis"),
    (ValueError, lambda: call("cumulative_prod", 1.0), "at least one axis"),
    (ValueError, lambda: call("diff", ours(X), n=-1), "n is -1"),
    (ValueError, lambda: call("diff", 1.0), "at least one axis"),
    (ValueError, lambda: call("gradient", ours(X), edge_order=2), "edge_order is 2"),
    (TypeError, lambda: call("gradient", ours(X), 1, 2), "2 spacings for 3 axes"),
    (ValueError, lambda: call("gradient", ours(X), ours(X[0, 0]), axis=0), "a spacing is"),
    (ValueError, lambda: call("gradient", ours(X[:1])), "at least 2 is required"),
    (ValueError, lambda: call("quantile", ours(X), 0.5, method="bogus"), "method is 'bogus'"),
    (ValueError, lambda: call("quantile", ours(X), 0.5, overwrite_input=True), "immutable"),
    (ValueError, lambda: call("quantile", ours(X), ours(X)), "one axis"),
    (TypeError, lambda: call("median", ours(X.astype(np.complex64))), "real numbers"),
    (ValueError, lambda: call("median", ours(X[:0])), "no elements"),
    (ValueError, lambda: call("quantile", ours(X), 0.5, weights=ours(X)), "inverted_cdf"),
]


@pytest.mark.parametrize("kind, bad, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(kind, bad, message):
    with pytest.raises(kind, match=message) as caught:
        bad()
    assert "fix:" in str(caught.value)
