"""vectorize, apply_along_axis and apply_over_axes of pullback.numpy against real jax."""

import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback.numpy import contract, elementwise, mapping, reductions
from tests.numpy.against_jax import close, ours, same

rng = np.random.default_rng(0)


def draw(*shape):
    return rng.normal(size=shape).astype(np.float32)


def a(*shape):
    return ours(draw(*shape))


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((5, 2, 3), (3,)), ((2, 3), (4, 3)), ((5, 2, 3), (4, 1, 3)),
                                    ((1, 2, 3), (1, 3)), ((0, 2, 3), (3,))])
def test_vectorize_with_a_signature(shapes):
    signature = "(n,m),(m)->(n)"
    same(mapping.vectorize(contract.matmul, signature=signature), jnp.vectorize(jnp.matmul, signature=signature),
         *[draw(*shape) for shape in shapes], grad=True)


def test_vectorize_of_scalars_and_results():
    x, y = draw(3, 1), draw(4)
    for f in [lambda x, y: x + y, lambda x, y: (x, y * x)]:
        same(mapping.vectorize(f), jnp.vectorize(f), x, y)
    same(mapping.vectorize(lambda x: x * 2), jnp.vectorize(lambda x: x * 2), 3)
    same(mapping.vectorize(lambda x: x * 2), jnp.vectorize(lambda x: x * 2), [1, 2], traced=False)
    two = dict(signature="(n),()->(n),()")
    same(mapping.vectorize(lambda x, y: (x * y, y), **two), jnp.vectorize(lambda x, y: (x * y, y), **two), draw(5, 3),
         draw(2, 1))


def test_arguments_that_are_not_mapped():
    x = draw(3)

    def add(x, n=1):
        assert isinstance(n, int)
        return x + n

    same(mapping.vectorize(add, excluded={1}), jnp.vectorize(add, excluded={1}), x, 2)
    same(mapping.vectorize(add, excluded={"n"}), jnp.vectorize(add, excluded={"n"}), x, n=2)
    # Real jax drops keyword arguments that are not excluded; NumPy maps over them.
    close(mapping.vectorize(add, signature="(k)->(k)")(ours(x), n=2), jnp.asarray(x) + 2, "keyword")
    y = draw(2, 1)
    close(mapping.vectorize(lambda x, n: x + n)(ours(x), n=ours(y)), jnp.asarray(x + y), "keyword")
    assert mapping.vectorize(lambda x, y: x)(ours(x), None).shape == (3,)
    assert mapping.vectorize(add).__name__ == "add"


def test_apply_along_axis():
    x = draw(2, 3, 4)
    for axis in (0, 1, -1):
        same(lambda x, axis=axis: mapping.apply_along_axis(reductions.sum, axis, x),
             lambda x, axis=axis: jnp.apply_along_axis(jnp.sum, axis, x), x, grad=True)
        same(lambda x, axis=axis: mapping.apply_along_axis(lambda v: contract.outer(v, v), axis, x),
             lambda x, axis=axis: jnp.apply_along_axis(lambda v: jnp.outer(v, v), axis, x), x, traced=False)
    out = mapping.apply_along_axis(lambda v, n, k=0: v * n + k, 0, ours(x), 2.0, k=3.0)
    close(out, jnp.apply_along_axis(lambda v, n, k=0: v * n + k, 0, x, 2.0, k=3.0), "arguments")


def test_apply_over_axes():
    x = draw(2, 3, 4)
    for axes in ([0, 2], (1,), [-1, 0], []):
        same(lambda x, axes=axes: mapping.apply_over_axes(reductions.sum, x, axes),
             lambda x, axes=axes: jnp.apply_over_axes(jnp.sum, x, axes), x)
    same(lambda x: mapping.apply_over_axes(lambda v, i: elementwise.negative(v), x, [0]),
         lambda x: jnp.apply_over_axes(lambda v, i: -v, x, [0]), x)


MATVEC = mapping.vectorize(contract.matmul, signature="(n,m),(m)->(n)")


@pytest.mark.parametrize("call, error, parts", [
    (lambda: MATVEC(a(3), a(3)), ValueError, ["vectorize: an argument is f32[3]; the 2 axes (n,m)"]),
    (lambda: MATVEC(a(2, 3), a(4)), ValueError,
     ["axis m of (n,m),(m)->(n) has size 3, an argument f32[4] has 4"]),
    (lambda: MATVEC(a(5, 2, 3), a(4, 3)), ValueError, ["cannot be broadcast together"]),
    (lambda: MATVEC(a(2, 3)), TypeError, ["vectorize: got 1 arguments, the signature (n,m),(m)->(n) is for 2"]),
    (lambda: mapping.vectorize(lambda x: x, signature="(n)->()")(a(3)), ValueError, ["the function returned f32[3]"]),
    (lambda: mapping.vectorize(lambda x: x[:2], signature="(n)->(n)")(a(3)), ValueError, ["axis n", "a result f32[2]"]),
    (lambda: mapping.vectorize(lambda x: (x, x), signature="(n)->(n)")(a(3)), TypeError,
     ["a tuple of 2", "promises 1"]),
    (lambda: mapping.vectorize(lambda x: [x, x], signature="(n)->(n),(n)")(a(3)), TypeError,
     ["a list", "a tuple of 2"]),
    (lambda: mapping.vectorize(lambda x: x, signature="n->n"), ValueError, ["signature is 'n->n'; the form"]),
    (lambda: mapping.vectorize(lambda x: x, signature="(n)"), ValueError, ["signature is '(n)'"]),
    (lambda: mapping.vectorize(lambda x: x, excluded={1.5}), TypeError, ["excluded holds 1.5"]),
    (lambda: mapping.vectorize(lambda x: x, excluded={-1}), TypeError, ["excluded holds -1"]),
    (lambda: mapping.apply_along_axis(reductions.sum, 3, a(2)), ValueError, ["axis 3 is out of bounds"]),
    (lambda: mapping.apply_over_axes(lambda x, i: x.sum(), a(2, 3, 4), [0]), ValueError,
     ["apply_over_axes: the function made f32[] of f32[2,3,4] along axis 0"]),
])
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in (*parts, "\n  fix: "):
        assert part in str(caught.value), str(caught.value)


def test_axes_of_size_one_are_not_mapped_over():
    seen = []

    def f(x, y):
        seen.append((x.shape, y.shape))
        return x + y

    pullback.jit(mapping.vectorize(f))(a(5, 1), a(1, 4))
    assert seen == [((), ())]
