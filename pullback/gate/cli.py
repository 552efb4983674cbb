"""The command `python -m pullback verify`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from pullback.gate.bare import bare_function
from pullback.gate.engine import ENGINES, Engine, load
from pullback.gate.errors import UsageError
from pullback.gate.model import Model
from pullback.gate.report import EXIT_CODES, Report, Result
from pullback.gate.run import chosen, verify_in
from pullback.gate.sites import of_error
from pullback.gate.watch import Watch

__all__ = ["main"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_CODES["usage"], f"{self.prog}: {message}\n")


def _parser() -> _Parser:
    parser = _Parser(prog="pullback verify", description="Check a differentiated program, under pullback or real jax.",
                     epilog="exit codes: " + ", ".join(f"{code} {name}" for name, code in EXIT_CODES.items()))
    parser.add_argument("target", help="file.py, file.py:model, or file.py:function with --args")
    parser.add_argument("--args", help='types of the arguments of a function: "f32[8,4], i32[8] in [0, 9], key"')
    parser.add_argument("--engine", choices=ENGINES, default="pullback",
                        help="what runs the file; pullback serves its `import jax` (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="CHECK",
                        help="run this check alone; may be repeated, or a list with commas")
    parser.add_argument("--json", metavar="FILE", help="write the whole report to this file")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: %(default)s)")
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per check on stderr")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        report = _verify(options)
    except UsageError as error:
        print(f"pullback verify: {error}", file=sys.stderr)
        return EXIT_CODES["usage"]
    except KeyboardInterrupt:
        print("pullback verify: interrupted", file=sys.stderr)
        return EXIT_CODES["interrupted"]
    _show(report.text())
    if options.json:
        try:
            Path(options.json).write_text(report.json() + "\n")
        except OSError as error:
            print(f"pullback verify: the report cannot be written to {options.json}: {error.strerror}\n"
                  "  fix: name a file in a folder that is there and can be written", file=sys.stderr)
            return EXIT_CODES["usage"]
    return report.exit_code


def _verify(options: argparse.Namespace) -> Report:
    checks = chosen([name for part in options.only for name in part.split(",") if name])
    path, _, name = options.target.partition(":")
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path!r}", "check the path")
    engine = load(options.engine, serve=True)
    with Watch(engine) as watch:
        module = _loaded(path, engine)
        if options.args is not None:
            function = _named(module, path, name, "--args needs the name of a function")
            model: Model = bare_function(function, options.args, engine, options.seed, options.target)
        else:
            model = _model(module, path, name)
        return verify_in(watch, engine, model, checks, options.seed, _silent if options.quiet else _progress,
                         name=options.target)


def _show(text: str) -> None:
    """Prints the report; on a terminal, and where rich is installed, with the outcomes in colour."""
    if not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        print(text)
        return
    shown = importlib.import_module("rich.text").Text(text)
    for pattern, style in ((r"^(FAIL|ERROR)\b|\bfail\b|^failed:|^internal error:", "bold red"),
                           (r"\bpass\b|^passed:", "green"), (r"^note\b|\bskip\b|^nothing ran:", "yellow")):
        shown.highlight_regex("(?m)" + pattern, style)
    importlib.import_module("rich.console").Console(soft_wrap=True).print(shown)


def _silent(result: Result) -> None:
    pass


def _progress(result: Result) -> None:
    print(f"{result.check:<12} {result.status:<6} {result.seconds:6.2f} s", file=sys.stderr, flush=True)


def _loaded(path: str, engine: Engine) -> ModuleType:
    """The user's file as a module; not as __main__, so that a training script does not train."""
    name = "verified_" + Path(path).stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path!r} is no Python file", "pass a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    before, sys.argv = sys.argv, [path]
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        text = str(error).splitlines()
        raise UsageError(f"{path} cannot be imported: {type(error).__name__}: {text[0] if text else ''}"
                         f"\n  at {of_error(error, engine.folders) or path}",
                         "make `import` of the file work; what only a run needs goes under "
                         "`if __name__ == \"__main__\":`") from error
    finally:
        sys.argv = before
    return module


def _named(module: ModuleType, path: str, name: str, without: str) -> Any:
    if not name:
        raise UsageError(f"{path}: {without}", f"name it: {path}:name")
    if not hasattr(module, name):
        there = sorted(known for known in vars(module) if not known.startswith("_"))
        raise UsageError(f"{path} has no {name!r}; it has {', '.join(there)}", "check the name after the colon")
    return getattr(module, name)


def _model(module: ModuleType, path: str, name: str) -> Model:
    """The model of a file: the named one, or the only one."""
    if name:
        found = _named(module, path, name, "")
        if not isinstance(found, Model) and callable(found):
            try:
                made = found()
            except TypeError as error:
                raise UsageError(f"{path}:{name} is a function that cannot be called without arguments: {error}",
                                 'to check the function itself, add --args "f32[8,4], ..."') from error
            found = made
        if not isinstance(found, Model):
            raise UsageError(f"{path}:{name} is a {type(found).__name__}, a gate.Model is required",
                             'name a gate.Model or a function that returns one, or add --args "f32[8,4], ..."')
        return found
    models = {known: value for known, value in vars(module).items() if isinstance(value, Model)}
    if len(models) == 1:
        return next(iter(models.values()))
    if models:
        raise UsageError(f"{path} has {len(models)} models: {', '.join(models)}",
                         f"name one: {path}:{next(iter(models))}")
    raise UsageError(f"{path} has no gate.Model",
                     "add one (from pullback import gate; model = gate.Model(loss, params, batch)), or name a function "
                     f'and its arguments: {path}:function --args "f32[8,4], f32[8]"')
