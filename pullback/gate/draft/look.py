"""What a script's functions are for, by their names and signatures, and values for their arguments."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from pullback.gate.draft.seen import Like, like_of, seen_arguments, tree_map
from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.model import Model
from pullback.gate.signature import KEY_NAMES

__all__ = ["Found", "Given", "draw", "look"]

_NAMES = {
    "loss": ("loss", "loss_fn", "loss_function", "objective", "cost", "energy", "nll"),
    "forward": ("forward", "predict", "apply", "model", "net", "network", "mlp", "logits"),
    "init": ("init", "init_params", "initialize", "initialise", "make_params", "create_params", "init_fn"),
    "update": ("update", "step", "train_step", "update_step", "sgd_step"),
}
_PARTS = {"loss": ("loss", "objective"), "forward": ("forward", "predict"), "init": ("init",),
          "update": ("update", "train_step")}  # of names
_PARAMS, _BATCH = ("params", "weights", "theta", "parameters"), ("batch", "data", "inputs", "x", "xs", "X")
_MANY = 64  # objects; a first batch need not be larger


@dataclasses.dataclass
class Given:
    """A value of the draft: an expression of a module's name ("x[:32]"), or a tree of Like to draw from."""

    like: Any
    expression: str = ""


@dataclasses.dataclass
class Found:
    """What a draft is written from.

    Args:
      roles: names of the script's functions for loss, forward, init, update.
      params: None where they are made by init.
      batch: by the names of parameters.
      state: whether update takes a state, in the shape of the parameters.
      picked: which item of update's result is the new parameters, where that is not plain.
      outputs: the types of the outputs.
      axis: the axis of objects, or None.
    """

    roles: dict[str, str]
    params: Given | None
    raw_params: Any
    batch: dict[str, Given]
    values: dict[str, Any]
    state: bool = False
    picked: int | None = None
    outputs: Any = None
    axis: int | None = None
    notes: list[str] = dataclasses.field(default_factory=list)


def look(module: ModuleType, path: str, engine: Engine, chosen: dict[str, str], seconds: float) -> Found:
    """Looks at a script that has been imported.

    Args:
      chosen: names of functions by role, where the user has said them.
      seconds: for a run of the script, if its arguments are nowhere else.

    Raises:
      UsageError: it has a model already, or it cannot be told what is to be checked.
    """
    models = [name for name, value in vars(module).items() if isinstance(value, Model)]
    if models:
        raise UsageError(f"{path} has a gate.Model already: {', '.join(models)}", f"pullback verify {path}")
    functions = _functions(module, path)
    roles = _roles(functions, module, path, chosen)
    main = functions[roles.get("loss") or roles["forward"]]
    first, *rest = _required(main, path)
    known = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    params = next((Given(None, name) for name in (first, *_PARAMS) if _is_tree(known.get(name))), None)
    raw: Any = None if params is None else known[params.expression]
    if "init" in roles and not _callable_init(functions[roles["init"]]):
        del roles["init"]  # what it needs beside a key is not known
    if params is None and "init" in roles:
        raw = functions[roles["init"]](*([engine.from_numpy(engine.keys(0, 1)[0])] if _key(functions[roles["init"]])
                                         else []))
    batch: dict[str, Given] = {}
    for name in rest:
        options = (name, *(_BATCH if len(rest) == 1 else ()))
        there = next((option for option in options if _is_data(known.get(option))), None)
        if there is not None:
            batch[name] = Given(None, there)
    missing = [name for name in rest if name not in batch]
    if raw is None or missing:
        codes = {name: _code(function) for name, function in functions.items()}
        given = seen_arguments(path, {name: code for name, code in codes.items() if code is not None},
                               [main.__name__], seconds)[main.__name__]
        if raw is None:
            params, raw = Given(given[first]), _drawn(given[first], engine)
        batch |= {name: Given(given[name]) for name in missing}
    values = {name: _short(known[one.expression], one) if one.expression else _drawn(one.like, engine)
              for name, one in batch.items()}
    for name, one in batch.items():
        if one.like is None:
            one.like = tree_map(like_of, values[name])
    found = Found(roles, params, raw, {name: batch[name] for name in rest}, {name: values[name] for name in rest})
    _try(found, functions, engine, main)
    return found


