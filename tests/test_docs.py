"""The code in the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("name", ["control_flow.md", "custom_rules.md", "debugging.md"])
def test_code_blocks_run(name, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.S)
    assert blocks
    script = tmp_path / name.replace(".md", ".py")  # a file, so that messages can quote its lines
    script.write_text("\n".join(blocks))
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": name})
