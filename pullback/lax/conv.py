"""Convolutions: public signatures, dimension numbers and padding."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.array import Array, from_numpy
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.lax.contract import PrecisionLike, dot_general, preferred
from pullback.lax.operand import placed
from pullback.ops import conv as ops
from pullback.ops.contract import canonical_precision
from pullback.ops.conv import ConvDimensionNumbers, dilated, numbers_of, strided
from pullback.ops.move import as_shape, rev, transpose

__all__ = ["ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv", "conv_dimension_numbers",
           "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches",
           "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose",
           "conv_transpose_shape_tuple",
           "conv_with_general_padding", "padtype_to_pads"]

ArrayLike = Any
ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


def padtype_to_pads(in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int],
                    padding: str) -> list[tuple[int, int]]:
    """The padding (low, high) per axis that a word stands for.

    Args:
      in_shape, window_shape, window_strides: an entry per axis.
      padding: 'VALID', none; 'SAME', so that there are ceil(size / stride) windows, an odd element high;
        'SAME_LOWER', an odd element low.

    Example:
      >>> lax.padtype_to_pads((8,), (3,), (2,), 'SAME')
      [(0, 1)]
    """
    word = padding.upper() if isinstance(padding, str) else padding
    if word == "VALID":
        return [(0, 0)] * len(tuple(in_shape))
    if word not in ("SAME", "SAME_LOWER"):
        raise errors.make(RuntimeError,
                          f"padding is {padding!r}; 'VALID', 'SAME', 'SAME_LOWER' or a (low, high) pair per "
                          "axis is required", fix="spell one of these")
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = max((-(-int(size) // int(stride)) - 1) * int(stride) + int(window) - int(size), 0)
        half = total // 2
        pads.append((half, total - half) if word == "SAME" else (total - half, half))
    return pads


def _pairs(padding: Any) -> ops.Pads:
    try:
        return tuple([(operator.index(low), operator.index(high)) for low, high in padding])
    except (TypeError, ValueError):
        raise errors.value_error(
            f"padding is {padding!r}; 'SAME', 'VALID', 'SAME_LOWER' or a (low, high) pair per spatial axis "
            "is required", fix="write [(1, 1), ...] for one element on each side") from None


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                           dimension_numbers: ConvGeneralDilatedDimensionNumbers) -> ConvDimensionNumbers:
    """The axes that `dimension_numbers` name.

    Args:
      lhs_shape, rhs_shape: shapes of input and kernel.
      dimension_numbers: None for ('NCHW', 'OIHW', 'NCHW') of the right rank; or strings for the axes of
        input, kernel and result: N batch, C feature; O output feature, I input feature; any other letters for
        the spatial axes.

    Raises:
      TypeError: if the letters do not name each axis once.

    Example:
      >>> lax.conv_dimension_numbers((1, 3, 3, 1), (2, 2, 1, 1), ("NHWC", "HWIO", "NHWC")).lhs_spec
      (0, 3, 1, 2)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    n = len(lhs_shape)
    if n != len(rhs_shape):
        raise errors.type_error(f"input of shape {tuple(lhs_shape)} and kernel of shape {tuple(rhs_shape)} "
                                "must have one rank",
                                fix="the kernel has axes for output and input features and a spatial window")
    if n < 2:
        raise errors.type_error(f"input of shape {tuple(lhs_shape)} has {n} axes, at least 2 are required",
                                fix="add the missing axes with jnp.expand_dims")
    if dimension_numbers is None:
        return numbers_of(n - 2, None)
    if not isinstance(dimension_numbers, (tuple, list)) or len(dimension_numbers) != 3 or not all(
            [isinstance(spec, str) for spec in dimension_numbers]):
        raise errors.type_error(f"dimension_numbers are {dimension_numbers!r}; three strings are required",
                                fix="write ('NHWC', 'HWIO', 'NHWC')")
    for what, spec, required in zip(("input", "kernel", "result"), dimension_numbers, ("NC", "OI", "NC")):
        if len(spec) != n or len(set(spec)) != n or not set(required) <= set(spec):
            raise errors.type_error(
                f"dimension_numbers of the {what} are {spec!r}; {n} different letters, "
                f"{required[0]} and {required[1]} among them, are required",
                fix="write ('NHWC', 'HWIO', 'NHWC') for two spatial axes")
    spaces = [set(spec) - set(letters) for spec, letters in zip(dimension_numbers, ("NC", "OI", "NC"))]
    if spaces[0] != spaces[1] or spaces[0] != spaces[2]:
        raise errors.type_error(f"dimension_numbers {tuple(dimension_numbers)} name different spatial axes",
                                fix="use the same spatial letters in all three")
    return numbers_of(n - 2, dimension_numbers)


