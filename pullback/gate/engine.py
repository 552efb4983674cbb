"""What the gate asks of an engine, and how one is loaded.

The gate keeps leaves as NumPy values (`values.Leaf`); a function under test takes and returns values of its engine.
`call` is the border between the two.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from pullback.gate.errors import UsageError

__all__ = ["ENGINES", "Engine", "LeafType", "ProgramText", "load"]

ENGINES = ("pullback", "jax")

Function = Callable[..., Any]


class LeafType(NamedTuple):
    """Shape, dtype and weakness of a leaf."""

    shape: tuple[int, ...]
    dtype: str
    weak: bool

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]{' (weak)' if self.weak else ''}"


class ProgramText(NamedTuple):
    """A traced program as text, with the arrays it closes over."""

    text: str
    constants: list[Any]


class Engine(Protocol):
    """An array library with jax's transformations, seen from outside."""

    name: str
    folders: tuple[str, ...]  # frames of files below these are the engine's, not the user's
    array: type  # of a concrete array
    reader: Any  # of its programs, see `operations.Reader`
    compilations: Callable[[], int]  # how many programs have been compiled in this process

    def environment(self) -> dict[str, Any]:
        """Versions, devices and settings."""
        ...

    def setting(self, name: str) -> Any:
        """A setting by its name ("jax_enable_x64"); None if there is none of the name."""
        ...

    def settings(self) -> dict[str, Any]:
        """The settings that can change numbers."""
        ...

    def set(self, name: str, value: Any) -> None:
        """Changes a setting."""
        ...

    def module(self, name: str) -> ModuleType | None:
        """A public module by its name under the package ("" for the package), or None."""
        ...

    def from_numpy(self, leaf: Any) -> Any:
        """A NumPy value, or nested lists of them, as values of the engine."""
        ...

    def to_numpy(self, leaf: Any) -> Any:
        """A value of the engine, or nested lists of them, as NumPy values."""
        ...

    def dtype(self, name: str) -> Any:
        """A NumPy dtype by its name, bfloat16 among them."""
        ...

    def flatten(self, tree: Any) -> tuple[list[Any], list[str], Any]:
        """Leaves (values of the engine), their paths ("layers/0/w"), and the structure."""
        ...

    def unflatten(self, structure: Any, leaves: Sequence[Any]) -> Any:
        """The tree again."""
        ...

    def is_traced(self, x: Any) -> bool:
        """Whether x is an array that stands for a value in a transformation."""
        ...

    @property
    def compiles(self) -> bool:
        """Whether `jit` does compile."""
        ...

    def as_written(self) -> Engine:
        """The same engine, whose `jit` gives the function itself."""
        ...

    def call(self, function: Function, *args: Any) -> Any:
        """function(*args) with NumPy values in and out."""
        ...

    def jit(self, function: Function) -> Function: ...

    def vmap(self, function: Function, in_axes: Any) -> Function: ...

    def value_and_grad(self, function: Function) -> Function:
        """The value, and the gradient by the first argument."""
        ...

    def jvp(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]: ...

    def weighted(self, outputs: Sequence[Any], weights: Sequence[Any]) -> Any:
        """The real part of sum(weight * output) over all float leaves."""
        ...

    def types(self, function: Function, *args: Any) -> list[LeafType]:
        """The types of the leaves of function(*args), without computing it."""
        ...

    def type_of(self, leaf: Any) -> LeafType:
        """The type of a value of the engine."""
        ...

    def program(self, function: Function, *args: Any) -> ProgramText:
        """The program that function(*args) traces to."""
        ...

    def wide(self) -> AbstractContextManager[Any]:
        """Inside, float64 arrays keep their precision."""
        ...

    def eager(self) -> AbstractContextManager[Any]:
        """Inside, jitted functions run operation by operation."""
        ...

    def trapping(self, infinities: bool = True) -> AbstractContextManager[Any]:
        """Inside, an operation that makes a NaN, or an infinity, raises FloatingPointError."""
        ...

    def forget(self) -> None:
        """Drops every traced and compiled program."""
        ...

    def keys(self, seed: int, count: int, like: Any = None) -> list[Any]:
        """`count` different keys, as NumPy values; of the kind of the key `like`, if given."""
        ...

    def key_words(self, key: Any) -> Any:
        """The words of a typed or raw key, an engine value u32[..., n]."""
        ...

    def callback(self, function: Callable[[Any], None], x: Any) -> None:
        """Calls function with the value of x, whatever transformation x is in."""
        ...

    def settle(self) -> None:
        """Waits until all callbacks have happened."""
        ...


def load(name: str, serve: bool = False) -> Engine:
    """The engine of that name; only now is the library imported.

    Args:
      name: "pullback" or "jax".
      serve: with pullback, serve the `import jax` of files loaded later from pullback.

    Raises:
      UsageError: there is no such engine, or it is not installed.
    """
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}",
                         "choose one of them with --engine")
    try:
        adapter = importlib.import_module(f"pullback.gate.engines.{name}")
        found: Engine = adapter.engine(serve)
    except (ImportError, RuntimeError) as error:
        raise UsageError(f"the engine {name} cannot be loaded: {error}",
                         f"install it (pip install {name}), or choose another with --engine") from error
    return found
