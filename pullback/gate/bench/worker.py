"""One process that is measured: options as JSON on stdin, what was measured as JSON on stdout.

    python -m pullback.gate.bench.worker
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.bare import bare_function
from pullback.gate.engine import load
from pullback.gate.errors import UsageError
from pullback.gate.machine import load_and_clock
from pullback.gate.parts import available, key_of, part_function
from pullback.gate.precision import check_device, choose_device
from pullback.gate.report import plain, shown
from pullback.gate.session import Session
from pullback.gate.sites import of_error
from pullback.gate.target import find_model, load_file, named
from pullback.gate.values import digest
from pullback.gate.watch import Watch

__all__ = ["measure"]

_FEWEST, _MOST = 20, 2000  # runs that are kept
_WARM_UP = 5


def measure(options: dict[str, Any]) -> dict[str, Any]:
    """What one process shows of a model.

    Args:
      options: target, args, engine, device, seed, seconds (of warm runs, for each part), parts (names; all if empty).

    Returns:
      Times in milliseconds (cold ones apart), memory in MiB, counts of compilations, the machine before and after.

    Raises:
      UsageError: the target cannot be loaded, or does not run.
    """
    path, _, name = options["target"].partition(":")
    before = load_and_clock()
    choose_device(options["device"])
    engine, import_engine = _timed(lambda: load(options["engine"], serve=True))
    check_device(engine, options["device"])
    module, import_file = _timed(lambda: load_file(path, engine))
    if options["args"] is not None:
        function = named(module, path, name, "--args needs the name of a function")
        model: Any = bare_function(function, options["args"], engine, options["seed"], options["target"])
    else:
        model = find_model(module, path, name)
    package = engine.module("")
    assert package is not None
    _, start = _timed(lambda: package.block_until_ready(engine.jit(lambda x: x + 1)(1.0)))
    memory = {"after imports": _resident()}
    try:
        # The watch is not entered: nothing of the user's calls is looked at, so that nothing of them is slower.
        session, make_params = _timed(lambda: Session(model, engine, Watch(engine), options["seed"]))
        chosen = [part for part in available(session) if not options["parts"] or part in options["parts"]]
        if not chosen:
            raise UsageError(f"the model has none of {', '.join(options['parts'])}; it has "
                             f"{', '.join(available(session))}", "choose among them with --part")
        parts = {part: _part(session, part, options["seconds"], package) for part in chosen}
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{options['target']} does not run: {shown(error)}\n  at "
                         f"{of_error(error, engine.folders) or path}", "pullback verify says more; mend the model first"
                         ) from error
    return {"cold": {"import of the engine": import_engine, "import of the file": import_file,
                     "start of the compiler": start, "making parameters": make_params},
            "parts": parts, "memory": memory | {"at the end": _resident(), "at most": _peak()},
            "machine": {"before": before, "after": load_and_clock()}, "environment": engine.environment(),
            "batch": [digest(leaf) for leaf in session.batch.leaves]}


def _part(session: Session, part: str, seconds: float, package: Any) -> dict[str, Any]:
    """One part of the model: an update is called as it is, anything else compiled as a whole."""
    engine = session.engine
    args = [engine.from_numpy(x) for x in (session.params.leaves, session.batch.leaves, key_of(session, part))]
    function = part_function(session, part)
    count, found = engine.compilations(), dict[str, Any]()
    if part == "updated":
        run = function
    else:
        jitted: Any = engine.jit(function)
        traced, found["trace"] = _timed(lambda: jitted.trace(*args))
        lowered, found["lower"] = _timed(traced.lower)
        compiled, found["compile"] = _timed(lowered.compile)
        found["memory of the program"] = _analysis(compiled)
        run = jitted
    before = engine.compilations()
    _, found["first call"] = _timed(lambda: package.block_until_ready(run(*args)))
    found["warm-up"] = [_timed(lambda: package.block_until_ready(run(*args)))[1] for _ in range(_WARM_UP)]
    warm = engine.compilations()
    found["milliseconds"] = _times(lambda: package.block_until_ready(run(*args)), seconds)
    found["compilations"] = {"before the first call": before - count, "first call and warm-up": warm - before,
                             "warm": engine.compilations() - warm}
    return found


def _times(run: Callable[[], Any], seconds: float) -> list[float]:
    """All of them, in order."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < _FEWEST or (len(times) < _MOST and time.perf_counter() < end):
        times.append(_timed(run)[1])
    return times


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = run()
    return result, round(1e3 * (time.perf_counter() - started), 5)


def _analysis(compiled: Any) -> dict[str, float]:
    """MiB that the compiled program takes, as far as the engine says."""
    try:
        said = compiled.memory_analysis()
    except Exception:  # not every backend has it
        return {}
    names = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    return {name.partition("_")[0]: round(getattr(said, name) / 2**20, 4) for name in names if hasattr(said, name)}


def _resident() -> float:
    try:
        with open("/proc/self/statm") as file:
            return round(int(file.read().split()[1]) * resource.getpagesize() / 2**20, 2)
    except OSError:  # no such file here
        return _peak()


def _peak() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(used / (2**20 if sys.platform == "darwin" else 2**10), 2)


def _main() -> None:
    """Answers on the standard output that was there; what the model prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    np.seterr(all="ignore")
    try:
        answer = {"result": plain(measure(json.load(sys.stdin)))}
    except UsageError as error:
        answer = {"usage": str(error)}
    except KeyboardInterrupt:
        os._exit(2)
    answers.write(json.dumps(answer))
    answers.flush()


if __name__ == "__main__":
    _main()
