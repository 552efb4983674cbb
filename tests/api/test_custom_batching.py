"""Batching and transposition rules of one's own: custom_vmap, sequential_vmap, linear_call, fwd_and_bwd."""

from __future__ import annotations

import doctest

import jax
import jax.custom_batching
import jax.custom_derivatives
import numpy as np
import pytest

import pullback
from pullback import custom_derivatives as custom
from pullback.ad_checkpoint import Offloadable, Recompute, Saveable
from tests.same import same

jnp = pullback.numpy
X = np.array([0.5, -1.5, 2.0], np.float32)
BATCHING = {pullback: pullback.custom_batching, jax: jax.custom_batching}
DERIVATIVES = {pullback: custom, jax: jax.custom_derivatives}


def marked(e):
    """sin(x) * y, and as a batch 100 more, so that it shows which rule ran."""
    @BATCHING[e].custom_vmap
    def f(x, y):
        return e.numpy.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        assert axis_size == 3 and len(in_batched) == 2
        return e.numpy.sin(x) * y + 100, True
    return f


def test_rule_in_every_transformation():
    def build(e):
        f = marked(e)
        return lambda x: (f(1.0, 2.0), e.vmap(f)(x, x), e.vmap(f, (0, None))(x, 2.0), e.jit(e.vmap(f))(x, x),
                          e.vmap(e.jit(f))(x, x), e.vmap(lambda x: f(x, y=2.0))(x),
                          e.vmap(e.vmap(f, (0, None)), (None, 0))(x, x), e.jvp(f, (1.0, 2.0), (1.0, 1.0)),
                          e.grad(lambda x: e.vmap(f, (0, None))(x, 2.0).sum())(x),
                          e.jit(e.vmap(lambda x: e.jvp(lambda x: f(x, 2.0), (x,), (1.0,))))(x),
                          e.vmap(lambda x: e.jvp(f, (1.0, x), (x, 1.0)))(x),
                          e.vmap(lambda x: e.lax.scan(lambda c, _: (f(c, c), None), x, None, length=2)[0])(x))
    same(build, X, rtol=1e-4)


def test_reverse_mode_takes_values_from_the_rule_and_derivatives_from_the_function():
    """Which real jax refuses."""
    f = marked(pullback)
    np.testing.assert_allclose(pullback.grad(f)(1.0, 2.0), 2 * np.cos(1.0), rtol=1e-6)
    for run in (pullback.vmap(pullback.value_and_grad(f, (0, 1))),
                pullback.jit(pullback.vmap(pullback.value_and_grad(f, (0, 1))))):
        values, (by_x, by_y) = run(X, X)
        np.testing.assert_allclose(values, np.sin(X) * X + 100, rtol=1e-6)
        np.testing.assert_allclose(by_x, np.cos(X) * X, rtol=1e-5)
        np.testing.assert_allclose(by_y, np.sin(X), rtol=1e-5)


def test_rule_on_trees_with_unbatched_outputs():
    def build(e):
        @BATCHING[e].custom_vmap
        def f(p, n):
            return {"sum": p["a"] + p["b"], "n": n + 1}

        @f.def_vmap
        def rule(axis_size, in_batched, p, n):
            assert in_batched == [{"a": True, "b": False}, False]
            return {"sum": p["a"] - p["b"], "n": n + 2}, {"sum": True, "n": False}
        return lambda x: e.vmap(lambda a: f({"a": a, "b": 1.0}, 3))(x)
    same(build, X)


def test_sequential():
    def build(e):
        f = BATCHING[e].sequential_vmap(lambda x, y: (x + y["k"], y["k"] * 2))
        return lambda x: (f(1.0, {"k": 2.0}), e.vmap(f, (0, None))(x, {"k": 2.0}), e.jit(e.vmap(f))(x, {"k": x}))
    same(build, X)
    program = str(pullback.make_jaxpr(pullback.vmap(pullback.custom_batching.sequential_vmap(jnp.sin)))(X))
    assert "scan" in program
    np.testing.assert_allclose(pullback.vmap(pullback.grad(pullback.custom_batching.sequential_vmap(jnp.sin)))(X),
                               np.cos(X), rtol=1e-5)


