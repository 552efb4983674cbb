"""docs/jax_compat.md, the page of names: it is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.skipif(jax.__version__ != "0.11.2", reason="the page is about jax 0.11.2")
def test_the_page_is_up_to_date():
    done = subprocess.run([sys.executable, "scripts/compat", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
