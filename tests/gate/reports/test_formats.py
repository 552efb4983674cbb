"""Reports as an HTML page, JUnit XML, annotations for GitHub; and where they cannot be written."""

import json
import os
import shutil
import stat
import subprocess
from argparse import ArgumentParser
from xml.etree import ElementTree

import pytest

from pullback import gate
from pullback.gate.diagnose.command import with_script
from pullback.gate.report import Recorder
from pullback.gate.reports import github, junit, output, page
from pullback.gate.reports.diagnosis import of_diagnosis
from pullback.gate.sites import Site
from tests.gate.runs import diagnosed, from_text

HERE = os.path.abspath(__file__)


@pytest.fixture
def report():
    """One of each status; texts that every format has to escape."""
    made = gate.Report("model.py:m", 3, {"engine": "pullback", "versions": {"pullback": "1"}, "devices": ["cpu: cpu"],
                                         "settings": {"x64": False}},
                       tolerances={"outputs/*": {"relative": 1e-3, "absolute": 0.0, "reason": "sums & <more>"}})
    good, bad, broken, nothing = (gate.Result(name, f"{name} is right") for name in ("flow", "keys", "data", "x"))
    Recorder(good).measure("losses", values=[3.0, 2.0, 1.5, 1.0])
    Recorder(good).measure("latency", now={"milliseconds": [1.0, 1.1, 1.2, 9.0], "median": 1.15})
    Recorder(good).note("a stop_gradient changes gradients", measured="w")
    Recorder(bad).fail("one key\x00, 2 times", measured="<b>50% & more</b>", expected="once,\nnot: twice",
                       leaf="params/w", line=Site(HERE, 20, "f"), fix="split | it")
    bad.seconds = 1.5
    broken.status, broken.reason = "error", "TypeError: odd\nTraceback"
    Recorder(nothing).skip("no <splits>")
    made.results = [good, bad, broken, nothing]
    return made


def test_junit_has_a_case_for_each_check(report):
    root = ElementTree.fromstring(junit.xml(report, "pullback verify"))
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "1.500"}
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failure = cases["keys"].find("failure")
    assert failure.get("message") == "one key?, 2 times" and "<b>50% & more</b>" in failure.text
    assert cases["keys"].get("file") == HERE and cases["keys"].get("line") == "20"
    assert cases["data"].find("error").get("message") == "TypeError: odd"
    assert cases["x"].find("skipped").get("message") == "no <splits>"
    assert "stop_gradient" in cases["flow"].find("system-out").text and cases["flow"].find("failure") is None
    properties = {entry.get("name"): entry.get("value") for entry in suite.find("properties")}
    assert properties["settings: x64"] == "False" and properties["seed"] == "3"


def test_annotations_point_into_the_repository(report, monkeypatch):
    monkeypatch.setenv("GITHUB_WORKSPACE", os.path.dirname(os.path.dirname(HERE)))
    note, failure, error = github.notes(report, "pullback verify")
    assert note == ("::notice title=pullback verify%3A flow::a stop_gradient changes gradients%0Ameasured: w")
    assert failure.startswith("::error file=reports/test_formats.py,line=20,title=pullback verify%3A keys::one key")
    assert "50%25 & more" in failure and "once,%0Anot: twice" in failure and "\n" not in failure
    assert "::error title=pullback verify%3A data::the gate broke" in error
    text = github.summary(report, "pullback verify")
    assert "| ❌ fail | keys | 1.50 s | 1 failure |" in text and "no &lt;splits>" in text and "split | it" in text


def test_the_page_needs_nothing_else_and_escapes(report):
    text = page.html(report, "pullback verify")
    assert "<b>50%" not in text and "&lt;b&gt;50% &amp; more" in text and "sums &amp; &lt;more&gt;" in text
    assert not [word for word in ("<script", "http://", "https://", "src=", "@import", "url(") if word in text]
    assert text.count("<svg") == 2 and "4 times in ms" in text and "losses: 4 values" in text


