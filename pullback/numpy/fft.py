"""Discrete Fourier transforms, numpy.fft's interface.

With norm 'backward' (None) inverse transforms have the factor 1/n, with 'forward' the others have it, with 'ortho'
both have 1/sqrt(n). An axis is cut or padded with zeros to the length that is asked for. Half-precision and integer
arrays become complex64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.fft import FftType
from pullback.lax.fft import fft as _transform
from pullback.lax.operand import placed, retype
from pullback.numpy import elementwise, ranges, shape
from pullback.numpy.arguments import array, integer, part, requested
from pullback.ops.fft import MAX_AXES
from pullback.ops.move import as_shape, pad

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
           "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

ArrayLike = Any
DTypeLike = Any


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.fft.{name}")


_INVERSE = (FftType.IFFT, FftType.IRFFT)
_NORMS = (None, "backward", "ortho", "forward")


def _factor(kind: FftType, size: int, norm: str | None) -> float:
    """What the transform of `kind`, as XLA has it, must be multiplied with."""
    if norm not in _NORMS:
        raise errors.value_error(f"norm is {norm!r}, 'backward', 'ortho' or 'forward' is required",
                                 fix="check the spelling")
    if not size or norm in (None, "backward"):
        return 1.0
    whole = math.sqrt(size) if norm == "ortho" else size
    return whole if kind in _INVERSE else 1 / whole


def cut(x: Any, n: int, axis: int) -> Any:
    """`x` cut or padded with zeros to size `n` along `axis`."""
    given = x.type.shape[axis]
    if given >= n:
        return part(x, axis, 0, n)
    config = tuple([(0, n - given if i == axis else 0, 0) for i in range(x.type.ndim)])
    return pad(x, x.type.dtype.type(0), config=config)


def axes_of(ndim: int, s: Any, axes: Any) -> tuple[int, ...]:
    """The axes to transform, one for each size of `s`: those given, or the last."""
    if axes is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise errors.value_error(f"s names {count} sizes, the array has {ndim} dimensions", fix="leave some out")
        return tuple(range(ndim - count, ndim))
    if not isinstance(axes, Sequence):
        raise errors.type_error(f"axes is {axes!r}, a sequence of ints is required", fix="pass a tuple")
    checked = errors.check_axes(axes, ndim)
    if s is not None and len(s) != len(checked):
        raise errors.value_error(f"s has {len(s)} sizes and axes has {len(checked)}, one size for each axis is "
                                 "required", fix="give as many sizes as axes")
    return checked


def _transformed(kind: FftType, a: ArrayLike, s: Any, axes: Any, norm: str | None) -> Array:
    x = array(a)
    sizes = None if s is None else as_shape(s, "s")
    along = axes_of(x.type.ndim, sizes, axes)
    if sizes is not None and any([n <= 0 for n in sizes]):
        raise errors.value_error(f"got the sizes {sizes}, at least 1 is required", fix="leave them out to keep the "
                                 "sizes of the array")
    lengths = [x.type.shape[axis] for axis in along] if sizes is None else list(sizes)
    if kind is FftType.RFFT and lengths[-1:] == [0]:
        raise errors.value_error(f"got {x.type}, samples along axis {along[-1]} are required",
                                 fix="check for an empty array first")
    if kind is FftType.IRFFT and along and sizes is None:
        lengths[-1] = max(2 * (lengths[-1] - 1), 0)
    factor = _factor(kind, math.prod(lengths), norm)
    if sizes is not None:
        for i, axis in enumerate(along):
            half = kind is FftType.IRFFT and i == len(along) - 1
            x = cut(x, lengths[i] // 2 + 1 if half else lengths[i], axis)
    # XLA transforms three axes at once; the real axis is the first to be transformed, or the last to come back.
    groups = [(along[max(stop - MAX_AXES, 0):stop], lengths[max(stop - MAX_AXES, 0):stop])
              for stop in range(len(along), 0, -MAX_AXES)] or [((), [])]
    kinds = [kind] + [FftType.IFFT if kind in _INVERSE else FftType.FFT] * (len(groups) - 1)
    steps = list(zip(kinds, groups, strict=True))
    for each, (some, their) in reversed(steps) if kind is FftType.IRFFT else steps:
        last = range(-len(some), 0)
        x = shape.moveaxis(_transform(shape.moveaxis(x, some, last), each, their), last, some)
    return x if factor == 1.0 else elementwise.multiply(x, factor)


def _one(kind: FftType, a: ArrayLike, n: Any, axis: Any, norm: str | None) -> Array:
    if isinstance(axis, (tuple, list)):
        raise errors.value_error(f"axis is {axis!r}, one axis is required", fix="take the transform of n axes")
    return _transformed(kind, a, None if n is None else (integer(n, "n"),), None if axis is None else (axis,), norm)


def _two(kind: FftType, a: ArrayLike, s: Any, axes: Any, norm: str | None) -> Array:
    if len(axes) != 2:
        raise errors.value_error(f"axes is {axes}, two axes are required", fix="take the transform of n axes")
    return _transformed(kind, a, s, axes, norm)


# -- one axis -----------------------------------------------------------------------------------------

def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete Fourier transform along one axis: X[k] = sum_j a[j] exp(-2 pi i j k / n).

    Args:
      a: number[...]
      n: the length to cut or pad the axis to; None: as it is.
      axis: None: all axes, or the last one if an n is given.
      norm: see the module.

    Returns:
      complex[...], with size n along `axis`.

    Raises:
      ValueError: if there is no such axis, n is not positive, or norm is another word.

    Example:
      >>> jnp.fft.fft(jnp.array([1.0, 0.0, -1.0, 0.0]))
      Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    return _one(FftType.FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`: x[j] = 1/n sum_k a[k] exp(2 pi i j k / n).

    Args and errors as for `fft`.

    Example:
      >>> jnp.fft.ifft(jnp.array([4.0, 0.0, 0.0, 0.0]))
      Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one(FftType.IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The terms 0 ... n // 2 of the transform of real numbers; the others are their conjugates.

    Args:
      a: real[...]
      n, axis, norm: as for `fft`.

    Returns:
      complex[...], with size n // 2 + 1 along `axis`.

    Raises:
      ValueError: as `fft`, and if `a` is complex or of half precision.

    Example:
      >>> jnp.fft.rfft(jnp.array([1.0, 0.0, 0.0, 0.0]))
      Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one(FftType.RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`.

    Args:
      a: number[...], terms 0 ... n // 2 along `axis`; imaginary parts that a real signal cannot have are ignored.
      n: the length of the result; None: 2 * (size - 1), though a signal of odd length has as many terms.

    Returns:
      float[...], with size n along `axis`.

    Raises:
      ValueError: as `fft`.

    Example:
      >>> jnp.fft.irfft(jnp.array([1.0, 1.0, 1.0]))
      Array([1., 0., 0., 0.], dtype=float32)
    """
    return _one(FftType.IRFFT, a, n, axis, norm)


