"""Indices out of bounds as errors, where the setting check_bounds asks for it.

Known positions are checked at once, others when the program runs, by a call back into Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import config, errors, source
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.numpy.positions import NEW, Known, Many, Traced, parse
from pullback.ops.host import callback
from pullback.ops.index import PROMISE, GatherScatterMode


def _report(number: int, n: int, axis: int, x: ArrayType, op: str, at: source.Source | None) -> IndexError:
    return errors.make(
        IndexError, f"index {number} is out of bounds for axis {axis} of {x}, which has size {n}; it must be from "
        f"{-n} to {n - 1}", op=op, at=at, fix="correct the index, or say with mode='clip', 'fill' or 'drop' what is "
        "meant outside")


def check_positions(positions: Any, n: int, axis: int, x: ArrayType, op: str, wrapped: bool) -> None:
    """An IndexError, now or when the program runs, unless positions along an axis of `x` are in bounds.

    Args:
      positions: int[...]
      n, axis: the axis, of size n, that they are positions along.
      wrapped: whether n has been added to negative ones already.
    """
    at = source.here()

    def check(numbers: np.ndarray) -> list[np.ndarray]:
        low = 0 if wrapped else -n
        outside = np.asarray(numbers)[(numbers < low) | (numbers >= n)]
        if outside.size:
            first = int(outside.flat[0])
            raise _report(first - n if wrapped and first < 0 else first, n, axis, x, op, at)
        return []

    if isinstance(positions, (int, np.ndarray)):
        check(np.asarray(positions))
    else:
        bind(callback, [positions], {"function": check, "types": (), "effect": "unordered", "vmap_method": None})


def check_index(x: ArrayType, index: Any, mode: Any, wrap: bool, op: str = "indexing") -> None:
    """`check_positions` for all that an index names, if the setting asks for it and `mode` names no way out."""
    if not config.check_bounds.value or mode is not None and GatherScatterMode.from_any(mode) is not PROMISE:
        return
    axis = 0
    for item in parse(x, index, wrap).items:
        if item is NEW:
            continue
        if isinstance(item, (Known, Traced, Many)):
            check_positions(item.at, item.n, axis, x, op, wrap)
        axis += 1


def check_along(x: ArrayType, places: Any, axis: int, mode: Any, op: str) -> None:
    """`check_positions` for positions along one axis, likewise."""
    if config.check_bounds.value and (mode is None or GatherScatterMode.from_any(mode) is PROMISE):
        check_positions(places, x.shape[axis], axis, x, op, False)
