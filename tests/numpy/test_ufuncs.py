"""Universal functions and their methods against real jax."""

import inspect

import jax
import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp = pullback.numpy
X = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
Y = np.array([[0.5, -2, 3], [4, 0, 6]], np.float32)


def test_reduce():
    same_expressions("""
        jnp.add.reduce(x)
        jnp.add.reduce(x, axis=None)
        jnp.add.reduce(x, axis=(0, 1))
        jnp.add.reduce(x, dtype='float32', where=x > 2, axis=1, initial=2, keepdims=True)
        jnp.add.reduce(x > 2)
        jnp.multiply.reduce(x, axis=-1)
        jnp.maximum.reduce(x)
        jnp.minimum.reduce(y, where=x > 2, initial=9, axis=None)
        jnp.subtract.reduce(x)
        jnp.subtract.reduce(x, axis=None, keepdims=True)
        jnp.subtract.reduce(x, axis=1, initial=100, where=x > 2, keepdims=True)
        jnp.subtract.reduce(x, dtype='float32')
        jnp.logical_and.reduce(x)
        jnp.logical_and.reduce(x, initial=0)
        jnp.logical_or.reduce(x, dtype='int32')
        jnp.logical_xor.reduce(x, keepdims=True, axis=1)
        jnp.bitwise_and.reduce(x)
        jnp.bitwise_and.reduce(x, where=x > 1)
        jnp.bitwise_and.reduce(x.astype('uint8'), where=x > 1)
        jnp.bitwise_or.reduce(x, initial=8)
        jnp.bitwise_xor.reduce(x, axis=(0, 1))
        jnp.logaddexp.reduce(x)
        jnp.logaddexp2.reduce(y, where=x > 2)
        jnp.logaddexp.reduce(jnp.zeros((0, 2)))""", X, Y)


def test_accumulate_outer_reduceat():
    same_expressions("""
        jnp.add.accumulate(x, axis=1, dtype='float32')
        jnp.add.accumulate(x, axis=None)
        jnp.multiply.accumulate(x)
        jnp.subtract.accumulate(x, axis=1)
        jnp.subtract.accumulate(x, dtype='float32')
        jnp.maximum.accumulate(y.at[0, 1].set(np.nan), axis=1)
        jnp.logical_xor.accumulate(x)
        jnp.logaddexp.accumulate(y, axis=1)
        jnp.subtract.accumulate(jnp.zeros((0, 2)))
        jnp.add.outer(x, y[0])
        jnp.add.outer(1, 2)
        jnp.add.reduceat(x, jnp.array([0, 1]))
        jnp.add.reduceat(x, jnp.array([0, 2]), axis=1)
        jnp.add.reduceat(x, jnp.array([2, 0]), axis=1)
        jnp.subtract.reduceat(y, jnp.array([1, 1, 0]), axis=1)
        jnp.maximum.reduceat(x, jnp.array([], int), axis=1)""", X, Y)
    assert jnp.add.reduceat(X, jnp.array([0, 1]), axis=1, dtype="float32").dtype == np.float32
    assert jnp.logical_and.reduceat(X, jnp.array([0, 2]), axis=1).dtype == bool


def test_at():
    same_expressions("""
        jnp.add.at(x, (0, 1), 10, inplace=False)
        jnp.add.at(x, jnp.array([0, 0]), 10, inplace=False)
        jnp.multiply.at(x, (0, jnp.array([1, 1])), jnp.array([2, 3]), inplace=False)
        jnp.subtract.at(x, (0, jnp.array([1, 1])), jnp.array([2, 3]), inplace=False)
        jnp.maximum.at(x, (0, jnp.array([1, 1])), jnp.array([2, 3]), inplace=False)
        jnp.negative.at(x, (0, jnp.array([1, 1, 2])), inplace=False)
        jnp.logical_and.at(x, jnp.array([0, 0]), 0, inplace=False)
        jnp.bitwise_or.at(x, jnp.array([0, 0]), 8, inplace=False)
        jnp.logaddexp.at(y, jnp.array([0, 0]), 8, inplace=False)""", X, Y)


