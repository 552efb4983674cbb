"""Values that a program keeps although nothing uses them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.primitive import Example, NoGradient, Outputs
from pullback.core.trace import bind
from pullback.core.types import ArrayType


class Sink(NoGradient):
    """Takes a value and gives none, with an effect, so that what computes the value stays in the program.

    barrier: whether the compiler too must compute it.
    """

    def type(self, x: ArrayType, *, barrier: bool) -> list[ArrayType]:  # type: ignore[override]
        return []

    def numpy(self, x: np.ndarray, *, barrier: bool) -> Outputs:  # type: ignore[override]
        return []

    def hlo(self, b: Any, x: Any, *, barrier: bool) -> Outputs:
        if barrier:  # the results of a barrier are computed together, and the token is one that is used
            _, b.token = b.multi("stablehlo.optimization_barrier", [x, b.token], [x.type, b.token.type])
        return []

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return bind(self, args, params), []

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset({"ordered" if params["barrier"] else "unordered"})

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        yield Example(rng.normal(size=(2, 3)).astype(np.float32), barrier=False, order=0)
        yield Example(np.arange(3, dtype=np.int32), barrier=True, order=0)

    def oracle(self, jax: Any, x: Any, *, barrier: bool) -> Any:
        return []


sink = Sink("dce_sink")
