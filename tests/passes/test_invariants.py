"""What every rewrite keeps: types, values, effects in order; and running it twice changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.core import config
from pullback.core.check import ProgramError, check_program
from pullback.core.program import Equation, Program, Var
from pullback.core.show import show
from pullback.interpret.evaluate import evaluate
from pullback.passes.chain import chain
from pullback.passes.clean import clean
from pullback.passes.dce import dce
from pullback.passes.fence import fence, fusible
from pullback.passes.inline import inline
from pullback.passes.pipeline import PASSES, optimize
from pullback.runtime.executable import Executable

jnp, lax = pullback.numpy, pullback.lax
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def rnn(steps):
    def loss(w, x):
        h = x
        for _ in range(steps):
            h = jnp.tanh(h @ w) * 0.5 + h * 0.5 + jnp.sin(h)
        return jnp.sum(h ** 2)
    return pullback.value_and_grad(loss), (np.eye(4, dtype=np.float32), X)


def called_twice(x):
    f = pullback.jit(lambda y: jnp.sin(y) * 2)
    return f(f(x)) + pullback.jit(lambda y: f(y) + 1)(x)


def with_dead_code(x):
    jnp.exp(x) @ jnp.ones(4)
    return jnp.sum(x), x[0]


def with_effects(x):
    pullback.debug.callback(lambda a: None, x, ordered=True)
    y = x * 2
    pullback.debug.callback(lambda a: None, y, ordered=True)
    return y


def with_loops(x):
    a, _ = lax.scan(lambda c, r: (c + pullback.jit(jnp.sin)(r), None), jnp.zeros(4), x)
    return lax.cond(jnp.sum(a) > 0, lambda v: v * 2, lambda v: v - 1, a)


CORPUS = {
    "rnn": rnn(3), "deep rnn": rnn(12), "calls": (called_twice, (X,)), "dead": (with_dead_code, (X,)),
    "effects": (with_effects, (X,)), "loops": (with_loops, (X,)), "identity": (lambda x: (x, x), (X,)),
    "gradient of loops": (pullback.grad(lambda x: jnp.sum(with_loops(x))), (X,)),
    "softmax": (pullback.hessian(lambda x: pullback.nn.logsumexp(x[0])), (X,)),
}


def staged(name):
    function, args = CORPUS[name]
    closed = pullback.make_jaxpr(function)(*args)
    return closed.program, [*closed.consts, *[pullback.numpy.asarray(a) for a in pullback.tree.leaves(args)]]


@pytest.mark.parametrize("rewrite", PASSES, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", CORPUS)
def test_invariants(name, rewrite):
    program, args = staged(name)
    for earlier in PASSES[:PASSES.index(rewrite)]:
        program = earlier(program)
    before = evaluate(program, args)
    after = rewrite(program)
    check_program(after)
    for a, b in zip(before, evaluate(after, args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert show(rewrite(after)) == show(after)
    assert effects(after) == effects(program)


def effects(program):
    found = []
    for eqn in program.equations:
        for inner in eqn.programs:
            found += effects(inner)
        if eqn.effects and not eqn.programs:
            found.append(eqn.source.line)
    return found


def test_dce_drops_and_optimize_reports_unused_inputs():
    program, _ = staged("dead")
    assert {e.primitive.name for e in dce(program).equations}.isdisjoint({"exp", "dot_general"})
    closed = pullback.make_jaxpr(lambda x, y: x + 1)(X, X)
    assert optimize(closed.program).used == (True, False)


def test_inline_leaves_no_calls():
    program, _ = staged("calls")
    assert "jit" in {e.primitive.name for e in program.equations}
    assert "jit" not in {e.primitive.name for e in inline(program).equations}


def test_fence_is_put_on_branching_chains_and_nowhere_else():
    deep, _ = staged("deep rnn")
    assert "optimization_barrier" in {e.primitive.name for e in fence(inline(deep)).equations}
    straight = pullback.make_jaxpr(lambda x: jnp.sum(sines(x)))(X).program
    assert fence(straight) is straight
    mlp = pullback.make_jaxpr(pullback.grad(lambda w: jnp.sum(jnp.tanh(X @ w) @ jnp.ones((4, 2)))))(np.eye(4)).program
    assert fence(mlp) is mlp


def test_fences_cut_the_sum_of_cotangents_along_residual_layers():
    """Its kernels are of one length then, however many layers there are, and XLA compiles those that are alike once."""
    def loss(ws, x):
        for w in ws:
            x = x + (jnp.tanh(x.reshape(12) @ w) @ w).reshape(3, 4)
        return jnp.sum(x ** 2)

    def longest(program):
        depth = {}
        for eqn in program.equations:
            if fusible(eqn):
                depth[eqn.outputs[0]] = 1 + max([depth.get(a, 0) for a in eqn.inputs if isinstance(a, Var)], default=0)
        return max(depth.values())
    ws = [np.eye(12, dtype=np.float32)] * 60
    program = dce(inline(pullback.make_jaxpr(pullback.grad(loss))(ws, X).program))
    assert longest(program) > 60 > 20 > longest(fence(program))


def test_barriers_hold_whatever_the_version_of_jaxlib():
    """XLA would put all steps into one kernel, and before jaxlib 0.11 does so in spite of a barrier."""
    def steps(x):
        for i in range(6):
            x = lax.optimization_barrier(x * (i + 2.0) + 1.0)
        return x
    x = np.ones((64, 64), np.float32)
    compiled = pullback.jit(steps).lower(x).compile()
    assert compiled.as_text().count(" fusion(") == 6
    np.testing.assert_allclose(compiled(x), steps(x), rtol=1e-6)


def sines(x):
    for _ in range(40):
        x = jnp.sin(x)
    return x


def test_fenced_programs_compute_the_same():
    program, args = staged("deep rnn")
    unfenced = evaluate(program, args)
    for a, b in zip(Executable(program)(args), unfenced, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_checker_finds_faults():
    program, _ = staged("rnn")
    eqn = program.equations[0]
    wrong = Var(eqn.outputs[0].type.with_shape((7,)))
    faults = {
        "not bound": Program(program.inputs[:0], program.equations, program.outputs),
        "bound twice": Program(program.inputs, [*program.equations, program.equations[-1]], program.outputs),
        "the type rule gives": Program(program.inputs, [eqn.replace(outputs=[wrong])], [wrong]),
        "output of the program": Program(program.inputs, [], [Var(eqn.outputs[0].type)]),
    }
    check_program(program)
    for text, faulty in faults.items():
        with pytest.raises(ProgramError, match=text):
            check_program(faulty)
    assert isinstance(eqn, Equation)


def test_clean_leaves_no_idle_and_no_repeated_equations():
    def f(x):
        y = -jnp.negative(jnp.sin(x)) * 1.0 + jnp.sin(x).T.T ** 1 / 1
        return y + x * jnp.sqrt(32.0) / (2.0 * 4.0), jnp.sin(x).reshape(3, 4)

    program = inline(pullback.make_jaxpr(f)(X).program)
    names = [e.primitive.name for e in dce(clean(program)).equations]
    assert names.count("sin") == 1 and {"neg", "transpose", "integer_pow", "reshape"}.isdisjoint(names)
    gradient = inline(pullback.make_jaxpr(pullback.grad(lambda x: jnp.sum(x ** 2)))(X).program)
    assert "integer_pow" not in {e.primitive.name for e in dce(clean(gradient)).equations}


def test_clean_keeps_effects_and_signs():
    def f(x):
        pullback.debug.callback(lambda a: None, x)
        pullback.debug.callback(lambda a: None, x)
        return x + 0.0, x * -1.0

    program = inline(pullback.make_jaxpr(f)(X).program)
    assert len(clean(program).equations) == len(program.equations)


@pytest.mark.parametrize("expression, cheap", [
    ("a @ b @ v", True), ("(a @ b) @ (b @ v)", True), ("v @ (a @ b)", True), ("a.T @ b @ c", False),
    ("(a @ b).T @ v", False), ("(a @ b) @ v + (a @ b)[0]", False),
    ("jnp.outer(v, v) @ v", True), ("jnp.tensordot(jnp.tensordot(t, a, 1), v, ((1,), (0,)))", True)])
def test_products_associate_to_the_cheap_side_when_asked(expression, cheap):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=(30, 30)).astype(np.float32) for _ in range(3))
    v, t = rng.normal(size=30).astype(np.float32), rng.normal(size=(4, 30, 30)).astype(np.float32)

    def f(a, b, c, v, t):
        return eval(expression, {"jnp": jnp}, {"a": a, "b": b, "c": c, "v": v, "t": t})

    args = [jnp.asarray(x) for x in (a, b, c, v, t)]
    program = inline(pullback.make_jaxpr(f)(*args).program)
    assert chain(program) is program
    with config.reorder_products(True):
        after = chain(program)
        np.testing.assert_allclose(pullback.jit(f)(*args), f(*args), rtol=2e-3, atol=2e-3)
    check_program(after)
    sizes = [e.outputs[0].type.size for e in after.equations if e.primitive.name == "dot_general"]
    assert (max(sizes) < 900) == cheap
    np.testing.assert_allclose(evaluate(after, args)[0], evaluate(program, args)[0], rtol=2e-3, atol=2e-3)
