"""Arithmetic of stacks of matrices, which are the last two axes: what the derivatives of linear algebra are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.trace import type_of
from pullback.ops import elementwise
from pullback.ops.contract import Precision, dot_general
from pullback.ops.convert import convert_element_type
from pullback.ops.elementwise import number, select_n
from pullback.ops.index import GatherDims, GatherScatterMode, gather
from pullback.ops.move import broadcast_in_dim, concatenate, iota, pad, reshape, slice, transpose
from pullback.ops.reduce import reduce_sum


def shape_of(x: Any) -> tuple[int, ...]:
    return type_of(x).shape  # type: ignore[no-any-return]


def swapped(x: Any) -> Any:
    """The transposes."""
    n = type_of(x).ndim
    return transpose(x, perm=(*range(n - 2), n - 1, n - 2))


def conjugate(x: Any) -> Any:
    return elementwise.conj(x) if dtypes.is_complex(type_of(x).dtype) else x


def adjoint(x: Any) -> Any:
    """The conjugate transposes."""
    return conjugate(swapped(x))


def real_part(x: Any) -> Any:
    return elementwise.real(x) if dtypes.is_complex(type_of(x).dtype) else x


def matmul(x: Any, y: Any) -> Any:
    """Products of the matrices of two stacks of one shape, whatever precision products have elsewhere."""
    n = type_of(x).ndim
    stack = tuple(range(n - 2))
    return dot_general(x, y, dims=(((n - 1,), (n - 2,)), (stack, stack)), precision=Precision.HIGHEST)


def chain(*factors: Any) -> Any:
    """The product of several matrices, from the left."""
    result = factors[0]
    for factor in factors[1:]:
        result = matmul(result, factor)
    return result


def scaled(x: Any, factor: complex) -> Any:
    return elementwise.mul(x, number(x, factor))


def symmetric(x: Any) -> Any:
    """(x + x^H) / 2."""
    return scaled(elementwise.add(x, adjoint(x)), 0.5)


def _places(x: Any, test: Any, offset: int) -> Any:
    """Where `test(row + offset, column)` holds, as booleans of the shape of `x`."""
    shape = shape_of(x)
    row, column = (iota(shape=shape[-2:], dtype=dtypes.int32, axis=i) for i in (0, 1))
    held = test(elementwise.add(row, np.int32(offset)) if offset else row, column)
    return held if len(shape) == 2 else broadcast_in_dim(held, shape=shape, dims=(len(shape) - 2, len(shape) - 1))


def lower(x: Any, offset: int = 0) -> Any:
    """The elements not above diagonal number `offset`, zeros elsewhere."""
    return select_n(_places(x, elementwise.ge, offset), number(x, 0), x)


def upper(x: Any, offset: int = 0) -> Any:
    """The elements not below diagonal number `offset`, zeros elsewhere."""
    return select_n(_places(x, elementwise.le, offset), number(x, 0), x)


def on_diagonal(x: Any, value: Any) -> Any:
    """`x` with `value`, a scalar or an array like it, on the main diagonals."""
    return select_n(_places(x, elementwise.eq, 0), x, value)


def only_diagonal(x: Any) -> Any:
    return select_n(_places(x, elementwise.eq, 0), number(x, 0), x)


def identity(n: int, like: Any) -> Any:
    """The identity, once for each matrix of the stack `like`, in its dtype."""
    empty = zeros(n, n, like)
    return on_diagonal(empty, number(empty, 1))


def zeros(rows: int, columns: int, like: Any) -> Any:
    """Matrices of zeros for the stack `like`, in its dtype."""
    t = type_of(like)
    return broadcast_in_dim(t.dtype.type(0), shape=(*t.shape[:-2], rows, columns), dims=())


def diagonal(x: Any) -> Any:
    """The main diagonals, any[*stack, min(m, n)]."""
    *stack, m, n = shape_of(x)
    k = min(m, n)
    return reduce_sum(only_diagonal(corner(x, k, k)), axes=(len(stack),))


def as_rows(d: Any, like: Any) -> Any:
    """Vectors any[*stack, n] as rows that repeat, in the shape and dtype of any[*stack, m, n]."""
    return _spread(d, like, -1)


def as_columns(d: Any, like: Any) -> Any:
    """Vectors any[*stack, m] as columns that repeat, in the shape and dtype of any[*stack, m, n]."""
    return _spread(d, like, -2)


def _spread(d: Any, like: Any, axis: int) -> Any:
    t = type_of(like)
    if type_of(d).dtype != t.dtype:
        d = convert_element_type(d, dtype=t.dtype)
    return broadcast_in_dim(d, shape=t.shape, dims=(*range(t.ndim - 2), t.ndim + axis))


def of_diagonal(d: Any, like: Any) -> Any:
    """Matrices with the diagonals `d`, zeros elsewhere, in the dtype of `like`, which has the same stack."""
    n = shape_of(d)[-1]
    empty = zeros(n, n, like)
    return on_diagonal(empty, as_rows(d, empty))


def corner(x: Any, rows: int, columns: int) -> Any:
    """The first rows and columns."""
    return block(x, 0, rows, 0, columns)


def block(x: Any, top: int, bottom: int, left: int, right: int) -> Any:
    """Rows top to bottom and columns left to right, the ends not included."""
    *stack, m, n = shape_of(x)
    if (top, bottom, left, right) == (0, m, 0, n):
        return x
    return slice(x, start=(*[0] * len(stack), top, left), limit=(*stack, bottom, right),
                 strides=(1,) * (len(stack) + 2))


def extended(x: Any, rows: int, columns: int) -> Any:
    """The matrix with zeros below and to the right, up to a size."""
    *stack, m, n = shape_of(x)
    if (rows, columns) == (m, n):
        return x
    return pad(x, number(x, 0), config=(*[(0, 0, 0)] * len(stack), (0, rows - m, 0), (0, columns - n, 0)))


def beside(*parts: Any) -> Any:
    """Matrices joined from left to right."""
    return concatenate(*parts, axis=type_of(parts[0]).ndim - 1)


def below(*parts: Any) -> Any:
    """Matrices joined from top to bottom."""
    return concatenate(*parts, axis=type_of(parts[0]).ndim - 2)


def rows_at(x: Any, index: Any) -> Any:
    """Rows of matrices: any[*stack, m, n] at int[*stack, k] is any[*stack, k, n]."""
    *stack, _, n = shape_of(x)
    count = len(stack)
    if not type_of(x).size:
        return reshape(x, shape=(*stack, shape_of(index)[-1], n))
    together = tuple(range(count))
    index = reshape(index, shape=(*shape_of(index), 1))
    return gather(x, index, dims=GatherDims((count + 1,), (count,), (count,), together, together),
                  sizes=(*[1] * (count + 1), n), mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill=None)


def column(x: Any) -> Any:
    """Vectors any[*stack, n] as matrices any[*stack, n, 1]."""
    return reshape(x, shape=(*shape_of(x), 1))


def vector(x: Any) -> Any:
    """Matrices any[*stack, n, 1] as vectors any[*stack, n]."""
    return reshape(x, shape=shape_of(x)[:-1])
