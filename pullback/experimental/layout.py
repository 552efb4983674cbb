"""The order in which an array's numbers lie in memory (jax.experimental.layout): row-major here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback.core import errors, tree
from pullback.core.trace import type_of
from pullback.runtime.device import as_array

__all__ = ["Format", "Layout", "with_layout_constraint"]


class Layout(NamedTuple):
    """An order of axes in memory.

    Args:
      major_to_minor: the axes, the slowest first.
      tiling: None.
      sub_byte_element_size_in_bits: 0.
    """

    major_to_minor: tuple[int, ...]
    tiling: Any = None
    sub_byte_element_size_in_bits: int = 0


class Format(NamedTuple):
    """A layout and a sharding; None where any will do."""

    layout: Any = None
    sharding: Any = None


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """The arrays as they are, which is row-major.

    Args:
      x: an array or a tree of them.
      layouts: a Layout for each, as a prefix of the tree.

    Raises:
      ValueError: a Layout asks for another order.

    Example:
      >>> from pullback.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(jnp.ones((2, 3)), Layout((0, 1))).shape
      (2, 3)
    """
    wanted = tree.broadcast_prefix(layouts, x, is_leaf=lambda one: isinstance(one, Layout))
    for leaf, layout in zip(tree.leaves(x), wanted, strict=True):
        _check(layout, type_of(as_array(leaf)).ndim)
    return x


def _check(layout: Layout, ndim: int) -> None:
    order: Sequence[int] = tuple(layout.major_to_minor)
    if order != tuple(range(ndim)) or layout.tiling or layout.sub_byte_element_size_in_bits:
        raise errors.value_error(f"{layout} is asked for of an array of {ndim} axes; pullback's lie in row-major order",
                                 op="with_layout_constraint", fix=f"use Layout({tuple(range(ndim))}), or transpose")