def browser():
    """Chromium; where continuous integration says that there has to be one, none is a failure."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
    if not found and os.environ.get("PULLBACK_CI"):
        pytest.fail("no chromium here, and PULLBACK_CI is set: apt-get install chromium")
    if not found:
        pytest.skip("no chromium here: apt-get install chromium")
    return found


def test_the_page_opens_in_chromium(report, tmp_path):
    found = browser()
    place = tmp_path / "report.html"
    place.write_text(page.html(report, "pullback verify"))
    done = subprocess.run([found, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync",
                           "--disable-dev-shm-usage", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
                           place.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert '<span class="failed" id="outcome">' not in done.stdout  # a broken check is worse than a failed one
    assert 'id="outcome">internal error</span>' in done.stdout and done.stdout.count("<section") == 4
    assert "one key" in done.stdout and "<rect" in done.stdout and "<polyline" in done.stdout
    assert "Content-Security-Policy" in done.stdout


def options(*arguments):
    parser = ArgumentParser()
    output.output_options(parser)
    return parser.parse_args(list(map(str, arguments)))


def test_every_format_is_written_whole(report, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    names = {name: tmp_path / f"report.{name}" for name in ("json", "html", "junit")}
    code = output.write_reports("pullback verify", report, options(
        "--json", names["json"], "--html", names["html"], "--junitxml", names["junit"], "--github"))
    assert code == report.exit_code == 3
    assert json.loads(names["json"].read_text())["outcome"] == "internal error"
    assert ElementTree.parse(names["junit"]).getroot().tag == "testsuites"
    assert names["html"].read_text().endswith("</html>\n")
    assert capsys.readouterr().out.count("::error ") == 2
    assert "### pullback verify" in (tmp_path / "summary.md").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.json", "report.junit", "summary.md"}
    assert stat.S_IMODE(names["json"].stat().st_mode) & 0o044


def test_github_actions_need_no_option(monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert options().github
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert not options().github


@pytest.mark.parametrize("place, message", [
    ("no/report.html", "No such file or directory"), ("/dev/full", "No space left"), ("folder", "Is a directory"),
    ("file/x", "Not a directory")])
def test_what_cannot_be_written_is_one_message_and_nothing_is_lost(report, tmp_path, capsys, place, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("as it was")
    code = output.write_reports("pullback verify", report, options("--html", tmp_path / place, "--json",
                                                                   tmp_path / "good.json"))
    printed = capsys.readouterr().err
    assert code == 4 and message in printed and printed.count("\n  fix: ") == 1 and printed.count("\n") == 2
    assert (tmp_path / "file").read_text() == "as it was" and (tmp_path / "good.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "good.json"]


def test_an_interrupted_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("as it was")

    def full(handle):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(gate.UsageError, match="No space left on device"):
        output.write_file(path, "new")
    assert path.read_text() == "as it was" and [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_a_diagnosis_as_a_report(tmp_path):
    """Of two runs that part: the stage that does fails, with the line of the operation."""
    text = "import numpy as np\nfrom pullback import gate\ndef build(jax):\n    def loss(w, x):\n" \
        "        return jax.numpy.FUNCTION(x @ w).sum()\n" \
        "    return gate.Model(loss, np.ones(2, 'float32'), {'x': np.ones((3, 2), 'float32')})\n"
    builds = [from_text(text.replace("FUNCTION", name), tmp_path, f"{name}_model") for name in ("tanh", "sin")]
    found = of_diagnosis(with_script(diagnosed(*builds), ("a.py", "b.py")), 7)
    (failed,) = [result for result in found.results if result.status == "fail"]
    assert found.outcome == "failed" and failed.check == "loss" and found.seed == 7
    assert failed.failures[0].line.line == 5 and "sin" in failed.failures[0].fix
    assert ("first: engine", "pullback") in found.facts()
    assert "file=" in "".join(github.notes(found, "pullback diagnose"))
    assert ElementTree.fromstring(junit.xml(found, "pullback diagnose")).get("failures") == "1"
