"""Events of libraries, handed to the listeners that are registered for them (jax.monitoring).

pullback records no events of its own here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core import errors

__all__ = ["clear_event_listeners", "record_event", "record_event_duration_secs", "record_event_time_span",
           "record_scalar", "register_event_duration_secs_listener", "register_event_listener",
           "register_event_time_span_listener", "register_scalar_listener", "unregister_event_duration_listener",
           "unregister_event_listener", "unregister_event_time_span_listener", "unregister_scalar_listener"]

Listener = Callable[..., None]

_events: list[Listener] = []
_durations: list[Listener] = []
_spans: list[Listener] = []
_scalars: list[Listener] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Calls each listener for events with `event` and the metadata.

    Example:
      >>> from pullback import monitoring
      >>> monitoring.register_event_listener(lambda event, **metadata: print(event, metadata))
      >>> monitoring.record_event("/app/saved", step=3)
      /app/saved {'step': 3}
      >>> monitoring.clear_event_listeners()
    """
    for listener in list(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Calls each listener for durations with `event`, the seconds it took and the metadata."""
    for listener in list(_durations):
        listener(event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Calls each listener for spans with `event`, its start and end in seconds, and the metadata."""
    for listener in list(_spans):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Calls each listener for numbers with `event`, a number and the metadata."""
    for listener in list(_scalars):
        listener(event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """`callback(event, **metadata)` hears of every event from now on."""
    _events.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """`callback(event, duration, **metadata)` hears of every duration from now on."""
    _durations.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """`callback(event, start_time, end_time, **metadata)` hears of every span from now on."""
    _spans.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """`callback(event, value, **metadata)` hears of every number from now on."""
    _scalars.append(callback)


def _remove(listeners: list[Listener], callback: Any) -> None:
    if callback not in listeners:
        raise errors.value_error(f"{callback!r:.60} is not registered", fix="register it first")
    listeners.remove(callback)


def unregister_event_listener(callback: Listener) -> None:
    """`callback` hears of no event any more.

    Raises:
      ValueError: it is not registered.
    """
    _remove(_events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """`callback` hears of no duration any more.

    Raises:
      ValueError: it is not registered.
    """
    _remove(_durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """`callback` hears of no span any more.

    Raises:
      ValueError: it is not registered.
    """
    _remove(_spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """`callback` hears of no number any more.

    Raises:
      ValueError: it is not registered.
    """
    _remove(_scalars, callback)


def clear_event_listeners() -> None:
    """No listener hears of anything any more."""
    for listeners in (_events, _durations, _spans, _scalars):
        listeners.clear()
