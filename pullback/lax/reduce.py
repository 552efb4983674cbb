"""Reductions: of axes, of windows, running ones, and the position of an extreme."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors, tree
from pullback.core.array import Array
from pullback.core.primitive import TABLE
from pullback.core.program import Program
from pullback.core.trace import bind, concrete, type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.core.values import value
from pullback.interpret.stage import stage
from pullback.lax.conv import padtype_to_pads
from pullback.lax.operand import placed, retype
from pullback.ops import cumulative, fold, window
from pullback.ops import reduce as ops
from pullback.ops.conv import dilated
from pullback.ops.move import as_shape, broadcast_in_dim

__all__ = ["argmax", "argmin", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "reduce",
           "reduce_and",
           "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_window",
           "reduce_window_shape_tuple", "reduce_xor"]

ArrayLike = Any


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The sum of the elements along `axes`; 0 for none.

    Args:
      operand: number[...]
      axes: distinct, not negative.

    Raises:
      ValueError: if an axis does not exist or repeats.

    Example:
      >>> lax.reduce_sum(jnp.array([[1, 4], [3, 2]]), (0,))
      Array([4, 6], dtype=int32)
    """
    return placed(ops.reduce_sum(value(operand), axes=as_shape(axes, "axes")), out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The product of the elements along `axes`; 1 for none. Its derivative is right also at zeros.

    Args:
      operand: number[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_prod(jnp.array([[1, 4], [3, 2]]), (0,))
      Array([3, 8], dtype=int32)
    """
    return ops.reduce_prod(value(operand), axes=as_shape(axes, "axes"))


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The largest element along `axes`; NaN if there is one; the lowest value of the dtype for none.

    Not smooth where the largest elements are equal; there each has an equal share of the derivative.

    Args:
      operand: any[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_max(jnp.array([[1, 4], [3, 2]]), (0,))
      Array([3, 4], dtype=int32)
    """
    return placed(ops.reduce_max(value(operand), axes=as_shape(axes, "axes")), out_sharding)


def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The smallest element along `axes`; NaN if there is one; the highest value of the dtype for none.

    Not smooth where the smallest elements are equal; there each has an equal share of the derivative.

    Args:
      operand: any[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_min(jnp.array([[1, 4], [3, 2]]), (0,))
      Array([1, 2], dtype=int32)
    """
    return placed(ops.reduce_min(value(operand), axes=as_shape(axes, "axes")), out_sharding)


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise and of the elements along `axes`.

    Args:
      operand: bool or int[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_and(jnp.array([True, False]), (0,)).item()
      False
    """
    return ops.reduce_and(value(operand), axes=as_shape(axes, "axes"))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise or of the elements along `axes`.

    Args:
      operand: bool or int[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_or(jnp.array([True, False]), (0,)).item()
      True
    """
    return ops.reduce_or(value(operand), axes=as_shape(axes, "axes"))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise exclusive or of the elements along `axes`.

    Args:
      operand: bool or int[...]
      axes: distinct, not negative.

    Example:
      >>> lax.reduce_xor(jnp.array([6, 3]), (0,)).item()
      5
    """
    return ops.reduce_xor(value(operand), axes=as_shape(axes, "axes"))


def _axis(axis: Any) -> int:
    try:
        return operator.index(axis)
    except TypeError:
        raise errors.type_error(f"axis is {axis!r}, an int is required", fix="pass one axis") from None


def argmax(operand: ArrayLike, axis: int, index_dtype: Any) -> Array:
    """The position along `axis` of the first of the largest elements, or of the first NaN if there is one.

    Args:
      operand: real[...], with at least one element along `axis`.
      axis: not negative.
      index_dtype: dtype of the result, which must hold every position.

    Example:
      >>> lax.argmax(jnp.array([1, 5, 3]), 0, jnp.int32).item()
      1
    """
    dtype = dtypes.canonicalize_requested(index_dtype, "argmax")
    return ops.argmax(value(operand), axis=_axis(axis), dtype=dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: Any) -> Array:
    """The position along `axis` of the first of the smallest elements, or of the first NaN if there is one.

    Args:
      operand: real[...], with at least one element along `axis`.
      axis: not negative.
      index_dtype: dtype of the result, which must hold every position.

    Example:
      >>> lax.argmin(jnp.array([1, 5, 3]), 0, jnp.int32).item()
      0
    """
    dtype = dtypes.canonicalize_requested(index_dtype, "argmin")
    return ops.argmin(value(operand), axis=_axis(axis), dtype=dtype)


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The running sum along `axis`; with `reverse`, of the elements from there on.

    Args:
      operand: number[...]

    Example:
      >>> lax.cumsum(jnp.array([1, 2, 3]), reverse=True)
      Array([6, 5, 3], dtype=int32)
    """
    return cumulative.cumsum(value(operand), axis=_axis(axis), reverse=bool(reverse))


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The running product along `axis`. Its derivative is right also where elements are 0.

    Args:
      operand: number[...]

    Example:
      >>> lax.cumprod(jnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    return cumulative.cumprod(value(operand), axis=_axis(axis), reverse=bool(reverse))


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The largest element so far along `axis`. Equal elements share the derivative.

    Args:
      operand: number[...]

    Example:
      >>> lax.cummax(jnp.array([1, 3, 2]))
      Array([1, 3, 3], dtype=int32)
    """
    return cumulative.cummax(value(operand), axis=_axis(axis), reverse=bool(reverse))


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest element so far along `axis`. Equal elements share the derivative.

    Args:
      operand: number[...]

    Example:
      >>> lax.cummin(jnp.array([3, 1, 2]))
      Array([3, 1, 1], dtype=int32)
    """
    return cumulative.cummin(value(operand), axis=_axis(axis), reverse=bool(reverse))


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithm of the running sum of exponentials along `axis`.

    Where the result is infinite, the elements that are equal to it have derivative 1 and the others 0.

    Args:
      operand: float or complex[...]

    Example:
      >>> lax.cumlogsumexp(jnp.array([0.0, -jnp.inf]))
      Array([0., 0.], dtype=float32)
    """
    return cumulative.cumlogsumexp(value(operand), axis=_axis(axis), reverse=bool(reverse))


_MONOIDS = {
    "add": (ops.reduce_sum, window.reduce_window_sum), "max": (ops.reduce_max, window.reduce_window_max),
    "min": (ops.reduce_min, window.reduce_window_min), "mul": (ops.reduce_prod, None),
    "and": (ops.reduce_and, None), "or": (ops.reduce_or, None), "xor": (ops.reduce_xor, None)}


def _monoid(program: Program) -> str | None:
    """The operation that a program of two scalars consists of, if it is one that has a reduction."""
    if len(program.equations) != 1 or len(program.inputs) != 2:
        return None
    eqn = program.equations[0]
    whole = program.outputs == eqn.outputs and set(eqn.inputs) == set(program.inputs)
    return eqn.primitive.name if whole and eqn.primitive.name in _MONOIDS else None


def _is_identity(init: Any, reduction: Any) -> bool:
    known = init if is_scalar(init) else concrete(init)
    return known is not None and bool(np.asarray(known) == reduction.identity(type_of(init).dtype))


class _Call:
    """Operands and initial values, flat, and the staged computation."""

    def __init__(self, operands: Any, init_values: Any, computation: Callable[..., Any]) -> None:
        leaves, self.treedef = tree.flatten(operands)
        inits, init_treedef = tree.flatten(init_values)
        if self.treedef != init_treedef or not leaves:
            raise errors.value_error(
                f"operands have the structure {self.treedef}, initial values {init_treedef}; one initial "
                "value for each operand is required", fix="give both the same nesting")
        self.xs = [value(x) for x in leaves]
        types = [type_of(x) for x in self.xs]
        self.inits = [value(init) for init in inits]
        for own in map(type_of, self.inits):
            if own.shape:
                raise errors.value_error(f"the initial value {own} must be a scalar", fix="index one element")
        scalars = [ArrayType((), t.dtype, t.weak) for t in types]

        def on_scalars(*args: Any) -> list[Any]:
            count = len(leaves)
            result = computation(tree.unflatten(self.treedef, args[:count]),
                                 tree.unflatten(self.treedef, args[count:]))
            found, treedef = tree.flatten(result)
            if treedef != self.treedef:
                raise errors.type_error(f"the computation returns the structure {treedef}, the operands have "
                                        f"{self.treedef}", fix="return one value per operand, nested alike")
            return [retype(value(x), t.dtype, t.weak) if type_of(value(x)).weak else value(x)
                    for x, t in zip(found, types)]

        self.program, captured = stage(on_scalars, [*scalars, *scalars], name="computation", what="reduce")
        if captured:
            raise errors.make(
                NotImplementedError, f"the computation uses {len(captured)} arrays beside its two arguments",
                fix="compute with them before or after it, or use lax.associative_scan or lax.scan")
        self.name = _monoid(self.program)
        for init, own, t in zip(self.inits, map(type_of, self.inits), types):
            # The identity of a known operation does not count, so it may come in any dtype.
            if own.dtype != t.dtype and not (self.name and _is_identity(init, _MONOIDS[self.name][0])):
                raise errors.type_error(f"the initial value {init if is_scalar(init) else own} does not have the dtype "
                                        f"of its operand {t}", fix="convert the one or the other")
        self.inits = [retype(init, t.dtype, t.weak) for init, t in zip(self.inits, types)]

    def finish(self, x: Any, reduction: Any) -> Any:
        """The reduction of a single operand from the identity on, joined with the initial value."""
        init = self.inits[0]
        if not _is_identity(init, reduction):
            init = broadcast_in_dim(init, shape=type_of(x).shape, dims=())
            x = TABLE[self.name or ""](x, init)
        return tree.unflatten(self.treedef, [x])


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int],
           out_sharding: Any = None) -> Any:
    """Operands reduced over `dimensions` by an associative function of two scalars, with an initial value.

    Args:
      operands: any[...], or a pytree of such of one shape.
      init_values: a scalar for each operand.
      computation: (so far, element) -> so far, of the structure of `operands`; must be associative. A single
        operation such as lax.add is recognised and runs as the reduction of that name.
      dimensions: distinct axes, not negative. With none, the operands come back as they are.

    Example:
      >>> lax.reduce(jnp.arange(5.), 1., lambda x, y: x * (y + 1) + y, (0,)).shape
      ()
    """
    call = _Call(operands, init_values, computation)
    axes = as_shape(dimensions, "dimensions")
    if call.name and axes:
        reduction = _MONOIDS[call.name][0]
        result = call.finish(reduction(call.xs[0], axes=axes), reduction)
    else:
        results = bind(fold.fold, [*call.xs, *call.inits], dict(program=call.program, axes=axes))
        result = tree.unflatten(call.treedef, results)
    return result if out_sharding is None else tree.map(lambda x: placed(x, out_sharding), result)


def _window_params(shape: tuple[int, ...], dimensions: Any, strides: Any, padding: Any, base_dilation: Any,
                   window_dilation: Any) -> dict[str, Any]:
    ones = (1,) * len(shape)
    size = as_shape(dimensions, "window_dimensions")
    step = ones if strides is None else as_shape(strides, "window_strides")
    base = ones if base_dilation is None else as_shape(base_dilation, "base_dilation")
    spread = ones if window_dilation is None else as_shape(window_dilation, "window_dilation")
    given = dict(window=size, strides=step, padding=((0, 0),) * len(shape), base_dilation=base,
                 window_dilation=spread)
    window.check_window(ArrayType(shape, dtypes.float32), **given)
    if isinstance(padding, str):
        padding = padtype_to_pads([dilated(n, d) for n, d in zip(shape, base)],
                                  [dilated(n, d) for n, d in zip(size, spread)], step, padding)
    try:
        pads = tuple([(operator.index(low), operator.index(high)) for low, high in padding])
    except (TypeError, ValueError):
        raise errors.type_error(f"padding is {padding!r}; 'SAME', 'VALID', 'SAME_LOWER' or a (low, high) "
                                "pair per axis is required", fix="write [(0, 0), ...]") from None
    return given | dict(padding=pads)


def reduce_window(operand: Any, init_value: Any, computation: Callable[..., Any],
                  window_dimensions: Sequence[int], window_strides: Sequence[int] | None = None,
                  padding: str | Sequence[tuple[int, int]] = "VALID",
                  base_dilation: Sequence[int] | None = None, window_dilation: Sequence[int] | None = None
                  ) -> Any:
    """Every window of the operands reduced by an associative function of two scalars, with an initial value.

    Padding and holes are left out of the reduction. Where the largest elements of a window are equal, the
    derivative of a max goes to the first.

    Args:
      operand: any[...], or a pytree of such of one shape.
      init_value: a scalar for each operand.
      computation: (so far, element) -> so far; lax.add, lax.max and lax.min are recognised.
      window_dimensions: the size of a window along each axis.
      window_strides: the step from one window to the next along each axis; None: 1.
      padding: 'VALID', 'SAME', 'SAME_LOWER', or (low, high) per axis.
      base_dilation: the step from one element of the operand to the next; None: 1.
      window_dilation: the step from one element of a window to the next; None: 1.

    Example:
      >>> lax.reduce_window(jnp.arange(6.), -jnp.inf, lax.max, (2,), (2,)).tolist()
      [1.0, 3.0, 5.0]
    """
    call = _Call(operand, init_value, computation)
    params = _window_params(type_of(call.xs[0]).shape, window_dimensions, window_strides, padding,
                            base_dilation, window_dilation)
    reduction = _MONOIDS[call.name][1] if call.name else None
    if reduction is not None:
        return call.finish(reduction(call.xs[0], **params), reduction)
    results = bind(fold.fold_window, [*call.xs, *call.inits], dict(program=call.program, **params))
    return tree.unflatten(call.treedef, results)


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int],
                              window_strides: Sequence[int], padding: Any,
                              base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> tuple[int, ...]:
    """The shape of `reduce_window` of an operand of `operand_shape`.

    Example:
      >>> lax.reduce_window_shape_tuple((5,), (3,), (2,), [(0, 0)])
      (2,)
    """
    shape = as_shape(operand_shape)
    params = _window_params(shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return window.window_shape(shape, **params)
