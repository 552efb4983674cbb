"""A script of at most 30 lines that shows, under real jax, what the operation that parts does in the two runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.gate.diagnose.locate import Break
from pullback.gate.diagnose.shrink import array_text
from pullback.gate.operations import Operation
from pullback.gate.values import Key, distance, is_float, number

__all__ = ["expression", "script"]

_LISTED = 60  # values; of a larger array the script makes numbers like them

_SAME = {"add", "sub", "mul", "div", "rem", "max", "min", "pow", "exp", "exp2", "log", "log1p", "expm1", "tanh",
         "sinh", "cosh", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "logistic", "neg", "abs", "sign",
         "floor", "ceil", "sqrt", "rsqrt", "cbrt", "square", "erf", "erf_inv", "lgamma", "digamma", "is_finite",
         "eq", "ne", "lt", "le", "gt", "ge", "clamp", "stop_gradient", "nextafter"}
_CALLS = {"add_any": "jnp.add({0}, {1})", "and": "jnp.bitwise_and({0}, {1})", "or": "jnp.bitwise_or({0}, {1})",
          "not": "jnp.bitwise_not({0})", "xor": "jnp.bitwise_xor({0}, {1})", "copy": "jnp.copy({0})",
          "round": "jnp.round({0})", "round_nearest_even": "jnp.round({0})",
          "one_minus_square": "1 - {0} ** 2", "real": "jnp.real({0})", "imag": "jnp.imag({0})"}
_REDUCTIONS = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod",
               "reduce_and": "all", "reduce_or": "any", "argmax": "argmax", "argmin": "argmin"}
_RUNNING = {"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"}


def _param(operation: Operation, *names: str) -> Any:
    """A parameter as a Python value, or None."""
    for name in names:
        found = re.search(rf"\b{name}=(.*?)(?= \w+=|$)", operation.params)
        if found:
            try:
                return ast.literal_eval(found[1])
            except (ValueError, SyntaxError):
                return found[1]
    return None


def expression(operation: Operation, given: Sequence[str], shape: tuple[int, ...], dtype: str) -> str | None:
    """The operation as a call of jax on the given names; None if it cannot be written in one line.

    Args:
      shape, dtype: of its result.
    """
    name = operation.name
    axes = _param(operation, "axes", "axis", "dimension")
    if name in _SAME:
        return f"jax.lax.{name}({', '.join(given)})"
    if name == "select_n":
        return f"jax.lax.select_n({', '.join(given)})"
    if name == "select" and len(given) == 3:
        return f"jnp.where({', '.join(given)})"
    if name in _CALLS:
        return _CALLS[name].format(*given)
    if name in _REDUCTIONS:
        axes = axes[0] if name.startswith("arg") and isinstance(axes, tuple) else axes
        return f"jnp.{_REDUCTIONS[name]}({given[0]}, axis={axes})"
    if name in _RUNNING:
        return f"jax.lax.{name}({given[0]}, axis={axes}, reverse={bool(_param(operation, 'reverse'))})"
    if name == "integer_pow":
        return f"{given[0]} ** {_param(operation, 'y', 'n')}"
    if name == "convert_element_type":
        return f"{given[0]}.astype({dtype!r})"
    if name in ("reshape", "squeeze", "expand_dims"):
        return f"jnp.reshape({given[0]}, {shape})"
    if name == "transpose":
        return f"jnp.transpose({given[0]}, {_param(operation, 'permutation', 'order', 'axes')})"
    if name == "broadcast_in_dim":
        return (f"jax.lax.broadcast_in_dim({given[0]}, {shape}, "
                f"{_param(operation, 'broadcast_dimensions', 'dims') or ()})")
    if name in ("rev", "reverse"):
        return f"jax.lax.rev({given[0]}, {_param(operation, 'dimensions', 'axes') or axes})"
    if name == "concatenate":
        return f"jnp.concatenate([{', '.join(given)}], {axes})"
    if name == "dot_general":
        return f"jax.lax.dot_general({given[0]}, {given[1]}, {_param(operation, 'dimension_numbers', 'dims')})"
    if name == "slice":
        start, limit = _param(operation, "start_indices", "start"), _param(operation, "limit_indices", "limit")
        return f"jax.lax.slice({given[0]}, {start}, {limit}, {_param(operation, 'strides')})"
    if name == "sort" and len(given) == 1:
        return f"jnp.sort({given[0]}, axis={axes})"
    return None


def _heading(title: str, needs: str) -> list[str]:
    return ['"""' + title.replace('"""', "'''"), "",
            f'Made by pullback diagnose; run it with Python where {needs} installed."""']


def script(broken: Break, title: str, targets: tuple[str, str], part: str) -> str:
    """The script: of one operation if it can be written in a line, of the two files if not."""
    made = _of_operation(broken, title)
    return made or of_files(title, targets, part)


