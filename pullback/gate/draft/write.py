"""The text of a draft."""

from __future__ import annotations

import math
import os
import pprint
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pullback.gate.draft.look import Found
from pullback.gate.draft.seen import Like, like_of, tree_map

__all__ = ["draft"]

_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64",
          "complex128": "c128", "bool": "bool", "float": "f32", "int": "i32",
          **{f"{sign}int{n}": f"{short}{n}" for sign, short in (("", "i"), ("u", "u")) for n in (8, 16, 32, 64)}}
_PLAIN = "rng.standard_normal({shape})"


def draft(found: Found, script: str, output: str) -> str:
    """The text of a file with the model of a script.

    Args:
      script, output: the paths of both.
    """
    stem, roles = Path(script).stem, found.roles
    own = stem if stem.isidentifier() and stem not in ("gate", "rng", "jax", "np", "model", "batch", "contract",
                                                       "update") else "script"
    drawn = [one for one in (*found.batch.values(), found.params) if one is not None and not one.expression]
    lines = [f'"""What `pullback verify {os.path.basename(output)}` checks of {os.path.basename(script)}.',
             "", "A first version, written by `pullback init`. Make it true: ranges are those of the values that were",
             'seen, and what the functions are meant for only you know."""', ""]
    folders = os.path.dirname(os.path.abspath(script)), os.path.dirname(os.path.abspath(output))
    imports = ["import importlib"] if own != stem else []
    if folders[0] != folders[1]:
        imports += ["import os", "import sys"]
    lines += imports + ([""] if imports else [])
    if found.state:
        lines.append("import jax")
    if drawn:
        lines.append("import numpy as np")
    if folders[0] != folders[1]:
        lines += ["", f"sys.path.insert(0, os.path.join(os.path.dirname(__file__), "
                      f"{os.path.relpath(folders[0], folders[1])!r}))"]
    lines += [f"import {stem}", "from pullback import gate", ""] if own == stem else [
        "from pullback import gate", "", f"{own} = importlib.import_module({stem!r})"]
    if drawn:
        lines += ["# Drawn at random with the shapes and ranges that a run of the script showed; real data is better.",
                  "rng = np.random.default_rng(0)"]
    params = None
    if found.params is not None:
        params = f"{own}.{found.params.expression}"
        if not found.params.expression:
            lines.append(f"params = {_literal(found.params.like)}")
            params = "params"
    if found.batch:
        lines.append(_assigned("batch", {name: _Code(f"{own}.{one.expression}" if one.expression else
                                                     _literal(one.like)) for name, one in found.batch.items()}))
    lines += ["contract = gate.Contract(", _argument("params", _specs(tree_map(like_of, found.raw_params), None))]
    if found.batch:
        lines.append(_argument("batch", {name: _specs(one.like, found.axis, bounds=True)
                                         for name, one in found.batch.items()}))
    if found.outputs is not None:
        lines.append(_argument("outputs", _specs(found.outputs, found.axis)))
    lines += [")", ""]
    if found.picked is not None:
        arguments = ", ".join(["params", *(["state"] if found.state else []), *found.batch])
        lines += ["", f"def update({arguments}):",
                  f"    return {own}.{roles['update']}({arguments})[{found.picked}]", "", ""]
    lines += ["model = gate.Model(", *_fields(found, own, params), ")", ""]
    return "\n".join(lines)


def _fields(found: Found, own: str, params: str | None) -> list[str]:
    roles, rows = found.roles, []
    main = "loss" if "loss" in roles else "forward"
    for role in ("loss", "forward"):
        if role in roles:  # the contract is enforced where the batch comes in
            called = f"{own}.{roles[role]}"
            rows.append(f"{role}={f'contract.guard({called})' if role == main else called}")
    rows += [f"params={params}"] if params is not None else []
    rows += [f"init={own}.{roles['init']}"] if "init" in roles else []
    rows += ["batch=batch"] if found.batch else []
    if "update" in roles:
        rows.append("update=update" if found.picked is not None else f"update={own}.{roles['update']}")
        if found.state:
            made = params or f"{own}.{roles['init']}(jax.random.key(0))"
            rows.append(f"state=jax.tree.map(lambda x: x * 0, {made})")
    rows.append("contract=contract")
    if found.axis is None:
        rows.append("batch_axis=None")
    notes = [f"# {note}" for note in found.notes]
    todo = ["# Say more of what you mean, and the checks become sharper (docs/gate.md has all fields):",
            "# frozen=[...], refused=[gate.Refused(...)], splits={'train': ..., 'test': ...}, tolerances={...}"]
    return [f"    {row}," for row in rows] + [f"    {row}" for row in (*notes, *todo)]


class _Code:
    """An expression, printed as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _pretty(tree: Any, indent: int) -> str:
    text = pprint.pformat(tree, width=112 - indent, sort_dicts=False)
    text = text if '"' in text else text.replace("'", '"')
    return text.replace("\n", "\n" + " " * indent)


def _assigned(name: str, tree: Any) -> str:
    return f"{name} = {_pretty(tree, len(name) + 3)}"


def _argument(name: str, tree: Any) -> str:
    return f"    {name}={_pretty(tree, len(name) + 5)},"


def _literal(tree: Any) -> str:
    """An expression that draws a tree, as `look.draw` does."""
    return _pretty(tree_map(lambda like: _Code(_drawing(like)), tree), 4)


def _drawing(like: Like) -> str:
    if like.dtype in ("bool", "int", "float") and not like.shape:
        return repr({"bool": bool, "int": int, "float": float}[like.dtype](like.low or 0))
    if like.dtype == "bool":
        return f"rng.random({like.shape}) < 0.5"
    kind = f".astype({like.dtype!r})"
    if "int" in like.dtype:
        return f"rng.integers({int(like.low or 0)}, {int(like.high or 1) + 1}, {like.shape}){kind}"
    if like.low is not None and like.high is not None and like.low >= 0 and like.high <= 1:
        return f"rng.uniform(0, 1, {like.shape}){kind}"
    if len(like.shape) > 1 and like.low is None:
        return f"({_PLAIN.format(shape=like.shape)} / {like.shape[0]} ** 0.5){kind}"
    return f"{_PLAIN.format(shape=like.shape)}{kind}"


def _specs(tree: Any, axis: int | None, bounds: bool = False) -> Any:
    """A tree of specs; `...` for what contracts have no words for."""
    if isinstance(tree, Mapping) and not all(isinstance(key, (str, int)) for key in tree):
        return ...
    return tree_map(lambda like: _spec(like, axis, bounds), tree)


def _spec(like: Like, axis: int | None, bounds: bool) -> str:
    kind = _SHORT.get(like.dtype, "any")
    dims = [str(size) for size in like.shape]
    if axis == 0 and dims:
        dims[0] = "n"
    return f"{kind}[{', '.join(dims)}]{_range(like) if bounds else ''}"


def _range(like: Like) -> str:
    """Of integers what was seen, of floats with room: a power of ten that is at least three times as large."""
    if like.low is None or like.high is None or like.dtype == "bool":
        return ""
    if "int" in like.dtype:
        return f" in [{min(0, int(like.low))}, {int(like.high)}]"
    if like.low >= 0 and like.high <= 1:
        return " in [0, 1]"
    bound = 10 ** max(0, math.ceil(math.log10(3 * max(abs(like.low), abs(like.high)))))
    return f" in [{0 if like.low >= 0 else -bound}, {bound}]"
