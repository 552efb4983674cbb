"""Programs of small arrays, which XLA compiles whole: which ones are, and that they stay what they were."""

import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax
from pullback.runtime import outline, pjrt

X, Y = np.float32([0.5, 1.5, 2.5]), np.float32([1, 2, 3])

# What XLA reads of x and y follows from its own rewrites: a small program that reads nothing would end the process.
SMALL = {
    "sum": lambda x, y: x + y,
    "an operand unused": lambda x, y: y * 2,
    "an operand unused in the end": lambda x, y: jnp.where(jnp.asarray(True), jnp.exp(x), y),
    "zero whatever x is": lambda x, y: x.astype(int) * 0,
    "no difference": lambda x, y: x.astype(int) - x.astype(int),
    "true whatever x is": lambda x, y: x.astype(int) == x.astype(int),
    "below no number": lambda x, y: x.astype("uint8") < 0,
    "operand returned": lambda x, y: (x, x + y, x),
    "constant returned": lambda x, y: (jnp.ones(3), x * 2),
    "one result twice": lambda x, y: (x + 1,) * 2,
    "loop that carries what it does not read": lambda x, y: lax.fori_loop(
        0, 3, lambda i, c: (c[0] + 1, c[1]), (x, y))[0],
    "loop in a loop": lambda x, y: lax.fori_loop(
        0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d * y, c), x),
    "branches": lambda x, y: lax.cond(x[0] > 0, lambda a, b: a, lambda a, b: b * 2, x, y),
    "branch of constants": lambda x, y: lax.cond(x[0] > 0, lambda a: jnp.zeros(3), lambda a: a, x),
    "switch in a loop": lambda x, y: lax.fori_loop(
        0, 5, lambda i, c: lax.switch(i % 3, [lambda a: a, lambda a: a + 1, lambda a: a * 2], c), y),
    "gradient of a scan": lambda x, y: pullback.grad(
        lambda x: lax.scan(lambda c, a: (c * a, c * a), x[0], y)[1].sum())(x),
    "products": lambda x, y: (jnp.outer(x, y) @ x, x @ y, jnp.outer(x, y) @ jnp.outer(y, x)),
    "two reductions": lambda x, y: lax.reduce(
        (x, y), (jnp.float32(0), jnp.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
    "running sums": lambda x, y: jnp.cumsum(x * y),
    "window": lambda x, y: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "SAME"),
    "positions": lambda x, y: (x[jnp.array([0, 2, 1, 1])], jnp.argmax(x), lax.dynamic_slice(x, (1,), (2,))),
    "half precision": lambda x, y: (x.astype("bfloat16") * y.astype("bfloat16"), jnp.exp(x.astype("float16"))),
    "bits": lambda x, y: lax.bitcast_convert_type(x, jnp.int32) ^ 3,
    "barrier": lambda x, y: lax.optimization_barrier(x + y) * 2,
    "Hessian": lambda x, y: pullback.hessian(lambda x: (x**3 * y).sum())(x),
    "9 results of two types": lambda x, y: [x[:2], *[x + i for i in range(8)]],
    "step of training": lambda x, y: pullback.grad(
        lambda w: jnp.tanh(jnp.outer(jnp.repeat(x, 8), y) @ w).sum())(jnp.outer(y, jnp.repeat(x, 4)) / 100),
    "30,000 numbers": lambda x, y: jnp.tanh(jnp.broadcast_to(x[:, None], (3, 10_000)) * y[:, None]),
}
OTHERS = {
    "an operand returned": lambda x, y: x,
    "nothing read": lambda x, y: jnp.ones(3),
    "empty": lambda x, y: jnp.concatenate([x[:0], y]),
    "sort": lambda x, y: jnp.sort(x),
    "scatter": lambda x, y: x.at[jnp.array([0, 0])].add(1.0),
    "complex": lambda x, y: jnp.abs(x + 1j * y),
    "solve": lambda x, y: jnp.linalg.solve(jnp.outer(x, y) + jnp.eye(3), x),
    "9 results of one type": lambda x, y: [x + i for i in range(9)],
    "40,000 numbers": lambda x, y: jnp.broadcast_to(x[:, None], (3, 13_334)) * y[:, None],
    "a sum of 4,096 numbers": lambda x, y: jnp.sum(jnp.broadcast_to(x[:, None], (3, 1400)) * y[:, None]),
    "product of matrices": lambda x, y: jnp.outer(jnp.repeat(x, 12), y) @ jnp.outer(y, jnp.repeat(x, 13)),
    "moves alone": lambda x, y: jnp.swapaxes(jnp.stack([x]), 0, 1).reshape(1, 3, 1).T,
    "callback": lambda x, y: pullback.pure_callback(np.sin, x, x + y),
}


