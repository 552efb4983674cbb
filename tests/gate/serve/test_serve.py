"""The guard in production: what it lets in, what it counts, the shadow of a candidate, the way back."""

import importlib.util
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from pullback import gate
from pullback.gate.checks import CHECKS
from pullback.gate.commands import opened
from pullback.gate.engine import load
from pullback.gate.report import Result
from pullback.gate.serve import command, requests
from pullback.gate.serve.app import application
from pullback.gate.serve.guard import Guard
from pullback.gate.serve.limits import Limits, Seen, Window
from pullback.gate.serve.versions import Versions
from pullback.gate.subject import code_digest, params_digest

pytest.importorskip("jax")
ROOT = Path(__file__).resolve().parent.parent.parent.parent
spec = importlib.util.spec_from_file_location("asgi", Path(__file__).with_name("asgi.py"))
asgi = importlib.util.module_from_spec(spec)
spec.loader.exec_module(asgi)
ask = asgi.ask

MODEL = """
import jax.numpy as jnp
import numpy as np
import weights
from pullback import gate

def forward(params, x, kind):
    return FORWARD

def loss(params, x, kind, y):
    return jnp.mean((forward(params, x, kind) - y) ** 2)

contract = gate.Contract(batch={"x": "f32[n, 3] in [-10, 10]", "kind": "i32[n] in [0, 4]", "y": "f32[n]"})
batch = {"x": np.ones((4, 3), "float32"), "kind": np.arange(4, dtype="int32"), "y": np.zeros(4, "float32")}
model = gate.Model(contract.guard(loss), weights.PARAMS, batch, forward=forward, contract=contract)
"""
GOOD = "jnp.log(params['w'] @ x.T + params['b'][kind] + 50)"


def write(folder, forward=GOOD, w=0.5):
    folder.mkdir(exist_ok=True)
    (folder / "weights.py").write_text(f"import numpy as np\nPARAMS = {{'w': np.full(3, {w}, 'float32'), "
                                       "'b': np.arange(5, dtype='float32')}\n")
    (folder / "model.py").write_text(MODEL.replace("FORWARD", forward))
    sys.modules.pop("weights", None)
    return str(folder / "model.py")


def report(session, path, **changes):
    """A report of verify that holds, or does not because of the changes."""
    made = gate.Report("model", 0, {"engine": "jax", "subject": {"code": code_digest(path),
                                                                 "params": params_digest(session.params)}},
                       [Result(check.name, "") for check in CHECKS])
    return {**made.data(), **changes}


def add(versions, path, **rest):
    with opened(path, None, "jax", "", 0) as session:
        return versions.add(session, path, [report(session, path)], "a test", **rest)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    assert add(Versions(str(folder / "versions")), write(folder / "code")) == 1
    return folder / "versions"


@pytest.fixture
def versions(first, tmp_path):
    return Versions(shutil.copytree(first, tmp_path / "versions"))


@pytest.fixture
def served(versions):
    guards = []

    def made(**limits):
        guards.append(Guard(versions, load("jax"), Limits(**{"objects": 2, "least": 3, "window": 5, **limits})))
        return guards[-1], application(guards[-1])
    yield made
    for guard in guards:
        guard.close()


def inputs(n=1, x=1.0, kind=1):
    return {"inputs": {"x": [[x] * 3] * n, "kind": [kind] * n}}


def metric(app, name):
    text = ask(app, "/metrics")[1]
    return {labels: float(value) for labels, value in re.findall(rf"^pullback_{name}(\{{.*\}})? (.*)$", text, re.M)}


