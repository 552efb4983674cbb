"""Element types: which exist, the 64-bit switch, promotion with weak types, PRNG key and scalar types."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast, overload

import ml_dtypes
import numpy as np

from pullback.core import errors
from pullback.core.config import enable_x64, numpy_dtype_promotion

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# The type of tangents and cotangents of integers: no bytes, so nothing can be computed with it.
float0: np.dtype[Any] = np.dtype([("float0", np.void, 0)])

bool_ = np.dtype(np.bool_)
int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(np.dtype, ("float16", "float32", "float64"))
complex64, complex128 = map(np.dtype, ("complex64", "complex128"))
int2, int4, uint2, uint4 = map(np.dtype, (ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4))
bfloat16, float4_e2m1fn, float6_e2m3fn, float6_e3m2fn = map(np.dtype, (
    ml_dtypes.bfloat16, ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn))
float8_e3m4, float8_e8m0fnu = map(np.dtype, (ml_dtypes.float8_e3m4, ml_dtypes.float8_e8m0fnu))
float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz = map(np.dtype, (
    ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz))
float8_e5m2, float8_e5m2fnuz = map(np.dtype, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz))

# The one-bit integers are newer than the rest of ml_dtypes.
_ONE_BIT = [np.dtype(getattr(ml_dtypes, name)) for name in ("int1", "uint1") if hasattr(ml_dtypes, name)]
_SMALL_INTS = [*_ONE_BIT, int2, int4, uint2, uint4]
_SMALL_FLOATS = [float4_e2m1fn, float6_e2m3fn, float6_e3m2fn, float8_e3m4, float8_e4m3, float8_e4m3b11fnuz,
                 float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu]
_INTS = [*_SMALL_INTS, int8, int16, int32, int64, uint8, uint16, uint32, uint64]
_FLOATS = [*_SMALL_FLOATS, bfloat16, float16, float32, float64]
_COMPLEX = [complex64, complex128]


class TypePromotionError(ValueError):
    """Raised when operands have no common type that may be chosen without an explicit cast."""


class extended(np.generic):
    """Abstract scalar type of the element types that NumPy does not have."""


class prng_key(extended):
    """Abstract scalar type of PRNG keys."""


class KeyDtype:
    """The element type of arrays of PRNG keys, one object per implementation."""

    __slots__ = ("name", "impl", "key_shape", "itemsize")
    kind = "V"
    type = prng_key

    def __init__(self, name: str, impl: str, key_shape: tuple[int, ...]) -> None:
        self.name, self.impl, self.key_shape = name, impl, key_shape
        self.itemsize = 4 * int(np.prod(key_shape))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], KeyDtype], tuple[str]]:
        return key_dtype, (self.impl,)


DType: TypeAlias = np.dtype[Any] | KeyDtype
E = TypeVar("E", bound=BaseException)
Weak: TypeAlias = tuple[DType, bool]

_KEYS = {impl: KeyDtype(f"key<{tag}>", impl, shape) for tag, impl, shape in (
    ("fry", "threefry2x32", (2,)), ("rbg", "rbg", (4,)), ("urbg", "unsafe_rbg", (4,)))}
# Membership here is what makes a dtype supported.
_KIND: dict[Any, str] = {
    bool_: "b", float0: "0", **{key: "key" for key in _KEYS.values()},
    **{dtype: "u" if dtype.name.startswith("u") else "i" for dtype in _INTS},
    **dict.fromkeys(_FLOATS, "f"), **dict.fromkeys(_COMPLEX, "c")}
_TRUNCATED: dict[Any, DType] = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}
_PYTHON: dict[Any, np.dtype[Any]] = {bool: bool_, int: int64, float: float64, complex: complex128}

# dtype-like -> dtype, at full width; names join when first met.
_EXACT: dict[Any, DType] = {
    **{dtype: dtype for dtype in _KIND}, **_PYTHON,
    **{dtype.type: dtype for dtype in (bool_, *_INTS, *_FLOATS, *_COMPLEX)}}
_ABSTRACT = {np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
             np.complexfloating, np.flexible, np.character}
_FIXES = {"M": "count from a fixed date, e.g. x.astype('int64')", "m": "make it a number: x.astype('int64')",
          "V": "pass the fields as separate arrays", **dict.fromkeys("UST", "encode the text as numbers"),
          "O": "name a numeric dtype, e.g. np.asarray(x, dtype=np.float32)"}
_NUMERIC = "bool, integer, float or complex"


def _failure(cls: type[E], given: str, required: str, fix: str) -> E:
    return errors.make(cls, given, notes=(f"required: {required}",), fix=fix)


def key_dtype(impl: str) -> KeyDtype:
    """The element type of keys of the PRNG implementation of this name."""
    if impl not in _KEYS:
        raise _failure(ValueError, f"no PRNG is called {impl!r}", f"one of {[*_KEYS]}", "use 'threefry2x32'")
    return _KEYS[impl]


def is_key(dtype: object) -> bool:
    """Whether this is the element type of PRNG keys."""
    return type(dtype) is KeyDtype


def as_dtype(dtype: Any) -> DType:
    """The dtype that something dtype-like stands for, at its full width."""
    try:
        return _EXACT[dtype]
    except (KeyError, TypeError):
        return _resolve(dtype)


def canonicalize(dtype: Any) -> DType:
    """The dtype that something dtype-like stands for, with 64 bits made 32 unless `enable_x64` is on."""
    try:
        found = _EXACT[dtype]
    except (KeyError, TypeError):
        found = _resolve(dtype)
    return _TRUNCATED[found] if found in _TRUNCATED and not enable_x64.value else found


def canonicalize_requested(dtype: Any, name: str) -> DType:
    """`canonicalize` for a dtype that a caller of `name` asked for: warns if the request is truncated."""
    result, exact = canonicalize(dtype), as_dtype(dtype)
    if exact is not result and not _is_python(dtype):  # Python's types ask for a kind, not for a width
        # Programs filter this warning by its first three words.
        warnings.warn(f"Explicitly requested dtype {exact} in {name} becomes {result}: 64-bit types are off. "
                      "To have them, set enable_x64 (PULLBACK_ENABLE_X64=1).", stacklevel=_user_level())
    return result


def check_valid(dtype: Any) -> None:
    """Raise TypeError unless arrays of this dtype are supported."""
    as_dtype(dtype)


def _is_python(like: Any) -> bool:
    return isinstance(like, type) and like in _PYTHON


def _user_level() -> int:
    """The `stacklevel` with which our caller's warning points at the first frame outside this package."""
    level, frame = 1, cast("FrameType | None", sys._getframe(1))
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def _unsupported(given: object, fix: str) -> TypeError:
    return _failure(TypeError, f"{given} is not a supported dtype",
                              f"{_NUMERIC}, in native byte order, or a PRNG key type", fix)