def _of_operation(broken: Break, title: str) -> str | None:
    sides: list[str | None] = []
    arrays: dict[str, str] = {}
    operands = list(broken.operands)
    results = list(broken.results)
    operations = [broken.first, broken.second]
    if broken.kind == "computed":  # the same call; what the first run gave is a number
        operands[0] = operands[1]
    operands, results = _one_element(broken, operands, results)

    def named(x: Any) -> str | None:
        if isinstance(x, Key):
            return None
        text = array_text(x) if np.size(x) <= _LISTED else _like(x)
        for name, other in arrays.items():
            if other == text:
                return name
        name = f"x{len(arrays)}"
        arrays[name] = text
        return name

    for k, operation in enumerate(operations):
        if operation is None:
            sides.append(None)
            continue
        given = [named(x) for x in operands[k]]
        if None in given or not results[k]:
            return None
        out = results[k][0]
        text = expression(operation, [x for x in given if x], tuple(np.shape(out)), number_name(out))
        if text is None:
            return None
        sides.append(text)
    if broken.kind == "computed":
        if np.size(results[0][0]) > _LISTED:
            return None
        sides[0] = array_text(results[0][0])
    for k in (0, 1):  # an operation that only one side has: the other has what it is given
        if sides[k] is None:
            other = operands[1 - k]
            floats = [x for x in other if is_float(x)] or other
            like = [x for x in floats if np.shape(x) == np.shape(results[1 - k][0])] or floats
            if not like:
                return None
            sides[k] = named(like[0])
    lines = [*_heading(title, "jax is"), "import jax", "import jax.numpy as jnp", "import numpy as np", ""]
    lines += [f"{name} = {text}" for name, text in arrays.items()]
    lines += [f"first = jnp.asarray({sides[0]})", f"second = jnp.asarray({sides[1]})",
              'print("first ", np.asarray(first))', 'print("second", np.asarray(second))',
              "if first.shape != second.shape or first.dtype != second.dtype:",
              '    print("they part: another shape or dtype")', "else:",
              "    wide = [np.asarray(x).astype(complex if jnp.iscomplexobj(x) else float) for x in (first, second)]",
              "    parted = ~np.isclose(*wide, rtol=1e-6, atol=0, equal_nan=True)",
              '    print("they part:" if parted.any() else "they agree:", np.abs(wide[0] - wide[1]).max())']
    return "\n".join(lines) + "\n" if len(lines) <= 30 and not all(s == sides[0] for s in sides) else None


def number_name(x: Any) -> str:
    """The name of the dtype of a value."""
    return str(np.asarray(x).dtype.name)


def _one_element(broken: Break, operands: list[list[Any]], results: list[list[Any]]
                 ) -> tuple[list[list[Any]], list[list[Any]]]:
    """Of an elementwise operation, the one element with the largest difference."""
    whole = [x for side in (*operands, *results) for x in side]
    if any(isinstance(x, Key) or operation.name not in _SAME | set(_CALLS) | {"integer_pow", "select_n"}
           for x in whole for operation in (broken.first, broken.second) if operation is not None):
        return operands, results
    if None in (broken.first, broken.second) or len({np.shape(x) for x in whole if np.shape(x)}) != 1:
        return operands, results
    gap = distance(results[0][0], results[1][0])
    if not np.shape(results[0][0]) or len(gap.place) != np.ndim(results[0][0]):
        return operands, results

    def at(x: Any) -> Any:
        return np.asarray(x)[gap.place] if np.shape(x) else x
    return [[at(x) for x in side] for side in operands], [[at(x) for x in side] for side in results]


def _like(x: Any) -> str:
    """Numbers like those of a large array."""
    values = np.asarray(x)
    if not is_float(x):
        high = int(number(x).max(initial=0)) + 1
        return (f"jnp.asarray(np.random.default_rng(0).integers(0, {max(high, 1)}, {values.shape})"
                f".astype({values.dtype.name!r}))")
    wide = number(x)
    finite = wide[np.isfinite(wide)]
    middle, spread = (float(finite.real.mean()), float(finite.real.std())) if finite.size else (0.0, 1.0)
    return (f"jnp.asarray(np.random.default_rng(0).normal({middle:.3g}, {spread:.3g}, {values.shape}), "
            f"{values.dtype.name!r})")


def of_files(title: str, targets: tuple[str, str], part: str) -> str:
    """A script that runs a part of both files, where the operation cannot be written in a line."""
    return "\n".join([
        *_heading(title, "jax and pullback[gate] are"), "import numpy as np", "",
        "from pullback.gate.engine import load", "from pullback.gate.parts import run_part",
        "from pullback.gate.session import Session", "from pullback.gate.target import find_model, load_file",
        "from pullback.gate.watch import Watch", "", 'engine = load("jax")', "", "", "def run(target):",
        '    path, _, name = target.partition(":")', "    with Watch(engine) as watch:",
        "        session = Session(find_model(load_file(path, engine), path, name), engine, watch)",
        "        values = session.params.leaves, session.batch.leaves",
        f"        return run_part(session, {part!r}, *values, compiled=False)", "", "",
        f"names, first = run({targets[0]!r})", f"_, second = run({targets[1]!r})",
        "for name, a, b in zip(names, first, second):",
        '    print(name, "largest difference", np.abs(np.asarray(a, complex) - np.asarray(b, complex)).max())',
    ]) + "\n"
