"""The same numbers in another type, or in another role: conversions, copies, stop_gradient."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, NoGradient, Outputs, Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.ops import dependence
from pullback.ops.families import FLOAT, Elementwise, MovesKeys, check_kind


def to_integer(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Floats as integers: towards zero, to the nearest end of the range beyond it, and NaN to 0."""
    info = dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if x.dtype.kind == "f" and x.size and x.min() > float(low - 1) and x.max() < float(high + 1):
        return x.astype(dtype)  # nothing is NaN or out of range
    wide = np.uint64 if dtypes.kind(dtype) == "u" else np.int64
    whole = np.trunc(x.astype(np.float64))
    above, below = whole >= float(high), whole <= float(low)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(wide)
    return np.asarray(np.where(above, wide(high), np.where(below, wide(low), inside))).astype(dtype)


def convert(x: np.ndarray, dtype: Any) -> np.ndarray:
    """`x` in `dtype`, as XLA converts: complex to real drops the imaginary part, integers wrap around."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    source, target = dtypes.kind(x.dtype), dtypes.kind(dtype)
    if source == "c" and target != "c":
        return convert(x.real, dtype)
    if target == "b":
        return np.asarray(x != x.dtype.type(0))
    if source == "f" and target in "iu":
        return to_integer(x, dtype)
    if _is_plain(x.dtype) or _is_plain(dtype):
        # ml_dtypes convert between each other and to complex by way of the nearest wide type.
        if not (_is_plain(x.dtype) and _is_plain(dtype)) and (source == "c" or target == "c"):
            x = x.astype(np.float32)
        return x.astype(dtype)
    return x.astype(np.float32 if "f" in (source, target) else np.int32).astype(dtype)


def _is_plain(dtype: np.dtype) -> bool:
    return dtype.kind in "biufc" and dtype.type.__module__ == "numpy"


class ConvertElementType(Primitive):
    """`x` with its elements in `dtype`; `weak` marks the result as a Python scalar's."""

    def type(self, x: ArrayType, *, dtype: Any, weak: bool = False) -> list[ArrayType]:  # type: ignore[override]
        check_kind([x], "biufc")
        if dtypes.kind(dtype) not in "biufc":
            raise errors.type_error(f"{x} cannot be converted to {dtypes.short_name(dtype)}",
                                    fix="pass a bool, integer, float or complex dtype")
        return [ArrayType(x.shape, dtype, weak)]

    def numpy(self, x: np.ndarray, *, dtype: Any, weak: bool = False) -> Outputs:  # type: ignore[override]
        return [convert(x, dtype)]

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        return dependence.same(types[0].size)

    def hlo(self, b: Any, x: Any, *, dtype: Any, weak: bool = False) -> Outputs:  # type: ignore[override]
        out = b.outputs[0]
        source, target = x.type.dtype, out.dtype
        if source == target:
            return [x]
        if dtypes.kind(source) == "c" and dtypes.kind(target) != "c":
            real = ArrayType(x.type.shape, dtypes.to_real(source))
            x = b.op("stablehlo.real", [x], real)
            if real.dtype == target:
                return [x]
        if dtypes.kind(target) == "b":
            return [b.compare("NE", x, b.full(0, x.type))]
        return [b.convert(x, target)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        out = bind(self, primals, params)[0]
        if isinstance(tangents[0], Zero) or not dtypes.is_inexact(params["dtype"]):
            return [out], [Zero(type_of(out).tangent())]
        return [out], bind(self, tangents, params)

    def transpose(self, cts: Sequence[Any], x: Linear, **params: Any) -> list[Any]:  # type: ignore[override]
        return [self(cts[0], dtype=x.type.dtype, weak=x.type.weak)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        floats = np.array([0, -0.0, 0.5, -1.5, 2.5, 127.9, 128, -129, 255.5, 3e4, 7e4, -7e4, 2147483648, 3e9,
                           -3e9, np.inf, -np.inf, np.nan], np.float32)
        whole = np.array([0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, 2147483647, -2147483648, 16777217],
                         np.int32)
        for target in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.bool_):
            yield Example(floats, dtype=np.dtype(target), order=0)
            yield Example(floats.astype(dtypes.bfloat16), dtype=np.dtype(target), order=0)
            yield Example(whole, dtype=np.dtype(target), order=0)
        for target in (np.float16, dtypes.bfloat16, np.float32, np.complex64):
            yield Example(whole, dtype=np.dtype(target), order=0)
            yield Example(floats, dtype=np.dtype(target), order=0)
            yield Example(np.array([True, False]), dtype=np.dtype(target), order=0)
            yield Example(rng.normal(size=(2, 3)).astype(np.float16), dtype=np.dtype(target), order=0)
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), dtype=dtypes.complex64, linear=(0,))
        values = (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))).astype(np.complex64)
        yield Example(values, dtype=dtypes.float32, linear=(0,))
        yield Example(values, dtype=dtypes.int32, order=0)
        yield Example(values, dtype=dtypes.bool_, order=0)
        yield Example(np.float32(2.5), dtype=dtypes.float32, weak=True)
        yield Example(np.zeros((0, 2), np.float32), dtype=dtypes.int32, order=0)

    def oracle(self, jax: Any, x: Any, *, dtype: Any, weak: bool = False) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            # An ndarray would be converted by NumPy.
            return jax.lax.convert_element_type(jax.numpy.asarray(x), dtype)


