"""Random programs: drawn by hypothesis, run by every part of pullback and by real jax, which must all agree.

A program is a list of steps; a step is an operation and numbers from which its operands and parameters follow, so that
every list is a program, and hypothesis can shrink one that fails to its core. It is a function of the namespaces
(`jnp`, `lax`) of an engine and of its inputs.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import pullback
from pullback.core import dtypes

KINDS = ("float32", "float32", "float32", "int32", "bool", "uint8", "int8", "float16", "bfloat16")
SHAPES = ((), (3,), (2, 3), (3, 2), (2, 1), (1, 3), (2, 2, 3), (0, 3))
FINE, COARSE = 2e-4, 0.1  # how far numbers may be apart; COARSE: those of programs with half precision


class Operation(NamedTuple):
    """`call(jnp, lax, operands, k)`; `smooth`: its derivative may be checked against differences."""

    name: str
    arity: int
    call: Callable[..., Any]
    smooth: bool = True


class Step(NamedTuple):
    operation: int
    operands: tuple[int, ...]
    k: int


class Checked(NamedTuple):
    """A program, the steps it leaves out, its results, and how far others may be from them (None: any distance)."""

    steps: list[Step]
    inputs: list[np.ndarray]
    refused: list[int]
    results: list[Any]
    tolerance: float | None


def _axis(x: Any, k: int) -> int:
    return k % x.ndim - (x.ndim if k % 2 else 0) if x.ndim else 0


def _real(jnp: Any, x: Any) -> Any:
    """Bounded numbers away from poles: what keeps long programs finite."""
    return jnp.tanh(x) if jnp.issubdtype(x.dtype, jnp.floating) else x


def _whole(jnp: Any, x: Any, factor: int) -> Any:
    """Whole numbers from about -factor to factor. The ends, where tanh is nearly one, are no thresholds."""
    return (_real(jnp, x) * (factor + 0.5 if jnp.issubdtype(x.dtype, jnp.floating) else factor)).astype(jnp.int32)


# Functions of their own, not made anew in each call: real jax then compiles each loop once for all programs.
def _step(carry: Any, row: Any) -> tuple[Any, Any]:
    return carry * 0.5 + row, carry * row


@functools.cache
def _turn(jnp: Any) -> Callable[[Any, Any], Any]:
    return lambda i, carry: jnp.sin(carry) + carry * 0.5


def _twice(x: Any, y: Any) -> Any:
    return x * 2


def _minus(x: Any, y: Any) -> Any:
    return x - y


OPERATIONS: list[Operation] = []


def _table(arity: int, smooth: bool, **calls: Callable[..., Any]) -> None:
    OPERATIONS.extend(Operation(name, arity, call, smooth) for name, call in calls.items())


_table(1, True,
       sin=lambda jnp, lax, x, k: jnp.sin(x), cos=lambda jnp, lax, x, k: jnp.cos(x),
       tanh=lambda jnp, lax, x, k: jnp.tanh(x), exp=lambda jnp, lax, x, k: jnp.exp(_real(jnp, x)),
       log1p=lambda jnp, lax, x, k: jnp.log1p(x * x), sqrt=lambda jnp, lax, x, k: jnp.sqrt(x * x + 1),
       logistic=lambda jnp, lax, x, k: 1 / (1 + jnp.exp(-_real(jnp, x))), arctan=lambda jnp, lax, x, k: jnp.arctan(x),
       square=lambda jnp, lax, x, k: jnp.square(_real(jnp, x)), cube=lambda jnp, lax, x, k: _real(jnp, x) ** 3,
       negative=lambda jnp, lax, x, k: -x, expm1=lambda jnp, lax, x, k: jnp.expm1(_real(jnp, x)),
       erf=lambda jnp, lax, x, k: lax.erf(x * 1.0), reciprocal=lambda jnp, lax, x, k: 1 / (x * x + 2),
       total=lambda jnp, lax, x, k: jnp.sum(x), mean_all=lambda jnp, lax, x, k: jnp.sum(_real(jnp, x)) / 7,
       sum_axis=lambda jnp, lax, x, k: jnp.sum(x, axis=_axis(x, k)) if x.ndim else x,
       sum_kept=lambda jnp, lax, x, k: jnp.sum(x, axis=_axis(x, k), keepdims=True) if x.ndim else x,
       cumsum=lambda jnp, lax, x, k: jnp.cumsum(_real(jnp, x), axis=_axis(x, k)) if x.ndim else x,
       cumprod=lambda jnp, lax, x, k: jnp.cumprod(_real(jnp, x), axis=_axis(x, k)) if x.ndim else x,
       softmax=lambda jnp, lax, x, k: (lambda e: e / (jnp.sum(e) + 1))(jnp.exp(_real(jnp, x))),
       transpose=lambda jnp, lax, x, k: jnp.transpose(x), ravel=lambda jnp, lax, x, k: jnp.ravel(x),
       flip=lambda jnp, lax, x, k: jnp.flip(x, axis=_axis(x, k)) if x.ndim else x,
       roll=lambda jnp, lax, x, k: jnp.roll(x, k % 4 - 1, axis=_axis(x, k)) if x.ndim else x,
       expand=lambda jnp, lax, x, k: jnp.expand_dims(x, k % (x.ndim + 1)) if x.ndim < 3 else x,
       squeeze=lambda jnp, lax, x, k: jnp.squeeze(x),
       first=lambda jnp, lax, x, k: x[0] if x.ndim and x.shape[0] else x,
       last=lambda jnp, lax, x, k: x[..., -1] if x.ndim and x.shape[-1] else x,
       stride=lambda jnp, lax, x, k: x[::2] if x.ndim else x, tail=lambda jnp, lax, x, k: x[1:] if x.ndim else x,
       pad=lambda jnp, lax, x, k: jnp.pad(x, 1) if 0 < x.ndim < 3 and x.size < 50 else x,
       tile=lambda jnp, lax, x, k: jnp.tile(x, 2) if x.size < 50 else x,
       gather=lambda jnp, lax, x, k: x[jnp.array([0, -1, k % 3 - 1])] if x.ndim and x.shape[0] > 1 else x,
       scatter=lambda jnp, lax, x, k: x.at[0].add(1) if x.ndim and x.shape[0] else x,
       dynamic=lambda jnp, lax, x, k: lax.dynamic_slice(x, [k % 5 - 1] * x.ndim, [max(n - 1, 0) for n in x.shape]),
       scan=lambda jnp, lax, x, k: lax.scan(_step, x[0] * 0 + 1, x)[k % 2] * 1.0
       if x.ndim and x.shape[0] and jnp.issubdtype(x.dtype, jnp.floating) else x,
       loop=lambda jnp, lax, x, k: lax.fori_loop(0, k % 4, _turn(jnp), x * 1.0)
       if jnp.issubdtype(x.dtype, jnp.floating) else x,
       stop=lambda jnp, lax, x, k: lax.stop_gradient(jnp.zeros_like(x)) + x)
_table(1, False,
       absolute=lambda jnp, lax, x, k: jnp.abs(x), sign=lambda jnp, lax, x, k: jnp.sign(x),
       floor=lambda jnp, lax, x, k: jnp.floor(x), relu=lambda jnp, lax, x, k: jnp.maximum(x, 0),
       max_all=lambda jnp, lax, x, k: jnp.max(x) if x.size else x, sort=lambda jnp, lax, x, k: jnp.sort(x.ravel()),
       argmax=lambda jnp, lax, x, k: jnp.argmax(x, axis=_axis(x, k)) if x.ndim and x.shape[_axis(x, k)] else x,
       to_int=lambda jnp, lax, x, k: _whole(jnp, x, 4), positive=lambda jnp, lax, x, k: x > 0,
       # A Python int that the dtype cannot hold is an error, as in NumPy; in jax it wraps around.
       clip=lambda jnp, lax, x, k: jnp.clip(x, 0 if jnp.issubdtype(x.dtype, jnp.unsignedinteger) else -1, 1),
       nonnegative=lambda jnp, lax, x, k: (x >= 0).astype(x.dtype),
       bits=lambda jnp, lax, x, k: _whole(jnp, x, 5) ^ (k % 7),
       any=lambda jnp, lax, x, k: jnp.any(x > 0), cummax=lambda jnp, lax, x, k: lax.cummax(x, axis=0) if x.ndim else x)
_table(2, True,
       add=lambda jnp, lax, x, y, k: x + y, sub=lambda jnp, lax, x, y, k: x - y,
       mul=lambda jnp, lax, x, y, k: _real(jnp, x) * _real(jnp, y),
       div=lambda jnp, lax, x, y, k: x / (y * y + 1), hypot=lambda jnp, lax, x, y, k: jnp.sqrt(x * x + y * y + 1),
       logaddexp=lambda jnp, lax, x, y, k: jnp.logaddexp(_real(jnp, x) * 1.0, _real(jnp, y) * 1.0),
       angle=lambda jnp, lax, x, y, k: jnp.arctan2(x, y * y + 1),
       power=lambda jnp, lax, x, y, k: (_real(jnp, x) ** 2 + 1.0) ** _real(jnp, y),
       outer=lambda jnp, lax, x, y, k: jnp.outer(_real(jnp, x), _real(jnp, y)) if x.size * y.size < 40 else x,
       matmul=lambda jnp, lax, x, y, k: _real(jnp, x) @ _real(jnp, y),
       einsum=lambda jnp, lax, x, y, k: jnp.einsum("...i,...i->...", _real(jnp, x), _real(jnp, y)),
       concatenate=lambda jnp, lax, x, y, k: jnp.concatenate([x, y]), stack=lambda jnp, lax, x, y, k: jnp.stack([x, y]),
       branch=lambda jnp, lax, x, y, k: lax.cond(k % 2 == 0, _twice, _minus, x, y))
_table(2, False,
       maximum=lambda jnp, lax, x, y, k: jnp.maximum(x, y), equal=lambda jnp, lax, x, y, k: x == y,
       less=lambda jnp, lax, x, y, k: x < y, remainder=lambda jnp, lax, x, y, k: jnp.remainder(x, jnp.abs(y) + 2),
       floor_divide=lambda jnp, lax, x, y, k: x // (jnp.abs(y) + 2),
       where=lambda jnp, lax, x, y, k: jnp.where(x > 0, x, y), promote=lambda jnp, lax, x, y, k: x.astype(y.dtype))


@st.composite
def programs(draw: Any, longest: int = 30) -> tuple[list[Step], list[np.ndarray], bool]:
    """A program, its inputs, and whether it is smooth (then its inputs are float64)."""
    smooth = draw(st.booleans())
    known = [i for i, op in enumerate(OPERATIONS) if op.smooth or not smooth]
    seed = draw(st.integers(0, 2 ** 16))
    rng = np.random.default_rng(seed)
    inputs = []
    for _ in range(draw(st.integers(1, 3))):
        shape = SHAPES[draw(st.integers(0, len(SHAPES) - 1))]
        dtype = dtypes.as_dtype("float64" if smooth else draw(st.sampled_from(KINDS)))
        values = rng.normal(size=shape)
        inputs.append(np.asarray(values > 0 if dtype.kind == "b" else np.abs(values * 3) if dtype.kind == "u" else
                                 values * 3 if dtype.kind == "i" else values).astype(dtype))
    count = draw(st.integers(1, longest))
    steps = [Step(known[draw(st.integers(0, len(known) - 1))], (draw(st.integers(0, 40)), draw(st.integers(0, 40))),
                  draw(st.integers(0, 20))) for _ in range(count)]
    return steps, inputs, smooth


def run(engine: Any, steps: Sequence[Step], inputs: Sequence[Any], after: Callable[[Any], Any] = lambda x: x
        ) -> tuple[list[Any], list[int]]:
    """The values that a program returns, and which of its steps were left out because the operands' shapes forbid them.

    Every engine must forbid the same ones. `after` is applied to the result of each step.
    """
    jnp, lax = engine.numpy, engine.lax
    values, refused = list(inputs), []
    read: set[int] = set()
    for number, step in enumerate(steps):
        op = OPERATIONS[step.operation]
        # The last values are taken more often: programs become deep rather than wide.
        chosen = [max(len(values) - 1 - o % 4, 0) if o % 3 else o % len(values) for o in step.operands[:op.arity]]
        try:
            out = op.call(jnp, lax, *[values[i] for i in chosen], step.k)
        except (TypeError, ValueError, ZeroDivisionError):
            refused.append(number)
            continue
        if out.size > 200:
            continue
        read.update(chosen)
        values.append(after(out))
    return [v for i, v in enumerate(values) if i not in read and i >= len(inputs)] or [values[-1]], refused


def evaluate(steps: Sequence[Step], inputs: Sequence[Any], refused: Sequence[int]) -> list[Any]:
    """What pullback returns, whatever the inputs are traced by; it leaves out the same steps."""
    results, found = run(pullback, steps, inputs)
    assert found == refused, ("refused", found, refused, describe(steps))
    return results


def describe(steps: Sequence[Step]) -> str:
    return " ".join(f"{OPERATIONS[s.operation].name}{s.operands[:OPERATIONS[s.operation].arity]}/{s.k}" for s in steps)


def same(found: Sequence[Any], wanted: Sequence[Any], what: str, steps: Sequence[Step], rtol: float | None,
         types: bool = False) -> None:
    assert len(found) == len(wanted), (what, describe(steps))
    for a, b in zip(found, wanted):
        if types:
            # Whether a bool is weak has no consequence, and jax keeps it where we do not.
            assert (a.dtype, a.shape) == (b.dtype, b.shape) and (a.dtype == bool or a.weak_type == b.weak_type), (
                what, a.aval, b.aval, describe(steps))
        if rtol is None:
            continue
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "iub" and b.dtype.kind in "iub":
            ok = a.shape == b.shape and (a == b).all()
        else:
            # Where XLA leaves out a rounding to half precision, what overflows need not.
            a, b = (x.astype(float) if rtol < COARSE else np.clip(x.astype(float), -6e4, 6e4) for x in (a, b))
            ok = a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)
        assert ok, f"{what}: {a} is not {b} for {describe(steps)}"


def check(steps: list[Step], inputs: list[np.ndarray], smooth: bool, jax: Any) -> Checked:
    """What must hold of a program, eager, batched, derived, and by real jax. Compiled: check_compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if smooth:
            with pullback.enable_x64(True):
                _check_derivatives(steps, [pullback.numpy.asarray(x) for x in inputs])
        inputs = [_narrow(x) for x in inputs]
        eager, refused = run(pullback, steps, [pullback.numpy.asarray(x) for x in inputs])
        theirs, forbidden = run(jax, steps, [jax.numpy.asarray(x) for x in inputs])
        assert forbidden == refused, ("refused", refused, forbidden, describe(steps))
        distance = tolerance(steps, inputs, eager)
        same(eager, theirs, "real jax", steps, distance, types=True)
        batch = [np.stack([x, x[::-1] if x.ndim else x]) for x in inputs]
        other = evaluate(steps, [pullback.numpy.asarray(b[1]) for b in batch], refused)
        mapped = pullback.vmap(lambda *xs: evaluate(steps, xs, refused))(*batch)
        same(mapped, [np.stack([np.asarray(r) for r in pair]) for pair in zip(eager, other)], "vmap", steps,
             distance if _half(inputs) else FINE)
    return Checked(steps, inputs, refused, eager, distance)