def conv_general_dilated(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                         padding: str | Sequence[tuple[int, int]], lhs_dilation: Sequence[int] | None = None,
                         rhs_dilation: Sequence[int] | None = None,
                         dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                         feature_group_count: int = 1, batch_group_count: int = 1,
                         precision: PrecisionLike = None, preferred_element_type: Any = None,
                         out_sharding: Any = None) -> Array:
    """The general convolution (without a flip of the kernel: a correlation).

    Args:
      lhs: any[batch, feature, *space], in the order that dimension_numbers give.
      rhs: any[out feature, feature / feature_group_count, *window].
      window_strides: the step from one window to the next, per spatial axis.
      padding: 'SAME', 'VALID', 'SAME_LOWER', or (low, high) per spatial axis; negative numbers crop.
      lhs_dilation: the step between elements of the input, with zeros between; more than 1 makes a transposed
        convolution.
      rhs_dilation: the step between elements of the kernel ("atrous").
      dimension_numbers: see `conv_dimension_numbers`.
      feature_group_count: groups of input features, each for its group of output features.
      batch_group_count: groups of the batch, each for its group of output features.
      precision, preferred_element_type: as in `dot_general`.

    Returns:
      any[batch / batch_group_count, out feature, *space]

    Example:
      >>> x, w = jnp.ones((1, 28, 28, 3)), jnp.ones((5, 5, 3, 8))
      >>> lax.conv_general_dilated(x, w, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')).shape
      (1, 14, 14, 8)
    """
    x, w = value(lhs), value(rhs)
    xt, wt = type_of(x), type_of(w)
    dims = conv_dimension_numbers(xt.shape, wt.shape, dimension_numbers)
    ones = (1,) * (xt.ndim - 2)
    strides = as_shape(window_strides, "window_strides")
    spread = ones if lhs_dilation is None else as_shape(lhs_dilation, "lhs_dilation")
    atrous = ones if rhs_dilation is None else as_shape(rhs_dilation, "rhs_dilation")
    if isinstance(padding, str):
        if any([d != 1 for d in spread]):
            raise errors.value_error(f"padding {padding!r} has no meaning with lhs_dilation {spread}",
                                     fix="give (low, high) pairs, or use lax.conv_transpose")
        if len(strides) == len(atrous) == xt.ndim - 2 and all([n > 0 for n in (*strides, *atrous)]):
            spans = [dilated(wt.shape[i], d) for i, d in zip(dims.rhs_spec[2:], atrous)]
            padding = padtype_to_pads([xt.shape[i] for i in dims.lhs_spec[2:]], spans, strides, padding)
        else:
            padding = [(0, 0)] * (xt.ndim - 2)  # the operation refuses the strides or dilations
    result = ops.conv_general_dilated(
        x, w, strides=strides, padding=_pairs(padding), lhs_dilation=spread, rhs_dilation=atrous, dims=dims,
        feature_groups=operator.index(feature_group_count), batch_groups=operator.index(batch_group_count),
        precision=canonical_precision(precision),
        dtype=preferred(preferred_element_type, xt.dtype, "conv_general_dilated"))
    return placed(result, out_sharding)


def conv(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: str,
         precision: PrecisionLike = None, preferred_element_type: Any = None) -> Array:
    """Convolution of any[batch, feature, *space] by any[out feature, feature, *window].

    Args:
      window_strides: the step from one window to the next, per spatial axis.
      padding: 'SAME', 'VALID' or 'SAME_LOWER'.

    Example:
      >>> lax.conv(jnp.ones((1, 1, 3, 3)), jnp.ones((1, 1, 2, 2)), (1, 1), "VALID").ravel()
      Array([4., 4., 4., 4.], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                              padding: str | Sequence[tuple[int, int]], lhs_dilation: Sequence[int] | None,
                              rhs_dilation: Sequence[int] | None, precision: PrecisionLike = None,
                              preferred_element_type: Any = None) -> Array:
    """`conv` with padding and dilations of any size.

    Args: as in `conv_general_dilated`.

    Example:
      >>> lax.conv_with_general_padding(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 3)), (1,), [(1, 1)], None, None).ravel()
      Array([2., 3., 2.], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision, preferred_element_type=preferred_element_type)


