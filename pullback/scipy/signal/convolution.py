"""Convolutions and correlations of arrays of any number of axes, as sums or by Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.contract import PrecisionLike
from pullback.lax.conv import conv_general_dilated
from pullback.lax.operand import retype
from pullback.numpy import elementwise, fft
from pullback.numpy.arguments import ArrayLike, array, part
from pullback.numpy.padding import pad
from pullback.numpy.promotion import promoted_inexact
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

Sizes = tuple[int, ...]

_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


# -- parts that convolutions share --------------------------------------------------------------------

def _check_mode(mode: Any) -> None:
    if mode not in ("full", "same", "valid"):
        raise errors.value_error(f"mode is {mode!r}, 'full', 'same' or 'valid' is required", fix="check the spelling")


def _pair(in1: Any, in2: Any) -> tuple[Any, Any]:
    x, y = promoted_inexact(array(in1), array(in2))
    if x.type.ndim != y.type.ndim:
        raise errors.value_error(f"got {x.type} and {y.type}, arrays with equally many axes are required",
                                 fix="add axes of size 1 to one of them")
    return x, y


def _holds(x: Sizes, y: Sizes) -> bool:
    """Whether an array of shape `x` holds one of shape `y`; a ValueError if neither holds the other."""
    if all([n >= m for n, m in zip(x, y)]):
        return True
    if all([n <= m for n, m in zip(x, y)]):
        return False
    raise errors.value_error(f"shapes {x} and {y} with mode 'valid': one array must be at least as large as the "
                             "other along every axis", fix="take mode 'full' or 'same'")


def _flipped(x: Any) -> Any:
    return move.rev(x, axes=tuple(range(x.type.ndim)))


def _middle(x: Any, sizes: Sizes) -> Any:
    """The elements of `x` around its middle."""
    for axis, n in enumerate(sizes):
        start = (x.type.shape[axis] - n) // 2
        x = part(x, axis, start, start + n)
    return x


def _ends(y: Any, mode: str, late: bool) -> list[tuple[int, int]]:
    """How many elements are added before and behind the first array, to slide `y` over it.

    late: with mode 'same' and an even size of `y`, the later of the two middles is taken.
    """
    if mode == "valid":
        return [(0, 0)] * y.type.ndim
    if mode == "full":
        return [(m - 1, m - 1) for m in y.type.shape]
    return [((m - 1) // 2, m // 2) if late else (m // 2, (m - 1) // 2) for m in y.type.shape]


def _summed(x: Any, y: Any, mode: str, precision: PrecisionLike, late: bool = False) -> Any:
    """The convolution of arrays of one dtype, as sums."""
    first, second = x.type.shape, y.type.shape
    if 0 in first or 0 in second:
        raise errors.value_error(f"got {x.type} and {y.type}, arrays with elements are required", fix="check them")
    if not first:
        return elementwise.multiply(x, y)
    if mode == "valid" and not _holds(first, second):
        x, y, first, second = y, x, second, first
    held = x.type.dtype
    out = conv_general_dilated(move.reshape(x, shape=(1, 1, *first)),
                               move.reshape(_flipped(y), shape=(1, 1, *second)), (1,) * len(first),
                               _ends(y, mode, late), precision=precision)
    return retype(move.reshape(out, shape=out.shape[2:]), held)


def _transformed(x: Any, y: Any, mode: str, axes: Sizes) -> Any:
    """The convolution of arrays of one dtype along `axes`, by Fourier transforms; the others broadcast."""
    first, second = x.type.shape, y.type.shape
    if mode == "valid" and not _holds(first, second):
        x, y, first, second = y, x, second, first
    held = x.type.dtype
    full = [n + m - 1 for n, m in zip(first, second)]
    sizes = [full[axis] for axis in axes]
    there, back = (fft.fftn, fft.ifftn) if dtypes.is_complex(held) else (fft.rfftn, fft.irfftn)
    wide = retype(x, held) if dtypes.to_real(held) != dtypes.bfloat16 and held != dtypes.float16 else None
    if wide is None:  # half precision is transformed as float32
        x, y = retype(x, dtypes.float32), retype(y, dtypes.float32)
    product = elementwise.multiply(there(x, sizes, axes), there(y, sizes, axes))
    out = retype(back(product, sizes, axes), held)
    kept = {"full": full, "same": first, "valid": [n - m + 1 for n, m in zip(first, second)]}[mode]
    return _middle(out, tuple([kept[axis] if axis in axes else n for axis, n in enumerate(out.type.shape)]))


def _along(axes: Any, ndim: int) -> Sizes:
    return tuple(range(ndim)) if axes is None else errors.check_axes(as_shape(axes, "axes"), ndim)


def _convolved(x: Any, y: Any, mode: str, method: str, precision: PrecisionLike) -> Any:
    _check_mode(mode)
    if method not in ("auto", "direct", "fft"):
        raise errors.value_error(f"method is {method!r}, 'auto', 'direct' or 'fft' is required",
                                 fix="check the spelling")
    if method == "fft" and x.type.ndim:
        return _transformed(x, y, mode, tuple(range(x.type.ndim)))
    return _summed(x, y, mode, precision)


# -- convolution --------------------------------------------------------------------------------------

def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None) -> Array:
    """The convolution along axes, by Fourier transforms.

    Args:
      in1, in2: number[...], with equally many axes.
      mode: 'full': the whole convolution; 'same': the middle of it, in the shape of in1; 'valid': the elements in
        which the smaller array takes part as a whole.
      axes: None: all; along the others, sizes are equal or 1.

    Raises:
      ValueError: for another mode, another number of axes, or sizes that do not fit.

    Example:
      >>> scipy.signal.fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round(4)
      Array([1., 3., 2.], dtype=float32)
    """
    _check_mode(mode)
    x, y = _pair(in1, in2)
    along = _along(axes, x.type.ndim)
    for axis, (n, m) in enumerate(zip(x.type.shape, y.type.shape)):
        if axis not in along and n != m and 1 not in (n, m):
            raise errors.value_error(f"got {x.type} and {y.type}, whose sizes along axis {axis} are neither equal nor "
                                     "1", fix="name the axis in `axes`, or broadcast one array")
    if not along:
        return elementwise.multiply(x, y)
    if 0 in x.type.shape or 0 in y.type.shape:
        raise errors.value_error(f"got {x.type} and {y.type}, arrays with elements are required", fix="check them")
    return _transformed(x, y, mode, along)  # type: ignore[no-any-return]


def convolve(in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
             ) -> Array:
    """The convolution: element k is the sum of in1[i] * in2[k - i].

    Args:
      in1, in2: number[...], with equally many axes.
      mode: 'full', 'same' or 'valid', see fftconvolve.
      method: 'direct' (or 'auto') for sums, 'fft' for Fourier transforms.
      precision: of the sums, see lax.Precision.

    Returns:
      float or complex[...]

    Raises:
      ValueError: for another mode or method, another number of axes, or sizes that do not fit.

    Example:
      >>> scipy.signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]), mode="same")
      Array([1., 3., 5.], dtype=float32)
    """
    return _convolved(*_pair(in1, in2), mode, method, precision)  # type: ignore[no-any-return]


def _surrounded(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any, late: bool) -> tuple[Any, str]:
    """`x` with what lies around it, and the mode in which to convolve it then."""
    if boundary not in _BOUNDARIES:
        raise errors.value_error(f"boundary is {boundary!r}, 'fill', 'wrap' or 'symm' is required",
                                 fix="check the spelling")
    if mode == "valid" or boundary == "fill" and not isinstance(fillvalue, Array) and fillvalue == 0:
        return x, mode
    ends = _ends(y, mode, late)
    if boundary == "fill":
        return pad(x, ends, "constant", constant_values=fillvalue), "valid"
    return pad(x, ends, _BOUNDARIES[boundary]), "valid"


def convolve2d(in1: Array, in2: Array, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
               precision: PrecisionLike = None) -> Array:
    """The convolution of matrices.

    Args:
      in1, in2: number[m, n]
      mode: 'full', 'same' or 'valid', see fftconvolve.
      boundary: what lies around in1: 'fill' (fillvalue), 'wrap' (in1 again), 'symm' (its mirror images).

    Raises:
      ValueError: for another mode or boundary, arrays that are no matrices, or sizes that do not fit.

    Example:
      >>> scipy.signal.convolve2d(jnp.ones((2, 2)), jnp.ones((2, 2)))
      Array([[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]], dtype=float32)
    """
    _check_mode(mode)
    x, y = _matrices(in1, in2)
    if mode == "valid" and not _holds(x.type.shape, y.type.shape):
        x, y = y, x
    x, mode = _surrounded(x, y, mode, boundary, fillvalue, False)
    return _summed(x, y, mode, precision)  # type: ignore[no-any-return]


def _matrices(in1: Any, in2: Any) -> tuple[Any, Any]:
    x, y = _pair(in1, in2)
    if x.type.ndim != 2:
        raise errors.value_error(f"got {x.type} and {y.type}, matrices are required", fix="use convolve or correlate")
    return x, y


# -- correlation --------------------------------------------------------------------------------------

def correlate(in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: PrecisionLike = None
              ) -> Array:
    """The correlation: the convolution of in1 with in2 backwards, and conjugated if complex.

    Args and errors as for convolve.

    Example:
      >>> scipy.signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
      Array([1., 2., 3., 0.], dtype=float32)
    """
    x, y = _pair(in1, in2)
    return _convolved(x, elementwise.conj(_flipped(y)), mode, method, precision)  # type: ignore[no-any-return]


def correlate2d(in1: Array, in2: Array, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
                precision: PrecisionLike = None) -> Array:
    """The correlation of matrices: the convolution of in1 with in2 backwards, and conjugated if complex.

    Args and errors as for convolve2d; but with mode 'same' and an even size of in2, the later middle is taken.

    Example:
      >>> scipy.signal.correlate2d(jnp.array([[1.0, 2.0]]), jnp.array([[0.0, 1.0]]))
      Array([[1., 2., 0.]], dtype=float32)
    """
    _check_mode(mode)
    x, y = _matrices(in1, in2)
    y = elementwise.conj(_flipped(y))
    if mode == "valid" and not _holds(x.type.shape, y.type.shape):
        return _summed(y, x, mode, precision)  # type: ignore[no-any-return]
    x, mode = _surrounded(x, y, mode, boundary, fillvalue, True)
    return _summed(x, y, mode, precision, True)  # type: ignore[no-any-return]
