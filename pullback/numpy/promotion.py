"""Operands of numpy functions: made arrays, promoted to one dtype, broadcast to one shape."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.array import Array, ConcreteArray
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import is_scalar, scalar_type
from pullback.core.values import scalar_of, value
from pullback.lax.operand import retype


def operand(x: Any) -> Any:
    """`x` as an Array or scalar; no lists, as in jax: converting them is slow and hides mistakes."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (list, tuple)):
        raise errors.type_error(f"got a {type(x).__name__}, an array or a number is required",
                                fix="convert it with jnp.array(...)")
    return value(x)


def as_array(x: Any) -> Any:
    """A scalar as an array without axes; arrays and tracers as they are."""
    if is_scalar(x):
        t = scalar_type(x)
        return ConcreteArray(t, np.asarray(_within(x, t.dtype), t.dtype))
    return x


def _within(x: Any, dtype: Any) -> Any:
    """`x`; an OverflowError if it is a Python int that `dtype` cannot hold."""
    if type(x) is int and dtypes.is_integer(dtype):
        scalar_of(x, dtype, False)
    return x


def _common(values: list[Any], types: list[Any]) -> list[Any]:
    """Values of several dtypes in their common one."""
    dtype, weak = dtypes.promote([(t.dtype, t.weak) for t in types])
    return [retype(_within(v, dtype), dtype, weak) for v in values]


def promoted(*args: Any) -> list[Any]:
    """The arguments in their common dtype, not yet of one shape."""
    values = [operand(arg) for arg in args]
    types = [type_of(v) for v in values]
    dtype = types[0].dtype
    for t in types:
        if t.dtype != dtype:
            return _common(values, types)
    for v in values:
        if type(v) is int:
            _within(v, dtype)
    return values  # operations join weak and strong operands of one dtype by themselves


def promoted_inexact(*args: Any) -> list[Any]:
    """The arguments in their common dtype; integers and booleans become floats."""
    values = promoted(*args)
    types = [type_of(v) for v in values]
    dtype = types[0].dtype
    if dtypes.is_inexact(dtype):
        return values
    dtype, weak = dtypes.to_inexact(dtype), all([t.weak for t in types])
    return [retype(v, dtype, weak) for v in values]


def inexact(x: Any) -> Any:
    """One operand of a function of the reals: integers and booleans become floats."""
    v = operand(x)
    t = type_of(v)
    return v if dtypes.is_inexact(t.dtype) else retype(v, dtypes.to_inexact(t.dtype), t.weak)


def _scalar_beside(x: Any, dtype: Any) -> Any:
    """A Python number beside an array of the default dtype of its kind; None where it must be converted."""
    if (type(x) is float or type(x) is int) and not config.enable_x64.value:
        if dtype == dtypes.float32:
            return float(x)
        if type(x) is int and dtype == dtypes.int32 and -(2**31) <= x < 2**31:
            return x
    return None


def _quick(x: Any, y: Any) -> tuple[Any, Any] | None:
    """Two operands in the commonest cases: arrays of one type, or an array and a Python number."""
    if isinstance(x, Array):
        if isinstance(y, Array):
            return (x, y) if x.type == y.type else None
        y = _scalar_beside(y, x.type.dtype)
        return None if y is None else (x, y)
    if isinstance(y, Array):
        x = _scalar_beside(x, y.type.dtype)
        return None if x is None else (x, y)
    return None


def pair(x: Any, y: Any) -> Sequence[Any]:
    """`elementwise` for two arguments."""
    return _quick(x, y) or broadcast(*promoted(x, y))


def inexact_pair(x: Any, y: Any) -> Sequence[Any]:
    """`elementwise_inexact` for two arguments."""
    found = _quick(x, y)
    if found is not None and dtypes.is_inexact(type_of(found[0]).dtype):
        return found
    return broadcast(*promoted_inexact(x, y))


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rules."""
    return _broadcast_shapes(tuple(shapes))


@functools.lru_cache(4096)
def _broadcast_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    ndim = max([len(s) for s in shapes], default=0)
    result = []
    for i in range(ndim):
        sizes = {s[i - ndim + len(s)] for s in shapes if i - ndim + len(s) >= 0} - {1}
        if len(sizes) > 1:
            raise errors.make(
                errors.BroadcastError,
                f"shapes {', '.join(map(str, shapes))} cannot be broadcast together: axis {i - ndim} has "
                f"sizes {' and '.join(map(str, sorted(sizes)))}",
                fix="give one of them a size of 1 there (x[:, None]), or transpose")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape`."""
    t = type_of(x)
    if t.shape == shape:
        return x
    plan = _stretch(t.shape, shape)
    if plan is None:
        raise errors.value_error(f"{t} cannot be broadcast to shape {shape}",
                                 fix="sizes must agree or be 1, counted from the last axis")
    kept, dims = plan
    if kept is not None:
        x = TABLE["reshape"](x, shape=kept)
    return TABLE["broadcast_in_dim"](x, shape=shape, dims=dims)


@functools.lru_cache(4096)
def _stretch(given: tuple[int, ...], shape: tuple[int, ...]
             ) -> tuple[tuple[int, ...] | None, tuple[int, ...]] | None:
    """For a broadcast: the shape without the axes of size 1 that grow (None: there are none), so that the operation
    broadcast_in_dim stretches nothing, and where the axes go. None if the shapes do not fit."""
    if len(given) > len(shape) or any(a not in (1, b) for a, b in zip(given[::-1], shape[::-1], strict=False)):
        return None
    offset = len(shape) - len(given)
    kept = [i for i, n in enumerate(given) if n == shape[offset + i]]
    return (tuple([given[i] for i in kept]) if len(kept) < len(given) else None,
            tuple([offset + i for i in kept]))


def _rank_promotion(shapes: Sequence[tuple[int, ...]]) -> None:
    mode = config.numpy_rank_promotion.value
    ranks = {len(s) for s in shapes if s}
    if mode == "allow" or len(ranks) < 2:
        return
    text = f"operands of ranks {sorted(ranks)} with shapes {', '.join(map(str, shapes))} need rank promotion"
    if mode == "raise":
        raise errors.value_error(text,
                                 fix="give them one rank (x[None, :]), or allow it with numpy_rank_promotion")
    warnings.warn(text, stacklevel=3)


def broadcast(*args: Any, any_rank: bool = False) -> list[Any]:
    """Arguments of one shape; scalars stay scalars, which elementwise operations take as they are.

    any_rank: broadcast to a higher rank whatever numpy_rank_promotion says.
    """
    shapes = [type_of(a).shape for a in args]
    full = [s for s in shapes if s]
    if not full or all([s == full[0] for s in full]):
        return list(args)
    if not any_rank:
        _rank_promotion(shapes)
    shape = broadcast_shapes(shapes)
    # Where another argument has the whole shape, one of a single element need not be repeated.
    single = shape in full
    return [a if not s else TABLE["reshape"](a, shape=()) if single and s != shape and math.prod(s) == 1 else
            broadcast_to(a, shape) for a, s in zip(args, shapes, strict=True)]


def elementwise(*args: Any) -> list[Any]:
    """Arguments of one dtype and one shape (or scalars)."""
    return broadcast(*promoted(*args))


def elementwise_inexact(*args: Any) -> list[Any]:
    """Arguments of one inexact dtype and one shape (or scalars)."""
    return broadcast(*promoted_inexact(*args))
