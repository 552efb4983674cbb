"""Linear systems, triangular, tridiagonal and factorized ones, and determinants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import add
from pullback.interpret.stage import stage
from pullback.ops import elementwise, lapack, matrix
from pullback.ops.convert import convert_element_type
from pullback.ops.elementwise import neg, number, select_n, sub
from pullback.ops.lapack import OfStacks, Stacked, call, done, draw, info_type, positive, routine
from pullback.ops.move import broadcast_in_dim, iota, pad, reshape, transpose
from pullback.ops.reduce import reduce_max, reduce_min, reduce_prod, reduce_sum
from pullback.ops.sort import sort

# -- triangular systems -------------------------------------------------------------------------------


class TriangularSolve(Stacked):
    """The x with op(a) x = b, or x op(a) = b if not `left`, where only a triangle of a is read.

    op transposes and conjugates as told; `unit`: the diagonal counts as ones, and is not read. A zero on the diagonal
    gives infinities and NaN.
    """

    own = (2, 2)

    def type(self, a: ArrayType, b: ArrayType, *, left: bool, **params: bool) -> list[ArrayType]:  # type: ignore[override]
        lapack.check_matrices(a, square=True)
        lapack.check_same_stack(a=(a, 2), b=(b, 2))
        if b.shape[-2 if left else -1] != a.shape[-1]:
            raise errors.make(
                errors.OperandError, op=errors.source.called(),
                problem=f"a is {a} and b is {b}: {'rows' if left else 'columns'} of b must be as many as those of a",
                fix=f"transpose b, or pass left_side={not left}")
        return [b.strong()]

    def one(self, a: np.ndarray, b: np.ndarray, *, left: bool, lower: bool, transpose: bool,  # type: ignore[override]
            conjugate: bool, unit: bool) -> Sequence[Any]:
        if not b.size:
            return [b]
        a, how = _operation(a, transpose, conjugate, np.conj)
        return [routine("trsm", b)(1, a, b, side=not left, lower=lower, trans_a="NTC".index(how), diag=unit)]

    def hlo(self, b: Any, x: Any, y: Any, *, left: bool, lower: bool, transpose: bool,  # type: ignore[override]
            conjugate: bool, unit: bool) -> Outputs:
        if not y.type.size:
            return [y]
        x, how = _operation(x, transpose, conjugate, lambda x: lapack.conjugate(b, x))
        return call(b, "trsm", [x, y], [y.type.strong()], x.type.ndim - 2, {0: 1}, side="L" if left else "R",
                    uplo="L" if lower else "U", trans_x=how, diag="U" if unit else "N")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, left: bool, lower: bool, transpose: bool,
            conjugate: bool, unit: bool) -> tuple[Outputs, Outputs]:
        params = dict(left=left, lower=lower, transpose=transpose, conjugate=conjugate, unit=unit)
        a, _ = primals
        a_dot, b_dot = tangents
        x = bind(self, primals, params)[0]
        right: Any = b_dot
        if not isinstance(a_dot, Zero):
            triangle = matrix.lower if lower else matrix.upper
            moved = triangle(a_dot, (-1 if lower else 1) if unit else 0)
            moved = matrix.swapped(moved) if transpose else moved
            moved = matrix.conjugate(moved) if conjugate else moved
            right = add(neg(matrix.matmul(moved, x) if left else matrix.matmul(x, moved)), b_dot)
        return [x], bind(self, [a, right], params)

    def transpose(self, cts: Sequence[Any], a: Any, b: Any, *, left: bool, lower: bool,  # type: ignore[override]
                  transpose: bool, conjugate: bool, unit: bool) -> list[Any]:
        return [None, self(a, cts[0], left=left, lower=lower, transpose=not transpose, conjugate=conjugate, unit=unit)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        a, b = args
        if batched[0]:
            return super().batch(size, args, batched, **params)
        # One matrix for all: the batch becomes further columns (rows) of the right side.
        _, *stack, m, n = matrix.shape_of(b)
        k = len(stack)
        place = k + (1 if params["left"] else 0)
        perm = (*range(1, place + 1), 0, *range(place + 1, k + 3))
        wide = (*stack, m, size * n) if params["left"] else (*stack, size * m, n)
        x = reshape(bind(self, [a, reshape(transpose(b, perm=perm), shape=wide)], params)[0],
                    shape=(*stack, m, size, n) if params["left"] else (*stack, size, m, n))
        return [transpose(x, perm=tuple([perm.index(i) for i in range(k + 3)]))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        plain = dict(left=True, lower=True, transpose=False, conjugate=False, unit=False)
        for change in ({}, dict(left=False), dict(lower=False, transpose=True),
                       dict(unit=True, left=False, lower=False)):
            params = plain | change
            b = draw(rng, 3, 2) if params["left"] else draw(rng, 2, 3)
            yield Example(positive(rng, 3), b, linear=(1,), **params)
        yield Example(positive(rng, 2, 3), draw(rng, 2, 3, 1), linear=(1,), order=1, **plain)
        for change in ({}, dict(transpose=True), dict(conjugate=True, left=False),
                       dict(transpose=True, conjugate=True)):
            yield Example(positive(rng, 2, dtype=np.complex64), draw(rng, 2, 2, dtype=np.complex64), linear=(1,),
                          order=2 if change else 0, **plain | change)
        yield Example(np.float32([[0, 0], [1, 1]]), np.float32([[1], [1]]), order=0, **plain)
        yield Example(np.zeros((0, 0), np.float32), np.zeros((0, 2), np.float32), order=0, **plain)
        yield Example(np.zeros((0, 2, 2), np.float32), np.zeros((0, 2, 2), np.float32), order=0, **plain)

    def oracle(self, jax: Any, a: Any, b: Any, *, left: bool, lower: bool, transpose: bool, conjugate: bool,
               unit: bool) -> Any:
        return jax.lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transpose,
                                               conjugate_a=conjugate, unit_diagonal=unit)


def _operation(a: Any, transpose: bool, conjugate: bool, conj: Any) -> tuple[Any, str]:
    """The matrix and BLAS's letter: it has none for a conjugate that is not transposed."""
    if not conjugate:
        return a, "T" if transpose else "N"
    return (a, "C") if transpose else (conj(a), "N")


