"""Products of arrays: of vectors, matrices and stacks of them, and of tensors along chosen axes.

Operands are brought to their common dtype first. `precision` says how exactly products of 32-bit floats are
computed (see lax.Precision), `preferred_element_type` in which dtype sums are formed and returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.lax.contract import PrecisionLike, preferred
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, integer, is_known, like, no_out, one_axis, requested
from pullback.numpy.reductions import summed_dtype
from pullback.ops import contract, elementwise, move, reduce
from pullback.ops.contract import MATRICES, Dims, canonical_precision
from pullback.ops.integer import and_

__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "trace", "vdot", "vecdot",
    "vecmat",
]


# -- parts that products share ------------------------------------------------------------------------


def contracted(x: Any, y: Any, dims: Dims, precision: PrecisionLike, dtype: DTypeLike | None) -> Any:
    """The product of operands of one dtype, summed over the contracted axes of `dims`.

    `dtype` is that of the sum and the result, which is strong then.
    """
    if dtype is not None:
        natural = contract.result_dtype(type_of(x).dtype, type_of(y).dtype)
        dtype = preferred(dtype, natural, "a product")
        x = retype(x, type_of(x).dtype)
    return contract.dot_general(x, y, dims=dims, precision=canonical_precision(precision), dtype=dtype)


def multiplied(x: Any, y: Any, dtype: DTypeLike | None = None) -> Any:
    """x * y of operands of one dtype, broadcast; of booleans, whether both are True."""
    given = type_of(x).dtype
    if dtype is not None:
        dtype = preferred(dtype, given, "a product")
        held = contract.held_dtype(given, given, dtype)
        x, y = retype(x, held), retype(y, held)
    x, y = promotion.broadcast(x, y)
    out = and_(x, y) if dtypes.is_bool(type_of(x).dtype) else elementwise.mul(x, y)
    return out if dtype is None else retype(out, dtype)


def conjugated(x: Any) -> Any:
    """The complex conjugate; real numbers as they are."""
    return elementwise.conj(x) if dtypes.is_complex(type_of(x).dtype) else x


def flat(x: Any) -> Any:
    """The elements along one axis."""
    t = type_of(x)
    return x if t.ndim == 1 else move.reshape(array(x), shape=(t.size,))


def check_sizes(x: ArrayType, i: int, y: ArrayType, j: int, fix: str = "") -> None:
    """A TypeError unless axis `i` of lhs and axis `j` of rhs have one size."""
    if x.shape[i] != y.shape[j]:
        raise errors.make(
            errors.OperandError,
            f"contracted sizes differ: lhs {x} axis {i} has size {x.shape[i]}, rhs {y} axis {j} has size {y.shape[j]}",
            fix=fix or "transpose one operand, or check which axis is the batch axis")


def _check_ndim(t: ArrayType, least: int, side: str) -> None:
    if t.ndim < least:
        what = "a scalar" if t.ndim == 0 else "a vector"
        raise errors.value_error(
            f"{side} is {t}, {what}; at least {least} {'axis is' if least == 1 else 'axes are'} required",
            fix="multiply by a scalar with *" if t.ndim == 0 else f"give {side} a further axis: x[None]")


def without(x: Any, axes: Sequence[int]) -> Any:
    """`x` without the `axes`, which have size 1."""
    if not axes:
        return x
    return move.reshape(x, shape=tuple([n for i, n in enumerate(type_of(x).shape) if i not in axes]))


def pairwise(x: Any, x_labels: Sequence[Any], y: Any, y_labels: Sequence[Any], out: Sequence[Any],
             precision: PrecisionLike, dtype: DTypeLike | None, dot: Callable[..., Any] | None = None) -> Any:
    """The product of two operands whose axes are labelled, summed over the labels that are not in `out`.

    Args:
      x_labels, y_labels: a label for each axis, each label once; a size of 1 goes with any other.
      out: labels of the axes of the result, in order.
      dot: what to call in place of `contracted`.
    """
    # An axis of size 1 that meets a longer one is dropped: nothing is repeated.
    x_sizes, y_sizes = dict(zip(x_labels, type_of(x).shape)), dict(zip(y_labels, type_of(y).shape))
    x_ones = {c for c in x_labels if x_sizes[c] == 1 != y_sizes.get(c, 1)}
    y_ones = {c for c in y_labels if y_sizes[c] == 1 != x_sizes.get(c, 1)}
    x_left, y_left = {*x_labels} - x_ones, {*y_labels} - y_ones
    x, x_labels = _summed(x, x_labels, x_ones, {*out, *y_left}, dtype)
    y, y_labels = _summed(y, y_labels, y_ones, {*out, *x_left}, dtype)
    common = [c for c in x_labels if c in y_labels]
    batch, summed = [c for c in common if c in out], [c for c in common if c not in out]
    x_free, y_free = ([c for c in labels if c not in common] for labels in (x_labels, y_labels))
    # Many products of single numbers are slow as matrix products; all numbers of x with all of y are not.
    single = not summed and (batch or not (x_free and y_free))
    if single and dot is None and type_of(x).dtype == type_of(y).dtype:
        return multiplied(_spread(x, x_labels, out), _spread(y, y_labels, out), dtype)
    batch.sort(key=list(out).index)
    if list(out) == [*batch, *y_free, *x_free] and x_free and y_free and not _one_sided(precision):
        x, y, x_labels, y_labels, x_free, y_free = y, x, y_labels, x_labels, y_free, x_free
    dims = tuple([tuple([tuple([labels.index(c) for c in which]) for labels in (x_labels, y_labels)])
                  for which in (summed, batch)])
    return arranged((dot or contracted)(x, y, dims, precision, dtype), [*batch, *x_free, *y_free], out)


def _one_sided(precision: PrecisionLike) -> bool:
    """Whether the precision names the operands one by one, so that they may not change places."""
    return not (precision is None or isinstance(precision, (str, contract.Precision)))


def _summed(x: Any, labels: Sequence[Any], ones: set[Any], kept: set[Any], dtype: DTypeLike | None
            ) -> tuple[Any, list[Any]]:
    """`x` without the axes `ones`, summed over the axes whose labels nobody else has; and its labels."""
    if ones:
        x = without(x, [i for i, c in enumerate(labels) if c in ones])
        labels = [c for c in labels if c not in ones]
    alone = tuple([i for i, c in enumerate(labels) if c not in kept])
    return total(x, alone, dtype), [c for c in labels if c in kept]


def total(x: Any, axes: tuple[int, ...], dtype: DTypeLike | None = None) -> Any:
    """`x` summed over `axes` in its own dtype; of booleans, whether any is True."""
    if not axes:
        return x
    given = type_of(x).dtype
    if dtype is not None:
        x = retype(x, preferred(dtype, given, "a product"))
    return (reduce.reduce_or if dtypes.is_bool(type_of(x).dtype) else reduce.reduce_sum)(x, axes=axes)


def _spread(x: Any, labels: list[Any], out: Sequence[Any]) -> Any:
    """`x` with its axes in the order of `out`, and axes of size 1 for the labels it lacks."""
    x = arranged(x, labels, [c for c in out if c in labels])
    if not labels or len(labels) == len(out):
        return x
    sizes = iter(type_of(x).shape)
    return move.reshape(x, shape=tuple([next(sizes) if c in labels else 1 for c in out]))


def arranged(x: Any, labels: Sequence[Any], out: Sequence[Any]) -> Any:
    """`x` with its labelled axes in the order of `out`."""
    if list(labels) == list(out):
        return x
    return move.transpose(x, perm=tuple([list(labels).index(c) for c in out]))


def stacked(x: Any, y: Any, x_core: int, y_core: int, precision: PrecisionLike, dtype: DTypeLike | None
            ) -> Any:
    """Products of the matrices or vectors on the last axes of two operands, whose leading axes broadcast.

    Args:
      x: any[*batch, m, k] (x_core 2) or any[*batch, k] (1)
      y: any[*batch, k, n] (y_core 2) or any[*batch, k] (1)

    Returns:
      any[*batch, m, n], without m or n where the operand has none
    """
    xt, yt = type_of(x), type_of(y)
    x_axis, y_axis = xt.ndim - 1, yt.ndim - y_core
    check_sizes(xt, x_axis, yt, y_axis)
    x_batch, y_batch = xt.shape[:xt.ndim - x_core], yt.shape[:y_axis]
    if x_batch == y_batch or not y_batch:
        batch = tuple(range(len(y_batch)))
        return contracted(x, y, (((x_axis,), (y_axis,)), (batch, batch)), precision, dtype)
    for i in range(-min(len(x_batch), len(y_batch)), 0):
        if x_batch[i] != y_batch[i] and 1 not in (x_batch[i], y_batch[i]):
            raise errors.value_error(
                f"batch axes do not broadcast: lhs {xt} axis {len(x_batch) + i} has size {x_batch[i]}, "
                f"rhs {yt} axis {len(y_batch) + i} has size {y_batch[i]}",
                fix="give one of them a size of 1 there, or transpose")
    x_outer, y_outer = (list(range(-len(batch), 0)) for batch in (x_batch, y_batch))
    m, n = ["m"] * (x_core - 1), ["n"] * (y_core - 1)
    outer = x_outer if len(x_outer) > len(y_outer) else y_outer
    return pairwise(x, [*x_outer, *m, "k"], y, [*y_outer, "k", *n], [*outer, *m, *n], precision, dtype)


# -- products of vectors and matrices -----------------------------------------------------------------


def matmul(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """The matrix product a @ b, for each index of the leading axes, which broadcast.

    Args:
      a: any[*batch, m, k] or any[k]
      b: any[*batch, k, n] or any[k]

    Returns:
      any[*batch, m, n], without m or n where the operand is a vector

    Raises:
      TypeError: if the contracted sizes differ. ValueError: for scalars, or if batch axes do not broadcast.

    Example:
      >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
      (5, 2, 4)
    """
    x, y = promotion.promoted(a, b)
    xt, yt = type_of(x), type_of(y)
    if xt.ndim == 2 == yt.ndim:
        check_sizes(xt, 1, yt, 0)
        out = contracted(x, y, MATRICES, precision, preferred_element_type)
    else:
        _check_ndim(xt, 1, "lhs")
        _check_ndim(yt, 1, "rhs")
        out = stacked(x, y, min(xt.ndim, 2), min(yt.ndim, 2), precision, preferred_element_type)
    return placed(out, out_sharding)  # type: ignore[no-any-return]


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Matrices times vectors, for each index of the leading axes, which broadcast.

    Args:
      x1: any[*batch, m, k]
      x2: any[*batch, k]

    Returns:
      any[*batch, m]

    Raises:
      TypeError: if the contracted sizes differ. ValueError: if axes are missing or do not broadcast.

    Example:
      >>> jnp.matvec(jnp.ones((2, 3)), jnp.ones(3))
      Array([3., 3.], dtype=float32)
    """
    x, y = promotion.promoted(x1, x2)
    _check_ndim(type_of(x), 2, "lhs")
    _check_ndim(type_of(y), 1, "rhs")
    return stacked(x, y, 2, 1, None, None)  # type: ignore[no-any-return]


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Vectors, complex ones conjugated, times matrices, for each index of the leading axes, which broadcast.

    Args:
      x1: any[*batch, k]
      x2: any[*batch, k, n]

    Returns:
      any[*batch, n]

    Raises:
      TypeError: if the contracted sizes differ. ValueError: if axes are missing or do not broadcast.

    Example:
      >>> jnp.vecmat(jnp.ones(2), jnp.ones((2, 3)))
      Array([2., 2., 2.], dtype=float32)
    """
    x, y = promotion.promoted(x1, x2)
    _check_ndim(type_of(x), 1, "lhs")
    _check_ndim(type_of(y), 2, "rhs")
    return stacked(conjugated(x), y, 1, 2, None, None)  # type: ignore[no-any-return]


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """Products of vectors along an axis, those of `x1` conjugated if complex; the other axes broadcast.

    Args:
      x1: any[*batch, k]
      x2: any[*batch, k]
      axis: the axis of the vectors, in either operand.

    Returns:
      any[*batch]

    Raises:
      TypeError: if the contracted sizes differ. ValueError: for scalars, or if batch axes do not broadcast.

    Example:
      >>> jnp.vecdot(jnp.ones((2, 3)), jnp.ones(3))
      Array([3., 3.], dtype=float32)
    """
    x, y = promotion.promoted(x1, x2)
    xt, yt = type_of(x), type_of(y)
    _check_ndim(xt, 1, "lhs")
    _check_ndim(yt, 1, "rhs")
    i, j = one_axis(axis, xt.ndim), one_axis(axis, yt.ndim)
    check_sizes(xt, i, yt, j, "check the axis")
    return stacked(conjugated(_to_end(x, i)), _to_end(y, j), 1, 1, precision,  # type: ignore[no-any-return]
                   preferred_element_type)


def _to_end(x: Any, axis: int) -> Any:
    ndim = type_of(x).ndim
    return x if axis == ndim - 1 else move.transpose(x, perm=(*[i for i in range(ndim) if i != axis], axis))


def dot(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
        preferred_element_type: DTypeLike | None = None, out_sharding: Any = None) -> Array:
    """The sum of products over the last axis of `a` and the last but one of `b`; with a scalar, the product.

    Args:
      a: any[*first, k]
      b: any[*second, k, n] or any[k]

    Returns:
      any[*first, *second, n]: unlike `matmul`, every matrix of `a` meets every one of `b`.

    Raises:
      TypeError: if the contracted sizes differ.

    Example:
      >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4])).item()
      11
    """
    x, y = promotion.promoted(a, b)
    xt, yt = type_of(x), type_of(y)
    if xt.ndim and yt.ndim:
        j = max(yt.ndim - 2, 0)
        check_sizes(xt, xt.ndim - 1, yt, j)
        out = contracted(x, y, (((xt.ndim - 1,), (j,)), ((), ())), precision, preferred_element_type)
    else:
        out = multiplied(x, y, preferred_element_type)
    return placed(array(out), out_sharding)  # type: ignore[no-any-return]


def inner(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
          preferred_element_type: DTypeLike | None = None) -> Array:
    """The sum of products over the last axes of both operands; with a scalar, the product.

    Args:
      a: any[*first, k]
      b: any[*second, k]

    Returns:
      any[*first, *second]

    Raises:
      TypeError: if the contracted sizes differ.

    Example:
      >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4])).item()
      11
    """
    x, y = promotion.promoted(a, b)
    xt, yt = type_of(x), type_of(y)
    if not (xt.ndim and yt.ndim):
        return array(multiplied(x, y, preferred_element_type))  # type: ignore[no-any-return]
    i, j = xt.ndim - 1, yt.ndim - 1
    check_sizes(xt, i, yt, j, "the last axes of both are contracted; use matmul for matrix products")
    return contracted(x, y, (((i,), (j,)), ((), ())), precision, preferred_element_type)  # type: ignore[no-any-return]


def vdot(a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None,
         preferred_element_type: DTypeLike | None = None) -> Array:
    """The sum of the products of all elements, those of `a` conjugated if complex.

    Args:
      a: any[...]
      b: any[...], with as many elements.

    Returns:
      any[]

    Raises:
      TypeError: if the numbers of elements differ.

    Example:
      >>> jnp.vdot(jnp.array([1j]), jnp.array([1j])).item()
      (1+0j)
    """
    x, y = [flat(v) for v in promotion.promoted(a, b)]
    check_sizes(x.type, 0, y.type, 0, "give both as many elements")
    return contracted(conjugated(x), y, (((0,), (0,)), ((), ())), precision,  # type: ignore[no-any-return]
                      preferred_element_type)


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The products of every element of `a` with every element of `b`.

    Args:
      a: any[...] of m elements
      b: any[...] of n elements
      out: None; arrays are immutable.

    Returns:
      any[m, n]

    Example:
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    no_out(out)
    x, y = [flat(v) for v in promotion.promoted(a, b)]
    return pairwise(x, "m", y, "n", "mn", None, None)  # type: ignore[no-any-return]


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: every element of `a` times the whole of `b`, as blocks.

    Args:
      a: number[m, ...]
      b: number[p, ...]

    Returns:
      number[m * p, ...]: of the larger number of axes; missing ones count as of size 1, at the front.

    Example:
      >>> jnp.kron(jnp.array([1, 2]), jnp.array([1, 1]))
      Array([1, 1, 2, 2], dtype=int32)
    """
    x, y = promotion.promoted(a, b)
    xs, ys = type_of(x).shape, type_of(y).shape
    ndim = max(len(xs), len(ys))
    if not (xs and ys):
        return array(multiplied(x, y))  # type: ignore[no-any-return]
    xs, ys = (1,) * (ndim - len(xs)) + xs, (1,) * (ndim - len(ys)) + ys
    x = move.reshape(x, shape=tuple([n for size in xs for n in (size, 1)]))
    y = move.reshape(y, shape=tuple([n for size in ys for n in (1, size)]))
    return move.reshape(multiplied(x, y), shape=tuple([m * n for m, n in zip(xs, ys)]))  # type: ignore[no-any-return]