def _narrow(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype == np.float64 else x


def tolerance(steps: Sequence[Step], inputs: Sequence[np.ndarray], results: Sequence[Any]) -> float | None:
    """How far numbers may be apart; None where it cannot be told, for rounding turns into a jump or grows too far."""
    jumps = {"floor", "to_int", "bits", "floor_divide", "remainder", "argmax", "positive", "equal", "less", "where",
             "nonnegative", "any", "sign"}
    names = {OPERATIONS[s.operation].name for s in steps}
    if _half(inputs):
        return COARSE if _steady(steps, inputs, results, 1e-2, COARSE / 2) else None
    # The exponential of a whole number may be so large that its last place decides what the sine is.
    turns = names & {"exp", "expm1"} and names & {"sin", "cos"}
    told = not turns and (len(steps) <= 12 or not names & jumps)
    return FINE if told or _steady(steps, inputs, results, 1e-6, FINE / 2) else None


def _steady(steps: Sequence[Step], inputs: Sequence[np.ndarray], results: Sequence[Any], noise: float, distance: float
            ) -> bool:
    """Whether the results stay what they are if the result of each step is multiplied by 1 and some noise."""
    rng = np.random.default_rng(0)

    def disturbed(x: Any) -> Any:
        if not dtypes.is_float(x.dtype):
            return x
        return x * pullback.numpy.asarray(1 + noise * rng.normal(size=x.shape)).astype(x.dtype)
    try:
        for _ in range(3):
            same(run(pullback, steps, [pullback.numpy.asarray(x) for x in inputs], disturbed)[0], results, "", steps,
                 distance)
    except AssertionError:
        return False
    return True


def _half(inputs: Sequence[np.ndarray]) -> bool:
    return any(x.dtype in (np.float16, dtypes.bfloat16) for x in inputs)


def _check_derivatives(steps: Sequence[Step], inputs: list[Any]) -> None:
    rng = np.random.default_rng(0)
    refused = run(pullback, steps, inputs)[1]

    def f(*xs: Any) -> Any:
        return evaluate(steps, xs, refused)

    tangents = [rng.normal(size=x.shape) for x in inputs]
    out, slopes = pullback.jvp(f, tuple(inputs), tuple(map(pullback.numpy.asarray, tangents)))
    if not all(np.isfinite(np.asarray(o)).all() for o in out):
        return
    h = 1e-6
    ahead, behind = (f(*[x + s * h * t for x, t in zip(inputs, tangents)]) for s in (1, -1))
    differences = [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(ahead, behind)]
    scale = max([1.0, *[float(np.abs(np.asarray(s)).max()) for s in slopes if s.size]])
    for slope, difference in zip(slopes, differences):
        assert np.allclose(np.asarray(slope) / scale, difference / scale, rtol=1e-4, atol=1e-5), (
            "jvp against differences", describe(steps))
    cts = [pullback.numpy.asarray(rng.normal(size=o.shape)) for o in out]
    given = pullback.vjp(f, *inputs)[1](cts)
    forward = sum(float(np.vdot(np.asarray(c), np.asarray(s))) for c, s in zip(cts, slopes))
    reverse = sum(float(np.vdot(np.asarray(g), t)) for g, t in zip(given, tangents))
    assert np.isclose(forward, reverse, rtol=1e-8, atol=1e-8 * scale), ("vjp against jvp", forward, reverse,
                                                                       describe(steps))


def distinct(many: Sequence[Checked]) -> list[Checked]:
    """Of programs that compile to the same code one, and none of those whose numbers say nothing."""
    return list({(describe(one.steps), *[(x.dtype, x.shape) for x in one.inputs]): one
                 for one in many if one.tolerance}.values())


def check_compiled(many: Sequence[Checked], options: Any = None) -> list[str]:
    """Several programs in one compilation, with options of XLA's, must give what they gave eagerly. Those that do not.
    """
    compiled = pullback.jit(lambda given: [evaluate(one.steps, xs, one.refused) for one, xs in zip(many, given)],
                            compiler_options=options)(
        [[pullback.numpy.asarray(x) for x in one.inputs] for one in many])
    mismatches = []
    for one, found in zip(many, compiled):
        try:
            same(found, one.results, "compiled", one.steps, max(one.tolerance, 1e-3))
        except AssertionError as e:
            mismatches.append(f"{e}\nwith {one.inputs}")
    return mismatches
