"""Control flow under every pairing of transformations, against real jax."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from tests.same import same

X = np.array([0.3, -0.7, 1.2], np.float32)
W = np.array([0.5, 1.5, -0.4], np.float32)


def scan_loss(j):
    """A scan that closes over an outer value, stacks outputs, and carries a pair."""
    def loss(w, xs):
        def step(carry, x):
            a, i = carry
            a = j.numpy.tanh(a * w) + x
            return (a, i + 1), a * w
        (a, _), ys = j.lax.scan(step, (j.numpy.ones(3), 0), xs)
        return j.numpy.sum(a) + j.numpy.sum(ys ** 2)
    return loss


def fori_loss(j):
    return lambda w, xs: j.numpy.sum(j.lax.fori_loop(0, 4, lambda i, a: j.numpy.sin(a * w) + xs[i], xs[0]))


def cond_loss(j):
    def loss(w, xs):
        return j.lax.cond(j.numpy.sum(w) > 0, lambda a: j.numpy.sum(a * w), lambda a: j.numpy.sum(a - w * w), xs[0])
    return loss


def switch_loss(j):
    def loss(w, xs):
        index = j.numpy.argmax(w)
        return j.lax.switch(index, [lambda a: j.numpy.sum(j.numpy.sin(a * w)), lambda a: j.numpy.sum(a) * w[0],
                                    lambda a: j.numpy.prod(w)], xs[1])
    return loss


def map_loss(j):
    return lambda w, xs: j.numpy.sum(j.lax.map(lambda x: j.numpy.sum(j.numpy.exp(x * w)), xs))


LOSSES = {"scan": scan_loss, "fori": fori_loss, "cond": cond_loss, "switch": switch_loss, "map": map_loss}
XS = np.stack([X, W, X * W, X - W])

PAIRINGS = {
    "value": lambda j, f: f,
    "grad": lambda j, f: j.grad(f, (0, 1)),
    "jit grad": lambda j, f: j.jit(j.grad(f, (0, 1))),
    "grad jit": lambda j, f: j.grad(j.jit(f), (0, 1)),
    "jacfwd": lambda j, f: j.jacfwd(f),
    "hessian": lambda j, f: j.hessian(f),
    "jit hessian": lambda j, f: j.jit(j.hessian(f)),
    "grad grad": lambda j, f: j.grad(lambda w, xs: j.numpy.sum(j.grad(f)(w, xs) ** 2)),
    "grad checkpoint": lambda j, f: j.grad(j.checkpoint(f), (0, 1)),
    "hessian checkpoint": lambda j, f: j.hessian(j.checkpoint(f)),
}


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_pairings(loss, pairing):
    same(lambda j: PAIRINGS[pairing](j, LOSSES[loss](j)), W, XS, rtol=2e-4, atol=1e-5)


BATCHED = {
    "vmap": lambda j, f: j.vmap(f, (0, None)),
    "vmap both": lambda j, f: j.vmap(f),
    "vmap grad": lambda j, f: j.vmap(j.grad(f), (0, None)),
    "jit vmap grad": lambda j, f: j.jit(j.vmap(j.grad(f, (0, 1)))),
    "grad vmap": lambda j, f: j.grad(lambda w, xs: j.numpy.sum(j.vmap(f)(w, xs) ** 2), (0, 1)),
    "vmap hessian": lambda j, f: j.vmap(j.hessian(f)),
    "vmap checkpoint grad": lambda j, f: j.vmap(j.grad(j.checkpoint(f))),
}


@pytest.mark.parametrize("pairing", BATCHED)
@pytest.mark.parametrize("loss", LOSSES)
def test_batched_pairings(loss, pairing):
    ws = np.stack([W, -W, X])
    xs = XS if pairing in ("vmap", "vmap grad") else np.stack([XS, XS + 1, XS * 2])
    same(lambda j: BATCHED[pairing](j, LOSSES[loss](j)), ws, xs, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, True])
def test_scan_options(reverse, unroll):
    def build(j):
        return lambda xs: j.lax.scan(lambda c, x: (c * 0.5 + x, c), j.numpy.zeros(3), xs, reverse=reverse,
                                     unroll=unroll)
    same(build, XS)
    same(lambda j: j.jit(j.grad(lambda xs: j.numpy.sum(build(j)(xs)[1] ** 2))), XS)


def test_scan_without_inputs_and_with_trees():
    same(lambda j: lambda x: j.lax.scan(lambda c, _: (c * 2, None), x, None, length=3), X)
    same(lambda j: lambda x: j.lax.scan(lambda c, t: ({"a": c["a"] + t[0]}, {"y": t[1]}), {"a": x[0]}, (x, x)), X)
    same(lambda j: lambda x: j.lax.scan(lambda c, t: (c + t, c), 0.0, x[:0]), X)
    same(lambda j: lambda x: j.lax.scan(lambda c, t: (c + t, c), 0, j.numpy.arange(3)), X)


def test_while_loops():
    def collatz(j):
        def count(n):
            return j.lax.while_loop(lambda s: s[0] != 1, lambda s: (
                j.numpy.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]
        return count
    same(lambda j: lambda: collatz(j)(7))
    same(lambda j: j.jit(collatz(j)), np.int32(27))
    same(lambda j: j.vmap(collatz(j)), np.arange(1, 9, dtype=np.int32))

    def newton(j):
        def root(a):
            return j.lax.while_loop(lambda x: j.numpy.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a)
        return root
    same(lambda j: newton(j), 2.0)
    same(lambda j: lambda a: j.jvp(newton(j), (a,), (1.0,)), 2.0)
    same(lambda j: j.jit(j.jacfwd(newton(j))), 3.0)
    same(lambda j: j.vmap(lambda a: j.jvp(newton(j), (a,), (1.0,))), np.array([2.0, 3.0, 50.0], np.float32))


def test_fori_loop_with_traced_bounds():
    same(lambda j: j.jit(lambda n, x: j.lax.fori_loop(0, n, lambda i, a: a * x + i, x)), 4, 1.5)
    same(lambda j: j.vmap(lambda n: j.lax.fori_loop(0, n, lambda i, a: a + i, 0)), np.arange(4, dtype=np.int32))


def test_cond_evaluates_one_branch_only():
    seen = []

    def branch(name):
        def run(x):
            pullback.debug.callback(lambda: seen.append(name))
            return x
        return run
    pullback.jit(lambda p: pullback.lax.cond(p, branch("yes"), branch("no"), 1.0))(True)
    assert seen == ["yes"]


def test_associative_scan():
    for n in (0, 1, 2, 5, 8):
        xs = np.arange(1, n + 1, dtype=np.float32)
        same(lambda j: lambda x: j.lax.associative_scan(j.numpy.multiply, x), xs)
        same(lambda j: lambda x: j.lax.associative_scan(j.numpy.add, x, reverse=True), xs)
    same(lambda j: j.jit(j.grad(lambda x: j.numpy.sum(j.lax.associative_scan(j.numpy.multiply, x)))), X)
    same(lambda j: lambda x: j.lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x), axis=1),
         XS)


def test_map_with_batches():
    xs = np.arange(7, dtype=np.float32)
    for size in (1, 3, 7):
        same(lambda j: lambda x: j.lax.map(lambda v: v ** 2 + 1, x, batch_size=size), xs)


def test_carry_errors_name_the_leaf():
    scan, loop = pullback.lax.scan, pullback.lax.while_loop
    with pytest.raises(TypeError, match=r"carry\['a'\].*f32\[\] before, f32\[3\] after"):
        scan(lambda c, x: ({"a": c["a"] + X}, None), {"a": pullback.numpy.float32(0)}, X)
    with pytest.raises(TypeError, match="structure"):
        scan(lambda c, x: ((c, c), None), 0.0, X)
    with pytest.raises(TypeError, match="pair"):
        scan(lambda c, x: c, 0.0, X)
    with pytest.raises(ValueError, match="unequal lengths"):
        scan(lambda c, x: (c, None), 0.0, (X, X[:2]))
    with pytest.raises(ValueError, match="number of steps"):
        scan(lambda c, x: (c, None), 0.0, None)
    with pytest.raises(TypeError, match="a bool scalar is required"):
        loop(lambda x: x, lambda x: x, 1.0)
    with pytest.raises(TypeError, match="different types at output 0"):
        pullback.lax.cond(True, lambda: pullback.numpy.ones(2), lambda: pullback.numpy.ones(3))
    with pytest.raises(TypeError, match="pred is"):
        pullback.lax.cond(X > 0, lambda: 1, lambda: 2)


def test_loop_invariant_values_are_not_stacked():
    """Reverse mode of a scan over a big constant keeps the constant once, not once a step."""
    big = np.ones((50, 50), np.float32)

    def loss(w):
        c, _ = pullback.lax.scan(lambda c, _: (pullback.numpy.tanh(w @ c), None), pullback.numpy.ones(50), None,
                                 length=20)
        return pullback.numpy.sum(c)
    kept = pullback.residuals(loss, big)
    assert max(r.type.size for r in kept) <= 50 * 50
    assert sum(r.type.size for r in kept) < 2 * 50 * 50 + 5 * 20 * 50


def test_a_step_of_cheap_operations_keeps_only_what_it_started_from():
    """Of each step of a Runge-Kutta method the state, however small, and not its slopes too."""
    def loss(rate, y):
        def step(y, _):
            k1 = rate * y * (1 - y)
            k2 = rate * (y + 0.1 * k1) * (1 - (y + 0.1 * k1))
            return y + 0.05 * (k1 + k2), None
        return pullback.numpy.sum(pullback.lax.scan(step, y, None, length=20)[0])
    kept = [r.type.shape for r in pullback.residuals(loss, np.float32(0.5), np.ones(2, np.float32))]
    assert [shape for shape in kept if 20 in shape] == [(20, 2)], kept
