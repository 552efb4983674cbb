"""Random bits and keys. One generator underlies all: the counter-based block cipher threefry2x32.

A key is two 32-bit words. Block i of a key is threefry(key, i), where i is a 64-bit counter given as two
words; it is two words of random bits. An array of bits takes one block per element, so an element depends on
the key and on its place alone, never on how the array is laid out or computed. With several keys every
operation acts on each key by itself, so a batch of keys is just more keys.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Example, NoGradient, Outputs
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF

UINT = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}


def threefry(words: Sequence[Any], x0: Any, x1: Any, add: Callable[..., Any], mix: Callable[..., Any]) -> Any:
    """The two words that 20 rounds of threefry2x32 make of the counter (x0, x1).

    Args:
      words: the key schedule k0, k1, k0 ^ k1 ^ 0x1BD11BDA.
      add: (x, word, n) -> x + (word + n).
      mix: (x0, x1, r) -> x0 + x1, (x1 rotated left by r) ^ (x0 + x1).

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
    """
    x0, x1 = add(x0, words[0], 0), add(x1, words[1], 0)
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0, x1 = mix(x0, x1, rotation)
        x0 = add(x0, words[(group + 1) % 3], 0)
        x1 = add(x1, words[(group + 2) % 3], group + 1)
    return x0, x1


# -- on Python integers: for some blocks this is faster than NumPy's hundred small operations ------------


def threefry_integers(k0: int, k1: int, x0: int, x1: int, ones: int = 1) -> tuple[int, int]:
    """threefry on Python integers, written out: calls of `add` and `mix` would take most of the time.

    Args:
      k0, k1, x0, x1: a word each, or several side by side, each in 64 bits of its own, which no carry leaves.
      ones: 1 in the place of each word.
    """
    mask = _MASK * ones
    words = k0, k1, k0 ^ k1 ^ _PARITY * ones
    x0, x1 = x0 + k0 & mask, x1 + k1 & mask
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = x0 + x1 & mask
            x1 <<= r
            x1 = (x1 | x1 >> 32) & mask ^ x0
        x0 = x0 + words[(group + 1) % 3] & mask
        x1 = x1 + words[(group + 2) % 3] + (group + 1) * ones & mask
    return x0, x1


_SOME_BLOCKS = 256


def _side_by_side(words: np.ndarray) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


@functools.lru_cache(64)
def _places(keys: int, count: int) -> tuple[int, int]:
    """1 in the place of each block, and the number of each."""
    return _side_by_side(np.ones(keys * count)), _side_by_side(np.tile(np.arange(count), keys))


def _some_blocks(words: np.ndarray, count: int, numbers: np.ndarray | None = None) -> tuple[int, int]:
    """Both words of blocks 0 .. count - 1 of each key, or of one of each by its number, side by side.

    Args:
      words: uint32[keys, 2].
    """
    keys = len(words)
    ones, each = _places(keys, count)
    if numbers is not None:
        each = _side_by_side(numbers)
    k0, k1 = [int(word) * ones for word in words[0]] if keys == 1 else [
        _side_by_side(np.repeat(column, count)) for column in words.T]
    return threefry_integers(k0, k1, 0, each, ones)


def _array(both: int, count: int, dtype: str) -> np.ndarray:
    """An array of integers of up to 64 bits that stand side by side."""
    return np.frombuffer(both.to_bytes(8 * count, "little"), dtype)


def _pairs(words: tuple[int, int], count: int) -> np.ndarray:
    return _array(words[0] | words[1] << 32, count, "<u4")


# -- on ndarrays, in place, in pieces that stay in the cache -------------------------------------------

_PIECE = 1 << 16
_SHIFTS = [np.uint32(n) for n in range(33)]


def _add_arrays(x: np.ndarray, word: np.ndarray, n: int) -> np.ndarray:
    return np.add(x, word + _SHIFTS[n] if n else word, out=x)


def threefry_arrays(k0: np.ndarray, k1: np.ndarray, x0: np.ndarray, x1: np.ndarray
                    ) -> tuple[np.ndarray, np.ndarray]:
    """threefry on uint32 arrays; x0 and x1 are overwritten."""
    scratch = np.empty_like(x1)

    def mix(x0: np.ndarray, x1: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
        np.add(x0, x1, x0)  # the result by its place: to read its name takes a tenth of the time of small arrays
        np.left_shift(x1, _SHIFTS[r], scratch)
        np.right_shift(x1, _SHIFTS[32 - r], x1)
        np.bitwise_or(x1, scratch, x1)
        np.bitwise_xor(x1, x0, x1)
        return x0, x1

    return threefry((k0, k1, k0 ^ k1 ^ np.uint32(_PARITY)), x0, x1, _add_arrays, mix)  # type: ignore[no-any-return]


def _blocks(words: np.ndarray, count: int) -> Iterator[tuple[tuple[slice, slice], np.ndarray, np.ndarray]]:
    """Blocks 0 .. count - 1 of each key, in pieces: the place in an array [keys, count], and both words.

    Args:
      words: uint32[keys, 2].
    """
    keys = len(words)
    columns = min(count, _PIECE)
    rows = _PIECE // columns
    for first in range(0, keys, rows):
        some = slice(first, min(first + rows, keys))
        k0, k1 = words[some, :1], words[some, 1:]
        for start in range(0, count, columns):
            here = slice(start, min(start + columns, count))
            shape = (some.stop - some.start, here.stop - here.start)
            x0, x1 = np.empty(shape, np.uint32), np.empty(shape, np.uint32)
            counter = np.arange(here.start, here.stop, dtype=np.uint64)
            x0[...] = counter >> np.uint64(32)
            x1[...] = counter.astype(np.uint32)
            yield (some, here), *threefry_arrays(k0, k1, x0, x1)


# -- in StableHLO: straight-line, so that XLA makes one loop of it --------------------------------------


def _shift(b: Any, left: bool, x: Any, n: int) -> Any:
    name = "stablehlo.shift_left" if left else "stablehlo.shift_right_logical"
    return b.op(name, [x, b.full(n, x.type)], x.type)


def _word(b: Any, words: Any, i: int) -> Any:
    """Word i of each key: u32[s, 2] -> u32[s]."""
    shape = words.type.shape[:-1]
    start, limit = (0,) * len(shape) + (i,), (*shape, i + 1)
    one = b.op("stablehlo.slice", [words], ArrayType((*shape, 1), dtypes.uint32),
               f"limit_indices = {b.ints(limit)}, start_indices = {b.ints(start)}, "
               f"strides = {b.ints([1] * len(limit))}")
    return b.reshape(one, shape)


def threefry_hlo(b: Any, k0: Any, k1: Any, x0: Any, x1: Any, dims: Sequence[int]) -> tuple[Any, Any]:
    """threefry on Values; the axes of the keys are the axes `dims` of the counters."""
    def add(x: Any, word: Any, n: int) -> Any:
        if n:
            word = b.add(word, b.full(n, word.type))
        return b.add(x, b.broadcast_in_dim(word, dims, x.type))

    def mix(x0: Any, x1: Any, r: int) -> tuple[Any, Any]:
        x0 = b.add(x0, x1)
        return x0, b.xor(b.or_(_shift(b, True, x1, r), _shift(b, False, x1, 32 - r)), x0)

    parity = b.xor(b.xor(k0, k1), b.full(_PARITY, k0.type))
    return threefry((k0, k1, parity), x0, x1, add, mix)  # type: ignore[no-any-return]


def _keys_hlo(b: Any, keys: Any, x0: Any, x1: Any) -> Any:
    """The keys that the blocks of the counters x0, x1: u32[s + shape] give: u32[s + shape, 2].

    Both words are computed at the place of either, which costs less than joining two arrays, in time to
    compile and to run. The barrier keeps XLA from fusing chains of splits, which compile slowly.
    """
    shape = x0.type.shape
    both = x0.type.with_shape((*shape, 2))
    x0, x1 = (b.broadcast_in_dim(x, range(len(shape)), both) for x in (x0, x1))
    words = [_word(b, keys, i) for i in range(2)]
    x0, x1 = threefry_hlo(b, *words, x0, x1, range(len(words[0].type.shape)))
    first = b.compare("EQ", b.iota(both, len(shape)), b.full(0, both))
    return b.op("stablehlo.optimization_barrier", [b.select(first, x0, x1)], both)


def _counters(b: Any, lead: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The number of each element in an array of `shape`, as two words, along axes after those of `lead`."""
    wide = math.prod(shape) > 1 << 32
    dtype = dtypes.uint64 if wide else dtypes.uint32
    kind = ArrayType((*lead, *shape), dtype)
    number, stride = None, 1
    for axis in reversed(range(len(shape))):
        if shape[axis] != 1:
            place = b.iota(kind, len(lead) + axis)
            part = place if stride == 1 else b.mul(place, b.full(stride, kind))
            number = part if number is None else b.add(number, part)
        stride *= shape[axis]
    zero = b.full(0, kind.with_dtype(dtypes.uint32))
    if number is None:
        return zero, zero
    if not wide:
        return zero, number
    return b.convert(_shift(b, False, number, 32), dtypes.uint32), b.convert(number, dtypes.uint32)


