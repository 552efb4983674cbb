"""Reductions of segments against real jax."""

import doctest

import jax
import numpy as np
import pytest

import pullback
from pullback.ops import segment
from tests.same import refused_expressions, same_expressions

jnp, ops = pullback.numpy, pullback.ops
X = np.arange(6, dtype=np.float32).reshape(3, 2)
IDS = np.int32([0, 2, 0])


def test_segments():
    same_expressions("""
        ops.segment_sum(x, y, 4)
        ops.segment_sum(x, y, 1)
        ops.segment_sum(x, jnp.array([-1, 0, 0]), 2)
        ops.segment_sum(x, jnp.array([-1, 0, 5]), 2, mode='clip')
        ops.segment_sum(x, jnp.array([-1, 0, 5]), 2, mode='drop')
        ops.segment_sum(x, y, 0)
        ops.segment_sum(jnp.zeros((0, 2)), jnp.zeros(0, int), 3)
        ops.segment_sum(x, y, 3, bucket_size=2)
        ops.segment_sum(x.astype('bfloat16'), y.astype('uint8'), 3)
        ops.segment_sum(jnp.float32(1), jnp.int32(0), 2)
        ops.segment_prod(x, y, 3)
        ops.segment_prod(x.astype(int), y, 3, bucket_size=2)
        ops.segment_max(x, y, 3)
        ops.segment_max(x.astype(int), y, 3, bucket_size=2)
        ops.segment_max(x > 1, y, 3)
        ops.segment_max(x * 1j, y, 3)
        ops.segment_min(x, y, 3)
        ops.segment_min(x.astype('uint8'), y, 3)
        ops.segment_min(x > 1, y, 3)
        engine.grad(lambda x: ops.segment_max(x, y, 3).sum())(x)
        engine.grad(lambda x: ops.segment_sum(x ** 2, y, 3, bucket_size=1).sum())(x)
        engine.vmap(lambda x: ops.segment_sum(x, y, 3), in_axes=1)(x)""", X, IDS)
    same_expressions("ops.segment_sum(x, y)", X, IDS, known=True)


def test_refused():
    refused_expressions("""
        ops.segment_sum(x, y, -1) -> num_segments is -1, at least 0
        ops.segment_sum(x, jnp.array([0, 1]), 2) -> one id for each element
        ops.segment_sum(x, jnp.array([[0], [1], [0]]), 2) -> one id for each element
        ops.segment_sum(jnp.zeros((0, 2)), jnp.zeros(0, int)) -> no segment ids to count
        ops.segment_sum(x, y, 3, bucket_size=0) -> bucket_size is 0""", X, IDS)
    refused_expressions("""
        ops.segment_sum(x, y * 1.0, 2) -> integers are required
        ops.segment_sum(x, y, 2.5) -> num_segments is 2.5
        ops.segment_sum(x > 1, y) -> a dtype of kind int
        ops.segment_sum([1.0], [0], 1) -> got a list""", X, IDS, error=TypeError)
    with pytest.raises(pullback.errors.ConcretizationTypeError, match="pass num_segments"):
        pullback.jit(lambda ids: ops.segment_sum(X, ids))(IDS)


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(segment, extraglobs={"jnp": jnp, "jax": pullback, "pullback": pullback})
    assert attempted and not failed


def test_one_row_for_all_ids():
    for name in ("segment_sum", "segment_max", "segment_min", "segment_prod"):
        for data in (np.float32(3), np.ones(1, np.float32), np.ones((1, 2), np.float32)):
            ids = np.zeros(8, np.int32)
            found, wanted = (getattr(engine.ops, name)(data, ids, 2) for engine in (pullback, jax))
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