_BIT_FIX = "take lax.real and lax.imag of a complex operand, convert a bool with astype"


class BitcastConvertType(NoGradient):
    """The bits of `x` read as `dtype`.

    Narrower elements get a new last axis, the lowest bits first; wider ones take the last axis away.
    """

    def type(self, x: ArrayType, *, dtype: Any) -> list[ArrayType]:  # type: ignore[override]
        if x.dtype == dtype:
            return [x.strong()]
        if dtypes.kind(x.dtype) not in "iuf" or dtypes.kind(dtype) not in "iuf":
            raise errors.make(errors.OperandError, f"the bits of {x} cannot be read as {dtypes.short_name(dtype)}",
                              op=errors.source.called(), fix=_BIT_FIX)
        have, want = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
        shape = x.shape
        if have > want and have % want == 0:
            shape = (*shape, have // want)
        elif have < want and shape and shape[-1] * have == want:
            shape = shape[:-1]
        elif have != want:
            raise errors.value_error(
                f"{x} has elements of {have} bits, {dtypes.short_name(dtype)} has {want}: "
                + ("one width must divide the other" if have > want else
                   f"the last axis must have size {want / have:g}"),
                fix="reshape so that the last axis holds the parts of one element")
        return [ArrayType(shape, dtype)]

    def numpy(self, x: np.ndarray, *, dtype: Any) -> Outputs:  # type: ignore[override]
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return [x]
        have, want = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
        if have == want:
            return [np.ascontiguousarray(x).view(dtype).reshape(x.shape)]
        shape = (*x.shape, have // want) if have > want else x.shape[:-1]
        return [_packed(_unpacked(x, have).reshape(*shape, want), dtype).reshape(shape)]

    def hlo(self, b: Any, x: Any, *, dtype: Any) -> Outputs:  # type: ignore[override]
        return [x if x.type.dtype == dtype else b.bitcast(x, b.outputs[0])]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        words = rng.integers(0, 2**31, (2, 3)).astype(np.uint32)
        yield Example(words, dtype=dtypes.float32, order=0)
        yield Example(words, dtype=dtypes.int32, order=0)
        yield Example(words, dtype=dtypes.uint8, order=0)
        yield Example(words, dtype=dtypes.bfloat16, order=0)
        yield Example(np.float32(1.5), dtype=dtypes.int16, order=0)
        yield Example(rng.integers(0, 256, (3, 4)).astype(np.uint8), dtype=dtypes.float32, order=0)
        yield Example(rng.integers(0, 256, 2).astype(np.uint8), dtype=dtypes.float16, order=0)
        yield Example(rng.normal(size=(2, 2)).astype(np.float16), dtype=dtypes.bfloat16, order=0)
        yield Example(np.zeros((0, 4), np.uint8), dtype=dtypes.int32, order=0)
        yield Example(rng.normal(size=3).astype(np.float32), dtype=dtypes.float32, order=0)

    def oracle(self, jax: Any, x: Any, *, dtype: Any) -> Any:
        return jax.lax.bitcast_convert_type(x, dtype)


def _unpacked(x: np.ndarray, bits: int) -> np.ndarray:
    """The bits of `x`, one per uint8, lowest first, along a new last axis."""
    octets = np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    return np.unpackbits(octets, axis=-1, bitorder="little")[..., :bits]


def _packed(bits: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The inverse of `_unpacked`, flat."""
    width = bits.shape[-1]
    octets = np.packbits(bits, axis=-1, bitorder="little")
    if width < 8 and dtypes.kind(dtype) == "i":  # NumPy stores narrow integers sign-extended
        octets = (octets ^ np.uint8(1 << width - 1)) - np.uint8(1 << width - 1)
    return octets.reshape(-1).view(dtype)


_WORDS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def _reduce_precision(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Rounds to nearest, ties to even; what is too large becomes inf, what would be subnormal 0."""
    info = ml_dtypes.finfo(x.dtype)
    own_exponent, own_mantissa = int(info.nexp), int(info.nmant)
    if x.dtype.itemsize == 1:  # no room for an infinity in some of them
        exponent_bits = exponent_bits if exponent_bits < own_exponent else 8
        return _reduce_precision(x.astype(np.float32), exponent_bits, mantissa_bits).astype(x.dtype)
    word = _WORDS[x.dtype.itemsize]
    bits = np.ascontiguousarray(x).view(word).reshape(x.shape)
    sign_bit = word(1 << own_exponent + own_mantissa)
    infinity = word(((1 << own_exponent) - 1) << own_mantissa)
    sign, size = bits & sign_bit, bits & word(sign_bit - word(1))
    special = size >= infinity
    if mantissa_bits < own_mantissa:
        drop = own_mantissa - mantissa_bits
        last = (size >> word(drop)) & word(1)
        size = (size + word((1 << drop - 1) - 1) + last) >> word(drop) << word(drop)
    if exponent_bits < own_exponent:
        bias, new_bias = (1 << own_exponent - 1) - 1, (1 << exponent_bits - 1) - 1
        exponent = (size >> word(own_mantissa)).astype(np.int64)
        size = np.where(exponent > bias + new_bias, infinity, size)
        size = np.where(exponent <= bias - new_bias, word(0), size)
    rounded = np.asarray(np.where(special, bits, sign | size).astype(word))
    return rounded.view(x.dtype).reshape(x.shape)


class ReducePrecision(Elementwise):
    """Elements rounded to a format of fewer bits, in the dtype they have."""

    def type(self, *types: ArrayType, exponent_bits: int, mantissa_bits: int  # type: ignore[override]
             ) -> list[ArrayType]:
        if exponent_bits < 1 or mantissa_bits < 0:
            raise errors.value_error(
                f"got exponent_bits {exponent_bits} and mantissa_bits {mantissa_bits}, at least 1 and 0 are "
                "required", fix="float16 has 5 and 10, bfloat16 8 and 7")
        return super().type(*types)

    def hlo(self, b: Any, *values: Any, exponent_bits: int, mantissa_bits: int) -> Outputs:  # type: ignore[override]
        return [b.op("stablehlo.reduce_precision", values, b.outputs[0],
                     f"exponent_bits = {exponent_bits} : i32, mantissa_bits = {mantissa_bits} : i32")]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        values = np.array([1.23456, 1e30, -1e30, 1e-30, np.nan, np.inf, -np.inf, 65504, 65519.9, 65520, 6e-5,
                           6.1035e-5, -0.0, 3, 2.5, 3.5], np.float32)
        for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (5, 0), (8, 23), (11, 52), (1, 2)):
            yield Example(values, exponent_bits=exponent, mantissa_bits=mantissa, order=0)
        # Where it rounds, its derivative, taken as that of a linear function, is not that of steps.
        yield Example(rng.integers(-3, 4, (2, 3)).astype(np.float32), exponent_bits=8, mantissa_bits=23,
                      order=0, linear=(0,))
        yield Example(values[-6:].astype(np.float16), exponent_bits=4, mantissa_bits=3, order=0)
        yield Example(values.astype(dtypes.bfloat16), exponent_bits=5, mantissa_bits=2, order=0)


class Copy(MovesKeys):
    """`x` itself, in a buffer of its own."""

    def type(self, x: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        return [x]

    def numpy(self, x: np.ndarray) -> Outputs:  # type: ignore[override]
        return [np.array(x)]

    def hlo(self, b: Any, x: Any) -> Outputs:  # type: ignore[override]
        return [x]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Outputs, Outputs]:
        return [self(*primals)], [tangents[0] if isinstance(tangents[0], Zero) else self(*tangents)]

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        return [cts[0]]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool]) -> tuple[Outputs, list[bool]]:
        return [self(*args)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), linear=(0,))
        yield Example(np.arange(3, dtype=np.int32), order=0)

    def oracle(self, jax: Any, x: Any) -> Any:
        return jax.numpy.array(x, copy=True)


class StopGradient(NoGradient):
    """`x` itself, without a derivative."""

    def type(self, x: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        return [x]

    def numpy(self, x: np.ndarray) -> Outputs:  # type: ignore[override]
        return [x]

    def hlo(self, b: Any, x: Any) -> Outputs:  # type: ignore[override]
        return [x]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool]) -> tuple[Outputs, list[bool]]:
        return [self(*args)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), order=0)
        yield Example(np.float32(1.5), order=0)


convert_element_type = ConvertElementType("convert_element_type")
bitcast_convert_type = BitcastConvertType("bitcast_convert_type")
reduce_precision = ReducePrecision(
    "reduce_precision", _reduce_precision, "reduce_precision",
    [lambda t, out, x, **formats: bind(reduce_precision, [t], formats)[0]],
    transposes=[lambda ct, x, **formats: bind(reduce_precision, [ct], formats)[0]], kinds=FLOAT,
    doc="x rounded to a format of exponent_bits and mantissa_bits.")
copy = Copy("copy")
stop_gradient = StopGradient("stop_gradient")
