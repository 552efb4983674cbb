"""Operations that carry programs (loops, branches, folds) written as functions of jax, for scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.gate.expressions import Call, expression, literal
from pullback.gate.values import dtype_name

__all__ = ["LINES", "array_text", "function"]

LINES = 15  # of a function; a longer one makes no short script
_WIDTH = 110  # of a line with several assignments


def array_text(x: Any) -> str:
    """A NumPy expression for a value."""
    if isinstance(x, (bool, int, float, complex)):
        return literal(x)
    values = np.asarray(x)
    name = values.dtype.name
    listed = values.astype("float64") if name in ("bfloat16", "float16") else values
    text = np.array2string(listed, separator=",", threshold=1 << 20, max_line_width=1 << 20, floatmode="unique")
    text = " ".join(text.split()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"jnp.array({text}, {name!r})" if values.size else f"jnp.zeros({values.shape}, {name!r})"


def function(reader: Any, equation: Any, name: str = "run") -> list[str] | None:
    """Lines that define the function `name` that does what the equation does; None if it carries no program.

    Its result is that of the equation, or the tuple of them. None also where a part has no expression, or all is long.
    """
    bodies = reader.bodies(equation)
    if reader.name(equation) == "custom_linear_solve":
        bodies = bodies[2:3]  # what solves; the others are for derivatives
    if not bodies:
        return None
    inside: list[str] = []
    for i, body in enumerate(bodies):
        found = _body(reader, body, f"part{i}")
        if found is None:
            return None
        inside += found
    atoms, variables = reader.atoms(equation)
    call = Call(reader.name(equation), reader.params(equation), [], [_kind(a) for a in atoms],
                [_kind(v) for v in variables])
    loop = reader.loop(equation)
    made = _loop(reader, equation, loop, bodies) if loop is not None else _fold(call)
    if made is None:
        return None
    result = "return y[0]" if len(variables) == 1 else "return tuple(y)"
    lines = [f"def {name}(*a):", *("    " + line for line in (*inside, *made, result))]
    return lines if len(lines) <= LINES else None


def _aval(atom: Any) -> Any:
    return atom.aval if hasattr(atom, "aval") else atom.type


def _kind(atom: Any) -> tuple[tuple[int, ...], str]:
    kind = _aval(atom)
    return tuple(kind.shape), "key" if "key" in str(kind.dtype) else str(kind.dtype)


def _rank(atom: Any) -> int:
    return len(_aval(atom).shape)


def _loop(reader: Any, equation: Any, loop: Any, bodies: Sequence[Any]) -> list[str] | None:
    atoms, variables = reader.atoms(equation)
    if loop.kind == "call":
        return ["y = part0(*a)"]
    if loop.kind == "cond":
        return [f"y = jax.lax.switch(a[0], [{', '.join(f'part{i}' for i in range(len(bodies)))}], *a[1:])"]
    if loop.kind == "scan":
        (body,) = loop.bodies
        rows = sum(_rank(v) != _rank(a) for v, a in zip(body.inputs, atoms))
        carried = sum(_rank(a) == _rank(b) for a, b in zip(body.outputs, variables))
        first = len(atoms) - rows - carried
        return [f"step = lambda c, x: (lambda y: (y[:{carried}], y[{carried}:]))(part0(*a[:{first}], *c, *x))",
                f"c, y = jax.lax.scan(step, tuple(a[{first}:{first + carried}]), tuple(a[{first + carried}:]), "
                f"length={loop.counts[0]}, reverse={loop.reverse})", "y = (*c, *y)"]
    first, second = loop.counts
    conditions = f"part0(*a[:{first}], *c)[0]"
    start, new = first + second, f"part1(*a[{first}:{first + second}], *c)"
    if not _rank(bodies[0].outputs[0]):
        return [f"y = jax.lax.while_loop(lambda c: {conditions}, lambda c: {new}, tuple(a[{start}:]))"]
    return [f"going = lambda c: {conditions}",  # of a batch: each goes on as long as its own condition holds
            "chosen = lambda p, n, o: jnp.where(jnp.reshape(p, p.shape + (1,) * (n.ndim - p.ndim)), n, o)",
            f"step = lambda c: tuple(chosen(going(c), n, o) for n, o in zip({new}, c))",
            f"y = jax.lax.while_loop(lambda c: going(c).any(), step, tuple(a[{start}:]))"]


def _fold(call: Call) -> list[str] | None:
    """What a program folds: a reduction, over axes or windows; or a system that it solves."""
    half = len(call.operands) // 2
    given = f"a[:{half}], a[{half}:], lambda s, t: tuple(part0(*s, *t))"
    if call.name == "reduce":
        return [f"y = jax.lax.reduce({given}, {call['axes dimensions']})"]
    if call.name == "reduce_window":
        sizes = ", ".join(str(call[name]) for name in ("window window_dimensions", "strides window_strides", "padding",
                                                       "base_dilation", "window_dilation"))
        return [f"y = jax.lax.reduce_window({given}, {sizes})"]
    lengths = [int(n) for n in re.findall(r"\w+=(\d+)", str(call["const_lengths"]))]
    if call.name == "custom_linear_solve" and len(lengths) == 4:
        before = lengths[0] + lengths[1]
        return [f"y = part0(*a[{before}:{before + lengths[2]}], *a[{sum(lengths)}:])"]
    return None


def _body(reader: Any, body: Any, name: str) -> list[str] | None:
    names: dict[Any, str] = {}
    lines: list[str] = []

    def add(line: str) -> None:
        if lines and lines[-1] and len(lines[-1]) + len(line) < _WIDTH:
            lines[-1] += f"; {line}"
        else:
            lines.append(line)

    def named(variable: Any) -> str:
        return names.setdefault(variable, f"v{len(names)}")

    def shown(atom: Any) -> str:
        is_literal, value = reader.literal(atom)
        return array_text(value) if is_literal else named(atom)

    header = f"def {name}({', '.join(named(v) for v in body.inputs)}):"
    for variable, value in body.consts:
        if np.size(value) > 60 or "key" in dtype_name(value):
            return None
        add(f"{named(variable)} = {array_text(np.asarray(value))}")
    for number, equation in enumerate(body.equations):
        atoms, variables = reader.atoms(equation)
        run = ""
        inner = function(reader, equation, f"run{number}")
        if inner is not None:
            run = f"run{number}"
            lines += [*inner, ""]
        text = expression(Call(reader.name(equation), reader.params(equation), [shown(a) for a in atoms],
                               [_kind(a) for a in atoms], [_kind(v) for v in variables], run))
        if text is None:
            return None
        add(f"{', '.join(named(v) for v in variables)} = {text}")
        if len(lines) > 2 * LINES:
            return None
    add(f"return ({''.join(f'{shown(x)}, ' for x in body.outputs).rstrip()})")
    return [header, *("    " + line for line in lines if line)]
