"""The verification gate: is a differentiated program right, under pullback or under real jax?

    from pullback import gate
    model = gate.Model(loss, params, batch)

`python -m pullback verify file.py` runs the checks; docs/gate.md describes them. Importing this package loads no
engine.
"""

from pullback.gate.contract import Contract
from pullback.gate.errors import ContractError, UsageError
from pullback.gate.model import Model, Refused, Tolerance
from pullback.gate.report import Finding, Report, Result
from pullback.gate.run import verify

__all__ = ["Contract", "ContractError", "Finding", "Model", "Refused", "Report", "Result", "Tolerance", "UsageError",
           "verify"]
