"""The command `python -m pullback bench`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pullback.gate.bench.noise import Comparison, compared, summary
from pullback.gate.cli import Parser, guarded, show
from pullback.gate.commands import target_options
from pullback.gate.engine import ENGINES
from pullback.gate.errors import UsageError
from pullback.gate.interpreter import environment
from pullback.gate.machine import machine, revision
from pullback.gate.parts import PARTS
from pullback.gate.report import EXIT_CODES, Recorder, Report, Result
from pullback.gate.reports.output import output_options, write_reports

__all__ = ["SCHEMA", "bench_main", "bench_parser"]

SCHEMA = "pullback-gate-bench-1"
_COLD = ("trace", "lower", "compile", "first call")


def bench_parser() -> Parser:
    parser = Parser(prog="pullback bench", description="Time a model, cold and warm, in processes of its own; and a "
                    "second side in turn with it, which is the first but for what is given for it.",
                    epilog="exit codes: " + ", ".join(f"{code} {name}" for name, code in EXIT_CODES.items()))
    target_options(parser)
    parser.add_argument("other", nargs="?", help="the file of the second side: another revision of the model")
    parser.add_argument("--other-engine", choices=ENGINES)
    parser.add_argument("--other-python", metavar="PATH")
    parser.add_argument("--other-device", metavar="PLATFORM")
    parser.add_argument("--against", metavar="RESULT", help="the --json of an earlier run to compare with")
    parser.add_argument("--limit", type=float, metavar="RATIO", help="fail if a part takes surely longer than this "
                        "times the other side, or than the earlier run")
    parser.add_argument("--part", action="append", default=[], choices=PARTS, help="this part alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each side (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="of warm runs for each part and process (default: %(default)s)")
    output_options(parser)
    parser.add_argument("--quiet", "-q", action="store_true", help="no line per process on stderr")
    return parser


def bench_main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    options = bench_parser().parse_args(arguments)
    return guarded("pullback bench", lambda: _bench(options))


def _sides(options: Any) -> list[dict[str, Any]]:
    """What is given to the processes of each side."""
    common = {"args": options.args, "seed": options.seed, "seconds": options.seconds, "parts": options.part}
    first = {"target": options.target, "engine": options.engine, "python": options.python or sys.executable,
             "device": options.device}
    changes = {"target": options.other, "engine": options.other_engine, "python": options.other_python,
               "device": options.other_device}
    second = {name: value if changes[name] is None else changes[name] for name, value in first.items()}
    return [side | common for side in ([first] if not any(changes.values()) else [first, second])]


def _bench(options: Any) -> int:
    if options.rounds < 2:
        raise UsageError(f"--rounds is {options.rounds}: from one process the noise cannot be told",
                         "give at least 2")
    if not options.seconds > 0 or (options.limit is not None and not options.limit > 0):
        raise UsageError("--seconds and --limit are positive numbers", "leave them out for the defaults")
    sides = _sides(options)
    for side in sides:
        path = side["target"].partition(":")[0]
        if not os.path.isfile(path):
            raise UsageError(f"there is no file {path!r}", "check the path")
    earlier = _earlier(options.against) if options.against else None
    with contextlib.ExitStack() as stack:
        found: list[dict[str, Any]] = [{"label": _label(side), "options": side, "rounds": []} for side in sides]
        environments = [stack.enter_context(environment(side["python"])) for side in sides]
        for number in range(options.rounds):  # in turn, so that what changes with time meets both
            for side, env, kept in zip(sides, environments, found):
                kept["rounds"].append(_round(side, env, kept["label"]))
                if not options.quiet:
                    print(f"{kept['label']}: process {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    pairs = [("second against first", found[0], found[1])] if len(found) > 1 else []
    if earlier is not None:
        pairs.append(("now against then", earlier, found[0]))
    comparisons = {title: _compared(one, other, options.seed) for title, one, other in pairs}
    report = _report(options, found, comparisons)
    show(report.text())
    return write_reports("pullback bench", report, options, lambda: json.dumps(
        {"schema": SCHEMA, "target": options.target, "machine": machine(),
         "revision": revision(options.target.partition(":")[0]), "sides": found, "comparisons": {
             title: {part: dataclasses.asdict(one) for part, one in parts.items()}
             for title, parts in comparisons.items()}}, indent=1))


def _label(side: dict[str, Any]) -> str:
    python = [] if side["python"] == sys.executable else [side["python"]]
    return " ".join([side["target"], "under", side["engine"], *([side["device"]] if side["device"] else []), *python])


def _round(side: dict[str, Any], env: dict[str, str], label: str) -> dict[str, Any]:
    """One process. What was compiled earlier is not used: a cold time is one of compiling."""
    clean = {name: value for name, value in env.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run([side["python"], "-m", "pullback.gate.bench.worker"], input=json.dumps(side), text=True,
                          stdout=subprocess.PIPE, env={**clean, "PULLBACK_CACHE": "off"})
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise UsageError(f"the process of {label} ended with exit code {done.returncode}",
                         "what it printed above says why") from None
    if "usage" in answer:
        message, _, fix = answer["usage"].partition("\n  fix: ")
        raise UsageError(f"{label}: {message}", fix)
    found: dict[str, Any] = answer["result"]
    return found


def _earlier(path: str) -> dict[str, Any]:
    """The first side of an earlier result."""
    fix = "give what `pullback bench --json FILE` has written"
    try:
        said = json.loads(Path(path).read_text())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", fix) from error
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}", fix) from error
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no result of this command, of the schema {SCHEMA!r}", fix)
    side: dict[str, Any] = said["sides"][0]
    return side


def _times(side: dict[str, Any], part: str) -> list[list[float]]:
    return [one["parts"][part]["milliseconds"] for one in side["rounds"] if part in one["parts"]]


def _compared(first: dict[str, Any], second: dict[str, Any], seed: int) -> dict[str, Comparison]:
    shared = [part for part in second["rounds"][0]["parts"] if part in first["rounds"][0]["parts"]]
    if not shared:
        raise UsageError(f"{first['label']} and {second['label']} have no part in common",
                         "compare results of one model")
    return {part: compared(_times(first, part), _times(second, part), seed) for part in shared}


def _report(options: Any, sides: list[dict[str, Any]], comparisons: dict[str, dict[str, Comparison]]) -> Report:
    """As a report: rows for each side, and for each comparison. A difference fails only beyond --limit."""
    name = options.target if len(sides) < 2 else f"{sides[0]['label']} and {sides[1]['label']}"
    report = Report(name, options.seed, {**sides[0]["rounds"][0]["environment"], "machine": machine()})
    for i, side in enumerate(sides):
        prefix = f"{('first', 'second')[i]}: " if len(sides) > 1 else ""
        report.results += [_side(side, part, f"{prefix}{part}") for part in side["rounds"][0]["parts"]]
        report.results.append(_cold(side, f"{prefix}process"))
    for title, parts in comparisons.items():
        for part, one in parts.items():
            result = Result(f"{part}: {title}", one.text())
            record = Recorder(result)
            record.measure(title, **dataclasses.asdict(one))
            if options.limit is not None and one.low > options.limit and one.exceeds:
                record.fail("takes longer than is allowed", measured=one.text(), expected=f"at most x{options.limit:g}",
                            leaf=part, fix="look at what changed; pullback diagnose says where two runs part")
            elif one.exceeds:
                record.note("differs by more than the noise", measured=one.text(), leaf=part)
            report.results.append(result)
    return report


def _side(side: dict[str, Any], part: str, title: str) -> Result:
    rounds = [one["parts"][part] for one in side["rounds"]]
    times = _times(side, part)
    said = summary(times)
    result = Result(title, f"warm {_ms(said['median'])}, p90 {_ms(said['p90'])}, p99 {_ms(said['p99'])}, largest "
                    f"{_ms(said['largest'])} ({said['count']:.0f} runs); cold: " + ", ".join(
                        f"{name} {_ms(_middle(one[name] for one in rounds))}" for name in _COLD if name in rounds[0]))
    record = Recorder(result)
    for number, one in enumerate(rounds, 1):
        record.measure(f"process {number}", milliseconds=one["milliseconds"])
    record.measure("warm, in ms", **said)
    record.measure("compilations", processes=[one["compilations"] for one in rounds])
    record.measure("MiB of the program", **rounds[0].get("memory of the program", {}))
    again = max(one["compilations"]["warm"] for one in rounds)
    if again:
        record.note("warm runs compile", measured=f"{again} compilations in {len(times[0])} runs", expected="none",
                    fix="pullback verify --only purity says what is compiled again")
    result.seconds = sum(map(sum, times)) / 1e3
    return result


def _cold(side: dict[str, Any], title: str) -> Result:
    rounds = side["rounds"]
    cold = {name: _middle(one["cold"][name] for one in rounds) for name in rounds[0]["cold"]}
    peak = max(one["memory"]["at most"] for one in rounds)
    result = Result(title, ", ".join(f"{name} {_ms(value)}" for name, value in cold.items())
                    + f"; {peak:.0f} MiB at most")
    record = Recorder(result)
    for number, one in enumerate(rounds, 1):
        record.measure(f"process {number}", cold=one["cold"], memory=one["memory"], before=one["machine"]["before"],
                       after=one["machine"]["after"])
    loads = [state["load"][0] for one in rounds for state in one["machine"].values() if state["load"]]
    cores = os.cpu_count() or 1
    if loads and max(loads) > 0.75 * cores:
        record.note("the machine was busy", measured=f"a load of {max(loads):.1f} on {cores} cores",
                    expected="next to nothing beside what is measured", fix="measure again on a quiet machine")
    clocks = [clock for one in rounds for state in one["machine"].values() for clock in state["MHz"]]
    if clocks and max(clocks) > 1.1 * min(clocks):
        record.note("the clock of the processor changed", measured=f"{min(clocks):.0f} to {max(clocks):.0f} MHz",
                    fix="fix the frequency, or compare sides that were measured in turn")
    result.seconds = sum(sum(one["cold"].values()) for one in rounds) / 1e3
    return result


def _middle(values: Any) -> float:
    found = sorted(values)
    return float(found[len(found) // 2])


def _ms(value: float) -> str:
    return f"{value:.3g} ms" if value < 1e4 else f"{value / 1e3:.3g} s"
