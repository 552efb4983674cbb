"""pullback.lax.linalg against real jax: values, derivatives, degenerate matrices, errors; LAPACK in programs."""

import inspect
import math

import jax
import jax.numpy
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback.lax import linalg
from tests.matrices import NEW, agree, compare, definite, draw
from tests.runtime.interpreter import run

rng = np.random.default_rng(0)
A, C = draw(rng, 4, 4), draw(rng, 3, 3, dtype="complex64")
P = definite(rng, 4)
NAN = math.nan


def a(*shape, dtype="float32"):
    return jnp.asarray(draw(rng, *shape, dtype=dtype))


def test_names_and_signatures():
    reference = jax.lax.linalg
    names = {n for n in dir(reference) if not n.startswith("_") and not n.endswith("_p")}
    assert {*linalg.__all__} == names
    for name in names:
        ours, theirs = getattr(linalg, name), getattr(reference, name)
        if isinstance(theirs, type):
            assert [(x.name, x.value) for x in ours] == [(x.name, x.value) for x in theirs]
        elif NEW:
            assert [(p.name, p.kind, p.default) for p in inspect.signature(ours).parameters.values()] == \
                [(p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()], name
    with pytest.raises(pullback.errors.UnsupportedError, match="lax.linalg.cholesky_p is not supported"):
        linalg.cholesky_p  # noqa: B018


def lax(call):
    return lambda engine: lambda *xs: call(engine.lax.linalg, *xs)


def test_values_and_derivatives():
    """Also of what the table of primitives cannot check: parameters of the public functions, complex vectors."""
    def parts(v, w):  # what does not depend on the phases of vectors
        return abs(v) ** 2, w

    agree({
        "cholesky of one triangle": (lax(lambda m, x: m.cholesky(x, symmetrize_input=False)), [P], 2 * NEW),
        "cholesky of any matrix": (lax(lambda m, x: m.cholesky(x)), [P + A], 1),
        "cholesky, integers": (lax(lambda m, x: m.cholesky(x)), [np.int32([[4, 2], [2, 5]])], 0),
        "eigh, complex": (lax(lambda m, x: parts(*m.eigh(x))), [definite(rng, 3, "complex64")], 1),
        "eigh of one triangle": (lax(lambda m, x: m.eigh(x, lower=False, symmetrize_input=False)), [P], 1),
        "svd, complex": (lax(lambda m, x: [abs(y) ** 2 for y in m.svd(x)]), [C], 1),
        "svd of a tall matrix": (lax(lambda m, x: m.svd(x, full_matrices=False)), [A[:, :2]], 1),
        "qr": (lax(lambda m, x: m.qr(x)), [A[:, :2]], 1),
        "qr of a wide matrix": (lax(lambda m, x: m.qr(x, full_matrices=False)), [A[:2]], 1),
        "qr with pivoting": (lax(lambda m, x: m.qr(x, pivoting=True)), [C], 0),
        "lu of a wide matrix": (lax(lambda m, x: m.lu(x)), [A[:2]], 1),
        "eig": (lax(lambda m, x: m.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)), [C], 1),
        "eigenvalues": (lax(lambda m, x: m.eig(x, compute_left_eigenvectors=False,
                                               compute_right_eigenvectors=False)), [A], 1),
        "triangular_solve, vector": (lax(lambda m, x, y: m.triangular_solve(x, y)), [P, A[0]], 1),
        "triangular_solve, stack": (lax(lambda m, x, y: m.triangular_solve(x, y, left_side=True, lower=True,
                                                                           transpose_a=True, conjugate_a=True)),
                                    [np.stack([C, C.T]) + 3 * np.eye(3, dtype="f"), C[:2]], 1),
        "tridiagonal_solve": (lax(lambda m, x, y: m.tridiagonal_solve(x, x + 4, x, y)), [A[0], A[:, :1]], 1),
        "perturbed": (lax(lambda m, x, y: m.tridiagonal_solve(x, x, x, y, perturb_singular=True)),
                      [A[0, :3] * 0, A[:3, :1]], 0),
        "symmetric_product": (lax(lambda m, x, y: m.symmetric_product(x, y, alpha=2., beta=3.,
                                                                      symmetrize_output=True)), [A[:, :2], P], 0),
        "cholesky_update": (lax(lambda m, x, y: m.cholesky_update(x, y)), [np.triu(P), A[0]], 0),
        "cholesky_update by nothing": (lax(lambda m, x, y: m.cholesky_update(x, y)), [-np.triu(P), A[0] * 0], 0),
        "qdwh": (lax(lambda m, x: m.qdwh(x)), [A[:, :3]], 0),
        "qdwh of a part": (lax(lambda m, x: m.qdwh(x, is_hermitian=True, dynamic_shape=(2, 2))[:2]), [P], 0),
        "qdwh, two steps": (lax(lambda m, x: m.qdwh(x, max_iterations=2)[2:]), [A], 0),
        "schur": (lax(lambda m, x: [*m.schur(x), *m.schur(x, compute_schur_vectors=False)]), [A], 0),
        "hessenberg": (lax(lambda m, x: m.hessenberg(x)), [A], 0),
        "tridiagonal": (lax(lambda m, x: m.tridiagonal(x, lower=False)), [P], 0),
        "ormqr": (lax(lambda m, x, y: m.ormqr(x, y, x.T, left=False, transpose=True)), [A[:, :2], A[0, :2]], 0),
    }, compiled=True)


