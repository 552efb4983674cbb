"""Calls made on pullback and on real jax, compared in value, dtype, weak type, shape and derivative."""

import jax
import jax.numpy
import numpy as np

import pullback
from pullback.core import dtypes
from pullback.core.array import ConcreteArray
from pullback.core.values import value

pullback.jit  # noqa: B018  # loads the engine


def f32(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def distinct(*shape, seed=0):
    """Floats of which no two are equal, so that an extreme has a derivative."""
    size = int(np.prod(shape))
    places = np.random.default_rng(seed).permutation(size).reshape(shape)
    return (places - size / 2 + 0.25).astype(np.float32) / 4


def numbers(x):
    x = x.numpy() if isinstance(x, ConcreteArray) else np.asarray(x)
    if x.dtype == dtypes.float0:
        return np.zeros(x.shape)
    return x.astype(np.float32) if x.dtype.kind == "V" or x.dtype == np.float16 else x


def close(ours, theirs, rtol=None):
    """Every leaf equal in dtype, shape, weak type and, to rounding, in value."""
    left, right = pullback.tree_util.tree_leaves(ours), jax.tree.leaves(theirs)
    assert len(left) == len(right), (ours, theirs)
    for x, y in zip(left, right):
        if not isinstance(y, jax.Array):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
            continue
        assert x.dtype == y.dtype and x.shape == y.shape, (x, y)
        if y.dtype != dtypes.float0:
            assert x.weak_type == y.weak_type, f"weak type: {x.weak_type} against {y.weak_type}"
        a, b = numbers(x), numbers(y)
        tolerance = rtol or {"e": 1e-2, "V": 2e-2}.get(np.dtype(y.dtype).kind
                                                       if np.dtype(y.dtype).kind == "V" else
                                                      np.dtype(y.dtype).char, 2e-5)
        if a.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
        else:
            scale = float(np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=1.0))
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def given(args, convert):
    return [convert(x) if isinstance(x, np.ndarray) else x for x in args]


def same(function, *args, rtol=None, compiled=True):
    """`function(lax, *arrays)` gives the same on both, also under jit."""
    theirs = function(jax.lax, *given(args, jax.numpy.asarray))
    ours = function(pullback.lax, *given(args, value))
    close(ours, theirs, rtol)
    if compiled:
        arrays = [x for x in args if isinstance(x, np.ndarray)]

        def call(*xs):
            rest = iter(xs)
            return function(pullback.lax, *[next(rest) if isinstance(x, np.ndarray) else x for x in args])
        close(pullback.jit(call)(*given(arrays, value)), theirs, rtol)
    return ours


def same_gradient(function, *args, rtol=None, order=1):
    """The vjp of `function(lax, *arrays)` is the same on both; order 2: also the vjp of that."""
    rng = np.random.default_rng(1)
    outputs = jax.tree.leaves(function(jax.lax, *given(args, jax.numpy.asarray)))
    cts = [np.asarray(rng.normal(size=y.shape), np.float32).astype(y.dtype) for y in outputs]

    def pulled(engine, convert, *xs):
        _, pull = engine.vjp(lambda *ys: engine.tree_util.tree_leaves(function(engine.lax, *ys)), *xs)
        return pull([convert(ct) for ct in cts])

    # Under jit, because real jax compiles every operation that it runs eagerly.
    theirs = jax.jit(lambda *xs: pulled(jax, jax.numpy.asarray, *xs))(*given(args, jax.numpy.asarray))
    ours = pulled(pullback, value, *given(args, value))
    close(ours, theirs, rtol)
    if order > 1:
        again = [rng.normal(size=x.shape).astype(x.dtype) for x in args]

        def second(engine, convert, *xs):
            _, pull = engine.vjp(lambda *ys: pulled(engine, convert, *ys), *xs)
            return pull(tuple([convert(ct) for ct in again]))
        theirs = jax.jit(lambda *xs: second(jax, jax.numpy.asarray, *xs))(*given(args, jax.numpy.asarray))
        close(second(pullback, value, *given(args, value)), theirs, rtol)
