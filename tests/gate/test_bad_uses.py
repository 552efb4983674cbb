"""Every command: what goes wrong outside of it is one message, the right exit code, and nothing lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pullback import __main__ as front
from pullback.gate import cli

ROOT = Path(__file__).resolve().parent.parent.parent
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}


@pytest.mark.parametrize("error, code, message", [
    (KeyboardInterrupt(), 2, "x: interrupted\n"), (BrokenPipeError(), 2, ""),
    (OSError(28, "No space left on device", "/tmp/x"), 4, "x: No space left on device: /tmp/x\n  fix: "),
    (TypeError("odd\nmore"), 3, "x: internal error: TypeError: odd\n  fix: report it"),
])
def test_what_goes_wrong_is_one_message(capsys, monkeypatch, error, code, message):
    def body():
        raise error
    before = sys.stdout
    monkeypatch.setattr(sys, "stdout", before)  # it may be replaced
    assert cli.guarded("x", body) == code
    printed = capsys.readouterr().err
    assert printed.startswith(message) and "Traceback" not in printed
    if sys.stdout is not before:
        sys.stdout.close()


def test_every_command_is_listed_and_says_what_it_wants(capsys):
    with pytest.raises(SystemExit):
        front.main(["--help"])
    listed = capsys.readouterr().out
    for name in ("verify", "init", "record", "compare", "diagnose", "bench", "promote", "rollback", "serve"):
        assert f"    {name}" in listed
        with pytest.raises(SystemExit) as error:
            front.main([name, "--magic"])
        assert error.value.code == 4 and f"usage: pullback {name}" in capsys.readouterr().err
        with pytest.raises(SystemExit) as error:
            front.main([name, "--help"])
        assert error.value.code == 0 and "show this help" in capsys.readouterr().out


def test_a_full_disk_and_an_interruption(tmp_path):
    (tmp_path / "slow.py").write_text("import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "pullback", "verify", "slow.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENV, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 2 and printed == "pullback verify: interrupted\n"
    (tmp_path / "model.py").write_text("from pullback import gate\nmodel = gate.Model(lambda w: w * w, 1.0)\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command[:-1], "model.py", "--only", "data", "-q"], cwd=tmp_path, env=ENV, stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 4 and done.stderr.startswith("pullback verify: No space left on device\n  fix: ")
