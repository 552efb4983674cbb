"""What a user says about a model: its functions, standard values, and what must hold.

    model = Model(loss, params, batch)
"""

from __future__ import annotations

import dataclasses
import fnmatch
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pullback.gate.contract import Contract
from pullback.gate.errors import UsageError
from pullback.gate.sites import Site

__all__ = ["BareFunction", "DEFAULT", "Expected", "GENERATED", "Generated", "Invariance", "Model", "Pipeline",
           "Refused", "Tolerance"]

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
class Generated:
    """A batch that is made anew where its values must not be kept: a record holds its digest and this seed.

    Args:
      make: (seed) -> batch; the same for the same seed.
      seed: given to `make`.
    """

    make: Callable[[int], Any]
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class Expected:
    """A known answer: what comes out for an input that was worked out by hand, or by a version that is trusted.

    Args:
      what: which answer it is, for the report.
      batch: the input, or a function that makes it from the standard batch (None: the standard batch).
      params: parameters, or a function that makes them from the standard ones (None: the standard ones).
      loss: the number that the loss must be.
      outputs, gradients: trees that forward and the gradient of the loss must be; `...` leaves a part free.
      updated: the parameters after one `update`, a tree as well.
      tolerance: how far off each may be.
    """

    what: str
    batch: Any = None
    params: Any = None
    loss: float | None = None
    outputs: Any = None
    gradients: Any = None
    updated: Any = None
    tolerance: Tolerance = Tolerance(1e-4, 1e-6)


