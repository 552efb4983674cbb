"""Universal functions: functions of scalars, applied element by element, that can also reduce and accumulate.

`jnp.add`, `jnp.maximum` and others are such objects. Methods for which there is an operation use it; the others run
the function along the axis, one element after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.api.inspect import eval_shape
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.control_flow import scan
from pullback.lax.operand import retype
from pullback.numpy import cumulative, elementwise, logic, mapping, reductions, shape, transcendental
from pullback.numpy.arguments import (
    ArrayLike,
    DTypeLike,
    array,
    integer,
    is_known,
    kept,
    known,
    no_out,
    one_axis,
    requested,
    several_axes,
)
from pullback.numpy.indexing import AtIndex
from pullback.numpy.promotion import broadcast_to
from pullback.numpy.ranges import arange
from pullback.numpy.taking import not_in_place
from pullback.ops import elementwise as ops
from pullback.ops import move
from pullback.ops.families import fit
from pullback.ops.index import default_fill
from pullback.ops.reduce import reduce_and, reduce_or, reduce_xor
from pullback.runtime.remember import remembered

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "subtract", "ufunc",
]


class ufunc:  # noqa: N801  # NumPy's name
    """A function of scalars applied element by element, with the methods of NumPy's universal functions.

    Args:
      func: a function of `nin` scalars that returns one, or a tuple of `nout`.
      nin, nout: the numbers of its arguments and results.
      name: None: that of func.
      nargs: the number of arguments that a call may have; None: nin.
      identity: what a reduction begins with; None: with the first element.
      call, reduce, accumulate, at, reduceat: functions that do these things in place of the general way.
    """

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
                 nargs: int | None = None, identity: Any = None, call: Callable[..., Any] | None = None,
                 reduce: Callable[..., Any] | None = None, accumulate: Callable[..., Any] | None = None,
                 at: Callable[..., Any] | None = None, reduceat: Callable[..., Any] | None = None) -> None:
        if not callable(func):
            raise errors.type_error(f"func is a {type(func).__name__}, a function is required", op="ufunc",
                                    fix="pass a function of scalars")
        nin, nout = integer(nin, "nin"), integer(nout, "nout")
        self.__name__ = name or func.__name__
        self.__doc__ = func.__doc__
        self.nin, self.nout, self.nargs, self.identity = nin, nout, nin if nargs is None else nargs, identity
        self._func = func
        self._call = call or mapping.vectorize(func)
        self._own = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    def _key(self) -> tuple[Any, ...]:
        return self._func, self.__name__, self.nin, self.nout, self.nargs, self.identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Any:
        """The function of every element; arguments are broadcast."""
        if out is not None or where is not None:
            no_out(out)
            raise errors.type_error("where is given, None is required", op=self.__name__,
                                    fix="jnp.where(condition, f(x, y), x) chooses afterwards")
        if len(args) != self.nargs:
            raise errors.type_error(f"{self.__name__}() got {len(args)} arguments, {self.nargs} are required",
                                    op=self.__name__, fix="give an argument for each")
        return self._call(*args)

    def _binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise errors.value_error(f"it has {self.nin} arguments and {self.nout} results, 2 and 1 are required for "
                                     f"{method}", op=f"{self.__name__}.{method}", fix="call it on whole arrays")

    def _combined(self, x: Any, y: Any) -> Any:
        return array(self._call(x, y))

    def _started(self, start: Any, item: Any) -> Any:
        """A running value, of the dtype that results have."""
        return retype(start, eval_shape(self._combined, start, item).dtype)

    # -- methods ----------------------------------------------------------------------------------

    def reduce(self, a: ArrayLike, axis: int | None = 0, dtype: DTypeLike | None = None, out: None = None,
               keepdims: bool = False, initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Array:
        """f(... f(f(a[0], a[1]), a[2]) ..., a[n - 1]) along an axis.

        Args:
          a: any[..., n, ...]
          axis: None: along the flattened array.
          dtype: in which to compute; None: that of `a`, for sums and products as in jnp.sum.
          keepdims: keep the axis, with size 1.
          initial: what to begin with; None: the identity of the function, or the first element.
          where: bool[...], broadcast to `a`: the elements to take; needs an identity or `initial`.

        Raises:
          ValueError: if the function is not one of two arguments, there is nothing to begin with, or for an axis out
            of range.

        Example:
          >>> jnp.multiply.reduce(jnp.array([[1, 2], [3, 4]]))
          Array([3, 8], dtype=int32)
        """
        self._binary("reduce")
        no_out(out)
        own = self._own["reduce"]
        x = array(a)
        if own is not None:
            if axis is not None and not isinstance(axis, tuple):
                one_axis(axis, x.type.ndim)
            return own(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        if isinstance(axis, (tuple, list)):
            raise errors.value_error(f"axis is {axis}, one axis or None is required",
                                     op=f"{self.__name__}.reduce", fix="reduce along one axis after the other")
        wanted = requested(dtype, f"{self.__name__}.reduce")
        x = x if wanted is None else retype(x, wanted)
        sizes = x.type.shape
        chosen = None if where is None else broadcast_to(reductions.mask(where, sizes), sizes)
        along = 0 if axis is None else one_axis(axis, x.type.ndim)
        if axis is None:
            x = shape.ravel(x)
            chosen = None if chosen is None else shape.ravel(chosen)
        first = self.identity if initial is None else initial
        if first is None and (chosen is not None or not x.type.shape[along]):
            raise errors.value_error(f"{self.__name__} has no identity, so there may be no element to begin with",
                                     op=f"{self.__name__}.reduce", fix="pass initial")
        items = shape.moveaxis(x, along, 0)
        inner = items.type.shape[1:]
        masks = None if chosen is None else shape.moveaxis(chosen, along, 0)
        if first is None:
            start, items = items[0], items[1:]
        else:
            start = fit(retype(array(first), x.type.dtype), inner)
        sample = items[0] if items.type.shape[0] else fit(retype(array(0), x.type.dtype), inner)

        def step(total: Any, item: Any) -> tuple[Any, None]:
            x, mask = item if masks is not None else (item, None)
            new = retype(self._combined(total, x), total.dtype)
            return new if mask is None else ops.select_n(mask, total, new), None

        total, _ = scan(step, self._started(start, sample), items if masks is None else (items, masks))
        total = total if wanted is None else retype(total, wanted)
        if keepdims:
            total = move.reshape(total, shape=tuple([1 if axis is None or i == along else n
                                                     for i, n in enumerate(sizes)]))
        return total  # type: ignore[no-any-return]

    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Array:
        """The results of `reduce` for the elements up to each one.

        Args:
          a: any[..., n, ...]
          axis: None: along the flattened array.
          dtype: in which to compute; None: that of `a`.

        Raises:
          ValueError: if the function is not one of two arguments, or for an axis out of range.

        Example:
          >>> jnp.subtract.accumulate(jnp.array([5, 1, 2]))
          Array([5, 4, 2], dtype=int32)
        """
        self._binary("accumulate")
        no_out(out)
        own = self._own["accumulate"]
        x = array(a)
        if axis is not None:
            one_axis(axis, x.type.ndim)
        if own is not None:
            return own(x, axis=axis, dtype=dtype)
        x = x if dtype is None else retype(x, requested(dtype, f"{self.__name__}.accumulate"))
        if axis is None:
            x, axis = shape.ravel(x), 0
        items = shape.moveaxis(x, axis, 0)
        if not items.type.shape[0]:
            return x  # type: ignore[no-any-return]

        def step(total: Any, item: Any) -> tuple[Any, Any]:
            total = retype(self._combined(total, item), total.dtype)
            return total, total

        start = self._started(items[0], items[0])
        _, rest = scan(step, start, items[1:])
        first = move.reshape(start, shape=(1, *start.type.shape))
        return shape.moveaxis(move.concatenate(first, rest, axis=0), 0, axis)

    def at(self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True) -> Array:
        """A copy of `a` with f(a[indices], b) at `indices`, as often as they name an element.

        Args:
          a: any[...]
          indices: any index of `a`; positions outside are left out.
          b: the second argument of a function of two; broadcast to a[indices].
          inplace: must be False: arrays are immutable, the copy is the result.

        Raises:
          ValueError: if inplace is not False. TypeError: for a missing `b`, or one too many.

        Example:
          >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1, inplace=False)
          Array([2., 0., 1.], dtype=float32)
        """
        not_in_place(inplace)
        if self.nin not in (1, 2) or (b is None) is not (self.nin == 1):
            raise errors.type_error(f"got {'no' if b is None else 'a'} second argument for a function of {self.nin}",
                                    op=f"{self.__name__}.at", fix="pass one argument, or two, as the function takes")
        own = self._own["at"]
        x = array(a)
        if own is not None:
            return own(x, indices, b)
        if b is None:
            return AtIndex(x, indices).apply(self._call)
        y, size = array(b), x.type.size
        sizes = x.type.shape
        # Flat positions of the elements, `size` for those outside.
        places = AtIndex(arange(size).reshape(sizes), indices).get(mode="fill", fill_value=size)  # type: ignore[attr-defined]
        values = shape.ravel(broadcast_to(y, places.shape))
        x = self._started(x, values[0]) if values.type.size else x

        def step(x: Any, item: Any) -> tuple[Any, None]:
            place, value = item
            new = retype(self._combined(x[place], value), x.dtype)
            return x.at[place].set(new, mode="drop"), None

        out, _ = scan(step, shape.ravel(x), (shape.ravel(places), values))
        return out.reshape(sizes)  # type: ignore[no-any-return]

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:  # noqa: N803  # jax's names
        """f of every element of A with every element of B.

        Returns:
          any[*shape of A, *shape of B]

        Raises:
          ValueError: if the function is not one of two arguments.

        Example:
          >>> jnp.add.outer(jnp.array([1, 2]), jnp.array([10, 20, 30]))
          Array([[11, 21, 31],
                 [12, 22, 32]], dtype=int32)
        """
        if self.nin != 2:
            raise errors.value_error(f"it has {self.nin} arguments, 2 are required for outer",
                                     op=f"{self.__name__}.outer", fix="call it on whole arrays")
        x, y = array(A), array(B)
        return self._call(move.reshape(x, shape=(*x.type.shape, *[1] * y.type.ndim)),
                          move.reshape(y, shape=(*[1] * x.type.ndim, *y.type.shape)))  # type: ignore[no-any-return]

    def reduceat(self, a: ArrayLike, indices: Any, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
                 ) -> Array:
        """`reduce` of slices along an axis: the i-th from indices[i] up to indices[i + 1], the last to the end.

        Args:
          a: any[..., n, ...]
          indices: int[k]; where indices[i + 1] is not larger, the i-th slice is the one element at indices[i].
          dtype: in which to compute; None: that of `a`.

        Returns:
          any[..., k, ...]. Where a traced index is out of bounds: NaN, or the least integer.

        Raises:
          IndexError: if a known index is out of bounds. ValueError: if the function is not one of two arguments, or
            there is no such axis.

        Example:
          >>> jnp.add.reduceat(jnp.arange(6), jnp.array([0, 2, 5]))
          Array([1, 9, 5], dtype=int32)
        """
        self._binary("reduceat")
        no_out(out)
        own = self._own["reduceat"]
        if own is not None:
            return own(a, indices, axis=axis, dtype=dtype)
        x, starts = array(a), array(indices)
        if axis is None or starts.type.ndim != 1:
            raise errors.value_error(f"axis is {axis} and the indices are {starts.type}; one axis, and indices along "
                                     "one axis, are required", op=f"{self.__name__}.reduceat", fix="reshape them")
        x = x if dtype is None else retype(x, requested(dtype, f"{self.__name__}.reduceat"))
        along = one_axis(axis, x.type.ndim)
        n, count = x.type.shape[along], starts.type.size
        if is_known(starts):
            numbers = known(starts, "", "")
            if count and not (0 <= numbers.min() and numbers.max() < n):
                raise errors.make(IndexError, f"the indices {numbers.tolist()} are not all within an axis of size {n}",
                                  op=f"{self.__name__}.reduceat", fix=f"use indices from 0 to {n - 1}")
        starts = retype(starts, dtypes.canonicalize(int))
        ends = move.concatenate(starts[1:], array(np.full(min(count, 1), n, starts.type.dtype)), axis=0)
        items = shape.moveaxis(x, along, 0)
        inner = items.type.shape[1:]

        def step(totals: Any, item: Any) -> tuple[Any, None]:
            place, x = item
            x = broadcast_to(x, totals.shape)
            begins, goes_on = (move.broadcast_in_dim(flag, shape=totals.shape, dims=(0,)) for flag in (
                logic.equal(starts, place), logic.logical_and(starts < place, place < ends)))
            combined = retype(self._combined(totals, x), totals.dtype)
            return ops.select_n(begins, ops.select_n(goes_on, totals, combined), retype(x, totals.dtype)), None

        empty = fit(retype(array(0), x.type.dtype), (count, *inner))
        result = eval_shape(self._combined, empty, empty).dtype
        start = fit(array(np.asarray(default_fill(result)).astype(result)), (count, *inner))
        totals, _ = scan(step, start, (arange(n, dtype=starts.type.dtype), items))
        return shape.moveaxis(totals, 0, along)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A function of scalars as a ufunc, whose reductions begin with `identity`, or with the first element.

    Args:
      func: a function of `nin` scalars that returns one, or a tuple of `nout`; it is traced.

    Raises:
      TypeError: if func is no function.

    Example:
      >>> f = jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1)
      >>> f.reduce(jnp.arange(4))
      Array(10, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


# -- the ufuncs of this module ------------------------------------------------------------------------

def _of(function: Callable[..., Any], identity: Any = None, **own: Any) -> ufunc:
    arguments = 1 if function is elementwise.negative else 2
    made = ufunc(function, arguments, 1, identity=identity, call=remembered(function), **own)
    made.__module__ = "pullback.numpy"
    return made


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """An extreme as a reduction: it takes no dtype, so the elements are converted first."""
    def reduce(x: Any, *, axis: Any, dtype: Any, **more: Any) -> Any:
        return function(x if dtype is None else retype(x, requested(dtype, function.__name__)), axis, **more)
    return reduce


def _folded(operation: Any, function: Callable[..., Any], neutral: bool, logical: bool) -> Callable[..., Any]:
    """The reduction by an operation on bits; `neutral`: whether bits that do not count are set."""
    def reduce(x: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        wanted = requested(dtype, function.__name__)
        x = logic.truth(x) if logical else x if wanted is None else retype(x, wanted)
        axes, sizes = several_axes(axis, x.type.ndim), x.type.shape
        held = x.type.dtype
        ones = dtypes.iinfo(held).max if dtypes.kind(held) == "u" else neutral if dtypes.is_bool(held) else -1
        x = reductions.only(x, where, ones if neutral else 0)
        out = operation(x, axes=axes) if axes else x
        out = reductions.with_initial(kept(out, sizes, axes) if keepdims else out, initial, function)
        return out if wanted is None else retype(out, wanted)
    return reduce


def _updated(method: str) -> Callable[..., Any]:
    def at(x: Any, indices: Any, b: Any) -> Any:
        return getattr(AtIndex(x, indices), method)(b)
    return at


add = _of(elementwise.add, 0, reduce=reductions.sum, accumulate=cumulative.cumsum, at=_updated("add"))
multiply = _of(elementwise.multiply, 1, reduce=reductions.prod, accumulate=cumulative.cumprod, at=_updated("multiply"))
subtract = _of(elementwise.subtract, at=_updated("subtract"))
negative = _of(elementwise.negative)
maximum = _of(elementwise.maximum, reduce=_reduced(reductions.max), at=_updated("max"))
minimum = _of(elementwise.minimum, reduce=_reduced(reductions.min), at=_updated("min"))
logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor = (
    _of(function, identity, reduce=_folded(operation, function, bool(identity), type(identity) is bool))
    for function, identity, operation in (
        (logic.logical_and, True, reduce_and), (logic.logical_or, False, reduce_or),
        (logic.logical_xor, False, reduce_xor), (logic.bitwise_and, -1, reduce_and),
        (logic.bitwise_or, 0, reduce_or), (logic.bitwise_xor, 0, reduce_xor)))
logaddexp = _of(transcendental.logaddexp, -math.inf)
logaddexp2 = _of(transcendental.logaddexp2, -math.inf)

# Errors name the function that was called, not this frame.
ufunc.__call__.__code__ = ufunc.__call__.__code__.replace(co_name="<ufunc>")
