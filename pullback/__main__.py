"""`python -m pullback`: run a JAX script, look at the installation, and the commands of the gate: see `--help`."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import runpy
import sys
from collections.abc import Sequence

import pullback

# Commands of the gate: each has a parser of its own, and loads no engine before it knows which.
_GATE = {
    "verify": ("pullback.gate.cli:main", "check a differentiated program: derivatives, keys, purity, ..."),
    "init": ("pullback.gate.draft.command:init_main", "write a first gate.Model of a script by looking at it"),
    "record": ("pullback.gate.commands:record_main", "keep what a model computes, to compare with later"),
    "compare": ("pullback.gate.commands:compare_main", "run the cases of a record again, and judge every leaf"),
    "diagnose": ("pullback.gate.diagnose.command:diagnose_main", "say where two runs that should agree part"),
    "bench": ("pullback.gate.bench.command:bench_main", "time a model, cold and warm, and compare with the noise"),
    "promote": ("pullback.gate.serve.command:promote_main", "make a checked version of a model the one that serves"),
    "rollback": ("pullback.gate.serve.command:rollback_main", "go back to a version that served before"),
    "serve": ("pullback.gate.serve.command:serve_main", "serve the promoted version over HTTP, guarded"),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pullback", description="Run JAX programs on pullback.")
    parser.add_argument("--version", action="version", version=pullback.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a script or a module with `import jax` served by pullback")
    run.add_argument("--quiet", "-q", action="store_true", help="no banner")
    run.add_argument("-m", dest="module", action="store_true", help="the target is a module")
    run.add_argument("target", help="script.py, or a module's name with -m")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    for name, (_, text) in _GATE.items():
        commands.add_parser(name, add_help=False, help=text)
    commands.add_parser("doctor", help="versions, devices, and the state of the compile cache")
    return parser


def _run(target: str, arguments: Sequence[str], module: bool, quiet: bool) -> None:
    from pullback.compat.jax import install
    if not module and not os.path.exists(target):
        raise SystemExit(f"pullback run: there is no file {target!r}\n  fix: check the path; -m runs a module by name")
    install(quiet)
    sys.argv = [target, *arguments]
    if module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
        runpy.run_path(target, run_name="__main__")


def _doctor() -> None:
    from pullback.runtime import cache, pjrt
    rows = {"pullback": pullback.__version__, "python": platform.python_version(), **pjrt.versions(),
            "devices": ", ".join(map(str, pullback.devices())),
            **{f"cache {name}": value for name, value in cache.statistics().items()}}
    width = max(len(name) for name in rows)
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in _GATE:
        module, _, function = _GATE[arguments[0]][0].partition(":")
        try:
            return int(getattr(importlib.import_module(module), function)(arguments[1:]))
        except KeyboardInterrupt:  # while it is loaded; then it answers itself
            print(f"pullback {arguments[0]}: interrupted", file=sys.stderr)
            return 2
    options = _parser().parse_args(arguments)
    if options.command == "run":
        _run(options.target, options.arguments, options.module, options.quiet)
    else:
        _doctor()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
