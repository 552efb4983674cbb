"""Operations on the bits of integers and booleans."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.ops.elementwise import Pointwise
from pullback.ops.families import BITS, Elementwise

_UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}


class Words:
    """The bits of an integer dtype as unsigned NumPy words, narrow ones in the low bits of a byte."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.bits = dtypes.itemsize_bits(dtype) if dtype != np.bool_ else 1
        self.word = _UNSIGNED[dtype.itemsize]
        self.mask = self.word.type((1 << self.bits) - 1)
        self.top = self.word.type(1 << self.bits - 1)

    def of(self, x: np.ndarray) -> np.ndarray:
        if self.dtype == self.word:
            return x
        # A narrow dtype is converted by way of its sign-extended value.
        wide = x.astype(self.word if dtypes.kind(self.dtype) != "i" else np.dtype(f"i{self.word.itemsize}"))
        return wide.astype(self.word) & self.mask

    def signed(self, words: np.ndarray) -> np.ndarray:
        return ((words ^ self.top) - self.top).view(np.dtype(f"i{self.word.itemsize}"))

    def back(self, words: np.ndarray) -> np.ndarray:
        if self.dtype == self.word:
            return words.astype(self.word, copy=False)
        words = words.astype(self.word) & self.mask
        return (self.signed(words) if dtypes.kind(self.dtype) == "i" else words).astype(self.dtype)


@functools.lru_cache(64)
def _words(dtype: np.dtype) -> Words:
    return Words(dtype)


def _on_words(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A NumPy rule from `function(words, *operands as words)`."""

    def reference(*xs: np.ndarray) -> np.ndarray:
        words = _words(xs[0].dtype)
        return words.back(function(words, *[words.of(x) for x in xs]))

    return reference


def _logical(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    by_words = _on_words(lambda words, *xs: function(*xs))

    def reference(*xs: np.ndarray) -> np.ndarray:
        return function(*xs) if xs[0].dtype.kind in "biu" else by_words(*xs)

    return reference


def _shift_left(words: Words, x: np.ndarray, amount: np.ndarray) -> np.ndarray:
    beyond = amount >= words.bits
    return np.where(beyond, words.word.type(0), x << np.where(beyond, words.word.type(0), amount))


def _shift_right_logical(words: Words, x: np.ndarray, amount: np.ndarray) -> np.ndarray:
    beyond = amount >= words.bits
    if not beyond.any():
        return x >> amount
    return np.where(beyond, words.word.type(0), x >> np.where(beyond, words.word.type(0), amount))


def _shift_right_arithmetic(words: Words, x: np.ndarray, amount: np.ndarray) -> np.ndarray:
    signed = words.signed(x)
    return signed >> np.minimum(amount, words.word.type(words.bits - 1)).astype(signed.dtype)


def _leading_zeros(words: Words, x: np.ndarray) -> np.ndarray:
    shift = 1
    while shift < words.bits:
        x = x | x >> words.word.type(shift)
        shift *= 2
    return words.bits - np.bitwise_count(x)


_BYTES = np.array([-128, -1, 0, 1, 2, 100, 127, 64], np.int8)
_SHIFTS = np.array([0, 1, 2, 7, 8, 9, -1, -128], np.int8)
_SHIFTED = tuple(a.ravel() for a in np.meshgrid(_BYTES, _SHIFTS))
_WORDS = np.array([0, 1, -1, 2**31 - 1, -(2**31), 65536, 12345], np.int32)


def _popcnt(b: Any, x: Any) -> Any:
    t = x.type
    if dtypes.itemsize_bits(t.dtype) >= 8:
        return b.op("stablehlo.popcnt", [x], t)
    # XLA counts the sign bits of the byte that holds a narrow integer too.
    byte = b.convert(x, dtypes.uint8)
    low = b.and_(byte, b.full((1 << dtypes.itemsize_bits(t.dtype)) - 1, byte.type))
    return b.convert(b.op("stablehlo.popcnt", [low], byte.type), t.dtype)


def _operation(name: str, reference: Callable[..., np.ndarray], hlo: Any, count: int, kinds: str,
               edges: Sequence[tuple[Any, ...]], doc: str) -> Elementwise:
    made = Pointwise(name, reference, hlo, [None] * count, kinds=kinds, domain=(0.0, 7.0), edges=edges,
                     doc=doc)
    made.reference = reference  # it does narrow dtypes by itself
    return made


_PAIRS = [_SHIFTED, (_WORDS, _WORDS[::-1].copy()), tuple(a.view(np.uint8) for a in _SHIFTED)]
_SINGLE = [(_BYTES,), (_BYTES.view(np.uint8),), (_WORDS,), (_WORDS.view(np.uint32),)]

not_ = _operation("not", _logical(np.invert), "not", 1, BITS, _SINGLE, "Every bit inverted.")
and_ = _operation("and", _logical(np.bitwise_and), "and", 2, BITS, _PAIRS, "The bits set in both x and y.")
or_ = _operation("or", _logical(np.bitwise_or), "or", 2, BITS, _PAIRS, "The bits set in x or y.")
xor = _operation("xor", _logical(np.bitwise_xor), "xor", 2, BITS, _PAIRS, "The bits in which x and y differ.")
shift_left = _operation("shift_left", _on_words(_shift_left), "shift_left", 2, "iu", _PAIRS,
                        "x moved up by y bits; 0 if y is not below the width.")
shift_right_logical = _operation(
    "shift_right_logical", _on_words(_shift_right_logical), "shift_right_logical", 2, "iu", _PAIRS,
    "x moved down by y bits, filled with zeros; 0 if y is not below the width.")
shift_right_arithmetic = _operation(
    "shift_right_arithmetic", _on_words(_shift_right_arithmetic), "shift_right_arithmetic", 2, "iu", _PAIRS,
    "x moved down by y bits, filled with its highest bit.")
population_count = _operation(
    "population_count", _on_words(lambda words, x: np.bitwise_count(x)), _popcnt, 1, "iu", _SINGLE,
    "How many bits are set.")
clz = _operation("clz", _on_words(_leading_zeros), "count_leading_zeros", 1, "iu", _SINGLE,
                 "How many zero bits precede the highest set one.")