def _functions(module: ModuleType, path: str) -> dict[str, Callable[..., Any]]:
    """The functions that the script defines."""
    here = os.path.realpath(path)
    found = {}
    for name, value in vars(module).items():
        code = _code(value)
        if code is None or os.path.realpath(code.co_filename) != here or code.co_name == "<lambda>":
            continue
        if code.co_name == name or not hasattr(module, code.co_name):  # no second name of one that is there
            found[name] = value
    if not found:
        raise UsageError(f"{path} defines no function", "put what is computed into a function: def loss(params, x, y)")
    return found


def _code(function: Any) -> CodeType | None:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _roles(functions: dict[str, Any], module: ModuleType, path: str, chosen: dict[str, str]) -> dict[str, str]:
    roles = {}
    for role, names in _NAMES.items():
        if role in chosen:
            if chosen[role] not in functions:
                raise UsageError(f"{path} defines no function {chosen[role]!r}; it defines {', '.join(functions)}",
                                 f"check the name after --{role}")
            roles[role] = chosen[role]
            continue
        exact = [name for name in names if name in functions]
        parts = [name for name in functions if any(part in name.split("_") for part in _PARTS[role])]
        if exact or len(parts) == 1:
            roles[role] = (exact or parts)[0]
    if not {"loss", "forward"} & set(roles):
        free = [name for name in functions if name not in roles.values() and name != "main"]
        if len(free) != 1:
            raise UsageError(f"{path}: which function is the loss cannot be told by the names {', '.join(functions)}",
                             f"name it: --loss {(free or list(functions))[0]}, or --forward NAME for one that returns "
                             "more than a number")
        roles["forward"] = free[0]
    return roles


def _parameters(function: Any) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(function).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _required(function: Any, path: str) -> list[str]:
    """Its parameters without a default, but for a key."""
    names = [one.name for one in _parameters(function) if one.default is one.empty and one.name not in KEY_NAMES]
    if not names:
        raise UsageError(f"{path}: {function.__name__} has no parameters", "name another function with --loss")
    return names


def _key(function: Any) -> bool:
    places = _parameters(function)
    return bool(places) and places[0].name in KEY_NAMES


def _callable_init(function: Any) -> bool:
    """Whether it can be called with a key alone, or with nothing."""
    required = [one for one in _parameters(function) if one.default is one.empty]
    return not required or (len(required) == 1 and _key(function))


def _likes(tree: Any) -> list[Like]:
    """The leaves of a tree of Like."""
    found: list[Like] = []
    tree_map(found.append, tree)
    return found


def _is_data(value: Any) -> bool:
    """Whether a value is a tree of arrays and numbers."""
    if value is None or isinstance(value, (str, bytes)) or callable(value):
        return False
    try:
        likes = _likes(tree_map(like_of, value))
    except TypeError:
        return False
    return bool(likes) and not any(like.dtype.startswith("key<") for like in likes)


def _is_tree(value: Any) -> bool:
    """Whether a value can be parameters: a tree of arrays, of floats among them."""
    return _is_data(value) and not isinstance(value, (bool, int, float)) and any(
        "float" in like.dtype or "complex" in like.dtype for like in _likes(tree_map(like_of, value)))


