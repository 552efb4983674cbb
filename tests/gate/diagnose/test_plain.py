"""Transformations taken away: plain Python does the same, on both engines, unless something is wrong."""

import numpy as np
import pytest

from pullback import custom_batching, gate
from pullback.gate.diagnose import diagnose, report
from pullback.gate.diagnose.side import LocalSide
from pullback.gate.engine import load
from pullback.gate.watch import Watch
from tests.gate.runs import diagnosed, sessions

X = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
W = np.random.default_rng(1).standard_normal(3).astype("float32")


def everything(engine):
    """Every transformation that is watched, in many forms, as functions of x[4, 3], by the label it has."""
    jax, jnp, lax, random = (engine.module(name) for name in ("", "numpy", "lax", "random"))
    squared = jax.checkpoint(lambda v: jnp.sin(v) ** 2)

    def with_axes(x):
        return jax.vmap(lambda d, k, t: (d["a"] * 2 + t, random.normal(k, (2,)), 3.0), in_axes=({"a": 1}, 0, None),
                        out_axes=(1, 0, None))({"a": x}, random.split(random.key(0), 3), 2.0)

    return {
        "scan in body": lambda x: [lax.scan(lambda c, r: (c + r.sum(), {"s": c * r, "n": None}), 0.0, x),
                                   lax.scan(lambda c, _: (c * 1.5, None), x, length=3, reverse=True)],
        "map in body": lambda x: lax.map(lambda r: r.sum(), x),
        "associative_scan in body": lambda x: [lax.associative_scan(jnp.add, x, axis=1),
                                               lax.associative_scan(jnp.multiply, x, reverse=True)],
        "loop in body": lambda x: [lax.fori_loop(0, 3, lambda i, c: c + i * c, x),
                                   lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))],
        "branch in body": lambda x: [lax.cond(x[0, 0] < 1, lambda v: v + 1, lambda v: v - 1, x),
                                     lax.switch(1, [lambda v: v, lambda v: v * 3], x)],
        "vmap in body": lambda x: [jax.vmap(lambda a, *, b: a + b)(x, b=x),
                                   jax.vmap(jax.vmap(lambda v: v * v), in_axes=-1, out_axes=-1)(x)],
        "vmap in with_axes": with_axes, "checkpoint in everything": squared,
    }


@pytest.mark.parametrize("name", ["pullback", "jax"])
def test_plain_python_does_the_same(name):
    if name == "jax":
        pytest.importorskip("jax")
    engine = load(name)
    tree, numpy = engine.module("tree_util"), engine.module("numpy")
    before = engine.module("lax").scan
    with Watch(engine) as watch:
        for label, function in everything(engine).items():
            def body(x, function=function):
                return function(x)

            watch.plain.seen.clear()
            x = numpy.asarray(X)
            whole, structure = tree.tree_flatten(body(x))
            assert any(label.partition(" ")[0] == seen.partition(" ")[0] for seen in watch.plain.seen), label
            with watch.plain.without(frozenset(watch.plain.seen)):
                plain, other = tree.tree_flatten(body(x))
            assert structure == other
            for a, b in zip(whole, plain):
                assert engine.type_of(a)[:2] == engine.type_of(b)[:2], label
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, err_msg=label)
            if label in ("vmap in with_axes", "loop in body"):  # random numbers; a loop that has no derivative backward
                continue

            def total(x):
                return sum(numpy.sum(y) for y in tree.tree_leaves(body(x)))

            slope = engine.module("").grad(total)(x)
            with watch.plain.without(frozenset(watch.plain.seen)):
                np.testing.assert_allclose(engine.module("").grad(total)(x), slope, rtol=1e-5, err_msg=label)
    assert engine.module("lax").scan is before  # what was watched is itself again


