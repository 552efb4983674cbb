"""One adapter for both engines: pullback has jax's public interface, and nothing else of either is used."""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from pullback.gate.engine import Function, LeafType, ProgramText
from pullback.gate.errors import UsageError
from pullback.gate.values import Key

_SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion", "jax_default_prng_impl",
             "jax_threefry_partitionable", "jax_numpy_rank_promotion", "jax_disable_jit", "jax_debug_nans")
# Addresses of Python objects are printed inside programs and differ from one trace to the next.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Adapter:
    """An engine by its module (`jax`, or `pullback` with the same names).

    Args:
      name: the name reports show.
      package: the module.
      packages: the packages whose frames are the engine's own.
    """

    def __init__(self, name: str, package: ModuleType, packages: Sequence[str]) -> None:
        self.name = name
        self.package: Any = package
        self.numpy, self.random, self.lax, self.tree = (
            importlib.import_module(f"{package.__name__}.{part}") for part in ("numpy", "random", "lax", "tree_util"))
        found = [importlib.util.find_spec(part) for part in packages]
        self.folders = tuple(os.path.dirname(spec.origin) + os.sep for spec in found if spec and spec.origin)
        self._jit = package.jit  # a watch replaces it for the user
        self.array = type(self.numpy.zeros(()))
        self.reader: Any = None  # of programs; each engine has its own
        self.compilations: Callable[[], int] = lambda: 0

    def module(self, name: str) -> ModuleType | None:
        full = f"{self.package.__name__}.{name}".rstrip(".")
        try:
            return importlib.import_module(full)
        except ImportError:
            return None

    def environment(self) -> dict[str, Any]:
        versions: dict[str, str | None] = {}
        for part in ("jax", "jaxlib", "pullback", "numpy", "ml_dtypes"):
            try:
                versions[part] = importlib.metadata.version(part)
            except importlib.metadata.PackageNotFoundError:
                versions[part] = None
        versions[self.name] = self.package.__version__
        return {"engine": self.name, "versions": versions, "settings": self.settings(),
                "devices": [f"{device.platform}: {device.device_kind}" for device in self.package.devices()]}

    def setting(self, name: str) -> Any:
        found = getattr(self.package.config, name, None)
        return getattr(found, "value", found)  # some are enumerations

    def settings(self) -> dict[str, Any]:
        return {name: self.setting(name) for name in _SETTINGS}

    def set(self, name: str, value: Any) -> None:
        self.package.config.update(name, value)

    # -- values ----------------------------------------------------------------------------------

    def _is_key(self, x: Any) -> bool:
        dtype = getattr(x, "dtype", None)
        return dtype is not None and bool(self.numpy.issubdtype(dtype, self.package.dtypes.prng_key))

    def from_numpy(self, leaf: Any) -> Any:
        if isinstance(leaf, (list, tuple)):
            return [self.from_numpy(x) for x in leaf]
        if isinstance(leaf, Key):
            return self.random.wrap_key_data(self.numpy.asarray(leaf.words), impl=leaf.kind)
        if leaf is None or isinstance(leaf, (bool, int, float, complex)):
            return leaf
        return self.numpy.asarray(leaf)

    def to_numpy(self, leaf: Any) -> Any:
        if isinstance(leaf, (list, tuple)):
            return [self.to_numpy(x) for x in leaf]
        if leaf is None or isinstance(leaf, (bool, int, float, complex)):
            return leaf
        if self._is_key(leaf):
            return Key(np.array(self.random.key_data(leaf)), self.random.key_impl(leaf))
        if hasattr(leaf, "dtype") or isinstance(leaf, np.generic):
            return np.array(leaf)
        raise UsageError(f"a leaf is {type(leaf).__name__}: {leaf!r:.60}; arrays and numbers are required",
                         "take what is no number out of the tree, or close over it")

    def dtype(self, name: str) -> Any:
        return np.dtype(getattr(self.numpy, name))

    def flatten(self, tree: Any) -> tuple[list[Any], list[str], Any]:
        pairs, structure = self.tree.tree_flatten_with_path(tree)
        return [leaf for _, leaf in pairs], ["/".join(map(_entry, path)) for path, _ in pairs], structure

    def unflatten(self, structure: Any, leaves: Sequence[Any]) -> Any:
        return self.tree.tree_unflatten(structure, leaves)

    def is_traced(self, x: Any) -> bool:
        if not isinstance(x, self.package.Array):
            return False
        if self._is_key(x):
            x = self.random.key_data(x)
        return type(x) is not self.array

    # -- transformations -------------------------------------------------------------------------

    @property
    def compiles(self) -> bool:
        return self._jit is not _as_written and not self.setting("jax_disable_jit")

    def as_written(self) -> Adapter:
        other = copy.copy(self)
        other._jit = _as_written
        return other

    def call(self, function: Function, *args: Any) -> Any:
        return self.to_numpy(function(*(self.from_numpy(x) for x in args)))

    def jit(self, function: Function) -> Function:
        compiled: Function = self._jit(function)
        return compiled

    def vmap(self, function: Function, in_axes: Any) -> Function:
        mapped: Function = self.package.vmap(function, in_axes=in_axes)
        return mapped

    def value_and_grad(self, function: Function) -> Function:
        gradient: Function = self.package.value_and_grad(function)
        return gradient

    def jvp(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        value, value_dot = self.package.jvp(function, tuple(primals), tuple(tangents))
        return value, value_dot

    def weighted(self, outputs: Sequence[Any], weights: Sequence[Any]) -> Any:
        total: Any = 0.0
        for x, weight in zip(outputs, weights, strict=True):
            if weight is not None:
                total = total + self.numpy.real(self.numpy.sum(x * self.numpy.asarray(weight).astype(x.dtype)))
        return total

    # -- looking -----------------------------------------------------------------------------------

    def type_of(self, leaf: Any) -> LeafType:
        if isinstance(leaf, (bool, int, float, complex)):
            return LeafType((), type(leaf).__name__, True)
        return LeafType(tuple(leaf.shape), str(leaf.dtype), bool(getattr(leaf, "weak_type", False)))

    def types(self, function: Function, *args: Any) -> list[LeafType]:
        shapes = self.package.eval_shape(function, *(self.from_numpy(x) for x in args))
        return [self.type_of(leaf) for leaf in self.tree.tree_leaves(shapes)]

    def program(self, function: Function, *args: Any) -> ProgramText:
        closed = self.package.make_jaxpr(function)(*(self.from_numpy(x) for x in args))
        return ProgramText(_ADDRESS.sub("0x", str(closed)), [self.to_numpy(x) for x in closed.consts])

    # -- settings ------------------------------------------------------------------------------------

    def wide(self) -> AbstractContextManager[Any]:
        held: AbstractContextManager[Any] = self.package.enable_x64(True)
        return held

    def eager(self) -> AbstractContextManager[Any]:
        held: AbstractContextManager[Any] = self.package.disable_jit()
        return held

    @contextmanager
    def trapping(self, infinities: bool = True) -> Iterator[None]:
        with self.package.debug_nans(True), self.package.debug_infs(infinities):
            yield

    def forget(self) -> None:
        self.package.clear_caches()

    # -- keys ----------------------------------------------------------------------------------------

    def keys(self, seed: int, count: int, like: Any = None) -> list[Any]:
        parent = self.random.key(seed) if like is None else self.random.fold_in(self.from_numpy(like), seed)
        children = self.random.split(parent, count)
        return [self.to_numpy(children[i]) for i in range(count)]

    def key_words(self, key: Any) -> Any:
        return self.random.key_data(key) if self._is_key(key) else key

    def callback(self, function: Callable[[Any], None], x: Any) -> None:
        self.package.debug.callback(function, x)

    def settle(self) -> None:
        self.package.effects_barrier()


def _as_written(function: Function) -> Function:
    return function


def _entry(entry: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(entry, name):
            return str(getattr(entry, name))
    return str(entry)


