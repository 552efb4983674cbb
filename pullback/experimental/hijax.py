"""Classes that types and operations above arrays derive from in jax (jax.experimental.hijax).

Libraries define such types beside what they use: their definitions load here. Calling an operation made so is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors
from pullback.core.types import ArrayType as AbstractValue
from pullback.experimental import MutableArray as AbstractRef
from pullback.extend.primitive import ShapedArray
from pullback.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal

__all__ = ["AbstractRef", "AbstractValue", "HiPrim", "HiType", "ShapedArray", "Zero", "aval_method", "aval_property",
           "instantiate_zeros", "is_undefined_primal", "register_hitype"]


class HiType:
    """The base of types above arrays. Nothing here takes a value of one."""


class HiPrim:
    """The base of operations on such types."""

    def __call__(self, *args: Any) -> Any:
        raise errors.make(errors.UnsupportedError, f"{type(self).__name__} is an operation on types above arrays "
                          "(jax.experimental.hijax), which pullback does not support", op="",
                          fix="pass the arrays inside as a pytree")


class aval_method:  # noqa: N801  # jax's name
    """A method that tracers of a type are to have."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class aval_property:  # noqa: N801  # jax's name
    """A property that tracers of a type are to have."""

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget


def register_hitype(val_cls: type, typeof_fn: Callable[..., Any]) -> None:
    """Would say how the type of a value is found; nothing asks, as no operation takes a value of such a type."""


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"jax.experimental.hijax.{name}")
