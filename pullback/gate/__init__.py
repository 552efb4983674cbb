"""The verification gate: is a differentiated program right, under pullback or under real jax?

    from pullback import gate
    model = gate.Model(loss, params, batch)

`python -m pullback verify file.py` runs the checks; docs/gate.md describes them. Importing this package loads no
engine, and nothing else before a name of it is used: pytest imports it for its plugin.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pullback.gate.contract import Contract
    from pullback.gate.errors import ContractError, UsageError
    from pullback.gate.model import Expected, Generated, Invariance, Model, Pipeline, Refused, Tolerance
    from pullback.gate.report import Finding, Report, Result
    from pullback.gate.run import verify

__all__ = ["Contract", "ContractError", "Expected", "Finding", "Generated", "Invariance", "Model", "Pipeline",
           "Refused", "Report", "Result", "Tolerance", "UsageError", "verify"]

# Public name -> module that defines it.
_NAMES = {name: f"pullback.gate.{module}" for module, names in {
    "contract": "Contract", "errors": "ContractError UsageError",
    "model": "Expected Generated Invariance Model Pipeline Refused Tolerance", "report": "Finding Report Result",
    "run": "verify"}.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'pullback.gate' has no attribute {name!r}; it has {', '.join(__all__)}")
    found = globals()[name] = getattr(importlib.import_module(_NAMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
