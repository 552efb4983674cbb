"""A record against now: the operation that parts, by a few numbers of each value that was kept."""

import json

import numpy as np
import pytest

from pullback.gate.compare import compare
from pullback.gate.diagnose import diagnose, report
from pullback.gate.diagnose.recorded import RecordedSide
from pullback.gate.diagnose.side import LocalSide
from pullback.gate.errors import UsageError
from pullback.gate.operations import Operation, Trace
from pullback.gate.report import plain
from pullback.gate.store.files import Store
from pullback.gate.store.recording import record
from pullback.gate.summary import FEWEST, dumped, loaded, sketch
from tests.gate.runs import from_text, sessions

MODEL = """
import numpy as np
from pullback import gate

X = np.random.default_rng(0).standard_normal((8, 40)).astype("float32")
W = np.random.default_rng(1).standard_normal((40, 40)).astype("float32")

def build(jax):
    jnp = jax.numpy

    def loss(w, x):
        y = jax.nn.sigmoid(x @ w)
        for _ in range(3):
            y = 2.5 * y * (1 - y)
        z = y * 1.0
        return jnp.mean(jnp.sin(z) @ w)

    def update(w, x):
        return w - 0.1 * jax.grad(loss)(w, x)

    return gate.Model(loss, W / 10, {"x": X}, update=update)
"""


def against_now(folder, *changes, keep_data=True):
    """The diagnosis of the model's record and the model with (old, new) pieces of its text."""
    store, text = Store(folder / "store"), MODEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with sessions(from_text(MODEL, folder)) as (session,):
        record(session, store, "model", keep_data=keep_data)
    with sessions(from_text(text, folder)) as (session,):
        return diagnose(RecordedSide(store.read(), "then", session.batch.leaves), LocalSide(session, "now"))


def second(folder):
    (folder / "second").mkdir()
    return folder / "second"


@pytest.mark.parametrize("new, operation", [
    ("z = y * 1.001", "mul"),  # another number
    ("z = y[:, ::-1] * 1.0", "rev"),  # the same values in another order
    ("z = y.at[3, 5].add(0.05) * 1.0", "scatter_add"),  # one of them
    ("z = jnp.roll(y, 1, axis=1) * 1.0", "concatenate"),
])
def test_the_operation_that_parts(new, operation, tmp_path):
    found = against_now(tmp_path, ("z = y * 1.0", new))
    broken = found.parting.found
    assert found.stage.name == "loss" and broken is not None, report.text(found)
    assert broken.operation.name == operation or new in broken.operation.source, report.text(found)
    assert new in broken.operation.source
    json.dumps(plain(report.data(found)), allow_nan=False)


def test_rounding_before_the_break_is_none(tmp_path):
    """An expression written in another way, whose rounding grows through a loop; then a change."""
    again = ("y = 2.5 * y * (1 - y)", "y = 2.5 * (y - y * y)")
    assert against_now(tmp_path, again).stage is None
    found = against_now(second(tmp_path), again, ("jnp.sin(z)", "jnp.sinh(z)"))
    assert found.parting.found.operation.name == "sinh", report.text(found)


def test_of_an_update(tmp_path):
    found = against_now(tmp_path, ("w - 0.1 * jax", "w - 0.11 * jax"))
    assert found.stage.name == "update" and found.parting.found.operation.name == "mul"
    assert "0.11" in found.parting.found.operation.source


NOISY = """
import numpy as np
from pullback import gate

def build(jax):
    def loss(w, x):
        return jax.numpy.mean((x @ w) ** 2)

    def update(w, x, key):
        key, other = jax.random.split(key)
        return w - 0.1 * (jax.grad(loss)(w, x) + jax.random.normal(key, w.shape))

    return gate.Model(loss, np.ones(3, "float32"), {"x": np.eye(4, 3, dtype="float32")}, update=update)
"""


@pytest.mark.parametrize("engine", ["pullback", "jax"])
def test_an_update_with_a_key(engine, tmp_path):
    """The update draws with the key of the record; with another half of it, it is another update."""
    store = Store(tmp_path / "store")
    with sessions(from_text(NOISY, tmp_path), engine=engine) as (session,):
        record(session, store, "model")
        session.key = session.other_key  # the record has its own
        report = compare(session, store.read())
        assert report.exit_code == 0, report.text()
        assert diagnose(RecordedSide(store.read(), "then"), LocalSide(session, "now")).stage is None
        session.key = session.other_key
        found = diagnose(RecordedSide(store.read(), "then"), LocalSide(session, "now"))
        assert found.stage.name == "keys" and found.stage.text == "the key of the run is another one"
    text = NOISY.replace("normal(key, w", "normal(other, w")
    with sessions(from_text(text, tmp_path), engine=engine) as (session,):
        report = compare(session, store.read())
        assert report.exit_code == 1 and {failure.leaf for r in report.results for failure in r.failures} == {"updated"}
        found = diagnose(RecordedSide(store.read(), "then"), LocalSide(session, "now"))
    assert found.stage.name == "update" and found.parting.found.operation.name.startswith("random_")
    assert "random" in found.parting.found.operation.source


def test_without_the_data(tmp_path):
    """The file's batch stands in for the recorded one if it has its digests; small arrays are digests too."""
    found = against_now(tmp_path, ("jnp.sin(z)", "jnp.cos(z)"), keep_data=False)
    assert found.parting.found.operation.name == "cos", report.text(found)
    with pytest.raises(UsageError, match="the file's batch has others"):
        against_now(second(tmp_path), ("default_rng(0)", "default_rng(5)"), keep_data=False)


def test_a_sketch_tells_what_matters_and_not_the_values():
    x = np.random.default_rng(0).standard_normal(1000).astype("float32")

    def apart(y):
        a, b = sketch(x), sketch(y)
        return bool(np.any(np.abs(a - b) > 32 * np.finfo("float32").eps * np.maximum(np.abs(a), np.abs(b))))

    one = x.copy()
    one[17] *= 1.01
    hidden = x.copy()
    hidden[3] = np.nan
    assert apart(x[::-1]) and apart(one) and apart(hidden) and apart(-x) and apart(np.roll(x, 8))
    assert not apart(x * np.float32(1 + 2e-7)) and not apart(x + np.float32(1e-7) * x[::-1])
    small = np.arange(FEWEST - 1, dtype="float32")
    assert sketch(small, kept=False).dtype.kind == "i" and sketch(small).dtype == "float32"
    assert len(sketch(x, kept=False)) == 11


def test_operations_as_text_are_short_and_the_same_again():
    values = [np.random.default_rng(i).standard_normal((20, 10)).astype(kind) for i, kind in
              enumerate(["float32", "float64", "complex64", "float16"])] + [np.arange(3), 2.0, np.zeros(0, "float32")]
    operations = [Operation("add", "axis=1", None, ("scan[2]",), [0], [i], "x + y") for i in range(1, 7)]
    trace = Trace(operations, values, [0], [6], [])
    text = dumped(trace)
    again, kept = loaded(text)
    assert kept and again.operations[2].params == "axis=1" and again.operations[2].source == "x + y"
    for x, y in zip(values, again.values):
        np.testing.assert_array_equal(sketch(x), y)
        assert sketch(x).dtype == y.dtype
    assert again.types == [trace.type_of(i) for i in range(7)]
    assert len(dumped(Trace(operations * 100, values, [0], [6], []))) < 100 * 600 + 2000
    with pytest.raises(UsageError, match="earlier version"):
        loaded(json.dumps({"inputs": [], "outputs": [], "values": 0}) + "\n[]")
