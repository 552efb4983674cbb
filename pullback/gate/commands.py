"""The commands `python -m pullback record` and `compare`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from pullback.gate.bare import bare_function
from pullback.gate.cli import Parser, guarded, progress, show, silent
from pullback.gate.compare import compare
from pullback.gate.engine import ENGINES, load
from pullback.gate.errors import UsageError
from pullback.gate.interpreter import run
from pullback.gate.model import Model
from pullback.gate.precision import PRECISIONS, check_device, choose_device
from pullback.gate.report import EXIT_CODES, shown
from pullback.gate.reports.output import output_options, write_reports
from pullback.gate.session import Session
from pullback.gate.sites import of_error
from pullback.gate.store.files import Store
from pullback.gate.store.recording import record
from pullback.gate.subject import code_digest, note_code
from pullback.gate.target import find_model, load_file, named
from pullback.gate.watch import Watch

__all__ = ["compare_main", "compare_parser", "opened", "record_main", "record_parser", "target_options"]

_UNTOUCHED = "interrupted; the store is as it was"


def target_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what is run, and under what."""
    parser.add_argument("target", help="file.py, file.py:model, or file.py:function with --args")
    parser.add_argument("--args", help='types of the arguments of a function: "f32[8,4], i32[8] in [0, 9], key"')
    parser.add_argument("--engine", choices=ENGINES, default="pullback",
                        help="what runs the file (default: %(default)s)")
    parser.add_argument("--device", default="", metavar="PLATFORM", help="cpu, gpu or tpu (default: the engine's own)")
    parser.add_argument("--python", metavar="PATH", help="another Python to run under: another version of jax")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: %(default)s)")


@contextlib.contextmanager
def opened(target: str, args: str | None, engine: str, device: str, seed: int) -> Iterator[Session]:
    """The session of a target, in an active watch; nothing of it has been run but `init`.

    Raises:
      UsageError: there is no such file or model, or it cannot be set up.
    """
    path, _, name = target.partition(":")
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path!r}", "check the path")
    choose_device(device)
    loaded = load(engine, serve=True)
    check_device(loaded, device)
    with Watch(loaded) as watch:
        module = load_file(path, loaded)
        if args is not None:
            function = named(module, path, name, "--args needs the name of a function")
            model: Model = bare_function(function, args, loaded, seed, target)
        else:
            model = find_model(module, path, name)
        try:
            session = Session(model, loaded, watch, seed)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{target} cannot make its parameters: {shown(error)}\n"
                             f"  at {of_error(error, loaded.folders) or path}",
                             "pullback verify says more; mend the model first") from error
        yield session


def record_parser() -> Parser:
    """The options of `record`."""
    parser = Parser(prog="pullback record", description="Keep what a model computes, to compare with later.")
    target_options(parser)
    parser.add_argument("--store", required=True, metavar="DIR", help="the folder of the record")
    parser.add_argument("--update", action="store_true", help="add a revision to a record that is there")
    parser.add_argument("--reason", default="", help="why; kept in the record")
    parser.add_argument("--no-data", action="store_true", help="keep digests of the batches, not their values")
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per case on stderr")
    return parser


def record_main(arguments: Sequence[str]) -> int:
    """Runs `record`; returns the exit code."""
    options = record_parser().parse_args(arguments)

    def body() -> int:
        if options.python:
            return run(options.python, ["record", *_without_python(arguments)])
        store = Store(options.store)
        if store.numbers():
            store.read()  # a damaged store is told before anything is run
        with opened(options.target, options.args, options.engine, options.device, options.seed) as session:
            number = record(session, store, session.model.name or options.target, options.reason, options.update,
                            not options.no_data, (lambda text: None) if options.quiet else
                            lambda text: print(text, file=sys.stderr, flush=True))
        print(f"recorded: revision {number} in {options.store}")
        return EXIT_CODES["passed"]

    return guarded("pullback record", body, _UNTOUCHED)


def compare_parser() -> Parser:
    """The options of `compare`."""
    parser = Parser(prog="pullback compare", description="Run the cases of a record again, and judge every leaf.",
                    epilog="exit codes: " + ", ".join(f"{code} {name}" for name, code in EXIT_CODES.items()))
    target_options(parser)
    parser.add_argument("--store", required=True, metavar="DIR", help="the folder of the record")
    parser.add_argument("--revision", type=int, help="the revision to compare with (default: the last)")
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help="this case alone; may be repeated")
    parser.add_argument("--precision", choices=PRECISIONS, default="", help="cast parameters and batches first")
    output_options(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per case on stderr")
    return parser


def compare_main(arguments: Sequence[str]) -> int:
    """Runs `compare`; returns the exit code."""
    options = compare_parser().parse_args(arguments)

    def body() -> int:
        if options.python:
            return run(options.python, ["compare", *_without_python(arguments)])
        revision = Store(options.store).read(options.revision)
        with opened(options.target, options.args, options.engine, options.device, options.seed) as session:
            code = code_digest(options.target.partition(":")[0])
            report = note_code(compare(session, revision, options.precision, options.target, options.only,
                                       silent if options.quiet else progress), code)
        show(report.text())
        return write_reports("pullback compare", report, options)

    return guarded("pullback compare", body, _UNTOUCHED)


def _without_python(arguments: Sequence[str]) -> list[str]:
    found, rest = [], iter(arguments)
    for argument in rest:
        if argument == "--python":
            next(rest, None)
        elif not argument.startswith("--python="):
            found.append(argument)
    return found