def test_answers_refusals_and_what_is_kept_of_them(versions, served, caplog):
    caplog.set_level(logging.DEBUG, "pullback.serve")
    guard, app = served(bytes=400)
    assert ask(app, "/health/live") == (200, {"alive": True})
    assert ask(app, "/health/ready") == (200, {"ready": True, "version": 1})
    status, said = ask(app, "/model")
    assert said["inputs"] == {"inputs/kind": ["int32[n]"], "inputs/x": ["float32[n, 3]"]} and said["objects"] == 2
    compiled = metric(app, "compilations")
    for n in (1, 2, 1):
        status, answer = ask(app, "/predict", inputs(n, 2.0, 3))
        assert status == 200 and answer["version"] == 1
        np.testing.assert_allclose(answer["outputs"], np.log([56.0] * n), rtol=1e-6)
    bad = [(inputs(3), 413, "too many objects", "3 objects; at most 2"), (inputs(0), 422, "shape", "float32[n, 3]"),
           (inputs(1, 12345.5), 422, "range", "in [-10, 10]"), (inputs(1, 1.0, 7), 422, "range", "inputs/kind"),
           (inputs(1, 1.0, 1.5), 422, "dtype", "a number that is not whole; whole numbers are required"),
           (inputs(1, "secret"), 422, "dtype", "contains a string; numbers"),
           (inputs(1, True), 422, "dtype", "true or"), (inputs(1, None), 422, "dtype", "contains null"),
           (inputs(1, 1e60), 422, "not finite", "too large for float32"),
           (inputs(1, 1.0, 2**40), 422, "range", "that int32 does not have"),
           (inputs(1, float("nan")), 422, "not finite", "the body has NaN"),
           ({"inputs": {"x": [[1, 2], [3]], "kind": [1]}}, 422, "shape", "nested unevenly"),
           ({"inputs": {"x": [[1, 2, 3, 4]], "kind": [1]}}, 422, "shape", "has the shape [1, 4]; float32[n, 3]"),
           ({"inputs": {"x": [1, 2, 3], "kind": [1]}}, 422, "shape", "inputs/x has the shape [3]"),
           ({"inputs": {"x": [[1, 2, 3]], "kind": [1, 2]}}, 422, "shape", "different numbers of objects: [1, 2]"),
           ({"inputs": {"x": [[1, 2, 3]]}}, 422, "structure", "lacks the entry 'kind'"),
           ({"inputs": {**inputs()["inputs"], "secret": 1}}, 422, "structure", "only ['kind', 'x'] are allowed"),
           ({"inputs": [1]}, 422, "structure", "an object with the entries"), ({"x": 1}, 400, "form", "nothing else")]
    for given, status, kind, message in bad:
        got, answer = ask(app, "/predict", given)
        assert (got, answer["error"]["kind"]) == (status, kind), (given, answer)
        assert message in answer["error"]["message"], (given, answer)
    assert ask(app, "/predict", body=b'{"inputs": secret')[1]["error"]["message"] == (
        "the body is no JSON at line 1, column 12")
    assert ask(app, "/predict", body=b"[" * 390)[0] == 400
    assert ask(app, "/predict", body=b" " * 401)[0] == 413 and ask(app, "/predict", {}, kind="text/plain")[0] == 415
    assert metric(app, "refused_total")['{kind="dtype"}'] == 4
    assert sum(metric(app, "refused_total").values()) == len(bad) + 4
    assert metric(app, "compilations") == compiled  # no request compiles
    assert metric(app, "request_seconds_count") == {'{version="1"}': 3} == {
        key: value - 1 for key, value in metric(app, "objects_total").items()}
    assert not re.search("secret|12345|1e60", caplog.text + ask(app, "/metrics")[1])
    assert caplog.text.count("refused: ") == len(bad) + 4 and "answered: version 1, 2 objects" in caplog.text


def test_too_many_at_one_time_are_sent_away(versions, served):
    guard, app = served(waiting=1)
    answer = guard.answer
    seen = []
    guard.answer = lambda body: (seen.append(ask(app, "/predict", inputs())), answer(body))[1]
    assert ask(app, "/predict", inputs())[0] == 200
    assert seen[0][0] == 503 and seen[0][1]["error"]["kind"] == "busy"


def test_a_candidate_in_the_shadow_is_compared_and_withdrawn(versions, served, tmp_path, caplog):
    assert add(versions, write(tmp_path / "code", w=0.50000001), candidate=True) == 2
    guard, app = served()
    for _ in range(4):
        assert ask(app, "/predict", inputs())[1]["version"] == 1
    assert metric(app, "shadow_total") == {'{verdict="equal",version="2"}': 4}
    assert versions.state().candidate == 2
    assert metric(app, "version") == {'{role="current"}': 1, '{role="candidate"}': 2}
    add(versions, write(tmp_path / "code", w=0.7), candidate=True)  # in its place; another result
    guard.refresh()
    assert [ask(app, "/predict", inputs())[1]["version"] for _ in range(3)] == [1, 1, 1]
    assert metric(app, "shadow_total")['{verdict="beyond",version="3"}'] == 3
    assert versions.state().candidate is None and metric(app, "version")['{role="candidate"}'] == 0
    assert versions.store.manifest(4)["reason"].startswith("automatic: 1 of 3 results differ from those of the version")
    assert metric(app, "rollbacks_total") == {'{role="candidate",version="3"}': 1}
    assert ask(app, "/predict", inputs())[0] == 200 and sum(metric(app, "shadow_total").values()) == 7


