"""Pictures and reports of sharding on one device, and the log, against real jax."""

from __future__ import annotations

import contextlib
import doctest
import io
import logging

import jax
import numpy as np
import pytest

import pullback
from pullback.api import placement

jnp = pullback.numpy
THEIRS = jax.numpy.ones(3).sharding


def printed(show, *args, **kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(*args, **kwargs)
    return out.getvalue()


@pytest.mark.parametrize("shape", [(1,), (2,), (8,), (100,), (1, 1), (4, 4), (1, 8), (8, 1), (16, 4), (3, 5), (2, 3),
                                   (7, 5), (9, 10), (1000, 1)])
def test_boxes_equal_jaxs(shape):
    ours = jnp.ones(3).sharding
    for kwargs in ({}, {"scale": 2.0}, {"scale": 0.5}, {"min_width": 20}, {"max_width": 30}, {"use_color": False}):
        assert printed(pullback.debug.visualize_sharding, shape, ours, **kwargs) == \
            printed(jax.debug.visualize_sharding, shape, THEIRS, **kwargs), kwargs


def test_arrays_eagerly_and_traced():
    x = np.ones((4, 2), np.float32)
    expected = printed(jax.debug.visualize_array_sharding, jax.numpy.asarray(x))
    show = pullback.debug.visualize_array_sharding
    assert printed(show, jnp.asarray(x)) == printed(pullback.jit(show), x) == expected
    seen = []

    def f(x):
        pullback.debug.inspect_array_sharding(x, callback=seen.append)
        return 2 * x
    f(jnp.ones(2))
    pullback.jit(f)(jnp.ones(2))
    pullback.grad(lambda x: f(x).sum())(jnp.ones(2))
    assert [s.device_set for s in seen] == [{pullback.devices()[0]}] * 3


def test_messages():
    ours = jnp.ones(3).sharding
    for shape in ((), (2, 2, 2), (0,)):
        with pytest.raises(ValueError, match="one or two axes"):
            pullback.debug.visualize_sharding(shape, ours)
    with pytest.raises(TypeError, match="one over a single device"):
        pullback.debug.visualize_sharding((2,), None)
    with pytest.raises(TypeError, match="an Array is required"):
        pullback.debug.inspect_array_sharding(np.ones(2), callback=print)


def test_log(caplog):
    def f(x):
        pullback.debug.log("x is {x}, and {}", 2 * x, x=x)
        return x
    with caplog.at_level(logging.INFO, logger="pullback.debug"):
        pullback.jit(f)(3.0)
    assert caplog.messages == ["x is 3.0, and 6.0"]
    with pytest.raises(ValueError, match="debug.log: the format string does not use"):
        pullback.debug.log("x", 1.0)
    with pytest.raises(TypeError, match="a string is required"):
        pullback.debug.log(3)


def test_examples():
    assert doctest.testmod(placement, extraglobs={"jnp": jnp}).failed == 0
