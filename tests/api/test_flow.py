"""gradient_flow: the status, the path and the causes of planted parameters, through every kind of program."""

import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax, nn

R = np.random.default_rng(0)


def normal(*shape):
    return R.normal(size=shape).astype(np.float32)


@pullback.jit
def layer(w, x):
    return nn.relu(x @ w)  # the layer


@pullback.custom_jvp
def tripled(x):
    return 3 * x


tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3 * tangents[0]))


@pullback.custom_vjp
def cut(x):
    return 2 * x


cut.defvjp(lambda x: (2 * x, None), lambda _, ct: (0 * ct,))


def loss(p, x):
    def step(carry, row):
        return jnp.tanh(carry @ p["recurrent"] + row), carry  # the step

    h = layer(p["w"], x)
    carry, rows = lax.scan(step, jnp.zeros(4), h)
    y = carry * lax.stop_gradient(p["stopped"])  # the stop
    y = y + jnp.round(p["rounded"])  # the rounding
    y = y + nn.relu(x @ p["dead"] - 100.0)[0]  # the dead units
    y = y + jnp.tanh(p["saturated"])  # the saturated units
    chosen = lax.cond(p["compared"] > 0, lambda: jnp.sum(y), lambda: 1.0)  # the comparison
    if p["branch"] > 0:  # the branch
        chosen = chosen + 1
    looped = lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * p["loop"]), (0, 1.0))[1]  # the loop
    chosen = chosen + p["n"]  # the count
    return (jnp.mean(rows) + chosen + looped + h[0, jnp.argmax(p["largest"])]  # the position
            + jnp.sum(pullback.vmap(lambda e: e * e)(p["mapped"]))  # the map
            + pullback.checkpoint(jnp.sin)(p["again"]) + tripled(p["ruled"]) + cut(p["cut"])  # the rules
            + p["zero"] * p["twin"] + p["cast"].astype(int))  # the factors


PARAMS = {
    "w": normal(3, 4), "recurrent": normal(4, 4), "stopped": normal(4), "rounded": normal(4), "dead": normal(3, 4),
    "saturated": np.float32([50, -50, 60, 70]), "compared": np.float32(1), "branch": np.float32(1),
    "loop": np.float32(0.5), "largest": normal(4), "mapped": normal(3), "again": np.float32(1),
    "ruled": np.float32(1), "cut": np.float32(1), "zero": np.float32(0), "twin": np.float32(0), "cast": np.float32(2.5),
    "n": 3, "unused": normal(2)}
EXPECTED = {  # status; operation and line of a cause, or an operation and a line of the path
    "w": ("reaches", "dot_general", "# the layer"),
    "recurrent": ("reaches", "tanh", "# the step"),
    "stopped": ("stopped", "stop_gradient", "# the stop"),
    "rounded": ("flat", "round", "# the rounding"),
    "dead": ("zero", "select_n", "# the dead units"),
    "saturated": ("zero", "tanh", "# the saturated units"),
    "compared": ("flat", "gt", "# the comparison"),
    "branch": ("flat", "gt", "# the branch"),
    "loop": ("reaches", "mul", "# the loop"),
    "largest": ("flat", "argmax", "# the position"),
    "mapped": ("reaches", "mul", "# the map"),
    "again": ("reaches", "sin", "# the rules"),
    "ruled": ("reaches", "custom_jvp", "# the rules"),
    "cut": ("zero", "custom_vjp", "# the rules"),
    "zero": ("zero", "mul", "# the factors"),
    "twin": ("zero", "mul", "# the factors"),
    "cast": ("flat", "convert_element_type", "# the factors"),
    "n": ("flat", "convert_element_type", "# the count"),
    "unused": ("unused", None, None),
}
_reports = {}


def report(jitted):
    if jitted not in _reports:
        params = {k: v if k == "n" else jnp.asarray(v) for k, v in PARAMS.items()}
        x = normal(5, 3) + 1
        if jitted:  # a Python branch needs a number
            _reports[jitted] = pullback.gradient_flow(
                pullback.jit(lambda p, x: loss({**p, "branch": 1.0}, x)))(params, x)
        else:
            _reports[jitted] = pullback.gradient_flow(loss)(params, x)
    return _reports[jitted]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", EXPECTED)
def test_planted(name, jitted):
    if jitted and name == "branch":
        assert report(jitted)["p['branch']"].status == "unused"
        return
    status, operation, line = EXPECTED[name]
    leaf = report(jitted)[f"p['{name}']"]
    assert leaf.status == status, report(jitted)
    steps = leaf.path if status == "reaches" else leaf.causes
    found = [(step.operation, step.source.text) for step in steps]
    assert operation is None and not found or any(
        operation == name and text.endswith(line) for name, text in found), found
    assert (leaf.largest > 0) == (status == "reaches")


def test_the_report_is_for_reading():
    text = str(report(False))
    assert text.startswith("gradient flow of loss: 6 of 19 leaves get a gradient")
    assert "p['unused']: f32[2]  unused" in text
    assert "-> tanh at test_flow.py" in text and "(saturated" in text
    assert {leaf.name for leaf in report(False).without()} == {
        f"p['{name}']" for name, (status, *_) in EXPECTED.items() if status != "reaches"}


def test_the_statuses_agree_with_the_gradient():
    params = {k: jnp.asarray(v) for k, v in PARAMS.items() if k != "n"}
    gradient = pullback.grad(lambda p, x: loss({**p, "n": 3}, x))(params, normal(5, 3) + 1)
    for name, g in gradient.items():
        assert bool(np.any(np.asarray(g) != 0)) == (EXPECTED[name][0] == "reaches"), name


def test_several_arguments_and_aux():
    def f(a, x, b):
        return jnp.sum(a * x) + lax.floor(b[0]), {"x": x}
    found = pullback.gradient_flow(f, (2, 0), has_aux=True)(jnp.ones(2), 2.0, [jnp.float32(1)])
    assert [(leaf.name, leaf.status) for leaf in found.leaves] == [("b[0]", "flat"), ("a", "reaches")]


def test_a_gradient_inside_the_loss():
    def f(w):
        inner = pullback.grad(lambda x: jnp.sum(w * x ** 3))(jnp.float32(2.0))  # the inner gradient
        return inner + pullback.grad(lambda x: x + w)(1.0)
    leaf = pullback.gradient_flow(f)(jnp.float32(1.0))["w"]
    assert leaf.status == "reaches" and any("# the inner gradient" in step.source.text for step in leaf.path)


def test_a_loss_that_depends_on_nothing_or_is_no_scalar():
    assert pullback.gradient_flow(lambda w: 1.0)(jnp.ones(2))["w"].status == "unused"
    with pytest.raises(TypeError, match="scalar"):
        pullback.gradient_flow(lambda w: w)(jnp.ones(2))
    with pytest.raises(KeyError, match="there are w"):
        pullback.gradient_flow(lambda w: 1.0)(jnp.ones(2))["v"]
