"""Running the checks."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from pullback.gate.blame import written
from pullback.gate.checks import CHECKS, Check
from pullback.gate.engine import Engine, load
from pullback.gate.errors import ContractError, UsageError
from pullback.gate.machine import machine, revision
from pullback.gate.model import DEFAULT, Model, Tolerance
from pullback.gate.repair import search
from pullback.gate.report import Recorder, Report, Result
from pullback.gate.session import Session
from pullback.gate.sites import of_error, of_function
from pullback.gate.subject import params_digest
from pullback.gate.watch import Watch

__all__ = ["chosen", "verify", "verify_in"]


def chosen(only: Sequence[str]) -> list[Check]:
    """The checks of the given names; all if there are none.

    Raises:
      UsageError: there is no check of a name.
    """
    names = [check.name for check in CHECKS]
    for name in only:
        if name not in names:
            raise UsageError(f"there is no check {name!r}; there are {', '.join(names)}",
                             "choose among them with --only")
    return [check for check in CHECKS if not only or check.name in only]


def verify(model: Model | Callable[..., Model], engine: str = "pullback", only: Sequence[str] = (), seed: int = 0,
           repair: bool = True) -> Report:
    """Runs the checks on a model.

    Args:
      model: a Model, or a function that makes one, which is better: reasons that are proved by changing a call (a
        stop_gradient, a custom rule) can only be found in functions made while the gate looks. It is called with
        the engine's module (`jax` or `pullback`) if it takes an argument.
      engine: "pullback" or "jax".
      only: names of checks; all if empty.
      seed: of everything random.
      repair: where a failure names no line but that where a function begins, look for an edit that makes it hold, for
        some seconds, to name its line. Functions of the model are run many times.

    Returns:
      The Report.

    Raises:
      UsageError: the engine or a check does not exist, or the model makes no sense.

    Example:
      >>> from pullback import gate
      >>> def build(jax):
      ...     def loss(w, x):
      ...         return jax.numpy.mean(jax.numpy.tanh(x @ w))
      ...     return gate.Model(loss, jax.numpy.ones(3), (jax.numpy.ones((2, 3)),))
      >>> gate.verify(build, only=["flow"]).outcome
      'passed'
    """
    checks = chosen(only)
    loaded = load(engine)
    with Watch(loaded) as watch:
        watch.late = isinstance(model, Model)
        if not isinstance(model, Model):
            model = model(*[loaded.module("")][:_positional(model)])
        return verify_in(watch, loaded, model, checks, seed, repair=repair)


def _positional(function: Callable[..., Any]) -> int:
    code = getattr(function, "__code__", None)
    return 0 if code is None else code.co_argcount


def verify_in(watch: Watch, engine: Engine, model: Model, checks: Sequence[Check], seed: int = 0,
              tell: Callable[[Result], None] = lambda result: None, name: str = "", repair: bool = True) -> Report:
    """As `verify`, within an active watch; `tell` is called with every result, `name` is for the report."""
    if not isinstance(model, Model):
        raise UsageError(f"a {type(model).__name__} was given where a gate.Model is required",
                         "return gate.Model(loss, params, batch)")
    report = Report(model.name or name or getattr(model.loss or model.forward, "__name__", "model"), seed,
                    _environment(engine, model),
                    tolerances=_tolerances(model))
    session: Session | None = None
    broken: Result | None = None
    for check in checks:
        result = Result(check.name, check.description)
        started = time.perf_counter()
        try:
            if broken is not None:
                Recorder(result).skip(f"the model does not run: see {broken.check}")
            else:
                if session is None:
                    session = _started(model, engine, watch, seed, result)
                    if session is None:
                        broken = result
                    else:
                        report.environment["subject"] = {"params": params_digest(session.params)}
                if session is not None:
                    check.run(session, Recorder(result))
        except UsageError as error:
            Recorder(result).fail("the model is not usable", measured=str(error).split("\n  fix: ")[0],
                                  fix=str(error).partition("\n  fix: ")[2])
        except KeyboardInterrupt:
            report.interrupted = True
            Recorder(result).skip("interrupted")
        except Exception as error:
            _raised(engine, result, error)
        result.seconds = time.perf_counter() - started
        report.results.append(result)
        tell(result)
        if report.interrupted:
            break
    if repair and session is not None and not report.interrupted and report.outcome == "failed":
        try:
            search.repair(session, report)
        except KeyboardInterrupt:  # the checks have run, and what they found is not lost
            report.interrupted = True
    return report


def _tolerances(model: Model) -> dict[str, Any]:
    """The defaults, and what the model declares, with reasons."""
    used = {f"default of {dtype}": Tolerance(bound, reason="the default") for dtype, bound in DEFAULT.items()}
    return {place: dataclasses.asdict(tolerance) for place, tolerance in {**used, **model.tolerances}.items()}


def _environment(engine: Engine, model: Model) -> dict[str, Any]:
    """What the numbers of a report depend on beside the model."""
    site = of_function(model.loss or model.forward)
    return {**engine.environment(), "machine": machine(), "revision": revision(site.file) if site else None}


def _started(model: Model, engine: Engine, watch: Watch, seed: int, result: Result) -> Session | None:
    """The session, once the model has run on its standard batch; None, with the failure in the result, if not."""
    try:
        session = Session(model, engine, watch, seed)
        session.evaluate()
    except UsageError:
        raise
    except Exception as error:
        _raised(engine, result, error, "the model does not run on its standard batch", model)
        return None
    return session


def _raised(engine: Engine, result: Result, error: Exception, what: str = "", model: Model | None = None) -> None:
    """An error in the user's code is a failure of the check; one of the gate's own is an error."""
    from_user = of_error(error, engine.folders)
    if model is not None and isinstance(error, ContractError):  # the guard says which of the standard values it is
        from_user = from_user or written(model, *error.leaf.split("/", 1))
    shown = f"{type(error).__name__}: {error}"
    if from_user is None and not what and not isinstance(error, ContractError):
        result.status = "error"
        result.reason = shown + "\n" + "".join(traceback.format_exception(error))
    else:
        Recorder(result).fail(what or "the model raises", measured=shown.splitlines()[0][:300], expected="no error",
                              line=from_user, leaf=error.leaf if isinstance(error, ContractError) else "",
                              fix="run this line by itself first; the whole message:\n" + shown if "\n" in shown else
                              "mend this line, or the values that are passed to it")
