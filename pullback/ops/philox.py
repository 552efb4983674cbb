"""XLA's generators of random bits from a state: philox4x32 and threefry2x32, counting blocks.

A state of four 32-bit words is a key (two words) and a counter (two words, the lower one first). Bits come in blocks of
four words (philox) or two (threefry), one block for each value of the counter; a 64-bit number takes two words. The new
state counts on where the blocks end. With several states every one acts by itself, so a batch of them is just more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.primitive import Example, NoGradient, Outputs
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast
from pullback.ops import elementwise as ops
from pullback.ops.bits import UINT, threefry
from pullback.ops.convert import convert_element_type
from pullback.ops.integer import or_, shift_left, shift_right_logical, xor
from pullback.ops.move import broadcast_in_dim, concatenate, iota, reshape, slice

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_PARITY = 0x1BD11BDA
_WORDS = {"philox": 4, "threefry": 2}


def _low(x: Any) -> Any:
    return convert_element_type(x, dtype=dtypes.uint32)


def _high(x: Any) -> Any:
    return _low(shift_right_logical(x, np.uint64(32)))


def _wide(x: Any) -> Any:
    return convert_element_type(x, dtype=dtypes.uint64)


def _join(low: Any, high: Any) -> Any:
    return or_(_wide(low), shift_left(_wide(high), np.uint64(32)))


def philox(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Ten rounds of philox4x32 on uint32 arrays. Source: Salmon et al., "Parallel random numbers" (SC 2011)."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        first, second = (ops.mul(_wide(c), np.uint64(m)) for c, m in zip((c0, c2), _MULTIPLIERS, strict=True))
        c0, c1, c2, c3 = (xor(xor(_high(second), c1), k0), _low(second), xor(xor(_high(first), c3), k1), _low(first))
        k0, k1 = (ops.add(k, np.uint32(w)) for k, w in zip((k0, k1), _WEYL, strict=True))
    return [c0, c1, c2, c3]


def _threefry(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    def add(x: Any, word: Any, n: int) -> Any:
        return ops.add(x, ops.add(word, np.uint32(n)))

    def mix(x0: Any, x1: Any, r: int) -> tuple[Any, Any]:
        x0 = ops.add(x0, x1)
        turned = or_(shift_left(x1, np.uint32(r)), shift_right_logical(x1, np.uint32(32 - r)))
        return x0, xor(turned, x0)

    k0, k1 = key
    return list(threefry((k0, k1, xor(xor(k0, k1), np.uint32(_PARITY))), *counter, add, mix))


class RngBitGenerator(NoGradient):
    """A state u32[s, 4] or u64[s, 2] -> the new state, and bits s + shape."""

    def type(self, key: ArrayType, *, shape: tuple[int, ...], dtype: Any, algorithm: str) -> list[ArrayType]:  # type: ignore[override]
        words = {dtypes.uint32: 4, dtypes.uint64: 2}.get(key.dtype)
        if words is None or key.shape[-1:] != (words,):
            raise errors.type_error(f"the key is {key}, u32[4] or u64[2] is required",
                                    fix="random.key_data of a key of the implementation 'rbg' is one")
        if dtype not in UINT.values():
            raise errors.type_error(f"dtype is {dtype}, uint8, uint16, uint32 or uint64 is required",
                                    fix="draw such bits and convert them")
        return [key.strong(), ArrayType((*key.shape[:-1], *shape), dtype)]

    def expand(self, key: Any, *, shape: tuple[int, ...], dtype: Any, algorithm: str) -> Outputs:
        with config.enable_x64(True):  # for the 64-bit counter
            return self._bits(key, shape, dtype, algorithm)

    def _bits(self, key: Any, shape: tuple[int, ...], dtype: Any, algorithm: str) -> Outputs:
        lead = key.type.shape[:-1]
        count = math.prod(shape)
        per_block = _WORDS[algorithm]
        need = count * (2 if dtype.itemsize == 8 else 1)
        blocks = -(-need // per_block)
        parts = [reshape(slice(key, start=(*[0] * len(lead), i), limit=(*lead, i + 1), strides=(1,) * (len(lead) + 1)),
                         shape=lead) for i in range(key.type.shape[-1])]
        if key.type.dtype == dtypes.uint32:
            state = [_join(parts[0], parts[1]), _join(parts[2], parts[3])]
        else:
            state = parts
        end = ops.add(state[1], np.uint64(blocks))
        new = [_low(state[0]), _high(state[0]), _low(end), _high(end)] if key.type.dtype == dtypes.uint32 \
            else [state[0], end]
        new_key = concatenate(*[reshape(x, shape=(*lead, 1)) for x in new], axis=len(lead))

        whole = (*lead, blocks)
        at = ops.add(broadcast_in_dim(state[1], shape=whole, dims=tuple(range(len(lead)))),
                     iota(shape=whole, dtype=dtypes.uint64, axis=len(lead)))
        word = broadcast_in_dim(state[0], shape=whole, dims=tuple(range(len(lead))))
        halves, counter = [_low(word), _high(word)], [_low(at), _high(at)]
        out = philox(halves, [*counter, *halves]) if algorithm == "philox" else _threefry(halves, counter)
        words = concatenate(*[reshape(x, shape=(*whole, 1)) for x in out], axis=len(whole))
        words = reshape(words, shape=(*lead, blocks * per_block))
        words = slice(words, start=(0,) * (len(lead) + 1), limit=(*lead, need), strides=(1,) * (len(lead) + 1))
        if dtype.itemsize == 8:
            pairs = reshape(words, shape=(*lead, count, 2))
            full = (*lead, count, 1)
            low, high = (reshape(slice(pairs, start=(*[0] * (len(lead) + 1), i), limit=(*full[:-1], i + 1),
                                       strides=(1,) * len(full)), shape=full[:-1]) for i in range(2))
            words = _join(low, high)
        return [new_key, convert_element_type(reshape(words, shape=(*lead, *shape)), dtype=dtype)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        (key,) = args
        return bind(self, [key if batched[0] else broadcast(key, size)], params), [True, True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for algorithm, dtype, shape in (("philox", dtypes.uint32, (3, 3)), ("philox", dtypes.uint8, (5,)),
                                        ("threefry", dtypes.uint32, (5,)), ("threefry", dtypes.uint16, ()),
                                        ("philox", dtypes.uint32, (0, 2))):
            yield Example(rng.integers(0, 1 << 32, 4, np.uint32), order=0, shape=shape, dtype=dtype,
                          algorithm=algorithm)

    def oracle(self, jax: Any, key: Any, *, shape: tuple[int, ...], dtype: Any, algorithm: str) -> Any:
        kinds = jax.lax.RandomAlgorithm
        kind = kinds.RNG_PHILOX if algorithm == "philox" else kinds.RNG_THREE_FRY
        return jax.lax.rng_bit_generator(jax.numpy.asarray(key), shape, dtype, algorithm=kind)


rng_bit_generator = RngBitGenerator("rng_bit_generator")


class RngUniform(NoGradient):
    """Numbers from [low, high), by a generator whose state is nobody's: other ones at each run."""

    def type(self, low: ArrayType, high: ArrayType, *, shape: tuple[int, ...]) -> list[ArrayType]:  # type: ignore[override]
        if low.dtype != high.dtype or dtypes.kind(low.dtype) not in "iuf":
            raise errors.make(errors.OperandError, op=errors.source.called(), fix="convert one with astype",
                              problem=f"the bounds are {low} and {high}, real numbers of one dtype are required")
        if low.shape or high.shape:
            raise errors.value_error(f"the bounds are {low} and {high}, numbers without axes are required",
                                     fix="use random.uniform, whose bounds broadcast")
        return [ArrayType(shape, low.dtype, low.weak and high.weak)]

    def numpy(self, low: np.ndarray, high: np.ndarray, *, shape: tuple[int, ...]) -> Outputs:  # type: ignore[override]
        rng, kind = np.random.default_rng(), np.asarray(low).dtype
        if dtypes.kind(kind) == "f":
            return [np.asarray(low + (high - low) * rng.random(shape)).astype(kind)]
        return [np.asarray(rng.integers(int(low), max(int(high), int(low) + 1), shape, dtype=kind))]

    def hlo(self, b: Any, low: Any, high: Any, *, shape: tuple[int, ...]) -> Outputs:  # type: ignore[override]
        out = b.outputs[0]
        return [b.op("stablehlo.rng", [low, high, b.constant(np.asarray(shape, np.int64))], out,
                     "rng_distribution = #stablehlo<rng_distribution UNIFORM>")]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, shape: tuple[int, ...]
              ) -> tuple[Outputs, list[bool]]:
        rows = []
        for i in range(size):
            bounds = [reshape(slice(x, start=(i,), limit=(i + 1,), strides=(1,)), shape=()) if flag else x
                      for x, flag in zip(args, batched, strict=True)]
            rows.append(reshape(bind(self, bounds, {"shape": shape})[0], shape=(1, *shape)))
        return [concatenate(*rows, axis=0)], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        # Intervals of one number.
        yield Example(np.float32(2.5), np.float32(2.5), order=0, shape=(2, 3))
        yield Example(np.int32(3), np.int32(4), order=0, shape=(4,))

    def oracle(self, jax: Any, low: Any, high: Any, *, shape: tuple[int, ...]) -> Any:
        return jax.lax.rng_uniform(jax.numpy.asarray(low), jax.numpy.asarray(high), shape)


rng_uniform = RngUniform("rng_uniform")
