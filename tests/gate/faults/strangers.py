"""Random faults in models that the corpus does not have: how well does a report name lines that nobody chose?

Each is a model of tests/gate/pairs with one random change of its text, of a token or a line, and with answers of the
right model to judge by. The changes are made here, by tokens, and not by what the gate's search for edits knows.
"""

from __future__ import annotations

import dataclasses
import io
import keyword
import linecache
import random
import re
import tokenize
from collections.abc import Iterator

import numpy as np

from pullback import gate
from pullback.gate.engine import Engine
from tests.gate.faults import Case, Twin
from tests.gate.pairs.pairs import FOLDER

MODELS = ("transformer", "rnn", "ode", "particles")  # those that take no key
_OPERATORS = (("+", "-", "*"), ("*", "/", "+"), ("<", "<=", ">", ">="))
_FUNCTIONS = ("tanh", "exp", "sum", "mean", "max", "min", "abs", "sin", "cos", "sqrt", "log1p", "maximum", "minimum",
              "cumsum", "prod", "std")
_TAILS = (" * 0.7", " + 0.3", " ** 2", "[::-1]", " / 3", " - 1")


def strangers(engine: Engine, seed: int, count: int) -> Iterator[Case]:
    """`count` random faults, as cases that a check of known answers finds; some may be no faults at all."""
    rng = random.Random(seed)
    right = {name: _answers(engine, name) for name in MODELS}
    for number in range(count):
        name = MODELS[number % len(MODELS)]
        text = (FOLDER / f"{name}.py").read_text()
        changed, line = _changed(text, rng)
        file = f"{FOLDER}/{name}+{seed}.{number}.py"
        linecache.cache[file] = (len(changed), None, changed.splitlines(keepends=True), file)
        space: dict = {"__name__": f"stranger_{name}", "__file__": file}
        exec(compile(changed, file, "exec"), space)
        old, new = (source.splitlines()[line - 1].strip() for source in (text, changed))

        def build(jax, make=space["build"], answers=right[name]):
            return dataclasses.replace(make(jax), expected=answers)

        yield Case(f"{name}.{seed}.{number}", build, Twin(f"{old}  ->  {new}", "reference", old, new),
                   frozenset([line]), frozenset([line]), file)


def _answers(engine: Engine, name: str) -> list[gate.Expected]:
    """What the right model gives at its parameters and at others."""
    space: dict = {"__name__": f"right_{name}"}
    exec(compile((FOLDER / f"{name}.py").read_text(), f"right_{name}", "exec"), space)
    model = space["build"](engine.module(""))
    found = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        params = {key: np.asarray(x + 0.1 * seed * rng.standard_normal(np.shape(x)), "float32")
                  for key, x in model.params.items()}
        given = engine.from_numpy(list(params.values()))
        params_in, batch = dict(zip(params, given)), {key: engine.from_numpy(x) for key, x in model.batch.items()}
        inputs = [batch[key] for key in list(batch)[:_count(model.forward) - 1]]
        parts = {"outputs": np.asarray(engine.to_numpy(model.forward(params_in, *inputs))),
                 "loss": float(model.loss(params_in, *batch.values()))}
        if model.update is not None and model.state is None:
            new = model.update(params_in, *batch.values())
            parts["updated"] = {key: np.asarray(engine.to_numpy(x)) for key, x in new.items()}
        found.append(gate.Expected(f"the right model, {seed}", params=params, **parts))
    return found


def _count(function) -> int:
    return function.__code__.co_argcount


def _changed(text: str, rng: random.Random) -> tuple[str, int]:
    """The text with one random change in the function `build`, and its line."""
    lines = text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("def build"))
    last = max(i for i, line in enumerate(lines) if "return gate.Model" in line)
    while True:
        place = rng.randrange(first + 2, last - 1)
        line = lines[place]
        if not line.startswith("        ") or re.match(r"\s*(def |@|\"\"\"|try|except|return bool|return False)", line):
            continue
        new = rng.choice((_operator, _number, _name, _function, _tail, _entry))(line, lines[first:last], rng)
        if new is None or new == line:
            continue
        changed = "".join([*lines[:place], new, *lines[place + 1:]])
        try:
            compile(changed, "changed", "exec")
        except SyntaxError:
            continue
        return changed, place + 1


def _tokens(line: str) -> list[tokenize.TokenInfo]:
    try:
        return list(tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline))
    except (tokenize.TokenError, IndentationError):
        return []


def _put(line: str, token: tokenize.TokenInfo, text: str) -> str:
    indent = len(line) - len(line.lstrip())
    return line[:indent + token.start[1]] + text + line[indent + token.end[1]:]


def _operator(line: str, _: list[str], rng: random.Random) -> str | None:
    found = [token for token in _tokens(line) if any(token.string in group for group in _OPERATORS)]
    if not found:
        return None
    token = rng.choice(found)
    return _put(line, token, rng.choice(next(group for group in _OPERATORS if token.string in group)))


def _number(line: str, _: list[str], rng: random.Random) -> str | None:
    found = [token for token in _tokens(line) if token.type == tokenize.NUMBER]
    if not found:
        return None
    token = rng.choice(found)
    value = float(token.string)
    whole = token.string.isdigit()
    return _put(line, token, str(rng.choice([int(value) + 1, int(value) + 2, 0] if whole else
                                            [3 * value, 0.6 * value, value + 0.25])))


def _name(line: str, lines: list[str], rng: random.Random) -> str | None:
    """A variable for another one of those around."""
    assigned = {name for other in lines for name in re.findall(r"^\s+(\w+)(?:, \w+)* = ", other)}
    found = [token for token in _tokens(line) if token.string in assigned and token.start[1] > 0]
    if not found or keyword.iskeyword(found[0].string):
        return None
    return _put(line, rng.choice(found), rng.choice(sorted(assigned)))


def _function(line: str, _: list[str], rng: random.Random) -> str | None:
    tokens = _tokens(line)
    found = [after for before, after in zip(tokens, tokens[1:]) if before.string == "." and after.string in _FUNCTIONS]
    return _put(line, rng.choice(found), rng.choice(_FUNCTIONS)) if found else None


def _tail(line: str, _: list[str], rng: random.Random) -> str | None:
    if not re.match(r"\s*(return|\w+ =) [^{]*[\w)\]]\n$", line):
        return None
    start, _, rest = line.rstrip("\n").partition("return " if "return " in line else " = ")
    middle = "return " if "return " in line else " = "
    return f"{start}{middle}({rest}){rng.choice(_TAILS)}\n"


def _entry(line: str, lines: list[str], rng: random.Random) -> str | None:
    keys = sorted({key for other in lines for key in re.findall(r"params\[\"(\w+)\"\]", other)})
    found = re.findall(r"params\[\"\w+\"\]", line)
    return line.replace(rng.choice(found), f'params["{rng.choice(keys)}"]', 1) if found else None
