"""Eager calls that come again run by a schedule: the same results, errors, warnings and lines as the first."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
import pullback.numpy as jnp
from pullback.runtime import remember, schedule
from pullback.runtime.remember import remembered


@pytest.fixture(autouse=True)
def _afresh(monkeypatch):
    monkeypatch.setattr(remember, "repeats", [1])
    remember.clear()


def counted(function):
    """`function`, remembered, and the list of its runs."""
    runs = []

    def f(*args, **kwargs):
        runs.append(args)
        return function(*args, **kwargs)
    return remembered(f), runs


def test_the_second_call_is_staged_and_later_ones_run_by_what_was_found():
    f, runs = counted(lambda x, axis: jnp.sum(x, axis) * 2)
    for n in range(5):
        assert f(jnp.full((2, 3), float(n)), 0).tolist() == [4.0 * n] * 3
    assert len(runs) == 2
    f(jnp.ones((2, 3)), 1)
    f(jnp.ones((3, 2)), 0)
    assert len(runs) == 4


def test_a_schedule_that_runs_often_is_written_as_one_function():
    table = jnp.arange(3.0)

    def function(x, y):
        small, large = jnp.sort(x), jnp.max(x, 1)
        return {"a": (x - x.mean(0)) / (y + 2.0), "same": x, "several": (small[0], large), "table": table * 1,
                "number": jnp.sum(y), "flags": jnp.isnan(1 / y), "compared": large > 0}

    f, runs = counted(function)
    for n in range(20):
        x = jnp.asarray([[0.0, -1.0, 2.5], [n, np.nan, -0.0]])
        y = jnp.asarray([0.0, n, np.inf])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = f(x, y)
        expected = function(x, y)
        assert found["same"] is x
        pb.tree.map(lambda a, b: np.testing.assert_array_equal(np.asarray(a), np.asarray(b)), found, expected)
        pb.tree.map(lambda a, b: a.type is b.type or pytest.fail(f"{a.type}, {b.type}"), found, expected)
    assert len(runs) == 2


def test_a_schedule_goes_with_the_last_that_needs_it():
    program = pb.make_jaxpr(lambda x: jnp.sin(x) * 2 + jnp.cos(x))(1.0).program
    run = schedule.schedule(program)
    for _ in range(20):
        run([jnp.asarray(1.0)])
    assert run.written is not None
    function = weakref.ref(run.written)
    gc.disable()
    try:
        del run
        assert function() is None  # at once: no circle of references holds it
    finally:
        gc.enable()


@pytest.mark.parametrize("one, other", [(1, True), (1, 1.0), (0.0, -0.0), (None, False), ((1,), [1]), ("a", None),
                                        (slice(1), slice(0, 1))])
def test_python_values_that_are_equal_and_not_the_same(one, other):
    seen = []
    f = remembered(lambda x, value: (seen.append(repr(value)), x)[1])
    x = jnp.ones(2)
    for value in (one, one, one, other, other, other):
        f(x, value)
    assert seen == [repr(one)] * 2 + [repr(other)] * 2


def test_a_call_that_looks_at_numbers_goes_on_as_it_is():
    f, runs = counted(lambda x: x if x[0] > 0 else -x)
    for n in (1.0, -2.0, 3.0):
        assert f(jnp.array([n])).tolist() == [abs(n)]
    assert len(runs) == 4  # once in vain


def test_a_power_whose_exponent_is_a_known_integer_is_the_same_in_each_call():
    x, two, less = jnp.ones(2, np.int32) + 1.0, jnp.asarray(2), jnp.asarray(-2)
    for _ in range(3):
        for power in (jnp.power, lambda a, b: a ** b):
            assert power(x, two).weak_type
            with pytest.raises(TypeError, match="exponent -2"):
                power(jnp.ones(2, np.int32), less)


def test_errors_and_warnings_come_every_time():
    x = jnp.ones((2, 3))
    for _ in range(4):
        with pytest.raises(TypeError, match=r"(?s)add: shapes.*test_remember.py"):
            jnp.add(x, jnp.ones(2))
        with pytest.raises(ValueError, match="axis"):
            jnp.sum(x, axis=5)
    f = remembered(lambda x: (warnings.warn("careful", stacklevel=2), x + 1)[1])
    for _ in range(4):
        with pytest.warns(UserWarning, match="careful"):
            f(x)


def test_results_of_several_arrays_and_what_is_returned_as_it_came():
    x = jnp.arange(6.0)
    for _ in range(3):
        a, b = jnp.split(x, 2)
        assert a.tolist() == [0, 1, 2] and b.tolist() == [3, 4, 5]
        assert jnp.ravel(x) is x
        assert [p.tolist() for p in jnp.meshgrid(x[:2], x[:1])] == [[[0, 1]], [[0, 0]]]


def test_transformations_and_settings_do_not_see_it():
    x = jnp.array([1.0, 0.0])
    for _ in range(3):
        assert pb.grad(lambda x: jnp.sum(x * x))(x).tolist() == [2, 0]
        assert pb.jit(lambda x: jnp.exp(x) * 0)(x).tolist() == [0, 0]
        assert pb.vmap(lambda x: jnp.cumsum(x))(jnp.ones((2, 2))).tolist() == [[1, 2]] * 2
        assert (1 / x).tolist() == [1, np.inf]
        with pb.debug_infs(True), pytest.raises(FloatingPointError, match="infinity"):
            1 / x
        with pb.numpy_dtype_promotion("strict"), pytest.raises(pb.dtypes.TypePromotionError, match="no implicit"):
            x + jnp.arange(2)
        assert (x + jnp.arange(2)).tolist() == [1, 1]


def test_a_full_table_is_emptied_and_clear_caches_empties_all(monkeypatch):
    monkeypatch.setattr(remember, "_KEPT", 3)
    f, runs = counted(lambda x, k: x + k)
    for k in range(10):
        assert f(jnp.ones(1), k).tolist() == [1 + k]
    settings = remember._tables[-1]
    assert [0 < len(calls) <= 3 for calls in settings.values()] == [True]
    pb.clear_caches()
    assert not settings
    assert f(jnp.ones(1), 5).tolist() == [6]


def test_the_sign_of_zero_and_of_weak_types_stays():
    x = jnp.array([1.0, -1.0])
    for zero in (0.0, -0.0, 0.0, -0.0, 0.0, -0.0):
        assert np.signbit(jnp.multiply(x, zero)).tolist() == [np.signbit(zero), not np.signbit(zero)]
    weak = jnp.asarray(2.0)
    for _ in range(3):
        assert weak.weak_type and (weak * 2).weak_type and not (weak * x).weak_type
        assert (jnp.arange(3, dtype=jnp.int8) + 1).dtype == jnp.int8
