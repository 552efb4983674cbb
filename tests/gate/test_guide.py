"""docs/gate.md: its examples do what it says, and it describes every check and option."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pullback.gate import cli
from pullback.gate.bench.command import bench_parser
from pullback.gate.checks import CHECKS
from pullback.gate.commands import compare_parser, record_parser
from pullback.gate.diagnose.command import diagnose_parser
from pullback.gate.draft.command import init_parser
from pullback.gate.model import GENERATED, Model
from pullback.gate.serve.command import promote_parser, rollback_parser, serve_parser

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "gate.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def run(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_the_first_five_minutes(tmp_path):
    (_, script), (_, printed), (_, guarded) = BLOCKS[:3]
    path = tmp_path / "line.py"
    path.write_text(script)
    done = run("-m", "pullback", "verify", "-q", path)
    assert done.returncode == 1 and printed in done.stdout, done.stdout + done.stderr
    assert "failed: 7 passed, 1 failed, 4 skipped" in done.stdout
    path.write_text(script[:script.index("model = ")] + guarded)
    done = run("-m", "pullback", "verify", "-q", path)
    assert done.returncode == 0 and "FAIL" not in done.stdout, done.stdout + done.stderr


def test_the_example_in_python():
    (_, script), (_, printed) = BLOCKS[3:5]
    done = run("-c", script)
    assert done.stdout == printed, done.stderr


def test_every_check_is_described():
    rows = dict(re.findall(r"^\| \[(\w+)\]\(gate/\1\.md\) \| (.*?) \|", TEXT, re.MULTILINE))
    assert rows == {check.name: check.description for check in CHECKS}
    for check in CHECKS:
        page = (ROOT / "docs" / "gate" / f"{check.name}.md").read_text()
        assert f"# {check.name}\n\n*{check.description}.*\n" in page
        assert f"\nFAIL {check.name}: " in page


def test_every_field_option_and_kind_is_named():
    prose = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([^`]+)`", prose.replace("\n", " ")))
    assert set(GENERATED) <= named
    fields = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE))))
    assert {field for field in Model.__dataclass_fields__ if field != "name"} <= fields
    options = {option for action in cli._parser()._actions for option in action.option_strings if option[:2] == "--"}
    assert {option for option in options if option != "--help"} <= {name.split()[0] for name in named}


def test_every_option_of_record_compare_and_diagnose_is_named():
    pages = [TEXT, *((ROOT / "docs" / "gate" / f"{name}.md").read_text() for name in ("record", "diagnose"))]
    prose = re.sub(r"^```.*?^```", "", "\n".join(pages), flags=re.MULTILINE | re.DOTALL)
    named = {word for name in re.findall(r"`([^`]+)`", prose.replace("\n", " ")) for word in name.split()[:1]}
    for parser in (record_parser(), compare_parser(), diagnose_parser()):
        options = {option for action in parser._actions for option in action.option_strings if option[:2] == "--"}
        assert options - {"--help"} <= named, (parser.prog, options - named)


@pytest.mark.parametrize("page, parsers", [
    ("init", [init_parser]), ("bench", [bench_parser]),
    ("production", [promote_parser, rollback_parser, serve_parser])])
def test_every_option_of_the_other_commands_is_named(page, parsers):
    text = (ROOT / "docs" / "gate" / f"{page}.md").read_text()
    named = {word for name in re.findall(r"`([^`]+)`", text.replace("\n", " ")) for word in name.split()}
    for parser in parsers:
        options = {option for action in parser()._actions for option in action.option_strings if option[:2] == "--"}
        assert options - {"--help"} <= named, (page, options - named)


def test_the_example_of_a_diagnosis(tmp_path):
    script = BLOCKS[0][1]
    (tmp_path / "line.py").write_text(script)
    (tmp_path / "other.py").write_text(script.replace("jnp.tanh", "jnp.sin"))
    page = (ROOT / "docs" / "gate" / "diagnose.md").read_text()
    (printed,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    done = run("-m", "pullback", "diagnose", "-q", tmp_path / "line.py", tmp_path / "other.py")
    assert done.returncode == 1, done.stderr
    assert all(line in done.stdout for line in printed.splitlines()), done.stdout
