"""check: an error that a program may find while it runs (experimental.checkify).

Eagerly a check that fails raises. In a compiled program nothing can: there `passes.faults` turns checks into values,
and a check that is left when the program is lowered is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import errors, source
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage

EFFECT = "check"



class JaxRuntimeError(ValueError):
    """A check failed while a program ran."""


class Message:
    """What a check says where it fails. Subclasses give `text`; messages with equal parts are equal.

    Args:
      at: the user's line.
      parts: hashable values that `text` uses.
    """

    __slots__ = ("at", "parts")

    def __init__(self, at: source.Source | None, *parts: Any) -> None:
        self.at = at
        self.parts = parts

    def text(self, *payload: np.ndarray) -> str:
        """The message for the values that failed, without the line."""
        raise AssertionError("every message has a text")

    def __call__(self, *payload: np.ndarray) -> str:
        return self.text(*payload) + (f"\n  at {self.at}" if self.at else "")

    def _key(self) -> tuple[Any, ...]:
        return type(self), self.parts, self.at and (self.at.code, self.at.instruction)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Check(Primitive):
    """Nothing, or the error `message(*payload)` where `ok` is false.

    Operands: ok bool[s], then arrays of shapes s + t, the payload; s is () unless vmap made it longer.

    Params:
      message: what says the error, from the payload of the first element that fails.
      debug: the check counts under checkify alone.
    """

    def type(self, ok: ArrayType, *payload: ArrayType, message: Message, debug: bool  # type: ignore[override]
             ) -> list[ArrayType]:
        assert all(t.shape[:ok.ndim] == ok.shape for t in payload), (ok, payload)
        return []

    def numpy(self, ok: np.ndarray, *payload: np.ndarray, message: Message, debug: bool  # type: ignore[override]
              ) -> Outputs:
        if not debug and not np.all(ok):
            first = np.unravel_index(np.argmin(ok), np.shape(ok))
            raise JaxRuntimeError(message(*[np.asarray(x)[first] for x in payload]))
        return []

    def hlo(self, b: Any, *values: Any, message: Message, debug: bool) -> Outputs:
        if debug:
            return []
        raise errors.make(
            ValueError, "this check is inside compiled code, which cannot raise, and not inside checkify",
            op="checkify.check", at=message.at,
            fix="call err, out = jit(checkify(f))(...), then err.throw(); or use debug_check, which only counts there")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        return bind(self, primals, params), []

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        each = [x if flag else broadcast(x, size) for x, flag in zip(args, batched, strict=True)]
        return bind(self, each, params), []

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset([EFFECT])

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = rng.normal(size=3).astype(np.float32)
        yield Example(np.asarray(True), x, message=Message(None), debug=True, order=0)

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        return []


check = Check("check")


def only_where(program: Program, size: int) -> Program:
    """A batched program with one operand more in front, bool[size]: its checks count where that holds.

    vmap of a branch or a loop runs it for elements too that do not take part. Use it through
    `program.memo(only_where, size)`, where `EFFECT in program.effects`.
    """
    def run(active: Any, *xs: Any) -> list[Any]:
        idle = TABLE["not"](active)

        def apply(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
            if primitive is check:
                ok, *payload = operands
                return bind(check, [TABLE["or"](*_alike(ok, idle)), *payload], params)
            if EFFECT not in primitive.effects(params):
                return bind(primitive, operands, params)
            return bind(primitive, *with_constant(primitive, operands, params, active, _guard(size)))
        return evaluate(program, xs, apply)
    return stage(run, [ArrayType((size,), np.dtype(bool)), *program.input_types], name=program.name)[0]


def _alike(ok: Any, idle: Any) -> tuple[Any, Any]:
    """`ok` and `idle` in the shape of `ok`, which the batch may not have reached."""
    shape = type_of(ok).shape
    if not shape:
        return ok, TABLE["reduce_and"](idle, axes=(0,))
    return ok, TABLE["broadcast_in_dim"](idle, shape=shape, dims=(0,))


def _guard(size: int) -> Callable[[Program], Program]:
    def guard(program: Program) -> Program:
        if EFFECT in program.effects:
            return program.memo(only_where, size)  # type: ignore[no-any-return]
        extra = ArrayType((size,), np.dtype(bool))
        return stage(lambda active, *xs: evaluate(program, xs), [extra, *program.input_types], name=program.name)[0]
    return guard


def with_constant(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], constant: Any,
                  change: Callable[[Program], Program]) -> tuple[list[Any], dict[str, Any]]:
    """Operands and params of a primitive whose programs all take one more operand, a constant, in front.

    Args:
      change: a program to the one that takes the constant.
    """
    new = dict(params)
    for name in primitive.programs:
        value = params[name]
        new[name] = tuple(map(change, value)) if isinstance(value, tuple) else change(value)
    if primitive.name == "cond":
        return [operands[0], constant, *operands[1:]], new
    if primitive.name == "while":
        n = params["n_cond"]
        new |= {"n_cond": n + 1, "n_body": params["n_body"] + 1}
        return [constant, *operands[:n], constant, *operands[n:]], new
    if primitive.name == "scan":
        new["n_consts"] += 1
    elif "captured" in params:  # of a custom rule, which does not see it
        new["captured"] += 1
    elif primitive.name not in ("jit", "checkpoint"):
        raise primitive.missing("form with a check inside vmap of a branch or a loop",
                                "move the check out of it, or vmap the function that checkify gives")
    return [constant, *operands], new

