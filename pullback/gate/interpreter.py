"""The gate under another Python: another version of jax or of pullback."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pullback.gate.errors import UsageError

__all__ = ["environment", "run"]

_OWN = Path(__file__).resolve().parent.parent  # the package pullback
_LOOK = "import importlib.util, sys; sys.stdout.write(str(importlib.util.find_spec('pullback') is not None))"


@contextlib.contextmanager
def environment(python: str) -> Iterator[dict[str, str]]:
    """The environment in which an interpreter finds the gate: its own, or ours where it has none.

    Ours is shown to it through a folder with nothing else in it, so that no other package of this Python is seen.

    Raises:
      UsageError: it is no interpreter, or it does not run.
    """
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run([python, "-P", "-c", _LOOK], capture_output=True, text=True, timeout=120, env=clean)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{python!r} cannot be run: {error}", "give the path of a Python: --python .venv/bin/python"
                         ) from error
    if done.returncode:
        raise UsageError(f"{python!r} is no Python 3.11 or later: exit code {done.returncode}",
                         "give the path of a Python: --python .venv/bin/python")
    if done.stdout == "True":
        yield clean
        return
    with tempfile.TemporaryDirectory(prefix="pullback-gate-") as folder:
        os.symlink(_OWN, Path(folder) / "pullback", target_is_directory=True)
        yield {**clean, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}


def run(python: str, arguments: Sequence[str]) -> int:
    """Runs `python -m pullback ...` there; returns its exit code."""
    with environment(python) as env:
        return subprocess.run([python, "-m", "pullback", *arguments], env=env).returncode