def test_custom_vmap_messages():
    f = pullback.custom_batching.custom_vmap(lambda x: {"a": x})
    f.__name__ = "f"
    with pytest.raises(AttributeError, match=r"no batching rule\n.*\n.*def_vmap"):
        f(1.0)
    for rule, message in ((lambda n, b, x: x, "a pair"), (lambda n, b, x: ({"a": x}, (True,)), "flags of structure"),
                          (lambda n, b, x: ({"b": x}, {"b": True}), "the function's is"),
                          (lambda n, b, x: ({"a": x[:2]}, {"a": True}), "a leading axis of 3")):
        f.def_vmap(rule)
        with pytest.raises((TypeError, ValueError), match=message):
            pullback.vmap(f)(X)


def test_linear_call():
    def build(e):
        def f(r, x):  # a transpose that tells itself apart
            return DERIVATIVES[e].linear_call(lambda r, x: r * x, lambda r, ct: 10 * r * ct, r, x)
        return lambda x: (f(2.0, 3.0), e.grad(f, 1)(2.0, 3.0), e.jit(e.grad(f, 1))(2.0, 3.0),
                          e.linear_transpose(lambda x: f(2.0, x), 3.0)(1.0), e.jvp(lambda x: f(2.0, x), (3.0,), (1.0,)))
    same(build, X)

    def f(r, x):
        return custom.linear_call(lambda r, x: r * x, lambda r, ct: 10 * r * ct, r, x)
    # What real jax does not do: batches, derivatives by the residuals, and the transpose of the transpose.
    np.testing.assert_allclose(pullback.jit(pullback.vmap(pullback.grad(f, (0, 1))))(X, 2 * X), (2 * X, 10 * X))
    twice = pullback.linear_transpose(lambda ct: pullback.linear_transpose(lambda x: f(2.0, x), 3.0)(ct)[0], 1.0)
    assert twice(1.0)[0] == 2.0
    with pytest.raises(TypeError, match="returned f32.3., f32.3. in the structure"):
        custom.linear_call(lambda r, x: r * x, lambda r, ct: (ct, ct), X, X)


def test_forward_and_backward_as_two_functions():
    def build(e):
        def run(x):
            found = []
            for jitted in (True, False):
                fwd, bwd = e.fwd_and_bwd(lambda p, y: (p["k"] * y).sum(), argnums=(1, 0), jitted=jitted)
                out, residuals = fwd({"k": x}, 2 * x)
                found += [out, bwd(residuals, 1.0), bwd(residuals, 3.0)]
            fwd, bwd = e.fwd_and_bwd(lambda x, y: (e.numpy.sin(x) * y, x + 1), argnums=-1, has_aux=True)
            out, residuals, aux = fwd(1.0, 2.0)
            return found, out, aux, bwd(residuals, 1.0)
        return run
    same(build, X)
    with pytest.raises(ValueError, match="argnums 3 is out of range"):
        pullback.fwd_and_bwd(jnp.sin, argnums=3)[0](1.0)
    with pytest.raises(TypeError, match="argnums is 'a'"):
        pullback.fwd_and_bwd(jnp.sin, argnums="a")


def test_zero_from_primal():
    for x in (1.0, X, np.arange(3)):
        ours, theirs = custom.zero_from_primal(x), jax.custom_derivatives.zero_from_primal(x)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    assert isinstance(custom.zero_from_primal(X, symbolic_zeros=True), custom.SymbolicZero)


def test_policies_may_answer_by_name():
    def kept(answer):
        f = pullback.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))), policy=lambda *_, **__: answer)
        return len(pullback.residuals(f, X))
    assert kept(Recompute) < kept(Saveable) == kept(Offloadable("device", "pinned_host"))
    assert repr(Recompute) == "Recompute" and repr(Saveable) == "Saveable"


def test_examples():
    names = {"jnp": jnp, "vmap": pullback.vmap, "grad": pullback.grad}
    assert doctest.testmod(pullback.custom_batching, extraglobs=names).failed == 0
    for function in (custom.linear_call, custom.zero_from_primal, pullback.fwd_and_bwd):
        tests = doctest.DocTestFinder().find(function, globs={**vars(custom), **names, function.__name__: function})
        assert tests[0].examples
        assert doctest.DocTestRunner().run(tests[0]).failed == 0
