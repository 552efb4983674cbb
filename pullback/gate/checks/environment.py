"""environment: the settings are those that the model counts on, nothing changes them, and the report has them all."""

from __future__ import annotations

from pullback.gate.checks.base import Check
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.sites import of_function

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    model = session.model
    now = session.engine.settings()
    line = of_function(session.function())
    for name, wanted in model.settings.items():
        found = session.engine.setting(name)
        record.measure("declared setting", name=name, value=found)
        if found != wanted:
            record.fail("a setting is not what the model counts on", measured=f"{name} is {found!r}",
                        expected=repr(wanted), line=session.watch.settings.get(name, line),
                        fix=f"set it before anything is traced: jax.config.update({name!r}, {wanted!r})")
    for name, before in session.settings.items():
        if now.get(name) != before:
            record.fail("the model changes a setting of the engine while it runs",
                        line=session.watch.settings.get(name, line), expected=repr(before),
                        measured=f"{name} is {now.get(name)!r} now",
                        fix="set it once, where the program starts, and not inside of a function")
    record.measure("settings", **now)


CHECK = Check("environment", "settings are as declared, and the functions leave them alone", _run)
