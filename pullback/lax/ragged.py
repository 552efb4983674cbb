"""Products of groups of rows with a matrix per group, and products of numbers that share scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.contract import DotDimensionNumbers, PrecisionLike, dot_general
from pullback.lax.operand import placed, retype
from pullback.ops import cumulative, elementwise, move
from pullback.ops.integer import and_
from pullback.ops.move import as_shape

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]

ArrayLike = Any


class RaggedDotDimensionNumbers:
    """Which axes a ragged product contracts, batches, and cuts into groups.

    Args:
      dot_dimension_numbers: as for dot_general.
      lhs_ragged_dimensions: the axis of lhs that is cut into groups.
      rhs_group_dimensions: the axis of rhs that has an entry for each group; () unless the ragged axis is a free one.
    """

    def __init__(self, dot_dimension_numbers: DotDimensionNumbers, lhs_ragged_dimensions: Sequence[int],
                 rhs_group_dimensions: Sequence[int]) -> None:
        (lhs, rhs), (lhs_batch, rhs_batch) = dot_dimension_numbers
        self.dot_dimension_numbers = (tuple(lhs), tuple(rhs)), (tuple(lhs_batch), tuple(rhs_batch))
        self.lhs_ragged_dimensions = tuple(lhs_ragged_dimensions)
        self.rhs_group_dimensions = tuple(rhs_group_dimensions)

    def __repr__(self) -> str:
        return (f"RaggedDotDimensionNumbers(dot_dimension_numbers={self.dot_dimension_numbers}, lhs_ragged_dimensions="
                f"{self.lhs_ragged_dimensions}, rhs_group_dimensions={self.rhs_group_dimensions})")


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(lhs: Array, rhs: Array, group_sizes: Array, precision: PrecisionLike = None,
               preferred_element_type: Any = None, group_offset: Array | None = None, out_sharding: Any = None
               ) -> Array:
    """The rows of `lhs`, in consecutive groups, each times the matrix of its group.

    Args:
      lhs: any[m, k]
      rhs: any[g, k, n]
      group_sizes: int[g]: the numbers of rows; rows behind the last group give 0.
      precision, preferred_element_type: as for dot_general.
      group_offset: None.

    Returns:
      any[m, n]

    Raises:
      TypeError: if sizes do not fit, or group_sizes are no integers.

    Example:
      >>> lax.ragged_dot(jnp.ones((3, 1)), jnp.array([[[2.0]], [[5.0]]]), jnp.array([1, 2]))
      Array([[2.],
             [5.],
             [5.]], dtype=float32)
    """
    return ragged_dot_general(lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset,
                              out_sharding)


def ragged_dot_general(lhs: Array, rhs: Array, group_sizes: Array,
                       ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision: PrecisionLike = None,
                       preferred_element_type: Any = None, group_offset: Array | None = None, out_sharding: Any = None
                       ) -> Array:
    """A general product in which an axis of `lhs` consists of consecutive groups.

    Where that axis is free, each group is multiplied with its part of `rhs`; where it is contracted, the result has a
    leading axis with the sum of each group; where it is a batch axis, groups make no difference.

    Args:
      lhs, rhs: any[...]
      group_sizes: int[g], or int[batch axes, g].
      ragged_dot_dimension_numbers: the axes.
      precision, preferred_element_type: as for dot_general.
      group_offset: None.

    Raises:
      TypeError: if axes or sizes do not fit, or group_sizes are no integers.
    """
    x, y, sizes = value(lhs), value(rhs), value(group_sizes)
    xt, yt, st = type_of(x), type_of(y), type_of(sizes)
    numbers = ragged_dot_dimension_numbers
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    if group_offset is not None:
        raise errors.value_error("group_offset is given, None is required: all groups are here",
                                 fix="leave it out")
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise errors.type_error(f"lhs_ragged_dimensions are {numbers.lhs_ragged_dimensions}, one axis is required",
                                fix="name one axis")
    if not dtypes.is_integer(st.dtype):
        raise errors.type_error(f"group_sizes are {st}, integers are required", fix="convert them with astype(int)")
    ragged = errors.check_axis(numbers.lhs_ragged_dimensions[0], xt.ndim)
    dims = numbers.dot_dimension_numbers
    if ragged in lhs_batch:
        return dot_general(x, y, dims, precision, preferred_element_type, out_sharding=out_sharding)
    batch = tuple([xt.shape[axis] for axis in lhs_batch])
    count = st.shape[-1] if st.ndim else 0
    if not st.ndim or st.shape[:-1] not in ((), batch):
        raise errors.type_error(f"group_sizes are {st}, one size per group, or {batch} of them, are required",
                                fix="pass a vector")
    masked = _of_groups(x, sizes, ragged, lhs_batch if st.ndim > 1 else (), count)
    contracted = ragged in lhs_contract
    groups = numbers.rhs_group_dimensions
    if len(groups) != (0 if contracted else 1):
        raise errors.type_error(f"rhs_group_dimensions are {groups}, {'none' if contracted else 'one axis'} is "
                                "required where the ragged axis is " + ("contracted" if contracted else "free"),
                                fix="name the axis of rhs with an entry for each group")
    later = tuple([axis + 1 for axis in lhs_contract])
    batches = (tuple([axis + 1 for axis in lhs_batch]), rhs_batch)
    if contracted:
        out = dot_general(masked, y, ((later, rhs_contract), batches), precision, preferred_element_type)
        first = len(batch)  # where the axis of the groups stands: the first free one of lhs
        perm = (first, *range(first), *range(first + 1, out.ndim))
        return placed(move.transpose(out, perm=perm), out_sharding)  # type: ignore[no-any-return]
    group = errors.check_axis(groups[0], yt.ndim)
    if yt.shape[group] != count:
        raise errors.type_error(f"there are {count} group sizes, rhs {yt} has {yt.shape[group]} along axis {group}",
                                fix="give a size for each group")
    return dot_general(masked, y, (((0, *later), (group, *rhs_contract)), batches), precision, preferred_element_type,
                       out_sharding=out_sharding)


def _of_groups(x: Any, sizes: Any, axis: int, batch: Sequence[int], count: int) -> Any:
    """`x` for each group, with 0 in place of the elements along `axis` that are not of it: any[group, ...]."""
    t = type_of(x)
    sizes = retype(sizes, dtypes.int32)
    last = type_of(sizes).ndim - 1
    ends = cumulative.cumsum(sizes, axis=last, reverse=False)
    starts = elementwise.sub(ends, sizes)
    shape = (count, *t.shape)
    dims = (*[b + 1 for b in batch], 0)  # of the sizes, whose last axis is that of the groups
    order = sorted(range(len(dims)), key=dims.__getitem__)
    starts, ends = (move.broadcast_in_dim(move.transpose(v, perm=tuple(order)), shape=shape,
                                          dims=tuple([dims[i] for i in order])) for v in (starts, ends))
    place = move.broadcast_in_dim(move.iota(shape=(t.shape[axis],), dtype=dtypes.int32, axis=0), shape=shape,
                                  dims=(axis + 1,))
    inside = and_(elementwise.ge(place, starts), elementwise.lt(place, ends))
    whole = move.broadcast_in_dim(x, shape=shape, dims=tuple(range(1, t.ndim + 1)))
    return elementwise.select_n(inside, move.broadcast_in_dim(t.dtype.type(0), shape=shape, dims=()), whole)


# -- scales -------------------------------------------------------------------------------------------

def scaled_dot(lhs: Array, rhs: Array, *, lhs_scale: Array | None = None, rhs_scale: Array | None = None,
               dimension_numbers: DotDimensionNumbers | None = None, preferred_element_type: Any = None) -> Array:
    """A product of arrays whose elements share scales block by block.

    Args:
      lhs, rhs: any[...]
      lhs_scale, rhs_scale: arrays of as many axes; along a contracted axis, with a scale for each block of elements.
      dimension_numbers: as for dot_general; None: a matrix product, for each index of leading axes.
      preferred_element_type: dtype of the result; None: bfloat16.

    Returns:
      The product of the scaled operands, which are rounded to bfloat16.

    Raises:
      TypeError: if ranks differ or sizes do not fit.

    Example:
      >>> lax.scaled_dot(jnp.ones((1, 4)), jnp.ones((4, 1)), lhs_scale=jnp.array([[1.0, 3.0]]))
      Array([[8]], dtype=bfloat16)
    """
    x, y = value(lhs), value(rhs)
    xt, yt = type_of(x), type_of(y)
    if xt.ndim < 2 or xt.ndim != yt.ndim:
        raise errors.type_error(f"got lhs {xt} and rhs {yt}, two axes or more, and equally many, are required",
                                fix="add axes")
    if dimension_numbers is None:
        batch = tuple(range(xt.ndim - 2))
        dimension_numbers = (((xt.ndim - 1,), (xt.ndim - 2,)), (batch, batch))
    (lhs_contract, rhs_contract), _ = dimension_numbers
    x = _scaled(x, lhs_scale, as_shape(lhs_contract), "lhs")
    y = _scaled(y, rhs_scale, as_shape(rhs_contract), "rhs")
    out = dot_general(x, y, dimension_numbers, None, preferred_element_type or dtypes.bfloat16)
    return out


def _scaled(x: Any, scale: Any, contracted: Sequence[int], what: str) -> Any:
    x = retype(x, dtypes.bfloat16)
    if scale is None:
        return x
    s = retype(value(scale), dtypes.bfloat16)
    t, given = type_of(x), type_of(s)
    if t.ndim != given.ndim:
        raise errors.type_error(f"{what} is {t} and its scale {given}, equally many axes are required",
                                fix="reshape the scale")
    for axis, (n, m) in enumerate(zip(t.shape, given.shape)):
        if n != m and axis not in contracted or axis in contracted and (not m or n % m or n == m > 1):
            raise errors.type_error(
                f"{what} is {t} and its scale {given}: along axis {axis} " + (
                    "the size of the scale must divide that of the array" if axis in contracted else
                    "sizes must be equal"), fix="give a scale for each block of elements")
    return elementwise.mul(x, blockwise(s, t.shape))


def blockwise(scale: Any, shape: tuple[int, ...]) -> Any:
    """A scale per block as one per element: each repeated along axes whose size in `shape` is a multiple."""
    sizes = type_of(scale).shape
    pairs = [(m, n // m) for n, m in zip(shape, sizes)]
    wide = tuple([k for pair in pairs for k in pair])
    repeated = move.broadcast_in_dim(scale, shape=wide, dims=tuple(range(0, 2 * len(sizes), 2)))
    return move.reshape(repeated, shape=shape)
