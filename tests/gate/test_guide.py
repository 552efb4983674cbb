"""docs/gate.md: its examples do what it says, and it describes every check and option."""

import os
import re
import subprocess
import sys
from pathlib import Path

from pullback.gate import cli
from pullback.gate.checks import CHECKS
from pullback.gate.model import GENERATED, Model

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
    assert "failed: 6 passed, 1 failed, 2 skipped" in done.stdout
    path.write_text(script[:script.index("model = ")] + guarded)
    done = run("-m", "pullback", "verify", "-q", path)
    assert done.returncode == 0 and "FAIL" not in done.stdout, done.stdout + done.stderr


def test_the_example_in_python():
    (_, script), (_, printed) = BLOCKS[3:5]
    done = run("-c", script)
    assert done.stdout == printed, done.stderr


def test_every_check_is_described():
    chapter = TEXT[TEXT.index("## The checks"):TEXT.index("## What a passed gate")]
    sections = dict(re.findall(r"^### (\w+)\n\n\*(.*?)\.\*", chapter, re.MULTILINE | re.DOTALL))
    assert {name: " ".join(text.split()) for name, text in sections.items()} == {
        check.name: check.description for check in CHECKS}
    assert chapter.count("\nCatches: ") == len(CHECKS)


def test_every_field_option_and_kind_is_named():
    prose = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([^`]+)`", prose.replace("\n", " ")))
    assert set(GENERATED) <= named
    fields = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE))))
    assert {field for field in Model.__dataclass_fields__ if field != "name"} <= fields
    options = {option for action in cli._parser()._actions for option in action.option_strings if option[:2] == "--"}
    assert {option for option in options if option != "--help"} <= {name.split()[0] for name in named}
