"""The transformations themselves, on flat functions: ownership, capture, residuals, leaks."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pullback
from pullback.core.primitive import TABLE
from pullback.core.program import Literal
from pullback.core.trace import concrete, type_of
from pullback.core.types import ArrayType, Zero
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp, jvp_program
from pullback.interpret.linearize import linearize, linearize_program
from pullback.interpret.stage import stage
from pullback.interpret.transpose import backward, transpose_program
from pullback.interpret.vmap import batch_program, vmap

pullback.jit  # noqa: B018  # loads the engine
sin, cos, mul, add = TABLE["sin"], TABLE["cos"], TABLE["mul"], TABLE["add"]
T = ArrayType((3,), np.dtype(np.float32))
X = pullback.numpy.asarray(np.array([0.3, -0.7, 1.2], np.float32))


def test_stage_captures_arrays_and_keeps_scalars_literal():
    other = X + 1
    program, captured = stage(lambda x: [mul(add(x, other), 2.0), other], [T])
    assert captured == [other] or captured[0] is other
    assert len(program.inputs) == 2 and len(program.equations) == 2
    assert isinstance(program.equations[1].inputs[1], Literal)
    result, same = evaluate(program, [other, X])
    np.testing.assert_allclose(result, (X + other) * 2)
    assert same is other


def test_operations_on_constants_are_recorded_while_staging():
    program, captured = stage(lambda x: [add(x, sin(X))], [T])
    assert [e.primitive.name for e in program.equations] == ["sin", "add"] and captured[0] is X


def test_jvp_leaves_untouched_values_alone():
    seen = []

    def f(x, y):
        z = sin(y)
        seen.append(z)
        return [mul(x, z), z]
    outputs, dots = jvp(f, [X, X], [X, Zero(T)])
    assert concrete(seen[0]) is seen[0] and isinstance(dots[1], Zero)
    np.testing.assert_allclose(dots[0], X * np.sin(X), rtol=1e-6)
    assert outputs[1] is seen[0]


def test_linearize_keeps_the_residuals_it_needs_and_no_others():
    def f(x):
        sin(mul(x, x))  # its tangent reaches no output
        return [mul(sin(x), 3.0)]
    outputs, linearized = linearize(f, [X])
    np.testing.assert_allclose(outputs[0], 3 * np.sin(X), rtol=1e-6)
    cosine, number = linearized.residuals  # a number is one where the tape of operations may come again with another
    np.testing.assert_allclose(cosine, np.cos(X), rtol=1e-6)
    assert number.shape == () and number == 3.0
    (ct,) = backward(linearized.program, linearized.linear, linearized.residuals, [X])
    np.testing.assert_allclose(ct, 3 * np.cos(X) * X, rtol=1e-5)


def test_vmap_of_what_is_not_batched_runs_once():
    calls = []

    def f(x, y):
        calls.append(type_of(x).shape)
        return [add(x, 1.0), sin(y)]
    outputs, flags = vmap(f, 3, [X, X], [True, False])
    assert calls == [()] and flags == [True, False] and type_of(outputs[1]).shape == (3,)


def test_derived_programs_live_in_the_memo():
    program, _ = stage(lambda x: [mul(sin(x), x)], [T])
    for rule, key in ((jvp_program, ((True,),)), (linearize_program, ((True,),)), (batch_program, (4, (True,))),):
        assert program.memo(rule, *key) is program.memo(rule, *key)
    pair = program.memo(linearize_program, (True,))
    linear = (False,) * len(pair.sources) + (True,)
    assert pair.linear.memo(transpose_program, linear, (True,))[1] == (True,)
    gone = weakref.ref(program)
    del program, pair
    gc.collect()
    assert gone() is None


def test_evaluation_keeps_lines_and_scopes():
    def inner(x):
        with pullback.named_scope("inner"):
            return sin(x)

    program, _ = stage(lambda x: [inner(x)], [T])
    with pullback.named_scope("outer"):
        again, _ = stage(lambda x: evaluate(program, [x]), [T])
    eqn, = again.equations
    assert eqn.scope == "outer/inner" and eqn.source.line == program.equations[0].source.line


@pytest.mark.parametrize("transform", [pullback.jit, pullback.vmap, pullback.grad, lambda f: pullback.jacfwd(f)])
def test_leaked_tracers_are_named(transform):
    stored = []

    def keep(x):
        stored.append(x * 2)  # the leak
        return pullback.numpy.sum(x)
    x = X[0] if transform is pullback.grad else X
    transform(keep)(x)
    with pytest.raises(pullback.errors.UnexpectedTracerError) as caught:
        stored[0] + 1  # the use
    text = str(caught.value)
    assert "the leak" in text and "the use" in text and "fix: return the value" in text
    with pytest.raises(pullback.errors.UnexpectedTracerError):
        pullback.jit(lambda y: y + stored[0])(1.0)


def test_no_tracer_survives_a_transformation():
    refs = []

    def f(x):
        refs.append(weakref.ref(x.owner))
        return pullback.numpy.sum(pullback.numpy.sin(x) ** 2)
    pullback.grad(f)(X)
    pullback.jit(pullback.grad(f))(X)
    pullback.vmap(f)(X)
    gc.collect()
    assert all(ref() is None for ref in refs)


def test_transformations_are_closed_after_an_error():
    def fail(x):
        raise RuntimeError("mine")
    for transform in (pullback.grad, pullback.jit, pullback.vmap):
        with pytest.raises(RuntimeError, match="mine"):
            transform(fail)(X)
    np.testing.assert_allclose(X + 1, np.asarray(X) + 1)


def test_nested_derivatives_own_their_tracers():
    def outer(x):
        def inner(y):
            return mul(mul(x, y), y)
        _, dots = jvp(lambda y: [inner(y)], [x], [1.0])
        return [mul(x, dots[0])]
    _, dots = jvp(outer, [2.0], [1.0])
    np.testing.assert_allclose(dots[0], 2 * 3 * 2.0 ** 2)  # d/dx x (2 x x) = 6 x^2
