"""The command `python -m pullback verify`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from pullback.gate.bare import bare_function
from pullback.gate.engine import ENGINES, load
from pullback.gate.errors import UsageError
from pullback.gate.model import Model
from pullback.gate.report import EXIT_CODES, Report, Result, shown
from pullback.gate.reports.output import output_options, write_reports
from pullback.gate.run import chosen, verify_in
from pullback.gate.subject import code_digest, note_code
from pullback.gate.target import find_model, load_file, named
from pullback.gate.watch import Watch

__all__ = ["Parser", "guarded", "main", "progress", "show", "silent"]


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_CODES["usage"], f"{self.prog}: {message}\n")


def _parser() -> Parser:
    parser = Parser(prog="pullback verify", description="Check a differentiated program, under pullback or real jax.",
                     epilog="exit codes: " + ", ".join(f"{code} {name}" for name, code in EXIT_CODES.items()))
    parser.add_argument("target", help="file.py, file.py:model, or file.py:function with --args")
    parser.add_argument("--args", help='types of the arguments of a function: "f32[8,4], i32[8] in [0, 9], key"')
    parser.add_argument("--engine", choices=ENGINES, default="pullback",
                        help="what runs the file; pullback serves its `import jax` (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="CHECK",
                        help="run this check alone; may be repeated, or a list with commas")
    output_options(parser)
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: %(default)s)")
    parser.add_argument("--no-repair", action="store_true",
                        help="where a failure names no line but that of a function, do not look for an edit that "
                             "makes it hold")
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per check on stderr")
    return parser


def guarded(command: str, body: Callable[[], int], interrupted: str = "interrupted") -> int:
    """Runs a command; whatever goes wrong is one message and the right exit code."""
    try:
        return body()
    except UsageError as error:
        print(f"{command}: {error}", file=sys.stderr)
        return EXIT_CODES["usage"]
    except KeyboardInterrupt:
        print(f"{command}: {interrupted}", file=sys.stderr)
        return EXIT_CODES["interrupted"]
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # whoever read us has gone
        return EXIT_CODES["interrupted"]
    except OSError as error:  # the standard output on a full disk, say
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sys.stdout = open(os.devnull, "w")
        print(f"{command}: {error.strerror or error}{f': {error.filename}' if error.filename else ''}\n"
              "  fix: look at the room on the disk, and at what may be read and written", file=sys.stderr)
        return EXIT_CODES["usage"]
    except Exception as error:
        if os.environ.get("PULLBACK_GATE_TRACEBACK"):
            traceback.print_exc()
        print(f"{command}: internal error: {shown(error)}\n"
              "  fix: report it, with what PULLBACK_GATE_TRACEBACK=1 prints", file=sys.stderr)
        return EXIT_CODES["internal error"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    options = _parser().parse_args(arguments)

    def body() -> int:
        report = _verify(options)
        show(report.text())
        return write_reports("pullback verify", report, options)

    return guarded("pullback verify", body)


def _verify(options: argparse.Namespace) -> Report:
    checks = chosen([name for part in options.only for name in part.split(",") if name])
    path, _, name = options.target.partition(":")
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path!r}", "check the path")
    engine = load(options.engine, serve=True)
    with Watch(engine) as watch:
        module = load_file(path, engine)
        if options.args is not None:
            function = named(module, path, name, "--args needs the name of a function")
            model: Model = bare_function(function, options.args, engine, options.seed, options.target)
        else:
            model = find_model(module, path, name)
        code = code_digest(path)
        return note_code(verify_in(watch, engine, model, checks, options.seed, silent if options.quiet else progress,
                                   name=options.target, repair=not options.no_repair), code)


def show(text: str) -> None:
    """Prints the report; on a terminal, and where rich is installed, with the outcomes in colour."""
    if not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        print(text, flush=True)
        return
    coloured = importlib.import_module("rich.text").Text(text)
    for pattern, style in ((r"^(FAIL|ERROR)\b|\bfail\b|^failed:|^internal error:", "bold red"),
                           (r"\bpass\b|^passed:", "green"), (r"^note\b|\bskip\b|^nothing ran:", "yellow")):
        coloured.highlight_regex("(?m)" + pattern, style)
    importlib.import_module("rich.console").Console(soft_wrap=True).print(coloured)


def silent(result: Result) -> None:
    pass


def progress(result: Result) -> None:
    print(f"{result.check:<12} {result.status:<6} {result.seconds:6.2f} s", file=sys.stderr, flush=True)