# -- products of tensors ------------------------------------------------------------------------------


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2, *,
              precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: Any = None) -> Array:
    """The sum of products over chosen axes.

    Args:
      a, b: any[...]
      axes: n: the last n axes of `a` go with the first n of `b`; (i, j): axis i of `a` with axis j of `b`;
        (is, js): several such pairs.

    Returns:
      any[other axes of a, other axes of b]

    Raises:
      TypeError: if sizes differ, axes repeat, or `axes` is none of these forms.

    Example:
      >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((4, 3)), axes=((1, 2), (1, 0))).shape
      (2,)
    """
    x, y = promotion.promoted(a, b)
    xt, yt = type_of(x), type_of(y)
    left, right = _paired_axes(axes, xt, yt)
    for i, j in zip(left, right):
        check_sizes(xt, i, yt, j, "check the axes")
    if not xt.ndim and not yt.ndim:
        return array(multiplied(x, y, preferred_element_type))  # type: ignore[no-any-return]
    out = contracted(x, y, ((left, right), ((), ())), precision, preferred_element_type)
    return placed(out, out_sharding)  # type: ignore[no-any-return]


def _paired_axes(axes: Any, x: ArrayType, y: ArrayType) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of lhs and of rhs that go together."""
    if isinstance(axes, (int, np.integer)):
        n = int(axes)
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise errors.type_error(
                f"axes is {n}; from 0 to {min(x.ndim, y.ndim)} axes of lhs {x} and rhs {y} can be contracted",
                fix="give the axes as a pair of sequences")
        return tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    if isinstance(axes, (tuple, list)) and len(axes) == 2:
        left, right = ((side,) if isinstance(side, (int, np.integer)) else side for side in axes)
        if isinstance(left, (tuple, list)) and isinstance(right, (tuple, list)):
            if len(left) != len(right):
                raise errors.type_error(f"axes come in pairs: {tuple(left)} of lhs, {tuple(right)} of rhs",
                                        fix="give as many axes for lhs as for rhs")
            pairs = tuple([one_axis(i, x.ndim) for i in left]), tuple([one_axis(j, y.ndim) for j in right])
            for side, given in zip(("lhs", "rhs"), pairs):
                if len(set(given)) != len(given):
                    raise errors.type_error(f"axes of {side} {given} name one axis twice",
                                            fix="name each axis once")
            return pairs
    raise errors.type_error(f"axes is {axes!r}; an int, a pair of ints or a pair of sequences is required",
                            fix="axes=1 contracts the last axis of lhs with the first of rhs")


def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: int | None = None) -> Array:
    """The cross product of vectors of 3 components, or of 2, whose third is 0; the other axes broadcast.

    Args:
      a: number[*batch, 2 or 3]
      b: number[*batch, 2 or 3]
      axisa, axisb, axisc: the axis of the components in `a`, in `b`, and in the result.
      axis: in place of the three.

    Returns:
      number[*batch, 3]; of vectors of 2 components only the third component of the product, number[*batch]

    Raises:
      ValueError: if the number of components is neither 2 nor 3, or the other axes do not broadcast.

    Example:
      >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = [array(v) for v in promotion.promoted(a, b)]
    for side, t in (("lhs", x.type), ("rhs", y.type)):
        _check_ndim(t, 1, side)
    x, y = _to_end(x, one_axis(axisa, x.type.ndim)), _to_end(y, one_axis(axisb, y.type.ndim))
    for side, t in (("lhs", x.type), ("rhs", y.type)):
        if t.shape[-1] not in (2, 3):
            raise errors.value_error(f"{side} {t} has vectors of size {t.shape[-1]}, 2 or 3 is required",
                                     fix="name the axis of the components")
    xs, ys = _components(x), _components(y)
    shape = promotion.broadcast_shapes([x.type.shape[:-1], y.type.shape[:-1]])

    def minor(i: int, j: int) -> Any:
        parts = [elementwise.mul(*promotion.broadcast(xs[m], ys[n])) for m, n in ((i, j), (j, i))
                 if m < len(xs) and n < len(ys)]
        if len(parts) == 2:
            return elementwise.sub(*parts)
        return parts[0] if i < len(xs) and j < len(ys) else elementwise.neg(parts[0])

    if len(xs) == len(ys) == 2:
        return _strong(minor(0, 1))  # type: ignore[no-any-return]
    rows = [promotion.broadcast_to(array(minor(i, j)), shape) for i, j in ((1, 2), (2, 0), (0, 1))]
    out = _strong(move.concatenate(*[move.reshape(row, shape=(*shape, 1)) for row in rows], axis=len(shape)))
    place = one_axis(axisc, len(shape) + 1)
    order = list(range(len(shape)))
    order.insert(place, len(shape))
    return arranged(out, range(len(order)), order)  # type: ignore[no-any-return]


