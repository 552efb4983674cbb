"""Python functions called from compiled programs: values, order, errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import pullback

jnp, lax = pullback.numpy, pullback.lax
X = np.array([1.0, 2.0, 3.0], np.float32)
STRUCT = pullback.ShapeDtypeStruct((3,), np.float32)


def doubled(x):
    return pullback.pure_callback(lambda a: 2 * np.asarray(a), pullback.ShapeDtypeStruct(x.shape, x.dtype), x,
                                  vmap_method="sequential")


def test_pure_callback():
    for run in (doubled, pullback.jit(doubled), pullback.vmap(doubled), pullback.jit(pullback.vmap(doubled))):
        np.testing.assert_array_equal(run(X), 2 * X)


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
def test_vmap_methods_with_a_leading_axis(method):
    shapes = []

    def add(a, b):
        shapes.append((a.shape, b.shape))
        return np.asarray(a) + np.asarray(b)
    run = pullback.vmap(lambda a, b: pullback.pure_callback(add, pullback.ShapeDtypeStruct((), np.float32), a, b,
                                                            vmap_method=method), (0, None))
    np.testing.assert_array_equal(run(X, np.float32(1)), X + 1)
    assert shapes == [((3,), (1,) if method == "expand_dims" else (3,))]


def test_ordered_prints_keep_the_order_through_loops_branches_and_calls(capsys):
    def program(x):
        pullback.debug.print("start {}", x, ordered=True)

        def step(c, a):
            pullback.debug.print("step {c}", c=c, ordered=True)
            return c + a, None
        total, _ = lax.scan(step, 0.0, x)
        lax.cond(total > 0, lambda: pullback.debug.print("positive", ordered=True),
                 lambda: pullback.debug.print("negative", ordered=True))
        pullback.jit(lambda t: pullback.debug.print("inside {}", t, ordered=True))(total)
        return lax.while_loop(lambda t: t < 10, lambda t: (pullback.debug.print("loop {}", t, ordered=True), t + 3)[1],
                              total)
    assert float(pullback.jit(program)(X)) == 12
    compiled = capsys.readouterr().out
    assert compiled.splitlines() == ["start [1. 2. 3.]", "step 0.0", "step 1.0", "step 3.0", "positive", "inside 6.0",
                                     "loop 6.0", "loop 9.0"]
    program(X)
    assert capsys.readouterr().out == compiled


def test_prints_survive_differentiation_and_vmap(capsys):
    def loss(x):
        pullback.debug.print("x {}", x)
        return x ** 2
    pullback.jit(pullback.grad(loss))(3.0)
    assert "x 3.0" in capsys.readouterr().out
    pullback.jit(pullback.vmap(loss))(X)
    assert sorted(capsys.readouterr().out.splitlines()) == ["x 1.0", "x 2.0", "x 3.0"]


def test_io_callback_runs_once_a_call():
    calls = []

    def note(x):
        calls.append(float(x))
        return np.float32(len(calls))
    run = pullback.jit(lambda x: pullback.experimental.io_callback(
        note, pullback.ShapeDtypeStruct((), np.float32), x, ordered=True))
    assert [float(run(1.0)), float(run(2.0))] == [1.0, 2.0] and calls == [1.0, 2.0]
    pullback.effects_barrier()


@pytest.mark.parametrize("wrap", [lambda f: f, pullback.jit])
def test_exceptions_arrive_as_themselves(wrap):
    class OwnError(Exception):
        pass

    def fail(x):
        raise OwnError("mine")
    with pytest.raises(OwnError, match="mine"):
        np.asarray(wrap(lambda x: pullback.pure_callback(fail, STRUCT, x))(X))


def test_errors():
    with pytest.raises(ValueError, match=r"int64\[3\], f32\[3\] is required"):
        pullback.pure_callback(lambda x: np.ones(3, int), STRUCT, X)
    with pytest.raises(ValueError, match="vmap_method"):
        pullback.vmap(lambda x: pullback.pure_callback(np.sin, pullback.ShapeDtypeStruct((), np.float32), x))(X)
    with pytest.raises(TypeError, match="custom_jvp or custom_vjp"):
        pullback.grad(lambda x: jnp.sum(doubled(x)))(X)
    with pytest.raises(ValueError, match="no order"):
        pullback.vmap(lambda x: pullback.debug.print("{}", x, ordered=True))(X)
    with pytest.raises(ValueError, match="does not use the arguments"):
        pullback.debug.print("nothing", X)


@pytest.mark.parametrize("engine", [pullback, jax], ids=lambda e: e.__name__)
def test_options_in_a_call_of_their_own(engine, capsys, caplog):
    if engine is jax and jax.__version_info__ < (0, 11):
        pytest.skip("jax has the form with two calls from 0.11 on")

    def f(x):
        engine.debug.print(ordered=True)("x is {x} beside {}", 2, x=x)
        engine.debug.callback(ordered=True)(lambda x, ordered: print(x, ordered), x, ordered=3)
        return x

    engine.jit(f)(1)
    engine.effects_barrier()
    assert capsys.readouterr().out == "x is 1 beside 2\n1 3\n"
    with pytest.raises(TypeError):
        engine.debug.print(3)


def test_options_without_a_format():
    with pytest.raises(TypeError, match="second"):
        pullback.debug.print(ordered=True, x=3)
    with pytest.raises(TypeError, match="second"):
        pullback.debug.callback(None, 3)


def test_breakpoint(monkeypatch):
    stops = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(1))
    pullback.jit(lambda x: pullback.debug.breakpoint(token=x, ordered=True) + 1)(1)
    pullback.jit(lambda x: pullback.debug.breakpoint())(1)
    assert stops == [1, 1]
