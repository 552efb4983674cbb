"""Arrays that a program holds: what a rule of the user's brought along, as a table or a mask of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Example, NoGradient, Outputs
from pullback.core.types import ArrayType
from pullback.interpret.stage import Held


class _Nothing(dict[Any, Any]):
    """Remembers nothing: an entry would keep its array in memory."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class Constant(NoGradient):
    """The array that `held` holds."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.plans = _Nothing()
        self._types = _Nothing()

    def type(self, *, held: Held) -> list[ArrayType]:
        return [held.array.type]

    def numpy(self, *, held: Held) -> Outputs:
        return [held.array.numpy()]

    def hlo(self, b: Any, *, held: Held) -> Outputs:
        return [b.constant(np.asarray(held.array.numpy()))]  # of keys their words

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, held: Held
              ) -> tuple[Outputs, list[bool]]:
        return [held.array], [False]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        for array in (np.asarray(rng.normal(size=(2, 3)), np.float32), np.arange(5, dtype=np.int32),
                      np.array([0.0, -0.0, np.nan, np.inf, 1e-45], np.float32), np.array([[True, False]] * 2),
                      np.asarray(rng.normal(size=(3,)) + 1j, np.complex64), np.ones((4, 1), dtypes.bfloat16),
                      np.zeros((0, 2), np.float32), np.array([1, -3], dtypes.int4), np.float32(2.5),
                      np.asarray(rng.normal(size=(40, 30)), np.float32), np.arange(300, dtype=np.uint8),
                      np.arange(40) % 3 == 0, (np.arange(40) % 16 - 8).astype(dtypes.int4),
                      np.asarray(rng.normal(size=(5, 6)), dtypes.float8_e4m3fn)):
            yield Example(held=Held(ConcreteArray(ArrayType(np.shape(array), np.asarray(array).dtype), array)))

    def oracle(self, jax: Any, *, held: Held) -> Any:
        return jax.numpy.asarray(held.array.numpy())


constant = Constant("constant")
