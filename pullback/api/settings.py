"""`config`, and the settings as context managers: debug_nans, enable_x64, disable_jit, ..."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from pullback.api import jit
from pullback.core import config as core_config
from pullback.core import errors
from pullback.core.config import (
    check_bounds,
    check_tracer_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_matmul_precision,
    default_prng_impl,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    strong_zeros,
    threefry_partitionable,
)
from pullback.interpret import tape
from pullback.runtime import eager, remember

__all__ = ["check_bounds", "check_tracer_leaks", "checking_leaks", "clear_caches", "config", "debug_infs",
           "debug_key_reuse", "debug_nans", "default_matmul_precision", "default_prng_impl", "disable_jit",
           "enable_checks", "enable_custom_prng", "enable_x64", "explain_cache_misses", "log_compiles", "no_tracing",
           "numpy_dtype_promotion", "numpy_rank_promotion", "strong_zeros", "threefry_partitionable"]


def checking_leaks() -> AbstractContextManager[None]:
    """A context in which `check_tracer_leaks` is set.

    Example:
      >>> with checking_leaks(): print(jit(lambda x: x + 1)(1))
      2
    """
    return check_tracer_leaks(True)  # type: ignore[no-any-return]


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """A context in which jitted functions run operation by operation.

    Args:
      disable: False: they are compiled again, inside a context in which they are not.

    Example:
      >>> with disable_jit(): print(jit(lambda x: -x if x > 0 else x)(2))
      -2
    """
    return core_config.disable_jit(disable)  # type: ignore[no-any-return]


# Settings of jax that name what pullback has no choice about; they are accepted when they ask for that.
_FIXED: dict[str, tuple[Any, ...]] = {
    "platforms": ("cpu", None, ""), "platform_name": ("cpu", None, ""), "traceback_filtering": (
        "auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
    "enable_compilation_cache": (True, False), "disable_most_optimizations": (False,),
    "softmax_custom_jvp": (True, False), "transfer_guard": ("allow", None),
}


class Config:
    """The settings, by name: `config.update('jax_enable_x64', True)`, `config.jax_enable_x64`."""

    def update(self, name: str, value: Any) -> None:
        """Sets a setting for the whole process.

        Raises:
          AttributeError: there is no such setting. ValueError: it does not take that value.
        """
        short = name.removeprefix("jax_")
        setting = core_config.SETTINGS.get(short)
        if setting is not None:
            setting.set(value)
        elif short not in _FIXED:
            raise errors.make(AttributeError, f"there is no setting {name!r}; there are "
                              f"{', '.join(sorted(core_config.SETTINGS))}", op="config.update",
                              fix="check the spelling")
        elif value not in _FIXED[short]:
            raise errors.value_error(f"{name} is {value!r}, one of {_FIXED[short]} is required", op="config.update",
                                     fix="pullback runs on the CPU and has one way here")

    def read(self, name: str) -> Any:
        """The value of a setting."""
        return getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        if name == "x64_enabled":
            return enable_x64.value
        setting = core_config.SETTINGS.get(name.removeprefix("jax_"))
        if setting is not None:
            return setting.value
        if name.removeprefix("jax_") in _FIXED:
            return _FIXED[name.removeprefix("jax_")][0]
        raise AttributeError(f"there is no setting {name!r}; there are {', '.join(sorted(core_config.SETTINGS))}")

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {s.value!r}" for name, s in sorted(core_config.SETTINGS.items()))


config = Config()


def clear_caches() -> None:
    """Forgets all staged and compiled programs.

    Example:
      >>> clear_caches()
    """
    jit.clear()
    eager.clear()
    tape.clear()
    remember.clear()