# -- the primitives ---------------------------------------------------------------------------------------


def check_key(t: ArrayType) -> ArrayType:
    """A TypeError unless `t` is a type of threefry2x32 keys."""
    if not t.is_key:
        raise errors.type_error(
            f"got {t}, a PRNG key is required",
            fix="random.key(seed) makes one; random.wrap_key_data turns uint32[..., 2] words into keys")
    if t.dtype.impl != "threefry2x32":
        raise errors.type_error(f"got {t}, a key of the implementation 'threefry2x32' is required",
                                fix="make the key with random.key(seed)")
    return t


class KeyPrimitive(NoGradient):
    """An operation that treats each key, or each pair of a key and a number, by itself."""

    parallel = True

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        each = [arg if flag else broadcast(arg, size) for arg, flag in zip(args, batched, strict=True)]
        return bind(self, each, params), [True]


class RandomWrap(KeyPrimitive):
    """Words u32[s, 2] as keys of shape s."""

    def type(self, words: ArrayType, *, impl: str) -> list[ArrayType]:  # type: ignore[override]
        dtype = dtypes.key_dtype(impl)
        size = len(dtype.key_shape)
        if words.dtype != dtypes.uint32 or words.shape[words.ndim - size:] != dtype.key_shape:
            raise errors.type_error(
                f"got {words}, words of keys u32[..., {', '.join(map(str, dtype.key_shape))}] are required",
                fix="pass what random.key_data(key) gives, or make keys with random.key(seed)")
        return [ArrayType(words.shape[: words.ndim - size], dtype)]

    def numpy(self, words: np.ndarray, *, impl: str) -> Outputs:  # type: ignore[override]
        return [words]

    def hlo(self, b: Any, words: Any, *, impl: str) -> Outputs:  # type: ignore[override]
        return [words]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for shape in [(2,), (3, 2), (0, 2)]:
            yield Example(rng.integers(0, 1 << 32, shape, np.uint32), order=0, impl="threefry2x32")

    def oracle(self, jax: Any, words: Any, *, impl: str) -> Any:
        return jax.random.wrap_key_data(words, impl=impl)


