"""The settings that change what a program means or how it is checked.

A setting has one process-wide value (`config.update`) and, on top, a value per thread for the
length of a `with` block. Settings that change a traced program are part of `program_key()`, which
`jit` puts into its cache key.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_ENVIRONMENT_TRUE = {"1", "true", "yes", "on", "y", "t"}


class _Overrides(threading.local):
    """Per-thread values of settings, by setting name."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.key: tuple[Any, ...] | None = None  # program_key(), as of process version `version`
        self.version = -1


_overrides = _Overrides()
_lock = threading.Lock()
_version = 0  # counts changes of process-wide values


class Setting(Generic[T]):
    """One named setting; calling it with a value gives a context manager that holds in this thread."""

    def __init__(self, name: str, default: T, doc: str, *, choices: tuple[Any, ...] = (),
                 traced: bool = False, parse: Callable[[str], T] | None = None) -> None:
        self.name = name
        self.default = default
        self.choices = choices
        self.traced = traced
        self.__doc__ = doc
        self.process_value: T = default
        self._held_count = 0
        for variable in (f"PULLBACK_{name.upper()}", f"JAX_{name.upper()}"):
            text = os.environ.get(variable)
            if text is not None:
                self.process_value = self._check(parse(text) if parse else self._parse(text))
                break

    def _parse(self, text: str) -> Any:
        if isinstance(self.default, bool):
            return text.strip().lower() in _ENVIRONMENT_TRUE
        return text

    def _check(self, value: Any) -> T:
        if isinstance(self.default, bool) and not isinstance(value, bool):
            if value not in (0, 1):
                raise ValueError(f"setting {self.name}: got {value!r}, a bool is required")
            value = bool(value)
        if self.choices and value not in self.choices:
            raise ValueError(f"setting {self.name}: got {value!r}, one of {list(self.choices)} is required")
        return value  # type: ignore[no-any-return]

    @property
    def value(self) -> T:
        if not self._held_count:  # nearly always: no thread holds another value
            return self.process_value
        return _overrides.values.get(self.name, self.process_value)  # type: ignore[no-any-return]

    def set(self, value: T) -> None:
        global _version
        self.process_value = self._check(value)
        _version += 1

    @contextmanager
    def _held(self, value: T) -> Iterator[None]:
        before = _overrides.values
        _overrides.values = {**before, self.name: value}
        _overrides.key = None
        with _lock:
            self._held_count += 1
        try:
            yield
        finally:
            with _lock:
                self._held_count -= 1
            _overrides.values = before
            _overrides.key = None

    def __call__(self, value: T = True) -> Any:  # type: ignore[assignment]
        return self._held(self._check(value))


_PRECISIONS = (None, "default", "high", "highest", "float32", "bfloat16", "tensorfloat32",
               "bfloat16_3x", "fastest")

enable_x64 = Setting("enable_x64", False, "64-bit types by default instead of 32-bit ones.", traced=True)
numpy_dtype_promotion = Setting(
    "numpy_dtype_promotion", "standard", "'strict' refuses to mix dtypes without an explicit cast.",
    choices=("standard", "strict"), traced=True)
numpy_rank_promotion = Setting(
    "numpy_rank_promotion", "allow", "What broadcasting to a higher rank does: allow, warn or raise.",
    choices=("allow", "warn", "raise"), traced=True)
default_matmul_precision: Setting[str | None] = Setting(
    "default_matmul_precision", None, "Precision of products that name none.",
    choices=_PRECISIONS, traced=True)
debug_nans = Setting("debug_nans", False, "Raise FloatingPointError where a NaN is first made.")
debug_infs = Setting("debug_infs", False, "Raise FloatingPointError where an infinity is first made.")
disable_jit = Setting("disable_jit", False, "Run jitted functions operation by operation.", traced=True)
log_compiles = Setting("log_compiles", False, "Log each compilation.")
threefry_partitionable = Setting(
    "threefry_partitionable", True, "Random bits that do not depend on how arrays are laid out.", choices=(True,),
    traced=True)
default_prng_impl = Setting("default_prng_impl", "threefry2x32", "The PRNG of new keys.",
                            choices=("threefry2x32",), traced=True)
eager = Setting("eager", "auto", "Where eager operations run: auto, numpy or xla.",
                choices=("auto", "numpy", "xla"))

SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting for setting in (
        enable_x64, numpy_dtype_promotion, numpy_rank_promotion, default_matmul_precision, debug_nans,
        debug_infs, disable_jit, log_compiles, threefry_partitionable,
        default_prng_impl, eager)
}
_TRACED = tuple(setting for setting in SETTINGS.values() if setting.traced)


def program_key() -> tuple[Any, ...]:
    """The values of all settings that can change a traced program."""
    key = _overrides.key
    if key is None or _overrides.version != _version:
        key = _overrides.key = tuple([setting.value for setting in _TRACED])
        _overrides.version = _version
    return key
