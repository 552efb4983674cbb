"""The command `python -m pullback init`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pullback.gate.cli import Parser, guarded
from pullback.gate.draft.look import look
from pullback.gate.draft.write import draft
from pullback.gate.engine import ENGINES, load
from pullback.gate.errors import UsageError
from pullback.gate.report import EXIT_CODES, shown
from pullback.gate.reports.output import write_file
from pullback.gate.sites import of_error
from pullback.gate.target import load_file

__all__ = ["init_main", "init_parser"]

_ROLES = ("loss", "forward", "init", "update")


def init_parser() -> Parser:
    parser = Parser(prog="pullback init", description="Write a first gate.Model of a script, by looking at its "
                    "functions and, where their arguments are nowhere in it, by running it until they are called.",
                    epilog="exit codes: 0 written, 2 interrupted, 3 internal error, 4 usage")
    parser.add_argument("script", help="the file with the functions")
    parser.add_argument("--output", "-o", metavar="FILE", help="what to write (default: NAME_gate.py beside it)")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.add_argument("--engine", choices=ENGINES, default="pullback", help="what runs it (default: %(default)s)")
    for role in _ROLES:
        parser.add_argument(f"--{role}", metavar="NAME", help=f"the function that is the {role}, where its name does "
                            "not say so")
    parser.add_argument("--seconds", type=float, default=60.0,
                        help="for a run of the script (default: %(default)s)")
    return parser


def init_main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    options = init_parser().parse_args(arguments)

    def body() -> int:
        path = options.script
        if not os.path.isfile(path):
            raise UsageError(f"there is no file {path!r}", "check the path")
        output = options.output or str(Path(path).with_name(f"{Path(path).stem}_gate.py"))
        if os.path.exists(output):
            if os.path.samefile(output, path):
                raise UsageError(f"{output} is the script itself", "name another file with --output")
            if not options.force:
                raise UsageError(f"{output} is there already", "write over it with --force, or elsewhere with --output")
        engine = load(options.engine, serve=True)
        module = load_file(path, engine)
        chosen = {role: name for role in _ROLES if (name := getattr(options, role))}
        try:
            found = look(module, path, engine, chosen, options.seconds)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{path} does not run: {shown(error)}\n  at {of_error(error, engine.folders) or path}",
                             "mend it first, or name other functions with --loss and --forward") from error
        write_file(output, draft(found, path, output))
        roles = ", ".join(f"{role} {name}" for role, name in found.roles.items())
        print(f"written: {output} ({roles})")
        for note in found.notes:
            print(f"  {note}", file=sys.stderr)
        print(f"next: pullback verify {output}{' --engine jax' if options.engine == 'jax' else ''}")
        return EXIT_CODES["passed"]

    return guarded("pullback init", body)