def test_what_cannot_be_taken_away_stays():
    """A named axis, a traced condition, a loop that is long."""
    engine = load("pullback")
    jax, numpy, lax = engine.module(""), engine.module("numpy"), engine.module("lax")
    with Watch(engine) as watch, watch.plain.without(frozenset({
            "vmap in test_what_cannot_be_taken_away_stays", "loop in test_what_cannot_be_taken_away_stays",
            "scan in test_what_cannot_be_taken_away_stays"})):
        assert jax.vmap(lambda v: lax.psum(v, "i"), axis_name="i")(numpy.ones(3)).tolist() == [3.0] * 3
        grown = jax.jit(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1.0)))(3)
        assert grown[1] == 8.0
        assert lax.scan(lambda c, _: (c + 1, None), 0, length=5000)[0] == 5000
        assert lax.fori_loop(0, 1000, lambda i, c: c + 1, 0) == 1000
        assert set(watch.plain.seen) >= watch.plain.off


def test_a_loop_whose_steps_are_counted_while_it_is_traced():
    """One run alone: as written, and with its loop as plain Python."""
    def build(jax):
        def loss(w, x):
            seen = []

            def step(c, row):
                seen.append(0)
                return c + len(seen) * jax.numpy.dot(row, w), None
            return jax.lax.scan(step, 0.0, x)[0]
        return gate.Model(loss, W, {"x": np.tile(X, (3, 1))})  # more objects than are looked at

    with sessions(build) as (session,):
        side = LocalSide(session, "model")
        found = diagnose(side, side)
    assert found.stage.name == "transforms" and [*found.removed] == ["scan step in loss"], report.text(found)
    assert "len(seen)" in found.parting.found.operation.source
    text = report.text(found)
    assert "gone without what is named here, taken away alone" in text and "scan step in loss" in text


def test_healthy_loops_agree_with_plain_python():
    def build(jax):
        def loss(w, x):
            step = jax.checkpoint(lambda c, row: (jax.numpy.tanh(c + row * w), c.sum()))
            rows = jax.vmap(lambda v: v * w)(x)
            return jax.lax.scan(step, rows[0], rows)[1].sum()
        return gate.Model(loss, W, {"x": X})

    found = diagnosed(build, build)
    assert found.stage is None and found.stages[-1].name == "transforms"
    assert found.stages[-1].text == "vmap, loops and checkpoints do what plain Python does"


def test_another_axis_is_told_by_the_transformation():
    def mapped(axes):
        def build(jax):
            def loss(w, x):
                def one(a, b):
                    return jax.numpy.dot(a, w) * b
                return jax.numpy.mean(jax.vmap(one, in_axes=axes)(x[:3], x[:3]))
            return gate.Model(loss, W, {"x": X})
        return build

    found = diagnosed(mapped((0, 0)), mapped((1, 0)))
    assert [[*only] for only in found.only] == [["vmap one in_axes=(0, 0)"], ["vmap one in_axes=(1, 0)"]]
    assert "in_axes=axes" in found.only[1]["vmap one in_axes=(1, 0)"]
    assert "transformations that only one run has" in report.text(found)


def test_a_wrong_rule_for_vmap_and_two_rules_together():
    def mapped(factor):
        def build(jax):
            @custom_batching.custom_vmap
            def soft(v):
                return jax.numpy.tanh(v)

            @soft.def_vmap
            def soft_rows(size, mapped, v):
                return jax.numpy.tanh(v) * factor, mapped[0]
            return gate.Model(lambda w, x: jax.numpy.mean(jax.vmap(soft)(x @ w)), W, {"x": X})
        return build

    found = diagnosed(mapped(1.0), mapped(1.5))
    assert "custom_vmap soft" in found.removed and found.stage.name == "loss", report.text(found)

    def ruled(one, two):
        def build(jax):
            def made(name, factor):
                def function(x):
                    return jax.numpy.tanh(x)
                function.__code__ = function.__code__.replace(co_name=name)
                rule = jax.custom_vjp(function)
                rule.defvjp(lambda x: (jax.numpy.tanh(x), x), lambda x, ct: (
                    ct * factor * (1 - jax.numpy.tanh(x) ** 2),))
                return rule
            first, second = made("first", one), made("second", two)
            return gate.Model(lambda w, x: jax.numpy.mean(first(x @ w) + second(x @ w)), W, {"x": X})
        return build

    found = diagnosed(ruled(1.0, 1.0), ruled(1.5, 2.0))
    assert found.together and sorted(found.removed) == ["rule first", "rule second"], report.text(found)
    assert "taken away together" in report.text(found)