@dataclasses.dataclass(frozen=True)
class Invariance:
    """A change of the batch that must leave results as they are, or change them in a known way.

    Args:
      what: for the report: "the future does not matter".
      batch: (batch) -> the changed batch.
      before: (outputs) -> the part of the outputs for the standard batch that is compared (None: all).
      after: the same for the outputs for the changed batch (None: as `before`). An order of objects that is turned
        round, say, turns the outputs round: before=lambda outputs: outputs[::-1], after=lambda outputs: outputs.
      holds: False if the two must differ: a position or a mask that has to matter.

    Without a forward, the loss is compared.
    """

    what: str
    batch: Callable[[Any], Any]
    before: Callable[[Any], Any] | None = None
    after: Callable[[Any], Any] | None = None
    holds: bool = True


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """How data is prepared; it must learn from the training split alone, and treat all splits alike.

    Args:
      raw: the splits as they were read: {"train": tree, "test": tree}, the training split first.
      prepare: (raw splits) -> prepared splits, with all statistics that it uses computed inside.
    """

    raw: Mapping[str, Any]
    prepare: Callable[[Mapping[str, Any]], Mapping[str, Any]]


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
      unused: leaves of the batch that change nothing on purpose, by pattern of their paths, with the reason:
        {"id": "only carried along"}.
      refused: inputs that must be refused.
      accepts: kinds of generated bad input that are accepted on purpose, with the reason:
        {"extra entry": "batches carry identifiers"}.
      tolerances: a Tolerance per dtype ("float32") or pattern of paths ("outputs/*", "params/w").
      expected: known answers.
      reference: an independent implementation of `forward` (of `loss` without one), in NumPy for instance, with the
        same arguments.
      invariances: changes of the batch that must leave results as they are.
      cases: further batches for `pullback record`, by name: a batch, a function that makes it from the standard batch,
        or a Generated one.
      splits: parts of the data that must share no object: {"train": tree, "validation": tree, "test": tree}.
      near: objects of two splits count as shared too if they are this near, relative to the spread of the data.
      pipeline: how the splits are prepared.
      columns: the names of features in the order that the data has, per leaf of the batch: {"x": list(frame.columns)}.
      padding: the path of the leaf that says what is padding: a mask (0 for padding) or the lengths of objects.
      batches: more batches of other shapes that come in practice: the smaller last one.
      compilations: how often the gradient may be compiled for all batches (default: once for each set of shapes).
      second_order: check second derivatives too.
      precisions: float dtypes below the working one in which everything must stay finite too: ["float16"].
      steps, overfits: how many updates on the standard batch must bring the loss down, and below which value (None:
        below the first).
      fixed_keys: why a function makes a key of its own, if it does on purpose.
      settings: the engine's settings that the model counts on: {"jax_enable_x64": False}.
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
    unused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    refused: Sequence[Refused] = ()
    accepts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tolerances: Mapping[str, Tolerance] = dataclasses.field(default_factory=dict)
    expected: Sequence[Expected] = ()
    reference: Callable[..., Any] | None = None
    invariances: Sequence[Invariance] = ()
    cases: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    splits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    near: float | None = None
    pipeline: Pipeline | None = None
    columns: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    padding: str = ""
    batches: Sequence[Any] = ()
    compilations: int | None = None
    second_order: bool = False
    precisions: Sequence[str] = ()
    steps: int = 10
    overfits: float | None = None
    fixed_keys: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    batch_axis: int | None = 0
    coupled: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        caller = sys._getframe(2)  # beyond the __init__ that dataclasses make
        object.__setattr__(self, "_site", Site(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name))
        for field in ("loss", "init", "forward", "update", "inputs", "reference"):
            value = getattr(self, field)
            if value is not None and not callable(value):
                raise UsageError(f"Model: {field} is {value!r:.60}, a function is required",
                                 f"pass the function itself: {field}={field}")
        if self.loss is None and self.forward is None:
            raise UsageError("Model: there is neither a loss nor a forward", "give at least one of the two")
        if self.params is None and self.init is None:
            raise UsageError("Model: there are neither params nor an init", "give at least one of the two")
        for field in ("frozen", "precisions"):
            value = getattr(self, field)
            if isinstance(value, str):
                raise UsageError(f"Model: {field} is the string {value!r}, a sequence of strings is required",
                                 f"write {field}=[{value!r}]")
        for field, kind in (("contract", Contract), ("pipeline", Pipeline)):
            value = getattr(self, field)
            if value is not None and not isinstance(value, kind):
                raise UsageError(f"Model: {field} is a {type(value).__name__}", f"pass a gate.{kind.__name__}")
        items: tuple[tuple[str, type], ...] = (("refused", Refused), ("expected", Expected),
                                               ("invariances", Invariance))
        for field, item in items:
            for value in getattr(self, field):
                if not isinstance(value, item):
                    raise UsageError(f"Model: {field} contains {value!r:.60}",
                                     f"pass a sequence of gate.{item.__name__}(...)")
        for generated, reason in self.accepts.items():
            if generated not in GENERATED or not reason:
                raise UsageError(f"Model: accepts has {generated!r}: {reason!r}",
                                 f"use one of {', '.join(GENERATED)}, each with a reason")
        for path, reason in self.unused.items():
            if not isinstance(reason, str) or not reason:
                raise UsageError(f"Model: unused has {path!r}: {reason!r}", "give a reason with each path")
        for place, tolerance in self.tolerances.items():
            if not isinstance(tolerance, Tolerance):
                raise UsageError(f"Model: the tolerance of {place!r} is {tolerance!r:.60}", "pass a gate.Tolerance")
            if not (tolerance.relative >= 0 and tolerance.absolute >= 0):
                raise UsageError(f"Model: the tolerance of {place!r} is negative or no number: {tolerance.relative}, "
                                 f"{tolerance.absolute}", "use bounds that are at least 0")
            if not tolerance.reason and (tolerance.relative > DEFAULT.get(place, 0.0) or tolerance.absolute > 0):
                raise UsageError(f"Model: the tolerance of {place!r} is wider than the default and has no reason",
                                 "say why: Tolerance(..., reason='sums of 1e6 terms')")
        for dtype in self.precisions:
            if dtype not in ("float16", "bfloat16", "float32"):
                raise UsageError(f"Model: precisions has {dtype!r}", "use float16, bfloat16 or float32")
        if self.steps < 1:
            raise UsageError(f"Model: steps is {self.steps}", "use a number of at least 1")

    @property
    def site(self) -> Site:
        """The line of the call that made it."""
        found: Site = self.__dict__["_site"]
        return found

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
