"""Calls written as text, operands made from it, and the mutations of a call that make cases of it.

A call is an expression over the namespaces of an engine (`jnp`, `lax`, ...) and operands: `f4(2, 3)` is a float32
array of that shape, `pf4(...)` one of positive numbers below 1, `df4(3, 3)` a positive definite matrix, `sf4()` the
special numbers of the dtype. The same text always makes the same numbers.
"""

from __future__ import annotations

import inspect
import re
import zlib

import ml_dtypes
import numpy as np

CODES = {"b1": np.bool_, "i1": np.int8, "u1": np.uint8, "i4": np.int32, "u4": np.uint32, "f2": np.float16,
         "bf": ml_dtypes.bfloat16, "f4": np.float32, "c8": np.complex64, "i8": np.int64, "f8": np.float64,
         "c16": np.complex128}
SWEEP = ("b1", "i1", "u1", "i4", "f2", "bf", "c8")
WIDE = ("i8", "f8", "c16")
SHAPES = ("", "0", "3", "2, 0, 3", "1, 3, 1")
BAD = ("None", "'a'", "[1.0, 2.0]", "2", "0.5", "True", "1j", "np.float64(0.5)", "np.arange(3)", "jnp.asarray(0.5)")
AXES = ("-1", "0", "1", "None", "-3", "2", "(0,)", "(0, 1)", "(0, 0)", "(0, 5)", "()", "1.0", "'a'", "True")
SHORT = {"X": "f4(2, 3)", "V": "f4(3)", "M": "f4(3, 3)", "U": "pf4(2, 3)", "W": "pf4(3)", "I": "i4(3)", "J": "i4(2, 3)",
         "B": "b1(2, 3)", "D": "df4(3, 3)", "Z": "c8(3)", "K": "random.key(0)"}
_SHORT = re.compile(rf"(?<!['\"\w.])([{''.join(SHORT)}])(?!['\"\w=(.])|(?<!['\"\w.])([{''.join(SHORT)}])(?=\.\w)")
OPERAND = re.compile(r"\b([psd]?)(b1|[iu][14]|i8|f[248]|bf|c8|c16)\(([\d, ]*)\)")


def expanded(text):
    return _SHORT.sub(lambda m: SHORT[m[1] or m[2]], text)


def numbers(kind, code, shape, seed):
    """The numbers of an operand."""
    rng = np.random.default_rng(seed)
    dtype = CODES[code]
    if kind == "s":
        return _special(dtype)
    if kind == "d":
        a = rng.normal(size=shape)
        return (a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])).astype(dtype)
    if dtype is np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1 if kind == "p" else -4 if np.dtype(dtype).kind == "i" else 0, 5, shape).astype(dtype)
    x = rng.uniform(0.05, 0.95, shape) if kind == "p" else rng.normal(size=shape) * 1.5
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x).astype(dtype)


def _special(dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, 2], dtype)
    reals = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-3, 30.0], np.float64)
    if kind == "c":
        return (reals[:5, None] + 1j * reals[:5]).reshape(-1).astype(dtype)
    return reals.astype(dtype)


class Operands(dict):
    """The names a call is evaluated in: namespaces of an engine, and the makers of operands."""

    def __init__(self, engine, names, given=None):
        super().__init__(names)
        self.engine, self.given, self.made = engine, given, []
        for kind in ("", "p", "d", "s"):
            for code in CODES:
                self[kind + code] = self.maker(kind, code)

    def maker(self, kind, code):
        def make(*shape):
            if self.given is not None:
                self.made.append(None)
                return self.given[len(self.made) - 1]
            x = self.engine.numpy.asarray(numbers(kind, code, shape, zlib.crc32(repr((code, shape)).encode())
                                                  + len(self.made)))
            self.made.append(x)
            return x
        return make


def replaced(text, place, new):
    """The text with its operand number `place` replaced."""
    found = list(OPERAND.finditer(text))[place]
    return text[:found.start()] + new + text[found.end():]


def with_keyword(text, keyword, value):
    """The call with a keyword set."""
    other = re.compile(rf"\b{keyword}=(\([^()]*\)|\[[^\]]*\]|[^,()]+)")
    if other.search(text):
        return other.sub(f"{keyword}={value}", text)
    return f"{text[:-1].rstrip()}{'' if text.endswith('()') else ', '}{keyword}={value})"


def mutations(text, function, wide=False):
    """Calls near `text`: other dtypes, shapes, axes, and arguments that are wrong."""
    operands = list(OPERAND.finditer(text))
    for code in WIDE if wide else SWEEP:
        if operands:
            yield OPERAND.sub(lambda m, code=code: f"{m[1]}{code}({m[3]})", text)
    if wide:
        return
    for place, m in enumerate(operands[:3]):
        if len(operands) > 1 and place < 2:
            for code in ("b1", "i4", "f2", "c8"):
                yield replaced(text, place, f"{m[1]}{code}({m[3]})")
        if m[1] != "d":
            for shape in SHAPES:
                yield replaced(text, place, f"{m[1]}{m[2]}({shape})")
        for bad in BAD:
            yield replaced(text, place, bad)
        if len(operands) == 1 and m[1] != "d" and "bincount" not in text:  # whose result is as long as the largest
            for code in ("f4", "i4", "c8", "f2"):
                yield replaced(text, place, f"s{code}()")
    try:
        signature = inspect.signature(function).parameters
    except (TypeError, ValueError):
        signature = {}
    for keyword in ("axis", "axes", "dimension", "dimensions"):
        if keyword in signature and f"{keyword}=" in text or keyword == "axis" and keyword in signature:
            for axis in AXES:
                yield with_keyword(text, keyword, axis)
    if "keepdims" in signature:
        yield with_keyword(text, "keepdims", "True")
    if "where" in signature and operands:
        for mask in ("b1(3)", "i4(3)", "True", "None", "b1(5)"):
            yield with_keyword(text, "where", mask)
    if "initial" in signature:
        for initial in ("2", "0.5", "None", "[1.0]"):
            yield with_keyword(text, "initial", initial)
    if "dtype" in signature:
        for dtype in ("'float16'", "'complex64'", "'int8'", "bool", "'float64'", "'nothing'", "None", "3"):
            yield with_keyword(text, "dtype", dtype)
    if "out" in signature:
        yield with_keyword(text, "out", "jnp.zeros(3)")
    yield with_keyword(text, "bogus", "1")
    yield f"{text.split('(')[0]}()"


def calls(name, lines, function, wide=False):
    """The cases of a name: the calls of its specification, and the mutations of the first."""
    base = [f"{name}({expanded(line)})" for line in lines]
    if not base:
        return []
    more = list(base) if not wide else []
    more += mutations(base[0], function, wide)
    return list(dict.fromkeys(more))