class RandomUnwrap(KeyPrimitive):
    """Keys of shape s as their words u32[s, 2]."""

    def type(self, key: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        if not key.is_key:
            check_key(key)
        return [key.physical()]

    def numpy(self, key: np.ndarray) -> Outputs:  # type: ignore[override]
        return [key]

    def hlo(self, b: Any, key: Any) -> Outputs:  # type: ignore[override]
        return [key]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_some_keys(rng, ()), order=0)
        yield Example(_some_keys(rng, (3,)), order=0)

    def oracle(self, jax: Any, key: Any) -> Any:
        return jax.random.key_data(key)


class RandomSeed(KeyPrimitive):
    """A key per seed: the seed's two 32-bit words, the upper one first (0 for seeds of at most 32 bits)."""

    def type(self, seeds: ArrayType, *, impl: str) -> list[ArrayType]:  # type: ignore[override]
        if not dtypes.is_integer(seeds.dtype):
            raise errors.type_error(f"got a seed of type {seeds}, an integer is required",
                                    fix="pass an int, e.g. int(seed)")
        return [check_key(ArrayType(seeds.shape, dtypes.key_dtype(impl)))]

    def numpy(self, seeds: np.ndarray, *, impl: str) -> Outputs:  # type: ignore[override]
        seeds = np.asarray(seeds)
        words = np.zeros((*seeds.shape, 2), np.uint32)
        if seeds.dtype.itemsize == 8:
            words[..., 0] = seeds.astype(np.uint64) >> np.uint64(32)
        words[..., 1] = seeds.astype(np.uint32)
        return [words]

    def hlo(self, b: Any, seeds: Any, *, impl: str) -> Outputs:  # type: ignore[override]
        low = b.convert(seeds, dtypes.uint32)
        if seeds.type.dtype.itemsize == 8:
            high = b.convert(_shift(b, False, b.convert(seeds, dtypes.uint64), 32), dtypes.uint32)
        else:
            high = b.full(0, low.type)
        shape = low.type.shape
        parts = [b.reshape(x, (*shape, 1)) for x in (high, low)]
        return [b.op("stablehlo.concatenate", parts, b.outputs[0], f"dimension = {len(shape)} : i64")]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(np.int32(-3), order=0, impl="threefry2x32")
        yield Example(np.arange(5, dtype=np.uint32) << 30, order=0, impl="threefry2x32")
        yield Example(np.array([-3, 7], np.int8), order=0, impl="threefry2x32")

    def oracle(self, jax: Any, seeds: Any, *, impl: str) -> Any:
        return jax.numpy.vectorize(lambda seed: jax.random.key(seed, impl=impl))(seeds)


