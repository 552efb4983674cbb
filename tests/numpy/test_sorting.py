"""Sorting, searching, counting, sets and selection, against real jax."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from pullback.core.errors import ConcretizationTypeError
from tests.numpy.against_jax import close, ours, same, theirs, weak

RNG = np.random.default_rng(1)
F = np.array([3, 1, 7, 1, np.nan, 4, -0.0, 0.0, np.inf, -np.inf], np.float32)
K = np.array([3, 1, 7, 1, 2, 4, 3], np.int32)
M = RNG.integers(0, 4, (3, 4)).astype(np.int32)
T = RNG.permutation(24).reshape(2, 3, 4).astype(np.float32)
C = np.array([1 + 2j, 1 - 1j, 5j, 1 - 1j], np.complex64)
B = np.array([True, False, True, True])
N = np.array([1, np.nan, 2, np.nan, 1], np.float32)
ROWS = np.array([[3, 1], [9, 7], [3, 1], [9, 2]], np.int32)
EMPTY = np.zeros((0,), np.float32)
NEW = jax.__version_info__ >= (0, 11)


def function(name):
    return lambda *args, **kwargs: getattr(pnp, name)(*args, **kwargs)


def check(name, *args, traced=False, **kwargs):
    same(function(name), name, *args, traced=traced, **kwargs)


# -- order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sort(name):
    for x in (F, K, B, C, F.astype(np.float16), F.astype(ml_dtypes.bfloat16), K.astype(np.uint8), weak([2.0, 1.0])):
        check(name, x, traced=x is F)
        check(name, x, descending=True)
    for axis in (0, 1, -1, None):
        check(name, T, axis=axis, descending=axis == 1)
    check(name, np.float32(3), axis=None)
    check(name, EMPTY)
    if name == "sort":
        check(name, T, axis=1, grad=True)
    else:
        check(name, K, dtype="int16")


def test_sort_options():
    check("argsort", K, stable=False)
    for name in ("sort", "argsort"):
        mine = pullback.vmap(getattr(pnp, name))(ours(M))
        close(mine, jax.vmap(getattr(jnp, name))(M), name)


def test_lexsort():
    for keys in ((K, K[::-1].copy()), (M,), [K], (K, F[:7]), (M, T[0])):
        check("lexsort", keys)
    check("lexsort", M)
    check("lexsort", (M, M), axis=0)
    check("lexsort", (1, 2))


def test_partition():
    for x in (K, F, T):
        for kth in (0, 2, -2):
            got, full = np.asarray(pnp.partition(ours(x), kth)), np.sort(x)
            np.testing.assert_array_equal(got[..., kth], full[..., kth])
            np.testing.assert_array_equal(np.sort(got), full)
            assert not np.any(got[..., :kth % x.shape[-1]] > got[..., kth, None])
            places = np.asarray(pnp.argpartition(ours(x), kth))
            np.testing.assert_array_equal(np.take_along_axis(x, places, -1), got)


def test_sort_complex():
    for x in (K, C, M, F.astype(np.float32)):
        check("sort_complex", x)


@pytest.mark.skipif(not hasattr(jnp, "top_k"), reason="not in this jax")
def test_top_k():
    for x in (M, T, K.astype(np.uint8), N):
        check("top_k", x, 2, traced=x is M)
        check("top_k", x, 2, axis=0)
        if x is not N:
            check("top_k", x, 2, mode="smallest")
    values, places = pnp.top_k(ours(np.int8([-128, 127, -128])), 2, mode="smallest")
    assert values.tolist() == [-128, -128] and places.tolist() == [0, 2]
    assert pnp.top_k(ours(N), 4, mode="smallest")[1].tolist() == [0, 4, 2, 1]


# -- search -------------------------------------------------------------------------------------------

ORDERED = np.array([1, 2, 2, 3, 5, np.nan], np.float32)
WANTED = np.array([[0, 2, 2.5], [5, 9, np.nan]], np.float32)


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side, method):
    for a, v in ((ORDERED, WANTED), (np.arange(5, dtype=np.int32), np.int32([0, 4, 9, -1])), (ORDERED[:5], 2),
                 (np.int32([1, 2, 3]), 1.5), (EMPTY, WANTED), (ORDERED, EMPTY)):
        check("searchsorted", a, v, side=side, method=method, traced=True)


def test_searchsorted_more():
    check("searchsorted", ORDERED[::-1][1:].copy(), np.float32(2), sorter=np.int32([4, 3, 2, 1, 0]))
    ordered, wanted = np.sort(C), C + 0.5
    np.testing.assert_array_equal(pullback.jit(pnp.searchsorted)(ours(ordered), ours(wanted)),
                                  np.searchsorted(ordered, wanted))
    many = np.sort(RNG.normal(size=(3, 100))).astype(np.float32)
    v = RNG.normal(size=(3, 7)).astype(np.float32)
    got = pullback.vmap(pnp.searchsorted)(ours(many), ours(v))
    np.testing.assert_array_equal(got, [np.searchsorted(a, x) for a, x in zip(many, v)])
    assert pullback.grad(lambda x: pnp.searchsorted(x, 0.5) * x[0])(ours(many[0]))[0] == np.searchsorted(many[0], 0.5)


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right):
    x = np.float32([0, 1, 2, 2.5, 5])
    for bins in (np.float32([1, 2, 3]), np.float32([3, 2, 1]), EMPTY, np.int32([2]), np.float32([1, 1])):
        check("digitize", x, bins, right, traced=bins.size == 3)


# -- counts -------------------------------------------------------------------------------------------


def test_bincount():
    for x, kwargs in ((K, {}), (K, {"weights": K}), (K, {"minlength": 9}), (K, {"length": 3}), (B, {}),
                      (np.int32([-1, 2]), {}), (np.zeros(0, np.int32), {}), (K.astype(np.uint8), {}),
                      (K, {"weights": K.astype(np.float16)}), (np.int32([-1, 2, 2]), {"length": 4}),
                      (K, {"minlength": 20, "length": 4}), (K, {"weights": K * 1j, "length": 5})):
        if kwargs.get("weights") is not None and kwargs["weights"].dtype == np.complex128:
            kwargs["weights"] = kwargs["weights"].astype(np.complex64)
        check("bincount", x, traced="length" in kwargs, **kwargs)
    check("bincount", K, K.astype(np.float32), 0, length=6, grad=True)
    mine = pullback.vmap(lambda x: pnp.bincount(x, length=4))(ours(M))
    close(mine, jax.vmap(lambda x: jnp.bincount(x, length=4))(M), "vmap")


SAMPLE = np.float32([1, 2, 2, 3, 5])


@pytest.mark.parametrize("args, kwargs", [
    ((SAMPLE,), {}), ((K,), {"bins": 3}), ((SAMPLE,), {"bins": 3, "range": (0, 4)}), ((T,), {"bins": 4}),
    ((SAMPLE, np.float32([0, 2, 5])), {}), ((SAMPLE, 2), {"weights": np.arange(5, dtype=np.int32)}),
    ((SAMPLE, 2), {"density": True}), ((np.float32([2, 2]), 2), {}),
    ((SAMPLE.astype(np.float16), 2), {}),
    ((SAMPLE, 2), {"weights": np.full(5, 1.5, np.float32)}), ((K, 2), {"weights": K, "density": True}), ((B, 2), {}),
    ((F[:8], 2), {"range": (0, 5)}), ((SAMPLE, np.float32([1, 2, 2, 3])), {}), ((SAMPLE, np.int32([0, 2, 5])), {}),
])
def test_histogram(args, kwargs):
    check("histogram", *args, rtol=1e-3 if args[0].dtype == np.float16 else None, traced=args[0] is SAMPLE, **kwargs)
    if "density" not in kwargs:
        check("histogram_bin_edges", *args, **kwargs)


def test_histogram_of_nothing():
    counts, edges = pnp.histogram(ours(EMPTY), 2)
    assert counts.tolist() == [0, 0] and edges.tolist() == [0, 0.5, 1]


def test_histogram_in_more_dimensions():
    x, y = SAMPLE, SAMPLE[::-1].copy()
    edges = np.float32([0, 2, 5])
    for kwargs in ({"bins": 2}, {"bins": [2, 3], "range": [(0, 4), None]}, {"bins": edges}, {"weights": K[:5]},
                   {"bins": [edges, 2], "density": True, "weights": SAMPLE}):
        check("histogram2d", x, y, traced="range" in kwargs, **kwargs)
    points = RNG.normal(size=(40, 3)).astype(np.float32)
    check("histogramdd", points, bins=3)
    check("histogramdd", points, bins=[2, 3, 4], density=True)
    check("histogramdd", points, bins=2, range=[(0, 1), None, (-1, 1)])


# -- sets ---------------------------------------------------------------------------------------------

ALL = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("x, kwargs", [
    (K, {}), (K, ALL), (ROWS, {"axis": 0, **ALL}), (ROWS, ALL), (N, ALL), (N, {"equal_nan": False, **ALL}),
    (K, {"size": 7, **ALL}), (K, {"size": 7, "fill_value": 99, **ALL}), (K, {"size": 2, **ALL}),
    (ROWS, {"axis": 0, "size": 4, "fill_value": 5, **ALL}), (ROWS, {"axis": 0, "size": 4, **ALL}),
    (ROWS, {"axis": 1, **ALL}), (EMPTY, ALL), (EMPTY, {"size": 2, "fill_value": 3}), (weak([1, 2, 1]), {}),
    (C, ALL), (B, ALL), (np.float32(3), {"return_inverse": True}), (np.float32([0.0, -0.0, 1]), {"return_index": True}),
    (np.stack([N, N]), {"axis": 0, **ALL}), (T, {"axis": -1, **ALL}), (N, {"size": 5, **ALL}), (K, {"size": 0}),
    (ROWS, {"axis": 0, "size": 4, "fill_value": np.int32([5, 6])}), (np.zeros((0, 2), np.float32), {"axis": 0}),
    (np.zeros((3, 0), np.float32), {"axis": 0, **ALL}),
    (F.astype(np.float16), ALL),
])
def test_unique(x, kwargs):
    check("unique", x, traced="size" in kwargs and x.size > 0, **kwargs)


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_unique_of_the_array_api(name):
    for x in (ROWS, N):
        check(name, x)
        check(name, x, size=5, fill_value=0, traced=True)
    assert type(getattr(pnp, name)(ours(K)))._fields if name != "unique_values" else True


def test_unique_has_a_derivative():
    x = np.float32([3, 1, 3, 2])
    check("unique", x, size=4, grad=True)
    got = pullback.vmap(lambda row: pnp.unique(row, size=4, fill_value=-1))(ours(M))
    close(got, jax.vmap(lambda row: jnp.unique(row, size=4, fill_value=-1))(M), "vmap")


A1, A2 = np.int32([1, 2, 3, 4, 2]), np.int32([2, 9, 4, 4])


@pytest.mark.parametrize("name", ["setdiff1d", "union1d", "intersect1d", "setxor1d"])
@pytest.mark.parametrize("one, two", [(A1, A2), (A1, A2 + np.float32(0.5)), (ROWS, A2), (N, N), (A1[:0], A2),
                                      (A1, A1), (A1, A2 + 20), (A1, A2[:0])])
def test_sets(name, one, two):
    check(name, one, two)
    check(name, one, two, size=7, fill_value=-5)
    if one is A1 and two is A2:
        for kwargs in ({"size": 1}, {"size": 4}, {"size": 7}, {"size": 7, "fill_value": -5}):
            check(name, one, two, traced=True, **kwargs)


def test_sets_more():
    for kwargs in ({}, {"size": 4}, {"size": 4, "fill_value": -5}, {"size": 1}):
        check("intersect1d", A1, A2, return_indices=True, traced="size" in kwargs, **kwargs)
    check("intersect1d", ROWS, A1, return_indices=True)
    check("setdiff1d", A1[::-1].copy(), A2, assume_unique=True)
    check("setdiff1d", A1[::-1].copy(), A2, assume_unique=True, size=5, fill_value=-1, traced=True)
    check("setxor1d", A1[:4], A2[:3], assume_unique=True)


@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
def test_isin(method):
    for x, y in ((ROWS, A1), (N, N), (A1, A2[:0]), (A1[:0], A2), (A1, A2 + np.float32(0.5)), (K, np.arange(3, 99))):
        y = y.astype(np.int32) if y.dtype == np.int64 else y
        check("isin", x, y, method=method, traced=True)
        check("isin", x, y, invert=True, method=method)
    check("isin", 2, A1)


# -- selection ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere"])
def test_nonzero(name):
    for x in (ROWS - 1, B, N, EMPTY, np.zeros((0, 2), np.float32), T > 9, np.zeros(3, np.float32)):
        check(name, x)
        for size in (0, 5):
            check(name, x, size=size, traced=size == 5)
            if x.size:  # nothing is filled up in jax otherwise
                check(name, x, size=size, fill_value=-1, traced=size == 5)
    if name == "argwhere":
        check(name, 3)
        check(name, 0)
    else:
        assert name == "flatnonzero" or pnp.nonzero(ours(ROWS - 1), size=9, fill_value=(7, 8))[1].tolist()[-1] == 8
    if name != "flatnonzero":
        check(name, ROWS - 1, size=9, fill_value=(7, 8), traced=True)
    mine = pullback.vmap(lambda x: getattr(pnp, name)(x, size=2, fill_value=9))(ours(M))
    close(mine, jax.vmap(lambda x: getattr(jnp, name)(x, size=2, fill_value=9))(M), "vmap")


def test_compress():
    for args, kwargs in (((B, ROWS), {"axis": 0}), ((B, ROWS), {}), ((B[:1], ROWS), {"axis": 1}),
                         ((np.int32([2, 0, 1]), ROWS), {"axis": 0}),
                         ((np.array([True, False, False]), ROWS), {"axis": 1}),
                         ((B, ROWS), {"axis": 0, "size": 2}), ((B, ROWS), {"axis": 0, "size": 4, "fill_value": 9})):
        check("compress", *args, traced="size" in kwargs, **kwargs)
    for args, kwargs in (((B, K[:4]), {}), ((ROWS > 2, ROWS), {}), ((ROWS > 2, ROWS), {"size": 8, "fill_value": 9}),
                         ((B, N[:4]), {"size": 2})):
        check("extract", *args, traced="size" in kwargs, **kwargs)
    check("compress", B, T[0, 0], size=4, grad=True)
    assert pnp.compress(ours(B), ours(ROWS), axis=0, size=6, fill_value=9).tolist()[3:] == [[9, 9]] * 3
    assert pullback.jit(lambda c, x: pnp.extract(c, x, size=6, fill_value=9))(ours(B), ours(K[:4])).tolist() == [
        3, 7, 1, 9, 9, 9]


def test_choose():
    choices = [np.int32([0, 1, 2]), np.int32([10, 11, 12]), np.int32([20, 21, 22])]
    for a, kwargs in ((np.int32([2, 0, 1]), {}), (np.int32([2, -1, 5]), {"mode": "clip"}),
                      (np.int32([2, -1, 5]), {"mode": "wrap"}), (np.int32([[2], [0]]), {}),
                      (np.uint8([2, 0, 1]), {"mode": "wrap"}), (np.int8([-128, 127, 1]), {"mode": "clip"})):
        check("choose", a, choices, traced="mode" in kwargs, **kwargs)
        check("choose", a, np.stack(choices), **kwargs)
    check("choose", 1, [1, 2.5])
    same(lambda a, b: pnp.choose(ours(np.int32([0, 1, 0])), [a, b]),
         lambda a, b: jnp.choose(jnp.int32([0, 1, 0]), [a, b]), T[0, 0, :3], T[0, 1, :3], grad=True)


def test_under_x64():
    with pullback.enable_x64(True), jax.enable_x64(True):
        x = np.float64([3, 1, 2, 1])
        for name, args in (("sort", (x,)), ("argsort", (x,)), ("searchsorted", (np.sort(x), 2)), ("bincount", (K,)),
                           ("unique_all", (x,)), ("nonzero", (x,)), ("histogram", (x,)), ("lexsort", ((x, x),)),
                           ("intersect1d", (x, x, False, True)), ("digitize", (x, np.sort(x)))):
            close(getattr(pnp, name)(*ours(args)), getattr(jnp, name)(*theirs(args)), name)


ERRORS = [
    (ValueError, lambda: pnp.sort(3.0), "sort: axis -1 is out of bounds"),
    (ValueError, lambda: pnp.sort(ours(K), axis=3), "axis 3 is out of bounds"),
    (TypeError, lambda: pnp.sort(ours(K), kind="quicksort"), "kind is 'quicksort'"),
    (TypeError, lambda: pnp.argsort(ours(K), order="f"), "order is 'f'"),
    (TypeError, lambda: pnp.sort([1, 2]), "sort: got a list"),
    (TypeError, lambda: pnp.lexsort(()), "no keys"),
    (ValueError, lambda: pnp.lexsort((ours(K), ours(M))), r"key 0 is i32\[7\], key 1 is i32\[3,4\]"),
    (ValueError, lambda: pnp.partition(ours(K), 9), "kth is 9"),
    (TypeError, lambda: pnp.partition(ours(K), (1, 2)), "an int is required"),
    (ValueError, lambda: pnp.top_k(ours(K), 9), "k is 9"),
    (ValueError, lambda: pnp.top_k(ours(K), 2, mode="x"), "mode is 'x'"),
    (TypeError, lambda: pnp.top_k(ours(C), 1, mode="smallest"), "real numbers"),
    (ValueError, lambda: pnp.searchsorted(ours(M), 2), r"a is i32\[3,4\]"),
    (ValueError, lambda: pnp.searchsorted(ours(K), 2, side="x"), "side is 'x'"),
    (ValueError, lambda: pnp.searchsorted(ours(K), 2, method="x"), "method is 'x'"),
    (ValueError, lambda: pnp.digitize(ours(F), ours(M)), "one axis"),
    (ValueError, lambda: pnp.digitize(ours(F), ours(np.int32([1, 3, 2]))), "neither rise nor fall"),
    (TypeError, lambda: pnp.bincount(ours(F)), "x is f32"),
    (ValueError, lambda: pnp.bincount(ours(M)), "one axis"),
    (ValueError, lambda: pnp.bincount(ours(K), ours(K[:2])), r"weights are i32\[2\]"),
    (TypeError, lambda: pnp.bincount(ours(K), ours(K > 2)), "weights are bool"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.bincount)(ours(K)), "length="),
    (ValueError, lambda: pnp.histogram(ours(SAMPLE), 2, weights=ours(K)), "weights are i32"),
    (ValueError, lambda: pnp.histogram(ours(SAMPLE), 2, range=(3, 1)), "which falls"),
    (ValueError, lambda: pnp.histogram(ours(SAMPLE), 0), "bins is 0"),
    (TypeError, lambda: pnp.histogram(ours(SAMPLE), "auto"), "got a str"),
    (ValueError, lambda: pnp.histogramdd(ours(SAMPLE), 2), "points"),
    (ValueError, lambda: pnp.histogramdd(ours(T[0]), [2]), "bins has 1 entry"),
    (ValueError, lambda: pnp.histogram2d(ours(SAMPLE), ours(SAMPLE[:2])), "one size"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.unique)(ours(K)), "unique: .*\n.*\n.*size="),
    (ConcretizationTypeError, lambda: pullback.vmap(pnp.unique)(ours(M)), "size="),
    (ValueError, lambda: pnp.unique(ours(EMPTY), size=2), "fill_value"),
    (ValueError, lambda: pnp.unique(ours(K), size=-1), "size is -1"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.setdiff1d)(ours(A1), ours(A2)), "setdiff1d: .*\n.*\n.*size="),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.union1d)(ours(A1), ours(A2)), "size="),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.intersect1d)(ours(A1), ours(A2)), "size="),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.setxor1d)(ours(A1), ours(A2)), "size="),
    (ValueError, lambda: pnp.isin(ours(A1), ours(A2), method="x"), "method is 'x'"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.nonzero)(ours(B)), "nonzero: .*\n.*\n.*size="),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.argwhere)(ours(B)), "size="),
    (ValueError, lambda: pnp.nonzero(3), "at least one axis"),
    (ValueError, lambda: pnp.nonzero(ours(M), size=3, fill_value=(1, 2, 3)), "fill_value has 3"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.compress)(ours(B), ours(ROWS)), "size="),
    (ValueError, lambda: pnp.compress(ours(ROWS > 2), ours(ROWS)), "condition is bool"),
    (ValueError, lambda: pnp.compress(ours(B), ours(ROWS), axis=1), "condition holds at 3"),
    (TypeError, lambda: pnp.compress(ours(B), ours(ROWS), out=ours(ROWS)), "compress: out is"),
    (ValueError, lambda: pnp.choose(ours(np.int32([5])), [1, 2]), "the number 5"),
    (TypeError, lambda: pnp.choose(ours(F), [1, 2]), "integers are required"),
    (ValueError, lambda: pnp.choose(1, [1, 2], mode="x"), "mode is 'x'"),
    (ValueError, lambda: pnp.choose(0, []), "no choices"),
    (ConcretizationTypeError, lambda: pullback.jit(lambda a: pnp.choose(a, [1, 2]))(0), "mode='clip'"),
]


@pytest.mark.parametrize("kind, bad, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(kind, bad, message):
    with pytest.raises(kind, match=message) as caught:
        bad()
    assert "fix:" in str(caught.value)
