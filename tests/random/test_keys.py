"""Keys: their dtype, how they are made and moved, and what is refused."""

import copy
import pickle

import jax
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax, random
from pullback.core import dtypes
from pullback.core.array import Array

SEEDS = [0, 5, -1, 2**31, -2**31, 2**32 - 1, 2**32, 2**40 + 7, -2**40, 2**63 - 1, -2**63, True, np.int8(-3),
         np.uint8(200), np.int64(2**40 + 7), np.int64(-5), np.uint64(2**64 - 1), np.uint32(2**32 - 1),
         np.array(-7, np.int32), np.array(2**40, np.int64)]


def data(key):
    return random.key_data(key).numpy()


# -- making keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_seeds_as_jax(seed, wide):
    with jax.enable_x64(wide), pullback.enable_x64(wide):
        expected = np.asarray(jax.random.key_data(jax.random.key(seed)))
        np.testing.assert_array_equal(data(random.key(seed)), expected)
        np.testing.assert_array_equal(random.PRNGKey(seed).numpy(), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_traced_seeds(dtype):
    with jax.enable_x64(True), pullback.enable_x64(True):
        info = np.iinfo(dtype)
        for seed in np.array([info.min, info.max, 3], dtype):
            ours = pullback.jit(lambda s: random.key_data(random.key(s)))(jnp.asarray(seed)).numpy()
            theirs = jax.jit(lambda s: jax.random.key_data(jax.random.key(s)))(jax.numpy.asarray(seed))
            np.testing.assert_array_equal(ours, np.asarray(theirs))


def test_a_key_is_a_leaf_with_its_own_dtype():
    key = random.key(0)
    assert isinstance(key, Array) and isinstance(key.dtype, dtypes.KeyDtype)
    assert key.shape == () and str(key.dtype) == "key<fry>" and str(key.type) == "key<fry>[]"
    assert key.dtype == random.key_dtype() == dtypes.key_dtype("threefry2x32")
    assert jnp.issubdtype(key.dtype, dtypes.prng_key) and not jnp.issubdtype(key.dtype, np.integer)
    assert "key<fry>" in repr(key)
    assert random.split(key, 3).size == 3 and random.split(key, (2, 3)).ndim == 2
    assert random.key_impl(key) == random.key_impl(random.PRNGKey(0)) == "threefry2x32"


@pytest.mark.parametrize("num", [2, 0, 1, (), (2, 3), (2, 0), np.int32(3)])
@pytest.mark.parametrize("make", ["key", "PRNGKey"])
def test_split_as_jax(make, num):
    ours, theirs = random.split(getattr(random, make)(7), num), jax.random.split(getattr(jax.random, make)(7), num)
    assert ours.shape == theirs.shape and str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_array_equal(data(ours), np.asarray(jax.random.key_data(theirs)))


@pytest.mark.parametrize("number", [0, 1, 2**32 - 1, True, np.int64(2**33 + 5), np.int8(-1), np.array(9)], ids=repr)
@pytest.mark.parametrize("make", ["key", "PRNGKey"])
def test_fold_in_as_jax(make, number):
    ours = random.fold_in(getattr(random, make)(7), number)
    theirs = jax.random.fold_in(getattr(jax.random, make)(7), number)
    assert ours.shape == theirs.shape and str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_array_equal(data(ours), np.asarray(jax.random.key_data(theirs)))


def test_fold_in_of_a_traced_number():
    call = pullback.jit(lambda n: random.key_data(random.fold_in(random.key(3), n)))
    np.testing.assert_array_equal(call(5).numpy(), data(random.fold_in(random.key(3), 5)))
    numbers = pullback.vmap(lambda n: random.key_data(random.fold_in(random.key(3), n)))(jnp.arange(20))
    expected = [data(random.fold_in(random.key(3), n)) for n in range(20)]
    np.testing.assert_array_equal(numbers.numpy(), expected)


def test_splitting_is_folding_in_the_place():
    key = random.key(11)
    np.testing.assert_array_equal(data(random.split(key, 3)), [data(random.fold_in(key, i)) for i in range(3)])


def test_words_and_back():
    keys = random.split(random.key(1), (2, 3))
    words = random.key_data(keys)
    assert words.shape == (2, 3, 2) and words.dtype == np.uint32
    np.testing.assert_array_equal(data(random.wrap_key_data(words)), words.numpy())
    np.testing.assert_array_equal(data(random.wrap_key_data(words.numpy(), impl="threefry2x32")), words.numpy())
    raw = random.PRNGKey(1)
    assert random.key_data(raw) is raw
    np.testing.assert_array_equal(data(random.clone(keys)), words.numpy())


def test_copies_and_pickles():
    keys = random.split(random.key(1), 3)
    for again in (copy.copy(keys), copy.deepcopy(keys), pickle.loads(pickle.dumps(keys))):
        assert again.type == keys.type
        np.testing.assert_array_equal(data(again), data(keys))


# -- keys in arrays and transformations -----------------------------------------------------------------

MOVES = [
    ("index", lambda jnp, lax, k: k[1, 0]),
    ("negative index", lambda jnp, lax, k: k[-1]),
    ("slice", lambda jnp, lax, k: k[:, 1:]),
    ("new axis", lambda jnp, lax, k: k[None]),
    ("mask of places", lambda jnp, lax, k: k[jnp.array([1, 0, 1])]),
    ("reshape", lambda jnp, lax, k: k.reshape(3, 2)),
    ("ravel", lambda jnp, lax, k: k.reshape(-1)),
    ("transpose", lambda jnp, lax, k: k.T),
    ("concatenate", lambda jnp, lax, k: lax.concatenate([k, k], 1)),
    ("broadcast", lambda jnp, lax, k: lax.broadcast_in_dim(k, (4, 2, 3), (1, 2))),
    ("dynamic slice", lambda jnp, lax, k: lax.dynamic_slice(k, (1, 1), (1, 2))),
    ("reverse", lambda jnp, lax, k: lax.rev(k, (0, 1))),
]


@pytest.mark.parametrize("move", [m for _, m in MOVES], ids=[name for name, _ in MOVES])
def test_keys_move_as_jax_moves_them(move):
    ours = lambda k: move(jnp, lax, k)  # noqa: E731
    key, theirs = random.split(random.key(4), (2, 3)), jax.random.split(jax.random.key(4), (2, 3))
    expected = move(jax.numpy, jax.lax, theirs)
    for call in (ours, pullback.jit(ours)):
        found = call(key)
        assert found.shape == expected.shape and str(found.dtype) == "key<fry>"
        np.testing.assert_array_equal(data(found), np.asarray(jax.random.key_data(expected)))


def test_iterating_gives_keys():
    first, second = random.split(random.key(0))
    assert first.shape == second.shape == () and first.type.is_key
    np.testing.assert_array_equal([data(first), data(second)], data(random.split(random.key(0))))


def test_keys_cross_transformations():
    key = random.key(5)

    def noisy(x, key):
        key, sub = random.split(key)
        return (x * random.normal(sub, x.shape)).sum(), key

    x = jnp.arange(3.0)
    value, out_key = noisy(x, key)
    gradient, aux = pullback.grad(noisy, has_aux=True)(x, key)
    np.testing.assert_array_equal(data(aux), data(out_key))
    sub = random.split(key)[1]
    np.testing.assert_allclose(gradient.numpy(), random.normal(sub, (3,)).numpy(), rtol=1e-6)
    compiled, compiled_key = pullback.jit(noisy)(x, key)
    np.testing.assert_allclose(compiled.numpy(), value.numpy(), rtol=1e-5)
    np.testing.assert_array_equal(data(compiled_key), data(out_key))
    tangent = pullback.jvp(lambda x: noisy(x, key)[0], (x,), (x,))[1]
    np.testing.assert_allclose(tangent.numpy(), value.numpy(), rtol=1e-5)


def test_a_key_as_the_carry_of_a_loop():
    def step(key, _):
        key, sub = random.split(key)
        return key, random.bits(sub)

    key, bits = lax.scan(step, random.key(9), None, length=4)
    theirs = jax.random.key(9)
    for i in range(4):
        theirs, sub = jax.random.split(theirs)
        assert int(bits[i]) == int(jax.random.bits(sub))
    np.testing.assert_array_equal(data(key), np.asarray(jax.random.key_data(theirs)))


# -- what is refused ------------------------------------------------------------------------------------


def refused(call, error, *parts):
    """The message says what was given and required, where, and proposes a fix."""
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    for part in (*parts, "fix: ", "test_keys.py"):
        assert part in text, text


KEY = random.key(0)
NOT_KEYS = [
    (3, "got a int, a PRNG key is required"), ([0, 1], "got a list"), (None, "got a NoneType"),
    (np.array([0, 1]), "a NumPy array of dtype int64"), (np.zeros(3, np.uint32), "an array u32[3]"),
    (jnp.zeros(2), "an array f32[2]"), (jnp.zeros((), np.uint32), "an array u32[]"), (1.5, "got a float"),
]


@pytest.mark.parametrize("given, message", NOT_KEYS, ids=[m for _, m in NOT_KEYS])
@pytest.mark.parametrize("use", [
    random.split, random.bits, random.normal, random.key_data, random.key_impl, random.clone,
    lambda k: random.fold_in(k, 1), lambda k: random.uniform(k, (2,)), lambda k: random.permutation(k, 3),
    lambda k: random.categorical(k, jnp.zeros(3)), lambda k: random.randint(k, (2,), 0, 3),
], ids=["split", "bits", "normal", "key_data", "key_impl", "clone", "fold_in", "uniform", "permutation",
        "categorical", "randint"])
def test_an_array_where_a_key_is_needed(use, given, message):
    refused(lambda: use(given), TypeError, message, "a PRNG key is required")


@pytest.mark.parametrize("use", [
    lambda k: k + 1, lambda k: lax.add(k, k), lambda k: lax.sin(k), lambda k: jnp.sum(random.split(k)),
    lambda k: lax.convert_element_type(k, np.float32), lambda k: lax.bitcast_convert_type(k, np.uint32),
    lambda k: jnp.sin(k), lambda k: lax.dot(random.split(k), random.split(k)), lambda k: np.asarray(k),
    lambda k: lax.sort(random.split(k)), lambda k: random.uniform(k, minval=k), lambda k: random.key(k),
    lambda k: random.fold_in(k, k), lambda k: random.categorical(k, random.split(k)),
    lambda k: random.bernoulli(k, k), lambda k: random.randint(k, (), 0, k),
], ids=["+", "add", "sin", "sum", "convert", "bitcast", "jnp.sin", "dot", "asarray", "sort", "minval", "seed",
        "fold_in", "logits", "p", "maxval"])
def test_a_key_where_an_array_is_needed(use):
    refused(lambda: use(KEY), TypeError)


@pytest.mark.parametrize("call, error, part", [
    (lambda: random.key(1.5), TypeError, "an integer is required"),
    (lambda: random.key(np.bool_(True)), TypeError, "an integer is required"),
    (lambda: random.key("a"), TypeError, "got a str"),
    (lambda: random.key(jnp.arange(3)), TypeError, "a seed of shape (3,)"),
    (lambda: random.key(2**63), OverflowError, "64 bits"),
    (lambda: random.key(-2**63 - 1), OverflowError, "64 bits"),
    (lambda: random.key(0, impl="philox"), ValueError, "threefry2x32"),
    (lambda: random.fold_in(KEY, -1), OverflowError, "from 0 to 2**32 - 1"),
    (lambda: random.fold_in(KEY, 2**32), OverflowError, "from 0 to 2**32 - 1"),
    (lambda: random.fold_in(KEY, 1j), TypeError, "a number without axes"),
    (lambda: random.fold_in(KEY, jnp.arange(3)), TypeError, "a number without axes"),
    (lambda: random.split(KEY, -1), ValueError, "negative size"),
    (lambda: random.split(KEY, 1.5), TypeError, "num is 1.5"),
    (lambda: random.split(random.split(KEY)), ValueError, "keys of shape (2,), one key is required"),
    (lambda: random.normal(random.split(random.PRNGKey(0))), ValueError, "keys of shape (2,), one key is required"),
    (lambda: random.wrap_key_data(jnp.zeros(2)), TypeError, "u32[..., 2]"),
    (lambda: random.wrap_key_data(jnp.zeros(3, np.uint32)), TypeError, "u32[..., 2]"),
    (lambda: random.wrap_key_data(jnp.zeros((), np.uint32)), TypeError, "u32[..., 2]"),
    (lambda: random.wrap_key_data(KEY), TypeError, "u32[..., 2]"),
])
def test_bad_seeds_numbers_and_words(call, error, part):
    refused(call, error, part)


def test_a_key_of_an_unknown_implementation():
    with pytest.raises(ValueError, match="'foo'"):
        random.key(0, impl="foo")


def test_keys_are_printed_as_in_jax():
    assert str(random.key(3)) == repr(random.key(3)) == repr(jax.random.key(3)) == f"{random.key(3)}"


def test_keys_compared_with_equal_nan():
    keys = random.split(KEY)
    assert bool(jnp.array_equal(keys, keys, equal_nan=True))
    assert not bool(jnp.array_equal(keys, keys[::-1], equal_nan=True))
