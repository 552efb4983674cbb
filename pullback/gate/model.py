"""What a user says about a model: its functions, standard values, and what must hold.

    model = Model(loss, params, batch)
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pullback.gate.contract import Contract
from pullback.gate.errors import UsageError

__all__ = ["BareFunction", "DEFAULT", "GENERATED", "Model", "Refused", "Tolerance"]

# The bad inputs that the gate makes by itself, by the names that `Model(accepts=...)` takes.
GENERATED = ("wrong rank", "wrong size", "wrong dtype", "missing entry", "extra entry", "empty batch", "NaN",
             "out of range")

# Normwise, for results of one function computed in two ways: eagerly and compiled, alone and in a batch.
DEFAULT = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far two values of a leaf may be apart: largest difference <= absolute + relative * largest value.

    Args:
      relative, absolute: the two bounds.
      reason: why it is wider than the default; reports show it.
    """

    relative: float = 0.0
    absolute: float = 0.0
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Refused:
    """An input that must be refused.

    Args:
      what: what is wrong with it, for the report.
      batch: the bad batch, or a function that makes it from the standard batch.
      params: bad parameters, or a function that makes them from the standard ones (None: the standard ones).
      error: the expected exception, or a tuple of them.
      match: a text that the message must contain.
    """

    what: str
    batch: Any = None
    params: Any = None
    error: type[BaseException] | tuple[type[BaseException], ...] = Exception
    match: str = ""


@dataclasses.dataclass(frozen=True)
class Model:
    """A model as the gate sees it; `Model(loss, params, batch)` is enough to begin with.

    Args:
      loss: (params, *batch[, key]) -> a number, or (number, anything).
      params: a tree of arrays; may be left out where `init` is given.
      batch: a tree of arrays. A dict gives its entries to parameters of their names, a tuple its items in order; a
        function with one parameter for it gets it whole.
      init: (key) -> params.
      forward: (params, *inputs[, key]) -> outputs, objects along axis `batch_axis`.
      update: (params, [state,] *batch[, key]) -> new params, or a tuple that contains them.
      state: what `update` takes second, if it does: the state of an optimiser.
      key: the random key of the standard run (default: one made from the seed). Functions that have a parameter
        named key, rng, rng_key, prng_key or random_key get one.
      inputs: the part of a batch that `forward` takes: (batch) -> its arguments, a tuple, or one argument.
      contract: the types of parameters, batch and outputs.
      frozen: patterns of paths of parameters that get no gradient on purpose: "encoder/*".
      refused: inputs that must be refused.
      accepts: kinds of generated bad input that are accepted on purpose, with the reason:
        {"extra entry": "batches carry identifiers"}.
      tolerances: a Tolerance per dtype ("float32") or pattern of paths ("outputs/*", "params/w").
      splits: parts of the data that must share no object: {"train": tree, "validation": tree, "test": tree}.
      batch_axis: the axis of objects in batch and outputs; None if there is none.
      coupled: why an object's result depends on its neighbours, if it does on purpose (batch statistics).
      name: for the report.

    Raises:
      UsageError: a field makes no sense; a widened tolerance has no reason.

    Example:
      >>> import numpy as np
      >>> from pullback.gate import Model
      >>> model = Model(lambda w, x, y: ((x @ w - y) ** 2).mean(), np.ones(3, "float32"),
      ...               (np.ones((4, 3), "float32"), np.ones(4, "float32")))
    """

    loss: Callable[..., Any] | None = None
    params: Any = None
    batch: Any = ()
    init: Callable[..., Any] | None = None
    forward: Callable[..., Any] | None = None
    update: Callable[..., Any] | None = None
    state: Any = None
    key: Any = None
    inputs: Callable[[Any], Any] | None = None
    contract: Contract | None = None
    frozen: Sequence[str] = ()
    refused: Sequence[Refused] = ()
    accepts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tolerances: Mapping[str, Tolerance] = dataclasses.field(default_factory=dict)
    splits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    batch_axis: int | None = 0
    coupled: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("loss", "init", "forward", "update", "inputs"):
            value = getattr(self, field)
            if value is not None and not callable(value):
                raise UsageError(f"Model: {field} is {value!r:.60}, a function is required",
                                 f"pass the function itself: {field}={field}")
        if self.loss is None and self.forward is None:
            raise UsageError("Model: there is neither a loss nor a forward", "give at least one of the two")
        if self.params is None and self.init is None:
            raise UsageError("Model: there are neither params nor an init", "give at least one of the two")
        if isinstance(self.frozen, str):
            raise UsageError(f"Model: frozen is the string {self.frozen!r}, a sequence of patterns is required",
                             f"write frozen=[{self.frozen!r}]")
        if self.contract is not None and not isinstance(self.contract, Contract):
            raise UsageError(f"Model: contract is a {type(self.contract).__name__}", "pass a gate.Contract")
        for bad in self.refused:
            if not isinstance(bad, Refused):
                raise UsageError(f"Model: refused contains {bad!r:.60}", "pass gate.Refused(what, batch=...)")
        for kind, reason in self.accepts.items():
            if kind not in GENERATED or not reason:
                raise UsageError(f"Model: accepts has {kind!r}: {reason!r}",
                                 f"use one of {', '.join(GENERATED)}, each with a reason")
        for place, tolerance in self.tolerances.items():
            if not isinstance(tolerance, Tolerance):
                raise UsageError(f"Model: the tolerance of {place!r} is {tolerance!r:.60}", "pass a gate.Tolerance")
            if min(tolerance.relative, tolerance.absolute) < 0:
                raise UsageError(f"Model: the tolerance of {place!r} is negative", "use bounds that are at least 0")
            if not tolerance.reason and (tolerance.relative > DEFAULT.get(place, 0.0) or tolerance.absolute > 0):
                raise UsageError(f"Model: the tolerance of {place!r} is wider than the default and has no reason",
                                 "say why: Tolerance(..., reason='sums of 1e6 terms')")

    def tolerance(self, path: str, dtype: str) -> Tolerance | None:
        """The declared tolerance of a leaf: by the pattern of its path, or by its dtype."""
        for place, tolerance in self.tolerances.items():
            if place != dtype and fnmatch.fnmatchcase(path, place):
                return tolerance
        return self.tolerances.get(dtype)

    def is_frozen(self, path: str) -> bool:
        """Whether the parameter at a path ("encoder/w") is frozen on purpose."""
        return any(fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"{pattern}/*")
                   for pattern in self.frozen)


class BareFunction(Model):
    """A function whose float arguments are all differentiated: what there is without a Model."""
