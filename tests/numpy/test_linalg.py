"""pullback.numpy.linalg against real jax: values, dtypes, derivatives, errors."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback.numpy import linalg
from tests.numpy.against_jax import close, ours, same, weak

INF = math.inf
rng = np.random.default_rng(0)


def draw(*shape, dtype="float32"):
    values = rng.normal(size=shape) * 3
    if dtype == "complex64":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values).astype(jnp.dtype(dtype))


def a(*shape, dtype="float32"):
    return ours(draw(*shape, dtype=dtype))


def theirs(name):
    return getattr(jnp.linalg, name)


DTYPES = ["bool", "int8", "int32", "bfloat16", "float16", "float32", "complex64"]


@pytest.mark.parametrize("shape, kwargs", [
    ((3,), {}), ((2, 3), {}), ((2, 3, 4), {}), ((), {}), ((0,), {}), ((2, 3, 4), dict(axis=1)),
    ((2, 3, 4), dict(axis=(0, 2), keepdims=True)), ((2, 3, 4), dict(axis=(-1, 0), ord=1)),
    ((2, 3, 4), dict(axis=(-1, 0), ord=INF, keepdims=True)), ((2, 3), dict(keepdims=True)),
    ((0,), dict(ord=INF)),
    *[((4,), dict(ord=ord)) for ord in (0, 1, 2, 3, 0.5, -1, INF, -INF)],
    *[((3, 4), dict(ord=ord)) for ord in ("fro", 1, -1, INF, -INF)],
    *[((3, 4), dict(axis=-1, ord=ord)) for ord in (0, 1, 3, INF)]])
def test_norm(shape, kwargs):
    same(linalg.norm, theirs("norm"), draw(*shape), grad=True, rtol=1e-4, **kwargs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_norms(dtype):
    x = draw(3, 3, dtype=dtype)
    same(linalg.norm, theirs("norm"), x, traced=False)
    same(linalg.norm, theirs("norm"), x, -1, traced=False)
    same(linalg.norm, theirs("norm"), x, 1, 0, traced=False)
    same(linalg.norm, theirs("norm"), np.abs(x), 3, 0, traced=False, rtol=2e-2 if "16" in dtype else None)
    same(linalg.matrix_norm, theirs("matrix_norm"), x, ord=INF, traced=False)
    same(linalg.vector_norm, theirs("vector_norm"), x, traced=False)
    same(linalg.norm, theirs("norm"), weak([1.0, 2.0]))


@pytest.mark.parametrize("kwargs", [
    {}, dict(axis=(0, 2)), dict(keepdims=True), dict(keepdims=True, ord=3), dict(axis=1, ord=INF),
    dict(axis=(0, 1), ord=0),
    dict(axis=(), ord=1), dict(axis=-1, ord=-INF)])
def test_vector_norm(kwargs):
    same(linalg.vector_norm, theirs("vector_norm"), draw(2, 3, 4), grad=kwargs.get("ord") != 0, rtol=1e-4,
         **kwargs)


@pytest.mark.parametrize("kwargs", [{}, dict(keepdims=True), dict(ord=1), dict(ord=-INF, keepdims=True)])
def test_matrix_norm(kwargs):
    same(linalg.matrix_norm, theirs("matrix_norm"), draw(5, 3, 4), grad=True, **kwargs)


def test_derivatives_of_norms_at_edges():
    for ord, at in [(None, [0.0, 0.0]), (1, [0.0, 0.0]), (1, [1.0, -1.0, 0.0]), (3, [0.0, 0.0]),
                    (INF, [1.0, -1.0]),
                    (0, [1.0, -1.0]), (3, [1.0, 0.0, -2.0]), (0.5, [1.0, 0.0])]:
        same(linalg.norm, theirs("norm"), np.float32(at), ord, grad=True, traced=False)


@pytest.mark.parametrize("shapes", [[(3,), (3, 2), (2,)], [(2, 3), (3, 2)], [(3,), (3,)],
                                    [(2, 3), (3, 4), (4, 5), (5, 2)],
                                    [(2, 3), (3, 4), (4,)], [(3,), (3, 4), (4, 2)]])
def test_multi_dot(shapes):
    xs = [draw(*shape) for shape in shapes]
    same(lambda *xs: linalg.multi_dot(xs), lambda *xs: jnp.linalg.multi_dot(xs), *xs, grad=True, rtol=1e-4)


def test_multi_dot_chooses_the_order():
    xs = [a(100, 2), a(2, 100), a(100, 2)]
    program = pullback.make_jaxpr(lambda *xs: linalg.multi_dot(xs))(*xs)
    assert [e.outputs[0].type.shape for e in program.eqns if e.primitive.name == "dot_general"][0] == (2, 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_matrix_power(n):
    same(linalg.matrix_power, theirs("matrix_power"), draw(2, 3, 3), n, grad=True, rtol=1e-4)
    for dtype in DTYPES:
        same(linalg.matrix_power, theirs("matrix_power"), draw(3, 3, dtype=dtype), n, traced=False, rtol=5e-2)


def test_products():
    x, y = draw(4, 3), draw(4, 3)
    same(linalg.cross, theirs("cross"), x, y, grad=True)
    same(linalg.cross, theirs("cross"), x.T, y.T, axis=0)
    same(linalg.vecdot, theirs("vecdot"), x, y, axis=0)
    same(linalg.matmul, theirs("matmul"), x, y.T, preferred_element_type="bfloat16", rtol=1e-2)
    same(linalg.tensordot, theirs("tensordot"), x, y, axes=((0, 1), (0, 1)))
    same(linalg.outer, theirs("outer"), x[0], y[:, 0])


@pytest.mark.parametrize("offset", [0, 1, -2, 9])
def test_diagonals(offset):
    x = draw(2, 3, 4)
    same(linalg.diagonal, theirs("diagonal"), x, offset=offset, grad=True)
    same(linalg.trace, theirs("trace"), x, offset=offset, grad=True)
    same(linalg.trace, theirs("trace"), x, offset=offset, dtype="int32")
    same(linalg.matrix_transpose, theirs("matrix_transpose"), x, grad=True)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: linalg.norm(a(2, 3, 4), 2), ValueError, ["norm: got f32[2,3,4] and axis None: 3 axes"]),
    (lambda: linalg.norm(a(3), "fro"), ValueError,
     ["ord is 'fro'; a number is required for the norm of vectors"]),
    (lambda: linalg.vector_norm(a(3), ord="inf"), ValueError, ["vector_norm: ord is 'inf'", "jnp.inf"]),
    (lambda: linalg.norm(a(3, 3), 3), ValueError, ["ord is 3; 'fro', 1, -1, inf or -inf is required"]),
    (lambda: linalg.norm(a(3, 3), "x"), ValueError, ["ord is 'x'"]),
    (lambda: linalg.norm(a(3, 3), axis=(0, 0)), ValueError, ["name one axis twice"]),
    (lambda: linalg.norm([1.0, 2.0]), TypeError, ["norm: got a list"]),
    (lambda: linalg.norm(a(0), -INF), ValueError, ["norm: the least magnitude of f32[0]"]),
    (lambda: linalg.matrix_norm(a(3)), ValueError, ["matrix_norm: got f32[3], at least 2 axes are required"]),
    (lambda: linalg.multi_dot([a(3)]), ValueError, ["got 1 arrays (f32[3]), at least 2 are required"]),
    (lambda: linalg.multi_dot([a(2, 3), a(2, 2)]), ValueError,
     ["contracted sizes differ: array 0 f32[2,3] axis 1 has size 3, array 1 f32[2,2] axis 0 has size 2"]),
    (lambda: linalg.multi_dot([a(2, 3), a(3, 3, 3), a(3, 3)]), ValueError, ["array 1 of", "has 3 axes"]),
    (lambda: linalg.matrix_power(a(2, 3), 2), ValueError, ["got f32[2,3]: matrices of 2 by 3, square ones"]),
    (lambda: linalg.matrix_power(a(2, 2), 2.0), TypeError, ["n is 2.0, an int is required"]),
    (lambda: linalg.matrix_power(a(2), 2), ValueError, ["got f32[2], at least 2 axes"]),
    (lambda: linalg.outer(a(2), a(2, 2)), ValueError, ["outer: rhs is f32[2,2], one axis is required"]),
    (lambda: linalg.cross(a(2), a(2)), ValueError,
     ["cross: lhs f32[2] has size 2 along axis -1, 3 is required"]),
    (lambda: linalg.diagonal(a(2)), ValueError, ["diagonal: got f32[2], at least 2 axes"]),
    (lambda: linalg.trace(a(2)), ValueError, ["axis -2 is out of bounds"]),
    (lambda: linalg.matrix_transpose(a(2)), ValueError, ["matrix_transpose: got f32[2]"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_what_needs_a_decomposition_says_so():
    for call, part in [(lambda: linalg.norm(a(3, 3), 2), "singular values"),
                       (lambda: linalg.norm(a(3, 3), "nuc"), "svd"),
                       (lambda: linalg.matrix_power(a(3, 3), -1), "inverse"),
                       (lambda: linalg.svd, "linalg.svd is not supported")]:
        with pytest.raises(pullback.errors.UnsupportedError, match=part):
            call()


def test_names_and_weak_types():
    assert {*linalg.__all__} <= {*dir(jnp.linalg)}
    close(linalg.vector_norm(2.0), jnp.linalg.vector_norm(2.0), "scalar")
