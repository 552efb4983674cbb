"""A script of at most 30 lines that shows, under real jax, what the operation that parts does in the two runs."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.gate.bodies import array_text
from pullback.gate.diagnose.locate import Break
from pullback.gate.expressions import ELEMENTWISE, IMPLS, Call, expression
from pullback.gate.values import Key, distance, dtype_name, is_float, number

__all__ = ["of_files", "script"]

LINES = 30
_LISTED = 60  # values; more are packed
_PACKED = 1 << 15  # bytes, packed; of a larger array the script makes numbers like them
_UNPACK = ("packed = lambda text, kind, shape: jnp.asarray(np.frombuffer(zlib.decompress(base64.b64decode(text)), "
           "jnp.dtype(kind)).reshape(shape))")
_COMPARED = ["np.seterr(invalid='ignore')", 'print("first ", np.asarray(first), "\\nsecond", np.asarray(second))',
             "same = first.shape == second.shape and first.dtype == second.dtype",
             "wide = [np.asarray(x).astype(complex) for x in (first, second)]",
             "near = same and np.allclose(*wide, rtol=1e-6 * (first.dtype.kind not in 'biu'), atol=0, equal_nan=True)",
             "apart = np.abs(wide[0] - wide[1]).max(initial=0) if same else 'another shape or dtype'",
             "print('they agree:' if near else 'they part:', apart)"]


def script(broken: Break, title: str, targets: Sequence[str], part: str) -> str:
    """The script: of one operation if that can be written in 30 lines of jax, of the two files if not."""
    made = _of_operation(broken, title)
    name = broken.operation.name
    return made or of_files(f"{title}\n{name} has no short form in jax alone, so all of {part} is run.", targets, part)


class _Values:
    """The lines of a script that define values, each once."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # text -> name
        self.exact = True  # whether all are the values of the run
        self.wide = False  # whether some need 64 bits

    def name(self, x: Any) -> str:
        text = self.text(x)
        return self.names.setdefault(text, f"x{len(self.names)}")

    def text(self, x: Any) -> str:
        if isinstance(x, Key):
            kind = str(x.kind)
            return f"jax.random.wrap_key_data({self.text(x.words)}, impl={IMPLS.get(kind, kind)!r})"
        self.wide |= dtype_name(x) in ("float64", "int64", "uint64", "complex128")
        if np.size(x) <= _LISTED:
            return array_text(x)
        values = np.ascontiguousarray(x)
        text = base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()
        if len(text) <= _PACKED:
            return f'packed("{text}", {values.dtype.name!r}, {values.shape})'
        self.exact = False
        return _like(x)


def _kind(x: Any) -> tuple[tuple[int, ...], str]:
    name = dtype_name(x)
    return tuple(getattr(x, "shape", ())), {"int": "int32", "float": "float32", "complex": "complex64"}.get(name, name)


