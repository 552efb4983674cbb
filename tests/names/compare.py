"""Cases run on real jax and on pullback, and what differs between them."""

from __future__ import annotations

import builtins
import inspect
import math
import re
import warnings

import jax
import jax.scipy.cluster.vq
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.spatial.transform
import jax.scipy.stats
import numpy as np

import pullback
from tests.names.cases import OPERAND, Operands
from tests.names.differences import reason

RTOL = {"float16": 3.5e-2, "bfloat16": 5e-2, "float32": 2e-4, "float64": 1e-9, "complex64": 2e-4, "complex128": 1e-9}
SPACES = {"jnp": "numpy", "lax": "lax", "nn": "nn", "random": "random", "tree": "tree", "tree_util": "tree_util",
          "scipy": "scipy", "ops": "ops", "image": "image"}


def names(engine):
    return {"np": np, "math": math, "engine": engine,
            **{short: getattr(engine, space) for short, space in SPACES.items()}}


class Result:
    """What a call gave: an error, or leaves with their types, the structure and what is no array."""

    def __init__(self, error=None, types=(), others=(), structure="", values=None, traced=False):
        self.error, self.types, self.others, self.structure, self.values = error, types, others, structure, values
        self.traced = traced  # under jit too, and so to be expected of pullback


# What of a structure's text belongs to one engine: addresses, modules, names of namedtuples.
_OWN = re.compile(r"0x[0-9a-f]+|\bjax[\w.]*\.|\bpullback[\w.]*\.|(?<=namedtuple)\[\w+\]")


def _split(engine, out):
    leaves, structure = engine.tree_util.tree_flatten(out)
    arrays = [x for x in leaves if isinstance(x, engine.Array)]
    others = [x for x in leaves if not isinstance(x, engine.Array)]
    return arrays, others, _OWN.sub("", str(structure))


def _type(x):
    # Whether a truth value is weak decides nothing: it gives way to every other dtype.
    return str(x.dtype), tuple(x.shape), getattr(x, "weak_type", False) and x.dtype != bool


def run(engine, text):
    """Evaluates a case eagerly."""
    try:
        arrays, others, structure = _split(engine, eval(text, Operands(engine, names(engine))))
    except Exception as error:
        return Result(error=error)
    return Result(types=[_type(x) for x in arrays], others=others, structure=structure, values=arrays)


class Traced:
    """A case as a function of its operands, for a compilation shared with others."""

    def __init__(self, engine, text):
        self.engine, self.text = engine, text
        first = Operands(engine, names(engine))
        self.code = compile(text, text, "eval")
        # The operands are made by evaluating their own texts, in the order in which the call makes them.
        for m in OPERAND.finditer(text):
            eval(m[0], first)
        self.operands = first.made
        self.others, self.structure = [], ""

    def __call__(self, operands):
        out = eval(self.code, Operands(self.engine, names(self.engine), operands))
        arrays, self.others, self.structure = _split(self.engine, out)
        return arrays


def _impossible(result):
    """Whether jax made a type that ends the process when it is compiled: of a negative size, or of 6 bits."""
    return any(dtype.startswith("float6") or min(shape, default=0) < 0 for dtype, shape, _ in result.types)


def reference(texts, values=True):
    """Real jax's results: types by tracing, values by one compilation; what cannot be traced is run at once."""
    results, traced = {}, {}
    for text in texts:
        try:
            case = Traced(jax, text)
            shapes = jax.eval_shape(case, case.operands)
        except Exception:
            results[text] = run(jax, text)
            continue
        results[text] = Result(types=[_type(s) for s in shapes],
                               others=case.others, structure=case.structure)
        if shapes and not _impossible(results[text]):
            traced[text] = case
    if values and traced:
        cases = list(traced.values())
        try:
            outputs = jax.jit(lambda given: [case(operands) for case, operands in zip(cases, given, strict=True)])(
                [case.operands for case in cases])
            for text, arrays in zip(traced, outputs, strict=True):
                results[text].values, results[text].traced = arrays, True
        except Exception:
            for text in traced:
                results[text] = run(jax, text)
    return results


def staged(texts):
    """pullback's results under one jit."""
    cases = [Traced(pullback, text) for text in texts]
    outputs = pullback.jit(lambda given: [case(operands) for case, operands in zip(cases, given, strict=True)])(
        [case.operands for case in cases])
    return {text: Result(types=[_type(x) for x in arrays], others=case.others, structure=case.structure, values=arrays)
            for text, case, arrays in zip(texts, cases, outputs, strict=True)}


