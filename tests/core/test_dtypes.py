"""core.dtypes and the public dtypes module against real jax, with 64-bit types on and off."""

from __future__ import annotations

import copy
import enum
import inspect
import itertools
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from pullback import dtypes as public
from pullback.core import config, dtypes

NAMES = """bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 bfloat16 float16
    float32 float64 complex64 complex128 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
    float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""".split()
NAMES += [name for name in ("int1", "uint1") if hasattr(ml_dtypes, name)]
UNSUPPORTED = [object, str, list, "datetime64[s]", "timedelta64[s]", "U3", np.bytes_, ">f4", np.longdouble,
               np.void, np.dtype([("a", "f4")]), np.floating, np.integer, np.generic, "foo", 7]
WIDE = [np.dtype(name) for name in ("int64", "uint64", "float64", "complex128")]
IMPLS = ("threefry2x32", "rbg", "unsafe_rbg")
STRICT = ("standard", "strict")


class Level(enum.IntEnum):
    LOW = 1


@contextmanager
def settings(x64: bool, mode: str = "standard") -> Iterator[None]:
    """The same settings in pullback and in jax."""
    with ExitStack() as stack:
        stack.enter_context(config.enable_x64(x64))
        stack.enter_context(config.numpy_dtype_promotion(mode))
        stack.enter_context(jax.enable_x64(x64))
        stack.enter_context(jax.numpy_dtype_promotion(mode))
        yield


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request: pytest.FixtureRequest) -> Iterator[bool]:
    with settings(request.param):
        yield request.param


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The result, or the name of the error class."""
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__


def jax_key(impl: str) -> Any:
    return jax.random.key(0, impl=impl).dtype


def public_names(module: Any) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]


# The table of types.

def test_float0_and_names_are_those_of_jax() -> None:
    assert dtypes.float0 == jax.dtypes.float0
    for name in NAMES:
        assert dtypes.as_dtype(name) == np.dtype(name)
        if name not in ("int1", "uint1"):
            constant = getattr(dtypes, "bool_" if name == "bool" else name)
            assert isinstance(constant, np.dtype) and constant == np.dtype(name)


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_one_dtype(name: str) -> None:
    dtype = np.dtype(name)
    assert dtypes.itemsize_bits(name) == jax.dtypes.itemsize_bits(name)
    printed = jax.core.ShapedArray((), dtype).str_short(short_dtypes=True)
    assert dtypes.short_name(dtype) + "[]" == printed
    expected = next(letter for letter, parent in (
        ("b", np.bool_), ("i", np.signedinteger), ("u", np.unsignedinteger), ("f", np.floating),
        ("c", np.complexfloating)) if jnp.issubdtype(dtype, parent))
    for like in (dtype, dtype.type, name, dtypes.SCALAR_TYPES[name]):
        assert dtypes.kind(like) == expected
    assert dtypes.is_bool(dtype) == jnp.issubdtype(dtype, np.bool_)
    assert dtypes.is_integer(dtype) == jnp.issubdtype(dtype, np.integer)
    assert dtypes.is_float(dtype) == jnp.issubdtype(dtype, np.floating)
    assert dtypes.is_complex(dtype) == jnp.issubdtype(dtype, np.complexfloating)
    assert dtypes.is_inexact(dtype) == jnp.issubdtype(dtype, np.inexact)
    assert not dtypes.is_key(dtype)
    with settings(True):
        assert public.scalar_type_of(dtype) is jax.dtypes.scalar_type_of(dtype)


def test_facts_of_float0_and_keys() -> None:
    key = dtypes.key_dtype("rbg")
    assert dtypes.kind(dtypes.float0) == "0" and dtypes.kind(key) == "key"
    assert dtypes.short_name(dtypes.float0) == "float0" and dtypes.short_name(key) == "key<rbg>"
    assert not dtypes.is_inexact(dtypes.float0) and not dtypes.is_inexact(key)
    for dtype, theirs in ((dtypes.float0, jax.dtypes.float0), (key, jax_key("rbg"))):
        for function in (dtypes.to_inexact, dtypes.to_real, dtypes.to_complex):
            assert outcome(function, dtype) == "TypeError"
        for name, error in (("itemsize_bits", "ValueError"), ("scalar_type_of", "TypeError")):
            assert outcome(getattr(public, name), dtype) == error
            assert outcome(getattr(jax.dtypes, name), theirs) == error


@pytest.mark.parametrize("impl", IMPLS)
def test_key_dtype(impl: str) -> None:
    ours, theirs = dtypes.key_dtype(impl), jax_key(impl)
    assert (str(ours), repr(ours), ours.name) == (str(theirs), repr(theirs), theirs.name)
    assert ours.itemsize == theirs.itemsize and ours.impl == impl
    assert ours.key_shape == jax.random.key_data(jax.random.key(0, impl=impl)).shape
    assert dtypes.is_key(ours) and dtypes.canonicalize(ours) is ours and dtypes.as_dtype(ours) is ours
    for same in (dtypes.key_dtype(impl), pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert same is ours and same == ours and hash(same) == hash(ours)
    assert all(ours != dtypes.key_dtype(other) for other in IMPLS if other != impl)
    assert ours != np.dtype("float32") and np.dtype("float32") != ours and ours != ours.name
    assert dtypes.issubdtype(ours, public.prng_key) and dtypes.issubdtype(ours, public.extended)
    assert ours.type is public.prng_key


def test_unknown_key_implementation() -> None:
    with pytest.raises(ValueError, match=r"(?s)'nope'.*\n  required: .*threefry2x32.*\n  fix: "):
        dtypes.key_dtype("nope")


# From dtype-like to dtype.

def test_canonicalize(x64: bool) -> None:
    likes: list[Any] = [bool, int, float, complex, "float", "i4", "q", np.longlong, np.intc, np.uint, "<f8",
                        "bool_", np.dtype("float32", metadata={"a": 1})]
    for name in NAMES:
        likes += [name, np.dtype(name), np.dtype(name).type, getattr(jnp, name), dtypes.SCALAR_TYPES[name]]
    for like in likes:
        expected = jax.dtypes.canonicalize_dtype(like)
        for _ in range(2):  # the second call finds what the first one stored
            assert dtypes.canonicalize(like) == expected
            assert dtypes.as_dtype(like) == np.dtype(like)
        assert public.canonicalize_dtype(like) == expected
    assert public.canonicalize_dtype(None) == jax.dtypes.canonicalize_dtype(None)
    for python in (bool, int, float, complex):
        assert dtypes.python_scalar_dtype(python) == jax.dtypes.canonicalize_dtype(python)


def test_canonicalize_holders_of_a_dtype() -> None:
    assert dtypes.as_dtype(jax.ShapeDtypeStruct((2,), np.int8)) == np.int8
    for array in (np.ones(2), np.float32(1), jnp.ones(2)):
        with pytest.raises(TypeError, match=r"(?s)array.*\n  required: .*\n  fix: pass its \.dtype"):
            dtypes.as_dtype(array)


@pytest.mark.parametrize("like", UNSUPPORTED, ids=repr)
def test_unsupported_types_are_refused(like: Any) -> None:
    for function in (dtypes.canonicalize, dtypes.as_dtype, dtypes.check_valid, dtypes.kind,
                     lambda given: dtypes.canonicalize_requested(given, "zeros")):
        with pytest.raises(TypeError, match=r"(?s)is not a supported dtype.*\n  required: .*\n  fix: ."):
            function(like)
    assert outcome(lambda: jnp.zeros(0, like)) == "TypeError"


def test_none_is_no_dtype() -> None:
    assert outcome(dtypes.canonicalize, None) == "TypeError"


def test_check_valid_accepts_what_is_supported() -> None:
    for like in [*NAMES, dtypes.float0, *map(dtypes.key_dtype, IMPLS)]:
        dtypes.check_valid(like)


def test_requested_64_bit_types_warn_as_in_jax(x64: bool) -> None:
    likes = [float, int, complex, bool, "float", "int", "uint", "float64", np.int64, np.dtype("uint64"),
             np.longlong, "float32", np.int8, "bfloat16", "complex128", np.complex64, np.intc,
             ml_dtypes.bfloat16]
    for like in likes:
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            theirs = jnp.zeros(0, like).dtype
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            ours = dtypes.canonicalize_requested(like, "zeros")
        assert ours == theirs
        assert [w.category for w in given] == [w.category for w in expected], like
        assert all(w.filename == __file__ for w in given)
        for warned in (*given, *expected):
            assert str(warned.message).startswith(f"Explicitly requested dtype {np.dtype(like)}")
    for scalar in dtypes.SCALAR_TYPES.values():
        with pytest.warns(UserWarning) if scalar.dtype in WIDE and not x64 else warnings.catch_warnings():
            ours = dtypes.canonicalize_requested(scalar, "zeros")
        assert ours == jax.dtypes.canonicalize_dtype(scalar.dtype)


def test_public_canonicalize_dtype_of_keys_and_text() -> None:
    key = dtypes.key_dtype("threefry2x32")
    assert outcome(public.canonicalize_dtype, key) == "ValueError"
    assert outcome(jax.dtypes.canonicalize_dtype, jax_key("threefry2x32")) == "ValueError"
    assert public.canonicalize_dtype(key, allow_extended_dtype=True) is key
    for unsupported in (np.dtype(object), np.dtype("U3"), np.dtype("M8[s]")):
        assert public.canonicalize_dtype(unsupported) is unsupported
        assert jax.dtypes.canonicalize_dtype(unsupported) == unsupported
    assert outcome(public.canonicalize_dtype, "foo") == "TypeError"


# Promotion.

OPERANDS: list[Any] = [*(np.zeros((), name) for name in NAMES), 1, 1.0, 1j, True]


def both_result_types(*args: Any) -> tuple[Any, Any]:
    return (outcome(lambda: public.result_type(*args, return_weak_type_flag=True)),
            outcome(lambda: jax.dtypes.result_type(*args, return_weak_type_flag=True)))


@pytest.mark.parametrize("mode", STRICT)
def test_result_type_of_every_pair(x64: bool, mode: str) -> None:
    seen = set()
    with settings(x64, mode):
        for pair in itertools.product(OPERANDS, repeat=2):
            ours, theirs = both_result_types(*pair)
            assert ours == theirs, pair
            seen.add(ours if isinstance(ours, str) else ours[1])
    assert seen == {"TypePromotionError", True, False}


@pytest.mark.parametrize("mode", STRICT)
def test_result_type_of_many(x64: bool, mode: str) -> None:
    rng = np.random.default_rng(0)
    narrow = [np.dtype(name) for name in NAMES if "_" in name or name.strip("uint") in ("1", "2", "4")]
    usual = [x for x in OPERANDS if getattr(x, "dtype", None) not in narrow]
    with settings(x64, mode):
        for count in (1, 3, 4, 5):
            for _ in range(150):
                args = [usual[i] for i in rng.integers(len(usual), size=count)]
                ours, theirs = both_result_types(*args)
                assert ours == theirs, args


@pytest.mark.parametrize("mode", STRICT)
def test_promote_of_weak_arrays(x64: bool, mode: str) -> None:
    names = "bool int4 int8 uint8 int32 uint32 bfloat16 float16 float32 complex64 float8_e4m3fn".split()
    names += ["int64", "uint64", "float64"] if x64 else []
    types = [(np.dtype(name), weak) for name in names for weak in (True, False)]

    def add(a: tuple[Any, bool], b: tuple[Any, bool]) -> tuple[Any, bool]:
        structs = [jax.ShapeDtypeStruct((), dtype, weak_type=weak) for dtype, weak in (a, b)]
        # Not jnp.add, whose result has dtype rules of its own for booleans.
        result = jax.eval_shape(lambda x, y: jnp.where(True, x, y), *structs)
        return result.dtype, bool(result.weak_type)

    with settings(x64, mode):
        for a, b in itertools.combinations_with_replacement(types, 2):
            if a[1] or b[1]:
                assert outcome(dtypes.promote, [a, b]) == outcome(add, a, b), (a, b)


def test_result_type_of_weak_arrays(x64: bool) -> None:
    names = ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64"]
    structs = [jax.ShapeDtypeStruct((), name, weak_type=True) for name in names]
    checked = []

    def compare(*tracers: Any) -> None:
        for count in (1, 2):
            for some in itertools.combinations_with_replacement([*tracers, 1, np.int8(1)], count):
                ours, theirs = both_result_types(*some)
                assert ours == theirs, some
                checked.append(some)

    jax.eval_shape(compare, *structs)
    assert len(checked) > 50


def test_promote_keeps_a_single_type(x64: bool) -> None:
    assert dtypes.promote([(np.dtype("int8"), True)]) == (np.int8, True)
    assert dtypes.promote([(np.dtype("float64"), False)]) == (np.float64 if x64 else np.float32, False)


def test_promote_follows_the_settings_at_each_call() -> None:
    pair = [(np.dtype("int32"), False), (np.dtype("float64"), False)]
    with settings(False):
        assert dtypes.promote(pair) == (np.float32, False)
    with settings(True):
        assert dtypes.promote(pair) == (np.float64, False)
    with settings(True, "strict"), pytest.raises(dtypes.TypePromotionError, match="strict"):
        dtypes.promote(pair)


@pytest.mark.parametrize("mode", STRICT)
def test_promote_types(x64: bool, mode: str) -> None:
    likes: list[Any] = [*NAMES, np.float64, np.int64, jnp.uint64, bool, int, float, complex]
    with settings(x64, mode):
        for a, b in itertools.product(likes, repeat=2):
            assert outcome(dtypes.promote_types, a, b) == outcome(jnp.promote_types, a, b), (a, b)
    ours = dtypes.SCALAR_TYPES["int64"]
    assert dtypes.promote_types(ours, dtypes.SCALAR_TYPES["uint64"]) == np.float64


def test_promotion_of_keys_and_float0(x64: bool) -> None:
    key, other = dtypes.key_dtype("threefry2x32"), dtypes.key_dtype("rbg")
    zeros = np.zeros(2, dtypes.float0)
    for alone in (key, dtypes.float0):
        assert dtypes.promote([(alone, False)] * 2) == (alone, False)
        for mixed in ((np.dtype("float32"), False), (np.dtype("int32"), True), (other, False)):
            with pytest.raises(TypeError, match=r"float0 go only with themselves\n  fix: "):
                dtypes.promote([(alone, False), mixed])
    assert both_result_types(zeros) == ((dtypes.float0, False),) * 2
    assert both_result_types(zeros, zeros) == ((dtypes.float0, False),) * 2
    assert public.result_type(key, key) is key
    jax_array = jax.random.key(0)
    assert jax.dtypes.result_type(jax_array, jax_array) == jax_array.dtype


def test_promotion_error_says_what_to_do() -> None:
    with pytest.raises(dtypes.TypePromotionError, match=r"(?s)i4 and i8 .*\n  required: .*\n  fix: cast "):
        dtypes.promote([(np.dtype("int8"), False), (np.dtype("int4"), False)])
    with pytest.raises(dtypes.TypePromotionError, match=r"Python float and i4 "):
        dtypes.promote([(np.dtype("float32"), True), (np.dtype("int4"), False)])
    assert issubclass(public.TypePromotionError, jax.dtypes.TypePromotionError.__base__)


def test_result_type_arguments(x64: bool) -> None:
    for args in [(int,), (float,), (bool,), (complex,), (None,), (None, np.float32), ("f4", int),
                 ("int8", 1.0), (Level.LOW,), (np.float32, np.dtype("int8")), (np.ones(2),),
                 (np.float64(1), 1), (2**70,), (jnp.asarray(1.0),), (jnp.asarray(1.0), np.int8(1)),
                 (jnp.float64,), (True,), (np.bool_(True), 1)]:
        ours, theirs = both_result_types(*args)
        assert ours == theirs, args
    for wrong in [(), ([1, 2],), (object(),), (np.array("a"),), (object,), ("foo",), (np.ones(2, ">f4"),)]:
        ours, theirs = both_result_types(*wrong)
        assert isinstance(ours, str) and ours == theirs, wrong
    with pytest.warns(UserWarning) if not x64 else warnings.catch_warnings():
        assert public.result_type("float64") == (np.float64 if x64 else np.float32)


# Derived types.

def test_to_inexact_is_what_sin_computes_in(x64: bool) -> None:
    for name in NAMES:
        if name in ("int1", "int2", "uint1", "uint2") or not x64 and dtypes.as_dtype(name) in WIDE:
            continue  # sin refuses the former; the latter are not arrays in jax
        expected = jax.eval_shape(jnp.sin, jax.ShapeDtypeStruct((), name)).dtype
        assert dtypes.to_inexact(name) == expected, name
    assert dtypes.to_inexact("int64") == dtypes.to_inexact("float64") == (np.float64 if x64 else np.float32)


def test_to_real_and_to_complex(x64: bool) -> None:
    for name in ("int8", "uint32", "bfloat16", "float16", "float32", "complex64",
                 *(("float64", "complex128") if x64 else ())):
        struct = jax.ShapeDtypeStruct((4,), name)
        assert dtypes.to_real(name) == jax.eval_shape(jnp.real, struct).dtype
        expected = jax.eval_shape(lambda x: x * np.complex64(1), struct).dtype
        assert dtypes.to_complex(name) == expected
    assert dtypes.to_complex("int64") == (np.complex128 if x64 else np.complex64)


@pytest.mark.parametrize("name", NAMES)
def test_finfo_and_iinfo(name: str) -> None:
    for ours, theirs in ((dtypes.finfo, jnp.finfo), (dtypes.iinfo, jnp.iinfo)):
        expected = outcome(lambda theirs=theirs: str(theirs(name)))
        for like in (name, np.dtype(name), np.dtype(name).type, dtypes.SCALAR_TYPES[name]):
            assert outcome(lambda ours=ours, like=like: str(ours(like))) == expected
    assert dtypes.finfo(float).bits == 64 and dtypes.iinfo(int).bits == 64
    assert isinstance(dtypes.finfo(np.ones(2, np.float32)), dtypes.finfo)


def test_issubdtype_grid() -> None:
    abstract = [np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
                np.floating, np.complexfloating, np.flexible, np.character, np.void]
    shared: list[Any] = [*NAMES, np.float32, np.longlong, np.dtype("int8"), jnp.bfloat16, jnp.int4, bool, int,
                         float, complex, None, object, str, list, np.datetime64, jax.dtypes.float0, *abstract]
    ours: list[Any] = [*shared, *map(dtypes.key_dtype, IMPLS), public.extended, public.prng_key,
                       dtypes.SCALAR_TYPES["float8_e5m2"]]
    theirs: list[Any] = [*shared, *map(jax_key, IMPLS), jax.dtypes.extended, jax.dtypes.prng_key,
                         jnp.float8_e5m2]
    for (a, jax_a), (b, jax_b) in itertools.product(zip(ours, theirs), repeat=2):
        assert dtypes.issubdtype(a, b) is jnp.issubdtype(jax_a, jax_b), (a, b)
    assert outcome(dtypes.issubdtype, "foo", np.generic) == "TypeError"
    assert outcome(jnp.issubdtype, "foo", np.generic) == "TypeError"


@pytest.mark.parametrize("x", [1, 1.0, 1j, True, Level.LOW, np.float32(1), np.ones(2), "int4", float, np.int8,
                               pytest.param(object(), id="object"), "U", [1], np.array("a")], ids=repr)
def test_scalar_type_of(x: Any) -> None:
    assert outcome(public.scalar_type_of, x) == outcome(jax.dtypes.scalar_type_of, x)


# Scalar types.

def test_scalar_types_are_those_of_jax() -> None:
    theirs = {name for name in dir(jnp) if type(getattr(jnp, name)) is type(jnp.float32)}
    assert set(dtypes.SCALAR_TYPES) == theirs
    for name, ours in dtypes.SCALAR_TYPES.items():
        jax_type = getattr(jnp, name)
        assert ours.dtype == jax_type.dtype and ours.__name__ == jax_type.__name__
        assert np.dtype(ours) == np.dtype(jax_type) and np.zeros(1, ours).dtype == jax_type.dtype
        assert repr(ours) == repr(jax_type).replace("jax.", "pullback.")
        assert hash(ours) == hash(jax_type) == hash(ours.dtype.type)
        assert ours.__doc__ and isinstance(ours, type)


def test_scalar_type_equality() -> None:
    ours, theirs = dtypes.SCALAR_TYPES["float32"], jnp.float32
    for other in (np.float32, np.dtype("float32"), "float32", "f", float, None, np.float64, np.dtype("int8"),
                  3, jnp.float32, jnp.int8):
        assert (ours == other) is (theirs == other) and (other == ours) is (other == theirs), other
        assert (ours != other) is (theirs != other), other
    for name, python in (("bool_", bool), ("double", float), ("int_", int)):
        assert (dtypes.SCALAR_TYPES[name] == python) is (getattr(jnp, name) == python) is False
    assert dtypes.SCALAR_TYPES["float32"] != dtypes.SCALAR_TYPES["float64"]
    assert dtypes.SCALAR_TYPES["float32"] != dtypes.key_dtype("rbg")
    assert {np.float32: 1}[ours] == 1


def test_scalar_type_instances() -> None:
    ours = dtypes.SCALAR_TYPES["float32"]
    for x in (np.float32(1), np.int32(1), 1.0, np.ones(1, np.float32)):
        assert isinstance(x, ours) is isinstance(x, jnp.float32)


def test_scalar_type_call_makes_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtypes.ScalarType, "make", lambda value, dtype: np.asarray(value).astype(dtype))
    made = dtypes.SCALAR_TYPES["int8"]([1.5, 2])
    assert made.dtype == np.int8 and made.tolist() == [1, 2]
    assert dtypes.SCALAR_TYPES["float32"](x=1).dtype == np.float32
    with pytest.raises(TypeError):
        dtypes.SCALAR_TYPES["int8"]()
    monkeypatch.setattr(dtypes.ScalarType, "make", None)
    with pytest.raises(RuntimeError, match=r"(?s)int8: no arrays yet.*\n  required: .*\n  fix: import"):
        dtypes.SCALAR_TYPES["int8"](1)


# The public module.

def test_public_names() -> None:
    assert public.__all__ == public_names(jax.dtypes)
    for name in public.__all__:
        ours, theirs = getattr(public, name), getattr(jax.dtypes, name)
        assert type(ours) is type(theirs), name
        if inspect.isfunction(theirs):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert public.bfloat16 is jax.dtypes.bfloat16 and public.finfo is jax.dtypes.finfo
    assert public.extended.__mro__[1:] == (np.generic, object)
    assert public.prng_key.__module__ == "pullback.dtypes"
