"""The scripts that a diagnosis writes: under real jax alone they give what the run had, operation by operation."""

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest

from pullback.gate.diagnose.locate import Break
from pullback.gate.diagnose.script import script
from pullback.gate.engine import load
from pullback.gate.expressions import parameters
from pullback.gate.operations import Operation, trace
from pullback.gate.values import Key, distance, number

X = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")
PLACES = np.array([[0, 1], [2, 0]], "int32")
S = (X.T @ X + np.eye(3)).astype("float32")


def programs(engine):
    """Functions of (x, i), by what they are about."""
    jax, jnp, lax, random, nn, special = (engine.module(name) for name in (
        "", "numpy", "lax", "random", "nn", "scipy.special"))
    linalg, scipy = engine.module("numpy.linalg"), engine.module("scipy.linalg")

    def conv(x):
        return lax.conv_general_dilated(x.reshape(1, 4, 3, 1), jnp.ones((2, 2, 1, 2)), (1, 2), "SAME",
                                        rhs_dilation=(2, 1), dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def largest(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME")

    return {
        "gather": lambda x, i: (x[i], jnp.take(x, i, axis=1), lax.dynamic_slice(x, (i[0, 1], i[0, 0]), (2, 2))),
        "scatter": lambda x, i: (x.at[i, 0].set(2.0), x.at[i].add(2.0), x.at[i].mul(2.0), x.at[i].min(0.0),
                                 x.at[i].max(0.0), x.at[0].set(1.0)),
        "conv": lambda x, i: conv(x),
        "windows": lambda x, i: (lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), "VALID"), largest(x),
                                 lax.reduce_window(x, 1.0, lax.mul, (2, 2), (1, 2), "SAME"),
                                 jax.grad(lambda x: largest(x).sum())(x)),
        "sort": lambda x, i: (jnp.sort(x, axis=0), jnp.argsort(x, 1), lax.sort((x, -x), num_keys=2), lax.top_k(x, 2),
                              jnp.argmax(x, 1), jnp.argmin(x)),
        "running": lambda x, i: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, axis=0, reverse=True),
                                 lax.cumlogsumexp(x)),
        "products": lambda x, i: (jnp.einsum("ij,kj->ik", x, x), jnp.dot(x, x.T, precision="highest")),
        "random": lambda x, i: (random.normal(random.key(0), (3,)), random.bernoulli(random.PRNGKey(1), 0.5, (3,)),
                                random.randint(random.fold_in(random.key(0), 3), (2,), 0, 5),
                                random.split(random.key(0))[0], random.gamma(random.key(0), 2.0, (2,))),
        "linear algebra": lambda x, i: (linalg.cholesky(S + 0 * x[0]), linalg.qr(x), linalg.svd(x),
                                        linalg.eigh(S + 0 * x[0]), linalg.slogdet(S + 0 * x[0]),
                                        lax.linalg.lu(x), linalg.eig(S + 0 * x[0]),
                                        scipy.solve_triangular(S + 0 * x[0], x[0], lower=True)),
        "transforms": lambda x, i: (jnp.fft.fft(x), jnp.fft.rfft(x, axis=0), jnp.fft.irfft(jnp.fft.rfft(x))),
        "special": lambda x, i: (special.gammaln(x), special.erfinv(x / 9), special.betainc(2.0, 3.0, abs(x) / 9),
                                 special.gammainc(2.0, abs(x)), special.i0e(x), special.polygamma(1, abs(x))),
        "bits": lambda x, i: (lax.bitcast_convert_type(x, jnp.int32), lax.population_count(i), i << 1, i >> 1, i & 1,
                              ~i, lax.reduce_precision(x, 5, 10), lax.nextafter(x, x + 1)),
        "shapes": lambda x, i: (lax.pad(x, 0.0, ((1, 2, 1), (0, -1, 0))), lax.rev(x, (0,)), x.T, x[::2, 1:],
                                jnp.stack([x, x]), jnp.eye(3), jnp.tril(x), x.astype(jnp.bfloat16), jnp.roll(x, 1)),
        "numbers": lambda x, i: (jnp.clip(x, -1, 1), lax.clamp(-1.0, x, 1.0), jnp.round(x), x ** 3, x % 2, jnp.sign(x),
                                 nn.softmax(x), nn.gelu(x), jnp.logaddexp(x, x), lax.complex(x, -x), jnp.all(x > 0),
                                 lax.reduce(x, 1.0, lax.mul, (0,))),
        "scan": lambda x, i: lax.scan(lambda c, r: (jnp.tanh(c + r), c * 2), x[0], x, reverse=True),
        "cond": lambda x, i: lax.cond(x[0, 0] > 0, lambda v: v * 2, lambda v: v - 1, x),
        "while": lambda x, i: jax.vmap(lambda r: lax.while_loop(lambda c: c[0] < r[0], lambda c: (c[0] + 0.1, c[1] * 2),
                                                                (0.0, r)))(x),
    }


