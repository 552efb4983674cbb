"""Contracts: the types that parameters, batches and outputs must have, written as trees of short strings.

    Contract(params={"w": "f32[d, classes]", "b": "f32[classes]"},
             batch={"x": "f32[n, d] in [0, 1]", "y": "i32[n] in [0, 9]"},
             outputs="f32[n, classes]")

A name stands for one size everywhere in the contract. `Contract.guard(function)` enforces it at every call.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.errors import ContractError, UsageError
from pullback.gate.signature import arguments_to_batch

__all__ = ["Contract", "Problem", "Spec", "parse", "split_specs", "widened"]

_SHORT = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64",
          "c128": "complex128", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8",
          "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool", "key": "key"}
_GROUPS = {"float": ("float16", "bfloat16", "float32", "float64"),
           "int": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "any": ()}
_FLOATS = _GROUPS["float"]
_SPEC = re.compile(r"\s*(?P<dtype>[a-z]+\d*)\s*(\[(?P<dims>[^\[\]]*)\])?\s*(in\s*(?P<range>[\[(].*?[\])]))?"
                   r"\s*(sum\s+(?P<total>[-+.\w]+))?\s*")
_RANGE = re.compile(r"([\[(])\s*([-+.\w]+)\s*,\s*([-+.\w]+)\s*([\])])")

# While the gate itself runs a guarded function in another precision, a float of any width will do.
_widened: ContextVar[bool] = ContextVar("widened", default=False)


@contextmanager
def widened() -> Iterator[None]:
    """Inside, contracts accept floats of any width."""
    token = _widened.set(True)
    try:
        yield
    finally:
        _widened.reset(token)


class Problem(NamedTuple):
    """One way in which a value breaks a contract."""

    leaf: str
    measured: str
    expected: str

    def __str__(self) -> str:
        return f"{self.leaf} is {self.measured}; {self.expected} is required"


class Spec(NamedTuple):
    """What one leaf must be: dtypes (none: any), dimensions (None: any shape), bounds of its values, and the sum along
    its last axis (None: any)."""

    text: str
    dtypes: tuple[str, ...]
    dims: tuple[int | str, ...] | None
    low: float
    high: float
    open_low: bool
    open_high: bool
    total: float | None = None

    @property
    def bounded(self) -> bool:
        return self.low > -np.inf or self.high < np.inf

    def problem(self, leaf: Any, path: str, sizes: dict[str, int], values: bool) -> Problem | None:
        """How the leaf breaks this spec, or None. New names are added to `sizes`."""
        shape, dtype = _shape(leaf), _dtype(leaf)
        if shape is None or dtype is None:
            return Problem(path, f"a {type(leaf).__name__}", self.text)
        shown = f"{dtype}[{','.join(map(str, shape))}]"
        ways = _FLOATS if _widened.get() and set(self.dtypes) & set(_FLOATS) else self.dtypes
        if ways and dtype not in ways:
            return Problem(path, shown, self.text)
        mismatch = self._shape_problem(shape, sizes)
        if mismatch:
            return Problem(path, shown, f"{self.text}{mismatch}")
        if values and (self.bounded or self.total is not None):
            return self.value_problem(leaf, path)
        return None

    def _shape_problem(self, shape: tuple[int, ...], sizes: dict[str, int]) -> str:
        if self.dims is None:
            return ""
        dims = self.dims
        if dims and dims[0] == "...":
            dims = dims[1:]
            shape = shape[len(shape) - len(dims):] if len(shape) >= len(dims) else shape
        if len(dims) != len(shape):
            return " "
        for dim, size in zip(dims, shape, strict=True):
            if isinstance(dim, int):
                if size != dim:
                    return " "
            elif dim != "_" and (size < 1 or sizes.setdefault(dim, size) != size):
                return f" with {dim} = {sizes[dim]}" if dim in sizes and size >= 1 else f" with {dim} at least 1"
        return ""

    def value_problem(self, leaf: Any, path: str) -> Problem | None:
        """How the values of a leaf break the bounds or the sum; None if they are not known, inside jit for instance."""
        x = _known(leaf)
        if x is None:
            return None
        with np.errstate(invalid="ignore"):
            low = x > self.low if self.open_low else x >= self.low
            high = x < self.high if self.open_high else x <= self.high
        bad = ~(low & high) if self.bounded else np.zeros(x.shape, bool)
        if not bad.any() and self.total is not None and x.ndim:
            x = x.sum(-1)
            loose = 2e-2 if _dtype(leaf) in ("float16", "bfloat16") else 1e-4
            bad, path = ~(np.abs(x - self.total) <= loose * max(abs(self.total), 1.0)), f"the sum of {path}"
        if not bad.any():
            return None
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        return Problem(path, f"{x[index]:.6g} at {list(index)}", self.text)


def _known(leaf: Any) -> np.ndarray | None:
    """The values of a leaf in double precision; None where it is traced, complex or empty."""
    try:
        x = np.asarray(leaf)
    except Exception:  # a traced value, of which there is only the type
        return None
    return None if x.dtype.kind == "c" or not x.size else x.astype(np.float64)


def _shape(leaf: Any) -> tuple[int, ...] | None:
    if isinstance(leaf, (bool, int, float, complex)):
        return ()
    shape = getattr(leaf, "shape", None)
    return None if shape is None else tuple(shape)


def _dtype(leaf: Any) -> str | None:
    if isinstance(leaf, (bool, int, float, complex)):
        return {bool: "bool", int: "int32", float: "float32", complex: "complex64"}.get(type(leaf), "float32")
    dtype = getattr(leaf, "dtype", None)
    if dtype is None:
        return "key" if type(leaf).__name__ == "Key" else None
    return "key" if str(dtype).startswith("key<") else str(dtype)


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Spec:
    """A spec from its text: "f32[n, 8] in [0, 1]".

    Raises:
      UsageError: the text is no spec.
    """
    found = _SPEC.fullmatch(text)
    wrong = UsageError(f"{text!r} is no spec of a leaf",
                       'write dtype[dims] with, if you like, a range: "f32[n, 8] in [0, 1]"; dtypes are '
                       f"{', '.join([*_SHORT, *_GROUPS])}; a dim is a size, a name, _ or a leading ...")
    if found is None:
        raise wrong
    dtype = found["dtype"]
    if dtype in _GROUPS:
        dtypes = _GROUPS[dtype]
    elif dtype in _SHORT or dtype in _SHORT.values():
        dtypes = (_SHORT.get(dtype, dtype),)
    else:
        raise wrong
    dims: tuple[int | str, ...] | None = None
    if found["dims"] is not None:
        parts = [part.strip() for part in found["dims"].split(",")] if found["dims"].strip() else []
        if any(not re.fullmatch(r"\d+|\w+|\.\.\.", part) for part in parts) or "..." in parts[1:]:
            raise wrong
        dims = tuple(int(part) if part.isdigit() else part for part in parts)
    elif dtype == "key":
        dims = ()
    try:
        low, high, open_low, open_high = _bounds(found["range"])
        total = float(found["total"]) if found["total"] else None
    except ValueError:
        raise wrong from None
    return Spec(" ".join(text.split()), dtypes, dims, low, high, open_low, open_high, total)


def _bounds(text: str | None) -> tuple[float, float, bool, bool]:
    """The bounds of "[0, 1)", and which of them are left out; ValueError if it is no range."""
    if not text:
        return -np.inf, np.inf, False, False
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return float(found[2]), float(found[3]), found[1] == "(", found[4] == ")"


def split_specs(text: str) -> list[str]:
    """The specs of a list: "f32[8, 4], f32[8]" is two."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += character in "[("
        depth -= character in "])"
        if character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def walk(spec: Any, value: Any, path: str) -> Iterator[tuple[str, Spec, Any] | Problem]:
    """The leaves of a tree of specs with the values at their places; a Problem where the trees differ."""
    if spec is ...:
        return
    if isinstance(spec, str):
        yield path, parse(spec), value
    elif spec is None:
        if value is not None:
            yield Problem(path, f"a {type(value).__name__}", "None")
    elif isinstance(spec, Mapping):
        yield from _walk_names(spec, value, path)
    elif isinstance(spec, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(spec):
            shown = f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (list, tuple)) else "")
            yield Problem(path, shown, f"a {type(spec).__name__} of {len(spec)}")
            return
        for i, (below, x) in enumerate(zip(spec, value, strict=True)):
            yield from walk(below, x, f"{path}/{i}")
    else:
        raise UsageError(f"a contract has a {type(spec).__name__} at {path}",
                         "build contracts of dicts, lists, tuples, None, ... and strings")


def _walk_names(spec: Mapping[Any, Any], value: Any, path: str) -> Iterator[tuple[str, Spec, Any] | Problem]:
    names = value if isinstance(value, Mapping) else None
    if names is None and (isinstance(value, (str, list, tuple)) and not hasattr(value, "_fields")):
        yield Problem(path, f"a {type(value).__name__}", f"entries {sorted(map(str, spec))}")
        return
    if names is None:
        fields = getattr(value, "_fields", None) or getattr(value, "__dataclass_fields__", None) or ()
        names = {name: getattr(value, name) for name in [*spec, *fields] if hasattr(value, str(name))}
    for name in spec:
        if name not in names:
            yield Problem(f"{path}/{name}", "missing", f"an entry {name!r}")
        else:
            yield from walk(spec[name], names[name], f"{path}/{name}")
    for name in names:
        if name not in spec:
            yield Problem(f"{path}/{name}", "there", f"no entry {name!r}")


@dataclasses.dataclass(frozen=True)
class Contract:
    """The types that parameters, batch and outputs must have.

    Args:
      params, batch, outputs, loss: trees of specs with the structure of the values (a dict also describes a named
        tuple or a dataclass); `...` stands for any subtree, and not giving one leaves that part free.
      sizes: sizes of named dimensions that are fixed.
      features: the names along the last axis of a leaf, in order, and if you like the range of each:
        {"batch/x": ["age", "height"]} or {"batch/x": {"age": "[0, 120]", "height": "(0, 2.5]"}}.
    """

    params: Any = ...
    batch: Any = ...
    outputs: Any = ...
    loss: Any = ...
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    features: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, names in self.features.items():
            for name, text in names.items() if isinstance(names, Mapping) else ():
                try:
                    _bounds(text)
                except ValueError:
                    raise UsageError(f"Contract: {text!r}, of the feature {name!r} of {path}, is no range",
                                     'write a range: "[0, 1]"') from None

    def problems(self, values: bool = True, **parts: Any) -> list[Problem]:
        """Every way in which the given parts (params=, batch=, outputs=, loss=) break the contract.

        Args:
          values: look at ranges too, where a value is known (it is not inside jit).
        """
        sizes, found = dict(self.sizes), []
        for part, tree in parts.items():
            for item in walk(getattr(self, part), tree, part):
                if not isinstance(item, Problem):
                    path, spec, leaf = item
                    problem = spec.problem(leaf, path, sizes, values)
                    if problem is None:
                        found += self._feature_problems(leaf, path, values)
                        continue
                    item = problem
                found.append(item)
        return found

    def _feature_problems(self, leaf: Any, path: str, values: bool) -> Iterator[Problem]:
        names = self.features.get(path)
        if names is None:
            return
        shape = _shape(leaf) or ()
        if not shape or shape[-1] != len(names):
            yield Problem(path, f"of shape {list(shape)}", f"a last axis of the {len(names)} features {list(names)}")
            return
        x = _known(leaf) if values and isinstance(names, Mapping) else None
        for i, name in enumerate(names if x is not None else ()):
            assert x is not None
            problem = Spec(f"{names[name]}", (), None, *_bounds(names[name])).value_problem(x[..., i], f"{path}.{name}")
            if problem is not None:
                yield problem

    def ranges(self, path: str) -> Iterator[tuple[float, float]]:
        """The bounds of each feature of a leaf, if they are declared; open ones are drawn in a little."""
        names = self.features.get(path)
        for text in names.values() if isinstance(names, Mapping) else ():
            low, high, open_low, open_high = _bounds(text)
            margin = 1e-6 * (high - low) if np.isfinite(high - low) else 1e-6
            yield low + margin * open_low, high - margin * open_high

    def guard(self, function: Callable[..., Any], values: bool = True) -> Callable[..., Any]:
        """The function with the contract enforced on its arguments: `loss = contract.guard(loss)`.

        Types are checked also while the function is traced, where that costs nothing at run time; ranges only where
        values are known, that is outside jit, grad and vmap.

        Args:
          function: takes (params, *batch), and possibly a key.
          values: check ranges; it waits for the values.

        Raises:
          ContractError: from the guarded function, naming every leaf that breaks the contract.

        Example:
          >>> import numpy as np
          >>> contract = Contract(params="f32[d]", batch="f32[n, d]")
          >>> score = contract.guard(lambda params, x: x @ params)
          >>> score(np.ones(3, "float32"), np.ones((2, 3), "float32"))
          array([3., 3.], dtype=float32)
        """
        @functools.wraps(function)
        def guarded(params: Any, *args: Any, **kwargs: Any) -> Any:
            batch, subset = arguments_to_batch(function, self.batch, args, kwargs)
            contract = self if subset is None else dataclasses.replace(self, batch=subset)
            problems = contract.problems(values=values, params=params, batch=batch)
            if problems:
                raise ContractError(f"{getattr(function, '__name__', 'the function')}: " + "; ".join(map(str, problems))
                                    + "\n  fix: pass what the contract asks for, or change the contract",
                                    problems[0].leaf)
            return function(params, *args, **kwargs)
        return guarded

    def spec_of(self, path: str) -> Spec | None:
        """The spec of a leaf by its path with the part first ("batch/x"), if the contract has one."""
        part, *entries = path.split("/")
        tree: Any = getattr(self, part)
        for entry in entries:
            if isinstance(tree, Mapping):
                tree = next((below for name, below in tree.items() if str(name) == entry), ...)
            elif isinstance(tree, (list, tuple)) and entry.isdigit() and int(entry) < len(tree):
                tree = tree[int(entry)]
            else:
                return None
        return parse(tree) if isinstance(tree, str) else None