triangular_solve = TriangularSolve("triangular_solve")

# -- tridiagonal systems ------------------------------------------------------------------------------


class TridiagonalSolve(Stacked):
    """The x with T x = b, where T has the diagonals dl, d, du; dl[0] and du[-1] are not read.

    NaN where T is singular.
    """

    own = (1, 1, 1, 2)

    def type(self, dl: ArrayType, d: ArrayType, du: ArrayType, b: ArrayType  # type: ignore[override]
             ) -> list[ArrayType]:
        lapack.check_dtype(d)
        lapack.check_same_stack(d=(d, 1), dl=(dl, 1), du=(du, 1), b=(b, 2))
        if not dl.shape == d.shape == du.shape:
            raise errors.type_error(f"dl, d and du are {dl}, {d} and {du}, one shape is required",
                                    fix="dl[0] and du[-1] stand outside the matrix: pad with a zero")
        if b.ndim < 2 or b.shape[-2] != d.shape[-1]:
            raise errors.type_error(f"d is {d} and b is {b}: {d.shape[-1]} rows of b are required",
                                    fix="transpose b, or give it an axis for a single column")
        return [b.strong()]

    def one(self, dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray  # type: ignore[override]
            ) -> Sequence[Any]:
        if d.size == 1:
            return [b / d]
        *_, x, info = routine("gtsv", d)(dl[1:], d, du[:-1], b)
        done(info)
        return [x]

    def hlo(self, b: Any, dl: Any, d: Any, du: Any, y: Any) -> Outputs:  # type: ignore[override]
        if not y.type.size:
            return [y]
        operands = [dl, d, du, y]
        *_, x, info = call(b, "gtsv", operands, [*[v.type.strong() for v in operands], info_type(d.type, 1)],
                           d.type.ndim - 1, {i: i for i in range(4)})
        return lapack.succeeded(b, info, [x])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        x = self(*primals)
        *matrices, right = tangents
        for which, moved in zip((-1, 0, 1), matrices):
            if not isinstance(moved, Zero):
                right = add(neg(_times(moved, x, which)), right)
        return [x], [self(*primals[:3], right)]

    def transpose(self, cts: Sequence[Any], dl: Any, d: Any, du: Any, b: Any  # type: ignore[override]
                  ) -> list[Any]:
        return [None, None, None, self(_shifted(du, 1), d, _shifted(dl, -1), cts[0])]

    def oracle(self, jax: Any, *operands: Any) -> Any:
        return jax.lax.linalg.tridiagonal_solve(*operands)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for dtype in (np.float32, np.complex64):
            for shape, columns in (((4,), 2), ((2, 3), 1)):
                yield Example(draw(rng, *shape, dtype=dtype), draw(rng, *shape, dtype=dtype) + dtype(4),
                              draw(rng, *shape, dtype=dtype), draw(rng, *shape, columns, dtype=dtype),
                              linear=(3,), order=2 if len(shape) == 1 else 1)
        one = np.float32([0, 0, 0])
        yield Example(one, one, one, one[:, None] + 1, order=0)
        yield Example(*[np.float32([2])] * 3, np.float32([[3]]))


