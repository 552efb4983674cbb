"""Eager loops, branches and checkpoints: what was compiled for one serves every other that does the same."""

import pytest

import pullback as pb
import pullback.numpy as jnp
from pullback import lax
from pullback.runtime import eager, pjrt

X = jnp.arange(6.0).reshape(3, 2)
CALLS = {
    "scan": lambda x: lax.scan(lambda c, row: (c * 0.5 + row, c), jnp.zeros(2), x),
    "cond": lambda x: lax.cond(True, lambda x: x * 3, lambda x: x, x),
    "while_loop": lambda x: lax.while_loop(lambda x: x.sum() < 70, lambda x: x + 2, x),
    "checkpoint": lambda x: pb.checkpoint(lambda x: jnp.tanh(x) * 2)(x),
    "nested": lambda x: lax.scan(lambda c, row: (c + lax.scan(lambda d, y: (d - y, None), 0.0, row)[0], row), 0.0, x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_made_anew_are_compiled_once(call):
    first = call(X)
    made, kept = pjrt.programs_made(), len(eager._single)
    for _ in range(3):
        again = call(X)
    assert (pjrt.programs_made(), len(eager._single)) == (made, kept)
    assert str(again) == str(first)


def test_loops_that_differ_in_a_number_are_not_taken_for_each_other():
    def last(factor):
        return lax.scan(lambda c, row: (c * factor + row, None), jnp.zeros(()), jnp.ones(3))[0].item()

    assert [last(factor) for factor in (1.0, 2.0, -0.0, 1.0)] == [3.0, 7.0, 1.0, 3.0]


def test_checkpoints_that_differ_in_what_they_close_over():
    def scaled(factor):
        return pb.checkpoint(lambda x: x * factor)(jnp.ones(3)).tolist()

    assert [scaled(f) for f in (2.0, 3.0, jnp.arange(3.0), jnp.ones(3), 2)] == [
        [2.0] * 3, [3.0] * 3, [0.0, 1.0, 2.0], [1.0] * 3, [2.0] * 3]


def test_loops_with_effects_are_not_taken_for_each_other():
    seen = []

    def loop(name):
        def step(c, row):
            pb.debug.callback(lambda: seen.append(name))
            return c + row, None
        return lax.scan(step, jnp.zeros(()), jnp.ones(2))

    loop("one")
    loop("other")
    assert seen == ["one"] * 2 + ["other"] * 2


def test_a_full_table_is_emptied(monkeypatch):
    monkeypatch.setattr(eager, "_KEPT", 3)
    eager.clear()
    for n in range(8):
        assert lax.scan(lambda c, row, n=n: (c + n, None), 0.0, jnp.ones(2))[0].item() == 2 * n
        assert len(eager._single) <= 3
