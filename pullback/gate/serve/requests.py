"""A request's JSON as leaves of a batch, or the reason why it is refused. Reasons name places and types, not values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from pullback.gate.contract import Contract
from pullback.gate.values import is_float

__all__ = ["RefusedRequest", "checked", "in_contract", "parsed", "plain_leaves"]

_DEEPEST = 16


class RefusedRequest(Exception):
    """A request that is not answered; `kind` is a label for metrics, of which there are few.

    Args:
      status: of HTTP.
      where: the path of the leaf.
    """

    def __init__(self, status: int, kind: str, message: str, where: str = "") -> None:
        super().__init__(message)
        self.status, self.kind, self.where = status, kind, where

    def data(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "message": str(self), "where": self.where}}


def parsed(body: bytes) -> Any:
    """The entry "inputs" of a body.

    Raises:
      RefusedRequest: it is no JSON, or has another form.
    """
    def constant(name: str) -> NoReturn:
        raise RefusedRequest(422, "not finite", f"the body has {name}; finite numbers are required")

    try:
        found = json.loads(body, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise RefusedRequest(400, "no JSON", f"the body is no JSON{place}") from None
    if not isinstance(found, dict) or set(found) != {"inputs"}:
        raise RefusedRequest(400, "form", 'the body must be {"inputs": ...} and nothing else')
    return found["inputs"]


def checked(given: Any, like: Any, path: str = "inputs") -> Any:
    """A JSON value as a tree of arrays; it must have the structure of `like`, which is one.

    Raises:
      RefusedRequest: another structure, or a leaf of another rank or kind.
    """
    if isinstance(like, Mapping):
        if not isinstance(given, dict):
            raise RefusedRequest(422, "structure", f"{path} is {_kind(given)}; an object with the entries "
                                 f"{sorted(map(str, like))} is required", path)
        names = {str(name): name for name in like}
        for name in names:
            if name not in given:
                raise RefusedRequest(422, "structure", f"{path} lacks the entry {name!r}", path)
        if len(given) > len(names):
            raise RefusedRequest(422, "structure", f"{path} has {len(given)} entries; only {sorted(names)} are allowed",
                                 path)
        return {name: checked(given[shown], like[name], f"{path}/{shown}") for shown, name in names.items()}
    if like is None:
        if given is not None:
            raise RefusedRequest(422, "structure", f"{path} is {_kind(given)}; null is required", path)
        return None
    if type(like) in (list, tuple):
        if not isinstance(given, list) or len(given) != len(like):
            raise RefusedRequest(422, "structure", f"{path} is {_kind(given)}; an array of {len(like)} parts is "
                                 "required", path)
        return type(like)(checked(one, below, f"{path}/{i}") for i, (one, below) in enumerate(zip(given, like)))
    return _array(given, like, path)


def plain_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree of dicts, lists, plain tuples and None, in which any other node counts as a leaf."""
    if isinstance(tree, Mapping):
        return [leaf for below in tree.values() for leaf in plain_leaves(below)]
    if type(tree) in (list, tuple):
        return [leaf for below in tree for leaf in plain_leaves(below)]
    return [] if tree is None else [tree]


def _kind(value: Any) -> str:
    """The kind of a JSON value, in words."""
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a number", str: "a string", dict: "an object",
            list: "an array"}[type(value)] + (f" of {len(value)}" if isinstance(value, list) else "")


def _array(given: Any, like: Any, path: str) -> np.ndarray:
    """Nested lists of numbers as an array of the dtype of `like`."""
    dtype = np.asarray(like).dtype
    shape: list[int] = []
    below = given
    while isinstance(below, list) and len(shape) < _DEEPEST:
        shape.append(len(below))
        below = below[0] if below else None
    flat: list[Any] = []
    _flatten(given, shape, flat, path)
    allowed: tuple[type, ...] = (bool,) if dtype.kind == "b" else (int,) if dtype.kind in "iu" else (int, float)
    for value in flat:
        if type(value) not in allowed:
            wanted = {"b": "true or false", "i": "whole numbers", "u": "whole numbers"}.get(dtype.kind, "numbers")
            raise RefusedRequest(422, "dtype", f"{path} contains {_kind(value)}"
                                 f"{' that is not whole' if type(value) is float and dtype.kind in 'iu' else ''}; "
                                 f"{wanted} are required", path)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if any(not bounds.min <= value <= bounds.max for value in flat):
            raise RefusedRequest(422, "range", f"{path} contains a number that {dtype} does not have", path)
    try:
        with np.errstate(over="ignore"):
            array = np.array(flat, "float64" if is_float(np.empty(0, dtype)) else dtype).astype(dtype).reshape(shape)
    except OverflowError:
        array = np.array([math.inf])
    if is_float(array) and not np.all(np.isfinite(array.astype("float64"))):
        raise RefusedRequest(422, "not finite", f"{path} contains a number that is too large for {dtype}", path)
    return array


def _flatten(value: Any, shape: list[int], flat: list[Any], path: str) -> None:
    if not shape:
        if isinstance(value, list):
            raise RefusedRequest(422, "shape", f"{path} is nested unevenly, or too deep", path)
        flat.append(value)
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise RefusedRequest(422, "shape", f"{path} is nested unevenly; arrays of one length are required", path)
    for below in value:
        _flatten(below, shape[1:], flat, path)


def in_contract(contract: Contract, batch: Any) -> None:
    """Raises RefusedRequest if the batch breaks the contract. Its message has the value that does."""
    problems = contract.problems(batch=batch)
    if problems:
        first = problems[0]
        kind = "range" if " at [" in first.measured else "shape"
        raise RefusedRequest(422, kind, "; ".join(map(str, problems[:3])).replace("batch", "inputs"),
                             first.leaf.replace("batch", "inputs"))