def _components(x: Any) -> list[Any]:
    """The slices of `x` along its last axis, without that axis."""
    *outer_shape, n = x.type.shape
    start = (0,) * len(outer_shape)
    ones = (1,) * (len(outer_shape) + 1)
    return [move.reshape(move.slice(x, start=(*start, i), limit=(*outer_shape, i + 1), strides=ones),
                         shape=tuple(outer_shape)) for i in range(n)]


def _strong(x: Any) -> Any:
    return retype(x, type_of(x).dtype)


# -- the diagonal -------------------------------------------------------------------------------------


def diagonal_of(x: Any, first: int, second: int, offset: int = 0) -> Any:
    """The elements of `x` at i on axis `first` and i + offset on axis `second`, as the last axis."""
    axes = [i for i in range(x.type.ndim) if i not in (first, second)]
    x = arranged(x, range(x.type.ndim), [*axes, first, second])
    *shape, rows, columns = x.type.shape
    low, left = max(-offset, 0), max(offset, 0)
    count = max(min(rows - low, columns - left), 0)
    start, ones = (0,) * len(shape), (1,) * len(shape)
    if (count, count) != (rows, columns):
        low, left = (min(low, rows), min(left, columns)) if count else (0, 0)
        x = move.slice(x, start=(*start, low, left), limit=(*shape, low + count, left + count),
                       strides=(*ones, 1, 1))
    if count < 2:
        return move.reshape(x, shape=(*shape, count))
    # In a square read row by row, the elements of the diagonal stand `count` + 1 apart.
    x = move.reshape(x, shape=(*shape, count * count))
    return move.slice(x, start=(*start, 0), limit=(*shape, count * count), strides=(*ones, count + 1))


