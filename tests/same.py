"""The same function under pullback and under real jax."""

from __future__ import annotations

import jax
import numpy as np

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
