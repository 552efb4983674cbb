"""What a report says about the machine and the code: CPU and its features, versions, the revision of the model."""

from __future__ import annotations

import os
import platform
import subprocess
from typing import Any

__all__ = ["load_and_clock", "machine", "revision"]

# Of the many flags of a CPU, those that decide which code XLA makes.
_FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16", "amx_tile",
             "amx_bf16", "asimd", "asimdhp", "bf16", "sve")


def machine() -> dict[str, Any]:
    """The processor, its features that matter to numbers, and the platform."""
    try:
        with open("/proc/cpuinfo") as file:
            rows = dict(line.partition(":")[::2] for line in file.read().split("\n\n")[0].splitlines())
    except OSError:  # no such file here
        rows = {}
    found = {name.strip(): value.strip() for name, value in rows.items()}
    flags = set((found.get("flags") or found.get("Features") or "").split())
    return {"cpu": found.get("model name") or platform.processor() or platform.machine(), "cores": os.cpu_count(),
            "features": [name for name in _FEATURES if name in flags], "platform": platform.platform(),
            "python": platform.python_version()}


def load_and_clock() -> dict[str, Any]:
    """How busy the machine is (load averages over 1, 5 and 15 minutes), and the clock of each core in MHz."""
    clocks = []
    try:
        with open("/proc/cpuinfo") as file:
            clocks = [float(row.partition(":")[2]) for row in file if row.startswith("cpu MHz")]
    except (OSError, ValueError):  # no such file here, or no clock in it
        pass
    return {"load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [], "MHz": clocks}


def revision(file: str) -> str | None:
    """The git revision of the folder of a file, with "+changes" where tracked files differ; None without one."""
    folder = os.path.dirname(os.path.abspath(file))

    def ask(*command: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", folder, *command], capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.SubprocessError):  # no git, or no such folder
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    head = ask("rev-parse", "HEAD")
    return None if head is None else head + ("+changes" if ask("status", "--porcelain", "-uno") else "")
