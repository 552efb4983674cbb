"""Index helpers, r_ and c_, bits in bytes, place and fill_diagonal against real jax."""

import doctest
import importlib

import numpy as np
import pytest

import pullback
from tests.same import refused_expressions, same_expressions

jnp = pullback.numpy
X = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
MASK = np.array([1, 0, 1, 1], np.int32)


def test_sets_of_positions():
    same_expressions("""
        jnp.ix_(jnp.array([1, 2]), jnp.array([0, 3]))
        jnp.ix_(jnp.zeros(0), jnp.array([1], 'int16'))
        jnp.ix_()
        jnp.tril_indices(3)
        jnp.tril_indices(3, 1)
        jnp.tril_indices(3, -1, 4)
        jnp.triu_indices(3, 1, 2)
        jnp.triu_indices(0)
        jnp.tril_indices_from(x)
        jnp.triu_indices_from(x, 1)
        jnp.diag_indices(2, 3)
        jnp.diag_indices(2, 0)
        jnp.diag_indices_from(jnp.ones((2, 2, 2)))
        jnp.mask_indices(3, jnp.triu, 1, size=5)
        jnp.mask_indices(3, jnp.tril, size=2)""", X)
    same_expressions("jnp.mask_indices(3, jnp.triu)", X, known=True)
    rows, columns = jnp.ix_(np.array([True, False, True]), jnp.array([1]))  # real jax takes no masks here
    assert rows.tolist() == [[0], [2]] and columns.tolist() == [[1]]


def test_flat_positions():
    same_expressions("""
        jnp.ravel_multi_index((jnp.array([0, 5]), jnp.array([2, -1])), (2, 3), mode='clip')
        jnp.ravel_multi_index((jnp.array([0, 5]), jnp.array([2, -1])), (2, 3), mode='wrap')
        jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 1])), (2, 3), order='F', mode='ignore')
        jnp.ravel_multi_index([jnp.array([0, 1], 'int8'), jnp.array([1, 2], 'uint8')], (2, 3), mode='wrap')
        jnp.ravel_multi_index((1, 2), (2, 3), dtype='int16', mode='clip')
        jnp.ravel_multi_index((), ())
        jnp.unravel_index(5, (2, 3))
        jnp.unravel_index(jnp.array([0, 5, 6, -1, -7]), (2, 3))
        jnp.unravel_index(jnp.array([[0, 5]]), 6)
        jnp.unravel_index(jnp.array([[0, 5]], 'int8'), (2, 3))
        jnp.unravel_index(jnp.array([0, 5], 'uint8'), (2, 3))
        jnp.unravel_index(0, ())
        jnp.unravel_index(jnp.zeros((0,), int), (2, 3))
        jnp.unravel_index(x, (3, 2, 2))""", X)
    same_expressions("jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 1])), (2, 3))", known=True)
    assert jnp.unravel_index(jnp.array([100], "int8"), (300, 300))[1].tolist() == [100]
    assert jnp.ravel_multi_index((jnp.array([100], "int8"),) * 2, (300, 300)).tolist() == [30100]
    with pytest.raises(pullback.errors.ConcretizationTypeError, match="mode='wrap', 'clip' or 'ignore'"):
        pullback.jit(lambda i: jnp.ravel_multi_index((i, i), (2, 3)))(1)


def test_expressions():
    same_expressions("""
        jnp.r_[1:4]
        jnp.r_[1:4, 0, jnp.array([7.])]
        jnp.r_[0:1:5j]
        jnp.r_['0,2', jnp.array([1, 2]), jnp.array([3, 4])]
        jnp.r_['r', 1:3, [4]]
        jnp.r_['c', 1:3, [4]]
        jnp.r_['-1', x, x]
        jnp.r_['0,2,0', [1, 2, 3], [4, 5, 6]]
        jnp.r_[:5]
        jnp.r_[1.5:4]
        jnp.r_[5]
        jnp.r_[1, 2.0]
        jnp.r_[[1, 2], 3]
        jnp.r_[1:4:0.5]
        jnp.c_[jnp.array([1, 2]), jnp.array([3, 4])]
        jnp.c_[1:3, 4:6]
        jnp.c_[1, 2]
        jnp.c_[x, x[:, :1]]
        jnp.c_['0', jnp.array([1, 2]), jnp.array([3, 4])]""", X)
    assert len(jnp.r_) == 0 and jnp.s_[1:2, ..., None] == (slice(1, 2), ..., None) and jnp.index_exp[1] == (1,)


def test_bits_in_bytes():
    same_expressions("""
        jnp.packbits(jnp.array([1, 0, 1, 1, 0, 0, 0, 1, 1]))
        jnp.packbits(jnp.array([1, 0, 1, 1, 0, 0, 0, 1, 1]), bitorder='little')
        jnp.packbits(x % 2, axis=1)
        jnp.packbits(x % 2, axis=-2)
        jnp.packbits(x > 2)
        jnp.packbits(jnp.zeros((2, 0), bool), axis=1)
        jnp.packbits(jnp.zeros((0, 2), bool), axis=1)
        jnp.packbits(jnp.array(True))
        jnp.unpackbits(y)
        jnp.unpackbits(y, count=9)
        jnp.unpackbits(y, count=-7)
        jnp.unpackbits(y, count=20)
        jnp.unpackbits(y, count=-20)
        jnp.unpackbits(y, bitorder='little')
        jnp.unpackbits(y[:, None], axis=0, count=4)
        jnp.unpackbits(y[:, None], axis=1, count=4)
        jnp.unpackbits(y[0])
        jnp.unpackbits(jnp.zeros((0, 2), 'uint8'), axis=0)""", X, np.uint8([177, 129]))


