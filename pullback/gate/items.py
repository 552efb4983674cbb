"""The tests that checks are for pytest. PYTEST_DONT_REWRITE

A model is checked once, in a process of its own, when the first of its checks is due: pytest's process has loaded what
the other tests need, maybe another engine. Under pytest-xdist the workers share what the first of them found.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pullback.gate.report import Finding
from pullback.gate.run import chosen
from pullback.gate.sites import Site

__all__ = ["File", "Run", "judge", "parametrize"]


class Run:
    """One model, checked when it is first asked for.

    Args:
      target: file.py or file.py:model.
      engine: what runs it.
      only: names of checks.
    """

    def __init__(self, target: str, engine: str, only: Sequence[str] = ()) -> None:
        self.target, self.engine = target, engine
        self.checks = [check.name for check in chosen(only)]
        self._report: dict[str, Any] | None = None

    def result(self, config: pytest.Config, check: str) -> dict[str, Any]:
        """What the check found."""
        if self._report is None:
            self._report = self._shared(config)
        if "usage" in self._report:
            pytest.fail(self._report["usage"], pytrace=False)
        rows = {result["check"]: result for result in self._report["results"]}
        if check not in rows:
            pytest.fail(f"{check} did not run: {self._report['outcome']}", pytrace=False)
        found: dict[str, Any] = rows[check]
        return found

    def _shared(self, config: pytest.Config) -> dict[str, Any]:
        """The report; of pytest-xdist's workers one makes it, and the others wait for it."""
        number = getattr(config, "workerinput", {}).get("testrunuid")
        if number is None:
            return self._made()
        name = hashlib.sha256(repr((number, os.getcwd(), self.target, self.engine, self.checks)).encode()).hexdigest()
        folder, prefix = Path(tempfile.gettempdir()), f"pullback-gate-{os.getuid()}-"
        for old in folder.glob(f"{prefix}*.json"):
            with contextlib.suppress(OSError):
                if old.stat().st_mtime < time.time() - 86400:
                    old.unlink()
        place = folder / f"{prefix}{name[:24]}.json"
        with open(os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = file.read()
            found: dict[str, Any] = json.loads(text) if text else self._made()
            if not text:
                file.write(json.dumps(found))
        return found

    def _made(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pullback-gate-") as folder:
            path = Path(folder) / "report.json"
            command = [sys.executable, "-m", "pullback", "verify", self.target, "--engine", self.engine, "--only",
                       ",".join(self.checks), "--json", str(path), "-q"]
            env = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            with contextlib.suppress(FileNotFoundError):
                found: dict[str, Any] = json.loads(path.read_text())
                return found
            return {"usage": done.stderr.strip() or f"verify ended with exit code {done.returncode}"}


def judge(result: dict[str, Any]) -> None:
    """Passes, skips or fails as the check did."""
    if result["status"] == "skip":
        pytest.skip(result["reason"])
    if result["status"] != "pass":
        pytest.fail("\n\n".join(_texts(result)) or result["reason"], pytrace=False)


def _texts(result: dict[str, Any]) -> Iterator[str]:
    for finding in result["findings"]:
        if finding["level"] == "fail":
            line = finding["line"]
            yield Finding(**{**finding, "line": Site(**line) if line else None}).text()


class Check(pytest.Item):
    """One check of one model."""

    def __init__(self, *, run: Run, check: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.gate, self.check = run, check

    def runtest(self) -> None:
        mine = [item for item in self.session.items if isinstance(item, Check) and item.gate is self.gate]
        self.gate.checks = [item.check for item in mine]  # what -k has left
        judge(self.gate.result(self.config, self.check))

    def reportinfo(self) -> tuple[str, int | None, str]:
        return str(self.path), None, self.name


class File(pytest.File):
    """A file with models, given by --pullback."""

    def __init__(self, *, targets: Sequence[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.targets = targets

    def collect(self) -> Iterator[pytest.Item]:
        for target in self.targets:
            run = Run(target, self.config.option.pullback_engine)
            model = target.partition(":")[2]
            for check in run.checks:
                yield Check.from_parent(self, name=f"{check}[{model}]" if model else check, run=run, check=check)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Makes a case of each check that the mark of a test asks for."""
    mark = metafunc.definition.get_closest_marker("gate")
    if mark is None or not mark.args:
        raise pytest.UsageError(f"{metafunc.definition.nodeid} has the fixture gate_check and no mark that says which "
                                "model: @pytest.mark.gate('model.py')")
    run = Run(str(mark.args[0]), mark.kwargs.get("engine", "pullback"), mark.kwargs.get("only", ()))
    metafunc.parametrize("gate_check", [(run, check) for check in run.checks], ids=run.checks, indirect=True)