# A message of ours names the user's line; Python's own are about the call itself, or its operands' own text.
_OUR_KIND = re.compile(r"\n  at |unexpected keyword|positional|multiple values for argument|missing required|"
                       r"given by name|not supported between|unsupported operand|can only concatenate|not a valid")


# Errors with which real jax, or NumPy under it, breaks rather than refuses; pullback raises a TypeError or ValueError.
ACCIDENTS = (AssertionError, AttributeError, KeyError, UnboundLocalError, RecursionError, NotImplementedError)


def judged(text, ours, theirs):
    """What differs from jax's results. Where jax's compiled values are not its eager ones, either will do."""
    words = difference(ours, theirs)
    if words and words.startswith("values") and theirs.traced:
        eager = run(jax, text)
        if eager.error is None and difference(ours, eager) is None:
            return None
    return words


def difference(ours, theirs):
    """What differs, in a few words; None if nothing does."""
    if theirs.error is not None:
        real = type(theirs.error)
        if ours.error is None:
            return f"jax raises {_said(theirs.error)}, pullback gives {ours.types or ours.others}"
        if not _OUR_KIND.search(str(ours.error)):
            return f"pullback does not say what is wrong: {_said(ours.error)}"
        expected = getattr(pullback.errors, real.__name__, None) or next(
            c for c in real.__mro__ if c.__module__ == "builtins" and hasattr(builtins, c.__name__))
        if isinstance(ours.error, expected):
            return None
        if issubclass(expected, ACCIDENTS) and isinstance(ours.error, (TypeError, ValueError)):
            return None
        return f"jax raises {_said(theirs.error)}, pullback {_said(ours.error)}"
    if ours.error is not None:
        return f"jax gives {theirs.types or theirs.others}, pullback raises {_said(ours.error)}"
    if ours.types != theirs.types:
        return f"types: jax {theirs.types}, pullback {ours.types}"
    if ours.structure != theirs.structure:
        return f"structure: jax {theirs.structure}, pullback {ours.structure}"
    for x, y in zip(ours.others, theirs.others, strict=True):
        if not _alike(x, y):
            return f"jax gives {y!r}, pullback {x!r}"
    if theirs.values is not None and ours.values is not None:
        for x, y in zip(ours.values, theirs.values, strict=True):
            text = _values(x, y)
            if text:
                return text
    return None


def _said(error):
    return f"{type(error).__name__}({str(error)[:160]!r})"


def _alike(x, y):
    if inspect.isroutine(x) and inspect.isroutine(y):
        return True
    if inspect.isclass(x) and inspect.isclass(y):
        return x.__name__ == y.__name__
    if repr(x) == repr(y) and type(x).__module__ != "builtins":
        return True
    if type(x).__module__ == "builtins" or isinstance(x, (np.ndarray, np.generic, np.dtype)):
        try:
            return type(x) is type(y) and bool(np.array_equal(x, y, equal_nan=isinstance(x, float)))
        except TypeError:
            return x == y
    return type(x).__name__ == type(y).__name__


def _plain(x, engine):
    if str(x.dtype).startswith("key<"):
        x = engine.random.key_data(x)
    a = np.asarray(x)
    if a.dtype.kind == "V" or a.dtype.itemsize == 2 and a.dtype.kind == "f":
        a = a.astype(np.float32) if a.dtype.names is None and str(a.dtype) != "void" else np.zeros(a.shape)
    return a


def _values(x, y):
    name = str(y.dtype)
    a, b = _plain(x, pullback), _plain(y, jax)
    if a.dtype.kind in "biu":
        return None if np.array_equal(a, b) else f"values: jax {b.tolist()}, pullback {a.tolist()}"
    rtol = RTOL.get(name, 1e-5)
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=1.0))
    try:
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * min(scale, 1e30))
    except AssertionError:
        return f"values: jax {b.tolist()}, pullback {a.tolist()}"
    return None


def differences(texts, values=True, jit=False):
    """(case, what differs) for every case that differs."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = reference(texts, values)
        good = []
        for text in texts:
            ours = run(pullback, text)
            if ours.error is not None and theirs[text].error is None and not _impossible(theirs[text]):
                theirs[text] = run(jax, text)  # some checks of jax's come after tracing
            words = judged(text, ours, theirs[text])
            if words and reason(text, words) is None:
                found.append((text, words))
            elif jit and not words and ours.types and theirs[text].traced:
                good.append(text)
        if good:
            for text, ours in staged(good).items():
                words = judged(text, ours, theirs[text])
                if words and reason(text, words) is None:
                    found.append((text, f"jit: {words}"))
    return found
