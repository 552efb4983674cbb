"""pullback.scipy.linalg against real jax: values, dtypes, derivatives, errors."""

import inspect

import jax
import jax.scipy.linalg
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback.scipy import linalg
from tests.matrices import NEW, agree, definite, draw

rng = np.random.default_rng(0)
A, B = draw(rng, 4, 4), draw(rng, 4, 2)
C, P = draw(rng, 3, 3, dtype="complex64"), definite(rng, 4)
T = draw(rng, 4, 3)


def case(name, *args, order=0, **kwargs):
    """linalg.name(*args, **kwargs), by the floats and complex numbers among args."""
    return lambda engine: lambda *xs: getattr(engine.scipy.linalg, name)(*xs, **kwargs), list(args), order


def a(*shape):
    return jnp.asarray(draw(rng, *shape))


def test_names_and_signatures():
    names = {n for n in dir(jax.scipy.linalg) if not n.startswith("_")}
    if NEW:
        assert {*linalg.__all__} == names
        for name in names:
            ours, theirs = (inspect.signature(getattr(m, name)).parameters.values() for m in (linalg, jax.scipy.linalg))
            assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs], name


def test_decompositions_and_systems():
    agree({
        "cholesky": case("cholesky", P, order=NEW), "cholesky, lower": case("cholesky", P + A, lower=True, order=NEW),
        "cho_solve": (lambda e: lambda x, b: e.scipy.linalg.cho_solve(e.scipy.linalg.cho_factor(x), b), [P, B], NEW),
        "solve": case("solve", P, B[:, 0], assume_a="pos", lower=True, order=1),
        "lu": case("lu", C), "lu, one": case("lu", T, permute_l=True),
        **{f"lu_solve {t}": (
            lambda e, t=t: lambda x, b: e.scipy.linalg.lu_solve(e.scipy.linalg.lu_factor(x), b, trans=t),
            [C, C[:, :2]], t % 2) for t in (0, 1, 2)},
        "solve_triangular": case("solve_triangular", C, C[0], trans="C", order=1),
        "solve_triangular, unit": case("solve_triangular", A, B, trans=1, lower=True, unit_diagonal=True),
        "qr": case("qr", T), "qr r": case("qr", T, mode="r"),
        "qr, pivots": case("qr", T, mode="economic", pivoting=True),
        **{f"qr_multiply {mode}": case("qr_multiply", T, draw(rng, *shape), mode=mode, pivoting=True)
           for mode, shape in (("left", (3, 2)), ("right", (2, 4)))},
        "qr_multiply, vector": case("qr_multiply", C, C[0], conjugate=True),
        "svd": (lambda e: lambda x: [abs(y) for y in e.scipy.linalg.svd(x, False, lapack_driver="gesvd")], [T], 0),
        "hessenberg": case("hessenberg", A, calc_q=True),
        "schur": case("schur", A), "schur, complex": case("schur", A, output="complex"),
        "rsf2csf": (lambda e: lambda x: e.scipy.linalg.rsf2csf(*e.scipy.linalg.schur(x)), [draw(rng, 6, 6)], 0),
        "eigh": case("eigh", A, lower=False), "eigh, values": case("eigh", C, eigvals_only=True),
        "eigh_tridiagonal": (lambda e: lambda d, f: [abs(x) for x in e.scipy.linalg.eigh_tridiagonal(
            d, f, select="i", select_range=(1, 2))], [A[0], A[1, :3]], 0),
        "eigh_tridiagonal, values": case("eigh_tridiagonal", A[0], A[1, :3], eigvals_only=True),
        "polar": case("polar", T), "polar, left": case("polar", T.T, side="left"),
        "polar svd": case("polar", C, method="svd", side="left"),
        "sylvester": case("solve_sylvester", A, C.real.copy(), draw(rng, 4, 3)),
        "sylvester, complex": case("solve_sylvester", C, C, C), "sylvester, none": case("solve_sylvester", A, -A, A),
        "sylvester, eigen": case("solve_sylvester", A, B[:2], B, method="eigen"),
    })


def test_functions():
    f = lambda x: x * x + 1  # noqa: E731
    agree({
        "expm": case("expm", A, order=1), "expm, squared": case("expm", np.stack([10 * A, 0 * A])),
        "expm, triangular": case("expm", np.triu(C), upper_triangular=True), "expm, too large": case("expm", 1e6 * A),
        "expm_frechet": case("expm_frechet", A, P), "sqrtm": case("sqrtm", A), "sqrtm of 0": case("sqrtm", 0 * A),
        "funm": case("funm", A, func=f), "funm, error": case("funm", np.eye(3, dtype="f"), func=f, disp=False),
    })
    x = jnp.asarray(C)
    np.testing.assert_allclose(linalg.sqrtm(x) @ linalg.sqrtm(x), C, atol=1e-5)
    hessian = pullback.jvp(pullback.grad(lambda x: linalg.expm(x).sum()), (a(3, 3),), (a(3, 3),))[1]
    assert np.isfinite(hessian).all()


