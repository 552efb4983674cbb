"""Samplers as a whole: many numbers come from one compiled program, few from operations that run at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pullback.api.jit import jit
from pullback.core import config, trace
from pullback.random.arguments import count

# From this many numbers on, one pass over memory in place of one per operation is worth a compilation.
_MANY = 1 << 19

_compiled: dict[Callable[..., Any], Any] = {}


def sample(function: Callable[..., Any], *args: Any, shape: tuple[int, ...], dtype: Any, **more: Any) -> Any:
    """function(*args, shape=, dtype=, **more), whose keyword-only arguments are hashable."""
    if count(shape) < _MANY or trace.state.trace is not None or config.eager.value != "auto":
        return function(*args, shape=shape, dtype=dtype, **more)
    compiled = _compiled.get(function)
    if compiled is None:
        static = [p.name for p in inspect.signature(function).parameters.values()
                  if p.kind is inspect.Parameter.KEYWORD_ONLY]
        compiled = _compiled[function] = jit(function, static_argnames=static)
    return compiled(*args, shape=shape, dtype=dtype, **more)
