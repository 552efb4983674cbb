"""What a report is about: the code and the parameters, by digests, so that a report of something else is recognised."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from pullback.gate.report import Report
from pullback.gate.session import Tree
from pullback.gate.sites import is_own
from pullback.gate.values import digest

__all__ = ["code_digest", "code_files", "note_code", "params_digest"]

_PULLBACK = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def code_files(path: str) -> dict[str, str]:
    """The target and the modules from below its folder that have been imported: texts by their paths in that folder."""
    folder = os.path.dirname(os.path.realpath(path))
    found = {os.path.realpath(path)}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        real = os.path.realpath(file)
        libraries = "site-packages" in real or not is_own(file, (_PULLBACK,))
        if real.endswith(".py") and real.startswith(folder + os.sep) and not libraries:
            found.add(real)
    return {os.path.relpath(file, folder): Path(file).read_text() for file in sorted(found)}


def code_digest(path: str) -> str:
    """Of the code of a target, once it has been imported."""
    files = code_files(path)
    return hashlib.sha256("".join(f"{name}\0{text}\0" for name, text in sorted(files.items())).encode()).hexdigest()


def params_digest(params: Tree) -> str:
    """Of leaves, with their paths."""
    rows = "".join(f"{path}\0{digest(leaf)}\0" for path, leaf in zip(params.paths, params.leaves, strict=True))
    return hashlib.sha256(rows.encode()).hexdigest()


def note_code(report: Report, code: str) -> Report:
    """The report, with the digest of the code that it is about."""
    report.environment["subject"] = {**report.environment.get("subject", {}), "code": code}
    return report
