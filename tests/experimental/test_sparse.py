"""Sparse arrays: what real jax's give, written dense; padding, jit, vmap, derivatives, and what is refused."""

import jax as real
import jax.numpy as real_jnp
import numpy as np
import pytest
from jax.experimental import sparse as real_sparse

import pullback
import pullback.numpy as jnp
from pullback.experimental import sparse

DENSE = np.array([[0.0, 1.0, 0.0, -2.0], [2.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
SQUARE = DENSE[:, :3]

CALLS = {
    "todense": lambda m, s, n: m,
    "transpose": lambda m, s, n: m.T,
    "matrix and vector": lambda m, s, n: m @ n.arange(4.0),
    "matrix and matrix": lambda m, s, n: m @ n.arange(8.0).reshape(4, 2),
    "vector and matrix": lambda m, s, n: n.arange(3.0) @ m,
    "dense and sparse": lambda m, s, n: n.arange(6.0).reshape(2, 3) @ m,
    "sparse product": lambda m, s, n: m.T @ m,
    "sum of two": lambda m, s, n: m + m,
    "difference of two": lambda m, s, n: m - m * 3.0,
    "sum with a dense one": lambda m, s, n: m + n.ones((3, 4)),
    "dense sum": lambda m, s, n: n.ones((3, 4)) + m,
    "product of two": lambda m, s, n: m * (m + m),
    "product with a row": lambda m, s, n: m * n.arange(4.0),
    "product with a column": lambda m, s, n: n.arange(3.0)[:, None] * m,
    "quotient": lambda m, s, n: m / 4.0,
    "negative": lambda m, s, n: -m,
    "absolute": lambda m, s, n: abs(m + m),
    "square": lambda m, s, n: m ** 2,
    "whole sum": lambda m, s, n: m.sum(),
    "sum along rows": lambda m, s, n: m.sum(1),
    "sum along columns": lambda m, s, n: m.sum(0),
    "a row": lambda m, s, n: m[1],
    "a column": lambda m, s, n: m[:, -1],
    "an element": lambda m, s, n: m[0, 1],
    "a slice": lambda m, s, n: m[1:, ::2],
    "reshape": lambda m, s, n: m.reshape(4, 3),
    "as whole numbers": lambda m, s, n: m.astype("int32"),
    "sorted": lambda m, s, n: m.T.sort_indices(),
    "no duplicates": lambda m, s, n: (m + m).sum_duplicates(),
    "one after another": lambda m, s, n: s.bcoo_concatenate([m, m], dimension=1),
    "taken from a dense one": lambda m, s, n: s.bcoo_extract(m, n.arange(12.0).reshape(3, 4)),
    "identity": lambda m, s, n: s.eye(3, 4, 1) + s.eye(3, 4, -2),
    "empty": lambda m, s, n: s.empty((2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_real_jax(name):
    theirs = real_sparse.todense(CALLS[name](real_sparse.BCOO.fromdense(DENSE), real_sparse, real_jnp))
    ours = sparse.todense(CALLS[name](sparse.BCOO.fromdense(DENSE), sparse, jnp))
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_padding_counts_for_nothing(name):
    if name == "no duplicates":
        pytest.skip("the number of its elements depends on their values")
    padded = sparse.BCOO.fromdense(DENSE, nse=7)
    assert padded.nse == 7

    @pullback.jit
    def run(m):
        return sparse.todense(CALLS[name](m, sparse, jnp))
    expected = sparse.todense(CALLS[name](sparse.BCOO.fromdense(DENSE), sparse, jnp))
    np.testing.assert_allclose(np.asarray(run(padded)), np.asarray(expected), rtol=1e-6)


def test_elements_stand_where_they_stand_in_real_jax():
    ours, theirs = sparse.BCOO.fromdense(DENSE, nse=6), real_sparse.BCOO.fromdense(DENSE, nse=6)
    np.testing.assert_array_equal(np.asarray(ours.data), np.asarray(theirs.data))
    np.testing.assert_array_equal(np.asarray(ours.indices), np.asarray(theirs.indices))
    assert repr(ours) == repr(theirs) == "BCOO(float32[3, 4], nse=6)"
    assert (ours.ndim, ours.size, ours.n_sparse, len(ours)) == (2, 12, 2, 3)


def test_a_matrix_of_scipy():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    made = sparse.BCOO.from_scipy_sparse(scipy_sparse.csr_matrix(DENSE))
    np.testing.assert_array_equal(np.asarray(made.todense()), DENSE)


def test_repeated_places_are_added():
    made = sparse.BCOO((jnp.ones(3), jnp.array([[0, 1], [0, 1], [9, 0]])), shape=(2, 2))
    np.testing.assert_array_equal(np.asarray(made.todense()), [[0, 2], [0, 0]])
    single = made.sum_duplicates(nse=3)
    assert single.unique_indices and single.nse == 3
    np.testing.assert_array_equal(np.asarray(abs(single).todense()), [[0, 2], [0, 0]])


def test_derivatives():
    def loss(module, numbers):
        return lambda m, x: numbers.sum(numbers.sin((m * 2.0) @ x) ** 2)
    x = np.arange(4, dtype=np.float32)
    ours = sparse.grad(loss(sparse, jnp), argnums=(0, 1))(sparse.BCOO.fromdense(DENSE), jnp.asarray(x))
    theirs = real_sparse.grad(loss(real_sparse, real_jnp), argnums=(0, 1))(real_sparse.BCOO.fromdense(DENSE), x)
    np.testing.assert_allclose(np.asarray(ours[0].data), np.asarray(theirs[0].data), rtol=1e-4)
    np.testing.assert_allclose(np.asarray(ours[1]), np.asarray(theirs[1]), rtol=1e-4)
    m = sparse.BCOO.fromdense(DENSE)
    value, (gradient, aux) = (lambda v: (v[0][0], (v[1], v[0][1])))(sparse.value_and_grad(
        lambda m: ((m @ jnp.ones(4)).sum(), "aux"), has_aux=True)(m))
    assert float(value) == 4.0 and aux == "aux"
    np.testing.assert_array_equal(np.asarray(gradient.data), np.ones(4))
    pullback.test_util.check_grads(lambda data: (m._with(data).T @ m._with(data)).todense().sum(), (m.data,), order=2)


def test_vmap_over_data_and_over_vectors():
    m = sparse.BCOO.fromdense(DENSE)
    rows = jnp.arange(8.0).reshape(2, 4)
    np.testing.assert_allclose(np.asarray(pullback.vmap(lambda x: m @ x)(rows)), np.asarray(rows) @ DENSE.T)
    many = pullback.vmap(lambda d: m._with(d).todense())(jnp.stack([m.data, 2 * m.data]))
    np.testing.assert_allclose(np.asarray(many), np.stack([DENSE, 2 * DENSE]))
    assert real.tree.structure([0, 0]).num_leaves == len(pullback.tree.leaves(m))


@pytest.mark.parametrize("call, error, part", [
    (lambda m: m @ jnp.ones(3), TypeError, "are to have one size"),
    (lambda m: m @ m, TypeError, "are to have one size"),
    (lambda m: m + m.T, TypeError, "one shape is required"),
    (lambda m: m * m.T, TypeError, "one shape is required"),
    (lambda m: m + 1.0, NotImplementedError, "use todense()"),
    (lambda m: m ** 0.5, NotImplementedError, "leave zeros zero"),
    (lambda m: m / m, NotImplementedError, "divided by zeros"),
    (lambda m: m * jnp.ones((2, 3, 4)), NotImplementedError, "another shape"),
    (lambda m: m[jnp.array([0])], NotImplementedError, "ints, slices"),
    (lambda m: m[5], IndexError, "index 5 is out of bounds for an axis of size 3"),
    (lambda m: m.reshape(5, 5), ValueError, "another number of elements"),
    (lambda m: m.transpose((0, 0)), ValueError, "once is required"),
    (lambda m: jnp.sin(m), TypeError, "got a BCOO"),
    (lambda m: sparse.BCOO((jnp.ones(2), jnp.ones((3, 2), int)), shape=(2, 2)), ValueError, "one row of indices"),
    (lambda m: sparse.BCOO.fromdense(DENSE, n_batch=1), NotImplementedError, "0 and 0 are supported"),
    (lambda m: sparse.eye(2, sparse_format="csr"), NotImplementedError, "'bcoo' is supported"),
    (lambda m: sparse.BCSR, AttributeError, "not supported"),
])
def test_what_is_refused(call, error, part):
    with pytest.raises(error, match=part.replace("(", r"\(").replace(")", r"\)")):
        call(sparse.BCOO.fromdense(DENSE))