def conv_transpose(lhs: ArrayLike, rhs: ArrayLike, strides: Sequence[int],
                   padding: str | Sequence[tuple[int, int]], rhs_dilation: Sequence[int] | None = None,
                   dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                   transpose_kernel: bool = False, precision: PrecisionLike = None,
                   preferred_element_type: Any = None, use_consistent_padding: bool = False) -> Array:
    """Convolution with the input spread by `strides`: upsampling, also called deconvolution.

    Args:
      lhs: any[batch, *space, feature], or as dimension_numbers say.
      rhs: any[*window, feature, out feature]; with transpose_kernel, any[*window, out feature, feature].
      strides: by what the input is spread, per spatial axis.
      padding: 'SAME' (the size times the stride), 'VALID' (as large as the input of the convolution that is
        transposed), or (low, high) pairs: of the spread input, or with use_consistent_padding of the
        convolution that is transposed.
      transpose_kernel: whether to flip the window and exchange the kernel's features, as the gradient of a
        convolution does.

    Example:
      >>> lax.conv_transpose(jnp.ones((1, 2, 1)), jnp.ones((2, 1, 1)), (2,), "VALID").ravel()
      Array([1., 1., 1., 1.], dtype=float32)
    """
    x, w = value(lhs), value(rhs)
    xt, wt = type_of(x), type_of(w)
    if dimension_numbers is None:
        space = {1: "H", 2: "HW", 3: "HWD"}.get(xt.ndim - 2)
        if space is None:
            raise errors.value_error(f"the input {xt} has {xt.ndim} axes, 3 to 5 are required",
                                     fix="pass dimension_numbers")
        dimension_numbers = (f"N{space}C", f"{space}IO", f"N{space}C")
    dims = conv_dimension_numbers(xt.shape, wt.shape, dimension_numbers)
    step = as_shape(strides, "strides")
    atrous = (1,) * len(step) if rhs_dilation is None else as_shape(rhs_dilation, "rhs_dilation")
    if not len(step) == len(atrous) == xt.ndim - 2:
        raise errors.value_error(f"strides {step} and rhs_dilation {atrous} must have an entry for each of "
                                 f"the {xt.ndim - 2} spatial axes of {xt}", fix="give one per spatial axis")
    spans = [dilated(wt.shape[i], d) for i, d in zip(dims.rhs_spec[2:], atrous)]
    pads: Any = padding
    if isinstance(padding, str):
        pads = [_transposed_pads(span, s, padding) for span, s in zip(spans, step)]
    elif use_consistent_padding:
        pads = [(span - 1 - low, span - 1 - high) for span, (low, high) in zip(spans, _pairs(padding))]
    if transpose_kernel:
        w = rev(w, axes=dims.rhs_spec[2:])
        o, i, *space_axes = dims.rhs_spec
        dims = dims._replace(rhs_spec=(i, o, *space_axes))
    return conv_general_dilated(x, w, (1,) * len(step), pads, step, atrous, dims, precision=precision,
                                preferred_element_type=preferred_element_type)