def _resolve(like: Any) -> DType:
    if like is None:
        raise _unsupported("None", "name a dtype")
    if isinstance(like, type) and (like in _ABSTRACT or issubclass(like, extended)):
        raise _unsupported(f"the abstract type {like.__name__}", "name a concrete one, e.g. float32")
    if not isinstance(like, type) and hasattr(like, "__array__"):
        raise _unsupported(f"an array ({type(like).__name__})", "pass its .dtype")
    held = getattr(like, "dtype", None)
    if isinstance(held, KeyDtype):
        return held
    try:
        dtype = held if isinstance(held, np.dtype) else np.dtype(like)
    except (TypeError, ValueError):
        raise _unsupported(repr(like), "check the spelling, e.g. 'float32'") from None
    found = _EXACT.get(dtype)
    if found is None:
        fix = _FIXES.get(dtype.kind, "use a narrower type, e.g. float64")
        raise _unsupported(dtype, fix if dtype.isnative else "x.astype(x.dtype.newbyteorder('='))")
    if isinstance(like, str) or (isinstance(like, type) and issubclass(like, np.generic)):
        _EXACT[like] = found
    return found


def python_scalar_dtype(kind: type) -> np.dtype[Any]:
    """The dtype that Python scalars of this type (bool, int, float, complex) get."""
    return cast("np.dtype[Any]", canonicalize(_PYTHON[kind]))


