"""Trying an edit: checks are run again on the edited functions, and end at the first thing that is wrong."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pullback.gate.repair.edits import Edit, NotPossible, installed
from pullback.gate.report import Recorder, Result
from pullback.gate.session import Session

__all__ = ["Part", "Trial", "Watchdog", "quiet"]

_POLL = 0.02  # seconds
_LEAST = 0.3  # seconds for an edit, beside what the checks take without one: it may need something compiled
_CLOCK = 3.0  # seconds by the clock for each of the processor, where other work has it, or the engine has threads


class _Failed(BaseException):
    """Something does not hold; no `except Exception` of a check stops it."""


class _Skipped(_Failed):
    """There is nothing to look at."""


class _Late(BaseException):
    """An edit runs too long."""


class _Strict(Recorder):
    """Ends the check at the first failure, and where it finds that it cannot look; notes how near values are."""

    def __init__(self, check: str) -> None:
        super().__init__(Result(check, ""))
        self.distance = 0.0  # of the worst, in tolerances

    def measure(self, what: str, **values: Any) -> None:
        difference, tolerance = values.get("difference"), values.get("tolerance")
        if difference is not None and tolerance:
            self.distance = max(self.distance, difference / tolerance)

    def fail(self, what: str, **parts: Any) -> None:
        raise _Failed(what)

    def skip(self, reason: str) -> None:
        raise _Skipped(reason)


@dataclasses.dataclass(eq=False)
class Part:
    """A check, or a part of it, that holds or does not.

    Args:
      check: the name of the check.
      run: what is run.
      failed: whether it did not hold before any edit.
      skipped: whether the last run had nothing to look at.
      distance: how far off values were in the last run, in tolerances.
    """

    check: str
    run: Callable[[Session, Recorder], None]
    failed: bool = False
    skipped: bool = False
    distance: float = 0.0
    runs: int = 0
    kills: int = 0
    seconds: float = 0.0  # of all runs
    usual: float = 0.0  # seconds of the run without an edit

    @property
    def price(self) -> float:
        """Seconds that it takes to be rid of a bad edit."""
        return self.seconds / max(self.runs, 1) * (self.runs + 2) / (self.kills + 1)

    def holds(self, session: Session) -> bool:
        """Whether nothing fails; an error of the model is a failure."""
        started = time.thread_time()
        fine = self.skipped = False
        record = _Strict(self.check)
        try:
            self.run(session, record)
            fine = True
        except (_Failed, Exception) as error:
            self.skipped = isinstance(error, _Skipped)
        finally:
            self.distance = record.distance
            self.runs += 1
            self.kills += not fine
            self.seconds += time.thread_time() - started
        return fine


class Watchdog:
    """Ends what runs longer than it may, in the thread that made it.

    Time is that of the thread's processor where the system tells it: other work on the machine does not count.
    Where what was raised was lost, in a destructor or a callback of the garbage collector, it is raised again.
    """

    def __init__(self) -> None:
        self._lock, self._until, self._until_by_clock = threading.Lock(), 0.0, 0.0
        self._fired = self._inside = False
        self._ended = threading.Event()
        self._thread_id = threading.get_ident()

    def __enter__(self) -> Watchdog:
        self._report = sys.unraisablehook
        sys.unraisablehook = self._lost
        self._thread = threading.Thread(target=self._watch, name="gate repair watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._thread.join()
        sys.unraisablehook = self._report

    def _lost(self, what: Any) -> None:
        if what.exc_type is not _Late:
            self._report(what)
        elif self._inside:
            self._until, self._fired = 1e-9, False  # at once

    def _watch(self) -> None:
        while not self._ended.wait(_POLL):
            with self._lock:
                if self._until and (self._now() > self._until or time.monotonic() > self._until_by_clock):
                    self._until, self._fired = 0.0, True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread_id),
                                                               ctypes.py_object(_Late))

    def _now(self) -> float:
        if not hasattr(time, "pthread_getcpuclockid"):
            return time.monotonic()
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread_id))

    @contextlib.contextmanager
    def limit(self, seconds: float, by_clock: float) -> Iterator[None]:
        """Inside, _Late is raised after seconds of the processor, or after some by the clock."""
        with self._lock:
            self._until, self._until_by_clock = self._now() + seconds, time.monotonic() + by_clock
            self._fired, self._inside = False, True
        arrived = False
        try:
            yield
        except _Late:
            arrived = True
            raise
        finally:
            self._inside = False
            with self._lock:
                self._until = 0.0
            if self._fired and not arrived:  # it is on its way, or a bare except has had it
                with contextlib.suppress(_Late):
                    _give_way()


def _give_way() -> None:
    """Lets an error from another thread arrive; in a frame of its own: at a jump of a loop 3.13 misses its handlers."""
    for _ in range(1000):
        time.sleep(0)


class Trial:
    """Tries edits on a session, for some seconds of this thread's processor, and not much longer by the clock."""

    def __init__(self, session: Session, watchdog: Watchdog, seconds: float) -> None:
        # Nothing is compiled for one run; whether loops are is what `choose` decides.
        self.session, self.watchdog, self.seconds = session.again(session.engine.as_written()), watchdog, seconds
        self.began, self.began_thread = time.monotonic(), time.thread_time()
        self.loops = False
        self.count = 0
        self.distances: dict[Edit, float] = {}  # of edits with which all holds, how far off values are, in tolerances

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Ends what is inside when the time is over."""
        with contextlib.suppress(_Late), self._limit():
            yield

    def _limit(self, seconds: float = float("inf")) -> AbstractContextManager[None]:
        """Of the time that is left, at most so many seconds."""
        return self.watchdog.limit(min(seconds, max(self.seconds - self.spent, 0.05)), max(self.left, 0.05))

    @contextlib.contextmanager
    def mode(self) -> Iterator[None]:
        """Inside, the user's compiled functions run as written, and loops too unless they are compiled."""
        with self.session.watch.eagerly(), contextlib.nullcontext() if self.loops else self.session.engine.eager():
            yield

    def choose(self, run: Callable[[], Any]) -> None:
        """Finds out whether something is quicker with loops compiled."""
        times = {}
        for self.loops in (False, True):
            for _ in range(2):  # the first run may compile what is used again
                started = time.thread_time()
                with contextlib.suppress(_Late), self._limit(self.seconds / 4), self.mode():
                    run()
                times[self.loops] = time.thread_time() - started
                if times[self.loops] > 4 * min(times.values()):
                    break
        self.loops = times[True] < times[False]

    @property
    def left(self) -> float:
        """Seconds by the clock, at most."""
        return self.began + _CLOCK * self.seconds - time.monotonic()

    @property
    def spent(self) -> float:
        return time.thread_time() - self.began_thread

    @property
    def over(self) -> bool:
        return self.left < 0 or self.spent > self.seconds

    def before(self, part: Part) -> bool:
        """Notes whether a part holds without an edit; False if it has nothing to look at, or takes too long to say."""
        try:
            with self._limit(), self.mode():
                part.seconds, part.runs = 0.0, 0
                part.failed = not part.holds(self.session)
        except _Late:
            return False
        part.kills, part.usual = 0, part.seconds  # no edit has been tried
        return not part.skipped

    def survives(self, edit: Edit, parts: Sequence[Part]) -> bool:
        """Whether all parts hold with the edit made."""
        self.count += 1
        limit = _LEAST + 10 * sum(part.usual for part in parts)
        try:
            gc.freeze()  # a collection of all that the process has would take longer than an edit may
            with self._limit(limit), installed([edit]), self.mode():
                if not all(part.holds(self.session) for part in sorted(parts, key=lambda part: part.price)):
                    return False
            far = [part.distance for part in parts if part.failed]
            self.distances[edit] = max([self.distances.get(edit, 0.0), *far])
            return True
        except (NotPossible, _Late, RecursionError, MemoryError):
            return False
        finally:
            gc.unfreeze()
            for thing in edit.function.objects:  # once more: _Late may come at any moment
                thing.__code__ = edit.function.code

    def value(self, edit: Edit | None) -> str:
        """The loss at parameters with noise, as text; with an edit, if one is given."""
        session, engine = self.session, self.session.engine
        try:
            with self._limit(2.0), installed([edit] if edit is not None else []), self.mode():
                return str(engine.call(session.objective, *session.split(session.jittered()), session.batch.leaves,
                                       session.objective_key))
        except (NotPossible, _Late, Exception):
            return ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that an edit prints or warns of is shown."""
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing), \
            warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