def test_a_version_that_breaks_its_limits_makes_room(versions, served, tmp_path, monkeypatch, caplog):
    assert add(versions, write(tmp_path / "code", "jnp.log(params['w'] @ x.T + params['b'][kind] - 3)")) == 2
    guard, app = served(broken=0.4)
    assert ask(app, "/predict", inputs(1, 2.0, 4))[1]["version"] == 2
    for _ in range(2):  # the logarithm of a negative number
        status, answer = ask(app, "/predict", inputs(1, 0.0, 0))
        assert status == 500 and answer["error"]["message"] == "the model has no finite result for these inputs"
    assert metric(app, "not_finite_total") == {'{role="current",version="2"}': 2}
    assert ask(app, "/predict", inputs(1, 0.0, 0))[1]["version"] == 1 and versions.state().served == [1]
    assert versions.store.manifest(3)["event"] == "rollback" and versions.store.manifest(3)["from"] == 2
    assert "version 2 (current) is taken out: 0.667 of 3 requests ended in an error" in caplog.text
    # It has nothing to go back to from here, and goes on; and where nothing can be written it goes back all the same.
    for _ in range(4):
        guard._judge(1, Seen(0.1, broken=True))
    assert guard.current.number == 1 and "there is none to go back to" in caplog.text
    assert add(versions, write(tmp_path / "code", w=0.6)) == 4
    guard.refresh()
    assert ask(app, "/predict", inputs())[1]["version"] == 4

    def full(*args, **rest):
        raise gate.UsageError("the store cannot be written: No space left on device", "make room")
    monkeypatch.setattr(versions.store, "append", full)
    for _ in range(4):
        guard._judge(4, Seen(0.1, broken=True))
    guard.refresh()  # what the store still says changes nothing
    assert ask(app, "/predict", inputs())[1]["version"] == 1 and "could not be written down" in caplog.text


def test_a_version_that_raises_or_cannot_be_loaded(versions, served, tmp_path, caplog):
    guard, app = served()
    guard.current.predict = lambda *args: {}["a value of the request"]
    assert ask(app, "/predict", inputs())[1]["error"]["message"] == "the model raised an error"
    assert "raised KeyError" in caplog.text and "a value of the request" not in caplog.text
    number = add(versions, write(tmp_path / "code"))
    for file in Path(versions.folder).glob(f"{number:04}-*.safetensors"):
        file.write_bytes(b"damaged")
    guard.refresh()
    assert guard.current.number == 1
    assert ask(app, "/health/ready") == (200, {"ready": True, "version": 1})
    assert "the versions cannot be taken in, the loaded ones stay: the store" in caplog.text


def test_a_candidate_that_does_not_load_keeps_nobody_from_serving(versions, served, tmp_path, caplog):
    add(versions, write(tmp_path / "code"), candidate=True)
    manifest = versions.store.manifest

    def broken(number):
        found = manifest(number)
        return found if number == 1 else {**found, "engine": "other"}
    versions.store.manifest = broken
    guard, app = served()
    assert ask(app, "/predict", inputs())[1]["version"] == 1 and guard.candidate is None
    assert "version 2 is not used: version 2 was checked under the engine other, not jax" in caplog.text


def test_trees_of_a_request():
    like = {"x": [np.ones(2, "float32"), None], "t": (np.ones(1, bool), np.int32(3))}
    found = requests.checked({"x": [[1, 2], None], "t": [[True], 3]}, like)
    assert found["x"][1] is None and isinstance(found["t"], tuple) and found["t"][1] == 3
    assert found["x"][0].dtype == np.float32 and found["x"][0].tolist() == [1, 2]
    pair = namedtuple("Pair", "a b")(1, 2)
    assert requests.plain_leaves({"x": [1, None], "p": pair}) == [1, pair]
    for given, message in (({"x": [[1, 2]], "t": [[True], 3]}, "inputs/x is an array of 1; an array of 2 parts"),
                           ({"x": [[1, 2], 5], "t": [[True], 3]}, "inputs/x/1 is a number; null is required"),
                           ({"x": [[1, 2], None], "t": [[1], 3]}, "inputs/t/0 contains a number; true or false")):
        with pytest.raises(requests.RefusedRequest, match=message):
            requests.checked(given, like)


def test_the_window_judges_by_shares_and_latency():
    window = Window(Limits(least=2, window=4, differing=0.5, milliseconds=10))
    assert [window.add(Seen(0.001, differs=bool(i % 2))) for i in range(4)] == [""] * 4
    assert window.add(Seen(0.02)).startswith("99 % of 4 requests took up to")
    for wrong in ({"objects": 0}, {"broken": 1.5}, {"least": 9, "window": 8}):
        with pytest.raises(gate.UsageError, match="limit|window"):
            Limits(**wrong)