def kind(dtype: Any) -> str:
    """'b', 'i', 'u', 'f', 'c', 'key' or '0' (float0)."""
    try:
        return _KIND[dtype]
    except (KeyError, TypeError):
        return _KIND[as_dtype(dtype)]


def _of_kind(*kinds: str) -> Callable[[Any], bool]:
    return lambda dtype: kind(dtype) in kinds


is_bool, is_integer, is_float, is_complex = _of_kind("b"), _of_kind("i", "u"), _of_kind("f"), _of_kind("c")
is_inexact = _of_kind("f", "c")


def _numeric(dtype: DType, question: str, error: type[Exception]) -> np.dtype[Any]:
    if isinstance(dtype, KeyDtype) or dtype is float0:
        raise _failure(error, f"{short_name(dtype)} has no {question}", _NUMERIC,
                             "pass numbers; the raw bits of keys are integers (random.key_data)")
    return dtype


def to_inexact(dtype: Any) -> np.dtype[Any]:
    """The type in which functions of the reals compute on this one: integers and booleans become float."""
    found = _numeric(canonicalize(dtype), "floating-point counterpart", TypeError)
    return found if _KIND[found] in ("f", "c") else float64 if found in (int64, uint64) else float32


def to_real(dtype: Any) -> np.dtype[Any]:
    """The type of real and imaginary parts; a real type is its own."""
    found = _numeric(as_dtype(dtype), "real part", TypeError)
    return float32 if found == complex64 else float64 if found == complex128 else found


def to_complex(dtype: Any) -> np.dtype[Any]:
    """The complex type that values of this type are computed with as complex numbers."""
    return complex128 if to_inexact(dtype) in (float64, complex128) else complex64


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of one element, also where elements are narrower than a byte."""
    found = _numeric(as_dtype(dtype), "width in bits", ValueError)
    if found not in _BITS:
        narrow = re.match(r"u?(?:int|float)([1246])(?!\d)", found.name)
        _BITS[found] = int(narrow[1]) if narrow else 8 * found.itemsize
    return _BITS[found]


_BITS: dict[Any, int] = {}


def short_name(dtype: Any) -> str:
    """The dtype as types are printed: f32, bf16, i32, u8, c64, bool, key<fry>, float0."""
    return _SHORT[as_dtype(dtype)]


_SHORT: dict[Any, str] = {
    **{dtype: re.sub("float|uint|int|complex", lambda word: word[0][0], dtype.name) for dtype in _KIND},
    bool_: "bool", float0: "float0"}

# Classes rather than functions, so that isinstance(info, finfo) works.
finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo

# ml_dtypes puts its scalar types under np.generic only.
_PARENT: dict[type, type] = {
    dtype.type: {"i": np.signedinteger, "u": np.unsignedinteger, "f": np.floating}[_KIND[dtype]]
    for dtype in (*_SMALL_INTS, *_SMALL_FLOATS, bfloat16)}


def _scalar_class(like: Any) -> type:
    if isinstance(like, KeyDtype):
        return prng_key
    if isinstance(like, type) and issubclass(like, np.generic):
        return like
    held = getattr(like, "dtype", None)
    return held.type if isinstance(held, (KeyDtype, np.dtype)) else cast(type, np.dtype(like).type)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether dtype `arg1` is, or lies under, the dtype or abstract scalar type `arg2`.

    Example:
      >>> jnp.issubdtype(jnp.int32, jnp.integer)
      True
    """
    if isinstance(arg2, KeyDtype):
        return arg1 is arg2
    child, parent = _scalar_class(arg1), _scalar_class(arg2)
    return issubclass(child, parent) or issubclass(_PARENT.get(child, child), parent)


