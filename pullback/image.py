"""Images resampled: resize, scale_and_translate."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.lax.contract import Precision, PrecisionLike, dot_general
from pullback.lax.operand import retype
from pullback.numpy import elementwise, logic, reductions
from pullback.numpy.arguments import array, rearranged
from pullback.numpy.floats import sinc
from pullback.numpy.promotion import promoted_inexact
from pullback.numpy.shape import moveaxis
from pullback.ops import move
from pullback.ops.move import as_shape

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.image.{name}")


class ResizeMethod(enum.Enum):
    """How an element of the result is made of those of the image near it.

    NEAREST takes the nearest, LINEAR weighs with a triangle, CUBIC with the cubic of Keys, LANCZOS3 and LANCZOS5 with
    windowed sinc functions of that radius, AREA with the part of each element that lies in the place of the result.
    CUBIC_PYTORCH is CUBIC with antialias; without, a steeper cubic (a = -3/4) of an image with repeated edges.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name. Raises ValueError for another word."""
        method = _NAMES.get(s)
        if method is None:
            raise errors.value_error(f"method is {s!r}, one of {', '.join(_NAMES)} is required",
                                     fix="check the spelling")
        return method


_NAMES = {"nearest": ResizeMethod.NEAREST,
          **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
          "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
          **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
          **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH), "area": ResizeMethod.AREA}


# -- kernels, of distances at least 0 -----------------------------------------------------------------

def _triangle(x: Any) -> Any:
    return elementwise.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Any], Any]:
    # Keys, Cubic convolution interpolation for digital image processing (1981); there a = -1/2.
    def kernel(x: Any) -> Any:
        near = (((a + 2) * x - (a + 3)) * x) * x + 1.0
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return logic.where(x >= 2.0, 0.0, logic.where(x >= 1.0, far, near))
    return kernel


def _lanczos(radius: float) -> Callable[[Any], Any]:
    # Duchon, Lanczos filtering in one and two dimensions (1979).
    def kernel(x: Any) -> Any:
        return logic.where(x > radius, 0.0, sinc(x) * sinc(x / radius))
    return kernel


_KERNELS = {ResizeMethod.LINEAR: _triangle, ResizeMethod.CUBIC: _cubic(-0.5), ResizeMethod.LANCZOS3: _lanczos(3.0),
            ResizeMethod.LANCZOS5: _lanczos(5.0), ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5)}


def _method(given: Any) -> ResizeMethod:
    if isinstance(given, ResizeMethod):
        return given
    if not isinstance(given, str):
        raise errors.value_error(f"method is {given!r}, a ResizeMethod or its name is required",
                                 fix="pass 'linear' or another name")
    return ResizeMethod.from_string(given)


def _weights(n: int, size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool, dtype: Any) -> Any:
    """What each of `n` elements counts for in each of `size` results.

    A result at j lies at (j + 1/2 - translation) / scale - 1/2 among the elements. Where the image shrinks, the
    kernel is as many times wider. Weights sum to 1, and are 0 for a result outside the image (but see CUBIC_PYTORCH).
    """
    inverse = 1.0 / scale
    places = (array(np.arange(size, dtype=dtype)) + 0.5) * inverse - translation * inverse - 0.5
    elements = array(np.arange(n, dtype=dtype))[:, None]
    if method is ResizeMethod.AREA:
        half = elementwise.abs(array(inverse)) / 2
        low = elementwise.maximum(elements - 0.5, (places - half)[None, :])
        weights = elementwise.maximum(elementwise.minimum(elements + 0.5, (places + half)[None, :]) - low, 0)
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        # Both ends are repeated as far as the kernel reaches.
        around = np.arange(-2, n + 2, dtype=dtype)
        fold = np.clip(around, 0, n - 1)[None, :] == np.arange(n)[:, None]
        weights = _cubic(-0.75)(elementwise.abs(places[None, :] - array(around)[:, None]))
        weights = dot_general(array(fold.astype(dtype)), weights, (((1,), (0,)), ((), ())), Precision.HIGHEST)
    else:
        width = elementwise.maximum(inverse, 1.0) if antialias else 1.0
        weights = _KERNELS[method](elementwise.abs(places[None, :] - elements) / width)
    total = reductions.sum(weights, axis=0, keepdims=True)
    small = elementwise.abs(total) <= 1000.0 * float(np.finfo(np.float32).eps)
    weights = logic.where(small, 0, weights / logic.where(total == 0, 1, total))
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return weights
    inside = logic.logical_and(places >= -0.5, places <= n - 0.5)
    return logic.where(inside[None, :], weights, 0)


def _resampled(x: Any, sizes: Sequence[int], axes: Sequence[int], scales: Any, translations: Any,
               method: ResizeMethod, antialias: bool, precision: Any) -> Any:
    held = dtypes.to_real(x.type.dtype)
    weighing = np.float64 if held == dtypes.float64 else np.float32
    for i, axis in enumerate(axes):
        weights = _weights(x.type.shape[axis], sizes[axis], scales[i], translations[i], method, antialias,
                           weighing)
        x = dot_general(x, retype(weights, x.type.dtype), (((axis,), (0,)), ((), ())), precision)
        x = moveaxis(x, -1, axis)
    return x


def _sizes(given: Any, x: Any) -> tuple[int, ...]:
    sizes = as_shape(given)
    if len(sizes) != x.type.ndim or any([n < 0 for n in sizes]):
        raise errors.value_error(f"shape is {sizes}, {x.type.ndim} sizes of 0 or more are required for an image "
                                 f"{x.type}", fix="repeat the sizes of axes that stay as they are")
    return sizes


def resize(image: Any, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision: PrecisionLike = Precision.HIGHEST) -> Array:
    """An image in another size.

    Args:
      image: number[...]
      shape: the size of each axis of the result.
      method: a ResizeMethod or its name: 'nearest', 'linear', 'cubic', 'lanczos3', 'lanczos5'.
      antialias: whether to average over wider parts of an image that shrinks.
      precision: of the products, see lax.Precision.

    Returns:
      The image in that shape; integers become floats, but with 'nearest'.

    Raises:
      ValueError: for another word, or unless there is a size for each axis.

    Example:
      >>> image.resize(jnp.array([[0.0, 1.0]]), (1, 4), "linear")
      Array([[0.  , 0.25, 0.75, 1.  ]], dtype=float32)
    """
    x, how = array(image), _method(method)
    sizes = _sizes(shape, x)
    axes = [axis for axis, n in enumerate(sizes) if n != x.type.shape[axis]]
    if axes and 0 in [x.type.shape[axis] for axis in axes] and 0 not in sizes:
        raise errors.value_error(f"the image {x.type} has no elements to make {sizes} of", fix="check its shape")
    if how is ResizeMethod.NEAREST:
        for axis in axes:
            n, size = x.type.shape[axis], sizes[axis]
            places = np.floor((np.arange(size, dtype=np.float32) + 0.5) * np.float32(n / max(size, 1)))
            x = rearranged(x, places.astype(np.int64), axis)
        return x
    (x,) = promoted_inexact(x)
    scales = [sizes[axis] / x.type.shape[axis] if x.type.shape[axis] else 1.0 for axis in axes]
    if 0 in sizes:
        return move.broadcast_in_dim(x.type.dtype.type(0), shape=sizes, dims=())
    return _resampled(x, sizes, axes, scales, [0.0] * len(axes), how, antialias, precision)


def scale_and_translate(image: Any, shape: Sequence[int], spatial_dims: Sequence[int], scale: Any, translation: Any,
                        method: str | ResizeMethod, antialias: bool = True,
                        precision: PrecisionLike = Precision.HIGHEST) -> Array:
    """An image scaled and moved: the point x of it is at scale * x + translation in the result.

    Points are counted in elements, which have their middle at 1/2.

    Args:
      image: number[...]
      shape: the size of each axis of the result; of the axes that are not spatial as it is.
      spatial_dims: the axes to scale.
      scale, translation: float[k]: of each of these axes; they may be traced.
      method: 'linear', 'cubic', 'lanczos3' or 'lanczos5'.
      antialias: whether to average over wider parts of an image that shrinks.

    Returns:
      The image in that shape; 0 where it does not reach.

    Raises:
      ValueError: for another method, or if numbers of sizes do not fit.

    Differentiable in the image, the scale and the translation (almost everywhere).

    Example:
      >>> image.scale_and_translate(jnp.array([1.0, 2.0]), (3,), (0,), jnp.array([1.0]), jnp.array([1.0]), "linear")
      Array([0., 1., 2.], dtype=float32)
    """
    x, how = array(image), _method(method)
    sizes = _sizes(shape, x)
    axes = errors.check_axes(tuple(spatial_dims), x.type.ndim)
    if how is ResizeMethod.NEAREST:
        raise errors.value_error("method is NEAREST, which has no weights", fix="pass 'linear' or another method")
    scales, translations = array(scale), array(translation)
    for what, v in (("scale", scales), ("translation", translations)):
        if v.type.shape != (len(axes),):
            raise errors.value_error(f"{what} is {v.type}, one number for each of {len(axes)} axes is required",
                                     fix="give an array of one axis")
    for axis, n in enumerate(sizes):
        if axis not in axes and n != x.type.shape[axis]:
            raise errors.value_error(f"axis {axis} of {x.type} is not scaled, but shape says {n}",
                                     fix="name it in spatial_dims, or repeat its size")
    (x,) = promoted_inexact(x)
    scales, translations = (promoted_inexact(v)[0] for v in (scales, translations))
    return _resampled(x, sizes, axes, scales, translations, how, antialias, precision)