def test_generalized_eigenvalues():
    """Real jax has none: by what they are."""
    w, v = linalg.eigh(jnp.asarray(A + A.T), jnp.asarray(P))
    np.testing.assert_allclose((A + A.T) @ v, P @ v * w, atol=1e-4)
    np.testing.assert_allclose(v.T @ P @ v, np.eye(4), atol=1e-5)


def test_special_matrices():
    def fixed(name, *args, **kwargs):
        return lambda engine: lambda: getattr(engine.scipy.linalg, name)(*args, **kwargs), [], 0

    vectors = draw(rng, 2, 4)
    agree({
        **{f"{name} {n}": fixed(name, n) for n in (0, 1, 5)
           for name in ("hilbert", "invhilbert", "pascal", "invpascal", "dft")},
        **{f"{name} {kind}": fixed(name, 4, kind) for name in ("pascal", "invpascal") for kind in ("lower", "upper")},
        "dft n": fixed("dft", 3, "n"), "dft sqrtn": fixed("dft", 3, "sqrtn"), "hadamard": fixed("hadamard", 4),
        "hadamard f": fixed("hadamard", 2, "float32"),
        "helmert": fixed("helmert", 4), "helmert full": fixed("helmert", 3, True),
        "toeplitz": case("toeplitz", C[0], order=1),
        "toeplitz, two": case("toeplitz", vectors, vectors[0, :3]),
        "hankel": case("hankel", vectors), "hankel, two": case("hankel", np.arange(3), vectors[0], order=0),
        "circulant": case("circulant", vectors), "companion": case("companion", vectors, order=1),
        "fiedler": case("fiedler", vectors), "leslie": case("leslie", vectors, vectors[:, :3]),
        **{f"fiedler_companion {n}": case("fiedler_companion", draw(rng, n)) for n in (1, 2, 3, 7)},
        **{f"convolution_matrix {mode} {n}": case("convolution_matrix", vectors, mode=mode, n=n)
           for mode in ("full", "same", "valid") for n in (2, 5)},
        "block_diag": case("block_diag", A, B[0], np.int32(3), order=0), "block_diag of nothing": case("block_diag"),
    }, rtol=1e-4)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: linalg.cholesky(a(3, 2)), ValueError, ["cholesky: got f32[3,2]", "square"]),
    (lambda: linalg.solve(a(3, 3), a(3), assume_a="x"), ValueError, ["solve: assume_a is 'x'"]),
    (lambda: linalg.solve_triangular(a(3, 3), a(2)), ValueError, ["solve_triangular: a is f32[3,3] and b is f32[2]"]),
    (lambda: linalg.solve_triangular(a(3, 3), a(3), "X"), ValueError, ["trans is 'X'"]),
    (lambda: linalg.qr(a(3, 3), mode="x"), ValueError, ["qr: mode is 'x'"]),
    (lambda: linalg.qr_multiply(a(3, 2), a(2, 2)), ValueError, ["qr_multiply: a is f32[3,2] and c is f32[2,2]"]),
    (lambda: linalg.svd(a(3, 3), lapack_driver="x"), ValueError, ["svd: lapack_driver is 'x'"]),
    (lambda: linalg.schur(a(3, 3), "x"), ValueError, ["schur: output is 'x'"]),
    (lambda: linalg.eigh(a(3, 3), type=2), NotImplementedError, ["type is 2"]),
    (lambda: linalg.eigh_tridiagonal(a(3), a(3)), ValueError, ["d is f32[3] and e is f32[3]"]),
    (lambda: linalg.eigh_tridiagonal(a(3), a(2), select="v"), NotImplementedError, ["select is 'v'"]),
    (lambda: linalg.polar(a(2, 3)), NotImplementedError, ["polar: got f32[2,3] and side 'right'", "method='svd'"]),
    (lambda: linalg.rsf2csf(a(2, 2), a(3, 3)), ValueError, ["T is f32[2,2] and Z is f32[3,3]"]),
    (lambda: linalg.solve_sylvester(a(3, 3), a(2, 2), a(2, 3)), ValueError, ["C is f32[2,3]"]),
    (lambda: linalg.sqrtm(a(2, 2), 2), NotImplementedError, ["blocksize is 2"]),
    (lambda: linalg.expm(a(2, 3)), ValueError, ["expm: got f32[2,3]"]),
    (lambda: linalg.expm_frechet(a(2, 2), a(3, 3)), ValueError, ["A is f32[2,2] and E is f32[3,3]"]),
    (lambda: linalg.block_diag(a(1, 2, 2)), ValueError, ["block_diag: array 0 is f32[1,2,2]"]),
    (lambda: linalg.convolution_matrix(a(2), 0), ValueError, ["n is 0, at least 1"]),
    (lambda: linalg.companion(a(1)), ValueError, ["companion: a is f32[1]"]),
    (lambda: linalg.leslie(a(3), a(3)), ValueError, ["f is f32[3] and s is f32[3]"]),
    (lambda: linalg.hadamard(3), ValueError, ["hadamard: n is 3, a power of 2"]),
    (lambda: linalg.helmert(0), ValueError, ["helmert: n is 0"]),
    (lambda: linalg.pascal(3, "x"), ValueError, ["pascal: kind is 'x'"]),
    (lambda: linalg.dft(3, dtype="float32"), ValueError, ["dft: dtype is f32, a complex dtype"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)
