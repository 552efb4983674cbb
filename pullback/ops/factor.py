"""Factorizations by elimination and reflection: Cholesky, LU, QR, and what QR is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, NoGradient, Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.ops import elementwise, lapack, matrix
from pullback.ops.elementwise import add, sub
from pullback.ops.lapack import Stacked, call, done, draw, info_type, positive, routine
from pullback.ops.solve import solve_factored, triangular_solve

# -- Cholesky -----------------------------------------------------------------------------------------


class Cholesky(Stacked):
    """The lower triangular L with x = L L^H, from the lower triangle of x, or of (x + x^H) / 2 if `symmetrize`.

    NaN where a matrix is not positive definite. Derivative: L Phi(L^-1 dx L^-H), where Phi takes the lower triangle and
    half of the diagonal (Murray, Differentiation of the Cholesky decomposition, 2016).
    """

    def type(self, x: ArrayType, *, symmetrize: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x, square=True)
        return [x]

    def one(self, x: np.ndarray, *, symmetrize: bool) -> Sequence[Any]:  # type: ignore[override]
        if symmetrize:
            x = (x + x.conj().T) / 2
        factor, info = routine("potrf", x)(x, lower=True, clean=True)
        done(info)
        return [factor]

    def failed(self, result: np.ndarray) -> np.ndarray:
        return np.tril(super().failed(result))

    def hlo(self, b: Any, x: Any, *, symmetrize: bool) -> Outputs:  # type: ignore[override]
        if symmetrize:
            x = lapack.hermitian(b, x)
        factor, info = call(b, "potrf", [x], [x.type, info_type(x.type)], x.type.ndim - 2, {0: 0},
                            uplo="L")
        return [lapack.triangle(b, lapack.succeeded(b, info, [factor])[0], "GE")]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, symmetrize: bool) -> tuple[Outputs, Outputs]:
        factor = self(*primals, symmetrize=symmetrize)
        x_dot = tangents[0]
        x_dot = matrix.symmetric(x_dot) if symmetrize else add(matrix.lower(x_dot),
                                                               matrix.adjoint(matrix.lower(x_dot, -1)))
        inner = triangular_solve(factor, triangular_solve(factor, x_dot, left=False, lower=True, transpose=True,
                                                          conjugate=True, unit=False),
                                 left=True, lower=True, transpose=False, conjugate=False, unit=False)
        half = matrix.on_diagonal(inner, matrix.scaled(inner, 0.5))
        return [factor], [matrix.lower(matrix.matmul(factor, matrix.lower(half)))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(positive(rng, 4), symmetrize=True)
        yield Example(positive(rng, 2, 3, dtype=np.complex64), symmetrize=True)
        yield Example(positive(rng, 3), symmetrize=False)
        yield Example(np.float32([[[4, 9], [2, 5]], [[1, 2], [2, 1]], [[0, 0], [0, 0]]]), symmetrize=False, order=0)
        yield Example(np.float32([[4]]), symmetrize=True)
        yield Example(np.zeros((0, 2, 2), np.float32), symmetrize=True, order=0)

    def oracle(self, jax: Any, x: Any, *, symmetrize: bool) -> Any:
        return jax.lax.linalg.cholesky(x, symmetrize_input=symmetrize)


cholesky = Cholesky("cholesky")

# -- LU -----------------------------------------------------------------------------------------------


class LU(Stacked):
    """x[permutation] = L U with row pivoting: (L below the diagonal and U in one, row exchanges, permutation).

    The factors of a singular matrix have a zero on the diagonal of U, where the derivative is not finite.
    """

    def type(self, x: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x)
        *stack, m, n = x.shape
        return [x, ArrayType((*stack, min(m, n)), dtypes.int32, x.weak), ArrayType((*stack, m), dtypes.int32, x.weak)]

    def one(self, x: np.ndarray) -> Sequence[Any]:  # type: ignore[override]
        factors, pivots, _ = routine("getrf", x)(x)
        return [factors, pivots, _permutation(pivots, x.shape[0])]

    def hlo(self, b: Any, x: Any) -> Outputs:  # type: ignore[override]
        _, pivots, permutation = b.outputs
        found, where, _ = call(b, "getrf", [x], [x.type, pivots.strong(), info_type(x.type)], x.type.ndim - 2, {0: 0})
        where = b.sub(where, b.full(1, where.type))
        return [found, where, _permutation_hlo(b, where, permutation.strong())]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        factors, pivots, permutation = self(*primals)
        m, n = matrix.shape_of(factors)[-2:]
        k = min(m, n)
        # With L and U made square by an identity, X = L^-1 dx U^-1: dL = L tril(X, -1) and dU = triu(X) U.
        left, right = matrix.extended(matrix.corner(factors, m, k), m, m), matrix.corner(factors, k, n)
        if n > k:
            rest = matrix.identity(n - k, right)
            right = matrix.below(right, matrix.beside(matrix.zeros(n - k, k, right), rest))
        x_dot = matrix.rows_at(tangents[0], permutation)
        inner = triangular_solve(right, x_dot, left=False, lower=False, transpose=False, conjugate=False, unit=False)
        inner = triangular_solve(left, inner, left=True, lower=True, transpose=False, conjugate=False, unit=True)
        unit = matrix.on_diagonal(matrix.lower(left), elementwise.number(left, 1))
        below = matrix.matmul(unit, matrix.lower(inner, -1))
        above = matrix.matmul(matrix.upper(inner), matrix.upper(right))
        return [factors, pivots, permutation], [add(below, above), *[Zero(type_of(p).tangent())
                                                                     for p in (pivots, permutation)]]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for shape in ((4, 4), (2, 5, 3), (3, 5), (1, 1)):
            yield Example(draw(rng, *shape))
        yield Example(draw(rng, 3, 3, dtype=np.complex64))
        yield Example(np.float32([[[0, 0], [0, 0]], [[1, 2], [2, 4]]]), order=0)
        yield Example(np.zeros((0, 2, 3), np.float32), order=0)

    def oracle(self, jax: Any, x: Any) -> Any:
        return jax.lax.linalg.lu(x)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    order = list(range(size))
    for i, j in enumerate(pivots.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int32)


def _permutation_hlo(b: Any, pivots: Any, out: ArrayType) -> Any:
    """Row exchanges, one after the other, on 0, 1, ...; a step for all of the stack at once."""
    axis = out.ndim - 1
    number, single = ArrayType((), dtypes.int32), pivots.type.with_shape((*pivots.type.shape[:-1], 1))
    if not out.size or not pivots.type.size:
        return b.iota(out, axis)

    def at(b: Any, x: Any, i: Any) -> Any:
        zero = b.full(0, number)
        found = b.op("stablehlo.dynamic_slice", [x, *[zero] * axis, i], single,
                     f"slice_sizes = {b.ints(single.shape)}")
        return b.broadcast_in_dim(b.reshape(found, single.shape[:-1]), range(axis), out)

    def unfinished(b: Any, i: Any, pivots: Any, order: Any) -> list[Any]:
        return [b.compare("LT", i, b.full(pivots.type.shape[-1], number))]

    def step(b: Any, i: Any, pivots: Any, order: Any) -> list[Any]:
        place, j = b.iota(out, axis), at(b, pivots, i)
        is_i = b.compare("EQ", place, b.broadcast_in_dim(i, (), out))
        is_j = b.compare("EQ", place, j)
        mine = at(b, order, i)
        others = b.reduce([b.select(is_j, order, b.full(0, out))], [b.full(0, number)], [axis],
                          lambda b, x, y: [b.add(x, y)])[0]
        other = b.broadcast_in_dim(others, range(axis), out)
        order = b.select(is_i, other, b.select(is_j, mine, order))
        return [b.add(i, b.full(1, number)), pivots, order]

    state = [b.full(0, number), pivots, b.iota(out, axis)]
    types = [v.type for v in state]
    regions = [b.region(types, unfinished), b.region(types, step)]
    return b.multi("stablehlo.while", state, types, "", regions)[2]


class PivotsToPermutation(NoGradient, Stacked):
    """The permutation of 0 ... rows - 1 that exchanging i and pivots[i] for i = 0, 1, ... makes."""

    own = (1,)

    def type(self, pivots: ArrayType, *, rows: int) -> list[ArrayType]:  # type: ignore[override]
        if pivots.dtype != dtypes.int32:
            raise errors.type_error(f"pivots are {pivots}, a dtype of int32 is required",
                                    fix="pass the pivots that lu gives")
        if not pivots.ndim:
            raise errors.type_error(f"pivots are {pivots}, at least 1 axis is required",
                                    fix="pass the pivots that lu gives")
        if pivots.shape[-1] > rows:
            raise errors.value_error(f"permutation_size is {rows}, for pivots {pivots} at least {pivots.shape[-1]} is "
                                     "required", fix="pass the number of rows of the matrix")
        return [ArrayType((*pivots.shape[:-1], rows), dtypes.int32)]

    def one(self, pivots: np.ndarray, *, rows: int) -> Sequence[Any]:  # type: ignore[override]
        return [_permutation(pivots, rows)]

    def hlo(self, b: Any, pivots: Any, *, rows: int) -> Outputs:  # type: ignore[override]
        return [_permutation_hlo(b, pivots, b.outputs[0])]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(np.int32([[3, 1, 4], [2, 2, 2]]), rows=5)
        yield Example(np.int32([1, 1]), rows=2)
        yield Example(np.zeros((0,), np.int32), rows=2)

    def oracle(self, jax: Any, pivots: Any, *, rows: int) -> Any:
        return jax.lax.linalg.lu_pivots_to_permutation(pivots, rows)


lu = LU("lu")
lu_pivots_to_permutation = PivotsToPermutation("lu_pivots_to_permutation")

# -- reflections --------------------------------------------------------------------------------------


class Reflections(Stacked):
    """QR by reflections, not yet multiplied: R on and above the diagonal, their vectors below, their factors.

    With `pivoting` columns are exchanged so that the diagonal of R decreases, and their order is the third result.
    """

    def type(self, x: ArrayType, *, pivoting: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x)
        *stack, m, n = x.shape
        order = [ArrayType((*stack, n), dtypes.int32, x.weak)] if pivoting else []
        return [x, x.with_shape((*stack, min(m, n))), *order]

    def one(self, x: np.ndarray, *, pivoting: bool) -> Sequence[Any]:  # type: ignore[override]
        size = max(1, 64 * x.shape[1])  # of the workspace
        if pivoting:
            found, order, taus, _, info = routine("geqp3", x)(x, lwork=size + 1)
            done(info)
            return [found, taus, order - 1]
        found, taus, _, info = routine("geqrf", x)(x, lwork=size)
        done(info)
        return [found, taus]

    def hlo(self, b: Any, x: Any, *, pivoting: bool) -> Outputs:  # type: ignore[override]
        types = [t.strong() for t in b.outputs]
        stack = x.type.ndim - 2
        if not pivoting:
            return call(b, "geqrf", [x], types, stack, {0: 0})
        free = b.full(0, types[2])
        found, order, taus = call(b, "geqp3", [x, free], [types[0], types[2], types[1]], stack, {0: 0, 1: 1})
        return [found, taus, b.sub(order, b.full(1, order.type))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for shape in ((3, 3), (2, 4, 2), (2, 3)):
            yield Example(draw(rng, *shape), pivoting=False, order=0)
        yield Example(draw(rng, 3, 2, dtype=np.complex64), pivoting=False, order=0)
        yield Example(draw(rng, 2, 2, 3), pivoting=True, order=0)

    def oracle(self, jax: Any, x: Any, *, pivoting: bool) -> Any:
        if not pivoting:
            found, taus = jax.numpy.linalg.qr(x, mode="raw")
            return jax.numpy.swapaxes(found, -1, -2), taus
        import scipy.linalg
        results = [scipy.linalg.qr(each, mode="raw", pivoting=True) for each in np.asarray(x)]
        arrays = [[r[0][0] for r in results], [r[0][1] for r in results], [r[2] for r in results]]
        return [jax.numpy.asarray(np.stack(a)) for a in arrays]


class HouseholderProduct(Stacked):
    """The first n columns of the product of the reflections that x[m, n] holds below its diagonal. No derivative."""

    own = (2, 1)

    def type(self, x: ArrayType, taus: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x)
        lapack.check_same_stack(a=(x, 2), taus=(taus, 1))
        m, n = x.shape[-2:]
        if m < n:
            raise errors.value_error(f"a is {x}: {m} rows and {n} columns, at least as many rows are required",
                                     fix="leave out columns: the product has no more than m")
        if taus.shape[-1] > n:
            raise errors.value_error(f"a is {x} and taus is {taus}: more reflections than the {n} columns",
                                     fix="pass both as geqrf gives them")
        return [x]

    def one(self, x: np.ndarray, taus: np.ndarray) -> Sequence[Any]:  # type: ignore[override]
        name = "ungqr" if x.dtype.kind == "c" else "orgqr"
        product, _, info = routine(name, x)(x, taus, lwork=max(1, 64 * x.shape[1]))
        done(info)
        return [product]

    def hlo(self, b: Any, x: Any, taus: Any) -> Outputs:  # type: ignore[override]
        return call(b, "orgqr ungqr", [x, taus], [x.type.strong()], x.type.ndim - 2, {0: 0})

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for shape, count in (((3, 3), 3), ((2, 4, 2), 2), ((3, 3), 2)):
            yield Example(draw(rng, *shape), draw(rng, *shape[:-2], count), order=0)
        yield Example(draw(rng, 3, 2, dtype=np.complex64), draw(rng, 2, dtype=np.complex64), order=0)

    def oracle(self, jax: Any, x: Any, taus: Any) -> Any:
        return jax.lax.linalg.householder_product(x, taus)


class Reflected(Stacked):
    """Q c, Q^H c, c Q or c Q^H, with Q the product of the reflections that x holds. No derivative."""

    own = (2, 1, 2)

    def type(self, x: ArrayType, taus: ArrayType, c: ArrayType, *, left: bool, transpose: bool  # type: ignore[override]
             ) -> list[ArrayType]:
        lapack.check_matrices(x)
        lapack.check_same_stack(a=(x, 2), taus=(taus, 1), c=(c, 2))
        m, k = x.shape[-2:]
        if c.shape[-2 if left else -1] != m or taus.shape[-1] != k or k > m:
            raise errors.value_error(
                f"a is {x}, taus is {taus} and c is {c}; m by k, k and {'m by n' if left else 'n by m'} with k at most "
                "m is required", fix="pass a and taus as geqrf gives them, at most min(m, n) columns")
        return [c.strong()]

    def one(self, x: np.ndarray, taus: np.ndarray, c: np.ndarray, *, left: bool,  # type: ignore[override]
            transpose: bool) -> Sequence[Any]:
        kind = x.dtype.kind
        result, _, info = routine("unmqr" if kind == "c" else "ormqr", x)(
            "L" if left else "R", ("C" if kind == "c" else "T") if transpose else "N", x, taus, c,
            max(1, 64 * max(c.shape)))
        done(info)
        return [result]

    def hlo(self, b: Any, x: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Outputs:  # type: ignore[override]
        return call(b, "ormqr unmqr", [x, taus, c], [c.type.strong()], x.type.ndim - 2, {0: 2}, left=left,
                    transpose=transpose)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for left in (True, False):
            for transpose in (True, False):
                c = draw(rng, 2, 4, 4)[:, :, : 3 if left else 4][:, : 4 if left else 3]
                yield Example(draw(rng, 2, 4, 2), draw(rng, 2, 2), c, left=left, transpose=transpose, order=0)
        yield Example(*[draw(rng, *s, dtype=np.complex64) for s in ((3, 3), (3,), (3, 2))], left=True, transpose=True,
                      order=0)

    def oracle(self, jax: Any, x: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
        return jax.lax.linalg.ormqr(x, taus, c, left=left, transpose=transpose)


reflections = Reflections("reflections")
householder_product = HouseholderProduct("householder_product")
ormqr = Reflected("ormqr")

# -- QR -----------------------------------------------------------------------------------------------


class QR(Stacked):
    """x = Q R with orthonormal columns of Q and upper triangular R; Q is square if `full`.

    With `pivoting`, x[:, order] = Q R, and order is the third result. Where the first min(m, n) columns of x (after
    pivoting) depend on each other, the derivative is not finite; nor is that of the further columns of a full Q where x
    has a column with zeros only below the diagonal.
    Derivative: Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2018).
    """

    def type(self, x: ArrayType, *, pivoting: bool, full: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(x)
        *stack, m, n = x.shape
        k = m if full else min(m, n)
        order = [ArrayType((*stack, n), dtypes.int32, x.weak)] if pivoting else []
        return [x.with_shape((*stack, m, k)), x.with_shape((*stack, k, n)), *order]

    def numpy(self, x: np.ndarray, *, pivoting: bool, full: bool) -> Outputs:  # type: ignore[override]
        m, n = x.shape[-2:]
        k = m if full else min(m, n)
        found, taus, *order = reflections.numpy(x, pivoting=pivoting)
        square = np.zeros((*x.shape[:-1], k), x.dtype)
        square[..., : min(k, n)] = found[..., : min(k, n)]
        return [*householder_product.numpy(square, taus), np.triu(found[..., :k, :]), *order]

    def hlo(self, b: Any, x: Any, *, pivoting: bool, full: bool) -> Outputs:  # type: ignore[override]
        outputs = b.outputs
        *stack, m, n = x.type.shape
        k = m if full else min(m, n)
        b.outputs = reflections.type(x.type, pivoting=pivoting)
        found, taus, *order = reflections.hlo(b, x, pivoting=pivoting)
        square = lapack.part(b, found, m, min(k, n))
        if k > n:
            lead, zero = [0] * (len(stack) + 1), b.full(0, square.type.with_shape(()))
            square = b.op("stablehlo.pad", [square, zero], square.type.with_shape((*stack, m, k)),
                          f"edge_padding_low = {b.ints([*lead, 0])}, edge_padding_high = {b.ints([*lead, k - n])}, "
                          f"interior_padding = {b.ints([*lead, 0])}")
        b.outputs = outputs
        return [*householder_product.hlo(b, square, taus),
                lapack.triangle(b, lapack.part(b, found, k, n), "LE"), *order]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, pivoting: bool, full: bool
            ) -> tuple[Outputs, Outputs]:
        q, r, *order = bind(self, primals, dict(pivoting=pivoting, full=full))
        x_dot = tangents[0]
        if pivoting:  # columns of x_dot, as rows of its transpose
            x_dot = matrix.swapped(matrix.rows_at(matrix.swapped(x_dot), order[0]))
        m, n = matrix.shape_of(x_dot)[-2:]
        k = min(m, n)
        thin, square = matrix.block(q, 0, m, 0, k), matrix.block(r, 0, k, 0, k)
        first = matrix.block(x_dot, 0, m, 0, k)
        # dx R^-1 = dQ + Q dR R^-1, where Q^H dQ is skew and dR R^-1 upper triangular.
        ratio = triangular_solve(square, first, left=False, lower=False, transpose=False, conjugate=False, unit=False)
        inner = matrix.matmul(matrix.adjoint(thin), ratio)
        below = matrix.lower(inner, -1)
        skew = sub(below, matrix.adjoint(below))
        if dtypes.is_complex(type_of(inner).dtype):  # R keeps a real diagonal
            skew = add(skew, sub(matrix.only_diagonal(inner), matrix.of_diagonal(
                elementwise.real(matrix.diagonal(inner)), inner)))
        q_dot = add(ratio, matrix.matmul(thin, sub(skew, inner)))
        r_dot = matrix.matmul(sub(inner, skew), square)
        if n > k:  # further columns: Q^H dx and dQ^H x, with x = Q R
            rest = matrix.block(r, 0, k, k, n)
            turned = matrix.matmul(matrix.adjoint(q_dot), matrix.matmul(thin, rest))
            moved = matrix.matmul(matrix.adjoint(thin), matrix.block(x_dot, 0, m, k, n))
            r_dot = matrix.beside(r_dot, add(turned, moved))
        if full and m > k:
            q_dot, r_dot = matrix.beside(q_dot, _further(thin, q_dot)), matrix.extended(r_dot, m, n)
        return [q, r, *order], [q_dot, r_dot, *[Zero(type_of(p).tangent()) for p in order]]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for shape in ((3, 3), (2, 4, 2), (2, 3), (1, 1)):
            yield Example(draw(rng, *shape), pivoting=False, full=False)
        yield Example(draw(rng, 3, 2), pivoting=False, full=True)
        yield Example(draw(rng, 2, 4), pivoting=True, full=True)
        yield Example(draw(rng, 2, 4, 3), pivoting=True, full=False)
        yield Example(draw(rng, 2, 5, 2), pivoting=False, full=True)
        yield Example(draw(rng, 4, 2, dtype=np.complex64), pivoting=False, full=True)
        yield Example(draw(rng, 2, 3, dtype=np.complex64), pivoting=True, full=False, order=1)
        yield Example(np.zeros((0, 3, 2), np.float32), pivoting=False, full=True, order=0)

    def oracle(self, jax: Any, x: Any, *, pivoting: bool, full: bool) -> Any:
        return jax.lax.linalg.qr(x, pivoting=pivoting, full_matrices=full)


def _further(q: Any, q_dot: Any) -> Any:
    """The change of the columns that a full Q[m, m] has beside its first ones, q[m, k].

    Q is 1 - V T V^H with m by k vectors V of reflections. With C = [1; 0] - q, whose square part is C1 and whose rest
    is C2, the further columns are [0; 1] - C W^H, where W = C2 C1^-1.
    """
    m, k = matrix.shape_of(q)[-2:]
    whole = sub(matrix.extended(matrix.identity(k, q), m, k), q)
    factors, _, permutation = lu(matrix.corner(whole, k, k))

    def over(x: Any) -> Any:  # x C1^-1
        return matrix.swapped(solve_factored(matrix.corner(whole, k, k), factors, permutation, matrix.swapped(x),
                                             transpose=True, conjugate=False))

    ratio = over(matrix.block(whole, k, m, 0, k))
    ratio_dot = over(sub(matrix.matmul(ratio, matrix.corner(q_dot, k, k)), matrix.block(q_dot, k, m, 0, k)))
    return sub(matrix.matmul(q_dot, matrix.adjoint(ratio)), matrix.matmul(whole, matrix.adjoint(ratio_dot)))


qr = QR("qr")
