"""explain_cache_misses and log_compiles: what is logged when a function is traced, or compiled."""

from __future__ import annotations

import functools
import logging
import time

import numpy as np
import pytest

import pullback

jnp = pullback.numpy


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.WARNING, "pullback")

    def take():
        found = [record.getMessage() for record in caplog.records if record.name == "pullback"]
        caplog.clear()
        return found
    return take


def fit(params, x, n=1, mode="a"):
    return params["w"] * x + n


class One(int):
    def __repr__(self):
        return "Same"


class Two(One):
    pass


def precisely(f, *args):
    with pullback.default_matmul_precision("high"):
        return f(*args)


W = {"w": np.ones(3, np.float32)}
X = np.ones(3, np.float32)
CHANGES = {
    "argument x: f32[3] before, f32[1,3] now (shape)": lambda f: f(W, X[None]),
    "argument params['w']: f32[3] before, i32[3] now (dtype)": lambda f: f({"w": np.ones(3, np.int32)}, X),
    "argument x: f32[3] before, f32[] now (shape, weak type: strong before, weak (a Python number) now)":
        lambda f: f(W, 1.0),
    "static argument n: not given before, 2 now": lambda f: f(W, X, n=2),
    "static argument mode: 'a' before, 'b' now": lambda f: (f(W, X, mode="a"), f(W, X, mode="b")),
    "static argument n: True before, 1 now": lambda f: (f(W, X, n=True), f(W, X, n=1)),
    "static argument n: Same of type One before, Same of type Two now":
        lambda f: (f(W, X, n=One(1)), f(W, X, n=Two(1))),
    "params['b']: missing before, there now": lambda f: f({**W, "b": X}, X),
    "the way arguments are passed: 2 by position, none by keyword before; 1 by position, x by keyword now":
        lambda f: f(W, x=X),
    "setting default_matmul_precision: None before, 'high' now": lambda f: precisely(f, W, X),
    "mapped axes in scope: {} before, {'i': 2} now":
        lambda f: pullback.vmap(lambda w: f({"w": w}, X), axis_name="i")(np.ones((2, 3), np.float32)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_from_the_nearest_call(change, lines):
    f = pullback.jit(lambda params, x, n=1, mode="a": fit(params, x, n), static_argnames=("n", "mode"))
    f(W, X)
    assert lines() == []  # the setting is off
    with pullback.explain_cache_misses(True):
        f(W, X)
        assert lines() == []  # known
        CHANGES[change](f)
        found = "\n".join(lines())
    assert change in found, found
    assert "earlier signature" in found and "called at test_misses.py" in found and "(test_misses.py:" in found


def test_the_nearest_is_told(lines):
    f = pullback.jit(lambda x, y: x + y)
    f(np.ones((2, 3), np.float32), np.ones(3, np.float32))
    f(1, 2)
    lines()
    with pullback.explain_cache_misses(True):
        f(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32))
    (text,) = lines()
    assert text.endswith("the nearest of 2 earlier signatures differs\n"
                         "  argument y: f32[3] before, f32[2,3] now (shape)")


def test_structures(lines):
    f = pullback.jit(lambda t: pullback.tree.leaves(t)[0])
    with pullback.explain_cache_misses(True):
        f((X,))
        f([X])
    first, second = lines()
    assert first.endswith("it was not called before")
    assert "the structure of the arguments: at t, the earlier call has a tuple of length 1 and this one has" in second


def test_another_function_of_the_same_definition(lines):
    secret = np.full(3, 12345.0, np.float32)
    with pullback.explain_cache_misses(True):
        for n in range(2):
            pullback.jit(lambda x, n=n: x * n)(X)
        second = lines()[1]
        assert "it is another function object than before, of the same definition" in second
        assert "default 0: 0 before, 1 now" in second and "fix: jit the function once" in second
        for scale in (2.0, 3.0):
            pullback.jit(functools.partial(fit, W, n=scale))(X)
        assert "partial argument n: 2.0 before, 3.0 now" in lines()[-1]

        def close(scale):
            return pullback.jit(lambda x: x * scale)
        for scale in (1.0, jnp.asarray(secret)):
            close(scale)(X)
        text = lines()[-1]
        assert "closure variable scale: 1.0 before, f32[3] now" in text
        assert "12345" not in text  # types, no numbers
        pullback.vmap(lambda a: pullback.jit(lambda y: y + a)(X))(X)
        assert "closes over values that are being traced, so it is traced at every call" in lines()[-1]
        pullback.jit(fit, static_argnames="mode")(W, X)
        pullback.jit(fit, static_argnames="n")(W, X)
        assert "another jit of the function, with other static or donated arguments" in lines()[-1]


def test_log_compiles(lines):
    fresh = time.time()  # a program that no earlier process compiled
    f = pullback.jit(lambda x, y: x * fresh + y)
    with pullback.log_compiles(True):
        f(X, 2.0)
        before, after = lines()
        f(X, 2.0)
        assert lines() == []
    assert before.startswith("compiling <lambda>(f32[3], f32[]), called at test_misses.py")
    assert after.startswith("compiled <lambda> in ") and after.endswith(" s")
    pullback.jit(lambda x: x * (fresh + 1))(X)
    assert lines() == []
