"""Code in an interpreter of its own, for what depends on the state of a whole process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ("PULLBACK_NUM_CPU_DEVICES", "JAX_NUM_CPU_DEVICES", "XLA_FLAGS", "TF_CPP_MIN_LOG_LEVEL")


def run(code, *, without_jax=False, **environment):
    """The words a fresh interpreter prints; it must be silent otherwise."""
    if without_jax:
        code = "import sys; sys.modules['jax'] = None\n" + code
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT,
                            env={**kept, **environment}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and result.stderr == "", result.stderr
    return result.stdout.split()