def text_of(function):
    return pullback.jit(function).lower(X, Y).as_text()


@pytest.mark.parametrize("name", SMALL)
def test_a_small_program_compiled_whole_is_what_it_is_eagerly(name):
    assert outline.whole(text_of(SMALL[name])) is not None
    found, wanted = pullback.jit(SMALL[name])(X, Y), SMALL[name](jnp.asarray(X), jnp.asarray(Y))
    for a, b in zip(pullback.tree.leaves(found), pullback.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a).astype(float), np.asarray(b).astype(float), rtol=2e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_left_as_they_are(name):
    assert outline.whole(text_of(OTHERS[name])) is None


def test_a_program_that_may_overwrite_what_it_is_given_is_left_as_it_is():
    function = pullback.jit(lambda x, y: x + y, donate_argnums=0)
    assert outline.whole(function.lower(X, Y).as_text()) is None
    assert outline.whole(pullback.jit(lambda x, y: x + y).lower(X, Y).as_text()) is not None


def test_what_xla_has_no_code_for_is_compiled_as_ever(monkeypatch):
    text = text_of(OTHERS["sort"])
    monkeypatch.setattr(outline, "whole", lambda given: given.replace("stablehlo.sort", "stablehlo.no_such"))
    compiled = pjrt.compile(text, [((3,), np.float32)])
    np.testing.assert_array_equal(pjrt.to_numpy(compiled([pjrt.put(X, copy=True)])[0]), X)


def test_options_are_kept(monkeypatch):
    monkeypatch.setattr(outline, "whole", lambda text: pytest.fail("asked for"))
    assert pullback.jit(lambda x: x + 1, compiler_options={"xla_backend_optimization_level": 0})(1.0) == 2
    switches = {"xla_backend_extra_options": "xla_cpu_disable_loop_unrolling,xla_cpu_optimize_for_size=true"}
    assert pullback.jit(lambda x: x + 1, compiler_options=switches)(1.0) == 2
    written = pjrt._compile_options(pjrt.devices()[:1], switches).SerializeAsString()
    assert b"xla_cpu_disable_loop_unrolling" in written and b"xla_cpu_optimize_for_size" in written


# name: function, sizes of its operand, whether LLVM is to unroll its loops
LOOPS = {
    "transpose": (lambda x: x.T, (8, 32), True),
    "pad": (lambda x: jnp.pad(x, 1) * 2, (32, 32), True),
    "transposed for a product": (lambda x: jnp.exp(x) @ x.T, (32, 32), False),
    "last axis of 32": (jnp.exp, (8, 32), False),
    "last axis of 10": (jnp.exp, (8, 10), False),
    "longer, last axis of 10": (jnp.exp, (80, 10), True),
    "axes of 10 and of 32": (lambda x: jnp.exp(x) @ jnp.ones(10), (32, 10), False),
    "row": (jnp.exp, (1000,), False),
    "windows": (lambda x: jnp.cumsum(x, 1), (8, 32), True),
    "many, last axis of 32": (jnp.exp, (4000, 32), False),
    "many, last axis of 400": (jnp.exp, (400, 400), True),
    "many, last axis of 3": (lambda x: jnp.exp(x[:, :3]) + x[:, :20].sum(), (40_000, 20), True),
    "many pairs": (lambda x: jnp.argmax(jnp.exp(x), 1), (4000, 32), True),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_are_not_unrolled(name):
    function, sizes, unrolled = LOOPS[name]
    x = jnp.linspace(-1, 1, int(np.prod(sizes))).reshape(sizes)
    text = pullback.jit(function).lower(x).as_text()
    whole = outline.whole(text)
    options = outline.options(text if whole is None else whole, whole is not None)
    assert ("xla_backend_extra_options" not in options) == unrolled
    np.testing.assert_allclose(pullback.jit(function)(x), function(x), rtol=2e-5)
