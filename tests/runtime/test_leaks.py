"""check_tracer_leaks: what is held is named, with its holder; what is not held is not reported."""

from __future__ import annotations

import collections
import functools

import pytest

import pullback

jnp, lax = pullback.numpy, pullback.lax
kept: list = []
by_name: dict = {}


class Model:
    pass


class Slotted:
    __slots__ = ("h",)


model, slotted = Model(), Slotted()


@functools.lru_cache
def cached(n):
    return jnp.ones(n) * 2


def leak(transform, store):
    """The message for a function that stores `x * 2`."""
    def function(x):
        y = x * 2
        store(y)
        return x
    with pullback.checking_leaks(), pytest.raises(pullback.errors.UnexpectedTracerError) as error:
        transform(function)
    return str(error.value)


def store_global(y):
    global latest
    latest = y


def store_function(y):
    def later():
        return y
    kept.append(later)


STORES = {
    "the global kept[0] of": kept.append,
    "the global by_name['a']['b'][0] of": lambda y: by_name.update(a={"b": (y,)}),
    "the global model.h of": lambda y: setattr(model, "h", y),
    "the global slotted.h[0] of": lambda y: setattr(slotted, "h", [y]),
    "the global latest of": store_global,
    "the global kept[0] (y, a closure variable of later at test_leaks.py:": store_function,
}


@pytest.fixture(autouse=True)
def clean():
    yield
    kept.clear()
    by_name.clear()
    for x in (model, slotted):
        if hasattr(x, "h"):
            del x.h
    globals().pop("latest", None)


@pytest.mark.parametrize("holder", STORES)
def test_the_holder_is_named(holder):
    text = leak(lambda f: pullback.jit(f)(1.0), STORES[holder])
    assert f"is held by {holder}" in text
    assert "f32[] made at test_leaks.py" in text and "y = x * 2" in text
    assert text.startswith("a traced value is still held after the jit of function that made it has ended")
    assert "fix: return the value from the transformed function" in text


@pytest.mark.parametrize("transform, name", [
    (lambda f: pullback.vmap(f)(jnp.ones(2)), "vmap"), (lambda f: pullback.grad(f)(1.0), "grad/vjp"),
    (lambda f: pullback.jvp(f, (1.0,), (1.0,)), "jvp"),
    (lambda f: lax.scan(lambda c, _: (f(c), None), 1.0, None, length=2), "scan"),
    (lambda f: pullback.make_jaxpr(f)(1.0), "make_jaxpr")])
def test_every_transformation(transform, name):
    assert f"after the {name}" in leak(transform, kept.append)


def test_variables_and_several_values():
    log = collections.deque()
    keep = None

    def store(y):
        nonlocal keep
        log.append(y)
        keep = y + 1
    text = leak(lambda f: pullback.jit(f)(1.0), store)
    assert text.startswith("2 traced values are still held after")
    assert "the variable log[0] of test_variables_and_several_values at test_leaks.py" in text
    assert "the variable keep of" in text and keep is not None
    text = leak(lambda f: pullback.jit(f)(1.0), lambda y: kept.extend([y + i for i in range(7)]))
    assert "and 2 more" in text


def test_a_cache_of_the_users():
    with pullback.checking_leaks(), pytest.raises(pullback.errors.UnexpectedTracerError, match="the global cached of"):
        pullback.jit(lambda x: x + cached(3))(1.0)
    cached.cache_clear()


def test_what_is_in_order():
    @pullback.custom_jvp
    def wave(x):
        return jnp.sin(x)
    wave.defjvps(lambda t, out, x: t * jnp.cos(x))

    def recursive(x):
        def power(n):  # refers to itself: a cycle
            return x if n == 0 else x * power(n - 1)
        return power(2)
    with pullback.checking_leaks():
        pullback.make_jaxpr(pullback.grad(lambda x: wave(x) * recursive(x)))(1.0)
        pullback.make_jaxpr(pullback.vmap(lambda x: lax.scan(lambda c, y: (c * y, c), x, jnp.ones(2))[0]))(jnp.ones(2))
        pullback.make_jaxpr(pullback.grad(pullback.checkpoint(jnp.sin)))(1.0)
        y, pull = pullback.vjp(jnp.sin, 1.0)
        pull(y)
        with pytest.raises(ZeroDivisionError):
            pullback.jit(lambda x: (kept.append(x), 1 // 0))(1.0)  # an error says more than the leak
    pullback.jit(kept.append)(1.0)  # the setting is off


def test_names():
    with pullback.checking_leaks():
        assert pullback.check_tracer_leaks.value is True
    assert pullback.config.jax_check_tracer_leaks is False
