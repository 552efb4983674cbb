"""A diagnosis as text and as JSON."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pullback.gate.diagnose.locate import Break, Growth, Parting
from pullback.gate.diagnose.stages import Diagnosis
from pullback.gate.operations import Operation

__all__ = ["data", "explained", "removed", "text"]

SCHEMA = "pullback-gate-diagnosis-1"
_KINDS = {"changed": "another operation, or other parameters", "operand": "the same operation on another operand",
          "extra": "an operation that only the second run has", "missing": "an operation that only the first run has",
          "type": "another shape or dtype", "computed": "the same operation on the same operands gives something else"}


def _shown(operation: Operation | None) -> str:
    if operation is None:
        return "nothing"
    loops = f"  in {'/'.join(operation.path)}" if operation.path else ""
    site = operation.site
    place = f"{os.path.basename(site.file)}:{site.line} in {site.function}:  {operation.source}" if site else \
        "no line of yours"
    return f"{operation.name} {operation.params}".rstrip() + f"  {place}{loops}"


def explained(parting: Parting, phase: str = "") -> list[str]:
    """Lines that say what two traces have to say."""
    broken = parting.found
    lines = [f"operations: {parting.aligned} aligned, {parting.only[0]} only in the first, {parting.only[1]} only in "
             "the second"]
    if broken is not None:
        lines += [f"first operation that parts{f' ({phase})' if phase else ''}: {broken.operation.name}: "
                  f"{_KINDS[broken.kind]}", f"  first   {_shown(broken.first)}", f"  second  {_shown(broken.second)}"]
        if np.isfinite(broken.difference):
            lines.append(f"  it adds {broken.difference:.3g} to what operands differ by already; rounding can add "
                         f"{broken.allowed:.2g}")
        if _not_finite(broken):
            lines.append("  it makes a NaN or an infinity out of finite operands")
    else:
        lines.append("no operation breaks: each adds no more than rounding can, given its conditioning; what is seen "
                     "at the end has grown")
        lines += [f"  x{growth.factor:.3g} to {growth.relative:.2g}: {_shown(growth.operation)}"
                  + ("  (a jump: as far for less)" if growth.jump else "") for growth in _largest(parting.growth)]
    return lines


def _largest(growth: list[Growth]) -> list[Growth]:
    return sorted(growth, key=lambda g: -g.factor)[:5]


def _not_finite(broken: Break) -> bool:
    def finite(values: list[Any]) -> bool:
        return all(bool(np.all(np.isfinite(np.asarray(x, "complex128")))) for x in values
                   if getattr(np.asarray(x), "dtype", np.dtype("O")).kind in "fc")
    return bool(broken.results[1]) and finite(broken.operands[1]) and not finite(broken.results[1])


def removed(found: Diagnosis) -> list[str]:
    """Lines that say without which transformations the two runs agree, and which only one of them has."""
    apart = [f"  {run:<7} {name}  {line}" for run, only in zip(("first", "second"), found.only)
             for name, line in only.items()]
    lines = ["transformations that only one run has, or has in this way:", *apart] if apart else []
    if not found.removed:
        return lines
    how = "together" if found.together else "each alone" if len(found.removed) > 1 else "alone"
    return [*lines, f"the difference is gone without what is named here, taken away {how}:",
            *(f"  {name}" + (f"  {line}" if line else "") for name, line in found.removed.items())]


def text(found: Diagnosis) -> str:
    """To be read."""
    lines = [f"diagnose: {found.labels[0]}", f"    and   {found.labels[1]}", ""]
    lines += [f"{row.name:<10} {row.status:<6} {row.text}".rstrip() for row in found.stages]
    stage = found.stage
    lines.append("")
    if stage is None:
        return "\n".join([*lines, "the two runs agree"])
    lines.append(f"they part at the stage {stage.name}{f', {stage.leaf}' if stage.leaf else ''}: {stage.text}")
    if stage.line:
        lines.append(f"  at {stage.line}")
    if found.parting is not None:
        lines += explained(found.parting, found.phase)
    lines += removed(found)
    if found.shrunk is not None:
        shrunk = found.shrunk
        lines.append("shown by " + (f"{len(shrunk.rows)} of {shrunk.objects} objects, numbers {shrunk.rows[:8]}"
                                    if shrunk.objects else "the standard batch")
                     + (f"; plainer: {', '.join(shrunk.plainer)}" if shrunk.plainer else ""))
    return "\n".join(lines)


def data(found: Diagnosis) -> dict[str, Any]:
    """As plain data."""
    broken = found.parting.found if found.parting else None
    return {"schema": SCHEMA, "runs": list(found.labels), "environments": list(found.environments),
            "stages": [vars(stage) for stage in found.stages], "stage": found.stage.name if found.stage else None,
            "phase": found.phase,
            "operation": None if broken is None else {
                "kind": broken.kind, "name": broken.operation.name, "difference": str(broken.difference),
                "allowed": broken.allowed, "first": _shown(broken.first), "second": _shown(broken.second),
                "file": broken.operation.site.file if broken.operation.site else None,
                "line": broken.operation.site.line if broken.operation.site else None},
            "growth": [] if found.parting is None else [
                {"factor": g.factor, "relative": g.relative, "jump": g.jump, "operation": _shown(g.operation)}
                for g in _largest(found.parting.growth)],
            "removed": found.removed, "together": found.together, "only": list(found.only), "script": found.script,
            "shrunk": None if found.shrunk is None else {"rows": found.shrunk.rows, "objects": found.shrunk.objects,
                                                         "plainer": found.shrunk.plainer}}