def _short(value: Any, given: Given) -> Any:
    """The first objects of an array that has many."""
    if hasattr(value, "shape") and len(value.shape) and value.shape[0] > _MANY:
        given.expression += f"[:{_MANY // 2}]"
        return value[:_MANY // 2]
    return value


def _drawn(tree: Any, engine: Engine) -> Any:
    """Values like those that were seen; the draft draws them in the same way."""
    rng = np.random.default_rng(0)
    return tree_map(lambda like: engine.from_numpy(draw(like, rng)), tree)


def draw(like: Like, rng: np.random.Generator) -> Any:
    """A value of a type, within bounds if there are any."""
    if like.dtype in ("bool", "int", "float") and not like.shape:
        return {"bool": bool, "int": int, "float": float}[like.dtype](like.low or 0)
    if like.dtype == "bool":
        return rng.random(like.shape) < 0.5
    if "int" in like.dtype:
        return rng.integers(int(like.low or 0), int(like.high or 1) + 1, like.shape).astype(like.dtype)
    if like.low is not None and like.high is not None and like.low >= 0 and like.high <= 1:
        return rng.uniform(0, 1, like.shape).astype(like.dtype)
    fan_in = like.shape[0] if len(like.shape) > 1 and like.low is None else 1
    return (rng.standard_normal(like.shape) / fan_in ** 0.5).astype(like.dtype)


def _try(found: Found, functions: dict[str, Any], engine: Engine, main: Any) -> None:
    """Runs what has been found, and leaves out what does not run."""
    params, values = found.raw_params, found.values
    keyed = [engine.from_numpy(engine.keys(0, 1)[0])]

    def call(function: Any, *leading: Any) -> Any:
        named = {one.name: values[one.name] for one in _parameters(function)[len(leading):] if one.name in values}
        key = {one.name: keyed[0] for one in _parameters(function) if one.name in KEY_NAMES}
        return function(*leading, **named, **key)

    result = call(main, params)
    number = result[0] if isinstance(result, tuple) and result else result
    if found.roles.get("loss") and getattr(number, "shape", ()) != ():
        found.roles["forward"] = found.roles.pop("loss")
        found.notes.append(f"{main.__name__} returns no single number, so it is the forward, and there is no loss")
    forward = functions.get(found.roles.get("forward", ""))
    if forward is not None:
        try:
            found.outputs = tree_map(like_of, call(forward, params))
        except Exception as error:
            if found.roles.get("loss") is None:
                raise
            found.notes.append(f"forward={forward.__name__} was left out: {type(error).__name__} when called with "
                               f"{', '.join(values) or 'nothing'}; Model(inputs=) can say what it takes")
            del found.roles["forward"]
    sizes = {like.shape[:1] for like in _likes([one.like for one in found.batch.values()])}
    outputs = {like.shape[:1] for like in _likes(found.outputs)} if found.outputs is not None else sizes
    if len(sizes) == 1 and sizes != {()} and outputs == sizes:
        found.axis = 0
    update = functions.get(found.roles.get("update", ""))
    if update is not None:
        _try_update(found, update, call, engine)


def _try_update(found: Found, update: Any, call: Callable[..., Any], engine: Engine) -> None:
    """How the update is called, and where in its result the parameters are: nearest to the old ones."""
    leaves, _, structure = engine.flatten(found.raw_params)
    before = [np.asarray(x, "float64") for x in leaves]
    names = [one.name for one in _parameters(update) if one.default is one.empty and one.name not in KEY_NAMES]
    extra = [name for name in names[1:] if name not in found.values]
    try:
        if len(extra) > 1 or (extra and names[1] != extra[0]):
            raise TypeError(f"it takes {', '.join(extra)}")
        zeros = engine.unflatten(structure, [x * 0 for x in leaves])
        result = call(update, found.raw_params, *([zeros] if extra else []))
        gaps = {}
        for i, item in enumerate(result if type(result) in (list, tuple) else ()):
            parts, _, shape = engine.flatten(item)
            if shape == structure:
                gaps[i] = sum(float(np.abs(np.asarray(a, "float64") - b).sum()) for a, b in zip(parts, before))
        if engine.flatten(result)[2] != structure and not gaps:
            raise TypeError("nothing in its result has the structure of the parameters")
    except Exception as error:
        found.notes.append(f"update={update.__name__} was left out: {type(error).__name__}: "
                           f"{(str(error).splitlines() or [''])[0][:80]}")
        del found.roles["update"]
        return
    found.state = bool(extra)
    if gaps and min(gaps, key=lambda i: gaps[i]) != min(gaps):
        found.picked = min(gaps, key=lambda i: gaps[i])