class RandomSplit(KeyPrimitive):
    """An array of new keys per key: s -> s + shape."""

    def type(self, keys: ArrayType, *, shape: tuple[int, ...]) -> list[ArrayType]:  # type: ignore[override]
        check_key(keys)
        return [ArrayType((*keys.shape, *shape), keys.dtype)]

    def numpy(self, keys: np.ndarray, *, shape: tuple[int, ...]) -> Outputs:  # type: ignore[override]
        words = keys.reshape(-1, 2)
        count = len(words) * math.prod(shape)
        if count <= _SOME_BLOCKS:
            return [_pairs(_some_blocks(words, math.prod(shape)), count).reshape((*keys.shape[:-1], *shape, 2))]
        out = np.empty((len(words), math.prod(shape), 2), np.uint32)
        for (some, here), x0, x1 in _blocks(words, math.prod(shape)):
            out[some, here, 0] = x0
            out[some, here, 1] = x1
        return [out.reshape((*keys.shape[:-1], *shape, 2))]

    def hlo(self, b: Any, keys: Any, *, shape: tuple[int, ...]) -> Outputs:  # type: ignore[override]
        return [_keys_hlo(b, keys, *_counters(b, keys.type.shape[:-1], shape))]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for lead, shape in [((), (2,)), ((), ()), ((), (0,)), ((), (3, 4)), ((3,), (5,)), ((0,), (2,))]:
            yield Example(_some_keys(rng, lead), order=0, shape=shape)

    def oracle(self, jax: Any, keys: Any, *, shape: tuple[int, ...]) -> Any:
        return _for_each(jax, lambda key: jax.random.split(key, shape), keys)


class RandomFoldIn(KeyPrimitive):
    """A new key per pair of a key and a number u32: the block of that number."""

    def type(self, keys: ArrayType, data: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        check_key(keys)
        if data.dtype != dtypes.uint32 or data.shape != keys.shape:
            raise errors.type_error(f"got keys {keys} and numbers {data}, u32 numbers of the keys' shape are "
                                    "required", fix="convert the numbers with astype, and vmap over batches")
        return [keys]

    def numpy(self, keys: np.ndarray, data: np.ndarray) -> Outputs:  # type: ignore[override]
        if np.size(data) <= _SOME_BLOCKS:
            made = _some_blocks(keys.reshape(-1, 2), 1, np.ravel(data))
            return [_pairs(made, np.size(data)).reshape(keys.shape)]
        x0, x1 = threefry_arrays(keys[..., 0], keys[..., 1], np.zeros(data.shape, np.uint32), data.copy())
        return [np.stack([x0, x1], axis=-1)]

    def hlo(self, b: Any, keys: Any, data: Any) -> Outputs:  # type: ignore[override]
        return [_keys_hlo(b, keys, b.full(0, data.type), data)]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_some_keys(rng, ()), np.uint32(7), order=0)
        yield Example(_some_keys(rng, (2, 3)), rng.integers(0, 1 << 32, (2, 3), np.uint32), order=0)

    def oracle(self, jax: Any, keys: Any, data: Any) -> Any:
        return _for_each(jax, jax.random.fold_in, keys, data)


