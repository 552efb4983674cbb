"""Where arrays lie: pictures and reports of their sharding, which here is always one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.api.flat import check_callable
from pullback.core import errors
from pullback.core.array import Array
from pullback.core.trace import concrete
from pullback.runtime.device import devices
from pullback.runtime.sharding import SingleDeviceSharding

__all__ = ["inspect_array_sharding", "visualize_array_sharding", "visualize_sharding"]


def _sharding_of(x: Any, op: str) -> Any:
    if not isinstance(x, Array):
        raise errors.type_error(f"got a {type(x).__name__}, an Array is required", op=op,
                                fix="put it on a device first: jnp.asarray(x)")
    known = concrete(x)
    return SingleDeviceSharding(devices()[0]) if known is None else known.sharding


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Calls a function with the sharding of an array; inside a traced function, once, while it is traced.

    Args:
      value: an Array.
      callback: takes the sharding.

    Raises:
      TypeError: `value` is no Array.

    Example:
      >>> inspect_array_sharding(jnp.ones(3), callback=lambda sharding: print(len(sharding.device_set)))
      1
    """
    check_callable(callback, "inspect_array_sharding")
    callback(_sharding_of(value, "inspect_array_sharding"))


def visualize_sharding(shape: Sequence[int], sharding: Any, *, use_color: bool = True, scale: float = 1.0,
                       min_width: int = 9, max_width: int = 80, color_map: Any = None) -> None:
    """Prints a box for an array of one or two dimensions, with the device that holds it.

    Args:
      shape: of the array.
      sharding: over one device.
      scale: of the box; at 1 it is 10 lines high, and as wide as the shape is in proportion.
      min_width, max_width: of the box, in characters.
      use_color, color_map: accepted; one device needs no colours to be told from others.

    Raises:
      ValueError: the shape has another number of dimensions, or an axis of size 0. TypeError: no sharding.

    Example:
      >>> visualize_sharding((8,), jnp.ones(8).sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    op = "visualize_sharding"
    if len(shape) not in (1, 2) or 0 in shape:
        raise errors.value_error(f"the shape is {tuple(shape)}, one or two axes with elements are required", op=op,
                                 fix="reshape the array, or index a part of it")
    held_by = getattr(sharding, "device_set", ())
    if len(held_by) != 1:
        raise errors.type_error(f"the sharding is {sharding!r:.60}, one over a single device is required", op=op,
                                fix="pass x.sharding of an array")
    device = next(iter(held_by))
    label = f"{device.platform.upper()} {device.id}"
    rows, columns = shape if len(shape) == 2 else (shape[0], 1)
    height = int(10 * scale)
    width = min(max(int(2.5 * int(height * columns / rows)), min_width), max_width) - 2
    around = max(height - 2, 0) if len(shape) == 2 else 0
    blank = ["│" + " " * width + "│"]
    left = max(width - len(label), 0) // 2
    print("\n".join(["┌" + "─" * width + "┐", *blank * (around // 2),
                     "│" + (" " * left + label).ljust(width) + "│", *blank * (around - around // 2),
                     "└" + "─" * width + "┘"]))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """`visualize_sharding` of an array; inside a traced function, once, while it is traced.

    Args:
      arr: an Array of one or two dimensions.
      **kwargs: as of `visualize_sharding`.
    """
    visualize_sharding(arr.shape, _sharding_of(arr, "visualize_array_sharding"), **kwargs)