def test_copies_with_other_elements():
    same_expressions("""
        jnp.fill_diagonal(jnp.zeros((5, 2)), 1, inplace=False)
        jnp.fill_diagonal(x * 1.0, jnp.array([7, 8]), inplace=False)
        jnp.fill_diagonal(jnp.zeros((3, 3), int), jnp.array([[1, 2], [3, 4]]), inplace=False)
        jnp.fill_diagonal(jnp.zeros((2, 2, 2)), 3, inplace=False)
        jnp.place(jnp.arange(4), y, jnp.array([7, 8]), inplace=False)
        jnp.place(jnp.arange(4.).reshape(2, 2), y.reshape(2, 2) > 0, jnp.array([7.5]), inplace=False)
        jnp.place(jnp.arange(4), y, jnp.array([7, 8, 9, 10, 11]), inplace=False)""", X, MASK)
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types"):
        assert jnp.fill_diagonal(X, jnp.array([7, 8.5]), inplace=False).tolist() == [[7, 2, 3], [4, 8, 6]]
    for shape in ((5, 2), (7, 2), (3, 4)):
        expected = np.zeros(shape, np.float32)
        np.fill_diagonal(expected, [1, 2, 3], wrap=True)
        assert (jnp.fill_diagonal(jnp.zeros(shape), jnp.array([1, 2, 3]), True, inplace=False) == expected).all()


def test_refused():
    refused_expressions("""
        jnp.ix_(jnp.ones((2, 2), int)) -> arrays with one axis are required
        jnp.tril_indices_from(jnp.ones((2, 3, 4))) -> a matrix is required
        jnp.diag_indices(-1) -> n is -1, at least 0 is required
        jnp.diag_indices_from(x) -> two axes or more of one size are required
        jnp.ravel_multi_index((jnp.array([0, 5]), jnp.array([2, 1])), (2, 3)) -> axis 0 is out of bounds for size 2
        jnp.ravel_multi_index((1, 2), (2, 3), order='A') -> 'C' or 'F' is required
        jnp.ravel_multi_index((1, 2), (2, 3), mode='bla') -> one of 'raise', 'wrap'
        jnp.ravel_multi_index((1, 2, 3), (2, 3)) -> coordinates for 3 axes and 2 sizes
        jnp.ravel_multi_index((1., 2), (2, 3)) -> integers are required
        jnp.ravel_multi_index((1, 2), (2, 3), dtype='float32') -> integers are required
        jnp.r_['q', 1] -> the directive is 'q'
        jnp.packbits(jnp.array([True]), bitorder='x') -> 'big' or 'little' is required
        jnp.packbits(jnp.array(True), axis=0) -> axis 0 is out of bounds
        jnp.unpackbits(jnp.array([1], 'uint8'), axis=1) -> axis 1 is out of bounds
        jnp.fill_diagonal(x, 1) -> pass inplace=False
        jnp.fill_diagonal(jnp.zeros(3), 1, inplace=False) -> a matrix or axes of one size
        jnp.fill_diagonal(jnp.zeros((2, 2, 3)), 1, inplace=False) -> a matrix or axes of one size
        jnp.fill_diagonal(x, jnp.array([]), inplace=False) -> at least one is required
        jnp.place(x, x, 1) -> pass inplace=False
        jnp.place(x, jnp.array([True]), 7, inplace=False) -> equal numbers of elements
        jnp.place(x, x, jnp.array([]), inplace=False) -> at least one is required""", X)
    refused_expressions("""
        jnp.ix_([1, 2], [3]) -> got a list
        jnp.tril_indices(2.5) -> n is 2.5, an int is required
        jnp.unravel_index([1, 2], (2, 3)) -> got a list
        jnp.packbits(jnp.array([1.])) -> integers or booleans are required
        jnp.unpackbits(x) -> dtype uint8 are required""", X, error=TypeError)
    for positions, shape in ((1.5, (2, 3)), (1, (0, 3)), (1, (-2, 3))):  # real jax computes nonsense of these
        with pytest.raises(ValueError, match="integers|no elements|sizes of 0 or more"):
            jnp.unravel_index(positions, shape)


def test_numbers_in_files(tmp_path):
    file = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(file)
    assert jnp.fromfile(file, dtype=np.float32, count=2).tolist() == [0, 1]


def test_examples_in_docstrings():
    for name in ("index_sets", "packing", "editing", "ufuncs"):
        module = importlib.import_module(f"pullback.numpy.{name}")
        failed, attempted = doctest.testmod(module, extraglobs={"jnp": jnp, "pullback": pullback})
        assert attempted and not failed