def trace(a: ArrayLike, offset: int | ArrayLike = 0, axis1: int = 0, axis2: int = 1,
          dtype: DTypeLike | None = None, out: None = None) -> Array:
    """The sum along a diagonal.

    Args:
      a: any[..., m, n]
      offset: how far the diagonal is above the main one.
      axis1, axis2: the axes of the matrices.
      dtype: of the sum; None: that of `a`, with booleans and narrow integers in the default integer dtype.

    Returns:
      any[...]

    Raises:
      ValueError: if an axis does not exist, or both are one.

    Example:
      >>> jnp.trace(jnp.eye(3)).item()
      3.0
    """
    no_out(out)
    x = array(a)
    first, second = one_axis(axis1, x.type.ndim), one_axis(axis2, x.type.ndim)
    if first == second:
        raise errors.value_error(f"axis1 and axis2 are both axis {first} of {x.type}; two axes are required",
                                 fix="name the axes of the matrices")
    x = retype(x, requested(dtype, "trace") or summed_dtype(x.type.dtype))
    if is_scalar(offset) or is_known(offset):
        return total(diagonal_of(x, first, second, integer(offset, "offset")),  # type: ignore[no-any-return]
                     (x.type.ndim - 2,))
    shape = x.type.shape
    rows, columns = (TABLE["iota"](shape=shape, dtype=dtypes.int32, axis=i) for i in (first, second))
    on = elementwise.eq(elementwise.sub(columns, rows), retype(array(offset), dtypes.int32))
    return total(elementwise.select_n(on, like(x, 0), x), (first, second))  # type: ignore[no-any-return]