LOOPS = ("scan", "cond", "while")
ABOUT = sorted(programs(load("pullback")))
# What no line of jax does: told in the script, which then runs both files.
UNWRITTEN = {"custom_linear_solve"}


def other(x):
    """A value that parts from x everywhere."""
    if isinstance(x, Key):
        return Key(x.words ^ 1, x.kind)
    x = np.asarray(x)
    return ~x if x.dtype == bool else (x + x.dtype.type(1)).astype(x.dtype)


@pytest.mark.parametrize("about", ABOUT)
@pytest.mark.parametrize("name", ["pullback", "jax"])
def test_each_operation_gives_under_jax_what_it_gave(name, about):
    pytest.importorskip("jax")
    engine = load(name)
    function = programs(engine)[about]
    found = trace(engine, lambda x, i: engine.module("tree_util").tree_leaves(function(x, i)), X, PLACES,
                  loops=about not in LOOPS)
    seen = set()
    for operation in found.operations:
        results = [found.values[k] for k in operation.outputs]
        for place, value in enumerate(results):
            kind = operation.name, place, *(() if "random" in operation.name else [tuple(parameters(operation.params))])
            if kind in seen or operation.name in UNWRITTEN:
                continue
            seen.add(kind)
            moved = [other(x) if k == place else x for k, x in enumerate(results)]
            operands = [found.values[k] for k in operation.inputs]
            text = script(Break("computed", operation, operation, (operands, operands), (moved, results), 1.0, 0.0,
                                (0, 0)), "title\nline", ("a.py", "b.py"), "loss")
            assert "pullback.gate" not in text and len(text.splitlines()) <= 30, (operation, text)
            names = {}
            with contextlib.redirect_stdout(io.StringIO()) as printed, np.errstate():
                exec(text, names)
            got, want = np.asarray(names["second"]), value.words if isinstance(value, Key) else np.asarray(value)
            if got.shape != want.shape:  # of an elementwise operation, one element
                want = want[distance(moved[place], value).place]
            assert got.dtype == want.dtype, text
            np.testing.assert_allclose(number(got), number(want), rtol=2e-5, atol=1e-6, err_msg=text)
            assert "they part:" in printed.getvalue(), text
    assert seen


def broken(operands, results, name="add", params=""):
    operation = Operation(name, params, None, (), list(range(len(operands))), [9])
    return Break("computed", operation, operation, (operands, operands), ([results[0]], [results[1]]), 1.0, 0.0, (0, 0))


def test_alone_in_a_process():
    """A larger array is packed, exactly; half precision and 64 bits keep their dtype."""
    pytest.importorskip("jax")
    x = np.random.default_rng(0).standard_normal((20, 10)).astype("float64")
    running = broken([x], [x.cumsum(0), x.cumsum(0)], "cumsum", "axis=0 reverse=False")
    text = script(running, "title", ("a", "b"), "loss")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "they agree:" in done.stdout, done.stdout + done.stderr
    assert "packed(" in text and "jax_enable_x64" in text


def test_what_has_no_short_form_says_so_and_runs_both_files():
    text = script(broken([X], [X, X + 1], "callback"), "title", ("a.py", "b.py"), "loss")
    assert "callback has no short form in jax alone" in text and "run('a.py')" in text
    assert len(text.splitlines()) <= 30 and compile(text, "script", "exec")


def test_parameters_with_brackets_and_blanks():
    assert parameters("dims=Dims(a=(0, 1), b=()) mode=CLIP x=(1, 2)") == {
        "dims": "Dims(a=(0, 1), b=())", "mode": "CLIP", "x": "(1, 2)"}
    assert parameters("rows") == {} and parameters("") == {}
