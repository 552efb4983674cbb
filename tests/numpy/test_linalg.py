"""pullback.numpy.linalg against real jax: values, dtypes, derivatives, errors."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback.numpy import linalg
from tests.matrices import NEW, agree, definite
from tests.numpy.against_jax import close, ours, same, weak

INF = math.inf
rng = np.random.default_rng(0)


def draw(*shape, dtype="float32"):
    values = rng.normal(size=shape) * 3
    if dtype == "complex64":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values).astype(jnp.dtype(dtype))


def a(*shape, dtype="float32"):
    return ours(draw(*shape, dtype=dtype))


def theirs(name):
    return getattr(jnp.linalg, name)


DTYPES = ["bool", "int8", "int32", "bfloat16", "float16", "float32", "complex64"]


@pytest.mark.parametrize("shape, kwargs", [
    ((3,), {}), ((2, 3), {}), ((2, 3, 4), {}), ((), {}), ((0,), {}), ((2, 3, 4), dict(axis=1)),
    ((2, 3, 4), dict(axis=(0, 2), keepdims=True)), ((2, 3, 4), dict(axis=(-1, 0), ord=1)),
    ((2, 3, 4), dict(axis=(-1, 0), ord=INF, keepdims=True)), ((2, 3), dict(keepdims=True)),
    ((0,), dict(ord=INF)),
    *[((4,), dict(ord=ord)) for ord in (0, 1, 2, 3, 0.5, -1, INF, -INF)],
    *[((3, 4), dict(ord=ord)) for ord in ("fro", 1, -1, INF, -INF)],
    *[((3, 4), dict(axis=-1, ord=ord)) for ord in (0, 1, 3, INF)]])
def test_norm(shape, kwargs):
    same(linalg.norm, theirs("norm"), draw(*shape), grad=True, rtol=1e-4, **kwargs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_norms(dtype):
    x = draw(3, 3, dtype=dtype)
    same(linalg.norm, theirs("norm"), x, traced=False)
    same(linalg.norm, theirs("norm"), x, -1, traced=False)
    same(linalg.norm, theirs("norm"), x, 1, 0, traced=False)
    same(linalg.norm, theirs("norm"), np.abs(x), 3, 0, traced=False, rtol=2e-2 if "16" in dtype else None)
    same(linalg.matrix_norm, theirs("matrix_norm"), x, ord=INF, traced=False)
    same(linalg.vector_norm, theirs("vector_norm"), x, traced=False)
    same(linalg.norm, theirs("norm"), weak([1.0, 2.0]))


@pytest.mark.parametrize("kwargs", [
    {}, dict(axis=(0, 2)), dict(keepdims=True), dict(keepdims=True, ord=3), dict(axis=1, ord=INF),
    dict(axis=(0, 1), ord=0),
    dict(axis=(), ord=1), dict(axis=-1, ord=-INF)])
def test_vector_norm(kwargs):
    same(linalg.vector_norm, theirs("vector_norm"), draw(2, 3, 4), grad=kwargs.get("ord") != 0, rtol=1e-4,
         **kwargs)


@pytest.mark.parametrize("kwargs", [{}, dict(keepdims=True), dict(ord=1), dict(ord=-INF, keepdims=True)])
def test_matrix_norm(kwargs):
    same(linalg.matrix_norm, theirs("matrix_norm"), draw(5, 3, 4), grad=True, **kwargs)


def test_derivatives_of_norms_at_edges():
    for ord, at in [(None, [0.0, 0.0]), (1, [0.0, 0.0]), (1, [1.0, -1.0, 0.0]), (3, [0.0, 0.0]),
                    (INF, [1.0, -1.0]),
                    (0, [1.0, -1.0]), (3, [1.0, 0.0, -2.0]), (0.5, [1.0, 0.0])]:
        same(linalg.norm, theirs("norm"), np.float32(at), ord, grad=True, traced=False)


@pytest.mark.parametrize("shapes", [[(3,), (3, 2), (2,)], [(2, 3), (3, 2)], [(3,), (3,)],
                                    [(2, 3), (3, 4), (4, 5), (5, 2)],
                                    [(2, 3), (3, 4), (4,)], [(3,), (3, 4), (4, 2)]])
def test_multi_dot(shapes):
    xs = [draw(*shape) for shape in shapes]
    same(lambda *xs: linalg.multi_dot(xs), lambda *xs: jnp.linalg.multi_dot(xs), *xs, grad=True, rtol=1e-4)


def test_multi_dot_chooses_the_order():
    xs = [a(100, 2), a(2, 100), a(100, 2)]
    program = pullback.make_jaxpr(lambda *xs: linalg.multi_dot(xs))(*xs)
    assert [e.outputs[0].type.shape for e in program.eqns if e.primitive.name == "dot_general"][0] == (2, 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_matrix_power(n):
    same(linalg.matrix_power, theirs("matrix_power"), draw(2, 3, 3), n, grad=True, rtol=1e-4)
    for dtype in DTYPES:
        same(linalg.matrix_power, theirs("matrix_power"), draw(3, 3, dtype=dtype), n, traced=False, rtol=5e-2)


def test_products():
    x, y = draw(4, 3), draw(4, 3)
    same(linalg.cross, theirs("cross"), x, y, grad=True)
    same(linalg.cross, theirs("cross"), x.T, y.T, axis=0)
    same(linalg.vecdot, theirs("vecdot"), x, y, axis=0)
    same(linalg.matmul, theirs("matmul"), x, y.T, preferred_element_type="bfloat16", rtol=1e-2)
    same(linalg.tensordot, theirs("tensordot"), x, y, axes=((0, 1), (0, 1)))
    same(linalg.outer, theirs("outer"), x[0], y[:, 0])


@pytest.mark.parametrize("offset", [0, 1, -2, 9])
def test_diagonals(offset):
    x = draw(2, 3, 4)
    same(linalg.diagonal, theirs("diagonal"), x, offset=offset, grad=True)
    same(linalg.trace, theirs("trace"), x, offset=offset, grad=True)
    same(linalg.trace, theirs("trace"), x, offset=offset, dtype="int32")
    same(linalg.matrix_transpose, theirs("matrix_transpose"), x, grad=True)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: linalg.norm(a(2, 3, 4), 2), ValueError, ["norm: got f32[2,3,4] and axis None: 3 axes"]),
    (lambda: linalg.norm(a(3), "fro"), ValueError,
     ["ord is 'fro'; a number is required for the norm of vectors"]),
    (lambda: linalg.vector_norm(a(3), ord="inf"), ValueError, ["vector_norm: ord is 'inf'", "jnp.inf"]),
    (lambda: linalg.norm(a(3, 3), 3), ValueError, ["ord is 3; 'fro', 'nuc', 1, -1, 2, -2, inf or -inf is required"]),
    (lambda: linalg.norm(a(3, 3), "x"), ValueError, ["ord is 'x'"]),
    (lambda: linalg.norm(a(3, 3), axis=(0, 0)), ValueError, ["name one axis twice"]),
    (lambda: linalg.norm([1.0, 2.0]), TypeError, ["norm: got a list"]),
    (lambda: linalg.norm(a(0), -INF), ValueError, ["norm: the least magnitude of f32[0]"]),
    (lambda: linalg.matrix_norm(a(3)), ValueError, ["matrix_norm: got f32[3], at least 2 axes are required"]),
    (lambda: linalg.multi_dot([a(3)]), ValueError, ["got 1 arrays (f32[3]), at least 2 are required"]),
    (lambda: linalg.multi_dot([a(2, 3), a(2, 2)]), ValueError,
     ["contracted sizes differ: array 0 f32[2,3] axis 1 has size 3, array 1 f32[2,2] axis 0 has size 2"]),
    (lambda: linalg.multi_dot([a(2, 3), a(3, 3, 3), a(3, 3)]), ValueError, ["array 1 of", "has 3 axes"]),
    (lambda: linalg.matrix_power(a(2, 3), 2), ValueError, ["got f32[2,3]: matrices of 2 by 3, square ones"]),
    (lambda: linalg.matrix_power(a(2, 2), 2.0), TypeError, ["n is 2.0, an int is required"]),
    (lambda: linalg.matrix_power(a(2), 2), ValueError, ["got f32[2], at least 2 axes"]),
    (lambda: linalg.outer(a(2), a(2, 2)), ValueError, ["outer: rhs is f32[2,2], one axis is required"]),
    (lambda: linalg.cross(a(2), a(2)), ValueError,
     ["cross: lhs f32[2] has size 2 along axis -1, 3 is required"]),
    (lambda: linalg.diagonal(a(2)), ValueError, ["diagonal: got f32[2], at least 2 axes"]),
    (lambda: linalg.trace(a(2)), ValueError, ["axis -2 is out of bounds"]),
    (lambda: linalg.matrix_transpose(a(2)), ValueError, ["matrix_transpose: got f32[2]"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


# -- decompositions and systems -----------------------------------------------------------------------


X, B = draw(4, 4) + 4 * np.eye(4, dtype="f"), draw(4, 2)
C = draw(3, 3, dtype="complex64")
P = definite(rng, 4)
STACK = draw(2, 4, 4)


def case(name, *args, order=0, **kwargs):
    """linalg.name(*args, **kwargs), by the floats and complex numbers among args."""
    return lambda engine: lambda *xs: getattr(engine.numpy.linalg, name)(*xs, **kwargs), list(args), order


def test_decompositions_and_systems():
    agree({
        "cholesky": case("cholesky", P, upper=True), "qr": case("qr", draw(4, 2)),
        "qr complete": case("qr", draw(4, 2), mode="complete"),
        "qr r": case("qr", draw(2, 3), mode="r"), "qr raw": case("qr", C, mode="raw"),
        "eigh": case("eigh", P), "eigh U": case("eigh", X, UPLO="U", symmetrize_input=False),
        "eigvalsh": case("eigvalsh", C), "eig": case("eig", X), "eigvals": case("eigvals", X),
        "svd": case("svd", X), "svd hermitian": case("svd", P - 5 * np.eye(4, dtype="f"), hermitian=True),
        "svdvals": case("svdvals", STACK), "norm 2": case("norm", draw(3, 2, 4), ord=2, axis=(0, 2), order=1),
        "nuclear norm": case("matrix_norm", STACK, ord="nuc"), "norm -2": case("norm", X, ord=-2),
        "norm of nothing": case("norm", np.zeros((0, 0), "f"), ord=1),
        "power": case("matrix_power", X, n=-3),
        "inv": case("inv", STACK, order=1), "inv, singular": case("inv", np.ones((2, 2), "f")),
        "solve": case("solve", X, B[:, 0], order=2), "solve, stack": case("solve", STACK, B, order=1),
        "solve, vector": case("solve", C, C[0], order=1),
        "solve, stack of right sides": case("solve", X, STACK), "solve, singular": case("solve", 0 * X, B),
        "det": case("det", X, order=1), "det, complex": case("det", draw(2, 4, 4, dtype="complex64"), order=1),
        **{f"det {n}": case("det", draw(2, n, n), order=int(n > 2)) for n in (0, 1, 2, 3)},
        "slogdet": case("slogdet", STACK, order=1), "slogdet, complex": case("slogdet", C, order=1),
        "slogdet qr": case("slogdet", X, method="qr"), "slogdet, singular": case("slogdet", 0 * X),
        "pinv": case("pinv", draw(2, 3, 4), order=1), "pinv, equal values": case("pinv", np.eye(3, dtype="f"), order=1),
        "pinv, hermitian": case("pinv", P, hermitian=True, rtol=0.2, order=1),
        "pinv of nothing": case("pinv", np.zeros((2, 0), "f")),
        "lstsq": case("lstsq", draw(5, 3), draw(5), order=1),
        "lstsq, wide": case("lstsq", draw(2, 4), draw(2, 3)),
        "lstsq, rank 1": case("lstsq", np.ones((3, 2), "f"), B[:3]),
        "lstsq 0": case("lstsq", np.zeros((3, 0), "f"), B[:3]),
        "lstsq, cut": case("lstsq", X, B, rcond=0.9),
        **{f"cond {p}": case("cond", X, p=p) for p in (None, -2, 1, "fro", "nuc", INF)},
        "cond, singular": case("cond", (0 if NEW else 1) * X), "rank": case("matrix_rank", np.ones((2, 3, 3), "f")),
        "rank, tol": case("matrix_rank", P, rtol=5.0, hermitian=True), "rank, vector": case("matrix_rank", B[0]),
        "tensorinv": case("tensorinv", draw(4, 6, 8, 3), order=0),
        "tensorsolve": case("tensorsolve", draw(2, 6, 3), draw(2, 3), axes=(1,), order=1),
    })


def test_polynomials():
    def of(name, **kwargs):
        return lambda engine: lambda *xs: getattr(engine.numpy, name)(*xs, **kwargs)

    x, y = draw(6), draw(6, 2)
    agree({
        "polyfit": (lambda engine: lambda x, y: engine.numpy.polyfit(x, y, 2), [x, y[:, 0]], 1),
        "full": (lambda engine: lambda x, y: engine.numpy.polyfit(x, y, 2, full=True)[:4], [x, y], 0),
        "weights": (lambda engine: lambda x, y: engine.numpy.polyfit(x, y, 1, w=x * x, cov=True), [x, y[:, 1]], 0),
        "covariances": (lambda engine: lambda x, y: engine.numpy.polyfit(x, y, 1, cov=True), [x, y], 0),
        "unscaled": (lambda engine: lambda x, y: engine.numpy.polyfit(x, y, 1, cov="unscaled"), [x, y], 0),
        "roots": (of("roots", strip_zeros=False), [np.float32([0, 0, 1, -3, 2, 0])], 0),
        "no zeros": (of("roots", strip_zeros=False), [draw(4)], 1),
        "nothing": (of("roots", strip_zeros=False), [0 * x], 0),
        "poly": (of("poly"), [X], 0),
    })
    for p in (np.int32([0, 1, 0, -4]), np.float32([0, 0]), np.float32([0, 3])):
        same(pullback.numpy.roots, "roots", p, traced=False)
    with pytest.raises(pullback.errors.ConcretizationTypeError, match="strip_zeros=False"):
        pullback.jit(pullback.numpy.roots)(a(3))
    assert pullback.jit(pullback.numpy.roots)(pullback.numpy.ones(1)).shape == (0,)  # whatever the number is


def test_transformations_of_a_solution():
    """A batch of right sides shares one factorization; a batch of matrices is a stack."""
    x, b = ours(STACK), ours(draw(2, 3, 4))
    solve = pullback.vmap(linalg.solve, in_axes=(None, 0))
    np.testing.assert_allclose(solve(x[0], b[0]), b[0] @ np.linalg.inv(STACK[0]).T, rtol=1e-3, atol=1e-3)
    text = pullback.jit(solve).lower(x[0], b[0]).as_text()
    assert text.count("getrf") == 1

    def one(x, b):
        return (linalg.slogdet(x)[1] + linalg.det(x)) * linalg.solve(x, b).sum()

    whole = pullback.grad(lambda x, b: pullback.vmap(one)(x, b).sum())(x, b[:, 0])
    for i in range(2):
        np.testing.assert_allclose(whole[i], pullback.grad(one)(x[i], b[i, 0]), rtol=1e-4, atol=1e-4)


def test_derivative_of_a_singular_determinant():
    """The adjugate, which the real derivative is: real jax is wrong where a pivot before the last is 0."""
    for x in (np.diag([1., 2, 3, 0]), np.diag([0., 2, 3, 1]), np.diag([0., 0, 1, 1]), np.float64([[0, 1], [0, 0]])):
        n = len(x)
        minors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(n)]
                  for i in range(n)]
        np.testing.assert_allclose(pullback.grad(linalg.det)(ours(x.astype("f"))), minors, atol=1e-6)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: linalg.solve(a(2, 3, 3), a(2, 3)), ValueError,
     ["solve: a is f32[2,3,3] and b is f32[2,3]: b of 3 rows", "b[..., None]"]),
    (lambda: linalg.solve(a(3, 2), a(3)), ValueError, ["solve: got f32[3,2]: matrices of 3 by 2, square ones"]),
    (lambda: linalg.inv(a(2, 2, dtype="float16")), TypeError, ["inv: got f16[2,2], a dtype of float32"]),
    (lambda: linalg.eigh(a(2, 2), "x"), ValueError, ["eigh: UPLO is 'x'"]),
    (lambda: linalg.qr(a(2, 2), "economic"), ValueError, ["qr: mode is 'economic'"]),
    (lambda: linalg.slogdet(a(2, 2), method="x"), ValueError, ["slogdet: method is 'x'"]),
    (lambda: linalg.pinv(a(2, 2), 0.1, rcond=0.1), ValueError, ["pinv: rtol and rcond are both given"]),
    (lambda: linalg.matrix_rank(a(2, 2), 0.1, tol=0.1), ValueError, ["rtol and tol are both given"]),
    (lambda: linalg.lstsq(a(5, 3), a(4)), ValueError, ["lstsq: a is f32[5,3] and b is f32[4]: 5 rows"]),
    (lambda: linalg.lstsq(a(5, 3), a(5, 1, 1)), TypeError, ["b is f32[5,1,1], a vector or a matrix"]),
    (lambda: linalg.cond(a(3, 2), 1), ValueError, ["cond: got f32[3,2]: matrices of 3 by 2, square"]),
    (lambda: linalg.cond(a(0, 0)), ValueError, ["cond: got f32[0,0]: matrices without elements"]),
    (lambda: linalg.tensorinv(a(4, 6), 0), ValueError, ["tensorinv: ind is 0"]),
    (lambda: linalg.tensorinv(a(4, 6), 1), ValueError, ["the products 4 and 6"]),
    (lambda: linalg.tensorsolve(a(2, 3, 5), a(2, 3)), ValueError, ["a is f32[2,3,5] and b is f32[2,3]"]),
    (lambda: linalg.svd(a(2, 3), hermitian=True), ValueError, ["svd: got f32[2,3]", "square"]),
    (lambda: pullback.numpy.polyfit(a(3), a(3), -1), ValueError, ["polyfit: deg is -1"]),
    (lambda: pullback.numpy.polyfit(a(3), a(2), 1), TypeError, ["x is f32[3] and y is f32[2]"]),
    (lambda: pullback.numpy.polyfit(a(3), a(3), 2, cov=True), ValueError, ["got 3 points for 3 coefficients"]),
    (lambda: pullback.numpy.roots(a(2, 2)), ValueError, ["roots: p is f32[2,2], one axis"]),
    (lambda: pullback.numpy.poly(a(2, 3)), ValueError, ["poly: got f32[2,3]", "square"]),
    (lambda: linalg.nothing, pullback.errors.UnsupportedError, ["pullback.numpy.linalg.nothing is not supported"]),
])
def test_errors_of_decompositions(call, error, parts):
    test_errors(call, error, parts)


def test_names_and_weak_types():
    assert {*linalg.__all__} == {n for n in dir(jnp.linalg) if not n.startswith("_")}
    close(linalg.vector_norm(2.0), jnp.linalg.vector_norm(2.0), "scalar")


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_compiled_without_elements(shape):
    x = np.zeros(shape, np.float32)
    for name in ("inv", "det", "cholesky", "eigvalsh"):
        wanted = jax.jit(getattr(jax.numpy.linalg, name))(x)
        assert pullback.jit(getattr(pullback.numpy.linalg, name))(x).shape == wanted.shape, name
    assert pullback.jit(pullback.numpy.linalg.solve)(x, x).shape == shape


def test_ranks_are_of_the_default_integer():
    for wide, wanted in ((False, "int32"), (True, "int64")):
        with pullback.enable_x64(wide):
            x = pullback.numpy.ones((3, 2))
            assert pullback.numpy.linalg.matrix_rank(x).dtype == pullback.numpy.linalg.matrix_rank(x[0]).dtype == wanted
            assert pullback.numpy.linalg.lstsq(x, x[:, 0])[2].dtype == wanted


@pytest.mark.parametrize("wrap", [lambda f: f, pullback.jit], ids=["eager", "jit"])
def test_derivatives_of_determinants_by_cofactors(wrap):
    """Of singular matrices too: of rank n - 1 the cofactors, below that zeros."""
    shift, rng = np.eye(4, k=1), np.random.default_rng(0)
    matrices = np.float32([shift, 3 * shift[:, [1, 0, 2, 3]], np.diag([1, 0, 0, 2]), np.diag([1, 0, 3, 2]),
                           np.ones((4, 4)), np.zeros((4, 4)), rng.normal(size=(4, 4)),
                           np.kron(np.eye(2), [[0, 1], [0, 0]])])
    places = range(4)
    wanted = [[[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m.astype(float), i, 0), j, 1)) for j in places]
               for i in places] for m in matrices]
    slope = wrap(pullback.grad(linalg.det))
    np.testing.assert_allclose([slope(m) for m in matrices], wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(wrap(pullback.vmap(pullback.grad(linalg.det)))(matrices), wanted, rtol=1e-5, atol=1e-5)
    assert not np.any(slope(matrices[2])) and not np.any(slope(matrices[7]))


def by_rows(x, order):
    """Derivatives of det, which is linear in each row: those by several elements of one row are zero."""
    n = len(x)
    out = np.zeros((n, n) * order)
    for places in np.ndindex(*out.shape):
        rows = places[::2]
        if len(set(rows)) == order:
            y = x.copy()
            y[list(rows)] = np.eye(n)[list(places[1::2])]
            out[places] = np.linalg.det(y)
    return out


SINGULAR = {
    "rank 3": np.diag([1., 2, 3, 0]), "first pivot": np.diag([0., 2, 3, 1]), "shifted": np.eye(4, k=1),
    "rank 2": np.diag([1., 0, 0, 2]), "rank 1": np.ones((4, 4)), "zero": np.zeros((4, 4)),
    "rounding": np.arange(16.).reshape(4, 4) ** 2 @ np.diag([1, 1, 0.5, 0.25]) @ np.ones((4, 4)) / 100,
    "nearly": np.diag([1, 2, 1e-9, 3]), "regular": np.float64([[1, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0], [1, 1, 0, 2]]),
}


@pytest.mark.parametrize("wrap", [lambda f: f, pullback.jit], ids=["eager", "jit"])
def test_second_derivatives_of_singular_determinants(wrap):
    matrices = np.float32([*SINGULAR.values()])
    wanted = np.array([by_rows(m.astype(float), 2) for m in matrices])
    both = {"forward": pullback.hessian(linalg.det), "reverse": pullback.jacrev(pullback.jacrev(linalg.det))}
    for way, hessian in both.items():
        for name, m, expected in zip(SINGULAR, matrices, wanted):
            np.testing.assert_allclose(wrap(hessian)(m), expected, rtol=1e-4, atol=1e-4, err_msg=f"{way}: {name}")
        np.testing.assert_allclose(wrap(pullback.vmap(hessian))(matrices), wanted, rtol=1e-4, atol=1e-4, err_msg=way)


def test_second_derivative_of_a_complex_singular_determinant():
    x, y = draw(4, 3, dtype="complex64") @ draw(3, 4, dtype="complex64"), draw(4, 4, dtype="complex64")

    def slope(s):
        return pullback.jvp(lambda t: linalg.det(x + t * y), (s,), (np.complex64(1),))[1]
    found = pullback.jvp(slope, (np.complex64(0),), (np.complex64(1),))[1]
    # det(x + t y) is a polynomial in t, whose coefficients follow from its values at roots of unity.
    roots = np.exp(2j * np.pi * np.arange(5) / 5)
    values = [np.linalg.det(x.astype(complex) + t * y.astype(complex)) for t in roots]
    np.testing.assert_allclose(found, 2 * np.mean(values * roots ** -2), rtol=1e-4)


def test_third_derivative_of_a_singular_determinant():
    """Where the singular values differ."""
    x = SINGULAR["rank 3"]
    third = pullback.jacfwd(pullback.jacfwd(pullback.jacfwd(linalg.det)))(ours(x.astype("f")))
    np.testing.assert_allclose(third, by_rows(x, 3), atol=1e-4)