def test_degenerate_matrices():
    """Where a derivative is not finite, or depends on what LAPACK returns, it is what jax gives."""
    eye, rank_one, tall = np.eye(3, dtype="f"), np.float32([[1, 2], [2, 4]]), np.float32([[1, 0], [0, 0], [0, 0]])
    svd = lax(lambda m, x: m.svd(x, full_matrices=False))
    agree({
        "eigh": (lax(lambda m, x: m.eigh(x)), [eye], 1),
        "eigenvalues": (lax(lambda m, x: m.eig(x, compute_left_eigenvectors=False,
                                               compute_right_eigenvectors=False)), [eye], 1),
        "svd": (svd, [eye], 1), "svd of 0": (svd, [0 * eye], 1), "svd, tall": (svd, [tall], 1),
        "svd, wide": (svd, [tall.T], 1),
        "singular values": (lax(lambda m, x: m.svd(x, compute_uv=False)), [eye], 1),
        "lu": (lax(lambda m, x: m.lu(x)), [rank_one], 1), "qr": (lax(lambda m, x: m.qr(x)), [tall[:2]], 1),
        "cholesky": (lax(lambda m, x: m.cholesky(x)), [rank_one * 0], 1),
    })


def test_failures_are_nan():
    for call in (lambda m, x: m.cholesky(-x), lambda m, x: m.eigh(x * NAN), lambda m, x: m.svd(x * NAN),
                 lambda m, x: m.eig(x * math.inf), lambda m, x: m.tridiagonal_solve(x[0] * 0, x[0] * 0, x[0] * 0, x),
                 lambda m, x: m.triangular_solve(x * 0, x, left_side=True)):
        theirs = call(jax.lax.linalg, jax.numpy.eye(2))
        compare({"": call(linalg, jnp.eye(2))}, {"": theirs}, 1e-6)
        compare({"": pullback.jit(lambda x, call=call: call(linalg, x))(jnp.eye(2))}, {"": theirs}, 1e-6)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 2), (0, 2, 2)])
def test_empty(shape):
    square = shape[-1] == shape[-2]
    for name, kwargs in [("lu", {}), ("qr", {}), ("qr", dict(full_matrices=False)),
                         ("svd", {}), ("svd", dict(full_matrices=False)), ("svd", dict(compute_uv=False)),
                         *[(name, {}) for name in ("cholesky", "eigh", "eig", "schur") if square]]:
        compare({name: getattr(linalg, name)(jnp.zeros(shape), **kwargs)},
                {name: getattr(jax.lax.linalg, name)(jax.numpy.zeros(shape), **kwargs)}, 0)
    if square:
        assert [x.shape for x in linalg.hessenberg(jnp.zeros(shape))][0] == shape


