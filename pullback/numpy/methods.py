"""Operators and methods of arrays. Most methods are the functions of their name, with the array first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.operand import retype
from pullback.numpy import elementwise, logic, shape
from pullback.numpy.arguments import no_out
from pullback.numpy.bounds import check_index
from pullback.numpy.indexing import At, getitem
from pullback.ops import elementwise as ops
from pullback.ops import move
from pullback.ops.convert import bitcast_convert_type, convert_element_type, copy
from pullback.runtime.remember import remembered

# Functions whose first argument is the array, and whose other arguments are those of the method.
_FUNCTIONS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "conj", "conjugate",
    "copy", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel",
    "repeat", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "var")

_NUMBERS = (bool, int, float, complex)


# -- operators ----------------------------------------------------------------------------------------

def _accepted(other: Any, name: str) -> bool:
    """Whether an operator takes `other`; lists are refused by name, other objects may know what to do."""
    if isinstance(other, (Array, *_NUMBERS, np.ndarray, np.generic)) or hasattr(other, "__jax_array__"):
        return True
    if isinstance(other, (list, tuple)):
        raise errors.type_error(f"got a {type(other).__name__}, an array or a number is required",
                                fix="convert it with jnp.array(...)", op=name)
    return False


def _named(function: Any, name: str) -> Any:
    """`function` under a name that tracebacks and error messages show."""
    function.__code__ = function.__code__.replace(co_name=name)
    function.__name__ = name
    function.__qualname__ = f"Array.{name}"
    return function


def _binary(name: str, function: Callable[[Any, Any], Any]) -> Any:
    """The operator `array • other`."""
    def operator(self: Array, other: Any) -> Any:
        if type(other) in _NUMBERS or _accepted(other, function.__name__):
            return function(self, other)
        return NotImplemented
    return _named(operator, name)


def _reflected(name: str, function: Callable[[Any, Any], Any]) -> Any:
    """The operator `other • array`, where `other` is no array of ours."""
    def operator(self: Array, other: Any) -> Any:
        if type(other) in _NUMBERS or _accepted(other, function.__name__):
            return function(other, self)
        return NotImplemented
    return _named(operator, name)


def _unary(name: str, function: Callable[[Any], Any]) -> Any:
    def operator(self: Array) -> Any:
        return function(self)
    return _named(operator, name)


_ARITHMETIC = {
    "add": elementwise.add, "sub": elementwise.subtract, "mul": elementwise.multiply,
    "truediv": elementwise.divide, "floordiv": elementwise.floor_divide, "mod": elementwise.remainder,
    "divmod": elementwise.divmod,
    "pow": elementwise.power, "and": logic.bitwise_and, "or": logic.bitwise_or, "xor": logic.bitwise_xor,
    "lshift": logic.left_shift, "rshift": logic.right_shift}
_COMPARISONS = {"eq": logic.equal, "ne": logic.not_equal, "lt": logic.less, "le": logic.less_equal,
                "gt": logic.greater, "ge": logic.greater_equal}
_UNARY = {"neg": elementwise.negative, "pos": elementwise.positive, "abs": elementwise.absolute,
          "invert": logic.invert}


# -- methods ------------------------------------------------------------------------------------------

def __getitem__(self: Array, index: Any) -> Array:  # noqa: N807
    check_index(self.type, index, None, True)
    return getitem(self, index)


def __contains__(self: Array, item: Any) -> bool:  # noqa: N807
    return bool(logic.equal(self, item).any())  # type: ignore[attr-defined]


def __round__(self: Array, ndigits: int | None = None) -> Array:  # noqa: N807
    """The array rounded: to integers where no number of digits is given."""
    rounded = elementwise.round(self, ndigits or 0)
    return rounded if ndigits is not None else retype(rounded, dtypes.canonicalize(int))


def reshape(self: Array, *args: Any, order: str = "C", out_sharding: Any = None) -> Array:
    """The elements in another shape, given as a sequence or as several ints."""
    sizes = args[0] if len(args) == 1 else args
    return shape.reshape(self, sizes, order, out_sharding=out_sharding)


def flatten(self: Array, order: str = "C", *, out_sharding: Any = None) -> Array:
    """The elements along one axis."""
    return shape.ravel(self, order, out_sharding=out_sharding)


def transpose(self: Array, *args: Any) -> Array:
    """The array with its axes in another order, a sequence or several ints; reversed if not given."""
    return shape.transpose(self, args[0] if len(args) == 1 else args or None)


def astype(self: Array, dtype: Any, copy: bool = False, device: Any = None) -> Array:
    """The elements in another dtype."""
    return shape.astype(self, dtype, copy=copy, device=device)


def tobytes(self: Array, order: str = "C") -> bytes:
    """The bytes of the elements, in row-major order."""
    return np.asarray(self).tobytes(order)  # type: ignore[arg-type]


def _as_numbers(x: Any, dtype: Any) -> Any:
    """The bits of an array, whose elements are neither bool nor complex, as elements of such a `dtype`."""
    t = x.type
    have, want = dtypes.itemsize_bits(t.dtype), dtypes.itemsize_bits(dtype)
    if have == want:
        return x if t.dtype == dtype else bitcast_convert_type(x, dtype=dtype)
    if not t.shape:
        raise errors.value_error(f"got {t}, at least one axis is required to change the width of elements",
                                 op="view", fix="reshape it to (1,)")
    *rest, last = t.shape
    if have > want:
        x = bitcast_convert_type(x, dtype=dtype)
        return move.reshape(x, shape=(*rest, last * (have // want)))
    per = want // have
    if last % per:
        raise errors.value_error(f"the last axis of {t} has size {last}, a multiple of {per} is required for "
                                 f"elements of {dtypes.short_name(dtype)}", op="view",
                                 fix="pad the last axis")
    return bitcast_convert_type(move.reshape(x, shape=(*rest, last // per, per)), dtype=dtype)


def view(self: Array, dtype: Any = None, type: None = None) -> Array:
    """The bits of the elements as elements of another dtype; the last axis grows or shrinks with their width.

    Raises:
      ValueError: if there is no last axis, or it does not hold a whole number of elements.
    """
    if type is not None:
        raise errors.type_error("type is given, None is required: there is one class of arrays",
                                fix="leave it out")
    if dtype is None:
        return self
    target = dtypes.canonicalize_requested(dtype, "view")
    source = self.dtype
    if source == target:
        return self
    x: Any = self
    if dtypes.is_complex(source):
        parts = [move.reshape(part, shape=(*self.shape, 1)) for part in (ops.real(x), ops.imag(x))]
        x = move.concatenate(*parts, axis=self.ndim)
        x = move.reshape(x, shape=(*self.shape[:-1], 2 * self.shape[-1])) if self.shape else x
    elif dtypes.is_bool(source):
        x = convert_element_type(x, dtype=dtypes.uint8)
    if dtypes.is_bool(target):
        x = _as_numbers(x, dtypes.uint8)
        return ops.ne(x, ops.number(x, 0))
    if not dtypes.is_complex(target):
        return _as_numbers(x, target)
    x = _as_numbers(x, dtypes.to_real(target))
    if not x.shape or x.shape[-1] % 2:
        raise errors.value_error(f"got {self.type}, whose bits are no whole number of elements of "
                                 f"{dtypes.short_name(target)}", fix="pad the last axis")
    *rest, last = x.shape
    pairs = move.reshape(x, shape=(*rest, last // 2, 2))
    return ops.complex(getitem(pairs, (..., 0)), getitem(pairs, (..., 1)))


def byteswap(self: Array) -> Array:
    """The elements with their bytes in reverse order; of complex numbers, those of each part."""
    dtype = self.dtype
    width = dtypes.itemsize_bits(dtypes.to_real(dtype) if dtypes.is_complex(dtype) else dtype) // 8
    if width <= 1:
        return self
    pieces = view(move.reshape(self, shape=(*self.shape, 1)), np.uint8)
    whole = pieces.shape
    rows = move.reshape(pieces, shape=(*self.shape, whole[-1] // width, width))
    swapped = move.reshape(move.rev(rows, axes=(len(whole),)), shape=whole)
    return move.reshape(view(swapped, dtype), shape=self.shape)


def clone(self: Array) -> Array:
    """A copy of the array."""
    return copy(self)  # type: ignore[no-any-return]


def _no_flat(self: Array) -> Any:
    raise errors.make(errors.UnsupportedError, "flat: arrays are immutable and have no iterator that writes", op="",
                      fix="use x.ravel() to read, x.at[...] to write")


def __array_namespace__(self: Array, *, api_version: str | None = None) -> Any:  # noqa: N807
    """The module of the array functions."""
    return _namespace["module"]


def __buffer__(self: Array, flags: int) -> memoryview:  # noqa: N807
    """The memory of the elements, to read (for memoryview, from Python 3.12 on)."""
    return memoryview(self.__array__())  # np.asarray would ask for the buffer again


_namespace: dict[str, Any] = {}


def install(module: Any) -> None:
    """Gives arrays their operators and methods, from the functions of `module`, which is pullback.numpy."""
    _namespace["module"] = module
    names = vars(module)

    def compress(self: Array, condition: Any, axis: int | None = None, *, out: None = None,
                 size: int | None = None,
                 fill_value: Any = 0) -> Array:
        """The slices along an axis for which a condition holds."""
        no_out(out)
        result = names["compress"](condition, self, axis, size=size, fill_value=fill_value)
        return result  # type: ignore[no-any-return]

    for name in _FUNCTIONS:
        if name in names:
            setattr(Array, name, names[name])
    for name, function in _ARITHMETIC.items():
        function = remembered(function)
        setattr(Array, f"__{name}__", _binary(f"__{name}__", function))
        setattr(Array, f"__r{name}__", _reflected(f"__r{name}__", function))
    for name, function in _COMPARISONS.items():
        setattr(Array, f"__{name}__", _binary(f"__{name}__", remembered(function)))
    for name, function in _UNARY.items():
        setattr(Array, f"__{name}__", _unary(f"__{name}__", remembered(function)))
    if "matmul" in names:
        Array.__matmul__ = _binary("__matmul__", names["matmul"])  # type: ignore[attr-defined]
        Array.__rmatmul__ = _reflected("__rmatmul__", names["matmul"])  # type: ignore[attr-defined]
    for function in (__getitem__, __round__, reshape, flatten, transpose, astype, view):
        setattr(Array, function.__name__, remembered(function))
    for function in (__contains__, __array_namespace__, __buffer__, tobytes, byteswap, clone, compress):
        setattr(Array, function.__name__, function)
    for name, getter in (("T", remembered(shape.transpose)), ("mT", remembered(shape.matrix_transpose)),
                         ("real", elementwise.real), ("imag", elementwise.imag), ("at", At), ("flat", _no_flat),
                         ("__numpy_dtype__", lambda self: self.dtype)):
        setattr(Array, name, property(getter))
