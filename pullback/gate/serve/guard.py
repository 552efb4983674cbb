"""The guard: which version answers, what is counted, when it goes back. It knows nothing of HTTP.

Logs and metrics have versions, sizes, times and kinds of refusals; never a value of a request or of a result.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.serve.limits import Limits, Seen, Window
from pullback.gate.serve.predictor import Predictor
from pullback.gate.serve.requests import RefusedRequest, parsed
from pullback.gate.serve.versions import AUTOMATIC, State, Versions
from pullback.gate.store.arrays import library
from pullback.gate.values import distance, is_float

__all__ = ["Guard", "Metrics"]

_log = logging.getLogger("pullback.serve")
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SHARES = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 100.0)
_LOOK = 2.0  # seconds between two looks at the versions in the store


class Metrics:
    """What is counted, for Prometheus; a registry of its own."""

    def __init__(self, compilations: Callable[[], int]) -> None:
        client = library("prometheus_client")
        self.client, self.registry = client, client.CollectorRegistry()

        def made(kind: str, name: str, text: str, labels: tuple[str, ...] = (), **rest: Any) -> Any:
            return getattr(client, kind)(f"pullback_{name}", text, labels, registry=self.registry, **rest)

        self.seconds = made("Histogram", "request_seconds", "Latency of answered requests", ("version",),
                            buckets=_SECONDS)
        self.refused = made("Counter", "refused", "Requests that were not let in", ("kind",))
        self.failed = made("Counter", "errors", "Requests on which the model raised", ("version", "role"))
        self.not_finite = made("Counter", "not_finite", "Results that were not finite", ("version", "role"))
        self.objects = made("Counter", "objects", "Objects in answered requests", ("version",))
        self.shadow = made("Counter", "shadow", "Shadow runs of the candidate", ("version", "verdict"))
        self.share = made("Histogram", "shadow_difference", "Its difference in shares of the tolerance", ("version",),
                          buckets=_SHARES)
        self.shadow_seconds = made("Histogram", "shadow_seconds", "Latency of the candidate", ("version",),
                                   buckets=_SECONDS)
        self.version = made("Gauge", "version", "The number of the version", ("role",))
        self.back = made("Counter", "rollbacks", "Versions that were taken out because of limits", ("version", "role"))
        made("Gauge", "compilations", "Programs compiled by this process").set_function(compilations)

    def text(self) -> tuple[bytes, str]:
        """In the text format, and its content type."""
        return self.client.generate_latest(self.registry), self.client.CONTENT_TYPE_LATEST


class Guard:
    """Answers requests with the promoted version, and watches it and its candidate.

    Args:
      versions: the store; `follow` looks at it again every two seconds, so that promote and rollback take effect.

    Raises:
      UsageError: no version is promoted, or it does not run.
    """

    def __init__(self, versions: Versions, engine: Engine, limits: Limits) -> None:
        self.versions, self.engine, self.limits = versions, engine, limits
        self.metrics = Metrics(engine.compilations)
        self.current: Predictor | None = None
        self.candidate: Predictor | None = None
        self.previous: Predictor | None = None  # kept ready: the way back takes no time
        self._windows: dict[int, Window] = {}
        self._distrusted: set[int] = set()  # taken out by this process, whatever the store says
        self._known, self._stale = -1, False  # events taken in; whether a spare is to be loaded anew
        # For windows; for changes of versions, which may take as long as compiling does; for the shadow.
        self._lock, self._change, self._in_shadow = threading.Lock(), threading.RLock(), threading.Lock()
        self._closed = threading.Event()
        self.refresh(strict=True)
        if self.current is None:
            raise UsageError(f"no version is promoted in {versions.folder!r}",
                             "promote one: pullback promote FILE --versions DIR --reason 'why'")

    def close(self) -> None:
        """Lets go of the loaded versions."""
        self._closed.set()
        for one in (self.current, self.candidate, self.previous):
            if one is not None:
                one.close()

    # -- versions ----------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Looks for new events until the guard is closed; for a thread of its own, so that no request waits."""
        while not self._closed.wait(_LOOK):
            self.refresh()

    def refresh(self, strict: bool = False) -> None:
        """Takes in what has been promoted, rolled back or withdrawn since; a version that does not load is not used."""
        with self._change:
            try:
                if self.versions.count() == self._known and not self._stale:
                    return
                state = self.versions.state()
                if state.events > self._known and state.chosen is not None:
                    self._distrusted.discard(state.chosen)  # somebody knows better
                self._adopt(state)
                self._known, self._stale = state.events, False
            except UsageError as error:
                if strict:
                    raise
                _log.error("the versions cannot be taken in, the loaded ones stay: %s", str(error).splitlines()[0])

    def _adopt(self, state: State) -> None:
        trusted = [number for number in state.served if number not in self._distrusted]
        serving, earlier = trusted[-1] if trusted else None, trusted[-2] if len(trusted) > 1 else None
        candidate = None if state.candidate in self._distrusted else state.candidate
        there = {one.number: one for one in (self.current, self.candidate, self.previous) if one is not None}

        def loaded(number: int | None) -> Predictor | None:
            if number is None:
                return None
            return there.get(number) or Predictor(self.versions.version(number), self.engine, self.limits)

        def spare(number: int | None) -> Predictor | None:
            try:
                return loaded(number)
            except UsageError as error:  # the version that serves must not suffer from it
                _log.error("version %d is not used: %s", number, str(error).splitlines()[0])
                return None

        self._use(loaded(serving), spare(candidate), spare(earlier), there)

    def _use(self, current: Predictor | None, candidate: Predictor | None, previous: Predictor | None,
             before: dict[int, Predictor]) -> None:
        for role, one, old in (("current", current, self.current), ("candidate", candidate, self.candidate)):
            self.metrics.version.labels(role).set(one.number if one else 0)
            if one is not None and one is not old:
                self._windows[one.number] = Window(self.limits)
                _log.info("version %d is %s", one.number, role)
        self.current, self.candidate, self.previous = current, candidate, previous
        for one in before.values():
            if one not in (current, candidate, previous):
                one.close()

    def _take_out(self, number: int, why: str) -> None:
        """A version broke a limit: the candidate is withdrawn, the promoted one makes room for the one before."""
        with self._change:
            there = {one.number: one for one in (self.current, self.candidate) if one is not None}
            if number not in there or number in self._distrusted:
                return
            role = "candidate" if self.candidate and self.candidate.number == number else "current"
            if role == "current" and self.previous is None:
                _log.error("version %d breaks a limit and there is none to go back to: %s", number, why)
                self._windows[number] = Window(self.limits)
                return
            self._distrusted.add(number)
            self.metrics.back.labels(str(number), role).inc()
            _log.error("version %d (%s) is taken out: %s", number, role, why)
            if role == "candidate":
                self._use(self.current, None, self.previous, there)
            else:
                self._use(self.previous, self.candidate, None, there)
            self._stale = True  # another one is made ready for the way back when events are looked at next
            try:
                if role == "candidate":
                    self.versions.withdraw(AUTOMATIC + why)
                else:
                    self.versions.rollback(AUTOMATIC + why)
            except UsageError as error:  # a full disk must not keep a bad version serving
                _log.error("this could not be written down: %s", str(error).splitlines()[0])

    # -- requests ----------------------------------------------------------------------------------------

    def refuse(self, error: RefusedRequest) -> RefusedRequest:
        """Counts a refusal."""
        self.metrics.refused.labels(error.kind).inc()
        _log.info("refused: %s", error.kind)
        return error

    def answer(self, body: bytes) -> tuple[dict[str, Any], Callable[[], None] | None]:
        """The answer to a request, and what is to be done after it is sent: the shadow run.

        Raises:
          RefusedRequest: the request is not let in, or the model has no finite result for it.
        """
        one, candidate = self.current, self.candidate
        assert one is not None
        started = time.perf_counter()
        try:
            leaves, size = one.checked(parsed(body))
        except RefusedRequest as error:
            raise self.refuse(error) from None
        outputs, seen = self._run(one, leaves, size, "current")
        seconds = time.perf_counter() - started
        self._judge(one.number, seen._replace(seconds=seconds))
        if outputs is None or seen.broken:
            raise RefusedRequest(500, "no result", "the model has no finite result for these inputs" if outputs else
                                 "the model raised an error")
        self.metrics.seconds.labels(str(one.number)).observe(seconds)
        self.metrics.objects.labels(str(one.number)).inc(size)
        _log.info("answered: version %d, %d objects, %.2f ms", one.number, size, 1e3 * seconds)
        shadow = None if candidate is None else lambda: self._shadow(candidate, one, leaves, size, outputs)
        lists = {path: x.tolist() if hasattr(x, "tolist") else x for path, x in outputs.items()}
        return {"version": one.number, "outputs": lists[""] if set(lists) == {""} else lists}, shadow

    def _run(self, one: Predictor, leaves: list[Any], size: int, role: str
             ) -> tuple[dict[str, np.ndarray] | None, Seen]:
        started = time.perf_counter()
        try:
            outputs = one.predict(leaves, size)
        except Exception as error:  # its message may have values in it
            self.metrics.failed.labels(str(one.number), role).inc()
            _log.error("version %d (%s) raised %s", one.number, role, type(error).__name__)
            return None, Seen(time.perf_counter() - started, broken=True)
        finite = all(bool(np.all(np.isfinite(np.asarray(x, "complex128")))) for x in outputs.values() if is_float(x))
        if not finite:
            self.metrics.not_finite.labels(str(one.number), role).inc()
        return outputs, Seen(time.perf_counter() - started, broken=not finite)

    def _judge(self, number: int, seen: Seen) -> None:
        with self._lock:
            window = self._windows.get(number)
            why = window.add(seen) if window is not None else ""
        if why:
            self._take_out(number, why)

    def _shadow(self, candidate: Predictor, one: Predictor, leaves: list[Any], size: int,
                outputs: dict[str, np.ndarray]) -> None:
        """The same request on the candidate, compared with what was answered."""
        if candidate is not self.candidate or not self._in_shadow.acquire(blocking=False):
            return  # shadows do not queue up
        try:
            self._compare(candidate, one, leaves, size, outputs)
        finally:
            self._in_shadow.release()

    def _compare(self, candidate: Predictor, one: Predictor, leaves: list[Any], size: int,
                 outputs: dict[str, np.ndarray]) -> None:
        found, seen = self._run(candidate, leaves, size, "candidate")
        share, label = 0.0, str(candidate.number)
        if found is not None:
            same = found.keys() == outputs.keys() and all(
                np.shape(found[path]) == np.shape(x) for path, x in outputs.items())
            share = max((self._share(one, path, x, found[path]) for path, x in outputs.items()), default=0.0
                        ) if same else float("inf")
            self.metrics.share.labels(label).observe(share)
            self.metrics.shadow_seconds.labels(label).observe(seen.seconds)
        verdict = "error" if found is None else "equal" if share == 0 else "within" if share <= 1 else "beyond"
        self.metrics.shadow.labels(label, verdict).inc()
        self._judge(candidate.number, seen._replace(differs=share > 1))

    def _share(self, one: Predictor, path: str, old: Any, new: Any) -> float:
        """The difference of two leaves as a share of the tolerance."""
        gap = distance(old, new)
        tolerance = one.session.tolerance(one.session.shown("outputs", path), old)
        relative = tolerance.relative if self.limits.tolerance is None else self.limits.tolerance
        bound = tolerance.absolute + relative * gap.scale
        return gap.largest / bound if bound else float("inf") if gap.largest else 0.0
