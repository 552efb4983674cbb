"""The commands `python -m pullback promote`, `rollback` and `serve`."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pullback.gate.cli import Parser, guarded
from pullback.gate.commands import opened
from pullback.gate.engine import ENGINES, load
from pullback.gate.errors import UsageError
from pullback.gate.precision import choose_device
from pullback.gate.report import EXIT_CODES
from pullback.gate.serve.app import application
from pullback.gate.serve.guard import Guard
from pullback.gate.serve.limits import Limits
from pullback.gate.serve.versions import Versions
from pullback.gate.store.arrays import library

__all__ = ["promote_main", "promote_parser", "rollback_main", "rollback_parser", "serve_main", "serve_parser"]

_LIMITS = {"objects": (int, "N"), "bytes": (int, "N"), "waiting": (int, "N"), "window": (int, "N"), "least": (int, "N"),
           "broken": (float, "SHARE"), "milliseconds": (float, "MS"), "differing": (float, "SHARE"),
           "tolerance": (float, "RATIO")}
_LIMIT_HELP = {
    "objects": "in one request", "bytes": "of a request's body", "waiting": "requests at one time",
    "window": "requests by which a version is judged", "least": "requests before it is judged",
    "broken": "of requests that may end in an error or a result that is not finite",
    "milliseconds": "the 99th percentile of latency", "differing": "of shadow runs that may differ",
    "tolerance": "of a shadow run's difference, by the largest value (default: the tolerances of the model)"}


def promote_parser() -> Parser:
    parser = Parser(prog="pullback promote", description="Let a version in: verify it (and compare it with its "
                    "record), keep its code and parameters, and have it serve. Without a file, the candidate serves.")
    parser.add_argument("target", nargs="?", help="file.py or file.py:model")
    parser.add_argument("--versions", required=True, metavar="DIR", help="the folder of the versions")
    parser.add_argument("--reason", required=True, help="why; kept with the version")
    parser.add_argument("--candidate", action="store_true", help="run it in the shadow of what serves first")
    parser.add_argument("--verify", metavar="REPORT", help="what `verify --json` wrote (default: verify is run)")
    parser.add_argument("--compare", metavar="REPORT", help="what `compare --json` wrote")
    parser.add_argument("--store", metavar="DIR", help="the record to compare with")
    parser.add_argument("--include", action="append", default=[], metavar="FILE", help="data that the code reads; may "
                        "be repeated")
    parser.add_argument("--engine", choices=ENGINES, default="pullback", help="that serves (default: %(default)s)")
    return parser


def promote_main(arguments: Sequence[str]) -> int:
    """Runs `promote`; returns the exit code."""
    options = promote_parser().parse_args(arguments)
    return guarded("pullback promote", lambda: _promote(options), "interrupted; the versions are as they were")


def _promote(options: Any) -> int:
    versions = Versions(options.versions)
    if options.target is None:
        if options.candidate or options.verify or options.compare or options.store or options.include:
            raise UsageError("there is no file to check", "name one, or give --versions and --reason alone to promote "
                             "the candidate")
        print(f"promoted: version {versions.accept(options.reason)} in {options.versions}")
        return EXIT_CODES["passed"]
    versions.state()  # a damaged store is told before anything is run
    reports = [_read(path) for path in (options.verify, options.compare) if path]
    if not options.verify:
        reports.append(_made("verify", options))
    if options.store and not options.compare:
        reports.append(_made("compare", options, "--store", options.store))
    with opened(options.target, None, options.engine, "", 0) as session:
        number = versions.add(session, options.target, reports, options.reason, options.candidate, options.include)
    print(f"{'candidate' if options.candidate else 'promoted'}: version {number} in {options.versions}")
    return EXIT_CODES["passed"]


def _read(path: str) -> dict[str, Any]:
    fix = "give what verify and compare write with --json"
    try:
        found = json.loads(Path(path).read_text())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", fix) from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", fix) from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is no report", fix)
    return found


def _made(command: str, options: Any, *rest: str) -> dict[str, Any]:
    """The report of a command, run in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="pullback-promote-") as folder:
        path = str(Path(folder) / "report.json")
        done = subprocess.run([sys.executable, "-m", "pullback", command, options.target, "--engine", options.engine,
                               "--json", path, *rest], stdout=sys.stderr)
        if not Path(path).exists():
            raise UsageError(f"{command} ended with exit code {done.returncode} and no report",
                             "what it printed above says why")
        return _read(path)


def rollback_parser() -> Parser:
    parser = Parser(prog="pullback rollback", description="Go back to a version that served before. Servers take it in "
                    "within seconds.")
    parser.add_argument("--versions", required=True, metavar="DIR", help="the folder of the versions")
    parser.add_argument("--reason", required=True, help="why; kept with the versions")
    parser.add_argument("--to", type=int, metavar="N", help="the version (default: the one before)")
    parser.add_argument("--candidate", action="store_true", help="take the candidate out instead")
    return parser


def rollback_main(arguments: Sequence[str]) -> int:
    """Runs `rollback`; returns the exit code."""
    options = rollback_parser().parse_args(arguments)

    def body() -> int:
        versions = Versions(options.versions)
        if options.candidate:
            number = versions.state().candidate
            if number is None:
                raise UsageError(f"{options.versions!r} has no candidate", "leave --candidate out to roll back")
            versions.withdraw(options.reason)
            print(f"withdrawn: version {number} in {options.versions}")
        else:
            print(f"rolled back: version {versions.rollback(options.reason, options.to)} serves in {options.versions}")
        return EXIT_CODES["passed"]

    return guarded("pullback rollback", body, "interrupted; the versions are as they were")


def serve_parser() -> Parser:
    parser = Parser(prog="pullback serve", description="Serve the promoted version over HTTP: POST /predict; GET "
                    "/model, /health/live, /health/ready, /metrics.")
    parser.add_argument("--versions", required=True, metavar="DIR", help="the folder of the versions")
    parser.add_argument("--engine", choices=ENGINES, default="pullback", help="(default: %(default)s)")
    parser.add_argument("--device", default="", metavar="PLATFORM", help="cpu, gpu or tpu (default: the engine's own)")
    parser.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="(default: %(default)s)")
    defaults = Limits()
    for name, (kind, shown) in _LIMITS.items():
        default = "" if getattr(defaults, name) is None else " (default: %(default)s)"
        parser.add_argument(f"--{name}", type=kind, metavar=shown, default=getattr(defaults, name),
                            help=_LIMIT_HELP[name] + ("" if name == "tolerance" else default))
    return parser


def serve_main(arguments: Sequence[str]) -> int:
    """Runs `serve` until it is interrupted; returns the exit code."""
    options = serve_parser().parse_args(arguments)

    def body() -> int:
        limits = Limits(**{name: getattr(options, name) for name in _LIMITS})
        uvicorn = library("uvicorn")
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        choose_device(options.device)
        guard = Guard(Versions(options.versions), load(options.engine, serve=True), limits)
        threading.Thread(target=guard.follow, daemon=True).start()
        try:
            uvicorn.run(application(guard), host=options.host, port=options.port, access_log=False, log_config=None,
                        limit_concurrency=4 * limits.waiting + 16)
        except SystemExit as error:  # it could not listen, and has said why
            raise UsageError(f"nothing can be served on {options.host}:{options.port}",
                             "choose another --port, or look who uses this one") from error
        finally:
            guard.close()
        return EXIT_CODES["passed"]

    return guarded("pullback serve", body)