def test_only_reports_that_hold_let_a_version_in(versions, tmp_path):
    path = write(tmp_path / "code", w=0.9)
    with opened(path, None, "jax", "", 0) as session:
        good = report(session, path)
        rows, environment = good["results"], good["environment"]
        subject = {**environment["subject"], "params": "x"}
        cases = [([], "there is no report of verify"), ([{"schema": "x"}], "has the schema 'x'"),
                 ([{**good, "outcome": "failed", "results": [{**rows[0], "status": "fail"}, *rows[1:]]}],
                  r"does not hold: failed \(contract\)"),
                 ([{**good, "results": rows[1:]}], "is of a part: contract did not run"),
                 ([{**good, "environment": {"engine": "jax", "subject": subject}}],
                  "is of other params than the file has now"),
                 ([{**good, "environment": {**environment, "engine": "pullback"}}], "of the engine pullback, not"),
                 ([good, {**good, "environment": {**environment, "recorded": {}}}], "compare is of a part: key")]
        for reports, message in cases:
            with pytest.raises(gate.UsageError, match=message):
                versions.add(session, path, reports, "why")
        with pytest.raises(gate.UsageError, match="needs a reason"):
            versions.add(session, path, [good], " ")
        with pytest.raises(gate.UsageError, match="no promoted version that a candidate"):
            Versions(str(tmp_path / "empty")).add(session, path, [good], "why", candidate=True)
    assert versions.count() == 1


def test_the_way_back_and_forth(versions, tmp_path, capsys):
    code = write(tmp_path / "code", w=0.8)
    assert add(versions, code) == 2
    assert add(versions, code, candidate=True, include=[str(tmp_path / "code" / "weights.py")]) == 3
    folder = ["--versions", versions.folder, "--reason", "a test"]
    assert command.promote_main(folder) == 0 and "promoted: version 3" in capsys.readouterr().out
    assert versions.state().served == [1, 2, 3] and versions.state().candidate is None
    assert command.rollback_main([*folder, "--to", "1"]) == 0 and versions.state().served == [1]
    for main, rest, message in ((command.rollback_main, folder, "no other version served before"),
                                (command.rollback_main, [*folder, "--candidate"], "has no candidate"),
                                (command.promote_main, folder, "has no candidate"),
                                (command.promote_main, [*folder, "--candidate"], "there is no file to check"),
                                (command.promote_main, [*folder, "x.py", "--verify", "/nowhere"], "cannot be read"),
                                (command.promote_main, [*folder, "x.py", "--verify", code], "is no JSON"),
                                (command.serve_main, ["--versions", str(tmp_path / "none"), "--engine", "jax"],
                                 "no version is promoted in"),
                                (command.serve_main, ["--versions", versions.folder, "--objects", "0"], "is 0")):
        assert main(rest) == 4, message
        printed = capsys.readouterr().err
        assert message in printed and "\n  fix: " in printed and "Traceback" not in printed
    manifest = Path(versions.folder) / "0002.json"
    manifest.write_text(manifest.read_text().replace("a test", "a lie!"))
    assert command.rollback_main([*folder, "--to", "1"]) == 4 and "has been edited" in capsys.readouterr().err


def test_from_verify_to_a_request(tmp_path):
    """The commands themselves, under pullback: promote runs verify, serve answers over a socket, Ctrl-C ends it."""
    path, store = write(tmp_path / "code"), str(tmp_path / "versions")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}

    def pullback(*arguments):
        return [sys.executable, "-m", "pullback", *arguments]
    done = subprocess.run(pullback("promote", path, "--versions", store, "--reason", "first"), env=env, timeout=300,
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == f"promoted: version 1 in {store}\n", done.stderr
    (tmp_path / "code" / "weights.py").write_text("the version has its own")
    server = subprocess.Popen(pullback("serve", "--versions", store, "--port", "0", "--objects", "2"), env=env,
                              stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in server.stderr:
            lines.append(line)
            if "running on" in line:
                break
        found = re.search(r"http://127\.0\.0\.1:\d+", lines[-1])
        assert found, "".join(lines)
        request = urllib.request.Request(f"{found[0]}/predict", json.dumps(inputs(1, 2.0, 3)).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            np.testing.assert_allclose(json.load(response)["outputs"], [np.log(56.0)], rtol=1e-6)
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0 and "Traceback" not in server.stderr.read()
    finally:
        server.kill()
        server.stderr.close()
