"""softmax, logsumexp, standardize and one_hot of pullback.nn against real jax."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback import nn
from tests.numpy.against_jax import close, ours, same, weak

NAN, INF = math.nan, math.inf
rng = np.random.default_rng(0)
SPECIAL = np.float32([[1, 2, 3], [-INF, -INF, -INF], [INF, 1, 2], [NAN, 1, 2], [-INF, 1, 2], [1e30, 2, -1e30]])
WHERE = np.array([[True, False, True], [False] * 3, [True, True, False], [False, True, True], [True] * 3, [True] * 3])
SOFT = ["softmax", "log_softmax"]


def draw(*shape, dtype="float32"):
    return (rng.normal(size=shape) * 3).astype(jnp.dtype(dtype))


def theirs(name):
    return getattr(jax.nn, name)


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("axis", [-1, 0, (0, 2), None, (-1, 1)])
def test_softmax(name, axis):
    x = draw(2, 3, 4)
    same(getattr(nn, name), theirs(name), x, axis, grad=True)
    where = rng.integers(0, 2, (3, 1)).astype(bool)
    same(lambda x: getattr(nn, name)(x, axis, ours(where)), lambda x: theirs(name)(x, axis, where), x, grad=True)


@pytest.mark.parametrize("name", SOFT)
def test_softmax_of_special_values(name):
    f, g = getattr(nn, name), theirs(name)
    same(f, g, SPECIAL)
    same(lambda x: f(x, where=ours(WHERE)), lambda x: g(x, where=WHERE), SPECIAL)
    column = pullback.grad(lambda x: f(x)[:, 1].sum())(ours(SPECIAL))
    close(column, jax.grad(lambda x: g(x)[:, 1].sum())(SPECIAL), name)
    masked = pullback.grad(lambda x: f(x, where=ours(WHERE))[:, 1].sum())(ours(SPECIAL))
    close(masked, jax.grad(lambda x: g(x, where=WHERE)[:, 1].sum())(SPECIAL), name)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # real jax converts -inf to integers
@pytest.mark.parametrize("name", [*SOFT, "logsumexp", "logmeanexp", "standardize"])
def test_dtypes(name):
    for dtype in ("int8", "int32", "bfloat16", "float16"):
        same(getattr(nn, name), theirs(name), draw(3, 4, dtype=dtype), traced=False,
             rtol=4e-2 if "16" in dtype else None)
    same(getattr(nn, name), theirs(name), weak([1.0, 2.0]), traced=False)
    same(getattr(nn, name), theirs(name), weak([1, 2]), traced=False)
    if name in ("logsumexp", "logmeanexp"):
        same(getattr(nn, name), theirs(name), 2.0)
    same(getattr(nn, name), theirs(name), draw(2, 0), traced=False)


@pytest.mark.parametrize("kwargs", [
    {}, dict(axis=0), dict(axis=(0, 2), keepdims=True), dict(axis=-1, return_sign=True), dict(axis=()),
    dict(keepdims=True, return_sign=True)])
def test_logsumexp(kwargs):
    x = draw(2, 3, 4)
    same(nn.logsumexp, jax.nn.logsumexp, x, grad=True, **kwargs)
    factors = draw(3, 1)
    f = lambda x, b: nn.logsumexp(x, b=b, **kwargs)  # noqa: E731
    g = lambda x, b: jax.nn.logsumexp(x, b=b, **kwargs)  # noqa: E731
    same(f, g, x, factors, grad=kwargs.get("return_sign", False))
    where = rng.integers(0, 2, (2, 1, 4)).astype(bool)
    same(lambda x, b: nn.logsumexp(x, b=b, where=ours(where), **kwargs),
         lambda x, b: jax.nn.logsumexp(x, b=b, where=where, **kwargs), x, np.abs(factors), grad=True)


def test_logsumexp_of_special_values():
    same(nn.logsumexp, jax.nn.logsumexp, SPECIAL, 1)
    same(nn.logmeanexp, jax.nn.logmeanexp, SPECIAL, 1, WHERE, traced=False)
    close(pullback.grad(lambda x: nn.logsumexp(x, axis=1).sum())(ours(SPECIAL)),
          jax.grad(lambda x: jax.nn.logsumexp(x, axis=1).sum())(SPECIAL), "slopes")
    close(pullback.grad(lambda x: nn.logsumexp(x, axis=1, where=ours(WHERE)).sum())(ours(SPECIAL)),
          jax.grad(lambda x: jax.nn.logsumexp(x, axis=1, where=WHERE).sum())(SPECIAL), "slopes with where")
    b = np.float32([1, -2, 0])
    for sign in (False, True):
        same(lambda x: nn.logsumexp(x, 1, ours(b), return_sign=sign),
             lambda x: jax.nn.logsumexp(x, 1, b, return_sign=sign), SPECIAL)
    close(pullback.grad(lambda x: nn.logsumexp(x, 1, ours(b), return_sign=True)[0].sum())(ours(SPECIAL)),
          jax.grad(lambda x: jax.nn.logsumexp(x, 1, b, return_sign=True)[0].sum())(SPECIAL), "slopes with b")
    same(nn.logsumexp, jax.nn.logsumexp, np.zeros(0, np.float32))
    same(nn.logmeanexp, jax.nn.logmeanexp, np.zeros(0, np.float32))


def test_logsumexp_of_complex_numbers():
    x = (draw(3, 2) + 1j * draw(3, 2)).astype(np.complex64)
    same(nn.logsumexp, jax.nn.logsumexp, x, 0, grad=True)
    same(nn.logsumexp, jax.nn.logsumexp, x, return_sign=True)
    same(nn.logsumexp, jax.nn.logsumexp, draw(3), b=x[:, 0], traced=False)
    same(nn.logsumexp, jax.nn.logsumexp, draw(3, dtype="bfloat16"), b=draw(3), traced=False, rtol=1e-2,
         return_sign=True)


@pytest.mark.parametrize("kwargs", [{}, dict(axis=0), dict(axis=None), dict(axis=(0, 1), keepdims=True),
                                    dict(axis=1, where=WHERE[:2])])
def test_logmeanexp(kwargs):
    same(nn.logmeanexp, jax.nn.logmeanexp, draw(2, 3), grad=True, traced="where" not in kwargs, **kwargs)


@pytest.mark.parametrize("kwargs", [
    {}, dict(axis=0), dict(axis=None, epsilon=0), dict(axis=(0, 1)), dict(algorithm="stable"), dict(epsilon=1e-2),
    dict(where=WHERE[:4] | True), dict(where=WHERE[2:], axis=0), dict(mean=0.5),
    dict(variance=np.float32([[2], [1], [3], [1]])),
    dict(mean=np.float32([1, 2, 3]), axis=0), dict(mean=1, variance=2), dict(mean=0.5, algorithm="stable")])
def test_standardize(kwargs):
    same(nn.standardize, jax.nn.standardize, draw(4, 3), grad=True, rtol=2e-4, traced="where" not in kwargs, **kwargs)


def test_standardize_of_a_constant():
    x = np.full((2, 4), 8, np.float32)  # sums without rounding: the slope is large
    same(nn.standardize, jax.nn.standardize, x, grad=True)


@pytest.mark.parametrize("kwargs", [{}, dict(dtype="bfloat16"), dict(dtype="int8"), dict(axis=0), dict(axis=1),
                                    dict(axis=-2), dict(axis=-3)])
def test_one_hot(kwargs):
    x = np.int32([[0, 2], [-1, 5]])
    same(lambda x: nn.one_hot(x, 3, **kwargs), lambda x: jax.nn.one_hot(x, 3, **kwargs), x)


def test_one_hot_of_other_numbers():
    for x in (1, [1, 2], np.uint8([0, 2]), np.float32([0, 1.5, 2]), np.int8([]), np.uint32([1, 2**31])):
        same(lambda x: nn.one_hot(x, 3), lambda x: jax.nn.one_hot(x, 3), x, traced=False)
    same(lambda x: nn.one_hot(x, 0), lambda x: jax.nn.one_hot(x, 0), np.int32([1]))
    # Real jax counts classes in int8 here, so that -56 is class 200.
    assert np.asarray(nn.one_hot(ours(np.int8([100, -56])), 300)).sum() == 1
    assert nn.one_hot(ours(np.array([True, False])), 2).tolist() == [[0, 1], [1, 0]]


def test_one_hot_over_a_mapped_axis():
    x = np.int32([0, 2])
    mine = pullback.vmap(lambda _: nn.one_hot(ours(x), 3, axis="i"), axis_name="i")(ours(np.arange(3)))
    real = jax.vmap(lambda _: jax.nn.one_hot(x, 3, axis="i"), axis_name="i")(jnp.arange(3))
    close(mine, real, "axis")
    with pytest.raises(ValueError, match="one_hot: num_classes is 6, the size of the mapped axis 'i', 3, is required"):
        pullback.vmap(lambda _: nn.one_hot(ours(x), 6, axis="i"), axis_name="i")(ours(np.arange(3)))


def a(*shape):
    return ours(draw(*shape))


@pytest.mark.parametrize("call, error, parts", [
    (lambda: nn.softmax(a(3), axis=1), ValueError, ["softmax: axis 1 is out of bounds"]),
    (lambda: nn.softmax(2.0), ValueError, ["softmax: axis -1 is out of bounds for an array with 0 dimensions"]),
    (lambda: nn.softmax([1.0]), TypeError, ["softmax: got a list"]),
    (lambda: nn.log_softmax(a(3), where=a(3)), ValueError, ["where has dtype f32, bool is required"]),
    (lambda: nn.softmax(a(3), axis=(0, 0)), ValueError, ["name one axis twice"]),
    (lambda: nn.logsumexp(a(2, 3), b=a(4)), ValueError, ["logsumexp: shapes (2, 3), (4,) cannot be broadcast"]),
    (lambda: nn.standardize(a(3), algorithm="x"), ValueError, ["algorithm is 'x'; 'fast' or 'stable' is required"]),
    (lambda: nn.one_hot(0, 2.5), TypeError, ["one_hot: num_classes is 2.5, an int is required"]),
    (lambda: nn.one_hot(0, -1), ValueError, ["one_hot: num_classes is -1"]),
    (lambda: nn.one_hot(0, 3, axis=2), ValueError, ["axis 2 is out of bounds"]),
    (lambda: pullback.jit(nn.one_hot)(0, 3), pullback.errors.ConcretizationTypeError,
     ["num_classes of a traced value"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_few_operations():
    for f, x, count in [(nn.softmax, draw(2, 3), 8), (nn.log_softmax, draw(2, 3), 9),
                        (lambda x: nn.one_hot(x, 3), np.int32([1, 2]), 5)]:
        assert len(pullback.make_jaxpr(f)(ours(x)).eqns) <= count


def test_second_derivatives_and_vmap():
    x = draw(2, 3)
    for name in ("softmax", "log_softmax"):
        mine = pullback.hessian(lambda x, name=name: (getattr(nn, name)(x) ** 2).sum())(ours(x))
        real = jax.hessian(lambda x, name=name: (theirs(name)(x) ** 2).sum())(x)
        close(mine, real, name, 1e-4)
        close(pullback.vmap(getattr(nn, name))(ours(x)), theirs(name)(x), name)
