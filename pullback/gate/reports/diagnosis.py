"""A diagnosis in the form of a report, one row for each stage."""

from __future__ import annotations

from typing import Any

from pullback.gate.diagnose.report import explained, removed
from pullback.gate.diagnose.stages import Diagnosis
from pullback.gate.report import Recorder, Report, Result

__all__ = ["of_diagnosis"]

_STATUS = {"agree": "pass", "part": "fail", "skip": "skip"}


def of_diagnosis(found: Diagnosis, seed: int) -> Report:
    """The diagnosis as a report: the first stage that parts has what was found about it."""
    environment: dict[str, Any] = {"first run": found.labels[0], "second run": found.labels[1]}
    for name, there in zip(("first", "second"), found.environments):
        environment |= {f"{name}: {key}": value for key, value in there.items()}
    report = Report(f"{found.labels[0]} and {found.labels[1]}", seed, environment)
    for stage in found.stages:
        result = Result(stage.name, stage.text, _STATUS.get(stage.status, stage.status),
                        reason=stage.text if stage.status == "skip" else "")
        if stage.status == "part":
            broken = found.parting.found if found.parting and stage is found.stage else None
            details = explained(found.parting, found.phase) if found.parting and stage is found.stage else []
            details += removed(found) if stage is found.stage else []
            Recorder(result).fail("the two runs part", measured=stage.text, expected="that they agree",
                                  leaf=stage.leaf, line=broken.operation.site if broken else None,
                                  fix="\n".join([*([f"at {stage.line}"] if stage.line else []), *details]))
        report.results.append(result)
    return report
