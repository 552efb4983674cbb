"""debug_key_reuse: keys used twice are found, with both lines, and keys used once are not."""

from __future__ import annotations

import inspect

import jax
import numpy as np
import pytest

import pullback
from pullback.experimental import key_reuse
from pullback.ops.call import call
from pullback.passes.key_reuse import follow

KINDS = ["key", "PRNGKey"]
random, jnp, lax = pullback.random, pullback.numpy, pullback.lax


def uses(run):
    """Whether a run is refused."""
    try:
        run()
    except (pullback.errors.KeyReuseError, jax.errors.KeyReuseError):
        return True
    return False


def draw(key):
    return random.normal(key)


def split_and_draw(key, _):
    key, sub = random.split(key)
    return key, draw(sub)


def noisy_step(carry):
    i, x, key = carry
    key, sub = random.split(key)
    return i + 1, jnp.sin(x * draw(sub)), key


def scanned_loss(x, key):
    def step(c, _):
        key, sub = random.split(c[1])
        return (c[0] * jnp.sin(x * draw(sub)), key), c[0]
    return lax.scan(step, (x, key), None, length=3)[0][0]


@pullback.custom_jvp
def ruled(x, key):
    return x * draw(key)


ruled.defjvps(lambda t, out, x, key: t, None)


# name -> a function of a key that uses a key twice
TWICE = {
    "two draws": lambda k: (draw(k), random.uniform(k)),
    "split and draw": lambda k: (random.split(k), draw(k)),
    "two splits": lambda k: (random.split(k), random.split(k, 3)),
    "fold_in and draw": lambda k: (random.fold_in(k, 1), draw(k)),
    "one number folded in twice": lambda k: (draw(random.fold_in(k, 1)), draw(random.fold_in(k, 1))),
    "one element": lambda k: [draw(key) for key in [random.split(k, 3)[i] for i in (0, 2, 0)]],
    "an element and all": lambda k: (lambda ks: (draw(ks[1]), pullback.vmap(draw)(ks)))(random.split(k, 3)),
    "words": lambda k: (draw(k), draw(random.wrap_key_data(random.key_data(k)))),
    "moved": lambda k: (lambda ks: (draw(ks[0, 1]), draw(jnp.concatenate([ks[1:], ks[:1]]).swapaxes(0, 1)[1, 1])))(
        random.split(k, (2, 2))),
    "a stack": lambda k: pullback.vmap(draw)(jnp.stack([k, k])),
    "a jitted function": lambda k: (lambda f: (f(k), f(k)))(pullback.jit(draw)),
    "a jitted function that folds in": lambda k: (lambda f: (f(k), f(k)))(pullback.jit(lambda k: draw(
        random.fold_in(k, 1)))),
    "a compiled function": lambda k: (lambda f: (f(k), f(k)))(pullback.jit(draw).lower(k).compile()),
    "a closure": lambda k: (pullback.jit(lambda: draw(k))(), draw(k)),
    "a batch": lambda k: (lambda ks: (pullback.vmap(draw)(ks), pullback.vmap(draw)(ks)))(random.split(k, 2)),
    "a constant of scan": lambda k: lax.scan(lambda c, _: (c, draw(k)), 0.0, None, length=2),
    "the carry of scan": lambda k: lax.scan(lambda c, _: (c, draw(c)), k, None, length=2),
    "a row of scan": lambda k: (lambda ks: (lax.scan(lambda c, x: (c, draw(x)), 0.0, ks), draw(ks[3])))(
        random.split(k, 5)),
    "an output of scan": lambda k: (lambda ks: draw(ks[2]))(lax.scan(
        lambda c, _: (lambda a, b: (a, (draw(b), b)[1]))(*random.split(c)), k, None, length=4)[1]),
    "the carry of while": lambda k: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, draw(c[2]), c[2]),
                                                   (0, 0.0, k)),
    "fori with one number": lambda k: lax.fori_loop(0, 3, lambda i, c: c + draw(random.fold_in(k, 7)), 0.0),
    "a branch and behind": lambda k: (lax.cond(jnp.bool_(True), draw, lambda k: 0.0, k), draw(k)),
    "a batch of branches": lambda k: pullback.vmap(lambda x: lax.cond(
        x > 0, lambda: draw(k) + random.uniform(k), lambda: 0.0))(jnp.arange(2.0)),
    "a custom rule": lambda k: (ruled(1.0, k), ruled(2.0, k)),
    "grad": lambda k: pullback.grad(lambda x: jnp.sin(x * draw(k) * random.uniform(k)))(1.0),
    "an unknown element": lambda k: (lambda ks, i: draw(ks[i]) + draw(ks[i]))(
        random.split(k, 3), jnp.argmin(jnp.ones(2))),
}
ONCE = {
    "numbers folded in": lambda k: [draw(random.fold_in(k, i)) for i in range(3)],
    "data read": lambda k: (random.key_data(k), draw(k), k == k),
    "elements": lambda k: [draw(x) for x in random.split(k, 3)],
    "clones": lambda k: (draw(random.clone(k)), draw(k), draw(random.clone(k))),
    "jitted functions": lambda k: [pullback.jit(draw)(x) for x in random.split(k)],
    "a batch": lambda k: pullback.vmap(draw)(random.split(k, 3)),
    "a key that the batch shares": lambda k: pullback.vmap(lambda x: x + draw(k))(jnp.ones(3)),
    "folded in by a batch": lambda k: pullback.vmap(lambda i: draw(random.fold_in(k, i)))(jnp.arange(3)),
    "scan": lambda k: lax.scan(split_and_draw, k, None, length=4),
    "rows": lambda k: lax.scan(lambda c, x: (c, draw(x)), 0.0, random.split(k, 4)),
    "keys that scan made": lambda k: (lambda ks: (draw(ks[0]), draw(ks[3])))(
        lax.scan(lambda c, _: tuple(random.split(c)), k, None, length=4)[1]),
    "fori": lambda k: lax.fori_loop(0, 3, lambda i, c: c + draw(random.fold_in(k, i)), 0.0),
    "folded in by scan": lambda k: lax.scan(lambda c, i: (c, draw(random.fold_in(k, i))), 0.0, jnp.arange(3)),
    "while": lambda k: lax.while_loop(lambda c: c[0] < 3, noisy_step, (0, 1.0, k)),
    "branches": lambda k: lax.cond(jnp.bool_(True), draw, lambda k: random.uniform(k), k),
    "a batch of branches": lambda k: pullback.vmap(lambda x: lax.cond(
        x > 0, lambda: draw(k), lambda: random.uniform(k)))(jnp.arange(2.0)),
    "grad of checkpoint": lambda k: pullback.grad(pullback.checkpoint(lambda x: jnp.sin(x * draw(k))))(1.0),
    "batch of grad of checkpoint": lambda k: pullback.vmap(lambda k: pullback.grad(pullback.checkpoint(
        lambda x, k: jnp.sin(x * draw(k))))(1.0, k))(random.split(k, 2)),
    "grad of scan": lambda k: pullback.grad(scanned_loss)(1.0, k),
    "grad of while": lambda k: pullback.grad(lambda x, k: lax.while_loop(
        lambda c: c[0] < 2, noisy_step, (0, x, k))[1])(1.0, k),
    "two elements not known": lambda k: (lambda ks, i: draw(ks[i]) + draw(ks[i + 1]))(
        random.split(k, 3), jnp.argmin(jnp.ones(2))),
}
COMPILED_TOO = {"two draws", "words", "one element", "moved", "a jitted function", "a constant of scan",
                "a branch and behind", "a batch of branches", "a custom rule", "an unknown element", "clones",
                "elements", "grad of checkpoint", "grad of scan", "grad of while", "numbers folded in", "scan",
                "two elements not known"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_pairing(kind):
    make = getattr(random, kind)
    with pullback.debug_key_reuse(True):
        for cases, expected in ((TWICE, True), (ONCE, False)):
            for name, case in cases.items():
                assert uses(lambda c=case: c(make(0))) == expected, name
                if name in COMPILED_TOO:
                    compiled = pullback.jit(case)
                    assert uses(lambda c=compiled: c(make(0))) == expected, f"{name}, compiled"
    assert not uses(lambda: TWICE["two draws"](make(0)))  # the setting is off


def test_keys_of_four_words():
    names = ["two draws", "fold_in and draw", "one element", "a batch", "an output of scan", "clones", "elements",
             "scan"]
    with pullback.default_prng_impl("rbg"), pullback.debug_key_reuse(True):
        for name in names:
            for case, expected in ((TWICE.get(name), True), (ONCE.get(name), False)):
                assert case is None or uses(lambda c=case: c(random.PRNGKey(0))) == expected, name


def test_decisions_are_those_of_jax():
    """Where jax follows keys (typed ones, no fold_in, no clone of derivatives), the answers are equal."""
    def cases(e):
        normal, split, key = e.random.normal, e.random.split, e.random.key
        return [
            lambda: [normal(k) for k in [key(0)] * 2],
            lambda: [normal(k) for k in split(key(0))],
            lambda: (lambda k: (split(k), normal(k)))(key(0)),
            lambda: (lambda k: (normal(e.random.clone(k)), normal(k)))(key(0)),
            lambda: (lambda ks: (normal(ks[0]), normal(ks[0])))(split(key(0))),
            lambda: e.jit(lambda k: normal(k) + normal(k))(key(0)),
            lambda: e.lax.scan(lambda c, x: (c, normal(c)), key(0), None, length=2),
            lambda: e.lax.cond(True, normal, normal, key(0)),
            lambda: (lambda k: e.vmap(normal)(e.numpy.stack([k, k])))(key(0)),
        ]
    with pullback.debug_key_reuse(True), jax.debug_key_reuse(True):
        for i, (ours, theirs) in enumerate(zip(cases(pullback), cases(jax), strict=True)):
            assert uses(ours) == uses(theirs), i


def message(run, *args):
    with pullback.debug_key_reuse(True), pytest.raises(pullback.errors.KeyReuseError) as error:
        run(*args)
    return str(error.value)


def test_the_message_names_both_lines():
    def noisy(key):
        first = draw(key)
        return first * random.uniform(key)
    for run in (noisy, pullback.jit(noisy)):
        text = message(run, random.key(0))
        lines = text.splitlines()
        assert lines[0] == "a key is used again, so random numbers would repeat"
        assert "test_key_reuse.py" in lines[1] and "first * random.uniform(key)" in lines[1]
        assert "first used at test_key_reuse.py" in text and "in draw:  return random.normal(key)" in text
        assert "fix: split the key first" in lines[-1]
    compiled = pullback.jit(draw)

    def calls(key):
        compiled(key)
        return compiled(key)  # again
    text = message(calls, random.PRNGKey(0))
    assert "return compiled(key)  # again" in text.split("first used")[0]
    assert "called at test_key_reuse.py" in text.split("first used")[1] and "in calls:  compiled(key)" in text
    assert "in an earlier step of the loop, at" in message(TWICE["a constant of scan"], random.key(0))
    assert "when this line ran before, at" in message(lambda k: [draw(k) for _ in range(2)], random.key(0))
    text = message(TWICE["fold_in and draw"], random.key(0))
    assert text.startswith("a key is used by fold_in and by something else")
    assert message(TWICE["a stack"], random.key(0)).startswith("one key stands more than once in an array of keys")


def test_random_functions_use_their_key_once():
    given = {"p": 0.3, "minval": 0, "maxval": 9, "lower": -1.0, "upper": 1.0, "alpha": jnp.ones(3), "df": 3.0, "a": 2.0,
             "b": 2.0, "mean": jnp.zeros(2), "cov": jnp.eye(2), "scale": 1.0, "lam": 3.0, "logits": jnp.ones(3), "n": 3,
             "sigma": jnp.ones(3), "left": 0.0, "right": 1.0, "mode": 0.5, "concentration": 1.0, "dfnum": 2.0,
             "dfden": 3.0, "x": jnp.arange(3), "data": 1, "loc": 0.0, "d": 2, "ngood": 3, "nbad": 3, "nsample": 2}
    special = {"choice": {"a": jnp.arange(4)}, "multinomial": {"n": 3, "p": jnp.full(3, 1 / 3)}}
    seen = 0
    for name in random.__all__:
        function = getattr(random, name)
        parameters = list(inspect.signature(function).parameters.values())
        if parameters[0].name != "key":
            continue
        required = [p.name for p in parameters[1:] if p.default is p.empty]
        arguments = special.get(name, {}) | {p: (2,) if p == "shape" else given[p] for p in required
                                             if p not in special.get(name, {})}
        key = random.PRNGKey(0)
        made = pullback.make_jaxpr(lambda k, f=function, a=arguments: f(k, **a))(key)

        def run(made=made, key=key):
            follow(call, [*made.consts, key], {"program": made.program, "name": ""}, made.program.output_types)
        run()
        assert uses(run) == (name not in ("clone", "fold_in")), name
        seen += 1
    assert seen > 15


def test_setting_and_module():
    assert issubclass(pullback.errors.KeyReuseError, TypeError)  # as in jax
    assert key_reuse.KeyReuseError is pullback.errors.KeyReuseError
    with pytest.raises(AttributeError, match="key_reuse.nothing"):
        key_reuse.nothing  # noqa: B018
    try:
        pullback.config.update("jax_debug_key_reuse", True)
        assert uses(lambda: TWICE["two draws"](random.key(0)))
    finally:
        pullback.config.update("jax_debug_key_reuse", False)
    key = random.key(1)
    np.testing.assert_array_equal(random.key_data(random.clone(key)), random.key_data(key))
    assert random.clone(random.PRNGKey(1)).shape == (2,)
