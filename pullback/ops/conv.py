"""Convolutions of any rank: strides, dilations, padding, feature and batch groups, any order of axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Linear
from pullback.core.vector import zeros_like
from pullback.ops import dependence
from pullback.ops.contract import converted, held_dtype, precision_config
from pullback.ops.convert import convert, convert_element_type
from pullback.ops.families import ANY, Bilinear, check_kind
from pullback.ops.move import reshape, rev, transpose

Ints = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """Where the axes of a convolution are.

    Args:
      lhs_spec: axes of the input: batch, feature, then spatial ones.
      rhs_spec: axes of the kernel: output feature, input feature, then spatial ones.
      out_spec: axes of the result: batch, feature, then spatial ones.
    """

    lhs_spec: Ints
    rhs_spec: Ints
    out_spec: Ints


def dilated(size: int, dilation: int) -> int:
    """The length of `size` elements with `dilation - 1` holes between each two."""
    return (size - 1) * dilation + 1 if size else 0


def strided(size: int, window: int, stride: int) -> int:
    """How many windows fit."""
    return max((size - window) // stride + 1, 0)


def dilate(x: np.ndarray, dilation: Sequence[int], padding: Pads, axes: Sequence[int], fill: Any
           ) -> np.ndarray:
    """`x` with holes between its elements and padding around them along `axes`; negative padding crops."""
    shape, starts = list(x.shape), [0] * x.ndim
    for axis, d, (low, high) in zip(axes, dilation, padding):
        shape[axis], starts[axis] = dilated(x.shape[axis], d) + low + high, low
    out = np.full(shape, fill, x.dtype)
    source, target = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, d in zip(axes, dilation):
        # Elements that a negative padding leaves: those with 0 <= low + i * d < size.
        low = starts[axis]
        first = max(-(low // d), 0) if low < 0 else 0
        last = min(x.shape[axis], (shape[axis] - 1 - low) // d + 1)
        source[axis] = slice(first, max(last, first))
        target[axis] = slice(low + first * d, low + max(last, first) * d, d)
    out[tuple(target)] = x[tuple(source)]
    return out


class Conv(Bilinear):
    """Windows of the input, each contracted with the kernel.

    `strides` between windows; `padding` (low, high) per spatial axis; `lhs_dilation` spreads the input,
    `rhs_dilation` the kernel. Feature groups: group i of the input features meets group i of the output
    features. Batch groups: group i of the batch does.
    """

    slow_reference = True

    def type(self, x: ArrayType, w: ArrayType, *, strides: Ints, padding: Pads, lhs_dilation: Ints,
             rhs_dilation: Ints, dims: ConvDimensionNumbers, feature_groups: int = 1, batch_groups: int = 1,
             precision: Any = None, dtype: Any = None) -> list[ArrayType]:
        check_kind([x, w], ANY)
        check_conv(x, w, strides, padding, lhs_dilation, rhs_dilation, dims, feature_groups, batch_groups)
        shape = [0] * x.ndim
        shape[dims.out_spec[0]] = x.shape[dims.lhs_spec[0]] // batch_groups
        shape[dims.out_spec[1]] = w.shape[dims.rhs_spec[0]]
        for i, axis in enumerate(dims.out_spec[2:]):
            size = dilated(x.shape[dims.lhs_spec[2 + i]], lhs_dilation[i]) + sum(padding[i])
            shape[axis] = strided(size, dilated(w.shape[dims.rhs_spec[2 + i]], rhs_dilation[i]), strides[i])
        return [ArrayType(tuple(shape), x.dtype if dtype is None else dtype, x.weak and w.weak)]

    def numpy(self, x: np.ndarray, w: np.ndarray, **params: Any) -> Outputs:
        (out,) = self.type(ArrayType(x.shape, x.dtype), ArrayType(w.shape, w.dtype), **params)
        dims = params["dims"]
        held = held_dtype(x.dtype, w.dtype, out.dtype)
        x, w = convert(x, held).transpose(dims.lhs_spec), convert(w, held).transpose(dims.rhs_spec)
        result = _correlate(x, w, params["strides"], params["padding"], params["lhs_dilation"],
                            params["rhs_dilation"], params.get("feature_groups", 1),
                            params.get("batch_groups", 1))
        return [convert(result.transpose(_inverse(dims.out_spec)), out.dtype)]

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Of the input: a convolution of the numbers of its elements for each place in the window."""
        if which:
            return None
        x, w = types
        dims, plain = params["dims"], {**params, "precision": None, "dtype": None}
        features, *places = (w.shape[axis] for axis in dims.rhs_spec[1:])
        kernel = None if values[1] is None else np.transpose(np.asarray(values[1]), dims.rhs_spec)
        found = []
        for at in np.ndindex(features, *places):
            single = np.zeros([w.shape[axis] for axis in dims.rhs_spec])
            single[(slice(None), *at)] = 1
            (sources,) = self.numpy(dependence.numbered(x).astype(np.float64),
                                    single.transpose(_inverse(dims.rhs_spec)), **plain)
            if kernel is not None:
                factor = kernel[(slice(None), *at)] != 0
                sources = sources * factor.reshape([-1 if axis == dims.out_spec[1] else 1 for axis in range(x.ndim)])
            found.append(dependence.from_sources(sources.astype(np.int64) - 1, x.size))
        return dependence.joined(found)

    def hlo(self, b: Any, x: Any, w: Any, *, strides: Ints, padding: Pads, lhs_dilation: Ints,
            rhs_dilation: Ints, dims: ConvDimensionNumbers, feature_groups: int = 1, batch_groups: int = 1,
            precision: Any = None, dtype: Any = None) -> Outputs:
        out = b.outputs[0]
        if 0 in (x.type.size, w.type.size, out.size):
            return [b.full(0, out)]
        held = held_dtype(x.type.dtype, w.type.dtype, out.dtype)
        x, w = converted(b, x, held), converted(b, w, held)
        spec = dims.out_spec
        shape = out.shape
        if b.nested:
            # XLA's CPU backend finds its fast kernel for any order of axes in the main function, but only for
            # this one inside a loop or a branch.
            last = len(strides) + 1
            x = b.transpose(x, (dims.lhs_spec[0], *dims.lhs_spec[2:], dims.lhs_spec[1]))
            w = b.transpose(w, (*dims.rhs_spec[2:], dims.rhs_spec[1], dims.rhs_spec[0]))
            shape = tuple([shape[i] for i in (spec[0], *spec[2:], spec[1])])
            order = (0, last, *range(1, last))
            dims = ConvDimensionNumbers(order, (last, last - 1, *range(last - 1)), order)
        lhs, rhs, end = (", ".join(_letters(s, names)) for s, names in zip(dims, ("bf", "oi", "bf")))
        reversal = ", ".join(["false"] * len(strides))
        result = b.op(
            "stablehlo.convolution", [x, w], ArrayType(shape, held),
            f"window_strides = {b.ints(strides)}, padding = {b.dense(padding or np.zeros((0, 2)))}, "
            f"lhs_dilation = {b.ints(lhs_dilation)}, rhs_dilation = {b.ints(rhs_dilation)}, "
            f"window_reversal = array<i1{': ' if reversal else ''}{reversal}>, "
            f"dimension_numbers = #stablehlo.conv<[{lhs}]x[{rhs}]->[{end}]>, "
            f"feature_group_count = {feature_groups} : i64, batch_group_count = {batch_groups} : i64, "
            f"precision_config = {precision_config(precision)}")
        if b.nested:
            result = b.transpose(result, _inverse((spec[0], *spec[2:], spec[1])))
        return [converted(b, result, out.dtype)]

    def transpose(self, cts: Sequence[Any], x: Any, w: Any, **params: Any) -> list[Any]:
        if isinstance(x, Linear):
            return [_input_cotangent(cts[0], x.type, w, **params), None]
        return [None, _kernel_cotangent(cts[0], x, w.type, **params)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        x, w = args
        if not size:
            types = [t.unbatched() if flag else t for t, flag in zip(map(type_of, args), batched, strict=True)]
            return [zeros_like(t.batched(0)) for t in self.infer(tuple(types), params)], [True]
        dims: ConvDimensionNumbers = params["dims"]
        features, batches = params.pop("feature_groups", 1), params.pop("batch_groups", 1)
        batch, feature = dims.out_spec[:2]
        if all(batched):
            # The elements of the batch become groups.
            w = merge(w, dims.rhs_spec[0])
            if batches > 1:
                out = self(merge(x, dims.lhs_spec[0]), w, batch_groups=batches * size, **params)
            else:
                out = self(merge(x, dims.lhs_spec[1]), w, feature_groups=features * size, **params)
            return [separate(out, feature, size)], [True]
        groups = dict(feature_groups=features, batch_groups=batches)
        if batched[0]:
            out = self(merge(x, dims.lhs_spec[0], batches), w, **groups, **params)
            return [separate(out, batch, size)], [True]
        out = self(x, merge(w, dims.rhs_spec[0], features * batches), **groups, **params)
        return [separate(out, feature, size, features * batches)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(*shape: int, dtype: Any = np.float32) -> np.ndarray:
            if dtypes.kind(dtype) in "biu":
                return rng.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
            x = rng.normal(size=shape)
            return (x + 1j * rng.normal(size=shape) if dtypes.kind(dtype) == "c" else x).astype(dtype)

        def example(xs: Ints, ws: Ints, dims: Sequence[str] | None = None, strides: Ints | None = None,
                    padding: Pads | None = None, lhs_dilation: Ints | None = None,
                    rhs_dilation: Ints | None = None, kind: Any = np.float32, **more: Any) -> Example:
            n = len(xs) - 2
            return Example(draw(*xs, dtype=kind), draw(*ws, dtype=kind), strides=strides or (1,) * n,
                           padding=padding or ((0, 0),) * n, lhs_dilation=lhs_dilation or (1,) * n,
                           rhs_dilation=rhs_dilation or (1,) * n, dims=numbers_of(n, dims), **more)

        for side in ((0,), (1,)):
            yield example((2, 3, 6), (4, 3, 3), linear=side)
            yield example((1, 2, 5, 6), (3, 2, 2, 3), strides=(2, 1), padding=((1, 0), (0, 2)), linear=side)
            yield example((1, 5, 6, 2), (2, 3, 2, 3), ("NHWC", "HWIO", "NHWC"), padding=((1, 1), (1, 1)),
                          linear=side)
            yield example((1, 2, 7), (2, 2, 3), strides=(2,), padding=((-1, 2),), lhs_dilation=(2,),
                          rhs_dilation=(2,), linear=side)
            yield example((2, 4, 5), (6, 2, 2), feature_groups=2, padding=((1, 0),), linear=side)
            yield example((5, 4, 3), (2, 6, 1), ("HNC", "HOI", "CNH"), feature_groups=3, strides=(3,),
                          linear=side)
            yield example((4, 3, 5), (4, 3, 2), batch_groups=2, strides=(2,), linear=side)
            yield example((1, 2, 4), (2, 2, 2), padding=((2, 3),), strides=(3,), linear=side, order=1)
        yield example((3, 2), (4, 2), linear=(0,))
        yield example((1, 1, 3, 3, 2), (1, 1, 2, 2, 2), linear=(1,), order=1)
        yield example((0, 2, 4), (3, 2, 2), order=0)
        yield example((2, 0, 4), (3, 0, 2), order=0)
        yield example((2, 2, 2), (3, 2, 3), order=0)
        yield example((2, 2, 0), (3, 2, 3), padding=((2, 2),), order=0)
        for kind in (np.int32, np.int8, np.float16, dtypes.bfloat16):
            yield example((1, 2, 5), (2, 2, 3), kind=kind, order=0)
        yield example((1, 2, 4), (2, 2, 2), kind=np.complex64, order=1, linear=(0,))
        yield example((1, 2, 5), (2, 2, 3), kind=np.int8, dtype=dtypes.int32, order=0)
        yield example((1, 2, 5), (2, 2, 3), kind=dtypes.bfloat16, dtype=dtypes.float32, order=0)

    def oracle(self, jax: Any, x: Any, w: Any, *, strides: Ints, padding: Pads, lhs_dilation: Ints,
               rhs_dilation: Ints, dims: ConvDimensionNumbers, feature_groups: int = 1, batch_groups: int = 1,
               precision: Any = None, dtype: Any = None) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, strides, padding, lhs_dilation, rhs_dilation, jax.lax.ConvDimensionNumbers(*dims),
            feature_groups, batch_groups, preferred_element_type=dtype)


def _letters(spec: Ints, letters: str) -> list[str]:
    places = [""] * len(spec)
    for letter, axis in zip([*letters, *map(str, range(len(spec) - 2))], spec):
        places[axis] = letter
    return places


def numbers_of(spatial: int, dims: Sequence[str] | None) -> ConvDimensionNumbers:
    """The axes that strings such as ('NHWC', 'HWIO', 'NHWC') name; None: NCHW, OIHW, NCHW."""
    if dims is None:
        order = tuple(range(spatial + 2))
        return ConvDimensionNumbers(order, order, order)
    lhs, rhs, out = dims
    # The order of the kernel's spatial letters is the order of the window's axes.
    letters = [c for c in rhs if c not in "OI"]
    return ConvDimensionNumbers(tuple([lhs.index(c) for c in ("N", "C", *letters)]),
                                tuple([rhs.index(c) for c in ("O", "I", *letters)]),
                                tuple([out.index(c) for c in ("N", "C", *letters)]))


def _inverse(spec: Sequence[int]) -> Ints:
    return tuple([list(spec).index(i) for i in range(len(spec))])


def _correlate(x: np.ndarray, w: np.ndarray, strides: Ints, padding: Pads, lhs_dilation: Ints,
               rhs_dilation: Ints, features: int, batches: int) -> np.ndarray:
    """Convolution of [batch, feature, *space] by [out, in, *window] to [batch, out, *space]."""
    n = len(strides)
    space = range(2, 2 + n)
    x = dilate(x, lhs_dilation, padding, space, 0)
    spans = [dilated(w.shape[axis], d) for axis, d in zip(space, rhs_dilation)]
    sizes = [strided(x.shape[axis], span, s) for axis, span, s in zip(space, spans, strides)]
    if 0 in sizes or w.size == 0 or x.size == 0:
        return np.zeros((x.shape[0] // batches, w.shape[0], *sizes), x.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(space)) if n else x
    windows = windows[(slice(None), slice(None), *[slice(None, None, s) for s in strides],
                       *[slice(None, None, d) for d in rhs_dilation])]
    # As a stack of matrices, one per group: [group, batch * space, in * window] @ [group, in * window, out].
    groups = features * batches
    batch, feature = x.shape[0] // batches, x.shape[1] // features
    windows = windows.reshape(batches, batch, features, feature, *windows.shape[2:])
    order = (0, 2, 1, *range(4, 4 + n), 3, *range(4 + n, 4 + 2 * n))
    left = windows.transpose(order).reshape(groups, batch * math.prod(sizes), -1)
    right = w.reshape(groups, w.shape[0] // groups, -1).transpose(0, 2, 1)
    out = np.matmul(left, right).reshape(groups, batch, *sizes, w.shape[0] // groups)
    return out.transpose(1, 0, 2 + n, *range(2, 2 + n)).reshape(batch, w.shape[0], *sizes)


def merge(x: Any, axis: int, groups: int = 1) -> Any:
    """The leading axis of `x` moved into `axis`, counted without it, behind the groups that are there."""
    size, *shape = type_of(x).shape
    inner = shape[axis] // groups
    split = reshape(x, shape=(size, *shape[:axis], groups, inner, *shape[axis + 1:]))
    order = (*range(1, axis + 2), 0, *range(axis + 2, len(shape) + 2))
    shape[axis] *= size
    return reshape(transpose(split, perm=order), shape=tuple(shape))


def separate(x: Any, axis: int, size: int, groups: int = 1) -> Any:
    """The inverse of `merge`: an axis of `size` taken out of `axis` to the front."""
    shape = list(type_of(x).shape)
    inner = shape[axis] // (size * groups)
    split = reshape(x, shape=(*shape[:axis], groups, size, inner, *shape[axis + 1:]))
    order = (axis + 1, *range(axis + 1), *range(axis + 2, len(shape) + 2))
    shape[axis] //= size
    return reshape(transpose(split, perm=order), shape=(size, *shape))


def _regroup(x: Any, source: int, target: int, groups: int) -> Any:
    """`groups`, the outer part of axis `source`, becomes the outer part of axis `target`."""
    return merge(separate(x, source, groups), target)


def _typed(x: Any, dtype: Any) -> Any:
    return x if type_of(x).dtype == dtype else convert_element_type(x, dtype=dtype)


def _input_cotangent(ct: Any, own: ArrayType, w: Any, *, strides: Ints, padding: Pads, lhs_dilation: Ints,
                     rhs_dilation: Ints, dims: ConvDimensionNumbers, feature_groups: int = 1,
                     batch_groups: int = 1, precision: Any = None, dtype: Any = None) -> Any:
    """The cotangent spread by the strides, convolved with the reversed kernel."""
    lhs, rhs, out = dims
    groups = feature_groups * batch_groups
    if groups > 1:
        w = _regroup(w, rhs[0], rhs[1], groups)
    w = rev(w, axes=rhs[2:])
    pads = []
    for i in range(len(strides)):
        window = dilated(type_of(w).shape[rhs[2 + i]], rhs_dilation[i])
        size = dilated(own.shape[lhs[2 + i]], lhs_dilation[i])
        low = window - 1 - padding[i][0]
        pads.append((low, size + window - 1 - low - dilated(type_of(ct).shape[out[2 + i]], strides[i])))
    numbers = ConvDimensionNumbers(out, (rhs[1], rhs[0], *rhs[2:]), lhs)
    result = conv_general_dilated(ct, _typed(w, type_of(ct).dtype), strides=lhs_dilation, padding=tuple(pads),
                                  lhs_dilation=strides, rhs_dilation=rhs_dilation, dims=numbers,
                                  feature_groups=groups, precision=precision)
    if batch_groups > 1:
        result = _regroup(result, lhs[1], lhs[0], batch_groups)
    return _typed(result, own.dtype)


def _kernel_cotangent(ct: Any, x: Any, own: ArrayType, *, strides: Ints, padding: Pads, lhs_dilation: Ints,
                      rhs_dilation: Ints, dims: ConvDimensionNumbers, feature_groups: int = 1,
                      batch_groups: int = 1, precision: Any = None, dtype: Any = None) -> Any:
    """The input convolved with the cotangent as kernel: batch and feature axes change places."""
    lhs, rhs, out = dims
    pads = []
    for i in range(len(strides)):
        window = dilated(own.shape[rhs[2 + i]], rhs_dilation[i])
        size = dilated(type_of(x).shape[lhs[2 + i]], lhs_dilation[i])
        low = padding[i][0]
        pads.append((low, dilated(type_of(ct).shape[out[2 + i]], strides[i]) + window - 1 - size - low))
    numbers = ConvDimensionNumbers((lhs[1], lhs[0], *lhs[2:]), (out[1], out[0], *out[2:]),
                                   (rhs[1], rhs[0], *rhs[2:]))
    result = conv_general_dilated(_typed(x, type_of(ct).dtype), ct, strides=rhs_dilation, padding=tuple(pads),
                                  lhs_dilation=lhs_dilation, rhs_dilation=strides, dims=numbers,
                                  feature_groups=batch_groups, batch_groups=feature_groups,
                                  precision=precision)
    return _typed(result, own.dtype)


def check_conv(x: ArrayType, w: ArrayType, strides: Ints, padding: Pads, lhs_dilation: Ints,
               rhs_dilation: Ints, dims: ConvDimensionNumbers, features: int, batches: int) -> None:
    """An error unless input, kernel and parameters fit together."""
    if x.dtype != w.dtype:
        raise errors.type_error(f"input and kernel must have one dtype, got lhs {x} and rhs {w}",
                                fix="convert one with astype")
    for name, values in (("window_strides", strides), ("lhs_dilation", lhs_dilation),
                         ("rhs_dilation", rhs_dilation)):
        if len(values) != x.ndim - 2:
            raise errors.value_error(f"{name} {values} has {len(values)} entries, lhs {x} has {x.ndim - 2} "
                                     "spatial axes", fix="give one per spatial axis")
        if any([v < 1 for v in values]):
            raise errors.value_error(f"{name} {values} must be positive", fix="use 1 for none")
    if len(padding) != x.ndim - 2:
        raise errors.type_error(f"padding {padding} has {len(padding)} entries, lhs {x} has {x.ndim - 2} "
                                "spatial axes", fix="give one (low, high) per spatial axis")
    n, c = (x.shape[i] for i in dims.lhs_spec[:2])
    o, i = (w.shape[j] for j in dims.rhs_spec[:2])
    if features < 1 or batches < 1 or features > 1 and batches > 1:
        raise errors.value_error(f"feature_group_count is {features} and batch_group_count {batches}; "
                                 "positive counts are required, one of them 1", fix="use one kind of groups")
    if c % features or c // features != i:
        lhs, rhs = "".join(_letters(dims.lhs_spec, "NC")), "".join(_letters(dims.rhs_spec, "OI"))
        groups = f" in {features} groups" if features > 1 else ""
        raise errors.value_error(
            f"lhs {x} has {c} features (axis {dims.lhs_spec[1]}){groups}, rhs {w} takes {i} (axis "
            f"{dims.rhs_spec[1]})", fix=f"check dimension_numbers, which name the axes: lhs {lhs}, rhs {rhs}")
    for count, name, size, what in ((features, "feature_group_count", o, f"output features of rhs {w}"),
                                    (batches, "batch_group_count", o, f"output features of rhs {w}"),
                                    (batches, "batch_group_count", n, f"batch of lhs {x}")):
        if size % count:
            raise errors.value_error(f"{name} {count} does not divide the {what}: {size}",
                                     fix="choose a count that divides it")
    for axis, (low, high), d in zip(dims.lhs_spec[2:], padding, lhs_dilation):
        if dilated(x.shape[axis], d) + low + high < 0:
            raise errors.value_error(f"padding ({low}, {high}) takes more from axis {axis} of lhs {x} than there "
                                     "is", fix="pad less negatively")
    for axis in dims.rhs_spec[2:]:
        if w.shape[axis] == 0:
            raise errors.value_error(f"the kernel rhs {w} has size 0 along spatial axis {axis}",
                                     fix="give the kernel at least one element per window axis")


conv_general_dilated = Conv("conv_general_dilated")
