"""The parts of a model as functions of leaves: outputs, loss, gradients, updated parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from pullback.gate.session import Session
from pullback.gate.signature import batch_to_arguments

__all__ = ["PARTS", "available", "key_of", "part_function", "run_part", "value_and_gradients"]

# In the order in which one depends on another.
PARTS = ("outputs", "loss", "gradients", "updated")


def available(session: Session) -> list[str]:
    """The parts that the model has."""
    model = session.model
    there = {"outputs": model.forward is not None, "loss": model.loss is not None, "gradients": True,
             "updated": model.update is not None}
    return [part for part in PARTS if there[part]]


def part_function(session: Session, part: str, names: list[str] | None = None
                  ) -> Callable[[Sequence[Any], Sequence[Any], Any], list[Any]]:
    """(params, batch, key), as lists of leaves, to the leaves of a part; their paths are put into `names`."""
    engine, model = session.engine, session.model

    def tell(paths: Sequence[str]) -> None:
        if names is not None:
            names[:] = [session.shown(part, path) for path in paths]

    def outputs(params: Sequence[Any], batch: Sequence[Any], key: Any) -> list[Any]:
        leaves = session.forward(params, batch, key)
        tell(session.output_paths)
        return leaves

    def loss(params: Sequence[Any], batch: Sequence[Any], key: Any) -> list[Any]:
        tell([""])
        return [session.loss(params, batch, key)]

    def gradients(params: Sequence[Any], batch: Sequence[Any], key: Any) -> list[Any]:
        trainable, fixed = session.split(params)
        _, found = engine.value_and_grad(session.objective)(trainable, fixed, batch, key)
        tell([session.path(i) for i in range(len(trainable))])
        return list(found)

    def updated(params: Sequence[Any], batch: Sequence[Any], key: Any) -> list[Any]:
        update = model.update
        assert update is not None
        tree = engine.unflatten(session.params.structure, params)
        leading = [tree] if model.state is None else [tree, model.state]
        given = batch_to_arguments(update, engine.unflatten(session.batch.structure, batch), len(leading),
                                   beside=model.loss)
        leaves, paths, _ = engine.flatten(update(*leading, *given, **session.keywords(update, key)))
        tell(paths)
        return leaves

    return {"outputs": outputs, "loss": loss, "gradients": gradients, "updated": updated}[part]


def value_and_gradients(session: Session) -> Callable[[Sequence[Any], Sequence[Any], Any], list[Any]]:
    """As the part "gradients", with the objective itself before them."""
    def both(params: Sequence[Any], batch: Sequence[Any], key: Any) -> list[Any]:
        trainable, fixed = session.split(params)
        value, found = session.engine.value_and_grad(session.objective)(trainable, fixed, batch, key)
        return [value, *found]
    return both


def key_of(session: Session, part: str) -> Any:
    """The key that a part takes, or None."""
    model = session.model
    function = {"outputs": model.forward, "loss": model.loss, "updated": model.update}.get(part) or session.function()
    return session.key_if(function, session.key)


def run_part(session: Session, part: str, params: Sequence[Any], batch: Sequence[Any], key: Any = None,
             compiled: bool = True) -> tuple[list[str], list[Any]]:
    """The paths and NumPy leaves of a part, compiled as a whole or as the user's code is written."""
    function, names = _made(session, part, compiled and part != "updated")
    with nullcontext() if compiled else session.watch.eagerly():
        leaves = session.engine.call(function, list(params), list(batch), key_of(session, part) if key is None else key)
    return list(names), leaves


def _made(session: Session, part: str, compiled: bool) -> tuple[Callable[..., Any], list[str]]:
    """The function of a part and the list that gets its names; one for a session, so that it compiles once.

    An update is not compiled: it may keep state or print, and is called as the user calls it.
    """
    kept = session.__dict__.setdefault("parts_made", {})
    known = (part, compiled, session.batch.structure)
    if known not in kept:
        names: list[str] = []
        function = part_function(session, part, names)
        kept[known] = (session.engine.jit(function) if compiled else function), names
    made: tuple[Callable[..., Any], list[str]] = kept[known]
    return made
