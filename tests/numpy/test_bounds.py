"""With check_bounds, an index out of bounds is an error that names index, axis, size and line."""

import numpy as np
import pytest

import pullback

jnp = pullback.numpy
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def outside(index, axis, size, op="indexing"):
    return pytest.raises(IndexError, match=rf"^{op}: index {index} is out of bounds for axis {axis} of "
                         rf"\w+\[3,4\], which has size {size}; .*\n  at test_bounds.py:\d+ in .*\n  fix: ")


@pytest.fixture(autouse=True)
def checked():
    with pullback.check_bounds(True):
        yield


def test_at_once():
    x = jnp.asarray(X)
    with outside(7, 0, 3):
        x[7]
    with outside(-5, 1, 4):
        x[0, -5]
    with outside(3, 0, 3):
        x[jnp.array([0, 3])]
    with outside(-5, 1, 4):
        x[:, None, np.array([0, -5])]
    with outside(5, 0, 3):
        x.at[5].set(1)
    with outside(4, 0, 3):
        x.at[jnp.array([0, 4])].multiply(2, mode="promise_in_bounds")
    with outside(5, 0, 3, "take"):
        jnp.take(x, 5, 0)
    with outside(-5, 1, 4, "take_along_axis"):
        jnp.take_along_axis(x, jnp.array([[-5]]), 1)
    assert x[-3, -4] == 0 and x[2, 3] == 11 and x[x > 9].tolist() == [10, 11] and x[1:99].shape == (2, 4)


def test_a_choice_for_what_is_outside_is_no_error():
    x = jnp.asarray(X)
    assert np.isnan(x.at[5].get(mode="fill")).all() and (x.at[5].set(1, mode="drop") == X).all()
    assert x.at[5, 0].get(mode="clip") == 8 and jnp.take(x, 5, 0, mode="clip")[0] == 8
    with pullback.check_bounds(False):
        assert x[7, 9] == 11 and np.isnan(jnp.take(x, 5, 0)).all()


def test_when_a_program_runs():
    x = jnp.asarray(X)
    read = pullback.jit(lambda i: x[:, i])
    assert read(1).tolist() == [1, 5, 9] and read(-4).tolist() == [0, 4, 8]
    for f, i, where in ((lambda i: x[:, i], 4, (4, 1, 4)), (lambda i: x[0, i], jnp.array([1, -9]), (-9, 1, 4)),
                        (lambda i: x.at[i, 0].add(1), 5, (5, 0, 3)),
                        (pullback.grad(lambda v: x[v.astype(int)].sum() * v), 3.0, (3, 0, 3)),
                        (pullback.vmap(lambda i: x[i]), jnp.array([0, 6]), (6, 0, 3)),
                        (lambda n: pullback.lax.fori_loop(0, n, lambda i, s: s + x[i, 0], 0.0), 5, (3, 0, 3))):
        with outside(*where):
            np.asarray(pullback.jit(f)(i))
    with pullback.check_bounds(False):
        assert read(9).tolist() == [3, 7, 11]  # another program: the setting is part of its key
