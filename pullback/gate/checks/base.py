"""What a check is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pullback.gate.report import Recorder
from pullback.gate.session import Session

__all__ = ["Check"]


class Check(NamedTuple):
    """A check: its identifier, one line that says what holds when it passes, and the function that runs it.

    Where it is several things that can be looked at one by one, `parts` are these.
    """

    name: str
    description: str
    run: Callable[[Session, Recorder], None]
    parts: tuple[Callable[[Session, Recorder], None], ...] = ()
