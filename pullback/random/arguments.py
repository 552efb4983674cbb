"""What the functions of this package are given: a key, a shape, a dtype, and parameters of a distribution."""

from __future__ import annotations

import math
import operator
from typing import Any

from pullback import lax
from pullback.core import config, dtypes, errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.core.values import value
from pullback.ops.bits import random_wrap
from pullback.ops.move import as_shape

_KINDS = {"f": "a float dtype", "fc": "a float or complex dtype", "iu": "an integer dtype",
          "u": "an unsigned integer dtype of 8, 16, 32 or 64 bits"}


def checked_keys(x: Any) -> Array:
    """Keys as they are; raw words uint32[..., 2], which older programs use for keys, as keys of the default kind."""
    t = getattr(x, "type", None)
    if isinstance(x, Array) and t is not None and t.is_key:
        return x
    if isinstance(x, Array) or type(x).__module__ == "numpy":
        words = x if isinstance(x, Array) else _numpy_words(x)
        t = type_of(words)
        default = dtypes.key_dtype(config.default_prng_impl.value)
        if t.dtype == dtypes.uint32 and t.shape[-1:] == default.key_shape:
            return random_wrap(words, impl=default.impl)  # type: ignore[no-any-return]
        raise _no_key(f"an array {t}")
    raise _no_key(f"a {type(x).__name__}")


def _numpy_words(x: Any) -> Any:
    if getattr(x, "dtype", None) != dtypes.uint32:
        raise _no_key(f"a NumPy array of dtype {getattr(x, 'dtype', type(x).__name__)}")
    return value(x)


def _no_key(given: str) -> TypeError:
    return errors.type_error(f"got {given}, a PRNG key is required: key<fry>[], or its raw words uint32[2]",
                             fix="make one with random.key(seed), and split it for every further use")


def one_key(x: Any) -> Array:
    """One key, typed, from a typed key or from raw words."""
    found = checked_keys(x)
    if found.type.shape:
        raise errors.value_error(f"got keys of shape {found.type.shape}, one key is required",
                                 fix="vmap the call over the keys, or index one of them")
    return found


def is_raw(key: Any) -> bool:
    """Whether a valid key is given by its words."""
    return not (isinstance(key, Array) and key.type.is_key)


def sizes(shape: Any, what: str = "shape") -> tuple[int, ...]:
    """A shape, from an int or a sequence of ints."""
    found = as_shape(shape, what)
    if any([n < 0 for n in found]):
        raise errors.value_error(f"{what} {found} has a negative size", fix="sizes are 0 or more")
    return found


def common_shape(shape: Any, *params: Any) -> tuple[int, ...]:
    """The shape of the result: what the parameters broadcast to, or `shape`, which they must broadcast to."""
    shapes = [type_of(p).shape for p in params]
    if shape is None:
        return lax.broadcast_shapes(*shapes)  # type: ignore[no-any-return]
    found = sizes(shape)
    try:
        fits = lax.broadcast_shapes(found, *shapes) == found
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise errors.value_error(
            f"parameters of shape {' and '.join(map(str, shapes))} do not broadcast to the result's shape "
            f"{found}", fix="let the shape end in the parameters' shape, e.g. (n, *parameter.shape)")
    return found


def dtype_of(dtype: Any, default: Any, kinds: str) -> Any:
    """The dtype that was asked for, or the default, which must be of one of the kinds."""
    if dtype is None:
        return dtypes.canonicalize(default)
    found = dtypes.canonicalize_requested(dtype, errors.source.called())
    if dtypes.kind(found) not in kinds or (kinds == "u" and dtypes.itemsize_bits(found) < 8):
        raise errors.value_error(f"dtype is {found}, {_KINDS[kinds]} is required",
                                 fix="leave dtype out, or convert the result with astype")
    return found


def real(x: Any, what: str, error: type[Exception] = errors.OperandError) -> Any:
    """A parameter: an Array or scalar of real numbers."""
    found = value(x)
    t = type_of(found)
    if dtypes.kind(t.dtype) not in "biuf":
        raise errors.make(TypeError if t.is_key else error, f"{what} is {t}, real numbers are required",
                          fix="random.key_data(key) gives a key's words" if t.is_key else "take the real part")
    return found


def in_dtype(x: Any, dtype: Any, what: str) -> Any:
    """A parameter in the dtype of the result; one whose dtype is wider is refused."""
    found = real(x, what, dtypes.TypePromotionError)
    t = type_of(found)
    if t.dtype != dtype and dtypes.promote([(t.dtype, t.weak), (dtype, False)])[0] != dtype:
        raise errors.make(
            dtypes.TypePromotionError, f"{what} is {t}, which the dtype {dtype} of the result cannot hold",
            op=errors.source.called(), fix=f"convert it with astype, or ask for dtype={t.dtype}")
    return lax.convert_element_type(found, dtype)


def cast(x: Any, dtype: Any, what: str) -> Any:
    """A parameter in the dtype of the result, rounded to it where it is wider."""
    return lax.convert_element_type(real(x, what), dtype)


def fit(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter broadcast to the shape of the result; scalars stay, which any shape takes."""
    own = type_of(x).shape
    if not own or own == shape:
        return x
    return lax.broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))


def count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def integer(x: Any, what: str) -> int:
    """A Python int, from anything that stands for one."""
    try:
        return operator.index(x)
    except errors.TracerIntegerConversionError:
        raise
    except TypeError:
        raise errors.type_error(f"{what} is {x!r}, an int is required", fix="convert it with int()") from None
