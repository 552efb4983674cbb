"""A function by itself as a model: its float arguments are what is differentiated, their values random."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.contract import Spec, parse, split_specs
from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.model import BareFunction

__all__ = ["bare_function"]


def bare_function(function: Any, specs: str, engine: Engine, seed: int, name: str) -> BareFunction:
    """A model of a function.

    Args:
      specs: one spec for each argument: "f32[8,4], i32[8] in [0, 9], key".

    Raises:
      UsageError: it is no function, or a spec is wrong or has a dimension that is no number.
    """
    if not callable(function):
        raise UsageError(f"{name} is a {type(function).__name__}, a function is required",
                         "name a function after the colon, or leave --args out for a gate.Model")
    rng = np.random.default_rng(seed)
    values = [engine.from_numpy(_value(parse(text), rng, engine, seed, i)) for i, text in enumerate(split_specs(specs))]

    def forward(arguments: Any) -> Any:
        return function(*arguments)

    forward.__wrapped__ = function  # type: ignore[attr-defined]  # reports show the user's line
    return BareFunction(params=tuple(values), forward=_with_signature(forward), name=name, batch_axis=None)


def _with_signature(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps the gate from taking the function's own parameters, among them keys, for a model's."""
    forward.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("arguments", inspect.Parameter.POSITIONAL_ONLY)])
    return forward


def _value(spec: Spec, rng: np.random.Generator, engine: Engine, seed: int, number: int) -> Any:
    if spec.dtypes == ("key",):
        return engine.keys(seed, number + 1)[number]
    if spec.dims is None or any(not isinstance(dim, int) for dim in spec.dims):
        raise UsageError(f"the shape of {spec.text!r} is not known", 'give every dimension as a number: "f32[8, 4]"')
    shape = tuple(int(dim) for dim in spec.dims)
    dtype = spec.dtypes[0] if len(spec.dtypes) == 1 else "int32" if "int32" in spec.dtypes else "float32"
    if dtype == "bool":
        return rng.random(shape) < 0.5
    low, high = spec.low, spec.high
    if "int" in dtype:
        low, high = (low if np.isfinite(low) else 0), (high if np.isfinite(high) else 3)
        return rng.integers(int(low), int(high) + 1, shape).astype(dtype)
    if np.isfinite(low) and np.isfinite(high):
        x = rng.uniform(low, high, shape)
    else:
        x = rng.standard_normal(shape)
        x = low + np.abs(x) if np.isfinite(low) else high - np.abs(x) if np.isfinite(high) else x
    if dtype.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    # The name of bfloat16 is known to NumPy because the engine has loaded ml_dtypes.
    return x.astype(np.dtype(dtype))