class PerturbedTridiagonalSolve(TridiagonalSolve):
    """As tridiagonal_solve; pivots that are zero are moved away from it by little, as inverse iteration wants it.

    How far is for the compiled routine to say, so eager evaluation runs it too; the reference does as LAPACK's xLAGTS.
    """

    slow_reference = True

    def one(self, dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray  # type: ignore[override]
            ) -> Sequence[Any]:
        return [_eliminated(dl, d, du, b)]

    def hlo(self, b: Any, *operands: Any) -> Outputs:
        out = operands[3].type.strong()
        return call(b, "tridiagonal_solve_perturbed_ffi", operands, [out], out.ndim - 2) if out.size else [operands[3]]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(draw(rng, 2, 4), draw(rng, 2, 4) + 4, draw(rng, 2, 4), draw(rng, 2, 4, 2), linear=(3,))
        zero, b = np.zeros(3, np.float32), np.float32([[1], [2], [3]])
        yield Example(zero, np.float32([1, 0, 1]), zero, b, order=0)
        yield Example(zero, zero, zero, b, order=0)
        yield Example(np.float32([0, 1, 1]), np.float32([1, 2, 1]), np.float32([1, 1, 0]), b, order=0)

    def oracle(self, jax: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
        return jax.lax.linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=True)




def _shifted(x: Any, by: int) -> Any:
    """The vectors moved by a place, a zero coming in."""
    n = type_of(x).ndim
    low, high = (1, -1) if by > 0 else (-1, 1)
    return pad(x, number(x, 0), config=(*[(0, 0, 0)] * (n - 1), (low, high, 0)))


def _times(diagonal: Any, x: Any, which: int) -> Any:
    """The product of a matrix of one diagonal (-1: below the main one) and x."""
    if which:
        n = type_of(x).ndim
        low, high = (1, -1) if which < 0 else (-1, 1)
        x = pad(x, number(x, 0), config=(*[(0, 0, 0)] * (n - 2), (low, high, 0), (0, 0, 0)))
    return elementwise.mul(matrix.as_columns(diagonal, x), x)


