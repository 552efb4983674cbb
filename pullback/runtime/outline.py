"""Texts of programs cut into functions, where XLA's CPU compiler makes more of them so."""

from __future__ import annotations

import math
import re
from typing import Any

RULES = 5  # part of the names of programs on disk: one more whenever another text is made of the same one

# -- a small program as one function of machine code ------------------------------------------------------

# XLA makes a kernel of every fused loop, with a compiler of its own for each: 10 to 25 ms. What it calls small it
# compiles whole, at 2 to 3 ms for a loop, and runs as fast. It does so with what is in a call that has this mark.
_WHOLE = 'mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}'
# Loops of large arrays would have had more than one thread, and their sums the library of `_WITHOUT_LIBRARY`.
_ELEMENTS = 1 << 15
_REDUCED = 4095
_PRODUCT = 4096          # multiplications in a product of matrices
_RESULTS = 8             # for each type: many of one type are loops of a kind, of which XLA compiles one
_CHARACTERS = 60_000
_OPERATIONS = 300
_WITHOUT_LIBRARY = {"xla_cpu_experimental_ynn_fusion_type": ""}

_NAMED = re.compile(r'"?([a-z_]+\.[a-z_0-9]+)"?\(')
_TYPE = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
_MAIN = re.compile(r"func\.func public @main\((.*?)\) -> \((.*?)\) \{\n")
_ARGUMENT = re.compile(r"(%\w+): (tensor<[^>]*>)")
_DOT = re.compile(r'"stablehlo\.dot_general"\(.*lhs_contracting_dimensions = \[([\d, ]*)\].* : '
                  r"\(tensor<([^>]*)>, tensor<([^>]*)>\) -> tensor<([^>]*)>")
_DTYPES = frozenset("i1 i8 i16 i32 i64 ui8 ui16 ui32 ui64 bf16 f16 f32 f64".split())
_KNOWN = frozenset(f"stablehlo.{name}" for name in """
    abs add and atan2 bitcast_convert broadcast_in_dim case cbrt ceil clamp compare concatenate constant convert cosine
    count_leading_zeros divide dot_general dynamic_slice dynamic_update_slice exponential exponential_minus_one floor
    gather iota is_finite log log_plus_one logistic maximum minimum multiply negate not optimization_barrier or pad
    popcnt power reduce reduce_window remainder reshape return reverse round_nearest_afz round_nearest_even rsqrt select
    shift_left shift_right_arithmetic shift_right_logical sign sine slice sqrt subtract tan tanh transpose while xor
    """.split())
# XLA makes a transpose at the end a kernel outside of the call: alone it is one kernel without.
_MOVES = frozenset(("stablehlo.constant", "stablehlo.reshape", "stablehlo.transpose"))
_SUMS = frozenset(("stablehlo.reduce", "stablehlo.dot_general", "stablehlo.reduce_window"))


def whole(text: str) -> str | None:
    """The text with its program in one function that XLA compiles whole; None where that would not pay."""
    main = _MAIN.search(text) if len(text) <= _CHARACTERS else None
    if main is None or not main[1] or not main[2] or not _few(main[2]) or not _pays(text):
        return None
    # XLA ends the process where a small program does not read what it is given, and that may follow from its own
    # rewrites. So what is given is one tuple, and an array of it, the smallest, is one more result that nothing takes.
    arguments = _ARGUMENT.findall(main[1])
    names, types = zip(*arguments, strict=True)
    kept = min(range(len(types)), key=lambda i: _size(_TYPE.fullmatch(types[i])[1]))  # type: ignore[index]
    given, made = ", ".join(types), f"{main[2]}, {types[kept]}"
    count = made.count(", ") + 1
    results = ", ".join([f"%r#{i}" for i in range(count - 1)])
    returned = f"return (.*) : {re.escape(main[2])}\n}}"
    return f"""{text[:main.end()]}%t = "stablehlo.tuple"({", ".join(names)}) : ({given}) -> tuple<{given}>
%r:{count} = "func.call"(%t) <{{callee = @whole}}> {{{_WHOLE}}} : (tuple<{given}>) -> ({made})
return {results} : {main[2]}
}}
func.func private @whole(%t: tuple<{given}>) -> ({made}) {{
""" + "".join([f'{name} = "stablehlo.get_tuple_element"(%t) <{{index = {i} : i32}}> : (tuple<{given}>) -> {of}\n'
              for i, (name, of) in enumerate(arguments)]) + re.sub(
        returned, lambda found: f"return {found[1]}, {names[kept]} : {made}\n}}", text[main.end():], count=1)


