"""Products of arrays: dot, dot_general, batch_matmul, and how exactly they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.operand import placed
from pullback.ops import contract
from pullback.ops.contract import DotAlgorithm, DotAlgorithmPreset, Precision, canonical_precision
from pullback.ops.families import ANY, check_kind
from pullback.ops.move import as_shape

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "DotDimensionNumbers", "Precision", "PrecisionLike",
           "batch_matmul", "dot", "dot_general"]

ArrayLike = Any
DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]
PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm |
                 DotAlgorithmPreset)


def preferred(requested: Any, natural: Any, name: str) -> Any:
    """The dtype of the result that a caller asked for, if it may stand for `natural`; None if none."""
    if requested is None:
        return None
    dtype = dtypes.canonicalize_requested(requested, name)
    kind = dtypes.kind(natural)
    bits = dtypes.itemsize_bits(dtypes.to_real(natural) if kind == "c" else natural)
    # A float is rounded to whatever is asked for; a narrower integer would hide an overflow.
    if kind in "iuc" and (dtypes.kind(dtype) == "b" or dtypes.itemsize_bits(dtype) < bits):
        raise errors.type_error(
            f"preferred_element_type {dtypes.short_name(dtype)} is narrower than the dtype of the product, "
            f"{dtypes.short_name(natural)}", fix="leave it out and convert the result with astype")
    return dtype


def dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: DotDimensionNumbers,
                precision: PrecisionLike = None, preferred_element_type: Any = None, *,
                out_sharding: Any = None) -> Array:
    """Products of `lhs` and `rhs` summed over contracted axes, for each index of the batch axes.

    Args:
      lhs, rhs: any[...]
      dimension_numbers: ((lhs contracted, rhs contracted), (lhs batch, rhs batch)), each a sequence of axes;
        axes at the same place in two sequences have the same size.
      precision: see Precision, DotAlgorithm.
      preferred_element_type: dtype in which the sum is formed and returned; None: that of the operands.

    Returns:
      any[batch axes, free axes of lhs, free axes of rhs]

    Raises:
      TypeError: if axes do not exist, repeat, or differ in size.

    Example:
      >>> x, y = jnp.ones((8, 2, 3)), jnp.ones((8, 3, 4))
      >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
      (8, 2, 4)
    """
    x, y = value(lhs), value(rhs)
    dims = _dims(dimension_numbers)
    xt, yt = type_of(x), type_of(y)
    check_kind((xt, yt), ANY)
    how = canonical_precision(precision)
    algorithm = contract.resolved(how)
    if isinstance(algorithm, DotAlgorithm) and "f8" in algorithm[:2] and not all(
            [dtypes.short_name(t.dtype).startswith("f8") for t in (xt, yt)]):
        raise errors.value_error(f"precision {precision} is for 8-bit floats, got {xt} and {yt}",
                                 fix="convert the operands, or choose another algorithm")
    dtype = preferred(preferred_element_type, contract.result_dtype(xt.dtype, yt.dtype), "dot_general")
    result = contract.dot_general(x, y, dims=dims, precision=how, dtype=dtype)
    return placed(result, out_sharding)


def _dims(given: Any) -> contract.Dims:
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = given
    except (TypeError, ValueError):
        raise errors.type_error(
            f"dimension_numbers are {given!r}; ((lhs contracted, rhs contracted), (lhs batch, rhs batch)) is "
            "required", fix="for a matrix product write (((1,), (0,)), ((), ()))") from None
    what = "dimension_numbers"
    return ((as_shape(lhs_contract, what), as_shape(rhs_contract, what)),
            (as_shape(lhs_batch, what), as_shape(rhs_batch, what)))


def dot(lhs: ArrayLike, rhs: ArrayLike, *, dimension_numbers: DotDimensionNumbers | None = None,
        precision: PrecisionLike = None, preferred_element_type: Any = None, out_sharding: Any = None
        ) -> Array:
    """The product of vectors or matrices; with `dimension_numbers`, `dot_general`.

    Args:
      lhs: any[n] or any[m, n]
      rhs: any[n] or any[n, k]
      precision, preferred_element_type: as in `dot_general`.

    Raises:
      ValueError: if the operands are no vectors or matrices, or their sizes differ.

    Example:
      >>> lax.dot(jnp.array([1, 2]), jnp.array([3, 4])).item()
      11
    """
    if dimension_numbers is None:
        xt, yt = type_of(value(lhs)), type_of(value(rhs))
        if not (1 <= xt.ndim <= 2 and 1 <= yt.ndim <= 2):
            raise errors.value_error(f"vectors or matrices are required, got lhs {xt} and rhs {yt}",
                                     fix="pass dimension_numbers, or use jnp.dot or jnp.matmul")
        if xt.shape[-1] != yt.shape[0]:
            raise errors.value_error(
                f"contracted sizes differ: lhs {xt} axis {xt.ndim - 1} has size {xt.shape[-1]}, rhs {yt} "
                f"axis 0 has size {yt.shape[0]}", fix="transpose one operand, or pass dimension_numbers")
        dimension_numbers = (((xt.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type,
                       out_sharding=out_sharding)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Matrix products for each index of the leading axes.

    Args:
      lhs: any[*batch, m, n]
      rhs: any[*batch, n, k]

    Returns:
      any[*batch, m, k]

    Raises:
      ValueError: if an operand has fewer than two axes, or their numbers of axes differ.

    Example:
      >>> lax.batch_matmul(jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5))).shape
      (2, 3, 5)
    """
    x, y = value(lhs), value(rhs)
    xt, yt = type_of(x), type_of(y)
    if xt.ndim < 2 or xt.ndim != yt.ndim:
        raise errors.value_error(
            f"operands of equal rank, at least 2, are required, got lhs {xt} and rhs {yt}",
            fix="add axes with jnp.expand_dims, or use jnp.matmul, which broadcasts")
    n = xt.ndim
    batch = tuple(range(n - 2))
    return dot_general(x, y, (((n - 1,), (n - 2,)), (batch, batch)), precision)