def _eliminated(dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Elimination with scaled pivots, then substitution with pivots moved off zero (LAPACK's xLAGTF and xLAGTS)."""
    n = d.size
    below, main, above, second, x = dl[1:].copy(), d.copy(), du.copy(), np.zeros_like(d), b.copy()
    above[-1:] = 0
    scale = abs(main[0]) + abs(above[0])
    for k in range(n - 1):
        other = abs(below[k]) + abs(main[k + 1]) + abs(above[k + 1])
        if below[k] == 0:
            scale = other
        elif main[k] != 0 and abs(below[k]) / other <= abs(main[k]) / scale:
            scale, factor = other, below[k] / main[k]
            main[k + 1] -= factor * above[k]
            x[k + 1] -= factor * x[k]
        else:
            factor = main[k] / below[k]
            main[k], above[k], main[k + 1] = below[k], main[k + 1], above[k] - factor * main[k + 1]
            second[k], above[k + 1] = above[k + 1], -factor * above[k + 1]
            x[k], x[k + 1] = x[k + 1].copy(), x[k] - factor * x[k + 1]
    info = np.finfo(d.dtype)
    least = max(np.abs([main, above, second]).max() * info.eps, info.tiny)
    for k in range(n - 1, -1, -1):
        right = x[k] - (above[k] * x[k + 1] if k + 1 < n else 0) - (second[k] * x[k + 2] if k + 2 < n else 0)
        for column in range(right.size):
            pivot, step = main[k], np.copysign(least, main[k].real)
            while abs(pivot) < info.max * info.tiny * 4 and (pivot == 0 or abs(right[column]) * info.tiny > abs(pivot)):
                pivot, step = pivot + step, 2 * step
            x[k, column] = right[column] / pivot
    return x


tridiagonal_solve = TridiagonalSolve("tridiagonal_solve")
tridiagonal_solve_perturbed = PerturbedTridiagonalSolve("tridiagonal_solve_perturbed")

# -- systems whose matrix has been factorized ---------------------------------------------------------


class SolveFactored(OfStacks):
    """The x with op(a) x = b, by the LU factors of a: matrix[n, n], factors[n, n], permutation[n], b[n, k].

    The factors are those of `a`, kept from its factorization: they stand for it and carry no derivative of their own.
    Derivative: op(a)^-1 (db - op(da) x).
    """

    def type(self, a: ArrayType, factors: ArrayType, permutation: ArrayType, b: ArrayType,  # type: ignore[override]
             **params: bool) -> list[ArrayType]:
        lapack.check_matrices(a, square=True)
        assert a.shape == factors.shape and permutation.shape == a.shape[:-1], (a, factors, permutation)
        lapack.check_same_stack(a=(a, 2), b=(b, 2))
        if b.shape[-2] != a.shape[-1]:
            raise errors.value_error(f"a is {a} and b is {b}: {a.shape[-1]} rows of b are required",
                                     fix="transpose b, or check which system belongs to which matrix")
        return [b.strong()]

    def expand(self, a: Any, factors: Any, permutation: Any, b: Any, *, transpose: bool, conjugate: bool) -> Outputs:
        both = dict(left=True, conjugate=conjugate, transpose=transpose)
        upper = dict(lower=False, unit=False, **both)
        lower = dict(lower=True, unit=True, **both)
        if transpose:
            x = triangular_solve(factors, triangular_solve(factors, b, **upper), **lower)
            return [matrix.rows_at(x, inverse_permutation(permutation))]
        return [triangular_solve(factors, triangular_solve(factors, matrix.rows_at(b, permutation), **lower), **upper)]

    def numpy(self, a: np.ndarray, factors: np.ndarray, permutation: np.ndarray, b: np.ndarray,  # type: ignore[override]
              *, transpose: bool, conjugate: bool) -> Outputs:
        both = dict(left=True, conjugate=conjugate, transpose=transpose)
        order = np.argsort(permutation, -1) if transpose else permutation
        steps = [dict(lower=False, unit=False, **both), dict(lower=True, unit=True, **both)]
        x = b if transpose else np.take_along_axis(b, order[..., None], -2)
        for step in steps if transpose else steps[::-1]:
            (x,) = triangular_solve.numpy(factors, x, **step)
        return [np.take_along_axis(x, order[..., None], -2) if transpose else x]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, transpose: bool, conjugate: bool
            ) -> tuple[Outputs, Outputs]:
        params = dict(transpose=transpose, conjugate=conjugate)
        a, factors, permutation, _ = primals
        a_dot, _, _, right = tangents
        x = bind(self, primals, params)[0]
        if not isinstance(a_dot, Zero):
            moved = matrix.swapped(a_dot) if transpose else a_dot
            right = add(neg(matrix.matmul(matrix.conjugate(moved) if conjugate else moved, x)), right)
        if isinstance(right, Zero):
            return [x], [right]
        return [x], [self(a, factors, permutation, right, **params)]

    def transpose(self, cts: Sequence[Any], a: Any, factors: Any, permutation: Any, b: Any, *,  # type: ignore[override]
                  transpose: bool, conjugate: bool) -> list[Any]:
        return [None, None, None, self(a, factors, permutation, cts[0], transpose=not transpose, conjugate=conjugate)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        *factorized, b = args
        if any(batched[:3]):
            return super().batch(size, args, batched, **params)
        # One matrix for all: the batch becomes further columns of the right side.
        _, *stack, m, n = matrix.shape_of(b)
        k = len(stack)
        perm = (*range(1, k + 2), 0, k + 2)
        wide = reshape(transpose(b, perm=perm), shape=(*stack, m, size * n))
        x = reshape(bind(self, [*factorized, wide], params)[0], shape=(*stack, m, size, n))
        return [transpose(x, perm=(k + 1, *range(k + 1), k + 2))], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        # Moving `a` alone, as numeric derivatives do, would leave its factors behind: order 0.
        for dtype, stack in ((np.float32, (2,)), (np.complex64, ())):
            a, b = draw(rng, *stack, 3, 3, dtype=dtype), draw(rng, *stack, 3, 2, dtype=dtype)
            for i in range(4):
                yield Example(a, *factored(a)[::2], b, transpose=i % 2 > 0, conjugate=i > 1, linear=(3,), order=0)

    def oracle(self, jax: Any, a: Any, factors: Any, permutation: Any, b: Any, *, transpose: bool, conjugate: bool
               ) -> Any:
        a = jax.numpy.swapaxes(a, -1, -2) if transpose else a
        return jax.numpy.linalg.solve(a.conj() if conjugate else a, b)


def inverse_permutation(permutation: Any) -> Any:
    """Where each number stands in permutations int[*stack, n]."""
    t = type_of(permutation)
    place = iota(shape=t.shape, dtype=dtypes.int32, axis=t.ndim - 1)
    return sort(permutation, place, axis=t.ndim - 1)[1]


def factored(a: np.ndarray) -> list[np.ndarray]:
    """LU factors, pivots and permutation, for examples."""
    return TABLE["lu"].numpy(a)


solve_factored = SolveFactored("solve_factored")

# -- determinants -------------------------------------------------------------------------------------


def _mended(factors: Any) -> tuple[Any, Any]:
    """Where the diagonal of U is zero, and the factors with ones there."""
    d = matrix.diagonal(factors)
    zero = elementwise.eq(d, number(d, 0))
    return zero, matrix.on_diagonal(factors, matrix.as_rows(select_n(zero, d, number(d, 1)), factors))


def _trace(x: Any) -> Any:
    return reduce_sum(matrix.diagonal(x), axes=(type_of(x).ndim - 2,))


def _inverse(a: Any, factors: Any, permutation: Any) -> Any:
    return solve_factored(a, factors, permutation, matrix.identity(matrix.shape_of(a)[-1], a), transpose=False,
                          conjugate=False)


def _paired(x: Any, y: Any) -> Any:
    """The traces of x y."""
    n = type_of(x).ndim
    return reduce_sum(elementwise.mul(x, matrix.swapped(y)), axes=(n - 2, n - 1))


def _exchanges(pivots: Any, like: Any) -> Any:
    """1 or -1 for an even or odd number of row exchanges, in the dtype of `like`."""
    t = type_of(pivots)
    moved = elementwise.ne(pivots, iota(shape=t.shape, dtype=dtypes.int32, axis=t.ndim - 1))
    one = number(like, 1)
    signs = select_n(moved, broadcast_in_dim(one, shape=t.shape, dims=()), number(like, -1))
    return reduce_prod(signs, axes=(t.ndim - 1,))


class OfFactors(OfStacks):
    """Functions of a, computed from its LU factors, pivots and permutation, which carry no derivative of their own."""

    def check(self, a: ArrayType, factors: ArrayType, pivots: ArrayType, permutation: ArrayType) -> None:
        lapack.check_matrices(a, square=True)
        assert a.shape == factors.shape and pivots.shape == permutation.shape == a.shape[:-1], (a, factors, pivots)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        # Moving `a` alone, as numeric derivatives do, would leave its factors behind: order 0.
        for a in (draw(rng, 2, 4, 4), draw(rng, 3, 3, dtype=np.complex64), np.diag(np.float32([1, 0, 2])),
                  np.diag(np.float32([0, 0, 2])), np.float32([[0, 1], [0, 0]]), np.float32([[2]]),
                  np.float32([np.eye(4, k=1), np.diag([1, 0, 0, 2]), np.ones((4, 4))])):
            yield Example(a, *factored(a), order=0)


class LogDeterminant(OfFactors):
    """(sign, log |det a|); 0 and -inf of a singular matrix, where the derivative is not finite.

    Derivative: of the logarithm the real part, of a complex sign i times the imaginary part, of tr(a^-1 da).
    """

    def type(self, a: ArrayType, *rest: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        self.check(a, *rest)
        sign = ArrayType(a.shape[:-2], a.dtype)
        return [sign, sign.with_dtype(dtypes.to_real(a.dtype))]

    def expand(self, a: Any, factors: Any, pivots: Any, permutation: Any) -> Outputs:
        d = matrix.diagonal(factors)
        last = type_of(d).ndim - 1
        signs = reduce_prod(elementwise.sign(d), axes=(last,))
        logs = reduce_sum(elementwise.log(elementwise.abs(d)), axes=(last,))
        return [elementwise.mul(signs, _exchanges(pivots, factors)), logs]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        sign, logarithm = bind(self, primals, {})
        a, factors, _, permutation = primals
        if isinstance(tangents[0], Zero):
            return [sign, logarithm], [Zero(type_of(o).tangent()) for o in (sign, logarithm)]
        change = _paired(_inverse(a, factors, permutation), tangents[0])
        if not dtypes.is_complex(type_of(a).dtype):
            return [sign, logarithm], [Zero(type_of(sign).tangent()), change]
        turn = elementwise.complex(elementwise.mul(elementwise.real(change), number(logarithm, 0)),
                                   elementwise.imag(change))
        return [sign, logarithm], [elementwise.mul(sign, turn), elementwise.real(change)]

    def oracle(self, jax: Any, a: Any, *rest: Any) -> Any:
        return tuple(jax.numpy.linalg.slogdet(a))


class Determinant(OfFactors):
    """det a. Derivative: tr(adj(a) da), which is finite where a is singular."""

    def type(self, a: ArrayType, *rest: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        self.check(a, *rest)
        return [ArrayType(a.shape[:-2], a.dtype)]

    def expand(self, a: Any, factors: Any, pivots: Any, permutation: Any) -> Outputs:
        d = matrix.diagonal(factors)
        return [elementwise.mul(reduce_prod(d, axes=(type_of(d).ndim - 1,)), _exchanges(pivots, factors))]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        outputs = bind(self, primals, {})
        if isinstance(tangents[0], Zero):
            return outputs, [Zero(type_of(outputs[0]).tangent())]
        return outputs, [_paired(adjugate(*primals), tangents[0])]

    def oracle(self, jax: Any, a: Any, *rest: Any) -> Any:
        return jax.numpy.linalg.det(a)


def _over(x: Any, a: Any) -> Any:
    """Numbers of the matrices, for each of their elements."""
    shape = matrix.shape_of(a)
    return broadcast_in_dim(x, shape=shape, dims=tuple(range(len(shape) - 2)))


def _rounding(d: Any) -> Any:
    """Below this is what rounding left of a zero: the largest of the magnitudes d, times their number and epsilon."""
    t = type_of(d)
    return elementwise.mul(reduce_max(d, axes=(t.ndim - 1,)), number(d, t.shape[-1] * float(dtypes.finfo(t.dtype).eps)))


def _turned(a: Any) -> tuple[Any, Any, Any, Any]:
    """U, the singular values and V of a = U S V^H, and det(U) det(V^H): adj(U X V^H) is this times V adj(X) U^H."""
    u, s, vh = bind(TABLE["svd"], [a], {"vectors": True, "full": False, "driver": "gesdd"})
    signs = [determinant.expand(x, *bind(TABLE["lu"], [x], {}))[0] for x in (u, vh)]
    return u, s, matrix.adjoint(vh), _over(elementwise.mul(*signs), a)


def _by_singular_values(a: Any) -> Any:
    """adj(a) by adj(S), whose elements are the products of all singular values but one."""
    u, s, v, sign = _turned(a)
    t = type_of(s)
    last = t.ndim - 1
    nothing = elementwise.le(s, broadcast_in_dim(_rounding(s), shape=t.shape, dims=tuple(range(last))))
    rows = matrix.as_rows(select_n(nothing, s, number(s, 0)), a)
    others = reduce_prod(matrix.on_diagonal(rows, number(rows, 1)), axes=(type_of(rows).ndim - 1,))
    return elementwise.mul(sign, matrix.matmul(elementwise.mul(v, matrix.as_rows(others, v)), matrix.adjoint(u)))


def _derivative_by_singular_values(a: Any, a_dot: Any) -> Any:
    """The derivative of adj. With E = U^H da V, that of adj(S) has the elements -q_ij E_ij; for i = j, sum_k q_ik E_kk.

    q_ij is the product of all singular values but i and j, 0 for i = j. No division, so that a may be singular.
    """
    u, s, v, sign = _turned(a)
    rows = matrix.as_rows(s, a)
    rows = matrix.on_diagonal(rows, number(rows, 1))
    t = type_of(rows)
    n, last = t.shape[-1], t.ndim
    shape = (*t.shape[:-2], n, n, n)
    own = elementwise.eq(*[iota(shape=shape, dtype=dtypes.int32, axis=axis) for axis in (last - 2, last)])
    each = broadcast_in_dim(rows, shape=shape, dims=(*range(last - 2), last - 1, last))
    q = reduce_prod(select_n(own, each, number(rows, 1)), axes=(last,))
    q = matrix.on_diagonal(q, number(q, 0))
    e = matrix.chain(matrix.adjoint(u), a_dot, v)
    sums = matrix.vector(matrix.matmul(q, matrix.column(matrix.diagonal(e))))
    change = matrix.on_diagonal(neg(elementwise.mul(q, e)), matrix.as_rows(sums, e))
    return elementwise.mul(sign, matrix.chain(v, change, matrix.adjoint(u)))


def _where(flags: Any, usual: Any, unusual: Callable[..., Any], a: Any, *rest: Any) -> Any:
    """`usual`, and unusual(a, *rest) of the matrices with a flag: computed only where there is one."""
    def mixed(flags: Any, usual: Any, a: Any, *rest: Any) -> Any:
        flags = _over(flags, a)
        # In the place of the others, for which nothing is asked: all singular values differ.
        n = matrix.shape_of(a)[-1]
        count = convert_element_type(iota(shape=(n,), dtype=dtypes.int32, axis=0), dtype=type_of(a).dtype)
        harmless = matrix.of_diagonal(broadcast_in_dim(count, shape=matrix.shape_of(a)[:-1],
                                                       dims=(type_of(a).ndim - 2,)), a)
        return select_n(flags, usual, unusual(select_n(flags, harmless, a), *rest))

    known = concrete(flags)
    if known is not None:
        return mixed(flags, usual, a, *rest) if np.any(known) else usual
    operands = [flags, usual, a, *rest]
    branches = tuple([stage(lambda *xs, f=f: [f(*xs)], [type_of(x) for x in operands], name="adjugate")[0]
                      for f in (lambda flags, usual, *rest: usual, mixed)])
    some = reduce_max(convert_element_type(flags, dtype=dtypes.int32), axes=tuple(range(type_of(flags).ndim)))
    return bind(TABLE["cond"], [some, *operands], {"branches": branches})[0]


class Adjugate(OfFactors):
    """The matrix adj(a) with a adj(a) = det(a) I, also of a singular one.

    Where U has several zeros on the diagonal, from singular values: the rank may be n - 1, as that of [[0, 1], [0, 0]]
    is, and adj(a) is 0 where it is less. Derivative: (tr(a^-1 da) - a^-1 da) adj(a); where a is singular, or nearly so,
    by singular values, and its own derivative is then inaccurate or NaN where these are equal or nearly so.
    """

    def type(self, a: ArrayType, *rest: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        self.check(a, *rest)
        return [a.strong()]

    def expand(self, a: Any, factors: Any, pivots: Any, permutation: Any) -> Outputs:
        zero, mended = _mended(factors)
        # With one zero on the diagonal of U, in place k, adj(U) is det(U) U^-1 e_k e_k^T U^-1, of U with a one there.
        (whole,) = determinant.expand(a, mended, pivots, permutation)
        inverse = _inverse(a, mended, permutation)
        unit = matrix.column(convert_element_type(zero, dtype=type_of(a).dtype))
        tall = triangular_solve(mended, unit, left=True, lower=False, transpose=False, conjugate=False, unit=False)
        single = matrix.matmul(tall, matrix.matmul(matrix.swapped(unit), inverse))
        count = reduce_sum(convert_element_type(zero, dtype=dtypes.int32), axes=(type_of(zero).ndim - 1,))
        usual = select_n(elementwise.eq(_over(count, a), np.int32(0)), *[elementwise.mul(x, _over(whole, a))
                                                                        for x in (single, inverse)])
        return [_where(elementwise.gt(count, np.int32(1)), usual, _by_singular_values, a)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        out = self(*primals)
        a, factors, _, permutation = primals
        a_dot = tangents[0]
        if isinstance(a_dot, Zero):
            return [out], [Zero(type_of(out).tangent())]
        change = solve_factored(a, _mended(factors)[1], permutation, a_dot, transpose=False, conjugate=False)
        usual = sub(elementwise.mul(_over(_trace(change), out), out), matrix.matmul(change, out))
        d = elementwise.abs(matrix.diagonal(factors))
        # Dividing by a pivot p loses max(d) / p in precision: by no more than the root of it.
        least = elementwise.mul(_rounding(d), number(d, float(dtypes.finfo(type_of(d).dtype).eps) ** -0.5))
        singular = elementwise.le(reduce_min(d, axes=(type_of(d).ndim - 1,)), least)
        return [out], [_where(singular, usual, _derivative_by_singular_values, a, a_dot)]

    def oracle(self, jax: Any, a: Any, *rest: Any) -> Any:
        a = np.asarray(a)
        n = a.shape[-1]
        rows = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, j, -2), i, -1)) for j in range(n)]
                for i in range(n)]
        return jax.numpy.asarray(np.moveaxis(np.asarray(rows, a.dtype), (0, 1), (-2, -1)))


log_determinant = LogDeterminant("log_determinant")
determinant = Determinant("determinant")
adjugate = Adjugate("adjugate")