def _opposite(norm: str | None) -> str | None:
    """The norm that gives an inverse transform the factor that `norm` gives the forward one."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The transform, which is real, of a signal with a[-j] = conj(a[j]); its terms 0 ... n // 2 are given.

    Args, returns and errors as for `irfft`.

    Example:
      >>> jnp.fft.hfft(jnp.array([1.0, 0.0, 0.0]))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    return _one(FftType.IRFFT, elementwise.conj(array(a)), n, axis, _opposite(norm))


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`.

    Args, returns and errors as for `rfft`.

    Example:
      >>> jnp.fft.ihfft(jnp.array([4.0, 4.0, 4.0, 4.0])).real
      Array([4., 0., 0.], dtype=float32)
    """
    return elementwise.conj(_one(FftType.RFFT, array(a), n, axis, _opposite(norm)))


# -- two axes -----------------------------------------------------------------------------------------

def fft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
         ) -> Array:
    """`fftn` over two axes.

    Example:
      >>> jnp.fft.fft2(jnp.ones((2, 2))).real
      Array([[4., 0.],
             [0., 0.]], dtype=float32)
    """
    return _two(FftType.FFT, a, s, axes, norm)


def ifft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
          ) -> Array:
    """`ifftn` over two axes.

    Example:
      >>> jnp.fft.ifft2(jnp.ones((2, 2))).real
      Array([[1., 0.],
             [0., 0.]], dtype=float32)
    """
    return _two(FftType.IFFT, a, s, axes, norm)


def rfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
          ) -> Array:
    """`rfftn` over two axes.

    Example:
      >>> jnp.fft.rfft2(jnp.ones((2, 2))).real
      Array([[4., 0.],
             [0., 0.]], dtype=float32)
    """
    return _two(FftType.RFFT, a, s, axes, norm)


def irfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
           ) -> Array:
    """`irfftn` over two axes.

    Example:
      >>> jnp.fft.irfft2(jnp.ones((2, 2))).shape
      (2, 2)
    """
    return _two(FftType.IRFFT, a, s, axes, norm)


# -- several axes -------------------------------------------------------------------------------------

def fftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
         ) -> Array:
    """The discrete Fourier transform along several axes.

    Args:
      a: number[...]
      s: the lengths to cut or pad the axes to; None: as they are.
      axes: distinct axes; None: the last len(s), or all.
      norm: see the module.

    Returns:
      complex[...]

    Raises:
      ValueError: if an axis does not exist or is named twice, a length is not positive, or there are not as many
        lengths as axes. TypeError: if axes is no sequence.

    Example:
      >>> jnp.fft.fftn(jnp.ones((2, 2, 2))).real.ravel()
      Array([8., 0., 0., 0., 0., 0., 0., 0.], dtype=float32)
    """
    return _transformed(FftType.FFT, a, s, axes, norm)


def ifftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
          ) -> Array:
    """The inverse of `fftn`; args and errors as there.

    Example:
      >>> jnp.fft.ifftn(jnp.ones((2, 2))).real
      Array([[1., 0.],
             [0., 0.]], dtype=float32)
    """
    return _transformed(FftType.IFFT, a, s, axes, norm)


def rfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
          ) -> Array:
    """`rfft` along the last of `axes`, then `fft` along the others.

    Args:
      a: real[...]
      s, axes, norm: as for `fftn`.

    Returns:
      complex[...], with size s[-1] // 2 + 1 along the last axis.

    Example:
      >>> jnp.fft.rfftn(jnp.ones((2, 4))).shape
      (2, 3)
    """
    return _transformed(FftType.RFFT, a, s, axes, norm)


def irfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
           ) -> Array:
    """The inverse of `rfftn`: `ifft` along all of `axes` but the last, then `irfft` along that.

    Args:
      a: number[...]
      s: the lengths of the result; None: as they are, 2 * (size - 1) along the last axis.

    Returns:
      float[...]

    Example:
      >>> jnp.fft.irfftn(jnp.ones((2, 3))).shape
      (2, 4)
    """
    return _transformed(FftType.IRFFT, a, s, axes, norm)


# -- frequencies --------------------------------------------------------------------------------------

def _frequencies(n: Any, numbers: Any, d: ArrayLike, dtype: DTypeLike, device: Any, name: str) -> Array:
    wanted = requested(dtype, name)
    step = array(d)
    if dtypes.is_complex(step.type.dtype):
        raise errors.type_error(f"d is {step.type}, a real number is required", op=name,
                                fix="pass the spacing of the samples")
    out = elementwise.divide(numbers, elementwise.multiply(step, np.float32(n)))
    return placed(retype(out, wanted or dtypes.canonicalize(float)), device)


def _count(n: Any) -> int:
    if not isinstance(n, (int, np.integer)):
        raise errors.value_error(f"n is {n!r}, an int is required", fix="pass the length of the signal")
    return int(n)


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the terms of `fft`: 0, 1, ..., then the negative ones, over n d.

    Args:
      n: the length of the signal.
      d: real[], the spacing of its samples, in some unit; frequencies are in cycles per unit.
      dtype: of the result; None: float.

    Returns:
      dtype[n]

    Raises:
      ValueError: if n is no int. TypeError: if d is complex.

    Example:
      >>> jnp.fft.fftfreq(5, 0.2)
      Array([ 0.,  1.,  2., -2., -1.], dtype=float32)
    """
    n = _count(n)
    numbers = ranges.arange(max(n, 0), dtype=dtypes.canonicalize(float))
    wrapped = elementwise.subtract(numbers, np.where(np.arange(max(n, 0)) > (n - 1) // 2, n, 0).astype(np.float32))
    return _frequencies(n, wrapped, d, dtype, device, "fftfreq")


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the terms of `rfft`: 0, 1, ..., n // 2, over n d; args and errors as for `fftfreq`.

    Returns:
      dtype[n // 2 + 1]

    Example:
      >>> jnp.fft.rfftfreq(4, 0.25)
      Array([0., 1., 2.], dtype=float32)
    """
    n = _count(n)
    numbers = ranges.arange(max(n // 2 + 1, 0), dtype=dtypes.canonicalize(float))
    given = requested(dtype, "rfftfreq")
    if given == dtypes.bool_:
        raise errors.type_error("dtype is bool, a dtype of numbers is required", fix="leave it out")
    if given is not None and dtypes.is_integer(given):
        given = dtypes.to_inexact(given)  # a quotient of whole numbers
    return _frequencies(n, numbers, d, given, device, "rfftfreq")


def _shifted(x: ArrayLike, axes: Any, inverse: bool) -> Array:
    v = array(x)
    ndim = v.type.ndim
    along = range(ndim) if axes is None else [errors.check_axis(axis, ndim) for axis in as_shape(axes, "axes")]
    for axis in along:
        n = v.type.shape[axis]
        v = shape.roll(v, -(n // 2) if inverse else n // 2, axis)
    return v


def fftshift(x: ArrayLike, axes: None | int | Sequence[int] = None) -> Array:
    """The elements rolled so that the term of frequency 0 is in the middle.

    Args:
      x: any[...]
      axes: those to roll; None: all.

    Raises:
      ValueError: if there is no such axis.

    Example:
      >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
      Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted(x, axes, False)


def ifftshift(x: ArrayLike, axes: None | int | Sequence[int] = None) -> Array:
    """The inverse of `fftshift`.

    Example:
      >>> jnp.fft.ifftshift(jnp.arange(5))
      Array([2, 3, 4, 0, 1], dtype=int32)
    """
    return _shifted(x, axes, True)