def test_from_python_functions():
    same_expressions("""
        jnp.frompyfunc(f, 2, 1)(x, 2)
        jnp.frompyfunc(f, 2, 1)(1.5, x)
        jnp.frompyfunc(f, 2, 1).reduce(x, axis=1)
        jnp.frompyfunc(f, 2, 1).reduce(x, initial=3)
        jnp.frompyfunc(f, 2, 1, identity=4).reduce(x)
        jnp.frompyfunc(f, 2, 1, identity=1).reduce(x, where=x > 2)
        jnp.frompyfunc(f, 2, 1, identity=4).reduce(jnp.zeros((0, 2)))
        jnp.frompyfunc(f, 2, 1).accumulate(x)
        jnp.frompyfunc(f, 2, 1).outer(x[0], x[1])
        jnp.frompyfunc(f, 2, 1).at(x, (jnp.array([0, 0]), 1), jnp.array([1, 2]), inplace=False)
        jnp.frompyfunc(f, 2, 1).at(x, (jnp.array([0, 7]), 1), jnp.array([1, 2]), inplace=False)
        jnp.frompyfunc(f, 2, 1).at(x, 0, 2.5, inplace=False)
        jnp.frompyfunc(f, 2, 1).reduceat(x, jnp.array([0]))
        jnp.frompyfunc(lambda a: a.sum(), 1, 1)(x)
        jnp.frompyfunc(lambda a, b: (a, b), 2, 2)(x, 2)""", X, f=lambda a, b: a * b + 1)


def test_refused():
    refused_expressions("""
        jnp.add.reduce(jnp.float32(1)) -> axis 0 is out of bounds
        jnp.add.accumulate(x, axis=2) -> axis 2 is out of bounds
        jnp.maximum.reduce(jnp.zeros((0, 2))) -> an extreme needs one
        jnp.maximum.reduce(x, where=x > 2) -> pass initial
        jnp.subtract.reduce(jnp.zeros((0, 2))) -> subtract has no identity
        jnp.subtract.reduce(x, axis=1, where=x > 2) -> subtract has no identity
        jnp.subtract.reduce(x, axis=(0, 1)) -> one axis or None is required
        jnp.negative.reduce(x) -> 2 and 1 are required for reduce
        jnp.negative.accumulate(x) -> 2 and 1 are required for accumulate
        jnp.add.at(x, 0, 1) -> pass inplace=False
        jnp.add.reduceat(x, jnp.array([[0, 1]])) -> indices along one axis""", X)
    refused_expressions("""
        jnp.add.reduce([1, 2]) -> got a list
        jnp.add.at(x, 0, inplace=False) -> got no second argument
        jnp.negative.at(x, 0, 1, inplace=False) -> got a second argument
        jnp.add(1) -> add: .* got 1 arguments, 2 are required
        jnp.add(x, 1, where=x > 2) -> where is given
        jnp.add(x, 1, out=x) -> arrays are immutable
        jnp.add(x, jnp.ones(4)) -> add: shapes .* cannot be broadcast
        jnp.frompyfunc(lambda a, b: a, 2, 1)([1, 2]) -> got 1 arguments""", X, error=TypeError)
    with pytest.raises(TypeError, match="a function is required"):
        jnp.frompyfunc(3, 1, 1)
    with pytest.raises(IndexError, match="not all within an axis of size 3"):
        jnp.add.reduceat(X, jnp.array([0, 5]), axis=1)


def test_as_objects():
    names = [name for name in dir(jax.numpy) if isinstance(getattr(jax.numpy, name), jax.numpy.ufunc)]
    assert names and names == [name for name in dir(jnp) if isinstance(getattr(jnp, name), jnp.ufunc)]
    for name in names:
        ours, theirs = getattr(jnp, name), getattr(jax.numpy, name)
        for attribute in ("__name__", "nin", "nout", "nargs", "identity"):
            assert getattr(ours, attribute) == getattr(theirs, attribute)
        assert repr(ours) == repr(theirs) and ours == ours and hash(ours) == hash(ours)
        for method in ("reduce", "accumulate", "at", "outer", "reduceat", "__call__"):
            found, expected = (inspect.signature(getattr(u, method)).parameters.values() for u in (ours, theirs))
            assert [(p.name, p.kind, p.default) for p in found] == [(p.name, p.kind, p.default) for p in expected]
    assert jnp.frompyfunc(abs, 1, 1) == jnp.frompyfunc(abs, 1, 1) != jnp.frompyfunc(abs, 1, 1, identity=0)
    assert pullback.jit(jnp.add)(1, 2) == 3 and pullback.vmap(jnp.add)(X, X).shape == X.shape
    grads = pullback.grad(lambda x: jnp.subtract.reduce(x, axis=None))(jnp.arange(3.0))
    assert grads.tolist() == [1, -1, -1]