def _few(results: str) -> bool:
    types = re.findall("tensor<[^>]*>", results)
    return len(types) <= _RESULTS * len(set(types))


def _pays(text: str) -> bool:
    """Whether XLA has code for all that the program does, and the program is small."""
    if "complex<" in text or "buffer_donor" in text:
        return False
    operations = _NAMED.findall(text)
    used = frozenset(operations)
    if len(operations) > _OPERATIONS or not used <= _KNOWN or used <= _MOVES:
        return False
    most = _ELEMENTS if used.isdisjoint(_SUMS) else _REDUCED
    small = all([dtype in _DTYPES and 0 < _size(dims) <= most for dims, dtype in set(_TYPE.findall(text))])
    return small and all(map(_is_small, _DOT.findall(text)))


def _size(dims: str) -> int:
    return math.prod(map(int, dims.split("x")[:-1]))


def _is_small(dot: tuple[str, str, str, str]) -> bool:
    """Whether XLA's own loop for a product of matrices is as good as the library for it."""
    contracted, left, _, out = dot
    shape = tuple(map(int, left.split("x")[:-1]))
    return _size(out) * math.prod([shape[int(axis)] for axis in contracted.split(",") if axis.strip()]) <= _PRODUCT


# -- loops that LLVM is not to unroll ---------------------------------------------------------------------

# Loops along a short last axis are unrolled whole, up to 63 turns: with an exponential, a square root or a comparison
# of floats inside of them that takes LLVM up to twenty times as long, and runs no faster from 16 turns on. Windows
# gain from it, and so do reductions of pairs and what moves elements along the axis: two to three times.
_NOT_UNROLLED = {"xla_backend_extra_options": "xla_cpu_disable_loop_unrolling"}
_SHORT, _UNROLLED = range(2, 16), range(16, 64)
_FEW = 4096  # elements of an array with a short axis whose loops need not be fast; in a program compiled whole:
_VERY_FEW = 512


def options(text: str, whole: bool) -> dict[str, Any]:
    """The compile options for a program, or for what `whole` made."""
    types = [tuple(map(int, dims.split("x")[:-1])) for dims, _ in set(_TYPE.findall(text)) if dims]
    long = any([shape[-1] in _UNROLLED for shape in types])
    if whole:
        unrolled = not long and any([shape[-1] in _SHORT and math.prod(shape) > _VERY_FEW for shape in types])
    else:
        short = any([shape[-1] in _SHORT and shape[-1] != 8 and math.prod(shape) > _FEW for shape in types])
        unrolled = short or not long or bool(_PAIRS.search(text))
    moves = ("stablehlo.transpose" in text or "stablehlo.pad" in text) and _PRODUCTS.search(text) is None
    unrolled = unrolled or moves or "reduce_window" in text
    return {**(_WITHOUT_LIBRARY if whole else {}), **({} if unrolled else _NOT_UNROLLED)}


_PRODUCTS = re.compile(r"stablehlo\.(?:dot_general|convolution)")  # which take what is moved as it is
_PAIRS = re.compile(r'%\w+, %\w+ = "stablehlo\.reduce"')


# -- barriers, before jaxlib 0.11 ------------------------------------------------------------------------

_WORTH_A_CALL = 1024  # elements; a call takes about a microsecond
_BARRIER = re.compile(r'"stablehlo\.optimization_barrier"\((%\w+)\)( \{mhlo[^{}]*\{once = "always"\}\})? : '
                      r'\((tensor<[^>]*>)\) -> \(tensor<[^>]*>\)')


def calls_for_barriers(text: str) -> str:
    """A program in which XLA before jaxlib 0.11 keeps barriers of one value: it drops them before it fuses.

    What it keeps is a call that it may not put inline, of a function that returns what it is given.
    """
    names: dict[str, str] = {}

    def call(found: re.Match[str]) -> str:
        value, always, of = found.groups()
        if not always and math.prod(map(int, re.findall(r"(\d+)x", of))) < _WORTH_A_CALL:
            return found.group()
        name = names.setdefault(of, f"barrier_{len(names)}")
        return (f'"func.call"({value}) <{{callee = @{name}}}> '
                f'{{mhlo.frontend_attributes = {{inlineable = "false"}}}} : ({of}) -> {of}')
    text = _BARRIER.sub(call, text)
    functions = [f"func.func private @{name}(%x: {of}) -> {of} {{\nreturn %x : {of}\n}}\n"
                 for of, name in names.items()]
    body, closing, rest = text.rpartition("}")
    return body + "".join(functions) + closing + rest