class RandomBits(KeyPrimitive):
    """An array of random bits per key: s -> s + shape, of unsigned integers with `bit_width` bits."""

    def type(self, keys: ArrayType, *, bit_width: int, shape: tuple[int, ...]  # type: ignore[override]
             ) -> list[ArrayType]:
        check_key(keys)
        if bit_width not in UINT:
            raise errors.value_error(f"got bit_width {bit_width}, one of {list(UINT)} is required",
                                     fix="draw wider bits and convert them")
        return [ArrayType((*keys.shape, *shape), UINT[bit_width])]

    def numpy(self, keys: np.ndarray, *, bit_width: int, shape: tuple[int, ...]  # type: ignore[override]
              ) -> Outputs:
        words = keys.reshape(-1, 2)
        count = len(words) * math.prod(shape)
        if count <= _SOME_BLOCKS:
            x0, x1 = _some_blocks(words, math.prod(shape))
            made = _array(x0 << 32 | x1 if bit_width == 64 else x0 ^ x1, count, "<u8")
            return [made.astype(UINT[bit_width]).reshape((*keys.shape[:-1], *shape))]
        out = np.empty((len(words), math.prod(shape)), UINT[bit_width])
        for place, x0, x1 in _blocks(words, math.prod(shape)):
            if bit_width == 64:
                out[place] = x0.astype(np.uint64) << np.uint64(32) | x1
            else:
                out[place] = (x0 ^ x1).astype(out.dtype)
        return [out.reshape((*keys.shape[:-1], *shape))]

    def hlo(self, b: Any, keys: Any, *, bit_width: int, shape: tuple[int, ...]  # type: ignore[override]
            ) -> Outputs:
        lead = keys.type.shape[:-1]
        x0, x1 = threefry_hlo(b, _word(b, keys, 0), _word(b, keys, 1), *_counters(b, lead, shape),
                              range(len(lead)))
        if bit_width == 64:
            x0, x1 = b.convert(x0, dtypes.uint64), b.convert(x1, dtypes.uint64)
            return [b.or_(_shift(b, True, x0, 32), x1)]
        bits = b.xor(x0, x1)
        return [bits if bit_width == 32 else b.convert(bits, UINT[bit_width])]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for width in (8, 16, 32):
            yield Example(_some_keys(rng, ()), order=0, bit_width=width, shape=(3, 5))
        for lead, shape in [((), ()), ((), (0, 3)), ((), (1,)), ((), (9000,)), ((3,), (2, 1, 4)), ((4,), ()),
                            ((0,), (2,))]:
            yield Example(_some_keys(rng, lead), order=0, bit_width=32, shape=shape)

    def oracle(self, jax: Any, keys: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
        return _for_each(jax, lambda key: jax.random.bits(key, shape, f"uint{bit_width}"), keys)


def _some_keys(rng: np.random.Generator, shape: tuple[int, ...]) -> ConcreteArray:
    words = rng.integers(0, 1 << 32, (*shape, 2), np.uint32)
    return ConcreteArray(ArrayType(shape, dtypes.key_dtype("threefry2x32")), words)


def _for_each(jax: Any, function: Callable[..., Any], *args: Any) -> Any:
    """function on each key of an array of keys (and the numbers beside them)."""
    for _ in range(args[0].ndim):
        function = jax.vmap(function)
    return function(*args)


class RandomClone(KeyPrimitive):
    """Keys themselves, for a second use that is meant."""

    def type(self, keys: ArrayType) -> list[ArrayType]:  # type: ignore[override]
        return [keys if keys.is_key else check_key(keys)]

    def numpy(self, keys: np.ndarray) -> Outputs:  # type: ignore[override]
        return [keys]

    def hlo(self, b: Any, keys: Any) -> Outputs:  # type: ignore[override]
        return [keys]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(_some_keys(rng, (2,)), order=0)

    def oracle(self, jax: Any, keys: Any) -> Any:
        return jax.random.clone(keys)


random_clone = RandomClone("random_clone")
random_wrap = RandomWrap("random_wrap")
random_unwrap = RandomUnwrap("random_unwrap")
random_seed = RandomSeed("random_seed")
random_split = RandomSplit("random_split")
random_fold_in = RandomFoldIn("random_fold_in")
random_bits = RandomBits("random_bits")
