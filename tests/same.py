"""The same function under pullback and under real jax."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import pullback


def leaves(tree):
    return [np.asarray(x) for x in jax.tree.leaves(pullback.device_get(tree))]


def same(build, *args, rtol=1e-5, atol=1e-6):
    """Checks that build(engine)(*args) is the same for both engines; returns pullback's result.

    `build` takes an engine (`pullback` or `jax`) and returns a function; arguments are NumPy arrays, which become
    the engine's, and numbers.
    """
    def given(engine):
        return jax.tree.map(lambda x: engine.numpy.asarray(x) if isinstance(x, np.ndarray) else x, args)

    ours = build(pullback)(*given(pullback))
    theirs = build(jax)(*given(jax))
    found, expected = leaves(ours), leaves(theirs)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape, (x.shape, y.shape)
        assert x.dtype == y.dtype, (x.dtype, y.dtype)
        if x.dtype.kind == "V":
            continue
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)
    return ours


def same_at_once(build, *args, rtol=2e-5, atol=2e-5, compiled=True):
    """Checks many calls for the price of one compilation: build(engine)(*args) gives any tree of results.

    Real jax runs it under jit; pullback runs it eagerly, and under jit too if `compiled`. Types are compared
    with their weakness. Arguments are NumPy arrays.
    """
    theirs = jax.jit(build(jax))(*map(jax.numpy.asarray, args))
    given = [pullback.numpy.asarray(x) for x in args]
    runs = [build(pullback)(*given)] + ([pullback.jit(build(pullback))(*given)] if compiled else [])
    for ours in runs:
        same_leaves(ours, theirs, "", rtol, atol)


def same_leaves(ours, theirs, what, rtol=2e-5, atol=2e-5):
    """The leaves are equal in dtype, shape and weakness, and to rounding in value; other leaves than arrays equal."""
    found, expected = pullback.tree_util.tree_leaves_with_path(ours), jax.tree.leaves(theirs)
    assert len(found) == len(expected), (what, ours, theirs)
    for (path, x), y in zip(found, expected, strict=True):
        where = what + pullback.tree_util.keystr(path)
        if not isinstance(y, jax.Array):
            assert np.all(x == y), (where, x, y)
            continue
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type), (where, x.aval, y.aval)
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.kind == "V":
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=where)


def refused_alike(build, error, words):
    """Checks that both engines raise, and pullback an `error` whose message has these words; `build` as in same."""
    with pytest.raises(Exception):  # noqa: B017  # what jax raises is sometimes an error of its inside
        build(jax)
    with pytest.raises(error, match=words):
        build(pullback)


def _evaluated(expressions, **names):
    def build(engine):
        modules = {name: getattr(engine, name) for name in ("numpy", "lax", "nn", "ops", "image", "scipy")
                   if any(f"{name}." in text for text in expressions)}
        modules |= {"jnp": engine.numpy, "np": np, "engine": engine, **names}

        def results(*arrays):
            given = dict(zip(("x", "y", "z", "w"), arrays, strict=False))
            return {text: eval(text, {**modules, **given}) for text in expressions}
        return results
    return build


def same_expressions(text, *arrays, known=False, compiled=True, rtol=2e-5, atol=2e-5, **names):
    """Checks expressions, one on a line, in which the arrays are called x, y, z, w; `jnp` is numpy of the engine.

    known: their values must be known, so that nothing is put under jit. compiled: see same_at_once.
    """
    expressions = [line.strip() for line in text.strip().splitlines()]
    build = _evaluated(expressions, **names)
    if not known:
        return same_at_once(build, *arrays, rtol=rtol, atol=atol, compiled=compiled)
    found = build(pullback)(*[pullback.numpy.asarray(a) for a in arrays])
    expected = build(jax)(*[jax.numpy.asarray(a) for a in arrays])
    for line in expressions:
        same_leaves(found[line], expected[line], line, rtol, atol)


def refused_expressions(text, *arrays, error=ValueError, **names):
    """Checks expressions that both engines refuse: each line is an expression, ' -> ', and words of our message."""
    for line in text.strip().splitlines():
        expression, words = (part.strip() for part in line.split(" -> "))
        build = _evaluated([expression], **names)
        refused_alike(lambda engine, build=build: build(engine)(*[engine.numpy.asarray(a) for a in arrays]),
                      error, words)
