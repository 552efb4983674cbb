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
_NOT_GIVEN: Any = object()
_version = 0  # counts changes of process-wide values
_holding = 0  # how many values threads hold
# program_key() where it is the same for all threads and nothing is unusual, else None. An object of its own for each
# state of the settings: what was made ready under it may go on as long as it is this object.
settled: tuple[Any, ...] | None = None
unusual = 0  # how many settings that every operation or jitted call obeys differ from their default, somewhere


class Setting(Generic[T]):
    """One named setting; calling it with a value gives a context manager that holds in this thread."""

    def __init__(self, name: str, default: T, doc: str, *, choices: tuple[Any, ...] = (),
                 traced: bool = False, eager: bool = False, parse: Callable[[str], T] | None = None) -> None:
        self.name = name
        self.default = default
        self.choices = choices
        self.traced = traced
        self.eager = eager  # looked at by every eager operation or jitted call
        self.__doc__ = doc
        self.process_value: T = default
        self._held_count = 0
        self._counted = False
        for variable in (f"PULLBACK_{name.upper()}", f"JAX_{name.upper()}"):
            text = os.environ.get(variable)
            if text is not None:
                self.process_value = self._check(parse(text) if parse else self._parse(text))
                break
        self._count()

    def _count(self, held: int = 0) -> None:
        """Keeps `unusual` and `settled`, when the process-wide value or the number of threads' values has changed."""
        global unusual, settled, _holding, _version
        with _lock:
            settled = None
            _version += held == 0
            _holding += held
            self._held_count += held
            counts = self.eager and (self._held_count > 0 or self.process_value != self.default)
            unusual += counts - self._counted
            self._counted = counts

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
        self.process_value = self._check(value)
        self._count()

    @contextmanager
    def _held(self, value: T) -> Iterator[None]:
        before = _overrides.values
        _overrides.values = {**before, self.name: value}
        _overrides.key = None
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)
            _overrides.values = before
            _overrides.key = None

    def __call__(self, new_val: Any = _NOT_GIVEN) -> Any:
        if new_val is _NOT_GIVEN:
            if not isinstance(self.default, bool):
                raise TypeError(f"setting {self.name}: got no value, one is required, as {self.default!r}")
            new_val = True
        return self._held(self._check(new_val))


_PRECISIONS = (None, "default", "high", "highest", "float32", "bfloat16", "tensorfloat32", "bfloat16_3x", "fastest")

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
debug_nans = Setting("debug_nans", False, "Raise FloatingPointError where a NaN is first made.", traced=True,
                     eager=True)
debug_infs = Setting("debug_infs", False, "Raise FloatingPointError where an infinity is first made.", traced=True,
                     eager=True)
strong_zeros = Setting("strong_zeros", False, "In derivatives, a factor that is exactly zero makes the product zero, "
                       "whatever the other factor is.", traced=True, eager=True)
disable_jit = Setting("disable_jit", False, "Run jitted functions operation by operation.", traced=True, eager=True)
log_compiles = Setting("log_compiles", False, "Log each compilation.")
explain_cache_misses = Setting("explain_cache_misses", False, "Log why a jitted function is traced again.")
enable_checks = Setting("enable_checks", False, "Check the types in every program that is traced.")
no_tracing = Setting("no_tracing", False, "Raise RuntimeError where a jitted function would be traced.")
check_bounds = Setting("check_bounds", False, "Raise IndexError where an index is out of bounds.", traced=True)
check_tracer_leaks = Setting("check_tracer_leaks", False, "Raise UnexpectedTracerError where a transformation ends and "
                             "values inside it are still held.", eager=True)
debug_key_reuse = Setting("debug_key_reuse", False, "Raise KeyReuseError where a random key is used a second time.",
                          eager=True)
threefry_partitionable = Setting(
    "threefry_partitionable", True, "Random bits that do not depend on how arrays are laid out.", choices=(True,),
    traced=True)
default_prng_impl = Setting("default_prng_impl", "threefry2x32", "The PRNG of new keys.",
                            choices=("threefry2x32", "rbg", "unsafe_rbg"), traced=True)
enable_custom_prng = Setting("enable_custom_prng", False, "random.PRNGKey makes typed keys, as random.key does.",
                             traced=True)
reorder_products = Setting(
    "reorder_products", False, "Let a @ b @ v be computed as a @ (b @ v) where that takes fewer operations; rounds "
    "differently.", traced=True)
eager = Setting("eager", "auto", "Where eager operations run: auto, numpy or xla.",
                choices=("auto", "numpy", "xla"), eager=True)

SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting for setting in (
        enable_x64, numpy_dtype_promotion, numpy_rank_promotion, default_matmul_precision, debug_nans,
        debug_infs, strong_zeros, disable_jit, log_compiles, explain_cache_misses, check_tracer_leaks,
        debug_key_reuse, enable_checks, no_tracing, check_bounds, threefry_partitionable,
        default_prng_impl, enable_custom_prng, reorder_products, eager)
}
_TRACED = tuple(setting for setting in SETTINGS.values() if setting.traced)


def program_key() -> tuple[Any, ...]:
    """The values of all settings that can change a traced program."""
    global settled
    if settled is not None:
        return settled
    key = _overrides.key
    if key is None or _overrides.version != _version:
        version = _version
        key = tuple([setting.value for setting in _TRACED])
        _overrides.key, _overrides.version = key, version
    if not unusual and not _holding:
        with _lock:
            if not unusual and not _holding and _overrides.version == _version:
                settled = key
    return key


def forget() -> None:
    """What was made ready for the settings as they are is no longer to be used."""
    global settled, _version
    with _lock:
        settled = None
        _version += 1


def watched() -> bool:
    """Whether a setting asks for derivative rules to run on marked tangents (interpret/mark.py)."""
    return strong_zeros.value or debug_nans.value or debug_infs.value
