"""Random programs: drawn by hypothesis, run by every part of pullback and by real jax, which must all agree.

A program is a list of steps; a step is an operation and numbers from which its operands and parameters follow, so that
every list is a program, and hypothesis can shrink one that fails to its core. It is a function of the namespaces
(`jnp`, `lax`) of an engine and of its inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import pullback

SHAPES = ((), (3,), (2, 3), (3, 2), (2, 1), (1, 3), (2, 2, 3), (0, 3))


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


def _axis(x: Any, k: int) -> int:
    return k % x.ndim - (x.ndim if k % 2 else 0) if x.ndim else 0


def _real(jnp: Any, x: Any) -> Any:
    """Bounded numbers away from poles: what keeps long programs finite."""
    return jnp.tanh(x) if jnp.issubdtype(x.dtype, jnp.floating) else x


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
       scan=lambda jnp, lax, x, k: lax.scan(lambda c, r: (c * 0.5 + r, c * r), x[0] * 0 + 1, x)[k % 2] * 1.0
       if x.ndim and x.shape[0] and jnp.issubdtype(x.dtype, jnp.floating) else x,
       loop=lambda jnp, lax, x, k: lax.fori_loop(0, k % 4, lambda i, c: jnp.sin(c) + c * 0.5, x * 1.0)
       if jnp.issubdtype(x.dtype, jnp.floating) else x,
       stop=lambda jnp, lax, x, k: lax.stop_gradient(jnp.zeros_like(x)) + x)
_table(1, False,
       absolute=lambda jnp, lax, x, k: jnp.abs(x), sign=lambda jnp, lax, x, k: jnp.sign(x),
       floor=lambda jnp, lax, x, k: jnp.floor(x), relu=lambda jnp, lax, x, k: jnp.maximum(x, 0),
       max_all=lambda jnp, lax, x, k: jnp.max(x) if x.size else x, sort=lambda jnp, lax, x, k: jnp.sort(x.ravel()),
       argmax=lambda jnp, lax, x, k: jnp.argmax(x, axis=_axis(x, k)) if x.ndim and x.shape[_axis(x, k)] else x,
       to_int=lambda jnp, lax, x, k: (_real(jnp, x) * 4).astype(jnp.int32), positive=lambda jnp, lax, x, k: x > 0,
       clip=lambda jnp, lax, x, k: jnp.clip(x, -1, 1), nonnegative=lambda jnp, lax, x, k: (x >= 0).astype(x.dtype),
       bits=lambda jnp, lax, x, k: (_real(jnp, x) * 5).astype(jnp.int32) ^ (k % 7),
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
       branch=lambda jnp, lax, x, y, k: lax.cond(k % 2 == 0, lambda a, b: a * 2, lambda a, b: a - b, x, y))
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
        kind = "f" if smooth else draw(st.sampled_from("ffib"))
        values = rng.normal(size=shape)
        inputs.append(np.asarray(values, np.float64 if smooth else np.float32) if kind == "f" else
                      np.asarray(values * 3, np.int32) if kind == "i" else np.asarray(values > 0))
    count = draw(st.integers(1, longest))
    steps = [Step(known[draw(st.integers(0, len(known) - 1))], (draw(st.integers(0, 40)), draw(st.integers(0, 40))),
                  draw(st.integers(0, 20))) for _ in range(count)]
    return steps, inputs, smooth


def evaluate(engine: Any, steps: Sequence[Step], inputs: Sequence[Any]) -> list[Any]:
    """The values of a program that it returns: those that no later step reads.

    A step that the operands' shapes forbid is left out; every engine must forbid the same ones.
    """
    jnp, lax = engine.numpy, engine.lax
    values, read, refused = list(inputs), set(), []
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
        values.append(out)
    evaluate.refused = refused
    return [v for i, v in enumerate(values) if i not in read and i >= len(inputs)] or [values[-1]]


evaluate.refused = []


def describe(steps: Sequence[Step]) -> str:
    return " ".join(f"{OPERATIONS[s.operation].name}{s.operands[:OPERATIONS[s.operation].arity]}/{s.k}" for s in steps)


def same(found: Sequence[Any], wanted: Sequence[Any], what: str, steps: Sequence[Step], rtol: float = 2e-4,
         types: bool = False) -> None:
    assert len(found) == len(wanted), (what, describe(steps))
    for a, b in zip(found, wanted):
        if types:
            # Whether a bool is weak has no consequence, and jax keeps it where we do not.
            assert (a.dtype, a.shape) == (b.dtype, b.shape) and (a.dtype == bool or a.weak_type == b.weak_type), (
                what, a.aval, b.aval, describe(steps))
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "iub" and b.dtype.kind in "iub":
            ok = a.shape == b.shape and (a == b).all()
        else:
            ok = a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)
        assert ok, f"{what}: {a} is not {b} for {describe(steps)}"


def check(steps: list[Step], inputs: list[np.ndarray], smooth: bool, jax: Any) -> None:
    """What must hold of a program, eager, batched, derived, and by real jax. (Compiled: see check_compiled.)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if smooth:
            with pullback.enable_x64(True):
                _check_derivatives(steps, [pullback.numpy.asarray(x) for x in inputs])
        inputs = [x.astype(np.float32) if x.dtype == np.float64 else x for x in inputs]
        eager = evaluate(pullback, steps, [pullback.numpy.asarray(x) for x in inputs])
        refused = evaluate.refused
        if not discontinuous(steps):
            theirs = evaluate(jax, steps, [jax.numpy.asarray(x) for x in inputs])
            assert evaluate.refused == refused, ("refused", refused, evaluate.refused, describe(steps))
            same(eager, theirs, "real jax", steps, types=True)
        batch = [np.stack([x, x[::-1] if x.ndim else x]) for x in inputs]
        rows = [evaluate(pullback, steps, [pullback.numpy.asarray(b[i]) for b in batch]) for i in (0, 1)]
        mapped = pullback.vmap(lambda *xs: evaluate(pullback, steps, xs))(*batch)
        same(mapped, [np.stack([np.asarray(r) for r in pair]) for pair in zip(*rows)], "vmap", steps)


def discontinuous(steps: Sequence[Step]) -> bool:
    """Whether rounding can turn into a jump, so that two engines may differ: thresholds far down in long programs."""
    jumps = {"floor", "to_int", "bits", "floor_divide", "remainder", "argmax", "positive", "equal", "less", "where",
             "nonnegative", "any", "sign"}
    return sum(OPERATIONS[s.operation].name in jumps for s in steps) > 0 and len(steps) > 12


def _check_derivatives(steps: Sequence[Step], inputs: list[Any]) -> None:
    rng = np.random.default_rng(0)

    def f(*xs: Any) -> Any:
        return evaluate(pullback, steps, xs)

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


def check_compiled(many: Sequence[tuple[list[Step], list[np.ndarray]]]) -> None:
    """Several programs in one compilation must give what they give eagerly."""
    inputs = [[x.astype(np.float32) if x.dtype == np.float64 else x for x in given] for _, given in many]
    compiled = pullback.jit(lambda given: [evaluate(pullback, steps, xs) for (steps, _), xs in zip(many, given)])(
        [[pullback.numpy.asarray(x) for x in given] for given in inputs])
    for (steps, _), given, found in zip(many, inputs, compiled):
        if not discontinuous(steps):
            eager = evaluate(pullback, steps, [pullback.numpy.asarray(x) for x in given])
            same(found, eager, "compiled", steps, rtol=1e-3)
