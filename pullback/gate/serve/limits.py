"""What is allowed of requests and of versions, and the window in which a version is judged."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import NamedTuple

import numpy as np

from pullback.gate.errors import UsageError

__all__ = ["Limits", "Seen", "Window"]


@dataclasses.dataclass(frozen=True)
class Limits:
    """What is allowed.

    Args:
      objects: in one request; sizes between powers of two are filled up, so this also bounds compilations.
      bytes: of a request's body.
      waiting: requests at one time; more are sent away, to come again.
      window: the last so many requests judge a version.
      least: before so many, a version is not judged.
      broken: the share of requests that may end in an error or in a result that is not finite.
      milliseconds: the 99th percentile of latency (None: any).
      differing: the share of shadow runs in which the candidate's result may differ.
      tolerance: by how much, relative to the largest value (None: the tolerances of the model).
    """

    objects: int = 64
    bytes: int = 2**20
    waiting: int = 16
    window: int = 200
    least: int = 20
    broken: float = 0.0
    milliseconds: float | None = None
    differing: float = 0.0
    tolerance: float | None = None

    def __post_init__(self) -> None:
        for name in ("objects", "bytes", "waiting", "window", "least"):
            if getattr(self, name) < 1:
                raise UsageError(f"the limit {name} is {getattr(self, name)}", "give a number of at least 1")
        for name in ("broken", "differing"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"the limit {name} is {getattr(self, name)}", "give a share from 0 to 1")
        if self.least > self.window:
            raise UsageError(f"a window of {self.window} requests never has the least number, {self.least}",
                             "give a larger window")


class Seen(NamedTuple):
    """What one request, or one shadow run, said of a version."""

    seconds: float
    broken: bool = False
    differs: bool = False


class Window:
    """The last requests of one version."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.seen: deque[Seen] = deque(maxlen=limits.window)

    def add(self, one: Seen) -> str:
        """Takes in one; returns which limit the version breaks, or ""."""
        self.seen.append(one)
        limits, count = self.limits, len(self.seen)
        if count < limits.least:
            return ""
        broken, differing = (sum(part) / count for part in zip(*((s.broken, s.differs) for s in self.seen)))
        if broken > limits.broken:
            return f"{broken:.3g} of {count} requests ended in an error or a result that is not finite, allowed are " \
                   f"{limits.broken:g}"
        if differing > limits.differing:
            return f"{differing:.3g} of {count} results differ from those of the version that serves, allowed are " \
                   f"{limits.differing:g}"
        if limits.milliseconds is not None:
            slow = 1e3 * float(np.quantile([s.seconds for s in self.seen], 0.99))
            if slow > limits.milliseconds:
                return f"99 % of {count} requests took up to {slow:.4g} ms, allowed are {limits.milliseconds:g}"
        return ""
