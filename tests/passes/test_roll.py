"""Rolling: repeated stretches become loops that compute the same, and what must not become one does not."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.core.check import check_program
from pullback.core.show import show
from pullback.interpret.evaluate import evaluate
from pullback.passes.dce import dce
from pullback.passes.inline import inline
from pullback.passes.roll import roll, rolled

jnp, lax, random = pullback.numpy, pullback.lax, pullback.random
RNG = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(RNG.normal(size=shape).astype(np.float32))


W, X, ROWS = normal(5, 5) / 3, normal(5), normal(20, 5)


def runge_kutta(y, a):
    def f(y, t):
        return jnp.tanh(a @ y) + jnp.sin(t) * y

    t = 0.0
    for _ in range(12):
        k1 = f(y, t)
        k2 = f(y + 0.05 * k1, t + 0.05)
        k3 = f(y + 0.1 * k2, t + 0.1)
        y, t = y + 0.1 / 6 * (k1 + 4 * k2 + k3), t + 0.1
    return jnp.sum(y ** 2)


def two_steps_back(w, x):
    a, b = x, x * 2
    for _ in range(20):
        a, b = b, jnp.tanh(b @ w) + 0.3 * a - jnp.sin(a)
    return jnp.sum(b)


def collects(w, x):
    out = []
    for i in range(20):
        x = jnp.tanh(x @ w) + x * 0.1 + jnp.cos(x)
        out.append(x.sum() * i + i * 0.3)
    return jnp.stack(out), x


def returns_what_only_the_last_step_made(w, x):
    for _ in range(20):
        y = jnp.tanh(x @ w)
        side = jnp.cos(y) * 3 - jnp.sin(x)
        x = y + x * 0.1 + side * 0.01
    return side, jnp.exp(side), x


def reads_rows(w, xs):
    h, total = jnp.zeros(5), 0.0
    for t in range(20):
        h = jnp.tanh(h @ w + xs[t]) * jnp.cos(h) + xs[19 - t] * 0.1
        total = total + jnp.sum(h * xs[:, 2][t])
    return total


def folds_keys(w, key):
    h = jnp.ones(5)
    for t in range(20):
        h = jnp.tanh(h @ w) + random.normal(random.fold_in(key, t), (5,)) * 0.1
    return jnp.sum(h)


def splits_keys(w, key):
    h = jnp.ones(5)
    for _ in range(20):
        key, k = random.split(key)
        h = jnp.tanh(h @ w) + random.normal(k, (5,)) * 0.1
    return jnp.sum(h)


def layers(params, x):
    for w, b in params:
        x = x + jnp.tanh(x @ w + b) * jnp.sin(x)
    return jnp.mean(x ** 2)


PARAMS = [(normal(4, 4) / 3, normal(4)) for _ in range(20)]
CASES = {
    "runge_kutta": (pullback.value_and_grad(runge_kutta, argnums=(0, 1)), (X, W)),
    "two_steps_back": (pullback.value_and_grad(two_steps_back), (W, X)),
    "collects": (collects, (W, X)),
    "gradient of what it collects": (pullback.grad(lambda w, x: sum(map(jnp.sum, collects(w, x)))), (W, X)),
    "the last one": (returns_what_only_the_last_step_made, (W, X)),
    "reads_rows": (pullback.value_and_grad(reads_rows, argnums=(0, 1)), (W, ROWS)),
    "folds_keys": (pullback.value_and_grad(folds_keys), (W, random.key(3))),
    "splits_keys": (pullback.value_and_grad(splits_keys), (W, random.key(3))),
    "layers": (pullback.value_and_grad(layers), (PARAMS, normal(6, 4))),
    "hessian": (pullback.hessian(lambda w: two_steps_back(w, X)), (W,)),
    "batched": (pullback.vmap(pullback.grad(two_steps_back), (None, 0)), (W, ROWS[:3])),
}


def program_of(function, args):
    closed = pullback.make_jaxpr(function)(*args)
    return dce(inline(closed.program)), [*closed.consts, *map(jnp.asarray, pullback.tree.leaves(args))]


@pytest.mark.parametrize("name", CASES)
def test_loops_compute_the_same(name):
    function, args = CASES[name]
    program, values = program_of(function, args)
    after, findings = rolled(program)
    assert any(f.rolled for f in findings) and len(after.equations) < len(program.equations) / 2
    check_program(after)
    assert show(roll(after)) == show(after)
    compiled = pullback.tree.leaves(pullback.jit(function)(*args))
    for a, b, c in zip(evaluate(program, values), evaluate(after, values), compiled, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
        np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-4)


def repeated(step, times=40):
    def run(x):
        for i in range(times):
            x = step(x, i)
        return x
    return run


@pytest.mark.parametrize("step, size, why", [
    (lambda x, i: jnp.sin(x) * 2 + x * jnp.cos(x), 10_000, "one pass over memory"),
    (lambda x, i: jnp.sin(x) * 2 + x * jnp.cos(x), 10, "it is short"),
    (lambda x, i: x @ jnp.full((300, 300), i, jnp.float32) + jnp.sin(x) * x, 300, None),
    (lambda x, i: jnp.sort(x)[::-1] + x[i * i % 7] * x[0] + x[0], 10, "arithmetic progression"),
], ids=["large", "short", "constants", "uneven"])
def test_what_stays_as_it_is(step, size, why):
    program, _ = program_of(repeated(step), (jnp.ones(size),))
    after, findings = rolled(program)
    if why is None:
        assert findings[0].rolled
    else:
        assert after is program and why in findings[0].why


def test_effects_keep_their_place():
    seen = []

    def note(a):
        seen.append(float(a))

    def step(x, i):
        pullback.debug.callback(note, x[0], ordered=True)
        return jnp.tanh(x @ W) + jnp.sin(x) * 0.5 - x

    pullback.jit(repeated(step, 20))(X)
    pullback.effects_barrier()
    assert len(seen) == 20
    program, _ = program_of(repeated(step, 20), (X,))
    assert rolled(program)[0] is program


def test_stacking_that_costs_more_than_it_saves_is_left():
    params = [(jnp.ones((200, 200)), jnp.ones(200)) for _ in range(20)]
    program, _ = program_of(pullback.grad(layers), (params, jnp.ones((1, 200))))
    after, findings = rolled(program)
    assert not any(f.rolled for f in findings) and "MB" in findings[0].why and after is program


def test_the_report_names_what_was_rolled_and_what_was_left():
    text = pullback.jit(CASES["reads_rows"][0]).lower(W, ROWS).report()
    assert "rolled: 19 times" in text and "test_roll.py:" in text and "in reads_rows" in text
    assert "one pass over memory" in pullback.jit(
        repeated(lambda x, i: jnp.sin(x) * 2 + x * jnp.cos(x))).lower(jnp.ones(10_000)).report()


def test_programs_inside_loops_are_rolled_too():
    def loss(w, xs):
        return jnp.sum(lax.scan(lambda c, x: (repeated(lambda y, i: jnp.tanh(y @ w) + jnp.sin(y) * x)(c), None),
                                xs[0], xs)[0])

    text = pullback.jit(loss).lower(W, ROWS).as_text()
    assert text.count("stablehlo.while") == 2
    np.testing.assert_allclose(pullback.jit(pullback.grad(loss))(W, ROWS), pullback.grad(loss)(W, ROWS), rtol=1e-4)


def test_results_computed_again_behind_a_loop_are_no_reason_for_another():
    """The equations behind the first loop are a stretch as long as that of a second: it would go on for ever."""
    def f(rows):
        results, total = [], 0.0
        for row in rows:
            for j in range(45):
                results.append(row * (j + 2.0) + jnp.abs(row))
                total = total + jnp.sum(jnp.sin(results[-1]))
        return results, total

    rows = normal(5, 4, 4)
    lowered = pullback.jit(f).lower(rows)
    assert "rolled: 5 times 272 equations" in lowered.report()
    assert "5 times 137 equations" in lowered.report() and "computed again after it" in lowered.report()
    for got, expected in zip(pullback.tree.leaves(pullback.jit(f)(rows)), pullback.tree.leaves(f(rows)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4)


def _recurrence(cell, weights, xs):
    state, outputs = jnp.zeros(4), []
    for x in xs:
        state, other = cell(weights, state, x)
        outputs.append(other)
    return sum([(o * (i + 1)).sum() for i, o in enumerate(outputs[::3])]) + state.sum()


def test_a_program_has_one_text():
    """The cache on disk goes by the text: what was taken from a set would stand elsewhere in each run."""
    def cell(weights, state, x):
        a, b = weights
        gate, new = jnp.tanh(a @ state + x), pullback.nn.sigmoid(b @ state - x)
        return gate * new + state * (1 - gate), new * x

    weights = (jnp.eye(4), jnp.ones((4, 4)) / 8)
    xs = jnp.linspace(-1, 1, 48).reshape(12, 4)
    texts = set()
    for n in range(8):
        gradient = pullback.jit(lambda w, xs: pullback.grad(lambda w: _recurrence(cell, w, xs))(w))
        texts.add(gradient.lower(weights, xs).as_text())
        _ = [object() for _ in range(1000 * n)]  # other addresses
    assert len(texts) == 1
    assert "stablehlo.while" in texts.pop()