# Promotion: the result is the least upper bound in a lattice of the dtypes and the three weak categories.

_Node: TypeAlias = np.dtype[Any] | KeyDtype | str
_CATEGORY = {"i": "int", "u": "int", "f": "float", "c": "complex"}
_WIDEST: dict[str, np.dtype[Any]] = {"int": int64, "float": float64, "complex": complex128}


def _upper_bounds(edges: dict[Any, list[Any]]) -> dict[_Node, frozenset[_Node]]:
    """Each node's set of upper bounds, itself included."""
    def above(node: _Node) -> frozenset[_Node]:
        return frozenset([node]).union(*map(above, edges.get(node, ())))
    return {node: above(node) for node in (*_KIND, *_WIDEST)}


_STANDARD = _upper_bounds({
    bool_: ["int"], "int": [uint8, int8, *_SMALL_INTS],
    uint8: [uint16, int16], uint16: [uint32, int32], uint32: [uint64, int64], uint64: ["float"],
    int8: [int16], int16: [int32], int32: [int64], int64: ["float"],
    "float": ["complex", bfloat16, float16, *_SMALL_FLOATS], bfloat16: [float32], float16: [float32],
    float32: [float64, complex64], float64: [complex128], "complex": [complex64], complex64: [complex128]})
_STRICT = _upper_bounds({"int": ["float", *_INTS], "float": ["complex", *_FLOATS], "complex": [*_COMPLEX]})
_PROMOTED: dict[Any, Weak] = {}


def _join(nodes: set[_Node], strict: bool) -> _Node:
    upper = _STRICT if strict else _STANDARD
    common = frozenset.intersection(*(upper[node] for node in nodes))
    for node in common:
        if common <= upper[node]:
            return node
    given = sorted(f"Python {node}" if isinstance(node, str) else short_name(node) for node in nodes)
    reason, fix = "one dtype, or an explicit cast", "cast explicitly, e.g. x.astype('float32')"
    if any(_KIND.get(node) in ("key", "0") for node in nodes):
        reason = "PRNG keys and float0 go only with themselves"
        raise _failure(TypeError, f"{' and '.join(given)} have no common type", reason, "keep them apart from numbers")
    if strict:
        reason = "with numpy_dtype_promotion='strict', one dtype, and Python scalars of its kind"
    raise _failure(TypePromotionError, f"{' and '.join(given)} have no implicit common type", reason, fix)



def promote(types: Sequence[Weak]) -> Weak:
    """The common type of operands, each given as (dtype, weak); weak means that it came from a Python scalar.

    Returns: (dtype, weak) of the result, canonical under `enable_x64`.
    Raises: TypePromotionError where only an explicit cast is allowed.
    """
    strict = numpy_dtype_promotion.value == "strict"
    key = (enable_x64.value, strict, *types)
    if key in _PROMOTED:
        return _PROMOTED[key]
    if not types:
        raise _failure(ValueError, "no types to promote", "at least one array or dtype", "pass an operand")
    types = [(canonicalize(dtype), weak) for dtype, weak in types]
    if len(types) == 1:
        return types[0]
    # Weak arrays of unusual width (an int8 made weak) keep their width among themselves.
    all_weak = not strict and all(weak for _, weak in types)
    joined = _join({_CATEGORY.get(_KIND[dtype], dtype) if weak and not all_weak else dtype
                    for dtype, weak in types}, strict)
    dtype = canonicalize(_WIDEST[joined] if isinstance(joined, str) else joined)
    _PROMOTED[key] = dtype, joined is not bool_ and (all_weak or isinstance(joined, str))
    return _PROMOTED[key]


