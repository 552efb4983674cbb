"""Samplers as a whole: what all do with their arguments, and where many numbers come from one compiled program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.api.jit import jit
from pullback.core import config, trace
from pullback.core.array import Array
from pullback.lax.operand import placed
from pullback.random.arguments import common_shape, count, dtype_of, in_dtype, one_key, sizes

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


def drawn(function: Callable[..., Any], key: Any, shape: Any, dtype: Any, out_sharding: Any,
          options: dict[str, Any] | None = None, *, kinds: str = "f", default: Any = np.float64,
          convert: Callable[[Any, Any, str], Any] = in_dtype, **params: Any) -> Array:
    """The numbers that a distribution draws, from the arguments that users give.

    Args:
      function: (key, *parameters, shape=, dtype=, **options) -> numbers.
      shape: the shape of the result; None: that which the parameters broadcast to.
      dtype: None: `default`; of one of `kinds`, as of `arguments.dtype_of`.
      convert: (parameter, dtype, its name) -> the parameter in that dtype.
      params: the parameters by name.
    """
    key = one_key(key)
    dtype = dtype_of(dtype, default, kinds)
    values = [convert(x, dtype, name) for name, x in params.items()]
    shape = common_shape(shape, *values) if values else sizes(shape)
    return placed(sample(function, key, *values, shape=shape, dtype=dtype, **(options or {})), out_sharding)
