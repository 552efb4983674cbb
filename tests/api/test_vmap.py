"""vmap: axes, trees, names, collectives, errors; against real jax."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from tests.same import same

jnp, lax = pullback.numpy, pullback.lax
A = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.arange(4, dtype=np.float32)


def test_axes():
    for in_axes in (0, 1, -1, (0,), (1,)):
        for out_axes in (0, 1, -1):
            same(lambda j: j.vmap(lambda x: j.numpy.stack([x, 2 * x]), in_axes, out_axes), A)
    same(lambda j: j.vmap(lambda p, x: p["w"] * x + p["b"], ({"w": 0, "b": None}, None)),
         {"w": A, "b": np.float32(1)}, np.float32(2))
    same(lambda j: j.vmap(lambda x, y: (x + y, y), (0, None), (0, None)), A, V)
    same(lambda j: j.vmap(lambda x: (x, 1.0)), A)
    same(lambda j: lambda x: j.vmap(lambda *, x: x * 2)(x=x), A)
    same(lambda j: j.vmap(j.vmap(lambda x, y: x * y, (None, 0)), (0, None)), A, V)
    same(lambda j: lambda: j.vmap(lambda: j.numpy.ones(2), axis_size=3)())


def test_matmul_and_indexing_under_vmap():
    same(lambda j: j.vmap(lambda a, b: a @ b, (0, None)), np.stack([A, A + 1]), V)
    same(lambda j: j.vmap(lambda a, i: a[i], (0, 0)), A, np.array([0, 3, 9], np.int32))
    same(lambda j: j.vmap(lambda a, i: a.at[i].set(7.0), (0, 0)), A, np.array([0, 3, 2], np.int32))
    same(lambda j: j.vmap(lambda a, i: j.lax.dynamic_slice(a, (i,), (2,)), (0, 0)), A, np.array([0, 3, 2], np.int32))
    same(lambda j: j.vmap(j.numpy.sort), A[:, ::-1].copy())
    same(lambda j: j.vmap(lambda k: j.random.normal(k, (2,))), np.array([[0, 1], [2, 3]], np.uint32))


COLLECTIVES = {
    "psum": lambda j, x: j.lax.psum(x, "i"),
    "psum tree": lambda j, x: j.lax.psum({"a": x, "n": 1}, "i"),
    "pmean": lambda j, x: j.lax.pmean(x, "i"),
    "pmax": lambda j, x: j.lax.pmax(x, "i"),
    "pmin": lambda j, x: j.lax.pmin(x, "i"),
    "axis_index": lambda j, x: x * j.lax.axis_index("i"),
    "axis_size": lambda j, x: x * j.lax.axis_size("i"),
    "all_gather": lambda j, x: j.lax.all_gather(x, "i"),
    "all_gather axis": lambda j, x: j.lax.all_gather(x, "i", axis=1),
    "all_gather tiled": lambda j, x: j.lax.all_gather(x, "i", tiled=True),
    "ppermute": lambda j, x: j.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
    "pshuffle": lambda j, x: j.lax.pshuffle(x, "i", [2, 0, 1]),
    "all_to_all": lambda j, x: j.lax.all_to_all(x[:3], "i", 0, 0),
    "psum_scatter": lambda j, x: j.lax.psum_scatter(x[:3], "i"),
    "centred": lambda j, x: x - j.lax.pmean(x, "i"),
    "inside jit": lambda j, x: j.jit(lambda y: j.lax.psum(y, "i"))(x),
    "inside scan": lambda j, x: j.lax.scan(lambda c, _: (c + j.lax.psum(x, "i"), None), x, None, length=2)[0],
    "inside cond": lambda j, x: j.lax.cond(True, lambda y: j.lax.psum(y, "i"), lambda y: y, x),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives(name):
    same(lambda j: j.vmap(lambda x: COLLECTIVES[name](j, x), axis_name="i"), A)
    same(lambda j: j.jit(j.vmap(lambda x: COLLECTIVES[name](j, x), axis_name="i")), A)


DIFFERENTIABLE = [n for n in COLLECTIVES if n not in ("pmax", "pmin", "psum tree", "axis_index", "all_to_all")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_collectives_differentiate(name):
    def weigh(j, y):
        return j.numpy.sum(y * j.numpy.arange(y.size, dtype=np.float32).reshape(y.shape))
    same(lambda j: j.grad(lambda a: weigh(j, j.vmap(lambda x: COLLECTIVES[name](j, x), axis_name="i")(a))), A)
    same(lambda j: j.vmap(j.grad(lambda x: weigh(j, COLLECTIVES[name](j, x))), axis_name="i"), A)


def test_what_jax_refuses_of_collectives():
    """A partial permutation leaves zeros; all_to_all has its transpose."""
    partial = pullback.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")
    np.testing.assert_array_equal(partial(A), np.stack([0 * A[0], A[0], A[1]]))
    square = A[:, :3]
    deal = pullback.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")
    np.testing.assert_array_equal(deal(square), square.T)
    gradient = pullback.grad(lambda a: jnp.sum(deal(a) * square))(square)
    np.testing.assert_array_equal(gradient, square.T)


def test_two_named_axes():
    def build(j):
        def f(x):
            return x + j.lax.psum(x, ("i", "k")) + 10 * j.lax.axis_index("i") + j.lax.pmean(x, "k")
        return j.vmap(j.vmap(f, axis_name="k"), axis_name="i")
    same(build, A)


def test_unequal_sizes_name_the_leaves():
    with pytest.raises(ValueError, match=r"x of type f32\[3,4\] has 3 along axis 0; y of type f32\[4\] has 4 along"):
        pullback.vmap(lambda x, y: x)(A, V)


def test_axis_errors():
    with pytest.raises(ValueError, match=r"in_axes is 2 for x of type f32\[3,4\]"):
        pullback.vmap(lambda x: x, in_axes=2)(A)
    with pytest.raises(ValueError, match="2 entries, .* 1 positional"):
        pullback.vmap(lambda x: x, in_axes=(0, 1))(A)
    with pytest.raises(ValueError, match="nothing to map over"):
        pullback.vmap(lambda x: x, in_axes=None)(A)
    with pytest.raises(ValueError, match="out_axes is None for the output"):
        pullback.vmap(lambda x: x, out_axes=None)(A)
    with pytest.raises(NameError, match="no mapped axis named 'k'"):
        pullback.vmap(lambda x: lax.psum(x, "k"), axis_name="i")(A)
    with pytest.raises(TypeError, match="a function is required"):
        pullback.vmap(3)
    with pytest.raises(ValueError, match="no prefix"):
        pullback.vmap(lambda p: p, in_axes=({"a": 0},))({"b": A})


def test_branching_on_a_batched_value():
    with pytest.raises(pullback.errors.TracerBoolConversionError, match="different value for each of the 3"):
        pullback.vmap(lambda x: x if x[0] > 0 else -x)(A)


def test_a_batch_of_nothing():
    """Operations whose batch is another operation: slices at mapped positions, convolutions."""
    same(lambda m: lambda: m.vmap(lambda c, i: m.lax.dynamic_slice(c, (i, 0), (1, 2)))(
        m.numpy.zeros((0, 2, 2)), m.numpy.zeros((0,), int)))
    same(lambda m: lambda: m.vmap(lambda c, i: c[i])(m.numpy.zeros((0, 2, 2)), m.numpy.zeros((0,), int)))
    for axes in ((0, 0), (0, None), (None, 0)):
        x, w = ((0,) if axis == 0 else () for axis in axes)
        same(lambda m, x=x, w=w, axes=axes: lambda: m.vmap(lambda c, k: m.lax.conv(c, k, (1, 1), "VALID"), axes)(
            m.numpy.zeros((*x, 1, 2, 3, 3)), m.numpy.zeros((*w, 4, 2, 2, 2))))
    same(lambda m: lambda: m.vmap(m.numpy.convolve)(m.numpy.zeros((0, 4)), m.numpy.zeros((0, 3))))
    same(lambda m: lambda: m.jit(m.vmap(m.grad(lambda c: c[1:].sum())))(m.numpy.zeros((0, 3))))
