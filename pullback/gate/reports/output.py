"""The options that say where a report goes, and the writing of it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pullback.gate.errors import UsageError
from pullback.gate.report import EXIT_CODES, Report
from pullback.gate.reports import github, junit, page

__all__ = ["output_options", "write_file", "write_reports"]


def output_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where a report goes."""
    parser.add_argument("--json", metavar="FILE", help="write the whole report to this file")
    parser.add_argument("--html", metavar="FILE", help="write it as one page that needs nothing else")
    parser.add_argument("--junit", "--junitxml", metavar="FILE", help="write it as JUnit XML, a test case per row")
    parser.add_argument("--github", action="store_true", default=os.environ.get("GITHUB_ACTIONS") == "true",
                        help="print annotations, and a summary of the step (on by itself under GitHub Actions)")


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file, whole or not at all.

    Raises:
      UsageError: it cannot be written: the folder is missing or read-only, the disk is full.
    """
    target, temporary = Path(path), ""
    try:
        if target.exists() and not target.is_file():  # a pipe, or a device
            target.write_text(text)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        temporary = ""
    except OSError as error:
        raise UsageError(f"the report cannot be written to {path}: {error.strerror}",
                         "name a file in a folder that is there, can be written and has room") from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def write_reports(command: str, report: Report, options: Any, data: Callable[[], str] | None = None) -> int:
    """Writes what the options ask for; returns the exit code, that of a wrong use if a file cannot be written.

    Args:
      data: makes the contents of --json, where they are not the report's own.
    """
    problems = []
    for path, make in ((options.json, data or report.json), (options.html, lambda: page.html(report, command)),
                       (options.junit, lambda: junit.xml(report, command))):
        if path:
            try:
                write_file(path, make() + "\n")
            except UsageError as error:
                problems.append(error)
    if options.github:
        print("\n".join(github.notes(report, command)))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            try:
                with open(summary, "a") as file:
                    file.write(github.summary(report, command))
            except OSError as error:
                problems.append(UsageError(f"the summary cannot be written to {summary}: {error.strerror}",
                                           "unset GITHUB_STEP_SUMMARY outside of GitHub Actions"))
    for problem in problems:
        print(f"{command}: {problem}", file=sys.stderr)
    return EXIT_CODES["usage"] if problems else report.exit_code
