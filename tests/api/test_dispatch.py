"""Calls of jitted functions that come again: they give what the first call gave, whatever changed in between."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pullback
from tests.same import same

jnp = pullback.numpy
X = np.array([0.5, -1.5, 2.0], np.float32)


def calls(function, *arguments, times=3):
    """The results of a call that is made several times."""
    return [np.asarray(function(*arguments)) for _ in range(times)]


def test_numbers_that_change_and_come_again():
    f = pullback.jit(lambda x, c: x * c)
    for c in (2.0, 3.0, 2.0, 2, True, np.float32(0.25), 2.0, np.int32(3), False, -1):
        for result in calls(f, jnp.asarray(X), c):
            np.testing.assert_array_equal(result, X * c)


def test_the_sign_of_zero_is_kept():
    f = pullback.jit(lambda c: jnp.copysign(1.0, c))
    assert [float(f(c)) for c in (0.0, -0.0, 0.0, -0.0)] == [1, -1, 1, -1]


def test_the_types_of_numbers_are_those_of_jax():
    arguments = [1, 1.0, True, 1j, np.float64(1.5), np.int64(3), np.float16(2), np.uint8(7), np.bool_(True)]
    same(lambda j: lambda: [j.jit(lambda x, c: (x + c, c))(j.numpy.ones(2, j.numpy.bfloat16), c)
                            for c in arguments for _ in range(3)])


def test_an_array_of_numpy_may_change_after_the_call():
    f = pullback.jit(lambda x: x + 1)
    x = np.zeros(1000, np.float32)
    results = []
    for i in range(5):
        x[:] = i
        results.append(f(x))
        x[:] = -100
    assert [float(r[-1]) for r in results] == [1, 2, 3, 4, 5]


def test_arrays_of_numpy_of_any_layout():
    f = pullback.jit(lambda x: x * 2)
    whole = np.arange(24, dtype=np.float64).reshape(4, 6)
    for x in (whole, whole.T, whole[::2, 1:], whole.astype(np.int64), whole[:0], whole[0, 0]):
        for result in calls(f, x):
            np.testing.assert_array_equal(result, x * 2)


def test_a_number_or_an_array_that_does_not_fit_is_refused_each_time():
    f = pullback.jit(lambda x, n: x + n)
    f(jnp.ones(2, jnp.int32), 1)
    f(jnp.ones(2, jnp.int32), 1)
    for _ in range(2):
        with pytest.raises(OverflowError):
            f(jnp.ones(2, jnp.int32), 2 ** 40)
        with pytest.raises(TypeError, match="argument n of"):
            f(jnp.ones(2, jnp.int32), "text")
        with pytest.raises(TypeError):
            f(np.array(["text"]), 1)
    assert f(jnp.ones(2, jnp.int32), 1).tolist() == [2, 2]


def test_structures_with_equal_leaves_are_told_apart():
    def f(x, y=None, **more):
        if isinstance(x, tuple):
            return x[0] + 10
        return x + (0 if y is None else 20 * y) + 100 * len(more)
    f = pullback.jit(f)
    x = jnp.asarray(X)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), X)
        np.testing.assert_array_equal(f((x,)), X + 10)
        np.testing.assert_array_equal(f(x, x), X + 20 * X)
        np.testing.assert_array_equal(f(x, y=x), X + 20 * X)
        np.testing.assert_array_equal(f(x, z=x), X + 100)
        np.testing.assert_array_equal(f(x, None), X)
    two = pullback.jit(lambda x, y: (x[0] if isinstance(x, tuple) else -x) + (y[0] if isinstance(y, tuple) else -y))
    for _ in range(3):
        np.testing.assert_array_equal(two((x,), (x,)), 2 * X)
        np.testing.assert_array_equal(two(x, x), -2 * X)


def test_static_arguments_are_told_apart():
    f = pullback.jit(lambda x, n, *, how="add": x + n if how == "add" else x * n, static_argnums=1,
                     static_argnames="how")
    for _ in range(3):
        for n in (1, 2, 1.0, True):
            np.testing.assert_array_equal(f(jnp.asarray(X), n), X + n)
            np.testing.assert_array_equal(f(jnp.asarray(X), n, how="times"), X * n)


def test_calls_unlike_those_that_are_ready():
    """What is ready after some equal calls must see that the next one is another."""
    x, y = jnp.asarray(X), jnp.asarray(2 * X)

    def function(a, b, n=1, *, how="add", c=None):
        return (a + n * b if how == "add" else a * n * b) + (0 if c is None else sum(pullback.tree.leaves(c)))

    f = pullback.jit(function, static_argnames=("n", "how"))
    kinds = [
        ((x, y), {}), ((), {"a": x, "b": y}), ((), {"b": x, "a": y}), ((x,), {"b": y}), ((x, y, 2), {}),
        ((x, y), {"n": 2}), ((x, y, 2.0), {}), ((x, y, True), {}), ((x, y), {"how": "times"}),
        ((x, y, 2), {"how": "times", "c": x}), ((x, y), {"c": [x, y]}), ((x, y), {"c": (x, y)}), ((x, y), {"c": [x]}),
        ((X, y), {}), ((X.astype(np.float64), 1.5), {}), ((X[:1], y), {}), ((X, 2), {"c": {"k": X}}),
    ]
    for args, kwargs in kinds:
        for other_args, other_kwargs in kinds:
            for _ in range(3):
                f(*args, **kwargs)
            other = f(*other_args, **other_kwargs)
            np.testing.assert_allclose(other, function(*other_args, **other_kwargs), rtol=1e-6)
            np.testing.assert_allclose(f(*args, **kwargs), function(*args, **kwargs), rtol=1e-6)
    with pytest.raises(ValueError, match="cannot be hashed"):
        f(x, y, [1])
    with pytest.raises(TypeError):
        f(a=x, d=y)


def test_arguments_that_are_not_read_and_arrays_closed_over():
    base = jnp.asarray(X)
    f = pullback.jit(lambda unread, x, also: {"a": x + base, "b": (base, x)})
    for k in (1, 2, 3):
        result = f(base, jnp.full(3, k, jnp.float32), base)
        np.testing.assert_array_equal(result["a"], X + k)
        np.testing.assert_array_equal(result["b"][0], X)


def test_settings_changed_between_calls():
    f = pullback.jit(lambda x: x * np.float64(2))
    x = jnp.asarray(X)
    assert [f(x).dtype for _ in range(3)] == [jnp.float32] * 3
    with pullback.enable_x64(True):
        assert [f(x).dtype for _ in range(3)] == [jnp.float64] * 3
    assert [f(x).dtype for _ in range(3)] == [jnp.float32] * 3
    with pullback.debug_nans(True), pytest.raises(FloatingPointError):
        f(jnp.full(3, np.nan, jnp.float32))
    pullback.config.update("enable_x64", True)
    try:
        assert f(x).dtype == jnp.float64
    finally:
        pullback.config.update("enable_x64", False)
    assert f(x).dtype == jnp.float32


def test_a_setting_of_one_thread_is_not_that_of_another():
    f = pullback.jit(lambda x: x * np.float64(2))
    x = jnp.asarray(X)
    found, inside, done = [], threading.Event(), threading.Event()
    f(x), f(x)

    def other():
        with pullback.enable_x64(True):
            f(x), f(x)
            inside.set()
            done.wait(10)
            found.append(f(x).dtype)
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    try:
        assert [f(x).dtype for _ in range(3)] == [jnp.float32] * 3
    finally:
        done.set()
        thread.join()
    assert found == [jnp.float64] and f(x).dtype == jnp.float32


def test_caches_cleared_between_calls():
    traces = []
    f = pullback.jit(lambda x: traces.append(1) or x + 1)
    f(X), f(X), f.clear_cache(), f(X), f(X)
    assert len(traces) == 2
    pullback.clear_caches()
    f(X), f(X)
    assert len(traces) == 3


def test_inside_of_a_transformation_and_out_again():
    f = pullback.jit(lambda x: x ** 3)
    x = jnp.float32(2)
    for _ in range(3):
        assert f(x) == 8 and pullback.grad(f)(x) == 12 and pullback.vmap(f)(jnp.ones(2)).tolist() == [1, 1]


def test_donated_arguments():
    f = pullback.jit(lambda x, c: x * c, donate_argnums=(0, 1))
    x = jnp.asarray(X)
    for _ in range(4):
        x = f(x + 0, 2.0)  # the number is not lost with the buffer that was made for it
    np.testing.assert_array_equal(x, X * 16)
    given = x + 0
    f(given, 2.0)
    if given.is_deleted():
        with pytest.raises(RuntimeError, match="donate"):
            f(given, 2.0)


def test_arrays_put_on_a_device():
    f = pullback.jit(lambda x, y: x + y)
    device = pullback.devices()[0]
    here, there = jnp.asarray(X), pullback.device_put(X, device)
    for _ in range(3):
        for a, b in ((here, here), (there, there), (here, there), (there, 1.0), (X, there)):
            np.testing.assert_array_equal(f(a, b), X + np.asarray(b))
    assert f(there, there).committed and not f(here, here).committed


def test_a_call_that_fails_says_why_each_time():
    def stop(x):
        raise ValueError("no")
    f = pullback.jit(lambda x: pullback.pure_callback(stop, pullback.ShapeDtypeStruct((), np.float32), x))
    for _ in range(3):
        with pytest.raises(Exception, match="no"):
            np.asarray(f(jnp.float32(1)))


def test_arguments_that_no_device_takes_and_nothing_reads():
    f = pullback.jit(lambda x, unread: x + 1)
    nothing = np.zeros(3, pullback.dtypes.float0)
    deleted = jnp.ones(2)
    deleted.delete()
    for _ in range(3):
        np.testing.assert_array_equal(f(jnp.asarray(X), nothing), X + 1)
        np.testing.assert_array_equal(f(jnp.asarray(X), deleted), X + 1)