def promote_types(a: Any, b: Any) -> DType:
    """The common type of two dtypes, as wide as they are; Python's int, float and complex count as weak.

    Example:
      >>> jnp.promote_types(jnp.int32, jnp.float16)
      dtype('float16')
    """
    nodes: set[_Node] = {like.__name__ if _is_python(like) and like is not bool else
                         as_dtype(like) for like in (a, b)}
    joined = _join(nodes, numpy_dtype_promotion.value == "strict")
    if isinstance(joined, str):
        return _WIDEST[joined]
    return joined if any(node in _TRUNCATED for node in nodes) else canonicalize(joined)


def _operand(x: Any) -> Weak:
    """(dtype, weak) of an argument of `result_type`."""
    python = x if _is_python(x) else type(x)
    if python in _PYTHON:
        return python_scalar_dtype(python), python is not bool
    held = getattr(x, "dtype", None)
    if isinstance(held, (np.dtype, KeyDtype)):
        return canonicalize(held), bool(getattr(x, "weak_type", getattr(x, "weak", False)))
    if isinstance(x, (str, type, np.dtype, KeyDtype)):
        return canonicalize_requested(x, "result_type"), False
    for python in (bool, int, float, complex):  # subclasses, such as members of an IntEnum, are not weak
        if isinstance(x, python):
            return python_scalar_dtype(python), False
    if x is None:
        return canonicalize(float64), False
    raise _failure(TypeError, f"an argument of type {type(x).__name__} has no dtype",
                             "arrays, Python scalars or dtypes", "convert it first, e.g. np.asarray(x)")


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...
@overload
def result_type(*args: Any, return_weak_type_flag: bool) -> DType | Weak: ...
def result_type(*args: Any, return_weak_type_flag: bool = False) -> DType | Weak:
    """The dtype in which an operation on these arrays, Python scalars or dtypes computes.

    Returns: the dtype; with `return_weak_type_flag`, also whether it is weak.
    Raises: TypePromotionError where only an explicit cast is allowed; TypeError where there is no dtype.

    Example:
      >>> jnp.result_type(jnp.int8, 1.0)
      dtype('float32')
    """
    dtype, weak = promote([_operand(x) for x in args])
    weak = weak and dtype is not bool_
    if weak:  # a weak result stands for its category, hence for the category's widest type
        dtype = canonicalize({"u": uint64, "i": int64, "f": float64, "c": complex128}.get(kind(dtype), dtype))
    return (dtype, weak) if return_weak_type_flag else dtype


class ScalarType(type):
    """The class of `jnp.float32` and its like: usable as a dtype; called, they make an array."""

    dtype: np.dtype[Any]
    # Arrays are made above this module; pullback.numpy installs make(value, dtype).
    make: ClassVar[Callable[[Any, np.dtype[Any]], Any] | None] = None

    def __call__(cls, x: Any) -> Any:
        if ScalarType.make is None:
            raise _failure(RuntimeError, f"{cls.__name__}: no arrays yet", "pullback.numpy", "import pullback.numpy")
        return ScalarType.make(x, cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or bool(cls.dtype.type == other)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)


SCALAR_TYPES: dict[str, ScalarType] = {
    dtype.name: ScalarType(dtype.name, (), {
        "dtype": dtype, "__module__": "pullback.numpy",
        "__doc__": f"Scalar type {dtype.name}: stands for the dtype; a call makes an array of it."})
    for dtype in (bool_, *_INTS, *_FLOATS, *_COMPLEX)}
SCALAR_TYPES |= {alias: SCALAR_TYPES[name] for alias, name in {
    "bool_": "bool", "int_": "int64", "uint": "uint64", "float_": "float64", "complex_": "complex128",
    "single": "float32", "double": "float64", "csingle": "complex64", "cdouble": "complex128"}.items()}

for _public in (TypePromotionError, extended, prng_key):
    _public.__module__ = "pullback.dtypes"
