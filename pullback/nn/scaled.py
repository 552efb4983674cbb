"""Products of 8- and 4-bit floats that share a scale block by block.

Source of the formats: OCP Microscaling Formats (MX) Specification 1.0 (2023) for mxfp8.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pullback.api.custom import custom_vjp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.contract import DotDimensionNumbers, dot_general
from pullback.lax.operand import retype
from pullback.lax.ragged import blockwise
from pullback.numpy import elementwise, logic, reductions, transcendental
from pullback.numpy.arguments import array
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]

_BATCHED: DotDimensionNumbers = (((2,), (2,)), ((0,), (0,)))


@dataclasses.dataclass(frozen=True)
class BlockScaleConfig:
    """How numbers are rounded to few bits: `data_type`, with a scale of `scale_type` for `block_size` of them."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Array | None = None
    infer_only: bool = False


def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> BlockScaleConfig:
    """The rounding of a format.

    Args:
      mode: 'mxfp8' (float8_e4m3fn, a power of two per 32 elements) or 'nvfp4' (float4_e2m1fn, a float8_e4m3fn per 16).
      global_scale: for 'nvfp4', a further scale of the whole array; None: 1.

    Raises:
      ValueError: for another word.

    Example:
      >>> nn.get_scaled_dot_general_config("mxfp8").block_size
      32
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, dtypes.float8_e4m3fn.type, dtypes.float8_e8m0fnu.type)
    if mode == "nvfp4":
        scale = array(np.ones(1, np.float32)) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, dtypes.float4_e2m1fn.type, dtypes.float8_e4m3fn.type, scale)
    raise errors.value_error(f"mode is {mode!r}, 'mxfp8' or 'nvfp4' is required", fix="check the spelling")


def scaled_matmul(lhs: Array, rhs: Array, lhs_scales: Array, rhs_scales: Array, preferred_element_type: Any = np.float32
                  ) -> Array:
    """The product of batches of matrices, of which each block of elements has a scale.

    Args:
      lhs: any[b, m, k]
      rhs: any[b, n, k]
      lhs_scales: any[b, m, blocks]
      rhs_scales: any[b, n, blocks], where the number of blocks divides k.
      preferred_element_type: dtype of the result, to which the operands are converted.

    Returns:
      dtype[b, m, n]

    Raises:
      ValueError: unless all have three axes and sizes fit.

    Example:
      >>> one = jnp.ones((1, 1, 2))
      >>> nn.scaled_matmul(one, one, 3 * one[..., :1], one[..., :1])
      Array([[[6.]]], dtype=float32)
    """
    x, y, s, r = (array(v) for v in (lhs, rhs, lhs_scales, rhs_scales))
    if not x.type.ndim == y.type.ndim == s.type.ndim == r.type.ndim == 3:
        raise errors.value_error(f"got lhs {x.type}, rhs {y.type}, scales {s.type} and {r.type}, three axes each are "
                                 "required", fix="add a batch axis")
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[2]:
        raise errors.value_error(f"got lhs {x.type} and rhs {y.type}, which must agree in batch and contracted size",
                                 fix="contracted axes come last")
    for what, v, scale in (("lhs", x, s), ("rhs", y, r)):
        blocks = scale.shape[2]
        if scale.shape[:2] != v.shape[:2] or not blocks or v.shape[2] % blocks:
            raise errors.value_error(f"{what} is {v.type} and its scales {scale.type}, one for each block of the last "
                                     "axis is required", fix="check the block size")
    held = dtypes.canonicalize_requested(preferred_element_type, "scaled_matmul")
    wide = [elementwise.multiply(retype(v, held), blockwise(retype(scale, held), v.shape))
            for v, scale in ((x, s), (y, r))]
    return dot_general(*wide, _BATCHED, preferred_element_type=held)


def _rounded(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """`x` in the format of `config`, and the scales of its blocks."""
    *rest, n = x.shape
    size = config.block_size
    if n % size:
        raise errors.value_error(f"the contracted size is {n}, a multiple of {size}, the block size of {config.mode}, "
                                 "is required", op="scaled_dot_general", fix="pad with zeros")
    blocks = move.reshape(retype(x, dtypes.float32), shape=(*rest, n // size, size))
    largest = reductions.max(elementwise.abs(blocks), -1, keepdims=True)
    highest = float(dtypes.finfo(config.data_type).max)
    scale = largest / highest
    if config.mode == "mxfp8":  # the least power of two with which nothing overflows
        scale = transcendental.exp2(elementwise.ceil(transcendental.log2(logic.where(scale > 0, scale, 1.0))))
    else:
        scale = scale / config.global_scale
    scale = retype(retype(scale, np.dtype(config.scale_type)), dtypes.float32)
    whole = scale if config.mode == "mxfp8" else scale * config.global_scale
    scaled = elementwise.clip(blocks / logic.where(whole > 0, whole, 1.0), -highest, highest)
    data = retype(retype(scaled, np.dtype(config.data_type)), dtypes.float32)
    return move.reshape(data, shape=tuple(x.shape)), move.reshape(scale, shape=(*rest, n // size))


def _product(x: Any, y: Any, configs: Any, dtype: Any) -> Any:
    (a, s), (b, r) = _rounded(x, configs[0]), _rounded(y, configs[1])
    out = scaled_matmul(a, b, s, r)
    for config in configs[:2]:
        if config.mode == "nvfp4":
            out = out * config.global_scale
    return retype(out, dtype)


def scaled_dot_general(lhs: Any, rhs: Any, dimension_numbers: DotDimensionNumbers,
                       preferred_element_type: Any = np.float32, configs: list[BlockScaleConfig] | None = None,
                       implementation: str | None = None) -> Array:
    """A product of operands that are rounded to a format of few bits, with scales for blocks of elements.

    Args:
      lhs, rhs: float[...]
      dimension_numbers: as for lax.dot_general; one contracted axis.
      preferred_element_type: dtype of the result.
      configs: the formats of lhs, rhs and gradients, see get_scaled_dot_general_config; None: nothing is rounded.
      implementation: None or 'cudnn', which makes no difference here.

    Returns:
      dtype[batch axes, free axes of lhs, free axes of rhs]

    Raises:
      ValueError: if the contracted size is no multiple of the block size, or for another implementation.

    The derivative is that of the product without rounding.

    Example:
      >>> config = nn.get_scaled_dot_general_config("mxfp8")
      >>> x = jnp.ones((2, 32))
      >>> nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=[config] * 3)
      Array([[32., 32.],
             [32., 32.]], dtype=float32)
    """
    if implementation not in (None, "cudnn"):
        raise errors.value_error(f"implementation is {implementation!r}, None or 'cudnn' is required",
                                 fix="leave it out")
    x, y = array(lhs), array(rhs)
    if configs is None:
        return dot_general(x, y, dimension_numbers, preferred_element_type=preferred_element_type)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [[as_shape(axes) for axes in pair]
                                                            for pair in dimension_numbers]
    if len(lhs_contract) != 1 or len(rhs_contract) != 1:
        raise errors.value_error(f"{len(lhs_contract)} axes are contracted, one is required", fix="reshape operands")
    x, outer, free = _in_rows(x, lhs_contract, lhs_batch)
    y, _, others = _in_rows(y, rhs_contract, rhs_batch)
    dtype = dtypes.canonicalize_requested(preferred_element_type, "scaled_dot_general")
    out = _differentiable(tuple(configs), dtype)(x, y)
    return move.reshape(out, shape=(*outer, *free, *others))  # type: ignore[no-any-return]


def _in_rows(x: Any, contracted: Any, batch: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """An operand as any[batch, free, contracted], and the sizes of the axes that were joined."""
    t = x.type
    free = [axis for axis in range(t.ndim) if axis not in contracted and axis not in batch]
    outer, inner = tuple([t.shape[a] for a in batch]), tuple([t.shape[a] for a in free])
    x = move.transpose(x, perm=(*batch, *free, *contracted))
    rows = (int(np.prod(outer, dtype=np.int64)), int(np.prod(inner, dtype=np.int64)), t.shape[contracted[0]])
    return move.reshape(x, shape=rows), outer, inner


def _differentiable(configs: tuple[BlockScaleConfig, ...], dtype: Any) -> Any:
    def product(x: Any, y: Any) -> Any:
        return _product(x, y, configs, dtype)

    def forward(x: Any, y: Any) -> Any:
        return product(x, y), (x, y)

    def backward(residuals: Any, ct: Any) -> Any:
        x, y = residuals
        ct = retype(ct, dtypes.float32)
        of_x = dot_general(ct, retype(y, dtypes.float32), (((2,), (1,)), ((0,), (0,))))
        of_y = dot_general(ct, retype(x, dtypes.float32), (((1,), (1,)), ((0,), (0,))))
        return retype(of_x, x.dtype), retype(of_y, y.dtype)

    function = custom_vjp(product)
    function.defvjp(forward, backward)
    return function
