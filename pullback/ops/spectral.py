"""Eigenvalues and singular values, and the forms that they are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import Example, Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.core.vector import instantiate
from pullback.ops import elementwise, lapack, matrix
from pullback.ops.convert import convert_element_type
from pullback.ops.elementwise import add, div, mul, neg, number, select_n, sub
from pullback.ops.factor import lu
from pullback.ops.lapack import OfStacks, Stacked, call, done, draw, info_type, positive, routine
from pullback.ops.move import broadcast_in_dim, iota
from pullback.ops.reduce import argmax, reduce_max, reduce_sum
from pullback.ops.solve import solve_factored


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _real(x: ArrayType) -> ArrayType:
    return x.with_dtype(dtypes.to_real(x.dtype), x.weak)


def _need_finite(x: np.ndarray) -> None:
    """LAPACK may loop for ever on NaN: its results are NaN then."""
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError


def _inverse_gaps(w: Any, like: Any) -> Any:
    """1 / (w[j] - w[i]) at [i, j], 0 on the diagonal; infinite where values coincide."""
    return _inverted(sub(matrix.as_rows(w, like), matrix.as_columns(w, like)))


def _inverted(gaps: Any) -> Any:
    one = number(gaps, 1)
    return matrix.on_diagonal(div(broadcast_in_dim(one, shape=matrix.shape_of(gaps), dims=()),
                                  matrix.on_diagonal(gaps, one)), number(gaps, 0))


# -- of Hermitian matrices ----------------------------------------------------------------------------


class HermitianEigen(Stacked):
    """(eigenvectors as columns, eigenvalues in ascending order) of a triangle of x, or of (x + x^H) / 2.

    Derivative (Giles, 2008): of the values the diagonal of v^H dx v, of the vectors v (F * v^H dx v) with
    F[i, j] = 1 / (w[j] - w[i]). Where eigenvalues coincide, that of the vectors is NaN; that of the values is the
    diagonal all the same. Without `symmetrize`, dx is taken to be Hermitian.
    """

    def type(self, x: ArrayType, *, lower: bool, symmetrize: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        return [x, _real(x).with_shape(x.shape[:-1])]

    def one(self, x: np.ndarray, *, lower: bool, symmetrize: bool) -> Sequence[Any]:  # type: ignore[override]
        import scipy.linalg
        _need_finite(x)
        x = (x + x.conj().T) / 2 if symmetrize else x
        w, v = scipy.linalg.eigh(x, lower=lower, driver="evd", check_finite=False)
        return [v, w]

    def hlo(self, b: Any, x: Any, *, lower: bool, symmetrize: bool) -> Outputs:  # type: ignore[override]
        vectors, values = [t.strong() for t in b.outputs]
        if symmetrize:
            x = lapack.hermitian(b, x)
        v, w, info = call(b, "syevd heevd", [x], [vectors, values, info_type(x.type)], x.type.ndim - 2, {0: 0},
                          mode="V", uplo="L" if lower else "U")
        return lapack.succeeded(b, info, [v, w])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool, symmetrize: bool
            ) -> tuple[Outputs, Outputs]:
        v, w = self(*primals, lower=lower, symmetrize=symmetrize)
        x_dot = matrix.symmetric(tangents[0]) if symmetrize else tangents[0]
        inner = matrix.chain(matrix.adjoint(v), x_dot, v)
        v_dot = matrix.matmul(v, mul(_inverse_gaps(w, inner), inner))
        return [v, w], [v_dot, matrix.real_part(matrix.diagonal(inner))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(positive(rng, 4), lower=True, symmetrize=True)
        yield Example(draw(rng, 2, 3, 3), lower=False, symmetrize=True)
        yield Example(draw(rng, 3, 3), lower=False, symmetrize=False, order=0)
        yield Example(np.float32([[7]]), lower=True, symmetrize=True)
        # Complex vectors are unique but for a phase, and vectors of equal values not at all.
        yield Example(positive(rng, 3, dtype=np.complex64), lower=True, symmetrize=True, order=0)
        yield Example(np.full((2, 2), np.nan, np.float32), lower=True, symmetrize=True, order=0)
        yield Example(np.zeros((0, 2, 2), np.float32), lower=True, symmetrize=False, order=0)

    def oracle(self, jax: Any, x: Any, *, lower: bool, symmetrize: bool) -> Any:
        return jax.lax.linalg.eigh(x, lower=lower, symmetrize_input=symmetrize)


class Tridiagonal(Stacked):
    """x = Q T Q^H with real tridiagonal T: (Q as reflections, diagonal of T, the one beside it, their factors)."""

    def type(self, x: ArrayType, *, lower: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        *stack, n = x.shape[:-1]
        beside = (*stack, max(n - 1, 0))
        return [x, _real(x).with_shape((*stack, n)), _real(x).with_shape(beside), x.with_shape(beside)]

    def one(self, x: np.ndarray, *, lower: bool) -> Sequence[Any]:  # type: ignore[override]
        found, d, e, taus, info = routine("hetrd" if x.dtype.kind == "c" else "sytrd", x)(x, lower=lower)
        done(info)
        return [found, d, e, taus]

    def hlo(self, b: Any, x: Any, *, lower: bool) -> Outputs:  # type: ignore[override]
        types = [t.strong() for t in b.outputs]
        *results, info = call(b, "sytrd hetrd", [x], [*types, info_type(x.type)], x.type.ndim - 2, {0: 0},
                              uplo="L" if lower else "U")
        return lapack.succeeded(b, info, results)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(positive(rng, 2, 4), lower=True, order=0)
        yield Example(positive(rng, 3), lower=False, order=0)
        yield Example(positive(rng, 3, dtype=np.complex64), lower=True, order=0)
        yield Example(np.float32([[7]]), lower=True, order=0)

    def oracle(self, jax: Any, x: Any, *, lower: bool) -> Any:
        return jax.lax.linalg.tridiagonal(x, lower=lower)


eigh = HermitianEigen("eigh")
tridiagonal = Tridiagonal("tridiagonal")

# -- of square matrices -------------------------------------------------------------------------------


class Eigen(Stacked):
    """Eigenvalues, then left and right eigenvectors as columns where they are asked for; all complex.

    Vectors have length 1 and a real largest component. Derivative: of the values the diagonal of v^-1 dx v; not
    finite where they coincide. Of the vectors only with `derivatives`, and then of the vectors with this length and
    phase (Boeddeker et al., On the computation of complex-valued gradients, 2017).
    """

    def type(self, x: ArrayType, *, left: bool, right: bool, derivatives: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        vectors = x.with_dtype(_complex(x.dtype), x.weak)
        return [vectors.with_shape(x.shape[:-1]), *[vectors] * (left + right)]

    def one(self, x: np.ndarray, *, left: bool, right: bool, derivatives: bool) -> Sequence[Any]:  # type: ignore[override]
        import scipy.linalg
        _need_finite(x)
        results = scipy.linalg.eig(x, left=left, right=right, check_finite=False)
        return results if left or right else [results]

    def hlo(self, b: Any, x: Any, *, left: bool, right: bool, derivatives: bool) -> Outputs:  # type: ignore[override]
        values, real = b.outputs[0].strong(), _real(x.type).strong().with_shape(x.type.shape[:-1])
        vectors = x.type.strong().with_dtype(values.dtype)
        split = not dtypes.is_complex(x.type.dtype)
        out_types = [*([real, real] if split else [values]), vectors, vectors, info_type(x.type)]
        *parts, vl, vr, info = call(b, "geev", [x], out_types, x.type.ndim - 2,
                                    compute_left="V" if left else "N", compute_right="V" if right else "N")
        w = b.op("stablehlo.complex", parts, values) if split else parts[0]
        return lapack.succeeded(b, info, [w, *[vl] * left, *[vr] * right])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, left: bool, right: bool, derivatives: bool
            ) -> tuple[Outputs, Outputs]:
        if (left or right) and not derivatives:
            raise self.missing("derivative of eigenvectors: it is one of many, for their lengths and phases are free",
                               "use eigvals for that of the eigenvalues, or lax.linalg.eig(x, enable_eigvec_derivs="
                               "True) where neither length nor phase of the vectors matters, or eigh")
        # The derivative of the values is that for any phase of the vectors, so these may have theirs.
        w, *vectors = bind(self, primals, dict(left=left, right=True, derivatives=True))
        x_dot = convert_element_type(tangents[0], dtype=type_of(w).dtype)
        inner = _solved(vectors[-1], matrix.matmul(x_dot, vectors[-1]))
        outputs, dots = [w], [matrix.diagonal(inner)]
        if left:
            v = vectors[0]
            from_left = _solved(v, matrix.matmul(matrix.adjoint(x_dot), v))
            outputs.append(v)
            dots.append(_turned(v, mul(_inverse_gaps(elementwise.conj(w), from_left), from_left)))
        if right:
            outputs.append(vectors[-1])
            dots.append(_turned(vectors[-1], mul(_inverse_gaps(w, inner), inner)))
        return outputs, dots

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for dtype in (np.float32, np.complex64):
            yield Example(draw(rng, 3, 3, dtype=dtype), left=False, right=False, derivatives=False)
            yield Example(draw(rng, 2, 3, 3, dtype=dtype), left=True, right=True, derivatives=True, order=1, rtol=1e-4)
        yield Example(np.diag(np.float32([1, 2, 4])) + draw(rng, 3, 3) / 10, left=True, right=True, derivatives=True)
        yield Example(draw(rng, 3, 3), left=False, right=True, derivatives=False, order=0)
        yield Example(np.float32([[[7]], [[np.nan]]]), left=True, right=False, derivatives=False, order=0)

    def oracle(self, jax: Any, x: Any, *, left: bool, right: bool, derivatives: bool) -> Any:
        return jax.lax.linalg.eig(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right)


def _solved(a: Any, b: Any) -> Any:
    factors, _, permutation = lu(a)
    return solve_factored(a, factors, permutation, b, transpose=False, conjugate=False)


def _turned(v: Any, mixed: Any) -> Any:
    """The change v `mixed` of vectors v, without what changes lengths and the phases of largest components."""
    v_dot = matrix.matmul(v, mixed)
    axis = type_of(v).ndim - 2
    along = reduce_sum(elementwise.real(mul(elementwise.conj(v), v_dot)), axes=(axis,))
    v_dot = sub(v_dot, mul(v, matrix.as_rows(along, v)))
    size = elementwise.abs(v)
    largest = broadcast_in_dim(argmax(size, axis=axis, dtype=dtypes.int32), shape=matrix.shape_of(v),
                               dims=(*range(axis), axis + 1))
    there = elementwise.eq(largest, iota(shape=matrix.shape_of(v), dtype=dtypes.int32, axis=axis))
    part = elementwise.complex(number(size, 0), div(elementwise.imag(v_dot), elementwise.real(v)))
    turn = reduce_sum(select_n(there, number(part, 0), part), axes=(axis,))
    return sub(v_dot, mul(v, matrix.as_rows(turn, v)))


class Schur(Stacked):
    """x = Z T Z^H: T upper triangular, or real with blocks of 2 by 2 where eigenvalues are complex; and Z if asked for.

    No derivative.
    """

    def type(self, x: ArrayType, *, vectors: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        return [x] * (1 + vectors)

    def one(self, x: np.ndarray, *, vectors: bool) -> Sequence[Any]:  # type: ignore[override]
        import scipy.linalg
        _need_finite(x)
        return scipy.linalg.schur(x, check_finite=False)[: 1 + vectors]

    def hlo(self, b: Any, x: Any, *, vectors: bool) -> Outputs:  # type: ignore[override]
        t = x.type.strong()
        values = t.with_shape(t.shape[:-1])
        parts = [values] if dtypes.is_complex(t.dtype) else [values, values]
        results = call(b, "gees", [x], [t, t, *parts, info_type(t), info_type(t)], t.ndim - 2, {0: 0},
                       mode="V" if vectors else "N", sort="N")
        return lapack.succeeded(b, results[-1], results[: 1 + vectors])

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(draw(rng, 2, 4, 4), vectors=True, order=0)
        yield Example(draw(rng, 3, 3, dtype=np.complex64), vectors=True, order=0)
        yield Example(draw(rng, 3, 3), vectors=False, order=0)
        yield Example(np.float32([[7]]), vectors=True, order=0)

    def oracle(self, jax: Any, x: Any, *, vectors: bool) -> Any:
        return jax.lax.linalg.schur(x, compute_schur_vectors=vectors)


class Hessenberg(Stacked):
    """x = Q H Q^H: H on and above the first subdiagonal, below it Q as reflections, and their factors.

    No derivative.
    """

    def type(self, x: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        return [x, x.with_shape((*x.shape[:-2], max(x.shape[-1] - 1, 0)))]

    def one(self, x: np.ndarray) -> Sequence[Any]:  # type: ignore[override]
        n = x.shape[0]
        found, taus, info = routine("gehrd", x)(x, lo=0, hi=n - 1, lwork=64 * n)
        done(info)
        return [found, taus[: n - 1]]

    def hlo(self, b: Any, x: Any) -> Outputs:  # type: ignore[override]
        types = [t.strong() for t in b.outputs]
        *results, info = call(b, "gehrd", [x], [*types, info_type(x.type)], x.type.ndim - 2, {0: 0}, low=1,
                              high=x.type.shape[-1])
        return lapack.succeeded(b, info, results)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(draw(rng, 2, 4, 4), order=0)
        yield Example(draw(rng, 3, 3, dtype=np.complex64), order=0)
        yield Example(np.float32([[7]]), order=0)

    def oracle(self, jax: Any, x: Any) -> Any:
        return jax.lax.linalg.hessenberg(x)


eig = Eigen("eig")
schur = Schur("schur")
hessenberg = Hessenberg("hessenberg")

# -- singular values ----------------------------------------------------------------------------------


class SingularValues(Stacked):
    """x = U diag(s) V^H: (U, s, V^H), or s alone without `vectors`; s descends.

    Derivative (Giles, 2008): of the values the real diagonal of U^H dx V, also where they coincide, and of U and V,
    which the thin form or square matrices only have one of, NaN there. Where a value is 0 and the matrix is not square,
    the derivative of the vectors is not finite.
    """

    def type(self, x: ArrayType, *, vectors: bool, full: bool, driver: str) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x)
        *stack, m, n = x.shape
        k = min(m, n)
        values = _real(x).with_shape((*stack, k))
        if not vectors:
            return [values]
        return [x.with_shape((*stack, m, m if full else k)), values, x.with_shape((*stack, n if full else k, n))]

    def one(self, x: np.ndarray, *, vectors: bool, full: bool, driver: str) -> Sequence[Any]:  # type: ignore[override]
        import scipy.linalg
        _need_finite(x)
        results = scipy.linalg.svd(x, full, vectors, check_finite=False, lapack_driver=driver)
        return results if vectors else [results]

    def hlo(self, b: Any, x: Any, *, vectors: bool, full: bool, driver: str) -> Outputs:  # type: ignore[override]
        u, s, vh = [t.strong() for t in self.type(x.type, vectors=True, full=full, driver=driver)]
        out_types = [x.type.strong(), s, u, vh, info_type(x.type)]
        _, *results, info = call(b, driver, [x], out_types, x.type.ndim - 2, {0: 0},
                                 mode=("A" if full else "S") if vectors else "N")
        s, u, vh = lapack.succeeded(b, info, results)
        return [u, s, vh] if vectors else [s]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, vectors: bool, full: bool, driver: str
            ) -> tuple[Outputs, Outputs]:
        m, n = matrix.shape_of(primals[0])[-2:]
        if vectors and full and m != n:
            raise self.missing("derivative for full_matrices=True of a matrix that is not square: the further vectors "
                               "are not unique", "pass full_matrices=False")
        u, s, vh = bind(self, primals, dict(vectors=True, full=False, driver=driver))
        x_dot, v = tangents[0], matrix.adjoint(vh)
        inner = matrix.chain(matrix.adjoint(u), x_dot, v)
        s_dot = matrix.real_part(matrix.diagonal(inner))
        if not vectors:
            return [s], [s_dot]
        # 1 / (s[j]^2 - s[i]^2), as a product of sum and difference, which keeps digits.
        rows, columns = matrix.as_rows(s, inner), matrix.as_columns(s, inner)
        inverse = _inverted(mul(add(rows, columns), sub(rows, columns)))
        times_s, s_times = mul(inner, rows), mul(columns, inner)
        s_inverse = inverse_where(elementwise.ne(s, number(s, 0)), s)
        phase = mul(matrix.scaled(sub(inner, matrix.adjoint(inner)), 0.5), matrix.of_diagonal(s_inverse, inner))
        u_dot = matrix.matmul(u, add(mul(inverse, add(times_s, matrix.adjoint(times_s))), phase))
        v_dot = matrix.matmul(v, mul(inverse, add(s_times, matrix.adjoint(s_times))))
        if m > n:
            moved = matrix.matmul(x_dot, v)
            u_dot = add(u_dot, _outside(u, moved, s))
        if n > m:
            moved = matrix.matmul(matrix.adjoint(x_dot), u)
            v_dot = add(v_dot, _outside(v, moved, s))
        return [u, s, vh], [u_dot, s_dot, matrix.adjoint(v_dot)]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        options = dict(vectors=True, full=False, driver="gesdd")
        for shape in ((3, 3), (2, 4, 2), (2, 3), (1, 1)):
            yield Example(draw(rng, *shape), **options)
        yield Example(draw(rng, 3, 3), **options | dict(full=True, driver="gesvd"), order=1)
        yield Example(draw(rng, 2, 4, 3), **options | dict(vectors=False))
        yield Example(draw(rng, 4, 3, dtype=np.complex64), **options | dict(vectors=False), order=1)
        # Not unique: vectors beside the thin ones, and the phases of complex ones.
        yield Example(draw(rng, 4, 2), **options | dict(full=True), order=0)
        yield Example(draw(rng, 2, 3, dtype=np.complex64), **options, order=0)
        yield Example(np.full((3, 2), np.nan, np.float32), **options, order=0)
        yield Example(np.zeros((0, 3, 2), np.float32), **options, order=0)

    def oracle(self, jax: Any, x: Any, *, vectors: bool, full: bool, driver: str) -> Any:
        algorithm = jax.lax.linalg.SvdAlgorithm.QR if driver == "gesvd" else None
        return jax.lax.linalg.svd(x, full_matrices=full, compute_uv=vectors, algorithm=algorithm)


def inverse_where(good: Any, s: Any) -> Any:
    """1 / s where that is `good`, else 0."""
    one = number(s, 1)
    inverse = div(broadcast_in_dim(one, shape=matrix.shape_of(s), dims=()), select_n(good, one, s))
    return select_n(good, number(s, 0), inverse)


def _outside(u: Any, moved: Any, s: Any) -> Any:
    """The part of `moved` outside the space of the columns of u, over s."""
    rest = sub(moved, matrix.chain(u, matrix.adjoint(u), moved))
    return div(rest, matrix.as_rows(s, rest))


class PseudoInverse(OfStacks):
    """The pseudo-inverse of x[m, n] by the singular values above limit[] times the largest; of (x + x^H) / 2 if told.

    Derivative: -p dx p + p p^H dx^H (1 - x p) + (1 - p x) dx^H p^H p, that of matrices of constant rank, finite where
    singular values coincide (Golub and Pereyra, 1973).
    """

    def type(self, x: ArrayType, limit: ArrayType, *, hermitian: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=hermitian)
        assert limit.shape == x.shape[:-2] and limit.dtype == dtypes.to_real(x.dtype), (x, limit)
        *stack, m, n = x.shape
        return [ArrayType((*stack, n, m), x.dtype)]

    def expand(self, x: Any, limit: Any, *, hermitian: bool) -> Outputs:
        if hermitian:
            u, s = eigh(x, lower=True, symmetrize=True)
            vh = matrix.adjoint(u)
        else:
            u, s, vh = svd(x, vectors=True, full=False, driver="gesdd")
        size, last = elementwise.abs(s), type_of(s).ndim - 1
        shape, stack = matrix.shape_of(s), tuple(range(last))
        least = broadcast_in_dim(mul(limit, reduce_max(size, axes=(last,))), shape=shape, dims=stack)
        inverse = inverse_where(elementwise.gt(size, least), s)
        v = matrix.adjoint(vh)
        return [matrix.matmul(mul(v, matrix.as_rows(inverse, v)), matrix.adjoint(u))]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, hermitian: bool) -> tuple[Outputs, Outputs]:
        p = self(*primals, hermitian=hermitian)
        x, x_dot = primals[0], instantiate(tangents[0])
        if hermitian:
            x, x_dot = matrix.symmetric(x), matrix.symmetric(x_dot)
        p_adjoint, other = matrix.adjoint(p), matrix.adjoint(x_dot)
        first = neg(matrix.chain(p, x_dot, p))
        left = matrix.chain(p, p_adjoint, other)
        right = matrix.chain(other, p_adjoint, p)
        second = sub(left, matrix.chain(left, x, p))
        third = sub(right, matrix.chain(p, x, right))
        return [p], [add(first, add(second, third))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        limit = np.float32(1e-6)
        yield Example(draw(rng, 3, 2), np.asarray(limit), hermitian=False, fixed=(1,))
        yield Example(draw(rng, 2, 2, 3), np.full(2, limit), hermitian=False, fixed=(1,), order=1)
        yield Example(draw(rng, 3, 3, dtype=np.complex64), np.asarray(limit), hermitian=False, fixed=(1,), order=1)
        yield Example(positive(rng, 3), np.asarray(limit), hermitian=True, fixed=(1,))
        yield Example(np.float32([[1, 2], [2, 4]]), np.asarray(limit), hermitian=False, order=0)
        yield Example(np.float32([[2, 0], [0, 1], [0, 0]]), np.float32(0.6), hermitian=False, order=0)

    def oracle(self, jax: Any, x: Any, limit: Any, *, hermitian: bool) -> Any:
        return jax.numpy.linalg.pinv(x, rtol=limit, hermitian=hermitian)


svd = SingularValues("svd")
pseudo_inverse = PseudoInverse("pseudo_inverse")
