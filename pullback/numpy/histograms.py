"""Counts of elements: bincount, and histograms in one and more dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import Tracer
from pullback.lax.operand import placed, retype
from pullback.numpy import reductions
from pullback.numpy.arguments import ArrayLike, array, integer, is_known, known, like, part
from pullback.numpy.cumulative import diff
from pullback.numpy.promotion import as_array, operand, promoted
from pullback.numpy.ranges import linspace
from pullback.numpy.shape import ravel
from pullback.numpy.sorting import index_dtype, searchsorted
from pullback.ops import elementwise, move, scatter
from pullback.ops.index import GatherScatterMode, ScatterDims

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]

Range = Sequence[ArrayLike] | Array | None


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None,
             out_sharding: Any = None) -> Array:
    """How often each number from 0 on occurs.

    Args:
      x: int[n]; negative numbers count as 0.
      weights: number[n]: sum these instead of counting.
      minlength: the least size of the result.
      length: the size of the result, larger numbers being left out. Required for traced arrays.

    Returns:
      int[k], or of the dtype of the weights.

    Raises:
      TypeError: if `x` holds no integers, or the weights are booleans. ValueError: if `x` has not one axis,
        or the weights another size. ConcretizationTypeError: for a traced `x` and no length.

    Example:
      >>> jnp.bincount(jnp.array([0, 2, 2])).tolist()
      [1, 0, 2]
    """
    numbers = array(x)
    if dtypes.is_bool(numbers.type.dtype):
        numbers = retype(numbers, dtypes.int32)
    if not dtypes.is_integer(numbers.type.dtype):
        raise errors.make(errors.OperandError, f"x is {numbers.type}, integers are required",
                          fix="convert it with astype(int)")
    if numbers.type.ndim != 1:
        raise errors.value_error(f"x is {numbers.type}, one axis is required", fix="flatten it with ravel")
    n = numbers.type.size
    if length is not None:
        size = integer(length, "length")
    else:
        values = known(numbers, "the largest number", "give length=, the size of the result, known beforehand")
        size = max(integer(minlength, "minlength"), int(values.max()) + 1 if n else 0, 0)
    if weights is None:
        if not isinstance(numbers, Tracer):
            counts = np.bincount(np.clip(numbers.numpy(), 0, size).astype(np.int64), minlength=size)[:size]
            return placed(from_numpy(counts.astype(index_dtype())), out_sharding)
        added: Any = move.broadcast_in_dim(index_dtype().type(1), shape=(n,), dims=())
    else:
        added = array(weights)
        if added.type.shape != (n,):
            raise errors.value_error(f"weights are {added.type}, x is {numbers.type}: one shape is required",
                                     fix="give a weight for each element")
        if dtypes.is_bool(added.type.dtype):
            raise errors.type_error(f"weights are {added.type}, numbers are required",
                                    fix="convert them with astype(int)")
        added = retype(added, added.type.dtype)
    if dtypes.kind(numbers.type.dtype) == "i":
        numbers = elementwise.max(numbers, like(numbers, 0))
    return placed(_summed(numbers, added, size), out_sharding)


def _summed(numbers: Any, added: Any, size: int) -> Any:
    """The sums of `added` for each number below `size`; other numbers are left out."""
    n = numbers.type.shape[0]
    zeros = move.broadcast_in_dim(like(added, 0), shape=(size,), dims=())
    if not n or not size:
        return zeros
    return scatter.scatter_add(zeros, move.reshape(numbers, shape=(n, 1)), added, dims=ScatterDims((), (0,), (0,)),
                               mode=GatherScatterMode.FILL_OR_DROP, unique=False, sorted=False)


# -- histograms ---------------------------------------------------------------------------------------


def histogram_bin_edges(a: ArrayLike, bins: ArrayLike = 10, range: Range = None, weights: ArrayLike | None = None
                        ) -> Array:
    """The edges of the bins of a histogram.

    Args:
      a: real[...]
      bins: how many bins of equal size, or their edges real[k + 1].
      range: the first and the last edge; None: the least and the largest element.
      weights: of no effect on the edges.

    Returns:
      real[k + 1]

    Raises:
      ValueError: for fewer than 1 bin, a known range that falls, or edges with several axes.

    Example:
      >>> jnp.histogram_bin_edges(jnp.array([0.0, 2.0]), bins=2)
      Array([0., 1., 2.], dtype=float32)
    """
    x = array(a)
    dtype = dtypes.to_inexact(x.type.dtype)
    return _edges(x, bins, range, dtype)


def _edges(x: Any, bins: Any, range: Range, dtype: Any) -> Any:
    limits = operand(bins)
    if isinstance(limits, Array) and limits.type.ndim:
        if limits.type.ndim != 1:
            raise errors.value_error(f"bins is {limits.type}; a number of bins, or edges along one axis, are required",
                                     fix="pass the edges")
        return retype(limits, dtype)
    count = integer(limits, "bins")
    if count < 1:
        raise errors.value_error(f"bins is {count}, at least 1 is required", fix="pass the number of bins")
    low, high = _limits(x, range, dtype)
    return linspace(low, high, count + 1, dtype=dtype)


def _limits(x: Any, range: Range, dtype: Any) -> tuple[Any, Any]:
    if range is None:
        if not x.type.size:
            low, high = dtype.type(0), dtype.type(1)
        else:
            low, high = retype(reductions.min(x), dtype), retype(reductions.max(x), dtype)
    else:
        if isinstance(range, (Array, np.ndarray)):
            pair = array(range)
            ends = [move.reshape(part(pair, 0, i, i + 1), shape=()) for i in (0, 1)] if pair.type.shape == (2,) else []
        else:
            ends = list(range)
        if len(ends) != 2:
            raise errors.value_error(f"range is {range!r}, two numbers are required", fix="pass (low, high)")
        low, high = (as_array(retype(operand(end), dtype)) for end in ends)
        if is_known(low) and is_known(high) and not known(low, "", "") <= known(high, "", ""):
            raise errors.value_error(f"range is ({known(low, '', '')}, {known(high, '', '')}), which falls",
                                     fix="pass (low, high)")
    low, high = as_array(low), as_array(high)
    # An interval without length is given length 1.
    same = elementwise.eq(low, high)
    half = like(low, 0.5)
    return (elementwise.select_n(same, low, elementwise.sub(low, half)),
            elementwise.select_n(same, high, elementwise.add(high, half)))


def _bins(values: Any, edges: Any) -> Any:
    """The bin of each of flat values; the number of bins for those in none. The last bin has its right edge."""
    count = edges.type.shape[0] - 1
    place = searchsorted(edges, values, "right")
    last = move.broadcast_in_dim(move.reshape(part(edges, 0, count, count + 1), shape=()), shape=values.type.shape,
                                 dims=())
    place = elementwise.select_n(elementwise.eq(values, last), place, like(place, count))
    # Position 0 is before the first edge; position count + 1 is behind the last, which NaNs are too.
    outside = elementwise.eq(place, like(place, 0))
    return elementwise.select_n(outside, elementwise.sub(place, like(place, 1)), like(place, count))


def histogram(a: ArrayLike, bins: ArrayLike = 10, range: Range = None, weights: ArrayLike | None = None,
              density: bool | None = None, out_sharding: Any = None) -> tuple[Array, Array]:
    """How many elements fall into each of a row of bins.

    Args:
      a: real[...]
      bins: how many bins of equal size, or their edges real[k + 1], rising.
      range: the first and the last edge; None: the least and the largest element.
      weights: real[...] like `a`: sum these instead of counting.
      density: divide by the size of the bin and by the sum, so that the integral is 1.

    Returns:
      (float[k], edges float[k + 1]). A bin contains its left edge, the last one also its right edge.

    Raises:
      ValueError: for weights of another shape; as histogram_bin_edges.

    Example:
      >>> jnp.histogram(jnp.array([0.0, 1.0, 2.0]), bins=2)
      (Array([1., 2.], dtype=float32), Array([0., 1., 2.], dtype=float32))
    """
    x = array(a)
    if weights is None:
        dtype = dtypes.to_inexact(x.type.dtype)
        edges = _edges(x, bins, range, dtype)
        places = _bins(ravel(retype(x, dtype)), edges)
        counts: Any = retype(bincount(places, length=edges.type.shape[0] - 1), dtype)
    else:
        factors = array(weights)
        if factors.type.shape != x.type.shape:
            raise errors.value_error(f"weights are {factors.type}, a is {x.type}: one shape is required",
                                     fix="give a weight for each element")
        real = dtypes.to_inexact(x.type.dtype)
        dtype = dtypes.to_inexact(dtypes.promote([(real, False), (factors.type.dtype, False)])[0])
        edges = _edges(x, bins, range, dtypes.to_real(dtype))
        places = _bins(ravel(retype(x, dtypes.to_real(dtype))), edges)
        counts = bincount(places, ravel(retype(factors, dtype)), length=edges.type.shape[0] - 1)
        edges = retype(edges, dtype)
    if density:
        counts = elementwise.div(elementwise.div(counts, diff(edges)), reductions.sum(counts))
    return placed(counts, out_sharding), edges


def histogram2d(x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Sequence[Range] | None = None,
                weights: ArrayLike | None = None, density: bool | None = None) -> tuple[Array, Array, Array]:
    """How many points fall into each cell of a grid.

    Args:
      x, y: real[n], the coordinates.
      bins: for both coordinates, or a list with one entry for each: a number of bins, or their edges.
      range, weights, density: as for histogramdd.

    Returns:
      (counts[k, l], edges of x, edges of y)

    Example:
      >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    pair = [as_array(v) for v in promoted(x, y)]
    if pair[0].type.ndim != 1 or pair[0].type.shape != pair[1].type.shape:
        raise errors.value_error(f"x is {pair[0].type}, y is {pair[1].type}; one axis and one size are required",
                                 fix="flatten them with ravel")
    n = pair[0].type.size
    sample = move.concatenate(*[move.reshape(v, shape=(n, 1)) for v in pair], axis=1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(sample: ArrayLike, bins: Any = 10, range: Sequence[Range] | None = None,
                weights: ArrayLike | None = None, density: bool | None = None) -> tuple[Array, list[Array]]:
    """How many points fall into each cell of a grid.

    Args:
      sample: real[n, d], points in d dimensions.
      bins: for all dimensions, or a list with one entry for each: a number of bins, or their edges.
      range: for each dimension the first and the last edge, or None for the least and the largest coordinate.
      weights: real[n]: sum these instead of counting.
      density: divide by the volume of the cell and by the sum, so that the integral is 1.

    Returns:
      (counts[k_1, ..., k_d], list of edges)

    Raises:
      ValueError: if bins, range or weights do not fit the sample.

    Example:
      >>> jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    points = array(sample)
    if points.type.ndim != 2:
        raise errors.value_error(f"sample is {points.type}, points[n, d] are required",
                                 fix="stack the coordinates along axis 1")
    n, d = points.type.shape
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * d
    ranges = [None] * d if range is None else list(range)
    for name, given in (("bins", each), ("range", ranges)):
        if len(given) != d:
            raise errors.value_error(f"{name} has {move.count(len(given), 'entry', 'entries')}, the points have "
                                     f"{move.count(d, 'dimension')}", fix="give one for each dimension")
    dtype = dtypes.to_inexact(points.type.dtype)
    edges: list[Any] = []
    number: Any = None
    inside: Any = None
    for i, (limits, interval) in enumerate(zip(each, ranges)):
        column = move.reshape(part(points, 1, i, i + 1), shape=(n,))
        edges.append(_edges(column, limits, interval, dtype))
        count = edges[-1].type.shape[0] - 1
        place = _bins(retype(column, dtype), edges[-1])
        good = elementwise.lt(place, like(place, count))
        number = place if number is None else elementwise.add(elementwise.mul(number, like(number, count)), place)
        inside = good if inside is None else elementwise.select_n(good, np.bool_(False), inside)
    sizes = tuple([e.type.shape[0] - 1 for e in edges])
    total = int(np.prod(sizes, dtype=np.int64))
    number = elementwise.select_n(inside, like(number, total), number)
    if weights is None:
        counts: Any = bincount(number, length=total)
    else:
        factors = array(weights)
        if factors.type.shape != (n,):
            raise errors.value_error(f"weights are {factors.type}, the sample has {n} points",
                                     fix="give a weight for each point")
        counts = bincount(number, retype(factors, dtypes.to_inexact(factors.type.dtype)), length=total)
    counts = move.reshape(counts, shape=sizes)
    if density:
        counts = retype(counts, dtypes.to_inexact(counts.type.dtype))
        counts = elementwise.div(counts, reductions.sum(counts))
        for i, e in enumerate(edges):
            widths = move.broadcast_in_dim(retype(diff(e), counts.type.dtype), shape=sizes, dims=(i,))
            counts = elementwise.div(counts, widths)
    return counts, edges
