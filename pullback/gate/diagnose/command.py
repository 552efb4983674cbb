"""The command `python -m pullback diagnose`."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from pullback.gate.cli import Parser, guarded, show
from pullback.gate.commands import target_options
from pullback.gate.compare import same_model
from pullback.gate.diagnose import report
from pullback.gate.diagnose.recorded import RecordedSide
from pullback.gate.diagnose.remote import RemoteSide
from pullback.gate.diagnose.script import of_files, script
from pullback.gate.diagnose.side import Side
from pullback.gate.diagnose.stages import Diagnosis, Stage, diagnose
from pullback.gate.engine import ENGINES
from pullback.gate.precision import PRECISIONS
from pullback.gate.report import EXIT_CODES, plain
from pullback.gate.reports.diagnosis import of_diagnosis
from pullback.gate.reports.output import output_options, write_file, write_reports
from pullback.gate.store.files import Store

__all__ = ["diagnose_main", "diagnose_parser", "with_script"]


def diagnose_parser() -> Parser:
    """The options of `diagnose`."""
    parser = Parser(prog="pullback diagnose", description="Say where two runs that should agree part: the stage, the "
                    "operation, a small input, a script. The second run is the first but for what is given for it.",
                    epilog="exit codes: 0 they agree, 1 they part, 2 interrupted, 3 internal error, 4 usage")
    target_options(parser)
    parser.add_argument("other", nargs="?", help="the file of the second run: another revision of the model")
    parser.add_argument("--precision", choices=PRECISIONS, default="", help="of the first run")
    parser.add_argument("--other-engine", choices=ENGINES)
    parser.add_argument("--other-python", metavar="PATH")
    parser.add_argument("--other-precision", choices=PRECISIONS)
    parser.add_argument("--other-device", metavar="PLATFORM")
    parser.add_argument("--store", metavar="DIR", help="the first run is the record in this folder")
    parser.add_argument("--revision", type=int, help="of the record (default: the last)")
    parser.add_argument("--all", action="store_true", help="go on after the first stage that parts")
    parser.add_argument("--script", metavar="FILE", help="write the reproducer to this file")
    output_options(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per stage on stderr")
    return parser


def diagnose_main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    options = diagnose_parser().parse_args(arguments)
    return guarded("pullback diagnose", lambda: _diagnose(options))


def _options(options: Any, other: bool) -> tuple[str, str, dict[str, Any]]:
    """Label, interpreter and options of a side."""
    def chosen(name: str) -> Any:
        given = getattr(options, f"other_{name}", None) if other else None
        return given if given is not None else getattr(options, name)

    target = options.other if other and options.other else options.target
    python = chosen("python") or sys.executable
    label = " ".join([target, "under", chosen("engine"), *([chosen("precision")] if chosen("precision") else []),
                      *([chosen("device")] if chosen("device") else []), *([python] if chosen("python") else [])])
    return label, python, {"target": target, "args": options.args, "engine": chosen("engine"),
                           "device": chosen("device"), "seed": options.seed, "precision": chosen("precision")}


def _diagnose(options: Any) -> int:
    one, two = _options(options, False), _options(options, True)
    revision = Store(options.store).read(options.revision) if options.store else None
    with contextlib.ExitStack() as stack:
        second: Side = stack.enter_context(RemoteSide(*two))
        if revision is not None:
            now = second.facts()
            same_model(now.params, revision.manifest)
            first: Side = RecordedSide(revision, f"the record in {options.store}", now.inputs.batch)
        elif one == two:
            first = second  # as written against compiled: the stage jit
        else:
            first = stack.enter_context(RemoteSide(*one))
        found = diagnose(first, second, _silent if options.quiet else _progress, options.all,
                         dtypes=one[2]["precision"] == two[2]["precision"])
    with_script(found, (one[2]["target"], two[2]["target"]))
    text = report.text(found)
    if found.script and not options.script:
        text += "\n\na script that shows it under jax (--script FILE writes it):\n\n" + found.script
    show(text)
    if options.script and found.script:
        write_file(options.script, found.script)
    code = write_reports("pullback diagnose", of_diagnosis(found, options.seed), options,
                         lambda: json.dumps(plain(report.data(found)), indent=1))
    return code if code == EXIT_CODES["usage"] else EXIT_CODES["passed" if found.stage is None else "failed"]


def with_script(found: Diagnosis, targets: tuple[str, str]) -> Diagnosis:
    """The diagnosis with its reproducer, where a script can show it."""
    stage = found.stage
    if stage is None or found.recorded or stage.name in ("data", "keys") and not stage.part:
        return found
    labels = [re.sub(r"\S*/", "", label) for label in found.labels]
    title = f"{labels[0]} and {labels[1]} part at the stage {stage.name}"
    broken = found.parting.found if found.parting else None
    if broken is not None:
        found.script = script(broken, f"{title}: {broken.operation.name}\n{broken.operation.site}", targets,
                              stage.part)
    elif stage.name in ("jit", "transforms"):
        plain = [name for name in found.removed] if stage.name == "transforms" else []
        found.script = of_files(title, [targets[found.side]] * 2, stage.part, stage.name == "jit", plain)
    elif targets[0] != targets[1]:
        found.script = of_files(title, targets, stage.part)
    return found


def _silent(stage: Stage) -> None:
    pass


def _progress(stage: Stage) -> None:
    print(f"{stage.name:<10} {stage.status}", file=sys.stderr, flush=True)