def _transposed_pads(window: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding of the spread input that gives a transposed convolution the size that the word promises."""
    word = padding.upper()
    if word == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif word == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    else:
        raise errors.value_error(f"padding is {padding!r}; 'SAME', 'VALID' or a (low, high) pair per spatial "
                                 "axis is required", fix="give (low, high) pairs")
    return low, total - low


def conv_general_dilated_patches(lhs: ArrayLike, filter_shape: Sequence[int], window_strides: Sequence[int],
                                 padding: str | Sequence[tuple[int, int]],
                                 lhs_dilation: Sequence[int] | None = None,
                                 rhs_dilation: Sequence[int] | None = None,
                                 dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                                 precision: PrecisionLike = None,
                                 preferred_element_type: Any = None) -> Array:
    """The windows that a convolution sees, laid out along the feature axis.

    Args:
      lhs: any[batch, feature, *space]
      filter_shape: the size of a window.
      the others: as in `conv_general_dilated`.

    Returns:
      any[batch, feature * window size, *space], feature-major.

    Example:
      >>> lax.conv_general_dilated_patches(jnp.arange(4.0).reshape(1, 1, 4), (2,), (1,), "VALID")[0]
      Array([[0., 1., 2.],
             [1., 2., 3.]], dtype=float32)
    """
    x = value(lhs)
    t = type_of(x)
    window = as_shape(filter_shape, "filter_shape")
    dims = conv_dimension_numbers(t.shape, (1, 1, *window), dimension_numbers)
    features, size = t.shape[dims.lhs_spec[1]], math.prod(window)
    # A kernel that picks each place of the window, for every feature alike.
    one = np.eye(size, dtype=t.dtype).reshape(size, 1, *window)
    kernel = np.tile(one, (features, *[1] * (len(window) + 1)))
    kernel = np.ascontiguousarray(kernel.transpose([dims.rhs_spec.index(i) for i in range(t.ndim)]))
    return conv_general_dilated(x, from_numpy(kernel), window_strides, padding, lhs_dilation, rhs_dilation,
                                dims, feature_group_count=features, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_general_dilated_local(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                               padding: str | Sequence[tuple[int, int]], filter_shape: Sequence[int],
                               lhs_dilation: Sequence[int] | None = None,
                               rhs_dilation: Sequence[int] | None = None,
                               dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                               precision: PrecisionLike = None) -> Array:
    """A convolution with a kernel of its own for every place.

    Args:
      lhs: any[batch, feature, *space]
      rhs: any[out feature, feature * window size, *space of the result], in the order of the kernel's axes.
      filter_shape: the size of a window.
      the others: as in `conv_general_dilated`.

    Example:
      >>> lax.conv_general_dilated_local(jnp.ones((1, 1, 3)), jnp.ones((1, 2, 2)), (1,), "VALID", (2,))
      Array([[[2., 2.]]], dtype=float32)
    """
    x, w = value(lhs), value(rhs)
    dims = conv_dimension_numbers(type_of(x).shape, type_of(w).shape, dimension_numbers)
    patches = conv_general_dilated_patches(x, filter_shape, window_strides, padding, lhs_dilation,
                                           rhs_dilation, dims, precision)
    # [*space, out feature, batch], with the places as batch axes.
    product = dot_general(w, patches, (((dims.rhs_spec[1],), (dims.out_spec[1],)),
                                       (dims.rhs_spec[2:], dims.out_spec[2:])), precision)
    places = [*dims.out_spec[2:], dims.out_spec[1], dims.out_spec[0]]
    return transpose(product, perm=tuple([places.index(i) for i in range(len(places))]))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The permutations that bring input, kernel and result into the orders NC, OI, NC, spatial axes last.

    Raises:
      ValueError: if there are not three layouts.

    Example:
      >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
      ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    if len(dimension_numbers) != 3:
        raise errors.value_error(f"got {len(dimension_numbers)} layouts, {tuple(dimension_numbers)!r:.80}; three are "
                                 "required: of the operand, the kernel and the result",
                                 fix='pass ("NCHW", "OIHW", "NCHW"), say')
    lhs, rhs, out = dimension_numbers
    numbers = conv_dimension_numbers((0,) * len(lhs), (0,) * len(rhs), (lhs, rhs, out))
    return numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec


def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int], pads: Any,
                     batch_group_count: int = 1) -> tuple[int, ...]:
    """The shape of a convolution of [batch, feature, *space] by [out feature, feature, *window].

    Example:
      >>> lax.conv_shape_tuple((1, 1, 3, 3), (1, 1, 2, 2), (1, 1), [(0, 0), (0, 0)])
      (1, 1, 2, 2)
    """
    sizes, windows = as_shape(lhs_shape), as_shape(rhs_shape)
    step = as_shape(strides, "strides")
    if isinstance(pads, str):
        pads = padtype_to_pads(sizes[2:], windows[2:], step, pads)
    space = [strided(n + low + high, w, s)
             for n, w, s, (low, high) in zip(sizes[2:], windows[2:], step, _pairs(pads))]
    return (sizes[0] // batch_group_count, windows[0], *space)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], window_strides: Sequence[int],
                             padding: Any, dimension_numbers: ConvGeneralDilatedDimensionNumbers) -> tuple[int, ...]:
    """The shape of a convolution whose operands and result have their axes in the order of dimension_numbers.

    Example:
      >>> lax.conv_general_shape_tuple((1, 3, 3, 1), (2, 2, 1, 1), (1, 1), "VALID", ("NHWC", "HWIO", "NHWC"))
      (1, 2, 2, 1)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    plain = conv_shape_tuple([lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding)
    return tuple([plain[out.index(axis)] for axis in range(len(out))])


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                               window_strides: Sequence[int], padding: Any,
                               dimension_numbers: ConvGeneralDilatedDimensionNumbers) -> tuple[int, ...]:
    """The shape of `conv_transpose`.

    Example:
      >>> lax.conv_transpose_shape_tuple((1, 2, 1), (2, 1, 1), (2,), "VALID", ("NHC", "HIO", "NHC"))
      (1, 4, 1)
    """
    dims = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    step = as_shape(window_strides, "window_strides")
    windows = [rhs_shape[i] for i in dims.rhs_spec[2:]]
    pads = padding
    if isinstance(padding, str):
        pads = [_transposed_pads(w, s, padding) for w, s in zip(windows, step)]
    shape = [0] * len(dims.out_spec)
    shape[dims.out_spec[0]] = lhs_shape[dims.lhs_spec[0]]
    shape[dims.out_spec[1]] = rhs_shape[dims.rhs_spec[0]]
    for i, (axis, w, s, (low, high)) in enumerate(zip(dims.out_spec[2:], windows, step, pads)):
        shape[axis] = strided(dilated(lhs_shape[dims.lhs_spec[2 + i]], s) + low + high, w, 1)
    return tuple(shape)