def _of_operation(broken: Break, title: str) -> str | None:
    operands, results = list(broken.operands), list(broken.results)
    if broken.kind == "computed":  # the same call; what the first run gave is a number
        operands[0] = operands[1]
    operands, results = _one_element(broken, operands, results)
    place = _parted(results)
    values, functions = _Values(), []
    sides: list[str | None] = [None, None]
    for k, operation in enumerate((broken.first, broken.second)):
        if operation is None or (k == 0 and broken.kind == "computed"):
            continue
        if len(operands[k]) != len(operation.inputs) or place >= len(results[k]):
            return None
        run = f"run{k}" if operation.lines else ""
        functions += [line.replace("def run(", f"def {run}(", 1) for line in operation.lines or ()]
        call = Call(operation.name, operation.params, [values.name(x) for x in operands[k]],
                    [_kind(x) for x in operands[k]], [_kind(x) for x in results[k]], run)
        sides[k] = _result(call, place)
        if sides[k] is None:
            return None
    if broken.kind == "computed":
        sides[0] = values.text(results[0][place])
        if isinstance(results[0][place], Key):
            sides[0] = f"jax.random.key_data({sides[0]})"
        if not values.exact:  # of other numbers it would be another result
            return None
    for k in (0, 1):  # an operation that only one side has: the other has what it is given
        if sides[k] is None:
            other = operands[1 - k]
            floats = [x for x in other if is_float(x)] or other
            like = [x for x in floats if np.shape(x) == np.shape(results[1 - k][place])] or floats
            if not like or isinstance(like[0], Key):
                return None
            sides[k] = values.name(like[0])
    texts = [f"{name} = {text}" for text, name in values.names.items()]
    packed = any("packed(" in text for text in (*texts, *map(str, sides)))
    lines = [*_heading(title, "jax is"), *(["import base64", "import zlib", ""] if packed else []), "import jax",
             "import jax.numpy as jnp", "import numpy as np", ""]
    lines += ['jax.config.update("jax_enable_x64", True)'] if values.wide else []
    lines += [_UNPACK] if packed else []
    lines += [*texts, *functions, f"first = jnp.asarray({sides[0]})", f"second = jnp.asarray({sides[1]})",
              *_COMPARED]
    if "\n".join(lines).count("\n") >= LINES:
        lines = [line for line in lines if line]
    text = "\n".join(lines) + "\n"
    return text if text.count("\n") <= LINES and sides[0] != sides[1] else None


def _result(call: Call, place: int) -> str | None:
    """The expression of one result; keys as their words."""
    try:
        text = expression(call)
    except (IndexError, KeyError, TypeError, ValueError):  # other parameters than are known
        return None
    if text is None:
        return None
    text = text if len(call.results) == 1 else f"({text})[{place}]"
    return f"jax.random.key_data({text})" if call.results[place][1] == "key" else text


def _parted(results: Sequence[Sequence[Any]]) -> int:
    """Which of several results is furthest apart."""
    if len(results[0]) != len(results[1]) or len(results[1]) < 2:
        return 0
    gaps = [distance(a, b).relative for a, b in zip(*results)]
    return int(np.argmax(gaps))


def _heading(title: str, needs: str) -> list[str]:
    return ['"""' + title.replace('"""', "'''").replace("\\", "/"), "",
            f'Made by pullback diagnose; run it with Python where {needs} installed."""']


def _one_element(broken: Break, operands: list[list[Any]], results: list[list[Any]]
                 ) -> tuple[list[list[Any]], list[list[Any]]]:
    """Of an elementwise operation, the one element with the largest difference."""
    whole = [x for side in (*operands, *results) for x in side]
    if any(isinstance(x, Key) or operation.name not in ELEMENTWISE
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


def of_files(title: str, targets: Sequence[str], part: str, compiled: bool = False, plain: Sequence[str] = ()) -> str:
    """A script that runs a part of two files, where no operation can be written by itself.

    Args:
      compiled: the second run is compiled.
      plain: the transformations that are taken away in the first run.
    """
    return "\n".join([
        *_heading(title, "jax and pullback[gate] are"), "import numpy as np", "",
        "from pullback.gate.engine import load", "from pullback.gate.parts import run_part",
        "from pullback.gate.session import Session", "from pullback.gate.target import find_model, load_file",
        "from pullback.gate.watch import Watch", "", 'engine = load("jax")', "", "",
        "def run(target, compiled=False, off=()):", '    path, _, name = target.partition(":")',
        "    with Watch(engine) as watch, watch.plain.without(frozenset(off)):",
        "        session = Session(find_model(load_file(path, engine), path, name), engine, watch)",
        "        values = session.params.leaves, session.batch.leaves",
        f"        return run_part(session, {part!r}, *values, compiled=compiled)", "", "",
        f"names, first = run({targets[0]!r}{f', off={list(plain)}' if plain else ''})",
        f"_, second = run({targets[1]!r}{', compiled=True' if compiled else ''})",
        "for name, a, b in zip(names, first, second):",
        '    print(name, "largest difference", np.abs(np.asarray(a, complex) - np.asarray(b, complex)).max())',
    ]) + "\n"
