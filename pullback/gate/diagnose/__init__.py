"""`pullback diagnose`: where two runs that should agree part: the stage, the operation, an input, a script."""

from pullback.gate.diagnose.stages import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
