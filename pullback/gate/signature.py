"""How a batch becomes the arguments of a function: `loss(params, batch)` or `loss(params, x, y)`, maybe with a key."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["KEY_NAMES", "arguments_to_batch", "batch_to_arguments", "key_name", "taken_from"]

KEY_NAMES = ("key", "rng", "rng_key", "prng_key", "random_key", "seed_key")
_WHOLE = ("batch", "data", "inputs")


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def key_name(function: Callable[..., Any] | None) -> str | None:
    """The name of the parameter that takes a random key, or None."""
    for parameter in (function is not None and _parameters(function)) or ():
        if parameter.name in KEY_NAMES:
            return parameter.name
    return None


def _names(function: Callable[..., Any], leading: int) -> tuple[list[str], int, bool]:
    """Names of the positional parameters after the leading ones, how many have no default, and if there is *args."""
    parameters = _parameters(function)
    if parameters is None:
        return [], 0, True
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][leading:]
    places = [p for p in places if p.name not in KEY_NAMES]
    return ([p.name for p in places], sum(p.default is p.empty for p in places),
            any(p.kind is p.VAR_POSITIONAL for p in parameters))


def _is_plain(batch: Any) -> bool:
    return isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields")


def batch_to_arguments(function: Callable[..., Any], batch: Any, leading: int = 1,
                       beside: Callable[..., Any] | None = None) -> list[Any]:
    """The arguments of `function` after the leading ones.

    A dict gives its entries to parameters of their names, a tuple or list its items in order (as many as the function
    takes); otherwise the batch is one argument.

    Args:
      leading: how many parameters come before the batch.
      beside: the loss, where this is another function of its model: a single parameter that has the name of
        the loss's takes the whole batch, one of another name the first item.
    """
    names, required, star = _names(function, leading)
    if isinstance(batch, Mapping):
        if star or not any(name in batch for name in names):
            return [batch]
        missing = [name for name in names[:required] if name not in batch]
        if missing:
            raise TypeError(f"{getattr(function, '__name__', 'the function')} needs the argument {missing[0]!r}, which "
                            f"the batch does not have; it has {sorted(map(str, batch))}")
        return [batch[name] for name in names if name in batch]
    if not _is_plain(batch):
        return [batch] if names or star else []
    if star:
        return list(batch)
    if len(names) != 1:
        return list(batch[:len(names)])
    if names[0] in _WHOLE:
        return [batch]
    if beside is not None and beside is not function:
        return [batch] if _names(beside, 1)[0] == names else [batch[0]]
    return [batch[0]] if len(batch) == 1 else [batch]


def taken_from(function: Callable[..., Any], batch: Any) -> list[Any] | None:
    """The names, or places, of the entries of a batch that `function` takes; None: it takes the whole."""
    names, _, star = _names(function, 1)
    if star:
        return None
    if isinstance(batch, Mapping):
        return [name for name in names if name in batch] or None
    if not _is_plain(batch) or (len(names) == 1 and names[0] in _WHOLE):
        return None
    return list(range(min(len(names), len(batch))))


def arguments_to_batch(function: Callable[..., Any], spec: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
                       ) -> tuple[Any, Any]:
    """A call's arguments after params as a batch with the structure of `spec`, and the part of the spec that they are.

    The part is None where they are the whole batch.
    """
    names, _, _ = _names(function, 1)
    given = dict(zip(names, args)) | {name: kwargs[name] for name in names if name in kwargs}
    found = list(given.values()) or list(args)
    if isinstance(spec, Mapping):
        if given and all(name in spec for name in given):
            return given, {name: spec[name] for name in given}
    elif isinstance(spec, (list, tuple)) and not (len(found) == 1 and _is_plain(found[0])):
        return tuple(found), tuple(spec[:len(found)])
    return (found[0] if len(found) == 1 else tuple(found)), None