def test_results_are_factors():
    """What is unique but for signs and phases, by what it is made for; in float64, and for a subset."""
    with pullback.enable_x64(True):
        x = jnp.asarray(draw(rng, 5, 5, dtype="complex128"))
        same = lambda p, q: np.testing.assert_allclose(np.asarray(p), np.asarray(q), atol=1e-12)  # noqa: E731
        t, z = linalg.schur(x)
        same(z @ t @ z.conj().T, x)
        found, taus = linalg.hessenberg(x)
        q = jnp.eye(5).astype(x.dtype).at[1:, 1:].set(linalg.householder_product(found[1:, :4], taus))
        same(q @ jnp.triu(found, -1) @ q.conj().T, x)
        u, s, vh = linalg.svd(x[:, :3])
        same((u[:, :3] * s) @ vh, x[:, :3])
        w, vl, vr = linalg.eig(x)
        same(x @ vr, vr * w)
        same(vl.conj().T @ x, w[:, None] * vl.conj().T)
        h = x + x.conj().T
        v, w = linalg.eigh(h, subset_by_index=(1, 3))
        assert v.shape == (5, 2)
        same(h @ v, v * w)
        u, s, vh = linalg.svd(x, full_matrices=False, subset_by_index=(0, 5))
        same((u * s) @ vh, x)
        same(linalg.svd(x, compute_uv=False, subset_by_index=(1, 2)), s[1:2])
        u, h, _, converged = linalg.qdwh(x)
        assert bool(converged)
        same(u @ h, x)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: linalg.cholesky(a(3, 2)), ValueError, ["cholesky: got f32[3,2]: matrices of 3 by 2, square ones"]),
    (lambda: linalg.lu(jnp.eye(2, dtype=int)), TypeError, ["lu: got i32[2,2], a dtype of float32"]),
    (lambda: linalg.svd(a(3)), TypeError, ["svd: got f32[3], at least 2 axes"]),
    (lambda: linalg.qr(a(2, 2, dtype="float16")), TypeError, ["qr: got f16[2,2], a dtype of float32", "astype"]),
    (lambda: linalg.triangular_solve(a(3, 3), a(3, 2)), TypeError, ["b is f32[3,2]", "left_side=True"]),
    (lambda: linalg.triangular_solve(a(3, 3), a(2, 3, 3)), TypeError, ["before the last 2 and 2"]),
    (lambda: linalg.tridiagonal_solve(a(3), a(3), a(3), a(3)), TypeError, ["b is f32[3]"]),
    (lambda: linalg.tridiagonal_solve(a(2), a(3), a(3), a(3, 1)), TypeError, ["d is f32[3] and dl is f32[2]"]),
    (lambda: linalg.householder_product(a(2, 3), a(2)), ValueError, ["2 rows and 3 columns, at least as many rows"]),
    (lambda: linalg.ormqr(a(3, 2), a(2), a(2, 2)), ValueError, ["c is f32[2,2]"]),
    (lambda: linalg.lu_pivots_to_permutation(jnp.arange(3), 2), ValueError, ["permutation_size is 2", "at least 3"]),
    (lambda: linalg.lu_pivots_to_permutation(a(3), 3), TypeError, ["a dtype of int32 is required"]),
    (lambda: linalg.cholesky_update(a(3, 3), a(2)), ValueError, ["r_matrix is f32[3,3] and w_vector is f32[2]"]),
    (lambda: linalg.symmetric_product(a(3, 2), a(2, 2)), ValueError, ["a_matrix is f32[3,2]"]),
    (lambda: linalg.symmetric_product(a(2, 2, dtype="complex64"), a(2, 2)), TypeError, ["a float dtype is required"]),
    (lambda: linalg.qdwh(a(2, 3)), ValueError, ["qdwh: got f32[2,3]; one matrix with at least as many rows"]),
    (lambda: linalg.eigh(a(3, 3), subset_by_index=(2, 5)), ValueError, ["subset_by_index is (2, 5)", "0 ... 3"]),
    (lambda: linalg.svd(a(3, 3), subset_by_index=(0, 1)), ValueError, ["full_matrices and subset_by_index"]),
    (lambda: linalg.eigh(a(3, 3), implementation=linalg.EighImplementation.JACOBI), NotImplementedError, ["on CPU"]),
    (lambda: linalg.svd(a(3, 3), algorithm=linalg.SvdAlgorithm.POLAR), NotImplementedError, ["on CPU"]),
    (lambda: linalg.eig(a(3, 3), implementation=linalg.EigImplementation.MAGMA), ValueError, ["on CPU"]),
    (lambda: linalg.schur(a(3, 3), sort_eig_vals=True), NotImplementedError, ["sort_eig_vals is set"]),
    (lambda: linalg.tridiagonal(jnp.zeros((0, 0))), ValueError, ["empty matrices"]),
    (lambda: pullback.grad(lambda x: linalg.schur(x)[0].sum())(a(3, 3)), TypeError, ["schur has no derivative"]),
    (lambda: pullback.grad(lambda x: linalg.svd(x)[0].sum())(a(3, 2)), TypeError, ["full_matrices=False"]),
    (lambda: pullback.grad(lambda x: linalg.eig(x)[1].real.sum())(a(3, 3)), TypeError, ["enable_eigvec_derivs=True"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


# -- LAPACK in programs -------------------------------------------------------------------------------


def test_the_factorization_is_kept_for_derivatives():
    """One LU for value and gradient: the backward pass solves by it again."""
    for f, solves in [(lambda x: jnp.linalg.solve(x, x[0]).sum(), 4), (lambda x: jnp.linalg.slogdet(x)[1], 2)]:
        text = pullback.jit(pullback.value_and_grad(f)).lower(a(4, 4)).as_text()
        assert text.count("lapack_sgetrf_ffi") == 1 and text.count("lapack_strsm_ffi") == solves


SOLVE = """
import sys, time
import pullback, pullback.numpy as jnp
assert "scipy" not in sys.modules
f = pullback.jit(lambda a, b: jnp.linalg.solve(a, b) + pullback.lax.linalg.tridiagonal_solve(
    b, b + 4, b, b[:, None], perturb_singular=True)[:, 0] * 0)
print(*f(jnp.array([[2., 0.], [0., 4.]]), jnp.array([1., 1.])).tolist())
from pullback.runtime import cache
print(cache.statistics()["hits"])
"""


def test_a_program_from_the_disk_finds_lapack(tmp_path):
    """The executable names the routines that it calls: they are registered before it is loaded, too."""
    assert run(SOLVE, PULLBACK_CACHE=str(tmp_path), without_jax=True) == ["0.5", "0.25", "0"]
    assert run(SOLVE, PULLBACK_CACHE=str(tmp_path), without_jax=True) == ["0.5", "0.25", "1"]
