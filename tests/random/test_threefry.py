"""The block cipher: published vectors, and its three forms equal each other."""

import numpy as np
import pytest

import pullback
from pullback import lax
from pullback.core.primitive import TABLE
from pullback.core.types import ArrayType
from pullback.ops import bits
from pullback.runtime import pjrt
from pullback.runtime.lower import Builder, Module, Value

pullback.random  # noqa: B018  # loads the engine

# key, counter, result: the known-answer vectors of threefry2x32 with 20 rounds in Random123 (kat_vectors).
VECTORS = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def on_integers(key, counter):
    return [bits.threefry_integers(*k, *c) for k, c in zip(key.tolist(), counter.tolist(), strict=True)]


def on_arrays(key, counter):
    x0, x1 = counter[:, 0].copy(), counter[:, 1].copy()
    return np.stack(bits.threefry_arrays(key[:, 0], key[:, 1], x0, x1), axis=-1)


def on_xla(key, counter):
    t = ArrayType((len(key),), np.dtype(np.uint32))
    module = Module()
    b = Builder(module)
    given = [Value(f"%a{i}", t) for i in range(4)]
    results = bits.threefry_hlo(b, *given, [0])
    arguments = ", ".join(f"{v.name}: {b.type(t)}" for v in given)
    text = (f"module @m {{\nfunc.func public @main({arguments}) -> ({b.type(t)}, {b.type(t)}) {{\n"
            + "\n".join(b.lines)
            + f"\nreturn {results[0].name}, {results[1].name} : {b.type(t)}, {b.type(t)}\n}}\n}}\n")
    compiled = pjrt.compile(text, [(t.shape, t.dtype)] * 2)
    words = [key[:, 0], key[:, 1], counter[:, 0], counter[:, 1]]
    buffers = compiled([pjrt.put(np.ascontiguousarray(w), copy=True) for w in words])
    return np.stack([pjrt.to_numpy(x) for x in buffers], axis=-1)


@pytest.mark.parametrize("cipher", [on_integers, on_arrays, on_xla])
def test_published_vectors(cipher):
    key, counter, result = (np.array(column, np.uint32) for column in zip(*VECTORS, strict=True))
    np.testing.assert_array_equal(cipher(key, counter), result)


def test_the_three_forms_are_equal():
    key, counter = np.random.default_rng(0).integers(0, 1 << 32, (2, 500, 2), np.uint32)
    expected = on_integers(key, counter)
    np.testing.assert_array_equal(on_arrays(key, counter), expected)
    np.testing.assert_array_equal(on_xla(key, counter), expected)


def test_words_side_by_side_do_not_touch():
    def together(words):
        return sum(int(word) << 64 * i for i, word in enumerate(words))

    key, counter = np.random.default_rng(1).integers(0, 1 << 32, (2, 40, 2), np.uint32)
    key[:4] = counter[:4] = 0xFFFFFFFF  # as many carries as there can be
    made = bits.threefry_integers(*map(together, (*key.T, *counter.T)), together([1] * 40))
    for word, expected in zip(made, zip(*on_integers(key, counter), strict=True), strict=True):
        assert word == together(expected)


def words(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 32, (*shape, 2), np.uint32)


def keys(w):
    return pullback.random.wrap_key_data(w)


def block(key, number):
    return bits.threefry_integers(*key.tolist(), number >> 32, number & 0xFFFFFFFF)


# Both sides of the limits at which blocks are made otherwise: few, one piece, several pieces, many keys.
@pytest.mark.parametrize("lead, shape", [
    ((), (10,)), ((), (256,)), ((), (257,)), ((), (3, 70000)), ((5,), (2,)), ((64,), (4,)), ((65,), (4,)),
    ((3,), (40000,)), ((70000,), (3,)),
    ((2, 3), (4, 5)), ((0,), (4,)), ((3,), (0,)), ((), ()),
])
def test_a_bit_depends_on_its_key_and_place_alone(lead, shape):
    key = words(lead)
    call = lambda k: TABLE["random_bits"](k, bit_width=32, shape=shape)  # noqa: E731
    eager = call(keys(key)).numpy()
    np.testing.assert_array_equal(eager, pullback.jit(call)(keys(key)).numpy())
    assert eager.shape == (*lead, *shape)
    for place in np.unique(np.linspace(0, eager.size - 1, 40).astype(int)) if eager.size else []:
        i, j = divmod(int(place), int(np.prod(shape)))
        x0, x1 = block(key.reshape(-1, 2)[i], j)
        assert eager.flat[place] == x0 ^ x1


@pytest.mark.parametrize("shape, start", [((1 << 33,), (8589934588,)), ((4, 1 << 31), (3, 2147483644))])
def test_counters_beyond_32_bits(shape, start):
    """The end of an array of 2**33 elements, of which XLA computes only the slice."""
    key = words(())
    sizes = (1,) * (len(shape) - 1) + (4,)
    limit = tuple(a + n for a, n in zip(start, sizes, strict=True))
    tail = pullback.jit(lambda k: lax.slice(TABLE["random_bits"](k, bit_width=64, shape=shape), start, limit))
    with pullback.enable_x64(True):
        found = tail(keys(key)).numpy().ravel()
    expected = [x0 << 32 | x1 for x0, x1 in (block(key, (1 << 33) - 4 + i) for i in range(4))]
    assert found.tolist() == expected


def test_lowering_is_one_straight_line():
    text = pullback.jit(lambda k: pullback.random.bits(k, (8,))).lower(pullback.random.key(0)).as_text()
    assert "while" not in text and text.count("stablehlo.xor") == 23
