"""Profiles of compiled code, for the viewers that read XLA's traces (jax.profiler)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from pullback.api.flat import function_name, wraps
from pullback.core import errors
from pullback.runtime import pjrt_profile

__all__ = ["StepTraceAnnotation", "TraceAnnotation", "annotate_function", "start_server", "start_trace", "stop_server",
           "stop_trace", "trace"]

_session: list[tuple[Any, str]] = []
_server: list[Any] = []


def start_trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False, profiler_options: Any = None) -> None:
    """Begins to record what compiled code does.

    Args:
      log_dir: the folder that `stop_trace` writes to.
      create_perfetto_link, create_perfetto_trace: False; the files that are written open in Perfetto as they are.
      profiler_options: options of jaxlib's profiler, or None.

    Raises:
      RuntimeError: a record is being made already.
      NotImplementedError: a Perfetto link is asked for.
    """
    if create_perfetto_link or create_perfetto_trace:
        raise errors.make(NotImplementedError, "a Perfetto link or trace is asked for", op="start_trace",
                          fix="open the file *.trace.json.gz under log_dir with Perfetto")
    if _session:
        raise errors.make(RuntimeError, "a profile has already been started, and one may run at a time",
                          op="start_trace", fix="call stop_trace first")
    make = pjrt_profile.library().ProfilerSession
    _session.append((make() if profiler_options is None else make(profiler_options), os.fspath(log_dir)))


def stop_trace() -> None:
    """Ends the record and writes it, below `plugins/profile` in the folder that `start_trace` was given.

    Raises:
      RuntimeError: none is being made.
    """
    if not _session:
        raise errors.make(RuntimeError, "no profile has been started", op="stop_trace", fix="call start_trace first")
    session, folder = _session.pop()
    session.stop_and_export(folder)


@contextlib.contextmanager
def trace(log_dir: os.PathLike[str] | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
          profiler_options: Any = None) -> Iterator[None]:
    """Inside, what compiled code does is recorded; written at the end. The arguments are those of `start_trace`.

    Example:
      >>> import os, tempfile
      >>> folder = tempfile.mkdtemp()
      >>> with pullback.profiler.trace(folder):
      ...     _ = jax.jit(lambda x: x + 1)(jnp.ones(3)).block_until_ready()
      >>> os.listdir(folder)
      ['plugins']
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """Context: a span with a name in the record.

    Args:
      name: its name.
      **kwargs: what is shown beside it.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._span = pjrt_profile.library().TraceMe(name, **kwargs)

    def __enter__(self) -> TraceAnnotation:
        self._span.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._span.__exit__(*exc)


class StepTraceAnnotation(TraceAnnotation):
    """Context: a step of training, by which viewers group what happens. `step_num=` says which."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """A function whose calls are spans in the record.

    Example:
      >>> pullback.profiler.annotate_function(lambda x: x + 1, name="plus one")(2)
      3
    """
    @wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(name or function_name(func), **decorator_kwargs):
            return func(*args, **kwargs)
    return annotated


def start_server(port: int, requires_backend: bool = True) -> Any:
    """A server from which a viewer takes profiles.

    Raises:
      ValueError: there is one already.
    """
    if _server:
        raise errors.value_error("a server runs already, and one may run at a time", op="start_server",
                                 fix="call stop_server first")
    _server.append(pjrt_profile.library().start_server(port))
    return _server[0]


def stop_server() -> None:
    """Ends the server.

    Raises:
      ValueError: there is none.
    """
    if not _server:
        raise errors.value_error("no server runs", op="stop_server", fix="call start_server first")
    _server.clear()


def __getattr__(name: str) -> Any:
    if name == "ProfileOptions":
        return pjrt_profile.library().ProfileOptions
    raise errors.unsupported(f"pullback.profiler.{name}")
